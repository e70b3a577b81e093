"""`FirstOrderSystem`: M x' = f(t, x) + r with a relation and laws.

y = h(x, t, lam), r = g(x, t, lam) or, linear, y = C x + D lam + F z + e, r = B lam
(*Event-capturing schemes*, "First order systems"). Each pair (y_i, lam_i) obeys a law:

    complementarity   0 <= y perp lam >= 0
    equality          y = 0, lam free (the other rows of a mixed problem)
    relay             y > 0 -> lam = lb,  y < 0 -> lam = ub,  y = 0 -> lam in [lb, ub]

All three say -y in N_[lb, ub](lam), the normal cone of an interval. Circuits with ideal diodes,
relays and sliding modes are of this kind (Acary, Bonnefon, Brogliato, *Nonsmooth Modeling and
Simulation for Switched Circuits*, 2011).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import sympy as sp

from explorer.arguments import entries, mapping
from explorer.errors import BadModel
from explorer.parameters import Param
from explorer.systems import display
from explorer.systems.arrays import by_name, matrix, vector
from explorer.systems.expressions import Names
from explorer.systems.expressions import text as written
from explorer.systems.laws import Law, Output
from explorer.systems.sketch import Shape
from explorer.systems.state_space import StateSpaceSystem
from explorer.types import FormulaMatrix, FormulaVector, Plain, Settings, Value

__all__ = ["FirstOrderSystem"]


class FirstOrderSystem(StateSpaceSystem):
    """A first-order system with multipliers that obey laws.

    Parameters
    ----------
    name : str
    x : str or sequence of str
        Names of the states, in one string or a list.
    units : str or sequence of str, optional
        Units of the states.
    params, start, sketch, text :
        The same as the methods and attributes of these names.
    mass : (n, n) formulas of the parameters, optional
        M, by default the identity.
    f : sequence or dict, optional
        f(t, x) as formulas of t, states and parameters.
    A, b : (n, n), (n,) formulas of t and the parameters, optional
        Linear form of f: f = A x + b.
    laws : mapping of str to str or dict, optional
        For the name of each multiplier, its kind or the arguments of `law`.
    y, r : sequence or dict, optional
        The relation: y for each law, r for each state, as formulas of t, states, multipliers and
        parameters. Missing entries of a dict for r are zero.
    C, D, F, z, e, B : optional
        Linear form of y and r: arguments of `linear`.
    outputs : mapping of str to formula or (formula, unit), optional
        Arguments of `output`.

    Attributes
    ----------
    laws : tuple of Law
    outputs : tuple of Output

    Raises
    ------
    BadModel
        If names clash, shapes do not fit, or a relay has no bounds or lb > ub.

    Examples
    --------
    >>> import explorer as ex
    >>> circuit = ex.FirstOrderSystem("RLCD", x="v i", params={"R": 1e3, "L": 1e-2, "C": 1e-6},
    ...     laws={"i_D": "complementarity"}, f=["-i/C", "v/L"], r={"v": "-i_D/C"}, y=["R*i_D - v"])
    >>> circuit.r
    (-i_D/C, 0)
    """

    kind = "first-order system"

    def __init__(
        self,
        name: str,
        x: str | Sequence[str],
        *,
        params: Mapping[str, Param | float] | None = None,
        mass: FormulaMatrix | None = None,
        f: FormulaVector | None = None,
        A: FormulaMatrix | None = None,
        b: FormulaVector | None = None,
        laws: Mapping[str, str | Settings] | None = None,
        y: FormulaVector | None = None,
        r: FormulaVector | None = None,
        C: FormulaMatrix | None = None,
        D: FormulaMatrix | None = None,
        F: FormulaMatrix | None = None,
        z: FormulaVector | None = None,
        e: FormulaVector | None = None,
        B: FormulaMatrix | None = None,
        outputs: Mapping[str, Value | tuple[Value, str]] | None = None,
        start: Settings | None = None,
        sketch: Iterable[Shape] = (),
        units: str | Sequence[str] = "",
        text: str = "",
    ) -> None:
        super().__init__(name, x, units, text)
        n = self.n
        self.laws: tuple[Law, ...] = ()
        self.outputs: tuple[Output, ...] = ()
        self._mass = tuple(tuple(sp.eye(n)[i, :]) for i in range(n))
        self._f: tuple[sp.Expr, ...] | None = None
        self._y: tuple[sp.Expr, ...] = ()
        self._r: tuple[sp.Expr, ...] = (sp.Integer(0),) * n
        self.params(**self._parameters(params))
        if mass is not None:
            self.mass = mass
        self._once({"f": f}, {"A": A, "b": b})
        self._once({"y": y, "r": r}, {"C": C, "D": D, "F": F, "z": z, "e": e, "B": B})
        if f is not None:
            self.f = f
        if A is not None or b is not None:
            self.affine(A, b)
        for lam, given in mapping(laws, f"laws of '{name}'", '{"u": "complementarity"}').items():
            self._law(lam, given)
        if y is not None:
            self.y = y
        if r is not None:
            self.r = r
        if any(part is not None for part in (C, D, F, z, e, B)):
            self.linear(C=C, D=D, F=F, z=z, e=e, B=B)
        for label, given in mapping(outputs, f"outputs of '{name}'", '{"p": "u*i"}').items():
            self._output(label, given)
        self._begin(start)
        self._draw(sketch)

    def _once(self, one: Mapping[str, object], other: Mapping[str, object]) -> None:
        """Refuse formulas and matrices of the same quantity: one would overwrite the other."""
        first, second = ([k for k, x in some.items() if x is not None] for some in (one, other))
        if first and second:
            raise BadModel(
                f"'{self.name}' defines {' and '.join(first)} as formulas and "
                f"{' and '.join(second)} as matrices, which is redundant: remove one of them."
            )

    # -- laws ---------------------------------------------------------------------------------

    def law(
        self,
        lam: str,
        kind: str = "complementarity",
        *,
        lb: Value | None = None,
        ub: Value | None = None,
        unit: str = "",
        y_name: str = "",
        y_unit: str = "",
    ) -> sp.Symbol:
        """Add a pair (y, lam) with its law and return the symbol of lam.

        Parameters
        ----------
        lam : str
            Name of the multiplier, such as a current, a voltage or a control.
        kind : str
            "complementarity", "equality" or "relay".
        lb, ub : formula of the parameters
            Bounds of a relay: y > 0 -> lam = lb, y < 0 -> lam = ub. One of them may be infinite,
            as '-oo' or 'oo'.
        unit, y_unit : str
            Units of lam and of y.
        y_name : str
            Name of y; "y_<lam>" if empty.

        Raises
        ------
        BadModel
            If the name is taken, the kind is unknown, or a relay has no bounds or lb > ub.
        """
        law = Law.checked(self, lam, kind, lb, ub, unit, y_name or f"y_{lam}", y_unit)
        self.laws = (*self.laws, law)
        self.touch()
        return law.lam

    def _law(self, lam: str, given: str | Settings) -> None:
        """Add a law given by its kind, or by a dict of the arguments of `law`."""
        if isinstance(given, str):
            given = {"kind": given}
        example = '{"kind": "relay", "lb": -1, "ub": 1}'
        arguments = entries(given, self.law, f"The law of {lam!r} of '{self.name}'", example)
        self.law(**{**arguments, "lam": lam})

    @property
    def lam(self) -> tuple[sp.Symbol, ...]:
        """The multipliers, in the order of their laws."""
        return tuple(law.lam for law in self.laws)

    @property
    def guard_names(self) -> tuple[str, ...]:
        """The names of the multipliers; an event is a change of the branch of their law."""
        return tuple(law.name for law in self.laws)

    @property
    def signals(self) -> tuple[str, ...]:
        """The multipliers of the laws."""
        return self.guard_names

    def _state_names(self) -> tuple[str, ...]:
        return (*self.coordinates, *self.guard_names)

    def output(self, name: str, formula: Value, unit: str = "") -> None:
        """Define an output, a formula of t, states, multipliers and parameters.

        Raises
        ------
        BadModel
            If the name is taken, or the formula is inconsistent.
        """
        self.outputs = (*self.outputs, Output.checked(self, name, formula, unit))
        self.touch()

    def _output(self, name: str, given: Value | tuple[Value, str]) -> None:
        """Name a quantity given by its formula, or by (formula, unit)."""
        parts = given if isinstance(given, (tuple, list)) else (given,)
        if not 0 < len(parts) < 3:
            raise BadModel(
                f"The output {name!r} of '{self.name}' must be a formula, or (formula, unit), not "
                f"{given!r}."
            )
        self.output(name, *parts)

    # -- equations ----------------------------------------------------------------------------

    @property
    def mass(self) -> tuple[tuple[sp.Expr, ...], ...]:
        """M, rows of formulas of the parameters."""
        return self._mass

    @mass.setter
    def mass(self, value: FormulaMatrix) -> None:
        self._mass = matrix(value, self.n, self.symbols(state=False), f"M of '{self.name}'")
        self.touch()

    @property
    def f(self) -> tuple[sp.Expr, ...]:
        """The smooth right-hand side, formulas of t, states and parameters.

        Raises
        ------
        BadModel
            If there is none yet.
        """
        if self._f is None:
            raise BadModel(f"'{self.name}' has no right-hand side yet: set .f = [...].")
        return self._f

    @f.setter
    def f(self, value: FormulaVector) -> None:
        known = {k: s for k, s in self.symbols().items() if k not in self.guard_names}
        names = Names(known, lambda: self.guard_names)
        self._f = self._vector(value, f"f of '{self.name}'", names=names)
        self.touch()

    def affine(self, A: FormulaMatrix | None = None, b: FormulaVector | None = None) -> None:
        """Set f = A x + b, formulas of t and the parameters."""
        n = self.n
        rows = self._block(A, n, n, "A")
        const = self._block(b, n, 1, "b")
        self.f = [
            sum((a * s for a, s in zip(row, self.x, strict=True)), c[0])
            for row, c in zip(rows, const, strict=True)
        ]

    @property
    def y(self) -> tuple[sp.Expr, ...]:
        """h(x, t, lam), one formula for each law."""
        return self._y

    @y.setter
    def y(self, value: FormulaVector) -> None:
        what = f"y of '{self.name}'"
        value = by_name(value, self.guard_names, what, self._known, "multiplier")
        self._y = vector(value, len(self.laws), self.symbols(), what) if self.laws else ()
        self.touch()

    @property
    def _known(self) -> tuple[sp.Expr, ...]:
        return (*self._y, *([sp.Integer(0)] * (len(self.laws) - len(self._y))))

    @property
    def r(self) -> tuple[sp.Expr, ...]:
        """g(x, t, lam), one formula for each state."""
        return self._r

    @r.setter
    def r(self, value: FormulaVector) -> None:
        zero = (sp.Integer(0),) * self.n
        self._r = self._vector(value, f"r of '{self.name}'", zero, self.symbols())
        self.touch()

    def linear(
        self,
        *,
        C: FormulaMatrix | None = None,
        D: FormulaMatrix | None = None,
        F: FormulaMatrix | None = None,
        z: FormulaVector | None = None,
        e: FormulaVector | None = None,
        B: FormulaMatrix | None = None,
    ) -> None:
        """Set y = C x + D lam + F z + e and r = B lam, formulas of t and the parameters.

        Parameters
        ----------
        C, D, B : (m, n), (m, m), (n, m)
        F, z : (m, k), (k,)
        e : (m,)
            Omitted arguments are zero.
        """
        n, m = self.n, len(self.laws)
        if (F is None) != (z is None):
            raise BadModel(
                f"F and z of '{self.name}' are the two factors of F z: give both, or neither."
            )
        width = 1 if z is None else np.array(z, object).size
        given = self._block(z, width, 1, "z")
        more = self._block(F, m, width, "F")
        const = self._block(e, m, 1, "e")
        rows = zip(self._block(C, m, n, "C"), self._block(D, m, m, "D"), more, const, strict=True)
        zs = [row[0] for row in given]

        def dot(row: Sequence[sp.Expr], values: Sequence[sp.Expr]) -> sp.Expr:
            return sum((a * s for a, s in zip(row, values, strict=True)), sp.Integer(0))

        self.y = [dot(c, self.x) + dot(d, self.lam) + dot(k, zs) + a[0] for c, d, k, a in rows]
        self.r = [dot(row, self.lam) for row in self._block(B, n, m, "B")]

    def _block(
        self, value: FormulaMatrix | None, rows: int, columns: int, what: str
    ) -> list[list[sp.Expr]]:
        """Return rows x columns formulas of t and the parameters; None is zero."""
        if value is None:
            return [[sp.Integer(0)] * columns for _ in range(rows)]
        listed = value.tolist() if hasattr(value, "tolist") else value
        listed = list(listed) if isinstance(listed, (list, tuple)) else [listed]
        listed = [list(row) if isinstance(row, (list, tuple)) else [row] for row in listed]
        if columns > 1 and rows == 1 and len(listed) == columns and len(listed[0]) == 1:
            listed = [[row[0] for row in listed]]
        names = self.symbols(state=False, time=True)
        block = matrix(listed, rows, names, f"{what} of '{self.name}'", columns=columns)
        return [list(row) for row in block]

    def check(self) -> None:
        """Refuse an incomplete system.

        Raises
        ------
        BadModel
            If f is missing, or the number of y is not that of the laws.
        """
        self.f  # noqa: B018 (says what is missing)
        if len(self._y) != len(self.laws):
            laws, given = len(self.laws), len(self._y)
            raise BadModel(
                f"'{self.name}' has {laws} law{'s' * (laws != 1)}, but {given or 'no'} formula"
                f"{'s' * (given > 1)} y: set .y = [...] after the laws."
            )

    # -- display and specification ------------------------------------------------------------

    def equations_markdown(self) -> str:
        """Return name, equations, parameters and start as Markdown."""
        equations = self.mass, self.f, self.r
        relation = list(zip(self.laws, self.y, strict=False))  # y may not have been set yet
        return display.first_order(self, equations, relation, self.outputs)

    def to_spec(self) -> Plain:
        """Return everything that defines the system as plain data (JSON)."""
        return self._spec() | {
            "mass": [[written(k) for k in row] for row in self.mass],
            "f": None if self._f is None else [written(k) for k in self._f],
            "laws": {
                law.name: {
                    "kind": law.kind,
                    "unit": law.unit,
                    "y_name": law.y_name,
                    "y_unit": law.y_unit,
                    **({k: written(getattr(law, k)) for k in ("lb", "ub") if law.kind == "relay"}),
                }
                for law in self.laws
            },
            "y": [written(k) for k in self._y] or None,
            "r": [written(k) for k in self._r],
            "outputs": {o.name: [written(o.formula), o.unit] for o in self.outputs},
        }
