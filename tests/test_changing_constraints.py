"""Constraints that begin to hold and are released: closed forms, and twins in minimal coordinates."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import sympy as sp
from loops import for_each
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import ellipk

import explorer as ex
from explorer.derivatives.adjoint import solve_adjoint
from explorer.models import models
from explorer.systems.constraints import Constraint
from explorer.verification.positions import changes

TIGHT = ex.EventDriven(rtol=1e-10, atol=1e-12)
METHODS = ("direct", "adjoint", "complex_step", "finite_difference")
NEAR = {"direct": 1e-9, "adjoint": 1e-8, "complex_step": 1e-9, "finite_difference": 1e-6}


def point(*constraints, params=None, force=(0, "-m*g"), contacts=(), name="point", **start):
    """Return a mass in x and y."""
    return ex.MechanicalSystem(
        name, q="x y", params={"m": 2.0, "g": 9.81, **(params or {})},
        mass=[["m", 0], [0, "m"]], force=list(force), constraints=constraints, contacts=contacts,
        start=start,
    )  # fmt: skip


def duality(sens) -> float:
    return solve_adjoint(sens.question, check=True).residuals["duality"]


# -- the pendulum on a peg ------------------------------------------------------------------------


def twin(t_end: float) -> ex.HybridSystem:
    """Return the pendulum on a peg by its angle: the length is another one on either side."""
    peg = models["pendulum_on_peg"]()
    system = ex.HybridSystem("twin", x="a w z", params=dict(peg.parameters))
    system.mode("left", ["w", "-g/L*sin(a)", "(L*sin(a))**2"])
    system.mode("right", ["w", "-g/(L-d)*sin(a)", "((L-d)*sin(a))**2"])
    system.guard("left", "a", direction=1, reset=["a", "w*L/(L-d)", "z"], to="right")
    system.guard("right", "a", direction=-1, reset=["a", "w*(L-d)/L", "z"], to="left")
    system.start(["-a0", "0", "0"], mode="left", t_end=t_end)
    return system


def by_angle(right: bool, wrt: list[str]):
    """Return q, v and the force of the rope by (a, w, z) and the parameters, and their derivatives."""
    a, w, z = sp.symbols("a w z")
    m, g, L, d, _ = rho = sp.symbols("m g L d a0")
    length, depth = (L - d, d) if right else (L, 0)
    q = [length * sp.sin(a), -depth - length * sp.cos(a)]
    v = [length * w * sp.cos(a), length * w * sp.sin(a)]
    f = sp.Matrix([*q, *v, m * (length * w**2 + g * sp.cos(a))])
    slopes = f.jacobian([a, w, z]), f.jacobian([sp.Symbol(k) for k in wrt])
    return sp.lambdify([a, w, z, rho], [f, *slopes], "numpy")


@pytest.fixture(scope="module")
def peg():
    """Return derivatives of the pendulum on a peg, and those of its twin."""
    system, t_end, wrt = models["pendulum_on_peg"](), 5.0, ["L", "d", "g", "a0"]
    cost, polar = {"w": "x", "g": "x**2"}, {"w": "(L-d)*sin(a) + z"}
    mine = ex.sensitivity(system, TIGHT, wrt, cost, t_end=t_end)
    return system, wrt, cost, mine, ex.sensitivity(twin(t_end), TIGHT, wrt, polar)


def test_the_peg_has_its_closed_form_and_never_drifts():
    system = models["pendulum_on_peg"]()
    run = ex.simulate(system, TIGHT)
    exact = system.exact(run.t, run.rho)
    assert run.q == pytest.approx(exact["q"], abs=1e-8)
    assert run.v == pytest.approx(exact["v"], abs=1e-8)
    assert run.certificate.ok
    assert {e.kind for e in run.events} == {"closed"}
    assert min(e.slope for e in run.events) > 0  # of its own `when`
    assert [e.contact for e in run.events[:3]] == ["rope on the peg", "rope", "rope on the peg"]
    height = 1 - np.cos(0.8)
    period = sum(2 * np.sqrt(x / 9.81) * ellipk(height / (2 * x)) for x in (1.0, 0.6))
    assert run.events[2].t - run.events[0].t == pytest.approx(period, abs=1e-8)
    right = run.q[run.q[:, 0] > 0]
    assert right[:, 1].max() == pytest.approx(-np.cos(0.8), abs=1e-4)  # as high as it came from
    long = ex.simulate(system, t_end=200)
    holds = np.array([long.q[:, 0] <= 1e-12, long.q[:, 0] >= -1e-12]).T
    assert len(long.events) > 200
    assert np.abs(np.where(holds, long.phi, 0)).max() <= 1e-12
    assert np.ptp(long.energy) <= 1e-5


def test_the_peg_is_its_twin_with_all_derivatives(peg):
    _, wrt, _, mine, other = peg
    assert mine.cost == pytest.approx(other.cost, abs=1e-9)
    assert len(mine.events) == len(other.events) == 5
    for one, two in zip(mine.events, other.events, strict=True):
        assert one.t == pytest.approx(two.t, abs=1e-9)
        assert one.dt_drho == pytest.approx(two.dt_drho, abs=1e-8)
        assert one.energy == pytest.approx(0, abs=1e-12)
    run, rho = mine.solution, [1.0, 9.81, 1.0, 0.4, 0.8]
    for k in range(0, len(run.t), 7):
        t = float(run.t[k])
        if min(abs(t - e.t) for e in mine.events) < 1e-9 or t == 0:
            continue
        right = run.q[k, 0] > 0
        S = other.at(t)
        x = other.solution.march.sample(np.array([t]))[0][0, :3]
        f, by_x, by_rho = (np.array(x, float) for x in by_angle(right, wrt)(*x, rho))
        slopes = by_x @ S + by_rho
        states = np.array([*run.q[k], *run.v[k], run.lam_phi[k, int(right)]])
        assert states == pytest.approx(f[:, 0], abs=1e-7)
        assert np.abs(mine.S[k] - slopes[:4]).max() <= 1e-7 * (1 + np.abs(slopes).max())
        lam = mine.Lam_phi[k]
        assert lam[int(right)] == pytest.approx(slopes[4], abs=1e-7 * (1 + np.abs(slopes[4]).max()))
        assert (lam[1 - int(right)] == 0).all()
        assert run.lam_phi[k, 1 - int(right)] == 0


@for_each("method", METHODS)
def test_all_methods_find_the_gradient_of_the_peg(peg, method):
    system, wrt, cost, _, other = peg
    found = ex.sensitivity(system, TIGHT, wrt, cost, method, t_end=5.0)
    assert found.cost_gradient == pytest.approx(other.cost_gradient, abs=NEAR[method])
    assert method != "direct" or duality(found) <= 1e-13


@for_each("scheme", [
    ex.EventDriven(rtol=1e-10, atol=1e-12, formulation="projected"),
    ex.EventDriven(method="radau", rtol=1e-10, atol=1e-12),
    ex.EventDriven(method="dopri5", rtol=1e-10, atol=1e-12),
    ex.EventDriven(method="newmark", step=5e-4),
    ex.EventDriven(method="generalized-alpha", step=5e-4),
])  # fmt: skip
def test_other_methods_take_the_peg(peg, scheme):
    system, wrt, cost, mine, _ = peg
    near = 1e-3 if "0.0005" in repr(scheme) else 1e-7
    found = ex.sensitivity(system, scheme, wrt, cost, t_end=5.0)
    run = found.solution
    assert found.cost_gradient == pytest.approx(mine.cost_gradient, abs=near)
    assert run.certificate.ok
    holds = np.array([run.q[:, 0] <= 1e-12, run.q[:, 0] >= -1e-12]).T
    assert np.abs(np.where(holds, run.phi, 0)).max() <= 1e-12


def test_the_error_of_the_penalty_falls_at_captures_too(peg):
    system, wrt, cost, mine, _ = peg
    before = np.inf
    for alpha in (1e4, 1e6, 1e8):
        scheme = ex.EventDriven(rtol=1e-10, atol=1e-12, formulation="penalty", alpha=alpha)
        for method in ("direct", "adjoint"):
            found = ex.sensitivity(system, scheme, wrt, cost, method, t_end=5.0)
            off = np.abs(found.cost_gradient - mine.cost_gradient).max()
            assert off <= 0.02 * before
            assert found.trust.ok
        before = off


# -- captures -------------------------------------------------------------------------------------


def test_a_rod_captures_a_mass_plastically():
    """A mass on the line y = b turns round the pin with w = u b / L^2 behind its capture."""
    rod = Constraint("sqrt(x**2 + y**2) - L", "rod", when="x**2 + y**2 - L**2")
    system = point(
        rod, params={"L": 1.0, "b": 0.6, "u": 2.0}, force=(0, 0), q=[0.0, "b"], v=["u", 0.0],
        t_end=1.5,
    )  # fmt: skip
    L, b, u = sp.symbols("L b u")
    hit = sp.sqrt(L**2 - b**2) / u
    end = sp.asin(b / L) - u * b / L**2 * (sp.Rational(3, 2) - hit)
    x, values = L * sp.cos(end), {L: 1.0, b: 0.6, u: 2.0}
    wrt = ["L", "b", "u"]
    sens = {m: ex.sensitivity(system, TIGHT, wrt, {"w": "x"}, m) for m in METHODS}
    gradient = [float(x.diff(s).subs(values)) for s in (L, b, u)]
    for method, found in sens.items():
        assert found.cost == pytest.approx(float(x.subs(values)), abs=1e-10)
        assert found.cost_gradient == pytest.approx(gradient, abs=NEAR[method]), method
    (event,) = sens["direct"].events
    assert (event.kind, event.contact, event.index) == ("closed", "rod", 0)
    assert event.t == pytest.approx(0.4, abs=1e-12)
    assert event.dt_drho == pytest.approx([float(hit.diff(s).subs(values)) for s in (L, b, u)])
    assert event.v_plus == pytest.approx([2 * 0.36, -2 * 0.8 * 0.6], abs=1e-12)
    assert (event.gap_dot_minus, event.gap_dot_plus) == pytest.approx((1.6, 0), abs=1e-12)
    assert event.impulse == pytest.approx(2 * 1.6)  # it pulls: M dv + phi_q' P = 0
    assert event.energy == pytest.approx(-(1.6**2))
    assert duality(sens["direct"]) <= 1e-13
    run = sens["direct"].solution
    turned = np.arange(len(run.t)) >= event.row
    assert run.lam_phi[:, 0] == pytest.approx(np.where(turned, 2 * 1.44, 0), abs=1e-8)
    assert run.certificate.ok


@for_each("method", METHODS)
def test_a_moving_plate_takes_a_mass_along(method):
    """phi_t: a ball falls on a plate that moves as A sin(w t), and sticks to it."""
    system = ex.MechanicalSystem(
        "plate", q="y", params={"A": 0.2, "w": 3.0, "g": 9.81, "m": 2.0, "h": 1.0}, mass=[["m"]],
        force=["-m*g"], start={"q": ["h"], "t_end": 2.0},
        constraints=[Constraint("y - A*sin(w*t)", "plate", when="A*sin(w*t) - y")],
    )  # fmt: skip
    hit = brentq(lambda t: 1 - 9.81 * t**2 / 2 - 0.2 * np.sin(3 * t), 0, 1, xtol=1e-15)
    found = ex.sensitivity(system, TIGHT, ["h", "A", "w"], {"g": "y"}, method)
    (event,) = found.events
    assert event.t == pytest.approx(hit, abs=1e-12)
    assert event.v_plus == pytest.approx([0.6 * np.cos(3 * hit)], abs=1e-12)
    assert event.energy == pytest.approx(event.v_plus[0] ** 2 - (9.81 * hit) ** 2)
    by_A = (np.cos(3 * hit) - np.cos(6)) / 3
    by_w = 0.2 * (  # of A sin(w t): the integral of A t cos(w t)
        (2 * np.sin(6) - hit * np.sin(3 * hit)) / 3 + (np.cos(6) - np.cos(3 * hit)) / 9
    )
    assert found.cost_gradient == pytest.approx([hit, by_A, by_w], abs=NEAR[method])
    if method == "direct":
        run = found.solution
        on = np.arange(len(run.t)) >= event.row
        lam = -2 * 9.81 + 2 * 0.2 * 9 * np.sin(3 * run.t[on])
        assert run.lam_phi[on, 0] == pytest.approx(lam, abs=1e-9)
        by_force = np.column_stack([0 * run.t, 18 * np.sin(3 * run.t)])[on]
        assert found.Lam_phi[on, 0, :2] == pytest.approx(by_force, abs=1e-8)
        assert (found.Lam_phi[~on] == 0).all()
        assert duality(found) <= 1e-13
        balance = ex.study.energy_balance(run)
        assert np.abs(balance.numerical).max() <= 1e-6


@for_each("slope", [0.5, -0.5])
def test_contacts_share_what_a_capture_does(slope):
    """A block that slides on a floor is hooked: pulled down it stops, pulled up it leaves."""
    hook = Constraint(f"(x - 1)*cos({slope}) + y*sin({slope})", "hook", when="x - 1")
    system = point(
        hook, params={"u": 3.0}, contacts=[ex.Contact("y", e=0.0, name="floor")], q=[0, 0],
        v=["u", 0], t_end=0.5,
    )  # fmt: skip
    run = ex.simulate(system, TIGHT)
    n = np.array([np.cos(slope), np.sin(slope)])
    event = run.events[0]
    assert event.t == pytest.approx(1 / 3)
    free = np.array([3.0, 0]) - n * (n[0] * 3.0)
    assert event.v_plus == pytest.approx([0, 0] if slope > 0 else free, abs=1e-12)
    push = 2 * 3 * np.tan(slope) if slope > 0 else 0.0
    assert run.p[event.row, 0] == pytest.approx(push)
    assert bool(run.active[event.row, 0]) == (slope > 0)
    wrt = ["u", "g"]
    found = [ex.sensitivity(system, TIGHT, wrt, {"w": "x + 2*y"}, m) for m in METHODS]
    for method, one in zip(METHODS, found, strict=True):
        assert one.cost_gradient == pytest.approx(found[0].cost_gradient, abs=NEAR[method])


def test_what_does_not_fit_is_refused_at_its_event():
    system = point(Constraint("x**2 + y**2 - 1", "rod", when="x - 0.5"), q=[0, 0], v=[2, 0])
    run = ex.simulate(system, TIGHT, throw=False)
    assert run.status.name == "constraint_not_met"
    assert run.status.t == pytest.approx(0.25)
    assert "'rod' begins to hold here (when = x - 0.5), but it is not satisfied: phi = -0." in (
        run.status.message
    )
    flat = point(Constraint("(x - 1)**2", "rod", when="x - 1"), q=[0, 0], v=[2, 0])
    run = ex.simulate(flat, TIGHT, throw=False)
    assert run.status.name == "constraint_not_met"
    assert "its gradient is zero" in run.status.message
    late = Constraint("x - t", "lift", when="t - 1"), Constraint("x - 1", "stop", when="t - 1")
    run = ex.simulate(point(*late, force=(0, 0), v=[1, 0]), TIGHT, throw=False)
    assert run.status.name == "constraint_not_met"
    assert "'stop' begins to hold here (when = t - 1), but it contradicts" in run.status.message


def stuck(m, x, v, t_end):
    """Return x and v of masses on a line that stick where they meet, and the times of that."""
    x, v, t, hits, groups = x.copy(), v.copy(), 0.0, [], [[k] for k in range(len(m))]
    while True:
        sides = [(a[-1], b[0]) for a, b in itertools.pairwise(groups)]
        times = [(x[j] - x[i]) / (v[i] - v[j]) if v[i] > v[j] else np.inf for i, j in sides]
        first = min(times, default=np.inf)
        if t + first > t_end:
            return x + v * (t_end - t), v, hits
        x, t, k = x + v * first, t + first, times.index(first)
        one = groups[k] + groups[k + 1]
        groups[k : k + 2] = [one]
        v[one] = m[one] @ v[one] / m[one].sum()
        hits.append(t)


def line(count):
    """Return masses m0, m1, ... on a line that start at p0, p1, ... with u0, u1, ... and stick."""
    n = range(count)
    numbers = {f"{letter}{k}": 1.0 for letter in "mpu" for k in n}
    glue = [Constraint(f"x{k + 1} - x{k}", f"glue {k}", when=f"x{k} - x{k + 1}") for k in n[:-1]]
    return ex.MechanicalSystem(
        "line", q=[f"x{k}" for k in n], params=numbers, force=[0] * count, constraints=glue,
        mass=[[f"m{i}" if i == j else 0 for j in n] for i in n],
        start={"q": [f"p{k}" for k in n], "v": [f"u{k}" for k in n], "t_end": 20.0},
    )  # fmt: skip


def numbers(m, x, v):
    """Return the parameters of `line`."""
    return {f"{letter}{k}": float(a) for letter, part in zip("mpu", (m, x, v), strict=True)
            for k, a in enumerate(part)}  # fmt: skip


def test_masses_that_stick_keep_their_momentum():
    """Many captures, one behind the other; each takes what momentum does not keep."""
    system, wrt, d = line(6), ["u1", "u4", "p2"], 1e-6
    for seed in range(8):
        random = np.random.default_rng(seed)
        m, v = random.uniform(0.5, 3, 6), random.uniform(-1, 1, 6)
        x = np.sort(random.uniform(0, 5, 6))
        sens = ex.sensitivity(system, TIGHT, wrt, {"w": "x0 + 2*x5"}, **numbers(m, x, v))
        run, (q, u, hits) = sens.solution, stuck(m, x, v, 20.0)
        assert [e.t for e in run.events] == pytest.approx(hits, abs=1e-10)
        assert run.q[-1] == pytest.approx(q, abs=1e-10)
        assert run.v[-1] == pytest.approx(u, abs=1e-12)
        given = sum(e.energy for e in run.events)
        assert given == pytest.approx((m @ u**2 - m @ v**2) / 2, abs=1e-12)
        for k, name in enumerate(wrt):
            step = d * np.eye(6)[int(name[-1])]
            moved = (x, v + step), (x, v - step)
            if name[0] == "p":
                moved = (x + step, v), (x - step, v)
            ends = [stuck(m, *start, 20.0)[0] for start in moved]
            quotient = (ends[0] - ends[1]) @ [1, 0, 0, 0, 0, 2] / (2 * d)
            assert sens.cost_gradient[k] == pytest.approx(quotient, abs=1e-7)
    assert len(run.events) > 1


def test_captures_at_one_time_are_one_after_the_other():
    m, x, v = np.array([1.0, 2.0, 1.0]), np.array([-1.0, 0, 1]), np.array([1.0, 0, -1])
    system, given = line(3), numbers(m, x, v)
    run = ex.simulate(system, TIGHT, **given)
    assert [(e.t, e.kind) for e in run.events] == [(pytest.approx(1.0), "closed")] * 2
    assert run.v[-1] == pytest.approx([0, 0, 0], abs=1e-14)
    assert run.certificate.ok
    sens = ex.sensitivity(system, TIGHT, ["u0"], {"w": "x0"}, directional="both", **given)
    assert sens.left is sens.right is None  # whatever comes first: momentum alone counts
    assert sens.cost_gradient == pytest.approx([20 / 4], abs=1e-8)


# -- releases -------------------------------------------------------------------------------------


@for_each("method", METHODS)
def test_a_rod_breaks_at_its_strength(method):
    """From rest beside its pin a pendulum pulls with 3 m g sin(a): then it flies on a parabola."""
    rod = Constraint("sqrt(x**2 + y**2) - L", "rod", when="F - lam_rod")
    system = point(rod, params={"L": 1.0, "F": 45.0}, q=["L", 0], t_end=0.8)
    found = ex.sensitivity(system, TIGHT, ["F", "L", "m"], {"w": "x"}, method)
    (event,) = found.events
    assert (event.kind, event.contact, event.energy) == ("released", "rod", 0)
    assert event.v_plus == pytest.approx(event.v_minus)
    sine = 45 / (3 * 2 * 9.81)
    assert event.x_plus[1] == pytest.approx(-sine, abs=1e-10)
    assert found.cost == pytest.approx(
        np.sqrt(1 - sine**2) - np.sqrt(2 * 9.81 * sine) * sine * (0.8 - event.t), abs=1e-9
    )
    F, L, m = sp.symbols("F L m")
    end = sp.asin(F / (3 * m * sp.Float(9.81)))
    speed = sp.sqrt(2 * sp.Float(9.81) / L)
    # t* = int_0^end da / sqrt(2 g sin(a) / L): its derivative by the end is the integrand there
    rate = speed * sp.sqrt(sp.sin(end))
    here = {F: 45, L: 1, m: 2}
    place, fast = L * sp.cos(end), -L * rate * sp.sin(end)
    by_end = {s: float(end.diff(s).subs(here)) for s in (F, L, m)}
    moved = [by_end[s] / float(rate.subs(here)) for s in (F, L, m)]
    moved[1] += event.t / 2  # t* scales with sqrt(L)
    if method == "direct":
        assert event.dt_drho == pytest.approx(moved, abs=1e-9)
        run = found.solution
        assert (run.lam_phi[run.t > event.t] == 0).all()
        assert run.lam_phi[event.row - 1, 0] == pytest.approx(45, abs=1e-9)
        assert duality(found) <= 1e-13
    gradient = [
        float((place.diff(s) + fast.diff(s) * (0.8 - event.t) - fast * t).subs(here))
        for s, t in zip((F, L, m), moved, strict=True)
    ]
    assert found.cost_gradient == pytest.approx(gradient, abs=10 * NEAR[method])


def test_a_force_that_vanishes_lets_go_as_a_contact_does():
    rope = Constraint("sqrt(x**2 + y**2) - L", "rope", when="lam_rope")
    start = {"q": [0, "-L"], "v": [5.0, 0], "t_end": 0.7}
    mine = point(rope, params={"L": 1.0}, **start)
    other = point(
        params={"L": 1.0}, contacts=[ex.Contact("L - sqrt(x**2 + y**2)", e=0, name="rope")], **start
    )
    found = [ex.sensitivity(s, TIGHT, ["L", "g"], {"w": "x*y"}) for s in (mine, other)]
    (one, two) = (f.events[0] for f in found)
    assert (one.kind, two.kind) == ("released", "released")
    assert one.t == pytest.approx(two.t, abs=1e-9)
    assert one.dt_drho == pytest.approx(two.dt_drho, abs=1e-8)
    assert found[0].cost_gradient == pytest.approx(found[1].cost_gradient, abs=1e-8)
    slack = point(rope, params={"L": 1.0}, q=[0, "L"], v=[0.1, 0], t_end=0.1)  # from above it falls
    run = ex.simulate(slack, TIGHT)
    assert not run.events
    assert run.q[-1, 1] == pytest.approx(1 - 9.81 * 0.01 / 2)


@for_each("method", METHODS)
def test_an_impact_may_release_a_constraint_at_once(method):
    """What a velocity holds is let go by the impact that turns it: both have one time."""
    clamp = Constraint("x", "clamp", when="-v_y")
    system = point(
        clamp, params={"f": 4.0, "h": 1.0}, force=("f", "-m*g"),
        contacts=[ex.Contact("y", e=0.5, name="floor")], q=[0, "h"], v=[0, -0.1], t_end=0.6,
    )  # fmt: skip
    found = ex.sensitivity(system, TIGHT, ["h", "f", "g"], {"w": "x + y"}, method)
    hit, let_go = found.events[:2]
    assert (hit.contact, let_go.contact, let_go.kind) == ("floor", "clamp", "released")
    assert let_go.t == hit.t
    assert let_go.chained
    left = 0.6 - hit.t
    fast = np.sqrt(0.01 + 2 * 9.81)
    by_h = (-2 * left + 1.5 * 9.81 * left) / fast - 0.5
    x = 2 * left**2 / 2
    y = 0.5 * fast * left - 9.81 * left**2 / 2
    assert found.cost == pytest.approx(x + y, abs=1e-9)
    assert found.cost_gradient[:2] == pytest.approx([by_h, left**2 / 4], abs=NEAR[method])
    assert method != "direct" or duality(found) <= 1e-13


# -- what holds at the start, and what is said ----------------------------------------------------


@for_each("case", [
    ({"v": [1.0, 0]}, 0, 1), ({"v": [-1.0, 0]}, 0, 0), ({}, "1", 1), ({}, "-1", 0),
])  # fmt: skip
def test_a_start_on_a_zero_goes_where_it_moves(case):
    start, push, which = case
    peg = models["pendulum_on_peg"]()
    peg.force = [push, "-m*g"]
    peg.start(**{"q": [0, "-L"], "v": [0, 0], "t_end": 0.2} | start)
    run = ex.simulate(peg, TIGHT)
    assert not run.events
    assert (np.abs(run.lam_phi[:, which]) > 1).all()
    assert (run.lam_phi[:, 1 - which] == 0).all()
    with pytest.raises(ex.BadValue, match="starts where the constraint 'rope' changes, and 'x'"):
        ex.sensitivity(peg, TIGHT, ["x"], {"w": "x"})


def test_a_start_is_assembled_for_what_holds():
    peg = models["pendulum_on_peg"]()
    peg.start(q=[0.3, -0.8], assemble="y")
    run = ex.simulate(peg, TIGHT, t_end=0.1)
    assert run.q[0] == pytest.approx([0.3, -0.4 - np.sqrt(0.36 - 0.09)])
    wrong = point(Constraint("x - 1", "late", when="x"), q=[0.5, 0])
    with pytest.raises(ex.BadModel, match="violates its constraint 'late' at the start"):
        ex.simulate(wrong, TIGHT)


def test_formulas_that_differ_by_a_factor_are_one_guard():
    system = point(
        Constraint("x", "a", when="x - y"), Constraint("y", "b", when="2*(y - x)"),
        Constraint("x + y", "c", when="x"), Constraint("x - y - 1", "d", when="lam_d"),
    )  # fmt: skip
    assert [c.constraints for c in system.changes] == [((0, 1), (1, -1)), ((2, 1),), ((3, 1),)]
    assert [c.once for c in system.changes] == [False, False, True]


def test_the_formula_is_checked_kept_and_shown():
    for when, words in (("1", "never changes"), ("m - 2", "never changes"),
                        ("lam_other", "neither a state nor a parameter")):  # fmt: skip
        with pytest.raises(ex.BadModel, match=words):
            point(Constraint("x", "rod", when=when))
    peg = models["pendulum_on_peg"]()
    again = ex.MechanicalSystem.from_spec(peg.to_spec())
    assert again.constraints == peg.constraints
    assert r"\text{while } x > 0" in peg._repr_markdown_()
    for scheme in (ex.MoreauJean(), ex.NonsmoothGeneralizedAlpha()):
        with pytest.raises(ex.NotApplicable, match="constraints that change"):
            ex.simulate(peg, scheme)


def test_a_capture_that_a_parameter_prevents_has_no_derivative():
    """On the x-axis by chance: beside y0 = 0 the track is not met where it begins."""
    track = Constraint("y - x + 1", "track", when="x - 1")
    system = point(track, params={"u": 2.0}, force=(0, 0), q=[0, 0], v=["u", 0], t_end=1.0)
    for method in ("direct", "adjoint"):
        gradient = ex.sensitivity(system, TIGHT, ["u"], {"w": "x"}, method).cost_gradient
        assert gradient == pytest.approx([0.75 - 0.25], abs=1e-9)  # x = 1 + (u/2) (1 - 1/u)
        with pytest.raises(ex.NotApplicable, match=r"'track' begins .* 0\.5 s, and 'y'"):
            ex.sensitivity(system, TIGHT, ["y"], {"w": "x"}, method)


def test_the_certificate_finds_what_holds_on_the_wrong_side():
    run = ex.simulate(models["pendulum_on_peg"](), TIGHT)
    assert run.certificate["changes"].ok
    rows = run.constraints.holds
    rows[:] = ~rows
    (check,) = changes(run, 1e-6)
    assert not check.ok
    assert "where its when is" in check.words


# -- loss of rank ---------------------------------------------------------------------------------


def folding(**start) -> ex.MechanicalSystem:
    """Return a slider-crank with a rod as long as its crank: it folds where the crank is upright."""
    return ex.MechanicalSystem(
        "folding", q="x1 y1 x2",
        constraints=[Constraint("x1**2 + y1**2 - 1", "crank"),
                     Constraint("(x2 - x1)**2 + y1**2 - 1", "rod")],
        start={"q": ["cos(1)", "sin(1)", "2*cos(1)"],
               "v": ["-5*sin(1)", "5*cos(1)", "-10*sin(1)"], "t_end": 1.0} | start,
    )  # fmt: skip


@for_each("scheme", [
    ex.EventDriven(), ex.EventDriven(rtol=1e-4), ex.EventDriven(formulation="projected"),
    ex.EventDriven(method="radau", rtol=1e-6), ex.EventDriven(method="newmark", step=1e-3),
])  # fmt: skip
def test_a_linkage_that_folds_ends_its_run(scheme):
    """The kinetic energy (1 + 4 sin(a)^2) a'^2 / 2 is kept, so the time is an integral."""
    run = ex.simulate(folding(), scheme, throw=False)
    time = quad(lambda a: np.sqrt((1 + 4 * np.sin(a) ** 2) / (1 + 4 * np.sin(1) ** 2)) / 5,
                1, np.pi / 2)[0]  # fmt: skip
    assert run.status.name == "rank_lost"
    assert run.march.lost[0] == pytest.approx(time, abs=1e-3)
    assert f"lose rank at t = {time:.2f}"[:-1] in run.status.message
    assert "condition number" in run.status.message
    assert "'rod' depends on 'crank'" in run.status.message
    with pytest.raises(ex.StepFailed, match="lose rank"):
        ex.sensitivity(folding(), scheme, ["x1"], {"w": "x1"})


def test_what_only_turns_does_not_lose_rank():
    for rtol in (1e-3, 1e-8):
        turning = folding(q=[1, 0, 2], v=[0, 9, 0])
        turning.constraints = turning.constraints[:1]
        assert ex.simulate(turning, ex.EventDriven(rtol=rtol)).status.ok
    soft = ex.EventDriven(formulation="penalty", alpha=1e6)  # it has a matrix for any rank
    assert ex.simulate(folding(), soft, throw=False).status.name != "rank_lost"


def test_constraints_that_run_into_each_other_are_named():
    """Two bars are pulled straight: beyond that no motion is left."""
    system = ex.MechanicalSystem(
        "pulled", q="x1 y1 x2", constraints=[
            Constraint("x1**2 + y1**2 - 1", "a"), Constraint("(x2 - x1)**2 + y1**2 - 1", "b"),
            Constraint("x2 - 1 - t", "pull"),
        ], start={"q": [0.5, "-sqrt(3)/2", 1], "v": [0.5, "0.5/sqrt(3)", 1], "t_end": 3.0},
    )  # fmt: skip
    run = ex.simulate(system, TIGHT, throw=False)
    assert run.status.name == "rank_lost"
    assert run.status.t == pytest.approx(1.0, abs=1e-6)
    assert "'pull' depends on 'a' and 'b'" in run.status.message


def test_a_motion_without_inertia_is_named():
    free = ex.MechanicalSystem("free", q="x y", mass=[[1, 0], [0, 0]], constraints=["x - 1"],
                               start={"q": [1, 0]})  # fmt: skip
    run = ex.simulate(free, TIGHT, throw=False)
    assert run.status.name == "singular"
    assert "leave free, at t = 0 s: nothing determines the acceleration of 'y'" in (
        run.status.message
    )
    carried = ex.MechanicalSystem(
        "carried", q="x y", mass=[[1, 0], [0, 0]], force=[-1, 0], constraints=["x - y"],
        start={"t_end": 1.0},
    )  # fmt: skip
    assert ex.simulate(carried, TIGHT).q[-1] == pytest.approx([-0.5, -0.5])
