"""On which side of a surface a formula is held, as Python runs its kernels."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from plain import plain

from explorer.kernels.event_driven.records import ARMED, LEAVING, PASSED

sides = plain("event_driven.sides")
UNTOUCHED = -9


def surface(u=0.0, later=0.0, size=0.0, quick=0, whole=False, now=0):
    """Return two surfaces, of which the second has had the value u; `later` stands in `out`."""
    one = np.zeros(2, [("now", int), ("place", int)]).view(np.recarray)
    one.place, one.now = [7, 8], [0, now]
    problem = SimpleNamespace(
        sides=one, inp=np.full(12, np.nan), out=np.array([np.nan, np.nan, np.nan, later]),
        sizes=SimpleNamespace(n_x=3),
    )  # fmt: skip
    watch = [
        SimpleNamespace(arm=UNTOUCHED, shift=9.0, sign=0.0, nearest=0.0, falling=9) for _ in "ab"
    ]
    history = [SimpleNamespace(value=u, size=size, quick=quick, whole=int(whole)) for _ in "ab"]
    functions = SimpleNamespace(table="table")
    return problem, SimpleNamespace(watch=watch, history=history, inverse=9, functions=functions)


def test_formulas_are_looked_at_where_the_state_is(monkeypatch):
    problem, surfaces = surface()
    told = []
    monkeypatch.setitem(sides.look.__globals__, "evaluate", lambda *given: told.append(given))
    sides.look(problem, surfaces, 2.0, np.array([3.0, 4.0, 5.0]))
    ((table, which, inp, out),) = told
    assert (table, which) == ("table", 0)
    assert inp is problem.inp
    assert inp[:4].tolist() == [2, 3, 4, 5]
    assert np.isnan(inp[4:]).all()
    assert out is problem.out


@pytest.mark.parametrize(
    ("given", "side", "arm", "shift"),
    [
        ({"u": 0.5, "later": 0.4}, 1, ARMED, 0.0),
        ({"u": -0.5, "later": 0.4}, -1, ARMED, 0.0),
        ({"u": 1e-9, "later": -2.0, "size": 1.0}, 1, ARMED, 0.0),
        ({"u": 0.0, "later": 0.2}, 1, LEAVING, 0.0),
        ({"u": 0.0, "later": -0.2}, -1, LEAVING, 0.0),
        ({"u": 1e-13, "later": -1e-3, "size": 1.0}, -1, LEAVING, -1e-13),  # on its way back
        ({"u": 1e-13, "later": 1e-3, "size": 1.0}, 1, LEAVING, 0.0),
        ({"u": 1e-13, "later": 1.0001e-13, "size": 1.0}, None, UNTOUCHED, 9.0),  # round-off
        ({"u": 0.0, "later": 0.0, "size": 1.0}, None, UNTOUCHED, 9.0),
        ({"u": 0.0, "later": 5e-14, "size": 100.0}, None, UNTOUCHED, 9.0),  # of the largest |u|
        ({"u": 0.0, "later": -2e-13, "size": 100.0}, -1, LEAVING, 0.0),
        ({"u": 5e-11, "later": 1.0, "size": 100.0}, 1, LEAVING, 0.0),
        ({"u": 5e-11, "later": 0.0, "size": 100.0}, -1, LEAVING, -5e-13),
        ({"u": 1e-7, "later": 1.0, "quick": 3}, None, UNTOUCHED, 9.0),  # too often too soon
        ({"u": 1e-5, "later": 1.0, "quick": 3}, 1, ARMED, 0.0),
        ({"u": 1e-7, "later": 1.0, "quick": 2}, 1, ARMED, 0.0),
        ({"u": 2.3, "later": 2.4, "whole": True}, 5, ARMED, 0.0),  # floor(u) = 2
        ({"u": 1.8, "later": 1.9, "whole": True}, 3, ARMED, 0.0),
        ({"u": 2.0, "later": 2.1, "whole": True}, 5, LEAVING, 0.0),
        ({"u": 2.0, "later": 1.9, "whole": True}, 3, LEAVING, 0.0),
        ({"u": -0.2, "later": -0.3, "whole": True}, -1, ARMED, 0.0),
    ],
)
def test_a_side_is_held_where_u_is_clear_of_zero_or_leaves_it(monkeypatch, given, side, arm, shift):
    problem, surfaces = surface(**given)
    assert sides.catch(problem, surfaces, 1) == (side is not None)
    watch = surfaces.watch[1]
    assert (problem.sides.now[1], watch.arm) == (side or 0, arm)
    assert watch.shift == pytest.approx(shift, abs=0.0)
    size = max(abs(given["u"]), abs(given["later"]), given.get("size", 0), given.get("whole", 0))
    assert surfaces.history[1].size == size
    assert surfaces.watch[0].arm == UNTOUCHED
    if side is not None:
        assert problem.inp[8] == side
        assert problem.inp[9 + 1] == 1 / size
        assert watch.sign == (1.0 if side > 0 or given.get("whole") else -1.0)
        assert (watch.nearest, watch.falling) == (np.inf, 0)


def test_what_is_held_or_has_no_size_is_left_as_it_is(monkeypatch):
    for given in ({"u": -1.0, "now": 1}, {}, {"u": np.inf}, {"u": 1.0, "later": np.nan, "now": -1}):
        problem, surfaces = surface(**given)
        assert sides.catch(problem, surfaces, 1)
        assert problem.sides.now[1] == given.get("now", 0)
        assert surfaces.watch[1].arm == UNTOUCHED


def test_sides_are_released_together(monkeypatch):
    problem, surfaces = surface(now=-1)
    assert not sides.free(problem)
    sides.release(problem, surfaces)
    assert sides.free(problem)
    assert problem.inp[7:9].tolist() == [0, 0]
    assert [one.arm for one in surfaces.watch] == [PASSED, PASSED]


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("guess", [0.4, 0.499, 0.6, 1.3])
def test_a_step_ends_where_a_surface_that_moves_is_met(monkeypatch, sign, guess):
    """u = a (x - s t^2): the step to it is made again until it ends there, within the step."""
    t, h, v, s, told = 2.0, 0.5, 3.0, 0.75, []
    zero = 0.5 * h
    x0 = s * (t + zero) ** 2 - v * zero

    def u(time, x):
        return sign * 4.0 * (x - s * time**2)

    names = "wrt partner resets saddle rows changes links drive active"
    problem, surfaces = surface()
    problem = SimpleNamespace(
        **vars(problem), **dict.fromkeys(names.split())
    )  # fmt: skip
    surfaces = SimpleNamespace(
        **vars(surfaces), samples=np.zeros((9, 2)), automaton="automaton", sizes=None, state=None
    )
    found = [SimpleNamespace(fraction=guess, slope=np.nan, length=np.nan, status=UNTOUCHED)]
    search = SimpleNamespace(found=found, x=None, rates=None, values=None, when=None)
    step = SimpleNamespace(dense="dense", new=np.zeros(1))
    rises = u(t + h, x0 + v * h) > u(t, x0)
    surfaces.watch[1] = SimpleNamespace(sign=-1.0 if rises else 1.0, shift=0.0)
    fails = []

    def advance(_, __, step, first, last, begin, y, length, width):
        told.append(length)
        assert (first, last, begin, width) == (1, 7, t, 6)
        step.new[:] = x0 + v * length
        return 77 if fails else 0

    def first_event(watched, automaton, polynomial, sampled, final, band, patient):
        assert (automaton, tuple(polynomial)) == ("automaton", (0, "dense", "y", t, h))
        assert (final, band, patient) == (False, sides.ROUND_OFF, True)
        found[0].slope = -abs(u(t + h, x0 + v * h) - u(t, x0))  # per step
        return 1

    def look(_, __, time, y):
        problem.out[1] = u(time, y[0]) if isinstance(y, np.ndarray) else u(t, x0)

    for name, stand_in in {
        "advance": advance, "first_event": first_event, "look": look, "interpolate": lambda *_: None,
        "value_of": lambda x: x, "Problem": lambda *given: None,
    }.items():  # fmt: skip
        monkeypatch.setitem(sides.cross.__globals__, name, stand_in)
    method = SimpleNamespace(stages=7, last=7, code=0)
    given = (problem, method, surfaces, step, search, t, "y", h, 6, True)
    assert sides.cross(*given) == 1
    assert found[0].length == told[-1]
    assert told[0] == min(guess, 1.0) * h
    assert found[0].length == pytest.approx(zero, rel=1e-13)
    found[0].fraction = 1e-17
    assert sides.cross(*given) == 1
    assert found[0].length == 0, "too short to be told from none"
    found[0].fraction = guess
    fails.append(True)
    assert sides.cross(*given) == sides.FAILED
    assert found[0].status == 77


@pytest.mark.parametrize("now", [1, -1])
@pytest.mark.parametrize(("since", "quick"), [(0.9, 2), (1.1, 0)])
def test_a_surface_that_is_crossed_is_held_on_its_other_side(monkeypatch, now, since, quick):
    """One that comes back soon, beside the length of a step, is counted; here for the second time."""
    h, t = 0.25, 5.0
    problem, surfaces = surface(now=now, quick=1)
    surfaces.history[1].crossed = t - since * sides.SOON * h
    surfaces.watch[1].sign, told = float(now), []
    monkeypatch.setitem(sides.flip.__globals__, "put", lambda _, j, side: told.append((j, side)))
    monkeypatch.setitem(sides.flip.__globals__, "OFTEN", 9)
    monkeypatch.setitem(sides.flip.__globals__, "look", lambda *_: problem.out.__setitem__(1, 0.5))
    sides.flip(problem, surfaces, 1, t, None, h)
    watch, history = surfaces.watch[1], surfaces.history[1]
    assert told == [(1, -now)]
    assert (watch.sign, watch.arm, watch.falling, watch.nearest) == (-now, LEAVING, 0, np.inf)
    assert watch.shift == min(-now * 0.5, 0.0)
    assert (history.quick, history.crossed) == (quick, t)


def test_a_surface_that_comes_back_too_often_becomes_free(monkeypatch):
    for quick, free in ((sides.OFTEN - 2, False), (sides.OFTEN - 1, True)):
        problem, surfaces = surface(now=1, quick=quick)
        surfaces.history[1].crossed, told = 5.0, []
        monkeypatch.setitem(
            sides.flip.__globals__, "put", lambda _, j, side, told=told: told.append((j, side))
        )
        monkeypatch.setitem(sides.flip.__globals__, "look", lambda *_: None)
        problem.out[:] = 0.0
        sides.flip(problem, surfaces, 1, 5.0, None, 0.25)
        assert told == [(1, 0 if free else -1)]
        assert (surfaces.watch[1].arm == PASSED) == free


@pytest.mark.parametrize(
    ("u", "now", "told"),
    [(0.999, 1, 3), (0.001, 1, -1), (1.001, 3, 1), (1.999, 3, 5), (-0.999, -1, -3)],
)
def test_floor_goes_on_to_the_whole_number_that_is_met(monkeypatch, u, now, told):
    """n stands as 2 n + 1: from between 0 and 1 up to the next interval, or down."""
    problem, surfaces = surface(now=now, whole=True)
    surfaces.history[1].crossed, seen = -9.0, []
    monkeypatch.setitem(sides.flip.__globals__, "put", lambda _, j, side: seen.append((j, side)))
    monkeypatch.setitem(
        sides.flip.__globals__, "look", lambda *_: problem.out.__setitem__([1, 3], [0.0, u])
    )
    sides.flip(problem, surfaces, 1, 5.0, None, 0.25)
    assert seen == [(1, told)]


def test_a_free_surface_is_passed():
    problem, surfaces = surface(now=0)
    sides.flip(problem, surfaces, 1, 5.0, None, 0.25)
    assert surfaces.watch[1].arm == PASSED


@pytest.mark.parametrize("place", [0, 1, None])
def test_sides_are_released_where_a_formula_ends_at_its_surface(monkeypatch, place):
    """As that of sqrt(u): its side has no finite slope, in whichever state."""
    problem, surfaces = surface(now=1)
    slope, told = np.array([1.0, 2.0]), []
    step = SimpleNamespace(slope=slope)

    def flow(_, t, y, slope, width):
        told.append(("flow", t, width))
        slope[:] = 1.0, 2.0
        if place is not None and len(told) == 1:
            slope[place] = np.nan
        return 5

    monkeypatch.setitem(sides.turn.__globals__, "hold", lambda *_: True)
    monkeypatch.setitem(sides.turn.__globals__, "free", lambda _: False)
    monkeypatch.setitem(sides.turn.__globals__, "release", lambda *_: told.append("release"))
    monkeypatch.setitem(sides.turn.__globals__, "flow", flow)
    assert sides.turn(problem, surfaces, step, None, -1, 3.0, np.zeros(2), 0.1, 4) == 5
    once = [("flow", 3.0, 4)]
    assert told == (once if place is None else [*once, "release", *once])
