"""The motion of a constrained system by its formulas alone, for tests: M v' + phi_q' lam = F."""

from __future__ import annotations

import numpy as np
import sympy as sp
from scipy.integrate import solve_ivp


class Motion:
    """M, F, phi and their derivatives as functions of (t, q, v), and accurate trajectories."""

    def __init__(self, system, **rho):
        t, q, v = system.t, list(system.q), list(system.v)
        numbers = {sp.Symbol(k): x for k, x in zip(system.parameters, system.rho(rho), strict=True)}
        phi = sp.Matrix([c.phi for c in system.constraints]).subs(numbers)
        G = phi.jacobian(q)
        rate = G * sp.Matrix(v) + phi.diff(t)
        gamma = rate.jacobian(q) * sp.Matrix(v) + rate.diff(t)
        self.n, self.m, self.system = len(q), len(phi), system
        M, F = system.mass.subs(numbers), system.force.subs(numbers)
        V = sp.sympify(system.potential).subs(numbers)
        self.of = sp.lambdify([t, q, v], [M, F, phi, G, rate, gamma], "numpy", cse=True)
        self.potential = sp.lambdify([t, q], V, "numpy", cse=True)
        self.start = np.array([float(x.subs(numbers)) for x in (*system.start_q, *system.start_v)])

    def accelerations(self, t, q, v):
        """Return v' and lam."""
        M, F, _, G, _, gamma = (np.array(x, float) for x in self.of(t, q, v))
        saddle = np.block([[M, G.T], [G, np.zeros((self.m, self.m))]])
        solved = np.linalg.solve(saddle, np.concatenate([F.ravel(), -gamma.ravel()]))
        return solved[: self.n], solved[self.n :]

    def run(self, t_end, times=None):
        """Return t (k,), q (k, n) and v (k, n) from the start of the system."""

        def flow(t, x):
            q, v = np.split(x, 2)
            return np.concatenate([v, self.accelerations(t, q, v)[0]])

        found = solve_ivp(
            flow, (0, t_end), self.start, "DOP853", t_eval=times, rtol=1e-11, atol=1e-12
        )
        assert found.success
        return found.t, *np.split(found.y.T, 2, axis=1)

    def energy(self, t, q, v):
        """Return T + V of rows."""
        kinetic = [v_ @ np.array(self.of(*x, v_)[0], float) @ v_ / 2
                   for *x, v_ in zip(t, q, v, strict=True)]  # fmt: skip
        return np.array(kinetic) + [self.potential(*x) for x in zip(t, q, strict=True)]
