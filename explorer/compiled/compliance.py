"""How far contacts give way, d(lam) and D = dd/dlam (`explorer.systems.compliance`), in numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import symengine as se
import sympy as sp

from explorer.compiled.bundle import Bundle, Expr, Values, smooth
from explorer.errors import BadValue
from explorer.quantities import quantity
from explorer.systems import LagrangianSystem
from explorer.systems.compliance import deflection, multiplier

if TYPE_CHECKING:
    from explorer.kernels.time_stepping.compliant_contact import Compliance as CompliantContacts

__all__ = ["Compliance"]

_FORCES = 10.0 ** np.arange(-6, 7, 2)  # N, at which a D that depends on them is looked at
_ROUND_OFF = 1e-12


class Compliance:
    """The compliance of the contacts of a mechanical system.

    Parameters
    ----------
    system : LagrangianSystem
    args : list of symengine symbols
        Names of the input vector.

    Attributes
    ----------
    bends : bool
        Whether d(lam) is not linear: D depends on lam.
    ptr, col : int64
        CSR pattern of D; empty if it is but its diagonal.
    bundle : Bundle
        d and the entries of D, of an input vector with lam behind it; None if d is linear.
    """

    def __init__(self, system: LagrangianSystem, args: list[Expr]) -> None:
        self.system, self.nc = system, len(system.contacts)
        diagonal = [sp.S(c.compliance) for c in system.contacts]
        D = dict(system._D)
        lam = [multiplier(c.name) for c in system.contacts] if D else []
        self.bends = any(x.free_symbols & {*lam} for x in D.values())
        for a in range(self.nc if D else 0):
            if (a, a) not in D and diagonal[a] != 0:
                D[a, a] = diagonal[a]
        places = sorted(D)
        self.col = np.array([b for _, b in places], np.int64)
        rows = [a for a, _ in places]
        self.ptr = np.searchsorted(rows, np.arange(self.nc + 1)).astype(np.int64)
        self.bundle = None
        if self.bends:
            names = [*args, *map(se.sympify, lam)]
            given = [deflection(system.contacts, system._gives, a) for a in range(self.nc)]
            self.bundle = Bundle(names, [smooth(x) for x in (*given, *(D[k] for k in places))])
        self._values = None
        if not self.bends and any(x != 0 for x in diagonal):
            self._values = Values(args, [D[k] for k in places] if D else diagonal)

    def entries(self, inp: np.ndarray, lam: np.ndarray | None = None) -> np.ndarray:
        """Return the entries of D in its pattern; without one its diagonal, (n_c,) in m/N."""
        if self.bundle is not None:
            force = np.zeros(self.nc) if lam is None else lam
            return self.bundle(np.concatenate([inp, force]))[self.nc :]
        return np.zeros(self.nc) if self._values is None else self._values(inp)

    def matrix(self, inp: np.ndarray, lam: np.ndarray | None = None) -> np.ndarray:
        """Return D (n_c, n_c) in m/N."""
        entries = self.entries(inp, lam)
        if not self.col.size:
            return np.diag(entries)
        D = np.zeros((self.nc, self.nc))
        D[np.repeat(np.arange(self.nc), np.diff(self.ptr)), self.col] = entries
        return D

    def diagonal(self, inp: np.ndarray) -> np.ndarray:
        """Return the diagonal of D (n_c,) in m/N, the largest where it depends on lam."""
        if not self.col.size:
            return self.entries(inp)
        with np.errstate(all="ignore"):
            diagonals = np.array([D.diagonal() for D in self._looked_at(inp)])
        return np.asarray(np.where(np.isfinite(diagonals), diagonals, 0.0).max(axis=0))

    def _looked_at(self, inp: np.ndarray) -> list[np.ndarray]:
        """Return D at some forces; once if it does not depend on them."""
        if not self.bends:
            return [self.matrix(inp)]
        return [self.matrix(inp, np.full(self.nc, force)) for force in _FORCES]

    def given(self, inp: np.ndarray, lam: np.ndarray) -> np.ndarray:
        """Return d (n_t, n_c) in m of forces (n_t, n_c) in N."""
        if self.bundle is not None:
            head = np.concatenate([inp, np.zeros(self.nc)])
            deflections = np.empty_like(lam)
            for k, force in enumerate(lam):
                head[len(inp) :] = force
                deflections[k] = self.bundle(head)[: self.nc]
            return deflections
        if not self.col.size:
            return np.asarray(lam * self.entries(inp))
        given: np.ndarray = lam @ self.matrix(inp)
        return given

    def flex(self, inp: np.ndarray) -> CompliantContacts:
        """Return what the Moreau-Jean kernels take."""
        from explorer.kernels.time_stepping.compliant_contact import Compliance

        val = self.entries(inp).copy() if self.col.size else np.zeros(0)
        gap, given, point, force = np.empty((4, self.nc))
        return Compliance(self.diagonal(inp), self.ptr, self.col, val, gap, given, point, force)

    def check(self, inp: np.ndarray) -> np.ndarray:
        """Return `diagonal`; refuse a D that is not symmetric and positive semidefinite.

        Raises
        ------
        BadValue
        """
        name, diagonal = self.system.name, self.diagonal(inp)
        for contact, value in zip(self.system.contacts, diagonal, strict=True):
            if not value >= 0:
                raise BadValue(
                    f"The compliance of {contact.name!r} is {quantity(value, 'm/N')}, but it must "
                    "be >= 0 (0: rigid)."
                )
        if not self.col.size:
            return diagonal
        some = np.unique(self.col)
        for D in self._looked_at(inp):
            D = D[np.ix_(some, some)]
            if not np.isfinite(D).all():
                continue
            size, off = np.abs(D).max(), np.abs(D - D.T)
            if off.max() > _ROUND_OFF * size:
                a, b = np.unravel_index(off.argmax(), off.shape)
                here, back = (quantity(float(x), "m/N") for x in (D[a, b], D[b, a]))
                one, other = (self.system.contacts[some[k]].name for k in (a, b))
                raise BadValue(
                    f"The compliance of '{name}' is not symmetric: the force of {other!r} opens "
                    f"{one!r} by {here}, but the force of {one!r} opens {other!r} by {back}. Both "
                    "must be equal."
                )
            lowest = np.linalg.eigvalsh(D)[0]
            if lowest < -_ROUND_OFF * size:
                raise BadValue(
                    f"The compliance of '{name}' is not positive semidefinite: its smallest "
                    f"eigenvalue is {quantity(lowest, 'm/N')}, so contacts could produce energy. "
                    "Two contacts need D[0][0] D[1][1] >= D[0][1]^2."
                )
        return diagonal
