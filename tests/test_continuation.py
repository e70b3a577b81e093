"""Continuation against closed forms, brute force and independent integration."""

from __future__ import annotations

import dataclasses
from itertools import pairwise

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.optimize import brentq

import explorer as ex
from explorer.models.integrate_and_fire import tongue
from explorer.study import Section, bifurcation_curve, continuation, orbit_diagram
from explorer.study.arclength import Evaluation, Node, correct, tangent

W, E, C = 1.5, 0.8, 0.1  # forcing, restitution and damping of the impact oscillator


@pytest.fixture(scope="module")
def impacts():
    """The orbits with one impact in a period, over the place of the stop, and beyond."""
    return continuation(
        ex.models.impact_oscillator(), parameter="s", period="2*pi/omega", over=(0.2, 3),
        omega=W, s=0.5, e=E, c=C, guess=[-1.2, 0.9],
    )  # fmt: skip


@pytest.fixture(scope="module")
def gaits():
    return continuation(
        ex.models.simplest_walker(), parameter="gamma", section="heel strike", over=(0.008, 0.0185)
    )


# -- the impact oscillator: one impact in a period, in closed form ---------------------------------


def one_impact(s, speed, e=E):
    """Return the residual of the orbit that meets s at `speed` each period, and x, v at t = 0.

    x'' + C x' + x = cos(W t) is linear: from (s, -e V) just behind the impact at the phase t0 it
    returns to (s, V) after T = 2 pi / W. The particular solution is Re(Z exp(i W t)); what is left
    is free, and is carried over T by an exponential. Two equations tell the free part, two more the
    phase: cos and sin of it, whose squares must add up to 1.
    """
    A = np.array([[0.0, 1.0], [-1.0, -C]])
    flow = expm(2 * np.pi / W * A)
    # free part y behind the impact: (flow - 1) y is the jump of the velocity, V (1 + E)
    y = np.linalg.solve(flow - np.eye(2), [0.0, (1 + e) * speed])
    forced = np.array([s, -e * speed]) - y  # Re(Z e^{i W t0}), Re(i W Z e^{i W t0})
    Z = 1 / (1 - W**2 + 1j * C * W)
    turned = (forced[0] - 1j * forced[1] / W) / Z  # e^{i W t0}
    t0 = (np.angle(turned) / W) % (2 * np.pi / W)
    start = expm((2 * np.pi / W - t0) * A) @ y + [Z.real, -W * Z.imag]
    return abs(turned) ** 2 - 1, start


def speeds(s, e=E):
    """Return the impact speeds at a stop: the residual is quadratic in the speed."""
    at = [one_impact(s, v, e)[0] for v in (0.0, 1.0, 2.0)]
    second = (at[2] - 2 * at[1] + at[0]) / 2
    return np.roots([second, at[1] - at[0] - second, at[0]])


def test_every_orbit_with_an_impact_is_the_closed_form(impacts):
    hits = [k for k, one in enumerate(impacts.sequences) if len(one) == 1]
    assert len(hits) > 50
    for k in hits[::15]:
        s = impacts.values[k]
        if abs(np.subtract(*speeds(s))) < 0.05:  # beside the fold the quadratic is ill-conditioned
            continue
        wanted = [one_impact(s, v.real)[1] for v in speeds(s)]
        assert min(np.abs(x - impacts.x[k]).max() for x in wanted) < 1e-8
    assert impacts.residual.max() < 1e-9


def test_the_fold_is_where_both_speeds_meet(impacts):
    """The discriminant of the quadratic vanishes; the speeds are one and the same."""

    def apart(s):
        a, b = speeds(s)
        return ((a - b) ** 2).real

    (fold,) = impacts.found("fold")
    wanted = brentq(apart, 2.0, 3.0, xtol=1e-14)
    assert fold.parameter == pytest.approx(wanted, abs=1e-8)
    assert abs(fold.test) < 1e-9
    assert np.abs(fold.multipliers - 1).min() < 1e-6
    assert fold.x == pytest.approx(one_impact(wanted, speeds(wanted)[0].real)[1], abs=1e-6)


def test_the_orbit_grazes_where_the_free_response_touches_the_stop(impacts):
    grazing = impacts.found("grazing")[-1]
    wanted = 1 / np.hypot(1 - W**2, C * W)
    assert grazing.parameter == pytest.approx(wanted, abs=1e-8)
    assert abs(grazing.parameter - wanted) < 10 * grazing.error
    assert grazing.name == "stop"
    Z = 1 / (1 - W**2 + 1j * C * W)
    assert grazing.x == pytest.approx([Z.real, -W * Z.imag], abs=1e-6)
    # beyond it the same branch goes on without an impact, in a piece of its own
    last = impacts.piece == impacts.piece[-1]
    assert all(impacts.sequences[k] == () for k in np.flatnonzero(last))
    assert impacts.values[last].min() == pytest.approx(wanted, abs=1e-4)
    assert impacts.ends[1] == "end of the range"
    # no damping but at the impact: the area shrinks by e^2 exp(-C T)
    first = np.prod(impacts.multipliers[0]).real
    assert first == pytest.approx(E**2 * np.exp(-C * 2 * np.pi / W), rel=1e-8)


def test_stability_changes_at_the_fold_only(impacts):
    fold = impacts.found("fold")[0]
    at = int(np.argmin(np.abs(impacts.values - fold.parameter) + impacts.piece))
    hits = np.array([len(one) for one in impacts.sequences]) == 1
    marginal = np.abs(np.abs(impacts.multipliers).max(axis=1) - 1) < 1e-6
    before, after = np.arange(len(impacts)) < at, np.arange(len(impacts)) > at
    assert impacts.stable[before & hits & ~marginal].all()
    assert not impacts.stable[after & hits & ~marginal].any()
    assert impacts.stable[~hits].all()


def test_brute_force_finds_the_stable_part(impacts):
    """Points of an orbit diagram lie on the branch where it is stable."""
    values = [0.6, 1.1, 1.6]
    found = orbit_diagram(
        impacts.system, over={"s": values}, section=Section(period="2*pi/omega"), transient=60,
        points=2, omega=W, e=E, c=C, x0=-1.2, v0=0.9, progress=False,
    )  # fmt: skip
    s, x = found.dots("x")
    branch = impacts.stable & (np.array([len(one) for one in impacts.sequences]) == 1)
    order = np.argsort(impacts.values[branch])
    on = np.interp(s, impacts.values[branch][order], impacts.state("x")[branch][order])
    assert len(s) == 6
    assert x == pytest.approx(on, abs=2e-3)
    for k in range(0, 6, 2):
        wanted = min(
            (one_impact(s[k], v.real)[1][0] for v in speeds(s[k])), key=lambda w: abs(w - x[k])
        )
        assert x[k] == pytest.approx(wanted, abs=1e-6)


def test_an_impact_passes_the_end_of_the_period():
    """At t = 0 the state jumps, so a new piece begins; the orbit is the same."""
    found = continuation(
        ex.models.impact_oscillator(), parameter="omega", period="2*pi/omega", over=(0.93, 1.6),
        omega=1.5, s=0.5, e=E, c=C, guess=[-1.2, 0.9], direction="down",
    )  # fmt: skip
    assert set(found.piece) == {0, 1}
    assert found.points == ()
    assert found.ends[1] == "end of the range"
    assert {len(one) for one in found.sequences} == {1}
    jump = int(np.flatnonzero(np.diff(found.piece))[0])
    (x, v), (x_next, v_next) = found.x[jump], found.x[jump + 1]
    assert x == pytest.approx(0.5, abs=1e-3)
    assert x_next == pytest.approx(0.5, abs=1e-3)
    assert sorted([v / v_next, v_next / v]) == pytest.approx([-1 / E, -E], rel=1e-2)


def test_an_impact_passes_the_begin_of_the_period():
    """The other way: the impact comes to the end of the period, whose length changes too."""
    found = continuation(
        ex.models.impact_oscillator(), parameter="omega", period="2*pi/omega", over=(0.93, 1.1),
        omega=0.95, s=0.5, e=E, c=C, guess=[0.484, -1.395], direction="up",
    )  # fmt: skip
    assert set(found.piece) == {0, 1}
    assert found.ends[1] == "end of the range"
    jump = int(np.flatnonzero(np.diff(found.piece))[0])
    (x, v), (x_next, v_next) = found.x[jump], found.x[jump + 1]
    assert (x, x_next) == pytest.approx((0.5, 0.5), abs=1e-3)
    assert v / v_next == pytest.approx(-E, rel=1e-2)


# -- the simplest walker ----------------------------------------------------------------------------


def step_of_the_walker(gamma):
    """Return the map of (theta, theta') over one step, integrated by SciPy."""

    def flow(t, y):
        theta, phi, v, u = y
        pull = np.sin(theta - gamma)
        return [v, u, pull, pull + np.sin(phi) * (v**2 - np.cos(theta - gamma))]

    def strike(t, y):
        return y[1] - 2 * y[0]

    strike.direction = 1

    def step(z):
        theta, v = z
        y = [theta, 2 * theta, v, (1 - np.cos(2 * theta)) * v]
        run = solve_ivp(flow, (0, 4.3), y, "DOP853", events=strike, rtol=1e-12, atol=1e-13)
        # the foot scuffs at mid-step, where theta > 0: that does not count
        theta, _, v, _ = next(y for y in run.y_events[0] if y[0] < -0.05)
        return np.array([-theta, np.cos(2 * theta) * v])

    return step


def test_the_gait_goes_through_its_flip_to_the_unstable_branch(gaits):
    (flip,) = gaits.found("flip")
    assert flip.parameter == pytest.approx(0.01509, abs=3e-5)  # Garcia et al. 1998: 0.0151
    assert flip.error < 1e-9
    assert abs(flip.test) < 1e-9
    assert gaits.stable[gaits.values < flip.parameter - 1e-6].all()
    assert not gaits.stable[gaits.values > flip.parameter + 1e-6].any()
    assert gaits.ends == ("end of the range", "end of the range")
    assert gaits.residual.max() < 1e-9


def test_at_the_flip_an_independent_map_has_the_multiplier_minus_one(gaits):
    (flip,) = gaits.found("flip")
    step, z, h = step_of_the_walker(flip.parameter), flip.x[[0, 2]], 1e-5
    assert step(z) == pytest.approx(z, abs=1e-8)
    J = np.column_stack([(step(z + d) - step(z - d)) / (2 * h) for d in h * np.eye(2)])
    assert np.linalg.eigvals(J).min() == pytest.approx(-1, abs=1e-5)


def test_the_published_gait_lies_on_the_branch():
    walker = ex.models.simplest_walker()
    found = continuation(
        walker, parameter="gamma", section="heel strike", over=(0.0089, 0.0091), step=0.5
    )
    at = int(np.argmin(np.abs(found.values - 0.009)))
    assert found.values[at] == pytest.approx(0.009, abs=1e-15)
    assert found.x[at, [0, 2]] == pytest.approx([0.2003109, -0.1998325], abs=1e-7)
    assert found.period[at] == pytest.approx(3.882464, abs=1e-6)
    assert np.abs(found.multipliers[at]).max() == pytest.approx(0.58911, abs=1e-4)


def test_two_steps_branch_off_at_the_flip(gaits):
    (flip,) = gaits.found("flip")
    double = gaits.switch()
    assert double.values.min() == pytest.approx(flip.parameter, abs=1e-6)
    assert double.values.min() > flip.parameter
    assert (double.period > 1.9 * flip.period).all()
    assert double.ends[0] == "flip"
    # near the flip both are apart by the square root of the distance
    k = 1
    step = step_of_the_walker(double.values[k])
    z = double.x[k, [0, 2]]
    assert np.abs(step(z) - z).max() > 1e-4
    assert step(step(z)) == pytest.approx(z, abs=1e-7)
    (again,) = double.found("flip")
    assert again.parameter == pytest.approx(0.0176694, abs=1e-6)
    before = double.values < again.parameter - 1e-6
    assert double.stable[before].all()
    four = double.switch()
    assert (four.period > 3.8 * flip.period).all()


# -- relay feedback: the symmetric cycle in closed form -------------------------------------------


def relay(s=1.0, b1=0.0):
    """Return A and b of `models.relay_feedback` with w = z = 1, b2 = 0, b3 = 1."""
    A = np.array([[-(2 + s), 1.0, 0], [-(2 * s + 1), 0, 1], [-s, 0, 0]])
    return A, np.array([b1, 0.0, 1.0])


def half(**values):
    """Return half the period and the state where the relay turns to +1, by its closed form.

    x(h) = -x(0) on the flow of one side: x(0) = (1 + exp(A h))^-1 (exp(A h) - 1) A^-1 b.
    """
    A, b = relay(**values)

    def start(h):
        flow = expm(A * h)
        return np.linalg.solve(np.eye(3) + flow, (flow - np.eye(3)) @ np.linalg.solve(A, b))

    grid = np.linspace(0.5, 4, 36)
    k = np.flatnonzero(np.diff(np.sign([start(h)[0] for h in grid])))[-1]
    h = brentq(lambda h: start(h)[0], grid[k], grid[k + 1], xtol=1e-14)
    return h, start(h)


RELAY = {"w": 1, "z": 1, "b2": 0, "b3": 1}


def test_the_symmetric_cycle_of_a_relay_is_the_closed_form():
    found = continuation(
        ex.models.relay_feedback(), parameter="s", section="relay", count=2, over=(0.5, 2),
        s=1, b1=0, **RELAY,
    )  # fmt: skip
    for k in range(0, len(found), 4):
        h, x = half(s=found.values[k])
        assert found.period[k] == pytest.approx(2 * h, abs=1e-8)
        assert np.abs(found.x[k]) == pytest.approx(np.abs(x), abs=1e-8)
    at = int(np.argmin(np.abs(found.values - 1)))
    assert found.period[at] == pytest.approx(3.679751, abs=1e-6)
    # the multipliers are squares of those of half a cycle, with its saltation
    A, b = relay()
    h, x = half()
    rate = A @ (-x) - b  # before the relay turns
    W_half = (np.eye(3) - np.outer(rate, [1, 0, 0]) / rate[0]) @ expm(A * h)
    wanted = np.sort(np.abs(np.linalg.eigvals(W_half)) ** 2)[1:]
    assert np.sort(np.abs(found.multipliers[at])) == pytest.approx(wanted, abs=1e-7)


def test_a_slide_begins_where_the_other_field_turns_back():
    """Behind the crossing x1' = (A x)_1 - b1 falls to zero: from there on the cycle slides."""
    found = continuation(
        ex.models.relay_feedback(), parameter="b1", section="relay", count=2, over=(0, 0.2),
        b1=0, direction="up", step=0.3, **RELAY,
    )  # fmt: skip

    def behind(b1):
        A, _ = relay(b1=b1)
        return abs((A @ half(b1=b1)[1])[0]) - b1

    (begin,) = found.found("sliding")
    assert begin.parameter == pytest.approx(brentq(behind, 0.05, 0.104, xtol=1e-13), abs=1e-6)
    assert begin.name == "relay"
    assert {kind for kind, _ in found.sequences[0]} == {"crosses"}
    assert {kind for kind, _ in found.sequences[-1]} == {"slides", "leaves"}


# -- other points, on systems whose closed form is a line -----------------------------------------


def hybrid(flow, x="x", **start):
    return ex.HybridSystem(
        "form", x=x, params={"m": ex.Param(0.3, -1, 1)}, modes={"on": flow},
        start={"x": [0] * len(x.split()), "t_end": 10} | start,
    )  # fmt: skip


SPIRAL = ["m*x - 2*y - x*(x**2 + y**2)", "2*x + m*y - y*(x**2 + y**2)"]


@pytest.mark.parametrize(
    ("flow", "x", "period", "kind", "guess"),
    [
        (["m - x**2"], "x", None, "fold", [0.5]),
        (["m*x - x**3"], "x", None, "branch point", [0]),
        (SPIRAL, "x y", None, "Hopf", [0, 0]),
        (SPIRAL, "x y", 1.0, "Neimark-Sacker", [0, 0]),
    ],
)
def test_normal_forms_bifurcate_at_zero(flow, x, period, kind, guess):
    found = continuation(hybrid(flow, x), parameter="m", period=period, guess=guess)
    assert [(q.kind, round(q.parameter, 8)) for q in found.points] == [(kind, 0)]
    assert abs(found.points[0].test) < 1e-8
    inside = np.abs(found.values) > 1e-6
    wanted = found.values < 0 if kind != "fold" else found.state("x") > 0
    assert (found.stable == wanted)[inside].all()
    if kind == "Neimark-Sacker":
        mu = np.exp(found.values + 2j)
        assert np.abs(found.multipliers[:, 0] - mu).min(initial=9) < 1e-9
        assert np.abs(np.abs(found.multipliers).max(axis=1) - np.exp(found.values)).max() < 1e-8


def test_real_eigenvalues_of_opposite_signs_are_no_hopf():
    """The sum of two real eigenvalues, m + 1 and -m - 1/2 + ..., passes zero at a saddle."""
    found = continuation(hybrid(["(1 + m)*x", "-y"], "x y"), parameter="m", over=(-0.5, 0.5))
    assert found.points == ()


def sliding():
    """On x = 0: (1 - a)(1 + y) + a (y + p - 1) = 0, -d y + (p - 1/2) a = 0."""
    return ex.StepSystem(
        "pseudo", x="x y", params={"p": ex.Param(0.3, -2, 2), "d": ex.Param(0.5, 0, 1)}, c=["x"],
        f=["(1 - alpha_1)*(1 + y) + alpha_1*(-1 + p + y)", "-d*y + (p - 0.5)*alpha_1 - 0.2*x"],
        start={"x": [0, 0], "t_end": 5},
    )  # fmt: skip


def test_a_sliding_equilibrium_is_the_closed_form_up_to_its_boundary():
    found = continuation(sliding(), parameter="p", over=(-1, 1.5), guess=[0, 0])
    (edge,) = found.found("boundary")
    assert edge.parameter == pytest.approx(2 / 3, abs=1e-8)  # a = 1: y = 1 - p = 2 (p - 1/2)
    assert edge.name == "c1"
    on = found.values < 2 / 3
    # 1 + y + a (p - 2) = 0 and y = 2 (p - 1/2) a
    p = found.values[on]
    a = -1 / (2 * (p - 0.5) + p - 2)
    assert found.x[on] == pytest.approx(np.column_stack([0 * p, (2 * p - 1) * a]), abs=1e-8)
    off = found.values > 2 / 3 + 1e-3
    p = found.values[off]  # beyond it an equilibrium of the side x > 0
    y = 1 - p
    assert found.x[off] == pytest.approx(np.column_stack([(p - 0.5 - 0.5 * y) / 0.2, y]), abs=1e-8)
    assert set(found.sequences) == {(("c1", 0),), (("c1", 1),)}
    # the sliding flow: y' with a = (1 + y) / (2 - p)
    k = int(np.flatnonzero(on)[3])
    p = found.values[k]
    assert found.multipliers[k, 0].real == pytest.approx(-0.5 + (p - 0.5) / (2 - p), abs=1e-8)


def test_a_sliding_equilibrium_leaves_to_the_other_side_too():
    """The same system seen in a mirror: x is -x and alpha is 1 - alpha."""
    system = ex.StepSystem(
        "mirror", x="x y", params={"p": ex.Param(0.3, -2, 2), "d": ex.Param(0.5, 0, 1)}, c=["x"],
        f=["-alpha_1*(1 + y) - (1 - alpha_1)*(-1 + p + y)", "-d*y + (p - 0.5)*(1 - alpha_1) + 0.2*x"],
        start={"x": [0, 0], "t_end": 5},
    )  # fmt: skip
    found = continuation(system, parameter="p", over=(-1, 1.5), guess=[0, 0])
    (edge,) = found.found("boundary")
    assert edge.parameter == pytest.approx(2 / 3, abs=1e-8)
    p = found.values[found.values > 2 / 3 + 1e-3]
    y = 1 - p
    assert len(p) > 3
    assert found.x[found.values > 2 / 3 + 1e-3] == pytest.approx(
        np.column_stack([-(p - 0.5 - 0.5 * y) / 0.2, y]), abs=1e-8
    )
    assert set(found.sequences) == {(("c1", 0),), (("c1", -1),)}


def test_a_load_lays_a_mass_on_its_stop():
    beam = ex.MechanicalSystem(
        "beam", q="x", params={"P": ex.Param(0.1, -1, 1)}, mass=[[1]], force=["P - x - v_x/10"],
        contacts=[ex.Contact("0.3 - x", e=0.5, name="stop")], start={"q": [0.1], "t_end": 1},
    )  # fmt: skip
    found = continuation(beam, parameter="P")
    (edge,) = found.found("boundary")
    assert (edge.name, edge.parameter) == ("stop", pytest.approx(0.3, abs=1e-8))
    assert found.state("x") == pytest.approx(np.minimum(found.values, 0.3), abs=1e-8)
    assert found.stable.all()


def test_two_impacts_that_meet_are_a_corner():
    two = ex.MechanicalSystem(
        "two", q="x y", params={"s1": ex.Param(0.45, -1, 1)}, mass=[[1, 0], [0, 1]],
        force=["cos(1.5*t) - x - v_x/10", "cos(1.5*t) - y - v_y/10"],
        contacts=[ex.Contact("s1 - x", e=0.8, name="a"), ex.Contact("0.5 - y", e=0.8, name="b")],
        start={"q": [-1, -1], "t_end": 10},
    )  # fmt: skip
    found = continuation(two, parameter="s1", period="2*pi/1.5", over=(0.44, 0.54),
                         guess=[-0.1, -0.1, 2.2, 2.2])  # fmt: skip
    (corner,) = found.points
    assert (corner.kind, corner.parameter) == ("corner", pytest.approx(0.5, abs=1e-8))
    assert corner.test < 1e-8
    assert found.sequences[0] == found.sequences[-1][::-1]


# -- two parameters -------------------------------------------------------------------------------


def test_folds_over_two_parameters_are_where_both_speeds_meet(impacts):
    curve = bifurcation_curve(impacts, "e", (0.78, 0.9), step=0.1)
    assert (curve.kind, curve.parameters) == ("fold", ("s", "e"))
    assert curve.residual.max() < 1e-8
    assert curve.ends == ("end of the range", "end of the range of s")
    assert curve.values[0, 1] == pytest.approx(0.78, abs=1e-12)
    for s, e in curve.values[::3]:

        def apart(s, e=e):
            a, b = speeds(s, e)
            return ((a - b) ** 2).real

        assert s == pytest.approx(brentq(apart, s - 0.1, s + 0.1, xtol=1e-14), abs=1e-7)
    assert impacts.problem.rho[list(impacts.system.parameters).index("e")] == E


def test_flips_over_two_parameters_are_those_of_the_logistic_map():
    """x -> r x (1 - x) + a: r (1 - 2 x) = -1 at x = (1 + 1 / r) / 2."""
    logistic = ex.HybridSystem(
        "logistic", x="x tau", params={"r": ex.Param(2.5, 1, 4), "a": ex.Param(0.0, -0.5, 0.5)},
        modes={"on": ["0", "1"]}, start={"x": [0.6, 0], "t_end": 5},
        guards=[{"mode": "on", "r": "tau - 1", "direction": 1, "to": "on", "name": "tick",
                 "reset": ["r*x*(1 - x) + a", "0"]}],
    )  # fmt: skip
    branch = continuation(logistic, parameter="r", section="tick", over=(1.5, 3.9))
    (flip,) = branch.points
    assert (flip.kind, flip.parameter) == ("flip", pytest.approx(3, abs=1e-8))
    assert branch.state("x") == pytest.approx(1 - 1 / branch.values, abs=1e-8)
    assert branch.multipliers[:, 0].real == pytest.approx(2 - branch.values, abs=1e-8)
    curve = bifurcation_curve(branch, "a", (-0.2, 0.2), step=0.3)
    r, a = curve.values.T
    x = (1 + 1 / r) / 2
    assert curve.kind == "flip"
    assert a == pytest.approx(x - r * x * (1 - x), abs=1e-7)
    assert (a.min(), a.max()) == (pytest.approx(-0.2), pytest.approx(0.2))
    assert "BifurcationCurve of flips" in repr(curve)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("s",), "no second parameter 's'"),
        (("e", (0.9, 1)), "does not hold the present value e = 0.8"),
    ],
)
def test_a_curve_that_cannot_be_followed_is_refused(impacts, given, said):
    with pytest.raises(ex.ExplorerError, match=said):
        bifurcation_curve(impacts, *given)
    with pytest.raises(ex.ExplorerError, match="no bifurcation that a second parameter"):
        bifurcation_curve(dataclasses.replace(impacts, points=()), "e")


# -- the method -------------------------------------------------------------------------------------


class Circle:
    """x^2 + p^2 = 1."""

    scale = np.ones(2)

    def evaluate(self, u, full=True):
        G, J = np.array([u @ u - 1]), 2 * u[None]
        return Evaluation(G, J, float(abs(G[0])), (), {}, {}, None)


@pytest.mark.parametrize("angle", np.linspace(0.1, 6.2, 7))
def test_a_point_in_the_plane_through_the_prediction_is_found(angle):
    problem, w = Circle(), np.array([np.cos(angle), np.sin(angle)])
    along = tangent(problem, problem.evaluate(w), np.array([-w[1], w[0]]))
    assert along == pytest.approx([-w[1], w[0]], abs=1e-12)
    node, _ = correct(problem, w + 0.2 * along, along, 1e-12)
    assert np.hypot(*node.w) == pytest.approx(1, abs=1e-12)
    assert (node.w - w) @ along == pytest.approx(0.2, abs=1e-12)
    assert isinstance(node, Node)


def test_where_nothing_lies_in_the_plane_nothing_is_found():
    assert correct(Circle(), np.array([1.5, 0.0]), np.array([1.0, 0.0]), 1e-12) is None


# -- refusals, text, pictures -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"parameter": "sigma"}, "no parameter 'sigma'"),
        ({"parameter": "s", "over": (1, 0)}, "the first end must be below"),
        ({"parameter": "s", "over": (1, 2)}, "begins at s = 0.5, outside"),
        ({"parameter": "s", "over": (1,)}, "two ends"),
        ({"parameter": "s", "direction": "left"}, "must be one of both, up, down"),
        ({"parameter": "s", "step": -1}, "step"),
        ({"parameter": "s"}, "depends on t, so it has no equilibria"),
        ({"parameter": "s", "period": 1, "section": "stop"}, "not both"),
        ({"parameter": "s", "period": "2*pi/omega", "scheme": "MoreauJean"}, "EventDriven"),
    ],
)
def test_what_cannot_be_followed_is_refused_in_a_sentence(given, said):
    with pytest.raises(ex.ExplorerError, match=said) as error:
        continuation(ex.models.impact_oscillator(), **given)
    assert str(error.value).endswith(".")


def test_a_cycle_that_slides_where_it_begins_is_refused():
    """x' = cos(t)/2 - p sign(x), y' = x - y + cos(t) stays on x = 0 for p > 1/2."""
    system = ex.StepSystem("sliding", x="x y")
    (x, y), (p,), t = system.x, system.params(p=ex.Param(1.0, 0.8, 2)), system.t
    step = 2 * system.switch(x, name="side") - 1
    system.f = [sp.cos(t) / 2 - p * step, x - y + sp.cos(t)]
    system.start(x=[0, 0.5], t_end=20)
    with pytest.raises(ex.ExplorerError, match="lies on the switching surface") as error:
        continuation(system, parameter="p", period="2*pi", guess=[0, 0.5])
    assert str(error.value).endswith(".")


def test_a_branch_ends_with_a_reason_where_the_model_ends():
    """The restitution is at most 1, so there is nothing beyond."""
    found = continuation(
        ex.models.impact_oscillator(), parameter="e", period="2*pi/omega", over=(0.7, 1.2),
        omega=W, s=0.5, e=E, c=C, guess=[-1.2, 0.9], direction="up",
    )  # fmt: skip
    assert "restitution" in found.ends[1]
    assert found.values.max() <= 1
    assert found.values.max() > 0.98


def test_a_closed_branch_is_gone_round_once():
    """x^2 + m^2 = 1/4: two folds, stable above."""
    found = continuation(
        hybrid(["1/4 - m**2 - x**2"]), parameter="m", guess=[0.4], over=(-1, 1), direction="both"
    )
    assert found.ends == ("start", "the branch is closed")
    assert [(q.kind, round(abs(q.parameter), 8)) for q in found.points] == [("fold", 0.5)] * 2
    assert found.values**2 + found.state("x") ** 2 == pytest.approx(np.full(len(found), 0.25))
    assert np.hypot(*np.diff([found.values, found.state("x")], axis=1)).sum() == pytest.approx(
        np.pi, rel=0.05
    )


def test_a_branch_tells_what_it_is(gaits):
    text = repr(gaits)
    assert "Branch of cycles of 'simplest walker'" in text
    assert "flip at 0.0150884" in text
    with pytest.raises(ex.ExplorerError, match="no state 'thta'"):
        gaits.state("thta")
    with pytest.raises(ex.ExplorerError, match="there is none"):
        dataclasses.replace(gaits, points=()).switch()
    still = continuation(hybrid(["m - x**2"], "x"), parameter="m", guess=[0.5])
    with pytest.raises(ex.ExplorerError, match="Equilibria have no flips"):
        still.switch()


def test_the_picture_is_solid_where_stable_dashed_where_not_and_open_in_gaps(impacts, gaits):
    figure = ex.views.continuation(impacts)
    solid, dashed = figure.data[0], figure.data[1]
    assert (solid.line.dash, dashed.line.dash) == ("solid", "dash")
    fold = impacts.found("fold")[0]
    for line, hits in ((solid, None), (dashed, 1)):
        assert np.isnan(line.x).any()
        if hits is not None:
            x = np.array(line.x)[np.isfinite(line.x)]
            assert x.max() == pytest.approx(fold.parameter, abs=1e-6)
            assert x.min() == pytest.approx(impacts.found("grazing")[-1].parameter, abs=1e-3)
    # no segment of a line joins two pieces
    places = {
        (p, x): k for p, x, k in zip(impacts.values, impacts.state("x"), impacts.piece, strict=True)
    }
    for line in (solid, dashed):
        pieces = [places.get(pair) for pair in zip(line.x, line.y, strict=True)]
        for a, b in pairwise(pieces):
            assert a is None or b is None or a == b
    names = [trace.name for trace in figure.data]
    assert {"stable", "unstable", "fold", "grazing", "bound of stability"} <= set(names)
    assert figure.layout.xaxis.title.text == "s (m)"
    assert figure.layout.yaxis.title.text == "x (m)"
    both = ex.views.continuation(gaits, gaits.switch(), state="v_theta")
    assert "rad/s" in both.layout.yaxis.title.text
    with pytest.raises(ex.ExplorerError, match="several parameters"):
        ex.views.continuation(impacts, gaits)
    with pytest.raises(ex.ExplorerError, match=r"study\.continuation returns"):
        ex.views.continuation()


# -- the boost converter: tick by tick in closed form ---------------------------------------------


def boost_tick(x, I_ref, C=1e-4, V_in=10.0, R=20.0, L=1e-3, T=1e-4):
    """March one tick of continuous conduction exactly; the state is (v, i) at the tick."""
    on = (I_ref - x[1]) * L / V_in
    A, rest = np.array([[-1 / (R * C), 1 / C], [-1 / L, 0]]), np.array([V_in, V_in / R])
    v = x[0] * np.exp(-on / (R * C))
    return rest + expm(A * (T - on)) @ (np.array([v, I_ref]) - rest)


def boost_multipliers(I_ref):
    """Return the multipliers of the cycle of one tick, by Newton's method on the exact map."""
    z = np.array([20.0, I_ref - 0.5])
    for _ in range(40):
        J = np.column_stack(
            [(boost_tick(z + h, I_ref) - boost_tick(z - h, I_ref)) / 2e-6 for h in 1e-6 * np.eye(2)]
        )
        z = z + np.linalg.solve(np.eye(2) - J, boost_tick(z, I_ref) - z)
    return np.sort(np.linalg.eigvals(J).real)


def test_a_branch_goes_on_where_its_cycle_is_begun_elsewhere():
    """Where the cycle begins comes near the tick at I_ref = 2.22 A, and is moved."""
    branch = continuation(
        ex.models.boost_converter(), parameter="I_ref", section="tick", over=(2.0, 4.0),
        direction="up", I_ref=2.0,
    )  # fmt: skip
    assert branch.ends[-1] == "end of the range"
    assert (np.diff(branch.values) >= 0).all()
    assert branch.values[-1] == pytest.approx(4, abs=1e-12)
    for I_ref, told in list(zip(branch.values, branch.multipliers, strict=True))[::8]:
        assert np.sort(told.real) == pytest.approx(boost_multipliers(I_ref), abs=2e-6)
    (flip,) = (point for point in branch.points if point.kind == "flip")
    assert boost_multipliers(flip.parameter)[0] == pytest.approx(-1, abs=1e-6)


def test_newton_does_not_pass_a_threshold_and_the_tongue_has_its_edges():
    """From v = 0 it came to a cycle above the threshold, which never fires and none can reach."""
    gamma, omega, A = 1.3, 5.0, 0.35
    low, high = tongue(gamma, A, omega)
    branch = continuation(
        ex.models.integrate_and_fire(), parameter="S", period="2*pi/omega",
        over=(low - 0.3, high + 0.3), S=0.5 * (low + high) + 0.01, gamma=gamma, omega=omega, A=A,
    )  # fmt: skip
    folds = sorted(point.parameter for point in branch.found("fold"))
    assert folds == pytest.approx([low, high], abs=1e-9)
    assert {len(one) for one in branch.sequences} == {1}
    (curve,) = [
        bifurcation_curve(branch, "A", (0.2, 0.5), point=point, step=0.2)
        for point in branch.found("fold")[:1]
    ]
    edges = np.array([tongue(gamma, a, omega) for a in curve.values[:, 1]])
    assert np.abs(edges - curve.values[:, :1]).min(axis=1).max() < 1e-8


def test_two_stops_that_graze_at_once_have_an_error_bar_that_fits():
    """Cycles that hit both end where |Z| reaches them; the free ones behind tell how well it is known."""
    system = ex.MechanicalSystem(
        "two stops", q="x", mass=[[1]], params={"s": ex.Param(1.3, 1, 2)},
        force=["cos(0.6*t) - x - v_x/10"],
        contacts=[ex.Contact("s - x", e=0.6, name="right"), ex.Contact("s + x", e=0.6, name="left")],
        start={"q": [0], "t_end": 10},
    )  # fmt: skip
    branch = continuation(
        system, parameter="s", period="2*pi/0.6", over=(1.3, 1.8), s=1.3198, direction="up", step=0.1,
        guess=[1.2863, -0.3149],
    )  # fmt: skip
    (grazing,) = branch.found("grazing")
    wanted = 1 / abs(1 - 0.6**2 + 0.06j)
    assert abs(grazing.parameter - wanted) <= grazing.error < 1e-7


@pytest.mark.parametrize(
    ("asked", "error", "said"),
    [
        ({}, ex.NotApplicable, "has a clock, which never rests.*section='tick'"),
        ({"period": "T"}, ex.StepFailed, "does not depend on t.*section='tick'"),
    ],
)
def test_cycles_of_a_converter_are_asked_for_by_its_clock(asked, error, said):
    with pytest.raises(error, match=said):
        continuation(ex.models.boost_converter(), parameter="V_in", **asked)


def test_a_branch_of_a_converter_ends_where_it_need_not_switch():
    """With I_ref = V_in / R the switch stays open: the clock and the limit come together."""
    branch = continuation(ex.models.boost_converter(), parameter="I_ref", section="tick", R=16)
    corner = next(one for one in branch.points if one.kind == "corner")
    assert corner.parameter == pytest.approx(10 / 16, abs=1e-8)
    assert branch.ends[0] == "corner: the event sequence cannot continue"
