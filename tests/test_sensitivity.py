"""Sensitivities and their jumps: closed forms, duality, and five methods against each other."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import pydoc

import mpmath as mp
import numpy as np
import pytest
from loops import for_each

import explorer as ex
from explorer import HybridSystem
from explorer.derivatives.complex_step import _SHARP
from explorer.models import models

TIGHT = ex.EventDriven(rtol=1e-12, atol=1e-12)


def bounce(t_end, y0, g, e):
    """(y, v) at t_end, (dropped from rest), event times, integral of y; in mpmath."""
    hit = mp.sqrt(2 * y0 / g)
    speed = e * g * hit
    times, t, area = [hit], hit, y0 * hit - g * hit**3 / 6
    while t + 2 * speed / g < t_end:
        s = 2 * speed / g
        area += speed * s**2 / 2 - g * s**3 / 6
        t += s
        times.append(t)
        speed *= e
    s = t_end - t
    area += speed * s**2 / 2 - g * s**3 / 6
    return [speed * s - g * s**2 / 2, speed - g * s, area, *times]


def derivative(f, point, k):
    """Partial derivative of every entry of f by mpmath, 30 digits."""
    with mp.workdps(40):
        count = len(f(*map(mp.mpf, point)))
        step = mp.mpf(10) ** -12
        out = []
        ends = []
        for sign in (-1, 1):
            moved = [mp.mpf(x) for x in point]
            moved[k] += sign * step
            ends.append(f(*moved))
        for i in range(count):
            out.append(float((ends[1][i] - ends[0][i]) / (2 * step)))
    return out


@pytest.mark.parametrize(("t_end", "e"), [(2.0, "0.8"), (5.8, "0.9")])
def test_ball_in_closed_form(t_end, e):
    """Up to eleven bounces: Q, V, Z and every event time."""
    sens = ex.sensitivity(models["bouncing_ball"](), TIGHT, ("y0", "g", "e"), "y", t_end=t_end,
                          e=float(e))  # fmt: skip
    point = ("1", "9.81", e)
    for k in range(3):
        y, v, area, *times = derivative(lambda *p: bounce(mp.mpf(t_end), *p), point, k)
        assert sens.Q[-1, 0, k] == pytest.approx(y, rel=1e-9)
        assert sens.V[-1, 0, k] == pytest.approx(v, rel=1e-9)
        assert sens.Z[-1, k] == pytest.approx(area, rel=1e-9)
        found = [event.dt_drho[k] for event in sens.events]
        np.testing.assert_allclose(found, times[: len(found)], rtol=1e-9, atol=1e-12)
    assert sens.cost_gradient == pytest.approx(sens.Z[-1])


def test_the_zeno_time_has_a_derivative():
    sens = ex.sensitivity(models["bouncing_ball"](), TIGHT, ("y0", "g", "e"), t_end=10, e=0.9)
    last = sens.events[-1]
    assert last.kind == "zeno"
    first = np.sqrt(2 / 9.81)
    by_e = first * 2 / 0.1**2
    by_y0, by_g = last.t / 2, -last.t / (2 * 9.81)
    np.testing.assert_allclose(last.dt_drho, [by_y0, by_g, by_e], rtol=1e-6)
    assert np.abs(sens.S[-1]).max() < 1e-6  # at rest on the floor nothing depends on anything


def test_left_and_right_limits():
    sens = ex.sensitivity(models["bouncing_ball"](), TIGHT, ("g", "y0"), t_end=1.0, e=0.8)
    event = sens.events[0]
    v = event.v_minus[0]
    # eq. (35): Q+ = Q- - (v+ - v-) dt/drho, and a ball on the floor cannot depend on y0 otherwise
    left, right = sens.at(event.t, "left"), sens.at(event.t, "right")
    np.testing.assert_allclose(right[0], left[0] - (-0.8 * v - v) * event.dt_drho, rtol=1e-12)
    salt = sens.saltation(0)
    np.testing.assert_allclose(salt.S_minus[:2], left, rtol=1e-12)
    np.testing.assert_allclose(salt.S_plus[:2], right, rtol=1e-12)
    np.testing.assert_allclose(salt.Xi[:2, :2], [[-0.8, 0], [-(1 + 0.8) * 9.81 / v, -0.8]],
                               rtol=1e-10)  # fmt: skip
    assert salt.residual < 1e-14


def two_balls() -> ex.MechanicalSystem:
    """Two balls beside each other, each above a floor of its own height."""
    return ex.MechanicalSystem(
        "two balls", q="x y", mass=[["m", 0], [0, "3*m"]], force=["-m*g", "-3*m*g"],
        params={"a": 1.0, "m": 2.0, "d": 0.2, "g": 9.81, "e": 0.8, "c": 0.7},
        contacts=[ex.Contact("x", e="e", name="floor"), ex.Contact("y - d", e="e**2", name="step")],
        start={"q": ["a", "2*a - 0.3"], "v": [0, "c"], "t_end": 1.6},
    )  # fmt: skip


def flown(rho, start, until=None):
    """psi of the two balls in closed form, for complex numbers; Gauss' formula is exact here."""
    a, _, d, g, e, c = rho
    whole, flights = 1.6, []
    begun = [(a, 0, 0, e), (2 * a - 0.3, c, d, e**2)]
    for (y, v, floor, bounces), y_off, v_off in zip(begun, start[:2], start[2:], strict=True):
        pieces, t, y, v = [], 0j, y + y_off, v + v_off
        while t.real < whole:
            pieces.append((t, y, v))
            fallen = np.sqrt(v**2 + 2 * g * (y - floor))
            t, y, v = t + (v + fallen) / g, floor, bounces * fallen
        flights.append((pieces, t))
    hits = [[*(t for t, _, _ in pieces[1:]), last] for pieces, last in flights]
    T = whole if until is None else hits[until[0] == "step"][until[1] - 1]
    inner = sorted((t for ball in hits for t in ball if t.real < np.real(T)), key=np.real)
    nodes, weights = np.polynomial.legendre.leggauss(6)
    total, edges = 0j, [0j, *inner, T]
    for low, high in itertools.pairwise(edges):
        t = low + (high - low) * np.append((nodes + 1) / 2, 1.0)
        now = [[p for p in pieces if p[0].real <= low.real][-1] for pieces, _ in flights]
        (x, u), (y, v) = (
            (y0 + v0 * (t - t0) - g * (t - t0) ** 2 / 2, v0 - g * (t - t0)) for t0, y0, v0 in now
        )
        running = c * x**2 + a * y * u + t * v - 2 * g
        total += (high - low) / 2 * (weights @ running[:-1])
        terminal = a * x * y + c * u * v + t * x - 5 * a
    return total + terminal[-1]


@pytest.mark.parametrize("method", ["direct", "adjoint", "complex_step", "finite_difference"])
def test_a_cost_of_everything_in_closed_form(method):
    """Parameters and start values, running and terminal cost, up to a time or to an event."""
    system = two_balls()
    cost = {"g": "c*x**2 + a*y*v_x + t*v_y + 2*a_y", "w": "a*x*y + c*v_x*v_y + t*x - 5*a"}
    names, states = list(system.parameters), ["x", "y", "v_x", "v_y"]
    rho = np.array([p.value for p in system.parameters.values()], complex)
    mixed = ["v_y", "c", "y", "a", "x", "v_x"]
    for until, wrt in ((None, names), (("step", 1), mixed), (("floor", 1), mixed)):
        sens = ex.sensitivity(system, TIGHT, wrt, cost, method, until=until)
        wanted = []
        for name in wrt:
            moved, start = rho.copy(), np.zeros(4, complex)
            if name in names:
                moved[names.index(name)] += 1e-30j
            else:
                start[states.index(name)] += 1e-30j
            wanted.append(flown(moved, start, until).imag / 1e-30)
        assert sens.cost == pytest.approx(flown(rho, np.zeros(4), until).real, rel=1e-10)
        close = 1e-5 if method == "finite_difference" else 1e-9
        np.testing.assert_allclose(sens.cost_gradient, wanted, rtol=close, atol=close)


def costs(system) -> dict:
    rate = "a" if hasattr(system, "q") else "d"
    first, last = system.coordinates[0], system._state_names()[-1]
    return {"g": f"{first}**2 + {last}*{rate}_{first}", "w": f"{first}*{last} + {last}"}


SMOOTH = ["bouncing_ball", "elastic_pendulum", "impact_oscillator", "newtons_cradle",
          "pendulum_wall", "vibrating_table"]  # fmt: skip


@pytest.mark.parametrize("name", SMOOTH)
def test_direct_adjoint_and_complex_step_agree(name):
    system = models[name]()
    t_end = min(system.t_end, 2.0)
    asked = {"cost": costs(system), "t_end": t_end, "e": 0.7}
    direct = ex.sensitivity(system, TIGHT, **asked)
    assert direct.events
    for method in ("adjoint", "complex_step"):
        other = ex.sensitivity(system, TIGHT, method=method, check=True, **asked)
        size = 1 + np.abs(direct.cost_gradient)
        assert (np.abs(other.cost_gradient - direct.cost_gradient) / size).max() < 1e-9
        assert other.residuals["direct"] < 1e-9
    adjoint = ex.sensitivity(system, TIGHT, method="adjoint", check=True, **asked)
    assert adjoint.residuals["duality"] < 1e-13
    difference = ex.sensitivity(system, TIGHT, method="finite_difference", **asked)
    assert difference.residuals["direct"] < 1e-6


def test_a_complex_step_sticks_slips_and_turns():
    """A block on a moving belt, behind contacts that stay open: its events are those of the belt."""
    block = ex.MechanicalSystem(
        "block", q="x y z", params={"k": 1.0, "v": 0.1, "mu": 0.25}, mass=np.diag([1.0, 1.0, 1.0]).tolist(),
        force=["-k*x", "-1", "0"],
        contacts=[ex.Contact("z + 9", e=0), ex.Contact("z + 8", e=0, mu="mu", slip="v_x"),
                  ex.Contact("y", e=0, mu="mu", mu_s="2*mu", slip="v_x - v")],
        start={"q": [0, 0, 0], "v": [0, 0, 0], "t_end": 9.0},
    )  # fmt: skip
    asked = {"wrt": ("k", "v", "mu"), "cost": {"w": "x + 2*v_x"}}
    direct = ex.sensitivity(block, TIGHT, **asked)
    assert {e.kind for e in direct.solution.events} >= {"slips", "sticks"}
    other = ex.sensitivity(block, TIGHT, method="complex_step", **asked)
    np.testing.assert_allclose(other.cost_gradient, direct.cost_gradient, rtol=1e-9, atol=1e-9)
    assert other.residuals["direct"] < 1e-9


def test_derivatives_at_several_times_are_those_at_each():
    sens = ex.sensitivity(models["bouncing_ball"](), wrt=("g", "e"), t_end=1.0)
    t = [0.1, sens.events[0].t]
    for side in ("left", "right"):
        np.testing.assert_array_equal(sens.at(t, side), [sens.at(x, side) for x in t])
    assert sens.at([]).shape == (0, 2, 2)
    with pytest.raises(ex.BadValue, match="lies outside"):
        sens.at([0.1, 9.0])


def test_the_package_that_is_called_shows_what_it_calls():
    from explorer.derivatives.methods import sensitivity

    assert inspect.signature(ex.sensitivity) == inspect.signature(sensitivity)
    assert ex.sensitivity.__doc__ == sensitivity.__doc__
    shown = "".join(pydoc.plain(pydoc.render_doc(ex.sensitivity)).split())  # lines as pydoc likes
    assert "sensitivity(system:'System',scheme" in shown


@pytest.mark.parametrize("method", ["direct", "adjoint", "complex_step", "finite_difference"])
def test_a_final_time_that_is_an_event(method):
    """The second hit of the floor: y = 0 there, so psi = y + t has the gradient dT/drho."""
    sens = ex.sensitivity(
        models["bouncing_ball"](), TIGHT, ("g", "e", "y0"), {"g": "1", "w": "y"}, method,
        until=("floor", 2), t_end=3.0, e=0.8,
    )  # fmt: skip
    assert sens.cost == pytest.approx(sens.events[1].t, rel=1e-12)
    rel = 1e-6 if method == "finite_difference" else 1e-10
    assert sens.cost_gradient == pytest.approx(sens.events[1].dt_drho, rel=rel)


def test_a_start_value_can_be_asked_for():
    sens = ex.sensitivity(models["bouncing_ball"](), TIGHT, ("y0", "y", "v_y"), t_end=1.0)
    np.testing.assert_allclose(sens.S[:, :, 0], sens.S[:, :, 1])
    assert np.abs(sens.S[0, :, 2] - [0, 1]).max() == 0


METHODS = ("direct", "adjoint", "complex_step", "finite_difference")


@pytest.mark.parametrize("method", METHODS)
def test_a_start_that_is_given_depends_on_no_parameter(method):
    """A ball from 2 m: the first impact at sqrt(2 y / g), whatever the parameter y0 is."""
    ball, asked = models["bouncing_ball"](), ("y", "v_y", "y0", "g")
    sens = ex.sensitivity(ball, TIGHT, asked, {"w": "t"}, method, until="floor", t_end=2, q0=[2.0])
    hit = np.sqrt(4 / 9.81)
    slopes = [1 / (9.81 * hit), 1 / 9.81, 0, -hit / (2 * 9.81)]
    assert sens.events[0].t == pytest.approx(hit, rel=1e-12)
    np.testing.assert_allclose(sens.events[0].dt_drho, slopes, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(sens.cost_gradient, slopes, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_a_start_in_another_mode(method):
    """A room that cools from 20.5 to 19 degrees: at t = log(5.5 / 4) / a, its outside at 15."""
    room = models["thermostat"]()
    sens = ex.sensitivity(room, TIGHT, ("T", "a"), {"w": "t"}, method, until="too cold",
                          x0=20.5, mode0="off")  # fmt: skip
    a = room.parameters["a"].value
    cooled = np.log(5.5 / 4) / a
    assert (sens.events[0].t, sens.events[0].mode) == (pytest.approx(cooled, rel=1e-12), "off")
    np.testing.assert_allclose(sens.cost_gradient, [1 / (5.5 * a), -cooled / a], rtol=1e-6)


def test_a_parameter_without_influence_is_a_zero_column():
    sens = ex.sensitivity(models["bouncing_ball"](), TIGHT, ("m", "g"), "y", t_end=1.0)
    assert np.abs(sens.S[:, :, 0]).max() == 0
    assert sens.cost_gradient[0] == 0
    assert sens.events[0].dt_drho[0] == 0


def table(**start):
    """A block on a table at the height a; it sticks, slides, or lies beside its start."""
    return ex.MechanicalSystem(
        "block on a table", q="x y", params={"a": 0.0, "mu": 0.5}, force=["sin(t)", "-9.81"],
        contacts=[ex.Contact("y - a", mu="mu", slip="v_x", name="table")],
        start={"q": [0, "a"], "t_end": 1} | start,
    )  # fmt: skip


@pytest.mark.parametrize("method", ["direct", "adjoint", "complex_step"])
@pytest.mark.parametrize(
    ("start", "wrt", "how"),
    [
        ({}, "y", "closed, and 'y'"),
        ({"v": [1, 0]}, "v_y", "closed, and 'v_y'"),
        ({"q": [0, 0]}, "a", "closed, and 'a'"),
        ({}, "v_x", "sticking, and 'v_x'"),
    ],
)
def test_what_moves_a_start_off_its_contact_has_no_derivative(method, start, wrt, how):
    with pytest.raises(ex.BadValue, match=f"starts with 'table' {how} moves the start away"):
        ex.sensitivity(table(**start), TIGHT, wrt, "y", method=method)


def test_what_keeps_a_start_on_its_contact_has_one():
    resting = ex.sensitivity(table(), TIGHT, ("a", "x", "mu"), {"w": "x + 3*y"})
    np.testing.assert_allclose(resting.cost_gradient, [3, 1, 0], atol=1e-12)
    sliding = ex.sensitivity(table(v=[9, 0]), TIGHT, ("v_x", "mu"), {"w": "x"})
    np.testing.assert_allclose(sliding.cost_gradient, [1, -9.81 / 2], atol=1e-10)


def test_steps_locate_no_event_at_which_a_cost_ends():
    asked = {"wrt": "y0", "cost": {"w": "t"}, "method": "discrete", "until": "floor"}
    with pytest.raises(ex.NotApplicable, match="does not locate the event 'floor', so by how much"):
        ex.sensitivity(models["bouncing_ball"](), **asked)


def test_the_finite_difference_refuses_another_event_sequence():
    system = models["bouncing_ball"]()
    hit = np.sqrt(2 / 9.81)
    for wrt in ("y0", "y"):
        with pytest.raises(ex.BadValue, match=f"{wrt} ± 0.0005 .* different event sequences"):
            ex.sensitivity(system, TIGHT, wrt, method="finite_difference", t_end=hit, delta=1e-3)


def test_the_derivative_of_time_stepping_is_wrong_and_stays_wrong():
    system = models["bouncing_ball"]()
    for h in (1e-2, 1e-3, 1e-4):
        lesson = ex.sensitivity(system, TIGHT, "y0", method="discrete", t_end=1.0, h=h)
        assert lesson.residuals["direct"] > 0.1


def test_time_stepping_itself_may_be_given_to_be_differentiated():
    system = models["bouncing_ball"]()
    one = ex.sensitivity(system, None, "y0", method="discrete", t_end=1.0, h=1e-3)
    two = ex.sensitivity(system, ex.MoreauJean(h=1e-3), "y0", method="discrete", t_end=1.0)
    np.testing.assert_array_equal(one.Q, two.Q)
    other = ex.MoreauJean(h=1e-3, theta=1.0)
    late = ex.sensitivity(system, other, "g", method="discrete", t_end=0.4).Q[-1, 0, 0]
    assert late == pytest.approx(-0.4 * (0.4 + 1e-3) / 2, rel=1e-6)  # of implicit Euler
    large = ex.MechanicalSystem(
        "fall", q="y", params={"G": ex.Param(9.81e9, 1e9, 2e10)}, mass=[["1"]], force=["-G/10**9"],
        contacts=[ex.Contact("y", e=0.5)], start={"q": [1], "t_end": 0.4},
    )  # fmt: skip
    same = ex.sensitivity(large, other, "G", method="discrete", t_end=0.4).Q[-1, 0, 0]
    assert same * 1e9 == pytest.approx(late, rel=1e-6)  # differences are as wide as the parameter
    with pytest.raises(ex.NotApplicable, match="EulerMoreau does not locate events"):
        ex.sensitivity(models["relay_feedback"](), ex.EulerMoreau(h=1e-3))


def test_where_no_scheme_finds_sensitivities_those_that_do_say_what_they_take():
    system = models["diode_bridge"]()
    for scheme in (None, ex.EventDriven(), ex.schemes_for(system)[0]):
        with pytest.raises(
            ex.NotApplicable, match=r"No scheme computes .* EventDriven accepts mech"
        ):
            ex.sensitivity(system, scheme)


def test_a_change_of_equations_without_impact():
    """x'' = -x for x > 0, = -4 x - F for x < 0: a force jump, closed form in two pieces."""
    system = HybridSystem(
        "stop", x="x v", params={"F": 0.5, "k": 4.0},
        modes={"free": ["v", "-x"], "on": ["v", "-k*x - F"]},
        guards=[{"mode": "free", "r": "x", "to": "on"},
                {"mode": "on", "r": "x", "direction": 1, "to": "free"}],
        start={"x": [1, 0], "mode": "free", "t_end": 2.5},
    )  # fmt: skip
    sens = ex.sensitivity(system, TIGHT, ("F", "k"))

    def end(F, k):
        s, w = mp.mpf("2.5") - mp.pi / 2, mp.sqrt(k)
        return [F / k * (mp.cos(w * s) - 1) - mp.sin(w * s) / w,
                -F / w * mp.sin(w * s) - mp.cos(w * s)]  # fmt: skip

    for j in range(2):
        np.testing.assert_allclose(sens.S[-1, :, j], derivative(end, ("0.5", "4"), j), rtol=1e-9)
    np.testing.assert_allclose(sens.events[0].dt_drho, 0, atol=1e-14)


def test_the_error_falls_with_the_tolerance():
    system = models["pendulum_wall"]()
    truth = ex.sensitivity(system, ex.EventDriven(rtol=1e-13, atol=1e-13), t_end=4).S[-1]
    errors = [
        np.abs(ex.sensitivity(system, ex.EventDriven(rtol=r, atol=r), t_end=4).S[-1] - truth).max()
        for r in (1e-6, 1e-8, 1e-10, 1e-12)
    ]
    assert (np.diff(np.log10(errors)) < -0.8).all()


def test_the_cost_ends_at_an_event_and_the_run_goes_on():
    ball = models["bouncing_ball"]()
    for until in ("floor", ("floor", 1), ["floor", 1.0]):
        found = ex.sensitivity(ball, TIGHT, "g", {"w": "t"}, until=until, t_end=0.8)
        assert found.cost == found.events[0].t < 0.8 == found.t[-1]
    assert "The run goes on to `t_end`" in ex.sensitivity.__doc__


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"wrt": "gg"}, "no parameter or state 'gg'. Did you mean"),
        ({"wrt": "rtol"}, "an option of a scheme"),
        ({"wrt": ("g", "g")}, "twice"),
        ({"cost": "y + speed"}, "'speed'"),
        ({"cost": {"h": "y"}}, "parts g and w"),
        ({"cost": {"w": "a_y"}}, "'a_y'"),
        ({"method": "diret"}, "Did you mean 'direct'"),
        ({"until": "flor"}, "no event 'flor'"),
        (
            {"until": ("floor", 0)},
            "until=('floor', ...): the number of the event = 0 must be a whole",
        ),
        (
            {"until": ("floor", -1)},
            "the number of the event = -1 must be a whole number of at least 1",
        ),
        ({"until": ("floor", 1.5)}, "the number of the event = 1.5 must be a whole number"),
        ({"until": ("floor", "a")}, "the number of the event = 'a' must be a whole number"),
        ({"until": ("floor",)}, "by name and number: until='floor' or until=('floor', 2)"),
        ({"until": ()}, "until = () must be an event"),
        ({"until": 1}, "until = 1 must be an event"),
        ({"until": ("floor", 9)}, "only"),
        ({"t_eval": [0.5, 0.1]}, "increasing"),
    ],
)
def test_bad_questions_get_a_sentence(asked, sentence):
    with pytest.raises(ex.BadValue) as caught:
        ex.sensitivity(models["bouncing_ball"](), **{"t_end": 1.0, **asked})
    assert sentence in str(caught.value)


def test_a_whole_number_of_the_model_has_no_derivative():
    with pytest.raises(ex.BadValue, match="is an integer that"):
        ex.sensitivity(models["column"](3), wrt="n")


def test_time_stepping_is_refused_with_what_would_work():
    with pytest.raises(ex.NotApplicable, match="EventDriven"):
        ex.sensitivity(models["bouncing_ball"](), ex.MoreauJean(h=1e-3))


def test_the_derivative_of_time_stepping_where_it_is_exact():
    """The midpoint rule has the flight of a ball: psi = a y + g v of y = a + u t - g t^2 / 2."""
    thrown = ex.MechanicalSystem(
        "thrown", q="y", params={"a": 2.0, "g": 9.81, "u": 1.0}, force=["-g"],
        start={"q": ["a"], "v": ["u"], "t_end": 0.5},
        contacts=[ex.Contact("y", e=0.5, name="floor")],
    )  # fmt: skip
    wrt, t = ("a", "g", "u", "v_y", "y"), np.linspace(0, 0.5, 6)
    sens = ex.sensitivity(thrown, TIGHT, wrt, {"w": "a*y + g*v_y"}, "discrete", t_eval=t, h=0.05)
    one, a, g, T = np.ones(6), 2.0, 9.81, 0.5
    y, v = a + T - g * T**2 / 2, 1 - g * T
    wanted = [y + a, -a * T**2 / 2 + v - g * T, a * T + g, a * T + g, a]
    np.testing.assert_allclose(sens.cost_gradient, wanted, rtol=1e-7)
    assert sens.cost == pytest.approx(a * y + g * v, rel=1e-9)
    np.testing.assert_allclose(sens.Q[:, 0].T, [one, -(t**2) / 2, t, t, one], atol=1e-7)
    np.testing.assert_allclose(sens.V[:, 0].T, [0 * t, -t, one, one, 0 * t], atol=1e-7)
    assert sens.residuals["direct"] < 1e-7
    integral = ex.sensitivity(thrown, TIGHT, wrt, "y", "discrete", h=0.05)
    assert np.isnan(integral.cost_gradient).all()
    assert np.isnan(integral.Z).all()


def workshop() -> ex.MechanicalSystem:
    """A block on a belt between stick and slip, beside a wall, and one that falls on a table."""
    return ex.MechanicalSystem(
        "workshop", q="x y u w", mass=[[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 2, "c"], [0, 0, "c", 2]],
        params={"k": 4.0, "b": 0.6, "mu": 0.3, "s": 0.5, "nu": 0.25, "g": 9.81, "h": 0.3,
                "L": 1.27, "c": 0.1},
        force=["-k*x", "-g", "-0.3*v_u", "-2*g"],
        contacts=[ex.Contact("L - x", e=0.5, name="wall"),
                  ex.Contact("y", mu="mu", mu_s="s", slip="v_x - b", name="belt"),
                  ex.Contact("w", e=0.4, mu="nu", slip="v_u + 0.2*v_w", name="table")],
        start={"q": [0.9, 0, 0, "h"], "v": ["b", 0, 1.2, 0], "t_end": 4},
    )  # fmt: skip


def test_methods_agree_across_friction():
    """Impacts that slide and stick, a block that sticks, slips and turns."""
    system, cost = workshop(), {"g": "1e6*(u + x*v_x)", "w": "1e6*(x*v_u + u + t*v_x)"}
    direct = ex.sensitivity(system, TIGHT, None, cost)
    assert {"impact", "slips", "sticks"} <= {e.kind for e in direct.events}
    for method in ("adjoint", "complex_step"):
        other = ex.sensitivity(system, TIGHT, None, cost, method, check=True)
        np.testing.assert_allclose(other.cost_gradient, direct.cost_gradient, rtol=1e-8, atol=1e-2)
        assert other.residuals["direct"] < 1e-8  # relative
    scheme = ex.EventDriven(method="dopri5", rtol=1e-10, atol=1e-12)
    other = ex.sensitivity(system, scheme, None, cost, "finite_difference", delta=1e-5)
    np.testing.assert_allclose(other.cost_gradient, direct.cost_gradient, rtol=1e-4, atol=1e2)


def test_sharp_functions_of_complex_numbers_have_the_value_and_slope_of_real_ones():
    samples = np.array([-2.6, -1.3, -0.4, 0.3, 1.7])
    real = {"Abs": np.abs, "sign": np.sign, "Heaviside": lambda x: np.heaviside(x, 0.5),
            "floor": np.floor, "ceiling": np.ceil, "Mod": lambda x: np.mod(x, 0.7),
            "Min": lambda x: np.minimum(x, 0.1 - x), "Max": lambda x: np.maximum(x, 0.1 - x),
            "atan2": lambda x: np.arctan2(x, 0.1 - x)}  # fmt: skip
    rest = dict.fromkeys(("Min", "Max", "atan2"), lambda z: (0.1 - z,)) | {"Mod": lambda z: (0.7,)}
    assert {*real} == {*_SHARP}
    for name, sharp in _SHARP.items():
        for x in samples:
            z = sharp(x + 1e-30j, *rest.get(name, lambda z: ())(x + 1e-30j))
            slope = (real[name](x + 1e-6) - real[name](x - 1e-6)) / 2e-6
            assert np.real(z) == pytest.approx(real[name](x), abs=1e-14), name
            assert np.imag(z) / 1e-30 == pytest.approx(slope, abs=1e-6), name
    assert _SHARP["Heaviside"](0.0) == 0.5
    assert _SHARP["Abs"](2e-30j) == 2e-30j  # the right-hand one, as of x >= 0


def test_the_residual_of_a_saltation_is_relative():
    sens = ex.sensitivity(models["bouncing_ball"](), TIGHT, ("g", "y0"), t_end=1.0)
    salt = sens.saltation(0)
    size = np.abs(salt.S_plus).max()
    assert size > 0.5
    wrong = dataclasses.replace(salt, Pi=salt.Pi + np.array([[0, 0], [0, -3.0], [2.0, 0]]))
    assert wrong.residual == pytest.approx(3 / (1 + size), rel=1e-9)
    count = len(sens.events)
    assert sens.saltation(-count).event is sens.saltation(0).event
    assert sens.saltation(-1).event is sens.saltation(count - 1).event
    for k in (count, -count - 1):
        with pytest.raises(ex.BadValue, match=f"no event {k}: the run has {count}"):
            sens.saltation(k)


@pytest.mark.parametrize("method", ["direct", "adjoint", "complex_step"])
def test_what_rests_on_a_table_that_moves_follows_it(method):
    """Behind an impact without rebound y = A sin(w t), until the table falls faster than g."""
    shaken = ex.MechanicalSystem(
        "shaken", q="y", params={"A": 0.5, "w": 2.0}, force=["-9.81"],
        contacts=[ex.Contact("y - A*sin(w*t)", e=0, name="table")],
        start={"q": [0.8], "t_end": 1.9},
    )  # fmt: skip
    for cost, by_a, by_w in (
        ("y", np.sin(3.8), 0.95 * np.cos(3.8)),
        ("v_y", 2 * np.cos(3.8), 0.5 * np.cos(3.8) - 1.9 * np.sin(3.8)),
    ):
        sens = ex.sensitivity(shaken, TIGHT, ("A", "w"), {"w": cost}, method)
        assert sens.cost_gradient == pytest.approx([by_a, by_w], rel=1e-8)


def test_a_complex_step_needs_no_contacts():
    system = models["duffing"]()
    asked = {"wrt": ("k", "k3", "c"), "cost": {"w": "x*v_x"}, "t_end": 2.0}
    direct, step = (
        ex.sensitivity(system, TIGHT, method=m, **asked) for m in ("direct", "complex_step")
    )
    assert step.cost_gradient == pytest.approx(direct.cost_gradient, rel=1e-8)


@pytest.mark.parametrize("method", ["direct", "adjoint", "complex_step"])
@pytest.mark.parametrize("sliding", [True, False])
def test_a_disc_that_strikes_the_floor_slides_or_rolls_on(method, sliding):
    """Closed forms behind an impact of v = sqrt(2 g h); of the slip s = u + R w a third is taken."""
    disc = ex.MechanicalSystem(
        "disc", q="x y w", params={"h": 1.0, "mu": 0.1, "u": 3.0}, mass=np.diag([2, 2, 1.0]).tolist(),
        force=[0, "-2*9.81", 0],
        contacts=[ex.Contact("y", e=0.5, mu="mu", slip="v_x + v_w", name="floor")],
        start={"q": [0, "h", 0], "v": ["u", 0, 0], "t_end": 0.6},
    )  # fmt: skip
    rho = {"mu": 0.1 if sliding else 0.9, "u": 3.0}
    sens = ex.sensitivity(disc, TIGHT, ("h", "mu", "u"), {"w": "v_x + 10*v_w"}, method, rho=rho)
    v, by_h = np.sqrt(2 * 9.81), np.sqrt(9.81 / 2)
    if sliding:  # v_x loses 1.5 mu v, v_w twice as much
        assert sens.cost == pytest.approx(3 - 21 * 1.5 * 0.1 * v)
        wanted = [-21 * 1.5 * 0.1 * by_h, -21 * 1.5 * v, 1]
    else:
        assert sens.cost == pytest.approx(2 - 20)
        wanted = [0, 0, -6]
    assert sens.cost_gradient == pytest.approx(wanted, rel=1e-8, abs=1e-8)


@for_each("k", (1e-3, 2.0, 3e7))
def test_differences_are_as_wide_as_their_parameter_is_large(k):
    """Of x' = k - x the first parameter: dx/dk = 1 - exp(-t), to the digits of a central difference."""
    system = ex.HybridSystem("towards k", x="x", params={"k": k}, modes={"on": ["k - x"]},
                             guards=[], start={"x": [0.0], "t_end": 1.0})  # fmt: skip
    found = ex.sensitivity(system, TIGHT, "k", {"w": "x"}, "finite_difference")
    assert found.cost_gradient[0] == pytest.approx(1 - np.exp(-1.0), rel=1e-7)


def test_a_cost_ends_with_the_run():
    """A walker falls before t_end: the time of the fall moves, so the cost sees it move."""
    walker = ex.models.simplest_walker()
    rho = {"gamma": 0.0085538, "theta0": 0.194133, "rate0": -0.209755}
    first, *_, last = map(str, walker.coordinates)
    cost = {"g": f"({first} + 0.3)**2", "w": f"{last}**2 + t*{first}"}

    def ask(method="direct", **changed):
        asked = {"t_end": 5.06, "rho": rho | changed}
        return ex.sensitivity(walker, ex.EventDriven(), [*rho], cost, method, **asked)

    quotient = [
        (ask(**{k: v + 1e-6}).cost - ask(**{k: v - 1e-6}).cost) / 2e-6 for k, v in rho.items()
    ]
    for method in ("direct", "adjoint", "complex_step"):
        found = ask(method)
        assert found.run.t[-1] < 5
        np.testing.assert_allclose(found.cost_gradient, quotient, rtol=1e-6)
        assert found.trust.ok


def test_a_difference_ends_with_the_run_that_falls_first():
    asked = {"wrt": "attack", "cost": {"w": "x"}, "attack": 50}
    direct = ex.sensitivity(models["slip"](), **asked)
    fallen = direct.t == direct.t[-1]
    assert direct.t[-1] < models["slip"]().t_end
    assert fallen.sum() == 2  # both limits at the fall
    found = ex.sensitivity(models["slip"](), method="finite_difference", **asked)
    assert np.array_equal(np.isnan(found.S).all(axis=(1, 2)), fallen)
    assert np.array_equal(np.isnan(found.Z[:, 0]), fallen)
    before = ~np.isin(direct.t, [event.t for event in direct.events])
    np.testing.assert_allclose(found.S[before], direct.S[before], atol=1e-4)
    assert found.cost_gradient == pytest.approx(direct.cost_gradient, rel=1e-6)
    assert found.residuals["direct"] < 1e-6
