"""x' and the switching functions of a system at many states at once."""

from __future__ import annotations

import numpy as np

from explorer.compiled import Bundle, Switched
from explorer.compiled.held import before_breaks, left_of_breaks, schedule_of
from explorer.types import Reals

__all__ = ["Formulas"]


class Formulas:
    """The formulas of a system with step functions, at given parameters.

    Attributes
    ----------
    compiled : Switched
    rho : (n_rho,)
    """

    def __init__(self, compiled: Switched, rho: Reals) -> None:
        self.compiled, self.rho = compiled, np.asarray(rho, float)

    @property
    def n_x(self) -> int:
        """Number of states."""
        return self.compiled.n_x

    def chosen(self, signs: np.ndarray) -> np.ndarray:
        """Return the multipliers of the regions with these signs, (k, n_sel)."""
        alpha = (signs > 0).astype(float)
        return self.compiled.theta(alpha) if self.compiled.stewart else alpha

    def along(
        self,
        native: Bundle,
        t: np.ndarray,
        x: np.ndarray,
        chosen: np.ndarray,
        begin: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return what a native function writes, (k, size), at states and multipliers.

        Inputs are those of the intervals of the times `begin`, by default of t: of two equal times
        that follow each other, the first one lies before a break.
        """
        schedule = schedule_of(self.compiled.system)
        if schedule is None or not len(t):
            return self._evaluated(native, t, x, chosen)
        if begin is None:
            out, left = self._evaluated(native, t, x, chosen), before_breaks(t)
            if left.any():
                with left_of_breaks(self.compiled.system):
                    out[left] = self._evaluated(native, t[left], x[left], chosen[left])
            return out
        which, out = schedule.intervals(begin), np.empty((len(t), native.size))
        for k in np.unique(which):
            rows = which == k
            with schedule.holding(int(k)):
                out[rows] = self._evaluated(native, t[rows], x[rows], chosen[rows])
        return out

    def _evaluated(
        self, native: Bundle, t: np.ndarray, x: np.ndarray, chosen: np.ndarray
    ) -> np.ndarray:
        """Return what a native function writes, (k, size), with the inputs as they are held."""
        from explorer.kernels.model.along_rows import evaluate

        out = np.empty((len(t), native.size))
        parts = [np.ascontiguousarray(a, float) for a in (t, x, chosen)]
        rho, work = self.compiled.input(self.rho), np.empty(max(native.size, 1))
        evaluate(native.address, native.data, *parts, rho, work, out)
        return out

    def rates(
        self, t: np.ndarray, x: np.ndarray, chosen: np.ndarray, begin: np.ndarray | None = None
    ) -> np.ndarray:
        """Return x' (k, n_x) at states and multipliers; `begin` as for `along`."""
        return self.along(self.compiled.flow, t, x, chosen, begin)[:, : self.compiled.n_x]

    def functions(
        self, t: np.ndarray, x: np.ndarray, begin: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return c (k, n_c) and its gradient (k, n_c, n_x) at states."""
        n, nc = self.compiled.n_x, self.compiled.n_c
        none = np.zeros((len(t), self.compiled.n_sel))
        out = self.along(self.compiled.switching, t, x, none, begin)
        return out[:, :nc], out[:, nc : nc + nc * n].reshape(len(t), nc, n)
