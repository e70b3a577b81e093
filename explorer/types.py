"""Names of types that many modules share.

`Any` stands here for what has no other type: plain data and settings, whose values are known only
to their reader. SymPy is imported by its users, not here, so that a quick start stays quick.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import sympy as sp
    from scipy import sparse

__all__ = [
    "Array", "Bounds", "Formula", "FormulaMatrix", "FormulaVector", "Formulas", "Matrix",
    "MatrixLike", "Names", "Numbers", "Plain", "Reals", "Settings", "Sparse", "Value", "is_sparse",
]  # fmt: skip

Array: TypeAlias = npt.NDArray[np.float64]  # real numbers, of any shape
Sparse: TypeAlias = "sparse.sparray"
Matrix: TypeAlias = "np.ndarray | Sparse"
MatrixLike: TypeAlias = "npt.ArrayLike | Sparse"  # as users write it
Bounds: TypeAlias = tuple[float, float]  # lower and upper
Reals: TypeAlias = "Sequence[float] | np.ndarray"  # a row of numbers
Names: TypeAlias = "str | Iterable[str]"  # one or several
Numbers: TypeAlias = Mapping[str, float]  # parameters and their values

# what users write; the constructor or the method that takes it reads it at once
Value: TypeAlias = "float | str | sp.Expr"
Formulas: TypeAlias = "Mapping[str, Value]"  # with their names
FormulaVector: TypeAlias = "Sequence[Value] | Formulas | np.ndarray | sp.MatrixBase | Value"
FormulaMatrix: TypeAlias = "Sequence[Sequence[Value]] | np.ndarray | sp.MatrixBase | Value"
# a field of a declaration: text or a number until a system takes it, from then on an expression
Formula: TypeAlias = "sp.Expr"

Plain: TypeAlias = dict[str, Any]  # plain data, as JSON writes and reads them
Settings: TypeAlias = Mapping[str, Any]  # keyword arguments and their values


def is_sparse(A: Matrix) -> TypeGuard[Sparse]:
    """Whether a matrix is stored by rows or columns, as csr_array and csc_array are."""
    return hasattr(A, "indptr")
