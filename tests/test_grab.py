"""A hand on the picture: the start for which the grabbed point is where the pointer is."""

from __future__ import annotations

import functools
import gc

import kinds
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import explorer as ex
from explorer.errors import BadValue
from explorer.models import models
from explorer.panels.answer import SessionAnswer
from explorer.panels.grab import grabbed, movers
from explorer.panels.session import Session
from explorer.results.solution import Solution
from explorer.views.drawing.pictured import shapes_of
from explorer.views.mechanism import frames

PIXEL = 2e-3  # m, what a picture of about two metres shows


@functools.cache
def session(name: str) -> Session:
    return Session(name)


def grip(session: Session, role: str, to, place: int = 0, **more: object) -> dict:
    """Return a grip of the first shape of a role that something moves, at one of its points."""
    shapes = shapes_of(session.solution)
    kinds_ = movers(session.system)
    item = next(i for i, s in enumerate(shapes) if s.role == role and kinds_[i])
    weights = [float(k == place) for k in range(len(shapes[item].points))]
    return {"item": item, "weights": weights, "to": list(to), "t": 0.0, "fling": None} | more


def point(session: Session, asked: dict) -> np.ndarray:
    """Return where the grabbed point is at the start of the run."""
    film = frames(session.solution)
    first = sum(item["n"] for item in film["items"][: asked["item"]])
    weights = np.array(asked["weights"])
    return weights @ film["xy"][0][first : first + len(weights)]


@settings(max_examples=30, deadline=None)
@given(st.floats(-1, 1), st.floats(-0.5, 1.5))
def test_a_ball_is_where_the_hand_is_but_not_below_the_floor(x, y):
    one = session("bouncing_ball")
    asked = grip(one, "body", (x, y))
    moved, said = grabbed(one, asked)
    assert one.change(moved) == {}
    assert one.start()["q0"][0] == pytest.approx(max(y - 0.06, 0.0), abs=PIXEL)
    assert bool(said) == (y < 0.06 - 1e-6)
    assert set(moved) <= {"rho.y0"}  # the slider of the drop height, which is nothing but the start


BELOW = st.tuples(st.floats(-1.5, 1.5), st.floats(-1.5, -0.2))  # the pivot


@settings(max_examples=30, deadline=None)
@given(BELOW, BELOW)
@example((-0.93, -0.21), (0.74, -0.26))  # past the pivot
@example((1.02, -0.8), (0.7, -0.74))  # at the wall
def test_a_pendulum_between_walls_stops_at_the_nearest_place(before, to):
    one = session("elastic_pendulum")
    assert one.change({"rho.r0": 1.0, "rho.theta0": 0.6}) == {}
    for x, y in (before, to):
        asked = grip(one, "body", (x, y))
        moved, said = grabbed(one, asked)
        assert one.change(moved) == {}
        assert one.state["rho"]["r0"] > 0  # not drawn through the pivot
        d = one.system.parameters["d"].value
        assert point(one, asked) == pytest.approx([np.clip(x, -d, d), y], abs=PIXEL)
        assert bool(said) == (abs(x) > d + 1e-6)


@settings(max_examples=20, deadline=None)
@given(st.floats(-1.8, 0.8), st.floats(-1.8, -0.4))
def test_a_linkage_stays_assembled(x, y):
    one = session("five_bar_a")
    asked = grip(one, "body", (x, y))
    moved, said = grabbed(one, asked)
    assert one.change(moved) == {}
    run = one.solution
    assert np.abs(run.phi[0]).max() < 1e-9
    assert run.gap[0].min() > -1e-9
    if said == "":  # nothing but its bar keeps it from there
        arm = np.array([x + 0.5, y])
        nearest = [-0.5, 0] + np.sqrt(2) * arm / np.hypot(*arm)
        assert np.hypot(*(point(one, asked) - nearest)) < 0.1


@pytest.mark.parametrize(
    ("name", "expected"), [("bouncing_ball", (0, 2)), ("elastic_pendulum", (-1.5, 2))]
)
def test_a_thrown_body_has_the_speed_of_the_hand(name, expected):
    one = Session(name)
    start = point(one, grip(one, "body", (0, 0)))
    moved, _ = grabbed(one, grip(one, "body", start, fling=(-1.5, 2)))
    assert one.change(moved) == {}
    run, step = one.solution, 1e-6
    shape = next(s for s in one.system.pictured if s.role == "body")
    names = [*one.system.coordinates, *one.system.parameters]
    (x, y) = shape.points[0]
    rho = list(one.state["rho"].values())

    def at(q):
        numbers = dict(zip(names, [*q, *rho], strict=True))
        return np.array([float(c.subs(numbers)) for c in (x, y)])

    rate = (at(run.q[0] + step * run.v[0]) - at(run.q[0] - step * run.v[0])) / (2 * step)
    assert rate == pytest.approx(expected, abs=0.01)


def test_throws_do_not_grow_with_the_picture_that_they_make():
    """The same move of a hand, over a picture of which each throw has made the scale."""
    one = Session("bouncing_ball")
    low, high = one.states.start_ranges(one.state)["v0"][0]
    for _ in range(6):
        top = float(np.nanmax(one.solution.q))
        moved, said = grabbed(one, grip(one, "body", (0, top), fling=(0, 5 * top)))
        assert one.change(moved) == {}
        v0 = one.start()["v0"][0]
        assert v0 == pytest.approx(min(5 * top, 2 * (high - low)), abs=0.01)
        assert bool(said) == (5 * top > 2 * (high - low))
    assert "slowed to 20" in said
    assert top < 100


def test_a_wall_moves_its_parameter_as_far_as_its_range_goes():
    one = Session("elastic_pendulum")
    asked = grip(one, "ground", (-1.2, -2.0))
    moved, said = grabbed(one, asked)
    assert moved == {"rho.d": pytest.approx(1.15, abs=PIXEL)}
    assert said == ""
    moved, said = grabbed(one, asked | {"to": [-9.0, -2.0]})
    assert moved == {"rho.d": 2.0}
    assert said == "It stops where the range of d ends."


def test_what_was_grabbed_in_a_run_is_the_start_of_the_next():
    one = Session("bouncing_ball")
    film = frames(one.solution)
    k = len(film["t"]) // 3
    there, t = film["xy"][k][-1], float(film["t"][k])
    moved, _ = grabbed(one, grip(one, "body", there, t=t))
    assert one.change(moved) == {}
    assert point(one, grip(one, "body", there)) == pytest.approx(there, abs=PIXEL)


@pytest.mark.parametrize(
    "value",
    [None, 3, {}, {"item": 99, "weights": [1], "to": [0, 0], "t": 0},
     {"item": 1, "weights": [1, 0], "to": [0, 0], "t": 0},
     {"item": 1, "weights": [1], "to": [0, float("nan")], "t": 0},
     {"item": 1, "weights": [1], "to": [0, 1], "t": 0, "fling": [1]},
     {"item": 0, "weights": [1, 0], "to": [0, 1], "t": 0}],
)  # fmt: skip
def test_what_is_no_grip_is_said_and_changes_nothing(value):
    one = Session("bouncing_ball")
    with pytest.raises(BadValue, match=r"This handle does not exist|Nothing moves this shape"):
        grabbed(one, value)
    frame = SessionAnswer(one).pull({"grab": value}, False)
    assert frame["status"]["level"] == "warn"
    assert one.state == Session("bouncing_ball").state
    assert not one.can_undo


def test_a_drag_is_one_step_of_undo_and_its_end_is_a_fresh_run():
    one = Session("elastic_pendulum")
    answer, before = SessionAnswer(one), one.state
    rng = np.random.default_rng(5)
    for k in range(40):
        to = rng.uniform([-1.5, -1.8], [1.5, -0.3])
        frame = answer.pull({"grab": grip(one, "body", to)}, drag=k < 39)
        assert frame["status"]["level"] != "error"
    fresh = Session("elastic_pendulum")
    fresh.load_state(one.to_json())
    assert np.array_equal(fresh.solution.q, one.solution.q)
    one.undo()
    assert one.state == before
    assert not one.can_undo


@pytest.mark.broad
@pytest.mark.parametrize("name", sorted(n for n in models if kinds.SYSTEMS[n].n <= 12))
def test_every_body_that_a_start_moves_can_be_drawn_a_little(name):
    roles = [s.role for s in kinds.SYSTEMS[name].pictured]
    if ("body", "start") not in zip(roles, movers(kinds.SYSTEMS[name]), strict=True):
        return
    one = Session(name)
    film = frames(one.solution)
    asked = grip(one, "body", (0, 0))
    start = point(one, asked)
    moved, _ = grabbed(one, asked | {"to": list(start)})
    assert one.change(moved) == {}
    assert point(one, asked) == pytest.approx(start, abs=0.02 * np.ptp(film["box"]))


def test_a_throw_of_a_bound_body_keeps_its_constraints():
    rod = ex.MechanicalSystem(
        "rod", q="x y", units="m", params={"L": 1.0, "g": 9.81}, force=[0, "-g"],
        constraints=["x**2 + y**2 - L**2"], start={"q": [1, 0], "t_end": 0.5},
    )  # fmt: skip
    one = Session(rod)
    moved, said = grabbed(one, grip(one, "body", (0.6, 1.6), fling=(3.0, 0.0)))
    assert said == ""
    assert one.change(moved) == {}
    run = one.solution
    x, y = run.q[0]
    assert np.array([x, y]) * np.hypot(0.6, 1.6) == pytest.approx([0.6, 1.6], abs=1e-3)
    along = np.array([-y, x])
    assert run.v[0] == pytest.approx(along * (along @ [3.0, 0.0]), abs=1e-9)


def test_a_session_remembers_two_hundred_steps_and_no_run_of_them():
    def runs() -> int:
        gc.collect()
        return sum(isinstance(one, Solution) for one in gc.get_objects())

    session, before = Session("bouncing_ball", t_end=0.2), runs()
    heights = [0.5 + 1e-3 * k for k in range(230)]
    for height in heights:
        session.change({"rho.y0": height}, drag=True)
        session.change({"rho.y0": height})
    assert runs() <= before + 1, "old runs are kept"
    steps = 0
    while session.can_undo:
        session.undo()
        steps += 1
    assert steps == 200
    assert session.state["rho"]["y0"] == pytest.approx(heights[-201])
