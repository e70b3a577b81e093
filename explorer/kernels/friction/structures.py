"""What the solvers of contact problems with Coulomb friction work on."""

from __future__ import annotations

import functools
from typing import Annotated, NamedTuple

import numpy as np
from numba import from_dtype

from explorer.kernels.complementarity.structures import LcpOptions, LcpWorkspace, lcp_workspace
from explorer.kernels.structures import Flags, Integers, Matrix, Table, Vector

__all__ = [
    "CONES",
    "ActiveSet",
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


class Cones(NamedTuple):
    """Contacts in space: D as blocks of 3 x 3, and vectors of three entries a contact."""

    B: Vector  # the blocks, row by row
    graph: Table  # (6, .) where they are: see `cone_blocks`
    m: int  # contacts
    mu: Vector  # (m,)
    vec: Matrix  # (9, 3 m) vectors: see `cone_blocks`
    A: Matrix  # matrix of Newton's method


class ConeWorkspace(NamedTuple):
    """What `cone.in_space` writes."""

    A: Matrix  # matrix of Newton's method
    blocks: Matrix  # at least 9 m^2 entries
    graph: Table
    vec: Matrix
    kept: KeptCones  # (1,) the blocks and graph are those of the last call


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
    rows, m, wide = contacts + tangents, lcp.A.shape[0], 3 * contacts if tangents else 0
    B, (b, x, g, z) = np.empty((m, m)), np.empty((4, max(rows, m)))
    chosen, pivots, sigma = np.zeros((3, rows), np.int64)
    kept = np.array([(-1,)], CONES)
    return FrictionWorkspace(
        ActiveSet(lcp.A, b, x, chosen, pivots),
        Glocker(B, g, z, sigma, np.zeros(m, np.int64), lcp_workspace(m, 0, lcp)),
        ConeWorkspace(lcp.A, B, np.zeros((6, wide), np.int64), np.empty((9, wide)), kept),
    )
