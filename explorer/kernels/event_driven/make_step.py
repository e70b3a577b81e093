"""One step of the event-driven march: made, judged by its error, cut at its event, recorded."""

from typing import NamedTuple

import numpy as np

from explorer.codes import CONTRADICTORY, NOT_FINITE, STEP_CAP, STIFF, SUCCESS
from explorer.kernels.event_driven.constraint_rank import keeps_rank
from explorer.kernels.event_driven.contact_impact import frictions
from explorer.kernels.event_driven.contradiction import contradiction
from explorer.kernels.event_driven.flow import guard_count, guards
from explorer.kernels.event_driven.land import land
from explorer.kernels.event_driven.locate_event import first_event
from explorer.kernels.event_driven.records import HIDDEN, NONE, RADAU, SAMPLES, UNARMED
from explorer.kernels.event_driven.runge_kutta import advance, interpolate, step_error, stiffness
from explorer.kernels.event_driven.sides import FAILED, cross, free, release, turn
from explorer.kernels.event_driven.step_record import note
from explorer.kernels.event_driven.structures import (
    Automaton,
    Method,
    Options,
    Polynomial,
    Problem,
    Steps,
    Surfaces,
    Workspace,
)
from explorer.kernels.friction.coefficients import IMPROPER
from explorer.kernels.references import kernel

__all__ = ["AGAIN", "make_step"]

# Beyond this part of the limit of stability a fast oscillation makes the error, whose estimate is
# small where its velocity is: so it falls by no more than this from step to step
WARY, FALL = 0.2, 0.5
AGAIN = -10  # beside a status: the step is to be made again
PATIENCE = 6  # steps in a row that are shortened because samples do not show the guards


class Reach(NamedTuple):
    """How far a step goes."""

    length: float  # s
    final: bool  # to the end of the run, or to where inputs change
    guard: int  # that fires in it, or NONE
    turned: int  # surface at which it ends, or NONE
    blur: float  # how badly samples show guards and surfaces


@kernel(inline=True)
def step_length(options: Options, t: float, h: float) -> float:
    """Return h, cut at the grid and by the longest step."""
    h = min(h, options.h_max)
    if options.grid > 0.0:
        h = min(h, (np.floor(t / options.grid + 1e-9) + 1.0) * options.grid - t)
    return h


@kernel(inline=True)
def is_lost(t: float, h: float) -> bool:
    """Whether a step of length h cannot be told from none at t."""
    return h <= 4e-16 * abs(t) or h < 1e-300


@kernel(inner=True)
def control(
    problem: Problem,
    surfaces: Surfaces,
    method: Method,
    options: Options,
    work: Workspace,
    length: float,
) -> tuple[int, float]:
    """Judge the step that was made by its error; return a status or AGAIN, and the next length.

    With an error of h^(-1 / exponent) the next step is 0.9 h error^exponent (Hairer, Norsett,
    Wanner, II.4), within (0.1, 0.9) h if it is made again, else within (0.2, 10) h.
    """
    run, step, t, exponent = work.run, work.step, work.run[0].t, method.exponent
    error = step_error(method, step, work.y, length, problem.sizes.n_x + 1, options.columns)
    if run[0].wary == 1:
        least = FALL * run[0].error * (length / run[0].length) ** (-1.0 / exponent)
        error = max(error, least)
    if not np.isfinite(error) and not free(problem):
        release(problem, surfaces)  # a formula may end at its surface, as sqrt(abs(u)) does
        run[0].rejected += 1
        return AGAIN, 0.0
    if not error <= 1.0:
        run[0].rejected += 1
        run[0].failed = 1
        factor = 0.9 * error**exponent if np.isfinite(error) else 0.1
        run[0].h = length * max(0.1, min(factor, 0.9))
        return NOT_FINITE if is_lost(t, run[0].h) else AGAIN, 0.0
    if frictions(problem, t + length, step.new) != SUCCESS:
        run[0].h = 0.5 * length
        return IMPROPER if run[0].h <= 1e-12 * options.t_end else AGAIN, 0.0
    factor = 10.0 if error == 0.0 else min(10.0, 0.9 * error**exponent)
    if run[0].failed == 1:
        factor = min(factor, 1.0)
    run[0].failed = 0
    reach = 0.0
    if method.code < RADAU:
        reach = stiffness(step, method.stages, length, problem.sizes.n_x)
    run[0].wary = 1 if reach > WARY * method.stiff else 0
    run[0].error, run[0].length = error, length
    if reach > method.stiff:
        run[0].calm = 0
        run[0].stiff += 1
        if run[0].stiff >= 40 and run[0].steps > 200:
            return STIFF, 0.0
    else:
        run[0].calm += 1
        if run[0].calm >= 6:
            run[0].stiff = 0
    return SUCCESS, length * max(factor, 0.2)


@kernel(inner=True)
def locate(
    problem: Problem,
    automaton: Automaton,
    surfaces: Surfaces,
    method: Method,
    options: Options,
    work: Workspace,
    length: float,
    final: bool,
) -> tuple[int, Reach]:
    """Find the first surface and the first event in the step; return a status, and its reach.

    A step that meets a surface is made again and ends there. AGAIN: the samples do not show the
    guards, and the step is made shorter; or a surface has been crossed at its start.
    """
    run, step, search, y, found = work.run, work.step, work.search, work.y, work.search.found
    t, width, s = run[0].t, options.columns, method.stages
    patient = run[0].blurred < PATIENCE
    guard, turned, blur = NONE, NONE, 0.0
    if problem.sides.size > 0:
        turned = cross(problem, method, surfaces, step, search, t, y, length, width, patient)
        if turned == FAILED:
            return found[0].status, Reach(length, final, guard, turned, blur)
        blur = found[0].blur
        if turned >= 0 and found[0].length == 0.0:
            status = turn(problem, surfaces, step, search, turned, t, y, length, width)
            status = AGAIN if status == SUCCESS else status
            return status, Reach(length, final, guard, turned, blur)
        if turned >= 0:
            length, final = found[0].length, False
    if guard_count(problem, automaton) > 0 and turned != HIDDEN:
        if method.last > s:
            status = advance(problem, method, step, s + 1, method.last, t, y, length, 0)
            if status != SUCCESS:
                return status, Reach(length, final, guard, turned, blur)
        interpolate(method, step, y, length, problem.sizes.n_x)
        polynomial = Polynomial(method.code, step.dense, y, t, length)
        guard = first_event(problem, automaton, polynomial, search, final, options.band, patient)
        blur = max(blur, found[0].blur)
    reach = Reach(length, final, guard, turned, blur)
    if turned == HIDDEN or guard == HIDDEN:
        run[0].blurred += 1
        run[0].rejected += 1
        run[0].h = length * max(0.2, 0.9 * blur**-0.2)
        return NOT_FINITE if is_lost(t, run[0].h) else AGAIN, reach
    run[0].blurred = 0
    return SUCCESS, reach


@kernel(inner=True)
def arrive(
    problem: Problem,
    automaton: Automaton,
    method: Method,
    options: Options,
    work: Workspace,
    steps: Steps,
    reach: Reach,
) -> int:
    """End the step at its event, if it has one, and record it; return the status of the flow."""
    run, step, search, y = work.run, work.step, work.search, work.y
    t, length, guard, found = run[0].t, reach.length, reach.guard, work.search.found
    tau = length
    if guard >= 0:
        status = SUCCESS
        tau = min(found[0].fraction, 1.0) * length
        if search.watch[guard].arm != UNARMED and found[0].fraction < 1.0 - 1e-15:
            most = length if reach.final else 1.5 * length
            status = land(
                problem,
                automaton,
                method,
                step,
                search,
                guard,
                t,
                y,
                length,
                most,
                options.columns,
            )
            tau = found[0].length
        elif 0.0 < tau < length:
            status = advance(problem, method, step, 1, method.stages, t, y, tau, options.columns)
        if status != SUCCESS:
            return status
    if tau > 0.0:
        status = keeps_rank(problem, work.rank, t, y, step.new, tau)
        if status != SUCCESS:
            return status
        note(problem, steps, run[0].steps, t, tau, y, step.slope)
        for m in range(y.size):
            y[m] = step.new[m]
        run[0].steps += 1
        run[0].t = run[0].stop if reach.final and tau == length else t + tau
    return SUCCESS


@kernel(inner=True)
def go_on(
    problem: Problem,
    automaton: Automaton,
    surfaces: Surfaces,
    options: Options,
    work: Workspace,
    turned: int,
    whole: float,
) -> int:
    """Take over slopes and guards for the next step of the stretch; return the status of the flow.

    `turned` is the surface at which this one has ended, `whole` the length that its error let it
    have.
    """
    step, search, y, t = work.step, work.search, work.y, work.run[0].t
    samples, values, count = search.samples, search.values, guard_count(problem, automaton)
    for m in range(y.size):
        step.slope[m] = step.end[m]
    for j in range(count):
        samples[0, j] = samples[SAMPLES, j]
    if problem.sides.size > 0:
        status = turn(problem, surfaces, step, search, turned, t, y, whole, options.columns)
        if status != SUCCESS:
            return status
        guards(problem, automaton, t, y, values)
        for j in range(count):
            samples[0, j] = values[j]
    return SUCCESS


@kernel(inner=True)
def make_step(
    problem: Problem,
    automaton: Automaton,
    surfaces: Surfaces,
    method: Method,
    options: Options,
    work: Workspace,
    steps: Steps,
) -> tuple[int, int]:
    """Make a step; return a status or AGAIN, and the guard that has fired at its end, or NONE."""
    run, s = work.run, method.stages
    t, width = run[0].t, options.columns
    if run[0].steps >= options.max_steps:
        return STEP_CAP, NONE
    run[0].h = step_length(options, t, run[0].h)
    whole, final = run[0].h, False
    if t + 1.0000001 * whole >= run[0].stop:
        whole, final = run[0].stop - t, True
    status = advance(problem, method, work.step, 1, s, t, work.y, whole, width)
    if status != SUCCESS:
        return status, NONE
    run[0].evaluations += s
    status, next_h = control(problem, surfaces, method, options, work, whole)
    if status != SUCCESS:
        return status, NONE
    status, reach = locate(problem, automaton, surfaces, method, options, work, whole, final)
    if status != SUCCESS:
        return status, NONE
    if guard_count(problem, automaton) > 0 or problem.sides.size > 0:
        next_h = min(next_h, whole * min(10.0, 0.9 * max(reach.blur, 1e-9) ** -0.2))
    status = arrive(problem, automaton, method, options, work, steps, reach)
    if status == SUCCESS and problem.state[0].dependent > 0:
        problem.state[0].fault = contradiction(problem, run[0].t, work.y, options.t_end)
        status = CONTRADICTORY if problem.state[0].fault >= 0 else SUCCESS
    if status != SUCCESS or reach.guard >= 0:
        return status, reach.guard
    run[0].h = max(next_h, run[0].h) if final else next_h  # only the end of the interval cut it
    status = go_on(problem, automaton, surfaces, options, work, reach.turned, whole)
    return status, NONE
