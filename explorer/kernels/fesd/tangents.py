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

import numpy as np

from explorer.codes import NO_ACTIVE_SET, SUCCESS
from explorer.kernels.fesd.element import element, factor, flow, multipliers, place, switching
from explorer.kernels.fesd.recorded import last_of, load
from explorer.kernels.fesd.structures import SURFACE, Element, Phases, Problem, Record, Workspace
from explorer.kernels.jit import call, kernel
from explorer.kernels.linear_algebra.dense_lu import lu_solve
from explorer.kernels.structures import Integers, Matrix, Stack, Table, Vector

__all__ = ["Asked", "Derivatives", "asked", "differentiate", "tangents"]

UNEVEN = 1e-6  # beside their length: elements of a phase that differ by more were not made equal


class Asked(NamedTuple):
    """What is differentiated by, and memory for it; p parameters."""

    wrt: Integers  # (p,) places of the parameters, -1: none, or a start value
    active: Table  # (intervals of inputs, p) the same in each
    rhs: Matrix  # (p + 2, s (n_x + n_c)) right-hand sides, then d(K, w); the last by the length
    stage: Vector  # (n_x + n_sel,) d X and d multipliers of a stage
    behind: Matrix  # (p + 1, n_x + 2) derivatives behind an element, as `before`
    own: Vector  # (n_x + 2,) that of its end by its own length


class Derivatives(NamedTuple):
    """Total derivatives of a record."""

    moved: Stack  # (n_e + 1, p + 1, n_x + 2) of (x, z, t) at the ends of elements; row 0 is given
    own: Matrix  # (n_e, n_x + 2) of each end by its own length
    cost: Vector  # (n_e + 1,) z


def asked(el: Element, active: np.ndarray) -> Asked:
    """Return the memory for derivatives; `active` are the parameters in each interval of inputs."""
    n, p, s = el.problem.n_x, active.shape[1], len(el.tableau.b)
    return Asked(
        wrt=active[0].copy(),
        active=active,
        rhs=np.empty((p + 2, s * (n + el.problem.n_c))),
        stage=np.empty(n + el.problem.n_sel),
        behind=np.empty((p + 1, n + 2)),
        own=np.empty(n + 2),
    )


@kernel(inline=True)
def take(ws: Workspace, asked: Asked) -> None:
    """Let columns be those of the present interval of the inputs."""
    k = ws.element.problem.drive.now[0]
    for j in range(len(asked.wrt)):
        asked.wrt[j] = asked.active[k, j]


@kernel(inline=True)
def mean(problem: Problem, weights: Vector, K: Matrix, stage: Vector) -> None:
    """Set the head of `stage` to d(X - x)/dh of the point with these weights."""
    for k in range(problem.n_x):
        total = 0.0
        for q in range(K.shape[0]):
            total += weights[q] * K[q, k]
        stage[k] = total


@kernel(inline=True)
def at_stage(ws: Workspace, t: float, x: Vector, i: int) -> None:
    """Set the input to stage `i` of the element."""
    el = ws.element
    h = el.solver.newton[0].h
    place(el.problem, el.tableau.A[i], t + h * el.tableau.c[i], x, h, el.stages.K)
    for k in range(el.problem.n_sel):
        el.problem.inp[1 + el.problem.n_x + k] = el.stages.sel[i, k]


@kernel(inline=True)
def of_stages(ws: Workspace, asked: Asked, t: float, x: Vector, before: Matrix) -> None:
    """Set the right-hand sides of the stages: f_x dx + f_t dt + f_rho drho, and that by h."""
    problem, tableau, out = ws.element.problem, ws.element.tableau, ws.element.problem.out
    wrt, rhs, stage, K = asked.wrt, asked.rhs, asked.stage, ws.element.stages.K
    n, nrho, p = problem.n_x, problem.n_rho, len(asked.wrt)
    d = n + ws.element.mode.active[0].sliding
    at_t = n + n * n + n * problem.n_sel
    for i in range(K.shape[0]):
        c = tableau.c[i]
        at_stage(ws, t, x, i)
        flow(problem)
        mean(problem, tableau.A[i], K, stage)
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


@kernel(inline=True)
def of_surfaces(ws: Workspace, asked: Asked, t: float, x: Vector, before: Matrix) -> None:
    """Set the right-hand sides of the constraints: -(c_x dx + c_t dt + c_rho drho) / h."""
    problem, tableau, mode, _, _ = ws.element
    c = problem.c
    wrt, rhs, stage, K = asked.wrt, asked.rhs, asked.stage, ws.element.stages.K
    n, nc, nrho, p = problem.n_x, problem.n_c, problem.n_rho, len(asked.wrt)
    m = mode.active[0].sliding
    d = n + m
    h = ws.element.solver.newton[0].h
    for i in range(K.shape[0]):
        time = tableau.where[i]
        place(problem, tableau.at[i], t + h * time, x, h, K)
        switching(problem)
        mean(problem, tableau.at[i], K, stage)
        for a in range(m):
            g = mode.zeros[a]
            slope = c[nc + nc * n + g]
            for j in range(p + 1):
                total = slope * before[j, n + 1]
                for o in range(n):
                    total += c[nc + g * n + o] * before[j, o]
                if j < p and wrt[j] >= 0:
                    total += c[nc * (n + 2) + g * nrho + wrt[j]]
                rhs[j, i * d + n + a] = -total / h
            total = slope * time
            for o in range(n):
                total += c[nc + g * n + o] * stage[o]
            rhs[p + 1, i * d + n + a] = -total / h


@kernel(inline=True)
def ends(ws: Workspace, asked: Asked, before: Matrix, behind: Matrix, own: Vector) -> None:
    """Solve for d(K, w) in all columns; set dx at the end, ``dx + h sum b_i dK_i``."""
    solver, b, K, rhs = ws.element.solver, ws.element.tableau.b, ws.element.stages.K, asked.rhs
    n, s, p = ws.element.problem.n_x, K.shape[0], len(asked.wrt)
    d = n + ws.element.mode.active[0].sliding
    h = solver.newton[0].h
    for j in range(p + 2):
        lu_solve(solver.M, s * d, s * d - 1, s * d - 1, solver.pivots, rhs[j])
        for k in range(n):
            total = 0.0
            speed = 0.0
            for i in range(s):
                total += b[i] * rhs[j, i * d + k]
                speed += b[i] * K[i, k]
            if j <= p:
                behind[j, k] = before[j, k] + h * total
            else:
                own[k] = h * total + speed


@kernel(inline=True)
def moves(ws: Workspace, asked: Asked, before: Matrix, i: int, j: int) -> None:
    """Set ``asked.stage`` to the derivatives of X_i and its multipliers in column `j`."""
    problem, tableau, mode, stages, _ = ws.element
    A, K = tableau.A, stages.K
    rhs, stage = asked.rhs, asked.stage
    n, p, m = problem.n_x, len(asked.wrt), mode.active[0].sliding
    d = n + m
    mean(problem, A[i], K, stage)
    for k in range(n):
        total = before[j, k] if j <= p else stage[k]
        for q in range(K.shape[0]):
            total += ws.element.solver.newton[0].h * A[i, q] * rhs[j, q * d + k]
        stage[k] = total
    for k in range(problem.n_sel):
        total = 0.0
        for a in range(m):
            total += mode.B[k, a] * rhs[j, i * d + n + a]
        stage[n + k] = total


@kernel(inline=True)
def spends(
    ws: Workspace, asked: Asked, t: float, x: Vector, before: Matrix, behind: Matrix, own: Vector
) -> float:
    """Return the cost along an element, h sum b_i g_i, and add its derivatives."""
    problem, tableau = ws.element.problem, ws.element.tableau
    out, wrt, stage = problem.out, asked.wrt, asked.stage
    n, nsel, p = problem.n_x, problem.n_sel, len(asked.wrt)
    h = ws.element.solver.newton[0].h
    spent = 0.0
    for i in range(len(tableau.b)):
        b = tableau.b[i]
        at_stage(ws, t, x, i)
        call(problem.cost.address, problem.cost.data, out, problem.inp)
        spent += h * b * out[0]
        for j in range(p + 2 if p > 0 else 0):
            moves(ws, asked, before, i, j)
            total = out[1] * (before[j, n + 1] if j <= p else tableau.c[i])
            for k in range(n + nsel):
                total += out[2 + k] * stage[k]
            if j < p and wrt[j] >= 0:
                total += out[2 + n + nsel + wrt[j]]
            if j <= p:
                behind[j, n] += h * b * total
            else:
                own[n] += h * b * total + b * out[0]
    return spent


@kernel(inner=True)
def tangent(
    ws: Workspace, asked: Asked, t: float, x: Vector, before: Matrix, behind: Matrix, own: Vector
) -> float:
    """Carry total derivatives (p + 1, n + 2) of (x, z, t) through an element whose length stays.

    `own` (n + 2,) is the derivative of its end by its length. Returns the cost along it, NaN if
    Newton's matrix is singular. K, W and ``newton[0].h`` hold the element. Without parameters there
    is the cost alone.
    """
    el, n, p = ws.element, ws.element.problem.n_x, len(asked.wrt)
    for i in range(el.stages.K.shape[0]):
        multipliers(el.mode, el.stages.W[i], el.stages.sel[i])
    if p > 0:
        if factor(el, t, x, 0, 0, 0.0) != 0:
            return float("nan")
        of_stages(ws, asked, t, x, before)
        if el.mode.active[0].sliding > 0:
            of_surfaces(ws, asked, t, x, before)
        ends(ws, asked, before, behind, own)
    for j in range(p + 1):
        behind[j, n] = before[j, n]
        behind[j, n + 1] = before[j, n + 1]
    own[n] = 0.0
    own[n + 1] = 1.0
    if el.problem.cost.address == 0:
        return 0.0
    return spends(ws, asked, t, x, before, behind, own)


@kernel(inline=True)
def stays_a_switch(
    ws: Workspace, asked: Asked, record: Record, phases: Phases, moved: Stack, first: int, e: int
) -> None:
    """Move all ends of a phase such that the switch at the end of its last element `e` stays one.

    0 = c_x dx + c_t dt + c_rho drho, or 0 = d(base + B w_end)_k: each column less its share of the
    column by the common length.
    """
    problem, tableau, mode, _, _ = ws.element
    c = problem.c
    wrt, rhs = asked.wrt, asked.rhs
    n, nc, s, p = problem.n_x, problem.n_c, len(tableau.end), len(asked.wrt)
    m = mode.active[0].sliding
    switch = phases.switches[record.phase[e] + 1]
    which = switch.which
    slope = 0.0
    if switch.kind == SURFACE:
        problem.inp[0] = record.begin[e] + record.length[e]
        for k in range(n):
            problem.inp[1 + k] = record.states[e + 1, k]
        switching(problem)
    for j in range(p, -1, -1):  # the derivative by the common length comes first
        total = 0.0
        if switch.kind == SURFACE:
            total = c[nc + nc * n + which] * moved[e + 1, j, n + 1]
            for k in range(n):
                total += c[nc + which * n + k] * moved[e + 1, j, k]
            if j < p and wrt[j] >= 0:
                total += c[nc * (n + 2) + which * problem.n_rho + wrt[j]]
        else:
            for a in range(m):
                for i in range(s):
                    step = rhs[j, i * (n + m) + n + a]
                    total += tableau.end[i] * mode.B[which, a] * step
        if j == p:
            slope = total
            continue
        by = -total / slope
        for q in range(first + 1, e + 2):
            for k in range(n + 2):
                moved[q, j, k] += by * moved[q, p, k]


@kernel()
def differentiate(
    ws: Workspace, asked: Asked, record: Record, phases: Phases, elements: int, to: Derivatives
) -> int:
    """Set the total derivatives of a record; `elements`: of an interval.

    Returns SUCCESS, or NO_ACTIVE_SET where an element's equations determine no derivative.
    """
    rhs, moved, own = asked.rhs, to.moved, to.own
    begin, length = record.begin, record.length
    n, s, p = ws.element.problem.n_x, ws.element.stages.K.shape[0], len(asked.wrt)
    first = 0  # of the elements that this phase has in this interval
    begun = 0  # of the interval
    last = -1
    switched = False
    uneven = False
    for e in range(len(begin)):
        phase = record.phase[e]
        if e > last:
            begun = e if e == 0 or record.interval[e] != record.interval[e - 1] else begun
            first = e
            last = last_of(record, e)
            switched = (
                phase + 1 < len(phases.switches)
                and phases.switches[phase + 1].element == last + 1
                and phases.switches[phase + 1].kind != 0  # inputs have changed
            )
            uneven = switched and abs(length[last] - length[e]) > UNEVEN * length[e]
            for k in range(n + 2):
                moved[e, p, k] = 0.0
        load(ws.element, record, phases, e, length[e])
        take(ws, asked)
        spent = tangent(ws, asked, begin[e], record.states[e], moved[e], moved[e + 1], own[e])
        if not abs(spent) < float("inf"):
            return NO_ACTIVE_SET
        to.cost[e + 1] = to.cost[e] + spent
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
            for k in range(s * (n + ws.element.mode.active[0].sliding)):
                rhs[j, k] += by * rhs[p + 1, k]
        if e == last and switched:
            stays_a_switch(ws, asked, record, phases, moved, first, e)
    return SUCCESS


@kernel()
def tangents(
    ws: Workspace,
    asked: Asked,
    record: Record,
    phases: Phases,
    known: Derivatives,
    t: Vector,
    which: Integers,
    S: Stack,
    z: Vector,
) -> None:
    """Set derivatives ``S`` (k, n + 1, p) of (x, z) and z (k,) at times t inside the elements.

    As `within` does: each by an element of its own that ends there. NaN where it has no solution.
    """
    stage, behind, own = asked.stage, asked.behind, asked.own
    n, p = ws.element.problem.n_x, len(asked.wrt)
    for i in range(len(t)):
        e = which[i]
        begin = record.begin[e]
        before = known.moved[e]
        h = t[i] - begin
        z[i] = known.cost[e]
        for k in range(n + 1):
            for j in range(p):
                S[i, k, j] = before[j, k]
        if not h > 0.0:
            continue
        load(ws.element, record, phases, e, min(h, record.length[e]))
        take(ws, asked)
        status = SUCCESS
        if h < record.length[e]:
            status = element(ws.element, begin, record.states[e], stage, 0, 0, 0.0)
        spent = float("nan")
        if status == SUCCESS:
            spent = tangent(ws, asked, begin, record.states[e], before, behind, own)
        z[i] += spent
        for k in range(n + 1):
            for j in range(p):
                S[i, k, j] = behind[j, k] - own[k] * before[j, n + 1]
                if status != SUCCESS:
                    S[i, k, j] = float("nan")
