"""Several pinned runs: what is kept, said, saved and drawn of them."""

import gzip
import itertools
import json

import numpy as np
import pytest

import explorer as ex
from explorer.errors import BadValue, ExplorerError
from explorer.panels.answer import SessionAnswer
from explorer.panels.session import Session
from explorer.panels.static_twin import static_twin
from explorer.views.drawing.ghosts import DASHES, TONES
from explorer.views.drawing.picture import COLOURS


def pinned(session, *values, name="e"):
    """Pin a run at each of some values of a parameter."""
    for x in values:
        session.set(**{name: x})
        session.pin()
    return session


@pytest.fixture
def three():
    return pinned(Session("bouncing_ball", t_end=1.0), 0.9, 0.6, 0.3)


def letters(session):
    return [one.letter for one in session.pins]


# -- which runs are pinned ------------------------------------------------------------------------


def test_each_keeps_its_letter_when_others_go(three):
    assert letters(three) == ["A", "B", "C"]
    three.unpin("B")
    assert letters(three) == ["A", "C"]
    three.set(e=0.1)
    three.pin()
    assert letters(three) == ["A", "B", "C"]
    assert [one.state["rho"]["e"] for one in three.pins] == [0.9, 0.1, 0.3]
    three.unpin()
    assert not three.pins


def test_a_fifth_is_refused_and_the_same_one_is_pinned_once(three):
    three.pin()
    assert letters(three) == ["A", "B", "C"]
    pinned(three, 0.2)
    three.set(e=0.5)
    with pytest.raises(BadValue, match=r"4 runs are pinned.*Remove one"):
        three.pin()
    with pytest.raises(BadValue, match=r"No run 'X' is pinned here. Pinned: A, B, C, D."):
        three.unpin("X")


def test_pinning_is_a_step_of_undo(three):
    three.unpin("A")
    three.undo()
    assert letters(three) == ["A", "B", "C"]
    three.undo()
    assert letters(three) == ["A", "B"]
    assert three.state["rho"]["e"] == 0.3
    three.undo()
    assert three.state["rho"]["e"] == 0.6
    three.redo()
    three.redo()
    assert letters(three) == ["A", "B", "C"]
    np.testing.assert_array_equal(three.pins[2].solution.q, three.solution.q)


def test_undo_of_another_model_brings_the_pinned_runs_back(three):
    three.change({"model": "column"})
    assert not three.pins
    three.undo()
    assert letters(three) == ["A", "B", "C"]


# -- what is said and saved -----------------------------------------------------------------------


def test_each_says_what_differs_from_now(three):
    three.set(h=1e-3, **{"v0.y": 1.5})
    a, _, c = SessionAnswer(three).frame()["pins"]
    assert a["text"] == ("e = 0.9 (now 0.3), h = 0.002 s (now 0.001 s), y\u0307(0) = 0 (now 1.5)")
    assert c["text"].startswith("h = 0.002 s (now 0.001 s)")
    assert "e =" not in c["text"]
    three.set(scheme="EventDriven")
    assert "MoreauJean (now EventDriven)" in SessionAnswer(three).frame()["pins"][1]["all"]


def test_a_saved_state_carries_them(three):
    three.set(e=0.5)
    other = Session("column")
    other.load_state(three.to_json())
    assert letters(other) == letters(three)
    for one, again in zip(three.pins, other.pins, strict=True):
        np.testing.assert_array_equal(one.solution.q, again.solution.q)
    assert other.state["rho"]["e"] == 0.5


def test_a_state_without_pins_still_loads_and_leaves_those_that_there_are(three):
    plain = {k: x for k, x in json.loads(three.to_json()).items() if k != "pins"}
    other = Session("bouncing_ball")
    other.load_state(plain)
    assert not other.pins
    three.load_state(plain)
    assert letters(three) == ["A", "B", "C"]


@pytest.mark.parametrize(
    "pins",
    [
        3,
        "abc",
        [1],
        [{}],
        [{"place": 9}],
        [{"place": "x"}],
        [{"place": 0, "rho": {"e": "x"}}],
        [{}] * 9,
    ],
)
def test_pins_that_are_none_are_refused_and_nothing_changes(three, pins):
    state = json.loads(three.to_json())
    if isinstance(pins, list) and pins and isinstance(pins[0], dict) and "place" in pins[0]:
        pins = [state["pins"][0] | pins[0]]
    before = three.state, three.pins
    with pytest.raises(ExplorerError):
        three.load_state(state | {"pins": pins})
    assert (three.state, three.pins) == before


@pytest.mark.parametrize("model", ["bouncing_ball", "stick_slip", "tent_map", "stack"])
def test_the_code_draws_the_same_picture(model):
    session = Session(model)
    name = next(iter(session.state["rho"]))
    pinned(session, 0.9 * session.state["rho"][name], 0.8 * session.state["rho"][name], name=name)
    session.unpin("A")
    drawn = []
    show = ex.views.explore
    code = session.code().replace("ex.views.explore(", "drawn.append(show.picture(") + ")"
    exec(code, {"drawn": drawn, "show": show})
    wanted = show.picture(session.solution, session.pinned_runs)
    assert [t["name"] for t in drawn[0].data] == [t["name"] for t in wanted.data]
    for one, other in zip(drawn[0].data, wanted.data, strict=True):
        np.testing.assert_array_equal(one["y"], other["y"])


# -- how they are drawn ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        "bouncing_ball",
        "chua",
        "stick_slip",
        "two_fold",
        "tent_map",
        "ellipse_billiard",
        "thermostat",
    ],
)
def test_each_kind_of_system_draws_all_of_them_apart(model):
    session = Session(model)
    name = next(k for k, p in session.system.parameters.items() if p.value)
    usual = session.state["rho"][name]
    pinned(session, *(f * usual for f in (0.99, 0.98, 0.97, 0.96)), name=name)
    session.set(**{name: usual})
    data = ex.views.explore.picture(session.solution, session.pinned_runs).data
    for place, letter in enumerate("ABCD"):
        ghosts = [t for t in data if t["name"].startswith(f"pinned {letter}")]
        assert ghosts
        for trace in ghosts:
            assert trace["line"]["color"] == TONES[place]
            if trace["mode"] == "lines" and "dash" in trace["line"]:
                assert trace["line"]["dash"] == DASHES[place]


def test_the_mechanism_has_a_ghost_of_each(three):
    three.set(e=0.5)
    film = SessionAnswer(three).frame()["mechanism"]
    assert [g["colour"] for g in film["ghosts"]] == list(TONES[:3])
    for ghost, pin in zip(film["ghosts"], three.pins, strict=True):
        y = np.interp(ghost["t"], pin.solution.t, pin.solution.q[:, 0])
        centre = ghost["xy"][:, 0] - ghost["xy"][0, 0]
        np.testing.assert_allclose(centre, y - y[0], atol=0.02)


def test_a_static_twin_shows_and_tells_them(three):
    twin = static_twin(SessionAnswer(three), {"e": [0.2, 0.7]})
    data = gzip.decompress(twin._pictures)
    size = int.from_bytes(data[:4], "little")
    frames = json.loads(data[4 : 4 + size])["frames"]
    assert [f["pins"][0]["text"] for f in frames] == [
        f"e = 0.9 (now {e})" for e in twin.grid["rho.e"]
    ]
    for frame in frames:
        names = {t["name"] for t in frame["figure"]["data"]}
        assert {"pinned A y", "pinned B y", "pinned C y"} <= names


def _linear(colour):
    """Linear RGB of a colour (IEC 61966-2-1)."""
    c = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def _lab(rgb):
    """CIELAB under D65 of linear RGB."""
    m = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )  # fmt: skip
    x = m @ np.clip(rgb, 0, 1) / [0.9505, 1, 1.089]
    f = np.where(x > 216 / 24389, np.cbrt(x), (841 / 108) * x + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


# of Machado, Oliveira and Fernandes (2009), doi:10.1109/TVCG.2009.113, at full severity
EYES = {
    "all cones": np.eye(3),
    "no red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
               [-0.003882, -0.048116, 1.051998]],
    "no green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                 [-0.011820, 0.042940, 0.968881]],
}  # fmt: skip


@pytest.mark.parametrize("eyes", EYES)
def test_tones_are_apart_for_all_eyes_and_legible_on_both_grounds(eyes):
    seen = {c: _lab(np.array(EYES[eyes]) @ _linear(c)) for c in (*TONES, *COLOURS)}
    for a, b in itertools.combinations(TONES, 2):
        assert np.linalg.norm(seen[a] - seen[b]) > 20
    for tone in TONES:
        light = _linear(tone) @ [0.2126, 0.7152, 0.0722]
        for ground in ("#ffffff", "#16181b"):
            other = _linear(ground) @ [0.2126, 0.7152, 0.0722]
            ratio = (max(light, other) + 0.05) / (min(light, other) + 0.05)
            assert ratio >= 3, "WCAG 2.2, 1.4.11"
