"""Many dots, or cells, as one small image for `layout.images`: a palette, packed as PNG.

PNG is ISO/IEC 15948.

A browser draws a hundred thousand dots as quickly as one, and the address holds the image itself.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence

import numpy as np

from explorer.types import Plain

__all__ = ["cells", "pixels", "placed"]

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_FAINTEST = 0.6  # opacity of a pixel with few dots
_SHADES = 4  # of opacity, up to 1


def pixels(
    column: np.ndarray,
    row: np.ndarray,
    kind: np.ndarray,
    shape: tuple[int, int],
    colours: Sequence[str],
) -> bytes:
    """Return a PNG of dots; where more of them fall on a pixel it is less transparent.

    Parameters
    ----------
    column, row, kind : (k,) int
        Place of each dot, row 0 on top, and the index of its colour; of several dots on a pixel
        the last kind counts.
    shape : (rows, columns)
    colours : "#rrggbb" of each kind
    """
    count = np.zeros(shape, np.int64)
    np.add.at(count, (row, column), 1)
    image = np.zeros(shape, np.uint8)
    image[row, column] = 1 + kind * _SHADES
    shade = np.zeros(shape)
    largest = max(int(count.max()), 1)
    if largest > 1:
        shade = np.log(np.maximum(count, 1)) / np.log(largest)
    else:
        shade[:] = 1.0
    image[count > 0] += np.rint(shade[count > 0] * (_SHADES - 1)).astype(np.uint8)
    return _packed(image, colours)


def cells(kind: np.ndarray, colours: Sequence[str]) -> bytes:
    """Return a PNG whose pixels have the colours of kinds (rows, columns), row 0 on top.

    Those below zero are transparent.
    """
    return _packed(np.where(kind < 0, 0, (kind + 1) * _SHADES).astype(np.uint8), colours)


def _packed(image: np.ndarray, colours: Sequence[str]) -> bytes:
    """Return indices (rows, columns) as a PNG whose colour 0 is transparent."""
    palette, opacity = [b"\0\0\0"], [0]
    for colour in colours:
        for shade in range(_SHADES):
            palette.append(bytes.fromhex(colour[1:]))
            part = _FAINTEST + (1 - _FAINTEST) * shade / (_SHADES - 1)
            opacity.append(round(255 * part))
    rows, columns = image.shape
    lines = np.zeros((rows, columns + 1), np.uint8)  # each begins with its filter: none
    lines[:, 1:] = image
    head = struct.pack(">IIBBBBB", columns, rows, 8, 3, 0, 0, 0)
    parts = (
        (b"IHDR", head),
        (b"PLTE", b"".join(palette)),
        (b"tRNS", bytes(opacity)),
        (b"IDAT", zlib.compress(lines.tobytes(), 6)),
        (b"IEND", b""),
    )
    return _SIGNATURE + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts
    )


def placed(png: bytes, x: tuple[float, float], y: tuple[float, float], axes: str = "") -> Plain:
    """Return an image of a layout that reaches over ranges of the axes, below the curves.

    `axes` is their number, "" of the first ones.
    """
    return {
        "source": "data:image/png;base64," + base64.b64encode(png).decode(),
        "xref": f"x{axes}",
        "yref": f"y{axes}",
        "x": x[0],
        "y": y[1],
        "sizex": x[1] - x[0],
        "sizey": y[1] - y[0],
        "sizing": "stretch",
        "layer": "below",
    }
