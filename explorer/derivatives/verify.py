"""A second opinion on a derivative that replays nothing of the first.

The run is made anew by another method at another tolerance, and differentiated; and its difference
quotients (psi(rho + d) - psi(rho)) / d are taken to both sides, d from large to small, without any
derivative formula. Where the two sides differ the derivative is directional.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from explorer.certificate import Check
from explorer.derivatives.cost import compile_cost
from explorer.derivatives.question import Question, cost_of, gradient_of
from explorer.derivatives.sequence import sequence
from explorer.derivatives.trust import DIGITS, Trust
from explorer.errors import BadValue, ExplorerError
from explorer.quantities import number
from explorer.results.solution import Solution
from explorer.schemes import Scheme
from explorer.schemes.event_driven import EventDriven
from explorer.schemes.fesd import FESD

__all__ = ["another", "verify"]

_OTHER = {"dop853": "dopri5", "dopri5": "dop853", "radau": "dop853"}
_STEPS = (1e-3, 1e-4, 1e-5, 1e-6)  # of the difference quotients, relative to the parameter
_AGREE = 10.0**-DIGITS


def another(scheme: Scheme) -> EventDriven | FESD:
    """Return another method at another tolerance.

    Of EventDriven another Runge-Kutta pair at a tenth of the tolerances; of FESD one stage more at
    half the step; of Newmark's methods the pair of order 8.
    """
    if isinstance(scheme, FESD):
        more = 1 if scheme.stages < 4 else -1
        return dataclasses.replace(scheme, stages=scheme.stages + more, h=scheme.h / 2)
    assert isinstance(scheme, EventDriven)
    if scheme.newmark is not None:
        return EventDriven(max_steps=scheme.max_steps, max_events=scheme.max_events)
    rtol, atol = (max(x / 10, 1e-13) for x in (scheme.rtol, scheme.atol))
    if rtol >= scheme.rtol:  # at the bottom already
        rtol, atol = 10 * scheme.rtol, 10 * scheme.atol
    return dataclasses.replace(scheme, method=_OTHER[str(scheme.method)], rtol=rtol, atol=atol)


def verify(
    question: Question,
    solution: Solution,
    gradient: np.ndarray,
    trust: Trust,
    scheme: Scheme | None = None,
) -> Trust:
    """Return the trust in a derivative with what another method says of it.

    Parameters
    ----------
    solution : the run with its sensitivities
    gradient : (p,) of the cost
    trust : what is known of it already

    Raises
    ------
    BadValue
        A scheme that does not differentiate the system.
    """
    other = another(question.scheme) if scheme is None else scheme
    if not getattr(other, "differentiates", lambda _: False)(question.system):
        raise BadValue(f"{other!r} does not differentiate '{question.system.name}'.")
    asked = dataclasses.replace(question, scheme=other, t_eval=None)
    if isinstance(other, FESD) != isinstance(question.scheme, FESD):
        cost = compile_cost(question.system, question.cost.cost, other)
        asked = dataclasses.replace(asked, cost=cost)
    return trust.with_checks(*_second(solution, gradient, asked), *_quotients(gradient, asked))


def _second(solution: Solution, gradient: np.ndarray, asked: Question) -> list[Check]:
    """Compare the events, the gradient and the derivatives at the end with another method's."""
    name = f"another method ({asked.scheme!r})"
    try:
        found = asked.run()
        other = gradient_of(asked, found)[1]
    except ExplorerError as error:
        words = f"{asked.scheme!r} cannot repeat the run: {error}"
        return [Check(name, np.inf, _AGREE, "", words)]
    if sequence(found) != sequence(solution):
        words = (
            f"{asked.scheme!r} finds {len(found.located)} events and the run "
            f"{len(solution.located)}, or "
            "their sequence differs: the events themselves are not resolved."
        )
        return [Check(name, np.inf, _AGREE, "", words)]
    apart = _apart(other, gradient)
    ends = [np.append(s.march.end()[3][:-1].ravel(), 0.0) for s in (found, solution)]
    apart = max(apart, _apart(*ends))
    return [
        Check(
            name,
            apart,
            _AGREE,
            "",
            f"{asked.scheme!r} finds derivatives that differ by {number(apart, 1)}, relative to "
            "the largest.",
        )
    ]


def _quotients(gradient: np.ndarray, asked: Question) -> list[Check]:
    """Compare every entry of the gradient with difference quotients to both sides."""
    try:
        middle = cost_of(asked, asked.run(wrt=False))
    except ExplorerError:
        return []
    checks = []
    for j, name in enumerate(asked.wrt):
        sides = [_side(asked, j, sign, middle) for sign in (-1.0, 1.0)]
        own = float(gradient[j])
        left, right = (side[0] for side in sides)
        error = max(side[1] for side in sides)
        size = max(abs(own), abs(left), abs(right), error, 1e-300)
        if not (np.isfinite(left) or np.isfinite(right)):
            words = f"Every run beside {name} fails, so the derivative by it cannot be compared."
            checks.append(Check(f"difference quotients by {name}", np.inf, _AGREE, "", words))
            continue
        nearest = min(abs(own - x) for x in (left, right) if np.isfinite(x))
        allowed = max(_AGREE, 3 * error / size)
        checks.append(
            Check(
                f"difference quotients by {name}",
                nearest / size,
                allowed,
                "",
                f"The derivative by {name} is {number(own, 6)}, but the difference quotients are "
                f"{number(left, 6)} to the left and {number(right, 6)} to the right.",
            )
        )
        both = abs(left - right) / size if np.isfinite(left - right) else 0.0
        checks.append(
            Check(
                f"two sides of {name}",
                both,
                allowed,
                "",
                f"The derivative by {name} is directional: {number(left, 6)} to the left, "
                f"{number(right, 6)} to the right.",
            )
        )
    return checks


def _side(asked: Question, j: int, sign: float, middle: float) -> tuple[float, float]:
    """Return the one-sided derivative by Richardson's extrapolation, and its error; NaN: no run.

    (4 psi(d) - psi(2 d) - 3 psi(0)) / (2 d) is of order 2; of several d those two that agree best
    are taken.
    """
    place = asked.places[j]
    param = asked.system.parameters.get(asked.wrt[j].partition("[")[0])
    wide = abs(asked.value(j)) or (0.5 * (param.high - param.low) if param else 1.0)
    wide = wide if place >= 0 else 1.0
    best, error, before = np.nan, np.inf, np.nan
    for step in _STEPS:
        try:
            near, far = (_moved(asked, j, sign * k * step * wide) for k in (1.0, 2.0))
        except ExplorerError:
            continue
        slope = (4 * near - far - 3 * middle) / (2 * sign * step * wide)
        if abs(slope - before) < error:
            best, error = slope, abs(slope - before)
        elif np.isnan(best):
            best = slope
        before = slope
    return float(best), float(error) if np.isfinite(error) else 0.0


def _moved(asked: Question, j: int, change: float) -> float:
    """Return psi where one parameter, or start value, is changed."""
    if asked.places[j] >= 0:
        moved = asked.moved(j, change)
        return cost_of(moved, moved.run(wrt=False))
    start = asked.start()[0] + change * asked.seeds()[:, j]
    return cost_of(asked, asked.run(wrt=False, x0=start))


def _apart(one: np.ndarray, two: np.ndarray) -> float:
    size = max(np.abs(one).max(initial=0.0), np.abs(two).max(initial=0.0))
    return float(np.abs(one - two).max(initial=0.0) / size) if size > 0 else 0.0
