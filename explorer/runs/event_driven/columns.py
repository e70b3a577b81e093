"""Columns of sensitivities by the values of inputs: each counts in its intervals only.

A column is a number. Below n_rho it is the parameter, -1 a start value. Beyond, place + n_rho (k +
1) is value k of the input whose parameter has this place: of a linear input, its value at the end
of an interval counts in the interval before it too, by the parameter beside it.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from explorer.systems import System

__all__ = ["active_of", "column_of", "compiled_for", "place_of"]


def column_of(place: int, k: int, n_rho: int) -> int:
    """Return the column of value `k` of the input at a place in rho."""
    return place + n_rho * (k + 1)


def place_of(column: int, n_rho: int) -> int:
    """Return the parameter of a column, -1: a start value."""
    return column if column < 0 else column % n_rho


def active_of(system: System, columns: Iterable[int]) -> np.ndarray:
    """Return the parameter of each column in each interval (k, p), -1 where it does not count.

    Of a system without inputs along time there are no intervals, (0, p).
    """
    drive, wanted, names = system.drive, list(columns), list(system.parameters)
    if drive is None:
        return np.zeros((0, len(wanted)), np.int64)
    n_rho, count = len(names), len(drive.t) - 1
    if not wanted:
        return np.empty((count, 0), np.int64)
    active = np.empty((count, len(wanted)), np.int64)
    for j, column in enumerate(wanted):
        if column < n_rho:
            active[:, j] = column
            continue
        place, k = column % n_rho, column // n_rho - 1
        name = names[place]
        active[:, j] = np.where(drive.which[name] == k, place, -1)
        if drive.inputs[name].kind == "linear":
            active[drive.which[name] == k - 1, j] = names.index(f"{name}_next")
    return active


def compiled_for(system: System, columns: tuple[int, ...]) -> Iterable[int]:
    """Return the parameters by which formulas are to be differentiated for these columns."""
    if system.drive is None:
        return columns
    wanted = list(columns)
    active = active_of(system, wanted)
    plain = {k for k in wanted if 0 <= k < len(system.parameters)}
    return plain | {int(k) for k in active.ravel() if k >= 0}
