"""Many contacts with a diagonal W: `explorer.kernels.friction.coulomb` on their graph.

Two contacts act on each other only where they share a coordinate, so D = G W^-1 G' is sparse and
is never formed. Impulses act through the velocities u = W^-1 G' P that they make::

    w = q + G u     (for a contact that gives way: + s P, s its compliance divided by h^2 theta)

    exchange   the contacts that hold (of those with friction: stick, or slide) make a band, which
               is factored; what contradicts their set changes it, and again. One contradiction at
               a time after a while, so that it ends (Judice, Pires, Computers & OR 21 (1994) 587).
    sweeps     contact by contact in closed form: `explorer.kernels.friction.graph_gauss_seidel`

Both begin where the last step ended. Their cost grows like the number of contacts. In a pile with
friction impulses are not determined, and sweeps converge slowly: from where they come near, or
after 80, 160, 320, ... of them, proximal steps along paths of exact solutions lead on
(`explorer.kernels.friction.graph_proximal`). Discs that wedge each other can lead both round and
round. Then Newton's method for all contacts together is tried, at last from soft contacts on
(`explorer.kernels.friction.graph_newton`), and once more sweeps from nothing that go half the way.
In a pile a residual of 3e-3 |q| is taken after 1280 sweeps, which the record shows and a caution
names.
"""

import numpy as np

from explorer.codes import LCP_ITERATIONS, LCP_RAY, SUCCESS
from explorer.kernels.complementarity.lcp import PGS
from explorer.kernels.friction.coefficients import IMPROPER, improper, revised
from explorer.kernels.friction.contact_modes import impulses, unknowns, verdict
from explorer.kernels.friction.graph_gauss_seidel import (
    GRAPH,
    LOCAL,
    coupling,
    follow,
    residual,
    sweeps,
)
from explorer.kernels.friction.graph_newton import assemble, harden, newton
from explorer.kernels.friction.graph_path import INTS, VECTORS
from explorer.kernels.friction.graph_proximal import approach
from explorer.kernels.friction.single_contact import MARGIN, OPEN, STICK
from explorer.kernels.jit import kernel
from explorer.kernels.linear_algebra.banded_lu import band_factor, band_solve

__all__ = ["GRAPH_WORK", "INTS", "VECTORS", "WIDE", "WIDEST", "on_graph"]

WIDEST = 12  # bandwidth up to which the contacts that hold are solved for together
WIDE = 256  # the same where sweeps get nowhere, and friction holds a pile
SWEEPS = 20  # between two attempts to do so
NEAR = 1e-3  # residual beside |q| with which proximal steps begin
TRY = 80  # sweeps after which they begin anyhow; twice as many before the next
CHANGES, MOST = 4, 2400  # on their paths: for each sweep before them, and at most
SETTLED = 4  # times SWEEPS within the tolerance after which what they leave is taken
SMALLEST = 1e-12  # residual beside |q| that is aimed at, unless the tolerance is smaller
NEAR_ROUND_OFF = 1e-10  # beside |q|: what such a step may leave, and 1e3 lcp_tol at most
LAST, AIM = 1280, 3e-3  # sweeps, and residual beside |q| that is taken then: the record names it
PATIENCE = 400  # sweeps, after which Newton's method is tried
FINE = 1e-9  # residual beside |q| that it aims at

# band, vectors, integers, rows at each coordinate
GRAPH_WORK = "float64[:, ::1], float64[:, ::1], int64[:, ::1], int64[::1]"


@kernel(
    f"int64({GRAPH}, {LOCAL}, float64, boolean, {GRAPH_WORK})",
    inner=True,
)
def exchange(
    ptr, col, val, inverse, act, m, rows, place, mu, q, P, mode, unit, cross, soft, u, size,
    steady, A, vec, ints, near,
):  # fmt: skip
    """Solve for the set in `mode`, exchange what contradicts it, and again.

    Redundant contacts make the band singular; then the smallest of all solutions is found by
    proximal steps. `steady`: G is that of the last call. Returns LCP_RAY where the band is too
    wide, LCP_ITERATIONS where it is singular for all that or the exchange has no end.
    """
    x, b = vec[0], vec[1]
    chosen, state, pivots, known, wanted = ints[0], ints[4], ints[2], ints[3], ints[5]
    fewest, patience = rows + 1, 10
    for _ in range(20 + (m if rows == m else 20)):
        n = unknowns(mode, act, place, m, chosen)
        same = steady and state[1] >= 0 and n == state[2]
        for k in range(m if same else 0):
            same = same and abs(mode[act[k]]) != 1  # it slides, and its mu may have changed
        for c in range(n if same else 0):
            same = same and known[c] == act[chosen[c]]
        state[0] = n
        steps, shift = 1, 0.0
        while not same:
            width = assemble(ptr, col, val, inverse, act, m, rows, place, mu, q, P, mode, unit,
                             cross, soft, u, A, ints, near, WIDEST)  # fmt: skip
            state[1] = -1
            if width < 0:
                return LCP_RAY
            trace = 0.0
            for c in range(n):
                trace += abs(A[c, width])
                A[c, width] += shift
                known[c] = act[chosen[c]]
            if band_factor(A, n, width, pivots) == 0:
                state[2] = n
                state[1] = width
                break
            if steps > 1:
                return LCP_ITERATIONS
            steps, shift = 4, 1e-7 * trace / n
        for c in range(n):
            x[c] = 0.0
        for _ in range(steps):
            for c in range(n):
                b[c] = shift * x[c] - q[chosen[c]]
            band_solve(A, n, state[1], pivots, b)
            for c in range(n):
                x[c] = b[c]
        if steps > 1:
            state[1] = -1
        impulses(mode, act, place, mu, m, rows, chosen, n, x, P)
        follow(ptr, col, val, inverse, act, m, rows, place, mu, q, P, mode, unit, cross, soft, u)
        wrong, last = 0, 0
        for k in range(m):
            what, t, w, sizes, P_t = mode[act[k]], place[k], 0.0, 0.0, 0.0
            if what == OPEN or abs(what) == 1:
                j = k if what == OPEN else t
                w, sizes = q[j], abs(q[j])
                for s in range(ptr[act[j]], ptr[act[j] + 1]):
                    w += val[s] * u[col[s]]
                    sizes += abs(val[s] * u[col[s]])
            if t >= 0:
                P_t = P[t]
            wanted[k] = verdict(what, P[k], P_t, mu[k], w, 1e-14 * size + 1e-15 * sizes)
            if wanted[k] != what:
                wrong += 1
                last = k
        if wrong == 0:
            return SUCCESS
        if wrong < fewest:
            fewest, patience = wrong, 10
        else:
            patience -= 1
        for k in range(m if patience > 0 else 0):
            mode[act[k]] = wanted[k]
        mode[act[last]] = wanted[last]
    return LCP_ITERATIONS


@kernel(
    "boolean(int64[::1], int64, int64[::1], float64[::1], int64[::1], int64, float64[:, ::1],"
    " float64[::1], int64)",
    inline=True,
)
def reconsider(act, m, place, mu, mode, nc, coefficients, slip, attempt):
    """Change mu where a contact has been found to slide, or to turn; whether any was changed."""
    again, kinetic, static = False, coefficients[0], coefficients[1]
    for k in range(m):
        what = mode[act[k]]
        if place[k] < 0 or abs(what) != 1:
            continue
        r = act[place[k]] - nc
        old = mu[k]
        mu[k] = revised(old, kinetic[r], static[r], attempt == 0 and what * slip[nc + r] < 0.0)
        again = again or mu[k] != old
    return again


@kernel(
    f"int64({GRAPH}, int64, float64, int64, float64[::1], float64[::1], float64, int64,"
    f" float64[:, ::1], float64[::1], int8[::1], int64, boolean, {GRAPH_WORK})",
    inner=True,
)
def on_graph(
    ptr, col, val, inverse, act, m, rows, place, mu, q, P, mode, method, tol, max_iter, found,
    compliance, ht, nc, coefficients, slip, before, step, steady, A, vec, ints, near,
):  # fmt: skip
    """Solve for the impulses of the active contacts; ``found[0]`` is the residual.

    Parameters
    ----------
    mu, coefficients, slip, before : as those of `explorer.kernels.friction.coulomb.coulomb`
    compliance : (nc,) of the contacts in m/N
    ht : h^2 theta in s2
    step : number of the time step: a contact that was active in the last one begins where it was
    steady : whether G and h are those of the last call
    A, vec (VECTORS, .), ints (INTS, .), near : workspaces; they hold what the next step begins with
    """
    unit, cross, soft, u = vec[2], vec[3], vec[4], vec[5]
    last, kept = vec[6], vec[7]
    listed, state = ints[6], ints[4]
    if not steady:
        state[1] = -1
    size, lowest = 0.0, 0.0
    for k in range(rows):
        a = act[k]
        unit[k] = coupling(ptr, col, val, inverse, a, a)
        size = max(size, abs(q[k]))
        P[k] = soft[k] = 0.0
        if not np.isfinite(q[k]):
            found[0] = np.nan
            return LCP_RAY
        if k < m:
            lowest = min(lowest, q[k])
            soft[k] = compliance[a] / ht if compliance[a] > 0.0 else 0.0
            unit[k] += soft[k]
            cross[k] = 0.0
            if place[k] >= 0:
                cross[k] = coupling(ptr, col, val, inverse, a, act[place[k]])
    found[0] = 0.0
    if lowest >= 0.0:
        for k in range(m):
            mode[act[k]], listed[act[k]] = OPEN, step
        for k in range(rows):
            last[act[k]] = 0.0
        return SUCCESS
    for k in range(m):
        if listed[act[k]] == step - 1:
            P[k] = last[act[k]]
            if place[k] >= 0:
                P[place[k]] = last[act[place[k]]]
        else:
            mode[act[k]] = STICK if q[k] <= 0.0 else OPEN
        listed[act[k]] = step
    for k in range(m):
        mu[k] = 0.0
        if place[k] >= 0:
            r = act[place[k]] - nc
            mu[k] = coefficients[1 if before[nc + r] == STICK else 0, r]
            if improper(coefficients[0, r], coefficients[1, r]):
                return IMPROPER
    contacts = (ptr, col, val, inverse, act, place, mu, q, unit, soft, P, mode, u)
    for attempt in range(2 + m):
        done, enough, plain, pile, goal = 0, tol * size, False, False, TRY
        nearby, within = NEAR * size, 0
        aim = min(enough, max(MARGIN * enough, SMALLEST * size))
        found[1] = found[2] = 0.0
        while True:
            status = LCP_ITERATIONS
            if method != PGS and not pile:
                for k in range(rows):
                    kept[k] = P[k]
                status = exchange(
                    ptr, col, val, inverse, act, m, rows, place, mu, q, P, mode, unit, cross, soft,
                    u, size, steady, A, vec, ints, near,
                )  # fmt: skip
                pile = status == LCP_RAY and rows > m
                if status == SUCCESS:
                    found[0] = residual(ptr, col, val, inverse, act, m, rows, place, mu, q, P, mode,
                                        unit, cross, soft, u)  # fmt: skip
                    if found[0] <= aim or (found[0] <= enough and within > SETTLED):
                        break
                for k in range(0 if status == SUCCESS and found[0] <= enough else rows):
                    P[k] = kept[k]
            if pile and done >= min(LAST, max_iter) and found[0] <= AIM * size:
                break
            if rows > m and done in (PATIENCE, 5 * PATIENCE, 20 * PATIENCE):
                for k in range(rows):
                    kept[k] = P[k]
                if done < 20 * PATIENCE:
                    status = newton(
                        ptr, col, val, inverse, act, m, rows, place, mu, q, P, mode, unit, cross,
                        soft, u, A, vec, ints, near, found, MARGIN * max(tol, FINE) * size,
                        (A.shape[1] - 1) // 3,
                    )  # fmt: skip
                else:
                    status = harden(
                        ptr, col, val, inverse, act, m, rows, place, mu, q, P, mode, unit, cross,
                        soft, u, A, vec, ints, near, found, max(tol, FINE) * size,
                        (A.shape[1] - 1) // 3,
                    )  # fmt: skip
                    if status == LCP_RAY and found[0] > enough:
                        return LCP_RAY
                if found[0] <= enough:
                    break
                found[1] = found[2] = 0.0
            if done >= max_iter and plain:
                return LCP_ITERATIONS
            if done >= max_iter:
                plain, done = True, 0
                for k in range(rows):
                    P[k] = 0.0
            for _ in range(SWEEPS if plain else 1):
                if plain:
                    found[1] = found[2] = 0.0
                status = sweeps(
                    ptr, col, val, inverse, act, m, rows, place, mu, q, P, mode, unit, cross, soft,
                    u, vec[8], vec[9], found, 1 if plain else SWEEPS,
                )  # fmt: skip
                if status != SUCCESS:
                    return status
                for k in range(rows if plain else 0):
                    P[k] -= 0.5 * vec[9, k]
            done += SWEEPS
            found[0] = residual(ptr, col, val, inverse, act, m, rows, place, mu, q, P, mode, unit,
                                cross, soft, u)  # fmt: skip
            within += found[0] <= enough
            ended = method == PGS or within > SETTLED or done >= max_iter
            if found[0] <= aim or (found[0] <= enough and ended):
                break
            if not np.isfinite(found[0]):
                return LCP_RAY
            due = (done == goal or found[0] <= nearby) and done <= max_iter
            if due and rows > m and method != PGS:
                goal, nearby = max(goal, 2 * done), 0.0
                status = approach(
                    contacts, m, rows, cross, max(enough, min(NEAR_ROUND_OFF, 1e3 * tol) * size),
                    aim, min(CHANGES * done, MOST), A, vec, ints, near, found,
                )  # fmt: skip
                if status == SUCCESS:
                    break
                found[1] = found[2] = 0.0
        if not reconsider(act, m, place, mu, mode, nc, coefficients, slip, attempt):
            break
    for k in range(rows):
        last[act[k]] = P[k]
    return SUCCESS
