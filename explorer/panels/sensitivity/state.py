"""The state of the sensitivity panel: that of a session, and what is asked of the derivative.

Two more entries: ``"see": {"wrt", "coordinate", "constraint", "delta", "event", "zoom",
"compare"}`` and ``"cost": {"g", "w", "until", "count"}``; full keys "see.delta", "cost.g". The cost
ends at event
`count` of the contact or guard `until`, at "t_end" if that is empty. The scheme locates events.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Mapping
from typing import ClassVar, cast

import numpy as np

from explorer.derivatives import Cost, Sensitivity, sensitivity
from explorer.derivatives.direct import solve
from explorer.derivatives.question import ask, event_names, locating
from explorer.dispatch.choose import choose
from explorer.dispatch.simulate import simulate
from explorer.errors import BadValue, ExplorerError, NotApplicable, suggest
from explorer.models import models
from explorer.panels.code import called, opening, settings
from explorer.panels.menus import menu
from explorer.panels.session import Model, Session
from explorer.panels.state import START, State, States, saved
from explorer.parameters import number
from explorer.results.solution import Solution
from explorer.schemes import schemes
from explorer.study.asked import Chosen
from explorer.systems import StateSpaceSystem, System, from_spec
from explorer.systems.kinks import sharp_formulas
from explorer.types import Plain

__all__ = [
    "SensitivitySession",
    "SensitivityStates",
    "constraint_names",
    "default_delta",
    "first_seen",
    "offered",
    "usual_cost",
]

_RESTS = 1e-9  # of the largest motion
_CROWD = 6  # so many events tell all that a first picture has to tell


@menu("sensitivity")
def offered(name: str) -> bool:
    """Tell whether a model of the gallery has located events to differentiate across.

    Not so a model whose own run meets a jump of its formulas at an event: it has no derivatives.
    """
    system = models[name]()
    if not any(kind.differentiates(system) for kind in schemes.values()):
        return False
    if not sharp_formulas(system):
        return True
    try:
        sensitivity(system)
    except NotApplicable:
        return False
    return True


def default_delta(system: System, wrt: str) -> float:
    """Return a distance of the twins that is seen: a fiftieth of the parameter's range."""
    param = system.parameters.get(wrt)
    wide = param.high - param.low if param else 1.0
    return float(f"{wide / 50:.0e}")


def first_seen(system: System) -> tuple[str, str]:
    """Return what to differentiate by at first, and which coordinate: e, and the first one.

    Of a mechanism with constraints not an e that no impact needs, nor e = 1, where the twins lie on
    one side, nor a parameter without influence; and not a coordinate that rests.
    """
    e, names = system.parameters.get("e"), _choices(system)
    if not constraint_names(system):
        return names[0] if e is None else "e", system.coordinates[0]
    if "first seen" not in system.made:
        run = simulate(system, locating(system), throw=False)
        moves = np.ptp(run.q, axis=0) > _RESTS * np.ptp(run.q, axis=0).max()
        seen = system.coordinates[int(moves.argmax())]
        plain = e is None or e.value == e.high or not run.events
        system.made["first seen"] = _first_that_moves(system) if plain else "e", seen
    first: tuple[str, str] = system.made["first seen"]
    return first


def _first_that_moves(system: System) -> str:
    """Return the first parameter that moves the end of the run, or the first one."""
    names = [*system.parameters] or _choices(system)
    for name in names:
        with contextlib.suppress(ExplorerError):
            sens = sensitivity(system, locating(system), name)
            reach = 50 * default_delta(system, name)
            if np.abs(sens.S[-1]).max() * reach > _RESTS * np.abs(sens.solution.x[-1]).max():
                return name
    return names[0]


def constraint_names(system: System) -> list[str]:
    """Return the names of the constraints whose forces can be drawn."""
    return [c.name for c in getattr(system, "constraints", ())]


def usual_cost(system: System) -> Plain:
    """Return the cost to begin with: the integral of the first velocity (or state) squared."""
    first = first_seen(system)[1]
    rate = first if isinstance(system, StateSpaceSystem) else f"v_{first}"
    return {"g": f"{rate}**2", "w": "", "until": "", "count": 1}


def _until(state: State) -> tuple[str, int] | None:
    """Return the event that ends the cost, or None."""
    cost = state["cost"]
    return (cost["until"], cost["count"]) if cost["until"] else None


def _not_located(scheme: object) -> BadValue:
    name = scheme if isinstance(scheme, str) else getattr(scheme, "__name__", repr(scheme))
    return BadValue(
        f"{name} does not locate events, so its derivatives have no jumps. This panel accepts "
        "EventDriven, and FESD for systems with step functions."
    )


def _choices(system: System) -> list[str]:
    """Return what can be differentiated by: parameters, and the start of each state."""
    return [*system.parameters, *system._state_names()]


class SensitivityStates(States):
    """States of the sensitivity panel."""

    scales: ClassVar[Mapping[str, str]] = {"see.delta": "log", "see.event": "whole"}
    draws_inputs = False

    def fresh(
        self, model: str, sizes: Mapping[str, int] | None = None, scheme: Chosen | None = None
    ) -> State:
        """Return the default state; it ends before the events crowd."""
        system = self.system({"model": model, "sizes": dict(sizes or {})})
        chosen = locating(system) if scheme is None else scheme
        if not choose(system, chosen).differentiates(system):
            raise _not_located(chosen)
        state = super().fresh(model, sizes, chosen)
        wrt, coordinate = first_seen(system)
        state["see"] = {
            "wrt": wrt,
            "coordinate": coordinate,
            "constraint": "",
            "event": 2,
            "zoom": False,
            "delta": default_delta(system, wrt),
            "compare": False,
        }
        state["cost"] = usual_cost(system)
        run = simulate(system, chosen, throw=False)
        if run.status.ok and len(run.events) > _CROWD:
            before, after = (run.events[_CROWD - i].t for i in (1, 0))
            state["t_end"] = float(f"{(before + after) / 2:.3g}")
        return state

    def keys(self, state: State) -> list[str]:
        """Return the full key of everything that can be changed."""
        own = [f"{group}.{name}" for group in ("see", "cost") for name in state[group]]
        return super().keys(state) + own

    def key(self, state: State, name: str) -> str:
        """Return the full key of a name."""
        keys = self.keys(state)
        for candidate in (f"see.{name}", f"cost.{name}"):
            if candidate in keys and f"rho.{name}" not in keys:
                return candidate
        return super().key(state, name)

    def change(self, state: State, key: str, value: object) -> State:
        """Return `state` with one entry changed, checked on its own."""
        group, _, name = key.partition(".")
        if group == "scheme" and not schemes[str(value)].differentiates(self.system(state)):
            raise _not_located(value)
        if group not in ("see", "cost"):
            return super().change(state, key, value)
        new, system = copy.deepcopy(state), self.system(state)
        if key in ("see.event", "cost.count"):
            wanted = number(value, "The number of the event")
            if wanted != int(wanted) or wanted < 1:
                raise BadValue(f"Events are counted 1, 2, 3, ...: there is no event {wanted:g}.")
            new[group][name] = int(wanted)
        elif key == "cost.until":
            names = event_names(system)
            if value not in ("", *names):
                raise BadValue(f"'{system.name}' has no event {value!r}.{suggest(value, names)}")
            new["cost"][name] = value
        elif group == "cost":
            if not isinstance(value, (str, int, float)):
                raise BadValue(f"The cost {name} must be a formula (text), not {value!r}.")
            new["cost"][name] = str(value).strip()
        elif name in ("wrt", "coordinate"):
            names = _choices(system) if name == "wrt" else list(system.coordinates)
            if value not in names:
                kind = "parameter or state" if name == "wrt" else "coordinate"
                raise BadValue(
                    f"'{system.name}' has no {kind} {value!r}.{suggest(str(value), names)}"
                )
            if name == "wrt" and value != state["see"]["wrt"]:
                new["see"]["delta"] = default_delta(system, value)
            new["see"][name] = value
        elif name == "constraint":
            names = constraint_names(system)
            if value not in ("", *names):
                raise BadValue(
                    f"'{system.name}' has no constraint {value!r}.{suggest(str(value), names)}"
                )
            new["see"][name] = value
        elif name == "delta":
            new["see"][name] = number(value, "The distance delta of the twins", positive=True)
        else:
            new["see"][name] = bool(value)
        return new

    def from_json(self, text: str | Mapping[str, object]) -> tuple[States, State]:
        """Return what `to_json` wrote, or what another panel did: of that only what fits here."""
        with saved(text) as given:
            more = {k: dict(given.pop(k, None) or {}) for k in ("see", "cost")}
            if not schemes[str(given["scheme"])].located:
                model = given["model"]
                system = from_spec(model) if isinstance(model, dict) else models[str(model)]()
                given |= {"scheme": locating(system).__name__, "knobs": {}}
        states, state = super().from_json(given)
        for group, values in more.items():
            for name, value in values.items():
                if f"{group}.{name}" in states.keys(state):
                    state = states.change(state, f"{group}.{name}", value)
        return states, state


class SensitivitySession(Session):
    """A session whose run carries its derivative by one parameter.

    Attributes
    ----------
    sensitivity : Sensitivity
        Of `state`; ``sensitivity.solution`` is `solution`.
    """

    most_pins = 1
    _states = SensitivityStates

    def __init__(
        self, model: Model = "bouncing_ball", scheme: Chosen | None = None, **settings: object
    ) -> None:
        self._found: Sensitivity | None = None
        super().__init__(model, scheme, **settings)

    @classmethod
    def of(cls, session: Session) -> SensitivitySession:
        """Return a session of this kind that begins where another one stands."""
        if isinstance(session, cls):
            return session
        own = session.states.own is not None
        kind = schemes[session.state["scheme"]]
        kept = kind.__name__ if kind.differentiates(session.system) else None
        new = cls(session.system if own else session.state["model"], kept)
        with_it = {f"size.{k}": x for k, x in session.state["sizes"].items()}
        with_it |= {f"rho.{k}": x for k, x in session.state["rho"].items()}
        with_it |= {
            f"{k}.{c}": x
            for k, values in session.start().items()
            if session.state[k] is not None
            for c, x in zip(session.system.coordinates, values, strict=True)
        }
        if session.state["mode0"] is not None:
            with_it["mode0"] = session.state["mode0"]
        new.change(with_it)
        new.take_spans(session)
        new._past.clear()
        return new

    @property
    def sensitivity(self) -> Sensitivity:
        """The derivative along the present run."""
        if self._found is None or self._found.solution is not self.solution:
            derivative = self.derive(self.states, self.state)
            self.solution, self._found = derivative.solution, derivative
        return self._found

    @property
    def ghost(self) -> Sensitivity | None:
        """The derivative of the pinned run."""
        return cast("Sensitivity | None", self.beside)

    def _beside(self) -> Sensitivity:
        return self.sensitivity

    def derive(self, states: States, state: State) -> Sensitivity:
        """Run, with the derivative by the chosen parameter.

        Raises
        ------
        ExplorerError
            If the cost is inconsistent, or the run fails.
        """
        cost = Cost(*(state["cost"][k] or None for k in ("g", "w")))
        question = ask(
            states.system(state),
            schemes[state["scheme"]](**state["knobs"]),
            (state["see"]["wrt"],),
            cost,
            state["t_end"],
            _until(state),
            None,
            state["rho"],
            {k: state[k] for k in START},
        )
        derivative = solve(question)
        if not (np.isfinite(derivative.cost) and np.isfinite(derivative.cost_gradient).all()):
            raise BadValue(
                f"The cost is ψ = {derivative.cost:g} with the gradient "
                f"{derivative.cost_gradient[0]:g}: its formula has no finite value along this run."
            )
        return derivative

    def _run(self, states: States, state: State) -> Solution:
        derivative = self.derive(states, state)
        self._found = derivative
        return derivative.solution

    def code(self) -> str:
        """Return Python that makes the present derivative and picture without any widget."""
        see, until = self.state["see"], _until(self.state)
        cost = {k: x for k in ("g", "w") if (x := self.state["cost"][k])}
        asked = [f"wrt={see['wrt']!r}", f"cost={cost!r}", *([f"until={until!r}"] if until else [])]
        drawn = see["constraint"] or see["coordinate"]
        shown = [f"coordinate={drawn!r}", f"delta={see['delta']!r}"]
        shown += ["at={}".format(see["event"] - 1)] if see["zoom"] else []
        return (
            "\n".join(
                [
                    *opening(self),
                    *called("sens = ex.sensitivity", ["model", "scheme", *asked, *settings(self)]),
                    *called("ex.views.sensitivity", ["sens", *shown]),
                ]
            )
            + "\n"
        )
