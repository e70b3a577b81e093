"""A model's native functions as kernels call them, and sparse rows."""

from __future__ import annotations

from typing import NamedTuple

from explorer.kernels.structures import Integers, Table, Vector

__all__ = ["COMPLIANCE", "FORCE", "GAP", "INERTIA", "MASS", "SPRINGS", "STEP", "Bundles", "Rows"]

# rows of `Bundles.table`
FORCE = 0  # F
MASS = 1  # the entries of M
STEP = 2  # F, then the entries of F_q, then those of F_v
GAP = 3  # gaps, velocities of the rows of G at v = 0, entries of G, mu, mu_s, phi
INERTIA = 4  # the entries of (M a)_q
COMPLIANCE = 4  # of `moreau_jean` instead: d(lam), then the entries of D
SPRINGS = 5  # see `bilinear_springs`


class Bundles(NamedTuple):
    """Native functions of a model, ``void f(double* out, const double* in, void* data)``."""

    table: Table  # (k, 2) address and data of each, in the order above
    inp: Vector  # (1 + 2 n + p + more,) [t, q, v, rho] and what some take besides; rho is read
    out: Vector  # what the last one has written


class Rows(NamedTuple):
    """A sparse matrix by rows."""

    ptr: Integers  # (rows + 1,) row i has the entries ptr[i] to ptr[i + 1] - 1
    col: Integers  # (entries,)
    val: Vector  # (entries,)
