"""The same motion in other units of length and time: the same run, or a caution that it is not."""

from __future__ import annotations

import numpy as np
import pytest

import explorer as ex


def ball(length=1.0, time=1.0):
    system = ex.MechanicalSystem(
        "ball",
        q="y",
        params={"g": 9.81 * length / time**2, "e": 0.6},
        force=["-g"],
        contacts=[ex.Contact("y", e="e")],
    )
    system.start(q=[length], v=[0], t_end=2.5 * time)
    return system


def pressed(length=1.0, time=1.0):
    """A body that is pressed on the ground at first by nothing: F = -sin(w t)."""
    system = ex.MechanicalSystem(
        "pressed",
        q="y",
        params={"F": length / time**2, "w": 1 / time},
        force=["-F*sin(w*t)"],
        contacts=[ex.Contact("y", e=0.5)],
    )
    system.start(q=[0], v=[0], t_end=9 * time)
    return system


@pytest.mark.parametrize(
    ("length", "time"), [(1e-6, 1e-6), (1, 1e-6), (1e3, 1e-3), (1e-6, 1), (1e3, 1e5), (1, 1e6)]
)
def test_a_ball_bounces_alike_in_all_units(length, time):
    run = ex.simulate(ball(length, time), "EventDriven")
    fall = np.sqrt(2 / 9.81)
    hits = fall + 2 * fall * np.cumsum([0, *(0.6 ** np.arange(1, 9))])
    found = [event.t / time for event in run.events[:9]]
    assert np.allclose(found, hits, rtol=0, atol=1e-6)
    assert run.certificate.ok


@pytest.mark.parametrize("time", [1e-6, 1e-3, 1.0, 1e5])
def test_what_a_force_does_a_moment_later_is_seen_in_all_units(time):
    run = ex.simulate(pressed(1.0, time), "EventDriven")
    (event,) = run.events
    assert event.t / time == pytest.approx(np.pi, abs=1e-7)
    s = 9 - np.pi
    assert run.q[-1, 0] == pytest.approx(s - np.sin(s), abs=1e-6)


@pytest.mark.parametrize("scheme", ["EventDriven", "FESD"])
def test_a_model_of_nanometres_is_no_plain_success(scheme):
    scheme = ex.FESD(h=0.1e-9) if scheme == "FESD" else scheme
    run = ex.simulate(ball(1e-9, 1e-9), scheme)
    assert not run.certificate["resolution"].ok
    assert "smaller units" in run.certificate["resolution"].words


def clapper(length=1.0, time=1.0):
    """A driven oscillator with a stop; its numbers are those of metres and seconds."""
    system = ex.MechanicalSystem(
        "clapper",
        q="x",
        params={
            "k": 20 / time**2,
            "c": 1 / time,
            "F": 3 * length / time**2,
            "w": 3.2 / time,
            "d": 0.05 * length,
        },
        force=["-k*x - c*v_x + F*cos(w*t)"],
        contacts=[ex.Contact("x + d", e=0.7)],
    )
    system.start(q=[0], v=[0], t_end=8 * time)
    return system


SCALES = [(1e-9, 1.0), (1e-6, 1e-6), (1.0, 1e-6), (1.0, 1e6), (1e6, 1.0)]


@pytest.mark.parametrize(("length", "time"), SCALES)
def test_a_limit_cycle_is_the_same_in_all_units(length, time):
    """A model of nanometres rested in its start, which was called a stable cycle."""
    cycle = ex.study.limit_cycle(clapper(length, time), period="2*pi/w")
    assert cycle.x / [length, length / time] == pytest.approx([0.126926, 0.413349], abs=1e-6)
    assert np.abs(cycle.multipliers) == pytest.approx([0.348253, 0.096775], abs=1e-6)


@pytest.mark.parametrize(("length", "time"), SCALES)
def test_an_equilibrium_is_found_in_all_units(length, time):
    """Its search took no step at all in microseconds."""
    found = ex.study.modes(clapper(length, time))
    assert found.q / length == pytest.approx([3 / 20], rel=1e-9)
    assert found.frequencies * time == pytest.approx([np.sqrt(20) / (2 * np.pi)], rel=1e-9)


@pytest.mark.parametrize(("length", "time"), [(1.0, 1e-6), (1e-6, 1.0)])
def test_exponents_are_the_same_in_all_units(length, time):
    """Their sum is that of the damping and of the impacts, ln of the multipliers over a period."""
    found = ex.study.lyapunov(clapper(length, time), period="2*pi/w", intervals=64, transient=40)
    wanted = np.log([0.348253, 0.096775]) / (2 * np.pi / 3.2)
    assert found.exponents * time == pytest.approx(wanted, abs=1e-3)


@pytest.mark.parametrize(("length", "time"), SCALES[1:])
def test_a_fit_is_the_same_in_all_units(length, time):
    """Of data in nanometres every start was called a stationary point."""
    system, t = clapper(length, time), np.linspace(0.1, 5, 40) * time
    run = ex.simulate(system, "EventDriven", t_eval=t, t_end=t[-1])
    seen = run.q[np.searchsorted(run.t, t), 0]
    start = {"k": 1.05 * 20 / time**2, "F": 0.97 * 3 * length / time**2}
    found = ex.fit(system, t, seen, "x", ("k", "F"), start=start, progress=False)
    assert found.success
    assert found.parameters["k"] * time**2 == pytest.approx(20, rel=1e-6)
    assert found.parameters["F"] * time**2 / length == pytest.approx(3, rel=1e-6)


@pytest.mark.parametrize("length", [1e-6, 1e-3, 1.0])
def test_a_minimum_is_the_same_in_all_units(length):
    """Of squares of micrometres in m2 every start was a stationary point."""
    best = ex.minimize(
        clapper(length), {"w": f"(x + {0.02 * length})**2"}, "F", t_end=1.5, progress=False
    )
    assert best.success
    assert best.cost / length**2 < 1e-9 or best.parameters["F"] / length == pytest.approx(6)
