"""The formulas of an optimal control problem as CasADi functions.

The system is x' = f(t, x, m, u, p) with the multipliers m of its switching functions c(t, x, u, p)
(Nurkanovic, Frey, Pozharskiy and Diehl 2023, doi:10.48550/arXiv.2303.18066). In the step form, (9)
and (10), m is alpha, one for each switching function. In Stewart's form, (13), m is theta, one for
each pattern of signs of the functions of a subsystem.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import sympy as sp

from explorer.errors import NotApplicable
from explorer.systems import FilippovSystem, StepSystem, System
from explorer.systems.kinks import slope
from explorer.transcription.casadi_functions import casadi, function
from explorer.transcription.lifting import Lifting

if TYPE_CHECKING:
    from casadi import Function

__all__ = ["Costs", "Formulas", "arguments", "formulas"]


@dataclass(frozen=True)
class Costs:
    """What a problem asks of a system, as SymPy formulas.

    Attributes
    ----------
    running : formula of t, states, controls and parameters; its integral is a cost
    terminal : formula of the final time t, the final state and parameters
    path : tuple of formulas that are in a range at all times
    end : tuple of formulas that are in a range at the final time
    knots : tuple of formulas that are in a range at the end of each control interval
    algebraic : tuple of symbols of variables that equations determine
    equations : tuple of formulas that are zero at all times
    """

    running: sp.Expr = field(default_factory=lambda: sp.Integer(0))
    terminal: sp.Expr = field(default_factory=lambda: sp.Integer(0))
    path: tuple[sp.Expr, ...] = ()
    end: tuple[sp.Expr, ...] = ()
    knots: tuple[sp.Expr, ...] = ()
    algebraic: tuple[sp.Symbol, ...] = ()
    equations: tuple[sp.Expr, ...] = ()


@dataclass(frozen=True)
class Formulas:
    """CasADi functions of a system and its costs.

    Controls and algebraic variables of a stage are one argument u (n_u + n_z,).

    Attributes
    ----------
    n_x, n_u, n_p, n_c : int
        States, controls, parameters, switching functions.
    flow : x' of (t, x, m, u, p), where m has the lifted products b behind the multipliers
    switching : c of (t, x, u, p)
    rates : dc/dt of (t, x, m, u, p)
    slide : dc/dt and its derivative by m, of the same
    running, path : of (t, x, u, p)
    terminal, end, knot : of (t, x, z, p)
    cells : tuple of (indices, (n_cells, count) signs), or None
        In Stewart's form, of each subsystem the switching functions and the signs of its cells.
    edges : tuple of (int, int)
        Of a hybrid system, for each guard the mode before and after it; its functions c are those
        that the guards keep negative. Empty for a system with step functions.
    jumps : of (t, x, u, p), or None
        The jumps (n_guards * n_x) of the state at the guards.
    modes : int
        Modes of a hybrid system.
    conditions : of (t, x, u, p), or None
        What must be positive for each guard to be taken.
    jumping : tuple of bool
        Of each guard, whether the state jumps there.
    driven : tuple of bool
        Of each guard, whether it depends on controls: then their jump may pass it.
    n_z : int
        Algebraic variables.
    equations : of (t, x, u, p), or None
        What is zero, (n_z,).
    n_beta : int
        Lifted products of multipliers.
    products : of the same as `flow`, or None
        What they are, each of multipliers and those before, (n_beta,).
    """

    n_x: int
    n_u: int
    n_p: int
    n_c: int
    flow: Function
    switching: Function
    rates: Function
    slide: Function
    running: Function
    path: Function
    terminal: Function
    end: Function
    cells: tuple[tuple[np.ndarray, np.ndarray], ...] | None
    edges: tuple[tuple[int, int], ...] = ()
    jumps: Function | None = None
    modes: int = 0
    conditions: Function | None = None
    driven: tuple[bool, ...] = ()
    jumping: tuple[bool, ...] = ()
    knot: Function | None = None
    n_z: int = 0
    equations: Function | None = None
    n_beta: int = 0
    products: Function | None = None

    @property
    def n_signs(self) -> int:
        """Numbers that tell an active set: the signs of all functions, or one mode."""
        return 1 if self.modes else self.n_c

    @property
    def n_lam(self) -> int:
        """Multipliers lambda of a stage."""
        if self.modes:
            return self.n_c
        return 2 * self.n_c if self.cells is None else self.n_m

    @property
    def n_m(self) -> int:
        """Multipliers of the right-hand side: alpha, theta, or the weights of the modes."""
        if self.modes:
            return self.modes
        return self.n_c if self.cells is None else sum(len(signs) for _, signs in self.cells)


def formulas(
    system: StepSystem,
    controls: Sequence[str],
    costs: Costs,
    stewart: bool = False,
    lifting: bool = False,
) -> Formulas:
    """Return the functions of a problem.

    Parameters
    ----------
    system : StepSystem
    controls : sequence of str
        Parameters of the system that are controls.
    costs : Costs
    stewart : bool
        Whether the multipliers are those of Stewart's form.
    lifting : bool
        Whether products of multipliers are variables of their own.

    Raises
    ------
    NotApplicable
        If CasADi is not installed, or a system without regions is asked for Stewart's form.
    BadModel
        If CasADi lacks a function that a formula uses.
    """
    if stewart and not isinstance(system, FilippovSystem):
        raise NotApplicable(
            f"Stewart's form combines the fields of regions, but '{system.name}' is a "
            f"{system.kind} without regions. Use representation='step'."
        )
    t, x = [system.t], list(system.x)
    u, p = arguments(system, controls, costs)
    c = [s.c for s in system.switches]
    cells = None
    m, f = [s.alpha for s in system.switches], list(system.f)
    if stewart and isinstance(system, FilippovSystem):
        m, f, cells = _stewart(system)
    at, end = [t, x, u, p], [t, x, costs.algebraic, p]
    rates = [
        slope(g, system.t)
        + sum((slope(g, a) * b for a, b in zip(x, f, strict=True)), sp.Integer(0))
        for g in c
    ]
    products = Lifting(m)
    flow = [products(one) for one in f] if lifting else f
    given = [t, x, [*m, *products.symbols], u, p]
    return Formulas(
        len(x),
        len(controls),
        len(p),
        len(c),
        function("flow", given, [flow]),
        function("switching", at, [c]),
        by_rates := function("rates", [t, x, m, u, p], [rates]),
        _with_slope(by_rates),
        function("running", at, [[costs.running]]),
        function("path", at, [costs.path]),
        function("terminal", end, [[costs.terminal]]),
        function("end", end, [costs.end]),
        cells,
        knot=function("knot", end, [costs.knots]),
        n_z=len(costs.algebraic),
        equations=function("equations", at, [costs.equations]),
        n_beta=len(products.symbols),
        products=function("products", given, [products.products]),
    )


def arguments(
    system: System, controls: Sequence[str], costs: Costs
) -> tuple[list[sp.Symbol], list[sp.Symbol]]:
    """Return the symbols of controls and algebraic variables, and those of other parameters."""
    u = [*map(sp.Symbol, controls), *costs.algebraic]
    return u, [p for p in map(sp.Symbol, system.parameters) if p not in u]


def _with_slope(rates: Function) -> Function:
    """Return dc/dt together with its derivative by the multipliers."""
    ca = casadi()
    given = [ca.SX.sym(f"a{i}", rates.size1_in(i)) for i in range(rates.n_in())]
    value = rates(*given)
    return ca.Function("slide", given, [value, ca.jacobian(value, given[2])])


def _stewart(
    system: FilippovSystem,
) -> tuple[list[sp.Symbol], list[sp.Expr], tuple[tuple[np.ndarray, np.ndarray], ...]]:
    """Return theta, x', and the cells: all patterns of signs, since S must have no zero there."""
    theta: list[sp.Symbol] = []
    flow = [sp.Integer(0)] * system.n
    cells = []
    for subsystem in system.subsystems:
        patterns = []
        for corner in itertools.product((0, 1), repeat=subsystem.count):
            region = subsystem.cells[sum(bit << j for j, bit in enumerate(corner))]
            if region < 0:
                continue
            weight = sp.Symbol(f"_theta_{len(theta)}")
            theta.append(weight)
            patterns.append([2 * bit - 1 for bit in corner])
            field = subsystem.regions[region].field
            flow = [a + weight * g for a, g in zip(flow, field, strict=True)]
        functions = np.arange(subsystem.first, subsystem.first + subsystem.count)
        cells.append((functions, np.array(patterns)))
    return theta, flow, tuple(cells)
