"""What happens within the elements of `FESD`, between the places at which their equations hold.

The kernel evaluates switching functions at the ends and the stages of an element. It misses one
that leaves its side and comes back between them. The polynomials of the element, x(s) with the
slopes of its stages, show it: their error is at most h times their defect x' - f(t, x, alpha).
"""

from __future__ import annotations

import numpy as np

from explorer.certificate import Check
from explorer.quantities import quantity
from explorer.results.solution import Solution
from explorer.verification.marches import Elements

__all__ = ["inside"]

_NODES = np.arange(1, 12) / 12
_SURE = 4.0  # times the error of the polynomials
_ROUND_OFF = 1e-9  # of the largest value of a function
_LEAVING = 0.3  # of its largest value in an element at whose start, found to some order, it slid


def inside(run: Solution) -> list[Check]:
    """Return the check that no switching function changes its side within an element."""
    march = run.march
    if not len(march.times) or not march.compiled.n_c:
        return []
    with np.errstate(all="ignore"):
        beyond, sure = _beyond(march)
    over = beyond > sure
    count = int(over.any(axis=(1, 2)).sum())
    words = ""
    if count:
        e, node, k = np.unravel_index(int(np.where(over, beyond / sure, 0.0).argmax()), over.shape)
        t = march.times[e, 0] + _NODES[node] * march.times[e, 1]
        words = (
            f"Near t = {quantity(t, run.system.time_unit, 4)} {run.system.guard_names[k]!r} leaves "
            "its side and comes back within an element, so its switches are "
            f"missed{f', and so in {count - 1} more' * (count > 1)}: use a smaller h, or more "
            "elements or stages."
        )
    return [Check("switches within elements", count, 0, "", words)]


def _beyond(march: Elements) -> tuple[np.ndarray, np.ndarray]:
    """Return how far c is beyond its side, and what is no round-off, (n_e, nodes, n_c) both."""
    n, count = march.compiled.n_x, len(march.times)
    begin, h = march.times.T
    s = np.tile(_NODES, count)
    which = np.repeat(np.arange(count), len(_NODES))
    t = begin[which] + s * h[which]
    weights = np.tile(march.method.lagrange(_NODES), (count, 1))
    powers = s[:, None] ** np.arange(1, march.method.stages + 1)
    moved = np.einsum("tj,tjn->tn", powers @ march.method.powers.T, march.slopes[which])
    x = march.states[which] + h[which, None] * moved
    slope = np.einsum("tj,tjn->tn", weights, march.slopes[which])
    chosen = np.clip(np.einsum("tj,tjc->tc", weights, march.mult[which]), 0.0, 1.0)
    defect = np.abs(slope - march.rates(t, x, chosen)).reshape(count, -1, n).max(axis=1)
    c, gradient = march.functions(t, x)
    error = np.einsum("tkn,tn->tk", np.abs(gradient), (h[:, None] * defect)[which])
    signs = march.phases.signs
    phase = march.places[:, 1]
    side = signs[phase][which]
    shape = (count, len(_NODES), march.compiled.n_c)
    beyond = np.where(side == 0, 0.0, np.maximum(-side * c, 0.0)).reshape(shape)
    sure = (_SURE * error + _ROUND_OFF * np.abs(c).max(axis=0) + 1e-300).reshape(shape)
    left = (signs[np.maximum(phase - 1, 0)] == 0) & (np.diff(phase, prepend=-1) > 0)[:, None]
    near = _LEAVING * np.abs(c).reshape(shape).max(axis=1)
    return beyond, np.maximum(sure, np.where(left, near, 0.0)[:, None])
