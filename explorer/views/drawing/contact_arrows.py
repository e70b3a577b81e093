"""Forces and impulses of contacts, as arrows at the points of the picture where they act."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypedDict

import numpy as np

from explorer.compiled.contact_points import OUTPUTS, ContactPoints, contact_points
from explorer.kernels.model.along_rows import evaluate
from explorer.results.solution import Solution
from explorer.systems import DiscSystem, LagrangianSystem
from explorer.views.contact_laws import doing
from explorer.views.drawing.disc_places import OfDiscs

__all__ = ["Arrows", "arrows_of"]

_IMPACTS = 40  # drawn, those with the largest impulses
_FORCES = 160  # drawn, of all frames together
_SEEN = 1e-3  # of the largest: a shorter arrow is none
_LEAST = 0.05  # of how far coordinates go: so far aside is another state
_SAMPLES = 3  # states at which the points are sought


class Arrows(TypedDict):
    """What contacts do in the frames of a film."""

    contacts: list[str]  # names, of those whose points are known
    unknown: list[str]  # names of the others
    changes: np.ndarray  # (m,) frames: forces are those of the last of them
    # (k, 10) float32: frame, contact, what it does (`DOING`), x, y in m, normal force x, y and
    # friction force x, y in N, coefficient of friction
    forces: np.ndarray
    # (k, 6) float32: time in s, contact, x, y in m, impulse x, y in N s
    impulses: np.ndarray
    force: float  # N, the largest
    impulse: float  # N s, the largest


def arrows_of(solution: Solution, frames: np.ndarray) -> Arrows | None:
    """Return the arrows of some rows of a run; None without contacts, or if no point is known."""
    system = solution.system if solution.system.base is None else solution.system.base
    if not isinstance(system, LagrangianSystem) or not solution.has("contacts"):
        return None
    if not solution.p.shape[1] == len(system.contacts) > 0:
        return None
    found: Places | None
    if isinstance(system, DiscSystem):
        found = OfDiscs(system, solution)
    else:
        found = _ByFormula.of(system, solution)
    if found is None:
        return None
    changes, forces = _forces(found, solution, frames)
    impulses = _impulses(found, solution)
    names = [contact.name for contact in system.contacts]
    size = np.hypot(*(forces[:, 5:7] + forces[:, 7:9]).T)
    return {
        "contacts": names,
        "unknown": [name for c, name in enumerate(names) if c not in found.contacts],
        "changes": changes,
        "forces": forces,
        "impulses": impulses,
        "force": float(size.max(initial=0.0)),
        "impulse": float(np.hypot(*impulses[:, 4:].T).max(initial=0.0)),
    }


def _states(solution: Solution, rho: np.ndarray) -> np.ndarray:
    """Return some inputs ``[t, q, v, rho]`` of a run, and as many near them: it may be at rest."""
    rows = np.linspace(0, len(solution.t) - 1, _SAMPLES).astype(int)
    q = solution.q[rows]
    moves = np.ptp(solution.q, axis=0)
    far = np.maximum(moves, max(float(moves.max()), _LEAST) * _LEAST)
    aside = q + _LEAST * far * np.random.default_rng(0).uniform(-1, 1, q.shape)
    own = np.broadcast_to(rho, (_SAMPLES, len(rho)))
    both = [np.column_stack([solution.t[rows], x, solution.v[rows], own]) for x in (q, aside)]
    return np.ascontiguousarray(np.concatenate(both), float)


class Places(Protocol):
    """Where contacts act along a run."""

    contacts: Sequence[int]  # those whose points are known

    def at(self, rows: np.ndarray) -> np.ndarray:
        """Return the outputs of each contact in some rows, (rows, contacts, outputs)."""

    def paired(self, rows: np.ndarray) -> np.ndarray:
        """Return whether each of them acts between two bodies, (rows, contacts)."""


class _ByFormula:
    """Contacts that stay where they are on their bodies."""

    def __init__(self, found: ContactPoints, solution: Solution, rho: np.ndarray) -> None:
        self.found, self.solution, self.rho = found, solution, rho
        self.contacts: Sequence[int] = found.contacts

    @classmethod
    def of(cls, system: LagrangianSystem, solution: Solution) -> _ByFormula | None:
        """Return the places of a run; None if no point is known."""
        rho = np.array([solution.rho[k] for k in system.parameters])
        found = contact_points(system, _states(solution, rho))
        return None if found is None else cls(found, solution, rho)

    def at(self, rows: np.ndarray) -> np.ndarray:
        """Return the outputs of each contact in some rows, (rows, contacts, outputs)."""
        native, run = self.found.native, self.solution
        inp = np.concatenate([np.zeros(1 + 2 * run.q.shape[1]), self.rho])
        state = [np.ascontiguousarray(a[rows]) for a in (run.t, run.q, run.v)]
        values = np.empty((len(rows), native.size))
        evaluate(native.address, native.data, *state, inp, np.empty(native.size), values)
        return values.reshape(len(rows), len(self.contacts), OUTPUTS)

    def paired(self, rows: np.ndarray) -> np.ndarray:
        """Return whether each of them acts between two bodies, (rows, contacts)."""
        return np.tile(self.found.paired, (len(rows), 1))


def _forces(found: Places, solution: Solution, frames: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the frames at which forces change, and the rows of forces from there on."""
    contacts = np.array(found.contacts)
    here = np.ix_(frames, contacts)
    lam = np.where(np.isfinite(solution.lam[here]), solution.lam[here], 0.0)
    loaded = lam > _SEEN * lam.max(initial=0.0)
    place = found.at(frames)
    normal = (lam * loaded)[..., None] * place[..., 2:4]
    friction = _friction(solution.lam_t[here], place) * loaded[..., None]
    mu = np.divide(solution.lam_max[here], lam, out=np.zeros_like(lam), where=loaded)
    mu = np.zeros_like(mu) if solution.lam_t.ndim > 2 else mu  # a cone in space is no wedge
    state = np.where(loaded, doing(solution)[here], 0)[..., None]
    wide, most = float(np.ptp(place[..., :2])), float(np.abs(normal + friction).max(initial=0.0))
    where = place[..., :2] * loaded[..., None] / max(wide, 1e-300)
    looks = [where, normal / max(most, 1e-300), friction / max(most, 1e-300), state]
    changes = _changes(np.concatenate(looks, axis=-1), loaded)
    i, k = np.nonzero(loaded)
    kept = np.isin(i, changes)
    i, k = i[kept], k[kept]
    columns = [i, contacts[k], state[i, k], place[i, k, :2], normal[i, k], friction[i, k], mu[i, k]]
    own = np.column_stack(columns)
    other = own * [1, 1, 1, 0, 0, -1, -1, -1, -1, 0]
    other[:, 3:5] = place[i, k, 6:8]
    return changes, _sorted(own, other[found.paired(frames)[i, k]])


def _changes(looks: np.ndarray, loaded: np.ndarray) -> np.ndarray:
    """Return frames that do not look like the one before of them, so few that rows are few."""
    apart = _SEEN
    while True:
        kept = [0]
        for i in range(1, len(looks)):
            if np.abs(looks[i] - looks[kept[-1]]).max() > apart:
                kept.append(i)
        if loaded[kept].sum() <= _FORCES or len(kept) == 1:
            return np.array(kept)
        apart = 2 * apart


def _impulses(found: Places, solution: Solution) -> np.ndarray:
    places = {c: k for k, c in enumerate(found.contacts)}
    hits = [e for e in solution.events if e.kind == "impact" and e.index in places]
    hits = sorted(hits, key=lambda e: -e.impulse)[:_IMPACTS]
    if not hits:
        return np.zeros((0, 6), np.float32)
    rows, c = np.array([e.row for e in hits]), np.array([e.index for e in hits])
    k = np.array([places[e.index] for e in hits])
    each = np.arange(len(hits))
    place = found.at(rows)[each, k]
    p = np.array([e.impulse for e in hits])[:, None] * place[:, 2:4]
    p = p + _friction(solution.p_t[rows, c], place)
    t = [e.t for e in hits]
    other = np.column_stack([t, c, place[:, 6:8], -p])[found.paired(rows)[each, k]]
    return _sorted(np.column_stack([t, c, place[:, :2], p]), other)


def _friction(size: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Return the vectors of friction, of its sizes along one direction or two."""
    if size.ndim < place.ndim:
        return np.asarray(size[..., None] * place[..., 4:6])
    return np.asarray(size[..., :1] * place[..., 4:6] + size[..., 1:] * place[..., 8:10])


def _sorted(own: np.ndarray, other: np.ndarray) -> np.ndarray:
    rows = np.concatenate([own, other])
    return np.asarray(rows[np.argsort(rows[:, 0], kind="stable")], np.float32)
