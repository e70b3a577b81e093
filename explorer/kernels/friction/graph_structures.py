"""What the solvers work on that know the contacts by their graph, see `friction.graph`."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numba import from_dtype

from explorer.kernels.references import kernel
from explorer.kernels.structures import Integers, Matrix, Table, Vector

__all__ = [
    "INTS",
    "SPARE",
    "VECTORS",
    "Band",
    "Exchange",
    "Graph",
    "GraphWorkspace",
    "Newton",
    "Parts",
    "Path",
    "Sweeps",
    "parts",
]

SPARE = 12  # contacts that may do something else than the factors of a band know
COLUMNS = 18  # rows of vectors before those columns
VECTORS, INTS = COLUMNS + 4 * SPARE + 1, 13  # rows of `GraphWorkspace`
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


class GraphWorkspace(NamedTuple):
    """Arrays of a run; they hold what the next step begins with. Named by `parts`."""

    A: Matrix  # a band and its factors; below them D, for Newton's method
    vectors: Matrix  # (VECTORS, .)
    integers: Table  # (INTS, .)
    near: Integers  # (2 entries of G,) what stands at each coordinate


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

    A: Matrix
    near: Integers
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
    dense: Matrix  # (2 SPARE + 1, 2 SPARE) their matrix, and its right side


class Parts(NamedTuple):
    """The workspace by who uses it; one array may serve several that do not run together."""

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


@kernel(inline=True)
def parts(work: GraphWorkspace) -> Parts:
    """Name the rows of the workspace."""
    A, vec, ints, near = work.A, work.vectors, work.integers, work.near
    state = ints[4][:5].view(BAND)
    band = Band(A, near, ints[0], ints[1], ints[2], state)
    path = Path(
        A,
        near,
        ints[1],
        ints[2],
        ints[7],
        ints[8],
        ints[9],
        ints[10],
        ints[11],
        ints[12],
        state,
        vec[0],
        vec[10],
        vec[11],
        vec[12],
        vec[13],
        vec[14],
        vec[15],
        vec[16],
        vec[17],
        vec[7],
        vec[1],
        vec[COLUMNS : COLUMNS + 2 * SPARE],
        vec[COLUMNS + 2 * SPARE :],
    )
    return Parts(
        Exchange(band, vec[0], vec[1], ints[3], ints[5]),
        Sweeps(vec[8], vec[9]),
        Newton(band, vec[0], vec[1], vec[9], vec[7], vec[8]),
        path,
        vec[2],
        vec[3],
        vec[4],
        vec[5],
        vec[6],
        vec[7],
        ints[6],
    )
