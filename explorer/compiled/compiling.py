"""The compiled form of a system, made at its first use."""

from __future__ import annotations

from explorer.compiled.discs import CompiledDiscs
from explorer.compiled.held import behind_inputs
from explorer.compiled.mechanical import Compiled
from explorer.systems import DiscSystem, LagrangianSystem

__all__ = ["compile_system"]


def compile_system(system: LagrangianSystem) -> Compiled:
    """Return the compiled system; compiled once for each change of its equations."""
    if "compiled" not in system.made and system.drive is not None:
        assert isinstance(system.base, LagrangianSystem)
        base = compile_system(system.base)
        system.made["compiled"] = behind_inputs(base, system, 1 + 2 * base.n)
    if "compiled" not in system.made:
        system.made["compiled"] = (
            CompiledDiscs(system) if isinstance(system, DiscSystem) else Compiled(system)
        )
    compiled: Compiled = system.made["compiled"]
    return compiled
