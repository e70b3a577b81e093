"""How branches and curves of bifurcations begin, and what is told of them."""

from __future__ import annotations

import importlib
import inspect

import numpy as np
import pytest
from loops import for_each
from plain import put, space
from test_study_branches import bare

import explorer as ex
from explorer.errors import BadValue, NotApplicable, StepFailed
from explorer.study.arclength import Node
from explorer.study.branch import Branch
from explorer.study.equilibria import Equilibria
from explorer.study.trace import CLOSED, Options, Traced

COVERS = ("study/continuation.py", "study/two_parameters.py")  # see mutant_rooms.py
following = importlib.import_module("explorer.study.continuation")
curves = importlib.import_module("explorer.study.two_parameters")


def node(w, G=(0.0,), size=0.0):
    """Return a verified point with a tangent of its own."""
    w = np.array(w, float)
    return Node(w, w / 10, space(G=np.array(G), size=size))


# ---------------------------------------------------------------- branches


@for_each("found", [True, False])
def test_the_first_point_is_found_at_the_value_that_is_given(monkeypatch, found):
    """In the plane of its parameter, the last unknown; else the residual is told."""
    asked, at = [], node([1, 2, 3])

    def correct(problem, guess, plane, tol, most):
        asked.append((guess.tolist(), plane.tolist(), tol, most))
        return (at, 4) if found else None

    put(monkeypatch, following._start, correct=correct)
    problem = space(scale=np.array([2.0, 4.0, 0.5]), kind="cycle", system=space(name="s"),
                    evaluate=lambda u, full: space(size=u.sum() if full is False else None))  # fmt: skip
    u = np.array([1.0, 2.0, 3.0])
    if found:
        assert following._start(problem, u, space(tol=1e-7)) is at
    else:
        with pytest.raises(StepFailed, match=r"finds no cycle of 's' .* its residual is 6\."):
            following._start(problem, u, space(tol=1e-7))
    assert asked == [([0.5, 0.5, 6.0], [0.0, 0.0, 1.0], 1e-7, 20)]


@for_each("clock", [None, "tick"])
def test_of_a_system_with_a_clock_there_are_no_equilibria(monkeypatch, clock):
    put(monkeypatch, following._start, correct=lambda *given, **more: None,
        clock_of=lambda system: clock)  # fmt: skip
    problem = bare(Equilibria, scale=np.ones(2), system=space(name="s"), kind="equilibrium")
    object.__setattr__(problem, "evaluate", lambda u, full: space(size=1.0))
    told, kind = (r"section='tick'", NotApplicable) if clock else ("no equilibrium", StepFailed)
    with pytest.raises(kind, match=told):
        following._start(problem, np.ones(2), space(tol=1e-7))


@for_each(
    ("direction", "closed", "told"),
    [
        ("both", False, ["down", "restart", "up"]),
        ("both", True, ["down", "restart"]),
        ("down", False, ["down", "restart"]),
        ("down", True, ["down", "restart"]),
        ("up", False, ["up"]),
    ],
)
def test_a_branch_is_followed_to_one_side_or_to_both(monkeypatch, direction, closed, told):
    """To smaller values against the tangent; a closed branch is there after one turn."""
    said, start, options = [], node([3, -4]), space(tol=1)

    def trace(problem, begin, given):
        down = begin.tangent.tolist() == [-0.3, 0.4]
        assert given is options
        assert begin.w.tolist() == [3.0, -4.0]
        assert down or begin.tangent.tolist() == [0.3, -0.4]
        said.append("down" if down else "up")
        return Traced([[begin]], [], CLOSED if closed else said[-1])

    put(monkeypatch, following._traced, trace=trace, _start=lambda *given: start,
        assembled=lambda problem, *given: given)  # fmt: skip
    problem = space(restart=lambda: said.append("restart"))
    back, on, also, section = following._traced(problem, None, options, direction, "event")
    assert said == told
    assert (also, section) == (options, "event")
    own = [CLOSED] if closed else [one for one in told if one != "restart"]
    assert [one.reason for one in (back, on) if one] == own
    assert (back is None) is (len(own) == 1)


@for_each(
    ("guess", "x"),
    [
        (None, [1.0, 2.0]),
        ({"y": 5}, [1.0, 5.0]),
        ({"x": -1, "y": 7.5}, [-1.0, 7.5]),
        ([3, 4], [3.0, 4.0]),
    ],
)
def test_a_guess_of_an_equilibrium_is_whole_or_by_names(monkeypatch, guess, x):
    made = []

    def problem(*given):
        made.append(given)
        return space(first=lambda x: ("first", x.tolist()))

    put(monkeypatch, following._equilibrium, formulas_of=lambda system: None, Equilibria=problem,
        _model_start=lambda system, values: [1.0, 2.0])  # fmt: skip
    system = space(_state_names=lambda: ["x", "y"])
    _, first = following._equilibrium(system, "p", "values", guess, 3.0)
    assert first == ("first", x)
    assert (made[0][1:3], made[0][3].tolist(), made[0][4]) == (("p", "values"), x, 3.0)
    for wrong, told in (
        ({"z": 1.0}, "no state 'z'"),
        ([1, 2, 3], "needs 2 numbers .* 3 are given"),
    ):
        with pytest.raises(BadValue, match=told):
            following._equilibrium(system, "p", "values", wrong, 3.0)


@for_each(("section", "period", "count", "told"), [
    ("e", None, 1, "is a map and has no section"), (None, 2.0, 1, "count = 1 says"), (None, None, 0, "whole number of at least 1"), (None, None, 1.5, "whole number of at least 1"),
    (None, None, 1, None), (None, None, 3.0, None),
])  # fmt: skip
def test_cycles_of_maps_have_whole_counts_and_no_section(monkeypatch, section, period, count, told):
    made = []

    def problem(*given):
        made.append(given)
        return space(first=lambda: "first")

    def orbit(system, values, guess, count):
        return values, guess, count

    put(monkeypatch, following._map_cycle, MapCycles=problem, first_orbit=orbit)
    system = space(name="m")
    given = (system, "p", section, period, count, "guess", "values", 2.0)
    if told is not None:
        with pytest.raises(BadValue, match=told):
            following._map_cycle(*given)
        return
    assert following._map_cycle(*given)[1] == "first"
    assert made == [(system, "p", "values", ("values", "guess", int(count)), 2.0)]


# ---------------------------------------------------------------- curves


def branch_of(monkeypatch, points, backward=None, forward=None, found=True):
    """Return a branch by p = 1 with a second parameter q = 2 from 0 to 5, and what is asked."""
    asked = {}

    def finish(nodes, tol):
        asked["finish"] = [n.w.tolist() for n in nodes], tol
        if not found:
            return [], np.zeros((0, 4))
        return nodes, np.array([n.w for n in nodes])

    def curve(*given):
        asked["curve"] = given[1:]
        return space(scale=np.array([1.0, 2.0, 4.0, 8.0]), finish=finish)

    def both(curve, own, options):
        asked["both"] = own, options
        problem.rho[:] = 99.0
        return backward, forward

    def restart():
        asked["restart"] = problem.rho.tolist()
        problem.rho[:] = -99.0

    study = inspect.unwrap(ex.study.bifurcation_curve)
    put(monkeypatch, study, Curve=curve, _both=both)
    system = space(name="s", parameters={
        "q": space(unit="", low=0.0, high=5.0), "p": space(unit="", low=-1.0, high=1.0),
    })  # fmt: skip
    problem = space(system=system, parameter="p", rho=np.array([2.0, 1.0]), restart=restart,
                    state=lambda u: u[:2] * 10)  # fmt: skip
    return bare(Branch, problem=problem, points=points), asked, study


def point(kind):
    return space(kind=kind, name="")


@for_each(
    ("kinds", "chosen"),
    [
        (["branch point", "grazing", "flip", "fold"], 2),
        (["grazing", "Hopf"], 0),
        (["branch point", "Hopf", "grazing"], 1),
        (["Hopf", "fold"], 1),
    ],
)
def test_a_curve_begins_at_the_first_fold_or_flip_or_else_at_what_is_first(
    monkeypatch, kinds, chosen
):
    """Its rows go from the smallest value to the largest; the values of the branch are kept."""
    points = tuple(map(point, kinds))
    one, two, three, four = (node([k, 2, 3, k / 8], (9.0, 5.0 + k), k / 100) for k in range(1, 5))
    backward = Traced([[two, one], [one]], [], f"what {curves.LEFT}")
    forward = Traced([[two, three], [four]], [], "end of the range")
    branch, asked, study = branch_of(monkeypatch, points, backward, forward)
    found = study(branch, "q", step=0.04)
    assert asked["curve"] == (points[chosen], "q", 5.0)
    own, options = asked["both"]
    assert own == 2.0
    assert options == Options(0.04, 1e-4 * 0.04, 0.08, 1e-8, 0.0, 1.0, 500)
    rows = [[1, 2, 3, 1 / 8]] * 2 + [[k, 2, 3, k / 8] for k in (2, 3, 4)]
    assert asked["finish"] == (rows, 1e-8)
    assert asked["restart"] == [2.0, 1.0]
    assert branch.problem.rho.tolist() == [2.0, 1.0]
    assert (found.kind, found.parameters) == (kinds[chosen], ("p", "q"))
    assert found.values.tolist() == [[12.0, k] for k in (1, 1, 2, 3, 4)]
    assert found.x.tolist() == [[10.0 * k, 40.0] for k in (1, 1, 2, 3, 4)]
    assert found.residual.tolist() == [k / 100 for k in (1, 1, 2, 3, 4)]
    assert found.test.tolist() == [5.0 + k for k in (1, 1, 2, 3, 4)]
    assert found.ends == ("end of the range of p", "end of the range")
    assert found.branch is branch
    assert "5 points: p = 12 to 12, q = 1 to 4; ends: end of the range of p;" in repr(found)


@for_each(
    ("over", "told"),
    [
        ((0.0, 5.0), None),
        ((2.0, 5.0), None),
        ((-4.0, 2.0), None),
        ((2.1, 5.0), "does not hold the present value q = 2"),
        ((0.0, 1.9), "does not hold"),
        ((2.0, 2.0), "does not hold"),
    ],
)
def test_a_curve_begins_within_its_range(monkeypatch, over, told):
    ends = Traced([[node([1, 2, 3, 4])]], [], "")
    branch, asked, study = branch_of(monkeypatch, (point("fold"),), ends, ends)
    if told is not None:
        with pytest.raises(BadValue, match=told):
            study(branch, "q", over)
        return
    study(branch, "q", over)
    span = over[1] - over[0]
    assert asked["curve"][2] == span
    options = asked["both"][1]
    assert (options.low, options.high) == (over[0] / span, over[1] / span)


@for_each(("kinds", "parameter", "asked", "told"), [
    (["branch point"], "q", None, "no bifurcation that a second"), ([], "q", None, "no bifurcation"), (["fold"], "q", "branch point", "no bifurcation"),
    (["fold"], "p", None, "no second parameter 'p'"), (["fold"], "r", None, "no second parameter 'r'"),
])  # fmt: skip
def test_what_cannot_be_followed_is_refused(monkeypatch, kinds, parameter, asked, told):
    branch, _, study = branch_of(monkeypatch, tuple(map(point, kinds)))
    with pytest.raises(BadValue, match=told):
        study(branch, parameter, point=point(asked) if asked else None)
    with pytest.raises(BadValue, match="Give a branch from"):
        study("branch", parameter)


def test_a_bifurcation_that_is_not_found_again_is_told(monkeypatch):
    ends = Traced([[node([1, 2, 3, 4])]], [], "")
    branch, _, study = branch_of(monkeypatch, (point("flip"),), ends, ends, found=False)
    with pytest.raises(BadValue, match="No flip is found again beside"):
        study(branch, "q")
    assert branch.problem.rho.tolist() == [2.0, 1.0]


@for_each(("reason", "told"), [
    (f"x {curves.REAL}", "the pair of multipliers becomes real"), (f"x {curves.LEFT}", "end of the range of p"), ("a jump", "a jump"),
])  # fmt: skip
def test_why_a_curve_ends_is_said(reason, told):
    assert curves._said(reason, "p") == told
