"""Every panel on every model, without a browser: each control moved, each action done."""

from __future__ import annotations

import csv
import io
import json
import re

import numpy as np
import plotly.graph_objects as go
import pytest
from hybrids import HYBRIDS
from kinds import FIRST, KINDS, SYSTEMS, alike, one_of_each, schemes_of
from loops import for_each
from seen import numbers

import explorer as ex
from explorer.models import models
from explorer.panels import Session, panels
from explorer.panels.live import plotly_bundle
from explorer.panels.sensitivity.state import offered
from explorer.parameters import knobs_of
from explorer.progress import show
from explorer.schemes import schemes
from explorer.views.drawing.polyline import PANEL

# 10 Mbit/s carry 26 of them a second, and 19 of those with jumps all over many plots
BUDGET, LARGER = 47_000, 64_000
LARGE = ("bouncing_dimer", "clock_escapement", "gear_rattle")
OF_MODELS = [name for name, panel in panels.items() if not panel.own_menu]
# every control of every model with its first scheme, and of each kind of run; sensitivities of each
# kind, but where a run with closed contacts takes too long
DIFFERENTIATED = [
    m for m in models if offered(m) and m not in ("column", "elastic_bar", "stick_slip")
]
SENSITIVITY = [("sensitivity", m, None) for m in one_of_each(DIFFERENTIATED, alike)]
TYPICAL = [("sensitivity", m, None) for m in ("bouncing_ball", "elastic_pendulum")]
EXPLORE = [(p, *c) for p in OF_MODELS if p != "sensitivity" for c in KINDS]
DRAWN = [
    *TYPICAL,
    *(
        (p, *c) for p in OF_MODELS if p != "sensitivity" for c in sorted({*FIRST, *KINDS})
        if c != ("portal_frame", "CentralDifference")  # a preset is stiffer than its steps allow
    ),
]  # fmt: skip
MOVED = [*dict.fromkeys([*SENSITIVITY, *DRAWN])]
# the model of each kind of system on which the knobs of a scheme are moved from end to end
KNOBS: dict = {}
for _, name, scheme in (*EXPLORE, *SENSITIVITY):
    KNOBS.setdefault((scheme, type(SYSTEMS[name])), name)
# both ends of the world for every control take a while: each kind of system with each scheme once
LONG = [
    c for c in (*TYPICAL, *EXPLORE)
    if c[2] == "MoreauJean" or c[1] == "bouncing_ball" or KNOBS[c[2], type(SYSTEMS[c[1]])] == c[1]
]  # fmt: skip


# of the schemes that record every step MoreauJean alone but on the ball; what is too long is not small
SMALL = [
    c
    for c in DRAWN
    if c[1] == "bouncing_ball"
    or c[2] not in ("CentralDifference", "SchatzmanPaoli", "NonsmoothGeneralizedAlpha")
]


class Wire:
    """Plays the browser: messages through the widget's own handler, answers kept."""

    def __init__(self, panel) -> None:
        self.panel, self.sent, self.seq, self.before = panel, [], 0, (0, [])
        panel.send = self.hear

    def hear(self, content, buffers=None) -> None:
        """Keep a message; what the frame before had too is put in again, as a browser does."""
        whole, again = [*(buffers or [])], dict(content.get("again", ()))
        if content["type"] == "frame":
            assert not again or content["number"] == self.before[0] + 1
            for i in sorted(again):
                whole.insert(i, self.before[1][again[i]])
            self.before = content["number"], whole
        self.sent.append((content, whole))

    def say(self, **content) -> list[tuple[dict, list]]:
        self.sent.clear()
        self.seq += 1
        self.panel._handle_custom_msg({"view": "v", "seq": self.seq, **content}, [])
        return list(self.sent)

    def hello(self) -> list[tuple[dict, list]]:
        return self.say(type="hello", plotly=plotly_bundle()[0])

    def pull(self, drag: bool = False, **values) -> tuple[dict, list]:
        return self.frame(self.say(type="pull", set=values, drag=drag))

    def do(self, action: str, value=None) -> tuple[dict, list]:
        return self.frame(self.say(type="do", action=action, value=value))

    def frame(self, messages) -> tuple[dict, list]:
        """The one frame among the messages, checked."""
        frames = [m for m in messages if m[0]["type"] == "frame"]
        assert len(frames) == 1, [m[0]["type"] for m in messages]
        content, buffers = frames[0]
        assert (content["view"], content["seq"]) == ("v", self.seq)
        check(content, buffers)
        return content, buffers

    def controls(self) -> dict[str, dict]:
        schema = next(c for c, _ in self.hello() if c["type"] == "schema")
        return {c["key"]: c for g in schema["groups"] for c in g["controls"]}


def opened(panel: str, model: str, scheme: str | None = None) -> Wire:
    return Wire(panels[panel](Session(HYBRIDS.get(model, model), scheme)))


def size(content: dict, buffers: list) -> int:
    return len(json.dumps(content)) + sum(map(len, buffers))


def check(content: dict, buffers: list) -> None:
    """A frame that a browser can draw: all numbers finite or a gap, all ranges proper."""
    json.dumps(content, allow_nan=False)
    assert content["status"]["text"]
    assert content["status"]["level"] in ("ok", "unchecked", "warn", "error", "busy")
    named = set()

    def walk(value):
        if isinstance(value, dict):
            if "buf" in value:
                named.add(value["buf"])
            for item in value.values():
                walk(item)
        elif isinstance(value, list):
            for item in value:
                walk(item)

    walk(content)
    assert named == set(range(len(buffers)))
    for trace in content["figure"]["data"]:
        if trace.get("type") == "heatmap":
            tall = len(numbers(trace["y"], buffers))
            assert len(trace["z"]) in (1, tall), "one row between two ends, or one for each y"
            wide = len(numbers(trace["x"], buffers))
            assert all(len(numbers(row, buffers)) == wide for row in trace["z"])
            continue
        x, y = (numbers(trace[k], buffers) for k in "xy")
        assert len(x) == len(y)
        assert not np.isinf([x, y]).any()
    for name, axis in content["figure"].get("layout", {}).items():
        if name[1:5] == "axis":
            low, high = axis["range"]
            assert low < high, name
    film = content["mechanism"]
    if film is not None:
        points = sum(item["n"] for item in film["items"])
        frames = len(buffers[film["t"]["buf"]]) // 4
        assert len(buffers[film["still"]["buf"]]) == 8 * points
        moving = numbers(film["moving"], buffers)
        assert len(buffers[film["xy"]["buf"]]) == 4 * len(moving) * frames
        assert film["box"][0] < film["box"][1]
        assert film["box"][2] < film["box"][3]
    for card in content.get("cards", ()):
        columns = len(card.get("columns", ()))
        assert all(len(row) == columns + 1 for row in card.get("rows", ()) if columns)
    table = content["table"]
    if table is not None:
        assert all(len(row) == len(table["columns"]) for row in table["rows"])


def trials(control: dict, span: float = 0.0) -> list:
    """Values to try: the ends and the middle of what is offered, and garbage.

    No step of a time span so small that there are more than a thousand.
    """
    if control["kind"] == "choice":
        return [c[0] for c in control["choices"]]
    if control["kind"] == "toggle":
        return [True, False]
    garbage = ["", "abc", "1,,5", "1e999", 0, -1]
    if control["kind"] == "text":
        return ["", "t", "t*(", "abc", "1/0", "__import__('os')", "lambda: 1"]
    if control["kind"] != "slider":
        return [control["default"] / 2, control["default"] + 0.25, "1/3", *garbage]
    low, high = control["low"], control["high"]
    middle = (low * high) ** 0.5 if control["log"] else (low + high) / 2
    ends = [max(low, 5e-4, span / 1000) if control["key"] == "knob.h" else low, high]
    middle = round(middle) if control["integer"] else middle
    return [*ends, middle, str(middle), *garbage]


def few(values: list, turn: int, key: str, case: tuple) -> list:
    """Both ends and, in turn, one of the others: all of them are tried on one model.

    Where a control has been moved on the same model before, with its first scheme or without
    sensitivities, or a knob on another model of the same kind, one value of every third will do.
    What is not a model's own (menus, times, knobs) is moved on one of each kind. Derivatives of a
    model of the largest size take long to compile: the least will do.
    """
    panel, model, scheme = case
    own = key.startswith(("rho.", "size.", "q0.", "v0.", "x0.", "mode0"))
    if panel == "sensitivity" and key.startswith("size."):
        values = values[:1]
    if not own and case not in EXPLORE and case not in SENSITIVITY:
        return []
    if model == "bouncing_ball" and (scheme in (None, "MoreauJean") or key.startswith("knob.")):
        return values
    shared = key == "model" or key.startswith("knob.")
    if panel == "sensitivity":
        again = case not in TYPICAL and not shared
    elif key.startswith("knob."):
        again = KNOBS[scheme, type(SYSTEMS[model])] != model
    else:
        again = scheme != schemes_of(model)[0]
    if again:
        return [] if (turn + [*SYSTEMS].index(model)) % 3 else values[turn % 2 :][:1]
    return [*values[:2], *values[2:][turn % max(len(values) - 2, 1) :][:1]]


@pytest.mark.broad
@pytest.mark.parametrize(("panel", "model", "scheme"), MOVED)
def test_every_control_moved_on_every_model(panel, model, scheme):
    wire = opened(panel, model, scheme)
    system, small = wire.panel.session.system, {}
    if (model, scheme) not in (("bouncing_ball", None), ("bouncing_ball", "MoreauJean")):
        small["t_end"] = min(max(system.t_end / 16, 10 * system.h), system.t_end)
        if system.discrete:
            small["t_end"] = max(round(system.t_end / 16), 1)
    controls = wire.controls()
    if panel == "sensitivity":  # whose pictures take 100 runs
        small |= {k: c["low"] + 1 for k, c in controls.items() if k.startswith("size.")}
    assert wire.pull(**small)[0]["errors"] == {}
    controls, span = wire.controls(), wire.panel.session.state["t_end"]
    knobs = [] if scheme is None else [f"knob.{k}" for k in knobs_of(schemes[scheme])]
    knobs = [k for k in knobs if k != "knob.picks"]  # is there where there is something to pick
    assert {"model", "scheme", "t_end", *knobs} <= set(controls)
    for turn, (key, control) in enumerate(controls.items()):
        start, values = control["value"], trials(control, span)
        if key == "model":  # every model is chosen below: to build and compile all takes long, too
            values = values[:1] if model == "bouncing_ball" or panel == "sensitivity" else []
        values = few(values, turn, key, (panel, model, scheme))
        for k, value in enumerate(values):
            content, _ = wire.pull(drag=bool(k % 2), **{key: value})
            refused = key in content["errors"]
            assert refused == (content["status"]["level"] == "error"), (key, value)
            if refused:
                assert content["values"][key] == value, "what was typed stays"
                assert len(content["errors"][key]) > 15
            elif not isinstance(value, str):
                assert content["values"][key] == pytest.approx(value), key
        if not values:
            continue
        content, _ = wire.pull(**{key: start})
        assert content["errors"] == {}, key
        if key in ("model", "scheme"):
            wire.do("reset")
            wire.pull(scheme=controls["scheme"]["value"], **small)
    assert wire.panel.session.solution.status.ok


@pytest.mark.broad
@pytest.mark.parametrize("model", sorted(models))
def test_every_model_of_the_menu_can_be_chosen(model):
    wire = opened("explore", "bouncing_ball", "MoreauJean")
    wire.pull(**{"rho.e": 0.5})
    for name in (model, "bouncing_ball"):
        content, _ = wire.pull(model=name)
        assert (content["errors"], content["values"]["model"]) == ({}, name)
        assert wire.panel.session.solution.status.ok


@pytest.mark.broad
@pytest.mark.parametrize(("panel", "model", "scheme"), LONG)
def test_astronomic_numbers_are_a_picture_or_a_sentence(panel, model, scheme):
    wire = opened(panel, model, scheme)
    failed = []
    for key, control in wire.controls().items():
        if control["kind"] not in ("slider", "number"):
            continue
        for value in (-1e300, 1e300):
            messages = wire.say(type="pull", set={key: value}, drag=False)
            content = next(c for c, _ in messages if c["type"] == "frame")
            if "figure" not in content:
                failed.append((key, value, content["status"]["text"]))
        wire.say(type="pull", set={key: control["value"]}, drag=False)
    assert failed == []
    assert wire.panel.session.solution.status.ok


def table_of(message: dict, run: ex.Solution) -> None:
    """Assert that a file holds every row of a run with all digits."""
    assert (message["name"], message["mime"]) == ("run.csv", "text/csv")
    header, *rows = csv.reader(io.StringIO(message["text"]))
    assert header[: 1 + run.q.shape[1]] == ["t", *run.system.coordinates]
    table = np.array(rows, float)
    np.testing.assert_array_equal(table[:, 0], run.t)
    np.testing.assert_array_equal(table[:, 1 : 1 + run.q.shape[1]], run.q)
    assert table.shape == (len(run.t), len(header))


@pytest.mark.broad
@pytest.mark.parametrize(("panel", "model", "scheme"), DRAWN)
def test_every_action_on_every_model(panel, model, scheme):
    """A picture of what records few enough rows is small, with a pinned run too."""
    wire = opened(panel, model, scheme)
    schema = next(c for c, _ in wire.hello() if c["type"] == "schema")
    controls = [c for g in schema["groups"] for c in g["controls"]]
    control = next(c for c in controls if c["key"].startswith("rho."))
    changed = {control["key"]: control["value"] * 1.001}
    sizes = {None: size(*wire.pull(**changed))}
    presets = schema["presets"]
    if scheme not in (None, schemes_of(model)[0]):  # with which each of them is applied
        turn = schemes_of(model).index(scheme) % max(len(presets), 1)
        presets = presets[turn:][:1]
    for preset in (None, *presets):
        if preset is not None:
            assert preset["text"]
            content, _ = wire.do("preset", preset["name"])
            assert content["status"]["level"] in ("ok", "warn")
        wire.do("unpin")
        wire.do("pin")  # the same curves, and those of the other run
        for drag in (True, False):
            sizes[preset and preset["name"], drag] = size(*wire.pull(drag, **changed))
    if (panel, model, scheme) in SMALL:
        assert max(sizes.values()) <= (LARGER if model in LARGE else BUDGET), sizes
    for action in ("pin", "undo", "redo", "reset", "undo", "unpin"):
        content, _ = wire.do(action)
        assert content["status"]["level"] in ("ok", "warn"), action
    kinds = {"copy_code": "clipboard", "copy_state": "clipboard", "export_csv": "file",
             "export_html": "file"}  # fmt: skip
    for action in schema["actions"]:
        if action["name"] in kinds:
            messages = wire.say(type="do", action=action["name"])
            assert [c["type"] for c, _ in messages] == [kinds[action["name"]]]
            if action["name"] == "export_csv" and (panel, model, scheme) in EXPLORE:
                table_of(messages[0][0], wire.panel.session.solution)
    state = wire.say(type="do", action="copy_state")[0][0]["text"]
    content, _ = wire.do("load_state", state)
    assert content["status"]["level"] in ("ok", "warn")


@for_each("panel", sorted(OF_MODELS))
def test_an_action_that_cannot_be_is_a_sentence_or_nothing(panel):
    wire = opened(panel, "bouncing_ball")
    before = wire.panel.session.state
    for action, value in [
        ("undo", None), ("redo", None), ("load_state", "{"), ("load_state", None),
        ("load_state", "[" * 100_000), ("preset", "nobody"), ("preset", None), ("dance", 1),
    ]:  # fmt: skip
        messages = wire.say(type="do", action=action, value=value)
        status = next(c for c, _ in messages if c["type"] == "frame")["status"]
        assert status["level"] == ("ok" if action in ("undo", "redo") else "error"), action
        assert wire.panel.session.state == before, action


@for_each("panel", sorted(OF_MODELS))
def test_a_message_that_makes_no_sense_harms_nothing(panel):
    wire = opened(panel, "bouncing_ball")
    for k, content in enumerate([
        {}, {"type": "pull"}, {"type": "pull", "set": None}, {"type": "pull", "set": []}, {"type": "do"},
        {"type": "pull", "set": {"nothing": 1}}, {"type": "pull", "set": {"rho.e": None}},
        {"type": "pull", "set": {"rho.e": [1]}}, {"type": "pull", "set": {"rho.e": {"a": 1}}},
    ]):  # fmt: skip
        wire.say(**content)
        e = 0.5 + 0.01 * k
        frame, _ = wire.pull(**{"rho.e": e})
        assert frame["status"]["level"] in ("ok", "warn"), content
        assert wire.panel.session.solution.rho["e"] == e, content


def test_the_layout_travels_only_when_it_changed():
    wire = opened("explore", "bouncing_ball")
    wire.hello()
    sent = ["layout" in wire.pull(True, **{"rho.e": e})[0]["figure"] for e in (0.79, 0.78, 0.77)]
    assert sent == [False, False, False]
    assert "layout" in wire.pull(**{"t_end": 3.0})[0]["figure"]
    assert "layout" not in wire.pull(**{"rho.e": 0.8})[0]["figure"]
    assert "layout" in wire.frame(wire.hello())[0]["figure"]


def test_the_schema_travels_only_when_it_changed():
    wire = opened("explore", "bouncing_ball")
    wire.hello()
    for values, expected in [({"rho.e": 0.5}, False), ({"rho.g": 50}, True), ({"rho.g": 9}, True),
                             ({"rho.e": "abc"}, False), ({"model": "column"}, True),
                             ({"size.n": 3}, True), ({"rho.e": 0.5}, False)]:  # fmt: skip
        kinds = [c["type"] for c, _ in wire.say(type="pull", set=values, drag=False)]
        assert ("schema" in kinds) == expected, values


def test_a_script_moves_the_picture_too():
    wire = opened("explore", "bouncing_ball")
    wire.hello()
    wire.sent.clear()
    wire.panel.session.set(e=0.25)
    assert [c["type"] for c, _ in wire.sent] == ["schema", "frame"]
    content, buffers = wire.sent[1]
    check(content, buffers)
    assert (content["view"], content["seq"]) == (None, None)
    assert content["values"]["rho.e"] == 0.25


def test_the_frame_holds_what_a_script_draws():
    wire = opened("explore", "column")
    content, buffers = wire.pull(**{"rho.e": 0.5})
    figure = ex.views.explore.picture(wire.panel.session.solution, look=PANEL)
    assert len(figure.data) == len(content["figure"]["data"])
    for drawn, trace in zip(content["figure"]["data"], figure.data, strict=True):
        for axis in "xy":
            sent = numbers(drawn[axis], buffers)
            there = np.asarray(trace[axis], np.float32)
            np.testing.assert_allclose(sent, there, atol=2e-5 * np.nanmax(np.abs(there)))


def test_the_html_is_a_page_of_its_own():
    wire = opened("explore", "bouncing_ball")
    wire.say(type="do", action="pin")
    wire.pull(**{"rho.e": 0.3})
    message = wire.say(type="do", action="export_html")[0][0]
    assert (message["name"], message["mime"]) == ("run.html", "text/html")
    page = message["text"]
    assert page.lower().lstrip().startswith(("<html", "<!doctype"))
    assert "pinned" in page
    assert "Plotly.newPlot" in page
    assert not re.search(r"<script[^>]+src=", page), "it shows without a network"


def test_static_pages_get_a_plain_figure(monkeypatch):
    monkeypatch.setenv("EXPLORER_STATIC", "1")
    figure = ex.explore("bouncing_ball", e=0.5)
    assert type(figure) is go.Figure
    assert figure.data[0].y[0] == 1
    monkeypatch.delenv("EXPLORER_STATIC")
    assert isinstance(ex.explore("bouncing_ball"), panels["explore"])


def test_explore_takes_settings_and_refuses_nonsense():
    panel = ex.explore("bouncing_ball", "MoreauJean", e=0.5, h=0.01, t_end=2)
    assert (panel.session.solution.rho["e"], panel.session.scheme.h) == (0.5, 0.01)
    for model, settings in [("bouncing_bal", {}), (3, {}), ("bouncing_ball", {"e": 2}),
                            ("bouncing_ball", {"nothing": 2})]:  # fmt: skip
        with pytest.raises(ex.ExplorerError) as refusal:
            ex.explore(model, **settings)
        assert len(str(refusal.value)) > 15


def test_two_panels_share_nothing():
    one, other = opened("explore", "bouncing_ball"), opened("explore", "bouncing_ball")
    other.hello()
    before = json.dumps(other.panel.session.state), other.panel.session.solution
    presets = json.dumps(ex.models.bouncing_ball().presets)
    first, _ = other.pull(**{"rho.e": 0.8})
    one.pull(**{"rho.e": 0.3, "knob.h": 0.01})
    one.pull(**{"q0.y": 1.5})
    one.pull(**{"rho.g": "abc"})
    one.do("pin")
    one.do("preset", "clay")
    one.pull(model="column")
    assert (json.dumps(other.panel.session.state), other.panel.session.solution) == before
    again, _ = other.pull(**{"rho.e": 0.8})
    for key in ("values", "errors", "undo", "redo", "pinned", "table"):
        assert again[key] == first[key]
    assert json.dumps(ex.models.bouncing_ball().presets) == presets


def test_an_own_model_that_fails_while_open_keeps_its_picture():
    model = ex.MechanicalSystem(
        "root", q="y", params={"a": ex.Param(2, 0.1, 3)}, force=["-sqrt(a - y)"], start={"q": [1]}
    )
    wire = opened("explore", model)
    good = wire.panel.session.solution
    content, _ = wire.pull(**{"rho.a": 0.5})
    assert content["status"]["level"] == "error"
    assert content["values"]["rho.a"] == 0.5
    assert wire.panel.session.solution is good
    content, _ = wire.pull(**{"rho.a": 3})
    assert content["status"]["level"] == "ok"


def test_gestures_that_fell_together_stay_two_steps_of_undo():
    wire = opened("explore", "bouncing_ball")
    first = wire.controls()["rho.e"]["value"]
    messages = wire.say(type="pull", ended={"rho.e": 0.5}, set={"rho.e": 0.6}, drag=True)
    assert wire.frame(messages)[0]["values"]["rho.e"] == 0.6
    wire.pull(False, **{"rho.e": 0.7})
    assert wire.do("undo")[0]["values"]["rho.e"] == 0.5
    assert wire.do("undo")[0]["values"]["rho.e"] == first


def test_a_wait_is_shown_where_the_question_came_from(monkeypatch):
    wire = opened("explore", "bouncing_ball")
    wire.pull(**{"rho.e": 0.6})  # from here on nothing is compiled
    change = wire.panel.session.change

    def slow(*args, **kwargs):
        show(1, 4, "march", "Compiling")
        return change(*args, **kwargs)

    monkeypatch.setattr(wire.panel.session, "change", slow)
    (busy, _), (frame, _) = wire.say(type="pull", set={"rho.e": 0.5}, drag=False)
    assert busy == {"type": "busy", "text": "Compiling: march", "done": 1, "total": 4}
    assert frame["status"]["level"] == "ok"


def test_the_status_line_of_a_located_run():
    wire = opened("explore", "bouncing_ball", "EventDriven")
    text = wire.pull(**{"rho.e": 0.5})[0]["status"]["text"]
    run = wire.panel.session.solution
    assert re.match(r"\d+ steps, \d+ events, [\d\u202f]+ right-hand sides in [\d.]+ ms · ", text)
    assert f"{len(run.events)} events" in text
    assert "grazing margin: smallest |dr/dt|" in text
    assert "LCP" not in text
    assert "LCP" in wire.pull(scheme="MoreauJean")[0]["status"]["text"]


def test_the_controls_of_a_hybrid_system():
    wire = opened("explore", "heater")
    controls = wire.controls()
    assert {"rho.a", "x0.T", "mode0", "knob.rtol", "knob.atol", "knob.method"} <= set(controls)
    assert not [key for key in controls if key.startswith(("q0.", "v0."))]
    assert controls["mode0"]["choices"] == [["on", "on"], ["off", "off"]]
    assert controls["knob.rtol"]["log"]
    assert "mode0" not in opened("explore", "clock").controls()
    content, _ = wire.pull(mode0="off", **{"x0.T": 20.5})
    run = wire.panel.session.solution
    assert (run.mode[0], run.x[0]) == (1, 20.5)
    assert content["table"]["columns"] == ["t (s)", "event", "mode", "dr/dt"]
    assert content["table"]["rows"][0][1:3] == ["too cold", "off → on"]


def test_an_accumulation_is_listed_with_its_kind():
    rows = opened("explore", "ball_with_reset").pull(**{"rho.e": 0.2})[0]["table"]["rows"]
    assert (rows[0][1:3], rows[-1][1:3]) == (["floor", "flight"], ["zeno floor", "flight → rest"])
    rows = opened("explore", "bouncing_ball", "EventDriven").pull(**{"rho.e": 0.2})[0]["table"][
        "rows"
    ]
    assert (rows[0][1], rows[-1][1]) == ("impact", "zeno")


def test_a_panel_says_which_model_it_shows():
    assert repr(ex.explore("bouncing_ball")) == "ExplorePanel of 'bouncing ball'"
