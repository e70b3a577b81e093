"""Derivatives of a march of FESD by parameters: the implicit function theorem, element by element.

In a fixed active set slopes K, multipliers w and lengths solve F(K, w; x, t, h, rho) = 0 (see
`explorer.kernels.fesd.element`), so (dK, dw) = -F_u^-1 (F_x dx + F_t dt + F_h dh + F_rho drho): one
factorisation of Newton's matrix serves all columns. Lengths follow from what determines them: all
elements that a phase has in an interval move alike, such that the switch at its end stays one,

    c_x dx + c_t dt + c_rho drho = 0,  or  d(base + B w_end)_k = 0,

and those behind the last switch of an interval fill it up. What happens at a switch needs no
formula of its own: dx and dt go on, and the next active set is differentiated.

What is carried along are total derivatives of (x, z, t) at the ends of elements, z the running
cost; at a fixed time it is dx - (dx_end / dh) dt. Columns: parameters, then the common length.
"""

from typing import NamedTuple

from explorer.codes import NO_ACTIVE_SET, SUCCESS
from explorer.kernels.fesd.arrangement import arrange
from explorer.kernels.fesd.element import (
    FACTORED,
    FLOW,
    MODE,
    NC,
    NRHO,
    NSEL,
    SURFACE,
    SWITCH,
    H,
    N,
    S,
    element,
    factor,
    place,
)
from explorer.kernels.fesd.march import SIGNS
from explorer.kernels.fesd.structures import Element, Record, Workspace
from explorer.kernels.jit import call, kernel
from explorer.kernels.linear_algebra.dense_lu import lu_solve
from explorer.kernels.structures import Integers, Matrix, Stack, Table, Vector, takes

__all__ = ["Asked", "differentiate", "tangents"]

COST = 2  # a third bundle, if there is a cost: g, g_t, g_x, g_multipliers, g_rho
UNEVEN = 1e-6  # beside their length: elements of a phase that differ by more were not made equal


class Asked(NamedTuple):
    """What is differentiated by, and memory for it; p parameters."""

    wrt: Integers  # (p,) places of the parameters, -1: a start value
    rhs: Matrix  # (p + 2, size) right-hand sides
    stage: Vector  # (n_x + n_sel,) d X and d multipliers of a stage
    behind: Matrix  # (p + 1, n_x + 2) derivatives behind an element, as `before`
    own: Vector  # (n_x + 2,) that of its end by its own length


@kernel(
    f"void({MODE}, int64[::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1],"
    " int64, int64[::1])",
    inner=True,
)
def load(sign, zeros, base, B, shape, K, W, slopes, mult, e, row):
    """Set up the active set of an element from its phase's row, and K and w from the record."""
    for j in range(shape[NC]):
        sign[j] = row[SIGNS + j]
    arrange(shape, sign, zeros, base, B, row[SIGNS - 1])
    for i in range(shape[S]):
        for k in range(shape[N]):
            K[i, k] = slopes[e, i * shape[N] + k]
        for a in range(zeros[shape[NC]]):
            for k in range(shape[NSEL]):
                if B[k, a] == 1.0:
                    W[i, a] = mult[e, i * shape[NSEL] + k]


@kernel("void(int64[::1], float64[:, ::1], int64, float64[:, ::1], float64[::1])", inline=True)
def mean(shape, tableau, row, K, stage):
    """Set the head of `stage` to d(X - x)/dh of the point with the weights of a row."""
    for k in range(shape[N]):
        total = 0.0
        for q in range(shape[S]):
            total += tableau[row, q] * K[q, k]
        stage[k] = total


@kernel(takes(Workspace, Asked, float, Vector, Matrix, Matrix, Vector, returns=float), inner=True)
def tangent(ws, asked, t, x, before, behind, own):
    """Carry total derivatives (p + 1, n + 2) of (x, z, t) through an element whose length stays.

    `own` (n + 2,) is the derivative of its end by its length. Returns the cost along it, NaN if
    Newton's matrix is singular. K, W and ``work[H]`` hold the element.
    """
    wrt, rhs, stage = asked.wrt, asked.rhs, asked.stage
    table, shape, inp, out = ws.model.table, ws.model.shape, ws.model.inp, ws.model.out
    switch, tableau = ws.model.switch, ws.model.tableau
    zeros, base, B = ws.mode.zeros, ws.mode.base, ws.mode.B
    K, W, sel = ws.stages.K, ws.stages.W, ws.stages.sel
    M, pivots, work = ws.solver.M, ws.solver.pivots, ws.solver.work
    n = shape[N]
    nc = shape[NC]
    nsel = shape[NSEL]
    nrho = shape[NRHO]
    s = shape[S]
    m = zeros[nc]
    d = n + m
    h = work[H]
    p = len(wrt)
    at_sel = n + n * n
    at_t = at_sel + n * nsel
    for i in range(s):
        for k in range(nsel):
            total = base[k]
            for a in range(m):
                total += B[k, a] * W[i, a]
            sel[i, k] = total
    columns = p + 2 if p > 0 else 0  # without parameters there is the cost alone
    if p > 0 and factor(Element(ws.model, ws.mode, ws.stages, ws.solver), t, x, 0, 0, 0.0):
        return float("nan")
    for i in range(s if p > 0 else 0):
        c = tableau[3 * s, i]
        place(table, shape, inp, out, switch, tableau, t + h * c, x, h, i, K)
        for k in range(nsel):
            inp[1 + n + k] = sel[i, k]
        call(table[FLOW, 0], table[FLOW, 1], out, inp)
        mean(shape, tableau, i, K, stage)
        for k in range(n):
            for j in range(p + 1):
                total = out[at_t + k] * before[j, n + 1]
                for o in range(n):
                    total += out[n + k * n + o] * before[j, o]
                if j < p and wrt[j] >= 0:
                    total += out[at_t + n + k * nrho + wrt[j]]
                rhs[j, i * d + k] = total
            total = out[at_t + k] * c
            for o in range(n):
                total += out[n + k * n + o] * stage[o]
            rhs[p + 1, i * d + k] = total
    for i in range(s if m > 0 and p > 0 else 0):
        c = tableau[3 * s + 1, i]
        place(table, shape, inp, out, switch, tableau, t + h * c, x, h, s + i, K)
        call(table[SWITCH, 0], table[SWITCH, 1], switch, inp)
        mean(shape, tableau, s + i, K, stage)
        for a in range(m):
            g = zeros[a]
            slope = switch[nc + nc * n + g]
            for j in range(p + 1):
                total = slope * before[j, n + 1]
                for o in range(n):
                    total += switch[nc + g * n + o] * before[j, o]
                if j < p and wrt[j] >= 0:
                    total += switch[nc * (n + 2) + g * nrho + wrt[j]]
                rhs[j, i * d + n + a] = -total / h
            total = slope * c
            for o in range(n):
                total += switch[nc + g * n + o] * stage[o]
            rhs[p + 1, i * d + n + a] = -total / h
    for j in range(columns):
        lu_solve(M, s * d, s * d - 1, s * d - 1, pivots, rhs[j])
        for k in range(n):
            total = 0.0
            speed = 0.0
            for i in range(s):
                total += tableau[3 * s + 2, i] * rhs[j, i * d + k]
                speed += tableau[3 * s + 2, i] * K[i, k]
            if j <= p:
                behind[j, k] = before[j, k] + h * total
            else:
                own[k] = h * total + speed
    for j in range(p + 1):
        behind[j, n] = before[j, n]
        behind[j, n + 1] = before[j, n + 1]
    own[n] = 0.0
    own[n + 1] = 1.0
    if len(table) == COST:
        return 0.0
    spent = 0.0
    for i in range(s):
        c = tableau[3 * s, i]
        b = tableau[3 * s + 2, i]
        place(table, shape, inp, out, switch, tableau, t + h * c, x, h, i, K)
        for k in range(nsel):
            inp[1 + n + k] = sel[i, k]
        call(table[COST, 0], table[COST, 1], out, inp)
        spent += h * b * out[0]
        for j in range(columns):
            mean(shape, tableau, i, K, stage)
            for k in range(n):
                total = before[j, k] if j <= p else stage[k]
                for q in range(s):
                    total += h * tableau[i, q] * rhs[j, q * d + k]
                stage[k] = total
            for k in range(nsel):
                total = 0.0
                for a in range(m):
                    total += B[k, a] * rhs[j, i * d + n + a]
                stage[n + k] = total
            total = out[1] * (before[j, n + 1] if j <= p else c)
            for k in range(n + nsel):
                total += out[2 + k] * stage[k]
            if j < p and wrt[j] >= 0:
                total += out[2 + n + nsel + wrt[j]]
            if j <= p:
                behind[j, n] += h * b * total
            else:
                own[n] += h * b * total + b * out[0]
    return spent


@kernel(takes(Workspace, Asked, Record, Table, Table, int, Stack, Matrix, Vector, returns=int))
def differentiate(ws, asked, record, places, switches, elements, moved, own, cost):
    """Set the total derivatives `moved` (n_e + 1, p + 1, n + 2) and `cost` (n_e + 1) of a record.

    ``moved[0]`` is given. `own` (n_e, n + 2): derivatives of each end by its own length. Returns
    SUCCESS, or NO_ACTIVE_SET where an element's equations determine no derivative.
    """
    wrt, rhs = asked.wrt, asked.rhs
    table, shape, inp, switch = ws.model.table, ws.model.shape, ws.model.inp, ws.model.switch
    tableau = ws.model.tableau
    sign, zeros, base, B = ws.mode.sign, ws.mode.zeros, ws.mode.base, ws.mode.B
    K, W = ws.stages.K, ws.stages.W
    work = ws.solver.work
    states, slopes, mult, times = record.states, record.slopes, record.mult, record.times
    n = shape[N]
    nc = shape[NC]
    s = shape[S]
    p = len(wrt)
    first = 0  # of the elements that this phase has in this interval
    begun = 0  # of the interval
    last = -1
    switched = False
    uneven = False
    for e in range(len(times)):
        phase = places[e, 1]
        if e > last:
            begun = e if e == 0 or places[e, 0] != places[e - 1, 0] else begun
            first = e
            last = e
            while (
                last + 1 < len(times)
                and places[last + 1, 0] == places[e, 0]
                and places[last + 1, 1] == phase
            ):
                last += 1
            switched = phase + 1 < len(switches) and switches[phase + 1, 0] == last + 1
            uneven = switched and abs(times[last, 1] - times[e, 1]) > UNEVEN * times[e, 1]
            for k in range(n + 2):
                moved[e, p, k] = 0.0
        load(sign, zeros, base, B, shape, K, W, slopes, mult, e, switches[phase])
        work[H] = times[e, 1]
        spent = tangent(ws, asked, times[e, 0], states[e], moved[e], moved[e + 1], own[e])
        if not abs(spent) < float("inf"):
            return NO_ACTIVE_SET
        cost[e + 1] = cost[e] + spent
        parts = last - first + 1
        if uneven:
            parts = max(elements - (first - begun), 1)
        cut = switched and (e == last or not uneven)
        for j in range(p + 1):
            by = 0.0
            if j == p:
                by = 1.0 if cut else 0.0
            elif not cut:
                by = -moved[first, j, n + 1] / parts
            for k in range(n + 2):
                moved[e + 1, j, k] += by * own[e, k]
            for k in range(s * (n + zeros[nc])):
                rhs[j, k] += by * rhs[p + 1, k]
        if e < last or not switched:
            continue
        kind = switches[phase + 1, 1]
        which = switches[phase + 1, 2]
        slope = 0.0
        if kind == SURFACE:
            inp[0] = times[e, 0] + times[e, 1]
            for k in range(n):
                inp[1 + k] = states[e + 1, k]
            call(table[SWITCH, 0], table[SWITCH, 1], switch, inp)
        for j in range(p, -1, -1):  # the derivative by the common length comes first
            total = 0.0
            if kind == SURFACE:
                total = switch[nc + nc * n + which] * moved[e + 1, j, n + 1]
                for k in range(n):
                    total += switch[nc + which * n + k] * moved[e + 1, j, k]
                if j < p and wrt[j] >= 0:
                    total += switch[nc * (n + 2) + which * shape[NRHO] + wrt[j]]
            else:
                for a in range(zeros[nc]):
                    for i in range(s):
                        step = rhs[j, i * (n + zeros[nc]) + n + a]
                        total += tableau[3 * s + 3, i] * B[which, a] * step
            if j == p:
                slope = total
                continue
            by = -total / slope
            for q in range(first + 1, e + 2):
                for k in range(n + 2):
                    moved[q, j, k] += by * moved[q, p, k]
    return SUCCESS


@kernel(
    takes(Workspace, Asked, Record, Table, Table, Stack, Vector, Vector, Integers, Stack, Vector)
)
def tangents(ws, asked, record, places, switches, moved, cost, t, which, S_, z):
    """Set derivatives ``S_`` (k, n + 1, p) of (x, z) and z (k,) at times t inside the elements.

    As `within` does: each by an element of its own that ends there. NaN where it has no solution.
    """
    wrt, stage, behind, own = asked.wrt, asked.stage, asked.behind, asked.own
    shape = ws.model.shape
    sign, zeros, base, B = ws.mode.sign, ws.mode.zeros, ws.mode.base, ws.mode.B
    K, W = ws.stages.K, ws.stages.W
    work = ws.solver.work
    states, slopes, mult, times = record.states, record.slopes, record.mult, record.times
    n = shape[N]
    p = len(wrt)
    for i in range(len(t)):
        e = which[i]
        h = t[i] - times[e, 0]
        z[i] = cost[e]
        for k in range(n + 1):
            for j in range(p):
                S_[i, k, j] = moved[e, j, k]
        if not h > 0.0:
            continue
        load(sign, zeros, base, B, shape, K, W, slopes, mult, e, switches[places[e, 1]])
        work[H] = min(h, times[e, 1])
        work[FACTORED] = 0.0
        status = SUCCESS
        if h < times[e, 1]:
            status = element(
                Element(ws.model, ws.mode, ws.stages, ws.solver),
                times[e, 0],
                states[e],
                stage,
                0,
                0,
                0.0,
            )
        spent = float("nan")
        if status == SUCCESS:
            spent = tangent(ws, asked, times[e, 0], states[e], moved[e], behind, own)
        z[i] += spent
        for k in range(n + 1):
            for j in range(p):
                S_[i, k, j] = behind[j, k] - own[k] * moved[e, j, n + 1]
                if status != SUCCESS:
                    S_[i, k, j] = float("nan")
