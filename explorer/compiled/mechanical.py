"""A mechanical system as the time-stepping kernels take it.

The input vector is ``[t, q, v, rho, r]`` with the values r of sampled forcing at t, written there
by what stands before the bundles of the force. Only entries that are not identically zero are
outputs; their places in the matrices are integer arrays.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import symengine as se
import sympy as sp

from explorer.compiled import checks
from explorer.compiled.assembly import assembly
from explorer.compiled.bundle import Bundle, Expr, Recorded, Values, smooth
from explorer.compiled.compliance import Compliance
from explorer.compiled.entries import matrix
from explorer.compiled.held import Drivable, shared
from explorer.compiled.structural import Structural, structural
from explorer.errors import BadModel, BadValue
from explorer.quantities import quantity
from explorer.systems import LagrangianSystem, LinearMechanicalSystem, MechanicalSystem
from explorer.systems.massless import massless
from explorer.systems.modal import driven_growth, lowest_square, natural_modes
from explorer.types import Matrix, Reals, is_sparse

__all__ = ["Compiled"]

_SMALL = 50  # below, a dense matrix is the quicker one
_FULL = 200  # coordinates up to which constant matrices are full
_PARTS = ("mass", "force", "gap", "derivative of the force", "gradient of a gap")
_ROUNDED = 1e-6  # m: a start that was written down with few digits may lie that deep


class Compiled(Drivable):
    """The native functions of a mechanical system and the layout of what they return.

    Attributes
    ----------
    n, nc, rows, bound : int
        Numbers of coordinates, of contacts, of their rows of G (the normals of the contacts and,
        behind them, the tangents of those with friction), and of constraints: the last rows of G.
    bundles : dict of str to Bundle
        "force" F; "mass" entries of M; "step" F and entries of F_q, F_v; "gap" gap, what the
        velocities of the rows are at v = 0, entries of G, mu, mu_s, phi; "energy" T, V; "sketch"
        points and radii.
    place_M, place_K, place_C : (k,) int64
        Flat places of the entries of M, F_q, F_v.
    gap_ptr, gap_col : CSR pattern of G.
    tangent_ptr : (nc + 1,) int64
        Contact a has the tangents in the rows tangent_ptr[a] to tangent_ptr[a + 1] - 1 of G.
    constant, linear_motion, rheonomic : bool
        Whether M, F_q, F_v, G, D depend on parameters only; whether those but G and D do; whether
        any obstacle moves by itself.
    args : list of symengine symbols, the names of the input vector
    by_formula, partners : bool, int64
        Whether contacts are formulas; else what each of them joins, kept by the native function.
    """

    by_formula, partners = True, np.zeros(0, np.int64)

    def __init__(self, system: LagrangianSystem) -> None:
        self.system, self.n, self.nc = system, system.n, len(system.contacts)
        self.linear = isinstance(system, LinearMechanicalSystem)
        if not isinstance(system, (LinearMechanicalSystem, MechanicalSystem)):
            raise BadModel(f"{type(system).__name__} cannot be compiled.")
        q, v = ([se.Symbol(s.name) for s in part] for part in (system.q, system.v))
        t = se.Symbol("t")
        rho = [se.Symbol(name) for name in system.parameters]
        records = [se.Symbol(f"_record_{k}") for k in range(len(system.records))]
        self.args = [t, *q, *v, *rho, *records]
        state = {t, *q, *v, *map(se.Symbol, system.input_names)}
        if isinstance(system, MechanicalSystem):
            F = [smooth(x) for x in system.force]
            M = {place: smooth(x) for place, x in system.inertia.items()}
        else:
            # numbers are a column of `lin_val`
            F, M = [smooth(sp.S.Zero if x.is_Number else x) for x in system.f], {}
        for record, r in zip(system.records, records, strict=True):
            for i, x in enumerate(record.along):
                if not (self.linear and x.is_Number) and x != 0:
                    F[i] += smooth(x) * r
        formulas, tangents = system.contacts, system.tangents
        if not self.by_formula:
            formulas, tangents = (), ()
        gaps = [smooth(c.gap) for c in formulas]

        mass = list(M.values())
        self.place_M = np.array([i * self.n + j for i, j in M], np.int64)
        F_q, self.place_K = self.jacobian(F, q)
        F_v, self.place_C = self.jacobian(F, v)
        normals, places = self.jacobian(gaps, q)
        rough = [system.contacts[k] for k, _, _ in tangents]
        slips, at_rest = [smooth(s) for _, _, s in tangents], dict.fromkeys(v, 0)
        along, more = self.jacobian(slips, v)
        self.rows, self.bound = self.nc + len(system.tangents), len(system.constraints)
        phi = [smooth(c.phi) for c in system.constraints]
        phi_q, last = self.jacobian(phi, q)
        G = [*normals, *along, *phi_q]
        places = np.concatenate([places, more + self.nc * self.n, last + self.rows * self.n])
        self.gap_col = places % max(self.n, 1)
        self.gap_ptr = np.searchsorted(places, np.arange(self.rows + self.bound + 1) * self.n)
        self.gap_ptr = self.gap_ptr.astype(np.int64)
        self.tangent_ptr = np.cumsum([self.nc, *(len(c.slips) for c in system.contacts)])
        gap_t = [g.diff(t) for g in gaps] + [s.subs(at_rest) for s in slips]
        gap_t += [x.diff(t) for x in phi]
        mu = [smooth(c.mu) for c in rough]
        mu += [smooth(c.mu if c.mu_s is None else c.mu_s) for c in rough]
        self.rheonomic = any(x != 0 for x in gap_t)
        self.linear_motion = not any(x.free_symbols & state for x in [*mass, *F_q, *F_v])
        self.constant = self.linear_motion and not any(x.free_symbols & state for x in G)
        self.constant = self.constant and not self.compliance.bends
        self._force, self._derivatives = F, [*F_q, *F_v]
        self.bundles = {
            "force": self.bundle(F),
            "mass": self.bundle(mass),
            "step": self.bundle([*F, *F_q, *F_v]),
            "gap": self.bundle([*gaps, *gap_t, *G, *mu, *phi]),
        }
        self._lazy(M, v)
        laws = [c.e for c in system.contacts]
        laws += [system.contacts[k].e_t for k, _, _ in system.tangents]
        start = (*system.start_q, *system.start_v, *laws)
        self._start = Values(self.args, start)
        self._along = Values(self.args, [x for record in system.records for x in record.along])
        self._native = {k: self.bundles[k] for k in ("force", "mass", "step", "gap")}
        if records:
            samples = [(r.dt, r.values) for r in system.records]
            place = len(self.args) - len(records)
            for k in ("force", "step"):
                self._native[k] = Recorded(self.bundles[k], place, samples)
        self.table = np.array([[b.address, b.data] for b in self._native.values()])
        self.most = max(b.size for b in self.bundles.values())
        self.lin_ptr, self.lin_col, self.lin_val = self._linear_rows()

    def bundle(self, outputs: Sequence[Expr]) -> Bundle:
        """Compile outputs of the input vector."""
        return Bundle(self.args, outputs)

    @shared
    def structural(self) -> Structural:
        """Further functions for the Newmark family, compiled at the first access."""
        return structural(self)

    def _lazy(self, M: dict[tuple[int, int], Expr], v: list[Expr]) -> None:
        """Compile the bundles for sketches and energies, which the time loop does not use."""
        shapes = self.system.shapes
        points = [c for s in shapes for p in s.points for c in p]
        radii = [s.radius for s in shapes]
        self.bundles["sketch"] = self.bundle([smooth(x) for x in [*points, *radii]])
        if not isinstance(self.system, MechanicalSystem):
            return
        kinetic = se.Add(*(x * v[i] * v[j] for (i, j), x in M.items())) / se.Integer(2)
        potential = self.system.potential
        outputs = [kinetic] if potential is None else [kinetic, smooth(potential)]
        self.bundles["energy"] = self.bundle(outputs)

    def jacobian(
        self, functions: Sequence[Expr], variables: Sequence[Expr]
    ) -> tuple[list[Expr], np.ndarray]:
        """Return the derivatives that are not zero, row by row, and their flat places."""
        rank = {x: j for j, x in enumerate(variables)}
        entries, places = [], []
        for i, f in enumerate(functions):
            for j in sorted(rank[x] for x in f.free_symbols if x in rank):
                derivative = f.diff(variables[j])
                if derivative != 0:
                    entries.append(derivative)
                    places.append(i * len(variables) + j)
        return entries, np.array(places, np.int64)

    @shared
    def _given(self) -> tuple[Matrix, Matrix, Matrix]:
        """M, K, C of a linear system; sparse if they were, or if most entries are zero."""
        given = self.system.M, self.system.K, self.system.C  # type: ignore[attr-defined]
        if is_sparse(given[0]):
            return given
        if self.n < _SMALL or sum(map(np.count_nonzero, given)) > self.n**2 / 4:
            return given
        from scipy.sparse import csr_array

        return tuple(map(csr_array, given))

    @shared
    def fixed(self) -> np.ndarray:
        """The entries of f that are numbers, (n,), which no bundle returns; zeros if not linear."""
        f = self.system.f if self.linear else ()  # type: ignore[attr-defined]
        return np.array([x if x.is_Number else 0 for x in f] or np.zeros(self.n), float)

    def _linear_rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """CSR rows of F over inp[1:]: -K, -C and the numbers of f; empty if not linear.

        LLVM takes minutes over thousands of numbers.
        """
        if not self.linear:
            return np.zeros(self.n + 1, np.int64), np.zeros(0, np.int64), np.zeros(0)
        from scipy.sparse import csr_array, hstack

        _, K, C = self._given
        columns = [
            [float(x) if x.is_Number else 0.0 for x in record.along]
            for record in self.system.records
        ]
        unused = csr_array((self.n, len(self.system.parameters)))
        along = csr_array(np.reshape([*columns, self.fixed], (-1, self.n)).T)
        rows = csr_array(hstack([-csr_array(K), -csr_array(C), unused, along]))
        return rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data

    # -- numbers ------------------------------------------------------------------------------

    def input(self, rho: Reals) -> np.ndarray:
        """Return a fresh input vector [t, q, v, rho, records] with zero state; if linear also 1."""
        zeros, more = np.zeros(1 + 2 * self.n), [0.0] * len(self.system.records)
        return np.concatenate([zeros, rho, more, [1.0] * self.linear])

    def begun(self, inp: np.ndarray) -> Compiled:
        """Return the functions for one run with this input vector."""
        return self

    def start(self, rho: Reals) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return q0, v0 and the restitutions e of the contacts for these parameters.

        Raises
        ------
        BadModel
            If a start formula is not finite here.
        BadValue
            If a restitution leaves [0, 1].
        """
        values, n = self._start(self.input(rho)), self.n
        q0, v0, e = values[:n], values[n : 2 * n], values[2 * n : 2 * n + self.nc]
        if not np.isfinite(values[: 2 * n]).all():
            what = f"The start of '{self.system.name}' is not finite: q = {q0}, v = {v0}."
            raise BadModel(f"{what} Check its formulas and their parameters.")
        if self.system.assembles is not None:
            q0, v0 = assembly(self.system)(rho, values[: 2 * n]).reshape(2, n)
        for contact, value in zip(self.system.contacts, e, strict=True):
            if not 0 <= value <= 1:
                raise BadValue(
                    f"The restitution of {contact.name!r} is e = {value:g}, but Newton's impact "
                    "law needs 0 <= e <= 1 (0: no rebound, 1: no loss)."
                )
        return q0, v0, e

    def e_t(self, inp: np.ndarray) -> np.ndarray:
        """Return the tangential restitutions where there is friction."""
        return self._start(inp)[2 * self.n + self.nc :]

    @shared
    def compliance(self) -> Compliance:
        """The compliance of the contacts."""
        return Compliance(self.system, [*self.args, *[se.Symbol("_one")] * self.linear])

    def recorded(self, t: np.ndarray, rho: Reals) -> np.ndarray:
        """Return the sampled forces at times t (n_t,) in s: (n_t, n)."""
        records = self.system.records
        values = [np.interp(t, r.dt * np.arange(len(r.values)), r.values) for r in records]
        along = self._along(self.input(rho)).reshape(len(records), self.n)
        return np.asarray(np.reshape(values, (len(records), -1)).T @ along)

    def forces(self, inp: np.ndarray) -> np.ndarray:
        """Return F (n,), linear parts and yielding springs (not slipped yet) included."""
        n = self.n
        F = self._native["force"](inp)[:n].copy()
        if self.linear:
            rows = np.repeat(np.arange(n), np.diff(self.lin_ptr))
            F += np.bincount(rows, self.lin_val * inp[1 + self.lin_col], n)
        if self.system.springs:
            self._springs(inp, F, np.empty(n * n))
        return F

    def tangents(self, inp: np.ndarray) -> tuple[Matrix, Matrix, Matrix]:
        """Return M, K, C at an input vector, springs that yield counted as elastic."""
        M, K, C, _ = self.matrices(inp)
        if self.system.springs:
            self._springs(inp, np.empty(self.n), K.reshape(K.size))
        return M, K, C

    def _springs(self, inp: np.ndarray, F: np.ndarray, K: np.ndarray) -> None:
        """Add the springs that yield, not slipped yet, to F and K."""
        from explorer.kernels.time_stepping import bilinear_springs as bilinear

        kind, count = self.structural, len(self.system.springs)
        bilinear.spring_forces(kind.at(inp), bilinear.springs_at_rest(kind.pattern, count), F, K)

    def matrices(self, inp: np.ndarray) -> tuple[Matrix, Matrix, Matrix, np.ndarray]:
        """Return M, K = -F_q, C = -F_v, each (n, n), and the entries of G, at an input vector.

        Constant ones of many coordinates are all `scipy.sparse.csr_array`, or as they were given.
        """
        n = self.n
        G = self._gap(inp)[self._at_G :][: len(self.gap_col)]
        if self.linear:
            return *self._given, G
        step, places = -self.bundles["step"](inp), (self.place_M, self.place_K, self.place_C)
        at_C = n + self.place_K.size
        entries = self.bundles["mass"](inp), step[n:at_C], step[at_C:]
        sparse = self.constant and n > _FULL and not self.system.springs
        M, K, C = (matrix(*x, n, sparse=sparse) for x in zip(entries, places, strict=True))
        return M, K, C, G

    def _gap(self, inp: np.ndarray) -> np.ndarray:
        """Return gap, velocities at v = 0, the entries of G, mu and mu_s, phi."""
        return self.bundles["gap"](inp) if self.nc + self.bound else np.zeros(0)

    @property
    def _at_G(self) -> int:
        return self.nc + self.rows + self.bound

    def constrained(self, G: np.ndarray) -> np.ndarray:
        """Return the gradients of the constraints (bound, n) from the entries of G."""
        rows, ptr = np.zeros((self.bound, self.n)), self.gap_ptr
        for c in range(self.bound):
            here = slice(ptr[self.rows + c], ptr[self.rows + c + 1])
            rows[c, self.gap_col[here]] = G[here]
        return rows

    def frictions(self, inp: np.ndarray) -> list[tuple[str, float, float]]:
        """Return the contact, mu and mu_s of each tangent."""
        mu = self._gap(inp)[self._at_G + len(self.gap_col) :][: 2 * (self.rows - self.nc)]
        names = [self.system.contacts[k].name for k, _, _ in self.system.tangents]
        return list(zip(names, *mu.reshape(2, -1), strict=True))

    def culprit(self, inp: np.ndarray) -> str:
        """Return a sentence that names the formula that is not finite here, or nothing."""
        M, K, C, G = self.matrices(inp)
        values = M.sum(), self.bundles["force"](inp), self._gap(inp), K.sum() + C.sum(), G
        for what, value in zip(_PARTS, values, strict=True):
            if not np.isfinite(value).all():
                return f" The {what} is not finite {self._where(inp)}."
        return ""

    def _where(self, inp: np.ndarray) -> str:
        q, v = inp[1 : self.n + 1], inp[self.n + 1 : 2 * self.n + 1]
        return f"at t = {quantity(inp[0], 's')}, q = {checks.short(q)}, v = {checks.short(v)}"

    def check(
        self, inp: np.ndarray, *, singular: bool = False
    ) -> tuple[Matrix, Matrix, Matrix, np.ndarray]:
        """Return `matrices` at a state; refuse a state where the equations are inconsistent.

        `singular`: M may be singular, see `explorer.systems.massless`.

        Raises
        ------
        BadModel
            A formula gives NaN or infinity (named, with time and state); M is not symmetric or
            not positive definite; the start lies below a contact's floor.
        BadValue
            Friction coefficients that are not 0 <= mu <= mu_s, 0 <= e_t <= 1.
        """
        system = self.system
        M, K, C, G = matrices = self.matrices(inp)
        gap, force = self._gap(inp)[: self.nc], self.bundles["force"](inp)
        if not np.isfinite(M.sum() + K.sum() + C.sum() + G.sum() + gap.sum() + force.sum()):
            raise BadModel(
                f"'{system.name}':{self.culprit(inp)} Typical causes are a division by zero and a "
                "root or logarithm of a negative number."
            )
        checks.check_mass(system.name, M, lambda: self._where(inp), singular=singular)
        if self.linear:
            checks.warn_of_growth(system.name, self.growth, self.driven)
        for contact, g, soft in zip(system.contacts, gap, self.compliance.check(inp), strict=True):
            if g < -_ROUNDED and soft == 0:
                raise BadModel(
                    f"'{system.name}' starts inside an obstacle: the gap of {contact.name!r} is "
                    f"{quantity(g, 'm')} {self._where(inp)}. Start with every gap >= 0. If the "
                    "body is on the free side, reverse the sign of the gap."
                )
        if self.rows > self.nc:
            for friction, restitution in zip(self.frictions(inp), self.e_t(inp), strict=True):
                checks.check_friction(*friction, restitution)
        if self.bound:
            values = self._gap(inp)
            phi, phi_t = values[-self.bound :], values[self.nc + self.rows : self._at_G]
            v = inp[1 + self.n :][: self.n]
            checks.check_constraints(system, phi, self.constrained(G), phi_t, v)
        return matrices

    @shared
    def growth(self) -> float:
        """-omega^2 in 1/s2 of a mode of a linear system that grows by itself, or 0."""
        M, K, C = self._given
        massless(self.system.name, self.system.coordinates, M, C, K)
        symmetric = abs(K - K.T).max() <= 1e-9 * abs(K).max()
        return -lowest_square(M, K) if symmetric else 0.0

    @shared
    def driven(self) -> float:
        """Rate in 1/s at which C, or a K that is not symmetric, lets a linear system grow, or 0."""
        return driven_growth(*self._given)

    @shared
    def highest(self) -> tuple[np.ndarray, np.ndarray]:
        """omega^2 and shapes of the three highest modes of a linear system."""
        return natural_modes(*self._given[:2], 3, highest=True)
