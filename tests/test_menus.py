"""Menus of models: what is shipped is what the rules say, and other models are asked for."""

from __future__ import annotations

import pytest
from loops import for_each
from stored_menus import fresh, stored

import explorer as ex
from explorer.models import models
from explorer.panels.menus import menu


@for_each("name", sorted(models))
def test_a_shipped_menu_is_what_the_rules_say_now(name):
    """If it is meant to differ: python tests/stored_menus.py --write"""
    assert stored(name) == fresh(name)


@pytest.fixture
def offered(monkeypatch):
    """A menu of falling things under the name of a panel, and the names its rule was asked for."""
    monkeypatch.setattr("explorer.panels.menus.RULES", {})
    asked = []

    def rule(name):
        asked.append(name)
        return "fall" in models[name]().text

    return menu("order")(rule), asked


def test_a_model_of_ours_is_not_built_for_a_menu(offered):
    told, asked = offered
    assert told("relay_feedback")
    assert not told("bouncing_ball")
    assert asked == []


def test_a_model_of_somebody_else_is_asked_for_once(offered, monkeypatch):
    told, asked = offered

    def other():
        ball = ex.models.bouncing_ball()
        ball.text = "It falls."
        return ball

    monkeypatch.setitem(models._entries, "bouncing_ball", other)
    assert told("bouncing_ball")
    assert told("bouncing_ball")
    assert asked == ["bouncing_ball"]


def test_a_new_panel_asks_for_our_models_until_its_answers_are_shipped(monkeypatch):
    monkeypatch.setattr("explorer.panels.menus.RULES", {})
    assert menu("a new panel")(lambda name: name == "chua")("chua")
