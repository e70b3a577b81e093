"""Cost functionals psi = int_0^T g(t, q, v, a, rho) dt + w(T, q, v, rho).

Corner et al. 2019, eq. (5)-(9). Accelerations enter g as ``a_<coordinate>`` (of a system x' = ...:
``d_<state>``) and forces of contacts and constraints as ``lam_<name>``; they are those of the flow,
so an impulse never enters the integral.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import sympy as sp

from explorer.arguments import Checked
from explorer.compiled import Bundle, Flow, Remade, Switched
from explorer.errors import BadModel, BadValue
from explorer.schemes import Scheme
from explorer.systems import System
from explorer.systems.driving import along
from explorer.systems.expressions import expression
from explorer.systems.kinks import slope
from explorer.systems.units import measured, product, symbol_units
from explorer.types import Formulas, Value

__all__ = ["CompiledCost", "Cost", "CostLike", "compile_cost"]

Equations: TypeAlias = Flow | Switched  # as the kernels of a scheme take them


@dataclass(frozen=True)
class Cost(metaclass=Checked):
    """A cost functional.

    Parameters
    ----------
    g : formula, optional
        Running cost of t, states, accelerations, forces and parameters.
    w : formula, optional
        Terminal cost of t, states and parameters.

    Examples
    --------
    >>> import explorer as ex
    >>> ex.Cost(g="v_y**2", w="y - 1")
    Cost(g='v_y**2', w='y - 1')
    """

    g: Value | None = None
    w: Value | None = None

    @classmethod
    def of(cls, value: CostLike | None) -> Cost:
        """Return a Cost from what a user gives: nothing, a formula (a running cost), or a dict."""
        if value is None or isinstance(value, cls):
            return value or _NONE
        if isinstance(value, Mapping):
            unknown = set(value) - {"g", "w"}
            if unknown:
                raise BadValue(f"A cost has the parts g and w, not {sorted(unknown)[0]!r}.")
            return cls(**value)
        return cls(g=value)


_NONE = Cost()
CostLike: TypeAlias = "Cost | Value | Formulas"  # as users write it


class CompiledCost(Remade):
    """A cost for one system.

    Attributes
    ----------
    flow : Flow or Switched
        The system with the running cost, as the scheme's kernels take it.
    units : (str or None, str or None)
        Of z, the integral, and of psi; None where they are not known or terms do not agree.
    """

    def __init__(self, system: System, cost: Cost, plain: Equations) -> None:
        self.system, self.cost, self.plain = system, cost, plain
        names = system.symbols()
        rates = {s.name: s for s in plain.rates if not s.name.startswith("_")}
        g = None
        if cost.g is not None:
            forces = getattr(plain, "forces", {})
            own = {sp.Symbol(name): force for name, force in forces.items() if name not in names}
            known = {s.name: s for s in own} | names | rates
            g = self._read(cost.g, known, f"running cost of '{system.name}'").subs(own)
            g = along(system, g)
        self.running: sp.Expr | None = g
        self.flow: Any = plain if g is None else plain.with_cost(g)
        self._terminal: Bundle | None = None
        units = symbol_units(system)
        rate = None if g is None else measured(g, units)
        integral = "" if g is None else None if rate is None else product(rate, system.time_unit)
        self.units = integral, integral
        if cost.w is not None:
            w = along(system, self._read(cost.w, names, f"terminal cost of '{system.name}'"))
            variables = [system.t, *plain.states, *(sp.Symbol(k) for k in system.parameters)]
            end = measured(w, units)
            self.units = integral, end if g is None or end == integral else None
            self._terminal = plain.outputs([w, *(slope(w, x) for x in variables)])

    def recipe(self) -> tuple[Callable[..., CompiledCost], tuple[object, ...]]:
        """Return what makes it again."""
        return _again, (self.system, self.cost, self.plain, self.flow)

    def of(self, flow: Equations) -> CompiledCost:
        """Return the same cost for the same flow begun in another mode."""
        if flow is self.flow:
            return self
        other = copy.copy(self)
        other.flow = flow
        return other

    @staticmethod
    def _read(formula: Value, names: Mapping[str, sp.Expr], what: str) -> sp.Expr:
        try:
            return expression(formula, names, what)
        except BadModel as error:
            raise BadValue(
                f"{error} A running cost may use t, the states, accelerations (a_<coordinate>), "
                "forces (lam_<name>) and parameters, but no impulses; a terminal one only t, the "
                "states and parameters."
            ) from None

    def terminal(
        self, t: float, x: np.ndarray, rho: np.ndarray
    ) -> tuple[float, float, np.ndarray, np.ndarray]:
        """Return w, w_t, w_x (n_x,), w_rho (n_rho,); with inputs behind t, if they jump there."""
        if self._terminal is None:
            return 0.0, 0.0, np.zeros(self.flow.n_x), np.zeros(self.flow.n_rho)
        inp = self.flow.input(rho)
        inp[0], inp[1 : 1 + self.flow.n_x] = t, x
        w = self._terminal(inp)
        n_x = self.flow.n_x
        return w[0], w[1], w[2 : 2 + n_x], w[2 + n_x :]


def compile_cost(system: System, cost: Cost, scheme: Scheme) -> CompiledCost:
    """Return the cost for a scheme; compiled once for each change of the equations and the cost."""
    kept: dict[tuple[str, str, Equations], CompiledCost] = system.made.setdefault("costs", {})
    plain = scheme.compile(system)
    key = (str(cost.g), str(cost.w), plain)
    if key not in kept:
        while len(kept) > 8:
            kept.pop(next(iter(kept)))
        kept[key] = CompiledCost(system, cost, plain)
    return kept[key]


def _again(system: System, cost: Cost, plain: Equations, flow: Equations) -> CompiledCost:
    return CompiledCost(system, cost, plain).of(flow)
