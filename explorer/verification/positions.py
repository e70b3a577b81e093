"""How deep a run penetrates and how far it drifts from its constraints, relative to its motion."""

from __future__ import annotations

import numpy as np
import sympy as sp

from explorer.certificate import Check
from explorer.quantities import number, quantity
from explorer.results.solution import Solution
from explorer.systems.constraints import force_name
from explorer.systems.kinks import JUMPS
from explorer.systems.units import phi_unit
from explorer.verification.gradients import gradients

__all__ = ["TOLERATED", "changes", "drift", "penetration", "ranges"]

TOLERATED = 0.05  # of the motion, where the user sets a step and no tolerance
_ROUND_OFF = 1e-12
_ACROSS = 0.01
_FAR = 1e6  # times as far as events are located


def penetration(solution: Solution, allowed: float = TOLERATED, least: float = 0.0) -> list[Check]:
    """Return the check of the deepest penetration of a rigid contact beside its motion.

    `least` in m is how near events are located: less is none, unless all motion is as small.
    """
    system, gap = solution.system, solution.gap
    if not gap.size:
        return []
    rigid = np.array([contact.compliance == 0 for contact in system.contacts])
    with np.errstate(all="ignore"):
        deep = np.where(rigid, np.maximum(-gap.min(axis=0), 0.0), 0.0)
        if not deep.any():
            return [Check("penetration", 0.0, allowed)]
        motion = ranges(solution, int(gap.min(axis=1).argmin()))
        noise = _ROUND_OFF * (1 + np.abs(solution.q).max())
        if np.ptp(solution.q, axis=0).max() > _FAR * least:
            noise = max(noise, 2 * least)
        parts = np.where(deep > noise, deep / np.maximum(motion, 1e-300), 0.0)
    worst = int(np.argmax(parts)) if np.isfinite(parts).all() else int(np.isnan(parts).argmax())
    row = int(gap[:, worst].argmin())
    return [
        Check(
            "penetration",
            float(parts[worst]),
            allowed,
            "",
            f"{system.contacts[worst].name!r} is penetrated by "
            f"{quantity(deep[worst], 'm', 3)} at t = "
            f"{quantity(solution.t[row], 's', 4)}, {number(100 * parts[worst], 2)} % of the motion "
            f"there: {_cause(system.contacts[worst].gap)}",
        )
    ]


def _cause(gap: sp.Expr) -> str:
    """Return what lets a contact be penetrated."""
    if gap.has(*JUMPS):
        return "h is too large for its impacts, or its gap jumps, which no impact law covers."
    return "h is too large for its impacts."


def ranges(solution: Solution, row: int) -> np.ndarray:
    """Return how far the coordinates travel along the normal of each contact at a row, (n_c,)."""
    travel = np.ptp(solution.q, axis=0)
    if solution.has("discs"):  # no formulas, and places without a contact
        return np.full(solution.gap.shape[1], travel.reshape(-1, 3)[:, :2].max())
    opened = np.abs(solution.gap).max(axis=0)
    normals, _ = gradients(solution, row)
    return np.asarray(opened + np.abs(normals) @ travel)


def _travel(solution: Solution) -> np.ndarray:
    """Return how far each coordinate travels, (n,), at least _ACROSS of what others of its unit do.

    What a constraint holds at rest moves by nothing but its violation.
    """
    travel = np.ptp(solution.q, axis=0)
    units = np.array(solution.system.units)
    least = [travel[units == unit].max() for unit in units]
    return np.asarray(np.maximum(travel, _ACROSS * np.array(least)))


def drift(
    solution: Solution,
    allowed: float = TOLERATED,
    remedy: str = "use projection='constraints' or a smaller h.",
) -> list[Check]:
    """Return the check of how far the positions leave the constraints, beside their motion."""
    if not solution.has("constraints") or not solution.phi.size:
        return []
    with np.errstate(all="ignore"):
        phi = np.where(solution.constraints.holds, np.abs(solution.phi), 0.0)
        off, row = phi.max(axis=0), int(phi.max(axis=1).argmax())
        motion = np.abs(gradients(solution, row)[1]) @ _travel(solution)
        parts = np.where(
            off > _ROUND_OFF * (1 + np.abs(solution.q).max()), off / np.maximum(motion, 1e-300), 0.0
        )
    worst = int(parts.argmax())
    return [
        Check(
            "drift",
            float(parts[worst]),
            allowed,
            "",
            f"The constraint {solution.system.constraints[worst].name!r} is violated by "
            f"{quantity(off[worst], phi_unit(solution.system, worst), 3)}, "
            f"{number(100 * parts[worst], 2)} % of the motion: {remedy}",
        )
    ]


def changes(run: Solution, accuracy: float) -> list[Check]:
    """Return the check that constraints hold where their `when` is > 0, and nowhere else."""
    found = getattr(run.system, "changes", ())
    if not found:
        return []
    system, holds, inside = run.system, run.constraints.holds, np.ones(len(run.t), bool)
    for event in run.located:  # on its zero, or on the way from one event to the next
        inside &= run.t != event.t
    forces = [sp.Symbol(force_name(c.name)) for c in system.constraints]
    rho = [sp.Symbol(k) for k in system.parameters]
    args = [system.t, *system.q, *system.v, *rho, *forces]
    values = sp.lambdify(args, [c.r for c in found], "numpy", cse=True)
    r = values(run.t, *run.q.T, *run.v.T, *run.rho.values(), *run.lam_phi.T)
    worst, words = 0.0, ""
    for change, given in zip(found, r, strict=True):
        (c, sign), *_ = change.constraints
        one = sign * np.broadcast_to(given, run.t.shape)
        wrong = np.where(holds[:, c], 0.0 if change.latched else -one, 0.0 if change.once else one)
        part = np.where(inside, wrong, 0.0) / (np.abs(one).max(initial=0.0) or 1.0)
        row = int(part.argmax())
        if part[row] > worst:
            name, on = system.constraints[c].name, "holds" if holds[row, c] else "does not hold"
            worst = float(part[row])
            words = (
                f"The constraint {name!r} {on} at t = {quantity(run.t[row], 's', 4)}, where its "
                f"when is {number(one[row], 3)}: use a smaller rtol or h."
            )
    return [Check("changes", worst, accuracy, "", words)]
