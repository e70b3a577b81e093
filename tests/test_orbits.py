"""Orbit diagrams that sharpen: closed forms, one column as a run alone, the image, the panel."""

from __future__ import annotations

import base64
import itertools
import json
import struct
import threading
import zlib
from contextvars import ContextVar

import numpy as np
import pytest
from kinds import alike, one_of_each
from scipy.optimize import brentq
from test_panels import Wire, check

import explorer as ex
from explorer.models import models
from explorer.panels import panels
from explorer.panels.orbits.state import OrbitsSession, offered
from explorer.panels.sharpening import Worker
from explorer.study.forcing import forcing_period, usual_section
from explorer.study.orbits import repeats
from explorer.views.drawing.raster import pixels
from explorer.views.drawing.still import still

FEW = {"columns": 17, "points": 30, "transient": 60}


@pytest.fixture(scope="module")
def oscillator():
    return ex.models.impact_oscillator()


@pytest.fixture(scope="module")
def whole(oscillator):
    return ex.study.Sharpening(oscillator, over={"omega": (2.4, 3.2)}, s=0, **FEW).whole()


def opened(model="impact_oscillator", by="omega", **settings) -> Wire:
    wire = Wire(panels["orbits"](OrbitsSession(model, by, **settings)))
    wire.panel.session.news = lambda: None  # one picture for each question
    return wire


def one_impact(w: float, e: float) -> float:
    """Return x at t = 0 of the orbit of x'' + x = cos(w t), x <= 0, with one impact in a period.

    Between two impacts x = a cos t + b sin t + c cos(w t); x is 0 at both, and the velocity behind
    the first one is -e times that before the second one.
    """
    c, T = 1 / (1 - w**2), 2 * np.pi / w

    def segment(t0):
        def row(t, rate):
            own = [-np.sin(t), np.cos(t)] if rate else [np.cos(t), np.sin(t)]
            return np.array(own), -c * w * np.sin(w * t) if rate else c * np.cos(w * t)

        x0, r0 = row(t0, False)
        v0, s0 = row(t0, True)
        v1, s1 = row(t0 + T, True)
        ab = np.linalg.solve([x0, v0 + e * v1], [-r0, -s0 - e * s1])
        x1, r1 = row(t0 + T, False)
        return ab, float(x1 @ ab + r1), float(v1 @ ab + s1)

    times = np.linspace(0, T, 400)
    ends = [segment(t)[1] for t in times]
    for i in np.flatnonzero(np.diff(np.sign(ends))):
        t0 = brentq(lambda t: segment(t)[1], times[i], times[i + 1], xtol=1e-14)
        (a, b), end, v = segment(t0)
        if v > 0 and abs(end) < 1e-9:  # it moves into the stop
            return float(a * np.cos(T) + b * np.sin(T) + c * np.cos(w * T))
    raise AssertionError("there is no such orbit")


def test_what_a_clock_drives_is_seen_at_its_ticks():
    """At 28 V two ticks make a cycle; its switch never opens at its own guard."""
    buck = ex.models.buck_modes()
    assert usual_section(buck).event == "tick"
    found = ex.study.Sharpening(
        buck, over={"V_in": (27.5, 28.5)}, columns=3, points=24, transient=200
    ).whole()
    assert found.period.tolist() == [2, 2, 2]
    ball = ex.models.bouncing_ball()
    assert usual_section(ball).event == "floor"


# -- the diagram ----------------------------------------------------------------------------------


def test_columns_of_period_one_lie_on_the_closed_form(whole):
    """Up to the flip near 2.65 the motion has one impact in each period of the force."""
    single = np.flatnonzero(whole.period == 1)
    assert len(single) >= 4
    for k in single:
        x = whole.points[k, : whole.found[k], whole.place("x")]
        assert x == pytest.approx(np.full(len(x), one_impact(whole.values[k], 0.8)), abs=2e-5)


def test_what_repeats_after_two_points_has_two_and_chaos_has_none(whole):
    assert whole.period[np.abs(whole.values - 3.0).argmin()] == 2
    assert whole.period[np.abs(whole.values - 2.85).argmin()] == 0
    assert repeats(np.array([[1.0], [2.0], [3.0]] * 4)) == (3, 0.0)
    assert repeats(np.arange(20.0)[:, None])[0] == 0


@pytest.mark.parametrize("follow", ["none", "up", "down"])
def test_a_column_is_the_run_that_one_makes_alone(oscillator, follow):
    asked = ex.study.Sharpening(
        oscillator, over={"omega": (2.4, 2.6)}, s=0, follow=follow, **(FEW | {"points": 24})
    )
    found = asked.whole()
    assert not found.failed.any()
    assert (found.found >= 24).all()
    k = {"none": 5, "up": 0, "down": 16}[follow]  # which begins at the start of the model
    w = found.values[k]
    run = ex.simulate(oscillator, ex.EventDriven(), t_end=84 * 2 * np.pi / w, omega=w, s=0)
    assert found.ends[k][0] == pytest.approx(run.x[-1], abs=1e-9)


def test_it_sharpens_and_can_be_stopped(oscillator):
    asked = ex.study.Sharpening(oscillator, over={"omega": (2.7, 2.9)}, s=0, columns=65)
    seen = [(found.known.sum(), found.found.sum(), found.done) for found in asked]
    assert len(seen) >= 4
    for before, after in itertools.pairwise(seen):
        assert all(a <= b for a, b in zip(before, after, strict=True))
    assert 2 <= seen[0][0] <= 9, "on a slow machine fewer come first"
    assert (seen[-1][0], seen[-1][2]) == (65, 1.0)
    asked_times = iter([False] * 3)
    stopped = asked.whole(lambda: next(asked_times, True))
    assert stopped.known.sum() == 3
    assert stopped.done < 1


def test_an_autonomous_motion_is_seen_at_its_event():
    room = ex.models.thermostat()
    name = next(iter(room.parameters))
    p = room.parameters[name]
    low, high = p.value - 0.05 * abs(p.value), p.value + 0.05 * abs(p.value)
    found = ex.study.Sharpening(room, over={name: (low, high)}, **FEW).whole()
    assert (found.period[found.code == 0] == 1).all()  # the temperature at which it is switched
    assert (found.code == 0).any()


def test_a_map_has_a_point_at_each_iterate():
    """Of the tent map the orbit of period two is mu / (1 + mu^2), mu^2 / (1 + mu^2): unstable.

    Its attractor lies in [mu (1 - mu / 2), mu / 2] (Collet and Eckmann 1980).
    """
    tent = ex.models.tent_map()
    found = ex.study.Sharpening(tent, over={"mu": (1.45, 1.95)}, columns=11, points=200).whole()
    assert (found.period == 0).all()
    assert (found.found == 200).all()
    x, mu = found.points[..., 0], found.values[:, None]
    assert (x <= mu / 2 + 1e-12).all()
    assert (x >= mu * (1 - mu / 2) - 1e-12).all()
    assert np.ptp(x, axis=1) == pytest.approx(mu[:, 0] / 2 - (mu * (1 - mu / 2))[:, 0], rel=0.1)
    gone = ex.study.Sharpening(tent, over={"mu": (1.9, 2.2)}, columns=7, points=200).whole()
    assert gone.failed[gone.values > 2.01].all()  # it flies off to infinity, sooner or later
    assert np.isnan(gone.points[gone.failed]).all()
    assert "no result" in {
        t["name"] for t in ex.views.orbits.picture(gone).data if t.get("showlegend")
    }
    still = ex.study.Sharpening(tent, over={"mu": (0.3, 0.9)}, columns=5, transient=200).whole()
    assert (still.period == 1).all()


def test_the_period_of_what_drives_a_system_is_read_from_its_equations():
    assert str(forcing_period(ex.models.duffing())) == "2*pi/omega"
    assert forcing_period(ex.models.bouncing_ball()) is None
    two = ex.MechanicalSystem("two", q="y", mass=[[1]], force=["cos(2*t) + sin(3*t) - y"])
    assert float(forcing_period(two)) == pytest.approx(2 * np.pi)
    odd = ex.MechanicalSystem("odd", q="y", mass=[[1]], force=["cos(t) + sin(sqrt(2)*t) - y"])
    assert forcing_period(odd) is None
    ramp = ex.MechanicalSystem("ramp", q="y", mass=[[1]], force=["cos(t) + t - y"])
    assert forcing_period(ramp) is None
    with pytest.raises(ex.BadValue, match="no event to stop at and no period"):
        usual_section(ramp)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"over": {"omga": (2, 3)}}, "no parameter 'omga'"),
        ({"over": {"omega": (3, 2)}}, "is no range"),
        ({"over": {"omega": 3}}, "needs two numbers"),
        ({"over": {}}, "must be one parameter"),
        ({"columns": 1}, "whole number of at least 2"),
        ({"follow": "left"}, "must be one of up, down, none"),
        ({"transient": -1}, "whole number of at least 0"),
        ({"start": [1.0]}, "start needs 2 numbers"),
        ({"section": ex.study.Section(event="floor")}, "has no event 'floor'"),
    ],
)
def test_what_cannot_be_is_a_sentence(oscillator, given, said):
    with pytest.raises(ex.BadValue, match=said):
        ex.study.Sharpening(oscillator, **{"over": {"omega": (2, 3)}, **given})


def test_a_section_that_is_never_met_is_said():
    ball = ex.models.impact_oscillator()
    with pytest.raises(ex.BadValue, match="does not meet the section 'stop'"):
        ex.study.Sharpening(
            ball, over={"m": (1, 1.1)}, section=ex.study.Section(event="stop"), f=0, x0=0, s=3
        )
    with pytest.warns(ex.ModelWarning, match="None of the 2 runs .* meets its section 'stop'"):
        ex.study.orbit_diagram(
            ball, over={"omega": [2.4, 2.5]}, section=ex.study.Section(event="stop"),
            s=50, t_end=40, transient=5, progress=False,
        )  # fmt: skip


# -- the picture ----------------------------------------------------------------------------------


def decoded(png: bytes) -> tuple[np.ndarray, bytes]:
    """Return the indices of a PNG with a palette, and the palette."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    parts, at = {}, 8
    while at < len(png):
        size, name = struct.unpack(">I4s", png[at : at + 8])
        data = png[at + 8 : at + 8 + size]
        assert struct.unpack(">I", png[at + 8 + size : at + 12 + size])[0] == zlib.crc32(
            name + data
        )
        parts[name], at = data, at + 12 + size
    wide, tall = struct.unpack(">II", parts[b"IHDR"][:8])
    rows = np.frombuffer(zlib.decompress(parts[b"IDAT"]), np.uint8).reshape(tall, wide + 1)
    assert (rows[:, 0] == 0).all()
    return rows[:, 1:], parts[b"PLTE"]


def test_a_dot_is_a_pixel_of_its_colour():
    at = np.array([2]), np.array([1]), np.array([1])
    image, palette = decoded(pixels(*at, (4, 5), ("#102030", "#405060")))
    assert np.argwhere(image).tolist() == [[1, 2]]
    k = 3 * int(image[1, 2])
    assert palette[k : k + 3] == bytes.fromhex("405060")


def test_the_image_shows_the_points_where_they_are(whole):
    picture = ex.views.orbits.picture(whole, "x", window=(-1.5, 0.5))
    (shown,) = picture.layout["images"]
    png = base64.b64decode(shown["source"].partition(",")[2])
    image, _ = decoded(png)
    k = int(np.flatnonzero(whole.period == 1)[0])
    rows = np.flatnonzero(image[:, k])
    up = shown["y"] - (rows.mean() + 0.5) / len(image) * shown["sizey"]
    assert up == pytest.approx(whole.points[k, 0, 0], abs=3 * 2 / len(image))
    wide = shown["sizex"] / image.shape[1]
    assert shown["x"] + (k + 0.5) * wide == pytest.approx(whole.values[k])
    assert "<image" in still(picture.figure())
    names = {t["name"] for t in picture.data if t.get("showlegend")}
    assert {"period 1", "period 2"} <= names


def test_a_view_of_something_else_is_refused(whole):
    with pytest.raises(ex.BadValue, match=r"study\.Sharpening"):
        ex.views.orbits(ex.simulate(ex.models.bouncing_ball()))
    with pytest.raises(ex.BadValue, match="no state 'y'"):
        ex.views.orbits(whole, "y")


# -- the panel ------------------------------------------------------------------------------------

# the block tips over, the cart rolls away
NEVER_SETTLE = ("cart_plastic", "rough_block")


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(OrbitsSession, "columns", 41)
    monkeypatch.setattr(OrbitsSession, "points", 30)


@pytest.fixture
def wire(few):
    return opened(low=2.4, high=2.6, s=0)


def of(wire: Wire) -> dict:
    return wire.panel.session.state["see"]


def test_a_box_in_the_diagram_is_its_next_window_and_undo_goes_back(wire):
    content, _ = wire.frame(wire.hello())
    uirevision = content["figure"]["layout"]["uirevision"]
    look = {"of": uirevision, "size": [640, 490], "ranges": {"xaxis": [2.5, 2.45]}}
    content, _ = wire.frame(wire.say(type="look", look=look))
    assert (of(wire)["low"], of(wire)["high"]) == (2.45, 2.5)
    assert content["figure"]["layout"]["xaxis"]["range"] == [2.45, 2.5]
    stale = {**look, "ranges": {"xaxis": [1.0, 1.1]}}  # of the window before
    wire.say(type="look", look=stale)
    assert of(wire)["low"] == 2.45
    wire.do("undo")
    assert (of(wire)["low"], of(wire)["high"]) == (2.4, 2.6)


def test_a_click_shows_the_motion_on_the_attractor_there(wire):
    session = wire.panel.session
    found = session.diagram()
    content, _ = wire.pull(**{"see.at": 2.5})
    assert content["errors"] == {}
    begin = found.ends[found.nearest(2.5)][0]
    assert of(wire)["begin"] == begin.tolist()
    run = session.solution
    assert run.t[-1] == pytest.approx(10 * 2 * np.pi / 2.5)
    assert run.x[-1] == pytest.approx(run.x[0], abs=1e-5)  # of period one
    assert run.x[0][0] == pytest.approx(one_impact(2.5, 0.8), abs=1e-5)


def test_the_code_makes_the_same_points(wire):
    wire.pull(**{"rho.e": 0.75})
    wire.pull(**{"see.transient": 40})
    scope: dict = {}
    code = wire.panel.session.code()
    code = code.replace("rho=", "columns=41, points=30, rho=")
    exec(code.replace("sharper.whole()", "(found := sharper.whole())"), scope)
    mine = wire.panel.session.diagram()
    assert np.array_equal(scope["found"].points, mine.points, equal_nan=True)


def test_a_state_goes_through_json_and_a_hostile_one_is_refused(wire):
    session = wire.panel.session
    wire.pull(**{"see.at": 2.51})
    text = session.to_json()
    other = OrbitsSession()
    other.load_state(text)
    assert other.state == session.state
    for bad in ({"begin": [1]}, {"begin": "x"}, {"low": 9}, {"follow": "x"}, {"transient": 1e9}):
        given = json.loads(text)
        given["see"] |= bad
        with pytest.raises(ex.BadValue):
            other.load_state(json.dumps(given))
        assert other.state == session.state


def test_what_is_refused_stays_typed_and_the_picture_stays(wire):
    content, _ = wire.pull(**{"see.low": 99})
    assert "is no range" in content["errors"]["see.low"]
    assert content["values"]["see.low"] == 99
    assert of(wire)["low"] == 2.4
    content, _ = wire.pull(**{"see.by": "e"})
    assert content["errors"] == {}
    assert (of(wire)["by"], of(wire)["low"]) == ("e", 0)


def test_an_old_diagram_is_dropped_when_the_question_changes(wire, monkeypatch):
    """However slow the machine is: both are held on their way, and the old one gives up by itself."""
    steps, gate = ex.study.Sharpening.steps, threading.Event()

    def held(self, stop=None):
        for found in steps(self, stop):
            gate.wait(60)
            yield found

    monkeypatch.setattr(ex.study.Sharpening, "steps", held)
    session = wire.panel.session
    assert session.diagram(0.0) is None
    asked, first = session._worker
    content, _ = wire.pull(**{"rho.e": 0.7})
    assert content["errors"] == {}
    assert first._stopped.is_set()
    key, second = session._worker
    assert key != asked
    assert second is not first
    assert not second._stopped.is_set()
    gate.set()
    first._thread.join(60)
    assert first.latest is None  # what it found is not taken any more
    assert second.wait(None).done == 1
    wire.panel.close()
    assert second._stopped.is_set()
    assert session._worker is None


@pytest.mark.parametrize("model", one_of_each([m for m in sorted(models) if offered(m)], alike))
def test_it_opens_on_every_kind_of_system(model, few):
    if model in NEVER_SETTLE:
        with pytest.raises(ex.BadValue, match="before the transient has died out"):
            OrbitsSession(model)
        return
    wire = opened(model, None)
    session = wire.panel.session
    check(*wire.frame(wire.hello()))
    assert session.solution.status.ok
    assert {"see.by", "see.low", "see.at"} <= set(wire.controls())
    assert models[model]().parameters[of(wire)["by"]].low == of(wire)["low"]


def test_what_comes_while_one_looks_is_sent_by_itself(few):
    wire = opened(low=2.4, high=2.6, s=0)
    session, frames = wire.panel.session, []
    wire.panel.send = lambda content, buffers=None: frames.append(content)
    session.news = wire.panel.refresh
    wire.panel.session.change({"rho.e": 0.78})
    session.diagram()
    session._worker[1]._thread.join()
    said = [f["status"]["text"] for f in frames if f["type"] == "frame"]
    assert "points in 41 columns" in said[-1]


def test_a_motion_that_never_comes_back_is_said(few):
    wire = opened("sign_crossing", None)
    wire.panel.session.diagram()
    content, _ = wire.pull()
    assert content["status"]["level"] == "warn"
    assert "does not come back to its section" in content["status"]["text"]


def test_a_model_without_a_section_is_refused():
    with pytest.raises(ex.BadValue, match="Give a section"):
        ex.explore_orbits("pendulum")


def test_news_of_sharper_results_comes_in_the_context_of_who_asked():
    class Asked:
        def steps(self, stop=None):
            yield 1
            seen.wait(10)
            yield 2

    cell, seen, told = ContextVar("cell"), threading.Event(), []
    cell.set("the cell")
    worker = Worker(Asked(), lambda: told.append(cell.get()))
    assert worker.wait(10) == 1
    seen.set()
    assert worker.wait(None) == 2
    assert told == ["the cell"]
