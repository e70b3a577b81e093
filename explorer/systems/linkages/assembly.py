"""Consistent starts of a system: `assemble`, with the constraints as functions of NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import sympy as sp

from explorer.arguments import a
from explorer.errors import BadModel, suggest
from explorer.systems.arrays import by_name, vector
from explorer.systems.assembly import Assembler
from explorer.systems.constraints import Constraint
from explorer.systems.kinks import slope
from explorer.systems.lagrangian import LagrangianSystem
from explorer.systems.units import constraint_units
from explorer.types import FormulaVector, Names, Numbers

__all__ = ["Equations", "assemble"]


class Equations(Assembler):
    """The constraints phi of a system at fixed parameters, as functions of numbers.

    Parameters
    ----------
    system : LagrangianSystem
    constraints : tuple of Constraint
        (m,), formulas that the system has checked.
    rho : dict of str to float
        Changed parameters.
    """

    def __init__(
        self, system: LagrangianSystem, constraints: tuple[Constraint, ...], rho: Numbers
    ) -> None:
        units = [unit for unit, _ in constraint_units(system)]
        units += ["m"] * (len(constraints) - len(units))  # gaps that are closed from both sides
        super().__init__(system.name, constraints, self._at, units=units)
        self.system = system
        self._rho = system.rho(rho)
        phi = [c.phi for c in constraints]
        places, entries = [], []
        where = {q: j for j, q in enumerate(system.q)}
        for i, f in enumerate(phi):
            for q in sorted(f.free_symbols & {*where}, key=where.__getitem__):
                places.append((i, where[q]))
                entries.append(slope(f, q))
        arguments = [system.t, *system.q, *map(sp.Symbol, system.parameters)]
        outputs = [*phi, *(slope(f, system.t) if f.has(system.t) else 0 for f in phi), *entries]
        self._places = tuple(np.array(places, int).reshape(-1, 2).T)
        self._formulas = sp.lambdify(arguments, outputs, "numpy", cse=True)

    def _at(self, t: float, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        m = len(self.constraints)
        with np.errstate(all="ignore"):
            found = np.array(self._formulas(t, *q, *self._rho), float)
        G = np.zeros((m, self.system.n))
        G[self._places] = found[2 * m :]
        return found[:m], found[m : 2 * m], G

    def start(self, formulas: Sequence[sp.Expr]) -> np.ndarray:
        """Return the numbers of formulas of the parameters."""
        names = [sp.Symbol(name) for name in self.system.parameters]
        values = sp.lambdify(names, list(formulas), "numpy", cse=True)
        return np.array(values(*self._rho), float)


def assemble(
    system: LagrangianSystem,
    q: FormulaVector | None = None,
    v: FormulaVector | None = None,
    *,
    hold: Names = (),
    t: float = 0.0,
    rho: Numbers | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return a start that satisfies the constraints of a system, next to a guess.

    Parameters
    ----------
    system : MechanicalSystem or LinearMechanicalSystem
    q, v : (n,) numbers or formulas of the parameters, optional
        The guess; the start of the system by default. Of several ways to assemble a system, the
        guess decides.
    hold : str or list of str
        Coordinates that keep their guess, and their velocities as far as constraints allow it; all
        others may change.
    t : float
        Time in s.
    rho : dict of str to float, optional
        Changed parameters.

    Returns
    -------
    q, v : (n,) float
        phi(t, q) = 0 and phi_q v + phi_t = 0 to round-off, with the least change of the guess.

    Raises
    ------
    BadModel
        If there is no such place near the guess, or no such velocity: the message has the residual
        and the names of the constraints.

    Examples
    --------
    >>> import explorer as ex
    >>> bead = ex.MechanicalSystem("bead", q="x y", mass=[[1, 0], [0, 1]],
    ...                            constraints=["(x**2 + y**2 - 1)/2"])
    >>> q, v = ex.assemble(bead, q=[3, 4], v=[1, 0])
    >>> q.round(6).tolist(), v.round(6).tolist()
    ([0.6, 0.8], [0.64, -0.48])
    """
    a(system, LagrangianSystem, "a mechanical system", "assemble(ex.MechanicalSystem(...))")
    known = system.symbols(state=False)
    equations = Equations(system, system.constraints, rho or {})
    given = []
    for what, value, rest in (("q", q, system.start_q), ("v", v, system.start_v)):
        label = f"The guess {what} of '{system.name}'"
        full = rest if value is None else by_name(value, system.coordinates, label, rest)
        given.append(equations.start(vector(full, system.n, known, label)))
    free = np.ones(system.n, bool)
    for name in [hold] if isinstance(hold, str) else hold:
        if name not in system.coordinates:
            raise BadModel(
                f"'{system.name}' has no coordinate {name!r} to hold."
                f"{suggest(name, system.coordinates)}"
            )
        free[system.coordinates.index(name)] = False
    place = equations.place(t, given[0], free)
    return place, equations.speeds(t, place, given[1], free)[0]
