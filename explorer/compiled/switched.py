"""A step system as the kernels take it: f and c with all their derivatives.

The input vector of every bundle is ``[t, x, multipliers, rho]``. The multipliers are alpha, one for
each switching function, or, in Stewart's form of a `FilippovSystem`, theta, one for each region.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Sequence

import numpy as np
import symengine as se
import sympy as sp

from explorer.compiled.bundle import Bundle, Expr, smooth
from explorer.compiled.held import Drivable, held, shared
from explorer.compiled.remade import Recipe, Remade
from explorer.errors import NotApplicable
from explorer.systems import FilippovSystem, StepSystem
from explorer.systems.own_side import own_side
from explorer.systems.regions import Subsystem
from explorer.types import Reals

__all__ = ["Switched", "compile_switched"]


class Switched(Drivable, Remade):
    """The native functions of a system with step functions.

    Parameters
    ----------
    system : StepSystem
    stewart : bool
        Whether the multipliers are those of the regions.

    Attributes
    ----------
    n_x, n, n_c, n_sel, n_rho : int
        States, coordinates (0), switching functions, multipliers, parameters.
    states, rates : symbols of x, and of x' as a cost calls it (d_<state>)
    running, cost : formula, Bundle, or None
        A running cost g, and with its derivatives by t, x, multipliers and parameters.

    Raises
    ------
    NotApplicable
        Stewart's form of a system without regions.
    """

    def __init__(self, system: StepSystem, stewart: bool = False) -> None:
        if stewart and not isinstance(system, FilippovSystem):
            raise NotApplicable(
                f"Stewart's form combines the fields of regions, but '{system.name}' is a "
                f"{system.kind} without regions. Use representation='step', or write the system as "
                "a FilippovSystem."
            )
        self.system, self.stewart = system, stewart
        t = se.Symbol("t")
        x = [se.sympify(s) for s in system.x]
        rho = [se.Symbol(k) for k in system.parameters]
        if isinstance(system, FilippovSystem) and stewart:
            fields = [field for s in system.subsystems for field in _fields(system, s)]
            multipliers = [sp.Symbol(f"_theta_{k}") for k in range(len(fields))]
            flow = [
                sum((a * field[i] for a, field in zip(multipliers, fields, strict=True)), sp.S.Zero)
                for i in range(system.n)
            ]
        else:
            multipliers, flow = [s.alpha for s in system.switches], list(system.f)
        chosen = [se.sympify(a) for a in multipliers]
        self._args, self._rho = [t, *x, *chosen, *rho], rho
        self.states, self.rates = system.x, [sp.Symbol(f"d_{k}") for k in system.coordinates]
        self.running: sp.Expr | None = None
        self.cost: Bundle | None = None
        self.n_x, self.n, self.n_c = len(x), 0, len(system.switches)
        self.n_sel, self.n_rho = len(chosen), len(rho)
        f, c = [smooth(g) for g in flow], [smooth(s.c) for s in system.switches]
        self._outputs = (
            [*f, *_jacobian(f, x), *_jacobian(f, chosen), *_jacobian(f, [t])],
            [*c, *_jacobian(c, x), *_jacobian(c, [t])],
        )
        self._native = tuple(self._bundle(part) for part in self._outputs)
        start = [smooth(s) for s in system.start_x]
        self._start = Bundle(self._args, [*start, *_jacobian(start, rho)])

    def _bundle(self, outputs: Sequence[Expr]) -> Bundle:
        return self.behind(Bundle(self._args, outputs))

    def behind(self, bundle: Bundle) -> Bundle:
        """Return a bundle behind the inputs, if there are any along time."""
        return held(bundle, self.system, len(self._args) - self.n_rho)

    def behind_inputs(self, system: StepSystem) -> Switched:
        """Return the same functions behind the inputs of a system with a drive."""
        other: Switched = object.__new__(type(self))
        object.__setattr__(other, "__dict__", vars(self).copy())
        vars(other).update(system=system, _undriven=self)
        for name in ("tangents", "plain", "surface_rates"):
            vars(other).pop(name, None)
        if self.cost is not None:
            other.cost = other.behind(self.cost)
        return other

    @property
    def flow(self) -> Bundle:
        """f, f_x, f by the multipliers, f_t."""
        return self.behind(self._native[0])

    @property
    def switching(self) -> Bundle:
        """c, c_x, c_t."""
        return self.behind(self._native[1])

    @functools.cached_property
    def tangents(self) -> tuple[Bundle, Bundle]:
        """f and c with the derivatives that the march needs, then those by rho."""
        if self._undriven is not None:
            return tuple(map(self.behind, self._undriven.tangents))  # type: ignore[return-value]
        counts = self.n_x, self.n_c
        return tuple(  # type: ignore[return-value]
            self._bundle([*part, *_jacobian(part[:count], self._rho)])
            for part, count in zip(self._outputs, counts, strict=True)
        )

    @shared
    def _rates(self) -> list[Expr]:
        n, nc = self.n_x, self.n_c
        f, c = self._outputs[0][:n], self._outputs[1]
        return [
            c[nc + nc * n + j] + sum((c[nc + j * n + k] * f[k] for k in range(n)), se.Integer(0))
            for j in range(nc)
        ]

    @functools.cached_property
    def plain(self) -> tuple[Bundle, Bundle]:
        """f and dc/dt, without derivatives."""
        if self._undriven is not None:
            return tuple(map(self.behind, self._undriven.plain))  # type: ignore[return-value]
        return self._bundle(self._outputs[0][: self.n_x]), self._bundle(self._rates)

    @functools.cached_property
    def surface_rates(self) -> Bundle:
        """dc/dt (n_c,), and its derivatives by t, x, multipliers and parameters."""
        if self._undriven is not None:
            return self.behind(self._undriven.surface_rates)
        n, rates = self.n_x, self._rates
        t, x = self._args[:1], self._args[1 : 1 + n]
        chosen = self._args[1 + n : 1 + n + self.n_sel]
        by = [_jacobian(rates, v) for v in (t, x, chosen, self._rho)]
        return self._bundle([*rates, *(one for part in by for one in part)])

    def recipe(self) -> Recipe:
        """Return how to make it again."""
        return _again, (self.system, self.stewart, self.running)

    def with_cost(self, g: sp.Expr) -> Switched:
        """Return the same system with a running cost g(t, x, x', rho)."""
        if self._undriven is not None:
            return self._undriven.with_cost(g).behind_inputs(self.system)
        x_dot = zip(map(se.sympify, self.rates), self._outputs[0], strict=False)
        cost = [smooth(g).subs(dict(x_dot))]
        other = copy.copy(self)
        other.running = g
        other.cost = self._bundle([*cost, *_jacobian(cost, self._args)])
        return other

    def outputs(self, formulas: Sequence[sp.Expr]) -> Bundle:
        """Compile formulas of t, states and parameters to one native function."""
        return self._bundle([smooth(sp.sympify(f)) for f in formulas])

    def input(self, rho: Reals) -> np.ndarray:
        """Return a fresh input vector with zero state."""
        inp = np.zeros(len(self._args))
        inp[len(inp) - self.n_rho :] = rho
        return inp

    def start(self, rho: Reals) -> tuple[np.ndarray, np.ndarray]:
        """Return x0 (n_x,) and its derivative by all parameters (n_x, n_rho)."""
        values = self._start(self.input(rho))
        return values[: self.n_x], values[self.n_x :].reshape(self.n_x, self.n_rho)

    @property
    def layout(self) -> tuple[list[tuple[int, int, int, int]], list[int]]:
        """The subsystems of Stewart's form, and the regions of all their cells.

        Of each subsystem: its first switching function, how many, where its cells begin, its first
        region (see `explorer.kernels.fesd.structures`).
        """
        each: list[tuple[int, int, int, int]] = []
        cells: list[int] = []
        region = 0
        for s in self.system.subsystems if self.stewart else ():  # type: ignore[attr-defined]
            each.append((s.first, s.count, len(cells), region))
            cells += s.cells
            region += len(s.regions)
        return each, cells

    @shared
    def affine(self) -> bool:
        """Whether f is affine in each alpha; False for Stewart's form, affine in theta."""
        if self.stewart:
            return False
        alphas = [s.alpha for s in self.system.switches]
        flow = [f for f in map(sp.sympify, self.system.f) if f.free_symbols & set(alphas)]
        return not any(a in sp.expand_mul(f.diff(a)).free_symbols for f in flow for a in alphas)

    @shared
    def groups(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Multipliers that add up to 1 in groups, as
        `explorer.kernels.fesd.stage_complementarity` takes them.

        Returns the variables' multipliers, their groups, and the multiplier of each group that is
        1 minus the others (-1: 1 - alpha_j, which is none of its own).
        """
        if not self.stewart:
            every = np.arange(self.n_c)
            return every, every, np.full(self.n_c, -1)
        member: list[int] = []
        group: list[int] = []
        leader: list[int] = []
        region = 0
        for u, subsystem in enumerate(self.system.subsystems):  # type: ignore[attr-defined]
            count = len(subsystem.regions)
            member += range(region, region + count - 1)
            group += [u] * (count - 1)
            region += count
            leader.append(region - 1)
        return tuple(np.array(a, np.int64) for a in (member, group, leader))  # type: ignore

    # -- complementarity ----------------------------------------------------------------------

    @shared
    def _sides(self) -> list[tuple[slice, np.ndarray, slice, np.ndarray]]:
        """Of each subsystem: functions, signs of the cells (k, n), regions, cell in region."""
        sides, region = [], 0
        for s in self.system.subsystems:  # type: ignore[attr-defined]
            bits = [b for b, r in enumerate(s.cells) if r >= 0]
            signs = np.array(
                [[1.0 if (b >> j) & 1 else -1.0 for j in range(s.count)] for b in bits]
            )
            inside = np.array([[s.cells[b] == r for b in bits] for r in range(len(s.regions))])
            regions = slice(region, region + len(s.regions))
            sides.append((slice(s.first, s.first + s.count), signs, regions, inside))
            region += len(s.regions)
        return sides

    def theta(self, alpha: np.ndarray) -> np.ndarray:
        """Return the multipliers of the regions (k, n_f) for those of the functions (k, n_c)."""
        parts = []
        for functions, signs, _, inside in self._sides:
            a = alpha[:, None, functions]
            parts.append(np.where(signs > 0, a, 1 - a).prod(axis=2) @ inside.T)
        return np.concatenate(parts, axis=1)

    def pairs(self, c: np.ndarray, multipliers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return lambda and the multipliers complementary to it, (..., pairs) each.

        Step form, eq. (10): (lambda_n, alpha), (lambda_p, 1 - alpha). Stewart's: theta_i, and of
        its region sum_j 2 max(0, -S_ij c_j), the least of its cells: zero where x touches it.
        """
        if not self.stewart:
            lam = np.concatenate([np.maximum(-c, 0), np.maximum(c, 0)], axis=-1)
            return lam, np.concatenate([multipliers, 1 - multipliers], axis=-1)
        lam = np.empty((*c.shape[:-1], self.n_sel))
        for functions, signs, regions, inside in self._sides:
            away = 2 * np.maximum(0, -signs * c[..., None, functions]).sum(axis=-1)
            far = np.where(inside, away[..., None, :], np.inf)
            lam[..., regions] = far.min(axis=-1)
        return lam, multipliers

    def unequal(self, multipliers: np.ndarray) -> float:
        """Return the largest deviation from 1 of the sum of a subsystem's multipliers."""
        if not self.stewart:
            return 0.0
        sums = [multipliers[..., regions].sum(axis=-1) for _, _, regions, _ in self._sides]
        return float(np.abs(np.array(sums) - 1).max(initial=0.0))


def _fields(system: FilippovSystem, subsystem: Subsystem) -> list[list[sp.Expr]]:
    """Return the fields of regions, each kept to its own side of the functions that bound it."""
    moving, fields = {system.t, *system.x}, []
    for k, region in enumerate(subsystem.regions):
        cells = [b for b, r in enumerate(subsystem.cells) if r == k]
        field = list(region.field)
        for j in range(subsystem.count):
            sides = {1 if (b >> j) & 1 else -1 for b in cells}
            if len(sides) == 1:
                c, side = system.switches[subsystem.first + j].c, sides.pop()
                field = [own_side(f, c, side, moving) for f in field]
        fields.append(field)
    return fields


def _jacobian(functions: Sequence[Expr], variables: Sequence[Expr]) -> list[Expr]:
    """Return the derivatives of each function, one function behind the other."""
    return [f.diff(v) for f in functions for v in variables]


def compile_switched(system: StepSystem, stewart: bool = False) -> Switched:
    """Return the compiled system; compiled once for each change of the equations."""
    kept: dict[bool, Switched] = system.made.setdefault("switched", {})
    if stewart not in kept and system.drive is not None:
        assert isinstance(system.base, StepSystem)
        kept[stewart] = compile_switched(system.base, stewart).behind_inputs(system)
    if stewart not in kept:
        kept[stewart] = Switched(system, stewart)
    return kept[stewart]


def _again(system: StepSystem, stewart: bool, g: sp.Expr | None) -> Switched:
    plain = compile_switched(system, stewart)
    return plain if g is None else plain.with_cost(g)
