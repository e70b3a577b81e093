"""Generalised-alpha for M(q) dv = F(t, q, v) dt + G' dp, 0 <= gap: impacts are captured by steps.

Chen, Acary, Virlez, Bruls, IJNME 96 (2013) 487 (VELOCITY); Bruls, Acary, Cardona, CMAME 281 (2014)
131, with the separate problems of Cosimo, Galvez, Cavalieri, Cardona, Bruls, Multibody Syst. Dyn.
48 (2020) 127 (BOTH); Paoli, Schatzman, SIAM J. Numer. Anal. 40 (2002) 702 (MEAN). With d_f, v_f,
t_f and a_m as in `explorer.kernels.time_stepping.newmark`::

    M(d_f) a_m = F(t_f, d_f, v_f)
    q_1 = q_0 + h v_0 + h^2 [(1/2 - beta) a_0 + beta a_1] + s_d w,    M w = G' z
    v_1 = v_0 + h [(1 - gamma) a_0 + gamma a_1] + s_v w

    VELOCITY  s_d = h/2, s_v = 1:  0 <= G v_1 + gap_t + e gap'_0  perp  z >= 0,  z the impulse p, on
              the contacts with gap_0 + forecast h gap'_0 <= 0
    BOTH      the smooth problem, z = 0; then, if it ends with a gap <= 0, the position problem
              s_d = 1, s_v = 0:  0 <= gap(q_1)  perp  z >= 0  on all contacts; then the velocity
              problem v_1 + W on those that are closed, (M + k gamma h C) W = G' p with
              k = (1 - alpha_f) / (1 - alpha_m) and p as above
    INSIDE    s_d = s_v = 0, and z, a force, on the right of M a_1 = F_1 + G' z: no law of impact
    MEAN      s_d = h, s_v = 1:  0 <= gap((q_1 + e q_-) / (1 + e))  perp  z >= 0 on all contacts, z
              the impulse p; q_- lies one step of the same length before q_0, and a gap that moves
              is taken at the same mean of the times

In BOTH the corrections feel the forces that they make themselves, the first through x, the second
through C: linear systems without damping then move as by the coupled equations of 2014. With M
alone an elastic bar would gain energy wherever h exceeds the time that a wave takes per element.

Newton's method in x = a_1 - a_0, linear complementarity in each iteration: with A, C, K of
`explorer.kernels.time_stepping.newmark`, x = x_free + Y z, Y = -A^-1 (1 - alpha_f) (s_d K + s_v C)
M^-1 G', or A^-1 G' for INSIDE. If M, C, K, G are constant all is factored once and one iteration is
exact.
"""

import numpy as np

from explorer.codes import INDEFINITE, NEWTON_CAP, NOT_FINITE, SUCCESS
from explorer.kernels.complementarity.delassus import (
    JUMP,
    MASS,
    SMOOTH,
    Matrices,
    Responses,
    Rows,
    Weights,
    along,
    complement,
    factor,
    jump,
    push,
    respond,
)
from explorer.kernels.complementarity.structures import FACTORED, Lcp, LcpOptions, LcpWorkspace
from explorer.kernels.jit import call, kernel
from explorer.kernels.linear_algebra.dense_lu import bandwidth, lu_solve, positive_definite
from explorer.kernels.model.inputs import TOUCH, fill, force, scatter
from explorer.kernels.time_stepping.time_grid import even_step

__all__ = ["run", "workspaces"]

VELOCITY, BOTH, INSIDE, MEAN = 0, 1, 2, 3
# places in `knobs` and `options`
H, T_END, ALPHA_M, ALPHA_F, BETA, GAMMA, FORECAST, NEWTON_TOL, LCP_TOL = 0, 1, 2, 3, 4, 5, 6, 7, 8
CONSTANT, MOVES, INTERPOLATED, LEVEL, NEWTON_MAX, LCP, LCP_MAX = 0, 1, 2, 3, 4, 5, 6


@kernel(
    "int64(int64[:, ::1], float64[::1], int64[::1], float64[::1], int64[::1], int64[::1],"
    " int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], float64[::1],"
    " float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[::1], float64[::1], float64[::1],"
    " float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1],"
    " int8[:, ::1], int32[::1],"
    " float64[:, ::1], float64[:, ::1], float64[:, :, ::1], float64[:, :, ::1],"
    " float64[:, :, ::1], float64[:, ::1], float64[:, ::1], float64[::1], int64[:, ::1],"
    " int8[:, ::1])"
)
def run(
    table, knobs, options, inp, place_M, place_K, place_C, place_I, gap_ptr, gap_col, lin_ptr,
    lin_col, lin_val, M, K, C, gap_val, e, t, q, v, p, gap, gap_dot, active, iterations,
    residuals, a, LU, Y, cc, T, vec, out, ints, member,
):  # fmt: skip
    """March from row 0 to the last row of the records; return a status, last row in ints[0, 0].

    Parameters
    ----------
    table : (6, 2) addresses of force, mass, step (F, F_q, F_v), gap (gap, gap_t, G), inertia
        ((M a)_q), -
    knobs, options : (9,), (7,) see the names above
    inp : (1 + 3 n + p,) input vector [t, q, v, rho] and, behind it, accelerations
    place_M, place_K, place_C, place_I : flat positions of the entries of M, F_q, F_v, (M a)_q
    gap_ptr, gap_col : CSR pattern of G; gap_val its values (given if constant)
    lin_ptr, lin_col, lin_val : CSR rows added to F as a matrix times (q, v)
    M, K, C : (n, n) M, -F_q, -F_v at the start
    e : (n_c,) restitution
    t, q, v, p, gap, gap_dot, active, iterations, residuals, a : records, row 0 of t, q, v, a is
        the start; residuals[:, 0] LCP in m/s, residuals[:, 1] Newton in N
    LU, Y, cc, T, vec, out, ints, member : workspaces, made by `workspaces`
    """
    n, nc, last = q.shape[1], gap.shape[1], t.size - 1
    am, af, beta, gamma = knobs[ALPHA_M], knobs[ALPHA_F], knobs[BETA], knobs[GAMMA]
    constant, moves, level = options[CONSTANT] == 1, options[MOVES] == 1, options[LEVEL]
    interpolated, by_gap = options[INTERPOLATED] == 1, level != VELOCITY
    new = 1.0 if interpolated else 1.0 - af  # weight of the new state where F is evaluated
    share = 1.0 - af if interpolated else 1.0
    M_flat, K_flat, C_flat = M.reshape(M.size), K.reshape(K.size), C.reshape(C.size)
    D, DJ = cc[0], cc[1]
    g, z, F, F0, r = vec[0], vec[1], vec[4], vec[5], vec[6]
    x, best, dx, d1, v1, a1 = vec[7], vec[8], vec[9], vec[10], vec[11], vec[12]
    df, vf, am_, w, e_dot = vec[13], vec[14], vec[15], vec[16], vec[17]
    old, force_before, before, point = vec[18], vec[19], vec[21], vec[22]
    act, every, pivots, band = ints[1], ints[2], ints[3:6], ints[6:9]
    G, system = Rows(gap_ptr, gap_col, gap_val), Matrices(M, C, K)
    responses, weights = Responses(LU, pivots, band, Y), Weights(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    lcp_options = LcpOptions(options[LCP], knobs[LCP_TOL], options[LCP_MAX])
    kept, kept_jump = ints[10][:3].view(FACTORED), ints[13][:3].view(FACTORED)
    problem, problem_jump = Lcp(D, act, g, z), Lcp(DJ, act, g, z)
    lcp = LcpWorkspace(member[0], kept, ints[9], cc[2], ints[11], T, vec[2])
    lcp_jump = LcpWorkspace(member[1], kept_jump, ints[12], cc[3], ints[14], T, vec[2])
    seen = point if by_gap else v1  # what the contacts look at
    span, span_jump, h_factored, h_before = nc, nc, 0.0, 0.0
    kept[0].count = kept_jump[0].count = -1
    below = above = n - 1
    if not moves:
        below, above = bandwidth(M, n)
        band[MASS, 0], band[MASS, 1] = below, above

    fill(inp, t[0], q[0], v[0], n)
    force(table, 0, inp, out, n, lin_ptr, lin_col, lin_val, F0)
    call(table[3, 0], table[3, 1], out, inp)
    for c in range(nc):
        every[c] = c
        force_before[c] = 0.0
        gap[0, c] = out[c]
        for k in range(gap_ptr[c], gap_ptr[c + 1]):
            if not constant:
                gap_val[k] = out[2 * nc + k]
        gap_dot[0, c] = out[nc + c] + along(gap_ptr, gap_col, gap_val, c, v[0])

    for i in range(last):
        ints[0, 0] = i
        h, t1 = even_step(t[i], knobs[H], t[0], knobs[T_END], i, last)
        tf = t1 if interpolated else (1.0 - af) * t1 + af * t[i]
        c_d, c_v = beta * h * h, gamma * h
        s_d, s_v = 0.5 * h, 1.0
        if level == MEAN:
            s_d = h
        elif level != VELOCITY:
            s_d, s_v = 1.0 if level == BOTH else 0.0, 0.0
        c_w = 1.0 / (h * h) if s_v == 0.0 else 1.0 / h  # w beside an acceleration
        if h != h_factored:
            h_factored = h
            weights = Weights(
                (1.0 - af) * c_v,
                (1.0 - af) * c_d,
                (1.0 - af) * s_v,
                (1.0 - af) * s_d,
                c_d if by_gap else c_v,
                s_d if by_gap else s_v,
            )
            if constant:
                code = factor(system, 1.0 - am, weights.A_C, weights.A_K, responses, SMOOTH)
                if code == SUCCESS and nc > 0:
                    code = respond(nc, every, G, system, weights, responses, D)
                if code == SUCCESS and nc > 0 and level == BOTH:
                    damping = weights.A_C / (1.0 - am)
                    code = jump(nc, every, G, system, damping, responses, DJ)
                if code != SUCCESS:
                    return code
                span, span_jump = max(bandwidth(D, nc)), max(bandwidth(DJ, nc))
                kept[0].count = kept_jump[0].count = -1
        m = 0
        for c in range(nc):
            p[i + 1, c], active[i + 1, c], z[c] = 0.0, 0, 0.0
            e_dot[c] = e[c] * gap_dot[i, c]
            near = level == VELOCITY and gap[i, c] + knobs[FORECAST] * h * gap_dot[i, c] <= TOUCH
            if near or level >= INSIDE:
                active[i + 1, c] = 1 if near else 0
                act[m] = c
                m += 1
        for j in range(n):
            x[j], w[j], before[j] = 0.0, 0.0, q[i, j] - h * v[i, j]
            if i > 0:
                before[j] = q[i, j] - h / h_before * (q[i, j] - q[i - 1, j])
        h_before = h

        corrected, newton, spent, backs = False, 0, 0, 0
        norm, norm_before, change, size = 0.0, np.inf, np.inf, 1.0
        while True:
            for j in range(n):
                d1[j] = q[i, j] + h * (v[i, j] + 0.5 * h * a[i, j]) + c_d * x[j] + s_d * w[j]
                v1[j] = v[i, j] + h * a[i, j] + c_v * x[j] + s_v * w[j]
                a1[j] = a[i, j] + x[j]
                df[j] = new * d1[j] + (1.0 - new) * q[i, j]
                vf[j] = new * v1[j] + (1.0 - new) * v[i, j]
                am_[j] = (1.0 - am) * a1[j] + am * a[i, j]
            converged = constant and newton > 0
            miss, near_size = 0.0, 1.0
            if m > 0 and not converged:
                back = -1.0
                for k in range(m):
                    c = act[k]
                    mean = e[c] if level == MEAN else 0.0
                    if mean != back:  # contacts with the same e look at one point
                        back = mean
                        for j in range(n):
                            point[j] = (d1[j] + back * before[j]) / (1.0 + back)
                        fill(inp, (t1 + back * (t[i] - h)) / (1.0 + back), point, v1, n)
                        call(table[3, 0], table[3, 1], out, inp)
                    for s in range(gap_ptr[c], gap_ptr[c + 1]):
                        if not constant:
                            gap_val[s] = out[2 * nc + s]
                        near_size = max(near_size, abs(gap_val[s] * seen[gap_col[s]]))
                    g[k] = (1.0 + back) * out[c]
                    if not by_gap:
                        g[k] = out[nc + c] + e_dot[c] + along(gap_ptr, gap_col, gap_val, c, v1)
                    if not np.isfinite(g[k]):
                        return NOT_FINITE
                    if newton > 0:
                        miss = max(miss, abs(min(g[k], D[c, c] * z[k])))
            if not converged:
                fill(inp, tf, df, vf, n)
                if constant:
                    force(table, 0, inp, out, n, lin_ptr, lin_col, lin_val, F)
                else:
                    force(table, 2, inp, out, n, lin_ptr, lin_col, lin_val, F)
                    if moves:  # inertia adds to entries that no scatter overwrites
                        for k in range(n * n):
                            K_flat[k] = 0.0
                    scatter(K_flat, -1.0, out, n, place_K)
                    scatter(C_flat, -1.0, out, n + place_K.size, place_C)
                    if moves:
                        call(table[1, 0], table[1, 1], out, inp)
                        scatter(M_flat, 1.0, out, 0, place_M)
                        for j in range(n):
                            inp[inp.size - n + j] = am_[j]
                        call(table[4, 0], table[4, 1], out, inp)
                        for k in range(place_I.size):
                            K_flat[place_I[k]] += out[k] / share
                        if spent == 0 and not positive_definite(M, n, LU[MASS]):
                            return INDEFINITE if np.isfinite(M.sum()) else NOT_FINITE
                for j in range(n):
                    r[j] = 0.0
                if level == INSIDE:
                    for k in range(m):
                        push(gap_ptr, gap_col, gap_val, act[k], -z[k], r)
                norm, scale = 0.0, 0.0
                for j in range(n):
                    total, part = r[j], abs(r[j]) + abs(F[j])
                    for k in range(max(0, j - below), min(n, j + above + 1)):
                        term = M[j, k] * am_[k]
                        total += term
                        part += abs(term)
                    total -= share * F[j]
                    if interpolated:
                        total -= af * F0[j]
                    if not constant:  # what cancels inside F sets how well it can be known
                        for k in range(n):
                            part += abs(K[j, k] * df[k]) + abs(C[j, k] * vf[k])
                    r[j] = total
                    scale = max(scale, part)
                    norm += total * total
                norm = np.sqrt(norm)
                if not np.isfinite(norm):
                    return NOT_FINITE
                # Newton is quadratic: a correction this small leaves nothing but rounding
                if newton > 0 and (norm <= knobs[NEWTON_TOL] * scale or change <= 1e-11 * size):
                    converged = miss <= TOUCH * near_size or change <= 1e-15 * size
            if converged:
                if level != BOTH or corrected:
                    break
                fill(inp, t1, d1, v1, n)
                call(table[3, 0], table[3, 1], out, inp)
                for c in range(nc):
                    act[c] = c
                    if not out[c] > TOUCH:
                        m = nc
                if m == 0:
                    break
                corrected, newton, change = True, 0, np.inf
                continue
            if newton >= options[NEWTON_MAX]:
                residuals[i + 1, 1] = norm
                return NEWTON_CAP
            if m == 0 and newton > 0 and norm > norm_before and backs < 8:  # half the way back
                backs += 1
                for j in range(n):
                    dx[j] *= 0.5
                    x[j] = best[j] + dx[j]
                continue
            if not constant:
                code = factor(system, 1.0 - am, weights.A_C, weights.A_K, responses, SMOOTH)
                if code == SUCCESS and m > 0:
                    kept[0].count = -1
                    code = respond(m, act, G, system, weights, responses, D)
                if code != SUCCESS:
                    return code
            for j in range(n):
                dx[j] = -r[j]
            lu_solve(LU[SMOOTH], n, band[SMOOTH, 0], band[SMOOTH, 1], pivots[SMOOTH], dx)
            for k in range(m):
                g[k] += weights.D_x * along(gap_ptr, gap_col, gap_val, act[k], dx)
                old[k] = z[k]
                for s in range(m):
                    g[k] -= D[act[k], act[s]] * z[s]
            if m > 0:
                code, off = complement(problem, m, span, lcp_options, lcp)
                residuals[i + 1, 0] = off / h if by_gap else off
                if code != SUCCESS:
                    return code
            norm_before, backs, change, size = norm, 0, 0.0, 0.0
            for j in range(n):
                total = 0.0
                for k in range(m):
                    dx[j] += Y[SMOOTH, act[k], j] * (z[k] - old[k])
                    total += Y[MASS, act[k], j] * z[k]
                best[j] = x[j]
                x[j] += dx[j]
                change = max(change, abs(dx[j]), abs(total - w[j]) * c_w)
                size = max(size, abs(x[j]), abs(a1[j]), abs(total) * c_w)
                w[j] = total
            newton += 1
            spent += 1

        fill(inp, t1, d1, v1, n)
        if nc > 0:
            call(table[3, 0], table[3, 1], out, inp)
        if not constant:
            for k in range(gap_val.size):
                gap_val[k] = out[2 * nc + k]
        if corrected:  # the velocity problem, of the contacts that are closed
            m = 0
            for c in range(nc):
                if z[c] > 0.0 or out[c] <= TOUCH:
                    active[i + 1, c] = 1
                    act[m] = c
                    g[m] = out[nc + c] + e_dot[c] + along(gap_ptr, gap_col, gap_val, c, v1)
                    m += 1
            if not constant:
                kept_jump[0].count = -1
                code = jump(m, act, G, system, weights.A_C / (1.0 - am), responses, DJ)
                if code != SUCCESS:
                    return code
            code, off = complement(problem_jump, m, span_jump, lcp_options, lcp_jump)
            residuals[i + 1, 0] = max(residuals[i + 1, 0], off)
            if code != SUCCESS:
                return code
            for j in range(n):
                for k in range(m):
                    v1[j] += Y[JUMP, act[k], j] * z[k]
        for k in range(m):
            c = act[k]
            p[i + 1, c] = z[k]
            if level == INSIDE:
                p[i + 1, c] = h * ((1.0 - gamma) * force_before[c] + gamma * z[k])
                force_before[c] = z[k]
            if p[i + 1, c] > 0.0:
                active[i + 1, c] = 2
        check = 0.0
        for c in range(nc):
            gap[i + 1, c] = out[c]
            gap_dot[i + 1, c] = out[nc + c] + along(gap_ptr, gap_col, gap_val, c, v1)
            check += gap[i + 1, c] + gap_dot[i + 1, c]
        for j in range(n):
            q[i + 1, j], v[i + 1, j], a[i + 1, j] = d1[j], v1[j], a1[j]
            check += d1[j] + v1[j] + a1[j]
        if not np.isfinite(check):
            return NOT_FINITE
        t[i + 1], iterations[i + 1] = t1, spent
        residuals[i + 1, 1] = 0.0 if constant else norm
        if interpolated:
            fill(inp, t1, d1, v1, n)
            force(table, 0, inp, out, n, lin_ptr, lin_col, lin_val, F0)
        ints[0, 0] = i + 1
    return SUCCESS


def workspaces(n: int, nc: int, n_out: int) -> tuple[np.ndarray, ...]:
    """Return LU, Y, cc, T, vec, out, ints, member for n coordinates, nc contacts, n_out outputs."""
    wide = max(n, nc, 8)
    return (
        np.empty((3, n, n)), np.zeros((3, nc, n)), np.zeros((4, nc, nc)),
        np.empty((nc, 2 * nc + 2)), np.zeros((23, wide)), np.empty(max(n_out, 2) + 1),
        np.zeros((15, wide), np.int64), np.zeros((2, nc), np.int8),
    )  # fmt: skip
