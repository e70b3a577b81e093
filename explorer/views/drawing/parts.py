"""Parts of a run that a view may draw: a test whether a run has them, and their description."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeGuard

from explorer.results.solution import Solution

__all__ = ["PARTS", "Part", "has_constraints", "has_contacts", "has_friction"]


def has_contacts(solution: Solution) -> bool:
    """Whether the run has contacts."""
    return bool(solution.system.contacts) and solution.p.ndim == 2 and bool(solution.p.shape[1])


def has_friction(solution: Solution | None) -> TypeGuard[Solution]:
    """Whether the run records friction forces."""
    return solution is not None and bool(solution.system.rough)


def _has_multipliers(solution: Solution) -> bool:
    return solution.has("laws") and bool(solution.lam.shape[1])


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
