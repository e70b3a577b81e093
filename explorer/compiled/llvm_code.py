"""Formulas as LLVM assembly, for numbers or for several at once, side by side in vectors.

Where a function is compiled into a loop it costs no call, and the loop may run several orbits at
once. Every operation is rounded as IEEE 754 says: nothing is fused or reordered, so that one orbit
and one of many give the same numbers to the last bit.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence

import sympy as sp
from sympy.core.relational import Relational
from sympy.logic.boolalg import Boolean

from explorer.errors import BadModel

__all__ = ["Code"]

_NAMES = "sin cos tan asin acos atan atan2 sinh cosh tanh exp log floor"
_INTRINSIC = {getattr(sp, name): name for name in _NAMES.split()}
_INTRINSIC |= {sp.ceiling: "ceil", sp.Abs: "fabs"}
_CALLED = {sp.asinh: "asinh", sp.acosh: "acosh", sp.atanh: "atanh"}  # of the C library
_COMPARED = {
    sp.StrictLessThan: "olt",
    sp.LessThan: "ole",
    sp.StrictGreaterThan: "ogt",
    sp.GreaterThan: "oge",
    sp.Equality: "oeq",
    sp.Unequality: "une",
}
_SQUARED = 64  # whole powers up to which products are written out


class Code:
    """Lines of assembly that compute formulas.

    Parameters
    ----------
    width : int
        How many numbers a value holds.
    letter : str
        Begins the names of values.

    Attributes
    ----------
    number, truth : str
        Types of a value and of a condition.
    lines : list of str
    declared : set of str
        Declarations of the functions that are called.
    """

    def __init__(self, width: int = 1, letter: str = "v") -> None:
        self.width, self.letter = width, letter
        self.number = "double" if width == 1 else f"<{width} x double>"
        self.truth = "i1" if width == 1 else f"<{width} x i1>"
        self.lines: list[str] = []
        self.declared: set[str] = set()
        self._count = 0

    def emit(self, operation: str) -> str:
        """Add an operation; return the name of its value."""
        self._count += 1
        name = f"%{self.letter}{self._count}"
        self.lines.append(f"  {name} = {operation}")
        return name

    def constant(self, value: float) -> str:
        """Return a number as every entry of a value."""
        one = f"double 0x{struct.unpack('<Q', struct.pack('<d', float(value)))[0]:016X}"
        if self.width == 1:
            return one.removeprefix("double ")
        return f"<{', '.join([one] * self.width)}>"

    def call(self, name: str, *arguments: str) -> str:
        """Return the value of an intrinsic function."""
        suffix = "f64" if self.width == 1 else f"v{self.width}f64"
        kind = self.number
        full = f"@llvm.{name}.{suffix}"
        self.declared.add(f"declare {kind} {full}({', '.join([kind] * len(arguments))})")
        given = ", ".join(f"{kind} {a}" for a in arguments)
        return self.emit(f"call {kind} {full}({given})")

    def select(self, when: str, one: str, other: str) -> str:
        """Return one value where a condition holds, another one elsewhere."""
        kind = self.number
        return self.emit(f"select {self.truth} {when}, {kind} {one}, {kind} {other}")

    def values(self, formulas: Sequence[sp.Expr], known: Mapping[sp.Symbol, str]) -> list[str]:
        """Add what computes some formulas; return the names of their values.

        Parameters
        ----------
        formulas : sequence of sympy expressions
        known : dict
            Values of the symbols.
        """
        named, short = sp.cse(list(formulas), symbols=sp.numbered_symbols("_common_"))
        at = dict(known)
        for symbol, part in named:
            at[symbol] = self._of(part, at)
        return [self._of(f, at) for f in short]

    # -- one formula --------------------------------------------------------------------------

    def _of(self, e: sp.Basic, at: Mapping[sp.Symbol, str]) -> str:
        if isinstance(e, sp.Symbol):
            return at[e]
        if isinstance(e, Boolean):  # a condition that several formulas share
            return self._condition(e, at)
        if e.is_number and not e.has(sp.Function):
            return self.constant(float(e))
        if isinstance(e, sp.Add):
            return self._sum(e, at)
        if isinstance(e, sp.Mul):
            return self._product(e, at)
        if isinstance(e, sp.Pow):
            return self._power(e, at)
        if isinstance(e, sp.Piecewise):
            cases = [(self._of(f, at), when) for f, when in e.args]
            found = cases[-1][0]
            for value, when in cases[-2::-1]:
                found = self.select(self._condition(when, at), value, found)
            return found
        return self._function(e, [self._of(a, at) for a in e.args], at)

    def _two(self, operation: str, a: str, b: str) -> str:
        return self.emit(f"{operation} {self.number} {a}, {b}")

    def _sum(self, e: sp.Add, at: Mapping[sp.Symbol, str]) -> str:
        plus = [a for a in e.args if not a.could_extract_minus_sign()]
        minus = [-a for a in e.args if a.could_extract_minus_sign()]
        found = self._of(plus[0], at) if plus else self.constant(-0.0)
        for part in plus[1:]:
            found = self._two("fadd", found, self._of(part, at))
        for part in minus:
            found = self._two("fsub", found, self._of(part, at))
        return found

    def _product(self, e: sp.Mul, at: Mapping[sp.Symbol, str]) -> str:
        factor, rest = e.as_coeff_Mul()
        above, below = [], []
        for part in sp.Mul.make_args(rest):
            exponent = part.exp if isinstance(part, sp.Pow) else sp.Integer(1)
            if exponent.is_number and exponent.is_negative:
                below.append(part.base**-exponent)
            else:
                above.append(part)
        found = ""
        for part in above:
            value = self._of(part, at)
            found = self._two("fmul", found, value) if found else value
        if abs(factor) != 1 or not found:
            number = self.constant(float(abs(factor)))
            found = self._two("fmul", number, found) if found else number
        if factor < 0:
            found = self.emit(f"fneg {self.number} {found}")
        if below:
            found = self._two("fdiv", found, self._of(sp.Mul(*below), at))
        return found

    def _power(self, e: sp.Pow, at: Mapping[sp.Symbol, str]) -> str:
        base, exponent = e.args
        if exponent.is_number and exponent.is_negative:
            return self._two("fdiv", self.constant(1.0), self._of(base**-exponent, at))
        value = self._of(base, at)
        if exponent == sp.Rational(1, 2):
            return self.call("sqrt", value)
        if exponent.is_Integer and exponent <= _SQUARED:
            return self._whole(value, int(exponent))
        return self.call("pow", value, self._of(exponent, at))

    def _whole(self, value: str, power: int) -> str:
        """Return a whole power by squaring."""
        found, square = "", value
        while power:
            if power % 2:
                found = self._two("fmul", found, square) if found else square
            power //= 2
            square = self._two("fmul", square, square) if power else square
        return found

    def _function(self, e: sp.Basic, a: list[str], at: Mapping[sp.Symbol, str]) -> str:
        kind = type(e)
        if kind in _INTRINSIC:
            return self.call(_INTRINSIC[kind], *a)
        if kind in _CALLED:
            return self._each(_CALLED[kind], a[0])
        zero = self.constant(0.0)
        if kind is sp.sign:
            low = self.select(self._compare("olt", a[0], zero), self.constant(-1.0), zero)
            return self.select(self._compare("ogt", a[0], zero), self.constant(1.0), low)
        if kind is sp.Heaviside:
            low = self.select(self._compare("olt", a[0], zero), zero, a[1])
            return self.select(self._compare("ogt", a[0], zero), self.constant(1.0), low)
        if kind in (sp.Min, sp.Max):
            found = a[0]
            for other in a[1:]:
                less = self._compare("olt" if kind is sp.Min else "ogt", other, found)
                found = self.select(less, other, found)
            return found
        if kind is sp.Mod:
            whole = self.call("floor", self._two("fdiv", a[0], a[1]))
            return self._two("fsub", a[0], self._two("fmul", a[1], whole))
        raise BadModel(f"A formula cannot be compiled: {e}.")

    def _each(self, name: str, value: str) -> str:
        """Return what a function of the C library gives, number by number."""
        self.declared.add(f"declare double @{name}(double)")
        if self.width == 1:
            return self.emit(f"call double @{name}(double {value})")
        found = "zeroinitializer"
        for k in range(self.width):
            one = self.emit(f"extractelement {self.number} {value}, i32 {k}")
            one = self.emit(f"call double @{name}(double {one})")
            found = self.emit(f"insertelement {self.number} {found}, double {one}, i32 {k}")
        return found

    # -- conditions ---------------------------------------------------------------------------

    def _compare(self, how: str, a: str, b: str) -> str:
        return self.emit(f"fcmp {how} {self.number} {a}, {b}")

    def _condition(self, when: sp.Basic, at: Mapping[sp.Symbol, str]) -> str:
        if isinstance(when, sp.Symbol):
            return at[when]
        if when in (sp.true, sp.false):
            bit = "true" if when == sp.true else "false"
            return bit if self.width == 1 else f"<{', '.join([f'i1 {bit}'] * self.width)}>"
        if isinstance(when, Relational):
            a, b = (self._of(x, at) for x in when.args)
            return self._compare(_COMPARED[type(when)], a, b)
        parts = [self._condition(w, at) for w in when.args]
        if isinstance(when, sp.Not):
            return self.emit(f"xor {self.truth} {parts[0]}, {self._condition(sp.true, at)}")
        joined: Callable[[str, str], str] = lambda a, b: self.emit(  # noqa: E731
            f"{'and' if isinstance(when, sp.And) else 'or'} {self.truth} {a}, {b}"
        )
        found = parts[0]
        for part in parts[1:]:
            found = joined(found, part)
        return found
