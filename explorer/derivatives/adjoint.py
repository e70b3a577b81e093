"""The adjoint method: one backward sweep gives the whole gradient of a cost.

The run is marched without sensitivities; only its events are differentiated. Between events goes
the exact transpose of the steps that were marched, at an event mu- = Xi' mu+ and the gradient gains
mu+' Pi (`explorer.kernels.event_driven.adjoint`). Its price hardly grows with the number of
parameters. Where the steps that suit the state are too long for the gradient, as where a state
rests that a parameter would move, the steps of the direct method are taken.

What a sensitivity along the run would show is not known then. `check` asks the direct method: for
its gradient, and, at every event of its run, for the duality mu+' S+ - mu-' S- = mu+' Pi.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from explorer.derivatives.direct import Sensitivity, solve
from explorer.derivatives.question import Question, cost_of
from explorer.derivatives.saltation import final
from explorer.errors import NotApplicable, StepFailed
from explorer.kernels.event_driven.records import CHAINED
from explorer.kernels.event_driven.structures import Steps
from explorer.results.solution import Solution
from explorer.runs.event_driven.problem import drive_key, problem, set_drive, set_formulation
from explorer.runs.event_driven.run import Run
from explorer.runs.event_driven.workspace import method_of

if TYPE_CHECKING:
    from explorer.kernels.event_driven.adjoint import Jumps, Sweep

__all__ = ["solve_adjoint"]

_FINE = 1e4  # how much more than the tolerance the errors of the gradient may add up to


def solve_adjoint(question: Question, check: bool = False) -> Sensitivity:
    """Adjoint method.

    Returns
    -------
    Sensitivity
        `cost_gradient` from the backward sweep; ``mu`` (events, 2, n_x + 1) the adjoint before and
        after each event. What needs sensitivities along the run makes the direct method's when it
        is first asked for. With `check`: ``residuals["direct"]``, how far the gradient is from that
        of the direct method, relative, and ``residuals["duality"]``, the largest defect at an event
        of a sweep over the direct method's run.

    Raises
    ------
    NotApplicable
        A scheme whose steps are not explicit.
    """
    scheme = question.marches("The adjoint transposes")
    if scheme.tableau.code > 1:
        raise NotApplicable(
            "The adjoint method needs explicit Runge-Kutta steps. Use method='direct', or an "
            "explicit pair such as EventDriven(method='dop853')."
        )
    run = question.run(wrt=False, events=True)
    swept = _sweep(question, run)
    fine = swept.error <= _FINE * scheme.rtol
    if not fine:  # the steps suit the state, and not what it is differentiated by
        run = question.run()
        swept = _sweep(question, run)
    value = cost_of(question, run)
    found = Sensitivity(
        "adjoint",
        run,
        question.wrt,
        value,
        swept.gradient,
        question,
        mu=swept.mu,
        mu_ends=swept.ends,
    )
    if not fine:
        found.solution = run
    if check:
        direct = solve(question)
        gradient = direct.cost_gradient
        apart = np.abs(swept.gradient - gradient).max(initial=0.0)
        found.solution = direct.solution
        found.residuals |= {
            "duality": _duality(_sweep(question, direct.solution), direct.solution),
            "direct": float(apart / (1 + np.abs(gradient).max(initial=0.0))),
        }
    return found


@dataclass(frozen=True)
class _Sweep:
    """What a sweep backwards leaves.

    Attributes
    ----------
    gradient : (p,)
    ends : (2, n_x + 1) the adjoint at the start and at the end
    mu, gains : (events, 2, n_x + 1), (events, p)
        The adjoint on both sides of each event, and what the gradient gains there.
    moved : (events,) the weight of the time of each event in the cost
    jumps : int
        How many events come before the end of the cost.
    error : float
        Of the gradient, relative to its largest entry, as the embedded errors of the steps add up.
    """

    gradient: np.ndarray
    ends: np.ndarray
    mu: np.ndarray
    gains: np.ndarray
    moved: np.ndarray
    jumps: int
    error: float


def _sweep(question: Question, run: Solution) -> _Sweep:
    """Go back along a run, with columns or without."""
    from explorer.kernels.event_driven.adjoint import (
        JUMP_ROW,
        STEP_ROW,
        TIME_ROW,
        WALK,
        Jumps,
        Sweep,
    )

    march = run.march
    n_x, p = march.flow.n_x, len(question.wrt)
    block, last = n_x + 1, question.last_place(run)
    steps, head, count = march.steps, march.events.head, len(march.steps.t)
    moved, events = np.zeros(len(head)), len(head)
    if last is None:
        t, x, _, _ = march.end()
        _, w_t, w_x, w_rho = question.cost.terminal(t, x, question.rho)
    else:
        t, x, _, _, rates, _ = final(run, last)
        _, w_t, w_x, w_rho = question.cost.terminal(t, x, question.rho)
        # dT/drho = -(r_x S- + r_rho) / D is linear in S-: it joins the terminal condition
        ways = march.accumulation(last)
        for k, weight in ways:
            moved[k] = weight * (rates[n_x] + w_t + w_x @ rates[:n_x])
        events = last if len(ways) == 1 else last + 1
        count = int(head["step"][last])
        if len(ways) > 1:  # it ends a moment behind its last impact
            steps = steps._replace(h=steps.h.copy())
            while count < len(steps.t) and steps.t[count] < t:
                steps.h[count] = min(steps.h[count], t - steps.t[count])
                count += 1
    met = events if last is None else last + 1
    # a row for each step, and between them those of the events
    walk = np.zeros(count + met, WALK)
    order = np.argsort(np.append(np.arange(count) + 0.5, head["step"][:met]), kind="stable")
    step, event = order < count, order >= count
    states = np.zeros((count + met, steps.state.shape[1]), np.int64)
    states[step], walk["kind"][step] = steps.state[order[step]], STEP_ROW
    walk["kind"][event] = np.where(order[event] - count < events, JUMP_ROW, TIME_ROW)
    walk["number"] = np.where(step, order, order - count)
    jumps = Jumps(moved, np.zeros((len(head), 2, block)), np.zeros((len(head), p)))
    stages = march.tableau.stages + 1
    slopes, states_of = np.zeros((2, stages, block))
    sweep = Sweep(
        np.append(w_x, 1.0),
        question.at_the_end(w_rho, t),
        np.zeros(p + 1),
        np.abs(steps.y[:, :block]).max(axis=0, initial=1e-300),
        slopes,
        states_of,
        np.zeros((3 * stages, block)),
        np.zeros((3, block)),
        np.zeros((3, p)),
    )
    ends = np.empty((2, block))
    ends[1] = sweep.mu
    if _backward(march, question.columns, steps, jumps, walk, states, sweep) != 0:
        raise StepFailed(f"'{question.system.name}': the adjoint equations have no solution.", run)
    ends[0] = sweep.mu
    gradient = sweep.gradient + ends[0, :n_x] @ question.seeds()
    size = np.abs(gradient).max(initial=0.0)
    error = sweep.errors[:p].max(initial=0.0) / size if size > 0 else 0.0
    return _Sweep(
        gradient,
        ends,
        jumps.mu[:met],
        jumps.gains[:met],
        moved,
        events,
        float(error + sweep.errors[p]),
    )


def _backward(
    march: Run,
    places: tuple[int, ...],
    steps: Steps,
    jumps: Jumps,
    walk: np.ndarray,
    states: np.ndarray,
    sweep: Sweep,
) -> int:
    """Call the kernel, with what it works on from a run before, if there is one."""
    from explorer.kernels.event_driven.adjoint import backward

    flow, many = march.flow, march.tableau.stages + 1
    idle = flow.workspaces.setdefault(("adjoint", places, many, *drive_key(flow)), [])
    try:
        lent = idle.pop()
    except IndexError:
        lent = problem(flow, places, many)
    first = 1 + flow.n_x
    lent.inp.reshape(many, -1)[:, first : first + flow.n_rho] = march.rho
    set_formulation(lent, march.settings.formulation, many)
    set_drive(lent, flow, places)
    method = method_of(flow, march.tableau)
    status: int = backward(lent, method, steps, march.events, jumps, walk, states, sweep)
    idle.append(lent)
    return status


def _duality(swept: _Sweep, run: Solution) -> float:
    """Return the largest defect of the duality at the events of a run with columns, relative.

    Events that share their time are one.
    """
    worst, after, gained = 0.0, None, 0.0
    for k in range(len(swept.mu))[::-1]:
        jump = run.march.jump(k)
        minus, plus = swept.mu[k]
        if after is None:
            after = plus @ (jump.s_plus if k < swept.jumps else jump.s_minus)
        after = after + swept.moved[k] * jump.dt_drho
        gained = gained + swept.gains[k]
        if int(run.march.events.head["how"][k]) != CHAINED:
            size = 1 + np.abs(minus[:, None] * jump.s_minus).sum(axis=0) + np.abs(gained)
            defect = np.abs(after - minus @ jump.s_minus - gained) / size
            worst = float(np.maximum(worst, defect.max(initial=0.0)))  # also NaN
            after, gained = None, 0.0
    return worst
