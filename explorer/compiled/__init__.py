"""From a system's equations to native functions: the only door from expressions to kernels.

SymEngine takes the SymPy expressions, derives every Jacobian exactly and compiles *bundles* of
outputs by LLVM.
"""

from explorer.compiled.bundle import Bundle
from explorer.compiled.flow import Flow, compile_flow
from explorer.compiled.mechanical import Compiled, compile_system, short
from explorer.compiled.power import compile_power
from explorer.compiled.sketch import compile_sketch
from explorer.compiled.switched import Switched, compile_switched

__all__ = [
    "Bundle",
    "Compiled",
    "Flow",
    "Switched",
    "compile_flow",
    "compile_power",
    "compile_sketch",
    "compile_switched",
    "compile_system",
    "short",
]
