"""Random points from which a search begins, beside that of a guess."""

from __future__ import annotations

import numpy as np

from explorer.transcription.program import Program

__all__ = ["shaken"]


def shaken(program: Program, w: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a random point: states around those of `w`, controls and unknowns in their bounds."""
    of, low, high = program.of, program.low, program.high
    out = w.copy()
    unknown = of["unknown"]
    out[unknown] = rng.uniform(low[unknown], high[unknown])
    x = w[of["x"]]
    spread = np.maximum(np.ptp(x.reshape(-1, x.shape[-1]), axis=0), 1.0)
    out[of["x"]] = x + 0.5 * spread * rng.standard_normal(x.shape)
    u = of["u"]
    free = ~np.isfinite(high[u] - low[u])
    scale = np.where(free, 1.0, high[u] - low[u])
    begin = np.where(free, w[u] - 0.5, low[u])
    out[u] = begin + scale * rng.random(u.shape)
    return np.clip(out, low, high)
