"""What the solvers work on that know the contacts by their graph, see `friction.graph`."""

from __future__ import annotations

import functools
from typing import Annotated, NamedTuple

import numpy as np
from numba import from_dtype

from explorer.kernels.structures import Integers, Matrix, Vector

__all__ = [
    "SPARE",
    "WIDE",
    "WIDEST",
    "Band",
    "Exchange",
    "Graph",
    "GraphWorkspace",
    "Newton",
    "Path",
    "Sweeps",
    "graph_workspace",
]

SPARE = 12  # contacts that may do something else than the factors of a band know
WIDE = 256  # bandwidth up to which contacts are solved for together where sweeps get nowhere
WIDEST = 12  # bandwidth up to which the contacts that hold are solved for together
BAND = np.dtype(
    [
        ("chosen", np.int64),  # rows that are unknowns
        ("width", np.int64),  # bandwidth of the factors of their D; -1: none are kept
        ("factored", np.int64),  # for how many rows
        ("order", np.int64),  # coordinates that contacts move
        ("span", np.int64),  # bandwidth over them
    ]
)
BandState = Annotated[np.ndarray, from_dtype(BAND)[::1]]


class Graph(NamedTuple):
    """w = q + G u + s P, u = W^-1 G' P: the active contacts, and what they share."""

    ptr: Integers  # rows of G
    col: Integers
    val: Vector
    inverse: Vector  # (n,) the diagonal of W^-1
    act: Integers  # (rows,) rows of G that take part: normals of m contacts, then tangents
    m: int
    rows: int
    place: Integers  # (m,) where in `act` the tangent of a contact stands, or -1
    mu: Vector  # (m,)
    q: Vector  # (rows,) velocities at P = 0, m/s
    P: Vector  # (rows,) impulses, N s
    mode: Integers  # by contact: OPEN, STICK, or the sign with which it slides
    unit: Vector  # (rows,) D_kk + s
    cross: Vector  # (m,) D_kt of a contact and its tangent
    soft: Vector  # (rows,) s
    u: Vector  # (n,) velocities that P makes


class Band(NamedTuple):
    """D over the rows that are unknowns."""

    A: Matrix  # the band and its factors; below them D, for Newton's method
    near: Integers  # (2 entries of G,) what stands at each coordinate
    chosen: Integers  # the rows
    head: Integers  # where those of each coordinate begin in `near`
    pivots: Integers
    state: BandState  # (1,)


class Exchange(NamedTuple):
    """Workspace of `graph.exchange`."""

    band: Band
    x: Vector
    b: Vector
    known: Integers  # the rows that are factored, by their number in G
    wanted: Integers  # what each contact should do


class Sweeps(NamedTuple):
    """Workspace of `graph_gauss_seidel.sweeps`."""

    direction: Vector
    change: Vector


class Newton(NamedTuple):
    """Workspace of `graph_newton`."""

    band: Band
    d: Vector  # right side and step
    best: Vector  # P with the least residual
    begin: Vector  # P before the step
    given: Vector  # P before all
    solved: Vector  # P for softer contacts


class Path(NamedTuple):
    """Workspace of `graph_path`, `graph_velocities` and `graph_proximal`."""

    A: Matrix  # the band over coordinates, factored
    near: Integers  # contacts of each coordinate
    head: Integers  # where they begin
    pivots: Integers
    where: Integers  # (n,) place of a coordinate in the band; -1: no contact moves it
    order: Integers  # (n,) and the other way round
    seen: Integers
    reached: Integers
    was: Integers  # (m,) what the contacts do for which the band is factored
    changed: Integers  # contacts that do something else
    state: BandState  # (1,)
    b: Vector  # (n,)
    off: Vector  # (rows,) what P leaves of w
    start: Vector  # (rows,) P_0
    change: Vector  # (rows,) of P
    w: Vector  # (rows,)
    dw: Vector  # (rows,) its change
    du: Vector  # (n,) change of u
    firm: Vector  # (rows,) 1 / (softness and proximal term)
    first: Vector  # (n,) solution for the set that is factored
    kept: Vector  # (rows,) P before a step
    rough: Vector  # (rows,) P before it is polished
    columns: Matrix  # (2 SPARE, n) those of the contacts in `changed`
    dense: Matrix  # (2 SPARE, 2 SPARE) their matrix
    right: Vector  # (2 SPARE,) its right side, and what solves it


class GraphWorkspace(NamedTuple):
    """The workspace of a run by who uses it; it holds what the next step begins with."""

    exchange: Exchange
    sweeps: Sweeps
    newton: Newton
    path: Path
    unit: Vector
    cross: Vector
    soft: Vector
    u: Vector
    last: Vector  # by row of G: P at the end of the last step
    kept: Vector  # P before the exchange
    listed: Integers  # by contact: the last step in which it was active


def graph_workspace(n: int, contacts: int, rows: int, entries: int) -> GraphWorkspace:
    """Return the workspace for n coordinates and G with so many rows and entries; 0: it is unused.

    One array serves several solvers that do not run together.
    """
    if not entries:
        return _unused()
    return _made(n, contacts, rows, entries)


@functools.cache
def _unused() -> GraphWorkspace:
    return _made(0, 0, 0, 0)


def _made(n: int, contacts: int, rows: int, entries: int) -> GraphWorkspace:
    size = 3 * contacts if rows > contacts else contacts
    wide = max(n, size, 8) + 2 if entries else 0
    shape = (2 * rows, 3 * WIDE + 1) if rows > contacts else (rows, 3 * WIDEST + 1)
    A, near = np.empty(shape if entries else (0, 0)), np.empty(2 * entries, np.int64)
    state = np.full(1, -2, BAND)
    x, b, unit, cross, soft, last, kept, direction, change, off = np.zeros((10, wide))
    start, along, w, dw, du, firm, first = np.zeros((7, wide))
    columns, dense = np.zeros((2 * SPARE, wide)), np.zeros((2 * SPARE, 2 * SPARE))
    chosen, head, pivots, known, wanted, listed = np.full((6, wide), -2)
    where, order, seen, reached, was, changed = np.full((6, wide), -2)
    band = Band(A, near, chosen, head, pivots, state)
    path = Path(
        *(A, near, head, pivots, where, order, seen, reached, was, changed, state, x, off),
        *(start, along, w, dw, du, firm, first, kept, b, columns, dense, np.zeros(2 * SPARE)),
    )
    return GraphWorkspace(
        Exchange(band, x, b, known, wanted),
        Sweeps(direction, change),
        Newton(band, x, b, change, kept, direction),
        path,
        unit,
        cross,
        soft,
        np.zeros(n if entries else 0),
        last,
        kept,
        listed,
    )
