"""Formulas in ranges: what a user writes for path and end constraints, and for bounds."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import sympy as sp

from explorer.arguments import items
from explorer.errors import BadModel, BadValue
from explorer.parameters import number
from explorer.systems.expressions import expression, text

__all__ = ["Ranged", "Rule", "pair", "ranged", "rules"]

Rule: TypeAlias = "str | sp.Basic"
Ranged: TypeAlias = "tuple[sp.Expr, float, float, str]"  # formula, low, high, as text

_RELATION = re.compile(r"<=|>=|==|<|>")
_EXAMPLE = 'path=["x**2 + y**2 >= 1"]'


def pair(value: object, what: str) -> tuple[float, float]:
    """Return a range (low, high); a number is a range of one value, None is no bound.

    Raises
    ------
    BadValue
        If it is no range, or empty.
    """
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        only = number(value, what)
        return only, only
    ends = list(value)
    if len(ends) != 2:
        raise BadValue(f"{what}: give (low, high), not {value!r}.")
    low, high = (
        free if end is None or end == free else number(end, what)
        for end, free in zip(ends, (-math.inf, math.inf), strict=True)
    )
    if low > high:
        raise BadValue(f"{what}: the range is empty: {low:g} > {high:g}. Give (low, high).")
    return low, high


def rules(given: object, names: Mapping[str, sp.Symbol], what: str) -> list[Ranged]:
    """Return relations as formulas in ranges.

    Parameters
    ----------
    given : sequence of relations as text or SymPy, or mapping of formulas to numbers or ranges
    names : mapping of str to symbol
    what : str
        Begins the sentence of an error.

    Raises
    ------
    BadModel, BadValue
        An unknown symbol, no relation, an empty range.
    """
    if given is None:
        return []
    if isinstance(given, Mapping):
        return [ranged(formula, value, names, what) for formula, value in given.items()]
    if isinstance(given, (str, sp.Basic)):
        given = [given]
    return [_relation(rule, names, what) for rule in items(given, what, str, sp.Basic)]


def ranged(formula: object, value: object, names: Mapping[str, sp.Symbol], what: str) -> Ranged:
    """Return a formula that is in a range."""
    left = _moving(expression(formula, names, what), str(formula), what)
    low, high = pair(value, f"{what}: {formula}")
    said = f"{text(left)} = {low:g}" if low == high else f"{low:g} <= {text(left)} <= {high:g}"
    return left, low, high, said


def _moving(formula: sp.Expr, rule: str, what: str) -> sp.Expr:
    """Return a formula that depends on something.

    Raises
    ------
    BadModel
        If it is a number.
    """
    if not formula.free_symbols:
        raise BadModel(f"{what}: {rule!r} depends on no state, control or parameter.")
    return formula


def _relation(rule: Rule, names: Mapping[str, sp.Symbol], what: str) -> Ranged:
    sides: Sequence[object]
    if isinstance(rule, str):
        parts = _RELATION.split(rule)
        signs = _RELATION.findall(rule)
        if len(parts) != 2:
            raise BadModel(f"{what}: {rule!r} is no relation of two formulas; {_EXAMPLE} is one.")
        sides, sign = parts, signs[0]
    elif isinstance(rule, (sp.Equality, sp.Le, sp.Ge, sp.Lt, sp.Gt)):
        sides, sign = (rule.lhs, rule.rhs), str(rule.rel_op)
    else:
        raise BadModel(f"{what}: {rule} is no relation; {_EXAMPLE} is one.")
    left, right = (expression(side, names, what) for side in sides)
    low, high = {"=": (0.0, 0.0), "<": (-math.inf, 0.0), ">": (0.0, math.inf)}[sign[0]]
    op = {"=": "=", "<": "<=", ">": ">="}[sign[0]]
    _moving(left - right, str(rule), what)
    return left - right, low, high, f"{text(left)} {op} {text(right)}"
