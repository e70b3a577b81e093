"""The problem of one Euler-Moreau step, with its multipliers kept beside the states, as a band.

Of multipliers at a bound lam is known, of the others y = 0; with x and lam as unknowns::

    V dx - h a G1 dlam = d
    s H0 dx + H1 dlam = -y   (or dlam = bound - lam)

is sparse where the matrix of the multipliers alone, H1 + s H0 h a V^-1 G1, is full. Sides change by
the principal pivoting of `explorer.kernels.complementarity.box_lcp`; in the order of Cuthill and
McKee it is a band.
"""

import numpy as np

from explorer.kernels.jit import call, kernel
from explorer.kernels.linear_algebra.banded_lu import band_factor, band_solve
from explorer.kernels.time_stepping.time_grid import even_step

__all__ = ["march", "solve_sides"]

ROUNDS = 10  # of sides that change all at once


@kernel(
    "float64(int64[::1], int64[::1], float64[::1], int64[::1], float64[:, ::1], int64[::1],"
    " float64[::1], float64[:, ::1], float64[:, ::1], int8[::1], float64[::1])",
    inner=True,
)
def solve_sides(ptr, col, val, place, W, pivots, rhs, work, bounds, side, lam):
    """Return the residual of y beside its terms, or NaN if no sides were found.

    Parameters
    ----------
    ptr, col, val : rows of [[V, -h a G1], [s H0, H1]]
    place : (N,) of each unknown in the band W (N, 3 w + 1)
    pivots : (N + 1,) the last one 1: W is factored for these sides
    rhs : (N,) d and y; then dx and the new y
    work : (k, N) the third row: x and lam
    side, lam : (m,) where lam is, to begin with where it was; its values
    """
    N, m, w = place.size, side.size, (W.shape[1] - 1) // 3
    n, b, y, before = N - m, work[0], work[1], work[2]
    for _ in range(ROUNDS):
        if pivots[N] != 1:
            W[:, :] = 0.0
            for i in range(N):
                at = place[i]
                if i >= n and side[i - n] != 0:
                    W[at, w] = 1.0
                else:
                    for k in range(ptr[i], ptr[i + 1]):
                        W[at, place[col[k]] - at + w] = val[k]
            if band_factor(W, N, w, pivots) != 0:
                return np.nan
            pivots[N] = 1
        for i in range(N):
            value = rhs[i] if i < n else -rhs[i]
            if i >= n and side[i - n] != 0:
                value = bounds[0 if side[i - n] < 0 else 1, i - n] - before[i]
            b[place[i]] = value
        band_solve(W, N, w, pivots, b)
        worst, size, wrong = 0.0, 0.0, False
        for i in range(n, N):
            total, terms, j = rhs[i], abs(rhs[i]), i - n
            for k in range(ptr[i], ptr[i + 1]):
                step = b[place[col[k]]]
                total += val[k] * step
                terms += abs(val[k]) * (abs(step) + abs(before[col[k]]))
            y[i], size = total, max(size, terms)
            if side[j] != 0:
                lam[j] = bounds[0 if side[j] < 0 else 1, j]
                if side[j] * total > 1e-14 * terms:
                    side[j], wrong = 0, True
            else:
                lam[j] = before[i] + b[place[i]]
                worst = max(worst, abs(total))
                if lam[j] < bounds[0, j] or lam[j] > bounds[1, j]:
                    side[j], wrong = -1 if lam[j] < bounds[0, j] else 1, True
            if not np.isfinite(total + lam[j]):
                return np.nan
        if not wrong:
            for i in range(N):
                rhs[i] = b[place[i]] if i < n else y[i]
            return worst / size if size > 1e-290 else worst
        pivots[N] = 0
    return np.nan


@kernel(
    "int64(int64[:, ::1], float64[::1], int64, float64[::1], int64[::1], float64[:, ::1],"
    " float64[::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], int8[:, ::1], int32[::1],"
    " float64[:, ::1], int64[::1], int64[::1], int64[::1], int64[::1], float64[::1], float64[::1],"
    " float64[:, ::1], float64[:, ::1], int64[::1], float64[::1])"
)
def march(
    table, knobs, kind, inp, sizes, bounds, t, x, lam, y, side, iterations, residuals, ptr, col,
    slots, place, val_M, val, W, work, pivots, out,
):  # fmt: skip
    """March while sides are found; return the last row.

    Parameters as those of `explorer.kernels.time_stepping.euler_moreau.run` and of `solve_sides`,
    and

    kind : 1 linear, 2 besides independent of t
    sizes : (5,) numbers of entries of f_x, H0, H1, G0, G1
    slots : where in val the entries of M, f_x, H0, H1, G0, G1 belong
    work : (7, N) as `solve_sides` takes it, and besides d and y, lam, f and r of the step's start
    """
    n, m, last = x.shape[1], lam.shape[1], t.size - 1
    h0, t_end, theta, a, s = knobs[0], knobs[1], knobs[2], knobs[3], knobs[4]
    before, rhs, new = work[2], work[3], work[4]
    f0, r0 = work[5], work[6]
    h_made = 0.0
    pivots[n + m] = 0
    for i in range(last):
        h, t1 = even_step(t[i], h0, t[0], t_end, i, last)
        at = t[i] + s * (t1 - t[i]) if s < 1.0 else t1
        for j in range(n):
            before[j] = inp[1 + j] = x[i, j]
        for j in range(m):
            before[n + j] = inp[1 + n + j] = lam[i, j]
            side[i + 1, j] = side[i, j]
        inp[0] = t[i]
        call(table[0, 0], table[0, 1], out, inp)
        for j in range(n):
            f0[j] = out[j]
        call(table[2, 0], table[2, 1], out, inp)
        for j in range(n):
            r0[j] = out[m + j]
        if i == 0:
            for j in range(m):
                y[0, j] = out[j]
        inp[0] = t1
        call(table[0, 0], table[0, 1], out, inp)
        for j in range(n):
            rhs[j] = h * (theta * out[j] + (1.0 - theta) * f0[j])
        inp[0] = at
        call(table[2, 0], table[2, 1], out, inp)
        for j in range(n):
            rhs[j] += h * (a * out[m + j] + (1.0 - a) * r0[j])
        for j in range(m):
            rhs[n + j] = out[j]
        if kind == 1 or h != h_made:
            val[:] = 0.0
            for k in range(val_M.size):
                val[slots[k]] += val_M[k]
            first = val_M.size
            inp[0] = t1
            call(table[1, 0], table[1, 1], out, inp)
            for k in range(sizes[0]):
                val[slots[first + k]] -= h * theta * out[k]
            first += sizes[0]
            inp[0] = at
            call(table[3, 0], table[3, 1], out, inp)
            start = 0
            for part in range(1, 5):  # H0, H1, G0, G1
                weight = (s if part % 2 == 1 else 1.0) * (1.0 if part < 3 else -h * a)
                for k in range(start, start + sizes[part]):
                    val[slots[first + k]] += weight * out[k]
                start += sizes[part]
            h_made, pivots[n + m] = h, 0
        residuals[i + 1, 0] = solve_sides(
            ptr, col, val, place, W, pivots, rhs, work, bounds, side[i + 1], new
        )
        total = 0.0
        for j in range(n):
            x[i + 1, j] = x[i, j] + rhs[j]
            total += x[i + 1, j]
        if not residuals[i + 1, 0] <= knobs[6] or not np.isfinite(total):
            residuals[i + 1, 0] = 0.0
            return i
        for j in range(m):
            lam[i + 1, j], y[i + 1, j] = new[j], rhs[n + j]
        t[i + 1], iterations[i + 1] = t1, 1
    return last
