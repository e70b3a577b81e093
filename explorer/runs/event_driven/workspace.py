"""What a run of the event-driven kernel writes to: made once for a flow, used by run after run."""

from __future__ import annotations

from typing import Any

import numpy as np

from explorer.compiled import Flow
from explorer.compiled.layout import side_shape
from explorer.kernels.event_driven.butcher import Tableau

__all__ = ["Workspace", "problem", "workspace"]

_FIELDS = (
    "x_minus", "x_plus", "f_minus", "f_plus", "r_x", "r_rho", "h_t", "h_x", "h_rho", "dtau", "p",
    "s_minus", "s_plus",
)  # fmt: skip
RADAU, NEWMARK = 2, 3  # codes of the implicit methods
_PICKS = 64  # of continuations, at most
_KINDS = 8  # kinds of runs (method, columns, caps) of one flow whose workspaces are kept
_LARGEST = 2**26  # bytes of a workspace that is kept


class Workspace:
    """The arguments of the event-driven kernels that outlive a run.

    Attributes
    ----------
    lay : dict of str to slice
        Where the parts of an event lie in a row of `record`; `offsets` where they begin.
    size : int
        Length of what is marched: (n_x + 1) for the state and for every column.
    problem, method : tuple
        Leading arguments of every kernel (`explorer.kernels.event_driven.flow`, `.runge_kutta`).
    arguments : tuple
        All that `march` takes.
    march : callable
        The kernel that integrates.
    """

    def __init__(
        self, flow: Flow, tableau: Tableau, wrt: tuple[int, ...], steps: int, events: int,
        carries: bool, idle: list[Workspace],
    ) -> None:  # fmt: skip
        from explorer.kernels.event_driven.locate_event import SAMPLES
        from explorer.kernels.event_driven.march import march

        self._idle = idle
        n_x, nc, rows, nr, p = flow.n_x, flow.n_c, flow.rows, flow.n_rho, len(wrt)
        block = n_x + 1
        self.size = size = block * (p + 1)
        sizes = (
            block, block, block, block, n_x, nr, n_x, n_x * n_x, n_x * nr, p, rows, p * block,
            p * block,
        )  # fmt: skip
        at = np.cumsum([5, *sizes])
        self.offsets = at.astype(np.int64)
        self.lay = {k: slice(a, b) for k, a, b in zip(_FIELDS, at[:-1], at[1:], strict=True)}
        wide_state = 2 * rows - nc  # every tangent has a direction besides, and two guards
        guards = len(flow.guards) if not flow.mechanical else wide_state
        sides = len(flow.sides.symbols)
        wide = int(max(at[-1], size, 3 * guards + 3, 2 * guards + block, 2 * sides, 32))
        order = max(flow.n + rows, n_x)
        self.problem = problem(flow, wrt)
        self.inp, self.state = self.problem[2], self.problem[-1]
        self.rho = slice(1 + n_x, 1 + n_x + nr)
        lu, pivots = {
            RADAU: ((5 * n_x + 2, 3 * n_x), 4 * n_x),
            NEWMARK: ((2 * order + 2, order), order),
        }.get(tableau.code, ((0, 0), 0))
        self.A = tableau.A.copy()
        self.method = (
            self.A, tableau.c, tableau.stages, np.empty(lu), np.empty(pivots, np.int64),
        )  # fmt: skip
        w = max(wide_state, 1)
        self.watch = np.zeros((max(guards, 1), 5))
        self.y, self.e, self.e_rho = np.zeros(size), np.zeros(nc), np.zeros((nc, nr))
        self.knobs = np.zeros(12)
        self.caps = np.array([steps, events, 0, 0, *[-1] * _PICKS])
        self.K, self.bench = np.empty((17, size)), np.empty((9, wide))
        self.dense = np.empty((8, size))
        self.steps = np.empty((steps, 2 + size + (flow.n * (p + 1) if carries else 0)))
        self.step_state = np.empty((steps, 1 + wide_state + sides), np.int64)
        self.record = np.empty((events, int(at[-1])))
        self.kinds = np.empty((events, 7), np.int64)
        self.counts = np.zeros(4, np.int64)
        self.nbytes = self.steps.nbytes + self.step_state.nbytes + self.record.nbytes
        self.march = march
        self.arguments = (
            *self.problem, *self.method, tableau.last, p, tableau.code, tableau.E, tableau.D,
            np.empty((w, w)), np.empty((w, w)), np.empty((w, w)), np.empty((w, 2 * w + 2)),
            np.empty((6, w + 8)), np.zeros((9, w + 8), np.int64), np.zeros(w, np.int8), self.knobs,
            self.caps, self.y, self.e, self.e_rho, self.K,
            self.dense, self.watch, np.empty((SAMPLES + 3, len(self.watch))), self.bench,
            self.steps, self.step_state, self.offsets, self.record, self.kinds, self.counts,
            np.array([[s.address, s.data] for s in [flow.surfaces] if s] or [[0, 0]], np.int64),
            side_shape(flow), np.zeros(8, np.int64), np.zeros((max(sides, 1), 9)),
            np.empty((SAMPLES + 3, max(sides, 1))),
        )  # fmt: skip

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, *error: object) -> None:
        if self.nbytes <= _LARGEST:
            self._idle.append(self)


def problem(flow: Flow, wrt: tuple[int, ...], many: int = 1) -> tuple[Any, ...]:
    """Return the leading arguments of every kernel, with room for `many` states at once."""
    order = max(flow.n + flow.rows, flow.n_x)
    state = 8 + 2 * flow.rows - flow.n_c + len(flow.sides.symbols)
    return (
        flow.table, flow.shape(wrt), np.tile(flow.input(0.0), many),
        np.empty(flow.most + 1), np.empty((many * order, order)), np.empty(many * order, np.int64),
        np.empty((3, order)), np.zeros(state, np.int64),
    )  # fmt: skip


def workspace(
    flow: Flow, tableau: Tableau, wrt: tuple[int, ...], rho: Any, scheme: Any, steps: int
) -> Workspace:
    """Lend a workspace, as a context, with parameters and tolerances set and nothing else.

    `steps` is how many there is room for. No two threads ever hold the same one.
    """
    events = scheme.max_events
    # generalised-alpha carries an acceleration that is not that of the state
    carries = tableau.code == NEWMARK and bool(tableau.A[0, :2].any())
    key = (tableau.code, carries, wrt, steps, events)
    kept: dict[Any, list[Workspace]] = flow.workspaces
    idle = kept.get(key)
    if idle is None:
        while len(kept) >= _KINDS:
            kept.pop(next(iter(kept)), None)
        idle = kept.setdefault(key, [])
    try:
        found = idle.pop()
    except IndexError:
        found = Workspace(flow, tableau, wrt, steps, events, carries, idle)
    if tableau.code == NEWMARK:
        found.A[0] = tableau.A[0]
    if tableau.code == RADAU:
        found.method[3][-1, :2] = scheme.rtol, scheme.atol
    found.state.fill(0)
    found.inp.fill(0.0)
    found.inp[found.rho] = rho
    return found
