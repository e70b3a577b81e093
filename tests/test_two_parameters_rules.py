"""Which bifurcation a curve over two parameters follows, with which options, and what it returns."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from loops import for_each
from plain import put, space
from test_study_branches import bare

import explorer as ex
from explorer.errors import BadValue
from explorer.study.branch import Branch
from explorer.study.curve_problems import LEFT, REAL
from explorer.study.two_parameters import BifurcationCurve, _said

function = inspect.unwrap(ex.study.bifurcation_curve)


def node(w, size=0.5, test=0.25):
    return space(w=np.array(w, float), at=space(size=size, G=np.array([9.0, 8.0, test])))


def branch_of(*kinds):
    """Return a branch over p with points of these kinds; it goes back to where it began."""
    said = []
    problem = space(parameter="p", rho=np.array([1.0, 3.0, 7.0]), scale=None, state=lambda row: row[:1] * 2)  # fmt: skip
    problem.system = space(name="m", parameters={"p": ex.Param(1, 0, 9), "q": ex.Param(3, 0, 9, "N"), "r": ex.Param(7, 0, 9)})  # fmt: skip
    problem.restart = lambda: said.append(("restart", problem.rho.tolist())) or problem.rho.fill(5)
    points = tuple(space(kind=kind, k=k) for k, kind in enumerate(kinds))
    return bare(Branch, problem=problem, points=points), said


def follow(monkeypatch, branch, back, forth, ended=None, **given):
    """Return the curve; `back` and `forth` are the pieces of both directions."""
    made = {}

    def curve(own, point, parameter, span):
        made["curve"] = (own, point, parameter, span)
        own.problem.rho[1] = 99.0
        return one

    def finish(nodes, tol):
        made["nodes"], made["tol"] = nodes, tol
        kept = nodes if ended is None else ended
        return kept, np.array([n.w for n in kept]).reshape(len(kept), 3)

    def both(own, at, options):
        made["both"] = (own, at, options)
        return space(pieces=back, reason=REAL), space(pieces=forth, reason=f"p{LEFT}")

    one = space(finish=finish, scale=np.array([10.0, 2.0, 4.0]))
    put(monkeypatch, function, Curve=curve, _both=both)
    return function(branch, "q", **given), made, one


@for_each(("kinds", "point", "told"), [
    (["flip"], None, 0), (["Hopf", "fold"], None, 1), (["branch point", "Hopf", "grazing"], None, 1), (["grazing", "flip", "fold"], None, 1), (["fold", "flip"], 1, 1), (["branch point"], None, None),
    ([], None, None), (["fold", "branch point"], 1, None),
])  # fmt: skip
def test_folds_and_flips_come_first(monkeypatch, kinds, point, told):
    branch, _ = branch_of(*kinds)
    given = {} if point is None else {"point": branch.points[point]}
    if told is None:
        with pytest.raises(BadValue, match="no bifurcation that a second parameter could move"):
            follow(monkeypatch, branch, [], [], **given)
        return
    found, made, _ = follow(monkeypatch, branch, [[node([1, 2, 3])]], [[node([1, 2, 3])]], **given)
    assert made["curve"] == (branch, branch.points[told], "q", 9.0)
    assert found.kind == kinds[told]


def test_a_curve_has_both_directions_once():
    """From the last point of the one to the last of the other; the first one is not told twice."""
    branch, said = branch_of("fold")
    start = node([0.0, 2.0, 3.0])
    back = [[start, node([-1.0, 2, 3])], [node([-2.0, 2, 3])]]
    forth = [[start, node([1.0, 1.5, 2.5], 0.125, -0.5)], [node([2.0, 2, 3])]]
    with pytest.MonkeyPatch.context() as patch:
        found, made, one = follow(patch, branch, back, forth, over=(2, 6), step=0.5)
    assert [n.w[0] for n in made["nodes"]] == [-2, -1, 0, 1, 2]
    assert made["tol"] == 1e-8
    assert made["curve"][3] == 4.0
    own, at, options = made["both"]
    assert (own, at) == (one, 3.0)
    assert (options.h, options.h_min, options.h_max, options.tol) == (0.5, 5e-5, 1.0, 1e-8)
    assert (options.low, options.high, options.most) == (0.5, 1.5, 500)
    assert found.values.tolist() == [[4, 12], [4, 12], [4, 12], [3, 10], [4, 12]]
    assert found.x.tolist() == [[-40.0], [-20.0], [0.0], [20.0], [40.0]]
    assert found.residual.tolist() == [0.5, 0.5, 0.5, 0.125, 0.5]
    assert found.test.tolist() == [0.25, 0.25, 0.25, -0.5, 0.25]
    assert found.ends == ("the pair of multipliers becomes real", "end of the range of p")
    assert (found.parameters, found.branch) == (("p", "q"), branch)
    assert said == [("restart", [1.0, 3.0, 7.0])]
    assert branch.problem.rho.tolist() == [1.0, 3.0, 7.0]


def test_parameters_go_back_to_what_they_were_where_nothing_is_found(monkeypatch):
    branch, said = branch_of("corner")
    pieces = [[node([1, 2, 3])]]
    with pytest.raises(BadValue, match="No corner is found again"):
        follow(monkeypatch, branch, pieces, pieces, ended=[])
    assert said == [("restart", [1.0, 3.0, 7.0])]
    assert branch.problem.rho.tolist() == [1.0, 3.0, 7.0]


@for_each(("given", "why"), [
    ({"over": (3, 4)}, None), ({"over": (2, 3)}, None), ({"over": (3.5, 4)}, "does not hold the present value q = 3"), ({"over": (1, 2.5)}, "does not hold"), ({"over": (3, 3)}, "does not hold"),
    ({"step": 0.0}, "step"), ({}, None),
])  # fmt: skip
def test_the_range_holds_the_present_value(monkeypatch, given, why):
    branch, _ = branch_of("fold")
    pieces = [[node([1, 2, 3])]]
    if why is None:
        follow(monkeypatch, branch, pieces, pieces, **given)
        return
    with pytest.raises(BadValue, match=why):
        follow(monkeypatch, branch, pieces, pieces, **given)


@for_each(("name", "suggests"), [("p", False), ("", False), ("rr", True)])
def test_the_second_parameter_is_another_one(name, suggests):
    branch, _ = branch_of("fold")
    with pytest.raises(BadValue, match=f"no second parameter {name!r}") as caught:
        function(branch, name)
    assert ("'r'" in str(caught.value)) == suggests
    with pytest.raises(BadValue, match="Give a branch from"):
        function("none", "q")


@for_each(("reason", "told"), [(REAL, "the pair of multipliers becomes real"), (f"it ends: p{LEFT}", "end of the range of p"), ("closed", "closed"), (f"the model: {REAL}", "the pair of multipliers becomes real")])  # fmt: skip
def test_a_curve_says_why_it_ends(reason, told):
    assert _said(reason, "p") == told


@for_each(("kind", "many"), [("fold", "folds"), ("Hopf", "Hopf bifurcations"), ("corner", "corners")])  # fmt: skip
def test_a_curve_is_told_by_its_ranges(kind, many):
    values = np.array([[1.0, 9.0], [3.0, 7.0], [2.0, 8.0]])
    one = BifurcationCurve(kind, ("p", "q"), values, values, values[0], values[0], ("one", "two"), None)  # fmt: skip
    assert repr(one) == f"BifurcationCurve of {many}, 3 points: p = 1 to 3, q = 7 to 9; ends: one; two"  # fmt: skip
