"""Orders of convergence: four step sizes or more, +-0.15, smooth stretches and impacts apart."""

from __future__ import annotations

import functools
import importlib

import numpy as np
import pytest

import explorer as ex
from explorer.parameters import knobs_of
from explorer.schemes import schemes
from explorer.study.order_diagram import _told

STEPS = (0.02, 0.01, 0.005, 0.0025, 0.00125)
PENDULUM = ex.models.pendulum()
SMOOTH = {"t_end": 2.0, "d": 50.0, "theta0": 0.8, "r0": 1.1}


def slope(h, errors) -> float:
    """Return the slope of log(error) over log(h)."""
    return float(np.polyfit(np.log(h), np.log(errors), 1)[0])


@functools.cache
def smooth_reference() -> np.ndarray:
    """Return (q, v) at the end from Runge-Kutta at tight tolerance, walls out of reach."""
    from scipy.integrate import solve_ivp

    k, length, g = 60.0, 1.0, 9.81

    def rate(t, x):
        r, a, vr, w = x
        return [
            vr, w, r * w**2 + g * np.cos(a) - k * (r - length),
            (-2 * vr * w - g * np.sin(a)) / r,
        ]  # fmt: skip

    run = solve_ivp(rate, (0, 2.0), [1.1, 0.8, 0, 0], method="DOP853", rtol=1e-13, atol=1e-13)
    return run.y[:, -1]


def smooth_errors(**knobs) -> list[float]:
    """Return the error of (q, v) at the end for each step size."""
    errors = []
    for h in STEPS:
        scheme = ex.MoreauJean(h=h, newton_tol=1e-13, **knobs)
        sol = ex.simulate(ex.models.elastic_pendulum(), scheme, **SMOOTH)
        assert not sol.events
        end = np.concatenate([sol.q[-1], sol.v[-1]])
        errors.append(np.abs(end - smooth_reference()).max())
    return errors


@pytest.mark.parametrize(
    ("order", "knobs"),
    [
        (2, {"mass_point": "q_star", "gamma": 0.5, "theta": 0.5}),
        (1, {"mass_point": "iterate", "theta": 0.5}),
        (1, {"mass_point": "q_star", "gamma": 0.0, "theta": 0.5}),
        (1, {"mass_point": "q_star", "gamma": 1.0, "theta": 0.5}),
        (1, {"mass_point": "q_star", "gamma": 0.5, "theta": 1.0}),
        (1, {"mass_point": "iterate", "theta": 1.0}),
    ],
)
def test_order_on_a_smooth_stretch(order, knobs):
    """q_star with gamma = theta = 1/2 is second order, everything else here first."""
    errors = smooth_errors(**knobs)
    assert slope(STEPS, errors) == pytest.approx(order, abs=0.15), errors


def test_declared_order_is_that_of_the_default_knobs():
    """The number a user reads off the class is measured."""
    assert slope(STEPS, smooth_errors()) == pytest.approx(ex.MoreauJean.order, abs=0.15)


@pytest.mark.parametrize(
    "name",
    [k for k, kind in schemes.items() if kind.fits(PENDULUM) and "h" in knobs_of(kind)],
)
def test_each_scheme_has_the_order_that_it_declares(name):
    """With its default knobs, by the closed form of the pendulum."""
    errors = []
    for h in STEPS:
        run = ex.simulate(PENDULUM, schemes[name](h=h), t_end=2)
        errors.append(np.abs(run.q - PENDULUM.exact(run.t, run.rho)["q"]).max())
    declared = schemes[name]().orders_on(PENDULUM)[0]
    assert slope(STEPS, errors) == pytest.approx(declared, abs=0.15), errors


def test_frozen_mass_point_beats_the_refreshed_one():
    """Correction 5 of siconos-schemes: q* frozen at q_i + (h/2) v_i is second order, while
    gamma = 1, whose q* is the refreshed iterate of Siconos, is first order: far larger errors."""
    frozen = smooth_errors(mass_point="q_star", gamma=0.5)
    refreshed = smooth_errors(mass_point="iterate")
    assert all(a < b for a, b in zip(frozen, refreshed, strict=True))
    assert frozen[-1] < refreshed[-1] / 20


@pytest.mark.parametrize("theta", [0.5, 1.0])
def test_linear_oscillator_order(theta):
    """Constant matrices: order 2 for the midpoint rule, 1 for implicit Euler, by closed form."""
    system = ex.LinearMechanicalSystem(
        "oscillator", [[2.0]], [[18.0]], start={"q": [1.0], "v": [0.0]}
    )
    errors = []
    for h in STEPS:
        sol = ex.simulate(system, ex.MoreauJean(h=h, theta=theta), t_end=2)
        errors.append(np.abs(sol.q[-1, 0] - np.cos(6.0)))
    assert slope(STEPS, errors) == pytest.approx(2 if theta == 0.5 else 1, abs=0.15)


@pytest.mark.parametrize(("t", "impacts"), [(1.0, 1), (1.55, 2)])
def test_order_across_impacts(t, impacts):
    """Ball at an instant off the events: the error of q is of first order.

    The error of one run depends on where the impact falls in its step, so its mean over many step
    sizes near h is taken.
    """
    model = ex.models.bouncing_ball()
    exact = model.exact(np.array([t]), {"y0": 1.0, "g": 9.81, "e": 0.8})["q"][0, 0]
    centres = (0.005, 0.0025, 0.00125, 0.000625)
    means = []
    for centre in centres:
        found = []
        for h in centre * np.linspace(0.8, 1.25, 60):
            sol = ex.simulate(model, ex.MoreauJean(h=h), t_end=t, e=0.8)
            found.append(abs(sol.q[-1, 0] - exact))
        means.append(np.mean(found))
    assert sum(k == "impact" for _, k, _ in sol.event_rows) == impacts
    assert slope(centres, means) == pytest.approx(ex.MoreauJean.order_across_events, abs=0.15)


def test_penetration_is_of_first_order():
    """Correction 6 of siconos-schemes: the gap may be violated by O(h), and by no more."""
    depth = []
    steps = np.geomspace(0.02, 0.001, 30)
    for h in steps:
        sol = ex.simulate(ex.models.bouncing_ball(), ex.MoreauJean(h=h), t_end=1, e=0.5)
        depth.append(-sol.gap.min() / h)
        assert sol.gap.min() >= -1.01 * h * np.abs(sol.v).max()
    assert max(depth) > 0.5


# -- located events: the tolerance is what counts -------------------------------------------------

TOLERANCES = (1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11)
ACROSS = [("pendulum_wall", {}, 8), ("elastic_pendulum", {"t_end": 6.0}, 3),
          ("impact_oscillator", {"t_end": 12.0}, 1)]  # fmt: skip


def by_tolerance(system, reference, method, **settings) -> list[float]:
    """Return the error of the whole state at the end for each tolerance."""
    schemes = [ex.EventDriven(rtol=r, atol=r / 10, method=method) for r in TOLERANCES]
    ends = [ex.simulate(system, scheme, **settings).x[-1] for scheme in schemes]
    return [float(np.abs(end - reference).max()) for end in ends]


def falls_with_the_tolerance(errors) -> None:
    """Assert error ~ rtol, over five powers of ten."""
    assert slope(TOLERANCES, errors) == pytest.approx(1, abs=0.2), errors
    assert (np.array(errors) <= 100 * np.array(TOLERANCES)).all(), errors


@pytest.mark.parametrize("method", ["dop853", "dopri5"])
def test_located_events_follow_their_tolerance_on_a_smooth_stretch(method):
    """Against Runge-Kutta by somebody else."""
    system = ex.models.elastic_pendulum()
    falls_with_the_tolerance(by_tolerance(system, smooth_reference(), method, **SMOOTH))


@pytest.mark.parametrize("method", ["dop853", "dopri5"])
@pytest.mark.parametrize(("name", "settings", "impacts"), ACROSS)
def test_located_events_follow_their_tolerance_across_impacts(name, settings, impacts, method):
    """No order is lost at an event that is located on the flow itself."""
    system = getattr(ex.models, name)()
    tight = ex.simulate(system, ex.EventDriven(rtol=1e-13, atol=1e-14), **settings)
    assert len(tight.events) >= impacts
    falls_with_the_tolerance(by_tolerance(system, tight.x[-1], method, **settings))


@pytest.mark.parametrize("name", ["pendulum_wall", "vibrating_table", "newtons_cradle"])
def test_time_stepping_tends_to_the_located_run(name):
    """Two schemes that share no line agree, to first order in h, between the events."""
    system = getattr(ex.models, name)()
    t = np.linspace(0, min(system.t_end, 2.0), 201)
    located = ex.simulate(system, ex.EventDriven(), t_end=t[-1], t_eval=t)
    errors = []
    for h in (2e-3, 1e-3, 5e-4, 2.5e-4):
        stepped = ex.simulate(system, ex.MoreauJean(h=h), t_end=t[-1])
        at = [np.interp(t, stepped.t, q) - np.interp(t, located.t, x)
              for q, x in zip(stepped.q.T, located.q.T, strict=True)]  # fmt: skip
        errors.append(np.mean(np.abs(at)))
    assert errors[-1] <= 2e-2 * np.abs(located.q).max(), errors
    assert errors[-1] < errors[0] / 2, errors


def test_a_circuit_has_an_order_diagram_too():
    """Its truth has to be given: no closed form, and nothing of higher order takes it."""
    circuit = ex.FirstOrderSystem(
        "half-wave rectifier", "v", A=[[-1]], b=["sin(9*t)"], B=[[1]], C=[[1]],
        laws={"i": "complementarity"}, start={"x": [0.2], "t_end": 1.8},
    )  # fmt: skip
    with pytest.raises(ex.BadValue, match=r"give reference=.*EulerMoreau\(h="):
        ex.study.order_diagram(circuit)
    found = ex.study.order_diagram(circuit, reference=ex.EulerMoreau(h=1e-5))
    assert [curve.order > 0.9 for curve in found.curves] == [True]


@pytest.mark.parametrize("name", ["switched_oscillator", "stribeck_belt"])
def test_an_order_that_coarse_steps_do_not_tell_is_found_with_finer_ones(name):
    """One stage is of order 1; with the usual steps its errors are as large as the state."""
    schemes = {"FESD": ex.FESD(stages=1), "ThetaRK": ex.ThetaRK(stages=1)}
    found = ex.study.order_diagram(getattr(ex.models, name)(), schemes)
    for curve in found.curves:
        assert curve.order == pytest.approx(1, abs=0.3)
        assert len(curve.error) == 8


def test_the_error_of_a_diagram_is_that_of_the_final_state():
    """Implicit Euler of x' = -x is (1 + h)^-n at t = n h; relative to the largest final state."""
    system = ex.FirstOrderSystem("two", "x z", f=["-x", "-3*z"], start={"x": [1, 1], "t_end": 2})
    T, steps = 2.0, np.array([0.2, 0.1, 0.05, 0.025])
    exact = np.exp(-T * np.array([1.0, 3.0]))
    found = ex.study.order_diagram(
        system, {"Euler": ex.EulerMoreau(theta=1)}, h=steps, reference=exact, t_end=T
    )
    n = np.round(T / steps)
    ends = np.stack([(1 + steps) ** -n, (1 + 3 * steps) ** -n])
    wanted = np.abs(ends - exact[:, None]).max(axis=0) / exact.max()
    np.testing.assert_allclose(found.curves[0].error, wanted, rtol=1e-6)


def test_finer_steps_are_tried_where_no_order_shows_up_to_a_limit(monkeypatch):
    """Six more, each half of the one before; none where the steps asked for show an order."""
    module, taken = importlib.import_module("explorer.study.order_diagram"), []

    def counted(system, scheme, **asked):
        taken.append(scheme.h)
        return ex.simulate(system, scheme, **asked)

    monkeypatch.setattr(module, "simulate", counted)
    system = ex.FirstOrderSystem("one", "x", f=["-x"], start={"x": [1], "t_end": 1})
    asked = {"Euler": ex.EulerMoreau(theta=1)}
    for truth, more in ((np.array([1e-3]), 6), (np.exp([-1.0]), 0)):
        taken.clear()
        found = ex.study.order_diagram(system, asked, h=[0.5, 0.25, 0.125], reference=truth, t_end=1)  # fmt: skip
        assert sorted({*taken}) == sorted(0.5 ** np.arange(1, 4 + more))
        assert len(found.curves[0].error) == 3
        assert (found.curves[0].law is None) == (more > 0)


def test_an_order_is_told_by_the_runs_between_nonsense_and_round_off():
    """Behind the last that has no sense, 0.3 or more of the solution; above 2e-12."""
    for errors, told in (
        ([0.1, 1e-2, 1e-3], [0, 1, 2]),
        ([2.0, 1e-2, 1e-3], [1, 2]),
        ([0.1, np.nan, 1e-2, 1e-13, 1e-3], [2, 4]),
        ([0.1, 0.2, np.inf], []),
    ):
        assert _told(np.array(errors)).tolist() == told
