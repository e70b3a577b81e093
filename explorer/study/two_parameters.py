"""Curves of bifurcations over two parameters, of cycles, equilibria and maps.

What holds along a curve is in `explorer.study.curve_problems`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from explorer.errors import BadValue, suggest
from explorer.parameters import number
from explorer.study import study
from explorer.study.arclength import Node, correct
from explorer.study.branch import Branch, BranchPoint
from explorer.study.curve_problems import KINDS, LEFT, REAL, Curve
from explorer.study.trace import CLOSED, Options, Traced, trace

__all__ = ["BifurcationCurve", "bifurcation_curve"]

_TOL = 1e-8  # residual of a point; the determinant is not better known
_FIRST = ("fold", "flip")
_MANY = {
    "Neimark-Sacker": "Neimark-Sacker bifurcations",
    "Hopf": "Hopf bifurcations",
    "grazing": "grazing cycles",
    "sliding": "sliding bifurcations",
    "boundary": "boundary equilibria",
}


@study
@dataclass(frozen=True, repr=False)
class BifurcationCurve:
    """Bifurcations of one kind over two parameters.

    Attributes
    ----------
    kind : str
        As of `BranchPoint`.
    parameters : (str, str)
    values : (k, 2) both parameters
    x : (k, n_x) the cycle at its start, or the equilibrium
    residual, test : (k,) of the cycle, relative, and of the equation of the bifurcation; of a
        touch and of a corner at the nearest verified point, from which the rest is extrapolated
    ends : (str, str) why the curve ends
    """

    kind: str
    parameters: tuple[str, str]
    values: np.ndarray
    x: np.ndarray
    residual: np.ndarray
    test: np.ndarray
    ends: tuple[str, str]
    branch: Branch = field(repr=False)

    def __repr__(self) -> str:
        (a, b), low, high = self.parameters, self.values.min(axis=0), self.values.max(axis=0)
        many = _MANY.get(self.kind, self.kind + "s")
        return (
            f"BifurcationCurve of {many}, {len(self.values)} points: {a} = {low[0]:.6g} to "
            f"{high[0]:.6g}, {b} = {low[1]:.6g} to {high[1]:.6g}; ends: {self.ends[0]}; "
            f"{self.ends[1]}"
        )


@study
def bifurcation_curve(
    branch: Branch,
    parameter: str = "",
    over: Sequence[float] | None = None,
    *,
    point: BranchPoint | None = None,
    step: float = 0.02,
) -> BifurcationCurve:
    """Follow a bifurcation of a branch by a second parameter.

    Parameters
    ----------
    branch : Branch
        Of cycles, equilibria or cycles of a map, from `continuation`.
    parameter : str
        The second parameter. The first one is free, and stays within the range of the branch.
    over : (low, high), optional
        Range of the second parameter, by default that of its slider.
    point : BranchPoint, optional
        By default the first fold or flip, else the first one that is no branch point.
    step : float
        First step, in parts of the range; later ones are up to twice as long.

    Raises
    ------
    BadValue
        There is no such point or parameter; the range does not hold the present value; beside a
        touch there is no cycle that misses the guard.
    NotApplicable
        A change of the sequence of events that is neither a touch nor two events at one time.

    Examples
    --------
    >>> import explorer as ex
    >>> branch = ex.study.continuation(
    ...     ex.models.impact_oscillator(), parameter="s", period="2*pi/omega", over=(0.2, 3),
    ...     omega=1.5, s=0.5, e=0.8, c=0.1, guess=[-1.2, 0.9])
    >>> ex.study.bifurcation_curve(branch, "e", (0.75, 0.85)).kind
    'fold'
    """
    if not isinstance(branch, Branch):
        raise BadValue(f"Give a branch from study.continuation, not {branch!r}.")
    problem = branch.problem
    if point is None:
        able = [q for q in branch.points if q.kind in KINDS]
        point = min(able, key=lambda q: q.kind not in _FIRST, default=None)
    if point is None or point.kind not in KINDS:
        raise BadValue("The branch has no bifurcation that a second parameter could move.")
    system = problem.system
    others = [name for name in system.parameters if name != problem.parameter]
    if parameter not in others:
        raise BadValue(
            f"'{system.name}' has no second parameter {parameter!r}.{suggest(parameter, others)}"
        )
    param = system.parameters[parameter]
    low, high = (number(x, "an end of over", param.unit) for x in (over or (param.low, param.high)))
    own = float(problem.rho[list(system.parameters).index(parameter)])
    if not low <= own <= high or low == high:
        raise BadValue(
            f"over = ({low:g}, {high:g}) does not hold the present value {parameter} = {own:g}."
        )
    step = number(step, "step", "", positive=True)
    span = high - low
    options = Options(step, 1e-4 * step, 2 * step, _TOL, low / span, high / span, 500)
    held = problem.rho.copy()
    try:
        curve = Curve(branch, point, parameter, span)
        backward, forward = _both(curve, own, options)
        nodes = [n for piece in backward.pieces[::-1] for n in piece[::-1]]
        nodes += [n for piece in forward.pieces for n in piece][1:]
        nodes, w = curve.finish(nodes, _TOL)
    finally:
        problem.rho[:] = held
        problem.restart()
        problem.rho[:] = held
    if not nodes:
        raise BadValue(f"No {point.kind} is found again beside the one of the branch.")
    u = w * curve.scale
    return BifurcationCurve(
        point.kind,
        (problem.parameter, parameter),
        u[:, -2:],
        np.array([problem.state(row) for row in u]),
        np.array([n.at.size for n in nodes]),
        np.array([n.at.G[-1] for n in nodes]),
        (_said(backward.reason, problem.parameter), _said(forward.reason, problem.parameter)),
        branch,
    )


def _said(reason: str, first: str) -> str:
    """Return why a curve ends; the range of the first parameter is no matter of the model."""
    if reason.endswith(REAL):
        return "the pair of multipliers becomes real"
    return f"end of the range of {first}" if reason.endswith(LEFT) else reason


def _both(curve: Curve, own: float, options: Options) -> tuple[Traced, Traced]:
    """Return the traces to smaller and to larger values of the second parameter."""
    plane = np.zeros(len(curve.scale))
    plane[-1] = 1.0
    guess = np.append(curve.w, own / curve.scale[-1])
    done = correct(curve, guess, plane, _TOL)
    if done is None and curve.other_side():
        done = correct(curve, guess, plane, _TOL)
    if done is None:
        raise BadValue(f"The {curve.kind} is not found again at {curve.parameter} = {own:g}.")
    start = done[0]
    backward = trace(curve, Node(start.w, -start.tangent, start.at), options)
    if backward.reason == CLOSED:
        return backward, Traced([[start]], [], CLOSED)
    return backward, trace(curve, start, options)
