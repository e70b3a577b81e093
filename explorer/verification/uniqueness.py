"""Whether a run could have gone on otherwise: at a moment, or along a slide that nothing holds.

On such a slide the fields of both sides lead away from the surface. The state may leave at any
time, to either side, so a run that stays is one of infinitely many solutions (Filippov 1988,
doi:10.1007/978-94-015-7793-9). A run comes there through a two-fold, or starts there.
"""

from __future__ import annotations

import numpy as np

from explorer.certificate import Check
from explorer.compiled import compile_switched
from explorer.compiled.formulas import Formulas
from explorer.quantities import quantity
from explorer.results.solution import Solution
from explorer.systems.step import StepSystem

__all__ = ["held_by_nothing", "unique"]

_TANGENT = 1e-6  # of the fields' rates: at a fold one of them is tangent, and its rate zero


def unique(solution: Solution) -> list[Check]:
    """Return the checks that a run with located switches is the only one."""
    return [solution.uniqueness, *held_by_nothing(solution)]


def held_by_nothing(solution: Solution) -> list[Check]:
    """Return the check that the fields lead to the surfaces on which the run slides.

    What slides on several surfaces at once is not judged.
    """
    system = solution.system
    if not isinstance(system, StepSystem) or not system.switches:
        return []
    signs = solution.signs
    sliding = np.flatnonzero((signs == 0).sum(axis=1) == 1)
    away = np.zeros(len(signs), bool)
    on = np.argmin(np.abs(signs), axis=1)
    away[sliding] = _away(solution, signs, sliding, on[sliding])
    begins = np.flatnonzero(away & ~np.r_[False, away[:-1]])
    words = ""
    if len(begins):
        first = begins[0]
        more = f", and later on {len(begins) - 1} more times" if len(begins) > 1 else ""
        name = system.switches[on[first]].name
        words = (
            f"From t = {quantity(solution.t[first], system.time_unit)} on at the latest nothing "
            f"holds the slide on '{name}'{more}: on both sides the field leads away from it, so "
            "the state may leave at any time. The run stays, which is one of many solutions."
        )
    return [Check("slides that nothing holds", len(begins), 0, "", words)]


def _away(solution: Solution, signs: np.ndarray, rows: np.ndarray, on: np.ndarray) -> np.ndarray:
    """Return at which of the rows both fields lead away from the surface `on`."""
    if not len(rows):
        return np.zeros(0, bool)
    formulas = Formulas(compile_switched(solution.system), [*solution.rho.values()])
    t, x, k = solution.t[rows], solution.x[rows], np.arange(len(rows))
    gradient = formulas.functions(t, x)[1][k, on]
    rates = []
    for side in (1, -1):
        beside = signs[rows].copy()
        beside[k, on] = side
        alpha = (beside > 0).astype(float)
        if formulas.compiled.stewart:
            alpha = formulas.compiled.theta(alpha)
        rates.append((gradient * formulas.rates(t, x, alpha)).sum(axis=1))
    up, down = rates
    least = _TANGENT * np.max(np.abs(rates))
    return np.asarray((up > least) & (down < -least))
