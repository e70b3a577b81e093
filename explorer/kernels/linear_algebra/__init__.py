"""Dense, banded and sparse factorisations, in place."""
