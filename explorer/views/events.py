"""Impulses at the impacts, intervals of closed contact, and the table of events."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, NamedTuple, TypedDict, TypeVar

import numpy as np

from explorer.arguments import a as needs
from explorer.arguments import checked
from explorer.errors import BadArgument
from explorer.parameters import whole
from explorer.quantities import column, number, unit
from explorer.results.event import Event, LocatedEvent, Switch
from explorer.results.solution import Solution
from explorer.systems import System
from explorer.systems.units import event_unit
from explorer.views.drawing.compose import compose
from explorer.views.drawing.ghosts import Ghosts, ending
from explorer.views.drawing.picture import (
    COLOURS,
    OFF,
    TIME,
    Picture,
    Plot,
    curve,
    nice,
    titled,
)
from explorer.views.drawing.traces import Trace
from explorer.views.drawing.view import view

__all__ = [
    "EventTable",
    "Table",
    "blows",
    "cell",
    "event_table",
    "impulses",
    "impulses_plot",
    "shown_time",
    "slope_title",
]

_DOTS = 100  # as many as stand side by side
_UNITS = 100  # events whose slopes say what unit a column of them has
_ZERO = 1e-9  # of its unit: less in a table is round-off
_LANE = 0.04  # of the height, between two bars


Kind = TypeVar("Kind", bound=Event)


class TimeFormat(TypedDict):
    """How a column shows times."""

    factor: float  # for the unit in the head
    digits: int  # decimals


class ShownTime(TimeFormat):
    """The same with the unit."""

    unit: str


class Table(TypedDict):
    """A table of events as the panel shows it."""

    columns: list[str]
    rows: list[list[str | float]]
    time_column: int
    note: str
    time: TimeFormat


class EventTable(Table):
    """A page of the table of all events."""

    page: int
    pages: int
    by: list[int | bool]  # the column that orders the rows, and whether they fall


def impulses_plot(solution: Solution, ghosts: Ghosts = None) -> Plot:
    """Draw the impulses of each contact as stems, and closed contact as bars below the axis."""
    contacts = solution.system.contacts
    merged = len(contacts) > len(COLOURS)
    groups = (
        [(f"all {len(contacts)} contacts", None)]
        if merged
        else [(c.name, a) for a, c in enumerate(contacts)]
    )
    traces: list[Trace] = []
    top = 0.0
    end = ending(solution, ghosts)
    for ghost in ghosts or ():
        t, p = _impacts(ghost.solution, None, end)
        top = max(top, p.max(initial=0.0))
        traces.append(
            {
                **curve(t, p, ghost.colour, name=ghost.name, hoverinfo="skip"),
                "mode": "markers",
                "marker": {"color": ghost.colour, "size": 5, "symbol": "circle-open"},
            }
        )
    impacts = [_impacts(solution, a, end) for _, a in groups]
    top = max([top, *(p.max(initial=0.0) for _, p in impacts)])
    high = nice(0.0, top)[1] if top else 1.0
    for k, ((name, a), (t, p)) in enumerate(zip(groups, impacts, strict=True)):
        stem_t, stem_p = np.repeat(t, 3), np.repeat(p, 3)
        stem_p[0::3], stem_p[2::3] = np.minimum(p, 0), np.nan
        colour = COLOURS[k % len(COLOURS)]
        text = f"t = %{{x:.5g}} s<br>impulse = %{{y:.4g}} N s<extra>{name}</extra>"
        rest = f"closed at t = %{{x:.5g}} s<extra>{name}</extra>"
        traces += [
            curve(stem_t, stem_p, colour, name=name, line={"width": 1.2}, hoverinfo="skip"),
            {
                **curve(t, p, colour, name=name, hovertemplate=text),
                "mode": "markers",
                "marker": {"color": colour, "size": 6},
                "showlegend": len(contacts) > 1,
            },
            curve(
                *_closed(solution, a, end, -_LANE * high * (k + 1)),
                colour,
                name=name,
                line={"width": 4},
                hovertemplate=rest,
            ),
        ]
    low = -_LANE * high * (len(groups) + 1)
    return Plot(traces, TIME, "impulse (N s)", (0.0, end), (low, high))


def _impacts(solution: Solution, a: int | None, end: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the impacts; of several that one dot would cover, the strongest."""
    impacts = [(i, c) for i, kind, c in solution.event_rows if kind == "impact" and a in (None, c)]
    if solution.has("march"):  # one event may be an impact at several contacts
        impacts = [(i, c) for i, c in np.argwhere(solution.p > 0).tolist() if a in (None, c)]
    if not impacts:
        return OFF
    t = solution.t[np.array(impacts)[:, 0]]
    p = np.array([solution.impulse(i, c) for i, c in impacts])
    column = np.floor(t / end * _DOTS)
    order = np.lexsort((-p, column))
    first = np.diff(column[order], prepend=-1.0) > 0
    kept = np.sort(order[first])
    return t[kept].astype(np.float32), p[kept].astype(np.float32)


def _closed(
    solution: Solution, a: int | None, end: float, height: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return bars over the times of contact; intervals closer than a dot are joined."""
    contacts = range(len(solution.system.contacts)) if a is None else [a]
    spans = [
        (solution.t[first], solution.t[after - 1])
        for c in contacts
        for first, after in solution.closed_runs(c)
    ]
    if not spans:
        return OFF
    t: list[float] = []
    for begin, over in sorted(spans):
        if t and begin - t[-2] < end / _DOTS:
            t[-2] = max(t[-2], over)
        else:
            t += [begin, over, np.nan]
    x = np.array(t, np.float32)
    return x, np.where(np.isnan(x), np.nan, height).astype(np.float32)


@checked
def event_table(
    solution: Solution, most: int = 100, page: int = 0, by: tuple[int, bool] = (0, False)
) -> EventTable:
    """Return the events as a table: columns, rows of numbers and text, and a note.

    Parameters
    ----------
    solution : Solution
    most : int
        Rows of a page.
    page : int
        Which one, from 0; beyond the last one: the last.
    by : (column, descending)
        What the rows of all pages are ordered by; events alike in that stay in time.

    Returns
    -------
    dict
        Times are in `system.time_unit`; "time" says how they are shown: by what they are
        multiplied for the unit in the head, and with how many decimals.

    Raises
    ------
    BadValue
        `most` or `page` is no such whole number, `by` is no such pair.
    """
    needs(solution, Solution, "a run", "views.event_table(ex.simulate(system))")
    most, page, (first, falling) = whole(most, "most"), whole(page, "page", 0), _ordered(by)
    every = list(solution.events)
    system = solution.system
    time = shown_time(float(solution.t[-1]), system.time_unit)
    heads, keys, write = (_moded if solution.mode_names else _struck)(solution)
    columns = [f"t ({time['unit']})", "event", *heads]
    place = first if 0 < first < len(columns) else 0
    if place:
        every = sorted(every, key=keys[place - 1], reverse=falling)
    elif falling:
        every = every[::-1]
    pages = max(-(-len(every) // most), 1)
    page = min(page, pages - 1)
    table: list[list[str | float]] = [
        [float(f"{e.t:.5g}"), keys[0](e), *write(e)] for e in every[page * most : (page + 1) * most]
    ]
    return {
        "columns": columns,
        "rows": table,
        "time_column": 0,
        "note": _note(len(every), page * most, len(table), pages),
        "page": page,
        "pages": pages,
        "time": {"factor": time["factor"], "digits": time["digits"]},
        "by": [place, falling],
    }


def _ordered(by: object) -> tuple[int, bool]:
    """Return the column that orders a table, and whether its values fall.

    Raises
    ------
    BadArgument
    """
    if isinstance(by, tuple | list) and len(by) == 2:
        place, falling = by
        if isinstance(place, int | np.integer) and isinstance(falling, bool | np.bool_):
            return int(place), bool(falling)
    raise BadArgument(
        f"by = {by!r} must say the number of a column, and whether its values fall, such as "
        "by=(1, True)."
    )


def blows(events: Iterable[Event], most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the first times of events in s, and the largest impulse at each in N s, (n,) both."""
    largest: dict[float, float] = {}
    for event in events:
        impulse = event.impulse if event.kind == "impact" else 0.0
        largest[event.t] = max(largest.get(event.t, 0.0), impulse)
    times = sorted(largest)[:most]
    return np.array(times), np.array([largest[t] for t in times])


class Columns(NamedTuple, Generic[Kind]):
    """The columns of a table of events behind the time and the event."""

    heads: list[str]
    keys: list[Callable[[Kind], str | float]]  # what each column but the time is ordered by
    cells: Callable[[Kind], list[str]]  # of one event


def _struck(solution: Solution) -> Columns[Event]:
    """Return the columns of impacts."""
    single = len(solution.system.contacts) == 1
    sides = (x for e in solution.events for x in (e.gap_dot_minus, e.gap_dot_plus))
    (v, speed), (p, impulse) = (
        column(sides, "m/s"),
        column((e.impulse for e in solution.events), "N s"),
    )
    keys: list[Callable[[Event], str | float]] = [
        lambda e: e.kind if single else f"{e.kind} {e.contact}",
        lambda e: abs(e.gap_dot_minus),
        lambda e: e.impulse,
    ]
    return Columns(
        [f"v− → v+ ({speed})", f"p ({impulse})"],
        keys,
        lambda e: [
            f"{cell(v * e.gap_dot_minus)} → {cell(v * e.gap_dot_plus)}",
            cell(p * e.impulse),
        ],
    )


def _moded(solution: Solution) -> Columns[Switch] | Columns[LocatedEvent]:
    """Return the columns of changes of mode: what changed, the modes, dr/dt if it is known."""
    if not solution.has("march"):
        of_switch: list[Callable[[Switch], str | float]] = [_changed, _modes]
        return Columns(["mode"], of_switch, lambda e: [_modes(e)])
    slope = slope_title(solution.system, solution.events[:_UNITS])
    keys: list[Callable[[LocatedEvent], str | float]] = [_changed, _modes, lambda e: e.slope]
    return Columns(["mode", slope], keys, lambda e: [_modes(e), cell(e.slope)])


def _changed(event: Switch | LocatedEvent) -> str:
    """Return which guard or law changed, and how."""
    return ("" if event.kind == "event" else f"{event.kind} ") + event.contact


def _modes(event: Switch | LocatedEvent) -> str:
    """Return the mode, or the modes before and after."""
    return event.mode if event.mode == event.to else f"{event.mode} → {event.to}"


def shown_time(end: float, measure: str) -> ShownTime:
    """Return the unit, factor and number of decimals for the times of a run."""
    factor, shown = column([end], measure)
    digits = 3 - math.floor(math.log10(factor * end * (1 - 1e-9))) if end > 0 else 3
    return {"unit": shown, "factor": factor, "digits": min(max(digits, 0), 3)}


def cell(x: float) -> str:
    """Return a number of a table with three digits; round-off is shown as zero.

    >>> cell(-0.012345), cell(3e-12), cell(2.5e-6)
    ('−0.0123', '0', '2.5 × 10⁻⁶')
    """
    return "0" if abs(x) < _ZERO else number(x, 3).replace("-", "−")


def slope_title(system: System, events: Sequence[LocatedEvent]) -> str:
    """Return the name of dr/dt with its unit, if it is known and the same for all events."""
    units = {event_unit(system, e.kind, e.contact) for e in events if e.kind != "zeno"}
    if len(units) == 1:
        return titled("dr/dt", unit(units.pop() or ""))
    return "dr/dt" if None in units or system.time_unit != "s" or not units else "dr/dt (SI)"


def _note(count: int, first: int, shown: int, pages: int) -> str:
    """Return how many events there are, and which of them are shown."""
    events = f"{count} event{'s' * (count != 1)}" if count else "No events"
    more = f", {first + 1} to {first + shown} shown" if pages > 1 else ""
    return f"{events}{more}."


@view(of="contacts")
def impulses(solution: Solution) -> Picture:
    """Draw the impulses at the impacts.

    Raises
    ------
    NotApplicable
        A hybrid system has modes, no impulses; a smooth one has neither.
    """
    return compose([[impulses_plot(solution)]], [1])
