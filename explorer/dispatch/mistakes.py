"""Likely mistakes: what a system or a run suggests was not meant, one sentence each.

These are not errors: the system is accepted. A warning is given only if the numbers themselves are
a symptom, so that intended models cause no warnings.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from explorer.parameters import Param
from explorer.results.solution import Solution
from explorer.systems import System
from explorer.types import Reals

__all__ = ["MOVED", "after", "before", "moved"]

MOVED = 1e-6  # beside 1 and the largest number of a start: what assembly may move it by

_WIDTHS = 30  # a value further from a linear range than so many widths of it was hardly meant,
_DECADES = 2  # and so was one beyond a logarithmic range by so many decades


def before(system: System, given: Iterable[str], rho: Sequence[float]) -> list[str]:
    """Return what is suspicious of the parameters that a run was given, by name."""
    found = []
    for (name, param), value in zip(system.parameters.items(), rho, strict=True):
        if name not in given or param.low <= value <= param.high:
            continue
        usual = Param(param.value)
        if (param.low, param.high) == (usual.low, usual.high):  # nobody declared a range
            continue
        unit = f" {param.unit}" if param.unit else ""
        here = f"{name} = {value:g}{unit}"
        span = f"its range [{param.low:g}, {param.high:g}]{unit}"
        if (param.low > 0 > value) or (param.high < 0 < value):
            found.append(f"{here} has the opposite sign of {span}. Check the sign.")
        elif _far(param, value):
            found.append(f"{here} lies far outside {span}. Check the unit.")
    return found


def _far(param: Param, value: float) -> bool:
    if param.log:
        wide = 10.0**_DECADES
        return not param.low / wide <= value <= param.high * wide
    wide = _WIDTHS * (param.high - param.low)
    return not param.low - wide <= value <= param.high + wide


def after(system: System, solution: Solution, started: bool) -> list[str]:
    """Return what is suspicious of a run; `started` tells whether it was given a start."""
    found = []
    if not (started or system.started) and _rests(solution):
        found.append(
            "no start is set, and the system does not move from zero. Call .start(...), or give a "
            "start to the run."
        )
    names = {c.name: k for k, c in enumerate(system.contacts)}
    laws = {c.name for c in system.contacts if c.reset}  # what an impact does is given there
    bare = [n for n in system.without_e if n in names and n not in laws]
    if bare and (struck := [n for n in bare if _strikes(solution, names[n])]):
        found.append(
            f"the contact {struck[0]!r} has no restitution e, so e = 0 is used and it does not "
            "rebound. Give e, such as Contact(..., e=0.8), or state e=0."
        )
    if names and not _met(solution) and all(_runs_away(solution, k) for k in names.values()):
        found.append(
            f"the gap of {next(iter(names))!r} grows ever faster from the start, so the contact "
            "never closes. If the body should hit it, reverse the sign of the gap: a gap is > 0 "
            "where the body is free."
        )
    return found


def moved(system: System, given: Reals, found: Reals) -> tuple[float, str]:
    """Return how far assembly has moved a start that was given, and a sentence on it.

    Parameters
    ----------
    given : (n,) or (2 n,) q, or q and v, as given; NaN where nothing was given
    found : the same of the run, on the constraints
    """
    given, found = np.asarray(given, float), np.asarray(found, float)
    if getattr(system, "assembles", None) is None or not system.constraints:
        return 0.0, ""
    asked = np.where(np.isnan(given), 0.0, np.abs(found - given))
    size = 1.0 + np.nanmax(np.abs(given), initial=0.0)
    k, name = int(asked.argmax()), (*system.coordinates, *(f"v_{q}" for q in system.coordinates))
    return float(asked.max() / size), (
        f"the start that was given does not keep the constraints: {name[k]} = {given[k]:.4g} "
        f"became {found[k]:.4g}, the nearest that does. Give a start from `explorer.assemble` to "
        "have it kept."
    )


def _rests(solution: Solution) -> bool:
    """Whether nothing ever moves; of what moves the last row mostly tells it."""
    states = _state(solution)
    if any((x[-1] != x[0]).any() for x in states):
        return False
    return all(np.ptp(x, axis=0).max(initial=0.0) == 0 for x in states)


def _state(solution: Solution) -> list[np.ndarray]:
    return [solution.q, solution.v] if solution.has_velocities else [solution.q]


def _met(solution: Solution) -> bool:
    """Whether any contact ever carried an impulse; rows are made only where nothing happened."""
    if not solution.has_velocities:
        return False
    march = vars(solution).get("march")
    if march is not None and (march.counts[1] or solution.active.any()):
        return True
    return bool(solution.p.any())


def _strikes(solution: Solution, k: int) -> bool:
    """Whether a contact has had an impact that takes a speed away which is not round-off."""
    return any(
        e.index == k and e.impulse > 0 and e.gap_dot_minus < 0 and e.kind in ("impact", "closed")
        for e in solution.events
    )


def _runs_away(solution: Solution, k: int) -> bool:
    """Whether a gap is open from the start on and its rate grows throughout, from zero or more."""
    gap, rate = solution.gap[:, k], solution.gap_dot[:, k]
    if solution.t[-1] < 0.5 * solution.system.t_end:  # too early to tell
        return False
    if len(rate) < 3 or gap[0] < 0 or rate[0] < 0:
        return False
    rise = np.diff(rate)
    moved = np.ptp(solution.q, axis=0).max(initial=0.0)
    far = gap[-1] - gap[0] > max(gap[0], 0.01 * moved)  # and not by round-off
    return bool(far and (rise > 1e-9 * np.ptp(rate)).all())
