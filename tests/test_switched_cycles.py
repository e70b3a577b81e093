"""Limit cycles of relays on their switching surface: closed forms, slides, and what is no cycle."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

import explorer as ex
from explorer.study import continuation, limit_cycle

SMOOTH = {"w": 1.0, "z": 1.0, "s": 1.0, "b1": 0.0, "b2": 0.0, "b3": 1.0}


def matrices(w, z, s, b1, b2, b3):
    """Return A and b of x' = A x - b sgn(x1)."""
    A = [[-(2 * z * w + s), 1, 0], [-(2 * z * w * s + w**2), 0, 1], [-(w**2) * s, 0, 0]]
    return np.array(A, float), np.array([b1, b2, b3], float)


def symmetric_cycle(A, b, low, high):
    """Return half the period, the state at the switch to sgn = 1, and DP of the half cycle.

    x(h) = -x(0) gives x(0) = (I + e^(Ah))^-1 A^-1 (e^(Ah) - I) b, and x1(0) = 0 gives h (Tsypkin;
    Astroem, *Oscillations in systems with relay feedback*, 1995).
    """
    one = np.eye(len(b))

    def start(h):
        E = scipy.linalg.expm(A * h)
        return np.linalg.solve(one + E, np.linalg.solve(A, (E - one) @ b))

    h = scipy.optimize.brentq(lambda h: start(h)[0], low, high, xtol=1e-14)
    x, E = start(h), scipy.linalg.expm(A * h)
    rate = A @ -x - b  # at the end of the half cycle, before the switch
    return h, x, (one - np.outer(rate, one[0]) / rate[0]) @ E


@pytest.mark.parametrize("more", [{}, {"z": 0.6}, {"z": 1.4, "s": 0.7}, {"b3": 2.0}])
def test_a_relay_that_crosses_has_the_cycle_of_tsypkin(more):
    given = SMOOTH | more
    A, b = matrices(**given)
    h, x, DP = symmetric_cycle(A, b, 1.0, 4.0)
    cycle = limit_cycle(ex.models.relay_feedback(), section="relay", **given)
    assert cycle.period == pytest.approx(2 * h, rel=1e-9)
    np.testing.assert_allclose(np.abs(cycle.x), np.abs(x), atol=1e-9)
    half = np.linalg.eigvals(DP @ DP)
    expected = np.sort(np.abs(half))[::-1][:2]
    np.testing.assert_allclose(np.abs(cycle.multipliers), expected, atol=1e-7)
    assert cycle.stable
    assert cycle.trust.ok
    np.testing.assert_allclose(cycle.trivial, [1], atol=1e-8)
    assert [e.kind for e in cycle.trajectory.located] == ["crosses"] * 2


@pytest.mark.parametrize("count", [1, 2, 4])
def test_a_cycle_that_slides_comes_back_whatever_number_of_events_is_told(count):
    """A slide forgets a direction, so of two multipliers one is zero."""
    system = ex.models.relay_feedback()
    cycle = limit_cycle(system, section="relay", count=count, z=0.5)
    assert sorted(e.kind for e in cycle.trajectory.located) == ["leaves"] * 2 + ["slides"] * 2
    assert abs(cycle.multipliers[-1]) < 1e-9
    run = cycle.trajectory
    np.testing.assert_allclose(run.x[-1], run.x[0], atol=1e-8)
    late = ex.simulate(system, ex.EventDriven(rtol=1e-11, atol=1e-12), z=0.5, t_end=80)
    times = [e.t for e in late.located if e.kind == "leaves"]
    assert cycle.period == pytest.approx(times[-1] - times[-3], rel=1e-8)
    moved, size = np.array([0.0, 0.0, 1e-5]), 1e-5
    ends = [
        ex.simulate(system, ex.EventDriven(rtol=1e-12, atol=1e-13), z=0.5,
                    x0=run.x[0] + sign * moved, t_end=cycle.period).x[-1]
        for sign in (1, -1)
    ]  # fmt: skip
    np.testing.assert_allclose((ends[0] - ends[1]) / (2 * size), cycle.jacobian[:, 2], atol=2e-5)


def test_a_cycle_of_many_slides_is_found_without_their_number():
    """Fourteen slides of the weakly damped loop (Johansson, Rantzer and Astroem 1999)."""
    cycle = limit_cycle(ex.models.relay_feedback(), section="relay")
    counted = limit_cycle(ex.models.relay_feedback(), section="relay", count=8)
    assert cycle.period == pytest.approx(counted.period, rel=1e-8)
    run = cycle.trajectory
    np.testing.assert_allclose(run.x[-1], run.x[0], atol=1e-7)
    # the cycle is symmetric, so half a period later the state is the opposite one
    half = run.at(0.5 * cycle.period).q
    np.testing.assert_allclose(half, -run.x[0], atol=1e-6)


def test_a_branch_of_cycles_agrees_with_single_ones():
    system = ex.models.relay_feedback()
    branch = continuation(
        system, parameter="z", section="relay", over=(0.8, 1.2), **SMOOTH, step=0.2
    )
    for k in (0, len(branch) // 2, -1):
        given = SMOOTH | {"z": branch.values[k]}
        h, _, _ = symmetric_cycle(*matrices(**given), 1.0, 4.0)
        assert branch.period[k] == pytest.approx(2 * h, rel=1e-8)
        one = limit_cycle(system, section="relay", **given)
        assert one.period == pytest.approx(branch.period[k], rel=1e-8)
        np.testing.assert_allclose(one.multipliers, branch.multipliers[k], atol=1e-7)


def test_a_branch_ends_where_its_cycle_shrinks_to_a_point():
    """4 (1 + z s) / ((s + 1) (s + 2) (s + 3)): beyond z = 1/6 the relay slides to rest at once."""
    system = ex.StepSystem("relay of order 3", x="x1 x2 x3")
    x1, x2, x3 = system.x
    (z,) = system.params(z=ex.Param(-0.5, -2, 0.9))
    side = 2 * system.switch(4 * (x1 + z * x2), name="relay") - 1
    system.f = [x2, x3, -6 * x1 - 11 * x2 - 6 * x3 - side]
    system.start(x=[0.3, 0.2, 0.1], t_end=60)
    branch = continuation(system, parameter="z", section="relay", direction="up")
    assert branch.ends == ("start", "the cycle shrinks to a point, at z = 0.166666")
    assert not branch.points
    assert branch.stable.all()
    A, B = np.array([[0, 1, 0], [0, 0, 1], [-6, -11, -6.0]]), np.array([0, 0, 1.0])
    for k in (0, len(branch) // 2):
        h, E = branch.period[k] / 2, scipy.linalg.expm(A * branch.period[k] / 2)
        at_switch = np.linalg.solve(np.eye(3) + E, np.linalg.solve(A, E - np.eye(3)) @ B)
        assert [1, branch.values[k], 0] @ at_switch == pytest.approx(0, abs=1e-9)
        assert h > 0.5


def test_what_is_no_cycle_is_refused():
    with pytest.raises(ex.BadValue, match="so a cycle of 1 is not seen"):
        limit_cycle(ex.models.two_genes(), section="x1 - 1")
    with pytest.raises(ex.BadValue, match="keep= names what a system conserves"):
        limit_cycle(ex.models.relay_feedback(), section="relay", keep="x1")


def test_a_spiral_into_a_point_is_no_cycle():
    """x1' = x2, x2' = -x1 - 0.2 x2 crosses x1 = 0 again and again, ever closer to zero."""
    system = ex.StepSystem("spiral", x="x1 x2")
    x1, x2 = system.x
    system.switch(x1, name="side")
    system.f = [x2, -x1 - 0.2 * x2]
    system.start(x=[1, 0], t_end=20)
    with pytest.raises(ex.StepFailed, match="finds no limit cycle of 'spiral'"):
        limit_cycle(system, section="side")


@pytest.mark.parametrize("count", [1, 6])
def test_a_bit_sticks_and_slips_with_one_period(count):
    """It has settled after many turns, of which one is a cycle."""
    cycle = limit_cycle(ex.models.drill_string(), section="bit", count=count)
    assert cycle.period == pytest.approx(4.7321283, abs=1e-7)
    assert sorted(e.kind for e in cycle.trajectory.located) == ["leaves", "slides"]
    assert cycle.stable
