"""A bifurcation over two parameters as a problem of continuation.

To the equations of the cycle or equilibrium one more is added, whose zero is the bifurcation::

    fold                       det G_(x, T)                 T the period, of an autonomous cycle
    flip                       det (1 + M)                  M the monodromy matrix
    Neimark-Sacker             prod (mu_i mu_j - 1)         mu the multipliers
    Hopf                       prod (mu_i + mu_j)           mu the eigenvalues
    border collision           distance from the border of the branch of the map
    boundary                   the surface, or the multiplier less its bound
    grazing, sliding, corner   distance from the guard, or between two events, less a level

(Kuznetsov, *Elements of Applied Bifurcation Theory*, 2004, ch. 10, doi:10.1007/978-1-4757-3978-7;
di Bernardo, Budd, Champneys, Kowalczyk, *Piecewise-smooth Dynamical Systems*, 2008, ch. 3, 5-8,
doi:10.1007/978-1-84628-708-4). G and its derivatives are exact, through all events; those of the
added equation, and G by the second parameter, are difference quotients: they steer Newton's method
only, whose residual is checked. The last kinds have no cycle of the same events behind the
bifurcation. They are followed at a small distance before it, which `finish` takes away.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from explorer.errors import BadValue, ExplorerError, NotApplicable
from explorer.study.arclength import Evaluation, Node, correct, lagrange
from explorer.study.branch import Branch, BranchPoint
from explorer.study.cycle_tests import tests
from explorer.study.cycles import Cycles, cycle_of
from explorer.study.equilibria import Equilibria
from explorer.study.grazing import from_outside, touches
from explorer.study.map_cycles import MapCycles
from explorer.study.trace import Options, Special

__all__ = ["KINDS", "LEFT", "REAL", "Curve"]

KINDS = (
    "fold",
    "flip",
    "Neimark-Sacker",
    "Hopf",
    "border collision",
    "boundary",
    "grazing",
    "corner",
    "sliding",
)
LEFT = " leaves the range of the branch."
REAL = "The pair of multipliers becomes real."
_STEP = 1e-5  # of difference quotients, in units of the scales
_LEVEL = 2e-3  # of the width of the cycle, or of its period: where the last kinds are followed
_FINER = (1e-4, 1e-5)  # and from where they are extrapolated
_HALVINGS = 12
_CLOSE = 5 * _LEVEL
_TOL = 1e-9  # residual of a cycle
_BESIDE = (1e-4, 3e-4, 1e-3, 3e-3)  # of the parameter's range, where the other side is looked for
_STEEP = 0.1  # part of the second parameter in a unit tangent
_PAIRS = ("Neimark-Sacker", "Hopf")


class Curve:
    """A point of a branch and its bifurcation, over the branch's parameter and a second one.

    Parameters
    ----------
    branch : Branch
    point : BranchPoint
    parameter : str
        The second parameter.
    span : float
        Its range, the unit of its steps.

    Attributes
    ----------
    w : (m,) scaled unknowns of the branch at the bifurcation, or just before it
    n : int
        How many of the unknowns, the first ones, are states.
    level : float
        Value of the added equation's left side that is taken for zero.
    """

    def __init__(self, branch: Branch, point: BranchPoint, parameter: str, span: float) -> None:
        base = branch.problem
        self.base, self.kind, self.parameter, self.first = base, point.kind, parameter, branch
        self.place = list(base.system.parameters).index(parameter)
        self.scale, self.n = np.append(base.scale, span), base.n
        self.nearest = 0  # the point of a map, or the surface, that is at its border
        self.w, self.level, self.margin, self.unit = point.node.w.copy(), 0.0, "", 1.0
        if isinstance(base, Cycles):
            self._begin_cycle(base, branch, point)
        else:
            base.begin_as(point.node)
        self.test = self._test(point)

    def _begin_cycle(self, base: Cycles, branch: Branch, point: BranchPoint) -> None:
        """Let cycles begin as the one at the point; of one that grazes, as that just beside it."""
        node = point.node
        if touches(point):
            node = from_outside(base, branch, point)[1]
            self.margin, self.unit = f"miss {point.name}", float(base.wide.max())
        elif self.kind in ("corner", "sliding"):
            close = next((n for n in _sides(base, point) if _spacing(n) < _CLOSE), None)
            if close is None:
                raise NotApplicable(
                    f"This {self.kind} is neither a touch nor two events at one time, so no "
                    "equation is known that holds along a curve of them."
                )
            node, self.margin = close, "spacing"
        self.w = node.w.copy()
        cycle, u = cycle_of(node), node.w * base.scale
        base.begin_as(cycle)
        if base.autonomous:
            base.anchor = u[: base.n].copy()
            base.along = cycle.run.march.sample(np.zeros(1), slopes=False)[1][0, : base.n]
        if self.margin:
            self.level = _LEVEL

    def _test(self, point: BranchPoint) -> Callable[[np.ndarray, Evaluation], float]:
        """Return the added equation as a function of the branch's unknowns and their evaluation."""
        base, kind = self.base, self.kind
        if self.margin:
            return lambda u, at: at.margins[self.margin] / self.unit
        if kind == "fold":
            rows = np.abs(point.node.at.jacobian * base.scale).max(axis=1)
            if isinstance(base, Cycles):
                rows = np.append(base.scale[: base.n], [1.0] * base.autonomous)
            return lambda u, at: _det(at.jacobian[:, :-1] * base.scale[:-1] / rows[:, None])
        if kind == "flip" and isinstance(base, Cycles):
            return lambda u, at: _det(np.eye(base.n) + at.data.monodromy)  # type: ignore[attr-defined]
        if kind in ("flip", "Neimark-Sacker"):
            return lambda u, at: tests(at.data.multipliers)[kind]  # type: ignore[attr-defined]
        if kind == "Hopf":
            return lambda u, at: _sums(at.data.multipliers)  # type: ignore[attr-defined]
        margins = point.node.at.margins
        key = min(margins, key=lambda name: margins[name])
        self.nearest = k = int(key.split()[1])
        if isinstance(base, MapCycles):
            return lambda u, at: base.distance(k, u)
        assert isinstance(base, Equilibria)
        return lambda u, at: base.distance(key, u)

    def _at(self, u: np.ndarray) -> tuple[Evaluation, float]:
        self.base.rho[self.place] = u[-1]
        if isinstance(self.base, Cycles):
            self.base._last = None
        at = self.base.evaluate(u[:-1], full=bool(self.margin))
        if self.margin and self.margin not in at.margins:
            raise BadValue("The cycle does not come near the bifurcation any more.")
        return at, self.test(u[:-1], at) - self.level

    def evaluate(self, u: np.ndarray, full: bool = True) -> Evaluation:
        """Return the equations of the cycle or equilibrium, and of its bifurcation.

        Raises
        ------
        BadValue
            The first parameter leaves the range of the branch; with `full`: the multipliers of a
            pair are real.
        """
        options = self.first.options
        first = float(u[-2] / self.scale[-2])
        if not options.low <= first <= options.high:
            raise BadValue(f"{self.base.parameter}{LEFT}")
        at, test = self._at(u)
        if full and self.kind in _PAIRS and not self.base.genuine(self.kind, Node(u, u, at)):
            raise BadValue(REAL)
        slopes, by_q = np.zeros(len(u)), np.zeros(len(at.G))
        for k in range(len(u)):
            (a, more), (b, less), width = self._beside(u, at, test, k)
            slopes[k] = (more - less) / width
            if k == len(u) - 1:
                by_q = (a.G - b.G) / width
        J = np.vstack([np.column_stack([at.jacobian, by_q]), slopes])
        size = max(at.size, abs(test))
        return Evaluation(np.append(at.G, test), J, size, at.sequence, {}, {}, at.data)

    def _beside(
        self, u: np.ndarray, at: Evaluation, test: float, k: int
    ) -> tuple[tuple[Evaluation, float], tuple[Evaluation, float], float]:
        """Return what holds at two states that differ in the unknown k, and their difference.

        Where there is nothing behind the bifurcation, the second one is u itself.
        """
        moved = np.zeros(len(u))
        moved[k] = _STEP * self.scale[k]
        if not self.margin:
            return self._at(u + moved), self._at(u - moved), 2 * float(moved[k])
        best: tuple[Evaluation, float] | None = None
        width = 0.0
        for sign in (1.0, -1.0):
            try:
                other = self._at(u + sign * moved)
            except ExplorerError:
                continue
            if other[0].sequence == at.sequence and (best is None or other[1] > best[1]):
                best, width = other, sign * float(moved[k])
            if best is not None and best[1] > test:
                break
        if best is None:
            raise BadValue("Beside the cycle there is none with the same events.")
        return best, (at, test), width

    def finish(self, nodes: Sequence[Node], tol: float) -> tuple[list[Node], np.ndarray]:
        """Return the points nearest to the bifurcation, and w of the bifurcation itself, (k, m).

        Points from which no nearer one is found are left out.
        """
        if not self.margin:
            return list(nodes), np.array([node.w for node in nodes])
        found, ends = [], []
        for one in nodes:
            node: Node | None = one
            plane = one.tangent
            if abs(plane[-1]) > _STEEP:  # so that the second parameter stays in its range
                plane = np.append(np.zeros(len(plane) - 1), 1.0)
            path = [one]
            for before, level in itertools.pairwise((_LEVEL, *_FINER)):
                node = None if node is None else self._nearer(node, plane, tol, before, level)
                path += [] if node is None else [node]
            if node is None:
                continue
            found.append(node)
            ends.append(lagrange(np.array((_LEVEL, *_FINER)), np.array([n.w for n in path]), 0.0))
        self.level = _LEVEL
        return found, np.array(ends).reshape(-1, len(self.scale))

    def _nearer(
        self, node: Node, plane: np.ndarray, tol: float, now: float, level: float
    ) -> Node | None:
        """Return a point at another level; the step to it is halved where Newton's method fails."""
        path = [level]
        for _ in range(_HALVINGS):
            self.level = path[-1]
            done = correct(self, node.w, plane, tol)
            if done is None:
                path.append(float(np.sqrt(now * path[-1])))
                continue
            node, now = done[0], path.pop()
            if not path:
                return node
        return None

    def other_side(self) -> bool:
        """Take the branch of the map behind the border, where it is smooth; return if there is one.

        At its border a branch such as that of a square root has no slope.
        """
        if not isinstance(self.base, MapCycles) or self.kind != "border collision":
            return False
        return self.base.pass_border(self.nearest, self.w)

    # -- as `trace` follows it ------------------------------------------------------------------

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


def _spacing(node: Node) -> float:
    """Return the least time between two events of a cycle, in parts of its period."""
    return node.at.margins.get("spacing", np.inf)


def _sides(base: Cycles, point: BranchPoint) -> Iterator[Node]:
    """Yield the cycle before a change of the sequence of events, and some on both sides of it."""
    yield point.node
    base.begin_as(cycle_of(point.node))
    plane = np.append(np.zeros(len(base.scale) - 1), 1.0)
    at = point.node.w.copy()
    at[-1] = point.parameter / base.scale[-1]
    for size in _BESIDE:
        for sign in (1.0, -1.0):
            done = correct(base, at + sign * size * plane, plane, _TOL)
            if done is not None and done[0].at.sequence != point.node.at.sequence:
                yield done[0]


def _det(A: np.ndarray) -> float:
    return float(np.linalg.det(A))


def _sums(mu: np.ndarray) -> float:
    """Return the product of the sums of all pairs, zero at a Hopf bifurcation."""
    return float(np.prod([mu[i] + mu[j] for i in range(len(mu)) for j in range(i)]).real)
