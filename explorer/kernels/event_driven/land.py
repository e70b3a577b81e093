"""End a step exactly on the zero of a guard."""

import numpy as np

from explorer.codes import SUCCESS
from explorer.kernels.event_driven.flow import flow, guard_count, guards
from explorer.kernels.event_driven.guard_zero import NOISE
from explorer.kernels.event_driven.records import NEWMARK, UNARMED
from explorer.kernels.event_driven.runge_kutta import advance
from explorer.kernels.event_driven.structures import Automaton, Method, Problem, Search, Step
from explorer.kernels.references import kernel
from explorer.kernels.structures import Vector

__all__ = ["land"]

# a correction this small beside its step is a step of Heun's method: its error, move^3 / 12, is
# below round-off
SMALL = 1e-5
FAR = 1e-8  # a correction beyond this fraction of the step may pass other events


@kernel(inner=True)
def passes_another(problem: Problem, automaton: Automaton, search: Search, j: int) -> bool:
    """Whether an armed guard other than `j` is below its zero at the guards' values."""
    watch, values = search.watch, search.values
    far = False
    for i in range(guard_count(problem, automaton)):
        beyond = watch[i].sign * values[i] - watch[i].shift < -NOISE
        far = far or (i != j and watch[i].arm > UNARMED and beyond)
    return far


@kernel(inner=True)
def shift_end(problem: Problem, step: Step, t: float, move: float, width: int) -> int:
    """Move the end of the step by a step of Heun's method, to t."""
    end, ahead, new = step.end, step.spare, step.new
    size = (width + 1) * (problem.sizes.n_x + 1)
    for m in range(size):
        new[m] += move * end[m]
    status = flow(problem, t, new, ahead, width)
    for m in range(size):
        new[m] += 0.5 * move * (ahead[m] - end[m])
        end[m] = ahead[m]
    return status


@kernel(inner=True)
def land(
    problem: Problem,
    automaton: Automaton,
    method: Method,
    step: Step,
    search: Search,
    j: int,
    t: float,
    y: Vector,
    h: float,
    most: float,
    width: int,
) -> int:
    """End the step on guard `j`: `new` is the state there, found.length the step to it.

    The zero of the polynomial is as good as the step; Newton's method (then secants) on the flow
    itself makes it exact. Only a correction that is not small wants another step from `y`. A guard
    that is nothing but noise could be followed anywhere: not beyond the event of another one.
    """
    new, values, found, last = step.new, search.values, search.found, method.stages
    sign, shift = search.watch[j].sign, search.watch[j].shift
    first = found[0].fraction * h
    tau, slope = found[0].fraction * h, found[0].slope / h
    before, g_before = 0.0, np.inf
    whole, back, misses = True, False, 0
    for trial in range(12):
        if whole:
            status = advance(problem, method, step, 1, last, t, y, tau, width)
        else:
            status = shift_end(problem, step, t + tau, tau - before, width)
        found[0].length = tau
        if status != SUCCESS or back:
            return status
        guards(problem, automaton, t + tau, new, values)
        g = sign * values[j] - shift
        # a kink of the flow spoils a slope; what does not come down is round-off or has no slope
        if abs(g) > 0.5 * abs(g_before):
            misses += 1
        if abs(tau - first) > FAR * h and passes_another(problem, automaton, search, j):
            target, back = first, True
        elif misses > 2 or (misses > 0 and abs(g) <= NOISE):
            if abs(g) <= abs(g_before):
                break
            target, back = before, True
        else:
            if trial > 0:
                slope = (g - g_before) / (tau - before)
            if g == 0.0 or slope == 0.0:
                break
            target = min(tau - g / slope, most)
            if not target > 0.0 or abs(target - tau) <= 2e-16 * (abs(t) + tau):
                break
        # the state at an event of Newmark's is one of his steps, not of Heun's
        whole = abs(target - tau) > SMALL * tau or method.code == NEWMARK
        before, g_before, tau = tau, g, target
    return SUCCESS
