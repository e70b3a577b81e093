"""A scheme with contacts whose march is Python, as "With contacts" in CONTRIBUTING.md describes it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from test_models import conforms

import explorer as ex
from explorer.codes import SUCCESS
from explorer.compiled.held import left_of_breaks
from explorer.kernels.complementarity.from_python import solve_lcp
from explorer.kernels.complementarity.structures import Lcp, LcpOptions, lcp_workspace
from explorer.kernels.model.inputs import NEAR, ROUND
from explorer.schemes.bases.capturing import LCP, Capturing
from explorer.verification.steps import contact_problem

MODELS = ("bouncing_ball", "impact_oscillator", "pendulum_wall", "newtons_cradle")


@dataclass(frozen=True, repr=False)
class Midpoint(Capturing):
    """Moreau's midpoint rule: G, F and the closed contacts are those half a step on."""

    def kernel(self, compiled, t_end, inp, matrices, e, record):
        march = March(self, compiled, t_end, inp, matrices[0], e, record)
        return march, lambda: march.row, {}

    def certify(self, solution):
        return contact_problem(solution, self.lcp_tol)


class March:
    """The steps; `row` is the last row that holds."""

    def __init__(self, scheme, compiled, t_end, inp, M, e, record):
        self.compiled, self.inp, self.M, self.e, self.record = compiled, inp, M, e, record
        self.row, self.far, self.reach, self.h = 0, 0.0, 0.0, scheme.h
        record["t"][:] = np.minimum(scheme.h * np.arange(len(record["t"])), t_end)
        record["t"][-1] = t_end
        self.options = LcpOptions(LCP.index(scheme.lcp), scheme.lcp_tol, scheme.lcp_max)
        self.work = lcp_workspace(compiled.nc, compiled.nc)

    def __call__(self):
        with left_of_breaks(self.compiled.system):
            self.look(0)
            for i in range(len(self.record["t"]) - 1):
                code = self.step(i)
                if code != SUCCESS:
                    return code
                self.look(i + 1)
                self.row = i + 1
        return SUCCESS

    def gaps(self, t, q):
        """Return gap, gap_t and G."""
        n, nc, compiled = self.compiled.n, self.compiled.nc, self.compiled
        self.inp[0], self.inp[1 : 1 + n] = t, q
        out, G = compiled.bundles["gap"](self.inp), np.zeros((nc, n))
        ptr = compiled.gap_ptr[: nc + 1]
        for a in range(nc):
            G[a, compiled.gap_col[ptr[a] : ptr[a + 1]]] = out[2 * nc :][ptr[a] : ptr[a + 1]]
        return out[:nc].copy(), out[nc : 2 * nc].copy(), G

    def look(self, row):
        """Write gaps and their velocities."""
        t, q, v, gap, gap_dot = (self.record[k][row] for k in ("t", "q", "v", "gap", "gap_dot"))
        gap[:], gap_t, G = self.gaps(t, q)
        gap_dot[:] = G @ v + gap_t
        self.far = max(self.far, np.abs(G * q).max())
        self.reach = max(self.reach, self.h * np.abs(gap_dot).max())

    def step(self, i):
        """Write t, q, v, and what the contacts do, of row i + 1."""
        t, q, v, p, doing = (self.record[k] for k in ("t", "q", "v", "p", "active"))
        n, h = self.compiled.n, t[i + 1] - t[i]
        middle = q[i] + h / 2 * v[i]
        gap, _, G = self.gaps((t[i] + t[i + 1]) / 2, middle)
        gap_t = self.gaps(t[i + 1], middle)[1]
        self.inp[0], self.inp[1 + n : 1 + 2 * n] = (t[i] + t[i + 1]) / 2, v[i]
        M = self.M if self.compiled.linear_motion else self.compiled.matrices(self.inp)[0]
        v1 = v[i] + h * np.linalg.solve(M, self.compiled.forces(self.inp))
        act = np.flatnonzero(gap <= ROUND * self.far + NEAR * self.reach)
        if len(act):
            Y, P = np.linalg.solve(M, G.T), np.empty(len(act))
            w = (G @ v1 + gap_t + self.e * self.record["gap_dot"][i])[act]
            problem = Lcp(np.ascontiguousarray(G @ Y), act, w, P)
            code, self.record["residuals"][i + 1, 0] = solve_lcp(problem, self.options, self.work)
            if code != SUCCESS:
                return code
            p[i + 1, act], doing[i + 1, act] = P, np.where(P > 0, 2, 1)
            v1 += Y[:, act] @ P
        v[i + 1], q[i + 1] = v1, middle + h / 2 * v1
        return SUCCESS


@pytest.mark.parametrize("name", MODELS)
def test_a_march_in_python_conforms(name):
    system = getattr(ex.models, name)()
    conforms(system, Midpoint(h=2e-3))
    run = ex.simulate(system, Midpoint(h=2e-3))
    assert run.certificate.ok


def test_a_march_that_does_not_reach_the_end_is_no_success():
    class Idle(Midpoint):
        def kernel(self, *arguments):
            return lambda: SUCCESS, lambda: 5, {}

    with pytest.raises(TypeError, match=r"march of Idle returned SUCCESS, but its last row lies"):
        ex.simulate(ex.models.bouncing_ball(), Idle())
