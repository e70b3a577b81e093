"""Names of what the shapes of a sketch may show beside states: which mode or region is active."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["signal_names"]


def signal_names(kind: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return an identifier for each name, no two alike.

    >>> signal_names("mode", ["fill 1", "fill-1", "on"])
    ('mode_fill_1', 'mode_fill_1_2', 'mode_on')
    """
    found: list[str] = []
    for name in names:
        plain = f"{kind}_{re.sub(r'[^0-9A-Za-z]+', '_', name).strip('_')}"
        found.append(f"{plain}_{len(found) + 1}" if plain in found else plain)
    return tuple(found)
