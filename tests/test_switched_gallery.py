"""Rattle, converters, modulators, neurons, clocks and sweeping against closed forms and marches."""

from __future__ import annotations

import importlib
import itertools
import math
import sys

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import brentq

import explorer as ex
from explorer.study import lyapunov

importlib.import_module("explorer.models")


def module(name: str):
    return sys.modules[f"explorer.models.{name}"]


# -- gear rattle ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("m", "d"), [(0.5, 0.25), (0.5, 2.0), (1.5, 0.5)])
def test_gears_are_quiet_up_to_their_closed_form(m, d):
    """V / (omega sqrt(1 + (m omega / d)^2)), the least of d (V + A w cos) - m A w^2 sin is zero."""
    limit = 0.1 / (10 * math.hypot(1, m * 10 / d))
    for share, leaves in ((0.99, False), (1.01, True)):
        run = ex.simulate(
            ex.models.gear_rattle(), "EventDriven", t_end=2, m=m, d=d, A=share * limit, x0=1
        )
        assert any(e.kind == "released" for e in run.events) == leaves


def test_a_flight_between_the_flanks_is_that_of_a_free_wheel():
    """m s2'' = -d s2' between impacts: the driven wheel, seen from the ground, slows down alone."""
    run = ex.simulate(ex.models.gear_rattle(), "EventDriven", A=2e-3, t_end=3)
    rho, t = run.rho, run.t
    speed = rho["V"] + rho["A"] * rho["omega"] * np.cos(rho["omega"] * t) - run.v[:, 0]
    hits = np.array([e.t for e in run.events])
    flights = [
        (t > a) & (t < b) & (run.gap.min(axis=1) > 1e-9) for a, b in itertools.pairwise(hits)
    ]
    compared = 0
    for rows in flights:
        if rows.sum() > 3:
            kept = speed[rows] * np.exp(rho["d"] / rho["m"] * t[rows])
            assert np.ptp(kept) < 1e-7 * np.abs(kept).max()
            compared += 1
    assert compared > 5


# -- boost converter ------------------------------------------------------------------------------


def boost_tick(x, I_ref, C=1e-4, V_in=10.0, R=20.0, L=1e-3, T=1e-4):
    """March one tick of continuous conduction exactly; the state is (v, i) at the tick."""
    v, i = x
    on = (I_ref - i) * L / V_in
    if on >= T:  # the next tick comes first
        return np.array([v * math.exp(-T / (R * C)), i + V_in / L * T])
    v = v * math.exp(-on / (R * C))
    A = np.array([[-1 / (R * C), 1 / C], [-1 / L, 0]])
    rest = np.array([V_in, V_in / R])
    return rest + expm(A * (T - on)) @ (np.array([v, I_ref]) - rest)


def test_the_boost_converter_runs_tick_by_tick():
    run = ex.simulate(ex.models.boost_converter(), "EventDriven", t_end=4.05e-3, I_ref=2.6)
    x = np.array([16.0, 1.0])
    ticks = [e.x_plus for e in run.events if e.contact == "tick"]
    assert len(ticks) == 40
    for tick in ticks:
        x = boost_tick(x, 2.6)
        assert tick[:2] == pytest.approx(x, rel=1e-8)


def test_the_boost_converter_doubles_where_its_exact_map_does():
    def least(I_ref):
        z = np.array([20.0, I_ref - 0.5])
        for _ in range(30):
            J = np.column_stack(
                [(boost_tick(z + h, I_ref) - boost_tick(z - h, I_ref)) / 2e-6
                 for h in 1e-6 * np.eye(2)]
            )  # fmt: skip
            z = z + np.linalg.solve(np.eye(2) - J, boost_tick(z, I_ref) - z)
        return float(np.linalg.eigvals(J).real.min())

    exact = brentq(lambda I_ref: least(I_ref) + 1, 2.1, 2.3)
    (number, _, _) = list(ex.models.boost_converter().published.values())[1]
    assert number == pytest.approx(exact, abs=1e-6)


# -- sigma-delta modulator ------------------------------------------------------------------------


@pytest.mark.parametrize("u", [-0.73, 0.0, 1 / 3, 0.61803])
def test_bits_have_their_input_as_mean(u):
    """x stays in [u - 1, u + 1], so that the sum of N bits misses N u by 2 at most."""
    run = ex.simulate(ex.models.sigma_delta(), u=u, t_end=5000)
    x = run.x[:, 0]
    assert x[10:].min() >= u - 1 - 1e-9
    assert x[10:].max() <= u + 1 + 1e-9
    bits = np.where(x[:-1] >= 0, 1, -1)
    assert bits.mean() == pytest.approx(u, abs=3 / len(bits))


@pytest.mark.parametrize("p", [0.6, 0.8, 0.95])
def test_a_leak_holds_the_share_one_half_on_an_interval(p):
    edge = (1 - p) / (1 + p)
    run = ex.simulate(ex.models.sigma_delta(), u=0.999 * edge, p=p, t_end=2000)
    u = run.rho["u"]
    points = np.sort(run.x[-2:, 0])
    assert points == pytest.approx((u * (1 + p) + np.array([p - 1, 1 - p])) / (1 - p**2), abs=1e-9)
    over = ex.simulate(ex.models.sigma_delta(), u=1.001 * edge, p=p, t_end=20_000).x[1000:, 0]
    assert (over >= 0).mean() > 0.5


def test_a_gain_above_one_makes_chaos_of_ln_p():
    found = lyapunov(ex.models.sigma_delta(), iterates=2000, p=1.1, u=0.123)
    assert found.largest == pytest.approx(math.log(1.1), abs=1e-9)


# -- integrate and fire ---------------------------------------------------------------------------


@pytest.mark.parametrize(("gamma", "A"), [(1.0, 0.5), (0.5, 0.3)])
def test_a_neuron_locks_on_its_tongue(gamma, A):
    """Inside one pulse in each period, beside the edges fewer or more."""
    low, high = module("integrate_and_fire").tongue(gamma, A, 2 * math.pi)
    neuron = ex.models.integrate_and_fire()

    def pulses(S):
        run = ex.simulate(neuron, "EventDriven", S=S, gamma=gamma, A=A, t_end=160)
        return sum(1 for e in run.events if e.t > 60)

    width = high - low
    assert pulses(low + 0.05 * width) == pulses(high - 0.05 * width) == 100
    assert pulses(low - 0.1 * width) < 100
    assert pulses(high + 0.1 * width) > 100


def test_pulses_come_when_the_linear_equation_says():
    """Each interval solves v(t + s) = 1 from v(t) = 0 with the closed form of the linear flow."""
    run = ex.simulate(ex.models.integrate_and_fire(), "EventDriven", t_end=8)
    rho, times = run.rho, [0.0, *(e.t for e in run.events)]
    g, w = rho["gamma"], rho["omega"]

    def free(t):  # a solution without start: the rest decays with exp(-gamma t)
        return rho["S"] / g + rho["A"] * (g * np.sin(w * t) - w * np.cos(w * t)) / (g**2 + w**2)

    for a, b in itertools.pairwise(times):
        assert free(b) - free(a) * np.exp(-g * (b - a)) == pytest.approx(1, abs=1e-8)


# -- sweeping process, play and stop --------------------------------------------------------------


def test_the_swept_point_is_that_of_the_catching_up_algorithm():
    """x_{k+1} = proj(x_k, C(t_{k+1})), of first order against the scheme."""
    run = ex.simulate(ex.models.sweeping_process(), ex.EulerMoreau(h=1e-3), t_end=8)
    errors = []
    for h in (1e-2, 1e-3, 1e-4):
        x = np.array([1.0, 0.0])
        for k in range(1, round(8 / h) + 1):
            c = np.array([math.cos(k * h), math.sin(k * h)])
            away = np.linalg.norm(x - c)
            x = x if away <= 0.6 else c + 0.6 * (x - c) / away
        errors.append(float(np.abs(x - run.x[-1]).max()))
    assert errors[1] < 0.2 * errors[0]
    assert errors[2] < 5e-3


def test_a_large_disc_leaves_the_point_at_rest():
    run = ex.simulate(ex.models.sweeping_process(), R=1.2, t_end=20)
    late = run.x[run.t > 14]
    assert np.ptp(late, axis=0).max() < 1e-6
    assert np.linalg.norm(late[-1]) <= 0.2 + 1e-3


@pytest.mark.parametrize(("A", "r", "w0"), [(1, 0.4, 0), (1, 0.4, -1), (0.3, 0.4, 0.5), (2, 1, 1)])
def test_play_is_its_recursion(A, r, w0):
    """w = max(u - r, min(u + r, w before)): by steps, and the closed form of the model."""
    play = ex.models.play_and_stop()
    run = ex.simulate(play, A=A, r=r, w0=w0)
    w, u = np.empty(len(run.t)), A * np.sin(run.t)
    w[0] = w0 * r
    for k in range(1, len(w)):
        w[k] = max(u[k] - r, min(u[k] + r, w[k - 1]))
    assert np.abs(w - run.x[:, 0]).max() < 5e-3
    assert np.abs(play.exact(run.t, run.rho)["x"][:, 0] - w).max() < 2e-5
    assert np.abs(run.outputs["stop"]).max() <= r + 1e-6


# -- two stable systems ---------------------------------------------------------------------------


def test_each_system_alone_is_stable_and_both_together_are_not():
    """By exponentials from axis to axis: a quarter turn takes pi / (2 sqrt(k))."""
    k, d = 3.0, 0.2
    long = np.array([[-d, k], [-1, -d]])
    tall = np.array([[-d, 1], [-k, -d]])
    for A in (long, tall):
        assert np.linalg.eigvals(A).real == pytest.approx([-d, -d])
    quarter = math.pi / (2 * math.sqrt(k))
    for swapped, (one, other) in enumerate(((long, tall), (tall, long))):
        x = expm(other * quarter) @ expm(one * quarter) @ np.array([0, 1.0])
        assert x[0] == pytest.approx(0, abs=1e-12)
        rate = math.log(abs(x[1])) / (2 * quarter)
        sign = -1 if swapped else 1
        assert rate == pytest.approx(sign * math.log(k) * math.sqrt(k) / math.pi - d, abs=1e-12)
        run = ex.simulate(
            ex.models.switched_linear(), "EventDriven", k=k, d=d, swapped=swapped, t_end=5
        )
        sizes = np.array([[e.t, math.log(np.linalg.norm(e.x_plus))] for e in run.events])
        slope = np.diff(sizes[[0, -1]], axis=0)[0]
        assert slope[1] / slope[0] == pytest.approx(rate, abs=1e-8)


# -- threshold policy -----------------------------------------------------------------------------


@pytest.mark.parametrize("Y", [0.55, 0.6, 0.75])
def test_populations_rest_on_the_threshold(Y):
    run = ex.simulate(ex.models.threshold_policy(), "EventDriven", Y=Y, t_end=200)
    assert run.x[-1] == pytest.approx([1 - Y, Y], abs=1e-6)
    assert "slides" in [e.kind for e in run.events]


def test_below_the_bifurcation_they_rest_above_the_threshold():
    """The equilibrium of the fished populations: x = (m + E) / b, y = r / a (1 - x / K)."""
    run = ex.simulate(ex.models.threshold_policy(), "EventDriven", Y=0.4, t_end=200)
    assert run.x[-1] == pytest.approx([0.5, 0.5], abs=1e-6)


# -- clock ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("f", "h"), [(0.02, 0.2), (0.03, 0.25)])
def test_a_clock_finds_its_swing_from_both_sides(f, h):
    a = f + h**2 / (8 * f)
    assert a > 4 * f
    period = 2 * math.pi + math.acos(f / (a + f)) - math.acos(f / (a - 3 * f))
    for start in (-0.5, -0.12):
        run = ex.simulate(
            ex.models.clock_escapement(), "EventDriven", f=f, h=h, x0=start, t_end=400
        )
        kicks = [e for e in run.events if e.contact == "kick"]
        turns = [e.x_plus[0] for e in run.events if e.contact == "turns back"]
        assert turns[-1] == pytest.approx(a, abs=1e-6)
        assert kicks[-1].t - kicks[-2].t == pytest.approx(period, abs=1e-6)
        gains = [e.x_plus[1] ** 2 - e.x_minus[1] ** 2 for e in kicks]
        assert gains == pytest.approx([h**2] * len(kicks), abs=1e-9)


def test_a_clock_that_is_hardly_moved_stops():
    run = ex.simulate(ex.models.clock_escapement(), "EventDriven", x0=-0.035, t_end=60)
    assert [e.to for e in run.events] == ["rest"]
    assert run.x[-1, 1] == 0
