"""Contacts without a normal: gaps whose gradient vanishes, or turns round, where they close.

A force acts along the gradient G of a gap. That of y^2 is zero where the gap is, and that of |y|
changes its sign: the gap never becomes negative, so nothing holds the body, and it passes through.
"""

from __future__ import annotations

import numpy as np

from explorer.certificate import Check
from explorer.quantities import quantity
from explorer.results.solution import Solution
from explorer.verification.energy_balance import evaluated
from explorer.verification.gradients import Rows

__all__ = ["normals"]

_MOST = 20  # places of a contact that are looked at
_HALVINGS = 60
_CLOSED = 1e-6  # of the gaps beside it: so small a gap is none
_OPEN = 1e-6  # of the widest gap before: a gap so wide is no round-off
_ROUNDS, _LAST = 6, 3  # of Newton's method
_ROUND_OFF = 1e-12  # of the positions


def normals(run: Solution) -> list[Check]:
    """Return the check that gaps have a gradient where they close."""
    nc = run.gap.shape[1]
    if not nc or run.has("discs") or len(run.t) < 3:
        return []
    with np.errstate(all="ignore"):
        rows = Rows(run, run.q, run.v, run.t)
        gradients = [rows.entries[:, rows.of == c] for c in range(nc)]
        if not any(np.ptp(G, axis=0).any() for G in gradients):  # each has one normal everywhere
            return []
        found = [_lost(run, c, G) for c, G in enumerate(gradients)]
    count = sum(len(at) for at in found)
    words = ""
    if count:
        c = next(c for c in range(nc) if len(found[c]))
        words = (
            f"The gap of {run.system.contacts[c].name!r} has no normal where it closes at t = "
            f"{quantity(run.t[found[c][0]], 's', 4)}: its gradient vanishes or turns round there, "
            "so no force holds the body. Use a gap that changes its sign where the contact "
            "closes, such as y, not y**2 or abs(y)."
        )
    return [Check("normals", float(count), 0.0, "", words)]


def _lost(run: Solution, c: int, G: np.ndarray) -> np.ndarray:
    """Return the rows at which contact `c` closes without a normal; G (n_t, k), its gradient."""
    if not np.ptp(G, axis=0).any():
        return np.zeros(0, int)
    on, gap = run.p[:, c] > 0, run.gap[:, c]
    free = ~on[:-1] & ~on[1:] & (gap[:-1] > 0) & (gap[1:] > 0)
    turned = np.flatnonzero(free & ((G[:-1] * G[1:]).sum(axis=1) < 0))
    if len(turned) > _MOST:
        turned = turned[np.argsort(np.minimum(gap[turned], gap[turned + 1]))[:_MOST]]
    if len(turned):
        turned = turned[_least(run, c, turned) <= _CLOSED * (gap[turned] + gap[turned + 1])]
    return np.sort(np.concatenate([turned, _multiple(run, c)]))


def _multiple(run: Solution, c: int) -> np.ndarray:
    """Return the rows of impacts of contact `c` at which its gap has a multiple zero.

    There Newton's method, q - gap G / |G|^2, takes a fixed part of the gap away in each round; at
    a simple zero its gap is round-off after a few.
    """
    on, gap = run.p[:, c] > 0, run.gap[:, c]
    strikes = np.flatnonzero(on[1:] & ~on[:-1]) + 1
    strikes = strikes[np.linspace(0, len(strikes) - 1, min(len(strikes), _MOST)).astype(int)]
    wide = np.flatnonzero(gap > _OPEN * np.maximum.accumulate(np.abs(gap)))
    before = np.searchsorted(wide, strikes) - 1
    strikes, at = strikes[before >= 0], wide[before[before >= 0]]
    if not len(at):
        return np.zeros(0, int)
    q, sizes = run.q[at].copy(), [gap[at]]
    for _ in range(_ROUNDS):
        rows = Rows(run, q, run.v[at], run.t[at])
        own = rows.of == c
        G, columns = rows.entries[:, own], rows.compiled.gap_col[own]
        q[:, columns] -= (sizes[-1] / (G**2).sum(axis=1))[:, None] * G
        sizes.append(evaluated(run, "gap", q=q, v=run.v[at], t=run.t[at])[:, c])
    left = np.array(sizes[-_LAST:]) / np.array(sizes[-_LAST - 1 : -1])
    even = np.ptp(left, axis=0) < 0.1 * left.min(axis=0)
    noise = _ROUND_OFF * (1 + np.abs(run.q[at]).max(axis=1))
    even &= np.abs(sizes[-1]) > noise
    fixed = even & (left.min(axis=0) > 0.01) & (left.max(axis=0) < 0.9)
    return np.asarray(strikes[fixed])


def _least(run: Solution, c: int, at: np.ndarray) -> np.ndarray:
    """Return the gap where it turns back on the straight way from rows to the next, (k,) in m."""
    way = run.q[at + 1] - run.q[at]
    low, high = np.zeros(len(at)), np.ones(len(at))
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        rows = Rows(run, run.q[at] + middle[:, None] * way, run.v[at], run.t[at])
        own = rows.of == c
        falls = (rows.entries[:, own] * way[:, rows.compiled.gap_col[own]]).sum(axis=1) < 0
        low, high = np.where(falls, middle, low), np.where(falls, high, middle)
    q = run.q[at] + 0.5 * (low + high)[:, None] * way
    return np.asarray(evaluated(run, "gap", q=q, v=run.v[at], t=run.t[at])[:, c])
