"""The rows of a run: both sides of every event among given times, and the events themselves."""

from __future__ import annotations

import numpy as np

from explorer.kernels.event_driven.records import CHAINED
from explorer.results.event import LocatedEvent
from explorer.runs.event_driven.changes import held_beside, holding, sides_of
from explorer.runs.event_driven.run import Run

__all__ = ["events_of", "rows_of"]

_RESTS = 1e-8  # m/s: no faster moves what is held
_PARTED = 1e-6  # of the step beside it: a step as short as round-off


class _Weave:
    """The order in which rows at given times and both sides of the events follow each other."""

    def __init__(self, times: np.ndarray, hits: np.ndarray) -> None:
        events = len(hits)
        sides = np.concatenate([times, hits, hits])
        turn = 2.0 * np.arange(events)
        turns = np.concatenate([np.zeros(len(times)), turn, turn + 1])
        self.order = np.lexsort((turns, sides))
        place = np.empty(len(self.order), int)
        place[self.order] = np.arange(len(self.order))
        self.t = sides[self.order]
        self.left = place[len(times) : len(times) + events]
        self.right = place[len(times) + events :]

    def __call__(self, grid: np.ndarray, minus: np.ndarray, plus: np.ndarray) -> np.ndarray:
        """Return what belongs to the times, and to both sides of the events, in one order."""
        return np.concatenate([grid, minus, plus])[self.order]


def rows_of(run: Run, times: np.ndarray, exact: bool) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return the rows at increasing times and at the events, and the row behind each event.

    See `explorer.runs.event_driven.run.Run.sample` for `exact`.
    """
    flow, head, hits, step_state = run.flow, run.events.head, run.hits, run.steps.state
    n_x, n, nc, p = flow.n_x, flow.n, flow.n_c, len(run.wrt)
    block = n_x + 1
    if flow.system.drive is not None:  # both sides of breaks
        breaks = flow.system.drive.breaks
        times = np.sort(np.concatenate([np.setdiff1d(times, breaks), breaks, breaks]))
        times = times[times <= run.t_last]
    times = times[~np.isin(times, hits)]
    y, dy, which = run.sample(times, exact=exact)
    woven = _Weave(times, hits)
    x_minus, x_plus = run.part("x_minus"), run.part("x_plus")
    late = np.flatnonzero((head["rest"] > 0) & (hits <= run.t_last))
    if len(late):  # the contact was closed a moment before its impacts have accumulated
        jump = (x_minus - x_plus)[late]
        x_minus, x_plus = x_minus.copy(), x_plus.copy()
        x_plus[late] = run.sample(hits[late])[0][:, :block]
        x_minus[late] = x_plus[late] + jump
    xz = woven(y[:, :block], x_minus, x_plus)
    rates = woven(dy[:, :block], run.part("f_minus"), run.part("f_plus"))
    columns = np.zeros((len(woven.t), 0))
    if p:
        columns = woven(y[:, block:], run.part("s_minus"), run.part("s_plus"))
    t, x = woven.t, xz[:, :n_x]
    S = columns.reshape(len(columns), p, block).transpose(0, 2, 1)
    between = step_state[which, 0] if len(step_state) else np.zeros(len(times), int)
    states = np.zeros((len(t), step_state.shape[1]), np.int64)
    held = states[:, 1 : 1 + flow.rows + len(flow.rough)]
    impulses = np.zeros((len(t), flow.rows))
    if len(step_state):  # a run may fail at an event, or before its first step
        of = woven(which, head["step"] - 1, head["step"])
        states[:] = step_state[np.clip(of, 0, len(step_state) - 1)]
    if flow.side_places and len(step_state):
        of_kinks = slice(held.shape[1] + 1, held.shape[1] + 1 + len(flow.side_places))
        states[woven.left, of_kinks], states[woven.right, of_kinks] = (
            step_state[beside, of_kinks] for beside in _plain_steps(run)
        )
    if flow.rows and len(step_state):
        impulses[woven.right] = run.part("p")
    sides = np.ones((len(t), len(flow.changes)), int)
    if flow.changes and len(step_state):
        own, along = slice(flow.rows - flow.n_phi, flow.rows), sides_of(run)
        sides = woven(step_state[which, -len(flow.changes) :], along[:-1], along[1:])
        held[woven.left, own], held[woven.right, own] = held_beside(run)
    gap, gap_dot, slip = run.gaps(t, x)
    lam = np.zeros((len(t), flow.rows))
    if flow.rows:
        # of events that share a time the steps know the first and the last side only
        shared = np.concatenate([woven.left, woven.right])
        held[shared, :nc] &= np.abs(gap_dot[shared]) <= _RESTS
        for k, c in enumerate(flow.rough):
            held[shared, nc + k] &= np.abs(slip[shared, c]) <= _RESTS
            held[:, nc + k] &= held[:, c]
        lam, a = run.forces(t, x, states)
        if flow.side_places:
            rates[shared, n:n_x] = a[shared]
    slopes = {}
    if p and flow.mechanical:
        slopes = dict(zip(("Lam", "A"), run.force_slopes(t, x, columns, states), strict=True))
    q, v = (x[:, :n], x[:, n:]) if flow.mechanical else (x, np.empty((len(t), 0)))
    parts = _friction_of(run, t, x, held, impulses, lam)
    parts |= _constraints_of(run, t, x, impulses, lam) | slopes
    if flow.n_phi:
        parts["holds"] = holding(run, sides)
    return parts | {
        "t": t,
        "q": q,
        "v": v,
        "p": impulses[:, :nc],
        "gap": gap,
        "gap_dot": gap_dot,
        "active": held[:, :nc].astype(np.int8),
        "slip": slip,
        "iterations": np.ones(len(t), np.int32),
        "residuals": np.zeros((len(t), 2)),
        "x": x,
        "rates": rates[:, :n_x],
        "lam": lam[:, :nc],
        "z": xz[:, n_x],
        "S": S,
        "mode": woven(between, head["before"], head["after"]),
    }, woven.right


def _plain_steps(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """Return the step before and the one behind each event whose sides of kinks hold there.

    Where an event lies on a kink, as the impact of a rocking block, a step as short as round-off
    may part them: the side is that of the step beside it.
    """
    step, h = run.events.head["step"], run.steps.h
    places = []
    for near, way in ((step - 1, -1), (step, 1)):
        near = np.clip(near, 0, len(h) - 1)
        beyond = np.clip(near + way, 0, len(h) - 1)
        parted = h[near] < _PARTED * h[beyond]
        parted &= ~np.isin(np.maximum(near, beyond), step)  # no event lies between them
        places.append(np.where(parted, beyond, near))
    return places[0], places[1]


def _friction_of(
    run: Run, t: np.ndarray, x: np.ndarray, held: np.ndarray, impulses: np.ndarray, lam: np.ndarray
) -> dict[str, np.ndarray]:
    """Return friction impulses and forces, the most that they can be, and which contacts stick."""
    flow, nc = run.flow, run.flow.n_c
    p_t, p_max, lam_t, lam_max = np.zeros((4, len(t), nc))
    sticks = np.zeros((len(t), nc), bool)
    if flow.rough:
        rough, tangents = list(flow.rough), slice(nc, nc + len(flow.rough))
        stuck = held[:, tangents] == 1
        p_t[:, rough], lam_t[:, rough] = impulses[:, tangents], lam[:, tangents]
        mu = run.along(flow.bundles[1], t, x)[:, flow.rows * (flow.n + 3) :].reshape(len(t), 2, -1)
        mu = np.where(stuck, mu[:, 1], mu[:, 0])
        lam_max[:, rough], p_max[:, rough] = mu * lam[:, rough], mu * impulses[:, rough]
        sticks[:, rough] = stuck
    return {"p_t": p_t, "p_max": p_max, "lam_t": lam_t, "lam_max": lam_max, "sticks": sticks}


def _constraints_of(
    run: Run, t: np.ndarray, x: np.ndarray, impulses: np.ndarray, lam: np.ndarray
) -> dict[str, np.ndarray]:
    """Return phi, and forces and impulses of the constraints: M v' + phi_q' lam = F."""
    flow = run.flow
    if not flow.n_phi:
        return {}
    own = slice(flow.rows - flow.n_phi, flow.rows)
    phi = run.along(flow.bundles[1], t, x)[:, own]
    return {"phi": phi, "p_phi": 0.0 - impulses[:, own], "lam_phi": 0.0 - lam[:, own]}


def _rates(run: Run) -> np.ndarray:
    """Return phi' of the constraints before and behind the events, (2, events, n_phi)."""
    flow, n, rows, t = run.flow, run.flow.n, run.flow.rows, run.events.head["t"]
    found = np.zeros((2, len(t), flow.n_phi))
    for side, name in enumerate(("x_minus", "x_plus") if flow.changes else ()):
        x = run.part(name)[:, : flow.n_x]
        out = run.along(flow.bundles[1], t, x)
        G = out[:, 2 * rows : (2 + n) * rows].reshape(-1, rows, n)
        speed = out[:, rows : 2 * rows] + np.einsum("kcn,kn->kc", G, x[:, n:])
        found[side] = speed[:, rows - flow.n_phi :]
    return found


def events_of(
    run: Run,
    right: np.ndarray,
    gap_dot: np.ndarray,
    meetings: dict[int, np.ndarray],
    margins: np.ndarray,
) -> list[LocatedEvent]:
    """Return the events.

    Parameters
    ----------
    run : Run
    right : (events,) the row behind each
    gap_dot : (n_t, n_c) of all rows
    meetings : events at which the order may decide
    margins : (events,) grazing margins
    """
    flow, n, head = run.flow, run.flow.n, run.events.head
    names = [""] if flow.automaton is None else [m.name for m in flow.automaton.modes]
    x_minus, x_plus, impulses = run.part("x_minus"), run.part("x_plus"), run.part("p")
    given = run.energies if flow.mechanical else np.zeros(len(head))
    rates = _rates(run)
    signs = {c: sign for change in flow.changes for c, sign in change.constraints}
    located = []
    for k, (kind, name) in enumerate(run.sequence):
        who, i, event = int(head[k]["guard"]), int(right[k]), head[k]
        before, after = x_minus[k, :-1], x_plus[k, :-1]
        speeds, impulse, slope = (0.0, 0.0), 0.0, float(event["D"])
        if flow.mechanical and who < flow.n_c:
            speeds, impulse = (gap_dot[i - 1, who], gap_dot[i, who]), float(impulses[k, who])
        elif flow.mechanical:
            c = who - flow.n_c
            speeds = rates[0, k, c], rates[1, k, c]
            impulse = 0.0 - float(impulses[k, flow.rows - flow.n_phi + c])
            slope *= signs[c]  # of its own `when`
        located.append(
            LocatedEvent(
                float(event["t"] + event["rest"]),
                kind,
                name,
                who,
                i,
                before[n:],
                after[n:],
                float(speeds[0]),
                float(speeds[1]),
                impulse,
                before,
                after,
                slope,
                int(event["together"]),
                names[event["before"]],
                names[event["after"]],
                run.motion(k) if run.wrt else None,
                int(event["how"]) >= CHAINED,
                k in meetings,
                float(margins[k]),
                float(given[k]),
            )
        )
    return located
