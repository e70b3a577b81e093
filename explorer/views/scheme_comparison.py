"""Small multiples: one model through all its schemes, each beside the best run."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from explorer.errors import BadValue, suggest
from explorer.quantities import number, quantity, unit
from explorer.results.solution import Solution
from explorer.study.scheme_comparison import ComparedRun, SchemeComparison
from explorer.views.drawing.compose import compose
from explorer.views.drawing.decimate import fine, rows
from explorer.views.drawing.picture import (
    COLOURS,
    GREY,
    INK,
    Picture,
    Plot,
    curve,
    extent,
    label,
    time_title,
    titled,
)
from explorer.views.drawing.polyline import STATIC, Look
from explorer.views.drawing.traces import Trace
from explorer.views.drawing.view import view

__all__ = ["scheme_comparison"]

_LEAST, _MOST = 1e-16, 1e2  # an error of zero cannot be drawn, that of a run that flew off is far
_POINTS = 2000  # of a closed form
_NARROW = 480  # px, in which two columns of plots have room
_MOST_IN_TWO = 11  # plots in two columns
_FEW = 7  # schemes whose names have room
_LETTERS = 14  # of the name of one of many
_NAMES = 3.4  # below each other, in the height of a usual plot


@view
def scheme_comparison(
    found: SchemeComparison,
    coordinate: str | None = None,
    *,
    pinned: SchemeComparison | None = None,
    look: Look = STATIC,
) -> Picture:
    """Draw one coordinate as each scheme computes it, over the reference (grey), and the errors.

    Parameters
    ----------
    found : SchemeComparison
        What `explorer.study.compare_schemes` returns.
    coordinate : str, optional
        The coordinate or state that is drawn; by default the first one.
    pinned : SchemeComparison, optional
        To compare with: its errors are grey circles.
    look : Look
        The size at which the picture is seen.

    Raises
    ------
    BadValue
        The system has no such coordinate.
    """
    names = list(found.system.coordinates)
    if coordinate is not None and coordinate not in names:
        raise BadValue(
            f"'{found.system.name}' has no coordinate {coordinate!r}.{suggest(coordinate, names)}"
        )
    j = 0 if coordinate is None else names.index(coordinate)
    known = _known(found, j)
    solutions = [fine(run.solution) for run in found.runs]
    high = extent(known["y"], *(s.q[:, j] for s in solutions))
    span = (0.0, max(float(s.t[-1]) for s in solutions))
    text = titled(label(names[j]), found.system.units[j])
    plots = [
        Plot(
            [known | {"showlegend": i == 0}, _curve(run, solution, j, i, len(solutions) > _FEW)],
            time_title(found.system),
            text,
            span,
            high,
        )
        for i, (run, solution) in enumerate(zip(found.runs, solutions, strict=True))
    ]
    if len(plots) > 1:
        plots.append(_errors(found, pinned))
    columns = _columns(plots, look)
    alone = len(columns) > 1 and len(columns[-1]) == 1  # the errors, which need less room
    widths = [1.0] * (len(columns) - alone) + [0.6] * alone
    return compose(columns, widths, look=look)


def _columns(plots: Sequence[Plot], look: Look) -> list[list[Plot]]:
    """Fill columns one after the other; the last plot is as high as what is free."""
    across = 1 if len(plots) < 2 or look.width < _NARROW else 2 if len(plots) <= _MOST_IN_TWO else 3
    down = math.ceil(len(plots) / across)
    columns = [list(plots[k : k + down]) for k in range(0, len(plots), down)]
    plots[-1].share = max(float(down - len(columns[-1]) + 1), len(plots) / _NAMES)
    return columns


def _known(found: SchemeComparison, j: int) -> Trace:
    """Return the curve of the reference."""
    if found.best is None:
        t = np.linspace(0.0, found.t_end, _POINTS)
        x, breaks = np.ascontiguousarray(found.truth(t)[:, j]), np.zeros(0, np.int64)
    else:
        points = rows(fine(found.best))
        t, x, breaks = points.t, points.q[j], points.torn
    return curve(
        t,
        x,
        GREY,
        breaks=breaks,
        name="reference",
        line={"width": 6},
        opacity=0.35,
        hoverinfo="skip",
    )


def _curve(run: ComparedRun, solution: Solution, j: int, i: int, many: bool) -> Trace:
    points, system = rows(solution), run.solution.system
    measure, status = unit(system.units[j]), run.solution.status
    said = (
        f"{status.step} steps, {len(run.solution.events)} events, "
        f"{quantity(1e3 * run.solution.seconds, '', 3)} ms"
    )
    return curve(
        points.t,
        points.q[j],
        COLOURS[i % len(COLOURS)],
        breaks=points.torn,
        name=_said(run.name, run.error, i, many),
        showlegend=True,
        hovertemplate=f"t = %{{x:.4g}} {system.time_unit}<br>{label(system.coordinates[j])} = "
        f"%{{y:.5g}} {measure}<br>{said}<extra>{run.name}</extra>",
        meta={"t": points.t},
    )


def _percent(error: float) -> str:
    """Return an error in words: percent where that is short."""
    return f"error {number(100 * error, 2)} %" if error >= 1e-5 else f"error {number(error, 2)}"


def _errors(found: SchemeComparison, pinned: SchemeComparison | None) -> Plot:
    """Draw the error of each scheme on a logarithmic axis, the first one on top."""
    names = [run.name for run in found.runs]
    errors = _clipped(found)
    before: dict[str, float] = {}
    if pinned is not None:
        every = zip(pinned.runs, _clipped(pinned), strict=True)
        before = {run.name: error for run, error in every if run.name in names}
    decades = np.log10(errors)
    all_decades = np.log10([*errors, *before.values()])
    low, high = all_decades.min(), all_decades.max()
    if high - low < 1:  # the names need room
        low, high = low - 1, high + 1
    room = 0.15 * (high - low)
    place = {name: float(len(names) - 1 - i) for i, name in enumerate(names)}
    many = len(names) > _FEW
    ghosts = curve(
        np.array([*before.values()]),
        np.array([place[name] for name in before]),
        GREY,
        name="pinned",
        mode="markers",
        marker={"size": 14, "color": GREY, "symbol": "circle-open"},
        hovertemplate="pinned: %{x:.3g}<extra></extra>",
    )
    dots = curve(
        errors,
        np.array([*place.values()]),
        INK,
        mode="markers+text",
        marker={
            "size": 10,
            "color": [COLOURS[i % len(COLOURS)] for i in range(len(names))],
            "symbol": "circle",
        },
        text=[f"  {k + 1 if many else name}  " for k, name in enumerate(names)],
        textposition=["middle left" if x > (low + high) / 2 else "middle right" for x in decades],
        cliponaxis=False,
        hovertemplate="%{x:.3g}<extra></extra>",
    )
    return Plot(
        [ghosts, dots],
        "mean error over range",
        "",
        (float(10 ** (low - room)), float(10 ** (high + room))),
        (-0.6, len(names) - 0.4),
        time=False,
        log=True,
        ticks={},
    )


def _said(name: str, error: float, place: int, many: bool) -> str:
    """Return what stands above the curve of a scheme; of many of them a number for its dot.

    >>> _said("NonsmoothGeneralizedAlpha", 0.0021, 7, many=True)
    '8 Nonsmoo…dAlpha: 0.21 %'
    """
    if not many:
        return f"{name}: {_percent(error)}"
    half = _LETTERS // 2
    short = name if len(name) <= _LETTERS else f"{name[:half]}…{name[1 - half :]}"
    return f"{place + 1} {short}: {_percent(error).removeprefix('error ')}"


def _clipped(found: SchemeComparison) -> np.ndarray:
    return np.clip([run.error for run in found.runs], _LEAST, _MOST)
