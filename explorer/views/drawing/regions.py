"""Background of a phase plane: regions, their vector fields, and the surfaces between them.

The colour of a surface c_j = 0 shows how the fields f+ and f- on its sides behave (Filippov 1988):
both point towards it (sliding), both point away from it (escaping, with no unique solution), or one
towards and one away (crossing).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from explorer.compiled import Switched
from explorer.compiled.formulas import Formulas
from explorer.systems import FilippovSystem
from explorer.views.drawing.contours import areas, lines, straightened
from explorer.views.drawing.picture import COLOURS, GREY, OFF, curve
from explorer.views.drawing.traces import Trace

__all__ = ["SIDES", "Regions", "beside", "region_colours", "tint"]

SIDES = {-1: COLOURS[4], 0: COLOURS[2], 1: COLOURS[5]}  # minus, on the surface, plus
_REGIONS = (SIDES[-1], SIDES[1], COLOURS[3], COLOURS[0], COLOURS[1], COLOURS[2])
_ESCAPING = COLOURS[1]
_GRID, _ARROWS = 49, 9
# an arrow from (-1, 0) to (1, 0): along and across it
_ALONG = np.array([1.0, 0.25, 0.25, -1.0, -1.0, 0.25, 0.25])
_ACROSS = np.array([0.0, 0.34, 0.1, 0.1, -0.1, -0.1, -0.34])


def tint(colour: str, alpha: float) -> str:
    """Return a transparent colour."""
    red, green, blue = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {alpha})"


def beside(function: str, side: int) -> str:
    """Return an inequality for a switching function, with < and > escaped for plotly."""
    return f"{function} &{'gt' if side > 0 else 'lt'}; 0"


def region_colours(system: FilippovSystem) -> list[str]:
    """Return the colours of the regions of a `FilippovSystem`, subsystem by subsystem.

    A region on the minus side of a single function has the colour of that side.
    """
    return [
        _REGIONS[s.cells.index(r) % len(_REGIONS)]
        for s in system.subsystems
        for r in range(len(s.regions))
    ]


class Regions:
    """The plane of two states.

    Parameters
    ----------
    compiled : Switched
    rho : (n_rho,) float
    base : (n_x,) float
        What the other states are in the whole plane.
    across, up : int
        The two states.
    t : float
        Time in s for which it is drawn.
    named : bool
        Whether a legend names the surfaces, and more than two regions.
    flow : bool
        Whether arrows show it: beside a run only where it is that of the whole run.
    """

    def __init__(
        self,
        compiled: Switched,
        rho: Sequence[float],
        base: np.ndarray,
        across: int,
        up: int,
        t: float,
        named: bool = False,
        flow: bool = True,
    ) -> None:
        self.axes, self.t, self.named, self.flow = (across, up), t, named, flow
        system = compiled.system
        self.base = np.asarray(base, float)
        self.equations = Formulas(compiled, rho)
        names = {system.coordinates[across], system.coordinates[up]}
        self.functions = [
            k for k, s in enumerate(system.switches) if names & {x.name for x in s.c.free_symbols}
        ]
        # cells: lists of (sign of each function, or 0), with a name and a colour
        self.cells: list[tuple[str, str, list[np.ndarray]]] = []
        if isinstance(system, FilippovSystem) and len(system.subsystems) == 1:
            one = system.subsystems[0]
            for r, (region, colour) in enumerate(
                zip(one.regions, region_colours(system), strict=True)
            ):
                bits = [b for b, owner in enumerate(one.cells) if owner == r]
                signs = [
                    np.array([1 if b >> j & 1 else -1 for j in range(one.count)]) for b in bits
                ]
                self.cells.append((region.name, colour, signs))
            return
        shown = self.functions[:2]
        for b in range(2 ** len(shown) if shown else 0):
            sides = [1 if b >> j & 1 else -1 for j in range(len(shown))]
            pairs = list(zip(shown, sides, strict=True))
            text = ", ".join(beside(system.switches[k].name, side) for k, side in pairs)
            pattern = np.zeros(len(system.switches), int)
            pattern[shown] = sides
            self.cells.append((text, _REGIONS[b], [pattern]))

    def __call__(self, x: tuple[float, float], y: tuple[float, float]) -> list[Trace]:
        """Return the traces for these ranges; their number is fixed, and some may be empty."""
        across, up = (np.linspace(*limits, _GRID) for limits in (x, y))
        c = self._functions(*self._grid(across, up)).reshape(_GRID, _GRID, -1)
        traces = []
        for name, colour, signs in self.cells:
            inside = functools.reduce(np.maximum, [_least(c, one) for one in signs])
            x_drawn, y_drawn = _joined(_areas(x, y, inside.tobytes()))
            traces.append(
                curve(
                    x_drawn,
                    y_drawn,
                    colour,
                    name=name,
                    hoverinfo="skip",
                    fill="toself",
                    fillcolor=tint(colour, 0.14),
                    line={"width": 0},
                )
            )
        traces += self._arrows(x, y)
        lines: dict[str, list[np.ndarray]] = {"crossing": [], "sliding": [], "escaping": []}
        for k in self.functions:
            for line in _surface(x, y, c[..., k].tobytes()):
                self._sort(line, k, lines)
        wide = {"crossing": (GREY, 1.2), "sliding": (SIDES[0], 3.0), "escaping": (_ESCAPING, 3.0)}
        return traces + [
            curve(
                *_joined(pieces),
                wide[kind][0],
                name=f"{kind} surface",
                hoverinfo="skip",
                line={"width": wide[kind][1]},
                showlegend=self.named,
            )
            for kind, pieces in lines.items()
        ]

    def seen(self, x: tuple[float, float], y: tuple[float, float]) -> bool:
        """Tell whether every region has a point within these ranges."""
        c = self._functions(*self._grid(*(np.linspace(*limits, _GRID) for limits in (x, y))))
        return all(any((_least(c, one) > 0).any() for one in signs) for *_, signs in self.cells)

    # -- what holds at points -------------------------------------------------------------------

    def _grid(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        shape = (len(y), len(x))
        return np.broadcast_to(x, shape).ravel(), np.broadcast_to(y[:, None], shape).ravel()

    def _states(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        states = np.tile(self.base, (len(x), 1))
        states[:, self.axes[0]], states[:, self.axes[1]] = x, y
        return np.full(len(x), self.t), states

    def _functions(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return self.equations.functions(*self._states(x, y))[0]

    def _flow(self, x: np.ndarray, y: np.ndarray, sides: np.ndarray) -> np.ndarray:
        """Return x' (k, n) on given sides (k, n_c) of the functions."""
        alpha = (sides > 0).astype(float)
        if self.equations.compiled.stewart:
            alpha = self.equations.compiled.theta(alpha)
        return self.equations.rates(*self._states(x, y), alpha)

    def _sort(self, line: np.ndarray, k: int, lines: dict[str, list[np.ndarray]]) -> None:
        """Divide a piece of a surface by how the fields on its sides behave."""
        c, gradient = self.equations.functions(*self._states(*line.T))
        rates = []
        for side in (1, -1):
            sides = c.copy()
            sides[:, k] = side
            rates.append((gradient[:, k] * self._flow(line[:, 0], line[:, 1], sides)).sum(axis=1))
        up, down = rates
        kind = np.where((up < 0) & (down > 0), 1, np.where((up > 0) & (down < 0), 2, 0))
        cuts = np.flatnonzero(np.diff(kind)) + 1
        for first, after in zip([0, *cuts], [*cuts, len(line)], strict=True):
            part = straightened(line[first : after + 1])
            lines[("crossing", "sliding", "escaping")[kind[first]]].append(part)

    def _arrows(self, x: tuple[float, float], y: tuple[float, float]) -> list[Trace]:
        """Return arrows in the direction of the flow, in the colour of each region."""
        wide, tall = x[1] - x[0], y[1] - y[0]
        middle = (np.arange(_ARROWS) + 0.5) / _ARROWS
        at = self._grid(x[0] + wide * middle, y[0] + tall * middle)
        c = self._functions(*at)
        rates = self._flow(at[0], at[1], c)[:, list(self.axes)] / [wide, tall]
        speed = np.hypot(*rates.T)
        known = np.isfinite(speed) & (speed > 1e-12 * np.nanmax(speed, initial=1e-300))
        along = np.where(known[:, None], rates / np.where(known, speed, 1.0)[:, None], np.nan)
        along *= 0.4 / _ARROWS
        arrows = np.full((len(along), len(_ALONG) + 1, 2), np.nan)
        arrows[:, :-1] = along[:, None] * _ALONG[:, None]
        arrows[:, :-1] += (along[:, ::-1] * [-1, 1])[:, None] * _ACROSS[:, None]
        shapes = [
            a[:, None] + size * part
            for a, size, part in zip(at, (wide, tall), np.moveaxis(arrows, 2, 0), strict=True)
        ]
        traces: list[Trace] = []
        named = self.named or len(self.cells) <= 2  # beside a run more names would not fit
        for name, colour, signs in self.cells:
            here = np.any([_least(c, one) > 0 for one in signs], axis=0) & known
            drawn = OFF
            if here.any() and self.flow:
                drawn = tuple(a[here].ravel().astype(np.float32) for a in shapes)
            traces.append(
                curve(
                    *drawn,
                    colour,
                    name=name,
                    fill="toself",
                    line={"width": 0},
                    fillcolor=tint(colour, 0.8),
                    hoverinfo="skip",
                    showlegend=named,
                )
            )
        return traces


@functools.lru_cache(maxsize=32)  # a slider seldom moves a surface
def _areas(x: tuple[float, float], y: tuple[float, float], values: bytes) -> list[np.ndarray]:
    """Return the polygons within which a function on the grid over these ranges is positive."""
    return areas(*_grid(x, y, values))


@functools.lru_cache(maxsize=32)
def _surface(x: tuple[float, float], y: tuple[float, float], values: bytes) -> list[np.ndarray]:
    """Return the lines on which that function is zero."""
    return [_dense(line, (x, y)) for line in lines(*_grid(x, y, values))]


def _grid(
    x: tuple[float, float], y: tuple[float, float], values: bytes
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    g = np.frombuffer(values).reshape(_GRID, _GRID)
    return np.linspace(*x, _GRID), np.linspace(*y, _GRID), g


def _dense(line: np.ndarray, ends: tuple[tuple[float, float], tuple[float, float]]) -> np.ndarray:
    """Return a line whose segments are no longer than a cell of the grid."""
    size = np.array([high - low for low, high in ends])
    steps = np.maximum(np.ceil(_GRID * (np.abs(np.diff(line, axis=0)) / size).max(axis=1)), 1)
    place = np.append(0, np.cumsum(steps))
    at = np.arange(place[-1] + 1)
    return np.column_stack([np.interp(at, place, part) for part in line.T])


def _least(c: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """Return a function that is positive where all functions have the given signs."""
    shown = np.flatnonzero(signs)
    least: np.ndarray = (c[..., shown] * signs[shown]).min(axis=-1)
    return least


def _joined(lines: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the lines as one x and one y, with a gap after each line."""
    if not lines:
        return OFF
    gap = np.full((1, 2), np.nan)
    both = np.concatenate([part for line in lines for part in (line, gap)])[:-1]
    x, y = both.astype(np.float32).T
    return np.ascontiguousarray(x), np.ascontiguousarray(y)
