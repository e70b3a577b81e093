"""Conversion of user input (number, text, SymPy) to an expression that can be compiled.

Text is parsed through Python's `ast` with a list of allowed names and functions, never by `eval`:
a saved model or a link may come from anybody.
"""

from __future__ import annotations

import ast
import keyword
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

import sympy as sp
from sympy.printing.str import StrPrinter

from explorer.errors import BadModel, suggest
from explorer.moved import refuse_moved
from explorer.types import Value

__all__ = [
    "FUNCTIONS",
    "Aliases",
    "Names",
    "check_name",
    "expression",
    "names_of",
    "parse",
    "text",
]

Aliases: TypeAlias = Mapping[sp.Basic, sp.Basic]  # replaced in this order: q(t) by q
Case: TypeAlias = tuple[sp.Expr, sp.Basic]  # a value and when it holds
FUNCTIONS: dict[str, Callable[..., sp.Expr]] = {
    **{
        name: getattr(sp, name)
        for name in [
            "sin",
            "cos",
            "tan",
            "asin",
            "acos",
            "atan",
            "atan2",
            "sinh",
            "cosh",
            "tanh",
            "asinh",
            "acosh",
            "atanh",
            "exp",
            "log",
            "sqrt",
            "sign",
            "Abs",
            "Min",
            "Max",
            "Heaviside",
            "Piecewise",
            "floor",
            "ceiling",
            "Mod",
        ]
    },
    "abs": sp.Abs,
    "min": sp.Min,
    "max": sp.Max,
    "ceil": sp.ceiling,
}
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")
_LONGEST = 100_000
_GROWING, _EXPONENT = ("exp", "sinh", "cosh"), 700  # beyond it no double holds the value
_DECLARE = " Declare parameters with .params(...)."
_CONSTANTS = {"pi": sp.pi, "E": sp.E, "True": sp.true, "False": sp.false}
_BINARY = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.Mod: sp.Mod,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
}
_COMPARE = {
    ast.Lt: sp.StrictLessThan,
    ast.LtE: sp.LessThan,
    ast.Gt: sp.StrictGreaterThan,
    ast.GtE: sp.GreaterThan,
    ast.Eq: sp.Eq,
    ast.NotEq: sp.Ne,
}


class Names(dict[str, sp.Symbol]):
    """The symbols that a formula may use, by name, and the names that it may not use.

    Parameters
    ----------
    names : mapping of str to symbol
    known : callable
        Returns the names that the system knows: asked for a refusal alone, they may be many.
    """

    def __init__(
        self, names: Mapping[str, sp.Symbol], known: Callable[[], Iterable[str]] = tuple
    ) -> None:
        super().__init__(names)
        self._known = known

    def joined(self, more: Mapping[str, sp.Symbol]) -> Names:
        """Return these names and some more."""
        return Names({**self, **more}, self._known) if more else self

    def bars(self, name: str) -> bool:
        """Whether the system knows a name that the formula may not depend on."""
        return name not in self and name in self._known()


def check_name(name: object, what: str, taken: Iterable[str] = ()) -> str:
    """Return a name that formulas can use; the message of a refusal says `what` it names.

    Raises
    ------
    BadModel
        A name that is no identifier, one of Python's own words, or taken.
    """
    label = str(name)
    if keyword.iskeyword(label):
        raise BadModel(
            f"{label!r} cannot name {what}: it is a reserved word of Python. Use '{label}_'."
        )
    if not _NAME.match(label):
        raise BadModel(f"{label!r} cannot name {what}: letters, digits, '_' only.")
    if label == "t":
        raise BadModel(f"'t' cannot name {what}: it is the time.")
    if label in taken:
        raise BadModel(f"{label!r} cannot name {what}: the name is taken.")
    return label


def names_of(value: str | Iterable[str | sp.Expr], what: str) -> list[str | sp.Expr]:
    """Return names given in one string or as a list.

    Raises
    ------
    BadModel
    """
    if isinstance(value, str):
        return value.replace(",", " ").split()
    try:
        return list(value)
    except TypeError:
        raise BadModel(
            f"{what} must be names, such as 'x y' or ['x', 'y'], not {value!r}."
        ) from None


def unknown(name: str, names: Mapping[str, sp.Expr], what: str, formula: str = "") -> str:
    """Return a message on why a formula may not contain a name."""
    here = f"{name!r} in {formula!r}" if formula else repr(name)
    if isinstance(names, Names) and names.bars(name):
        allowed = f"on {', '.join(names)}" if names else "on parameters, of which there is none"
        return f"{what} may not depend on {here}, but only {allowed}."
    if name.startswith("lam_") and what.startswith("gap of"):
        return (
            f"{what}: {here} is the multiplier of no contact here. Contacts whose gaps share "
            f"multipliers must be declared together.{suggest(name, names)}"
        )
    return f"{what}: {here} is neither a state nor a parameter.{suggest(name, names)}"


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

    def walk(node: ast.AST) -> sp.Basic:
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
                raise BadModel(unknown(name, names, what, text))
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
                if name == "Piecewise":
                    return sp.Piecewise(*map(case, map(walk, args)))
                return function(name, [walk(arg) for arg in args])
        raise BadModel(f"{what}: {text!r} contains something that is not arithmetic.")

    def case(pair: sp.Basic | Case) -> Case:
        """Return a case; a value alone holds in all other cases."""
        return pair if isinstance(pair, tuple) else (pair, sp.true)

    def function(name: str, args: list[sp.Basic]) -> sp.Expr:
        """Return a value; refuse exponentials whose digits would fill the memory."""
        if name in _GROWING and any(a.is_number and abs(a) > _EXPONENT for a in args):
            raise BadModel(f"{what}: {text!r} contains a number that is too large.")
        return FUNCTIONS[name](*args)

    def power(base: sp.Expr, exponent: sp.Expr) -> sp.Expr:
        """Return a power; refuse large powers of numbers: 9**9**9 would never end."""
        numbers = getattr(base, "is_Number", False) and getattr(exponent, "is_Number", False)
        if numbers and (abs(exponent) > 400 or abs(base) > 1e300):
            raise BadModel(f"{what}: {text!r} contains a power that is too large.")
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
    except (TypeError, ValueError, AttributeError, RecursionError, ZeroDivisionError) as error:
        if isinstance(error, BadModel):
            raise
        raise BadModel(f"{what}: {text!r} cannot be read ({error}).") from None


class _Exact(StrPrinter):  # type: ignore[misc]  # SymPy tells no types
    """Prints floats with all their digits, so that parsing gives the same double."""

    def _print_Float(self, expr: sp.Float) -> str:
        return repr(float(expr))


def text(expr: sp.Expr) -> str:
    """Return `expr` as text that `parse` reads back exactly."""
    return str(_Exact().doprint(expr))


def expression(
    value: Value, names: Mapping[str, sp.Expr], what: str, replace: Aliases | None = None
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
    if isinstance(value, int | float) and type(value) in (int, float) and math.isfinite(value):
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
    strangers = sorted(s.name for s in expr.free_symbols if s.name not in names)
    if strangers:
        barred = isinstance(names, Names) and names.bars(strangers[0])
        raise BadModel(unknown(strangers[0], names, what) + ("" if barred else _DECLARE))
    expr = expr.replace(sp.ITE, _joined) if expr.has(sp.ITE) else expr
    for cases in expr.atoms(sp.Piecewise):
        if cases.args[-1].cond != sp.true:
            raise BadModel(
                f"{what}: {cases} has no value where none of its conditions holds. End it with "
                "(value, True)."
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


def _joined(when: sp.Basic, first: sp.Basic, second: sp.Basic) -> sp.Basic:
    """Return a condition with cases (`ITE`), written with and, or, not."""
    return sp.Or(sp.And(when, first), sp.And(sp.Not(when), second))


refuse_moved(globals())
