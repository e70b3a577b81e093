"""Branches of two states, on which the parameter is the third unknown."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from loops import for_each
from test_arclength import TOL, node_of

from explorer.errors import BadValue
from explorer.study import arclength
from explorer.study.arclength import (
    Evaluation,
    _at,
    _confirmed,
    approach,
    between,
    correct,
    error_from_behind,
    located,
)

SCALE = np.array([2.0, 0.5, 4.0])


class Parabola:
    """p = x^2 and y = 1 - 3 x, in units of each unknown; its margin is the speed x - `limit`."""

    scale = SCALE

    def __init__(self, limit=0.0, valid=None, sequence=None):
        self.limit, self.valid = limit, valid or (lambda x: x > limit)
        self.sequence = sequence or (lambda x: ())

    def evaluate(self, u, full=True):
        x, y, p = u
        if not self.valid(x):
            raise BadValue("x must be larger.")
        G = np.array([x * x - p, y + 3 * x - 1])
        J = np.array([[2 * x, 0, -1], [3, 1, 0]], float)
        margins = {"speed": float(x - self.limit)} if full else {}
        return Evaluation(G, J, float(abs(G).max()), self.sequence(x), {}, margins, None)


def point(problem, x, way=-1.0):
    return node_of(problem, [x, 1 - 3 * x, x * x], np.array([1, -3, 2 * x]) / SCALE * way)


def test_the_parameter_is_the_last_unknown():
    node = point(Parabola(), 0.6)
    assert node.p == pytest.approx(0.36 / 4)
    way = np.array([1, -3, 1.2]) / SCALE
    assert node.tangent == pytest.approx(-way / np.linalg.norm(way))


@for_each("limit", [0.0, 0.2])
def test_a_branch_ends_where_its_margin_does(limit):
    problem = Parabola(limit)
    nodes = [point(problem, limit + x) for x in (0.5, 0.4, 0.25)]
    end, path, error = approach(problem, nodes, "speed", TOL)
    assert end * SCALE == pytest.approx([limit, 1 - 3 * limit, limit**2], abs=1e-7)
    assert error < 1e-9
    assert path[-1].at.margins["speed"] < 1e-5 * 0.5


def test_each_point_is_sought_across_the_way_from_the_last_one(monkeypatch):
    """As long as events are those of the last point; the end is confirmed from the last one, too."""
    planes, asked, real = [], [], arclength.correct

    def spy(problem, guess, plane, tol, **more):
        planes.append((guess, plane))
        return real(problem, guess, plane, tol, **more)

    monkeypatch.setattr(arclength, "correct", spy)
    monkeypatch.setattr(arclength, "_confirmed", lambda *given: asked.append(given) or True)
    problem = Parabola(valid=lambda x: x > 4e-3, sequence=lambda x: ("a",) if x > 0.45 else ("b",))
    nodes = [point(problem, x) for x in (0.6, 0.5, 0.4, 0.25)]
    end, path, error = approach(problem, nodes, "speed", TOL)
    assert {node.at.sequence for node in path} == {("b",)}
    last = nodes[-1]
    for guess, plane in planes:
        away = guess - last.w
        assert plane == pytest.approx(away / np.linalg.norm(away), abs=1e-12)
        new = [node for node in path if node.w[0] < last.w[0] and abs((node.w - guess) @ plane) < 1e-12]  # fmt: skip
        last = new[0] if new else last
    ((_, at, before, margin, tol, small),) = asked
    assert at is end
    assert before is path[-1]
    assert (margin, tol, small) == ("speed", TOL, pytest.approx(1e-5 * 0.6))
    assert error < 1e-5


@for_each("stops", [4e-3, 1e-3])
def test_what_is_not_verified_is_the_error_of_the_parameter(stops):
    """Down to x = stops the branch is known, so p is by stops^2 / 4 at most."""
    problem = Parabola(valid=lambda x: x > stops)
    nodes = [point(problem, x) for x in (0.5, 0.4, 0.25)]
    end, path, error = approach(problem, nodes, "speed", TOL)
    assert end == pytest.approx(np.array([0, 1, 0]) / SCALE, abs=1e-6)
    assert error == pytest.approx(abs(end[2] - path[-1].w[2]))
    assert stops**2 / 4 < error < 1.2 * stops**2 / 4


def test_the_change_by_the_last_point_is_that_of_the_parameter():
    """A cubic in the margin, x = m, is extrapolated from four points and from three."""
    problem = Parabola(valid=lambda x: True)
    path = [point(problem, x) for x in (0.9, 0.7, 0.5, 0.4, 0.3)]
    for k, node in enumerate(path):
        node.at.margins["m"] = float(np.sqrt(node.w[0])) + k**2 / 50
    w, change = _at(path, "m", 0.1)
    m, p = np.array([n.at.margins["m"] for n in path[1:]]), np.array([n.w[2] for n in path[1:]])
    full, less = (np.polyval(np.polyfit(m[k:], p[k:], 3 - k), 0.1) for k in (0, 1))
    assert (w[2], change) == pytest.approx((full, abs(full - less)), abs=1e-8)
    assert change > 1e-3


@for_each(("x", "there"), [(0.0, True), (2e-6, True), (1.2e-5, False)])
def test_an_end_is_confirmed_where_the_margin_is_as_small(x, there):
    """Within 1e-9 of it, and a margin below 1e-5."""
    problem = Parabola(valid=lambda x: True)
    last = point(problem, 0.1)
    end = np.array([x, 1 - 3 * x, x * x]) / SCALE
    assert _confirmed(problem, end, last, "speed", TOL, 1e-5) is there
    assert not _confirmed(problem, end + np.array([0, 0, 1e-3]), last, "speed", TOL, 1e-5)
    assert not _confirmed(problem, end, last, "none", TOL, 1e-5)
    assert not _confirmed(problem, last.w, last, "speed", TOL, 1e-5)
    problem.valid = lambda x: x > 0.05
    assert not _confirmed(problem, end, last, "speed", TOL, 1e-5)


@for_each(("off", "told"), [(3e-6, 3e-6), (-2e-5, 2e-5), (3e-4, 1e-4)])
def test_an_end_is_compared_with_that_from_behind_by_its_parameter(off, told):
    problem = Parabola(0.3, valid=lambda x: x > 0.3)
    other = point(problem, 0.5)
    end = np.array([0.3, 1 - 3 * 0.3, 0.3**2]) / SCALE + np.array([0.0, 7e-5, off])
    assert error_from_behind(problem, other, end, 1e-4, TOL) == pytest.approx(told, rel=1e-2)
    assert error_from_behind(problem, other, end, 1e-8, TOL) == 1e-8
    assert error_from_behind(problem, None, end, 1e-4, TOL) == 1e-4


@for_each("part", [0.25, 0.7])
def test_a_point_between_two_lies_in_a_plane_across_their_chord(part):
    problem = Parabola(valid=lambda x: True)
    a, b = point(problem, 0.9), point(problem, 0.2)
    node = between(problem, a, b, part, TOL)
    x = node.w[0] * 2
    assert node.w * SCALE == pytest.approx([x, 1 - 3 * x, x * x], abs=1e-10)
    chord = b.w - a.w
    assert 0 < (node.w - a.w) @ chord < chord @ chord
    found, value = located(problem, a, b, lambda n: float(n.w[2] - 0.05), TOL)
    assert found.w[2] == pytest.approx(0.05, abs=1e-10)
    assert abs(value) < 1e-10
    found, k = correct(problem, a.w + 0.01, np.array([0.0, 0.0, 1.0]), TOL)
    assert found.w[2] == a.w[2] + 0.01
    assert k > 0


@for_each(("sizes", "asked", "found"), [
    ([1.0, 9.0, 17.9, 0.0], 4, True), ([1.0, 9.0, 18.1, 0.0], 3, False), ([1.0, 0.5, 0.9, 1.9, 0.0], 4, False), ([1.0, 0.5, 0.9, 1.7, 0.0], 5, True), ([5.0] * 9, 9, False), ([5.0] * 8 + [0.0], 9, True),
    ([1.0, np.nan, 0.0], 2, False), ([1.0, TOL], 2, True),
])  # fmt: skip
def test_newtons_method_is_left_where_its_residual_more_than_doubles(sizes, asked, found):
    """From the second correction on; at most eight are made."""
    seen = []

    def evaluate(u, full=True):
        if full:
            return Evaluation(np.zeros(1), np.array([[1.0, 2.0]]), 0.0, (), {}, {}, None)
        seen.append(u)
        return Evaluation(np.ones(1), np.array([[1.0, 2.0]]), sizes[len(seen) - 1], (), {}, {}, None)  # fmt: skip

    problem = SimpleNamespace(scale=np.ones(2), evaluate=evaluate)
    done = correct(problem, np.zeros(2), np.array([0.0, 1.0]), TOL)
    assert (done is not None) == found
    assert len(seen) == asked
    if found:
        assert done[1] == asked - 1
