"""The Euler-Moreau time-stepping scheme for M x' = f(t, x) + r, y = h(x, t, lam), r = g(x, t, lam).

Event-capturing schemes, "First order systems" and its summary, with the corrections listed in the
docstring of `explorer.schemes.euler_moreau`. One iteration from (x, lam), at first those of the
step's start, with u = s x + (1 - s) x_i the point where the relation holds and a the weight of r::

    R_free = M (x - x_i) - h theta f(t_{i+1}, x) - h (1 - theta) f_i
    V = M - h theta f_x - h a s G0                   (= W - h G0 for gamma = 1)
    d = V^-1 [-R_free + h a g(u, lam) + h (1 - a) r_i],   P = h a V^-1 G1
    M_lcp = H1 + s H0 P,   q_lcp = h(u, lam) + s H0 d - M_lcp lam
    y = M_lcp lam+ + q_lcp and the laws;   x+ = x + d + P (lam+ - lam)

gamma on r: a = gamma, s = 1; gamma on the relation: a = 1, s = gamma. V is never split into W and
I - h W^-1 G0. A linear system needs one iteration, whose V is made once for each step size if it
does not depend on t.
"""

import numpy as np

from explorer.codes import NEWTON_CAP, NOT_FINITE, SINGULAR, SUCCESS
from explorer.kernels.complementarity.box_lcp import solve_box
from explorer.kernels.jit import call, kernel
from explorer.kernels.linear_algebra.dense_lu import lu_factor, lu_solve
from explorer.kernels.time_stepping.newton_convergence import at_round_off
from explorer.kernels.time_stepping.time_grid import even_step

__all__ = ["run", "workspaces"]


@kernel("void(float64[::1], float64[::1], int64, int64[::1])", inline=True)
def put(flat, values, start, places):
    """Put ``values[start:]`` to `places` of a matrix; its other entries stay zero."""
    for k in range(places.size):
        flat[places[k]] = values[start + k]


@kernel(
    "int64(int64[:, ::1], float64[::1], int64[::1], float64[::1], int64[::1], int64[::1],"
    " int64[::1], int64[::1], int64[::1], float64[:, ::1], float64[:, ::1], float64[::1],"
    " float64[:, ::1], float64[:, ::1], float64[:, ::1], int8[:, ::1], int32[::1],"
    " float64[:, ::1], float64[:, :, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1],"
    " float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, :, ::1],"
    " float64[:, ::1], float64[:, ::1], int64[:, ::1], float64[:, ::1], float64[::1],"
    " int64[:, ::1])"
)
def run(
    table, knobs, options, inp, place_F, place_H0, place_H1, place_G0, place_G1, M, bounds,
    t, x, lam, y, side, iterations, residuals, square, H0, H1, G1, P, D, q_lcp, A, S, T, long, wide,
    vec, out, ints,
):  # fmt: skip
    """March from row ints[0, 0] to the last row; return a status, last row in ints[0, 0].

    Parameters
    ----------
    table : (4, 2) addresses of the bundles f; f_x; (h, g); (H0, H1, G0, G1)
    knobs : (7,) h, t_end, theta, a, s, Newton tolerance, LCP tolerance
    options : (4,) kind (0 nonlinear, 1 linear, 2 linear and independent of t), Newton cap, LCP
        method, -
    inp : (1 + n + m + p,) input vector [t, x, lam, rho]; rho is read, the rest is scratch
    place_F, ..., place_G1 : flat positions of the entries of f_x, H0, H1, G0, G1 in the bundles
    M : (n, n)
    bounds : (2, m) of lam
    t, x, lam, y, side, iterations, residuals : records, time is axis 0; row 0 of t, x, lam is the
        start; residuals[:, 0] of the LCP, relative, [:, 1] of Newton, relative
    square, ..., ints : workspaces, made by `workspaces`; on failure D, q_lcp[0], T, wide tell the
        LCP that failed
    """
    n, m = x.shape[1], lam.shape[1]
    last = t.size - 1
    h0, t_end, theta, a, s = knobs[0], knobs[1], knobs[2], knobs[3], knobs[4]
    nonlinear, constant = options[0] == 0, options[0] == 2
    F, V, G0 = square[0], square[1], square[2]
    F_flat, G0_flat = F.reshape(n * n), G0.reshape(n * n)
    H0_flat, H1_flat, G1_flat = H0.reshape(m * n), H1.reshape(m * m), G1.reshape(n * m)
    lower, upper = bounds[0], bounds[1]
    f0, f1, r0, d, x1, column = vec[0], vec[1], vec[2], vec[3], vec[4], vec[5]
    l1, new, y1, found = vec[6], vec[7], vec[8], vec[9]
    pivots, state = ints[1], ints[2]
    q = q_lcp[0]
    sides = side[0]
    t0, first = t[0], ints[0, 0]
    h_made = 0.0
    state[0] = -1

    inp[0] = t[first]
    for j in range(n):
        inp[1 + j] = x[first, j]
    for j in range(m):
        inp[1 + n + j] = lam[first, j]
    call(table[0, 0], table[0, 1], out, inp)
    for j in range(n):
        f0[j] = out[j]
    call(table[2, 0], table[2, 1], out, inp)
    for j in range(m):
        y[first, j] = out[j]
    for j in range(n):
        r0[j] = out[m + j]

    for i in range(first, last):
        ints[0, 0] = i
        h, t1 = even_step(t[i], h0, t0, t_end, i, last)
        at = t[i] + s * (t1 - t[i]) if s < 1.0 else t1
        for j in range(n):
            x1[j] = x[i, j]
            inp[1 + j] = x[i, j]
        for j in range(m):
            l1[j] = lam[i, j]
            inp[1 + n + j] = l1[j]
            side[i + 1, j] = side[i, j]
        sides = side[i + 1]
        inp[0] = t1
        call(table[0, 0], table[0, 1], out, inp)
        for j in range(n):
            f1[j] = out[j]
        inp[0] = at
        call(table[2, 0], table[2, 1], out, inp)  # (h, g) at u = x_i

        converged, before, still = False, np.inf, 0
        newton = 1
        for iteration in range(options[1] if nonlinear else 1):
            newton = iteration + 1
            # d, but for V^-1; y1 = h(u, lam)
            for j in range(m):
                y1[j] = out[j]
            for j in range(n):
                total = h * (theta * f1[j] + (1.0 - theta) * f0[j])
                total += h * (a * out[m + j] + (1.0 - a) * r0[j])
                if iteration > 0:
                    for k in range(n):
                        total -= M[j, k] * (x1[k] - x[i, k])
                d[j] = total
            if not constant or h != h_made:
                inp[0] = t1
                for j in range(n):
                    inp[1 + j] = x1[j]
                call(table[1, 0], table[1, 1], out, inp)
                put(F_flat, out, 0, place_F)
                inp[0] = at
                for j in range(n):
                    inp[1 + j] = s * x1[j] + (1.0 - s) * x[i, j]
                call(table[3, 0], table[3, 1], out, inp)
                start = place_H0.size
                put(H0_flat, out, 0, place_H0)
                put(H1_flat, out, start, place_H1)
                start += place_H1.size
                put(G0_flat, out, start, place_G0)
                put(G1_flat, out, start + place_G0.size, place_G1)
                total = 0.0
                for j in range(n):
                    for k in range(n):
                        V[j, k] = M[j, k] - h * theta * F[j, k] - h * a * s * G0[j, k]
                        total += V[j, k]
                if not np.isfinite(total):
                    return NOT_FINITE
                if lu_factor(V, n, n - 1, n - 1, pivots) != 0:
                    return SINGULAR
                for c in range(m):
                    for j in range(n):
                        column[j] = h * a * G1[j, c]
                    lu_solve(V, n, n - 1, n - 1, pivots, column)
                    for j in range(n):
                        P[j, c] = column[j]
                    for j in range(m):
                        total = H1[j, c]
                        for k in range(n):
                            total += s * H0[j, k] * column[k]
                        D[j, c] = total
                h_made = h
                state[0] = -1
            lu_solve(V, n, n - 1, n - 1, pivots, d)
            size = 0.0
            for j in range(m):
                total = y1[j]
                for k in range(n):
                    total += s * H0[j, k] * d[k]
                for k in range(m):
                    total -= D[j, k] * l1[k]
                q[j] = total
                size += total
            if not np.isfinite(size):
                return NOT_FINITE
            if m > 0:
                status = solve_box(
                    options[2], D, m, q, lower, upper, sides, new, y1, knobs[6], A, S, T, long,
                    wide, state, found,
                )  # fmt: skip
                residuals[i + 1, 0] = found[0]
                if status != SUCCESS:
                    return status
            change = 0.0
            size = 0.0
            for j in range(n):
                total = d[j]
                for k in range(m):
                    total += P[j, k] * (new[k] - l1[k])
                x1[j] += total
                change += abs(total)
                size += abs(x1[j])
            if not np.isfinite(size):
                return NOT_FINITE
            jump = 0.0
            for k in range(m):
                jump = max(jump, abs(new[k] - l1[k]) - 4e-16 * abs(new[k]))
                l1[k] = new[k]
            # values at the new point, for the next iteration or the next step
            inp[0] = t1
            for j in range(n):
                inp[1 + j] = x1[j]
            for k in range(m):
                inp[1 + n + k] = l1[k]
            call(table[0, 0], table[0, 1], out, inp)
            for j in range(n):
                f1[j] = out[j]
            if not nonlinear:
                converged = True
                break
            inp[0] = at
            for j in range(n):
                inp[1 + j] = s * x1[j] + (1.0 - s) * x[i, j]
            call(table[2, 0], table[2, 1], out, inp)
            worst = 0.0
            for j in range(n):
                total = -h * (theta * f1[j] + (1.0 - theta) * f0[j])
                total -= h * (a * out[m + j] + (1.0 - a) * r0[j])
                terms = h * (abs(f1[j]) + abs(f0[j]) + abs(out[m + j]))
                noise = 0.0  # what the terms of f and h round to, however they cancel
                for k in range(n):
                    total += M[j, k] * (x1[k] - x[i, k])
                    terms += abs(M[j, k] * x[i, k])
                    noise += h * abs(F[j, k] * x1[k])
                for k in range(m):  # what r is a difference of, where it slides
                    terms += h * abs(G1[j, k] * l1[k])
                off = max(0.0, abs(total) - 1e-15 * noise) + 0.0 * total
                worst = max(worst, off / terms if terms > 0.0 else off)
            for j in range(m):
                total, noise = abs(q[j]), 0.0
                for k in range(m):
                    total += abs(D[j, k] * l1[k])
                for k in range(n):
                    noise += abs(H0[j, k] * x1[k])
                off = max(0.0, abs(out[j] - y1[j]) - 1e-15 * noise) + 0.0 * out[j]
                worst = max(worst, off / total if total > 0.0 else off)
            if not np.isfinite(worst):
                return NOT_FINITE
            residuals[i + 1, 1] = worst
            still = still + 1 if change > 0.5 * before else 0
            before = change
            arrived = at_round_off(change, size, still) and (jump <= 0.0 or still >= 3)
            if worst <= knobs[5] or arrived:
                converged = True
                break
        if not converged:
            return NEWTON_CAP

        if a < 1.0:  # r at the end of the step, for the next one
            inp[0] = t1
            for j in range(n):
                inp[1 + j] = x1[j]
            call(table[2, 0], table[2, 1], out, inp)
            for j in range(n):
                r0[j] = out[m + j]
        t[i + 1] = t1
        iterations[i + 1] = newton
        for j in range(n):
            x[i + 1, j] = x1[j]
            f0[j] = f1[j]
        for j in range(m):
            lam[i + 1, j] = l1[j]
            y[i + 1, j] = y1[j]
        ints[0, 0] = i + 1
    return SUCCESS


def workspaces(n: int, m: int, n_out: int) -> tuple[np.ndarray, ...]:
    """Return the work arrays of `run` for n states, m multipliers, n_out outputs at most."""
    wide = max(n, m, 4)
    return (
        np.zeros((3, n, n)), np.zeros((m, n)), np.zeros((m, m)), np.zeros((n, m)),
        np.empty((n, m)), np.empty((m, m)), np.empty((1, m)),
        np.empty((m, m)), np.empty((2, 2 * m + 1, 2 * m + 1)), np.empty((2 * m, 4 * m + 2)),
        np.empty((4, max(2 * m, 1))), np.zeros((5, max(2 * m, 1)), np.int64),
        np.empty((10, wide)), np.empty(n_out + 1), np.zeros((3, wide), np.int64),
    )  # fmt: skip
