"""Orbit diagrams: what is asked of the runs, in which order they go, and which points are drawn."""

from __future__ import annotations

import importlib
import inspect

import numpy as np
import pytest
from loops import for_each
from plain import put, space
from test_study_branches import bare

import explorer as ex
from explorer.errors import BadValue
from explorer.study import OrbitDiagram, Section
from explorer.study.over import Axes

module = importlib.import_module("explorer.study.orbit_diagram")  # the package holds the function


def branch(values, points, ok):
    """Return a sweep over p with points (k, most) of x and of 10 x."""
    points = np.array(points)
    return space(
        points=np.stack([points, 10 * points], axis=2), axes={"p": np.array(values)},
        place=["x", "y"].index, states=["x", "y"], ok=np.array(ok),
        question=space(axes=space(axes=[space(label="p")])), system=space(name="m"),
    )  # fmt: skip


def test_the_points_of_a_diagram_are_those_of_all_its_branches():
    up = branch([1.0, 2.0], [[5.0, np.nan, np.nan], [6.0, 7.0, np.nan]], [True, False])
    down = branch([3.0], [[8.0, 9.0]], [True])
    found = OrbitDiagram({"up": up, "down": down}, 2.0)
    assert [x.tolist() for x in found.dots("x")] == [[1, 2, 2, 3, 3], [5, 6, 7, 8, 9]]
    assert [x.tolist() for x in found.dots("y", "down")] == [[3, 3], [80, 90]]
    assert found.first is up
    assert found.by == "p"
    assert repr(found) == "OrbitDiagram of 'm' over p, up, down: 5 points; 2 of 3 runs have numbers"
    with pytest.raises(BadValue, match="no branch 'none'"):
        found.dots("x", "none")


def asked_of(monkeypatch, system, **given):
    """Return the question of a diagram, the ways it goes, and how many cores it takes."""
    told = {}

    def diagram(question, ways, stop, progress):
        told.update(question=question, ways=ways, stop=stop, progress=progress)
        return "diagram"

    study = inspect.unwrap(ex.study.orbit_diagram)
    put(monkeypatch, study, _diagram=diagram, _warned=lambda found: found, cores=lambda: 7,
        check_size=lambda question, workers: told.update(workers=workers),
        _check_periods=lambda question, section: told.update(section=section))  # fmt: skip
    assert study(system, **given) == "diagram"
    return told


@for_each(
    ("given", "end", "transient", "most"),
    [
        ({}, "300", 200, 100),
        ({"transient": 0, "points": 1}, "1", 0, 1),
        ({"transient": 30, "points": 8}, "38", 30, 8),
        ({"phase": 0.25, "transient": 30, "points": 8}, "39", 30, 8),
    ],
)
def test_points_at_a_period_are_counted_behind_the_transient(
    monkeypatch, given, end, transient, most
):
    """With a phase the last of them lies in one period more."""
    section = Section(period="2*pi/omega", phase=given.pop("phase", 0.0))
    told = asked_of(monkeypatch, ex.models.impact_oscillator(), over={"omega": [2.0, 1.0]},
                    section=section, stop="stop", progress=False, s=0.5, **given)  # fmt: skip
    question = told["question"]
    assert (question.t_end, question.transient) == (
        f"{end} * (2*pi/omega)", f"{transient} * (2*pi/omega)",
    )  # fmt: skip
    assert question.section.most == told["section"].most == most
    assert (told["ways"], told["workers"]) == (("up",), 1)
    assert (told["stop"], told["progress"]) == ("stop", False)
    assert question.rho[[*question.system.parameters].index("s")] == 0.5


@for_each(
    ("continuation", "ways", "workers"),
    [("up", ("up",), 1), ("down", ("down",), 1), ("both", ("up", "down"), 7), ("none", ("none",), 7)],
)  # fmt: skip
def test_at_events_a_run_has_its_own_end(monkeypatch, continuation, ways, workers):
    system = ex.models.impact_oscillator()
    told = asked_of(monkeypatch, system, over={"omega": [2.0]}, section=Section(event="stop"),
                    transient=3.5, continuation=continuation)  # fmt: skip
    assert (told["question"].t_end, told["question"].transient) == (system.t_end, 3.5)
    assert (told["ways"], told["workers"]) == (ways, workers)
    told = asked_of(monkeypatch, system, over={"omega": [2.0]}, section=Section(event="stop"),
                    transient="1/omega", t_end="9/omega", points=5)  # fmt: skip
    assert (told["question"].t_end, told["question"].transient) == ("9/omega", "1/omega")
    assert told["section"].most == 5


def test_of_a_map_all_iterates_are_points(monkeypatch):
    told = asked_of(monkeypatch, ex.models.tent_map(), over={"mu": [1.5]}, transient=3, points=2)
    assert told["section"] == Section(period=1, most=2)
    assert (told["question"].t_end, told["question"].transient) == ("5 * (1)", "3 * (1)")


STROBE = Section(period="2*pi/omega")


@for_each(("given", "told"), [
    ({"section": None}, "must be a Section"), ({"section": "stop"}, "must be a Section"), ({"continuation": "left"}, "must be one of up, down, both, none"), ({"points": 0}, "points = 0"),
    ({"points": 1.5}, "points = 1.5"), ({"transient": -1}, "transient = -1"), ({"t_end": 3.0}, "t_end follows from transient"),
    ({"over": {"omega": [1.0], "s": [0.0]}}, "over one parameter"), ({"over": {("omega", "s"): [[1.0, 0.0]]}}, "over one parameter"),
])  # fmt: skip
def test_what_makes_no_diagram_is_refused(monkeypatch, given, told):
    asked = {"over": {"omega": [1.0]}, "section": STROBE} | given
    with pytest.raises(BadValue, match=told):
        asked_of(monkeypatch, ex.models.impact_oscillator(), **asked)


def test_a_map_takes_no_section():
    with pytest.raises(BadValue, match="is a map, and a section is of a flow"):
        module._section(ex.models.tent_map(), Section(period=1))


@for_each(("way", "values"), [("up", [1.0, 2.0, 3.0]), ("down", [3.0, 2.0, 1.0])])
def test_values_that_are_followed_rise_or_fall(monkeypatch, way, values):
    section = Section(event="stop")
    told = asked_of(monkeypatch, ex.models.impact_oscillator(), over={"omega": [2.0, 3.0, 1.0]},
                    section=section)  # fmt: skip
    question = told["question"]
    found = module._followed(question, way)
    (axis,) = found.axes.axes
    assert axis.values.tolist() == [[x] for x in values]
    assert axis.names == ("omega",)
    assert found.chained
    assert not question.chained
    assert isinstance(found.axes, Axes)
    assert found.axes.places == question.axes.places
    assert axis.values.flags.c_contiguous


def test_periods_are_checked_at_all_values(monkeypatch):
    checked = []
    put(monkeypatch, module._check_periods,
        check_period=lambda system, period, values: checked.append((period, values)))  # fmt: skip
    members = space(rho=np.array([[1.0, 5.0], [2.0, 5.0]]), period=np.array([0.5, 0.25]))
    question = space(system=space(parameters={"a": 0, "b": 0}), axes=space(size=2),
                     members=lambda first, last: members if (first, last) == (0, 2) else None)  # fmt: skip
    module._check_periods(question, Section(event="e"))
    assert checked == []
    module._check_periods(question, Section(period=1))
    assert checked == [(0.5, {"a": 1.0, "b": 5.0}), (0.25, {"a": 2.0, "b": 5.0})]


@for_each("ways", [("none",), ("up",), ("up", "down")])
def test_both_ways_run_at_one_time_and_one_of_them_tells_its_progress(monkeypatch, ways):
    """The first value is run once before, which compiles; without ways all run apart."""
    told, clock = [], iter([3.0, 5.5])

    def followed(question, way):
        return space(way=way, run=lambda *span: told.append(("first", way, span)))

    put(
        monkeypatch, module._diagram, _followed=followed, cores=lambda: 2,
        run_parts=lambda question, progress, stop: ("parts", question, progress, stop),
        Sweep=lambda question, found: (question, found),
        _branch=lambda one, pool, progress, stop: (one.way, progress, stop),
        time=space(perf_counter=lambda: next(clock)),
    )  # fmt: skip
    found = module._diagram("question", ways, "stop", True)
    assert found.seconds == 2.5
    assert [*found.branches] == [*ways]
    if ways == ("none",):
        assert found.branches["none"] == ("question", ("parts", "question", True, "stop"))
        return
    assert told == [("first", "up", (0, 1))]
    assert [*found.branches.values()] == [(way, k == 0, "stop") for k, way in enumerate(ways)]


def test_branches_are_known_by_their_sweeps():
    one = bare(OrbitDiagram, branches={"down": "first", "up": "second"})
    assert one.first == "first"
