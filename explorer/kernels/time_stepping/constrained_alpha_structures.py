"""What the generalised-alpha kernel with position constraints works on."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numba import from_dtype

from explorer.kernels.complementarity.structures import LcpOptions, LcpWorkspace, lcp_workspace
from explorer.kernels.linear_algebra.structures import SaddlePoint
from explorer.kernels.model.structures import Bundles, Rows
from explorer.kernels.structures import Counts, FlagRows, Integers, Matrix, Vector
from explorer.kernels.time_stepping.march import Grid
from explorer.kernels.time_stepping.moreau_jean_structures import Matrices, Outputs, Sizes

__all__ = ["Method", "Problem", "Record", "State", "Step", "Task", "Workspace", "workspace"]


class Method(NamedTuple):
    """Coefficients of the scheme; alpha weighs the old value."""

    alpha_m: float
    alpha_f: float
    beta: float
    gamma: float
    forecast: float  # of gaps in the active set of `velocity`, in steps
    velocity: bool  # contacts hold at velocity level alone
    interpolated: bool  # forces are interpolated between both ends, not taken at the state between


class Problem(NamedTuple):
    """M(q) dv = F(t, q, v) dt + G' dp, 0 <= gap, phi = 0, and the scheme that solves it."""

    bundles: Bundles  # `inp` (1 + 2 n + p,)
    linear: Rows  # added to F as a matrix times (q, v)
    sizes: Sizes
    outputs: Outputs
    matrices: Matrices  # where F is evaluated; K is scaled for the matrix of the step
    G: Rows  # normals of contacts, gradients of constraints
    e: Vector  # (n_c,)
    method: Method
    newton_tol: float  # relative
    newton_max: int
    lcp: LcpOptions
    saddle: SaddlePoint
    grid: Grid


class Record(NamedTuple):
    """What a run writes; time is axis 0, and row 0 of t, q, v, a, lam is the start."""

    t: Vector  # (n_t,) s
    q: Matrix  # (n_t, n)
    v: Matrix  # (n_t, n)
    a: Matrix  # (n_t, n) carried accelerations
    p: Matrix  # (n_t, n_c) N s, impulse of the step
    gap: Matrix  # (n_t, n_c) m
    gap_dot: Matrix  # (n_t, n_c) m/s
    active: FlagRows  # (n_t, n_c) 0: not looked at, 1: closed, 2: with an impulse
    iterations: Counts  # (n_t,) of Newton's method
    residuals: Matrix  # (n_t, 2) of the contact problem in m/s, of Newton's method in N
    phi: Matrix  # (n_t, constraints) m
    lam: Matrix  # (n_t, constraints) N, that of the equation of motion; they act by + phi_q'
    jump: Matrix  # (n_t, constraints) N s, of the velocity problem


# what a march knows of the steps behind it
STATE = np.dtype([("row", np.int64), ("h", np.float64)])  # the last row that holds; the step in s
State = Annotated[np.ndarray, from_dtype(STATE)[::1]]


class Workspace(NamedTuple):
    """Made by `workspace`; N = n + constraints."""

    state: State  # (1,)
    rows: Vector  # (entries,) of G at the end of the step
    none: Matrix  # a K that is zero
    d: Vector  # (n,) the state at the end of the step
    v: Vector  # (n,)
    a: Vector  # (n,)
    a_m: Vector  # (n,)
    F: Vector  # (n,) N
    F0: Vector  # (n,) N, all forces at the start of the step, if they are interpolated
    zero: Vector  # (n,)
    R: Vector  # (n,) N, M a_m
    size: Vector  # (n,) N, the moduli of its terms
    before: Vector  # (n,) m/s, v without W
    lam: Vector  # (constraints,) N
    pull: Vector  # (n_c,) N, what is known of the forces of contacts that stay closed
    dx: Vector  # (N,)
    rhs: Vector  # (N,)
    shift: Vector  # (n,) m, U of the position problem
    D: Matrix  # (n_c, n_c)
    act: Integers  # (n_c,)
    w: Vector  # (n_c,)
    z: Vector  # (n_c,)
    lcp: LcpWorkspace


class Step(NamedTuple):
    """A step."""

    row: int  # of its start
    h: float  # s
    t1: float  # s
    t_f: float  # s, where F is evaluated
    ht: float  # s, weight of C in the matrix of the step; with its square that of K


class Task(NamedTuple):
    """All of a march, by reference."""

    problem: Problem
    record: Record
    work: Workspace


def workspace(sizes: Sizes, entries: int, pattern: tuple[int, ...], h: float) -> Workspace:
    """Return the work arrays; G has so many entries, and K the shape `pattern`."""
    n, nc, _, bound = sizes
    state = np.zeros(1, STATE)
    state["h"] = h
    d, v, a, a_m, F, F0, zero, R, size, before, shift = np.zeros((11, n))
    dx, rhs = np.zeros((2, n + bound))
    w, z, pull = np.zeros((3, nc))
    return Workspace(
        state,
        np.zeros(entries),
        np.zeros(pattern),
        d,
        v,
        a,
        a_m,
        F,
        F0,
        zero,
        R,
        size,
        before,
        np.zeros(bound),
        pull,
        dx,
        rhs,
        shift,
        np.zeros((nc, nc)),
        np.zeros(nc, np.int64),
        w,
        z,
        lcp_workspace(nc, nc),
    )
