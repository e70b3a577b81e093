"""Studies on problems in closed form: whole functions, with numbers for all that they return."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import sympy as sp
from loops import for_each
from plain import put, space
from test_study_branches import bare

import explorer as ex
from explorer.errors import BadValue
from explorer.study.arclength import Evaluation, Node, tangent
from explorer.study.branch import Branch
from explorer.study.cycles import Cycle, Cycles
from explorer.study.grazing import _OFFSETS, grazing
from explorer.study.near_misses import Miss

# ---------------------------------------------------------------- grazing

P = 2.5  # where the cycle grazes
SCALE = np.array([2.0, 0.5, 4.0])
S = np.array([[1.0, 2.0, 0.5], [-1.0, 3.0, 0.25]])  # of the flow up to the touch
M = np.array([[0.3, 0.1], [-0.2, 0.4]])
KICK = np.array([0.7, -1.1])
TOUCH, TIME = np.array([-4.0, 1.5]), 0.8


class Grazed(Cycles):
    """Cycles x(p) = (1 + p^2, -p) whose guard a p + b x + t grazes at p = P, met on one side."""

    autonomous, n, parameter, place = False, 2, "p", 1

    def __init__(self, way, a=-3.0, b=-2.0, jump=0.0, free=None):
        self.way, self.jump, self.scale, self.rho = way, jump, SCALE, np.zeros(2)
        self.free = free or (lambda d: -d)
        self.system = ex.StepSystem("grazed", x="x v", params={"k": 5.0, "p": 0.0}, f=["v", "-x"])
        self.system.switch(a * sp.Symbol("p") + b * sp.Symbol("x") + self.system.t, name="g")
        rate = space(name="g", rate=lambda t, x, rho, dx: x[0] * dx[1] + rho[0])
        self.misses = space(guards=[space(name="other", rate=None), rate])
        self.began, self.asked = [], []

    def begin_as(self, cycle):
        self.began.append(cycle)

    def evaluate(self, u, full=True):
        x, p = u[:2], float(u[2])
        off = self.jump * (np.sign(p - P) != self.way)
        G = x - np.array([1 + p * p + off, -p])
        J = np.column_stack([np.eye(2), [-2 * p, 1.0]])
        free = self.free(self.way * (p - P))  # how far it is from the guard
        march = space(
            slopes_at=lambda t: np.array([np.vstack([S, 9 * np.ones(3)])]) if t.tolist() == [TIME] else None,
            rho=np.array([5.0, P]), t_last=2.0, sample=self.sample,
        )  # fmt: skip
        cycle = bare(Cycle, run=space(march=march), monodromy=M, misses=(Miss("h", 0, 0, x), Miss("g", free, TIME, TOUCH)))  # fmt: skip
        return Evaluation(G, J, float(abs(G).max()), (), {}, {"miss g": free}, cycle)

    @staticmethod
    def sample(t, slopes=True):
        """x = (1 + s, .), x' = (., 3 s + 2 s^2) with the time s after the touch: g'' = 3 there."""
        s = float(t[0]) - TIME
        return np.array([[1 + s, 6.0, 9.0]]), np.array([[8.0, 3 * s + 2 * s * s, 9.0]]), None

    def _split(self, u):
        return u[:2], u[2]

    def _shoot(self, x, p):
        self.asked.append(x)
        d = self.way * (float(p) - P)
        y = np.array([1 + d, d * d]) + (np.sqrt(d) * np.array([3.0, -2.0]) if d > 0 else 0)
        return space(located=[space(contact="g")] * int(d > 0), march=space(end=lambda: (None, y)))


def grazed(monkeypatch, way, **more):
    """Return what `grazing` says of such cycles, and what it asks for the kick."""
    problem, asked = Grazed(way, **more), []
    at = problem.evaluate(np.array([1 + P * P, -P, P]))
    node = Node(np.array([2.0, -3.0, 0.5]), np.array([0.0, 0.0, 1.0]), at)
    first = space(kind="fold", name="", node=node)
    point = space(kind="grazing", name="g", parameter=P + 1e-6, x=np.array([7.25, -2.5]), node=node)
    branch = bare(Branch, problem=problem, points=(first, point), parameter="p", options=space(tol=1e-11))  # fmt: skip

    def kick_of(given, hit, name, curvature, side):
        asked.append((given, len(hit.located), name, curvature, side))
        return "impact", 0.5, KICK

    put(monkeypatch, inspect.unwrap(grazing).__globals__["_form"], kick_of=kick_of)
    return problem, asked, grazing(branch)


@for_each(("a", "b", "side"), [(-3.0, -2.0, 1), (3.0, -2.0, 1), (-3.0, 2.0, -1)])
def test_a_grazing_cycle_has_the_numbers_of_its_closed_form(monkeypatch, a, b, side):
    """By g_x = (b, 0) and g_p = a; `side` is the sign of g at the touch."""
    assert side == np.sign(a * P + b * TOUCH[0] + TIME)
    by_p = -side * (b * 0.5 + a)
    way = np.sign(by_p)  # in which the depth grows
    problem, asked, found = grazed(monkeypatch, way, a=a, b=b)
    assert (found.kind, found.exponent, found.name) == ("impact", 0.5, "g")
    assert found.parameter == pytest.approx(P, abs=1e-8)
    assert 4e-11 <= found.error < 1e-7
    assert found.x == pytest.approx([1 + P * P, -P])
    assert (found.t, found.touch.tolist()) == (TIME, TOUCH.tolist())
    assert found.depth_by_x == pytest.approx([-side * b, -side * b * 2.0])
    assert found.depth_by_parameter == pytest.approx(by_p)
    assert found.curvature == pytest.approx(3.0)
    assert found.monodromy is M
    assert found.kick is KICK
    coefficient = M @ np.linalg.inv(S[:, :2]) @ KICK
    assert found.coefficient == pytest.approx(coefficient)
    assert problem.began[0].monodromy is M
    assert asked == [(problem, 1, "g", found.curvature, side)]
    sizes = np.hypot(3.0 / 2.0, 2.0 / 0.5)
    assert found.offsets == pytest.approx(4 * _OFFSETS)
    assert found.displacements == pytest.approx(sizes * np.sqrt(found.offsets), rel=1e-4)
    assert found.fitted == pytest.approx(0.5, abs=1e-4)
    predicted = np.hypot(*(coefficient / SCALE[:2])) * np.sqrt(abs(by_p))
    assert found.amplitude_ratio == pytest.approx(sizes / predicted, rel=1e-3)


@for_each(("jump", "free"), [(0.0, lambda d: -abs(d)), (0.0, lambda d: 1.0), (0.5, None)])  # fmt: skip
def test_without_a_cycle_that_just_misses_there_is_no_form(monkeypatch, jump, free):
    """On both sides the guard is met or gets no nearer; or the cycles of that side are far away."""
    with pytest.raises(BadValue, match="Beside p = 2.5 no cycle is found that just misses 'g'"):
        grazed(monkeypatch, 1, jump=jump, free=free)
