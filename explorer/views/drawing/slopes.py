"""One quantity and its derivative by a parameter, each as a plot against time.

The first plot shows the run, its perturbed twins and their first-order prediction. The second shows
the derivative with its jumps and the finite difference. Both titles give units.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from explorer.derivatives import Sensitivity
from explorer.errors import BadValue, suggest
from explorer.quantities import unit
from explorer.results.solution import Solution
from explorer.systems.units import constraint_units, product
from explorer.views.drawing.one_sided import LIMITS, Sides, limits, shifts
from explorer.views.drawing.picture import (
    COLOURS,
    GREY,
    Plot,
    curve,
    extent,
    label,
    nice,
    time_title,
    titled,
)
from explorer.views.drawing.traces import Trace
from explorer.views.twins import Twins, band, difference, twin_curves

__all__ = [
    "SHIFT", "Quantity", "add_arrows", "arrow_scale", "constraint_place", "force_of",
    "force_slopes", "parameter", "per", "quantities", "slope_plot", "slope_unit", "value_plot",
]  # fmt: skip

STATE, SLOPE = COLOURS[0], COLOURS[2]
SHIFT = "event shift"
_NOTHING = 1e-9  # of a quantity, for all of a parameter's range: less is round-off
_WORK = ("z", "lam_phi")  # whose units and those of parameters may cancel: N per N/m is m


@dataclass(frozen=True)
class Quantity:
    """A quantity that is drawn with its derivative."""

    source: str  # of the rows of a Solution
    i: int
    place: int  # in the first axis but one of S; of constraint forces n_x + 1, ...
    name: str
    unit: str | None  # None if it is not known


def per(top: str, bottom: str) -> str:
    """Return the unit of a derivative.

    >>> per("m/s", "m/s2"), per("m", "kg"), per("m", ""), per("m", "1/s"), per("", "1/s")
    ('(m/s)/(m/s²)', 'm/kg', 'm', 'm s', 's')
    """
    top, bottom = unit(top), unit(bottom)
    if not bottom:
        return top
    if top == bottom:
        return "1"
    if bottom.startswith("1/") and bottom.count("/") == 1:  # per 1/s is times s
        times = bottom[2:].strip("()")
        return unit(f"{times}2") if top == times else f"{top} {times}".strip()
    if not top:
        return f"1/{bottom}" if "/" not in bottom else f"1/({bottom})"
    return "/".join(f"({x})" if "/" in x or " " in x else x for x in (top, bottom))


def slope_unit(u: str, by: str) -> str:
    """Return the unit of a derivative of a cost in its shortest form.

    >>> slope_unit("m2/s", "m/s2"), slope_unit("m2/s", "m"), slope_unit("m2/s", "")
    ('m s', 'm/s', 'm²/s')
    """
    return unit(product(u, f"1/({by})")) if by else unit(u)


def parameter(sens: Sensitivity, j: int) -> tuple[str, str]:
    """Return the label and the unit of a parameter or of an initial state."""
    name = sens.wrt[j]
    system = sens.question.system
    if name in system.parameters:
        return label(name), system.parameters[name].unit
    rate = name.startswith("v_") and name not in system.coordinates
    i = system.coordinates.index(name[2:] if rate else name)
    text, u = label(system.coordinates[i], dot=rate), system.units[i]
    return f"{text}(0)", f"{u}/s" if rate and u else u


def quantities(sens: Sensitivity, coordinate: str | int | None) -> list[Quantity]:
    system = sens.question.system
    names = list(system.coordinates)
    n = len(names)
    if isinstance(coordinate, str) and coordinate not in names:
        raise BadValue(
            f"'{system.name}' has no coordinate {coordinate!r}.{suggest(coordinate, names)}"
        )
    i = names.index(coordinate) if isinstance(coordinate, str) else coordinate or 0
    u = system.units[i]
    if not sens.solution.has_velocities:
        return [Quantity("x", i, i, label(names[i]), u)]
    return [
        Quantity("q", i, i, label(names[i]), u),
        Quantity("v", i, n + i, label(names[i], dot=True), f"{u}/s" if u else ""),
    ]


def constraint_place(sens: Sensitivity, name: str | int | None) -> int | None:
    """Return the number of a constraint of that name, None if there is no such constraint."""
    system = sens.question.system
    names = [c.name for c in getattr(system, "constraints", ())]
    return names.index(name) if name in names and name not in system.coordinates else None


def force_of(sens: Sensitivity, k: int) -> Quantity:
    """Return the force of constraint `k`."""
    system = sens.question.system
    place = sens.question.cost.flow.n_x + 1 + k
    return Quantity("lam_phi", k, place, "λ", constraint_units(system)[k][1])


def force_slopes(rows: Solution) -> np.ndarray:
    """Return the derivatives of the constraint forces along rows, (n_t, m, p)."""
    found = rows.recorded_row("Lam")
    return np.asarray(0.0 - found[:, found.shape[1] - len(rows.system.constraints) :])


def _slopes(sens: Sensitivity, at: Sides, place: int, j: int) -> np.ndarray:
    """Return along the rows dx/drho, then dz/drho, then those of the constraint forces."""
    beyond = place - sens.question.cost.flow.n_x - 1
    if beyond >= 0:
        return force_slopes(at.rows)[:, beyond, j]
    if sens.own is None:
        return at.rows.S[:, place, j]
    S, Z = sens.own
    return Z[:, j] if place == S.shape[1] else S[:, place, j]


def _roomy(clean: np.ndarray, spiky: np.ndarray) -> tuple[float, float]:
    """Return a range that contains the derivative and part of the spikes."""
    low, high = extent(clean)
    room = high - low
    finite = spiky[np.isfinite(spiky)]
    if not finite.size:
        return low, high
    bottom, top = max(finite.min(), low - room), min(finite.max(), high + room)
    return nice(min(low, bottom), max(high, top))


def value_plot(
    at: Sides,
    quantity: Quantity,
    sens: Sensitivity,
    j: int,
    twin: Twins | None,
    ghost: tuple[Sensitivity, Sides] | None,
    span: tuple[float, float],
    by: str,
) -> Plot:
    values = getattr(at.rows, quantity.source)[:, quantity.i]
    traces, seen = [], [at.drawn(values)]
    if twin is not None:
        slopes = _slopes(sens, at, quantity.place, j)
        traces += [band(at, values, slopes, twin)]
        traces += twin_curves(twin, quantity.source, quantity.i, quantity.name, by)
        seen += [trace["y"] for trace in traces[1:]]
    if ghost is not None:
        traces.append(_ghost(ghost, getattr(ghost[1].rows, quantity.source)[:, quantity.i]))
    traces += limits(at, values, STATE, quantity.name)
    if quantity.source != "v":
        for trace in traces:
            trace["showlegend"] = trace["name"] not in (quantity.name, "pinned", *LIMITS)
    title = titled(quantity.name, unit(quantity.unit or ""))
    return Plot(traces, time_title(sens.question.system), title, span, extent(*seen))


def slope_plot(
    at: Sides,
    quantity: Quantity,
    sens: Sensitivity,
    j: int,
    twin: Twins | None,
    ghost: tuple[Sensitivity, Sides] | None,
    span: tuple[float, float],
) -> Plot:
    by, by_unit = parameter(sens, j)
    name = f"d{quantity.name}/d{by}"
    values = _slopes(sens, at, quantity.place, j)
    whole = (
        at.rows.z if quantity.source == "z" else getattr(at.rows, quantity.source)[:, quantity.i]
    )
    if np.abs(values).max(initial=0.0) * _reach(sens, j) <= _NOTHING * np.abs(whole).max(initial=0):
        values = np.zeros_like(values)  # round-off of a parameter that has no influence
    traces, spiky = [], np.empty(0)
    if twin is not None:
        traces.append(difference(twin, quantity.place, quantity.name))
        spiky = traces[0]["y"]
        traces[0]["showlegend"] = quantity.source in "qx"
    if ghost is not None:
        traces.append(_ghost(ghost, _slopes(*ghost, quantity.place, 0)))
    own = limits(at, values, SLOPE, name)
    own[0] |= {"showlegend": quantity.source in "qx", "name": "derivative"}
    u = quantity.unit
    measure = "" if u is None else (slope_unit if quantity.source in _WORK else per)(u, by_unit)
    title = titled(name, measure)
    time = time_title(sens.question.system)
    return Plot([*traces, *own], time, title, span, _roomy(at.drawn(values), spiky))


def _ghost(ghost: tuple[Sensitivity, Sides], values: np.ndarray) -> Trace:
    return curve(
        ghost[1].t,
        ghost[1].drawn(values),
        GREY,
        name="pinned",
        hoverinfo="skip",
        line={"dash": "dot", "width": 1.2},
    )


def arrow_scale(
    sens: Sensitivity, j: int, span: tuple[float, float], before: float | None = None
) -> float:
    """Return the length in s of an arrow for dt/drho = 1; keep `before` where it fits."""
    slopes = [e.dt_drho[j] for e in sens.events if span[0] <= e.t <= span[1]]  # type: ignore[index]
    most, wide = np.abs(slopes).max(initial=0.0), span[1] - span[0]
    if before is not None and 0.05 * wide <= before * most <= 0.25 * wide:
        return before
    return _round(0.15 * wide / most) if most * _reach(sens, j) > _NOTHING * wide else 1.0


def _reach(sens: Sensitivity, j: int) -> float:
    """Return how far a parameter may move: over its range; a start by 1."""
    param = sens.question.system.parameters.get(sens.wrt[j])
    return 1.0 if param is None or param.high <= param.low else param.high - param.low


def add_arrows(plot: Plot, at: Sides, j: int, scale: float, said: str) -> None:
    """Add the event-time sensitivities as arrows in a strip along the time axis of a plot."""
    assert plot.y_range is not None
    low, high = plot.y_range
    strip = 0.14 * (high - low)
    slopes = np.array([0.0 if e.dt_drho is None else e.dt_drho[j] for e in at.rows.located])
    plot.traces += shifts(at, slopes, low - 0.5 * strip, 0.3 * strip, scale, f"{SHIFT} {said}")
    plot.y_range = (low - strip, high)


def _round(x: float) -> float:
    """Return the largest 1, 2 or 5 times a power of ten that is at most x."""
    unit_ = 10.0 ** np.floor(np.log10(x))
    return float(f"{unit_ * max(k for k in (1, 2, 5) if k * unit_ <= x):.3g}")
