"""The Moreau-Jean time-stepping scheme for M(q) dv = F(t, q, v) dt + G' dp, 0 <= gap.

Event-capturing schemes, "Lagrangian systems" and its summary, with the corrections listed in the
docstring of `explorer.schemes.moreau_jean`. One step from (q_i, v_i), all at velocity level::

    active set   A = {a : gap_a + forecast h gap'_a <= 0 (TOUCH)}, values of the step's start
    Newton       W = M + h theta C + (h theta)^2 K,  C = -F_v,  K = -F_q
                 v_free = v - W^-1 [M (v - v_i) - h theta F_{i+1} - h (1 - theta) F_i]
    LCP on A     0 <= G v_free + gap_t + e gap'_i + G W^-1 G' p  perp  p >= 0
                 v = v_free + W^-1 G' p,   q = q_i + h (theta v + (1 - theta) v_i)

`p` is the impulse of the step. If M, C, K, G are constant, one iteration is exact; the factors of W
come from outside, once for each step size, and the Delassus matrix is made once with them.
"""

import numpy as np

from explorer.kernels.factors import FACTORS, solve_factored
from explorer.kernels.jit import call, kernel
from explorer.kernels.lcp import solve, solve_one
from explorer.kernels.linalg import bandwidth, lu_factor, lu_solve, positive_definite
from explorer.status import INDEFINITE, NEWTON_CAP, NOT_FINITE, SINGULAR, SUCCESS

__all__ = ["H_FACTORED", "TOUCH", "UNFACTORED", "run", "workspaces"]

UNFACTORED = -1  # factors for the step knobs[H_FACTORED] are wanted: make them and call again
H_FACTORED = 7

# a gap that round-off alone has opened (in m) is closed: else a column at rest starts to tremble
TOUCH = 1e-13


@kernel("void(float64[::1], float64, float64[::1], int64, int64[::1])", inline=True)
def scatter(flat, sign, values, start, places):
    """Put ``sign * values[start:]`` to `places` of a matrix; its other entries stay zero."""
    for k in range(places.size):
        flat[places[k]] = sign * values[start + k]


@kernel("void(float64[::1], float64, float64[::1], float64[::1], int64)", inline=True)
def fill(inp, t, q, v, n):
    """Write (t, q, v) to the head of the input vector; the parameters behind it stay."""
    inp[0] = t
    for i in range(n):
        inp[1 + i] = q[i]
        inp[1 + n + i] = v[i]


@kernel(
    "void(int64[:, ::1], int64, float64[::1], float64[::1], int64, int64[::1], int64[::1],"
    " float64[::1], float64[::1])",
    inline=True,
)
def force(table, bundle, inp, out, n, ptr, col, val, F):
    """F = first block of the bundle, plus the sparse rows (ptr, col, val) times (q, v)."""
    call(table[bundle, 0], table[bundle, 1], out, inp)
    for i in range(n):
        total = out[i]
        for k in range(ptr[i], ptr[i + 1]):
            total += val[k] * inp[1 + col[k]]
        F[i] = total


@kernel(
    "int64(int64[:, ::1], float64[::1], int64[::1], float64[::1], int64[::1], int64[::1],"
    " int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], float64[::1],"
    f" {FACTORS}, float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[::1], float64[::1],"
    " float64[::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1],"
    " float64[:, ::1], int8[:, ::1], int32[::1], float64[:, ::1], float64[:, ::1],"
    " float64[:, :, ::1], float64[:, ::1], float64[:, ::1], float64[::1], int64[:, ::1],"
    " int8[::1])"
)
def run(
    table, knobs, options, inp, place_M, place_K, place_C, gap_ptr, gap_col, lin_ptr, lin_col,
    lin_val, factors, M, K, C, gap_val, e, t, q, v, p, gap, gap_dot, active, iterations, residuals,
    W, cc, T, vec, out, ints, member,
):  # fmt: skip
    """March from row ints[0, 0] to the last row; return a status, last row in ints[0, 0].

    Parameters
    ----------
    table : (4, 2) addresses of the bundles force, mass, step (F, F_q, F_v), gap (gap, gap_t, G)
    knobs : (8,) h, t_end, theta, forecast, gamma, Newton tolerance, LCP tolerance, step for which
        the factors hold
    options : (8,) constant, q_star, rheonomic, Newton cap, LCP method, LCP cap, -, -
    inp : (1 + 2 n + p,) input vector [t, q, v, rho]; rho is read, the rest is scratch
    place_M, place_K, place_C : flat positions of the entries of M, F_q, F_v that bundles yield
    gap_ptr, gap_col : CSR pattern of G; gap_val its values (given if constant)
    lin_ptr, lin_col, lin_val : CSR rows added to F as a matrix times (q, v)
    factors : of W if constant, see `explorer.kernels.factors`
    M, K, C : (n, n) M, -F_q, -F_v at the start; not used if constant
    e : (n_c,) restitution
    t, q, v, p, gap, gap_dot, active, iterations, residuals : records, time is axis 0; row
        ints[0, 0] of t, q, v is the start; residuals[:, 0] LCP in m/s, [:, 1] Newton in N s
    W, cc, T, vec, out, ints, member : workspaces, made by `workspaces`
    """
    n, nc = q.shape[1], gap.shape[1]
    last = t.size - 1
    h0, t_end, theta, forecast, gamma = knobs[0], knobs[1], knobs[2], knobs[3], knobs[4]
    constant, q_star, rheonomic = options[0] == 1, options[1] == 1, options[2] == 1
    state_force = place_K.size + place_C.size + lin_val.size > 0
    M_flat, K_flat, C_flat = M.reshape(M.size), K.reshape(K.size), C.reshape(C.size)
    D, A = cc[0], cc[1]
    F0, F1, R, rhs = vec[0], vec[1], vec[2], vec[3]
    q1, v1, vf = vec[4], vec[5], vec[6]
    z, w, b, e_dot, probe, found = vec[7], vec[8], vec[9], vec[10], vec[11], vec[12]
    pivots, act, factored, state, lcp_pivots, band = (
        ints[1], ints[2], ints[3], ints[4], ints[5], ints[6],
    )  # fmt: skip
    state[0] = -1
    delassus_band = max(nc - 1, 0)
    h_made = 0.0  # step of the Delassus matrix
    t0, first = t[0], ints[0, 0]
    newton = 1

    fill(inp, t[first], q[first], v[first], n)
    force(table, 0, inp, out, n, lin_ptr, lin_col, lin_val, F0)
    call(table[3, 0], table[3, 1], out, inp)
    for a in range(nc):
        gap[first, a] = out[a]
        total = out[nc + a]
        for k in range(gap_ptr[a], gap_ptr[a + 1]):
            if not constant:
                gap_val[k] = out[2 * nc + k]
            total += gap_val[k] * v[first, gap_col[k]]
        gap_dot[first, a] = total

    for i in range(first, last):
        ints[0, 0] = i
        t1 = t0 + (i + 1) * h0
        h = h0
        if i == last - 1:
            t1 = t_end
            if abs(t_end - t[i] - h0) > 1e-9 * h0:
                h = t_end - t[i]
        if constant and h != knobs[H_FACTORED]:
            knobs[H_FACTORED] = h
            return UNFACTORED
        ht = h * theta
        m = 0
        for a in range(nc):
            p[i + 1, a] = 0.0
            active[i + 1, a] = 0
            if gap[i, a] + forecast * h * gap_dot[i, a] <= TOUCH:
                active[i + 1, a] = 1
                act[m] = a
                e_dot[m] = e[a] * gap_dot[i, a]
                m += 1

        for j in range(n):
            v1[j] = v[i, j]
            q1[j] = q[i, j] + h * v[i, j]
        fill(inp, t1, q1, v1, n)
        if constant:
            force(table, 0, inp, out, n, lin_ptr, lin_col, lin_val, F1)
        else:
            force(table, 2, inp, out, n, lin_ptr, lin_col, lin_val, F1)
            scatter(K_flat, -1.0, out, n, place_K)
            scatter(C_flat, -1.0, out, n + place_K.size, place_C)
            if q_star:
                for j in range(n):
                    inp[1 + j] = q[i, j] + h * gamma * v[i, j]
            call(table[1, 0], table[1, 1], out, inp)
            scatter(M_flat, 1.0, out, 0, place_M)
            if not positive_definite(M, n, W):
                return INDEFINITE if np.isfinite(M.sum()) else NOT_FINITE
        if m > 0 and (rheonomic or not constant):
            call(table[3, 0], table[3, 1], out, inp)
            if not constant:
                for k in range(gap_val.size):
                    gap_val[k] = out[2 * nc + k]
            for j in range(m):
                probe[j] = out[nc + act[j]]
        else:
            for j in range(m):
                probe[j] = 0.0

        converged = False
        for iteration in range(1 if constant else options[3]):
            newton = iteration + 1
            if not constant:
                for j in range(n):
                    for k in range(n):
                        W[j, k] = M[j, k] + ht * C[j, k] + ht * ht * K[j, k]
                if lu_factor(W, n, n - 1, n - 1, pivots) != 0:
                    return SINGULAR
            elif h != h_made:
                # the whole Delassus matrix G W^-1 G', once
                for a in range(nc):
                    for j in range(n):
                        rhs[j] = 0.0
                    for k in range(gap_ptr[a], gap_ptr[a + 1]):
                        rhs[gap_col[k]] = gap_val[k]
                    solve_factored(factors, n, rhs)
                    for c in range(nc):
                        total = 0.0
                        for k in range(gap_ptr[c], gap_ptr[c + 1]):
                            total += gap_val[k] * rhs[gap_col[k]]
                        D[c, a] = total
                bandwidth(D, nc, band)
                delassus_band = max(band[0], band[1])
                h_made = h
                state[0] = -1
            # free velocity
            scale = 0.0
            for j in range(n):
                total = 0.0
                if not constant:
                    size = 0.0
                    for k in range(n):
                        total += M[j, k] * (v1[k] - v[i, k])
                        size += abs(M[j, k] * v[i, k])
                    scale = max(scale, size + h * abs(F1[j]))
                R[j] = -total + ht * F1[j] + (h - ht) * F0[j]
                vf[j] = R[j]
            if constant:
                solve_factored(factors, n, vf)
            else:
                lu_solve(W, n, n - 1, n - 1, pivots, vf)
            for j in range(n):
                vf[j] += v1[j]
            # contact problem
            if m > 0:
                if not constant:
                    for i1 in range(m):
                        a = act[i1]
                        for j in range(n):
                            rhs[j] = 0.0
                        for k in range(gap_ptr[a], gap_ptr[a + 1]):
                            rhs[gap_col[k]] = gap_val[k]
                        lu_solve(W, n, n - 1, n - 1, pivots, rhs)
                        for i2 in range(m):
                            total = 0.0
                            for k in range(gap_ptr[act[i2]], gap_ptr[act[i2] + 1]):
                                total += gap_val[k] * rhs[gap_col[k]]
                            D[act[i2], a] = total
                    state[0] = -1
                for i1 in range(m):
                    a = act[i1]
                    total = probe[i1] + e_dot[i1]
                    for k in range(gap_ptr[a], gap_ptr[a + 1]):
                        total += gap_val[k] * vf[gap_col[k]]
                    w[i1] = total
                    if not np.isfinite(total):
                        return NOT_FINITE
                status = SUCCESS
                a = act[0]
                if m > 1 or solve_one(options[4], D[a, a], w[0], z, found) == 0:
                    status = solve(
                        options[4], D, act, m, min(delassus_band, m), w, knobs[6], options[5], z,
                        member, T, A, lcp_pivots, factored, state, b, found,
                    )  # fmt: skip
                residuals[i + 1, 0] = found[0]
                if status != SUCCESS:
                    return status
                for j in range(n):
                    rhs[j] = 0.0
                for i1 in range(m):
                    a = act[i1]
                    if z[i1] != 0.0:
                        for k in range(gap_ptr[a], gap_ptr[a + 1]):
                            rhs[gap_col[k]] += gap_val[k] * z[i1]
                if constant:
                    solve_factored(factors, n, rhs)
                else:
                    lu_solve(W, n, n - 1, n - 1, pivots, rhs)
                for j in range(n):
                    vf[j] += rhs[j]
            else:
                residuals[i + 1, 0] = 0.0
            change = 0.0
            size = 0.0
            for j in range(n):
                change = max(change, abs(vf[j] - v1[j]))
                size += abs(vf[j])
                v1[j] = vf[j]
                q1[j] = q[i, j] + ht * v1[j] + (h - ht) * v[i, j]
            if not np.isfinite(size):
                return NOT_FINITE
            fill(inp, t1, q1, v1, n)
            if constant:
                if state_force:
                    force(table, 0, inp, out, n, lin_ptr, lin_col, lin_val, F1)
                residuals[i + 1, 1] = 0.0
                converged = True
                break
            # residual at the new point, whose values serve the next iteration and the next step
            force(table, 2, inp, out, n, lin_ptr, lin_col, lin_val, F1)
            scatter(K_flat, -1.0, out, n, place_K)
            scatter(C_flat, -1.0, out, n + place_K.size, place_C)
            if not q_star:
                call(table[1, 0], table[1, 1], out, inp)
                scatter(M_flat, 1.0, out, 0, place_M)
                if m > 0:
                    call(table[3, 0], table[3, 1], out, inp)
                    for k in range(gap_val.size):
                        gap_val[k] = out[2 * nc + k]
                    for i1 in range(m):
                        probe[i1] = out[nc + act[i1]]
            for j in range(n):
                rhs[j] = 0.0
            for i1 in range(m):
                a = act[i1]
                for k in range(gap_ptr[a], gap_ptr[a + 1]):
                    rhs[gap_col[k]] += gap_val[k] * z[i1]
            norm = 0.0
            for j in range(n):
                total = -ht * F1[j] - (h - ht) * F0[j] - rhs[j]
                for k in range(n):
                    total += M[j, k] * (v1[k] - v[i, k])
                norm += total * total
                scale = max(scale, abs(rhs[j]))
            norm = np.sqrt(norm)
            residuals[i + 1, 1] = norm
            if norm <= knobs[5] * scale or change <= 4e-16 * size:
                converged = True
                break
        if not converged:
            return NEWTON_CAP if np.isfinite(residuals[i + 1, 1]) else NOT_FINITE

        t[i + 1] = t1
        iterations[i + 1] = newton
        for j in range(n):
            q[i + 1, j] = q1[j]
            v[i + 1, j] = v1[j]
            F0[j] = F1[j]
        for i1 in range(m):
            p[i + 1, act[i1]] = z[i1]
            if z[i1] > 0.0:
                active[i + 1, act[i1]] = 2
        if nc > 0:
            call(table[3, 0], table[3, 1], out, inp)
            for a in range(nc):
                gap[i + 1, a] = out[a]
                total = out[nc + a]
                for k in range(gap_ptr[a], gap_ptr[a + 1]):
                    if not constant:
                        gap_val[k] = out[2 * nc + k]
                    total += gap_val[k] * v1[gap_col[k]]
                gap_dot[i + 1, a] = total
                if not np.isfinite(gap[i + 1, a] + total):
                    return NOT_FINITE  # a comparison with NaN would let everything through
        ints[0, 0] = i + 1
    return SUCCESS


def workspaces(n: int, nc: int, n_out: int, constant: bool) -> tuple[np.ndarray, ...]:
    """Return the work arrays of `run` for n coordinates, nc contacts, n_out outputs at most."""
    wide = max(n, nc, 8)
    return (
        np.empty((0, 0) if constant else (n, n)),
        np.empty((2, nc, nc)),
        np.empty((nc, 2 * nc + 2)),
        np.empty((13, wide)),
        np.empty(n_out + 1),
        np.zeros((7, wide), np.int64),
        np.zeros(nc, np.int8),
    )
