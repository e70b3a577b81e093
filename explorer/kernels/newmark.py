"""The Newmark family and generalised-alpha for M(q) a = F(t, q, v), in any of the three unknowns.

*Newmark methods*, "Generalized unknowns" and "Nonlinear generalized-alpha", with the residual and
tangent of Chung and Hulbert (J. Appl. Mech. 60 (1993) 371), where alpha weighs the old value. With
x one of (d, v, a) at the end of the step, y = (d, v, a)::

    y_1 = B y_0 + c x = y_p + c dx            B and c of `explorer.schemes.newmark.unknowns`
    d_f = (1 - alpha_f) d_1 + alpha_f d_0,    v_f, t_f likewise, a_m with alpha_m
    r(x) = M(d_f) a_m - F(t_f, d_f, v_f) = 0
    A = (1 - alpha_m) c_a M + (1 - alpha_f) [c_v C + c_d K],  C = -F_v,  K = (M a)_q - F_q

where y_p is the state with a_1 = a_0, so that no unknown loses digits to 1/h^2; or, with the forces
interpolated, r = M a_m - (1 - alpha_f) F_1 - alpha_f F_0. Newton's method starts from accelerations
extrapolated over the step before. Where M, C and K are constant, `explorer.kernels.newmark_linear`.
"""

import numpy as np

from explorer.codes import NEWTON_CAP, NOT_FINITE, SINGULAR, SUCCESS
from explorer.kernels.equations import fill, scatter
from explorer.kernels.hysteresis import bilinear
from explorer.kernels.jit import call, kernel
from explorer.kernels.linalg import lu_factor, lu_solve
from explorer.kernels.steps import following, next_step

__all__ = ["FULL", "run", "workspaces"]

# places in `knobs` and `options`
T_END, ALPHA_M, ALPHA_F, TOL, ERROR_TOL, ERROR_CONSTANT, H_MAX, H, STEP = range(9)
INTERPOLATED, UNKNOWN, NEWTON_MAX, ANALYTIC, MASS_MOVES, EXPLICIT = range(6)
FULL = -1  # the record is full: call again with a larger one
# a last correction, relative to x: where F is analytic the error is its square
SMALL, TINY = 1e-9, 1e-11


@kernel(
    "int64(int64[:, ::1], float64[::1], int64[::1], float64[::1], float64[::1],"
    " int64[::1], int64[::1], int64[::1], int64[::1], int64[::1],"
    " float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1],"
    " float64[::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1],"
    " int32[::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[::1], int64[::1],"
    " int64[::1])"
)
def run(
    table, knobs, options, c, inp, place_M, place_K, place_C, place_I, bands,
    M, K, C, plastic, t, q, v, a, slip, iterations, residuals, W, vec, out, pivots, rows,
):  # fmt: skip
    """March from row rows[0] to t_end or the last row; return a status, last row in rows[0].

    Parameters
    ----------
    table : (6, 2) addresses of force, mass, step (F, F_q, F_v), -, inertia ((M a)_q), springs
    knobs : (8,) t_end, alpha_m, alpha_f, Newton tolerance, tolerance of the local error (0: fixed
        steps), error constant beta - 1/6, longest step, h (the next step; overwritten)
    options : (6,) forces interpolated, power of h in c_d (2, 1, 0 for a, v, d), cap of Newton's
        method, F is analytic, M depends on q, F does not depend on x: one iteration is exact
    c : (3,) for h = 1: entries scale with powers of h by their unknowns
    inp : (1 + 3 n + p,) input vector [t, q, v, rho] and, behind it, a
    place_M, place_K, place_C, place_I : flat positions of the entries of M, F_q, F_v, (M a)_q
    bands : (4,) lower and upper bandwidth of M, and of A
    M, K, C : (n, n) M, -F_q, -F_v at the start
    plastic : (2, k) committed and trial slip of the hysteretic springs
    t, q, v, a, slip, iterations, residuals : records; row rows[0] is the start; slip (n_t, k);
        residuals[:, 0] the local error in m, [:, 1] the Newton residual in N
    W, vec, out, pivots : workspaces, made by `workspaces`
    """
    n, springs = q.shape[1], plastic.shape[1]
    t_end, am, af = knobs[T_END], knobs[ALPHA_M], knobs[ALPHA_F]
    interpolated, unknown, moves = (
        options[INTERPOLATED] == 1, options[UNKNOWN], options[MASS_MOVES] == 1,
    )  # fmt: skip
    analytic = options[ANALYTIC] == 1 and springs == 0 and not interpolated
    explicit = options[EXPLICIT] == 1
    even, tol = knobs[ERROR_TOL] <= 0.0, knobs[ERROR_TOL]
    M_flat, K_flat, C_flat = M.reshape(M.size), K.reshape(K.size), C.reshape(C.size)
    F0, F, r, x, am_ = vec[0], vec[1], vec[2], vec[3], vec[4]
    dx, best, before = vec[5], vec[6], vec[7]
    mass_below, mass_above, below, above = bands[0], bands[1], bands[2], bands[3]
    # where F is evaluated the new state has the weight w, and F has the weight share in r
    w = 1.0 if interpolated else 1.0 - af
    share = 1.0 - af if interpolated else 1.0
    row, h = rows[0], knobs[H]
    c_d, c_v, c_a, scaled, last = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        before[i] = a[row, i]
    if interpolated:
        fill(inp, t[row], q[row], v[row], n)
        call(table[0, 0], table[0, 1], out, inp)
        for i in range(n):
            F0[i] = out[i]
        if springs > 0:
            bilinear(table, inp, out, n, plastic, F0, K_flat, False)
    while t[row] < t_end:
        knobs[H] = h
        if row + 1 >= t.size:
            return FULL
        step, t1 = next_step(t[row], h, t[0], t_end, row, even)
        if step != scaled:
            scaled = step
            c_d, c_v, c_a = (
                c[0] * step**unknown, c[1] * step ** (unknown - 1), c[2] * step ** (unknown - 2),
            )  # fmt: skip
        new = row + 1
        ahead = step / (last * c_a) if last > 0.0 else 0.0
        for i in range(n):
            x[i] = ahead * (a[row, i] - before[i])
        norm, norm_before, scale, size, change = 0.0, np.inf, 0.0, 0.0, np.inf
        newton, backs, converged = 0, 0, False
        while True:
            # the state at x
            inp[0] = w * t1 + (1.0 - w) * t[row]
            for i in range(n):
                ai, vi, qi = a[row, i], v[row, i], q[row, i]
                da, dv = c_a * x[i], step * ai + c_v * x[i]
                dq = step * (vi + 0.5 * step * ai) + c_d * x[i]
                a[new, i], v[new, i], q[new, i] = ai + da, vi + dv, qi + dq
                am_[i] = ai + (1.0 - am) * da
                inp[1 + i] = qi + w * dq
                inp[1 + n + i] = vi + w * dv
            call(table[2, 0], table[2, 1], out, inp)
            for i in range(n):
                F[i] = out[i]
                if moves or springs > 0:  # they add to entries that no scatter overwrites
                    for j in range(max(0, i - below), min(n, i + above + 1)):
                        K[i, j] = 0.0
            scatter(K_flat, -1.0, out, n, place_K)
            scatter(C_flat, -1.0, out, n + place_K.size, place_C)
            if moves:
                call(table[1, 0], table[1, 1], out, inp)
                scatter(M_flat, 1.0, out, 0, place_M)
                for i in range(n):
                    inp[inp.size - n + i] = am_[i]
                call(table[4, 0], table[4, 1], out, inp)
                for k in range(place_I.size):
                    K_flat[place_I[k]] += out[k] / share
            if springs > 0:
                bilinear(table, inp, out, n, plastic, F, K_flat, True)
            norm = 0.0
            for i in range(n):
                total = -share * F[i]
                if interpolated:
                    total -= af * F0[i]
                for j in range(max(0, i - mass_below), min(n, i + mass_above + 1)):
                    total += M[i, j] * am_[j]
                r[i] = total
                norm += total * total
            norm = np.sqrt(norm)
            if not norm < np.inf:
                return NOT_FINITE
            if newton > 0:
                if norm <= knobs[TOL] * scale or change <= TINY * size:
                    converged = True
                    break
                if norm > norm_before and backs < 8:  # line search: half the way back
                    backs += 1
                    for i in range(n):
                        dx[i] *= 0.5
                        x[i] = best[i] + dx[i]
                    continue
            if newton == options[NEWTON_MAX]:
                break
            if newton == 0:
                # how well r can be known: by the terms that cancel in it, and inside F
                for i in range(n):
                    part = abs(F[i])
                    for j in range(max(0, i - below), min(n, i + above + 1)):
                        part += (
                            abs(M[i, j] * am_[j])
                            + abs(K[i, j] * inp[1 + j]) + abs(C[i, j] * inp[1 + n + j])
                        )  # fmt: skip
                    scale = max(scale, part)
            new_C, new_K = share * w * c_v, share * w * c_d
            if n == 1:
                pivot = (1.0 - am) * c_a * M[0, 0] + new_C * C[0, 0] + new_K * K[0, 0]
                if pivot == 0.0:
                    return SINGULAR
                dx[0] = -r[0] / pivot
            else:
                for i in range(n):
                    dx[i] = -r[i]
                    for j in range(max(0, i - below), min(n, i + above + 1)):
                        W[i, j] = (
                            (1.0 - am) * c_a * M[i, j] + new_C * C[i, j] + new_K * K[i, j]
                        )  # fmt: skip
                    for j in range(i + above + 1, min(n, i + above + below + 1)):
                        W[i, j] = 0.0  # what pivoting fills
                if lu_factor(W, n, below, above, pivots) != 0:
                    return SINGULAR
                lu_solve(W, n, below, above, pivots, dx)
            norm_before, backs, change, size = norm, 0, 0.0, 0.0
            for i in range(n):
                if not abs(dx[i]) < np.inf:
                    return NOT_FINITE
                best[i] = x[i]
                x[i] += dx[i]
                change = max(change, abs(dx[i]))
                size = max(size, abs(x[i]), abs(a[new, i] / c_a))
            newton += 1
            if explicit or (analytic and change <= SMALL * size):
                for i in range(n):
                    a[new, i] += c_a * dx[i]
                    v[new, i] += c_v * dx[i]
                    q[new, i] += c_d * dx[i]
                norm *= 0.0 if explicit else change / max(size, 1e-300)
                converged = True
                break
        residuals[new, 1] = norm
        if not converged:
            return NEWTON_CAP
        most = 0.0
        for i in range(n):
            most = max(most, abs(a[new, i] - a[row, i]))
        local = knobs[ERROR_CONSTANT] * step * step * most
        proposed = following(local, tol, step, h, knobs[H_MAX], t1, t_end, even)
        h = abs(proposed)
        if proposed < 0.0:
            continue
        t[new] = t1
        residuals[new, 0] = local
        iterations[new] = newton
        if springs > 0:
            if w < 1.0:  # commit at the end of the step, not at alpha_f
                fill(inp, t1, q[new], v[new], n)
                bilinear(table, inp, out, n, plastic, F, K_flat, False)
            for k in range(springs):
                plastic[0, k] = plastic[1, k]
                slip[new, k] = plastic[1, k]
        for i in range(n):
            before[i] = a[row, i]
            if interpolated:
                F0[i] = F[i]
        last = step
        row = new
        rows[0] = row
    return SUCCESS


def workspaces(n: int, n_out: int) -> tuple[np.ndarray, ...]:
    """Return W, vec, out, pivots for n coordinates, at most n_out outputs."""
    return np.empty((n, n)), np.empty((8, n)), np.empty(n_out + 1), np.empty(n, np.int64)
