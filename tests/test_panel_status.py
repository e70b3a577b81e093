"""The status line of the panels: what it says of a refusal, and of what the picture shows."""

from __future__ import annotations

import re

import pytest

import explorer as ex
from explorer.panels import Session, panels


def asked(panel, **values):
    return panel._answer.pull(values, False)["status"]


@pytest.mark.parametrize("panel", ["explore", "sensitivity"])
def test_a_refusal_names_what_the_picture_has_instead(panel):
    one = panels[panel](Session("bouncing_ball"))
    assert not asked(one, **{"rho.e": 0.7}).get("stale")
    status = asked(one, **{"rho.e": "abc"})
    assert status["text"].startswith("Showing e = 0.7; all other settings applied. ")
    assert status["stale"]
    status = asked(one, **{"rho.y0": 0.4, "q0.y": "x", "scheme": "nobody"})
    assert one.session.start()["q0"] == [0.4]
    head = f"Showing e = 0.7 and y(0) = 0.4 and {one.session.state['scheme']}; all other settings applied."
    assert status["text"].startswith(head)
    assert "last good" not in status["text"] + status["detail"]
    assert "stale" not in asked(
        one, **{"rho.e": 0.5, "q0.y": 1.0, "scheme": one.session.state["scheme"]}
    )


def test_an_action_that_fails_leaves_no_picture_behind():
    panel = panels["explore"](Session("bouncing_ball"))
    messages = panel._answer.do("preset", "nobody")
    status = messages[-1]["status"]
    assert (status["level"], status["detail"]) == ("error", "Nothing has changed.")
    assert "stale" not in status


def test_every_control_has_a_value_that_can_be_named():
    for panel, model in [("explore", "thermostat"), ("explore", "column"), ("sensitivity", "slip"),
                         ("stability", "bouncing_ball"), ("order", "switched_oscillator")]:  # fmt: skip
        answer = panels[panel](Session(model))._answer
        shown, session = answer.frame()["values"], answer.session
        for key in session.states.keys(session.state):
            assert session.states.value(session.state, key) == shown[key], key


def test_what_cannot_be_drawn_is_said():
    panel = panels["explore"](Session("bouncing_ball"))
    status = asked(panel, **{"rho.m": 1e300})
    assert status["level"] == "warn"
    beyond = "Too large to draw (above 3e38): impulse (N s), energy (J)."
    unit = "m = 1e+300 kg lies far outside its range [0.1, 5] kg. Check the unit."
    assert status["text"] == f"{beyond} 'bouncing ball': {unit}"
    assert "steps in" in status["detail"]
    assert asked(panel, **{"rho.m": 1.0})["level"] == "ok"


@pytest.mark.parametrize(
    ("model", "scheme", "unit"),
    [
        ("pendulum", ex.Newmark(), "N"),
        ("pendulum", ex.MoreauJean(mass_point="iterate"), "N s"),
    ],
)
def test_the_residual_of_newtons_method_has_the_unit_of_the_scheme(model, scheme, unit):
    """Of forces, of impulses, or relative."""
    session = Session(model)
    session.set(scheme=scheme)
    text = panels["explore"](session)._answer.frame()["status"]["text"]
    found = re.search(r"Newton ≤ \d+ iterations, residual [\d. ×⁻¹²³⁰⁴⁵⁶⁷⁸⁹]+(.*)$", text)
    assert found, text
    assert found[1] == unit
