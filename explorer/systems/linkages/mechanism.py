"""From the parts of a mechanism to a `MechanicalSystem` that starts on its constraints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import sympy as sp

from explorer.errors import BadModel
from explorer.systems.assembly import dependence
from explorer.systems.linkages.assembly import Equations
from explorer.systems.linkages.parts import Drawing, Parts, Vector
from explorer.systems.mechanical import MechanicalSystem
from explorer.types import Names, Value

__all__ = ["Mechanism"]

_EXACT = 1e-12  # m: a start by formulas that is so close stays a formula


class Mechanism(Parts):
    """Base of `Linkage` and `Multibody`: the system that their parts make."""

    references: ClassVar[tuple[str, ...]] = ()

    def system(
        self,
        *,
        hold: Names = (),
        redundant: bool = False,
        t_end: float | None = None,
        h: float | None = None,
    ) -> MechanicalSystem:
        """Return the mechanical system of all parts, with a start that satisfies its constraints.

        A start that satisfies them as it is given stays as it is, formulas included. Any other is
        assembled: the places that are nearest to the given ones, at the given parameters, and
        velocities likewise (see `explorer.assemble`). For other parameters it is assembled again.

        Parameters
        ----------
        hold : str or list of str
            What keeps its given place while all else may move: coordinates, or points and bodies;
            and its velocity, as far as the constraints allow it.
        redundant : bool
            Whether constraints may depend on each other. Few schemes take such a system.
        t_end, h : float, optional
            Time span and step in s.

        Raises
        ------
        BadModel
            If parts have no mass, or constraints cannot be satisfied near the start, contradict
            each other or depend on each other. The message has their names.
        """
        q = [*self._start]
        if not q:
            raise BadModel(f"'{self.name}' has nothing that moves: add a point or a body.")
        self._check_mass()
        names = list(self._units)
        rows = [[self._mass.get((i, j), sp.Integer(0)) for j in q] for i in q]
        system = MechanicalSystem(
            self.name,
            names,
            units=[self._units[name] for name in names],
            params=self.parameters,
            mass=rows,
            force=[self._force.get(x, sp.Integer(0)) for x in q],
            potential=self._potential,
            constraints=self._constraints,
            contacts=self._contacts,
            text=self.text,
        )
        start_q, start_v = zip(*self._start.values(), strict=True)
        held = self._held(hold)
        free = np.array([x.name not in held for x in q])
        q0, v0 = self._begin(system, start_q, start_v, free, redundant)
        follows = [x.name for x in q if x.name not in held] if system.constraints else None
        system.start(q0, v0, t_end=t_end, h=h, assemble=follows)
        system.start(redundant=redundant and bool(system.constraints))
        system.references = self.references
        size, parts = 0.02 * self._extent(), self._ordered()
        system.sketch(lambda: [shape for draw in parts for shape in draw(size)])
        return system

    def _check_mass(self) -> None:
        """Refuse coordinates without mass."""
        for q in self._start:
            if self._number(self._mass.get((q, q), sp.Integer(0))) <= 0:
                raise BadModel(
                    f"The coordinate {q.name!r} of '{self.name}' has no mass: give the point a "
                    "mass, or a bar with mass that ends there."
                )

    def _held(self, hold: Names) -> set[str]:
        held: set[str] = set()
        for name in [hold] if isinstance(hold, str) else hold:
            own = self._coordinates_of(name)
            if not own:
                raise self._unknown(name, "point, body or coordinate", self._units)
            held.update(own)
        return held

    def _coordinates_of(self, name: str) -> list[str]:
        """Return the coordinates that a name stands for."""
        return [c for c in self._units if c == name or c.partition("_")[2] == name]

    def _begin(
        self,
        system: MechanicalSystem,
        start_q: Sequence[sp.Expr],
        start_v: Sequence[sp.Expr],
        free: np.ndarray,
        redundant: bool,
    ) -> tuple[list[Value], list[Value]]:
        """Return the start (n,), (n,): formulas where they hold, else numbers."""
        constraints = (*system.constraints, *self._guides)
        if not constraints:
            return list(start_q), list(start_v)
        equations = Equations(system, constraints, {})
        q0, v0 = equations.start(start_q), equations.start(start_v)
        phi, phi_t, G = equations(0.0, q0)
        if not np.abs(phi).max() <= _EXACT:
            q0 = equations.place(0.0, q0, free)
            start_q = self._kept(start_q, equations.start(start_q), q0)
            phi, phi_t, G = equations(0.0, q0)
        if not redundant and (words := dependence(constraints, G)):
            raise BadModel(
                f"The constraints of '{self.name}' are not independent at the start: {words}, so "
                "their forces are not determined. Remove one of them, start elsewhere, or accept "
                "it with system(redundant=True)."
            )
        if not np.abs(G @ v0 + phi_t).max() <= _EXACT * (1 + np.abs(v0).max()):
            start_v = self._kept(start_v, v0, equations.speeds(0.0, q0, v0, free)[0])
        return list(start_q), list(start_v)

    def _kept(
        self, given: Sequence[sp.Expr], numbers: np.ndarray, found: np.ndarray
    ) -> Sequence[Value]:
        """Return what is `found` from `numbers`, as the formulas that are given where they hold.

        Where one depends on a parameter and does not hold, all are the guess that each run begins
        to assemble with: it moves with the parameter.
        """
        off = np.abs(found - numbers) > _EXACT * (1 + np.abs(found).max())
        moves = any(sp.sympify(f).free_symbols for f, o in zip(given, off, strict=True) if o)
        if moves and not self._guides:
            return given
        return [y if o else old for old, o, y in zip(given, off, found.tolist(), strict=True)]

    # -- the sketch ---------------------------------------------------------------------------

    def _ordered(self) -> list[Drawing]:
        """Return what draws the parts, from back to front."""
        return [draw for draw, _ in self._drawings]

    def _flat(self, place: Vector) -> tuple[sp.Expr, sp.Expr]:
        """Return where a place is in the picture."""
        x, y = place
        return x, y

    def _extent(self) -> float:
        """Return the size of the mechanism at the start in m."""
        return 1.0
