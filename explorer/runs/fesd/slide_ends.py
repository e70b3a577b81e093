"""Ends of slides in a run of `FESD`, and their derivatives (see `explorer.kernels.fesd.slide_end`).

With w from dc/dt = 0 a slide follows x' = F(t, x, rho), and ends where phi(t, x, rho), a multiplier
less its bound, is zero: dt = -(phi_x S + phi_rho) / (phi_t + phi_x F), with S the derivative of the
state at a fixed time. Differentiated is the very step that was made.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from explorer.results.event import Jump
from explorer.runs.fesd.run import Run

__all__ = ["slide_end"]

_TURNS = 20


class _Point(NamedTuple):
    """The slide at a state: (x', z') and its derivatives, multiplier's value and derivatives."""

    rate: np.ndarray
    by_x: np.ndarray
    by_rho: np.ndarray
    phi_t: float
    phi_x: np.ndarray
    phi_rho: np.ndarray


class _Slide:
    """x' = F(t, x, rho) of one phase."""

    def __init__(self, run: Run, phase: int) -> None:
        self.compiled, self.inp = run.compiled, run.compiled.input(run.rho)
        signs, sel = run.phases.signs[phase], run.compiled.n_sel
        self.on = np.flatnonzero(signs == 0)
        e = int(run.phases.switches["element"][phase + 1]) - 1
        self.end = np.einsum("j,jc->c", run.method.end, run.mult[e])
        self.base, self.B = np.zeros(sel), np.zeros((sel, len(self.on)))
        if not run.compiled.stewart:
            self.base[signs > 0] = 1.0
            self.B[self.on, range(len(self.on))] = 1.0
        else:
            self._mix(run, signs, int(run.phases.switches["choice"][phase]))
        self.w = np.linalg.lstsq(self.B, self.end - self.base, rcond=None)[0]

    def _mix(self, run: Run, signs: np.ndarray, choice: int) -> None:
        """Set up theta = base + B w as the kernel does."""
        from explorer.kernels.fesd.continuations import arranged

        element = run.workspace().element
        element.mode.sign[:] = signs
        arranged(element.problem, element.mode, choice)
        self.base = element.mode.base
        self.B = np.ascontiguousarray(element.mode.B[:, : len(self.on)])

    def at(self, t: float, x: np.ndarray) -> _Point:
        """Return the slide at a state, from its multipliers on."""
        c, n, sel, m = self.compiled, self.compiled.n_x, self.compiled.n_sel, len(self.on)
        nc, p = c.n_c, c.n_rho
        self.inp[0], self.inp[1 : 1 + n] = t, x
        for _ in range(_TURNS):
            self.inp[1 + n : 1 + n + sel] = self.base + self.B @ self.w
            R = c.surface_rates(self.inp)
            parts = np.split(R, np.cumsum([nc, nc, nc * n, nc * sel]))
            value, by_t = parts[0][self.on], parts[1][self.on]
            by_x, by_sel, by_rho = (
                part.reshape(nc, k)[self.on] for part, k in zip(parts[2:], (n, sel, p), strict=True)
            )
            A = by_sel @ self.B
            step = np.linalg.solve(A, -value)
            if np.abs(step).max(initial=0) <= 1e-15:
                break
            self.w = self.w + step
        moved = -np.linalg.solve(A, np.column_stack([by_t, by_x, by_rho]))
        moved = self.B @ moved if m else np.zeros((sel, 1 + n + p))
        out = c.tangents[0](self.inp)
        f, f_x, f_sel, f_t, f_rho = np.split(out, np.cumsum([n, n * n, n * sel, n]))
        rows = [
            np.column_stack([f_t, f_x.reshape(n, n), f_rho.reshape(n, p)])
            + f_sel.reshape(n, sel) @ moved
        ]
        rate = np.append(f, 0.0)
        if c.cost is None:
            rows.append(np.zeros((1, 1 + n + p)))
        else:
            g = c.cost(self.inp)
            rate[n] = g[0]
            own, g_sel = np.concatenate([g[1 : 2 + n], g[2 + n + sel :]]), g[2 + n : 2 + n + sel]
            rows.append((own + g_sel @ moved)[None])
        whole = np.vstack(rows)
        phi = moved[self.which]
        return _Point(
            rate, whole[:, 1 : 1 + n], whole[:, 1 + n :], phi[0], phi[1 : 1 + n], phi[1 + n :]
        )

    which: int = 0


def slide_end(run: Run, k: int, d: np.ndarray, dt: np.ndarray, z: float, wrt: np.ndarray) -> Jump:
    """Return what differentiates switch `k`, from 0, the end of a slide.

    Parameters
    ----------
    run : Run
    d, dt : (n_x + 1, p), (p,)
        Total derivatives of (x, z) and t at the end of the last element of the slide.
    z : float
        Running cost there.
    wrt : (p,) places of the parameters in rho; -1 for a start value
    """
    n, p = run.compiled.n_x, len(dt)
    slide = _Slide(run, k)
    slide.which = int(run.phases.switches["which"][k + 1])
    e = int(run.phases.switches["element"][k + 1]) - 1
    t, tau = float(run.times[e].sum()), float(run.taus[k + 1])
    y = np.append(run.states[e + 1], z)
    first = slide.at(t, y[:n])
    S = d - np.outer(first.rate, dt)

    def slope(point: _Point, S: np.ndarray) -> np.ndarray:
        by_rho = np.where(wrt >= 0, point.by_rho[:, wrt], 0.0) if point.by_rho.size else 0.0
        return np.asarray(point.by_x @ S[:n] + by_rho)

    points, rates = [first], [slope(first, S)]
    for share in (0.5, 0.5, 1.0):
        points.append(slide.at(t + share * tau, (y + share * tau * points[-1].rate)[:n]))
        rates.append(slope(points[-1], S + share * tau * rates[-1]))
    weights = np.array([1.0, 2.0, 2.0, 1.0]) * tau / 6.0
    y = y + sum(a * point.rate for a, point in zip(weights, points, strict=True))
    S = S + sum(a * rate for a, rate in zip(weights, rates, strict=True))
    end = slide.at(t + tau, y[:n])
    D = end.phi_t + end.phi_x @ end.rate[:n]
    by_rho = np.where(wrt >= 0, end.phi_rho[wrt], 0.0) if len(end.phi_rho) else np.zeros(p)
    shift = -(end.phi_x @ S[:n] + by_rho) / D
    after = np.append(run.phases.behind[k + 1], run.spent(k + 1))
    return Jump(
        t + tau,
        y,
        end.rate,
        after,
        S,
        S + np.outer(end.rate - after, shift),
        shift,
        float(D),
        end.phi_x,
        end.phi_rho,
        np.eye(n),
        np.zeros(n),
        np.zeros((n, run.compiled.n_rho)),
    )
