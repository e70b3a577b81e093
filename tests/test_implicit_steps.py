"""Steps of Newmark's method in the event-driven march, told by what they ask for."""

from __future__ import annotations

import itertools

import numpy as np
from loops import for_each
from plain import plain, put, space

from explorer.codes import SUCCESS
from explorer.kernels.event_driven.structures import step_of

stepping = plain("event_driven.newmark_step")
T, H, FAILS = 1.5, 0.25, 77


def test_the_parts_of_the_memory_of_a_step_are_apart():
    """Rows of K: of each method both ends, what it keeps itself, and what none uses."""
    for stages, own in ((1, "newmark"), (3, "radau")):
        step, taken = step_of(stages, 4), []
        step.K[:] = np.arange(17.0)[:, None]
        for part in (step.slope, step.end, step.spare, *getattr(step, own)):
            taken += [*np.unique(part)]
        ends = [0, stages, 16]
        inner = [*range(3, 8)] if own == "newmark" else [1, 2, 3, 4, 5, 6, 7]
        assert taken == ends + inner


# ---------------------------------------------------------------- Newmark


class Iterates:
    """Newton's method for one acceleration, whose corrections are scripted."""

    def __init__(
        self, monkeypatch, changes, *, beta=0.25, most=12, begin=1.0, n=1, singular=(), slopes=()
    ):
        self.said, self.changes, self.singular, self.slopes = (
            [],
            iter(changes),
            singular,
            iter(slopes),
        )
        self.step = step_of(1, 2 * n + 1)._replace(stage=np.full(2 * n + 1, 9.0))
        self.step.K[:] = np.nan
        self.step.slope[n : 2 * n], self.step.newmark.first[n : 2 * n] = begin, 0.0
        weights = space(alpha_m=0.0, w=0.5, share=1.0, past=0.0, beta=beta)
        put(monkeypatch, stepping.solve, weights_of=lambda _: weights, at_stage=lambda *_: None,
            flow=self.flow, factor=self.factor, correct=self.correct)  # fmt: skip
        self.method = space(newmark=[space(most=most)], newmark_newton=space(r=np.zeros(n)))
        self.n = n

    def flow(self, problem, t, stage, slope, width):
        assert (t, width, stage[2 * self.n]) == (T + 0.5 * H, 0, 0.0)
        self.said.append(("flow", *self.step.end[self.n : 2 * self.n]))
        slope[self.n : 2 * self.n] = next(self.slopes, 0.0)
        return SUCCESS

    def factor(self, *_):
        self.said.append("factor")
        return int(self.said.count("factor") in self.singular)

    def correct(self, newton, n, size, share):
        newton.r[:] = next(self.changes)

    def run(self):
        problem = space(sizes=space(n=self.n, n_x=2 * self.n))
        return stepping.solve(problem, self.method, self.step, self.n, T, None, H)


def iterated(changes, begin, most):
    """Return whether it converges, and what is asked for on the way."""
    said, a, factored, slow, before = [], begin, False, False, 0.0
    for change in changes[:most]:
        said.append(("flow", a))
        largest = max(abs(a), abs(begin))
        if slow or not factored:
            said.append("factor")
        a += change
        if not np.isfinite(change):
            return False, said
        rate = abs(change) / before if factored and before > 0.0 else 1.0
        if rate * abs(change) <= 1e-15 * largest:
            return True, said
        if factored and rate > 0.5 and abs(change) <= 1e-9 * largest:
            return True, said
        slow = factored and rate > 0.1
        factored, before = True, abs(change)
    return False, said


@for_each("seed", range(200))
def test_newtons_method_keeps_its_matrix_while_it_is_fast_and_stops_at_round_off(monkeypatch, seed):
    """Changes fall by few ratios, so that limits are met exactly."""
    rng = np.random.default_rng(seed)
    ratios = rng.choice(
        [0.5, 0.1, 0.0625, 1e-4, 0.75, 1.0, 2.0, 1e-7, 0.0],
        14,
        p=[0.2, 0.1, 0.2, 0.2, 0.1, 0.05, 0.05, 0.05, 0.05],
    )
    changes = (
        np.cumprod(ratios)
        * rng.choice([1.0, 1e-9, 4e-10, 1e-7, 1e-15, 1e3])
        * rng.choice([1.0, -1.0])
    )
    if seed % 7 == 0:
        changes[3] = rng.choice([np.nan, np.inf])
    begin, most = float(rng.choice([1.0, 1e-6, -64.0, 0.0])), int(rng.integers(1, 13))
    case = Iterates(monkeypatch, changes, begin=begin, most=most)
    converged, said = iterated(changes, begin, most)
    assert case.run() == (SUCCESS, converged)
    assert case.said == said


@for_each("beta", [0.25, 0.0])
@for_each("at", range(3))
@for_each("bad", [np.nan, np.inf])
def test_a_force_without_a_value_is_no_solution(monkeypatch, beta, at, bad):
    """Nor is a correction without one: of any of the coordinates."""
    force = np.zeros(3)
    force[at] = bad
    case = Iterates(monkeypatch, [0.0] * 9, n=3, beta=beta, slopes=[force] * 9)
    assert case.run() == (SUCCESS, False)
    case = Iterates(monkeypatch, [force] * 9, n=3, beta=0.25)
    assert case.run() == (SUCCESS, False)


def test_a_matrix_that_becomes_singular_ends_the_iteration(monkeypatch):
    for singular, asked in ((1, 2), (2, 5)):
        case = Iterates(monkeypatch, [1.0, 0.9, 0.9, 0.9], singular=(singular,))
        assert case.run() == (SUCCESS, False)
        assert len(case.said) == asked


@for_each(
    ("slopes", "flows", "factors"),
    [
        ((2.0, 2.0), 2, 0),
        ((2.0, 3.0, 4.0), 3, 1),
        ((2e-9, 2e-9), 2, 0),
        ((2e-9, 3e-9, 3e-9), 4, 1),
        ((0.0, 0.0), 2, 0),
    ],
)
def test_an_explicit_step_turns_to_newtons_method_at_its_third_look(
    monkeypatch, slopes, flows, factors
):
    """Its first two corrections need no matrix."""
    case = Iterates(
        monkeypatch,
        [1e-20, 1e-40],
        beta=0.0,
        begin=1e-9 if slopes[0] < 1e-3 else 1.0,
        slopes=slopes,
    )
    assert case.run() == (SUCCESS, True)
    assert sum(one != "factor" for one in case.said) == flows
    assert case.said.count("factor") == factors
    assert case.said[1] == ("flow", slopes[0])


def test_the_first_guess_is_the_acceleration_at_the_start(monkeypatch):
    """Of each coordinate; and the largest of all tells what round-off is."""
    case = Iterates(monkeypatch, [1.0], n=3, most=1)
    case.step.slope[:6] = [7.0, 8.0, 9.0, 1.0, -2.0, 3.0]
    case.run()
    assert case.said[0] == ("flow", 1.0, -2.0, 3.0)
    for at in range(3):
        case = Iterates(monkeypatch, [0.9e-9, 0.9e-9, 1.0], n=3)
        case.step.slope[:6] = [0.0, 0.0, 0.0, *np.eye(3)[at]]
        assert case.run() == (SUCCESS, True)
        case = Iterates(monkeypatch, [1.1e-9, 1.1e-9, 1.1e-9], n=3, most=3)
        case.step.slope[:6] = [100.0, 100.0, 100.0, *np.eye(3)[at]]
        assert case.run() == (SUCCESS, False)


@for_each(
    ("alpha_m", "alpha_f", "asked"),
    [(0.0, 0.0, 0), (0.25, 0.0, 1), (0.0, 0.25, 1), (0.25, 0.25, 1)],
)
def test_the_flow_itself_is_asked_for_where_a_scheme_carries_other_accelerations(
    monkeypatch, alpha_m, alpha_f, asked
):
    """By either of its shifts; without columns unless the step has changed."""
    told, co = [], space(weight=1.0, alpha_m=alpha_m, alpha_f=alpha_f, begun=0.0, length=0.0)
    put(
        monkeypatch,
        stepping.begin,
        weights_of=lambda _: space(past=0.0),
        flow=lambda problem, t, y, slope, width: told.append((t, width)) or SUCCESS,
    )
    step = step_of(1, 6)
    step.K[:] = 0.0
    assert (
        stepping.begin(space(sizes=space(n=1, n_x=2)), space(newmark=[co]), step, T, None, H, 1)
        == SUCCESS
    )
    assert told == [(T, 0)] * asked
    widths = []
    put(monkeypatch, stepping.estimate, flow=lambda problem, t, y, slope, width: widths.append((t, width)) or SUCCESS, middle=lambda *_: None,
        local_error=lambda *_: 0.5)  # fmt: skip
    step = step._replace(stage=np.zeros(3), new=np.zeros(3))
    assert (
        stepping.estimate(
            space(sizes=space(n=1, n_x=2)), space(newmark=[co]), step, T, np.zeros(3), H
        )
        == SUCCESS
    )
    assert widths == [(T + H, 0)] * asked + [(T + H / 2, 0)]


class Stepped:
    """A step of Newmark's by stand-ins of its parts: where its end is taken, and what else is asked."""

    def __init__(
        self, monkeypatch, *, fails="", converged=True, weight=0.0, width=0, cost=-1, w=0.75
    ):
        self.said, self.fails, self.n = [], fails, 2
        nx, block = 4, 5
        self.y = np.arange(1.0, 1 + 3 * block)
        self.step = step_of(1, 3 * block)._replace(stage="stage", new=np.full(3 * block, np.nan))
        self.step.K[:] = np.nan
        self.step.slope[:] = 100.0 + np.arange(3 * block)
        self.co = space(weight=weight, error=9.0)
        put(monkeypatch, stepping.newmark_step, weights_of=lambda _: space(w=w), begin=self.part("begin"), estimate=self.part("estimate"), columns=self.part("columns"),
            solve=lambda problem, method, step, size, *given: (self.told("solve", size, *given), converged), at_stage=self.at_stage, flow=self.flow)  # fmt: skip
        problem = space(
            sizes=space(n=2, n_x=nx, rows=3),
            rows=[space(closed=1), space(closed=0), space(closed=1)],
            functions=space(cost=cost),
        )
        self.status = stepping.newmark_step(
            problem, space(newmark=[self.co]), self.step, T, self.y, H, width
        )

    def told(self, name, *what):
        self.said.append((name, *(one for one in what if one is not self.y)))
        return FAILS if name == self.fails else SUCCESS

    def part(self, name):
        return lambda problem, method, step, *given: self.told(name, *given)

    def at_stage(self, y, h, weights, w, n, at, to, slope, end, stage):
        self.said.append(("at", h, w, n, at, to, "stage" if isinstance(stage, str) else "new"))
        if not isinstance(stage, str):
            stage[to : to + 4] = [10.0, 20.0, 30.0, 40.0]

    def flow(self, problem, t, y, slope, width):
        slope[:] = 7.0 + np.arange(15)
        return self.told("flow", t, width)


@for_each(("weight", "width", "cost"), itertools.product((0.0, 1.0), (0, 1, 2), (-1, 0, 5)))
def test_a_step_of_newmark_ends_with_its_error_its_columns_and_its_cost(
    monkeypatch, weight, width, cost
):
    """The cost by the trapezoidal rule; without one it stays as it is."""
    case = Stepped(monkeypatch, weight=weight, width=width, cost=cost)
    assert case.status == SUCCESS
    expected = [
        ("begin", T, H, width),
        ("solve", 4, T, H),
        ("at", H, 1.0, 2, 0, 0, "new"),
        *[("estimate", T, H)] * (weight > 0),
    ]
    if width:
        expected += [("at", H, 0.75, 2, 0, 0, "stage"), ("columns", 4, T + 0.75 * H, H, width)]
    assert case.said == expected + [("flow", T + H, width)] * (cost >= 0)
    assert case.co.error == 0.0
    assert case.step.end[:2].tolist() == [30.0, 40.0]
    assert case.step.new[:4].tolist() == [10, 20, 30, 40]
    for k in range(width + 1):
        at = 5 * k + 4
        slope = 7.0 + at if cost >= 0 else 0.0
        assert case.step.end[at] == slope
        assert case.step.new[at] == case.y[at] + (
            0.5 * H * (100.0 + at + slope) if cost >= 0 else 0.0
        )
    assert np.isnan(case.step.new[5 * width + 9 :: 5]).all()


@for_each(
    ("fails", "count"), [("begin", 1), ("solve", 2), ("estimate", 4), ("columns", 6), ("flow", 7)]
)
def test_a_step_of_newmark_ends_with_what_fails(monkeypatch, fails, count):
    case = Stepped(monkeypatch, fails=fails, weight=1.0, width=1, cost=3)
    assert (case.status, len(case.said)) == (FAILS, count)
    case = Stepped(monkeypatch, converged=False, weight=1.0, width=1, cost=3)
    assert (case.status, len(case.said)) == (SUCCESS, 2)
    assert np.isnan(case.step.new[0])
