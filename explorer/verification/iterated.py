"""Iterates of a map by the formulas of their branches, compiled apart from the loop."""

from __future__ import annotations

import numpy as np

from explorer.certificate import Check
from explorer.compiled.maps import compile_map
from explorer.results.solution import Solution
from explorer.verification.landing import landed, sentence

__all__ = ["iterated"]

_MOST = 100_000  # rows that are looked at, spread evenly
_ROUND = 1e-9  # relative: far more than what the order of a formula's terms changes


def iterated(solution: Solution) -> list[Check]:
    """Return how far iterates are from their formulas, and states outside their branches.

    Both are in parts of the largest values that occur in the formulas of a row.
    """
    from explorer.kernels.model.along_rows import evaluate

    compiled, n = compile_map(solution.system), solution.q.shape[1]
    last = len(solution.t) - 1
    if last < 1:
        return []
    at = np.unique(np.linspace(0, last - 1, min(last, _MOST)).astype(int))
    before, after = np.ascontiguousarray(solution.q[at]), solution.q[at + 1]
    native, inp = compiled.branches, compiled.input(list(solution.rho.values()))
    found = np.empty((len(at), native.size))
    none = np.zeros((len(at), 0))
    evaluate(
        native.address,
        native.data,
        solution.t[at].copy(),
        before,
        none,
        inp,
        np.empty(native.size),
        found,
    )
    branches = solution.system.branches
    side = solution.recorded_row("branch")[at].astype(int)
    places = n * side[:, None] + np.arange(n)
    own = np.take_along_axis(found, places, axis=1)
    size = np.maximum(1e-300, np.abs(np.concatenate([before, after], axis=1)).max(axis=1))
    size = np.maximum(size, max(map(abs, solution.rho.values()), default=0.0))
    off = float((np.abs(own - after).max(axis=1) / size).max())
    checks = [
        Check(
            "iterates",
            off,
            _ROUND,
            words=f"An iterate differs from the formula of its branch by {off:.2g} of its size.",
        )
    ]
    cycle = landed(compiled, solution.q[-1], list(solution.rho.values()))
    if cycle is not None and not (cycle == solution.q[0]).all(axis=1).any():
        words = f"The orbit {sentence(solution.system.coordinates, solution.q[-1])}"
        checks.append(Check("landing", 1.0, 0.0, words=words))
    if len(branches) > 1:
        outside = _outside(solution, found[:, n * len(branches) :], side) / size
        worst = float(outside.max())
        words = f"A state lies outside its branch by {worst:.2g} of its size."
        checks.append(Check("branches", worst, _ROUND, words=words))
    return checks


def _outside(solution: Solution, conditions: np.ndarray, side: np.ndarray) -> np.ndarray:
    """Return by how much each state misses its branch: its own conditions, or one before that."""
    outside, k = np.zeros(len(side)), 0
    for j, branch in enumerate(solution.system.branches):
        own = conditions[:, k : k + len(branch.when)]
        k += len(branch.when)
        if own.shape[1]:
            least = own.min(axis=1)
            here, later = side == j, side > j
            outside[here] = np.maximum(outside[here], -least[here])
            outside[later] = np.maximum(outside[later], least[later])
    return np.maximum(outside, 0.0)
