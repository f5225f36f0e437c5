"""Closures by interpolation: gradings, monomials, linear algebra modulo a prime, lifting, verification."""
