"""Systems solved from their factors, in every form that they may have, and inputs held by interval."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from loops import for_each
from plain import plain, reads, space

from explorer.kernels.linear_algebra.structures import Factors, SaddlePoint, Triangle

solving, saddles = plain("linear_algebra.factored_solve"), plain("linear_algebra.saddle_point")
bands, dense = plain("linear_algebra.banded_lu"), plain("linear_algebra.dense_lu")
inputs = plain("model.held_inputs")
NO_TRIANGLE = Triangle(np.zeros(0, int), np.zeros(0, int), np.zeros(0))


def banded(n, kl, ku, seed=0):
    """Return L, D and U with so many bands."""
    rng = np.random.default_rng(seed)
    L, U = np.tril(rng.normal(size=(n, n)), -1), np.triu(rng.normal(size=(n, n)), 1)
    return (
        np.tril(np.triu(L, -kl)) + np.eye(n),
        rng.uniform(1, 2, n),
        np.triu(np.tril(U, ku)) + np.eye(n),
    )


@for_each(("n", "kl", "ku", "swaps"), [
    (4, 0, 0, False), (1, 0, 0, False), (4, 0, 1, False), (4, 1, 0, False), (4, 1, 1, False), (2, 1, 1, False), (5, 2, 1, False), (5, 1, 2, False), (5, 2, 2, False), (4, 1, 1, True),
    (5, 1, 2, True), (5, 3, 3, True), (3, 0, 2, False), (1, 1, 1, False),
])  # fmt: skip
def test_a_band_is_solved_by_its_factors(n, kl, ku, swaps):
    """A diagonal, a chain, any band, and one whose rows have been exchanged on the way."""
    L, D, U = banded(n, kl, ku)
    below, above, order = np.zeros((n, kl)), np.zeros((n, ku)), np.zeros(0, int)
    for k in range(n):
        for d in range(kl):
            below[k, d] = L[k + 1 + d, k] if k + 1 + d < n else 9.0
        for d in range(ku):
            above[k, d] = U[k - ku + d, k] if k - ku + d >= 0 else 9.0
    b, rng = np.arange(1.0, n + 1), np.random.default_rng(1)
    if swaps:
        order = np.array([min(k + int(rng.integers(0, kl + 1)), n - 1) for k in range(n)])
    factors = Factors(
        1 / D, order, below, above, NO_TRIANGLE, NO_TRIANGLE, np.zeros(0, int), np.zeros(0)
    )
    y = b.copy()
    for k in range(n):  # rows are exchanged, then eliminated from
        other = order[k] if swaps else k
        y[[k, other]] = y[[other, k]]
        y[k + 1 :] -= L[k + 1 :, k] * y[k]
    solving.solve_factored(factors, n, b)
    np.testing.assert_allclose(U @ b, y / D, rtol=1e-12, atol=1e-13)


@for_each("n", [1, 2, 5])
@for_each("b", ["ones", "others"])
def test_sparse_factors_count_with_every_value(n, b):
    """L D U (x in the places of its columns) = b in those of its rows, also where a value is exactly 1."""
    rng = np.random.default_rng(n)
    L, D, U = banded(n, n, n, seed=3)
    order, place = rng.permutation(n), rng.permutation(n)

    def columns(part):
        rows = [np.flatnonzero(part[:, k]) for k in range(n)]
        ptr = np.append(0, np.cumsum([len(one) for one in rows]))
        return Triangle(
            ptr,
            np.concatenate(rows).astype(int),
            np.concatenate([part[one, k] for k, one in enumerate(rows)]),
        )

    factors = Factors(
        1 / D,
        order,
        np.zeros((n, 0)),
        np.zeros((n, 0)),
        columns(L - np.eye(n)),
        columns(U - np.eye(n)),
        place,
        np.zeros(n),
    )
    right = np.ones(n) if b == "ones" else rng.normal(size=n)
    if b == "ones":  # so that what is substituted back is 1 as well
        right[order.argsort()] = L @ (D * (U @ np.ones(n)))
    x = right.copy()
    solving.solve_factored(factors, n, x)
    y = np.zeros(n)
    y[order] = right
    z = np.zeros(n)
    z[place] = x
    np.testing.assert_allclose(L @ (D * (U @ z)), y, rtol=1e-11, atol=1e-12)
    forwards = np.ones(n)
    solving.solve_factored(factors, n, forwards)
    z[place] = forwards
    np.testing.assert_allclose(L @ (D * (U @ z)), np.ones(n), rtol=1e-11)


def saddle(N, n, w=None, seed=0):
    """Return a saddle point with or without a band."""
    rng = np.random.default_rng(seed)
    if w is None:
        return SaddlePoint(
            np.full((N, N), np.nan),
            np.zeros(N, int),
            np.zeros(0, int),
            np.zeros(0, int),
            np.zeros(0, int),
            np.zeros(0),
        )
    place = rng.permutation(N)
    return SaddlePoint(
        np.full((N, 3 * w + 1), np.nan),
        np.zeros(N, int),
        np.arange(n + 1) * n,
        np.tile(np.arange(n), n),
        place,
        np.full(N, np.nan),
    )


@for_each(
    ("n", "constraints", "band"),
    [(1, 0, True), (1, 0, False), (3, 0, True), (3, 2, True), (3, 2, False), (2, 1, True)],
)
def test_a_step_is_solved_in_its_band_or_in_full(n, constraints, band):
    """[[M + ht C + ht^2 K, -G'], [rows, 0]], one right side or two; also of a single coordinate."""
    rng, N, ht, first = np.random.default_rng(n), n + constraints, 0.25, 1
    M, C, K = rng.normal(size=(3, n, n))
    M = M + 4 * np.eye(n)
    G, rows = rng.normal(size=(first + constraints, n)), rng.normal(size=(first + constraints, n))
    one = saddle(N, n, N - 1 if band else None)
    shape = (n * n, 1) if band else (n, n)
    structure = space(
        ptr=np.arange(first + constraints + 1) * n,
        col=np.tile(np.arange(n), first + constraints),
        val=G.ravel(),
    )
    assert (
        saddles.factor_step(
            one,
            M.reshape(shape),
            C.reshape(shape),
            K.reshape(shape),
            ht,
            structure,
            first,
            rows.ravel(),
        )
        == 0
    )
    W = np.zeros((N, N))
    W[:n, :n] = M + ht * C + ht**2 * K
    W[n:, :n], W[:n, n:] = rows[first:], -G[first:].T
    b, c = rng.normal(size=(2, N))
    x, y, z, pair = b.copy(), b.copy(), c.copy(), np.full((N, 2), np.nan)
    saddles.solve_step(one, x)
    np.testing.assert_allclose(W @ x, b, atol=1e-11)
    saddles.solve_two(one, y, z, pair)
    np.testing.assert_allclose(W @ np.column_stack([y, z]), np.column_stack([b, c]), atol=1e-11)


@for_each("band", [True, False])
@for_each(("M", "told"), [([[2.0]], True), ([[0.0]], False), ([[-1.0]], False), ([[1.0, 2.0], [2.0, 4.0]], False), ([[1.0, 2.0], [2.0, 5.0]], True), ([[0.25, 0.0], [0.0, 0.0]], False),
                          ([[4.0, 2.0, 0.0], [2.0, 5.0, 2.0], [0.0, 2.0, 2.0]], True), ([[4.0, 2.0, 0.0], [2.0, 5.0, 4.0], [0.0, 4.0, 3.9]], False)])  # fmt: skip
def test_a_mass_is_definite_by_its_factor(band, M, told):
    M = np.array(M)
    n = len(M)
    one = saddle(n + 1, n, n if band else None)
    assert saddles.has_mass(one, M.reshape(-1, 1) if band else M) == told


@for_each("n", [1, 3])
@for_each("band", [True, False])
def test_the_change_of_momenta_comes_with_the_size_of_its_terms(n, band):
    rng = np.random.default_rng(n)
    M, (v, before) = rng.normal(size=(n, n)), rng.normal(size=(2, n))
    change, size = np.full((2, n), np.nan)
    saddles.inertia(
        saddle(n, n, n if band else None), M.reshape(-1, 1) if band else M, v, before, change, size
    )
    np.testing.assert_allclose(change, M @ (v - before), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(size, abs(M * before).sum(axis=1), rtol=1e-13)


# ---------------------------------------------------------------- inputs


@for_each("count", [1, 2, 3, 5, 8])
@for_each("close", [0.0, 0.125])
def test_the_interval_of_a_time_is_the_last_that_has_begun(monkeypatch, count, close):
    """By a bit less, or more, at a break; behind the last break it is the last."""
    reads(monkeypatch, inputs.schedule_at, schedules=inputs.SCHEDULE)
    ends = np.arange(count + 1.0)
    words = inputs.memory_of(ends, np.zeros(2, int), np.zeros((count, 2)), close)
    schedule = inputs.schedule_at(words)
    for t, side in itertools.product(
        np.arange(-0.25, count + 1, 0.125), (inputs.AFTER, inputs.BEFORE)
    ):
        at = t + (close if side == inputs.AFTER else -close)
        begun = int((ends[1:count] <= at).sum())
        assert inputs.interval(schedule, t, side) == begun


@for_each("breaks", [(1.0,), (1.0, 2.0), (0.5, 1.0, 4.0)])
@for_each("close", [0.0, 0.125])
def test_an_input_changes_at_its_break_or_just_before(breaks, close):
    """From whatever interval; also of an input that changes but once."""
    values = 10.0 + np.arange(len(breaks) + 1.0)[:, None]
    for now, t in itertools.product(range(len(breaks) + 1), np.arange(0.0, 5.0, 0.125)):
        drive, inp = (
            inputs.Drive(np.array(breaks), np.array([now]), np.array([1]), values, 2),
            np.zeros(4),
        )
        k = sum(one <= t + close for one in breaks)
        assert inputs.hold_at(drive, inp, t, close) == (k != now)
        assert drive.now[0] == k
        assert inp.tolist() == ([0.0, values[k, 0]] * 2 if k != now else [0.0] * 4)


# ---------------------------------------------------------------- bands and blocks


@for_each("n", [1, 2, 3, 4, 9])
def test_the_bandwidth_of_a_matrix_is_that_of_its_farthest_entries(n):
    for i, j in itertools.product(range(n), repeat=2):
        A = np.eye(n)
        A[i, j] = 1e-300
        assert dense.bandwidth(A, n) == (max(0, i - j), max(0, j - i))
    A = np.eye(n)
    A[n - 1, 0] = A[0, n - 1] = 2.0
    assert dense.bandwidth(A, n) == (n - 1, n - 1)


@for_each("unit", [1e-8, 1.0, 1e8])
def test_a_pivot_is_none_beside_the_column_above_it(unit):
    """At 1e-15 of it, in any unit, and counted from one."""
    for part, told in ((0.5, 2), (2.0, 0)):
        A = unit * np.array([[1.0, 1.0], [1.0, 1.0 + 0.0]])
        A[1, 0], A[1, 1] = 0.0, unit * part * 1e-15
        assert dense.lu_factor(A, 2, 1, 1, np.zeros(2, int)) == told
    A = unit * np.array([[0.0, 1.0], [0.0, 1.0]])
    assert dense.lu_factor(A, 2, 1, 1, np.zeros(2, int)) == 1
    A = unit * np.array([[2.0, 0.0, 4.0], [0.0, 1.0, 0.0], [0.0, 0.0, 3e-15]])
    assert dense.lu_factor(A.copy(), 3, 2, 2, np.zeros(3, int)) == 3


def test_of_equal_pivots_the_first_is_taken():
    A, pivots = np.array([[1.0, 2.0], [-1.0, 5.0]]), np.full(2, -9)
    assert dense.lu_factor(A, 2, 1, 1, pivots) == 0
    assert pivots.tolist() == [0, 1]
    A = np.array([[0.0, 1.0, 3.0], [2.0, 1.0, 4.0], [-2.0, 0.0, 5.0]])
    pivots = np.full(3, -9)
    assert dense.lu_factor(A, 3, 2, 2, pivots) == 0
    assert pivots[0] == 1
    w = 2
    band = np.zeros((3, 3 * w + 1))
    for i, j in itertools.product(range(3), repeat=2):
        band[i, j - i + w] = [[0.0, 1.0, 3.0], [2.0, 1.0, 4.0], [-2.0, 0.0, 5.0]][i][j]
    pivots = np.full(3, -9)
    assert bands.band_factor(band, 3, w, pivots) == 0
    assert pivots[0] == 1
    b = np.array([1.0, -2.0, 0.5])
    x = b.copy()
    bands.band_solve(band, 3, w, pivots, x)
    assert np.array([[0.0, 1.0, 3.0], [2.0, 1.0, 4.0], [-2.0, 0.0, 5.0]]) @ x == pytest.approx(b)
