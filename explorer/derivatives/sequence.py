"""What happens in a run, in order: two runs that are compared must share it."""

from __future__ import annotations

import numpy as np

from explorer.results.solution import Solution
from explorer.runs.event_driven.march import March
from explorer.runs.fesd.elements import Elements

__all__ = ["sequence"]


def sequence(solution: Solution, like: Solution | None = None) -> list[tuple[str, str]]:
    """Return (kind, name) of every event: what two runs must share to be compared.

    Those that are at one time in the run `like` are put in the order of their names: where they do
    not depend on each other, either may come first.
    """
    march = solution.march
    if isinstance(march, March | Elements):  # which know it without rows
        found = march.sequence if isinstance(march, March) else march.met
    else:
        found = [(e.kind, e.contact) for e in solution.located]
    if like is None:
        return found
    times = np.array([e.t for e in like.located][: len(found)])
    at = np.append(0, np.cumsum(np.diff(times) > 1e-9 * (1 + times[1:]))).tolist()
    order = sorted(range(len(times)), key=lambda i: (at[i], found[i]))
    return [found[i] for i in order] + found[len(times) :]
