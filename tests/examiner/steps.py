"""Steps of `MoreauJean`: momentum, laws, cones and constraints of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import explorer as ex
from examiner.contacts import ROWS, Formulas, written
from examiner.written import rho_of, symbols_of


@dataclass
class Contacts:
    """The contacts of a step: rows of G, normals first, and what is recorded of them."""

    G: np.ndarray
    move: np.ndarray
    of: list[tuple[int, int]]  # contact and direction of each tangent
    e: np.ndarray
    e_t: np.ndarray
    soft: np.ndarray
    mu_s: np.ndarray
    p: np.ndarray
    before: np.ndarray  # gap_dot at its begin
    on: np.ndarray
    slip0: np.ndarray | None
    p_t: np.ndarray | None
    steady: np.ndarray  # touching the same partner as before
    aside: float = 0.0  # speed of contacts that were posed and do not push

    @property
    def nc(self) -> int:
        """How many there are."""
        return len(self.p)

    @property
    def planes(self) -> dict[int, list[int]]:
        """The tangents of each contact that has friction."""
        found: dict[int, list[int]] = {}
        for k, (a, _) in enumerate(self.of):
            found.setdefault(a, []).append(k)
        return found

    def friction(self, k: int) -> float:
        """Return the friction impulse along a tangent."""
        assert self.p_t is not None
        a, d = self.of[k]
        return self.p_t[a, d] if self.p_t.ndim == 2 else self.p_t[a]


class Step:
    """One step of a run, and where its mass, gradients and laws are taken."""

    def __init__(self, run: Any, known: Formulas, i: int) -> None:
        self.run, self.known, self.i = run, known, i
        self.scheme, self.rho, self.t = run.scheme, rho_of(run), run.t[i]
        self.h, th = run.t[i] - run.t[i - 1], run.scheme.theta
        self.q0, self.v0, self.v1 = run.q[i - 1], run.v[i - 1], run.v[i]
        self.q1 = self.q0 + self.h * (th * self.v1 + (1 - th) * self.v0)
        frozen = self.scheme.mass_point == "q_star"
        star = self.q0 + self.h * self.scheme.gamma * self.v0 if frozen else self.q1
        self.share = self.scheme.gamma if frozen else 1.0
        self.levels = bool(run.system.constraints) and self.scheme.projection == "both levels"
        if self.levels:
            self.q1 = run.q[i]
            star = (1 - self.share) * self.q0 + self.share * self.q1
        self.M = known.mass(self.t, star, self.v0, self.rho)
        self.begin = (run.t[i - 1], self.q0, self.v0, self.rho)
        self.place = (self.t, self.q1 if self.levels else star, self.v0, self.rho)
        discs = isinstance(run.system, ex.DiscSystem)
        self.contacts = self.of_discs(star) if discs else self.of_formulas()

    def of_discs(self, star: np.ndarray) -> Contacts:
        """Return those contacts of discs that push."""
        run, i = self.run, self.i
        G, move, use = disc_rows(run, i, star)
        e_all, pick, nc = (
            np.array(self.known.laws(*self.place)[0], float),
            np.array(use, int),
            len(use),
        )
        values = dict(zip(symbols_of(run.system), self.rho, strict=True))
        mu = float(run.system.contacts[0].mu.subs(values) if run.system.contacts else 0)
        # lcp_tol is relative to |q| of all that was predicted to close, whether it pushes or not
        posed = run.active[i] > 0
        aside = np.abs((run.gap_dot[i] + e_all * run.gap_dot[i - 1])[posed]).max(initial=0.0)
        return Contacts(
            G, move, [(k, 0) for k in range(nc)],
            e=e_all[pick], e_t=np.zeros(nc), soft=np.zeros(nc), mu_s=np.full(nc, mu),
            p=run.p[i][pick], before=run.gap_dot[i - 1][pick], on=run.active[i][pick] > 0,
            slip0=run.slip[i - 1][pick], p_t=run.p_t[i][pick],
            steady=run.partner[i - 1][pick] == run.partner[i][pick],
            aside=max(aside, np.abs(run.slip[i][posed]).max(initial=0.0)),
        )  # fmt: skip

    def of_formulas(self) -> Contacts:
        """Return the contacts that the system declares."""
        run, i, known = self.run, self.i, self.known
        _, G, move, _ = known.at(*self.place)
        e, e_t, soft = (np.array(x, float) for x in known.laws(*self.place))
        mu_s = np.array(known.mu(*self.begin)[1], float)
        slip0, p_t = (run.slip[i - 1], run.p_t[i]) if known.of else (None, None)
        return Contacts(G, move, known.of, e, e_t, soft, mu_s, run.p[i], run.gap_dot[i - 1],
                        run.active[i] > 0, slip0, p_t, np.ones(known.nc, bool))  # fmt: skip

    def momentum(self) -> Iterator[str]:
        """Yield what the balance of momentum and the constraints of velocities break."""
        known, at, nc, share = self.known, self.contacts, self.contacts.nc, self.share
        pushes = at.G
        if self.levels:  # along the mean of the gradients at both ends
            pushes = (1 - share) * known.at(*self.begin)[1] + share * at.G
        push = pushes[:nc].T @ at.p if nc else np.zeros(len(self.q0))
        for k in range(len(at.of)):
            push = push + pushes[nc + k] * at.friction(k)
        if self.run.system.constraints:
            _, B, B_t, _ = known.bound(*self.place)
            bound = np.array(B, float)
            yield from self.moving(bound, np.array(B_t, float))
            pulls = bound
            if self.levels:  # and what the multiplier of the positions turns
                first = np.array(known.bound(*self.begin)[1], float)
                pulls = (1 - share) * first + share * bound
                turned = self.run.recorded_row("gamma_phi")[self.i]
                push = push - (bound - first).T @ turned / self.h
            push = push - pulls.T @ self.run.p_phi[self.i]
        yield from self.unbalanced(push)

    def moving(self, bound: np.ndarray, B_t: np.ndarray) -> Iterator[str]:
        """Yield how far constraints move that are to rest."""
        speed = bound @ self.v1 + B_t
        size = (np.abs(bound) @ np.abs(self.v1)).max() + np.abs(B_t).max() + 1e-300
        tol = 10 * self.scheme.lcp_tol + 10 * self.scheme.newton_tol + 1e-8
        if not np.abs(speed).max() <= tol * max(size, np.abs(self.run.v).max() * 1e-3):
            yield f"constraint moves at row {self.i}: {np.abs(speed).max() / size:.2g}"

    def unbalanced(self, push: np.ndarray) -> Iterator[str]:
        """Yield what is left of the balance of momentum beyond round-off of its terms."""
        known, M, h, th, q1, v1 = self.known, self.M, self.h, self.scheme.theta, self.q1, self.v1
        F1, F0 = known.force(self.t, q1, v1, self.rho), known.force(*self.begin)
        F = th * F1 + (1 - th) * F0
        terms = np.abs(M @ v1) + np.abs(M @ self.v0) + h * (np.abs(F1) + np.abs(F0)) + np.abs(push)
        left = np.abs(M @ (v1 - self.v0) - h * F - push).max()
        stiff = 1e-13 * (np.abs(q1).max() / h) * np.abs(M).max()
        jitter = 1 + 1e-7 * (-1.0) ** np.arange(len(q1))
        beside = known.force(self.t, q1 * jitter, v1, self.rho)
        stiff += 1e-13 * h * np.abs(beside - F1).max() / 1e-7
        if not left <= (10 * self.scheme.newton_tol + 1e-9) * terms.max() + stiff:
            yield f"momentum at row {self.i}: {left / terms.max():.2g}"

    def laws(self) -> Iterator[str]:
        """Yield what the laws of impact and friction break."""
        at, nc, v1, scheme = self.contacts, self.contacts.nc, self.v1, self.scheme
        if not nc:
            return
        D = np.einsum("ai,ij,aj->a", at.G, np.linalg.inv(self.M), at.G)
        w = at.G[:nc] @ v1 + at.move[:nc]
        size = np.abs(np.r_[w[at.on], at.before[at.on], (D[:nc] * at.p)[at.on], at.aside]).max()
        # what a step's problem is posed in: speeds and impulses over masses
        size += D[:nc] @ np.abs(at.p)
        if len(at.G) > nc:
            slips = np.abs(at.G[nc:] @ v1 + at.move[nc:])
            size += slips[[at.on[a] for a, _ in at.of]].max(initial=0.0)
        tol = 10 * (scheme.lcp_tol + 1e-12) * size
        tol += 1e-12 * np.abs(self.run.v).max() * np.abs(at.G).sum()
        if scheme.mass_point == "iterate":
            tol += 10 * scheme.newton_tol * size
        rigid = (at.soft == 0) & at.steady
        kept = np.minimum(D[:nc] * at.p, w + at.e * at.before)
        off = np.where(at.on, kept, at.p * D[:nc])[rigid]
        if off.size and not np.abs(off).max() <= tol:
            yield f"laws at row {self.i}: {np.abs(off).max():.2g} of {size:.2g}"
        for a, tangents in at.planes.items():
            yield from self.friction(a, tangents, D[nc + tangents[0]], tol, size)

    def friction(
        self, a: int, tangents: list[int], unit: float, tol: float, size: float
    ) -> Iterator[str]:
        """Yield what the friction of a contact breaks: its cone, and against the slip if it slides."""
        at, i, nc = self.contacts, self.i, self.contacts.nc
        assert at.slip0 is not None
        force = np.array([at.friction(k) for k in tangents])
        most = at.mu_s[tangents[0]] * at.p[a]
        if not np.linalg.norm(force) <= most * (1 + 1e-7) + tol / unit:
            yield f"friction at row {i}: {np.linalg.norm(force):.3g} of {most:.3g}"
        s1 = (at.G[nc:] @ self.v1 + at.move[nc:])[tangents]
        s = s1 + at.e_t[a] * np.atleast_1d(at.slip0[a])[: len(tangents)]
        gross = np.linalg.norm(s)
        if not (at.on[a] and at.steady[a] and gross > 10 * tol + 1e-6 * size):
            return
        # it slides: friction is all that it can be, against the slip
        kin = most
        if not isinstance(self.run.system, ex.DiscSystem):
            kin = np.array(self.known.mu(*self.begin)[0], float)[tangents[0]] * at.p[a]
        want = -kin * s / gross
        if not np.abs(force - want).max() * unit <= 10 * tol + 1e-5 * size:
            yield f"friction at row {i} slides with {s}, p_t = {force}, not {want}"


def judge_steps(run: Any, rng: np.random.Generator) -> Iterator[str]:
    """Yield what a run of `MoreauJean` breaks: momentum, laws, cones, constraints of its steps."""
    known = written(run.system)
    busy = np.flatnonzero((run.p[1:] > 0).any(axis=1)) + 1
    rows = [*rng.choice(busy, min(len(busy), ROWS), replace=False),
            *rng.integers(1, len(run.t), ROWS)]  # fmt: skip
    for i in rows:
        step = Step(run, known, i)
        yield from step.momentum()
        yield from step.laws()
    if run.system.constraints and run.scheme.projection != "none":
        phi = [known.bound(run.t[i], run.q[i], run.v[i], rho_of(run))[0] for i in rows]
        if not np.abs(np.array(phi, float)).max() <= 1e-9 * (np.abs(run.q).max() + 1):
            yield f"phi = {np.abs(np.array(phi, float)).max():.2g} though positions are projected"


def disc_rows(run: Any, i: int, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Return normals, tangents and places of the contacts of discs that push in a step."""
    system, n = run.system, len(q)
    known = dict(zip(symbols_of(system), rho_of(run), strict=True))
    R = [float(r.subs(known)) for r in system.radii]
    walls = [[float(x.subs(known)) for x in wall] for wall in system.walls]
    use = np.flatnonzero((run.p[i] > 0) & (run.partner[i] > -1000)).tolist()
    G = np.zeros((2 * len(use), n))
    per = run.p.shape[1] // system.count
    for k, a in enumerate(use):
        one, other = a // per, int(run.partner[i, a])
        if other >= 0:
            d = q[3 * one : 3 * one + 2] - q[3 * other : 3 * other + 2]
            normal = d / np.linalg.norm(d)
        else:
            normal = np.array(walls[-1 - other][:2])
        along = np.array([-normal[1], normal[0]])
        G[k, 3 * one : 3 * one + 2], G[len(use) + k, 3 * one : 3 * one + 2] = normal, along
        G[len(use) + k, 3 * one + 2] = -R[one]
        if other >= 0:
            G[k, 3 * other : 3 * other + 2] = -normal
            G[len(use) + k, 3 * other : 3 * other + 2] = -along
            G[len(use) + k, 3 * other + 2] = -R[other]
    return G, np.zeros(2 * len(use)), use
