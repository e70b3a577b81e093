"""The compiled form of a system, made when it is first wanted."""

from __future__ import annotations

from explorer.compiled.discs import CompiledDiscs
from explorer.compiled.mechanical import Compiled
from explorer.systems import DiscSystem, LagrangianSystem

__all__ = ["compile_system"]


def compile_system(system: LagrangianSystem) -> Compiled:
    """Return the compiled system; compiled once for each change of its equations."""
    compiled: Compiled | None = getattr(system, "_compiled", None)
    if compiled is None or compiled.revision != system.revision:
        compiled = CompiledDiscs(system) if isinstance(system, DiscSystem) else Compiled(system)
        system._compiled = compiled  # type: ignore[attr-defined]
    return compiled
