"""What is tested of a cycle on a branch: its multipliers, and whether it repeats earlier."""

from __future__ import annotations

import numpy as np

from explorer.results.solution import Solution

__all__ = ["shorter", "tests"]

_REPEATS = 1e-7  # of the largest states: how near a cycle comes back to its start before its period


def tests(mu: np.ndarray) -> dict[str, float]:
    """Return what changes its sign at a flip and at a Neimark-Sacker bifurcation."""
    pairs = [mu[i] * mu[j] - 1 for i in range(len(mu)) for j in range(i)]
    return {
        "flip": float(np.prod(1 + mu).real),
        "Neimark-Sacker": float(np.prod(pairs).real) if pairs else 1.0,
    }


def shorter(
    run: Solution, x: np.ndarray, T: float, count: int, unit: np.ndarray
) -> tuple[tuple[str, str], ...]:
    """Return an entry of the sequence for a cycle of `count` returns that repeats after fewer.

    Close to a flip a step along the doubled cycles may come to the simple ones. Both have the same
    events, and no test changes its sign: only this tells them apart.

    Parameters
    ----------
    run : Solution over the period T in s, from x (n_x,)
    unit : (n_x,) the largest states
    """
    parts = [k for k in range(1, count) if count % k == 0]
    if not parts:
        return ()
    there = run.march.sample(np.array(parts) * T / count, slopes=False)[0][:, : len(x)]
    near = bool((np.abs(there - x) / unit).max(axis=1).min() < _REPEATS)
    return (("repeats", ""),) if near else ()
