"""Basins of attraction by recurrence: which attractor the run from each start comes to.

First some starts are run to their ends, and what recurs in them and attracts is kept (see
`explorer.study.attractors`). Then each start is run until a point of it on the section lies in the
ball around an attractor, and no longer. What meets none is undecided; some of these runs are looked
at for further attractors, and the others tried again.
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

import numpy as np

from explorer.dispatch.choose import choose, numbers_of
from explorer.errors import BadValue
from explorer.parameters import whole
from explorer.study import study
from explorer.study.asked import Chosen
from explorer.study.basin_map import Basins
from explorer.study.over import Over
from explorer.study.parts import Runs, Stop, check_stop, run_parts, workers_of
from explorer.study.recurrence import Recurrence, nearest
from explorer.study.refine import refined
from explorer.study.resolve import Resolve
from explorer.study.search_attractors import Attractor, Search, Settings, seed_of
from explorer.study.section import Section
from explorer.study.starts import Starts
from explorer.study.sweep import check_executor, check_size, usual
from explorer.systems import System, check_system, values_given
from explorer.types import Numbers, Value

__all__ = ["basins"]

_SAME = 20.0  # times `near`: how far an attractor may move from one parameter to the next


@study
def basins(
    system: System,
    scheme: Chosen | None = None,
    *,
    over: Over | None = None,
    section: Section | None = None,
    samples: int | None = None,
    refine: int = 0,
    periods: int = 200,
    t_end: Value | None = None,
    recurrence: Recurrence | None = None,
    executor: Runs | None = None,
    folder: str | Path | None = None,
    stop: Stop | None = None,
    progress: bool = True,
    rho: Numbers | None = None,
    **parameters: float,
) -> Basins:
    """Return the attractor of each start.

    Parameters
    ----------
    system, scheme : as `sweep` takes them
        A scheme without a kernel for many runs makes them one by one, each to its end.
    over : dict
        Starts by name and their values (k,), such as {"q0.x": ..., "v0.x": ...}; several span a
        grid. Parameters may be among them. Each value of a parameter has attractors of its own;
        those that move little from one value to the next share a number.
    section, periods, t_end, recurrence : as `attractors` takes them
    samples : int, optional
        Number of uniformly random starts in the ranges of the axes, instead of the grid.
    refine : int
        How many times cells are halved: first every 2^refine-th start of each axis is run, then
        only inside cells whose corners differ, and in their neighbours. Other cells take over the
        number of their corners; `Basins.computed` marks the starts that were run.
    executor, folder, stop, progress : as `sweep` takes them
        The same call with the same folder goes on where it was broken off. The map is the same
        wherever its runs are made.
    rho, **parameters : other parameters

    Returns
    -------
    Basins

    Raises
    ------
    BadValue, BadModel, NotApplicable
        The arguments are inconsistent; there are too many starts for memory or for a day.
    ExplorerError
        A worker of the executor has failed.

    Examples
    --------
    >>> import numpy as np
    >>> import explorer as ex
    >>> found = ex.study.basins(
    ...     ex.models.impact_oscillator(),
    ...     over={"q0.x": np.linspace(-3, -0.1, 4), "v0.x": np.linspace(-3, 3, 4)},
    ...     section=ex.study.Section(period="2*pi/omega"),
    ...     omega=2, s=0,
    ... )
    >>> found.shape, found.fraction(0)
    ((4, 4), 1.0)
    """
    check_system(system)
    check_executor(executor)
    check_stop(stop)
    begin = time.perf_counter()
    chosen = choose(system, usual(system) if scheme is None else scheme)
    values = tuple(numbers_of(system, chosen, values_given(system, rho, parameters)))
    starts = Starts.of(system, over, samples, seed_of(recurrence))
    refine = whole(refine, "refine", 0)
    if refine and (samples is not None or any(len(a.names) > 1 for a in starts.axes)):
        raise BadValue("refine halves the cells of a grid: random samples and rows have none.")
    settings = Settings.of(system, chosen, section, periods, t_end, recurrence)
    groups = _parameter_sets(starts, values)
    searches = [Search(settings, own, starts) for own in groups]
    question = searches[0].question(None, searches[0].known())
    check_size(question, workers_of(executor))
    for search in searches:
        search.answer = partial(run_parts, executor=executor, folder=folder)
    labels, times, computed = _resolved(searches, starts.shape, int(refine), stop, progress)
    numbers, families = _families([s.attractors for s in searches], searches[0].scale, settings)
    for label, number in zip(labels, numbers, strict=True):
        there = label >= 0
        label[there] = np.array(number, np.int64)[label[there]]
    return Basins.of(
        settings,
        starts,
        values,
        (np.array(labels), np.array(times), np.array(computed)),
        families,
        tuple(one for search in searches for one in search.refused),
        (searches[0].low, searches[0].high, searches[0].scale),
        time.perf_counter() - begin,
    )


def _resolved(
    searches: list[Search], shape: tuple[int, ...], refine: int, stop: Stop | None, progress: bool
) -> tuple[list[np.ndarray], list[np.ndarray], list[np.ndarray]]:
    """Return labels of starts, when they were decided, and which were run; of each search."""
    labels, times, computed = [], [], []
    for search in searches:
        one = Resolve(search, stop, progress)
        one.begin()
        label, made = refined(one, shape, refine)
        labels.append(label)
        times.append(one.t)
        computed.append(made)
    return labels, times, computed


def _parameter_sets(starts: Starts, values: tuple[float, ...]) -> list[tuple[float, ...]]:
    """Return all parameters at each point of the axes of parameters, the last running fastest."""
    names = list(starts.system.parameters)
    found = [values]
    for axis in starts.parameters:
        places = [names.index(name) for name in axis.names]
        wider = []
        for one in found:
            for row in axis.values.tolist():
                new = list(one)
                for place, value in zip(places, row, strict=True):
                    new[place] = value
                wider.append(tuple(new))
        found = wider
    return found


def _families(
    groups: list[list[Attractor]], scale: np.ndarray, settings: Settings
) -> tuple[list[list[int]], tuple[tuple[Attractor, ...], ...]]:
    """Return the number of each attractor, and the attractors of each number.

    One of the next set of parameters has the number of the nearest one that was met last, if it is
    close: `_SAME` times `near`, in parts of the scale.
    """
    families: list[list[Attractor]] = []
    numbers: list[list[int]] = []
    for group in groups:
        gaps = sorted(
            (_gap(one, family[-1], scale), i, k)
            for i, one in enumerate(group)
            for k, family in enumerate(families)
        )
        own: dict[int, int] = {}
        for gap, i, k in gaps:
            if gap <= _SAME * settings.near and i not in own and k not in own.values():
                own[i] = k
        for i, one in enumerate(group):
            if i not in own:
                own[i] = len(families)
                families.append([])
            families[own[i]].append(one)
        numbers.append([own[i] for i in range(len(group))])
    return numbers, tuple(map(tuple, families))


def _gap(one: Attractor, other: Attractor, scale: np.ndarray) -> float:
    """Return how far two attractors are from each other, each from the other one."""
    a, b = one.points / scale, other.points / scale
    return float(max(nearest(a, b).max(), nearest(b, a).max()))
