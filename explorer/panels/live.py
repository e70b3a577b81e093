"""The live panel: carries questions and pictures between the kernel and the browser.

It knows the protocol (custom messages with binary buffers, nothing synced but code with its styles)
and nothing of mechanics: an ``answer`` object says what the controls are and draws the pictures.
"""

from __future__ import annotations

import base64
import contextlib
import gzip
import json
import os
import sys
import threading
import zlib
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar, Protocol

import anywidget

from explorer.panels.messages import FigureData, Frame, Message, Schema, Values
from explorer.panels.packing import Repeats, pack
from explorer.progress import shown_by
from explorer.types import Plain
from explorer.views.drawing.display import display
from explorer.views.drawing.still import mark, placeholder

_FRONT = Path(__file__).parent / "front"
_STYLES = (  # in the order in which a later one overrides an earlier one
    *("panel", "toolbar", "controls", "plots", "status"),
    *("handles", "lecture", "help", "write", "access", "phone", "twin"),
)


class Answer(Protocol):
    """What a panel needs to know how to answer."""

    def schema(self) -> Schema:
        """Title, groups of controls, actions, presets."""

    def pull(self, set: Values, drag: bool) -> Frame:
        """Frame after setting some values; numpy arrays anywhere in figure and mechanism.

        A key ``schema`` in it is sent as a message of its own, before the frame.
        """

    def do(self, action: str, value: object) -> list[Message]:
        """Messages to send after an action."""

    def frame(self) -> Frame:
        """Return the current picture in full.

        A panel that has ``look(look)`` too, and says so in its schema (``looks``), is told the size
        of the plots, ``{"size": [width, height], "of": the layout's uirevision, "ranges": {axis:
        [from, to]}}``, and the windows of the axes that are zoomed.
        """


def source(name: str = "panel") -> str:
    """Return a script of the browser; ``npm run build`` makes it of the modules in ``front/``."""
    return (_FRONT / "bundle" / f"{name}.js").read_text("utf-8")


def style(*more: str) -> str:
    """Return the style sheet of all panels, and others of the browser's code behind it."""
    return "".join((_FRONT / f"{name}.css").read_text("utf-8") for name in (*_STYLES, *more))


def script(name: str = "panel", *more: str) -> str:
    """Return what a widget sends for a script and its styles: it unpacks itself, of a third."""
    text = f"{source(name)}\nexport const sheet = {json.dumps(style(*more))};\n"
    packed = base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()
    return f"""const packed = "{packed}";
const bytes = Uint8Array.from(atob(packed), (one) => one.charCodeAt(0));
const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
const text = await new Response(stream).text();
const url = URL.createObjectURL(new Blob([text], {{ type: "text/javascript" }}));
const made = await import(url);
const id = "nsx-sheet-{name}";
const own = document.getElementById(id) ??
  document.head.appendChild(Object.assign(document.createElement("style"), {{ id }}));
own.textContent = made.sheet; // another kernel of another version may have written its own
export default made.default;
"""


@cache
def plotly_bundle(cache_dir: Path | None = None) -> tuple[str, bytes]:
    """Return the version of the installed plotly and its gzipped plotly.js, without importing it.

    Parameters
    ----------
    cache_dir
        Folder that keeps the compressed file (a second of work); memory only if ``None`` or if
        the folder cannot be used.

    Raises
    ------
    ModuleNotFoundError
        If plotly is not installed.
    """
    spec = find_spec("plotly")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("plotly is not installed", name="plotly")
    release = version("plotly")
    kept = Path(cache_dir) / f"plotly-{release}.min.js.gz" if cache_dir else None
    try:
        if kept:
            script_gz = kept.read_bytes()
            gzip.decompress(script_gz)  # a torn file must not stop every later panel
            return release, script_gz
    except (OSError, EOFError, zlib.error):
        pass
    script = Path(spec.submodule_search_locations[0]) / "package_data" / "plotly.min.js"
    packed = gzip.compress(script.read_bytes(), mtime=0)
    if kept:
        try:
            kept.parent.mkdir(parents=True, exist_ok=True)
            part = kept.with_suffix(f".{os.getpid()}.part")
            part.write_bytes(packed)
            part.replace(kept)  # atomic: two kernels may start at once
        except OSError:
            pass
    return release, packed


class LivePanel(anywidget.AnyWidget):
    """Panel whose controls and pictures come from ``answer``.

    Parameters
    ----------
    answer
        Object with ``schema``, ``pull``, ``do`` and ``frame``; see `Answer`.
    cache_dir
        Where the compressed plotly.js is kept; see `plotly_bundle`.
    """

    front: ClassVar[tuple[str, ...]] = ("panel",)  # the bundle, and styles beside those of all
    _esm = script(*front)

    def __init__(self, answer: Answer, *, cache_dir: Path | None = None) -> None:
        super().__init__()
        self._still_name = str(self.model_id)  # a closed widget has no id any more
        self._answer = answer
        self._cache_dir = cache_dir
        # Jupyter may call from several threads (subshells); a solver is not reentrant. RLock: an
        # answer may `push` while it answers.
        self._lock = threading.RLock()
        self._layout: str | None = None  # last layout sent
        self._repeats = Repeats()
        # what may take long is answered aside, so a message that stops it is heard meanwhile
        self._stop: Callable[[], None] | None = getattr(answer, "stop", None)
        self._aside = ThreadPoolExecutor(1) if self._stop and _in_kernel() else None
        self._last: Future[None] | None = None
        self.on_msg(self._receive)

    def _repr_mimebundle_(self, **kwargs: dict[str, object]) -> tuple[Plain, Plain] | None:
        """Return the live view, and beside it a still for pages without a kernel."""
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle is not None and (figure := self._still()):
            bundle[0]["text/html"] = mark(figure, self._still_name)
        return bundle

    def _ipython_display_(self) -> None:
        """Display the live view, and below it the still, which the live view hides.

        A page that finds the view of a widget shows nothing else of that output, even if it has
        no kernel for it: JupyterLab after a restart, nbconvert with the states of widgets.
        """
        bundle = self._repr_mimebundle_()
        if bundle is None:
            return
        data, metadata = bundle
        display(data, metadata=metadata, raw=True)
        if "text/html" in data:
            display({"text/html": placeholder(self._still(), self._still_name)}, raw=True)

    def _still(self) -> FigureData | None:
        """Return what is drawn now; a picture that fails is told by the panel, not by its still."""
        with self._lock, contextlib.suppress(Exception):
            return self._answer.frame().get("figure")
        return None

    def push(self) -> None:
        """Send the schema and the whole picture to every view, after a change by script."""
        with self._lock:
            try:
                self._post({"type": "schema", **self._answer.schema()})
                frame = {"type": "frame", **self._answer.frame(), "view": None, "seq": None}
                self._post(frame, full=True)
            except Exception as error:
                self._post(_failure(error))

    def refresh(self) -> None:
        """Send the picture as it is now to every view, after work that went on aside."""
        with self._lock:
            try:
                self._post({"type": "frame", **self._answer.frame(), "view": None, "seq": None})
            except Exception as error:
                self._post(_failure(error))

    def busy(self, text: str, done: float = 0, total: float = 0) -> None:
        """Show progress. May be called while a pull is being answered, hence takes no lock."""
        stops = {"stops": True} if self._stop else {}
        self._post({"type": "busy", "text": text, "done": done, "total": total, **stops})

    def _wait(self, done: int, total: int, name: str, what: str) -> None:
        self.busy(f"{what}: {name}", done, total)

    def _receive(self, _: object, content: Plain, buffers: list[memoryview]) -> None:
        """Take one message of the browser: stop what runs, or answer in turn."""
        kind = content.get("type")
        if kind == "stop":
            if self._stop is not None:
                self._stop()
            return
        if self._aside is None:
            self._answered(content)
            return
        if self._stop and self._last and not self._last.done() and kind in ("pull", "do"):
            self._stop()  # a search gives way to what is new
        self._last = self._aside.submit(copy_context().run, self._answered, content)

    def _answered(self, content: Plain) -> None:
        """Answer one message; whatever goes wrong becomes a sentence in the browser."""
        origin = {"view": content.get("view"), "seq": content.get("seq")}
        self._lock.acquire()
        try:
            with shown_by(self._wait):
                self._respond(content, origin)
        except Exception as error:
            self._post({**_failure(error), **origin})
        finally:
            self._lock.release()

    def _respond(self, content: Plain, origin: Values) -> None:
        kind = content.get("type")
        looks = getattr(self._answer, "look", None)
        if looks is not None and isinstance(content.get("look"), dict):
            looks(content["look"])
        if kind == "look":
            self._post({"type": "frame", **self._answer.frame(), **origin})
        elif kind == "pull":
            schema: Schema | None = None
            if ended := content.get("ended"):  # a gesture that was over before this one began
                schema = self._answer.pull(ended, False).get("schema")
            frame = self._answer.pull(content.get("set", {}), bool(content.get("drag"))).copy()
            if schema := frame.pop("schema", schema):  # a range grew, controls came or went
                self._post({"type": "schema", **schema})
            self._post({"type": "frame", **frame, **origin})
        elif kind == "do":
            for message in self._answer.do(content["action"], content.get("value")):
                own = origin if message.get("type") == "frame" else {}
                self._post({**message, **own})
        elif kind == "hello":
            if content.get("plotly") != version("plotly"):
                release, packed = plotly_bundle(self._cache_dir)
                self.send({"type": "plotly", "version": release}, [packed])
            if content.get("state"):  # the page was opened by a link that holds a state
                self._answer.do("load_state", content["state"])
            own = {"still": self._still_name, "maker": maker()}
            self._post({"type": "schema", **self._answer.schema(), **own})
            self._post({"type": "frame", **self._answer.frame(), **origin}, full=True)

    def _post(self, message: Plain, full: bool = False) -> None:
        """Send a message; a frame's layout and arrays only if they changed or ``full``."""
        if message.get("type") == "file" and isinstance(message.get("data"), bytes):
            message = dict(message)
            self.send(message, [message.pop("data")])
            return
        content, buffers = pack(message, bool(message.get("double")), hasattr(self._answer, "look"))
        if message.get("type") in ("films", "gallery"):  # long, and asked for once
            parts = [json.dumps(content).encode(), *buffers]
            content = {"type": message["type"], "sizes": [len(part) for part in parts]}
            buffers = [gzip.compress(b"".join(parts), mtime=0)]
        figure = content.get("figure")
        if figure and "layout" in figure:
            layout = json.dumps(figure["layout"], sort_keys=True)
            if layout == self._layout and not full:
                del figure["layout"]
            self._layout = layout
        if message.get("type") == "frame":
            content, buffers = self._repeats.left_out(content, buffers, full)
        self.send(content, buffers)


@cache
def maker() -> str:
    """Return what stands below pictures that are taken away."""
    return f"nonsmooth-explorer {version('nonsmooth-explorer')}"


def _in_kernel() -> bool:
    """Whether this process is the kernel of a notebook."""
    base = sys.modules.get("ipykernel.kernelbase")
    return base is not None and bool(base.Kernel.initialized())


def _failure(error: Exception) -> Plain:
    """Frame without a picture: the last good one stays, the status line says why."""
    lines = str(error).strip().splitlines()
    text = lines[0] if lines else f"{type(error).__name__} without a message"
    status = {"level": "error", "text": text, "detail": type(error).__name__, "stale": True}
    return {"type": "frame", "view": None, "seq": None, "status": status}
