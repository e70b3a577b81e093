"""Schemes of the Newmark family over the step omega h: radius, damping, period error, overshoot.

The physical damping ratio xi is subtracted from the damping; the overshoot of v / omega is dotted.
The right column shows the roots of one step in the complex plane, with the unit circle, and the
oscillator by each scheme beside the exact solution. In the panel, a click on a point runs the
oscillator with the step of that point.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from explorer.errors import BadValue
from explorer.study.oscillator import Oscillation, exact_oscillation, oscillation
from explorer.study.stability import Stability
from explorer.study.stability import stability as study
from explorer.views.drawing.compose import compose
from explorer.views.drawing.picture import COLOURS, GREY, OFF, Picture, Plot, curve, extent
from explorer.views.drawing.polyline import STATIC, Look
from explorer.views.drawing.traces import Line, Meta, Trace
from explorer.views.drawing.view import view

__all__ = ["stability"]

_STEP = "step ωh (rad)"
_HIDDEN = (np.ones(1, np.float32), OFF[1])  # as OFF, on a logarithmic axis
_FAR = 12.0  # of a growing run so much is shown
Shown: TypeAlias = tuple[Stability, str, str, Line]  # a scheme, its colour, name and line
Grids: TypeAlias = dict[int, np.ndarray]  # omega h as drawn, by the identity of the array
_FEW = 120  # more steps than these are no marks
_CURVES = (  # attribute, what it is, what of it is shown at most, what is shown at least
    ("radius", "spectral radius", (0.0, 1.5), (0.0, 1.5)),
    ("damping", "damping ratio − ξ", (-0.5, 1.0), (-0.05, 0.05)),
    ("period_error", "period error", (-0.5, 1.0), (-0.1, 0.1)),
    ("overshoot_d", "overshoot", (1.0, 5.0), (0.9, 1.5)),
)


@view
def stability(
    *found: Stability,
    at: float | None = None,
    marks: Sequence[Stability] = (),
    runs: Sequence[Oscillation] = (),
    pinned: Stability | None = None,
    names: Sequence[str] | None = None,
    look: Look = STATIC,
) -> Picture:
    """Draw what schemes do to an oscillator, over the step.

    Parameters
    ----------
    *found : Stability
        One colour each.
    at : float, optional
        A step omega h in rad, marked on the curves; the oscillator is run with it.
    marks : sequence of Stability, optional
        The same schemes at that one step.
    runs : sequence of Oscillation, optional
        Runs of the schemes with that step, if they were made before.
    pinned : Stability, optional
        To compare with: dotted grey.
    names : sequence of str, optional
        For the legend, instead of their own.
    look : Look
        The size at which the picture is seen.

    Raises
    ------
    ExplorerError
        There is nothing to draw, or the step is inadmissible.
    """
    if not found:
        raise BadValue(
            "views.stability draws what study.stability returns, such as "
            "views.stability(study.stability('average acceleration'))."
        )
    if at is not None and not runs:
        runs = [oscillation(one.scheme, one.xi, at) for one in found]
    shown: list[Shown] = [
        (one, COLOURS[i % len(COLOURS)], (names or [f.name for f in found])[i], {})
        for i, one in enumerate(found)
    ]
    if pinned is not None:
        shown.append((pinned, GREY, "pinned", {"dash": "dot"}))
    if at is not None and not marks:
        marks = [study(one.scheme, one.xi, [at]) for one in found]
    grids = {id(one.omega_h): np.asarray(one.omega_h, np.float32) for one, *_ in shown}
    span = (min(one.omega_h[0] for one, *_ in shown), max(one.omega_h[-1] for one, *_ in shown))
    left = [_over_step(row, shown, grids, span, marks) for row in range(len(_CURVES))]
    right = [_locus(shown, grids, marks)]
    if runs:
        right.append(_oscillator(runs, [colour for _, colour, *_ in shown]))
    picture = compose([left, right], [1.15, 1], look=look)
    k = len(left) + 1
    picture.layout[f"yaxis{k}"] |= {"scaleanchor": f"x{k}", "constrain": "domain"}
    picture.layout[f"xaxis{k}"] |= {"constrain": "domain"}
    return picture


def _over_step(
    row: int,
    shown: list[Shown],
    grids: Grids,
    span: tuple[float, float],
    marks: Sequence[Stability],
) -> Plot:
    """Draw one quantity over omega h, with lines at the limits and marks at the step."""
    quantity, title, most, least = _CURVES[row]
    traces, seen = [], [np.array(least)]
    for rank, (one, colour, name, line) in reversed([*enumerate(shown)]):  # the first one on top
        for suffix, y in zip(("", "v/ω"), _values(one, quantity), strict=False):
            seen.append(np.clip(y, *most))
            text = f"ωh = %{{x:.4g}}: %{{y:.5g}}<extra>{suffix or name}</extra>"
            drawn = curve(
                grids[id(one.omega_h)],
                np.asarray(y, np.float32),
                colour,
                name=name,
                line=line,
                hovertemplate=text,
                meta={"key": "omega_h"},
                showlegend=row == 0,
                legendrank=rank + 1,
            )
            if suffix:
                drawn |= {
                    "name": suffix,
                    "showlegend": rank == 0,
                    "legendrank": 900,
                }
                drawn["line"] = drawn["line"] | {"dash": "dot"}
            traces.append(drawn)
    low, high = extent(*seen)
    for one, colour, name, _ in shown:
        inside = span[0] <= one.limit <= span[1]
        ends = (np.full(2, one.limit, np.float32), np.array([low, high], np.float32))
        limit = curve(
            *(ends if inside else _HIDDEN),
            colour,
            name="stability limit",
            line={"dash": "dash", "width": 1},
            hovertemplate=f"limit ωh = %{{x:.6g}}<extra>{name}</extra>",
        )
        last = row == len(_CURVES) - 1 and one is shown[0][0]
        traces.append(limit | {"showlegend": last, "legendrank": 901})
    for point, (_, colour, name, _) in reversed([*zip(marks, shown, strict=False)]):
        traces.append(_dots(point.omega_h, _values(point, quantity)[0], colour, 9, name))
    return Plot(traces, _STEP, title, span, (low, high), time=False, log=True)


def _values(one: Stability, quantity: str) -> list[np.ndarray]:
    if quantity != "overshoot_d":
        return [getattr(one, quantity)]
    grows = one.radius > 1 + 1e-7  # growth is no overshoot
    return [np.where(grows, np.nan, x) for x in (one.overshoot_d, one.overshoot_v)]


def _locus(shown: list[Shown], grids: Grids, marks: Sequence[Stability]) -> Plot:
    """Draw the roots in the complex plane: small marks for all steps, large for the chosen step."""
    turn = np.linspace(0, 2 * np.pi, 73)
    traces = [
        curve(
            np.cos(turn).astype(np.float32),
            np.sin(turn).astype(np.float32),
            GREY,
            name="unit circle",
            line={"width": 1},
            hoverinfo="skip",
        )
    ]
    for one, colour, name, _ in reversed(shown):
        roots = one.roots.ravel()
        where: Meta = {"key": "omega_h", "at": grids[id(one.omega_h)], "each": one.roots.shape[1]}
        traces.append(_dots(roots.real, roots.imag, colour, 3, name) | {"meta": where})
    for point, (_, colour, name, _) in reversed([*zip(marks, shown, strict=False)]):
        roots = point.roots.ravel()
        traces.append(_dots(roots.real, roots.imag, colour, 9, name))
    across, along = (f"{part} λ, roots of one step" for part in ("Re", "Im"))
    return Plot(traces, across, along, (-1.5, 1.5), (-1.5, 1.5), time=False, share=1.4)


def _dots(x: np.ndarray, y: np.ndarray, colour: str, size: int, name: str) -> Trace:
    x, y = (np.asarray(a, np.float32) for a in (x, y))
    text = f"%{{x:.4g}}, %{{y:.5g}}<extra>{name}</extra>"
    return {
        **curve(x, y, colour, name=name, hovertemplate=text),
        "mode": "markers",
        "marker": {"color": colour, "size": size},
    }


def _oscillator(runs: Sequence[Oscillation], colours: Sequence[str]) -> Plot:
    """Draw the runs beside the exact solution, with a mark at each step if they are few."""
    t = runs[0].motion.t
    span = float(max(run.motion.t[-1] for run in runs))
    fine = np.linspace(0, span, 250) if span < 200 else t[:250]
    exact = np.asarray(exact_oscillation(fine, runs[0].xi), np.float32)
    traces = [
        curve(
            np.asarray(fine, np.float32),
            exact,
            GREY,
            name="exact oscillation",
            line={"width": 1.2},
            hoverinfo="skip",
            showlegend=True,
        ),
    ]
    seen = [np.array([-1.0, 1.0])]
    for run, colour in reversed([*zip(runs, colours, strict=False)]):  # the first one on top
        t, d = run.motion.t, run.motion.q[:, 0]
        far = np.flatnonzero(np.abs(d) > _FAR)
        rows = np.arange(len(t) if not far.size else far[0] + 1)
        if rows.size > 400:
            rows = rows[:: -(-rows.size // 400)]
        traces.append(
            curve(
                np.asarray(t[rows], np.float32),
                np.asarray(d[rows], np.float32),
                colour,
                name="powers of the amplification matrix" if run.grows else "by the scheme",
                hovertemplate="ωt = %{x:.4g}: d = %{y:.5g}<extra></extra>",
            )
        )
        if rows.size <= _FEW:
            traces[-1] |= {"mode": "lines+markers", "marker": {"size": 5}}
        seen.append(np.clip(d[rows], -_FAR, _FAR))
    return Plot(
        traces, "time ωt (rad)", "displacement d / d(0)", (0.0, span), extent(*seen), time=False
    )
