"""What a run of the event-driven kernel reads and writes: made once for a flow, used run by run."""

from __future__ import annotations

import numpy as np

from explorer.compiled import Flow
from explorer.errors import BadValue
from explorer.kernels.complementarity.structures import FACTORED, LcpWorkspace
from explorer.kernels.event_driven.butcher import Tableau
from explorer.kernels.event_driven.records import (
    COEFFICIENTS,
    EVENT,
    FOUND,
    HOLD,
    NEWMARK,
    PROGRESS,
    RANK,
    SAMPLES,
    WATCH,
)
from explorer.kernels.event_driven.structures import (
    Contacts,
    Event,
    Events,
    Method,
    Parts,
    Rank,
    Record,
    Search,
    Steps,
    Workspace,
    newton_of,
    step_of,
)
from explorer.runs.event_driven.problem import (
    automaton,
    drive_key,
    problem,
    set_drive,
    set_formulation,
    surfaces,
)
from explorer.runs.event_driven.settings import Settings
from explorer.types import Reals

__all__ = ["Arguments", "lend"]

_KINDS = 8  # kinds of runs (method, columns, caps) of one flow whose workspaces are kept
_LARGEST = 2**26  # bytes of a record that is kept


def parts_of(flow: Flow, p: int) -> Parts:
    """Return where the parts of an event begin, with p columns."""
    n_x, nr, block = flow.n_x, flow.n_rho, flow.n_x + 1
    sizes = Parts(
        x_minus=block,
        x_plus=block,
        f_minus=block,
        f_plus=block,
        r_x=n_x,
        r_rho=nr,
        h_t=n_x,
        h_x=n_x * n_x,
        h_rho=n_x * nr,
        dtau=p,
        p=flow.rows,
        s_minus=p * block,
        s_plus=p * block,
        size=0,
    )
    return Parts(*np.cumsum([0, *sizes[:-1]]).tolist())


def method_of(flow: Flow, tableau: Tableau) -> Method:
    """Return a method with its workspace; tolerances and coefficients of Newmark are set later."""
    order = max(flow.n + flow.rows, flow.n_x)
    return Method(
        tableau.A,
        tableau.c,
        tableau.E,
        tableau.D,
        *newton_of(tableau.code, flow.n_x, order),
        np.zeros(1, COEFFICIENTS),
        tableau.code,
        tableau.stages,
        tableau.last,
        tableau.exponent,
        tableau.stiff,
        rtol=0.0,
        atol=0.0,
    )


def contacts_of(flow: Flow) -> Contacts:
    """Return the workspace of the contact problem of an event."""
    nc, nr, rows = flow.n_c, flow.n_rho, flow.rows
    w = max(nc + 2 * len(flow.rough), 1)  # every tangent has two limits
    act, place, sigma, order, reached = np.zeros((5, w), np.int64)
    right, ratio, force, z, b = np.empty((5, w))
    B, A, D = np.empty((3, w, w))
    pivots, factored = np.zeros((2, max(w, 2)), np.int64)
    lcp = LcpWorkspace(
        np.zeros(w, np.int8),
        np.zeros(1, FACTORED),
        factored,
        A,
        pivots,
        np.empty((w, 2 * w + 2)),
        b,
    )
    return Contacts(
        np.zeros(nc),
        np.zeros((nc, nr)),
        np.zeros(nc),
        np.zeros(rows, HOLD),
        D,
        act,
        place,
        sigma,
        order,
        reached,
        right,
        ratio,
        force,
        B,
        z,
        lcp,
    )


def workspace_of(flow: Flow, at: Parts, p: int, stages: int) -> Workspace:
    """Return what a march with p columns by a method with so many stages works on."""
    block = flow.n_x + 1
    size = block * (p + 1)
    guards = len(flow.guards)
    if flow.mechanical:
        guards = flow.n_c + 2 * len(flow.rough) + len(flow.changes)
    most = max(guards, len(flow.side_places), 1)
    x, rates = np.empty((2, block))
    values, when = np.empty((2, most))
    return Workspace(
        np.zeros(size),
        step_of(stages, size),
        Search(
            x,
            rates,
            values,
            when,
            np.empty((SAMPLES + 3, max(guards, 1))),
            np.zeros(max(guards, 1), WATCH),
            np.zeros(1, FOUND),
        ),
        Event(np.zeros(1, EVENT), np.empty(at.size), at),
        np.zeros(1, PROGRESS),
        Rank(
            np.empty((flow.n_phi, flow.n)),
            np.zeros(flow.n, np.int64),
            np.empty(2 * flow.n),
            np.zeros(1, RANK),
        ),
    )


def record_of(flow: Flow, at: Parts, p: int, steps: int, events: int, carried: int) -> Record:
    """Return room for so many steps and events; `carried` accelerations are kept of a step.

    Raises
    ------
    BadValue
        If there is not so much memory.
    """
    size = (flow.n_x + 1) * (p + 1)
    state = 1 + flow.rows + len(flow.rough) + len(flow.side_places) + len(flow.changes)
    state += flow.system.drive is not None and len(flow.system.drive.breaks) > 0
    try:
        return Record(
            Steps(
                np.empty(steps),
                np.empty(steps),
                np.empty((steps, size)),
                np.empty((steps, carried)),
                np.empty((steps, state), np.int64),
            ),
            Events(np.empty(events, EVENT), np.empty((events, at.size)), at),
        )
    except (MemoryError, ValueError):
        raise BadValue(
            f"max_steps = {steps:g} and max_events = {events:g} are more than memory allows: use "
            "smaller ones, or run shorter spans one after another."
        ) from None


class Arguments:
    """What the event-driven kernels take and what outlives a run.

    Attributes
    ----------
    problem, automaton, surfaces, method, contacts, work, record
        See `explorer.kernels.event_driven.structures`.
    memory : uint8 array
        Where the kernel finds them: see `bound`.
    heads, watched : uint8 arrays
        The records of the events and of the guards as bytes: NumPy copies fields one by one.
    """

    def __init__(
        self, flow: Flow, settings: Settings, wrt: tuple[int, ...], idle: list[Arguments]
    ) -> None:
        p, at = len(wrt), parts_of(flow, len(wrt))
        self._idle = idle
        self._bound: Method | None = None
        self.memory = np.zeros(0, np.uint8)
        self.problem, self.automaton = problem(flow, wrt), automaton(flow)
        self.surfaces, self.contacts = surfaces(flow), contacts_of(flow)
        self.method = method_of(flow, settings.tableau)
        self.work = workspace_of(flow, at, p, settings.tableau.stages)
        carried = flow.n * (p + 1) if settings.carries else 0
        self.record = record_of(flow, at, p, settings.max_steps, settings.max_events, carried)
        steps, events = self.record
        self.nbytes = sum(part.nbytes for part in (*steps, events.head, events.parts))
        of, run = self.problem, self.work.run
        records = (of.inp, of.state, of.rows, run)  # as bytes, a tenth of the time to clear them
        self.heads, self.watched = (x.view(np.uint8) for x in (events.head, self.work.search.watch))
        self._cleared = (*(part.view(np.uint8) for part in records), of.sides["now"])

    def bound(self) -> np.ndarray:
        """Return the memory that tells the kernel of it, written anew if something changed."""
        from explorer.kernels.event_driven.march import Task, bind

        if self._bound is not self.method:
            task = Task(
                self.problem,
                self.automaton,
                self.surfaces,
                self.method,
                self.contacts,
                self.work,
                self.record,
            )
            needed = bind(task, self.memory)
            if needed > len(self.memory):
                self.memory = np.zeros(needed, np.uint8)
                bind(task, self.memory)
            self._bound = self.method
        return self.memory

    def clear(self) -> None:
        """Forget the inputs and the state of the last run."""
        for memory in self._cleared:
            memory.fill(0)

    def __enter__(self) -> Arguments:
        return self

    def __exit__(self, *error: object) -> None:
        if self.nbytes <= _LARGEST:
            self._idle.append(self)


def lend(flow: Flow, settings: Settings, wrt: tuple[int, ...], rho: Reals) -> Arguments:
    """Lend the arguments of the kernels, as a context, set for a run and nothing else.

    No two threads ever hold the same ones.
    """
    tableau = settings.tableau
    steps, events = settings.max_steps, settings.max_events
    key: tuple[object, ...] = tableau.code, settings.carries, wrt, steps, events
    driven = flow.system.drive is not None
    if driven:
        key += drive_key(flow)
    kept: dict[tuple[object, ...], list[Arguments]] = flow.workspaces
    idle = kept.get(key)
    if idle is None:
        while len(kept) >= _KINDS:
            kept.pop(next(iter(kept)), None)
        idle = kept.setdefault(key, [])
    try:
        lent = idle.pop()
    except IndexError:
        lent = Arguments(flow, settings, wrt, idle)
    if tableau.code == NEWMARK:
        lent.method.newmark[0] = (*tableau.newmark, 0.0, 0.0, 0.0)
    if (lent.method.rtol, lent.method.atol) != (settings.rtol, settings.atol):
        lent.method = lent.method._replace(rtol=settings.rtol, atol=settings.atol)
    lent.clear()
    if driven:
        set_drive(lent.problem, flow, wrt)
    sizes = lent.problem.sizes
    lent.problem.inp[1 + sizes.n_x : sizes.rates] = rho
    if flow.n_phi:
        set_formulation(lent.problem, settings.formulation)
    return lent
