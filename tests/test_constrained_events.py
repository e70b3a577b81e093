"""Constraints phi(t, q) = 0 in event-driven runs: closed forms, twins in minimal coordinates, jumps."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import sympy as sp
from loops import for_each

import explorer as ex
from explorer.compiled import compile_system
from explorer.compiled.assembly import assembly
from explorer.compiled.flow import compile_flow
from explorer.kernels.event_driven.velocity_reset import KEPT, NAMED, keep_others
from explorer.models import models

TIGHT = ex.EventDriven(rtol=1e-11, atol=1e-12)
FORMS = ("index1", "projected")
METHODS = ("direct", "adjoint", "finite_difference", "complex_step")


def rod(**start) -> ex.MechanicalSystem:
    """Return a mass on a rod of length L, in x and y."""
    system = ex.MechanicalSystem(
        "rod", q="x y", params={"L": 1.0, "g": 9.81, "m": 2.0}, mass=[["m", 0], [0, "m"]],
        force=["0", "-m*g"], constraints=[ex.systems.Constraint("x**2 + y**2 - L**2", "rod")],
    )  # fmt: skip
    system.start(**{"q": ["L", 0], "t_end": 2.0} | start)
    return system


def pendulum(t_end: float = 2.0) -> ex.MechanicalSystem:
    """Return the same by its angle."""
    return ex.MechanicalSystem(
        "pendulum", q="a", params={"L": 1.0, "g": 9.81}, force=["-g/L*cos(a)"],
        start={"t_end": t_end},
    )  # fmt: skip


def five_bar(e: float | None = 1.0, **start) -> ex.MechanicalSystem:
    """Return the mechanism of Corner et al. 2019, section 7, both springs on pin B."""
    names = {"L01": 5**0.5, "L02": 4.25**0.5, "k": 100.0, "g": 9.81, "m1": 1.0, "m2": 1.5,
             "m3": 1.5, "m4": 1.0, "LA": 2**0.5, "L2": 3.25**0.5, "ground": -2.35}  # fmt: skip
    system = ex.MechanicalSystem("five-bar", q="x1 y1 x2 y2 x3 y3", params=names)
    x1, y1, x2, y2, x3, y3 = system.q
    s = {name: sp.Symbol(name) for name in names}
    bars = [s["m1"], s["m2"], s["m3"], s["m4"]]
    M = sp.zeros(6)
    for i in range(3):
        for a in (2 * i, 2 * i + 1):
            M[a, a] = (bars[i] + bars[i + 1]) / 3
            if i < 2:
                M[a, a + 2] = M[a + 2, a] = bars[i + 1] / 6
    system.mass = M
    half = sp.Rational(1, 2)
    long = [sp.sqrt((x - half) ** 2 + y**2) for x, y in ((x1, y1), (x2, y2))]
    V = sum(s["k"] * (r - s[L]) ** 2 / 2 for r, L in zip(long, ("L01", "L02"), strict=True))
    V += sum(s["g"] * (bars[i] + bars[i + 1]) / 2 * y for i, y in enumerate((y1, y2, y3)))
    system.force, system.potential = [-V.diff(q) for q in system.q], V
    pairs = {"A1": ((-half, 0), (x1, y1), "LA"), "12": ((x1, y1), (x2, y2), "L2"),
             "23": ((x2, y2), (x3, y3), "L2"), "B3": ((half, 0), (x3, y3), "LA")}  # fmt: skip
    for name, (p, q, L) in pairs.items():
        phi = (p[0] - q[0]) ** 2 + (p[1] - q[1]) ** 2 - s[L] ** 2
        system.constraint(ex.systems.Constraint(phi, name))
    if e is not None:
        system.contact(ex.Contact(y2 - s["ground"], e=e, name="ground"))
    q = [-1.5, -1, 0.53029, -2.10283, 1.5, -1]
    system.start(**{"q": q, "t_end": 5.0, "assemble": "x1 y1 x3 y3"} | start)
    return system


@functools.cache
def bars(e: float = 1.0, t_end: float = 5.0) -> ex.MechanicalSystem:
    """Return the mechanism for all tests that change nothing of it: it takes a while to be made."""
    return five_bar(e, t_end=t_end)


@pytest.mark.parametrize("formulation", FORMS)
@pytest.mark.parametrize("tol", [1e-8, 1e-10, 1e-12])
def test_a_rod_swings_as_its_pendulum(formulation, tol):
    scheme = ex.EventDriven(rtol=tol, atol=tol / 10, formulation=formulation)
    run = ex.simulate(rod(), scheme)
    a = ex.simulate(pendulum(), ex.EventDriven(rtol=1e-13, atol=1e-14)).q[-1, 0]
    assert np.allclose(run.q[-1], [np.cos(a), np.sin(a)], rtol=0, atol=20 * tol)
    v, y = run.v, run.q[:, 1]
    tension = 2.0 * ((v**2).sum(axis=1) - 9.81 * y) / 2  # phi_q = 2 (x, y)
    assert np.allclose(run.lam_phi[:, 0], tension, rtol=1e-12, atol=1e-12)
    assert run.certificate.ok


@for_each("formulation", FORMS)
def test_nothing_drifts(formulation):
    run = ex.simulate(rod(), ex.EventDriven(formulation=formulation), t_end=200)
    assert np.abs(run.phi).max() <= 1e-12
    assert np.abs((run.q * run.v).sum(axis=1)).max() <= 1e-12
    energy = run.energy
    assert np.ptp(energy) <= 1e-5 * 2 * 9.81


@for_each("method", METHODS)
def test_derivatives_are_those_of_the_pendulum(method):
    wrt = ["L", "g"]
    mine = ex.sensitivity(rod(), TIGHT, wrt, {"w": "x*y", "g": "x**2"}, method)
    polar = {"w": "L**2*cos(a)*sin(a)", "g": "L**2*cos(a)**2"}
    other = ex.sensitivity(pendulum(), TIGHT, wrt, polar)
    near = 1e-7 if method == "finite_difference" else 3e-10
    assert mine.cost == pytest.approx(other.cost, rel=1e-10)
    assert np.allclose(mine.cost_gradient, other.cost_gradient, rtol=0, atol=near)


@for_each("formulation", FORMS)
def test_sensitivities_stay_on_the_constraint(formulation):
    scheme = ex.EventDriven(rtol=1e-8, formulation=formulation)
    sens = ex.sensitivity(rod(), scheme, ["L", "g"], {"w": "x"})
    (x, y), (v, w) = sens.solution.q.T, sens.solution.v.T
    Qx, Qy, Vx, Vy = sens.solution.S.transpose(1, 2, 0)[:4]
    assert np.abs(x * Qx + y * Qy - np.array([[1.0], [0.0]])).max() <= 1e-11  # phi_L = -2 L
    assert np.abs(x * Vx + y * Vy + v * Qx + w * Qy).max() <= 1e-11


def test_the_five_bar_meets_the_ground_when_it_should():
    sens = ex.sensitivity(bars(), TIGHT, ["L01", "L02"], {"w": "y2"})
    first = sens.events[0]
    assert first.t == pytest.approx(0.311827604187, abs=1e-11)
    assert first.dt_drho[0] == pytest.approx(0.372364561719, abs=1e-9)
    assert sens.solution.certificate.ok


@for_each("method", ["direct", "adjoint"])
def test_the_smooth_benchmark_of_the_five_bar(method):
    smooth = five_bar(None, q=[-1.5, -1, 0, -2, 1.5, -1])
    sens = ex.sensitivity(smooth, TIGHT, ["L01", "L02"], {"g": "x2**2 + (y2 + 2)**2"}, method)
    assert sens.cost == pytest.approx(0.7268774613, abs=1e-10)
    assert np.allclose(sens.cost_gradient, [-4.2288108552, 3.2116041030], rtol=0, atol=1e-8)


def test_all_methods_agree_through_an_impact_of_the_five_bar():
    system, wrt = bars(0.7, t_end=3.0), ["L01", "LA", "L2", "ground", "x2"]
    found = {
        method: ex.sensitivity(system, TIGHT, wrt, {"w": "y2", "g": "x2**2"}, method)
        for method in METHODS
    }
    direct = found["direct"].cost_gradient
    for method, near in zip(METHODS, (0, 1e-9, 1e-7, 1e-10), strict=True):
        assert np.abs(found[method].cost_gradient - direct).max() <= near, method
    projected = ex.EventDriven(rtol=1e-11, atol=1e-12, formulation="projected")
    for method in ("direct", "adjoint"):
        other = ex.sensitivity(system, projected, wrt, {"w": "y2", "g": "x2**2"}, method)
        assert np.abs(other.cost_gradient - direct).max() <= 1e-9


def test_an_impact_keeps_the_constraints_and_the_law():
    for e in (0.0, 0.4, 1.0):
        run = ex.simulate(bars(e), TIGHT, t_end=1.0)
        hit = run.events[0]
        row = hit.row
        x = run.q[row]
        for i, j in ((0, 2), (2, 4)):
            apart, speed = (
                x[i : i + 2] - x[j : j + 2],
                run.v[row, i : i + 2] - run.v[row, j : j + 2],
            )
            assert abs(apart @ speed) <= 1e-11
        assert hit.gap_dot_plus == pytest.approx(-e * hit.gap_dot_minus, abs=1e-12)
        M = np.array(bars().mass.subs(run.rho), float)
        given = M @ (run.v[row] - run.v[row - 1])
        G = np.array([[(c.phi).diff(q) for q in run.system.q] for c in run.system.constraints])
        G = np.array(sp.Matrix(G).subs(dict(zip(run.system.q, x, strict=True))), float)
        pushed = -G.T @ run.p_phi[row] + np.eye(6)[3] * run.p[row, 0]
        assert np.allclose(given, pushed, atol=1e-11)
        energy = run.energy
        if e == 1.0:
            assert energy[row] == pytest.approx(energy[row - 1], rel=1e-12)
        else:
            assert energy[row] < energy[row - 1]


def test_the_error_of_the_penalty_falls_as_one_over_alpha():
    system, wrt = bars(0.7, t_end=3.0), ["L01", "LA", "ground"]
    exact = ex.sensitivity(system, TIGHT, wrt, {"w": "y2"})
    before, calls = np.inf, exact.solution.march.counts[2]
    for alpha in (1e4, 1e6, 1e8, 1e10):
        scheme = ex.EventDriven(rtol=1e-11, atol=1e-12, formulation="penalty", alpha=alpha)
        for method in ("direct", "adjoint"):
            sens = ex.sensitivity(system, scheme, wrt, {"w": "y2"}, method)
            off = np.abs(sens.cost_gradient - exact.cost_gradient).max()
            assert off <= 0.02 * before or off <= 1e-9
            assert sens.solution.march.counts[2] <= 2 * calls
        assert np.abs(sens.solution.phi).max() <= 1 / alpha
        before = off


@for_each("name", ["spherical_pendulum", "pendulum_moving_pivot", "pendulum_on_peg", "five_bar_b"])
def test_a_penalty_takes_at_most_twice_the_right_hand_sides(name):
    """At any alpha, and its error falls as 1 / alpha."""
    system, more = models[name](), {"e": 0} if name == "five_bar_b" else {}
    for rtol in (1e-8, 1e-11):
        exact = ex.simulate(system, ex.EventDriven(rtol=rtol, atol=rtol / 10), **more)
        for alpha in (1e4, 1e7, 1e10):
            scheme = ex.EventDriven(rtol=rtol, atol=rtol / 10, formulation="penalty", alpha=alpha)
            run = ex.simulate(system, scheme, **more)
            assert run.march.counts[2] <= 1.9 * exact.march.counts[2]
            off = np.abs(run.x[-1] - exact.x[-1]).max()
            assert off <= 1e3 / alpha + 1e3 * rtol


def test_redundant_constraints_run():
    """A parallelogram with three cranks: the third one follows from the others."""
    bars = [f"(x{k + 1} - {k})**2 + y{k + 1}**2 - 1" for k in range(3)]
    rods = ["(x2 - x1)**2 + (y2 - y1)**2 - 1", "(x3 - x2)**2 + (y3 - y2)**2 - 1"]
    system = ex.MechanicalSystem(
        "parallelogram", q="x1 y1 x2 y2 x3 y3", params={"g": 9.81}, force=[0, "-g"] * 3,
        constraints=[*bars, *rods, "(x3 - x1)**2 + (y3 - y1)**2 - 4"],
        start={"q": [0.6, -0.8, 1.6, -0.8, 2.6, -0.8], "t_end": 2.0},
    )  # fmt: skip
    run = ex.simulate(system, TIGHT)
    a = np.arctan2(-0.8, 0.6)
    one = pendulum()
    one.start(q=[a])
    turned = ex.simulate(one, TIGHT).q[-1, 0]
    assert np.allclose(run.q[-1, :2], [np.cos(turned), np.sin(turned)], atol=1e-9)
    assert np.abs(run.phi).max() <= 1e-11


@pytest.mark.parametrize("method", ["newmark", "generalized-alpha"])
def test_the_newmark_family_keeps_its_order(method):
    a = ex.simulate(pendulum(), ex.EventDriven(rtol=1e-13, atol=1e-14)).q[-1, 0]
    exact = np.array([np.cos(a), np.sin(a)])
    errors = []
    for h in (0.01, 0.005, 0.0025):
        run = ex.simulate(rod(), ex.EventDriven(method=method, step=h))
        errors.append(np.abs(run.q[-1] - exact).max())
        assert np.abs(run.phi).max() <= 1e-12
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.abs(orders - 2).max() < 0.15


def test_a_start_is_refused_or_assembled():
    guessed = five_bar(assemble=False)
    with pytest.raises(
        ex.BadModel, match=r"violates its constraint '12' at the start: phi = 2\.08"
    ):
        ex.simulate(guessed, TIGHT)
    moving = rod(v=[1.0, 0.0])
    with pytest.raises(ex.BadModel, match="start velocity of 'rod' violates"):
        ex.simulate(moving, TIGHT)
    far = five_bar(q=[-1.5, -1, 9, -2, 1.5, -1])
    with pytest.raises(ex.BadModel, match="cannot be assembled near its start: '"):
        ex.simulate(far, TIGHT)
    with pytest.raises(ex.BadModel, match="no coordinate 'x9'"):
        five_bar(assemble="x9")


def test_a_constraint_that_is_lost_is_told():
    square = ex.MechanicalSystem("square", q="x y", constraints=["x**2"], start={"v": [0, 1]})
    with pytest.raises(ex.BadModel, match="'constraint 1' of 'square' has no gradient"):
        ex.simulate(square, TIGHT)
    later = ex.MechanicalSystem(  # both mean x = 0 at y = 0, and the second more than that elsewhere
        "later", q="x y z", force=[0, 0, 1], constraints=["x", "x + y*z"],
        start={"v": [0, 1, 0], "t_end": 1.0},
    )  # fmt: skip
    run = ex.simulate(later, TIGHT, throw=False)
    assert not (run.status.ok and run.certificate.ok)
    soft = ex.simulate(rod(), ex.EventDriven(formulation="penalty", alpha=1e4, omega=1.0))
    assert not soft.certificate["drift"].ok or np.abs(soft.phi).max() < 1e-2


def test_an_assembled_start_and_its_derivative():
    for scheme in (TIGHT, ex.MoreauJean(h=1e-3)):
        run = ex.simulate(bars(), scheme, t_end=0.1)
        assert np.abs(run.phi[0]).max() <= 1e-12
        assert run.q[0, 2:4] == pytest.approx([0.53029, -2.10283], abs=1e-15)
    wrt = ["LA", "L2", "x2"]
    sens = ex.sensitivity(bars(), TIGHT, wrt, {"w": "y1"}, t_end=0.01)
    S = sens.solution.S[0].T
    for k, name in enumerate(wrt[:2]):
        sides = []
        for d in (-1e-6, 1e-6):
            base = bars().parameters[name].value
            sides.append(ex.simulate(bars(), TIGHT, t_end=0.01, **{name: base + d}).q[0])
        assert np.allclose(S[k, :6], (sides[1] - sides[0]) / 2e-6, atol=1e-8)
    assert S[2, 2:4] == pytest.approx([1.0, 0.0], abs=1e-14)


@for_each("assemble", ["x1 y1 x3 y3", "x1 y1 x2 y2 x3 y3", "y1 x2 x3 y3 x1", True])
def test_derivatives_of_what_is_next_to_a_guess(assemble):
    """Also if more coordinates may change than constraints need, with guesses off by 0.1."""
    q, v = [-1.4, -1.1, "0.6*LA", -2.0, 1.5, -1], [0, 0, "L2", 1, 0.3, 0]
    system = five_bar(assemble=assemble, q=q, v=v)
    wrt = ["LA", "L2", "x2", "v_y2"]
    S = ex.sensitivity(system, TIGHT, wrt, {"w": "y1"}, t_end=0.01).solution.S[0].T
    compiled = compile_system(system)
    rho = system.rho({})
    for k, name in enumerate(["LA", "L2"]):
        place = list(system.parameters).index(name)
        sides = []
        for d in (-1e-6, 1e-6):
            moved = np.array(rho, float)
            moved[place] += d
            sides.append(np.concatenate(compiled.start(moved)[:2]))
        assert np.allclose(S[k, :12], (sides[1] - sides[0]) / 2e-6, atol=2e-8)
    started = assembly(system)
    start = compile_flow(system).start(np.array(rho, float))[0]
    for k, place in ((2, 2), (3, 9)):
        e = 1e-6 * np.eye(12)[place]
        sides = [started(np.array(rho, float), start + s * e) for s in (-1, 1)]
        assert np.allclose(S[k, :12], (sides[1] - sides[0]) / 2e-6, atol=2e-8)


def test_a_moving_pin_pulls_its_rod():
    """A rheonomic constraint: a mass on a rod whose pin moves as a sin(w t), by its angle too."""
    system = ex.MechanicalSystem(
        "moving pin", q="x y", params={"a": 0.2, "w": 3.0, "g": 9.81}, force=[0, "-g"],
        constraints=["(x - a*sin(w*t))**2 + y**2 - 1"],
        start={"q": [0, -1], "v": ["a*w", 0], "t_end": 3.0},
    )  # fmt: skip
    angle = ex.MechanicalSystem(
        "by its angle", q="b", params={"a": 0.2, "w": 3.0, "g": 9.81},
        force=["-g*sin(b) + a*w**2*sin(w*t)*cos(b)"], start={"t_end": 3.0},
    )  # fmt: skip
    x, b = ex.simulate(system, TIGHT).q[-1], ex.simulate(angle, TIGHT).q[-1, 0]
    assert np.allclose(x, [0.2 * np.sin(9.0) + np.sin(b), -np.cos(b)], atol=1e-9)
    mine = ex.sensitivity(system, TIGHT, ["a", "w"], {"w": "y"})
    twin = ex.sensitivity(angle, TIGHT, ["a", "w"], {"w": "-cos(b)"})
    assert np.allclose(mine.cost_gradient, twin.cost_gradient, atol=1e-8)


def test_a_rod_with_friction_at_its_end():
    """A block on a rough floor held by a horizontal rod slides on no more than the rod lets it."""
    system = ex.MechanicalSystem(
        "held block", q="x y", params={"mu": 0.3, "g": 9.81}, force=[5.0, "-g"],
        contacts=[ex.Contact("y", e=0.0, mu="mu", slip="v_x")], constraints=["x"],
        start={"q": [0, 0], "t_end": 1.0},
    )  # fmt: skip
    run = ex.simulate(system, TIGHT)
    assert np.abs(run.q).max() <= 1e-14
    assert np.allclose(run.lam[1:-1, 0], 9.81)
    assert np.isfinite(run.lam_phi).all()


def test_forces_have_derivatives_with_their_jumps():
    """Of the rod lam = (v^2 - g y) / 2 L^2 m: by each parameter, from Q and V."""
    system, wrt = rod(), ["L", "g"]
    sens = ex.sensitivity(system, TIGHT, wrt, {"w": "x"})
    run, L, g = sens.solution, 1.0, 9.81
    (x, y), (v, w) = run.q.T[..., None], run.v.T[..., None]
    (_, Qy), (Vx, Vy) = sens.Q.transpose(1, 0, 2), sens.V.transpose(1, 0, 2)
    lam = 2.0 * (v**2 + w**2 - g * y) / (2 * L**2)
    wanted = 2.0 * (2 * v * Vx + 2 * w * Vy - g * Qy) / (2 * L**2)
    wanted += np.stack([-2 * lam[:, 0] / L, -2.0 * y[:, 0] / 2], axis=1)
    np.testing.assert_allclose(sens.Lam_phi[:, 0], wanted, atol=1e-9)
    a = -lam * x  # m a_x = -2 x lam, m = 2
    by_a = -sens.Lam_phi[:, 0] * x - lam * sens.Q[:, 0]
    np.testing.assert_allclose(run.rates[:, 2:3], a, atol=1e-10)
    np.testing.assert_allclose(sens.A[:, 0], by_a, atol=1e-9)


def test_forces_of_the_five_bar_jump_as_difference_quotients_do():
    wrt, d = ["L01", "LA"], 1e-5
    times = np.array([0.2, 0.5, 1.0])
    sens = ex.sensitivity(bars(), TIGHT, wrt, {"w": "y2"}, t_end=1.2, t_eval=times)
    rows = np.searchsorted(sens.t, times)
    for k, name in enumerate(wrt):
        value = bars().parameters[name].value
        sides = [
            ex.simulate(bars(), TIGHT, t_end=1.2, t_eval=times, **{name: value + s * d})
            for s in (-1, 1)
        ]
        for quantity, mine in (("lam_phi", sens.Lam_phi),):
            two = [getattr(s, quantity)[np.searchsorted(s.t, times)] for s in sides]
            quotient = (two[1] - two[0]) / (2 * d)
            np.testing.assert_allclose(mine[rows, :, k], quotient, rtol=1e-6, atol=1e-5)


@for_each("method", METHODS)
def test_a_cost_may_hold_forces(method):
    wrt = ["L", "g"]
    mine = ex.sensitivity(rod(), TIGHT, wrt, {"g": "(2*L*lam_rod)**2"}, method)
    polar = {"g": "(2.0*(L*v_a**2 - g*sin(a)))**2"}  # the tension is 2 L lam
    other = ex.sensitivity(pendulum(), TIGHT, wrt, polar)
    near = 1e-4 if method == "finite_difference" else 1e-7
    assert mine.cost == pytest.approx(other.cost, rel=1e-9)
    np.testing.assert_allclose(mine.cost_gradient, other.cost_gradient, rtol=0, atol=near)


def test_a_cost_may_hold_contact_forces_through_impacts():
    """A ball that comes to rest, with its weight in the cost: int lam dt from the end of the bounces."""
    ball = ex.MechanicalSystem(
        "ball", q="y", params={"g": 9.81, "m": 2.0}, mass=[["m"]], force=["-m*g"],
        contacts=[ex.Contact("y", e=0.5, name="floor")], start={"q": [1.0], "t_end": 3.0},
    )  # fmt: skip
    for method in ("direct", "adjoint"):
        sens = ex.sensitivity(ball, TIGHT, ["g", "m"], {"g": "lam_floor"}, method)
        first = np.sqrt(2 / 9.81)
        rest = first * (1 + 2 * 0.5 / (1 - 0.5))
        assert sens.cost == pytest.approx(
            2 * 9.81 * (3.0 - rest), abs=2e-5
        )  # bounces of 1e-6 s are left out
        by_g = 2 * (3.0 - rest) + 2 * 9.81 * rest / (2 * 9.81)
        np.testing.assert_allclose(sens.cost_gradient, [by_g, 9.81 * (3.0 - rest)], rtol=1e-6)


@functools.cache
def by_paper(**start) -> ex.MechanicalSystem:
    """Return the five-bar with the law of Corner et al. 2019: (v_x, v_y) -> (v_x, -v_y)."""
    system = five_bar(None, **start)
    law = {"x2": "v_x2", "y2": "-v_y2"}
    system.contact(ex.Contact("y2 - ground", e=1.0, name="ground", reset=law))
    return system


def test_the_five_bar_of_the_paper_hits_the_ground_at_these_times():
    sens = ex.sensitivity(by_paper(), TIGHT, ["L01", "L02"], {"w": "y2"})
    times = [event.t for event in sens.events]
    assert times == pytest.approx([0.311827604187, 1.779743867043, 2.453793178832], abs=1e-10)
    moved = [event.dt_drho[0] for event in sens.events]
    assert moved == pytest.approx([0.372364561719, 1.378622063829, 3.727160056059], abs=1e-8)
    run = sens.solution
    assert np.abs(run.phi).max() <= 1e-12
    assert max(abs(event.energy) for event in sens.events) == pytest.approx(0.048, abs=2e-3)
    for event in sens.events:
        row = event.row
        assert run.energy[row] - run.energy[row - 1] == pytest.approx(event.energy, abs=1e-9)
        assert event.x_plus[8:10] == pytest.approx([event.x_minus[8], -event.x_minus[9]])


def test_all_methods_agree_through_the_law_of_the_paper():
    wrt = ["L01", "LA", "L2", "ground", "x2"]
    found = {
        method: ex.sensitivity(by_paper(), TIGHT, wrt, {"w": "y2", "g": "x2**2"}, method, t_end=2.2)
        for method in METHODS
    }
    direct = found["direct"].cost_gradient
    for method, near in zip(METHODS, (0, 1e-9, 1e-6, 1e-10), strict=True):
        assert np.abs(found[method].cost_gradient - direct).max() <= near, method


def test_a_law_of_velocities_without_constraints_is_newtons_law():
    law = {"x": "v_x", "y": "-0.6*v_y"}
    thrown = {"q": "x y", "params": {"g": 9.81}, "force": [0, "-g"],
              "start": {"q": [0, 1], "v": [1, 0], "t_end": 1.5}}  # fmt: skip
    one = ex.MechanicalSystem("law", contacts=[ex.Contact("y", e=0.6, reset=law)], **thrown)
    two = ex.MechanicalSystem("impulse", contacts=[ex.Contact("y", e=0.6)], **thrown)
    a, b = ex.simulate(one, TIGHT), ex.simulate(two, TIGHT)
    np.testing.assert_allclose(a.q[-1], b.q[-1], atol=1e-12)
    np.testing.assert_allclose(a.p.sum(), b.p.sum(), rtol=1e-12)
    assert [e.energy for e in a.events] == pytest.approx([e.energy for e in b.events])


def test_a_law_of_velocities_that_makes_no_sense_is_refused():
    with pytest.raises(ex.BadModel, match="names 'z', which is no coordinate"):
        ex.MechanicalSystem("m", "x y", contacts=[ex.Contact("y", e=1, reset={"z": "1"})])
    with pytest.raises(ex.NotApplicable, match="laws of velocities"):
        ex.simulate(by_paper(), ex.MoreauJean())
    many = five_bar(None)
    law = {"x1": "v_x1", "x2": "v_x2", "y2": "-v_y2"}
    many.contact(ex.Contact("y2 - ground", e=1.0, reset=law))
    run = ex.simulate(many, TIGHT, throw=False)
    assert not run.status.ok
    again = ex.MechanicalSystem.from_spec(by_paper().to_spec())
    assert dict(again.contacts[0].reset).keys() == {"x2", "y2"}
    assert ex.simulate(again, TIGHT, t_end=0.5).events[0].t == pytest.approx(0.311827604187)


def test_a_law_of_one_velocity_keeps_another_that_is_chosen_by_pivoting():
    """One coordinate of the others goes on as before, and its name in the law changes nothing."""
    system, wrt = five_bar(None, t_end=1.0), ["L01", "LA", "L2", "ground", "x2"]
    system.contact(ex.Contact("y2 - ground", e=0.8, name="ground", reset={"y2": "-0.8*v_y2"}))
    run = ex.simulate(system, TIGHT)
    row = run.events[0].row
    before, behind = run.v[row - 1], run.v[row]
    assert behind[3] == pytest.approx(-0.8 * before[3], rel=1e-12)
    (kept,) = np.flatnonzero(np.abs(behind - before) <= 1e-14 * np.abs(before).max())
    name = system.coordinates[kept]
    named = five_bar(None, t_end=1.0)
    law = {"y2": "-0.8*v_y2", name: f"v_{name}"}
    named.contact(ex.Contact("y2 - ground", e=0.8, name="ground", reset=law))
    np.testing.assert_allclose(ex.simulate(named, TIGHT).q[-1], run.q[-1], atol=1e-12)
    assert np.abs(run.phi).max() <= 1e-12
    found = {m: ex.sensitivity(system, TIGHT, wrt, {"w": "y2", "g": "x2**2"}, m) for m in METHODS}
    direct = found["direct"].cost_gradient
    for method, near in zip(METHODS, (0, 1e-9, 1e-7, 1e-10), strict=True):
        assert np.abs(found[method].cost_gradient - direct).max() <= near, method


def test_which_coordinates_depend_is_found_by_pivoting():
    """The columns of the others are invertible beside those that are named."""
    rng = np.random.default_rng(4)
    for _ in range(50):
        n, held = 6, int(rng.integers(1, 5))
        G = rng.normal(size=(held, n))
        marks = np.zeros(n, np.int64)
        marks[rng.choice(n, int(rng.integers(0, n - held + 1)), replace=False)] = NAMED
        named = marks == NAMED
        assert keep_others(G.copy(), held, marks) == n - held - named.sum()
        assert (marks[named] == NAMED).all()
        depend = np.flatnonzero((marks != NAMED) & (marks != KEPT))
        assert len(depend) == held
        assert np.linalg.cond(G[:, depend]) < 1e6
    twice = np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0]])
    assert keep_others(twice.copy(), 2, np.zeros(3, np.int64)) == -1
    assert keep_others(twice[:1].copy(), 1, np.array([NAMED, NAMED, 0])) == -1


def test_a_touch_without_impulse_is_a_near_miss_and_no_impact():
    """Where the five-bar's first graze begins: the gap of a step has a zero, that of the flow not.

    States are on their constraints a moment later, and a joint that seemed to close does not.
    """
    system, loose = ex.models.five_bar_b(), ex.EventDriven(rtol=1e-6, atol=1e-7)

    def run(ground: float):
        return ex.simulate(system, loose, ground=ground, t_end=4.0)

    def count(one) -> int:
        return len(one.events)

    low, high = -2.35, -2.3166
    few, many = count(run(low)), count(run(high))
    assert few != many
    while 0.5 * (low + high) not in (low, high):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if count(run(middle)) == few else (low, middle)
    runs = [run(low + k * s) for s in (3e-16, 1e-14, 1e-12, 1e-10) for k in (-1, 0, 1)]
    for one in runs:
        assert one.certificate["impact law"].ok
        assert all(e.impulse > 0 for e in one.events if e.kind == "impact")
    touched = [one for one in runs if one.nearest == 0.0]
    assert touched
    sens = ex.sensitivity(system, loose, ["ground"], {"w": "y_2"}, rho=touched[0].rho, t_end=4.0)
    assert "near miss" in {check.name for check in sens.trust.certificate.broken} or sens.doubts
    assert not sens.trust.ok
