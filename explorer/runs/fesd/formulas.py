"""x' and the switching functions of a system at many states at once."""

from __future__ import annotations

import numpy as np

from explorer.compiled import Bundle, Switched
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

    def along(self, native: Bundle, t: np.ndarray, x: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """Return what a native function writes, (k, size), at states and multipliers."""
        from explorer.kernels.model.along_rows import evaluate

        out = np.empty((len(t), native.size))
        parts = [np.ascontiguousarray(a, float) for a in (t, x, chosen)]
        evaluate(
            native.address,
            native.data,
            *parts,
            self.compiled.input(self.rho),
            np.empty(max(native.size, 1)),
            out,
        )
        return out

    def rates(self, t: np.ndarray, x: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """Return x' (k, n_x) at states and multipliers."""
        return self.along(self.compiled.flow, t, x, chosen)[:, : self.compiled.n_x]

    def functions(self, t: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return c (k, n_c) and its gradient (k, n_c, n_x) at states."""
        n, nc = self.compiled.n_x, self.compiled.n_c
        none = np.zeros((len(t), self.compiled.n_sel))
        out = self.along(self.compiled.switching, t, x, none)
        return out[:, :nc], out[:, nc : nc + nc * n].reshape(len(t), nc, n)
