"""Names of types that many modules share.

`Any` stands here for what has no other type: plain data and settings, whose values are known only
to their reader. SymPy is imported by its users, not here, so that a quick start stays quick.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import sympy as sp
    from scipy import sparse

__all__ = ["Array", "Bounds", "Formulas", "Matrix", "Numbers", "Plain", "Settings", "Value"]

Array: TypeAlias = npt.NDArray[np.float64]  # real numbers, of any shape
Matrix: TypeAlias = "np.ndarray | sparse.sparray"  # dense or sparse
Bounds: TypeAlias = tuple[float, float]  # lower and upper
Numbers: TypeAlias = Mapping[str, float]  # parameters and their values

Value: TypeAlias = "float | str | sp.Expr"  # a number or a formula, as users write it
Formulas: TypeAlias = "Mapping[str, Value]"  # with their names

Plain: TypeAlias = dict[str, Any]  # plain data, as JSON writes and reads them
Settings: TypeAlias = Mapping[str, Any]  # keyword arguments and their values
