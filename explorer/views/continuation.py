"""Branches of cycles or equilibria over a parameter: solid where stable, dashed where not.

Bifurcations are marked and named, by what happens there; the lower plot shows the largest
multiplier (of equilibria the largest real part), whose bound of stability is dotted.
"""

from __future__ import annotations

import numpy as np

from explorer.errors import BadValue
from explorer.quantities import unit
from explorer.study.branch import Branch
from explorer.study.over import states_of
from explorer.views.drawing.branches import SYMBOLS, growth, runs
from explorer.views.drawing.compose import compose
from explorer.views.drawing.picture import (
    COLOURS,
    GREY,
    INK,
    Picture,
    Plot,
    curve,
    extent,
    label,
    state_label,
    titled,
)
from explorer.views.drawing.traces import Marker, Trace
from explorer.views.drawing.view import view

__all__ = ["continuation"]

_EDGE = 0.15  # of the axis, in which words stand on the inner side of their mark
_SHOWN = 2.0  # moduli above this many times the bound leave the lower plot


@view
def continuation(*branches: Branch, state: str | None = None) -> Picture:
    """Draw branches over their parameter; a colour for each.

    Parameters
    ----------
    *branches : Branch
        What `explorer.study.continuation` returns, over one and the same parameter.
    state : str, optional
        By default the first one.

    Raises
    ------
    BadValue
        There is no branch or no such state; the branches are over several parameters.
    """
    if not branches:
        raise BadValue(
            "views.continuation draws what study.continuation returns, such as "
            "views.continuation(study.continuation(system, parameter='omega', ...))."
        )
    first = branches[0]
    if any(one.parameter != first.parameter or one.kind != first.kind for one in branches):
        raise BadValue(
            "The branches are over several parameters, or of several kinds: draw them apart."
        )
    state = first.states[0] if state is None else state
    p, system = first.parameter, first.system
    sizes = [one.state(state) for one in branches]
    across = titled(label(p), unit(system.parameters[p].unit))
    units = dict(zip(*states_of(system), strict=True))
    along = titled(state_label(state, first.states), unit(units[state]))
    upper: list[Trace] = []
    lower: list[Trace] = []
    for k, one in enumerate(branches):
        colour = COLOURS[k % len(COLOURS)]
        upper += _lines(one, one.state(state), colour, k == 0)
        lower += _lines(one, growth(one), colour, False)
    values = np.concatenate([one.values for one in branches])
    span = (float(values.min()), float(values.max()))
    upper += _marks(branches, state, span)
    cycles = first.kind == "cycles"
    bound = 1.0 if cycles else 0.0
    lower.insert(0, _bound(span, bound))
    sizes_of = np.concatenate([growth(one) for one in branches])
    most = np.clip(sizes_of, -np.inf, _SHOWN) if cycles else sizes_of
    title = "largest |multiplier|" if cycles else f"largest Re λ (1/{system.time_unit})"
    plots = [
        Plot(upper, across, along, span, extent(*sizes), time=False),
        Plot(lower, across, title, span, extent(most, [bound]), time=False, share=0.6),
    ]
    return compose([plots], [1])


def _lines(branch: Branch, y: np.ndarray, colour: str, named: bool) -> list[Trace]:
    """Draw one quantity: solid where it is stable, dashed where not; gaps stay open."""
    parts: dict[bool, tuple[list[float], list[float]]] = {True: ([], []), False: ([], [])}
    for run, solid in runs(branch):
        x, found = parts[solid]
        x += [*branch.values[run].tolist(), np.nan]
        found += [*y[run].tolist(), np.nan]
    by = label(branch.parameter)
    traces: list[Trace] = []
    for stable, (x, found) in parts.items():
        word = "stable" if stable else "unstable"
        traces.append(
            curve(
                np.array(x),
                np.array(found),
                colour,
                name=word,
                line={"dash": "solid" if stable else "dash"},
                hovertemplate=f"{by} = %{{x:.7g}}: %{{y:.6g}}<extra>{word}</extra>",
                legendrank=1 if stable else 2,
            )
            | {"showlegend": named and bool(x)}
        )
    return traces


def _marks(branches: tuple[Branch, ...], state: str, span: tuple[float, float]) -> list[Trace]:
    """Mark and name the bifurcations; one entry of the legend for each kind."""
    by, traces = label(branches[0].parameter), []
    kinds = dict.fromkeys(point.kind for one in branches for point in one.points)
    for kind in kinds:
        found = [(one, q) for one in branches for q in one.points if q.kind == kind]
        marker: Marker = {"size": 9, "color": INK, "symbol": SYMBOLS.get(kind, "x")}
        words = [f"{q.kind} {q.name}".strip() for _, q in found]
        part = [(q.parameter - span[0]) / (span[1] - span[0] or 1.0) for _, q in found]
        places = [
            f"top {'right' if x < _EDGE else 'left' if x > 1 - _EDGE else 'center'}" for x in part
        ]
        traces.append(
            curve(
                np.array([q.parameter for _, q in found]),
                np.array([q.x[one.states.index(state)] for one, q in found]),
                INK,
                name=kind,
                mode="markers+text",
                text=words,
                textposition=places,
                hovertemplate=f"{by} = %{{x:.9g}}: %{{y:.6g}}<extra>%{{text}}</extra>",
            )
            | {"marker": marker, "showlegend": True, "legendrank": 3}
        )
    return traces


def _bound(span: tuple[float, float], bound: float) -> Trace:
    return curve(
        np.array(span),
        np.full(2, bound),
        GREY,
        name="bound of stability",
        line={"dash": "dot", "width": 1},
        hoverinfo="skip",
    )
