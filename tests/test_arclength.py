"""Continuation of curves in closed form: circles, parabolas, crossings, ends, changes."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from loops import for_each
from scipy.interpolate import CubicHermiteSpline

from explorer.errors import BadValue
from explorer.study import arclength, trace
from explorer.study.arclength import Evaluation, Node, approach, between, correct, located, tangent
from explorer.study.trace import CLOSED, Options, Special, other_side

COVERS = ("study/trace.py",)  # see mutant_rooms.py

TOL = 1e-12


class Curve:
    """G(x, p) = 0 in scaled unknowns, with what happens at a point of it."""

    n = 1

    def __init__(self, G, J, scale=(1.0, 1.0), tests=None, margins=None, sequence=None, valid=None):
        self.G, self.J, self.scale = G, J, np.array(scale)
        self.tests, self.margins = tests or {}, margins or {}
        self.sequence, self.valid = sequence or (lambda u: ()), valid or (lambda u: True)
        self.asked, self.moved = [], None
        self.genuinely, self.next = (lambda kind, node: True), (lambda here, ended: None)

    def evaluate(self, u, full=True):
        if not self.valid(u):
            raise BadValue("x must be larger.")
        self.asked.append(u)
        G, J = np.array([self.G(u)]), np.array([self.J(u)], float)
        told = [
            {k: f(u) for k, f in part.items()} if full else {}
            for part in (self.tests, self.margins)
        ]
        return Evaluation(G, J, float(abs(G[0])), self.sequence(u), *told, None)

    def settled(self, node):
        return None if self.moved is None else self.moved(node)

    def beyond(self, here, ended, options):
        return self.next(here, ended)

    def genuine(self, kind, node):
        return self.genuinely(kind, node)

    def at_margin(self, key):
        kind, _, name = key.partition(" ")
        return kind, name


def circle(**more) -> Curve:
    return Curve(lambda u: u @ u - 1, lambda u: 2 * u, **more)


def parabola(**more) -> Curve:
    """p = x^2."""
    return Curve(lambda u: u[0] ** 2 - u[1], lambda u: [2 * u[0], -1], **more)


def line(**more) -> Curve:
    """x = p / 2."""
    return Curve(lambda u: u[0] - u[1] / 2, lambda u: [1, -0.5], **more)


def node_of(problem, u, like=(0.0, 1.0)) -> Node:
    w = np.asarray(u, float) / problem.scale
    at = problem.evaluate(w * problem.scale)
    assert at.size < 1e-9
    return Node(w, tangent(problem, at, np.array(like)), at)


def options(**more) -> Options:
    own = {"h": 0.1, "h_min": 1e-4, "h_max": 0.2, "tol": TOL, "low": -3.0, "high": 3.0, "most": 200}
    return Options(**own | more)


# ---------------------------------------------------------------- one step


@for_each("scale", [(1.0, 1.0), (2.0, 0.25), (1e-3, 10.0)])
def test_a_tangent_is_the_direction_in_which_nothing_changes(scale):
    problem = circle(scale=scale)
    for angle in np.linspace(0.2, 6.0, 5):
        u = np.array([np.cos(angle), np.sin(angle)])
        for like in ([-u[1], u[0]] / problem.scale, [u[1], -u[0]] / problem.scale):
            found = tangent(problem, problem.evaluate(u), like)
            assert found == pytest.approx(like / np.linalg.norm(like))
    flat = Evaluation(np.zeros(2), np.array([[0.0, 0, 0], [1, 0, 0]]), 0.0, (), {}, {}, None)
    problem.scale = np.ones(3)
    assert abs(tangent(problem, flat, np.ones(3))[0]) < 1e-12


def test_a_point_that_cannot_be_corrected_is_none():
    plane = np.array([0.0, 1.0])
    assert correct(circle(valid=lambda u: False), np.ones(2), plane, TOL) is None
    assert correct(circle(), np.array([0.0, 2.0]), plane, TOL) is None  # along itself
    assert correct(Curve(lambda u: np.nan, lambda u: u), np.ones(2), plane, TOL) is None
    assert correct(Curve(lambda u: 1.0, lambda u: u * np.inf), np.ones(2), plane, TOL) is None
    away = Curve(lambda u: u[0] ** 2 + 1, lambda u: [2 * u[0], 0])
    assert correct(away, np.array([0.5, 0.0]), plane, TOL) is None
    assert len(away.asked) == 4  # the third correction more than doubles G
    away.asked.clear()
    assert correct(away, np.array([0.29, 0.0]), plane, TOL) is None
    assert len(away.asked) > 3  # the first one may
    slow = Curve(lambda u: u[0] ** 2, lambda u: [2 * u[0], 0])
    assert correct(slow, np.array([1.0, 0.0]), plane, TOL, most=5) is None
    assert len(slow.asked) == 6
    only = circle(valid=lambda u: len(only.asked) < 3)
    assert (
        correct(only, np.array([0.7, 0.7]), np.array([1.0, -1.0]), 1e-4) is not None or only.asked
    )


def test_a_correction_counts_its_iterations_and_keeps_a_direction():
    problem = line()
    node, k = correct(problem, np.array([0.9, 1.0]), np.array([0.0, 1.0]), TOL)
    assert (node.w.tolist(), k) == ([0.5, 1.0], 1)
    assert node.tangent == pytest.approx(np.array([1, 2]) / 5**0.5)
    assert node.p == 1.0
    node, k = correct(problem, np.array([0.5, 1.0]), np.array([0.0, 1.0]), TOL, like=-np.ones(2))
    assert k == 0
    assert node.tangent == pytest.approx(-np.array([1, 2]) / 5**0.5)


@for_each("part", [0.1, 0.5, 0.8])
def test_a_point_between_two_lies_in_the_plane_of_their_cubic(part):
    problem = parabola(scale=(0.5, 2.0))
    a, b = node_of(problem, [0.2, 0.04], [1, 0]), node_of(problem, [0.9, 0.81], [1, 0])
    node, chord = between(problem, a, b, part, TOL), b.w - a.w
    length = np.linalg.norm(chord)
    cubic = CubicHermiteSpline([0, length], [a.w, b.w], [a.tangent, b.tangent])(part * length)
    assert (node.w - cubic) @ chord == pytest.approx(0, abs=1e-12)
    assert node.w[1] * 2 == pytest.approx((node.w[0] / 2) ** 2, abs=1e-11)
    assert np.linalg.norm(node.w - cubic) < 0.02 * length
    assert node.tangent @ a.tangent > 0


def test_a_zero_between_two_points_is_located():
    problem = circle()
    a, b = node_of(problem, [0.8, 0.6]), node_of(problem, [-0.6, 0.8], [-1, 0])
    node, value = located(problem, a, b, lambda n: n.w[0] - 0.3, TOL)
    assert node.w == pytest.approx([0.3, np.sqrt(0.91)], abs=1e-11)
    assert value == node.w[0] - 0.3
    assert located(problem, a, b, lambda n: n.w[0] + 2, TOL) is None
    for end, f in ((a, lambda n: n.w[0] - 0.8), (b, lambda n: n.w[0] + 0.6)):
        assert located(problem, a, b, f, TOL)[0] is end
    problem.valid = lambda u: u[0] > 0.5 or u[0] < -0.5
    assert located(problem, a, b, lambda n: n.w[0] - 0.3, TOL) is None


# ---------------------------------------------------------------- the end of a branch


@for_each("limit", [0.0, 0.2, -0.3])
def test_a_branch_is_followed_to_where_its_margin_ends(limit):
    """p = x^2 ends at x = limit, from where a margin sqrt-like in p is smooth in x."""
    problem = parabola(margins={"speed a": lambda u: u[0] - limit, "other": lambda u: 9.0},
                       valid=lambda u: u[0] > limit)  # fmt: skip
    nodes = [
        node_of(problem, [x, x * x], [-1, 0]) for x in (limit + 0.5, limit + 0.4, limit + 0.25)
    ]
    end, path, error = approach(problem, nodes, "speed a", TOL)
    assert end == pytest.approx([limit, limit**2], abs=1e-8)
    margins = [n.at.margins["speed a"] for n in path]
    assert (np.diff([0.25, *margins]) < 0).all()
    assert 0 < margins[-1] < 1e-5 * 0.5
    assert error < 1e-9
    assert len(path) < 25
    for n in path:
        assert n.w[1] == pytest.approx(n.w[0] ** 2, abs=1e-11)


@for_each(
    ("size", "left"),
    [(5.0, {}), (5.0, {"speed": 0.0}), (5.0, {"speed": -1.0}), (0.1, {"speed": 0.0}), (0.1, {})],
)
def test_a_point_without_a_margin_above_zero_is_none_on_the_way(monkeypatch, size, left):
    """It is tried again nearer to the last point: here each first one is no good."""
    problem, tried = parabola(margins={"speed": lambda u: size * u[0]}), []

    def correct(problem, guess, along, tol, most):
        tried.append(guess[0])
        node = node_of(problem, [guess[0], guess[0] ** 2], [-1, 0])
        if len(tried) % 2:
            object.__setattr__(node.at, "margins", left)
        return node, 1

    monkeypatch.setattr(arclength, "correct", correct)
    nodes = [node_of(problem, [x, x * x], [-1, 0]) for x in (0.5, 0.4, 0.25)]
    end, path, _ = approach(problem, nodes, "speed", TOL)
    assert end == pytest.approx([0, 0], abs=1e-9)
    assert [n.w[0] for n in path] == tried[1::2]
    assert all(b > a for a, b in zip(tried[::2], tried[1::2], strict=False))


def test_a_margin_that_does_not_fall_has_no_end():
    problem = parabola(margins={"speed": lambda u: u[0]}, sequence=lambda u: (u[0] > 0.39,))
    nodes = [node_of(problem, [x, x * x], [-1, 0]) for x in (0.5, 0.4)]
    assert approach(problem, nodes[:1], "speed", TOL) is None
    assert approach(problem, nodes, "another", TOL) is None
    assert approach(problem, nodes[::-1], "speed", TOL) is None
    assert approach(problem, nodes, "speed", TOL) is None  # beyond 0.39 another sequence


@for_each(
    ("stops", "told"), [(0.2, None), (0.1, None), (4e-3, 4e-3**2), (1e-3, 1e-6), (1e-7, 1e-9)]
)
def test_an_end_that_is_only_extrapolated_is_far_or_not_known(stops, told):
    """p = x^2 is known down to x = stops only: x = 0 is where a polynomial says that it ends."""
    problem = parabola(margins={"speed": lambda u: u[0]}, valid=lambda u: u[0] > stops)
    nodes = [node_of(problem, [x, x * x], [-1, 0]) for x in (0.5, 0.4, 0.25)]
    reached = approach(problem, nodes, "speed", TOL)
    if told is None:
        assert reached is None
        return
    _, path, error = reached
    assert path[-1].w[0] > stops
    assert 0.9 * told <= error <= 1.2 * told if told > 1e-9 else error < told


def test_an_end_at_which_the_equations_hold_is_confirmed_by_a_solve():
    """No points between x = 0 and 0.1, but x = 0 is one."""
    problem = parabola(margins={"speed": lambda u: u[0]}, valid=lambda u: not 1e-9 < u[0] < 0.1)
    nodes = [node_of(problem, [x, x * x], [-1, 0]) for x in (0.5, 0.4, 0.25)]
    end, _, error = approach(problem, nodes, "speed", TOL)
    assert end == pytest.approx([0, 0], abs=1e-12)
    assert error < 1e-9
    problem.G = lambda u: u[0] ** 2 - u[1] + (0.1 if u[0] < 0.05 else 0)  # the branch jumps
    assert approach(problem, nodes, "speed", TOL) is None


def test_polynomials_through_points_are_exact():
    x = np.array([0.1, 0.4, 0.7, 1.0])
    cubic = lambda s: np.array([1 + s - s**3, 2 * s**2])  # noqa: E731
    found = arclength.lagrange(x, np.array([cubic(s) for s in x]), 0.3)
    assert found == pytest.approx(cubic(0.3), abs=1e-13)
    problem = parabola(margins={"m": lambda u: u[0]})
    path = [node_of(problem, [s, s * s]) for s in (0.9, *x[::-1])]
    w, change = arclength._at(path, "m", 0.0)
    assert w == pytest.approx([0, 0], abs=1e-13)
    assert change < 1e-13
    problem.margins = {"m": lambda u: np.sqrt(u[0])}
    path = [node_of(problem, [s, s * s]) for s in (0.9, *x[::-1])]
    w, change = arclength._at(path, "m", 0.0)
    m, p = np.sqrt(x[::-1]), x[::-1] ** 2
    full, less = (np.polyfit(m[k:], p[k:], 3 - k)[-1] for k in (0, 1))
    assert (w[1], change) == pytest.approx((full, abs(full - less)), abs=1e-10)


# ---------------------------------------------------------------- along a branch


def test_a_circle_is_closed_and_has_its_folds():
    problem = circle(scale=(1.0, 0.5), tests={"upper": lambda u: u[0] - 0.5})
    start = node_of(problem, [0.6, 0.8])
    found = trace.trace(problem, start, options())
    assert found.reason == CLOSED
    (piece,) = found.pieces
    u = np.array([n.w for n in piece]) * problem.scale
    assert np.hypot(*u.T) == pytest.approx(np.ones(len(u)))
    told = [(s.kind, *(s.w * problem.scale).round(9)) for s in found.specials]
    side = round(np.sqrt(0.75), 9)
    assert told == [
        ("upper", 0.5, side),
        ("fold", 0.0, 1.0),
        ("fold", 0.0, -1.0),
        ("upper", 0.5, -side),
    ]
    for s in found.specials:
        assert abs(s.test) < 1e-9
        assert TOL <= s.error < 1e-7
        assert any(s.node is n for n in piece)
    steps = np.linalg.norm(np.diff([n.w for n in piece], axis=0), axis=1)
    assert steps.max() < 0.21
    assert np.median(steps) > 0.1  # it has grown
    short = trace.trace(problem, start, options(most=5))
    assert len(short.pieces[0]) == 6 + len(short.specials)
    assert short.reason == "5 points are reached"


def test_a_bifurcation_that_is_none_is_left_out():
    problem = line(tests={"Hopf": lambda u: u[1] - 0.33})
    start = node_of(problem, [0, 0])
    (hopf,) = trace.trace(problem, start, options(high=1.0)).specials
    assert (hopf.kind, hopf.w[1]) == ("Hopf", pytest.approx(0.33, abs=1e-11))
    problem.genuinely = lambda kind, node: kind != "Hopf"
    assert trace.trace(problem, start, options(high=1.0)).specials == []


def test_where_two_branches_cross_is_a_branch_point():
    """x (p - x) = 0 along x = 0."""
    problem = Curve(lambda u: u[0] * (u[1] - u[0]), lambda u: [u[1] - 2 * u[0], u[0]])
    found = trace.trace(problem, node_of(problem, [0, -0.5]), options(high=0.5))
    (point,) = found.specials
    assert (point.kind, *point.w) == (
        "branch point",
        pytest.approx(0, abs=1e-9),
        pytest.approx(0, abs=1e-9),
    )
    fold = parabola()
    found = trace.trace(fold, node_of(fold, [-0.7, 0.49], [1, 0]), options(high=1.0))
    assert [s.kind for s in found.specials] == ["fold"]


@for_each("down", [False, True])
def test_a_branch_ends_on_the_edge_of_its_range(down):
    problem = line(tests={"last": lambda u: abs(u[1]) - 0.79})
    start = node_of(problem, [0, 0], [0, -1.0 if down else 1.0])
    found = trace.trace(problem, start, options(low=-0.8, high=0.8))
    assert found.reason == "end of the range"
    end = found.pieces[0][-1]
    assert end.w == pytest.approx([-0.4, -0.8] if down else [0.4, 0.8])
    (last,) = found.specials
    assert abs(last.w[1]) == pytest.approx(0.79)
    problem.sequence = lambda u: (abs(u[1]) > 0.795,)
    assert abs(trace.trace(problem, start, options(low=-0.8, high=0.8)).pieces[0][-1].w[1]) < 0.8


@for_each(("first", "second", "margins", "told"), [
    ((("hits", "a"),), (("hits", "a"), ("hits", "b")), {"speed b": lambda u: abs(u[1] - 0.37)}, ("grazing", "b")),
    ((("hits", "a"),), (("slides", "a"),), {"spacing": lambda u: 0.25}, ("sliding", "a")),
    ((1, 2), (2, 1), {"spacing": lambda u: abs(u[1] - 0.37)}, ("corner", "")),
])  # fmt: skip
def test_a_change_of_the_sequence_is_located(first, second, margins, told):
    problem = line(sequence=lambda u: first if u[1] < 0.37 else second, margins=margins)
    found = trace.trace(problem, node_of(problem, [0, 0]), options(high=1.0))
    (point,) = found.specials
    assert (point.kind, point.name, point.w[1]) == (*told, pytest.approx(0.37, abs=1e-9))
    assert point.test == pytest.approx(0.25 if told[0] == "sliding" else 0, abs=1e-8)
    assert found.reason == "end of the range"
    assert max(n.p for n in found.pieces[0]) == 1.0
    names = [n.at.sequence for n in found.pieces[0]]
    assert names == [first] * names.count(first) + [second] * names.count(second)


def test_a_sequence_that_jumps_ends_the_branch():
    """Beyond p = 1/2 the branch lies elsewhere."""
    problem = Curve(lambda u: u[0] - (u[1] / 2 if u[1] < 0.5 else 1 + u[1] / 2), lambda u: [1, -0.5],
                    sequence=lambda u: (u[1] < 0.5,))  # fmt: skip
    found = trace.trace(problem, node_of(problem, [0, 0]), options(h_max=5.0, h_min=1e-3))
    assert found.reason in ("the event sequence cannot continue", "the step is too small: no point of the branch is found nearby")  # fmt: skip
    assert 0.45 < found.pieces[0][-1].p < 0.5
    assert found.specials == []


def test_behind_the_end_of_a_margin_another_branch_may_go_on():
    problem = parabola(margins={"speed a": lambda u: u[0]}, valid=lambda u: u[0] > 0)
    start = node_of(problem, [0.9, 0.81], [-1, 0])
    found = trace.trace(problem, start, options(h_min=1e-3))
    (end,) = found.specials
    assert (end.kind, end.name) == ("speed", "a")
    assert end.w == pytest.approx([0, 0], abs=1e-8)
    assert found.reason == "speed of 'a': the event sequence cannot continue"
    assert 0 < found.pieces[0][-1].w[0] < 1e-4
    other = node_of(line(), [0.5, 1.0])
    seen = []

    def beyond(here, ended):
        seen.append((here, ended))
        problem.G, problem.J, problem.valid, problem.margins = (
            line().G,
            line().J,
            lambda u: True,
            {},
        )
        return other

    problem.next = beyond
    found = trace.trace(problem, start, options(h_min=1e-3, high=1.5))
    assert [len(found.pieces), found.pieces[1][0], found.reason] == [2, other, "end of the range"]
    assert found.pieces[1][-1].w == pytest.approx([0.75, 1.5])
    assert seen[0][1].kind == "speed"


def test_where_the_model_ends_a_branch_says_why():
    problem = line(valid=lambda u: u[1] < 0.4)
    found = trace.trace(problem, node_of(problem, [0, 0]), options(h_min=1e-3))
    assert found.reason == "the model is not valid beyond: x must be larger."
    assert 0.39 < found.pieces[0][-1].p < 0.4
    problem = Curve(lambda u: u[0] - u[1] / 2 if u[1] < 0.4 else 1.0, lambda u: [1, -0.5],
                    margins={"edge": lambda u: 0.4 - u[1]})  # fmt: skip
    found = trace.trace(problem, node_of(problem, [0, 0]), options(h_min=1e-3))
    assert found.reason == "the cycle hardly leaves its surfaces any more"
    problem.margins = {}
    found = trace.trace(problem, node_of(problem, [0, 0]), options(h_min=1e-3))
    assert found.reason.startswith("the step is too small")


def test_a_step_may_go_on_in_other_unknowns():
    problem, swaps = line(), []

    def moved(node):
        if node.p > 0.5 and not swaps:
            swaps.append(node)
            problem.G, problem.J = (lambda u: u[0] + u[1] / 2 - 1), (lambda u: [1, 0.5])
            return node_of(problem, [1 - node.p / 2, node.p])
        return None

    problem.moved = moved
    found = trace.trace(problem, node_of(problem, [0, 0]), options(high=1.0))
    assert found.pieces[0][-1].w == pytest.approx([0.5, 1.0])

    def refused(node):
        raise BadValue("it is closed.")

    problem.moved = refused
    told = trace.trace(problem, node_of(problem, [1, 0]), options())
    assert told.reason == "the cycle cannot be begun elsewhere: it is closed."


def test_a_point_is_near_that_goes_on_ahead():
    problem = line()
    here = node_of(problem, [0, 0])
    t = here.tangent
    across = np.array([-t[1], t[0]])
    for w, near in ((0.1 * t, True), (0.1 * t + 0.04 * across, True), (0.1 * t + 0.06 * across, False),
                    (0.04 * t, False), (0.16 * t, False), (0.14 * t, True), (-0.1 * t, False)):  # fmt: skip
        assert trace._near(here, Node(w, t, here.at), 0.1) == near
        assert not trace._near(here, Node(w, -t, here.at), 0.1)


def test_a_branch_is_closed_by_a_step_past_its_first_point():
    problem = line(sequence=lambda u: (1,))
    start = node_of(problem, [0, 0])
    t = start.tangent
    across = np.array([-t[1], t[0]])

    def at(along, aside=0.0, tangent=t, e=start.at):
        return Node(along * t + aside * across, tangent, e)

    other = line(sequence=lambda u: (2,)).evaluate(np.zeros(2))
    for here, node, told in (
        (at(-0.1), at(0.1), True), (at(-0.1), at(0.0), True), (at(-0.2), at(-0.1), False), (at(0.0), at(0.1), False),
        (at(-0.1, 0.05), at(0.1, 0.05), False), (at(-0.1, 0.03), at(0.1, 0.03), True),
        (at(-0.1), at(0.1, tangent=-t), False), (at(-0.1), at(0.1, e=other), False), (start, at(0.1), False),
    ):  # fmt: skip
        assert trace._back(start, here, node) == told


def test_beyond_an_end_another_sequence_is_looked_for_near_it():
    problem = line(sequence=lambda u: (u[1] > 0.3,))
    here = node_of(problem, [0.1, 0.2])
    end = Special("grazing", np.array([0.15, 0.3]), 0.0, 0.0, here)
    node = other_side(problem, here, end, options())
    assert node.at.sequence == (True,)
    assert 0.3 < node.p < 0.4
    assert node.tangent[1] > 0
    assert other_side(problem, here, end, options(high=0.3)) is None
    back = node_of(problem, [0.25, 0.5], [0, -1])
    turned = other_side(problem, back, Special("grazing", end.w, 0.0, 0.0, back), options())
    assert turned.p < 0.3
    assert turned.tangent[1] < 0
    assert other_side(line(), node_of(line(), [0.1, 0.2]), end, options()) is None


@for_each(("iterations", "factor"), [(1, 1.5), (3, 1.5), (4, 1.0), (5, 1.0), (6, 0.7), (9, 0.7)])
def test_steps_grow_where_newtons_method_is_quick(monkeypatch, iterations, factor):
    """Along a line every step is as long as it is asked to be, up to the longest one."""
    real, problem = trace.correct, line()
    monkeypatch.setattr(trace, "correct", lambda *given: (real(*given)[0], iterations))
    most = dataclasses.replace(options(high=90.0), h=0.01, h_min=1e-6, h_max=0.05, most=8)
    nodes = trace.trace(problem, node_of(problem, [0, 0]), most).pieces[0]
    steps = [float(np.linalg.norm(b.w - a.w)) for a, b in itertools.pairwise(nodes)]
    assert steps == pytest.approx([min(0.01 * factor**k, 0.05) for k in range(8)])


@for_each(("off", "error", "told"), [(3e-6, 1e-3, 3e-6), (-2e-5, 1e-3, 2e-5), (3e-6, 1e-6, 1e-6), (3e-6, 1e-8, 1e-8), (0.0, 1e-3, None)])  # fmt: skip
def test_the_end_of_a_branch_is_known_as_well_as_from_behind(off, error, told):
    """At p = 0.37 a speed falls to zero from there too: by the branch behind it, or by the front."""
    margins = {"speed a": lambda u: u[1] - 0.37, "spacing": lambda u: 0.5 - u[1]}
    problem = line(sequence=lambda u: (u[1] > 0.37,), margins=margins)
    other, end = node_of(problem, [0.2, 0.4]), np.array([0.185, 0.37 + off])
    found = arclength.error_from_behind(problem, other, end, error, TOL)
    assert found == pytest.approx(told or 0.0, rel=1e-3, abs=1e-8)
    assert arclength.error_from_behind(problem, None, end, error, TOL) == error
    problem.margins = {"spacing": lambda u: 0.5 - u[1]}  # it falls to zero on the other side
    other = node_of(problem, [0.2, 0.4])
    assert arclength.error_from_behind(problem, other, end, error, TOL) == error
    problem.sequence = lambda u: (round(u[1] * 50),)  # another one further on
    assert arclength.error_from_behind(problem, node_of(problem, [0.2, 0.4]), end, error, TOL) == error  # fmt: skip
