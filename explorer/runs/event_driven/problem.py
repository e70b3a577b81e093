"""A compiled flow as the event-driven kernels take it: functions, sizes, guards, surfaces."""

from __future__ import annotations

import numpy as np

from explorer.compiled import Flow
from explorer.compiled.held import breaks_of
from explorer.kernels.event_driven.records import (
    BRANCH,
    CHANGE,
    GUARD,
    LAST,
    LINK,
    PENALTY,
    ROW,
    SAMPLES,
    SIDE,
    STATE,
    SURFACE,
    WATCH,
)
from explorer.kernels.event_driven.structures import (
    Automaton,
    Functions,
    Problem,
    Saddle,
    Sizes,
    Surfaces,
)
from explorer.kernels.memory import FUNCTION
from explorer.kernels.model.held_inputs import Drive
from explorer.runs.event_driven.columns import active_of, place_of
from explorer.runs.event_driven.settings import Formulation

__all__ = ["automaton", "drive_key", "problem", "set_drive", "set_formulation", "surfaces"]


def problem(flow: Flow, wrt: tuple[int, ...], many: int = 1) -> Problem:
    """Return the problem of a flow, with room for `many` states at once.

    Parameters
    ----------
    flow : Flow
    wrt : the parameter of each sensitivity column, -1: a start value
    many : int, optional
        How many inputs and saddle matrices stand one behind the other.
    """
    order = max(flow.n + flow.rows, flow.n_x)
    at = flow.offsets
    cost = at["cost"] if flow.cost is not None else -1
    table = flow.table.view(FUNCTION).reshape(-1)
    sides = np.zeros(len(flow.side_places), SIDE)
    sides["place"] = flow.side_places
    return Problem(
        Functions(
            table, at["tlm"], at["guard"], at["guard_tlm"], at["reset"], cost, at["eliminated"]
        ),
        _sizes(flow),
        np.array([place_of(k, flow.n_rho) for k in wrt], np.int64),
        _partners(flow),
        flow.resets.copy(),  # an impact marks the coordinates that it keeps
        np.tile(flow.input(0.0), many),
        np.empty(flow.most + 1),
        Saddle(
            np.empty((many * order, order)),
            np.empty(many * order, np.int64),
            np.empty(order),
            np.empty(order),
            np.empty(order),
            np.zeros((max(len(wrt), 1), flow.rows)),
        ),
        np.zeros(1, STATE),
        np.zeros(flow.rows, ROW),
        sides,
        *_changes(flow),
        _owned(breaks_of(flow.system, 1 + flow.n_x, len(flow.input(0.0)))),
        active_of(flow.system, wrt),
    )


def _owned(drive: Drive) -> Drive:
    """Return inputs that `set_drive` may overwrite."""
    return (
        drive if not drive.t.size else drive._replace(t=drive.t.copy(), values=drive.values.copy())
    )


def drive_key(flow: Flow) -> tuple[object, ...]:
    """Return what problems of flows with inputs have in common that `set_drive` makes equal."""
    drive = flow.system.drive
    return () if drive is None else (len(drive.t), drive.names)


def set_drive(problem: Problem, flow: Flow, wrt: tuple[int, ...]) -> None:
    """Give a problem the inputs of a flow of the same `drive_key`."""
    drive = flow.system.drive
    if drive is not None and len(drive.t) > 2:
        problem.drive.t[:], problem.drive.values[:] = drive.breaks, drive.values
        problem.active[:] = active_of(flow.system, wrt)


def _changes(flow: Flow) -> tuple[np.ndarray, np.ndarray]:
    """Return the changes of constraints, and on which of them each constraint depends."""
    changes, links = np.zeros(len(flow.changes), CHANGE), np.zeros(flow.n_phi, LINK)
    links["change"] = -1
    for k, change in enumerate(flow.changes):
        changes[k]["last"] = change.latched - change.once
        for c, sign in change.constraints:
            links[c] = k, sign
    return changes, links


def _sizes(flow: Flow) -> Sizes:
    rates = 1 + flow.n_x + flow.n_rho
    lam = rates + flow.n_x
    e = lam + flow.rows
    return Sizes(
        flow.mechanical,
        flow.n_x,
        flow.n,
        flow.n_c,
        len(flow.rough),
        flow.n_rho,
        flow.rows,
        rates=rates,
        lam=lam,
        e=e,
        sigma=e + flow.n_c,
        penalty=e + flow.n_c + len(flow.rough),
        n_w=len(flow.changes),
    )


def set_formulation(problem: Problem, formulation: Formulation, many: int = 1) -> None:
    """Tell a problem, with room for `many` states, how its constraints are held."""
    form, alpha, xi, omega = formulation
    problem.state[0]["form"] = form
    first = problem.sizes.penalty
    if problem.sizes.rows > problem.sizes.n_c + problem.sizes.n_t:
        numbers = (0.0, 0.0, 0.0, 1.0)
        if form == PENALTY:
            numbers = (2 * xi * omega, omega**2, 1 / alpha, 0.0)
        problem.inp.reshape(many, -1)[:, first : first + 4] = numbers


def _partners(flow: Flow) -> np.ndarray:
    """Return the tangent row of each contact (-1: frictionless), the contact of each tangent."""
    tangent = {c: flow.n_c + k for k, c in enumerate(flow.rough)}
    contacts = [tangent.get(c, -1) for c in range(flow.n_c)]
    return np.array([*contacts, *flow.rough, *[-1] * flow.n_phi], np.int64)


def automaton(flow: Flow) -> Automaton:
    """Return the guards of all modes; none for a mechanical system."""
    if flow.mechanical:
        none = np.zeros(1, np.int64)
        return Automaton(
            none, np.zeros(0, GUARD), np.zeros(0, BRANCH), np.zeros(0, LAST), *_starts(flow)
        )
    modes = len(flow.automaton.modes)  # type: ignore[union-attr]
    first = np.searchsorted([g.mode for g in flow.guards], range(modes + 1))
    zeros = {(g.mode, g.r, g.direction): k - first[g.mode] for k, g in enumerate(flow.guards)}
    row = flow.offsets["branch"]
    guards: list[tuple[int, ...]] = []
    branches: list[tuple[int, ...]] = []
    for g in flow.guards:
        flags = g.bounds + 2 * g.terminal + 4 * (g.when is not None)
        same = zeros.get((g.to, g.r, g.direction), -1)
        guards.append((g.direction, g.to, flags, g.zeno, len(g.branches), row, len(branches), same))
        row += bool(g.branches)
        condition = 0
        for b in g.branches:
            there = [other.name for other in flow.guards if other.mode == b.to]
            left = there.index(g.leaves) if g.leaves in there else -1
            branches.append((b.to, left, condition, condition + len(b.when)))
            condition += len(b.when)
    return Automaton(
        first.astype(np.int64),
        np.array(guards, GUARD),
        np.array(branches, BRANCH),
        np.zeros(len(guards), LAST),
        *_starts(flow),
    )


def _starts(flow: Flow) -> tuple[np.ndarray, np.ndarray]:
    """Return the modes that may begin at a state, and the function of their conditions."""
    rows: list[tuple[int, int, int, int]] = []
    function = np.zeros(1, FUNCTION)
    starts = () if flow.automaton is None else flow.automaton.start_branches
    if starts:
        function[0] = flow.starts.address, flow.starts.data
        condition = 0
        for b in starts:
            rows.append((b.to, -1, condition, condition + len(b.when)))
            condition += len(b.when)
    return np.array(rows, BRANCH), function


def surfaces(flow: Flow) -> Surfaces:
    """Return the surfaces of the formulas as guards of an automaton with one mode."""
    count = len(flow.side_places)
    native = flow.surfaces
    table = np.array([(native.address, native.data) if native else (0, 0)], FUNCTION)
    history = np.zeros(count, SURFACE)
    history["whole"] = [whole for _, whole in flow.sides.surfaces]
    sizes = _sizes(flow)._replace(mechanical=False, n=0, n_c=0, n_t=0, rows=0, n_w=0)
    return Surfaces(
        Functions(table, 0, 0, 0, 0, -1, -1),
        sizes,
        Automaton(
            np.array([0, count]),
            np.zeros(count, GUARD),
            np.zeros(0, BRANCH),
            np.zeros(0, LAST),
            np.zeros(0, BRANCH),
            np.zeros(1, FUNCTION),
        ),
        np.zeros(1, STATE),
        np.zeros(count, WATCH),
        history,
        np.empty((SAMPLES + 3, max(count, 1))),
        inverse=len(flow.input(0.0)) - count,  # their sizes come last
    )
