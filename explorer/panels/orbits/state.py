"""The state of the panel on orbit diagrams: a model, the window, and what is shown of it.

That of a session, and one entry more, ``"see"``: "by", the parameter that varies, from "low" to
"high"; "state", which is drawn, from "bottom" to "top" (None: all of it); "follow" and "transient",
as `Sharpening` takes them; "starts", how many further starts there are; "branches", whether those
of cycles lie over the dots; "colour", what the colours tell; "at", the value whose motion is shown,
and "begin", the state from which it settles (None: the start of the model). Keys: "see.by" and so
on.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from typing import TypeVar, cast

import numpy as np
import sympy as sp

from explorer.dispatch.simulate import simulate
from explorer.errors import BadValue, suggest
from explorer.models import models
from explorer.panels.code import called, opening
from explorer.panels.menus import menu
from explorer.panels.orbits.aside import MOST_STARTS, Aside, Through, further
from explorer.panels.see import SeeStates
from explorer.panels.session import Model, Session
from explorer.panels.sharpening import SharpSession, Worker
from explorer.panels.state import START, State, States
from explorer.parameters import Param, number
from explorer.results.solution import Solution
from explorer.schemes import schemes
from explorer.study.asked import Chosen
from explorer.study.columns import Columns
from explorer.study.diagram_branches import DiagramBranches, diagram_branches
from explorer.study.diagram_exponents import DiagramExponents, diagram_exponents
from explorer.study.forcing import forcing_period, usual_section
from explorer.study.orbits import Orbits
from explorer.study.over import states_of
from explorer.study.sharpening import FOLLOWS, Sharpening, usual_follow
from explorer.study.sweep import usual
from explorer.systems import HybridSystem, LagrangianSystem, System

__all__ = ["COLOURED", "OrbitsSession", "OrbitsStates", "offered", "shown_of"]

SHOWN, ITERATES = 10, 60  # returns that are shown of the motion at one value; of a map
COLOURED = ("period", "attractor", "exponent")  # what the colours may tell
_WHOLE = {  # entries that are whole numbers from 0
    "transient": ("The returns that are left out", 10_000),
    "starts": ("The number of further starts", MOST_STARTS),
}
Found = TypeVar("Found")
_SETTLES = 100  # returns that are left out before


@menu("orbits")
def offered(name: str) -> bool:
    """Whether the menu has a model: one that is driven, or whose motion is made to go on."""
    system = models[name]()
    try:
        usual_section(system)
        states_of(system)
    except BadValue:
        return False
    goes_on = forcing_period(system) is not None or not isinstance(system, LagrangianSystem)
    fast = system.discrete or usual(system) is not None
    return goes_on and fast and any(map(_ranges, system.parameters.values()))


def shown_of(system: System) -> int:
    """Return how many returns are shown of the motion at one value."""
    return ITERATES if system.discrete else SHOWN


def _ranges(p: Param) -> bool:
    return p.low < p.high


class OrbitsStates(SeeStates):
    """States of the panel on orbit diagrams."""

    draws_inputs = False

    def fresh(
        self, model: str, sizes: Mapping[str, int] | None = None, scheme: Chosen | None = None
    ) -> State:
        """Return the default state of a model: over its first parameter that has a range."""
        system = self.system({"model": model, "sizes": dict(sizes or {})})
        usual_section(system)  # or the sentence that says what is missing
        state = super().fresh(model, sizes, usual(system) if scheme is None else scheme)
        ranged = [k for k, p in system.parameters.items() if _ranges(p)]
        if not ranged:
            raise BadValue(f"'{system.name}' has no parameter with a range: give it one.")
        period = forcing_period(system)
        driven = [k for k in ranged if period is not None and period.has(sp.Symbol(k))]
        state["see"] = {
            **_over(system, (driven or ranged)[0]),
            "state": states_of(system)[0][0],
            "follow": usual_follow(system),
            "transient": _SETTLES,
            "branches": False,
            "colour": COLOURED[0],
            "starts": 0,
        }
        return state

    def takes(self, key: str) -> bool:
        """Whether a full key of a session is one of this panel too."""
        return key not in ("t_end", "mode0")

    def seen(self, state: State, name: str, value: object) -> object:
        """Return the checked value of one entry."""
        system, see = self.system(state), state["see"]
        if name == "state":
            return _one_of(value, states_of(system)[0], "state")
        if name == "follow":
            return _one_of(value, FOLLOWS, "way to follow the motion")
        if name == "colour":
            return _one_of(value, COLOURED, "meaning of the colours")
        if name in _WHOLE:
            said, most = _WHOLE[name]
            wanted = number(value, said)
            if wanted != int(wanted) or not 0 <= wanted <= most:
                raise BadValue(f"{name} = {wanted:g} must be a whole number from 0 to {most}.")
            return int(wanted)
        if value is None and name in ("begin", "bottom", "top"):
            return None
        if name == "begin":
            names = states_of(system)[0]
            given = value if isinstance(value, list) else []
            if len(given) != len(names):
                raise BadValue(f"begin needs {len(names)} numbers ({', '.join(names)}).")
            return [number(x, f"begin of {k}") for k, x in zip(names, given, strict=True)]
        return number(value, f"{name} of {see['by'] if name in ('low', 'high') else see['state']}")

    def change(self, state: State, key: str, value: object) -> State:
        """Return `state` with one entry changed; another parameter has another range."""
        if key == "see.by":
            system = self.system(state)
            _one_of(value, [*system.parameters], "parameter")
            return {**state, "see": {**state["see"], **_over(system, str(value))}}
        if key == "see.branches":
            return {**state, "see": {**state["see"], "branches": _switch(value)}}
        new = super().change(state, key, value)
        see = new["see"]
        if key == "see.state" or key.startswith("size."):
            see |= {"bottom": None, "top": None}
        if key in ("see.low", "see.high") and see["low"] < see["high"]:
            see["at"] = min(max(see["at"], see["low"]), see["high"])
        if key.startswith("rho.") or key == "scheme":
            see["begin"] = None
        return new

    def check(self, state: State) -> None:
        """Refuse a state whose window is none.

        Raises
        ------
        BadValue
        """
        see = state["see"]
        for low, high in (("low", "high"), ("bottom", "top")):
            if None not in (see[low], see[high]) and not see[low] < see[high]:
                raise BadValue(
                    f"From {see[low]:g} to {see[high]:g} is no range: the lower end must be below "
                    "the upper one."
                )

    def fitting(self, given: State) -> State:
        """Return what of a saved state this panel takes."""
        return {**given, "u": {}}


def _over(system: System, by: str) -> State:
    """Return the part of a state that is about the parameter that varies."""
    p = system.parameters[by]
    low, high = (p.low, p.high) if _ranges(p) else (p.value - 1.0, p.value + 1.0)
    at = min(max(p.value, low), high)
    ends = {"low": low, "high": high, "bottom": None, "top": None}
    return {"by": by, **ends, "at": at, "begin": None}


def _switch(value: object) -> bool:
    if not isinstance(value, bool):
        raise BadValue(f"branches = {value!r} must be True or False.")
    return value


def _one_of(value: object, names: object, what: str) -> object:
    known = [*map(str, cast(list[str], names))]
    if value not in known:
        raise BadValue(f"There is no {what} {value!r}.{suggest(str(value), known)}")
    return value


class OrbitsSession(SharpSession[Orbits]):
    """A model, its orbit diagram over one parameter, and the motion at one of its values.

    Attributes
    ----------
    solution : Solution
        The motion at ``state["see"]["at"]`` behind the transient, over ten returns.
    """

    _states = OrbitsStates
    columns, points = 400, 200  # of the whole diagram

    def __init__(
        self,
        model: Model = "impact_oscillator",
        by: str | None = None,
        scheme: Chosen | None = None,
        **settings: object,
    ) -> None:
        self._asked: tuple[str, Sharpening] | None = None
        self._follower: Worker[DiagramBranches] | None = None
        self._growing: Worker[DiagramExponents] | None = None
        given = {} if by is None else {"see.by": by}
        super().__init__(model, scheme, **given, **settings)

    def nothing(self) -> Orbits:
        """Return the diagram of the present state without any column."""
        return Columns(self._asking(self.states, self.state), lambda: True).seen(0.0)

    def branches(self, wait: float | None = None) -> DiagramBranches:
        """Return the branches of cycles through the diagram; they are sought once it is whole.

        Parameters
        ----------
        wait : float, optional
            Seconds after which they are returned as they are; by default all are waited for.
        """
        nothing = DiagramBranches()
        self.diagram(0.0)  # drops what is known of another question
        if self._follower is None:
            self._follower = self._aside(
                diagram_branches, nothing, lambda said: DiagramBranches(problem=said, done=True)
            )
        return self._follower.wait(wait) or nothing

    def exponents(self, wait: float | None = None) -> DiagramExponents:
        """Return the largest Lyapunov exponent of each column, once the diagram is whole.

        Parameters
        ----------
        wait : float, optional
            Seconds after which they are returned as they are; by default all are waited for.
        """
        nothing = DiagramExponents(np.full(self.columns, np.nan), "")
        self.diagram(0.0)  # drops what is known of another question
        if self._growing is None:
            self._growing = self._aside(
                diagram_exponents,
                nothing,
                lambda said: dataclasses.replace(nothing, problem=said, done=1.0),
            )
        return self._growing.wait(wait) or nothing

    def _aside(
        self, through: Through[Found], nothing: Found, refused: Callable[[str], Found]
    ) -> Worker[Found]:
        """Begin to answer a question about the diagram of the present state."""
        with self._lock:
            assert self._worker is not None
            asked = self._asking(self.states, self.state)
            aside = Aside(asked, self._worker[1], through, nothing, refused)
            return Worker(aside, lambda: self.news())

    def leave(self) -> None:
        """Stop what is being computed."""
        self._unask(self._follower, self._growing)
        super().leave()

    def _unask(self, *workers: Worker[DiagramBranches] | Worker[DiagramExponents] | None) -> None:
        """Stop answering questions about the diagram."""
        for worker in workers:
            if worker is not None:
                worker.stop()
        self._follower = None if self._follower in workers else self._follower
        self._growing = None if self._growing in workers else self._growing

    def copy(self) -> Session:
        """Return a session in the same state, which computes its own diagram."""
        other = super().copy()
        assert isinstance(other, OrbitsSession)
        other._follower = other._growing = None
        return other

    def change(self, values: Mapping[str, object], *, drag: bool = False) -> dict[str, str]:
        """Change entries; the motion at a value begins where the diagram's nearest column ended."""
        if "see.at" in values and "see.begin" not in values:
            begin = self._near(values["see.at"])
            values = {**values, **({} if begin is None else {"see.begin": begin})}
        refused = super().change(values, drag=drag)
        see = self.state["see"]
        self._unask(
            None if see["branches"] else self._follower,
            None if see["colour"] == "exponent" else self._growing,
        )
        return refused

    def _near(self, at: object) -> list[float] | None:
        """Return where the column that is nearest to a value has ended, if one has."""
        found = self._worker[1].latest if self._worker else None
        if found is None or not isinstance(at, int | float):
            return None
        column = found.nearest(float(at))
        end = None if column is None else found.ends[column]
        return None if end is None else [float(x) for x in end[0]]

    def _key(self, states: States, state: State) -> str:
        system = states.system(state)
        see = {k: state["see"][k] for k in ("by", "low", "high", "follow", "transient", "starts")}
        rho = {k: x for k, x in state["rho"].items() if k != see["by"]}
        own = [state[k] for k in ("scheme", "knobs", *START)]
        return json.dumps([id(system), system.revision, state["model"], see, rho, own])

    def _asking(self, states: States, state: State) -> Sharpening:
        key = self._key(states, state)
        if self._asked is None or self._asked[0] != key:
            see, scheme = state["see"], schemes[state["scheme"]](**state["knobs"])
            own = any(state[k] is not None for k in START)
            start = [x for part in states.start(state).values() for x in part] if own else None
            asked = Sharpening(
                states.system(state),
                scheme,
                over={see["by"]: (see["low"], see["high"])},
                follow=see["follow"],
                transient=see["transient"],
                start=start,
                others=further(states, state, see["starts"]),
                rho=state["rho"],
                columns=self.columns,
                points=self.points,
            )
            self._asked = (key, asked)
        return self._asked[1]

    def _run(self, states: States, state: State) -> Solution:
        assert isinstance(states, OrbitsStates)
        states.check(state)
        see, asked = state["see"], self._asking(states, state)
        system = states.system(state)
        begin = asked.begin if see["begin"] is None else (np.array(see["begin"]), -1)
        state0, mode = asked.settled(see["at"], begin)
        several = isinstance(system, HybridSystem) and len(system.modes) > 1
        solution = simulate(
            system,
            asked.question.scheme,
            x0=state0,
            mode0=system.modes[mode].name if several else None,  # type: ignore[attr-defined]
            t_end=asked.span(see["at"], shown_of(system)),
            rho={**state["rho"], see["by"]: see["at"]},
            throw=False,
        )
        if not solution.status.ok:
            raise BadValue(solution.status.message)
        return solution

    def code(self) -> str:
        """Return Python that makes the present picture without any widget."""
        see, usual_ = self.state["see"], self.system.parameters
        rho = {k: x for k, x in self.state["rho"].items() if x != usual_[k].value}
        rho.pop(see["by"], None)
        over = {see["by"]: (see["low"], see["high"])}
        arguments = ["model", "scheme", f"over={over!r}"]
        arguments += [f"follow={see['follow']!r}", f"transient={see['transient']}"]
        if any(self.state[k] is not None for k in START):
            arguments.append(f"start={[x for part in self.start().values() for x in part]!r}")
        if see["starts"]:
            arguments.append(f"others={further(self.states, self.state, see['starts'])!r}")
        if rho:
            arguments.append(f"rho={rho!r}")
        call = called("sharper = ex.study.Sharpening", arguments)
        told = []
        if see["branches"]:
            told.append("branches=sharper.branches(found).branches")
        if see["colour"] == "exponent":
            told.append("exponents=sharper.exponents(found)")
        if see["colour"] == "attractor":
            told.append("attractors=True")
        if told:
            shown = called("ex.views.orbits", ["found", repr(see["state"]), *told])
            drawn = ["found = sharper.whole()", *shown]
        else:
            drawn = [f"ex.views.orbits(sharper.whole(), {see['state']!r})"]
        return "\n".join([*opening(self), *call, *drawn]) + "\n"

    def to_csv(self) -> str:
        """Return the points of the whole diagram as CSV."""
        found = self.diagram()
        assert found is not None
        rows = [",".join((found.by, *found.states, "period"))]
        for k, value in enumerate(found.values.tolist()):
            for x in found.points[k, : found.found[k]].tolist():
                rows.append(",".join(map(repr, (value, *x, int(found.period[k])))))
        return "\n".join(rows) + "\n"
