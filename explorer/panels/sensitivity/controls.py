"""The controls of the sensitivity panel: a session's own, and what is asked of the derivative."""

from __future__ import annotations

from typing import Unpack

from explorer.derivatives.question import event_names
from explorer.models import models
from explorer.panels import controls
from explorer.panels.messages import Control, Group, Reach, Values
from explorer.panels.sensitivity.state import (
    SensitivitySession,
    constraint_names,
    default_delta,
    first_seen,
    offered,
    usual_cost,
)
from explorer.panels.state import OWN
from explorer.quantities import unit
from explorer.schemes import schemes
from explorer.systems import StateSpaceSystem
from explorer.views.drawing.picture import label

__all__ = ["groups"]

_FEW = 12  # events that the slider reaches


def groups(session: SensitivitySession) -> list[Group]:
    """Return the groups of controls: a session's own, and the derivative and the cost."""
    by_name = {g["name"]: g for g in controls.groups(session)}
    known = {OWN, *filter(offered, models)}
    for control in by_name["model"]["controls"]:
        if control["key"] == "model":
            control["choices"] = [c for c in control["choices"] if c[0] in known]
    for control in by_name["scheme"]["controls"]:
        if control["key"] == "scheme":
            control["choices"] = [
                [name, name]
                for name, kind in schemes.items()
                if kind.differentiates(session.system)
            ]
    start = {c["key"]: c for c in by_name["start"]["controls"]}
    span = [start.pop("t_end"), *_until(session)]
    by_name["start"] = {**by_name["start"], "controls": [*span, *start.values()]}
    by_name["derivative"] = {
        "name": "derivative",
        "title": "Derivative",
        "open": True,
        "controls": _derivative(session),
    }
    by_name["cost"] = {"name": "cost", "title": "Cost", "open": True, "controls": _cost(session)}
    order = ("model", "derivative", "parameters", "start", "cost", "scheme", "numerics")
    return [by_name[name] for name in order if name in by_name]


def _derivative(session: SensitivitySession) -> list[Control]:
    system, see = session.system, session.state["see"]
    now = {f"see.{k}": x for k, x in see.items()}
    names = [(k, f"{label(k)}   {p.text}".strip()) for k, p in system.parameters.items()]
    states = system.coordinates if isinstance(system, StateSpaceSystem) else system._state_names()
    names += [(k, f"{_state(k, system.coordinates)}(0)   start") for k in states]
    chosen = [
        _one(
            "see.wrt",
            "choice",
            "by",
            "Parameter to differentiate by",
            now,
            choices=[list(n) for n in names],
            default=first_seen(system)[0],
        )
    ]
    if len(system.coordinates) > 1:
        shown = [[c, label(c)] for c in system.coordinates]
        chosen.append(
            _one(
                "see.coordinate",
                "choice",
                "of",
                "Coordinate that is drawn",
                now,
                choices=shown,
                default=first_seen(system)[1],
            )
        )
    if held := constraint_names(system):
        drawn = [["", "the motion"], *([name, f"force of {name}"] for name in held)]
        chosen.append(
            _one(
                "see.constraint",
                "choice",
                "plots",
                "The motion; or the force of a constraint, the drift from all, and the energy",
                now,
                choices=drawn,
                default="",
            )
        )
    usual, value = default_delta(system, see["wrt"]), see["delta"]
    param = system.parameters.get(see["wrt"])
    events = max(min(len(session.sensitivity.events), _FEW), see["event"], 2)
    return [
        *chosen,
        _one(
            "see.delta",
            "slider",
            "δ",
            "apart",
            now,
            low=min(usual * 1e-3, value),
            high=max(usual * 10, value),
            beside="apart",
            log=True,
            integer=False,
            default=usual,
            unit=unit(param.unit) if param else "",
        ),
        _one(
            "see.event",
            "slider",
            "event",
            "Event whose matrix is shown",
            now,
            low=1,
            high=events,
            log=False,
            integer=True,
            default=2,
        ),
        _one(
            "see.zoom", "toggle", "look closely at it", "Zoom in on this event", now, default=False
        ),
    ]


def _state(name: str, coordinates: tuple[str, ...]) -> str:
    rate = name.startswith("v_") and name not in coordinates
    return label(name[2:], dot=True) if rate else label(name)


def _until(session: SensitivitySession) -> list[Control]:
    now = {f"cost.{k}": x for k, x in session.state["cost"].items()}
    names = event_names(session.system)
    kind = "impact on" if session.system.contacts else "event"
    ends = [["", "at t_end"], *([name, f"at {kind} {name}"] for name in names)]
    controls = (
        [
            _one(
                "cost.until",
                "choice",
                "cost ends",
                "Where the cost ends",
                now,
                choices=ends,
                default="",
            )
        ]
        if names
        else []
    )
    if now["cost.until"]:
        most = max(_FEW, session.state["cost"]["count"])
        controls.append(
            _one(
                "cost.count",
                "slider",
                "number",
                "Number of that event",
                now,
                low=1,
                high=most,
                log=False,
                integer=True,
                default=1,
            )
        )
    return controls


def _cost(session: SensitivitySession) -> list[Control]:
    now = {f"cost.{k}": x for k, x in session.state["cost"].items()}
    now |= {"see.compare": session.state["see"]["compare"]}
    rates = "d_<state>" if isinstance(session.system, StateSpaceSystem) else "a_<coordinate>"
    usual = usual_cost(session.system)
    forces = getattr(session.sensitivity.question.cost.plain, "forces", {})
    more = f", forces such as {list(forces)[-1]}" if forces else ""
    tip = f"a formula of t, the states, {rates}{more} and the parameters; empty: none"
    return [
        _one(
            "cost.g",
            "text",
            "g, in ψ = ∫ g dt + w",
            f"Running cost: {tip}",
            now,
            default=usual["g"],
        ),
        _one(
            "cost.w",
            "text",
            "w, at the end",
            "Terminal cost, of the states; empty: none",
            now,
            default=usual["w"],
        ),
        _one(
            "see.compare",
            "toggle",
            "compare the methods",
            "Compare the gradient of four methods whenever the sliders rest",
            now,
            default=False,
        ),
    ]


def _one(
    key: str, kind: str, text: str, tip: str, now: Values, *, default: object, **more: Unpack[Reach]
) -> Control:
    return {
        "key": key,
        "kind": kind,
        "label": text,
        "text": tip,
        "unit": "",
        "value": now[key],
        "default": default,
        **more,
    }
