"""Checks of what a study is given, and small parts of branches and maps."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from loops import for_each
from plain import put, space
from test_study_branches import bare

import explorer as ex
from explorer.errors import BadValue
from explorer.study import (
    exponents,
    finer_basins,
    map_cycles,
    recurrence,
    swept,
    trace,
)
from explorer.study.arclength import Node
from explorer.study.continuation import _range
from explorer.study.scheme_comparison import _error, _on_both_sides
from explorer.study.section import Section
from explorer.study.sharpening import _over

COVERS = ("study/map_cycles.py", "study/trace.py")  # see mutant_rooms.py


@for_each(("given", "why"), [
    ({"event": "a"}, None), ({"period": 1}, None), ({"period": 1, "phase": 0.999, "most": 1}, None), ({}, "needs an event"), ({"event": "a", "period": 1}, "needs an event"),
    ({"event": "a", "side": "behind"}, "must be 'after' or 'before'"), ({"period": 1, "phase": 1.0}, r"must lie in \[0, 1\)"), ({"period": 1, "phase": -0.1}, r"must lie in \[0, 1\)"),
    ({"event": "a", "most": 0}, "whole number of at least 1"), ({"event": "a", "most": True}, "whole number of at least 1"), ({"event": "a", "most": 1.5}, "whole number of at least 1"), ({"event": "a", "side": "before"}, None),
])  # fmt: skip
def test_a_section_is_an_event_or_a_period(given, why):
    if why is None:
        Section(**given)
        return
    with pytest.raises(BadValue, match=why):
        Section(**given)


@for_each(("parameter", "over", "told"), [
    ("b", None, (0.0, 9.0)), ("b", (1, 5), (1.0, 5.0)), ("b", (5, 5), "the first end must be below"), ("b", (6, 5), "the first end must be below"), ("b", (5.5, 9), "outside over"),
    ("b", (0, 4.5), "outside over"), ("b", (1, 2, 3), "must be the two ends"), ("c", None, "no parameter 'c' to follow"), ("b", (0, 5), (0.0, 5.0)),
])  # fmt: skip
def test_a_branch_lies_within_a_range_that_holds_its_begin(parameter, over, told):
    system = space(name="m", parameters={"a": ex.Param(3, 0, 9), "b": ex.Param(5, 0, 9)})
    values = np.array([3.0, 5.0])
    if isinstance(told, str):
        with pytest.raises(BadValue, match=told):
            _range(system, parameter, over, values)
    else:
        assert _range(system, parameter, over, values) == told


@for_each(("over", "told"), [
    ({"b": (2, 3)}, ("b", (2.0, 3.0))), ({"b": (3, 3)}, "is no range"), ({"b": (4, 3)}, "is no range"), ({"c": (2, 3)}, "no parameter 'c'"), ({"b": (2, 3, 4)}, "needs two numbers"), ({}, "must be one parameter"),
    ({"a": (1, 2), "b": (2, 3)}, "must be one parameter"), ([("b", (2, 3))], "must be one parameter"),
])  # fmt: skip
def test_a_diagram_is_over_one_parameter_from_its_lower_end(over, told):
    system = space(name="m", parameters={"a": 1, "b": 2})
    if isinstance(told, str):
        with pytest.raises(BadValue, match=told):
            _over(system, over)
    else:
        assert _over(system, over) == told


@for_each(("names", "given", "told"), [
    ("x y", {"x": (0, 1), "y": (2, 4)}, False), ("a b", {"a": (0, 1), "b": (2, 4)}, True), ("x a", {"x": (0, 1), "a": (2, 4)}, "one is a start and one is a parameter"), ("x", {"x": (0, 1)}, "must be two starts"),
    ("x y", {"x": (1, 0), "y": (2, 4)}, "from 1 to 0 is no range"), ("x y", {"x": (1, 1), "y": (2, 4)}, "from 1 to 1 is no range"), ("x y", {"x": (0, 1, 2), "y": (2, 4)}, "'x' needs two numbers"),
])  # fmt: skip
def test_finer_basins_are_over_two_starts_or_two_parameters(monkeypatch, names, given, told):
    """The other states are those of `start`, each an axis of one value."""
    asked = []

    def of(system, grids):
        asked.append({name: grid.tolist() for name, grid in grids.items()})
        places = [(k, 0, "start" if name in "xyz" else "parameter", "xyz".find(name)) for k, name in enumerate(grids)]  # fmt: skip
        return space(axes=[space(names=(name,)) for name in grids], places=places)

    monkeypatch.setattr(finer_basins.Axes, "of", of)
    monkeypatch.setattr(finer_basins, "states_of", lambda system: (("x", "y", "z"), ("m", "", "s")))
    monkeypatch.setattr(finer_basins, "moving", lambda system: {"a", "b"})
    system = space(name="m", parameters={"a": 1, "b": 2, "c": 3})
    if isinstance(told, str):
        with pytest.raises(BadValue, match=told):
            finer_basins._starts(system, given, (3, 2), None)
        return
    starts, parameters = finer_basins._starts(system, given, (3, 2), [7.0, 8.0, 9.0])
    first, second = names.split()
    assert asked == [{first: [0.0, 0.5, 1.0], second: [2.0, 4.0]}]
    assert parameters == told
    rest = {"x": 7.0, "y": 8.0, "z": 9.0}
    fixed = {f"x0.{name}": value for name, value in rest.items() if name not in given}
    assert starts.names == (first, second, *fixed)
    assert [float(axis.values[0, 0]) for axis in starts.axes[2:]] == [*fixed.values()]
    assert (starts.parameters, starts.order) == ((), tuple((False, k) for k in range(2 + len(fixed))))  # fmt: skip
    with pytest.raises(BadValue, match="start needs 3 numbers"):
        finer_basins._starts(system, given, (3, 2), [7.0, 8.0])


@for_each("seed", range(3))
def test_errors_of_means_are_the_largest_by_several_sizes_of_batches(seed):
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(64, 3)) + np.repeat(rng.normal(size=(8, 3)), 8, axis=0)
    means[5, 1] = np.nan
    found = exponents.batch_errors(means)
    for k in (0, 2):
        told = []
        for count in exponents._JOINED:
            joined = np.array([np.mean(part) for part in np.split(means[:, k], count)])
            told.append(np.sqrt(((joined - joined.mean()) ** 2).sum() / (count - 1) / count))
        assert found[k] == pytest.approx(max(told))
    assert found[1] == 0.0
    assert exponents.batch_errors(np.full((64, 2), np.nan)).tolist() == [0.0, 0.0]


def test_a_run_is_compared_with_its_truth_on_both_sides_of_a_jump():
    """x = t, and from 1 s on t + 1: a run that is 0.3 too large in a state has so large an error."""

    def truth(t):
        return np.stack([t + (t >= 1.0), 5 * t], axis=1)

    t = np.array([0.0, 0.5, 1.0, 1.0, 1.5, 2.0])
    right = _on_both_sides(t, truth)
    assert right[:, 0] == pytest.approx([0.0, 0.5, 1.0, 2.0, 2.5, 3.0], abs=1e-6)
    run = space(t=t, q=right + np.array([0.3, 0.3]))
    assert _error(run, truth) == pytest.approx(0.3 / 3, rel=1e-6)
    run.q = right + np.array([0.0, 0.3])
    assert _error(run, truth) == pytest.approx(0.3 / 10, rel=1e-6)


@for_each(("w", "first", "tangent", "told"), [
    ((30.0, 4.0), (2.0, 1.0), (0.8, 0.6, 1e-3), (15.0, 30 * 1e-3 / 0.8)), ((30.0, 4.0), (0.5, 0.1), (0.8, 0.6, 1e-3), (30.0, 30 * 1e-3 / 0.8)), ((-30.0, 4.0), (2.0, 1.0), (-0.8, 0.6, 1e-3), (15.0, 30 * 1e-3 / 0.8)),
    ((30.0, 4.0), (2.0, 1.0), (-0.8, 0.6, 1e-3), (0.0, 0.0)), ((19.0, 4.0), (2.0, 1.0), (0.8, 0.6, 1e-3), (0.0, 0.0)), ((3.0, -40.0), (2.0, 1.0), (0.1, -0.8, -1e-3), (20.0, 40 * 1e-3 / 0.8)),
    ((30.0, 4.0), (2.0, 1.0), (0.0, 0.6, 1e-3), (0.0, 0.0)),
])  # fmt: skip
def test_a_branch_grows_to_infinity_at_the_pole_of_its_largest_state(w, first, tangent, told):
    """As 1 / (p_0 - p); ten times the largest state of the begin, or one, is far."""
    problem, p = space(n=2), 0.7
    start, here = space(w=np.array([*first, p])), space(w=np.array([*w, p]), tangent=np.array(tangent))  # fmt: skip
    far, left = trace._to_infinity(problem, start, here)
    assert (far, left) == pytest.approx(told)
    here.tangent[-1] = 2 * trace._STEEP * abs(here.tangent[:2]).max()
    assert trace._to_infinity(problem, start, here)[0] == 0.0


@for_each(("p", "edge"), [(1.5, 1.0), (-3.0, -2.0)])
def test_a_branch_ends_on_the_line_to_its_first_point_outside(monkeypatch, p, edge):
    here, node = space(w=np.array([2.0, 0.5]), p=0.5, tangent="t", at=space(sequence=(1,))), space(w=np.array([6.0, p]), p=p)  # fmt: skip
    asked, joined, last = [], [], space(at=space(sequence=(1,)))
    put(monkeypatch, trace._to_the_edge, correct=lambda problem, guess, plane, tol, like: asked.append((guess.tolist(), plane.tolist(), tol, like)) or (None if last is None else (last, 3)),
        _join=lambda problem, a, b, options, found: joined.append((a, b)))  # fmt: skip
    options = space(low=-2.0, high=1.0, tol=1e-9)
    trace._to_the_edge(None, here, node, options, None)
    part = (edge - 0.5) / (p - 0.5)
    assert asked == [([2 + 4 * part, edge], [0.0, 1.0], 1e-9, "t")]
    assert joined == [(here, last)]
    last.at.sequence = (2,)
    trace._to_the_edge(None, here, node, options, None)
    last = None
    trace._to_the_edge(None, here, node, options, None)
    assert len(joined) == 1


@for_each(("jump", "told"), [(0.0, [1, 1, 1]), (0.5, [1, 0, 0])])
def test_a_point_of_a_map_passes_its_border_against_the_gradient(monkeypatch, jump, told):
    """By steps in the unit of the states; the first of the branches that are found there is taken."""
    one = bare(map_cycles.MapCycles, n=2, scale=np.array([2.0, 4.0, 2.0, 4.0, 5.0]), unit=np.array([2.0, 4.0]), rho=np.array([7.0, 8.0]),
               place=1, branches=[3, 0], compiled="c")  # fmt: skip
    seen = []

    def branch_of(compiled, x, rho):
        seen.append((x.tolist(), rho.tolist()))
        return told[min(len(seen), 3) - 1] if len(seen) <= len(map_cycles._STEP) else 0

    monkeypatch.setattr(map_cycles, "_margin", lambda compiled, x, rho, branch: (0.0, np.array([3.0, 2.0])) if branch == 0 else None)  # fmt: skip
    monkeypatch.setattr(map_cycles, "_branch_of", branch_of)
    way, found = one._behind(1, np.array([0.1, 0.2, 0.3, 0.4, 0.5]))
    assert way == pytest.approx(-np.array([6.0, 8.0]) / 10)
    x = np.array([0.6, 1.6])
    for (place, rho), size in zip(seen, map_cycles._STEP, strict=True):
        assert place == pytest.approx(x - size * np.array([0.6, 0.8]) * [2.0, 4.0])
        assert rho == [7.0, 2.5]
    assert len(found) == len(map_cycles._STEP)
    own = type("Own", (map_cycles.MapCycles,), {"_behind": lambda self, k, w: (None, [0, 0, told[0]])})  # fmt: skip
    one.__class__ = own
    before = one.branches
    assert one.pass_border(1, None)
    assert (one.branches, before) == ([3, 1], [3, 0])
    own._behind = lambda self, k, w: (None, [1, 1])
    assert not one.pass_border(1, None)


@for_each(
    ("scale", "told"),
    [((1.0, 1.0), 5.0), ((3.0, 4.0), np.sqrt(2)), ((30.0, 0.4), np.hypot(0.1, 10.0))],
)
def test_sets_are_apart_by_their_nearest_points_in_parts_of_the_scale(scale, told):
    one, other = np.array([[1.0, 2.0], [-8.0, -7.0]]), np.array([[4.0, 6.0], [99.0, 99.0]])
    assert recurrence.apart(one, other, np.array(scale)) == pytest.approx(told)
    assert recurrence.nearest(one, other) == pytest.approx([5.0, np.hypot(12.0, 13.0)])


@for_each(("code", "told"), [(swept.UNRUN, "not run"), (swept.UNRUN - 7, "refused"), (swept.UNSTABLE, "unstable"), (swept.ESCAPED, "escaped"), (swept._IMPROPER, "improper_friction"), (0, "success")])  # fmt: skip
def test_runs_of_a_sweep_end_by_name(code, told):
    assert swept._name(code) == told


@for_each(("first", "other", "closed", "told"), [
    (True, False, False, ["found", "back", "on"]), (True, False, True, ["found", "back"]), (False, True, False, ["found", "found", "back", "on"]), (False, False, False, None), (False, None, False, None),
])  # fmt: skip
def test_a_curve_over_two_parameters_is_followed_to_both_sides(monkeypatch, first, other, closed, told):  # fmt: skip
    """From where the bifurcation is found again in the plane of the second parameter."""
    module, said, starts = importlib.import_module("explorer.study.two_parameters"), [], [first, other]  # fmt: skip
    at = Node(np.array([1.0, 2.0, 3.0]), np.array([0.6, 0.0, 0.8]), None)
    curve = space(scale=np.array([1.0, 1.0, 4.0]), w=np.array([5.0, 6.0]), other_side=lambda: other is not None, kind="flip", parameter="q")  # fmt: skip

    def correct(given, guess, plane, tol):
        assert (guess.tolist(), plane.tolist()) == ([5.0, 6.0, 2.0], [0.0, 0.0, 1.0])
        said.append("found")
        return (at, 3) if starts.pop(0) else None

    def follow(given, start, options):
        back = start.tangent.tolist() == [-0.6, 0.0, -0.8]
        assert back or start.tangent.tolist() == [0.6, 0.0, 0.8]
        said.append("back" if back else "on")
        return trace.Traced([[start]], [], trace.CLOSED if closed else "end")

    monkeypatch.setattr(module, "correct", correct)
    monkeypatch.setattr(module, "trace", follow)
    if told is None:
        with pytest.raises(BadValue, match="The flip is not found again at q = 8"):
            module._both(curve, 8.0, None)
        return
    backward, forward = module._both(curve, 8.0, None)
    assert said == told
    assert (forward.reason, [n.w.tolist() for n in forward.pieces[0]]) == (trace.CLOSED if closed else "end", [[1.0, 2.0, 3.0]])  # fmt: skip
    assert backward.reason == forward.reason
