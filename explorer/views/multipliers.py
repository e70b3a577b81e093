"""Multipliers over time as stacked areas: of the regions of each subsystem, of each function.

The theta_i of the regions of a subsystem add up to 1, and so do alpha_j and 1 - alpha_j, the
weights of the two sides of a switching function. Several are positive only during sliding.
"""

from __future__ import annotations

import numpy as np

from explorer.results.solution import Solution
from explorer.views.drawing.compose import compose
from explorer.views.drawing.decimate import fine
from explorer.views.drawing.picture import Picture, Plot, curve, prose, time_title
from explorer.views.drawing.regions import SIDES, beside, region_colours
from explorer.views.drawing.view import view

__all__ = ["MOST_LANES", "multipliers", "multipliers_plot"]

MOST_LANES = 8
_ROOM = 0.16  # between two lanes, in parts of one
_SEEN = 1e-5  # less is level
_MOST, _FEW = 320, 90  # points of all edges, and of one at least


def multipliers_plot(solution: Solution, kind: str = "") -> Plot:
    """Draw a lane for each subsystem (theta) or each switching function (alpha).

    `kind` is "theta" or "alpha"; by default theta where there are regions. Several functions are
    named if they are asked for: beside other plots there is no room.
    """
    system = solution.system
    subsystems = getattr(system, "subsystems", ())
    if (kind or ("theta" if subsystems else "alpha")) == "theta":
        return _regions(solution)
    alpha, switches = solution.alpha.T, system.switches
    lanes = [
        [(beside(s.name, 1), SIDES[1], alpha[k]), (beside(s.name, -1), SIDES[-1], 1 - alpha[k])]
        for k, s in enumerate(switches)
    ]
    single = len(lanes) == 1
    names = [f"α<sub>{k + 1}</sub>" for k in range(len(lanes))]
    return _lanes(solution, lanes, names, "α", single or bool(kind))


def _regions(solution: Solution) -> Plot:
    system = solution.system
    theta, colours = solution.theta.T, iter(region_colours(system))
    values = iter(theta)
    lanes = [
        [(prose(r.name), next(colours), next(values)) for r in s.regions] for s in system.subsystems
    ]
    names = [f"θ of {k + 1}" for k in range(len(lanes))]
    return _lanes(solution, lanes, names, "θ", True)


def _lanes(
    solution: Solution,
    lanes: list[list[tuple[str, str, np.ndarray]]],
    names: list[str],
    title: str,
    named: bool,
) -> Plot:
    """Draw the stacks with the first lane on top; in a stack the largest sum is at the back."""
    t, count, traces = solution.t, min(len(lanes), MOST_LANES), []
    most = max(_MOST // sum(len(stack) - 1 for stack in lanes[:count]), _FEW)
    unit = 1.0 if count == 1 else 1.0 - _ROOM
    for k, stack in enumerate(lanes[:count]):
        base = float(count - 1 - k)
        sums = base + unit * np.cumsum([values for *_, values in stack], axis=0)
        for rank, (name, colour, _) in reversed([*enumerate(stack)]):
            traces.append(
                curve(
                    *_area(t, base, sums[rank], most),
                    colour,
                    name=name,
                    fill="toself",
                    fillcolor=colour,
                    line={"width": 0},
                    legendrank=rank + 1,
                    showlegend=named,
                )
            )
    ticks = None
    if count == 1:
        title = names[0] if names[0][0] == "α" else "θ"
    else:
        ticks = {count - 1 - k + unit / 2: name for k, name in enumerate(names[:count])}
    limits = (-0.02, 1.02) if count == 1 else (-_ROOM, float(count))
    share = min(0.55 + 0.15 * count, 1.2)
    return Plot(
        traces,
        time_title(solution.system),
        title,
        (0.0, float(t[-1])),
        limits,
        ticks=ticks,
        share=share,
    )


def _area(t: np.ndarray, base: float, y: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the polygon under a curve; constant parts keep only their end points."""
    moves = np.abs(np.diff(y)) > _SEEN
    kept = np.ones(len(t), bool)
    kept[1:-1] = moves[1:] | moves[:-1]
    if kept.sum() > most:
        thin = kept & (np.cumsum(kept) % -(-int(kept.sum()) // most) == 0)
        jumps = np.flatnonzero(t[1:] == t[:-1])  # both sides of each switch
        ends = np.concatenate([jumps, jumps + 1, np.flatnonzero(moves[1:] != moves[:-1]) + 1])
        thin[ends] = kept[ends]
        thin[[0, -1]] = True
        kept = thin
    x = np.concatenate([t[kept], t[[-1, 0, 0]]])
    y = np.concatenate([y[kept], [base, base], y[:1]])
    return x.astype(np.float32), y.astype(np.float32)


@view(of="switches")
def multipliers(solution: Solution) -> Picture:
    """Draw theta of the regions and alpha of the switching functions as stacked areas over time.

    Raises
    ------
    NotApplicable
        A run without step functions, or with none at all.
    """
    run = fine(solution)
    plots = []
    if getattr(run.system, "subsystems", ()):
        plots.append(multipliers_plot(run, "theta"))
    if not run.march.compiled.stewart:
        plots.append(multipliers_plot(run, "alpha"))
    return compose([plots], [1])
