"""Attractors of a system by recurrence: where the points of runs on a section come back.

A start is run, and the last half of its points is looked at: a period, or without one a set that
both quarters visit alike (recurrence, as Datseris and Wagemakers, Chaos 32, 2022,
doi:10.1063/5.0076568, find attractors, there in cells of state space). What recurs need not
attract: so neighbours are run too, and all must come back.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from explorer.dispatch.choose import choose, numbers_of
from explorer.errors import BadValue
from explorer.status import ESCAPED
from explorer.study import study
from explorer.study.asked import Chosen
from explorer.study.over import Over, states_of
from explorer.study.recurrence import Recurrence
from explorer.study.search_attractors import Attractor, Search, Settings, seed_of
from explorer.study.section import Section
from explorer.study.starts import Starts
from explorer.study.sweep import usual
from explorer.systems import System, check_system, values_given
from explorer.types import Numbers, Value

__all__ = ["Attractor", "Attractors", "attractors"]

study(Attractor)
study(Recurrence)


@study
@dataclass(frozen=True, repr=False)
class Attractors:
    """Attractors of a system at one set of parameters.

    Attributes
    ----------
    found : tuple of Attractor
    refused : tuple of Attractor
        What recurs and does not attract: neighbours have not come back.
    states : tuple of str
    undecided : int
        Runs that have met none of them.
    failed : int
        Runs without numbers.
    seconds : float
    """

    found: tuple[Attractor, ...]
    refused: tuple[Attractor, ...] = field(repr=False)
    states: tuple[str, ...]
    runs: int
    undecided: int
    failed: int
    escaped: int
    seconds: float = 0.0

    def __len__(self) -> int:
        return len(self.found)

    def __getitem__(self, k: int) -> Attractor:
        return self.found[k]

    def __repr__(self) -> str:
        head = (
            f"{len(self.found)} attractors of {self.runs} runs; {self.escaped} escaped, "
            f"{self.undecided} undecided, {self.failed} failed"
        )
        if self.refused:
            head += f"; {len(self.refused)} recur and do not attract"
        return "\n  ".join([head, *(f"{k}: {one!r}" for k, one in enumerate(self.found))])


@study
def attractors(
    system: System,
    scheme: Chosen | None = None,
    *,
    over: Over | None = None,
    section: Section | None = None,
    periods: int = 200,
    t_end: Value | None = None,
    samples: int = 64,
    recurrence: Recurrence | None = None,
    rho: Numbers | None = None,
    **parameters: float,
) -> Attractors:
    """Return the attractors that runs from many starts come to.

    Parameters
    ----------
    system, scheme : as `sweep` takes them
    over : dict
        Starts by name, such as {"q0.x": [-1, 1], "v0.x": [-2, 2]}: their least and largest value.
        `samples` starts are drawn uniformly. A tuple of names takes given rows instead.
    section : Section
        By a period, or by an event of a system that does not depend on t. Its `most` is not used.
    periods : int
        How many periods of the section a start is run. A run without an answer is run five times as
        long.
    t_end : float or formula, optional
        For a section by an event: how long a start is run in s, by default t_end of the system.
    samples : int
        Number of starts that are drawn.
    recurrence : Recurrence, optional
        When points count as the same, and when a run has escaped. A run that ends at a terminal
        event has escaped, too.
    rho, **parameters : other parameters

    Returns
    -------
    Attractors

    Raises
    ------
    BadValue, BadModel, NotApplicable
        The arguments are inconsistent.

    Examples
    --------
    >>> import explorer as ex
    >>> found = ex.study.attractors(
    ...     ex.models.impact_oscillator(),
    ...     over={"q0.x": [-3, -0.1], "v0.x": [-3, 3]},
    ...     section=ex.study.Section(period="2*pi/omega"),
    ...     samples=4, omega=2, s=0,
    ... )
    >>> found[0].period, found[0].points.round(3).tolist()
    (1, [[-4.576, 4.243]])
    """
    check_system(system)
    begin = time.perf_counter()
    chosen = choose(system, usual(system) if scheme is None else scheme)
    values = tuple(numbers_of(system, chosen, values_given(system, rho, parameters)))
    starts = Starts.of(system, over, samples if _drawn(over) else None, seed_of(recurrence))
    if starts.parameters:
        raise BadValue(
            f"over: {starts.parameters[0].label!r} is a parameter; attractors are those of one set "
            "of parameters. Use basins for several."
        )
    settings = Settings.of(system, chosen, section, periods, t_end, recurrence)
    search = Search(settings, values, starts)
    caught = search.learn(starts.rows)
    return Attractors(
        tuple(search.attractors),
        tuple(search.refused),
        states_of(system)[0],
        len(caught.code),
        int(((caught.code == 0) & (caught.caught == -1)).sum()),
        int(((caught.code != 0) & (caught.code != ESCAPED)).sum()),
        int(((caught.caught == -2) | (caught.code == ESCAPED)).sum()),
        time.perf_counter() - begin,
    )


def _drawn(over: object) -> bool:
    return isinstance(over, Mapping) and all(isinstance(key, str) for key in over)
