"""Event-driven integration: march, locate, jump, restart.

Between events the flow and its tangent linear model are marched together with step control on all
of them (Corner et al. 2019, eq. (18)); at an event the state jumps by its reset and every
sensitivity by `explorer.kernels.event_driven.saltation.saltate`. Whatever is returned comes from a
Runge-Kutta step that ends there (at an event put right to round-off), never from an interpolant.
"""

import numpy as np

from explorer.codes import CHATTERING, EVENT_CAP, NOT_FINITE, STEP_CAP, STIFF, SUCCESS
from explorer.kernels.event_driven.arm_guards import rewatch
from explorer.kernels.event_driven.contact_impact import LCP_WORK, PRIOR, frictions, settle
from explorer.kernels.event_driven.flow import (
    FIRED,
    KIND,
    MODE,
    NC,
    NX,
    PROBLEM,
    ROWS,
    SIDES,
    N,
    flow,
    guard_count,
    guards,
)  # fmt: skip
from explorer.kernels.event_driven.initial_state import UNMADE, begin
from explorer.kernels.event_driven.locate_event import (
    ARM,
    BLUR,
    FRACTION,
    LENGTH,
    SAMPLES,
    SIGN,
    UNARMED,
    first_event,
    land,
)  # fmt: skip
from explorer.kernels.event_driven.runge_kutta import (
    TABLEAU,
    advance,
    first_step,
    interpolate,
    step_error,
    stiffness,
)
from explorer.kernels.event_driven.saltation import (
    BEND,
    F_MINUS,
    F_PLUS,
    REST,
    S_MINUS,
    S_PLUS,
    X_MINUS,
    X_PLUS,
    P,
    T,
    bend,
    guard_gradient,
    largest,
    saltate,
)  # fmt: skip
from explorer.kernels.event_driven.sides import FAILED, HIDDEN, cross, free, release, turn
from explorer.kernels.event_driven.step_record import note
from explorer.kernels.event_driven.structures import Method, Problem, Surfaces
from explorer.kernels.event_driven.transition import (
    ATOL,
    BAND,
    EXPONENT,
    GOES_ON,
    GRID,
    H0,
    H_MAX,
    REST_MAX,
    RTOL,
    STIFF_LIMIT,
    T0,
    T_END,
    switch,
    touch,
)  # fmt: skip
from explorer.kernels.friction.coefficients import IMPROPER
from explorer.kernels.jit import kernel

__all__ = ["march"]

# Beyond this part of the limit of stability a fast oscillation makes the error, whose estimate is
# small where its velocity is: so it falls by no more than this from step to step
WARY, FALL = 0.2, 0.5


@kernel(
    f"int64({PROBLEM}, {TABLEAU}, int64, int64, int64, float64[:, ::1], float64[:, ::1],"
    f" {LCP_WORK}, float64[::1], int64[::1], float64[::1], float64[::1], float64[:, ::1],"
    " float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1],"
    " float64[:, ::1], int64[:, ::1], int64[::1], float64[:, ::1], int64[:, ::1], int64[::1],"
    " int64[:, ::1], int64[::1], int64[::1], float64[:, ::1], float64[:, ::1])"
)
def march(
    table, shape, inp, out, W, pivots, vec, state, A, c, s, L, lp, extra, width, method, E, Dw,
    matrix, B, A2, tab, vectors, ints, member,
    knobs, caps, y, e, e_rho, K, dense, watch, samples, bench,
    steps, step_state, lay, record, record_kind, counts,
    side_table, side_shape, side_state, side_watch, side_samples,
):  # fmt: skip
    """Integrate from knobs[0] to knobs[1]; return a status.

    UNMADE: it comes to the mode counts[0], which is to be compiled first.

    Parameters
    ----------
    table .. state : the problem, see `explorer.kernels.event_driven.flow`
    A, c, s, L, lp, extra, width, method, E, Dw : the method; s is the row of the end of a step,
        extra the last row for the polynomial; width the number of sensitivity columns
    matrix .. member : workspaces of the contact problem
    knobs, caps : (12,), (4 + k,) most steps, most events, what of the start is given, whether
        events are differentiated, with columns or without, picks (-1: none); the steps end at
        multiples of knobs[GRID] (0: where they like)
    y : ((width + 1) (n_x + 1),) start (see `explorer.kernels.event_driven.initial_state`),
    overwritten by the end
    e, e_rho : (n_c,), (n_c, n_rho) restitutions and their derivatives, written
    K, dense, watch, samples, bench : workspaces
    steps, step_state : record of the steps: t, h, y at the start (and, if there is room, the
        accelerations that the method carries); mode or closed contacts, sides of surfaces
    lay, record, record_kind : events: places in a row; numbers; (guard, kind, mode before, mode
        after, number of the first step behind it, how many guards fired together, 0: reached by the
        flow, 1: on its zero at once, 2: beyond its zero at once)
    counts : (4,) steps, events, right-hand sides, rejected steps
    side_table .. side_samples : the surfaces of its formulas, see
    `explorer.kernels.event_driven.sides`
    """
    nx, n, nc, rows = shape[NX], shape[N], shape[NC], shape[ROWS]
    block = nx + 1
    size = (width + 1) * block
    t, t_end = knobs[T0], knobs[T_END]
    rtol, atol, band = knobs[RTOL], knobs[ATOL], knobs[BAND]
    stage, new, x, values, rates, found = (
        bench[0], bench[1], bench[2], bench[3], bench[4], bench[5],
    )  # fmt: skip
    e_now, scratch, times = bench[6], bench[7], bench[8]
    times[:] = -1e300
    taken, events, at_same_time, stiff_count, calm = 0, 0, 0, 0, 0
    member[:] = 0
    ints[PRIOR, :], ints[3, 0] = 0, -1  # no contact has been held before, nothing is factored
    watch[:, 3] = np.inf
    h = knobs[H0]
    fresh = True  # a stretch begins: slopes, guards and watches have to be set
    problem = Problem(table, shape, inp, out, W, pivots, vec, state)
    tools = Method(A, c, L, lp, Dw, s, method, extra, width)
    surfaces = Surfaces(side_table, side_shape, side_state, side_watch, side_samples)
    side_watch[:, :] = 0.0
    release(problem, surfaces)
    state[FIRED], rejected, blurred = -2, False, 0
    wary, last, longest = False, 0.0, 1.0
    if shape[KIND] == 0 and table[state[MODE], 0] == 0:
        counts[0] = state[MODE]
        return UNMADE
    status = begin(
        table, shape, inp, out, W, pivots, vec, state, y, e, e_rho, width, caps[2], counts
    )
    if status != SUCCESS:
        return status
    counts[:] = 0
    if nc > 0:
        status = settle(
            table, shape, inp, out, W, pivots, vec, state, matrix, B, A2, tab, vectors, ints,
            member, band, 1e-12 * (1.0 + largest(y, n, nx)), -1,
        )  # fmt: skip
        if status != SUCCESS:
            return status

    while True:
        now, how = -1, 0
        if fresh:
            status = flow(table, shape, inp, out, W, pivots, vec, state, t, y, K[0], width)
            if status != SUCCESS:
                return status
            if not np.isfinite(largest(K[0], 0, size)):
                return NOT_FINITE
            ahead = h if h > 0.0 else 1e-3 * min(t_end - t, knobs[H_MAX])
            status = turn(problem, surfaces, bench, K, -1, t, y, ahead, width)
            if status != SUCCESS:
                return status
            count = guard_count(shape, state)
            for i in range(block):
                rates[2 * count + i] = K[0, i]
            now = rewatch(
                table, shape, inp, out, W, pivots, vec, state, t, y, watch, band, rates, values,
                scratch, lay,
            )  # fmt: skip
            for j in range(count):
                samples[0, j] = values[j]
            if now >= 0:
                beyond = shape[KIND] == 0 and watch[now, SIGN] * values[now] < -band
                how = 2 if beyond else 1
            fresh, wary = False, False
            if h <= 0.0:
                h = first_step(
                    table, shape, inp, out, W, pivots, vec, state, t, y, K[0], new, stage,
                    min(t_end - t, knobs[H_MAX]), rtol, atol, knobs[EXPONENT],
                )  # fmt: skip
        if now < 0:
            if t >= t_end:
                break
            if taken >= caps[0]:
                return STEP_CAP
            # march one step
            h = min(h, knobs[H_MAX])
            if knobs[GRID] > 0.0:
                h = min(h, (np.floor(t / knobs[GRID] + 1e-9) + 1.0) * knobs[GRID] - t)
            step, final = h, False
            if t + 1.0000001 * h >= t_end:
                step, final = t_end - t, True
            status = advance(
                table, shape, inp, out, W, pivots, vec, state, A, c, s, L, lp, 1, s, t, y, step, K,
                stage, new, width,
            )  # fmt: skip
            if status != SUCCESS:
                return status
            counts[2] += s
            error = step_error(method, E, s, K, y, new, step, block, width, rtol, atol)
            if wary:
                error = max(error, FALL * last * (step / longest) ** (-1.0 / knobs[EXPONENT]))
            if not np.isfinite(error) and free(problem) == 0:
                release(problem, surfaces)  # a formula may end at its surface, as sqrt(abs(u)) does
                counts[3] += 1
                continue
            if not error <= 1.0:
                counts[3] += 1
                rejected = True
                factor = 0.9 * error ** knobs[EXPONENT] if np.isfinite(error) else 0.1
                h = step * max(0.1, min(factor, 0.9))
                if h <= 4e-16 * abs(t) or h < 1e-300:
                    return NOT_FINITE
                continue
            if frictions(table, shape, inp, out, W, pivots, vec, state, t + step, new) != SUCCESS:
                h = 0.5 * step
                if h <= 1e-12 * t_end:
                    return IMPROPER
                continue
            factor = 10.0 if error == 0.0 else min(10.0, 0.9 * error ** knobs[EXPONENT])
            if rejected:
                factor = min(factor, 1.0)
            rejected = False
            grown = step * max(factor, 0.2)
            reach = stiffness(K, s, stage, new, step, nx) if method < 2 else 0.0
            wary, last, longest = reach > WARY * knobs[STIFF_LIMIT], error, step
            if reach > knobs[STIFF_LIMIT]:
                calm = 0
                stiff_count += 1
                if stiff_count >= 40 and taken > 200:
                    return STIFF
            else:
                calm += 1
                if calm >= 6:
                    stiff_count = 0
            turned, blur, bound = -1, 0.0, step
            if shape[SIDES] > 0:
                turned = cross(problem, tools, surfaces, bench, K, dense, y, t, step, blurred < 6)
                if turned == FAILED:
                    return np.int64(found[FRACTION])
                blur = found[BLUR]
                if turned >= 0 and found[LENGTH] == 0.0:
                    status = turn(problem, surfaces, bench, K, turned, t, y, step, width)
                    if status != SUCCESS:
                        return status
                    continue
                if turned >= 0:
                    step, final = found[LENGTH], False
            count = guard_count(shape, state)
            if count > 0 and turned != HIDDEN:
                if extra > s:
                    status = advance(
                        table, shape, inp, out, W, pivots, vec, state, A, c, s, L, lp, s + 1, extra,
                        t, y, step, K, stage, new, 0,
                    )  # fmt: skip
                    if status != SUCCESS:
                        return status
                interpolate(method, Dw, s, K, y, new, step, nx, dense)
                now = first_event(
                    table, shape, inp, out, W, pivots, vec, state, method, dense, y, t, step,
                    final, band, watch, samples, x, values, found, blurred < 6,
                )  # fmt: skip
                blur = max(blur, found[BLUR])
            if turned == HIDDEN or now == HIDDEN:
                blurred += 1
                counts[3] += 1
                h = step * max(0.2, 0.9 * blur**-0.2)
                if h <= 4e-16 * abs(t) or h < 1e-300:
                    return NOT_FINITE
                continue
            blurred = 0
            if count > 0 or shape[SIDES] > 0:
                grown = min(grown, bound * min(10.0, 0.9 * max(blur, 1e-9) ** -0.2))
            tau = step
            if now >= 0:
                tau = min(found[FRACTION], 1.0) * step
                if watch[now, ARM] != UNARMED and found[FRACTION] < 1.0 - 1e-15:
                    status = land(
                        table, shape, inp, out, W, pivots, vec, state, A, c, s, L, lp, y, t, step,
                        step if final else 1.5 * step, K, stage, new, width, now, watch, values,
                        found,
                    )  # fmt: skip
                    tau = found[LENGTH]
                elif 0.0 < tau < step:
                    status = advance(
                        table, shape, inp, out, W, pivots, vec, state, A, c, s, L, lp, 1, s, t, y,
                        tau, K, stage, new, width,
                    )  # fmt: skip
                if status != SUCCESS:
                    return status
            if tau > 0.0:
                note(shape, state, t, tau, y, K[0], steps[taken], step_state[taken])
                for m in range(size):
                    y[m] = new[m]
                taken += 1
                counts[0] = taken
                t = t_end if final and tau == step else t + tau
            if now < 0:
                h = grown
                for m in range(size):
                    K[0, m] = K[s, m]
                for j in range(count):
                    samples[0, j] = samples[SAMPLES, j]
                if shape[SIDES] > 0:
                    status = turn(problem, surfaces, bench, K, turned, t, y, bound, width)
                    if status != SUCCESS:
                        return status
                    guards(table, shape, inp, out, W, pivots, vec, state, t, y, values)
                    for j in range(count):
                        samples[0, j] = values[j]
                continue
        # an event at (t, y)
        if events >= caps[1]:
            return EVENT_CAP
        row, kind = record[events], record_kind[events]
        stuck = events > 0 and t == record[events - 1, T]
        if not stuck and watch[now, ARM] == UNARMED:
            stuck = True
        at_same_time = at_same_time + 1 if stuck else 0
        if at_same_time > 60 + 30 * nc:
            return CHATTERING
        row[T], row[REST] = t, 0.0
        status = flow(table, shape, inp, out, W, pivots, vec, state, t, y, K[0], 0)
        if status != SUCCESS:
            return status
        for i in range(block):
            row[lay[X_MINUS] + i] = y[i]
            row[lay[F_MINUS] + i] = K[0, i]
        for k in range(width * block):
            row[lay[S_MINUS] + k] = y[block + k]
        for a in range(rows):
            row[lay[P] + a] = 0.0
        guard_gradient(table, shape, inp, out, W, pivots, vec, state, now, row, lay)
        row[BEND] = 0.0
        if caps[3] > 0:
            bend(table, shape, inp, out, W, pivots, vec, state, now, 1e-3 * h, row, lay)
        release(problem, surfaces)
        for i in range(block):
            row[lay[X_PLUS] + i] = y[i]
        kind[0], kind[2], kind[5], kind[6] = now, state[MODE], 1, how
        ends = GOES_ON
        if shape[KIND] == 0:
            ends = switch(
                table, shape, inp, out, W, pivots, vec, state, now, t, times,
                record[events - 12, T] if events >= 12 else -1e300, knobs[REST_MAX], row, kind, lay,
                caps,
            )  # fmt: skip
            if table[state[MODE], 0] == 0:
                counts[0] = state[MODE]
                return UNMADE
        else:
            crowd = 8 * (nc + 1)
            status = touch(
                table, shape, inp, out, W, pivots, vec, state, matrix, B, A2, tab, vectors, ints,
                member, now, t, y, record[events - crowd, T] if events >= crowd else -1e300, knobs,
                e, e_rho, e_now, row, kind, lay, caps[3],
            )  # fmt: skip
            if status != SUCCESS:
                return status
        row[lay[X_PLUS] + nx] = y[nx]
        status = flow(table, shape, inp, out, W, pivots, vec, state, t, row[lay[X_PLUS] :], K[0], 0)
        if status != SUCCESS:
            return status
        for i in range(block):
            row[lay[F_PLUS] + i] = K[0, i]
            y[i] = row[lay[X_PLUS] + i]
        saltate(shape, row, lay, width, record[max(events - 1, 0)], kind[6] == 2)
        for k in range(width * block):
            y[block + k] = row[lay[S_PLUS] + k]
        kind[3], kind[4] = state[MODE], taken
        events += 1
        counts[1] = events
        if ends != GOES_ON:
            return ends
        if not np.isfinite(largest(y, 0, block)):
            return NOT_FINITE
        fresh = True
    return SUCCESS
