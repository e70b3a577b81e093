"""The adjoint method: one backward sweep gives the whole gradient of a cost.

Between events the exact transpose of the steps that were marched (`explorer.kernels.adjoint`); at
an event mu- = Xi' mu+ and the gradient gains mu+' Pi. What an event and those chained to it do with
their common time is put on the state before the first of them. At every event the duality
mu+' S+ - mu-' S- = mu+' Pi is checked against the direct method.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from explorer.errors import NotApplicable
from explorer.sensitivity.direct import Question, Sensitivity, gradient_of, solve
from explorer.sensitivity.saltation import final
from explorer.trajectory import Jump

__all__ = ["solve_adjoint"]


def solve_adjoint(question: Question) -> Sensitivity:
    """Adjoint method over the event record of the direct one.

    Returns
    -------
    Sensitivity
        `cost_gradient` from the backward sweep; ``residuals["duality"]`` the largest defect at an
        event; ``mu`` (events, 2, n_x + 1) the adjoint before and after each event.
    """
    from explorer.kernels.adjoint import backward

    question.marches("The adjoint transposes")
    if question.scheme.tableau.code > 1:
        raise NotApplicable(
            "The adjoint transposes explicit steps: use method='direct', or an explicit pair."
        )
    direct = solve(question)
    solution = direct.solution
    march, flow = solution.march, question.cost.flow
    n_x, p = flow.n_x, len(question.wrt)
    block, width = n_x + 1, n_x + p
    last = question.last_place(solution)
    count = len(march.kinds)
    moved = np.zeros(count)  # weights with which the times of the events enter the cost
    first_behind = len(march.steps)  # the steps that count end before this one
    marched = march.steps
    if last is None:
        events = count
        t, x, _, _ = march.end()  # the rows of the run are not looked at
        _, w_t, w_x, w_rho = question.cost.terminal(t, x, question.rho)
    else:
        t, x, _, _, rates, _ = final(solution, last)
        _, w_t, w_x, w_rho = question.cost.terminal(t, x, question.rho)
        # dT/drho = -(r_x S- + r_rho) / D is linear in S-: it joins the terminal condition
        ways = march.accumulation(last)
        for k, weight in ways:
            moved[k] = weight * (rates[n_x] + w_t + w_x @ rates[:n_x])
        events = last if len(ways) == 1 else last + 1
        first_behind = int(march.kinds[last, 4])
        if len(ways) > 1:  # it ends a moment behind its last impact
            marched = march.steps.copy()
            while first_behind < len(marched) and marched[first_behind, 0] < t:
                marched[first_behind, 1] = min(
                    marched[first_behind, 1], t - marched[first_behind, 0]
                )
                first_behind += 1
    mu = np.append(w_x, 1.0)
    gradient = np.array([w_rho[k] if k >= 0 else 0.0 for k in question.places])
    tableau = march.tableau
    stages = tableau.stages
    steps = (tableau.A, tableau.c, stages, marched, march.step_state)
    work = (
        np.empty((stages, block)), np.empty((stages, block)), np.empty((stages + 1, block)),
        np.empty(block * (width + 1)), np.empty(block * (width + 1)),
    )  # fmt: skip
    sweep = np.zeros(p)
    wide = (*[-1] * n_x, *question.places)

    def carry(mu: np.ndarray, first: int, end: int) -> None:
        with march.workspace(wide) as lent:
            backward(*lent.problem, *steps, first, end, p, mu, sweep, *work)

    sides = np.zeros((events, 2, block))
    defect, end, waiting = 0.0, first_behind, 0.0
    met, group = 0.0, np.zeros(p)  # what an event and those chained to it have given
    for k in range(count if last is None else last + 1)[::-1]:
        jump, first, after = march.jump(k), int(march.kinds[k, 4]), mu
        if k < events:
            carry(mu, first, end)
            kick, full, by_rho = _parts(jump, question.places)
            met = met + (mu @ jump.s_plus if waiting == 0.0 else 0.0)
            mu, gain = full.T @ mu, by_rho.T @ mu
            waiting -= kick @ after
        else:
            met, gain = mu @ jump.s_minus, np.zeros(p)
        waiting += moved[k]
        met = met + moved[k] * jump.dt_drho
        if not jump.chained:  # its time depends on the state there; else on that of its cause
            rate, waiting = -waiting / jump.slope, 0.0
            mu = mu + rate * np.append(jump.r_x, 0.0)
            gain = gain + rate * _own(jump.r_rho, question.places)
        group = group + gain
        gradient += gain
        if not jump.chained:
            duality = met - mu @ jump.s_minus - group
            size = 1 + np.abs(mu[:, None] * jump.s_minus).sum(axis=0) + np.abs(group)
            defect = max(defect, float(np.abs(duality / size).max(initial=0.0)))
            met, group = 0.0, np.zeros(p)
        if k < events:
            sides[k] = mu, after
        end = first
    carry(mu, 0, end)
    gradient += sweep + mu[:n_x] @ question.seeds()
    value, by_direct = gradient_of(question, solution)
    apart = np.abs(gradient - by_direct).max(initial=0.0) / (1 + np.abs(by_direct).max(initial=0.0))
    return dataclasses.replace(
        direct, method="adjoint", cost=value, cost_gradient=gradient, mu=sides,
        residuals={**direct.residuals, "duality": defect, "direct": float(apart)},
    )  # fmt: skip


def _own(by_rho: np.ndarray, places: tuple[int, ...]) -> np.ndarray:
    """Return the entries of the last axis that the columns mean, 0 for a start value."""
    return np.stack([by_rho[..., k] if k >= 0 else 0 * by_rho[..., 0] for k in places], axis=-1)


def _parts(jump: Jump, places: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return f+ - h_x f- - h_t, h_x and h_rho over (x, z)."""
    n_x = len(jump.r_x)
    full = np.eye(n_x + 1)
    full[:n_x, :n_x] = jump.h_x
    kick = jump.f_plus - full @ jump.f_minus
    kick[:n_x] -= jump.h_t
    by_rho = np.zeros((n_x + 1, len(places)))
    by_rho[:n_x] = _own(jump.h_rho, places)
    return kick, full, by_rho
