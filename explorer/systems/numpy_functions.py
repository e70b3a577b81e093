"""NumPy's functions refuse a formula; the message names the SymPy function to use.

``np.sin(q)`` asks the formula q for a method ``sin`` of its own and complains that there is none.
SymPy leaves the hook for this, ``__array_ufunc__``, open; arithmetic goes on as without it.
"""

from __future__ import annotations

import numpy as np
import sympy as sp

from explorer.errors import BadArgument
from explorer.systems.expressions import FUNCTIONS

__all__: list[str] = []

_NAMES = {"arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2",
          "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh", "minimum": "Min",
          "maximum": "Max", "absolute": "Abs"}  # fmt: skip


def _apply(
    self: sp.Expr, ufunc: np.ufunc, method: str, *inputs: object, **options: object
) -> object:
    """Apply the function to arrays of objects; if it fails, name a function that takes formulas."""
    given = [np.asarray(x, object) if isinstance(x, sp.Expr) else x for x in inputs]
    try:
        return getattr(ufunc, method)(*given, **options)
    except (TypeError, AttributeError):
        called = _NAMES.get(ufunc.__name__, ufunc.__name__)
        works = (
            f"write sympy.{called}(...), or all of the formula as text, such as '{called}(...)'"
            if called in FUNCTIONS
            else "write it with the functions of SymPy"
        )
        raise BadArgument(
            f"NumPy's {ufunc.__name__} takes numbers, but {self} is a formula: {works}."
        ) from None


if not hasattr(sp.Expr, "__array_ufunc__"):
    sp.Expr.__array_ufunc__ = _apply
