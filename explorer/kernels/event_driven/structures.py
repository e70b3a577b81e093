"""What the event-driven kernels work on, as named tuples: the problem, a method, its surfaces."""

from __future__ import annotations

from typing import NamedTuple

from explorer.kernels.structures import Integers, Matrix, Table, Vector

__all__ = ["Method", "Problem", "Surfaces"]


class Problem(NamedTuple):
    """See `explorer.kernels.event_driven.flow`."""

    table: Table
    shape: Integers
    inp: Vector
    out: Vector
    W: Matrix
    pivots: Integers
    vec: Matrix
    state: Integers


class Method(NamedTuple):
    """See `explorer.kernels.event_driven.runge_kutta`; then code, polynomial, last row, columns."""

    A: Matrix
    c: Vector
    L: Matrix
    lp: Integers
    D: Matrix
    s: int
    code: int
    extra: int
    width: int


class Surfaces(NamedTuple):
    """The surfaces as guards of an automaton with one mode: outputs u / size, then u."""

    table: Table
    shape: Integers
    state: Integers
    watch: Matrix
    samples: Matrix
