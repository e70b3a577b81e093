"""Parts of the search for plans with contacts: the clock, impacts on boundaries, limits."""

from __future__ import annotations

import dataclasses
import functools

import casadi as ca
import numpy as np
import pytest
from loops import for_each
from test_contact_control import ball

import explorer as ex
from explorer.control import replay
from explorer.kernels.fesd.collocation import collocation
from explorer.transcription import course, pipeline
from explorer.transcription.contact_program import extrapolated
from explorer.transcription.contact_sets import OPEN, STICK, inside
from explorer.transcription.paths import Paths
from explorer.transcription.sequence import Change, Sequence
from explorer.transcription.solver import Bounds
from explorer.views.plan import said


@functools.cache
def bounced():
    """Return the plan of a ball that falls on the floor and lies there: e = 0."""
    task = ex.OptimalControlProblem(
        ball(0.0), t_end=1, intervals=4, running="u**2 + 100*y**2", end={"v_y": 0}
    )
    return ex.optimize(task, progress=False)


def test_a_known_clock_leaves_the_derivatives_as_they_are():
    """The Hessian and the Jacobian are those of CasADi on the whole program, but for T, t_0, part."""
    plan = bounced()
    point, own = plan.outcome.point, plan.pipeline.smooth
    program = own.program
    nlp, p = program.nlp, plan.outcome.p
    rows = ca.SX.sym("rows", program.row_low.size)
    lagrangian = nlp["f"] + ca.dot(rows, nlp["g"])
    H, _ = ca.hessian(lagrangian, nlp["x"])
    whole = ca.Function("whole", [nlp["x"], nlp["p"], rows], [H, ca.jacobian(nlp["g"], nlp["x"])])
    clock = [*program.of["part"].tolist(), int(program.of["t_0"]), int(program.of["T"])]
    free = np.setdiff1d(np.arange(program.low.size), clock)
    theirs = [np.asarray(one) for one in whole(point.w, p, point.row_multipliers)]
    ours = [one.toarray() for one in own.second_order(point.w, p, point.row_multipliers)]
    np.testing.assert_allclose(ours[0][np.ix_(free, free)], theirs[0][np.ix_(free, free)])
    np.testing.assert_allclose(ours[1][:, free], theirs[1][:, free])
    assert set(own.known.tolist()) == set(clock)
    assert not ours[0][clock].any()


def test_a_solve_that_goes_astray_is_ended(monkeypatch):
    """Some iterates with an objective above a limit end a solve; without a limit it goes on."""
    plan = bounced()
    own, program = plan.pipeline.first, plan.pipeline.first.program
    monkeypatch.setattr(course, "ASTRAY", 2)
    w, p = np.clip(np.ones(program.low.size), program.low, program.high), plan.outcome.p
    free = own("homotopy", w, p, Bounds.of(program))
    ended = own("homotopy", w, p, Bounds.of(program), dear=-1.0)
    assert free.ok
    assert free.iterations > 3
    assert not ended.ok
    assert ended.iterations == 2


@for_each("s", [2, 3, 4])
def test_forces_at_the_begin_are_those_of_the_polynomial(s):
    """The weights give back any polynomial of a degree below s."""
    c = collocation("radau_iia", s).c
    values = np.polyval(np.arange(1.0, s + 1), c)
    assert extrapolated(c) @ values == pytest.approx(s)  # its constant term


def test_impacts_near_boundaries_are_put_there():
    """Elements of the homotopy have a least length, so an impact comes no nearer by itself."""
    limits = np.arange(4.0)

    def places(t):
        change = Change((STICK,), 2, t)
        return [c.place for c in inside(Sequence((OPEN,), (change,)), 2, limits).changes]

    assert (places(1.05), places(1.5), places(1.95)) == ([1], [2], [3])
    later = inside(Sequence((STICK,), (Change((OPEN,), 2, 1.2),)), 2, limits)
    assert later.changes[0].place == 1  # a control opens a contact by its jump


def test_an_impact_at_the_end_counts_on_both_sides_of_it():
    """The last state of a run, and that without the jump; a jump before the end is part of it."""
    t = np.array([0.0, 0.5, 0.5, 1 - 1e-9, 1 - 1e-9, 1.0])
    x = np.array([[0.0], [1.0], [5.0], [5.0], [3.0], [3.0]])
    np.testing.assert_allclose(replay._ends(t, x, 1.0), [[3.0], [5.0]])
    np.testing.assert_allclose(replay._ends(t[:3], x[:3], 1.0), [[5.0]])


def test_a_search_that_ends_at_its_limit_says_so(monkeypatch):
    """Neighbours that were not judged leave a plan at a kink, and the message tells why."""
    monkeypatch.setattr(pipeline, "ANYWAY", 0)
    system = ex.MechanicalSystem("carts", q="a b", params={"e": 0.6})
    system.inputs("u", low=-5, high=5)
    system.mass, system.force = [[1, 0], [0, 1]], ["u", "0"]
    system.contact(ex.Contact("b - a", e="e", name="bumper"))
    system.start(q=[0, 1], v=[0, 0], t_end=3)
    task = ex.OptimalControlProblem(system, intervals=6, running="u**2", end={"b": 2.6})
    monkeypatch.setattr("explorer.control.compiled_task.EFFORT", 0.01)
    plan = ex.optimize(task, progress=False)
    assert plan.status == "at a kink", plan
    assert "ended at its limit of" in plan.message
    assert {what for _, _, what in plan.biactive} == {
        "an impact on the boundary of a control interval"
    }
    monkeypatch.undo()
    plan = ex.optimize(task, progress=False)
    assert plan.ok, plan
    assert plan.objective == pytest.approx(32 / 27, rel=1e-6)  # u = 8/9 until the impact at 1.5 s


def refused(count, monkeypatch):
    """Let the first solves on a sequence fail; return a list that has an entry for each."""
    solve, calls = Paths.quick, []

    def quick(self, *given):
        plan = solve(self, *given)
        calls.append(plan.ok)
        if len(calls) > count:
            return plan
        return dataclasses.replace(plan, point=dataclasses.replace(plan.point, ok=False))

    monkeypatch.setattr(Paths, "quick", quick)
    return calls


def test_where_no_sequence_is_solved_the_search_goes_another_way(monkeypatch):
    """Other sigmas from the same guess, then random points; a plan found at once stays the same."""
    once = bounced()
    sigmas = [line["sigma"] for line in once.log if line["stage"] == "homotopy"]
    first, more = once.pipeline.settings.sigmas, once.pipeline.settings.more
    assert sigmas[: len(first)] == [*first]
    assert max(sigmas[len(first) :], default=0) <= first[1]  # no other path
    for paths in (1, 2):
        failing = paths * len(more) + 1  # the last sequence of the first path is tried, too
        with monkeypatch.context() as patch:
            calls = refused(failing, patch)
            plan = ex.optimize(once.task, progress=False)
        sigmas = [line["sigma"] for line in plan.log if line["stage"] == "homotopy"]
        assert len(calls) == failing + 1
        assert plan.ok, plan
        assert plan.objective == pytest.approx(once.objective, rel=1e-6)
        assert sigmas.count(once.pipeline.settings.other[0]) == 1
        assert sigmas.count(first[0]) == paths


def test_a_plan_inside_an_obstacle_has_a_replay_that_says_so():
    """Its interval cannot begin: an infinite defect and the reason, in pictures too."""
    plan = bounced()
    w = plan.outcome.w.copy()
    of = plan.outcome.program.of["x"]
    w[of[1, ..., 0]] = -0.1  # m
    outcome = dataclasses.replace(plan.outcome, w=w, status="not converged")
    deep = dataclasses.replace(plan, outcome=outcome, status="not converged")
    run = deep.replay()
    assert np.isinf(run.defect)
    assert np.isinf(deep.defect)
    assert [*run.failed] == [2]
    assert np.isnan(run.defects[2]).all()
    assert np.isfinite(run.defects[[0, 1, 3]]).all()
    assert "starts inside an obstacle" in repr(run)
    ex.views.plan(deep)
    assert "the replay of interval 3 failed: 'ball' starts inside" in said(deep, run)
    with pytest.raises(ex.BadValue, match=r"Interval 2 of the plan, .* no simulation begins"):
        deep.feedback()
