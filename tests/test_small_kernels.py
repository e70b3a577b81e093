"""Kernels of a few lines, uncompiled: inputs of a model, records of a step, coefficients, ends of Newton."""

from __future__ import annotations

from types import SimpleNamespace

import numba
import numpy as np
from loops import for_each
from plain import plain

from explorer.codes import SUCCESS
from explorer.kernels.event_driven import records
from explorer.kernels.fesd.structures import FOLD, MULTIPLIER, SURFACE

inputs, noting = plain("model.inputs"), plain("event_driven.step_record")
rubbing, newton = plain("friction.coefficients"), plain("time_stepping.newton_convergence")
dense, continuing = plain("fesd.dense_output"), plain("fesd.continuations")


def test_a_state_is_written_before_the_parameters():
    inp = np.full(8, 9.0)
    inputs.fill(inp, 0.5, np.array([1.0, 2, 99]), np.array([3.0, 4, 99]), 2)
    assert inp.tolist() == [0.5, 1, 2, 3, 4, 9, 9, 9]


def test_values_go_to_their_places_of_a_matrix():
    flat = np.zeros(6)
    inputs.scatter(flat, -1.0, np.array([7.0, 1, 2, 3]), 1, np.array([4, 0]))
    assert flat.tolist() == [-2, 0, 0, 0, -1, 0]


def test_a_force_is_its_function_and_its_linear_rows(monkeypatch):
    asked = []

    def call(address, data, out, inp):
        asked.append((address, data))
        out[:2] = inp[0], inp[1] * inp[2]

    monkeypatch.setitem(inputs.force.__globals__, "call", call)
    linear = SimpleNamespace(
        ptr=np.array([0, 2, 3]), col=np.array([0, 3, 1]), val=np.array([-4.0, 0.5, 2])
    )
    bundles = SimpleNamespace(
        table=np.array([[1, 2], [3, 4]]), out=np.zeros(3), inp=np.array([10.0, 2, 3, 5, 7, 99])
    )
    F = np.full(2, np.nan)
    inputs.force(bundles, 1, linear, F)
    assert asked == [(3, 4)]
    assert F.tolist() == [10 - 4 * 2 + 0.5 * 7, 2 * 3 + 2 * 3]


@for_each(("mu", "mu_s", "told"), [
    (0.3, 0.3, False), (0.3, 0.5, False), (0.0, 0.0, False), (0.3, 0.3 * (1 - 1e-13), False),
    (0.3, 0.3 * (1 - 1e-11), True), (-1e-9, 0.3, True), (np.nan, 0.3, True), (0.3, np.nan, True), (2e300, 2e300, True),
])  # fmt: skip
def test_coefficients_that_are_none(mu, mu_s, told):
    assert rubbing.improper(mu, mu_s) == told


@for_each(("counts", "mu", "mu_s", "turns", "told"), [
    (0.5, 0.3, 0.5, False, 0.3), (0.5, 0.3, 0.5, True, 0.3), (0.3, 0.3, 0.5, True, 0.5), (0.3, 0.3, 0.5, False, 0.3),
    (0.3, 0.3, 0.3, True, 0.3), (0.3, 0.3, 0.3, False, 0.3),
])  # fmt: skip
def test_what_slides_has_the_coefficient_of_sliding_unless_it_turns(counts, mu, mu_s, turns, told):
    assert rubbing.revised(counts, mu, mu_s, turns) == told


@for_each(("change", "still", "told"), [
    (0.9e-15, 0, True), (1.1e-15, 0, False), (0.9e-10, 3, True), (0.9e-10, 2, False), (1.1e-10, 9, False), (np.nan, 9, False),
])  # fmt: skip
def test_newton_ends_at_round_off_or_where_it_no_longer_falls(change, still, told):
    assert newton.at_round_off(2.0 * change, 2.0, still) == told


@for_each("drive", [0, 1, 2])
def test_a_step_is_noted_with_what_it_holds(drive):
    """Two contacts with a tangent each; two derivatives besides the state."""
    n, block, k = 3, 4, 1
    steps = SimpleNamespace(
        state=np.full((3, 10), -9), t=np.zeros(3), h=np.zeros(3), y=np.zeros((3, 12)),
        carried=np.zeros((3, 6)),
    )  # fmt: skip
    rows = [SimpleNamespace(closed=c, sigma=s) for c, s in ((1, 0), (0, 0), (5, -1), (6, 1))]
    problem = SimpleNamespace(
        sizes=SimpleNamespace(n=n, n_x=n, n_c=2, n_t=2, rows=2), rows=rows,
        sides=np.array([(-1,), (1,)], [("now", int)]).view(np.recarray),
        state=[SimpleNamespace(mode=7)], drive=SimpleNamespace(t=np.zeros(drive), now=[4]),
        changes=np.array([(6,), (8,)], [("side", int)]).view(np.recarray),
    )  # fmt: skip
    y, slope = np.arange(12.0), 100 + np.arange(20.0)
    noting.note(problem, steps, k, 0.25, 0.5, y, slope)
    assert (steps.t[k], steps.h[k]) == (0.25, 0.5)
    assert steps.y[k].tolist() == y.tolist()
    assert steps.carried[k].tolist() == [slope[m // n * block + n + m % n] for m in range(6)]
    held = [7, 1, 0, -1, 1, -1, 1, *([4] if drive else []), 6, 8]
    assert steps.state[k].tolist() == held + [-9] * (10 - len(held))
    assert (steps.state[[0, 2]] == -9).all()


@for_each("solved", [True, False])
def test_states_inside_of_elements_are_solved_for(monkeypatch, solved):
    """Not at the begin of an element, nor at its end or behind it: there the polynomial stays."""
    asked = []

    def element(el, begin, state, out, *_):
        asked.append((begin, el.length, state.tolist()))
        out[:] = begin + el.length, 3.0
        return SUCCESS if solved else SUCCESS + 1

    def load(el, record, phases, e, length):
        el.length = length

    for name, stand_in in {"element": element, "load": load, "at_end": lambda ws, k: 10.0 + k}.items():  # fmt: skip
        monkeypatch.setitem(dense.within.__globals__, name, stand_in)
    el = SimpleNamespace(problem=SimpleNamespace(n_x=2, n_sel=1), length=0.0)
    ws = SimpleNamespace(element=el, x=np.zeros(2))
    record = SimpleNamespace(
        begin=np.array([0.0, 1.0]), length=np.array([1.0, 0.5]), states=np.array([[1.0, 2], [3, 4]])
    )
    t, which = np.array([0.0, 0.25, 1.0, 1.25, 1.5, 2.0]), np.array([0, 0, 1, 1, 1, 1])
    x, multipliers = np.full((6, 2), -1.0), np.full((6, 1), -1.0)
    dense.within(ws, record, None, t, which, x, multipliers)
    assert asked == [(0.0, 0.25, [1, 2]), (1.0, 0.25, [3, 4])]
    for k in range(6):
        inside = k in (1, 3) and solved
        assert x[k].tolist() == ([t[k], 3.0] if inside else [-1, -1])
        assert multipliers[k, 0] == (10.0 if inside else -1.0)


def test_a_time_that_is_none_is_left():
    x = np.full((1, 2), -1.0)
    record = SimpleNamespace(begin=np.zeros(1), length=np.ones(1))
    dense.within(
        SimpleNamespace(element=None), record, None, np.array([np.nan]), np.zeros(1, int), x, x
    )
    assert (x == -1).all()


@for_each(("p", "kind"), [(0, 0), (1, 0), (1, SURFACE), (3, MULTIPLIER), (3, FOLD)])
def test_a_moment_is_entered_again_as_the_run_came_to_it(monkeypatch, p, kind):
    """With the element, the choice and the inputs that the run had there; the start has none before."""
    told = []
    for name in ("restore", "hold_at"):
        monkeypatch.setitem(
            continuing.examine.__globals__, name, lambda *given, name=name: told.append((name, *given))
        )  # fmt: skip

    def enter(*given):
        told.append(("enter", ws.element.mode.active[0].choice, *given))
        return 77

    monkeypatch.setitem(continuing.examine.__globals__, "enter", enter)
    switches = [SimpleNamespace(kind=-1, which=-1, choice=10 + k) for k in range(6)]
    switches[p].kind, switches[p].which = kind, 5
    phases = SimpleNamespace(switches=switches)
    element = SimpleNamespace(
        mode=SimpleNamespace(active=[SimpleNamespace(choice=-1)]),
        problem=SimpleNamespace(drive="drive", inp="inp"),
    )
    ws = SimpleNamespace(element=element)
    assert continuing.examine(ws, 2.0, "x", 0.5, phases, p, 3, "found") == 77
    before = [("restore", element, phases, p - 1)] if kind else []
    choice = 10 + max(p - 1, 0)
    entered = ("enter", choice, ws, 2.0, "x", 0.5, kind, 5, continuing.PICK + 3, 0, "found", 0)
    assert told == [("hold_at", "drive", "inp", 2.0, 0.5e-9), *before, entered]


def test_a_vector_of_records_is_annotated_by_its_own_type():
    kinds = [kind for kind in vars(records).values() if getattr(kind, "names", None)]
    assert len(kinds) == 18
    for kind in kinds:
        assert records._rows(kind) == numba.typeof(np.zeros(2, kind))
