"""`OptimalControlProblem`: what a control has to achieve, and within which bounds.

min int_0^T L(t, x, u) dt + R(T, x(T)) over u, and over T if it is free, along the solutions of a
system with switches, with G_p(t, x, u) and G_t(T, x(T)) in given ranges (Nurkanovic, Frey,
Pozharskiy and Diehl 2023, eq. (1)).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property

import numpy as np
import sympy as sp

from explorer.arguments import Checked, a, items, mapping
from explorer.control.algebraic import Relation, relation
from explorer.control.options import check_bounds, check_horizon, check_options, check_system
from explorer.control.ranges import Ranged, Rule, pair, rules
from explorer.control.states import states_of
from explorer.control.unknowns import check_places, stage_ranges, unknown_ranges
from explorer.errors import BadValue, suggest
from explorer.parameters import number, whole
from explorer.quantities import many
from explorer.systems import HybridSystem, MechanicalSystem, StepSystem, System, check_start
from explorer.systems.expressions import expression
from explorer.types import Reals, Value

__all__ = ["OptimalControlProblem"]


@dataclass(frozen=True, repr=False)
class OptimalControlProblem(metaclass=Checked):
    """An optimal control problem of a system with switches.

    Parameters
    ----------
    system : StepSystem, FilippovSystem, HybridSystem or MechanicalSystem
        With inputs (`system.inputs`). Guards of a hybrid system have a direction and one next mode.
        A mechanical system has rigid contacts, with friction along a line or without it, and
        bilateral constraints; its states are q and v.
    t_end : float or (float, float), optional
        Final time in s. A range makes it free. By default that of the system.
    intervals : int
        Control intervals. A control is constant in each of them.
    running, terminal : formula
        Running cost of t, states, controls and parameters; terminal cost of the final t, the final
        states and parameters. ``terminal="t"`` asks for the least time.
    bounds : mapping of str to (low, high), optional
        Ranges of states and controls; None is no bound. Controls have those of their declaration.
    path : sequence of relations, optional
        Hold at all stages: ``["x**2 + y**2 >= 1"]``.
    end : mapping or sequence of relations, optional
        Hold at the final time: ``{"q": 200, "v": (0, 1)}`` or ``["q >= 2*v"]``.
    knots : mapping or sequence of relations, optional
        Hold at the end of each control interval, where t is its time.
    controls : sequence of str, optional
        Names of the parameters that are controls; by default the inputs of the system.
    elements, stages : int
        Elements of a control interval, which its switches divide into at most as many phases, and
        stages of the Radau IIA method of order 2 stages - 1.
    grid : str
        "uniform": control intervals of equal length. "free": their lengths are unknown too, so a
        control may switch at any time.
    representation : str
        Multipliers of the homotopy: "step", or "stewart" for a `FilippovSystem`. The plan itself is
        solved in step form; both agree on one surface.
    method : str
        "fesd", or "standard" for a Runge-Kutta method without switch detection, to compare.
    no_slip : sequence of str
        Names of contacts with friction that may not slide while they are closed, eq. (24c).
    unknowns : mapping of str to (low, high), optional
        Parameters of the system that the plan chooses, with one value over the horizon.
    stagewise : mapping of str to (low, high) or to a list of `intervals` values or ranges, optional
        Parameters with a value of their own in each control interval, chosen or given. They count
        among the controls, behind the others; feedback leaves them as planned.
    algebraic : mapping of str to (low, high), optional
        Parameters that `equations` determine at each time, and their ranges; None is no bound.
        They may stand in f, in forces, in costs and in constraints.
    equations : sequence of equations, optional
        As many, of t, states, controls and parameters: ``["z + z**3 = x + u"]``. Their matrix of
        derivatives by the variables has to be regular (index 1).
    lifting : bool
        Whether the homotopy in step form has variables for products of multipliers, so that its
        equations are at most bilinear.

    Raises
    ------
    BadValue, BadModel
        An unknown name, an empty range, a formula that is inconsistent, a control without bounds on
        which no cost depends, a control in a gap or a switching function, which would jump.
    NotApplicable
        A system of another type.

    Examples
    --------
    >>> import explorer as ex
    >>> block = ex.StepSystem("block", x="q v", f=["v", "u - sign(v)/2"], params={"u": 0.0})
    >>> ex.OptimalControlProblem(block, t_end=(0.1, 20), intervals=4, terminal="t",
    ...                          controls="u", bounds={"u": (-1, 1)}, end={"q": 1, "v": 0})
    OptimalControlProblem(block: 4 intervals of 3 elements, final time free)
    """

    system: StepSystem | HybridSystem | MechanicalSystem
    t_end: float | Sequence[float] | None = None
    _: KW_ONLY
    intervals: int = 20
    running: Value = 0
    terminal: Value = 0
    bounds: Mapping[str, object] | None = None
    path: Sequence[Rule] = ()
    end: Mapping[str, object] | Sequence[Rule] | None = None
    knots: Mapping[str, object] | Sequence[Rule] = ()
    controls: str | Sequence[str] | None = None
    elements: int = 3
    stages: int = 2
    grid: str = "uniform"
    representation: str = "step"
    method: str = "fesd"
    no_slip: Sequence[str] = ()
    unknowns: Mapping[str, object] | None = None
    stagewise: Mapping[str, object] | None = None
    algebraic: Mapping[str, object] | None = None
    equations: str | Sequence[Rule] = ()
    lifting: bool = False

    def __post_init__(self) -> None:
        a(self.system, System, "a system", "OptimalControlProblem(ex.models.sliding_mode())")
        check_system(self.system)
        for name in ("intervals", "elements", "stages"):
            object.__setattr__(self, name, whole(getattr(self, name), name))
        check_options(self.system, vars(self))
        self._check_controls()
        check_horizon(self.times[0], self.intervals * self.elements, self.system.time_unit)
        check_bounds(self._control_bounds(), self.costs[0], self.relation)
        ranged = (*self.path_rules, *self.end_rules, *self.knot_rules)
        asked = (*self.costs, *self.relation.equations, *(rule[0] for rule in ranged))
        assert self.limits is not None  # refuses what is inconsistent
        check_places(self.system, self.control_names, self.unknown_names, asked)

    def __repr__(self) -> str:
        low, high = self.times
        span = f"T = {low:g} {self.system.time_unit}" if low == high else "final time free"
        size = f"{self.intervals} intervals of {self.elements} elements"
        return f"OptimalControlProblem({self.system.name}: {size}, {span})"

    # -- checks ---------------------------------------------------------------------------------

    def _check_controls(self) -> None:
        known = self.system.parameters
        if len({*self.control_names}) < len(self.control_names):
            raise BadValue(f"controls = {self.controls!r} names a control twice.")
        for name in self.control_names:
            if name not in known:
                raise BadValue(
                    f"'{self.system.name}' has no parameter {name!r} to control."
                    f"{suggest(name, list(known))}"
                )
        twice = sorted({*self.unknown_names} & {*self.control_names})
        if twice:
            raise BadValue(f"{twice[0]!r} is in unknowns and in stagewise; each has one role.")
        if not self.control_names:
            raise BadValue(
                f"'{self.system.name}' has no inputs. Declare them with .inputs(...) before its "
                "formulas, or name parameters: controls='u'."
            )

    # -- what follows from the arguments --------------------------------------------------------

    @cached_property
    def control_names(self) -> tuple[str, ...]:
        """The names of the controls; those of stage parameters come last."""
        return (*self._own_controls, *self.stages_of)

    @property
    def _own_controls(self) -> tuple[str, ...]:
        if self.controls is None:
            return tuple(self.system.input_names)
        chosen = self.controls
        if isinstance(chosen, str):
            return tuple(chosen.replace(",", " ").split())
        return tuple(map(str, items(chosen, "controls")))

    @cached_property
    def stages_of(self) -> dict[str, np.ndarray]:
        """The ranges (N, 2) of the stage parameters by name."""
        return stage_ranges(self.stagewise, self.system, self._own_controls, self.intervals)

    @cached_property
    def ranges(self) -> dict[str, tuple[float, float]]:
        """The ranges of the unknown parameters by name."""
        return unknown_ranges(self.unknowns, self.system, self._own_controls)

    @cached_property
    def relation(self) -> Relation:
        """The algebraic variables, and the equations that determine them."""
        return relation(
            self.algebraic, self.equations, self.system, self.control_names, self.unknown_names
        )

    @property
    def unknown_names(self) -> tuple[str, ...]:
        """The names of the unknown parameters."""
        return tuple(self.ranges)

    @property
    def unknown_places(self) -> np.ndarray:
        """Their numbers among `parameter_names`."""
        return np.array([self.parameter_names.index(name) for name in self.ranges], int)

    @property
    def states(self) -> tuple[sp.Symbol, ...]:
        """The symbols of the states; q and v of a mechanical system."""
        return states_of(self.system)

    @property
    def state_names(self) -> tuple[str, ...]:
        """The names of the states."""
        return tuple(x.name for x in self.states)

    @property
    def state_units(self) -> tuple[str, ...]:
        """The units of the states."""
        units = tuple(self.system.units)
        if isinstance(self.system, MechanicalSystem):
            units += tuple(f"{u}/s" if u else "" for u in units)
        return units

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The names of the parameters that are neither controls nor algebraic variables."""
        other = {*self.control_names, *self.relation.names}
        return tuple(k for k in self.system.parameters if k not in other)

    @property
    def times(self) -> tuple[float, float]:
        """The range of the final time in s."""
        if self.t_end is None:
            return self.system.t_end, self.system.t_end
        return pair(self.t_end, "t_end")

    @cached_property
    def costs(self) -> tuple[sp.Expr, sp.Expr]:
        """Running and terminal cost as formulas."""
        names = self.system.symbols()
        fixed = {k: s for k, s in names.items() if k not in self.control_names}
        return (
            expression(self.running, names, "The running cost"),
            expression(self.terminal, fixed, "The terminal cost"),
        )

    @cached_property
    def path_rules(self) -> list[Ranged]:
        """The path constraints."""
        return rules(self.path, self.system.symbols(), "The path constraint")

    @cached_property
    def end_rules(self) -> list[Ranged]:
        """The constraints at the final time."""
        names = self.system.symbols()
        fixed = {k: s for k, s in names.items() if k not in self.control_names}
        return rules(self.end, fixed, "The end constraint")

    @property
    def knot_rules(self) -> list[Ranged]:
        """The constraints at the ends of control intervals."""
        names = self.system.symbols()
        fixed = {k: s for k, s in names.items() if k not in self.control_names}
        return rules(self.knots, fixed, "The knot constraint")

    def _control_bounds(self) -> dict[str, tuple[float, float]]:
        declared = self.system.input_bounds
        none = (-math.inf, math.inf)
        found = {k: declared.get(k, none) for k in self._own_controls}
        given = mapping(self.bounds, "bounds", '{"x": (0, 1)}')
        for name in found.keys() & given.keys():
            found[name] = pair(given[name], f"The bounds of {name!r}")
        for name, each in self.stages_of.items():
            found[name] = float(each[:, 0].min()), float(each[:, 1].max())
        return found

    @cached_property
    def limits(self) -> tuple[np.ndarray, np.ndarray]:
        """Ranges (n_x, 2) of the states and (n_u, 2) of the controls."""
        given = mapping(self.bounds, "bounds", '{"x": (0, 1)}')
        states = dict.fromkeys((s.name for s in self.states), (-math.inf, math.inf))
        for name, value in given.items():
            if name not in states and name not in self._own_controls:
                known = [*states, *self._own_controls]
                raise BadValue(
                    f"bounds: there is no state or control {name!r}.{suggest(name, known)}"
                )
            if name in states:
                states[name] = pair(value, f"The bounds of {name!r}")
        controls = self._control_bounds()
        return (
            np.array(list(states.values()), float).reshape(-1, 2),
            np.array(list(controls.values()), float).reshape(-1, 2),
        )

    @property
    def control_limits(self) -> np.ndarray:
        """The ranges (N, n_u, 2) of the controls in each interval."""
        found = np.tile(self.limits[1], (self.intervals, 1, 1))
        for name, each in self.stages_of.items():
            found[:, self.control_names.index(name)] = each
        return found

    def start(
        self, x0: Reals | None, given: Mapping[str, float]
    ) -> tuple[np.ndarray, dict[str, float]]:
        """Return the initial state (n_x,) and the parameters of the system by name.

        `x0` (n_x,) is by default the start of the system; `given` replaces its parameters by name.

        Raises
        ------
        BadValue
            An unknown parameter, a wrong length, a start outside of its bounds.
        """
        for name in sorted({*given} & {*self.control_names}):
            raise BadValue(
                f"{name!r} is a control of this problem: the plan chooses it. Where the search "
                "begins is part of the guess: guess={'u': ...}; a fixed value is a bound: "
                f"bounds={{{name!r}: {given[name]}}}."
            )
        for name in given.keys() & self.relation.ranges.keys():
            raise BadValue(
                f"{name!r} is an algebraic variable: equations determine it. Where the search "
                f"begins is part of the guess: guess={{'algebraic': {{{name!r}: {given[name]}}}}}."
            )
        values = dict(zip(self.system.parameters, self.system.rho(given), strict=True))
        check_start(self.system, x0, given)
        if x0 is None:
            rho = {sp.Symbol(k): v for k, v in values.items()}
            system = self.system
            usual = (
                [*system.start_q, *system.start_v]
                if isinstance(system, MechanicalSystem)
                else system.start_x
            )
            for x in map(sp.sympify, usual):
                decided = {*self.ranges, *self.stages_of, *self.relation.names}
                moving = sorted({s.name for s in x.free_symbols} & decided)
                if moving:
                    raise BadValue(
                        f"The start of '{system.name}' depends on {moving[0]!r}, which the plan "
                        "chooses. Give the start in numbers: x0=[...]."
                    )
            start = np.array([float(sp.sympify(x).subs(rho)) for x in usual])
        else:
            start = np.array([number(x, "x0") for x in np.ravel(np.asarray(x0, object))])
        names = [s.name for s in self.states]
        if start.size != len(names):
            entries = "1 entry" if start.size == 1 else f"{start.size} entries"
            there = "is" if len(names) == 1 else "are"
            raise BadValue(f"x0 has {entries}, but there {there} {many(len(names), 'state')}.")
        for name, x, (low, high) in zip(names, start, self.limits[0], strict=True):
            if not low <= x <= high:
                raise BadValue(
                    f"The start {name} = {x:g} lies outside of its bounds [{low:g}, {high:g}]. "
                    "Change x0 or the bounds."
                )
        return start, {k: values[k] for k in self.parameter_names}
