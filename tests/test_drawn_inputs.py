"""Inputs along time in the explore panel: drawn, saved, printed, taken back."""

from __future__ import annotations

import json

import numpy as np
import pytest
from test_panels import Wire

import explorer as ex
from explorer.panels import Session, panels


@pytest.fixture
def session():
    return Session("pushed_block", **{"u.u": [5, 5, -5, -5]})


def test_a_drawn_input_drives_the_run_and_each_value_is_a_setting(session):
    assert session.scheme == Session("pushed_block").scheme
    again = ex.simulate(
        ex.models.pushed_block(), session.scheme, u={"u": ex.Input.constant([0, 0.5, 1, 1.5, 2], [5, 5, -5, -5])}
    )  # fmt: skip
    np.testing.assert_array_equal(session.solution.x, again.x)
    session.set(**{"u.u.1": -1})
    assert session.state["u"]["u"]["values"] == [5, -1, -5, -5]
    assert not np.allclose(session.solution.x[-1], again.x[-1])
    session.undo()
    np.testing.assert_array_equal(session.solution.x, again.x)


def test_a_stroke_is_one_step_of_undo(session):
    for k in range(4):
        session.change({f"u.u.{k}": 1.0}, drag=True)
    session.change({"u.u.3": 2.0})
    session.undo()
    assert session.state["u"]["u"]["values"] == [5, 5, -5, -5]


def test_another_kind_and_another_count_keep_the_course(session):
    session.set(**{"u.u.count": 8})
    assert session.state["u"]["u"]["values"] == [5] * 4 + [-5] * 4
    session.set(**{"u.u": "linear"})
    values = session.state["u"]["u"]["values"]
    assert (len(values), values[0], values[-1]) == (9, 5, -5)
    session.set(**{"u.u": "constant"})
    assert session.state["u"] == {}
    session.set(u=-1)
    session.set(**{"u.u": "steps"})
    assert session.state["u"]["u"]["values"] == [-1] * 10


def test_the_saved_state_and_the_printed_code_make_the_same_run(session):
    session.set(c=0.5)
    other = Session("bouncing_ball")
    other.load_state(session.to_json())
    np.testing.assert_array_equal(other.solution.x, session.solution.x)
    names: dict = {}
    exec(session.code(), names)
    np.testing.assert_array_equal(names["solution"].x, session.solution.x)
    assert "rho={'c': 0.5}" in session.code()


def test_breaks_lie_between_the_steps_of_a_scheme_that_does_not_stop_at_them():
    """Six intervals of 2 s and steps of 1 ms: a break at 0.333 s."""
    system = ex.MechanicalSystem("lander", q="y", params={"g": 9.81})
    system.inputs("u", low=0, high=20)
    system.mass, system.force = 1, ["u - g"]
    system.contact(ex.Contact("y", e=0.5, name="floor"))
    system.start(q=[1], v=[0], t_end=2)
    session = Session(system, **{"u.u": [0, 5, 12, 15, 10, 8]})
    assert not session.scheme.located
    assert session.solution.system.drive.t[1] == pytest.approx(0.333)
    names: dict = {}
    exec(session.code(), names)
    np.testing.assert_array_equal(names["solution"].q, session.solution.q)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("u.u.0", 9, "outside its bounds"), ("u.u.0", "much", "finite number"), ("u.u.9", 1, "no setting"),
        ("u.u.count", 0, "whole number from 1"), ("u.u.count", 2.5, "whole number"), ("u.u", "wavy", "constant, steps"),
        ("u.u", [], "1 to 200"), ("u.u", [1, 9], "outside its bounds"), ("u.w", "steps", "no setting"),
        ("u.u", {"kind": "wavy"}, "along time is"), ("u.u", {"kind": "linear", "values": [1]}, "2 to 200"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_a_sentence(session, key, value, said):
    before = session.state
    with pytest.raises(ex.BadValue, match=said):
        session.set(**{key: value})
    assert session.state == before


def test_controls_and_points_of_the_picture_come_with_the_kind():
    wire = Wire(panels["explore"](Session("pushed_block")))
    assert "rho.u" in wire.controls()
    content, _ = wire.pull(**{"u.u": "steps"})
    handles = [
        t["meta"]["handles"] for t in content["figure"]["data"] if "handles" in t.get("meta", {})
    ]
    assert handles[0]["keys"] == [f"u.u.{k}" for k in range(10)]
    assert (handles[0]["low"], handles[0]["high"]) == (-5, 5)
    assert "rho.u" not in wire.controls()
    assert wire.controls()["u.u.count"]["value"] == 10


def test_other_panels_take_the_state_without_what_is_drawn(session):
    for name in ("sensitivity", "order"):
        panel = panels[name](Session("pushed_block"))
        panel.session.load_state(session.to_json())
        assert "u" not in panel.session.state
    assert "u" not in Session("bouncing_ball").state
    assert json.loads(session.to_json())["u"]["u"]["kind"] == "steps"
