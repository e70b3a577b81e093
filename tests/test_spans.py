"""The range and the step of a slider belong to the state: kept, undone, saved, and refused if none."""

import json

import pytest

import explorer as ex
from explorer.panels.answer import SessionAnswer
from explorer.panels.session import Session
from explorer.panels.session_panel import panels
from explorer.panels.static_twin import static_twin

RANGE = {"low": 0.5, "high": 0.9, "step": 0.05}


@pytest.fixture
def ball():
    session = Session("bouncing_ball")
    session.span("e", **RANGE)
    return session


def slider(session, key="rho.e"):
    groups = SessionAnswer(session).schema()["groups"]
    return next(c for group in groups for c in group["controls"] if c["key"] == key)


def test_a_slider_reaches_as_far_as_chosen_and_to_its_value(ball):
    run = ball.solution
    one = slider(ball)
    assert (one["low"], one["high"], one["step"]) == (0.5, 0.9, 0.05)
    assert ball.solution is run  # nothing is computed for it
    ball.set(e=0.3)
    assert (slider(ball)["low"], slider(ball)["meant"]) == (0.3, RANGE)
    ball.span("e")
    assert (slider(ball)["low"], slider(ball)["high"]) == (0, 1)
    assert "step" not in slider(ball)
    ball.span("knob.h", 1e-4, 1e-2)
    assert slider(ball, "knob.h")["log"]
    with pytest.raises(ex.BadValue, match="begins above 0, not at -1"):
        ball.span("knob.h", -1, 1)
    with pytest.raises(ex.BadValue, match="takes no step"):
        ball.span("knob.h", 1e-4, 1e-2, 1e-4)
    assert ball.spans["knob.h"] == {"low": 1e-4, "high": 1e-2}


def test_a_slider_of_whole_numbers_takes_no_others():
    genes = Session("two_genes")
    genes.span("stages", 1, 4, 1)
    for low, high, step in ((0.5, 4, None), (1, 4.5, None), (1, 4, 0.5)):
        with pytest.raises(ex.BadValue, match="takes whole numbers, so"):
            genes.span("stages", low, high, step)
    assert genes.spans == {"knob.stages": {"low": 1, "high": 4, "step": 1}}


@pytest.mark.parametrize(
    "kind", ["explore", "order", "schemes", "sensitivity", "stability", "two_starts"]
)
def test_the_kernel_knows_what_the_browser_is_told_of_a_slider(kind):
    panel = panels[kind].opens()
    states, state = panel.session.states, panel.session.state
    groups = panel._showing().groups()
    sliders = [c for group in groups for c in group["controls"] if c["kind"] == "slider"]
    assert sliders
    for one in sliders:
        told = "log" if one["log"] else "whole" if one["integer"] else ""
        assert states.scale(state, one["key"]) == told, one["key"]


@pytest.mark.parametrize("kind", ["order", "schemes", "sensitivity", "two_starts"])
def test_a_panel_of_another_kind_keeps_the_ranges_of_the_sliders_it_has(kind):
    first = Session("two_genes")
    first.span("b", 1, 3)
    first.span("x0.x1", 0, 1)
    other = panels[kind].sessions.of(first)
    assert other.spans["rho.b"] == {"low": 1, "high": 3}
    assert ("x0.x1" in other.spans) == ("x0.x1" in other.states.keys(other.state))
    assert not other.can_undo


def test_it_is_a_step_of_undo_and_goes_with_its_model(ball):
    ball.undo()
    assert ball.spans == {}
    ball.redo()
    assert ball.spans == {"rho.e": RANGE}
    ball.preset("superball")
    assert ball.spans == {"rho.e": RANGE}
    ball.set(model="rough_block")  # which has an e too
    assert ball.spans == {}
    ball.undo()
    assert ball.spans == {"rho.e": RANGE}
    with pytest.raises(ex.BadValue):
        ball.set(model="rough_block", mu="much")
    assert ball.spans == {"rho.e": RANGE}
    ball.reset()
    assert ball.spans == {}


def test_a_saved_state_carries_it(ball):
    text = ball.to_json()
    other = Session("rough_block")
    other.load_state(text)
    assert other.spans == {"rho.e": RANGE}
    assert json.loads(other.to_json()) == json.loads(text)
    ball.span("e")
    other.load_state(ball.to_json())  # which holds none: the usual range
    assert other.spans == {}
    ball.span("knob.h", 1e-4, 1e-2)
    ball.set(scheme="EventDriven")  # has no step, but if the other scheme comes back ...
    assert "spans" not in json.loads(ball.to_json())
    ball.set(scheme="MoreauJean")
    assert ball.spans["knob.h"] == {"low": 1e-4, "high": 1e-2}


def test_a_static_twin_goes_as_far(ball):
    twin = static_twin(SessionAnswer(ball), "e", 5)
    assert twin.grid["rho.e"][0] == 0.5
    assert twin.grid["rho.e"][-1] == 0.9


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("e", 1, 0), "not from 1 to 0"),
        (("e", 0, "wide"), "The end of a range must be a finite number"),
        (("e", None, 1), "The begin of a range"),
        (("e", None, None, 0.1), "The begin of a range"),
        (("e", 0, 1, 2), "not larger than its range"),
        (("e", 0, 1, 0), "greater than zero"),
        (("t_end", 0, 1), "has no slider"),
        (("scheme", 0, 1), "has no slider"),
        (("f", 0, 1), "There is no setting 'f'"),
    ],
    ids=str,
)
def test_what_is_no_range_is_refused(ball, given, said):
    with pytest.raises(ex.BadValue, match=said):
        ball.span(*given)
    assert ball.spans == {"rho.e": RANGE}


@pytest.mark.parametrize(
    "spans",
    [
        [1],
        {"rho.e": 3},
        {"rho.e": {}},
        {"rho.f": RANGE},
        {"rho.e": {"low": 1, "high": 0}},
        {"t_end": RANGE},
        {"scheme": RANGE},
        {"knob.h": {"low": -1, "high": 1}},
    ],
)
def test_a_saved_state_whose_range_is_none_is_refused_and_changes_nothing(ball, spans):
    before = ball.to_json()
    with pytest.raises(ex.BadValue):
        ball.load_state({**json.loads(before), "spans": spans})
    assert ball.to_json() == before


@pytest.mark.parametrize("value", [None, [], {"key": "e", "low": "x"}, {"low": 0}, {"key": 3}])
def test_what_the_browser_should_not_send_is_a_sentence(ball, value):
    *_, frame = SessionAnswer(ball).do("span", value)
    assert frame["status"]["level"] == "error"
    assert ball.spans == {"rho.e": RANGE}
