"""Inputs along time: `Input`, the values of one input, and `Drive`, those of all in a run.

An input is piecewise constant, u = u_k, or piecewise linear,
u = u_k + (u_{k+1} - u_k) (t - t_k) / (t_{k+1} - t_k), on t_k <= t < t_{k+1}. The numbers that
change from interval to interval are parameters, so a formula is smooth between breaks.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import sympy as sp

from explorer.arguments import Checked
from explorer.errors import BadValue, suggest
from explorer.parameters import InputParam, number
from explorer.quantities import many, quantity
from explorer.systems.arrays import row_of
from explorer.systems.inputs import TakesInputs
from explorer.types import Plain, Reals

__all__ = ["Drive", "Input", "Inputs", "Layout", "laid_out", "ramp", "schedule", "slots"]

# inputs as `simulate` takes them: by name, or a row for each
Inputs: TypeAlias = (
    "Mapping[str, Input | float | Plain] | Sequence[object] | np.ndarray | Input | float"
)

_CLOSE = 1e-12  # of the time span: breaks that are one
_ROUND = 1e-9  # beside a bound: round-off


@dataclass(frozen=True, eq=False)
class Input(metaclass=Checked):
    """Values of an input along time; see `constant`, `linear` and `sampled`.

    Parameters
    ----------
    grid : (k + 1,) float
        Ends of the intervals in s, increasing.
    values : (k,) or (k + 1,) float
        One of each interval if constant, else one at each end.
    kind : "constant" or "linear"

    Raises
    ------
    BadValue
        A grid that does not increase, numbers that are not finite, or counts that do not agree.

    >>> import explorer as ex
    >>> ex.Input.constant([0, 1, 2], [3, -1])([0.5, 1.5])
    array([ 3., -1.])
    """

    grid: Sequence[float] | np.ndarray
    values: Sequence[float] | np.ndarray
    kind: str = "constant"

    def __post_init__(self) -> None:
        if self.kind not in ("constant", "linear"):
            raise BadValue(f"An input is 'constant' or 'linear' between breaks, not {self.kind!r}.")
        grid, values = (row_of(getattr(self, x), f"{x} of an input") for x in ("grid", "values"))
        if len(grid) < 2 or not (np.diff(grid) > 0).all():
            more = ""
            if len(grid) > 1:
                k = int(np.argmin(np.diff(grid)))
                more = f" Entries {k} and {k + 1} are {grid[k]:g} and {grid[k + 1]:g}."
            raise BadValue(
                "The grid of an input must increase: it has the ends of the intervals, two or more."
                + more
            )
        wanted = len(grid) - (self.kind == "constant")
        if len(values) != wanted:
            each = "interval" if self.kind == "constant" else "point of its grid"
            raise BadValue(
                f"An input with {many(len(grid) - 1, 'interval')} needs {many(wanted, 'value')}, "
                f"one for each {each}, not {len(values)}."
            )
        for name, x in (("grid", grid), ("values", values)):
            x.flags.writeable = False
            object.__setattr__(self, name, x)

    @classmethod
    def constant(cls, grid: Reals, values: Reals) -> Input:
        """Return an input that is constant on each interval of a grid (k + 1,): values (k,)."""
        return cls(grid, values, "constant")

    @classmethod
    def linear(cls, grid: Reals, values: Reals) -> Input:
        """Return an input that is linear between the points of a grid (k,): values (k,)."""
        return cls(grid, values, "linear")

    @classmethod
    def sampled(cls, dt: float, values: Reals) -> Input:
        """Return an input with samples at t = 0, dt, 2 dt, ... in s, linear between them."""
        step = number(dt, "dt of a sampled input", "s", positive=True)
        row = row_of(values, "values")
        return cls(step * np.arange(len(row)), row, "linear")

    def __call__(self, t: float | Reals) -> np.ndarray:
        """Return the values at times in s; at a break those behind it."""
        grid, values = np.asarray(self.grid), np.asarray(self.values)
        if self.kind == "linear":
            return np.asarray(np.interp(t, grid, values))
        k = np.clip(np.searchsorted(grid, t, side="right") - 1, 0, len(values) - 1)
        return np.asarray(values[k])

    @property
    def steps(self) -> tuple[str, bytes]:
        """What inputs of one kind on the same grid have in common."""
        return self.kind, np.asarray(self.grid).tobytes()

    def to_plain(self) -> Plain:
        """Return plain data (JSON)."""
        grid, values = np.asarray(self.grid), np.asarray(self.values)
        return {"kind": self.kind, "grid": grid.tolist(), "values": values.tolist()}

    def __repr__(self) -> str:
        return f"Input.{self.kind}({len(self.grid) - 1} intervals up to {self.grid[-1]:g} s)"


def slots(name: str, kind: str) -> tuple[str, ...]:
    """Return the names of the parameters that hold an input of this kind in an interval."""
    if kind == "constant":
        return (name,)
    return name, f"{name}_next", f"{name}_from", f"{name}_span"


def ramp(name: str) -> sp.Expr:
    """Return the formula of a linear input in its interval."""
    now, following, begin, span = map(sp.Symbol, slots(name, "linear"))
    return now + (following - now) * (sp.Symbol("t") - begin) / span


@dataclass(frozen=True, eq=False)
class Layout:
    """What runs with inputs on the same grids have in common.

    Attributes
    ----------
    t : (k + 1,) ends of the intervals on which no value changes, s
    names : names of the parameters that change, (m,)
    fixed : (k, m) what they are; of those that hold values, nothing yet
    columns, gather : columns of values; (k, j) which of all values, one input after the other
    which : dict of str to (k,) int, the interval of each input's own grid
    places : dict of where rho begins, and its names, to places of the names that change
    fits, grids : dicts by steps h: whether they end at all t; where they end, cut at t
    """

    t: np.ndarray
    names: tuple[str, ...]
    fixed: np.ndarray
    columns: np.ndarray | slice
    gather: np.ndarray
    which: dict[str, np.ndarray]
    places: dict[tuple[int, tuple[str, ...]], np.ndarray]
    fits: dict[float, bool]
    grids: dict[float, np.ndarray]

    @functools.cached_property
    def breaks(self) -> np.ndarray:
        """Times at which values change, (k - 1,) in s."""
        return np.array(self.t[1:-1])

    def filled(self, signals: Iterable[Input]) -> np.ndarray:
        """Return the values of the parameters in each interval, (k, m)."""
        rows = [np.asarray(signal.values) for signal in signals]
        values: np.ndarray = (rows[0] if len(rows) == 1 else np.concatenate(rows))[self.gather]
        if values.shape == self.fixed.shape:
            return values
        found = self.fixed.copy()
        found[:, self.columns] = values
        return found


@dataclass(frozen=True, eq=False)
class Drive:
    """The inputs of a run.

    Attributes
    ----------
    inputs : dict of str to Input
    layout : Layout
    values : (k, m) of the parameters that change
    """

    inputs: dict[str, Input]
    layout: Layout
    values: np.ndarray

    @property
    def t(self) -> np.ndarray:
        """Ends of the intervals on which no value changes, (k + 1,) in s."""
        return self.layout.t

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters that change, (m,)."""
        return self.layout.names

    @property
    def which(self) -> dict[str, np.ndarray]:
        """The interval of each input's own grid, (k,)."""
        return self.layout.which

    @property
    def breaks(self) -> np.ndarray:
        """Times at which values change, (k - 1,) in s."""
        return self.layout.breaks

    @property
    def first(self) -> dict[str, float]:
        """The parameters that change, at t = 0."""
        return dict(zip(self.names, self.values[0].tolist(), strict=True))

    @property
    def close(self) -> float:
        """A time that is round-off, s."""
        return _CLOSE * float(self.t[-1])

    def places_in(self, system: TakesInputs, first: int = 0) -> np.ndarray:
        """Return the places of the parameters that change, (m,) int64; rho begins at `first`."""
        names, kept = (*system.parameters,), self.layout.places
        key = first, names
        if key not in kept:
            kept[key] = np.array([first + names.index(name) for name in self.names], np.int64)
        return kept[key]

    def __call__(self, t: float | Reals) -> np.ndarray:
        """Return the values of the inputs at times in s, (..., n_u); behind a break."""
        return np.stack([signal(t) for signal in self.inputs.values()], axis=-1)

    def to_plain(self) -> Plain:
        """Return plain data (JSON)."""
        return {name: signal.to_plain() for name, signal in self.inputs.items()}


def _signals(
    system: TakesInputs, names: Sequence[str], u: object, t_end: float
) -> dict[str, Input | float]:
    """Return what is given for each input: values along time, or a number."""
    if not names:
        raise BadValue(
            f"'{system.name}' has no inputs, so it takes no u. Declare them: system.inputs('u')."
        )
    if isinstance(u, Mapping):
        for name in u:
            if name not in names:
                raise BadValue(f"'{system.name}' has no input {name!r}.{suggest(name, names)}")
        return {name: _signal(x, name) for name, x in u.items()}
    single = isinstance(u, Input) or np.ndim(u) == 0  # type: ignore[arg-type]
    row = not single and len(names) == 1 and np.ndim(u) == 1  # type: ignore[arg-type]
    if single or (row and not (len(u) and isinstance(u[0], Input))):  # type: ignore[arg-type, index]
        u = [u]
    rows = list(u)  # type: ignore[call-overload]
    if len(rows) != len(names):
        raise BadValue(
            f"u has {many(len(rows), 'row')}, but '{system.name}' has "
            f"{many(len(names), 'input')} ({', '.join(names)}). Give one row of values for each "
            "input, or a dict by name."
        )
    found: dict[str, Input | float] = {}
    for name, row in zip(names, rows, strict=True):
        if isinstance(row, Input) or np.ndim(row) == 0:
            found[name] = _signal(row, name)
        else:
            values = row_of(row, f"u of {name!r}")
            if not len(values):
                raise BadValue(
                    f"u of {name!r} is empty. Give a number for each of the equal intervals of the "
                    "run, such as [1.0], or leave u out."
                )
            found[name] = Input.constant(np.linspace(0, t_end, len(values) + 1), values)
    return found


def _signal(value: object, name: str) -> Input | float:
    if isinstance(value, Input):
        return value
    if isinstance(value, Mapping):
        return Input(value["grid"], value["values"], value["kind"])
    if np.ndim(value) > 0:  # type: ignore[arg-type]
        raise BadValue(
            f"u of {name!r} needs times: Input.constant(grid, values), Input.linear(grid, values) "
            "or Input.sampled(dt, values); or give u as an array (inputs, intervals)."
        )
    try:
        return number(value, f"u of {name!r}")
    except BadValue:
        raise BadValue(
            f"The input {name!r} must be a number, an array or an explorer.Input, not {value!r}."
        ) from None


def _check_grid(name: str, grid: np.ndarray, t_end: float) -> None:
    """Refuse a grid that does not cover the run."""
    if grid[0] > _CLOSE * t_end or grid[-1] < t_end * (1 - 1e-9):
        raise BadValue(
            f"The grid of the input {name!r} goes from {quantity(grid[0], 's')} to "
            f"{quantity(grid[-1], 's')}, and does not cover the run from 0 to "
            f"{quantity(t_end, 's')}."
        )


def _check_values(name: str, param: InputParam, values: np.ndarray) -> None:
    """Refuse values outside the bounds."""
    low, high = param.bounds
    if low == -math.inf and high == math.inf:
        return
    slack = _ROUND * max(1.0, *(abs(b) for b in (low, high) if math.isfinite(b)))
    if values.min() < low - slack or values.max() > high + slack:
        bad = np.flatnonzero((values < low - slack) | (values > high + slack))
        raise BadValue(
            f"Value {bad[0]} of the input {name!r} is {quantity(values[bad[0]], param.unit)}, "
            f"outside its bounds [{low:g}, {high:g}]."
        )


def schedule(
    system: TakesInputs, u: object, t_end: float
) -> tuple[dict[str, Input], dict[str, float]]:
    """Return the inputs that change along a run, and those that are numbers.

    Raises
    ------
    BadValue
        Unknown names, wrong shapes, values outside their bounds.
    """
    declared = system.declared_inputs
    given = _signals(system, (*declared,), u, t_end)
    fixed: dict[str, float] = {}
    moving: dict[str, Input] = {}
    for name, param in declared.items():
        if name not in given:
            continue
        signal = given[name]
        if isinstance(signal, Input):
            _check_values(name, param, np.asarray(signal.values))
            moving[name] = signal
        else:
            _check_values(name, param, np.array([signal]))
            fixed[name] = signal
    return moving, fixed


def laid_out(moving: Mapping[str, Input], t_end: float) -> Layout:
    """Return the layout of inputs on their grids.

    Raises
    ------
    BadValue
        A grid that does not cover the run.
    """
    for name, signal in moving.items():
        _check_grid(name, np.asarray(signal.grid), t_end)
    t = _breaks([np.asarray(s.grid) for s in moving.values()], t_end)
    middle, first = (t[1:] + t[:-1]) / 2, 0
    names: list[str] = []
    fixed: list[np.ndarray] = []
    columns: list[int] = []
    gather: list[np.ndarray] = []
    which: dict[str, np.ndarray] = {}
    for name, signal in moving.items():
        grid = np.asarray(signal.grid)
        k = np.clip(np.searchsorted(grid, middle, side="right") - 1, 0, len(grid) - 2)
        which[name] = k
        here, linear = len(names), signal.kind == "linear"
        names += slots(name, signal.kind)
        columns += [here, here + 1][: 1 + linear]
        gather += [first + k, first + k + 1][: 1 + linear]
        fixed += [0.0 * middle] * (1 + linear)
        if linear:
            fixed += [grid[k], grid[k + 1] - grid[k]]
        first += len(signal.values)
    some = slice(len(columns)) if columns == [*range(len(columns))] else np.array(columns)
    return Layout(t, tuple(names), np.stack(fixed, 1), some, np.stack(gather, 1), which, {}, {}, {})


def _breaks(grids: list[np.ndarray], t_end: float) -> np.ndarray:
    """Return the times at which any input may change, with 0 and t_end, increasing."""
    first = grids[0]
    alike = all(grid is first or np.array_equal(grid, first) for grid in grids[1:])
    if alike and first[0] == 0.0 and first[-1] == t_end:
        return first
    inside = np.unique(np.concatenate(grids))
    close = _CLOSE * t_end
    inside = inside[(inside > close) & (inside < t_end - close)]
    inside = inside[np.append(True, np.diff(inside) > close)[: len(inside)]]
    return np.concatenate([[0.0], inside, [t_end]])
