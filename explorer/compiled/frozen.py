"""A time-freezing system as the kernels take it, and what is read of its source along a run."""

from __future__ import annotations

import copy

import numpy as np
import sympy as sp

from explorer.compiled.bundle import Bundle, smooth
from explorer.compiled.compiling import compile_system
from explorer.compiled.remade import Recipe, Remade
from explorer.compiled.switched import Switched, compile_switched
from explorer.reformulations.time_freezing import FrozenSystem
from explorer.systems import HybridSystem, MechanicalSystem
from explorer.types import Reals

__all__ = ["OBSERVED", "Frozen", "compile_frozen"]

OBSERVED = ("gap", "gap_dot", "slip", "mu", "push", "pull")


class Frozen(Remade):
    """The native functions of a `FrozenSystem`.

    Attributes
    ----------
    system : System
        Whose time is frozen.
    switched : Switched
        The system with step functions.
    route : str
    n_x, n : int
        States and coordinates of `system`.
    observed : Bundle
        What `OBSERVED` says, of each contact, on the input vector of `switched`.
    """

    def __init__(self, frozen: FrozenSystem) -> None:
        self.system, self.frozen = frozen.source, frozen
        self.route = frozen.route
        self.switched: Switched = compile_switched(frozen)
        self.mechanical = isinstance(self.system, MechanicalSystem)
        self.n = self.system.n if isinstance(self.system, MechanicalSystem) else 0
        self.n_x = 2 * self.n or len(self.system.coordinates)
        self.observed = Bundle(
            self.switched._args,
            [smooth(sp.sympify(getattr(c, what))) for what in OBSERVED for c in frozen.held],
        )

    def recipe(self) -> Recipe:
        """Return how to make it again."""
        return compile_frozen, (self.frozen,)

    def start(self, rho: Reals) -> tuple[np.ndarray, np.ndarray]:
        """Return x0 (n_x,) and its derivative by all parameters (n_x, n_rho)."""
        x0, slope = self.switched.start([*rho, *self._more])
        return x0[: self.n_x], slope[: self.n_x, : len(rho)]

    @property
    def _more(self) -> list[float]:
        mine = self.frozen.parameters
        return [p.value for k, p in mine.items() if k not in self.system.parameters]

    def check(self, rho: Reals, x0: np.ndarray) -> None:
        """Refuse parameters or a start that make no sense.

        Raises
        ------
        BadModel, BadValue
            As `compile_system(...).check` says.
        """
        if not isinstance(self.system, MechanicalSystem):
            return
        compiled = compile_system(self.system)
        compiled.start(rho)
        inp = compiled.input(rho)
        inp[1 : 1 + self.n_x] = x0
        compiled.check(inp)

    def driven(self, system: MechanicalSystem | HybridSystem) -> Frozen:
        """Return the same functions for the same system with a drive."""
        other = copy.copy(self)
        other.system = system
        return other


def compile_frozen(frozen: FrozenSystem) -> Frozen:
    """Return the compiled system; compiled once for each change of the equations."""
    if "compiled frozen" not in frozen.made:
        frozen.made["compiled frozen"] = Frozen(frozen)
    compiled: Frozen = frozen.made["compiled frozen"]
    return compiled
