"""Traces of a picture as SVG: lines, areas, points, words and shaded cells, in pixels."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from explorer.types import Plain

__all__ = ["cells", "edges", "lines", "marks", "numbers", "words", "written"]

Scale: TypeAlias = Callable[[np.ndarray], np.ndarray]  # from values to pixels
_DASH = {"dot": "1.5,3", "dash": "7,5", "longdash": "12,6", "dashdot": "7,3,1.5,3"}
_MOST_MARKS = 300
# paths about the origin, r = 1; of a symbol that is not here a dot is drawn
_SYMBOLS = {
    "line-ns": "m0,-1v2",
    "cross": "m-1,0h2m-1,-1v2",
    "square": "m-.9,-.9h1.8v1.8h-1.8z",
    "diamond": "m0,-1.3l1,1.3l-1,1.3l-1,-1.3z",
    "x": "m-.8,-.8l1.6,1.6m0,-1.6l-1.6,1.6",
    "triangle-up": "m0,-1.1l1,1.8h-2z",
    "triangle-down": "m0,1.1l1,-1.8h-2z",
}


def numbers(values: ArrayLike | Plain) -> np.ndarray:
    """Return an array of floats; plotly may hold it as ``{"dtype", "bdata"}``."""
    if isinstance(values, dict):
        raw = np.frombuffer(base64.b64decode(values["bdata"]), values["dtype"])
        shape = str(values.get("shape") or raw.size).split(",")
        return raw.reshape([int(n) for n in shape]).astype(float)
    return np.asarray(values, float)


def _clean(x: np.ndarray, y: np.ndarray, slack: float) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the unbroken parts of a curve without points that a line of `slack` px covers."""
    x, y = np.clip(x, -3e3, 6e3), np.clip(y, -3e3, 6e3)
    open_ = np.flatnonzero(~(np.isfinite(x) & np.isfinite(y)))
    parts = []
    for begin, end in zip([0, *(open_ + 1)], [*open_, len(x)], strict=True):
        if end > begin:
            keep = _thinned(x[begin:end], y[begin:end], slack)
            parts.append((x[begin:end][keep], y[begin:end][keep]))
    return parts


def _thinned(x: np.ndarray, y: np.ndarray, slack: float) -> np.ndarray:
    """Douglas and Peucker (1973): the rows that a drawn line needs to stay within `slack`."""
    keep = np.zeros(len(x), bool)
    keep[[0, -1]] = True
    stack = [(0, len(x) - 1)]
    while stack:
        a, b = stack.pop()
        if b - a < 2:
            continue
        dx, dy = x[b] - x[a], y[b] - y[a]
        px, py = x[a + 1 : b] - x[a], y[a + 1 : b] - y[a]
        length = float(np.hypot(dx, dy))
        off = np.abs(dx * py - dy * px) / length if length > 1e-9 else np.hypot(px, py)
        k = int(off.argmax())
        if off[k] > slack:
            keep[a + 1 + k] = True
            stack += [(a, a + 1 + k), (a + 1 + k, b)]
    return keep


def _path(x: np.ndarray, y: np.ndarray) -> str:
    """Return a part of a curve as a path of tenths of pixels, each from the last."""
    tenths = np.column_stack([np.rint(10 * x), np.rint(10 * y)]).astype(int)
    steps = np.diff(tenths, axis=0)
    first = "M{},{}".format(*tenths[0])
    return first + "".join(f"l{a},{b}" for a, b in steps.tolist()) + ("h0" if len(x) == 1 else "")


def lines(trace: Plain, x: np.ndarray, y: np.ndarray, slack: float) -> str:
    """Return the curve of a trace, and its area if it has one."""
    line = trace.get("line") or {}
    if line.get("shape") in ("hv", "vh", "hvh"):
        middle = {"hv": x[1:], "vh": x[:-1], "hvh": 0.5 * (x[1:] + x[:-1])}[line["shape"]]
        x = np.column_stack([x, np.append(middle, x[-1]), np.append(middle, x[-1])]).ravel()
        y = np.column_stack([y, y, np.append(y[1:], y[-1])]).ravel()
    path = "".join(_path(*part) for part in _clean(x, y, slack))
    if not path:
        return ""
    colour, width = line.get("color", "#797979"), float(line.get("width", 2))
    svg = ""
    if trace.get("fill") == "toself":
        shade = trace.get("fillcolor") or colour
        half = "" if trace.get("fillcolor") else ' fill-opacity=".5"'
        svg = f'<path d="{path}" fill="{shade}"{half} stroke="none"/>'
    if width:
        dash = _DASH.get(line.get("dash", ""))
        dashed = (
            ' stroke-dasharray="{}"'.format(",".join(f"{10 * float(n):g}" for n in dash.split(",")))
            if dash
            else ""
        )
        svg += f'<path d="{path}" stroke="{colour}" stroke-width="{10 * width:g}"{dashed}/>'
    return svg


def marks(trace: Plain, x: np.ndarray, y: np.ndarray) -> str:
    """Return the points of a trace."""
    marker = trace.get("marker") or {}
    seen = np.isfinite(x) & np.isfinite(y) & (np.abs(x) < 3e3) & (np.abs(y) < 3e3)
    rows = np.flatnonzero(seen)[:: max(1, int(seen.sum()) // _MOST_MARKS)]
    sizes, colours = numbers(marker.get("size", 6)), marker.get("color", "#797979")
    symbols = marker.get("symbol", "circle")

    groups: dict[tuple[str, float, str], list[int]] = {}
    for k in rows.tolist():
        wide = float(sizes if sizes.ndim == 0 else sizes[k])
        look = str(_own(colours, k)), wide, str(_own(symbols, k))
        groups.setdefault(look, []).append(k)
    svg = ""
    for (ink, wide, sign), here in groups.items():
        places = np.rint(10 * np.column_stack([x[here], y[here]])).astype(int).tolist()
        shape, r = _SYMBOLS.get(str(sign).removesuffix("-open")), round(5 * wide)
        if sign == "circle-open":
            one = f"m{-r},0a{r},{r} 0 1,0 {2 * r},0a{r},{r} 0 1,0 {-2 * r},0"
        elif shape is None:
            dots = "".join(f"M{a},{b}h0" for a, b in places)
            style = f'stroke="{ink}" stroke-width="{2 * r}" stroke-linecap="round"'
            svg += f'<path d="{dots}" {style}/>'
            continue
        else:
            one = _scaled(shape, r)
        full = "none" if str(sign).endswith("-open") else ink
        signs = "".join(f"M{a},{b}{one}" for a, b in places)
        svg += f'<path d="{signs}" stroke="{ink}" fill="{full}" stroke-width="10"/>'
    return svg


def _own(values: object, k: int) -> object:
    """Return the entry of point `k`, or the one that all points share."""
    if isinstance(values, (list, tuple, np.ndarray)) and np.ndim(values):
        return values[k]
    return values


def _scaled(shape: str, r: int) -> str:
    return re.sub(r"-?\d*\.?\d+", lambda m: f"{r * float(m[0]):.0f}", shape)


def edges(trace: Plain, a: str) -> np.ndarray:
    """Return where the n cells of a heat map along "x" or "y" begin and end, (n + 1,).

    The map has them, or the centres of the cells; names stand at 0, 1, ....
    """
    given, shades = trace[a], numbers(trace["z"])
    named = isinstance(given, list | tuple) and any(isinstance(one, str) for one in given)
    at = np.arange(len(given)) if named else numbers(given)
    if len(at) > shades.shape[a == "x"]:
        return at
    between = (at[1:] + at[:-1]) / 2
    first, last = (at[1] - at[0], at[-1] - at[-2]) if len(at) > 1 else (1.0, 1.0)
    return np.concatenate([[at[0] - first / 2], between, [at[-1] + last / 2]])


def cells(
    trace: Plain, x: Callable[[np.ndarray], np.ndarray], y: Callable[[np.ndarray], np.ndarray]
) -> str:
    """Return the cells of a heat map with their texts; `x`, `y` turn values into pixels."""
    shades, text = numbers(trace["z"]), trace.get("text")
    low, high = trace.get("zmin", np.nanmin(shades)), trace.get("zmax", np.nanmax(shades))
    scale = [(s, _rgb(c)) for s, c in trace["colorscale"]]
    across, up = x(edges(trace, "x")), y(edges(trace, "y"))
    svg = ""
    for i, row in enumerate(shades):
        for j, z in enumerate(row):
            left, right = sorted(across[j : j + 2])
            top, bottom = sorted(up[i : i + 2])
            at = (z - low) / ((high - low) or 1)
            rgb = [np.interp(at, [s for s, _ in scale], [c[n] for _, c in scale]) for n in range(3)]
            ink = "#000" if sum(rgb) > 380 else "#fff"
            shade = ",".join(f"{c:.0f}" for c in rgb)
            place = f'x="{left + 1:.1f}" y="{top + 1:.1f}"'
            size = f'width="{right - left - 2:.1f}" height="{bottom - top - 2:.1f}"'
            svg += f'<rect {place} {size} fill="rgb({shade})"/>'
            if text is not None:
                middle = 0.5 * (left + right), 0.5 * (top + bottom) + 4
                svg += words(str(text[i][j]), *middle, size=13, colour=ink)
    return svg


def _rgb(colour: str) -> list[int]:
    if colour.startswith("#"):
        return [int(colour[k : k + 2], 16) for k in (1, 3, 5)]
    return [int(float(n)) for n in re.findall(r"[\d.]+", colour)[:3]]


def written(text: str) -> str:
    """Return plotly's markup as SVG: what stands low or high, the rest as it is."""
    svg, shift = "", 0
    for part in re.split(r"(<[^>]*>)", text):
        if part in ("<sub>", "</sup>"):
            shift += 3
        elif part in ("</sub>", "<sup>"):
            shift -= 3
        elif part and not part.startswith("<"):
            word = html.escape(html.unescape(part), quote=False)
            size = ' font-size="80%"' if shift else ""
            svg += f'<tspan dy="{shift}"{size}>{word}</tspan>' if shift else word
            if shift:
                svg += f'<tspan dy="{-shift}">\u200b</tspan>'
    return svg


def words(
    text: str,
    x: float,
    y: float,
    *,
    anchor: str = "middle",
    size: float = 12,
    colour: str = "",
    turn: bool = False,
) -> str:
    """Return a text; `turn`: upwards."""
    turned = f' transform="rotate(-90,{x:.0f},{y:.0f})"' if turn else ""
    ink = f' fill="{colour}"' if colour else ""
    place = f'x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" font-size="{size:g}"'
    return f"<text {place}{ink}{turned}>{written(text)}</text>"
