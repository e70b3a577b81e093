"""Energy that no force explains, of a run of a mechanical system.

With E = T + V and the works W of forces that have no potential, of damping, yielding and moving
obstacles, contacts and friction can only take from E - W (Newton's law with 0 <= e <= 1, Coulomb's
law): how far it rises is energy made. What is left when the works of contacts and friction are
counted too should stay zero, or fall by what the scheme says it damps: what falls beyond is lost.
"""

from __future__ import annotations

import numpy as np

from explorer.certificate import Check
from explorer.errors import NotApplicable
from explorer.quantities import number
from explorer.results.solution import Solution
from explorer.systems import StateSpaceSystem
from explorer.verification.energy_balance import EnergyBalance, balance
from explorer.verification.forces import inverse_masses

__all__ = ["TOLERATED", "judged", "made_and_lost", "remedy"]

TOLERATED = 1e-2  # of the energy of the motion, where the user sets a step and no tolerance
_ROUND_OFF = 1e-12  # of a potential
_AT_REST = 1e-9  # of the energy that the impulse of a step could give: less is no motion
_BLOWN = 1e12  # times the first kinetic energy: beyond use, if nothing explains it


def made_and_lost(
    solution: Solution,
    kept: np.ndarray | float = 0.0,
    damped: np.ndarray | None = None,
    rows: np.ndarray | None = None,
) -> list[Check]:
    """Return the check of energy that is made, and, if it can be told, of energy that is lost.

    Parameters
    ----------
    solution : of a time-stepping scheme for mechanical systems
    kept : (n_t,) what the scheme conserves besides T + V, J
    damped : (n_t,) what the scheme means to damp up to each row in J; None: it does not say
    rows : (n_t,) bool, optional
        Where v is the velocity: not in the middle of an impact that takes two steps.
    """
    if isinstance(solution.system, StateSpaceSystem) or len(solution.t) < 3:
        return []
    try:
        energies = balance(solution)
    except NotApplicable:  # constraints that move do work
        return []
    with np.errstate(all="ignore"):
        at = slice(None) if rows is None else rows
        return judged(energies, kept, damped, at, remedy(solution.scheme), _by_impacts(energies))


def remedy(scheme: object) -> str:
    """Return what makes a scheme give less energy to the motion."""
    weights = [name for name in ("theta", "gamma") if hasattr(scheme, name)]
    return f"a smaller h{f' or {weights[0]} >= 1/2' if weights else ''}"


def judged(
    found: EnergyBalance,
    kept: np.ndarray | float,
    damped: np.ndarray | None,
    rows: np.ndarray | slice,
    use: str,
    struck: float = 0.0,
) -> list[Check]:
    """Return the checks of energies and works that are known: see `made_and_lost`.

    `use` is the advice: see `remedy`. `struck` is what impacts have given, in J.
    """
    driven = found.external + found.damping + found.yielding + _driven(found)
    scale, unsure = _scale(found), found.uncertain
    free = (found.energy + kept - driven)[rows]
    made = float((free - np.minimum.accumulate(free)).max() / scale)
    allowed = TOLERATED + unsure / scale
    grown = found.kinetic.max() > _BLOWN * found.kinetic[1:3].max()
    blown = bool(grown and not made <= 0.5) or not np.isfinite(made)
    words = (
        f"The motion gains {_percent(made)} of its energy without a cause: no force, moving "
        f"obstacle or impact law explains it. Use {use}"
    )
    if struck > 0.5 * made * scale:
        words = (
            f"Impacts give the motion {_percent(made)} of its energy: Newton's law of impact does "
            "so with friction, or for several contacts at once, where impulses couple. Use a "
            "smaller e or mu: with e = 0 no impact gives energy"
        )
    if blown:
        words = (
            "the motion blew up: its energy grew by more than 10^12, and no force explains that. "
            "Use a smaller h, or an implicit scheme"
        )
    checks = [Check("energy made", made, allowed, "", f"{words}{'' if blown else '.'}", blown)]
    if damped is None or blown:
        return checks
    left = (found.numerical + kept + damped)[rows]
    lost = float((np.maximum.accumulate(left) - left).max() / scale)
    return [
        *checks,
        Check(
            "energy lost",
            lost,
            allowed,
            "",
            f"The motion loses {_percent(lost)} of its energy without a cause: no force or contact "
            "dissipates it, and the scheme has no intended damping. Use a smaller h.",
        ),
    ]


def _scale(found: EnergyBalance) -> float:
    """Return the energy of the motion in J: kinetic, of the potential what comes and goes, work."""
    potential = found.potential
    works = (found.external, found.damping, found.yielding)
    size = found.kinetic.max() + np.ptp(potential) + max(float(np.abs(w).max()) for w in works)
    size += _ROUND_OFF * np.abs(potential).max()
    run = found.solution
    if not run.has("march") and run.p.shape[1]:  # at rest: what a step's forces do
        size += _AT_REST * (run.p**2 * inverse_masses(run)[: run.p.shape[1]]).max()
    return float(size) or 1.0


def _by_impacts(found: EnergyBalance) -> float:
    """Return what contacts and friction give in the steps in which they give, J.

    One contact without friction gives nothing, but for the forces of its step.
    """
    run = found.solution
    if not run.p.shape[1] or any(contact.compliance != 0 for contact in run.system.contacts):
        return 0.0
    work, coupled = run.contact_work.sum(axis=1), (run.p > 0).sum(axis=1) > 1
    if run.system.rough:
        work = work + run.friction_work.sum(axis=1)
        coupled |= np.any(run.p_t.reshape(len(run.p), -1) != 0, axis=1)
    return float(np.maximum(np.diff(work), 0.0)[coupled[1:]].sum())


def _driven(found: EnergyBalance) -> np.ndarray:
    """Return the work of obstacles and belts that move, and of contacts that give way, (n_t,)."""
    run = found.solution
    if run.has("march") or not run.p.shape[1]:
        return np.zeros_like(found.kinetic)
    gives_way = [contact.compliance != 0 for contact in run.system.contacts]
    work = found.contact - run.contact_work[:, np.logical_not(gives_way)].sum(axis=1)
    if run.system.rough:
        work = work + found.friction - run.friction_work.sum(axis=1)
    return np.asarray(work)


def _percent(part: float) -> str:
    return f"{number(100 * part, 2)} %" if part < 10 else f"{number(part, 2)} times"
