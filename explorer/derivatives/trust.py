"""The reliability of a derivative: grazing, directions, growth of errors, near misses.

A derivative through events is exact for the computed run. Whether it describes neighbouring runs is
another question. Four figures answer it:

grazing       an event that its guard barely reaches: dt/drho = -(r_x S + r_rho) / D with a D that
              the tolerances do not determine (`LocatedEvent.margin`)
directional   several events meet, and which comes first depends on the side (B-derivatives)
growth        errors of the run grow as its derivatives do: |S| times the tolerance, both relative,
              are the digits that are lost; in chaos all of them
near miss     a guard that almost fires: a small change adds an event

Where the tolerances leave this open, further runs resolve it (`explorer.derivatives.doubts`). A
`Doubt` that remains is a check that does not hold, among the others here.

`verify` compares with another method at another tolerance, and with one-sided difference quotients
of its runs. It uses nothing of the first run.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from explorer.certificate import Certificate, Check
from explorer.derivatives.doubts import Doubt, examine
from explorer.dispatch.mistakes import MOVED, moved
from explorer.kernels.event_driven.records import PENALTY
from explorer.quantities import number, quantity
from explorer.results.event import LocatedEvent
from explorer.results.solution import Solution
from explorer.runs.event_driven.march import March
from explorer.runs.event_driven.meetings import SURE

if TYPE_CHECKING:
    from explorer.derivatives.question import Question

__all__ = ["DIGITS", "Trust", "growth", "trust"]

DIGITS = 3  # fewer digits than these are no number
_HELD = 1e-6  # of its largest speeds: what may be left of the derivative of a speed that is held


@dataclass(frozen=True, repr=False)
class Trust:
    """The reliability of a derivative.

    Attributes
    ----------
    margin : float
        The smallest grazing margin of all events, inf without events. The relative error of a
        ``dt_drho`` is about 1 / (2 margin).
    growth : float
        Factor by which a relative error grows along the run.
    digits : float
        Decimal digits of the run that remain, -log10(growth rtol). Below `DIGITS` the derivative is
        not reliable.
    directional : tuple of float
        Times of the events at which the one-sided derivatives differ.
    certificate : Certificate
        Each figure with its bound. A part of the derivative that is unknown is a `Doubt`.

    Examples
    --------
    >>> import explorer as ex
    >>> ex.sensitivity(ex.models.bouncing_ball(), wrt="g", t_end=1.0).trust.ok
    True
    """

    margin: float
    growth: float
    digits: float
    directional: tuple[float, ...]
    certificate: Certificate

    @property
    def ok(self) -> bool:
        """Whether there is no reason to doubt the derivative."""
        return self.certificate.ok

    @property
    def sentences(self) -> tuple[str, ...]:
        """The reasons to doubt the derivative, one sentence each."""
        return self.certificate.cautions

    @property
    def summary(self) -> str:
        """One line."""
        parts = [f"{self.digits:.0f} digits"]
        if np.isfinite(self.margin):
            parts.append(f"grazing margin {number(self.margin, 2)}")
        if self.directional:
            parts.append("directional")
        return f"{'trusted' if self.ok else 'not trusted'}: {', '.join(parts)}"

    def __repr__(self) -> str:
        return f"Trust({self.summary})"

    def with_checks(self, *more: Check) -> Trust:
        """Return the same with further checks."""
        return dataclasses.replace(self, certificate=Certificate((*self.certificate, *more)))


def trust(
    question: Question,
    solution: Solution,
    gradient: np.ndarray | None = None,
    *,
    doubts: tuple[Doubt, ...] | None = None,
    mu: np.ndarray | None = None,
    residuals: Mapping[str, float] | None = None,
) -> Trust:
    """Judge the derivatives of a run.

    Parameters
    ----------
    question : Question
    solution : Solution
        The run, with its sensitivities or without.
    gradient : (p,), optional
        Of the cost.
    doubts : optional
        The result of `examine` for the run, if it was computed before.
    mu : (k, n_x + 1), optional
        Adjoints at the start, on both sides of each event and at the end, in place of the
        sensitivities.
    residuals : dict, optional
        What a method tells about its own accuracy.
    """
    tolerance = float(getattr(question.scheme, "rtol", np.finfo(float).eps))
    if doubts is None:
        doubts = examine(question, solution)
    grown = growth(question, solution) if mu is None else _growth_of_adjoint(question, solution, mu)
    lost = max(grown, 1.0) * tolerance
    last = question.last(solution)
    events = [e for e in solution.located if last is None or e.t <= last.t]
    doubts = tuple(d for d in doubts if last is None or d.t <= last.t)
    margin = min((abs(e.margin) for e in events), default=np.inf)
    directional = tuple(dict.fromkeys(d.t for d in doubts if d.kind == "directional"))
    grazing = [d for d in doubts if d.kind == "grazing"]
    unknown = np.any([d.columns for d in doubts], axis=0) if doubts else np.zeros(0, bool)
    checks = [
        *doubts,
        *([] if directional else [_DIRECTED]),
        *([] if grazing else _grazing(events, solution)),
        _grown(grown, lost),
        *([] if grazing else _near(solution, lost)),
        *_finite(solution, gradient, mu, unknown),
        *_held(question, solution),
        *_begun(question, solution),
        *(_own(name, x, tolerance) for name, x in (residuals or {}).items()),
    ]
    digits = max(-np.log10(lost), 0.0) if lost > 0 else np.inf
    return Trust(margin, grown, float(digits), directional, Certificate(tuple(checks)))


_DIRECTED = Check("directional", 0.0, 0.0, "events")


def scales(solution: Solution) -> np.ndarray:
    """Return the largest size of each state along a run, (n_x,)."""
    return np.asarray(np.abs(_states(solution)[0]).max(axis=0, initial=0.0))


def _states(solution: Solution) -> tuple[np.ndarray, np.ndarray]:
    """Return x (k, n_x) and S (k, n_x, p) along the run; rows are made only where none is kept."""
    march = solution.march
    if not isinstance(march, March) or not len(march.steps.t):
        return solution.x, solution.S[:, : solution.x.shape[1]]
    y, n_x = np.vstack([march.steps.y, march.y]), march.flow.n_x
    y = y.reshape(len(y), -1, n_x + 1)
    return y[:, 0, :n_x], y[:, 1:, :n_x].transpose(0, 2, 1)


def growth(question: Question, solution: Solution) -> float:
    """Return the largest |S| along a run, in units of the largest states and of the parameters.

    A parameter or start value that is zero counts as large as its range, or as the state becomes.
    """
    x, S = _states(solution)
    size = np.abs(x).max(axis=0, initial=0.0)
    names = [s.name for s in question.cost.flow.states]
    wide = np.empty(len(question.wrt))
    for j, (name, place) in enumerate(zip(question.wrt, question.places, strict=True)):
        if place >= 0:
            param = question.system.parameters[name.partition("[")[0]]
            wide[j] = abs(question.value(j)) or 0.5 * (param.high - param.low)
        else:
            wide[j] = size[names.index(name)]
    moved = np.abs(S).max(axis=0, initial=0.0) * wide
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(moved > 0, moved / size[:, None], 0.0)
    return float(relative[np.isfinite(relative)].max(initial=0.0)) if moved.size else 0.0


def _growth_of_adjoint(question: Question, solution: Solution, mu: np.ndarray) -> float:
    """Return how much more an error at any event does to the cost than one at the end.

    Errors are relative to the state where they are made.
    """
    march = solution.march
    block, last = march.flow.n_x + 1, question.last_place(solution)
    size = np.empty_like(mu)
    size[0], size[-1] = march.steps.y[0, :block], march.y[:block]
    if last is not None:
        size[-1] = march.part("x_minus")[last]
    for side in (0, 1):
        rows = march.part(("x_minus", "x_plus")[side])[: len(mu) // 2 - 1]
        size[1 + side : -1 : 2] = rows[:, :block]
    weight = (np.abs(mu) * np.abs(size)).sum(axis=1)
    return float(weight.max(initial=0.0) / weight[-1]) if weight[-1] > 0 else 0.0


def _begun(question: Question, solution: Solution) -> list[Check]:
    """Return the check that a start that was given is that of the run."""
    if question.given is None or getattr(question.system, "assembles", None) is None:
        return []
    far, sentence = moved(question.system, question.given, _states(solution)[0][0])
    return [
        Check("start", far, MOVED, "", f"The derivatives are those of another start: {sentence}")
    ]


def _grazing(events: list[LocatedEvent], solution: Solution) -> list[Check]:
    if not events:
        return []
    event = min(events, key=lambda e: abs(e.margin))
    error = 0.5 / abs(event.margin) if event.margin else np.inf
    unit = solution.system.time_unit
    known = f"is known to {number(100 * error, 2)} % only" if error < 1 else "is no number"
    return [
        Check(
            "grazing",
            error,
            0.5 / SURE,
            "",
            f"The event of {event.contact!r} at t = {quantity(event.t, unit, 5)} grazes: its "
            f"dt/drho {known}, and a small change of the parameters removes the event.",
        )
    ]


def _grown(grown: float, lost: float) -> Check:
    left = max(0, int(-np.log10(lost))) if 0 < lost < np.inf else 0
    return Check(
        "growth of errors",
        lost,
        10.0**-DIGITS,
        "",
        f"Errors grow by a factor of {number(grown, 1)} along the run, so {left or 'none'} of its "
        f"digits {'is' if left < 2 else 'are'} left. Use a shorter t_end or a smaller rtol to keep "
        "more.",
    )


def _near(solution: Solution, lost: float) -> list[Check]:
    if getattr(solution.march, "nearest", None) is None:
        return []
    near, size = solution.nearest, float(scales(solution).max(initial=1.0))
    return [
        Check(
            "near miss",
            lost * size * SURE / near if near > 0 else np.inf,
            1.0,
            "",
            f"A guard comes within {number(near, 1)} of an event that does not happen. A change of "
            "this size adds the event, and the derivative ends there.",
        )
    ]


def _finite(
    solution: Solution, gradient: np.ndarray | None, mu: np.ndarray | None, unknown: np.ndarray
) -> list[Check]:
    """Count what is no number, but for the columns of which doubts tell it."""

    def lacking(values: np.ndarray) -> int:
        known = np.asarray(values, float)
        if unknown.any() and known.shape[-1] == len(unknown):
            known = known[..., ~unknown]
        return int((~np.isfinite(known)).sum())

    count = 0 if gradient is None else lacking(gradient)
    count += lacking(_states(solution)[1]) if mu is None else int((~np.isfinite(mu)).sum())
    return [
        Check(
            "finite",
            float(count),
            0.0,
            "numbers",
            "The derivative does not exist or is not finite: an event grazes, or errors grow "
            "without bound.",
        )
    ]


def _held(question: Question, solution: Solution) -> list[Check]:
    """Check that no derivative moves a contact that is held at the end: its speeds stay zero.

    They do not where impacts too small to be told from rest were the last ones.
    """
    march, flow = solution.march, question.cost.flow
    _, x, _, S = march.end()
    if not getattr(flow, "rows", 0) or not S.shape[1] or not len(march.steps.t):
        return []
    held = march.steps.state[-1, 1 : 1 + flow.rows] == 1
    if isinstance(march, March) and march.settings.formulation.form == PENALTY:  # they yield
        held[flow.rows - flow.n_phi :] = False
    last = march.events.head["step"][-1:] >= len(march.steps.t)  # an event ends the run
    if last.any() or not held.any() or not np.isfinite(S).all():
        return []
    n, rows = flow.n, flow.rows
    most = np.abs(_states(solution)[1]).max(axis=0, initial=0.0)
    worst = 0.0
    for j, place in enumerate(question.places):
        speeds, step = [], 1e-6 / max(np.abs(S[:-1, j]).max(initial=0.0), 1.0)
        for sign in (-1, 1):
            inp = flow.input(march.rho)
            inp[0], inp[1 : 1 + flow.n_x] = march.t_last, x + sign * step * S[:-1, j]
            if place >= 0:
                inp[1 + flow.n_x + place] += sign * step
            out = flow.bundles[1](inp)
            G = out[2 * rows : 2 * rows + rows * n].reshape(rows, n)
            speeds.append(out[rows : 2 * rows] + G @ inp[1 + n : 1 + 2 * n])
        size = np.abs(G) @ most[n:, j]
        moves = np.abs(speeds[1] - speeds[0])[held] / (2 * step)
        off = moves / np.maximum(size[held], 1e-300)
        worst = max(worst, float(off[moves > 1e-8].max(initial=0.0)))
    return [
        Check(
            "held contacts",
            worst,
            max(_HELD, 10 * getattr(question.scheme, "rtol", 0.0)),
            "",
            f"A derivative moves a closed contact by {number(worst, 1)} of its largest speeds: "
            "impacts accumulate there, and impacts too small to resolve were left out.",
        )
    ]


def _own(name: str, value: float, tolerance: float) -> Check:
    words = {
        "direct": "The method and the direct method disagree",
        "duality": "The adjoint and the sensitivities violate duality at an event",
        "step": "The steps are too long for the adjoint",
    }
    said = words.get(name, f"The residual {name!r} is large")
    return Check(
        name, value, max(1e-4, 1e3 * tolerance), "", f"{said}: {number(value, 1)}, relative."
    )
