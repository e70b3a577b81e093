"""Constraints that cannot hold together: the plan names them, and by how much they are missed."""

from __future__ import annotations

import pytest

import explorer as ex
from tests.loops import for_each


def block(**asked):
    """Return a block that slides at 1 m/s; with the best brake it rests after 1/3 m."""
    system = ex.StepSystem("block", x="q v", params={"mu": 0.5})
    system.inputs("u", low=-1, high=1)
    system.f = ["v", "u - mu*sign(v)"]
    system.start(x=[0, 1], t_end=2)
    return ex.OptimalControlProblem(system, intervals=4, running="u**2", **asked)


CASES = [
    ({"bounds": {"q": (None, 0.2)}}, "bounds: q <= 0.2"),
    ({"path": ["q <= 0.2"]}, "path: q <= 0.2"),
]


@for_each(("asked", "name"), CASES)
def test_a_bound_of_a_state_is_named(asked, name, tmp_path):
    """The way to rest is v^2 / (2 (u + mu)) = 1/3, so q <= 0.2 is missed by 2/15, and by no more."""
    plan = ex.optimize(block(**asked), progress=False)
    assert plan.status == "infeasible"
    assert list(plan.unmet) == [name]
    assert plan.unmet[name] == pytest.approx(2 / 15, abs=1e-6)
    assert name in repr(plan)
    loaded = ex.Plan.load(plan.save(tmp_path / "plan"))
    assert loaded.unmet[name] == pytest.approx(2 / 15, abs=1e-6)
    slower = plan.again(x0=[0, 0.5])  # rests after 1/12 m
    assert slower.ok, slower
    assert not slower.unmet


def test_a_bound_that_can_just_hold_is_kept():
    """0.34 m are enough: what finds no fault is no reason for a status."""
    plan = ex.optimize(block(bounds={"q": (None, 0.34)}), progress=False)
    assert plan.ok
    assert plan.x[:, 0].max() < 0.34 + 1e-9


def test_knots_and_goals_are_named_together():
    """A constraint at the ends of intervals, and of two that contradict each other at least one."""
    plan = ex.optimize(block(knots=["q <= 0.1"]), progress=False)
    assert list(plan.unmet) == ["knot: q <= 0.1"]
    plan = ex.optimize(block(bounds={"q": (None, 0.2)}, end={"v": 0.5}), progress=False)
    assert plan.status == "infeasible"
    assert "bounds: q <= 0.2" in plan.unmet


def test_a_bound_is_named_with_contacts_and_modes():
    """A ball cannot fall slower than its thrust lets it; a heater cannot stay above -0.1."""
    ball = ex.MechanicalSystem("ball", q="y", params={"g": 9.81})
    ball.inputs("u", low=-1, high=5)
    ball.mass, ball.force = 1, ["u - g"]
    ball.contact(ex.Contact("y", e=0.5, name="floor"))
    ball.start(q=[1], v=[0], t_end=1)
    task = ex.OptimalControlProblem(ball, intervals=4, running="u**2", bounds={"v_y": (-1, None)})
    plan = ex.optimize(task, {"modes": ["open", "open", "bounce", "bounce"]}, progress=False)
    assert list(plan.unmet) == ["bounds: -1 <= v_y"]
    heater = ex.HybridSystem("heater", x="x", params={"r": 0.8})
    heater.inputs("u", low=-0.1, high=0.1)
    heater.mode("up", ["1 + u"])
    heater.mode("down", ["-1 + u"])
    heater.guard("up", "x - r", to="down", direction=1)
    heater.start(x=[0], t_end=2)
    task = ex.OptimalControlProblem(heater, intervals=4, running="u**2", bounds={"x": (-0.1, None)})
    plan = ex.optimize(task, {"modes": ["up", "up", "down", "down"]}, progress=False)
    assert plan.status == "infeasible"
    # the slowest way up, 0.9 per s, ends at 8/9 s; that control goes on up to 1 s, then the best one
    last = 0.8 - 1.1 * (1 - 8 / 9) - 0.9
    assert plan.unmet["bounds: -0.1 <= x"] == pytest.approx(-0.1 - last, abs=1e-6)
