"""Contact portrait: the velocity of each gap against the gap, and what each impact makes of it.

In the plane (gap, gap') the motion of a contact lies right of gap = 0. It arrives there with gap'
< 0, and Newton's impact law takes it to -e gap' along the vertical: all impacts of one contact then
lie on the ray gap'(+) = -e gap'(-). Contact that lasts is the origin, grazing passes through it,
and what lies left of gap = 0 is penetration. No curve is drawn through a jump: a dotted line joins
the velocities before an impact (open circle) and behind it (filled circle). The small impacts of an
accumulation are left out.
"""

from __future__ import annotations

import numpy as np

from explorer.results.solution import Solution
from explorer.views.drawing.compose import compose
from explorer.views.drawing.decimate import MOST_CURVES, fine, rows
from explorer.views.drawing.picture import COLOURS, GREY, Picture, Plot, curve, extent, left_out
from explorer.views.drawing.traces import Trace
from explorer.views.drawing.view import view

__all__ = ["gap_velocity"]

_MOST = 200  # impacts of a contact that are marked, the strongest
_LEAST = 1e-4  # of the strongest impact: weaker ones lie in one point, some of them are round-off


@view(of="contacts")
def gap_velocity(solution: Solution) -> Picture:
    """Draw the velocity of each gap against the gap, with the jumps at the impacts.

    If there are many contacts, the six with the most impacts are drawn.
    """
    hits = _hits(solution)
    run = fine(solution)
    points = rows(run)
    contacts = solution.system.contacts
    count = [len(hits.get(a, ())) for a in range(len(contacts))]
    shown = sorted(sorted(range(len(contacts)), key=lambda a: -count[a])[:MOST_CURVES])
    traces: list[Trace] = []
    for colour, a in zip(COLOURS, shown, strict=False):
        traces += _portrait(
            run, points.t, points.jumps, a, colour, hits.get(a, np.empty((0, 4))), len(shown) > 1
        )
    if len(shown) < len(contacts):
        traces.append(left_out(len(shown), len(contacts)))
    across = extent(*(trace["x"] for trace in traces if trace.get("hoverinfo") != "skip"), [0.0])
    up = extent(*(trace["y"] for trace in traces if trace.get("hoverinfo") != "skip"), [0.0])
    wall = curve(
        np.zeros(2), np.array(up), GREY, name="gap = 0", line={"width": 1.0}, hoverinfo="skip"
    )
    plot = Plot([wall, *traces], "gap (m)", "gap velocity (m/s)", across, up, time=False)
    return compose([[plot]], [1])


def _hits(solution: Solution) -> dict[int, np.ndarray]:
    """Return for each contact the t, gap, gap'(-) and gap'(+) of its impacts, (k, 4)."""
    found: dict[int, list[tuple[float, float, float, float]]] = {}
    for event in solution.events:
        if event.kind == "impact" or event.impulse > 0 > event.gap_dot_minus:
            gap = float(solution.gap[event.row, event.index])
            hit = event.t, gap, event.gap_dot_minus, event.gap_dot_plus
            kept = found.setdefault(event.index, [])
            if (
                hit not in kept[-1:]
            ):  # the impact after which the contact stays closed is told twice
                kept.append(hit)
    least = _LEAST * min((hit[2] for hits in found.values() for hit in hits), default=0.0)
    strong = {a: np.array([hit for hit in hits if hit[2] <= least]) for a, hits in found.items()}
    return {a: _strongest(hits) for a, hits in strong.items() if hits.size}


def _strongest(hits: np.ndarray) -> np.ndarray:
    """Return the impacts with the largest speeds, in order of time."""
    return hits[np.sort(np.argsort(hits[:, 2], kind="stable")[:_MOST])]


def _portrait(
    run: Solution,
    t: np.ndarray,
    jumps: np.ndarray,
    a: int,
    colour: str,
    hits: np.ndarray,
    named: bool,
) -> list[Trace]:
    """Return the traces of one contact: its curve, the jumps, the velocities around them."""
    name = run.system.contacts[a].name
    values = np.array([run.gap[:, a], run.gap_dot[:, a]])
    gap, speed = np.where(np.isfinite(values).all(axis=0), values, np.nan)
    hover = f"gap = %{{x:.4g}} m<br>gap' = %{{y:.4g}} m/s<extra>{name}</extra>"
    jump_x, jump_y = np.repeat(hits[:, 1], 3), np.repeat(hits[:, 2], 3)
    jump_y[1::3], jump_y[2::3] = hits[:, 3], np.nan
    marks: list[Trace] = [
        {
            **curve(hits[:, 1], hits[:, k], colour, name=f"{side} {name}", hovertemplate=hover),
            "mode": "markers",
            "marker": {"color": colour, "size": 6, "symbol": symbol},
        }
        for k, side, symbol in ((2, "before", "circle-open"), (3, "behind", "circle"))
    ]
    return [
        curve(
            gap,
            speed,
            colour,
            name=name,
            breaks=jumps,
            line={"width": 1.4},
            hovertemplate=hover,
            meta={"t": t},
            showlegend=named,
        ),
        curve(
            jump_x,
            jump_y,
            colour,
            name=f"impacts of {name}",
            line={"width": 1.0, "dash": "dot"},
            hoverinfo="skip",
        ),
        *marks,
    ]
