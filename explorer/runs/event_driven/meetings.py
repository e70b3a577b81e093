"""Events that meet each other or an end of the run, and how far an event is from a miss.

Events i and j at one time have derivatives of their own, dt_i/drho and dt_j/drho. Where a change of
rho moves them apart and their saltations do not commute (impacts that are coupled through
G M^-1 G'), the run is differentiable to either side only (Bouligand derivative; Burden, Sastry,
Koditschek, Revzen, SIAM J. Applied Dynamical Systems 15 (2016) 1227).
"""

from __future__ import annotations

import numpy as np

from explorer.kernels.entry import entry
from explorer.kernels.event_driven.records import CHAINED
from explorer.runs.event_driven.changes import held_beside
from explorer.runs.event_driven.run import BAND, Run

__all__ = ["SURE", "meetings", "screened"]

SURE = 100.0  # a grazing margin that no error within the tolerances turns into a miss
_STRIKES = (1, 2, 4)  # kinds of events with impulses
_UNCOUPLED = 1e-12
_ASIDE = 1e-5  # how far along a column it is looked for a coupling that it makes
_BESIDE = 1e-3  # of a state at which couplings are looked for that vanish here by chance


def screened(run: Run) -> tuple[int, np.ndarray]:
    """Return what is doubtful in the derivatives of a run, as bits, and the margins of its events.

    See `explorer.kernels.event_driven.doubtful`.
    """
    if not run.slopes:  # nothing is differentiated
        return 0, np.full(len(run.events.head), np.inf)
    from explorer.kernels.event_driven.doubtful import Limits, doubtful

    flow, margins = run.flow, np.empty(len(run.events.head))
    events, at = run.events, run.events.at
    limits = Limits(run.settings.rtol, run.settings.atol, run.t_end, BAND, SURE)
    doubts = entry(doubtful)(
        events.head,
        events.parts,
        at.x_minus,
        at.r_x,
        flow.n_x,
        run.steps.y,
        run.watch,
        flow.directions,
        limits,
        margins,
    )
    return doubts, margins


def meetings(run: Run) -> dict[int, np.ndarray]:
    """Return the events at which the order may decide: index and columns (p,) that change it."""
    head, tau, found = run.events.head, run.part("dtau"), {}
    t, D = head["t"], head["D"]
    loose = max(1e-7, 100 * run.settings.rtol)
    for k in range(len(head)):
        apart = np.zeros(tau.shape[1], bool)
        if head["how"][k] >= CHAINED or not apart.size:
            continue
        if run.flow.mechanical and head["together"][k] > 1:
            apart |= _moved_apart(run, k, loose)
        late = (run.t_end - t[k]) * abs(D[k]) <= BAND and _kicks(run, k)
        if late or (
            head["how"][k] == 1 and k == 0
        ):  # at an end of the run: beside it there is none
            apart |= np.abs(tau[k]) > loose
        for j in range(k - 1, -1, -1):
            if (t[k] - t[j]) * abs(D[k]) > BAND:
                break
            size = np.abs(tau[j]) + np.abs(tau[k])
            ways = np.abs(tau[k] - tau[j]) > loose * size + 1e-12
            if head["guard"][j] != head["guard"][k] and not _commute(run, j, k):
                apart |= ways
                if run.flow.mechanical and (head["guard"][[j, k]] < run.flow.n_c).all():
                    apart |= _couples(run, j, k)
        if apart.any():
            found[k] = apart
    return found


def _commute(run: Run, j: int, k: int) -> bool:
    """Whether the order of two events cannot matter: one changes nothing, or nothing couples them.

    Impulses are compared beside the state too: a coupling that vanishes by chance counts.
    """
    if not (_kicks(run, j) and _kicks(run, k)):
        return True
    head = run.events.head
    if not run.flow.mechanical or not np.isin(head["kind"][[j, k]], _STRIKES).all():
        return False
    if (head["guard"][[j, k]] >= run.flow.n_c).any():  # constraints change
        return False
    return int(head["guard"][j]) not in _coupled(run, k)


def _kicks(run: Run, k: int) -> bool:
    """Whether an event changes the state or its rates."""
    n_x, f_minus, f_plus = run.flow.n_x, run.part("f_minus")[k], run.part("f_plus")[k]
    size = 1e-9 * (1 + np.abs(f_minus).max())
    if (np.abs(f_plus - f_minus) > size).any():
        return True
    if run.part("h_t")[k].any() or run.part("h_rho")[k].any():
        return True
    return not np.array_equal(run.part("h_x")[k].reshape(n_x, n_x), np.eye(n_x))


def _constraints(run: Run, k: int, beside: bool = False, along: int = -1) -> tuple[np.ndarray, ...]:
    """Return gaps, speeds, G (rows, n) and M (n, n) at the left limit of event `k`.

    Or at random `beside` it, or a little way `along` what a column changes.
    """
    flow = run.flow
    n, rows = flow.n, flow.rows
    inp = flow.input(run.rho)
    inp[0], inp[1 : 1 + flow.n_x] = run.events.head["t"][k], run.part("x_minus")[k, : flow.n_x]
    if beside:
        part = inp[: 1 + flow.n_x + flow.n_rho]
        part += _BESIDE * (1 + np.abs(part)) * np.random.default_rng(0).uniform(0.5, 1, len(part))
    if along >= 0:
        S = run.part("s_minus")[k].reshape(-1, flow.n_x + 1)[along, : flow.n_x]
        own = run.active_at(k, run.wrt)[along]
        step = _ASIDE / max(np.abs(S).max(initial=0.0), float(own >= 0))
        inp[1 : 1 + flow.n_x] += step * S
        if own >= 0:
            inp[1 + flow.n_x + own] += step
    out = np.asarray(flow.bundles[1](inp)).copy()
    G = out[2 * rows : 2 * rows + rows * n].reshape(rows, n)
    M = np.asarray(flow.bundles[0](inp))[: n * n].reshape(n, n).copy()
    return out[: flow.n_c], out[rows : 2 * rows] + G @ inp[1 + n : 1 + 2 * n], G, M


def _delassus(run: Run, k: int, G: np.ndarray, M: np.ndarray) -> np.ndarray:
    """Return what impulses of the contacts' rows make of their velocities at event `k`."""
    flow = run.flow
    n, own = flow.n, flow.rows - flow.n_phi
    held = G[own:][held_beside(run)[0][k]] if flow.n_phi else G[:0]
    W = np.block([[M, held.T], [held, np.zeros((len(held), len(held)))]])
    right = np.vstack([G[:own].T, np.zeros((len(held), own))])
    return np.asarray(G[:own] @ np.linalg.solve(W, right)[:n])


def _coupled(run: Run, k: int) -> set[int]:
    """Return the contacts touching at event `k` that an impulse of its contact can reach."""
    flow = run.flow
    gaps = _constraints(run, k)[0]
    W = _delassus(run, k, *_constraints(run, k, beside=True)[2:])
    tangent = {c: flow.n_c + i for i, c in enumerate(flow.rough)}
    touching = [int(c) for c in np.flatnonzero(gaps <= BAND)]
    size = np.sqrt(np.abs(np.outer(W.diagonal(), W.diagonal())))
    linked = np.abs(W) > _UNCOUPLED * size
    places = {c: [c, tangent[c]] if c in tangent else [c] for c in touching}
    reached, new = set(), [int(run.events.head["guard"][k])]
    while new:
        c = new.pop()
        reached.add(c)
        mine = places.get(c, [c])
        new += [d for d in touching if d not in reached and linked[np.ix_(mine, places[d])].any()]
    return reached


def _couples(run: Run, j: int, k: int) -> np.ndarray:
    """Return the columns that couple two contacts whose impacts share nothing now.

    Beside such a parameter they are one impact with one law, not one after the other.
    """
    both = run.events.head["guard"][[j, k]].tolist()
    found = np.zeros(len(run.wrt), bool)
    for i in range(len(found)):
        W = _delassus(run, k, *_constraints(run, k, along=i)[2:])[np.ix_(both, both)]
        found[i] = abs(W[0, 1]) > 1e-3 * _ASIDE * np.sqrt(abs(W[0, 0] * W[1, 1]))
    return found


def _moved_apart(run: Run, k: int, loose: float) -> np.ndarray:
    """Return which columns change a gap at the time of event `k`, of a contact that meets there."""
    flow, event = run.flow, run.events.head[k]
    p, n_x, n_c = len(run.wrt), flow.n_x, flow.n_c
    gaps, speeds, G, _ = _constraints(run, k)
    inp = flow.input(run.rho)
    inp[0], inp[1 : 1 + n_x] = event["t"], run.part("x_minus")[k, :n_x]
    by_rho = np.asarray(flow.bundles[5](inp))[: n_c * flow.n_rho].reshape(n_c, flow.n_rho)
    S = run.part("s_minus")[k].reshape(p, n_x + 1).T[: flow.n]
    tau, apart = run.part("dtau")[k], np.zeros(p, bool)
    held = run.steps.state[max(int(event["step"]) - 1, 0), 1 : 1 + n_c] == 1
    for c in _coupled(run, k) - {int(event["guard"])}:
        if gaps[c] > BAND or held[c]:
            continue
        own = np.array([by_rho[c, w] if w >= 0 else 0.0 for w in run.active_at(k, run.wrt)])
        size = np.abs(G[c]) @ np.abs(S) + np.abs(own) + np.abs(speeds[c] * tau)
        apart |= np.abs(G[c] @ S + own + speeds[c] * tau) > loose * size + 1e-12
    return apart
