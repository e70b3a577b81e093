"""Algebraic variables: parameters of a system that equations determine at each time.

0 = g(t, x, z, u, p) with a regular matrix dg/dz, a differential-algebraic equation of index 1
(Brenan, Campbell and Petzold 1996, doi:10.1137/1.9781611971224). In a nonlinear program z is a
variable of each stage and g a row. The exact simulation eliminates z where g is linear in it, and
otherwise integrates dz/dt = -(dg/dz)^-1 (dg/dt + dg/dx x') from a root of g.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import sympy as sp

from explorer.arguments import items, mapping
from explorer.control.ranges import pair
from explorer.control.states import states_of
from explorer.control.unknowns import formulas_of
from explorer.errors import BadModel, BadValue, NotApplicable, suggest
from explorer.systems import StepSystem, System
from explorer.systems.expressions import expression, text
from explorer.systems.kinks import SHARP

__all__ = ["Relation", "relation"]

_PLACES = ("right-hand side", "force")  # where z may stand in a system
_EXAMPLE = 'algebraic={"z": (0, 1)}, equations=["z + z**3 = x + u"]'
_SINGULAR = 1e-12  # of the largest singular value of dg/dz
_STEPS, _HALVES, _CLOSE = 60, 30, 1e-13  # of Newton's method


@dataclass(frozen=True)
class Relation:
    """Algebraic variables of a problem, and the equations that determine them.

    Attributes
    ----------
    system : System
    ranges : dict of str to (low, high)
    equations : tuple of formulas g, which are zero
    known : ((n,) float, (n, n_z) float), optional
        Times and values of a plan, from which roots are sought.
    """

    system: System
    ranges: dict[str, tuple[float, float]] = field(default_factory=dict)
    equations: tuple[sp.Expr, ...] = ()
    known: tuple[np.ndarray, np.ndarray] | None = None

    def __bool__(self) -> bool:
        return bool(self.ranges)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the algebraic variables."""
        return tuple(self.ranges)

    @property
    def z(self) -> tuple[sp.Symbol, ...]:
        """Their symbols."""
        return tuple(sp.Symbol(name) for name in self.ranges)

    @property
    def limits(self) -> np.ndarray:
        """Their ranges (n_z, 2)."""
        return np.array([*self.ranges.values()], float).reshape(-1, 2)

    @property
    def key(self) -> str:
        """A text that tells relations of one system apart."""
        return "; ".join(map(text, self.equations))

    @cached_property
    def slope(self) -> sp.Matrix:
        """The matrix dg/dz."""
        return sp.Matrix(len(self.z), len(self.z), lambda i, j: self.equations[i].diff(self.z[j]))

    @property
    def linear(self) -> bool:
        """Whether all equations are linear in the algebraic variables."""
        return not self.slope.free_symbols & set(self.z)

    @cached_property
    def eliminated(self) -> dict[sp.Symbol, sp.Expr]:
        """The variables as formulas, where the equations are linear in them; else empty."""
        if not self or not self.linear:
            return {}
        zero = dict.fromkeys(self.z, sp.S.Zero)
        rest = sp.Matrix([g.xreplace(zero) for g in self.equations])
        return dict(zip(self.z, self.slope.LUsolve(-rest), strict=True))

    def without(self, formula: sp.Expr) -> sp.Expr:
        """Return a formula in which eliminated variables are replaced."""
        return formula.xreplace(self.eliminated) if self else formula

    @property
    def moving(self) -> tuple[sp.Symbol, ...]:
        """The variables that are not eliminated: the exact simulation has them as states."""
        return () if self.linear else self.z

    def rates(self, flow: Sequence[sp.Expr]) -> list[sp.Expr]:
        """Return dz/dt of the variables that are not eliminated, where x' is `flow`."""
        if not self.moving:
            return []
        t, x = self.system.t, states_of(self.system)
        along = [
            sum((g.diff(a) * b for a, b in zip(x, flow, strict=True)), g.diff(t))
            for g in self.equations
        ]
        return list(self.slope.LUsolve(-sp.Matrix(along)))

    # -- numbers --------------------------------------------------------------------------------

    @cached_property
    def _function(self) -> Callable[..., list[object]]:
        names = [sp.Symbol(k) for k in self.system.parameters if k not in self.ranges]
        given = [self.system.t, *states_of(self.system), *names, *self.z]
        found: Callable[..., list[object]] = sp.lambdify(
            given, [*self.equations, *self.slope], cse=True
        )
        return found

    def values(
        self, t: np.ndarray, x: np.ndarray, given: Mapping[str, np.ndarray | float], z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return g (n, n_z) and dg/dz (n, n_z, n_z) at n points.

        Parameters
        ----------
        t, x, z : (n,), (n, n_x) and (n, n_z) float
        given : mapping of str to float or (n,) float
            Parameters and controls.
        """
        names = [k for k in self.system.parameters if k not in self.ranges]
        with np.errstate(all="ignore"):
            found = self._function(t, *x.T, *(given[k] for k in names), *z.T)
        columns = [np.broadcast_to(np.asarray(one, float), t.shape) for one in found]
        n = len(self.z)
        return np.stack(columns[:n], 1), np.stack(columns[n:], 1).reshape(-1, n, n)

    def singular(
        self, t: np.ndarray, x: np.ndarray, given: Mapping[str, np.ndarray | float], z: np.ndarray
    ) -> np.ndarray:
        """Return at which of n points (n,) dg/dz is singular, or not finite."""
        g, slope = self.values(t, x, given, z)
        finite = np.isfinite(slope).all(axis=(1, 2)) & np.isfinite(g).all(axis=1)
        size = np.abs(slope).max(axis=2, keepdims=True)  # the scale of an equation is no matter
        scaled = np.where(finite[:, None, None], slope / np.where(size > 0, size, 1.0), 0.0)
        each = np.linalg.svd(scaled, compute_uv=False)
        return np.asarray(~finite | (each[:, -1] <= _SINGULAR * each[:, 0]))

    def near(self, t: np.ndarray) -> np.ndarray:
        """Return values (n_t, n_z) from which roots at times may be sought.

        Those of the plan behind each time, as they jump where a control does; without a plan the
        defaults of the parameters.
        """
        if self.known is None:
            usual = [self.system.parameters[name].value for name in self.ranges]
            return np.tile(np.array(usual, float), (len(t), 1))
        at, z = self.known
        behind = np.searchsorted(at, t + 1e-9 * (at[-1] - at[0]), side="right")
        return np.asarray(z[np.minimum(behind, len(z) - 1)])

    def solve(
        self, t: np.ndarray, x: np.ndarray, given: Mapping[str, np.ndarray | float], z: np.ndarray
    ) -> np.ndarray:
        """Return the roots z (n, n_z) by Newton's method from `z`; NaN where it finds none.

        Steps are halved until the residual falls (Deuflhard 2011, doi:10.1007/978-3-642-23899-4).
        """
        z = np.array(z, float)
        left = np.full(len(z), np.nan)
        for _ in range(_STEPS):
            g, slope = self.values(t, x, given, z)
            here = np.abs(g).max(axis=1)
            try:
                step = np.linalg.solve(slope, -g[:, :, None])[:, :, 0]
            except np.linalg.LinAlgError:
                step = (np.linalg.pinv(np.nan_to_num(slope)) @ -g[:, :, None])[:, :, 0]
            left = np.abs(step).max(axis=1) / (1.0 + np.abs(z).max(axis=1))
            part = np.ones(len(z))
            for _ in range(_HALVES):
                g, _ = self.values(t, x, given, z + part[:, None] * step)
                worse = ~(np.abs(g).max(axis=1) <= here) & (left > _CLOSE)
                if not worse.any():
                    break
                part = np.where(worse, part / 2, part)
            z = z + part[:, None] * np.where(np.isfinite(step), step, 0.0)
            if not (left > _CLOSE).any():
                break
        g, slope = self.values(t, x, given, z)
        size = np.abs(slope).max(axis=2).max(axis=1) * (1.0 + np.abs(z).max(axis=1))
        z[~((left <= 1e-9) & (np.abs(g).max(axis=1) <= 1e-8 * size))] = np.nan
        return z


def relation(
    given: object,
    equations: object,
    system: System,
    controls: Sequence[str],
    unknowns: Sequence[str],
) -> Relation:
    """Return the algebraic variables of a problem.

    Raises
    ------
    BadValue, BadModel
        An unknown name, one with another role, an equation too many or too few, one that is not
        smooth or in which none of the variables stands, a variable where it may not stand.
    NotApplicable
        Equations that are not linear in them, of a system in which they cannot be states.
    """
    ranges = {}
    for name, value in mapping(given, "algebraic", '{"z": (0, 1)}').items():
        if name not in system.parameters:
            raise BadValue(
                f"algebraic: '{system.name}' has no parameter {name!r}. Declare it, params="
                f"{{{name!r}: 0}}, and use it in its formulas."
                f"{suggest(name, list(system.parameters))}"
            )
        if name in controls or name in unknowns:
            raise BadValue(
                f"algebraic: {name!r} is chosen by the plan already; each parameter has one role."
            )
        free = value is None
        ranges[name] = (-np.inf, np.inf) if free else pair(value, f"The range of {name!r}")
    listed = items(() if equations is None else equations, "equations", str, sp.Basic)
    rows = tuple(_equation(one, system) for one in listed)
    if len(rows) != len(ranges):
        names = f" ({', '.join(ranges)})" * bool(ranges)
        raise BadValue(
            "Algebraic variables need as many equations: variables given "
            f"{len(ranges)}{names}, equations {len(rows)}. An example: {_EXAMPLE}."
        )
    found = Relation(system, ranges, rows)
    if found:
        _check(found)
    return found


def _equation(given: object, system: System) -> sp.Expr:
    """Return g of an equation g = 0."""
    if isinstance(given, sp.Equality):
        sides: list[object] = [given.lhs, given.rhs]
    elif isinstance(given, str) and not re.search("[<>]", given):
        sides = list(re.split("={1,2}", given))
    elif isinstance(given, sp.Expr):
        sides = [given]
    else:
        sides = []
    if len(sides) not in (1, 2):
        raise BadModel(f"{given} is no equation; {_EXAMPLE} is an example.")
    left, *right = (expression(one, system.symbols(), f"The equation {given}") for one in sides)
    return left - right[0] if right else left


def _check(found: Relation) -> None:
    z = set(found.z)
    for g in found.equations:
        if not g.free_symbols & z:
            raise BadValue(
                f"The equation {text(g)} = 0 contains none of the algebraic variables "
                f"({', '.join(found.names)}), so it is a constraint: write it as path=[...]."
            )
        if g.has(*SHARP):
            raise BadModel(
                f"The equation {text(g)} = 0 is not smooth. Write its cases as switches of the "
                "system, in f."
            )
    lost = z - {s for g in found.equations for s in g.free_symbols}
    if lost:
        raise BadValue(f"algebraic: no equation contains {min(s.name for s in lost)!r}.")
    for place, name, formula in formulas_of(found.system):
        here = sorted(s.name for s in formula.free_symbols & z) if place not in _PLACES else []
        if here:
            what = f"{place} {name!r}" if name else place
            raise BadValue(
                f"The algebraic variable {here[0]!r} stands in the {what} of "
                f"'{found.system.name}', and may jump where a control does. It may stand in f, in "
                "forces, in costs and in constraints; elsewhere make it a state."
            )
    if not found.linear and not isinstance(found.system, StepSystem):
        raise NotApplicable(
            f"The equations are not linear in {', '.join(found.names)}. That is covered for "
            f"systems with step functions and Filippov systems, but '{found.system.name}' is a "
            f"{found.system.kind}: its replay needs the variables as formulas. Solve the equations "
            "for them."
        )
