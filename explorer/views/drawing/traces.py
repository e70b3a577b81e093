"""Types of the plain data that plotly draws: traces, and the layout that they stand in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias, TypedDict

import numpy as np

if TYPE_CHECKING:
    import plotly.graph_objects as go

__all__ = ["Figure", "Handles", "Line", "Marker", "Meta", "Start", "Style", "Trace"]

Figure: TypeAlias = "go.Figure"  # named without an import of plotly, which takes time
Many: TypeAlias = "Sequence[str] | Sequence[float] | np.ndarray"  # one for each point


class Line(TypedDict, total=False):
    """How a line is drawn."""

    color: str
    width: float  # px
    dash: str
    shape: str | None  # None or "linear": straight; "hv", "vh", "hvh": steps


class Marker(TypedDict, total=False):
    """How points are drawn: all alike, or each by its own entry."""

    color: str | Many
    size: float | Many  # px
    symbol: str | Many
    line: Line


class Font(TypedDict, total=False):
    """How text is drawn."""

    color: str
    size: float  # px


class Handles(TypedDict, total=False):
    """Points that the mouse, a finger or the arrow keys drag up and down."""

    keys: Sequence[str]  # the setting of each point
    name: str  # what they are, in words
    low: float | None  # the values that they may take; None: any
    high: float | None
    edges: np.ndarray  # (k + 1,) ends of the intervals over which a stroke sets them


class Start(TypedDict, total=False):
    """The settings that the first point of a curve is, which can be dragged."""

    x: str  # of the value along x; missing along time
    y: str


class Meta(TypedDict, total=False):
    """What the panel reads from a trace and plotly does not."""

    t: np.ndarray  # (k,) times of the points
    key: str  # the setting that a click on a point changes
    at: np.ndarray  # its values, if they are not x
    each: int  # points of one value
    up: str  # the setting that its y changes
    handles: Handles
    start: Start


class Style(TypedDict, total=False):
    """A trace without its points."""

    type: str  # "scatter" or "heatmap"
    mode: str  # "lines", "markers", "text", joined by +
    name: str
    line: Line
    marker: Marker
    fill: str
    fillcolor: str
    opacity: float
    text: Sequence[str] | Sequence[Sequence[str]]
    textfont: Font
    textposition: str | list[str]
    texttemplate: str
    hoverinfo: str
    hovertemplate: str
    showlegend: bool
    legend: str  # "next": that of the plot below, until `compose` numbers it
    legendgroup: str
    legendrank: int
    visible: bool | str
    cliponaxis: bool  # whether what reaches over the axes is cut off
    xaxis: str
    yaxis: str
    meta: Meta
    z: np.ndarray | list[np.ndarray]
    zmin: float
    zmax: float
    colorscale: Sequence[tuple[float, str]]
    showscale: bool
    xgap: float
    ygap: float
    breaks: np.ndarray  # rows before which the curve is interrupted, see `picture.curve`
    held: bool  # whether the value before a break lasts up to it
    below: int  # whether the legend is that of the plot below, for `compose` alone


class Trace(Style, total=False):
    """A curve, points, an area or a heat map."""

    x: np.ndarray
    y: np.ndarray
