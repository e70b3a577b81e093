"""How many steps reach the end of a run, and whether their record fits into memory."""

from __future__ import annotations

import numpy as np

from explorer.errors import BadValue
from explorer.parameters import roomy
from explorer.quantities import quantity
from explorer.recorder import MOST_BYTES, PER_STEP
from explorer.systems import System

__all__ = ["check_breaks", "steps"]


def steps(h: float, t_end: float, row: float, n: int, coordinates: int = 0, unit: str = "s") -> int:
    """Return how many steps of size `h` reach `t_end`; `row` numbers are kept of each.

    `coordinates` of them are those of which a `Recorder` may keep fewer, if the scheme takes one.
    Times are in `unit`.

    Raises
    ------
    BadValue
        A time span that is not positive, or shorter than h; a record beyond memory.
    """
    if not t_end > 0:
        raise BadValue(f"t_end = {quantity(t_end, unit)} must be greater than zero.")
    if h > t_end:
        raise BadValue(
            f"The step h = {quantity(h, unit)} is longer than the time span "
            f"t_end = {quantity(t_end, unit)}; try h = {quantity(t_end / 1000, unit, 1)}."
        )
    count = int(np.ceil(t_end / h - 1e-9))
    if 8 * count * row > MOST_BYTES:
        raise BadValue(
            f"h = {h:g} {unit} over {t_end:g} {unit} makes {count:.3g} steps, which need "
            f"{8 * count * row / MOST_BYTES:.3g} GB and about {count * 1e-6 * n:.3g} s; "
            f"{MOST_BYTES / 2**30:g} GB are allowed. {_fewer(count, coordinates)}Use h = "
            f"{roomy(8 * t_end * row / MOST_BYTES):g} {unit} or larger, or a shorter t_end."
        )
    return count


def check_breaks(system: System, h: float) -> None:
    """Refuse steps of one size that do not end where inputs change.

    Raises
    ------
    BadValue
        The message has the next smaller step that does, if there is one.
    """
    if system.drive is None or system.drive.layout.fits.get(h):
        return
    breaks = system.drive.breaks
    off = np.abs(breaks / h - np.round(breaks / h)) > 1e-6
    system.drive.layout.fits[h] = not off.any()
    if not off.any():
        return
    least, unit = float(np.diff(system.drive.t).min()), system.time_unit
    better = least / np.ceil(least / h * (1 - 1e-9))
    fits = (np.abs(breaks / better - np.round(breaks / better)) <= 1e-6).all()
    advice = f"use h = {better:.9g} {unit}" if fits else "use a grid of multiples of h"
    raise BadValue(
        f"The inputs of '{system.name}' change at t = {quantity(float(breaks[off][0]), unit)}, "
        f"within a step of h = {quantity(h, unit)}: {advice}, or EventDriven, which stops there."
    )


def _fewer(count: int, coordinates: int) -> str:
    """Return the advice to keep fewer rows, if so many `coordinates` of each are to be kept."""
    left = MOST_BYTES / (8 * count) - PER_STEP
    if not coordinates or left <= 0:
        return ""
    every = int(np.ceil(1.1 * coordinates / left))
    scale = 10 ** max(len(str(every)) - 1, 0)
    every = next(k * scale for k in (1, 2, 5, 10) if k * scale >= every)
    return (
        f"record=Recorder(every={max(every, 2)}) keeps every {max(every, 2)}th row and fits; "
        "Recorder(q=[...], v=(), a=()) keeps chosen coordinates. "
    )
