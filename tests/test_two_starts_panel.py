"""The panel with two starts at once: two real runs, their distance, and what is said of them."""

from __future__ import annotations

import csv
import io

import numpy as np
import plotly.graph_objects as go
import pytest
from test_panels import BUDGET, Wire, check, size, trials

import explorer as ex
from explorer.panels import Session, panels
from explorer.panels.two_starts import TwoStartsSession
from explorer.results.solution import Solution


def opened(model="impact_oscillator", scheme=None, **settings) -> Wire:
    return Wire(panels["two_starts"](TwoStartsSession(model, scheme, **settings)))


def curve(content, buffers, name):
    trace = next(t for t in content["figure"]["data"] if t["name"] == name)
    return [np.frombuffer(buffers[trace[k]["buf"]], "<f4") for k in "xy"]


def test_both_runs_are_those_of_simulate_and_the_picture_shows_their_distance():
    wire = opened("duffing", "GeneralizedAlpha", offset=1e-3, t_end=5)
    content, buffers = wire.pull()
    found = wire.panel.session.found
    system = ex.models.duffing()
    first = ex.simulate(system, found.first.scheme, t_end=5)
    second = ex.simulate(system, found.first.scheme, t_end=5, q0=first.q[0] + [1e-3], v0=first.v[0])
    np.testing.assert_array_equal(found.first.q, first.q)
    np.testing.assert_array_equal(found.second.q, second.q)
    _, y = curve(content, buffers, "distance")
    assert y[0] == pytest.approx(found.apart.distance[0], rel=1e-6)
    assert content["figure"]["layout"]["yaxis3"]["type"] == "log"
    assert len(content["mechanism"]["ghosts"]) == 1
    (card,) = content["cards"]
    assert [row[0] for row in card["rows"]] == ["distance", "predicted"]
    assert float(card["rows"][0][1]) == pytest.approx(found.apart.distance[0], rel=1e-2)


def test_it_locates_events_where_it_can_and_says_where_the_runs_do_not():
    """Through an impact within one step two starts do not part: of 900 times, nothing was seen."""
    wire = opened(offset=1e-5)
    found = wire.panel.session.found
    assert type(found.first.scheme).__name__ == "EventDriven"
    ends = found.apart.distance[-1], found.predicted.distance[-1]
    assert ends[0] == pytest.approx(ends[1], rel=0.05)
    content, _ = wire.pull()
    assert content["status"]["level"] == "ok"
    assert content["cards"][0]["note"].endswith("root mean square.")
    content, _ = wire.pull(scheme="MoreauJean")
    status, note = content["status"], content["cards"][0]["note"]
    assert "MoreauJean does not locate events: it may take both starts" in note
    assert status["level"] == "warn"
    assert note.endswith(status["text"])
    found = wire.panel.session.found
    assert found.apart.distance[-1] < 0.1 * found.predicted.distance[-1]


def test_a_smooth_motion_of_fixed_steps_has_no_doubt():
    content, _ = opened("duffing", "Newmark", t_end=5).pull()
    assert content["status"]["level"] == "ok"
    assert content["cards"][0]["note"].endswith("Predicted by EventDriven.")


def test_what_the_second_run_is_warned_of_is_said():
    wire = opened("bouncing_ball", "MoreauJean")
    assert wire.pull()[0]["status"]["text"].startswith("MoreauJean does not locate events")
    wire.panel.session.found.second.warned = ("It tunnels.",)
    status = wire.pull()[0]["status"]
    assert (status["level"], status["text"]) == ("warn", "The second run: It tunnels.")
    lines = status["checks"]["lines"]
    assert {line.partition(" run: ")[0] for line in lines} == {"first", "second"}
    wire.panel.session.found.first.warned = ("It is stiff.",)
    assert wire.pull()[0]["status"]["text"] == "It is stiff. The second run: It tunnels."


def test_in_a_drag_neither_run_is_checked(monkeypatch):
    wire = opened("bouncing_ball", "MoreauJean")
    asked = []
    monkeypatch.setattr(Solution, "cautions", property(lambda run: asked.append(run) or ()))
    assert wire.pull(drag=True, **{"rho.e": 0.5})[0]["status"]["level"] == "unchecked"
    assert asked == []


def test_a_second_start_that_cannot_run_is_a_sentence_and_the_picture_stays():
    wire = opened(t_end=1)
    before = wire.panel.session.state
    content, _ = wire.pull(**{"see.offset": 5})  # beyond the stop
    assert content["status"]["level"] == "error"
    assert content["errors"]["see.offset"].startswith("From the second start: ")
    assert "inside an obstacle" in content["errors"]["see.offset"]
    assert wire.panel.session.state == before


@pytest.mark.parametrize("model", ["bouncing_ball", "two_genes", "tent_map"])
def test_every_control_moved(model):
    wire = opened(model)
    wire.pull(t_end=wire.panel.session.state["t_end"] / 4)
    controls = wire.controls()
    assert {"model", "scheme", "see.offset"} <= set(controls)
    assert ("see.state" in controls) == (model != "tent_map")  # which has one state
    for key, control in controls.items():
        if key in ("model", "scheme") or key.startswith("knob."):
            continue
        values = trials(control)[:1] if control["kind"] == "choice" else ["abc", 1e300]
        for k, value in enumerate([*values, control["value"]]):
            content, _ = wire.pull(drag=bool(k % 2), **{key: value})
            refused = key in content["errors"]
            assert refused == (content["status"]["level"] == "error"), (key, value)
        assert content["errors"] == {}, key


@pytest.mark.parametrize(
    ("key", "typed", "said"),
    [("see.offset", "0", "greater than zero"), ("see.state", "z", "no state 'z'"),
     ("scheme", "Iteration", "Iteration")],
)  # fmt: skip
def test_what_is_typed_wrong_is_a_sentence_and_the_picture_stays(key, typed, said):
    wire = opened()
    before = wire.panel.session.state
    content, _ = wire.pull(**{key: typed})
    assert said in content["errors"][key]
    assert wire.panel.session.state == before


def test_an_offset_fits_its_state_and_stays_with_another_size():
    session = TwoStartsSession("newtons_cradle")
    session.set(offset=2e-5)
    session.set(n=3)
    assert session.state["see"]["offset"] == 2e-5
    session.set(state="v_x1")
    offset = session.state["see"]["offset"]
    assert offset == 10.0 ** round(np.log10(offset)) != 2e-5


def test_every_action_and_a_small_picture():
    wire = opened("chua")
    for drag in (True, False):
        content, buffers = wire.pull(drag, **{"see.offset": 1e-4})
        assert size(content, buffers) <= BUDGET
    assert "pinned" not in content  # two runs are compared already
    for action in ("undo", "redo", "reset"):
        assert wire.do(action)[0]["status"]["level"] in ("ok", "warn"), action
    rows = list(csv.reader(io.StringIO(wire.say(type="do", action="export_csv")[0][0]["text"])))
    found = wire.panel.session.found
    mine = [(float(t), float(d)) for name, t, d in rows[1:] if name == "distance"]
    np.testing.assert_array_equal(mine, np.transpose([found.apart.t, found.apart.distance]))
    assert "Plotly.newPlot" in wire.say(type="do", action="export_html")[0][0]["text"]


def test_state_and_script_bring_the_same_numbers():
    wire = opened("pendulum_wall", state="v_theta", offset=0.01, t_end=1)
    wire.pull(**{"q0.theta": 0.4})
    text = wire.say(type="do", action="copy_state")[0][0]["text"]
    other = opened()
    other.do("load_state", text)
    assert other.panel.session.state == wire.panel.session.state
    names: dict = {}
    exec(wire.say(type="do", action="copy_code")[0][0]["text"], names)
    mine, again = wire.panel.session.found, names["found"]
    np.testing.assert_array_equal(mine.apart.distance, again.apart.distance)
    np.testing.assert_array_equal(mine.predicted.distance, again.predicted.distance)
    assert again.offset == {"v_theta": 0.01}


def test_a_session_of_another_panel_gives_all_that_it_has():
    session = Session("pendulum_wall", "MoreauJean", **{"q0.theta": 0.3, "t_end": 1, "h": 2e-3})
    own = panels["two_starts"](session).session
    assert own.start() == session.start()
    assert own.scheme == session.scheme
    np.testing.assert_array_equal(own.solution.q, session.solution.q)


def test_a_script_opens_it(monkeypatch):
    own = ex.MechanicalSystem("own", q="y", mass=[[1]], params={"e": 0.5}, force=["-9.81"])
    own.contact(ex.Contact("y", e="e"))
    own.start(q=[1], t_end=1, h=1e-2)
    check(*Wire(ex.explore_two_starts(own)).pull(**{"see.offset": 0.5}))
    monkeypatch.setenv("EXPLORER_STATIC", "1")
    assert type(ex.explore_two_starts("duffing")) is go.Figure
