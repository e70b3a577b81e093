"""Two lessons that differentiate by running twice: across events, and through time stepping.

*Finite difference*: central, on event-driven runs; refused where the two runs do not meet the same
events, since no derivative exists across a change of sequence. Between the two event times it shows
a spike of height 1 / delta where the derivative has a clean jump (Corner et al. 2019, Fig. 1, 2).

*Discrete*: the derivative of the Moreau-Jean algorithm itself, taken where no active set changes.
It does not see that an impact moves in time, so it converges to the wrong number as h -> 0.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from explorer.compiled import compile_system
from explorer.derivatives.direct import Sensitivity, solve
from explorer.derivatives.question import Question, cost_of
from explorer.derivatives.sequence import sequence
from explorer.errors import BadModel, BadValue, NotApplicable
from explorer.results.solution import Solution
from explorer.schemes.moreau_jean import MoreauJean
from explorer.systems import MechanicalSystem

__all__ = ["solve_difference", "solve_discrete", "twins"]


def twins(question: Question, j: int, delta: float) -> tuple[Solution, Solution]:
    """Return the runs at rho_j - delta / 2 and rho_j + delta / 2 (eq. (30)), whatever they meet.

    Raises
    ------
    BadModel
        A run cannot begin, such as one whose start violates a constraint that moves with rho_j.
    """
    runs = []
    for sign in (-0.5, 0.5):
        if question.places[j] >= 0:
            try:
                runs.append(question.moved(j, sign * delta).run(wrt=False))
            except BadModel as error:
                name, value = question.wrt[j], question.value(j) + sign * delta
                raise BadModel(
                    f"A difference in {name!r} needs a run at {name} = {value:.10g}, which cannot "
                    f"begin: {error} If the start has to follow {name!r}, write it as a formula of "
                    f"{name!r}, or let .start(q=..., assemble=True) move it."
                ) from error
        else:
            start = question.start()[0] + sign * delta * question.seeds()[:, j]
            runs.append(question.run(wrt=False, x0=start))
    return runs[0], runs[1]


def solve_difference(question: Question, delta: float = 1e-6) -> Sensitivity:
    """Central difference of event-driven runs, NaN at times that one of the two does not reach.

    Raises
    ------
    BadValue
        If the event sequence changes within `delta`.
    """
    direct = solve(question, jumps=True)
    grid = np.unique(direct.t)
    fixed = dataclasses.replace(question, t_eval=grid)
    n_x = question.cost.flow.n_x
    S = np.full((len(grid), n_x, len(question.wrt)), np.nan)
    Z = np.full((len(grid), len(question.wrt)), np.nan)
    gradient = np.zeros(len(question.wrt))
    for j, place in enumerate(question.places):
        size = delta * max(1.0, abs(question.value(j)) if place >= 0 else 1.0)
        low, high = twins(fixed, j, size)
        base = direct.solution
        if not sequence(low, base) == sequence(high, base) == sequence(base, base):
            raise BadValue(
                f"The runs at {question.wrt[j]} ± {size / 2:g} and the run between them have "
                f"different event sequences ({len(low.located)}, {len(high.located)} and "
                f"{len(direct.solution.located)} events). No derivative exists across such a "
                "change; a smaller delta may keep the sequence."
            )
        # a fall ends the run, in one of the two before the last times of the grid
        both = grid <= min(low.t[-1], high.t[-1])
        x_low, z_low = _on(low, grid[both])
        x_high, z_high = _on(high, grid[both])
        S[both, :, j], Z[both, j] = (x_high - x_low) / size, (z_high - z_low) / size
        ends = []
        for run, sign in ((low, -0.5), (high, 0.5)):
            moved = question.moved(j, sign * size) if place >= 0 else question
            ends.append(cost_of(moved, run))
        gradient[j] = (ends[1] - ends[0]) / size
    place_of = np.searchsorted(grid, direct.t)
    size = 1 + np.abs(direct.cost_gradient).max(initial=0.0)
    apart = float(np.abs(gradient - direct.cost_gradient).max(initial=0.0) / size)
    return dataclasses.replace(
        direct,
        method="finite_difference",
        own=(S[place_of], Z[place_of]),
        cost_gradient=gradient,
        residuals={**direct.residuals, "direct": apart},
    )


def _on(run: Solution, grid: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return x and z at the grid times (left limits where an event falls on one)."""
    rows = np.searchsorted(run.t, grid)
    return run.x[rows], run.z[rows]


def solve_discrete(
    question: Question, h: float | None = None, scheme: MoreauJean | None = None
) -> Sensitivity:
    """Differentiate the time-stepping algorithm itself (its active sets held).

    Parameters
    ----------
    question : Question
    h : float, optional
        Step size in s; by default that of the scheme, or of the system.
    scheme : MoreauJean, optional

    Returns
    -------
    Sensitivity
        S on the direct method's rows; ``residuals["direct"]`` tells how wrong it is at the end.

    Raises
    ------
    NotApplicable
        For systems without time stepping, a cost that ends at an event, or where no perturbation
        keeps the active sets.
    """
    system = question.system
    if not MoreauJean.fits(system) or not isinstance(system, MechanicalSystem):
        raise NotApplicable(
            "'discrete' differentiates Moreau-Jean time stepping, which accepts "
            f"{MoreauJean.takes}."
        )
    if question.until is not None:
        raise NotApplicable(
            "'discrete' differentiates up to a fixed time: time stepping does not locate the event "
            f"{question.until[0]!r}, so by how much it moves is not known. Leave until out, or use "
            "method='direct'."
        )
    direct = solve(question)
    scheme = MoreauJean(h=system.h) if scheme is None else scheme
    scheme = scheme if h is None else dataclasses.replace(scheme, h=h)
    compiled = compile_system(system)
    n_x = question.cost.flow.n_x
    S = np.zeros((len(direct.t), n_x, len(question.wrt)))
    start, _ = question.start()
    for j, place in enumerate(question.places):
        for power in range(5, 12):
            delta = 10.0**-power * max(1.0, abs(question.value(j)) if place >= 0 else 1.0)
            runs = []
            for sign in (-0.5, 0.5):
                rho, x0 = question.rho.copy(), start + sign * delta * question.seeds()[:, j]
                if place >= 0:
                    rho[place] += sign * delta
                n = system.n
                runs.append(scheme.run(compiled, rho, question.t_end, q0=x0[:n], v0=x0[n:]))
            if np.array_equal(runs[0].pattern, runs[1].pattern):
                break
        else:
            raise NotApplicable(
                f"No difference step in {question.wrt[j]!r} keeps the active sets of all time "
                "steps."
            )
        rows = np.minimum(np.searchsorted(runs[0].t, direct.t - 1e-12), len(runs[0].t) - 1)
        for k, run in enumerate(runs):
            S[:, :, j] += (2 * k - 1) / delta * np.hstack([run.q, run.v])[rows]
    value = cost_of(question, direct.solution)
    _, _, w_x, w_rho = question.cost.terminal(direct.t[-1], direct.solution.x[-1], question.rho)
    by_rho = np.array([w_rho[k] if k >= 0 else 0.0 for k in question.places])
    Z = np.full((len(direct.t), len(question.wrt)), np.nan)
    gradient = (
        w_x @ S[-1] + by_rho if question.cost.cost.g is None else np.full(len(by_rho), np.nan)
    )
    size = 1 + np.abs(direct.S[-1]).max(initial=0.0)
    apart = float(np.abs(S[-1] - direct.S[-1]).max(initial=0.0) / size)
    return dataclasses.replace(
        direct,
        method="discrete",
        own=(S, Z),
        cost=value,
        cost_gradient=gradient,
        residuals={"direct": apart},
    )
