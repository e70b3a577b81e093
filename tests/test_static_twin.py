"""Pages without a kernel: what they hold is what runs give, and nothing between."""

import base64
import gzip
import json
import re
from functools import partial

import numpy as np
import pytest

import explorer as ex
from explorer.errors import BadValue, NotApplicable
from explorer.panels.answer import SessionAnswer
from explorer.panels.basins import state as basins
from explorer.panels.orbits.state import OrbitsSession
from explorer.panels.session import Session
from explorer.panels.session_panel import panels
from explorer.panels.static_twin import static_twin
from explorer.progress import Progress


def held(page):
    """Return what a page holds, and what decodes an array of it."""
    (packed,) = re.findall(r'data-nsx-pictures="">([^<]*)<', page)
    data = gzip.decompress(base64.b64decode(packed))
    begin = 4 + int.from_bytes(data[:4], "little")
    head = json.loads(data[4:begin])
    ends = begin + np.cumsum([0, *head["sizes"]])

    def array(frame, value):
        k = frame["buffers"][value["buf"]]
        raw = data[ends[k] : ends[k + 1]]
        if value.get("kind") != "u2":
            return np.frombuffer(raw, "<f8" if value.get("kind") == "f8" else "<f4").astype(float)
        low, high = np.frombuffer(raw[:8], "<f4").astype(float)
        parts = np.frombuffer(raw[8:], "<u2").astype(float)
        return np.where(parts == 65535, np.nan, low + (high - low) * parts / 65534)

    return head, array


def twin_of(model, *arguments, **settings):
    return static_twin(SessionAnswer(Session(model, **settings)), *arguments)


def flight(t, e, g=9.81, height=1.0):
    """Return the height of the ball, in closed form."""
    fall = np.sqrt(2 * height / g)
    speeds = g * fall * e ** np.arange(1, 400)  # after each impact
    impacts = fall + np.concatenate([[0.0], np.cumsum(2 * speeds / g)])
    k = np.searchsorted(impacts, t, side="right") - 1
    since, v = t - impacts[np.maximum(k, 0)], speeds[np.clip(k, 0, 398)]
    late = np.maximum(v * since - 0.5 * g * since**2, 0)
    return np.where(k < 0, height - 0.5 * g * t**2, late)


def test_pictures_are_those_of_runs_on_the_grid():
    twin = twin_of("bouncing_ball", {"e": [0.3, 0.9]}, scheme="EventDriven")
    assert twin.grid == {"rho.e": [0.3, 0.8, 0.9]}  # the present value is among them
    head, array = held(twin.page())
    assert head["at"] == [1]
    for e, frame in zip(twin.grid["rho.e"], head["frames"], strict=True):
        height = next(t for t in frame["figure"]["data"] if t["name"] == "y")
        t, y = array(frame, height["x"]), array(frame, height["y"])
        known = np.isfinite(y)
        assert known.sum() > 20
        np.testing.assert_allclose(y[known], flight(t[known], e), atol=2e-4)  # a third of a pixel
        assert len(frame["table"]["rows"]) > 3
        assert frame["values"]["rho.e"] == e


@pytest.mark.parametrize("kind", sorted(panels))
def test_every_panel_has_a_twin_that_is_small(kind, monkeypatch):
    monkeypatch.setattr(basins, "COARSE", ((8, 6), (4, 3)))
    monkeypatch.setattr(OrbitsSession, "columns", 9)
    panel = panels[kind].opens()
    state = panel.session.to_json()
    twin = panel.twin(points=2)
    assert panel.session.to_json() == state
    assert not panel.session.can_undo
    page = twin.page()
    (library,) = re.findall(r'data-nsx-plotly="[^"]*">([^<]*)<', page)
    assert len(page) - len(library) < 2e6
    head, _ = held(page)
    assert len(head["frames"]) == np.prod([len(v) for v in twin.grid.values()])
    for frame in head["frames"]:
        assert frame["figure"]["data"]
        assert "answered in" not in json.dumps(frame["status"])
        items = (frame.get("mechanism") or {}).get("items", [])
        assert not any(item["grip"] for item in items)
        assert not any("handles" in t.get("meta", {}) for t in frame["figure"]["data"])


def test_two_sliders_make_a_grid_with_the_first_as_rows():
    twin = twin_of("impact_oscillator", {"omega": 3, "e": 4})
    head, _ = held(twin.page())
    values = [(f["values"]["rho.omega"], f["values"]["rho.e"]) for f in head["frames"]]
    omegas, es = twin.grid["rho.omega"], twin.grid["rho.e"]
    assert values == [(a, b) for a in omegas for b in es]


def test_no_end_of_a_slider_is_run_where_the_values_are_given():
    """At the ends of its range a plan may take a minute to search."""
    session = Session("bouncing_ball", "EventDriven")
    asked = []

    class Watched(SessionAnswer):
        def pull(self, values, drag):
            asked.append(values)
            return super().pull(values, drag)

    static_twin(Watched(session), {"e": [0.7, 0.9]})
    assert asked == [{"rho.e": 0.7}, {"rho.e": 0.8}, {"rho.e": 0.9}]


def test_what_was_moved_last_moves_in_the_page():
    session = Session("bouncing_ball")
    assert list(static_twin(SessionAnswer(session), points=2).grid) == ["rho.e"]  # not the mass
    session.change({"q0.y": 2.0})
    assert list(static_twin(SessionAnswer(session), points=2).grid) == ["q0.y"]
    session.change({"rho.g": 5.0})
    session.change({"rho.m": 2.0})
    session.change({"rho.g": 6.0})
    assert list(static_twin(SessionAnswer(session), points=2).grid) == ["rho.m", "rho.g"]


def test_where_nothing_runs_the_page_says_why():
    twin = twin_of("bouncing_ball", {"e": [0.5, 1.5]})
    assert list(twin.failed) == [(1.5,)]
    head, _ = held(twin.page())
    good, _, bad = head["frames"]
    assert "figure" in good
    assert "figure" not in bad
    assert bad["status"]["level"] == "error"
    assert bad["status"]["text"].startswith(twin.failed[1.5,])


def test_what_fails_in_a_page_is_no_error_of_the_panel():
    session = Session("bouncing_ball")
    session.change({"rho.g": "heavy"})
    errors, pending = dict(session.errors), dict(session.pending)
    twin = static_twin(SessionAnswer(session), {"e": [0.5, 1.5]})
    assert list(twin.failed) == [(1.5,)]  # what is typed elsewhere stops no picture
    assert (session.errors, session.pending) == (errors, pending)
    head, _ = held(twin.page())
    assert head["frames"][0]["values"]["rho.g"] == 9.81


def test_controls_of_a_page_are_those_that_move_and_those_that_do_not():
    head, _ = held(twin_of("bouncing_ball", {"e": 3}).page())
    moving, fixed = head["schema"]["groups"]
    assert [c["key"] for c in moving["controls"]] == ["rho.e"]
    assert moving["controls"][0]["stops"] == head["axes"][0][1]
    assert all(c["fixed"] for c in fixed["controls"])
    assert {"rho.m", "scheme", "t_end"} <= {c["key"] for c in fixed["controls"]}
    names = [a["name"] for a in head["schema"]["actions"]]
    assert names == ["export_png", "export_svg", "export_pdf", "export_webm", "export_gif"]


@pytest.mark.parametrize(
    ("over", "said"),
    [
        ("q", "There is no slider 'q' here"),
        ("omga", "Did you mean 'omega'"),
        (["e", "omega", "zeta"], "one or two sliders, not 3"),
        ({"e": 1}, "at least 2 values"),
        ({"e": [0.5, np.inf]}, "must be finite"),
        ({"e": 3000, "omega": 3000}, r"more than 20 MB. At most \d\d+ values"),
    ],
)
def test_a_refusal_says_what_would_work(over, said):
    with pytest.raises(BadValue, match=said):
        twin_of("impact_oscillator", over)


def test_a_panel_without_a_slider_has_no_twin():
    with pytest.raises(NotApplicable, match="no slider"):
        static_twin(Bare(Session("bouncing_ball")))


class Bare(SessionAnswer):
    """Answers of a panel whose controls are typed."""

    def schema(self):
        return {**super().schema(), "groups": []}


def test_a_script_without_a_kernel_in_view_gets_twins(monkeypatch):
    monkeypatch.setenv("EXPLORER_STATIC", "twin")
    panel = ex.explore("bouncing_ball")
    panel.session.set(e=0.6)
    head, _ = held(panel.twin("e", 3)._repr_html_())
    assert 0.6 in head["axes"][0][1]
    assert "data-nsx-pictures" in panel._repr_html_()


def test_the_slider_is_the_one_that_presets_set():
    assert list(twin_of("boost_converter", None, 2).grid) == ["rho.I_ref"]  # not V_in, the first


def test_no_progress_is_shown_where_nobody_waits(monkeypatch, capsys):
    at_once = partial(Progress, after=-1)
    monkeypatch.setattr("explorer.panels.static_twin.Progress", at_once)
    monkeypatch.setenv("EXPLORER_STATIC", "twin 2")
    panel = ex.explore("bouncing_ball")
    panel.twin(points=2)
    assert "Computing pictures" in capsys.readouterr().err
    panel._repr_html_()
    assert capsys.readouterr().err == ""


def test_the_menu_saves_a_page():
    answer = SessionAnswer(Session("bouncing_ball"))
    (message,) = answer.do("export_twin", None)
    assert (message["type"], message["name"]) == ("file", "run_twin.html")
    assert message["text"].startswith("<!doctype html>")
    assert len(held(message["text"])[0]["frames"]) >= 5
