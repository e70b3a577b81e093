"""What the parts of a mechanism add to: M, F, V, phi, contacts and a start, as formulas.

A part at a point r(t, q) with the force f adds r_q' f to F; a part with the potential V(t, q) adds
-V_q.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import sympy as sp

from explorer.arguments import Checked, checked, mapping
from explorer.errors import BadModel, suggest
from explorer.parameters import InputParam, Param
from explorer.systems.constraints import Constraint
from explorer.systems.contacts import Contact
from explorer.systems.expressions import Names, check_name, expression
from explorer.systems.inputs import TakesInputs
from explorer.systems.kinks import slope
from explorer.systems.sketch import Shape
from explorer.types import Value

__all__ = ["Drawing", "Given", "Parts", "Place", "Point", "Vector", "rate_of", "square"]

Given: TypeAlias = "Value | Param"  # a constant of a part: a number, a formula, or a Param
Vector: TypeAlias = "tuple[sp.Expr, ...]"  # the components of a place, a velocity, a force
Drawing = Callable[[float], Iterable[Shape]]  # takes the size of small things, m
_WORD = re.compile(r"[A-Za-z0-9_]+\Z")


@dataclass(frozen=True)
class Point:
    """A point of a mechanism: a pin, a joint, a point of a body.

    Attributes
    ----------
    name : str
    place : (x, y) or (x, y, z)
        Formulas of t, the coordinates and the parameters, in m.
    body : str
        The body that it belongs to; "" in the plane and for the ground.
    inside : (x, y, z)
        Its coordinates in the axes of the body, in m; empty in the plane.
    """

    name: str
    place: Vector
    body: str = ""
    inside: Vector = ()


Place: TypeAlias = "str | Point | Sequence[Value]"  # its name, or where it is fixed


class Parts(TakesInputs, metaclass=Checked):
    """What parts add to: parameters, coordinates, mass, forces, constraints, contacts, drawings.

    Attributes
    ----------
    name, text : str
    parameters : dict of str to Param
    t : sympy.Symbol
        Time in s.
    points : dict of str to Point
    parts : list of str
        Names of all parts, in declared order.
    """

    def __init_subclass__(cls) -> None:
        """Have every part refuse arguments that are unknown or missing."""
        for name, member in [*vars(cls).items()]:
            if inspect.isfunction(member) and not name.startswith("_"):
                setattr(cls, name, checked(member))

    def __init__(
        self,
        name: str,
        *,
        gravity: Given = 9.81,
        params: Mapping[str, Param | float] | None = None,
        text: str = "",
    ) -> None:
        self.name, self.text = name, text
        self.t = sp.Symbol("t")
        self.parameters: dict[str, Param] = {}
        self.parts: list[str] = []
        self._units: dict[str, str] = {}
        self._start: dict[sp.Symbol, tuple[sp.Expr, sp.Expr]] = {}
        self._mass: dict[tuple[sp.Symbol, sp.Symbol], sp.Expr] = {}
        self._force: dict[sp.Symbol, sp.Expr] = {}
        self._potential: sp.Expr = sp.Integer(0)
        self._constraints: list[Constraint] = []
        self._guides: list[Constraint] = []  # closed from both sides by contacts
        self._contacts: list[Contact] = []
        self.points: dict[str, Point] = {}
        self._lengths: dict[frozenset[str], sp.Expr] = {}  # of bars, by their ends
        self._drawings: list[tuple[Drawing, Vector]] = []
        self.params(**mapping(params, f"params of '{name}'", '{"m": 1.0}'))
        self.gravity = self._constant(gravity, f"gravity of '{name}'", "g", "m/s2")

    def __repr__(self) -> str:
        counts = ((len(self.points), "point"), (len(self.parts), "part"))
        told = ", ".join(f"{n} {what}{'s' * (n != 1)}" for n, what in counts)
        return f"{type(self).__name__}({self.name!r}: {told})"

    # -- parameters and formulas --------------------------------------------------------------

    def params(self, **declared: Param | float) -> tuple[sp.Symbol, ...]:
        """Declare parameters, which parts then use by name; return their symbols in this order.

        Raises
        ------
        BadModel
            If a name is taken or is not an identifier.
        """
        for name, value in declared.items():
            check_name(name, "a parameter", self._taken())
            self.parameters[name] = value if isinstance(value, Param) else Param(value)
        return tuple(sp.Symbol(name) for name in declared)

    def _taken(self) -> list[str]:
        coordinates = [*self._units]
        return [*self.parameters, *coordinates, *(f"v_{c}" for c in coordinates)]

    def _names(self, *, state: bool = False, time: bool = False) -> Names:
        """Return the symbols that a formula may use: parameters, t and the state so far."""
        timed = time or state
        taken = self._taken() if state else self.parameters
        inputs = [k for k, p in self.parameters.items() if isinstance(p, InputParam)]
        names = [*(["t"] if timed else []), *(k for k in taken if timed or k not in inputs)]
        return Names({name: sp.Symbol(name) for name in names}, lambda: ["t", *self._taken()])

    def _read(self, value: Value, what: str, *, state: bool = False, time: bool = False) -> sp.Expr:
        return expression(value, self._names(state=state, time=time), what)

    def _constant(
        self, value: Given, what: str, name: str, unit: str = "", *, positive: bool = False
    ) -> sp.Expr:
        """Return a formula of parameters; a `Param` is declared, as `name`."""
        if isinstance(value, Param):
            name = re.sub(r"\W", "_", name)
            self.params(**{name: value})
            value = sp.Symbol(name)
        formula = self._read(value, what)
        if positive and not (size := self._number(formula)) > 0:
            raise BadModel(f"{what} must be greater than zero, but it is {size:g} {unit}.")
        return formula

    def _number(self, formula: sp.Expr) -> float:
        """Return the value of a formula of t and the state at the start."""
        at = {q: start for q, (start, _) in self._start.items()} | self._rates()
        numbers = {sp.Symbol(k): sp.Float(p.value) for k, p in self.parameters.items()}
        value = sp.sympify(formula).xreplace(at).xreplace(numbers | {self.t: sp.Integer(0)}).evalf()
        return float(value) if value.is_real else float("nan")

    def _rates(self) -> dict[sp.Symbol, sp.Expr]:
        return {rate_of(q): speed for q, (_, speed) in self._start.items()}

    def _at_start(self, formula: sp.Expr) -> sp.Expr:
        """Return a formula of t and q at the start: a formula of the parameters."""
        at = {q: start for q, (start, _) in self._start.items()}
        return sp.sympify(formula).xreplace({self.t: sp.Integer(0)} | at)

    # -- parts --------------------------------------------------------------------------------

    def _part(self, name: str, default: str) -> str:
        """Return the name of a new part: the given one, or the default with a number if taken.

        Raises
        ------
        BadModel
            If the given name is taken.
        """
        if name and name in self.parts:
            raise BadModel(f"Two parts of '{self.name}' are called {name!r}.")
        label, k = name or default, 2
        while label in self.parts:
            label, k = f"{default} ({k})", k + 1
        self.parts.append(label)
        return label

    def _coordinates(
        self, names: Sequence[str], units: Sequence[str], q: Sequence[Value], v: Sequence[Value]
    ) -> Vector:
        """Add coordinates with their start; return their symbols."""
        symbols = []
        for name, unit, place, speed in zip(names, units, q, v, strict=True):
            check_name(name, "a coordinate", self._taken())
            given = tuple(
                self._read(x, f"start of {name!r} of '{self.name}'") for x in (place, speed)
            )
            self._units[name] = unit
            symbols.append(sp.Symbol(name))
            self._start[symbols[-1]] = (given[0], given[1])
        return tuple(symbols)

    def _word(self, name: object, what: str) -> str:
        if not isinstance(name, str) or not _WORD.match(name):
            raise BadModel(
                f"{name!r} cannot name {what} of '{self.name}': letters, digits, '_' only, because "
                "coordinates are named after it."
            )
        return name

    def _unknown(self, name: object, kind: str, known: Iterable[str]) -> BadModel:
        return BadModel(f"'{self.name}' has no {kind} {name!r}.{suggest(name, known)}")

    def _moving(self, formula: sp.Expr) -> list[sp.Symbol]:
        """Return the coordinates in a formula, in declared order."""
        inside = sp.sympify(formula).free_symbols
        return [q for q in self._start if q in inside]

    def _velocity(self, formula: sp.Expr) -> sp.Expr:
        """Return the rate of a formula of t and q."""
        along = [slope(formula, q) * rate_of(q) for q in self._moving(formula)]
        return sp.Add(slope(formula, self.t), *along)

    def _inertia(self, one: sp.Expr, two: sp.Expr, mass: sp.Expr) -> None:
        """Add the kinetic energy mass one' two' of two lengths that are linear in q."""
        for a, b in ((one, two), (two, one)):
            for i in self._moving(a):
                for j in self._moving(b):
                    entry = mass * slope(a, i) * slope(b, j)
                    self._mass[i, j] = self._mass.get((i, j), sp.Integer(0)) + entry
                self._push(i, -mass * slope(a, i) * b.diff(self.t, 2))

    def _push(self, q: sp.Symbol, force: sp.Expr) -> None:
        self._force[q] = self._force.get(q, sp.Integer(0)) + force

    def _twist(self, rate: sp.Expr, effort: sp.Expr) -> None:
        """Add a torque or force on what turns or moves at a rate, linear in the velocities."""
        for q in self._start:
            if (share := slope(rate, rate_of(q))) != 0:
                self._push(q, share * effort)

    def _act(self, place: Sequence[sp.Expr], force: Sequence[sp.Expr]) -> None:
        """Add a force at a place: r_q' f."""
        for r, f in zip(place, force, strict=True):
            for q in self._moving(r):
                self._push(q, slope(r, q) * f)

    def _store(self, potential: sp.Expr) -> None:
        """Add a potential V(t, q) and its force -V_q."""
        self._potential += potential
        for q in self._moving(potential):
            self._push(q, -slope(potential, q))

    def _tie(self, phi: sp.Expr, name: str) -> None:
        """Add a constraint phi(t, q) = 0.

        Raises
        ------
        BadModel
            If it has no coordinate: it joins what is fixed.
        """
        if not self._moving(phi):
            raise BadModel(
                f"{name!r} of '{self.name}' joins what is fixed, so it constrains nothing. Remove "
                "it, or join a point or a body that moves."
            )
        self._constraints.append(Constraint(phi, name))

    def _touch(
        self,
        gap: sp.Expr,
        name: str,
        e: Value | None,
        mu: Value | None = None,
        slip: sp.Expr | Sequence[sp.Expr] | None = None,
        reset: Mapping[str, Value] | None = None,
    ) -> None:
        """Add a contact; without mu it has no friction."""
        formula = None if e is None else self._read(e, f"restitution of {name!r}")
        if mu is None:
            self._contacts.append(Contact(gap, formula, name, reset=reset))
        else:
            mu = self._read(mu, f"friction of {name!r}", state=True)
            self._contacts.append(Contact(gap, formula, name, mu, slip, reset=reset))

    def _pad(self, rate: sp.Expr, label: str, load: Value, mu: Value) -> None:
        """Add Coulomb friction mu times a given load against a rate in m/s.

        A pad of 1 kg lies on what slides and is pressed down by the load: the force of its contact
        is the load.
        """
        pad = re.sub(r"\W", "_", f"pad_{label}")
        (z,) = self._coordinates([pad], ["m"], [0], [0])
        self._mass[z, z] = sp.Integer(1)
        self._push(z, -self._read(load, f"load of {label!r}", state=True))
        self._touch(z, label, 0, mu, rate)

    def _draw(self, draw: Drawing, at: Vector = ()) -> None:
        """Add what draws a part, and where the part is."""
        self._drawings.append((draw, at))


def square(one: Vector, two: Vector) -> sp.Expr:
    """Return the square of the distance of two places."""
    return sp.Add(*((b - a) ** 2 for a, b in zip(one, two, strict=True)))


def rate_of(q: sp.Symbol) -> sp.Symbol:
    return sp.Symbol(f"v_{q.name}")
