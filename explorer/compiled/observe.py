"""Equations of a system evaluated along the rows of a run."""

from __future__ import annotations

import contextlib

import numpy as np

from explorer.compiled.bundle import Bundle
from explorer.compiled.compiling import compile_system
from explorer.compiled.first_order import compile_first_order
from explorer.compiled.held import before_breaks, left_of_breaks
from explorer.compiled.power import compile_power
from explorer.compiled.sketch import compile_sketch, compile_values
from explorer.errors import ExplorerError, NotApplicable
from explorer.results.run import Run
from explorer.systems.filippov import FilippovSystem
from explorer.systems.first_order import FirstOrderSystem
from explorer.systems.hybrid import HybridSystem
from explorer.systems.lagrangian import LagrangianSystem
from explorer.systems.state_space import StateSpaceSystem
from explorer.systems.step import StepSystem

__all__ = ["observe"]


def observe(solution: Run, bundle: str) -> np.ndarray:
    """Evaluate a bundle of the system's equations along a solution: (n_t, outputs).

    Raises
    ------
    NotApplicable
        The energy of a system x' = ...: none is declared.
    """
    system, rho = solution.system, list(solution.rho.values())
    if bundle == "sketched values":
        inp = np.concatenate([np.zeros(1 + system.n + len(system.signals)), rho])
        return _along(solution, compile_values(system), inp, _signals(solution))
    if bundle == "sketch" and not system.shapes and isinstance(system, LagrangianSystem):
        inp = np.concatenate([np.zeros(1 + 2 * system.n), rho])
        return _along(solution, compile_sketch(system), inp)
    if isinstance(system, StateSpaceSystem):
        if bundle == "outputs" and isinstance(system, FirstOrderSystem):
            first = compile_first_order(system)
            return _along(solution, first.outputs, first.input(rho), solution.lam)
        if bundle != "sketch":
            raise NotApplicable(f"'{system.name}' is a {system.kind}: it declares no {bundle}.")
        native = compile_sketch(system)
        inp = np.concatenate([np.zeros(1 + 2 * system.n), rho])
        return _along(solution, native, inp)
    compiled = compile_system(system)
    if bundle == "recorded":
        return compiled.recorded(solution.t, rho)
    if bundle == "energy" and compiled.linear:
        kinetic = 0.5 * np.sum((system.M @ solution.v.T).T * solution.v, axis=1)
        elastic = 0.5 * np.sum((system.K @ solution.q.T).T * solution.q, axis=1)
        f = compiled.bundles["force"](compiled.input(rho)) + compiled.fixed
        if all(not x.free_symbols - set(system.symbols(state=False).values()) for x in system.f):
            return np.column_stack([kinetic, elastic - solution.q @ f])
        return np.asarray(kinetic[:, None])
    native = compile_power(system) if bundle == "power" else compiled.bundles[bundle]
    values = _along(solution, native, compiled.input(rho))
    return values + compiled.fixed if bundle == "force" else values


def _signals(solution: Run) -> np.ndarray:
    """Return the `signals` of a system along a run, (n_t, k); NaN where the run has them not."""
    system, rows = solution.system, len(solution.t)
    found: np.ndarray = np.full((rows, len(system.signals)), np.nan)
    if isinstance(system, LagrangianSystem):
        return solution.v
    with contextlib.suppress(ExplorerError):  # another form of the equations has run
        if isinstance(system, HybridSystem):
            found = np.asarray(solution.mode[:, None] == np.arange(len(system.modes)), float)
        elif isinstance(system, FirstOrderSystem):
            found = solution.lam[np.maximum(np.arange(rows), min(1, rows - 1))]
        elif isinstance(system, FilippovSystem):
            found = solution.theta
        elif isinstance(system, StepSystem):
            found = solution.alpha
    return found


def _along(
    solution: Run, native: Bundle, inp: np.ndarray, second: np.ndarray | None = None
) -> np.ndarray:
    from explorer.kernels.model.along_rows import evaluate

    result = np.empty((len(solution.t), native.size))
    v = second
    if v is None:
        v = solution.v if solution.has_velocities else np.zeros_like(solution.q)
    contiguous = [np.ascontiguousarray(a) for a in (solution.t, solution.q, v)]
    out = np.empty(max(native.size, 1))
    evaluate(native.address, native.data, *contiguous, inp, out, result)
    if solution.system.drive is not None:
        left = before_breaks(solution.t)
        rows = [np.ascontiguousarray(a[left]) for a in contiguous]
        found = np.empty((len(rows[0]), native.size))
        with left_of_breaks(solution.system):
            evaluate(native.address, native.data, *rows, inp, out, found)
        result[left] = found
    return result
