"""Rules of a transition on their bounds: branches, accumulations, friction, laws of velocities."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from loops import for_each
from plain import plain, put, space

from explorer.codes import NO_ACTIVE_SET, SUCCESS
from explorer.kernels.event_driven.records import (
    ACCUMULATION,
    CONTACTS,
    CROSSING,
    DYNAMICS,
    SLIDING,
    STRIKE,
    TERMINAL,
)
from explorer.kernels.event_driven.velocity_reset import DEPENDENT, KEPT, NAMED

transition, law = plain("event_driven.transition"), plain("event_driven.velocity_reset")
FAILS, SURE = 77, transition.SURE


# ---------------------------------------------------------------- branches and accumulations


def chosen(conditions, picks, moment, sizes):
    """Return the branch that conditions decide for, and whether a pick was made."""
    least = [
        min(part) if not np.isnan(part).any() else -np.inf
        for part in np.split(conditions, np.cumsum(sizes)[:-1])
    ]
    for k, low in enumerate(least):
        if low > SURE:
            break
        if low > 0.0:
            return k, False
    sure = [k for k, low in enumerate(least) if low > SURE]
    if len(sure) > 1:
        pick = picks[moment] if moment < len(picks) else -1
        return (sure[pick] if 0 <= pick < len(sure) else sure[0]), True
    best = max(range(len(least)), key=lambda k: (least[k], -k))
    return (best if least[best] > -transition.ROUND_OFF else -1), False


@for_each("seed", range(150))
def test_a_branch_is_chosen_by_the_least_of_its_conditions(monkeypatch, seed):
    """Values are few, so that they are equal, zero, or barely there."""
    rng = np.random.default_rng(seed)
    count, before = int(rng.integers(1, 4)), int(rng.integers(2))
    sizes = rng.integers(1, 3, count)
    conditions = rng.choice(
        [1.0, 0.5, 0.0, SURE, 0.5 * SURE, 2 * SURE, -1e-7, -1e-6, -2e-6, -1.0, np.nan], sizes.sum()
    )
    ends = [0] * before + [int(e) for e in np.cumsum(sizes)]
    branches = [
        space(first=a, last=b)
        for a, b in zip([0] * before + [0, *ends[before:-1]], ends, strict=True)
    ]
    picks, moment = rng.integers(-1, 4, int(rng.integers(3))), int(rng.integers(3))
    asked, state = [], [space(moments=moment)]
    put(monkeypatch, transition.branch, evaluate=lambda table, which, inp, out: asked.append(which))
    problem = space(
        out=np.append(conditions, 5.0), state=state, inp=None, functions=space(table=None)
    )
    automaton = space(
        branches=branches, guards=[None, space(branch=before, branches=count, conditions=7)]
    )
    got = transition.branch(problem, automaton, 1, picks)
    wanted, picked = chosen(conditions, picks, moment, sizes)
    assert (got, asked) == (wanted + before if wanted >= 0 else -1, [7])
    assert state[0].moments == moment + picked


@for_each(
    ("branches", "to", "left", "beyond", "zeno", "flags"),
    itertools.product((0, 1), (0, 2), (-1, 0, 3), (-1, 0, 5), (False, True), (0, TERMINAL)),
)
def test_a_guard_leads_on_also_to_the_first_mode_and_where_its_events_accumulate(
    monkeypatch, branches, to, left, beyond, zeno, flags
):
    """Behind an accumulation is a mode of its own, or the run ends; the mode before it is 2."""
    state, head = [space(mode=2, fired=-9)], space(t=2.0, rest=-9.0)
    guard = space(branches=branches, same=7, to=to, flags=flags, beyond=beyond)
    automaton = space(first=[9, 9, 0], guards=[None, guard], branches=[space(to=to, left=left)])
    put(monkeypatch, transition.switch, accumulates=lambda *_: (zeno, 0.25), guard_count=lambda *_: 20, branch=lambda *_: 0,
        reset=lambda problem, automaton, g, event: setattr(state[0], "mode", to))  # fmt: skip
    status = transition.switch(
        space(state=state), automaton, space(rest=0.0, picks=()), space(head=[head]), 1, 0.0
    )
    ends = zeno and beyond < 0
    assert status == (transition.ZENO if ends else SUCCESS if flags else transition.GOES_ON)
    assert state[0].mode == (beyond if zeno and beyond >= 0 else to)
    fired = 20 + left if branches and left >= 0 else 1 if to == 2 else 7
    assert state[0].fired == (-1 if zeno and beyond >= 0 else fired)
    assert (head.kind, head.rest) == ((ACCUMULATION, 0.25) if zeno else (CROSSING, -9.0))
    if branches:
        put(monkeypatch, transition.switch, branch=lambda *_: -1)
        state[0].mode = 2
        assert (
            transition.switch(
                space(state=state), automaton, space(rest=0.0, picks=()), space(head=[head]), 1, 0.0
            )
            == NO_ACTIVE_SET
        )
        assert state[0].mode == 2


@for_each(("back", "rest", "zeno", "remains"), [
    ((0.0, 1.0, 100.0), 9.0, False, np.inf), ((49.0, 50.0, 50.0), 1e9, False, 49 * 0.98 / (1 - 0.98)), ((999.0, 1000.0, 1001.0), 1e9, False, 999.0 * 0.999 / (1 - 0.999)),
    ((998.0, 1000.0, 1001.0), 1e9, True, 998.0 * 0.998 / (1 - 0.998)), ((1.0, 2.0, 4.0), 1.0, False, 1.0), ((1.0, 2.0, 4.0), 1.0001, True, 1.0), ((4.0, 8.0, 16.0), 9.0, True, 4.0),
    ((0.25, 0.5, 1.0), 9.0, True, 0.25),
])  # fmt: skip
def test_intervals_that_do_not_shrink_or_last_too_long_do_not_accumulate(back, rest, zeno, remains):
    t, (first, second, third) = 4096.0, back
    last = [space(first=t - first, second=t - first - second, third=t - first - second - third)]
    found = transition.accumulates(space(last=last), 0, t, t - 1e9 * 2, rest)
    assert bool(found[0]) == zeno
    assert found[1] == pytest.approx(remains)


# ---------------------------------------------------------------- contacts


@for_each("slow", [1e-3, 1.0, 1e3])
@for_each(("part", "follows"), [(0.9, True), (1.0, True), (1.1, False)])
def test_what_one_has_kept_still_moves_no_faster_than_what_was_held(
    monkeypatch, slow, part, follows
):
    """HELD_BEFORE times the limit of what is slow."""
    told, speeds = [], (9.0 * slow, part * transition.HELD_BEFORE * slow)
    rows = [
        space(closed=1, sigma=0),
        space(closed=1, sigma=0),
        space(closed=0, sigma=-1),
        space(closed=0, sigma=1),
    ]
    prior = [
        space(speed=0.0, prior=9),
        space(speed=0.0, prior=9),
        *(space(speed=s, prior=9) for s in speeds),
    ]
    put(
        monkeypatch,
        transition.let_others_follow,
        speeds=lambda *_: None,
        settle=lambda *given: told.append(given[2:]) or FAILS,
    )
    problem = space(sizes=space(n_c=2, n_t=2, rows=4), rows=rows)
    status = transition.let_others_follow(problem, space(rows=prior), 2, -1, 0.25, slow)
    assert (status, told) == ((FAILS, [(0.25, slow, 2, -1)]) if follows else (SUCCESS, []))
    assert [one.prior for one in prior] == ([1, 1, 1, 1] if follows else [9] * 4)


@for_each(("nc", "nt"), [(1, 1), (2, 2)])
def test_each_bound_of_a_friction_force_lets_it_slide_its_own_way(monkeypatch, nc, nt):
    """Behind the guards of contacts come the first bounds of all tangents, then the second ones."""
    for k, side in itertools.product(range(nt), (0, 1)):
        rows = [space(closed=1, sigma=0) for _ in range(nc + nt)]
        told, head = [], space(guard=-9, kind=-9)
        put(
            monkeypatch,
            transition.slide_or_stick,
            identity=lambda *_: None,
            let_others_follow=lambda *given, told=told: told.append(given[2:]) or FAILS,
        )
        problem = space(
            sizes=space(n_c=nc, n_t=nt, rows=nc + nt),
            rows=rows,
            state=[space(held=4, fired=-9)],
            partner=np.arange(10, 10 + nc + nt),
        )
        assert (
            transition.slide_or_stick(
                problem, None, space(head=[head]), nc + k + side * nt, nc + k, 0.5, 0.25
            )
            == FAILS
        )
        begins = 2 * side - 1
        assert told == [(nc + k, begins, 0.5, 0.25)]
        assert (rows[nc + k].closed, rows[nc + k].sigma, problem.state[0].held) == (0, begins, 3)
        assert (head.guard, head.kind, problem.state[0].fired) == (
            10 + nc + k,
            SLIDING,
            nc + k + nc + 2 * nt,
        )


@for_each(
    ("fall", "speed", "e", "rest"),
    [
        (0.0, 0.0, 0.5, np.inf),
        (0.0, 1.0, 0.5, np.inf),
        (2.0, 0.0, 0.5, 0.0),
        (2.0, 3.0, 0.5, 6.0),
        (2.0, 3.0, 1.0, np.inf),
    ],
)
def test_bounces_end_where_the_gap_decelerates(monkeypatch, fall, speed, e, rest):
    put(monkeypatch, transition.rest_of, accelerate=lambda _: SUCCESS, evaluate=lambda *_: None)
    problem = space(
        sizes=space(n=1, rows=1, rates=0),
        inp=np.array([0.0, 5.0]),
        out=np.array([9.0, 9.0, 1.0, -5.0 - fall]),
        functions=space(table=None),
    )
    assert transition.rest_of(problem, 0, speed, e) == (rest, fall)


def touched(
    monkeypatch, *, D=-2.0, e=0.5, rest=1.0, fall=0.5, crowd=0.0, mark=-1, closed=0, options=None
):
    """Return the event, what has been called and the coefficients of a contact that is touched."""
    told, head = [], space(t=5.0, D=D, rest=0.0, kind=-1)
    put(monkeypatch, transition.touch, largest=lambda *_: 3.0, is_change=lambda *_: False, rest_of=lambda *_: (rest, fall),
        impact=lambda *_: told.append("impact") or SUCCESS, reset_velocities=lambda *_: told.append("law") or SUCCESS,
        settle=lambda problem, contacts, band, slow, still, begins: told.append(("settle", slow)) or SUCCESS,
        let_go=lambda *_: told.append("opens"), let_others_take_over=lambda *given: told.append(given[2:]) or FAILS)  # fmt: skip
    problem = space(sizes=space(n_x=2, n=1, n_c=2, n_t=0), rows=[space(closed=closed), space(closed=0)], inp=np.zeros(3), state=[space(fired=-9)],
                    resets=np.array([[mark], [-1]]))  # fmt: skip
    contacts = space(e=np.array([e, 0.25]), e_now=np.full(2, np.nan))
    event = space(head=[head], row=np.zeros(2), at=space(x_plus=0))
    options = space(
        **{"band": 0.125, "rest": 0.5, "lowest": 0.25, "slopes": None} | (options or {})
    )
    transition.touch(problem, contacts, options, event, 0, None, crowd)
    return head, told, contacts.e_now.tolist()


@for_each(("given", "rests"), [
    ({"rest": 0.5}, False), ({"rest": np.nextafter(0.5, 0)}, True), ({"fall": 2.0}, False), ({"fall": np.nextafter(2.0, 3)}, True), ({"fall": 2.5, "rest": np.inf}, False),
    ({"D": 0.0, "e": 0.5, "rest": 0.1}, False), ({"D": 0.5, "rest": 0.1, "fall": 9.0}, False),
])  # fmt: skip
def test_a_rebound_that_is_just_long_and_just_high_enough_is_one(monkeypatch, given, rests):
    """Of speed 1 it rises to 1 / (2 fall), and is too low below 1/4."""
    head, _, e = touched(monkeypatch, **given)
    assert head.kind == (ACCUMULATION if rests else STRIKE)
    assert head.rest == (given.get("rest", 1.0) if rests else 0.0)
    assert e == ([0.0, 0.25] if rests else [0.5, 0.25] if given.get("D", -1) < 0 else [0.0, 0.0])


@for_each(("back", "crowded"), [(0.5, False), (0.49, True), (0.51, False)])
def test_events_are_crowded_within_less_than_a_moment(monkeypatch, back, crowded):
    head, _, e = touched(monkeypatch, crowd=5.0 - back)
    assert (head.kind, e) == ((ACCUMULATION, [0.0, 0.0]) if crowded else (STRIKE, [0.5, 0.25]))


@for_each(("mark", "D", "e", "told"), [(0, -2.0, 0.5, "law"), (1, -2.0, 0.5, "law"), (-1, -2.0, 0.5, "impact"), (0, -2.0, 0.0, "law"), (0, 0.0, 0.0, "impact"), (0, 0.5, 0.0, "impact"),
                                           (3, 0.5, 0.0, "impact")])  # fmt: skip
def test_a_law_of_velocities_counts_for_what_strikes(monkeypatch, mark, D, e, told):
    """Not for what has never left, though its restitution is 0; the first law counts too."""
    _, called, _ = touched(monkeypatch, mark=mark, D=D, e=e)
    assert called == [told, ("settle", pytest.approx(max(4e-12, 2 * D), abs=0))]


def test_a_contact_that_holds_lets_go(monkeypatch):
    _, told, e = touched(monkeypatch, closed=1)
    assert told == ["opens", (0.125, pytest.approx(4e-12, abs=0), 0)]
    assert np.isnan(e).all()


# ---------------------------------------------------------------- laws of velocities


@for_each("size", [1e-9, 1.0, 1e9])
def test_coordinates_are_chosen_by_the_first_of_the_largest_entries(size):
    """In any unit; what is 1e-10 of the largest is none."""
    for G, named, told, marks in (
        ([[3.0, 1.0, 2.0]], (), 2, (DEPENDENT, KEPT, KEPT)), ([[2.0, 2.0, -2.0]], (), 2, (DEPENDENT, KEPT, KEPT)), ([[3.0, 1.0, -1.0]], (0,), 1, (NAMED, DEPENDENT, KEPT)),
        ([[1.0, 0.0, 2e-10]], (0, 1), 0, (NAMED, NAMED, DEPENDENT)), ([[1.0, 0.0, 0.5e-10]], (0, 1), -1, None), ([[1.0, 1.0, 1.0]], (0, 1, 2), -1, None),
        ([[1.0, 2.0, 0.0], [1.0, 2.0, 4.0]], (), 1, (KEPT, DEPENDENT, DEPENDENT)), ([[2.0, 1.0, 1.0], [2.0, 1.0, 1.0]], (), -1, None),
    ):  # fmt: skip
        found = np.array([NAMED if k in named else 9 for k in range(3)])
        assert law.keep_others(size * np.array(G), len(G), found) == told
        if marks:
            assert tuple(found) == marks


@for_each(("named", "kept"), [(0, 2), (1, 1), (-1, -1)])
def test_a_law_has_rows_of_what_it_names_keeps_and_of_constraints(monkeypatch, named, kept):
    """Without any that it names none are; if these are not independent, that is told."""
    asked, n = [], 3
    put(monkeypatch, law.rows_of_law, evaluate=lambda table, which, inp, out: asked.append(which), keep_others=lambda W, held, marks: asked.append(held) or (kept if kept >= 0 else -1),
        constraint_rows=lambda problem, at: asked.append(("rows", at)) or at + 1)  # fmt: skip
    marks = [KEPT, DEPENDENT, KEPT] if named == 0 else [DEPENDENT, KEPT, NAMED]
    problem = space(
        sizes=space(n=n),
        functions=space(table=None),
        inp=None,
        out=None,
        saddle=space(W=np.full((3, 3), 9.0)),
        resets=np.array([[5, 9, 9, 9], [6, *marks]]),
    )
    assert law.rows_of_law(problem, 1) == named
    if named < 0:
        assert asked == [CONTACTS, ("rows", 0), 1]
        return
    assert asked == [CONTACTS, ("rows", 0), 1, ("rows", 2)]
    order = [0, 2] if named == 0 else [2, 1]
    np.testing.assert_array_equal(problem.saddle.W[:2], np.eye(3)[order])


@for_each(("scale", "closed"), itertools.product((0.0, 0.1, 3.0), ((1, 1), (1, 0), (0, 1))))
def test_impulses_of_a_law_are_what_acts_along_the_gap(monkeypatch, scale, closed):
    """p' = M dv [E; G]^-1 over what is named, kept and held: of a contact p_E along G, over |G|^2."""
    rng, n, count = np.random.default_rng(2), 3, 4
    M, G, p = rng.normal(size=(n, n)), rng.normal(size=(count, n)), rng.normal(size=4)
    G[1] *= scale

    def evaluate(table, which, inp, out):
        assert which in (DYNAMICS, CONTACTS)
        out[:] = np.nan
        if which == DYNAMICS:
            out[: n * n] = M.ravel()
        else:
            out[2 * count : 2 * count + count * n] = G.ravel()

    def transposed_solve(W, size, pivots, right):
        np.testing.assert_allclose(right[:n], M @ (row[8:11] - row[2:5]))
        right[:4] = p

    put(monkeypatch, law.law_impulses, evaluate=evaluate, transposed_solve=transposed_solve)
    row = rng.normal(size=30)
    rows = [space(closed=9), space(closed=9), *(space(closed=c) for c in closed)]
    problem = space(sizes=space(n=n, n_c=2, n_t=0, rows=count), functions=space(table=None), inp=None, out=np.empty(30), rows=rows,
                    saddle=space(W=None, pivots=None, tangent=np.full(6, np.nan)), resets=np.array([[0] * 4, [0, KEPT, NAMED, DEPENDENT]]))  # fmt: skip
    law.law_impulses(problem, None, space(row=row, at=space(x_minus=-1, x_plus=5, p=20)), 1)
    g = G[1, [1, 0]]
    assert row[21] == pytest.approx(g @ p[:2] / (g @ g) if scale else 0.0)
    k = 2
    for c in (2, 3):
        if closed[c - 2]:
            assert row[20 + c] == p[k]
            k += 1
