"""A typed model as a Python file: a function that builds it, registered for the gallery."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from explorer.models import models
from explorer.panels.code import opening
from explorer.panels.session import Session
from explorer.panels.state import START
from explorer.types import Plain

__all__ = ["module"]

_WIDE = 96
_PARTS = {"contacts": "Contact", "constraints": "Constraint", "springs": "BilinearSpring"}


@dataclass(frozen=True)
class _Call:
    """A call that stands in the file as it is written: its name, and its arguments."""

    name: str
    first: tuple[object, ...]
    more: Mapping[str, object]


def module(session: Session) -> tuple[str, str]:
    """Return the name of the file and its text: the model with the numbers that are set now."""
    system, state = session.system, session.state
    spec = dict(system.to_spec())
    kind, name = spec.pop("type"), _name(system.name)
    params = {k: _param(p, state["rho"][k]) for k, p in spec.pop("params").items()}
    start = {**spec.pop("start"), "t_end": state["t_end"]}
    if "h" in state["knobs"]:
        start["h"] = state["knobs"]["h"]
    start |= {k[0]: state[k] for k in START if k != "mode0" and state.get(k) is not None}
    start |= {"mode": state["mode0"]} if state.get("mode0") else {}
    title, text = spec.pop("name"), spec.pop("text")
    used = {kind}
    for key, part in _PARTS.items():
        if spec.get(key):
            used.add(part)
            spec[key] = [_Call(part, (), one) for one in spec[key]]
    said = {k: x for k, x in spec.items() if x not in (None, [], {}, "")}
    if isinstance(said.get("units"), list) and not any(said["units"]):
        del said["units"]
    build = _Call(
        kind,
        (title,),
        {
            **({"text": text} if text else {}),
            "params": params,
            **said,
            "start": _Call("dict", (), start),
        },
    )
    lines = [
        f'"""{_sentence(title)}"""',
        "",
        "from explorer.models import register",
        *(
            ["from explorer.parameters import InputParam, Param"]
            if _inputs(params)
            else ["from explorer.parameters import Param"]
            if params
            else []
        ),
        f"from explorer.systems import {', '.join(sorted(used))}",
        "",
        "",
        "@register()",
        f"def {name}() -> {kind}:",
        f'    """Return {_sentence(title, first=False)}"""',
        f"    return {_written(build, 4)}",
        "",
        "",
        'if __name__ == "__main__":',
        "    import explorer as ex",
        "",
        f"    scheme = {_scheme(session)}",
        f"    solution = ex.simulate({name}(), scheme)",
        "    print(solution)",
    ]
    return f"{name}.py", "\n".join(lines) + "\n"


def _scheme(session: Session) -> str:
    """Return the call of the scheme, as `opening` writes it."""
    line = next(x for x in opening(session) if x.startswith("scheme = "))
    return line.removeprefix("scheme = ")


def _name(title: str) -> str:
    """Return a name of a function that the gallery does not have."""
    name = re.sub(r"\W+", "_", title.lower(), flags=re.ASCII).strip("_") or "model"
    name = name if name[0].isalpha() else f"model_{name}"
    return f"own_{name}" if name in models or not name.isidentifier() or name == "dict" else name


def _sentence(title: str, first: bool = True) -> str:
    """Return a title as a line of a docstring."""
    plain = re.sub(r'["\\]+', "'", title)
    return f"{plain}." if first else f"the model '{plain}'."


def _param(p: Plain, now: float) -> _Call:
    """Return a parameter with the value that is set, within a range that holds it."""
    kind = "InputParam" if "least" in p else "Param"
    first: tuple[object, ...] = (
        now,
        min(p["low"], now),
        max(p["high"], now),
        p["unit"],
        p["text"],
    )
    more = {"log": True} if p["log"] else {}
    if "least" in p:
        more |= {k: p[k] for k in ("least", "most") if p[k] is not None}
    while first and first[-1] == "":
        first = first[:-1]
    return _Call(kind, first, more)


def _inputs(params: Mapping[str, _Call]) -> bool:
    return any(p.name == "InputParam" for p in params.values())


def _written(value: object, indent: int) -> str:
    """Return a value as Python, in lines that are not too wide."""
    match value:
        case _Call(name=name, first=first, more=more):
            ends = (f"{name}(", ")")
            parts = [("", x) for x in first] + [(f"{k}=", x) for k, x in more.items()]
        case dict():
            ends, parts = ("{", "}"), [(f'"{k}": ', x) for k, x in value.items()]
        case list():
            ends, parts = ("[", "]"), [("", x) for x in value]
        case str():
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        case _:
            return repr(value)
    line = ends[0] + ", ".join(k + _written(x, indent) for k, x in parts) + ends[1]
    if len(line) + indent <= _WIDE and "\n" not in line:
        return line
    inside = " " * (indent + 4)
    rows = (f"{inside}{k}{_written(x, indent + 4)}," for k, x in parts)
    return ends[0] + "\n" + "\n".join(rows) + "\n" + " " * indent + ends[1]
