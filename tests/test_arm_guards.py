"""Watches of contacts at the start of a stretch, and values that lie exactly on a bound."""

from __future__ import annotations

import itertools

import numpy as np
from loops import for_each
from plain import plain, put, space

from explorer.codes import SUCCESS
from explorer.kernels.event_driven.records import ARMED, BOUNDS, CONTACTS, LEAVING, UNARMED

arming, dense = plain("event_driven.arm_guards"), plain("linear_algebra.dense_lu")
BAND, SLOW, NOISE = 2.0**-10, 2.0**-12, arming.NOISE
N, NC, NT, COUNT = 3, 3, 2, 6


def contact(j, value, speed, rate, *, closed=0, sigma=0, fired=-2):
    """Return the watch (arm, shift) of guard j, and whether it fires; whole numbers leave no round-off."""
    rng = np.random.default_rng(j)
    G, v, a = rng.integers(1, 9, (COUNT, N)), rng.integers(1, 9, N), rng.integers(1, 9, N)
    moves, gamma = rng.integers(1, 9, COUNT).astype(float), rng.integers(1, 9, COUNT).astype(float)
    if j < COUNT:
        moves[j], gamma[j] = speed - G[j] @ v, rate - G[j] @ a
    out = np.concatenate([np.full(COUNT, np.nan), moves, G.ravel(), gamma])
    y, slope = np.concatenate([rng.integers(1, 9, N), v]), np.concatenate([v, a])
    rows = [space(closed=2, sigma=7) for _ in range(COUNT)]
    if j < COUNT:
        rows[j].closed, rows[j].sigma = closed, sigma
    watch = [space(sign=9.0, shift=9.0, falling=9, arm=9) for _ in range(NC + 2 * NT)]
    problem = space(sizes=space(n=N, n_c=NC, n_t=NT, rows=COUNT), out=out, rows=rows, state=[space(fired=fired)])  # fmt: skip
    search = space(watch=watch, values=np.full(NC + 2 * NT, value))
    fires = arming.arm_contact(problem, search, j, y, slope, SLOW, BAND)
    assert (watch[j].sign, watch[j].falling) == (1.0, 0)
    assert [k for k, one in enumerate(watch) if one.arm != 9] == [j]
    return watch[j].arm, watch[j].shift, fires


ITSELF = NC + 2 * NT  # behind it: what has let go


@for_each("j", range(NC))
@for_each(("value", "speed", "given", "told"), [
    (-1.0, -1.0, {"closed": 1}, (ARMED, 0, False)), (2 * BAND, -1.0, {}, (ARMED, 0, False)), (2 * BAND, 1.0, {"fired": "own"}, (ARMED, 0, False)),
    (BAND, 1.0, {}, (LEAVING, 0, False)), (BAND, 1.0, {"fired": "own"}, (UNARMED, 0, False)), (-BAND, -1.0, {"fired": "own"}, (UNARMED, 0, False)),
    (-BAND, 1.0, {}, (LEAVING, -BAND, False)), (-BAND, 2 * SLOW, {}, (LEAVING, -BAND, False)), (BAND, SLOW, {}, (UNARMED, 0, False)),
    (BAND, 0.0, {}, (UNARMED, 0, False)), (BAND, -0.5 * SLOW, {}, (UNARMED, 0, False)), (BAND, -2 * SLOW, {}, (ARMED, 0, False)),
    (2 * NOISE, -1.0, {}, (ARMED, 0, False)), (NOISE, -1.0, {}, (UNARMED, 0, True)), (-BAND, -2 * SLOW, {}, (UNARMED, 0, True)),
    (-BAND, -0.5 * SLOW, {}, (UNARMED, 0, False)), (-BAND, 0.0, {}, (UNARMED, 0, False)), (-BAND, -1.0, {"fired": "other"}, (UNARMED, 0, True)),
])  # fmt: skip
def test_a_contact_is_watched_by_its_gap_and_by_where_it_goes(j, value, speed, given, told):
    """What touches and approaches strikes; what has just let go is left alone."""
    fired = {"own": j + ITSELF, "other": (j + 1) % NC + ITSELF}.get(given.get("fired"), -2)
    assert contact(j, value, speed, 5.0, closed=given.get("closed", 0), fired=fired) == told


@for_each("j", range(NC, NC + NT))
@for_each("sigma", [1, -1])
@for_each(("value", "rate", "given", "told"), [
    (-1.0, -1.0, {"closed": 1}, (ARMED, 0, False)), (2 * SLOW, -1.0, {}, (ARMED, 0, False)), (SLOW, -1.0, {}, (UNARMED, 0, False)),
    (SLOW, 1.0, {}, (LEAVING, 0, False)), (-SLOW, 1.0, {}, (LEAVING, -SLOW, False)), (-SLOW, 1.0, {"fired": "own"}, (UNARMED, 0, False)),
    (0.0, 1.0, {"fired": "other"}, (LEAVING, 0, False)), (0.0, 0.0, {}, (UNARMED, 0, False)), (0.5 * SLOW, -1.0, {}, (UNARMED, 0, False)),
])  # fmt: skip
def test_a_sliding_velocity_is_watched_by_how_it_changes(j, sigma, value, rate, given, told):
    """In the direction in which it slides."""
    fired = {"own": j + ITSELF, "other": j + 1 + ITSELF}.get(given.get("fired"), -2)
    found = contact(j, value, -1.0, sigma * rate, closed=given.get("closed", 0), sigma=sigma, fired=fired)  # fmt: skip
    assert found == told


@for_each("j", range(NC + NT, NC + 2 * NT))
@for_each("value", [1.0, -1.0])
def test_the_other_bound_of_a_friction_force_is_always_watched(j, value):
    assert contact(j, value, 1.0, 1.0) == (ARMED, 0, False)


# ---------------------------------------------------------------- on a bound


@for_each(("value", "rate", "direction", "told"), [
    (BAND, 1.0, -1, (1, LEAVING, 0, False)), (BAND, 0.0, 0, (-1, UNARMED, 0, False)), (BAND, -1.0, 0, (-1, LEAVING, -BAND, False)),
    (-BAND, 1.0, 0, (1, LEAVING, -BAND, False)), (-BAND, -1.0, -1, (1, UNARMED, 0, True)), (NOISE, -1.0, -1, (1, UNARMED, 0, True)),
    (-BAND, -1.0, 1, (-1, LEAVING, 0, False)), (-BAND, 1.0, -1, (1, LEAVING, -BAND, False)),
])  # fmt: skip
def test_a_guard_that_lies_on_the_edge_of_its_band_is_on_its_zero(monkeypatch, value, rate, direction, told):  # fmt: skip
    head = [space(D=np.nan)]
    put(monkeypatch, arming.arm_guard, flags_of=lambda *_: BOUNDS, guard_count=lambda *_: 1,
        guard_gradient=lambda problem, automaton, j, event: setattr(event.head[0], "D", rate))  # fmt: skip
    watch = [space(sign=9.0, shift=9.0, falling=9, arm=UNARMED)]
    problem = space(sizes=space(n_x=1), state=[space(fired=-1, mode=0, watched=0)])
    automaton = space(first=[0, 1], guards=[space(direction=direction)])
    search = space(watch=watch, values=np.array([value]), when=np.ones(1))
    scratch = space(row=np.zeros(2), at=space(f_minus=0), head=head)
    fires = arming.arm_guard(problem, automaton, search, scratch, 0, np.zeros(2), BAND)
    assert (watch[0].sign, watch[0].arm, watch[0].shift, bool(fires)) == told


@for_each(("value", "rate", "told"), [
    (BAND, -1.0, (ARMED, 0, False)), (BAND, 1.0, (LEAVING, 0, False)), (-BAND, 1.0, (LEAVING, -BAND, False)), (-BAND, 0.0, (UNARMED, 0, False)),
    (NOISE, -1.0, (UNARMED, 0, True)), (2 * NOISE, -1.0, (ARMED, 0, False)), (BAND, 0.0, (UNARMED, 0, False)),
])  # fmt: skip
def test_a_change_that_lies_on_the_edge_of_its_band_is_on_its_zero(monkeypatch, value, rate, told):
    put(monkeypatch, arming.arm_change, stays=lambda *_: False,
        guard_gradient=lambda problem, automaton, j, event: setattr(event.head[0], "D", rate))  # fmt: skip
    watch = [space(sign=9.0, shift=9.0, falling=9, arm=9)]
    problem = space(sizes=space(n_x=1, n_c=0, n_t=0), changes=[space(side=1, last=0)], state=[space(fired=-1)])  # fmt: skip
    search, scratch = space(watch=watch, values=np.array([value])), space(row=np.zeros(2), at=space(f_minus=0), head=[space(D=0.0)])  # fmt: skip
    fires = arming.arm_change(problem, None, search, scratch, 0, None, np.zeros(2), BAND)
    assert (watch[0].arm, watch[0].shift, bool(fires)) == told


# ---------------------------------------------------------------- guards that constraints keep


@for_each(("size", "off", "told"), itertools.product((1e6, 1.0, 1e-6), range(3), (True, False)))
def test_a_gradient_is_compared_in_its_own_size(monkeypatch, size, off, told):
    """One that is off by 1e-7 of its largest part is not one of those that hold; 1e-11 is round-off."""
    n, count, held, r_x = 3, 3, 2, 2
    G = np.array([[0.1, 0.0, 0.0], [0.2, 0.7, 0.0], [0.3, 0.0, 0.8]])
    W = np.block([[10 * np.eye(n), G[1:].T], [G[1:], np.zeros((held, held))]])
    saddle = space(W=W.copy(), pivots=np.zeros(n + held, int), tangent=np.full(n + held, np.nan))

    def accelerate(problem):
        saddle.W[:] = W
        dense.lu_factor(saddle.W, len(W), len(W) - 1, len(W) - 1, saddle.pivots)
        return SUCCESS

    def evaluate(table, which, inp, out):
        assert which == CONTACTS
        out[2 * count :] = G.ravel()

    put(monkeypatch, arming.is_held, accelerate=accelerate, evaluate=evaluate)
    problem = space(
        sizes=space(n=n, rows=count), rows=[space(closed=int(c > 0)) for c in range(count)], saddle=saddle, inp=None,
        state=[space(held=held)], functions=space(table=None), out=np.full(2 * count + count * n, np.nan),
    )  # fmt: skip
    row = np.full(9, 9.0)
    row[r_x : r_x + n], row[r_x + n : r_x + 2 * n] = size * (G[1] - 0.5 * G[2]), 0.0
    row[r_x + off] += size * 0.7 * (1e-11 if told else 1e-7)
    assert arming.is_held(problem, space(row=row, at=space(r_x=r_x))) == told


@for_each(("part", "told"), [(0.9, True), (1.0, True), (1.1, False), (-1.1, False)])
def test_what_is_small_is_compared_with_one(monkeypatch, part, told):
    """What a guard does a moment later: 1e-13, where no number of the state is larger."""
    n = 2
    put(monkeypatch, arming.stays, is_held=lambda *_: True,
        evaluate=lambda table, which, inp, out: out.__setitem__(0, part * arming.NEAR))  # fmt: skip
    problem = space(sizes=space(n=n, n_c=0, n_t=0), inp=np.zeros(1 + 2 * n), out=np.zeros(1), state=[space(ahead=1e-5)],
                    functions=space(table=None))  # fmt: skip
    assert arming.stays(problem, None, 0, np.full(2 * n, 0.1), np.full(2 * n, 0.1)) == told
