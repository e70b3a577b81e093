"""`StepSystem`: x' = f(t, x, alpha, rho) with alpha_j in step(c_j(t, x)), in any combination.

An Aizerman-Pyatnitskii differential inclusion (Filippov 1988, section 4.c; Nurkanovic et al. 2023,
eq. (1c), (2)): alpha_j is 1 for c_j > 0, 0 for c_j < 0, and in [0, 1] for c_j = 0, where it keeps
the solution on the surface. As a dynamic complementarity system, eq. (10): c = lambda_p - lambda_n,
0 <= lambda_n perp alpha >= 0, 0 <= lambda_p perp 1 - alpha >= 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import sympy as sp

from explorer.arguments import items
from explorer.errors import BadModel
from explorer.parameters import Param
from explorer.systems import display
from explorer.systems.expressions import expression, text
from explorer.systems.own_side import sided
from explorer.systems.regions import Switching
from explorer.systems.rewriting import rewrite
from explorer.systems.sketch import Shape
from explorer.systems.state_space import StateSpaceSystem
from explorer.types import Formulas, FormulaVector, Plain, Settings, Value

__all__ = ["StepSystem"]

_MOST = 30  # switching functions; their signs are the bits of a number


class StepSystem(StateSpaceSystem):
    """A system with set-valued step functions.

    Parameters
    ----------
    name : str
    x : str or sequence of str
        Names of the states, in one string or a list.
    units : str or sequence of str, optional
        Units of the states, for the axes of pictures.
    c : mapping of str to formula, or sequence of formulas, optional
        Switching functions; their multipliers are alpha_1, alpha_2, ... in this order.
    f : sequence or dict, optional
        x' as formulas of t, states, multipliers and parameters. sign, abs, min, max and cases of
        states are converted to multipliers.
    params, start, sketch, text :
        The same as the methods and attributes of these names.

    Attributes
    ----------
    switches : tuple of Switching
    rewritten : dict of sympy.Expr to sympy.Expr
        Each nonsmooth term of f, and its replacement.

    Raises
    ------
    BadModel
        If names clash or are not identifiers, or a formula is inconsistent or cannot be converted.

    Examples
    --------
    >>> import explorer as ex
    >>> block = ex.StepSystem("block", x="q v", params={"mu": 0.3}, f=["v", "-q - mu*sign(v)"])
    >>> block.f
    (v, -mu*(2*alpha_1 - 1) - q)
    """

    kind = "system with step functions"

    def __init__(
        self,
        name: str,
        x: str | Sequence[str],
        *,
        params: Mapping[str, Param | float] | None = None,
        c: Formulas | Sequence[Value] = (),
        f: FormulaVector | None = None,
        start: Settings | None = None,
        sketch: Iterable[Shape] = (),
        units: str | Sequence[str] = "",
        text: str = "",
    ) -> None:
        super().__init__(name, x, units, text)
        self.h = 0.05
        self.switches: tuple[Switching, ...] = ()
        self.rewritten: dict[sp.Expr, sp.Expr] = {}
        self._flow: tuple[sp.Expr, ...] | None = None
        self._given: tuple[sp.Expr, ...] = ()
        self.params(**self._parameters(params))
        listed = () if isinstance(c, Mapping) else items(c, f"c of '{name}'", str, sp.Expr)
        named = c.items() if isinstance(c, Mapping) else [("", one) for one in listed]
        for label, function in named:
            self.switch(function, name=label)
        if f is not None:
            self.f = f
        self._begin(start)
        self._draw(sketch)

    # -- equations ----------------------------------------------------------------------------

    def switch(self, c: Value, *, name: str = "") -> sp.Symbol:
        """Add a switching function and return its multiplier alpha.

        Raises
        ------
        BadModel
            If the function is constant or not smooth, or the name is taken.
        """
        label = name or f"c{len(self.switches) + 1}"
        what = f"switching function {label!r} of '{self.name}'"
        function = expression(c, self.symbols(), what)
        if label in self.guard_names:
            raise BadModel(f"Two switching functions of '{self.name}' are called {label!r}.")
        if not function.free_symbols & {self.t, *self.x}:
            raise BadModel(f"{what} = {function} depends neither on a state nor on t.")
        corner = self._corner(function, what)
        if corner is not None:
            raise BadModel(
                f"{what}: {corner} is not smooth. Use it inside sign(...) or a case of a "
                "StepSystem's f, which is rewritten, or declare its smooth pieces."
            )
        return self._add(function, label, True)

    def _corner(self, formula: sp.Expr, what: str) -> sp.Expr | None:
        """Return a nonsmooth term of a formula, or None."""
        seen: dict[sp.Expr, sp.Expr] = {}
        rewrite(formula, {self.t, *self.x}, lambda u: sp.Symbol("_"), what, seen)
        return next(iter(seen), None)

    def _add(self, function: sp.Expr, label: str, declared: bool) -> sp.Symbol:
        if len(self.switches) == _MOST:
            raise BadModel(f"'{self.name}' has more than {_MOST} switching functions.")
        alpha = sp.Symbol(f"alpha_{len(self.switches) + 1}")
        if alpha.name in self.symbols():
            raise BadModel(
                f"{alpha.name!r} names a multiplier of '{self.name}': rename the state or "
                "parameter of that name."
            )
        self.switches = (*self.switches, Switching(label, function, alpha, declared))
        self.touch()
        return alpha

    def _step(self, u: sp.Expr) -> sp.Expr:
        """Return the multiplier of a function in f, one and the same for u and -u."""
        u = sp.expand(u)
        if not u.free_symbols & {self.t, *self.x}:
            return sp.Heaviside(u, 0)
        if u.could_extract_minus_sign():
            return 1 - self._step(-u)
        for known in self.switches:
            if sp.expand(known.c - u) == 0:
                return known.alpha
            if sp.expand(known.c + u) == 0:
                return 1 - known.alpha
        return self._add(u, text(u), False)

    @property
    def f(self) -> tuple[sp.Expr, ...]:
        """The right-hand side x' as formulas of t, states, multipliers and parameters.

        Raises
        ------
        BadModel
            If there is none yet.
        """
        if self._flow is None:
            raise BadModel(f"'{self.name}' has no right-hand side yet: set .f = [...].")
        return self._flow

    @f.setter
    def f(self, value: FormulaVector) -> None:
        what = f"f of '{self.name}'"
        declared = tuple(s for s in self.switches if s.declared)
        if declared != self.switches[: len(declared)]:
            raise BadModel(f"Declare every switching function of '{self.name}' before its f.")
        self.switches = declared
        names = {**self.symbols(), **{s.alpha.name: s.alpha for s in declared}}
        given = self._vector(value, what, names=names)
        self.rewritten = {}
        moving = {self.t, *self.x}
        flow = tuple(rewrite(g, moving, self._step, what, self.rewritten) for g in given)
        flow = tuple(sided(g, self.switches, moving) for g in flow)
        self._given, self._flow = given, flow
        self.touch()

    @property
    def signals(self) -> tuple[str, ...]:
        """The multipliers alpha_1, ... of the step functions."""
        return tuple(s.alpha.name for s in self.switches)

    @property
    def guard_names(self) -> tuple[str, ...]:
        """The names of the switching functions, in order."""
        return tuple(s.name for s in self.switches)

    def mode_name(self, signs: Sequence[int]) -> str:
        """Return the name of an active set: the sign of each switching function."""
        parts = [f"{n} {'<=>'[s + 1]} 0" for n, s in zip(self.guard_names, signs, strict=True)]
        return ", ".join(parts) or "smooth"

    # -- display and specification ------------------------------------------------------------

    def equations_markdown(self) -> str:
        """Return name, equations, parameters and start as Markdown."""
        return display.step(self, self.f, self.switches, self.rewritten)

    def to_spec(self) -> Plain:
        """Return everything that defines the system as plain data (JSON)."""
        return self._spec() | {
            "c": {s.name: text(s.c) for s in self.switches if s.declared},
            "f": [text(g) for g in self._given] or None,
        }
