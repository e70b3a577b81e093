"""`Plot`, one subplot as plain data, and `Picture`, the subplots that `compose` arranges.

Colours are those of Okabe and Ito (2008), which colour-blind people can distinguish, in an order
that suits white and black backgrounds. Yellow is omitted.
"""

from __future__ import annotations

import functools
import html
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from explorer.quantities import like_unit
from explorer.systems import System
from explorer.types import Plain
from explorer.views.drawing.traces import Figure, Style, Trace

__all__ = [
    "COLOURS",
    "OFF",
    "TIME",
    "Picture",
    "Plot",
    "curve",
    "label",
    "left_out",
    "prose",
    "state_label",
    "time_title",
    "titled",
]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
GREY = "#888888"
INK = "#000000"  # the colour of text: white on a dark ground
HEIGHT = 490  # px for which words are laid out; a notebook's usual 360 would let them overlap
_ANY = "#797979"  # ink that is as far from white as from black
_LINES = "rgba(128,128,128,0.25)"
_UPLOADS = ("sendChartToCloud", "sendDataToCloud")  # buttons by which plotly would take data away
TIME = "time t (s)"  # of mechanical systems; else `time_title`
_MORE = 0.3  # of its length, by which an axis grows for what comes next
# a trace that comes and goes makes plotly build the whole figure anew: an empty one lies far below
OFF = (np.zeros(1, np.float32), np.full(1, -1e9, np.float32))
_GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "theta": "θ",
    "phi": "φ", "psi": "ψ", "omega": "ω", "rho": "ρ", "mu": "μ", "lambda": "λ", "tau": "τ",
    "sigma": "σ", "xi": "ξ", "eta": "η", "zeta": "ζ", "kappa": "κ", "nu": "ν",
}  # fmt: skip
_NAME = re.compile(r"[A-Za-z]\w*")
_INDEX = {**_GREEK, "star": "*", "inf": "∞"}


def label(name: str, *, dot: bool = False) -> str:
    """Return a name in mathematical notation: ``theta1`` -> θ<sub>1</sub>; with `dot` its rate.

    A symbol is a letter, a Greek name, or what has an underscore; any other word is a name, and
    digits at its end belong to it. A name that looks like a unit is a letter with an index: a mass
    mH is never read as millihenry.

    >>> label("theta1")
    'θ<sub>1</sub>'
    >>> label("CBF1")
    'CBF1'
    >>> label("mH")
    'm<sub>H</sub>'
    """
    head = name.rstrip("0123456789")
    tail = name[len(head) :]
    if like_unit(head):
        head = f"{head[0]}_{head[1:]}"
    elif len(head) > 1 and head not in _GREEK and "_" not in head:
        head, tail = name, ""
    head, _, index = head.partition("_")
    head = _GREEK.get(head, head) + ("\u0307" if dot else "")
    between = "" if index.isupper() else ","  # R1 of v_R1 is a part's name, n2 two indices
    low = between.join(x for x in (_INDEX.get(index, index), tail) if x)
    return f"{head}<sub>{low}</sub>" if low else head


def state_label(name: str, states: Sequence[str]) -> str:
    """Return a state in mathematical notation: ``v_x`` beside a state ``x`` is its rate.

    >>> state_label("v_phi", ("phi", "v_phi")), state_label("v_C", ("i_L", "v_C"))
    ('φ̇', 'v<sub>C</sub>')
    """
    if name.startswith("v_") and name[2:] in states:
        return label(name[2:], dot=True)
    return label(name)


@functools.lru_cache(1000)  # the words of a table are the same from picture to picture
def prose(text: str) -> str:
    """Return a sentence as markup, with its symbols in mathematical notation; units stay units.

    >>> prose("u1 = 1; x_2 < 0")
    'u<sub>1</sub> = 1; x<sub>2</sub> &lt; 0'
    >>> prose("synthesis of CBF1")
    'synthesis of CBF1'
    """
    escaped = html.escape(text, quote=False)
    words = _NAME.sub(lambda x: x[0] if like_unit(x[0]) else label(x[0]), escaped)
    return words.replace("^2", "²")


def time_title(system: System) -> str:
    """Return the title of the time axis."""
    return "iterate n" if system.discrete else f"time t ({system.time_unit})"


def titled(name: str, u: str) -> str:
    """Return a name, followed by its unit if it has one."""
    return f"{name} ({u})" if u else name


def curve(x: np.ndarray, y: np.ndarray, colour: str, **more: Unpack[Style]) -> Trace:
    """Return a line trace.

    With `breaks`, the rows before which it is interrupted (none: an empty array), x, y and
    ``meta["t"]`` are all points there are, (k,) each, of which `compose` keeps those that are seen;
    the value of y before a break lasts up to it unless `held` is False. Other lines are drawn as
    they are.
    """
    return {
        "type": "scatter",
        "mode": more.pop("mode", "lines"),
        "x": x,
        "y": y,
        "line": {"color": colour, "width": 1.8, **more.pop("line", {})},
        "showlegend": False,
        **more,
    }


def left_out(shown: int, count: int) -> Trace:
    """Return a legend entry without a line, which says how many curves are shown."""
    return curve(
        *OFF,
        INK,
        name=f"{shown} of {count} shown",
        line={"width": 0},
        showlegend=True,
        hoverinfo="skip",
    )


Ground = Callable[[tuple[float, float], tuple[float, float]], list[Trace]]


@dataclass
class Plot:
    """One subplot.

    Attributes
    ----------
    traces : list of plotly trace dicts without axes; those with "showlegend" are named above the
        plot, or above the next one if their "legend" is "next"
    x_title, y_title : str, with units
    x_range, y_range : (low, high) or None
    time : bool
        Whether the x axis is time: such plots share it, and the time cursor.
    log : bool
        Whether the x axis is logarithmic; such plots of a column share it too.
    log_y : bool
        Whether the y axis is.
    ticks : names of y = 0, 1, ..., if they are no numbers; or ``{y: name}``, beside the axis
    share : float
        Height, in parts of a usual plot's.
    ground : callable, optional
        Returns for the ranges of x and y the traces that lie under the others and fill the axes;
        always as many.
    time_unit : str
        Of the curves' own times, if the x axis is not time.
    """

    traces: list[Trace]
    x_title: str
    y_title: str
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None
    time: bool = True
    log: bool = False
    log_y: bool = False
    ticks: list[str] | dict[float, str] | None = None
    share: float = 1.0
    ground: Ground | None = None
    time_unit: str = "s"


@dataclass
class Picture:
    """Traces (arrays as NumPy) and a layout; `grounds`: (first trace, axes, what draws them)."""

    data: list[Trace]
    layout: Plain = field(default_factory=dict)
    grounds: list[tuple[int, str, str, Ground]] = field(default_factory=list)

    def within(self, layout: Plain) -> Picture:
        """Return the picture with other axis ranges; backgrounds that fill the axes are redrawn."""
        data = list(self.data)
        for first, x, y, ground in self.grounds:
            names = [f"{a[0]}axis{a[1:]}" for a in (x, y)]
            old, new = ([tuple(axes[k]["range"]) for k in names] for axes in (self.layout, layout))
            if old != new:
                for k, trace in enumerate(ground(*new), first):
                    data[k] = {**data[k], "x": trace["x"], "y": trace["y"]}
        return Picture(data, layout, self.grounds)

    def figure(self, template: str | None = None) -> Figure:
        """Return a plain ``plotly.graph_objects.Figure``.

        Without one of plotly's templates it has no ground of its own, and its ink is legible on
        those of light and dark notebooks alike: a page that changes its theme draws nothing anew.
        """
        import plotly.graph_objects as go

        layout = {"height": HEIGHT, "modebar": {"remove": list(_UPLOADS)}}
        layout |= {k: v for k, v in self.layout.items() if k != "meta"}
        traces = self.data if template else [_neutral(trace) for trace in self.data]
        data = [{k: v for k, v in trace.items() if k != "meta"} for trace in traces]
        return go.Figure(data, layout | {"template": template or _template()})

    def page(self) -> str:
        """Return the figure as a complete HTML page that needs no network."""
        figure = self.figure("plotly_white").update_layout(height=720)
        return str(figure.to_html(config={"showSendToCloud": False, "displaylogo": False}))


def _neutral(trace: Trace) -> Trace:
    """Return a trace with bold grey for black, which is invisible on a dark page."""
    line, marker = trace.get("line", {}), trace.get("marker", {})
    if line.get("color") == INK:
        trace = trace | {"line": {**line, "color": _ANY, "width": 2 * line["width"]}}
    if marker.get("color") == INK:
        trace = trace | {"marker": {**marker, "color": _ANY}}
    return trace


@functools.cache
def _template() -> Plain:
    """Return a plotly template with a transparent background; a user may replace it later."""
    clear = "rgba(0,0,0,0)"
    axis = {
        "gridcolor": _LINES,
        "linecolor": _ANY,
        "zerolinecolor": _LINES,
        "tickcolor": _ANY,
        "automargin": True,
    }
    return {
        "layout": {
            "paper_bgcolor": clear,
            "plot_bgcolor": clear,
            "colorway": list(COLOURS),
            "font": {"color": _ANY},
            "xaxis": axis,
            "yaxis": axis,
            "modebar": {"bgcolor": clear, "color": _ANY, "activecolor": COLOURS[0]},
        }
    }


def nice(low: float, high: float) -> tuple[float, float]:
    """Return a slightly wider range with round ends, which seldom changes while a slider moves."""
    if not (np.isfinite(low) and np.isfinite(high)):
        return -1.0, 1.0
    if high - low < 1e-12 * max(abs(low), abs(high), 1e-12):
        pad = 0.5 * abs(high) or 1.0
        low, high = low - pad, high + pad
    span = 1.04 * (high - low)
    unit = 10.0 ** np.floor(np.log10(span / 4))
    unit *= next(k for k in (1, 2, 5, 10) if k * unit >= span / 8)
    margin = 0.02 * (high - low)
    return float(np.floor((low - margin) / unit) * unit), float(
        np.ceil((high + margin) / unit) * unit
    )


def span(values: np.ndarray) -> tuple[float, float]:
    """Return the smallest and the largest finite value, or NaN if there is none."""
    if not values.size:
        return math.nan, math.nan
    low, high = float(values.min()), float(values.max())
    if math.isfinite(low) and math.isfinite(high):
        return low, high
    known = values[np.isfinite(values)]
    return (float(known.min()), float(known.max())) if known.size else (math.nan, math.nan)


def extent(*arrays: ArrayLike) -> tuple[float, float]:
    """Return a range with round ends that contains all finite values."""
    ends = np.array([span(np.asarray(a)) for a in arrays])
    if np.isnan(ends).all():
        return -1.0, 1.0
    # in double precision: near the largest float32 the room around it would be infinite
    return nice(float(np.nanmin(ends[:, 0])), float(np.nanmax(ends[:, 1])))


def steady(layout: Plain, before: Plain | None, *, moving: bool = False) -> Plain:
    """Keep the axis ranges of `before` where they fit: axes grow at once and shrink late.

    An axis that moves with every picture hides what really moves, and costs plotly a new layout.
    While a slider is `moving` an axis grows by more than it has to, for what comes next.
    """
    if before is None:
        return layout
    kept = {}
    most = 4 if moving else 2
    for name, axis in layout.items():
        old = before.get(name)
        if name[1:5] == "axis" and isinstance(old, dict) and "range" in axis and "range" in old:
            (low, high), (old_low, old_high) = axis["range"], old["range"]
            both = [min(low, old_low), max(high, old_high)]
            wide = both[1] - both[0]
            if wide <= most * (high - low):
                if moving and both != [old_low, old_high]:
                    more = [_MORE * wide * (low < old_low), _MORE * wide * (high > old_high)]
                    both = list(nice(both[0] - more[0], both[1] + more[1]))
                axis = {**axis, "range": both}
        kept[name] = axis
    return kept
