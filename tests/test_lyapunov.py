"""Lyapunov exponents of flows: closed forms, multipliers of cycles, the sum of all, refusals."""

from __future__ import annotations

import numpy as np
import pytest

import explorer as ex
from explorer.study import lyapunov

PERIOD = "2*pi/omega"


def spring(**start):
    system = ex.MechanicalSystem("spring", q="x")
    (w, z), (x,), (v,) = system.params(w=2.0, z=2.0), system.q, system.v
    system.mass, system.force = [[1]], [-(w**2) * x - 2 * z * w * v]
    system.start(q=[1], v=[0], t_end=20)
    return system


def test_exponents_of_a_linear_oscillator_are_the_real_parts_of_its_eigenvalues():
    """Overdamped: -w (z -+ sqrt(z^2 - 1)); damped, over half swings: -z w twice."""
    found = lyapunov(spring(), intervals=64, transient=20)
    assert found.exponents == pytest.approx(-2 * (2 + np.array([-1, 1]) * np.sqrt(3)), rel=1e-8)
    assert (found.errors < 1e-7).all()
    half = np.pi / (2 * np.sqrt(1 - 0.25**2))
    found = lyapunov(spring(), z=0.25, period=half, intervals=64, transient=0)
    assert found.exponents == pytest.approx([-0.5, -0.5], abs=1e-9)
    assert found.interval == half
    assert found.time == 64 * half


def test_of_a_damped_oscillator_each_batch_errs_as_the_errors_tell():
    """Over intervals that are no half swings the frame turns on: only the sum is exact."""
    found = lyapunov(spring(), z=0.25, intervals=128)
    assert found.exponents.sum() == pytest.approx(-1, abs=1e-9)
    assert (np.abs(found.exponents + 0.5) < 3 * found.errors).all()
    assert (found.errors > 1e-4).all()


def test_exponents_of_a_cycle_with_an_impact_are_the_logarithms_of_its_multipliers():
    """x'' + x = cos 2 t, x <= 0: one impact in each period, |multipliers| = e."""
    system, start = ex.models.impact_oscillator(), {"s": 0.0, "e": 0.8}
    cycle = ex.study.limit_cycle(system, period=PERIOD, guess=[-4.5, 4.2], **start)
    found = lyapunov(system, period=PERIOD, x0=[-4.576, 4.243], intervals=64, **start)
    assert found.exponents.sum() == pytest.approx(2 * np.log(0.8) / np.pi, abs=1e-9)
    assert found.exponents == pytest.approx(np.log(np.abs(cycle.multipliers)) / np.pi, abs=1e-7)
    assert found.events == {"stop": 64}
    assert found.x == pytest.approx(cycle.x, abs=1e-6)


def test_the_sum_is_mean_divergence_and_what_impacts_do_to_volumes():
    """-c / m, and ln det Xi = ln e^2 of each impact, in chaos, too; the largest is above zero."""
    given = {"omega": 2.8, "s": 0.0, "c": 0.1, "e": 0.8}
    found = lyapunov(ex.models.impact_oscillator(), period=PERIOD, intervals=300, **given)
    total = -0.1 + 2 * np.log(0.8) * found.events["stop"] / found.time
    assert found.exponents.sum() == pytest.approx(total, abs=1e-9)
    assert found.largest > 3 * found.errors[0] > 0
    assert found.largest == pytest.approx(0.148, abs=4 * found.errors[0])
    assert 1 < found.dimension < 2
    assert found.batches.shape == (64, 2)


def test_along_an_autonomous_flow_the_exponent_is_zero():
    """Three genes in a ring: those of the product of exp(-t) and I + (f+ - f-) e_k' / f-_k."""
    T = 6 * np.log((1 + np.sqrt(5)) / 2)
    found = lyapunov(ex.models.glass_network(), period=T / 4, intervals=64, transient=60)
    exact = np.log(np.abs(np.linalg.eigvals(ring()))) / T
    assert found.exponents == pytest.approx(np.sort(exact)[::-1], abs=1e-6)
    assert exact.max() == pytest.approx(0, abs=1e-12)
    assert found.exponents.sum() == pytest.approx(-3, abs=1e-9)  # the divergence


def ring():
    """Return the monodromy matrix of the cycle of three genes, switch by switch."""
    x, M = np.array([0.5, 0.3, -0.2]), np.eye(3)
    sign = np.sign(x)
    for k in range(66):
        goal = np.array([-sign[2], sign[0], sign[1]])
        times = np.where(sign != goal, np.log(np.maximum(1 - x / goal, 1)), np.inf)
        first = int(times.argmin())
        x = goal + (x - goal) * np.exp(-times[first])
        x[first], before = 0, goal - x * (np.arange(3) != first)
        sign[first] *= -1
        after = np.array([-sign[2], sign[0], sign[1]]) - x
        jump = np.eye(3) + np.outer(after - before, np.eye(3)[first]) / before[first]
        M = jump @ M * np.exp(-times[first]) if k >= 60 else M
    return M


def test_a_direction_that_an_event_takes_is_gone():
    """The heel strike leaves two numbers, and the time since: 0, ln|m| / T twice, and -inf."""
    walker = ex.models.simplest_walker()
    found = lyapunov(walker, period=3.882464 / 8, intervals=256, transient=80)
    assert found.exponents[3] == -np.inf
    assert found.errors[3] == 0
    assert found.exponents[:3].sum() == pytest.approx(2 * np.log(0.58911) / 3.882464, abs=2e-3)
    assert found.exponents[0] == pytest.approx(0, abs=5e-3)
    assert np.isfinite(found.exponents[:3]).all()


def test_a_ball_at_rest_has_no_direction_left():
    found = lyapunov(ex.models.bouncing_ball(), period=0.3, intervals=64, transient=40)
    assert (found.exponents == -np.inf).all()


def test_sliding_takes_a_direction():
    found = lyapunov(ex.models.relay_feedback(), x0=[0.3, 0.2, 0.1], intervals=64)
    assert found.exponents[2] == -np.inf
    assert np.isfinite(found.exponents[:2]).all()


@pytest.mark.parametrize(
    ("model", "given", "words"),
    [
        ("impact_oscillator", {}, "depends on t"),
        ("impact_oscillator", {"period": PERIOD, "intervals": 10}, "at least 64"),
        ("impact_oscillator", {"period": PERIOD, "x0": [1.0]}, "needs 2 numbers"),
        ("impact_oscillator", {"period": -1.0}, "period"),
        ("bouncing_ball", {"scheme": ex.MoreauJean(h=1e-3)}, "EventDriven"),
        ("pendulum", {"scheme": "EventDriven", "transient": -1}, "at least 0"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_a_sentence(model, given, words):
    with pytest.raises(ex.ExplorerError, match=words):
        lyapunov(getattr(ex.models, model)(), **given)


def test_an_interval_in_which_digits_are_lost_is_refused():
    with pytest.raises(ex.ExplorerError, match="shorter period"):
        lyapunov(spring(), z=5.0, period=3.0)


def test_a_run_that_falls_has_no_exponents():
    with pytest.raises(ex.ExplorerError, match="does not go on"):
        lyapunov(ex.models.simplest_walker(), rate0=-0.17, intervals=64, transient=0)


def test_directions_across_a_held_contact_are_none():
    """A block on a floor: its exponents are those of its cycle, and of what the floor holds -inf.

    Motions that would leave the floor grow as the time, which looked like an exponent above zero.
    """
    period = 2 * np.pi / 1.5
    system = ex.MechanicalSystem(
        "dragged", q="x y z", mass=[[1, 0, 0], [0, 1, 0], [0, 0, 1]],
        force=["4*cos(1.5*t) - 2*x - (x - z)", "-9.81", "-(z - x) - 0.4*v_z - z"],
    )  # fmt: skip
    system.contact(ex.Contact(gap=system.q[1], mu=0.2, slip=system.v[0], name="floor"))
    system.start(q=[0.1, 0, 0], t_end=40)
    found = lyapunov(system, period=period, intervals=64)
    cycle = ex.study.limit_cycle(system, period=period)
    expected = np.log(np.abs(cycle.multipliers)) / period
    np.testing.assert_allclose(found.exponents[2:4], expected[2:], atol=1e-6)
    assert found.exponents[:2].mean() == pytest.approx(expected[0], abs=1e-5)
    np.testing.assert_array_equal(found.exponents[4:], -np.inf)


def test_a_block_that_sticks_keeps_one_direction():
    """It forgets all but where it is on its way, along the flow."""
    found = lyapunov(ex.models.stick_slip(), intervals=100)
    assert abs(found.exponents[0]) < 0.02
    np.testing.assert_array_equal(found.exponents[1:], -np.inf)


def test_a_chatter_that_ends_takes_all_directions_away():
    """The mass comes to rest on its stop, and begins anew from there: the orbit is superstable."""
    system = ex.MechanicalSystem(
        "one stop", q="x", mass=[[1]], force=["cos(2.85*t) - x - 0.05*v_x"]
    )
    system.contact(ex.Contact(-system.q[0], e=0.8, name="stop"))
    system.start(q=[-1e-4], t_end=50)
    found = lyapunov(system, period=2 * np.pi / 2.85, intervals=64, transient=0)
    np.testing.assert_array_equal(found.exponents, -np.inf)


def test_a_mass_with_dry_friction_may_begin_at_rest():
    """At rest it lies on the surface x' = 0, where no derivative exists; a period later it moves."""
    system = ex.StepSystem("dry friction", x="x v", params={"F": ex.Param(2, 0, 5)})
    system.f = ["v", "F*cos(0.7*t) - 0.1*v - x - sign(v)/2"]
    system.start(x=[0.1, 0], t_end=50)
    period = 2 * np.pi / 0.7
    found = ex.study.lyapunov(system, period=period, intervals=64, transient=30)
    cycle = ex.study.limit_cycle(system, period=period)
    assert found.exponents.sum() * period == pytest.approx(
        np.log(np.abs(np.prod(cycle.multipliers))), abs=1e-6
    )
    branch = ex.study.continuation(system, parameter="F", period=period, over=(1.9, 2.1), step=0.5)
    assert branch.stable.all()
