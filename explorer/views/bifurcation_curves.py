"""Curves of bifurcations over two parameters: across them cycles change their kind."""

from __future__ import annotations

import numpy as np

from explorer.errors import BadValue
from explorer.quantities import unit
from explorer.study.two_parameters import BifurcationCurve
from explorer.views.drawing.branches import SYMBOLS
from explorer.views.drawing.compose import compose
from explorer.views.drawing.picture import (
    COLOURS,
    INK,
    Picture,
    Plot,
    curve,
    extent,
    label,
    titled,
)
from explorer.views.drawing.traces import Marker, Trace
from explorer.views.drawing.view import view

__all__ = ["bifurcation_curves"]

_DASHES = {"fold": "solid", "flip": "dash"}


@view
def bifurcation_curves(*curves: BifurcationCurve) -> Picture:
    """Draw curves of bifurcations over two parameters: folds solid, flips dashed, others dotted.

    On each curve a ring marks the branch from which it was followed.

    Parameters
    ----------
    *curves : BifurcationCurve
        What `explorer.study.bifurcation_curve` returns, over the same two parameters.

    Raises
    ------
    BadValue
        There is no curve; the curves are over several pairs of parameters, or of several systems.
    """
    if not curves:
        raise BadValue(
            "views.bifurcation_curves draws what study.bifurcation_curve returns, such as "
            "views.bifurcation_curves(study.bifurcation_curve(branch, 'e'))."
        )
    first = curves[0]
    if any(set(one.parameters) != set(first.parameters) for one in curves):
        pairs = sorted({" and ".join(one.parameters) for one in curves})
        raise BadValue(f"The curves are over several pairs ({'; '.join(pairs)}): draw them apart.")
    if any(one.branch.system is not first.branch.system for one in curves):
        raise BadValue("The curves are of several systems: draw them apart.")
    a, b = first.parameters
    parameters = first.branch.system.parameters
    values = [one.values[:, [one.parameters.index(p) for p in (a, b)]] for one in curves]
    traces: list[Trace] = []
    seen: set[str] = set()
    for k, (one, found) in enumerate(zip(curves, values, strict=True)):
        traces.append(_line(one, found, COLOURS[k % len(COLOURS)], (a, b), one.kind not in seen))
        seen.add(one.kind)
    traces += [_begins(one, (a, b)) for one in curves]
    every = np.concatenate(values)
    plot = Plot(
        traces,
        titled(label(a), unit(parameters[a].unit)),
        titled(label(b), unit(parameters[b].unit)),
        extent(every[:, 0]),
        extent(every[:, 1]),
        time=False,
    )
    return compose([[plot]], [1])


def _line(
    one: BifurcationCurve, found: np.ndarray, colour: str, names: tuple[str, str], named: bool
) -> Trace:
    a, b = map(label, names)
    return curve(
        found[:, 0],
        found[:, 1],
        colour,
        name=one.kind,
        line={"dash": _DASHES.get(one.kind, "dot")},
        hovertemplate=f"{a} = %{{x:.9g}}, {b} = %{{y:.9g}}<extra>{one.kind}</extra>",
    ) | {"showlegend": named}


def _begins(one: BifurcationCurve, names: tuple[str, str]) -> Trace:
    """Return the mark of the point at which the branch of the curve has its bifurcation."""
    own = dict(zip(one.branch.system.parameters, one.branch.problem.rho, strict=True))
    places = {name: k for k, name in enumerate(one.parameters)}
    fixed = float(own[one.parameters[1]])
    row = int(np.abs(one.values[:, 1] - fixed).argmin())
    marker: Marker = {"size": 8, "color": INK, "symbol": f"{SYMBOLS[one.kind]}-open"}
    at = [one.values[row, places[name]] for name in names]
    return curve(
        np.array(at[:1]),
        np.array(at[1:]),
        INK,
        name=f"{one.kind} of the branch",
        mode="markers",
        hovertemplate=f"{one.kind} of the branch: %{{x:.9g}}, %{{y:.9g}}<extra></extra>",
    ) | {"marker": marker}
