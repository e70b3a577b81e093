"""Hysteresis, juggling, dimer, dominoes, beads and squeal against closed forms and marches."""

from __future__ import annotations

import importlib
import itertools
import math
import sys

import numpy as np
import pytest
from loops import for_each
from scipy.integrate import quad, solve_ivp
from scipy.optimize import brentq

import explorer as ex

importlib.import_module("explorer.models")


def module(name: str):
    return sys.modules[f"explorer.models.{name}"]


# -- Bouc-Wen -------------------------------------------------------------------------------------


@for_each("b", [0.5, 0.7, 1.0])
def test_the_loop_of_bouc_wen_is_that_of_its_equation(b):
    """dz/dx from turn to turn by a march; where z ends, it begins with the other sign."""
    X, z0 = 0.35, 0.2
    Z, area = module("bouc_wen").loop(X, z0, b)

    def slope(x, state):  # to the right
        z = state[0]
        return [1 - (b * z + (1 - b) * abs(z)) / z0, z]

    free = brentq(lambda x: go(slope, -Z, x)[0], 0, 2 * X)
    first = go(slope, -Z, free)
    second = go(slope, 0.0, 2 * X - free)
    assert first[0] == pytest.approx(0, abs=1e-10)
    assert second[0] == pytest.approx(Z, abs=1e-9)
    assert 2 * (first[1] + second[1]) == pytest.approx(area, abs=1e-9)


def go(slope, z, far):
    """Return z and its integral over x, after so far."""
    if far == 0:
        return np.array([z, 0.0])
    return solve_ivp(slope, (0, far), [z, 0.0], rtol=1e-12, atol=1e-14, method="DOP853").y[:, -1]


@for_each(("n", "b"), [(1, 0.5), (1, 0.9), (2, 0.5), (3, 0.8)])
def test_bouc_wen_is_the_march_of_its_equations(n, b):
    run = ex.simulate(ex.models.bouc_wen(n), ex.EventDriven(rtol=1e-10, atol=1e-12), b=b, t_end=12)
    rho = run.rho

    def rates(t, s):
        x, v, z, _ = s
        pull = (1 - rho["alpha"]) * rho["k"] * z
        push = rho["F"] * math.cos(rho["omega"] * t) - rho["c"] * v
        bend = b * abs(v) * abs(z) ** (n - 1) * z + (1 - b) * v * abs(z) ** n
        return [
            v, (push - rho["alpha"] * rho["k"] * x - pull) / rho["m"], v - bend / rho["z0"] ** n,
            pull * v,
        ]  # fmt: skip

    slow = solve_ivp(rates, (0, 12), [0, 0, 0, 0], rtol=1e-10, atol=1e-12, max_step=0.01)
    assert run.x[-1] == pytest.approx(slow.y[:, -1], abs=1e-6)
    assert np.abs(run.x[:, 2]).max() < rho["z0"]


def test_a_push_leaves_the_mass_elsewhere_and_its_energy_as_heat():
    run = ex.simulate(ex.models.bouc_wen(), ex.EventDriven(rtol=1e-10), F=0, v0=1, c=0, t_end=60)
    x, v, _z, W = run.x[-1]
    rho = run.rho
    stored = 0.5 * (rho["m"] * v**2 + rho["alpha"] * rho["k"] * x**2)
    assert stored + W == pytest.approx(0.5, abs=1e-8)
    reach = brentq(
        lambda X: 0.5 - 0.2 * X**2 - 3.6 * 0.2 * (X - 0.2 * (1 - math.exp(-X / 0.2))), 0.1, 2
    )
    turns = [e.x_minus[0] for e in run.events if abs(e.x_minus[1]) < 1e-9 and e.t > 0]
    assert turns[0] == pytest.approx(reach, abs=1e-8)


# -- juggling -------------------------------------------------------------------------------------


@for_each(("K", "e", "e_m"), [(0.25, 0.7, 0.7), (0.3, 0.6, 0.8), (0.65, 0.7, 0.7)])
def test_throws_follow_the_map_of_their_heights(K, e, e_m):
    run = ex.simulate(ex.models.juggling(), "EventDriven", K=K, e=e, e_m=e_m, t_end=15)
    H = [0.5, *(hit.x_plus[1] ** 2 / (2 * 9.81) for hit in run.events)]
    assert len(H) > 10
    for low, high in itertools.pairwise(H):
        kappa = (1 - e_m) / (1 + e_m) + K * (1 - low)
        assert high == pytest.approx((e + (1 + e) * kappa) ** 2 * low, rel=1e-8)


def test_throws_differ_by_turns_beyond_the_gain():
    run = ex.simulate(ex.models.juggling(), "EventDriven", K=0.65, t_end=80)
    H = [hit.x_plus[1] ** 2 / (2 * 9.81) for hit in run.events][-6:]
    assert np.ptp(H[::2]) < 1e-6
    assert abs(H[0] - H[1]) > 0.1


def test_throws_that_are_too_soft_die_out():
    """H* < 0: the heights fall as a geometric series, and the ball comes to lie."""
    run = ex.simulate(ex.models.juggling(), "EventDriven", e=0.5, e_m=0.8, K=0.1, t_end=30)
    assert run.events[-1].to == "lies"
    least = (0.5 + 1.5 * (0.2 / 1.8 + 0.1)) ** 2  # what is left of a low throw
    assert least < 1
    H = [hit.x_plus[1] ** 2 for hit in run.events[-6:-1]]
    assert [b / a for a, b in itertools.pairwise(H)] == pytest.approx([least] * 4, rel=1e-2)


# -- bouncing dimer -------------------------------------------------------------------------------


@for_each(("mu", "angle"), [(0.0, 0.2), (0.1, 0.2), (0.8, 0.2), (0.1, -0.5)])
def test_the_first_impact_of_a_dimer_is_that_of_coulomb_and_newton(mu, angle):
    run = ex.simulate(
        ex.models.bouncing_dimer(), "EventDriven", G=0, y0=5e-3, t_end=0.05, mu=mu, theta0=angle
    )
    m, R, L, e, V = 0.005, 0.002, 0.0116, 0.6, math.sqrt(2 * 9.81 * 5e-3)
    inertia, side = m * (L**2 / 4 + 0.4 * R**2), -np.sign(angle)
    x, y = side * L / 2 * math.cos(angle), side * L / 2 * math.sin(angle) - R
    A = np.array([[1 / m + x * x / inertia, -x * y / inertia],
                  [-x * y / inertia, 1 / m + y * y / inertia]])  # fmt: skip
    p = np.linalg.solve(A, [(1 + e) * V, 0])
    if abs(p[1]) > mu * p[0]:
        way = np.sign(p[1])
        normal = (1 + e) * V / (A[0, 0] + way * mu * A[0, 1])
        p = np.array([normal, way * mu * normal])
    after = [p[1] / m, p[0] / m - V, (x * p[0] - y * p[1]) / inertia]
    assert run.events[0].v_plus == pytest.approx(after, rel=1e-6, abs=1e-9)
    kinetic = run.kinetic
    for hit in run.events:
        assert kinetic[hit.row] <= kinetic[hit.row - 1] * (1 + 1e-9)


# -- dominoes -------------------------------------------------------------------------------------


class Row:
    """Dominoes that lean on each other: one body, by the tilt of the front."""

    def __init__(self, count, m=0.01, g=9.81, h=0.048, d=0.0075, s=0.02):
        self.count, self.m, self.g, self.h, self.d, self.s = count, m, g, h, d, s
        self.inertia = m * (h**2 + d**2) / 3

    def tilts(self, front):
        found = [front]
        for _ in range(self.count - 1):
            b = found[-1]
            found.append(b + math.asin(((self.s + self.d) * math.cos(b) - self.d) / self.h))
        return np.array(found)

    def share(self, front, small=1e-6):
        """Return the inertia of all by the speed of the front; slopes by differences."""
        slopes = (self.tilts(front + small) - self.tilts(front - small)) / (2 * small)
        return self.inertia * np.sum(slopes**2)

    def potential(self, front):
        a = self.tilts(front)
        return self.m * self.g / 2 * np.sum(self.h * np.cos(a) + self.d * np.sin(a))


@for_each("s", [0.02, 0.012])
def test_dominoes_fall_as_rows_that_lean(s):
    run = ex.simulate(ex.models.dominoes(), ex.EventDriven(rtol=1e-9), s=s)
    t, w, met = 0.0, 6.0, math.asin(s / 0.048)
    for count in range(1, 8):
        row = Row(count, s=s)
        energy = row.share(0.0) * w**2 / 2 + row.potential(0.0)

        def speed(front, row=row, energy=energy):
            return math.sqrt(2 * (energy - row.potential(front)) / row.share(front))

        t += quad(lambda front: 1 / speed(front), 0, met)[0]
        w = speed(met) * row.share(met) / (row.share(met) + row.inertia)
        hit = next(e for e in run.events if e.contact == f"{count}-{count + 1}")
        assert hit.t == pytest.approx(t, abs=1e-6), count
        assert hit.v_plus[count] == pytest.approx(w, rel=1e-5), count


def test_a_domino_that_is_hardly_pushed_comes_back():
    """Its energy does not take its centre over the edge; foot and space stay closed and open."""
    run = ex.simulate(ex.models.dominoes(), "EventDriven", w0=2)
    assert not [e for e in run.events if "-" in e.contact]
    assert run.q[-1] == pytest.approx(np.zeros(8), abs=1e-8)


# -- granular chain -------------------------------------------------------------------------------


def wave_constant():
    """Return C of the fixed point r = tent * r^(3/2), by Petviashvili's iteration."""
    count, length = 2048, 32.0
    s = (np.arange(count) - count // 2) * length / count
    xi = np.fft.fftfreq(count, length / count)
    r = np.exp(-(s**2) / 2)
    for _ in range(200):
        bent = np.fft.ifft(np.sinc(xi) ** 2 * np.fft.fft(np.abs(r) ** 1.5)).real
        r = (r @ r / (r @ bent)) ** 3 * bent
    assert np.abs(r - bent).max() < 1e-12
    v = np.fft.ifft(np.sinc(xi) * np.fft.fft(np.abs(r) ** 1.5)).real
    return v.max() ** -0.2


def test_the_pulse_of_beads_has_the_speed_of_the_integral_equation():
    C = wave_constant()
    value, tolerance, _ = ex.models.granular_chain().published[
        "granular chain: speed of the pulse, C"
    ]
    assert pytest.approx(C, abs=1e-8) == value
    assert pytest.approx(C, rel=0.01) == (16 / 25) ** 0.2  # long waves
    assert tolerance < 0.1 * abs((16 / 25) ** 0.2 - C)


def test_beads_keep_momentum_and_energy():
    scheme = ex.EventDriven(method="dopri5", rtol=1e-9, atol=1e-12)
    run = ex.simulate(ex.models.granular_chain(), scheme)
    assert run.v.sum(axis=1) == pytest.approx(np.ones(len(run.t)), abs=1e-8)
    assert np.ptp(run.energy) < 1e-7 * run.energy[0]
    gone = ex.simulate(ex.models.granular_chain(), t_end=0.05)
    assert gone.v[-1, -1] > 0.95  # the last one flies off with nearly all


# -- brake squeal ---------------------------------------------------------------------------------


def growth(mu, k1, k2, k3, d, m=1.0):
    """Return the largest real part of the steady slide, by eigenvalues."""
    ways = [np.array([math.cos(a), math.sin(a)]) for a in np.radians([150, 30])]
    K = sum(k * np.outer(u, u) for k, u in zip((k1, k2), ways, strict=True))
    K = K + np.array([[0, mu * k3], [0, k3]])
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [-K / m, -d / m * np.eye(2)]])
    return np.linalg.eigvals(A).real.max()


@for_each(("k1", "k2", "k3", "d"), [(2.488, 0.1786, 4 / 3, 0.1), (2.0, 0.5, 1.0, 0.1),
                                    (2.0, 0.1, 1.5, 0.2)])  # fmt: skip
def test_the_critical_friction_of_squeal(k1, k2, k3, d):
    """The closed form is where eigenvalues cross; below it a run dies out, above it grows."""
    K_xx, K_xy, K_yy = 0.75 * (k1 + k2), math.sqrt(3) / 4 * (k2 - k1), 0.25 * (k1 + k2)
    D, A = (K_xx - K_yy - k3) / 2, (K_xx + K_yy + k3) / 2
    limit = (K_xy**2 + D**2 + d**2 * A) / (k3 * abs(K_xy))
    assert brentq(growth, 0.1, 3, (k1, k2, k3, d), xtol=1e-12) == pytest.approx(limit, abs=1e-7)
    for mu, grows in ((0.95 * limit, False), (1.05 * limit, True)):
        rest = np.linalg.solve([[K_xx, K_xy + mu * k3], [K_xy, K_yy + k3]], [mu, 0])
        run = ex.simulate(
            ex.models.brake_squeal(), ex.EventDriven(rtol=1e-10, atol=1e-14), mu=mu, k1=k1, k2=k2, k3=k3, d=d, t_end=150,
            x0=[rest[0] + 1e-6, 0, rest[1], 0],
        )  # fmt: skip
        off = np.abs(run.x[:, 0] - rest[0])
        late = off[run.t > 130].max() / off[run.t < 20].max()
        assert (late > 1) == grows


def test_squeal_ends_where_the_pad_sticks_or_lifts_off():
    run = ex.simulate(ex.models.brake_squeal(), "EventDriven", t_end=200)
    told = [(e.kind, e.contact) for e in run.events]
    assert ("slides", "slip") in told
    assert run.x[:, 1].max() <= run.rho["v0"] + 1e-6
    quiet = ex.simulate(ex.models.brake_squeal(), "EventDriven", mu=0.5, t_end=300)
    assert np.ptp(quiet.x[quiet.t > 290], axis=0).max() < 1e-5
