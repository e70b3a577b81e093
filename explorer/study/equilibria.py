"""Equilibria as a problem of continuation, those that slide or lean on a contact too.

Each switching function c_k (or gap) has a multiplier a_k, and one of the two is given::

    f(x, a, p) = 0,    c_k(x, p) = 0  or  a_k = 0  or  a_k = 1

A sliding equilibrium of a Filippov system has c_k = 0 and 0 < a_k < 1, with x' the convex
combination of both sides (di Bernardo, Budd, Champneys, Kowalczyk, *Piecewise-smooth Dynamical
Systems*, 2008, ch. 5, doi:10.1007/978-1-84628-708-4). Its eigenvalues are those of the sliding flow
on c = 0; across the surface it is stable if c' changes sign towards it. Of a contact a_k is its
force, either that or the gap is 0, and M N'' = ... is taken on the closed contacts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import sympy as sp

from explorer.errors import BadModel, BadValue, NotApplicable
from explorer.study.arclength import Evaluation, Node, correct
from explorer.study.trace import Options, Special
from explorer.systems import (
    HybridSystem,
    LinearMechanicalSystem,
    MechanicalSystem,
    StepSystem,
    System,
)
from explorer.systems.kinks import slope

__all__ = ["Equilibria", "Rest", "formulas_of"]

_BELOW = -1e-11  # a margin this far below zero, scaled, has been passed
_STEP = (1e-5, 1e-4, 1e-3)  # from the place where a surface is reached


@dataclass(frozen=True)
class Rest:
    """An equilibrium: its eigenvalues, those across sliding surfaces too; T is no number."""

    multipliers: np.ndarray
    across: np.ndarray
    T: float = float("nan")


class Equilibria:
    """Equilibria over one parameter.

    Parameters
    ----------
    system : StepSystem, HybridSystem, MechanicalSystem or LinearMechanicalSystem
    parameter : str
    rho : (n_rho,)
    x : (n_x,) a state nearby; surfaces within 1e-6 of it, relative, are slid on
    span : float
    """

    kind = "equilibria"

    def __init__(
        self, system: System, parameter: str, rho: np.ndarray, x: np.ndarray, span: float
    ) -> None:
        self.system, self.parameter, self.rho = system, parameter, rho.copy()
        self.place = list(system.parameters).index(parameter)
        self.mechanical = isinstance(system, MechanicalSystem | LinearMechanicalSystem)
        self.n_x = len(x)
        self.n = self.n_x // 2 if self.mechanical else self.n_x
        self._compile()
        c = self._numbers(self._c, x[: self.n], np.zeros(self.m)) if self.m else np.zeros(0)
        size = 1 + float(np.abs(x).max())
        self.side = np.where(np.abs(c) <= 1e-6 * size, 0, np.sign(c)).astype(int)
        if self.mechanical:
            self.side = np.where(self.side == 0, 0, 1)
        self.origin = self.side.copy()
        self.scale = np.array([*np.maximum(np.abs(x[: self.n]), 1.0), *np.ones(self.m), span])

    def _compile(self) -> None:
        system, symbol = self.system, sp.Symbol
        f, c, a = formulas_of(system)
        self.m, self.names = len(c), [name for name, _ in c]
        if system.t in set().union(*(sp.sympify(e).free_symbols for e in f)):
            raise BadModel(f"'{system.name}' depends on t, so it has no equilibria.")
        x = [symbol(name) for name in system._state_names()]
        rest = dict.fromkeys(x[self.n :], sp.Integer(0))
        rho = [symbol(name) for name in system.parameters]
        p = rho[self.place]
        F = sp.Matrix([sp.sympify(e).subs(rest) for e in f])
        C = sp.Matrix(len(c), 1, [sp.sympify(e).subs(rest) for _, e in c])
        z = [*x[: self.n], *a, p]
        given = (x[: self.n], a, rho)
        self._f = sp.lambdify(given, [*F, *F.jacobian(z)], cse=True)
        self._c = sp.lambdify(given, [*C], cse=True)
        self._c_z = sp.lambdify(given, [*C.jacobian(z)] if c else [], cse=True)
        if self.mechanical:
            full = sp.Matrix([sp.sympify(e) for e in f])
            D = full.jacobian(x[self.n :]).subs(rest)
            M = sp.Matrix(self.n, self.n, list(sp.Matrix(system.mass))).subs(rest)  # type: ignore[attr-defined]
            self._md = sp.lambdify(given, [*M, *D], cse=True)

    def _numbers(self, function: object, x: np.ndarray, a: np.ndarray) -> np.ndarray:
        assert callable(function)
        with np.errstate(all="ignore"):
            found = np.array(function(x, a, self.rho), float)
        if not np.isfinite(found).all():
            raise BadValue(
                f"'{self.system.name}' has no finite rates at {self.parameter} = "
                f"{self.rho[self.place]:.6g}."
            )
        return found

    def first(self, x: np.ndarray) -> np.ndarray:
        """Return the unknowns near a state."""
        rest = 0.5 * (self.side + 1.0) if not self.mechanical else np.zeros(self.m)
        return np.array([*x[: self.n], *rest, self.rho[self.place]])

    def evaluate(self, u: np.ndarray, full: bool = True) -> Evaluation:
        """Return the equations at u.

        Raises
        ------
        BadValue
            With `full`: a multiplier or a surface lies on the wrong side.
        """
        n, m = self.n, self.m
        x, a = u[:n], u[n : n + m]
        self.rho[self.place] = u[-1]
        out = self._numbers(self._f, x, a)
        f, f_z = out[:n], out[n:].reshape(n, n + m + 1)
        c = self._numbers(self._c, x, a)
        c_z = self._numbers(self._c_z, x, a).reshape(m, n + m + 1)
        slides = self.side == 0
        fixed = 0.5 * (self.side + 1.0) if not self.mechanical else np.zeros(m)
        rows, values = c_z.copy(), c.copy()
        for k in np.flatnonzero(~slides):
            rows[k], values[k] = 0.0, a[k] - fixed[k]
            rows[k, n + k] = 1.0
        G, J = np.append(f, values), np.vstack([f_z, rows])
        part = np.abs(f_z * u).max(axis=1, initial=0.0)  # the largest term, to first order
        unit = np.append(np.maximum(part, 1e-3 * part.max(initial=0.0)) + 1e-9, self.scale[n:-1])
        size = float((np.abs(G) / unit).max())
        eigen, across = self._eigenvalues(x, a, f_z, c_z)
        sequence = tuple(zip(self.names, self.side.tolist(), strict=True))
        rest = Rest(eigen, across)
        if not full:
            return Evaluation(G, J, size, sequence, {}, {}, rest)
        margins = self._margins(c, a)
        for name, value in margins.items():
            if value < _BELOW * (1 + abs(float(np.abs(x).max()))):
                raise BadValue(f"{name} of the equilibrium has passed its bound.")
        pairs = [eigen[i] + eigen[j] for i in range(len(eigen)) for j in range(i)]
        tests = {"Hopf": float(np.prod(pairs).real)} if pairs else {}
        return Evaluation(G, J, size, sequence, tests, margins, rest)

    def _margins(self, c: np.ndarray, a: np.ndarray) -> dict[str, float]:
        found = {}
        for k, side in enumerate(self.side):
            if side != 0:
                found[f"side {k}"] = float(c[k] * side)
            else:
                found[f"low {k}"] = float(a[k])
                if not self.mechanical:
                    found[f"high {k}"] = 1.0 - float(a[k])
        return found

    def begin_as(self, node: Node) -> None:
        """Let equilibria lie on the sides of surfaces of another one."""
        self.side = np.array([side for _, side in node.at.sequence], int)  # type: ignore[misc,has-type]

    def distance(self, key: str, u: np.ndarray) -> float:
        """Return a margin by its name; below zero: a surface or a bound has been passed."""
        x, a = u[: self.n], u[self.n : self.n + self.m]
        self.rho[self.place] = u[-1]
        return self._margins(self._numbers(self._c, x, a), a)[key]

    def _eigenvalues(
        self, x: np.ndarray, a: np.ndarray, f_z: np.ndarray, c_z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the eigenvalues on the surfaces that are slid on, and across them."""
        n, slides = self.n, np.flatnonzero(self.side == 0)
        A, C = f_z[:, :n], c_z[slides, :n]
        N = np.linalg.svd(C)[2][len(slides) :].T if len(slides) else np.eye(n)
        if self.mechanical:
            out = self._numbers(self._md, x, a)
            M, D = out[: n * n].reshape(n, n), out[n * n :].reshape(n, n)
            inverse = np.linalg.pinv(N.T @ M @ N)
            k = N.shape[1]
            lower = np.hstack([inverse @ N.T @ A @ N, inverse @ N.T @ D @ N])
            A = np.vstack([np.eye(k, 2 * k, k), lower])
            return _sorted(np.linalg.eigvals(A)), np.zeros(0)
        if not len(slides):
            return _sorted(np.linalg.eigvals(A)), np.zeros(0)
        B = f_z[:, n + slides]
        push = C @ B
        try:
            projected = A - B @ np.linalg.solve(push, C @ A)
        except np.linalg.LinAlgError:
            raise BadValue("The sliding flow is not determined: both sides are tangent.") from None
        return _sorted(np.linalg.eigvals(N.T @ projected @ N)), np.linalg.eigvals(push)

    def restart(self) -> None:
        """Go back to the sides of the surfaces at the first equilibrium."""
        self.side = self.origin.copy()

    # -- what happens on a branch ---------------------------------------------------------------

    def state(self, u: np.ndarray) -> np.ndarray:
        """Return the state, with its velocities."""
        return np.append(u[: self.n], np.zeros(self.n_x - self.n))

    def stable(self, node: Node) -> bool:
        """Whether all eigenvalues, across surfaces too, have negative real parts."""
        rest = _rest(node)
        return bool((np.append(rest.multipliers, rest.across).real < 0).all())

    def at_margin(self, key: str) -> tuple[str, str]:
        """Return the kind and the name of a point at which a margin falls to zero."""
        return "boundary", self.names[int(key.partition(" ")[2])]

    def genuine(self, kind: str, node: Node) -> bool:
        """Whether the zero of a test function is a bifurcation; real eigenvalues +-r are not."""
        if kind != "Hopf":
            return True
        mu = _rest(node).multipliers
        pairs = [(abs(mu[i] + mu[j]), i) for i in range(len(mu)) for j in range(i)]
        return bool(abs(mu[min(pairs)[1]].imag) > 1e-6)

    def settled(self, node: Node) -> Node | None:
        """Return None: the unknowns are always the same."""
        return None

    def beyond(self, here: Node, ended: Special, options: Options) -> Node | None:
        """Return an equilibrium beyond a surface that was reached or left, if there is one.

        There c_k = 0 and a_k = 0 or 1: one of them is released. The parameter goes on (persistence)
        or turns back (nonsmooth fold).
        """
        key = min(ended.node.at.margins, key=lambda name: ended.node.at.margins[name])
        k, before = self.names.index(ended.name), self.side.copy()
        if self.side[k] != 0:
            self.side[k] = 0
        else:
            self.side[k] = -1 if key.startswith("low") and not self.mechanical else 1
        w = ended.w
        at = self.evaluate(w * self.scale, full=False)
        null = np.linalg.svd(at.jacobian * self.scale)[2][-1]
        for sign in (1.0, -1.0):
            for size in _STEP:
                way = sign * null
                done = correct(self, w + size * way, way, options.tol)
                if done is not None and float((done[0].w - w) @ way) > 0.5 * size:
                    return done[0]
        self.side = before
        return None


def _rest(node: Node) -> Rest:
    assert isinstance(node.at.data, Rest)
    return node.at.data


def _sorted(values: np.ndarray) -> np.ndarray:
    values = values.astype(complex)
    return values[np.argsort(-values.real, kind="stable")]


def formulas_of(
    system: System,
) -> tuple[list[sp.Expr], list[tuple[str, sp.Expr]], list[sp.Symbol]]:
    """Return f, the names and formulas of c, and the multipliers.

    Raises
    ------
    NotApplicable
    """
    if isinstance(system, StepSystem):
        pairs = [(s.name, s.c) for s in system.switches]
        return list(system.f), pairs, [s.alpha for s in system.switches]
    if isinstance(system, HybridSystem):
        return list(system.modes[system.start_mode].flow), [], []
    if isinstance(system, MechanicalSystem | LinearMechanicalSystem):
        if system.constraints:
            raise NotApplicable(
                f"'{system.name}' has constraints: continuation of its equilibria needs "
                "independent coordinates."
            )
        if any(sp.sympify(c.mu) != 0 for c in system.contacts):
            raise NotApplicable(
                f"'{system.name}' has friction, so its equilibria are sets and not points."
            )
        a = [sp.Symbol(f"force_{k}") for k in range(len(system.contacts))]
        gaps = [(c.name, sp.sympify(c.gap)) for c in system.contacts]
        q = [sp.Symbol(str(name)) for name in system._state_names()[: len(system.coordinates)]]
        f = [
            sp.sympify(e)
            + sum((b * slope(g, s) for b, (_, g) in zip(a, gaps, strict=True)), sp.S(0))
            for e, s in zip(system.force, q, strict=True)
        ]
        return f, gaps, a
    raise NotApplicable(
        f"Continuation takes systems with step functions, hybrid and mechanical systems; "
        f"'{system.name}' is a {system.kind}."
    )
