"""The static twin of a panel: one page that moves without a kernel, of pictures computed before.

Sliders of it stop at the values that were computed; nothing is interpolated, so what is drawn is
what a run gave, on both sides of each jump.
"""

from __future__ import annotations

import base64
import gzip
import html
import itertools
import json
import math
import re
import time
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from explorer.arguments import items
from explorer.errors import BadValue, NotApplicable, suggest
from explorer.panels.live import maker, plotly_bundle, source, style
from explorer.panels.messages import Control, Frame, Schema, Values
from explorer.panels.packing import pack
from explorer.panels.session import Session
from explorer.panels.wording import plain
from explorer.parameters import number
from explorer.progress import Progress
from explorer.results.export import written
from explorer.types import Plain
from explorer.views.drawing.still import mark

__all__ = ["Over", "StaticTwin", "static_twin"]

Over: TypeAlias = str | Sequence[str] | Mapping[str, int | ArrayLike]

_USUAL = 2_000_000  # bytes of a page beside plotly.js, if nobody says how many pictures it holds
_MOST = 20_000_000
_SECONDS = 10.0  # to compute them
_FEWEST, _ENOUGH = 5, 41  # values of a slider
_DULL = ("rho.m", "rho.M", "rho.g")  # of many models nothing but the forces changes with them
_MOVING = ("handles", "key", "start")  # of curves: what is dragged or clicked to set something
_IN_BROWSER = re.compile("export_(png|svg|pdf|webm|gif)")  # actions that need no kernel
_ANSWERED = re.compile(r"( · )?answered in [\d.]+ ms")  # true of the time when it was computed

_shown = itertools.count()  # the same twin may stand on a page twice

_START = """
const own = document.getElementById("%(id)s");
const script = "[data-nsx-script]"; // pages of one folder share it
const text = (own.querySelector(script) ?? document.querySelector(script)).textContent;
const bytes = Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
const code = await new Response(stream).text();
const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
const { default: panel, StaticTwin } = await import(url);
const model = await StaticTwin.of(own);
own.querySelector("img").remove();
panel.render({ model, el: own.querySelector("[data-nsx-place]") });
"""
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>%(title)s</title>
<style>
:root { color-scheme: light dark; }
body { margin: 8px; font: 13px system-ui, sans-serif; }
@media (min-width: 720px) { .nsx-twin .nsx-body { height: max(563px, 100vh - 60px); } }
</style></head><body>
%(body)s
</body></html>
"""


class Answers(Protocol):
    """What answers a panel from its session."""

    session: Session

    def __init__(self, session: Session) -> None: ...

    def schema(self) -> Schema:
        """Return the controls that there are."""

    def pull(self, set: Values, drag: bool) -> Frame:
        """Return the picture after setting some values."""

    def frame(self) -> Frame:
        """Return the present picture."""


@dataclass(frozen=True)
class StaticTwin:
    """A panel without a kernel: its pictures at the values of one or two sliders.

    Displayed in a notebook it stays alive where the notebook is shown without a kernel.

    Attributes
    ----------
    title : str
    grid : dict of key to values
        Of each slider, the values that were computed, in ascending order.
    failed : dict of values to sentence
        Where no run was possible: a tuple with a value of each slider, and why.
    """

    title: str
    grid: dict[str, list[float]]
    failed: dict[tuple[float, ...], str]
    note: str
    _pictures: bytes
    _picture: str

    def __repr__(self) -> str:
        sizes = " x ".join(str(len(values)) for values in self.grid.values())
        return f"StaticTwin({self.title!r}, {sizes} pictures over {', '.join(self.grid)})"

    def page(self) -> str:
        """Return the twin as a complete page (HTML), which needs neither kernel nor network."""
        return _PAGE % {"title": html.escape(self.title), "body": self._repr_html_()}

    def save(self, path: str | Path) -> Path:
        """Write the page to a file.

        Returns
        -------
        path
            Of the file, which any browser opens.
        """
        return written(path, lambda file: file.write_text(self.page(), "utf-8"))

    def _repr_html_(self) -> str:
        """Return the twin as a part of a page."""
        release, library = plotly_bundle()
        packed = {"script": gzip.compress(source().encode(), mtime=0), "pictures": self._pictures}
        id_ = f"nsx-{zlib.crc32(self._pictures):x}-{next(_shown)}"
        parts = "".join(_data(name, "", data) for name, data in packed.items())
        return (
            f'<div class="nsx-twin" id="{id_}"><style>{style()}</style>{self._picture}'
            f"<div data-nsx-place></div><p><small>{html.escape(self.note)}</small></p>{parts}"
            f"{_data('plotly', release, library)}"
            f'<script type="module">{_START % {"id": id_}}</script></div>'
        )


def _data(name: str, value: str, data: bytes) -> str:
    text = base64.b64encode(data).decode()
    return f'<script type="text/plain" data-nsx-{name}="{value}">{text}</script>'


def static_twin(answer: Answers, over: Over | None = None, points: int | None = None) -> StaticTwin:
    """Return the static twin of what answers a panel, whose session stays as it is.

    Parameters
    ----------
    answer
        Of the panel.
    over : name, names, or dict of name to number of values or to the values, optional
        One or two sliders by full key or short name; by default the two that were moved last, else
        the parameter that most presets set, or else the first that is no mass and no gravity.
    points : int, optional
        How many values a slider has where `over` does not say it. By default as many as a page of
        2 MB holds beside plotly.js, and as are computed in about ten seconds.

    Raises
    ------
    BadValue
        If a slider is not there, or the page would be larger than 20 MB.
    NotApplicable
        If the panel has no slider.
    """
    own = type(answer)(answer.session.copy())
    schema = own.schema()
    sliders = {
        c["key"]: c for g in schema["groups"] for c in g["controls"] if c["kind"] == "slider"
    }
    asked = _asked(own.session, sliders, over)
    now = own.frame()
    each = len(gzip.compress(_joined({}, [pack({**_told(now)}, short=True)])))
    if points is None:  # a run at the end of a slider may take long: only where it is needed
        open_ = [key for key, wanted in asked.items() if wanted is None]
        points = _fit(own, each, sliders[open_[0]], len(asked)) if open_ else _FEWEST
    grid = {}
    for key, wanted in asked.items():
        grid[key] = _values(sliders[key], points if wanted is None else wanted)
    count = math.prod(map(len, grid.values()))
    if count * each * 4 / 3 > _MOST:
        most = int((_MOST * 0.75 / each) ** (1 / len(grid)))
        raise BadValue(
            f"A page with {count} pictures would take about {count * each * 4e-6 / 3:.0f} MB, more "
            f"than {_MOST / 1e6:.0f} MB. At most {most} values of each slider fit."
        )
    frames, failed = _frames(own, grid)
    at = [values.index(number(sliders[k]["value"], k)) for k, values in grid.items()]
    names = {k: plain(sliders[k]["label"]) for k in grid}
    swept = " and ".join(f"{len(values)} values of {names[k]}" for k, values in grid.items())
    head = {
        "schema": {**_without_kernel(schema, grid)},
        "axes": list(grid.items()),
        "at": at,
    }
    return StaticTwin(
        title=schema["title"],
        grid=grid,
        failed=failed,
        note=f"This page needs no kernel: it holds {swept}, computed by {maker()}.",
        _pictures=gzip.compress(_joined(head, frames), mtime=0),
        _picture=mark(now["figure"]),
    )


def _asked(
    session: Session, sliders: Mapping[str, Control], over: Over | None
) -> dict[str, int | ArrayLike | None]:
    """Return what is asked of each slider by its full key."""
    if not sliders:
        raise NotApplicable(
            "This panel has no slider, so nothing moves in a page without a kernel."
        )
    if over is None:
        told = Counter(f"rho.{k}" for preset in session.system.presets.values() for k in preset)
        ranked = sorted(sliders, key=lambda k: (not k.startswith("rho."), k in _DULL, -told[k]))
        return dict.fromkeys([k for k in session.moved if k in sliders][-2:] or ranked[:1])
    names = over if isinstance(over, Mapping) else dict.fromkeys(items(over, "over", str))
    wanted = dict(names)
    if not 1 <= len(wanted) <= 2:
        raise BadValue(f"A static twin has one or two sliders, not {len(wanted)}.")
    found = {}
    for name, values in wanted.items():
        keys = [k for k in sliders if k == name] or [k for k in sliders if k.endswith(f".{name}")]
        if not keys:
            short = dict.fromkeys(k.split(".", 1)[-1] for k in sliders)
            raise BadValue(f"There is no slider {name!r} here.{suggest(name, short)}")
        found[keys[0]] = values
    return found


def _fit(own: Answers, each: int, slider: Control, axes: int) -> int:
    """Return how many values of each slider fit in a usual page, and in the patience of a user."""
    began = time.perf_counter()
    own.pull({slider["key"]: slider["low"]}, False)
    seconds = time.perf_counter() - began
    most = min(_USUAL * 0.75 / each, _SECONDS / seconds)
    return int(np.clip(most ** (1 / axes), _FEWEST, _ENOUGH))


def _values(control: Control, wanted: int | ArrayLike) -> list[float]:
    """Return the values of a slider: evenly over its range, and the one where it stands."""
    now, low, high = number(control["value"], control["label"]), control["low"], control["high"]
    if not isinstance(wanted, (int, np.integer)):
        given = np.unique(np.append(np.asarray(wanted, float).ravel(), now))
        if not np.isfinite(given).all():
            raise BadValue(f"The values of {plain(control['label'])} must be finite numbers.")
        return [float(x) for x in given]
    if wanted < 2:
        raise BadValue(f"A slider needs at least 2 values, not {wanted}.")
    spread = np.geomspace if control.get("log") else np.linspace
    values = [float(f"{x:.4g}") for x in spread(low, high, int(wanted))]
    if control.get("integer"):
        values = [float(round(x)) for x in values]
    values[int(np.argmin(np.abs(np.subtract(values, now))))] = now
    return sorted(set(values))


def _frames(
    own: Answers, grid: Mapping[str, list[float]]
) -> tuple[list[tuple[Plain, list[bytes]]], dict[tuple[float, ...], str]]:
    """Return a frame at each place of the grid; where nothing runs, its sentence."""
    keys, failed = list(grid), {}
    shape = [len(values) for values in grid.values()]
    frames: dict[tuple[int, ...], tuple[Plain, list[bytes]]] = {}
    progress = Progress(math.prod(shape), "Computing pictures")
    try:
        for done, place in enumerate(_along(shape)):
            at = tuple(grid[k][i] for k, i in zip(keys, place, strict=True))
            progress(done)
            frame = own.pull(dict(zip(keys, at, strict=True)), False)
            if own.session.errors:
                failed[at] = own.session.problem or next(iter(own.session.errors.values()))
                frames[place] = _unrun(frame, failed[at]), []
            else:
                frames[place] = pack({**_told(frame)}, short=True)
    finally:
        progress.close()
    return [frames[place] for place in product(*map(range, shape))], failed


def _along(shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Return all places, each beside the one before: axes keep their ranges where they fit."""
    if len(shape) == 1:
        yield from ((i,) for i in range(shape[0]))
        return
    for i in range(shape[0]):
        row = range(shape[1])
        yield from ((i, j) for j in (row if i % 2 == 0 else reversed(row)))


def _told(frame: Frame) -> Plain:
    """Return what of a frame a page without a kernel shows."""
    told: Plain = {k: x for k, x in frame.items() if k not in ("schema", "undo", "redo", "pinned")}
    status = frame["status"]
    told["status"] = {**status, **{k: _ANSWERED.sub("", status[k]) for k in ("text", "detail")}}
    figure, film, table = frame["figure"], frame["mechanism"], frame["table"]
    traces = []
    for trace in figure["data"]:
        meta = {k: x for k, x in trace.get("meta", {}).items() if k not in _MOVING}
        traces.append({**trace, "meta": meta} if "meta" in trace else trace)
    told["figure"] = {**figure, "data": traces}
    if film is not None:
        told["mechanism"] = {**film, "items": [{**item, "grip": None} for item in film["items"]]}
    if table is not None:  # of its first page, in its own order
        told["table"] = {**table, "pages": 1, "by": None}
    return told


def _unrun(frame: Frame, why: str) -> Plain:
    said = f"{why} The picture is of the last values that ran."
    status = {"level": "error", "text": said, "detail": "", "stale": True}
    return {"values": frame["values"], "errors": {}, "status": status}


def _without_kernel(schema: Schema, grid: Mapping[str, list[float]]) -> Plain:
    """Return the controls of a page: what moves, and what else the pictures were made with."""
    moving: list[Plain] = []
    fixed: list[Plain] = []
    for control in (c for group in schema["groups"] for c in group["controls"]):
        if control["key"] in grid:
            stops = grid[control["key"]]
            moving.append({**control, "low": stops[0], "high": stops[-1], "stops": stops})
        else:
            kind = "number" if control["kind"] == "slider" else control["kind"]
            fixed.append({**control, "kind": kind, "fixed": True})
    kept = {k: x for k, x in schema.items() if k not in ("pinned", "undo", "redo", "pins")}
    return {
        **kept,
        "groups": [
            {"name": "moving", "title": "Move", "open": True, "controls": moving},
            {"name": "fixed", "title": "Fixed in this page", "open": False, "controls": fixed},
        ],
        "actions": [a for a in schema["actions"] if _IN_BROWSER.fullmatch(a["name"])],
        "presets": [],
        "looks": False,
        "maker": maker(),
    }


def _joined(head: Plain, frames: Sequence[tuple[Plain, list[bytes]]]) -> bytes:
    """Return a page's pictures as bytes; layouts and buffers that are the same stand once."""
    store: dict[bytes, int] = {}
    layouts: dict[str, int] = {}
    written = []
    for content, buffers in frames:
        own = [store.setdefault(data, len(store)) for data in buffers]
        figure, more = content.get("figure"), {}
        if figure is not None:
            layout = json.dumps(figure["layout"], sort_keys=True)
            more = {
                "figure": {k: x for k, x in figure.items() if k != "layout"},
                "layout": layouts.setdefault(layout, len(layouts)),
            }
        written.append({**content, **more, "buffers": own})
    whole = {
        **head,
        "frames": written,
        "layouts": [json.loads(one) for one in layouts],
        "sizes": [len(data) for data in store],
    }
    text = json.dumps(whole, separators=(",", ":")).encode()
    return len(text).to_bytes(4, "little") + text + b"".join(store)
