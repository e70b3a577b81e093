"""Runs that locate their events: penetration, the law of impact, and the energy between events.

Between two events E = T + V changes by the work of forces without potential, of damping, friction
and moving obstacles, and by nothing else. The work is integrated over each step of the run by the
points of Gauss, at states of the flow itself or of the polynomials of an element.
"""

from __future__ import annotations

import numpy as np

from explorer.certificate import Check
from explorer.compiled import compile_switched
from explorer.compiled.formulas import Formulas
from explorer.quantities import number, quantity
from explorer.results.solution import Solution
from explorer.systems import DiscSystem, MechanicalSystem
from explorer.verification.energy import TOLERATED
from explorer.verification.energy_balance import energy_balance, evaluated
from explorer.verification.normals import normals
from explorer.verification.positions import changes, drift, penetration, ranges

__all__ = [
    "by_steps",
    "elements",
    "flow_energy",
    "gains",
    "held",
    "impacts",
    "located",
    "switched",
]

_DEEP = 1e-6  # below, positions and energies of contacts that come to rest are not told apart
_STILL = 1e-10  # m: what a force does over less is no motion
_APART = 1e-9  # beside positions: what round-off lets a held contact drift
_DIGITS = 1e-8  # of a potential: round-off of it is no motion either
_AT_REST, _ROUND_OFF = 1e-4, 1e-6
_SLOW = 1e-6  # beside the fastest gap: an impact, or a gap that still closes


def located(run: Solution, accuracy: float, remedy: str = "") -> list[Check]:
    """Return the checks of a mechanical run; `accuracy` is relative, that of the whole run.

    `remedy` is what helps against a drift from the constraints.
    """
    if len(run.t) < 3:
        return []
    with np.errstate(all="ignore"):
        deep = min(max(accuracy, _DEEP), 0.05)
        placed = [*penetration(run, deep, _STILL), *normals(run), *drift(run, deep, remedy)]
        struck = [*impacts(run, accuracy), *gains(run, accuracy)]
        return [*placed, *held(run, deep), *changes(run, deep), *struck]


def held(run: Solution, allowed: float) -> list[Check]:
    """Return the check that no rigid contact pushes across an open gap, beside its motion."""
    gap, system = run.gap, run.system
    if not gap.size or run.has("discs"):
        return []
    rigid = np.array([contact.compliance == 0 for contact in system.contacts])
    apart = np.where((run.lam > 0) & rigid, gap, 0.0)
    row, c = (int(i) for i in np.unravel_index(apart.argmax(), apart.shape))
    if not apart[row, c] > _APART * (1 + np.abs(run.q).max()):
        return [Check("held contacts", 0.0, allowed)]
    off = float(apart[row, c] / ranges(run, row)[c])
    words = (
        f"{system.contacts[c].name!r} pushes with {quantity(run.lam[row, c], 'N', 3)} at t = "
        f"{quantity(run.t[row], 's', 4)}, where its gap is {quantity(apart[row, c], 'm', 3)}: a "
        "gap must change continuously with t and q. If it has cases, let their values agree where "
        "they meet."
    )
    return [Check("held contacts", off, allowed, "", words)]


def impacts(run: Solution, accuracy: float) -> list[Check]:
    """Return the check of gap'(+) = -e gap'(-) at impacts of one contact on its own."""
    e = _restitutions(run)
    off, where = 0.0, None
    speed = np.abs(run.gap_dot).max(initial=0.0)
    for event in run.events:
        alone = event.kind == "impact" and getattr(event, "together", 1) < 2
        alone = alone and not run.system.contacts[event.index].reset
        if not alone or abs(event.gap_dot_minus) < 1e-6 * speed:
            continue
        missed = abs(event.gap_dot_plus + e[event.index] * event.gap_dot_minus)
        if not missed / abs(event.gap_dot_minus) <= off:
            off, where = missed / abs(event.gap_dot_minus), event
    words = (
        ""
        if where is None
        else (
            f"The impact of {where.contact!r} at t = {quantity(where.t, 's', 4)} gives back "
            f"{quantity(abs(where.gap_dot_plus), 'm/s', 4)} of "
            f"{quantity(abs(where.gap_dot_minus), 'm/s', 4)}, but e = "
            f"{number(e[where.index], 4)}: use "
            "a smaller tolerance or h, or more stages."
        )
    )
    return [Check("impact law", float(off), max(accuracy, 1e-6), "", words), *_resets(run, speed)]


def _resets(run: Solution, speed: float) -> list[Check]:
    """Return the check that a contact whose `reset` says what an impact does is left by it."""
    laws = {k for k, contact in enumerate(run.system.contacts) if contact.reset}
    hits = [e for e in run.events if e.kind == "impact" and e.index in laws]
    hits = [e for e in hits if abs(e.gap_dot_minus) > _SLOW * speed]
    if not hits:
        return []
    worst = min(hits, key=lambda e: e.gap_dot_plus / abs(e.gap_dot_minus))
    into = max(0.0, -worst.gap_dot_plus / abs(worst.gap_dot_minus))
    words = (
        f"Behind the impact of {worst.contact!r} at t = {quantity(worst.t, 's', 4)} its gap still "
        f"closes, with {quantity(abs(worst.gap_dot_plus), 'm/s', 3)}: its reset does not turn the "
        "velocity round. Check the sign of the reset."
    )
    return [Check("reset", into, _SLOW, "", words)]


def gains(run: Solution, accuracy: float) -> list[Check]:
    """Return the check that contacts give the motion no energy at impacts.

    Work of obstacles that move does not count: p (gap'(-) + gap'(+)) / 2 of normals, the same of
    friction. A contact with a reset may do what its law says.
    """
    if any(contact.reset for contact in run.system.contacts):
        return []
    off, where = 0.0, None
    for event in run.events:
        row = event.row
        if event.kind not in ("impact", "closed", "zeno") or not run.p[row].any():
            continue
        given = 0.5 * float(run.p[row] @ (run.gap_dot[row - 1] + run.gap_dot[row]))
        if run.system.rough:
            given += 0.5 * float((run.p_t[row] * (run.slip[row - 1] + run.slip[row])).sum())
        part = given / max(float(run.kinetic[row - 1]), 1e-9 * float(run.kinetic.max()), 1e-300)
        if part > off:
            off, where = part, event
    words = ""
    if where is not None:
        words = (
            f"The impact of {where.contact!r} at t = {quantity(where.t, 's', 4)} gives the motion "
            f"{number(100 * off, 2)} % of its kinetic energy: Newton's law of impact does so with "
            "friction, or for several contacts at once, where impulses couple. Use a smaller e or "
            "mu: with e = 0 no impact gives energy."
        )
    return [Check("impact energy", off, max(accuracy, 1e-6), "", words)]


def _restitutions(run: Solution) -> np.ndarray:
    from explorer.compiled import compile_system

    found: np.ndarray = compile_system(run.system).start(list(run.rho.values()))[2]
    return found


def flow_energy(
    run: Solution, accuracy: float, start: np.ndarray | None = None, h: np.ndarray | None = None
) -> list[Check]:
    """Return the check of the energy between events.

    Parameters
    ----------
    accuracy : relative, of the whole run
    start, h : (k,) of the steps, in s; by default the elements of a run through time freezing
    """
    system = run.system
    moving = [c for c in system.constraints if system.t in c.phi.free_symbols]
    count = len(run.march.running if start is None else start)
    if not count or system.springs or moving or isinstance(system, DiscSystem):
        return []
    at, shares = np.polynomial.legendre.leggauss(4 if start is not None else run.scheme.stages + 1)
    at, shares = (at + 1) / 2, shares / 2
    if start is None or h is None:
        rows, nodes, weights = run.march.inside(at, shares)
    else:
        nodes, weights = (start[:, None] + at * h[:, None]).ravel(), (shares * h[:, None]).ravel()
        times = np.union1d(nodes, np.append(start, run.march.t_last))
        rows = run.march.undifferentiated().trajectory(np.minimum(times, run.march.t_last))
    with np.errstate(all="ignore"):
        return _balanced(run, rows, nodes, weights, accuracy)


def _balanced(
    run: Solution, rows: Solution, nodes: np.ndarray, weights: np.ndarray, accuracy: float
) -> list[Check]:
    place = np.searchsorted(nodes, rows.t)
    inside = (place < len(nodes)) & (nodes[np.minimum(place, len(nodes) - 1)] == rows.t)
    share = np.where(inside, weights[np.minimum(place, len(nodes) - 1)], 0.0)
    power = _power(run, rows)
    work = np.cumsum(share * power)
    energy = rows.kinetic + _potential(rows)
    ends = np.unique(
        [0, len(rows.t) - 1, *(e.row for e in rows.located), *(e.row - 1 for e in rows.located)]
    )
    jumps = np.zeros_like(energy)
    for event in rows.located:
        jumps[event.row] = energy[event.row] - energy[event.row - 1]
    left = (energy - energy[0] - work - np.cumsum(jumps))[ends]
    potential = _potential(rows)
    size = rows.kinetic.max() + np.ptp(potential) + np.abs(work).max()
    size += _DIGITS * np.abs(potential).max()
    size += _STILL * np.abs(rows.lam).max(initial=0.0)
    if rows.has("constraints"):
        size += _STILL * np.abs(rows.lam_phi).max(initial=0.0)
    off = float(np.abs(left).max() / (size or 1.0))
    return [
        Check(
            "energy",
            off,
            min(max(accuracy, _DEEP), TOLERATED),
            "",
            f"Between its events the motion gains or loses {number(100 * off, 2)} % of its energy, "
            "which no force explains: use a smaller tolerance or h, or more stages.",
        )
    ]


def _potential(rows: Solution) -> np.ndarray:
    found = rows.potential
    if found is not None:
        return np.asarray(found)
    if isinstance(rows.system, MechanicalSystem):
        return np.zeros_like(rows.t)
    return np.asarray(np.einsum("ti,ti->t", rows.q, (rows.system.K @ rows.q.T).T) / 2)


def _power(run: Solution, rows: Solution) -> np.ndarray:
    """Return the power of all that has no potential, (n_t,) in W."""
    n, system = rows.q.shape[1], rows.system
    if isinstance(system, MechanicalSystem):
        found = evaluated(rows, "power")
        power = (found[:, :n] * rows.v).sum(axis=1) + found[:, n]
    else:
        q, v = rows.q, rows.v
        skew = ((system.K.T - system.K) @ q.T).T / 2 - (system.C @ v.T).T
        if rows.potential is None:
            skew = skew + evaluated(rows, "force")
        power = (skew * v).sum(axis=1)
    if system.records:
        power = power + (evaluated(rows, "recorded") * rows.v).sum(axis=1)
    nc = rows.gap.shape[1]
    if not nc:
        return np.asarray(power)
    gap = evaluated(rows, "gap")
    power = power - (rows.lam * gap[:, nc : 2 * nc]).sum(axis=1)
    still = evaluated(rows, "gap")[:, 2 * nc : 2 * nc + len(system.tangents)]
    for j, (a, direction, _) in enumerate(system.tangents):
        if direction == 0:
            power = power + rows.lam_t[:, a] * (rows.slip[:, a] - still[:, j])
    return np.asarray(power)


def by_steps(run: Solution) -> list[Check]:
    """Return the check of energy that is made by a run whose steps are all that is known."""
    with np.errstate(all="ignore"):
        found = energy_balance(run)
        size = found.kinetic.max() + np.ptp(found.potential)
        left = found.numerical
        made = float((left - np.minimum.accumulate(left)).max() / (size or 1.0))
    return [
        Check(
            "energy made",
            made,
            TOLERATED,
            "",
            f"The motion gains {number(100 * made, 2)} % of its energy without a cause. Use a "
            "smaller step.",
        )
    ]


def switched(run: Solution, accuracy: float) -> list[Check]:
    """Return the check that each switching function has the sign of its side, or is slid on."""
    if not run.c.size:
        return []
    size = np.maximum(np.abs(run.c), _driven(run)).max(axis=0) + 1e-300
    off = np.where(run.signs == 0, np.abs(run.c), np.maximum(-run.signs * run.c, 0.0)) / size
    row, k = divmod(int(off.argmax()), off.shape[1])
    part = float(off[row, k])
    return [
        Check(
            "sides",
            part,
            accuracy,
            "",
            f"At t = {quantity(run.t[row], run.system.time_unit, 4)} {run.system.guard_names[k]} "
            f"is {number(part, 2)} of its largest value beyond its surface.",
        )
    ]


def _driven(run: Solution) -> np.ndarray:
    """Return by how much a step along the fields beside it changes each function, (n_t, n_c).

    Where a run slides all the time, the function itself is round-off and no scale.
    """
    signs, x = run.signs, run.x
    if not (signs == 0).all(axis=0).any():
        return np.zeros(signs.shape)
    formulas = Formulas(compile_switched(run.system), [*run.rho.values()])
    gradient = formulas.functions(run.t, x)[1]
    rates = [
        formulas.rates(run.t, x, formulas.chosen(np.where(signs == 0, side, signs)))
        for side in (1, -1)
    ]
    longest = np.diff(run.t).max(initial=0.0)
    speed = np.einsum("tki,ti->tk", np.abs(gradient), np.abs(rates).max(axis=0))
    return np.asarray(longest * speed)


def elements(run: Solution, accuracy: float, *, cross: bool = True) -> list[Check]:
    """Return the checks of the equations of `FESD`, each block in its own scale."""
    march, residual = run.march, run.fesd_residual
    if not len(march.times):
        return []
    rates = float(np.abs(march.slopes).max(initial=0.0)) or 1.0
    states = float(np.abs(march.states).max(initial=0.0))
    values = float(np.abs(march.functions(march.times[:, 0], march.states[:-1])[0]).max(initial=0))
    h = float(march.times[:, 1].max())
    values = max(values, _AT_REST * states, _ROUND_OFF)  # on a surface, or at rest, c is round-off
    sizes = {"collocation": rates + states, "complementarity": values}
    if cross:
        sizes |= {"cross": values, "equilibration": h, "time": h}
    found = []
    for name, size in sizes.items():
        part = residual[name] / size
        words = (
            f"The equations of the elements ({name}) are left with {number(part, 2)} of their "
            "terms: use a smaller h, or more stages."
        )
        found.append(Check(name, float(part), accuracy, "", words))
    return found
