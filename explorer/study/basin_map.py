"""What basins are returned as: attractors of starts, with axes, names, units and statuses."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from explorer.dispatch.simulate import simulate
from explorer.errors import BadValue
from explorer.results.export import extra
from explorer.results.solution import Solution
from explorer.study import study
from explorer.study.one_by_one import arguments
from explorer.study.over import Axis, states_of
from explorer.study.question import Question
from explorer.study.search_attractors import Attractor, Settings
from explorer.study.starts import Starts
from explorer.systems import System

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["ESCAPES", "FAILED", "REFUSED", "UNDECIDED", "UNTOLD", "Basins"]

ESCAPES, UNDECIDED, FAILED, REFUSED, UNTOLD = -1, -2, -3, -4, -5
_NAMES = {
    ESCAPES: "escaped",
    UNDECIDED: "undecided",
    FAILED: "failed",
    REFUSED: "refused",
    UNTOLD: "not run",
}


@study
@dataclass(frozen=True, repr=False)
class Basins:
    """Which attractor each start comes to; the first axes of each array are those of `over`.

    Attributes
    ----------
    settings : Settings
    over : tuple of Axis
        Axes as they were given; of random samples one axis with all starts.
    label : (...) int
        Number of the attractor; -1 escaped, -2 undecided, -3 failed, -4 refused, -5 not run.
    t : (...) float
        When a run was decided, or has ended, in s; NaN of what was filled.
    computed : (...) bool
        Whether a start was run; others were filled from neighbours that agree.
    families : tuple of tuple of Attractor
        Attractors of each number, one for each set of parameters where it was met.
    refused : tuple of Attractor
        What recurs and does not attract.
    low, high, scale : (n_x,)
        The box that escapes leave, and the scale of each state.
    seconds : float
    by_period : bool
        Whether a number stands for a period, not for one attractor: over two parameters.
    """

    settings: Settings
    starts: Starts = field(repr=False)
    rho: tuple[float, ...]
    over: tuple[Axis, ...]
    label: np.ndarray = field(repr=False)
    t: np.ndarray = field(repr=False)
    computed: np.ndarray = field(repr=False)
    families: tuple[tuple[Attractor, ...], ...] = field(repr=False)
    refused: tuple[Attractor, ...] = field(repr=False)
    low: np.ndarray
    high: np.ndarray
    scale: np.ndarray
    seconds: float = 0.0
    by_period: bool = False

    @classmethod
    def of(
        cls,
        settings: Settings,
        starts: Starts,
        rho: tuple[float, ...],
        found: tuple[np.ndarray, np.ndarray, np.ndarray],
        families: tuple[tuple[Attractor, ...], ...],
        refused: tuple[Attractor, ...],
        bounds: tuple[np.ndarray, np.ndarray, np.ndarray],
        seconds: float,
    ) -> Basins:
        """Put arrays (sets of parameters, starts) into the order of the axes."""
        params, own = starts.parameters, starts.axes
        sizes = [len(axis.values) for axis in (*params, *own)]
        order = [k if is_param else len(params) + k for is_param, k in starts.order]
        label, t, computed = (part.reshape(sizes).transpose(order) for part in found)
        over = tuple((*params, *own)[k] for k in order)
        return cls(
            settings, starts, rho, over, label, t, computed, families, refused, *bounds, seconds
        )

    @property
    def system(self) -> System:
        """The system."""
        return self.settings.system

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values each axis has."""
        return tuple(self.label.shape)

    @property
    def axes(self) -> dict[str, np.ndarray]:
        """Values of each axis by its name, (k,); of names that vary together (k, names)."""
        return {a.label: a.values[:, 0] if len(a.names) == 1 else a.values for a in self.over}

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the states."""
        return states_of(self.system)[0]

    @property
    def units(self) -> dict[str, str]:
        """Units of the axes and of the states by name."""
        found = dict(zip(*states_of(self.system), strict=True))
        for axis in self.over:
            found |= dict(zip(axis.names, axis.units, strict=True))
        return found

    @property
    def attractors(self) -> tuple[Attractor, ...]:
        """One attractor of each number, the first that was met."""
        return tuple(family[0] for family in self.families)

    @property
    def index(self) -> np.ndarray:
        """Number of the attractor, -1 of what has escaped, NaN of all others, (...)."""
        return np.where(self.label >= ESCAPES, self.label, np.nan)

    @cached_property
    def status(self) -> np.ndarray:
        """How each start has ended: "attracted", "escaped", "undecided", "failed", ..., (...)."""
        found = np.full(self.shape, "attracted", "<U9")
        for code, name in _NAMES.items():
            found[self.label == code] = name
        return found

    @property
    def fractions(self) -> dict[int | str, tuple[float, float]]:
        """Parts of the starts and their standard errors, by attractor and by status.

        sqrt(p (1 - p) / n), n runs: what it is for random samples (basin stability, Menck et al.,
        Nature Physics 9, 2013, doi:10.1038/nphys2516); on a grid it bounds the error loosely.
        Starts that are filled count for the part, and not as runs. Starts that are refused, as
        inside an obstacle, are none; what is undecided or failed has parts of its own.
        """
        there = (self.label != REFUSED) & (self.label != UNTOLD)
        kept, n = self.label[there], max(int((there & self.computed).sum()), 1)
        wanted: dict[int | str, int] = {k: k for k in range(len(self.families))}
        wanted |= {_NAMES[code]: code for code in (ESCAPES, UNDECIDED, FAILED)}
        found = {}
        for key, code in wanted.items():
            p = float((kept == code).sum()) / max(kept.size, 1)
            found[key] = p, float(np.sqrt(p * (1 - p) / n))
        return found

    def fraction(self, which: int | str) -> float:
        """Return the part of the starts of an attractor, or of a status.

        Raises
        ------
        BadValue
            There is no such attractor or status.
        """
        if which not in self.fractions:
            raise BadValue(f"{which!r} is none of {', '.join(map(repr, self.fractions))}.")
        return self.fractions[which][0]

    def run(self, *index: int) -> Solution:
        """Return the whole run of a start, to the end that it was given.

        Raises
        ------
        BadValue, BadModel
            There is no such start, or it is refused.
        """
        question = self.question(*index)
        given = arguments(self.system, self.settings.scheme, question.members(0, 1), 0)
        return simulate(self.system, throw=False, **given)

    def question(self, *index: int) -> Question:
        """Return the question that runs one start.

        Raises
        ------
        BadValue
            There is no such start.
        """
        inside = len(index) == len(self.shape)
        if not inside or not all(0 <= i < n for i, n in zip(index, self.shape, strict=True)):
            raise BadValue(
                f"{index} is no start of basins of shape {self.shape}: give a number for each "
                "axis, from 0."
            )
        names = [name for axis in self.over for name in axis.names]
        row = np.concatenate([a.values[i] for a, i in zip(self.over, index, strict=True)])
        rho = list(self.rho)
        for name, value in zip(names, row.tolist(), strict=True):
            if name in self.system.parameters:
                rho[list(self.system.parameters).index(name)] = value
        s = self.settings
        rows = self.starts.axes_of(self._own(names, row))
        return Question(s.system, s.scheme, tuple(rho), rows, s.t_end, 0.0, s.section)

    def _own(self, names: list[str], row: np.ndarray) -> np.ndarray:
        """Return the starts among the values of a point, (1, names)."""
        return np.array([[row[names.index(name)] for name in self.starts.names]])

    def to_xarray(self) -> xr.Dataset:
        """Return a Dataset with the axes as coordinates, names and units (extra ``data``)."""
        dims: list[str] = []
        coords: dict[str, object] = {}
        for a, axis in enumerate(self.over):
            dim = axis.names[0] if len(axis.names) == 1 else f"sample_{a}"
            dims.append(dim)
            for c, name in enumerate(axis.names):
                coords[name] = (dim, axis.values[:, c], {"units": axis.units[c]})
        found = {
            "index": (dims, self.index),
            "status": (dims, self.status),
            "computed": (dims, self.computed),
            "t": (dims, self.t, {"units": self.system.time_unit}),
        }
        attrs = {"system": self.system.name, "scheme": repr(self.settings.scheme)}
        table: xr.Dataset = extra("xarray").Dataset(found, coords=coords, attrs=attrs)
        return table

    def __repr__(self) -> str:
        over = " x ".join(f"{len(a.values)} {a.label}" for a in self.over)
        parts = [
            f"{'attractor ' * isinstance(key, int)}{key}: {p:.4f} +- {error:.4f}"
            for key, (p, error) in self.fractions.items()
            if isinstance(key, int) or p > 0
        ]
        run = int(self.computed.sum())
        words = [f"Basins of {self.system.name!r} over {over}", *parts]
        if run < self.label.size:
            words.append(f"{run} starts computed, {self.label.size - run} filled")
        return "; ".join(words)
