"""Macaulay2 templates and static Macaulay2 code; importable so that they are found in a wheel and a checkout."""
