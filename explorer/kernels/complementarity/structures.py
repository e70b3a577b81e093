"""What the solvers of complementarity problems work on."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numba import from_dtype

from explorer.kernels.structures import Flags, Integers, Matrix, Vector

__all__ = [
    "FACTORED",
    "Block",
    "Box",
    "Lcp",
    "LcpOptions",
    "LcpWorkspace",
    "Lemke",
    "Sides",
    "box_workspaces",
    "lcp_workspace",
]

# rows whose block of M is factored, -1: none; the bandwidths of that block
FACTORED = np.dtype([("count", np.int64), ("below", np.int64), ("above", np.int64)])
Factored = Annotated[np.ndarray, from_dtype(FACTORED)[::1]]


class Lcp(NamedTuple):
    """0 <= z perp w = M z + q >= 0 over m rows of a larger matrix."""

    M: Matrix
    act: Integers  # (m,) the rows and columns of M that take part
    q: Vector  # (m,)
    z: Vector  # (m,) the solution


class LcpOptions(NamedTuple):
    """How a problem of complementarity is solved."""

    method: int  # see `lcp`
    tol: float  # of the natural residual beside the largest |q|
    max_iter: int  # sweeps of projected Gauss-Seidel


class LcpWorkspace(NamedTuple):
    """What solvers write, and keep from problem to problem with the same M."""

    member: Flags  # by row of M: 1 where z > 0 in the last solution, the working set
    kept: Factored  # (1,) of how many rows the block is factored; count = -1 if M has changed
    rows: Integers  # (m,) these rows
    A: Matrix  # (m, m) the factors of their block of M
    pivots: Integers  # (m,)
    T: Matrix  # (m, 2 m + 2) tableau of Lemke's method
    b: Vector  # (m,)


class Box(NamedTuple):
    """y = M lam + q, and in each row the law of a box: see `box_lcp`."""

    M: Matrix  # (m, m)
    q: Vector  # (m,)
    lower: Vector  # (m,) of lam, -inf: none
    upper: Vector  # (m,) of lam, inf: none


class Sides(NamedTuple):
    """A solution of a problem in a box."""

    side: Flags  # (m,) where lam is: -1 at its lower bound, 0 between, 1 at its upper bound
    lam: Vector  # (m,)
    y: Vector  # (m,)


class Block(NamedTuple):
    """The block of M over the rows between their bounds, kept from step to step."""

    A: Matrix  # (m, m) its factors
    pivots: Integers  # (m,)
    rows: Integers  # (m,) which rows they are
    kept: Factored  # (1,) how many of them are factored; no bandwidth is kept
    b: Vector  # (m,) right side and solution


class Lemke(NamedTuple):
    """Workspace of Lemke's method; after LCP_RAY T and basis tell the ray."""

    small: Matrix  # (2 m, 2 m) the problem without its equalities
    X: Matrix  # (m, m + 1) what the equalities make of the others
    T: Matrix  # (2 m, 4 m + 2) tableau
    q: Vector  # (2 m,) of the small problem
    z: Vector  # (2 m,) its solution
    scale: Vector  # (2 m,)
    equal: Integers  # (m,) rows that are equalities
    rest: Integers  # (m,) the others
    act: Integers  # (2 m,) 0, 1, 2, ...
    basis: Integers  # (2 m,)


def box_workspaces(m: int) -> tuple[Block, Lemke]:
    """Return the workspaces for m multipliers."""
    kept = np.array([(-1, 0, 0)], FACTORED)
    vectors, numbers = np.empty((3, 2 * m)), np.zeros((4, 2 * m), np.int64)
    block = Block(np.empty((m, m)), np.zeros(m, np.int64), np.zeros(m, np.int64), kept, np.empty(m))
    small, X, T = np.empty((2 * m, 2 * m)), np.empty((m, m + 1)), np.empty((2 * m, 4 * m + 2))
    return block, Lemke(small, X, T, *vectors, *numbers)


def lcp_workspace(m: int, rows: int, like: LcpWorkspace | None = None) -> LcpWorkspace:
    """Return the workspace for m rows of a matrix that has so many rows.

    It keeps factors of its own; all else is shared with that of a problem `like` it.
    """
    kept, pivots = np.array([(-1, 0, 0)], FACTORED), np.zeros(m + 1, np.int64)
    if like is not None:
        return like._replace(kept=kept, rows=np.zeros(m, np.int64), pivots=pivots)
    A, T, b = np.empty((m, m)), np.empty((m, 2 * m + 2)), np.empty(m)
    member = np.zeros(rows, np.int8)
    return LcpWorkspace(member, kept, np.zeros(m, np.int64), A, pivots, T, b)
