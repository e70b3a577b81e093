"""Phase plane of a system with step functions: regions, fields of both sides, slides, the run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from explorer.compiled import compile_switched
from explorer.errors import BadValue, NotApplicable, suggest
from explorer.moved import refuse_moved
from explorer.parameters import number
from explorer.results.solution import Solution
from explorer.systems import StepSystem, System, check_meant, values_given
from explorer.types import Bounds, Numbers
from explorer.views.drawing.compose import compose
from explorer.views.drawing.decimate import NONE, Rows, fine, rows
from explorer.views.drawing.ghosts import Ghosts
from explorer.views.drawing.parts import start
from explorer.views.drawing.picture import INK, Picture, Plot, curve, extent, label
from explorer.views.drawing.regions import SIDES, Regions
from explorer.views.drawing.view import view

__all__ = [
    "phase_plane",
    "phase_plane_plot",
    "regions",
]

_DOUBLINGS = 20  # of the plane about the start, until every region is seen


def phase_plane_plot(
    solution: Solution,
    points: Rows,
    ghosts: Ghosts = None,
    states: tuple[int, int] | None = None,
    at: float | None = None,
    named: bool = False,
) -> Plot:
    """Draw a run over two of its states, by default those that the first functions depend on.

    Two regions are named; with `named` all that is drawn is.
    """
    system = solution.system
    i, j = _usual(system) if states is None else states
    names = [label(system.coordinates[k]) for k in (i, j)]
    hover = f"{names[0]} = %{{x:.4g}}<br>{names[1]} = %{{y:.4g}}"
    q, traces = points.q, []
    xs, ys = [q[i]], [q[j]]
    for ghost in ghosts or ():
        other = ghost.points
        traces.append(
            curve(
                other.q[i],
                other.q[j],
                ghost.colour,
                name=ghost.name,
                hovertemplate=f"{hover}<extra>{ghost.name}</extra>",
                breaks=other.torn,
                held=False,
                meta={"t": other.t},
                line=ghost.line(1.0),
            )
        )
        xs.append(other.q[i])
        ys.append(other.q[j])
    traces += [
        curve(
            *_slides(solution, i, j),
            SIDES[0],
            name="slides",
            hoverinfo="skip",
            line={"width": 5},
            breaks=NONE,
            meta={"t": points.t},
        ),
        curve(
            q[i],
            q[j],
            INK,
            name="run",
            line={"width": 1.4},
            hovertemplate=f"{hover}<extra></extra>",
            breaks=points.torn,
            held=False,
            meta={"t": points.t, "start": start(solution, (j, False), (i, False))},
        ),
    ]
    for trace in traces:
        trace["showlegend"] = named
    when = "the end" if at is None else f"t = {at:g} {system.time_unit}"
    across, up = _titles(system, i, j, when, "surfaces")
    t = float(solution.t[-1]) if at is None else at
    rho = [*solution.rho.values()]
    ground = Regions(
        solution.march.compiled, rho, solution.state(t), i, j, t, named, not _varies(system)
    )
    return Plot(
        traces,
        across,
        up,
        extent(*xs),
        extent(*ys),
        time=False,
        ground=ground,
        time_unit=system.time_unit,
    )


def _titles(system: StepSystem, i: int, j: int, when: str, drawn: str = "flow") -> tuple[str, str]:
    """Return the axis titles of two states; `drawn` names what the plane shows."""
    units = [f" ({u})" if (u := system.units[k]) else "" for k in (i, j)]
    across, up = (label(system.coordinates[k]) + u for k, u in zip((i, j), units, strict=True))
    return across + (f" · {drawn} at {when}" if _varies(system) else ""), up


def _varies(system: StepSystem) -> bool:
    """Whether the flow in the plane of two states depends on time or on other states."""
    return system.n > 2 or any(system.t in g.free_symbols for g in system.f)


def _usual(system: StepSystem) -> tuple[int, int]:
    """Return the two states that are drawn by default: first those in the switching functions."""
    moving = dict.fromkeys(
        k for s in system.switches for k, x in enumerate(system.x) if x in s.c.free_symbols
    )
    i, j = sorted([*dict.fromkeys([*moving, *range(system.n)])][:2])
    return i, j


def _slides(solution: Solution, i: int, j: int) -> tuple[np.ndarray, np.ndarray]:
    """Return x and y of the run where it slides on a surface; x is NaN elsewhere."""
    slides = (solution.signs == 0).any(axis=1)
    return np.where(slides, solution.x[:, i], np.nan), solution.x[:, j]


def _pair(system: StepSystem, x: str, y: str) -> tuple[int, int]:
    """Return the named states; where a name is missing, one of `_usual`."""
    if system.n < 2:
        raise NotApplicable(f"'{system.name}' has one state: views.phase draws its rate over it.")
    for name in filter(None, (x, y)):
        if name not in system.coordinates:
            raise BadValue(
                f"'{system.name}' has no state {name!r}.{suggest(name, system.coordinates)}"
            )
    chosen = [system.coordinates.index(name) for name in (x, y) if name]
    chosen = [*dict.fromkeys([*chosen, *_usual(system), *range(system.n)])]
    return (chosen[1], chosen[0]) if y and not x else (chosen[0], chosen[1])


@view(of="phase plane")
def phase_plane(
    solution: Solution, x: str = "", y: str = "", *, at: float | None = None
) -> Picture:
    """Draw a run over two states: regions shaded, the flow in them, where it slides.

    Parameters
    ----------
    solution : Solution
    x, y : str, optional
        Names of the states; by default those in the switching functions.
    at : float, optional
        Time at which the other states have the values that the regions and the flow are drawn
        for; by default the end of the run.

    Raises
    ------
    NotApplicable
        A run without step functions, a system of one state.
    BadValue
        No such state; a time outside the run.
    """
    system = solution.system
    u = system.time_unit
    if at is not None and not 0 <= number(at, "at", u) <= solution.t[-1]:
        raise BadValue(f"at = {at!r} {u} lies outside the run, [0, {solution.t[-1]:g}] {u}.")
    pair = _pair(system, x, y)
    run = fine(solution)
    return compose([[phase_plane_plot(run, rows(run), None, pair, at, True)]], [1])


@view
def regions(
    system: System,
    x: str = "",
    y: str = "",
    *,
    within: Sequence[Sequence[float]] | np.ndarray | None = None,
    t: float = 0.0,
    rho: Numbers | None = None,
    **parameters: float,
) -> Picture:
    """Draw the plane of two states without a run: regions, their fields, the surfaces.

    Parameters
    ----------
    system : StepSystem or FilippovSystem
    x, y : str, optional
        Names of the states; by default those in the switching functions. The others are as at the
        start.
    within : (2, 2) float, optional
        Range of each of the two; by default a square about the start in which every region is seen.
    t : float
        In the system's unit of time, for systems that depend on time.
    rho, **parameters
        Parameters by name.

    Raises
    ------
    NotApplicable
        A system without step functions, or of one state.
    BadValue
        No such state; ranges that are none.
    """
    if not isinstance(system, StepSystem) or not system.switches:
        raise NotApplicable(
            f"'{system.name}' has no step functions, so there are no regions to draw."
        )
    given = values_given(system, rho, parameters)
    for name, value in (("x", x), ("y", y)):
        check_meant(
            system, name, value, given, "a state", f"for a state write {name}='...', its name"
        )
    i, j = _pair(system, x, y)
    compiled, values = compile_switched(system), system.rho(given)
    start = compiled.start(values)[0]
    ground = Regions(compiled, values, start, i, j, number(t, "t", system.time_unit), True)
    box = _square(ground, start[i], start[j]) if within is None else _box(within)
    at = [np.array([start[k]], np.float32) for k in (i, j)]
    mark = curve(
        at[0], at[1], INK, mode="markers", name="start", marker={"size": 8}, showlegend=True
    )
    titles = _titles(system, i, j, f"t = {t:g} {system.time_unit}")
    plot = Plot([mark], *titles, box[0], box[1], time=False, ground=ground)
    return compose([[plot]], [1])


def _square(ground: Regions, x: float, y: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the smallest square about a point in which every region has a point."""
    half = max(abs(x), abs(y)) or 1.0
    for _ in range(_DOUBLINGS):
        if ground.seen((x - half, x + half), (y - half, y + half)):
            break
        half *= 2
    else:  # one of them does not reach this plane
        half *= 0.5**_DOUBLINGS
    wide = np.array([-1.2, 1.2]) * half
    return extent(x + wide), extent(y + wide)


def _box(within: Sequence[Sequence[float]] | np.ndarray) -> tuple[Bounds, Bounds]:
    try:
        (left, right), (low, high) = ([number(x, "within") for x in pair] for pair in within)
    except (TypeError, ValueError) as error:
        if isinstance(error, BadValue):
            raise
        left, right, low, high = 0.0, 0.0, 0.0, 0.0
    if not (left < right and low < high):
        raise BadValue(
            f"within = {within!r} must be two ranges, such as ((-1, 1), (0, 2)), each with its "
            "lower end first."
        )
    return (left, right), (low, high)


refuse_moved(globals())
