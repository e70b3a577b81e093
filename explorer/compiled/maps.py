"""A map as native functions: the loop over its iterates, and one iterate with its derivatives."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
import symengine as se
import sympy as sp

from explorer.compiled.bundle import Bundle, Expr, smooth
from explorer.compiled.map_loop import Loop
from explorer.systems.maps import MapSystem
from explorer.types import Reals

__all__ = ["CompiledMap", "compile_map"]


class CompiledMap:
    """A compiled map.

    The input vector of its bundles is ``[t, x, rho]``; t is not used.

    Attributes
    ----------
    system : MapSystem
    n_x, n_rho : int
    """

    def __init__(self, system: MapSystem) -> None:
        self.system = system
        self.n_x, self.n_rho = system.n, len(system.parameters)
        self._x = [se.Symbol(name) for name in system.coordinates]
        self._rho = [se.Symbol(name) for name in system.parameters]
        self._args = [se.Symbol("t"), *self._x, *self._rho]
        system.check()
        start = [smooth(x) for x in system.start_x]
        self._start = Bundle(self._args, [*start, *_jacobian(start, self._rho)])

    @functools.cached_property
    def loop(self) -> Loop:
        """The iterates without derivatives."""
        rho = [sp.Symbol(name) for name in self.system.parameters]
        branches = [(b.f, b.when) for b in self.system.branches]
        return Loop(self.system.x, rho, self.system.lets, branches)

    @functools.cached_property
    def tangents(self) -> Bundle:
        """f (n,), f by the state (n, n), f by the parameters (n, p), of the branch of the state."""
        f = _with_cases(self.system)
        by = [_jacobian(f, v) for v in (self._x, self._rho)]
        return Bundle(self._args, [*f, *by[0], *by[1]])

    @functools.cached_property
    def branches(self) -> Bundle:
        """f (n,) of every branch, then all conditions of every branch."""
        branches = self.system.branches
        formulas = [*(f for b in branches for f in b.f), *(w for b in branches for w in b.when)]
        return Bundle(self._args, _written_out(self.system, formulas))

    @functools.cached_property
    def pieces(self) -> tuple[Bundle, ...]:
        """Of each branch, also beyond its border: f (n,), by the state, by the parameters."""
        found = []
        for branch in self.system.branches:
            f = _written_out(self.system, branch.f)
            by = [_jacobian(f, v) for v in (self._x, self._rho)]
            found.append(Bundle(self._args, [*f, *by[0], *by[1]]))
        return tuple(found)

    @functools.cached_property
    def borders(self) -> Bundle:
        """All conditions of every branch, then their derivatives by the state."""
        whens = [w for b in self.system.branches for w in b.when]
        written = _written_out(self.system, whens)
        return Bundle(self._args, [*written, *_jacobian(written, self._x)])

    def start(self, rho: Reals) -> tuple[np.ndarray, np.ndarray]:
        """Return x0 (n,) and its derivative by all parameters (n, p)."""
        values = self._start(self.input(rho))
        return values[: self.n_x], values[self.n_x :].reshape(self.n_x, self.n_rho)

    def starts(self, rho: np.ndarray) -> np.ndarray:
        """Return x0 (k, n) of many parameter vectors (k, p)."""
        from explorer.kernels.model.along_rows import evaluate

        rows = np.hstack([np.zeros((len(rho), self.n_x)), rho])  # behind t: the state, then rho
        found, native = np.empty((len(rho), self._start.size)), self._start
        none, out = np.zeros((len(rho), 0)), np.empty(native.size)
        t, inp = np.zeros(len(rho)), np.zeros(len(self._args))
        evaluate(native.address, native.data, t, rows, none, inp, out, found)
        return found[:, : self.n_x]

    def input(self, rho: Reals) -> np.ndarray:
        """Return a fresh input vector with zero state."""
        inp = np.zeros(len(self._args))
        inp[len(inp) - self.n_rho :] = rho
        return inp


def _written_out(system: MapSystem, formulas: Sequence[sp.Expr]) -> list[Expr]:
    """Return formulas without names of others."""
    named: dict[Expr, Expr] = {}
    for name, formula in system.lets.items():
        named[se.Symbol(name)] = se.sympify(smooth(formula)).xreplace(named)
    return [se.sympify(smooth(f)).xreplace(named) for f in formulas]


def _with_cases(system: MapSystem) -> list[Expr]:
    """Return the next state, with a case for each branch."""
    branches = system.branches
    cases = [_written_out(system, b.f) for b in branches]
    if len(branches) == 1:
        return cases[0]
    whens = [_written_out(system, b.when) for b in branches]
    holds = [se.And(*(w > 0 for w in when)) if when else True for when in whens]
    pairs = [list(zip(column, holds, strict=True)) for column in zip(*cases, strict=True)]
    return [se.Piecewise(*column) for column in pairs]


def _jacobian(functions: list[Expr], variables: list[Expr]) -> list[Expr]:
    return [f.diff(v) for f in functions for v in variables]


def compile_map(system: MapSystem) -> CompiledMap:
    """Return the compiled map; compiled once for each change of its equations."""
    if "map" not in system.made:
        system.made["map"] = CompiledMap(system)
    compiled: CompiledMap = system.made["map"]
    return compiled
