"""Modes of `explorer.reformulations.active_modes` behind native functions."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np

from explorer.compiled.bundle import Bundle
from explorer.compiled.switched import compile_switched
from explorer.reformulations.active_modes import ATTRACTS, HOLDS, Conditions, Modes
from explorer.systems import StepSystem

__all__ = ["ActiveModes", "Solved"]

_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


class Solved(Bundle):
    """A bundle whose outputs need the multipliers of a mode.

    Parameters
    ----------
    address : int
        Of `explorer.kernels.sliding.mode_functions.evaluate`.
    words : sequence of int
    size : int
    """

    def __init__(self, address: int, words: Sequence[int], size: int) -> None:
        self.size, self.address = size, address
        self._words = np.array(words, np.int64)
        self.data = self._words.ctypes.data
        self._call = _FUNCTION(address)


class ActiveModes:
    """Makes the bundles of all modes of a system; the few formulas behind them are compiled once.

    Attributes
    ----------
    scratch : int
        Numbers behind the input vector, for work.
    """

    def __init__(self, system: StepSystem, found: Modes, rho: int, place: int) -> None:
        from explorer.kernels.sliding import mode_functions as kernel
        from explorer.kernels.sliding.active_modes import scratch

        self.found, self.kernel = found, kernel
        base = compile_switched(system)
        n, nc, nrho = base.n_x, base.n_c, base.n_rho
        self.n, self.y, self.nc = n, 1 + n + nrho, nc
        self.scratch = scratch(n, nc, nrho)
        self._of = [*base.plain, *base.tangents, base.surface_rates]  # f, dc/dt; f, c, dc/dt
        f, rate, f_all, c_all, rate_all = self._of
        words = [n, nc, nrho, place, rho]
        for one in (f, f_all, rate, rate_all, c_all):
            words += [one.address, one.data]
        for signs, root in found.sets:
            words += [root, *signs]
        self._model = np.array(words, np.int64)
        self.address = kernel.address()

    def bundle(self, task: int, mode: int, more: Sequence[int], size: int) -> Solved:
        """Return the bundle of a task."""
        return Solved(self.address, [task, self._model.ctypes.data, mode, *more], size)

    def field(self, mode: int, tangents: bool) -> Solved:
        """x', or with its derivatives by x and the parameters."""
        task = self.kernel.FIELD_TLM if tangents else self.kernel.FIELD
        return self.bundle(task, mode, [], self.n * (self.y if tangents else 1))

    def guards(self, mode: int, which: list[int]) -> Solved:
        """All guards of a mode."""
        more = [w for g in which for w in self.found.watched[g][1:]]
        return self.bundle(self.kernel.GUARDS, mode, [len(which), *more], 2 * len(which))

    def slope(self, g: int) -> Solved:
        """The derivatives of a guard by t, x and the parameters."""
        mode, j, kind = self.found.watched[g]
        return self.bundle(self.kernel.GUARD_TLM, mode, [j, kind], self.y)

    def reset(self, g: int) -> Solved:
        """The reset of a guard; nothing jumps."""
        return self.bundle(self.kernel.RESET, self.found.watched[g][0], [], self.n * (1 + self.y))

    def after(self, g: int) -> Solved:
        """The conditions of the modes that may follow a guard."""
        return self._conditions(self.kernel.BRANCH, self.found.watched[g][0], self.found.after[g])

    def begins(self) -> Solved:
        """The conditions on the start."""
        return self._conditions(self.kernel.START, 0, self.found.begins)

    def active(self, mode: int) -> Solved:
        """Multipliers and switching functions."""
        return self.bundle(self.kernel.ACTIVE, mode, [], 2 * self.nc)

    def _conditions(self, task: int, mode: int, listed: list[Conditions]) -> Solved:
        words, size = [len(listed)], 0
        for c in listed:
            if c.left >= 0:
                words += [c.to, 1, ATTRACTS, c.left, len(c.among), *c.among]
                size += 1
                continue
            signs = self.found.sets[c.to][0]
            words += [c.to, len(c.near), *(w for j in c.near for w in (HOLDS, j))]
            size += sum(1 if signs[j] else 2 for j in c.near)
        return self.bundle(task, mode, words, size)
