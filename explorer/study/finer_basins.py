"""Basins that become finer while one looks at them.

A coarse grid of starts comes first; then the starts between them where neighbours differ, so that
boundaries are sharp soon; then all others, which were filled until then. Attractors that were found
stay, with their numbers.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np

from explorer.dispatch.choose import choose, numbers_of
from explorer.errors import BadValue
from explorer.parameters import number
from explorer.study import study
from explorer.study.asked import Chosen
from explorer.study.basin_map import UNDECIDED, UNTOLD, Basins
from explorer.study.columns import EACH
from explorer.study.forcing import usual_section
from explorer.study.over import Axes, Axis, states_of
from explorer.study.parts import Stop
from explorer.study.periods_over import PeriodsOver
from explorer.study.question import Question
from explorer.study.recurrence import Recurrence
from explorer.study.refine import UNKNOWN, Grid
from explorer.study.resolve import Resolve
from explorer.study.search_attractors import Attractor, Search, Settings, seed_of
from explorer.study.section import Section
from explorer.study.starts import Starts, moving
from explorer.study.sweep import usual
from explorer.systems import System, check_system, values_given
from explorer.types import Numbers, Value

__all__ = ["FinerBasins"]

_EARLY = 0.15  # s to the first one
_FIRST = 0.05  # s that the parts before it may take
_AT_FIRST = 8  # starts of the first part
_COARSEST = 8  # points of an axis at least


class _Labels(Protocol):
    """What tells the labels of starts, and knows attractors."""

    t: np.ndarray

    @property
    def families(self) -> tuple[tuple[Attractor, ...], ...]:
        """Attractors of each number."""

    @property
    def refused(self) -> tuple[Attractor, ...]:
        """What recurs and does not attract."""

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The box that escapes leave, its low and high side, and the scale of each state."""

    def begin(self, seeds: int) -> None:
        """Look at some starts first."""

    def __call__(self, places: np.ndarray) -> np.ndarray:
        """Return the labels of the starts at these places, (k,)."""

    def run(self, places: np.ndarray) -> np.ndarray:
        """Return the same by what is known already."""

    def labels(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the labels of starts (k, names) by what is known, and when they were decided."""


@study
class FinerBasins:
    """Basins of attraction that become finer: iterate over it, each item is a finer `Basins`.

    Parameters
    ----------
    system, scheme : as `basins` takes them
    over : dict
        Two starts by name, and from where to where each goes: ``{"q0.x": (-3, 0), "v0.x": (-3,
        3)}``. Or two parameters: then each point is the run of one start, and its number tells
        after how many points on the section it repeats, up to six.
    shape : (int, int)
        How many values each of the two has in the finest map.
    section : Section, optional
        By default once in a period of what drives the system, or at its first event; for a map at
        each iterate.
    periods : int
        How many periods of the section a start is run at most.
    t_end : float or formula, optional
        For a section by an event: how long a start is run at most, in s. By default ten times the
        t_end of the system.
    start : sequence of float, optional
        All states (n_x,), for those that do not vary; by default the start of the model.
    recurrence : Recurrence, optional
    rho, **parameters : other parameters

    Raises
    ------
    BadValue, BadModel, NotApplicable
        The arguments are inconsistent.

    Examples
    --------
    >>> import explorer as ex
    >>> finer = ex.study.FinerBasins(
    ...     ex.models.impact_oscillator(), over={"q0.x": (-3, -0.1), "v0.x": (-3, 3)},
    ...     shape=(5, 4), omega=2, s=0,
    ... )
    >>> found = finer.whole()
    >>> found.shape, found.fraction(0)
    ((5, 4), 1.0)
    """

    def __init__(
        self,
        system: System,
        scheme: Chosen | None = None,
        *,
        over: Mapping[str, Sequence[float]],
        shape: tuple[int, int] = (200, 150),
        section: Section | None = None,
        periods: int = 200,
        t_end: Value | None = None,
        start: Sequence[float] | None = None,
        recurrence: Recurrence | None = None,
        rho: Numbers | None = None,
        **parameters: float,
    ) -> None:
        check_system(system)
        self.system = system
        chosen = choose(system, usual(system) if scheme is None else scheme)
        self.rho = tuple(numbers_of(system, chosen, values_given(system, rho, parameters)))
        if any(isinstance(n, bool) or n != int(n) or n < 2 for n in shape) or len(shape) != 2:
            raise BadValue(f"shape = {shape!r} must be two whole numbers of at least 2.")
        self.starts, self.parameters = _starts(system, over, shape, start)
        self.shape = tuple(len(axis.values) for axis in self.starts.axes)
        seed_of(recurrence)
        section = usual_section(system) if section is None else section
        if section.period is None and t_end is None:
            t_end = 10 * system.t_end
        self.settings = Settings.of(system, chosen, section, periods, t_end, recurrence)
        self._labels: _Labels | None = None
        self._asking(lambda: False)  # or the sentence that says what cannot be
        axes, brief = self.starts.axes_of(self.starts.rows[:1]), self.settings.part(10)
        pilot = Question(system, chosen, self.rho, axes, brief, 0.0, section)
        pilot.run(0, 1)  # loads what is compiled

    def label(self, row: Sequence[float]) -> int | None:
        """Return the number of one point of the axes (2,), by what is known now; None: nothing is.

        It is one of those of `Basins.label`.
        """
        if self._labels is None:
            return None
        fixed = [float(axis.values[0, 0]) for axis in self.starts.axes[2:]]
        label, _ = self._labels.labels(np.array([[*row, *fixed]], float))
        return int(label[0])

    def nothing(self) -> Basins:
        """Return the basins without any start."""
        return self._seen(Grid(self.shape), 0, self._asking(lambda: True), time.perf_counter())

    def whole(self, stop: Stop | None = None) -> Basins:
        """Return the finest basins, or what there is when `stop` returns True."""
        found = self.nothing()
        for found in self.steps(stop):  # noqa: B007
            pass
        return found

    def __iter__(self) -> Iterator[Basins]:
        return self.steps()

    def steps(self, stop: Stop | None = None) -> Iterator[Basins]:
        """Yield finer and finer basins, about four a second, the whole one last."""
        stop = stop or (lambda: False)
        begin = since = time.perf_counter()
        grid, labels = Grid(self.shape), self._asking(stop)
        self._labels = labels
        labels.begin(1)
        many, room, level = _AT_FIRST, _FIRST, 0
        for level, places, tell in _order(grid, labels):
            while len(places) and not stop():
                some, places = places[:many], places[many:]
                before = time.perf_counter()
                _put(grid, some, tell(some))
                now = time.perf_counter()
                many = max(4, min(int(len(some) * room / max(now - before, 1e-6)), 4 * many))
                if now - since > (_EARLY if room < EACH else EACH):
                    since, room = now, EACH
                    yield self._seen(grid, level, labels, begin)
            if stop():
                break
            since, room = time.perf_counter(), EACH
            yield self._seen(grid, level, labels, begin)
        yield self._seen(grid, level, labels, begin)

    def _asking(self, stop: Stop) -> _Labels:
        if self.parameters:
            return PeriodsOver(self.settings, self.rho, self.starts, stop)
        return Resolve(Search(self.settings, self.rho, self.starts), stop, progress=False)

    def _seen(self, grid: Grid, level: int, labels: _Labels, begin: float) -> Basins:
        families = labels.families
        label = grid.spread(level)
        label = grid.filled(np.where(label >= len(families), UNKNOWN, label))
        label = np.where(label == UNKNOWN, UNTOLD, label)
        found = label.ravel(), labels.t.copy(), grid.computed.ravel().copy()
        basins = Basins.of(
            self.settings,
            self.starts,
            self.rho,
            tuple(part[None] for part in found),  # type: ignore[arg-type]
            families,
            labels.refused,
            labels.bounds,
            time.perf_counter() - begin,
        )
        return dataclasses.replace(basins, by_period=self.parameters)


def _order(
    grid: Grid, labels: _Labels
) -> Iterator[tuple[int, np.ndarray, Callable[[np.ndarray], np.ndarray]]]:
    """Yield levels, the places that are computed next, and how their labels are told."""
    shortest = min(n for n in grid.labels.shape if n > 1)
    top = max(0, int(np.log2(max(shortest / _COARSEST, 1))))
    random = np.random.default_rng(0)  # a part of a level shows all of it
    yield top + 1, random.permutation(grid.coarse(top + 1)), lambda some: _known(labels.run(some))
    yield top + 1, grid.coarse(top + 1), labels
    yield top, random.permutation(grid.coarse(top)), labels
    for level in range(top, 0, -1):
        yield level, random.permutation(grid.between(level)), labels
    for level in range(top - 1, -1, -1):
        yield 0, random.permutation(grid.coarse(level)), labels
    # what was undecided may come to an attractor that was found later
    yield 0, np.flatnonzero(grid.labels == UNDECIDED), labels


def _known(labels: np.ndarray) -> np.ndarray:
    """Return labels without those for which something has to be learnt first."""
    return np.where(labels == UNDECIDED, UNTOLD, labels)


def _put(grid: Grid, places: np.ndarray, labels: np.ndarray) -> None:
    told = labels != UNTOLD
    grid.put(places[told], labels[told])


def _starts(
    system: System,
    over: object,
    shape: tuple[int, int],
    start: Sequence[float] | None,
) -> tuple[Starts, bool]:
    """Return the grid of starts, and whether it is one of parameters."""
    if not isinstance(over, Mapping) or len(over) != 2:
        raise BadValue(
            f"over = {over!r} must be two starts or two parameters and their ends, such as "
            "{'q0.x': (-1, 1), 'v0.x': (-2, 2)}."
        )
    grids = {}
    for (name, ends), n in zip(over.items(), shape, strict=True):
        if np.shape(ends) != (2,):
            raise BadValue(f"over: {name!r} needs two numbers, its lower and its upper end.")
        low = number(ends[0], f"The lower end of {name}")
        high = number(ends[1], f"The upper end of {name}")
        if not low < high:
            raise BadValue(
                f"{name} from {low:g} to {high:g} is no range: the lower end must be below the "
                "upper one."
            )
        grids[name] = np.linspace(low, high, int(n))
    axes = Axes.of(system, grids)
    names, units = states_of(system)
    taken = {place for _, _, what, place in axes.places if what == "start"}
    fixed: tuple[Axis, ...] = ()
    if start is not None:
        if len(start) != len(names):
            raise BadValue(
                f"start needs {len(names)} numbers ({', '.join(names)}), but {len(start)} are "
                "given."
            )
        values = [number(x, f"start[{i}]") for i, x in enumerate(start)]
        fixed = tuple(
            Axis((f"x0.{name}",), (units[k],), np.array([[values[k]]]))
            for k, name in enumerate(names)
            if k not in taken
        )
    kinds = [name in system.parameters and name in moving(system) for name in grids]
    if kinds[0] != kinds[1]:
        raise BadValue(
            f"over: of {' and '.join(grids)} one is a start and one is a parameter: choose two "
            "starts or two parameters."
        )
    every = (*axes.axes, *fixed)
    told = tuple(name for axis in every for name in axis.names)
    return Starts(system, every, (), told, tuple((False, k) for k in range(len(every)))), kinds[0]
