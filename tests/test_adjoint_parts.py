"""Parts of the adjoint of an event-driven run: an automaton, a cost of forces, what is left out."""

from __future__ import annotations

import itertools

import numpy as np
from loops import for_each
from plain import plain, put, space

from explorer.codes import SUCCESS
from explorer.kernels.event_driven.records import INDEX1, PROJECTED, STEP

adjoint = plain("event_driven.adjoint")
FAILS = 77


@for_each(("mode", "cost"), itertools.product((0, 1, 2), (-1, 0, 6)))
def test_weights_are_pulled_back_through_the_field_of_a_mode(monkeypatch, mode, cost):
    """bar = f_x' w + z g_x and gains f_rho' w + z g_rho, w with z g_x' added, z the weight of g."""
    rng, nx, nr, wrt, asked = np.random.default_rng(mode), 3, 4, np.array([2, -1, 0]), []
    f, by_x, by_rho = rng.normal(size=nx), rng.normal(size=(nx, nx)), rng.normal(size=(nx, nr))
    g_x, g_slope, g_rho = rng.normal(size=nx), rng.normal(size=nx), rng.normal(size=nr)

    def evaluate(table, which, inp, out):
        asked.append(which)
        out[:] = np.nan
        told = [[np.nan], g_x, g_slope, g_rho] if which == cost else [f, by_x.ravel(), by_rho.ravel()]  # fmt: skip
        told = np.concatenate(told)
        out[: len(told)] = told

    put(monkeypatch, adjoint.pull_back, evaluate=evaluate)
    problem = space(
        sizes=space(n_x=nx, n=0, n_rho=nr, rows=0, mechanical=False), wrt=wrt, out=np.empty(40), inp=None, rows=[],
        functions=space(table=None, cost=cost, tlm=10), state=[space(mode=mode, held=0)],
        saddle=space(forces=np.zeros((3, 0)), tangent=None),
    )  # fmt: skip
    weights, gains, bars = rng.normal(size=(2, nx + 1)), rng.normal(size=(2, 3)), np.full((2, nx + 1), np.nan)  # fmt: skip
    z = weights[:, nx:] if cost >= 0 else np.zeros((2, 1))
    w, before = weights[:, :nx] + z * g_slope, gains.copy()
    adjoint.pull_back(problem, weights, bars, gains)
    np.testing.assert_allclose(bars, np.hstack([w @ by_x + z * g_x, np.zeros((2, 1))]), rtol=1e-12)
    np.testing.assert_allclose(gains - before, np.where(wrt >= 0, (w @ by_rho + z * g_rho)[:, wrt], 0.0), atol=1e-12)  # fmt: skip
    assert asked == [*[cost] * (cost >= 0), 10 + mode]


@for_each("cost", [0, 4])
def test_a_cost_of_forces_is_pulled_back_through_the_saddle_matrix(monkeypatch, cost):
    """W (v', -lam) = -(R, A): the rows of A that hold have the weight -z g_lam."""
    rng, n, nr, count, closed, wrt = np.random.default_rng(cost), 2, 3, 3, [0, 2], np.array([1, -1])
    size, nx = n + len(closed), 2 * n
    W = rng.normal(size=(size, size)) + 3 * np.eye(size)
    R = [rng.normal(size=(n, wide)) for wide in (n, n, nr, 1)]  # by q, v, rho, t
    A = [rng.normal(size=(count, wide)) for wide in (n, n, nr, 1)]
    g_x, g_slope = rng.normal(size=(2, nx))
    g_lam, g_rho = rng.normal(size=count), rng.normal(size=nr)

    def evaluate(table, which, inp, out):
        parts = [x.ravel() for x in (*R, *A)] if which == STEP else [[9.0], g_x, g_slope, g_lam, g_rho]  # fmt: skip
        told = np.concatenate(parts)
        out[:] = np.nan
        out[: len(told)] = told

    put(
        monkeypatch, adjoint.pull_back, evaluate=evaluate,
        transposed_solve=lambda W, size, pivots, s: s.__setitem__(slice(size), np.linalg.solve(W.T, s[:size])),
    )  # fmt: skip
    put(monkeypatch, adjoint.pull_back_cost, evaluate=evaluate)
    problem = space(
        sizes=space(n_x=nx, n=n, n_rho=nr, rows=count, mechanical=True), wrt=wrt, out=np.empty(60), inp=None,
        rows=[space(closed=int(c in closed)) for c in range(count)], state=[space(held=len(closed))],
        saddle=space(W=W, pivots=None, tangent=np.full(size + 2, np.nan), forces=np.full((2, count), np.nan)),
        functions=space(cost=cost, table=None),
    )  # fmt: skip
    weights, gains = rng.normal(size=(2, nx + 1)), np.zeros((2, 2))
    bars, z = np.full((2, nx + 1), np.nan), weights[:, nx:].copy()
    w = weights[:, :nx] + z * g_slope
    adjoint.pull_back(problem, weights, bars, gains)
    by = [-np.linalg.solve(W, np.vstack([r, a[closed]])) for r, a in zip(R, A, strict=True)]
    of_lam = -z * g_lam[closed]  # lam is the negative of what is solved for
    by_x = [w[:, n:] @ part[:n] + of_lam @ part[n:] for part in by]
    expected = np.hstack([by_x[0], by_x[1] + w[:, :n]]) + z * g_x
    np.testing.assert_allclose(bars[:, :nx], expected, atol=1e-12)
    gained = by_x[2] + z * g_rho
    np.testing.assert_allclose(gains, np.where(wrt >= 0, gained[:, wrt], 0.0), atol=1e-12)


def test_the_time_of_an_event_of_the_inputs_weighs_nothing():
    """And what is chained to it waits no longer."""
    nx, nr, p = 2, 1, 1
    names = ("f_minus", "f_plus", "h_t", "h_x", "h_rho", "r_x", "r_rho")
    at = space(**{name: 5 * k for k, name in enumerate(names)})
    row = np.random.default_rng(0).normal(size=40)
    sweep = space(mu=np.array([1.0, 2.0, 3.0]), gradient=np.zeros(p))
    jumps = adjoint.Jumps(np.array([0.7]), np.full((1, 2, nx + 1), np.nan), np.full((1, p), np.nan))
    event = space(row=row, at=at, head=[space(how=adjoint.DRIVEN, D=2.0)])
    problem = space(sizes=space(n_x=nx, n_rho=nr), wrt=np.array([0]))
    assert adjoint.leap(problem, event, 0, jumps, sweep, 0.3, True) == 0.0
    h = row[at.h_x : at.h_x + 4].reshape(2, 2)
    np.testing.assert_allclose(sweep.mu, [*(np.array([1.0, 2.0]) @ h), 3.0])
    np.testing.assert_allclose(sweep.gradient, row[at.h_rho : at.h_rho + 2] @ [1.0, 2.0])


@for_each(("kinds", "told"), [
    ("s", [8]), ("sj", [1, None]), ("js", [None, 1]), ("sssj", [8, 0, 1, None]), ("jsss", [None, 1, 0, 0]),
    ("sst", [8, 1, None]), ("ssssssssssssssssss", [8, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 8, 0]),
])  # fmt: skip
def test_an_error_stands_for_steps_up_to_the_next_one_that_is_looked_at(kinds, told):
    """The first step has none before it, and the last one none behind it."""
    which = {"s": adjoint.STEP_ROW, "j": adjoint.JUMP_ROW, "t": adjoint.TIME_ROW}
    walk = np.array([(which[k], 0) for k in kinds], adjoint.WALK).view(np.recarray)
    for r, times in enumerate(told):
        if times is not None:
            assert adjoint.counted(walk, r) == times


def test_errors_are_relative_to_an_adjoint_however_small_and_zero_where_there_are_none():
    nx, p = 1, 2
    bars = np.zeros((6, nx + 1))
    bars[1], bars[2] = 3e-8, 4e-7
    sweep = space(mu=np.full(nx + 1, 1e-6), errors=np.zeros(p + 1), scale=np.array([1.0, 0.5]), bars=bars,
                  gains=np.array([[1.0, 2.0], [0.0, 3.0], [0.0, 40.0]]), gradient=np.zeros(p))  # fmt: skip
    adjoint.account(sweep, nx, p, 2)
    np.testing.assert_allclose(sweep.errors, [0.0, 2 * 9 / 5.0, 2 * 9e-16 / 5e-8 / 1e-6])
    assert sweep.gradient.tolist() == [1.0, 2.0]


@for_each("stage", range(3))
def test_a_stage_has_its_own_input_and_its_own_factors(stage):
    many, order, long = 3, 2, 4
    W, pivots = np.arange(12.0).reshape(6, 2), np.arange(6)
    saddle = adjoint.Saddle(W, pivots, "solution", "tangent", "direction", "forces")
    names = ("functions", "sizes", "wrt", "partner", "resets", "out", "state", "rows", "sides", "changes", "links",
             "drive", "active")  # fmt: skip
    problem = space(**{name: name for name in names}, inp=np.arange(12.0), saddle=saddle)
    here = adjoint.at_stage(problem, stage, many)
    assert here.inp.tolist() == [*range(long * stage, long * (stage + 1))]
    np.testing.assert_array_equal(here.saddle.W, W.reshape(many, order, order)[stage])
    assert here.saddle.pivots.tolist() == [2 * stage, 2 * stage + 1]
    assert here.saddle[2:] == ("solution", "tangent", "direction", "forces")
    assert [getattr(here, name) for name in names] == [*names]


class Back:
    """A step of Heun's method back, and what is asked for on the way."""

    def __init__(self, monkeypatch, *, held=True, form=PROJECTED, fails=()):
        self.said, self.fails = [], fails
        A = np.zeros((3, 3))
        A[1, 0], A[2] = 1.0, [0.5, 0.5, 0.0]
        self.method = space(stages=2, A=A, c=np.array([0.0, 1.0, 1.0]), E=np.array([[1.0, -1.0, 0.0], [0.5, 0.25, 1.0]]))  # fmt: skip
        put(monkeypatch, adjoint.step_back, constrained=lambda _: held, projected=lambda _: held and form == PROJECTED,
            at_stage=lambda problem, stage, many: stage, flow=self.flow, project=self.project, pull_back=self.pull_back,
            pull_back_projection=self.project_back)  # fmt: skip

    def told(self, *what):
        self.said.append(what)
        return FAILS if what[:2] in self.fails else SUCCESS

    def flow(self, stage, t, y, slope, width):
        slope[:] = 2 * y
        return self.told("flow", stage)

    def project(self, stage, t, y, width):
        return self.told("project", stage)

    def pull_back(self, stage, weights, bars, gains):
        bars[: len(weights)] = 3 * weights
        gains[: len(weights)] += 5.0
        self.told("back", stage, len(weights))

    def project_back(self, stage, t, y, bar, gains):
        return self.told("project back", stage)

    def go(self, times):
        problem = space(sizes=space(n_x=1), wrt=np.zeros(1, int))
        self.sweep = adjoint.Sweep(
            np.array([1.0, 0.5]), np.zeros(1), np.zeros(2), np.ones(2), np.full((3, 2), np.nan), np.full((3, 2), np.nan),
            np.full((9, 2), np.nan), np.full((3, 2), np.nan), np.full((3, 1), np.nan),
        )  # fmt: skip
        steps = space(t=[0.0], h=[0.5], y=np.array([[1.0, 10.0]]))
        return adjoint.step_back(problem, self.method, steps, 0, self.sweep, times)


@for_each(("held", "form", "times"), [(False, INDEX1, 0), (False, INDEX1, 1), (True, INDEX1, 0), (True, INDEX1, 8),
                                      (True, PROJECTED, 0), (True, PROJECTED, 1)])  # fmt: skip
def test_the_end_of_a_step_is_a_stage_where_its_errors_are_looked_at(
    monkeypatch, held, form, times
):
    """Of constraints it is put on them, with no field there unless it counts; only then are errors pulled back."""
    case = Back(monkeypatch, held=held, form=form)
    assert case.go(times) == SUCCESS
    between, many = held and form == PROJECTED, 3 if times else 1
    expected = [("flow", 0), *[("project", 1)] * between, ("flow", 1)]
    expected += [("project back", 2)] * held + [("flow", 2)] * (times > 0)
    expected += [("back", 2, 3)] * (times > 0) + [
        ("back", 1, many),
        *[("project back", 1)] * (between * many),
    ]
    expected += [("back", 0, many)]
    assert case.said == expected
    # bars 3 h b of both stages, that of the first with what comes back through the second
    second = 3 * 0.5 * 0.5
    first = 3 * 0.5 * (0.5 + second)
    np.testing.assert_allclose(case.sweep.mu, np.array([1.0, 0.5]) * (1 + first + second))
    np.testing.assert_allclose(case.sweep.stages[:2], np.array([[1.0, 10.0], [2.0, 20.0]]))
    assert case.sweep.gradient.tolist() == [5.0 * (2 + (times > 0))]
    assert (case.sweep.errors[1] > 0) == (times > 0)


@for_each(
    "fails",
    [
        ("flow", 0),
        ("project", 1),
        ("flow", 1),
        ("project back", 2),
        ("flow", 2),
        ("project back", 1),
    ],
)
def test_a_step_back_ends_where_something_fails(monkeypatch, fails):
    case = Back(monkeypatch, fails=(fails,))
    assert case.go(1) == FAILS
    assert case.said[-1] == fails
    assert case.sweep.gradient.tolist() == [0.0]
