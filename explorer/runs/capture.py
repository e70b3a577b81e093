"""Whether recorded points of a run have come to a known attractor."""

from __future__ import annotations

import numpy as np

from explorer.kernels.event_driven.records import TRACK
from explorer.runs.members import Known

__all__ = ["catch", "kernel_known"]


def kernel_known(known: Known | None, n_x: int) -> object:
    """Return what the kernels take; of None that nothing is known and runs go to their ends."""
    from explorer.kernels.event_driven.capture import Known as KernelKnown

    if known is None:
        none, one = np.zeros(0), np.ones(n_x)
        whole = np.zeros(0, np.int64)
        return KernelKnown(np.zeros((0, n_x)), whole, none, whole, one, one, one, 0)
    return KernelKnown(*known)


def catch(known: Known, points: np.ndarray) -> tuple[int, int]:
    """Return the attractor that catches points (k, n_x), and which of them: k if none does."""
    from explorer.kernels.event_driven.capture import caught_in

    rows = np.ascontiguousarray(points, float)
    caught, place = caught_in(kernel_known(known, rows.shape[1]), rows, np.zeros(1, TRACK))
    return int(caught), int(place)
