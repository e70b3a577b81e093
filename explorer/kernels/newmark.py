"""The Newmark family and generalised-alpha for M(q) a = F(t, q, v), in any of the three unknowns.

*Newmark methods*, "Generalized unknowns" and "Nonlinear generalized-alpha", with the residual and
tangent of Chung and Hulbert (J. Appl. Mech. 60 (1993) 371), where alpha weighs the old value. With
x one of (d, v, a) at the end of the step, y = (d, v, a)::

    y_1 = B y_0 + c x = y_p + c dx            B and c of `explorer.schemes.newmark.unknowns`
    d_f = (1 - alpha_f) d_1 + alpha_f d_0,    v_f, t_f likewise, a_m with alpha_m
    r(x) = M(d_f) a_m - F(t_f, d_f, v_f) = 0
    A = (1 - alpha_m) c_a M + (1 - alpha_f) [c_v C + c_d K],  C = -F_v,  K = (M a)_q - F_q

where y_p is the state with a_1 = a_0, so that no unknown loses digits to 1/h^2; or, with the forces
interpolated, r = M a_m - (1 - alpha_f) F_1 - alpha_f F_0. If M, C and K are
constant, A is factored once and one iteration is exact.
"""

import numpy as np

from explorer.kernels.hysteresis import bilinear
from explorer.kernels.jit import call, kernel
from explorer.kernels.linalg import band_pack, band_solve, bandwidth, lu_factor, lu_solve
from explorer.kernels.moreau_jean import fill, force, scatter
from explorer.status import NEWTON_CAP, NOT_FINITE, SINGULAR, SUCCESS

__all__ = ["run", "workspaces"]

# places in `knobs` and `options`
T_END, ALPHA_M, ALPHA_F, TOL, ERROR_TOL, ERROR_CONSTANT, H_MAX = 0, 1, 2, 3, 4, 5, 6
CONSTANT, STATE_FORCE, NEWTON_MAX, INTERPOLATED, UNKNOWN, MASS_MOVES = 0, 1, 2, 3, 4, 5
FULL = -1  # the record is full: call again with a larger one


@kernel(
    "int64(int64[:, ::1], float64[::1], int64[::1], float64[::1], float64[::1],"
    " int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], float64[::1],"
    " float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1],"
    " float64[::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], int32[::1],"
    " float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1],"
    " float64[::1], int64[:, ::1])"
)
def run(
    table, knobs, options, c, inp, place_M, place_K, place_C, place_I, lin_ptr, lin_col, lin_val,
    M, K, C, plastic, slip, t, q, v, a, iterations, residuals, W, P, W_mass,
    vec, out, ints,
):  # fmt: skip
    """March from row ints[0, 0] to t_end or the last row; return a status, last row in ints[0, 0].

    Parameters
    ----------
    table : (6, 2) addresses of force, mass, step (F, F_q, F_v), -, inertia ((M a)_q), springs
    knobs : (8,) t_end, alpha_m, alpha_f, Newton tolerance, tolerance of the local error (0: fixed
        steps), error constant beta - 1/6, longest step, h (the next step; overwritten)
    options : (8,) constant, force interpolated, ...: see the names above
    c : (3,) for h = 1: entries scale with powers of h by their unknowns
    inp : (1 + 3 n + p,) input vector [t, q, v, rho] and, behind it, a
    place_M, place_K, place_C, place_I : flat positions of the entries of M, F_q, F_v, (M a)_q
    lin_ptr, lin_col, lin_val : CSR rows added to F as a matrix times (q, v)
    M, K, C : (n, n) M, -F_q, -F_v at the start
    plastic : (2, k) committed and trial slip of the hysteretic springs
    slip : (n_t, k) their record
    t, q, v, a, iterations, residuals : records; row ints[0, 0] is the start; residuals[:, 0] the
        local error in m, [:, 1] the Newton residual in N
    W, P, W_mass, vec, out, ints : workspaces, made by `workspaces`
    """
    n, springs = q.shape[1], plastic.shape[1]
    t_end, am, af = knobs[T_END], knobs[ALPHA_M], knobs[ALPHA_F]
    constant, moves = options[CONSTANT] == 1, options[MASS_MOVES] == 1
    interpolated, unknown = options[INTERPOLATED] == 1, options[UNKNOWN]
    M_flat, K_flat, C_flat = M.reshape(M.size), K.reshape(K.size), C.reshape(C.size)
    F0, F, r, x, am_, df, vf = (
        vec[0], vec[1], vec[2], vec[3], vec[4], vec[5], vec[6],
    )  # fmt: skip
    d1, v1, a1, dx, best = vec[7], vec[8], vec[9], vec[10], vec[11]
    pivots, band, mass_band = ints[1], ints[2], ints[3]
    kl = ku = n - 1
    h_factored, narrow = 0.0, False
    row = ints[0, 0]
    bandwidth(M, n, mass_band)
    below, above = mass_band[0], mass_band[1]
    packed = not moves and below + above < n // 2
    if packed:
        band_pack(M, n, below, above, W_mass)
    h = knobs[7]
    c_d, c_v, c_a, h_scaled = 0.0, 0.0, 0.0, 0.0
    if interpolated:
        fill(inp, t[row], q[row], v[row], n)
        force(table, 0, inp, out, n, lin_ptr, lin_col, lin_val, F0)
        if springs > 0:
            bilinear(table, inp, out, n, plastic, F0, K_flat, False)
    while t[row] < t_end:
        if row + 1 >= t.size:
            knobs[7] = h
            return FULL
        last = t[row] + h * (1 + 1e-9) >= t_end
        step = t_end - t[row] if last and abs(t_end - t[row] - h) > 1e-9 * h else h
        t1 = t[row] + step if knobs[ERROR_TOL] > 0.0 else t[0] + (row + 1) * h
        if last:
            t1 = t_end
        if step != h_scaled:
            c_d, c_v, c_a = (
                c[0] * step**unknown, c[1] * step ** (unknown - 1), c[2] * step ** (unknown - 2),
            )  # fmt: skip
            h_scaled = step
        tf = t1 if interpolated else (1.0 - af) * t1 + af * t[row]
        w = 1.0 if interpolated else 1.0 - af  # weight of the new state where F is evaluated
        share = 1.0 - af if interpolated else 1.0
        for i in range(n):
            x[i] = 0.0
        norm_before, scale, change, size = np.inf, 0.0, np.inf, 1.0
        newton, converged, backs = 0, False, 0
        while newton < options[NEWTON_MAX]:
            # the state at x
            for i in range(n):
                d1[i] = q[row, i] + step * (v[row, i] + 0.5 * step * a[row, i]) + c_d * x[i]
                v1[i] = v[row, i] + step * a[row, i] + c_v * x[i]
                a1[i] = a[row, i] + c_a * x[i]
                df[i] = w * d1[i] + (1.0 - w) * q[row, i]
                vf[i] = w * v1[i] + (1.0 - w) * v[row, i]
                am_[i] = (1.0 - am) * a1[i] + am * a[row, i]
            fill(inp, tf, df, vf, n)
            if constant:
                force(table, 0, inp, out, n, lin_ptr, lin_col, lin_val, F)
            else:
                force(table, 2, inp, out, n, lin_ptr, lin_col, lin_val, F)
                if moves or springs > 0:  # they add to entries that no scatter overwrites
                    for k in range(n * n):
                        K_flat[k] = 0.0
                if place_K.size + place_C.size > 0:
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
            norm, scale = 0.0, 0.0
            for i in range(n):
                total, part = 0.0, 0.0
                for j in range(max(0, i - below), min(n, i + above + 1)):
                    term = (W_mass[i, j - i + below] if packed else M[i, j]) * am_[j]
                    total += term
                    part += abs(term)
                total -= share * F[i]
                if interpolated:
                    total -= af * F0[i]
                if not constant:  # what cancels inside F sets how well it can be known
                    for j in range(n):
                        part += abs(K[i, j] * df[j]) + abs(C[i, j] * vf[j])
                r[i] = total
                scale = max(scale, part + abs(F[i]))
                norm += total * total
            norm = np.sqrt(norm)
            if not np.isfinite(norm):
                return NOT_FINITE
            if newton > 0 and not constant:
                # Newton is quadratic: a correction this small leaves nothing but rounding
                if norm <= knobs[TOL] * scale or change <= 1e-11 * size:
                    converged = True
                    break
                if norm > norm_before and backs < 8:  # line search: half the way back
                    backs += 1
                    for i in range(n):
                        dx[i] *= 0.5
                        x[i] = best[i] + dx[i]
                    continue
            if newton == 0 or not constant:
                if not constant or step != h_factored:
                    for i in range(n):
                        for j in range(n):
                            W[i, j] = (1.0 - am) * c_a * M[i, j] + share * w * (
                                c_v * C[i, j] + c_d * K[i, j]
                            )
                    if constant or n > 8:
                        bandwidth(W, n, band)
                        kl, ku = band[0], band[1]
                    if lu_factor(W, n, kl, ku, pivots) != 0:
                        return SINGULAR
                    h_factored = step
                    narrow = constant and 2 * kl + ku < n // 2
                    if narrow:
                        band_pack(W, n, kl, kl + ku, P)
                for i in range(n):
                    dx[i] = -r[i]
                if narrow:
                    band_solve(P, n, kl, ku, pivots, dx)
                else:
                    lu_solve(W, n, kl, ku, pivots, dx)
            norm_before, backs, change, size = norm, 0, 0.0, 0.0
            for i in range(n):
                best[i] = x[i]
                x[i] += dx[i]
                change = max(change, abs(dx[i]))
                size = max(size, abs(x[i]), abs(a1[i] / c_a))
            newton += 1
            if constant:
                converged = True
                break
        if not converged:
            residuals[row + 1, 1] = norm
            return NEWTON_CAP
        if constant:
            for i in range(n):
                d1[i] = q[row, i] + step * (v[row, i] + 0.5 * step * a[row, i]) + c_d * x[i]
                v1[i] = v[row, i] + step * a[row, i] + c_v * x[i]
                a1[i] = a[row, i] + c_a * x[i]
            norm = 0.0
        error = 0.0
        for i in range(n):
            error = max(error, abs(knobs[ERROR_CONSTANT] * step * step * (a1[i] - a[row, i])))
        if knobs[ERROR_TOL] > 0.0:
            factor = 0.9 * (knobs[ERROR_TOL] / max(error, 1e-300)) ** (1.0 / 3.0)
            if error > knobs[ERROR_TOL] and step > 1e-12 * t_end:
                h = step * max(0.2, factor)
                continue
            # a small change is not worth a new factorisation
            if not last and (factor > 1.3 or factor < 1.0):
                h = min(step * min(factor, 2.0), knobs[H_MAX])
        row += 1
        ints[0, 0] = row
        t[row] = t1
        residuals[row, 0], residuals[row, 1] = error, norm
        iterations[row] = newton
        for i in range(n):
            q[row, i], v[row, i], a[row, i] = d1[i], v1[i], a1[i]
        if springs > 0:
            if w < 1.0:  # commit at the end of the step, not at alpha_f
                fill(inp, t1, d1, v1, n)
                bilinear(table, inp, out, n, plastic, F, K_flat, False)
            for k in range(springs):
                plastic[0, k] = plastic[1, k]
                slip[row, k] = plastic[1, k]
        if interpolated:
            for i in range(n):
                F0[i] = F[i]
            if constant:
                fill(inp, t1, d1, v1, n)
                force(table, 0, inp, out, n, lin_ptr, lin_col, lin_val, F0)
        if not np.isfinite(q[row].sum() + v[row].sum()):
            return NOT_FINITE
    return SUCCESS


def workspaces(n: int, n_out: int) -> tuple[np.ndarray, ...]:
    """Return W, P, W_mass, vec, out, ints for n coordinates, at most n_out outputs."""
    wide = max(n, 8)
    return (
        np.empty((n, n)), np.empty((n, n // 2 + 1)), np.empty((n, n // 2 + 1)),
        np.empty((12, wide)), np.empty(n_out + 1), np.zeros((4, wide), np.int64),
    )  # fmt: skip
