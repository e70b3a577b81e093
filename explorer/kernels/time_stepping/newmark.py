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
extrapolated over the step before; its steps are halved until |r| or |r' dx| falls. A state is
accepted where every row of r is small beside the terms that cancel in it at that state. A step in
which Newton's method fails is taken in halves, quarters, ... Where M, C and K are constant,
`explorer.kernels.time_stepping.newmark_linear`.

Carried accelerations are those of the time t + (alpha_m - alpha_f) h, so a change of h moves them:
a_0 += (alpha_m - alpha_f) (h - h_before) (a_0 - a_before) / h_before, else order 2 would be lost.
"""

import numpy as np

from explorer.codes import NEWTON_CAP, NOT_FINITE, SINGULAR, SUCCESS
from explorer.kernels.jit import call, kernel
from explorer.kernels.linear_algebra.dense_lu import lu_factor, lu_solve
from explorer.kernels.model.inputs import fill, scatter
from explorer.kernels.time_stepping.bilinear_springs import bilinear
from explorer.kernels.time_stepping.newmark_error import following, local_error, middle
from explorer.kernels.time_stepping.newmark_residual import beside, unbalanced
from explorer.kernels.time_stepping.newton_convergence import at_round_off
from explorer.kernels.time_stepping.time_grid import next_step

__all__ = ["FULL", "run", "workspaces"]

# places in `knobs` and `options`
T_END, ALPHA_M, ALPHA_F, TOL, ERROR_TOL, H_MAX, H, STEP = range(8)
INTERPOLATED, UNKNOWN, NEWTON_MAX, ANALYTIC, MASS_MOVES, EXPLICIT, ORDER = range(7)
TRUE = 10  # row of `vec` that holds M^-1 F at the start of the step
AGAIN = -3  # the step is taken again
FULL = -1  # the record is full: call again with a larger one
HALVINGS = 10  # of a step, and of a Newton correction
QUICK = 0.1  # a residual that falls by this factor falls quadratically from there on


@kernel(
    "void(int64[:, ::1], float64[::1], float64[::1], int64, float64[:, ::1], int64[::1],"
    " float64[::1], float64[::1])",
    inline=True,
)
def forces(table, inp, out, n, plastic, pattern, F, K):
    """Write the force at the state in `inp`, springs included, to F."""
    call(table[0, 0], table[0, 1], out, inp)
    for i in range(n):
        F[i] = out[i]
    if plastic.shape[1] > 0:
        bilinear(table, inp, out, n, plastic, pattern, F, K, False)


@kernel(
    "void(float64[:, ::1], float64[:, ::1], int64, int64[::1], int64[::1], float64, float64[::1],"
    " float64[::1])",
    inline=True,
)
def to_equilibrium(M, W, n, bands, pivots, weight, F, a):
    """Correct accelerations by M^-1 (F - M a), with the factors W of A in the place of weight M.

    So what the step cannot resolve is filtered out, and M may be singular (Hairer, Wanner, Solving
    ODEs II, IV.8, where an estimate of the error is filtered in this way).
    """
    for i in range(n):
        total = F[i]
        for j in range(max(0, i - bands[0]), min(n, i + bands[1] + 1)):
            total -= M[i, j] * a[j]
        F[i] = weight * total
    if n == 1:
        F[0] /= W[0, 0]
    else:
        lu_solve(W, n, bands[2], bands[3], pivots, F)
    for i in range(n):
        a[i] += F[i]


@kernel(
    "int64(int64[:, ::1], float64[::1], int64[::1], float64[::1], float64[::1],"
    " int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1],"
    " float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1],"
    " float64[::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1],"
    " int32[::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[::1], int64[::1],"
    " int64[::1])"
)
def run(
    table, knobs, options, c, inp, place_M, place_K, place_C, place_I, bands, pattern,
    M, K, C, plastic, t, q, v, a, slip, iterations, residuals, W, vec, out, pivots, rows,
):  # fmt: skip
    """March from row rows[0] to t_end or the last row; return a status, last row in rows[0].

    Parameters
    ----------
    table : (6, 2) addresses of force, mass, step (F, F_q, F_v), -, inertia ((M a)_q), springs
    knobs : (8,) t_end, alpha_m, alpha_f, Newton tolerance, tolerance of the local error (0: fixed
        steps), longest step, h (the next step; overwritten)
    options : (7,) forces interpolated, power of h in c_d (2, 1, 0 for a, v, d), cap of Newton's
        method, F is analytic, M depends on q, F does not depend on x: one iteration is exact, order
    c : (3,) for h = 1: entries scale with powers of h by their unknowns
    inp : (1 + 3 n + p,) input vector [t, q, v, rho] and, behind it, a
    place_M, place_K, place_C, place_I : flat positions of the entries of M, F_q, F_v, (M a)_q
    bands : (4,) lower and upper bandwidth of M, and of A
    pattern : see `explorer.kernels.time_stepping.bilinear_springs.bilinear`
    M, K, C : (n, n) M, -F_q, -F_v at the start
    plastic : (2, k) committed and trial slip of the hysteretic springs
    t, q, v, a, slip, iterations, residuals : records; row rows[0] is the start; slip (n_t, k);
        residuals[:, 0] the local error in m, [:, 1] the Newton residual in N, [:, 2] beside the
        terms that cancel in it, the largest of all rows; [:, 3] the parts of the step
    W, vec, out, pivots : workspaces, made by `workspaces`; vec[TRUE] is M^-1 F at the start
    """
    n, springs = q.shape[1], plastic.shape[1]
    t_end, am, af = knobs[T_END], knobs[ALPHA_M], knobs[ALPHA_F]
    interpolated, unknown, moves = (
        options[INTERPOLATED] == 1, options[UNKNOWN], options[MASS_MOVES] == 1,
    )  # fmt: skip
    analytic = options[ANALYTIC] == 1 and springs == 0 and not interpolated
    explicit = options[EXPLICIT] == 1
    even, tol = knobs[ERROR_TOL] <= 0.0, knobs[TOL]
    M_flat, K_flat, C_flat = M.reshape(M.size), K.reshape(K.size), C.reshape(C.size)
    F0, F, r, x, am_ = vec[0], vec[1], vec[2], vec[3], vec[4]
    dx, best, before = vec[5], vec[6], vec[7]
    true0, true1, moved = vec[TRUE], vec[12], vec[11]
    mass_below, mass_above, below, above = bands[0], bands[1], bands[2], bands[3]
    # where F is evaluated the new state has the weight w, and F has the weight share in r
    w = 1.0 if interpolated else 1.0 - af
    share = 1.0 - af if interpolated else 1.0
    old = af if interpolated else 0.0
    row, h = rows[0], knobs[H]
    c_d, c_v, c_a, scaled, last = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        before[i] = a[max(row - 1, 0), i]
        F0[i] = 0.0
    if row > 0:
        last = t[row] - t[row - 1]
    if interpolated:
        fill(inp, t[row], q[row], v[row], n)
        forces(table, inp, out, n, plastic, pattern, F0, K_flat)
    while t[row] < t_end:
        knobs[H] = h
        if row + 1 >= t.size:
            return FULL
        step, t1 = next_step(t[row], h, t[0], t_end, row, even)
        new = row + 1
        q0, v0, base, t0 = q[row], v[row], a[row], t[row]
        q1, v1, a1 = q[new], v[new], a[new]
        # the step in 2^level parts, of which `done` are behind
        level, done, parts, part, spent, worst, largest, local = 0, 0, 0, step, 0, 0.0, 0.0, 0.0
        code = SUCCESS
        while True:
            a0 = base
            te = t1 if level == 0 or done == (1 << level) - 1 else t0 + part
            if part != scaled:
                scaled = part
                c_d, c_v = c[0] * part**unknown, c[1] * part ** (unknown - 1)
                c_a = c[2] * part ** (unknown - 2)
            if am != af and last > 0.0 and abs(part - last) > 1e-9 * last:
                shift = (am - af) * (part - last) / last
                for i in range(n):
                    moved[i] = base[i] + shift * (base[i] - before[i])
                a0 = moved
            ahead = part / (last * c_a) if last > 0.0 else 0.0
            for i in range(n):
                x[i] = ahead * (a0[i] - before[i])
            norm, norm_before, slope, ratio, size, change = 0.0, np.inf, 0.0, 0.0, 0.0, np.inf
            newton, backs, still, whole, code = 0, 0, 0, 1.0, NEWTON_CAP
            while True:
                # the state at x
                inp[0] = w * te + (1.0 - w) * t0
                for i in range(n):
                    ai, vi, qi = a0[i], v0[i], q0[i]
                    da, dv = c_a * x[i], part * ai + c_v * x[i]
                    dq = part * (vi + 0.5 * part * ai) + c_d * x[i]
                    a1[i], v1[i], q1[i] = ai + da, vi + dv, qi + dq
                    am_[i] = ai + (1.0 - am) * da
                    inp[1 + i] = qi + w * dq
                    inp[1 + n + i] = vi + w * dv
                call(table[2, 0], table[2, 1], out, inp)
                for i in range(n):
                    F[i] = out[i]
                if n == 1:
                    K[0, 0] = 0.0
                elif moves or springs > 0:  # they add to entries that no scatter overwrites
                    for i in range(n):
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
                    bilinear(table, inp, out, n, plastic, pattern, F, K_flat, True)
                norm = unbalanced(M, F, F0, am_, mass_below, mass_above, share, old, r)
                if newton == 0 and not norm < np.inf:
                    code = NOT_FINITE
                    break
                if newton > 0 and norm < np.inf:
                    ratio = beside(M, K, C, F, F0, am_, inp, below, above, share, old, r)
                    if ratio <= tol:
                        code = SUCCESS
                        break
                    still = still + 1 if norm > 0.5 * norm_before else 0
                    if at_round_off(change, size, still):
                        code = SUCCESS
                        break
                # line search: half the way back, until |r| or |r' dx| falls
                if newton > 0 and not norm <= norm_before and change > 1e-10 * size:
                    left = 0.0
                    for i in range(n):
                        left += dx[i] * r[i]
                    if not abs(left) <= 0.5 * whole * slope:
                        if backs == HALVINGS:
                            code = NEWTON_CAP if norm < np.inf else NOT_FINITE
                            break
                        backs += 1
                        whole *= 0.5
                        change *= 0.5
                        for i in range(n):
                            dx[i] *= 0.5
                            x[i] = best[i] + dx[i]
                        continue
                if newton == options[NEWTON_MAX]:
                    break
                new_C, new_K = share * w * c_v, share * w * c_d
                if n == 1:
                    pivot = (1.0 - am) * c_a * M[0, 0] + new_C * C[0, 0] + new_K * K[0, 0]
                    if pivot == 0.0:
                        code = SINGULAR
                        break
                    W[0, 0] = pivot
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
                        code = SINGULAR
                        break
                    lu_solve(W, n, below, above, pivots, dx)
                # what quadratic convergence leaves: r_2 = r_1 (r_1 / r_0)^2
                falls = norm / norm_before if newton > 0 else 1.0
                norm_before, backs, whole, change, size, slope = norm, 0, 1.0, 0.0, 0.0, 0.0
                for i in range(n):
                    best[i] = x[i]
                    x[i] += dx[i]
                    change = max(change, abs(dx[i]))
                    size = max(size, abs(x[i]), abs(a1[i] / c_a))
                    slope += dx[i] * r[i]
                slope = abs(slope)
                if not change < np.inf:
                    code = NOT_FINITE
                    break
                newton += 1
                if explicit or (analytic and falls <= QUICK and ratio * falls * falls <= tol):
                    for i in range(n):
                        a1[i] += c_a * dx[i]
                        v1[i] += c_v * dx[i]
                        q1[i] += c_d * dx[i]
                    norm *= 0.0 if explicit else falls * falls
                    ratio *= 0.0 if explicit else falls * falls
                    code = SUCCESS
                    break
            spent += newton
            if code != SUCCESS:
                if level == HALVINGS or not even:
                    break
                level, done, part = level + 1, 2 * done, 0.5 * part
                continue
            worst, largest = max(worst, norm), max(largest, ratio)
            if not even:
                for i in range(n):
                    true1[i] = a1[i]
                if am != 0.0 or af != 0.0:
                    fill(inp, t1, q1, v1, n)
                    forces(table, inp, out, n, plastic, pattern, F, K_flat)
                    if moves:
                        call(table[1, 0], table[1, 1], out, inp)
                        scatter(M_flat, 1.0, out, 0, place_M)
                    to_equilibrium(M, W, n, bands, pivots, (1.0 - am) * c_a, F, true1)
                inp[0] = t0 + 0.5 * step
                middle(n, step, q0, v0, true0, q1, v1, true1, inp[1:])
                forces(table, inp, out, n, plastic, pattern, F, K_flat)
                if moves:
                    call(table[1, 0], table[1, 1], out, inp)
                    scatter(M_flat, 1.0, out, 0, place_M)
                for i in range(n):
                    am_[i] = 0.5 * (true0[i] + true1[i])
                to_equilibrium(M, W, n, bands, pivots, (1.0 - am) * c_a, F, am_)
                local = local_error(n, step, t_end, q0, v0, true0, am_, true1, q1, v1)
                proposed = following(
                    local, knobs[ERROR_TOL], options[ORDER], step, h, knobs[H_MAX], t1, t_end
                )
                h = abs(proposed)
                if proposed < 0.0:
                    code = AGAIN
                    break
                for i in range(n):
                    true0[i] = true1[i]
                    base[i] = a0[i]
            if springs > 0:
                if w < 1.0 or not even:  # commit at the end of the step, not at alpha_f
                    fill(inp, te, q1, v1, n)
                    bilinear(table, inp, out, n, plastic, pattern, F, K_flat, False)
                for k in range(springs):
                    plastic[0, k] = plastic[1, k]
            for i in range(n):
                before[i] = a0[i]
            last = part
            if interpolated:
                fill(inp, te, q1, v1, n)
                forces(table, inp, out, n, plastic, pattern, F0, K_flat)
            done += 1
            parts += 1
            if done == 1 << level:
                break
            for i in range(n):
                vec[8, i], vec[9, i], vec[13, i] = q1[i], v1[i], a1[i]
            q0, v0, base, t0 = vec[8], vec[9], vec[13], te
            while done % 2 == 0:  # halves that fill a whole
                level, done, part = level - 1, done // 2, 2.0 * part
        if code == AGAIN:
            continue
        if code != SUCCESS:
            if not even and step > 1e-12 * t_end:
                h = 0.5 * step
                continue
            residuals[new, 1] = norm
            return code
        t[new] = t1
        residuals[new, 0], residuals[new, 1] = local, worst
        residuals[new, 2], residuals[new, 3] = largest, parts
        iterations[new] = spent
        for k in range(springs):
            slip[new, k] = plastic[0, k]
        row = new
        rows[0] = row
    return SUCCESS


def workspaces(n: int, n_out: int) -> tuple[np.ndarray, ...]:
    """Return W, vec, out, pivots for n coordinates, at most n_out outputs."""
    return np.empty((n, n)), np.empty((14, n)), np.empty(n_out + 1), np.empty(n, np.int64)
