"""Hybrid systems as a user declares them: both forms, bad input, specifications, Markdown."""

from __future__ import annotations

import dataclasses
import json

import pytest
import sympy as sp
from loops import for_each

import explorer as ex
from explorer.systems import from_spec

PARAMS = {"a": ex.Param(0.1, 0.01, 1, "1/s"), "xe": 15, "xo": 30, "L": 19, "U": 21}


def step_by_step():
    """Return the thermostat, built by methods with SymPy."""
    room = ex.HybridSystem("thermostat", x="T", units="degC", text="Two thresholds.")
    (T,) = room.x
    a, xe, xo, L, U = room.params(**PARAMS)
    on = room.mode("on", flow=[-a * (T - xo)])
    off = room.mode("off", flow={"T": -a * (T - xe)})
    room.guard(on, T - U, direction=+1, to=off, name="too hot")
    room.guard(off, T - L, direction=-1, to=on, name="too cold")
    room.start(x=[L], mode=on, t_end=20)
    return room


def thermostat(**changes):
    """Return the thermostat in one call; `changes` are arguments of the constructor."""
    declared = {
        "params": PARAMS,
        "modes": {"on": ["-a*(T - xo)"], "off": {"T": "-a*(T - xe)"}},
        "guards": [
            {"mode": "on", "r": "T - U", "direction": 1, "to": "off", "name": "too hot"},
            {"mode": "off", "r": "T - L", "to": "on", "name": "too cold"},
        ],
        "start": {"x": ["L"], "mode": "on", "t_end": 20},
        "units": "degC", "text": "Two thresholds.",
    }  # fmt: skip
    return ex.HybridSystem("thermostat", "T", **(declared | changes))


def ball():
    """Return a ball with every entry of a guard: reset, when, terminal, zeno."""
    system = ex.HybridSystem("ball", "y w", params={"g": 9.81, "e": 0.8}, units=("m", "m/s"))
    y, w = system.x
    fly = system.mode("fly", {"w": "-g", y: w})
    rest = system.mode("rest", [0, 0])
    system.guard(fly, y, reset={w: "-e*w"}, when="0.1 - y", name="floor", zeno=rest, direction=-1)
    system.guard("*", system.t - 3.25, direction=1, name="late", terminal=True)
    system.guard([fly, rest], y - 10, direction=0)
    system.start(x=[1 / 3, 0])
    return system


def one(**guard):
    """Return the thermostat and one more guard of the mode "on"."""
    room = thermostat()
    room.guard(**({"mode": "on", "r": "T - 25"} | guard))
    return room


def test_both_forms_are_equal():
    """Methods with SymPy and one call with text give the same system."""
    first, second = step_by_step(), thermostat()
    assert first.to_spec() == second.to_spec()
    assert (first.modes, first.guards) == (second.modes, second.guards)
    assert first.start_x == second.start_x == (sp.Symbol("L"),)


def test_declaration():
    """What the kernels and pictures read."""
    room = step_by_step()
    T, a, xe = sp.symbols("T a xe")
    assert (room.n, room.coordinates, room.units, room.x) == (1, ("T",), ("degC",), (T,))
    assert [(m.name, m.index) for m in room.modes] == [("on", 0), ("off", 1)]
    assert room.modes[1].flow == (-a * (T - xe),)
    hot, cold = room.guards
    assert (hot.mode, hot.to, hot.direction, hot.bounds) == (0, 1, 1, True)
    assert (cold.mode, cold.to, cold.direction, cold.reset) == (1, 0, -1, (T,))
    assert room.guard_names == ("too hot", "too cold")
    assert (room.start_mode, room.t_end, room.contacts, room.potential) == (0, 20, (), None)


def test_guards():
    """Resets by name, several modes, conditions, names, the side on which a mode lives."""
    system = ball()
    y, w, e = sp.symbols("y w e")
    floor, late, _, far, far_too = system.guards
    assert system.guard_names == ("floor", "late", "guard 3")
    assert floor.reset == (y, -e * w)
    assert (floor.jumps, floor.bounds, floor.zeno, floor.terminal) == (True, True, 1, False)
    assert floor.when == sp.Float(0.1) - y
    assert (late.terminal, late.bounds, late.jumps, late.zeno) == (True, False, False, -1)
    assert [(g.mode, g.to) for g in (far, far_too)] == [(0, 0), (1, 1)]
    assert not far.bounds
    assert not one(reset=["T"], direction=1).guards[-1].bounds
    assert one(reset=["T - 1"], direction=1).guards[-1].bounds
    assert not one(reset=["T - 1"], direction=0).guards[-1].bounds
    assert one(mode=["on", "off"], name="too much").guard_names[-1] == "too much"


def test_start_by_name_keeps_the_rest():
    """A start given for one state leaves the others."""
    system = ball()
    system.start(x={"w": 2}, mode="rest")
    assert system.start_x == (sp.Float(1 / 3), sp.Integer(2))
    assert system.start_mode == 1


@pytest.mark.parametrize("build", [step_by_step, ball])
def test_specification_round_trip(build):
    """JSON and back: the same formulas, numbers, names."""
    system = build()
    spec = json.loads(json.dumps(system.to_spec()))
    again = from_spec(spec)
    assert type(again) is ex.HybridSystem
    assert again.to_spec() == spec == system.to_spec()
    for name in ("modes", "guards", "start_x", "start_mode", "parameters", "units", "t_end", "h"):
        assert getattr(again, name) == getattr(system, name), name


def test_each_declaration_is_a_revision():
    """What was compiled before a change is not used again."""
    room, seen = thermostat(), []
    for change in (
        lambda: room.mode("idle", [0]), lambda: room.guard("idle", "T"), lambda: room.start(x=[20]),
        lambda: room.params(c=1), lambda: room.sketch(ex.circle("T", 0, 1)),
    ):  # fmt: skip
        seen.append(room.revision)
        change()
    assert len({*seen, room.revision}) == len(seen) + 1


def test_markdown():
    """Flow of each mode, the table of guards, parameters, start."""
    text = step_by_step()._repr_markdown_()
    assert r"\dot{T} &= - a \left(T - \operatorname{xo}\right)" in text
    assert "| on | too hot | $T - U$ rises through 0 | – | off |" in text
    assert "| $a$ | 0.1 1/s |" in text
    assert "start: $T(0) = L$, mode *on*" in text
    text = ball()._repr_markdown_()
    assert "while $0.1 - y$ > 0 | $w$ := $- e w$ | fly (accumulation: rest) |" in text
    assert "| the run ends |" in text
    row = next(
        r
        for r in one(r="abs(T) - 1", name="a|b")._repr_markdown_().split("\n")
        if "a" in r and "vert" in r
    )
    assert row.replace(r"\|", "").count("|") == 6
    assert "mode" not in ex.HybridSystem("empty", "x")._repr_markdown_()


def test_a_system_without_modes_is_refused_when_it_is_used():
    """It may be declared in steps, so the refusal comes from check()."""
    system = ex.HybridSystem("empty", "x")
    with pytest.raises(ex.BadModel, match="'empty' has no mode"):
        system.check()
    thermostat().check()


def foreign():
    """Return a mode of another system."""
    return ex.HybridSystem("other", "T", modes={"on": [1]}).modes[0]


BAD = {
    # what is wrong: (what is done, words of the sentence)
    "unknown symbol in a flow": (
        lambda: thermostat(modes={"on": ["-aa*T"]}), ["flow of 'on'", "'aa'", "'a'"],
    ),
    "unknown symbol in r": (lambda: one(r="T - UU"), ["r of guard", "'UU'", "'U'"]),
    "unknown symbol in a reset": (lambda: one(reset=["TT"]), ["reset of guard", "'TT'", "'T'"]),
    "unknown symbol in when": (lambda: one(when="TT"), ["when of guard", "'TT'", "'T'"]),
    "condition that is no number": (lambda: one(when="T > 0"), ["when of guard", "formula"]),
    "flow of the wrong length": (
        lambda: thermostat(modes={"on": [1, 2]}), ["flow of 'on'", "1 component", "2 given"],
    ),
    "reset of the wrong length": (lambda: one(reset=[1, 2]), ["reset of guard", "2 given"]),
    "flow without a state": (
        lambda: ex.HybridSystem("s", "x y", modes={"a": {"x": 1}}), ["flow of 'a'", "'y'"],
    ),
    "flow of an unknown state": (
        lambda: thermostat(modes={"on": {"Tt": 1}}), ["flow of 'on'", "'Tt'", "'T'"],
    ),
    "reset of an unknown state": (
        lambda: one(reset={"temp": 1}), ["reset of guard", "'temp'", "no state", "T"],
    ),
    "unknown mode": (lambda: one(mode="onn"), ["'onn'", "thermostat", "Did you mean 'on'"]),
    "unknown target": (lambda: one(to="of"), ["to of guard", "'of'", "'off'"]),
    "unknown mode after accumulation": (lambda: one(zeno="of"), ["zeno of guard", "'off'"]),
    "mode of another system": (lambda: one(mode=foreign()), ["'on'", "thermostat"]),
    "no mode at all": (lambda: one(mode=3), ["no such mode 3", "on, off"]),
    "guard of all modes without one": (
        lambda: thermostat(modes={}, guards=[{"mode": "*", "r": "T"}]), ["thermostat", "no mode yet"],
    ),
    "two modes of one name": (lambda: thermostat().mode("on", [1]), ["Two modes", "'on'"]),
    "mode without a name": (lambda: thermostat().mode("", [1]), ["needs a name", "''"]),
    "two guards of one name": (lambda: one(name="too hot"), ["Two guards", "'on'", "'too hot'"]),
    "a guard twice in a mode": (lambda: one(mode=["on", "on"]), ["Two guards", "'on'"]),
    "direction 2": (lambda: one(direction=2), ["direction", "-1", "+1", "not 2"]),
    "direction as text": (lambda: one(direction="up"), ["direction", "not 'up'"]),
    "r that never changes": (lambda: one(r="U - L"), ["r of guard", "neither", "no event"]),
    "start in an unknown mode": (
        lambda: thermostat(start={"mode": "onn"}), ["start mode", "'onn'", "'on'"],
    ),
    "start that depends on the state": (
        lambda: thermostat(start={"x": ["2*T"]}), ["start x", "'T'", "formula of the parameters"],
    ),
    "start that depends on t": (lambda: thermostat(start={"x": ["t"]}), ["start x", "'t'"]),
    "start of the wrong length": (lambda: thermostat(start={"x": [1, 2]}), ["start x", "2 given"]),
    "units of the wrong length": (lambda: thermostat(units=("m", "s")), ["1 states", "2 units"]),
    "no state": (lambda: ex.HybridSystem("s", ""), ["at least one state"]),
    "two states of one name": (lambda: ex.HybridSystem("s", "x x"), ["own name"]),
    "guards that are text": (lambda: thermostat(guards=["T"]), ["A guard of", "dict"]),
    "state called t": (lambda: ex.HybridSystem("s", "t"), ["'t'", "cannot name"]),
    "parameter called as a state": (lambda: thermostat().params(T=1), ["'T'", "name of a state"]),
    "sketch with an unknown symbol": (
        lambda: thermostat(sketch=[ex.circle("z", 0, 1)]), ["sketch", "'z'"],
    ),
}  # fmt: skip


@for_each("case", BAD)
def test_bad_input_is_refused_with_a_sentence(case):
    """The sentence names the place, the word and what would work."""
    action, words = BAD[case]
    with pytest.raises((ex.BadModel, ex.BadValue)) as refusal:
        action()
    sentence = str(refusal.value)
    assert [word for word in words if word not in sentence] == [], sentence
    assert sentence.endswith((".", "?"))


def test_a_refused_guard_leaves_the_system_as_it_was():
    """A guard of several modes is added to all of them or to none."""
    room = thermostat()
    before = room.to_spec()
    with pytest.raises(ex.BadModel):
        room.guard("*", "T - 25", name="too hot")
    assert room.to_spec() == before


def test_declarations_are_frozen():
    """A mode or a guard in force cannot change behind the compiler's back."""
    room = thermostat()
    with pytest.raises(dataclasses.FrozenInstanceError):
        room.guards[0].direction = 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        room.modes[0].name = "x"


def test_two_guards_at_one_state_are_said():
    modes = {"a": ["1"], "b": ["-1"], "c": ["2"], "d": ["0"]}
    guards = [
        {"mode": "d", "r": "t - 1", "direction": 1, "to": "a", "reset": ["x + jump"]},
        {"mode": "a", "r": "x - 1", "direction": 1, "to": "b"},
        {"mode": "a", "r": "2*x - top", "direction": 1, "to": "c"},
    ]
    system = ex.HybridSystem(
        "two guards", x="x", params={"jump": 0.0, "top": 2.0}, modes=modes, guards=guards
    )
    system.start(x=[0], mode="a", t_end=3)
    said = ex.simulate(system).outcome
    assert "both 'guard 2' and 'guard 3' fire" in said or "both 'guard 3' and 'guard 2'" in said
    assert ex.simulate(system, top=2.001).certificate["determinism"].ok
    beyond = ex.simulate(system, mode0="d", jump=2.0)  # carried beyond both
    assert "both 'guard 2' and 'guard 3' fire" in beyond.outcome
    assert ex.simulate(system, mode0="d", jump=2.0, top=5.0).certificate["determinism"].ok


def test_parts_that_switch_on_their_own_may_do_so_together():
    """Two thermostats in step: one switches, then the other, in either order."""
    modes = {"oo": ["1", "1"], "ox": ["1", "-1"], "xo": ["-1", "1"], "xx": ["-1", "-1"]}
    guards = []
    for mode in modes:
        for k, x in enumerate("pq"):
            on = mode[k] == "o"
            to = mode[:k] + "ox"[on] + mode[k + 1 :]
            r, direction = (f"{x} - 1", 1) if on else (x, -1)
            guards.append({"mode": mode, "r": r, "direction": direction, "to": to})
    system = ex.HybridSystem("two thermostats", x="p q", modes=modes, guards=guards)
    system.start(x=[0.5, 0.5], mode="oo", t_end=3)
    run = ex.simulate(system)
    assert len(run.events) == 6
    assert not run.cautions
