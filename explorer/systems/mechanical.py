"""`MechanicalSystem`: M(q) v' = F(t, q, v) + G' lam, q' = v, 0 <= gap(t, q) perp lam >= 0.

At an impact v+ = v- + M^-1 G' p with Newton's law: the normal velocity of a contact that receives
an impulse satisfies gap'(+) = -e gap'(-). (Event-capturing schemes, "Lagrangian systems" and
"Non Smooth laws"; the scleronomous, rheonomous and linear relations are one formula `gap` here.)
With friction a force lam_t in [-mu lam, mu lam], in space |lam_t| <= mu lam, opposes the sliding
velocity `slip`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import sympy as sp

from explorer.arguments import a, items
from explorer.errors import BadModel
from explorer.parameters import Param, param_of
from explorer.systems import display
from explorer.systems.arrays import by_name, matrix, vector
from explorer.systems.constraints import Constraint, as_plain
from explorer.systems.contacts import Contact, written
from explorer.systems.expressions import expression, names_of, text
from explorer.systems.kinks import slope
from explorer.systems.lagrangian import LagrangianSystem
from explorer.systems.record import Record, listed
from explorer.systems.sketch import Shape
from explorer.systems.springs import BilinearSpring
from explorer.types import FormulaMatrix, FormulaVector, Plain, Settings, Value

if TYPE_CHECKING:
    from sympy.physics.mechanics import KanesMethod, LagrangesMethod

__all__ = ["MechanicalSystem"]

_MOST = 2000
Coordinate: TypeAlias = str | sp.Expr  # its name, its symbol or q(t)


class MechanicalSystem(LagrangianSystem):
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
    compliance : (n_c, n_c) matrix, optional
        Compliance of all `contacts` together, see the attribute.
    params, mass, force, potential, contacts, constraints, springs, records, start, sketch, text :
        The same as the methods and attributes of these names, to build a system in one call.

    Raises
    ------
    BadModel
        If names clash or are not identifiers; later, if a formula is inconsistent.

    Examples
    --------
    >>> import explorer as ex
    >>> ball = ex.MechanicalSystem("ball", q="y", params=dict(g=9.81), mass=1, force="-g",
    ...                            contacts=[ex.Contact("y", e=0.8)], start=dict(q=1.0))
    >>> ball.contacts[0].name
    'contact 1'
    """

    kind = "mechanical system"

    def __init__(
        self,
        name: str,
        q: str | int | Sequence[Coordinate],
        *,
        u: Sequence[sp.Expr] = (),
        params: Mapping[str, Param | float] | None = None,
        mass: FormulaMatrix | None = None,
        force: FormulaVector | None = None,
        potential: Value | None = None,
        contacts: Iterable[Contact] = (),
        compliance: FormulaMatrix | None = None,
        constraints: Iterable[Constraint | Value] = (),
        springs: Iterable[BilinearSpring] = (),
        records: Iterable[Record] = (),
        start: Settings | None = None,
        sketch: Iterable[Shape] = (),
        units: str | Sequence[str] = "",
        text: str = "",
    ) -> None:
        if isinstance(q, int):
            if not 0 < q <= _MOST:
                raise BadModel(
                    f"'{name}' with {q} coordinates: 1 to {_MOST} can be written as formulas; "
                    "LinearMechanicalSystem takes matrices of any size."
                )
            q = [f"q{i + 1}" for i in range(q)]
        given = names_of(q, f"The coordinates of '{name}'")
        super().__init__(name, [_coordinate(item) for item in given], units, text)
        self._replace = self._dynamic(given, list(u))
        n, zero, one = self.n, (sp.Integer(0),), (sp.Integer(1),)
        self._mass = tuple(i * zero + one + (n - 1 - i) * zero for i in range(n))
        self._force: tuple[sp.Expr, ...] = n * zero
        self._potential: sp.Expr | None = None
        self.params(**self._parameters(params))
        if mass is not None:
            self.mass = mass
        if force is not None:
            self.force = force
        if potential is not None:
            self.potential = potential
        self.contact(*items(contacts, f"contacts of '{name}'", Contact))
        if compliance is not None:
            self.compliance = compliance
        for constraint in items(constraints, f"constraints of '{name}'", Constraint, str, sp.Expr):
            self.constraint(constraint)
        for spring in items(springs, f"springs of '{name}'", BilinearSpring):
            self.spring(spring)
        for record in items(records, f"records of '{name}'", Record):
            self.forcing(record)
        self._begin(start)
        self._draw(sketch)

    # -- equations ----------------------------------------------------------------------------

    @property
    def mass(self) -> sp.Matrix:
        """Mass matrix M(q, rho), (n, n), symmetric and positive definite."""
        return sp.Matrix(self._mass)

    @mass.setter
    def mass(self, value: FormulaMatrix) -> None:
        what = f"mass of '{self.name}'"
        self._mass = matrix(value, self.n, self.symbols(), what, self._replace)
        allowed = {*self.q, *self.symbols(state=False).values()}
        for (i, j), x in self.inertia.items():
            bad = x.free_symbols - allowed
            if bad:
                raise BadModel(
                    f"{what}[{i}, {j}] depends on {sorted(map(str, bad))[0]!r}; a mass matrix "
                    "may depend on coordinates and parameters only."
                )
        self.touch()

    @property
    def inertia(self) -> dict[tuple[int, int], sp.Expr]:
        """The nonzero entries of the mass matrix, by row and column."""
        rows = enumerate(self._mass)
        return {(i, j): x for i, row in rows for j, x in enumerate(row) if x is not sp.S.Zero}

    @property
    def force(self) -> sp.Matrix:
        """All forces F(t, q, v, rho) on the right-hand side, gyroscopic ones included, (n,).

        Set a vector, or a dict by coordinate, in which missing entries are zero.
        """
        return sp.Matrix(self._force)

    @force.setter
    def force(self, value: FormulaVector) -> None:
        what = f"force of '{self.name}'"
        given = by_name(value, self.coordinates, what, [sp.Integer(0)] * self.n, "coordinate")
        self._force = vector(given, self.n, self.symbols(), what, self._replace)
        self.touch()

    @property
    def potential(self) -> sp.Expr | None:
        """Potential energy V(t, q, rho) in J; derived if the force at rest is a polynomial in q.

        Inputs have none: they do work.
        """
        if isinstance(self.base, MechanicalSystem):
            return self.base.potential
        return self._potential if self._potential is not None else self._derived_potential()

    @potential.setter
    def potential(self, value: Value) -> None:
        what = f"potential of '{self.name}'"
        potential = expression(value, self.symbols(), what, self._replace)
        if found := potential.free_symbols & {sp.Symbol(name) for name in self.input_names}:
            raise BadModel(
                f"The {what} depends on the input {min(map(str, found))!r}, and a force that "
                "changes with time has no potential: leave its part out."
            )
        self._potential = potential
        self.touch()

    def _derived_potential(self) -> sp.Expr | None:
        at_rest = dict.fromkeys([*self.v, *map(sp.Symbol, self.input_names)], sp.Integer(0))
        s = sp.Symbol("_s")
        parts = []
        place = {x: i for i, x in enumerate(self.q)}
        moving = set(at_rest)
        F = [f.xreplace(at_rest) if f.free_symbols & moving else f for f in self._force]
        reached: list[list[int]] = [[] for _ in F]  # by the forces before
        for i, (f, q) in enumerate(zip(F, self.q, strict=True)):
            inside = sorted(f.free_symbols & place.keys(), key=place.__getitem__)
            if self.t in f.free_symbols or not _expandable(f):
                return None
            if inside and not f.is_polynomial(*inside):
                return None
            uses = [place[x] for x in inside]
            for j in {*reached[i], *(k for k in uses if k < i)}:
                if sp.expand(slope(f, self.q[j]) - slope(F[j], q)) != 0:
                    return None
            for k in uses:
                reached[k].append(i)
            along = f.xreplace({x: s * x for x in inside})
            parts.append(-q * (sp.integrate(sp.expand(along), (s, 0, 1)) if inside else f))
        return sp.Add(*parts)

    def spring(self, spring: BilinearSpring) -> None:
        """Add a spring that yields; its force adds to `force`.

        Raises
        ------
        BadModel
            If its elongation is not linear in the coordinates, or k, f_y, b depend on the state.
        """
        what = f"a spring of '{self.name}'"
        a(spring, BilinearSpring, what, "BilinearSpring('x', k=50, f_y=2)")
        label = spring.name or f"spring {len(self.springs) + 1}"
        what = f"elongation of {label!r}"
        u = expression(spring.elongation, self.symbols(), what, self._replace)
        along = [slope(u, q) for q in self.q]
        if not any(along) or any(g.free_symbols & {*self.q, *self.v, self.t} for g in along):
            raise BadModel(f"{what} = {u} must be linear in the coordinates, such as 'q2 - q1'.")
        if u.free_symbols & {*self.v, self.t}:
            raise BadModel(f"{what} = {u} may depend on coordinates and parameters only.")
        known = self.symbols(state=False)
        k, f_y, b = (
            expression(getattr(spring, name), known, f"{name} of {label!r}")
            for name in ("k", "f_y", "b")
        )
        if label in [s.name for s in self.springs]:
            raise BadModel(f"Two springs of '{self.name}' are called {label!r}.")
        self.springs = (*self.springs, BilinearSpring(u, k, f_y, b, label))
        self.touch()

    def _inertia(self, a: np.ndarray) -> Sequence[sp.Expr] | np.ndarray:
        return list(self.mass * sp.Matrix([int(x) if x == int(x) else x for x in a]))

    # -- sympy.physics.mechanics --------------------------------------------------------------

    def _dynamic(self, items: list[Coordinate], speeds: list[sp.Expr]) -> dict[sp.Basic, sp.Symbol]:
        """Map q'(t), Kane's u(t) and q(t) to our symbols, derivatives first."""
        pairs = list(zip(items, self.q, self.v, strict=True))
        if speeds and len(speeds) != len(items):
            raise BadModel(f"{len(items)} coordinates need {len(items)} speeds, not {len(speeds)}.")
        functions = [(item, q, v) for item, q, v in pairs if isinstance(item, sp.Function)]
        return (
            {sp.Derivative(item, *item.args): v for item, _, v in functions}
            | dict(zip(speeds, self.v, strict=False))
            | {item: q for item, q, _ in functions}
        )

    @classmethod
    def from_mechanics(
        cls, name: str, method: LagrangesMethod | KanesMethod, **declared: Any
    ) -> MechanicalSystem:
        """Build a system from a `LagrangesMethod` or `KanesMethod` whose equations are formed.

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
        if not hasattr(type(method), "forcing"):  # the property itself may fail
            raise BadModel(f"{method!r} is not a LagrangesMethod or KanesMethod.")
        try:
            M, F, q = method.mass_matrix, method.forcing, list(method.q)
        except (AttributeError, ValueError):
            raise BadModel(
                f"{type(method).__name__} has no equations yet: call form_lagranges_equations() "
                "or kanes_equations() first."
            ) from None
        u = list(getattr(method, "u", ()))
        kinematic: dict[sp.Expr, sp.Expr] = getattr(method, "kindiffdict", dict)()
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

    def equations_markdown(self) -> str:
        """Return name, equations, parameters and start as Markdown."""
        return display.mechanical(self)

    def to_spec(self) -> Plain:
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
            "contacts": [written(c) for c in self._as_given()],
            "constraints": [as_plain(c) for c in self.constraints],
            "springs": [
                {k: text(getattr(s, k)) for k in ("elongation", "k", "f_y", "b")} | {"name": s.name}
                for s in self.springs
            ],
            "records": listed(self.records),
            "start": self._start_spec(),
        }

    @classmethod
    def from_spec(cls, spec: Plain) -> MechanicalSystem:
        """Build the system that `to_spec` described; formulas are parsed, never evaluated."""
        return cls(
            spec["name"],
            spec["q"],
            text=spec["text"],
            units=spec["units"],
            params={k: param_of(p) for k, p in spec["params"].items()},
            mass=spec["mass"],
            force=spec["force"],
            potential=spec["potential"],
            contacts=[Contact(**c) for c in spec["contacts"]],
            start=spec["start"],
            constraints=[Constraint(**c) for c in spec.get("constraints", ())],
            springs=[BilinearSpring(**s) for s in spec.get("springs", ())],
            records=[Record(**r) for r in spec.get("records", ())],
        )


def _expandable(f: sp.Expr) -> bool:
    """Whether multiplying `f` out is quick: a formula of a few factors of low degree."""
    degrees = [p.exp for p in f.atoms(sp.Pow)]
    products = [sum(isinstance(a, sp.Add) for a in m.args) for m in f.atoms(sp.Mul)]
    return (
        f.count_ops() <= 200
        and all(d.is_Integer for d in degrees)
        and sum(abs(int(d)) for d in degrees) <= 24
        and max(products, default=0) <= 3
    )


def _coordinate(item: Coordinate) -> str:
    if isinstance(item, (str, sp.Symbol)):
        return str(item)
    if isinstance(item, sp.Function) and len(item.args) == 1:
        return type(item).__name__
    raise BadModel(f"{item!r} is no coordinate: give names or dynamicsymbols.")
