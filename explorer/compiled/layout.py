"""The integers that tell the kernels of `explorer.kernels.event_driven.flow` a problem."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

__all__ = ["shape", "side_shape"]

_HEAD = 18  # integers before those of the columns


class Equations(Protocol):
    """What is read of a compiled flow: `explorer.compiled.flow.Flow` has it."""

    automaton: Any
    cost: Any
    guards: Any
    sides: Any
    offsets: dict[str, int]
    rough: tuple[int, ...]
    mechanical: bool
    n: int
    n_x: int
    n_c: int
    n_rho: int
    rows: int
    _side_places: Any

    def input(self, rho: Any) -> np.ndarray:
        """Return the input vector of its native functions."""


def shape(flow: Equations, wrt: Sequence[int]) -> np.ndarray:
    """Return the integers that tell a kernel this problem; -1 in `wrt`: a start value."""
    modes = 0 if flow.automaton is None else len(flow.automaton.modes)
    at = _HEAD + len(wrt)
    head = [
        int(flow.mechanical), flow.n_x, flow.n, flow.n_c, flow.n_rho, len(wrt),
        int(flow.cost is not None), modes, *(flow.offsets[k] for k in (
            "tlm", "guard", "guard_tlm", "reset", "cost",
        )), at, flow.rows, at, len(flow._side_places), 0, *wrt,
    ]  # fmt: skip
    numbers = [*head, *_numbers(flow, at)]
    numbers[17] = len(numbers)
    return np.array([*numbers, *flow._side_places], np.int64)


def _numbers(flow: Equations, at: int) -> list[int]:
    """Return the integers of contacts, or of guards, which begin at `at`."""
    if flow.mechanical:  # the tangent row of each contact, the contact of each tangent
        tangent = {c: flow.n_c + k for k, c in enumerate(flow.rough)}
        return [*(tangent.get(c, -1) for c in range(flow.n_c)), *flow.rough]
    modes = len(flow.automaton.modes)
    ptr = np.searchsorted([g.mode for g in flow.guards], range(modes + 1)).tolist()
    # the numbers of the branches stand behind those of the guards, 8 of each
    row, place = flow.offsets["branch"], at + len(ptr) + 8 * len(flow.guards)
    zeros = {(g.mode, g.r, g.direction): k - ptr[g.mode] for k, g in enumerate(flow.guards)}
    each: list[int] = []
    branches: list[int] = []
    for g in flow.guards:
        each += [
            g.direction, g.to, g.bounds + 2 * g.terminal + 4 * (g.when is not None), g.zeno,
            len(g.branches), row, place + len(branches),
            zeros.get((g.to, g.r, g.direction), -1),
        ]  # fmt: skip
        row += bool(g.branches)
        first = 0
        for b in g.branches:
            there = [other.name for other in flow.guards if other.mode == b.to]
            left = there.index(g.leaves) if g.leaves in there else -1
            branches += [b.to, left, first, first + len(b.when)]
            first += len(b.when)
    return [*ptr, *each, *branches]


def side_shape(flow: Equations) -> np.ndarray:
    """Return the shape of the surfaces, as guards of an automaton with one mode."""
    count = len(flow.sides.symbols)
    inverse = len(flow.input(0.0)) - count  # their sizes come last
    head = [0, flow.n_x, inverse, 0, flow.n_rho, 0, 0, 1, *[0] * 5, _HEAD, 0, 0, 0, 0]
    kinds = np.zeros((count, 8), np.int64)
    kinds[:, 0] = [whole for _, whole in flow.sides.surfaces]
    return np.array([*head, 0, count, *kinds.ravel().tolist()], np.int64)
