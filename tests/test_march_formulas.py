"""Parts of marches, uncompiled, each against its rule: what is asked in turn, and with what."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from loops import for_each
from plain import plain, put, space
from test_disc_neighbours import Pile, discs

from explorer.codes import SUCCESS

marching, sides = plain("event_driven.march"), plain("event_driven.sides")
euler, modes = plain("time_stepping.euler_moreau"), plain("sliding.mode_functions")
NONE, CHAINED, DRIVEN = marching.NONE, marching.CHAINED, marching.DRIVEN
FAILS = 77  # a status
EQUAL = np.testing.assert_array_equal


# ---------------------------------------------------------------- a march with events


@for_each(("broken", "guard", "value", "mechanical", "change", "told"), [
    (0, NONE, 0.0, False, False, (0, DRIVEN)), (3, NONE, 0.0, False, False, (3, DRIVEN)), (0, 1, -0.2, False, False, (1, DRIVEN)),
    (0, 1, -0.05, False, False, (1, 1)), (0, 1, -0.2, True, False, (1, 1)), (0, 1, -0.2, True, True, (1, DRIVEN)),
    (0, 0, -0.2, False, False, (0, DRIVEN)), (NONE, 1, -0.2, False, False, None), (NONE, NONE, 0.0, False, False, None),
])  # fmt: skip
def test_behind_a_break_of_the_inputs_a_march_does_not_pause(
    monkeypatch, broken, guard, value, mechanical, change, told
):
    """Its guard would be forgotten; an event that an input has caused is told as driven."""
    said, values = [], np.zeros(4)
    run = space(t=1.0, stop=1.0, fresh=0, events=0)

    def next_interval(*_):
        run.events, run.fresh, run.stop = 5, 1, 2.0
        return SUCCESS, broken

    def begin_stretch(*_):
        run.fresh, values[guard] = 0, 2 * value
        return SUCCESS, guard

    put(monkeypatch, marching.go_on, next_interval=next_interval, begin_stretch=begin_stretch, is_change=lambda problem, j: change,
        happen=lambda *given: said.append(given[-2:]) or FAILS)  # fmt: skip
    search = space(watch=[space(sign=0.5)] * 4, values=values)
    task = space(problem=space(sizes=space(mechanical=mechanical)), automaton=None, surfaces=None, method=None, contacts=None,
                 work=space(run=[run], search=search), record=space(events=None))  # fmt: skip
    options = space(t_end=2.0, band=0.1)
    status = marching.go_on(task, options, 9.0, 4)
    assert status == (marching.PAUSED if told is None else FAILS)
    assert said == ([] if told is None else [told])
    run.t, run.fresh, said[:] = 0.5, 1, []
    assert marching.go_on(task, options, 0.4, 9) == marching.PAUSED
    assert marching.go_on(task, options, 0.5, 4) == marching.PAUSED
    if guard >= 0:
        assert marching.go_on(task, options, 0.5, 5) == FAILS
        caused = value < -0.1 / 2 - 1e-9 and (change or not mechanical)
        assert said == [(guard, CHAINED if caused else 1)]
    run.t = run.stop = 2.0
    if guard < 0:
        assert marching.go_on(task, options, 2.0, 5) == SUCCESS


@for_each(("step", "happens", "told"), [
    ((SUCCESS, NONE), None, "end"), ((FAILS, NONE), None, FAILS), ((FAILS, 2), None, FAILS), ((marching.AGAIN, NONE), None, "end"),
    ((SUCCESS, 2), FAILS, FAILS), ((SUCCESS, 2), marching.GOES_ON, "end"), ((SUCCESS, 0), FAILS, FAILS),
    ((marching.AGAIN, 2), marching.GOES_ON, "end"),
])  # fmt: skip
def test_a_march_goes_on_as_long_as_steps_and_events_do(monkeypatch, step, happens, told):
    said, run = [], space(t=0.0, stop=1.0, fresh=0, events=0)

    def make_step(*_):
        said.append("step")
        run.t = float(len(said) > 1)
        return step if len(said) == 1 else (SUCCESS, NONE)

    def happen(*given):
        said.append(given[-2:])
        return happens

    put(monkeypatch, marching.go_on, make_step=make_step, happen=happen, begin_stretch=None, next_interval=None)  # fmt: skip
    work = space(run=[run], search=space(watch=None, values=None))
    task = space(problem=None, automaton=None, surfaces=None, method=None, contacts=None, work=work,
                 record=space(events=None, steps=None))  # fmt: skip
    status = marching.go_on(task, space(t_end=1.0), np.inf, 9)
    assert status == (SUCCESS if told == "end" else told)
    events = [] if happens is None else [(step[1], 0)]
    assert said == ["step", *events, *["step"] * (told == "end")]


# ---------------------------------------------------------------- sides of surfaces


@for_each(
    ("j", "held", "sides_free", "finite"), itertools.product((-1, 0, 2), *[(False, True)] * 3)
)
def test_slopes_are_those_of_the_sides_that_are_held(monkeypatch, j, held, sides_free, finite):
    """Where they are no numbers on a side, no side is held; without one nothing is to release."""
    said, y, slope = [], np.zeros(3), np.zeros(3)

    def hold(problem, surfaces, search, t, at, rate, span):
        assert (t, at is y, rate is slope) == (0.5, True, True)
        said.append(("hold", pytest.approx(span)))
        return held

    def flow(problem, t, at, rate, width):
        assert (t, at is y, rate is slope, width) == (0.5, True, True, 2)
        said.append("flow")
        return FAILS if said.count("flow") > 1 else SUCCESS

    put(monkeypatch, sides.turn, hold=hold, flow=flow, free=lambda problem: sides_free, largest=lambda given, first, last: 1.0 if finite else np.inf,
        flip=lambda problem, surfaces, *given: said.append(("flip", given[0], given[1], given[3])),
        release=lambda *_: said.append("release"))  # fmt: skip
    status = sides.turn(None, None, space(slope=slope), None, j, 0.5, y, 0.2, 2)
    once, again = held or j >= 0, not sides_free and not finite
    assert said == [*[("flip", j, 0.5, 0.2)] * (j >= 0), ("hold", 2e-4), *["flow"] * once,
                    *["release", "flow"] * again]  # fmt: skip
    assert status == (FAILS if once and again else SUCCESS)


# ---------------------------------------------------------------- others


def test_a_march_of_euler_and_moreau_begins_without_factors(monkeypatch):
    said = []
    put(monkeypatch, euler.begin, evaluate_at=lambda *given: said.append(given))
    kept, state = space(count=5), space(factored=0.3)
    work = space(state=[state], block=space(kept=[kept]), iterate="iterate")
    euler.begin(space(bundles="bundles"), "record", work, 4)
    assert said == [("bundles", "record", "iterate", 4, False)]
    assert (state.factored, kept.count) == (0.0, -1)


@for_each("part", [1.01, 1.19, 1.21, 3.0])
@for_each("other", ["disc", "wall"])
def test_a_pair_has_its_slot_up_to_a_fifth_beyond_its_reach(other, part):
    pile = Pile(0, n=3)
    pile.centres[:] = [[1.5, 1.5], [1.5, 3.5], [3.0, 3.0]]
    j = 1 if other == "disc" else -1  # the first wall is y = 0
    if j == 1:
        pile.centres[1] = pile.centres[0] + [0.0, pile.radii[:2].sum() + part * pile.reach]
    else:
        pile.centres[0, 1] = pile.radii[0] + part * pile.reach
    assert pile.gap(0, j) == pytest.approx(part * pile.reach)
    slot = discs.SLOTS - 1
    pile.partners[slot] = j
    assert discs.update(pile.inp, pile.words) == 1
    there = pile.slots()
    assert {*there} == ({slot} if part < 1.2 else set())


@for_each(("n", "nc", "nrho"), [(1, 1, 1), (2, 3, 2), (3, 1, 0), (2, 2, 3)])
@for_each("tangents", (0, 1))
def test_a_field_moves_with_its_multipliers(monkeypatch, n, nc, nrho, tangents):
    """f, and of its derivatives by x and rho those at fixed multipliers and what they move it by."""
    rng, said, solved = np.random.default_rng(n), [], [1]
    f, f_x, f_sel, f_t, f_rho = (rng.normal(size=s) for s in (n, (n, n), (n, nc), n, (n, nrho)))
    moved = rng.normal(size=(nc, 1 + n + nrho))
    model = np.full(40, -1, object)
    model[[modes.N, modes.NC, modes.NRHO]] = n, nc, nrho
    model[[modes.FLOW, modes.FLOW + 1]] = "flow", "of flow"
    model[[modes.FLOW_ALL, modes.FLOW_ALL + 1]] = "all", "of all"

    def call(address, data, out, inp):
        said.append((address, data, inp))
        every = [*f, *f_x.ravel(), *f_sel.ravel(), *f_t, *f_rho.ravel()]
        out[: len(every) if address == "all" else n] = every if address == "all" else f

    put(monkeypatch, modes.write_field, call=call, solve=lambda model, mode, scratch: solved[0],
        derive=lambda model, mode, scratch: said.append(("derive", mode)))  # fmt: skip
    scratch = space(out=np.full(60, np.nan), moved=moved, base="base")
    size = n * (1 + n + nrho if tangents else 1)
    result = np.full(size + 1, 9.0)
    modes.write_field(result, model, 4, tangents, scratch)
    by_x, by_rho = f_x + f_sel @ moved[:, 1 : 1 + n], f_rho + f_sel @ moved[:, 1 + n :]
    expected = [*f, *by_x.ravel(), *by_rho.ravel()][:size]
    np.testing.assert_allclose(result, [*expected, 9.0], rtol=1e-12)
    one = [("derive", 4), ("all", "of all", "base")]
    assert said == (one if tangents else [("flow", "of flow", "base")])
    solved[0], result[:] = 0, 9.0
    modes.write_field(result, model, 4, tangents, scratch)
    EQUAL(result, [*[np.nan] * size, 9.0])
