"""Systems x' = ... from typed text: with switches, regions, modes, or multipliers with laws."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import TypeVar

import sympy as sp

from explorer.errors import BadModel
from explorer.panels.write_model import printing as p
from explorer.panels.write_model.building import Draft, kind
from explorer.panels.write_model.reading import (
    by_name,
    declared,
    entries,
    lines,
    options,
    pairs,
    relation,
    split,
)
from explorer.panels.write_model.shared import about, end, named, start_entries, typed_parameters
from explorer.systems import FilippovSystem, FirstOrderSystem, HybridSystem, StepSystem
from explorer.systems.expressions import expression
from explorer.systems.state_space import StateSpaceSystem
from explorer.types import Plain

__all__ = ["by_laws", "by_modes", "by_regions", "by_switches"]

_REGION = re.compile(r"(.+?)\s+if\s+(.+?)\s*:\s*(.+)\Z")
_GUARD = re.compile(
    r"(?P<of>.+?)(?:\s*(?:->|→)\s*(?P<to>.+?))?\s+when\s+(?P<r>.+?)\s+(?P<way>falls|rises|crosses)\Z"
)
_WAYS = {"falls": -1, "rises": 1, "crosses": 0}
_ARROWS = {-1: "↓", 1: "↑", 0: "↕"}
S = TypeVar("S", bound=StateSpaceSystem)
_GAP = "<mspace width='0.9em'/>"


@kind("switching")
def by_switches(draft: Draft) -> StepSystem:
    """Return the system of rates with sign, abs, min, max and cases."""
    system = _begun(draft, StepSystem)
    with draft.at("switches"):
        for name, rest in pairs(draft.text("switches"), "A switching function"):
            alpha = system.switch(rest, name=name)
            step = p.words("\u2002step of\u2002"), p.formula(system.switches[-1].c)
            draft.show("switches", p.line(p.formula(alpha), *step))
    with draft.at("rates"):
        system.f = by_name(draft.text("rates"), system.coordinates, "The rates")
        draft.show("rates", _rates(system, system._given))
    _start(draft, system)
    return system


@kind("regions")
def by_regions(draft: Draft) -> FilippovSystem:
    """Return the system with a field in each region."""
    system = _begun(draft, FilippovSystem)
    functions: dict[str, str] = {}
    with draft.at("switches"):
        for k, (name, rest) in enumerate(pairs(draft.text("switches"), "A switching function"), 1):
            label = name or f"c{k}"
            if label in functions:
                raise BadModel(f"Two switching functions are called {label!r}. Rename one of them.")
            expression(rest, system.symbols(), f"The switching function {label!r}")
            functions[label] = rest
    with draft.at("regions"):
        modes: dict[str, dict[str, str] | list[str]] = {}
        where: list[str] = []
        for line in lines(draft.text("regions")):
            found = _REGION.match(line)
            if not found:
                raise BadModel(
                    f"{line!r} is no region. Write its name, where it is, and the rates there: "
                    f"right if {system.coordinates[0]} > 0: {system.coordinates[0]}' = -1."
                )
            name, when, rates = found.groups()
            if name in modes:
                raise BadModel(f"Two regions are called {name!r}. Rename one of them.")
            modes[name] = by_name(rates, system.coordinates, f"The region {name!r}")
            where.append(_sets(when, functions, system, f"The region {name!r}"))
        if not modes:
            raise BadModel("There is no region yet. Write two: right if x > 0: x' = -1, and left.")
        system.subsystem(modes, functions, where)
        for region, when in zip(system.subsystems[0].regions, where, strict=True):
            rates_ = _rates_of(system, region.field)
            places = _where(when, system)
            draft.show("regions", p.line(p.words(f"{region.name}\u2002"), *places), p.line(rates_))
    _start(draft, system)
    return system


def _where(when: str, system: FilippovSystem) -> list[str]:
    """Return where a region is: the signs of its functions in place of their names."""
    signs = {"&": "\u2002and\u2002", "|": "\u2002or\u2002", "~": "not ", "-": " without "}
    functions = {s.name: s.c for s in system.switches}
    parts = [p.words("where\u2002")]
    for word in re.findall(r"~?\w+|[&|~()-]", when):
        name = word.removeprefix("~")
        if name in functions:
            sign = "<" if word.startswith("~") else ">"
            parts += [p.formula(functions[name]), p.operator(sign), "<mn>0</mn>"]
        else:
            parts.append(p.words(signs.get(word, word)))
    return parts


def _sets(when: str, functions: dict[str, str], system: StateSpaceSystem, what: str) -> str:
    """Return a condition as an expression of sets; a comparison names a function of its own."""
    try:
        tree = ast.parse(when.replace("^", "**"), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise BadModel(f"{what}: {when!r} is no condition. Write one such as x > 0.") from None

    def walk(node: ast.AST) -> str:
        match node:
            case ast.Compare(left=left, ops=[ast.Gt() | ast.GtE()], comparators=[right]):
                return side(left, right)
            case ast.Compare(left=left, ops=[ast.Lt() | ast.LtE()], comparators=[right]):
                return side(right, left)
            case ast.BoolOp(op=op, values=values):
                sign = " & " if isinstance(op, ast.And) else " | "
                return f"({sign.join(map(walk, values))})"
            case ast.UnaryOp(op=ast.Not(), operand=inside):
                return f"~{walk(inside)}"
        return f"({ast.unparse(node)})"

    def side(large: ast.AST, small: ast.AST) -> str:
        """Return the set where `large` is above `small`, by its function: a known or a new one."""
        rest = "" if ast.unparse(small) == "0" else f" - ({ast.unparse(small)})"
        written = f"({ast.unparse(large)}){rest}" if rest else ast.unparse(large)
        here = expression(written, system.symbols(), what)
        for name, other in functions.items():
            known = expression(other, system.symbols(), what)
            if sp.expand(known - here) == 0:
                return name
            if sp.expand(known + here) == 0:
                return f"~{name}"
        name = next(f"c{k}" for k in range(1, 99) if f"c{k}" not in functions)
        functions[name] = written
        return name

    joined = isinstance(tree, ast.Compare | ast.BoolOp) or _is_not(tree)
    return walk(tree) if joined else when


def _is_not(node: ast.AST) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)


@kind("hybrid")
def by_modes(draft: Draft) -> HybridSystem:
    """Return the system of modes, guards and resets."""
    system = _begun(draft, HybridSystem)
    with draft.at("modes"):
        for name, rates in pairs(draft.text("modes"), "A mode"):
            if not name:
                raise BadModel(f"{rates!r} has no mode before it. Write on: {rates}.")
            mode = system.mode(name, by_name(rates, system.coordinates, f"The mode {name!r}"))
            draft.show("modes", p.line(p.words(name), _GAP, _rates_of(system, mode.flow)))
        system.check()
    if "modes" in draft.errors:
        return system
    with draft.at("guards"):
        for name, rest in pairs(draft.text("guards"), "A guard"):
            _guard(draft, system, name, rest)
    _start(draft, system)
    return system


def _guard(draft: Draft, system: HybridSystem, name: str, text: str) -> None:
    what = f"The guard {name!r}" if name else f"The guard {text!r}"
    first, *others = split(text)
    found = _GUARD.match(first)
    if not found:
        raise BadModel(
            f"{what} needs the mode that it ends, the one that follows, and what crosses zero: "
            "impact: flight -> flight when y falls, then v = -e*v."
        )
    resets: list[str] = []
    more: Plain = {}
    for part in others:
        head, _, rest = part.partition(" ")
        if head == "then":
            resets.append(rest)
        elif head == "while":
            more["when"] = relation(rest, what, ">")
        elif head == "zeno":
            more["zeno"] = rest
        elif head == "ends":
            more["terminal"] = True
        elif resets:
            resets.append(part)
        else:
            raise BadModel(
                f"{what}: {part!r} is not known here. Write then v = -e*v, while v < 0, zeno and a "
                "mode, or ends."
            )
    if resets:
        more["reset"] = by_name(", ".join(resets), system.coordinates, f"{what}: what jumps")
    of, way = found["of"].strip(), _WAYS[found["way"]]
    system.guard(of, found["r"], to=found["to"], direction=way, name=name, **more)
    made = system.guards[-1]
    parts = [
        p.words(made.name),
        _GAP,
        p.formula(made.r),
        p.operator(_ARROWS[made.direction]),
        "<mn>0</mn>",
    ]
    if made.when is not None:
        parts += [p.words(" while "), p.formula(made.when), p.operator(">"), "<mn>0</mn>"]
    for state, after in zip(system.x, made.reset, strict=True):
        if made.jumps and after != state:
            parts += [p.operator(","), _GAP, p.formula(state), p.operator(":="), p.formula(after)]
    parts.append(p.words(" → end" if made.terminal else f" → {system.modes[made.to].name}"))
    draft.show("guards", p.line(*parts))


@kind("laws")
def by_laws(draft: Draft) -> FirstOrderSystem:
    """Return the system of rates with multipliers that obey laws."""
    system = _begun(draft, FirstOrderSystem)
    relations: dict[str, str] = {}
    with draft.at("laws"):
        for name, rest in pairs(draft.text("laws"), "A law"):
            what = f"The law of {name!r}"
            if not name:
                raise BadModel(f"{rest!r} has no multiplier before it. Write u: {rest}.")
            first, given = options(rest, ("lb", "ub", "unit", "y_name", "y_unit"), what)
            relay = "lb" in given or "ub" in given
            equal = not relay and re.search(r"(?<![<>=])=", first) is not None
            law = "relay" if relay else "equality" if equal else "complementarity"
            relations[name] = relation(first, what, "=" if equal else ">")
            options_: Plain = dict(given)
            system.law(name, law, **options_)
        system.y = relations
        for law_, y in zip(system.laws, system.y, strict=True):
            lam = p.identifier(law_.name)
            laws = {
                "complementarity": (
                    "<mn>0</mn>",
                    p.operator("≤"),
                    p.formula(y),
                    p.operator("⊥"),
                    lam,
                    p.operator("≥"),
                    "<mn>0</mn>",
                ),
                "equality": (p.formula(y), p.operator("="), "<mn>0</mn>", p.words("  by "), lam),
                "relay": (
                    lam,
                    p.operator("∈"),
                    "<mo>[</mo>",
                    p.formula(law_.lb),
                    p.operator(","),
                    p.formula(law_.ub),
                    "<mo>]</mo>",
                    p.words("  by the sign of "),
                    p.formula(y),
                ),
            }
            draft.show("laws", p.line(*laws[law_.kind]))
    if "laws" in draft.errors:
        return system
    with draft.at("rates"):
        given_rates = by_name(draft.text("rates"), system.coordinates, "The rates")
        whole = system._vector(given_rates, f"rates of '{system.name}'")
        without = {lam: sp.Integer(0) for lam in system.lam}
        smooth = [g.subs(without) if g.free_symbols & {*system.lam} else g for g in whole]
        system.f = smooth
        system.r = [
            sp.Integer(0) if g == f else _rest(g, f) for g, f in zip(whole, smooth, strict=True)
        ]
        draft.show("rates", _rates(system, whole))
    with draft.at("outputs"):
        for name, rest in pairs(draft.text("outputs"), "An output"):
            if not name:
                raise BadModel(f"{rest!r} has no name before it. Write p: {rest}.")
            first, given = options(rest, ("unit",), f"The output {name!r}")
            system.output(name, first, **given)
            shown = p.formula(system.outputs[-1].formula)
            draft.show("outputs", p.line(p.identifier(name), p.operator("="), shown))
    _start(draft, system)
    return system


def _rest(whole: sp.Expr, smooth: sp.Expr) -> sp.Expr:
    """Return what of a rate hangs on multipliers; as it was written where it is a sum."""
    terms = sp.Add.make_args(whole)
    kept = [t for t in terms if t not in sp.Add.make_args(smooth)]
    made = sp.Add(*kept)
    return made if sp.expand(whole - smooth - made) == 0 else sp.expand(whole - smooth)


def _begun(draft: Draft, kind_: type[S]) -> S:
    """Return a system with states and parameters."""
    names, units = declared(draft.text("states"), "The states")
    draft.names = names
    system = kind_(named(draft), names, units=units, text=about(draft))
    typed_parameters(draft, system)
    return system


def _rates(system: StateSpaceSystem, flow: Sequence[sp.Expr]) -> str:
    return p.line(_rates_of(system, flow))


def _rates_of(system: StateSpaceSystem, flow: Sequence[sp.Expr]) -> str:
    rows = [
        (p.rate(c), p.operator("="), p.formula(f))
        for c, f in zip(system.coordinates, flow, strict=True)
    ]
    return p.cases(rows)


def _start(draft: Draft, system: StateSpaceSystem) -> None:
    with draft.at("start"):
        words = []
        begin: Plain = {}
        if isinstance(system, HybridSystem):
            names = [mode.name for mode in system.modes]
            for entry in entries(draft.text("start")):
                head, _, mode = entry.partition(" ")
                if head == "mode" and "=" not in entry:
                    words.append(entry)
                    begin["mode"] = mode.strip()
            if not words and names:
                begin["mode"] = names[0]
        given = start_entries(draft, system.coordinates, words)
        system.start(x=given or None, **begin)
        shown = map(p.at_start, map(p.identifier, system.coordinates), system.start_x)
        draft.show("start", p.line(p.listed([*shown])))
    end(draft, system)
