"""`OptimalControlProblem`: what a control has to achieve, and within which bounds.

min int_0^T L(t, x, u) dt + R(T, x(T)) over u, and over T if it is free, along the solutions of a
system with switches, with G_p(t, x, u) and G_t(T, x(T)) in given ranges (Nurkanovic, Frey,
Pozharskiy and Diehl 2023, eq. (1)).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import sympy as sp

from explorer.arguments import Checked, a, mapping
from explorer.control.ranges import Ranged, Rule, pair, rules
from explorer.control.states import states_of
from explorer.errors import BadValue, NotApplicable, suggest
from explorer.parameters import number
from explorer.systems import HybridSystem, MechanicalSystem, StepSystem, System
from explorer.systems.expressions import expression
from explorer.transcription.contact_formulas import obstacle as contact_obstacle
from explorer.transcription.modes import obstacle
from explorer.types import Reals, Value

__all__ = ["OptimalControlProblem"]

GRIDS = ("uniform", "free")
REPRESENTATIONS = ("step", "stewart")
METHODS = ("fesd", "standard")


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
        Hold at the end of each control interval, where t is its time. They have no slacks.
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

    Raises
    ------
    BadValue, BadModel
        An unknown name, an empty range, a formula that is inconsistent, a control without bounds on
        which no cost depends.
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

    def __post_init__(self) -> None:
        a(self.system, System, "a system", "OptimalControlProblem(ex.models.sliding_mode())")
        given: System = self.system
        if not isinstance(given, (StepSystem, HybridSystem, MechanicalSystem)):
            raise NotApplicable(
                "OptimalControlProblem takes systems with step functions, Filippov systems, hybrid "
                f"and mechanical systems, but '{self.system.name}' is a {self.system.kind}."
            )
        why = ""
        if isinstance(given, HybridSystem):
            why = obstacle(given)
        elif isinstance(given, MechanicalSystem):
            why = contact_obstacle(given)
        if why:
            raise NotApplicable(f"'{self.system.name}' cannot be optimised: {why}")
        for name, least in (("intervals", 1), ("elements", 1), ("stages", 1)):
            value = getattr(self, name)
            if not isinstance(value, int) or value < least:
                raise BadValue(f"{name} = {value!r} must be a whole number from {least} on.")
        if self.stages > 4:
            raise BadValue(f"stages = {self.stages}: the method has 1 to 4 stages.")
        for name, known in (
            ("grid", GRIDS),
            ("representation", REPRESENTATIONS),
            ("method", METHODS),
        ):
            value = getattr(self, name)
            if value not in known:
                raise BadValue(f"{name} = {value!r} is unknown.{suggest(value, known)}")
        rough = [c.name for c in getattr(given, "contacts", ()) if c.slip is not None]
        for name in self.no_slip:
            if name not in rough:
                raise BadValue(
                    f"no_slip: '{given.name}' has no contact {name!r} with friction."
                    f"{suggest(name, rough)}"
                )
        self._check_controls()
        self._check_times()
        for what in (self.costs, self.path_rules, self.end_rules, self.knot_rules, self.limits):
            assert what is not None  # each refuses what is inconsistent

    def __repr__(self) -> str:
        low, high = self.times
        span = f"T = {low:g} {self.system.time_unit}" if low == high else "final time free"
        size = f"{self.intervals} intervals of {self.elements} elements"
        return f"OptimalControlProblem({self.system.name}: {size}, {span})"

    # -- checks ---------------------------------------------------------------------------------

    def _check_controls(self) -> None:
        known = self.system.parameters
        for name in self.control_names:
            if name not in known:
                raise BadValue(
                    f"'{self.system.name}' has no parameter {name!r} to control."
                    f"{suggest(name, list(known))}"
                )
        if not self.control_names:
            raise BadValue(
                f"'{self.system.name}' has no inputs. Declare them with .inputs(...) before its "
                "formulas, or name parameters: controls='u'."
            )

    def _check_times(self) -> None:
        low, high = self.times
        if not 0 < low <= high:
            raise BadValue(f"t_end = {self.t_end!r}: the final time must be positive.")
        used = {s.name for cost in self.costs for s in cost.free_symbols}
        for name, (least, most) in self._control_bounds().items():
            if not (math.isfinite(least) and math.isfinite(most)) and name not in used:
                raise BadValue(
                    f"The control {name!r} has no bounds, and no cost depends on it, so it may "
                    f"grow without limit. Give bounds={{{name!r}: (low, high)}}, or a running cost "
                    f"with {name}**2."
                )

    # -- what follows from the arguments --------------------------------------------------------

    @property
    def control_names(self) -> tuple[str, ...]:
        """The names of the controls."""
        if self.controls is None:
            return tuple(self.system.input_names)
        chosen = self.controls
        return tuple(chosen.replace(",", " ").split() if isinstance(chosen, str) else chosen)

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
        """The names of the parameters that are no controls."""
        return tuple(k for k in self.system.parameters if k not in self.control_names)

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
        found = {k: declared.get(k, none) for k in self.control_names}
        given = mapping(self.bounds, "bounds", '{"x": (0, 1)}')
        for name in found.keys() & given.keys():
            found[name] = pair(given[name], f"The bounds of {name!r}")
        return found

    @cached_property
    def limits(self) -> tuple[np.ndarray, np.ndarray]:
        """Ranges (n_x, 2) of the states and (n_u, 2) of the controls."""
        given = mapping(self.bounds, "bounds", '{"x": (0, 1)}')
        states = dict.fromkeys((s.name for s in self.states), (-math.inf, math.inf))
        for name, value in given.items():
            if name not in states and name not in self.control_names:
                known = [*states, *self.control_names]
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

    def start(
        self, x0: Reals | None, given: Mapping[str, float]
    ) -> tuple[np.ndarray, dict[str, float]]:
        """Return the initial state and the parameters.

        Raises
        ------
        BadValue
            An unknown parameter, a wrong length, a start outside of its bounds.
        """
        values = dict(zip(self.system.parameters, self.system.rho(given), strict=True))
        if x0 is None:
            rho = {sp.Symbol(k): v for k, v in values.items()}
            system = self.system
            usual = (
                [*system.start_q, *system.start_v]
                if isinstance(system, MechanicalSystem)
                else system.start_x
            )
            start = np.array([float(sp.sympify(x).subs(rho)) for x in usual])
        else:
            start = np.array([number(x, "x0") for x in np.ravel(np.asarray(x0, object))])
        names = [s.name for s in self.states]
        if start.size != len(names):
            raise BadValue(f"x0 has {start.size} entries, but there are {len(names)} states.")
        for name, x, (low, high) in zip(names, start, self.limits[0], strict=True):
            if not low <= x <= high:
                raise BadValue(
                    f"The start {name} = {x:g} lies outside of its bounds [{low:g}, {high:g}]. "
                    "Change x0 or the bounds."
                )
        return start, {k: values[k] for k in self.parameter_names}
