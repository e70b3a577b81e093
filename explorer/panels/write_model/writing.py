"""From a system to the text that one would type for it: to begin from a model of the gallery."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from explorer.errors import BadModel
from explorer.panels.write_model.building import build
from explorer.panels.write_model.fields import Texts
from explorer.parameters import InputParam, Param
from explorer.systems import System
from explorer.types import Plain

__all__ = ["WRITTEN", "written"]

WRITTEN = {
    "MechanicalSystem": "mechanical",
    "StepSystem": "switching",
    "FilippovSystem": "regions",
    "HybridSystem": "hybrid",
    "FirstOrderSystem": "laws",
}


def written(system: System) -> tuple[str, Texts]:
    """Return the kind of a system and its typed text, which gives the same system again.

    Raises
    ------
    BadModel
        If the fields of the panel cannot say all that the system is.
    """
    spec = _spec(system)
    kind = WRITTEN.get(str(spec.get("type")))
    if kind is None:
        raise _cannot(system, f"it is a {system.kind}, which is given by arrays, not by formulas")
    if parts := [what for key, what in _UNWRITTEN.items() if _holds(spec, key)]:
        raise _cannot(system, f"it has {parts[0]}")
    texts = {
        "name": str(spec["name"]),
        "text": str(spec["text"]),
        "parameters": "\n".join(_param(k, p) for k, p in system.parameters.items()),
        "step": _short(spec["start"]["h"]),
        "t_end": f"{_short(spec['start']['t_end'])} {spec['start'].get('time_unit', '')}".strip(),
        **_BY_KIND[kind](spec),
    }
    texts = {key: text for key, text in texts.items() if text}
    found = build(kind, texts)
    if found.system is None:
        raise _cannot(system, f"a field cannot hold it: {next(iter(found.errors.values()))}")
    if not _same(_spec(found.system), spec):
        raise _cannot(system, "it would become another one")
    return kind, texts


_UNWRITTEN = {
    "records": "sampled forces",
    "contact": "modes of a contact",
    "mass": "a mass matrix besides its rates",
}


def _cannot(system: System, why: str) -> BadModel:
    return BadModel(
        f"'{system.name}' cannot be written in these fields, because {why}. Begin from another "
        "model, or use it in Python: Copy as Python in its own panel."
    )


def _spec(system: System) -> Plain:
    try:
        return system.to_spec()
    except BadModel:
        return {"type": ""}


def _holds(spec: Plain, key: str) -> bool:
    if key == "mass":
        n = len(spec.get("x", ()))
        unit = [["1" if i == j else "0" for j in range(n)] for i in range(n)]
        return bool(spec["type"] == "FirstOrderSystem" and spec["mass"] != unit)
    return bool(spec.get(key))


def _same(one: Plain, other: Plain) -> bool:
    """Whether two specifications say the same; of laws the sum of both parts of a rate counts."""
    if one["type"] != "FirstOrderSystem":
        return bool(one == other)
    return _summed(one) == _summed(other)


def _summed(spec: Plain) -> Plain:
    import sympy as sp

    from explorer.systems.expressions import parse, text

    names = [*spec["x"], *spec["params"], *spec["laws"], "t"]
    known = {name: sp.Symbol(name) for name in names}
    rates = zip(spec["f"], spec["r"], strict=True)
    whole = [text(sp.expand(parse(f, known) + parse(r, known))) for f, r in rates]
    return {**spec, "f": whole, "r": None}


def _param(name: str, p: Param) -> str:
    line = f"{name} = {_short(p.value)}{f' {p.unit}' if p.unit else ''}"
    line += f" from {_short(p.low)} to {_short(p.high)}{' log' if p.log else ''}"
    line += " input" if isinstance(p, InputParam) else ""
    return line + (f": {p.text}" if p.text else "")


def _short(x: float) -> str:
    """Return a number with all its digits, without those of a whole one behind the point."""
    return repr(x).removesuffix(".0")


def _names(names: Sequence[str], units: Sequence[str]) -> str:
    return ", ".join(f"{n} ({u})" if u else n for n, u in zip(names, units, strict=True))


def _with(first: str, options: Mapping[str, object]) -> str:
    return ", ".join([first, *(f"{k} = {x}" for k, x in options.items())])


def _begin(names: Sequence[str], values: Sequence[str]) -> str:
    return ", ".join(f"{n} = {x}" for n, x in zip(names, values, strict=True) if x != "0")


def _mechanical(spec: Plain) -> Texts:
    q, start = spec["q"], spec["start"]
    M = spec["mass"]
    diagonal = all(x == "0" for i, row in enumerate(M) for j, x in enumerate(row) if i != j)
    rows = [[row[i] for i, row in enumerate(M)]] if diagonal else M
    forces = [f"{c}: {f}" for c, f in zip(q, spec["force"], strict=True) if f != "0"]
    gaps = []
    for c in spec["contacts"]:
        options = {k: x for k, x in c.items() if k not in ("gap", "name")}
        if "reset" in options:
            raise BadModel(
                "A law of velocities behind an impact cannot be written in these fields."
            )
        if isinstance(options.get("slip"), list):
            options["slip"] = f"({', '.join(options['slip'])})"
        usual = {"e": "0", "e_t": "0"}
        options = {k: x for k, x in options.items() if x != usual.get(k)}
        gaps.append(_with(f"{c['name']}: {c['gap']} >= 0", options))
    parts = [
        _with(f"{c['name']}: {c['phi']} = 0", {k: c[k] for k in ("when", "units") if c.get(k)})
        for c in spec["constraints"]
    ]
    springs = [
        _with(f"{s['name']}: {s['elongation']}", {k: s[k] for k in ("k", "f_y", "b")})
        for s in spec["springs"]
    ]
    given = [_begin([*q, *(f"v_{c}" for c in q)], [*start["q"], *start["v"]])]
    if assemble := start.get("assemble"):
        given.append("assemble" if assemble is True else f"assemble {' '.join(assemble)}")
    given += ["redundant"] if start.get("redundant") else []
    return {
        "coordinates": _names(q, spec["units"]),
        "mass": "\n".join(", ".join(row) for row in rows),
        "force": "\n".join(forces),
        "potential": spec["potential"] or "",
        "contacts": "\n".join(gaps),
        "constraints": "\n".join(parts),
        "springs": "\n".join(springs),
        "start": ", ".join(filter(None, given)),
    }


def _rates(x: Sequence[str], flow: Sequence[str], between: str) -> str:
    return between.join(f"{c}' = {f}" for c, f in zip(x, flow, strict=True))


def _states(spec: Plain) -> Texts:
    start = spec["start"]
    return {"states": _names(spec["x"], spec["units"]), "start": _begin(spec["x"], start["x"])}


def _functions(c: Mapping[str, str]) -> str:
    return "\n".join(f"{name}: {formula}" for name, formula in c.items())


def _switching(spec: Plain) -> Texts:
    rates = _rates(spec["x"], spec["f"], "\n")
    return {**_states(spec), "rates": rates, "switches": _functions(spec["c"])}


def _regions(spec: Plain) -> Texts:
    if len(spec["subsystems"]) != 1:
        raise BadModel("Regions of several subsystems cannot be written in these fields.")
    (one,) = spec["subsystems"]
    regions = [
        f"{name} if {where}: {_rates(spec['x'], field, ', ')}"
        for (name, field), where in zip(one["modes"].items(), one["S"], strict=True)
    ]
    return {**_states(spec), "regions": "\n".join(regions), "switches": _functions(one["c"])}


def _hybrid(spec: Plain) -> Texts:
    ways = {-1: "falls", 1: "rises", 0: "crosses"}
    guards = []
    first, mode = next(iter(spec["modes"]), ""), spec["start"]["mode"]
    if isinstance(mode, dict) or any(
        isinstance(g["to"], dict) or g["leaves"] for g in spec["guards"]
    ):
        raise BadModel("A mode that the state chooses cannot be written in these fields.")
    for g in spec["guards"]:
        line = f"{g['name']}: {g['mode']} -> {g['to']} when {g['r']} {ways[g['direction']]}"
        jumps = [
            f"{c} = {after}"
            for c, after in zip(spec["x"], g["reset"] or spec["x"], strict=True)
            if after != c
        ]
        line += f", then {', '.join(jumps)}" if jumps else ""
        line += f", while {g['when']}" if g["when"] else ""
        line += f", zeno {g['zeno']}" if g["zeno"] else ""
        guards.append(line + (", ends" if g["terminal"] else ""))
    texts = _states(spec)
    if mode != first:
        texts["start"] = ", ".join(filter(None, [texts["start"], f"mode {mode}"]))
    modes = [f"{name}: {_rates(spec['x'], flow, ', ')}" for name, flow in spec["modes"].items()]
    return {**texts, "modes": "\n".join(modes), "guards": "\n".join(guards)}


def _laws(spec: Plain) -> Texts:
    signs = {"complementarity": " >= 0", "equality": " = 0", "relay": ""}
    laws = []
    for (name, law), y in zip(spec["laws"].items(), spec["y"] or (), strict=True):
        options = {k: law[k] for k in ("lb", "ub", "unit", "y_unit") if law.get(k)}
        options |= {"y_name": law["y_name"]} if law["y_name"] != f"y_{name}" else {}
        laws.append(_with(f"{name}: {y}{signs[law['kind']]}", options))
    rates = [
        f"{c}' = {f if r == '0' else r if f == '0' else f'{f} + ({r})'}"
        for c, f, r in zip(spec["x"], spec["f"], spec["r"], strict=True)
    ]
    outputs = [
        _with(f"{name}: {formula}", {"unit": unit} if unit else {})
        for name, (formula, unit) in spec["outputs"].items()
    ]
    joined = {"rates": rates, "laws": laws, "outputs": outputs}
    return {**_states(spec), **{key: "\n".join(parts) for key, parts in joined.items()}}


_BY_KIND = {
    "mechanical": _mechanical,
    "switching": _switching,
    "regions": _regions,
    "hybrid": _hybrid,
    "laws": _laws,
}
