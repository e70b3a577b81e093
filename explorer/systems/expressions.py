"""From what a user writes (number, text, SymPy) to an expression that can be compiled.

Text is parsed through Python's `ast` with a list of allowed names and functions, never by `eval`:
a saved model or a link may come from anybody.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Mapping, Sequence
from typing import Any

import sympy as sp
from sympy.printing.str import StrPrinter

from explorer.errors import BadModel, suggest

__all__ = ["FUNCTIONS", "expression", "matrix", "parse", "text", "vector"]

FUNCTIONS: dict[str, Any] = {
    **{name: getattr(sp, name) for name in (
        "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh",
        "acosh", "atanh", "exp", "log", "sqrt", "sign", "Abs", "Min", "Max", "Heaviside",
        "Piecewise",
    )},
    "abs": sp.Abs, "min": sp.Min, "max": sp.Max,
}  # fmt: skip
_LONGEST = 100_000
_CONSTANTS = {"pi": sp.pi, "E": sp.E, "True": sp.true, "False": sp.false}
_BINARY = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.Pow: operator.pow,
    ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
}  # fmt: skip
_COMPARE = {
    ast.Lt: sp.StrictLessThan, ast.LtE: sp.LessThan, ast.Gt: sp.StrictGreaterThan,
    ast.GtE: sp.GreaterThan, ast.Eq: sp.Eq, ast.NotEq: sp.Ne,
}  # fmt: skip


def parse(text: str, names: Mapping[str, sp.Expr], what: str = "the formula") -> sp.Expr:
    """Read a formula such as ``"-m*g + k*sin(q)**2"``.

    Parameters
    ----------
    text : str
        Python syntax; ``^`` is read as a power.
    names : mapping
        What each name stands for.
    what : str
        Begins the sentence of the error.

    Raises
    ------
    BadModel
        For anything but arithmetic on known names and functions.
    """

    def walk(node: ast.AST) -> Any:
        match node:
            case ast.Expression(body=body):
                return walk(body)
            case ast.Constant(value=bool() as value):
                return sp.true if value else sp.false
            case ast.Constant(value=int() | float() as value):
                return sp.sympify(value)
            case ast.Name(id=name):
                if name in names:
                    return names[name]
                if name in _CONSTANTS:
                    return _CONSTANTS[name]
                raise BadModel(
                    f"{what}: {name!r} in {text!r} is neither a state nor a parameter."
                    f"{suggest(name, names)}"
                )
            case ast.UnaryOp(op=ast.USub(), operand=inside):
                return -walk(inside)
            case ast.UnaryOp(op=ast.UAdd(), operand=inside):
                return walk(inside)
            case ast.UnaryOp(op=ast.Invert() | ast.Not(), operand=inside):
                return sp.Not(walk(inside))
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                return power(walk(left), walk(right))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                return _BINARY[type(op)](walk(left), walk(right))
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARE:
                return _COMPARE[type(op)](walk(left), walk(right))
            case ast.Tuple(elts=items):
                return tuple(walk(item) for item in items)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                if name in ("And", "Or", "Eq", "Ne"):
                    return getattr(sp, name)(*map(walk, args))
                if name not in FUNCTIONS:
                    raise BadModel(
                        f"{what}: there is no function {name!r}.{suggest(name, FUNCTIONS)}"
                    )
                return FUNCTIONS[name](*map(walk, args))
        raise BadModel(f"{what}: {text!r} holds something that is not arithmetic.")

    def power(base: Any, exponent: Any) -> Any:
        """Exact arithmetic on 9**9**9 would never end: large powers of numbers are refused."""
        numbers = getattr(base, "is_Number", False) and getattr(exponent, "is_Number", False)
        if numbers and (abs(exponent) > 400 or abs(base) > 1e300):
            raise BadModel(f"{what}: {text!r} holds a power too large to be meant.")
        return base**exponent

    if len(text) > _LONGEST:
        raise BadModel(f"{what} is {len(text)} characters long; at most {_LONGEST} are read.")
    try:
        tree = ast.parse(text.strip().replace("^", "**"), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise BadModel(
            f"{what}: {text!r} is not a formula (is a bracket or '*' missing?)."
        ) from None
    try:
        return walk(tree)
    except (TypeError, AttributeError, RecursionError) as error:
        raise BadModel(f"{what}: {text!r} cannot be read ({error}).") from None


class _Exact(StrPrinter):
    """Prints floats with all their digits, so that what is read back is the same double."""

    def _print_Float(self, expr: sp.Float) -> str:
        return repr(float(expr))


def text(expr: sp.Expr) -> str:
    """Return `expr` as text that `parse` reads back exactly."""
    return _Exact().doprint(expr)


def expression(
    value: Any, names: Mapping[str, sp.Expr], what: str, replace: Mapping | None = None
) -> sp.Expr:
    """Return `value` as a real expression in the symbols of `names`, ready to be compiled.

    Parameters
    ----------
    value : number, str or SymPy expression
    names : mapping of str to symbol
        Symbols of the same name but other assumptions are taken as these.
    what : str
        Begins the sentence of the error, e.g. "force of 'my ball'".
    replace : mapping, optional
        Replacements made first (``Derivative(q(t), t)`` and the like), in this order.

    Raises
    ------
    BadModel
        An unknown symbol or function, a complex or infinite number, no expression at all.
    """
    if type(value) in (int, float) and math.isfinite(value):
        return sp.sympify(value)
    if isinstance(value, str):
        expr = parse(value, names, what)
    else:
        try:
            expr = sp.sympify(value, strict=True)
        except (sp.SympifyError, TypeError, ValueError, AttributeError):
            raise BadModel(f"{what} must be a formula or a number, not {value!r}.") from None
    if not isinstance(expr, sp.Expr):
        raise BadModel(f"{what} must be a formula or a number, not {value!r}.")
    for old, new in (replace or {}).items():
        expr = expr.subs(old, new)
    other = {s: names[s.name] for s in expr.free_symbols if s.name in names and s != names[s.name]}
    expr = expr.xreplace(other) if other else expr
    unknown = sorted(s.name for s in expr.free_symbols if s.name not in names)
    if unknown:
        raise BadModel(
            f"{what}: {unknown[0]!r} is neither a state nor a parameter."
            f"{suggest(unknown[0], names)} Declare parameters with .params(...)."
        )
    if expr.has(sp.I, sp.nan, sp.zoo, sp.oo, -sp.oo):
        raise BadModel(f"{what}: {expr} is not a finite real number.")
    strange = [f for f in expr.atoms(sp.Function) if type(f).__name__ not in FUNCTIONS]
    strange += list(expr.atoms(sp.Derivative, sp.Integral))
    if strange:
        raise BadModel(
            f"{what}: {strange[0]} cannot be compiled. Functions: {', '.join(sorted(FUNCTIONS))}."
        )
    return expr


def vector(value: Any, n: int, names: Mapping, what: str, replace: Mapping | None = None) -> tuple:
    """Return `n` expressions; a scalar stands for a vector of length one.

    Raises
    ------
    BadModel
        If the length is not `n`, with both numbers.
    """
    if isinstance(value, sp.MatrixBase):
        value = list(value)
    elif hasattr(value, "tolist"):
        value = value.tolist()
    items = [value] if isinstance(value, str) or not isinstance(value, Sequence) else list(value)
    items = [i for row in items for i in (row if isinstance(row, (list, tuple)) else [row])]
    if len(items) != n:
        raise BadModel(f"{what} needs {n} component{'s' * (n != 1)}, but {len(items)} given.")
    return tuple(
        expression(item, names, f"{what}[{i}]" if n > 1 else what, replace)
        for i, item in enumerate(items)
    )


def matrix(value: Any, n: int, names: Mapping, what: str, replace: Mapping | None = None) -> tuple:
    """Return an n x n tuple of rows; a scalar stands for a 1 x 1 matrix.

    Raises
    ------
    BadModel
        If the shape is not n x n.
    """
    if isinstance(value, sp.MatrixBase) or hasattr(value, "tolist"):
        value = value.tolist()
    if not isinstance(value, (list, tuple)):
        value = [[value]]
    shapes = {len(row) if isinstance(row, (list, tuple)) else -1 for row in value}
    if len(value) != n or shapes != {n}:
        given = f"{len(value)} x {'/'.join(str(s) for s in sorted(shapes))}".replace("x -1", "rows")
        raise BadModel(f"{what} must be {n} x {n}, but {given} was given.")
    return tuple(
        tuple(
            expression(x, names, f"{what}[{i}, {j}]", replace) if x != 0 else sp.Integer(0)
            for j, x in enumerate(row)
        )
        for i, row in enumerate(value)
    )
