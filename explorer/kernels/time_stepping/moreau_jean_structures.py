"""What the Moreau-Jean kernels work on."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numba import from_dtype

from explorer.kernels.complementarity.structures import LcpOptions, LcpWorkspace, lcp_workspace
from explorer.kernels.friction.graph_structures import GraphWorkspace, graph_workspace
from explorer.kernels.friction.structures import FrictionWorkspace, friction_workspace
from explorer.kernels.linear_algebra.structures import Factors, SaddlePoint
from explorer.kernels.model.structures import Bundles, Rows
from explorer.kernels.structures import (
    CountRows,
    Counts,
    FlagRows,
    Integers,
    Matrix,
    Vector,
)
from explorer.kernels.time_stepping.compliant_contact import Compliance
from explorer.kernels.time_stepping.march import Grid

__all__ = [
    "Active",
    "Contacts",
    "Iterate",
    "Levels",
    "Matrices",
    "Method",
    "Options",
    "Outputs",
    "Places",
    "Problem",
    "Projection",
    "Record",
    "Sizes",
    "Step",
    "Task",
    "Workspace",
    "outputs",
    "workspace",
]

MOST_DENSE = 100  # rows of G for which D is formed though the graph of the contacts serves


class Sizes(NamedTuple):
    """Numbers of coordinates, contacts, their rows of G, and constraints: the last rows of G."""

    n: int
    contacts: int
    rows: int  # normals of the contacts, then tangents
    constraints: int


class Outputs(NamedTuple):
    """Where the parts of the outputs of the bundle GAP begin; the gaps stand first."""

    rates: int  # what the velocities of the rows of G are at v = 0, m/s
    G: int
    mu: int  # of the tangents
    mu_s: int
    phi: int


class Places(NamedTuple):
    """Flat positions of the entries that bundles yield."""

    M: Integers
    K: Integers
    C: Integers


class Matrices(NamedTuple):
    """Matrices that change, at the iterate: (n, n), or the entries of a band, (k, 1)."""

    M: Matrix
    K: Matrix  # -F_q
    C: Matrix  # -F_v
    M_flat: Vector  # the same memory
    K_flat: Vector
    C_flat: Vector
    places: Places


class Contacts(NamedTuple):
    """Rows of G: normals of contacts, tangents of those with friction, constraints phi = 0."""

    G: Rows  # its values are given if it is constant
    tangents: Integers  # (n_c + 1,) contact a has the rows tangents[a] to tangents[a + 1] - 1 of G
    e: Vector  # (rows,) restitution, of tangents the tangential one
    compliance: Compliance
    partners: Integers  # what contacts join now, kept by the native function; empty: for ever


class Method(NamedTuple):
    """The scheme."""

    h: float  # s
    theta: float
    forecast: float
    gamma: float  # place of q_star in the step
    q_star: bool  # M and G are taken there, else at the iterate


class Options(NamedTuple):
    """What is known of the problem, and how that of a step is solved."""

    constant: bool  # M, F_q and F_v are: W is factored outside, and one iteration is exact
    turns: bool  # G depends on the state
    rheonomic: bool  # an obstacle moves by itself
    many: bool  # W is diagonal, and the graph of the contacts serves
    state_force: bool  # F depends on the state
    gives: bool  # contacts give way, and their gaps are not known to be linear
    newton_tol: float  # relative
    newton_max: int
    lcp: LcpOptions
    cones: int  # solver of friction in space, see `friction.cone`; 0: along lines
    projected: int  # see `position_projection`
    levels: bool  # constraints hold at both levels, see `constrained_step`


class Problem(NamedTuple):
    """M(q) dv = F(t, q, v) dt + G' dp, 0 <= gap, and the scheme that solves it."""

    bundles: Bundles  # `inp` (1 + 2 n + p,), and lam behind it if d(lam) is not linear
    linear: Rows  # added to F as a matrix times (q, v)
    sizes: Sizes
    outputs: Outputs
    matrices: Matrices
    contacts: Contacts
    method: Method
    options: Options
    factors: Factors  # of W, if it is constant
    saddle: SaddlePoint  # else W, with constraints
    inertia: SaddlePoint  # M in its place, where `options.levels` and W is another matrix
    grid: Grid


class Record(NamedTuple):
    """What a run writes; time is axis 0. The row where it begins holds t, q, v."""

    t: Vector  # (n_t,) s
    q: Matrix  # (n_t, n)
    v: Matrix  # (n_t, n)
    p: Matrix  # (n_t, rows) N s, impulses of the step; of tangents friction
    gap: Matrix  # (n_t, n_c) m
    gap_dot: Matrix  # (n_t, rows) m/s, of tangents the sliding velocity
    active: (
        FlagRows  # (n_t, rows) 0: open, 1: closed, 2: with an impulse; of tangents what friction
    )
    #                   does, see `friction.coulomb`
    iterations: Counts  # (n_t,) of Newton's method
    residuals: Matrix  # (n_t, 2) of the contact problem in m/s, of Newton's method in N s
    p_max: Matrix  # (n_t, tangents) N s, the most friction
    phi: Matrix  # (n_t, constraints) m
    p_phi: Matrix  # (n_t, constraints) N s
    gamma: Matrix  # (n_t, constraints) N s2, multipliers of positions, or (0, 0)
    partner: CountRows  # (n_t, .) what contacts join


# what a march knows of the steps behind it
STATE = np.dtype(
    [
        ("row", np.int64),  # the last row that holds
        ("h", np.float64),  # s, of all steps but the last
        ("factored", np.float64),  # s, the step for which the factors of W hold, or are wanted
        ("formed", np.float64),  # s, the step for which D is formed; 0: none
        ("width", np.int64),  # bandwidth of D
        ("far", np.float64),  # m, the most that a coordinate has added to a gap
        ("reach", np.float64),  # m, the longest way of a gap in a step
    ]
)
State = Annotated[np.ndarray, from_dtype(STATE)[::1]]


class Step(NamedTuple):
    """A step, and the rows of G that take part: `contacts.act` of the workspace."""

    row: int  # of its start
    h: float  # s
    ht: float  # s, h theta
    t1: float  # s
    m: int  # contacts
    held: int  # rows: normals of m contacts, then tangents


class Iterate(NamedTuple):
    """Vectors of a step; N = n + constraints."""

    F0: Vector  # (n,) N, F at its start
    F1: Vector  # (n,) N, at the iterate
    q: Vector  # (n,) the iterate
    v: Vector  # (n,)
    v_free: Vector  # (N,) v without impulses of contacts; behind it those of the constraints, N s
    R: Vector  # (n,) N s, M (v - v_i)
    size: Vector  # (n,) N s, the moduli of its terms
    rhs: Vector  # (N,)
    bias: Vector  # (constraints,) phi_t, m/s


class Active(NamedTuple):
    """w = D P + q of the active rows, in the order of `act`."""

    D: Matrix  # (rows, rows) Delassus matrix of all rows, m/s per N s
    act: Integers  # (held,) their numbers in G
    place: Integers  # (m,) where in `act` the first tangent of a contact stands, or -1
    mode: Integers  # (n_c,) by contact: what it does, see `friction.coulomb`
    rate: Vector  # (held,) their velocities at v = 0, m/s
    law: Vector  # (held,) what their law adds to their velocities, e gap'_i, m/s
    w: Vector  # (held,) velocities at P = 0, m/s
    P: Vector  # (held,) impulses, N s
    mu: Vector  # (m,) the coefficient that counts
    kinetic: Vector  # (tangents,) mu at the start of the step
    static: Vector  # (tangents,) mu_s


class Projection(NamedTuple):
    """Workspace of `position_projection`."""

    contacts: Integers  # (n_c,) those that penetrate
    dq: Vector  # (N,)
    gap: Vector  # (n_c,) m, of these contacts
    z: Vector  # (n_c,) what pushes them apart


class Levels(NamedTuple):
    """Workspace of `constrained_step`; empty where no step is made there."""

    G0: Vector  # (entries,) of G at the start of the step
    G1: Vector  # (entries,) of G at the iterate
    rows: Vector  # (entries,) along which velocities are held in the factored matrix
    shift: Vector  # (n,) m, what takes positions to phi = 0, less that of the iterate before
    gamma: Vector  # (constraints,) N s2, its multipliers
    P: Vector  # (constraints,) N s, impulses of the constraints at the iterate
    speed: Vector  # (constraints,) m/s, G1 v1 + phi_t
    pair: Matrix  # (N, 2)


class Workspace(NamedTuple):
    """Made by `workspace`."""

    state: State  # (1,)
    iterate: Iterate
    active: Active
    lcp: LcpWorkspace
    friction: FrictionWorkspace
    graph: GraphWorkspace
    projection: Projection
    levels: Levels


class Task(NamedTuple):
    """All of a march, by reference, for kernels that are not inlined.

    LLVM keeps fields in registers only of a structure whose address it hands to nobody; so inlined
    kernels have structures of their own.
    """

    problem: Problem
    record: Record
    work: Workspace


def outputs(sizes: Sizes, entries: int) -> Outputs:
    """Return where the outputs of the bundle GAP stand; G has so many entries."""
    _, contacts, rows, constraints = sizes
    G = contacts + rows + constraints
    mu, tangents = G + entries, rows - contacts
    return Outputs(contacts, G, mu, mu + tangents, mu + 2 * tangents)


def workspace(sizes: Sizes, h: float, entries: int, turning: int = 0) -> Workspace:
    """Return the work arrays of a march.

    Parameters
    ----------
    sizes : Sizes
    h : float
        The step for which the factors of W hold, in s.
    entries : int
        Of G where the graph of the contacts serves, else 0.
    turning : int
        Entries of G where constraints hold at both levels, else 0.
    """
    n, nc, rows, constraints = sizes
    tangents, N = rows - nc, n + constraints
    most = 3 * nc if tangents else nc  # unknowns of a contact problem
    dense = 0 if entries and rows > MOST_DENSE else most
    state = np.zeros(1, STATE)
    state["h"] = state["factored"] = h
    F0, F1, q, v, R, size = np.empty((6, n))
    v_free, rhs, dq = np.empty((3, N))
    rate, law, w, P = np.empty((4, rows))
    mu, gap, z = np.empty((3, nc))
    kinetic, static = np.empty((2, tangents))
    act = np.zeros(rows, np.int64)
    place, mode, pushed = np.zeros((3, nc), np.int64)
    lcp = lcp_workspace(dense, most)
    G0, G1, held = np.zeros((3, turning))
    shift = np.zeros(n if turning else 0)
    gamma, P_phi, speed = np.zeros((3, constraints if turning else 0))
    return Workspace(
        state,
        Iterate(F0, F1, q, v, v_free, R, size, rhs, np.empty(constraints)),
        Active(np.empty((dense, dense)), act, place, mode, rate, law, w, P, mu, kinetic, static),
        lcp,
        friction_workspace(nc, tangents, lcp),
        graph_workspace(n, nc, rows, entries),
        Projection(pushed, dq, gap, z),
        Levels(G0, G1, held, shift, gamma, P_phi, speed, np.empty((N if turning else 0, 2))),
    )
