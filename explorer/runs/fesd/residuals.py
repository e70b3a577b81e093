"""The FESD equations (21) evaluated at what a run found: how well each block of them holds."""

from __future__ import annotations

import numpy as np

from explorer.runs.fesd.run import Run

__all__ = ["residual"]

_ACTIVE = 1e-13  # beside its largest value: a multiplier or function that is not zero


def residual(run: Run) -> dict[str, float]:
    """Return the largest violation of each block."""
    names = ("collocation", "complementarity", "cross", "equilibration", "time")
    if not len(run.times):
        return dict.fromkeys(names, 0.0)
    s, (t, h) = run.method.stages, run.times.T
    n, A, at = run.compiled.n_x, run.method.A, run.method.at
    count = len(t)

    def states(weights: np.ndarray) -> np.ndarray:
        moved = np.einsum("ij,ejn->ein", weights, run.slopes)
        return np.asarray(run.states[:-1, None] + h[:, None, None] * moved)

    def flat(nodes: np.ndarray) -> np.ndarray:
        return np.asarray((t[:, None] + h[:, None] * nodes).ravel())

    begin, mult = np.repeat(t, s), run.mult.reshape(count * s, -1)
    found = run.rates(flat(run.method.c), states(A).reshape(-1, n), mult, begin)
    end = states(run.method.b[None])[:, 0]
    collocation = max(
        np.abs(found.reshape(count, s, n) - run.slopes).max(),
        np.abs(end - run.states[1:]).max(),
    )
    first = run.functions(t, run.states[:-1], t)[0][:, None]
    later = run.functions(flat(run.method.where), states(at).reshape(-1, n), begin)[0]
    c = np.concatenate([first, later.reshape(count, s, -1)], axis=1)  # (n_e, s + 1, n_c)
    lam, weight = run.compiled.pairs(c, run.mult)
    products = np.abs(lam[:, :, None] * weight[:, None])  # (n_e, s + 1, s, pairs)
    own = np.eye(s + 1, s, -1, dtype=bool)
    complementarity = max(
        products[:, own].max(initial=0.0),
        -weight.min(initial=0.0),
        run.compiled.unequal(run.mult),
    )
    # of each pair one is zero: which, in each element (the larger beside its largest value);
    # with both zero eta of eq. (19) is zero too
    sizes = [np.abs(a).max(axis=1) for a in (lam, weight)]
    sizes = [a / a.max(axis=0, initial=1e-300) for a in sizes]
    known = np.maximum(*sizes) > _ACTIVE
    side = sizes[0] > sizes[1]
    switched = ((side[1:] != side[:-1]) | ~known[1:] | ~known[:-1]).any(axis=1)
    even = (np.diff(run.places[:, 0]) == 0) & ~switched & ~run.graded[1:]
    interval = run.places[:, 0]
    spans = np.diff(run.ends, prepend=0.0)[: interval[-1] + 1]
    sums = np.bincount(interval, h)
    if run.times[-1].sum() < run.t_end * (1 - 1e-9):  # unfinished
        spans, sums = spans[:-1], sums[:-1]
    return {
        "collocation": float(collocation),
        "complementarity": float(complementarity),
        "cross": float(products[:, ~own].max(initial=0.0)),
        "equilibration": float(np.abs(np.diff(h))[even].max(initial=0.0)),
        "time": float(np.abs(sums - spans).max(initial=0.0)),
    }
