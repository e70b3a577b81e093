"""`MapSystem`: x_{n+1} = f(x_n, rho), with branches that guards tell apart.

Each branch has its own formula, and holds while its conditions are positive; the first one whose
conditions hold is taken (a piecewise smooth map: di Bernardo, Budd, Champneys and Kowalczyk,
*Piecewise-smooth Dynamical Systems*, 2008, section 2.2, doi:10.1007/978-1-84628-708-4).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import sympy as sp

from explorer.arguments import checked, entries, items, mapping
from explorer.errors import BadModel, BadValue, suggest
from explorer.parameters import Param, number
from explorer.systems import display
from explorer.systems.expressions import Names, check_name, expression, text
from explorer.systems.kinks import slope
from explorer.systems.sketch import Shape
from explorer.systems.state_space import StateSpaceSystem
from explorer.types import FormulaVector, Plain, Settings, Value

__all__ = ["MapBranch", "MapSystem", "iterates"]

_MOST = 100  # branches
_READ = 5  # times: SymPy may order terms anew


@dataclass(frozen=True)
class MapBranch:
    """A branch of a map.

    Attributes
    ----------
    name : str
    f : tuple of sympy.Expr
        The next state, formulas of the states and parameters.
    when : tuple of sympy.Expr
        Conditions > 0 under which it holds; none: it holds wherever no branch before it does.
    """

    name: str
    f: tuple[sp.Expr, ...]
    when: tuple[sp.Expr, ...]


class MapSystem(StateSpaceSystem):
    """A map: each state follows from the one before. Time counts whole iterates.

    Parameters
    ----------
    name : str
    x : str or sequence of str
        Names of the states, in one string or a list.
    units : str or sequence of str, optional
        Units of the states, for the axes of pictures.
    let : mapping of str to formula, optional
        Arguments of `let`.
    f : sequence or dict, optional
        The next state of a map of one branch: formulas of the states and parameters.
    branches : iterable of dict, optional
        Arguments of `branch`, in order.
    params, start, sketch, straight, text :
        The same as the methods and attributes of these names.

    Attributes
    ----------
    branches : tuple of MapBranch
    lets : dict of str to sympy.Expr
        Formulas that have a name of their own.
    straight : bool
        Whether points of the sketch go straight from one iterate to the next, as a ball between
        collisions does. By default they rest until the next one.

    Raises
    ------
    BadModel
        If names clash or are not identifiers, or a formula is inconsistent.

    Examples
    --------
    >>> import explorer as ex
    >>> tent = ex.MapSystem("tent", x="x", params={"mu": 1.5})
    >>> tent.branch("left", ["mu*x"], when="1/2 - x")
    >>> tent.branch("right", ["mu*(1 - x)"])
    >>> tent.f
    (Piecewise((mu*x, x < 1/2), (mu*(1 - x), True)),)
    """

    kind = "map"
    discrete = True
    time_unit = ""

    def __init__(
        self,
        name: str,
        x: str | Sequence[str],
        *,
        params: Mapping[str, Param | float] | None = None,
        let: Mapping[str, Value] | None = None,
        f: FormulaVector | None = None,
        branches: Iterable[Settings] = (),
        start: Settings | None = None,
        sketch: Iterable[Shape] = (),
        straight: bool = False,
        units: str | Sequence[str] = "",
        text: str = "",
    ) -> None:
        super().__init__(name, x, units, text)
        self.t_end = 80.0
        self.branches: tuple[MapBranch, ...] = ()
        self.lets: dict[str, sp.Expr] = {}
        self.straight = straight
        self.params(**self._parameters(params))
        self.let(**mapping(let, f"let of '{name}'", '{"r": "sqrt(x**2 + y**2)"}'))
        if f is not None:
            self.branch("all", f)
        example = 'dict(name="left", f=["2*x"], when="1/2 - x")'
        for one in items(branches, f"branches of '{name}'", Mapping):
            self.branch(**entries(one, self.branch, f"A branch of '{name}'", example))
        self._begin(start)
        self._draw(sketch)

    # -- equations ----------------------------------------------------------------------------

    def let(self, **formulas: Value) -> tuple[sp.Symbol, ...]:
        """Give formulas of the states and parameters a name; later formulas may use it.

        What many formulas share is then read, and computed, once.

        Raises
        ------
        BadModel
            A name is taken or no identifier; a formula depends on t.
        """
        for name, value in formulas.items():
            check_name(name, "a formula", self._known())
            what, known = f"{name!r} of '{self.name}'", self._known()
            formula = _as_written(expression(value, known, what), known)
            self._timeless(formula, f"{name!r} of '{self.name}'")
            self.lets[name] = formula
        self.touch()
        return tuple(sp.Symbol(name) for name in formulas)

    def _known(self) -> Names:
        """Return what formulas may use: states, parameters and named formulas."""
        return self.symbols().joined({name: sp.Symbol(name) for name in self.lets})

    def _timeless(self, formula: sp.Expr, what: str) -> None:
        if self.t in formula.free_symbols:
            raise BadModel(
                f"{what}: {formula} depends on t. A map has no time between its iterates: count "
                "them by a state of its own, n' = n + 1."
            )

    def _symbols_of(self, formula: sp.Expr) -> set[sp.Basic]:
        """Return the symbols of a formula, and of those that it names."""
        found = set(formula.free_symbols)
        for name in reversed(self.lets):
            if sp.Symbol(name) in found:
                found |= self.lets[name].free_symbols
        return found

    def whole(self, formula: sp.Expr) -> sp.Expr:
        """Return a formula with those that have a name written out: of many cases a long one."""
        for name in reversed(self.lets):
            formula = formula.xreplace({sp.Symbol(name): self.lets[name]})
        return formula

    def branch(self, name: str, f: FormulaVector, when: Value | Sequence[Value] = ()) -> None:
        """Add a branch. The first one whose conditions hold gives the next state.

        Parameters
        ----------
        name : str
        f : sequence or dict
            The next state: formulas of the states and parameters; a dict by state leaves the
            others as they are.
        when : formula or sequence of formulas
            All of them are > 0 where the branch holds. The last branch has none: it holds
            everywhere else.

        Raises
        ------
        BadModel
            The name is taken, a formula depends on t, a condition on no state, or a branch before
            has no condition.
        """
        if self.branches and not self.branches[-1].when:
            raise BadModel(
                f"'{self.name}': the branch {self.branches[-1].name!r} has no condition, so it "
                "holds everywhere else; no branch can follow it. Declare it last."
            )
        if name in self.branch_names:
            raise BadModel(f"Two branches of '{self.name}' are called {name!r}.")
        if len(self.branches) == _MOST:
            raise BadModel(f"'{self.name}' has more than {_MOST} branches.")
        what = f"branch {name!r} of '{self.name}'"
        names = self._known()
        value = tuple(_as_written(g, names) for g in self._vector(f, f"f of {what}", self.x, names))
        one = isinstance(when, str | sp.Expr | int | float)
        given = [when] if one else list(when)  # type: ignore[arg-type]
        conditions = tuple(
            _as_written(expression(w, names, f"a condition of {what}"), names) for w in given
        )
        for formula in (*value, *conditions):
            self._timeless(formula, what)
        for w in conditions:
            if not self._symbols_of(w) & {*self.x}:
                raise BadModel(f"{what}: its condition {w} > 0 depends on no state.")
        self.branches = (*self.branches, MapBranch(str(name), value, conditions))
        self.touch()

    @property
    def branch_names(self) -> tuple[str, ...]:
        """The names of the branches, in order."""
        return tuple(b.name for b in self.branches)

    @property
    def f(self) -> tuple[sp.Expr, ...]:
        """The next state as formulas with cases; named formulas stand in them by their names.

        Raises
        ------
        BadModel
            There is no branch yet, or none for the rest of the states.
        """
        self.check()
        cases = [(b.f, sp.And(*(w > 0 for w in b.when))) for b in self.branches]
        if len(cases) == 1:
            return self.branches[0].f
        return tuple(sp.Piecewise(*((f[i], when) for f, when in cases)) for i in range(self.n))

    def check(self) -> None:
        """Refuse a map without a formula for some states.

        Raises
        ------
        BadModel
            There is no branch yet, or none for the rest of the states.
        """
        if not self.branches:
            raise BadModel(f"'{self.name}' has no formula yet: call .branch(name, f, when).")
        if self.branches[-1].when:
            raise BadModel(
                f"'{self.name}': each branch has a condition, so a state may have no next one. "
                "Declare the last branch without."
            )

    def jacobian(self, name: str | None = None) -> sp.Matrix:
        """Return the derivative of the next state by the state, n x n, in a branch.

        It holds for named formulas too, which stand in it by their names.

        Parameters
        ----------
        name : str, optional
            The branch; of a map with one branch it need not be named.

        Raises
        ------
        BadValue
            There is no such branch.

        Examples
        --------
        >>> import explorer as ex
        >>> logistic = ex.MapSystem("logistic", x="x", params={"mu": 1.5}, f=["mu*x*(1 - x)"])
        >>> logistic.jacobian()
        Matrix([[-mu*x + mu*(1 - x)]])
        """
        if name is None and len(self.branches) == 1:
            name = self.branches[0].name
        if name not in self.branch_names:
            raise BadValue(
                f"'{self.name}' has no branch {name!r}.{suggest(name, self.branch_names)}"
            )
        slopes: dict[sp.Symbol, sp.Matrix] = {}
        for label, formula in self.lets.items():
            slopes[sp.Symbol(label)] = self._slope(formula, slopes)
        f = self.branches[self.branch_names.index(name)].f
        return sp.Matrix.vstack(*(self._slope(g, slopes) for g in f))

    def _slope(self, formula: sp.Expr, slopes: Mapping[sp.Symbol, sp.Matrix]) -> sp.Matrix:
        """Return the derivative of a formula by the state (1, n), those of named ones given."""
        found = sp.Matrix([[slope(formula, x) for x in self.x]])
        for symbol in formula.free_symbols & {*slopes}:
            found += slope(formula, symbol) * slopes[symbol]
        return found

    def inputs(self, *args: object, **kwargs: object) -> tuple[sp.Symbol, ...]:
        """Refuse inputs.

        Raises
        ------
        BadModel
        """
        raise BadModel(
            f"'{self.name}' is a map and takes no inputs u(t): it has no time between its "
            "iterates. Use a parameter, or a state that counts them."
        )

    @checked
    def start(  # type: ignore[override]
        self, x: FormulaVector | None = None, *, t_end: float | None = None
    ) -> None:
        """Set the first state (formulas of the parameters), and how many iterates follow it.

        Raises
        ------
        BadModel
            A wrong length, a start that depends on the state.
        BadValue
            A number of iterates that is no whole number from 1.
        """
        if t_end is not None:
            t_end = iterates(t_end)
        super().start(x, t_end=t_end)

    # -- display and specification ------------------------------------------------------------

    def equations_markdown(self) -> str:
        """Return name, equations, parameters and start as Markdown."""
        return display.mapped(self, self.lets, [(b.name, b.f, b.when) for b in self.branches])

    def to_spec(self) -> Plain:
        """Return everything that defines the system as plain data (JSON)."""
        spec = self._spec()
        del spec["start"]["h"]
        spec["start"].pop("time_unit", None)
        if self.straight:
            spec["straight"] = True
        if self.lets:
            spec["let"] = {name: text(formula) for name, formula in self.lets.items()}
        spec["branches"] = [
            {"name": b.name, "f": [text(g) for g in b.f], "when": [text(w) for w in b.when]}
            for b in self.branches
        ]
        return spec


def _as_written(formula: sp.Expr, names: Names) -> sp.Expr:
    """Return a formula as it is read from a file: chaos tells the order of its terms."""
    for _ in range(_READ):
        again = expression(text(formula), names, "a formula")
        if again == formula:
            break
        formula = again
    return formula


def iterates(t_end: object) -> float:
    """Return a number of iterates.

    Raises
    ------
    BadValue
        It is no whole number from 1.
    """
    count = number(t_end, "The number of iterates t_end", positive=True)
    if count != int(count):
        near = max(round(count), 1)
        raise BadValue(
            f"t_end = {count:g} must be a whole number, because the time of a map counts its "
            f"iterates: use {near}."
        )
    return count
