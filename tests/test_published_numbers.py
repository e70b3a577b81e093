"""Every number of the gallery is measured by a call, and agrees with what was published.

The numbers of `explorer.models` are published values, closed forms or invariants; the book prints
the measured ones beside them. Here they are compared, and the ones that stand for more than one
call are measured by that call itself.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import eigh
from scipy.optimize import brentq, fsolve
from scipy.special import ellipk
from test_first_order import buck_period

import explorer as ex
from explorer.book.measured import numbers
from explorer.models import models

NUMBERED = [n for n, b in models.items() if b.measures and b.__module__.startswith("explorer.")]


@pytest.mark.broad
@pytest.mark.parametrize("name", NUMBERED)
def test_each_number_is_measured_and_agrees(name):
    found = numbers(name)
    assert len(found) == len(models[name].measures)
    for number in found:
        assert number.agrees, f"{number.what}: {number.published}, but {number.measured}"
        assert number.why == ""


# -- numbers that one call gives ------------------------------------------------------------------


def test_the_buck_converter_doubles_twice_and_has_sixteen_periods():
    """24.516 V and 31.121 V on branches of cycles, period 16 at 32.25 V in an orbit diagram."""
    buck = ex.models.buck_modes()
    cycles = ex.study.continuation(buck, parameter="V_in", section="tick", over=(20, 33))
    (first,) = cycles.found("flip")
    assert first.parameter == pytest.approx(24.516, rel=2e-3)
    assert first.parameter == pytest.approx(24.5166, abs=2e-4)
    (second,) = cycles.switch().found("flip")
    assert second.parameter == pytest.approx(31.121, rel=2e-3)
    found = ex.study.orbit_diagram(
        buck, over={"V_in": [20, 28, 32, 32.25]}, section=ex.study.Section(event="tick"),
        transient="1500 * T", t_end="1564.5 * T", points=64, continuation="none", progress=False,
    )  # fmt: skip
    at, i = found.dots("i")
    periods = [len(np.unique(i[at == V_in].round(6))) for V_in in (20, 28, 32, 32.25)]
    assert periods == [1, 2, 4, 16]


@pytest.mark.parametrize("V_in", [20.0, 28.0, 33.0])
def test_the_modes_of_the_buck_converter_are_the_circuit(V_in):
    """Tick by tick against the exact march from switch to switch, also in chaos."""
    run = ex.simulate(ex.models.buck_modes(), "EventDriven", t_end=4.1e-3, V_in=V_in)
    ticks = [e.x_plus for e in run.events if e.contact == "tick"]
    assert len(ticks) == 10
    x = np.array([12, 0.6])
    for tick in ticks:
        x = buck_period(x, V_in)
        assert tick == pytest.approx([*x, 0], abs=1e-6)


def test_chuas_exponent_lies_within_its_error_bar():
    """0.328 within 3 %; by RK4 with its tangent, 3 x 20 000 units of time give 0.3250 +- 0.0016.

    The motion is chaotic, and a processor that rounds otherwise gives another sample: so many units
    of time that the fixed bound is three standard errors wide.
    """
    found = ex.study.lyapunov(ex.models.chua(), period=5, intervals=6400)
    assert found.largest == pytest.approx(0.328, rel=0.03)
    assert abs(found.largest - 0.325) < 3 * np.hypot(found.errors[0], 0.0016)
    assert found.errors[0] < 0.0125 * 0.328
    assert found.exponents[1] == pytest.approx(0, abs=2 * found.errors[1] + 1e-3)
    # the divergence is -(alpha (1 + slope) + 1): +2/7 and -25/7 by region
    assert -25 / 7 < found.exponents.sum() < 2 / 7


def test_the_square_root_map_has_its_three_regimes():
    """One orbit diagram each (Chin et al. 1994): chaos at once, windows in chaos, periods alone."""
    mu = np.geomspace(2e-4, 2e-2, 60)
    grazing = ex.models.square_root_map()

    def periods(lam: float) -> np.ndarray:
        """Return the period at each mu; 0 for none up to 30."""
        found = ex.study.orbit_diagram(
            grazing, over={"mu": mu}, transient=20_000, points=120, continuation="none",
            progress=False, lam=lam,
        )  # fmt: skip
        at, x = found.dots("x")
        out = []
        for value in mu:
            orbit = x[at == value]
            same = (m for m in range(1, 31) if np.abs(orbit[m:] - orbit[:-m]).max() < 1e-7)
            out.append(next(same, 0))
        return np.array(out)

    chaos, windows, alone = periods(0.8), periods(0.5), periods(0.15)
    assert (chaos == 0).all()
    assert 0.2 < (windows == 0).mean() < 0.95
    assert len(set(windows[windows > 0])) >= 3
    assert (alone > 0).all()
    # towards mu = 0 the periods rise one by one, m -> m + 1 at mu ~ lam^(2 m)
    main = [m for k, m in enumerate(alone[::-1]) if k == 0 or m != alone[::-1][k - 1]]
    rising = [m for m in main if m == max(main[: main.index(m) + 1])]
    assert {2, 3}.issubset(rising)


def test_grazing_goes_with_the_square_root():
    """Runs behind the touch, without any derivative: the exponent is 1/2 within its error."""
    oscillator = ex.models.impact_oscillator()
    cycles = ex.study.continuation(
        oscillator, parameter="s", period="2*pi/omega", direction="down", over=(2.5, 3),
        omega=0.8, s=2.8, c=0.1, e=0.8, guess=[2.6, 0.4],
    )  # fmt: skip
    found = ex.study.grazing(cycles)
    assert found.exponent == 0.5
    assert found.fitted == pytest.approx(0.5, rel=0.03)
    assert abs(found.fitted - 0.5) < 2 * found.fitted_error
    assert found.parameter == pytest.approx(1 / math.hypot(0.36, 0.08), abs=1e-9)
    assert found.parameter == pytest.approx(2.71163, abs=1e-5)


# -- closed forms, derived on their own -----------------------------------------------------------


def published(name: str) -> list[float]:
    return [value for value, _, _ in models[name]().published.values()]


def test_closed_forms_of_the_mechanisms():
    """Energy and virtual work by one coordinate; two uniform bars; elliptic integrals."""
    g = 9.81
    M = [[1 / 3 + 1, 0.4], [0.4, 0.64 / 3]]
    squares, _ = eigh(np.diag([1.5 * g, 0.4 * g]), M)
    assert published("double_pendulum_stop") == pytest.approx([math.sqrt(squares[0])], abs=1e-7)
    assert published("duffing") == pytest.approx([4 * ellipk(0.4) / math.sqrt(5)], abs=1e-8)
    period = 4 * math.sqrt(2.5 * 0.6 / (2.75 * g)) * ellipk(math.sin(0.6) ** 2)
    assert published("parallelogram") == pytest.approx([period], abs=1e-8)
    w0 = math.sqrt(1.5 * g)
    answer = 13.5 / (w0**2 - 9) * (math.sin(6) - 3 / w0 * math.sin(2 * w0))
    assert published("pendulum_moving_pivot") == pytest.approx([answer], abs=1e-5)
    quarter = math.sqrt(1 / g) * ellipk(math.sin(0.75) ** 2)
    assert published("pendulum_wall") == pytest.approx([quarter], abs=1e-9)
    assert published("slider_crank_rigid") == pytest.approx([slider_speed()], abs=1e-8)
    assert published("four_bar_stop") == pytest.approx([stop_force()], abs=1e-6)


def slider_speed() -> float:
    """Return the speed of the slider at the stop, by the energy over the angle of the crank."""
    g, r, rod, m1, m2, m3 = 9.81, 0.15, 0.35, 0.3, 0.5, 1.0

    def inertia(a: float) -> tuple[float, float, float, float]:
        x, y = r * math.cos(a), r * math.sin(a)
        along = math.sqrt(rod**2 - y**2)
        slide = -y - x * y / along
        bars = m1 * r**2 / 3 + m2 / 3 * (r**2 - y * slide + slide**2)
        return x + along, slide, bars + m3 * slide**2, g * (m1 + m2) * y / 2

    _, _, J, V = inertia(1.6)
    a = brentq(lambda a: inertia(a)[0] - 0.47, 0.1, 1.6, xtol=1e-15)
    _, slide, at, height = inertia(a)
    return math.sqrt(2 * (J * 18 + V - height) / at) * abs(slide)


def stop_force() -> float:
    """Return the force that holds the rocker at x = 0.85 m against torque and weights."""

    def joints(a: float) -> tuple[np.ndarray, np.ndarray]:
        one = 0.3 * np.array([math.cos(a), math.sin(a)])
        lengths = lambda p: [np.hypot(*(p - one)) - 0.8, np.hypot(p[0] - 0.8, p[1]) - 0.6]  # noqa: E731
        return one, fsolve(lengths, [0.85, 0.6], xtol=1e-14)

    def weight(a: float) -> float:
        one, two = joints(a)
        return 9.81 * (0.5 * one[1] + one[1] + two[1] + 0.75 * two[1])

    a, d = brentq(lambda a: joints(a)[1][0] - 0.85, 1.0, 1.3, xtol=1e-15), 1e-6
    slope = [(f(a + d) - f(a - d)) / (2 * d) for f in (weight, lambda a: joints(a)[1][0])]
    return (-8 - slope[0]) / slope[1]


def test_the_five_bar_hits_the_ground_by_two_coordinates():
    """Layout A by Lagrange's equations in the place of its lowest joint; no constraint is left."""
    pins = np.array([[-0.5, 0], [0.5, 0]])
    bars = ((None, 0, 1.0), (0, 1, 1.5), (1, 2, 1.5), (2, None, 1.0))

    def joints(u):
        """Return the joints 1, 2, 3: where circles about a pin and the lowest joint meet."""
        found = [None, u, None]
        for k, (pin, side) in enumerate(zip(pins, (-1, 1), strict=True)):
            d = u - pin
            far = np.hypot(*d)
            along = (2 - 3.25 + far**2) / (2 * far)
            across = np.sqrt(2 - along**2) * np.array([-d[1], d[0]]) / far
            found[2 * k] = pin + along * d / far + side * across
        return np.concatenate(found)

    def slopes(f, u, d=1e-5):
        return np.stack([(f(u + h) - f(u - h)) / (2 * d) for h in d * np.eye(2)], axis=-1)

    full = np.zeros((6, 6))
    for a, b, m in bars:
        for i in (a, b):
            for j in (a, b):
                if i is not None and j is not None:
                    full[2 * i : 2 * i + 2, 2 * j : 2 * j + 2] += (
                        m / (3 if i == j else 6) * np.eye(2)
                    )

    def mass(u):
        J = slopes(joints, u)
        return J.T @ full @ J

    def potential(u):
        r = joints(u)
        springs = (np.hypot(*(r[4:] - pins[0])) - 5**0.5, np.hypot(*(u - pins[0])) - 4.25**0.5)
        return 9.81 * (1.25 * r[1] + 1.5 * u[1] + 1.25 * r[5]) + 50 * np.square(springs).sum()

    def rates(_, z):
        u, v = z[:2], z[2:]
        dM = slopes(mass, u)
        force = 0.5 * np.einsum("i,ijk,j->k", v, dM, v) - np.einsum("ijk,k,j->i", dM, v, v)
        return np.append(v, np.linalg.solve(mass(u), force - slopes(potential, u)))

    def ground(_, z):
        return z[1] + 2.35

    ground.terminal = True
    run = solve_ivp(rates, (0, 2), [0.53029, -2.10283, 0, 0], events=ground, rtol=1e-9, atol=1e-10)
    assert published("five_bar_a") == pytest.approx(run.t_events[0], abs=2e-6)
