"""Base of every system type: a name, parameters, a start, presets, a sketch."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
import sympy as sp

from explorer.arguments import Checked, T, a, entries, items, mapping
from explorer.errors import BadAttribute, BadModel, BadValue, suggest
from explorer.moved import refuse_moved
from explorer.parameters import InputParam, Param, example, number
from explorer.systems.card import card
from explorer.systems.constraints import Constraint
from explorer.systems.contacts import Contact
from explorer.systems.expressions import Names, check_name, expression
from explorer.systems.inputs import TakesInputs
from explorer.systems.record import Record
from explorer.systems.sketch import Shape
from explorer.systems.springs import BilinearSpring
from explorer.types import Formula, Plain, Settings, Value

if TYPE_CHECKING:
    from explorer.systems.drive import Drive

__all__ = ["System"]

_DECLARED = "__annotations__"  # of a class that says its attributes without a value


def _none(x: Value) -> bool:
    """Whether a formula is zero; in SymPy 0.0 != 0."""
    return sp.sympify(x).is_zero is True


@functools.lru_cache(maxsize=8)
def _symbols(names: tuple[str, ...]) -> dict[str, sp.Symbol]:
    return {name: sp.Symbol(name) for name in names}


class Made(Checked):
    """Metaclass of systems: after construction, only existing attributes can be set."""

    def __call__(self: type[T], *args: object, **kwargs: object) -> T:
        """Return an instance."""
        system = Checked.__call__(self, *args, **kwargs)
        object.__setattr__(system, "_made", True)
        return system


class System(TakesInputs, metaclass=Made):
    """Base of the system types: declarations only, each checked at once.

    Attributes
    ----------
    name, text : str
        Title, and one sentence on what the system shows.
    t : sympy.Symbol
        Time, in `time_unit`.
    parameters : dict of str to Param
        In declared order, the order of `rho`. Inputs u(t) are among them.
    presets : dict of str to dict
        Named settings: ``{"text": ..., <parameter, knob or start entry>: value}``.
    exact : callable or None
        Closed form ``exact(t, rho) -> {"q": (n_t, n), "v": (n_t, n)}``; `rho` is a dict.
    exact_of : str
        What the closed form is of, where that is not this system, but what it approaches.
    published : dict
        ``{what: (number, tolerance, source)}``; `what` ends with the unit: "stack: speed, in m/s".
    sizes : dict of str to Param
        Integers that the model was built with ("n": number of balls): arguments of its function,
        not entries of `rho`.
    t_end, h : float
        Time span and step size (in `time_unit`) that suit the model.
    references : str or tuple of str
        Its sources, for `explorer.cite`: keys of ``references.bib``, or BibTeX entries.
    time_unit : str
        "s"; for a system x' = ... the unit of time of its rates (see `start`).
    """

    kind = "system"
    needs: ClassVar[frozenset[str]] = frozenset()  # features of every system of this kind
    contacts: tuple[Contact, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    springs: tuple[BilinearSpring, ...] = ()
    records: tuple[Record, ...] = ()
    references: str | tuple[str, ...] = ()
    without_e: tuple[str, ...] = ()  # rigid contacts without friction whose e nobody gave
    started = False  # whether a start was set
    time_unit = "s"
    discrete = False  # whether time counts iterates: nothing is between them
    drive: Drive | None = None  # its inputs along time
    base: System | None = None  # of a system with a drive: the one that it was made from
    _made = False
    if TYPE_CHECKING:  # of every kind of system; its constructor says what they are
        coordinates: tuple[str, ...]
        units: tuple[str, ...]

        @property
        def n(self) -> int: ...

    def __init__(self, name: str, text: str = "") -> None:
        if not isinstance(name, str) or not name.strip():
            raise BadModel(f"A system needs a name (text), not {name!r}.")
        self.name = name
        self.text = text
        self.t = sp.Symbol("t")
        self.parameters: dict[str, Param] = {}
        self.presets: dict[str, Plain] = {}
        self.exact: Callable[..., dict[str, np.ndarray]] | None = None
        self.exact_of = ""
        self.published: dict[str, tuple[float, float, str]] = {}
        self.sizes: dict[str, Param] = {}
        self._drawn: tuple[Shape, ...] | Callable[[], tuple[Shape, ...]] = ()
        self.t_end, self.h = 3.0, 1e-3
        self.revision = 0
        self.made: dict[str, Any] = {}  # of its equations, on demand: rewritten, compiled

    def _set(self, name: str, value: object) -> None:
        """Set an attribute; after construction only an existing one.

        Raises
        ------
        BadAttribute
            A name that nothing would ever look at, or that of a method.
        """
        known = hasattr(type(self), name)
        if self._made and not name.startswith("_"):
            if not known and name not in vars(self):
                declared = [n for c in type(self).__mro__ for n in vars(c).get(_DECLARED, ())]
                public = {*declared, *dir(type(self)), *vars(self)}
                if name not in declared:
                    near = suggest(name, sorted(n for n in public if not n.startswith("_")))
                    raise BadAttribute(f"'{self.name}' has no attribute {name!r}.{near}")
            if known and inspect.isroutine(getattr(type(self), name)):
                raise BadAttribute(f"{name!r} of '{self.name}' is a method: call .{name}(...).")
        super().__setattr__(name, value)

    if not TYPE_CHECKING:  # a type checker would take any attribute then
        __setattr__ = _set

    @property
    def features(self) -> frozenset[str]:
        """The features that a scheme must handle besides the smooth equations."""
        if "features" not in self.lasting:
            self.lasting["features"] = self._features()
        features: frozenset[str] = self.lasting["features"]
        return features

    @property
    def lasting(self) -> dict[str, Any]:
        """What was `made` of its equations without regard to the values of inputs."""
        return self.made if self.base is None or self.drive is None else self.base.made

    def _features(self) -> frozenset[str]:
        here = {
            "compliance": [c for c in self.contacts if not _none(c.compliance)],
            "constraints": self.constraints,
            "constraints that change": [c for c in self.constraints if c.when is not None],
            "contacts": self.contacts,
            "friction": self.rough,
            "friction in space": [c for c in self.contacts if len(c.slips) > 1],
            "hysteresis": self.springs,
            "laws of velocities": [c for c in self.contacts if c.reset],
            "recorded forcing": self.records,
            "redundant constraints": self.constraints if getattr(self, "redundant", False) else (),
            "tangential restitution": [k for k in self.rough if not _none(self.contacts[k].e_t)],
        }
        return frozenset(name for name, found in here.items() if found)

    @property
    def rough(self) -> tuple[int, ...]:
        """Numbers of the contacts with friction."""
        return tuple(k for k, c in enumerate(self.contacts) if c.slip is not None)

    @property
    def tangents(self) -> tuple[tuple[int, int, Formula], ...]:
        """Contact, number of its direction (0 or 1) and sliding velocity of each tangent."""
        return tuple((k, d, s) for k, c in enumerate(self.contacts) for d, s in enumerate(c.slips))

    @property
    def sources(self) -> tuple[str, ...]:
        """The `references` as a tuple."""
        return tuple(items(self.references, f"The references of '{self.name}'", str))

    def touch(self) -> None:
        """Record a change of the equations, which invalidates compiled code."""
        self.revision += 1
        self.made = {}

    def __getstate__(self) -> dict[str, object]:
        """Return the state for copies and pickles, without compiled code."""
        return self.__dict__ | {"made": {}, "_drawn": self.shapes}

    def __copy__(self) -> Self:
        """Return a copy without compiled code, whose sketch is made when somebody looks."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__ | {"made": {}})
        return other

    # -- specification ------------------------------------------------------------------------

    def to_spec(self) -> Plain:
        """Return everything that defines the system as plain data (JSON)."""
        raise BadModel(f"{type(self).__name__} cannot be written down.")

    @classmethod
    def from_spec(cls, spec: Plain) -> System:
        """Build the system that `to_spec` described."""
        raise BadModel(f"{cls.__name__} cannot be built from plain data.")

    # -- parameters ---------------------------------------------------------------------------

    def params(self, **declared: Param | float) -> tuple[sp.Symbol, ...]:
        """Declare parameters and return their symbols in this order.

        Raises
        ------
        BadModel
            If a name is taken or is not an identifier.
        """
        for name, value in declared.items():
            check_name(name, "a parameter")
            if name in self._state_names():
                raise BadModel(f"The parameter {name!r} of '{self.name}' has the name of a state.")
            self.parameters[name] = value if isinstance(value, Param) else Param(value)
        self.touch()
        return tuple(sp.Symbol(name) for name in declared)

    def _parameters(self, given: object) -> Plain:
        """Return the arguments of `params`."""
        return mapping(given, f"params of '{self.name}'", '{"m": 1.0}')

    def _begin(self, given: Settings | None) -> None:
        """Call `start` with the arguments in a dict."""
        if given is not None:
            start = self.start  # type: ignore[attr-defined]
            example = f"dict({next(iter(inspect.signature(start).parameters))}=[...], t_end=3.0)"
            start(**entries(given, start, f"start of '{self.name}'", example))

    def rho(self, changes: Mapping[str, object] | None = None) -> list[float]:
        """Return the parameter vector, the defaults with `changes` by name.

        Raises
        ------
        BadValue
            If a name is unknown, or a value is not a finite number.
        """
        values = {name: p.value for name, p in self.parameters.items()}
        if self.drive is not None:
            values |= self.drive.first
        if type(changes) is not dict:  # the usual case needs no advice
            what = f"The parameters rho of '{self.name}'"
            changes = mapping(changes, what, example(values, changes))
        for key, value in changes.items():
            name = str(key)
            if name not in values:
                raise BadValue(f"'{self.name}' has no parameter {name!r}.{suggest(name, values)}")
            values[name] = number(value, name, self.parameters[name].unit)
        return list(values.values())

    # -- names --------------------------------------------------------------------------------

    def _state_names(self) -> tuple[str, ...]:
        return ()

    def symbols(self, *, state: bool = True, time: bool | None = None) -> Names:
        """Return the symbols that a formula of this system may use, by name.

        Without `state`, these are the parameters, and t and the inputs u(t) with `time`.
        """
        timed = state if time is None else time
        t = ("t",) if timed else ()
        fixed = [k for k, p in self.parameters.items() if timed or not isinstance(p, InputParam)]
        names = (*t, *(self._state_names() if state else ()), *fixed)
        return Names(_symbols(names), lambda: ("t", *self._state_names(), *self.input_names))

    # -- sketch -------------------------------------------------------------------------------

    def sketch(self, *shapes: Shape | Iterable[Shape] | Callable[[], Iterable[Shape]]) -> None:
        """Set the shapes that animate the system (see `explorer.systems.sketch`).

        An element of a schematic is several shapes. The value of a shape may use `signals` too:
        multipliers of laws by their names, alpha_1, ... of step functions, theta_NAME of regions,
        mode_NAME of modes, which is 1 while the mode is active and 0 otherwise.

        Instead of shapes it takes one function that returns them, for a picture of many formulas:
        it is called when somebody looks, or the system is compiled with its sketch, as mechanical
        ones are. What is wrong is said then.

        Raises
        ------
        BadModel
            If a point or a value has an unknown symbol, or a point or radius has a signal.
        """
        if len(shapes) == 1 and callable(shapes[0]):
            self._drawn = functools.partial(self._sketched, shapes[0])
        else:
            self._drawn = self._checked(cast("tuple[Shape | Iterable[Shape], ...]", shapes))
        self.touch()

    def _draw(self, given: object) -> None:
        """Set the sketch that a constructor is given: shapes, or one function that returns them."""
        if callable(given):
            self.sketch(given)
        elif shapes := [] if given is None else items(given, f"sketch of '{self.name}'", Shape):
            self.sketch(*shapes)

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The shapes of its sketch."""
        if callable(self._drawn):
            self._drawn = self._drawn()
        return self._drawn

    def sketched_as(self, system: System) -> None:
        """Take the sketch of a system that has the same states."""
        self._drawn = (lambda: system.shapes) if callable(system._drawn) else system._drawn

    def _sketched(self, draw: Callable[[], Iterable[Shape]]) -> tuple[Shape, ...]:
        what = f"What the function of the sketch of '{self.name}' returns"
        return self._checked(items(draw(), what, Shape))

    def _checked(self, shapes: Iterable[Shape | Iterable[Shape]]) -> tuple[Shape, ...]:
        """Return shapes whose formulas are expressions of known symbols."""
        names, what = self.symbols(), f"sketch of '{self.name}'"
        known = {**names, **{k: sp.Symbol(k) for k in self.signals}}
        given = [s for some in shapes for s in (some if isinstance(some, tuple) else (some,))]
        for shape in given:
            a(shape, Shape, f"a shape of the {what}", "circle(0, 'y', 0.1), line(...), ground(...)")
        checked = tuple(
            replace(
                s,
                points=tuple(tuple(expression(c, names, what) for c in p) for p in s.points),
                radius=expression(s.radius, names, what),
                value=None if s.value is None else expression(s.value, known, what),
            )
            for s in given
        )
        # `explorer.compiled.sketch` compiles points of t, states and parameters alone
        places = [x for s in checked for x in (*(c for p in s.points for c in p), s.radius)]
        used = {symbol.name for x in places for symbol in x.free_symbols}
        if signals := [name for name in self.signals if name in used]:
            raise BadModel(
                f"{what}: {signals[0]!r} cannot place a shape: points and radii are formulas of t, "
                "states and parameters. As the value of a shape, such as the current of a "
                f"resistor, {signals[0]!r} is allowed."
            )
        return checked

    @property
    def signals(self) -> tuple[str, ...]:
        """Names of what the value of a shape may use beside t, states and parameters."""
        return ()

    @property
    def pictured(self) -> tuple[Shape, ...]:
        """The shapes of its sketch; without one, those of the picture that a view has made."""
        made: tuple[Shape, ...] = self.lasting.get("picture", ())
        return self.shapes or made

    def preset(self, name: str, text: str = "", **settings: object) -> None:
        """Add a named setting; `settings` are arguments of `Session.set`."""
        self.presets[name] = {"text": text, **settings}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def equations_markdown(self) -> str:
        """Return name, equations, parameters and start as Markdown."""
        return f"**{self.name}**"

    def _repr_markdown_(self) -> str:
        """Show the equations in a notebook, then what is known: numbers, presets, sources."""
        return "\n\n".join(filter(None, [self.equations_markdown(), card(self)]))


refuse_moved(globals())
