"""Runs of `EulerMoreau`: each step's equation and the laws between y and lambda, by NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import sympy as sp

from examiner.written import kept, plain, rho_of, symbols_of

ROWS = 40


class Relations:
    """M, f, y, r and the bounds of the laws."""

    def __init__(self, system: Any) -> None:
        rho = symbols_of(system)
        args = [system.t, list(system.x), list(system.lam), rho]
        self.mass = plain([rho], [list(row) for row in system.mass])
        self.f, self.y, self.r = (plain(args, list(p)) for p in (system.f, system.y, system.r))
        oo = sp.oo
        bounds = {"complementarity": (0, oo), "equality": (-oo, oo)}
        low, high = zip(*(bounds.get(law.kind, (law.lb, law.ub)) for law in system.laws),
                        strict=True) if system.laws else ((), ())  # fmt: skip
        self.bounds = plain([rho], [list(low), list(high)])


written = kept(Relations)


def judge_first_order(run: Any, rng: np.random.Generator) -> Iterator[str]:
    """Yield what a run of a `FirstOrderSystem` breaks; of a rewritten one `judge_rewritten`."""
    known, rho, scheme = written(run.system), rho_of(run), run.scheme
    M = np.array(known.mass(rho), float)
    low, high = (np.array(a, float) for a in known.bounds(rho))
    on_r = scheme.gamma_on == "r"
    a, s = (scheme.gamma, 1.0) if on_r else (1.0, scheme.gamma)
    many = min(ROWS, len(run.t) - 1)
    changed = np.flatnonzero((np.diff(run.side, axis=0) != 0).any(axis=1)) + 1
    rows = [*rng.choice(changed, min(len(changed), many), replace=False),
            *rng.integers(1, len(run.t), many)]  # fmt: skip
    for i in rows:
        h, t0, t1 = run.t[i] - run.t[i - 1], run.t[i - 1], run.t[i]
        x0, x1, lam0, lam1 = run.x[i - 1], run.x[i], run.lam[i - 1], run.lam[i]
        u, at = s * x1 + (1 - s) * x0, t0 + s * h

        def value(g: Any, *place: Any) -> np.ndarray:
            return np.array(g(*place, rho), float)

        f0, f1 = value(known.f, t0, x0, lam0), value(known.f, t1, x1, lam1)
        r1, r0 = value(known.r, at, u, lam1), value(known.r, t0, x0, lam0)
        terms = [M @ (x1 - x0), -h * scheme.theta * f1, -h * (1 - scheme.theta) * f0,
                 -h * a * r1, -h * (1 - a) * r0]  # fmt: skip
        left = np.abs(sum(terms)).max()
        size = sum(np.abs(term) for term in terms).max() + (np.abs(M) @ np.abs(x1)).max()
        size += 1e-5 * np.abs(run.x).max()  # at 1e-11 of it states are round-off
        jitter = 1 + 1e-7 * (-1.0) ** np.arange(len(x1))
        noise = h * np.abs(value(known.f, t1, x1 * jitter, lam1) - f1).max() / 1e-7
        noise += h * np.abs(value(known.r, at, u * jitter, lam1) - r1).max() / 1e-7
        if not left <= (10 * scheme.newton_tol + 1e-11) * size + 1e-12 * noise:
            yield f"step to t = {t1:.6g}: {left / size:.2g} of its terms"
        if not run.lam.shape[1]:
            continue
        y = value(known.y, at, u, lam1)
        y_noise = np.abs(value(known.y, at, u * jitter, lam1) - y) / 1e-7
        pushed = u + h * a * s * np.linalg.solve(M, r1)
        unit = np.abs(run.y).max(axis=0) + np.abs(value(known.y, at, pushed, lam1) - y) + 1e-30
        tol = 10 * (scheme.lcp_tol + 1e-12) * unit + 1e-12 * y_noise
        span = np.abs(run.lam).max(axis=0) + np.where(np.isfinite(high), np.abs(high), 0)
        lam_tol = 10 * (scheme.lcp_tol + 1e-12) * (span + 1e-300)
        inside = (lam1 >= low - lam_tol) & (lam1 <= high + lam_tol)
        at_low, at_high = lam1 <= low + lam_tol, lam1 >= high - lam_tol
        lawful = inside & ((np.abs(y) <= tol) | (at_low & (y >= -tol)) | (at_high & (y <= tol)))
        if not lawful.all():
            k = int(np.argmin(lawful))
            yield (
                f"law of {run.laws[k].name} at t = {t1:.6g}: y = {y[k]:.2g} of {unit[k]:.2g}, "
                f"lam = {lam1[k]:.6g} in [{low[k]:g}, {high[k]:g}]"
            )


def judge_rewritten(run: Any, rng: np.random.Generator) -> Iterator[str]:
    """Yield what a run of a system with step functions breaks: x' = f(alpha), alpha in step(c)."""
    from examiner.switched import regions_of
    from examiner.switched import written as step_form

    system, scheme, rho = run.system, run.scheme, rho_of(run)
    known, stewart = step_form(system), scheme.representation == "stewart"
    on_r = scheme.gamma_on == "r"
    a, s = (scheme.gamma, 1.0) if on_r else (1.0, scheme.gamma)
    half = np.full(known.count, 0.5)
    many = min(ROWS, len(run.t) - 1)
    changed = np.flatnonzero((np.diff(run.side, axis=0) != 0).any(axis=1)) + 1
    rows = [*rng.choice(changed, min(len(changed), many), replace=False),
            *rng.integers(1, len(run.t), many)]  # fmt: skip
    rows = [i for i in rows if i > 1]  # the first row has no multipliers
    chosen = run.theta if stewart else run.alpha
    sizes = np.zeros(known.count)
    for i in rows:
        c = np.array(known.c(run.t[i], run.x[i], half, rho)[0], float)
        sizes = np.maximum(sizes, np.abs(c))

    def field(t: float, x: np.ndarray, k: int) -> np.ndarray:
        if stewart:
            return chosen[k] @ np.array(regions_of(system).fields(t, x, rho), float)
        return np.array(known.f(t, x, chosen[k], rho), float)

    def mean(t: float, x: np.ndarray) -> np.ndarray:
        if not stewart:
            return np.array(known.f(t, x, half, rho), float)
        fields, at, found = np.array(regions_of(system).fields(t, x, rho), float), 0, 0.0
        for part in system.subsystems:
            cells = [r for r in part.cells if r >= 0]
            found = found + fields[at : at + len(part.regions)][cells].mean(axis=0)
            at += len(part.regions)
        return np.asarray(found)

    for i in rows:
        t0, t1, x0, x1 = run.t[i - 1], run.t[i], run.x[i - 1], run.x[i]
        h = t1 - t0
        u, at = s * x1 + (1 - s) * x0, t0 + s * h
        c, c_x, _ = (np.array(p, float) for p in known.c(at, u, half, rho))
        rate = np.abs(run.rates).max()
        unit = sizes + h * rate * np.abs(c_x).sum(axis=1) + 1e-300
        tol = 100 * (scheme.lcp_tol + 1e-12) * unit + 1e-10 * np.abs(c_x).sum(axis=1) * np.abs(
            u).max()  # fmt: skip
        if stewart:
            away = regions_of(system).away(np.where(np.abs(c) <= tol, 0.0, c / unit))
            off = chosen[i] * away
            if not off.max() <= 1e-6:
                yield f"theta = {chosen[i]} at t = {t1:.6g} where c = {c}"
        else:
            al = chosen[i]
            bad = ((np.abs(c) > tol) & ((c > 0) & (al < 1 - 1e-8) | (c < 0) & (al > 1e-8))) | (
                al < -1e-9) | (al > 1 + 1e-9)  # fmt: skip
            if bad.any():
                yield f"alpha = {al} at t = {t1:.6g} where c = {c}, allowed {tol}"
        smooth = h * (scheme.theta * mean(t1, x1) + (1 - scheme.theta) * mean(t0, x0))
        now, before = field(at, u, i) - mean(at, u), field(t0, x0, i - 1) - mean(t0, x0)
        left = np.abs(x1 - x0 - smooth - h * (a * now + (1 - a) * before)).max()
        jitter = 1 + 1e-7 * (-1.0) ** np.arange(len(x1))
        noise = h * np.abs(field(at, u * jitter, i) - field(at, u, i)).max() / 1e-7
        size = np.abs(x1).max() + np.abs(x0).max() + np.abs(smooth).max() + h * rate
        size += 1e-5 * np.abs(run.x).max()  # at 1e-11 of it states are round-off
        if not left <= (10 * scheme.newton_tol + 1e-11) * size + 1e-12 * noise:
            yield f"step to t = {t1:.6g}: {left / size:.2g} of its terms"
