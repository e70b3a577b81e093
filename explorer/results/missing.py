"""What is said where a run is asked for what it has not."""

from __future__ import annotations

from explorer.errors import NoSuchName
from explorer.results.parts import PARTS
from explorer.results.run import Run

__all__ = ["missing"]

_MARCHED = {"march", "located", "state", "refined", "nearest", "z", "S", "fesd_residual"}


def missing(run: Run, name: str) -> AttributeError:
    """Return the error that says why a run has no such thing, and what it has."""
    if name.startswith("_") or "system" not in vars(run):
        return AttributeError(f"'Solution' object has no attribute {name!r}")
    return NoSuchName(
        "A Solution",
        name,
        lambda: [k for k in dir(run) if k.islower() and k != name],
        _hint(run, name),
    )


def _hint(run: Run, name: str) -> str:
    system, recorded = run.system, vars(run).get("recorded")
    if recorded is not None and recorded.kept(name) == ():
        return f" It was not recorded: {recorded.recorder!r} keeps none of it."
    if name in PARTS:
        have = [k for k, part in PARTS.items() if not part.absence(run)]
        why = PARTS[name].absence(run)
        return f" {why[:1].upper()}{why[1:]}. This run has: {', '.join([*have, 'events'])}."
    if system.discrete and name in ("rates", "v", "a"):
        return (
            f" '{system.name}' is a map: run.x holds its iterates, and nothing moves between them."
        )
    if not run.has_velocities and name in (*PARTS["contacts"].flat, "v", "a"):
        return (
            f" '{system.name}' is a {system.kind}: run.x holds its states, run.rates their rates."
        )
    if name in _MARCHED and "march" not in vars(run):
        scheme = type(run.scheme).__name__
        return f" {scheme} steps over events: EventDriven and FESD locate them and have it."
    if name in system._state_names():
        return f" It is a column: run[{name!r}]."
    return ""
