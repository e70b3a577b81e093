"""Limit cycles that begin on a closed contact, chatter, stick or slide, against long simulation."""

from __future__ import annotations

import numpy as np
import pytest

import explorer as ex
from explorer.study import continuation, limit_cycle
from explorer.study.return_map import ReturnMap

T = 2 * np.pi / 0.4
LATE = 30  # periods, after which the motion is the cycle
FINE = ex.EventDriven(rtol=1e-11, atol=1e-12)


def pair(phase):
    """Return two masses of which one chatters on a stop; the phase says where a period begins."""
    force = [f"0.8*cos(0.4*t + {phase}) - x - 0.5*(x - y)", "-0.5*(y - x) - 0.6*y - 0.3*v_y"]
    system = ex.MechanicalSystem("pair", q="x y", mass=[[1, 0], [0, 1]], force=force)
    system.contact(ex.Contact(-system.q[0], e=0.4, name="stop"))
    system.start(q=[-0.3, 0], t_end=40)
    return system


def alone(phase):
    """Return one mass that chatters on a stop in each period."""
    force = [f"cos(0.4*t + {phase}) - x"]
    system = ex.MechanicalSystem("alone", q="x", mass=[[1]], force=force)
    system.contact(ex.Contact(-system.q[0], e=0.6, name="stop"))
    system.start(q=[-0.3], t_end=40)
    return system


def late(system, **given):
    """Return the state after many periods."""
    return ex.simulate(system, FINE, t_end=LATE * T, **given).x[-1]


@pytest.mark.parametrize("phase", [0.0, 0.4, 0.8, 1.2])
def test_a_cycle_from_a_closed_contact_is_that_of_a_long_run(phase):
    """Multipliers are those of two states; four phases of one cycle have the same."""
    cycle = limit_cycle(pair(phase), period=T)
    np.testing.assert_allclose(cycle.x, late(pair(phase)), atol=2e-9)
    assert [e.kind for e in cycle.trajectory.located if e.kind != "impact"] == ["released", "zeno"]
    other = limit_cycle(pair(0.0), period=T)
    assert len(cycle.multipliers) == 2
    np.testing.assert_allclose(cycle.multipliers, other.multipliers, atol=1e-7)
    assert cycle.trust.ok
    assert cycle.stable


def test_its_jacobian_is_that_of_differences_along_the_contact():
    cycle, size = limit_cycle(pair(0.8), period=T), 1e-5
    for k in (1, 3):  # y and its speed; x and its speed are held
        moved = np.zeros(4)
        moved[k] = size
        ends = [cycle.map(cycle.x + sign * moved).x for sign in (1, -1)]
        np.testing.assert_allclose(
            (ends[0] - ends[1]) / (2 * size), cycle.jacobian[:, k], atol=5e-5
        )
    np.testing.assert_array_equal(cycle.jacobian[:, [0, 2]], 0)


def test_the_same_cycle_from_a_free_start_has_two_zeros_more():
    free, held = (limit_cycle(pair(phase), period=T) for phase in (-1.6, 0.8))
    assert free.x[0] < -1e-3
    assert len(free.multipliers) == 4
    np.testing.assert_allclose(free.multipliers[:2], held.multipliers, atol=1e-6)
    np.testing.assert_allclose(free.multipliers[2:], 0, atol=1e-6)


@pytest.mark.parametrize("phase", [0.0, 0.1, 0.8, 1.2, 3.0])
def test_a_mass_that_chatters_is_found_from_the_start_of_the_model(phase):
    """P is flat there: Newton's direction leads nowhere, and returns lead to the cycle."""
    cycle = limit_cycle(alone(phase), period=T)
    np.testing.assert_allclose(cycle.x, late(alone(phase)), atol=1e-9)
    np.testing.assert_allclose(cycle.multipliers, 0, atol=1e-8)
    assert cycle.trust.ok


def test_a_block_that_sticks_forgets_everything():
    """It sticks 2 lead / v and slides as the closed form says; x alone may move, along the flow."""
    m, k, mu_s, mu, g, v = 1.0, 4.0, 0.4, 0.2, 9.81, 0.5
    lead, w = (mu_s - mu) * m * g / k, np.sqrt(k / m)
    sticks = 2 * lead / v
    slides = 2 * (np.pi - np.arctan(w * lead / v)) / w
    cycle = limit_cycle(ex.models.stick_slip(), section="belt", count=2)
    assert cycle.period == pytest.approx(sticks + slides, rel=1e-9)
    assert len(cycle.multipliers) == 0
    np.testing.assert_allclose(cycle.trivial, 0, atol=1e-12)
    assert cycle.stable
    assert cycle.trust.ok
    assert "multipliers" in repr(cycle)


def dragged(phase):
    """Return a driven block on a rough floor that sticks at its turns, tied to a free mass."""
    force = [f"4*cos(1.5*t + {phase}) - 2*x - (x - z)", "-9.81", "-(z - x) - 0.4*v_z - z"]
    system = ex.MechanicalSystem(
        "dragged", q="x y z", mass=[[1, 0, 0], [0, 1, 0], [0, 0, 1]], force=force
    )
    system.contact(ex.Contact(gap=system.q[1], mu=0.2, slip=system.v[0], name="floor"))
    system.start(q=[0.1, 0, 0], t_end=40)
    return system


@pytest.mark.parametrize("phase", [0.0, 0.7, 1.4, 2.1, 2.8])
def test_a_driven_block_that_sticks_and_slides_is_found_at_any_phase(phase):
    period, size = 2 * np.pi / 1.5, 1e-5
    system = dragged(phase)
    cycle = limit_cycle(system, period=period)
    run = ex.simulate(system, FINE, t_end=60 * period)
    np.testing.assert_allclose(cycle.x, run.x[-1], atol=1e-7)
    kinds = {e.kind for e in cycle.trajectory.located}
    assert {"sticks", "slips"} <= kinds or "turns" in kinds
    np.testing.assert_array_equal(cycle.jacobian[:, [1, 4]], 0)  # the floor is always there
    P = ReturnMap(system, period=period)
    for k in (2, 5):
        moved = np.zeros(6)
        moved[k] = size
        ends = [P(cycle.x + sign * moved).x for sign in (1, -1)]
        np.testing.assert_allclose(
            (ends[0] - ends[1]) / (2 * size), cycle.jacobian[:, k], atol=1e-4
        )


def as_single_cycles(branch, system, last=-1, **given):
    """Compare points of a branch with cycles that are sought alone."""
    for k in (0, len(branch) // 2, len(branch) + last):
        one = limit_cycle(
            system, guess=branch.x[k], **{branch.parameter: branch.values[k]}, **given
        )
        np.testing.assert_allclose(one.x, branch.x[k], atol=1e-7)
        assert one.period == pytest.approx(branch.period[k], rel=1e-8)
        found = branch.multipliers[k][~np.isnan(branch.multipliers[k])]
        rest = np.delete(found, range(len(one.multipliers)))
        np.testing.assert_allclose(found[: len(one.multipliers)], one.multipliers, atol=1e-6)
        np.testing.assert_allclose(rest, 0, atol=1e-8)


def test_a_branch_of_a_block_that_the_belt_holds_has_the_period_of_the_closed_form():
    branch = continuation(
        ex.models.stick_slip(), parameter="v", section="belt", count=2, over=(0.3, 0.9), step=0.2
    )
    m, k, mu_s, mu, g = 1.0, 4.0, 0.4, 0.2, 9.81
    lead, w, v = (mu_s - mu) * m * g / k, np.sqrt(k / m), branch.values
    expected = 2 * lead / v + 2 * (np.pi - np.arctan(w * lead / v)) / w
    np.testing.assert_allclose(branch.period, expected, rtol=1e-8)
    assert branch.ends == ("end of the range", "end of the range")
    assert branch.stable.all()
    assert not branch.points


def tuned(phase, floor=0):
    """Return the driven block that sticks at its turns; the force may move the floor as well."""
    system = ex.MechanicalSystem("dragged", q="x y z")
    (F,) = system.params(F=ex.Param(4.0, 1, 8))
    force = [f"F*cos(1.5*t + {phase}) - 2*x - (x - z)", "-9.81", "-(z - x) - 0.4*v_z - z"]
    system.mass, system.force = [[1, 0, 0], [0, 1, 0], [0, 0, 1]], force
    gap = system.q[1] - floor * (F**2 / 50 + system.q[2] / 10)
    system.contact(ex.Contact(gap=gap, mu=0.2, slip=system.v[0], name="floor"))
    system.start(q=[0.1, floor * F**2 / 50, 0], t_end=40)
    return system


@pytest.mark.parametrize(("phase", "floor"), [(0.0, 0), (2.1, 0), (0.7, 1)])
def test_a_branch_begins_on_a_floor_and_finds_where_a_block_sticks_no_more(phase, floor):
    """At whatever phase, also where the parameter moves the floor."""
    period, system = 2 * np.pi / 1.5, tuned(phase, floor)
    branch = continuation(system, parameter="F", period=period, over=(3, 6), step=0.1)
    assert branch.ends == ("end of the range", "end of the range")
    as_single_cycles(branch, system, period=period)
    assert {point.kind for point in branch.points} == {"sliding"}
    where = branch.points[-1].parameter  # the last stick
    for F, sticks in ((where - 1e-4, True), (where + 1e-4, False)):
        one = limit_cycle(system, period=period, F=F)
        assert ("sticks" in {e.kind for e in one.trajectory.located}) == sticks
    if not floor:
        assert where == pytest.approx(3.70557164, abs=1e-7)


def test_a_branch_goes_on_where_a_block_begins_to_stick_at_the_end_of_the_period():
    """It slips where the period begins, then sticks there, until it sticks all the time."""
    period, system = 2 * np.pi / 1.5, tuned(0.7)
    branch = continuation(
        system, parameter="F", period=period, F=3.0, over=(1.2, 3.5), direction="down", step=0.1
    )
    assert len(set(branch.piece)) == 2
    assert branch.values[-1] == pytest.approx(0.2 * 9.81, abs=1e-2)
    # nearer to its end it slips by less than what a run tells from sticking all the time
    left = np.abs(branch.values - branch.values[-1]) > 1e-3
    as_single_cycles(branch, system, last=np.flatnonzero(left)[-1] - len(left), period=period)


def chattering(phase):
    """Return the two masses of which one chatters, on a stop that can be moved."""
    force = [f"0.8*cos(0.4*t + {phase}) - x - 0.5*(x - y)", "-0.5*(y - x) - 0.6*y - 0.3*v_y"]
    system = ex.MechanicalSystem("pair", q="x y")
    e, c = system.params(e=ex.Param(0.4, 0, 0.9), c=ex.Param(0.0, -0.5, 0.5))
    system.mass, system.force = [[1, 0], [0, 1]], force
    system.contact(ex.Contact(c - system.q[0], e=e, name="stop"))
    system.start(q=[-0.3, 0], t_end=40)
    return system


@pytest.mark.parametrize("phase", [0.8, -1.6])
def test_a_branch_of_cycles_that_chatter_has_no_points_where_impacts_are_summed_up(phase):
    """How many impacts are located before an accumulation changes along it, and means nothing."""
    system = chattering(phase)
    branch = continuation(system, parameter="e", period=T, over=(0.2, 0.7), step=0.2)
    assert branch.ends == ("end of the range", "end of the range")
    assert not branch.points
    as_single_cycles(branch, system, period=T)


def test_a_chatter_passes_the_begin_of_the_period():
    """Its first impact moves from behind the begin of the period to before its end."""
    system = chattering(-1.6)
    branch = continuation(
        system, parameter="c", period=T, over=(-0.2, 0.1), direction="down", step=0.2
    )
    assert branch.ends == ("start", "end of the range")
    assert len(set(branch.piece)) == 2
    assert not branch.points
    as_single_cycles(branch, system, period=T)
