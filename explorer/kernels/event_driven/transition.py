"""One event: which reset it has, what its kind is, and which mode follows.

`switch` is the event of an automaton, `touch` that of a contact: it lets go, strikes, begins to
slide, stops sliding or turns. Events that accumulate are told here, by intervals that shrink like
a geometric series or by a rest too short or too low to be told from contact.
"""

import numpy as np

from explorer.codes import NO_ACTIVE_SET, SUCCESS, ZENO
from explorer.kernels.event_driven.contact_impact import LCP_WORK, MET, impact, settle
from explorer.kernels.event_driven.flow import (
    BEYOND,
    BRANCH_AT,
    BRANCH_ROW,
    BRANCHES,
    CLOSED,
    CON,
    EACH,
    FIRED,
    FLAGS,
    GUARDS,
    HELD,
    MODE,
    MODES,
    NC,
    NR,
    NX,
    OWNERS,
    PROBLEM,
    ROWS,
    SAME,
    N,
    accelerate,
    guard_count,
)  # fmt: skip
from explorer.kernels.event_driven.locate_event import TERMINAL
from explorer.kernels.event_driven.saltation import REST, X_PLUS, D, identity, largest, reset
from explorer.kernels.jit import call, kernel

__all__ = ["switch", "touch"]

# kinds of events, in the integer record
GUARD, STRIKE, CLOSING, RELEASE, ACCUMULATION, SLIDING, STICKING, REVERSAL = 0, 1, 2, 3, 4, 5, 6, 7
# knobs of the march
T0, T_END, RTOL, ATOL, H0, BAND, H_MAX = 0, 1, 2, 3, 4, 5, 6
STIFF_LIMIT, EXPONENT, REST_MAX, LOWEST, GRID = 7, 8, 9, 10, 11
ROUND_OFF = 1e-6  # a condition this far below zero does not hold, whatever the others are
SURE = 1e-8  # one larger than this is no round-off, whichever way it is computed
PICKS = 4  # place in the caps of what is picked at moments with several continuations
MOMENTS = 4  # in `state`: how many there have been
GOES_ON = -1


@kernel(
    "int64(int64[:, ::1], int64[::1], float64[::1], float64[::1], int64, int64[::1], int64[::1])",
    inner=True,
)
def branch(table, shape, inp, out, at, state, caps):
    """Return the place in `shape` of the branch that the state in `inp` decides for, or -1.

    `at` is the place of the guard. The first branch whose conditions all are > 0; but for round-off
    one is the nearest to it. Where several surely hold, and none is barely there before them, it
    is the one of the number that caps[PICKS:] has for this moment (-1: the first).
    """
    row = shape[at + BRANCH_ROW]
    call(table[row, 0], table[row, 1], out, inp)
    best, chosen, first, held = -ROUND_OFF, -1, -1, 0
    moment = PICKS + state[MOMENTS]
    pick = caps[moment] if moment < caps.size else -1
    picked = -1
    for b in range(shape[at + BRANCHES]):
        here = shape[at + BRANCH_AT] + 4 * b
        least = np.inf
        for k in range(shape[here + 2], shape[here + 3]):
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
        state[MOMENTS] += 1
        return picked if picked >= 0 else first
    return first if first >= 0 else chosen


@kernel(
    f"int64({PROBLEM}, int64, float64, float64[::1], float64, float64, float64[::1],"
    " int64[::1], int64[::1], int64[::1])",
    inner=True,
)
def switch(
    table, shape, inp, out, W, pivots, vec, state, now, t, times, twelfth, rest_max, row, kind, lay,
    caps,
):  # fmt: skip
    """Fire guard `now` of the present mode; return the status with which the run ends, or GOES_ON.

    `times` keeps the last three of every guard, `twelfth` is the time of the twelfth event back.
    """
    g = shape[shape[GUARDS] + state[MODE]] + now
    kind[0], kind[1] = g, GUARD
    at = shape[GUARDS] + shape[MODES] + 1 + EACH * g
    terminal = (shape[at + FLAGS] & TERMINAL) != 0
    # do the intervals between this guard's events shrink towards a point?
    first, second = t - times[3 * g], times[3 * g] - times[3 * g + 1]
    third = times[3 * g + 1] - times[3 * g + 2]
    times[3 * g + 2], times[3 * g + 1], times[3 * g] = times[3 * g + 1], times[3 * g], t
    ratio = first / second if second > 0.0 else 1.0
    remains = first * ratio / (1.0 - ratio) if 0.0 < ratio < 1.0 else np.inf
    zeno = (
        second < third < 1e200
        and ratio < 0.999
        and remains < rest_max
        and abs(ratio - second / third) < 0.05
    )
    if t - twelfth < rest_max:
        zeno, remains = True, 0.0  # several guards take turns
    before = state[MODE]
    reset(table, shape, inp, out, W, pivots, vec, state, g, row, lay)
    left = -1
    if shape[at + BRANCHES] > 0:
        chosen = branch(table, shape, inp, out, at, state, caps)
        state[MODE] = before if chosen < 0 else shape[chosen]
        if chosen < 0:
            return NO_ACTIVE_SET
        left = shape[chosen + 1]
    state[FIRED] = now if state[MODE] == before else shape[at + SAME]
    if left >= 0:
        state[FIRED] = guard_count(shape, state) + left
    if zeno:
        row[REST] = remains
        kind[1] = ACCUMULATION
        if shape[at + BEYOND] < 0:
            return ZENO
        state[MODE] = shape[at + BEYOND]
        state[FIRED] = -1
    return SUCCESS if terminal else GOES_ON


@kernel(
    f"int64({PROBLEM}, {LCP_WORK}, int64, float64, float64[::1], float64, float64[::1],"
    " float64[::1], float64[:, ::1], float64[::1], float64[::1], int64[::1], int64[::1], int64)",
    inner=True,
)
def touch(
    table, shape, inp, out, W, pivots, vec, state, matrix, B, A, tab, vectors, ints, member, now, t,
    y, crowd, knobs, e, e_rho, e_now, row, kind, lay, slopes,
):  # fmt: skip
    """Fire guard `now` of a mechanical system; `crowd` is the time of an event well back.

    Without `slopes` the derivative of an impact is left out.
    """
    nx, n, nc, rows = shape[NX], shape[N], shape[NC], shape[ROWS]
    band, slow = knobs[BAND], 1e-12 * (1.0 + largest(y, n, nx))
    held = now if now < rows else now - (rows - nc)
    if held >= nc:
        contact = shape[shape[OWNERS] + held]
        sigma = CLOSED + rows + held - nc
        identity(shape, row, lay)
        kind[0] = contact
        if state[CLOSED + held] == 1:  # the force has reached its bound: it slides, the other way
            kind[1] = SLIDING
            state[CLOSED + held] = 0
            state[HELD] -= 1
            state[sigma] = -1 if now < rows else 1
            state[FIRED] = held + 2 * rows - nc
            return SUCCESS
        for c in range(rows):
            ints[7, c] = state[CLOSED + c]
        before = state[sigma]
        status = settle(
            table, shape, inp, out, W, pivots, vec, state, matrix, B, A, tab, vectors, ints, member,
            band, slow, held,
        )  # fmt: skip
        state[FIRED] = held
        kind[1] = STICKING
        if state[CLOSED + held] == 0:
            kind[1] = REVERSAL if state[sigma] == -before else SLIDING
        return status
    if state[CLOSED + now] == 1:
        kind[1] = RELEASE
        identity(shape, row, lay)
        tangent = shape[shape[OWNERS] + now]
        state[CLOSED + now] = 0
        state[HELD] -= 1
        if tangent >= 0:
            state[HELD] -= state[CLOSED + tangent]
            state[CLOSED + tangent] = 0
            state[CLOSED + rows + tangent - nc] = 0
        state[FIRED] = now + 2 * rows - nc
        return SUCCESS
    kind[1] = STRIKE
    state[FIRED] = now
    # the acceleration at which the gap closes again, to foresee an accumulation
    accelerate(table, shape, inp, out, W, pivots, vec, state)
    call(table[CON, 0], table[CON, 1], out, inp)
    fall = -out[2 * rows + rows * n + now]
    for i in range(n):
        fall -= out[2 * rows + now * n + i] * inp[1 + nx + shape[NR] + n + i]
    for a in range(nc):
        e_now[a] = e[a]
    rest = np.inf
    speed = -e[now] * row[D]
    if fall > 0.0 and e[now] < 1.0 and row[D] < 0.0:
        rest = 2.0 * speed / (fall * (1.0 - e[now]))
    # what is left of it lasts too short, or stays too low, to be told from contact
    low = row[D] < 0.0 and speed * speed < 2.0 * fall * knobs[LOWEST]
    if (rest < knobs[REST_MAX] or (low and rest < np.inf)) and e[now] > 0.0:
        e_now[now] = 0.0
        row[REST] = rest
        kind[1] = ACCUMULATION
    crowded = t - crowd < knobs[REST_MAX]
    if crowded or row[D] >= 0.0:
        for a in range(nc):
            e_now[a] = 0.0
    if crowded:
        kind[1] = ACCUMULATION
    status = impact(
        table, shape, inp, out, W, pivots, vec, state, matrix, B, A, tab, vectors, ints, member,
        band, e_now, e_rho, row, lay, slopes, now,
    )  # fmt: skip
    if status != SUCCESS:
        return status
    kind[5] = max(ints[MET, 0], 1)
    for i in range(nx):
        inp[1 + i] = row[lay[X_PLUS] + i]
    if row[D] >= 0.0:  # it never left: a bounce below the resolution of the gap
        slow = max(slow, 2.0 * row[D])
    status = settle(
        table, shape, inp, out, W, pivots, vec, state, matrix, B, A, tab, vectors, ints, member,
        band, slow, -1,
    )  # fmt: skip
    if state[CLOSED + now] == 1 and kind[1] == STRIKE:
        kind[1] = CLOSING
    return status
