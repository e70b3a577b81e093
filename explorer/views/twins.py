"""Twin perturbed runs, at rho - delta / 2 and rho + delta / 2, beside the derivative at rho.

Corner et al. 2019, Definition 9 and Figs. 1 and 2: the twins meet the event at two times tau_1 and
tau_2. Between them their difference divided by delta is no derivative: in a velocity it is a spike
of height (v+ - v-) / delta, where the sensitivity has a clean jump (sections 3.3, 3.4).
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from dataclasses import dataclass

import numpy as np

from explorer.derivatives import Sensitivity
from explorer.derivatives.differences import twins
from explorer.derivatives.question import Question
from explorer.errors import BadValue, ExplorerError, suggest
from explorer.results.solution import Solution
from explorer.schemes.event_driven import EventDriven
from explorer.views.drawing.one_sided import Sides, apart, arcs, event_times, sides
from explorer.views.drawing.parts import has_constraints
from explorer.views.drawing.picture import COLOURS, GREY, OFF, curve
from explorer.views.drawing.traces import Trace

__all__ = ["Twins", "band", "column", "difference", "pair", "twin_curves", "zoom"]

LOW, HIGH = COLOURS[4], COLOURS[1]
_BAND = "rgba(86, 180, 233, 0.3)"
_POINTS = 70
_ROUGH, _UNSEEN = 1e-6, 1e-5  # of a tolerance; of delta
_ENDS = {-1.0: "− δ", -0.5: "− δ/2", 0.0: "± 0", 0.5: "+ δ/2", 1.0: "+ δ"}


@dataclass(frozen=True)
class Twins:
    """Two runs and their difference.

    Attributes
    ----------
    j, delta : which parameter, and the distance of the two runs in it
    ends : the places of the two runs, in parts of delta from rho: (-1/2, 1/2), or one-sided
    low, high : Sides of the runs
    t : (k,) times; each event of either run twice
    difference : (k, n_x + 1 + m) of (x, z) and m constraint forces, high minus low, over delta
    until : float
        From this time on the runs meet different events, and there is no derivative across.
    """

    j: int
    delta: float
    ends: tuple[float, float]
    low: Sides
    high: Sides
    t: np.ndarray
    difference: np.ndarray
    until: float


def column(sens: Sensitivity, name: str | int | None) -> int:
    """Return the column of a parameter.

    Raises
    ------
    BadValue
        If the sensitivities are not by this parameter, or the method has none along the run.
    """
    if sens.solution.S.shape[2] == 0:
        raise BadValue("There is nothing to draw: the sensitivities have no parameter.")
    if name is None:
        return 0
    if isinstance(name, int):
        name = sens.wrt[name]
    if name not in sens.wrt:
        raise BadValue(f"There is no sensitivity by {name!r}.{suggest(name, sens.wrt)}")
    return sens.wrt.index(name)


def zoom(sens: Sensitivity, j: int, k: int, delta: float) -> tuple[float, float]:
    """Return a window of time around event `k` in which its shift by `delta` is visible.

    Raises
    ------
    BadValue
        If there is no such event.
    """
    events, end = sens.events, sens.solution.march.t_last
    if not 0 <= k < len(events):
        raise BadValue(f"There is no event {k}: the run has {len(events)}.")
    t = events[k].t
    slope = events[k].dt_drho
    assert slope is not None
    wide = max(3 * abs(delta * slope[j]), end / 25)
    others = [abs(e.t - t) for e in events if e.t != t]
    wide = min(wide, max(0.9 * min(others, default=wide), 0.8 * abs(delta * slope[j])), end / 2)
    unit = 10.0 ** np.floor(np.log10(wide))
    wide = unit * next(x for x in (1, 1.5, 2, 3, 5, 7, 10) if x * unit >= 0.999 * wide)
    step = wide / 5
    centre = step * round(t / step)
    return max(centre - wide, 0.0), min(centre + wide, end)


def pair(
    sens: Sensitivity,
    j: int,
    delta: float,
    window: tuple[float, float] | None = None,
    *,
    rough: bool = False,
) -> Twins:
    """Run the twins, and take their difference on a common grid.

    `rough` ones have a tolerance of their own, as large as the eye lets pass beside delta.

    Where a parameter is at the end of what makes sense (a restitution of 1), both twins lie on the
    side that is left.

    Raises
    ------
    ExplorerError
        If the twins cannot run.
    """
    delta = float(delta)
    if not (np.isfinite(delta) and delta > 0):
        raise BadValue(f"delta = {delta:g} must be greater than zero.")
    ends, runs = _runs(_roughly(sens.question, j, delta) if rough else sens.question, j, delta)
    end = min(run.march.t_last for run in runs)
    low, high = (0.0, end) if window is None else (window[0], min(window[1], end))
    times = [event_times(run) for run in runs]
    both = np.unique(np.concatenate([t[apart(t, (low, high))] for t in times]))
    points = max(_POINTS - len(both), _POINTS // 2)
    grid = np.unique(np.concatenate([both, *(arcs(t, (low, high), points) for t in times)]))
    if rough:  # from polynomials of the steps
        rows = [run.march.rows(run, grid) for run in runs]
    else:
        rows = [run.march.trajectory(grid) for run in runs]
    t = np.sort(np.concatenate([grid, both]))
    second = np.zeros(len(t), bool)
    second[1:] = t[1:] == t[:-1]
    states = [_beside(run, t, second) for run in rows]
    first, second_run = (sides(run, (low, high), given=True) for run in rows)
    quotient = (states[1] - states[0]) / delta
    return Twins(j, delta, ends, first, second_run, t, quotient, _parting(*runs, end))


def _roughly(question: Question, j: int, delta: float) -> Question:
    """Return the question at a tolerance whose errors are not seen in a difference over delta."""
    scheme, place = question.scheme, question.places[j]
    if not isinstance(scheme, EventDriven) or scheme.newmark is not None:
        return question
    size = max(1.0, abs(float(question.rho[place]))) if place >= 0 else 1.0
    rtol = max(scheme.rtol, min(_ROUGH, _UNSEEN * delta / size))
    atol = scheme.atol * rtol / scheme.rtol
    return dataclasses.replace(question, scheme=dataclasses.replace(scheme, rtol=rtol, atol=atol))


def _runs(
    question: Question, j: int, delta: float
) -> tuple[tuple[float, float], tuple[Solution, Solution]]:
    """Return the offsets of the twins from rho, in units of delta, and the twins."""
    place = question.places[j]
    try:
        return (-0.5, 0.5), twins(question, j, delta)
    except ExplorerError:
        for shift in (-0.5, 0.5) if place >= 0 else ():
            rho = question.rho.copy()
            rho[place] += shift * delta
            with contextlib.suppress(ExplorerError):
                moved = dataclasses.replace(question, rho=rho)
                return (shift - 0.5, shift + 0.5), twins(moved, j, delta)
        raise


def _beside(run: Solution, t: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return (x, z, lam) of a run at times; a repeated time gives the left and the right limit."""
    place = np.where(
        second, np.searchsorted(run.t, t, "right") - 1, np.searchsorted(run.t, t, "left")
    )
    place = np.clip(place, 0, len(run.t) - 1)
    return np.column_stack([run.x, run.z, *_forces(run)])[place]


def _forces(run: Solution) -> list[np.ndarray]:
    return [run.lam_phi] if has_constraints(run) else []


def _parting(low: Solution, high: Solution, end: float) -> float:
    """Return the time after which the event sequences differ."""
    kinds = [run.march.sequence for run in (low, high)]
    times = [event_times(run) for run in (low, high)]
    for k in range(max(map(len, kinds))):
        if k >= min(map(len, kinds)) or kinds[0][k] != kinds[1][k]:
            return float(min(t[k] for t in times if k < len(t)))
    return end


def twin_curves(twin: Twins, values: str, i: int, name: str, by: str) -> list[Trace]:
    """Return the curves of component `i` of both runs, dashed."""
    traces = []
    for run, end, colour, dash in zip(
        (twin.low, twin.high), twin.ends, (LOW, HIGH), ("dash", "dot"), strict=True
    ):
        y = run.drawn(getattr(run.rows, values)[:, i])
        said, time = f"{by} {_ENDS[end]}", run.rows.system.time_unit
        text = f"t = %{{x:.5g}} {time}<br>{name} = %{{y:.5g}}<extra>{said}</extra>"
        traces.append(
            curve(
                run.t,
                y,
                colour,
                name=_ENDS[end],
                line={"dash": dash, "width": 1.6},
                hovertemplate=text,
            )
        )
    return traces


def band(at: Sides, values: np.ndarray, slopes: np.ndarray, twin: Twins) -> Trace:
    """Return the first-order prediction of where the twins run, shaded between the events."""
    gap = np.array([np.nan])
    edges = [at.drawn(values + end * twin.delta * slopes) for end in twin.ends]
    x: list[np.ndarray] = []
    y: list[np.ndarray] = []
    for first, last in itertools.pairwise([-1, *np.flatnonzero(at.gap), len(at.t)]):
        part = slice(first + 1, last)
        if last - first > 2:
            x += [at.t[part], at.t[part][::-1], gap]
            y += [edges[0][part], edges[1][part][::-1], gap]
    if not x:
        x, y = [OFF[0]], [OFF[1]]
    return curve(
        np.concatenate(x).astype(np.float32),
        np.concatenate(y).astype(np.float32),
        COLOURS[0],
        name="first order",
        fill="toself",
        fillcolor=_BAND,
        line={"width": 0},
        hoverinfo="skip",
    )


def difference(twin: Twins, i: int, name: str) -> Trace:
    """Return the finite difference of component `i` of (x, z) while the events are the same."""
    kept, time = twin.t < twin.until, twin.low.rows.system.time_unit
    if not kept.any():
        t, y = OFF
    else:
        t, y = twin.t[kept].astype(np.float32), twin.difference[kept, i].astype(np.float32)
    return curve(
        t,
        y,
        GREY,
        name="finite difference",
        line={"dash": "dash", "width": 1.4},
        hovertemplate=f"t = %{{x:.5g}} {time}<br>difference of {name} = %{{y:.5g}}<extra></extra>",
    )
