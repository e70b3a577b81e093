"""The first point of a curve is a start, which the browser lets the mouse drag."""

import numpy as np
import pytest

from explorer.panels.answer import SessionAnswer
from explorer.panels.session import Session

KINDS = ["bouncing_ball", "woodpecker", "thermostat", "chua", "two_genes", "four_bar_stop"]


def starts(frame):
    return [t for t in frame["figure"]["data"] if t.get("meta", {}).get("start")]


@pytest.mark.parametrize("model", KINDS)
def test_the_first_point_is_the_start_that_its_key_sets(model):
    session = Session(model)
    answer = SessionAnswer(session)
    found = starts(answer.frame())
    assert found
    values = {k: session.states.value(session.state, k) for k in session.states.keys(session.state)}
    for trace in found:
        for side, key in trace["meta"]["start"].items():
            assert trace[side][0] == pytest.approx(values[key], rel=1e-6, abs=1e-9)
            assert trace["meta"]["t"][0] == 0


def test_what_is_set_moves_the_point():
    session = Session("impact_oscillator")
    answer = SessionAnswer(session)
    frame = answer.pull({"q0.x": -1.0, "v0.x": 0.5}, True)
    plane = next(t for t in starts(frame) if "x" in t["meta"]["start"])
    assert plane["meta"]["start"] == {"x": "q0.x", "y": "v0.x"}
    assert (plane["x"][0], plane["y"][0]) == pytest.approx((-1.0, 0.5))


def test_many_coordinates_and_pinned_runs_have_no_points():
    session = Session("shear_building", **{"size.n": 10})
    assert not starts(SessionAnswer(session).frame())
    session = Session("bouncing_ball")
    session.pin()
    session.set(e=0.3)
    found = starts(SessionAnswer(session).frame())
    assert len(found) == 3  # y, its rate, and the portrait, of the run alone
    assert all(np.isfinite(t["y"][0]) for t in found)
