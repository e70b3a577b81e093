"""`optimize()`: the plan of an optimal control problem.

Homotopy from a guess, active sets, a smooth program on their sequence, and the sequences beside it
(`explorer.transcription.pipeline`).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from explorer.arguments import a, checked, items
from explorer.control.compiled_task import pipeline
from explorer.control.finite import check_finite
from explorer.control.guess import guessed_modes, point
from explorer.control.options import MOST_STAGES
from explorer.control.plan import Plan, finished
from explorer.control.problem import OptimalControlProblem
from explorer.errors import BadValue
from explorer.parameters import number, whole
from explorer.progress import Progress
from explorer.systems import values_given
from explorer.transcription.halt import watched
from explorer.transcription.outcome import SOLVED, Outcome, Settings
from explorer.transcription.pipeline import Pipeline
from explorer.transcription.polish import polish
from explorer.transcription.shaken import shaken
from explorer.transcription.solver import Halted
from explorer.types import Reals

__all__ = ["optimize"]

_GOOD = ("stationary", "at a kink", "stopped", "not converged", "infeasible")  # the best first


@checked
def optimize(
    task: OptimalControlProblem,
    guess: object = None,
    *,
    x0: Reals | None = None,
    starts: int = 1,
    seed: int = 0,
    max_iter: int = 1000,
    max_neighbours: int = 60,
    sigmas: Sequence[float] | None = None,
    seconds: float | None = None,
    progress: bool = True,
    rho: Mapping[str, float] | None = None,
    **parameters: float,
) -> Plan:
    """Find controls of least cost.

    Parameters
    ----------
    task : OptimalControlProblem
    guess : (intervals + 1, n_x) float, dict or Plan, optional
        States at the ends of the control intervals; or a dict of "x", "u" (intervals, n_u),
        "t_end", "unknowns", a value by name, "algebraic", a value or (intervals + 1,) values by
        name, and "modes", a name for each interval: a mode of a hybrid system, or what a contact
        does ("open", "closed" or "stick", "forward", "backward", and "bounce" for open since an
        impact), a tuple for several contacts. Without them a homotopy finds the sequence; with
        contacts it begins again, with other sigmas and then at the same three random points, while
        none is solved. By default the states go straight to the target, where it is known.
    x0 : (n_x,) float, optional
        The start; by default that of the system.
    starts : int
        Searches: the first from the guess, the others from random states and controls. A problem
        may have several local optima; the best plan is returned.
    seed : int, of the random starts
    max_iter, max_neighbours : int
        Limits: iterations of a solve, and sequences beside a plan that are solved. At a limit the
        best plan is returned with its status. With contacts these sequences together take no more
        than three quarters of the iterations of the homotopy, or 300; the message tells it.
    sigmas : sequence of float, optional
        Bounds of the products in the homotopy, in order; by default 1, 1e-2, 1e-4, 1e-6. Slower
        ones find more where many surfaces meet. If no sequence of active sets is solved then, the
        plan of the last one is returned, "not converged": its products are below it.
    seconds : float, optional
        A time limit. At the limit, and at an interrupt from the keyboard, the search stops within
        the solve that runs, and the best plan is returned.
    progress : bool, whether to show a progress bar when it takes long
    rho, **parameters
        Parameters by name. The others keep their defaults.

    Returns
    -------
    Plan
        Its status says what it is. If the exact replay misses it, the problem is solved again with
        one more stage or element; `plan.task` and the message say so.

    Raises
    ------
    BadValue
        A guess of a wrong shape, a start outside of its bounds, costs that are not finite.
    NotApplicable
        If CasADi is not installed.

    >>> import explorer as ex
    >>> ex.optimize(ex.tasks.rough_block()).status
    'stationary'
    """
    a(task, OptimalControlProblem, "a problem", "optimize(ex.OptimalControlProblem(system, ...))")
    limit = None if seconds is None else number(seconds, "seconds", "s", positive=True)
    starts, seed = whole(starts, "starts"), whole(seed, "seed", 0)
    max_iter = whole(max_iter, "max_iter")
    max_neighbours = whole(max_neighbours, "max_neighbours", 0)
    asked = values_given(task.system, rho, parameters)
    _known(task, asked)
    start, values = task.start(x0, asked)
    search = pipeline(task, _settings(max_neighbours, sigmas), max_iter)
    search.modes = guessed_modes(task, guess)
    program = search.first.program
    p = program.parameters(start, np.array(list(values.values())))
    if isinstance(guess, Plan):
        guess = guess.as_guess
    w = point(task, program, p, guess)
    check_finite(task, program, w, p)
    bar = Progress(starts * (len(search.settings.sigmas) + 6), "optimize", on=progress)
    search.told = bar
    rng = np.random.default_rng(seed)
    best: Outcome | None = None
    with watched(limit, told=search.heard) as watch:
        for k in range(starts):
            outcome = search(w if k == 0 else shaken(program, w, rng), p)
            best = outcome if best is None else _better(best, outcome)
            if watch.why:
                break
        assert best is not None  # there is one search at least
        if watch.why and best.status in SOLVED:
            best.message += f"; stopped in search {k + 1} of {starts}: {watch.why}"
        plan = _followed(finished(task, best, search, start, values), search, bool(watch.why))
    bar.close()
    search.told = lambda done, name: None  # plans made again later do not go on with this bar
    return plan


def _known(task: OptimalControlProblem, asked: Mapping[str, float]) -> None:
    """Refuse values of parameters that are unknowns of the problem."""
    for name in asked.keys() & task.ranges.keys():
        raise BadValue(
            f"{name!r} is an unknown of this problem: the plan chooses it. Where the search begins "
            f"is part of the guess: guess={{'unknowns': {{{name!r}: {asked[name]}}}}}."
        )


def _followed(plan: Plan, search: Pipeline, stopped: bool) -> Plan:
    """Return an inexact plan on finer elements, which its exact replay follows, if one is found."""
    coarse, own = plan.task, plan.outcome.plan
    chooses = np.ptp(coarse.control_limits, axis=-1).any() or coarse.ranges
    chooses = chooses or coarse.times[0] < coarse.times[1]
    if plan.status != "inexact" or own is None or stopped or coarse.method != "fesd" or not chooses:
        return plan  # where nothing is chosen, it simulates on the grid that was asked for
    stages, elements = coarse.stages + 1, coarse.elements
    if coarse.stages == MOST_STAGES:
        stages, elements = coarse.stages, coarse.elements + 1
    task = replace(coarse, stages=stages, elements=elements)
    finer = pipeline(task, search.settings, search.smooth.max_iter)
    finer.told, finer.budget = search.told, search.budget
    w, p = plan.outcome.w, plan.outcome.p
    try:
        solved = polish(finer.smooth, plan.outcome.program, w, own.sequence, p, elastic=False)
        if not solved.ok:
            return plan
        outcome = finer.improved(solved, solved.parameters, wide=True)
    except Halted:
        return plan
    outcome.message += (
        f"; {_grid(task)} in an interval, as with {_grid(coarse)} the exact replay missed the plan "
        f"by {plan.defect:.2g}"
    )
    exact = finished(task, replace(outcome, log=plan.log + finer.log), finer, plan.x[0], plan.rho)
    return plan if exact.status == "inexact" else exact


def _grid(task: OptimalControlProblem) -> str:
    several = "s" if task.elements > 1 else ""
    return f"{task.elements} element{several} of {task.stages} stages"


def _settings(most: int, sigmas: Sequence[float] | None) -> Settings:
    """Return the limits of a search."""
    settings = Settings(most=most)
    if sigmas is None:
        return settings
    falling = tuple(number(sigma, "sigmas", positive=True) for sigma in items(sigmas, "sigmas"))
    if not falling or any(a <= b for a, b in itertools.pairwise(falling)):
        raise BadValue(f"sigmas = {falling} must fall, such as (1, 1e-2, 1e-4).")
    return replace(settings, sigmas=falling)


def _better(one: Outcome, other: Outcome) -> Outcome:
    """Return the better of two outcomes."""

    def rank(outcome: Outcome) -> tuple[int, float]:
        return _GOOD.index(outcome.status), float(outcome.program.costs(outcome.w, outcome.p))

    # a plan at a kink may well be better than a stationary one: both are plans
    solved = [o for o in (one, other) if o.status in _GOOD[:2]]
    if len(solved) == 2:
        return min(solved, key=lambda o: rank(o)[1])
    return min((one, other), key=rank)
