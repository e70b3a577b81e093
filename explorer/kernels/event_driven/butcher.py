"""Coefficients of the Runge-Kutta methods and of Newmark's, as the kernels take them.

The pairs are those of Dormand and Prince: of order 8 from the program dop853 of Hairer, Norsett and
Wanner, Solving ODEs I; of order 5 with the polynomial of Shampine. They are SciPy's to the last
bit, but stand in ``pairs.json``: to load `scipy.integrate` takes half a second.

Radau IIA: Hairer, Wanner, Solving ODEs II, table IV.5.6.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from explorer.kernels.event_driven import records

__all__ = ["METHODS", "ORDERS", "Tableau", "newmark"]


@dataclass(frozen=True)
class Tableau:
    """One method.

    Attributes
    ----------
    code, stages : int
    A : (16, 16), rows of stages, the end of the step (row `stages`), then rows for the polynomial
    c : (16,) times of the rows
    E : (2, 16) error weights
    D : (4, 16) weights of the polynomial
    exponent : float
        The error of a step falls with h to the power of -1 / exponent.
    stiff : float
        h times the largest eigenvalue beyond which the method is unstable; 0 for a stiff method.
    newmark : tuple
        Coefficients of `explorer.kernels.event_driven.newmark_step`: alpha_m, alpha_f, beta, gamma,
        whether interpolated, weight of the local error (1 / tolerance, 0: fixed steps), most
        iterations; empty of a Runge-Kutta method.
    """

    code: int
    stages: int
    A: np.ndarray
    c: np.ndarray
    E: np.ndarray
    D: np.ndarray
    exponent: float
    stiff: float
    newmark: tuple[float, ...] = ()

    @property
    def last(self) -> int:
        """Return the last row of A: of the polynomial, or of the end of the step."""
        return 15 if self.code == records.DOP853 else self.stages


def _place(shape: tuple[int, int], *blocks: tuple[int, np.ndarray]) -> np.ndarray:
    whole = np.zeros(shape)
    for row, block in blocks:
        block = np.atleast_2d(block)
        whole[row : row + len(block), : block.shape[1]] = block
    return whole


def _times(*parts: np.ndarray) -> np.ndarray:
    return np.concatenate([*parts, np.zeros(16)])[:16]


_ONE = np.ones(1)
_R = 6**0.5
_RADAU = np.array(
    [
        [(88 - 7 * _R) / 360, (296 - 169 * _R) / 1800, (-2 + 3 * _R) / 225],
        [(296 + 169 * _R) / 1800, (88 + 7 * _R) / 360, (-2 - 3 * _R) / 225],
        [(16 - _R) / 36, (16 + _R) / 36, 1 / 9],
    ]
)
# the polynomial with the slopes of the start and of the stages, from these slopes to powers of the
# fraction of a step. Without that of the start, what leaves a guard slowly seems to fall through.
# Its end is that of the step, since Radau's rule integrates a cubic exactly.
_NODES = np.append(0.0, _RADAU.sum(axis=1))
_POLYNOMIAL = np.linalg.inv(_NODES[:, None] ** np.arange(4)) / np.arange(1.0, 5.0)[:, None]


def _pair(name: str) -> SimpleNamespace:
    """Return the coefficients of a pair, named as SciPy names them."""
    held = json.loads(Path(__file__).with_name("pairs.json").read_text("utf-8"))[name]
    return SimpleNamespace(**{key: np.array(value, float) for key, value in held.items()})


@functools.cache
def _dop853() -> Tableau:
    pair = _pair("DOP853")
    return Tableau(
        records.DOP853,
        12,
        _place((16, 16), (0, pair.A), (12, pair.B), (13, pair.A_EXTRA)),
        _times(pair.C[:12], _ONE, pair.C_EXTRA),
        _place((2, 16), (0, pair.E5), (1, pair.E3)),
        _place((4, 16), (0, pair.D)),
        -1 / 8,
        6.1,
    )


@functools.cache
def _dopri5() -> Tableau:
    pair = _pair("RK45")
    return Tableau(
        records.DOPRI5,
        6,
        _place((16, 16), (0, pair.A), (6, pair.B)),
        _times(pair.C, _ONE),
        _place((2, 16), (0, pair.E)),
        _place((4, 16), (0, pair.P.T)),
        -1 / 5,
        3.25,
    )


@functools.cache
def _radau() -> Tableau:
    return Tableau(
        records.RADAU,
        3,
        _place((16, 16), (1, np.column_stack([np.zeros(3), _RADAU]))),
        _times(np.zeros(1), _RADAU.sum(axis=1)),
        _place((2, 16), (0, np.eye(5)[4])),
        _place((4, 16), (0, _POLYNOMIAL)),
        -1 / 4,
        0.0,
    )


ORDERS = {"dop853": 8, "dopri5": 5, "radau": 5}
METHODS: dict[str, Callable[[], Tableau]] = {
    "dop853": _dop853,
    "dopri5": _dopri5,
    "radau": _radau,
}


def newmark(order: int, *coefficients: Any) -> Tableau:
    """Return the method of the Newmark family with these coefficients, see `Tableau.newmark`."""
    return Tableau(
        records.NEWMARK,
        1,
        np.zeros((16, 16)),
        _times(np.zeros(1), _ONE),
        np.zeros((2, 16)),
        np.zeros((4, 16)),
        -1 / (order + 1),
        0.0,
        coefficients,
    )
