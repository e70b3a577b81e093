"""Bands stored by rows, Cholesky factors: as Python runs them, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from loops import for_each
from plain import plain

band, dense = plain("linear_algebra.banded_lu"), plain("linear_algebra.dense_lu")


def stored(A: np.ndarray, w: int) -> np.ndarray:
    """Return the rows of a band with room for exchanged ones, and numbers where nothing is."""
    n = len(A)
    rows = np.zeros((n, 3 * w + 1))
    for i in range(n):
        for j in range(max(0, i - w), min(n, i + w + 1)):
            rows[i, j - i + w] = A[i, j]
    return rows


def banded(rng, n: int, w: int, small: float) -> np.ndarray:
    """Return a band whose diagonal is multiplied by so much; one without it is regular if even."""
    A = np.triu(np.tril(rng.normal(size=(n, n)), w), -w)
    A[np.diag_indices(n)] *= small
    return A


@for_each(("n", "w", "small"), [(n, w, small) for n, w in [(1, 0), (1, 1), (2, 1), (6, 1), (10, 2), (12, 5), (7, 6), (5, 0)]
     for small in (1.0, 1e-3, 30.0, 0.0) if small or n % 2 == 0])  # fmt: skip
def test_a_band_is_solved_whatever_its_diagonal(n, w, small):
    rng = np.random.default_rng([n, w])
    for scale in (1e-9, 1.0, 1e9):
        A, b, pivots = scale * banded(rng, n, w, small), rng.normal(size=n), np.zeros(n, int)
        rows, x = stored(A, w), b.copy()
        assert band.band_factor(rows, n, w, pivots) == 0
        band.band_solve(rows, n, w, pivots, x)
        pair = np.column_stack([b, 2 * np.roll(b, 1)])
        other = pair[:, 1].copy()
        band.band_solve_two(rows, n, w, pivots, pair)
        assert np.abs(pair[:, 0] - x).max() <= 1e-13 * np.abs(x).max() * np.linalg.cond(A)
        band.band_solve(rows, n, w, pivots, other)
        assert np.abs(pair[:, 1] - other).max() <= 1e-13 * np.abs(other).max() * np.linalg.cond(A)
        size = np.abs(A).sum(axis=1).max() * np.abs(x).max() + np.abs(b).max()
        assert np.abs(A @ x - b).max() <= 1e-11 * size


def test_rows_stay_where_the_diagonal_is_a_tenth_of_its_column():
    """U stays narrow: an exchange needs another entry ten times as large."""
    for below, exchanged in ((9.9, False), (10.0, False), (10.1, True), (-10.1, True)):
        A = np.array([[1.0, 2.0, 0.0], [below, 1.0, 3.0], [0.0, 0.5, 1.0]])
        rows, pivots = stored(A, 1), np.zeros(3, int)
        assert band.band_factor(rows, 3, 1, pivots) == 0
        assert (pivots[0] == 1) == exchanged
        assert rows[0, 1] == 1 / (below if exchanged else 1.0)


@pytest.mark.parametrize("scale", [1e-200, 1e-9, 1.0, 1e9])
def test_a_singular_band_names_its_pivot(scale):
    rng = np.random.default_rng(3)
    for row in range(6):
        A = banded(rng, 6, 2, 20.0)
        A[:, row] = 0  # nothing is left in this column
        rows = stored(scale * A, 2)
        assert band.band_factor(rows, 6, 2, np.zeros(6, int)) == row + 1
    twice = np.array([[4.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    assert band.band_factor(stored(scale * twice, 1), 3, 1, np.zeros(3, int)) == 2


@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_cholesky_factors_are_numpys_and_exist_where_its_do(n):
    rng = np.random.default_rng(n)
    for shift in (1.0, 0.1):
        A = rng.normal(size=(n, n))
        A = A @ A.T + shift * np.eye(n)
        L = np.full((n, n), 7.0)  # what is above the diagonal is left alone
        assert dense.positive_definite(A, n, L)
        np.testing.assert_allclose(np.tril(L), np.linalg.cholesky(A), rtol=1e-12, atol=1e-12)
    for k in range(n):
        values = rng.uniform(1, 2, n)
        values[k] *= -1
        Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
        assert not dense.positive_definite(Q * values @ Q.T, n, np.zeros((n, n)))
    assert not dense.positive_definite(np.zeros((n, n)), n, np.zeros((n, n)))


@for_each("n", [1, 2, 5, 8])
@for_each(("kl", "ku"), [(9, 9), (1, 1), (2, 0), (0, 2), (0, 0)])
def test_dense_factors_are_exact_to_rounding(n, kl, ku):
    """L U in LINPACK order, with the bandwidths that are found, each row exchange undone."""
    rng = np.random.default_rng([n, kl, ku])
    A = np.triu(np.tril(rng.normal(size=(n, n)), ku), -kl)
    if not (kl and ku):
        A[np.diag_indices(n)] = 2.0
    found = dense.bandwidth(A, n)
    assert found == (min(kl, n - 1), min(ku, n - 1))
    factors, pivots, x = A.copy(), np.zeros(n, int), rng.normal(size=n)
    b = A @ x
    assert dense.lu_factor(factors, n, *found, pivots) == 0
    assert (pivots >= np.arange(n)).all()
    assert np.abs(np.tril(factors, -1)).max(initial=0) <= 1  # the largest of a column is its pivot
    dense.lu_solve(factors, n, *found, pivots, b)
    np.testing.assert_allclose(b, x, atol=1e-12 * np.linalg.cond(A))


def test_a_narrow_row_below_a_wide_one_does_not_narrow_the_band():
    A = np.eye(6)
    A[2, 0] = A[1, 4] = 3.0
    assert dense.bandwidth(A, 6) == (2, 3)


def test_a_row_that_equals_its_pivot_is_eliminated_too():
    A, pivots, b = np.array([[2.0, 1, 0], [2, 3, 1], [0, 1, 4]]), np.zeros(3, int), np.ones(3)
    rows, x, full = stored(A, 1), b.copy(), A.copy()
    assert band.band_factor(rows, 3, 1, pivots) == dense.lu_factor(full, 3, 2, 2, pivots) == 0
    dense.lu_solve(full, 3, 2, 2, pivots, b)
    np.testing.assert_allclose(A @ b, 1, atol=1e-14)
    band.band_solve(rows, 3, 1, np.arange(3), x)
    np.testing.assert_allclose(x, b, atol=1e-14)


@pytest.mark.parametrize("column", range(4))
def test_a_column_that_depends_on_those_before_it_is_told(column):
    """Counted from 1, since 0 says that there is none."""
    A = np.random.default_rng(column).normal(size=(4, 4))
    A[:, column] = 0.0
    assert dense.lu_factor(A, 4, 3, 3, np.zeros(4, int)) == column + 1
