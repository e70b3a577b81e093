"""Steps on their bounds: breaks that lie as near as counts, one step alone, errors that are infinite."""

from __future__ import annotations

import numpy as np
import pytest
from loops import for_each
from plain import plain, put, space

from explorer.codes import SUCCESS
from explorer.kernels.model.held_inputs import NEVER, Drive

marching = plain("time_stepping.march")
error, left = plain("time_stepping.newmark_error"), plain("time_stepping.newmark_residual")
CLOSE = 1e-9  # of a step of one second


def marched(monkeypatch, *, t_end, h, steps=0, breaks=()):
    """March from 0; return the times, with the interval where the inputs change."""
    told, t = [], np.zeros(9)
    put(monkeypatch, marching.march, hold=lambda drive, inp, k: told.append(("hold", k)))
    grid = marching.Grid(t_end, steps, True, Drive(np.array(breaks), *NEVER[1:]))

    def step(problem, record, work, row, h, t1):
        told.append((h, t1))
        return SUCCESS

    def cross(problem, record, work, row, k):
        told.append(("cross", k))
        return True

    problem = space(grid=grid, bundles=space(inp=None))
    state = [space(row=0, h=h)]
    given = (lambda *_: None, cross, step, problem, space(t=t), space(state=state))
    assert marching.march(*given) == SUCCESS
    return told


def test_one_step_reaches_to_the_end_however_long_it_was_to_be(monkeypatch):
    assert marched(monkeypatch, t_end=1.0, h=0.5, steps=1) == [("hold", 0), (1.0, 1.0)]
    assert marched(monkeypatch, t_end=1.0, h=0.5) == [("hold", 0), (0.5, 0.5), (0.5, 1.0)]


@for_each(("breaks", "begins", "crossed"), [
    ([CLOSE], 1, {}), ([1.0 + CLOSE], 0, {1: 1}), ([2 * CLOSE, 1.0, 1.0 + CLOSE, 2.0 - CLOSE], 0, {1: 3, 2: 4}),
    ([1.0 + 2 * CLOSE], 0, {2: 1}), ([1.0, 1.0 + CLOSE, 1.0 + 2 * CLOSE], 0, {1: 2, 2: 3}),
])  # fmt: skip
def test_a_break_counts_at_a_row_as_far_as_rounding_may_move_it(monkeypatch, breaks, begins, crossed):  # fmt: skip
    """By a billionth of a step, that included."""
    told, wanted = marched(monkeypatch, t_end=2.0, h=1.0, breaks=breaks), [("hold", begins)]
    for row in (1, 2):
        wanted.append((1.0, float(row)))
        wanted += [("cross", crossed[row])] if row in crossed else []
    assert told == wanted


def test_inputs_that_never_change_begin_nowhere():
    grid = marching.Grid(2.0, 0, True, NEVER)
    assert not marching.changes_at(grid, 0.0)
    late = Drive(np.array([0.5, 1.5]), np.array([0]), *NEVER[2:])
    assert not marching.changes_at(marching.Grid(2.0, 0, True, late), 1.5)


def off_by(*, d0=0.0, v0=0.0, a0=0.0, am=0.0, a1=0.0, d1=0.0, v1=0.0, longest=3.0):
    with np.errstate(all="ignore"):
        given = (np.array([x, 0.0]) for x in (d0, v0, a0, am, a1, d1, v1))
        return error.local_error(2, 0.1, longest, *given)


@for_each("what", ["d0", "v0", "a0", "am", "a1", "d1", "v1"])
def test_an_error_is_infinite_where_a_step_is(what):
    for value in (np.inf, -np.inf):
        assert off_by(**{what: value}) == np.inf


def test_an_error_of_a_velocity_at_rest_lasts_as_long_as_the_run():
    """Nothing tells a frequency, so the slowest is taken."""
    assert off_by(v1=0.25) == pytest.approx(0.25 * 3.0)
    assert off_by() == 0.0


def test_a_residual_is_known_beside_small_terms_too():
    """All of them a thousandth of a newton; what lies beyond the bands is not looked at."""
    for n in (1, 3):
        rng = np.random.default_rng(n)
        M, K, C = (np.triu(np.tril(rng.normal(size=(n, n)), 1), -1) for _ in range(3))
        F, F0, a, r = 1e-3 * rng.normal(size=(4, n))
        inp = np.append(9.0, 1e-3 * rng.normal(size=2 * n))
        terms = 0.6 * abs(F) + 0.4 * abs(F0) + abs(M) @ abs(a)
        terms += abs(K) @ abs(inp[1 : 1 + n]) + abs(C) @ abs(inp[1 + n :])
        for matrix in (M, K, C):
            matrix[np.triu_indices(n, 2)] = matrix[np.tril_indices(n, -2)] = np.nan
        problem = space(
            matrices=space(M=M, K=K, C=C), bundles=space(inp=inp), bands=space(below=1, above=1),
            method=space(share=0.6, old=0.4),
        )  # fmt: skip
        work = space(F=F, F0=F0, a_m=a, r=r)
        assert left.beside(problem, work) == pytest.approx(max(abs(r) / terms), rel=1e-12)


@for_each(("step", "off", "told"), [
    (1e-13, 1e9, 0.5), (1e-13, np.inf, 0.5), (1e-13, 2e-3, 0.5), (2e-12, 1e9, 0.5), (2.1e-12, 1e9, -0.2 * 2.1e-12), (1e-13, 0.9e-3, 59 / 64 * 1e-13), (1e-13, 0.0, 2e-13),
])  # fmt: skip
def test_a_step_that_cannot_be_repeated_gets_no_shorter(step, off, told):
    """However large its error: else the next one would come to nothing, and so would time."""
    assert error.following(off, 1e-3, 2, step, 0.5, 9.0, 1.0, 2.0) == pytest.approx(told)
