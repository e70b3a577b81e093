"""Which contacts are closed, and how: labels of elements, read from a point, set as bounds.

A label of a contact: open, stick (closed without friction, too), forward or backward (sliding with
slip > 0 or < 0), or open since a bounce. Two bounces in a row have labels that differ, and a label
of a bounce also says how it slid during its impulse.
"""

from __future__ import annotations

import numpy as np

from explorer.transcription.contact_formulas import ContactFormulas
from explorer.transcription.grid import INF
from explorer.transcription.layout import ends, inputs_at, lengths, stage_times
from explorer.transcription.program import Program
from explorer.transcription.sequence import Sequence, Signs
from explorer.transcription.solver import Bounds
from explorer.types import Array

__all__ = [
    "OPEN",
    "STICK",
    "at_boundaries",
    "bounds_of_contacts",
    "collapsed",
    "complementarity",
    "forces_at",
    "inside",
    "is_closed",
    "labels_of",
    "leaves",
    "mode_name",
    "names_of",
]

OPEN, STICK, FORWARD, BACKWARD, BOUNCE = range(5)
NAMES = ("open", "stick", "forward", "backward", "bounce")
DRIFT = 1e-7  # m: by which a gap may have drifted while the rate of the gap was zero
SNAP = 0.25  # of a control interval: how near to its boundary a liftoff is put there
HIT = 0.15  # of a mean element: an impact; the elements of the homotopy are not shorter than 0.1
FAINT = 1e-2  # impulses in N s beside gaps in m: none
BRIEF = 1e-3  # of a mean element
STRONG = 1e-3  # of the largest one: an impulse that is one


def is_closed(label: np.ndarray) -> np.ndarray:
    """Whether a contact is closed."""
    return np.asarray((label > OPEN) & (label < BOUNCE))


def _hits(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Whether a contact receives an impulse by itself between two labels."""
    both = ~is_closed(before) & ~is_closed(after)
    return np.asarray(~is_closed(before) & is_closed(after) | both & (before != after))


def _slides(label: np.ndarray) -> np.ndarray:
    """How a contact slides while closed, or slid during its bounce: stick, forward, backward."""
    return np.asarray(np.where(label >= BOUNCE, STICK + (label - BOUNCE) // 2, label))


def names_of(rough: bool) -> tuple[str, ...]:
    """Return the names of the labels of a contact; "bounce" is open since an impact.

    A change from "open" to "bounce" or back is an impact, so bounces in a row alternate.
    """
    return NAMES if rough else ("open", "closed", "", "", "bounce")


def mode_name(label: int, rough: bool) -> str:
    """Return the name of what a contact does."""
    return "open" if label >= BOUNCE else names_of(rough)[label]


def complementarity(program: Program, w: np.ndarray, p: np.ndarray) -> float:
    """Return the largest product of a normal force and its gap at a stage, in N m."""
    gap, _ = evaluated(program, w, p)
    force = w[program.of["force"]][..., : program.formulas.n_c]
    return float(np.abs(gap * force).max(initial=0.0))


def evaluated(program: Program, w: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return gaps (N, E, s, n_c) and sliding velocities (N, E, s, n_t) at the stages."""
    f, of = program.formulas, program.of
    assert isinstance(f, ContactFormulas)
    t = stage_times(program, w)
    N, E, s = t.shape
    u = inputs_at(program, w).reshape(t.size, -1)
    rho = np.repeat(program.rho(w, p)[:, None], t.size, axis=1)
    given = t.reshape(1, -1), w[of["x"]].reshape(t.size, f.n_x).T, u.T, rho
    gap, slip = (np.asarray(one(*given), float).T for one in (f.switching, f.slip))
    return gap.reshape(N, E, s, f.n_c), slip.reshape(N, E, s, f.n_t)


def labels_of(program: Program, w: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return the labels (N, E, n_c) at a point of the homotopy."""
    f, of = program.formulas, program.of
    assert isinstance(f, ContactFormulas)
    N, E = of["x"].shape[:2]
    gap, slip = evaluated(program, w, p)
    force, impulse = w[of["force"]].sum(axis=2), w[of["impulse"]]
    gap0 = np.concatenate([gap[:1, 0, 0] * 0, gap[:, :, -1].reshape(N * E, f.n_c)[:-1]])
    apart = np.maximum(gap, 0.0).sum(axis=2) + np.maximum(gap0.reshape(N, E, f.n_c), 0.0)
    normal = force[..., : f.n_c] + np.where(f.plastic, impulse[..., : f.n_c], 0.0)

    def part(values: np.ndarray, least: Array | float = 1e-12) -> np.ndarray:
        return values / np.maximum(np.abs(values).max(axis=(0, 1), initial=0.0), least)

    # where nothing touches, what the homotopy leaves of the forces is no measure
    on = part(normal, FAINT * apart.max(axis=(0, 1), initial=0.0)) > part(apart)
    labels = np.where(on, STICK, OPEN)
    sliding = part(slip.sum(axis=2))
    along = force[..., f.n_c : f.n_c + f.n_t]
    rho = program.rho(w, p)
    u = inputs_at(program, w)[0, 0, 0]
    mus = np.asarray(f.friction(0, w[of["x"][0, 0, 0]], u, rho), float).ravel()
    for i, k in ((int(f.rough[k]), int(k)) for k in f.free):
        most = mus[k] * force[..., i]
        left = np.minimum(most + along[..., k], most - along[..., k])
        speed = sliding[..., k]
        moves = np.abs(speed) > left / np.maximum(most.max(initial=0.0), 1e-12)
        way = np.where(speed > 0, FORWARD, BACKWARD)
        labels[..., i] = np.where(on[..., i] & moves, way, labels[..., i])
    strong = (part(impulse[..., : f.n_c]) > STRONG) & ~f.plastic
    along = impulse[..., f.n_c : f.n_c + f.n_t]
    slid = np.zeros(labels.shape, int)
    for k, i in enumerate(f.rough.tolist()):
        most = mus[k] * impulse[..., i]
        slid[..., i] = np.where(np.abs(along[..., k]) < 0.99 * most, 0, 1 + (along[..., k] > 0))
    return _with_bounces(labels, strong, slid)


def _with_bounces(labels: np.ndarray, strong: np.ndarray, slid: np.ndarray) -> np.ndarray:
    """Return labels in which each impulse of an open contact begins a bounce."""
    N, E, n_c = labels.shape
    flat, hits, ways = (one.reshape(N * E, n_c) for one in (labels, strong, slid))
    for i in range(n_c):
        now = OPEN
        for e in range(N * E):
            if is_closed(flat[e, i]):
                now = OPEN
                continue
            if hits[e, i]:
                parity = int(now >= BOUNCE and (now - BOUNCE) % 2 == 0)
                now = BOUNCE + 2 * int(ways[e, i]) + parity
            flat[e, i] = now
    return flat.reshape(labels.shape)


def bounds_of_contacts(program: Program, labels: np.ndarray, phase: np.ndarray) -> Bounds:
    """Return the bounds of the smooth program on known phases.

    Parameters
    ----------
    program : Program
    labels : (N, E, n_c) int
    phase : (N, E) int, the number of the phase in its interval
    """
    bounds = Bounds.of(program)
    bounds.low[program.of["h"]] = brief(program)
    f = program.formulas
    assert isinstance(f, ContactFormulas)
    N, E, n_c = labels.shape
    for k, n, i in np.ndindex(N, E, n_c):
        _inside(program, bounds, int(labels[k, n, i]), k, n, i)
    flat = labels.reshape(N * E, n_c)
    _first(program, bounds, flat[0])
    for e in range(N * E - 1):
        before, after = flat[e], flat[e + 1]
        hit = _hits(before, after)
        shaken = hit | (hit.any() & is_closed(before) & is_closed(after))
        place = divmod(e, E), divmod(e + 1, E)
        for i in range(n_c):
            _impulse(program, bounds, place[1], i, int(after[i]), bool(shaken[i]))
            if is_closed(before[i]):
                shift = program.of["shift"][(*place[1], i)]
                bounds.low[shift], bounds.high[shift] = -INF, INF
                _fix(bounds, program.rows["begin"][(*place[1], i)])
            if hit[i]:
                _fix(bounds, program.rows["gap"][(*place[0], -1, i)])
            elif before[i] != after[i]:
                _changed(program, bounds, place, i, int(before[i]), int(after[i]))
    rows = program.rows
    if E > 1:
        same = phase[:, 1:] == phase[:, :-1]
        bounds.row_low[rows["equal"][same]] = bounds.row_high[rows["equal"][same]] = 0.0
    return bounds


def brief(program: Program, part: float = BRIEF) -> float:
    """Return the shortest element in s with which contacts are solved at first.

    In an element of no length h lam = 0 follows from equations, at the border of its range.
    """
    return part * program.grid.usual / program.of["h"].size


def at_boundaries(program: Program, w: np.ndarray, sequence: Sequence) -> Sequence:
    """Return a sequence in which brief phases at the ends of control intervals are left out.

    What begins or ends such a phase happens on the boundary instead, if nothing else does.
    """
    out, limits = sequence, ends(program, w)
    taken = {change.place for change in sequence.changes}
    near = 4 * brief(program)
    for i, change in enumerate(sequence.changes):
        k, between = divmod(change.place, 2)
        for place, t in ((2 * k - 1, limits[k]), (2 * k + 1, limits[k + 1])):
            beside = out.with_place(i, place)
            free = not between and place not in taken and abs(change.t - t) < near
            if free and beside.fits(len(limits) - 1, program.grid.elements):
                taken.add(place)
                out = beside
                break
    return out


def collapsed(program: Program, bounds: Bounds, w: np.ndarray) -> Bounds | None:
    """Return bounds in which brief elements have no length and no forces; None without any."""
    f, of, rows = program.formulas, program.of, program.rows
    assert isinstance(f, ContactFormulas)
    short = w[of["h"]] < 2 * brief(program)
    out = Bounds(*(one.copy() for one in vars(bounds).values()))
    out.low[of["h"]] = 0.0
    if not short.any():
        return None
    out.high[of["h"][short]] = 0.0
    force = of["force"][short]
    out.low[force] = out.high[force] = 0.0
    free = rows["rate"][short], rows["slip"][short][:, 1:], rows["cone"][short][:, 1:]
    for what in (*free, rows["first cone"][short]):
        out.row_low[what], out.row_high[what] = -INF, INF
    gap = rows["gap"][short]
    held = out.row_low[gap] == out.row_high[gap]  # a touchdown
    out.row_low[gap[~held]] = -INF
    return out


def _fix(bounds: Bounds, rows: np.ndarray, value: float = 0.0) -> None:
    bounds.row_low[rows] = bounds.row_high[rows] = value


def _rough(program: Program, i: int) -> int | None:
    """Return the number of a contact among the rough ones."""
    f = program.formulas
    assert isinstance(f, ContactFormulas)
    found = np.flatnonzero(f.rough == i)
    return int(found[0]) if found.size else None


def _inside(program: Program, bounds: Bounds, label: int, k: int, n: int, i: int) -> None:
    """Set the stages of an element; its impulse is closed."""
    rows, of, n_c = program.rows, program.of, program.formulas.n_c
    t = _rough(program, i)
    bounds.low[of["impulse"][k, n, i]] = bounds.high[of["impulse"][k, n, i]] = 0.0
    if t is not None:
        along = of["impulse"][k, n, n_c + t]
        bounds.low[along] = bounds.high[along] = 0.0
        bounds.row_low[rows["cone"][k, n, 0, :, t]] = -INF
        if label != STICK:
            bounds.row_low[rows["first cone"][k, n, :, t]] = -INF
    if not is_closed(np.asarray(label)):
        bounds.row_low[rows["gap"][k, n, :, i]] = -DRIFT
        bounds.high[of["force"][k, n, :, i]] = 0.0
        if t is not None:
            along = of["force"][k, n, :, n_c + t]
            bounds.low[along] = bounds.high[along] = 0.0
            bounds.row_low[rows["cone"][k, n, 1:, :, t]] = -INF
        return
    bounds.row_low[rows["gap"][k, n, :, i]] = -INF
    _fix(bounds, rows["rate"][k, n, :, i])
    if t is not None:
        _slip(program, bounds, label, (k, n, slice(1, None)), t)


def _slip(
    program: Program, bounds: Bounds, label: int, at: tuple[int, int, int | slice], t: int
) -> None:
    """Set sliding velocities and friction of stages."""
    (k, n, j), rows = at, program.rows
    slip = rows["slip"][k, n, j, t]
    plus, minus = (rows["cone"][k, n, j, side, t] for side in (0, 1))
    if label == STICK:
        _fix(bounds, slip)
        bounds.row_low[plus] = bounds.row_low[minus] = 0.0
        return
    on, off = (plus, minus) if label == FORWARD else (minus, plus)
    (bounds.row_low if label == FORWARD else bounds.row_high)[slip] = 0.0
    _fix(bounds, on)
    bounds.row_low[off] = -INF


def _impulse(
    program: Program, bounds: Bounds, at: tuple[int, int], i: int, label: int, shaken: bool
) -> None:
    """Open the impulse at the begin of an element."""
    if not shaken:
        return
    impulse, t = program.of["impulse"], _rough(program, i)
    bounds.high[impulse[(*at, i)]] = INF
    _fix(bounds, program.rows["start"][(*at, i)])
    if t is not None:
        along = impulse[(*at, program.formulas.n_c + t)]
        bounds.low[along], bounds.high[along] = -INF, INF
        _slip(program, bounds, int(_slides(np.asarray(label))), (*at, 0), t)


def _first(program: Program, bounds: Bounds, labels: np.ndarray) -> None:
    """Open the impulses at the start, of either sign: a contact may be closed up to round-off."""
    impulse, f = program.of["impulse"], program.formulas
    for i in np.flatnonzero(is_closed(labels)):
        _impulse(program, bounds, (0, 0), int(i), int(labels[i]), True)
        bounds.low[impulse[0, 0, i]] = -INF
        t = _rough(program, int(i))
        if t is not None:
            cone = program.rows["cone"][0, 0, 0, :, t]
            bounds.row_low[cone], bounds.row_high[cone] = -INF, INF
            if labels[i] != STICK:
                along = impulse[0, 0, f.n_c + t]
                bounds.low[along] = bounds.high[along] = 0.0


def _changed(
    program: Program,
    bounds: Bounds,
    place: tuple[tuple[int, int], tuple[int, int]],
    i: int,
    before: int,
    after: int,
) -> None:
    """Set what ends a phase of a closed contact."""
    rows, of, t = program.rows, program.of, _rough(program, i)
    (k, n), between = place[0], place[0][0] != place[1][0]
    if not is_closed(np.asarray(after)):
        bounds.row_low[rows["lift"][(*place[1], i)]] = 0.0
        if not between:
            bounds.high[of["force"][k, n, -1, i]] = 0.0
            if t is not None and before == STICK:  # a cone without an inside
                along = of["force"][k, n, -1, program.formulas.n_c + t]
                bounds.low[along] = bounds.high[along] = 0.0
                bounds.row_low[rows["cone"][k, n, -1, :, t]] = -INF
        return
    if t is None:
        return
    if before != STICK:
        _fix(bounds, rows["slip"][k, n, -1, t])
    elif not between:
        side = 0 if after == FORWARD else 1
        _fix(bounds, rows["cone"][k, n, -1, side, t])


def forces_at(source: Program, w: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Return the forces (n_t, n_f) of the stages next to times."""
    known, h = stage_times(source, w).ravel(), lengths(source, w)[:, :, None, None]
    force = w[source.of["force"]] / np.maximum(h, 1e-3 * h.mean())
    force = force.reshape(known.size, -1)
    return np.asarray(force[np.abs(known[:, None] - t).argmin(axis=0)])


def leaves(before: Signs, after: Signs) -> bool:
    """Whether a change only opens contacts or begins slides: a jump of a control can do so."""
    pairs = [(a, b) for a, b in zip(before, after, strict=True) if a != b]
    return all(STICK <= a < BOUNCE and b != STICK for a, b in pairs)


def inside(sequence: Sequence, most: int, limits: np.ndarray) -> Sequence:
    """Return the sequence with changes on the boundaries that are near.

    There a jump of a control opens a contact. An impact on a boundary stays there, too: beside it
    would be a phase of no length. `limits` (N + 1,) are the times of the boundaries.
    """
    out = sequence
    for i, change in enumerate(sequence.changes):
        k, between = divmod(change.place, 2)
        if between:
            continue
        near = SNAP if leaves(sequence.before(i), change.after) else HIT / most
        part = (change.t - limits[k]) / max(limits[k + 1] - limits[k], 1e-300)
        places = [change.place - 1] if part < near else []
        places += [change.place + 1] if part > 1 - near else []
        tried = [out.with_place(i, place) for place in places]
        fits = [one for one in tried if one.fits(len(limits) - 1, most)]
        out = fits[0] if fits else out
    return out
