"""One model through all its schemes: the errors, the picture, and the panel."""

from __future__ import annotations

import csv
import io
import pickle

import numpy as np
import plotly.graph_objects as go
import pytest
from loops import for_each
from test_panels import BUDGET, Wire, check, size, trials

import explorer as ex
from explorer.models import models
from explorer.panels import Session, panels
from explorer.panels.schemes.state import SchemesSession
from explorer.study.scheme_comparison import _on_both_sides


def opened(model="impact_oscillator", **settings) -> Wire:
    return Wire(panels["schemes"](SchemesSession(model, **settings)))


def only(session: SchemesSession, *shown: str) -> dict[str, bool]:
    see = session.state["see"]
    return {name: name in shown for name, is_shown in see.items() if isinstance(is_shown, bool)}


# -- the study ------------------------------------------------------------------------------------


@for_each(
    ("model", "reference"),
    [
        ("bouncing_ball", None),
        ("bouncing_ball", "MoreauJean"),
        ("pendulum", "exact"),
        ("irma", "FESD"),
        ("thermostat", None),
        ("diode_bridge", "exact"),
        ("diode_bridge", "EulerMoreau"),
    ],
)
def test_a_comparison_is_pickled_with_its_reference(model, reference):
    system = models[model]()
    schemes = type(ex.schemes_for(system)[0])
    found = ex.study.compare_schemes(system, schemes, reference=reference)
    again = pickle.loads(pickle.dumps(found))
    t = np.linspace(0, found.t_end, 7)
    np.testing.assert_array_equal(again.truth(t), found.truth(t))
    assert repr(again) == repr(found)


def test_the_error_is_the_mean_difference_from_the_closed_form_over_the_range():
    """Of a free fall with Euler's velocities: it misses g h t / 2, whose mean square is known."""
    system = ex.MechanicalSystem("stone", q="y", mass=[[1]], params={"g": 10.0}, force=["-g"])
    system.start(q=[0], t_end=2, h=0.01)
    late = ex.MoreauJean(h=0.01, theta=1.0)
    found = ex.study.compare_schemes(system, {"late": late, "right": ex.MoreauJean(h=0.01)})
    wrong, right = found.runs
    missed, fall = 10 * 0.01 * 2 / 2, 10 * 2**2 / 2
    assert wrong.error == pytest.approx(missed / 3**0.5 / fall, rel=1e-3)
    assert right.error < 1e-9


@pytest.mark.parametrize("model", ["bouncing_ball", "compass_gait", "thermostat", "chua"])
def test_located_runs_agree_with_the_reference_across_impacts_and_resets(model):
    found = ex.study.compare_schemes(models[model](), ["EventDriven"], t_end=2)
    assert found.reference.startswith("EventDriven(rtol=1e-11")
    assert 0 < found.runs[0].error < 1e-4 if model == "chua" else found.runs[0].error < 1e-7


@pytest.mark.parametrize(
    ("model", "known_from"),
    [("diode_bridge", "its closed form"), ("buck_converter", "EulerMoreau(h="), ("irma", "FESD(")],
)
def test_without_event_location_the_reference_is_the_best_there_is(model, known_from):
    system = models[model]()
    found = ex.study.compare_schemes(system, t_end=system.t_end / 4)
    assert found.reference.startswith(known_from)
    assert all(np.isfinite(run.error) for run in found.runs)


def test_another_start_is_not_compared_with_the_closed_form_of_the_usual_one():
    system = ex.models.diode_bridge()
    found = ex.study.compare_schemes(system, x0=[2.0] * system.n, t_end=system.t_end / 4)
    assert found.reference.startswith("EulerMoreau(h=")
    with pytest.raises(ex.BadValue, match=r"nothing to compare with.*no closed form.*this start"):
        ex.study.compare_schemes(system, reference="exact", x0=[2.0] * system.n)


def test_the_step_holds_for_all_schemes_that_take_one():
    found = ex.study.compare_schemes(ex.models.impact_oscillator(), h=5e-3, t_end=1)
    steps = {run.name: run.solution.status.step for run in found.runs}
    assert steps["MoreauJean"] == steps["SchatzmanPaoli"] == 200
    assert "EventDriven" in steps


def test_a_scheme_that_fails_is_a_sentence_and_the_others_stay():
    system = ex.models.bouncing_ball()
    few = {"short": ex.EventDriven(max_steps=3), "good": ex.MoreauJean()}
    found = ex.study.compare_schemes(system, few)
    assert [run.name for run in found.runs] == ["good"]
    assert len(found.refused["short"]) > 15
    assert "| short |" in found._repr_markdown_()
    with pytest.raises(ex.BadValue, match="Every run"):
        ex.study.compare_schemes(system, {"short": few["short"]})
    with pytest.raises(ex.BadValue, match="greater than zero"):
        ex.study.compare_schemes(system, h=0)


def test_two_schemes_of_one_class_have_names_of_their_own():
    both = [ex.MoreauJean(h=1e-3), ex.MoreauJean(h=1e-2)]
    found = ex.study.compare_schemes(ex.models.bouncing_ball(), both, t_end=1)
    assert [run.name for run in found.runs] == ["MoreauJean(h=0.001)", "MoreauJean(h=0.01)"]


# -- the picture ----------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["duffing", "bouncing_ball", "two_tanks", "newtons_cradle"])
def test_each_scheme_is_drawn_over_the_reference_with_the_same_axes(model):
    found = ex.study.compare_schemes(models[model](), t_end=1.5)
    figure = ex.views.scheme_comparison(found)
    curves = [t for t in figure.data if "error " in (t.name or "")]
    assert [t.name.partition(":")[0] for t in curves] == [run.name for run in found.runs]
    assert sum(t.name == "reference" for t in figure.data) == len(found.runs)
    ranges = {figure.layout["y" + "axis" + t.yaxis[1:]].range for t in curves}
    assert len(ranges) == 1
    dots = [t for t in figure.data if t.mode == "markers+text"]
    assert len(dots) == (len(found.runs) > 1)
    for one in dots:
        np.testing.assert_allclose(one.x, [max(run.error, 1e-16) for run in found.runs])
    with pytest.raises(ex.BadValue, match="no coordinate 'nobody'"):
        ex.views.scheme_comparison(found, "nobody")


# -- the panel ------------------------------------------------------------------------------------


def test_the_panel_draws_the_numbers_of_the_study():
    content, buffers = opened("duffing").pull()
    found = ex.study.compare_schemes(ex.models.duffing())
    dots = next(t for t in content["figure"]["data"] if t["mode"] == "markers+text")
    errors = np.frombuffer(buffers[dots["x"]["buf"]], "<f4")
    np.testing.assert_allclose(errors, [run.error for run in found.runs], rtol=1e-6)
    assert f"{len(found.runs)} schemes against EventDriven" in content["status"]["text"]
    assert len(content["mechanism"]["ghosts"]) == 1, "the best run beside the first scheme"


def test_every_control_moved():
    wire = opened("block_on_slope")
    wire.panel.session.set(**only(wire.panel.session, "MoreauJean", "EventDriven"))
    controls = wire.controls()
    assert {"model", "see.step", "see.coordinate", "see.FESD", "rho.mu"} <= set(controls)
    assert not [key for key in controls if key.startswith(("scheme", "knob."))]
    for key, control in controls.items():
        if key == "model":
            continue
        values = trials(control)[:2] if control["kind"] in ("toggle", "choice") else ["abc", 1e300]
        for k, value in enumerate([*values, control["value"]]):
            content, _ = wire.pull(drag=bool(k % 2), **{key: value})
            refused = key in content["errors"]
            assert refused == (content["status"]["level"] == "error"), (key, value)
            if refused:
                assert len(content["errors"][key]) > 15
        assert content["errors"] == {}, key


@pytest.mark.parametrize(
    ("key", "typed", "said"),
    [("see.step", "0", "greater than zero"), ("see.coordinate", "z", "no coordinate"),
     ("model", "nobody", "no model"), ("see.MoreauJean", False, "one curve")],
)  # fmt: skip
def test_what_is_typed_wrong_is_a_sentence_and_the_picture_stays(key, typed, said):
    wire = opened()
    session = wire.panel.session
    session.set(**only(session, "MoreauJean"))
    before = session.state
    content, _ = wire.pull(**{key: typed})
    assert said in content["errors"][key]
    assert session.state == before
    assert any(t["name"].startswith("MoreauJean") for t in content["figure"]["data"])


def test_every_action_and_a_small_picture():
    wire = opened("elastic_pendulum")
    wire.do("pin")
    for drag in (True, False):
        content, buffers = wire.pull(drag, **{"see.step": 0.5})
        assert size(content, buffers) <= BUDGET
    pinned = next(t for t in content["figure"]["data"] if t["name"] == "pinned")
    assert len(np.frombuffer(buffers[pinned["x"]["buf"]], "<f4")) == len(
        wire.panel.session.comparison().runs
    )
    for action in ("undo", "redo", "reset", "unpin"):
        assert wire.do(action)[0]["status"]["level"] in ("ok", "warn"), action
    rows = list(csv.reader(io.StringIO(wire.say(type="do", action="export_csv")[0][0]["text"])))
    runs = wire.panel.session.comparison().runs
    assert [float(row[1]) for row in rows[1:]] == [run.error for run in runs]
    assert "Plotly.newPlot" in wire.say(type="do", action="export_html")[0][0]["text"]


def test_state_and_script_bring_the_same_numbers():
    wire = opened("pendulum_wall", step=2, t_end=1)
    wire.pull(**{"see.FESD": False, "q0.theta": 0.4})
    text = wire.say(type="do", action="copy_state")[0][0]["text"]
    other = opened()
    other.do("load_state", text)
    assert other.panel.session.state == wire.panel.session.state
    names: dict = {}
    exec(wire.say(type="do", action="copy_code")[0][0]["text"], names)
    mine, again = wire.panel.session.comparison(), names["found"]
    assert [(r.name, r.error) for r in mine.runs] == [(r.name, r.error) for r in again.runs]
    content, _ = other.do("load_state", '{"format": 1, "scheme": "FESD"}')
    assert content["status"]["level"] == "error"


def test_a_session_of_another_panel_gives_its_model_and_start():
    session = Session("pendulum_wall", **{"q0.theta": 0.3, "t_end": 1})
    own = panels["schemes"](session).session
    assert own.start() == session.start()
    assert own.state["t_end"] == 1
    wire = opened()
    wire.do("load_state", session.to_json())
    assert wire.panel.session.start() == session.start()


def test_a_script_opens_it(monkeypatch):
    own = ex.MechanicalSystem("own", q="y", mass=[[1]], params={"e": 0.5}, force=["-9.81"])
    own.contact(ex.Contact("y", e="e"))
    own.start(q=[1], t_end=1, h=1e-2)
    check(*Wire(ex.explore_schemes(own)).pull(**{"see.step": 0.5}))
    monkeypatch.setenv("EXPLORER_STATIC", "1")
    assert type(ex.explore_schemes("duffing")) is go.Figure


@pytest.mark.parametrize("span", [1.0, 1e-4, 1e3])
def test_a_reference_is_asked_on_both_sides_of_a_jump(span):
    """Two rows at one time stand before and behind it, whatever the unit of time is."""
    t = span * np.array([0, 0.25, 0.5, 0.5, 0.75, 1, 1])
    found = _on_both_sides(t, lambda at: np.sign(at - 0.5 * span) + 5 * (at > span * (1 - 1e-10)))
    assert found.tolist() == [-1, -1, -1, 1, 1, 1, 6]
