"""The adjoint method: one backward sweep gives the whole gradient of a cost.

Between events the exact transpose of the steps that were marched (`explorer.kernels.adjoint`); at
an event mu- = Xi' mu+ and the gradient gains mu+' Pi. At every event the duality
mu+' S+ - mu-' S- = mu+' Pi is checked against the direct method.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from explorer.errors import NotApplicable
from explorer.sensitivity.direct import Question, Sensitivity, gradient_of, saltation, solve

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
    last = question.last(solution)
    events = len(solution.located) if last is None else solution.located.index(last)
    if last is None:
        t, x = solution.t[-1], solution.x[-1]
    else:
        t, x = march.record[events][0], march.record[events][march.lay["x_minus"]][:n_x]
    _, w_t, w_x, w_rho = question.cost.terminal(t, x, question.rho)
    mu = np.append(w_x, 1.0)
    gradient = np.array([w_rho[k] if k >= 0 else 0.0 for k in question.places])
    if last is not None:
        # dT/drho = -(r_x S- + r_rho) / D is linear in S-: it joins the terminal condition
        row, lay = march.record[events], march.lay
        rates = row[lay["f_minus"]]
        kick = -(rates[n_x] + w_t + w_x @ rates[:n_x]) / row[1]
        mu[:n_x] += kick * row[lay["r_x"]]
        r_rho = row[lay["r_rho"]]
        gradient += kick * np.array([r_rho[k] if k >= 0 else 0.0 for k in question.places])
    tableau = march.tableau
    stages = tableau.stages
    steps = (tableau.A, tableau.c, stages, march.steps, march.step_state)
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
    defect = 0.0
    end = int(march.kinds[events, 4]) if last is not None else len(march.steps)
    for k in range(events - 1, -1, -1):
        first = int(march.kinds[k, 4])
        carry(mu, first, end)
        salt = saltation(solution, k, question.wrt, question.places)
        before = salt.Xi.T @ mu
        gain = mu @ salt.Pi
        size = 1 + np.abs(mu[:, None] * salt.S_plus).sum(axis=0) + np.abs(gain)
        duality = mu @ salt.S_plus - before @ salt.S_minus - gain
        defect = max(defect, float(np.abs(duality / size).max(initial=0.0)))
        gradient += gain
        sides[k] = before, mu
        mu, end = before, first
    carry(mu, 0, end)
    gradient += sweep + mu[:n_x] @ question.seeds()
    value, by_direct = gradient_of(question, solution)
    apart = np.abs(gradient - by_direct).max(initial=0.0) / (1 + np.abs(by_direct).max(initial=0.0))
    return dataclasses.replace(
        direct, method="adjoint", cost=value, cost_gradient=gradient, mu=sides,
        residuals={**direct.residuals, "duality": defect, "direct": float(apart)},
    )  # fmt: skip
