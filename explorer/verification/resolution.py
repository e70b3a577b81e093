"""Runs whose lengths are no larger than what their scheme tells apart.

Tolerances and the width in which a gap counts as closed are lengths: a model in metres of something
that is a nanometre wide has no error control, and its contacts close too early.
"""

from __future__ import annotations

import numpy as np

from explorer.certificate import Check
from explorer.quantities import number
from explorer.results.solution import Solution

__all__ = ["resolution"]

_SHARE = 1e-2  # of the largest position that may be left out of account
_NOISE = 1e-13  # what stays below has not moved


def resolution(run: Solution, finest: float) -> list[Check]:
    """Return the check that positions are larger than `finest`, in their unit; angles do not count.

    What is at rest in its origin has nothing to be resolved.
    """
    lengths = [k for k, unit in enumerate(run.system.units) if unit != "rad"]
    size = float(max(np.abs(run.q[:, lengths]).max(initial=0.0), np.abs(run.gap).max(initial=0.0)))
    if not _NOISE < size < np.inf:
        return []
    words = (
        f"All positions and gaps stay within {number(size, 2)}, but the run tells apart no less "
        f"than {number(finest, 2)} (atol, and the width in which a gap counts as closed): its "
        "digits and events are not reliable. Write the model in smaller units, in which positions "
        "are about 1."
    )
    return [Check("resolution", finest / size, _SHARE, "", words)]
