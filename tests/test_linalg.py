"""LU with a band against NumPy."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from loops import for_each

from explorer.kernels.linear_algebra import dense_lu as linalg


@numba.njit("Tuple((int64, UniTuple(int64, 2)))(float64[:, ::1], float64[::1], int64[::1])")
def solve(A, b, pivots):
    """Factor with the bandwidth found and solve; the kernels have no Python wrapper of their own."""
    n = b.size
    below, above = linalg.bandwidth(A, n)
    info = linalg.lu_factor(A, n, below, above, pivots)
    if info == 0:
        linalg.lu_solve(A, n, below, above, pivots, b)
    return info, (below, above)


def run(A: np.ndarray, b: np.ndarray) -> tuple[int, np.ndarray, tuple[int, int]]:
    """Return info, solution and bandwidths; the arguments stay as they are."""
    A, x = np.array(A, order="C"), np.array(b)
    info, band = solve(A, x, np.zeros(len(b), np.int64))
    return info, x, band


def banded(rng: np.random.Generator, n: int, kl: int, ku: int) -> np.ndarray:
    """Return a random matrix of these bandwidths; its small diagonal asks for row exchanges."""
    A = np.triu(np.tril(rng.normal(size=(n, n)), ku), -kl)
    if kl and ku:
        A[np.diag_indices(n)] *= 1e-3
    else:  # triangular: regular by its diagonal alone
        A[np.diag_indices(n)] = 3 + rng.random(n)
    return A


@for_each("n", [1, 2, 5, 30])
@for_each(("kl", "ku"), [(99, 99), (1, 1), (1, 3), (3, 1), (0, 2), (2, 0), (0, 0)])
def test_agrees_with_numpy(n, kl, ku):
    """Any band, pivots included: backward error at rounding level."""
    rng = np.random.default_rng([n, kl, ku])
    for scale in (1e-9, 1.0, 1e9):
        A = scale * banded(rng, n, min(kl, n - 1), min(ku, n - 1))
        b = rng.normal(size=n)
        info, x, band = run(A, b)
        assert info == 0
        assert band == (min(kl, n - 1), min(ku, n - 1))
        size = np.abs(A).sum(axis=1).max() * np.abs(x).max() + np.abs(b).max()
        assert np.abs(A @ x - b).max() <= 1e-12 * size
        expected = np.linalg.solve(A, b)
        assert np.abs(x - expected).max() <= 1e-13 * np.linalg.cond(A) * np.abs(expected).max()


def test_bandwidth_is_that_of_the_leading_block():
    """Entries outside of the block or equal to zero do not widen it."""
    A = np.diag(np.ones(6))
    A[4, 1] = A[0, 2] = 7.0
    assert run(A, np.ones(6))[2] == (3, 2)
    assert linalg.bandwidth.py_func(A, 4) == (0, 2)


@pytest.mark.parametrize("scale", [1e-200, 1e-9, 1.0, 1e9])
def test_singular_matrix_is_detected(scale):
    """A zero row, a repeated row, a rank of one: info names the pivot, at any scale."""
    rng = np.random.default_rng(7)
    A = rng.normal(size=(5, 5))
    A[3] = 0
    assert run(scale * A, np.ones(5))[0] > 0
    A[3] = A[1]
    assert run(scale * A, np.ones(5))[0] > 0
    assert run(scale * np.outer(np.ones(4), np.arange(1.0, 5)), np.ones(4))[0] == 2
    assert run(scale * np.zeros((3, 3)), np.ones(3))[0] == 1


@pytest.mark.parametrize("position", [(0, 0), (2, 1), (4, 4)])
def test_a_nan_does_not_pass_as_regular(position):
    """Either the factorisation or the solution shows it."""
    A = np.eye(5) * 3 + 0.1
    A[position] = np.nan
    info, x, _ = run(A, np.ones(5))
    assert info != 0 or not np.isfinite(x).all()
