"""Mechanisms in minimal coordinates theta, with sensitivities, for tests.

Natural coordinates are q = X(t, theta, rho). Of the mechanism only M, F, phi and the gap are taken,
as formulas of q; with J = X_theta, q' = J w + X_t and q'' = J a + c,

    J' M J a = J' (F - M c + gap_q' lam),    lam_phi from phi_q' lam_phi = F + gap_q' lam - M q''.

Sensitivities are found without any rule for saltation: the flow is differentiated by complex steps,
and at an event the state on the moving time is carried, S + f dtau, through the reset and back.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import sympy as sp
from scipy.integrate import solve_ivp

STEP = 1e-30


def compiled(arguments, formulas):
    """Return a function of arrays whose last axis is along columns."""
    shapes = [sp.Matrix(f).shape for f in formulas]
    flat = [
        e.replace(sp.atan2, lambda y, x: sp.atan(y / x)) for f in formulas for e in sp.Matrix(f)
    ]
    call = sp.lambdify(arguments, flat, "numpy", cse=True)

    def at(*given):
        many = given[-1].shape[-1]
        rows = np.array([np.broadcast_to(x, many) for x in call(*given)])
        found, k = [], 0
        for shape in shapes:
            size = shape[0] * shape[1]
            found.append(rows[k : k + size].T.reshape(many, *shape))
            k += size
        return found

    return at


@lru_cache
def kinematics(t, theta, w, places):
    """Return the names of the parameters of places, and X, J, X' and c as functions of them too."""
    X = sp.Matrix(places)
    J = X.jacobian(theta)
    speed = J * sp.Matrix(w) + X.diff(t)
    c = speed.jacobian(theta) * sp.Matrix(w) + speed.diff(t)
    rho = sorted(X.free_symbols - {t, *theta}, key=str)
    return [s.name for s in rho], compiled([t, theta, w, rho], [X, J, speed, c])


class Minimal:
    """A mechanism with at most one contact.

    Parameters
    ----------
    system : MechanicalSystem
        Gives M, F, phi and the gap.
    theta : symbols
    places : formulas of theta, t and parameters
        The natural coordinates.
    law : formulas of the rates of theta, or None
        Rates behind an impact, in `rates`; by default Newton's law with e.
    cost : formula of q and v
    """

    def __init__(self, system, theta, places, e=0, law=None, cost=0, rough=None):
        t, q, v = system.t, list(system.q), list(system.v)
        self.names = list(system.parameters)
        rho = [sp.Symbol(name) for name in self.names]
        self.rates = w = [sp.Symbol(f"{x}_dot") for x in theta]
        self.n, self.d = len(q), len(theta)
        needs, moved = kinematics(t, tuple(theta), tuple(w), tuple(places))
        given = [self.names.index(name) for name in needs]
        self.places = lambda t, th, w, rho: moved(t, th, w, rho[given])
        G = sp.Matrix(
            [[k.phi.diff(x) for x in q] for k in system.constraints] or sp.zeros(0, self.n)
        )
        gap = sp.Matrix([system.contacts[0].gap if system.contacts else 1])
        g_q = gap.jacobian(q)
        rate = g_q * sp.Matrix(v) + gap.diff(t)
        turn = rate.jacobian(q) * sp.Matrix(v) + rate.diff(t)
        self.forces = compiled(
            [t, q, v, rho],
            [system.mass, system.force, G, gap, g_q, rate, turn,
             sp.Matrix([sp.sympify(cost)])],
        )  # fmt: skip
        self.e = compiled([t, rho], [sp.Matrix([sp.sympify(e)])])
        self.law = None if law is None else compiled([t, theta, w, rho], [sp.Matrix(law)])

    def at(self, t, x, rho, closed):
        """Return what a column of states (2 d, k) at (k,) times has: a dictionary of (k, ...)."""
        th, w = x[: self.d], x[self.d : 2 * self.d]
        X, J, speed, c = self.places(t, list(th), list(w), rho)
        q, v = X[:, :, 0], speed[:, :, 0]
        M, F, G, gap, g_q, rate, turn, cost = self.forces(t, list(q.T), list(v.T), rho)
        JT = J.transpose(0, 2, 1)
        A, b = JT @ M @ J, JT @ (F - M @ c)
        push = np.zeros((len(q), 1, 1), x.dtype)
        a = np.linalg.solve(A, b)
        if closed:
            n = g_q @ J
            away = np.linalg.solve(A, n.transpose(0, 2, 1))
            push = -(n @ a + g_q @ c + turn) / (n @ away)
            a = a + away @ push
        left = F + g_q.transpose(0, 2, 1) @ push - M @ (J @ a + c)
        lam = np.linalg.solve(G @ G.transpose(0, 2, 1), G @ left) if G.shape[1] else left[:, :0]
        return {"a": a[:, :, 0].T, "q": q, "v": v, "lam": push[:, 0], "lam_phi": lam[:, :, 0],
                "gap": gap[:, 0, 0], "rate": rate[:, 0, 0], "cost": cost[:, 0, 0], "A": A,
                "n": g_q @ J}  # fmt: skip

    def lifted(self, t, y, dt=0.0):
        """Return times, states and parameters of columns with complex steps."""
        p = y.shape[1] - 1
        x = y[:, :1] + 1j * STEP * y[:, 1:]
        rho = np.repeat(self.rho[:, None], p, 1) + 1j * STEP * self.along
        return t + 1j * STEP * dt * np.ones(p), x, rho

    def whole(self, t, y, closed, name, dt=0.0):
        """Return a quantity with its derivatives behind it."""
        found = self.at(*self.lifted(t, y, dt), closed)[name]
        return found[0].real, found.imag / STEP

    def flow(self, t, y, closed):
        """Return y' of the state (theta, w, z) and its sensitivities."""
        y = y.reshape(2 * self.d + 1, -1)
        found = self.at(*self.lifted(t, y), closed)
        dx = np.vstack([y[self.d : 2 * self.d, 1:] * 1j * STEP + y[self.d : 2 * self.d, :1],
                        found["a"], found["cost"][None]])  # fmt: skip
        return np.hstack([dx[:, :1].real, dx.imag / STEP]).ravel()

    def leg(self, t0, t1, y, closed, guard=None):
        """Integrate; return t and y, and the last step before the guard where that stops it."""
        shape = y.shape
        watch = []
        if guard is not None:

            def zero(t, y, *_):
                return self.guard(t, y.reshape(shape), guard)

            zero.terminal, zero.direction = True, -1
            watch = [zero]
        with np.errstate(all="ignore"):
            run = solve_ivp(self.flow, (t0, t1), y.ravel(), "DOP853", args=(closed,), events=watch,
                            rtol=self.rtol, atol=self.rtol / 10)  # fmt: skip
        assert run.success, run.message
        before = (run.t[-2], run.y[:, -2].reshape(shape)) if run.status == 1 else None
        return run.t[-1], run.y[:, -1].reshape(shape), before

    def guard(self, t, y, name):
        return self.whole(t, y[:, :2] if y.shape[1] > 1 else y, name == "lam", name)[0].item()

    def slope(self, t, y, name, closed):
        """Return the guard and its derivatives: by the parameters at this time, and by time."""
        r, r_rho = self.whole(t, y, closed, name)
        dy = self.flow(t, y.ravel(), closed).reshape(y.shape)
        moved = np.hstack([y[:, :1], dy[:, :1]])
        one = self.along, self.along * 0
        self.along = one[1][:, :1]
        r_t = self.whole(t, moved, closed, name, 1.0)[1]
        self.along = one[0]
        return r.item(), r_rho.reshape(-1), r_t.item(), dy

    def run(self, start, times, wrt=(), rho=None, rtol=1e-13, closed=False, ordinary=None):
        """March through `times`; `start(rho)` returns theta and w. Keep rows and events.

        `wrt` are names of parameters. Each event is (t, dt_drho, y-, y+).
        """
        values = np.array(rho, float)
        self.rho, self.rtol = values, rtol
        self.along = np.array([[float(name == w) for w in wrt] for name in self.names])
        p = len(wrt)
        first = start(np.repeat(values[:, None], p, 1) + 1j * STEP * self.along)
        y = np.zeros((2 * self.d + 1, p + 1))
        y[:-1, 0], y[:-1, 1:] = first[:, 0].real, first.imag / STEP
        rows, events, t = [self.row(0.0, y, closed)], [], 0.0
        for end in times[1:]:
            while True:
                name = "lam" if closed else "gap"
                t, y, before = self.leg(t, end, y, closed, name)
                if before is None:
                    break
                t, y, _ = self.leg(before[0], t, before[1], closed)
                for _ in range(3):
                    r, r_rho, r_t, dy = self.slope(t, y, name, closed)
                    t, y = t - r / r_t, y - dy * r / r_t
                r, r_rho, r_t, dy = self.slope(t, y, name, closed)
                tau = -r_rho / r_t
                before, along = y.copy(), y.copy()
                along[:, 1:] += dy[:, :1] * tau
                after = along.copy()
                now = closed
                if name == "gap":
                    w, w_rho, now = self.impact(t, along, tau)
                    after[self.d : 2 * self.d, 0] = w
                    after[self.d : 2 * self.d, 1:] = w_rho
                    now = now and self.whole(t, after, True, "lam")[0].item() > 0
                else:
                    now = False
                closed = now
                back = self.flow(t, after.ravel(), closed).reshape(y.shape)
                y = after
                y[:, 1:] -= back[:, :1] * tau
                events.append((t, tau, before, y.copy(), closed))
                if not closed:  # off the surface by more than round-off
                    t, y, _ = self.leg(t, t + 1e-4, y, closed)
                assert len(events) < 60, "impacts accumulate"
            rows.append(self.row(t, y, closed))
        return rows, events

    def impact(self, t, y, tau):
        times, x, rho = self.lifted(t, y, tau)
        w = x[self.d : 2 * self.d]
        if self.law is not None:
            new = self.law(times, list(x[: self.d]), list(w), rho)[0][:, :, 0].T
        else:
            found, e = self.at(times, x, rho, False), self.e(times, rho)[0]
            n = found["n"]
            away = np.linalg.solve(found["A"], n.transpose(0, 2, 1))
            push = -(1 + e[:, 0, 0]) * found["rate"] / (n @ away)[:, 0, 0]
            new = w + (away[:, :, 0] * push[:, None]).T
        stays = self.law is None and abs(self.e(times.real, rho.real)[0][0, 0, 0]) == 0
        return new[:, 0].real, new.imag / STEP, stays

    def row(self, t, y, closed):
        """Return q, v, lam, lam_phi, z and their sensitivities at a time."""
        found = self.at(*self.lifted(t, y), closed)
        both = {k: (found[k][0].real, found[k].imag.T / STEP)
                for k in ("q", "v", "lam", "lam_phi")}  # fmt: skip
        return both | {"z": (y[-1, 0], y[-1, 1:]), "t": t}
