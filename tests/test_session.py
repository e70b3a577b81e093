"""A session without any widget: what the mouse can do, and what it must never break."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import json
import re
import signal
import sys
import time
import warnings
from contextlib import contextmanager

import numpy as np
import psutil
import pytest
from hybrids import HYBRIDS
from kinds import GALLERY, KINDS, PRESETS, SYSTEMS, alike, cautioned, one_of_each, schemes_of
from loops import for_each

import explorer as ex
from explorer import Contact, MechanicalSystem, Param
from explorer.errors import BadValue, ExplorerError
from explorer.models import models
from explorer.panels import Session
from explorer.panels.controls import groups, values
from explorer.panels.state import START
from explorer.schemes import schemes
from explorer.systems import StateSpaceSystem

GARBAGE = ["", "abc", "1,,5", "nan", "-inf", "1e999", "1/0", "0x10", "None", "∞", "{}", "9" * 400]


def own_model() -> MechanicalSystem:
    return MechanicalSystem(
        "mass on a spring above a floor", q="y", units="m",
        params={"m": Param(1, 0.1, 5, "kg"), "k": Param(40, 0, 200, "N/m"), "e": Param(0.8, 0, 1),
                "a": Param(2, -1, 5, "m", "root")},
        mass=[["m"]], force=["-9.81*m - k*(y - 0.4) - 1e-6*sqrt(a - y)"],
        contacts=[Contact("y", e="e", name="floor")], start={"q": [1], "v": [0], "t_end": 2, "h": 2e-3},
    )  # fmt: skip


@pytest.fixture
def ball() -> Session:
    return Session("bouncing_ball")


@contextmanager
def time_limit(seconds: float):
    """Fail after so many seconds of this thread's own work, however busy the machine is."""

    class TooLongError(BaseException):  # not an Exception: nobody may swallow it
        pass

    begin = time.thread_time()

    def look(number, frame):
        if time.thread_time() - begin > seconds:
            raise TooLongError

    before = signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, 0.5, 0.5)
    try:
        yield
    except TooLongError:
        pytest.fail(f"not answered within {seconds} s of work")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def fresh(session: Session) -> ex.Solution:
    """The same state, simulated by somebody who never saw the session."""
    s = session.state
    system = session.system if s["model"] == "own" else models[s["model"]](**s["sizes"])
    scheme = schemes[s["scheme"]](**s["knobs"])
    return ex.simulate(system, scheme, **{k: s[k] for k in ("t_end", "rho", *START)})


def same(one: ex.Solution, other: ex.Solution) -> bool:
    asked = ("t", "q", "v", "p") if one.has_velocities else ("t", "x", "rates")
    asked = ("t", "x") if one.system.discrete else asked
    return all(np.array_equal(getattr(one, k), getattr(other, k)) for k in asked)


def frozen(session: Session) -> tuple:
    """Everything that a refusal must leave alone."""
    runs = [run and id(run.q) for run in (session.solution, session.pinned)]
    return json.dumps(session.state), *runs, session.can_undo


# -- set ------------------------------------------------------------------------------------------


def test_set_by_short_and_full_name(ball):
    ball.set(e=0.5)
    assert ball.state["rho"]["e"] == ball.solution.rho["e"] == 0.5
    ball.set(**{"rho.e": 0.25, "knob.theta": 0.75, "q0.y": 2, "v0.y": -1, "t_end": 3})
    assert ball.state["rho"]["e"] == 0.25
    assert ball.scheme.theta == ball.solution.scheme.theta == 0.75
    assert (ball.solution.q[0], ball.solution.v[0], ball.solution.t[-1]) == ([2], [-1], 3)
    ball.set(h="1/200")
    assert ball.scheme.h == 0.005


def test_the_schemes_are_found_by_name_again_and_again():
    for _ in range(2):
        assert ex.MoreauJean is ex.schemes.schemes["MoreauJean"]


def test_sizes_models_and_schemes_are_set_alike(ball):
    ball.set(model="column")
    ball.set(n=3)
    assert ball.state["sizes"] == {"n": 3}
    assert ball.solution.q.shape[1] == 3
    ball.set(scheme="MoreauJean")
    assert ball.state["model"] == "column"


def test_a_model_may_come_as_name_builder_or_system():
    assert Session(models["column"]).state["model"] == "column"
    assert Session(own_model).system.name == own_model().name
    session = Session(own_model(), ex.MoreauJean(h=1e-3), k=60, theta=0.6)
    assert session.solution.rho["k"] == 60
    assert (session.scheme.h, session.scheme.theta) == (1e-3, 0.6)
    assert not session.can_undo


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"retitution": 1}, "no setting 'retitution'"),
        ({"e": 1.5}, "restitution"),
        ({"e": "abc"}, "'abc'"),
        ({"m": 0}, "mass"),
        ({"h": -1}, "h = -1"),
        ({"h": 1e4}, "longer than the time span"),
        ({"theta": 2}, "theta"),
        ({"t_end": -1}, "t_end"),
        ({"t_end": "nan"}, "t_end"),
        ({"model": "bouncing_bal"}, "Did you mean 'bouncing_ball'"),
        ({"scheme": "MoreauJeen"}, "Did you mean 'MoreauJean'"),
        ({"lcp": "lemk"}, "lemke"),
        ({"newton_max": 2.5}, "whole number"),
        ({"q0.y": "inf"}, "start of y"),
    ],
)
def test_set_refuses_with_a_sentence_and_changes_nothing(ball, given, said):
    before = frozen(ball)
    with pytest.raises(ExplorerError) as refusal:
        ball.set(**given)
    assert said in str(refusal.value)
    assert frozen(ball) == before
    assert (ball.pending, ball.errors) == ({}, {})
    ball.set(g=5)  # and what follows is not burdened by it
    assert ball.solution.rho["g"] == 5


def test_set_of_several_is_all_or_nothing(ball):
    before = frozen(ball)
    with pytest.raises(BadValue):
        ball.set(g=5, h=-1)
    assert frozen(ball) == before
    with pytest.raises(BadValue, match="mu"):
        ball.set(model="rough_block", mu="much")
    assert frozen(ball) == before


@pytest.mark.parametrize("n", [0, 2.5, 2000, "many"])
def test_a_size_out_of_range_is_refused(n):
    session = Session("column")
    with pytest.raises(BadValue, match="n"):
        session.set(n=n)
    assert session.state["sizes"] == {"n": 10}


PREFIXES = {"": 0, "m": -3, "µ": -6, "n": -9}


def test_a_billion_steps_are_refused_with_a_step_that_would_do(ball):
    before = frozen(ball)
    errors = ball.change({"knob.h": 4.5e-9})
    assert "1e+09 steps" in errors["knob.h"]
    assert frozen(ball)[:2] == before[:2]
    number, prefix = re.search(r"Use h = (\S+) ([mµn]?)s or larger", errors["knob.h"]).groups()
    named = float(f"{number}e{PREFIXES[prefix]}")
    assert ball.change({"knob.h": named}) == {}
    assert ball.scheme.h == named


# -- history --------------------------------------------------------------------------------------


def test_undo_and_redo_bring_back_the_very_state(ball):
    states = [ball.state]
    for change in ({"e": 0.5}, {"h": 0.01}, {"y0": 0.5}):
        ball.set(**change)
        states.append(ball.state)
    for state in reversed(states[:-1]):
        ball.undo()
        assert ball.state == state
    assert not ball.can_undo
    assert same(ball.solution, fresh(ball))
    for state in states[1:]:
        ball.redo()
        assert ball.state == state
    assert not ball.can_redo
    assert same(ball.solution, fresh(ball))


def test_undo_and_redo_of_nothing_do_nothing(ball):
    before = frozen(ball)
    ball.undo()
    ball.redo()
    assert frozen(ball) == before


def test_a_drag_is_one_step(ball):
    for e in np.linspace(0.8, 0.3, 20):
        ball.change({"rho.e": float(e)}, drag=True)
    ball.change({"rho.e": 0.3})
    assert ball.state["rho"]["e"] == 0.3
    ball.undo()
    assert ball.state["rho"]["e"] == 0.8
    assert not ball.can_undo
    ball.redo()
    assert ball.state["rho"]["e"] == 0.3


def test_a_drag_back_to_its_start_is_no_step(ball):
    ball.change({"rho.e": 0.5}, drag=True)
    ball.change({"rho.e": 0.8})
    assert not ball.can_undo


@pytest.mark.parametrize("after", ["reset", "preset"])
def test_a_drag_whose_release_was_lost_does_not_swallow_what_follows(ball, after):
    ball.set(g=5)
    ball.change({"rho.e": 0.5}, drag=True)  # the page is gone before the key is released
    ball.reset() if after == "reset" else ball.preset("clay")
    settled = ball.state
    ball.set(y0=0.5)
    ball.undo()
    assert ball.state == settled


def test_a_change_forgets_what_could_be_redone(ball):
    ball.set(e=0.5)
    ball.undo()
    ball.set(g=5)
    assert not ball.can_redo
    ball.undo()
    assert ball.state["rho"]["g"] == 9.81


def test_the_history_is_long_but_not_endless(ball):
    for i in range(230):
        ball.set(y0=0.5 + i / 1000, t_end=0.2)
    count = 0
    while ball.can_undo:
        ball.undo()
        count += 1
    assert count == 200


def test_reset_goes_back_to_the_defaults_and_can_be_undone(ball):
    default = json.dumps(ball.state)
    ball.set(e=0.5, h=0.01, t_end=1, **{"q0.y": 2})
    moved = json.dumps(ball.state)
    ball.reset()
    assert json.dumps(ball.state) == default
    ball.undo()
    assert json.dumps(ball.state) == moved


@pytest.mark.broad
@pytest.mark.parametrize(("model", "preset"), PRESETS)
def test_presets(model, preset):
    """Each is a run that succeeds, of which nothing is cautioned, and that its code repeats."""
    session = Session(model)
    before = 4.0 if session.system.discrete else session.system.t_end / 8
    session.set(t_end=before)
    session.preset(preset)
    assert session.solution.status.ok
    assert session.system.presets[preset]["text"]
    certificate = session.solution.certificate
    assert {check.name for check in certificate.broken} <= cautioned(model), certificate
    reproduced(session)
    for key, value in session.system.presets[preset].items():
        if key != "text":
            full = next(k for k in (key, f"rho.{key}", f"knob.{key}") if k in values(session))
            found = values(session)[full]
            assert found == (value if isinstance(value, str) else pytest.approx(value, rel=1e-15))
    session.undo()
    assert session.state["t_end"] == before


@pytest.mark.parametrize("model", one_of_each(sorted(models), alike))
def test_a_preset_keeps_the_scheme_if_it_can(model):
    """Of presets that set the same but other parameters one is enough: the others run alike."""
    for name in schemes_of(model):
        session, tried = Session(model, name), set()
        for preset, entries in session.system.presets.items():
            options = frozenset({*entries} - {*session.system.parameters})
            foreign = {"h", "theta", "lcp"} & options - {*session.state["knobs"]}
            if options in tried:
                continue
            with contextlib.suppress(BadValue):  # too many events, or Painleve's paradox
                session.set(scheme=name)
                session.preset(preset)
                assert session.state["scheme"] == (schemes_of(model)[0] if foreign else name)
                tried.add(options)


def test_the_start_of_a_hybrid_system():
    session = Session(HYBRIDS["heater"])
    session.set(**{"x0.T": 20.5, "mode0": "off"})
    run = session.solution
    assert (run.x[0], run.mode[0]) == ([20.5], 1)
    assert "x0=[20.5], mode0='off'" in session.code()
    other = Session("bouncing_ball")
    other.load_state(session.to_json())
    assert same(other.solution, run)
    assert (other.solution.mode == run.mode).all()
    session.set(mode0="on")
    assert session.state["mode0"] is None
    for key, value, said in [("mode0", "of", "Did you mean 'off'"), ("x0.T", "abc", "The start of T"),
                             ("q0.T", 1, "no setting"), ("v0.T", 1, "no setting")]:  # fmt: skip
        with pytest.raises(BadValue, match=said):
            session.set(**{key: value})


def test_of_a_start_and_its_parameter_the_last_moved_counts():
    session = Session("bouncing_ball")
    session.set(**{"q0.y": 2, "v0.y": -1})
    session.set(e=0.5)
    assert (session.state["q0"], session.state["v0"]) == ([2], [-1])
    session.set(y0=1.5)
    assert (session.state["q0"], session.state["v0"]) == (None, [-1])
    assert session.solution.q[0, 0] == 1.5
    session.set(**{"v0.y": 0.0})  # the model's own
    assert session.state["v0"] is None


@pytest.mark.broad
@pytest.mark.parametrize("model", sorted(models))
def test_the_sliders_of_the_start_reach_around_it(model):
    session = Session(model)
    found = {c["key"]: c for g in groups(session) if g["name"] == "start" for c in g["controls"]}
    for key, value in values(session).items():
        if key.startswith(("q0.", "v0.", "x0.")) and session.system.n <= 12:
            assert found[key]["low"] < value < found[key]["high"]
            assert found[key]["default"] == value


def test_changed_equations_of_a_system_that_starts_elsewhere_are_seen():
    system = HYBRIDS["heater"]()
    session = Session(system)
    session.set(mode0="off")
    before = session.solution
    system.guard("off", "T - 19.5", to="on", name="earlier")
    session.set(mode0="off")
    assert not same(before, session.solution)


def test_a_scheme_comes_with_the_step_of_the_model():
    session = Session("column")
    h = session.state["knobs"]["h"]
    session.set(scheme="EventDriven", t_end=0.2)
    assert "h" not in session.state["knobs"]
    session.set(scheme="MoreauJean")
    assert session.state["knobs"]["h"] == h == session.system.h


def test_a_state_of_before_there_were_modes_is_read():
    old = json.loads(Session("bouncing_ball").to_json())
    old = {k: v for k, v in old.items() if k not in ("x0", "mode0")}
    session = Session("column")
    session.load_state(json.dumps(old))
    assert session.state["model"] == "bouncing_ball"


def test_an_unknown_preset_is_refused(ball):
    before = frozen(ball)
    with pytest.raises(BadValue, match="Did you mean 'clay'"):
        ball.preset("clai")
    assert frozen(ball) == before


def test_every_model_has_a_preset_with_a_sentence():
    for name, system in GALLERY.items():
        assert system.presets, name
        assert all(p["text"].endswith(".") for p in system.presets.values()), name


# -- pending --------------------------------------------------------------------------------------


def test_a_refused_value_is_kept_as_typed_and_tried_again(ball):
    ball.set(t_end=0.5)
    good = ball.solution
    errors = ball.change({"knob.h": "0.6"})
    assert "longer than the time span" in errors["knob.h"]
    assert values(ball)["knob.h"] == "0.6"
    assert ball.solution is good
    assert ball.state["knobs"]["h"] == 2e-3
    assert ball.change({"t_end": 4.0}) == {}
    assert ball.scheme.h == 0.6
    assert (ball.pending, ball.errors, ball.problem) == ({}, {}, "")


def test_two_values_that_need_each_other_may_come_one_after_the_other():
    session = Session("rocking_block")
    assert session.change({"knob.h": 10}).keys() == {"knob.h"}
    assert session.change({"t_end": 20}) == {}
    assert session.state["knobs"]["h"] == 10


def test_a_pending_value_does_not_block_the_others(ball):
    ball.change({"rho.e": "abc"})
    assert ball.change({"rho.g": 5}) == {}
    assert ball.solution.rho["g"] == 5
    assert ball.pending == {"rho.e": "abc"}
    assert "abc" in ball.errors["rho.e"]
    ball.change({"rho.e": 0.4})
    assert (ball.pending, ball.errors) == ({}, {})
    assert ball.solution.rho["e"] == 0.4


def test_of_several_values_the_good_ones_are_taken(ball):
    errors = ball.change({"rho.e": 7, "rho.g": 5, "t_end": "soon"})
    assert errors.keys() == {"rho.e", "t_end"}
    assert ball.solution.rho["g"] == 5


def test_a_scheme_is_set_as_it_is_or_by_class_or_name(ball):
    ball.set(scheme=ex.MoreauJean(h=1e-3, theta=0.75))
    assert ball.scheme == ex.MoreauJean(h=1e-3, theta=0.75)
    ball.set(scheme=ex.SchatzmanPaoli)  # what both have stays
    assert ball.scheme == ex.SchatzmanPaoli(h=1e-3)
    with pytest.raises(ex.ExplorerError, match="FESD"):
        ball.set(scheme=ex.EulerMoreau(h=1e-3))
    assert ball.status.ok
    assert ball.scheme == ex.SchatzmanPaoli(h=1e-3)


def test_a_scheme_that_goes_takes_refused_knobs_with_it(ball):
    from explorer.panels.answer import SessionAnswer

    ball.change({"rho.m": "heavy"})
    ball.change({"knob.theta": 7.0})
    ball.change({"scheme": "EventDriven"})
    assert ball.state["scheme"] == "EventDriven"
    assert ball.pending == {"rho.m": "heavy"}
    assert "Showing m = 1" in SessionAnswer(ball).frame()["status"]["text"]


@pytest.mark.parametrize("away", ["undo", "reset", "preset", "model"])
def test_pending_values_are_forgotten_where_they_mean_nothing(ball, away):
    ball.set(g=5)
    ball.change({"rho.e": "abc"})
    {
        "undo": ball.undo,
        "reset": ball.reset,
        "preset": lambda: ball.preset("clay"),
        "model": lambda: ball.change({"model": "column"}),
    }[away]()
    assert (ball.pending, ball.errors, ball.problem) == ({}, {}, "")


@pytest.mark.parametrize("text", GARBAGE)
def test_garbage_in_any_field_is_a_sentence(text):
    session = Session("column", n=2)
    good = session.solution
    for key in values(session):
        errors = session.change({key: text})
        assert errors[key].strip(), key
        assert values(session)[key] == text
        assert session.solution is good
        session.reset()
        good = session.solution


@pytest.mark.parametrize("key", ["rho.nobody", "size.n", "q0.x", "knob.", "nothing", ""])
def test_a_key_that_is_none_says_so_or_is_ignored(ball, key):
    before = frozen(ball)
    ball.change({key: 1})
    assert frozen(ball) == before


# -- a model that fails while it is open ----------------------------------------------------------


def test_a_formula_that_gives_nan_leaves_the_last_good_solution():
    session = Session(own_model())
    good, state = session.solution, session.state
    errors = session.change({"rho.a": 0.5})
    assert "a" in errors["rho.a"]
    assert session.problem
    assert (session.solution, session.state) == (good, state)
    assert session.change({"rho.a": 3}) == {}
    assert session.solution.rho["a"] == 3


def test_a_run_that_fails_later_names_the_time():
    session = Session(own_model())
    good = session.solution
    errors = session.change({"rho.a": 1.05, "v0.y": 2.0})  # y passes the root on its way up
    assert errors
    assert "t = " in session.problem
    assert session.solution.status.ok
    assert session.state["rho"]["a"] == session.solution.rho["a"]
    assert session.solution is good or same(session.solution, fresh(session))


@pytest.fixture
def throwing(monkeypatch):
    def build(n=2):
        if n == 3:
            raise RuntimeError("three is a crowd")
        system = own_model()
        system.sizes = {"n": Param(n, 1, 5, "", "how many")}
        return system

    models.discover()
    monkeypatch.setitem(models._entries, "throwing", build)
    return "throwing"


def test_a_model_that_throws_is_a_sentence(throwing):
    session = Session(throwing)
    good = session.solution
    errors = session.change({"size.n": 3})
    assert "three is a crowd" in errors["size.n"]
    assert session.solution is good
    assert session.state["sizes"] == {"n": 2}
    session.change({"size.n": 4})
    assert session.state["sizes"] == {"n": 4}


# -- compare --------------------------------------------------------------------------------------


def test_pin_keeps_the_run_and_unpin_forgets_it(ball):
    first = ball.solution
    ball.pin()
    ball.set(e=0.3)
    assert ball.pinned is first
    assert ball.solution is not first
    ball.unpin()
    assert ball.pinned is None


def test_a_pinned_run_does_not_survive_another_model(ball):
    ball.pin()
    ball.change({"model": "column"})
    assert ball.pinned is None
    ball.pin()
    ball.undo()
    assert ball.pinned is None


def test_listeners_hear_of_everything(ball):
    heard = []
    ball.on_change(lambda: heard.append(1))
    for act in (
        lambda: ball.set(e=0.5), ball.undo, ball.redo, ball.reset, lambda: ball.preset("clay"),
        ball.pin, ball.unpin, lambda: ball.load_state(ball.to_json()),
        lambda: ball.change({"rho.e": "abc"}),
    ):  # fmt: skip
        count = len(heard)
        act()
        assert len(heard) > count


# -- JSON and code --------------------------------------------------------------------------------


STIRRED = {
    "MoreauJean": {"theta": 0.75, "newton_max": 40, "lcp_tol": 1e-10, "mass_point": "iterate"},
    "EventDriven": {"rtol": 1e-8, "method": "dopri5", "points": 120},
    "NonsmoothGeneralizedAlpha": {"h": 2e-3, "newton_max": 40, "level": "velocity"},
    "SchatzmanPaoli": {"h": 2e-3, "newton_max": 40, "beta": 0.2},
    "FESD": {"h": 2e-2, "newton_max": 40, "tableau": "gauss", "stages": 3},
    "EulerMoreau": {"theta": 0.75, "newton_max": 40, "gamma": 0.5, "lcp": "lemke"},
    "Newmark": {"h": 2e-3, "newton_max": 40, "form": "v"},
    "GeneralizedAlpha": {"h": 2e-3, "newton_max": 40, "form": "v"},
    "Iteration": {"bound": 1e8},
}


def stirred(session: Session) -> Session:
    """Change something of every kind."""
    system = session.system
    name, p = next((k, p) for k, p in system.parameters.items() if k not in ("e", "theta0"))
    session.set(**{f"rho.{name}": p.value * 1.01})
    session.set(**STIRRED.get(session.state["scheme"], {"h": 2e-3}))
    session.set(t_end=0.5 * system.t_end + (1 if system.discrete else 1 / 3))
    if isinstance(system, StateSpaceSystem):
        first = system.coordinates[0]
        session.set(**{f"x0.{first}": values(session)[f"x0.{first}"] + 1e-3})
    else:
        session.set(**{f"v0.{system.coordinates[0]}": 0.125})
    if "n" in session.state["sizes"]:
        session.set(n=max(4, system.sizes["n"].low))
    return session


def opened(name: str, scheme: str | None = None) -> Session:
    return Session(HYBRIDS.get(name, name), scheme)


@for_each(("model", "scheme"), one_of_each(KINDS, lambda case: (type(SYSTEMS[case[0]]), case[1])))
def test_the_state_goes_through_json(model, scheme):
    session = stirred(opened(model, scheme))
    text = session.to_json()
    other = Session("pendulum_wall")
    other.load_state(text)
    assert other.to_json() == text
    assert other.state == session.state
    assert same(other.solution, session.solution)
    other.undo()
    assert other.state["model"] == "pendulum_wall"
    other.redo()
    assert same(other.solution, session.solution)


@pytest.mark.parametrize("model", one_of_each([*SYSTEMS], alike))
def test_the_code_of_a_fresh_panel_reproduces_its_picture_bitwise(model):
    reproduced(opened(model))


@pytest.mark.broad
@pytest.mark.parametrize(("model", "scheme"), KINDS)
def test_the_code_reproduces_the_picture_bitwise(model, scheme):
    reproduced(stirred(opened(model, scheme)))


def test_the_code_of_an_own_model_reproduces_its_picture_bitwise():
    reproduced(stirred(Session(own_model())))


def reproduced(session):
    code = session.code()
    space: dict = {}
    with warnings.catch_warnings():  # what was stirred need not keep constraints
        warnings.simplefilter("ignore", ex.ModelWarning)
        exec(compile(code, "snippet.py", "exec"), space)
    assert same(space["solution"], session.solution)
    assert max(map(len, code.splitlines())) <= 120


@functools.cache
def hostile() -> dict[str, object]:
    good = json.loads(Session("bouncing_ball").to_json())
    mine = json.loads(Session(own_model()).to_json())

    def of(**more):
        return {**mine, "model": {**mine["model"], **more}}

    return {
        "nothing": "", "a list": "[]", "a number": "3", "null": "null", "half": json.dumps(good)[:90],
        "python": "__import__('os')", "deep": "[" * 100_000, "no format": {**good, "format": 2},
        "no model": {**good, "model": "nobody"}, "model as number": {**good, "model": 3},
        "own without equations": {**good, "model": "own"},
        "time": {**good, "t_end": "x"}, "no time": {k: v for k, v in good.items() if k != "t_end"},
        "negative time": {**good, "t_end": -1}, "eternity": {**good, "t_end": 1e300},
        "foreign size": {**good, "sizes": {"n": 5}}, "sizes as list": {**good, "sizes": [1]},
        "huge size": {**good, "model": "column", "sizes": {"n": 10**6}},
        "size as text": {**good, "model": "column", "sizes": {"n": "3; import os"}},
        "knob": {**good, "knobs": {"h": -1}}, "knobs as number": {**good, "knobs": 7},
        "parameter": {**good, "rho": {"e": 7}}, "no mass": {**good, "rho": {"m": 0}},
        "parameter as list": {**good, "rho": {"e": [1]}}, "long start": {**good, "q0": [1, 2]},
        "start as text": {**good, "q0": "abc"}, "scheme": {**good, "scheme": "Euler"},
        "scheme as list": {**good, "scheme": ["MoreauJean"]},
        "system type": of(type="Evil"), "no equations": {**mine, "model": {"type": "MechanicalSystem"}},
        "import": of(force=["__import__('os').system('touch pwned')"]), "lambda": of(force=["(lambda: 1)()"]),
        "attribute": of(force=["y.__class__"]), "power tower": of(force=["9**9**9**9"]),
        "deep formula": of(force=["(" * 5000 + "y" + ")" * 5000]), "coordinate": of(q=["import os"]),
        "many coordinates": of(q=10**7), "parameter's range": of(params={"m": {"value": 1, "low": 2, "high": 1}}),
        "parameter's field": of(params={"m": {"evil": 1}}),
    }  # fmt: skip


@pytest.mark.parametrize("what", hostile())
def test_a_garbled_or_hostile_state_is_refused_and_changes_nothing(
    ball, what, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    state = hostile()[what]
    before = frozen(ball)
    with time_limit(5), pytest.raises(ExplorerError) as refusal:
        ball.load_state(state if isinstance(state, str) else json.dumps(state))
    assert len(str(refusal.value)) > 15
    assert frozen(ball) == before
    assert not list(tmp_path.iterdir())
    ball.set(e=0.5)
    assert same(ball.solution, fresh(ball))


def test_a_refused_foreign_model_leaves_the_own_one():
    session = Session(own_model())
    mine = session.system
    state = json.loads(session.to_json())
    state["model"]["name"] = "other"
    state["rho"]["m"] = -1
    with pytest.raises(ExplorerError):
        session.load_state(json.dumps(state))
    assert session.system is mine


def test_an_own_model_survives_another_own_model_and_undo():
    session = Session(own_model())
    first = session.solution
    other = json.loads(session.to_json())
    other["model"]["name"] = "stiffer"
    other["model"]["force"] = ["-9.81*m - 3*k*y"]
    session.load_state(json.dumps(other))
    assert session.system.name == "stiffer"
    session.undo()
    assert session.system.name == own_model().name
    assert same(session.solution, first)


# -- at random ------------------------------------------------------------------------------------


def move(session: Session, rng: np.random.Generator) -> None:
    """One random thing that a user can do; sizes and steps such that a run takes milliseconds."""
    controls = [c for g in groups(session) for c in g["controls"]]
    kind = rng.choice(
        ["control", "model", "garbage", "undo", "redo", "reset", "preset", "pin", "unpin", "json"],
        p=[0.60, 0.06, 0.08, 0.07, 0.04, 0.02, 0.06, 0.03, 0.02, 0.02],
    )
    if kind == "control":
        control = controls[rng.integers(len(controls))]
        key, drag = control["key"], bool(rng.integers(2))
        if control["kind"] == "choice":
            value = control["choices"][rng.integers(len(control["choices"]))][0]
        elif key == "t_end":
            value = float(rng.uniform(0.2, 3))
        elif control["kind"] == "number":
            value = float(control["default"] + rng.normal())
        elif control["log"]:
            low, high = (
                max(control["low"], 5e-4) if key == "knob.h" else control["low"],
                control["high"],
            )
            value = float(np.exp(rng.uniform(*np.log([low, high]))))
        else:
            value = float(rng.uniform(control["low"], control["high"]))
        if control.get("integer") and not isinstance(value, str):
            value = round(value)
        session.change({key: value}, drag=drag)
        if drag and rng.integers(2):
            session.change({key: value})
    elif kind == "garbage":
        control = controls[rng.integers(len(controls))]
        session.change({control["key"]: GARBAGE[rng.integers(len(GARBAGE))]})
    elif kind == "preset":
        session.preset(rng.choice(list(session.system.presets)))
    elif kind == "json":
        session.load_state(session.to_json())
    elif kind == "model":
        session.change({"model": rng.choice(sorted(models))})
    else:
        getattr(session, kind)()


def resident() -> float:
    gc.collect()
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)
    return psutil.Process().memory_info().rss / 2**20


def test_400_random_moves():
    """And the second 200 need no memory: what they compile is there from the first, the same ones.

    Both sessions are kept, so that what one of them keeps is seen.
    """
    kept, visited, sizes = [], set(), []
    for _ in range(2):
        rng = np.random.default_rng(20240229)
        session = Session("bouncing_ball")
        kept.append(session)
        for _ in range(200):
            move(session, rng)
            visited.add(session.state["model"])
            assert session.solution.status.ok
        session.unpin()
        session.change({"model": "bouncing_ball"})  # a light state at both ends
        session.preset("Zeno")
        sizes.append(resident())
    assert len(visited) >= 6
    assert sizes[1] - sizes[0] < 12, f"{sizes} MB"

    again = fresh(session)
    assert same(session.solution, again)
    picture = ex.views.explore.picture(session.solution, session.pinned)
    for drawn, redrawn in zip(
        picture.data, ex.views.explore.picture(again, session.pinned).data, strict=True
    ):
        for axis in ("x", "y"):
            np.testing.assert_array_equal(drawn[axis], redrawn[axis])
