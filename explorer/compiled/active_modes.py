"""Modes of `explorer.reformulations.active_modes` behind native functions."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np

from explorer.compiled.bundle import Bundle
from explorer.compiled.switched import compile_switched
from explorer.reformulations.active_modes import Conditions, Modes
from explorer.systems import StepSystem

__all__ = ["ActiveModes", "Solved"]

_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


class Solved(Bundle):
    """A bundle whose outputs need the multipliers of a mode.

    Parameters
    ----------
    address : int
        Of `explorer.kernels.sliding.mode_functions.evaluate`.
    words : (.,) int64
        As `explorer.kernels.sliding.structures.task_words` returns them.
    size : int
    """

    def __init__(self, address: int, words: np.ndarray, size: int) -> None:
        self.size, self.address = size, address
        self._words = words
        self.data = words.ctypes.data
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
        from explorer.kernels.sliding import structures
        from explorer.kernels.sliding.active_modes import scratch

        self.found, self.kernel, self.structures = found, kernel, structures
        base = compile_switched(system)
        n, nc, nrho = base.n_x, base.n_c, base.n_rho
        self.n, self.y, self.nc = n, 1 + n + nrho, nc
        self.scratch = scratch(n, nc, nrho)
        self._of = [*base.plain, *base.tangents, base.surface_rates]  # f, dc/dt; f, c, dc/dt
        f, rate, f_all, c_all, rate_all = self._of
        head = np.zeros(1, structures.MODEL)
        head["n"], head["n_c"], head["n_rho"] = n, nc, nrho
        head["modes"], head["scratch"], head["rho"] = len(found.sets), place, rho
        functions = {"f": f, "f_all": f_all, "rate": rate, "rate_all": rate_all, "c_all": c_all}
        for name, one in functions.items():
            head[name]["address"], head[name]["data"] = one.address, one.data
        self._model = structures.model_words(head, found.sets)
        self.address = kernel.address()

    def bundle(
        self,
        task: int,
        mode: int,
        size: int,
        rows: np.ndarray | None = None,
        functions: Sequence[int] = (),
    ) -> Solved:
        """Return the bundle of a task about rows of GUARD or FOLLOWER."""
        rows = np.zeros(0, self.structures.GUARD) if rows is None else rows
        model = self._model.ctypes.data
        words = self.structures.task_words(task, model, mode, rows, functions)
        return Solved(self.address, words, size)

    def field(self, mode: int, tangents: bool) -> Solved:
        """x', or with its derivatives by x and the parameters."""
        task = self.kernel.FIELD_TLM if tangents else self.kernel.FIELD
        return self.bundle(task, mode, self.n * (self.y if tangents else 1))

    def guards(self, mode: int, which: list[int]) -> Solved:
        """All guards of a mode."""
        return self.bundle(self.kernel.GUARDS, mode, 2 * len(which), self._rows(which))

    def slope(self, g: int) -> Solved:
        """The derivatives of a guard by t, x and the parameters."""
        mode = self.found.watched[g][0]
        return self.bundle(self.kernel.GUARD_TLM, mode, self.y, self._rows([g]))

    def reset(self, g: int) -> Solved:
        """The reset of a guard; nothing jumps."""
        return self.bundle(self.kernel.RESET, self.found.watched[g][0], self.n * (1 + self.y))

    def after(self, g: int) -> Solved:
        """The conditions of the modes that may follow a guard."""
        return self._conditions(self.kernel.BRANCH, self.found.watched[g][0], self.found.after[g])

    def begins(self) -> Solved:
        """The conditions on the start."""
        return self._conditions(self.kernel.START, 0, self.found.begins)

    def active(self, mode: int) -> Solved:
        """Multipliers and switching functions."""
        return self.bundle(self.kernel.ACTIVE, mode, 2 * self.nc)

    def _rows(self, which: Sequence[int]) -> np.ndarray:
        """Return guards as the kernel takes them."""
        return np.array([self.found.watched[g][1:] for g in which], self.structures.GUARD)

    def _conditions(self, task: int, mode: int, listed: list[Conditions]) -> Solved:
        rows = np.zeros(len(listed), self.structures.FOLLOWER)
        functions: list[int] = []
        size = 0
        for row, c in zip(rows, listed, strict=True):
            own = c.near if c.left < 0 else c.among
            row["mode"], row["left"], row["count"] = c.to, c.left, len(own)
            functions += own
            signs = self.found.sets[c.to][0]
            size += sum(1 if signs[j] else 2 for j in own) if c.left < 0 else 1
        return self.bundle(task, mode, size, rows, functions)
