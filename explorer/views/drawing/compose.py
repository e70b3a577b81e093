"""Layout of plots on a grid; margins and gutters are as wide as their labels and legends.

Plotly takes positions as fractions of a figure whose size the server does not know, but text has a
size in pixels. The layout therefore leaves enough room for labels in the smallest panel, and more
than enough in a larger one.
"""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from explorer.quantities import prefixable
from explorer.types import Plain
from explorer.views.drawing.picture import HEIGHT, Picture, Plot
from explorer.views.drawing.polyline import STATIC, Axis, Box, Look, Shared, draw
from explorer.views.drawing.traces import Trace

__all__ = ["compose", "plain"]

_WIDTH = 560  # px, of the plots in a window of 1280 x 720, as HEIGHT is
_RIGHT, _BOTTOM = 14, 44
_ON_A_PHONE = 520, 18  # px of plots that are narrower, and what they have on the right
_TITLE = {"size": 13}
_LINE = 19  # px, of a legend
_MOST_LINES = 5
_BROKEN = ":<br>"
_APART = 16  # px between two plots that share their x axis; tick labels meet there
_TALL = 120  # px of a usual plot in a narrow panel
_HEAD = 32  # px above the legend of a narrow panel
_LOWEST = 85  # px of a usual plot with large words
_FOOT = 44  # px of tick labels and title below a plot
_BILLION = 1e9
_TICKS = 6  # of a logarithmic axis, about
_POWER = 36  # px, of a power of ten below an axis
_NEAR_ONE = 1e-3, 1e4  # values up to such are read as they are


def compose(
    columns: Sequence[Sequence[Plot]],
    widths: Sequence[float],
    *,
    height: int | None = None,
    look: Look = STATIC,
) -> Picture:
    """Put columns of plots side by side; the time plots of a column share their time axis.

    `look` says for what size and window the points of the curves are chosen; in a narrow one all
    plots stand below each other, and ``meta["height"]`` is the height in px that they need.
    """
    room: float = _WIDTH
    if look.narrow:
        columns, widths, room = [[plot for column in columns for plot in column]], [1], look.width
    full: float = HEIGHT
    if look.projected and not look.narrow:  # words leave less room
        room, full = look.width / look.words, look.height / look.words
        columns = [_roomy(column, full) for column in columns]
    beside = [max(map(_beside, column)) for column in columns]
    edge = _RIGHT if look.width > _ON_A_PHONE[0] else _ON_A_PHONE[1]
    inner = room - sum(beside) - edge
    wide = [inner * w / sum(widths) for w in widths]
    whole = room - beside[0] - edge
    drawn = [[_traces(plot) for plot in column] for column in columns]
    most = _MOST_LINES * (1 + 2 * look.narrow)
    lines = [_legends(*parts, most=most) for parts in zip(columns, drawn, wide, strict=True)]
    # nothing stands beside the first one; plotly itself breaks a line that is nearly full
    if not any(counts[0] for counts in lines[1:]):
        lines[0] = _legends(columns[0], drawn[0], wide[0], 0.85 * whole, most)
    # on a phone the buttons of plotly are always there
    top = (_HEAD if look.narrow else 20) + _LINE * max(counts[0] for counts in lines)
    if look.narrow:
        columns = [[replace(p, share=2 * p.share) if p.log and p.log_y else p for p in columns[0]]]
        height = top + _BOTTOM + _needed(columns[0], lines[0])
        look = replace(look, height=height)
    tall = (height or full) - top - _BOTTOM
    margin = {"l": beside[0], "r": edge, "t": top, "b": _BOTTOM, "autoexpand": False}
    layout: Plain = {
        "showlegend": True,
        "margin": margin,
        "hovermode": "closest",
        "uirevision": "keep",
        "font": {"size": 12},
        **({} if height is None or look.narrow else {"height": height}),
    }
    picture = Picture([], layout)
    shared = Shared()
    seen = (look.width - beside[0] - edge, look.height - top - _BOTTOM)  # px
    time_axes: list[list[str]] = []
    k, left = 0, 0.0
    for c, column in enumerate(columns):
        left += 0.0 if c == 0 else beside[c] / whole
        right = left + wide[c] / whole
        pairs = zip(itertools.pairwise(column), lines[c][1:], strict=True)
        gaps = [_below(*two, count) / tall for two, count in pairs] + [0.0]
        unit = (1 - sum(gaps)) / sum(plot.share for plot in column)
        high = 1.0
        leader: dict[str, str] = {}
        for i, plot in enumerate(column):
            k += 1
            low = max(0.0, high - unit * plot.share)
            suffix = "" if k == 1 else str(k)
            x, y = f"x{suffix}", f"y{suffix}"
            shown = i + 1 == len(column) or not _joined(plot, column[i + 1])
            across, up = _axes(plot, shown)
            across |= {"domain": [round(left, 4), round(right, 4)], "anchor": y}
            up |= {"domain": [round(low, 4), round(high, 4)], "anchor": x}
            zoomed = [look.ranges.get(f"{a}axis{suffix}") for a in "xy"]
            sizes = seen[0] * (right - left), seen[1] * (high - low)
            if plot.log:
                across["dtick"] = _each(plot.x_range, sizes[0])
            x_scale = _scale(across, zoomed[0], sizes[0], plot.log)
            y_scale = _scale(up, zoomed[1], sizes[1], plot.log_y)
            box = Box(x_scale, y_scale, plot.time, look.coarse)
            since = draw(drawn[c][i], box, shared, double=bool(look.ranges))
            if since is not None:
                across["title"]["text"] += f" · from t = {since:.4g} {plot.time_unit} on"
            if plot.time:
                time_axes.append([x, y])
            if (axis := _shared(plot)) and leader.setdefault(axis, x) != x:
                across["matches"] = leader[axis]
            layout |= {f"xaxis{suffix}": across, f"yaxis{suffix}": up}
            if lines[c][i]:
                layout[f"legend{suffix}"] = _legend(left, high, lines[c][i])
            if plot.ground is not None and plot.x_range and plot.y_range:
                picture.grounds.append((len(picture.data), x, y, plot.ground))
            _say(drawn[c][i], plot)
            for trace in drawn[c][i]:
                number = k + trace.pop("below", 0)
                named = trace.get("showlegend") and number > 1
                if named:
                    trace["legend"] = f"legend{number}"
                picture.data.append(trace | {"xaxis": x, "yaxis": y})
            high = low - gaps[i]
        left = right
    layout["meta"] = {"time_axes": time_axes} | ({"height": height} if look.narrow else {})
    return picture


def _roomy(column: Sequence[Plot], height: float) -> Sequence[Plot]:
    """Return as many of the first plots of a column as have room for their words."""
    count = len(column)
    while count > 1:
        gaps = sum(_below(*two, 1) for two in itertools.pairwise(column[:count]))
        free = height - 20 - _LINE - _BOTTOM - gaps
        if free >= _LOWEST * sum(plot.share for plot in column[:count]):
            break
        count -= 1
    return column[:count]


def _needed(column: Sequence[Plot], lines: list[int]) -> int:
    """Return the height in px of a column of plots with legends of so many lines."""
    gaps = (_below(*two, n) for two, n in zip(itertools.pairwise(column), lines[1:], strict=True))
    return round(_TALL * sum(plot.share for plot in column) + sum(gaps))


def _scale(axis: Plain, zoomed: tuple[float, float] | None, size: float, log: bool) -> Axis:
    """Return the scale of an axis within its zoom window."""
    low, high = zoomed or axis.get("range") or (0.0, 1.0)
    return Axis(float(low), float(high), max(size, 10.0), log)


def _traces(plot: Plot) -> list[Trace]:
    ground = plot.ground is not None and plot.x_range and plot.y_range
    under = plot.ground(plot.x_range, plot.y_range) if ground else []  # type: ignore[misc,arg-type]
    return [trace.copy() for trace in (*under, *plot.traces)]


def _legends(
    column: Sequence[Plot],
    drawn: list[list[Trace]],
    room: float,
    first: float = 0.0,
    most: int = _MOST_LINES,
) -> list[int]:
    """Divide the legend of each plot into lines of `room` px; return the number of lines.

    Plotly would take the width of the whole figure; it stacks what is in one group. Above the
    `first` plot there may be more room.
    """
    entries: list[list[Trace]] = [[] for _ in column]
    for i, traces in enumerate(drawn):
        for trace in traces:
            if trace.pop("legend", "") == "next" and i + 1 < len(column):
                trace["below"] = int(_joined(column[i], column[i + 1]))
            if trace.get("showlegend"):
                entries[i + trace.get("below", 0)].append(trace)
    lines = []
    for i, named in enumerate(entries):
        named.sort(key=lambda trace: trace.get("legendrank", 1000))
        for trace in named:
            trace["name"] = trace["name"].replace(_BROKEN, ": ")  # of a first try in less room
        widths = [45 + 6.4 * len(plain(trace["name"])) for trace in named]
        free = max(room, first) if i == 0 else room
        enough = min(most, max(len(named), 1))
        count = next((n for n in range(1, enough) if _wide(widths, n) <= free), enough)
        if len(named) == 1 and 0.9 * widths[0] > free:  # "name: what it is" in two lines
            named[0]["name"] = named[0]["name"].replace(": ", _BROKEN, 1)
            count += _BROKEN in named[0]["name"]
        for n, trace in enumerate(named):
            trace.pop("legendgroup", None)
            if count > 1 and len(named) > 1:
                trace["legendgroup"] = str(n // count)
        lines.append(count if named else 0)
    return lines


def _wide(widths: list[float], lines: int) -> float:
    return sum(max(widths[k : k + lines]) for k in range(0, len(widths), lines))


def _legend(left: float, bottom: float, lines: int) -> Plain:
    stacked = {"traceorder": "grouped", "tracegroupgap": 0, "groupclick": "toggleitem"}
    return {
        "orientation": "h",
        "x": round(left, 4),
        "y": round(bottom, 4),
        "yanchor": "bottom",
        "font": {"size": 11},
        "bgcolor": "rgba(0,0,0,0)",
        **(stacked if lines > 1 else {}),
    }


def _axes(plot: Plot, shown: bool) -> tuple[Plain, Plain]:
    """Return the axes of a plot; `shown` is whether the x axis has tick labels and a title."""
    common = {"zeroline": False, "showgrid": True}
    across: Plain = common | {"showticklabels": shown}
    up: Plain = common | {"title": {"text": plot.y_title, "standoff": 4, "font": _TITLE}}
    if shown:
        across["title"] = {"text": plot.x_title, "standoff": 6, "font": _TITLE}
    if isinstance(plot.ticks, dict):
        up |= {
            "tickvals": list(plot.ticks),
            "ticktext": list(plot.ticks.values()),
            "ticks": "",
            "showgrid": False,
        }
    elif plot.ticks is not None:
        up |= {
            "tickvals": list(range(len(plot.ticks))),
            "ticktext": plot.ticks,
            "ticks": "",
            "ticklabelposition": "inside top",
            "ticklabelshift": -4,
        }
    if plot.log:
        across |= {"type": "log", "dtick": _each(plot.x_range), "tickangle": 0}
        if plot.x_range is not None and _unprefixed(plot.x_range, plot.x_title):
            across["exponentformat"] = "power"
    if plot.log_y:
        up |= {"type": "log", "dtick": _each(plot.y_range), "exponentformat": "power"}
    for axis, limits, log, title in (
        (across, plot.x_range, plot.log, plot.x_title),
        (up, plot.y_range, plot.log_y, plot.y_title),
    ):
        if limits is not None:
            axis["range"] = np.log10(limits).tolist() if log else list(limits)
            if not log and _far(limits) and not prefixable(_unit(title)):
                axis |= {"exponentformat": "power", "showexponent": "last"}
    return across, up


def _each(limits: tuple[float, float] | None, wide: float = np.inf) -> int:
    """Return the decades between two ticks: so many that the labels of a low plot stay apart.

    Along an axis that is `wide` px long they stand beside each other.
    """
    if limits is None:
        return 1
    decades = np.log10(limits[1] / limits[0])
    return max(1, int(np.ceil((decades - 2) / _TICKS)), int(np.ceil(decades * _POWER / wide)))


def _unprefixed(limits: tuple[float, float], title: str) -> bool:
    """Whether the ticks of a logarithmic axis are powers: 1B and 1n are no numbers."""
    small = limits[0] < _NEAR_ONE[0] and not prefixable(_unit(title))
    return small or limits[1] >= _BILLION


def _unit(title: str) -> str:
    """Return the unit at the end of a title, or an empty string."""
    match = re.search(r"\(([^()]*(?:\([^()]*\))?[^()]*)\)$", title)
    return match[1] if match else ""


def _far(limits: tuple[float, float]) -> bool:
    """Whether the values of an axis are so far from one that their digits are hard to read."""
    size = max(map(abs, limits))
    return bool(size > 0) and not _NEAR_ONE[0] <= size < _NEAR_ONE[1]


def _say(traces: list[Trace], plot: Plot) -> None:
    """Use SI prefixes in the hover text of values that are very large or very small."""
    for axis, limits, title in (
        ("x", plot.x_range, plot.x_title),
        ("y", plot.y_range, plot.y_title),
    ):
        if limits is None or not _far(limits):
            continue
        near = "%{" + axis + ":.4~s}" if prefixable(_unit(title)) else "%{" + axis + "} "
        for trace in traces:
            if "hovertemplate" in trace:
                trace["hovertemplate"] = re.sub(
                    rf"%{{{axis}:\.\dg}} ?", near, trace["hovertemplate"]
                )


def _beside(plot: Plot) -> int:
    """Return the width in px of the title and the tick labels on the left of a plot."""
    if isinstance(plot.ticks, list):  # inside
        return 28
    if isinstance(plot.ticks, dict):
        longest = max((len(plain(name)) for name in plot.ticks.values()), default=0)
    elif plot.log_y or plot.y_range is None:
        longest = 5
    else:
        longest = _digits(*plot.y_range)
    return 34 + 7 * max(longest, 4)  # seldom another one while a slider moves


def _digits(low: float, high: float) -> int:
    """Return the length of plotly's longest tick label, for about five ticks."""
    rough = (high - low) / 5
    if not (np.isfinite(rough) and rough > 0):
        return 4
    base = 10.0 ** np.floor(np.log10(rough))
    step = base * next(k for k in (2, 5, 10) if rough <= k * base * (1 + 1e-9))
    size = max(abs(low), abs(high))
    if not 1e-6 < size < 1e4:  # 10k, 2μ
        return 5
    decimals = max(0, -int(np.floor(np.log10(step) + 1e-9)))
    return max(
        len(f"{step * np.ceil(low / step):.{decimals}f}"),
        len(f"{step * np.floor(high / step):.{decimals}f}"),
    )


def plain(text: str) -> str:
    """Return a text without its markup.

    >>> plain("v<sub>1</sub> &gt; 0")
    'v1 > 0'
    """
    return html.unescape(re.sub("<[^>]*>", "", text)).replace("\u0307", "")


def _joined(plot: Plot, follower: Plot) -> bool:
    """Whether two plots, one below the other, share their x axis."""
    return _shared(plot) == _shared(follower) != ""


def _shared(plot: Plot) -> str:
    """Return an identifier of an x axis that plots of a column share, or an empty string."""
    return "time" if plot.time else plot.x_title if plot.log else ""


def _below(plot: Plot, follower: Plot, lines: int) -> int:
    """Return the px between two plots, with a legend of so many lines."""
    foot = 0 if _joined(plot, follower) else _FOOT
    return max(foot + 3 + _LINE * lines, foot + 8, _APART)
