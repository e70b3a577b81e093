"""A native function of one input vector, compiled by LLVM from SymEngine expressions.

``void f(double* out, const double* in, void* data)``: numba kernels call it by its address. Machine
code is kept on disk under a digest of the expressions, the versions and the processor.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import itertools
import pickle
import re
from collections.abc import Iterator, Sequence
from ctypes import byref
from typing import Any, Protocol, TypeAlias

import llvmlite.binding as llvm
import numpy as np
import symengine as se
import sympy as sp

from explorer import cache
from explorer.errors import BadModel
from explorer.systems.kinks import SHARP
from explorer.types import Reals

__all__ = ["FUNCTION", "Bundle", "Expr", "Neighbours", "Recorded", "Values", "smooth"]

Expr: TypeAlias = se.Basic  # an expression or a symbol of SymEngine

_TAKEN = re.compile(r"x\d+\Z")
_UNREADABLE = (
    sp.re,
    sp.im,
    sp.arg,
    sp.conjugate,
    sp.Derivative,
    sp.Subs,
)  # crash SymEngine
FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_NUMBER: Any = ctypes.c_double.from_buffer  # three times as fast as an array's own `ctypes`


class Holding(Protocol):
    """Holds formulas to one side of a surface, as `explorer.compiled.sides.Sides` does."""

    def turns(self, at: sp.Expr, u: Expr) -> Expr:
        """Return u, or the held sign; `at` is u as SymPy has it in the formula."""

    def whole(self, at: sp.Expr, u: Expr) -> Expr:
        """Return floor(u)."""


@functools.cache
def _target() -> bytes:
    features = llvm.get_host_cpu_features().flatten()
    return f"{se.__version__}|{llvm.get_host_cpu_name()}|{features}|1".encode()


def _shared(outputs: Sequence[Expr]) -> tuple[list[tuple[Expr, Expr]], list[Expr]]:
    """Return common subexpressions with their names, and the outputs by these names.

    What is searched for in formulas is searched for here: the formulas of a chain of bodies written
    in full take a minute.
    """
    named, short = se.cse(list(outputs))
    return named, [se.sympify(e) for e in short]


def _parts(named: Sequence[tuple[Expr, Expr]], short: Sequence[Expr]) -> Iterator[Expr]:
    return itertools.chain((e for _, e in named), short)


def _digest(args: Sequence[Expr], named: Sequence[tuple[Expr, Expr]], short: Sequence[Expr]) -> str:
    """Return a digest of formulas, as `_shared` returns them, the same in every process.

    (A pickle would not: it holds addresses.) The text shows numbers to 15 digits, so all of them
    stand behind it.
    """
    text = repr((list(args), named, short))
    numbers = {float(x).hex() for e in _parts(named, short) for x in e.atoms(se.RealDouble)}
    content = f"{text}{sorted(numbers)}".encode()
    return hashlib.sha256(_target() + content).hexdigest()[:32]


class Bundle:
    """A native function of the input vector.

    Parameters
    ----------
    args : sequence of symengine symbols
    outputs : sequence of symengine expressions

    Attributes
    ----------
    address, data : int
        C address and data pointer, valid while this object lives.
    size : int
        Number of outputs.
    """

    def __init__(self, args: Sequence[Expr], outputs: Sequence[Expr]) -> None:
        self.size = len(outputs)
        content = list(outputs) or [se.Integer(0)]
        # SymEngine calls common subexpressions x0, x1, ... and takes no notice of arguments
        clash = {a: se.Symbol(f"_{a}") for a in args if _TAKEN.match(str(a))}
        if clash:
            args = [clash.get(a, a) for a in args]
            content = [_renamed(se.sympify(c), clash) for c in content]
        named, short = _shared(content)
        key = _digest(args, named, short)
        native = None
        kept = cache.load(key, "models")
        if kept is not None:
            try:
                native = pickle.loads(kept)
            except Exception:  # of another SymEngine, say: compile anew
                native = None
        if native is None:
            if any(e.atoms(se.Derivative, se.Subs) for e in _parts(named, short)):
                content = _settled(content)
            try:
                native = se.Lambdify(args, content, cse=True, backend="llvm")
            except RuntimeError as error:
                raise BadModel(f"A formula cannot be compiled: {error}.") from None
            cache.store(key, pickle.dumps(native), "models")
        self._native = native
        function, pointer = native.as_ctypes()
        self.address = int(ctypes.cast(function, ctypes.c_void_p).value or 0)
        self.data = int(pointer.value or 0)
        self._call = FUNCTION(self.address)

    def __call__(self, inp: np.ndarray) -> np.ndarray:
        """Return the outputs at one input vector (float64, contiguous)."""
        out = np.zeros(max(self.size, 1))
        self._call(byref(_NUMBER(out)), byref(_NUMBER(inp)), self.data)
        return out[: self.size]


class Values:
    """Formulas evaluated from Python; numbers among them are not compiled, which saves minutes.

    Parameters
    ----------
    args : sequence of symengine symbols
    formulas : sequence of sympy expressions
    """

    def __init__(self, args: Sequence[Expr], formulas: Sequence[sp.Expr]) -> None:
        self._fixed = np.array([x if x.is_Number else np.nan for x in formulas], float)
        self._bundle = Bundle(args, [smooth(x) for x in formulas if not x.is_Number])

    def __call__(self, inp: np.ndarray) -> np.ndarray:
        """Return the values at one input vector."""
        values = self._fixed.copy()
        values[np.isnan(values)] = self._bundle(inp)
        return values


class Recorded(Bundle):
    """A bundle behind sampled forcing: the records are written to the input vector first.

    Parameters
    ----------
    bundle : Bundle
        Of arguments with one for each record, side by side.
    place : int
        Place of the first record in the input vector.
    records : list of (dt, samples)

    Attributes
    ----------
    address, data : int
        As those of `Bundle`.
    """

    def __init__(self, bundle: Bundle, place: int, records: list[tuple[float, Reals]]) -> None:
        from explorer.kernels.model.sampled_forcing import before

        self._bundle = bundle
        self.size = bundle.size
        self.address, self._words = before(bundle.address, bundle.data, place, records)
        self.data = self._words.ctypes.data
        self._call = FUNCTION(self.address)


class Neighbours(Bundle):
    """The contacts of discs in one run, which replace formulas of gaps.

    Parameters
    ----------
    radii, walls, mu, reach
        As `explorer.kernels.model.disc_neighbours.data_of_discs` takes them.

    Attributes
    ----------
    columns, partners : int64
        Columns of G, and what each contact joins, as the last call has left them.
    """

    def __init__(self, radii: np.ndarray, walls: np.ndarray, mu: float, reach: float) -> None:
        from explorer.kernels.model.disc_neighbours import SLOTS, data_of_discs

        self.size = 15 * SLOTS * len(radii)
        native = data_of_discs(radii, walls, mu, reach)
        self.address, self._words, self.partners, self.columns = native
        self.data = self._words.ctypes.data
        self._call = FUNCTION(self.address)


def _renamed(expr: Expr, names: dict[Expr, Expr]) -> Expr:
    """Return an expression with other names; each call reads all names that it is given."""
    own = {a: names[a] for a in expr.free_symbols if a in names}
    return expr.xreplace(own) if own else expr


def _settled(outputs: Sequence[Expr]) -> list[Expr]:
    """Return the outputs with zero as the derivative of floor."""
    steps = {d: 0 for e in outputs for d in se.sympify(e).atoms(se.Derivative, se.Subs)}
    return [se.sympify(e).xreplace(steps) for e in outputs]


def smooth(expr: sp.Expr, sides: Holding | None = None) -> Expr:
    """Return a SymEngine expression in which Abs, sign, Min, Max, Heaviside are cases.

    SymEngine derives and compiles cases, not these functions. Written from the leaves up, since
    SymPy would fold nested cases into conditions that have no counterpart.

    Parameters
    ----------
    expr : sympy expression
    sides : Sides, optional
        Which side of a surface a case may be held to; see `explorer.compiled.sides`.

    Raises
    ------
    BadModel
        Parts of complex numbers, or derivatives that SymPy has not found.
    """
    sharp = expr.has(*SHARP)
    if isinstance(expr, _UNREADABLE) or (not sharp and expr.has(*_UNREADABLE)):
        raise BadModel(f"A formula cannot be compiled: {expr}.")
    if not sharp:
        return se.sympify(expr)
    if isinstance(expr, sp.Piecewise):
        return se.Piecewise(*((smooth(f, sides), _condition(when, sides)) for f, when in expr.args))
    args = [smooth(a, sides) for a in expr.args]
    u = args[0]

    def turns(at: sp.Expr, value: Expr) -> Expr:
        return value if sides is None else sides.turns(at, value)

    if isinstance(expr, sp.Abs):
        return se.Piecewise((u, turns(expr.args[0], u) >= 0), (-u, True))
    if isinstance(expr, sp.sign):
        w = turns(expr.args[0], u)
        return se.Piecewise((1, w > 0), (-1, w < 0), (0, True))
    if isinstance(expr, sp.Heaviside):
        w = turns(expr.args[0], u)
        return se.Piecewise((0, w < 0), (1, w > 0), (args[1] if len(args) > 1 else 0.5, True))
    if isinstance(expr, (sp.Min, sp.Max)):
        best = expr.args[0]
        for x, v in zip(expr.args[1:], args[1:], strict=True):
            w = turns(best - x, u - v)
            u = se.Piecewise((u, w >= 0 if isinstance(expr, sp.Max) else w <= 0), (v, True))
            best = expr.func(best, x)
        return u
    if isinstance(expr, sp.Mod):
        return u - args[1] * _whole(expr.args[0] / expr.args[1], u / args[1], sides)
    if isinstance(expr, sp.floor):
        return _whole(expr.args[0], u, sides)
    if isinstance(expr, sp.ceiling):
        return -_whole(-expr.args[0], -u, sides)
    return getattr(se, type(expr).__name__)(*args)


def _whole(at: sp.Expr, u: Expr, sides: Holding | None) -> Expr:
    return se.floor(u) if sides is None else sides.whole(at, u)


def _condition(when: sp.Basic, sides: Holding | None) -> Expr | bool:
    if when in (sp.true, sp.false):
        return bool(when)
    if isinstance(when, (sp.And, sp.Or, sp.Not)):
        return getattr(se, type(when).__name__)(*(_condition(w, sides) for w in when.args))
    kinds = {sp.Lt: se.Lt, sp.Le: se.Le, sp.Gt: se.Gt, sp.Ge: se.Ge, sp.Eq: se.Eq, sp.Ne: se.Ne}
    left, right = (smooth(x, sides) for x in when.args)
    if sides is None or isinstance(when, (sp.Eq, sp.Ne)):
        return kinds[type(when)](left, right)
    return kinds[type(when)](sides.turns(when.lhs - when.rhs, left - right), 0)
