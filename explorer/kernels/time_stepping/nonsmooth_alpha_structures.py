"""What the kernel of the nonsmooth generalised-alpha method works on."""

from __future__ import annotations

from typing import Annotated, NamedTuple, get_args

import numpy as np

from explorer.kernels.complementarity.delassus import BAND, Responses
from explorer.kernels.complementarity.structures import FACTORED, Lcp, LcpOptions, LcpWorkspace
from explorer.kernels.model.structures import Bundles, Rows
from explorer.kernels.structures import Counts, FlagRows, Integers, Matrix, Vector, rows_of
from explorer.kernels.time_stepping.march import Grid
from explorer.kernels.time_stepping.newmark_structures import Matrices, Places

__all__ = ["Contacts", "Method", "Options", "Problem", "Record", "Step", "Workspace", "workspace"]

VELOCITY, BOTH, INSIDE, MEAN = 0, 1, 2, 3  # `Method.level`


class Method(NamedTuple):
    """Coefficients of the scheme, and where contact acts."""

    alpha_m: float  # weight of the old acceleration
    alpha_f: float  # weight of the old state
    beta: float
    gamma: float
    forecast: float  # of gaps in the active set, in steps
    level: int  # VELOCITY, BOTH, INSIDE or MEAN of `nonsmooth_alpha`
    interpolated: bool  # F is interpolated between both ends, not taken at the state between
    weight: float  # of the new state where F is evaluated
    share: float  # of this F in r


class Options(NamedTuple):
    """How the equations of a step are solved."""

    newton_tol: float  # of |r| beside the terms that cancel in it
    newton_max: int
    constant: bool  # M, C, K, G are: all is factored once, one iteration is exact
    moves: bool  # M depends on q
    lcp: LcpOptions


class Contacts(NamedTuple):
    """Normals and restitution."""

    G: Rows  # (n_c, n); its values are given if constant
    e: Vector  # (n_c,)


class Problem(NamedTuple):
    """M(q) dv = F(t, q, v) dt + G' dp, 0 <= gap, and the scheme that solves it."""

    bundles: Bundles  # `inp` (1 + 3 n + p,): behind rho accelerations
    places: Places
    matrices: Matrices  # at the start
    linear: Rows  # (n, 2 n + p) added to F, times (q, v, rho)
    contacts: Contacts
    method: Method
    options: Options
    grid: Grid


class Record(NamedTuple):
    """What a run writes; time is axis 0, and row 0 of t, q, v, a is the start."""

    t: Vector  # (n_t,) s
    q: Matrix  # (n_t, n)
    v: Matrix  # (n_t, n)
    p: Matrix  # (n_t, n_c) N s, impulse of the step
    gap: Matrix  # (n_t, n_c) m
    gap_dot: Matrix  # (n_t, n_c) m/s
    active: FlagRows  # (n_t, n_c) 0: not looked at, 1: active, 2: with an impulse
    iterations: Counts  # (n_t,) of Newton's method
    residuals: Matrix  # (n_t, 2) of the contact problem in m/s, of Newton's method in N
    a: Matrix  # (n_t, n) carried accelerations


# what a march knows of the steps behind it
STATE = np.dtype(
    [
        ("row", np.int64),  # the last row that holds
        ("h", np.float64),  # s, the step
        ("factored", np.float64),  # s, the step for which constant matrices are factored
        ("before", np.float64),  # s, the step before
        ("span", np.int64),  # bounds the bandwidth of D
        ("span_jump", np.int64),  # and of that of the velocity problem
        ("below", np.int64),  # bandwidths of M
        ("above", np.int64),
    ]
)
State = Annotated[np.ndarray, get_args(rows_of(STATE))[1]]


class Workspace(NamedTuple):
    """Made by `workspace`."""

    state: State  # (1,)
    responses: Responses
    problem: Lcp  # 0 <= D z + g perp z >= 0, of Newton's method
    jump: Lcp  # of the velocity problem
    lcp: LcpWorkspace
    lcp_jump: LcpWorkspace
    every: Integers  # (n_c,) 0, 1, 2, ...
    F: Vector  # (n,) N, F where it is evaluated
    F0: Vector  # (n,) N, F at the start of the step, if it is interpolated
    r: Vector  # (n,) N
    x: Vector  # (n,) a_1 - a_0
    dx: Vector  # (n,) its correction
    best: Vector  # (n,) x before this correction
    w: Vector  # (n,) M^-1 G' z
    d1: Vector  # (n,) the state at x
    v1: Vector  # (n,)
    a1: Vector  # (n,)
    d_f: Vector  # (n,) where F is evaluated
    v_f: Vector  # (n,)
    a_m: Vector  # (n,)
    before: Vector  # (n,) q_-
    point: Vector  # (n,) where gaps are looked at
    e_dot: Vector  # (n_c,) m/s, e gap'_0
    old: Vector  # (n_c,) z before a correction
    force_before: Vector  # (n_c,) N, of INSIDE


class Step(NamedTuple):
    """Times and coefficients of a step."""

    row: int  # where it starts
    h: float  # s
    t1: float  # s
    t_f: float  # s
    c_d: float  # of x in d_1, v_1
    c_v: float
    s_d: float  # of w in d_1, v_1
    s_v: float
    c_w: float  # w beside an acceleration


class Task(NamedTuple):
    """All of a march."""

    problem: Problem
    record: Record
    work: Workspace


def workspace(n: int, nc: int, h: float) -> Workspace:
    """Return the work arrays for n coordinates, nc contacts and a step h."""
    state = np.zeros(1, STATE)
    state["h"] = h
    D, D_jump, A, A_jump = np.zeros((4, nc, nc))
    act, rows, pivots, rows_jump, pivots_jump = np.zeros((5, nc), np.int64)
    kept, member = np.full((2, 3), -1, np.int64).view(FACTORED), np.zeros((2, nc), np.int8)
    (g, z), T, b = np.zeros((2, nc)), np.empty((nc, 2 * nc + 2)), np.zeros(nc)
    Y, LU, band = np.zeros((3, nc, n)), np.empty((3, n, n)), np.zeros(3, BAND)
    by_coordinate, by_contact = np.zeros((15, n)), np.zeros((3, nc))
    return Workspace(
        state,
        Responses(LU, np.zeros((3, n), np.int64), band, Y),
        Lcp(D, act, g, z),
        Lcp(D_jump, act, g, z),
        LcpWorkspace(member[0], kept[0], rows, A, pivots, T, b),
        LcpWorkspace(member[1], kept[1], rows_jump, A_jump, pivots_jump, T, b),
        np.arange(nc),
        *by_coordinate,
        *by_contact,
    )
