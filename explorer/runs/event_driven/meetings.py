"""Events that meet each other or an end of the run, and how far an event is from a miss.

Events i and j at one time have derivatives of their own, dt_i/drho and dt_j/drho. Where a change of
rho moves them apart and their saltations do not commute (impacts that are coupled through
G M^-1 G'), the run is differentiable to either side only (Bouligand derivative; Burden, Sastry,
Koditschek, Revzen, SIAM J. Applied Dynamical Systems 15 (2016) 1227).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from explorer.runs.event_driven.march import March

__all__ = ["SURE", "meetings", "screened"]

BAND = 1e-10  # guards this close to zero have been reached
SURE = 100.0  # a grazing margin that no error within the tolerances turns into a miss
_STRIKES = (1, 2, 4)  # kinds of events with impulses
_UNCOUPLED = 1e-12
_ASIDE = 1e-5  # how far along a column it is looked for a coupling that it makes
_BESIDE = 1e-3  # of a state at which couplings are looked for that vanish here by chance


def screened(march: March) -> tuple[int, np.ndarray]:
    """Return what is doubtful in the derivatives of a run, as bits, and the margins of its events.

    See `explorer.kernels.event_driven.doubtful`.
    """
    if not march.slopes:  # nothing is differentiated
        return 0, np.full(len(march.record), np.inf)
    from explorer.kernels.event_driven.doubtful import doubtful

    flow, margins = march.flow, np.empty(len(march.record))
    ways = np.array([] if flow.mechanical else [g.direction for g in flow.guards], np.int64)
    knobs = np.array([march.scheme.rtol, march.scheme.atol, march.t_end, BAND, SURE])
    found = doubtful(
        march.record, march.kinds, march.offsets, ways, march.steps, march.watch, knobs, margins
    )
    return found, margins


def meetings(march: March) -> dict[int, np.ndarray]:
    """Return the events at which the order may decide: index and columns (p,) that change it."""
    record, kinds, lay = march.record, march.kinds, march.lay
    tau, found = record[:, lay["dtau"]], {}
    loose = max(1e-7, 100 * march.scheme.rtol)
    for k in range(len(kinds)):
        apart = np.zeros(tau.shape[1], bool)
        if kinds[k, 6] == 2 or not apart.size:
            continue
        if march.flow.mechanical and kinds[k, 5] > 1:
            apart |= _moved_apart(march, k, loose)
        late = (march.t_end - record[k, 0]) * abs(record[k, 1]) <= BAND and _kicks(march, k)
        if late or (kinds[k, 6] == 1 and k == 0):  # at an end of the run: beside it there is none
            apart |= np.abs(tau[k]) > loose
        for j in range(k - 1, -1, -1):
            if (record[k, 0] - record[j, 0]) * abs(record[k, 1]) > BAND:
                break
            size = np.abs(tau[j]) + np.abs(tau[k])
            ways = np.abs(tau[k] - tau[j]) > loose * size + 1e-12
            if kinds[j, 0] != kinds[k, 0] and not _commute(march, j, k):
                apart |= ways
                if march.flow.mechanical:
                    apart |= _couples(march, j, k)
        if apart.any():
            found[k] = apart
    return found


def _commute(march: March, j: int, k: int) -> bool:
    """Whether the order of two events cannot matter: one changes nothing, or nothing couples them.

    Impulses are compared beside the state too: a coupling that vanishes by chance counts.
    """
    if not (_kicks(march, j) and _kicks(march, k)):
        return True
    kinds = march.kinds
    if not march.flow.mechanical or not (kinds[[j, k], 1, None] == _STRIKES).any(axis=1).all():
        return False
    return int(kinds[j, 0]) not in _coupled(march, k)


def _kicks(march: March, k: int) -> bool:
    """Whether an event changes the state or its rates."""
    row, lay, n_x = march.record[k], march.lay, march.flow.n_x
    f_minus, f_plus = row[lay["f_minus"]], row[lay["f_plus"]]
    size = 1e-9 * (1 + np.abs(f_minus).max())
    if (np.abs(f_plus - f_minus) > size).any() or row[lay["h_t"]].any() or row[lay["h_rho"]].any():
        return True
    return not np.array_equal(row[lay["h_x"]].reshape(n_x, n_x), np.eye(n_x))


def _constraints(
    march: March, k: int, beside: bool = False, along: int = -1
) -> tuple[np.ndarray, ...]:
    """Return gaps, speeds, G (rows, n) and M (n, n) at the left limit of event `k`.

    Or at random `beside` it, or a little way `along` what a column changes.
    """
    flow, row = march.flow, march.record[k]
    n, rows = flow.n, flow.rows
    inp = flow.input(march.rho)
    inp[0], inp[1 : 1 + flow.n_x] = row[0], row[march.lay["x_minus"]][: flow.n_x]
    if beside:
        part = inp[: 1 + flow.n_x + flow.n_rho]
        part += _BESIDE * (1 + np.abs(part)) * np.random.default_rng(0).uniform(0.5, 1, len(part))
    if along >= 0:
        S = row[march.lay["s_minus"]].reshape(-1, flow.n_x + 1)[along, : flow.n_x]
        own = march.wrt[along]
        step = _ASIDE / max(np.abs(S).max(initial=0.0), float(own >= 0))
        inp[1 : 1 + flow.n_x] += step * S
        if own >= 0:
            inp[1 + flow.n_x + own] += step
    out = np.asarray(flow.bundles[1](inp)).copy()
    G = out[2 * rows : 2 * rows + rows * n].reshape(rows, n)
    M = np.asarray(flow.bundles[0](inp))[: n * n].reshape(n, n).copy()
    return out[: flow.n_c], out[rows : 2 * rows] + G @ inp[1 + n : 1 + 2 * n], G, M


def _coupled(march: March, k: int) -> set[int]:
    """Return the contacts touching at event `k` that an impulse of its contact can reach."""
    flow = march.flow
    gaps = _constraints(march, k)[0]
    _, _, G, M = _constraints(march, k, beside=True)
    tangent = {c: flow.n_c + i for i, c in enumerate(flow.rough)}
    touching = [int(c) for c in np.flatnonzero(gaps <= BAND)]
    W = G @ np.linalg.solve(M, G.T)
    size = np.sqrt(np.abs(np.outer(W.diagonal(), W.diagonal())))
    linked = np.abs(W) > _UNCOUPLED * size
    places = {c: [c, tangent[c]] if c in tangent else [c] for c in touching}
    reached, new = set(), [int(march.kinds[k, 0])]
    while new:
        c = new.pop()
        reached.add(c)
        mine = places.get(c, [c])
        new += [d for d in touching if d not in reached and linked[np.ix_(mine, places[d])].any()]
    return reached


def _couples(march: March, j: int, k: int) -> np.ndarray:
    """Return the columns that couple two contacts whose impacts share nothing now.

    Beside such a parameter they are one impact with one law, not one after the other.
    """
    both = [int(c) for c in march.kinds[[j, k], 0]]
    found = np.zeros(len(march.wrt), bool)
    for i in range(len(found)):
        _, _, G, M = _constraints(march, k, along=i)
        W = G[both] @ np.linalg.solve(M, G[both].T)
        found[i] = abs(W[0, 1]) > 1e-3 * _ASIDE * np.sqrt(abs(W[0, 0] * W[1, 1]))
    return found


def _moved_apart(march: March, k: int, loose: float) -> np.ndarray:
    """Return which columns change a gap at the time of event `k`, of a contact that meets there."""
    flow, row, lay = march.flow, march.record[k], march.lay
    p, n_x, n_c = len(march.wrt), flow.n_x, flow.n_c
    gaps, speeds, G, _ = _constraints(march, k)
    inp = flow.input(march.rho)
    inp[0], inp[1 : 1 + n_x] = row[0], row[lay["x_minus"]][:n_x]
    by_rho = np.asarray(flow.bundles[5](inp))[: n_c * flow.n_rho].reshape(n_c, flow.n_rho)
    S = row[lay["s_minus"]].reshape(p, n_x + 1).T[: flow.n]
    tau, apart = row[lay["dtau"]], np.zeros(p, bool)
    held = march.step_state[max(int(march.kinds[k, 4]) - 1, 0), 1 : 1 + n_c] == 1
    for c in _coupled(march, k) - {int(march.kinds[k, 0])}:
        if gaps[c] > BAND or held[c]:
            continue
        own = np.array([by_rho[c, w] if w >= 0 else 0.0 for w in march.wrt])
        size = np.abs(G[c]) @ np.abs(S) + np.abs(own) + np.abs(speeds[c] * tau)
        apart |= np.abs(G[c] @ S + own + speeds[c] * tau) > loose * size + 1e-12
    return apart
