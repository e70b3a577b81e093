"""`optimize()`: the plan of an optimal control problem.

Homotopy from a guess, active sets, a smooth program on their sequence, and the sequences beside it
(`explorer.transcription.pipeline`).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from explorer.arguments import a, checked
from explorer.control.compiled_task import guessed_modes, pipeline, point
from explorer.control.plan import Plan, finished
from explorer.control.problem import OptimalControlProblem
from explorer.errors import BadValue
from explorer.parameters import number
from explorer.progress import Progress
from explorer.transcription.outcome import Outcome, Settings
from explorer.transcription.program import Program
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
        "t_end" and "modes", a name for each interval: a mode of a hybrid system, or what a contact
        does ("open", "closed" or "stick", "forward", "backward", and "bounce" for open since an
        impact), a tuple for several contacts. Without them a homotopy finds the sequence. By
        default the states go straight to the target, where it is known.
    x0 : (n_x,) float, optional
        The start; by default that of the system.
    starts : int
        Searches: the first from the guess, the others from random states and controls. A problem
        may have several local optima; the best plan is returned.
    seed : int
        Of the random starts.
    max_iter, max_neighbours : int
        Limits: iterations of a solve, and sequences beside a plan that are solved. At a limit the
        best plan is returned with its status.
    sigmas : sequence of float, optional
        Bounds of the products in the homotopy, in order; by default 1, 1e-2, 1e-4, 1e-6. Slower
        ones find more where many surfaces meet. If no sequence of active sets is solved then, the
        plan of the last one is returned, "not converged": its products are below it.
    progress : bool
        Whether to show a progress bar when it takes long.
    rho, **parameters
        Parameters by name. The others keep their defaults.

    Returns
    -------
    Plan
        Its status says what it is. A search that is interrupted from the keyboard returns its best
        plan so far.

    Raises
    ------
    BadValue
        A guess of a wrong shape, a start outside of its bounds, costs that are not finite.
    NotApplicable
        If CasADi is not installed.
    """
    a(task, OptimalControlProblem, "a problem", "optimize(ex.OptimalControlProblem(system, ...))")
    if not isinstance(starts, int) or starts < 1:
        raise BadValue(f"starts = {starts!r} must be a whole number from 1 on.")
    start, values = task.start(x0, {**(rho or {}), **parameters})
    settings = Settings(most=max_neighbours)
    if sigmas is not None:
        falling = tuple(number(sigma, "sigmas", positive=True) for sigma in sigmas)
        if not falling or any(a <= b for a, b in itertools.pairwise(falling)):
            raise BadValue(f"sigmas = {falling} must fall, such as (1, 1e-2, 1e-4).")
        settings = replace(settings, sigmas=falling)
    search = pipeline(task, settings, max_iter)
    search.modes = guessed_modes(task, guess)
    program = search.first.program
    p = program.parameters(start, np.array(list(values.values())))
    if isinstance(guess, Plan):
        guess = {"x": guess.x, "u": guess.u, "t_end": guess.t_end}
    w = point(task, program, start, guess)
    if not np.isfinite(float(program.costs(w, p))):
        raise BadValue(
            "The costs or formulas are not finite at the guess. Give a guess at which they are."
        )
    bar = Progress(starts * (len(search.settings.sigmas) + 6), "optimize", on=progress)
    search.told = bar
    rng, best = np.random.default_rng(seed), None
    try:
        for k in range(starts):
            outcome = search(w if k == 0 else _random(task, program, w, rng), p)
            best = outcome if best is None else _better(best, outcome)
    except KeyboardInterrupt:
        if best is None:
            raise
        best.status, best.message = "stopped", "interrupted; the best plan so far"
    bar.close()
    search.told = lambda done, name: None  # plans made again later do not go on with this bar
    assert best is not None
    return finished(task, best, search, start, values)


def _better(one: Outcome, other: Outcome) -> Outcome:
    """Return the better of two outcomes."""

    def rank(outcome: Outcome) -> tuple[int, float]:
        return _GOOD.index(outcome.status), float(outcome.program.costs(outcome.w, outcome.p))

    # a plan at a kink may well be better than a stationary one: both are plans
    solved = [o for o in (one, other) if o.status in _GOOD[:2]]
    if len(solved) == 2:
        return min(solved, key=lambda o: rank(o)[1])
    return min((one, other), key=rank)


def _random(
    task: OptimalControlProblem, program: Program, w: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Return a random point: states around the guess, controls within their bounds."""
    of, low, high = program.of, program.low, program.high
    out = w.copy()
    x = w[of["x"]]
    spread = np.maximum(np.ptp(x.reshape(-1, x.shape[-1]), axis=0), 1.0)
    out[of["x"]] = x + 0.5 * spread * rng.standard_normal(x.shape)
    u = of["u"]
    free = ~np.isfinite(high[u] - low[u])
    scale = np.where(free, 1.0, high[u] - low[u])
    begin = np.where(free, w[u] - 0.5, low[u])
    out[u] = begin + scale * rng.random(u.shape)
    return np.clip(out, low, high)
