"""Constraints whose gradients depend on each other: those that agree run, those that do not end."""

from __future__ import annotations

import numpy as np
import pytest
from loops import for_each
from test_changing_constraints import folding

import explorer as ex
from explorer.parameters import knobs_of
from explorer.systems import Constraint

FORMS = knobs_of(ex.EventDriven)["formulation"][1].choices


def tied(*constraints, redundant=False, **start):
    """Return a mass in the plane with constraints, at rest in the origin."""
    system = ex.MechanicalSystem(
        "tied", q="x y", units="m", mass=[[1, 0], [0, 1]], force=[0, -1],
        constraints=list(constraints),
    )  # fmt: skip
    system.start(**{"t_end": 1.0, "redundant": redundant} | start)
    return system


def test_accelerations_that_contradict_each_other_are_refused_at_the_start():
    """Positions and velocities satisfy both there: only phi'' tells."""
    for redundant in (False, True):
        system = tied("x", "x - t**2", redundant=redundant)
        for form in FORMS:
            with pytest.raises(ex.BadModel, match="'constraint 2' contradicts 'constraint 1' at"):
                ex.simulate(system, ex.EventDriven(formulation=form))
    for scheme in (ex.MoreauJean(), ex.GeneralizedAlpha(), ex.NonsmoothGeneralizedAlpha()):
        with pytest.raises(ex.BadModel, match="'constraint 2' of 'tied' is redundant at the start"):
            ex.simulate(tied("x", "x - t**2"), scheme)


@for_each("form", FORMS)
def test_a_contradiction_that_comes_later_ends_the_run_in_time(form):
    """x = 0 and x = t^3 agree at t = 0 up to phi''; x = 0 and x = max(0, t - 1/2)^4 until 1/2."""
    run = ex.simulate(tied("x", "x - t**3"), ex.EventDriven(formulation=form), throw=False)
    assert run.status.name == "contradictory"
    assert "'constraint 2' contradicts 'constraint 1'" in run.status.message
    assert 0 < run.status.t < 0.2
    late = tied(
        "y", Constraint("x - t", "slow"), Constraint("x - t - Max(0, t - 1/2)**4", "fast"),
        v=[1, 0], redundant=True,
    )  # fmt: skip
    run = ex.simulate(late, ex.EventDriven(formulation=form), throw=False)
    assert run.status.name == "contradictory"
    assert "'fast' contradicts 'slow'" in run.status.message
    assert 0.5 < run.status.t < 0.8


def test_what_begins_to_hold_is_compared_with_what_holds():
    system = tied("x", Constraint("x - (t - 1/2)**2", "late", when="t - 1/2"))
    run = ex.simulate(system, ex.EventDriven(), throw=False)
    assert run.status.name == "contradictory"
    assert run.status.t == pytest.approx(0.5, abs=1e-9)


@for_each("form", FORMS)
def test_constraints_that_say_the_same_run_on(form):
    """A circle as a square and as a length; at rest, in motion, and translating."""
    circle = tied("x**2 + y**2 - 1", "sqrt(x**2 + y**2) - 1", redundant=True, q=[1, 0], t_end=5.0)
    run = ex.simulate(circle, ex.EventDriven(formulation=form))
    assert np.abs(np.hypot(*run.q.T) - 1).max() < 1e-4
    straight = tied("x - y", "2*x - 2*y", "(x - y)*(1 + y**2)", redundant=True, v=[3, 3])
    assert ex.simulate(straight, ex.EventDriven(formulation=form)).status.ok
    for e in (0.7, 0):  # it comes to rest on its stop: nothing but round-off is left of gamma
        run = ex.simulate(ex.models.parallelogram(), ex.EventDriven(formulation=form), e=e)
        assert run.status.ok


def test_a_loss_of_rank_is_seen_beside_a_redundant_constraint():
    """The linkage that folds, with a constraint that repeats another."""
    plain, more = folding(), folding()
    more.constraint(Constraint(2 * more.constraints[0].phi, "again"))
    more.start(redundant=True)
    runs = [ex.simulate(system, ex.EventDriven(), throw=False) for system in (plain, more)]
    assert [run.status.name for run in runs] == ["rank_lost", "rank_lost"]
    assert runs[1].status.t == pytest.approx(runs[0].status.t, abs=1e-6)


def test_a_constraint_that_becomes_dependent_stops_a_step():
    """x = 0 and x + (y - 1) max(0, 1/2 - t) = 0 are one behind t = 1/2."""
    schemes = ex.MoreauJean(), ex.GeneralizedAlpha(), ex.NonsmoothGeneralizedAlpha()
    for scheme in schemes:
        run = ex.simulate(tied("x", "x + (y - 1)*Max(0, 1/2 - t)", q=[0, 1]), scheme, throw=False)
        assert run.status.name in ("singular", "newton_cap"), scheme
        assert "depend linearly on each other" in run.status.message
        assert "'constraint 2' depends on 'constraint 1'" in run.status.message
        assert run.status.t == pytest.approx(0.5, abs=2e-2)
