"""Laws of contacts as graphs with the run on them, and what each contact does over time.

A law of contact is set-valued: a graph in the plane of a velocity (or a gap) and a force, and
every row of a run is a point on it. Time stepping satisfies the laws of Moreau, which relate the
impulse of a step to the velocities at its two ends. Schemes that locate events satisfy the laws of
Signorini and Coulomb, which relate forces to the state.
"""

from __future__ import annotations

import numpy as np

from explorer.moved import refuse_moved
from explorer.results.solution import Solution
from explorer.views.drawing.decimate import Rows, few
from explorer.views.drawing.lanes import bars
from explorer.views.drawing.parts import has_friction
from explorer.views.drawing.picture import COLOURS, GREY, OFF, TIME, Plot, curve, extent
from explorer.views.drawing.traces import Trace

__all__ = ["DOING", "contact_law_plot", "doing", "doing_plot", "friction_law_plot"]

_MOST = 6  # contacts drawn, those that carry most
_POINTS = 100  # of all contacts together, in the panel
_SEEN = 1e-9  # of the largest: a force smaller than that is none
_WIDE = 1.15  # how far the graphs go beyond the run
# number of what a contact does: its name and colour
DOING = {
    1: ("slides +", COLOURS[1]),
    2: ("sticks", COLOURS[0]),
    -1: ("slides −", COLOURS[5]),
    3: ("closed", COLOURS[2]),
}


def _loaded(solution: Solution) -> list[int]:
    """Return the contacts that are drawn: at most six, those with the largest impulses."""
    count = solution.p.shape[1]
    total = solution.p.sum(axis=0)
    if solution.has("march"):
        total = total + solution.lam.sum(axis=0)
    most: np.ndarray = np.sort(np.argsort(-total, kind="stable")[: min(_MOST, count)])
    return list(map(int, most))


def doing(solution: Solution) -> np.ndarray:
    """Return the state of each contact in each row, (n_t, n_c): 0 for open, else as in `DOING`."""
    if not solution.has("march") and has_friction(solution):
        states, rough = solution.doing.astype(int), list(solution.system.rough)
        smooth = np.setdiff1d(np.arange(solution.p.shape[1]), rough)
        states[:, smooth] = np.where(solution.p[:, smooth] > 0, 3, 0)
        return states
    closed = solution.active > 0 if solution.has("march") else solution.p > 0
    states = np.where(closed, 3, 0)
    if solution.has("march") and has_friction(solution):
        for a in solution.system.rough:
            side = np.where(solution.slip[:, a] < 0, -1, 1)
            states[:, a] = np.where(closed[:, a], np.where(solution.sticks[:, a], 2, side), 0)
    return states


def contact_law_plot(solution: Solution, points: Rows) -> Plot:
    """Draw 0 <= y perp lam >= 0 of the contacts, with y and lam as the scheme defines them."""
    at = np.arange(1, len(points.t))
    chosen = _loaded(solution)
    traces, seen, some = [], [], _some_of(chosen, solution.p.shape[1])
    if solution.has("march"):
        names, units = ("gap", "force"), ("m", "N")
        y, lam = solution.gap, solution.lam
    else:
        names, units = ("v<sup>+</sup> + e v<sup>−</sup>", "impulse"), ("m/s", "N s")
        e = np.array(
            [
                float(c.e.subs(solution.rho)) if hasattr(c.e, "subs") else float(c.e)
                for c in solution.system.contacts
            ]
        )
        y, lam = solution.gap_dot.copy(), solution.p
        y[1:] += e[: y.shape[1]] * solution.gap_dot[:-1]
        y[solution.active[:, : y.shape[1]] == 0] = np.nan  # open: its law was not asked
    for k, a in enumerate(chosen):
        name = solution.system.contacts[a].name
        on = few(at[np.isfinite(y[at, a])], max(4 * _POINTS // len(chosen), 20))
        x, f = y[on, a].astype(np.float32), lam[on, a].astype(np.float32)
        seen.append((x, f))
        text = f"{names[0]} = %{{x:.4g}} {units[0]}<br>{names[1]} = %{{y:.4g}} {units[1]}"
        traces.append(_dots(x, f, 0 if some else k, name, text, solution.t[on]))
    x_range = extent(*(x for x, _ in seen), np.zeros(1))
    y_range = extent(*(f for _, f in seen), np.zeros(1))
    graph = np.array([(0, y_range[1]), (0, 0), (max(x_range[1], 1e-9), 0)], np.float32).T
    return Plot(
        [_graph(graph), *traces],
        f"{names[0]} ({units[0]}){some}",
        f"{names[1]} ({units[1]})",
        x_range,
        y_range,
        time=False,
    )


def friction_law_plot(solution: Solution, points: Rows) -> Plot:
    """Draw -Sgn(slip), and on it the friction of each contact relative to its bound mu lam."""
    rough = [a for a in _loaded(solution) if a in solution.system.rough]
    at = np.arange(1, len(points.t))  # no step has ended in the first row
    top = solution.lam_max[at].max(initial=0.0)
    traces, widest, some = [], 0.0, _some_of(rough, len(solution.system.rough))
    for k, a in enumerate(rough):
        on = at[solution.lam_max[at, a] > _SEEN * top]
        on = few(on, max(_POINTS // len(rough), 20))
        x = solution.slip[on, a].astype(np.float32)
        share = (solution.lam_t[on, a] / solution.lam_max[on, a]).astype(np.float32)
        widest = max(widest, float(np.abs(x).max(initial=0.0)))
        text = "slip = %{x:.4g} m/s<br>friction = %{y:.4g} μλ"
        name = solution.system.contacts[a].name
        traces.append(_dots(x, share, 0 if some else k, name, text, solution.t[on]))
    widest = widest if widest > 1e-9 else 1.0  # all stick: no axis in nanometres
    low, high = extent(np.array([-_WIDE * widest, _WIDE * widest]))
    graph = np.array([(low, 1), (0, 1), (0, -1), (high, -1)], np.float32).T
    return Plot(
        [_graph(graph), *traces],
        f"slip (m/s){some}",
        "friction / μλ",
        (low, high),
        (-1.3, 1.3),
        time=False,
    )


def doing_plot(solution: Solution) -> Plot:
    """Draw a lane for each contact that shows when it slides, sticks or is closed."""
    chosen = _loaded(solution)
    states, count, traces = doing(solution)[:, chosen], len(chosen), []
    for side, (name, colour) in DOING.items():
        x, y = bars(solution.t, states, (side,), count) if (states == side).any() else OFF
        traces.append(
            curve(
                x,
                y,
                colour,
                name=name,
                line={"width": 7},
                showlegend=bool((states == side).any()),
                hovertemplate=f"t = %{{x:.6g}} s<extra>{name}</extra>",
            )
        )
    ticks = {float(count - 1 - k): solution.system.contacts[a].name for k, a in enumerate(chosen)}
    return Plot(
        traces,
        TIME,
        "contacts",
        (0.0, float(solution.t[-1])),
        (-0.6, count - 0.4),
        ticks=ticks,
        share=min(0.35 + 0.2 * count, 1.3),
    )


def _some_of(chosen: list[int], count: int) -> str:
    """Return a note for the title if not all contacts are drawn; they then share one colour."""
    return f", {len(chosen)} of {count} contacts" if len(chosen) < count else ""


def _graph(corners: np.ndarray) -> Trace:
    return curve(
        corners[0], corners[1], GREY, name="law", line={"width": 5}, opacity=0.4, hoverinfo="skip"
    )


def _dots(x: np.ndarray, y: np.ndarray, k: int, name: str, text: str, t: np.ndarray) -> Trace:
    colour = COLOURS[k % len(COLOURS)]
    return curve(
        x,
        y,
        colour,
        name=name,
        mode="markers",
        marker={"size": 4, "color": colour},
        hovertemplate=f"{text}<extra>{name}</extra>",
        meta={"t": t.astype(np.float32)},
    )


refuse_moved(globals())
