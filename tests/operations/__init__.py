"""One module for each operation: golden script, recorded results, real runs."""
