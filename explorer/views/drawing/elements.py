"""How a shape looks that shows a value: lit, filled, closed, coloured by its force."""

from __future__ import annotations

from typing import TypedDict

import numpy as np

from explorer.views.drawing.picture import GREY

__all__ = ["Look", "look"]

LIT, PULLED, PRESSED = "#E69F00", "#D55E00", "#0072B2"
_LEAST = 1e-6  # of the largest: a current that is none
_OPEN = 0.5  # rad by which the blade of an open switch is lifted


class Look(TypedDict):
    """What a shape with a value looks like."""

    points: np.ndarray  # (n, 2)
    colour: str
    fill: str  # "": none
    width: float  # px


def look(role: str, points: np.ndarray, value: float, most: float) -> Look:
    """Return how a shape looks that shows a value, whose largest size in a run is `most`.

    Returns
    -------
    dict
        A part is filled while its value is positive, a lamp as its value is above 0; a blade above
        1/2 is closed. Springs are orange where they are pulled and blue where they are pressed.
    """
    share = value / (most or 1.0)
    found: Look = {"points": points, "colour": GREY, "fill": "", "width": 2.0}
    if role == "spring":
        found["colour"] = PULLED if share > 0 else PRESSED if share < 0 else GREY
    elif role == "wire":
        found["width"] = 1.5 + 2.5 * abs(share) if np.isfinite(share) else 1.5
        found["colour"] = LIT if abs(share) > _LEAST else GREY
    elif role == "part":
        found["fill"] = LIT if share > _LEAST else ""
    elif role == "lamp" and value > 0:
        found["fill"] = found["colour"] = f"rgba(230, 159, 0, {min(value, 1.0):.3g})"
    elif role == "blade" and not value > 0.5:
        found["points"] = np.array([points[0], points[0] + _turned(points[1] - points[0])])
    return found


def _turned(along: np.ndarray) -> np.ndarray:
    cos, sin = np.cos(_OPEN), np.sin(_OPEN)
    return np.array([cos * along[0] - sin * along[1], sin * along[0] + cos * along[1]])
