"""The state of the panel on basins: a model, two axes, their window, and the start that is shown.

That of a session, and one entry more, ``"see"``: "x" and "y", two starts or two parameters by full
name ("q0.x", "omega"), from "left" to "right" and from "bottom" to "top"; "at_x" and "at_y", the
start that is shown (None: that of the model); "until", how long a start is run at most, in periods
of the section, or in s where the section is an event. Full keys: "see.x" and so on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

from explorer.dispatch.simulate import simulate
from explorer.errors import BadValue, suggest
from explorer.models import models
from explorer.panels.code import called, opening
from explorer.panels.menus import menu
from explorer.panels.orbits.state import offered as goes_on
from explorer.panels.see import SeeStates
from explorer.panels.session import Model
from explorer.panels.sharpening import SharpSession
from explorer.panels.state import START, State, States
from explorer.parameters import number
from explorer.results.solution import Solution
from explorer.schemes import schemes
from explorer.study.asked import Chosen
from explorer.study.basin_map import Basins
from explorer.study.finer_basins import FinerBasins
from explorer.study.forcing import usual_section
from explorer.study.starts import moving
from explorer.study.sweep import usual
from explorer.systems import LagrangianSystem, System
from explorer.types import Plain

__all__ = [
    "BEGINS",
    "NOT_OFFERED",
    "BasinsSession",
    "BasinsStates",
    "axes_of",
    "of_starts",
    "offered",
    "unit_of",
    "usual_until",
]

FINE, COARSE = ((200, 150), (100, 75)), ((80, 60), (32, 24))  # of starts, and of parameters
_PERIODS = 200  # of a section that a start is run at most
_TIMES = 10  # the same of a section by an event, in t_end of the system
_MOST = 1e5  # periods, or t_end of the system
_AT = ("at_x", "at_y")


# of models whose own values leave nothing that attracts: where the panel begins instead
BEGINS: dict[str, dict[str, float]] = {
    "impact_oscillator": {"s": 0.0, "omega": 2.6},
    "gap_stop": {"c": 0.1, "f": 1.0},
    "preloaded_stop": {"c": 0.1, "f": 1.0},
    "coulomb_oscillator": {"f": 2.0},
}
# whose motions come to nothing that attracts, whatever their values
NOT_OFFERED = {
    "cart_plastic": "it comes to rest",
    "ellipse_billiard": "its map keeps areas",
    "fuller": "it comes to the origin in finite time",
    "pushed_block": "it comes to rest anywhere",
}


@menu("basins")
def offered(name: str) -> bool:
    """Whether the menu has a model: something attracts, and two of its starts may vary."""
    system = models[name]() if name not in NOT_OFFERED and goes_on(name) else None
    return system is not None and len(system.coordinates) <= 12 and bool(axes_of(system))


def axes_of(system: System) -> list[list[str]]:
    """Return what may be the axes, by full name, in lists of which two go together.

    The starts of states; the parameters that decide the start alone; those of the equations.
    """
    own = moving(system)
    kinds = ("q0", "v0") if isinstance(system, LagrangianSystem) else ("x0",)
    starts = [f"{kind}.{c}" for c in system.coordinates for kind in kinds]
    apart = [k for k in system.parameters if k not in own]
    rest = [k for k in system.parameters if k in own]
    return [names for names in (starts, apart, rest) if len(names) > 1]


def of_starts(system: System, name: str) -> bool:
    """Whether an axis is one of starts."""
    return name not in system.parameters or name not in moving(system)


def usual_until(system: System) -> float:
    """Return how long a start is run at most: periods, or s where the section is an event."""
    periods = usual_section(system).period is not None
    return float(_PERIODS if periods else _TIMES * system.t_end)


def unit_of(system: System, name: str) -> str:
    """Return the unit of an axis."""
    if name in system.parameters:
        return system.parameters[name].unit
    kind, _, coordinate = name.partition(".")
    own = system.units[list(system.coordinates).index(coordinate)]
    return own if kind != "v0" else f"{own}/s" if own else "1/s"


class BasinsStates(SeeStates):
    """States of the panel on basins."""

    draws_inputs = False

    def fresh(
        self, model: str, sizes: Mapping[str, int] | None = None, scheme: Chosen | None = None
    ) -> State:
        """Return the default state of a model: over its first two starts."""
        system = self.system({"model": model, "sizes": dict(sizes or {})})
        usual_section(system)  # or the sentence that says what is missing
        state = super().fresh(model, sizes, usual(system) if scheme is None else scheme)
        known = axes_of(system)
        if not known:
            raise BadValue(f"'{system.name}' has no two starts or parameters that may vary.")
        names = known[0]
        until = usual_until(system)
        state["rho"] |= BEGINS.get(model, {})
        state["see"] = {
            **self._axis(state, "x", names[0]),
            **self._axis(state, "y", names[1]),
            **dict.fromkeys(_AT),
            "until": until,
        }
        return state

    def _axis(self, state: State, which: str, name: str) -> State:
        """Return the part of a state that is about an axis: its name and its window."""
        low, high = self.reach(state, name)
        ends = ("left", "right") if which == "x" else ("bottom", "top")
        return {which: name, ends[0]: low, ends[1]: high}

    def reach(self, state: State, name: str) -> tuple[float, float]:
        """Return the range of a start or of a parameter, as its slider has it."""
        system = self.system(state)
        if name in system.parameters:
            p = system.parameters[name]
            return (p.low, p.high) if p.low < p.high else (p.value - 1.0, p.value + 1.0)
        group, _, coordinate = name.partition(".")
        return self.start_ranges(state)[group][list(system.coordinates).index(coordinate)]

    def takes(self, key: str) -> bool:
        """Whether a full key of a session is one of this panel too."""
        return key != "mode0"

    def seen(self, state: State, name: str, value: object) -> object:
        """Return the checked value of one entry."""
        system, see = self.system(state), state["see"]
        if name in _AT:
            return None if value is None else number(value, f"The start in {see[name[-1]]}")
        if name == "until":
            unit = "" if usual_section(system).period is not None else system.time_unit
            wanted = number(value, "The longest run", unit, positive=True)
            periods = usual_section(system).period is not None
            least, most = (12.0, _MOST) if periods else (0.0, _MOST * system.t_end)
            if not least <= wanted <= most or (periods and wanted != int(wanted)):
                what = "periods must be a whole number" if periods else f"{unit} must lie"
                raise BadValue(f"until = {wanted:g} {what} from {least:g} to {most:g}.")
            return wanted
        axis = see["x" if name in ("left", "right") else "y"]
        return number(value, f"The {name} end of {axis}", unit_of(system, axis))

    def change(self, state: State, key: str, value: object) -> State:
        """Return `state` with one entry changed; another axis has another window."""
        if key in ("see.x", "see.y"):
            return self._turned(state, key[-1], value)
        new = super().change(state, key, value)
        if key.startswith("size."):
            new["see"] = {**self.fresh(new["model"], new["sizes"])["see"]}
        return new

    def _turned(self, state: State, which: str, value: object) -> State:
        """Return `state` with another axis; the other one follows where both cannot stand."""
        known = axes_of(self.system(state))
        alike = next((names for names in known if value in names), None)
        if alike is None:
            every = [name for names in known for name in names]
            raise BadValue(f"There is no start or parameter {value!r}.{suggest(str(value), every)}")
        name, see, other = str(value), state["see"], "y" if which == "x" else "x"
        new = {**see, **self._axis(state, which, name), f"at_{which}": None}
        if see[other] == name:  # they change places
            beside = see[which] if see[which] in alike and see[which] != name else ""
            new |= self._axis(state, other, beside or next(k for k in alike if k != name))
            new[f"at_{other}"] = None
        elif see[other] not in alike:
            new |= self._axis(state, other, next(k for k in alike if k != name))
            new[f"at_{other}"] = None
        return {**state, "see": new}

    def check(self, state: State) -> None:
        """Refuse a state whose window is none.

        Raises
        ------
        BadValue
        """
        see = state["see"]
        for axis, low, high in (("x", "left", "right"), ("y", "bottom", "top")):
            if not see[low] < see[high]:
                raise BadValue(
                    f"{see[axis]} from {see[low]:g} to {see[high]:g} is no range: the lower end "
                    "must be below the upper one."
                )

    def at(self, state: State) -> tuple[float, float]:
        """Return the start that is shown."""
        see, found = state["see"], []
        for axis in ("x", "y"):
            name, own = see[axis], see[f"at_{axis}"]
            usual_ = state["rho"][name] if name in state["rho"] else self.value(state, name)
            found.append(float(cast(float, usual_ if own is None else own)))
        return found[0], found[1]

    def fitting(self, given: State) -> State:
        """Return what of a saved state this panel takes."""
        return {**given, "u": {}}


class BasinsSession(SharpSession[Basins]):
    """A model, its basins over two starts or parameters, and the run from one of them.

    Attributes
    ----------
    solution : Solution
        The run from the start that is shown, up to t_end.
    """

    _states = BasinsStates
    shape, shape_parameters = FINE  # of the finest grid

    def __init__(
        self,
        model: Model = "impact_oscillator",
        x: str | None = None,
        y: str | None = None,
        scheme: Chosen | None = None,
        **settings: object,
    ) -> None:
        self._asked: tuple[str, FinerBasins] | None = None
        given = {f"see.{k}": name for k, name in (("x", x), ("y", y)) if name is not None}
        super().__init__(model, scheme, **given, **settings)

    def resolve(self, *, fine: bool) -> None:
        """Choose the finest grid: that of a page without a kernel is coarser."""
        for name, coarse in zip(("shape", "shape_parameters"), COARSE, strict=True):
            vars(self).pop(name, None)
            if not fine:
                setattr(self, name, min(getattr(self, name), coarse))

    def nothing(self) -> Basins:
        """Return the basins of the present state without any start."""
        return self._asking(self.states, self.state).nothing()

    def number(self) -> int | None:
        """Return what the start that is shown comes to, a number as those of `Basins.label`.

        None: nothing is known yet.
        """
        states = self.states
        assert isinstance(states, BasinsStates)
        return self._asking(states, self.state).label(states.at(self.state))

    def _key(self, states: States, state: State) -> str:
        system = states.system(state)
        see = {k: x for k, x in state["see"].items() if k not in _AT}
        rho = {k: x for k, x in state["rho"].items() if k not in (see["x"], see["y"])}
        own = [state[k] for k in ("scheme", "knobs", *START)]
        return json.dumps([id(system), system.revision, state["model"], see, rho, own, self.shape])

    def _arguments(self, states: States, state: State) -> Plain:
        """Return the arguments of the study."""
        see, system = state["see"], states.system(state)
        over = {see["x"]: (see["left"], see["right"]), see["y"]: (see["bottom"], see["top"])}
        by_period = usual_section(system).period is not None
        until = {"periods": int(see["until"])} if by_period else {"t_end": see["until"]}
        own = any(state[k] is not None for k in START)
        start = [x for part in states.start(state).values() for x in part] if own else None
        shape = self.shape if of_starts(system, see["x"]) else self.shape_parameters
        return {"over": over, "shape": shape, **until, "start": start}

    def _asking(self, states: States, state: State) -> FinerBasins:
        key = self._key(states, state)
        if self._asked is None or self._asked[0] != key:
            scheme = schemes[state["scheme"]](**state["knobs"])
            given = self._arguments(states, state)
            asked = FinerBasins(states.system(state), scheme, rho=state["rho"], **given)
            self._asked = (key, asked)
        return self._asked[1]

    def _run(self, states: States, state: State) -> Solution:
        assert isinstance(states, BasinsStates)
        states.check(state)
        self._asking(states, state)  # or the sentence that says what cannot be
        system, rho = states.system(state), dict(state["rho"])
        start = {k: state[k] for k in START if state[k] is not None}
        for axis, value in zip(("x", "y"), states.at(state), strict=True):
            name = state["see"][axis]
            if name in rho:
                rho[name] = value
                continue
            group, _, coordinate = name.partition(".")
            start = start or {k: list(x) for k, x in states.start(state).items()}
            start[group] = list(start.get(group) or states.start(state)[group])
            start[group][list(system.coordinates).index(coordinate)] = value
        scheme = schemes[state["scheme"]](**state["knobs"])
        solution = simulate(system, scheme, t_end=state["t_end"], rho=rho, throw=False, **start)
        if not solution.status.ok:
            raise BadValue(solution.status.message)
        return solution

    def code(self) -> str:
        """Return Python that makes the present map without any widget."""
        usual_ = self.system.parameters
        given = self._arguments(self.states, self.state)
        rho = {k: x for k, x in self.state["rho"].items() if x != usual_[k].value}
        rho = {k: x for k, x in rho.items() if k not in given["over"]}
        arguments = ["model", "scheme"]
        arguments += [f"{k}={x!r}" for k, x in given.items() if x is not None]
        if rho:
            arguments.append(f"rho={rho!r}")
        call = called("finer = ex.study.FinerBasins", arguments)
        return "\n".join([*opening(self), *call, "ex.views.basins(finer.whole())"]) + "\n"

    def to_csv(self) -> str:
        """Return the whole map as CSV: a row for each start."""
        found = self.diagram()
        assert found is not None
        x, y = found.over[:2]
        status, label = found.status.reshape(self._shape(found)), found.label
        label = label.reshape(self._shape(found))
        rows = [f"{x.label},{y.label},status,number,period"]
        periods = [one.period for one in found.attractors]
        for i, a in enumerate(x.values[:, 0].tolist()):
            for j, b in enumerate(y.values[:, 0].tolist()):
                k = int(label[i, j])
                told = f"{k},{periods[k]}" if k >= 0 else ","
                rows.append(f"{a!r},{b!r},{status[i, j]},{told}")
        return "\n".join(rows) + "\n"

    def _shape(self, found: Basins) -> tuple[int, int]:
        return len(found.over[0].values), len(found.over[1].values)
