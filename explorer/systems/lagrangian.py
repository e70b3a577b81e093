"""Base of the mechanical system types: coordinates, velocities, contacts, a start."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import sympy as sp

from explorer.arguments import a, checked, items
from explorer.errors import BadModel, suggest
from explorer.moved import refuse_moved
from explorer.parameters import number
from explorer.systems.arrays import by_name, matrix, real, vector
from explorer.systems.base import System
from explorer.systems.compliance import flexible, multiplier, named
from explorer.systems.constraints import Change, Constraint, changes, force_name
from explorer.systems.contacts import Contact, law
from explorer.systems.contacts import checked as checked_contact
from explorer.systems.expressions import check_name, expression, text
from explorer.systems.kinks import slope
from explorer.systems.record import Record
from explorer.systems.record import checked as checked_record
from explorer.types import Formula, FormulaMatrix, FormulaVector, Plain, Value

__all__ = ["LagrangianSystem"]


class LagrangianSystem(System):
    """Base of the systems with coordinates q, velocities v = q' and contacts.

    Attributes
    ----------
    coordinates, units : tuple of str
        Names and units of the coordinates.
    q, v : tuple of sympy.Symbol
        Velocities are named ``v_<coordinate>``.
    contacts : tuple of Contact
    records : tuple of Record
    start_q, start_v : tuple of sympy.Expr
        Initial state, formulas of the parameters.
    assembles : tuple of int or None
        Numbers of the coordinates that follow from the constraints at the start; (): pivots choose
        them; None: the start is given whole.
    redundant : bool
        Whether its constraints may depend on each other, so that their forces are not unique.
    """

    assembles: tuple[int, ...] | None = None
    redundant: bool = False
    _replace: Mapping[sp.Basic, sp.Symbol] = MappingProxyType(
        {}
    )  # what formulas may call them, too

    def __init__(
        self, name: str, coordinates: Sequence[str], units: str | Sequence[str], text: str
    ) -> None:
        super().__init__(name, text)
        n = len(coordinates)
        if not n:
            raise BadModel(f"'{name}' needs at least one coordinate.")
        if len(set(coordinates)) != n:
            twice = next(c for c in coordinates if [*coordinates].count(c) > 1)
            raise BadModel(f"Two coordinates of '{name}' are called {twice!r}.")
        for coordinate in coordinates:
            check_name(coordinate, "a coordinate")
        self.coordinates = tuple(coordinates)
        self.q = tuple(sp.Symbol(c) for c in coordinates)
        self.v = tuple(sp.Symbol(f"v_{c}") for c in coordinates)
        self.units = tuple([units] * n if isinstance(units, str) else items(units, "units"))
        if len(self.units) != n:
            raise BadModel(f"'{name}' has {n} coordinates, but {len(self.units)} units are given.")
        self.contacts: tuple[Contact, ...] = ()
        # what contacts give way by, where it is more than compliance times force; their rows of D
        self._gives: Mapping[int, sp.Expr] = {}
        self._D: Mapping[tuple[int, int], sp.Expr] = {}
        self.start_q: tuple[sp.Expr, ...] = (sp.Integer(0),) * n
        self.start_v: tuple[sp.Expr, ...] = (sp.Integer(0),) * n

    @property
    def n(self) -> int:
        """Number of coordinates."""
        return len(self.coordinates)

    def _state_names(self) -> tuple[str, ...]:
        return (*self.coordinates, *(f"v_{c}" for c in self.coordinates))

    @property
    def signals(self) -> tuple[str, ...]:
        """The velocities."""
        return (*(f"v_{c}" for c in self.coordinates),)

    def contact(self, *contacts: Contact) -> None:
        """Add contacts. Contacts whose gaps share multipliers must be added in one call.

        Raises
        ------
        BadModel
            If a gap depends on a velocity or on no coordinate, an e on the state, or a slip
            is not linear in the velocities, or is neither one formula nor two; a compliance that
            is not symmetric.
        """
        labels = [c.name for c in self.contacts]
        for contact in contacts:
            a(contact, Contact, f"a contact of '{self.name}'", "Contact('y', e=0.8)")
            labels.append(contact.name or f"contact {len(labels) + 1}")
            if labels[-1] in labels[:-1]:
                raise BadModel(f"Two contacts of '{self.name}' are called {labels[-1]!r}.")
        lam = [multiplier(x) for x in labels] if any(named(c.gap) for c in contacts) else []
        first, gives, without_e = len(self.contacts), dict(self._gives), self.without_e
        added = []
        for k, (contact, label) in enumerate(zip(contacts, labels[first:], strict=True), first):
            read, given = checked_contact(contact, self, label, self._replace, lam)
            behind = law(contact, self, self.coordinates, label, self._replace)
            read = replace(read, reset=behind)
            if given != 0:
                own = multiplier(label)
                read = replace(read, compliance=slope(given, own))
                if read.compliance.free_symbols & {*lam} or given != read.compliance * own:
                    gives[k] = given
            if contact.e is None and read.slip is None and read.compliance == 0:
                without_e = (*without_e, label)
            added.append(read)
        self._flexible((*self.contacts, *added), gives)
        self.without_e = without_e

    def _flexible(self, contacts: tuple[Contact, ...], gives: Mapping[int, sp.Expr]) -> None:
        """Set the contacts and the deflections of some of them, if D is symmetric."""
        self._D = flexible(self.name, contacts, gives)
        self.contacts, self._gives = contacts, gives
        self.touch()

    @property
    def compliance(self) -> sp.Matrix:
        """Compliance D of the contacts (n_c, n_c) in m/N: displacement of each by each force.

        A matrix of numbers and formulas of the parameters, symmetric and positive semidefinite.
        Contacts with a row of zeros are rigid. If gaps are nonlinear in the multipliers `lam_...`,
        D depends on these.
        """
        D = sp.diag(*(c.compliance for c in self.contacts))
        for place, entry in self._D.items():
            D[place] = entry
        return D

    @compliance.setter
    def compliance(self, value: FormulaMatrix) -> None:
        what, nc = f"compliance of '{self.name}'", len(self.contacts)
        if not nc:
            raise BadModel(f"'{self.name}' has no contacts, so it has no {what}.")
        rows = matrix(value, nc, self.symbols(state=False), what)
        D = [[sp.Integer(0) if x.is_zero else x for x in row] for row in rows]
        lam = [multiplier(c.name) for c in self.contacts]
        gives, contacts = {}, []
        for k, (contact, row) in enumerate(zip(self.contacts, D, strict=True)):
            if contact.compliance not in (0, row[k]):
                raise BadModel(
                    f"The compliance of {contact.name!r} is given twice: {contact.compliance} with "
                    f"the contact, and {row[k]} in the {what}."
                )
            if any(x != 0 for j, x in enumerate(row) if j != k):
                gives[k] = sp.Add(*(x * s for x, s in zip(row, lam, strict=True)))
            contacts.append(replace(contact, compliance=row[k]))
        self._flexible(tuple(contacts), gives)
        rigid = [c.name for c in contacts if c.compliance == 0]
        self.without_e = tuple(x for x in self.without_e if x in rigid)

    def _as_given(self) -> list[Contact]:
        """Return the contacts with the multipliers in their gaps."""
        return [
            replace(c, gap=c.gap + self._gives[k], compliance=0) if k in self._gives else c
            for k, c in enumerate(self.contacts)
        ]

    def constraint(self, constraint: Constraint | Value) -> None:
        """Add a constraint: a `Constraint`, or a formula of t, q and parameters that stays zero.

        Raises
        ------
        BadModel
            If it depends on a velocity or on no coordinate, or `when` cannot change.
        """
        given = constraint if isinstance(constraint, Constraint) else Constraint(constraint)
        label = given.name or f"constraint {len(self.constraints) + 1}"
        phi = expression(given.phi, self.symbols(), f"{label!r}", self._replace)
        if phi.free_symbols & set(self.v):
            raise BadModel(f"{label!r} depends on a velocity; a constraint is phi(t, q) = 0.")
        if not phi.free_symbols & set(self.q):
            raise BadModel(f"{label!r} = {phi} does not depend on any coordinate.")
        if label in [c.name for c in self.constraints]:
            raise BadModel(f"Two constraints of '{self.name}' are called {label!r}.")
        when = None if given.when is None else self._when(given.when, label)
        self.constraints = (*self.constraints, Constraint(phi, label, when, given.units))
        self.touch()

    def _when(self, formula: Formula, label: str) -> sp.Expr:
        """Return the formula that says when a constraint holds."""
        own = force_name(label)
        known = {own: sp.Symbol(own)} | self.symbols()
        when = expression(formula, known, f"when of {label!r}", self._replace)
        if not when.free_symbols - {*self.symbols(state=False).values()}:
            raise BadModel(
                f"when of {label!r} = {when} never changes: it may depend on t, coordinates, "
                f"velocities, parameters and the force {own}. Leave `when` out if the constraint "
                "always holds."
            )
        return when

    @property
    def changes(self) -> tuple[Change, ...]:
        """What adds constraints to the motion, and takes them away."""
        if "changes" not in self.made:
            self.made["changes"] = changes(self.constraints)
        made: tuple[Change, ...] = self.made["changes"]
        return made

    def forcing(self, record: Record) -> None:
        """Add a sampled force, which adds to `force` or f.

        Raises
        ------
        BadModel
            If samples are not a sequence of finite numbers, `along` has not the length n or depends
            on the state, or the name is taken.
        BadValue
            If dt is not positive.
        """
        a(record, Record, f"a record of '{self.name}'", "Record(dt, values, along)")
        self.records = (*self.records, checked_record(record, self))
        self.touch()

    def ground_motion(
        self,
        dt: float,
        values: Sequence[float] | np.ndarray,
        influence: npt.ArrayLike | None = None,
        name: str = "ground",
    ) -> None:
        """Shake the ground with a sampled acceleration a_g; coordinates are relative to it.

        The force is -M influence a_g(t) (Chopra, *Dynamics of Structures*, 9.4).

        Parameters
        ----------
        dt : float
            Time between samples in s.
        values : (k,) float
            a_g in m/s2.
        influence : (n,) float, optional
            Displacements that a unit displacement of the ground causes; ones by default.
        name : str

        Raises
        ------
        BadModel, BadValue
            As `forcing`; or if the influence has a wrong length, or the mass matrix depends on the
            state.
        """
        given = np.ones(self.n) if influence is None else influence
        iota = real(given, f"The influence of {name!r}")
        if iota.shape != (self.n,):
            raise BadModel(
                f"The influence of {name!r} needs {self.n} numbers, but its shape is {iota.shape}."
            )
        self.forcing(Record(dt, values, self._inertia(-iota), name))

    @property
    def mass(self) -> sp.Matrix:
        """Mass matrix M(q, rho), (n, n)."""
        raise BadModel(f"{type(self).__name__} has no mass matrix.")

    @property
    def force(self) -> sp.Matrix:
        """All forces F(t, q, v, rho) on the right-hand side, (n,)."""
        raise BadModel(f"{type(self).__name__} has no forces.")

    def _inertia(self, a: np.ndarray) -> Sequence[sp.Expr] | np.ndarray:
        """Return M a."""
        raise BadModel(f"{type(self).__name__} has no mass matrix.")

    @checked
    def start(
        self,
        q: FormulaVector | None = None,
        v: FormulaVector | None = None,
        *,
        t_end: float | None = None,
        h: float | None = None,
        assemble: bool | str | Sequence[str] | None = None,
        redundant: bool | None = None,
    ) -> None:
        """Set the initial state (formulas of the parameters), and the time span and step in s.

        A dict by coordinate changes only these coordinates. With `assemble` the formulas are a
        guess: dependent coordinates and velocities follow from the constraints. True lets pivots
        choose which these are; or name them ("x1 y1"). Constraints that are `redundant` depend on
        each other; few schemes take them.

        Raises
        ------
        BadModel
            If lengths are wrong, or the start depends on the state.
        BadValue
            If the time span or the step is not a positive number.
        """
        names = self.symbols(state=False)
        self.started = True
        if q is not None:
            what = f"start q of '{self.name}'"
            given = by_name(q, self.coordinates, what, self.start_q, "coordinate")
            self.start_q = vector(given, self.n, names, what)
        if v is not None:
            what = f"start v of '{self.name}'"
            given = by_name(v, self.coordinates, what, self.start_v, "coordinate")
            self.start_v = vector(given, self.n, names, what)
        if assemble is not None:
            self.assembles = self._dependent(assemble)
        self.redundant = self.redundant if redundant is None else redundant
        self.t_end = self.t_end if t_end is None else number(t_end, "t_end", "s", positive=True)
        self.h = self.h if h is None else number(h, "h", "s", positive=True)
        self.touch()

    def _dependent(self, assemble: bool | str | Sequence[str]) -> tuple[int, ...] | None:
        """Return the numbers of the dependent coordinates, () if pivots choose, None if none is."""
        if isinstance(assemble, bool | np.bool_):
            return () if assemble else None
        if not isinstance(assemble, Iterable):
            raise BadModel(
                f"assemble = {assemble!r} must be True, False or names of coordinates, such as "
                f"{' '.join(self.coordinates[:2])!r}."
            )
        names = assemble.split() if isinstance(assemble, str) else list(assemble)
        for name in names:
            if name not in self.coordinates:
                raise BadModel(
                    f"assemble: '{self.name}' has no coordinate {name!r}."
                    + suggest(name, self.coordinates)
                )
        return tuple(sorted({self.coordinates.index(name) for name in names}))

    def _start_spec(self) -> Plain:
        """Return start, time span and step as plain data."""
        return (
            {
                "q": [text(x) for x in self.start_q],
                "v": [text(x) for x in self.start_v],
                "t_end": self.t_end,
                "h": self.h,
            }
            | ({} if self.assembles is None else {"assemble": self._assembled()})
            | ({"redundant": True} if self.redundant else {})
        )

    def _assembled(self) -> bool | list[str]:
        return [self.coordinates[k] for k in self.assembles or ()] or True


refuse_moved(globals())
