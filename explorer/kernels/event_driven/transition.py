"""One event: which reset it has, what its kind is, and which mode follows.

`switch` is the event of an automaton, `touch` that of a contact: it lets go, strikes, begins to
slide, stops sliding or turns. Events that accumulate are told here, by intervals that shrink like
a geometric series or by a rest too short or too low to be told from contact.
"""

import numpy as np

from explorer.codes import NO_ACTIVE_SET, SUCCESS, ZENO
from explorer.kernels.event_driven.change_constraints import change_constraints
from explorer.kernels.event_driven.contact_impact import impact, speeds
from explorer.kernels.event_driven.flow import accelerate, evaluate, guard_count, is_change
from explorer.kernels.event_driven.records import (
    ACCUMULATION,
    CLOSING,
    CONTACTS,
    CROSSING,
    RELEASE,
    REVERSAL,
    SLIDING,
    STICKING,
    STRIKE,
    TERMINAL,
)
from explorer.kernels.event_driven.saltation import identity, largest, reset
from explorer.kernels.event_driven.settle import HELD_BEFORE, settle
from explorer.kernels.event_driven.structures import Automaton, Contacts, Event, Options, Problem
from explorer.kernels.event_driven.velocity_reset import reset_velocities
from explorer.kernels.references import kernel
from explorer.kernels.structures import Integers, Vector

__all__ = ["switch", "touch"]

ROUND_OFF = 1e-6  # a condition this far below zero does not hold, whatever the others are
SURE = 1e-8  # one larger than this is no round-off, whichever way it is computed
GOES_ON = -1
LONG_AGO = -1e300


@kernel(inner=True)
def branch(problem: Problem, automaton: Automaton, guard: int, picks: Integers) -> int:
    """Return the number of the branch that the state in `inp` decides for, or -1.

    The first branch whose conditions all are > 0; but for round-off one is the nearest to it. Where
    several surely hold, and none is barely there before them, it is the one of the number that
    `picks` has for this moment (-1: the first).
    """
    out, branches, state = problem.out, automaton.branches, problem.state
    first_branch = automaton.guards[guard].branch
    evaluate(problem.functions.table, automaton.guards[guard].conditions, problem.inp, out)
    best, chosen, first, held, picked = -ROUND_OFF, -1, -1, 0, -1
    moment = state[0].moments
    pick = picks[moment] if moment < picks.size else -1
    for here in range(first_branch, first_branch + automaton.guards[guard].branches):
        least = np.inf
        for k in range(branches[here].first, branches[here].last):
            least = -np.inf if np.isnan(out[k]) else min(least, out[k])
        if least > 0.0 and first < 0:
            first = here
            if least <= SURE:
                return first
        if least > SURE:
            if held == pick:
                picked = here
            held += 1
        if least > best:
            best, chosen = least, here
    if held > 1:
        state[0].moments += 1
        return picked if picked >= 0 else first
    return chosen


@kernel(inner=True)
def accumulates(
    automaton: Automaton, guard: int, t: float, twelfth: float, rest: float
) -> tuple[bool, float]:
    """Whether the events of a guard at t accumulate, and how long they would take in s.

    The intervals between them shrink towards a point; or the `twelfth` event back, of whatever
    guards, was a moment ago.
    """
    last = automaton.last
    first, second = t - last[guard].first, last[guard].first - last[guard].second
    third = last[guard].second - last[guard].third
    last[guard].third, last[guard].second = last[guard].second, last[guard].first
    last[guard].first = t
    ratio = first / second if second > 0.0 else 1.0
    remains = first * ratio / (1.0 - ratio) if 0.0 < ratio < 1.0 else np.inf
    zeno = (
        second < third < 1e200
        and ratio < 0.999
        and remains < rest
        and abs(ratio - second / third) < 0.05
    )
    if t - twelfth < rest:
        zeno, remains = True, 0.0  # several guards take turns
    return zeno, remains


@kernel(inner=True)
def switch(
    problem: Problem,
    automaton: Automaton,
    options: Options,
    event: Event,
    now: int,
    twelfth: float,
) -> int:
    """Fire guard `now` of the present mode; return the status with which the run ends, or GOES_ON.

    SUCCESS: it is terminal; ZENO: its events accumulate and no mode is given behind them;
    NO_ACTIVE_SET: no branch has its conditions met. `twelfth` is the time of the twelfth event
    back.
    """
    state, head = problem.state, event.head
    g = automaton.first[state[0].mode] + now
    guard = automaton.guards[g]
    head[0].guard, head[0].kind = g, CROSSING
    zeno, remains = accumulates(automaton, g, head[0].t, twelfth, options.rest)
    before = state[0].mode
    reset(problem, automaton, g, event)
    left = -1
    if guard.branches > 0:
        chosen = branch(problem, automaton, g, options.picks)
        state[0].mode = before if chosen < 0 else automaton.branches[chosen].to
        if chosen < 0:
            return NO_ACTIVE_SET
        left = automaton.branches[chosen].left
    state[0].fired = now if state[0].mode == before else guard.same
    if left >= 0:
        state[0].fired = guard_count(problem, automaton) + left
    if zeno:
        head[0].rest, head[0].kind = remains, ACCUMULATION
        if guard.beyond < 0:
            return ZENO
        state[0].mode = guard.beyond
        state[0].fired = -1
    return SUCCESS if (guard.flags & TERMINAL) != 0 else GOES_ON


@kernel(inner=True)
def let_others_follow(
    problem: Problem, contacts: Contacts, held: int, begins: int, band: float, slow: float
) -> int:
    """Settle the contacts anew where tangent `held` begins to slide and others are at rest.

    They count as sliding, since their forces are at a bound, but `held` alone has kept them still
    (redundant contacts): the one that slides now decides which way they go, or whether they stick.
    """
    nc, nt, rows, prior = problem.sizes.n_c, problem.sizes.n_t, problem.rows, contacts.rows
    speeds(problem, contacts)
    others = False
    for c in range(nc, nc + nt):
        still = abs(prior[c].speed) <= HELD_BEFORE * slow
        others = others or (c != held and rows[c].sigma != 0 and still)
    if not others:
        return SUCCESS
    for c in range(problem.sizes.rows):
        prior[c].prior = rows[c].closed
        if rows[c].sigma != 0 and abs(prior[c].speed) <= HELD_BEFORE * slow:
            prior[c].prior = 1
    return settle(problem, contacts, band, slow, held, begins)


@kernel(inner=True)
def slide_or_stick(
    problem: Problem,
    contacts: Contacts,
    event: Event,
    now: int,
    held: int,
    band: float,
    slow: float,
) -> int:
    """Fire guard `now` of the tangent row `held`: it begins to slide, sticks or turns."""
    rows, state, head = problem.rows, problem.state, event.head
    nc, nt = problem.sizes.n_c, problem.sizes.n_t
    identity(problem.sizes, event)
    head[0].guard = problem.partner[held]
    if rows[held].closed == 1:  # the force has reached its bound: it slides, the other way
        head[0].kind = SLIDING
        rows[held].closed = 0
        state[0].held -= 1
        begins = -1 if now < nc + nt else 1
        rows[held].sigma = begins
        state[0].fired = held + nc + 2 * nt
        return let_others_follow(problem, contacts, held, begins, band, slow)
    for c in range(problem.sizes.rows):
        contacts.rows[c].prior = rows[c].closed
    before = rows[held].sigma
    status = settle(problem, contacts, band, slow, held, 0)
    state[0].fired = held
    head[0].kind = STICKING
    if rows[held].closed == 0:
        head[0].kind = REVERSAL if rows[held].sigma == -before else SLIDING
    return status


@kernel(inner=True)
def let_go(problem: Problem, event: Event, contact: int) -> None:
    """Open a contact whose force has fallen to zero."""
    rows, state, tangent = problem.rows, problem.state, problem.partner[contact]
    event.head[0].kind = RELEASE
    identity(problem.sizes, event)
    rows[contact].closed = 0
    state[0].held -= 1
    if tangent >= 0:
        state[0].held -= rows[tangent].closed
        rows[tangent].closed, rows[tangent].sigma = 0, 0
    state[0].fired = contact + problem.sizes.n_c + 2 * problem.sizes.n_t


@kernel(inner=True)
def let_others_take_over(
    problem: Problem, contacts: Contacts, band: float, slow: float, contact: int
) -> int:
    """Settle the contacts anew where another one touches at rest when `contact` has let go.

    It may hold the body from the other side, and its force begins now.
    """
    rows, nc = problem.rows, problem.sizes.n_c
    speeds(problem, contacts)
    others = False
    for c in range(nc):
        touches = problem.out[c] <= band and abs(contacts.rows[c].speed) <= slow
        others = others or (c != contact and rows[c].closed == 0 and touches)
    if not others:
        return SUCCESS
    for c in range(problem.sizes.rows):
        contacts.rows[c].prior = rows[c].closed
    contacts.rows[contact].prior = 1
    return settle(problem, contacts, band, slow, -1, 0)


@kernel(inner=True)
def rest_of(problem: Problem, contact: int, speed: float, e: float) -> tuple[float, float]:
    """Return how long bounces that begin with `speed` still take, in s, and the deceleration.

    At a deceleration a of the gap bounces with restitution e take 2 v / (a (1 - e)) in all.
    Infinity: they do not end.
    """
    n, count, inp, out = problem.sizes.n, problem.sizes.rows, problem.inp, problem.out
    accelerate(problem)
    evaluate(problem.functions.table, CONTACTS, inp, out)
    fall = -out[2 * count + count * n + contact]
    for i in range(n):
        fall -= out[2 * count + contact * n + i] * inp[problem.sizes.rates + n + i]
    rest = np.inf
    if fall > 0.0 and e < 1.0:
        rest = 2.0 * speed / (fall * (1.0 - e))
    return rest, fall


@kernel(inner=True)
def touch(
    problem: Problem,
    contacts: Contacts,
    options: Options,
    event: Event,
    now: int,
    y: Vector,
    crowd: float,
) -> int:
    """Fire guard `now` of a mechanical system at the state y; return as `settle` and `impact` do.

    `crowd` is the time of an event well back.
    """
    nx, n, nc, nt = problem.sizes.n_x, problem.sizes.n, problem.sizes.n_c, problem.sizes.n_t
    state, inp, head, e, e_now = problem.state, problem.inp, event.head, contacts.e, contacts.e_now
    band, slow, D = options.band, 1e-12 * (1.0 + largest(y, n, nx)), head[0].D
    if is_change(problem, now):
        return change_constraints(problem, contacts, event, options, now, y)
    held = now if now < nc + nt else now - nt
    if held >= nc:
        return slide_or_stick(problem, contacts, event, now, held, band, slow)
    if problem.rows[now].closed == 1:
        let_go(problem, event, now)
        return let_others_take_over(problem, contacts, band, slow, now)
    head[0].kind = STRIKE
    state[0].fired = now
    for c in range(nc):
        e_now[c] = e[c]
    speed = -e[now] * D
    rest, fall = rest_of(problem, now, speed, e[now])
    if not D < 0.0:
        rest = np.inf
    # what is left of it lasts too short, or stays too low, to be told from contact
    low = D < 0.0 and speed * speed < 2.0 * fall * options.lowest
    if (rest < options.rest or (low and rest < np.inf)) and e[now] > 0.0:
        e_now[now] = 0.0
        head[0].rest = rest
        head[0].kind = ACCUMULATION
    crowded = head[0].t - crowd < options.rest
    if crowded or D >= 0.0:
        for c in range(nc):
            e_now[c] = 0.0
    if crowded:
        head[0].kind = ACCUMULATION
    if problem.resets[now, 0] >= 0 and e_now[now] == e[now] and D < 0.0:
        status = reset_velocities(problem, contacts, event, options.slopes, now)
    else:
        status = impact(problem, contacts, band, event, options.slopes, now)
    if status != SUCCESS:
        return status
    for i in range(nx):
        inp[1 + i] = event.row[event.at.x_plus + i]
    if D >= 0.0:  # it never left: a bounce below the resolution of the gap
        slow = max(slow, 2.0 * D)
    status = settle(problem, contacts, band, slow, -1, 0)
    if problem.rows[now].closed == 1 and head[0].kind == STRIKE:
        head[0].kind = CLOSING
    return status
