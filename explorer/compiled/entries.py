"""Matrices from their entries, full or sparse."""

from __future__ import annotations

import numpy as np

from explorer.types import Matrix

__all__ = ["matrix"]


def matrix(entries: np.ndarray, places: np.ndarray, n: int, *, sparse: bool = False) -> Matrix:
    """Return the (n, n) matrix with entries at places i n + j, a csr_array if `sparse`."""
    if sparse:
        from scipy.sparse import csr_array  # loads slowly

        return csr_array((entries, divmod(places, n)), shape=(n, n))
    full = np.zeros(n * n)
    full[places] = entries
    return full.reshape(n, n)
