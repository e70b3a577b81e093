"""Sampled forcing: an earthquake, a measured load, any array of numbers at even times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from explorer.arguments import Checked
from explorer.errors import BadModel, BadValue
from explorer.parameters import number
from explorer.quantities import quantity
from explorer.systems.arrays import vector
from explorer.systems.expressions import text
from explorer.systems.moving import Moving
from explorer.types import Formula, Plain

__all__ = ["Record", "check_span", "checked", "listed"]


@dataclass(frozen=True, eq=False)
class Record(metaclass=Checked):
    """A force ``along * r(t)`` with samples r_0, r_1, ... at t = 0, dt, ..., linear between them.

    Parameters
    ----------
    dt : float
        Distance of the samples in s.
    values : (k,) float, k >= 2
        The samples: a force in N, or an acceleration in m/s2 with masses in `along`.
    along : (n,) formulas
        Direction, for each coordinate; may depend on parameters, not on the state.
    name : str
        "record 1", ... if empty.

    Examples
    --------
    >>> import explorer as ex
    >>> ex.Record(0.01, [0.0, 1.0, 0.5], along=["m"], name="quake")
    Record('quake', 3 samples every 0.01 s)
    """

    dt: float
    values: Sequence[float] | np.ndarray
    along: Sequence[Formula] | np.ndarray
    name: str = ""

    @property
    def duration(self) -> float:
        """Time of the last sample in s."""
        return self.dt * (len(self.values) - 1)

    def __repr__(self) -> str:
        return f"Record({self.name!r}, {len(self.values)} samples every {quantity(self.dt, 's')})"


def checked(record: Record, system: Moving) -> Record:
    """Return the record with its arguments converted to numbers and expressions.

    Raises
    ------
    BadModel, BadValue
        See `LagrangianSystem.forcing`.
    """
    label = record.name or f"record {len(system.records) + 1}"
    dt = number(record.dt, f"dt of {label!r}", "s", positive=True)
    masked = np.flatnonzero(np.ma.getmaskarray(np.ma.asarray(record.values)))
    if masked.size:
        raise BadModel(
            f"Sample {masked[0]} of {label!r} (t = {quantity(masked[0] * dt, 's')}) is masked, and "
            f"{masked.size} are in all; a record needs every sample. Fill the gaps, such as "
            "by numpy.interp between their neighbours."
        )
    try:
        if np.iscomplexobj(record.values):
            raise TypeError
        values = np.array(record.values, float)
    except (TypeError, ValueError):
        raise BadModel(
            f"The samples of {label!r} must be a one-dimensional sequence of real numbers."
        ) from None
    if values.ndim != 1 or values.size < 2:
        raise BadModel(
            f"The samples of {label!r} must be a one-dimensional sequence of two or more numbers, "
            f"but their shape is {values.shape}."
        )
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise BadModel(
            f"Sample {bad[0]} of {label!r} (t = {quantity(bad[0] * dt, 's')}) is {values[bad[0]]}; "
            "every sample must be finite."
        )
    if label in [r.name for r in system.records]:
        raise BadModel(f"Two records of '{system.name}' are called {label!r}.")
    along = vector(record.along, system.n, system.symbols(), f"along of {label!r}")
    fixed = {*system.symbols(state=False).values()}
    state = {x for f in along for x in f.free_symbols} - fixed
    if state:
        raise BadModel(
            f"along of {label!r} depends on {min(map(str, state))!r}; it may depend on parameters "
            "only."
        )
    values.flags.writeable = False
    return Record(dt, values, along, label)


def check_span(records: Sequence[Record], t_end: float) -> None:
    """Refuse a run that goes on after a record has ended.

    Raises
    ------
    BadValue
    """
    for record in records:
        if t_end > record.duration * (1 + 1e-12):
            raise BadValue(
                f"The record {record.name!r} ends at t = {quantity(record.duration, 's')} "
                f"({len(record.values)} samples every {quantity(record.dt, 's')}), before t_end = "
                f"{t_end:g} s. Use a shorter t_end, or append zeros to the samples."
            )


def listed(records: Sequence[Record]) -> list[Plain]:
    """Return records as plain data."""
    return [
        {
            "dt": r.dt,
            "values": np.asarray(r.values).tolist(),
            "along": list(map(text, r.along)),
            "name": r.name,
        }
        for r in records
    ]
