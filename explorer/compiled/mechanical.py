"""A mechanical system as the time-stepping kernels take it.

The input vector is ``[t, q, v, rho]``. Only entries that are not identically zero are outputs;
their places in the matrices are integer arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import symengine as se
import sympy as sp

from explorer.compiled.bundle import Bundle, smooth
from explorer.errors import BadModel, BadValue
from explorer.systems import LagrangianSystem, LinearMechanicalSystem, MechanicalSystem

__all__ = ["Compiled", "compile_system", "short"]


class Compiled:
    """The native functions of a mechanical system and the layout of what they return.

    Attributes
    ----------
    n, nc : int
        Numbers of coordinates and contacts.
    bundles : dict of str to Bundle
        "force" F; "mass" entries of M; "step" F and entries of F_q, F_v; "gap" gap, gap_t and
        entries of G; "start" q0, v0, e; "energy" T, V; "sketch" points and radii.
    place_M, place_K, place_C : (k,) int64
        Flat places of the entries of M, F_q, F_v.
    gap_ptr, gap_col : CSR pattern of G.
    constant, rheonomic : bool
        Whether M, F_q, F_v, G depend on parameters only; whether any gap depends on t.
    """

    def __init__(self, system: LagrangianSystem) -> None:
        self.system, self.revision = system, system.revision
        self.n, self.nc = system.n, len(system.contacts)
        self.linear = isinstance(system, LinearMechanicalSystem)
        if not isinstance(system, (LinearMechanicalSystem, MechanicalSystem)):
            raise BadModel(f"{type(system).__name__} is no system type that can be compiled.")
        q = [se.Symbol(s.name) for s in system.q]
        v = [se.Symbol(s.name) for s in system.v]
        t = se.Symbol("t")
        rho = [se.Symbol(name) for name in system.parameters]
        self._args = [t, *q, *v, *rho]
        state = {t, *q, *v}
        if isinstance(system, MechanicalSystem):
            F = [smooth(x) for x in system.force]
            M = [[smooth(x) for x in row] for row in system.mass.tolist()]
        else:
            F, M = [smooth(x) for x in system.f], []
        gaps = [smooth(c.gap) for c in system.contacts]

        mass, self.place_M = self._entries(M)
        F_q, self.place_K = self._jacobian(F, q)
        F_v, self.place_C = self._jacobian(F, v)
        G, places = self._jacobian(gaps, q)
        self.gap_col = places % max(self.n, 1)
        self.gap_ptr = np.searchsorted(places, np.arange(self.nc + 1) * self.n).astype(np.int64)
        gap_t = [g.diff(t) for g in gaps]
        self.rheonomic = any(x != 0 for x in gap_t)
        derivatives = [*mass, *F_q, *F_v, *G]
        self.constant = not any(x.free_symbols & state for x in derivatives)
        self._force, self._derivatives = F, [*F_q, *F_v]
        self.bundles = {
            "force": self._bundle(F),
            "mass": self._bundle(mass),
            "step": self._bundle([*F, *F_q, *F_v]),
            "gap": self._bundle([*gaps, *gap_t, *G]),
            "start": self._bundle(
                [smooth(sp.sympify(x)) for x in (*system.start_q, *system.start_v)]
                + [smooth(c.e) for c in system.contacts]
            ),
        }
        self._lazy(M, v)
        names = ("force", "mass", "step", "gap", "start")
        self.table = np.array([[self.bundles[k].address, self.bundles[k].data] for k in names])
        self.most = max(b.size for b in self.bundles.values())
        self.lin_ptr, self.lin_col, self.lin_val = self._linear_rows()

    def _bundle(self, outputs: Sequence[Any]) -> Bundle:
        return Bundle(self._args, outputs)

    @cached_property
    def structural(self) -> tuple[np.ndarray, np.ndarray, int]:
        """What the Newmark family needs besides: ((6, 2) table, places of (M a)_q, most outputs).

        The input vector goes on behind rho with the accelerations a.
        """
        system, q = self.system, self._args[1 : 1 + self.n]
        a = [se.Symbol(f"_a_{k}") for k in range(self.n)]
        moving = isinstance(system, MechanicalSystem) and any(
            x.free_symbols & set(system.q) for x in system.mass
        )
        M = [[smooth(x) for x in row] for row in system.mass.tolist()] if moving else []  # type: ignore[attr-defined]
        inertia = [sum((m * s for m, s in zip(row, a, strict=True)), se.Integer(0)) for row in M]
        entries, places = self._jacobian(inertia, q)
        springs = [
            [smooth(getattr(s, k)) for s in system.springs] for k in ("elongation", "k", "f_y", "b")
        ]
        along = [u.diff(x) for u in springs[0] for x in q]
        extra = [
            Bundle([*self._args, *a], entries),
            self._bundle([x for row in springs for x in row] + along),
        ]
        self._structural = extra  # a table keeps addresses only
        more = np.array([[b.address, b.data] for b in extra])
        most = max(self.most, *(b.size for b in extra))
        return np.concatenate([self.table[:4], more]), places, most

    def _lazy(self, M: list, v: list) -> None:
        """Bundles for looking at a solution; nothing of them runs in the time loop."""
        shapes = self.system.shapes
        points = [c for s in shapes for p in s.points for c in p]
        self.bundles["sketch"] = self._bundle(
            [smooth(x) for x in [*points, *(s.radius for s in shapes)]]
        )
        if not isinstance(self.system, MechanicalSystem):
            return
        kinetic = sum(
            (M[i][j] * v[i] * v[j] for i in range(self.n) for j in range(self.n) if M[i][j] != 0),
            se.Integer(0),
        ) / se.Integer(2)
        potential = self.system.potential
        outputs = [kinetic] if potential is None else [kinetic, smooth(potential)]
        self.bundles["energy"] = self._bundle(outputs)

    def _entries(self, rows: Sequence[Sequence[Any]]) -> tuple[list, np.ndarray]:
        found = [
            (i * len(row) + j, x) for i, row in enumerate(rows) for j, x in enumerate(row) if x != 0
        ]
        return [x for _, x in found], np.array([k for k, _ in found], np.int64)

    def _jacobian(
        self, functions: Sequence[Any], variables: Sequence[Any]
    ) -> tuple[list, np.ndarray]:
        rank = {x: j for j, x in enumerate(variables)}
        entries, places = [], []
        for i, f in enumerate(functions):
            for j in sorted(rank[x] for x in f.free_symbols if x in rank):
                derivative = f.diff(variables[j])
                if derivative != 0:
                    entries.append(derivative)
                    places.append(i * len(variables) + j)
        return entries, np.array(places, np.int64)

    def _linear_rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """CSR rows of [-K, -C], to be added to F; empty for a symbolic system."""
        if not isinstance(self.system, LinearMechanicalSystem):
            return np.zeros(self.n + 1, np.int64), np.zeros(0, np.int64), np.zeros(0)
        rows = -np.hstack([self.system.K, self.system.C])
        i, j = np.nonzero(rows)
        ptr = np.searchsorted(i, np.arange(self.n + 1)).astype(np.int64)
        return ptr, np.ascontiguousarray(j), rows[i, j]

    # -- numbers ------------------------------------------------------------------------------

    def input(self, rho: Sequence[float]) -> np.ndarray:
        """Return a fresh input vector [t, q, v, rho] with zero state."""
        return np.concatenate([np.zeros(1 + 2 * self.n), np.asarray(rho, float)])

    def start(self, rho: Sequence[float]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return q0, v0 and the restitutions e for these parameters.

        Raises
        ------
        BadModel
            If a start formula is not finite here.
        BadValue
            If a restitution leaves [0, 1].
        """
        values, n = self.bundles["start"](self.input(rho)), self.n
        q0, v0, e = values[:n], values[n : 2 * n], values[2 * n :]
        if not np.isfinite(values[: 2 * n]).all():
            raise BadModel(
                f"The start of '{self.system.name}' is not finite: q = {q0}, v = {v0}. "
                "Look at its formulas, or at the parameters in them."
            )
        for contact, value in zip(self.system.contacts, e, strict=True):
            if not 0 <= value <= 1:
                raise BadValue(
                    f"The restitution of {contact.name!r} is e = {value:g}, but Newton's impact "
                    "law needs 0 <= e <= 1 (0: no rebound, 1: no loss)."
                )
        return q0, v0, e

    def forces(self, inp: np.ndarray) -> np.ndarray:
        """Return F (n,), linear parts and yielding springs (not slipped yet) included."""
        n = self.n
        F = self.bundles["force"](inp)[:n].copy()
        if self.lin_val.size:
            system = self.system
            F -= system.K @ inp[1 : 1 + n] + system.C @ inp[1 + n : 1 + 2 * n]  # type: ignore[attr-defined]
        if self.system.springs:
            from explorer.kernels.hysteresis import bilinear

            table, _, most = self.structural
            plastic = np.zeros((2, len(self.system.springs)))
            bilinear(table, inp, np.empty(most + 1), n, plastic, F, np.empty(n * n), False)
        return F

    def matrices(self, inp: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return M, K = -F_q, C = -F_v, each (n, n), and the entries of G, at an input vector."""
        n = self.n
        G = self.bundles["gap"](inp)[2 * self.nc :]
        if isinstance(self.system, LinearMechanicalSystem):
            return self.system.M, self.system.K, self.system.C, G
        step = self.bundles["step"](inp)
        M, K, C = np.zeros(n * n), np.zeros(n * n), np.zeros(n * n)
        M[self.place_M] = self.bundles["mass"](inp)
        K[self.place_K] = -step[n : n + self.place_K.size]
        C[self.place_C] = -step[n + self.place_K.size :]
        return M.reshape(n, n), K.reshape(n, n), C.reshape(n, n), G

    def culprit(self, inp: np.ndarray) -> str:
        """Return a sentence that names the formula that is not finite here, or nothing."""
        M, K, C, G = self.matrices(inp)
        for what, value in (
            ("mass", M), ("force", self.bundles["force"](inp)), ("gap", self.bundles["gap"](inp)),
            ("derivative of the force", np.append(K, C)), ("gradient of a gap", G),
        ):  # fmt: skip
            if not np.isfinite(value).all():
                return f" The {what} is not finite {self._where(inp)}."
        return ""

    def _where(self, inp: np.ndarray) -> str:
        q, v = inp[1 : self.n + 1], inp[self.n + 1 : 2 * self.n + 1]
        return f"at t = {inp[0]:g} s, q = {short(q)}, v = {short(v)}"

    def check(self, inp: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return `matrices` at a state; refuse it if the equations make no sense there.

        Raises
        ------
        BadModel
            A formula gives NaN or infinity (named, with time and state); M is not symmetric or
            not positive definite; the start lies below a contact's floor.
        """
        system = self.system
        M, K, C, G = matrices = self.matrices(inp)
        gap, force = self.bundles["gap"](inp)[: self.nc], self.bundles["force"](inp)
        if not np.isfinite(M.sum() + K.sum() + C.sum() + G.sum() + gap.sum() + force.sum()):
            raise BadModel(
                f"'{system.name}':{self.culprit(inp)} A root or logarithm of a negative number, or "
                "a division by zero, does that."
            )
        self._check_mass(M, inp)
        for contact, g in zip(system.contacts, gap, strict=True):
            if g < -1e-9:
                raise BadModel(
                    f"'{system.name}' starts inside an obstacle: the gap of {contact.name!r} is "
                    f"{g:.6g} m {self._where(inp)}. Start with every gap >= 0."
                )
        return matrices

    def _check_mass(self, M: np.ndarray, inp: np.ndarray) -> None:
        name, diagonal = self.system.name, np.diag(M)
        if diagonal.min() > 0 and np.count_nonzero(M) == self.n:
            return
        if not np.abs(M - M.T).max() <= 1e-10 * np.abs(M).max():
            raise BadModel(f"The mass matrix of '{name}' is not symmetric {self._where(inp)}.")
        size = np.sqrt(np.abs(diagonal))
        scaled = M / np.outer(size, size) if size.all() else M
        try:
            if np.diag(np.linalg.cholesky(scaled)).min() > 1e-7:
                return
        except np.linalg.LinAlgError:
            pass
        lowest = np.linalg.eigvalsh(scaled)[0]
        kind = "singular" if lowest > -1e-13 else "indefinite"
        raise BadModel(
            f"The mass matrix of '{name}' is {kind} {self._where(inp)}: its smallest eigenvalue "
            f"(scaled by the diagonal) is {lowest:.2g}. Every coordinate needs inertia; remove a "
            "coordinate that has none, or check the signs."
        )


def short(values: np.ndarray) -> str:
    """Return the first few numbers of a vector as text."""
    text = ", ".join(f"{x:.6g}" for x in values[:6])
    return f"({text}{', ...' if len(values) > 6 else ''})"


def compile_system(system: LagrangianSystem) -> Compiled:
    """Return the compiled system; compiled once for each change of its equations."""
    compiled: Compiled | None = getattr(system, "_compiled", None)
    if compiled is None or compiled.revision != system.revision:
        compiled = Compiled(system)
        system._compiled = compiled  # type: ignore[attr-defined]
    return compiled
