"""Recording of chosen rows and coordinates, while the checks cover every step.

A run of many steps and coordinates does not fit into memory, and most rows are never needed.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from explorer.arguments import Checked
from explorer.certificate import Check
from explorer.errors import BadValue, suggest
from explorer.parameters import whole
from explorer.types import Plain

__all__ = ["MOST_BYTES", "PER_STEP", "Recorded", "Recorder", "Selection"]

MOST_BYTES = 2**30  # of the record of one run
PER_STEP = 16  # numbers that are kept of every step of a run with a `Recorder`, and their sums

_WHAT = ("q", "v", "a")
Chosen: TypeAlias = str | int | Iterable[str | int] | None  # coordinates, or "all"


@dataclass(frozen=True, kw_only=True)
class Recorder(metaclass=Checked):
    """The rows and coordinates of a run that are kept.

    The first and the last row are always kept. Certificate, status and energies cover all steps.

    Parameters
    ----------
    every : int
        Keeps every n-th row.
    times : (k,) float, optional
        Keeps the first row at or after each of these times in s, instead of `every`.
    q, v, a : "all", or sequence of str or int
        Coordinates, by name or number from 0, whose positions, velocities and accelerations are
        kept; ``()`` keeps none.

    Raises
    ------
    BadValue
        If `every` is below 1 or given together with `times`, or times are not numbers.

    Examples
    --------
    >>> import explorer as ex
    >>> ex.Recorder(every=10, q=["q1", "q7"], v=(), a=())
    Recorder(every=10, q=['q1', 'q7'], v=(), a=())
    """

    every: int = 1
    times: Sequence[float] | None = None
    q: Chosen = "all"
    v: Chosen = "all"
    a: Chosen = "all"

    def __post_init__(self) -> None:
        object.__setattr__(self, "every", whole(self.every, "every"))
        for what in _WHAT:
            asked = getattr(self, what)
            if isinstance(asked, numbers.Integral):
                object.__setattr__(self, what, [int(asked)])
            elif not (asked is None or isinstance(asked, str | Iterable)):
                raise BadValue(
                    f"{what} = {asked!r} of a Recorder must be 'all', or names or numbers of "
                    f"coordinates, such as {what}=[0]."
                )
        if self.times is None:
            return
        if self.every != 1:
            raise BadValue("Give every or times, not both: each says which rows are kept.")
        try:
            times = np.sort(np.array(self.times, float, ndmin=1))
        except (TypeError, ValueError):
            times = np.full(1, np.nan)
        if times.ndim > 1 or not np.isfinite(times).all():
            raise BadValue(
                f"times = {self.times!r} must be a one-dimensional sequence of finite times in s."
            )
        object.__setattr__(self, "times", tuple(times.tolist()))

    def __repr__(self) -> str:
        usual = {"every": 1, "times": None} | dict.fromkeys(_WHAT, "all")
        given = [f"{k}={getattr(self, k)!r}" for k, x in usual.items() if getattr(self, k) != x]
        return f"Recorder({', '.join(given)})"

    def to_plain(self) -> Plain:
        """Return its arguments as plain data (JSON)."""
        kept = {k: getattr(self, k) for k in _WHAT}
        kept = {k: x if isinstance(x, str) else [*map(_plain, x or ())] for k, x in kept.items()}
        times = None if self.times is None else list(self.times)
        return {"every": self.every, "times": times, **kept}

    def selection(self, coordinates: Sequence[str]) -> Selection:
        """Return the indices of the recorded coordinates.

        Raises
        ------
        BadValue
            A coordinate that there is not.
        """
        places = {what: _places(what, getattr(self, what), coordinates) for what in _WHAT}
        return Selection(self, tuple(coordinates), **places)


def _plain(name: str | int) -> str | int:
    return name if isinstance(name, str) else int(name)


def _places(what: str, asked: Chosen, coordinates: Sequence[str]) -> np.ndarray:
    """Return the indices of the requested coordinates, in the requested order."""
    if isinstance(asked, str):
        asked = range(len(coordinates)) if asked == "all" else [asked]
    numbers = {name: k for k, name in enumerate(coordinates)}
    places = []
    for x in () if asked is None else asked if isinstance(asked, Iterable) else [asked]:
        if isinstance(x, str) and x in numbers:
            places.append(numbers[x])
        elif isinstance(x, (int, np.integer)) and 0 <= x < len(coordinates):
            places.append(int(x))
        else:
            near = suggest(x, coordinates) if isinstance(x, str) else ""
            raise BadValue(
                f"{what} of a Recorder names {x!r}, which is not a coordinate: use names or "
                f"numbers from 0 to {len(coordinates) - 1}.{near}"
            )
    return np.array(places, int)


@dataclass(frozen=True, eq=False)
class Selection:
    """A `Recorder` and the indices (k,) of the coordinates that it keeps."""

    recorder: Recorder
    coordinates: tuple[str, ...]
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray

    @property
    def width(self) -> float:
        """Average number of recorded values per step."""
        if self.recorder.times is not None:
            return 0.0
        return (len(self.q) + len(self.v) + len(self.a)) / self.recorder.every

    def names(self, what: str) -> tuple[str, ...]:
        """Return the names of the recorded coordinates of "q", "v" or "a"."""
        return tuple(self.coordinates[k] for k in getattr(self, what))

    def keeps(self, t: np.ndarray, first: int) -> np.ndarray:
        """Return which rows at `t` (k,), except the first, are recorded: (k - 1,) bool.

        `first` is the number of the step that ends at t[1].
        """
        if self.recorder.times is None:
            return np.equal((first + np.arange(len(t) - 1)) % self.recorder.every, 0)
        near = t * (1 + 1e-12)
        return np.diff(np.searchsorted(self.recorder.times, near, side="right")) > 0


@dataclass(frozen=True, eq=False)
class Recorded:
    """The recorded part of a run, and the totals of all its steps.

    Attributes
    ----------
    recorder : Recorder
    q, v, a : tuple of str
        Names of the coordinates whose positions, velocities and accelerations were kept.
    steps : int
        How many steps the run has.
    start : dict of q0, v0 (n,)
    energies : (n_t, 1) or (n_t, 2)
        Kinetic and, if it is known, potential energy at the rows, in J.
    works : dict of (n_t,)
        Works since the start in J at the rows, summed over all steps: see `EnergyBalance`.
    checks : tuple of Check
        The certificate of all steps.
    """

    recorder: Recorder
    q: tuple[str, ...]
    v: tuple[str, ...]
    a: tuple[str, ...]
    steps: int
    start: dict[str, list[float]] = field(repr=False)
    energies: np.ndarray = field(repr=False)
    works: dict[str, np.ndarray] = field(repr=False)
    checks: tuple[Check, ...] = field(repr=False)

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays that a file stores."""
        works = {f"recorded_{name}": work for name, work in self.works.items()}
        return {"recorded_energies": self.energies, **works}

    def to_plain(self) -> Plain:
        """Return the rest of what a file stores, as plain data (JSON)."""
        plain = {k: getattr(self, k) for k in ("q", "v", "a", "steps", "start")}
        checks = [vars(check) for check in self.checks]
        return plain | {"recorder": self.recorder.to_plain(), "checks": checks}

    @classmethod
    def read(cls, plain: Plain, arrays: Mapping[str, np.ndarray]) -> Recorded:
        """Return the record that `to_plain` and `arrays` describe."""
        names = {k: tuple(plain[k]) for k in _WHAT}
        works = {k.removeprefix("recorded_"): x for k, x in arrays.items()}
        energies = works.pop("energies")
        return cls(
            Recorder(**plain["recorder"]),
            **names,
            steps=plain["steps"],
            start=plain["start"],
            energies=energies,
            works=works,
            checks=tuple(Check(**c) for c in plain["checks"]),
        )

    @property
    def thinned(self) -> bool:
        """Whether steps were left out between rows."""
        return self.recorder.every > 1 or self.recorder.times is not None

    def kept(self, what: str) -> tuple[str, ...] | None:
        """Return the recorded coordinates of "q", "v" or "a" by name; None for other quantities."""
        return getattr(self, what) if what in _WHAT else None

    def __str__(self) -> str:
        rows = f"{len(self.energies)} rows of {self.steps} steps"
        parts = [f"{what} of {_few(getattr(self, what))}" for what in _WHAT if getattr(self, what)]
        return f"{rows}, {', '.join(parts)}" if parts else rows


def _few(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown}, ... ({len(names)} coordinates)"
