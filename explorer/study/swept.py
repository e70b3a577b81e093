"""What a sweep has observed: arrays with the axes of the sweep, their names, units and statuses."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from explorer.dispatch.simulate import simulate
from explorer.errors import BadValue, ExplorerError, suggest
from explorer.results.export import extra
from explorer.results.solution import Solution
from explorer.runs.members import Observed
from explorer.schemes import Scheme
from explorer.status import ESCAPED, UNSTABLE, Status
from explorer.study import study
from explorer.study.one_by_one import arguments
from explorer.study.over import states_of
from explorer.study.parts import UNRUN
from explorer.study.question import Question
from explorer.systems import System

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["Failure", "Sweep"]

_IMPROPER = 32  # see `explorer.kernels.friction.coefficients`, which takes time to import


@study
@dataclass(frozen=True)
class Failure:
    """A point of a sweep that has no numbers.

    Attributes
    ----------
    index : tuple of int
    at : dict
        Values of the axes by name.
    status : str
        "refused" (its start makes no sense), "not run" (the sweep was stopped), or as
        `Status.name`.
    t : float
        Time that was reached, in s.
    """

    index: tuple[int, ...]
    at: dict[str, float]
    status: str
    t: float


@study
@dataclass(frozen=True, repr=False)
class Sweep:
    """What was observed of many runs; the first axes of each array are those of `over`.

    The runs are not certified: `why` tells the cautions of one, `run` returns it.

    Attributes
    ----------
    question : Question
        System, scheme, parameters, axes, times and section.
    observed : Observed
        The same numbers, one run behind the other.
    seconds : float
        How long it took.
    transients : Sweep or None
        The runs at whose ends these begin, in an orbit diagram; a point whose transient has failed
        has its status.
    """

    question: Question
    observed: Observed = field(repr=False)
    seconds: float = 0.0
    transients: Sweep | None = field(default=None, repr=False)

    @property
    def system(self) -> System:
        """The system."""
        return self.question.system

    @property
    def scheme(self) -> Scheme:
        """The scheme."""
        return self.question.scheme

    @property
    def axes(self) -> dict[str, np.ndarray]:
        """Values of each axis by its name, (k,); of names that vary together (k, names)."""
        found = {}
        for axis in self.question.axes.axes:
            found[axis.label] = axis.values[:, 0] if len(axis.names) == 1 else axis.values
        return found

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values each axis has."""
        return self.question.axes.shape

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the states."""
        return states_of(self.system)[0]

    @property
    def units(self) -> dict[str, str]:
        """Units of the axes and of the states by name."""
        found = dict(zip(*states_of(self.system), strict=True))
        for axis in self.question.axes.axes:
            found |= dict(zip(axis.names, axis.units, strict=True))
        return found

    def _shaped(self, values: np.ndarray) -> np.ndarray:
        return values.reshape(*self.shape, *values.shape[1:])

    @property
    def end(self) -> np.ndarray:
        """States at the end, (..., n_x); NaN of a run that has failed."""
        return self._shaped(self.observed.end)

    @property
    def t(self) -> np.ndarray:
        """Time that each run has reached, in s, (...)."""
        return self._shaped(self.observed.t)

    @property
    def events(self) -> np.ndarray:
        """How many events there were behind the transient, (..., names); see `event_names`."""
        return self._shaped(self.observed.events)

    @property
    def event_names(self) -> tuple[str, ...]:
        """Names of what is counted in `events`."""
        return self.question.asked.names

    @property
    def points(self) -> np.ndarray:
        """States on the section, (..., most, n_x); NaN behind the last one."""
        return self._shaped(self.observed.points)

    @property
    def times(self) -> np.ndarray:
        """Times of the points in s, (..., most); NaN behind the last one."""
        return self._shaped(self.observed.times)

    @property
    def found(self) -> np.ndarray:
        """How many points each run has met, (...); those beyond the room are counted too."""
        return self._shaped(self.observed.found)

    @property
    def low(self) -> np.ndarray:
        """Least value of each state behind the transient, (..., n_x)."""
        return self._shaped(self.observed.low)

    @property
    def high(self) -> np.ndarray:
        """Largest value of each state behind the transient, (..., n_x)."""
        return self._shaped(self.observed.high)

    @property
    def code(self) -> np.ndarray:
        """How each run has ended, (...), see `explorer.codes`; 0 is success."""
        return self._shaped(self.observed.code)

    @property
    def ok(self) -> np.ndarray:
        """Which runs have numbers, (...)."""
        return np.asarray(self.code == 0)

    @cached_property
    def status(self) -> np.ndarray:
        """How each run has ended, by name, (...)."""
        codes, places = np.unique(self.observed.code, return_inverse=True)
        return self._shaped(np.array([_name(int(code)) for code in codes])[places.ravel()])

    def __getitem__(self, state: str) -> np.ndarray:
        """Return a state at the end by name, (...)."""
        return np.asarray(self.end[..., self.place(state)])

    def place(self, state: str) -> int:
        """Return the number of a state."""
        if state not in self.states:
            raise BadValue(
                f"'{self.system.name}' has no state {state!r}.{suggest(state, self.states)}"
            )
        return self.states.index(state)

    @property
    def failures(self) -> list[Failure]:
        """The points without numbers; `why` says more of each."""
        places = np.flatnonzero(self.observed.code)
        found = []
        for k in places.tolist():
            index = tuple(int(i) for i in np.unravel_index(k, self.shape))
            at, status = self.question.axes.at(index), _name(int(self.observed.code[k]))
            found.append(Failure(index, at, status, float(self.observed.t[k])))
        return found

    def run(self, *index: int) -> Solution:
        """Return the run of a point, simulated again.

        Raises
        ------
        BadValue, BadModel
            There is no such point, or its start is refused.
        """
        try:
            k = int(np.ravel_multi_index(index, self.shape))
        except (ValueError, TypeError):
            raise BadValue(
                f"{index} is no point of a sweep of shape {self.shape}: give a number for each "
                "axis, from 0."
            ) from None
        if self.transients is not None and not self.transients.ok[index]:
            return self.transients.run(*index)
        members, more, before = self.question.members(k, k + 1), {}, self.question.behind
        if self.question.chained and k > 0:
            k, before = k - 1, self.observed
        if before is not None and before.code[k] == 0:
            members.start[0] = before.end[k]
            modes = getattr(self.system, "modes", ())
            more = {"mode0": modes[int(before.mode[k])]} if modes else {}
        given = arguments(self.system, self.scheme, members, 0) | more
        return simulate(self.system, throw=False, **given)

    def why(self, *index: int) -> str:
        """Return how the run of a point has ended, and its cautions, as sentences.

        A sweep keeps what it observes and certifies none of its runs: this runs the point again.
        """
        if self.status[index] == "not run":
            return "The sweep was stopped before."
        try:
            found = self.run(*index)
            return " ".join([found.status.message, *(found.cautions if found.status.ok else ())])
        except ExplorerError as error:
            return str(error)

    def to_xarray(self) -> xr.Dataset:
        """Return a Dataset with the axes as coordinates, names and units (extra ``data``)."""
        dims: list[str] = []
        coords: dict[str, object] = {}
        for a, axis in enumerate(self.question.axes.axes):
            dim = axis.names[0] if len(axis.names) == 1 else f"sample_{a}"
            dims.append(dim)
            for c, name in enumerate(axis.names):
                coords[name] = (dim, axis.values[:, c], {"units": axis.units[c]})
        coords["state"] = list(self.states)
        units = {"units": ", ".join(self.units[name] for name in self.states)}
        found: dict[str, tuple[object, ...]] = {
            "end": ([*dims, "state"], self.end, units),
            "t": (dims, self.t, {"units": self.system.time_unit}),
            "status": (dims, self.status),
        }
        if self.event_names:
            coords["event"] = list(self.event_names)
            found["events"] = ([*dims, "event"], self.events)
        if self.question.section is not None:
            found["points"] = ([*dims, "point", "state"], self.points, units)
            found["times"] = ([*dims, "point"], self.times, {"units": self.system.time_unit})
            found["found"] = (dims, self.found)
        if self.question.extrema:
            found["low"] = ([*dims, "state"], self.low, units)
            found["high"] = ([*dims, "state"], self.high, units)
        attrs = {"system": self.system.name, "scheme": repr(self.scheme)}
        table: xr.Dataset = extra("xarray").Dataset(found, coords=coords, attrs=attrs)
        return table

    def __repr__(self) -> str:
        over = " x ".join(f"{len(a.values)} {a.label}" for a in self.question.axes.axes)
        words = [f"Sweep of {self.system.name!r} by {self.scheme!r}: {over}"]
        names, counts = np.unique(self.status, return_counts=True)
        told = [f"{n} {name}" for name, n in zip(names, counts, strict=True) if name != "success"]
        words.append(f"{int(self.ok.sum())} of {self.ok.size} runs have numbers, none is certified")
        words += [", ".join(told)] if told else []
        if self.question.section is not None:
            words.append(f"{int(self.observed.found.sum())} points on the section")
        return "; ".join(words)


def _name(code: int) -> str:
    """Return how a run has ended, by name."""
    if code < 0:
        return "not run" if code == UNRUN else "refused"
    if code in (UNSTABLE, ESCAPED):
        return "unstable" if code == UNSTABLE else "escaped"
    return "improper_friction" if code == _IMPROPER else Status.of(code, 0, 0.0).name
