"""What continuation is asked for, and with which numbers and starts it begins."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from loops import for_each
from plain import put, space
from test_study_branches import bare

import explorer as ex
from explorer.errors import BadValue, NotApplicable, StepFailed
from explorer.study import equilibria
from explorer.study.continuation import (
    _cycle,
    _equilibrium,
    _map_cycle,
    _model_start,
    _start,
    _traced,
)
from explorer.study.trace import CLOSED, STOPPED

asked_for = inspect.unwrap(ex.study.continuation)


# ---------------------------------------------------------------- options


@for_each(("which", "given"), [
    ("map", {}), ("rest", {}), ("cycle", {"period": 2.0}), ("cycle", {"section": "wall"}), ("cycle", {"period": 2.0, "section": "wall"}), ("map", {"period": 2.0}), ("map", {"section": "a"}),
])  # fmt: skip
@for_each(("direction", "step"), [("both", 0.02), ("up", 0.5), ("down", 3)])
def test_a_branch_is_followed_in_parts_of_its_range(monkeypatch, which, given, direction, step):
    """Steps are at least 1e-4 and at most twice the first one; ends are in units of the range."""
    system = ex.models.tent_map() if which == "map" else ex.models.impact_oscillator()
    name = next(iter(system.parameters))
    said = {}

    def made(kind):
        return lambda *given: said.update(kind=kind, given=given) or ("problem", kind)

    put(monkeypatch, asked_for, _map_cycle=made("map"), _equilibrium=made("rest"), _cycle=made("cycle"),
        _range=lambda system, parameter, over, values: said.update(range=(parameter, over, values[0])) or (1.0, 5.0),
        _traced=lambda *given: given)  # fmt: skip
    stop = lambda: True  # noqa: E731
    value = 0.5 * (system.parameters[name].low + system.parameters[name].high)
    found = asked_for(system, "scheme", name, over=(7, 8), count=3, guess="guess", direction=direction, step=step, stop=stop, rho={name: value}, **given)  # fmt: skip
    problem, first, options, way, section = found
    assert (problem, first, way) == ("problem", which, direction)
    assert section == (None if "period" in given else given.get("section"))
    assert (options.h, options.h_min, options.h_max) == pytest.approx((step, 1e-4 * step, 2 * step))
    assert (options.low, options.high, options.tol, options.most) == (0.25, 1.25, 1e-9, 1000)
    assert options.stop is stop
    assert said["range"] == (name, (7, 8), value)
    assert said["kind"] == which
    more = (given.get("section"), given.get("period"), 3, "guess")
    own = said["given"]
    if which == "rest":
        assert (own[0], own[1], own[3], own[4]) == (system, name, "guess", 4.0)
        values = own[2]
    else:
        start = (system, name) if which == "map" else (system, "scheme", name)
        assert own[: len(start) + 4] == (*start, *more)
        assert own[-1] == 4.0
        values = own[-2]
    assert values[0] == value


@for_each(("given", "why"), [({"direction": "upp"}, "must be one of both, up, down"), ({"step": 0.0}, "step"), ({"step": -1.0}, "step")])  # fmt: skip
def test_a_direction_and_a_step_are_refused_that_are_none(given, why):
    system = ex.models.impact_oscillator()
    with pytest.raises(BadValue, match=why):
        asked_for(system, parameter="omega", period="2*pi/omega", **given)


# ---------------------------------------------------------------- both directions


@for_each("direction", ["both", "up", "down"])
@for_each("closed", [False, True])
def test_a_branch_is_followed_down_first_and_then_up_from_its_start(monkeypatch, direction, closed):
    """Unless it is closed: then once round is all."""
    said = []
    start = space(w="w", tangent=np.array([0.6, 0.8]), at="at")

    def trace(problem, node, options):
        said.append(("trace", node.tangent.tolist(), node.w, node.at, options))
        return space(reason=CLOSED if closed else STOPPED, k=len(said))

    put(monkeypatch, _traced, _start=lambda *given: start if given == (problem, "first", "options") else None,
        trace=trace, assembled=lambda problem, back, forth, options, section: (back and back.k, forth.k, options, section))  # fmt: skip
    problem = space(restart=lambda: said.append("restart"))
    back, forth, *rest = _traced(problem, "first", "options", direction, "section")
    assert rest == ["options", "section"]
    down, up = (("trace", [s * 0.6, s * 0.8], "w", "at", "options") for s in (-1, 1))
    if direction == "up":
        assert said == [up]
        assert (back, forth) == (None, 1)
    elif direction == "down" or closed:
        assert said == [down, "restart"]
        assert (back, forth) == (None, 1)
    else:
        assert said == [down, "restart", up]
        assert (back, forth) == (1, 3)


# ---------------------------------------------------------------- the first point


@for_each(("found", "clock", "kind"), [(True, None, "cycles"), (False, None, "cycles"), (False, "ramp", "cycles"), (False, None, "rest"), (False, "ramp", "rest")])  # fmt: skip
def test_the_first_point_has_the_value_of_the_parameter_that_is_given(monkeypatch, found, clock, kind):  # fmt: skip
    """Where there is none, a clock may be why."""
    asked = []

    def correct(*given, **more):
        asked.append((given, more))
        return ("node", 3) if found else None

    put(monkeypatch, _start, correct=correct, clock_of=lambda system: clock)
    own = {"evaluate": lambda self, u, full: space(size=0.125) if not full else None, "kind": kind}
    base = equilibria.Equilibria if kind == "rest" else object
    problem = bare(
        type("Own", (base,), own), scale=np.array([2.0, 5.0, 4.0]), system=space(name="m")
    )
    given = problem, np.array([3.0, 10.0, 8.0]), space(tol=1e-7)
    if found:
        assert _start(*given) == "node"
        ((own_problem, w, plane, tol), more) = asked[0]
        assert own_problem is problem
        assert (w.tolist(), plane.tolist(), tol, more) == ([1.5, 2.0, 2.0], [0.0, 0.0, 1.0], 1e-7, {"most": 20})  # fmt: skip
    elif clock and kind == "rest":
        with pytest.raises(NotApplicable, match=r"'m' has a clock, .* section='ramp'"):
            _start(*given)
    else:
        with pytest.raises(StepFailed, match=f"no {kind} of 'm' .* residual is 0.125"):
            _start(*given)


# ---------------------------------------------------------------- equilibria and maps


@for_each(("guess", "x", "why"), [
    (None, [1.0, 2.0, 3.0], None), ({"y": 7.0}, [1.0, 7.0, 3.0], None), ([4.0, 5.0, 6.0], [4.0, 5.0, 6.0], None), ({"x": 4, "z": 6}, [4.0, 2.0, 6.0], None), ({"w": 1.0}, None, "no state 'w'"),
    ([1.0, 2.0], None, r"needs 3 numbers \(x, y, z\), but 2 are given"), ([1.0] * 4, None, "but 4 are given"),
])  # fmt: skip
def test_equilibria_begin_near_a_guess_or_the_start_of_the_model(monkeypatch, guess, x, why):
    made = []
    problem = space(first=lambda x: ("first", x.tolist()))
    put(monkeypatch, _equilibrium, formulas_of=lambda system: made.append(system), _model_start=lambda system, values: [1, 2, 3] if values == "values" else None,
        Equilibria=lambda system, parameter, values, x, span: made.append((parameter, values, x.tolist(), span)) or problem)  # fmt: skip
    system = space(_state_names=lambda: ["x", "y", "z"])
    if why:
        with pytest.raises(BadValue, match=why):
            _equilibrium(system, "p", "values", guess, 4.0)
        return
    assert _equilibrium(system, "p", "values", guess, 4.0) == (problem, ("first", x))
    assert made == [system, ("p", "values", x, 4.0)]


def test_the_start_of_a_model_is_that_at_the_parameters():
    system = ex.HybridSystem("m", x="x y", params={"a": 2.0})
    system.mode("only", flow=["-x", "a"])
    system.start(x=["a + 1", "3*a"], t_end=1)
    found = _model_start(system, np.array([5.0]))
    assert found.tolist() == [6.0, 15.0]


@for_each(("section", "period", "count", "why"), [
    (None, None, 1, None), (None, None, 4, None), (None, None, 3.0, None), ("a", None, 1, "no section and no period"), (None, 2.0, 1, "no section and no period"), (None, None, 0, "count = 0 must"),
    (None, None, 1.5, "count = 1.5 must"),
])  # fmt: skip
def test_a_cycle_of_a_map_has_a_whole_number_of_iterates(monkeypatch, section, period, count, why):
    made = []
    put(monkeypatch, _map_cycle, first_orbit=lambda *given: made.append(given) or "points",
        MapCycles=lambda *given: made.append(given) or space(first=lambda: "first"))  # fmt: skip
    given = space(name="m"), "p", section, period, count, "guess", "values", 4.0
    if why:
        with pytest.raises(BadValue, match=why):
            _map_cycle(*given)
        return
    assert _map_cycle(*given)[1] == "first"
    system = given[0]
    assert made == [(system, "values", "guess", count), (system, "p", "values", "points", 4.0)]
    assert isinstance(made[0][3], int)


# ---------------------------------------------------------------- cycles


@for_each("steps", [False, True])
@for_each("period", [None, 3.0])
@for_each("mode", [None, "b"])
@for_each("off", [True, False])
def test_a_cycle_begins_at_its_event_and_then_in_the_middle_of_its_longest_piece(monkeypatch, steps, period, mode, off):  # fmt: skip
    """Of a switched system it is the one that a run settles on; a forced one begins at t = 0."""
    made = []
    kind = type("Own", (ex.StepSystem if steps else ex.HybridSystem,), {})
    system = bare(kind, name="m", parameters=("p", "q"))
    scheme = ex.EventDriven()
    modes = [space(name="a"), space(name="b")]
    cycle = space(x="x", period=2.0, map=space(mode=mode, _hybrid=space(modes=modes)))
    problem = space(
        _shoot=lambda x, T, slopes: (x, T) if not slopes else None,
        middle=lambda run, mode: (("middle", run, mode), None),
        begin=lambda shot: made.append(("begin", shot)), off_surfaces=lambda shot: off, first=lambda shot: ("first", shot),
    )  # fmt: skip
    put(monkeypatch, _cycle, choose=lambda system, one: one,
        ReturnMap=lambda *given, **more: made.append(("map", *given[2:], more)) or "map", settled=lambda P, guess: ("x", 2.0) if (P, guess) == ("map", "guess") else None,
        limit_cycle=lambda *given, **more: made.append(("cycle", *given[2:], more)) or cycle,
        Cycles=lambda *given, **more: made.append(("problem", *given[2:], more)) or problem)  # fmt: skip
    given = system, scheme, "q", "s", period, 2, "guess", np.array([5.0, 6.0]), 4.0
    if not off:
        with pytest.raises(NotApplicable, match="'m' begins on a slide"):
            _cycle(*given)
        return
    found, (_, first) = _cycle(*given)
    assert found is problem
    rho = {"p": 5.0, "q": 6.0}
    settles = steps and period is None
    if settles:
        assert made[0] == ("map", "s", {"count": 2, "rho": rho})
    else:
        assert made[0] == ("cycle", "s", {"period": period, "count": 2, "guess": "guess", "rho": rho})  # fmt: skip
    name, parameter, values, shot, span, more = made[1]
    assert (name, parameter, values.tolist(), span) == ("problem", "q", [5.0, 6.0], 4.0)
    assert more == {"period": period, "count": 2}
    assert (shot.x, shot.T, shot.mode) == ("x", 2.0, 1 if mode and not settles else -1)
    if period is None:
        assert first == ("middle", ("x", 2.0), shot.mode)
        assert made[2:] == [("begin", first)]
    else:
        assert first is shot
        assert len(made) == 2


def test_a_cycle_needs_a_scheme_that_locates_events(monkeypatch):
    put(monkeypatch, _cycle, choose=lambda system, one: "none" if one == "given" else one)
    with pytest.raises(NotApplicable, match="str does not locate events"):
        _cycle(None, "given", "p", "s", None, 1, None, np.zeros(0), 1.0)
    chosen = []
    put(monkeypatch, _cycle, choose=lambda system, one: chosen.append(one))
    with pytest.raises(NotApplicable):
        _cycle(None, None, "p", "s", None, 1, None, np.zeros(0), 1.0)
    assert (chosen[0].rtol, chosen[0].atol) == (1e-11, 1e-12)
