"""Follow a branch step by step; find what happens on it, and say why it ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from explorer.errors import ExplorerError
from explorer.study.arclength import (
    BranchEnds,
    Evaluation,
    Node,
    Problem,
    approach,
    correct,
    error_from_behind,
    located,
)

__all__ = [
    "CLOSED",
    "STOPPED",
    "Followed",
    "Options",
    "Special",
    "Traced",
    "crossing",
    "other_side",
    "trace",
]

CLOSED = "the branch is closed"  # the reason where it comes back to its first point
STOPPED = "it was stopped"
_TURN = 0.9  # cosine of the largest turn of the tangent in one step
_EXTREME = 1e-7  # of the step, within which a change of the sequence is located
_BEYOND = (1e-5, 1e-4, 1e-3)  # of the parameter's scale, behind the end of a branch
_AT_END = 1e-2  # of the period
_ENDED = "an event reaches the end of the period, where the cycle is sampled"
_FAR, _VERY_FAR = 10.0, 1e6  # times the largest state of the first point
_STEEP, _GROWS = 0.1, 0.2  # parameter left to where the state is infinite; part gone in a step
_SHORTER = "it meets the cycles of a part of its period"
_SLIDES = {"slides", "leaves", "sticks", "slips", "turns", "closed", "released", "zeno"}


@dataclass(frozen=True)
class Options:
    """Numbers of a trace: steps (scaled), tolerance, range of the scaled parameter, most points.

    `stop` tells whether it is to end where it is.
    """

    h: float
    h_min: float
    h_max: float
    tol: float
    low: float
    high: float
    most: int
    stop: Callable[[], bool] | None = None


@dataclass(frozen=True)
class Special:
    """A point that was located on a branch.

    Attributes
    ----------
    kind : str
    w : (m + 1,) scaled unknowns
    test : float
        Residual of its test function, in the unit of that.
    error : float
        Estimated error of the scaled parameter.
    node : the nearest verified point
    name : guard or event that it belongs to, or ""
    """

    kind: str
    w: np.ndarray
    test: float
    error: float
    node: Node
    name: str = ""


@dataclass
class Traced:
    """One direction of a branch: its nodes in pieces without gaps, special points, the reason."""

    pieces: list[list[Node]] = field(default_factory=list)
    specials: list[Special] = field(default_factory=list)
    reason: str = ""


class Followed(Problem, Protocol):
    """A problem that `trace` can follow."""

    @property
    def n(self) -> int:
        """How many of the unknowns, the first ones, are states."""
        ...

    def settled(self, node: Node) -> Node | None:
        """Return where the next step goes from, if that is written in other unknowns."""
        ...

    def beyond(self, here: Node, ended: Special, options: Options) -> Node | None:
        """Return a point of what goes on behind the place where a margin fell to zero."""
        ...

    def genuine(self, kind: str, node: Node) -> bool:
        """Whether the zero of a test function is a bifurcation of that kind."""
        ...

    def at_margin(self, key: str) -> tuple[str, str]:
        """Return the kind and the name of a point at which a margin falls to zero."""
        ...


def trace(problem: Followed, start: Node, options: Options) -> Traced:
    """Follow the branch from `start` along its tangent."""
    found = Traced([[start]])
    history, h = [start], options.h
    for _ in range(options.most):
        here = history[-1]
        if options.stop is not None and options.stop():
            found.reason = STOPPED
            return found
        try:
            moved = problem.settled(here)
        except ExplorerError as error:
            why = "" if isinstance(error, BranchEnds) else "the cycle cannot be begun elsewhere: "
            found.reason = f"{why}{error}"
            return found
        if moved is not None:
            history, here = [moved], moved
        far, left = _to_infinity(problem, start, here)
        if far > _VERY_FAR:
            pole = (here.p + left * np.sign(here.tangent[-1])) * problem.scale[-1]
            found.reason = f"it goes to infinity, as the parameter comes to {pole:.6g}"
            nodes = found.pieces[-1]  # the last ones tell only that; nothing else would be seen
            while len(nodes) > 1 and _to_infinity(problem, start, nodes[-1])[0] > 2 * _FAR:
                nodes.pop()
            return found
        h = min(
            h, max(options.h_max, _GROWS * float(np.abs(here.w[: problem.n]).max()) * (far > _FAR))
        )
        done = correct(problem, here.w + h * here.tangent, here.tangent, options.tol)
        node = None if done is None else done[0]
        if node is None or not _near(here, node, h):
            ended = _at_margin(problem, history, h, options, found)
            if ended is None and h / 2 >= options.h_min:
                h /= 2
                continue
            other = None if ended is None else problem.beyond(here, ended, options)
            if ended is not None and ended.kind != "phase":
                known = error_from_behind(problem, other, ended.w, ended.error, options.tol)
                found.specials.append(replace(ended, error=known))
            if other is None:
                found.reason = _why(problem, here, h, ended)
                return found
            found.pieces.append([other])
            history, h = [other], options.h
            continue
        if not options.low <= node.p <= options.high:
            _to_the_edge(problem, here, node, options, found)
            found.reason = "end of the range"
            return found
        if node.at.sequence != here.at.sequence:
            change = _change(problem, here, node, options)
            if change is None:
                if h / 2 >= options.h_min:
                    h /= 2
                    continue
                near_end = here.at.margins.get("phase", 1.0) < _AT_END
                found.reason = _ENDED if near_end else "the event sequence cannot continue"
                return found
            special, before = change
            found.pieces[-1] += [before, node]
            if special.kind != "phase":
                found.specials.append(special)
            if special.kind == "branch point":
                found.pieces[-1].pop()
                found.reason = _SHORTER
                return found
            history = [node]
            continue
        _join(problem, here, node, options, found)
        history.append(node)
        if _back(start, here, node):
            found.reason = CLOSED
            return found
        assert done is not None
        h *= 1.5 if done[1] <= 3 else 0.7 if done[1] >= 6 else 1.0
    found.reason = f"{options.most} points are reached"
    return found


def _to_infinity(problem: Followed, start: Node, here: Node) -> tuple[float, float]:
    """Return how large the state is beside the first one, and the parameter left to infinity.

    The latter is that of growth as 1/(p_0 - p); unless it is short, the former is 0.
    """
    first, now = (np.abs(node.w[: problem.n]) for node in (start, here))
    k = int(now.argmax())
    far = float(now[k] / max(first.max(), 1.0))
    if not far > _FAR or here.w[k] * here.tangent[k] <= 0:
        return 0.0, 0.0
    left = abs(float(here.w[k] * here.tangent[-1] / here.tangent[k]))
    return (far, left) if left < _STEEP else (0.0, left)


def _back(start: Node, here: Node, node: Node) -> bool:
    """Whether the step from `here` to `node` passes the first point, in its direction."""
    chord = node.w - here.w
    length = float(np.linalg.norm(chord))
    along = float((start.w - here.w) @ chord) / length**2
    aside = float(np.linalg.norm(here.w + along * chord - start.w))
    same = node.at.sequence == start.at.sequence and float(node.tangent @ start.tangent) > _TURN
    return here is not start and 0 < along <= 1 and aside < 0.2 * length and same


def _near(here: Node, node: Node, h: float) -> bool:
    ahead = float((node.w - here.w) @ here.tangent)
    aside = float(np.linalg.norm(node.w - here.w - h * here.tangent))
    return ahead > 0 and aside < 0.5 * h and float(node.tangent @ here.tangent) > _TURN


def _join(problem: Followed, a: Node, b: Node, options: Options, found: Traced) -> None:
    """Add a point, and the bifurcations between it and the one before."""
    between = _tested(problem, a, b, options)
    found.specials += between
    found.pieces[-1] += [*(special.node for special in between), b]


def crossing(a: Node, b: Node) -> list[str]:
    """Return the tests whose signs differ at two points; exactly zero counts as positive."""
    return [
        name
        for name, value in a.at.tests.items()
        if name in b.at.tests and (value < 0) != (b.at.tests[name] < 0)
    ]


def _bordered(node: Node) -> float:
    A = np.vstack([node.at.jacobian, node.tangent])
    return float(np.linalg.slogdet(A)[0])


def _tested(problem: Followed, a: Node, b: Node, options: Options) -> list[Special]:
    """Return the bifurcations between two points, located."""
    tests: dict[str, Callable[[Node], float]] = {
        name: lambda n, name=name: n.at.tests[name]  # type: ignore[misc]
        for name in crossing(a, b)
    }
    if (a.tangent[-1] < 0) != (b.tangent[-1] < 0):
        tests["fold"] = lambda n: float(n.tangent[-1])
    elif (_bordered(a) < 0) != (_bordered(b) < 0):
        tests["branch point"] = lambda n: (
            _bordered(n)
            * float(
                np.abs(
                    np.linalg.svd(np.vstack([n.at.jacobian * problem.scale, n.tangent]))[1]
                ).min()
            )
        )
    found = []
    for kind, test in tests.items():
        zero = located(problem, a, b, test, options.tol)
        if zero is None:
            continue
        node, value = zero
        slope = abs(test(b) - test(a)) / max(float(np.linalg.norm(b.w - a.w)), 1e-300)
        moved = abs(value) / slope if slope > 0 else np.inf
        at_fold = kind == "fold"
        error = moved * (abs(float(node.tangent[-1])) if not at_fold else abs(value))
        if not problem.genuine(kind, node):
            continue
        found.append(Special(kind, node.w, value, max(error, options.tol), node))
    return sorted(found, key=lambda s: float((s.w - a.w) @ a.tangent))


def _at_margin(
    problem: Followed, history: list[Node], h: float, options: Options, found: Traced
) -> Special | None:
    """Return the point near by at which a margin falls to zero; its path joins the branch."""
    if len(history) < 2:
        return None
    a, b = history[-2:]
    step = float(np.linalg.norm(b.w - a.w))
    near = []
    for key, value in b.at.margins.items():
        fall = a.at.margins.get(key, value) - value
        if key != "edge" and fall > 0 and value * step / fall < 3 * h:
            near.append((value * step / fall, key))
    for _, key in sorted(near):
        reached = approach(problem, history, key, options.tol)
        if reached is None:
            continue
        w, path, error = reached
        for one, two in zip([b, *path], path, strict=False):
            _join(problem, one, two, options, found)
        value = path[-1].at.margins[key]
        kind, name = problem.at_margin(key)
        return Special(kind, w, value, max(error, options.tol), path[-1], name)
    return None


def other_side(problem: Problem, here: Node, ended: Special, options: Options) -> Node | None:
    """Return a point beyond the end of a branch, with another sequence of events, if there is."""
    plane = np.append(np.zeros(len(ended.w) - 1), 1.0)
    onward = np.sign(ended.node.tangent[-1]) or 1.0
    for sign in (onward, -onward):
        for size in _BEYOND:
            guess = ended.w + sign * size * plane
            if not options.low <= guess[-1] <= options.high:
                continue
            done = correct(problem, guess, plane, options.tol, like=sign * plane)
            if done is None:
                continue
            node, far = done[0], float(np.linalg.norm(done[0].w - ended.w))
            if node.at.sequence != here.at.sequence and far < 200 * size:
                return node
    return None


def _change(problem: Problem, a: Node, b: Node, options: Options) -> tuple[Special, Node] | None:
    """Locate where the sequence changes between two points; None if the branch jumps there."""
    chord = b.w - a.w
    length = float(np.linalg.norm(chord))
    low, high, before, after = 0.0, 1.0, a, b
    while high - low > _EXTREME * min(1.0, 1e-3 / max(length, 1e-300)):
        part = 0.5 * (low + high)
        done = correct(problem, a.w + part * chord, chord / length, options.tol, like=a.tangent)
        if done is None:
            return None
        if done[0].at.sequence == a.at.sequence:
            low, before = part, done[0]
        else:
            high, after = part, done[0]
    if float(np.linalg.norm(after.w - before.w)) > 1e-2 * length:
        return None
    kind, name, test = _what_changes(before.at, after.at)
    error = abs(after.p - before.p)
    return Special(kind, 0.5 * (before.w + after.w), test, max(error, options.tol), before, name), (
        before
    )


def _what_changes(a: Evaluation, b: Evaluation) -> tuple[str, str, float]:
    """Return the kind of a change of the sequence, whose it is, and the residual of its test."""
    old, new = Counter(a.sequence), Counter(b.sequence)
    changed = [*(new - old), *(old - new)]
    if not changed:
        # an event without a jump passes the point at which a cycle begins, or two events meet
        if min(e.margins.get("phase", np.inf) for e in (a, b)) < _EXTREME:
            return "phase", "", 0.0
        return "corner", "", min(e.margins.get("spacing", np.inf) for e in (a, b))
    kinds = {one[0] for one in changed if isinstance(one, tuple)}
    if kinds == {"repeats"}:
        return "branch point", "", 0.0
    names = ", ".join(dict.fromkeys(str(one[1]) for one in changed if isinstance(one, tuple)))
    if kinds & _SLIDES:
        return "sliding", names, min(e.margins.get("spacing", np.inf) for e in (a, b))
    margins = [abs(v) for e in (a, b) for k, v in e.margins.items() if k.partition(" ")[2] in names]
    return "grazing", names, min(margins, default=0.0)


def _to_the_edge(
    problem: Followed, here: Node, node: Node, options: Options, found: Traced
) -> None:
    """Add the point at the end of the range, and what lies before it."""
    edge = options.low if node.p < options.low else options.high
    plane = np.append(np.zeros(len(here.w) - 1), 1.0)
    part = (edge - here.p) / (node.p - here.p)
    guess = here.w + part * (node.w - here.w)
    guess[-1] = edge
    done = correct(problem, guess, plane, options.tol, like=here.tangent)
    if done is None or done[0].at.sequence != here.at.sequence:
        return
    _join(problem, here, done[0], options, found)


def _why(problem: Problem, here: Node, h: float, ended: Special | None) -> str:
    if ended is not None:
        where = f" of {ended.name!r}" if ended.name else ""
        gone = f"{ended.kind}{where}: the event sequence cannot continue"
        return _ENDED if ended.kind == "phase" else gone
    u = (here.w + h * here.tangent) * problem.scale
    try:
        problem.evaluate(u)
    except ExplorerError as error:
        return f"the model is not valid beyond: {error}"
    if here.at.margins.get("edge", 1.0) < 1e-2:
        return "the cycle hardly leaves its surfaces any more"
    return "the step is too small: no point of the branch is found nearby"
