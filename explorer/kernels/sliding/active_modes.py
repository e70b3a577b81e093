"""Multipliers of a mode of a system with step functions, and their derivatives.

A mode is an active set and, where dc/dt = 0 has several solutions alpha on its surfaces, one of
them: of two equations that in which det d(dc/dt)/d alpha is negative or positive, of more that with
the k-th smallest first multiplier. Their derivatives follow by the implicit function theorem: with
R = dc/dt of what is slid on,

    R(t, x, alpha, rho) = 0,   alpha_y = -R_alpha^-1 R_y.

The scratch memory lies behind the model's own input vector.
"""

from typing import NamedTuple

import numpy as np

from explorer.kernels.jit import call
from explorer.kernels.linear_algebra.dense_lu import lu_factor, lu_solve
from explorer.kernels.memory import integers, matrix, vector
from explorer.kernels.references import kernel, value_of
from explorer.kernels.sliding.multiaffine import DEPTH, LIMIT, MOST, Bench, pair, roots
from explorer.kernels.sliding.structures import Model
from explorer.kernels.structures import Integers, Matrix, Memory, Vector

__all__ = ["Scratch", "attracts", "derive", "memory", "scratch", "solve"]


class Scratch(NamedTuple):
    """Memory for one call."""

    base: Vector  # (1 + n + n_c + n_rho,) t, x, multipliers, rho
    out: Vector  # what a native function has written
    bench: Bench  # of max(n_c, 2) functions
    moved: Matrix  # (n_c, 1 + n + n_rho) derivatives of the multipliers by t, x, rho
    slopes: Matrix  # (n_c, 1 + n + n_rho) for work


def scratch(n: int, nc: int, nrho: int) -> int:
    """Return how many numbers of scratch memory there have to be."""
    return int(sum(_parts(n, nc, nrho)))


@kernel()
def _parts(n: int, nc: int, nrho: int) -> tuple[int, int, int, int, int]:
    """Return the sizes of the parts of the scratch memory."""
    size, few = max(nc, 2), max(min(nc, MOST), 2)
    y = 1 + n + nrho
    most = max(n * (1 + y + nc), nc * (1 + y + nc))
    found = 2 * few * (1 << few) + LIMIT * few + 2 * DEPTH * few + size * size + 3 * size
    return 1 + n + nc + nrho, most, found, nc * y, nc * y


@kernel(inner=True)
def solve(model: Model, mode: int, scratch: Scratch) -> int:
    """Write the multipliers of a mode to `scratch.base`; return 0 if there are none."""
    base, out, bench = scratch.base, scratch.out, scratch.bench
    corners, w = bench.corners, bench.w
    head, signs = model.head, model.signs
    n, nc = head[0].n, head[0].n_c
    m = 0
    for j in range(nc):
        side = signs[mode, j]
        base[1 + n + j] = 1.0 if side > 0 else 0.0
        m += 1 if side == 0 else 0
    if m == 0:
        return 1
    for corner in range(1 << m):
        a = 0
        for j in range(nc):
            if signs[mode, j] == 0:
                base[1 + n + j] = (corner >> a) & 1
                a += 1
        call(head[0].rate.address, head[0].rate.data, out, base)
        a = 0
        for j in range(nc):
            if signs[mode, j] == 0:
                corners[a, corner] = out[j]
                a += 1
    which = model.roots[mode]
    good = 1
    if m == 1:
        w[0] = -corners[0, 0] / (corners[0, 1] - corners[0, 0])
        good = 1 if abs(w[0]) < 1e6 else 0
    elif m == 2:
        for a in range(2):
            size = 0.0
            for corner in range(4):
                size = max(size, abs(corners[a, corner]))
            for corner in range(4):
                corners[a, corner] /= size
        good = 1 if pair(corners, 1 if which == 0 else -1, w, 1) != 0.0 else 0
    else:
        count = roots(value_of(bench), m)
        good = 1 if which < count else 0
        if good == 1:
            best = -1
            for _ in range(which + 1):  # the next larger first multiplier
                last = best
                best = -1
                for k in range(count):
                    behind = last < 0 or bench.roots[k, 0] > bench.roots[last, 0]
                    if behind and (best < 0 or bench.roots[k, 0] < bench.roots[best, 0]):
                        best = k
            good = 1 if best >= 0 else 0
            for a in range(m):
                w[a] = bench.roots[best, a] if good == 1 else 0.0
    a = 0
    for j in range(nc):
        if signs[mode, j] == 0:
            base[1 + n + j] = w[a] if good == 1 else np.nan
            a += 1
    return good


@kernel(inner=True)
def derive(model: Model, mode: int, scratch: Scratch) -> None:
    """Set `scratch.moved`, the derivatives of the multipliers."""
    base, out, moved = scratch.base, scratch.out, scratch.moved
    M, pivots, w = scratch.bench.M, scratch.bench.pivots, scratch.bench.w
    head = model.head
    n, nc, nrho = head[0].n, head[0].n_c, head[0].n_rho
    signs = model.signs
    y = 1 + n + nrho
    m = 0
    for j in range(nc):
        for k in range(y):
            moved[j, k] = 0.0
        m += 1 if signs[mode, j] == 0 else 0
    if m == 0:
        return
    call(head[0].rate_all.address, head[0].rate_all.data, out, base)
    at_x, at_sel, at_rho = 2 * nc, 2 * nc + nc * n, 2 * nc + nc * n + nc * nc
    a = 0
    for i in range(nc):
        if signs[mode, i] == 0:
            b = 0
            for j in range(nc):
                if signs[mode, j] == 0:
                    M[a, b] = out[at_sel + i * nc + j]
                    b += 1
            a += 1
    singular = lu_factor(M, m, m - 1, m - 1, pivots) != 0
    for k in range(y):
        a = 0
        for i in range(nc):
            if signs[mode, i] == 0:
                if k == 0:
                    w[a] = -out[nc + i]
                elif k <= n:
                    w[a] = -out[at_x + i * n + k - 1]
                else:
                    w[a] = -out[at_rho + i * nrho + k - 1 - n]
                a += 1
        if not singular:
            lu_solve(M, m, m - 1, m - 1, pivots, w)
        a = 0
        for i in range(nc):
            if signs[mode, i] == 0:
                moved[i, k] = np.nan if singular else w[a]
                a += 1


@kernel(inner=True)
def attracts(model: Model, j: int, among: Integers, scratch: Scratch) -> float:
    """Return -det J_Z det J_(Z without j), J = d(dc/dt)/d alpha, Z = `among`."""
    base, out, M, pivots = scratch.base, scratch.out, scratch.bench.M, scratch.bench.pivots
    head, count = model.head, among.size
    n, nc = head[0].n, head[0].n_c
    call(head[0].rate_all.address, head[0].rate_all.data, out, base)
    at_sel = 2 * nc + nc * n
    total = -1.0
    for without in range(2):
        a = 0
        for p in range(count):
            i = among[p]
            if without and i == j:
                continue
            b = 0
            for q in range(count):
                k = among[q]
                if without and k == j:
                    continue
                M[a, b] = out[at_sel + i * nc + k]
                b += 1
            a += 1
        if a > 0:
            if lu_factor(M, a, a - 1, a - 1, pivots) != 0:
                return 0.0
            for b in range(a):
                total *= M[b, b] * (-1.0 if pivots[b] != b else 1.0)
    return total


@kernel(inline=True)
def memory(inp: Memory, model: Model) -> Scratch:
    """Lay out the scratch memory, and write t, x and rho to its `base`."""
    head = model.head
    n, nc, nrho = head[0].n, head[0].n_c, head[0].n_rho
    size, few = max(nc, 2), max(min(nc, MOST), 2)
    y, wide = 1 + n + nrho, 1 << few
    all_of_it, most, found, moved, _ = _parts(n, nc, nrho)
    at = head[0].scratch
    base = vector(inp, at, all_of_it)
    at += all_of_it
    out = vector(inp, at, most)
    at += most
    behind = at + found
    corners = matrix(inp, at, few, wide)
    at += few * wide
    roots = matrix(inp, at, LIMIT, few)
    at += LIMIT * few
    smaller = matrix(inp, at, few, wide)
    at += few * wide
    boxes = matrix(inp, at, DEPTH, 2 * few)
    at += 2 * DEPTH * few
    M = matrix(inp, at, size, size)
    at += size * size
    pivots = integers(inp, at, size)
    w = vector(inp, at + size, size)
    step = vector(inp, at + 2 * size, size)
    base[0] = inp[0]
    for k in range(n):
        base[1 + k] = inp[1 + k]
    for k in range(nrho):
        base[1 + n + nc + k] = inp[head[0].rho + k]
    bench = Bench(corners, roots, smaller, boxes, M, pivots, w, step)
    return Scratch(base, out, bench, matrix(inp, behind, nc, y), matrix(inp, behind + moved, nc, y))
