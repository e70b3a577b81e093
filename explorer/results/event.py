"""What happens in a run, and its state at one time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from explorer.errors import BadValue, NoSuchName, lacking
from explorer.quantities import number, quantity
from explorer.results.display import html, plain
from explorer.types import Reals

__all__ = [
    "KINDS",
    "LOCATE",
    "Event",
    "Events",
    "Jump",
    "LocatedEvent",
    "Sample",
    "Switch",
    "within",
]

LOCATE = "EventDriven and FESD locate their events and have it"
KINDS = ("event", "impact", "closed", "released", "zeno", "slips", "sticks", "turns")
_MOST = 20  # rows of a table that is not scrolled


@dataclass(frozen=True)
class Event:
    """Something that happened to one contact.

    Attributes
    ----------
    t : float
        Time in s; a time-stepping scheme knows it to one step.
    kind : str
        "impact", "closed" (contact lasts from here) or "released".
    contact, index : str, int
        Name and number of the contact. For a constraint that begins to hold or is released: its
        name, and its number, which follows those of the contacts.
    row : int
        Row of the solution that holds the right limit.
    v_minus, v_plus : (n,) float
        Velocities before and after.
    gap_dot_minus, gap_dot_plus : float
        Normal velocity before and after in m/s, phi' for a constraint; plus = -e minus at a single
        impact. A scheme that knows the time to one step adds what forces do in the step, of order
        h.
    impulse : float
        Normal impulse in N s; for "closed" the impulse of its first step.
    """

    t: float
    kind: str
    contact: str
    index: int
    row: int
    v_minus: np.ndarray
    v_plus: np.ndarray
    gap_dot_minus: float
    gap_dot_plus: float
    impulse: float

    if not TYPE_CHECKING:  # a type checker would take any attribute then

        def __getattr__(self, name: str) -> object:
            if name not in LocatedEvent.__dataclass_fields__:
                return lacking(self, name)
            why = f"Its scheme steps over events. {LOCATE}"
            if name in ("mode", "to"):
                why = "A contact has no modes: `kind` tells what it does"
            raise NoSuchName("This event", name, lambda: dir(self), f" {why}.")


@dataclass(frozen=True)
class Switch(Event):
    """A law that changed its place.

    Attributes
    ----------
    kind : str
        "closes" (y = 0 from here), "opens" (lam = 0), of a relay "slides" (y = 0 from here),
        "leaves", or "crosses".
    contact : str
        Name of the multiplier.
    mode, to : str
        Names of the modes before and after.
    """

    mode: str = ""
    to: str = ""


@dataclass(frozen=True)
class LocatedEvent(Event):
    """An event at its exact time.

    Attributes
    ----------
    kind : str
        "impact", "closed" (impact after which the contact stays closed, or a constraint that begins
        to hold), "released", "zeno"
        (infinitely many impacts end here), of friction "slips" (sticking has ended), "sticks"
        (sliding has ended) or "turns" (from sliding one way to the other), "event" (a guard of a
        `HybridSystem`), or of a system with step functions "crosses", "slides" (a slide on the
        surface begins), "leaves" or "touches" (it grazes the surface).
    x_minus, x_plus : (n_x,) state on both sides
    slope : float
        dr/dt of the guard at the event: small means grazing.
    together : int
        How many contacts met at once.
    mode, to : str
        Modes before and after ("" for a mechanical system).
    dt_drho : (p,) float or None
        Sensitivity of the event time, if sensitivities were asked for; NaN where there is none.
    chained : bool
        Whether the event before it caused it, beyond the zero of its guard: both share one time and
        one `dt_drho`.
    directional : bool
        Whether its derivatives differ from one side of the parameters to the other, because
        several events meet.
    margin : float
        Grazing margin: how far the guard would go beyond its zero, slope**2 / (2 |d2r/dt2|), over
        the error that the tolerances leave in it. Below about 100 an error within the tolerance may
        turn the event into a miss; the relative error of `dt_drho` is some 1 / (2 margin).
    energy : float
        Kinetic energy in J that an impact gives, or takes where it is below zero; also what a
        constraint that begins to hold takes.
    """

    x_minus: np.ndarray
    x_plus: np.ndarray
    slope: float
    together: int
    mode: str
    to: str
    dt_drho: np.ndarray | None
    chained: bool = False
    directional: bool = False
    margin: float = np.inf
    energy: float = 0.0


@dataclass(frozen=True)
class Jump:
    """What differentiates an event: x+ = h(t, x-, rho) where r(t, x, rho) = 0.

    Attributes
    ----------
    t : float
    y : (n_x + 1,) (x, z) before it
    f_minus, f_plus : (n_x + 1,) (x', z') on both sides
    s_minus, s_plus : (n_x + 1, p) derivatives of (x, z) at a fixed time, on both sides
    dt_drho : (p,)
    slope, r_x, r_rho : float, (n_x,), (n_rho,)
        dr/dt before it, and the derivatives of r.
    h_x, h_t, h_rho : (n_x, n_x), (n_x,), (n_x, n_rho)
    chained : bool
        Whether it happened beyond the zero of r, caused by the event before: `dt_drho` is its.
    """

    t: float
    y: np.ndarray
    f_minus: np.ndarray
    f_plus: np.ndarray
    s_minus: np.ndarray
    s_plus: np.ndarray
    dt_drho: np.ndarray
    slope: float
    r_x: np.ndarray
    r_rho: np.ndarray
    h_x: np.ndarray
    h_t: np.ndarray
    h_rho: np.ndarray
    chained: bool = False


E = TypeVar("E", bound=Event)


class Events(list[E]):
    """The events of a run in order of time: a list that shows itself as a table.

    Parameters
    ----------
    events : iterable of Event
    time_unit : str
    moved : bool
        Whether they are of a motion: then they have speeds and impulses, and else modes.
    """

    moved = True

    def __init__(
        self, events: Iterable[E] = (), time_unit: str = "s", *, moved: bool = True
    ) -> None:
        super().__init__(events)
        self.time_unit, self.moved = time_unit, moved

    def __repr__(self) -> str:
        return plain(*_columns(self, self.time_unit, self.moved))

    def _repr_html_(self) -> str:
        return html(*_columns(self, self.time_unit, self.moved))


def _columns(
    events: Sequence[Event], time_unit: str, moved: bool
) -> tuple[list[str], list[list[str]], str]:
    """Return heads, rows and a note: what the table of some events shows."""
    moded = not moved or any(getattr(e, "mode", "") for e in events)
    time = f"t ({time_unit})" if time_unit else "t"
    if moded:
        heads = [time, "event", "guard", "mode"]
    else:
        heads = [time, "event", "contact", "v- (m/s)", "v+ (m/s)", "p (N s)"]
    rows = []
    for e in events[:_MOST]:
        head = [number(e.t, 6), e.kind, e.contact]
        if moded:
            mode, to = getattr(e, "mode", ""), getattr(e, "to", "")
            rows.append([*head, mode if mode == to else f"{mode} -> {to}"])
        else:
            figures = (e.gap_dot_minus, e.gap_dot_plus, e.impulse)
            rows.append([*head, *(number(x, 3) for x in figures)])
    more = len(events) - len(rows)
    note = f"{len(events)} event{'s' * (len(events) != 1)}"
    return heads, rows, note + (f", the first {len(rows)} shown" if more else "")


@dataclass(frozen=True)
class Sample:
    """State at one time: t (s), q (n,), v (n,), gap (n_c,); at k times each has k rows."""

    t: float | np.ndarray
    q: np.ndarray
    v: np.ndarray
    gap: np.ndarray


def within(t: float | Reals, side: str, low: float, high: float) -> np.ndarray:
    """Return one time in s, or a row of them, found to lie in a span, where `side` is known.

    Raises
    ------
    BadValue
        If one of them does not, or is no number; if the side is neither "left" nor "right".
    """
    if side not in ("left", "right"):
        raise BadValue(f"side = {side!r} must be 'left' or 'right'.")
    try:
        times = np.asarray(t, float)
    except (TypeError, ValueError):
        times = np.empty((0, 0))
    if times.ndim > 1:
        raise BadValue(f"t = {t!r} must be a time in s or a sequence of times.")
    outside = times[~((times >= low) & (times <= high))]
    if outside.size:
        raise BadValue(f"t = {quantity(outside.flat[0], 's')} lies outside [{low:g}, {high:g}] s.")
    return times
