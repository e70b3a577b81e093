"""The live diagram of orders: its numbers are those of the study, whatever is typed."""

from __future__ import annotations

import csv
import io

import numpy as np
import plotly.graph_objects as go
import pytest
from test_panels import BUDGET, Wire, check, size, trials

import explorer as ex
from explorer.models import models
from explorer.panels import Session, panels
from explorer.panels.order.state import CURVES, OrderSession, offered


def opened(model="switched_oscillator", **settings) -> Wire:
    return Wire(panels["order"](OrderSession(model, **settings)))


def trace(content, buffers, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return h and error of the curve whose name begins so."""
    found = next(t for t in content["figure"]["data"] if t["name"].startswith(name))
    return tuple(np.frombuffer(buffers[found[axis]["buf"]], "<f4") for axis in "xy")


def only(*shown: str) -> dict[str, bool]:
    return {name: name in shown for name in CURVES}


def test_the_curves_are_the_numbers_of_the_study_over_the_mean_step():
    content, buffers = opened().pull()
    found = ex.study.order_diagram(ex.models.switched_oscillator())
    for curve in found.curves:
        h, error = trace(content, buffers, curve.name)
        np.testing.assert_allclose(h, found.t_end / curve.steps, rtol=1e-6)
        np.testing.assert_allclose(error, np.maximum(curve.error, 1e-16), rtol=1e-5)
    assert any(t["name"] == "FESD, 2 stages: order 3" for t in content["figure"]["data"])
    assert "closed form" in content["status"]["text"]


def test_other_schemes_reach_the_truth_too():
    """Euler-Moreau at order 1, as a multiplier acts; event location across the switch."""
    schemes = {"theta": ex.EulerMoreau(), "located": ex.EventDriven()}
    system = ex.models.switched_oscillator()
    theta, located = ex.study.order_diagram(system, schemes, r0=1.2, t_end=1).curves
    assert theta.order == pytest.approx(1, abs=0.15)
    assert np.isnan(located.order), "a tolerance has no order"
    located = ex.study.order_diagram(system, schemes).curves[1]
    assert (np.diff(located.error) < 0).sum() >= 5
    assert located.error[-1] < 1e-9


def test_smoothing_comes_no_nearer_than_its_width():
    """Its error at the finest tolerance is of first order in the width; the others stay."""
    wire, ends, kept = opened("sliding_mode"), [], []
    for width in (0.02, 0.01, 0.005):
        content, buffers = wire.pull(True, **{"see.width": width})
        ends.append(trace(content, buffers, "smoothing")[1][-3:])
        kept.append(trace(content, buffers, "FESD, 2")[1])
    assert np.array(ends[:-1]) / np.array(ends[1:]) == pytest.approx(2, rel=0.1)
    assert np.array_equal(kept[0], kept[2])


def test_every_control_moved():
    model = "two_genes"
    wire = opened(model, **only("FESD", "smoothing"))
    controls = wire.controls()
    system = wire.panel.session.system
    assert set(controls) == {
        "model", "t_end", "knob.tableau", "knob.representation", "see.width",
        *(f"see.{name}" for name in CURVES), *(f"rho.{k}" for k in system.parameters),
    }  # fmt: skip
    assert [c[0] for c in controls["model"]["choices"]] == sorted(filter(offered, models))
    for key, control in controls.items():
        values = trials(control)[:2] if key == "model" else [*trials(control)[:2], "abc", 1e300]
        for k, value in enumerate(values):
            content, _ = wire.pull(drag=bool(k % 2), **{key: value})
            refused = key in content["errors"]
            assert refused == (content["status"]["level"] == "error"), (key, value)
            if refused:
                assert content["values"][key] == value, "what was typed stays"
                assert len(content["errors"][key]) > 15
        content, _ = wire.pull(**{key: control["value"]})
        assert content["errors"] == {}, key
        if key == "model":
            wire.panel.session.load_state(OrderSession(model, **only("FESD")).to_json())


@pytest.mark.parametrize(
    ("key", "typed", "said"),
    [
        ("see.width", "0", "greater than zero"), ("see.width", "thin", "finite number"),
        ("knob.tableau", "Heun", "not one of"), ("t_end", "-1", "greater than zero"),
        ("model", "bouncing_ball", "no step functions"), ("model", "nobody", "no model"),
        ("see.FESD", False, "one curve"),
    ],
)  # fmt: skip
def test_what_is_typed_wrong_is_a_sentence_and_the_picture_stays(key, typed, said):
    wire = opened(**only("FESD"))
    before = wire.panel.session.state
    content, buffers = wire.pull(**{key: typed})
    assert said in content["errors"][key]
    assert content["values"][key] == typed
    assert wire.panel.session.state == before
    assert trace(content, buffers, "FESD, 1")[0].size == 8


def test_every_action_and_a_picture_of_at_most_40_kb():
    wire = opened("sliding_entry")
    wire.do("pin")
    key = next(k for k in wire.controls() if k.startswith("rho."))
    for drag in (True, False):
        value = wire.controls()[key]["value"] * 1.01
        content, buffers = wire.pull(drag, **{key: value})
        assert size(content, buffers) <= BUDGET
    assert {"pinned"} < {t["name"] for t in content["figure"]["data"]}
    for action in ("undo", "redo", "reset", "unpin"):
        assert wire.do(action)[0]["status"]["level"] in ("ok", "warn"), action
    schema = next(c for c, _ in wire.hello() if c["type"] == "schema")
    for preset in schema["presets"]:
        assert wire.do("preset", preset["name"])[0]["status"]["level"] in ("ok", "warn")
    rows = list(csv.reader(io.StringIO(wire.say(type="do", action="export_csv")[0][0]["text"])))
    found = wire.panel.session.diagram()
    assert [float(row[4]) for row in rows[1:]] == [e for c in found.curves for e in c.error]
    assert "Plotly.newPlot" in wire.say(type="do", action="export_html")[0][0]["text"]


def test_state_and_script_bring_the_same_numbers():
    wire = opened("stribeck_belt", **only("FESD", "smoothing"), width=0.05, d=3, t_end=10)
    wire.pull(**{"knob.tableau": "lobatto_iiic"})
    text = wire.say(type="do", action="copy_state")[0][0]["text"]
    other = opened()
    other.do("load_state", text)
    assert other.panel.session.state == wire.panel.session.state
    names: dict = {}
    exec(wire.say(type="do", action="copy_code")[0][0]["text"], names)
    mine = wire.panel.session.diagram()
    assert [c.name for c in mine.curves] == [c.name for c in names["found"].curves]
    assert not any(c.name.startswith("FESD, 1") for c in mine.curves), "Lobatto has two at least"
    for one, again in zip(mine.curves, names["found"].curves, strict=True):
        assert np.array_equal(one.error, again.error)
    content, _ = other.do("load_state", '{"format": 1, "scheme": "FESD"}')
    assert content["status"]["level"] == "error"
    assert "not a saved state" in content["status"]["text"]


def test_a_session_of_another_panel_gives_its_model():
    session = Session("sliding_mode", a=3)
    assert panels["order"](session).session.state["rho"]["a"] == 3
    assert panels["order"](Session("bouncing_ball")).session.state["model"] == "switched_oscillator"
    wire = opened(**only("FESD"))
    wire.do("load_state", session.to_json())
    assert wire.panel.session.state["model"] == "sliding_mode"


def test_a_script_opens_it(monkeypatch):
    own = ex.StepSystem("own", "x", params={"a": 2}, f=["1 - a*sign(x)"], start={"x": [1]})
    check(*Wire(ex.explore_order(own, **only("FESD", "ThetaRK"))).pull(**{"rho.a": 3}))
    with pytest.raises(ex.BadValue, match=r"no step functions.*switched_oscillator"):
        ex.explore_order("bouncing_ball")
    monkeypatch.setenv("EXPLORER_STATIC", "1")
    figure = ex.explore_order("switched_oscillator", **only("ThetaRK"))
    assert type(figure) is go.Figure
    assert figure.layout.xaxis.title.text == "mean step h (s)"
    rise = next(t for t in figure.data if t.name == "order 1")
    assert np.diff(np.log10(rise.y)) / np.diff(np.log10(rise.x)) == pytest.approx(1, rel=1e-4)
