"""Arrays out of messages: as little-endian buffers, each of which is sent once while it stays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from explorer.types import Plain

__all__ = ["Repeats", "pack"]

_MANY = 40  # numbers in a row
_MUCH = 24_000  # bytes of all
_SMALL = 64  # bytes; to name such a buffer takes about as many


class Repeats:
    """The buffers of the frame before: of those that come again only the place is sent.

    Curves of pinned runs stay the same while a slider moves. A browser that has missed a frame
    sees it by the numbers of the frames, and asks for a whole one.
    """

    def __init__(self) -> None:
        self._number = 0
        self._places: dict[bytes, int] = {}

    def left_out(
        self, content: Plain, buffers: list[bytes], full: bool
    ) -> tuple[Plain, list[bytes]]:
        """Return a frame without the buffers that the frame before had too.

        Its ``number`` is one more than that of the frame before; ``again`` are pairs ``[i, j]``:
        its buffer ``i`` is the buffer ``j`` of the frame before. A ``full`` frame has all of them.

        >>> repeats, pin = Repeats(), bytes(80)
        >>> repeats.left_out({}, [b"now", pin], full=True)[0]
        {'number': 1}
        >>> repeats.left_out({}, [b"next", pin], full=False)
        ({'number': 2, 'again': [[1, 1]]}, [b'next'])
        """
        known = {} if full else self._places
        again = [[i, known[b]] for i, b in enumerate(buffers) if len(b) > _SMALL and b in known]
        self._number += 1
        self._places = {b: i for i, b in enumerate(buffers)}
        named = {i for i, _ in again}
        more: Plain = {"number": self._number, **({"again": again} if again else {})}
        return {**content, **more}, [b for i, b in enumerate(buffers) if i not in named]


def pack(content: Plain, double: bool = False, short: bool = False) -> tuple[Plain, list[bytes]]:
    """Move numpy arrays out of a message into little-endian buffers.

    Parameters
    ----------
    content
        Nested dicts and lists. An array (any shape, numeric) becomes ``{"buf": i}``; the same
        array object at several places becomes the same buffer. NumPy scalars become plain
        numbers, numbers that JSON cannot hold become ``None``; what float32 cannot hold, NaN.
        Numbers are float32.
    double : bool
        Whether rows of float64 stay so: in a small window single precision is seen.
    short : bool
        Whether of a large message many numbers in a row (more than 40) are 16-bit parts of their
        range (a hundredth of a pixel), whose ends stand before them in float32. Those of the films
        of a gallery always are.

    Returns
    -------
    content, buffers

    Examples
    --------
    >>> pack({"x": np.array([1.0, 2.0]), "n": np.int64(3)})
    ({'x': {'buf': 0}, 'n': 3}, [b'\\x00\\x00\\x80?\\x00\\x00\\x00@'])
    """
    buffers: list[bytes] = []
    curves: dict[int, bool] = {}
    if short and (figure := content.get("figure")):
        drawn = {id(t[k]): t[k] for t in figure["data"] for k in "xy"}
        film = content.get("mechanism") or {}
        parts = [film, *film.get("ghosts", ()), *(t.get("meta", {}) for t in figure["data"])]
        others = {id(a): a for part in parts for a in part.values() if isinstance(a, np.ndarray)}
        if 4 * sum(np.size(a) for a in {**others, **drawn}.values()) > _MUCH:
            times = (t.get("meta", {}).get("t") for t in figure["data"])
            curves = dict.fromkeys({*drawn, *map(id, times)}, True)
    for film in (content.get("films") or {}).values():  # on cards: whole parts of their picture
        curves |= {id(a): True for a in (film or {}).values() if isinstance(a, np.ndarray)}
    index: dict[int, int] = {}
    how: dict[int, dict[str, str]] = {}

    def walk(value: Any) -> Any:  # plain data nested to any depth
        kind = type(value)
        if kind is str or kind is int or value is None:  # most of a picture
            return value
        if kind is dict:
            return {key: walk(item) for key, item in value.items()}
        if kind is list:
            return [walk(item) for item in value]
        if kind is float:
            return value if math.isfinite(value) else None
        if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
            if id(value) not in index:
                index[id(value)] = len(buffers)
                how[id(value)], data = _encoded(value, double, id(value) in curves)
                buffers.append(data)
            return {"buf": index[id(value)], **how[id(value)]}
        if isinstance(value, np.ndarray | np.generic):
            return walk(value.tolist())
        if isinstance(value, dict):
            return {key: walk(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [walk(item) for item in value]
        return None if isinstance(value, float) and not math.isfinite(value) else value

    return {key: walk(value) for key, value in content.items()}, buffers


def _encoded(values: np.ndarray, double: bool, much: bool) -> tuple[dict[str, str], bytes]:
    """Return how numbers are written, and their bytes."""
    if double and values.ndim == 1 and values.dtype == np.float64:
        return {"kind": "f8"}, values.astype("<f8").tobytes()
    with np.errstate(over="ignore"):
        flat = values.astype("<f4").ravel()
    flat[np.isinf(flat)] = np.nan  # beyond float32 there is nothing to draw
    known = np.isfinite(flat)
    if not much or len(flat) <= _MANY or not known.any():
        return {}, flat.tobytes()
    low, high = float(flat[known].min()), float(flat[known].max())
    parts = np.full(len(flat), 65535, "<u2")
    parts[known] = np.rint((flat[known].astype(float) - low) * (65534 / ((high - low) or 1.0)))
    return {"kind": "u2"}, np.array([low, high], "<f4").tobytes() + parts.tobytes()
