"""Iterates of a map as dots: nothing is between them, so no line is drawn from one to the next.

Of many a part is drawn that no period can hide in: those whose number times the golden ratio has a
small fractional part. Every k-th one would show a single point of a cycle of k points.
"""

from __future__ import annotations

import numpy as np

from explorer.quantities import unit
from explorer.results.solution import Solution
from explorer.views.drawing.decimate import drawn
from explorer.views.drawing.ghosts import Ghosts, ending
from explorer.views.drawing.parts import start
from explorer.views.drawing.picture import (
    COLOURS,
    GREY,
    Plot,
    curve,
    extent,
    label,
    left_out,
    time_title,
    titled,
)
from explorer.views.drawing.polyline import PANEL, STATIC, Look
from explorer.views.drawing.traces import Meta, Trace

__all__ = ["chosen", "dots", "return_plot", "states_plot", "states_plots"]

_GOLDEN = (5**0.5 - 1) / 2
_MOST, _FEW = 20_000, 420  # dots of a figure, and of a plot of a panel
_SIZE, _SMALL = 4.0, 2.4  # px; small where there are many
_MANY = 600


def chosen(solution: Solution, look: Look = STATIC) -> np.ndarray:
    """Return the rows that are drawn: all in the window, or an even part of many."""
    most = _MOST if look.width > 2 * PANEL.width or look == STATIC else _FEW
    most = max(int(most / look.coarse), 50)
    rows = np.arange(len(solution.t))
    window = look.ranges.get("xaxis")
    if window is not None:
        inside = (solution.t >= window[0]) & (solution.t <= window[1])
        rows = rows[inside] if inside.any() else rows
    if len(rows) <= most:
        return rows
    kept = (_GOLDEN * np.arange(len(rows))) % 1.0 < most / len(rows)
    kept[0] = True
    return rows[kept]


def dots(
    x: np.ndarray, y: np.ndarray, colour: str, name: str, hover: str, meta: Meta, whole: int
) -> Trace:
    """Return dots; `whole` is how many iterates there are, of which some are drawn."""
    size = _SMALL if whole > _MANY else _SIZE
    trace = curve(
        x.astype(np.float32),
        y.astype(np.float32),
        colour,
        mode="markers",
        name=name,
        hovertemplate=hover,
        meta=meta,
    )
    trace["marker"] = {"color": colour, "size": size}
    return trace


def states_plots(solution: Solution, ghosts: Ghosts = None, look: Look = STATIC) -> list[Plot]:
    """Draw the states over the iterates, by unit in at most three plots."""
    groups: dict[str, list[int]] = {}
    for j in drawn(solution.system.coordinates).tolist():
        measure = solution.system.units[j]
        known = measure in groups or len(groups) < 3
        groups.setdefault(measure if known else list(groups)[-1], []).append(j)
    return [_over_time(solution, which, ghosts, look) for which in groups.values()]


def _over_time(solution: Solution, which: list[int], ghosts: Ghosts, look: Look) -> Plot:
    system, traces, seen = solution.system, [], []
    names, several = system.coordinates, len(which) > 1
    for ghost in (*(ghosts or ()), None):
        run = solution if ghost is None else ghost.solution
        rows, whole = chosen(run, look), len(run.t)
        t = run.t[rows]
        if ghost is None and system.exact is not None:
            traces += _exact(solution, rows, which)
        for rank, j in enumerate(which):
            text, measure = label(names[j]), unit(system.units[j])
            extra = "" if ghost is None else ghost.name
            hover = f"n = %{{x}}<br>{text} = %{{y:.6g}} {measure}<extra>{extra}</extra>"
            meta: Meta = {} if ghost else {"t": t, "start": start(run, (j, False))}
            colour = ghost.colour if ghost else COLOURS[rank]
            name = f"{ghost.name} {text}" if ghost else text
            traces.append(dots(t, run.q[rows, j], colour, name, hover, meta, whole))
            if several and ghost is None:
                traces[-1]["showlegend"] = True
            seen.append(run.q[:, j])
        if ghost is None and len(which) < len(names) and which == drawn(names).tolist():
            traces.append(left_out(len(which), len(names)))
    units = tuple(dict.fromkeys(system.units[j] for j in which))
    title = ", ".join(label(names[j]) for j in which) if len(which) <= 3 else "x"
    measure = ", ".join(unit(u or "1") for u in units) if any(units) else ""
    return Plot(
        traces,
        time_title(system),
        titled(title, measure),
        (0.0, ending(solution, ghosts)),
        extent(*seen),
    )


def _exact(solution: Solution, rows: np.ndarray, which: list[int]) -> list[Trace]:
    """Return the closed form as wide dots, if the run has the model's own start."""
    form = solution.system.exact(solution.t[rows], solution.rho)["x"]
    if not np.abs(form[0] - solution.q[0]).max() <= 1e-6:
        form = np.full_like(form, np.nan)
    found = []
    for j in which:
        trace = dots(solution.t[rows], form[:, j], GREY, "exact", "", {}, 0)
        trace |= {"opacity": 0.35, "hoverinfo": "skip", "showlegend": j == which[0]}
        trace["marker"] = {"color": GREY, "size": 9}
        found.append(trace)
    return found


def states_plot(
    solution: Solution,
    ghosts: Ghosts = None,
    look: Look = STATIC,
    which: tuple[int, int] = (0, 1),
) -> Plot:
    """Draw one state over another one."""
    system, (a, b), traces, seen = solution.system, which, [], []
    x_text, y_text = (label(system.coordinates[k]) for k in which)
    free = Look(look.width, look.height, coarse=look.coarse)  # of all iterates, whatever the zoom
    for ghost in (*(ghosts or ()), None):
        run = solution if ghost is None else ghost.solution
        rows = chosen(run, free)
        extra = "" if ghost is None else ghost.name
        hover = f"{x_text} = %{{x:.5g}}<br>{y_text} = %{{y:.5g}}<extra>{extra}</extra>"
        begins = start(run, (b, False), (a, False))
        meta: Meta = {} if ghost else {"t": run.t[rows], "start": begins}
        colour = ghost.colour if ghost else COLOURS[0]
        x, y = run.q[rows, a], run.q[rows, b]
        traces.append(dots(x, y, colour, ghost.name if ghost else "", hover, meta, len(run.t)))
        seen.append(run.q)
    across, up = (titled(label(system.coordinates[k]), unit(system.units[k])) for k in which)
    wide, tall = (extent(*(q[:, k] for q in seen)) for k in which)
    return Plot(traces, across, up, wide, tall, time=False, time_unit="")


def return_plot(solution: Solution, ghosts: Ghosts = None, look: Look = STATIC) -> Plot:
    """Draw each iterate of the first state over the one before."""
    system, traces, seen = solution.system, [], []
    text = label(system.coordinates[0])
    free = Look(look.width, look.height, coarse=look.coarse)
    for ghost in (*(ghosts or ()), None):
        run = solution if ghost is None else ghost.solution
        rows = chosen(run, free)
        rows = rows[rows < len(run.t) - 1]
        hover = f"{text} = %{{x:.5g}} becomes %{{y:.5g}}<extra></extra>"
        meta: Meta = {} if ghost else {"t": run.t[rows]}
        colour = ghost.colour if ghost else COLOURS[0]
        x, y = run.q[rows, 0], run.q[rows + 1, 0]
        traces.append(dots(x, y, colour, ghost.name if ghost else "", hover, meta, len(run.t)))
        seen.append(run.q[:, 0])
    measure, whole = unit(system.units[0]), extent(*seen)
    across, up = (titled(f"{text} at n{more}", measure) for more in ("", " + 1"))
    return Plot(traces, across, up, whole, whole, time=False, time_unit="")
