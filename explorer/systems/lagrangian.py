"""What the mechanical system types share: coordinates, velocities, contacts, a start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import sympy as sp

from explorer.arguments import Checked, a, items
from explorer.errors import BadModel
from explorer.parameters import number
from explorer.systems.base import System
from explorer.systems.contacts import Contact
from explorer.systems.contacts import checked as checked_contact
from explorer.systems.expressions import by_name, check_name, expression, real, text, vector
from explorer.systems.record import Record, checked

__all__ = ["BilinearSpring", "Constraint", "LagrangianSystem"]


@dataclass(frozen=True)
class Constraint(metaclass=Checked):
    """A bilateral constraint phi(t, q) = 0: a joint, a rod, a track.

    Parameters
    ----------
    phi : formula
        What stays zero, in m (or rad); may depend on t, q and parameters.
    name : str
        "constraint 1", ... if empty.
    """

    phi: Any
    name: str = ""


@dataclass(frozen=True)
class BilinearSpring(metaclass=Checked):
    """A spring that yields: stiffness k up to the force f_y, b k beyond (kinematic hardening).

    Parameters
    ----------
    elongation : formula
        In m (or rad), linear in the coordinates.
    k, f_y, b : formula
        Stiffness > 0, yield force > 0, hardening ratio in [0, 1); may depend on parameters.
    name : str
        "spring 1", ... if empty.
    """

    elongation: Any
    k: Any
    f_y: Any
    b: Any = 0
    name: str = ""


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
    """

    _replace: Mapping[Any, sp.Symbol] = MappingProxyType({})  # what formulas may call them, too

    def __init__(
        self, name: str, coordinates: Sequence[str], units: str | Sequence[str], text: str
    ) -> None:
        super().__init__(name, text)
        n = len(coordinates)
        if not n or len(set(coordinates)) != n:
            raise BadModel(f"'{name}' needs at least one coordinate, each with its own name.")
        for coordinate in coordinates:
            check_name(coordinate, "a coordinate")
        self.coordinates = tuple(coordinates)
        self.q = tuple(sp.Symbol(c) for c in coordinates)
        self.v = tuple(sp.Symbol(f"v_{c}") for c in coordinates)
        self.units = tuple([units] * n if isinstance(units, str) else items(units, "units"))
        if len(self.units) != n:
            raise BadModel(f"'{name}' has {n} coordinates, but {len(self.units)} units are given.")
        self.contacts: tuple[Contact, ...] = ()
        self.start_q: tuple[sp.Expr, ...] = (sp.Integer(0),) * n
        self.start_v: tuple[sp.Expr, ...] = (sp.Integer(0),) * n

    @property
    def n(self) -> int:
        """Number of coordinates."""
        return len(self.coordinates)

    def to_spec(self) -> dict[str, Any]:
        """Return everything that defines the system as plain data (JSON)."""
        raise BadModel(f"{type(self).__name__} cannot be written down.")

    def _state_names(self) -> tuple[str, ...]:
        return (*self.coordinates, *(f"v_{c}" for c in self.coordinates))

    def contact(self, contact: Contact) -> None:
        """Add a contact.

        Raises
        ------
        BadModel
            If its gap depends on a velocity or on no coordinate, its e on the state, or its slip
            is not linear in the velocities, or is neither one formula nor two.
        """
        a(contact, Contact, f"a contact of '{self.name}'", "Contact('y', e=0.8)")
        label = contact.name or f"contact {len(self.contacts) + 1}"
        if label in [c.name for c in self.contacts]:
            raise BadModel(f"Two contacts of '{self.name}' are called {label!r}.")
        read = checked_contact(contact, self, label, self._replace)
        if contact.e is None and read.slip is None and read.compliance == 0:
            self.without_e = (*self.without_e, label)
        self.contacts = (*self.contacts, read)
        self.touch()

    def constraint(self, constraint: Any) -> None:
        """Add a constraint: a `Constraint`, or a formula of t, q and parameters that stays zero.

        Raises
        ------
        BadModel
            If it depends on a velocity or on no coordinate.
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
        self.constraints = (*self.constraints, Constraint(phi, label))
        self.touch()

    def forcing(self, record: Record) -> None:
        """Add a sampled force; it acts besides `force`, or f.

        Raises
        ------
        BadModel
            Samples that are no finite numbers in one row, an `along` of another length than n or
            dependent on the state, a name that is taken.
        BadValue
            A dt that is not positive.
        """
        a(record, Record, f"a record of '{self.name}'", "Record(dt, values, along)")
        self.records = (*self.records, checked(record, self))
        self.touch()

    def ground_motion(
        self, dt: float, values: Any, influence: Any = None, name: str = "ground"
    ) -> None:
        """Shake the ground with a sampled acceleration a_g; coordinates are relative to it.

        The force is -M influence a_g(t) (Chopra, *Dynamics of Structures*, 9.4).

        Parameters
        ----------
        dt : float
            Distance of the samples in s.
        values : (k,) float
            a_g in m/s2.
        influence : (n,) float, optional
            Displacements that a unit displacement of the ground causes; ones by default.
        name : str

        Raises
        ------
        BadModel, BadValue
            As `forcing`; an influence of wrong length; a mass matrix that depends on the state.
        """
        given = np.ones(self.n) if influence is None else influence
        iota = real(given, f"The influence of {name!r}")
        if iota.shape != (self.n,):
            raise BadModel(
                f"The influence of {name!r} needs {self.n} numbers, but its shape is {iota.shape}."
            )
        self.forcing(Record(dt, values, self._inertia(-iota), name))

    def _inertia(self, a: np.ndarray) -> Any:
        """Return M a."""
        raise BadModel(f"{type(self).__name__} has no mass matrix.")

    def start(
        self, q: Any = None, v: Any = None, *, t_end: float | None = None, h: float | None = None
    ) -> None:
        """Set the initial state (formulas of the parameters), and the time span and step in s.

        A dict by coordinate changes these alone.

        Raises
        ------
        BadModel
            Wrong lengths, or a start that depends on the state.
        BadValue
            A time span or a step that is not a positive number.
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
        self.t_end = self.t_end if t_end is None else number(t_end, "t_end", "s", positive=True)
        self.h = self.h if h is None else number(h, "h", "s", positive=True)
        self.touch()

    def _start_spec(self) -> dict[str, Any]:
        """Return start, time span and step as plain data."""
        return {
            "q": [text(x) for x in self.start_q],
            "v": [text(x) for x in self.start_v],
            "t_end": self.t_end,
            "h": self.h,
        }
