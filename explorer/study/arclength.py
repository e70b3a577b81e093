"""Pseudo-arclength continuation of G(u) = 0, u (m + 1,): tangent predictor, Newton corrector.

All lengths are those of w = u / scale. A point w near a tangent t is corrected in the plane through
its prediction, ``[G_w; t] dw = -[G; 0]``, so a fold of the parameter is a point like any other
(Kuznetsov, *Elements of Applied Bifurcation Theory*, 2004, ch. 10,
doi:10.1007/978-1-4757-3978-7).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
import scipy

from explorer.errors import BadValue, ExplorerError

__all__ = [
    "BranchEnds",
    "Evaluation",
    "Node",
    "Problem",
    "approach",
    "between",
    "correct",
    "error_from_behind",
    "lagrange",
    "located",
    "tangent",
]

_FIT = 4  # points of the polynomial that reaches for the end of a branch
_NEAR = 1e-9  # of the parameter's scale: how well that end is to be known
_SMALL = 1e-5  # and of the margin's largest value: the last verified point
_SHORT = 1e-2  # the same where points cannot be verified further: beyond it no end is claimed
_MOST = 60  # points on the way to it


class BranchEnds(BadValue):
    """Why there is nothing beyond a point of a branch."""


@dataclass(frozen=True)
class Evaluation:
    """A problem at one point.

    Attributes
    ----------
    G : (m,), jacobian : (m, m + 1)
    size : float
        Largest residual, each in its own scale.
    sequence : what happens there, in order: points with the same one lie on a smooth piece
    tests : test functions by name, whose signs change at bifurcations
    margins : what must stay positive for the sequence to last, by name
    data : what the problem wants to remember
    """

    G: np.ndarray
    jacobian: np.ndarray
    size: float
    sequence: tuple[object, ...]
    tests: dict[str, float]
    margins: dict[str, float]
    data: object


class Problem(Protocol):
    """Equations of a branch; the last unknown is the parameter."""

    scale: np.ndarray

    def evaluate(self, u: np.ndarray, full: bool = True) -> Evaluation:
        """Return the equations at u; not `full`: without tests and margins."""
        ...


@dataclass(frozen=True)
class Node:
    """A verified point: w, the unit tangent, and the problem there."""

    w: np.ndarray
    tangent: np.ndarray
    at: Evaluation

    @property
    def p(self) -> float:
        """The scaled parameter."""
        return float(self.w[-1])


Accept: TypeAlias = Callable[[Node], float]


def tangent(problem: Problem, at: Evaluation, like: np.ndarray) -> np.ndarray:
    """Return the unit null vector of the Jacobian that points along `like`."""
    A = at.jacobian * problem.scale
    rows = np.abs(A).max(axis=1, keepdims=True)
    null: np.ndarray = np.linalg.svd(A / np.where(rows > 0, rows, 1.0))[2][-1]
    return null if null @ like >= 0 else -null


def correct(
    problem: Problem,
    guess: np.ndarray,
    plane: np.ndarray,
    tol: float,
    *,
    like: np.ndarray | None = None,
    most: int = 8,
) -> tuple[Node, int] | None:
    """Return the point of the branch in the plane through `guess`, and the iterations; or None."""
    w, last = guess.copy(), np.inf
    for k in range(most + 1):
        try:
            at = problem.evaluate(w * problem.scale, full=False)
        except ExplorerError:
            return None
        if not np.isfinite(at.size) or not np.isfinite(at.jacobian).all():
            return None
        if at.size <= tol:
            node = _node(problem, w, plane if like is None else like)
            return None if node is None else (node, k)
        if k > 1 and at.size > 2 * last:
            return None
        last = at.size
        A = np.vstack([at.jacobian * problem.scale, plane])
        rows = np.abs(A).max(axis=1)
        if not (rows > 0).all():
            return None
        try:
            dw = np.linalg.solve(A / rows[:, None], np.append(-at.G, plane @ (guess - w)) / rows)
        except np.linalg.LinAlgError:
            return None
        w = w + dw
    return None


def _node(problem: Problem, w: np.ndarray, like: np.ndarray) -> Node | None:
    try:
        at = problem.evaluate(w * problem.scale)
    except ExplorerError:
        return None
    return Node(w, tangent(problem, at, like), at)


def between(problem: Problem, a: Node, b: Node, part: float, tol: float) -> Node | None:
    """Return the point of the branch at a part of the chord from a to b."""
    chord = b.w - a.w
    length = float(np.linalg.norm(chord))
    h, t = length, part
    # cubic Hermite through both points and tangents
    h00, h10 = 2 * t**3 - 3 * t**2 + 1, t**3 - 2 * t**2 + t
    h01, h11 = -2 * t**3 + 3 * t**2, t**3 - t**2
    guess = h00 * a.w + h10 * h * a.tangent + h01 * b.w + h11 * h * b.tangent
    found = correct(problem, guess, chord / length, tol, like=a.tangent)
    return None if found is None else found[0]


def located(
    problem: Problem, a: Node, b: Node, test: Accept, tol: float
) -> tuple[Node, float] | None:
    """Return the zero of a test function between two points, and its value there."""
    seen: list[tuple[float, Node]] = []

    def value(part: float) -> float:
        if part in (0.0, 1.0):
            node: Node | None = a if part == 0 else b
        else:
            node = between(problem, a, b, part, tol)
        if node is None:
            raise ArithmeticError
        found = test(node)
        seen.append((abs(found), node))
        return found

    try:
        scipy.optimize.brentq(value, 0.0, 1.0, xtol=1e-12, rtol=1e-14, maxiter=60)
    except (ArithmeticError, ValueError, RuntimeError):
        return None
    best = min(seen, key=lambda pair: pair[0])[1]
    return best, test(best)


def approach(
    problem: Problem, nodes: Sequence[Node], margin: str, tol: float
) -> tuple[np.ndarray, list[Node], float] | None:
    """Follow a branch to where a margin falls to zero, from the side where the branch is.

    Where a margin, such as the speed of an impact, ends at zero, derivatives may be unbounded and
    there is nothing beyond, so no sign changes. On the branch w is a smooth function of the margin:
    each point is predicted by a polynomial, corrected and verified, at ever smaller margins.

    A polynomial knows nothing of what happens between the last verified point and the end. Where
    that point is not beside the end, and a solve at the end itself does not confirm it, the error
    is the distance of both; where it is far from it, there is no end.

    Returns
    -------
    w at margin zero (extrapolated), the verified points on the way, the error of its parameter
    """
    path = [n for n in nodes[-_FIT:] if margin in n.at.margins]
    if len(path) < 2:
        return None
    added: list[Node] = []
    top = max(abs(n.at.margins[margin]) for n in nodes if margin in n.at.margins)
    ratio = 0.4
    for _ in range(_MOST):
        last = path[-1].at.margins[margin]
        if not 0 < last < path[-2].at.margins[margin]:
            return None
        end, error = _at(path, margin, 0.0)
        beside = last < _SMALL * top
        if len(path) > _FIT and error < _NEAR and beside:
            break
        guess, _ = _at(path, margin, ratio * last)
        along = guess - path[-1].w
        size = float(np.linalg.norm(along))
        found = None if size == 0 else correct(problem, guess, along / size, tol, most=6)
        node = None if found is None else found[0]
        fits = (
            node is not None
            and node.at.sequence == path[-1].at.sequence
            and 0 < node.at.margins.get(margin, -1.0) < last
        )
        if node is None or not fits:
            ratio = 0.5 * (1 + ratio)
            if ratio > 0.98:
                break
            continue
        path.append(node)
        added.append(node)
        ratio = max(0.3, 0.8 * ratio)
    if not added or error >= 1e-5:
        return None
    if not beside and not _confirmed(problem, end, path[-1], margin, tol, _SMALL * top):
        if path[-1].at.margins[margin] > _SHORT * top:
            return None
        error = max(error, float(abs(end[-1] - path[-1].p)))
    return end, added, error


def error_from_behind(
    problem: Problem, other: Node | None, end: np.ndarray, error: float, tol: float
) -> float:
    """Return the error of the parameter at which a branch ends, less if one behind it tells that.

    Parameters
    ----------
    other : Node or None
        A point behind the end, with another sequence of events.
    end : (m,) scaled unknowns there, as found from the front
    error : float
        As estimated from the front.
    """
    if other is None or error <= _NEAR * 10:
        return error
    plane = np.append(np.zeros(len(end) - 1), 1.0)
    step = float(other.p - end[-1])
    done = correct(problem, other.w + step * plane, plane, tol, like=other.tangent)
    if done is None or done[0].at.sequence != other.at.sequence:
        return error
    far, found = done[0], [error]
    for key, value in other.at.margins.items():
        if 0 < value < far.at.margins.get(key, 0.0):
            reached = approach(problem, [far, other], key, tol)
            if reached is not None:
                found.append(max(abs(float(reached[0][-1] - end[-1])), reached[2], tol))
    return min(found)


def _confirmed(
    problem: Problem, end: np.ndarray, last: Node, margin: str, tol: float, small: float
) -> bool:
    """Whether a solve in the plane through the extrapolated end finds the margin zero there."""
    along = end - last.w
    size = float(np.linalg.norm(along))
    found = None if size == 0 else correct(problem, end, along / size, tol, most=6)
    if found is None:
        return False
    node, _ = found
    near = float(np.linalg.norm(node.w - end)) < _NEAR
    return near and abs(node.at.margins.get(margin, np.inf)) < small


def _at(path: Sequence[Node], margin: str, value: float) -> tuple[np.ndarray, float]:
    """Return w at a value of the margin by polynomials, and the change by the last point used."""
    used = path[-_FIT:]
    x = np.array([n.at.margins[margin] for n in used])
    w = np.array([n.w for n in used])
    full, less = (lagrange(x[k:], w[k:], value) for k in (0, 1))
    return full, float(abs(full[-1] - less[-1]))


def lagrange(x: np.ndarray, w: np.ndarray, at: float) -> np.ndarray:
    """Return at one place the polynomials through w (k, m) at the places x (k,)."""
    weights = [
        np.prod([(at - x[j]) / (x[i] - x[j]) for j in range(len(x)) if j != i])
        for i in range(len(x))
    ]
    return np.asarray(np.array(weights) @ w)
