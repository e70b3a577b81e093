"""What the solvers of contact problems with Coulomb friction work on."""

from __future__ import annotations

import functools
from typing import Annotated, NamedTuple

import numpy as np
from numba import from_dtype

from explorer.kernels.complementarity.structures import LcpOptions, LcpWorkspace, lcp_workspace
from explorer.kernels.structures import Flags, Integers, Matrix, Vector

__all__ = [
    "CONES",
    "ActiveSet",
    "ConeRows",
    "ConeVectors",
    "ConeWorkspace",
    "Cones",
    "Contacts",
    "Friction",
    "FrictionOptions",
    "FrictionWorkspace",
    "Glocker",
    "friction_workspace",
]

CONES = np.dtype([("contacts", np.int64)])  # that the blocks of D hold; -1: D has changed
KeptCones = Annotated[np.ndarray, from_dtype(CONES)[::1]]
CONE_ROWS = np.dtype(  # where the blocks of D that stand in the rows of a contact are
    [
        ("first", np.int64),  # the first contact that it moves
        ("end", np.int64),  # one after the last
        ("before", np.int64),  # blocks of the contacts before it
        ("width", np.int64),  # its tangents
        ("listed", np.int64),  # its number in the system
    ]
)
ConeRows = Annotated[np.ndarray, from_dtype(CONE_ROWS)[::1]]


class Contacts(NamedTuple):
    """w = D P + q: the active contacts, and Coulomb's law between w and P in each."""

    D: Matrix  # Delassus matrix of all rows, m/s per N s
    act: Integers  # (rows,) rows of D that take part: normals of m contacts, then tangents
    m: int  # contacts
    rows: int
    place: Integers  # (m,) where in `act` the first tangent of a contact stands; -1: none
    tangents: Integers  # (n_c + 1,) contact a has the rows tangents[a] to tangents[a + 1] - 1 of D
    mu: Vector  # (m,) the coefficient that counts
    q: Vector  # (rows,) velocities at P = 0, m/s
    P: Vector  # (rows,) impulses, N s
    mode: Integers  # by contact: OPEN, STICK, or the sign with which it slides, in space 1


class Friction(NamedTuple):
    """Coefficients of friction, and what the tangents do at the start of the step."""

    kinetic: Vector  # (n_t,) mu of the tangents
    static: Vector  # (n_t,) mu_s
    slip: Vector  # (n_rows,) sliding velocities, those of the normals first
    before: Flags  # (n_rows,) STICK, or else


class FrictionOptions(NamedTuple):
    """How the problem is solved."""

    lcp: LcpOptions
    cones: int  # GAUSS_SEIDEL, PROJECTED_GRADIENT; 0: all friction is along lines


class ActiveSet(NamedTuple):
    """The equations of the contacts that hold, see `coulomb.exchange`."""

    A: Matrix  # (rows, rows)
    b: Vector  # (rows,) right side
    x: Vector  # (rows,) solution
    chosen: Integers  # (rows,) rows of the list that are unknowns
    pivots: Integers  # (rows,)


class Glocker(NamedTuple):
    """The problem of `glocker_lcp`."""

    B: Matrix  # (3 m, 3 m)
    g: Vector  # (3 m,)
    x: Vector  # (3 m,) its solution
    sigma: Integers  # (rows,)
    order: Integers  # (3 m,) 0, 1, 2, ...
    work: LcpWorkspace


class ConeVectors(NamedTuple):
    """Vectors of three entries a contact, normal and two tangents, where no shape is given."""

    q: Vector  # velocities at P = 0, m/s
    P: Vector  # impulses, N s
    DP: Vector  # D times them
    Y: Vector  # a point near P; a step of Newton's method
    DY: Vector  # D times it; the best impulses, while Newton's method runs
    P_old: Vector  # P before
    DP_old: Vector  # D times it; a proximal point, while Newton's method runs
    q_kept: Vector  # q, while a proximal term is added to it
    size: Vector  # (m,) of the block of D that a contact has on the diagonal
    shift: Vector  # (m,) s = mu |w_T|, m/s


class Cones(NamedTuple):
    """Contacts in space: D as blocks of 3 x 3, and vectors of three entries a contact."""

    B: Vector  # the blocks, row by row
    rows: ConeRows  # (m,) where they are
    m: int  # contacts
    mu: Vector  # (m,)
    vec: ConeVectors
    A: Matrix  # matrix of Newton's method
    pivots: Integers  # (3 m,) its rows exchanged


class ConeWorkspace(NamedTuple):
    """What `cone.in_space` writes."""

    A: Matrix  # matrix of Newton's method
    blocks: Matrix  # at least 9 m^2 entries
    rows: ConeRows
    vec: ConeVectors
    pivots: Integers
    kept: KeptCones  # (1,) the blocks and rows are those of the last call


class FrictionWorkspace(NamedTuple):
    """What the solvers write."""

    active: ActiveSet
    glocker: Glocker
    cones: ConeWorkspace


def friction_workspace(contacts: int, tangents: int, lcp: LcpWorkspace) -> FrictionWorkspace:
    """Return the workspace for so many contacts and tangents; it shares the matrices of `lcp`."""
    return _made(contacts, tangents, lcp) if tangents else _unused()


@functools.cache
def _unused() -> FrictionWorkspace:
    return _made(0, 0, lcp_workspace(0, 0))


def _made(contacts: int, tangents: int, lcp: LcpWorkspace) -> FrictionWorkspace:
    rows, m, n_c = contacts + tangents, lcp.A.shape[0], contacts if tangents else 0
    B, (b, x, g, z) = np.empty((m, m)), np.empty((4, max(rows, m)))
    chosen, pivots, sigma = np.zeros((3, rows), np.int64)
    kept = np.array([(-1,)], CONES)
    vec = ConeVectors(*np.empty((8, 3 * n_c)), *np.empty((2, n_c)))
    return FrictionWorkspace(
        ActiveSet(lcp.A, b, x, chosen, pivots),
        Glocker(B, g, z, sigma, np.zeros(m, np.int64), lcp_workspace(m, 0, lcp)),
        ConeWorkspace(lcp.A, B, np.zeros(n_c, CONE_ROWS), vec, np.zeros(3 * n_c, np.int64), kept),
    )
