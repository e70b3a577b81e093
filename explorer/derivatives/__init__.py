"""Derivatives of hybrid trajectories by parameters, with their jumps, in five ways.

The package can be called: `explorer.sensitivity` is this module once it is imported, and the
function of the same name for who types ``ex.sensitivity(...)``.
"""

import sys
from types import ModuleType
from typing import Any

from explorer.derivatives.cost import Cost
from explorer.derivatives.direct import Sensitivity
from explorer.derivatives.methods import METHODS, sensitivity
from explorer.derivatives.saltation import Saltation
from explorer.derivatives.trust import Trust

__all__ = ["METHODS", "Cost", "Saltation", "Sensitivity", "Trust", "sensitivity"]


class _Callable(ModuleType):
    def __call__(self, *args: Any, **kwargs: Any) -> Sensitivity:
        return sensitivity(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable
__doc__ = sensitivity.__doc__ or ""
__wrapped__ = sensitivity  # whose signature it shows
