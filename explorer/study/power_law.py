"""Power laws y = C x^k from data, by least squares in log-log.

The exponent is a fingerprint: 1/2 at a grazing impact (Nordmark, J. Sound Vib. 145 (1991) 279),
the order of a scheme in its step size.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from explorer.errors import BadValue
from explorer.study import study

__all__ = ["PowerLaw", "power_law"]


@study
@dataclass(frozen=True)
class PowerLaw:
    """y = factor * x**exponent.

    Attributes
    ----------
    exponent, factor : float
    error : float
        Standard error of the exponent.
    """

    exponent: float
    factor: float
    error: float

    def __call__(self, x: ArrayLike) -> np.ndarray:
        """Return the law at x."""
        return self.factor * np.asarray(x, float) ** self.exponent


@study
def power_law(x: ArrayLike, y: ArrayLike) -> PowerLaw:
    """Fit y = C x^k to positive data.

    Parameters
    ----------
    x, y : (m,) float, m >= 3

    Raises
    ------
    BadValue
        The lengths differ, there are too few points, or a value is not a positive number.

    Examples
    --------
    >>> import explorer as ex
    >>> law = ex.study.power_law([1, 4, 9, 16], [2, 4, 6, 8])
    >>> round(law.exponent, 9), round(law.factor, 9)
    (0.5, 2.0)
    """
    try:
        x, y = np.asarray(x, float), np.asarray(y, float)
    except (TypeError, ValueError):
        raise BadValue(f"A power law needs numbers, not {x!r} and {y!r}.") from None
    if x.ndim != 1 or x.shape != y.shape or len(x) < 3:
        raise BadValue(
            "A power law needs at least three points, and as many x as y; "
            f"{x.size} and {y.size} were given."
        )
    if not ((x > 0) & (y > 0) & np.isfinite(x * y)).all():
        raise BadValue("A power law needs positive, finite numbers.")
    a, b = np.log(x), np.log(y)
    spread = ((a - a.mean()) ** 2).sum()
    if spread == 0:
        raise BadValue("A power law needs different x.")
    k = float(((a - a.mean()) * b).sum() / spread)
    c = float(b.mean() - k * a.mean())
    rest = ((b - c - k * a) ** 2).sum() / (len(x) - 2)
    return PowerLaw(k, float(np.exp(c)), float(np.sqrt(rest / spread)))
