"""Curves of folds and flips of cycles over two parameters.

To the equations of the cycle one more is added, whose zero is the bifurcation: the determinant of
G_(x, T) at a fold, that of 1 + M at a flip, M the monodromy matrix (Kuznetsov, *Elements of Applied
Bifurcation Theory*, 2004, ch. 10, doi:10.1007/978-1-4757-3978-7). G and its derivatives are exact,
through all events; those of the determinant, and G by the second parameter, are difference
quotients: they steer Newton's method only, whose residual is checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from explorer.errors import BadValue, NotApplicable, suggest
from explorer.parameters import number
from explorer.study import study
from explorer.study.arclength import Evaluation, Node, correct
from explorer.study.branch import Branch, BranchPoint
from explorer.study.cycles import Cycles, cycle_of
from explorer.study.trace import CLOSED, Options, Special, Traced, trace

__all__ = ["BifurcationCurve", "bifurcation_curve"]

_STEP = 1e-5  # of difference quotients, in units of the scales
_TOL = 1e-8  # residual of a point; the determinant is not better known
_KINDS = ("fold", "flip")
_LEFT = " leaves the range of the branch."


@study
@dataclass(frozen=True, repr=False)
class BifurcationCurve:
    """Folds or flips over two parameters.

    Attributes
    ----------
    kind : "fold" or "flip"
    parameters : (str, str)
    values : (k, 2) both parameters
    x : (k, n_x) the cycle at its start
    residual, test : (k,) of the cycle, relative, and of the determinant
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
        return (
            f"BifurcationCurve of {self.kind}s, {len(self.values)} points: {a} = {low[0]:.6g} to "
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
    """Follow a fold or a flip of a branch of cycles by a second parameter.

    Parameters
    ----------
    branch : Branch
        Of cycles, from `continuation`.
    parameter : str
        The second parameter. The first one is free, and stays within the range of the branch.
    over : (low, high), optional
        Range of the second parameter, by default that of its slider.
    point : BranchPoint, optional
        By default the first fold or flip of the branch.
    step : float
        First step, in parts of the range; later ones are up to twice as long.

    Raises
    ------
    BadValue
        There is no such point or parameter; the range does not hold the present value.
    NotApplicable
        The branch is one of equilibria.

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
        raise BadValue(f"A branch is needed, as study.continuation returns, and no {branch!r}.")
    problem = branch.problem
    if not isinstance(problem, Cycles):
        raise NotApplicable(
            "Curves over two parameters are those of cycles of flows, not of equilibria or maps."
        )
    if point is None:
        point = next((q for q in branch.points if q.kind in _KINDS), None)
    if point is None or point.kind not in _KINDS:
        raise BadValue("The branch has no fold or flip, which a second parameter could move.")
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
    curve = _Curve(problem, point, parameter, span, branch.options)
    try:
        backward, forward = _both(curve, own, options)
    finally:
        problem.rho[curve.place] = own
    nodes = [n for piece in backward.pieces[::-1] for n in piece[::-1]]
    nodes += [n for piece in forward.pieces for n in piece][1:]
    u = np.array([n.w for n in nodes]) * curve.scale
    return BifurcationCurve(
        point.kind,
        (problem.parameter, parameter),
        u[:, -2:],
        u[:, : problem.n],
        np.array([n.at.size for n in nodes]),
        np.array([n.at.G[-1] for n in nodes]),
        (_said(backward.reason, problem.parameter), _said(forward.reason, problem.parameter)),
        branch,
    )


def _said(reason: str, first: str) -> str:
    """Return why a curve ends; the range of the first parameter is no matter of the model."""
    return f"end of the range of {first}" if reason.endswith(_LEFT) else reason


def _both(curve: _Curve, own: float, options: Options) -> tuple[Traced, Traced]:
    """Return the traces to smaller and to larger values of the second parameter."""
    plane = np.zeros(len(curve.scale))
    plane[-1] = 1.0
    guess = np.append(curve.point.node.w, own / curve.scale[-1])
    done = correct(curve, guess, plane, _TOL)
    if done is None:
        raise BadValue(f"The {curve.point.kind} is not found again at {curve.parameter} = {own:g}.")
    start = done[0]
    backward = trace(curve, Node(start.w, -start.tangent, start.at), options)
    if backward.reason == CLOSED:
        return backward, Traced([[start]], [], CLOSED)
    return backward, trace(curve, start, options)


class _Curve:
    """A cycle and its bifurcation as a problem of continuation by the second parameter."""

    def __init__(
        self, base: Cycles, point: BranchPoint, parameter: str, span: float, first: Options
    ) -> None:
        self.base, self.point, self.parameter, self.first = base, point, parameter, first
        self.place = list(base.system.parameters).index(parameter)
        self.scale, self.n = np.append(base.scale, span), base.n
        cycle, u = cycle_of(point.node), point.node.w * base.scale
        base.begin_as(cycle)
        if base.autonomous:
            base.anchor = u[: base.n].copy()
            base.along = cycle.run.march.sample(np.zeros(1), slopes=False)[1][0, : base.n]

    def _at(self, u: np.ndarray) -> tuple[Evaluation, float]:
        self.base.rho[self.place] = u[-1]
        self.base._last = None
        at = self.base.evaluate(u[:-1], full=False)
        if self.point.kind == "fold":
            scale, rows = self.base.scale[:-1], self._rows()
            A = at.jacobian[:, :-1] * scale / rows[:, None]
        else:
            A = np.eye(self.base.n) + cycle_of(Node(u, u, at)).monodromy
        return at, float(np.linalg.det(A))

    def _rows(self) -> np.ndarray:
        n = self.base.n
        return np.append(self.base.scale[:n], [1.0] * self.base.autonomous)

    def evaluate(self, u: np.ndarray, full: bool = True) -> Evaluation:
        """Return the equations of the cycle and of its bifurcation.

        Raises
        ------
        BadValue
            The first parameter leaves the range of the branch.
        """
        first = float(u[-2] / self.scale[-2])
        if not self.first.low <= first <= self.first.high:
            raise BadValue(f"{self.base.parameter}{_LEFT}")
        at, test = self._at(u)
        slopes, by_q = np.zeros(len(u)), np.zeros(len(at.G))
        for k in range(len(u)):
            moved = np.zeros(len(u))
            moved[k] = _STEP * self.scale[k]
            (a, more), (b, less) = self._at(u + moved), self._at(u - moved)
            slopes[k] = (more - less) / (2 * moved[k])
            if k == len(u) - 1:
                by_q = (a.G - b.G) / (2 * moved[k])
        J = np.vstack([np.column_stack([at.jacobian, by_q]), slopes])
        size = max(at.size, abs(test))
        return Evaluation(np.append(at.G, test), J, size, at.sequence, {}, {}, at.data)

    def settled(self, node: Node) -> Node | None:
        """Return None: the point at which cycles begin stays."""
        return None

    def beyond(self, here: Node, ended: Special, options: Options) -> Node | None:
        """Return None: no other sequence of events is tried."""
        return None

    def genuine(self, kind: str, node: Node) -> bool:
        """Whether a point on the curve is told: none is."""
        return False

    def at_margin(self, key: str) -> tuple[str, str]:
        """Return the kind and the name of a point at which a margin falls to zero."""
        return "grazing", key
