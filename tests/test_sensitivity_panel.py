"""The sensitivity panel without a browser: the cost typed, the model changed, the sliders moved."""

from __future__ import annotations

import json
import re
import time

import numpy as np
import pytest
from hybrids import HYBRIDS
from scipy.optimize import brentq
from test_panels import Wire, size

import explorer as ex
from explorer.models import models
from explorer.panels import Session, panels
from explorer.panels.sensitivity.cards import cost_along
from explorer.panels.sensitivity.state import SensitivitySession, offered


def opened(model="bouncing_ball", **settings) -> Wire:
    return Wire(panels["sensitivity"](SensitivitySession(model, **settings)))


def card(content: dict, title: str) -> dict:
    return next(c for c in content["cards"] if c["title"].startswith(title))


def trace(content: dict, buffers: list, name: str) -> np.ndarray:
    found = next(t for t in content["figure"]["data"] if t["name"] == name)
    return np.frombuffer(buffers[found["y"]["buf"]], "<f4")


@pytest.mark.parametrize(
    ("key", "typed", "said"),
    [
        ("cost.g", "v_y**2 + nope", "nope"), ("cost.g", "v_y**", "v_y**"), ("cost.g", "1/0", "cost"),
        ("cost.w", "a_y", "a_y"), ("cost.w", "open('x')", "open"), ("cost.g", "sqrt(-1)", "cost"),
        ("see.delta", "-1", "greater than zero"), ("see.event", "1.5", "1.5"),
        ("cost.until", "wall", "wall"), ("cost.count", "0", "counted 1, 2, 3"),
        ("v0.y", "fast", "start velocity of y"), ("see.wrt", "mass", "mass"), ("see.coordinate", "x", "coordinate"),
        ("scheme", "MoreauJean", "does not locate events"), ("rho.e", "1.5", "Newton"),
    ],
)  # fmt: skip
def test_what_is_typed_wrong_is_a_sentence_and_stays(key, typed, said):
    wire = opened()
    before = wire.panel.session.sensitivity
    content, _ = wire.pull(**{key: typed})
    assert said in content["errors"][key]
    assert content["status"]["level"] == "error"
    assert content["values"][key] == typed
    assert wire.panel.session.sensitivity is before
    content, _ = wire.pull(**{"rho.g": 5.0})  # the others go on working
    assert content["values"][key] == typed
    assert wire.panel.session.solution.rho["g"] == 5.0


def test_the_cost_that_is_typed_is_the_one_that_is_differentiated():
    wire = opened()
    content, _ = wire.pull(**{"cost.g": "", "cost.w": "y"})
    sens = wire.panel.session.sensitivity
    assert sens.cost == pytest.approx(sens.solution.q[-1, 0])
    assert sens.cost_gradient[0] == pytest.approx(sens.Q[-1, 0, 0])
    assert f"{sens.cost:.5g}" in card(content, "Gradient")["title"]


def test_a_parameter_without_influence_is_a_zero_column():
    content, buffers = opened().pull(**{"see.wrt": "m"})
    assert not np.nan_to_num(trace(content, buffers, "derivative")).any()
    assert [row[-1] for row in card(content, "Event 2")["rows"]] == ["0", "0", "0"]
    assert [row[3] for row in content["table"]["rows"]] == ["0"] * len(content["table"]["rows"])


def test_another_parameter_brings_its_own_distance_of_the_twins():
    wire = opened()
    content, _ = wire.pull(**{"see.wrt": "g"})
    assert content["values"]["see.delta"] == pytest.approx(19 / 50, rel=0.1)
    assert wire.controls()["see.delta"]["unit"] == "m/s²"


@pytest.mark.parametrize("build", HYBRIDS.values(), ids=HYBRIDS)
def test_a_hybrid_system_has_states_for_coordinates(build):
    wire = opened(build())
    assert "see.coordinate" in wire.controls() or len(build().coordinates) == 1
    for state in build().coordinates:
        content, _ = wire.pull(**{"see.coordinate": state, "see.wrt": state})
        assert content["status"]["level"] != "error"
        assert not content["errors"]


def test_the_model_may_become_a_hybrid_one():
    wire = opened()
    wire.pull(**{"see.zoom": True, "cost.w": "y"})
    content, _ = wire.pull(model="two_tanks")
    assert content["errors"] == {}
    assert content["values"]["see.zoom"] is False
    assert wire.panel.session.system.name != "bouncing ball"
    assert wire.do("undo")[0]["values"]["cost.w"] == "y"


def test_only_models_that_can_be_differentiated_are_offered():
    choices = {c[0] for c in opened().controls()["model"]["choices"]}
    assert choices == {name for name in models if offered(name)}


def test_the_methods_are_compared_when_the_slider_rests():
    wire = opened()
    assert len(card(wire.pull(**{"rho.e": 0.75})[0], "Gradient")["rows"]) == 1
    rows = card(wire.pull(**{"see.compare": True})[0], "Gradient")["rows"]
    assert [row[0] for row in rows] == ["direct", "adjoint", "complex step", "finite difference"]
    assert len({row[1][:8] for row in rows}) == 1, "eight characters agree"
    rows = card(wire.pull(True, **{"rho.e": 0.7})[0], "Gradient")["rows"]
    assert [row[1] for row in rows[1:]] == ["…"] * 3
    rows = card(wire.pull(False, **{"rho.e": 0.7})[0], "Gradient")["rows"]
    assert "…" not in str(rows)


def test_the_cost_over_the_parameter_stays_while_that_one_moves():
    wire = opened()
    wire.hello()
    for key, value, stays in (("rho.e", 0.7, True), ("rho.g", 8.0, False)):
        content, buffers = wire.pull(True, **{key: value})
        assert (len(trace(content, buffers, "cost ψ")) > 5) == stays


def test_the_start_is_set_and_differentiated_by():
    wire = opened()
    assert {"q0.y", "v0.y"} <= set(wire.controls())
    content, _ = wire.pull(**{"q0.y": "2", "see.wrt": "y"})
    hit, g = content["table"]["rows"][0], 9.81
    assert hit[1] == pytest.approx(np.sqrt(4 / g), rel=1e-4)
    assert wire.panel.session.sensitivity.events[0].dt_drho[0] == pytest.approx(
        1 / (g * np.sqrt(4 / g))
    )
    other = opened()
    other.do("load_state", wire.say(type="do", action="copy_state")[0][0]["text"])
    assert other.panel.session.state["q0"] == [2]
    plain = panels["sensitivity"](Session("bouncing_ball", **{"v0.y": -1}))
    assert plain.session.solution.v[0, 0] == -1
    content, _ = wire.pull(**{"q0.y": -0.5})
    assert "inside an obstacle" in content["errors"]["q0.y"]


def test_the_cost_ends_at_an_event():
    wire = opened()
    assert "cost.count" not in wire.controls()
    wire.pull(**{"cost.until": "floor", "cost.g": "", "cost.w": "t"})
    first = np.sqrt(2 / 9.81)
    assert wire.panel.session.sensitivity.cost == pytest.approx(first)
    content, buffers = wire.pull(**{"cost.count": 2, "see.wrt": "e"})
    sens = wire.panel.session.sensitivity
    assert sens.cost == pytest.approx(first * 2.6)
    assert sens.cost_gradient[0] == pytest.approx(2 * first)
    assert f"T = {first * 2.6:.5g} s" in card(content, "Gradient")["note"]
    end = next(t for t in content["figure"]["data"] if t["name"] == "end T")
    drawn = np.frombuffer(buffers[end["x"]["buf"]], "<f4")
    np.testing.assert_allclose(drawn, first * 2.6, rtol=1e-6)
    assert wire.controls()["cost.count"]["value"] == 2
    names: dict = {}
    exec(wire.say(type="do", action="copy_code")[0][0]["text"], names)
    assert names["sens"].cost_gradient.tolist() == sens.cost_gradient.tolist()


@pytest.mark.parametrize(("key", "value"), [("cost.count", 40), ("rho.g", 1.0), ("t_end", 0.5)])
def test_an_end_that_does_not_come_is_said_and_the_picture_stays(key, value):
    wire = opened()
    wire.pull(**{"cost.until": "floor"})
    wire.pull(**{"cost.count": 3})
    before = wire.panel.session.sensitivity
    content, _ = wire.pull(**{key: value})
    assert re.search(r"event \d+ of 'floor', but only \d", content["errors"][key])
    assert content["status"]["level"] == "error"
    assert wire.panel.session.sensitivity is before
    content, _ = wire.pull(**{"cost.until": ""})
    assert content["errors"] == {}


def test_the_cost_is_interrupted_where_the_walker_falls_instead():
    content, buffers = opened("simplest_walker").pull(**{"see.wrt": "gamma"})
    drawn = next(t for t in content["figure"]["data"] if t["name"] == "cost ψ")
    gamma, cost = (np.frombuffer(buffers[drawn[k]["buf"]], "<f4") for k in "xy")
    assert np.isnan(gamma).tolist() == np.isnan(cost).tolist()
    cuts = gamma[np.flatnonzero(np.isnan(gamma)) - 1]
    # it falls back, walks, falls forward; in a window of slopes beyond, it walks once more
    for slope in (0.0020112, 0.0143738, 0.0164795):
        (i,) = np.flatnonzero(np.abs(cuts - slope) < 1e-6)
        ends = [
            ex.simulate(models["simplest_walker"](), ex.EventDriven, t_end=25.2, gamma=g)
            for g in (cuts[i] - 2e-6, cuts[i] + 2e-6)
        ]
        met = [[(e.kind, e.contact) for e in run.located] for run in ends]
        assert met[0] != met[1]


def test_an_event_that_does_not_happen_is_said():
    content, _ = opened().pull(**{"see.event": 40, "see.zoom": True})
    assert content["status"]["level"] != "error"
    assert "there is no event 40" in card(content, "Event 40")["note"]


def test_a_zoomed_axis_rests_while_a_slider_moves():
    wire = opened()
    wire.pull(**{"see.zoom": True, "see.delta": 0.02})
    wire.hello()
    sent = [
        "layout" in wire.pull(True, **{"rho.e": 0.8 - 0.001 * i})[0]["figure"] for i in range(9)
    ]
    assert sum(sent) <= 1


def test_pinned_sensitivities_are_drawn_dotted():
    wire = opened()
    wire.do("pin")
    content, buffers = wire.pull(**{"rho.e": 0.6})
    ghosts = [t for t in content["figure"]["data"] if t["name"] == "pinned"]
    assert len(ghosts) == 5
    assert {t["line"]["dash"] for t in ghosts} == {"dot"}
    assert np.nanmax(np.abs(trace(content, buffers, "pinned"))) > 0


def test_the_copied_script_makes_the_same_numbers():
    wire = opened()
    wire.pull(**{"rho.e": 0.7, "cost.w": "y*v_y", "see.wrt": "g"})
    text = wire.say(type="do", action="copy_code")[0][0]["text"]
    names: dict = {}
    exec(text, names)
    sens = wire.panel.session.sensitivity
    assert names["sens"].cost_gradient.tolist() == sens.cost_gradient.tolist()
    np.testing.assert_array_equal(names["sens"].S, sens.S)


def test_a_state_of_the_explore_panel_is_taken_and_its_own_is_whole():
    other = Session("bouncing_ball", e=0.6)
    wire = opened()
    content, _ = wire.do("load_state", other.to_json())
    assert content["values"]["rho.e"] == 0.6
    assert content["values"]["scheme"] == "EventDriven"
    wire.pull(**{"see.wrt": "y0", "see.zoom": True, "cost.w": "y"})
    text = wire.say(type="do", action="copy_state")[0][0]["text"]
    again = opened()
    again.do("load_state", text)
    assert again.panel.session.state == wire.panel.session.state
    json.loads(text)


def test_a_plain_session_gives_its_model_and_parameters():
    panel = panels["sensitivity"](Session("bouncing_ball", e=0.6))
    assert panel.session.solution.rho["e"] == 0.6
    assert not panel.session.can_undo


@pytest.mark.broad
@pytest.mark.parametrize("model", sorted(filter(offered, models)))
def test_a_picture_is_small_on_every_model(model):
    wire = opened(model)
    key, value = next((k, c["value"]) for k, c in wire.controls().items() if k.startswith("rho."))
    assert size(*wire.pull(True, **{key: value * 1.001})) <= 30_000
    assert wire.pull(**{"see.zoom": True, key: value})[0]["status"]["level"] != "error"


def test_a_frame_takes_little_while_a_slider_moves():
    wire = opened()
    wire.hello()
    spent = []
    for i in range(20):
        begin = time.process_time()
        wire.panel._answer.pull({"rho.e": 0.8 - 0.002 * i}, True)
        spent.append(time.process_time() - begin)
    assert np.median(spent) < 0.04  # 5 ms on a quiet machine


def test_a_script_opens_it():
    panel = ex.explore_sensitivity("bouncing_ball", e=0.6, wrt="y0", delta=0.05)
    assert panel.session.sensitivity.wrt == ("y0",)
    with pytest.raises(ex.ExplorerError, match="locate"):
        ex.explore_sensitivity("bouncing_ball", "MoreauJean")


def test_the_cost_is_broken_where_it_jumps():
    """v_y at 1.5 s over e: bounce n falls on the end where t1 (1 + 2 e + ... + 2 e^n) = 1.5."""
    session = SensitivitySession("bouncing_ball", wrt="e", t_end=1.5,
                                 **{"cost.w": "v_y", "cost.g": ""})  # fmt: skip
    curve = cost_along(session.sensitivity, 0)
    t1 = np.sqrt(2 / 9.81)
    hits = {n: brentq(lambda e, n=n: t1 * (1 + 2 * sum(e**k for k in range(1, n + 1))) - 1.5, 0, 1)
            for n in (2, 3, 4)}  # fmt: skip
    jumps = [b for b in curve.breaks if b.kind == "jump"]
    for n, e in hits.items():
        found = min(jumps, key=lambda b, e=e: abs(b.value - e))
        assert found.value == pytest.approx(e, abs=2e-5)
        speed = 9.81 * t1 * e**n  # before the bounce it falls with the speed that it left with
        assert (found.left, found.right) == pytest.approx((speed * e, -speed), rel=1e-3)
        (gap,) = np.flatnonzero(np.isnan(curve.psi) & (np.roll(curve.rho, 1) < e)
                                & (np.roll(curve.rho, -1) > e))  # fmt: skip
        assert np.isnan(curve.rho[gap])
    steps = np.abs(np.diff(curve.psi))
    assert np.nanmax(steps) < 1.0  # no line is drawn through a jump
    figure = ex.views.sensitivity(session.sensitivity, along=curve)
    assert any("jump at 0.6878" in str(t.text) for t in figure.data if t.text is not None)


def test_the_cost_has_a_kink_where_it_is_continuous():
    """The height at 1.5 s is 0 where a bounce falls on the end: continuous, with another slope."""
    session = SensitivitySession("bouncing_ball", wrt="e", t_end=1.5,
                                 **{"cost.w": "y", "cost.g": ""})  # fmt: skip
    breaks = cost_along(session.sensitivity, 0).breaks
    assert {b.kind for b in breaks} == {"kink"}
    assert all(abs(b.left) < 1e-3 for b in breaks)
