"""The branches of cycles that pass through the attractors of an orbit diagram, stable or not.

A diagram by brute force shows what attracts. Newton's method finds the cycle at a column that
repeats, and continuation follows it to where it ends: through folds and flips, where it is no
longer stable (Kuznetsov, *Elements of Applied Bifurcation Theory*, 2004,
doi:10.1007/978-1-4757-3978-7).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Protocol

import numpy as np

from explorer.errors import ExplorerError, NotApplicable
from explorer.schemes.event_driven import EventDriven
from explorer.study import study
from explorer.study.branch import Branch
from explorer.study.continuation import continuation
from explorer.study.orbits import Orbits
from explorer.study.parts import Stop
from explorer.study.question import Question
from explorer.study.section import Section
from explorer.systems import System

__all__ = ["DiagramBranches", "diagram_branches"]

_MOST = 12  # branches
_LONGEST = 6  # points of a cycle on the section: those of longer ones are hard to tell apart
_STEP = 0.03  # of the range
_NEAR = 0.015  # of the size of the diagram: how near a branch passes by a column on it
_SAME = 1e-5  # the same of two points of a cycle that are one: its period is shorter


@study
@dataclass(frozen=True, repr=False)
class DiagramBranches:
    """Branches of cycles through the columns of an orbit diagram, as far as they are followed.

    Attributes
    ----------
    branches : tuple of Branch
    left : int
        Columns that repeat after at most six points and lie on no branch.
    problem : str
        Why the first cycle that is not found could not be followed, or "".
    done : bool
        Whether all that can be followed has been.
    """

    branches: tuple[Branch, ...] = ()
    left: int = 0
    problem: str = field(default="", repr=False)
    done: bool = False

    def __repr__(self) -> str:
        many = len(self.branches)
        said = f", {self.left} columns of short periods lie on none" if self.left else ""
        return f"DiagramBranches: {many} branch{'es' * (many != 1)}{said}"


class Asked(Protocol):
    """What is asked of a diagram."""

    system: System
    by: str
    question: Question

    @property
    def section(self) -> Section:
        """Where the diagram is seen."""


def diagram_branches(
    asked: Asked, found: Orbits, stop: Stop | None = None
) -> Iterator[DiagramBranches]:
    """Yield what is known after each branch.

    Parameters
    ----------
    asked : Sharpening
    found : Orbits
        The diagram, whose columns tell where cycles are sought.
    stop : function without arguments, optional
        Once it returns True, nothing more is followed.

    Raises
    ------
    NotApplicable
        Branches on this section, or by this scheme, cannot be followed.
    """
    stop = stop or (lambda: False)
    scheme, where = _scheme(asked), _where(asked)
    columns = _Columns(found)
    branches: list[Branch] = []
    problem = ""
    yield DiagramBranches((), columns.left)
    while len(branches) < _MOST and not stop() and (k := columns.next()) is not None:
        try:
            branch = _through(asked, found, k, scheme, where, stop)
        except ExplorerError as error:
            problem = problem or (
                f"No branch is followed from {found.by} = {found.values[k]:.6g}: {error}"
            )
            columns.skip(k)
            continue
        if stop():
            break
        if columns.shorter(branch):  # beside a flip Newton's method may come to the shorter cycle
            columns.skip(k)
            continue
        branches.append(branch)
        columns.take(branch, k)
        yield DiagramBranches(tuple(branches), columns.left, problem)
    yield DiagramBranches(tuple(branches), columns.left, problem, not stop())


def _scheme(asked: Asked) -> EventDriven:
    """Return the scheme of the diagram, with the digits that Newton's method needs."""
    scheme = asked.question.scheme
    if asked.system.discrete:
        raise NotApplicable(
            f"'{asked.system.name}' is a map: branches are followed of flows. Its orbits that do "
            "not attract are not drawn."
        )
    if not isinstance(scheme, EventDriven):
        raise NotApplicable(
            f"{type(scheme).__name__} does not locate events: branches need EventDriven."
        )
    return dataclasses.replace(scheme, rtol=1e-11, atol=1e-12)


def _where(asked: Asked) -> dict[str, object]:
    """Return the arguments that tell continuation where cycles are sampled."""
    section = asked.section
    if section.period is not None and section.phase == 0:
        return {"period": section.period}
    if section.event is not None and section.side == "after":
        return {"section": section.event}
    raise NotApplicable(
        "Branches are sampled at the begin of a period, or just after an event: draw the diagram "
        "on such a section, with phase = 0 or side = 'after'."
    )


def _through(
    asked: Asked, found: Orbits, k: int, scheme: EventDriven, where: dict[str, object], stop: Stop
) -> Branch:
    """Return the branch through a column."""
    rho = dict(zip(asked.system.parameters, asked.question.rho, strict=True))
    return continuation(
        asked.system,
        scheme,
        found.by,
        **where,  # type: ignore[arg-type]
        count=int(found.period[k]),
        guess=found.points[k, found.found[k] - 1],
        over=(float(found.values[0]), float(found.values[-1])),
        step=_STEP,
        stop=stop,
        rho={**rho, found.by: float(found.values[k])},
    )


class _Columns:
    """The columns that repeat, and which of them lie on a branch that is known."""

    def __init__(self, found: Orbits) -> None:
        self.found = found
        self.open: np.ndarray = (found.period > 0) & (found.period <= _LONGEST) & (found.code == 0)
        shown = found.points[self.open].reshape(-1, len(found.states))
        shown = shown[np.isfinite(shown).all(axis=1)]
        size = np.ptp(shown, axis=0) if len(shown) else np.ones(len(found.states))
        self.size = np.where(size > 1e-12, size, 1.0)
        self.tried = np.zeros(len(found.values), bool)

    @property
    def left(self) -> int:
        """How many lie on no branch."""
        return int(self.open.sum())

    def next(self) -> int | None:
        """Return the middle of the longest stretch of one period that lies on no branch."""
        key = np.where(self.open & ~self.tried, self.found.period, 0)
        edges = [0, *(np.flatnonzero(np.diff(key)) + 1).tolist(), len(key)]
        runs = [(b - a, a) for a, b in pairwise(edges) if b > a and key[a] > 0]
        if not runs:
            return None
        wide, first = max(runs, key=lambda run: (run[0], -run[1]))
        return first + wide // 2

    def skip(self, k: int) -> None:
        """Try no column of the middle half of its stretch again: Newton's method fails at it."""
        key = np.where(self.open & ~self.tried, self.found.period, 0)
        a = b = k
        while a > 0 and key[a - 1] == key[k]:
            a -= 1
        while b + 1 < len(key) and key[b + 1] == key[k]:
            b += 1
        quarter = (b - a) // 4
        self.tried[a + quarter : b - quarter + 1] = True

    def shorter(self, branch: Branch) -> bool:
        """Whether the cycles of a branch repeat after a part of their points."""
        x, many = branch.returns, branch.returns.shape[1]
        for part in range(1, many):
            if many % part == 0:
                off = np.abs(x - np.roll(x, part, axis=1)) / self.size
                if np.isfinite(off).any() and np.nanmax(off) < _SAME:
                    return True
        return False

    def take(self, branch: Branch, k: int) -> None:
        """Take note of the columns that lie on a branch."""
        self.tried[k], self.open[k] = True, False
        for j in np.flatnonzero(self.open):
            if self._on(branch, int(j)):
                self.open[j] = False

    def _on(self, branch: Branch, k: int) -> bool:
        """Whether all points of a column lie on a branch: near the line between two of its points.

        Nearness is that in the plane of the parameter and the states, so that it holds at folds.
        """
        value, n = self.found.values[k], int(self.found.period[k])
        x = self.found.points[k, self.found.found[k] - n : self.found.found[k]] / self.size
        wide = float(self.found.values[-1] - self.found.values[0])
        column = np.column_stack([np.full(n, value / wide), x])
        p = np.broadcast_to(branch.values[:, None, None] / wide, (*branch.returns.shape[:2], 1))
        path = np.concatenate([p, branch.returns / self.size], axis=2)
        joined = branch.piece[1:] == branch.piece[:-1]
        a, b = path[:-1][joined], path[1:][joined]  # (segments, m, 1 + n_x)
        far = np.full(n, np.inf)
        for i, point in enumerate(column):
            way = b - a
            along = ((point - a) * way).sum(axis=2) / np.maximum((way**2).sum(axis=2), 1e-300)
            off = np.abs(a + np.clip(along, 0, 1)[..., None] * way - point).max(axis=2)
            far[i] = np.nanmin(off, initial=np.inf)
        return bool(far.max() < _NEAR)
