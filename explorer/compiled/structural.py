"""What the Newmark family needs of a mechanical system: tangents of the inertia, yielding springs.

The input vector of the inertia goes on behind rho with the accelerations a.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import symengine as se
import sympy as sp

from explorer.compiled.bundle import Bundle, Expr, smooth
from explorer.systems import LagrangianSystem, MechanicalSystem
from explorer.systems.kinks import SHARP

if TYPE_CHECKING:
    from explorer.kernels.model.structures import Bundles

__all__ = ["Structural", "structural"]


class Structural(NamedTuple):
    """What `explorer.kernels.time_stepping.newmark` takes.

    Attributes
    ----------
    table : (6, 2) int64
        Addresses: those of `Compiled.table`, then (M a)_q and the springs.
    inertia : (k,) int64
        Flat places of the entries of (M a)_q.
    pattern : (springs + 1 + entries,) int64
        Where the elongations depend on coordinates, see
        `explorer.kernels.time_stepping.bilinear_springs.Springs`.
    bands : (6,) int64
        Lower and upper bandwidth of M, of M and C, and of all matrices together.
    moves, analytic : bool
        Whether M depends on q; whether F and M are free of cases and fractional powers.
    most : int
        Largest number of outputs.
    bundles : what the addresses belong to
    """

    table: np.ndarray
    inertia: np.ndarray
    pattern: np.ndarray
    bands: np.ndarray
    moves: bool
    analytic: bool
    most: int
    bundles: tuple[Bundle, ...]

    def at(self, inp: np.ndarray) -> Bundles:
        """Return the bundles as kernels evaluate them at an input vector."""
        from explorer.kernels.model.structures import Bundles

        return Bundles(self.table, inp, np.empty(self.most + 1))


class Equations(Protocol):
    """A compiled mechanical system, such as `explorer.compiled.mechanical.Compiled`."""

    system: LagrangianSystem
    args: list[Expr]
    table: np.ndarray  # (4, 2) int64, addresses
    place_M: np.ndarray  # noqa: N815 (flat places of the entries of M, K and C)
    place_K: np.ndarray  # noqa: N815
    place_C: np.ndarray  # noqa: N815
    most: int  # largest number of outputs

    @property
    def n(self) -> int:
        """Number of coordinates."""

    def jacobian(
        self, functions: Sequence[Expr], variables: Sequence[Expr]
    ) -> tuple[list[Expr], np.ndarray]:
        """Return the entries of a Jacobian that are not 0, and their flat places."""

    def bundle(self, outputs: Sequence[Expr]) -> Bundle:
        """Return a native function of the system's input vector."""


def structural(compiled: Equations) -> Structural:
    """Return the functions of a compiled system that the Newmark family needs."""
    system, n, q = compiled.system, compiled.n, compiled.args[1 : 1 + compiled.n]
    symbolic = isinstance(system, MechanicalSystem)
    state = {*system.q, *system.v}
    formulas = [*system.mass, *system.force] if symbolic else []
    moves = symbolic and any(x.free_symbols & state for x in system.mass)
    a = [se.Symbol(f"_a_{k}") for k in range(n)]
    M = [[smooth(x) for x in row] for row in system.mass.tolist()] if moves else []
    rows = [sum((m * s for m, s in zip(row, a, strict=True)), se.Integer(0)) for row in M]
    entries, inertia = compiled.jacobian(rows, q)
    springs = [
        [smooth(getattr(s, k)) for s in system.springs] for k in ("elongation", "k", "f_y", "b")
    ]
    along, places = compiled.jacobian(springs[0], q)
    spring, stretched = places // n, places % n
    count = len(springs[0])
    ends = np.searchsorted(spring, np.arange(count + 1))
    pattern = np.append(count + 1 + ends, stretched).astype(np.int64)
    bundles = (
        Bundle([*compiled.args, *a], entries),
        compiled.bundle([x for row in springs for x in row] + along),
    )
    sets = np.split(stretched, ends[1:-1]) if count else []
    coupled = np.concatenate([places[:0], *(np.add.outer(n * x, x).ravel() for x in sets)])
    explicit = np.append(compiled.place_M, compiled.place_C)
    tangent = np.concatenate([explicit, compiled.place_K, inertia, coupled])
    bands = [side for x in (compiled.place_M, explicit, tangent) for side in _band(x, n)]
    more = np.array([[b.address, b.data] for b in bundles])
    return Structural(
        np.concatenate([compiled.table, more]),
        inertia,
        pattern,
        np.array(bands),
        moves,
        not any(_sharp(x, state) for x in formulas),
        max(compiled.most, *(b.size for b in bundles)),
        bundles,
    )


def _band(places: np.ndarray, n: int) -> tuple[int, int]:
    """Return the lower and upper bandwidth of entries at flat places."""
    below = places // n - places % n
    return int(below.max(initial=0)), int(-below.min(initial=0))


def _sharp(formula: sp.Expr, state: set[sp.Symbol]) -> bool:
    """Whether a formula may have a kink in the state, where one tangent does not describe it."""
    return any(x.free_symbols & state for x in formula.atoms(*SHARP)) or any(
        x.base.free_symbols & state and not x.exp.is_Integer for x in formula.atoms(sp.Pow)
    )
