"""The event at which a cost ends: by its name, or by name and number, counted from 1."""

from __future__ import annotations

from collections.abc import Sequence

from explorer.errors import BadValue, suggest
from explorer.parameters import whole
from explorer.systems import System

__all__ = ["final_event"]


def final_event(system: System, until: object, known: Sequence[str]) -> tuple[str, int] | None:
    """Return name and number of the event `until`, one of the `known` ones; None: there is none.

    Raises
    ------
    BadValue
        It is no event of the system, or its number is none.
    """
    if until is None:
        return None
    pair = (until, 1) if isinstance(until, str) else until
    if not isinstance(pair, Sequence) or len(pair) != 2 or not isinstance(pair[0], str):
        name = known[0] if known else "floor"
        raise BadValue(
            f"until = {until!r} must be an event, by its name or by name and number: "
            f"until={name!r} or until=({name!r}, 2)."
        )
    name, count = pair
    if name not in known:
        raise BadValue(f"'{system.name}' has no event {name!r}.{suggest(name, known)}")
    return name, whole(count, f"until=({name!r}, ...): the number of the event")
