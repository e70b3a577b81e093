"""What the kernels of the Newmark family work on."""

from __future__ import annotations

from typing import Annotated, NamedTuple, get_args

import numpy as np

from explorer.kernels.linear_algebra.structures import Factors
from explorer.kernels.model.structures import Bundles, Rows
from explorer.kernels.structures import Counts, Integers, Matrix, Vector, rows_of
from explorer.kernels.time_stepping.bilinear_springs import Springs
from explorer.kernels.time_stepping.march import Grid

__all__ = ["Bands", "LinearProblem", "LinearTask", "LinearWorkspace", "Matrices", "Method",
           "Options", "Part", "Places", "Problem", "Record", "Task", "Workspace",
           "linear_workspace", "workspace"]  # fmt: skip


class Method(NamedTuple):
    """Coefficients of the scheme; x is the new d, v or a."""

    alpha_m: float  # weight of the old acceleration
    alpha_f: float  # weight of the old state
    c_d: float  # (d, v, a)_1 = ... + c x, for h = 1
    c_v: float
    c_a: float
    power: int  # of h in c_d, one less in c_v, two less in c_a: 2, 1, 0 for the unknown a, v, d
    order: int
    interpolated: bool  # F is interpolated between both ends, not taken at the state between
    weight: float  # of the new state where F is evaluated
    share: float  # of this F in r
    old: float  # of the F of the step's start in r


class Options(NamedTuple):
    """How the equations of a step are solved, and how long it is."""

    newton_tol: float  # of |r| beside the terms that cancel in it
    newton_max: int
    error_tol: float  # m, of the local error; 0: even steps
    h_max: float  # s
    analytic: bool  # F is, so Newton's method converges quadratically
    moves: bool  # M depends on q
    explicit: bool  # F does not depend on x: one iteration is exact


class Record(NamedTuple):
    """What a run writes; time is axis 0. The row where it begins holds t, q, v, a."""

    t: Vector  # (n_t,) s
    q: Matrix  # (n_t, n)
    v: Matrix  # (n_t, n)
    a: Matrix  # (n_t, n) carried accelerations, of the time t + (alpha_m - alpha_f) h
    slip: Matrix  # (n_t, k) of the springs that yield
    iterations: Counts  # (n_t,) of Newton's method
    error: Vector  # (n_t,) m, local error
    residual: Vector  # (n_t,) N, |r|; also of the step that fails
    imbalance: Vector  # (n_t,) the largest row of r beside the terms that cancel in it
    parts: Vector  # (n_t,) in how many the step was taken


class Places(NamedTuple):
    """Flat positions of the entries that the bundles yield, in (n, n)."""

    M: Integers
    K: Integers  # of F_q
    C: Integers  # of F_v
    inertia: Integers  # of (M a)_q


class Matrices(NamedTuple):
    """Matrices at a state, (n, n), and the same memory flat, (n n,)."""

    M: Matrix
    K: Matrix  # -F_q, and (M a)_q
    C: Matrix  # -F_v
    M_flat: Vector
    K_flat: Vector
    C_flat: Vector


class Bands(NamedTuple):
    """Bandwidths, below and above the diagonal."""

    mass_below: int  # of M
    mass_above: int
    below: int  # of A
    above: int


class Problem(NamedTuple):
    """M(q) a = F(t, q, v) and the scheme that solves it."""

    bundles: Bundles  # `inp` (1 + 3 n + p,): behind rho accelerations
    places: Places
    matrices: Matrices  # at the start
    bands: Bands
    springs: Springs
    method: Method
    options: Options
    grid: Grid


# what a march knows of the steps behind it
STATE = np.dtype(
    [
        ("row", np.int64),  # the last row that holds
        ("h", np.float64),  # s, the next step
        ("before", np.float64),  # s, the step before, or the last part of it; 0: none
        ("scaled", np.float64),  # s, the step for which c_d, c_v, c_a hold
        ("c_d", np.float64),
        ("c_v", np.float64),
        ("c_a", np.float64),
    ]
)


State = Annotated[np.ndarray, get_args(rows_of(STATE))[1]]


class Workspace(NamedTuple):
    """Made by `workspace`."""

    state: State  # (1,)
    W: Matrix  # (n, n) A, factored
    pivots: Integers  # (n,) of n = 1: 0, no row is exchanged
    F0: Vector  # (n,) N, F at the start of the step; 0 unless it is interpolated
    F: Vector  # (n,) N, F where it is evaluated
    r: Vector  # (n,) N
    x: Vector  # (n,) the unknown, less that of a_1 = a_0
    dx: Vector  # (n,) its correction
    best: Vector  # (n,) x before this correction
    a_m: Vector  # (n,)
    a_before: Vector  # (n,) accelerations at the start of the step before
    a_moved: Vector  # (n,) carried accelerations, moved to another step size
    part_d: Vector  # (n,) where the next part of a step begins
    part_v: Vector  # (n,)
    part_a: Vector  # (n,)
    true0: Vector  # (n,) M^-1 F at the start of the step
    true1: Vector  # (n,) and at its end


class Part(NamedTuple):
    """A step, or a part of one."""

    t0: float  # s
    t1: float  # s
    h: float  # s
    c_d: float  # coefficients of x for this h
    c_v: float
    c_a: float
    d0: Vector  # (n,) state at t0
    v0: Vector
    a0: Vector
    d1: Vector  # (n,) state at t1, in the record
    v1: Vector
    a1: Vector


class LinearProblem(NamedTuple):
    """M a = F(t) - K q - C v and the scheme that solves it."""

    bundles: Bundles  # `inp` (1 + 2 n + p,)
    linear: Rows  # (n, 2 n + p) added to F, times (q, v, rho)
    mass: Rows  # M
    factors: Factors  # of A
    inertia: Factors  # of M, where inputs change; none if it is diagonal, or singular
    method: Method
    options: Options
    grid: Grid


LINEAR_STATE = np.dtype(
    [
        ("row", np.int64),  # the last row that holds
        ("h", np.float64),  # s, the next step
        ("factored", np.float64),  # s, the step for which the factors hold, or are wanted
        ("c_d", np.float64),  # coefficients of x for it
        ("c_v", np.float64),
        ("c_a", np.float64),
    ]
)


LinearState = Annotated[np.ndarray, get_args(rows_of(LINEAR_STATE))[1]]


class LinearWorkspace(NamedTuple):
    """Made by `linear_workspace`."""

    state: LinearState  # (1,)
    F0: Vector  # (n,) as those of `Workspace`
    F: Vector
    x: Vector
    centre: Vector  # (n,) accelerations in the middle of the step
    a_moved: Vector
    true0: Vector
    true1: Vector


class Task(NamedTuple):
    """All of a march."""

    problem: Problem
    record: Record
    work: Workspace


class LinearTask(NamedTuple):
    """All of a march with constant matrices."""

    problem: LinearProblem
    record: Record
    work: LinearWorkspace


def workspace(n: int, h: float, true: np.ndarray) -> Workspace:
    """Return the work arrays for n coordinates, a first step h and the start's M^-1 F."""
    state = np.zeros(1, STATE)
    state["h"] = h
    vectors = np.zeros((14, n))
    vectors[12] = true
    return Workspace(state, np.empty((n, n)), np.zeros(n, np.int64), *vectors)


def linear_workspace(n: int, h: float, true: np.ndarray) -> LinearWorkspace:
    """Return the work arrays for n coordinates, a first step h and the start's M^-1 F."""
    state = np.zeros(1, LINEAR_STATE)
    state["h"] = state["factored"] = h
    vectors = np.empty((7, n))
    vectors[5] = true
    return LinearWorkspace(state, *vectors)
