"""`MechanicalSystem`: M(q, rho) v' = F(t, q, v, rho) + G' p, q' = v, 0 <= gap(t, q, rho) perp p >= 0.

At an impact v+ = v- + M^-1 G' p with Newton's law: the normal velocity of a contact that receives
an impulse satisfies gap'(+) = -e gap'(-). (Event-capturing schemes, "Lagrangian systems" and
"Non Smooth laws"; the scleronomous, rheonomous and linear relations are one formula `gap` here.)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp

from explorer.errors import BadModel
from explorer.parameters import Param, number
from explorer.systems import display
from explorer.systems.base import _NAME, System
from explorer.systems.expressions import expression, matrix, text, vector

__all__ = ["Contact", "MechanicalSystem"]


@dataclass(frozen=True)
class Contact:
    """A unilateral contact.

    Parameters
    ----------
    gap : formula
        Distance in m, >= 0 when open; may depend on t, q and parameters.
    e : formula
        Newton restitution in [0, 1]; may depend on parameters.
    name : str
        Shown in event lists; "contact 1", ... if empty.
    """

    gap: Any
    e: Any = 0
    name: str = ""


class MechanicalSystem(System):
    """A mechanical system given by its equations.

    Parameters
    ----------
    name : str
    q : str, int or sequence
        Coordinates: names in one string, their number, a list of names, or a list of
        `sympy.physics.mechanics.dynamicsymbols`. Velocities are named ``v_<coordinate>``.
    u : sequence, optional
        Generalised speeds of `KanesMethod`, if they are the derivatives of `q` under other names.
    units : str or sequence of str, optional
        Units of the coordinates ("m", "rad"), for the axes of pictures.
    params, mass, force, potential, contacts, start, sketch, text :
        The same as the methods and attributes of these names, for a system in one call.

    Raises
    ------
    BadModel
        Names that clash or are no identifiers; later, each formula that does not fit.

    Examples
    --------
    >>> ball = MechanicalSystem("ball", q="y", params=dict(g=9.81), mass=1, force="-g",
    ...                         contacts=[Contact("y", e=0.8)], start=dict(q=1.0))
    >>> ball.contacts[0].name
    'contact 1'
    """

    kind = "mechanical system"

    def __init__(
        self,
        name: str,
        q: str | int | Sequence[Any],
        *,
        u: Sequence[Any] = (),
        params: Mapping[str, Param | float] | None = None,
        mass: Any = None,
        force: Any = None,
        potential: Any = None,
        contacts: Iterable[Contact] = (),
        start: Mapping[str, Any] | None = None,
        sketch: Iterable[Any] = (),
        units: str | Sequence[str] = "",
        text: str = "",
    ) -> None:
        super().__init__(name, text)
        if isinstance(q, int):
            q = [f"q{i + 1}" for i in range(q)]
        items = q.replace(",", " ").split() if isinstance(q, str) else list(q)
        self._replace: dict[Any, sp.Symbol] = {}
        names = [self._coordinate(item) for item in items]
        if not names or len(set(names)) != len(names):
            raise BadModel(f"'{name}' needs at least one coordinate, each with its own name.")
        for coordinate in names:
            if not _NAME.match(coordinate) or coordinate == "t":
                raise BadModel(f"{coordinate!r} cannot name a coordinate.")
        self.coordinates = tuple(names)
        self.q = tuple(sp.Symbol(n) for n in names)
        self.v = tuple(sp.Symbol(f"v_{n}") for n in names)
        self._replace_dynamic(items, list(u))
        n = self.n
        self.units = tuple([units] * n if isinstance(units, str) else units)
        if len(self.units) != n:
            raise BadModel(f"'{name}' has {n} coordinates, but {len(self.units)} units are given.")
        self._mass: tuple = matrix(sp.eye(n), n, {}, "mass")
        self._force: tuple = (sp.Integer(0),) * n
        self._potential: sp.Expr | None = None
        self.contacts: tuple[Contact, ...] = ()
        self.start_q: tuple = (sp.Integer(0),) * n
        self.start_v: tuple = (sp.Integer(0),) * n
        self.params(**(params or {}))
        if mass is not None:
            self.mass = mass
        if force is not None:
            self.force = force
        if potential is not None:
            self.potential = potential
        for contact in contacts:
            self.contact(contact)
        if start is not None:
            self.start(**start)
        if sketch:
            self.sketch(*sketch)

    @property
    def n(self) -> int:
        """Number of coordinates."""
        return len(self.coordinates)

    def _state_names(self) -> tuple[str, ...]:
        return (*self.coordinates, *(f"v_{c}" for c in self.coordinates))

    # -- equations ----------------------------------------------------------------------------

    @property
    def mass(self) -> sp.Matrix:
        """Mass matrix M(q, rho), (n, n), symmetric and positive definite."""
        return sp.Matrix(self._mass)

    @mass.setter
    def mass(self, value: Any) -> None:
        what = f"mass of '{self.name}'"
        self._mass = matrix(value, self.n, self.symbols(), what, self._replace)
        allowed = {*self.q, *self.symbols(state=False).values()}
        for i, row in enumerate(self._mass):
            for j, x in enumerate(row):
                bad = x.free_symbols - allowed
                if bad:
                    raise BadModel(
                        f"{what}[{i}, {j}] depends on {sorted(map(str, bad))[0]!r}; a mass matrix "
                        "may depend on coordinates and parameters only."
                    )
        self.touch()

    @property
    def force(self) -> sp.Matrix:
        """All forces F(t, q, v, rho) on the right-hand side, gyroscopic ones included, (n,)."""
        return sp.Matrix(self._force)

    @force.setter
    def force(self, value: Any) -> None:
        what = f"force of '{self.name}'"
        self._force = vector(value, self.n, self.symbols(), what, self._replace)
        self.touch()

    @property
    def potential(self) -> sp.Expr | None:
        """Potential energy V(t, q, rho) in J; derived if the force at rest is a polynomial in q."""
        return self._potential if self._potential is not None else self._derived_potential()

    @potential.setter
    def potential(self, value: Any) -> None:
        what = f"potential of '{self.name}'"
        self._potential = expression(value, self.symbols(), what, self._replace)
        self.touch()

    def _derived_potential(self) -> sp.Expr | None:
        at_rest = {v: 0 for v in self.v}
        s = sp.Symbol("_s")
        total = sp.Integer(0)
        F = [f.xreplace(at_rest) if f.free_symbols & set(self.v) else f for f in self._force]
        for i, (f, q) in enumerate(zip(F, self.q, strict=True)):
            inside = [x for x in self.q if x in f.free_symbols]
            if self.t in f.free_symbols or (inside and not f.is_polynomial(*inside)):
                return None
            for j, other in enumerate(self.q[:i]):
                if sp.expand(f.diff(other) - F[j].diff(q)) != 0:
                    return None
            along = f.xreplace({x: s * x for x in inside})
            total -= q * (sp.integrate(sp.expand(along), (s, 0, 1)) if inside else f)
        return total

    def contact(self, contact: Contact) -> None:
        """Add a contact.

        Raises
        ------
        BadModel
            If its gap depends on a velocity, on no coordinate, or its e on the state.
        """
        label = contact.name or f"contact {len(self.contacts) + 1}"
        what = f"gap of {label!r}"
        gap = expression(contact.gap, self.symbols(), what, self._replace)
        if gap.free_symbols & set(self.v):
            raise BadModel(f"{what} depends on a velocity; a gap is a distance.")
        if not gap.free_symbols & set(self.q):
            raise BadModel(f"{what} = {gap} does not depend on any coordinate.")
        e = expression(contact.e, self.symbols(state=False), f"restitution of {label!r}")
        if label in [c.name for c in self.contacts]:
            raise BadModel(f"Two contacts of '{self.name}' are called {label!r}.")
        self.contacts = (*self.contacts, Contact(gap, e, label))
        self.touch()

    def start(
        self, q: Any = None, v: Any = None, *, t_end: float | None = None, h: float | None = None
    ) -> None:
        """Set the initial state (formulas of the parameters), and the time span and step in s.

        Raises
        ------
        BadModel
            Wrong lengths, or a start that depends on the state.
        """
        names = self.symbols(state=False)
        if q is not None:
            self.start_q = vector(q, self.n, names, f"start q of '{self.name}'")
        if v is not None:
            self.start_v = vector(v, self.n, names, f"start v of '{self.name}'")
        self.t_end = self.t_end if t_end is None else number(t_end, "t_end", "s")
        self.h = self.h if h is None else number(h, "h", "s")
        self.touch()

    # -- sympy.physics.mechanics --------------------------------------------------------------

    def _coordinate(self, item: Any) -> str:
        if isinstance(item, (str, sp.Symbol)):
            return str(item)
        if isinstance(item, sp.Function) and len(item.args) == 1:
            return type(item).__name__
        raise BadModel(f"{item!r} is no coordinate: give names or dynamicsymbols.")

    def _replace_dynamic(self, items: list[Any], speeds: list[Any]) -> None:
        """Map q(t), q'(t), q''(t) and Kane's u(t) to our symbols, derivatives first."""
        for item, v in zip(items, self.v, strict=True):
            if isinstance(item, sp.Function):
                self._replace[sp.Derivative(item, item.args[0])] = v
        if speeds and len(speeds) != len(items):
            raise BadModel(f"{len(items)} coordinates need {len(items)} speeds, not {len(speeds)}.")
        self._replace |= dict(zip(speeds, self.v, strict=False))
        for item, q in zip(items, self.q, strict=True):
            if isinstance(item, sp.Function):
                self._replace[item] = q

    @classmethod
    def from_mechanics(cls, name: str, method: Any, **declared: Any) -> MechanicalSystem:
        """Take a `LagrangesMethod` or `KanesMethod` whose equations have been formed, as it is.

        Parameters
        ----------
        name : str
        method : sympy.physics.mechanics.LagrangesMethod or KanesMethod
            Without constraints; Kane's speeds must be the derivatives of the coordinates.
        **declared
            As for the constructor: params, potential, contacts, start, ...

        Raises
        ------
        BadModel
            If the equations are not formed, are constrained, or use other speeds.
        """
        try:
            M, F, q = method.mass_matrix, method.forcing, list(method.q)
        except (AttributeError, ValueError):
            raise BadModel(
                f"{type(method).__name__} has no equations yet: call form_lagranges_equations() "
                "or kanes_equations() first."
            ) from None
        u = list(getattr(method, "u", ()))
        kinematic = getattr(method, "kindiffdict", dict)()
        rates = [sp.Derivative(x, *x.args) for x in q]
        if kinematic and any(kinematic.get(r) != s for r, s in zip(rates, u, strict=False)):
            raise BadModel(f"'{name}': only speeds u = q' are taken; choose them in KanesMethod.")
        if M.shape != (len(q), len(q)):
            raise BadModel(
                f"'{name}': {M.shape[0] - len(q)} constraints in {type(method).__name__}; "
                "eliminate them by a choice of minimal coordinates."
            )
        return cls(name, q, u=u if kinematic else (), mass=M, force=F, **declared)

    # -- display and specification ------------------------------------------------------------

    def _repr_markdown_(self) -> str:
        return display.mechanical(self)

    def to_spec(self) -> dict[str, Any]:
        """Return everything that defines the system as plain data (JSON)."""
        return {
            "type": "MechanicalSystem",
            "name": self.name,
            "text": self.text,
            "q": list(self.coordinates),
            "units": list(self.units),
            "params": {k: vars(p) for k, p in self.parameters.items()},
            "mass": [[text(x) for x in row] for row in self._mass],
            "force": [text(x) for x in self._force],
            "potential": None if self._potential is None else text(self._potential),
            "contacts": [
                {"gap": text(c.gap), "e": text(c.e), "name": c.name} for c in self.contacts
            ],
            "start": {
                "q": [text(x) for x in self.start_q],
                "v": [text(x) for x in self.start_v],
                "t_end": self.t_end,
                "h": self.h,
            },
        }

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> MechanicalSystem:
        """Build the system that `to_spec` described; formulas are parsed, never evaluated."""
        return cls(
            spec["name"], spec["q"], text=spec["text"], units=spec["units"],
            params={k: Param(**p) for k, p in spec["params"].items()},
            mass=spec["mass"], force=spec["force"], potential=spec["potential"],
            contacts=[Contact(**c) for c in spec["contacts"]], start=spec["start"],
        )  # fmt: skip
