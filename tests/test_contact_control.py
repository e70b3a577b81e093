"""Contacts in physical time: impacts and friction in closed form, constraints, the hopper."""

from __future__ import annotations

import numpy as np
import pytest

import explorer as ex
from explorer.errors import BadValue, NotApplicable
from explorer.panels.control.film import film
from tests.loops import for_each

G = 9.81


def ball(e):
    """Return a ball on which a thruster pushes."""
    system = ex.MechanicalSystem("ball", q="y", params={"g": G, "e": e})
    system.inputs("u", low=-20, high=20)
    system.mass, system.force = 1, ["u - g"]
    system.contact(ex.Contact("y", e="e", name="floor"))
    system.start(q=[1], v=[0], t_end=1)
    return system


@for_each("e", [0.5, 0.8])
def test_a_bounce_is_kept(e):
    """Without thrust the ball is at y(T) after one bounce: that is the goal, at no cost."""
    T = 0.8
    fall = np.sqrt(2 / G)
    up = e * G * fall
    goal = up * (T - fall) - G * (T - fall) ** 2 / 2
    task = ex.OptimalControlProblem(
        ball(e), t_end=T, intervals=4, running="u**2",
        end={"y": goal, "v_y": up - G * (T - fall)},
    )  # fmt: skip
    guess = {"modes": ["open", "open", "bounce", "bounce"]}
    plan = ex.optimize(task, guess, progress=False)
    assert plan.ok, plan
    assert plan.objective == pytest.approx(0, abs=1e-9)
    assert plan.switches == pytest.approx([fall], abs=1e-6)
    assert plan.defect < 1e-6


def test_two_bodies_collide():
    """A cart pushes another by an elastic impact: v2(+) = (1 + e)/2 v1; no force acts at a distance."""
    system = ex.MechanicalSystem("carts", q="a b", params={"e": 0.6})
    system.inputs("u", low=-5, high=5)
    system.mass, system.force = [[1, 0], [0, 1]], ["u", "0"]
    system.contact(ex.Contact("b - a", e="e", name="bumper"))
    system.start(q=[0, 1], v=[0, 0], t_end=3)
    task = ex.OptimalControlProblem(system, intervals=6, running="u**2", end={"b": 2.6})
    plan = ex.optimize(task, progress=False)
    assert plan.ok, plan
    assert plan.defect < 1e-8
    hit = plan.switches[0]
    run = plan.replay()
    before, *_, after = run.x[np.abs(run.t - hit) < 1e-9]
    assert after[3] == pytest.approx(0.8 * before[2], rel=1e-9)
    assert 1 + (3 - hit) * after[3] == pytest.approx(2.6, abs=1e-7)


def test_a_bead_on_a_circle_is_pushed_to_its_stop():
    """A bilateral constraint and a contact: the bead rests on the stop, the force is that of rest."""
    system = ex.MechanicalSystem("bead", q="x y", params={"g": G})
    system.inputs("u", low=-30, high=30)
    system.mass, system.force = [[1, 0], [0, 1]], ["u", "-g"]
    system.constraint(ex.Constraint("x**2 + y**2 - 1", "ring"))
    system.contact(ex.Contact("0.6 - x", e=0, name="stop"))
    system.start(q=[0, -1], v=[0, 0], t_end=1.5)
    task = ex.OptimalControlProblem(
        system, intervals=10, stages=3, running="u**2/100 + (x - 0.6)**2",
        end={"x": 0.6, "v_x": 0},
    )  # fmt: skip
    plan = ex.optimize(task, {"modes": ["open"] * 5 + ["closed"] * 5}, progress=False)
    assert plan.status in ("stationary", "at a kink"), plan
    assert [part.name for part in plan.sequence] == ["open", "closed"]
    np.testing.assert_allclose((plan.x[:, :2] ** 2).sum(axis=1), 1, atol=1e-4)
    assert np.abs(plan.replay().defects).max() < 1e-3
    assert plan.u[-1, 0] == pytest.approx(G * 0.6 / 0.8, rel=1e-3)


def test_the_hopper_jumps_once():
    """From the paper's guess alone: the homotopy finds a jump that an exact simulation follows."""
    task = ex.tasks.planar_hopper()
    plan = ex.optimize(task, ex.tasks.planar_hopper.guess, max_neighbours=0, progress=False)
    assert plan.status in ("stationary", "at a kink"), plan
    assert plan.objective < 30
    defects = np.abs(plan.replay().defects)
    assert defects[:, :4].max() < 1e-3
    assert defects[:, 4:].max() < 5e-3
    assert plan.residuals["violation"] < 1e-9
    lean = plan.again(x0=[0.1, 0.5, 0.001, 0.5, 0, 0, 0, 0])
    assert lean.status in ("stationary", "at a kink"), lean
    assert {line["stage"] for line in lean.log} <= {"polish", "neighbour"}
    course = plan.follow(plan.feedback())  # quotients begin beside a closed contact
    assert not course.failed, course
    assert np.abs(course.deviation[:-1]).max() < 1e-2
    assert np.abs(course.deviation[-1, :4]).max() < 1e-2  # the foot may touch down at the end
    assert np.isfinite(film(plan, course)["xy"]).all()
    assert ex.views.plan(plan, course).data


def test_what_is_not_covered_is_refused():
    """Laws of contact that the program lacks, contacts that are unknown."""
    task = {"t_end": 1, "intervals": 2, "controls": "g"}
    puck = ex.MechanicalSystem("puck", q="x y z", params={"g": 1.0}, force=["0", "0", "-g"])
    puck.contact(ex.Contact("z", e=0, mu=0.1, slip=("v_x", "v_y")))
    with pytest.raises(NotApplicable, match="friction in space"):
        ex.OptimalControlProblem(puck, running="g**2", **task)
    with pytest.raises(BadValue, match="has no contact 'foo'"):
        ex.OptimalControlProblem(ball(0.5), intervals=2, running="u**2", no_slip=["foo"])
    with pytest.raises(BadValue, match="there is no mode 'shut'"):
        ex.optimize(
            ex.OptimalControlProblem(ball(0.5), intervals=2, running="u**2"),
            {"modes": ["open", "shut"]},
        )
