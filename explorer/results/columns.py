"""Which quantities the rows of a run have, in the order of its columns."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from explorer.errors import BadArgument, BadValue, suggest
from explorer.results.contacts import Contacts
from explorer.results.parts import PARTS
from explorer.results.quantity import Quantity, per_second
from explorer.results.run import Run
from explorer.results.states import kept_of

__all__ = ["column", "quantities"]


def column(columns: Mapping[str, np.ndarray], name: str) -> np.ndarray:
    """Return the column of a name, (n_t,).

    Raises
    ------
    BadValue
        If there is no such column, or `name` is no name.
    """
    if not isinstance(name, str):
        first = next((k for k in columns if k != "t"), "t")
        raise BadArgument(
            f"{name!r} is not the name of a column: write run[{first!r}], one name at a time. "
            "run.columns has all columns by name."
        )
    if name not in columns:
        near = suggest(name, columns)
        if "Did you mean" in near:  # and if it was not meant
            near += f" It has: {', '.join([*columns][:24])}{', ...' * (len(columns) > 24)}."
        raise BadValue(f"The run has no column {name!r}.{near}")
    return columns[name]


def quantities(run: Run) -> list[Quantity]:
    """Return what every row has besides its time."""
    found, recorded, system = [], run.recorded, run.system
    if "q" in vars(run) or recorded is None:
        dim, names, units = kept_of(recorded, "q", system.coordinates, system.units)
        found.append(Quantity("q", run.q, dim, names, units, columns=names))
    dim, names, units = kept_of(recorded, "v", system.coordinates, system.units)
    if names and run.has_velocities:
        found.append(Quantity("v", run.v, dim, names, per_second(units)))
    found += PARTS["inputs"](run).quantities if run.has("inputs") else []
    contacts, states = Contacts(run), PARTS["states"](run).quantities
    touching = bool(system.contacts)
    found += contacts.quantities if touching else []
    if run.has("switches"):
        found += PARTS["switches"](run).quantities
    marched = run.has("march") or not run.has_velocities
    found += states if marched else []
    found += contacts.forces if touching else []
    found += [] if marched else states
    if run.has("constraints"):
        found += PARTS["constraints"](run).quantities
    found += contacts.friction if touching else []
    for name in ("discs", "springs", "multipliers"):
        found += PARTS[name](run).quantities if run.has(name) else []
    return found
