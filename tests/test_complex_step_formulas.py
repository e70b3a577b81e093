"""Formulas that a complex step runs by: of sharp functions, of a mechanism, of a switched system."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import sympy as sp
from loops import for_each
from plain import put, space

from explorer.derivatives import complex_step
from explorer.derivatives.complex_step import _SHARP, EPS, _Replay
from explorer.errors import NotApplicable

SMALL = 1j * EPS


@for_each(
    ("name", "at", "value", "slope"),
    [
        ("Abs", (2.0,), 2.0, 1.0), ("Abs", (-2.0,), 2.0, -1.0), ("Abs", (0.0,), 0.0, 1.0),
        ("sign", (2.0,), 1.0, 0.0), ("sign", (-2.0,), -1.0, 0.0),
        ("Heaviside", (2.0,), 1.0, 0.0), ("Heaviside", (-2.0,), 0.0, 0.0), ("Heaviside", (0.0,), 0.5, 0.0),
        ("floor", (2.75,), 2.0, 0.0), ("floor", (-0.25,), -1.0, 0.0),
        ("ceiling", (2.25,), 3.0, 0.0), ("ceiling", (-0.25,), 0.0, 0.0),
        ("Min", (3.0, 2.0, 5.0), 2.0, 0.0), ("Min", (1.0, 2.0), 1.0, 1.0),
        ("Max", (3.0, 2.0), 3.0, 1.0), ("Max", (3.0, 2.0, 5.0), 5.0, 0.0),
        ("Mod", (7.5, 2.0), 1.5, 1.0), ("Mod", (-0.5, 2.0), 1.5, 1.0),
    ],
)  # fmt: skip
def test_sharp_functions_move_with_their_first_argument(name, at, value, slope):
    first, *others = at
    found = _SHARP[name](first + SMALL, *others)
    assert np.real(found) == value
    assert np.imag(found) / EPS == pytest.approx(slope)


def test_the_rest_of_a_division_moves_with_the_divisor():
    """7.5 mod m = 7.5 - 3 m near m = 2."""
    found = _SHARP["Mod"](7.5, 2.0 + SMALL)
    assert (np.real(found), np.imag(found) / EPS) == pytest.approx((1.5, -3.0))
    assert _SHARP["Heaviside"](0.0, 0.25) == 0.25


class Numbers:
    """Formulas at complex numbers: of time, of the states and of the parameters."""

    def __init__(self, seed, more=0):
        rng = np.random.default_rng(seed)
        self.all = rng.normal(size=(8 + more, 2)) @ [1.0, 0.5j]
        self.t, self.q, self.v, self.rho = self.all[0], self.all[1:3], self.all[3:5], self.all[5:8]


class Flow:
    """What a replay asks of the compiled flow of the mechanism."""

    mechanical, n, n_c, n_x, solved, cost, forces = True, 2, 2, 4, None, None, {}
    states = sp.symbols("x y v_x v_y")
    changes, rates = (), sp.symbols("r_x r_y a_x a_y")

    def __init__(self, rough=(1,), n_phi=1, **more):
        self.rough, self.n_phi = rough, n_phi
        self.rows = self.n_c + len(rough) + n_phi
        vars(self).update(more)


def replay_of(monkeypatch, system, flow):
    put(monkeypatch, _Replay.__init__,
        held_beside=lambda march: (np.ones((1, 1)), np.zeros((1, 1))))  # fmt: skip
    question = space(cost=space(flow=flow), system=system)
    return _Replay(question, space(march=space(events=space(head="head"))))


def stand_in(contacts, constraints=()):
    """Return a system with a mass and forces, and what may hold it."""
    x, v_x, v_y, t, m, k = sp.symbols("x v_x v_y t m k")
    return space(
        name="s", t=t, parameters={"m": None, "k": None, "mu": None}, contacts=contacts,
        constraints=constraints, mass=sp.Matrix([[m + x**2, k * x], [k * x, m]]),
        force=sp.Matrix([-k * v_x + t, x * v_y]),
    )  # fmt: skip


def contacts_of(rough):
    x, y, v_x, v_y, t, m, k, mu = sp.symbols("x y v_x v_y t m k mu")
    one = space(gap=y - k * t**2, e=k / 2, slip=None, mu=None, mu_s=None, reset=None)
    two = space(gap=x * y - m, e=0.25, slip=v_x + x * v_y + t, mu=mu,
                mu_s=2 * mu if rough == 2 else None, reset=(("v_x", -k * v_x), ("v_y", v_y + t)))  # fmt: skip
    return [one, two]


@for_each(("rough", "n_phi"), itertools.product((0, 1, 2), (0, 1)))
def test_a_mechanism_has_its_gaps_speeds_and_normals(monkeypatch, rough, n_phi):
    """Speeds are the rates of gaps, then slip, then the rates of constraints; all with time."""
    x, y, t, k = sp.symbols("x y t k")
    constraints = [space(phi=x**2 + k * y - t)] * n_phi
    flow = Flow((1,) if rough else (), n_phi)
    one = replay_of(monkeypatch, stand_in(contacts_of(rough), constraints), flow)
    for seed in range(3):
        now = Numbers(seed)
        (X, Y), (U, V), T, (m, k_, mu) = now.q, now.v, now.t, now.rho
        gap = [Y - k_ * T**2, X * Y - m]
        speed = [V - 2 * k_ * T, U * Y + X * V]
        normals = [[0, 1], [Y, X]]
        bent = [-2 * k_, 2 * U * V]
        if rough:
            speed.append(U + X * V + T)
            normals.append([1, X])
            bent.append(U * V + 1)
        if n_phi:
            speed.append(2 * X * U + k_ * V - 1)
            normals.append([2 * X, k_])
            bent.append(2 * U**2)
        np.testing.assert_allclose(one.gap(*now.all), gap)
        np.testing.assert_allclose(one.speed(*now.all), speed)
        np.testing.assert_allclose(one.G(*now.all).reshape(-1, 2), normals)
        np.testing.assert_allclose(one.gamma(*now.all), bent)
        np.testing.assert_allclose(one.mass(*now.all), [m + X**2, k_ * X, k_ * X, m])
        np.testing.assert_allclose(one.force(*now.all), [-k_ * U + T, X * V])
        np.testing.assert_allclose(one.e(*now.all), [k_ / 2, 0.25])
        np.testing.assert_allclose(one.phi(*now.all), [X**2 + k_ * Y - T] * n_phi)
        np.testing.assert_allclose(one.mu(*now.all), [mu] * bool(rough))
        np.testing.assert_allclose(one.mu_s(*now.all), [mu * max(rough, 1)] * bool(rough))
        np.testing.assert_allclose(one.laws[1](*now.all), [-k_ * U, V + T])
    assert [*one.laws] == [1]
    assert one.g is None
    assert (one.held_rows.tolist(), one.kept_rows.tolist()) == ([[1]], [[0]])
    assert one.held_rows.dtype == int


def test_a_mechanism_without_contacts_has_only_its_forces(monkeypatch):
    one = replay_of(monkeypatch, stand_in([]), Flow((), 0, n_c=0))
    now = Numbers(0)
    (X, _), (U, V), k = now.q, now.v, now.rho[1]
    np.testing.assert_allclose(one.force(*now.all), [-k * U + now.t, X * V])
    assert (one.laws, one.whens) == ({}, {})


def test_constraints_change_by_formulas_with_forces_and_a_cost_with_rates(monkeypatch):
    """The force on a row stands in the place of its name, behind all else; rates before it."""
    x, t, N = sp.symbols("x t N")
    a_y, l_1 = sp.Symbol("a_y"), sp.Symbol("_lam_1")
    change = space(r=x * N - t, constraints=((3, 1), (5, 0)))
    other = space(r=N + 2, constraints=((4, 1),))
    flow = Flow((), 0, changes=(change, other), forces={"N": l_1}, cost=x * a_y + l_1**2)
    one = replay_of(monkeypatch, stand_in(contacts_of(0)), flow)
    now, lam, rates = Numbers(1), np.array([2.0, 3.0]), np.array([5.0, 6.0, 7.0, 8.0])
    assert sorted(one.whens) == [3, 4, 5]
    X = now.q[0]
    for c in (3, 5):
        np.testing.assert_allclose(one.whens[c](*now.all, *lam), [X * 3.0 - now.t])
    np.testing.assert_allclose(one.whens[4](*now.all, *lam), [5.0])
    np.testing.assert_allclose(one.g(*now.all, *rates, *lam), [X * 8.0 + 9.0])


def test_a_switched_system_has_flows_guards_and_resets(monkeypatch):
    x, y, t, k = sp.symbols("x y t k")
    modes = [space(flow=[y, -k * x]), space(flow=[t, x * y])]
    guards = [space(r=x - t, reset=[x, -k * y]), space(r=y, reset=[x + 1, y])]
    flow = space(mechanical=False, states=(x, y), automaton=space(modes=modes), guards=guards,
                 rows=0, cost=None, solved=None)  # fmt: skip
    one = replay_of(monkeypatch, space(name="s", t=t, parameters={"k": None}), flow)
    T, X, Y, K = at = (0.5 + 1j, 2.0, 3.0 - 1j, 0.25)
    np.testing.assert_allclose(one.flows[0](*at), [Y, -K * X])
    np.testing.assert_allclose(one.flows[1](*at), [T, X * Y])
    np.testing.assert_allclose([f(*at)[0] for f in one.guards], [X - T, Y])
    np.testing.assert_allclose(one.resets[0](*at), [X, -K * Y])
    np.testing.assert_allclose(one.resets[1](*at), [X + 1, Y])
    guards[0].r = sp.Piecewise((x, x > 0), (y, True))
    with pytest.raises(NotApplicable, match="no complex extension"):
        replay_of(monkeypatch, space(name="s", t=t, parameters={"k": None}), flow)
    flow.solved = "formulas"
    with pytest.raises(NotApplicable, match="slides on several surfaces"):
        replay_of(monkeypatch, space(name="s", t=t, parameters={"k": None}), flow)


@for_each(("driven", "j", "told"), [
    (False, 0, [[0, 0, 1]]), (False, 1, [[0, 0, 0]]), (False, 2, [[1, 0, 0]]),
    (True, 0, [[0, 1, 0], [0, 0, 0]]), (True, 1, [[0, 0, 0], [0, 0, 0]]), (True, 2, [[0, 0, 0], [0, 1, 0]]),
])  # fmt: skip
def test_one_column_moves_in_the_intervals_in_which_it_counts(monkeypatch, driven, j, told):
    """With inputs their values stand in each interval; a start is no parameter."""
    drive = space(values=np.array([[8.0], [9.0]]), places_in=lambda system: [1]) if driven else None
    put(monkeypatch, complex_step._perturbed,
        active_of=lambda system, columns: np.array([[1, -1, -1], [-1, -1, 1]]))  # fmt: skip
    question = space(system=space(drive=drive), places=(2, -1, 0), columns="columns",
                     rho=np.array([1.0, 2.0, 3.0]))  # fmt: skip
    found = complex_step._perturbed(question, j)
    assert found.real.tolist() == ([[1, 8, 3], [1, 9, 3]] if driven else [[1, 2, 3]])
    np.testing.assert_allclose(found.imag / EPS, told)
    assert question.rho.tolist() == [1.0, 2.0, 3.0]


def test_a_terminal_cost_moves_by_its_gradient():
    asked = []

    def terminal(t, x, rho):
        asked.append((t, x.tolist(), rho.tolist()))
        return 5.0, 2.0, np.array([3.0, -1.0]), np.array([0.5, 4.0])

    question = space(cost=space(terminal=terminal))
    x, rho = np.array([1.0 + 1j, 2.0 - 3j]), np.array([7.0 + 2j, 8.0 + 0.5j])
    found = complex_step._terminal(question, 0.25 + 10j, x, rho)
    assert asked == [(0.25, [1.0, 2.0], [7.0, 8.0])]
    assert found == 5.0 + 1j * (2 * 10 + (3 + 3) + (1 + 2))
