"""A branch of limit cycles or equilibria over one parameter, and the points found on it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from explorer.errors import BadValue, NotApplicable, suggest
from explorer.quantities import quantity
from explorer.study import study
from explorer.study.arclength import Node, correct
from explorer.study.cycles import Cycle, Cycles
from explorer.study.equilibria import Equilibria, Rest
from explorer.study.map_cycles import MapCycles, Orbit
from explorer.study.trace import Options, Special, Traced, trace
from explorer.systems import System

__all__ = ["Branch", "BranchPoint", "assembled"]

_LEAVE = (2e-4, 1e-3, 5e-3)  # steps from a flip onto the doubled cycles


@study
@dataclass(frozen=True)
class BranchPoint:
    """A bifurcation on a branch.

    Attributes
    ----------
    kind : str
        Of cycles "fold", "flip", "Neimark-Sacker", "branch point", "grazing" (a guard is met with
        speed 0), "sliding" or "corner" (the sequence of events changes); of equilibria "fold",
        "Hopf", "branch point", "boundary" (a surface is reached or left); of maps also "border
        collision" (a point of the cycle meets the border of its branch).
    parameter : float
    x : (n_x,) the state, as on the branch
    period : float
        In s, of maps in iterates; NaN of an equilibrium.
    multipliers : (k,) complex, at the nearest verified point; eigenvalues of an equilibrium
    test : float
        Residual of the test function at the nearest verified point: of a fold the parameter's part
        of the unit tangent, of a flip the product of 1 + mu, of grazing the speed or the distance.
    error : float
        Estimated error of the parameter.
    name : str
        The guard or contact, or the branch that is left, if there is one.
    returns : (m, n_x) all states of the cycle on its section, at the nearest verified point
    """

    kind: str
    parameter: float
    x: np.ndarray
    period: float
    multipliers: np.ndarray
    test: float
    error: float
    name: str
    returns: np.ndarray
    node: Node = field(repr=False)


@study
@dataclass(frozen=True, repr=False)
class Branch:
    """Limit cycles or equilibria over one parameter.

    Attributes
    ----------
    system : System
    parameter : str
    kind : "cycles" or "equilibria"
    states : names of the entries of x
    values : (k,) the parameter
    x : (k, n_x) of a forced cycle at t = 0, of an autonomous one just after its section
    period : (k,) in s, of maps in iterates; NaN of equilibria
    multipliers : (k, m) complex, by falling modulus, NaN where there are fewer; eigenvalues of
        equilibria, by falling real part
    stable : (k,) bool
    residual : (k,) largest residual of each point, in units of the largest states on the cycle
    piece : (k,) int
        Points of one piece are joined; between pieces there is a gap.
    returns : (k, m, n_x)
        All states of each cycle on its section, as an orbit diagram shows them: of a forced one at
        the whole periods of the forcing, of an autonomous one just after each event of the section;
        NaN where a cycle has fewer. Of equilibria x itself; of maps all points of the cycle.
    sequences : what happens in each cycle, (k,) tuples of (kind, name); of equilibria the sides, of
        maps the branches of the points
    points : tuple of BranchPoint
    ends : (str, str)
        Why the branch ends, at its first point and at its last one.
    """

    system: System
    parameter: str
    kind: str
    states: tuple[str, ...]
    values: np.ndarray
    x: np.ndarray
    period: np.ndarray
    multipliers: np.ndarray
    stable: np.ndarray
    residual: np.ndarray
    piece: np.ndarray
    returns: np.ndarray
    sequences: tuple[tuple[object, ...], ...]
    points: tuple[BranchPoint, ...]
    ends: tuple[str, str]
    problem: Cycles | Equilibria | MapCycles = field(repr=False)
    options: Options = field(repr=False)
    section: str | None = None

    def __len__(self) -> int:
        return len(self.values)

    def state(self, name: str) -> np.ndarray:
        """Return a state along the branch, (k,).

        Raises
        ------
        BadValue
            There is no such state.
        """
        if name not in self.states:
            raise BadValue(f"There is no state {name!r}.{suggest(name, self.states)}")
        return self.x[:, self.states.index(name)]

    def found(self, kind: str) -> tuple[BranchPoint, ...]:
        """Return the points of one kind, in order."""
        return tuple(point for point in self.points if point.kind == kind)

    def switch(self, point: BranchPoint | None = None) -> Branch:
        """Return the branch of cycles of twice the period that begins at a flip.

        Parameters
        ----------
        point : BranchPoint, optional
            By default the first flip.

        Raises
        ------
        BadValue
            There is no flip, or no doubled cycle is found beside it.
        NotApplicable
            The branch is one of equilibria.
        """
        if isinstance(self.problem, Equilibria):
            raise NotApplicable("Equilibria have no flips: switch is for branches of cycles.")
        flips = self.found("flip")
        if point is None and flips:
            point = flips[0]
        if point is None or point.kind != "flip":
            raise BadValue("switch needs a flip of this branch, and there is none.")
        problem, w, way = self.problem.doubled(point.node)
        for size in _LEAVE:
            done = correct(problem, w + size * way, way, self.options.tol)
            if done is not None and abs(float((done[0].w - w) @ way)) > 0.5 * size:
                options = dataclasses.replace(self.options, h=size)
                onward = trace(problem, done[0], options)
                return assembled(
                    problem, None, onward, options, self.section, ("flip", onward.reason)
                )
        raise BadValue(
            f"No cycle of twice the period is found beside the flip at {self.parameter} = "
            f"{point.parameter:.6g}."
        )

    def __repr__(self) -> str:
        low, high = self.values.min(), self.values.max()
        unit = self.system.parameters[self.parameter].unit
        marks = ", ".join(f"{p.kind} at {quantity(p.parameter, unit, 7)}" for p in self.points)
        return (
            f"Branch of {self.kind} of {self.system.name!r}, {self.parameter} = "
            f"{low:.6g} to {high:.6g}: {len(self)} points, {int(self.stable.sum())} stable"
            + (f"; {marks}" if marks else "")
            + f"; ends: {self.ends[0]}; {self.ends[1]}"
        )


def assembled(
    problem: Cycles | Equilibria | MapCycles,
    backward: Traced | None,
    forward: Traced,
    options: Options,
    section: str | None = None,
    ends: tuple[str, str] | None = None,
) -> Branch:
    """Return the branch of both directions of a trace, in order."""
    pieces: list[list[Node]] = []
    specials: list[Special] = []
    if backward is not None:
        pieces = [piece[::-1] for piece in backward.pieces[::-1]]
        specials = backward.specials[::-1]
        pieces[-1] += forward.pieces[0][1:]
        pieces += forward.pieces[1:]
    else:
        pieces = list(forward.pieces)
    specials = specials + forward.specials
    nodes = [node for piece in pieces for node in piece]
    reader = _Reader(problem, section)
    x = np.array([reader.state(node) for node in nodes])
    multipliers = _padded([_data(node).multipliers for node in nodes])
    points = tuple(_point(problem, reader, s, nodes, x) for s in specials)
    reasons = ("start" if backward is None else backward.reason, forward.reason)
    return Branch(
        problem.system,
        problem.parameter,
        problem.kind,
        tuple(problem.system._state_names()),
        np.array([node.p for node in nodes]) * problem.scale[-1],
        x,
        np.array([_data(node).T for node in nodes]),
        multipliers,
        np.array([problem.stable(node) for node in nodes]),
        np.array([node.at.size for node in nodes]),
        np.repeat(np.arange(len(pieces)), [len(piece) for piece in pieces]),
        _stacked([reader.returns(node) for node in nodes]),
        tuple(node.at.sequence for node in nodes),
        points,
        ends or reasons,
        problem,
        options,
        section,
    )


def _data(node: Node) -> Cycle | Rest | Orbit:
    assert isinstance(node.at.data, Cycle | Rest | Orbit)
    return node.at.data


def _padded(rows: Sequence[np.ndarray]) -> np.ndarray:
    wide = max((len(row) for row in rows), default=0)
    found = np.full((len(rows), wide), np.nan, complex)
    for k, row in enumerate(rows):
        found[k, : len(row)] = row
    return found


def _stacked(found: Sequence[np.ndarray]) -> np.ndarray:
    """Return arrays (m, n_x) of several m as one (k, m, n_x), with NaN behind the last ones.

    Each is turned to lie near the one before: where a cycle begins is no matter.
    """
    stacked = np.full((len(found), max(map(len, found)), found[0].shape[1]), np.nan)
    before = found[0]
    for k, rows in enumerate(found):
        if len(rows) == len(before) > 1:
            turned = [np.roll(rows, j, axis=0) for j in range(len(rows))]
            rows = min(turned, key=lambda one: float(np.abs(one - before).sum()))
        stacked[k, : len(rows)], before = rows, rows
    return stacked


class _Reader:
    """States of nodes; of an autonomous cycle at the event of the section that goes on."""

    def __init__(self, problem: Cycles | Equilibria | MapCycles, section: str | None) -> None:
        self.problem, self.section = problem, section
        self.last: np.ndarray | None = None

    def state(self, node: Node, near: np.ndarray | None = None) -> np.ndarray:
        cycle = node.at.data
        own = self.problem.state(node.w * self.problem.scale)
        if self.section is None or not isinstance(cycle, Cycle):
            return own
        hits = self._hits(cycle)
        if not hits:
            return np.full_like(own, np.nan)
        near = self.last if near is None else near
        if near is None or not np.isfinite(near).all():
            best = hits[0]
        else:
            best = min(hits, key=lambda x: float(np.abs(x - near).sum()))
        self.last = best
        return np.asarray(best)

    def _hits(self, cycle: Cycle) -> list[np.ndarray]:
        """Return the states just after the events of the section."""
        located = cycle.run.located
        return [e.x_plus for e in located if e.contact == self.section and e.kind != "released"]

    def returns(self, node: Node) -> np.ndarray:
        """Return all states of a cycle on its section, (m, n_x)."""
        cycle, problem = node.at.data, self.problem
        own = np.asarray(problem.state(node.w * problem.scale))
        if isinstance(cycle, Orbit):
            return cycle.points
        if not isinstance(cycle, Cycle):
            return own[None]
        if self.section is not None:
            return np.array(self._hits(cycle)).reshape(-1, len(own))
        assert isinstance(problem, Cycles)
        later = np.arange(1, problem.count) * cycle.T / problem.count
        rest = cycle.run.march.sample(later, slopes=False)[0][:, : len(own)]
        return np.vstack([own, rest])


def _point(
    problem: Cycles | Equilibria | MapCycles,
    reader: _Reader,
    special: Special,
    nodes: list[Node],
    x: np.ndarray,
) -> BranchPoint:
    far = [float(np.abs(node.w - special.node.w).sum()) for node in nodes]
    near = x[int(np.argmin(far))]
    at_zero = special.w * problem.scale
    state = problem.state(at_zero) if reader.section is None else reader.state(special.node, near)
    cycle = _data(special.node)
    return BranchPoint(
        special.kind,
        float(at_zero[-1]),
        state,
        cycle.T,
        cycle.multipliers,
        special.test,
        special.error * float(problem.scale[-1]),
        special.name,
        reader.returns(special.node),
        special.node,
    )
