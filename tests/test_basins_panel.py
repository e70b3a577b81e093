"""Basins that sharpen: the closed form, numbers that stay, two parameters, the image, the panel."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from test_basins import relay, right
from test_orbits import decoded
from test_panels import Wire, check

import explorer as ex
from explorer.models import models
from explorer.panels import panels
from explorer.panels.basins.state import BEGINS, NOT_OFFERED, BasinsSession, axes_of
from explorer.study import Section
from explorer.study.basin_map import ESCAPES, FAILED, REFUSED, UNDECIDED, UNTOLD
from explorer.study.refine import UNKNOWN, Grid
from explorer.views.drawing.raster import cells
from explorer.views.drawing.still import still

TWO = {"omega": 2.6, "s": 0.0}  # two attractors, of period 1 and of period 6
BOX = {"x0.x": (-2.03, 1.97), "x0.v": (-4.1, 4.3)}
SINKS = {"section": Section(period=1.0), "periods": 40, "shape": (23, 19)}


@pytest.fixture(scope="module")
def steps():
    """Return all that is seen of the basins of the two sinks, and their last grid."""
    return [*ex.study.FinerBasins(relay(), "EventDriven", over=BOX, **SINKS)]


# -- the study ------------------------------------------------------------------------------------


def test_the_finest_map_is_the_closed_form_and_nothing_is_filled(steps):
    found = steps[-1]
    assert found.computed.all()
    plus = max((0, 1), key=lambda k: found.attractors[k].points[0, 0])
    x, v = np.meshgrid(*found.axes.values(), indexing="ij")
    assert np.array_equal(found.label, np.where(right(x, v), plus, 1 - plus))
    part, error = found.fractions[plus]
    assert error == pytest.approx(np.sqrt(part * (1 - part) / found.label.size))


def test_a_map_becomes_finer_and_its_attractors_stay(steps):
    assert len(steps) >= 4
    for before, after in itertools.pairwise(steps):
        assert (before.computed <= after.computed).all()
        assert after.attractors[: len(before.attractors)] == before.attractors
        known = before.computed & (before.label != UNDECIDED)
        assert np.array_equal(before.label[known], after.label[known])
    coarse = next(one for one in steps if (one.label >= 0).all())
    assert not coarse.computed.all()
    part, error = coarse.fractions[0]  # what is filled is no run
    assert error == pytest.approx(np.sqrt(part * (1 - part) / coarse.computed.sum()))


def test_the_first_picture_that_knows_something_is_complete():
    """Few starts are run until then; the others are as the nearest of them, and say so."""
    asked = ex.study.FinerBasins(relay(), "EventDriven", over=BOX, **SINKS)
    first = next(one for one in asked if one.computed.any() and len(one.attractors))
    assert (first.label != UNTOLD).all()
    assert not first.computed.all()
    grid = Grid((2, 3))
    labels = np.array([[7, UNKNOWN, UNKNOWN], [UNKNOWN, UNKNOWN, 4]])
    assert grid.filled(labels).tolist()[0][0] == 7
    assert set(grid.filled(labels).ravel().tolist()) == {4, 7}
    assert grid.filled(labels)[1, 1] == 4
    nothing = np.full((2, 3), UNKNOWN)
    assert (grid.filled(nothing) == UNKNOWN).all()


def test_it_can_be_stopped():
    asked = ex.study.FinerBasins(relay(), "EventDriven", over=BOX, **SINKS)
    assert not asked.whole(lambda: True).computed.any()


def test_states_that_do_not_vary_begin_where_they_are_told():
    asked = ex.study.FinerBasins(
        ex.models.impact_oscillator(),
        over={"q0.x": (-2, -1), "x0.v_x": (0, 1)},
        shape=(3, 2),
        **TWO,
    )
    assert asked.whole().shape == (3, 2)
    system = ex.MechanicalSystem("two", q="a b", mass=[[1, 0], [0, 1]])
    system.force = ["-a - v_a + 0.01*sin(t)", "b - b**3 - v_b"]
    system.start(q=[0.1, 0.1], t_end=20)
    for b, sink in ((0.5, 1), (-0.5, -1)):
        found = ex.study.FinerBasins(
            system, over={"q0.a": (-1, 1), "v0.a": (-1, 1)}, shape=(2, 2), start=[0, b, 0, 0]
        ).whole()
        assert found.attractors[0].points[0, 1] == pytest.approx(sink, abs=1e-4)
        assert (found.label == 0).all()
        ex.views.basins(found)


def test_over_two_parameters_the_number_tells_the_period():
    """The period of each point is that of a column of the orbit diagram that begins there."""
    system = ex.models.impact_oscillator()
    asked = ex.study.FinerBasins(
        system, over={"omega": (2.5, 3.1), "e": (0.78, 0.8)}, shape=(7, 2), s=0
    )
    found = asked.whole()
    diagram = ex.study.Sharpening(
        system, over={"omega": (2.5, 3.1)}, columns=7, points=30, transient=200, follow="none", s=0
    ).whole()
    periods = np.array([one.period for one in found.attractors])[found.label[:, 1]]
    assert found.by_period
    assert len({*periods.tolist()}) > 2
    short = (diagram.period >= 1) & (diagram.period <= 6)
    assert np.array_equal(periods[short], diagram.period[short])
    assert not ((periods[~short] >= 1) & (periods[~short] <= 6)).any()
    assert asked.label((2.5, 0.8)) == found.label[0, 1]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"over": {"q0.x": (-1, 0)}}, "two starts or two parameters"),
        ({"over": {"q0.x": (-1, 0), "omega": (1, 2)}}, "one is a start and one is a parameter"),
        ({"over": {"q0.x": (0, -1), "v0.x": (1, 2)}}, "is no range"),
        ({"over": {"q0.x": 1, "v0.x": (1, 2)}}, "needs two numbers"),
        ({"over": {"q0.y": (0, 1), "v0.x": (1, 2)}}, "q0.x"),
        ({"over": {"q0.x": (-1, 0), "x0.x": (-1, 0)}}, "twice"),
        ({"shape": (1, 4)}, "whole numbers of at least 2"),
        ({"periods": 3}, "at least 12"),
        ({"start": [1.0]}, "start needs 2 numbers"),
        ({"section": ex.study.Section(event="stop")}, "depends on t"),
    ],
)
def test_what_cannot_be_is_a_sentence(given, said):
    asked = {"over": {"q0.x": (-1, 0), "v0.x": (-1, 1)}, **given}
    with pytest.raises(ex.ExplorerError, match=said):
        ex.study.FinerBasins(ex.models.impact_oscillator(), **asked)


def test_a_grid_spreads_what_is_known_to_the_nearest_point():
    grid = Grid((9,))
    grid.put(grid.coarse(2), np.array([0, 1, 1]))
    assert grid.spread(2).tolist() == [0, 0, 0, 1, 1, 1, 1, 1, 1]
    assert grid.computed.nonzero()[0].tolist() == [0, 4, 8]


# -- the picture ----------------------------------------------------------------------------------


def test_the_image_has_the_colour_of_each_cell_and_patterns(steps):
    image, palette = decoded(cells(np.array([[0, -1], [1, 1]]), ("#102030", "#405060")))
    assert (image[0, 1], image[1, 0], image[1, 1]) == (0, image[1, 1], image[1, 0])
    assert palette[3 * image[0, 0] :][:3] == bytes.fromhex("102030")
    found = steps[-1]
    whole = ex.views.basins.picture(found)
    (shown,) = whole.layout["images"]
    x, y = found.axes.values()
    assert shown["x"] == pytest.approx(x[0] - 0.5 * (x[1] - x[0]))
    assert shown["y"] == pytest.approx(y[-1] + 0.5 * (y[1] - y[0]))
    assert "<image" in still(whole.figure())
    odd = found.label.copy()
    odd[0, :4] = [ESCAPES, UNDECIDED, FAILED, REFUSED]
    odd = type(found)(**{**vars(found), "label": odd})
    names = [t["name"] for t in ex.views.basins.picture(odd).data if t.get("showlegend")]
    for word in ("escaped", "undecided", "failed", "no start"):
        assert any(name.startswith(word) for name in names)


# -- the panel ------------------------------------------------------------------------------------


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(BasinsSession, "shape", (10, 8))
    monkeypatch.setattr(BasinsSession, "shape_parameters", (4, 3))


def opened(model="impact_oscillator", *axes, **settings) -> Wire:
    wire = Wire(panels["basins"](BasinsSession(model, *axes, **settings)))
    wire.panel.session.news = lambda: None  # one picture for each question
    return wire


@pytest.fixture
def wire(few):
    return opened(**TWO)


def of(wire: Wire) -> dict:
    return wire.panel.session.state["see"]


def test_a_box_in_the_map_is_its_next_window_and_undo_goes_back(wire):
    content, _ = wire.frame(wire.hello())
    uirevision = content["figure"]["layout"]["uirevision"]
    ranges = {"xaxis": [-1.5, -2.5], "yaxis": [-1, 1]}
    wire.say(type="look", look={"of": uirevision, "size": [640, 490], "ranges": ranges})
    assert [of(wire)[k] for k in ("left", "right", "bottom", "top")] == [-2.5, -1.5, -1, 1]
    wire.do("undo")
    assert (of(wire)["left"], of(wire)["bottom"]) == (-3.5, -2.0)


def test_a_click_runs_that_start_and_says_what_it_comes_to(wire):
    session = wire.panel.session
    found = session.diagram()
    index = next(k for k in zip(*np.nonzero(found.label == 1), strict=True))
    at = [float(axis.values[i, 0]) for axis, i in zip(found.over, index, strict=True)]
    before = session._worker[1]
    content, _ = wire.pull(**{"see.at_x": at[0], "see.at_y": at[1]})
    assert content["errors"] == {}
    assert session._worker[1] is before  # the same map
    assert (session.solution.q[0, 0], session.solution.v[0, 0]) == tuple(at)
    assert session.number() == 1
    period = found.attractors[1].period
    assert f"comes to attractor 1 (period {period})" in content["status"]["text"]
    assert content["status"]["level"] == "ok"
    assert "all decided" in content["status"]["text"]
    assert "not admissible starts" in content["status"]["text"]  # those behind the stop


def test_what_is_undecided_is_said_and_never_green(monkeypatch):
    monkeypatch.setattr(BasinsSession, "shape", (3, 2))
    wire = opened("impact_oscillator", s=3.0, f=0.5, c=0.0, right=0.0, until=40)
    wire.panel.session.diagram()
    content, _ = wire.pull()
    assert content["status"]["level"] == "warn"
    assert "undecided" in content["status"]["text"]


def test_a_map_on_its_way_is_not_green(wire, monkeypatch):
    session = wire.panel.session
    found = session.diagram()
    coarse = found.computed.copy()
    coarse[3:] = False
    half = type(found)(**{**vars(found), "computed": coarse})
    monkeypatch.setattr(session, "diagram", lambda wait=None: half)
    content, _ = wire.pull()
    assert content["status"]["level"] == "unchecked"
    assert "24 of 80 starts computed, the others show the result" in content["status"]["text"]


def test_the_code_makes_the_same_map(wire):
    wire.pull(**{"rho.e": 0.75})
    wire.pull(**{"q0.x": -1.2})
    scope: dict = {}
    exec(wire.panel.session.code().replace("finer.whole()", "(found := finer.whole())"), scope)
    mine = wire.panel.session.diagram()
    assert np.array_equal(scope["found"].label, mine.label)
    lines = wire.panel.session.to_csv().splitlines()
    assert len(lines) == 1 + mine.label.size
    assert lines[0] == "q0.x,v0.x,status,number,period"
    k = int(mine.label[5, 0])
    assert lines[1 + 5 * 8].endswith(f",attracted,{k},{mine.attractors[k].period}")


def test_a_state_goes_through_json_and_a_hostile_one_is_refused(wire):
    session = wire.panel.session
    wire.pull(**{"see.at_x": -2.0, "see.at_y": 0.5})
    text = session.to_json()
    other = BasinsSession()
    other.load_state(text)
    assert other.state == session.state
    for bad in (
        {"x": "__class__"},
        {"left": 9},
        {"at_x": "x"},
        {"at_x": [1]},
        {"until": 1e12},
        {"until": 12.5},
        {"until": float("nan")},
        {"bottom": None},
    ):
        given = json.loads(text)
        given["see"] |= bad
        with pytest.raises(ex.BadValue):
            other.load_state(json.dumps(given))
        assert other.state == session.state


def test_what_is_refused_stays_typed_and_the_picture_stays(wire):
    content, _ = wire.pull(**{"see.left": 99})
    assert "is no range" in content["errors"]["see.left"]
    assert of(wire)["left"] == -3.5
    assert content["status"]["level"] == "error"


def test_another_axis_has_its_own_window_and_a_fitting_other_one(few):
    wire = opened(**TWO)
    content, _ = wire.pull(**{"see.y": "q0.x"})  # they change places
    assert content["errors"] == {}
    assert (of(wire)["x"], of(wire)["y"]) == ("v0.x", "q0.x")
    content, _ = wire.pull(**{"see.x": "omega"})
    assert content["errors"] == {}
    other = of(wire)["y"]
    assert other != "omega"
    p = wire.panel.session.system.parameters
    assert (of(wire)["left"], of(wire)["bottom"]) == (p["omega"].low, p[other].low)
    wire.panel.session.diagram()
    content, _ = wire.pull()
    assert "12 points computed" in content["status"]["text"]


def test_an_old_map_is_dropped_when_the_question_changes(wire):
    session = wire.panel.session
    session.diagram(0.0)
    first = session._worker[1]
    wire.pull(**{"rho.e": 0.7})
    assert first._stopped.is_set()
    assert session._worker[1] is not first
    wire.panel.close()
    assert session._worker is None


@pytest.mark.parametrize(
    "model", ["bouncing_ball", "duffing", "thermostat", "simplest_walker", "border_collision_plane"]
)
def test_it_opens_on_other_kinds_of_system(model, monkeypatch):
    monkeypatch.setattr(BasinsSession, "shape", (3, 2))
    monkeypatch.setattr(BasinsSession, "shape_parameters", (3, 2))
    wire = opened(model)
    assert of(wire)["x"] in axes_of(wire.panel.session.system)[0]
    check(*wire.frame(wire.hello()))
    assert {"see.x", "see.left", "see.until"} <= set(wire.controls())


@pytest.mark.parametrize("model", sorted(BEGINS))
def test_it_begins_where_something_attracts(model):
    asked = BasinsSession(model)
    system = models[model]()
    assert all(system.parameters[k].value != x for k, x in BEGINS[model].items())
    seen = iter([False] * 400)
    for found in asked._asking(asked.states, asked.state).steps(lambda: next(seen, True)):
        if found.computed.any() and found.attractors:
            break
    assert (found.label >= 0).any()


def test_what_is_not_offered_is_said(few):
    wire = opened(**TWO)
    wire.hello()
    menu = wire.controls()["model"]
    assert not {name for name, _ in menu["choices"]} & {*NOT_OFFERED}
    for name, why in NOT_OFFERED.items():
        assert name in models
        assert f"{name.replace('_', ' ')} ({why})" in menu["text"]


def test_a_static_page_has_the_figure(few, monkeypatch):
    monkeypatch.setenv("EXPLORER_STATIC", "1")
    figure = ex.explore_basins(**TWO)
    assert "attractor 0" in str([trace.name for trace in figure.data])


def test_a_model_without_a_section_is_refused():
    with pytest.raises(ex.BadValue, match="Give a section"):
        ex.explore_basins("pendulum")
    with pytest.raises(ex.BadValue, match=r"no start or parameter 'q0\.z'"):
        ex.explore_basins("impact_oscillator", "q0.z")
