"""The part of a system that its contacts and records read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import sympy as sp

from explorer.systems.expressions import Names

__all__ = ["Moving"]


class Labelled(Protocol):
    """An object with a name."""

    @property
    def name(self) -> str:
        """Shown in lists."""


class Moving(Protocol):
    """A system with coordinates q and velocities v: `LagrangianSystem` is one."""

    name: str
    q: tuple[sp.Symbol, ...]
    v: tuple[sp.Symbol, ...]
    t: sp.Symbol

    @property
    def n(self) -> int:
        """Number of coordinates."""

    @property
    def records(self) -> Sequence[Labelled]:
        """Sampled forces."""

    def symbols(self, *, state: bool = True) -> Names:
        """Return the symbols by name, those of the state too or not."""
