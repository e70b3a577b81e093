"""Corner, Sandu, Sandu (Nonlinear Analysis: Hybrid Systems 31 (2019) 19): forms as printed fail.

Each printed equation that is wrong, or too special, beside the corrected one that the project uses
(docs/references.md, corner-2019);
and derivatives of guards and resets by everything that they may depend on.
"""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

import explorer as ex
from explorer import Contact, HybridSystem, MechanicalSystem

TIGHT = ex.EventDriven(rtol=1e-12, atol=1e-13)


def dropped() -> HybridSystem:
    """A ball on a floor that rises with time and gives way to speed: r = y - a t - b v + c."""
    return HybridSystem(
        "ball", x="y v", params={"a": 0.3, "b": 0.05, "c": 0.2, "g": 9.81, "e": 0.7},
        modes={"flight": ["v", "-g"]},
        guards=[{"mode": "flight", "r": "y - a*t - b*v + c", "reset": {"v": "-e*v"},
                 "name": "floor"}],
        start={"x": [1, 0], "t_end": 0.7},
    )  # fmt: skip


def hit(a, b, c, g):
    """First zero of 1 - g t^2 / 2 - a t + b g t + c."""
    p = a - b * g
    return (-p + mp.sqrt(p**2 + 2 * g * (1 + c))) / g


def test_event_time_of_a_general_guard():
    """Correction 3 of corner-2019. Eq. (33), -(r_q Q) / (r_q v), is for r(q): the general form has r_t, r_v v' and r_rho too."""
    sens = ex.sensitivity(dropped(), TIGHT, ("a", "b", "c", "g"))
    point = [mp.mpf(x) for x in ("0.3", "0.05", "0.2", "9.81")]
    wanted = [
        float(mp.diff(hit, tuple(point), tuple(int(j == k) for j in range(4)))) for k in range(4)
    ]
    np.testing.assert_allclose(sens.events[0].dt_drho, wanted, rtol=1e-9)
    jump = sens.solution.march.jump(0)
    r_q, v = jump.r_x[0], jump.y[1]
    printed = -r_q * jump.s_minus[0] / (r_q * v)
    assert (np.abs(printed - wanted) > 0.03 * np.abs(wanted)).all()
    assert np.abs(printed[:3]).max() == 0  # it does not see what only the guard depends on


def test_grazing_is_a_slope_of_zero():
    """Correction 3 of corner-2019. Remark 8 has dr/dq = 0 for grazing; a ball that just reaches a ceiling has dr/dq = -1."""
    ball = MechanicalSystem("ball", "y", params={"top": 1.0}, force=["-9.81"],
                            contacts=[Contact("top - y", name="ceiling")],
                            start={"v": [np.sqrt(2 * 9.81 * (1 + 1e-6))], "t_end": 0.5})  # fmt: skip
    event = ex.sensitivity(ball, TIGHT).events[0]
    assert abs(event.slope) < 1e-2
    assert event.dt_drho[0] == pytest.approx(1 / np.sqrt(2 * 9.81 * 1e-6), rel=1e-6)


def replay(rho: complex, complex_time: bool) -> complex:
    """Height at t = 0.8 of a ball from rest at 1 m with g = rho, after an impact with e = 0.7."""
    t = np.sqrt(2 / rho)
    t = t if complex_time else t.real
    y, v = 1 - rho * t**2 / 2, -rho * t
    s = 0.8 - t
    return y - 0.7 * v * s - rho * s**2 / 2


def test_the_complex_step_needs_a_plus_and_a_complex_event_time():
    """Correction 2 of corner-2019. Eq. (23) has a minus, and its integrator stops at a real time: 100 % off and more."""
    g, eps = 9.81, 1e-30
    wanted = float(mp.diff(
        lambda g: mp.mpf("0.7") * g * mp.sqrt(2 / g) * (mp.mpf("0.8") - mp.sqrt(2 / g))
        - g * (mp.mpf("0.8") - mp.sqrt(2 / g)) ** 2 / 2, mp.mpf("9.81"),
    ))  # fmt: skip
    right = replay(g + 1j * eps, True).imag / eps
    real_time = replay(g + 1j * eps, False).imag / eps
    assert right == pytest.approx(wanted, rel=1e-12)
    assert abs(-right - wanted) > 1.9 * abs(wanted)
    assert abs(real_time - wanted) > abs(wanted)
    ball = MechanicalSystem("ball", "y", params={"g": 9.81}, force=["-g"],
                            contacts=[Contact("y", e=0.7)], start={"q": [1], "t_end": 0.8})  # fmt: skip
    sens = ex.sensitivity(ball, TIGHT, "g", {"w": "y"}, "complex_step")
    assert sens.cost_gradient == pytest.approx([wanted], rel=1e-10)


def test_a_product_of_guards_misses_two_crossings_in_one_step():
    """Correction 4 of corner-2019. Eq. (28) looks for a change of sign of r_1 r_2: two in one step leave none."""
    system = HybridSystem(
        "two", x="x n", modes={"on": ["1", "0"]},
        guards=[{"mode": "on", "r": f"x - {c}", "direction": 1, "reset": {"n": f"n + {k}"}}
                for k, c in ((1, 0.7), (10, 0.701))],
        start={"x": [0, 0], "t_end": 1.0},
    )  # fmt: skip
    run = ex.simulate(system, TIGHT)
    assert run.x[-1, 1] == 11
    x = np.linspace(0, 1, 11)  # the steps of an integrator with h = 0.1
    product = (x - 0.7001) * (x - 0.701)
    assert (product[1:] * product[:-1] > 0).all()
    assert len(run.events) == 2


@pytest.mark.parametrize("method", ["direct", "adjoint", "complex_step"])
def test_a_final_time_that_is_an_event_moves(method):
    """Correction 13 of corner-2019. Eq. (20) is for a fixed final time; at an event (g + w_t + w_x x') dT/drho is added."""
    cost = {"g": "y**2", "w": "t*v + y"}
    sens = ex.sensitivity(dropped(), TIGHT, ("a", "b", "c", "g"), cost, method, until="floor")

    def psi(a, b, c, g):
        t = hit(a, b, c, g)
        area = t - g * t**3 / 3 + g**2 * t**5 / 20
        return area - g * t**2 + 1 - g * t**2 / 2

    point = tuple(mp.mpf(x) for x in ("0.3", "0.05", "0.2", "9.81"))
    wanted = [float(mp.diff(psi, point, tuple(int(j == k) for j in range(4)))) for k in range(4)]
    np.testing.assert_allclose(sens.cost_gradient, wanted, rtol=1e-9)
    jump = sens.solution.march.jump(0)
    printed = jump.s_minus[2] + jump.t * jump.s_minus[1] + jump.s_minus[0]
    assert (np.abs(printed - wanted) > 0.1 * np.abs(wanted)).all()


@pytest.mark.parametrize("method", ["direct", "adjoint", "complex_step"])
def test_a_breakaway_depends_on_state_parameters_and_time(method):
    """Two blocks stick until f t = m g mu_s; mu_s = m0 + k x + s t has every derivative."""
    system = MechanicalSystem(
        "blocks", q="x y u w", mass=np.diag([2.0, 2.0, 3.0, 3.0]).tolist(),
        params={"f": 4.0, "m0": 0.4, "k": 0.2, "s": 0.05, "m1": 0.9, "k1": 0.1},
        force=["f*t", "-2*9.81", "-f*t/2", "-3*9.81"],
        contacts=[
            Contact("y", mu=0.1, mu_s="m0 + k*x + s*t", slip="v_x", name="first"),
            Contact("w", mu=0.1, mu_s="m1 + k1*u**2 - s*t", slip="v_u", name="second"),
        ],
        start={"q": [0.5, 0, -0.7, 0], "t_end": 12.0},
    )  # fmt: skip
    wrt = ("f", "m0", "k", "s", "m1", "k1", "x", "u")
    sens = ex.sensitivity(system, TIGHT, wrt, {"w": "x + u"}, method)
    slips = [e for e in sens.events if e.kind == "slips"]
    assert [e.contact for e in slips] == ["first", "second"]

    def first(f, m0, k, s, m1, k1, x, u):
        return 2 * 9.81 * (m0 + k * x) / (f - 2 * 9.81 * s)

    def second(f, m0, k, s, m1, k1, x, u):
        return 3 * 9.81 * (m1 + k1 * u * u) / (f / 2 + 3 * 9.81 * s)

    point = tuple(mp.mpf(x) for x in ("4", ".4", ".2", ".05", ".9", ".1", ".5", "-.7"))
    for event, time in zip(slips, (first, second), strict=True):
        assert event.t == pytest.approx(float(time(*point)), rel=1e-9)
        wanted = [
            float(mp.diff(time, point, tuple(int(j == k) for j in range(8)))) for k in range(8)
        ]
        np.testing.assert_allclose(event.dt_drho, wanted, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("method", ["direct", "adjoint", "complex_step"])
def test_a_reset_depends_on_every_parameter(method):
    """x+ = a x + b c, v+ = -d v + c t + p: each row by each of five parameters."""
    system = HybridSystem(
        "resets", x="x v", params={"a": 0.5, "b": 0.3, "c": 1.7, "d": 0.6, "p": -0.4},
        modes={"on": ["v", "-9.81"]},
        guards=[{"mode": "on", "r": "x - 0.5", "reset": {"x": "a*x + b*c**2 + 0.6",
                                                         "v": "-d*v + c*t + p**3"}}],
        start={"x": [1, 0], "t_end": 0.6},
    )  # fmt: skip

    def end(a, b, c, d, p):
        t = mp.sqrt(1 / mp.mpf("9.81"))
        x, v = a / 2 + b * c**2 + mp.mpf("0.6"), d * mp.mpf("9.81") * t + c * t + p**3
        s = mp.mpf("0.6") - t
        return x + v * s - mp.mpf("9.81") * s**2 / 2

    sens = ex.sensitivity(system, TIGHT, None, {"w": "x"}, method)
    assert len(sens.events) == 1
    point = tuple(mp.mpf(x) for x in (".5", ".3", "1.7", ".6", "-.4"))
    wanted = [float(mp.diff(end, point, tuple(int(j == k) for j in range(5)))) for k in range(5)]
    np.testing.assert_allclose(sens.cost_gradient, wanted, rtol=1e-10)
