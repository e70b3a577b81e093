"""Mechanisms of the gallery: each against its motion in minimal coordinates, or a closed form."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from loops import for_each
from scipy.integrate import quad, solve_ivp
from scipy.optimize import brentq
from scipy.special import ellipk

import explorer as ex
from explorer.models import models

TIGHT = ex.EventDriven(rtol=1e-10, atol=1e-12)
T = sp.Symbol("t")
A, B, X, Y = sp.symbols("A B X Y")


class Twin:
    """A mechanism in minimal coordinates theta, by Lagrange's equations; impacts by Newton's law.

    Parameters
    ----------
    theta : symbols
    bars : (place, place, mass)
        Uniform bars between places, formulas of theta and t.
    masses : (place, mass)
    potential, gap : formula
    torque : list of formula
        Generalised forces.
    """

    def __init__(self, theta, bars, masses=(), potential=0, gap=1, torque=None, g=9.81):
        rate = [sp.Symbol(f"r_{x}") for x in theta]

        def speed(place):
            return sp.Matrix([c.diff(T) + sum(c.diff(x) * r for x, r in zip(theta, rate, strict=True))
                              for c in map(sp.sympify, place)])  # fmt: skip

        kinetic, V = sp.Integer(0), sp.sympify(potential)
        for one, two, m in bars:
            u, w = speed(one), speed(two)
            kinetic += m * (u.dot(u) + u.dot(w) + w.dot(w)) / 6
            V += m * g * (one[1] + two[1]) / 2
        for place, m in masses:
            u = speed(place)
            kinetic += m * u.dot(u) / 2
            V += m * g * place[1]
        momenta = sp.Matrix([kinetic.diff(r) for r in rate])
        M = momenta.jacobian(rate)
        moved = momenta.jacobian(theta) * sp.Matrix(rate) + momenta.diff(T)
        F = sp.Matrix([(kinetic - V).diff(x) for x in theta]) - moved
        F += sp.Matrix(torque or [0] * len(theta))
        gap = sp.sympify(gap)
        slope = sp.Matrix([gap.diff(x) for x in theta])
        self.n = len(theta)
        self.of = sp.lambdify([T, theta, rate], [M, F, slope, gap, gap.diff(T)], "numpy", cse=True)

    def at(self, t, x):
        M, F, n, gap, by_t = self.of(t, *np.split(x, 2))
        return np.array(M, float), np.ravel(F).astype(float), np.ravel(n).astype(float), gap, by_t

    def run(self, start, t_end, e, most=4):
        """Return the times of the first impacts."""

        def flow(t, x):
            M, F, *_ = self.at(t, x)
            return np.concatenate([x[self.n :], np.linalg.solve(M, F)])

        def gap(t, x):
            return float(self.at(t, x)[3])

        gap.terminal, gap.direction = True, -1
        t, x, times = 0.0, np.array(start, float), []
        while t < t_end and len(times) < most:
            leg = solve_ivp(flow, (t, t_end), x, "DOP853", events=gap, rtol=1e-10, atol=1e-12)
            t, x = leg.t[-1], leg.y[:, -1]
            if leg.status != 1:
                break
            M, _, n, _, by_t = self.at(t, x)
            push = np.linalg.solve(M, n)
            x[self.n :] -= (1 + e) * push * (n @ x[self.n :] + by_t) / (n @ push)
            times.append(t)
        return times


def crank(r=0.15, length=0.35):
    """Return the joints of the slider-crank by its angle A."""
    one = r * sp.cos(A), r * sp.sin(A)
    return one, (one[0] + sp.sqrt(length**2 - one[1] ** 2), sp.Integer(0))


def slider_crank():
    one, two = crank()
    bars = ((0, 0), one, 0.3), (one, two, 0.5)
    return Twin([A], bars, [(two, 1)], gap=0.47 - two[0]), [1.6, -6], 0.6


def four_bar():
    """The rocker's joint is where two circles meet, on the upper side."""
    one = 0.3 * sp.cos(A), 0.3 * sp.sin(A)
    w = sp.Matrix([0.8 - one[0], -one[1]])
    d = sp.sqrt(w.dot(w))
    along = (0.8**2 - 0.6**2 + d**2) / (2 * d)
    up = sp.sqrt(0.8**2 - along**2)
    two = one[0] + (along * w[0] - up * w[1]) / d, one[1] + (along * w[1] + up * w[0]) / d
    bars = ((0, 0), one, 1), (one, two, 2), (two, (0.8, 0), 1.5)
    return Twin([A], bars, gap=0.85 - two[0], torque=[-8]), [2.0, 0], 0.7


def double_pendulum():
    one = sp.sin(A), -sp.cos(A)
    two = one[0] + 0.8 * sp.sin(B), one[1] - 0.8 * sp.cos(B)
    bars = ((0, 0), one, 1), (one, two, 1)
    return Twin([A, B], bars, gap=two[0] + 0.3), [0.9, 0.4, 0, 0], 0.8


def moving_pivot():
    pin = 0.15 * sp.sin(3 * T), sp.Integer(0)
    tip = pin[0] + sp.sin(A), -sp.cos(A)
    return Twin([A], [(pin, tip, 1)], gap=tip[0] + 0.5), [0.6, 0], 0.8


def plate():
    tip = sp.cos(A), sp.sin(A)
    gap = Y * sp.cos(A) - X * sp.sin(A)
    twin = Twin([A, X, Y], [((0, 0), tip, 1)], [((X, Y), 0.5)], 60 * A**2, gap)
    return twin, [0, 0.5, 0.4, 0, 0, 0], 0.5


def trestle():
    """Cranks that turn alike carry a coupler that does not turn."""
    bars = [((k / 2, 0), (k / 2 + 0.6 * sp.sin(A), -0.6 * sp.cos(A)), 0.5) for k in range(3)]
    middle = 0.5 + 0.6 * sp.sin(A), -0.6 * sp.cos(A)
    return Twin([A], bars, [(middle, 2)], gap=1.2 - middle[0] - 0.5), [-0.9, 0], 0.8


TWINS = {
    "slider_crank_rigid": slider_crank, "four_bar_stop": four_bar, "parallelogram": trestle,
    "double_pendulum_stop": double_pendulum, "pendulum_moving_pivot": moving_pivot,
    "ball_on_plate": plate,
}  # fmt: skip


@for_each("name", sorted(TWINS))
def test_impacts_come_when_they_come_in_minimal_coordinates(name):
    twin, start, e = TWINS[name]()
    system = models[name]()
    run = ex.simulate(system, TIGHT)
    times = [event.t for event in run.events if event.kind == "impact"]
    wanted = twin.run(start, system.t_end, e)
    assert len(wanted) >= 2
    assert times[: len(wanted)] == pytest.approx(wanted, abs=1e-7)
    assert run.certificate.ok


@for_each("name", ["slider_crank_rigid", "four_bar_stop", "double_pendulum_stop", "ball_on_plate"])
def test_time_stepping_finds_the_first_impact_as_well(name):
    """To a few steps: the scheme is of first order."""
    system = models[name]()
    first = [ex.simulate(system, s).events[0].t for s in (TIGHT, ex.MoreauJean(h=system.h))]
    assert first[1] == pytest.approx(first[0], abs=20 * system.h)


def test_the_five_bars_hit_the_ground_as_published():
    run = ex.simulate(models["five_bar_b"](), TIGHT)
    published = list(models["five_bar_b"]().published.values())
    assert len(run.events) == 3
    for event, (number, tolerance, _) in zip(run.events, published, strict=True):
        assert event.t == pytest.approx(number, abs=10 * tolerance)
    assert len(ex.simulate(models["five_bar_a"](), TIGHT).events) == 2


def test_the_two_five_bars_are_mirror_images():
    ends = [ex.simulate(models[f"five_bar_{k}"](), TIGHT, x20=x, t_end=3).q[-1]
            for k, x in (("a", 0.3), ("b", -0.3))]  # fmt: skip
    (x1, y1, x2, y2, x3, y3), other = ends
    assert other == pytest.approx([-x3, y3, -x2, y2, -x1, y1], abs=1e-7)


def test_the_free_parallelogram_is_a_pendulum():
    """Period 4 sqrt((m + M) L / ((3/2 m + M) g)) K(sin(a/2)); a force is missing, not a motion."""
    system = models["parallelogram"]()
    m, M, L, a = 0.5, 2.0, 0.6, 1.2
    period = 4 * np.sqrt((m + M) * L / ((1.5 * m + M) * 9.81)) * ellipk(np.sin(a / 2) ** 2)
    run = ex.simulate(system, TIGHT, s=3, a0=-a, t_end=period)
    assert run.q[-1] == pytest.approx(run.q[0], abs=1e-8)
    assert np.abs(run.phi).max() < 1e-12
    assert not ex.MoreauJean.fits(system)


def test_a_tether_comes_off_and_becomes_taut_as_it_must():
    """It comes off at the height (u0^2 - 2 g L) / (3 g), then flies on a parabola."""
    run = ex.simulate(models["tether"](), TIGHT)
    off, taut = run.events[:2]
    assert (off.kind, taut.kind) == ("released", "closed")
    height = (25 - 2 * 9.81) / (3 * 9.81)
    x, y, u, v = off.x_plus
    assert (y, u**2 + v**2) == pytest.approx((height, 9.81 * height), abs=1e-8)
    flight = brentq(
        lambda t: (x + u * t) ** 2 + (y + v * t - 9.81 * t**2 / 2) ** 2 - 1, 0.1, 2, xtol=1e-13
    )
    assert taut.t - off.t == pytest.approx(flight, abs=1e-8)
    place, before, after = taut.x_plus[:2], taut.x_minus[2:], taut.x_plus[2:]
    assert after == pytest.approx(before - place * (place @ before), abs=1e-9)
    fall = ex.simulate(models["tether"](), TIGHT, x0=0.7, y0=0.5, u0=0)
    drop = 0.5 + np.sqrt(1 - 0.49)
    assert fall.events[0].t == pytest.approx(np.sqrt(2 * drop / 9.81), abs=1e-9)


def test_a_spherical_pendulum_precesses_and_a_conical_one_does_not():
    """The angle from one highest place to the next, as an integral over the height."""
    a, v0, g = 1.0, 1.0, 9.81
    high = -np.cos(a)
    h, moment = v0**2 / 2 + g * high, np.sin(a) * v0
    cubic = np.poly1d(
        [2 * g, -2 * h, -2 * g, 2 * h - moment**2]
    )  # (1 - z^2) 2 (h - g z) - moment^2
    low, top, _ = np.sort(cubic.roots.real)
    assert top == pytest.approx(high)

    def rate(s):  # z = (top + low) / 2 - cos(s) (top - low) / 2 takes the roots away
        z = (top + low) / 2 - np.cos(s) * (top - low) / 2
        return moment / (1 - z**2) / np.sqrt(2 * g * (cubic.roots.real.max() - z))

    angle = 2 * quad(rate, 0, np.pi, epsabs=1e-13, epsrel=1e-13)[0]
    system = models["spherical_pendulum"]()
    run = ex.simulate(system, TIGHT)
    sign = np.flatnonzero((run.v[:-1, 2] > 0) & (run.v[1:, 2] <= 0))[0]
    start, end = run.t[[sign, sign + 1]]

    def climb(t):
        return ex.simulate(system, TIGHT, t_end=t).v[-1, 2]

    t = brentq(climb, start, end, xtol=1e-11)
    x, y, z = ex.simulate(system, TIGHT, t_end=t).q[-1]
    assert z == pytest.approx(high, abs=1e-9)
    assert np.arctan2(y, x) % (2 * np.pi) == pytest.approx(angle, abs=1e-7)
    assert angle > np.pi
    v0 = np.sqrt(g * np.sin(a) * np.tan(a))
    run = ex.simulate(system, TIGHT, u0=v0)
    turned = np.sqrt(g / np.cos(a)) * run.t
    circle = np.sin(a) * np.array([np.cos(turned), np.sin(turned)])
    assert pytest.approx(circle, abs=1e-7) == run.q[:, :2].T
    assert run.lam_phi[:, 0] == pytest.approx(g / np.cos(a), rel=1e-7)


def test_a_top_on_a_smooth_table_precesses_steadily():
    """Its centre stays, its axis goes round at W; the table carries its weight."""
    system = models["spinning_top"]()
    run = ex.simulate(system, ex.EventDriven(rtol=1e-9, atol=1e-11))
    e0, e1, e2, e3 = run.q[:, 3:].T
    axis = np.array([2 * (e1 * e3 + e0 * e2), 2 * (e2 * e3 - e0 * e1), 1 - 2 * (e1**2 + e2**2)])
    W, theta = 20.0, 0.5
    wanted = [np.sin(theta) * np.sin(W * run.t), -np.sin(theta) * np.cos(W * run.t)]
    assert axis[:2] == pytest.approx(np.array(wanted), abs=1e-6)
    assert axis[2] == pytest.approx(np.cos(theta), abs=1e-7)
    assert run.q[:, :3] == pytest.approx(
        np.tile([0, 0, 0.05 * np.cos(theta)], (len(run.t), 1)), abs=1e-7
    )
    assert run.lam[:, 0] == pytest.approx(0.5 * 9.81, rel=1e-6)
    nods = ex.simulate(system, ex.EventDriven(), spin=0.7)
    assert np.ptp(nods.q[:, 2]) > 1e-3


# -- the walker with knees ------------------------------------------------------------------------


class Masses:
    """The walker as point masses in the plane: places of the masses by Cartesian coordinates.

    Independent of the model: M = J' m J from places by complex step, Coriolis terms by differences of
    M, impulses by constraints on the masses.
    """

    d = np.array([0.375, 0.675, 1.0])  # from a foot: shank, thigh, hip
    m = np.array([0.05, 0.5, 0.5, 0.5, 0.05])  # stance shank and thigh, hip, swing thigh and shank

    def places(self, q, foot=(0.0, 0.0)):
        up = [np.array([-np.sin(x), np.cos(x)]) for x in q]
        f = np.array(foot)
        knee = f + up[0] - 0.5 * up[1]
        return np.array([f + 0.375 * up[0], f + 0.675 * up[0], f + up[0],
                         f + up[0] - 0.325 * up[1], knee - 0.125 * up[2]])  # fmt: skip

    def jacobian(self, q):
        step = 1e-30j * np.eye(3)
        return np.array([self.places(q + s).imag / 1e-30 for s in step]).transpose(1, 2, 0)

    def mass(self, q):
        J = self.jacobian(q)
        return np.einsum("i,iak,ial->kl", self.m, J, J)

    def flow(self, t, x, locked):
        q, v = np.split(x, 2)
        J, h = self.jacobian(q), 1e-6
        turning = (self.jacobian(q + h * v) - self.jacobian(q - h * v)) @ v / (2 * h)
        force = np.einsum("i,iak,ia->k", self.m, J, np.array([0, -9.81]) - turning)
        M = self.mass(q)
        if locked:
            n = np.array([0, -1.0, 1])
            saddle = np.block([[M, n[:, None]], [n, np.zeros(1)]])
            return np.concatenate([v, np.linalg.solve(saddle, [*force, 0])[:3]])
        return np.concatenate([v, np.linalg.solve(M, force)])

    def step(self, x, slope=0.0504):
        """Return the state behind the next heel strike, and its time."""

        def knee(t, x):
            return x[2] - x[1] if t > 0.05 else -1.0

        def heel(t, x):
            return x[0] + x[1] + 2 * slope if x[1] > x[0] else 1.0

        tight = {"method": "DOP853", "rtol": 1e-11, "atol": 1e-12}
        knee.direction, heel.direction = 1, -1
        t, x = self._until(knee, 0.0, x, False, tight)
        M, n = self.mass(x[:3]), np.array([0, -1.0, 1])
        x[3:] -= np.linalg.solve(M, n) * (n @ x[3:]) / (n @ np.linalg.solve(M, n))
        t, x = self._until(heel, t, x, True, tight)
        return self.swap(x), t

    def _until(self, event, t, x, locked, tight):
        def at(t, x, _):
            return event(t, x)

        at.terminal, at.direction = True, event.direction
        leg = solve_ivp(self.flow, (t, t + 2), x, args=(locked,), events=at, **tight)
        assert leg.status == 1
        return leg.t[-1], leg.y[:, -1]

    def swap(self, x):
        """Free rigid legs with a hinge at the hip: the old foot is let go, the new one held."""
        q, v = np.split(x, 2)
        J = self.jacobian(q)
        before = J @ v
        new = np.array([q[1], q[0], q[0]])
        J_new = self.jacobian(new)[::-1]  # the masses in the order of before
        both = J_new @ np.array([[1, 0], [0, 1], [0, 1.0]])
        M = np.einsum("i,iak,ial->kl", self.m, both, both)
        w = np.linalg.solve(M, np.einsum("i,iak,ia->k", self.m, both, before))
        return np.array([*new, w[0], w[1], w[1]])


def test_the_walker_with_knees_has_its_cycle():
    """A step of point masses returns to its start; the model does the same in the same time."""
    numbers = [x[0] for x in models["kneed_walker"]().published.values()]
    angle, rate, swing, period = numbers
    start = np.array([angle, -angle - 0.1008, -angle - 0.1008, rate, swing, swing])
    again, t = Masses().step(start)
    assert again == pytest.approx(start, abs=1e-6)
    assert t == pytest.approx(period, abs=1e-6)
    run = ex.simulate(models["kneed_walker"](), TIGHT, t_end=3)
    heels = [e for e in run.events if e.contact == "heel strike"]
    assert np.diff([e.t for e in heels]) == pytest.approx(period, abs=1e-6)
    assert heels[-1].x_plus == pytest.approx(start, abs=1e-6)
    assert [e.contact for e in run.events[:4]] == ["knee strike", "heel strike"] * 2
    disturbed = ex.simulate(models["kneed_walker"](), TIGHT, a0=0.186, t_end=12)
    last = [e for e in disturbed.events if e.contact == "heel strike"][-1]
    assert last.x_plus == pytest.approx(start, abs=1e-4), "it is stable"
