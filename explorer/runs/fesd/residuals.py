"""The FESD equations (21) evaluated at what a run found: how well each block of them holds."""

from __future__ import annotations

from typing import Any

import numpy as np

from explorer.compiled import Switched
from explorer.kernels.fesd.collocation import Collocation

__all__ = ["Equations"]

_ACTIVE = 1e-13  # beside its largest value: a multiplier or function that is not zero


class Equations:
    """Elements, and the equations that they are to satisfy."""

    compiled: Switched
    method: Collocation
    scheme: Any
    rho: np.ndarray
    t_end: float
    states: np.ndarray
    slopes: np.ndarray
    mult: np.ndarray
    times: np.ndarray
    places: np.ndarray

    @property
    def knots(self) -> np.ndarray:
        """Times at which elements begin."""
        return self.times[:, 0]

    @property
    def graded(self) -> np.ndarray:
        """Which elements are to have other lengths than their neighbours, (n_e,) bool."""
        return np.zeros(len(self.times), bool)

    @property
    def n_x(self) -> int:
        """Number of states."""
        return self.compiled.n_x

    def _along(self, native: Any, t: np.ndarray, x: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        from explorer.kernels.model.along_rows import evaluate

        out = np.empty((len(t), native.size))
        parts = [np.ascontiguousarray(a, float) for a in (t, x, chosen)]
        evaluate(
            native.address, native.data, *parts, self.compiled.input(self.rho),
            np.empty(max(native.size, 1)), out,
        )  # fmt: skip
        return out

    def rates(self, t: np.ndarray, x: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """Return x' (k, n_x) at states and multipliers."""
        return self._along(self.compiled.flow, t, x, chosen)[:, : self.compiled.n_x]

    def functions(self, t: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return c (k, n_c) and its gradient (k, n_c, n_x) at states."""
        n, nc = self.compiled.n_x, self.compiled.n_c
        none = np.zeros((len(t), self.compiled.n_sel))
        out = self._along(self.compiled.switching, t, x, none)
        return out[:, :nc], out[:, nc : nc + nc * n].reshape(len(t), nc, n)

    def residual(self) -> dict[str, float]:
        """Return the largest violation of each block."""
        names = ("collocation", "complementarity", "cross", "equilibration", "time")
        if not len(self.times):
            return dict.fromkeys(names, 0.0)
        s, (t, h) = self.method.stages, self.times.T
        n, (A, at) = self.compiled.n_x, self.method.table[: 2 * s].reshape(2, s, s)
        count = len(t)

        def states(weights: np.ndarray) -> np.ndarray:
            moved = np.einsum("ij,ejn->ein", weights, self.slopes)
            return self.states[:-1, None] + h[:, None, None] * moved

        def flat(nodes: np.ndarray) -> np.ndarray:
            return (t[:, None] + h[:, None] * nodes).ravel()

        found = self.rates(
            flat(self.method.c), states(A).reshape(-1, n), self.mult.reshape(count * s, -1)
        )
        end = states(self.method.table[3 * s + 2 : 3 * s + 3])[:, 0]
        collocation = max(
            np.abs(found.reshape(count, s, n) - self.slopes).max(),
            np.abs(end - self.states[1:]).max(),
        )
        first = self.functions(t, self.states[:-1])[0][:, None]
        later = self.functions(flat(self.method.where), states(at).reshape(-1, n))[0]
        c = np.concatenate([first, later.reshape(count, s, -1)], axis=1)  # (n_e, s + 1, n_c)
        lam, weight = self.compiled.pairs(c, self.mult)
        products = np.abs(lam[:, :, None] * weight[:, None])  # (n_e, s + 1, s, pairs)
        own = np.eye(s + 1, s, -1, dtype=bool)
        complementarity = max(
            products[:, own].max(initial=0.0), -weight.min(initial=0.0),
            self.compiled.unequal(self.mult),
        )  # fmt: skip
        # of each pair one is zero: which, in each element (the larger beside its largest value);
        # with both zero eta of eq. (19) is zero too
        sizes = [np.abs(a).max(axis=1) for a in (lam, weight)]
        sizes = [a / a.max(axis=0, initial=1e-300) for a in sizes]
        known = np.maximum(*sizes) > _ACTIVE
        side = sizes[0] > sizes[1]
        switched = ((side[1:] != side[:-1]) | ~known[1:] | ~known[:-1]).any(axis=1)
        even = (np.diff(self.places[:, 0]) == 0) & ~switched & ~self.graded[1:]
        interval = self.places[:, 0]
        spans = np.minimum(self.scheme.h, self.t_end - self.scheme.h * np.arange(interval[-1] + 1))
        sums = np.bincount(interval, h)
        if self._unfinished:
            spans, sums = spans[:-1], sums[:-1]
        return {
            "collocation": float(collocation),
            "complementarity": float(complementarity),
            "cross": float(products[:, ~own].max(initial=0.0)),
            "equilibration": float(np.abs(np.diff(h))[even].max(initial=0.0)),
            "time": float(np.abs(sums - spans).max(initial=0.0)),
        }

    @property
    def _unfinished(self) -> bool:
        return bool(self.times[-1].sum() < self.t_end * (1 - 1e-9))
