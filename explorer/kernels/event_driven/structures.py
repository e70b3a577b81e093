"""What the event-driven kernels work on, as named tuples and records.

`Problem` is x' = f(t, x, rho) of the present mode with its workspaces, `Automaton` its guards,
`Surfaces` where its formulas turn, `Method` a method of integration, `Contacts` the contact problem
of an event, `Options` what the user sets, `Workspace` what a march works on, `Record` what it
writes. Their memory is made by `explorer.runs.event_driven.workspace`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from explorer.kernels.complementarity.structures import LcpWorkspace
from explorer.kernels.event_driven.records import (
    NEWMARK,
    RADAU,
    BranchRows,
    ChangeRows,
    CoefficientRow,
    EventRows,
    FoundRow,
    FunctionRows,
    GuardRows,
    HeldRows,
    LastRows,
    LinkRows,
    PriorRows,
    ProgressRow,
    RankRow,
    SideRows,
    StateRow,
    SurfaceRows,
    WatchRows,
)
from explorer.kernels.model.held_inputs import Drive
from explorer.kernels.structures import Integers, Matrix, Table, Vector


class Functions(NamedTuple):
    """Native functions; the fields after the table are rows of it."""

    table: FunctionRows  # of an automaton: f of each mode first
    tlm: int  # f and its derivatives, of the first mode
    guard: int  # guards of the first mode
    guard_tlm: int  # derivatives of the first guard
    reset: int  # of the first guard
    cost: int  # running cost and its derivatives, -1: none
    eliminated: int  # the motion with all constraints held, solved by formulas, -1: none


class Sizes(NamedTuple):
    """How many there are, and where the parts of `inp` begin."""

    mechanical: bool
    n_x: int  # states
    n: int  # coordinates, 0: not mechanical
    n_c: int  # contacts
    n_t: int  # tangents of contacts with friction
    n_rho: int  # parameters
    rows: int  # normals of all contacts, then tangents, then constraints
    rates: int  # place of x' in `inp`
    lam: int  # of the forces of all rows
    e: int  # of the restitutions
    sigma: int  # of the signs of sliding
    penalty: int  # of 2 xi omega, omega^2, 1 / alpha of the penalty formulation; 1 in others
    n_w: int  # changes of constraints


class Saddle(NamedTuple):
    """[[M, G'], [G, 0]] over the rows held, and its right sides; order = n + rows."""

    W: Matrix  # (order, order) the matrix, or its factors
    pivots: Integers  # (order,)
    solution: Vector  # (order,) (F, -gamma), then (a, -lam)
    tangent: Vector  # (order,) its derivative along `direction`
    direction: Vector  # (order,) of (q, v)
    forces: Matrix  # (p, rows) derivatives of the forces of all rows by each column


class Problem(NamedTuple):
    """x' = f(t, x, rho) of the present mode; see `explorer.kernels.event_driven.flow`."""

    functions: Functions
    sizes: Sizes
    wrt: Integers  # (p,) the parameter of each sensitivity column, -1: a start value
    partner: Integers  # (rows,) tangent row of a normal (-1: frictionless), contact of a tangent
    # (n_c, 1 + n) function of a law of velocities (-1: none), 1 for each coordinate that it names
    resets: Table
    inp: Vector  # t, x, rho, x', lam, e, sigma, ..., sides: what the functions read
    out: Vector  # what a function has written
    saddle: Saddle
    state: StateRow  # (1,)
    rows: HeldRows  # (rows,)
    sides: SideRows  # (surfaces,)
    changes: ChangeRows  # (n_w,)
    links: LinkRows  # (constraints,)
    drive: Drive  # where inputs change
    active: Table  # (intervals, p) `wrt` in each interval of the inputs, or (0, p)


class Automaton(NamedTuple):
    """The guards of all modes, empty of a mechanical system."""

    first: Integers  # (modes + 1,) the first guard of each mode; last: how many there are
    guards: GuardRows  # (guards,)
    branches: BranchRows
    last: LastRows  # (guards,)
    starts: BranchRows  # the modes that may follow where inputs change, none: the same goes on
    conditions: FunctionRows  # (1,) their conditions


class Surfaces(NamedTuple):
    """The surfaces as guards of an automaton with one mode: outputs u / size, then u."""

    functions: Functions
    sizes: Sizes
    automaton: Automaton
    state: StateRow  # (1,)
    watch: WatchRows  # (surfaces,)
    history: SurfaceRows  # (surfaces,)
    samples: Matrix  # (SAMPLES + 3, surfaces)
    inverse: int  # place in `inp` of 1 / size


class NewmarkNewton(NamedTuple):
    """What Newton's method for a1 works on; order = n + rows, 0 of another method."""

    matrix: Matrix  # (order, order) the Newton matrix, or its factors
    saddle: Matrix  # (order, order) the saddle matrix
    pivots: Integers  # (order,)
    right: Vector  # (order,)
    r: Vector  # (order,) residual in m/s2, then the correction of a1


class RadauNewton(NamedTuple):
    """What the simplified Newton method of Radau IIA works on; n_x = 0 of another method."""

    matrix: Matrix  # (3 n_x, 3 n_x) I - h A x J, or its factors
    error: Matrix  # (n_x, n_x) mu / h I - J, or its factors
    J: Matrix  # (n_x, n_x) f_x
    r: Vector  # (3 n_x,) residual and correction
    pivots: Integers  # (3 n_x,)
    error_pivots: Integers  # (n_x,)


class Method(NamedTuple):
    """A method of integration; see `explorer.kernels.event_driven.butcher`."""

    A: Matrix  # (16, 16) rows of stages, of the end of the step, of the polynomial
    c: Vector  # (16,) times of the rows
    E: Matrix  # (2, 16) weights of the errors
    D: Matrix  # (4, 16) weights of the polynomial
    newmark_newton: NewmarkNewton
    radau_newton: RadauNewton
    newmark: CoefficientRow  # (1,)
    code: int  # DOPRI5, DOP853, RADAU or NEWMARK
    stages: int  # row of A of the end of a step
    last: int  # row of A, the last one for the polynomial
    exponent: float  # the error of a step falls with h to the power of -1 / exponent
    stiff: float  # h times the largest eigenvalue beyond which it is unstable; 0: stiff method
    rtol: float  # tolerances of a step
    atol: float


class NewmarkSlopes(NamedTuple):
    """Slopes (size,) of a step of Newmark's, beside those of both ends as the scheme has them."""

    forces: Vector  # y' of the flow where the forces are taken
    first: Vector  # y' of the flow at the start where forces are interpolated, else 0
    true_start: Vector  # y' of the flow itself at the start
    true_end: Vector  # at the end
    middle: Vector  # and in the middle


class RadauSlopes(NamedTuple):
    """What a step of Radau IIA works on."""

    K: Matrix  # (3, size) slopes of the stages, the last that of the end
    error: Vector  # (size,) error / h
    Z: Matrix  # (3, size) what leads from the start to the stages


class Step(NamedTuple):
    """What a step writes; size = (columns + 1) (n_x + 1)."""

    K: Matrix  # (17, size) slopes of the stages, and what a method keeps behind them
    slope: Vector  # (size,) y' at the start, a row of K as the next ones
    end: Vector  # (size,) y' at the end
    spare: Vector  # (size,) what no method uses
    newmark: NewmarkSlopes  # rows of K
    radau: RadauSlopes  # rows of K
    stage: Vector  # (size,) state of a stage
    new: Vector  # (size,) state at the end
    dense: Matrix  # (8, size) coefficients of the polynomial


class Polynomial(NamedTuple):
    """The polynomial over a step from (t, y) of length h."""

    code: int
    dense: Matrix
    y: Vector
    t: float
    h: float


class Search(NamedTuple):
    """What the search for events works on."""

    x: Vector  # (n_x + 1,) state at which guards are evaluated
    rates: Vector  # (n_x + 1,) its x'
    values: Vector  # (guards,) of the present mode, or of the surfaces
    when: Vector  # (guards,) conditions under which they fire: > 0
    samples: Matrix  # (SAMPLES + 3, guards) at the start of the step, inside it, near both ends
    watch: WatchRows  # (guards,)
    found: FoundRow  # (1,)


class Parts(NamedTuple):
    """Where the parts of an event begin in its row of numbers; block = n_x + 1, p columns."""

    x_minus: int  # (block,) x and the running cost before
    x_plus: int  # (block,) and after
    f_minus: int  # (block,) their rates
    f_plus: int
    r_x: int  # (n_x,) derivatives of the guard
    r_rho: int  # (n_rho,)
    h_t: int  # (n_x,) derivatives of the reset
    h_x: int  # (n_x, n_x)
    h_rho: int  # (n_x, n_rho)
    dtau: int  # (p,) event-time sensitivity, s per unit
    p: int  # (rows,) impulses, N s
    s_minus: int  # (p, block) sensitivities before
    s_plus: int  # (p, block) and after
    size: int  # length of the row


class Event(NamedTuple):
    """One event."""

    head: EventRows  # (1,)
    row: Vector  # (at.size,)
    at: Parts


class Contacts(NamedTuple):
    """The contact problem of an event; its rows are numbered in the order of `act`."""

    e: Vector  # (n_c,) restitutions
    e_rho: Matrix  # (n_c, n_rho) their derivatives
    e_now: Vector  # (n_c,) those that count in this event
    rows: PriorRows  # (rows,)
    D: Matrix  # (m, m) G M^-1 G' of the touching rows
    act: Integers  # touching rows: normals, then their tangents
    place: Integers  # where the tangent of a touching contact stands in `act`, -1: frictionless
    sigma: Integers  # of each touching row: 1, -1 sliding, 0 or FREE: it may stick
    order: Integers  # 0, 1, 2, ..., or the contact of each touching row
    reached: Integers  # 1: an impulse of the contact that fired can reach it
    w: Vector  # right side, m/s or m/s2
    ratio: Vector  # mu of what may stick, sigma mu of what slides
    force: Vector  # N or N s
    B: Matrix  # the problem in standard form
    z: Vector  # its solution
    lcp: LcpWorkspace


class Options(NamedTuple):
    """What a run is asked for."""

    t_end: float  # s
    h: float  # first step, s; 0: one is estimated
    h_max: float  # s
    grid: float  # the steps end at multiples of it, s; 0: where they like
    band: float  # a guard this close to zero has been reached
    rest: float  # impacts that would be over in this time are over, s
    lowest: float  # and so are bounces lower than this, m
    max_steps: int
    max_events: int
    columns: int  # of sensitivities
    slopes: bool  # events are differentiated, with columns or without
    given_state: bool  # by the user, not by the model
    given_seeds: bool
    picks: Integers  # what is taken at moments with several continuations, -1: the first


class Rank(NamedTuple):
    """What a loss of rank of the constraints is looked for with."""

    G: Matrix  # (constraints, n) phi_q of those held, each of length one
    columns: Integers  # (n,) the dependent coordinates, then the others
    state: Vector  # (2 n,) inside a step
    now: RankRow  # (1,)


class Workspace(NamedTuple):
    """What a march works on."""

    y: Vector  # (size,) (x, z), then (S, Z) of each column: the start, overwritten by the end
    step: Step
    search: Search
    scratch: Event
    run: ProgressRow  # (1,)
    rank: Rank


class Steps(NamedTuple):
    """The steps of a run."""

    t: Vector  # (steps,) start, s
    h: Vector  # (steps,) length, s
    y: Matrix  # (steps, size) at the start
    carried: Matrix  # (steps, n (columns + 1)) accelerations that a method carries, or (steps, 0)
    # (steps, ...) mode, closed of all rows, sigma of the tangents, sides, those of the changes
    state: Table


class Events(NamedTuple):
    """The events of a run."""

    head: EventRows  # (events,)
    parts: Matrix  # (events, at.size)
    at: Parts


class Record(NamedTuple):
    """What a march writes."""

    steps: Steps
    events: Events


def newton_of(code: int, n_x: int, order: int) -> tuple[NewmarkNewton, RadauNewton]:
    """Return what Newton's method of an implicit method works on; n + rows = `order`."""
    order, wide = (order if code == NEWMARK else 0), (n_x if code == RADAU else 0)
    matrix, saddle = np.empty((2, order, order))
    right, r = np.empty((2, order))
    error, J = np.empty((2, wide, wide))
    return NewmarkNewton(matrix, saddle, np.empty(order, np.int64), right, r), RadauNewton(
        np.empty((3 * wide, 3 * wide)),
        error,
        J,
        np.empty(3 * wide),
        np.empty(3 * wide, np.int64),
        np.empty(wide, np.int64),
    )


def step_of(stages: int, size: int) -> Step:
    """Return what a step writes; y' at its end is the row `stages` of K, as of A in `Method`."""
    K, (stage, new) = np.empty((17, size)), np.empty((2, size))
    newmark = NewmarkSlopes(*K[3:8])
    radau = RadauSlopes(K[1:4], K[4], K[5:8])
    return Step(K, K[0], K[stages], K[16], newmark, radau, stage, new, np.empty((8, size)))
