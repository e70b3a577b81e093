"""The smooth program on a sequence of active sets, solved to 1e-10, and its neighbours.

A solution on one sequence is a solution of the problem only if no neighbouring sequence is better.
Neighbours exist where a plan is biactive: a phase has the length zero, or a surface is touched or
slid on without need. There the objective has a kink, and each sequence alone looks stationary. So
all biactive changes are moved, together and apart (the pieces of a mathematical program with
complementarity constraints: Scheel and Scholtes, *Math. Oper. Res.* 25 (2000) 1,
doi:10.1287/moor.25.1.1.15213).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from explorer.transcription.active_set import (
    Layout,
    bounds_of,
    moved,
    open_slacks,
    retimed,
)
from explorer.transcription.builder import DEAR
from explorer.transcription.contact_formulas import ContactFormulas
from explorer.transcription.contact_sets import at_boundaries, brief, collapsed
from explorer.transcription.grid import ASKED
from explorer.transcription.horizon import restrict
from explorer.transcription.program import Program
from explorer.transcription.sequence import Sequence
from explorer.transcription.solver import Bounds, Point, Solver

__all__ = ["Polished", "at_bounds", "finest", "polish", "pressed", "ties"]

PENALTY = 1e3  # of slacks, in units of the objective
LEAST = 0.1  # of an interval: the phases with which a search beside a plan begins
LASTS = 0.05  # of a mean element: in a shorter one the program is ill-conditioned
GONE = 1e-4  # of a mean length: a control interval of a free grid that has no length
PRESSED = 1e-10  # a multiplier of a bound that may have the wrong sign
CLOSED = 1e-8  # slacks below are none
SAME = 1e-3  # relative: a brief phase is worth less
EQUAL = 1e-8  # relative: objectives of one solution


@dataclass(frozen=True)
class Polished:
    """A solution on one sequence.

    Attributes
    ----------
    program : Program
    point : Point
    sequence : Sequence, with its times
    layout : Layout
    bounds : Bounds
    cost : float, the objective without penalties
    slacks : dict of str to float, the largest of each kind
    parameters : float array, of the program
    """

    program: Program
    point: Point
    sequence: Sequence
    layout: Layout
    bounds: Bounds
    cost: float
    slacks: dict[str, float]
    parameters: np.ndarray

    @property
    def missing(self) -> float:
        """How much slack the constraints take; infinite where it is not known."""
        dear = DEAR if self.program.of["bounds"].size else 1.0
        total = sum(self.slacks.values()) + (dear - 1) * self.slacks["loose"]
        return total if self.point.ok else np.inf

    @property
    def ok(self) -> bool:
        """Whether it is solved, and without slacks."""
        return self.point.ok and max(self.slacks.values(), default=0.0) <= CLOSED


def ties(program: Program, w: np.ndarray) -> np.ndarray:
    """Return which neighbouring intervals have the same controls, at their bounds: (N - 1,)."""
    u = w[program.of["u"]]
    low, high = program.low[program.of["u"]], program.high[program.of["u"]]
    span = np.where(np.isfinite(high - low), high - low, 1.0)
    at = (np.minimum(u - low, high - u) <= 1e-3 * span).all(axis=1)
    same = (np.abs(np.diff(u, axis=0)) <= 1e-3 * span[1:]).all(axis=1)
    return np.asarray(same & at[1:] & at[:-1])


def at_bounds(program: Program, w: np.ndarray) -> np.ndarray:
    """Return the controls that are nearly at a bound: (N, n_u), -1 at the lower one, 1, or 0."""
    u = program.of["u"]
    low, high = program.low[u], program.high[u]
    near = 1e-3 * np.where(np.isfinite(high - low), high - low, 0.0)
    return np.asarray((high - w[u] < near).astype(int) - (w[u] - low < near))


def pressed(plan: Polished, held: np.ndarray) -> bool:
    """Whether all controls that were fixed at bounds press against them."""
    u = plan.program.of["u"]
    return bool((held * plan.point.w_multipliers[u] >= -PRESSED).all())


def polish(
    solver: Solver,
    source: Program,
    w: np.ndarray,
    sequence: Sequence,
    p: np.ndarray,
    *,
    kind: str = "polish",
    elastic: bool = True,
    uniform: bool = False,
    held: np.ndarray | None = None,
    warm: Polished | None = None,
    rival: float = np.inf,
) -> Polished:
    """Solve the smooth program on a sequence.

    Parameters
    ----------
    solver : Solver
        Of a program in step form.
    source, w :
        The program and the point to start from.
    sequence : Sequence
    p : float array
        Parameters; the last entry is the weight of slacks.
    kind : str
        "polish", "fine" for the last digits of switches, or "explore" to leave the point, which
        with contacts ends before the last digits, with phases of a least length; "glance"
        leaves it for a few iterations.
    elastic : bool
        Whether to allow slacks where the program as it stands is not solved.
    uniform : bool
        Whether all control intervals have the same length, on a free grid too.
    held : (N, n_u) int, optional
        Controls that are fixed at their lower bound, -1, or upper one, 1.
    warm : Polished, optional
        A solution nearby, for kind "warm": where multipliers begin, if the layout is the same.
    rival : float
        The objective of a plan; a solve that cannot come below it ends early, and is not solved.
    """
    program = solver.program
    leaves = kind in ("explore", "glance")
    least = LEAST if leaves else 0.0
    start, layout = moved(source, w, program, sequence, p, least)
    bounds = bounds_of(program, layout)
    contacts = isinstance(program.formulas, ContactFormulas)
    rough = leaves and contacts
    if rough:
        bounds.low[program.of["h"]] = brief(program, LASTS)
    if program.grid.free and program.grid.intervals > 1:
        tied = program.rows["tied"][ties(program, start) | uniform]
        bounds.row_low[tied] = bounds.row_high[tied] = 0.0
        parts = program.of["lengths"]
        bounds.high[parts[start[parts] < GONE * start[parts].mean()]] = 0.0
    if held is not None:
        u = program.of["u"]
        bounds.high[u[held < 0]] = bounds.low[u[held < 0]]
        bounds.low[u[held > 0]] = bounds.high[u[held > 0]]
    restrict(program, bounds, start, p)
    loose = open_slacks(program, Bounds(*(one.copy() for one in vars(bounds).values())))
    restrict(program, loose, start, p)
    if bounds.free < 0:  # more equations than variables: only slacks can tell whether they agree
        bounds = loose
    near = None
    if kind == "warm":
        same = warm is not None and np.array_equal(warm.layout.signs, layout.signs)
        if warm is not None and same and np.array_equal(warm.layout.phase, layout.phase):
            near = warm.point
        kind = "again" if near is None else "warm contacts" if contacts else "warm"
    point = solver(kind, start, p, bounds, near, rival=rival)
    if not point.ok and elastic:
        wide = solver("explore" if kind == "polish" else kind, start, p, loose)
        if wide.ok or not np.isfinite(point.f):
            point, bounds = wide, loose
            again = solver(kind, wide.w, p, bounds)
            point = again if again.ok else wide
    if point.ok and contacts and not rough:
        shorter = collapsed(program, bounds, point.w)
        if shorter or kind not in ("polish", "warm contacts"):
            again = solver("polish", point.w, p, shorter or bounds)
            if again.ok:
                point, bounds = again, shorter or bounds
        timed = retimed(program, point.w, sequence, layout)
        snapped = at_boundaries(program, point.w, timed)
        if snapped.key != timed.key:
            there = polish(solver, program, point.w, snapped, p, elastic=False, held=held)
            worse = SAME * (1 + abs(there.cost))
            if there.ok and there.cost <= float(program.costs(point.w, p)) + worse:
                return there
    slacks = {name: float(point.w[program.of[name]].max(initial=0.0)) for name in ("loose", *ASKED)}
    cost = float(program.costs(point.w, p))
    timed = retimed(program, point.w, sequence, layout)
    return Polished(program, point, timed, layout, bounds, cost, slacks, p)


def finest(solver: Solver, plan: Polished) -> Polished:
    """Return a solution with the last digits of switches that hardly move the objective."""
    program, p, w = plan.program, plan.parameters, plan.point.w
    held = at_bounds(program, w)
    again = polish(solver, program, w, plan.sequence, p, kind="fine", elastic=False, held=held)
    better = again.ok and again.cost <= plan.cost + EQUAL * (1 + abs(plan.cost))
    return again if better and pressed(again, held) else plan
