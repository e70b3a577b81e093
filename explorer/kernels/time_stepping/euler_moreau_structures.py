"""What the Euler-Moreau kernels work on: system, method, record, workspace."""

from __future__ import annotations

from typing import Annotated, NamedTuple, get_args

import numpy as np

from explorer.kernels.complementarity.structures import (
    Block,
    Box,
    Factored,
    Lemke,
    Sides,
    box_workspaces,
)
from explorer.kernels.structures import Counts, FlagRows, Integers, Matrix, Table, Vector, rows_of
from explorer.kernels.time_stepping.march import Grid

__all__ = [
    "STATE",
    "Band",
    "Iterate",
    "Linear",
    "Method",
    "Model",
    "Options",
    "Places",
    "Problem",
    "Record",
    "State",
    "Task",
    "Workspace",
    "workspace",
]

NONLINEAR, LINEAR, CONSTANT = 0, 1, 2  # kinds of systems; CONSTANT: independent of t, too


class Places(NamedTuple):
    """Flat positions of the entries that the bundles yield."""

    F: Integers  # of f_x (n, n)
    H0: Integers  # of h_x (m, n)
    H1: Integers  # of h_lam (m, m)
    G0: Integers  # of g_x (n, n)
    G1: Integers  # of g_lam (n, m)


class Model(NamedTuple):
    """M x' = f(t, x) + r, y = h(x, t, lam), r = g(x, t, lam), and a box of lam for each law."""

    table: Table  # (4, 2) addresses and data of the bundles f; f_x; (h, g); (H0, H1, G0, G1)
    inp: Vector  # (1 + n + m + p,) t, x, lam, rho; rho is read, the rest is scratch
    out: Vector  # what a bundle has written
    places: Places
    M: Matrix  # (n, n)
    lower: Vector  # (m,) bounds of lam
    upper: Vector  # (m,)


class Method(NamedTuple):
    """Coefficients of the scheme."""

    theta: float  # of f
    a: float  # of r
    s: float  # of the state in the relation


class Options(NamedTuple):
    """How the equations of a step are solved."""

    kind: int  # NONLINEAR, LINEAR or CONSTANT
    newton_max: int
    newton_tol: float  # of the residual beside its terms
    lcp: int  # see `box_lcp`
    lcp_tol: float  # of the natural residual beside its terms


class Problem(NamedTuple):
    """A system, and the scheme that solves it."""

    bundles: Model
    method: Method
    options: Options
    grid: Grid


class Record(NamedTuple):
    """What a run writes; time is axis 0, and row 0 of t, x, lam is the start."""

    t: Vector  # (n_t,) s
    x: Matrix  # (n_t, n)
    lam: Matrix  # (n_t, m)
    y: Matrix  # (n_t, m)
    side: FlagRows  # (n_t, m) see `Sides`
    iterations: Counts  # (n_t,) of Newton's method
    residuals: Matrix  # (n_t, 2) of the laws and of Newton's method, relative


class Linear(NamedTuple):
    """The system linearised at an iterate."""

    F: Matrix  # (n, n) f_x
    H0: Matrix  # (m, n) h_x
    H1: Matrix  # (m, m) h_lam
    G0: Matrix  # (n, n) g_x
    G1: Matrix  # (n, m) g_lam
    V: Matrix  # (n, n) M - h theta F - h a s G0, factored
    pivots: Integers  # (n,)
    P: Matrix  # (n, m) h a V^-1 G1


class Iterate(NamedTuple):
    """Where a step is."""

    x: Vector  # (n,) the iterate
    lam: Vector  # (m,)
    f0: Vector  # (n,) f at the start of the step
    f1: Vector  # (n,) f at the iterate
    r0: Vector  # (n,) r at the start of the step
    d: Vector  # (n,) the step of x without that of lam
    column: Vector  # (n,)
    relation: Vector  # (m,) h at the iterate


class Band(NamedTuple):
    """States and multipliers together, N = n + m, as a band: see `euler_moreau_band`."""

    ptr: Integers  # (N + 1,) rows of [[V, -h a G1], [s H0, H1]]
    col: Integers  # columns of their entries
    slots: Integers  # where in `val` the entries of M, f_x, H0, H1, G0, G1 belong
    place: Integers  # (N,) of each unknown in the band
    mass: Vector  # entries of M
    val: Vector  # entries of the matrix
    W: Matrix  # (N, 3 w + 1) the band, factored
    pivots: Integers  # (N,)
    kept: Factored  # (1,) count = N: W is factored for the sides of the step before; -1: it is not
    b: Vector  # (N,) right side and solution, in the order of the band
    y: Vector  # (N,) the new y, behind n places
    before: Vector  # (N,) x and lam at the start of the step
    rhs: Vector  # (N,) d and y; then dx and the new y
    lam: Vector  # (m,) the new lam
    f0: Vector  # (n,) f at the start of the step
    r0: Vector  # (n,) r there


STATE = np.dtype(
    [
        ("row", np.int64),  # the last row that holds
        ("h", np.float64),  # s, the step
        ("factored", np.float64),  # s, the step for which V is factored
    ]
)
State = Annotated[np.ndarray, get_args(rows_of(STATE))[1]]


class Workspace(NamedTuple):
    """Made by `workspace`."""

    state: State  # (1,)
    linear: Linear
    iterate: Iterate
    box: Box  # of the one-step problem; on failure that which failed
    solution: Sides
    block: Block
    lemke: Lemke


class Task(NamedTuple):
    """All of a march."""

    problem: Problem
    record: Record
    work: Workspace


def workspace(n: int, m: int, bounds: np.ndarray, h: float) -> Workspace:
    """Return the work arrays for n states, m multipliers with `bounds` (2, m), and step h."""
    state = np.zeros(1, STATE)
    state["h"] = h
    F, G0, V = np.zeros((3, n, n))
    H0, H1, G1, P = np.zeros((m, n)), np.zeros((m, m)), np.zeros((n, m)), np.empty((n, m))
    linear = Linear(F, H0, H1, G0, G1, V, np.zeros(n, np.int64), P)
    f0, f1, r0, d, x, column = np.empty((6, n))
    lam, relation, new, y = np.empty((4, m))
    iterate = Iterate(x, lam, f0, f1, r0, d, column, relation)
    box = Box(np.empty((m, m)), np.empty(m), *np.ascontiguousarray(bounds))
    sides = Sides(np.zeros(m, np.int8), new, y)
    return Workspace(state, linear, iterate, box, sides, *box_workspaces(m))
