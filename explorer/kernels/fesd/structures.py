"""What the kernels of FESD work on: a system, a method, an active set, an element, a record.

Each structure is written once, with the shapes of its arrays: n_x states, n_c switching functions,
n_sel multipliers, s stages, n_e elements, n_p phases.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numba import from_dtype

from explorer.kernels.model.held_inputs import Drive
from explorer.kernels.sliding.multiaffine import Bench, bench
from explorer.kernels.structures import Integers, Matrix, Table, Vector

__all__ = [
    "ACTIVE",
    "COARSE",
    "ENDING",
    "FOLD",
    "MARCH",
    "MULTIPLIER",
    "NEWTON",
    "SUBSYSTEM",
    "SURFACE",
    "SWITCH",
    "TALLY",
    "Element",
    "Ending",
    "Kept",
    "Mode",
    "Native",
    "Options",
    "Pattern",
    "Phases",
    "Problem",
    "Record",
    "Solver",
    "Stages",
    "Start",
    "Tableau",
    "Tally",
    "Workspace",
    "phases",
    "workspace",
]

# what an active set ends at: a switching function is zero, a multiplier is at its bound, two
# solutions of dc/dt = 0 meet; 0: at nothing
SURFACE, MULTIPLIER, FOLD = 1, 2, 3
COARSE = 3  # a multiplier leaves [0, 1] at the very start: the element is too long for its set

SUBSYSTEM = np.dtype(
    [
        ("first", np.int64),  # of its switching functions
        ("count", np.int64),  # of them
        ("cells", np.int64),  # where the regions of its cells begin in `Problem.cells`
        ("regions", np.int64),  # first of the multipliers of its regions
    ]
)
ACTIVE = np.dtype(
    [
        ("sliding", np.int64),  # how many surfaces are slid on
        ("choice", np.int64),  # which of several multipliers: of regions, or of a root
    ]
)
NEWTON = np.dtype(
    [
        ("h", float),  # length of the element in s
        ("residual", float),  # of the last iterate, beside its terms
        ("evaluations", np.int64),  # of f
        ("cap", np.int64),  # iterations
        ("factored", float),  # length that the matrix is factored for, 0: none
    ]
)
ENDING = np.dtype(
    [
        ("kind", np.int64),  # SURFACE, MULTIPLIER, FOLD; 0: the element has the length asked for
        ("which", np.int64),  # switching function or multiplier
        ("bound", float),  # of the multiplier; of a surface 1 where the element also starts on it
        ("fraction", float),  # of the element, at which it is reached
    ]
)
SWITCH = np.dtype(
    [
        ("element", np.int64),  # the first of the phase
        ("kind", np.int64),  # what has ended the phase before: see `ENDING`
        ("which", np.int64),
        ("consistent", np.int64),  # how many active sets may follow
        ("zeros", np.int64),  # how many switching functions are zero
        ("choice", np.int64),  # see `ACTIVE`
    ]
)
TALLY = np.dtype(
    [
        ("made", np.int64),  # elements of the last phase
        ("elements", np.int64),
        ("phases", np.int64),
        ("intervals", np.int64),
        ("needed", np.int64),  # elements that an interval would need for its switches
        ("uneven", np.int64),  # phases whose elements could not be made equal
        ("consistent", np.int64),  # the most active sets that might follow a switch
        ("halvings", np.int64),  # of the lengths in the last phase
        ("reached", float),  # time in s, of an accumulation its own
    ]
)
MARCH = np.dtype(
    [
        ("t", float),
        ("count", np.int64),  # elements
        ("phases", np.int64),
        ("kind", np.int64),  # what has ended the last phase: see `ENDING`
        ("which", np.int64),
        ("slope", float),  # of a multiplier that is at its bound, 1/s
        ("due", np.int64),  # whether an active set has to be chosen
        ("other", np.int64),  # whether the one that was chosen at first cannot go on
        ("again", np.int64),  # whether the last phase is solved again, by shorter elements
        ("several", np.int64),  # moments with several continuations
        ("short", np.int64),  # phases of no length in a row
        ("wanted", np.int64),  # elements that this interval needs for its switches
        ("begin", np.int64),  # first element of the interval
        ("back", np.int64),  # first element of the phase before, if it is of this interval, or -1
        ("halvings", np.int64),  # of its lengths
    ]
)
Subsystems = Annotated[np.ndarray, from_dtype(SUBSYSTEM)[::1]]
Active = Annotated[np.ndarray, from_dtype(ACTIVE)[::1]]
Newton = Annotated[np.ndarray, from_dtype(NEWTON)[::1]]
Ending = Annotated[np.ndarray, from_dtype(ENDING)[::1]]
Switches = Annotated[np.ndarray, from_dtype(SWITCH)[::1]]
Tally = Annotated[np.ndarray, from_dtype(TALLY)[::1]]
March = Annotated[np.ndarray, from_dtype(MARCH)[::1]]


class Native(NamedTuple):
    """A native function: see `explorer.kernels.jit.call`."""

    address: int
    data: int


class Problem(NamedTuple):
    """A system with step functions."""

    flow: Native  # f, f_x, f_multipliers, f_t; for derivatives f_rho behind
    switching: Native  # c, c_x, c_t; for derivatives c_rho behind
    cost: Native  # g, g_t, g_x, g_multipliers, g_rho; address 0: no cost
    n_x: int
    n_c: int
    n_sel: int
    n_rho: int
    affine: int  # whether f is affine in each multiplier
    subsystems: Subsystems  # of Stewart's form; none in the step form
    cells: Integers  # region of each cell, -1: none; bit j of a cell: c_j > 0
    inp: Vector  # t, x, multipliers, rho
    out: Vector  # what f, or the cost, has written
    c: Vector  # what c has written
    drive: Drive  # where inputs change


class Tableau(NamedTuple):
    """A collocation method: `explorer.kernels.fesd.collocation`."""

    A: Matrix  # (s, s) of the stages
    at: Matrix  # (s, s) weights of the points where constraints hold
    ahead: Matrix  # (s, s) the slopes' polynomial at the stages of the next element
    c: Vector  # (s,) times of the stages
    where: Vector  # (s,) times of the constraints
    b: Vector  # (s,) weights of the end
    end: Vector  # (s,) the stages' polynomial at the end


class Mode(NamedTuple):
    """An active set: the multipliers are base + B w."""

    sign: Integers  # (n_c,) of each switching function, 0: slid on
    zeros: Integers  # (n_c,) what is slid on
    base: Vector  # (n_sel,)
    B: Matrix  # (n_sel, n_c)
    active: Active  # (1,)


class Stages(NamedTuple):
    """The unknowns of an element."""

    K: Matrix  # (s, n_x) slopes
    W: Matrix  # (s, n_c) w
    C: Matrix  # (s, n_c) switching functions where constraints hold
    sel: Matrix  # (s, n_sel) multipliers


class Solver(NamedTuple):
    """Newton's method; size = s (n_x + n_c) + 1."""

    M: Matrix  # (size, size) matrix, or its factors
    pivots: Integers  # (size,)
    rhs: Vector  # (size,) right-hand side, then the step
    scale: Vector  # (size,) inverse sizes of the terms of each equation
    steep: Vector  # (size,) sums of the slopes of f by x
    newton: Newton  # (1,)


class Element(NamedTuple):
    """What one element needs."""

    problem: Problem
    tableau: Tableau
    mode: Mode
    stages: Stages
    solver: Solver


class Start(NamedTuple):
    """What a phase begins with, and then each of its elements."""

    c: Vector  # (n_c,) switching functions
    tolerance: Vector  # (n_c,) what c may be beyond zero
    multipliers: Vector  # (n_sel,)
    w: Vector  # (n_c,) guess of w
    rate: Vector  # (n_x,) x'


class Kept(NamedTuple):
    """What is put aside."""

    K: Matrix  # (s, n_x)
    W: Matrix  # (s, n_c)
    c: Vector  # (n_c,) c at the start of a phase
    multipliers: Vector  # (n_sel,) multipliers there
    before: Start  # that of the phase before


class Pattern(NamedTuple):
    """An active set that is looked at: whether it is consistent."""

    near: Integers  # (n_c,) the functions that are zero
    before: Integers  # (n_c,) the signs that they had
    multipliers: Vector  # (n_sel,)
    margins: Vector  # (2 n_sel + n_c,) what has to be >= 0
    later: Vector  # (2 n_sel + n_c,) the same a while ahead
    x: Vector  # (n_x,) the state there
    first: Vector  # (n_x,) x' of the first consistent pattern
    last: Vector  # (n_x,) x' of the last one
    bench: Bench


class Workspace(NamedTuple):
    """All of it."""

    element: Element
    start: Start
    kept: Kept
    pattern: Pattern
    ending: Ending  # (1,) what ends the last element
    end: Vector  # (n_sel,) multipliers at the end of the last phase
    nodes: Vector  # (s + 2,) for work
    differences: Vector  # (s + 2,) for work
    x: Vector  # (n_x,) a state for work
    total: Vector  # (n_x,) for work
    march: March  # (1,)


class Options(NamedTuple):
    """The numbers of a march."""

    ends: Vector  # (intervals,) s, of the intervals
    h: float  # their usual length, s
    elements: int  # of an interval
    split: int  # whether an interval gets more of them where there are more switches
    rule: int  # 1 prefers positive signs, -1 negative ones, 0 slides
    picks: Integers  # (k,) what is picked instead where several continuations are; -1: nothing
    jumps: int  # whether switching functions jump with the inputs


class Record(NamedTuple):
    """The elements of a run."""

    states: Matrix  # (n_e + 1, n_x) x at their ends
    slopes: Matrix  # (n_e, s n_x)
    mult: Matrix  # (n_e, s n_sel)
    begin: Vector  # (n_e,) start in s
    length: Vector  # (n_e,) in s
    interval: Integers  # (n_e,)
    phase: Integers  # (n_e,)


class Phases(NamedTuple):
    """What begins each phase of a run, the first at t = 0."""

    switches: Switches  # (n_p,)
    signs: Table  # (n_p, n_c) of the switching functions behind it, 0: slid on
    t: Vector  # (n_p,) s
    slope: Vector  # (n_p,) dc/dt or d multiplier/dt before it, 1/s
    x: Matrix  # (n_p, n_x)
    before: Matrix  # (n_p, n_x) x' before it
    behind: Matrix  # (n_p, n_x) x' behind it
    multipliers: Matrix  # (n_p, n_sel) behind it


def phases(count: int, n_x: int, n_c: int, n_sel: int) -> Phases:
    """Return room for so many phases."""
    return Phases(
        switches=np.zeros(count, SWITCH),
        signs=np.zeros((count, n_c), np.int64),
        t=np.zeros(count),
        slope=np.zeros(count),
        x=np.zeros((count, n_x)),
        before=np.zeros((count, n_x)),
        behind=np.zeros((count, n_x)),
        multipliers=np.zeros((count, n_sel)),
    )


def _start(n: int, nc: int, nsel: int) -> Start:
    return Start(
        c=np.zeros(nc),
        tolerance=np.zeros(nc),
        multipliers=np.zeros(nsel),
        w=np.zeros(nc),
        rate=np.zeros(n),
    )


def _solver(size: int, newton_max: int) -> Solver:
    newton = np.zeros(1, NEWTON)
    newton["cap"] = newton_max
    return Solver(
        M=np.empty((size, size)),
        pivots=np.empty(size, np.int64),
        rhs=np.empty(size),
        scale=np.empty(size),
        steep=np.empty(size),
        newton=newton,
    )


def workspace(problem: Problem, tableau: Tableau, newton_max: int) -> Workspace:
    """Return the memory of a march; `newton_max`: iterations of Newton's method."""
    n, nc, nsel, s = problem.n_x, problem.n_c, problem.n_sel, len(tableau.b)
    mode = Mode(
        sign=np.zeros(nc, np.int64),
        zeros=np.zeros(nc, np.int64),
        base=np.empty(nsel),
        B=np.empty((nsel, nc)),
        active=np.zeros(1, ACTIVE),
    )
    stages = Stages(
        K=np.empty((s, n)), W=np.empty((s, nc)), C=np.empty((s, nc)), sel=np.empty((s, nsel))
    )
    kept = Kept(
        K=np.empty((s, n)),
        W=np.empty((s, nc)),
        c=np.zeros(nc),
        multipliers=np.zeros(nsel),
        before=_start(n, nc, nsel),
    )
    pattern = Pattern(
        near=np.zeros(nc, np.int64),
        before=np.zeros(nc, np.int64),
        multipliers=np.zeros(nsel),
        margins=np.zeros(2 * nsel + nc),
        later=np.zeros(2 * nsel + nc),
        x=np.zeros(n),
        first=np.zeros(n),
        last=np.zeros(n),
        bench=bench(nc),
    )
    solver = _solver(s * (n + nc) + 1, newton_max)
    return Workspace(
        element=Element(problem, tableau, mode, stages, solver),
        start=_start(n, nc, nsel),
        kept=kept,
        pattern=pattern,
        ending=np.zeros(1, ENDING),
        end=np.zeros(nsel),
        nodes=np.zeros(s + 2),
        differences=np.zeros(s + 2),
        x=np.zeros(n),
        total=np.zeros(n),
        march=np.zeros(1, MARCH),
    )
