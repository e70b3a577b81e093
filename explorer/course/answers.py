"""What an exercise asks for, and how an answer is read: as an array of numbers, or refused.

Each kind turns what was given into numbers (a number, an array, the values of a function or of an
expression at some places, what is measured on a model), so that one comparison serves all kinds.
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import sympy as sp

from explorer.errors import ExplorerError, suggest
from explorer.systems import System

__all__ = ["Answer", "Array", "Expression", "Function", "Misread", "Model", "Number"]


class Misread(Exception):
    """An answer has another form than the exercise asks for; the message says which."""


@dataclass(frozen=True)
class Answer(ABC):
    """What an exercise asks for.

    Attributes
    ----------
    unit : str
        "" if it has none.
    rtol, atol : float
        An answer is right if no number is farther off than atol + rtol max|right|.
    """

    unit: str = ""
    rtol: float = 1e-3
    atol: float = 0.0

    @abstractmethod
    def read(self, given: object) -> np.ndarray:
        """Return an answer as an array of finite numbers.

        Raises
        ------
        Misread
            If it has another type or shape, or is not finite.
        """

    def agrees(self, values: np.ndarray, others: np.ndarray) -> bool:
        """Whether two answers are the same within the tolerance; `others` gives the scale."""
        bound = self.atol + self.rtol * float(np.max(np.abs(others), initial=0.0))
        return bool(np.max(np.abs(values - others), initial=0.0) <= bound)

    @property
    def of_unit(self) -> str:
        """The unit as the end of a phrase."""
        return f" in {self.unit}" if self.unit else ""


def _finite(values: np.ndarray, where: str) -> np.ndarray:
    if not np.isfinite(values).all():
        bad = "not a number" if np.isnan(values).any() else "infinite"
        raise Misread(f"{where} is {bad}. Look for a division by zero or a root of a negative.")
    return values


def _kind(given: object) -> str:
    """Return what something is, in words."""
    if isinstance(given, str):
        return f"a text ({given[:30]!r})"
    if isinstance(given, bool | np.bool_):
        return f"a truth value ({given})"
    if isinstance(given, System):
        return f"a model ({given.name})"
    if isinstance(given, np.ndarray):
        return f"an array of shape {given.shape}"
    if isinstance(given, numbers.Number):
        return "a number"
    if isinstance(given, Mapping):
        return "a dict"
    if isinstance(given, sp.Basic):
        return f"an expression ({str(given)[:40]})"
    if callable(given):
        return f"a function ({getattr(given, '__name__', 'without a name')})"
    if isinstance(given, Sequence):
        return f"a {type(given).__name__} with {len(given)} entries"
    return f"a {type(given).__name__}"


def _numbers(given: object, wanted: str) -> np.ndarray:
    """Return numbers of any shape."""
    if isinstance(given, str | bool | np.bool_ | Mapping | System) or callable(given):
        hint = ""
        if isinstance(given, str):
            hint = " Write it without quotation marks."
        elif callable(given) and not isinstance(given, System):
            hint = " Call it, and give what it returns."
        raise Misread(f"Your answer is {_kind(given)}. Give {wanted}.{hint}")
    if isinstance(given, sp.Basic) and given.free_symbols:
        raise Misread(
            f"Your answer is {_kind(given)}. Give {wanted}: put numbers in with .subs(...)."
        )
    try:
        values = np.asarray(given)
    except ValueError:
        raise Misread(f"The rows of your answer have different lengths. Give {wanted}.") from None
    if np.iscomplexobj(values):
        raise Misread(f"Your answer is complex. Give {wanted}: a real one, such as .real or abs().")
    try:
        return values.astype(float)
    except (TypeError, ValueError):
        raise Misread(f"Your answer is {_kind(given)}. Give {wanted}.") from None


@dataclass(frozen=True)
class Number(Answer):
    """One number."""

    def read(self, given: object) -> np.ndarray:
        wanted = f"one number{self.of_unit}"
        values = _numbers(given, wanted)
        if values.size != 1:
            raise Misread(
                f"Your answer has {values.size} numbers (shape {values.shape}). Give {wanted}; "
                "[0] or [-1] takes one out of an array."
            )
        return _finite(values.reshape(()), "Your answer")


@dataclass(frozen=True)
class Array(Answer):
    """An array.

    Attributes
    ----------
    shape : tuple of int
    names : tuple of str
        What its components are, for messages.
    """

    shape: tuple[int, ...] = (1,)
    names: tuple[str, ...] = ()

    def read(self, given: object) -> np.ndarray:
        named = f" ({', '.join(self.names)})" if self.names else ""
        count = f"{self.shape[0]} numbers" if len(self.shape) == 1 else f"shape {self.shape}"
        values = _numbers(given, f"an array with {count}{named}{self.of_unit}")
        if values.shape != self.shape:
            turn = " Transpose it with .T." if values.shape[::-1] == self.shape else ""
            raise Misread(
                f"Your answer has the shape {values.shape}. An array of shape {self.shape}{named} "
                f"is asked for.{turn}"
            )
        return _finite(values, "A component of your answer")


@dataclass(frozen=True)
class Function(Answer):
    """A function, tried at some arguments.

    Attributes
    ----------
    at : sequence of tuple
        The arguments of each call.
    returns : int
        How many numbers each call returns; 0 stands for one number that is no array.
    form : str
        How it is called, such as "f(e)".
    """

    at: Sequence[tuple[object, ...]] = ()
    returns: int = 0
    form: str = "f(x)"

    def read(self, given: object) -> np.ndarray:
        if not callable(given) or isinstance(given, System):
            raise Misread(
                f"Your answer is {_kind(given)}. Give a function that is called as {self.form}, "
                "by its name and without brackets."
            )
        shape = (self.returns,) if self.returns else ()
        found = [self._call(given, arguments, shape) for arguments in self.at]
        return np.array(found)

    def _call(
        self, given: Callable[..., object], arguments: tuple[object, ...], shape: tuple[int, ...]
    ) -> np.ndarray:
        called = f"{getattr(given, '__name__', 'f')}({', '.join(map(_short, arguments))})"
        try:
            value = given(*arguments)
        except Exception as error:  # whatever a student's function raises is told
            raise Misread(f"{called} fails with {type(error).__name__}: {error}.") from error
        if value is None or value is ...:
            raise Misread(f"{called} returns nothing. Its last line has to be: return ...")
        values = _numbers(value, f"a function that returns {'numbers' if shape else 'a number'}")
        if values.size == 1 and not shape:
            values = values.reshape(())
        if values.shape != shape:
            raise Misread(f"{called} has the shape {values.shape}, and {shape} is asked for.")
        return _finite(values, called)


def _short(argument: object) -> str:
    if isinstance(argument, float):
        return f"{argument:.6g}"
    if isinstance(argument, np.ndarray):
        return "array(...)"
    return repr(argument)


@dataclass(frozen=True)
class Model(Answer):
    """A model, on which numbers are measured.

    Attributes
    ----------
    measure : callable
        Is given the model, and returns numbers: of a run, or of its formulas.
    kinds : tuple of type
        Types of systems that are accepted.
    """

    measure: Callable[[System], float | np.ndarray | Sequence[float]] = lambda system: 0.0
    kinds: tuple[type[System], ...] = (System,)

    def read(self, given: object) -> np.ndarray:
        if not isinstance(given, self.kinds):
            wanted = " or ".join(kind.__name__ for kind in self.kinds)
            call = " Call the function, and give what it returns." if callable(given) else ""
            raise Misread(f"Your answer is {_kind(given)}. Give a model ({wanted}).{call}")
        try:
            values = np.asarray(self.measure(given), float)
        except ExplorerError as error:
            raise Misread(f"Your model cannot be checked: {error}") from error
        except (KeyError, IndexError, AttributeError) as error:
            raise Misread(
                f"Your model lacks something that the question names: {error}."
            ) from error
        return _finite(values, "What is measured on your model")


@dataclass(frozen=True)
class Expression(Answer):
    """A formula, as SymPy or text, tried at some values of its symbols.

    Attributes
    ----------
    at : mapping of str to sequence of float
        The values of each symbol; all have the same number.
    """

    at: Mapping[str, Sequence[float]] | None = None

    def read(self, given: object) -> np.ndarray:
        samples = self.at or {}
        names = ", ".join(samples)
        wanted = f"a formula in {names}, such as a text '2*{next(iter(samples), 'x')}'"
        accepted = isinstance(given, str | sp.Expr | int | float | np.number)
        if not accepted or isinstance(given, bool):
            raise Misread(f"Your answer is {_kind(given)}. Give {wanted}.")
        try:
            own = {name: sp.Symbol(name) for name in samples}
            formula = sp.sympify(given, locals=own)
            if not isinstance(formula, sp.Expr):
                raise TypeError("not a formula")
            unknown = sorted(s.name for s in formula.free_symbols if s.name not in samples)
        except (sp.SympifyError, SyntaxError, TypeError, AttributeError):
            raise Misread(f"{given!r} cannot be read as a formula. Give {wanted}.") from None
        if unknown:
            hint = suggest(unknown[0], samples)
            raise Misread(f"Your formula has the symbol {unknown[0]!r}, which is not given.{hint}")
        count = len(next(iter(samples.values()), (0.0,)))
        values = []
        for k in range(count):
            at = {s: samples[s.name][k] for s in formula.free_symbols}
            try:
                value = complex(formula.subs(at))
            except TypeError:
                raise Misread(f"{given!r} has no value: which function in it is unknown?") from None
            if abs(value.imag) > 1e-12 * (1 + abs(value.real)):
                raise Misread("Your formula is complex at values that it has to hold for.")
            values.append(value.real)
        return _finite(np.array(values), "Your formula")
