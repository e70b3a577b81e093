"""Forces at the rows of a march, and their derivatives, uncompiled: what is asked of others stands in."""

from __future__ import annotations

import numpy as np
from loops import for_each
from plain import plain, put, space

from explorer.codes import SINGULAR, SUCCESS

between = plain("event_driven.dense_output")
N, NC, NT, ROWS, FIRST, RATES = (
    2,
    2,
    1,
    4,
    9,
    13,
)  # two contacts, the second with a tangent, and a constraint


def restored(patterns):
    """Return a problem whose rows are held as `patterns` (k, ROWS) say, and what restores them."""
    rows = [space(closed=9, sigma=9) for _ in range(ROWS)]
    problem = space(
        sizes=space(n_x=2 * N, n=N, n_c=NC, n_t=NT, rows=ROWS, lam=FIRST, rates=RATES), inp=np.full(20, np.nan), out=np.zeros(99),
        rows=rows, partner=np.array([-1, -1, 1]), state=[space(held=-1)],
    )  # fmt: skip

    def restore(given, states, k):
        for row, closed in zip(rows, patterns[k], strict=True):
            row.closed, row.sigma = int(closed == 1), 0 if closed == 1 else int(closed // 2)
        problem.state[0].held = sum(row.closed for row in rows)

    return problem, restore


@for_each("fails", [False, True])
def test_forces_are_those_of_what_is_held_and_friction_opposes_sliding(monkeypatch, fails):
    """-sigma mu lam_N of the contact that slides; zero where nothing is held, NaN if none is unique."""
    patterns = [(0, 0, 0, 0), (1, 0, 0, 1), (0, 1, 1, 0), (0, 1, 2, 0), (1, 1, -2, 1)]
    problem, restore = restored(patterns)
    times, x = np.arange(5.0) / 2, np.arange(20.0).reshape(5, 4)
    asked = []

    def accelerate(given):
        asked.append(given.inp[: 1 + 2 * N].tolist())
        given.inp[FIRST : FIRST + ROWS] = 10 * (1 + np.arange(ROWS)) + asked[-1][0]
        given.inp[RATES + N : RATES + 2 * N], given.out[:] = 0.25, np.nan
        given.out[ROWS * (N + 3)] = 0.25 + asked[-1][0]  # mu of the tangent, behind gaps, rates, G
        return SINGULAR if fails else SUCCESS

    put(monkeypatch, between.forces, refer=lambda one: one, restore=restore, accelerate=accelerate)
    lam, a = np.full((5, ROWS), 7.0), np.full((5, N), 7.0)
    between.forces(problem, times, x, None, lam, a)
    assert asked == [[t, *row] for t, row in zip(times.tolist(), x.tolist(), strict=True)]
    accelerations = np.full((5, N), np.nan if fails else 0.25)
    np.testing.assert_array_equal(a, accelerations)
    wanted = np.zeros((5, ROWS))
    for k, pattern in enumerate(patterns[1:], 1):
        t = times[k]
        for c, what in enumerate(pattern):
            wanted[k, c] = (np.nan if fails else 10 * (c + 1) + t) if what == 1 else 0.0
        if pattern[2] != 1:
            wanted[k, 2] = -(pattern[2] // 2) * (0.25 + t) * wanted[k, 1]
    np.testing.assert_allclose(lam, wanted)


@for_each("fails", [False, True])
def test_slopes_of_forces_are_asked_in_the_direction_of_each_column(monkeypatch, fails):
    problem, restore = restored([(1, 0, 0, 1)] * 2)
    rng, columns = np.random.default_rng(0), 3
    problem.wrt, problem.functions = np.array([4, -1, 2]), space(table="table")
    problem.saddle = space(direction=np.zeros(2 * N), forces=np.zeros((columns, ROWS)), tangent=np.zeros(N))  # fmt: skip
    times, x, S = np.array([0.5, 1.5]), rng.normal(size=(2, 4)), rng.normal(size=(2, columns * (2 * N + 1)))  # fmt: skip
    asked, evaluated = [], []

    def accelerate(given):
        asked.append(given.inp[: 1 + 2 * N].tolist())
        return SINGULAR if fails else SUCCESS

    def tangent(given, w):
        given.saddle.tangent[:] = given.saddle.direction[:N] * 2 + w

    def keep_forces(given, j):
        given.saddle.forces[j] = given.saddle.direction.sum() + j + np.arange(ROWS)

    put(monkeypatch, between.force_slopes, refer=lambda one: one, restore=restore, accelerate=accelerate, tangent=tangent, keep_forces=keep_forces,
        evaluate_function=lambda table, which, inp, out: evaluated.append((table, which)))  # fmt: skip
    lam, a = np.full((2, columns, ROWS), 7.0), np.full((2, columns, N), 7.0)
    between.force_slopes(problem, times, S, x, None, lam, a)
    assert asked == [[t, *row] for t, row in zip(times.tolist(), x.tolist(), strict=True)]
    assert evaluated == [("table", between.STEP)] * 2
    if fails:
        assert np.isnan(lam).all()
        assert np.isnan(a).all()
        return
    D = S.reshape(2, columns, 2 * N + 1)[:, :, : 2 * N]
    np.testing.assert_allclose(a, 2 * D[:, :, :N] + problem.wrt[:, None])
    np.testing.assert_allclose(lam, D.sum(axis=2)[..., None] + np.arange(columns)[:, None] + np.arange(ROWS))  # fmt: skip
