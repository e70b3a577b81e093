"""Which point of a branch grazes, and on which side of it cycles just miss the guard."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from loops import for_each
from plain import put, space
from test_study_branches import bare

import explorer as ex
from explorer.errors import BadValue, NotApplicable
from explorer.study.branch import Branch
from explorer.study.cycles import Cycle, Cycles
from explorer.study.grazing import _SIDE, _check_later, _curvature, from_outside

asked_for = inspect.unwrap(ex.study.grazing)


def branch_of(*points, base=Cycles, tol=1e-9):
    return bare(Branch, problem=bare(base), points=points, options=space(tol=tol), parameter="p")


def touch(kind="grazing", name="g", **margins):
    node = space(at=space(margins=margins))
    return space(kind=kind, name=name, node=node, parameter=2.5)


@for_each(("points", "given", "told"), [
    ([("fold", ""), ("grazing", "g"), ("grazing", "h")], None, "g"), ([("grazing", ""), ("grazing", "h")], None, "h"), ([("grazing", "g"), ("grazing", "h")], 1, "h"), ([("fold", "")], None, None),
    ([("fold", ""), ("grazing", "g")], 0, "a fold"), ([], None, None),
])  # fmt: skip
@for_each(("error", "tol"), [(1e-7, 1e-9), (1e-11, 1e-9)])
def test_the_first_touch_of_a_branch_has_its_form(monkeypatch, points, given, told, error, tol):
    """Or the one that is given; the error is the tolerance at least."""
    made = [touch(*one) for one in points]
    branch = branch_of(*made, tol=tol)
    put(monkeypatch, asked_for, from_outside=lambda problem, own, point: ("w", "node", error) if own is branch else None, _form=lambda *given: given)  # fmt: skip
    point = None if given is None else made[given]
    if told is None:
        with pytest.raises(BadValue, match="no point at which a cycle grazes"):
            asked_for(branch, point)
    elif told == "a fold":
        with pytest.raises(BadValue, match="does not graze at this point, a fold"):
            asked_for(branch, point)
    else:
        assert asked_for(branch, point) == (branch.problem, told, "w", "node", max(error, tol))


def test_only_branches_of_cycles_graze():
    with pytest.raises(BadValue, match="Give a branch from"):
        asked_for("none")
    with pytest.raises(NotApplicable, match="Equilibria and maps do not graze"):
        asked_for(branch_of(touch(), base=ex.MapSystem))


# ---------------------------------------------------------------- from outside


SCALE = np.array([2.0, 5.0, 4.0])


def outside(monkeypatch, cycles, *, autonomous=False, x=(6.0, 20.0), reaches=(True, True)):
    """Return what is found, the guesses and what `approach` is asked; `cycles` of each side.

    A cycle is where it is found beside the guess, and its margin; None: there is none.
    """
    guesses, asked, began = [], [], []
    w = np.array([1.0, 2.0, 3.0])
    rate = np.array([[7.0, 8.0, 99.0]])

    def sample(t, slopes):
        assert (t.tolist(), slopes) == ([0.0], False)
        return None, rate

    cycle = bare(Cycle, run=space(march=space(sample=sample)))
    point = space(kind="grazing", name="g", parameter=10.0, x=np.array(x), node=space(w=w, at=space(data=cycle)))  # fmt: skip
    kind = type("Own", (Cycles,), {"autonomous": autonomous, "begin_as": lambda self, cycle: began.append(cycle)})  # fmt: skip
    problem = bare(kind, scale=SCALE, n=2)

    def correct(given, guess, plane, tol):
        assert (given, plane.tolist(), tol) == (problem, [0.0, 0.0, 1.0], 1e-9)
        guesses.append(guess)
        one = cycles[len(guesses) - 1]
        if one is None:
            return None
        off, margins = one
        margins = {"miss g": margins} if margins is not None else {"hit g": 0.5}
        return space(w=guess + np.array([off, 0.0, 0.0]), at=space(margins=margins), k=len(guesses)), 3  # fmt: skip

    def approach(given, nodes, key, tol):
        asked.append(([node.k for node in nodes], key, tol))
        return ("w", ["first", "middle", "last"], 1e-6) if reaches[len(asked) - 1] else None

    put(monkeypatch, from_outside, correct=correct, approach=approach)
    found = from_outside(problem, space(options=space(tol=1e-9), parameter="p"), point)
    assert began == [cycle]
    assert w.tolist() == [1.0, 2.0, 3.0]
    return found, guesses, asked, problem


FIRST, SECOND = (0.0, 0.5), (0.0, 0.25)


@for_each(("cycles", "told"), [
    ([FIRST, SECOND], [1, 2]), ([None, FIRST, SECOND], [2, 3]), ([FIRST, None, FIRST, SECOND], [3, 4]), ([SECOND, FIRST, FIRST, SECOND], [3, 4]), ([FIRST, FIRST, FIRST, SECOND], [3, 4]),
    ([(0.0, None), (0.0, None), FIRST, SECOND], [3, 4]), ([(0.0, 0.5), (0.0, -0.1), FIRST, SECOND], [3, 4]), ([(0.0, 0.5), (0.0, 0.0), FIRST, SECOND], [3, 4]),
    ([(200.1 * _SIDE[0], 0.5), FIRST, SECOND], [2, 3]), ([(199 * _SIDE[0], 0.5), SECOND], [1, 2]), ([FIRST, (200.1 * _SIDE[1], 0.25), FIRST, SECOND], [3, 4]), ([FIRST, (199 * _SIDE[1], 0.25)], [1, 2]),
    ([None, None], None), ([None, SECOND, FIRST], None),
])  # fmt: skip
def test_the_side_without_the_event_has_a_margin_that_falls(monkeypatch, cycles, told):
    """Cycles near the touch at two distances from it, first above: no farther than 200 times these."""
    if told is None:
        with pytest.raises(BadValue, match="Beside p = 10 no cycle is found that just misses 'g'"):
            outside(monkeypatch, cycles)
        return
    found, guesses, asked, _ = outside(monkeypatch, cycles)
    assert found == ("w", "last", 1e-6)
    assert asked == [(told, "miss g", 1e-9)]
    sign = 1 if told == [1, 2] else -1
    np.testing.assert_allclose(guesses[-2:], [[3.0, 4.0, 2.5 + sign * size] for size in _SIDE])
    np.testing.assert_allclose(guesses[0], [3.0, 4.0, 2.5 + _SIDE[0]])


@for_each(("autonomous", "x", "start"), [(False, (6.0, 20.0), [3.0, 4.0]), (False, (6.0, 20.0, 1.0), [1.0, 2.0]), (True, (6.0, 20.0), [1.0, 2.0])])  # fmt: skip
def test_cycles_begin_as_the_one_that_grazes(monkeypatch, autonomous, x, start):
    """At the state of the point; an autonomous one at its node, from where its phase is measured."""
    _, guesses, _, problem = outside(monkeypatch, [FIRST, SECOND], autonomous=autonomous, x=x)
    assert guesses[0][:2].tolist() == start
    if autonomous:
        assert problem.anchor.tolist() == [2.0, 10.0]
        assert problem.along.tolist() == [7.0, 8.0]
    else:
        assert not hasattr(problem, "anchor")


@for_each(("far", "sides"), [(1.0, 1), (1.0 + 1e-12, 2)])
def test_a_cycle_is_near_up_to_200_times_its_distance(monkeypatch, far, sides):
    """Counted from the touch, in the units of the unknowns."""
    guesses = []

    def correct(problem, guess, plane, tol):
        guesses.append(guess)
        away = far * 200 * _SIDE[0] if len(guesses) == 1 else 0.0
        return space(w=np.array([away, 4.0, 2.5]), at=space(margins={"miss g": 1 / len(guesses)})), 3  # fmt: skip

    put(monkeypatch, from_outside, correct=correct, approach=lambda problem, nodes, key, tol: ("w", nodes, 0.0))  # fmt: skip
    kind = type("Own", (Cycles,), {"autonomous": False, "begin_as": lambda self, cycle: None})
    node = space(w=np.zeros(3), at=space(data=bare(Cycle)))
    point = space(kind="grazing", name="g", parameter=10.0, x=np.array([0.0, 20.0]), node=node)
    branch = space(options=space(tol=1e-9), parameter="p")
    from_outside(bare(kind, scale=SCALE, n=2), branch, point)
    assert len(guesses) == (2 if sides == 1 else 3)


def test_the_other_side_is_tried_where_the_end_is_not_reached(monkeypatch):
    found, guesses, asked, _ = outside(monkeypatch, [FIRST, SECOND] * 2, reaches=(False, True))
    assert found == ("w", "last", 1e-6)
    assert [one[0] for one in asked] == [[1, 2], [3, 4]]
    assert guesses[-1][-1] == pytest.approx(2.5 - _SIDE[1])
    with pytest.raises(BadValue, match="just misses"):
        outside(monkeypatch, [FIRST, SECOND] * 2, reaches=(False, False))


# ---------------------------------------------------------------- the touch


@for_each("sign", [1.0, -1.0])
def test_the_curvature_of_a_touch_is_how_fast_the_rate_of_its_guard_changes(sign):
    """Of g = x^2 y along x = t, y = 3 t it is 18 t, by a quotient over 2e-4 of the run."""
    asked = []

    def sample(t, slopes):
        asked.append(t.tolist())
        return np.array([[t[0], 3 * t[0], 99.0]]), np.array([[1.0, 3.0, 99.0]]), None

    def rate(t, x, rho, dx):
        return sign * (2 * x[0] * x[1] * dx[0] + x[0] ** 2 * dx[1]) if (len(x), len(dx), rho) == (2, 2, "rho") else None  # fmt: skip

    problem = space(n=2, misses=space(guards=[space(name="h"), space(name="g", rate=rate)]))
    run = space(march=space(t_last=4.0, sample=sample, rho="rho"))
    assert _curvature(problem, run, space(t=0.5), "g") == pytest.approx(9.0)
    assert asked == [[pytest.approx(0.5 - 4e-4)], [pytest.approx(0.5 + 4e-4)]]


@for_each(("side", "kick", "fails"), [(1, 0.25, False), (1, -0.25, True), (-1, 0.25, True), (-1, -0.25, False), (1, 0.0, True)])  # fmt: skip
def test_a_second_guard_is_met_where_the_kick_lowers_it(monkeypatch, side, kick, fails):
    S = np.array([[[0.0, 2.0, 99.0], [3.0, 0.0, 99.0], [99.0] * 3]])
    march = space(slopes_at=lambda t: S if t.tolist() == [0.5] else None, rho="rho")
    guard = lambda problem, name: lambda t, x, rho: (np.array([1.0, 5.0]), 99.0, side) if (name, t, x, rho) == ("h", 0.5, "x", "rho") else None  # noqa: E731  # fmt: skip
    put(monkeypatch, _check_later, _guard=guard)
    z = np.array([0.0, kick]) + np.array([1.0, -7.5])  # S takes (1, -7.5) along the guard
    given = space(n=2, parameter="p"), space(march=march), "g", [space(name="h", t=0.5, x="x")], z
    if fails:
        with pytest.raises(NotApplicable, match="touches 'g' and 'h' at one value of p"):
            _check_later(*given)
    else:
        _check_later(*given)
