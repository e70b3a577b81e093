"""The control panel without a browser: what is dragged plans again, and what that costs."""

from __future__ import annotations

import json
import time

import numpy as np
import plotly.graph_objects as go
import pytest
from test_panels import Wire, size

import explorer as ex
from explorer.control.again import SOLVED
from explorer.panels import Session, panels
from explorer.panels.control.film import film
from explorer.panels.control.state import ControlSession


@pytest.fixture(scope="module")
def plan():
    """A block that is pushed over 1 m in least time, against friction."""
    task = ex.OptimalControlProblem(
        ex.models.pushed_block(), t_end=(0.1, 10), intervals=6, terminal="t", end={"x": 1, "v": 0},
        bounds={"v": (-5, 5)},
    )  # fmt: skip
    return ex.optimize(task, progress=False)


@pytest.fixture
def wire(plan):
    return Wire(panels["control"](ControlSession(plan)))


def card(content: dict, title: str) -> dict:
    return dict(next(c for c in content["cards"] if c["title"] == title)["rows"])


def test_a_start_a_goal_and_a_parameter_plan_again(wire, plan):
    session = wire.panel.session
    assert session.plan is plan
    assert list(wire.controls()) == ["x0.x", "x0.v", "end.x", "end.v", "play", "rho.c"]
    for key, value in (("x0.v", 0.5), ("end.x", 1.5), ("rho.c", 1.3)):
        before = session.plan
        content, _ = wire.pull(**{key: value})
        assert content["status"]["level"] == "ok", content["status"]
        assert session.plan is not before
        assert session.plan.ok
    fresh = ex.OptimalControlProblem(
        plan.task.system, t_end=(0.1, 10), intervals=6, terminal="t", end={"x": 1.5, "v": 0},
        bounds={"v": (-5, 5)},
    )  # fmt: skip
    truth = ex.optimize(fresh, x0=[0, 0.5], c=1.3, progress=False)
    assert session.plan.objective == pytest.approx(truth.objective, abs=1e-7)
    assert card(content, "Plan")["status"] == "stationary"
    first, _ = wire.do("undo")
    assert first["values"]["rho.c"] == 1
    wire.do("reset")
    assert session.plan is plan


def test_while_a_slider_moves_nothing_is_called_good(wire):
    session = wire.panel.session
    content, _ = wire.pull(True, **{"x0.v": 0.8})
    assert content["status"]["level"] == "unchecked"
    assert session.plan.status in SOLVED
    assert "not replayed" in session.plan.message
    content, _ = wire.pull(**{"x0.v": 0.8})
    assert content["status"]["level"] == "ok"
    assert "replay misses by" in content["status"]["text"]


def test_a_drag_over_a_kink_says_so_and_letting_go_finds_the_better_sequence(wire):
    """Moving backwards, the block has to turn first: on the old sequence it can only slide."""
    wire.pull(**{"x0.v": 0.1})
    for v in (0.0, -0.1, -0.2):
        content, _ = wire.pull(True, **{"x0.v": v})
    dragged = wire.panel.session.plan.objective
    assert content["status"]["level"] == "warn"
    assert "another sequence may be better" in content["status"]["text"]
    content, _ = wire.pull(**{"x0.v": -0.2})
    assert content["status"]["level"] == "ok"
    assert wire.panel.session.plan.objective < dragged / 2


def test_a_start_without_a_plan_is_a_sentence_and_the_last_picture_stays(wire):
    """At 20 m/s the block cannot be stopped before 1 m, and it may not be faster than 5 m/s."""
    session = wire.panel.session
    before = session.plan
    content, _ = wire.pull(**{"x0.v": 20})
    assert "outside of its bounds" in content["status"]["text"]
    assert content["status"]["stale"]
    assert content["values"]["x0.v"] == 20, "what was typed stays"
    assert session.plan is before
    assert len(content["figure"]["data"]) > 5


def test_what_cannot_be_reached_is_said():
    task = ex.OptimalControlProblem(
        ex.models.pushed_block(), t_end=1, intervals=3, running="u**2", end={"x": 0.8, "v": 0}
    )
    session = ControlSession(ex.optimize(task, progress=False))
    with pytest.raises(ex.BadValue, match=r"There is no plan: end: x = 20 is missed by"):
        session.set(**{"end.x": 20})
    assert session.state["end"]["x"] == 0.8


@pytest.mark.parametrize("play", ["open", "feedback", "mpc"])
def test_a_push_that_nobody_planned_for(plan, play):
    session = ControlSession(plan, play=play, **{"push.size": 0.4})
    course = session.course
    assert [what for _, what in course.events].count("push") == 1
    missed = course.missed.get("end: x = 1", 0.0)
    # open loop: 0.4 m/s up to the end, about 0.4 (T - t) m too far; MPC plans around it
    far = 0.4 * (plan.t_end - session.state["push"]["t"])
    low, high = {"open": (0.95, 1.05), "feedback": (0.2, 0.9), "mpc": (0, 1e-4)}[play]
    assert low * far <= missed <= high * far
    picture = film(plan, course)
    assert len(picture["ghosts"]) == 1
    content, _ = Wire(panels["control"](session)).pull(**{"push.size": 0.3})
    drawn = [t for t in content["figure"]["data"] if t["name"] == "simulation"]
    assert len(drawn) == 3


def test_predictive_control_that_takes_long_is_given_up_in_a_sentence(plan, monkeypatch):
    monkeypatch.setattr("explorer.panels.control.state._PATIENCE", -1.0)
    wire = Wire(panels["control"](ControlSession(plan)))
    content, _ = wire.pull(play="mpc")
    assert wire.panel.session.course is None
    assert "not carried out: predictive control takes more than" in content["status"]["text"]
    assert content["status"]["level"] == "warn"


def test_the_film_follows_the_plan(plan):
    shown = film(plan, None)
    assert shown["ghosts"] == []
    middle = shown["xy"][:, 2:6, 0].mean(axis=1)  # of the corners of the block
    at = np.searchsorted(shown["t"], plan.t[1:-1])
    for side in (at - 1, at):  # frames beside the ends of the control intervals
        np.testing.assert_allclose(middle[side], plan.x[1:-1, 0], atol=0.025)
    assert (np.diff(middle) > 0).all(), "no two frames are the same"
    tip = shown["xy"][:, 7, 0] - shown["xy"][:, 6, 0]  # the arrow is the push
    assert tip[0] == pytest.approx(plan.u[0, 0] / 20, abs=1e-6)


def test_the_saved_state_and_the_printed_code_make_the_same_plan(plan):
    session = ControlSession(plan, play="open", **{"x0.v": 0.5, "end.x": 1.2, "push.size": 0.2})
    other = ControlSession(plan)
    other.load_state(session.to_json())
    assert other.plan.objective == pytest.approx(session.plan.objective, abs=1e-9)
    names: dict = {}
    exec(session.code(), names)
    assert names["plan"].objective == pytest.approx(session.plan.objective, abs=1e-7)
    np.testing.assert_allclose(names["course"].x[-1], session.course.x[-1], atol=1e-6)
    assert "ex.models.pushed_block()" in session.code()
    foreign = json.loads(session.to_json()) | {"task": "another"}
    with pytest.raises(ex.BadValue, match="another problem"):
        other.load_state(foreign)


def test_an_own_system_is_printed_with_its_equations():
    system = ex.StepSystem("cart", x="q v", params={"mass": 1.0})
    system.inputs("u", low=-1, high=1)
    system.f = ["v", "u/mass"]
    system.start(x=[0, 0], t_end=2)
    task = ex.OptimalControlProblem(system, intervals=4, running="u**2", end={"q": 0.5, "v": 0})
    session = ControlSession(ex.optimize(task, progress=False))
    names: dict = {}
    exec(session.code(), names)
    assert names["plan"].objective == pytest.approx(session.plan.objective, abs=1e-7)
    assert film(session.plan, None) is None, "without a sketch there is no film"
    content, _ = Wire(panels["control"](session)).pull(**{"x0.q": 0.1})
    assert content["mechanism"] is None
    assert content["status"]["level"] == "ok"


def test_actions_and_sizes(wire):
    wire.do("pin")
    content, buffers = wire.pull(**{"x0.v": 0.7})
    assert content["pinned"].startswith("a plan of cost")
    assert size(content, buffers) <= 40_000
    assert any(t["name"] == "pinned" for t in content["figure"]["data"])
    for action, kind in {
        "copy_code": "clipboard", "copy_state": "clipboard", "export_csv": "file", "export_html": "file",
    }.items():  # fmt: skip
        assert [c["type"] for c, _ in wire.say(type="do", action=action)] == [kind]
    text = wire.say(type="do", action="export_csv")[0][0]["text"]
    assert text.splitlines()[0] == "t,x,v,u"
    assert len(text.splitlines()) == 8


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("play", "loudly", "is unknown"), ("push.state", "w", "no state 'w'"), ("x0.w", 1, "no setting"),
        ("end.x", "far", "finite number"), ("push.size", "hard", "finite number"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_a_sentence(plan, key, value, said):
    session = ControlSession(plan)
    with pytest.raises(ex.BadValue, match=said):
        session.set(**{key: value})


def test_what_is_no_plan_is_refused(monkeypatch, plan):
    with pytest.raises(ex.ExplorerError, match="no task called 'pushed_block'"):
        ex.explore_control("pushed_block")
    for given in (ex.models.pushed_block(), 3):
        with pytest.raises(ex.BadValue, match="takes a plan or a problem"):
            ex.explore_control(given)
    with pytest.raises(ex.BadValue, match="explore_control"):
        panels["control"](Session("bouncing_ball"))
    monkeypatch.setenv("EXPLORER_STATIC", "1")
    assert type(ex.explore_control(plan)) is go.Figure


def test_without_casadi_the_sentence_names_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "casadi", None)
    with pytest.raises(ex.NotApplicable, match=r"control"):
        ex.explore_control()


def test_a_drag_is_answered_in_a_fraction_of_the_time_of_a_search(plan):
    """Planning again at a new start, drawing included, against the search from the beginning."""
    wire = Wire(panels["control"](ControlSession(plan)))
    wire.hello()
    spent = []
    for k in range(12):
        begin = time.process_time()
        wire.panel._answer.pull({"x0.v": 0.9 - 0.03 * k}, True)
        spent.append(time.process_time() - begin)
    begin = time.process_time()
    ex.optimize(plan.task, x0=[0, 0.6], progress=False)
    assert np.median(spent) < (time.process_time() - begin) / 4
