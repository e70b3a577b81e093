"""Times at which a curve passes zero upwards: periods of motions without events."""

from __future__ import annotations

import numpy as np

from explorer.types import Reals

__all__ = ["passages"]


def passages(t: Reals, y: Reals) -> np.ndarray:
    """Return the times at which y rises through zero, on straight lines between the rows.

    Parameters
    ----------
    t, y : (n,) float
        Times in ascending order, and values. The error is of the second order in their distance.

    Examples
    --------
    >>> passages([0.0, 1.0, 2.0, 3.0], [-1.0, 1.0, -1.0, 3.0])
    array([0.5 , 2.25])
    """
    times, values = np.asarray(t, float), np.asarray(y, float)
    (at,) = np.nonzero((values[:-1] < 0) & (values[1:] >= 0))
    share = values[at] / (values[at] - values[at + 1])
    return np.asarray(times[at] + share * (times[at + 1] - times[at]))
