"""The test suite. ``python -m tests.regenerate`` writes the golden scripts and recorded results anew."""
