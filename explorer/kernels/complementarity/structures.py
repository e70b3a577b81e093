"""What the solvers of complementarity problems work on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from explorer.kernels.structures import Flags, Integers, Matrix, Vector, rows_of

__all__ = ["Block", "Box", "Lemke", "Sides", "box_workspaces"]

FACTORED = np.dtype([("count", np.int64)])  # rows whose block of M is factored; -1: none
Factored = rows_of(FACTORED)


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
    kept: Factored  # (1,) how many of them are factored
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
    kept = np.full(1, -1, np.int64).view(FACTORED)
    vectors, numbers = np.empty((3, 2 * m)), np.zeros((4, 2 * m), np.int64)
    block = Block(np.empty((m, m)), np.zeros(m, np.int64), np.zeros(m, np.int64), kept, np.empty(m))
    small, X, T = np.empty((2 * m, 2 * m)), np.empty((m, m + 1)), np.empty((2 * m, 4 * m + 2))
    return block, Lemke(small, X, T, *vectors, *numbers)
