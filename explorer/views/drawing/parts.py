"""Parts of a run that a view may draw: a test whether a run has them, and their description."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple, TypeGuard

from explorer.results.solution import Solution
from explorer.views.drawing.picture import Plot
from explorer.views.drawing.traces import Meta, Start, Trace

__all__ = ["PARTS", "Part", "has_constraints", "has_contacts", "has_friction", "start", "undragged"]


_MOST_STARTS = 6  # coordinates whose starts are dragged: more points would hide the curves


def start(solution: Solution, y: tuple[int, bool], x: tuple[int, bool] | None = None) -> Start:
    """Return the settings at the first point of a curve over time, or of `y` over `x`.

    Each is the index of a coordinate, and whether its velocity is meant.
    """
    names = solution.system.coordinates
    if len(names) > _MOST_STARTS or (y[1] and not solution.has_velocities):
        return {}
    still = "q0" if solution.has_velocities else "x0"
    key = {True: "v0", False: still}
    along: Start = {} if x is None else {"x": f"{key[x[1]]}.{names[x[0]]}"}
    return {**along, "y": f"{key[y[1]]}.{names[y[0]]}"}


def undragged(plot: Plot) -> Plot:
    """Return a plot whose first points are no settings that can be dragged."""
    traces: list[Trace] = []
    for trace in plot.traces:
        meta = trace.get("meta", {})
        kept: Meta = {"t": meta["t"]} if "t" in meta else {}
        traces.append(trace | {"meta": kept} if meta else trace)
    return replace(plot, traces=traces)


def has_contacts(solution: Solution) -> bool:
    """Whether the run has contacts."""
    return bool(solution.system.contacts) and solution.p.ndim == 2 and bool(solution.p.shape[1])


def has_friction(solution: Solution | None) -> TypeGuard[Solution]:
    """Whether the run records friction forces."""
    return solution is not None and bool(solution.system.rough)


def _has_multipliers(solution: Solution) -> bool:
    return solution.by_laws and bool(solution.lam.shape[1])


def _has_active_sets(solution: Solution) -> bool:
    return solution.has("multipliers")


def _has_switches(solution: Solution) -> bool:
    return solution.has("boundaries") and bool(solution.system.switches)


def _has_phase_plane(solution: Solution) -> bool:
    return solution.has("boundaries") and solution.system.n > 1


def _has_one_step_problem(solution: Solution) -> bool:
    return has_contacts(solution) and not solution.has("march")


def _has_pseudo_time(solution: Solution) -> bool:
    return solution.has("pseudo")


def has_constraints(solution: Solution) -> bool:
    """Whether the run records constraints."""
    return solution.has("constraints") and bool(solution.phi.shape[1])


def _has_located_impacts(solution: Solution) -> bool:
    if solution.has("pseudo") or not solution.has_velocities:
        return False
    changes = bool(getattr(solution.system, "changes", ()))
    return (has_contacts(solution) or changes) and solution.has("march")


class Part(NamedTuple):
    """A part of a run."""

    there: Callable[[Solution], bool]  # whether a run has it
    text: str  # what it is, and which runs have it


PARTS = {
    "active sets": Part(
        _has_active_sets, "active sets of step functions, run by FESD, or of laws, by EulerMoreau"
    ),
    "billiard table": Part(
        lambda s: s.system.discrete and s.system.straight and bool(s.system.shapes),
        "the ball of a map whose sketch goes straight between its iterates",
    ),
    "constraints": Part(has_constraints, "constraints of a mechanical system"),
    "contacts": Part(has_contacts, "contacts of a mechanical system"),
    "friction": Part(
        has_friction,
        "friction of a mechanical system whose contacts have mu and slip, run by EventDriven or "
        "MoreauJean",
    ),
    "inputs": Part(lambda s: s.has("inputs"), "inputs, declared by system.inputs(...)"),
    "located impacts": Part(
        _has_located_impacts,
        "contacts or constraints with a `when` of a mechanical system, run by EventDriven",
    ),
    "modes": Part(lambda s: bool(s.mode_names), "modes of a system of first order"),
    "multipliers": Part(_has_multipliers, "the multipliers and laws that EulerMoreau returns"),
    "one state of a map": Part(
        lambda s: s.system.discrete and s.q.shape[1] == 1, "the iterates of a map of one state"
    ),
    "one-step problem": Part(
        _has_one_step_problem,
        "contacts in steps that pass over events, as those of MoreauJean",
    ),
    "phase plane": Part(
        _has_phase_plane, "two states of a system with step functions, run by FESD"
    ),
    "pseudo-time": Part(
        _has_pseudo_time,
        "time freezing: FESD of a mechanical system with a contact, or of a relay with hysteresis",
    ),
    "switches": Part(_has_switches, "step functions, run by FESD"),
    "velocities": Part(lambda s: s.has_velocities, "velocities of a mechanical system"),
}
