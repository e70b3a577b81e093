"""Lyapunov exponents with their errors by batch means: what those of flows and of maps share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from explorer.quantities import number

__all__ = ["BATCHES", "Exponents", "batch_errors"]

BATCHES = 64
_JOINED = (64, 32, 16, 8)  # batches: where means of neighbours depend on each other, fewer tell


@dataclass(frozen=True, repr=False)
class Exponents:
    """Lyapunov exponents.

    Attributes
    ----------
    exponents : (n_x,) falling
    errors : (n_x,) their standard errors
    x : (n_x,) the last state
    """

    exponents: np.ndarray
    errors: np.ndarray
    x: np.ndarray

    @property
    def largest(self) -> float:
        """The largest exponent: above zero nearby motions part, which is chaos."""
        return float(self.exponents[0])

    @property
    def dimension(self) -> float:
        """Dimension of the attractor after Kaplan and Yorke, from the exponents."""
        total, k = 0.0, 0
        while k < len(self.exponents) and total + self.exponents[k] >= 0:
            total += float(self.exponents[k])
            k += 1
        if k == len(self.exponents) or k == 0:
            return float(k)
        return k + total / abs(float(self.exponents[k]))

    @property
    def told(self) -> str:
        """The exponents with their errors, as text."""
        pairs = zip(self.exponents, self.errors, strict=True)
        return ", ".join(f"{number(e, 6)} ± {number(d, 2)}" for e, d in pairs)


def batch_errors(means: np.ndarray) -> np.ndarray:
    """Return the standard errors (n_x,) of means of batches (64, n_x).

    Each is the largest of those by several sizes of batches; 0 where a mean is not finite.
    """
    found = np.zeros(means.shape[1])
    there = np.isfinite(means).all(axis=0)
    if not there.any():
        return found
    for count in _JOINED:
        joined = means[:, there].reshape(count, -1, int(there.sum())).mean(axis=1)
        found[there] = np.maximum(found[there], joined.std(axis=0, ddof=1) / np.sqrt(count))
    return found
