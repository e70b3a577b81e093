"""SymPy formulas as CasADi functions.

`sympy.lambdify` prints a formula once, with common subexpressions taken out, and the printed text
runs on CasADi's symbols (Andersson, Gillis, Horn, Rawlings and Diehl, *Math. Program. Comput.* 11
(2019) 1, doi:10.1007/s12532-018-0139-4).
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING

import sympy as sp
from sympy.printing.lambdarepr import LambdaPrinter

from explorer.errors import BadModel, NotApplicable

if TYPE_CHECKING:
    from casadi import Function

__all__ = ["casadi", "function"]

_SAME = (
    *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh"),
    *("asinh", "acosh", "atanh", "exp", "log", "sqrt", "sign", "floor"),
)


def casadi() -> ModuleType:
    """Return the module CasADi.

    Raises
    ------
    NotApplicable
        If it is not installed.
    """
    try:
        return importlib.import_module("casadi")
    except ImportError:
        raise NotApplicable(
            "Optimal control needs CasADi, which is not installed: "
            'pip install "nonsmooth-explorer[control]".'
        ) from None


class _Printer(LambdaPrinter):
    """Prints cases and extrema as calls, because a CasADi symbol has no truth value."""

    def _print_Piecewise(self, expr: sp.Piecewise) -> str:
        *cases, (last, always) = expr.args
        text = self._print(last)
        if always != sp.true:
            text = f"if_else({self._print(always)}, {text}, nan)"
        for value, holds in reversed(cases):
            text = f"if_else({self._print(holds)}, {self._print(value)}, {text})"
        return text

    def _called(self, name: str, expr: sp.Expr) -> str:
        text = self._print(expr.args[0])
        for argument in expr.args[1:]:
            text = f"{name}({text}, {self._print(argument)})"
        return text

    def _print_Max(self, expr: sp.Max) -> str:
        return self._called("fmax", expr)

    def _print_Min(self, expr: sp.Min) -> str:
        return self._called("fmin", expr)

    def _print_And(self, expr: sp.And) -> str:
        return self._called("logic_and", expr)

    def _print_Or(self, expr: sp.Or) -> str:
        return self._called("logic_or", expr)

    def _print_Not(self, expr: sp.Not) -> str:
        return f"logic_not({self._print(expr.args[0])})"

    def _print_Abs(self, expr: sp.Abs) -> str:
        return f"fabs({self._print(expr.args[0])})"

    def _print_sign(self, expr: sp.sign) -> str:
        return f"sign({self._print(expr.args[0])})"

    def _print_Heaviside(self, expr: sp.Heaviside) -> str:
        u, at_zero = (self._print(one) for one in expr.args)
        return f"if_else({u} > 0, 1, if_else({u} < 0, 0, {at_zero}))"

    def _print_Mod(self, expr: sp.Mod) -> str:
        a, b = (self._print(one) for one in expr.args)
        return f"(({a}) - ({b})*floor(({a})/({b})))"

    def _print_ceiling(self, expr: sp.ceiling) -> str:
        return f"ceil({self._print(expr.args[0])})"

    def _print_Pi(self, expr: sp.Expr) -> str:
        return "pi"

    def _print_Exp1(self, expr: sp.Expr) -> str:
        return "exp(1)"


def function(
    name: str, arguments: Sequence[Sequence[sp.Symbol]], outputs: Sequence[Sequence[sp.Expr]]
) -> Function:
    """Return a CasADi function of vectors of symbols.

    Parameters
    ----------
    name : str
    arguments : sequence of sequences of symbols
        The entries of each argument.
    outputs : sequence of sequences of formulas
        The entries of each output.

    Raises
    ------
    BadModel
        If a formula contains a function or a symbol that CasADi does not have.
    """
    ca = casadi()
    table = {k: getattr(ca, k) for k in (*_SAME, "fmax", "fmin", "fabs", "if_else", "ceil")}
    table |= {k: getattr(ca, k) for k in ("logic_and", "logic_or", "logic_not")}
    table |= {"pi": ca.pi, "nan": float("nan")}
    flat = [symbol for part in arguments for symbol in part]
    formulas = [sp.sympify(formula) for part in outputs for formula in part]
    unknown = {s.name for f in formulas for s in f.free_symbols - set(flat)}
    if unknown:
        raise BadModel(f"The formulas of {name} depend on {min(unknown)!r}, which has no value.")
    vectors = [ca.SX.sym(f"{name}_{i}", len(part)) for i, part in enumerate(arguments)]
    entries = [vector[i] for vector in vectors for i in range(vector.numel())]
    # symbols may have any name, and the printed text has to be Python
    plain = [sp.Symbol(f"s{i}_") for i in range(len(flat))]
    formulas = [f.xreplace(dict(zip(flat, plain, strict=True))) for f in formulas]
    printer = _Printer({"fully_qualified_modules": False, "inline": True, "strict": False})
    call = sp.lambdify(plain, formulas, modules=[table], printer=printer, cse=True)
    try:
        values = iter(call(*entries))
    except (NameError, TypeError, AttributeError) as error:
        raise BadModel(f"The formulas of {name} cannot be optimised: {error}.") from None
    columns = [ca.vertcat(ca.SX(0, 1), *(next(values) for _ in part)) for part in outputs]
    return ca.Function(name, vectors, columns)
