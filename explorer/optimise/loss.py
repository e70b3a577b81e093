"""Robust losses: what a residual costs when some of the data are wrong.

The cost is C^2 / 2 sum l((r / C)^2), r = (y - data) / sigma, as in `scipy.optimize.least_squares`.
Standard errors are those of an M-estimator, A^-1 B A^-1 with A = J' psi' J, B = J' psi^2 J,
psi = r l' (Huber, *Robust Statistics*, 1981, section 7.6, doi:10.1002/0471725250).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from explorer.errors import BadValue, suggest
from explorer.parameters import number

__all__ = ["LOSSES", "check_loss", "checked_scale"]

Loss = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]


def _linear(z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return z, np.ones_like(z), np.zeros_like(z)


def _soft_l1(z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    t = 1 + z
    return 2 * (np.sqrt(t) - 1), t**-0.5, -0.5 * t**-1.5


def _huber(z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    inside, t = z <= 1, np.maximum(z, 1)
    return (
        np.where(inside, z, 2 * np.sqrt(t) - 1),
        np.where(inside, 1, t**-0.5),
        np.where(inside, 0, -0.5 * t**-1.5),
    )


def _cauchy(z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.log1p(z), 1 / (1 + z), -1 / (1 + z) ** 2


def _arctan(z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    t = 1 + z**2
    return np.arctan(z), 1 / t, -2 * z / t**2


LOSSES: dict[str, Loss] = {  # l, l', l'' of z = (r / C)^2
    "linear": _linear,
    "soft_l1": _soft_l1,
    "huber": _huber,
    "cauchy": _cauchy,
    "arctan": _arctan,
}


def check_loss(name: str) -> Loss:
    """Return the loss of a name.

    Raises
    ------
    BadValue
    """
    if name not in LOSSES:
        raise BadValue(f"There is no loss {name!r}.{suggest(name, LOSSES)}")
    return LOSSES[name]


def checked_scale(loss: str, scale: float | None, sigma: npt.ArrayLike | None) -> float:
    """Return the residual from which on a datum counts as wrong, in units of sigma.

    Raises
    ------
    BadValue
        There is no such loss, or nothing tells the scale of the residuals.
    """
    check_loss(loss)
    if scale is None and sigma is None and loss != "linear":
        raise BadValue(
            f"loss={loss!r} needs a scale of the residuals: give sigma, the standard deviation of "
            "the data, or scale, in units of the data."
        )
    return 1.0 if scale is None else number(scale, "scale", positive=True)
