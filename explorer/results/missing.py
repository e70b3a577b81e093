"""What is said where a run is asked for what it has not."""

from __future__ import annotations

from explorer.errors import NoSuchName, suggest
from explorer.results.parts import PARTS
from explorer.results.run import Run
from explorer.results.steps import OF_SCHEMES

__all__ = ["missing"]


def missing(run: Run, name: str) -> AttributeError:
    """Return the error that says why a run has no such thing, and what it has."""
    if name.startswith("_") or "system" not in vars(run):
        return AttributeError(f"'Solution' object has no attribute {name!r}")
    return NoSuchName(
        "A Solution",
        name,
        lambda: [k for k in dir(run) if k.islower() and k != name],
        lambda: _hint(run, name),
    )


def _hint(run: Run, name: str) -> str:
    system, recorded = run.system, vars(run).get("recorded")
    if recorded is not None and recorded.kept(name) == ():
        return f" It was not recorded: {recorded.recorder!r} keeps none of it."
    if name in PARTS:
        return _without(run, name)
    if system.discrete and name in ("rates", "v", "a"):
        return (
            f" '{system.name}' is a map: run.x holds its iterates, and nothing moves between them."
        )
    if not run.has_velocities and name in (*PARTS["contacts"].flat, "v", "a"):
        return (
            f" '{system.name}' is a {system.kind}: run.x holds its states, run.rates their rates."
        )
    if name in system._state_names():
        return f" It is a column: run[{name!r}]."
    if name in OF_SCHEMES:
        return f" {type(run.scheme).__name__} records none of it: {OF_SCHEMES[name]}."
    if whole := next((k for k, part in PARTS.items() if name in part.flat), ""):
        return _without(run, whole)
    near = suggest(name, [k for k in dir(run) if not k.startswith("_")])
    return near if "Did you mean" in near else f"{_have(run)} dir(run) lists all names."


def _without(run: Run, whole: str) -> str:
    """Return why a run has no such part, and what it has."""
    why = PARTS[whole].absence(run)
    return f" {why[:1].upper()}{why[1:]}.{_have(run)}" if why else ""


def _have(run: Run) -> str:
    have = [k for k, part in PARTS.items() if not part.absence(run)]
    return f" This run has: {', '.join([*have, 'events'])}."
