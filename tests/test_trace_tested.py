"""What is located between two points of a branch, with its error and in its order."""

from __future__ import annotations

import numpy as np
import pytest
from loops import for_each
from plain import put, space

from explorer.study import trace
from explorer.study.arclength import Node
from explorer.study.trace import STOPPED, Options


def point(w, tangent, tests=None, jacobian=None):
    at = space(tests=tests or {}, jacobian=np.eye(2, 3) if jacobian is None else jacobian, sequence=(),
               margins={})  # fmt: skip
    return Node(np.array(w, float), np.array(tangent, float), at)


def between(monkeypatch, a, b, nodes, genuine=lambda kind: True, tol=1e-12):
    """Return what is found between two points, where each kind is located at a node of its own."""
    kinds, values = iter(nodes), []

    def located(problem, one, two, test, given):
        assert (one, two, given) == (a, b, tol)
        values.append((test(a), test(b)))
        return next(kinds)

    put(monkeypatch, trace._tested, located=located)
    problem = space(scale=np.array([2.0, 0.5, 1.0]), genuine=lambda kind, node: genuine(kind))
    return trace._tested(problem, a, b, space(tol=tol)), values


@for_each(("first", "last"), [(-2.0, 8.0), (2.0, -8.0), (-0.5, 0.25)])
def test_an_error_is_what_is_left_over_its_slope_along_the_parameter(monkeypatch, first, last):
    """Of a value 0.5 at a node whose parameter moves by 0.25 of the way; the points are 5 apart."""
    a = point([0, 0, 0], [0.6, 0.0, 0.8], {"flip": first, "none": 1.0, "only": -1.0})
    b = point([3, 4, 0], [0.6, 0.0, 0.8], {"flip": last, "none": 2.0})
    node = point([1, 1, 1], [0.0, 0.9, -0.25])
    (found,), values = between(monkeypatch, a, b, [(node, -0.5)])
    assert values == [(first, last)]
    slope = abs(last - first) / 5
    assert found.error == pytest.approx(0.5 / slope * 0.25)
    assert (found.kind, found.test, found.node, found.name) == ("flip", -0.5, node, "")
    assert found.w is node.w
    (found,), _ = between(monkeypatch, a, b, [(node, 0.0)], tol=1e-3)
    assert found.error == 1e-3


def test_a_fold_is_a_zero_of_the_tangent_and_its_error_is_of_second_order(monkeypatch):
    a, b = point([0, 0, 0], [0.6, 0.0, -0.8]), point([0, 3, 4], [0.6, 0.8, 0.0])
    node = point([1, 1, 1], [1.0, 0.0, 0.125])
    (found,), values = between(monkeypatch, a, b, [(node, 0.125)])
    assert values == [(-0.8, 0.0)]
    assert found.kind == "fold"
    assert found.error == pytest.approx(0.125 / (0.8 / 5) * 0.125)


@for_each(("k", "found"), [(1.0, False), (0.0, False), (-1.0, True)])
def test_a_branch_point_is_a_zero_of_the_bordered_matrix(monkeypatch, k, found):
    """Of its sign times the least singular value, in scaled unknowns; zero counts as positive."""
    jacobian = np.array([[1.0, 0.0, 0.0], [0.0, k, 0.0]])
    a = point([0, 0, 0], [0.0, 0.0, 1.0], jacobian=np.array([[1.0, 0, 0], [0, 4.0, 0]]))
    b = point([0, 0, 1], [0.0, 0.0, 1.0], jacobian=jacobian)
    node = point([0, 0, 0.5], [0.0, 0.0, 1.0])
    seen, values = between(monkeypatch, a, b, [(node, 0.0)])
    assert [one.kind for one in seen] == ["branch point"] * found
    if found:
        assert values == [(pytest.approx(1.0), pytest.approx(-0.5))]
    # from the other side
    seen, _ = between(monkeypatch, b, a, [(node, 0.0)])
    assert [one.kind for one in seen] == ["branch point"] * found


def test_bifurcations_stand_in_the_order_of_the_way(monkeypatch):
    """Those that are not found, or are none, are left out."""
    names = ("far", "near", "lost", "false")
    a = point([0, 0, 0], [0.6, 0.0, 0.8], dict.fromkeys(names, -1.0))
    b = point([3, 0, 4], [0.6, 0.0, 0.8], dict.fromkeys(names, 1.0))
    nodes = [(point([2, 9, 2], a.tangent), 0.0), (point([9, 9, -6], a.tangent), 0.0), None, (point([1, 0, 1], a.tangent), 0.0)]  # fmt: skip
    found, _ = between(monkeypatch, a, b, nodes, genuine=lambda kind: kind != "false")
    assert [one.kind for one in found] == ["near", "far"]


# ---------------------------------------------------------------- ends of a branch


class Line:
    """A straight branch x = s p of one state, whose state may be said to be far away."""

    n, scale = 1, np.array([1.0, 2.0])

    def settled(self, node):
        return None


def followed(monkeypatch, far, left=0.5, **more):
    """Return the trace of a line whose points are so far from the first one, in turn."""
    start = point([0.0, 0.0], [0.0, 1.0], jacobian=np.array([[1.0, 0.0]]))

    def correct(problem, guess, plane, tol, **_):
        return point(guess, [0.0, 1.0], jacobian=np.array([[1.0, 0.0]])), 4

    def distance(problem, first, here):
        k = min(round(here.w[1] / 0.1), len(far) - 1)
        return far[k], left

    put(monkeypatch, trace.trace, correct=correct, _to_infinity=distance)
    given = {
        "h": 0.1,
        "h_min": 1e-3,
        "h_max": 0.1,
        "tol": 1e-9,
        "low": -9.0,
        "high": 0.45,
        "most": 9,
    }
    return trace.trace(Line(), start, Options(**given | more))


@for_each(
    ("far", "kept"),
    [
        ([0.0, 0.0, 15.0, 50.0, 2e6], [0.0, 0.1, 0.2]),
        ([0.0, 0.0, 20.0, 20.1, 2e6], [0.0, 0.1, 0.2]),
        ([30.0, 30.0, 2e6], [0.0]),
        ([0.0, 30.0, 2e6], [0.0]),
        ([2e6], [0.0]),
    ],
)
def test_a_branch_to_infinity_ends_where_it_is_still_seen(monkeypatch, far, kept):
    """Points beyond twenty times the first state are left out, but for one; the pole is told."""
    found = followed(monkeypatch, far)
    assert [n.w[1] for n in found.pieces[-1]] == pytest.approx(kept)
    pole = (0.1 * (len(far) - 1) + 0.5) * 2.0
    assert found.reason == f"it goes to infinity, as the parameter comes to {pole:.6g}"


def test_a_branch_that_is_far_but_not_that_far_goes_on(monkeypatch):
    found = followed(monkeypatch, [1e6])
    assert found.reason == "end of the range"
    assert found.pieces[-1][-1].w[1] == pytest.approx(0.45)


def test_a_branch_ends_where_it_is_stopped_or_has_all_its_points(monkeypatch):
    calls = []
    found = followed(monkeypatch, [0.0], stop=lambda: calls.append(1) or len(calls) > 2)
    assert (found.reason, len(found.pieces[-1])) == (STOPPED, 3)
    found = followed(monkeypatch, [0.0], most=2)
    assert (found.reason, len(found.pieces[-1])) == ("2 points are reached", 3)
