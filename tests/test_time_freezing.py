"""Time freezing: restitution, rest, friction and hysteresis against closed forms and events."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import explorer as ex
from explorer import Contact, MechanicalSystem
from explorer.errors import NotApplicable
from explorer.reformulations.time_freezing import misses, time_freezing
from explorer.verification.located import flow_energy


def right_limits(sol) -> np.ndarray:
    """Return the rows that are no left limit of an event."""
    return np.setdiff1d(np.arange(len(sol.t)), [e.row - 1 for e in sol.events])


@pytest.mark.parametrize("stages", [2, 4])
@pytest.mark.parametrize("e", [0.0, 0.9, 1.0])
def test_bouncing_ball_is_that_of_the_closed_form(e, stages):
    """Impact times, velocities on both sides, positions: all at event accuracy, at a coarse h."""
    ball = ex.models.bouncing_ball()
    sol = ex.simulate(ball, ex.FESD(stages=stages, h=0.1), e=e)
    first = np.sqrt(2 / 9.81)
    hits = first * (1 + 2 * np.cumsum([0, *[e**k for k in range(1, 12)]]))
    hits = np.unique(hits[hits < sol.t[-1]])
    assert [x.t for x in sol.events] == pytest.approx(hits, abs=1e-9)
    for k, event in enumerate(sol.events):
        assert event.kind == ("impact" if e else "closed")
        assert event.gap_dot_minus == pytest.approx(-9.81 * first * e**k, abs=1e-9)
        assert event.gap_dot_plus == pytest.approx(-e * event.gap_dot_minus, abs=1e-12)
        assert event.impulse == pytest.approx(event.v_plus[0] - event.v_minus[0], abs=1e-12)
    form = ball.exact(sol.t, sol.rho)
    rows = [i for i in right_limits(sol) if np.abs(hits - sol.t[i]).min() > 1e-6]
    assert np.abs(form["q"] - sol.q).max() <= 1e-9
    assert np.abs(form["v"] - sol.v)[rows].max() <= 1e-9
    assert max(sol.fesd_residual.values()) <= 1e-10
    assert sol.route == ("time freezing",)


def test_impacts_that_accumulate_end_in_rest():
    """Behind the Zeno time the ball lies on the floor, which carries its weight."""
    sol = ex.simulate(ex.models.bouncing_ball(), ex.FESD(h=0.1), e=0.8)
    end = np.sqrt(2 / 9.81) * 1.8 / 0.2
    assert sol.events[-1].kind == "closed"
    assert sol.events[-1].t == pytest.approx(end, abs=1e-5)
    rest = sol.t > end
    assert np.abs(sol.q[rest]).max() <= 1e-10
    assert (sol.active[rest] == 1).all()
    assert sol.lam[rest] == pytest.approx(9.81, abs=1e-9)


def test_the_clock_stands_still_in_the_frozen_stretches_only():
    """In pseudo-time the state is continuous; what is cut out is where the clock does not run."""
    sol = ex.simulate(ex.models.bouncing_ball(), ex.FESD(h=0.1), e=0.5, t_end=1.2)
    pseudo = sol.pseudo
    clock = pseudo.x[:, -1]
    assert (np.diff(clock) >= -1e-15).all()
    assert (np.abs(np.diff(pseudo.x[:, 0])) <= 5 * np.diff(pseudo.t) + 1e-12).all()
    assert len(sol.frozen) == len(sol.events)
    for (first, last), event in zip(sol.frozen, sol.events, strict=True):
        inside = (pseudo.t >= first) & (pseudo.t <= last)
        assert clock[inside] == pytest.approx(event.t, abs=1e-14)
        assert last > first


CASES = {
    "one impact": ("impact_oscillator", "one impact", 1e-7),
    "chatter": ("impact_oscillator", "chatter", 1e-8),
    "released from rest at the stop": ("pendulum_wall", "comes to rest", 1e-7),
    "a table that moves": ("vibrating_table", "doubled", 1e-8),
}


@pytest.mark.parametrize("case", CASES)
def test_events_are_those_that_event_driven_locates(case):
    """Curved gaps, mass and gap that depend on q or t, chatter, rest and release."""
    name, preset, near = CASES[case]
    system = getattr(ex.models, name)()
    settings = {k: v for k, v in system.presets[preset].items() if k not in ("text", "h")}
    sol = ex.simulate(system, ex.FESD(stages=4, h=0.05), **settings)
    ref = ex.simulate(system, ex.EventDriven(rtol=1e-11, atol=1e-12), **settings)
    times = np.linspace(0, sol.t[-1], 9)[1:]
    assert np.abs([sol.at(t).q - ref.at(t).q for t in times]).max() <= near
    for kind in ("closed", "released"):
        found, known = ([e.t for e in s.events if e.kind == kind] for s in (sol, ref))
        assert len(found) == len(known) or kind == "closed"
        assert kind == "closed" or found == pytest.approx(known, abs=1e-6)
    assert sol.gap.min() >= -1e-8


def block(e: float = 0.0) -> MechanicalSystem:
    """Return a block that is thrown on a rough floor."""
    return MechanicalSystem(
        "block", q="x y", params={"mu": 0.3, "g": 9.81, "speed": 4.0}, mass=[[2, 0], [0, 2]],
        force=["0", "-2*g"], contacts=[Contact("y", e=e, mu="mu", slip="v_x", name="floor")],
        start={"q": [0, 1], "v": ["speed", 0], "t_end": 2.0, "h": 0.01},
    )  # fmt: skip


def test_inelastic_block_with_friction_slides_to_rest():
    """The impact takes mu u off the tangential speed; then it brakes by mu g, and sticks."""
    sol = ex.simulate(block(), ex.FESD(h=0.05))
    hit, u = np.sqrt(2 / 9.81), np.sqrt(2 * 9.81)
    after = 4 - 0.3 * u
    stop = hit + after / (0.3 * 9.81)
    landed, stuck = sol.events
    assert (landed.kind, stuck.kind) == ("closed", "sticks")
    assert (landed.t, stuck.t) == pytest.approx((hit, stop), abs=1e-9)
    assert landed.v_plus == pytest.approx([after, 0], abs=1e-9)
    assert sol.p_t[landed.row, 0] == pytest.approx(-0.3 * landed.impulse, abs=1e-9)
    assert sol.q[-1] == pytest.approx([4 * hit + after**2 / (2 * 0.3 * 9.81), 0], abs=1e-9)
    slides = (sol.t > hit) & (sol.t < stop)
    assert sol.lam_t[slides] == pytest.approx(-0.3 * 2 * 9.81, abs=1e-8)
    assert sol.sticks[-1, 0]


def test_bounces_with_friction():
    """Each impact takes mu (1 + e) u, the last one no more than what is left."""
    sol = ex.simulate(block(0.5), ex.FESD(h=0.05))
    u, speed = np.sqrt(2 * 9.81), 4.0
    for event in [e for e in sol.events if e.kind == "impact"][:6]:
        speed = max(speed - 0.3 * 1.5 * u, 0.0)
        u *= 0.5
        assert event.v_plus == pytest.approx([speed, u], abs=1e-9)


def test_t_eval_and_start_are_physical():
    """Rows at the times that are asked for; a start of one's own; both sides of an event."""
    ball = ex.models.bouncing_ball()
    times = np.linspace(0.1, 1.0, 7)
    sol = ex.simulate(ball, ex.FESD(h=0.1), q0=[0.5], v0=[1.0], t_eval=times, t_end=1, e=0.9)
    hit = (1 + np.sqrt(1 + 9.81)) / 9.81
    fall = times[times < hit]
    assert set(times) <= set(sol.t)
    at = np.searchsorted(sol.t, fall)
    assert sol.q[at, 0] == pytest.approx(0.5 + fall - 9.81 * fall**2 / 2, abs=1e-12)
    (event,) = sol.events
    assert event.t == pytest.approx(hit, abs=1e-12)
    left, right = (sol.at(event.t, side=side).v[0] for side in ("left", "right"))
    assert right == pytest.approx(-0.9 * left, abs=1e-12)
    assert sol.refined(300).q.shape[0] >= 300


def room(e: float = 0.8) -> MechanicalSystem:
    """Return a ball in a room: walls that exclude each other, and a floor that moves no wall."""
    return MechanicalSystem(
        "room", q="x y", params={"e": e, "g": 9.81, "u": 3.0, "v": 2.0}, force=["0", "-g"],
        start={"q": [0, 1], "v": ["u", "v"], "t_end": 4},
        contacts=[Contact(gap, e="e", name=gap) for gap in ("x + 1", "1 - x", "y", "2 - y")],
    )  # fmt: skip


def coupled_blocks() -> MechanicalSystem:
    """Return two blocks that fall on a rough floor, joined by a spring along it."""
    floors = [Contact(f"y{k}", mu=f"{k}*mu", slip=f"v_x{k}", name=f"floor {k}") for k in (1, 2)]
    return MechanicalSystem(
        "two blocks", q="x1 y1 x2 y2", params={"mu": 0.3, "k": 3.0}, contacts=floors,
        force=["-k*(x1 - x2)", -9.81, "-k*(x2 - x1)", -9.81],
        start={"q": [0, 0.2, 0, 0.5], "v": [2, 0, 0, 0], "t_end": 3},
    )  # fmt: skip


@pytest.mark.parametrize("stages", [2, 3, 4])
@pytest.mark.parametrize("build", [room, lambda: room(0.3), coupled_blocks])
def test_contacts_that_do_not_move_each_other(build, stages):
    """Each as if it were alone, through chatter and rest and stick: as event location has it."""
    system = build()
    sol = ex.simulate(system, ex.FESD(stages=stages, h=0.02))
    ref = ex.simulate(system, ex.EventDriven(rtol=1e-11, atol=1e-12))
    near = 1e-9 if stages > 2 or build is not coupled_blocks else 1e-7  # of order 3
    times = np.linspace(0, sol.t[-1], 12)[1:-1]
    assert np.abs([sol.at(t).q - ref.at(t).q for t in times]).max() <= near
    assert sol.gap.min() >= -1e-9
    for name in (c.name for c in system.contacts):
        found, known = (
            [e.t for e in s.events if e.contact == name and e.kind in ("impact", "sticks", "slips")]
            for s in (sol, ref)
        )
        assert found[:5] == pytest.approx(known[:5], abs=1e-6)
    assert max(sol.fesd_residual.values()) <= 1e-10


@pytest.mark.parametrize(("stages", "h", "values"), [
    (4, 1.55e-3, {"m": 4.95, "g": 2.35, "e": 0.0235, "a": 1.55, "omega": 20.7, "y0": 0.198}),
    (3, 3.86e-3, {"m": 0.142, "g": 10.1, "e": 0.318, "a": 1.05, "omega": 23.9, "y0": 0.0822}),
    (4, 3.24e-3, {"m": 2.24, "g": 15.1, "e": 0.102, "a": 2.41, "omega": 58.0, "y0": 0.0513}),
])  # fmt: skip
def test_a_table_lets_go_of_its_ball(stages, h, values):
    """Releases, where the force falls to zero: elements of equal lengths up to them."""
    table = ex.models.vibrating_table()
    sol = ex.simulate(table, ex.FESD(stages=stages, h=h), **values)
    assert "released" in {e.kind for e in sol.events}
    assert max(sol.fesd_residual.values()) <= 1e-10
    assert sol.gap.min() >= -1e-6


@pytest.mark.parametrize("stages", [2, 4])
@pytest.mark.parametrize("h", [0.001, 0.02])
def test_a_pendulum_comes_to_rest_beside_its_wall(stages, h):
    """No contact at all, and an ever slower gap': turning points are found down to round-off."""
    sol = ex.simulate(
        ex.models.pendulum_wall(), ex.FESD(stages=stages, h=h), m=1, l=0.22, g=10, c=0.52, d=0.23,
        theta0=1.2,
    )  # fmt: skip
    assert not sol.events
    assert np.abs(sol.q[sol.t > 8]).max() < 1e-9
    assert max(sol.fesd_residual.values()) <= 1e-10


@pytest.mark.parametrize("tableau", ["radau_iia", "lobatto_iiic", "gauss"])
def test_elements_are_solved_where_a_contact_has_no_lever(tableau):
    """Through the horizontal, where no force on the wall would move the pendulum: G = 0."""
    wall = ex.models.pendulum_wall()
    sol = ex.simulate(wall, ex.FESD(stages=2, h=5e-3, tableau=tableau), m=1.1, l=0.49, g=15, c=0,
                      d=0.2, e=0.9, theta0=2.63)  # fmt: skip
    assert max(sol.fesd_residual.values()) <= 1e-10


def test_what_is_not_covered_is_named():
    """Several contacts, unequal friction: a sentence that says why and what takes it."""
    with pytest.raises(
        NotApplicable, match=r"(?s)push each other.*simultaneous impacts.*MoreauJean"
    ):
        ex.simulate(ex.models.newtons_cradle(3), ex.FESD())
    with pytest.raises(NotApplicable, match=r"(?s)mu_s and mu differ.*EventDriven"):
        ex.simulate(ex.models.stick_slip(), ex.FESD())
    with pytest.raises(NotApplicable, match="no contact"):
        ex.simulate(ex.models.pendulum(), ex.FESD())
    with pytest.raises(NotApplicable, match=r"exact reformulation: FESD"):
        ex.simulate(ex.models.bouncing_ball(), ex.Newmark())


def test_the_rewriting_is_a_system_to_look_at():
    """A system with step functions like any other: shown, written down, run."""
    frozen = time_freezing(ex.models.bouncing_ball())
    assert frozen.coordinates == ("y", "v_y", "depth", "clock")
    assert "clock" in frozen._repr_markdown_()
    assert time_freezing(frozen.source) is frozen


def test_hysteresis_has_the_period_of_the_closed_form():
    """A thermostat switches at its thresholds; between them the memory tells the mode."""
    room = ex.models.thermostat()
    sol = ex.simulate(room, ex.FESD(stages=4, h=0.2), t_end=30)
    times = np.array([e.t for e in sol.events])
    assert np.diff(times[::2]) == pytest.approx(6.061358, abs=1e-6)
    assert np.abs(room.exact(sol.t, sol.rho)["x"] - sol.x).max() <= 1e-9
    assert [e.to for e in sol.events[:3]] == ["off", "on", "off"]
    assert [sol.mode[e.row] for e in sol.events[:2]] == [1, 0]
    cools = ex.simulate(room, ex.FESD(h=0.2), x0=[20.0], mode0="off", t_end=5)
    assert cools.events[0].t == pytest.approx(np.log(5 / 4) / 0.1, abs=1e-6)
    with pytest.raises(NotApplicable, match="two modes"):
        ex.simulate(ex.models.two_tanks(), ex.FESD())


def test_pseudo_time_is_a_picture():
    """Shaded where the clock stands still; a run without has nothing to draw."""
    sol = ex.simulate(ex.models.bouncing_ball(), ex.FESD(h=0.1), t_end=2)
    figure = ex.views.pseudo_time(sol)
    shade = figure.data[0].x
    assert np.nanmin(shade) == pytest.approx(sol.events[0].t)
    assert len(shade) == 5 * len(sol.events)
    with pytest.raises(NotApplicable, match="pseudo_time draws time freezing"):
        ex.views.pseudo_time(ex.simulate(ex.models.bouncing_ball(), ex.EventDriven()))


def test_contacts_that_push_each_other_are_told_without_a_simplification(monkeypatch):
    """It takes half a minute for the slider-crank, and menus of schemes ask for it."""
    asked = []
    monkeypatch.setattr(sp, "simplify", lambda expr: asked.append(expr) or expr)
    for model in ("rocking_block", "rough_block", "slider_crank"):
        assert "push each other" in misses(getattr(ex.models, model)())
    assert asked == []


@pytest.mark.parametrize("e", [(0.5, 0.5), (0.5, 0.2), (0.0, 0.0)])
def test_impacts_in_a_corner_are_listed_once_each(e):
    """At once on both walls: impulses m (1 + e) |v|, each in one event."""
    system = ex.MechanicalSystem("corner", q="x y", mass=[[1, 0], [0, 1]], force=[0, 0])
    system.contact(ex.Contact("x", e=e[0], name="wall"))
    system.contact(ex.Contact("y", e=e[1], name="floor"))
    system.start(q=[1, 1], v=[-1, -1], t_end=1.5)
    sol = ex.simulate(system, ex.FESD(h=0.1))
    hits = {e.contact: e.impulse for e in sol.events if e.kind in ("impact", "closed")}
    assert len(sol.events) == 2
    assert hits == pytest.approx({"wall": 1 + e[0], "floor": 1 + e[1]})


def rod(mu, inertia, places, q, v, t_end):
    """Return a rod that falls on several points, none of which rebounds."""
    system = ex.MechanicalSystem(
        "rod", q="x y a", mass=[[1, 0, 0], [0, 1, 0], [0, 0, inertia]], force=[0, -9.81, 0]
    )
    for k, u in enumerate(places):
        slip = {"mu": mu, "slip": f"v_x - ({u})*sin(a)*v_a"} if mu else {}
        system.contact(ex.Contact(f"y + ({u})*sin(a)", e=0, name=f"point {k}", **slip))
    system.start(q=q, v=v, t_end=t_end)
    return system


@pytest.mark.parametrize(
    ("mu", "inertia", "places", "q", "v"),
    [
        (0.3, 1 / 12, (-0.5, 0.5), [0, 0.2, 0.3], [1, 0, 0]),
        (0.0, 1 / 12, (-0.5, 0.5), [0, 0.2, 0.3], [1, 0, 0]),
        (0.0, 1 / 2, (-0.5, 0.5), [0, 0.2, 0.3], [1, 0, 0]),
        (0.2, 0.15, (-0.4, 0.3), [0, 0.3, -0.2], [-0.5, -0.3, 0.4]),
        (0.9, 0.3, (-0.5, 0.25), [0, 0.35, 0.4], [0.8, 0, -1]),
    ],
)
def test_contacts_that_push_each_other_without_rebound(mu, inertia, places, q, v):
    """A rod that comes to lie, with friction or without: event location is the other scheme."""
    system = rod(mu, inertia, places, q, v, 1.2)
    frozen = ex.simulate(system, ex.FESD(h=0.02, stages=3))
    located = ex.simulate(system, ex.EventDriven(rtol=1e-10))
    assert frozen.q[-1] == pytest.approx(located.q[-1], abs=5e-8)
    assert frozen.v[-1] == pytest.approx(located.v[-1], abs=5e-8)


def test_a_tower_falls_without_rebound():
    """Two bodies, one above the other: the upper one's impact pushes the lower one's contact."""
    system = ex.MechanicalSystem("tower", q="x y", mass=[[1, 0], [0, 2]], force=[-9.81, -19.62])
    system.contact(ex.Contact("x", e=0, name="floor"))
    system.contact(ex.Contact("y - x", e=0, name="pair"))
    system.start(q=[0.5, 1.2], v=[0, -1], t_end=1.0)
    run = ex.simulate(system, ex.FESD(h=0.02))
    v = np.sqrt(1 + 2 * 9.81 * 1.2)  # of the upper body where it meets the lower one at rest
    hit = [e for e in run.events if e.t > 0.35]
    assert hit[0].t == pytest.approx((v - 1) / 9.81, abs=1e-9)
    assert max(e.impulse for e in hit if e.contact == "pair") == pytest.approx(2 * v, rel=1e-8)
    assert max(e.impulse for e in hit if e.contact == "floor") == pytest.approx(2 * v, rel=1e-8)
    assert np.abs(run.q[-1]).max() <= 1e-10


@pytest.mark.parametrize(("tableau", "stages"), [("gauss", 1), ("gauss", 2), ("radau_iia", 2)])
def test_the_end_has_the_order_of_the_elements(tableau, stages):
    """A block that slides under constant friction: exact, at an end within an element too."""
    slope = ex.models.block_on_slope()
    rho = {"alpha": 0.7, "mu": 0.6, "speed": 3.0}
    scheme = ex.FESD(h=0.05, tableau=tableau, stages=stages)
    run = ex.simulate(slope, scheme, t_end=0.2177, rho=rho)
    slows = run.rho["g"] * (np.sin(0.7) + 0.6 * np.cos(0.7))
    travelled = 3.0 * run.t - slows * run.t**2 / 2
    assert run.t[-1] == 0.2177
    assert run.x[:, 0] == pytest.approx(travelled, abs=1e-13)


@pytest.mark.parametrize(("tableau", "stages", "h"), [("radau_iia", 3, 0.3), ("gauss", 2, 0.1)])
def test_the_energy_of_exact_elements_is_certified_as_exact(tableau, stages, h):
    run = ex.simulate(ex.models.two_blocks(), ex.FESD(h=h, stages=stages, tableau=tableau))
    assert run.certificate["energy"].value < 1e-12


@pytest.mark.parametrize("h", [0.1, 2e-3])
def test_a_speed_that_changes_by_itself_breaks_the_certificate(h):
    run = ex.simulate(ex.models.impact_oscillator(), ex.FESD(h=h), t_end=10)
    assert run.certificate.ok
    states, n = run.march.elements.states, run.march.compiled.n
    whole = states.copy()
    for part in (0.02, 0.37, 0.81, 0.99):
        states[:] = whole
        assert flow_energy(run, 1e-3)[0].ok
        states[int(part * len(states)) :, n : 2 * n] *= 1.02
        assert not flow_energy(run, 1e-3)[0].ok, part
