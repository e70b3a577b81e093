"""Runs with tolerances: what their steps leave of the flow, guards at events and between, resets."""

from __future__ import annotations

import copy
import dataclasses

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import explorer as ex


def kinked(**knobs):
    """Return a run over the kink of a stop spring, and its error at the end over the tolerance."""
    stop = ex.MechanicalSystem("stop", q="x", params={"k": 400.0}, force=["-x - k*Max(x - 0.3, 0)"])
    stop.start(q=[0.0], v=[2.0], t_end=1.2)
    run = ex.simulate(stop, ex.EventDriven(**knobs))
    truth, t = [0.0, 2.0], 0.0
    for k, over in ((0, 0.3), (400, 0.3), (0, -9)):

        def at(t, y, over=over):
            return y[0] - over

        at.terminal, at.direction = True, -1 if k else 1
        part = solve_ivp(
            lambda t, y, k=k: [y[1], -y[0] - k * (y[0] - 0.3)], (t, 1.2), truth, "DOP853",
            events=at, rtol=1e-13, atol=1e-14,
        )  # fmt: skip
        truth, t = part.y[:, -1], part.t[-1]
    assert t == 1.2
    return run, np.abs(run.x[-1] - truth).max() / (run.scheme.atol + run.scheme.rtol * 2)


def test_a_kink_inside_a_step_is_told():
    """An estimate by orders trusts a step over a kink; the quadrature does not."""
    missed = 0
    for rtol in (1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10):
        for method in ("dopri5", "dop853"):
            run, off = kinked(method=method, rtol=rtol, atol=0.1 * rtol)
            flow = run.certificate["flow"]
            assert flow.ok == (not run.cautions)
            missed += not flow.ok
            # what is told nothing of stays within what that many steps may be off
            assert not flow.ok or off < 10 * len(run.march.steps)
    assert missed > 3


@pytest.mark.parametrize("method", ["dopri5", "dop853", "radau"])
def test_smooth_flows_keep_their_tolerance(method):
    for model in (ex.models.pendulum(), ex.models.thermostat(), ex.models.stribeck_belt()):
        run = ex.simulate(model, ex.EventDriven(method, rtol=1e-8), t_end=5)
        assert run.certificate["flow"].ok


def clock():
    """Return a run of a state that ticks, passes a mark and is thrown back."""
    system = ex.HybridSystem(
        "clock", x="x n", params={"w": 3.0}, modes={"up": ["w*cos(w*t)", "0"]},
        guards=[
            {"mode": "up", "r": "x", "direction": 0, "name": "zero", "reset": {"n": "n + 1"}},
            {"mode": "up", "r": "x - 0.5", "direction": 1, "name": "mark"},
            {"mode": "up", "r": "x + 0.5", "direction": -1, "when": "1 - n", "name": "low"},
        ],
        start={"x": [0.1, 0.0], "t_end": 6.0},
    )  # fmt: skip
    return ex.simulate(system, ex.EventDriven())


def changed(run, **arrays):
    """Return a run whose record says something else."""
    march = copy.copy(run.march)
    for name, values in arrays.items():
        setattr(march, name, values)
    other = march.trajectory(None)
    other.observe = run.observe
    return other


def test_guards_and_resets_of_a_hybrid_system_are_checked():
    run = clock()
    assert {c.name for c in run.certificate} == {"flow", "guards", "resets", "guards passed over"}
    assert run.certificate.ok
    assert not run.cautions
    record, lay = run.march.record, run.march.lay
    thrown = record.copy()
    thrown[2, lay["x_plus"]] += 1e-9
    assert [c.name for c in changed(run, record=thrown).certificate.broken] == ["resets"]
    late = record.copy()
    late[1, 0] += 1e-3
    late[1, lay["x_minus"]] += 1e-3
    assert "guards" in [c.name for c in changed(run, record=late).certificate.broken]
    marks = [k for k, e in enumerate(run.located) if e.contact == "mark"]
    fewer = [k for k in range(len(record)) if k != marks[1]]
    without = changed(run, record=record[fewer], kinds=run.march.kinds[fewer])
    broken = without.certificate.broken
    assert [c.name for c in broken] == ["guards passed over"]
    assert broken[0].value == 1
    assert "'mark'" in broken[0].words


def test_a_step_that_misses_the_flow_is_told():
    run = ex.simulate(ex.models.pendulum(), ex.EventDriven(rtol=1e-8, atol=1e-9))
    steps = run.march.steps.copy()
    steps[3, 2] += 1e-5
    check = changed(run, steps=steps).certificate["flow"]
    assert not check.ok
    assert 100 < check.value < 2000  # 1e-5 over what rtol and atol make of it
    assert dataclasses.replace(check, value=1.0).ok
