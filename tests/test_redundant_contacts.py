"""Contacts that share a load, wedge, or meet in flight: solved for, and Coulomb's law holds."""

from contextlib import nullcontext

import numpy as np
import pytest
import sympy as sp
from loops import for_each

import explorer as ex
from explorer import Contact, MechanicalSystem, MoreauJean
from explorer.errors import SchemeWarning

STEP = MoreauJean(h=1e-3)


def blocks(n: int, spatial: bool, drop: float = 0.0) -> MechanicalSystem:
    """Return n blocks on each other that turn a little, with contacts at all corners, shaken."""
    names, wide, high = "xyzabc" if spatial else "xzb", 0.5, 0.4
    each = len(names)
    system = MechanicalSystem("blocks", [f"{c}{i}" for i in range(n) for c in names])
    mu, e, A, ratio = system.params(mu=0.5, e=0.0, A=9.0, ratio=1.0)
    q, v = system.q, system.v
    push = A * sp.sin(6 * system.t)

    def corner(i, s, r, top, w):
        at = dict(zip(names, w[each * i : each * i + each], strict=True))
        x, y, z = s * wide / 2, r * wide / 2, (high if top else -high) / 2
        a, b, c = (at.get(k, 0) for k in "abc")
        return at["x"] + b * z - c * y, at.get("y", 0) + c * x - a * z, at["z"] + a * y - b * x

    inertia, force = [], []
    for i in range(n):
        m = ratio ** (sp.Rational(i, max(n - 1, 1)))
        side, flat = m * (wide**2 + high**2) / 12, m * wide**2 / 6
        inertia += [m, m, m, side, side, flat] if spatial else [m, m, side]
        force += [m * push, m * A / 3, -m * 9.81, 0, 0, 0] if spatial else [m * push, -m * 9.81, 0]
        for s in (-1, 1):
            for r in (-1, 1) if spatial else (0,):
                here, slip = corner(i, s, r, False, q), corner(i, s, r, False, v)
                gap, way = here[2] + drop, slip
                if i:
                    gap = here[2] - corner(i - 1, s, r, True, q)[2]
                    under = corner(i - 1, s, r, True, v)
                    way = [x - y for x, y in zip(slip, under, strict=True)]
                slides = tuple(way[:2]) if spatial else way[0]
                system.contact(Contact(gap, e, f"{i} {s} {r}", mu, slides))
    system.mass, system.force = sp.diag(*inertia).tolist(), force
    system.start(q=[0] * each * n, t_end=0.3)
    return system


SPACE, PLANE = blocks(2, True, 0.02), blocks(3, False, 0.02)
HIGH = blocks(5, True)


def off_the_law(run) -> float:
    """Return how far the run is from Signorini's, Newton's and Coulomb's law, in m/s."""
    p, e = run.p[1:], run.rho["e"]
    w = run.gap_dot[1:] + e * run.gap_dot[:-1]
    p_t, slip = (x[1:] if x.ndim == 3 else x[1:, :, None] for x in (run.p_t, run.slip))
    size, speed = np.linalg.norm(p_t, axis=2), np.linalg.norm(slip, axis=2)
    most = run.rho["mu"] * p
    assert (p >= 0).all()
    assert (size <= most * (1 + 1e-9) + 1e-12).all()
    lost = np.abs((p_t * slip).sum(axis=2) + most * speed)
    active = run.active[1:, : p.shape[1]] > 0
    closed = np.abs(np.where(p > 0, w, 0)).max()
    return max(closed, -np.where(active, w, 0).min(), (lost / (most.max() + 1e-300)).max())


@for_each("mu", [0.001, 0.3, 0.7, 1.0, 3.0])
@for_each("change", [{}, {"e": 0.5}, {"ratio": 1e4}, {"ratio": 1e-4}, {"A": 3.0}])
@for_each("system", [SPACE, PLANE])
def test_blocks_on_their_corners_obey_the_law(system, change, mu):
    """They land, slide and tip; two corners more than needed carry each, in space."""
    run = ex.simulate(system, STEP, rho={"mu": mu} | change)
    assert off_the_law(run) < 1e-7
    assert run.residuals[:, 0].max() < 1e-7


@pytest.mark.parametrize("change", [{"mu": 0.3}, {"mu": 0.7, "ratio": 1e-4}, {"mu": 3.0}])
def test_a_higher_stack_obeys_it(change):
    assert off_the_law(ex.simulate(HIGH, STEP, rho=change)) < 1e-7


def test_blocks_that_fly_together_need_no_impulses():
    """What touches there is at rest to round-off, and asks for nothing."""
    system = blocks(3, True, 5.0)
    run = ex.simulate(system, STEP, rho={"ratio": 1e4}, t_end=0.6)
    assert np.abs(run.p).max() < 1e-9
    assert np.abs(run.q[-1, 2::6] + 9.81 * 0.6**2 / 2).max() < 1e-6


def test_a_direction_of_friction_that_nothing_answers_to():
    """The second tangent moves with the normal only: the block stops as along a line."""
    block = MechanicalSystem(
        "block", "x z", force=[0, -9.81], start={"q": [0, 0], "v": [1, 0], "t_end": 0.4},
        contacts=[Contact("z", mu=0.5, slip=("v_x", "v_z"))],
    )  # fmt: skip
    run = ex.simulate(block, STEP)
    assert run.q[-1, 0] == pytest.approx(1 / (2 * 0.5 * 9.81), abs=1e-3)
    assert np.abs(run.v[-1]).max() < 1e-12


def in_a_corner(mu: float, e: float) -> ex.DiscSystem:
    start = {"q": [0.1001, 0.1001, 0], "v": [-1, -0.8, 0], "t_end": 0.05, "h": 1e-3}
    walls = [(0, 1, 0), (1, 0, 0)]
    return ex.DiscSystem("corner", 1, radius=0.1, walls=walls, e=e, mu=mu, start=start)


@pytest.mark.parametrize("e", [0.2, 0.8])
@pytest.mark.parametrize("mu", [0.9, 1.0, 1.5])
def test_a_disc_that_a_corner_wedges_does_not_rebound(mu, e):
    """From mu = 1 on no impulses give back e of both approaches; the record tells what is missing."""
    told = (
        pytest.warns(SchemeWarning, match="in 1 of 50 steps.*wedges") if mu >= 1 else nullcontext()
    )
    with told:
        run = ex.simulate(in_a_corner(mu, e), STEP)
    wedged = run.residuals[:, 0] > 1e-6
    assert wedged.any() == (mu >= 1)
    if wedged.any():
        row = int(np.argmax(wedged))
        assert run.residuals[row, 0] == pytest.approx(e * np.abs(run.gap_dot[row - 1]).max())
        closed = run.p[row] > 0
        assert np.abs(run.gap_dot[row, closed]).max() < 1e-6
        assert run.kinetic[row] <= run.kinetic[row - 1]


def test_a_pile_of_rough_discs_is_solved_for():
    """mu = 0.9: neither sweeps nor Newton's method for rigid contacts alone get there."""
    run = ex.simulate(ex.models.disc_pile(60), mu=0.9, t_end=1.3)
    assert run.residuals[:, 0].max() < 4e-3 * np.abs(run.gap_dot).max()
    assert (np.abs(run.p_t) <= 0.9 * run.p + 1e-12).all()


def test_feet_that_share_a_force_anew_have_no_events_of_friction():
    """A box on three feet under 5 sin(2 t): slips, sticks and turns once, at the times of one foot."""

    def events(feet, force, v):
        system = ex.MechanicalSystem("box", q="x y a", mass=np.diag([1, 1, 0.2]).tolist())
        system.force = [force, "-9.81", 0]
        for k, u in enumerate(np.linspace(-0.5, 0.5, feet)):
            slip = f"v_x + 0.2*v_a - {u}*sin(a)*v_a"
            gap = f"y + {u}*sin(a) - 0.2*(1 - cos(a))"
            system.contact(ex.Contact(gap, e=0, mu=0.3, slip=slip, name=f"foot {k}"))
        system.start(q=[0, 0, 0], v=[v, 0, 0], t_end=4)
        run = ex.simulate(system, ex.EventDriven())
        assert len(run.event_rows) >= len(run.events)  # where forces jump, curves are open
        return [(e.kind, round(e.t, 6)) for e in run.events]

    def one_foot(force, v):
        system = ex.MechanicalSystem("foot", q="x y", force=[force, "-9.81"])
        system.contact(ex.Contact("y", e=0, mu=0.3, slip="v_x"))
        system.start(q=[0, 0], v=[v, 0], t_end=4)
        return [(e.kind, round(e.t, 6)) for e in ex.simulate(system, ex.EventDriven()).events]

    for force, v in (("5*sin(2*t)", 0.0), ("-2 - 2*cos(3*t)", 1.0)):
        truth = one_foot(force, v)
        assert {kind for kind, _ in truth} >= {"slips", "sticks"}
        assert [events(feet, force, v) for feet in (2, 3)] == [truth, truth]
