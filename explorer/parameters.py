"""`Param`: a physical parameter of a model. `knob()`: a numerical option of a scheme.

Both hold what a slider, a table row and an error message need.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import numbers
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from explorer.arguments import Checked
from explorer.errors import BadValue, ModelWarning
from explorer.types import Plain

__all__ = [
    "InputParam",
    "Knob",
    "Param",
    "check_knobs",
    "example",
    "flag",
    "knob",
    "knobs_of",
    "number",
    "param_of",
    "roomy",
    "vector",
    "whole",
]

T = TypeVar("T")

_LARGEST = 2**53  # of whole numbers: there are no more steps than that


@dataclasses.dataclass(frozen=True)
class Param(metaclass=Checked):
    """A physical parameter: a number with a unit, a usual range and a description.

    Parameters
    ----------
    value : float
        The default, in `unit`.
    low, high : float
        Range of the slider. A value outside is accepted with a warning. The contact checks a
        restitution itself.
    unit : str
        SI unit such as "m/s2"; empty for a pure number.
    text : str
        Description, e.g. "restitution".
    log : bool
        Whether the slider is logarithmic.

    Raises
    ------
    BadValue
        If a number is not finite or the range is empty.

    Warns
    -----
    ModelWarning
        If the value lies outside its own range.

    Examples
    --------
    >>> import explorer as ex
    >>> g = ex.Param(9.81, 1, 20, "m/s2", "gravity")
    >>> g.value, g.high
    (9.81, 20.0)
    """

    value: float
    low: float = None  # type: ignore[assignment]
    high: float = None  # type: ignore[assignment]
    unit: str = ""
    text: str = ""
    log: bool = False

    def __post_init__(self) -> None:
        for name, such in (("unit", "'m/s2', or '' for a pure number"), ("text", "'restitution'")):
            if not isinstance(given := getattr(self, name), str):
                raise BadValue(
                    f"The {name} of a parameter must be text, such as {such}, not {given!r}."
                )
        value = number(self.value, "a parameter's value")
        spread = abs(value) if value else 1.0
        low = min(0.0, 2 * value) if self.low is None else number(self.low, "a parameter's low")
        high = value + spread if self.high is None else number(self.high, "a parameter's high")
        if not low < high:
            raise BadValue(
                f"The range [{low:g}, {high:g}] of a parameter is empty; low must be below high."
            )
        if self.log and low <= 0:
            raise BadValue(f"A logarithmic range must be positive, but it starts at {low:g}.")
        if not low <= value <= high:
            u = f" {self.unit}" if self.unit else ""
            warnings.warn(
                f"Param({value:g}, {low:g}, {high:g}): the value {value:g}{u} lies outside its own "
                f"range [{low:g}, {high:g}]{u}. The order is value, low, high.",
                ModelWarning,
                stacklevel=5,
            )
        for name, x in (("value", value), ("low", low), ("high", high)):
            object.__setattr__(self, name, x)


@dataclasses.dataclass(frozen=True)
class InputParam(Param):
    """An input u(t): a parameter whose value may change along a run.

    Parameters
    ----------
    least, most : float, optional
        Bounds of the values, in `unit`; None: there is none.
    """

    least: float | None = None
    most: float | None = None

    @property
    def bounds(self) -> tuple[float, float]:
        """The bounds of the values; infinite where there is none."""
        least = -math.inf if self.least is None else self.least
        return least, math.inf if self.most is None else self.most


def param_of(plain: Plain) -> Param:
    """Return the parameter or the input whose fields, by ``vars``, are given."""
    return InputParam(**plain) if "least" in plain else Param(**plain)


@dataclasses.dataclass(frozen=True)
class Knob:
    """Range, unit and meaning of one field of a scheme (see `knob`)."""

    low: float | None = None
    high: float | None = None
    unit: str = ""
    text: str = ""
    log: bool = False
    choices: tuple[str, ...] = ()
    positive: bool = False
    strict: bool = False
    minor: bool = False
    types: tuple[type, ...] = ()


def knob(
    default: T,
    low: float | None = None,
    high: float | None = None,
    unit: str = "",
    text: str = "",
    *,
    log: bool = False,
    choices: Sequence[str] = (),
    positive: bool = False,
    strict: bool = False,
    minor: bool = False,
    types: Sequence[type] = (),
) -> T:
    """Declare an option of a scheme: a field of its dataclass, and a control in panels.

    Parameters
    ----------
    default : float, int or str
        Its type decides the control: number, integer or choice.
    low, high : float
        Range of the slider; with `strict` also the range of what is allowed.
    unit, text : str
        Shown beside the control.
    log : bool
        Logarithmic slider.
    choices : sequence of str
        The allowed strings of a choice.
    positive : bool
        Whether the value must be > 0.
    minor : bool
        Whether panels show it in a folded group.
    types : sequence of type
        Types that a choice may have besides a string.
    """
    meta = Knob(low, high, unit, text, log, tuple(choices), positive, strict, minor, tuple(types))
    return dataclasses.field(default=default, metadata={"knob": meta})


def knobs_of(scheme: object) -> dict[str, tuple[object, Knob]]:
    """Return ``{field name: (default, Knob)}`` of a scheme class or instance."""
    return _knobs(scheme if isinstance(scheme, type) else type(scheme))


@functools.cache
def _knobs(scheme: type) -> dict[str, tuple[object, Knob]]:
    return {
        f.name: (f.default, f.metadata["knob"])
        for f in dataclasses.fields(scheme)
        if "knob" in f.metadata
    }


def check_knobs(scheme: object) -> None:
    """Check every knob of a frozen dataclass against its declaration; set the converted value.

    Raises
    ------
    BadValue
        The message names the scheme, the field, the value and the allowed values.
    """
    kind = type(scheme).__name__
    for name, (default, meta) in knobs_of(scheme).items():
        value = getattr(scheme, name)
        if value is default:
            continue
        if meta.choices:
            named = isinstance(value, str) and value in meta.choices
            if not named and not isinstance(value, meta.types):
                allowed = ", ".join(
                    [*map(repr, meta.choices), *(f"{k.__name__}(...)" for k in meta.types)]
                )
                raise BadValue(f"{kind}: {name} = {value!r} is not one of {allowed}.")
            continue
        if isinstance(default, bool):
            object.__setattr__(scheme, name, bool(value))
            continue
        value = number(value, f"{kind}: {name}", meta.unit, positive=meta.positive)
        if isinstance(default, int):
            if value != int(value):
                raise BadValue(f"{kind}: {name} = {value:g} must be a whole number.")
            if not abs(value) <= _LARGEST:
                raise BadValue(f"{kind}: {name} = {value:g} must be at most {_LARGEST:g}.")
            value = int(value)
        outside = (meta.low is not None and value < meta.low) or (
            meta.high is not None and value > meta.high
        )
        if meta.strict and outside:
            low = "-inf" if meta.low is None else f"{meta.low:g}"
            high = "inf" if meta.high is None else f"{meta.high:g}"
            raise BadValue(f"{kind}: {name} = {value:g} must lie in [{low}, {high}].")
        object.__setattr__(scheme, name, value)


def number(value: object, what: str, unit: str = "", *, positive: bool = False) -> float:
    """Return `value` as a finite float; the message of a refusal begins with `what`.

    Text is read as a number; a decimal comma and a simple fraction are accepted.

    >>> number("1/4", "e")
    0.25
    """
    try:
        if isinstance(value, float):
            result = float(value)
        elif isinstance(value, str):
            top, slash, bottom = value.strip().replace(",", ".").partition("/")
            result = float(top) / float(bottom) if slash else float(top)
        elif isinstance(value, numbers.Complex) and not isinstance(value, numbers.Real):
            raise TypeError  # NumPy would drop the imaginary part
        elif isinstance(value, bool | np.bool_):
            raise TypeError
        else:
            result = float(value)  # type: ignore[arg-type]  # raises TypeError of what is no number
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        result = math.nan
    if not math.isfinite(result):
        wanted = f"a finite number{' in ' + unit if unit else ''}, such as 0.5, 1e-3 or 1/3"
        raise BadValue(f"{what} must be {wanted}, not {value!r}.")
    if positive and result <= 0:
        raise BadValue(f"{what} = {result:g} must be greater than zero.")
    return result


def example(values: Mapping[str, float], meant: object) -> str:
    """Return how parameters are given in a dict, for advice to one who gave `meant` instead.

    A model may have a parameter `rho`, which is then what a single number was meant for.

    >>> example({"m": 1.0, "g": 9.81}, None)
    "rho={'m': 1.0}"
    >>> example({"E": 900.0, "rho": 1.0}, 1.1)
    "rho={'rho': 1.1}"
    """
    name = "rho" if "rho" in values else next(iter(values), "m")
    own = name == "rho" and isinstance(meant, numbers.Real)
    return f"rho={{{name!r}: {float(meant) if own else values.get(name, 1.0)}}}"  # type: ignore[arg-type]


def flag(value: object, what: str) -> bool:
    """Return True or False.

    Raises
    ------
    BadValue
        It is neither.
    """
    if not isinstance(value, bool | np.bool_):
        raise BadValue(f"{what} = {value!r} must be True or False.")
    return bool(value)


def whole(value: object, what: str, least: int = 1) -> int:
    """Return a whole number.

    Raises
    ------
    BadValue
        It is none, or below `least`.
    """
    found = least - 1
    if isinstance(value, numbers.Integral):
        found = found if isinstance(value, bool) else int(value)
    elif isinstance(value, numbers.Real) and float(value).is_integer():
        found = int(float(value))
    if found < least:
        raise BadValue(f"{what} = {value!r} must be a whole number of at least {least}.")
    return found


def vector(values: object, what: str) -> list[float]:
    """Return one number, or a sequence of them, as finite floats.

    >>> vector([1, "1/4"], "x0")
    [1.0, 0.25]
    """
    several = isinstance(values, Iterable) and not isinstance(values, str)
    if several and getattr(values, "ndim", 1) > 0:
        return [number(x, what) for x in values]  # type: ignore[attr-defined]
    return [number(values, what)]


def roomy(least: float) -> float:
    """Return a rounded number slightly above `least`, for advice in a message.

    >>> roomy(2.25e-6)
    2.5e-06
    """
    return float(f"{1.1 * least:.1e}")
