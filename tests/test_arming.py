"""Which guards are watched from the begin of a stretch on, and which fire at once, uncompiled."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from loops import for_each
from plain import plain

from explorer.kernels.event_driven.records import (
    ARMED,
    BOUNDS,
    HAS_WHEN,
    LEAVING,
    PASSED,
    TERMINAL,
    UNARMED,
)

arming = plain("event_driven.arm_guards")
BAND, NOISE = 1e-6, arming.NOISE
HERE, BEYOND, AT = 0.5 * NOISE, 2 * BAND, 0.5 * BAND  # on the zero, past it, near it
N, J, FIRST, COUNT = 2, 1, 4, 3  # states, the guard, the first of its mode among all, their number
NOTHING, ANOTHER, ITSELF = -2, 0, J  # what has fired last


def guarded(
    monkeypatch, value, rate, *, direction=-1, fired=ANOTHER, flags=BOUNDS, before=UNARMED, when=1.0,
    watched=1,
):  # fmt: skip
    """Return the watch of a guard with a value and its rate, and whether it fires at once."""
    slope, scratch = np.arange(5.0, 6.0 + N), SimpleNamespace(
        row=np.full(9, np.nan), at=SimpleNamespace(f_minus=3), head=[SimpleNamespace(D=np.nan)]
    )  # fmt: skip

    def gradient(problem, automaton, j, event):
        assert j == J
        assert event.row[3 : 4 + N].tolist() == slope.tolist()
        event.head[0].D = rate

    monkeypatch.setitem(arming.arm_guard.__globals__, "guard_gradient", gradient)
    monkeypatch.setitem(arming.arm_guard.__globals__, "flags_of", lambda *given: flags)
    watch = [SimpleNamespace(sign=9.0, shift=9.0, falling=9, arm=before) for _ in range(COUNT)]
    guards = [SimpleNamespace(direction=9) for _ in range(FIRST + COUNT)]
    guards[FIRST + J].direction = direction
    automaton = SimpleNamespace(first=np.array([0, FIRST, FIRST + COUNT]), guards=guards)
    problem = SimpleNamespace(
        sizes=SimpleNamespace(n_x=N, mechanical=False), state=[SimpleNamespace(fired=fired, mode=1, watched=watched)]
    )  # fmt: skip
    values, times = np.full(COUNT, np.nan), np.full(COUNT, np.nan)
    values[J], times[J] = value, when
    search = SimpleNamespace(watch=watch, values=values, when=times)
    fires = arming.arm_guard(problem, automaton, search, scratch, J, slope, BAND)
    assert watch[J].falling == 0
    return watch[J].sign, watch[J].arm, watch[J].shift, bool(fires)


@for_each(("value", "rate", "sign"), [
    (BEYOND, -1.0, 1), (BEYOND, 1.0, 1), (-BEYOND, 1.0, -1), (-BEYOND, -1.0, -1), (AT, 1.0, 1), (-AT, 1.0, 1), (AT, -1.0, -1),
    (-AT, -1.0, -1), (AT, 0.0, -1),
])  # fmt: skip
def test_a_guard_of_both_directions_is_watched_on_the_side_it_goes_to(
    monkeypatch, value, rate, sign
):
    """There it falls when it comes back."""
    assert guarded(monkeypatch, value, rate, direction=0)[0] == sign


@for_each("sign", [1.0, -1.0])
@for_each(("value", "rate", "given", "told"), [
    (BEYOND, -1.0, {}, (ARMED, 0, False)), (BEYOND, 1.0, {"fired": ITSELF}, (ARMED, 0, False)),
    (BEYOND, 1.0, {"fired": J + COUNT, "before": PASSED}, (ARMED, 0, False)),
    # its own event was on its zero, so it is left; or it goes through
    (AT, 1.0, {"fired": J + COUNT}, (LEAVING, 0, False)), (-AT, -1.0, {"fired": J + COUNT}, (LEAVING, -AT, False)),
    (-BEYOND, -1.0, {"fired": J + COUNT}, (LEAVING, -BEYOND, False)),
    (-AT, -1.0, {"fired": ITSELF}, (PASSED, 0, False)), (HERE, -1.0, {"fired": ITSELF}, (PASSED, 0, False)),
    (-AT, 1.0, {"fired": ITSELF}, (LEAVING, -AT, False)), (-AT, -1e-13, {"fired": ITSELF}, (UNARMED, 0, False)),
    # it has passed before, in this mode
    (AT, 1.0, {"before": PASSED}, (PASSED, 0, False)), (-BEYOND, -1.0, {"before": PASSED}, (PASSED, 0, False)),
    (AT, 1.0, {"before": PASSED, "watched": 0}, (LEAVING, 0, False)), (AT, 1.0, {"before": PASSED, "fired": NOTHING}, (LEAVING, 0, False)),
    # near its zero: it leaves, rests, or falls through at once
    (AT, 1.0, {}, (LEAVING, 0, False)), (-AT, 1.0, {}, (LEAVING, -AT, False)), (AT, 1e-13, {}, (UNARMED, 0, False)),
    (-AT, 0.0, {}, (UNARMED, 0, False)), (HERE, -1.0, {}, (UNARMED, 0, True)), (-AT, -1.0, {}, (UNARMED, 0, True)),
    (AT, -1.0, {}, (ARMED, 0, False)), (HERE, -1.0, {"when": 0.0}, (UNARMED, 0, False)), (HERE, -1.0, {"when": -1.0}, (UNARMED, 0, False)),
    # one that only watches is not fired by the start of a run
    (HERE, -1.0, {"fired": NOTHING}, (UNARMED, 0, True)), (HERE, -1.0, {"fired": NOTHING, "flags": TERMINAL}, (UNARMED, 0, False)),
    (HERE, -1.0, {"fired": -1, "flags": TERMINAL}, (UNARMED, 0, True)), (HERE, -1.0, {"flags": 0}, (UNARMED, 0, True)),
    # landed beyond: an event of what bounds its mode
    (-BEYOND, -1.0, {}, (UNARMED, 0, True)), (-BEYOND, 0.0, {}, (UNARMED, 0, True)), (-BEYOND, 1e-3, {}, (PASSED, 0, False)),
    (-BEYOND, -1.0, {"fired": NOTHING}, (PASSED, 0, False)), (-BEYOND, -1.0, {"fired": -1}, (UNARMED, 0, True)),
    (-BEYOND, -1.0, {"flags": TERMINAL}, (PASSED, 0, False)), (-BEYOND, -1.0, {"flags": BOUNDS | HAS_WHEN}, (PASSED, 0, False)),
    (-BEYOND, -1.0, {"flags": BOUNDS | TERMINAL}, (UNARMED, 0, True)),
])  # fmt: skip
def test_a_guard_is_armed_by_where_it_is_and_where_it_goes(
    monkeypatch, sign, value, rate, given, told
):
    """A rising one as its negative, which falls."""
    found = guarded(monkeypatch, sign * value, sign * rate, direction=-int(sign), **given)
    assert found == (sign, *told)


# ---------------------------------------------------------------- guards that change constraints

OF = J + 2 + 2 * 1  # behind two contacts and a tangent


def changing(monkeypatch, value, rate, *, side=1, last=0, fired=ANOTHER, stays=False):
    """Return the watch of a guard that changes constraints, and whether it fires at once."""
    slope, scratch = np.arange(5.0, 6.0 + N), SimpleNamespace(
        row=np.full(9, np.nan), at=SimpleNamespace(f_minus=3), head=[SimpleNamespace(D=np.nan)]
    )  # fmt: skip

    def gradient(problem, automaton, j, event):
        assert j == OF
        assert event.row[3 : 4 + N].tolist() == slope.tolist()
        event.head[0].D = rate

    def asked(_, event, j, y, by):
        assert (event, j, y) == (scratch, OF, "y")
        assert by is slope
        return stays

    monkeypatch.setitem(arming.arm_change.__globals__, "guard_gradient", gradient)
    monkeypatch.setitem(arming.arm_change.__globals__, "stays", asked)
    changes = [SimpleNamespace(side=9, last=9), SimpleNamespace(side=side, last=last)]
    watch = [SimpleNamespace(sign=9.0, shift=9.0, falling=9, arm=9) for _ in range(OF + 1)]
    problem = SimpleNamespace(
        sizes=SimpleNamespace(n_x=N, n_c=2, n_t=1), changes=changes, state=[SimpleNamespace(fired=fired)]
    )  # fmt: skip
    search = SimpleNamespace(watch=watch, values=np.full(OF + 1, value))
    fires = arming.arm_change(problem, None, search, scratch, OF, "y", slope, BAND)
    assert watch[OF].falling == 0
    return watch[OF].sign, watch[OF].arm, watch[OF].shift, bool(fires)


@for_each("side", [1, -1])
@for_each(("value", "rate", "given", "told"), [
    (BEYOND, -1.0, {}, (ARMED, 0, False)), (-BEYOND, 1.0, {}, (UNARMED, 0, True)),
    (AT, 1.0, {}, (LEAVING, 0, False)), (-AT, 1.0, {}, (LEAVING, -AT, False)),
    (AT, -1.0, {}, (ARMED, 0, False)), (AT, -1.0, {"fired": OF}, (UNARMED, 0, True)), (HERE, -1.0, {}, (UNARMED, 0, True)),
    (-AT, -1.0, {}, (UNARMED, 0, True)), (HERE, 0.0, {}, (UNARMED, 0, False)), (AT, 1e-13, {"fired": OF}, (UNARMED, 0, False)),
    (HERE, 0.0, {"stays": True}, (ARMED, arming.NEVER, False)), (HERE, -1e-13, {"stays": True}, (ARMED, arming.NEVER, False)),
    (HERE, -1.0, {"stays": True}, (UNARMED, 0, True)), (AT, 1.0, {"stays": True}, (LEAVING, 0, False)),
])  # fmt: skip
def test_what_changes_constraints_is_watched_on_the_side_of_its_constraints(
    monkeypatch, side, value, rate, given, told
):
    """What is still there, and is kept there, never fires."""
    found = changing(monkeypatch, side * value, side * rate, side=side, **given)
    assert found == (side, *told)


@for_each(("side", "last", "sign"), [(1, 0, 1), (-1, 0, -1), (1, 1, 1), (-1, -1, 1), (1, -1, 1), (-1, 1, -1), (0, 1, 0)])  # fmt: skip
def test_a_guard_that_is_done_on_its_side_counts_as_it_stands(monkeypatch, side, last, sign):
    assert changing(monkeypatch, 1.0, 0.0, side=side, last=last)[0] == sign
