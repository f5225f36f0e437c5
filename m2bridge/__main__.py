"""``python -m m2bridge``."""

from m2bridge.cli import main

if __name__ == "__main__":
    main()
