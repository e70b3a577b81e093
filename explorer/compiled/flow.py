"""A system as the event-driven kernels take it: modes, guards, resets, and all their derivatives.

The input vector of every bundle is ``[t, x, rho, x', lam, e, sigma]``. A `HybridSystem` brings its
modes; a mechanical system is rewritten exactly: x = (q, v), a mode is a set of closed contacts,
and what is compiled are the residuals R = M a - F - G' lam and A = G a + gamma = gap'' (flow),
M dv - G' p and G v+ + gap_t + e (G v- + gap_t) (impact), differentiated with accelerations, forces
and impulses as inputs, so that one saddle system gives values and derivatives alike
(Corner et al. 2019, eq. (15)).

The rows of G are first the contacts' normals, then the tangents of those with friction: a sticking
contact holds its tangent row too, a sliding one pulls with -sigma mu lam along it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import symengine as se
import sympy as sp

from explorer.compiled.bundle import Bundle, smooth
from explorer.errors import BadModel
from explorer.systems import HybridSystem, LagrangianSystem, System

__all__ = ["Flow", "compile_flow"]

Expr = Any
_MOST = 200  # coordinates


def _gradient(functions: Sequence[Expr], variables: Sequence[Expr]) -> list[Expr]:
    """Return the Jacobian, row by row, flat."""
    return [f.diff(v) for f in functions for v in variables]


class Flow:
    """The native functions of a system for event-driven integration.

    Parameters
    ----------
    system : MechanicalSystem, LinearMechanicalSystem or HybridSystem
    cost : sympy expression, optional
        Running cost g(t, x, x', rho); accelerations are among `rates`.

    Attributes
    ----------
    n_x, n, n_c, n_rho : int
        States, coordinates (0 for a HybridSystem), contacts, parameters.
    rough : tuple of int
        The contacts with friction, in the order of their tangents.
    rows : int
        Normals and tangents together.
    table : (k, 2) int64
        Addresses of the bundles; their order is that of `explorer.kernels.flows`.
    most : int
        Largest number of outputs.
    """

    def __init__(self, system: System, cost: sp.Expr | None = None) -> None:
        self.system, self.revision = system, system.revision
        self.mechanical = isinstance(system, LagrangianSystem)
        names = list(system.parameters)
        if isinstance(system, LagrangianSystem):
            if system.n > _MOST:
                raise BadModel(
                    f"'{system.name}' has {system.n} coordinates, but to locate events all "
                    f"matrices are written out, up to {_MOST}; time stepping takes any size."
                )
            self.states = [*system.q, *system.v]
            self.n, self.n_c, self.rough = system.n, len(system.contacts), system.rough
        elif isinstance(system, HybridSystem):
            system.check()
            self.states = list(system.x)
            self.n, self.n_c, self.rough = 0, 0, ()
        else:
            raise BadModel(f"{type(system).__name__} is no system type that flows between events.")
        self.n_x, self.n_rho = len(self.states), len(names)
        # x' as inputs; a cost calls them a_<coordinate> (accelerations) or d_<state>
        letter = "a" if self.n else "d"
        own = [sp.Symbol(f"{letter}_{c}") for c in system.coordinates]
        self.rates = [*(sp.Symbol(f"_rate_{k}") for k in range(self.n)), *own]
        t = se.Symbol("t")
        x = [se.sympify(s) for s in self.states]
        rho = [se.Symbol(k) for k in names]
        rate = [se.sympify(s) for s in self.rates]
        self.rows = self.n_c + len(self.rough)
        lam = [se.Symbol(f"_lam_{k}") for k in range(self.rows)]
        e = [se.Symbol(f"_e_{k}") for k in range(self.n_c)]
        sigma = [se.Symbol(f"_sigma_{k}") for k in range(len(self.rough))]
        self._args = [t, *x, *rho, *rate, *lam, *e, *sigma]
        self._t, self._x, self._rho, self._rate = t, x, rho, rate
        self.bundles: list[Bundle] = []
        self.offsets = {}
        if self.mechanical:
            self._rewrite(system, lam, e, sigma)
        else:
            self._modes(system)
        self.offsets["cost"] = len(self.bundles)
        self.cost = cost
        if cost is not None:
            g = smooth(sp.sympify(cost))
            self._add([g, *_gradient([g], x), *_gradient([g], rate), *_gradient([g], rho)])
        self._start(system)  # the last one
        self.table = np.array([[b.address, b.data] for b in self.bundles], np.int64)
        self.most = max(b.size for b in self.bundles)
        self.workspaces: dict[Any, list[Any]] = {}  # those that no run is using

    def _add(self, outputs: Sequence[Expr]) -> None:
        self.bundles.append(Bundle(self._args, outputs))

    def _modes(self, system: Any) -> None:
        t, x, rho = self._t, self._x, self._rho
        flows = [[smooth(f) for f in mode.flow] for mode in system.modes]
        for f in flows:
            self._add(f)
        self.offsets["tlm"] = len(self.bundles)
        for f in flows:
            self._add([*f, *_gradient(f, x), *_gradient(f, rho)])
        self.guards = sorted(system.guards, key=lambda g: g.mode)
        self.offsets["guard"] = len(self.bundles)
        for k in range(len(system.modes)):
            mine = [g for g in self.guards if g.mode == k]
            self._add(
                [smooth(g.r) for g in mine]
                + [se.Integer(1) if g.when is None else smooth(g.when) for g in mine]
            )
        self.offsets["guard_tlm"] = len(self.bundles)
        for guard in self.guards:
            r = smooth(guard.r)
            self._add([r.diff(t), *_gradient([r], x), *_gradient([r], rho)])
        self.offsets["reset"] = len(self.bundles)
        for guard in self.guards:
            h = [smooth(f) for f in guard.reset]
            self._add([*h, *(f.diff(t) for f in h), *_gradient(h, x), *_gradient(h, rho)])

    def _rewrite(self, system: Any, lam: list, e: list, sigma: list) -> None:
        t, rho, n = self._t, self._rho, self.n
        q, v, a = self._x[:n], self._x[n:], self._rate[n:]
        M = [[smooth(m) for m in row] for row in system.mass.tolist()]
        F = [smooth(f) for f in system.force]
        gap = [smooth(c.gap) for c in system.contacts]
        mu = [smooth(system.contacts[k].mu) for k in self.rough]
        mu_s = self._sticking(system)
        slip = [smooth(system.contacts[k].slip) for k in self.rough]
        G = [[g.diff(s) for s in q] for g in gap] + [[s.diff(x) for x in v] for s in slip]
        at_rest = dict.fromkeys(v, 0)
        gap_t = [g.diff(t) for g in gap] + [s.subs(at_rest) for s in slip]
        speed = [sum((row[j] * v[j] for j in range(n)), r) for row, r in zip(G, gap_t, strict=True)]
        # gap'' = G a + gamma: everything of d(speed)/dt but the accelerations
        gamma = [s.diff(t) + sum((s.diff(q[j]) * v[j] for j in range(n)), se.Integer(0))
                 for s in speed]  # fmt: skip
        force = [
            *lam[: self.n_c],
            *(
                lam[self.n_c + k] - sigma[k] * mu[k] * lam[c]
                for k, c in enumerate(self.rough)
            ),
        ]  # fmt: skip
        pull = [sum((g[i] * f for g, f in zip(G, force, strict=True)), se.Integer(0))
                for i in range(n)]  # fmt: skip
        inertia = [sum((M[i][j] * a[j] for j in range(n)), se.Integer(0)) for i in range(n)]
        R = [inertia[i] - F[i] - pull[i] for i in range(n)]
        A = [sum((g[j] * a[j] for j in range(n)), more) for g, more in zip(G, gamma, strict=True)]
        B = [sum((g[j] * a[j] for j in range(n)), s) for g, s in zip(G, speed, strict=True)]
        B = [b + e[c] * speed[c] if c < self.n_c else b for c, b in enumerate(B)]
        I = [inertia[i] - pull[i] for i in range(n)]  # noqa: E741
        self._add([*(m for row in M for m in row), *F])
        none = [se.Integer(0)] * len(slip)
        self._add([*gap, *none, *gap_t, *(g for row in G for g in row), *gamma, *mu, *mu_s])
        self._add(gap)

        def block(f: list[Expr]) -> list[Expr]:
            return [*_gradient(f, q), *_gradient(f, v), *_gradient(f, rho), *(r.diff(t) for r in f)]

        self._add([*block(R), *block(A)])
        self._add([*block(I), *block(B)])
        self._add([
            *_gradient(gap, rho), *_gradient(slip, q), *_gradient(slip, rho),
            *(s.diff(t) for s in slip), *_gradient(mu_s, self._x), *_gradient(mu_s, rho),
            *(m.diff(t) for m in mu_s),
        ])  # fmt: skip
        self.guards = []
        self.offsets |= dict.fromkeys(("tlm", "guard", "guard_tlm", "reset"), 0)

    def _sticking(self, system: Any) -> list[Expr]:
        of = [system.contacts[k] for k in self.rough]
        return [smooth(c.mu if c.mu_s is None else c.mu_s) for c in of]

    def _start(self, system: Any) -> None:
        if self.mechanical:
            start = [smooth(sp.sympify(s)) for s in (*system.start_q, *system.start_v)]
        else:
            start = [smooth(sp.sympify(s)) for s in system.start_x]
        e = [smooth(sp.sympify(c.e)) for c in system.contacts]
        self._add([*start, *e, *_gradient(start, self._rho), *_gradient(e, self._rho)])

    # -- numbers ------------------------------------------------------------------------------

    def input(self, rho: Any) -> np.ndarray:
        """Return a fresh input vector with zero state."""
        inp = np.zeros(len(self._args))
        inp[1 + self.n_x : 1 + self.n_x + self.n_rho] = rho
        return inp

    def outputs(self, formulas: Sequence[Any]) -> Bundle:
        """Compile formulas of t, states, x' (`rates`) and parameters to one native function."""
        return Bundle(self._args, [smooth(sp.sympify(f)) for f in formulas])

    def start(self, rho: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return x0 (n_x,) and its derivative by all parameters (n_x, n_rho)."""
        values, both = self.bundles[-1](self.input(rho)), self.n_x + self.n_c
        return values[: self.n_x], values[both:].reshape(both, self.n_rho)[: self.n_x]

    def shape(self, wrt: Sequence[int]) -> np.ndarray:
        """Return the integers that tell a kernel this problem; -1 in `wrt`: a start value."""
        system = self.system
        modes = 0 if self.mechanical else len(system.modes)  # type: ignore[attr-defined]
        at = 16 + len(wrt)
        head = [
            int(self.mechanical), self.n_x, self.n, self.n_c, self.n_rho, len(wrt),
            int(self.cost is not None), modes, *(self.offsets[k] for k in (
                "tlm", "guard", "guard_tlm", "reset", "cost",
            )), at, self.rows, at, *wrt,
        ]  # fmt: skip
        if self.mechanical:  # the tangent row of each contact, the contact of each tangent
            tangent = {c: self.n_c + k for k, c in enumerate(self.rough)}
            owners = [*(tangent.get(c, -1) for c in range(self.n_c)), *self.rough]
            return np.array([*head, *owners], np.int64)
        ptr = np.searchsorted([g.mode for g in self.guards], range(modes + 1)).tolist()
        each = [
            (g.direction, g.to, g.bounds + 2 * g.terminal + 4 * (g.when is not None), g.zeno)
            for g in self.guards
        ]
        return np.array([*head, *ptr, *(k for one in each for k in one)], np.int64)

    def guard_name(self, k: int) -> str:
        """Return the name of a guard, or of a contact."""
        return self.system.contacts[k].name if self.mechanical else self.guards[k].name


def compile_flow(system: System, cost: sp.Expr | None = None) -> Flow:
    """Return the compiled flow; compiled once for each change of the equations and each cost."""
    kept: dict[Any, Flow] = system.__dict__.setdefault("_flows", {})
    if cost not in kept or kept[cost].revision != system.revision:
        while len(kept) > 8:
            kept.pop(next(iter(kept)))
        kept[cost] = Flow(system, cost)
    return kept[cost]
