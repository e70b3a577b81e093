"""A figure as a light SVG: what a saved, converted or restarted notebook shows beside the live one.

It needs no script and no network. Drawn is what our pictures are made of: axes on a grid, curves,
areas, points, words, heat maps, legends; of curves, what can be seen at the size drawn.
"""

from __future__ import annotations

import contextlib
import re
from urllib.parse import quote

import numpy as np
from numpy.typing import ArrayLike

from explorer.errors import NotApplicable
from explorer.quantities import number
from explorer.types import Bounds, Plain
from explorer.views.drawing.display import display
from explorer.views.drawing.still_marks import cells, edges, lines, marks, numbers, words
from explorer.views.drawing.traces import Figure

__all__ = ["MOST", "image", "mark", "placeholder", "show", "still"]

MOST = 40_000  # bytes of an image
_WIDTH, _HEIGHT = 760, 490
_INK, _GRID = "#797979", "rgba(128,128,128,.25)"  # legible on white and on black
_TYPES = {"scatter", "scattergl", "heatmap"}
_TICKS = {"x": 70, "y": 34}  # px from one tick to the next, at least


class _Axis:
    """One axis: values to pixels, ticks and their labels."""

    def __init__(self, name: str, axis: Plain, span: Bounds) -> None:
        low, high = axis.get("domain") or (0, 1)
        self.across, self.axis = name[0] == "x", axis
        self.from_, self.to = (span[0] + p * (span[1] - span[0]) for p in (low, high))
        self.log = axis.get("type") == "log"
        self.range = (0.0, 1.0)

    def __call__(self, values: ArrayLike | Plain) -> np.ndarray:
        with np.errstate(all="ignore"):
            values = np.log10(numbers(values)) if self.log else numbers(values)
            low, high = self.range
            return self.from_ + (values - low) / (high - low) * (self.to - self.from_)

    def scale(self, values: list[np.ndarray]) -> None:
        """Take the range of the layout, or that of the values."""
        given = self.axis.get("range")
        if given is not None:
            self.range = float(given[0]), float(given[1])
        else:
            finite = [v[np.isfinite(v)] for v in values]
            finite = [v for v in finite if v.size] or [np.array([0.0, 1.0])]
            low, high = min(v.min() for v in finite), max(v.max() for v in finite)
            if self.log:
                low, high = np.log10(max(low, 1e-300)), np.log10(max(high, 1e-300))
            pad = 0.05 * (high - low) or 0.5
            self.range = float(low - pad), float(high + pad)
            if self.axis.get("autorange") == "reversed":
                self.range = self.range[::-1]
        if self.range[0] == self.range[1]:
            self.range = self.range[0] - 0.5, self.range[1] + 0.5

    def ticks(self) -> list[tuple[float, str]]:
        """Return places in px and labels."""
        low, high = sorted(self.range)
        many = max(abs(self.to - self.from_) / _TICKS["x" if self.across else "y"], 1)
        if self.axis.get("ticktext") is not None:
            at, text = numbers(self.axis["tickvals"]), list(self.axis["ticktext"])
        elif self.log:
            step = max(1, int(np.ceil((high - low) / many)))
            powers = np.arange(np.ceil(low), np.floor(high) + 1, step)
            at, text = 10.0**powers, [f"10<sup>{int(p)}</sup>".replace("-", "−") for p in powers]
        else:
            rough = (high - low) / many
            base = 10.0 ** np.floor(np.log10(rough))
            step = base * next(k for k in (1, 2, 5, 10) if rough <= k * base * (1 + 1e-9))
            at = step * np.arange(np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9) + 1)
            text = [number(round(v / step) * step).replace("-", "−") for v in at]
        places = self(at)
        inside = (places - self.from_) * (places - self.to) <= 1e-6
        return [(float(p), t) for p, t, i in zip(places, text, inside, strict=True) if i]


def still(figure: Figure | Plain, *, most: int = MOST) -> str:
    """Return a figure as SVG of at most about `most` bytes.

    Parameters
    ----------
    figure : plotly.graph_objects.Figure, or dict with "data" and "layout"
        NumPy arrays may stand anywhere in it.

    Raises
    ------
    NotApplicable
        If it has other traces than curves and heat maps.
    """
    if not isinstance(figure, dict):
        figure = figure.to_plotly_json()
    others = {t.get("type") or "scatter" for t in figure["data"]} - _TYPES
    if others:
        raise NotApplicable(
            f"A still draws curves and heat maps, and no {', '.join(sorted(others))}."
        )
    for slack in (0.25, 0.5, 1.0, 2.0, 4.0):
        drawn = _drawn(figure["data"], figure["layout"], slack)
        if len(drawn) <= most:
            break
    return drawn


def _drawn(data: list[Plain], layout: Plain, slack: float) -> str:
    height = layout.get("height") or _HEIGHT
    margin = {"l": 80, "r": 20, "t": 60, "b": 60} | (layout.get("margin") or {})
    sides = {"x": (margin["l"], _WIDTH - margin["r"]), "y": (height - margin["b"], margin["t"])}
    names = {f"{t.get(f'{a}axis') or a}" for t in data for a in "xy"}
    axes = {n: _Axis(n, layout.get(f"{n[0]}axis{n[1:]}") or {}, sides[n[0]]) for n in sorted(names)}
    for name, axis in axes.items():
        a = name[0]
        own = [_values(t, a) for t in data if (t.get(f"{a}axis") or a) == name]
        axis.scale(own)
    for axis in axes.values():
        if (leader := axis.axis.get("matches")) in axes:
            axis.range = axes[leader].range
        if (other := axes.get(axis.axis.get("scaleanchor", ""))) is not None and other is not axis:
            _square(axis, other)
    pairs = sorted({(t.get("xaxis") or "x", t.get("yaxis") or "y") for t in data}) or []
    body = []

    def on(image: Plain) -> tuple[str, str]:
        return image.get("xref", "x"), image.get("yref", "y")

    for k, (x, y) in enumerate(pairs):
        body.append(_frame(axes[x], axes[y], k))
        inside = "".join(
            _trace(t, axes[x], axes[y], slack)
            for t in data
            if (t.get("xaxis") or "x", t.get("yaxis") or "y") == (x, y)
        )
        under = "".join(
            _image(one, axes) for one in layout.get("images") or () if on(one) == (x, y)
        )
        body.append(f'<g clip-path="url(#c{k})">{under}{inside}</g>')
    body += [_shape(s, axes) for s in layout.get("shapes") or ()]
    if layout.get("showlegend", True):
        body.append(_legends(data, layout, sides))
    title = (layout.get("title") or {}).get("text")
    if title:
        body.append(words(title, _WIDTH / 2, 22, size=15))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" '
        f'height="{height}" font-family="sans-serif" fill="{_INK}">{"".join(body)}</svg>'
    )


def _values(trace: Plain, a: str) -> np.ndarray:
    if trace.get("type") == "heatmap":
        return edges(trace, a)
    return numbers(trace[a]) if trace.get(a) is not None else np.empty(0)


def _square(axis: _Axis, other: _Axis) -> None:
    """Widen the range of one of two axes, so that a unit is as long on both."""
    unit = [abs(a.range[1] - a.range[0]) / abs(a.to - a.from_) for a in (axis, other)]
    small, ratio = (axis, unit[1] / unit[0]) if unit[0] < unit[1] else (other, unit[0] / unit[1])
    middle, half = 0.5 * sum(small.range), 0.5 * ratio * (small.range[1] - small.range[0])
    small.range = middle - half, middle + half


def _frame(x: _Axis, y: _Axis, k: int) -> str:
    """Return grid, ticks, titles of a plot, and what cuts its curves off."""
    left, right, bottom, top = x.from_, x.to, y.from_, y.to
    grid, text = "", ""
    above = x.axis.get("side") == "top"
    for at, name in x.ticks():
        grid += f"M{at:.1f},{top:.1f}V{bottom:.1f}" if x.axis.get("showgrid", True) else ""
        if x.axis.get("showticklabels", True):
            text += words(name, at, top - 8 if above else bottom + 15)
    within = y.axis.get("ticklabelposition", "").startswith("inside")
    for at, name in y.ticks():
        grid += f"M{left:.1f},{at:.1f}H{right:.1f}" if y.axis.get("showgrid", True) else ""
        if y.axis.get("showticklabels", True):
            place = (left + 4, at - 6, "start") if within else (left - 5, at + 4, "end")
            text += words(name, *place[:2], anchor=place[2])
    title = [(a.axis.get("title") or {}).get("text") for a in (x, y)]
    if title[0]:
        text += words(title[0], 0.5 * (left + right), bottom + 34, size=13)
    if title[1]:
        labels = [] if within else [len(re.sub("<[^>]*>", "", n)) for _, n in y.ticks()]
        beside = left - 14 - 7 * max(labels, default=0)
        text += words(title[1], max(beside, 12), 0.5 * (top + bottom), size=13, turn=True)
    box = f'x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{bottom - top:.1f}"'
    return (
        f'<clipPath id="c{k}"><rect {box}/></clipPath>'
        f'<path d="{grid}" stroke="{_GRID}" fill="none"/>{text}'
    )


def _trace(trace: Plain, x: _Axis, y: _Axis, slack: float) -> str:
    if trace.get("visible") in (False, "legendonly") or trace.get("opacity") == 0:
        return ""
    if trace.get("type") == "heatmap":
        return cells(trace, x, y)
    if trace.get("x") is None or trace.get("y") is None:
        return ""
    at, up = np.broadcast_arrays(x(trace["x"]), y(trace["y"]))
    mode = trace.get("mode") or "lines"
    svg = lines(trace, at, up, slack) if "lines" in mode else ""
    svg += marks(trace, at, up) if "markers" in mode else ""
    faint = f' opacity="{trace["opacity"]:g}"' if trace.get("opacity") is not None else ""
    svg = f'<g transform="scale(.1)" fill="none"{faint}>{svg}</g>' if svg else ""
    text = trace.get("text") if "text" in mode else None
    for a, b, word in zip(at, up, text if isinstance(text, (list, tuple)) else (), strict=False):
        svg += words(str(word), a, b - 4, size=11) if word and np.isfinite(a + b) else ""
    return svg


def _image(image: Plain, axes: dict[str, _Axis]) -> str:
    """Return an image that reaches over ranges of its axes, from its left upper corner on."""
    x, y = axes[image.get("xref", "x")], axes[image.get("yref", "y")]
    left, right = x([image["x"], image["x"] + image["sizex"]])
    top, bottom = y([image["y"], image["y"] - image["sizey"]])
    return (
        f'<image x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" '
        f'height="{bottom - top:.1f}" preserveAspectRatio="none" href="{image["source"]}"/>'
    )


def _shape(shape: Plain, axes: dict[str, _Axis]) -> str:
    """Return a straight line between values."""
    x, y = axes.get(shape.get("xref") or "x"), axes.get(shape.get("yref") or "y")
    if shape.get("type") != "line" or x is None or y is None:
        return ""
    at, up = x([shape["x0"], shape["x1"]]), y([shape["y0"], shape["y1"]])
    line = shape.get("line") or {}
    path = f"M{at[0]:.1f},{up[0]:.1f}L{at[1]:.1f},{up[1]:.1f}"
    ink, width = line.get("color", _INK), line.get("width", 2)
    return f'<path d="{path}" stroke="{ink}" stroke-width="{width}"/>'


def _legends(data: list[Plain], layout: Plain, sides: dict[str, Bounds]) -> str:
    """Return the names of curves above their plots, in as many lines as are needed."""
    groups: dict[str, list[Plain]] = {}
    for trace in data:
        named = trace.get("showlegend", len(data) > 1) and trace.get("name")
        if named and trace.get("visible", True) is True and trace.get("type") != "heatmap":
            groups.setdefault(trace.get("legend") or "legend", []).append(trace)
    places = {g: layout.get(g) or {} for g in groups}
    lefts = {g: _part(sides["x"], p.get("x", 0)) for g, p in places.items()}
    svg = ""
    for group, traces in groups.items():
        left, bottom = lefts[group], _part(sides["y"], min(places[group].get("y", 1), 1))
        end = min([v for v in lefts.values() if v > left + 40], default=_WIDTH) - 4
        rows: list[list[tuple[float, Plain]]] = [[]]
        at = left
        for trace in sorted(traces, key=lambda t: t.get("legendrank", 1000)):
            wide = 34 + 6.2 * len(re.sub("<[^>]*>|&[^;]*;", "", trace["name"]))
            if at + wide > end and rows[-1]:
                rows.append([])
                at = left
            rows[-1].append((at, trace))
            at += wide
        for n, row in enumerate(reversed(rows)):
            y = bottom - 8 - 15 * n
            for x, trace in row:
                svg += _sign(trace, x, y) + words(
                    trace["name"], x + 26, y + 4, anchor="start", size=11
                )
    return svg


def _part(side: Bounds, part: float) -> float:
    return side[0] + part * (side[1] - side[0])


def _sign(trace: Plain, x: float, y: float) -> str:
    mode = trace.get("mode") or "lines"
    if trace.get("fill"):
        shade = trace.get("fillcolor") or (trace.get("line") or {}).get("color", _INK)
        return f'<rect x="{x + 3:.0f}" y="{y - 5:.0f}" width="18" height="9" fill="{shade}"/>'
    ends, up = np.array([x + 2, x + 22]), np.array([y, y])
    line = lines({"line": {**(trace.get("line") or {}), "shape": None}}, ends, up, 0.1)
    drawn = line if "lines" in mode else ""
    if "markers" in mode:
        first = {
            k: v[0] if np.ndim(v) and len(v) else v for k, v in (trace.get("marker") or {}).items()
        }
        drawn += marks({"marker": first}, ends[:1] + 10, up[:1])
    return f'<g transform="scale(.1)" fill="none">{drawn}</g>'


def image(figure: Figure | Plain) -> str:
    """Return the still of a figure as the address of an image, without a network."""
    return "data:image/svg+xml," + quote(still(figure), safe=" =:/,;()-+.'!*@$?|[]~_")


def mark(figure: Figure | Plain, hides: str = "") -> str:
    """Return the still as HTML; it takes the place of the `placeholder` of the same name."""
    css = f'<style>[data-nsx-still="{hides}"]{{display:none}}</style>' if hides else ""
    return f'{css}<img alt="Picture of the figure" style="max-width:100%" src="{image(figure)}">'


def placeholder(figure: Figure | Plain, name: str) -> str:
    """Return the still as HTML that hides where a live panel, or `mark`, shows the same."""
    if not isinstance(figure, dict):
        figure = figure.to_plotly_json()
    height = figure["layout"].get("height") or _HEIGHT
    return (
        f'<div data-nsx-still="{name}"><svg role="img" aria-label="Picture of the panel" '
        f'viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" style="max-width:100%">'
        f'<image width="{_WIDTH}" height="{height}" href="{image(figure)}"/></svg></div>'
    )


def show(figure: Figure) -> None:
    """Display a plotly figure in a notebook as plotly does, with its still in the same output.

    No button of it uploads the figure, unless its own layout or the renderer asks for one.
    """
    import plotly.io as pio

    bundle = figure._repr_mimebundle_() if pio.renderers.default else {}
    if not bundle or not pio.renderers.render_on_display:
        type(figure)._ipython_display_(figure)
        return
    if live := bundle.get("application/vnd.plotly.v1+json"):
        live["config"] = {"showSendToCloud": False} | live.get("config", {})
    with contextlib.suppress(Exception):  # of what a still cannot draw, as other kinds of traces
        bundle.setdefault("text/html", mark(figure))
    display(bundle, raw=True)
