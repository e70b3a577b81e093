"""`HybridSystem`: x' = f_m(t, x) in mode m; at an event x+ = h(t, x-) and the next mode.

An event is a zero of a guard r(t, x) of the current mode, crossed in the direction of the guard
while its condition `when` is positive. The state there may decide which mode follows (a hybrid
automaton; Goebel, Sanfelice and Teel, *Hybrid Dynamical Systems*, 2012, ch. 1; with resets and one
mode: an impulsive system).
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping, Sequence
from typing import Self, TypeAlias

import sympy as sp

from explorer.arguments import checked, entries, items, mapping
from explorer.errors import BadModel, suggest
from explorer.parameters import Param
from explorer.systems import display
from explorer.systems.expressions import expression, text
from explorer.systems.modes import Branch, Guard, Mode
from explorer.systems.signals import signal_names
from explorer.systems.sketch import Shape
from explorer.systems.state_space import StateSpaceSystem
from explorer.types import FormulaVector, Plain, Settings, Value

__all__ = ["HybridSystem"]


# each mode that may follow, and what must be > 0 for it
Conditions: TypeAlias = (
    "Mapping[str, Value | Sequence[Value]] | Mapping[Mode, Value | Sequence[Value]]"
    " | Mapping[Mode | str, Value | Sequence[Value]]"
)


class HybridSystem(StateSpaceSystem):
    """A system of modes with guards and resets.

    Parameters
    ----------
    name : str
    x : str or sequence of str
        Names of the states, in one string or a list.
    units : str or sequence of str, optional
        Units of the states, for the axes of pictures.
    params, start, sketch, text :
        The same as the methods and attributes of these names, to build a system in one call.
    modes : mapping of str to flow, optional
        Arguments of `mode`, in order.
    guards : iterable of dict, optional
        Arguments of `guard`, in order.

    Attributes
    ----------
    coordinates, units : tuple of str
        Names and units of the states.
    x : tuple of sympy.Symbol
    modes : tuple of Mode
    guards : tuple of Guard
        A guard of several modes is one entry for each.
    start_x : tuple of sympy.Expr
        Initial state, formulas of the parameters.
    start_mode : int
    start_branches : tuple of Branch
        The modes in which it may start, where the state decides.
    contact : (Expr, Expr, Expr or None), optional
        Where the modes are those of a contact: its gap, the rate of the gap, and its slip.

    Raises
    ------
    BadModel
        If names clash or are not identifiers; later, if a formula is inconsistent.

    Examples
    --------
    >>> import explorer as ex
    >>> room = ex.HybridSystem("room", x="T", modes={"on": ["30 - T"], "off": ["15 - T"]}, guards=[
    ...     dict(mode="on", r="T - 21", direction=+1, to="off", name="too hot"),
    ...     dict(mode="off", r="T - 19", to="on", name="too cold")], start=dict(x=[19]))
    >>> room.guard_names
    ('too hot', 'too cold')
    """

    kind = "hybrid system"

    def __init__(
        self,
        name: str,
        x: str | Sequence[str],
        *,
        params: Mapping[str, Param | float] | None = None,
        modes: Mapping[str, FormulaVector] | None = None,
        guards: Iterable[Settings] = (),
        start: Settings | None = None,
        sketch: Iterable[Shape] = (),
        units: str | Sequence[str] = "",
        text: str = "",
    ) -> None:
        super().__init__(name, x, units, text)
        self.modes: tuple[Mode, ...] = ()
        self.guards: tuple[Guard, ...] = ()
        self.start_mode = 0
        self.start_branches: tuple[Branch, ...] = ()
        self.contact: tuple[sp.Expr, sp.Expr, sp.Expr | None] | None = None
        self.params(**self._parameters(params))
        for label, flow in mapping(modes, f"modes of '{name}'", '{"on": ["1 - x"]}').items():
            self.mode(label, flow)
        example = 'dict(mode="on", r="x", to="off")'
        for guard in items(guards, f"guards of '{name}'", Mapping):
            self.guard(**entries(guard, self.guard, f"A guard of '{name}'", example))
        self._begin(start)
        self._draw(sketch)

    @property
    def signals(self) -> tuple[str, ...]:
        """1 for the active mode and 0 for the others, such as mode_on."""
        return signal_names("mode", (mode.name for mode in self.modes))

    @property
    def guard_names(self) -> tuple[str, ...]:
        """The names of the guards, each once, in order."""
        return tuple(dict.fromkeys(guard.name for guard in self.guards))

    # -- equations ----------------------------------------------------------------------------

    def mode(self, name: str, flow: FormulaVector) -> Mode:
        """Add a mode and return it.

        Parameters
        ----------
        name : str
        flow : sequence or dict
            x' as a vector, or ``{state: formula}`` with each state.

        Raises
        ------
        BadModel
            If the name is taken, the flow has a wrong length, or a symbol is unknown.
        """
        if not isinstance(name, str) or not name.strip() or name == "*":
            raise BadModel(f"A mode of '{self.name}' needs a name (text), not {name!r}.")
        if name in [mode.name for mode in self.modes]:
            raise BadModel(f"Two modes of '{self.name}' are called {name!r}.")
        made = Mode(name, len(self.modes), self._vector(flow, f"flow of {name!r}"))
        self.modes = (*self.modes, made)
        self.touch()
        return made

    def guard(
        self,
        mode: Mode | str | list[Mode | str] | tuple[Mode | str, ...],
        r: Value,
        *,
        to: Mode | str | Conditions | None = None,
        direction: int = -1,
        reset: FormulaVector | None = None,
        when: Value | None = None,
        name: str = "",
        terminal: bool = False,
        zeno: Mode | str | None = None,
        leaves: str = "",
    ) -> None:
        """Add a guard to one or several modes.

        Parameters
        ----------
        mode : Mode, str or list of them
            "*": all modes declared so far.
        r : formula
            The event is a zero of r(t, x, rho).
        to : Mode or str, or mapping of them to conditions, optional
            The mode after the event; the same one if omitted. Where the state decides: each mode
            that may follow and a formula (or a list of them) that must be > 0 for it. The first one
            for which that holds follows; where none does but for round-off, the nearest to it.
        direction : int
            -1: r falls through zero, +1: it rises, 0: both. A state that starts beyond the zero has
            not crossed it: no event before it has come back. A state may pass through the zero,
            also with a reset that leaves it there: one event. A guard that ends its mode or has a
            reset (and no `when`) is met at once where another event puts the state beyond its zero,
            by a reset or a change of mode, and the flow does not lead back.
        reset : sequence or dict, optional
            The state after the event as formulas of (t, x-, rho): all of it, or
            ``{state: formula}`` for those that jump. None: nothing jumps.
        when : formula, optional
            Must be > 0 where r crosses zero for the event to count. With it the event is the
            crossing and nothing else: a state that is put beyond the zero does not meet it
            (``when=1``: whatever the state is).
        name : str
            Shown in event lists; "guard 1", ... if empty.
        terminal : bool
            Whether the run ends at this event.
        zeno : Mode or str, optional
            The mode to go on in where events of this guard accumulate; without it the run stops.
        leaves : str, optional
            A guard of the mode that follows on whose zero this event happens.

        Raises
        ------
        BadModel
            An unknown mode, state or symbol, a name that is taken, an r that never changes.
        """
        label = name or f"guard {len(self.guard_names) + 1}"
        watched = self._watched(mode, label)
        what = f"r of guard {label!r}"
        event = expression(r, self.symbols(), what)
        if not {s.name for s in event.free_symbols} & {"t", *self.coordinates, *self.input_names}:
            raise BadModel(f"{what} = {event} depends neither on a state nor on t: no event.")
        if not isinstance(direction, numbers.Real) or direction not in (-1, 0, 1):
            raise BadModel(
                f"direction of guard {label!r} must be -1 (r falls through zero), +1 (it rises) "
                f"or 0 (both), not {direction!r}."
            )
        after = self.x
        if reset is not None:
            after = self._vector(reset, f"reset of guard {label!r}", self.x)
        condition = None
        if when is not None:
            condition = expression(when, self.symbols(), f"when of guard {label!r}")
        branches = self._branches(to, f"to of guard {label!r}") if isinstance(to, Mapping) else ()
        target = None if to is None or branches else self._mode(to, f"to of guard {label!r}")
        beyond = -1 if zeno is None else self._mode(zeno, f"zeno of guard {label!r}").index
        taken = {guard.mode for guard in self.guards if guard.name == label}
        guards = []
        for m in watched:
            if m.index in taken:
                raise BadModel(f"Two guards of mode {m.name!r} are called {label!r}.")
            taken.add(m.index)
            first = branches[0].to if branches else (target or m).index
            guards.append(
                Guard(
                    m.index,
                    event,
                    first,
                    int(direction),
                    after,
                    after != self.x,
                    condition,
                    label,
                    bool(terminal),
                    beyond,
                    branches,
                    leaves,
                )
            )
        self.guards = (*self.guards, *guards)
        self.touch()

    def _watched(
        self, mode: Mode | str | list[Mode | str] | tuple[Mode | str, ...], label: str
    ) -> list[Mode]:
        """Return the modes of a guard; "*": all that are declared."""
        if isinstance(mode, str) and mode == "*":
            self.check()
            return list(self.modes)
        several = mode if isinstance(mode, (list, tuple)) else [mode]
        return [self._mode(m, f"guard {label!r}") for m in several]

    @checked
    def start(
        self,
        x: FormulaVector | None = None,
        mode: Mode | str | Conditions | None = None,
        *,
        t_end: float | None = None,
        h: float | None = None,
        time_unit: str | None = None,
    ) -> None:
        """Set the initial state (formulas of the parameters) and mode; time span and step.

        All times are in `time_unit`, "s" unless it is given. The mode may be a mapping of modes to
        conditions on the start, as in `guard`.

        Raises
        ------
        BadModel
            A wrong length, a start that depends on the state or on t, an unknown mode.
        BadValue
            A time span or a step that is not a positive number.
        """
        what = f"start mode of '{self.name}'"
        if isinstance(mode, Mapping):
            self.start_branches = self._branches(mode, what)
            self.start_mode = self.start_branches[0].to
        elif mode is not None:
            self.start_branches, self.start_mode = (), self._mode(mode, what).index
        super().start(x, t_end=t_end, h=h, time_unit=time_unit)

    def check(self) -> None:
        """Refuse a system that cannot run.

        Raises
        ------
        BadModel
            If there is no mode.
        """
        if not self.modes:
            raise BadModel(f"'{self.name}' has no mode yet: add one with .mode(name, flow).")

    def _branches(self, to: Conditions, what: str) -> tuple[Branch, ...]:
        if not to:
            raise BadModel(f"{what}: no mode is given.")
        branches = []
        for mode, when in to.items():
            several = list(when) if isinstance(when, (list, tuple)) else [when]
            formulas = tuple(expression(w, self.symbols(), f"{what}, condition") for w in several)
            branches.append(Branch(self._mode(mode, what).index, formulas))
        return tuple(branches)

    def _mode(self, mode: Mode | str, what: str) -> Mode:
        if isinstance(mode, Mode) and mode in self.modes:
            return mode
        modes = {m.name: m for m in self.modes}
        label = mode.name if isinstance(mode, Mode) else mode
        if isinstance(mode, Mode) or not isinstance(label, str) or label not in modes:
            raise BadModel(
                f"{what}: there is no such mode {label!r} in '{self.name}'.{suggest(label, modes)}"
            )
        return modes[label]

    # -- display and specification ------------------------------------------------------------

    def equations_markdown(self) -> str:
        """Return name, equations, parameters and start as Markdown."""
        return display.hybrid(self, self.modes, self.guards, self.start_mode, self.start_branches)

    def to_spec(self) -> Plain:
        """Return everything that defines the system as plain data (JSON)."""
        names = [mode.name for mode in self.modes]
        shared = self._spec()

        def several(branches: tuple[Branch, ...], one: int) -> dict[str, list[str]] | str | None:
            conditions = {names[b.to]: [text(w) for w in b.when] for b in branches}
            return conditions or (names[one] if names else None)

        contact = {}
        if self.contact is not None:
            contact["contact"] = [None if f is None else text(f) for f in self.contact]
        return {
            **shared,
            **contact,
            "modes": {mode.name: [text(f) for f in mode.flow] for mode in self.modes},
            "guards": [
                {
                    "mode": names[guard.mode],
                    "r": text(guard.r),
                    "to": several(guard.branches, guard.to),
                    "direction": guard.direction,
                    "reset": [text(x) for x in guard.reset] if guard.jumps else None,
                    "when": None if guard.when is None else text(guard.when),
                    "name": guard.name,
                    "terminal": guard.terminal,
                    "zeno": None if guard.zeno < 0 else names[guard.zeno],
                    "leaves": guard.leaves,
                }
                for guard in self.guards
            ],
            "start": {**shared["start"], "mode": several(self.start_branches, self.start_mode)},
        }

    @classmethod
    def from_spec(cls, spec: Plain) -> Self:
        """Build the system that `to_spec` described; formulas are parsed, never evaluated."""
        system = super().from_spec({k: v for k, v in spec.items() if k != "contact"})
        if spec.get("contact") is not None:
            known = system.symbols()
            gap, rate, slip = (
                None if f is None else expression(f, known, "The contact") for f in spec["contact"]
            )
            assert gap is not None
            assert rate is not None
            system.contact = gap, rate, slip
        return system
