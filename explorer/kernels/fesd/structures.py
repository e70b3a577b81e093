"""What the kernels of FESD work on: the model, an active set, the unknowns of an element, a record.

Named tuples, so that what a kernel needs is handed over in one piece and told once.
"""

from __future__ import annotations

from typing import NamedTuple

from explorer.kernels.structures import Integers, Matrix, Table, Vector

__all__ = ["Element", "Mode", "Model", "Record", "Solver", "Stages", "Workspace"]


class Model(NamedTuple):
    """Native functions and sizes; a collocation method."""

    table: Table  # (bundles, 2) addresses and data: f, f_x, f_multipliers, f_t; c, c_x, c_t; cost
    shape: Integers  # sizes: see `explorer.kernels.fesd.element`
    inp: Vector  # t, x, multipliers, rho
    out: Vector  # what f, or the cost, has written
    switch: Vector  # what c has written
    tableau: Matrix  # (3 s + 4, s) see `explorer.kernels.fesd.collocation`


class Mode(NamedTuple):
    """An active set: the multipliers are base + B w."""

    sign: Integers  # (n_c,) of each switching function, 0: slid on
    zeros: Integers  # (n_c + 1,) what is slid on; last: how many
    base: Vector  # (n_sel,)
    B: Matrix  # (n_sel, n_c)


class Stages(NamedTuple):
    """The unknowns of an element."""

    K: Matrix  # (s, n_x) slopes
    W: Matrix  # (s, n_c) w
    C: Matrix  # (s, n_c) switching functions where constraints hold
    sel: Matrix  # (s, n_sel) multipliers


class Solver(NamedTuple):
    """Newton's method."""

    M: Matrix  # (s (n_x + n_c) + 1, ...) matrix, or its factors
    pivots: Integers
    r: Matrix  # (3, ...) right-hand side, inverse scales of the rows, sizes of slopes
    work: Vector  # (5,) length, residual, evaluations, cap, length of the factors


class Element(NamedTuple):
    """What one element needs: less to hand over, where it is solved again and again."""

    model: Model
    mode: Mode
    stages: Stages
    solver: Solver


class Workspace(NamedTuple):
    """All of it."""

    model: Model
    mode: Mode
    stages: Stages
    solver: Solver
    vec: Matrix  # rows for work: see the kernels that name them
    saved: Matrix  # (2 s, ...) K and w that are put aside
    found: Vector  # (5,) which, bound, fraction, kind of what ends an element; whether coarse
    near: Integers  # (n_c + 1,) the functions that are zero where an active set is chosen
    best: Integers  # (n_c + 2,) choice of the active set, then signs for work


class Record(NamedTuple):
    """The elements of a run."""

    states: Matrix  # (n_e + 1, n_x) x at their ends
    slopes: Matrix  # (n_e, s n_x)
    mult: Matrix  # (n_e, s n_sel)
    times: Matrix  # (n_e, 2) start and length in s
