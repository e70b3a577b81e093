"""The controls of a session as plain data: what the browser shows and the panel tests move."""

from __future__ import annotations

from dataclasses import replace

from explorer.dispatch.simulate import schemes_for
from explorer.models import models
from explorer.panels import inputs
from explorer.panels.messages import Choices, Control, Group, Values
from explorer.panels.session import Session
from explorer.panels.state import OWN
from explorer.panels.wording import beside, choice_name, plain, prose
from explorer.parameters import Knob, Param, knobs_of
from explorer.quantities import quantity, unit
from explorer.schemes import schemes
from explorer.systems import HybridSystem, System
from explorer.views.drawing.picture import label

__all__ = ["accepted", "choice", "groups", "slider", "typed", "values"]

_FORMULATION = ("formulation", "alpha", "xi", "omega")  # of constraints; the numbers of a penalty
_MOMENTS = 6  # with several continuations, of which a picker offers what else would do


def values(session: Session) -> Values:
    """Return the value of every control by its full key; what is pending stays as typed."""
    return accepted(session) | session.pending


def accepted(session: Session) -> Values:
    """Return the value of every control with which the session has run."""
    state, system = session.state, session.system
    start: Values = {
        f"{k}.{c}": x
        for k, values in session.start().items()
        for c, x in zip(system.coordinates, values, strict=True)
    }
    if isinstance(system, HybridSystem) and len(system.modes) > 1:
        start["mode0"] = state["mode0"] or system.modes[system.start_mode].name
    return {
        "model": state["model"],
        "scheme": state["scheme"],
        "t_end": state["t_end"],
        **{f"size.{k}": x for k, x in state["sizes"].items()},
        **{f"rho.{k}": x for k, x in state["rho"].items()},
        **{f"knob.{k}": x for k, x in state["knobs"].items()},
        **start,
        **{key: session.states.value(state, key) for key in inputs.keys(system, state)},
    }


def groups(session: Session) -> list[Group]:
    """Return the groups of controls: model, parameters, start, scheme, numerics."""
    state, system = session.state, session.system
    now = accepted(session)  # a slider reaches as far as what was taken: its knob stays there
    names = [(name, name.replace("_", " ")) for name in sorted(models)]
    if session.states.own is not None:
        names.insert(0, (OWN, session.states.own.name))
    model = [choice("model", "model", now, names, "What is simulated")]
    # typed, not dragged: another size is another system, whose equations have to be compiled
    for k, p in system.sizes.items():
        named, more = beside(k, p.text)
        field = typed(f"size.{k}", named, "", now, p.value, p.text)
        model.append({**field, "beside": more, "low": p.low, "high": p.high, "integer": True})
    drawn = system.input_names if "u" in state else ()
    rest = {k: p for k, p in system.parameters.items() if k not in drawn}
    parameters = [slider(f"rho.{k}", k, p, now) for k, p in rest.items()]
    span = "number of iterates" if system.discrete else "time span"
    start = [typed("t_end", "t<sub>end</sub>", system.time_unit, now, system.t_end, span)]
    if "mode0" in now and isinstance(system, HybridSystem):
        offered = [(mode.name, mode.name) for mode in system.modes]
        start.append(choice("mode0", "mode(0)", now, offered, "mode at the start"))
    if len(system.coordinates) <= 12:
        usual, ranges = session.states.usual_start(state), session.states.start_ranges(state)
        for i, (c, u) in enumerate(zip(system.coordinates, system.units, strict=True)):
            for k in usual:
                rate = k == "v0"
                unit_ = f"{u}/s" if rate and u else u
                tip = "start velocity" if rate else "start"
                value, (low, high) = usual[k][i], ranges[k][i]
                param = Param(value, min(low, value), max(high, value), unit_, tip)
                control = slider(f"{k}.{c}", c, param, now)
                start.append({**control, "label": f"{label(c, dot=rate)}(0)", "beside": ""})
    offered = [
        (name, f"{name} (a lesson)" if s.lesson else name)
        for s in schemes_for(system, lessons=True)
        for name in [type(s).__name__]
    ]
    kind = schemes[state["scheme"]]
    knobs = {
        k: _knob(
            k,
            kind.usual_step(system) if k == "h" else default,
            replace(meta, unit=system.time_unit) if meta.unit == "s" else meta,
            now,
        )
        for k, (default, meta) in knobs_of(kind).items()
    }
    minor = {k for k, (_, m) in knobs_of(kind).items() if m.minor}
    if "picks" in knobs and (offered_picks := _picks(session)):
        knobs["picks"] = choice(
            "knob.picks", "continuation", now, offered_picks, plain(prose(knobs["picks"]["text"]))
        ) | {"default": ""}
        minor -= {"picks"}
    elif "picks" in knobs:
        del knobs["picks"]
    if getattr(system, "constraints", ()):
        minor -= {*_FORMULATION} if now.get("knob.formulation") == "penalty" else {"formulation"}
    scheme = [choice("scheme", "scheme", now, offered, "How it is integrated")]
    result = [
        ("model", "Model", True, model),
        ("inputs", "Inputs", True, [c for k in drawn for c in _input(system, k, now)]),
        ("parameters", "Parameters", True, parameters),
        ("scheme", "Scheme", True, scheme + [c for k, c in knobs.items() if k not in minor]),
        ("start", "Start and time span", True, start),
        ("numerics", "Numerics", False, [c for k, c in knobs.items() if k in minor]),
    ]
    return [
        {"name": name, "title": title, "open": is_open, "controls": controls}
        for name, title, is_open, controls in result
        if controls
    ]


def _input(system: System, name: str, now: Values) -> list[Control]:
    """Return the controls of an input: its kind, and its value or the number of its intervals."""
    param, kinds = system.parameters[name], list(inputs.KINDS.items())
    kind = choice(f"u.{name}", f"{label(name)} over time", now, kinds, plain(prose(param.text)))
    kind = {**kind, "default": "constant"}
    if f"u.{name}.count" not in now:
        return [kind, slider(f"rho.{name}", name, param, now)]
    count = Param(inputs.USUAL, 1, inputs.MOST / 4, "", "number of intervals of equal length")
    many = slider(f"u.{name}.count", name, count, now)
    return [kind, {**many, "integer": True, "label": "intervals", "beside": ""}]


def _picks(session: Session) -> list[tuple[str, str]]:
    """Return what can be picked where the solution is not unique, each with its label."""
    run = session.solution
    moments = run.choices if run.has("choices") else ()
    now = str(session.state["knobs"].get("picks", ""))
    if not moments and not now:
        return []
    parts = now.replace(",", " ").split()
    offered = {"": "by the rule", now: f"picked: {now}" if now else "by the rule"}
    for i, moment in enumerate(moments[:_MOMENTS]):
        before = [*parts[:i], *["-"] * (i - len(parts))]
        for k, pattern in enumerate(moment.patterns):
            if k != moment.taken:
                key = ", ".join([*before, str(k)])
                offered.setdefault(key, f"at {quantity(moment.t, 's', 3)}: {pattern}")
    return list(offered.items())


def choice(key: str, text: str, now: Values, choices: Choices, tip: str) -> Control:
    """Return a choice between values, each with its label."""
    return {
        "key": key,
        "kind": "choice",
        "label": text,
        "text": tip,
        "unit": "",
        "value": now[key],
        "default": now[key],
        "choices": [list(c) for c in choices],
    }


def typed(key: str, text: str, u: str, now: Values, default: float, tip: str) -> Control:
    """Return a field for a number."""
    return {
        "key": key,
        "kind": "number",
        "label": text,
        "text": tip,
        "unit": unit(u),
        "value": now[key],
        "default": default,
    }


def slider(key: str, name: str, p: Param, now: Values) -> Control:
    """Return a slider over the range of a parameter, or a wider one for a value typed beyond."""
    value = now[key]
    reached = value if isinstance(value, (int, float)) else p.value
    low, high = min(p.low, reached), max(p.high, reached)
    named, more = beside(name, p.text)
    return {
        "key": key,
        "kind": "slider",
        "label": named,
        "beside": more,
        "text": plain(prose(p.text)),
        "unit": unit(p.unit),
        "low": low,
        "high": high,
        "log": p.log and low > 0,
        "integer": False,
        "value": value,
        "default": p.value,
    }


def _knob(name: str, default: object, meta: Knob, now: Values) -> Control:
    key = f"knob.{name}"
    text = label(name)
    words = "_" in name and text.isascii()  # of a name in words the text would be an echo
    if words:
        text = name.replace("_", " ")
    if meta.choices:
        offered = dict.fromkeys([*meta.choices, str(now[key])])  # a scheme of one's own stands last
        named = [(c, choice_name(c)) for c in offered]
        control = choice(key, text, now, named, plain(prose(meta.text)))
        return {**control, "default": default}
    if not isinstance(default, (int, float)):  # text that is not chosen from a list
        own = str(now[key])
        return {**choice(key, text, now, [(own, own)], plain(prose(meta.text))), "default": default}
    low = default if meta.low is None else meta.low
    high = default if meta.high is None else meta.high
    if meta.log and not meta.strict:  # a model's usual step may lie at the end, or beyond
        low, high = min(low, default / 10), max(high, default)
    whole = isinstance(default, int)
    param = Param(default, low, high, meta.unit, meta.text, meta.log)
    control = slider(key, name, param, now)
    control["integer"] = whole
    return {**control, "label": text, "beside": ""} if words else control
