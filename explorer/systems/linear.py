"""`LinearMechanicalSystem`: M v' + C v + K q = f(t) + H' lam + T' lam_t - J' lam_phi, from arrays.

Contacts 0 <= H q + b perp lam >= 0 with friction against T v, and constraints J q + c = 0; both may
also be formulas.
(Event-capturing schemes, "Lagrangian (second order) Linear Systems with Time Invariant
coefficients" and "Lagrangian Linear Relations".) It suits finite elements and shear buildings: no
symbolic matrix is formed, and sparse matrices stay sparse.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias, TypeGuard

import numpy as np
import numpy.typing as npt
import sympy as sp
from scipy.sparse import csr_array

from explorer.arguments import items, several
from explorer.errors import BadModel
from explorer.parameters import Param, param_of
from explorer.systems import display
from explorer.systems.arrays import as_lists, by_name, cells, from_lists, plain, real
from explorer.systems.constraints import Constraint, as_plain
from explorer.systems.contacts import Contact, coefficient, written
from explorer.systems.expressions import expression, text
from explorer.systems.lagrangian import LagrangianSystem
from explorer.systems.record import Record, listed
from explorer.types import (
    FormulaMatrix,
    FormulaVector,
    Matrix,
    MatrixLike,
    Plain,
    Settings,
    Sparse,
    Value,
)

__all__ = ["LinearMechanicalSystem"]

_ROWS, _OFFSETS = ("H", "T", "J"), ("b", "c")
Each: TypeAlias = "Value | Sequence[Value] | np.ndarray"  # of all contacts, or one for each
_LAW = ("e", "mu", "mu_s", "e_t", "compliance")  # of each contact


class LinearMechanicalSystem(LagrangianSystem):
    """A linear mechanical system given by matrices.

    Parameters
    ----------
    name : str
    M : (n, n) array or scipy.sparse
        Symmetric mass matrix, positive definite; or positive semidefinite, if massless directions
        have stiffness or damping: see `explorer.systems.massless` for the schemes that accept it.
    K, C : (n, n) array or scipy.sparse, optional
        Stiffness and damping; zero if not given. If one of the three is sparse, all are kept as
        `scipy.sparse.csr_array`.
    f : (n,) sequence of numbers, text or SymPy formulas of t and the parameters, optional
    H : (n_c, n) array or scipy.sparse, optional
        Rows of the gaps H q + b, in m.
    b, e : float or (n_c,), optional
        Offsets in m and restitutions (numbers or formulas of the parameters).
    T : (n_c, n) array or scipy.sparse, optional
        Rows of the sliding velocities T v, in m/s; a row of zeros is a contact without friction.
    mu, mu_s, e_t, compliance : float or (n_c,), optional
        As for `Contact`: numbers or formulas of the parameters. `compliance` may also be an (n_c,
        n_c) matrix: the displacement of these contacts, or of these and those of `contacts`, by the
        force of each.
    J, c : (m, n) array or scipy.sparse, float or (m,), optional
        Constraints J q + c = 0, in m.
    names : sequence of str, optional
        Names of the contacts.
    contacts, constraints : optional
        Arguments of `contact` and `constraint`, as formulas, for gaps that depend on t and friction
        in space.
    records : sequence of Record, optional
        Sampled forces, see `forcing` and `ground_motion`.
    params, start, units, text : as for `MechanicalSystem`; `start` is a dict: q, v, t_end, h.

    Raises
    ------
    BadModel
        If a shape does not fit, an entry is not finite, or M is not symmetric.

    Examples
    --------
    >>> import explorer as ex
    >>> masses = ex.LinearMechanicalSystem("two masses", [[1, 0], [0, 1]], [[2, -1], [-1, 2]],
    ...                                    start=dict(q=[1, 0]))
    >>> ex.study.modes(masses)
    Modes('two masses', omega = (1, 1.73205) rad/s)
    """

    kind = "linear mechanical system"

    def __init__(
        self,
        name: str,
        M: MatrixLike,
        K: MatrixLike | None = None,
        C: MatrixLike | None = None,
        f: FormulaVector | None = None,
        *,
        H: MatrixLike | None = None,
        b: npt.ArrayLike = 0.0,
        e: Each = 0.0,
        T: MatrixLike | None = None,
        mu: Each | None = None,
        mu_s: Each | None = None,
        e_t: Each = 0.0,
        compliance: Each | FormulaMatrix = 0.0,
        J: MatrixLike | None = None,
        c: npt.ArrayLike = 0.0,
        names: Sequence[str] = (),
        contacts: Iterable[Contact] = (),
        constraints: Iterable[Constraint | Value] = (),
        records: Iterable[Record] = (),
        params: Mapping[str, Param | float] | None = None,
        start: Settings | None = None,
        units: str | Sequence[str] = "m",
        text: str = "",
    ) -> None:
        self.name = name
        sparse = any(hasattr(A, "tocsr") for A in (M, K, C))
        self.M = self._array(M, "M", None, sparse)
        n = self.M.shape[0]
        super().__init__(name, [f"q{i + 1}" for i in range(n)], units, text)
        if self.M.shape != (n, n):
            raise BadModel(f"M of '{name}' must be square, but it is {self.M.shape}.")
        if (abs(self.M - self.M.T) > 1e-10 * abs(self.M)).sum():
            raise BadModel(f"M of '{name}' must be symmetric.")
        self.K, self.C = (
            self._array(0 * self.M if A is None else A, what, (n, n), sparse)
            for A, what in ((K, "K"), (C, "C"))
        )
        self.params(**self._parameters(params))
        zero: list[Value] = [0] * n
        loads = by_name(
            zero if f is None else f, self.coordinates, f"f of '{name}'", zero, "coordinate"
        )
        given = several(loads, 1)
        if len(given) != n:
            raise BadModel(f"f of '{name}' needs {n} components, but {len(given)} given.")
        known = self.symbols(state=False, time=True)
        self.f = tuple(expression(plain(x), known, f"f of '{name}'") for x in given)
        self.H, self.b, gaps = self._forms("H", H, "b", b, self.q)
        self.T, _, slips = self._forms("T", T, "", 0, self.v)
        self.J, self.c, phis = self._forms("J", J, "c", c, self.q)
        nc = len(gaps)
        self._check_friction(T, mu, nc)
        mu = 0 if mu is None else mu
        slips = [sp.Integer(0)] * nc if T is None else slips
        labels = list(names) or [f"contact {i + 1}" for i in range(nc)]
        self._check_rows(labels, gaps, slips, phis)
        listed = getattr(compliance, "tolist", lambda: compliance)()
        D = listed if isinstance(listed, (list, tuple)) else ()
        coupled = any(isinstance(x, (list, tuple)) for x in D)
        given_each = {
            "e": e,
            "mu": mu,
            "mu_s": mu_s,
            "e_t": e_t,
            "compliance": 0 if coupled else listed,
        }
        each = {k: self._each(k, value, nc) for k, value in given_each.items()}
        self.contacts = tuple(
            self._contact(gap, slip, label, {k: values[i] for k, values in each.items()})
            for i, (gap, slip, label) in enumerate(zip(gaps, slips, labels, strict=True))
        )
        self.constraints = tuple(
            Constraint(phi, f"constraint {i + 1}") for i, phi in enumerate(phis)
        )
        if coupled and len(D) == nc:
            self.compliance = D
        self.contact(*items(contacts, f"contacts of '{name}'", Contact))
        if coupled and len(D) != nc:
            self.compliance = D
        for more in items(constraints, f"constraints of '{name}'", Constraint, str, sp.Expr):
            self.constraint(more)
        for record in items(records, f"records of '{name}'", Record):
            self.forcing(record)
        self._begin(start)

    def _check_friction(self, T: MatrixLike | None, mu: Each | None, count: int) -> None:
        """Refuse friction without sliding velocities, and sliding velocities without coefficients.

        Raises
        ------
        BadModel
        """
        if T is None and any(x not in (0, None) for x in self._each("mu", mu, count)):
            raise BadModel(
                f"'{self.name}' has friction, but no sliding velocities: give T, whose rows make "
                "T v."
            )
        if T is not None and mu is None:
            raise BadModel(
                f"'{self.name}' has sliding velocities T v, but no friction coefficients: give mu "
                "(mu=0 if its contacts are meant to slide freely)."
            )

    def _check_rows(
        self,
        labels: Sequence[str],
        gaps: Sequence[sp.Expr],
        slips: Sequence[sp.Expr],
        phis: Sequence[sp.Expr],
    ) -> None:
        """Refuse rows of zeros in H or J, and names that do not fit the contacts.

        Raises
        ------
        BadModel
        """
        name, nc = self.name, len(gaps)
        if len(slips) != nc:
            raise BadModel(f"T of '{name}' needs {nc} rows, one a contact, but has {len(slips)}.")
        if any(gap.is_Number for gap in gaps):
            label = next(x for x, gap in zip(labels, gaps, strict=False) if gap.is_Number)
            raise BadModel(f"The row of H of {label!r} is zero: its gap has no coordinate.")
        if any(phi.is_Number for phi in phis):
            raise BadModel(f"A row of J of '{name}' is zero: it constrains no coordinate.")
        twice = [x for i, x in enumerate(labels) if x in labels[:i]]
        if twice:
            raise BadModel(f"Two contacts of '{name}' are called {twice[0]!r}.")
        if len(labels) != nc:
            raise BadModel(f"'{name}' has {nc} contacts, but {len(labels)} names are given.")

    @property
    def mass(self) -> sp.Matrix:
        """M as formulas, for schemes that need all equations as formulas."""
        return sp.SparseMatrix(*self.M.shape, cells(self.M)).as_mutable()

    @property
    def force(self) -> sp.Matrix:
        """All forces f - K q - C v as formulas, (n,)."""
        F = list(self.f)
        for A, x in ((self.K, self.q), (self.C, self.v)):
            for (i, j), value in cells(A).items():
                F[i] -= value * x[j]
        return sp.Matrix(F)

    def _inertia(self, a: np.ndarray) -> np.ndarray:
        force: np.ndarray = self.M @ a
        return force

    def _forms(
        self,
        what: str,
        A: MatrixLike | None,
        which: str,
        offsets: npt.ArrayLike,
        state: tuple[sp.Symbol, ...],
    ) -> tuple[Matrix, np.ndarray, list[sp.Expr]]:
        """Return A (no rows if None), its offsets, and A state + offsets as formulas."""
        if A is None:
            rows: Matrix = np.zeros((0, self.n))
        else:
            rows = self._array(A, what, (None, self.n), hasattr(A, "tocsr"))
        count = rows.shape[0]
        name = f"{which} of '{self.name}'"
        given = real(offsets, name)
        try:
            added = np.array(np.broadcast_to(given, count))
        except ValueError:
            raise BadModel(
                f"{name} must be a number or {count} numbers, but {np.size(offsets)} are given."
            ) from None
        terms: list[list[sp.Expr]] = [[sp.Float(x)] if x else [] for x in added]
        for (i, j), value in cells(rows).items():
            terms[i].append(value * state[j])
        return rows, added, [sp.Add(*row) for row in terms]

    def _each(
        self, what: str, given: Each | FormulaMatrix | None, count: int
    ) -> list[Value | None]:
        """Return one value for each contact."""
        values = several(given, count)
        if len(values) != count:
            raise BadModel(
                f"{what} of '{self.name}' needs {count} entries, but {len(values)} given."
            )
        return values

    def _contact(
        self, gap: sp.Expr, slip: sp.Expr, label: str, given: Mapping[str, Value | None]
    ) -> Contact:
        known = self.symbols(state=False)
        law = {
            k: coefficient(plain(x), known, f"{k} of {label!r}")
            for k, x in given.items()
            if x is not None and (slip != 0 or k in ("e", "compliance"))
        }
        law = {"mu": sp.Integer(0)} | law
        return Contact(gap=gap, name=label, slip=None if slip == 0 else slip, **law)

    def _array(
        self,
        value: MatrixLike | Matrix,
        what: str,
        shape: tuple[int | None, int] | None,
        sparse: bool,
    ) -> Matrix:
        """Return a checked matrix: csr_array without zeros if `sparse`, else an array."""
        name = f"{what} of '{self.name}'"
        if _is_sparse(value):
            value = value.tocsr() if sparse else value.toarray()
        if _is_sparse(value):
            parts = (real(value.data, name, "a matrix of numbers"), value.indices, value.indptr)
            array = csr_array(parts, value.shape, copy=True)
        else:
            array = np.array(real(value, name, "a matrix of numbers"), ndmin=2)
        if sparse:
            array = csr_array(array)
            array.sum_duplicates()
            array.eliminate_zeros()
        wanted = shape or array.shape
        if array.ndim != 2 or any(
            w is not None and w != s for w, s in zip(wanted, array.shape, strict=True)
        ):
            sizes = " x ".join("any" if w is None else str(w) for w in wanted)
            raise BadModel(f"{what} of '{self.name}' must be {sizes}, but it is {array.shape}.")
        return array

    def equations_markdown(self) -> str:
        """Return name, equations, parameters and start as Markdown."""
        return display.linear(self)

    def to_spec(self) -> Plain:
        """Return everything that defines the system as plain data (JSON)."""
        nr = len(self.b)
        rows, others = self.contacts[:nr], self._as_given()[nr:]
        given: dict[str, list[str | None] | list[list[str]]] = {
            k: [_written(getattr(c, k)) for c in rows] for k in _LAW
        }
        if any(k < nr for k in self._gives):
            across = any(min(place) < nr <= max(place) for place in self._D)
            if across:
                others = [replace(c, compliance=0) for c in self.contacts[nr:]]
            D = self.compliance if across else self.compliance[:nr, :nr]
            given["compliance"] = [[text(x) for x in row] for row in D.tolist()]
        return {
            "type": "LinearMechanicalSystem",
            "name": self.name,
            "text": self.text,
            "units": list(self.units),
            "params": {k: vars(p) for k, p in self.parameters.items()},
            **{k: as_lists(getattr(self, k)) for k in ("M", "K", "C", *_ROWS, *_OFFSETS)},
            "f": [text(x) for x in self.f],
            **{k: x for k, x in given.items() if self.T.shape[0] or k in ("e", "compliance")},
            "names": [c.name for c in rows],
            "contacts": [written(c) for c in others],
            "constraints": [as_plain(c) for c in self.constraints[len(self.c) :]],
            "records": listed(self.records),
            "start": self._start_spec(),
        }

    @classmethod
    def from_spec(cls, spec: Plain) -> LinearMechanicalSystem:
        """Build the system that `to_spec` described."""
        M, K, C = (from_lists(spec[k]) for k in ("M", "K", "C"))
        rows = {k: from_lists(spec[k]) for k in _ROWS if k in spec and np.size(spec[k])}
        return cls(
            spec["name"],
            M,
            K,
            C,
            spec["f"],
            **rows,
            names=spec["names"],
            **{k: spec[k] for k in (*_OFFSETS, *_LAW) if k in spec},
            contacts=[Contact(**k) for k in spec.get("contacts", ())],
            constraints=[Constraint(**k) for k in spec.get("constraints", ())],
            records=[Record(**r) for r in spec.get("records", ())],
            params={k: param_of(p) for k, p in spec["params"].items()},
            start=spec["start"],
            units=spec["units"],
            text=spec["text"],
        )


def _is_sparse(A: MatrixLike) -> TypeGuard[Sparse]:
    return hasattr(A, "tocsr")


def _written(x: Value | None) -> str | None:
    return None if x is None else text(sp.sympify(x))
