"""Which constraints hold along a run: by the sides of what changes them, from the record."""

from __future__ import annotations

import numpy as np

from explorer.runs.event_driven.run import Run

__all__ = ["held_beside", "holding", "sides_of"]

_CLOSING, _RELEASE = 2, 3  # kinds of the events that change constraints


def sides_of(run: Run) -> np.ndarray:
    """Return the sides of the changes (events + 1, n_w): at the start, and behind each event."""
    flow, head, n_w = run.flow, run.events.head, len(run.flow.changes)
    flips = np.ones((len(head) + 1, n_w), int)
    if not len(run.steps.t):
        return flips
    which = {c: k for k, change in enumerate(flow.changes) for c, _ in change.constraints}
    kinds = np.isin(head["kind"], (_CLOSING, _RELEASE)) & (head["guard"] >= flow.n_c)
    for k in np.flatnonzero(kinds):
        flips[k + 1, which[int(head["guard"][k]) - flow.n_c]] = -1
    first = int((head["step"] == 0).sum())  # the first step knows the sides behind these
    flips[0] = run.steps.state[0, -n_w:] * flips[1 : first + 1].prod(axis=0) if n_w else 1
    return np.asarray(np.cumprod(flips, axis=0))


def holding(run: Run, sides: np.ndarray) -> np.ndarray:
    """Return which constraints hold (k, n_phi) at sides (k, n_w) of their changes."""
    found = np.ones((len(sides), run.flow.n_phi), bool)
    for k, change in enumerate(run.flow.changes):
        for c, sign in change.constraints:
            found[:, c] = sign * sides[:, k] > 0
    return found


def held_beside(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """Return which constraints have a force of their own (events, n_phi) before and behind events.

    Those that follow from others have none.
    """
    flow, head, steps = run.flow, run.events.head, run.steps.state
    sides = sides_of(run)
    hold, own = holding(run, sides), slice(1 + flow.rows - flow.n_phi, 1 + flow.rows)
    before, after = hold[:-1].copy(), hold[1:].copy()
    for found, back, of in ((before, 1, sides[:-1]), (after, 0, sides[1:])):
        step = head["step"] - back
        known = np.flatnonzero((step >= 0) & (step < len(steps)))
        n_w = len(flow.changes)
        if n_w:  # of events that share a time the steps know the first and the last side only
            known = known[(steps[step[known], -n_w:] == of[known]).all(axis=1)]
        found[known] = steps[step[known], own] == 1
    return before, after
