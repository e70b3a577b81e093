"""A box around the states that runs may reach: least and largest value by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np

from explorer.errors import BadValue, suggest
from explorer.study.over import states_of
from explorer.systems import System

__all__ = ["Box", "box_of"]

Box: TypeAlias = Mapping[str, tuple[float, float]]


def box_of(system: System, box: object) -> dict[str, tuple[float, float]]:
    """Return the sides of a box by the names of states; of None an empty one.

    Raises
    ------
    BadValue
        It is no box, or names no state.
    """
    if box is None:
        return {}
    names = states_of(system)[0]
    if not isinstance(box, Mapping):
        raise BadValue(
            f"box = {box!r} must be a dict of states, such as {{'{names[0]}': (-9, 9)}}."
        )
    for name, sides in box.items():
        if name not in names:
            raise BadValue(f"box: '{system.name}' has no state {name!r}.{suggest(name, names)}")
        if np.shape(sides) != (2,) or not sides[0] < sides[1]:
            raise BadValue(f"box: {name!r} needs its least and its largest value, not {sides!r}.")
    return {name: (float(a), float(b)) for name, (a, b) in box.items()}
