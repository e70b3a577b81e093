"""Runs with tolerances: what their steps leave of the flow, guards at events and between, resets."""

from __future__ import annotations

import copy
import dataclasses
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import explorer as ex
from explorer.verification.flow import _NODES, _misses, _Steps, missing


@cache
def truth():
    """Return where a mass ends that is stopped by a spring, integrated from kink to kink."""
    y, t = [0.0, 2.0], 0.0
    for k, turns in ((0, 1), (400, -1), (0, 1)):

        def at(t, y, above=9.0 if t and not k else 0.3):
            return y[0] - above

        at.terminal, at.direction = True, turns
        part = solve_ivp(
            lambda t, y, k=k: [y[1], -y[0] - k * (y[0] - 0.3)], (t, 1.2), y, "DOP853",
            events=at, rtol=1e-12, atol=1e-13,
        )  # fmt: skip
        y, t = part.y[:, -1], part.t[-1]
    assert t == 1.2
    return y


@cache
def stop(over):
    """Return a mass that runs into a spring; `over` is how it says max(x - 0.3, 0)."""
    system = ex.MechanicalSystem("stop", q="x", params={"k": 400.0}, force=[f"-x - k*({over})"])
    system.start(q=[0.0], v=[2.0], t_end=1.2)
    return system


@pytest.mark.parametrize("method", ["dopri5", "dop853", "radau"])
def test_a_kink_costs_no_digits(method):
    """An estimate by orders is up to a hundred times too small over a kink: steps allow for it."""
    for rtol in (1e-5, 1e-7, 1e-9):
        scheme = ex.EventDriven(method=method, rtol=rtol, atol=0.1 * rtol)
        for over in ("Max(x - 0.3, 0)", "(x - 0.3 + Abs(x - 0.3))/2"):
            run = ex.simulate(stop(over), scheme)
            assert run.certificate["flow"].value <= 1
            assert np.abs(run.x[-1] - truth()).max() < 20 * rtol


@pytest.mark.parametrize("method", ["dopri5", "dop853", "radau"])
def test_smooth_flows_keep_their_tolerance(method):
    for model in (ex.models.pendulum(), ex.models.thermostat(), ex.models.stribeck_belt()):
        run = ex.simulate(model, ex.EventDriven(method=method, rtol=1e-8), t_end=5)
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
    return march.trajectory(None)


def test_guards_and_resets_of_a_hybrid_system_are_checked():
    run = clock()
    assert {c.name for c in run.certificate} == {
        "flow", "flow of a step", "guards", "resets", "determinism", "guards passed over",
    }  # fmt: skip
    assert run.certificate.ok
    assert not run.cautions
    events, n = run.march.events, run.x.shape[1] + 1
    thrown = events._replace(parts=events.parts.copy())
    thrown.parts[2, events.at.x_plus :][:n] += 1e-9
    assert [c.name for c in changed(run, events=thrown).certificate.broken] == ["resets"]
    late = events._replace(head=events.head.copy(), parts=events.parts.copy())
    late.head["t"][1] += 1e-3
    late.parts[1, events.at.x_minus :][:n] += 1e-3
    assert "guards" in [c.name for c in changed(run, events=late).certificate.broken]
    marks = [k for k, e in enumerate(run.located) if e.contact == "mark"]
    fewer = [k for k in range(len(events.head)) if k != marks[1]]
    kept = events._replace(head=events.head[fewer], parts=events.parts[fewer])
    without = changed(run, events=kept)
    broken = without.certificate.broken
    assert [c.name for c in broken] == ["guards passed over"]
    assert broken[0].value == 1
    assert "'mark'" in broken[0].words


def test_a_step_that_misses_the_flow_is_told():
    run = ex.simulate(ex.models.pendulum(), ex.EventDriven(rtol=1e-8, atol=1e-9))
    steps = run.march.steps._replace(y=run.march.steps.y.copy())
    steps.y[3, 0] += 1e-4
    check = changed(run, steps=steps).certificate["flow"]
    assert not check.ok
    assert 1e3 < check.value * len(steps.t) < 1e5  # 1e-4 over what rtol and atol make of it, twice
    assert dataclasses.replace(check, value=1.0).ok


def test_one_step_that_is_far_off_is_enough():
    """The mean over many steps hides it."""
    run = ex.simulate(ex.models.duffing(), ex.EventDriven(rtol=1e-8, atol=1e-9), t_end=100)
    steps = run.march.steps._replace(y=run.march.steps.y.copy())
    assert len(steps.t) > 300
    short = int(np.argmax(steps.h[1:-1] / steps.h[2:])) + 1  # the next one is shorter
    steps.y[short, 0] += 1e-5  # about a thousand tolerances
    other = changed(run, steps=steps)
    assert other.certificate["flow"].ok
    assert [c.name for c in other.certificate.broken] == ["flow of a step"]
    assert f"t = {steps.t[short - 1]:.4g} s" in other.cautions[0] or (
        f"t = {steps.t[short]:.4g} s" in other.cautions[0]
    )


@pytest.mark.parametrize(("model", "rtol"), [
    ("portal_frame", 1e-9), ("portal_frame", 1e-6), ("shear_building", 1e-9),
])  # fmt: skip
def test_an_error_that_is_small_by_chance_does_not_let_steps_grow(model, rtol):
    """A fast oscillation passes through zero velocity, and so does the estimate of its error."""
    run = ex.simulate(getattr(ex.models, model)(), ex.EventDriven(rtol=rtol, atol=0.1 * rtol))
    h = run.march.steps.h[:-1]
    assert run.certificate["flow of a step"].value <= 100
    assert (h[1:] / h[:-1])[5:].max() < 1.5


def test_switches_within_an_element_are_told():
    """Teeth of a comb that fall between the stages: two switches that no equation asks for."""
    comb = ex.StepSystem(
        "comb", x="x", params={"w": 7.0}, c=["sin(w*t) - 0.9"], f=["alpha_1 - 0.1*x"],
        start={"x": [0.0], "t_end": 6.0},
    )  # fmt: skip
    truth = ex.simulate(comb, ex.EventDriven())
    for h in (1.0, 0.5, 0.1):
        run = ex.simulate(comb, ex.FESD(h=h))
        check = run.certificate["switches within elements"]
        assert check.ok == (len(run.events) == len(truth.events) == 14)
        assert check.ok == (abs(run.x[-1, 0] - truth.x[-1, 0]) < 1e-6)
        assert check.ok == (not run.cautions)
    assert "c1" in ex.simulate(comb, ex.FESD(h=1.0)).cautions[0]


@pytest.mark.parametrize(
    ("rho", "t_end"),
    [({"m": 1.0, "B": 0.5, "H": 1.1904, "g": 9.81, "e": 0.1728, "tilt": 0.4273}, 3.1),
     ({"m": 9.04, "B": 0.7598, "H": 2.0, "g": 17.096, "e": 0.3713, "tilt": 0.6974}, 7.5)],
)  # fmt: skip
def test_forces_that_cancel_do_not_keep_radau_from_a_state(rho, t_end):
    """At rest the weight and the forces of contacts cancel, and accelerations are round-off."""
    times = np.linspace(t_end - 1, t_end, 2000)
    run = ex.simulate(
        ex.models.rocking_block(),
        ex.EventDriven(method="radau"),
        rho=rho,
        t_end=t_end,
        t_eval=times,
    )
    assert np.isfinite(run.x).all()
    assert run.status.ok
    assert not run.cautions


def test_a_row_without_state_is_said():
    run = copy.copy(ex.simulate(ex.models.pendulum(), ex.EventDriven(method="radau")))
    assert "states" not in [check.name for check in run.certificate]
    x = run.x.copy()
    x[[5, 9]] = np.nan
    run.x = x
    (check,) = missing(run)
    assert not check.ok
    assert check.value == 2
    assert f"{run.t[5]:.2g}"[:4] in check.words


def test_what_a_step_rounds_off_is_no_miss():
    """Of x = t f + const: states, their changes and the time times the rate, each once large."""
    eps = np.finfo(float).eps
    march = SimpleNamespace(settings=SimpleNamespace(atol=1e-30, rtol=0.0))
    count = len(_NODES)
    for start, h, f, t in ((3e9, 0.5, 1.0, 2.0), (-1e9, 0.5, 4e9, 0.0), (1.0, 0.5, 1.0, 7e9)):
        exact = start + h * f
        bound = 1e2 * eps * (max(abs(start), abs(exact)) + h * abs(f) + t * abs(f))
        for part, missed in ((0.9, False), (1.2, True), (-0.9, False), (-1.2, True)):
            steps = _Steps(
                np.array([t]), np.array([h]), np.array([[start]]),
                np.array([[exact + part * bound]]), np.array([0]), np.zeros((1, count)),
                np.zeros((1, count, 1)), np.full((1, count, 1), f),
            )  # fmt: skip
            assert (_misses(march, steps)[0] > 0) == missed, (start, part)
    # and what is left counts in units of atol + rtol times the largest state of the step
    march.settings = SimpleNamespace(atol=0.5, rtol=0.25)
    steps = _Steps(
        np.zeros(1), np.ones(1), np.array([[2.0, -6.0]]), np.array([[5.0, -6.0]]), np.array([0]),
        np.zeros((1, count)), np.zeros((1, count, 2)), np.zeros((1, count, 2)),
    )  # fmt: skip
    assert _misses(march, steps)[0] == pytest.approx(3 / (0.5 + 0.25 * 6))
