"""Slow and obvious twins of the kernels: NumPy, nothing clever, written from the equations.

The recursions are those of the reference data of Siconos (``data/siconos/README.md``).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

DATA = Path(__file__).parent / "data" / "siconos"


def natural_residual(M: np.ndarray, q: np.ndarray, z: np.ndarray) -> float:
    """Return max |min(z, M z + q)| with z in the unit of q, as z_i M_ii (z_i for M_ii = 0)."""
    diagonal = np.where(np.diag(M) > 0, np.diag(M), 1.0)
    return float(np.abs(np.minimum(diagonal * z, M @ z + q)).max(initial=0.0))


def lcp_solutions(M: np.ndarray, q: np.ndarray, tol: float = 1e-9) -> Iterator[np.ndarray]:
    """Yield the solution of each of the 2^n complementary bases that is feasible."""
    n = len(q)
    size = np.abs(q).max(initial=0.0)
    for pattern in itertools.product((False, True), repeat=n):
        inside = np.flatnonzero(pattern)
        z = np.zeros(n)
        if inside.size:
            try:
                z[inside] = np.linalg.solve(M[np.ix_(inside, inside)], -q[inside])
            except np.linalg.LinAlgError:
                continue
        if natural_residual(M, q, z) <= tol * size:
            yield z


def lcp(M: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return the first solution that enumeration finds."""
    return next(lcp_solutions(M, q))


def coulomb(D: np.ndarray, q: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """Return the impulses of m normals and, behind them, their m tangents.

    Every contact is tried open, sticking and sliding each way; the first set that keeps to
    Coulomb's law is the answer.
    """
    m, unit = len(mu), np.eye(len(q))
    for pattern in itertools.product(("open", "sticks", 1, -1), repeat=m):
        E, equations = np.zeros((len(q), 0)), []
        for k, what in enumerate(pattern):
            if what == "open":
                continue
            pulls = 0 if what == "sticks" else what * mu[k]
            E = np.column_stack([E, unit[k] - pulls * unit[m + k]])
            equations.append(k)
            if what == "sticks":
                E = np.column_stack([E, unit[m + k]])
                equations.append(m + k)
        try:
            P = E @ np.linalg.solve((D @ E)[equations], -q[equations])
        except np.linalg.LinAlgError:
            continue
        w, scale, size = D @ P + q, 1e-11 * np.abs(P).max(), 1e-11 * np.abs(q).max()
        slides = [k for k, what in enumerate(pattern) if what in (1, -1)]
        if (
            (P[:m] >= -scale).all()
            and (w[:m] >= -size).all()
            and (np.abs(P[m:]) <= mu * P[:m] + scale).all()
            and all(pattern[k] * w[m + k] >= -size for k in slides)
        ):
            return P
    raise ValueError("no set of contacts keeps to Coulomb's law")


def read_lcp(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return M and q of one of the LCPs of Siconos."""
    words = (DATA / "lcp" / f"lcp_{name}.dat").read_text().split()
    n = int(words[0])
    numbers = np.array(words[6 : 6 + n * n + n], float)
    return numbers[: n * n].reshape(n, n).T.copy(), numbers[n * n :].copy()


@dataclass
class Equations:
    """M(q) v' = F(t, q, v) + G' p with K = -F_q, C = -F_v, as plain functions."""

    mass: Callable
    force: Callable
    K: Callable
    C: Callable
    gap: Callable
    G: Callable
    gap_t: Callable
    e: np.ndarray
    tangents: Callable | None = None  # of all contacts, by t and q
    mu: np.ndarray | None = None

    def impulses(self, t, q, on, W, v_free, bounce) -> tuple[np.ndarray, np.ndarray]:
        """Return the directions of the active contacts and their impulses."""
        G = self.G(t, q)[on]
        w = G @ v_free + self.gap_t(t, q)[on] + bounce
        if self.tangents is None:
            return G, lcp(G @ np.linalg.solve(W, G.T), w)
        G = np.vstack([G, self.tangents(t, q)[on]])
        w = np.concatenate([w, G[on.size :] @ v_free])
        return G, coulomb(G @ np.linalg.solve(W, G.T), w, self.mu[on])


def steps(h: float, t_end: float) -> Iterator[tuple[float, float]]:
    """Yield (end of the step, its length); the last one may be shorter."""
    n = int(np.ceil(t_end / h - 1e-9))
    for i in range(n):
        last = i == n - 1
        yield (t_end if last else (i + 1) * h), (t_end - i * h if last else h)


def moreau_jean(
    model: Equations,
    q0: np.ndarray,
    v0: np.ndarray,
    h: float,
    t_end: float,
    *,
    theta: float = 0.5,
    forecast: float = 0.5,
    mass_point: str = "iterate",
    gamma: float = 0.5,
    tol: float = 1e-13,
    cap: int = 50,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return t, q, v, p of the nonlinear recursion; at most `cap` Newton iterations a step."""
    t, q, v = [0.0], [np.array(q0, float)], [np.array(v0, float)]
    p = [np.zeros(len(model.e))]
    for t1, dt in steps(h, t_end):
        ti, qi, vi = t[-1], q[-1], v[-1]
        y_dot = model.G(ti, qi) @ vi + model.gap_t(ti, qi)
        reach = model.gap(ti, qi) + forecast * dt * y_dot
        on = np.flatnonzero(reach <= 1e-13)  # m: what round-off opens at rest is closed
        vk, qk, star = vi.copy(), qi + dt * vi, qi + gamma * dt * vi
        P, G, p_on = np.zeros(len(model.e)), np.zeros((0, len(vi))), np.zeros(0)
        F0 = model.force(ti, qi, vi)
        for _ in range(cap):
            point = star if mass_point == "q_star" else qk
            M = model.mass(point)
            W = M + dt * theta * model.C(t1, qk, vk) + (dt * theta) ** 2 * model.K(t1, qk, vk)
            R = M @ (vk - vi) - dt * theta * model.force(t1, qk, vk) - dt * (1 - theta) * F0
            v_free = vk - np.linalg.solve(W, R)
            if on.size:
                G, p_on = model.impulses(t1, point, on, W, v_free, model.e[on] * y_dot[on])
            P[on] = p_on[: on.size]
            vk = v_free + np.linalg.solve(W, G.T @ p_on)
            qk = qi + dt * (theta * vk + (1 - theta) * vi)
            point = star if mass_point == "q_star" else qk
            M, taken, G = model.mass(point), G, model.G(t1, point)[on]
            if model.tangents is not None:
                G = np.vstack([G, model.tangents(t1, point)[on]])
            R = M @ (vk - vi) - dt * theta * model.force(t1, qk, vk) - dt * (1 - theta) * F0
            turned = (
                np.abs((G - taken) @ vk).max() if on.size else 0.0
            )  # the laws hold with `taken`
            if np.linalg.norm(R - G.T @ p_on) <= tol and turned <= tol:
                break
        for record, value in ((t, t1), (q, qk), (v, vk), (p, P)):
            record.append(value)
    return np.array(t), np.array(q), np.array(v), np.array(p)


def linear_moreau_jean(
    M: np.ndarray,
    C: np.ndarray,
    K: np.ndarray,
    f: Callable[[float], np.ndarray],
    contacts: tuple[np.ndarray, np.ndarray, np.ndarray],
    q0: np.ndarray,
    v0: np.ndarray,
    h: float,
    t_end: float,
    theta: float = 0.5,
    forecast: float = 0.5,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return t, q, v, p of the linear recursion, one linear solve a step.

    `contacts` : H, b, e, of gaps H q + b and impacts H v+ = -e H v-
    """
    H, b, e = contacts
    t, q, v, p = [0.0], [np.array(q0, float)], [np.array(v0, float)], [np.zeros(len(b))]
    for t1, dt in steps(h, t_end):
        ti, qi, vi = t[-1], q[-1], v[-1]
        W = M + dt * theta * C + dt**2 * theta**2 * K
        load = dt * (theta * f(t1) + (1 - theta) * f(ti))
        v_free = vi + np.linalg.solve(W, -(dt * C + dt**2 * theta * K) @ vi - dt * K @ qi + load)
        on = np.flatnonzero(H @ qi + b + forecast * dt * (H @ vi) <= 0)
        P = np.zeros(len(b))
        if on.size:
            G = H[on]
            P[on] = lcp(G @ np.linalg.solve(W, G.T), G @ v_free + e[on] * (G @ vi))
        v1 = v_free + np.linalg.solve(W, H.T @ P)
        for record, value in (
            (t, t1), (q, qi + dt * (theta * v1 + (1 - theta) * vi)), (v, v1), (p, P),
        ):  # fmt: skip
            record.append(value)
    return np.array(t), np.array(q), np.array(v), np.array(p)
