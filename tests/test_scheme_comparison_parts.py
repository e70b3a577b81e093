"""What schemes are compared with, and which of them are, by runs that stand in for theirs."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest
from loops import for_each
from plain import put, space
from test_work_precision_parts import system_of, truth

import explorer as ex
from explorer.errors import BadValue, ExplorerError, LessonWarning
from explorer.schemes.event_driven import EventDriven
from explorer.schemes.fesd import FESD
from explorer.study import scheme_comparison as comparing


@for_each(
    ("event", "fesd", "step", "told"),
    [
        (True, True, True, ["tight", "exact", "fesd", "fine", "first"]),
        (False, True, False, ["exact", "fesd", "first"]),
        (False, False, True, ["exact", "fine", "first"]),
    ],
)
def test_references_are_tried_the_best_one_first(monkeypatch, event, fesd, step, told):
    monkeypatch.setattr(EventDriven, "fits", lambda system: event)
    monkeypatch.setattr(FESD, "fits", lambda system: fesd)
    monkeypatch.setattr(FESD, "usual_step", lambda system: 0.25)
    first = ex.MoreauJean(h=0.5) if step else EventDriven()
    monkeypatch.setattr(type(first), "usual_step", lambda self, system: 0.5, raising=False)
    found = [*comparing._references("system", first)]
    names = {id(first): "first", id(comparing._TIGHT): "tight"}
    kinds = [
        names.get(id(one)) or (one if isinstance(one, str) else "fesd" if isinstance(one, FESD) else "fine")
        for one in found
    ]  # fmt: skip
    assert kinds == told
    for one, kind in zip(found, kinds, strict=True):
        if kind == "fine":
            assert one.h == 0.5 / 32
        if kind == "fesd":
            assert (one.stages, one.h) == (4, 0.25)


def test_schemes_are_named_by_their_class_or_by_all_their_options():
    a, b, c = ex.MoreauJean(h=0.5), EventDriven(), ex.MoreauJean(h=0.25)
    assert [*comparing._titles([a, b])] == [("MoreauJean", a), ("EventDriven", b)]
    assert [*comparing._titles([a, b, c])] == [(repr(a), a), ("EventDriven", b), (repr(c), c)]


def test_a_step_holds_for_schemes_that_take_one(monkeypatch):
    put(monkeypatch, comparing._named, choose=lambda system, one: one)
    system = space(name="m", time_unit="s")
    a, b = ex.MoreauJean(h=0.5, theta=0.75), EventDriven()
    assert comparing._named(system, {"x": a, "y": b}, None) == {"x": a, "y": b}
    named = comparing._named(system, [a, b], 0.125)
    assert (named["MoreauJean"].h, named["MoreauJean"].theta) == (0.125, 0.75)
    assert named["EventDriven"] is b
    assert comparing._named(system, a, None) == {"MoreauJean": a}
    with pytest.raises(BadValue, match="no scheme accepts 'm'"):
        comparing._named(system, [], 0.5)


@for_each(
    ("reference", "told"),
    [
        (None, ["tight", "run"]),
        ("exact", "has no closed form with these"),
        ("fails", "it stops"),
        ("good", ["good", "run"]),
    ],
)
def test_the_first_reference_that_is_to_be_had_is_taken(monkeypatch, reference, told):
    tried = []

    def run(system, scheme, asked):
        tried.append(scheme)
        return "it stops" if scheme == "fails" else space(scheme=scheme)

    put(monkeypatch, comparing._truth, _run=run, choose=lambda system, one: one,
        _closed=lambda system, asked: None, sampled=lambda run: ("sampled", run.scheme),
        _references=lambda system, first: ["exact", "fails", "tight", first])  # fmt: skip
    given = (space(name="m"), reference, "first", {})
    if isinstance(told, str):
        with pytest.raises(BadValue, match=told):
            comparing._truth(*given)
        return
    words, found, best = comparing._truth(*given)
    assert (words, found, best.scheme) == (repr(told[0]), ("sampled", told[0]), told[0])
    assert tried == (["fails", "tight"] if reference is None else ["good"])
    put(monkeypatch, comparing._truth, _closed=lambda system, asked: truth)
    assert comparing._truth(space(name="m"), "exact", "first", {}) == ("its closed form", truth, None)  # fmt: skip


@for_each("key", ["q", "x"])
def test_a_closed_form_holds_for_finite_numbers_and_the_usual_start(key):
    asked = []

    def exact(t, rho):
        asked.append((t.tolist(), rho))
        return {key: np.where(t[:, None] <= 3.0, truth(t), np.nan)}

    system = system_of(exact)
    told = {"rho": {"a": 7.0}, "t_end": 3.0}
    found = comparing._closed(system, told)
    assert asked == [([0.0, 0.75, 1.5, 2.25, 3.0], {"a": 7.0, "b": 2.0})]
    t = np.array([0.5])
    assert found(t).tolist() == truth(t).tolist()
    assert comparing._closed(system, told | {"t_end": 3.1}) is None
    assert comparing._closed(system_of(), told) is None
    for start in ("q0", "v0", "x0", "mode0", "u"):
        assert comparing._closed(system, told | {start: 1}) is None


def test_why_a_run_is_left_out(monkeypatch):
    def simulate(system, scheme, **asked):
        if scheme == "refused":
            raise ExplorerError("no.\nMore of it.")
        return space(status=space(ok=scheme == "good", message="it stops"))

    put(monkeypatch, comparing._run, simulate=simulate)
    assert comparing._run("s", "refused", {}) == "no."
    assert comparing._run("s", "stops", {}) == "it stops"
    assert comparing._run("s", "good", {}).status.ok


def compared(monkeypatch, runs, **given):
    """Return a comparison of schemes whose runs are given, and what is asked."""
    told = {}

    def truth_of(system, reference, first, asked):
        told.update(reference=reference, first=first, asked=asked)
        warnings.warn("a lesson", LessonWarning, stacklevel=1)
        return "from there", truth, "best"

    study = inspect.unwrap(ex.study.compare_schemes)
    put(monkeypatch, study, _named=lambda system, schemes, h: told.update(named=(schemes, h)) or runs,
        _truth=truth_of, _run=lambda system, one, asked: one, _error=lambda run, truth: run.error)  # fmt: skip
    system = ex.models.bouncing_ball()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return study(system, "schemes", **given), told, system


def test_runs_are_compared_and_refusals_kept(monkeypatch):
    one, two = space(error=0.5), space(error=0.25)
    found, told, system = compared(monkeypatch, {"a": one, "b": "it stops", "c": two})
    assert [(run.name, run.solution, run.error) for run in found.runs] == [
        ("a", one, 0.5),
        ("c", two, 0.25),
    ]
    assert found.refused == {"b": "it stops"}
    assert told["named"] == ("schemes", None)
    assert (told["reference"], told["first"]) == (None, one)
    assert told["asked"] == {"t_end": system.t_end, "throw": False, "rho": {}}
    _, told, _ = compared(monkeypatch, {"a": one}, h=0.5, t_end=3, q0=1.0, x0=0.0, rho={"e": 1}, g=2, reference="r")  # fmt: skip
    assert told["asked"] == {
        "t_end": 3,
        "throw": False,
        "rho": {"e": 1, "g": 2},
        "q0": 1.0,
        "x0": 0.0,
    }
    assert (told["named"], told["reference"]) == (("schemes", 0.5), "r")


def test_where_nothing_runs_nothing_is_compared(monkeypatch):
    with pytest.raises(BadValue, match=r"Every run of 'bouncing ball' failed\. it stops"):
        compared(monkeypatch, {"a": "it stops", "b": "no"})
    with pytest.raises(BadValue, match="t_end"):
        compared(monkeypatch, {"a": space(error=1.0)}, t_end=0.0)
    with pytest.raises(BadValue, match="is a map, which Iteration alone runs"):
        ex.study.compare_schemes(ex.models.tent_map())
