"""How kernels of events branch, uncompiled: contradictions, settling, shares, laws, inputs, guards."""

from __future__ import annotations

import numpy as np
import pytest
from loops import for_each
from plain import plain, put, space

from explorer.codes import EVENT_CAP, SINGULAR, SUCCESS
from explorer.kernels.event_driven.initial_state import UNMADE

clashing, impacts = plain("event_driven.contradiction"), plain("event_driven.contact_impact")
settling = plain("event_driven.settle")
law, breaking = plain("event_driven.velocity_reset"), plain("event_driven.input_break")
arming, changing = plain("event_driven.arm_guards"), plain("event_driven.change_constraints")
FAILS, FREE = 77, impacts.FREE  # a status; a tangent


# ---------------------------------------------------------------- events


@for_each(("fast", "reach", "span", "by"), [
    (1e6, 2.0, 1e3, 1e12 / 2), (3e5, 4.0, 1.0, 9e10 / 4), (0.0, 2.0, 1e-6, 2e12), (1e-3, 50.0, 1e-5, 5e11), (1e6, 0.0, 1.0, 0.0),
])  # fmt: skip
def test_a_contradiction_is_larger_than_what_cancels(monkeypatch, fast, reach, span, by):
    """Two equal rows of length 3: noise is 1e-10 (v^2 / x + x / span^2) of it, beside 1e-6 of gamma."""
    limit = 3 * 1e-10 * by + (1e-6 if by == 0 else 0.0)
    for part, told in ((0.5, -1), (2.5, 1)):
        G, gamma = np.array([[3.0, 0.0], [3.0, 0.0]]), np.array([0.0, limit * part])
        if by == 0:
            gamma += 0.5  # both of its terms count: 1e-6 (0.5 + 0.5)
        put(
            monkeypatch, clashing.contradiction, holds=lambda *_: True,
            evaluate=lambda table, which, inp, out, G=G, gamma=gamma: out.__setitem__(
                slice(None), [*[np.nan] * 4, *G.ravel(), *gamma]),
        )  # fmt: skip
        problem = space(
            sizes=space(n=2, n_c=0, n_t=0, rows=2, penalty=9, rates=12), functions=space(table=None),
            out=np.empty(10), inp=np.zeros(20), saddle=space(W=np.full((4, 4), np.nan)),
            state=[space(dependent=1, form=0)],
        )  # fmt: skip
        y = np.array([0.0, -reach, fast, -0.5 * fast])
        assert clashing.contradiction(problem, 0.0, y, span) == told


@for_each("seed", range(4))
def test_contacts_that_touch_and_rest_are_settled(monkeypatch, seed):
    """gap'' = G u + gamma of each; tangents that move slide, the others are free to stick."""
    rng, n, nc, count, band, slow = np.random.default_rng(seed), 3, 4, 8, 1e-6, 1e-3
    G, gamma, free = rng.normal(size=(count, n)), rng.normal(size=count), rng.normal(size=n)
    gaps = np.array([0.0, 2e-6, 1e-6, 0.0])
    held = settling.HELD_BEFORE * slow
    speed = np.array([1e-3, 0.0, -0.9 * held, 1.1 * held, 5 * held, -5 * held, 1e-3, -1e-3])
    out = np.concatenate([gaps, np.full(2 * count - nc, np.nan), G.ravel(), gamma])
    rows = [space(speed=s, prior=p) for s, p in zip(speed, [0, 0, 1, 1, 0, 0, 0, 0], strict=True)]
    act, still, told = np.full(count, -1), (-1, 4, 5)[seed % 3], []
    contacts = space(act=act, sigma=np.full(count, 9), w=np.full(count, np.nan), rows=rows)
    problem = space(sizes=space(n=n, n_c=nc, rows=count), out=out, saddle=space(solution=free))

    def delassus(problem, contacts, m):
        act[m : m + 4] = 4, 5, 6, 7
        told.append(act[:m].tolist())
        return m + 4

    def coulomb(problem, contacts, m, total, resting):
        told.append((m, total, resting))
        return FAILS

    opened = []
    put(monkeypatch, settling.settle, speeds=lambda *_: None, open_all=opened.append)
    put(monkeypatch, settling.hold_or_part, delassus=delassus, coulomb=coulomb)
    assert settling.settle(problem, contacts, band, slow, still, 0) == FAILS
    assert told == [[0, 2], (2, 6, True)]
    assert opened == [problem]
    np.testing.assert_allclose(contacts.w[:6], (G @ free + gamma)[act[:6]], rtol=1e-12)
    slides = [FREE if c in (6, 7, still) else 1 if speed[c] > 0 else -1 for c in act[2:6]]
    assert contacts.sigma[2:6].tolist() == slides
    put(monkeypatch, settling.hold_or_part, delassus=lambda *_: -1)
    assert settling.settle(problem, contacts, band, slow, still, 0) == SINGULAR
    out[:nc] = 1.0
    assert settling.settle(problem, contacts, band, slow, still, 0) == SUCCESS


@for_each(("mechanical", "fire", "told"), [
    (True, (), -1), (True, (1, 4), 1), (True, (4, 3), 3), (True, (3,), 3), (True, (0,), 0), (True, (0, 1), 0), (True, (0, 3), 0), (False, (), -1), (False, (0, 2), 0), (False, (2, 4), 2),
])  # fmt: skip
def test_the_first_guard_that_fires_at_once_is_told_and_all_are_armed(
    monkeypatch, mechanical, fire, told
):
    """Of a mechanical system those of contacts, then those of its own functions; 1e-12 of speeds is slow."""
    count, n, n_w, armed = 5, 2, 2, []
    y = np.array([9.0, 9.0, -3.0, 2.0])

    def arm_contact(problem, search, j, y, slope, slow, band):
        assert slow == pytest.approx(4e-12, abs=0)
        armed.append(("contact", j, band))
        return j in fire

    def arm_change(problem, automaton, search, scratch, j, y, slope, band):
        armed.append(("change", j, band))
        return j in fire

    def arm_guard(problem, automaton, search, scratch, j, slope, band):
        armed.append(("guard", j, band))
        return j in fire

    put(
        monkeypatch, arming.rewatch, guards=lambda *given: armed.append(given[2:4]), guard_count=lambda *_: count,
        evaluate=lambda *_: None, arm_contact=arm_contact, arm_change=arm_change, arm_guard=arm_guard,
    )  # fmt: skip
    state = [space(mode=6, watched=-9)]
    problem = space(sizes=space(n=n, n_w=n_w, mechanical=mechanical), inp=None, functions=space(table=None),
                    out=np.arange(20.0), state=state)  # fmt: skip
    search = space(when=np.full(count, np.nan), values=None)
    assert arming.rewatch(problem, None, search, None, 0.5, y, None, 1e-6) == told
    kinds = ["contact"] * 3 + ["change"] * 2 if mechanical else ["guard"] * 5
    assert armed[1:] == [(kind, j, 1e-6) for j, kind in enumerate(kinds)]
    assert state[0].watched == 6
    if not mechanical:
        assert search.when.tolist() == [5, 6, 7, 8, 9]


def test_one_contact_shares_an_impact_with_no_other(monkeypatch):
    """Of several those count that it reaches, in a matrix that is made again."""
    for gaps, closed, now, reached, told in (
        ([0.0, 1.0, 1.0], (), 0, (), ([0], 1)), ([0.0, 0.0, 0.0], (), 1, (0, 1), ([0, 1], 2)), ([0.0, 0.0, 0.0], (), -1, (0,), ([0, 1, 2], 1)),
        ([1.0, 0.0, 1.0], (2,), 1, (0, 1), ([1, 2], 1)), ([1.0, 1.0, 1.0], (), -1, (), ([], 1)), ([2e-6, 1e-6, 0.0], (), 2, (1,), ([2], 2)),
    ):  # fmt: skip
        act, made = np.full(3, -1), []
        contacts = space(act=act, reached=np.array([int(k in reached) for k in range(3)]))
        problem = space(
            sizes=space(n_c=3),
            out=np.array(gaps),
            rows=[space(closed=int(c in closed)) for c in range(3)],
        )

        def delassus(problem, contacts, m, made=made):
            made.append(m)
            return 2 * m

        put(
            monkeypatch,
            impacts.sharing,
            delassus=delassus,
            reach=lambda contacts, m, total, now, r=reached: len(r),
        )
        m, total = impacts.sharing(problem, contacts, 1e-6, now)
        assert (act[:m].tolist(), len(made)) == told
        assert total == 2 * m
    put(monkeypatch, impacts.sharing, delassus=lambda *_: -1)
    assert impacts.sharing(problem, contacts, 1e-6, 2)[1] == -1


@for_each(("named", "singular"), [(0, False), (1, False), (3, False), (2, True), (-1, False)])
def test_velocities_are_what_the_law_names_and_those_that_are_kept(monkeypatch, named, singular):
    """A law may name none of them; without rows there is nothing to solve."""
    n, x_plus, told = 3, 5, []
    resets = np.full((2, 1 + n), law.KEPT + 1)
    resets[1, 1 + named :] = law.KEPT
    inp, rng = np.arange(20.0), np.random.default_rng(2)
    W, asked = rng.normal(size=(n, n)) * (not singular), rng.normal(size=n)
    problem = space(
        sizes=space(n=n, rows=2), inp=inp, out=asked, saddle=space(W=W.copy(), pivots=np.zeros(n, int), solution=np.full(n, np.nan)),
        rows=[space(closed=1), space(closed=0)], functions=space(table=None), resets=resets,
    )  # fmt: skip
    event = space(row=np.full(20, 9.0), at=space(x_plus=x_plus, p=14), head=[space(together=-1)])
    contacts = space(rows=[space(prior=-1), space(prior=-1)])
    put(monkeypatch, law.reset_velocities, identity=lambda *_: None, rows_of_law=lambda *_: named, evaluate=lambda *_: None,
        law_impulses=lambda *_: told.append("impulses"), law_derivative=lambda *given: told.append(given[2:]))  # fmt: skip
    status = law.reset_velocities(problem, contacts, event, True, 1)
    assert [row.prior for row in contacts.rows] == [1, 0]
    assert event.row[14:17].tolist() == [0, 0, 9]
    if singular or named < 0:
        assert (status, told) == (SINGULAR, [])
    else:
        kept = [inp[1 + n + i] for i in range(named, n)]
        np.testing.assert_allclose(
            W @ event.row[x_plus + n : x_plus + 2 * n], [*asked[:named], *kept], rtol=1e-9
        )
        assert (status, told, event.head[0].together) == (SUCCESS, ["impulses", (1, named)], 1)


@for_each(
    ("starts", "guards", "mode", "after", "kind"),
    [
        (0, 3, 0, 1, "jumped"),
        (3, 0, 0, 1, "jumped"),
        (1, 1, 0, 1, "event"),
        (1, 1, 1, 0, "event"),
        (2, 1, 0, 0, None),
        (2, 1, 1, 1, None),
        (1, 2, 0, -1, None),
    ],
)
def test_a_jump_of_the_inputs_may_begin_another_mode(
    monkeypatch, starts, guards, mode, after, kind
):
    said = []
    run, state = (
        space(interval=0, t=1.0, events=0, stop=9.0, fresh=0, at=-1),
        space(mode=mode, fired=7),
    )
    table = [space(address=1), space(address=1)]
    problem = space(
        drive=space(t=np.array([1.0, 2.0])),
        sizes=space(mechanical=False),
        state=[state],
        functions=space(table=table),
    )
    automaton = space(starts=np.zeros(starts), guards=np.zeros(guards), first=[0, 0])
    put(monkeypatch, breaking.next_interval, release=lambda *_: None, enter_interval=lambda problem, k: said.append(k),
        begin_anew=lambda *_: after, write_event=lambda *given: said.append(("write", given[4])) or SUCCESS,
        end_event=lambda *_: said.append("end") or SUCCESS, jumped=lambda *_: said.append("jumped") or 5)  # fmt: skip
    options = space(max_events=4, t_end=3.0)
    given = (problem, automaton, None, None, options, space(run=[run]), None)
    assert breaking.next_interval(*given) == (SUCCESS, 5 if kind == "jumped" else breaking.NONE)
    assert (
        said == {"jumped": [1, "jumped"], "event": [1, 0, ("write", 0), 1, "end"], None: [1]}[kind]
    )
    assert (run.interval, run.stop, run.fresh, state.fired) == (1, 2.0, 1, -1)
    assert state.mode == (after if kind == "event" else mode)
    run.interval = 1
    breaking.next_interval(*given)
    assert run.stop == 3.0  # of the last interval


@for_each(("first", "named"), [(0, 0), (2, 2), (3, 2), (7, 2)])
def test_an_event_of_a_jump_is_named_by_the_first_guard_of_its_mode(monkeypatch, first, named):
    """A mode without a guard is behind all of them: the last one is named."""
    written = []
    run, state = (
        space(interval=0, t=1.0, events=3, stop=9.0, fresh=0, at=-1),
        space(mode=1, fired=7),
    )
    problem = space(drive=space(t=np.array([1.0, 2.0])), sizes=space(mechanical=False), state=[state],
                    functions=space(table=[space(address=1)] * 3))  # fmt: skip
    automaton = space(starts=np.zeros(3), guards=np.zeros(3), first=[9, first, 9])
    put(monkeypatch, breaking.next_interval, release=lambda *_: None, enter_interval=lambda *_: None,
        begin_anew=lambda *_: 2, write_event=lambda *given: written.append(given[4:]) or SUCCESS,
        end_event=lambda *_: SUCCESS)  # fmt: skip
    given = (problem, automaton, None, None, space(max_events=4, t_end=3.0), space(run=[run]), None)
    assert breaking.next_interval(*given) == (SUCCESS, breaking.NONE)
    assert written == [(named, breaking.CROSSING)]
    run.events, state.mode = 4, 1  # there is no room
    assert breaking.next_interval(*given) == (EVENT_CAP, breaking.NONE)
    problem.functions.table[2].address = 0
    run.events, state.mode = 0, 1
    assert breaking.next_interval(*given) == (UNMADE, breaking.NONE)
    assert run.at == 2


@for_each(("form", "gaps", "told"), [
    ("other", [0.0, 0.0, 0.0], -1), ("other", [0.0, 9.0, 9.0], 1), ("other", [9.0, 0.0, 0.0], -1), ("other", [0.0, 0.0, 9.0], -1),
    ("penalty", [2.0, 2.0 * changing.YIELDS * 0.9, 0.0], -1), ("penalty", [2.0, 2.0 * changing.YIELDS * 1.1, 0.0], 1),
    ("penalty", [0.0, 9.0, 99.0], 1), ("penalty", [0.0, changing.OFF * 3.9, 0.0], -1), ("other", [0.0, changing.OFF * 4.1, 0.0], 1),
])  # fmt: skip
def test_a_constraint_that_begins_to_hold_is_satisfied(monkeypatch, form, gaps, told):
    """But for round-off of places up to 3, and as far as those that are held yield to penalties.

    Constraint 0 is held; 1 begins to hold by change 4; 2 is not held, and begins by another change.
    """
    n, first = 2, 3
    problem = space(
        sizes=space(n=n, n_c=2, n_t=1, rows=first + 3), functions=space(table=None), inp=np.array([50.0, -3.0, 1.0, 80.0]),
        out=np.array([77.0] * first + gaps), state=[space(form=changing.PENALTY if form == "penalty" else changing.PENALTY + 1)],
        rows=[space(closed=1)] * first + [space(closed=1), space(closed=0), space(closed=0)],
        links=np.array([(7,), (4,), (5,)], [("change", int)]).view(np.recarray),
    )  # fmt: skip
    put(monkeypatch, changing.unsatisfied, evaluate=lambda *_: None, holds=lambda *_: True)
    assert changing.unsatisfied(problem, 4) == told
    put(monkeypatch, changing.unsatisfied, holds=lambda *_: False)
    assert changing.unsatisfied(problem, 4) == -1
