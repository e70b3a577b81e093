"""Events that meet, cause each other, graze or accumulate: derivatives in closed form, or none."""

from __future__ import annotations

import dataclasses

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import explorer as ex
from explorer import Contact, HybridSystem, MechanicalSystem
from explorer.derivatives.saltation import final, saltation
from explorer.models import models

TIGHT = ex.EventDriven(rtol=1e-11, atol=1e-12)
METHODS = ("direct", "adjoint", "complex_step", "finite_difference")


def balls(n: int) -> MechanicalSystem:
    """Balls side by side, dropped together from heights that are parameters of their own."""
    return MechanicalSystem(
        f"{n} balls", q=[f"y{k}" for k in range(n)],
        params={f"h{k}": 1.0 for k in range(n)} | {f"e{k}": 0.8 for k in range(n)},
        force=["-9.81"] * n,
        contacts=[Contact(f"y{k}", e=f"e{k}", name=f"floor {k}") for k in range(n)],
        start={"q": [f"h{k}" for k in range(n)], "t_end": 0.9},
    )  # fmt: skip


def fallen(h, e, t):
    """(y, v) of a ball at t, between its first and its second impact, with derivatives by h."""
    g = 9.81
    hit = np.sqrt(2 * h / g)
    s, late, u = t - hit, 1 / (g * hit), e * g * hit
    return (
        u * s - g * s**2 / 2,
        u - g * s,
        e * g * late * s + (g * s - u) * late,
        (e + 1) * g * late,
    )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [2, 3])
def test_uncoupled_contacts_that_meet_have_a_time_each(n, method):
    """The last ball depends on its own height only, though all of them land at once."""
    wrt = [f"h{k}" for k in range(n)]
    sens = ex.sensitivity(balls(n), TIGHT, wrt, {"w": f"v_y{n - 1}**2 + y0"}, method)
    _, v, y_h, v_h = fallen(1.0, 0.8, 0.9)
    wanted = np.zeros(n)
    wanted[0], wanted[-1] = y_h, 2 * v * v_h
    np.testing.assert_allclose(sens.cost_gradient, wanted, rtol=1e-5, atol=1e-7)
    assert [e.contact for e in sens.events] == [f"floor {k}" for k in range(n)]
    times = np.array([e.dt_drho for e in sens.events])
    np.testing.assert_allclose(times, np.eye(n) / np.sqrt(2 * 9.81), rtol=1e-9, atol=1e-12)
    assert not sens.directional


def test_a_ball_in_a_corner_meets_both_walls_on_its_own():
    """One mass, two contacts, M^-1 couples nothing: x and y are two problems."""
    corner = MechanicalSystem(
        "corner", q="x y", params={"a": 1.0, "b": 1.0},
        contacts=[Contact("x", e=0.5, name="wall"), Contact("y", e=0.7, name="floor")],
        start={"q": ["a", "b"], "v": [-1, -1], "t_end": 2},
    )  # fmt: skip
    for method in METHODS:
        sens = ex.sensitivity(corner, TIGHT, None, {"w": "x + 3*y"}, method)
        np.testing.assert_allclose(sens.cost_gradient, [-0.5, -2.1], rtol=1e-8)


def bar() -> MechanicalSystem:
    """A bar that lands on both ends at once; each impulse turns it."""
    return MechanicalSystem(
        "bar", q="y a", params={"h": 1.0, "tilt": 0.0, "c": 0.3}, mass=[[1, 0], [0, "c"]],
        force=["-9.81", 0], start={"q": ["h", "tilt"], "t_end": 0.6},
        contacts=[Contact("y + a", e=0.5, name="right"), Contact("y - a", e=0.5, name="left")],
    )  # fmt: skip


@pytest.mark.parametrize("method", ["direct", "adjoint", "complex_step"])
def test_an_order_that_decides_is_refused(method):
    with pytest.raises(ex.BadValue, match=r"'tilt' decides which comes first.*directional='both'"):
        ex.sensitivity(bar(), TIGHT, ("h", "tilt"), {"w": "y"}, method)
    with pytest.raises(ex.BadValue, match="different event sequences"):
        ex.sensitivity(bar(), TIGHT, ("h", "tilt"), {"w": "y"}, "finite_difference")
    with pytest.raises(ex.BadValue, match="'refuse' or 'both', not 'left'"):
        ex.sensitivity(bar(), TIGHT, "h", directional="left")


def test_a_parameter_that_keeps_them_together_has_a_derivative():
    sens = ex.sensitivity(bar(), TIGHT, ("h", "c"), {"w": "y"})
    assert sens.events[0].together == 2
    assert not sens.events[0].directional
    _, _, slope, _ = fallen(1.0, 0.5, 0.6)
    np.testing.assert_allclose(sens.cost_gradient, [slope, 0], rtol=1e-9, atol=1e-12)


def test_both_sides_of_an_order_that_decides():
    """Each side is the derivative of the runs beside it; the cost itself jumps."""
    system, cost = bar(), {"w": "y + a"}
    sens = ex.sensitivity(system, TIGHT, ("h", "tilt"), cost, directional="both")
    assert sens.directional
    assert sens.events[0].directional
    assert "'tilt' decides" in sens.cautions[0]
    assert np.isnan(sens.cost_gradient[1])
    assert np.isnan(sens.S[-1, :, 1]).all()
    assert np.isfinite(sens.S[:, :, 0]).all()
    for side, sign in ((sens.left, -1), (sens.right, 1)):
        ends = [
            ex.simulate(system, TIGHT, tilt=sign * tilt).q[-1].sum() for tilt in (1e-4, 2e-4, 3e-4)
        ]
        slope = sign * np.dot([-5, 8, -3], ends) / 2e-4  # second order, one-sided
        value = np.dot([3, -3, 1], ends)
        assert side.cost_gradient[1] == pytest.approx(slope, rel=1e-4)
        assert side.cost_jump[1] == pytest.approx(value - sens.cost, rel=1e-6)
        assert side.cost_gradient[0] == sens.cost_gradient[0]
        assert sens.along([0, sign]) == pytest.approx(sign * side.cost_gradient[1], rel=1e-8)
    assert sens.left.cost_gradient[1] * sens.right.cost_gradient[1] < 0
    with pytest.raises(ex.BadValue, match="2 numbers"):
        sens.along([0, 0])


def two_resets() -> HybridSystem:
    """Two resets at one time, of which the second takes what the first has left."""
    return HybridSystem(
        "resets", x="x y", params={"a": 1.0, "b": 1.0}, modes={"on": ["1", "1"]},
        guards=[
            {"mode": "on", "r": "t - a", "direction": 1, "reset": {"x": "2*y"}, "name": "A"},
            {"mode": "on", "r": "t - b", "direction": 1, "reset": {"y": "y + x**2"}, "name": "B"},
        ],
        start={"x": [0, 0], "t_end": 2.0},
    )  # fmt: skip


def test_guards_of_a_hybrid_system_that_meet():
    """A first: x = 2 y, then y += x^2; B first the other way round. Closed form on each side."""
    cost = {"w": "x + 10*y"}
    with pytest.raises(ex.BadValue, match="'B' coincides with 'A', and 'a', 'b' decides"):
        ex.sensitivity(two_resets(), TIGHT, None, cost)
    sens = ex.sensitivity(two_resets(), TIGHT, None, cost, directional="both")

    def end(a, b):
        x = y = mp.mpf(0)
        t = mp.mpf(0)
        for time, name in sorted([(a, "A"), (b, "B")]):
            x, y, t = x + time - t, y + time - t, time
            x, y = (2 * y, y) if name == "A" else (x, y + x * x)
        return x + 2 - t + 10 * (y + 2 - t)

    with mp.workdps(30):
        d = mp.mpf(10) ** -10
        for k, side, sign in ((0, sens.left, -1), (0, sens.right, 1), (1, sens.left, -1)):
            near, far = ([1 + m * sign * d * (k == i) for i in range(2)] for m in (1, 2))
            slope = sign * (end(*far) - end(*near)) / d
            assert side.cost_gradient[k] == pytest.approx(float(slope), rel=1e-7)


def test_resets_that_commute_have_one_derivative():
    system = HybridSystem(
        "two", x="x y", params={"a": 1.0, "b": 1.0}, modes={"on": ["1", "1"]},
        guards=[
            {"mode": "on", "r": "x - a", "direction": 1, "reset": {"x": "0"}, "name": "A"},
            {"mode": "on", "r": "y - b", "direction": 1, "reset": {"y": "-y"}, "name": "B"},
        ],
        start={"x": [0, 0], "t_end": 1.5},
    )  # fmt: skip
    for method in METHODS:
        sens = ex.sensitivity(system, TIGHT, None, {"w": "y - 3*x"}, method)
        np.testing.assert_allclose(sens.cost_gradient, [3, -2], rtol=1e-7)


def late_mode(first: float, second: float) -> HybridSystem:
    """Speed up to T1; then brake, but not beyond T2, which may have passed."""
    return HybridSystem(
        "late", x="x v", params={"T1": first, "T2": second, "T3": second - 0.25},
        modes={"a": ["v", "1"], "b": ["v", "-1"], "c": ["v", "t/8"], "d": ["v", "0"]},
        guards=[
            {"mode": "a", "r": "t - T1", "direction": 1, "to": "b"},
            {"mode": "b", "r": "t - T2", "direction": 1, "to": "c", "reset": {"v": "v/2 + T2"}},
            {"mode": "c", "r": "t - T3", "direction": 1, "to": "d", "reset": {"x": "x + t*T3"}},
        ],
        start={"x": [0, 0], "mode": "a", "t_end": 4.0},
    )  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=5, deadline=None, derandomize=True)
@given(first=st.floats(1.2, 3.5), second=st.floats(0.3, 1.1))
def test_a_chain_of_events_has_the_time_of_its_cause(method, first, second):
    """Modes b and c are left as soon as they are entered, at T1."""
    sens = ex.sensitivity(late_mode(first, second), TIGHT, None, {"w": "x"}, method, check=True)
    assert [e.chained for e in sens.events] == [False, True, True]
    assert all(e.dt_drho.tolist() == pytest.approx([1, 0, 0], abs=1e-12) for e in sens.events)
    T3 = second - 0.25
    assert sens.cost == pytest.approx(
        first**2 / 2 + first * T3 + (first / 2 + second) * (4 - first), rel=1e-10
    )
    wanted = [first + T3 + 2 - first - second, 4 - first, first]
    np.testing.assert_allclose(sens.cost_gradient, wanted, rtol=1e-6, atol=1e-7)
    if method == "adjoint":
        assert sens.residuals["duality"] < 1e-12
        assert all(sens.saltation(k).residual < 1e-13 for k in range(3))


@pytest.mark.parametrize("method", ["direct", "adjoint"])
def test_a_final_time_that_is_a_chained_event(method):
    sens = ex.sensitivity(late_mode(2.0, 1.0), TIGHT, None, {"w": "v + t"}, method, until="guard 3")
    np.testing.assert_allclose(sens.cost_gradient, [1.5, 1, 0], atol=1e-9)


def test_a_reset_that_lands_inside_a_guard_is_chained():
    """x falls to 0, is put to -b, and what is below -b/2 is put to 3 at the same time."""
    system = HybridSystem(
        "chain", x="x", params={"a": 1.0, "b": 1.0}, modes={"on": ["-1"]},
        guards=[{"mode": "on", "r": "x", "reset": {"x": "-b"}, "name": "first"},
                {"mode": "on", "r": "x + b/2", "reset": {"x": "3 + b"}, "name": "second"}],
        start={"x": ["a"], "t_end": 2.0},
    )  # fmt: skip
    for method in METHODS:
        sens = ex.sensitivity(system, TIGHT, None, {"w": "x"}, method)
        assert [e.contact for e in sens.events] == ["first", "second"]
        np.testing.assert_allclose(sens.cost_gradient, [1, 1], rtol=1e-8)


def one_guard(x0: float, **guard) -> HybridSystem:
    return HybridSystem(
        "one guard", x="x v", modes={"m": ["v", "-x"], "other": ["0", "0"]},
        guards=[{"mode": "m", "r": "x", "name": "zero"} | guard], start={"x": [x0, 1], "t_end": 7},
    )  # fmt: skip


@pytest.mark.parametrize(("direction", "x0"), [(1, 2.0), (-1, -2.0)])
@pytest.mark.parametrize("change", [{"to": "other"}, {"reset": {"v": "3*v"}}])
def test_a_guard_does_not_fire_for_being_started_beyond(direction, x0, change):
    """x = x0 cos t + sin t: it waits for the crossing in its own direction."""
    run = ex.simulate(one_guard(x0, direction=direction, **change), TIGHT, t_end=6.5)
    crossing = next(
        t for t in np.arctan2(-x0, 1) + np.pi * np.arange(4)
        if t > 0 and (np.cos(t) - x0 * np.sin(t)) * direction > 0
    )  # fmt: skip
    assert run.events[0].t == pytest.approx(crossing, rel=1e-9)
    assert run.status.ok


@pytest.mark.parametrize("direction", [1, -1])
def test_a_state_passes_through_a_guard_with_a_reset(direction):
    """Each passage halves the speed; the way back counts for the other direction only."""
    slow = {"reset": {"v": "v/2"}, "direction": direction}
    run = ex.simulate(one_guard(-1.0, **slow), TIGHT, t_end=12)
    assert run.status.ok
    first = np.pi / 4 + (0 if direction == 1 else np.pi)
    np.testing.assert_allclose(
        [e.t for e in run.events], np.arange(first, 12, 2 * np.pi), rtol=1e-9
    )
    for event in run.events:
        np.testing.assert_allclose(event.x_plus, [0, event.x_minus[1] / 2], atol=1e-12)


def test_a_guard_of_several_modes_is_passed_once():
    """The mode changes at every other crossing: what one crossing has done the other cannot."""
    modes = {"a": ["v", "-x"], "b": ["v", "-x"]}
    guards = [{"mode": m, "r": "x", "direction": 1, "to": n, "name": f"into {n}"}
              for m, n in ("ab", "ba")]  # fmt: skip
    system = HybridSystem("toggle", x="x v", modes=modes, guards=guards,
                          start={"x": [-1, 1], "mode": "a", "t_end": 20})  # fmt: skip
    run = ex.simulate(system, TIGHT)
    assert [e.to for e in run.events] == ["b", "a", "b", "a"]
    np.testing.assert_allclose(np.diff([e.t for e in run.events]), 2 * np.pi, rtol=1e-9)


def grazing(seed: int):
    """Return a run of an oscillator that reaches a moving wall by a depth of 1e-12 to 1e-4 m."""
    rng = np.random.default_rng(seed)
    depth, v0, w = 10 ** rng.uniform(-12, -4), rng.uniform(0.5, 3), rng.uniform(0.7, 6)
    speed = rng.uniform(-0.2, 0.2) * (seed % 2)
    with mp.workdps(40):
        v, k, u = mp.mpf(v0), mp.mpf(w), mp.mpf(speed)
        top = mp.acos(u / v) / k
        wall = float(v / k * mp.sin(k * top) - u * top - mp.mpf(depth))
        depth = v / k * mp.sin(k * top) - u * top - mp.mpf(wall)
        t = top - mp.sqrt(2 * depth / (v * k * mp.sin(k * top)))
        t = mp.findroot(lambda t: mp.mpf(wall) + u * t - v / k * mp.sin(k * t), t)
        D, s, c = u - v * mp.cos(k * t), mp.sin(k * t), mp.cos(k * t)
        slopes = [1 / D, -s / k / D, (v / k**2 * s - v / k * t * c) / D]
    rho = {"wall": wall, "v0": v0, "w": w, "u": speed}
    return rho, 1.3 * float(top), -np.array([float(x) for x in slopes])


OSCILLATOR = MechanicalSystem(
    "oscillator", q="x", params={"wall": 1.0, "v0": 1.0, "w": 1.0, "u": 0.0}, force="-w**2*x",
    contacts=[Contact("wall - x + u*t", e=0.7, name="wall")], start={"v": ["v0"], "t_end": 1.0},
)  # fmt: skip


@pytest.mark.parametrize(("method", "rtol"), [("dop853", 1e-6), ("dop853", 1e-9),
                                              ("dopri5", 1e-9), ("dop853", 1e-12)])  # fmt: skip
def test_grazing_has_the_right_derivative_or_none(method, rtol):
    """Hundreds of grazing impacts: dt/drho as it is in 40 digits, or NaN and a sentence."""
    scheme = ex.EventDriven(rtol=rtol, atol=0.1 * rtol, method=method)
    known = 0
    for seed in range(65):
        rho, t_end, wanted = grazing(seed)
        sens = ex.sensitivity(OSCILLATOR, scheme, ("wall", "v0", "w"), {"w": "x"}, rho=rho,
                              t_end=t_end)  # fmt: skip
        if sens.events and not np.isnan(sens.events[0].dt_drho[0]):
            known += 1
            np.testing.assert_allclose(sens.events[0].dt_drho, wanted, rtol=3e-3)
            assert np.isfinite(sens.cost_gradient).all()
        else:
            assert np.isnan(sens.cost_gradient).all(), (seed, rho)
            assert f"rtol = {rtol:g} does not resolve" in sens.cautions[0]
            crossed = "crosses zero" in sens.cautions[0]
            assert sens.doubts[0].allowed == pytest.approx(0.005 if crossed else 0.01)
    assert known > (60 if rtol == 1e-12 else 15)


def test_what_a_grazing_event_does_not_move_keeps_its_derivative():
    rho, t_end, _ = grazing(2)
    rho["wall"] = rho["v0"] / rho["w"] * (1 - 1e-12)
    loose = ex.EventDriven(rtol=1e-6, atol=1e-6)
    sens = ex.sensitivity(OSCILLATOR, loose, ("wall", "w"), {"w": "x"}, rho=rho, t_end=t_end)
    assert np.isnan(sens.cost_gradient).all()
    assert sens.doubts[0].kind == "grazing"
    before = sens.t < 0.9 * sens.doubts[0].t
    assert np.isfinite(sens.S[before]).all()
    assert np.isnan(sens.at(t_end)).all()
    beside = MechanicalSystem(
        "oscillator and a fall", q="x z", params={**dict.fromkeys(rho, 1.0), "k": 2.0},
        force=["-w**2*x", "-k"], contacts=OSCILLATOR.contacts,
        start={"v": ["v0", 0], "t_end": t_end},
    )  # fmt: skip
    sens = ex.sensitivity(beside, loose, ("wall", "k"), {"w": "x + z"}, rho=rho)
    assert sens.cost_gradient == pytest.approx([np.nan, -(t_end**2) / 2], nan_ok=True)
    np.testing.assert_allclose(sens.Q[:, 1, 1], -(sens.t**2) / 2, atol=1e-9)


def test_a_guard_that_only_watches_loses_no_more_than_its_time():
    """It grazes the top of sin t by 1e-13; the state does not care."""
    system = HybridSystem(
        "watched", x="x v", params={"w": 1.0}, modes={"on": ["v", "-w**2*x"]},
        guards=[{"mode": "on", "r": "1 - 2e-12 - x", "name": "top"}],
        start={"x": [0, 1], "t_end": 3.0},
    )  # fmt: skip
    sens = ex.sensitivity(system, ex.EventDriven(rtol=1e-6, atol=1e-7), "w", {"w": "x"})
    wanted = 3 * np.cos(3) - np.sin(3)
    assert sens.cost_gradient == pytest.approx([wanted], rel=1e-4)
    assert all(np.isnan(e.dt_drho).all() for e in sens.events)


def test_a_bounce_without_grazing_has_an_infinite_margin():
    sens = ex.sensitivity(models["bouncing_ball"](), TIGHT, t_end=2.0)
    assert all(e.margin == np.inf for e in sens.events)
    assert not sens.doubts
    assert sens.along([1.0] * len(sens.wrt)) == pytest.approx(sens.cost_gradient.sum())


@pytest.mark.parametrize("method", ["direct", "adjoint"])
@pytest.mark.parametrize("e", [0.3, 0.5, 0.8, 0.9])
def test_a_final_time_that_is_an_accumulation(method, e):
    """T = sqrt(2 h / g) (1 + e) / (1 - e): the limit of infinitely many impacts."""
    ball = models["bouncing_ball"]()
    run = ex.simulate(ball, ex.EventDriven(rtol=1e-12), t_end=12.0, e=e)
    until = ("floor", len(run.events))
    assert run.events[-1].kind == "zeno"
    sens = ex.sensitivity(ball, ex.EventDriven(rtol=1e-12), ("e", "g", "y0"), {"w": "t + y + v_y"},
                          method, until=until, t_end=12.0, e=e)  # fmt: skip
    first = np.sqrt(2 / 9.81)
    T = first * (1 + e) / (1 - e)
    wanted = [2 * first / (1 - e) ** 2, -T / (2 * 9.81), T / 2]
    assert sens.cost == pytest.approx(T, rel=1e-11)
    np.testing.assert_allclose(sens.cost_gradient, wanted, rtol=1e-9)
    with pytest.raises(ex.NotApplicable, match="infinitely many"):
        ex.sensitivity(ball, None, "e", {"w": "t"}, "complex_step", until=until, t_end=12.0, e=e)


def test_a_running_cost_up_to_an_accumulation():
    """The area under all bounces: each is 2 u^3 / (3 g^2), u = sqrt(2 g h) e^k, and half a first."""
    ball, e, g = models["bouncing_ball"](), 0.6, 9.81
    scheme = ex.EventDriven(rtol=1e-12, atol=1e-13)
    count = len(ex.simulate(ball, scheme, t_end=5.0, e=e).events)
    for method in ("direct", "adjoint"):
        sens = ex.sensitivity(ball, scheme, ("e", "y0"), "y", method, until=("floor", count),
                              t_end=5.0, e=e)  # fmt: skip

        def area(e, h):
            u3 = mp.sqrt(2 * g * h) ** 3
            return u3 / (3 * g**2) * (1 + 2 * e**3 / (1 - e**3))

        slopes = [mp.diff(lambda x: area(x, 1), e), mp.diff(lambda x: area(e, x), 1)]
        assert sens.cost == pytest.approx(float(area(e, 1)), rel=1e-9)
        np.testing.assert_allclose(sens.cost_gradient, [float(x) for x in slopes], rtol=1e-8)


def test_an_event_at_the_end_of_the_run_is_said():
    """y(t_end) has a kink where t_end is the impact."""
    ball, hit = models["bouncing_ball"](), float(np.sqrt(2 / 9.81))
    with pytest.raises(ex.BadValue, match="coincides with the end of the run"):
        ex.sensitivity(ball, TIGHT, "y0", {"w": "y"}, t_end=hit)
    sens = ex.sensitivity(ball, TIGHT, "y0", {"w": "y"}, t_end=hit, e=0.5, directional="both")
    assert sens.right.cost_gradient == pytest.approx([1.0], rel=1e-6)
    assert sens.left.cost_gradient == pytest.approx([-0.5], rel=1e-6)
    assert sens.left.cost_jump == pytest.approx([0.0], abs=1e-9)


@pytest.mark.parametrize("rtol", [1e-4, 1e-6])
def test_radau_leaves_a_wall_slowly(rtol):
    """Its polynomial has the slope of the flow where a step begins: nothing falls back at once."""
    scheme = ex.EventDriven(method="radau", rtol=rtol, atol=0.1 * rtol)
    for seed in (*range(40), 77, 128):
        rho, t_end, _ = grazing(seed)
        run = ex.simulate(OSCILLATOR, scheme, rho=rho, t_end=t_end)
        assert len(run.events) <= 2, seed


def test_the_polynomial_of_radau_has_the_slopes_of_start_and_stages():
    from explorer.kernels.event_driven.butcher import METHODS

    radau = METHODS["radau"]()
    powers = np.arange(1, 5)
    for node, slope in zip([0, *radau.c[1:4]], np.eye(4), strict=True):
        np.testing.assert_allclose(
            (powers * node ** (powers - 1)) @ radau.D[:, :4], slope, atol=1e-12
        )
    np.testing.assert_allclose(radau.D[:, :4].sum(axis=0), radau.A[3, :4], atol=1e-14)


@pytest.mark.parametrize("method", ["direct", "adjoint"])
def test_a_parameter_that_would_couple_contacts_has_other_derivatives(method):
    """Inertia m12 = 0: two impacts; beside it one, with v+ = -e v- of both, whatever m12 is."""
    pair = MechanicalSystem(
        "pair", q="y1 y2", params={"m12": 0.0, "h": 1.0}, mass=[[1, "m12"], ["m12", 1]],
        force=["-9.81*(1 + m12)"] * 2, start={"q": ["h", "h"], "t_end": 0.6},
        contacts=[Contact("y1", e=0.8, name="A"), Contact("y2", e=0.5, name="B")],
    )  # fmt: skip
    cost = {"w": "y1 + y2**2"}
    with pytest.raises(ex.BadValue, match=r"'m12' decides.*or couples them"):
        ex.sensitivity(pair, TIGHT, ("m12", "h"), cost, method)
    sens = ex.sensitivity(pair, TIGHT, ("m12", "h"), cost, method, directional="both")
    assert np.isnan(sens.cost_gradient[0])
    assert sens.left.cost_gradient[0] == pytest.approx(0, abs=1e-6)
    assert sens.right.cost_gradient[0] == pytest.approx(0, abs=1e-6)
    _, _, by_1, _ = fallen(1.0, 0.8, 0.6)
    y2, _, by_2, _ = fallen(1.0, 0.5, 0.6)
    assert sens.cost_gradient[1] == pytest.approx(by_1 + 2 * y2 * by_2, rel=1e-8)


@pytest.mark.parametrize("e", [0.5, 0.8])
def test_the_state_at_an_accumulation_is_its_limit(e):
    """At rest on the floor, a moment after an impact that is marched; at an impact the left limit."""
    ball, scheme = models["bouncing_ball"](), ex.EventDriven(rtol=1e-12)
    sens = ex.sensitivity(ball, scheme, ("e", "y0"), {"w": "y"}, t_end=12.0, e=e)
    last = len(sens.events) - 1
    T = np.sqrt(2 / 9.81) * (1 + e) / (1 - e)
    t, x, _, S, rates, dt = final(sens.solution, last)
    assert t == pytest.approx(T, rel=1e-11)
    assert x == pytest.approx([0, 0], abs=1e-9)
    assert rates[:2] == pytest.approx([0, 0], abs=1e-9)
    assert S[:2] == pytest.approx(np.zeros((2, 2)), abs=1e-8)
    assert dt == pytest.approx([2 * np.sqrt(2 / 9.81) / (1 - e) ** 2, T / 2], rel=1e-9)
    t, x, _, S, rates, dt = final(sens.solution, 0)
    assert x == pytest.approx([0, -np.sqrt(2 * 9.81)])
    assert rates[:2] == pytest.approx([x[1], -9.81])
    assert S[:2, 1] == pytest.approx([1, 0])
    for k in range(3):  # S+ = Xi S- + Pi, and a wrong S+ shows, relative to it
        jump = saltation(sens.solution, k, sens.wrt, sens.question.places)
        assert jump.residual < 1e-12
        large = dataclasses.replace(jump, S_plus=jump.S_plus * 1e9)
        assert large.residual == pytest.approx(1, rel=1e-3)


def test_a_start_beside_an_order_that_decides_is_as_a_parameter():
    """The start of `a` is the tilt."""
    asked = {"cost": {"w": "y + a"}, "directional": "both"}
    tilt, start = (ex.sensitivity(bar(), TIGHT, (name,), **asked) for name in ("tilt", "a"))
    for side in ("left", "right"):
        one, two = (getattr(sens, side) for sens in (tilt, start))
        assert two.cost_gradient == pytest.approx(one.cost_gradient, rel=1e-6)
        assert two.cost_jump == pytest.approx(one.cost_jump, rel=1e-6)
        np.testing.assert_allclose(two.S, one.S, rtol=1e-6, atol=1e-9)
