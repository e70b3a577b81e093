"""From a system's equations to native functions: the only door from expressions to kernels.

SymEngine takes the SymPy expressions, derives every Jacobian exactly and compiles *bundles* of
outputs by LLVM.
"""

from explorer.compiled.bundle import Bundle
from explorer.compiled.checks import short
from explorer.compiled.compiling import compile_system
from explorer.compiled.first_order import FirstOrder, compile_first_order
from explorer.compiled.flow import Flow, compile_flow
from explorer.compiled.maps import CompiledMap, compile_map
from explorer.compiled.mechanical import Compiled
from explorer.compiled.paradox import Paradox, lifting, paradox
from explorer.compiled.power import compile_power
from explorer.compiled.remade import Remade
from explorer.compiled.sketch import compile_sketch
from explorer.compiled.switched import Switched, compile_switched

__all__ = [
    "Bundle",
    "Compiled",
    "CompiledMap",
    "FirstOrder",
    "Flow",
    "Paradox",
    "Remade",
    "Switched",
    "compile_first_order",
    "compile_flow",
    "compile_map",
    "compile_power",
    "compile_sketch",
    "compile_switched",
    "compile_system",
    "lifting",
    "paradox",
    "short",
]
