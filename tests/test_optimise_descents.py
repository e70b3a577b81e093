"""Descents on costs in closed form: how they go, what they note, and why they end."""

from __future__ import annotations

import dataclasses
import importlib

import numpy as np
import pytest
from loops import for_each
from plain import put, space

from explorer.errors import BadValue, ExplorerError
from explorer.optimise.options import SearchOptions
from explorer.optimise.search import Change

COVERS = ("optimise/minimize.py", "optimise/options.py")  # see mutant_rooms.py

descents = importlib.import_module("explorer.optimise.minimize")  # the package holds the function


@dataclasses.dataclass(frozen=True)
class Search:
    """Unknowns p, q, ... within bounds; a run is its point, and what is met there."""

    start: np.ndarray
    low: np.ndarray
    high: np.ndarray
    scale: np.ndarray
    events: object = lambda x: ()

    def named(self, values):
        return dict(zip("pqr", np.asarray(values, float).tolist(), strict=False))

    def run(self, values):
        return space(until="until"), (values.copy(), self.events(values))


def search(start, low=-9.0, high=9.0, scale=2.0, events=lambda x: ()):
    wide = [np.full(len(start), x) if np.ndim(x) == 0 else np.array(x) for x in (low, high, scale)]
    return Search(np.array(start, float), *wide, events)


def descent(monkeypatch, one, cost, tol=1e-8, max_iter=100):
    """Return a descent of a cost with its gradient, begun."""
    said = []

    def gradient(question, run):
        return cost(run[0])

    def seen(run, until):
        assert until == "until"
        return run[1]

    put(monkeypatch, descents._Descent.at, gradient_of=gradient, met=seen)
    found = descents._Descent(one, tol, lambda k, text: said.append((k, text)), max_iter)
    return found, said


def bowl(at, weights, least=3.0):
    at, weights = np.array(at), np.array(weights)
    return lambda x: (least + weights @ (x - at) ** 2 / 2, weights * (x - at))


def test_a_bowl_has_its_least_value_at_its_bottom(monkeypatch):
    """The gradient that is noted is that by parts of the scale."""
    one = search([4.0, -1.0], scale=[2.0, 0.5])
    found, said = descent(monkeypatch, one, bowl([1.0, 2.0], [2.0, 8.0]))
    assert found.history[0] == {
        "p": 4.0, "q": -1.0, "cost": 3.0 + 9.0 + 36.0, "gradient": 12.0, "events": 0,
    }  # fmt: skip
    assert found.go().startswith("converged to a stationary point")
    assert found.best.z * one.scale == pytest.approx([1.0, 2.0], abs=1e-7)
    assert found.best.cost == pytest.approx(3.0, abs=1e-12)
    assert found.projected <= 1e-8
    assert [k for k, _ in said] == [*range(len(found.history))]
    assert said[0][1] == "cost 48"
    assert found.runs >= len(found.history)
    assert found.changes == []


def test_a_descent_ends_at_its_bounds(monkeypatch):
    """There the gradient points out of them; up to them a step has its length."""
    one = search([1.0, 0.0, 0.0], low=[0.5, -9, -9], high=[9, 0.25, 9], scale=[1.0, 0.5, 4.0])
    found, _ = descent(monkeypatch, one, bowl([-1.0, 2.0, 3.1], [2.0, 8.0, 1.0]))
    assert found.projected == 2.25  # up to 9 in parts of 4, where the slope would go by 12.4
    assert found.go().startswith("converged to a stationary point")
    assert found.best.z * one.scale == pytest.approx([0.5, 0.25, 3.1], abs=1e-6)
    assert found.low.tolist() == [0.5, -18.0, -2.25]
    assert found.high.tolist() == [9.0, 0.5, 2.25]


def test_a_step_within_bounds_is_shorter_than_the_gradient(monkeypatch):
    one = search([1.0, 0.0], low=[0.75, -9.0], high=[9.0, 0.5], scale=1.0)
    found, _ = descent(monkeypatch, one, bowl([-1.0, 2.0], [2.0, 8.0]))
    assert found.projected == 0.5
    assert found.best.slope.tolist() == [4.0, -16.0]


def test_what_a_cost_does_not_depend_on_is_said(monkeypatch):
    def saddle(x):
        return np.cosh(x[0] - 0.3), np.array([np.sinh(x[0] - 0.3), 0.0, 0.0])

    found, _ = descent(monkeypatch, search([1.0, 2.0, 3.0]), saddle)
    assert found.go() == (
        "converged to a stationary point, but the cost does not depend on q, r here"
    )


@for_each(
    ("size", "least", "part"),
    [(5e-5, 0.0, 6e-4), (5e-5, 1.1e-3, None), (1.0, 0.0, None), (0.0, 0.0, None), (1e-5, 6e-4, 6e-4)],
)  # fmt: skip
def test_a_tolerance_is_relative_where_a_cost_is_small(monkeypatch, size, least, part):
    """To the cost or to its gradient, what is larger; a scale of 2 makes of 6 size 12 size."""
    found, _ = descent(
        monkeypatch, search([3.0]), lambda x: (least + size * x[0] ** 2 / 9, size * 2 * x), tol=0.5
    )
    assert found.tol == pytest.approx(0.5 if part is None else 0.5 * max(part, least + size))


@for_each("max_iter", [0, 1, 3])
def test_a_descent_makes_no_more_iterations_than_it_may(monkeypatch, max_iter):
    def valley(x):
        a, b = x
        return 100 * (b - a * a) ** 2 + (1 - a) ** 2, np.array(
            [-400 * a * (b - a * a) - 2 * (1 - a), 200 * (b - a * a)]
        )

    found, _ = descent(monkeypatch, search([-1.0, 1.0], scale=1.0), valley, max_iter=max_iter)
    assert found.left == max_iter
    assert found.go() == f"stopped after max_iter = {max_iter} iterations"
    assert len(found.history) == max_iter + 1
    assert found.left == 0


def test_a_change_of_the_events_is_noted_and_the_descent_begins_anew(monkeypatch):
    """Of one and the same bowl, whose events change at x = 2: it is gone on with behind it."""
    one = search([5.0], scale=1.0, events=lambda x: ("a",) if x[0] > 2 else ("a", "b"))
    found, _ = descent(monkeypatch, one, bowl([0.0], [1.0]))
    assert found.go().startswith("converged to a stationary point")
    assert found.best.z == pytest.approx([0.0], abs=1e-7)
    counts = [row["events"] for row in found.history]
    first = counts.index(2)
    assert counts == [1] * first + [2] * (len(counts) - first)
    assert found.changes == [Change(first, ("a",), ("a", "b"))]


def test_a_kink_between_two_sequences_is_no_stationary_point(monkeypatch):
    """|x| falls to the change of the events from both sides: no step lowers it there."""
    one = search([3.0], scale=1.0, events=lambda x: ("a",) if x[0] > 0 else ("b",))
    found, _ = descent(
        monkeypatch, one, lambda x: (abs(x[0]) + 1, np.array([1.0 if x[0] > 0 else -1.0]))
    )
    assert "stopped at a change of the event sequence" in found.go()
    assert found.best.z == pytest.approx([0.0], abs=1e-6)


def test_a_kink_within_one_sequence_is_told_as_the_method_does(monkeypatch):
    found, _ = descent(
        monkeypatch, search([3.0], scale=1.0),
        lambda x: (abs(x[0]) + 1, np.array([1.0 if x[0] > 0 else -1.0])),
    )  # fmt: skip
    said = found.go()
    assert said.startswith("stopped: ")
    assert said == said.lower()


@for_each(
    ("start", "edge", "told"),
    [
        (4.0, -1.0, "converged"),
        (4.0, 0.5, f"stopped after {descents.ROUNDS} restarts"),
        (0.5, 0.5, "stopped where runs start to fail: no run below"),
    ],
)
def test_where_there_is_no_run_steps_are_shorter(monkeypatch, start, edge, told):
    """The bowl has its bottom at 0; runs fail below the edge, which it comes to."""

    def cost(x):
        if x[0] < edge:
            raise ExplorerError("no run below")
        return bowl([0.0], [9.0])(x)

    found, _ = descent(monkeypatch, search([start], scale=1.0), cost)
    assert found.go().startswith(told)
    assert found.best.z == pytest.approx([max(edge, 0.0)], abs=1e-5)


def test_a_first_point_without_a_run_or_a_finite_cost_is_refused(monkeypatch):
    for wrong in ((np.nan, np.ones(1)), (1.0, np.array([np.inf]))):
        with pytest.raises(BadValue, match=r"not finite at .*'p': 3\.0"):
            descent(monkeypatch, search([3.0]), lambda x, wrong=wrong: wrong)


def test_the_last_points_are_kept(monkeypatch):
    """Four of them, so that what is asked again is not run again."""
    found, _ = descent(monkeypatch, search([3.0], scale=2.0), bowl([0.0], [1.0]))
    for z in (1.0, 2.0, 3.0, 1.0, 3.0):
        found.at(np.array([z]))
    assert found.runs == 4
    found.at(np.array([4.0]))  # in the place of the first one, 1.5
    found.at(np.array([1.0]))
    assert found.runs == 5
    found.at(np.array([1.5]))
    assert found.runs == 6
    assert found.at(np.array([3.0])).slope.tolist() == [12.0]  # 6 by x, of scale 2


@for_each("first", [True, False])
def test_of_a_later_start_without_a_run_there_is_no_descent(monkeypatch, first):
    def cost(x):
        raise ExplorerError("no run")

    put(monkeypatch, descents._Descent.at, gradient_of=lambda question, run: cost(run[0]))
    given = (search([1.0]), np.array([3.0]), 1e-8, lambda *_: None, 9, first)
    if first:
        with pytest.raises(ExplorerError, match="no run"):
            descents._descend(*given)
        return
    start, none = descents._descend(*given)
    assert none is None
    assert (start.start, start.parameters) == ({"p": 3.0}, {"p": 3.0})
    assert (start.cost, start.success, start.message) == (np.inf, False, "no run")


@for_each("max_iter", [50, 0])
def test_a_descent_tells_where_it_began_and_ended(monkeypatch, max_iter):
    put(monkeypatch, descents._Descent.at, met=lambda run, until: (),
        gradient_of=lambda question, run: bowl([1.0], [1.0])(run[0]))  # fmt: skip
    one, _ = descents._descend(
        search([7.0]), np.array([3.0]), 1e-8, lambda *_: None, max_iter, True
    )
    assert one.start == {"p": 3.0}
    assert one.parameters["p"] == pytest.approx(1.0 if max_iter else 3.0, abs=1e-7)
    assert one.cost == pytest.approx(3.0 if max_iter else 5.0)
    assert one.success is bool(max_iter)


@for_each(
    ("given", "fits"),
    [
        ({}, True), ({"max_iter": 0}, True), ({"max_iter": 2.0}, True), ({"tol": 1e-300}, True),
        ({"max_iter": -1}, False), ({"max_iter": 1.5}, False), ({"max_iter": True}, False),
        ({"tol": 0.0}, False), ({"tol": -1.0}, False),
    ],
)  # fmt: skip
def test_options_of_a_search_are_positive(given, fits):
    if fits:
        SearchOptions(**given)
        return
    with pytest.raises(BadValue, match=next(iter(given))):
        SearchOptions(**given)
