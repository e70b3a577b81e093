"""Return maps, starts of basins and orbits of maps, each part by itself."""

from __future__ import annotations

import numpy as np
import pytest
from loops import for_each
from plain import space
from test_study_branches import bare

import explorer as ex
from explorer.errors import BadValue, StepFailed
from explorer.study import (
    basin_map,
    cycles,
    map_cycles,
    return_map,
)

COVERS = ("study/map_cycles.py",)  # see mutant_rooms.py

# ---------------------------------------------------------------- return maps


@for_each(("to", "mode"), [((), "run"), ((0, 1), "run"), ((1,), "swing"), ((2, 1), "rest")])
def test_a_return_begins_in_the_mode_behind_its_section(to, mode):
    """In that of the model if the section leads there, or leads nowhere."""
    modes = [space(name=name) for name in ("run", "swing", "rest")]
    guards = [space(name="strike", targets=to), space(name="other", targets=(2,))]
    system = bare(type("Own", (ex.HybridSystem,), {"modes": modes, "guards": guards, "start_mode": 0}))  # fmt: skip
    assert bare(return_map.ReturnMap, system=system, section="strike")._mode() == mode
    assert bare(return_map.ReturnMap, system=None, section="strike")._mode() is None


@for_each(("ok", "last", "mode", "told"), [
    (True, 2.0, "b", None), (True, 2.0, None, None), (True, 2.0, "a", "is in the mode 'b' and not in 'a'"), (False, 2.0, "b", "end of the period: said"),
    (True, 1.5, "b", "end of the period: said"),
])  # fmt: skip
def test_a_return_over_a_period_ends_in_its_mode(monkeypatch, ok, last, mode, told):
    """Its Jacobian is S at the end, along the directions in which the start may move."""
    S = np.arange(18.0).reshape(2, 3, 3)[:, :, :2]
    run = space(status=space(ok=ok, message="said"), t=np.array([0.0, last]), mode=[0, 1],
                x=np.array([[1.0, 2.0], [3.0, 4.0]]), S=S)  # fmt: skip
    asked = []
    own = {"_run": lambda self, x, span, n_x: asked.append((span, n_x)) or run, "_name_of": lambda self, k: "ab"[k]}  # fmt: skip
    one = bare(type("Own", (return_map.ReturnMap,), own), period=2.0, mode=mode, system=space(name="m"))  # fmt: skip
    for free in (None, np.array([[0.6], [0.8]])):
        monkeypatch.setattr(return_map, "directions", lambda run, free=free: free)
        if told:
            with pytest.raises((BadValue, StepFailed), match=told):
                one(np.zeros(2))
            continue
        found = one(np.zeros(2))
        whole = S[1, :2] if free is None else S[1, :2] @ free @ free.T
        np.testing.assert_allclose(found.jacobian, whole)
        assert (found.x.tolist(), found.T, found.run, found.free) == ([3.0, 4.0], 2.0, run, free)
        assert asked[-1] == (2.0, 2)


def passed(*times, kind="impact", crossed=True):
    same = np.array([5.0, 6.0])
    return [space(t=t, contact="wall", kind=kind, x_minus=same, x_plus=same if crossed else same + t) for t in times]  # fmt: skip


@for_each(("count", "spans", "T"), [(1, [4.0], 1.0), (2, [4.0], 3.0), (3, [4.0, 10.0], 7.0), (4, [4.0, 10.0], None)])  # fmt: skip
def test_a_return_is_looked_for_in_the_last_span_first(count, spans, T):
    """Its Jacobian is S behind the event, and the flow times how the event moves."""
    asked, every = [], passed(1.0, 3.0, 7.0, crossed=False)
    S, flow, moves = np.arange(18.0).reshape(3, 6), np.arange(9.0).reshape(3, 3), np.arange(6.0).reshape(3, 2)  # fmt: skip

    def sought(self, x, span, n_x):
        asked.append(span)
        march = space(part=lambda name: {"s_plus": S, "f_plus": flow, "dtau": moves}[name])
        return space(located=[e for e in every if e.t <= span], march=march, status=space(ok=True))

    own = {"_run": sought, "_unmet": lambda self, run: "unmet", "_returned": lambda self, *found: found}  # fmt: skip
    one = bare(type("Own", (return_map.ReturnMap,), own), period=None, count=count, t_max=10.0, section="wall",
               _span=4.0, _last=0.0, system=space(name="m"))  # fmt: skip
    if T is None:
        with pytest.raises(BadValue, match="unmet"):
            one(np.zeros(2))
    else:
        x, found, DP, _ = one(np.zeros(2))
        k = count - 1
        assert (x.tolist(), found) == ([5.0 + T, 6.0 + T], T)
        wanted = S[k].reshape(2, 3).T[:2] + np.outer(flow[k, :2], moves[k])
        np.testing.assert_allclose(DP, wanted)
        assert (one._span, one._last) == (2 * T, T)
    assert asked == spans


@for_each(("t", "kind", "crossed", "last", "ends"), [
    (1.0, "impact", False, 0.0, True), (1.0, "released", False, 0.0, False), (5e-9, "impact", False, 0.0, False), (2e-8, "impact", False, 99.0, True),
    (2e-4, "event", True, 3.0, False), (4e-4, "event", True, 3.0, True), (2e-4, "event", False, 3.0, True),
])  # fmt: skip
def test_a_start_on_its_section_is_no_return(t, kind, crossed, last, ends):
    one = bare(return_map.ReturnMap, t_max=10.0, _last=last, section="wall")
    (event,) = passed(t, kind=kind, crossed=crossed)
    assert one._ends(event) == ends
    event.contact = "floor"
    assert not one._ends(event)


@for_each(("side", "x", "new", "same"), [
    (1, 1.0, 2.0, True), (1, 1.0, -2.0, False), (-1, 1.0, -2.0, True), (-1, -1.0, 2.0, False), (1, 0.0, -2.0, True), (1, 1.0, 0.0, True),
])  # fmt: skip
def test_a_state_that_has_passed_a_guard_lies_on_the_other_side(side, x, new, same):
    guard = space(side=side, value=lambda t, x, rho: x[0])
    one = bare(type("Own", (return_map.ReturnMap,), {"_guards": [guard]}), rho=None)
    assert one.same_side(np.array([x]), np.array([new])) == same


@for_each(("index", "there"), [((0, 0), True), ((1, 2), True), ((2, 0), False), ((0, 3), False), ((-1, 0), False), ((0,), False), ((0, 0, 0), False)])  # fmt: skip
def test_a_start_of_basins_is_one_of_its_axes(monkeypatch, index, there):
    """Its parameters are those of its axes, its states those of the starts."""
    asked = []
    monkeypatch.setattr(basin_map, "Question", lambda *given: asked.append(given))
    over = [space(names=("x",), values=np.array([[1.0], [2.0]])), space(names=("b", "y"), values=np.arange(6.0).reshape(3, 2))]  # fmt: skip
    system = space(name="m", parameters=("a", "b"))
    settings = space(system=system, scheme="s", t_end=9.0, section="z")
    starts = space(names=("y", "x"), axes_of=lambda rows: rows.tolist())
    kind = type("Own", (basin_map.Basins,), {"shape": (2, 3), "system": system})
    one = bare(kind, over=over, rho=(7.0, 8.0), settings=settings, starts=starts)
    if not there:
        with pytest.raises(BadValue, match="is no start of basins of shape"):
            one.question(*index)
        return
    one.question(*index)
    b, y = over[1].values[index[1]]
    assert asked == [(system, "s", (7.0, b), [[y, 1.0 + index[0]]], 9.0, 0.0, "z")]


@for_each(("guess", "told"), [
    ({"y": 5}, [1.0, 5.0]), ([3, 4], [3.0, 4.0]), ({"z": 1}, "no state 'z'"), ([1.0], "needs 2 numbers"), ([1.0, 2, 3], "needs 2 numbers"),
])  # fmt: skip
def test_an_orbit_begins_at_a_guess(monkeypatch, guess, told):
    asked = []
    monkeypatch.setattr(map_cycles, "compile_map", lambda system: space(start=lambda rho: (np.array([1.0, 2.0]), 0)))  # fmt: skip
    monkeypatch.setattr(map_cycles, "_iterated", lambda compiled, rho, x, count: asked.append((x.tolist(), count)))  # fmt: skip
    system = space(name="m", coordinates=("x", "y"))
    if isinstance(told, str):
        with pytest.raises(BadValue, match=told):
            map_cycles.first_orbit(system, np.zeros(1), guess, 4)
        return
    map_cycles.first_orbit(system, np.zeros(1), guess, 4)
    assert asked == [(told, 3)]


def test_without_a_guess_an_orbit_is_where_it_comes_nearest_to_its_beginning(monkeypatch):
    """Behind what settles, the first of those that are best."""
    count, best = 3, 4
    settles, looked = map_cycles._SETTLES, map_cycles._LOOKED
    asked = []

    def iterated(compiled, rho, x, many):
        asked.append((x.tolist(), many))
        orbit = np.stack([np.arange(many + 1.0) ** 2, 0 * np.arange(many + 1.0)], axis=1)
        orbit[settles + best + count] = orbit[settles + best] + 1e-3
        return orbit

    monkeypatch.setattr(map_cycles, "compile_map", lambda system: space(start=lambda rho: (np.array([1.0, 2.0]), 0)))  # fmt: skip
    monkeypatch.setattr(map_cycles, "_iterated", iterated)
    found = map_cycles.first_orbit(space(coordinates=("x", "y")), np.zeros(1), None, count)
    assert asked == [([1.0, 2.0], settles + looked + 2 * count)]
    assert found[:, 0].tolist() == [float((settles + best + k) ** 2) for k in range(count)]


def test_an_orbit_of_a_map_takes_the_branch_of_each_point(monkeypatch):
    """x -> 3 x below 2, else x -> x - 1, and no number beyond 100."""
    monkeypatch.setattr(map_cycles, "_branch_of", lambda compiled, x, rho: int(x[0] >= 2))
    pieces = [lambda inp: np.array([3 * inp[1] * inp[2], np.nan]), lambda inp: np.array([inp[1] - 1 if inp[1] < 100 else np.inf, np.nan])]  # fmt: skip
    compiled = space(n_x=1, pieces=pieces, input=lambda rho: np.array([0.0, 0.0, *rho]), system=space(name="m"))  # fmt: skip
    found = map_cycles._iterated(compiled, np.array([1.0]), [1.0], 4)
    assert found[:, 0].tolist() == [1.0, 3.0, 2.0, 1.0, 3.0]
    with pytest.raises(BadValue, match="escapes at iterate 2 from here"):
        map_cycles._iterated(compiled, np.array([200.0]), [1.0], 4)


@for_each(("kind", "constraints", "free"), [(ex.HybridSystem, 1, True), (ex.MechanicalSystem, 0, True), (ex.MechanicalSystem, 1, None), (ex.StepSystem, 0, None)])  # fmt: skip
def test_a_start_may_move_beside_surfaces_or_along_contacts(kind, constraints, free):
    system = bare(type("Own", (kind,), {"constraints": [7] * constraints}))
    run, start = object(), space(x=np.array([1.0]), T=4.0, mode=3)
    for clear in (True, False):
        asked = []
        misses = space(clear=lambda *given, clear=clear, asked=asked: asked.append(given) or clear)
        own = {"_shoot": lambda self, x, T, slopes: run}
        one = bare(type("Shooting", (cycles.Cycles,), own), system=system, misses=misses)
        assert one.off_surfaces(start) == (clear if free is None else free)
        assert asked == ([(run, 0.0, 3)] if free is None else [])


def test_a_section_that_is_met_several_times_a_cycle_is_told():
    block = ex.models.stick_slip()  # it begins to stick and to slip
    with pytest.raises(StepFailed, match=r"meets 'belt' 2 times a cycle: use count=2\.$"):
        ex.study.limit_cycle(block, section="belt")
    assert ex.study.limit_cycle(block, section="belt", count=2).period > 4
    start = return_map.ReturnMap(block, None, "belt").start()
    assert return_map.ReturnMap(block, None, "belt", count=2).recurrence(start) == ""
    assert "use count=4" in return_map.ReturnMap(block, None, "belt", count=3, t_max=40).recurrence(
        start
    )
    assert return_map.ReturnMap(block, None, period=1.0).recurrence(start) == ""
