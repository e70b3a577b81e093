"""Slides that nothing holds: both fields lead away, and a run that stays is one of many."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from loops import for_each

import explorer as ex
from explorer.models import models
from explorer.verification.uniqueness import held_by_nothing

SCHEMES = (ex.EventDriven(), ex.FESD(h=0.05), ex.EulerMoreau(h=0.01))


def relay(side: int) -> ex.FilippovSystem:
    """x' = side sgn x, from x = 0 or near it, beside a state that says how long it stays."""
    system = ex.FilippovSystem("relay", x="x y", params={"x0": ex.Param(0.0, -1, 1)})
    x, _ = system.x
    system.subsystem({"right": [side, 1], "left": [-side, 1]}, c={"wall": x})
    system.start(x=["x0", 0], t_end=1)
    return system


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda s: type(s).__name__)
def test_a_slide_through_a_fold_is_one_of_many_solutions(scheme):
    """The fold of the model is at x = 0; to the left of it the slide is held."""
    system = models["two_fold"]()
    met = np.sqrt(1 - 0.6)  # how far from the fold it comes to the line
    fold = 1 - met + met / 1.5
    assert not ex.simulate(system, scheme, t_end=0.95 * fold).cautions
    run = ex.simulate(system, scheme, t_end=2)
    (said,) = run.cautions
    assert "nothing holds the state on 'line'" in said
    (check,) = held_by_nothing(run)
    assert not check.ok
    assert check.value == 1


@for_each("scheme", SCHEMES[:2])
def test_a_relay_that_pushes_to_its_surface_holds_and_one_that_pushes_away_does_not(scheme):
    assert not ex.simulate(relay(-1), scheme, x0=0.3).cautions
    away = ex.simulate(relay(1), scheme, x0=0.3)
    assert not away.cautions, "it leaves, and never slides"
    moments = ex.simulate(relay(1), scheme).choices
    stays = next(k for k, p in enumerate(moments[0].patterns) if "|" in p or "= 0" in p)
    kept = ex.simulate(relay(1), type(scheme)(picks=str(stays)))
    assert np.abs(kept.x[:, 0]).max() < 1e-12
    assert any("nothing holds" in said for said in kept.cautions)


@for_each("name", ["sliding_mode", "sliding_entry", "threshold_policy", "relay_feedback"])
def test_slides_of_the_gallery_are_held(name):
    run = ex.simulate(models[name]())
    (check,) = held_by_nothing(run) or [None]
    assert check is None or check.ok
    if name.startswith("sliding"):
        assert (run.signs == 0).any()


def crossing(*quadrants: tuple[object, object], count: int = 2) -> ex.StepSystem:
    """Relays whose rates are given on the quadrants -- +- -+ ++, beside a clock s, from 0.

    The third relay, if there is one, holds its surface by itself.
    """
    states = ("x", "y", "z")[:count]
    system = ex.StepSystem("crossing", x=" ".join([*states, "s"]))
    *own, s = system.x
    step = [sp.Heaviside(x) for x in own]
    a, b = step[:2]
    weights = ((1 - a) * (1 - b), a * (1 - b), (1 - a) * b, a * b)
    for k, rates in enumerate(quadrants):
        assert len(rates) == 2, k
    rates = [
        sum(w * sp.sympify(q[i], {"s": s}) for w, q in zip(weights, quadrants, strict=True))
        for i in range(2)
    ]
    system.f = [*rates, *(1 - 2 * h for h in step[2:]), 1]
    system.start(x=[*(0 for _ in own), 0], t_end=0.9, h=0.05)
    return system


LOCATED = (ex.EventDriven(), ex.FESD(h=0.05))


@for_each("scheme", LOCATED)
def test_a_crossing_that_all_fields_lead_to_holds(scheme):
    run = ex.simulate(crossing((1, 1), (-3, 1), (1, -3), (-1, -1)), scheme)
    assert (run.signs[:, :2] == 0).all()
    assert not run.cautions


@for_each("scheme", LOCATED)
@for_each("count", [2, 3])
def test_a_crossing_that_one_field_leaves_is_one_of_many(scheme, count):
    """With y on ++ the rates are zero at alpha = (2 - sqrt(1 - y)) / (3 + y); it leads away, y > 0."""
    away = crossing((1, 1), (-3, 1), (1, -3), ("s - 1/2", "s - 1/2"), count=count)
    assert not ex.simulate(away, scheme, t_end=0.45).cautions
    run = ex.simulate(away, scheme)
    assert np.abs(run.x[:, :count]).max() < 1e-9
    (said,) = [said for said in run.cautions if "nothing holds" in said]
    assert "'x' and 'y'" in said.replace("c1", "x").replace("c2", "y")
    assert 0.5 < float(said.split("t = ")[1].split(" ")[0]) < 0.62


def test_a_crossing_may_be_left_along_one_of_its_surfaces():
    """Each field leads to y = 0, and their means on it lead away from x = 0; none leaves both."""
    system = crossing((-1, 1), (2, 1), (-1, -1), (-1, -1))
    moment = ex.simulate(system, ex.EventDriven()).choices[0]
    stays = int(np.argmin(np.abs(moment.rates[:, :2]).sum(axis=1)))
    assert np.abs(moment.rates[stays, :2]).max() < 1e-12
    run = ex.simulate(system, ex.EventDriven(picks=str(stays)))
    assert np.abs(run.x[:, :2]).max() < 1e-12
    (check,) = held_by_nothing(run)
    assert not check.ok
    assert "there is a motion that leads away" in check.words


def test_slides_on_five_surfaces_are_not_called_held():
    names = [f"x{k}" for k in range(5)]
    system = ex.StepSystem("five", x=" ".join(names))
    system.f = [1 - 2 * sp.Heaviside(x) for x in system.x]
    system.start(x=[0] * 5, t_end=0.2, h=0.05)
    (check,) = held_by_nothing(ex.simulate(system, ex.FESD(h=0.05)))
    assert not check.ok
    assert "5 surfaces at once" in check.words


@for_each("scheme", SCHEMES)
def test_a_run_that_slides_all_the_time_has_no_caution(scheme):
    """A circle that both fields lead to: each switching function is round-off, and no scale."""
    system = ex.StepSystem("circle", x="x y")
    x, y = system.x
    pull = 3 - 6 * sp.Heaviside(x**2 + y**2 - 1)
    system.f = [-y + pull * x, x + pull * y]
    system.start(x=[1, 0], t_end=20, h=0.05)
    run = ex.simulate(system, scheme)
    assert (run.signs[1:] == 0).all()
    assert not run.cautions, run.certificate
    np.testing.assert_allclose(np.hypot(*run.x.T), 1, atol=2e-3)


@for_each("x0", [0.0, 1e-9, 4e-3, -4e-3])
def test_a_step_that_passes_a_surface_against_its_field_is_no_motion(x0):
    """x' = sgn x never changes its sign; within h of zero the implicit step has three solutions."""
    run = ex.simulate(relay(1), ex.EulerMoreau(h=0.01), x0=x0)
    wrong = x0 == 0 or np.sign(run.x[-1, 0]) != np.sign(x0)
    assert bool(run.cautions) == wrong
    if x0 > 0:
        assert wrong
        assert "passes 'wall'" in run.cautions[0]
    assert not ex.simulate(relay(1), ex.EulerMoreau(h=0.01), x0=0.3).cautions


@for_each("strength", [1, -1])
@for_each("x0", [4e-3, -4e-3, 0.3, 0.0])
def test_a_relay_that_drives_its_own_output_away_has_steps_with_two_solutions(strength, x0):
    """x' = -strength sgn x, of which only strength > 0 is monotone; x0 and its step of 0.01."""
    system = ex.FirstOrderSystem("driven", x="x", params={"x0": ex.Param(0.3, -1, 1)})
    system.law("u", "relay", lb=-1, ub=1)
    system.f = [0]
    system.linear(C=[[1]], B=[[strength]])
    system.start(x=["x0"], t_end=0.2, h=0.01)
    run = ex.simulate(system, x0=x0)
    if strength > 0:
        assert not run.cautions
        return
    wrong = x0 == 0 or np.sign(run.x[-1, 0]) != np.sign(x0)
    assert bool(run.cautions) == wrong, "what goes the right way is not blamed"
    if wrong:
        assert "has another solution, in which 'u'" in run.cautions[0]
    assert x0 == 0 or not ex.simulate(system, ex.EulerMoreau(h=1e-3), x0=x0).cautions
