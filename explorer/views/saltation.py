"""The saltation matrix of an event as a labelled heat map: S+ = Xi S- + Pi.

Corner et al. 2019, eq. (35), (38) and (48), in the form of a matrix over the state and the running
cost z; orange entries are positive, blue negative, white zero.
"""

from __future__ import annotations

from typing import TypedDict

import numpy as np

from explorer.derivatives import Saltation, Sensitivity
from explorer.quantities import quantity
from explorer.views.drawing.picture import Picture, label, state_label
from explorer.views.drawing.traces import Trace
from explorer.views.drawing.view import view
from explorer.views.events import cell

__all__ = ["matrix", "saltation"]

_SCALE = [(0.0, "#0072B2"), (0.5, "#FFFFFF"), (1.0, "#D55E00")]
_MOST = 6  # states beyond these would be written too small to be read


class MatrixTable(TypedDict):
    """[Xi | Pi] as a table."""

    rows: list[str]
    columns: list[str]
    split: int  # columns of Xi
    values: list[list[float]]
    shades: list[list[float]]  # in [-1, 1]


def names(salt: Saltation) -> list[str]:
    """Return the labels of the states and z; velocities have a dot."""
    return [state_label(s, salt.states) for s in salt.states]


def matrix(salt: Saltation, most: int = _MOST) -> MatrixTable:
    """Return [Xi | Pi] as a table: rows, columns, cells of number and shade in [-1, 1].

    The shade is that of sign(x) log(1 + |x|), so that small entries are seen beside large ones. Of
    a large system only `most` of the states that the event touches are shown.
    """
    values = np.hstack([salt.Xi, salt.Pi])
    rows, columns = names(salt), [*names(salt), *(label(w) for w in salt.wrt)]
    n = len(rows)
    if n > most:
        moved = np.abs(values - np.eye(*values.shape)).max(axis=1)
        kept = np.argsort(-moved)[: min(max((moved > 1e-9).sum(), 1), most)]
        kept = np.sort(kept)
        values = values[kept][:, [*kept, *range(n, values.shape[1])]]
        columns = [columns[k] for k in [*kept, *range(n, len(columns))]]
        rows, n = [rows[k] for k in kept], len(kept)
    size = np.sign(values) * np.log1p(np.abs(values))
    largest = max(np.abs(size).max(initial=0.0), 1e-300)
    return {
        "rows": rows,
        "columns": columns,
        "split": n,
        "values": [[float(f"{x:.4g}") for x in row] for row in values],
        "shades": np.round(size / largest, 3).tolist(),
    }


@view
def saltation(sens: Sensitivity, k: int = 0) -> Picture:
    """Draw Xi and Pi of event `k` as a heat map with its numbers.

    Raises
    ------
    BadValue
        If there is no such event.
    """
    salt = sens.saltation(k)
    table = matrix(salt)
    event, n, time = salt.event, table["split"], sens.question.system.time_unit
    text = [[cell(x) for x in row] for row in table["values"]]
    columns = table["columns"]
    head = [f"{c}<sup>−</sup>" for c in columns[:n]] + [f"Π: {c}" for c in columns[n:]]
    across, along = list(range(len(columns))), list(range(len(table["rows"])))
    heat: Trace = {
        "type": "heatmap",
        "z": np.array(table["shades"]),
        "zmin": -1,
        "zmax": 1,
        "colorscale": _SCALE,
        "showscale": False,
        "xgap": 2,
        "ygap": 2,
        "text": text,
        "texttemplate": "%{text}",
        "hovertemplate": "%{y} ← %{x}: %{text}<extra></extra>",
        "x": np.array(across),
        "y": np.array(along),
        "textfont": {"size": 14},
    }
    axis = {"showgrid": False, "zeroline": False}
    said = f"{event.kind} {event.contact} at t = {quantity(event.t, time, 5)}".replace(
        "event ", "", 1
    )
    layout = {
        "title": {"text": f"S<sup>+</sup> = Ξ S<sup>−</sup> + Π   ({said})", "font": {"size": 15}},
        "xaxis": axis | {"tickvals": across, "ticktext": head, "side": "top"},
        "yaxis": axis | {
            "tickvals": along, "autorange": "reversed",
            "ticktext": [f"{r}<sup>+</sup>" for r in table["rows"]],
        },
        "shapes": [{
            "type": "line", "x0": n - 0.5, "x1": n - 0.5, "y0": -0.5,
            "y1": len(table["rows"]) - 0.5, "line": {"color": "#888888", "width": 3},
        }],
        "margin": {"l": 60, "r": 20, "t": 90, "b": 20},
    }  # fmt: skip
    return Picture([heat], layout)
