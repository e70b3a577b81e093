"""Coulomb friction at contacts, event-driven: closed forms, energy, derivatives, refusals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import explorer as ex
from explorer import Contact, EventDriven, MechanicalSystem, MoreauJean
from explorer.errors import BadModel, BadValue, NotApplicable
from explorer.models import models

TIGHT = EventDriven(rtol=1e-12, atol=1e-13)
G = 9.81


def slope(**start):
    """Return a block on a slope, x along it; every number a parameter."""
    values = {"mu": 0.3, "mu_s": 0.4, "tilt": 0.5, "g": G, "v0": 3.0} | start
    return MechanicalSystem(
        "block on a slope", q="x y", params=values, mass=[[1, 0], [0, 1]],
        force=["-g*sin(tilt)", "-g*cos(tilt)"],
        contacts=[Contact("y", name="slope", mu="mu", mu_s="mu_s", slip="v_x")],
        start={"q": [0, 0], "v": ["v0", 0], "t_end": 2.0},
    )  # fmt: skip


def oscillator(force="-x", **contact):
    return MechanicalSystem(
        "oscillator", q="x y", params={"v": 0.2}, mass=[[1, 0], [0, 1]], force=[force, "-1"],
        contacts=[Contact("y", name="floor", **contact)], start={"q": [0, 0], "v": [0, 0], "t_end": 30},
    )  # fmt: skip


def two_blocks():
    return MechanicalSystem(
        "two blocks", q="x1 y1 x2 y2", mass=np.diag([1, 1, 2, 2]).tolist(),
        params={"k": 10.0, "mu1": 0.3, "mu2": 0.4, "g": G, "A": 9.0},
        force=["-k*(x1 - x2) - k*x1", "-g", "-k*(x2 - x1) + A*sin(2*t)", "-2*g + 2*sin(5*t)"],
        contacts=[Contact("y1", mu="mu1", slip="v_x1", name="a"),
                  Contact("y2", mu="mu2", slip="v_x2", name="b")],
        start={"q": [0.5, 0, 0.1, 0], "v": [0, 0, 0, 0], "t_end": 6},
    )  # fmt: skip


def disc():
    return MechanicalSystem(
        "disc", q="x y phi", params={"m": 1.0, "R": 0.1, "g": G, "e": 0.6, "mu": 0.012, "w0": -30.0, "v0": 2.0},
        mass=[["m", 0, 0], [0, "m", 0], [0, 0, "m*R**2/2"]], force=[0, "-m*g", 0],
        contacts=[Contact("y - R", e="e", mu="mu", slip="v_x + R*v_phi", name="floor")],
        start={"q": [0, 1, 0], "v": ["v0", 0, "w0"], "t_end": 2.5},
    )  # fmt: skip


def rod():
    return MechanicalSystem(
        "rod", q="x y th", params={"m": 1.0, "l": 1.0, "g": G, "mu": 0.2, "th0": 1.0}, force=[0, "-m*g", 0],
        mass=[["m", 0, 0], [0, "m", 0], [0, 0, "m*l**2/12"]],
        contacts=[Contact("y - l/2*sin(th)", mu="mu", slip="v_x + l/2*sin(th)*v_th", name="tip")],
        start={"q": [0, "l/2*sin(th0)", "th0"], "v": [0, 0, 0], "t_end": 0.6},
    )  # fmt: skip


def kinds(sol):
    return [e.kind for e in sol.events]


# -- closed forms -------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(mu=st.floats(0.01, 1.5), tilt=st.floats(0.05, 1.2), v0=st.floats(0.5, 4))
def test_a_block_thrown_up_a_slope(mu, tilt, v0):
    """It stops after v0 / (g sin + mu g cos); then it stays if mu > tan, else it slides down."""
    if abs(mu - np.tan(tilt)) < 1e-3:
        return
    up, down = (G * (np.sin(tilt) + s * mu * np.cos(tilt)) for s in (1, -1))
    t_end = 1.7 * v0 / up
    sol = ex.simulate(slope(mu=mu, mu_s=mu, tilt=tilt, v0=v0), TIGHT, t_end=t_end)
    stays = mu > np.tan(tilt)
    assert kinds(sol) == ["sticks" if stays else "turns"]
    assert sol.events[0].t == pytest.approx(v0 / up, rel=1e-12)
    late = t_end - v0 / up
    x = v0**2 / up / 2 - (0 if stays else down * late**2 / 2)
    assert sol.x[-1] == pytest.approx([x, 0, 0 if stays else -down * late, 0], abs=1e-11)
    holds = G * np.sin(tilt) if stays else mu * G * np.cos(tilt)
    assert sol.lam_t[-1, 0] == pytest.approx(holds, rel=1e-9)
    assert sol.lam_t[0, 0] == pytest.approx(-mu * G * np.cos(tilt), rel=1e-12)


def test_the_coulomb_oscillator_stops_after_seven_half_swings():
    sol = ex.simulate(oscillator(mu=1, slip="v_x"), TIGHT, x0=[12, 0, 6, 0])
    assert kinds(sol) == ["turns"] * 7 + ["sticks"]
    assert np.diff([e.t for e in sol.events]) == pytest.approx([np.pi] * 7, abs=1e-11)
    rest = np.hypot(13, 6) - 2 * 7
    assert sol.x[-1] == pytest.approx([1 - rest, 0, 0, 0], abs=1e-10)
    model = ex.simulate(models["coulomb_oscillator"](), TIGHT, x0=[12, 6], t_end=30)
    assert model.x[-1, 0] == pytest.approx(sol.x[-1, 0], abs=1e-10)


@pytest.mark.parametrize(
    "change", [{}, {"k": 1, "m": 1, "g": 1, "mu_s": 1, "mu": 0.5, "v": 0.2}, {"v": 1.1}]
)
def test_stick_slip_is_the_closed_form(change):
    system = models["stick_slip"]()
    sol = ex.simulate(system, TIGHT, t_end=40, **change)
    form = system.exact(sol.t, sol.rho)
    at_events = np.isin(sol.t, [e.t for e in sol.events])
    assert np.abs(sol.q - form["q"]).max() < 1e-9
    assert np.abs(sol.v - form["v"])[~at_events].max() < 1e-9
    from explorer.models.stick_slip import cycle

    sticks, slides = cycle(**{k: sol.rho[k] for k in ("m", "k", "mu_s", "mu", "g", "v")})
    t = np.array([e.t for e in sol.events])
    assert kinds(sol)[:2] == ["slips", "sticks"]
    assert t[0] == pytest.approx(sticks, abs=1e-10)
    assert np.diff(t)[0::2] == pytest.approx(slides, abs=1e-9)
    assert np.diff(t)[1::2] == pytest.approx(sticks, abs=1e-9)


def test_a_stribeck_curve_has_the_published_cycle():
    """F = 1 / (1 + 3 |v_rel|), belt 0.2 (Leine et al. 1998): slip 4.296000, stick 7.705032."""
    system = oscillator(mu="1/(1 + 3*abs(v_x - v))", slip="v_x - v")
    sol = ex.simulate(system, TIGHT, x0=[1.133944669704, 0, 0, 0], t_end=40)
    t = np.array([e.t for e in sol.events])
    assert kinds(sol)[:3] == ["sticks", "slips", "sticks"]
    assert np.diff(t)[:4] == pytest.approx([7.705032, 4.296000] * 2, abs=1e-6)


def test_a_disc_takes_the_tangential_impulse_of_coulomb():
    """|p_t| = mu p while it slides through the impact; else it leaves rolling."""
    sol = ex.simulate(disc(), TIGHT)
    first = sol.events[0]
    p, p_t = sol.p[first.row, 0], sol.p_t[first.row, 0]
    assert abs(p_t) == pytest.approx(0.012 * p, rel=1e-12)
    assert first.x_plus[3] - first.x_minus[3] == pytest.approx(p_t, rel=1e-12)
    rough = ex.simulate(disc(), TIGHT, mu=0.9)
    first = rough.events[0]
    assert abs(rough.p_t[first.row, 0]) < 0.9 * rough.p[first.row, 0]
    assert rough.slip[first.row, 0] == pytest.approx(0, abs=1e-13)
    # rolling without slip from the angular momentum about the contact point: w+ = w / 3 - 2 v / 3R
    w, v = first.x_minus[5], first.x_minus[3]
    assert first.x_plus[5] == pytest.approx(w / 3 - 2 * v / (3 * 0.1), rel=1e-12)


# -- defining properties ------------------------------------------------------------------------


@pytest.mark.parametrize("system", [two_blocks, disc, rod, models["stick_slip"], slope])
def test_the_force_lies_in_the_cone_and_opposes_sliding(system):
    sol = ex.simulate(system(), TIGHT).refined(500)
    assert (sol.gap > -1e-9).all()
    room = sol.lam_max - np.abs(sol.lam_t)
    assert (room > -1e-9).all()
    closed = (sol.active == 1) & ~sol.sticks
    inside = np.ones(len(sol.t), bool)
    inside[[e.row for e in sol.events]] = inside[[e.row - 1 for e in sol.events]] = False
    slides = closed & inside[:, None] & (np.abs(sol.slip) > 1e-9)
    assert slides.any()
    assert np.abs(room[slides]).max() < 1e-9
    assert (np.sign(sol.lam_t) == -np.sign(sol.slip))[slides].all()
    assert np.abs(sol.slip[sol.sticks & inside[:, None]]).max(initial=0) < 1e-9


@pytest.mark.parametrize(
    ("system", "wrt"),
    [
        (two_blocks, ["k", "mu1", "mu2", "A"]),
        (disc, ["R", "e", "mu", "w0", "v0"]),
        (rod, ["m", "l", "mu", "th0"]),
        (slope, ["mu", "tilt", "v0"]),
        (models["stick_slip"], ["m", "k", "mu_s", "mu", "g", "v"]),
    ],
)
def test_four_methods_agree(system, wrt):
    system = system()
    cost = ex.Cost(g=system.q[0], w=2 * system.q[0])
    direct = ex.sensitivity(system, TIGHT, wrt=wrt, cost=cost)
    size = 1 + np.abs(direct.cost_gradient).max()
    for method, tolerance in (("adjoint", 1e-12), ("complex_step", 1e-9)):
        other = ex.sensitivity(system, TIGHT, wrt=wrt, cost=cost, method=method, check=True)
        assert np.abs(other.cost_gradient - direct.cost_gradient).max() < tolerance * size
        assert all(r < 1e-9 for r in other.residuals.values())
    other = ex.sensitivity(system, TIGHT, wrt=wrt, cost=cost, method="finite_difference")
    assert np.abs(other.cost_gradient - direct.cost_gradient).max() < 1e-5 * size


def test_the_derivative_of_a_stribeck_cycle():
    system = MechanicalSystem(
        "belt", q="x y", params={"v": 0.2, "d": 3.0, "x0": 1.2}, mass=[[1, 0], [0, 1]],
        force=["-x", "-1"], start={"q": ["x0", 0], "v": [0, 0], "t_end": 20},
        contacts=[Contact("y", mu="1/(1 + d*abs(v_x - v))", slip="v_x - v")],
    )  # fmt: skip
    wrt = ["v", "d", "x0"]
    direct = ex.sensitivity(system, TIGHT, wrt=wrt, cost="x")
    other = ex.sensitivity(system, TIGHT, wrt=wrt, cost="x", method="finite_difference")
    assert other.cost_gradient == pytest.approx(direct.cost_gradient, abs=1e-5)
    adjoint = ex.sensitivity(system, TIGHT, wrt=wrt, cost="x", method="adjoint")
    assert adjoint.cost_gradient == pytest.approx(direct.cost_gradient, abs=1e-11)


def test_once_it_sticks_the_past_is_forgotten():
    """After the stop the block stays where it is: d v / d anything is zero, and stays zero."""
    sens = ex.sensitivity(slope(mu=0.9, mu_s=0.9), TIGHT, wrt=["mu", "tilt", "v0"], cost="x")
    stop = sens.solution.events[0]
    assert stop.kind == "sticks"
    assert np.abs(sens.solution.S[-1, 2]).max() < 1e-12
    assert sens.solution.S[-1, 0, 2] == pytest.approx(stop.t, rel=1e-11)  # x = v0^2 / 2a: v0 / a


# -- refusals -----------------------------------------------------------------------------------


def test_friction_needs_a_sliding_velocity_that_is_one():
    system = oscillator(mu=0.1, slip="v_x")
    for contact, words in (
        (Contact("y + 1", mu=0.2), "give slip"),
        (Contact("y + 1", slip="v_x*v_y"), "not linear"),
        (Contact("y + 1", slip="x"), "depends on no velocity"),
    ):
        with pytest.raises(BadModel, match=words):
            system.contact(contact)
    with pytest.raises(BadValue, match=r"mu = -0\.1"):
        ex.simulate(slope(mu=-0.1), TIGHT)
    with pytest.raises(BadValue, match="0 <= mu <= mu_s"):
        ex.simulate(slope(mu=0.5, mu_s=0.4), TIGHT)


def test_a_scheme_without_friction_says_so_and_is_not_offered():
    with pytest.raises(NotApplicable, match=r"without friction(.|\n)*MoreauJean, EventDriven"):
        ex.simulate(slope(), ex.NonsmoothGeneralizedAlpha())
    assert [type(s) for s in ex.schemes_for(slope())] == [MoreauJean, EventDriven]


def test_a_start_at_the_edge_of_sliding_has_no_difference():
    """At rest on the belt: one twin slides, so a central difference would be a wrong number."""
    system = oscillator(mu=0.5, slip="v_x - v")
    with pytest.raises(
        BadValue, match="starts with 'floor' sticking, and 'v' moves the start away"
    ):
        ex.sensitivity(system, TIGHT, x0=[0, 0, 0.2, 0], wrt=["v"], cost="x", t_end=1,
                       method="finite_difference")  # fmt: skip


def test_friction_is_displayed_saved_and_loaded(tmp_path):
    system = models["stick_slip"]()
    shown = system._repr_markdown_()
    assert r"\mathrm{Sgn}" in shown
    assert r"\mu_s" in shown
    sol = ex.simulate(system, TIGHT)
    sol.save(tmp_path / "run.npz")
    again = ex.rerun(ex.load(tmp_path / "run.npz"))
    assert np.array_equal(again.x[-1], sol.x[-1])
    assert "friction" in ex.views.friction(sol).layout.yaxis.title.text
    with pytest.raises(NotApplicable, match="draws friction"):
        ex.views.friction(ex.simulate(models["bouncing_ball"](), TIGHT))


@pytest.mark.parametrize(("rough", "held"), [((0.0, 0.5), 1.8), ((0.5, 0.0), 2.2)])
def test_feet_of_one_body_begin_to_slide_together(rough, held):
    """A foot without friction is kept still by the other one, and follows it.

    With one rough foot at height -h below the centre and feet at -b and b, the rough one carries
    N = g cos(a) / (2 -+ mu h / b), and slides from tan(a) = mu / (2 -+ mu h / b) on.
    """
    turn = "0.2*(1 - cos(a)) - 0.2 + y"
    tilted = MechanicalSystem(
        "slab", q="x y a", params={"l": 0.5, "r": 0.5}, mass=np.diag([1, 1, 0.1]).tolist(),
        force=[f"{G}*sin(t/20)", f"-{G}*cos(t/20)", 0], start={"q": [0, 0.2, 0], "t_end": 10},
        contacts=[Contact(f"{turn} - 0.5*sin(a)", e=0, mu="l", slip="v_x + v_a/5", name="left"),
                  Contact(f"{turn} + 0.5*sin(a)", e=0, mu="r", slip="v_x + v_a/5", name="right")],
    )  # fmt: skip
    run = ex.simulate(tilted, TIGHT, l=rough[0], r=rough[1])
    slips = [event.t for event in run.events if event.kind == "slips"]
    begin, share = 20 * np.arctan(0.5 / held), 0.5 / held
    assert slips == [pytest.approx(begin, abs=1e-9)]
    gone = 20 * (np.cos(begin / 20) - np.cos(0.5))
    gone -= share * 20 * (np.sin(0.5) - np.sin(begin / 20))
    assert run.v[-1, 0] == pytest.approx(G * gone, rel=1e-6)
