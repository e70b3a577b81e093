"""The gallery: its groups, cards and films, and the model that is opened in it, without a browser."""

from __future__ import annotations

import gzip
import itertools
import json
import re

import numpy as np
import pytest
from loops import for_each
from seen import numbers
from stored_films import FILE, differs
from test_panels import Wire

import explorer as ex
from explorer.models import GROUPS, models, register
from explorer.panels.gallery import GalleryPanel, films
from explorer.panels.gallery.films import as_film, shipped, short
from explorer.panels.gallery.overview import overview
from explorer.systems.sketch import circle, ground


def wire(*own) -> Wire:
    return Wire(ex.gallery(*own))


def told(wire: Wire, kind: str, action: str, value=None) -> tuple[dict, list]:
    """The one message of a kind that an action is answered by."""
    (found,) = [m for m in wire.say(type="do", action=action, value=value) if m[0]["type"] == kind]
    return unpacked(*found)


def unpacked(content: dict, buffers: list) -> tuple[dict, list]:
    """Return a message as it was before its text and its buffers were packed in one."""
    if "sizes" not in content:
        return content, buffers
    whole, ends = gzip.decompress(buffers[0]), np.cumsum([0, *content["sizes"]])
    text, *parts = [whole[a:b] for a, b in itertools.pairwise(ends)]
    return json.loads(text), parts


def ball(name: str = "my ball", **more) -> ex.MechanicalSystem:
    system = ex.MechanicalSystem(name, q="y", units="m", text="It falls, and bounces.")
    (y,) = system.q
    (e,) = system.params(e=ex.Param(0.5, 0, 1))
    system.mass, system.force = [[1]], [-9.81]
    system.contact(ex.Contact(y, e=e, name="floor"))
    system.start(q=[1.0], t_end=1.0, **more)
    system.sketch(ground((-0.5, 0), (0.5, 0)), circle(0, y + 0.1, 0.1))
    return system


# -- groups ---------------------------------------------------------------------------------------


def test_every_model_has_a_group():
    groups = {name: build.group for name, build in models.items()}
    assert [name for name, group in groups.items() if group not in GROUPS] == []
    assert {*groups.values()} == {*GROUPS}


def test_a_group_that_there_is_not_is_refused():
    with pytest.raises(ex.BadValue, match=r"no group 'frictoin'. Did you mean 'friction'\?"):
        register(group="frictoin")


def test_a_model_without_a_group_stands_after_all_others(monkeypatch):
    monkeypatch.setitem(models._entries, "bare", lambda: ball("bare"))
    content, _ = told(wire(), "gallery", "gallery")
    assert content["groups"][-1]["title"] == "Other models"
    assert [card["name"] for card in content["groups"][-1]["models"]] == ["bare"]


# -- cards and films ------------------------------------------------------------------------------


@for_each("name", sorted(models))
def test_a_shipped_card_is_what_the_model_gives_now(name):
    """If it is meant to differ: python tests/stored_films.py --write"""
    assert not differs(name)


def test_the_file_of_films_is_small_and_holds_our_models_only():
    assert FILE.stat().st_size <= 300_000
    assert {*shipped()} == {*models}


def test_a_film_shows_the_closed_form():
    """The ball falls from 1 m: y = 1 - g t^2 / 2, up to half a part of its rounding and of t."""
    film = as_film(shipped()["bouncing_ball"]["film"])
    assert film["moving"].size == 1
    falls = film["t"] < np.sqrt(2 / 9.81)
    y = film["xy"][falls, 0] - film["xy"][0, 0]
    assert falls.sum() > 5
    part = max(film["box"][1] - film["box"][0], film["box"][3] - film["box"][2]) / films.PARTS
    slack = part + 9.81 * film["t"][falls] * film["t"][-1] / (10 * films.PARTS)
    assert (np.abs(y + 9.81 * film["t"][falls] ** 2 / 2) <= slack).all()
    assert y.min() < -0.7


def places(film) -> np.ndarray:
    """Return the numbers of all points in each frame: x, y, x, y, ..."""
    points = np.tile(film["still"], (len(film["t"]), 1))
    points[:, film["moving"]] = film["xy"]
    return points


@for_each("name", sorted({*shipped()} - {"woodpecker"}))  # its pole is between two lines
def test_bodies_are_not_on_the_hatched_side_of_a_line(name):
    film = as_film(shipped()[name]["film"])
    ends = np.cumsum([item["n"] for item in film["items"]])[:-1]
    parts = np.split(places(film).reshape(len(film["t"]), -1, 2), ends, axis=1)
    kinds = [item.get("role", item["kind"]) for item in film["items"]]
    for line in (part for part, kind in zip(parts, kinds, strict=True) if kind == "ground"):
        along = line[0, -1] - line[0, 0]
        if line.shape[1] > 2 or not along.any():  # a curve, or seen from its end
            continue
        left = np.array([-along[1], along[0]]) / np.hypot(*along)
        sides = [
            ((part - line[0, 0]) @ left).ravel()
            for part, kind in zip(parts, kinds, strict=True)
            if kind not in ("ground", "text")
        ]
        away = np.concatenate(sides)
        away = away[np.abs(away) > 0.02 * np.hypot(*along)]  # not those on the line itself
        assert not len(away) or (away > 0).any(), f"{kinds} hatched on the side of all of them"


@for_each("name", sorted(shipped()))
def test_a_film_moves_within_its_box(name):
    film = as_film(shipped()[name]["film"])
    assert (np.diff(film["t"]) >= 0).all()
    assert 20 < len(film["t"]) < 250
    points = places(film)
    assert 2 * sum(item["n"] for item in film["items"]) == points.shape[1]
    assert max(np.ptp(points, axis=0).max(), np.ptp(film["values"], axis=0).max(initial=0)) > 0
    left, right, bottom, top = film["box"]
    pad = 2 * max(right - left, top - bottom) / films.PARTS
    assert points[:, ::2].min() >= left - pad
    assert points[:, ::2].max() <= right + pad
    assert points[:, 1::2].min() >= bottom - pad
    assert points[:, 1::2].max() <= top + pad


def test_what_turns_often_is_shown_as_far_as_it_can_be_followed():
    """A fast oscillator over 100 periods: from turn to turn at least 5 frames are left."""
    fast = ex.MechanicalSystem("fast", q="x", mass=[[1]], force=["-(2*pi)**2*x"])
    fast.start(q=[1.0], t_end=100.0, h=1e-2)
    film = as_film(short(fast))
    assert 3 < film["t"][-1] < 20
    x = film["xy"][:, 0] - film["xy"][:, 0].mean()
    assert len(x) >= 5 * np.count_nonzero(np.diff(np.sign(x)))


def test_a_model_that_cannot_run_has_a_card_without_a_film():
    fails = ex.MechanicalSystem("fails", q="x", mass=[[1]], force=["x**3"])
    fails.start(q=[10.0], v=[10.0], t_end=10.0)
    assert short(fails) is None
    assert len(overview([*shipped().values(), films.card(fails)]).data) == 3


def test_a_model_at_rest_moves_by_its_first_preset_that_moves():
    assert (ex.simulate(ex.models.hopper()).q == ex.simulate(ex.models.hopper()).q[0]).all()
    assert as_film(shipped()["hopper"]["film"])["moving"].size


# -- what the browser is told ---------------------------------------------------------------------


def test_the_gallery_opens_without_a_run(monkeypatch):
    def refused(*_, **__):
        raise AssertionError("a run")

    monkeypatch.setattr("explorer.panels.session.simulate", refused)
    monkeypatch.setattr(films, "simulate", refused)
    one = wire()
    content, _ = told(one, "gallery", "gallery")
    assert content["open"] == ""
    titles = [group["title"] for group in content["groups"]]
    assert titles[:4] == ["Your models", "Impacts", "Friction", "Linkages"]
    cards = [card for group in content["groups"] for card in group["models"]]
    assert sorted(card["name"] for card in cards) == sorted([*models, "write_model"])
    assert all(card["title"] and card["text"] and "film" not in card for card in cards)
    assert len(json.dumps(content)) < 60_000
    content, buffers = told(one, "films", "films", ["chua", "nobody", "bouncing_ball"])
    assert sorted(content["films"]) == ["bouncing_ball", "chua"]
    film, stored = content["films"]["bouncing_ball"], as_film(shipped()["bouncing_ball"]["film"])
    step = np.ptp(stored["t"]) / 65534  # a film is sent in 16 bits
    np.testing.assert_allclose(numbers(film["t"], buffers), stored["t"], rtol=0, atol=step)
    assert one.panel._repr_mimebundle_()[0]["text/html"].count("<img") == 1


@for_each("word", ["friction", "chaos", "walker", "Leine", "MechanicalSystem"])
def test_a_search_finds_what_a_card_says(word):
    """The browser looks into these texts."""
    content, _ = told(wire(), "gallery", "gallery")
    cards = [card for group in content["groups"] for card in group["models"]]
    fits = [c["name"] for c in cards if word.lower() in json.dumps(c).lower()]
    assert 2 <= len(fits) < len(cards)


def test_a_click_opens_the_panel_of_a_model():
    one = wire()
    content, _ = told(one, "open", "open", {"model": "impact_oscillator", "preset": "grazing"})
    assert content["open"] == "impact_oscillator"
    plain = ex.panels.Session("impact_oscillator")
    plain.preset("grazing")
    assert one.panel.session.state == plain.state
    answers = {c["type"]: c for c, _ in one.hello()}
    assert answers["schema"]["title"] == "Impact oscillator"
    assert answers["frame"]["status"]["level"] == "ok"
    content, _ = one.pull(**{"rho.e": 0.3})
    assert one.panel.session.state["rho"]["e"] == content["values"]["rho.e"] == 0.3
    content, _ = told(one, "state", "state")
    assert json.loads(content["text"])["rho"]["e"] == 0.3
    assert told(one, "gallery", "gallery")[0]["open"] == "impact_oscillator"
    one.say(type="do", action="leave", value=None)
    assert told(one, "gallery", "gallery")[0]["open"] == ""
    one.do("undo")  # what the panel of the last model can do, it still can
    assert one.panel.session.state == plain.state


def test_a_saved_state_opens_where_it_belongs():
    session = ex.panels.Session("pendulum", g=3.0)
    one = wire()
    told(one, "open", "open", {"state": session.to_json()})
    assert one.panel._gallery.open == "pendulum"
    assert one.panel.session.state["rho"]["g"] == 3.0
    told(one, "open", "open", {"model": "pendulum", "state": session.to_json()})
    assert one.panel.session.state["rho"]["g"] == 3.0


@for_each(
    ["asked", "said"],
    [
        ({"model": "bouncing_bal"}, "Did you mean 'bouncing_ball'"),
        ({"model": "pendulum", "preset": "smal"}, "Did you mean 'small'"),
        ({"model": "pendulum", "state": "{"}, "not a saved state"),
        ({}, "no model ''"),
        (None, "no model ''"),
    ],
)
def test_what_cannot_be_opened_is_refused_in_a_sentence(asked, said):
    one = wire()
    content, _ = told(one, "refused", "open", asked)
    assert said in content["text"]
    assert one.panel._gallery.open == ""
    assert "No model is open" in told(one, "refused", "state")[0]["text"]


# -- models of one's own, scripts, static pages ---------------------------------------------------


def test_own_models_stand_before_all_others_and_their_films_are_made_aside():
    one = wire(ball(), lambda: ball("other"), ball())
    content, _ = told(one, "gallery", "gallery")
    first = content["groups"][0]
    assert first["title"] == "Your models"
    write, *names = [card["name"] for card in first["models"]]
    assert write == "write_model"
    assert names == ["own my ball", "own other", "own my ball 2"]
    assert first["models"][1]["text"] == "It falls, and bounces."
    answer, _ = told(one, "films", "films", names[:1])
    assert answer["films"] == {}
    one.panel._films.submit(int).result(timeout=60)  # the one thread has done what came before
    late = [m for m in (unpacked(*sent) for sent in one.sent) if m[0].get("films")]
    assert [*late[0][0]["films"]] == names[:1]
    told(one, "open", "open", {"model": "own other"})
    assert one.panel.session.system.name == "other"
    assert told(one, "films", "films", names[:1])[0]["films"], "it is kept"


def test_a_script_opens_a_model_as_a_click_does():
    one = wire(ball())
    one.sent.clear()
    assert one.panel.session.state["model"] == "bouncing_ball"
    assert [c["type"] for c, _ in one.sent] == ["open"]
    session = one.panel.choose("my ball")
    assert one.panel.session is session
    one.sent.clear()
    session.set(e=0.1)
    assert [c["type"] for c, _ in one.sent] == ["schema", "frame"]
    one.panel.choose("pendulum")
    one.sent.clear()
    session.set(e=0.2)
    assert one.sent == [], "a session that is no longer shown draws nothing"
    with pytest.raises(ex.BadValue, match="no model 'nobody'"):
        one.panel.choose("nobody")
    with pytest.raises(AttributeError, match="choose"):
        one.panel.session = session


def test_the_first_card_opens_a_panel_of_ones_own_equations():
    """The card has a film of the example; its link opens the same panel again."""
    one = wire()
    made = one.panel._gallery.film("write_model")["films"]["write_model"]
    assert len(made["moving"])
    told(one, "open", "open", {"model": "write_model"})
    session = one.panel.session
    (schema,) = [m for m, _ in one.say(type="hello") if m["type"] == "schema"]
    assert schema["write"]["texts"] == session.texts
    again = wire()
    again.say(type="do", action="load_state", value=session.to_json())
    assert again.panel._gallery.open == "write_model"
    assert again.panel.session.texts == session.texts


def test_the_still_shows_every_mechanism():
    figure = GalleryPanel()._gallery.frame()["figure"]
    names = figure["data"][-1]["text"]
    assert len(names) == len(models)
    lines = figure["data"][0]
    cells = {
        (int(x), int(-y / 0.78)) for x, y in zip(lines["x"], lines["y"], strict=True) if x == x
    }
    assert len(cells) >= len(models) - 3
    assert max(len(name) for name in names) <= 20
    assert all(re.match(r"[A-Z0-9]", name) for name in names)
