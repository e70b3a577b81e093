"""The Moreau-Jean time-stepping scheme for M(q) dv = F(t, q, v) dt + G' dp, 0 <= gap.

Rows of G: normals of contacts, tangents of those with friction, gradients of constraints phi = 0.

Event-capturing schemes, "Lagrangian systems" and its summary, with the corrections listed in the
docstring of `explorer.schemes.moreau_jean`. One step from (q_i, v_i), all at velocity level::

    active set   A = {a : gap_a + forecast h gap'_a <= 0 (to round-off)}, of the step's start
    Newton       W = M + h theta C + (h theta)^2 K,  C = -F_v,  K = -F_q
                 v_free = v - W^-1 [M (v - v_i) - h theta F_{i+1} - h (1 - theta) F_i]
    LCP on A     0 <= G v_free + gap_t + e gap'_i + G W^-1 G' p  perp  p >= 0
                 v = v_free + W^-1 G' p,   q = q_i + h (theta v + (1 - theta) v_i)

With friction it is the problem of `friction.coulomb`, e_t slip_i besides the tangents; mu is that
of the step's start. Constraints hold at velocity level, G_c v + phi_t = 0: with impulses as further
unknowns W is [[W, -G_c'], [G_c, 0]] wherever it stands above. Positions drift away from phi = 0
unless `position_projection` takes them back. A compliant contact is always in A, with the condition
of `compliant_contact` (the source's relation corrected). `p` is the impulse of the step. If M, C,
K, G are constant, one iteration is exact; the factors of W come from outside, once for each step
size, and the Delassus matrix is made once with them. Of many contacts with a diagonal W it is not
formed, and G may turn: see `friction.graph`. A W that changes and has a narrow band is kept as one:
see `linear_algebra.saddle_point`.
"""

import numpy as np

from explorer.codes import INDEFINITE, LCP_RAY, NEWTON_CAP, NOT_FINITE, SINGULAR, SUCCESS
from explorer.kernels.complementarity.delassus import along, push
from explorer.kernels.friction.coulomb import STICK
from explorer.kernels.friction.graph import GRAPH_WORK
from explorer.kernels.jit import call, kernel
from explorer.kernels.linear_algebra.dense_lu import lu_factor, positive_definite
from explorer.kernels.linear_algebra.factored_solve import FACTORS
from explorer.kernels.linear_algebra.saddle_point import (
    banded_factor,
    banded_inertia,
    banded_mass,
    solve_step,
)
from explorer.kernels.model.inputs import NEAR, ROUND, fill, force, scatter
from explorer.kernels.model.structures import Bundles, Rows
from explorer.kernels.time_stepping.compliant_contact import bend, broken, predicted
from explorer.kernels.time_stepping.moreau_jean_contact import forget, step_delassus, step_impulses
from explorer.kernels.time_stepping.moreau_jean_rows import retake, without_rebound
from explorer.kernels.time_stepping.newton_convergence import at_round_off
from explorer.kernels.time_stepping.position_projection import project
from explorer.kernels.time_stepping.time_grid import even_step

__all__ = ["H_FACTORED", "UNFACTORED", "run"]

UNFACTORED = -1  # factors for the step knobs[H_FACTORED] are wanted: make them and call again
H_FACTORED = 7
OBEYED = 1e-9  # part of its terms by which the law of a compliant contact may be off at round-off
AT_REST = 1e-9  # sliding beside the velocities that make it, with which a contact starts sticking


@kernel(
    "int64(int64[:, ::1], float64[::1], int64[::1], float64[::1], int64[::1], int64[::1],"
    " int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], float64[::1],"
    f" {FACTORS}, float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[::1], float64[::1],"
    " float64[::1], int64[::1], int64[::1], float64[::1], float64[::1], float64[:, ::1],"
    " float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], int8[:, ::1], int32[::1],"
    " float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], int64[::1],"
    " int32[:, ::1], float64[:, ::1], float64[:, :, ::1], float64[:, ::1], float64[:, ::1],"
    f" float64[::1], int64[:, ::1], int8[::1], {GRAPH_WORK})"
)
def run(
    table, knobs, options, inp, place_M, place_K, place_C, gap_ptr, gap_col, tangents, lin_ptr,
    lin_col, lin_val, factors, M, K, C, gap_val, e, compliance, D_ptr, D_col, D_val, t, q, v, p,
    gap, gap_dot, active, iterations, residuals, p_max, phi, p_phi, partners, partner, W, cc, T,
    vec, out, ints, member, band, graph_vec, graph_ints, near,
):  # fmt: skip
    """March from row ints[0, 0] to the last row; return a status, last row in ints[0, 0].

    Parameters
    ----------
    table : (4 or 5, 2) addresses of the bundles force, mass, step (F, F_q, F_v), gap (gap, what the
        velocities of the rows of G are at v = 0, G, mu, mu_s, phi), d(lam) and the entries of D
    knobs : (8,) h, t_end, theta, forecast, gamma, Newton tolerance, LCP tolerance, step for which
        the factors hold
    options : (10,) constant, q_star, rheonomic, Newton cap, LCP method, LCP cap, what is projected
        (see `position_projection`), many (1: W is diagonal and the graph of the contacts serves;
        2: though G depends on the state), solver of friction in space, compliance
    inp : (1 + 2 n + p,) input vector [t, q, v, rho], and lam behind it if d(lam) is not linear; rho
        is read, the rest is scratch
    place_M, place_K, place_C : flat positions of the entries of M, F_q, F_v that bundles yield
    gap_ptr, gap_col : CSR pattern of G; gap_val its values (given if constant)
    tangents : (n_c + 1,) contact a has the tangents in rows tangents[a] to tangents[a + 1] - 1 of G
    lin_ptr, lin_col, lin_val : CSR rows added to F as a matrix times (q, v)
    factors : of W if constant, see `factored_solve`; else what `saddle_point` takes
    M, K, C : (n, n) M, -F_q, -F_v at the start, of a band their entries; not used if constant
    e : (n_rows,) restitution, of tangents the tangential one
    compliance, D_ptr, D_col, D_val : see `compliant_contact.FLEX`
    t, q, v, p, gap, gap_dot, active, iterations, residuals, p_max : records, time is axis 0; row
        ints[0, 0] of t, q, v is the start; p, gap_dot, active of all rows of G (of a tangent
        friction, sliding velocity and what it does: see `friction.coulomb`);
        residuals[:, 0] LCP in m/s, [:, 1] Newton in N s; p_max (n_t, n_tangents) the most friction;
        phi, p_phi (n_t, n_constraints) in m, N s; partner (n_t, .) what contacts join
    partners : what they join now, kept by the function of the gaps; empty if it never changes
    W, ..., near : made by `moreau_jean_workspace`
    """
    n, nc, rows = q.shape[1], gap.shape[1], gap_dot.shape[1]
    rough, bound, last = rows - nc, phi.shape[1], t.size - 1
    N, at_G = n + bound, nc + rows + bound
    bundles, linear = Bundles(table, inp, out), Rows(lin_ptr, lin_col, lin_val)
    h0, t_end, theta, forecast, gamma = knobs[0], knobs[1], knobs[2], knobs[3], knobs[4]
    constant, q_star, rheonomic = options[0] == 1, options[1] == 1, options[2] == 1
    many, turns = options[7] > 0, not constant or options[7] == 2
    smooth = 0 if constant else 2  # the bundle
    state_force = place_K.size + place_C.size + lin_val.size > 0
    M_flat, K_flat, C_flat = M.reshape(M.size), K.reshape(K.size), C.reshape(C.size)
    F0, F1, R, rhs = vec[0], vec[1], vec[2], vec[3]
    q1, v1, vf, z, w = vec[4], vec[5], vec[6], vec[7], vec[8]
    e_dot, probe, found = vec[10], vec[11], vec[12]
    ratio, coefficients, bias = vec[13], vec[14:16], vec[20]
    at_mu, at_phi = at_G + gap_val.size, at_G + gap_val.size + 2 * rough
    pivots, act, place, mode = ints[1], ints[2], ints[7], ints[8]
    forget(ints)
    width, h_made = max(rows - 1, 0), 0.0  # of the Delassus matrix: bandwidth, step
    t0, first, newton = t[0], ints[0, 0], 1
    flex, depth = (compliance, D_ptr, D_col, D_val), vec[34:38]
    yields = options[9] == 1 and (rheonomic or not constant)  # else gaps are known to be linear
    banded = factors[10].size > 0 and not constant
    for a in range(nc):
        depth[1, a], depth[2, a] = 0.0, p[first, a] / h0
    if table.shape[0] > 4:
        bend(table, inp, out, flex, depth[2], depth[1, :nc])
    far, reach = 0.0, 0.0  # largest coordinate, way of a gap in a step, up to now
    fill(inp, t[first], q[first], v[first], n)
    force(bundles, 0, linear, F0)
    call(table[3, 0], table[3, 1], out, inp)
    for a in range(rows):
        total, rhs[a] = out[nc + a], abs(out[nc + a])
        for k in range(gap_ptr[a], gap_ptr[a + 1]):
            if turns:
                gap_val[k] = out[at_G + k]
            total += gap_val[k] * v[first, gap_col[k]]
            rhs[a] = max(rhs[a], abs(gap_val[k] * v[first, gap_col[k]]))
            if a < nc:
                far = max(far, abs(gap_val[k] * q[first, gap_col[k]]))
        gap_dot[first, a] = total
    for a in range(nc):
        gap[first, a] = out[a]
        s, end = tangents[a], tangents[a + 1] - 1
        if s <= end and first == 0 and abs(gap[0, a]) <= ROUND * far:
            slides = abs(gap_dot[0, s]) > AT_REST * rhs[s]
            slides = slides or abs(gap_dot[0, end]) > AT_REST * rhs[end]
            active[0, s] = 0 if slides else STICK
    for k in range(rough):
        coefficients[0, k], coefficients[1, k] = out[at_mu + k], out[at_mu + rough + k]
    for c in range(bound):
        phi[first, c], bias[c] = out[at_phi + c], 0.0
    for a in range(partners.size):
        partner[first, a] = partners[a]
    for i in range(first, last):
        ints[0, 0] = i
        h, t1 = even_step(t[i], h0, t0, t_end, i, last)
        if constant and h != knobs[H_FACTORED]:
            knobs[H_FACTORED] = h
            return UNFACTORED
        ht = h * theta
        m, touch = 0, ROUND * far + NEAR * reach
        for a in range(nc):
            soft = compliance[a] > 0.0
            if soft or gap[i, a] + forecast * h * gap_dot[i, a] <= touch:
                active[i + 1, a] = 0 if soft else 1
                act[m], place[m], e_dot[m] = a, -1, e[a] * gap_dot[i, a]
                if soft:
                    e_dot[m] = (gap[i, a] / h + (1.0 - theta) * gap_dot[i, a]) / theta
                m += 1
        held = m
        if rough > 0:
            for j in range(m):
                if tangents[act[j]] < tangents[act[j] + 1]:
                    place[j] = held
                for a in range(tangents[act[j]], tangents[act[j] + 1]):
                    act[held] = a
                    e_dot[held] = e[a] * gap_dot[i, a]
                    held += 1

        for j in range(held):
            z[j] = p[i, act[j]]
        for j in range(n):
            v1[j] = v[i, j]
            q1[j] = q[i, j] + h * v[i, j]
        fill(inp, t1, q1, v1, n)
        if yields:
            call(table[3, 0], table[3, 1], out, inp)
            for j in range(m):
                depth[0, j] = out[act[j]]
        force(bundles, smooth, linear, F1)
        for j in range(n if turns and q_star else 0):
            inp[1 + j] = q[i, j] + h * gamma * v[i, j]
        if not constant:
            scatter(K_flat, -1.0, out, n, place_K)
            scatter(C_flat, -1.0, out, n + place_K.size, place_C)
            call(table[1, 0], table[1, 1], out, inp)
            scatter(M_flat, 1.0, out, 0, place_M)
            if not (banded_mass(M, factors, W) if banded else positive_definite(M, n, W)):
                return INDEFINITE if np.isfinite(M.sum()) else NOT_FINITE
        if (m > 0 or bound > 0) and (rheonomic or turns):
            call(table[3, 0], table[3, 1], out, inp)
            for k in range(gap_val.size if turns else 0):
                gap_val[k] = out[at_G + k]
            for j in range(held):
                probe[j] = out[nc + act[j]]
            for c in range(bound):
                bias[c] = out[nc + rows + c]
        else:
            for j in range(held):
                probe[j] = 0.0

        converged, before, still, lost, turned, off = False, np.inf, 0, 0.0, 0.0, 0.0
        for iteration in range(1 if constant else options[3]):
            newton = iteration + 1
            if banded:
                if banded_factor(W, factors, M, C, K, ht, gap_ptr, gap_col, gap_val, rows, pivots):
                    return SINGULAR
                banded_inertia(M, factors, v1, v[i], R, vec[9])
            elif not constant:
                for j in range(n):
                    for k in range(n):
                        W[j, k] = M[j, k] + ht * C[j, k] + ht * ht * K[j, k]
                for c in range(n, N):
                    for j in range(N):
                        W[c, j] = W[j, c] = 0.0
                    for k in range(gap_ptr[rows + c - n], gap_ptr[rows + c - n + 1]):
                        W[c, gap_col[k]], W[gap_col[k], c] = gap_val[k], -gap_val[k]
                if lu_factor(W, N, N - 1, N - 1, pivots) != 0:
                    return SINGULAR
            elif not many and h != h_made:
                width = step_delassus(
                    gap_ptr, gap_col, gap_val, factors, N, rows, nc, flex, h * ht, cc[0], rhs,
                )  # fmt: skip
                h_made = h
                forget(ints)
            # free velocity
            scale = 0.0
            for j in range(n):
                total = 0.0
                if not constant:
                    size = 0.0
                    if banded:
                        total, size = R[j], vec[9, j]
                    for k in range(0 if banded else n):
                        total += M[j, k] * (v1[k] - v[i, k])
                        size += abs(M[j, k] * v[i, k])
                    scale = max(scale, size + h * abs(F1[j]))
                R[j] = -total + ht * F1[j] + (h - ht) * F0[j]
                vf[j] = R[j]
            for c in range(bound):
                vf[n + c] = -bias[c] - along(gap_ptr, gap_col, gap_val, rows + c, v1)
            solve_step(constant, factors, W, N, pivots, vf)
            for j in range(n):
                vf[j] += v1[j]
            # contact problem
            if m > 0:
                if yields:
                    predicted(
                        flex, act, m, ht, gap_ptr, gap_col, gap_val, v1, probe, depth, e_dot
                    )  # fmt: skip
                steady = h == h_made and not turns
                for _ in range(2):
                    status = step_impulses(
                        gap_ptr, gap_col, gap_val, factors, N, rows, nc, flex, h * ht, W, pivots,
                        constant, many, steady, m, held, width, probe, e_dot, vf, options[4],
                        knobs[6], options[5], coefficients, gap_dot[i], active[i], i, tangents,
                        options[8], cc, T, vec, ints, member, band, graph_vec, graph_ints, near,
                    )  # fmt: skip
                    if status != LCP_RAY or held == m:
                        break
                    # it wedges: of e = 0 the problem has a solution
                    lost = max(lost, without_rebound(act, held, nc, compliance, e_dot, z))
                    if lost == 0.0:
                        break
                h_made = h
                residuals[i + 1, 0] = max(found[0], lost) if status == SUCCESS else found[0]
                if status != SUCCESS:
                    return status
                for j in range(N):
                    rhs[j] = 0.0
                for i1 in range(held):
                    if z[i1] != 0.0:
                        push(gap_ptr, gap_col, gap_val, act[i1], z[i1], rhs)
                solve_step(constant, factors, W, N, pivots, rhs)
                for j in range(N):
                    vf[j] += rhs[j]
            else:
                residuals[i + 1, 0] = 0.0
            change, size = 0.0, 0.0
            for j in range(n):
                change = max(change, abs(vf[j] - v1[j]))
                v1[j] = vf[j]
                q1[j] = q[i, j] + ht * v1[j] + (h - ht) * v[i, j]
                size += abs(v1[j]) + abs(q1[j]) / h  # what forces of q1 round to, so do v1
            if not np.isfinite(size):
                return NOT_FINITE
            fill(inp, t1, q1, v1, n)
            if constant:
                if state_force:
                    force(bundles, 0, linear, F1)
                residuals[i + 1, 1] = 0.0
                converged = True
                break
            # residual at the new point, whose values serve the next iteration and the next step
            force(bundles, 2, linear, F1)
            scatter(K_flat, -1.0, out, n, place_K)
            scatter(C_flat, -1.0, out, n + place_K.size, place_C)
            if not q_star:
                call(table[1, 0], table[1, 1], out, inp)
                scatter(M_flat, 1.0, out, 0, place_M)
                if m > 0 or bound > 0:
                    call(table[3, 0], table[3, 1], out, inp)
                    turned = retake(
                        gap_ptr, gap_col, gap_val, out, nc, rows, act, held, bound, probe, bias, v1,
                        at_G,
                    )  # fmt: skip
            if yields:
                off = broken(table, inp, out, flex, ROUND * far, act, m, h, ht, z, cc[0], depth)
                turned = off if q_star else max(turned, off)
            for j in range(n):
                rhs[j] = 0.0
            for i1 in range(held):
                push(gap_ptr, gap_col, gap_val, act[i1], z[i1], rhs)
            for c in range(bound):
                push(gap_ptr, gap_col, gap_val, rows + c, vf[n + c], rhs)
            norm = 0.0
            if banded:
                banded_inertia(M, factors, v1, v[i], R, vec[9])
            for j in range(n):
                total = -ht * F1[j] - (h - ht) * F0[j] - rhs[j]
                if banded:
                    total += R[j]
                for k in range(0 if banded else n):
                    total += M[j, k] * (v1[k] - v[i, k])
                norm += total * total
                scale = max(scale, abs(rhs[j]))
            residuals[i + 1, 1] = norm = np.sqrt(norm)
            still = still + 1 if change > 0.5 * before else 0
            before = change
            solved = norm <= knobs[5] * scale and turned <= knobs[5]
            if solved or (at_round_off(change, size, still) and off <= OBEYED):
                converged = True
                break
        if not converged:
            return NEWTON_CAP if np.isfinite(residuals[i + 1, 1]) else NOT_FINITE
        for c in range(bound):
            p_phi[i + 1, c] = vf[n + c]
        if options[6] > 0:
            status = project(
                table, knobs, options, inp, out, gap_ptr, gap_col, gap_val, factors, W, cc[0],
                cc[1], T, compliance, q1, n, nc, rows, bound, at_phi, vec[21:], ints, member,
            )  # fmt: skip
            if status != SUCCESS:
                return status
            if state_force:
                force(bundles, 0, linear, F1)
        t[i + 1], iterations[i + 1] = t1, newton
        for j in range(n):
            q[i + 1, j] = q1[j]
            v[i + 1, j] = v1[j]
            F0[j] = F1[j]
        for i1 in range(held):
            p[i + 1, act[i1]] = z[i1]
        for i1 in range(m):
            reach = max(reach, h * abs(w[i1]))
            if z[i1] > 0.0:
                active[i + 1, act[i1]] = 2
                if held > m and place[i1] >= 0:
                    a = act[place[i1]]
                    active[i + 1, a], p_max[i + 1, a - nc] = mode[act[i1]], ratio[i1] * z[i1]
            else:  # what round-off leaves of friction
                for a in range(tangents[act[i1]], tangents[act[i1] + 1]):
                    p[i + 1, a] = 0.0
        if nc + bound > 0:
            call(table[3, 0], table[3, 1], out, inp)
            for a in range(rows):
                total = out[nc + a]
                for k in range(gap_ptr[a], gap_ptr[a + 1]):
                    if turns:
                        gap_val[k] = out[at_G + k]
                    total += gap_val[k] * v1[gap_col[k]]
                    if a < nc:
                        far = max(far, abs(gap_val[k] * q1[gap_col[k]]))
                gap_dot[i + 1, a] = total
                if a < nc:
                    gap[i + 1, a] = out[a]
                    reach = max(reach, h * abs(total))
                    total += out[a]
                if not np.isfinite(total):
                    return NOT_FINITE  # a comparison with NaN would let everything through
            for k in range(rough):
                coefficients[0, k], coefficients[1, k] = out[at_mu + k], out[at_mu + rough + k]
            for c in range(bound):
                phi[i + 1, c] = out[at_phi + c]
            for a in range(partners.size):
                partner[i + 1, a] = partners[a]
        ints[0, 0] = i + 1
    return SUCCESS
