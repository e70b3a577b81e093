"""Runs of mechanical systems: momentum of every step or stretch, laws of every contact."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import sympy as sp

import explorer as ex
from examiner.flows import TooStiff, defect, drift_of, stretches, tolerance_of
from examiner.written import kept, plain, rho_of, symbols_of

ROWS, SAMPLES = 12, 40


class Formulas:
    """A mechanical system by plain NumPy functions of (t, q, v, rho)."""

    def __init__(self, system: Any) -> None:
        args = [system.t, list(system.q), list(system.v), symbols_of(system)]
        self.n, self.system = len(system.q), system
        if isinstance(system, ex.LinearMechanicalSystem):
            dense = [np.asarray(A.todense() if hasattr(A, "todense") else A)
                     for A in (system.M, system.K, system.C)]  # fmt: skip
            f = plain(args, list(system.f))
            self.mass = lambda t, q, v, rho: dense[0]
            self.force = lambda t, q, v, rho: (
                np.array(f(t, q, v, rho), float) - (dense[1] @ q + dense[2] @ v)
            )
        else:
            mass, force = plain(args, sp.Matrix(system.mass)), plain(args, list(system.force))
            self.mass = lambda *at: np.array(mass(*at), float)
            self.force = lambda *at: np.array(force(*at), float)
        self.springs = None
        if getattr(system, "springs", ()):
            stretched = sp.Matrix([spring.elongation for spring in system.springs])
            of = [list(x) for x in zip(*((s.k, s.f_y, s.b) for s in system.springs), strict=True)]
            self.springs = plain(args, [list(stretched), stretched.jacobian(list(system.q)), *of])
        if system.records:
            along = plain(args, [list(record.along) for record in system.records])
            steady = self.force

            def driven(t: float, q: np.ndarray, v: np.ndarray, rho: Any) -> np.ndarray:
                values = [np.interp(t, record.dt * np.arange(len(record.values)), record.values)
                          for record in system.records]  # fmt: skip
                return steady(t, q, v, rho) + np.array(values) @ np.array(
                    along(t, q, v, rho), float
                )

            self.force = driven
        q, still = list(system.q), dict.fromkeys(system.v, 0)

        def rows(positions: list[Any], speeds: list[Any]) -> Any:
            """Values, gradients and dt-terms of gaps or constraints; of slips the same."""
            of_q = sp.Matrix(positions) if positions else sp.zeros(0, 1)
            G = of_q.jacobian(q) if positions else sp.zeros(0, len(q))
            G_t = [p.diff(system.t) for p in positions]
            T = sp.Matrix(speeds).jacobian(list(system.v)) if speeds else sp.zeros(0, len(q))
            T_t = [s.xreplace(still) for s in speeds]
            both, move = G.col_join(T), [*G_t, *T_t]
            speed = [sum((both[i, j] * system.v[j] for j in range(len(q))), move[i])
                     for i in range(both.shape[0])]  # fmt: skip
            # d/dt of the speeds at fixed v: what an acceleration constraint has on the right
            turn = [
                s.diff(system.t) + sum((s.diff(x) * w for x, w in zip(q, system.v, strict=True)),
                                       sp.S.Zero) for s in speed
            ]  # fmt: skip
            return plain(args, [positions, both.tolist(), move, turn])

        contacts = list(system.contacts)
        discs = isinstance(system, ex.DiscSystem)
        slips = [] if discs else [s for _, _, s in system.tangents]
        self.of = [] if discs else [(a, d) for a, d, _ in system.tangents]
        self.nc = len(contacts)
        self.rows = None if discs else rows([c.gap for c in contacts], slips)
        self.bound = rows([c.phi for c in system.constraints], [])
        rough = [contacts[a] for a, _ in self.of]
        self.mu = plain(args, [[c.mu for c in rough],
                               [c.mu if c.mu_s is None else c.mu_s for c in rough]])  # fmt: skip
        self.laws = plain(args, [[getattr(c, k) or 0 for c in contacts]
                                 for k in ("e", "e_t", "compliance")])  # fmt: skip
        self.conserves = not discs and _conserves(system)
        self.soft: tuple[float, ...] | None = None  # alpha, xi, omega of a penalty
        self.holds: np.ndarray | None = None  # which constraints hold, if they change

    def pull(self, t: float, q: np.ndarray, slip: np.ndarray, rho: Any) -> tuple[Any, Any]:
        """Return the springs' forces on q, and how far they have slipped then, by return mapping."""
        u, of_q, k, f_y, b = (np.array(x, float) for x in self.springs(t, q, q, rho))
        held = np.clip((1 - b) * k * (u - slip), -(1 - b) * f_y, (1 - b) * f_y)
        return (b * k * u + held) @ of_q, u - held / ((1 - b) * k)

    def at(self, t: float, q: np.ndarray, v: np.ndarray, rho: Any) -> tuple[np.ndarray, ...]:
        """Return gaps, all rows of G and T, their dt-terms, and d/dt of both at fixed v."""
        gap, G, move, turn = self.rows(t, q, v, rho)
        G = np.array(G, float).reshape(-1, self.n)
        return np.array(gap, float), G, np.array(move, float), np.array(turn, float)


def _conserves(system: Any) -> bool:
    """Whether nothing but contacts at rest does work: energy can only fall."""
    if system.records or getattr(system, "springs", ()) or system.potential is None:
        return False
    formulas = [c.gap for c in system.contacts] + [s for _, _, s in system.tangents]
    formulas += [c.phi for c in system.constraints]
    if any(system.t in f.free_symbols for f in (*formulas, system.potential)):
        return False
    if any(s.subs(dict.fromkeys(system.v, 0)) != 0 for _, _, s in system.tangents):
        return False
    if isinstance(system, ex.LinearMechanicalSystem):
        return False
    at_rest = dict.fromkeys(system.v, 0)
    return all(
        sp.simplify(f.subs(at_rest) + sp.diff(system.potential, q)) == 0
        for f, q in zip(system.force, system.q, strict=True)
    ) and not any(f.has(*system.v) for f in system.force)


written = kept(Formulas)


# -- events are located -----------------------------------------------------------------------


def judge_located(run: Any, rng: np.random.Generator, unit: Any = None) -> Iterator[str]:
    """Yield what a run of `EventDriven` (or frozen `FESD`) on a mechanical system breaks."""
    known, rho = written(run.system), rho_of(run)
    unit = unit or (lambda t0, t1: tolerance_of(run, t0, t1))
    soft = getattr(run.scheme, "formulation", "") == "penalty"
    known.soft = (run.scheme.alpha, run.scheme.xi, run.scheme.omega) if soft else None
    for event in run.located:
        yield from _impact(known, run, event, rho, unit(0.0, event.t))
    held_rows = np.flatnonzero((run.active != 0).any(axis=1)) if run.active.size else []
    for i in rng.choice(held_rows, min(len(held_rows), ROWS), replace=False):
        yield from _held(known, run, int(i), rho, unit(0.0, run.t[-1]))
    for a, b in stretches(run, rng, ROWS // 2):
        yield from stretch(known, run, a, b, rho, unit(run.t[a], run.t[b]))


def _closed(run: Any, i: int) -> np.ndarray:
    return run.active[i] != 0 if run.active.size else np.zeros(0, bool)


def _saddle(known: Formulas, t: float, x: np.ndarray, rho: Any, on: np.ndarray, stick: dict) -> Any:
    """Return a and the forces (normal, tangent) of what is held; sliding friction along its side.

    `stick` has of each tangent row: None (open), 0 (sticks) or the direction in which it slides.
    """
    n = known.n
    q, v = x[:n], x[n:]
    M, F = known.mass(t, q, v, rho), known.force(t, q, v, rho)
    _, G, _, turn = known.at(t, q, v, rho)
    normals = np.flatnonzero(on)
    tangents = [k for k, s in stick.items() if s == 0]
    held = [*normals, *(known.nc + k for k in tangents)]
    B, below, right = _bound(known, t, q, v, rho)
    if known.holds is not None:  # constraints that change
        B, below, right = (
            B[known.holds],
            below[np.ix_(known.holds, known.holds)],
            right[known.holds],
        )
    if not held and not len(B):
        return np.linalg.solve(M, F), np.zeros(0), normals, tangents
    columns = []
    mu = np.array(known.mu(t, q, v, rho)[0], float)
    for a in normals:
        push = G[a].copy()
        for k, (of, _) in enumerate(known.of):
            if of == a and stick.get(k):
                push -= mu[k] * np.sign(stick[k]) * G[known.nc + k]
        columns.append(push)
    columns += [G[known.nc + k] for k in tangents]
    pushed = np.array([*columns, *B]).reshape(-1, n)
    rows = np.concatenate([G[held].reshape(-1, n), B])
    corner = np.zeros((len(rows), len(rows)))
    corner[len(held) :, len(held) :] = below
    A = np.block([[M, -pushed.T], [rows, corner]])
    found = np.linalg.lstsq(A, np.concatenate([F, -turn[held], right]), rcond=1e-13)[0]
    return found[:n], found[n : n + len(held)], normals, tangents


def _bound(known: Formulas, t: float, q: np.ndarray, v: np.ndarray, rho: Any) -> tuple[Any, ...]:
    """Return B a + below * mu = right of the constraints, whose force is B' mu.

    phi'' = 0, or phi'' + 2 xi omega phi' + omega^2 phi = -mu / alpha by the penalty formulation.
    """
    phi, B, move, turn = (np.array(part, float) for part in known.bound(t, q, v, rho))
    B = B.reshape(-1, known.n)
    below, right = np.zeros((len(B), len(B))), -turn
    if known.soft and len(B):
        alpha, xi, omega = known.soft
        below, right = (
            np.eye(len(B)) / alpha,
            right - 2 * xi * omega * (B @ v + move) - omega**2 * phi,
        )
    return B, below, right


def sides_of(known: Formulas, run: Any, a: int, b: int, on: np.ndarray) -> dict:
    """Return what friction does between two rows: at its ends a slip may be zero.

    One that slides by less than the tolerance of a step has no direction: None.
    """
    found: dict[int, float | None] = {}
    scheme, none = run.scheme, 1e-9 * np.abs(run.slip).max(initial=0.0)
    if isinstance(scheme, ex.EventDriven):
        none = max(none, scheme.atol + scheme.rtol * np.abs(run.v).max())
    for k, (c, _) in enumerate(known.of):
        if not on[c]:
            continue
        slips = run.slip[a : b + 1, c]
        fastest = slips[np.abs(slips).argmax()]
        if abs(fastest) < none:
            fastest = 0.0
        found[k] = 0 if run.sticks[b, c] else float(np.sign(fastest)) or None
    return found


def stretch(known: Formulas, run: Any, a: int, b: int, rho: Any, unit: float) -> Iterator[str]:
    n, on = known.n, _closed(run, b)  # events may crowd before the first row
    stick = sides_of(known, run, a, b, on)
    if any(s is None for s in stick.values()):
        return
    sol: list[Any] = []
    changes = any(getattr(c, "when", None) is not None for c in run.system.constraints)
    known.holds = np.flatnonzero(run.constraints.holds[b]) if changes else None

    def rate(t: float, x: np.ndarray) -> np.ndarray:
        try:
            return np.r_[x[n:], _saddle(known, t, x, rho, on, stick)[0]]
        except np.linalg.LinAlgError:
            raise TooStiff from None

    t0, t1 = run.t[a], run.t[b]
    what = f"contacts {np.flatnonzero(on).tolist()}, friction {stick}"
    yield from defect(rate, t0, t1, run.x[a], run.x[b], unit, what, sol)
    if not sol or not known.nc:
        return
    times = np.linspace(t0, t1, SAMPLES + 2)[1:-1]
    motion = np.abs(run.gap).max(axis=0) + 1e-300
    gap, G, _, _ = known.at(t0, run.x[a, :n], run.x[a, n:], rho)
    inherited = np.minimum(
        np.where(on, np.abs(gap), np.maximum(-gap, 0.0)),
        drift_of(run, t0) * np.abs(G[: known.nc]).sum(axis=1),
    )
    for t in times:
        x = sol[0](t)
        gap, G, _, _ = known.at(t, x[:n], x[n:], rho)
        off = 10 * unit * np.abs(G[: known.nc]).sum(axis=1) + 1e-8 * motion + 1e-11 + inherited
        deep = np.where(on, np.abs(gap), -gap)
        if not (deep <= off).all():
            k = int((deep - off).argmax())
            yield f"gap of contact {k} is {gap[k]:.2g} at t = {t:.6g}, allowed {off[k]:.2g}"
            return
        if not on.any():
            continue
        _, lam, normals, tangents = _saddle(known, t, x, rho, on, stick)
        if len(lam) > np.linalg.matrix_rank(G[[*normals, *(known.nc + k for k in tangents)]]):
            continue  # forces of contacts that share a load are not determined
        size = np.abs(lam).max() + np.abs(run.lam).max()
        if not lam[: len(normals)].min(initial=0) >= -1e-5 * size - 1e-9:
            yield (
                f"contact {normals[lam[: len(normals)].argmin()]} pulls with {lam.min():.3g} "
                f"at t = {t:.6g}"
            )
            return
        most = np.array(known.mu(t, x[:n], x[n:], rho)[1], float)
        for k, f in zip(tangents, lam[len(normals) :], strict=True):
            share = lam[list(normals).index(known.of[k][0])]
            if not abs(f) <= most[k] * share * (1 + 1e-5) + 1e-5 * size + 1e-9:
                yield f"friction {f:.4g} of {most[k] * share:.4g} sticks at t = {t:.6g}"
                return


def _held(known: Formulas, run: Any, i: int, rho: Any, unit: float) -> Iterator[str]:
    """Yield what a row with closed contacts breaks: gaps, forces, cones, momentum."""
    n, t, x = known.n, run.t[i], run.x[i]
    q, v = x[:n], x[n:]
    gap, G, move, _ = known.at(t, q, v, rho)
    on = _closed(run, i)
    off = 10 * unit * np.abs(G[: known.nc]).sum(axis=1) + 1e-8 * np.abs(run.gap).max(axis=0) + 1e-10
    if not (np.abs(gap)[on] <= off[on]).all():
        yield f"closed contact has gap {gap[on]} at t = {t:.6g}"
    speed = (G @ v + move)[: known.nc]
    fast = np.abs(run.gap_dot).max(axis=0) + np.abs(run.v).max()
    if not (np.abs(speed)[on] <= off[on] * 10 + 1e-6 * fast[on]).all():
        yield f"closed contact moves with {speed[on]} at t = {t:.6g}"
    lam, size = run.lam[i], np.abs(run.lam).max() + 1e-300
    if not lam.min(initial=0) >= -1e-6 * size:
        yield f"lam = {lam} at t = {t:.6g}"
    if (np.abs(lam[~on]) > 1e-9 * size).any():
        yield f"an open contact pushes at t = {t:.6g}"
    push = G[: known.nc].T @ lam
    mu = np.array(known.mu(t, q, v, rho), float)
    for k, (a, _) in enumerate(known.of):
        push = push + G[known.nc + k] * run.lam_t[i, a]
        most = (mu[1] if run.sticks[i, a] else mu[0])[k] * lam[a]
        if not abs(run.lam_t[i, a]) <= most * (1 + 1e-6) + 1e-6 * size:
            yield f"friction {run.lam_t[i, a]:.4g} beyond {most:.4g} at t = {t:.6g}"
        slip = (G @ v + move)[known.nc + k]
        wide = np.abs(run.slip).max() + 1e-300
        if on[a] and run.sticks[i, a] and abs(slip) > 1e-5 * wide + 1e-9 + 10 * unit:
            yield f"contact {a} sticks at a slip of {slip:.2g} at t = {t:.6g}"
    if run.system.constraints and hasattr(run, "lam_phi"):
        push = push - _bound(known, t, q, v, rho)[0].T @ run.lam_phi[i]
    here = {e.row for e in run.located} | {e.row - 1 for e in run.located}
    if i and i not in here:
        left, terms = _unbalanced(known, run, i, rho, push)
        if not left <= 1e-5 * terms:
            yield f"M a - F - G'lam = {left / terms:.2g} of its terms at t = {t:.6g}"


def _unbalanced(
    known: Formulas, run: Any, i: int, rho: Any, push: np.ndarray
) -> tuple[float, float]:
    """Return the largest entry of M a - F - G'lam in a row, and of its terms.

    A step ends where a formula with a sign or cases has its kink: there those of either side hold.
    """
    t, v, a, found = run.t[i], run.v[i], run.rates[i, known.n :], []
    for side in (0.0, -1.0, 1.0):
        q = run.q[i] + side * 1e-12 * np.sign(v)
        force = known.force(t, q, v, rho)
        left = np.abs(known.mass(t, q, v, rho) @ a - force - push).max()
        found.append((float(left), float(np.abs(force).max() + np.abs(push).max() + 1e-300)))
    return min(found)


def _impact(known: Formulas, run: Any, event: Any, rho: Any, unit: float) -> Iterator[str]:
    n, t, i = known.n, event.t, event.row
    q = event.x_minus[:n]
    if event.kind in ("released", "slips", "sticks", "turns"):
        if not np.array_equal(event.x_minus, event.x_plus):
            yield f"{event.kind} at t = {t:.6g} changes the state"
        return
    if event.index >= known.nc:
        yield from _change(known, run, event, rho)
        return
    gap, G, move, _ = known.at(t, q, event.x_minus[n:], rho)
    e = np.array(known.laws(t, q, q, rho)[0], float)
    where = 100 * unit * np.abs(G[event.index]).sum() + 1e-8 * np.abs(run.gap[:, event.index]).max()
    if not abs(gap[event.index]) <= where + 1e-9:
        yield f"{event.kind} at t = {t:.6g} at a gap of {gap[event.index]:.2g}"
    change = known.mass(t, q, q, rho) @ (event.x_plus[n:] - event.x_minus[n:])
    push = G[: known.nc].T @ run.p[i]
    if known.of:
        push = push + sum(G[known.nc + k] * run.p_t[i, a] for k, (a, _) in enumerate(known.of))
    if run.system.constraints:
        push = push - _bound(known, t, q, event.x_minus[n:], rho)[0].T @ run.p_phi[i]
    size = np.abs(change).max() + np.abs(push).max() + 1e-300
    several = sum(o.t == t for o in run.located) > 1
    tiny = 1e-9 * np.abs(known.mass(t, q, q, rho)).max() * np.abs(run.v).max()
    if (
        not several
        and event.kind != "zeno"
        and not (np.abs(change - push).max() <= 1e-6 * size + tiny)
    ):
        yield f"momentum at the {event.kind}, t = {t:.6g}: {np.abs(change - push).max() / size:.2g}"
    before, after = (G @ w + move for w in (event.x_minus[n:], event.x_plus[n:]))
    fast = np.abs(before[: known.nc]).max() + np.abs(after[: known.nc]).max()
    nearest = run.p[i] > 0
    nearest[event.index] = True
    apart = after[: known.nc] + e * np.maximum(before[: known.nc], 0)  # Newton's law for each
    if not apart[nearest].min(initial=0) >= -1e-5 * fast - 1e-9 - 10 * unit:
        yield f"contact goes on into the obstacle after t = {t:.6g}: {after[: known.nc]}"
    p = run.p[i]
    if not p.min(initial=0) >= -1e-9 * size:
        yield f"impulse {p} at t = {t:.6g}"
    mu = np.array(known.mu(t, q, event.x_minus[n:], rho)[1], float)
    small = 1e-11 * run.p.max(initial=0)
    for k, (a, _) in enumerate(known.of):
        if not abs(run.p_t[i, a]) <= mu[k] * p[a] * (1 + 1e-6) + 1e-8 * size + small:
            yield f"friction impulse {run.p_t[i, a]:.3g} beyond {mu[k] * p[a]:.3g} at t = {t:.6g}"
    if event.kind == "impact" and not several and (p > 1e-9 * size).sum() == 1:
        k = event.index
        if not abs(after[k] + e[k] * before[k]) <= 1e-4 * abs(before[k]) + 1e-9 + 100 * unit:
            yield f"impact at t = {t:.6g}: {after[k]:.6g} after {before[k]:.6g}, e = {e[k]:.4g}"


def _change(known: Formulas, run: Any, event: Any, rho: Any) -> Iterator[str]:
    """Yield what a change of constraints breaks: its condition is zero, and momentum is kept."""
    n, t = known.n, event.t
    q, v = event.x_minus[:n], event.x_minus[n:]
    args = [run.system.t, list(run.system.q), list(run.system.v), symbols_of(run.system)]
    conditions = plain(args, [c.when for c in run.system.constraints if c.when is not None])
    here = np.abs(np.array(conditions(t, q, v, rho), float)).min()
    usual = max(np.abs(np.array(conditions(a, b, c, rho), float)).max()
                for a, b, c in zip(run.t, run.q, run.v, strict=True))  # fmt: skip
    if not here <= 1e-6 * usual:
        yield f"{event.kind} at t = {t:.6g} where its condition is {here:.2g}"
    change = known.mass(t, q, v, rho) @ (event.x_plus[n:] - v)
    push = -_bound(known, t, q, v, rho)[0].T @ run.p_phi[event.row]
    size = np.abs(known.mass(t, q, v, rho) @ v).max() + np.abs(push).max() + 1e-300
    if not np.abs(change - push).max() <= 1e-6 * size:
        yield f"momentum at the {event.kind}, t = {t:.6g}: {np.abs(change - push).max() / size:.2g}"


# -- structures -------------------------------------------------------------------------------


def judge_structure(run: Any, rng: np.random.Generator) -> Iterator[str]:
    """Yield what `Newmark`, `GeneralizedAlpha` or the schemes made of them break in a step."""
    known, scheme, rho = written(run.system), run.scheme, rho_of(run)
    if len(run.t) < 4:
        return
    co = scheme.coefficients
    contacts = run.p.shape[1] > 0
    for i in rng.integers(3, len(run.t), 3 * ROWS):
        h, before = run.t[i] - run.t[i - 1], run.t[i - 1] - run.t[i - 2]
        near = slice(i - 3, i + 1)
        if contacts and ((run.p[near] > 0).any() or (run.gap[near] <= 0).any()):
            continue
        if run.has("parts") and run.parts[i] > 1:
            continue
        after = run.t[min(i + 1, len(run.t) - 1)] - run.t[i] or h
        if (co.alpha_m or co.alpha_f) and max(abs(h - before), abs(h - after)) > 1e-9 * h:
            continue  # accelerations are moved to where the next step wants them
        t0, t1 = run.t[i - 1], run.t[i]
        (q0, v0, a0), (q1, v1, a1) = ((run.q[k], run.v[k], run.a[k]) for k in (i - 1, i))
        off_q = q1 - q0 - h * v0 - h * h * ((0.5 - co.beta) * a0 + co.beta * a1)
        smooth = v0 + h * ((1 - co.gamma) * a0 + co.gamma * a1)
        pulls = np.zeros((len(q1), 0))
        if run.system.constraints:  # the end of the velocities is put on them, by forces along them
            phi, B, B_t, _ = (np.array(x, float) for x in known.bound(t1, q1, v1, rho))
            pulls = np.linalg.solve(known.mass(t1, q1, v1, rho), B.T)
            rate = (
                np.abs(B @ v1 + B_t).max() / (np.abs(B) @ np.abs(v1) + np.abs(B_t) + 1e-300).max()
            )
            if not max(np.abs(phi).max() / (1 + np.abs(q1).max()), rate) <= 1e-9:
                yield f"constraints at row {i}: {phi}, {rate:.2g}"
        off_v = beside(pulls, v1 - smooth)
        v1 = smooth if run.system.constraints else v1
        size_q = np.abs(q1).max() + np.abs(h * v0).max() + h * h * np.abs(a0).max() + 1e-300
        size_v = np.abs(v1).max() + np.abs(v0).max() + h * np.abs(a1).max() + 1e-300
        if not max(np.abs(off_q).max() / size_q, np.abs(off_v).max() / size_v) <= 1e-10:
            yield f"q or v at row {i} are not those of a: {np.abs(off_q).max() / size_q:.2g}"
        f = co.alpha_f
        mix = [(1 - f) * new + f * old for new, old in ((t1, t0), (q1, q0), (v1, v0))]
        a_m = (1 - co.alpha_m) * a1 + co.alpha_m * a0
        if scheme.interpolated:
            F = (1 - f) * known.force(t1, q1, v1, rho) + f * known.force(t0, q0, v0, rho)
            M = known.mass(t1, q1, v1, rho)
        else:
            F, M = known.force(*mix, rho), known.mass(*mix, rho)
        if run.system.constraints:
            ends = ((t1, q1, v1), (t0, q0, v0)) if scheme.interpolated else (mix,)
            pulls = np.vstack([np.array(known.bound(*x, rho)[1], float) for x in ends]).T
        if known.springs is not None:
            slipped = run.slip[i - 1]
            pull, after = known.pull(t1, q1, slipped, rho)
            if not np.abs(after - run.slip[i]).max() <= 1e-9 * (np.abs(q1).max() + 1e-12):
                yield f"springs have slipped by {run.slip[i]} at row {i}, their law says {after}"
            if scheme.interpolated:
                pull = (1 - f) * pull + f * known.pull(t0, q0, slipped, rho)[0]
            elif f:
                pull = known.pull(mix[0], mix[1], slipped, rho)[0]
            F = F - pull
        jitter = 1 + 1e-7 * (-1.0) ** np.arange(len(q1))
        steep = np.abs(
            known.force(mix[0], mix[1] * jitter, mix[2] / jitter, rho) - known.force(*mix, rho)
        ).max() / 1e-7  # fmt: skip
        size = np.abs(F).max() + (np.abs(M) @ np.abs(a_m)).max() + 1e-300
        left = np.abs(beside(pulls, M @ a_m - F)).max()
        if not left <= (30 * scheme.newton_tol + 1e-9) * size + 1e-11 * steep:
            yield f"equilibrium at row {i}: {left / size:.2g}"


def beside(columns: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Return what of a vector is no combination of columns."""
    if not columns.size:
        return vector
    return vector - columns @ np.linalg.lstsq(columns, vector, rcond=1e-12)[0]


def judge_energy(run: Any) -> Iterator[str]:
    """Yield by how much the energy of a system that nothing drives rises."""
    known = written(run.system)
    if not known.conserves:
        return
    q, v, rho = run.q, run.v, rho_of(run)
    args = [run.system.t, list(run.system.q), list(run.system.v), symbols_of(run.system)]
    potential = plain(args, run.system.potential)
    V = np.array([float(potential(t, a, b, rho)) for t, a, b in zip(run.t, q, v, strict=True)])
    T = np.array([b @ known.mass(t, a, b, rho) @ b / 2 for t, a, b in
                  zip(run.t, q, v, strict=True)])  # fmt: skip
    energy, size = T + V, T.max() + np.ptp(V)
    free = ~(run.p > 0).any(axis=1) if run.scheme.impact_steps > 1 else slice(None)
    kept_ = energy[free] if np.size(energy[free]) else energy
    rise = float((kept_ - np.minimum.accumulate(kept_)).max())
    if size > 1e-12 and not rise <= 0.03 * size:
        yield f"energy rises by {rise / size:.3g}"


def judge_capturing(run: Any, rng: np.random.Generator) -> Iterator[str]:
    """Yield what the contacts of `SchatzmanPaoli` or `NonsmoothGeneralizedAlpha` break."""
    known, scheme, rho = written(run.system), run.scheme, rho_of(run)
    nc = run.p.shape[1]
    if not nc or len(run.t) < 4:
        return
    mean = scheme.level == "mean"
    busy = np.flatnonzero((run.p[1:-1] > 0).any(axis=1)) + 1
    rows = [*rng.choice(busy, min(len(busy), ROWS), replace=False),
            *rng.integers(1, len(run.t) - 1, ROWS)]  # fmt: skip
    for i in rows:
        h = run.t[i] - run.t[i - 1]
        q0, v0, q1, v1 = run.q[i - 1], run.v[i - 1], run.q[i], run.v[i]
        p, on = run.p[i], run.active[i] > 0
        gap1, G1, move1, _ = known.at(run.t[i], q1, v1, rho)
        e = np.array(known.laws(run.t[i], q1, v1, rho)[0], float)
        inverse = np.linalg.inv(known.mass(run.t[i], q1, v1, rho))
        D = np.einsum("ai,ij,aj->a", G1, inverse, G1)
        speeds = np.abs(G1) @ (np.abs(v1) + np.abs(v0)) + D @ np.abs(p)
        tol = 10 * (scheme.lcp_tol + 1e-10) * (speeds.max() + 1e-300)
        if not p.min() >= -tol / D.max():
            yield f"impulse {p} at row {i}"
        if mean:
            if i < 2 or abs(run.t[i - 1] - run.t[i - 2] - h) > 1e-9 * h:
                continue
            # the impulse of a row belongs to the step that ends there: it is met at the mean of
            # the ends of that step and of the one before
            qe = (q1 + e[:, None] * run.q[i - 2]) / (1 + e[:, None])
            te = (run.t[i] + e * run.t[i - 2]) / (1 + e)
            gap = np.array([known.at(te[a], qe[a], v1, rho)[0][a] for a in range(nc)])
            off = np.minimum(gap, D * h * np.where(p > 0, np.inf, 0.0))
            room = h * tol + 1e-11 * (np.abs(q1).max() + 1e-3)
            if not (gap >= -room).all() or not (np.abs(gap)[p > 0] <= room).all():
                yield f"mean gap {gap} at row {i} with p = {p}, allowed {room:.2g}; {off}"
            continue
        if scheme.level == "position+velocity":
            room = h * tol + 1e-11 * (np.abs(q1).max() + 1e-3)
            if not (gap1 >= -room).all():
                yield f"gap {gap1} at row {i}, allowed {-room:.2g}"
        w = G1 @ v1 + move1
        before = run.gap_dot[i - 1]
        both = np.where(on, np.minimum(D * p, w + e * before), D * p)
        # G is that of the place at which the step's problem was posed: at most a step away
        turned = np.abs(known.at(run.t[i - 1], q0, v0, rho)[1] - G1).sum() * np.abs(v1).max()
        if not np.abs(both).max() <= tol + 2 * turned:
            yield f"laws at row {i}: {both} of {speeds.max():.2g}"
