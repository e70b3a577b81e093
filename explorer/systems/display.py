"""A system as Markdown: what a notebook shows when the object is the last line of a cell."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import sympy as sp

from explorer.quantities import like_unit, number, quantity
from explorer.systems.base import System
from explorer.systems.compliance import multiplier
from explorer.systems.constraints import Constraint
from explorer.systems.contacts import Contact
from explorer.systems.lagrangian import LagrangianSystem
from explorer.systems.laws import Law, Output
from explorer.systems.modes import Branch, Guard, Mode
from explorer.systems.record import Record
from explorer.systems.regions import Subsystem, Switching
from explorer.systems.springs import BilinearSpring
from explorer.systems.state_space import StateSpaceSystem
from explorer.types import Formula

__all__ = [
    "discs",
    "filippov",
    "first_order",
    "hybrid",
    "latex",
    "linear",
    "mapped",
    "mechanical",
    "step",
]

_LARGE = 6
_WORD = re.compile(r"^[A-Za-z]{2,}(?=_|\^|$)")  # in LaTeX, where Greek letters have a backslash


def latex(expr: object) -> str:
    """Return LaTeX with velocities written as dotted coordinates and short numbers."""
    names = {
        symbol: _dotted(symbol.name[2:]) if symbol.name.startswith("v_") else _name(symbol)
        for symbol in getattr(expr, "free_symbols", ())
    }
    return str(sp.latex(expr, symbol_names=names, full_prec=False))


def _name(name: object) -> str:
    """Return LaTeX of a name: a word upright, as in italics it is a product of its letters.

    What looks like a unit gets an index: mH is neither one nor a word.
    """
    if like_unit(str(name).rstrip("0123456789")):
        return f"{str(name)[0]}_{{{str(name)[1:]}}}"
    return _WORD.sub(r"\\operatorname{\g<0>}", str(sp.latex(sp.Symbol(str(name)))))


def _dotted(name: object, dot: str = r"\dot") -> str:
    """Return LaTeX of a rate: the dot stands over the letter, not over its index."""
    return re.sub(r"^[^_^]+", lambda base: f"{dot}{{{base[0]}}}", _name(name))


def _parameters(system: System) -> list[str]:
    if not system.parameters:
        return []
    rows = [
        f"| ${latex(sp.Symbol(name))}$ | {quantity(p.value, p.unit)} "
        f"| {quantity(p.low, p.unit)} … {quantity(p.high, p.unit)} | {p.text} |"
        for name, p in system.parameters.items()
    ]
    head = "| parameter | value | range | meaning |\n|---|---|---|---|"
    return ["\n".join([head, *rows])]


def _column(items: Iterable[Formula]) -> str:
    items = list(items)
    if len(items) == 1:
        return latex(items[0])
    return latex(sp.Matrix(items))


def _contacts(system: LagrangianSystem) -> list[str]:
    contacts = system.contacts
    shown = [
        rf"$$\text{{contact {c.name}:}}\quad 0 \le {latex(c.gap)}{_compliance(system, k)} "
        rf"\;\perp\; \lambda_{{{k + 1}}} \ge 0, "
        rf"\qquad \text{{restitution }} {latex(c.e)}{_friction(c, k + 1)}$$"
        for k, c in enumerate(contacts[:_LARGE])
    ]
    more = len(contacts) - _LARGE
    return shown + ([f"… and {more} more contacts of this kind."] if more > 0 else [])


def _springs(springs: Sequence[BilinearSpring]) -> list[str]:
    return [
        rf"$$\text{{{s.name}:}}\quad u = {latex(s.elongation)},\; k = {latex(s.k)},\; "
        rf"f_y = {latex(s.f_y)},\; b = {latex(s.b)}$$"
        for s in springs
    ]


def _records(records: Sequence[Record]) -> list[str]:
    """Return a line for each sampled force."""
    shown = []
    for k, r in enumerate(records):
        along = _column(r.along) if len(r.along) <= _LARGE else rf"b_{{{k + 1}}}"
        shown.append(
            rf"$$F \mathrel{{+}}= {along}\, r_{{{k + 1}}}(t)\qquad\text{{({r.name}: "
            rf"{len(r.values)} samples every {quantity(r.dt, 's')}, at most "
            rf"{number(np.abs(r.values).max(), 4)})}}$$"
        )
    return shown


def _compliance(system: LagrangianSystem, k: int) -> str:
    """Return the deflection of a contact, with numbered multipliers."""
    contacts = system.contacts
    if k not in system._gives:
        soft = contacts[k].compliance
        return rf" + \left({latex(soft)}\right) \lambda_{{{k + 1}}}" if soft != 0 else ""
    numbered = {multiplier(c.name): sp.Symbol(f"lambda_{i}") for i, c in enumerate(contacts, 1)}
    return rf" + {latex(system._gives[k].xreplace(numbered))}"


def _friction(contact: Contact, k: int) -> str:
    if contact.slip is None:
        return ""  # Sgn of a vector is its direction, at zero the unit disc
    sticks = "" if contact.mu_s is None else rf",\; \mu_s = {latex(contact.mu_s)}"
    sticks += rf",\; e_t = {latex(contact.e_t)}" if contact.e_t != 0 else ""
    return (
        rf", \qquad \lambda^t_{{{k}}} \in -\mu\, \lambda_{{{k}}}\,\mathrm{{Sgn}}\left("
        rf"{_column(contact.slips)}\right),\; \mu = {latex(contact.mu)}{sticks}"
    )


def mechanical(system: LagrangianSystem) -> str:
    """Return equations of motion, contacts, parameters with units, and the initial state."""
    q = system.q
    parts = [f"**{system.name}** — {system.kind}" + (f". {system.text}" if system.text else "")]
    if system.n <= _LARGE:
        rates = sp.Matrix([sp.Symbol(_dotted(x, r"\ddot")) for x in q])
        if system.n == 1:
            (mass,) = system.mass
            factor = rf"\left({latex(mass)}\right)" if mass.is_Add else latex(mass)
            left = rf"{factor}\,{rates[0]}" if mass != 1 else str(rates[0])
        else:
            left = rf"{latex(system.mass)} {sp.latex(rates)}"
        forces = r" + G^{\top} \lambda" if system.contacts else ""
        forces += r" + H^{\top} \lambda^t" if system.rough else ""
        forces += r" - \phi_q^{\top} \lambda^{\phi}" if system.constraints else ""
        parts.append(rf"$${left} = {_column(system.force)}{forces}$$")
    else:
        parts.append(
            r"$$M(q)\,\ddot q = F(t, q, \dot q) + G^{\top} \lambda, \qquad "
            rf"q \in \mathbb{{R}}^{{{system.n}}}$$"
        )
    parts += _contacts(system)
    parts += [
        rf"$${latex(c.phi)} = 0{_while(c)}\qquad\text{{({c.name})}}$$" for c in system.constraints
    ]
    parts += _springs(system.springs)
    parts += _records(system.records)
    parts += _parameters(system)
    if system.n <= _LARGE:
        start = (
            f"${_name(x)}(0) = {latex(a)}$, ${_dotted(x)}(0) = {latex(b)}$"
            for x, a, b in zip(q, system.start_q, system.start_v, strict=True)
        )
        parts.append(f"start: {', '.join(start)}")
    return "\n\n".join(parts)


def _while(constraint: Constraint) -> str:
    if constraint.when is None:
        return ""
    return rf"\quad\text{{while }} {latex(constraint.when)} > 0"


def discs(
    system: LagrangianSystem, count: int, gravity: sp.Expr, walls: Sequence[Sequence[sp.Expr]]
) -> str:
    """Return the law of every contact, the walls, and the parameters of a system of discs."""
    law = system.contacts[0]
    parts = [
        f"**{system.name}** — {system.kind}" + (f". {system.text}" if system.text else ""),
        r"$$m_i \ddot x_i = G^{\top} \lambda,\quad "
        r"m_i \ddot y_i = -m_i\, g + G^{\top} \lambda,\quad "
        r"\tfrac12 m_i R_i^2\, \ddot\varphi_i = H^{\top} \lambda^t,\qquad "
        rf"i = 1 \ldots {count},\quad g = {latex(gravity)}$$",
        r"$$0 \le |c_i - c_j| - R_i - R_j \;\perp\; \lambda \ge 0, \qquad "
        r"\lambda^t \in -\mu\, \lambda\, "
        rf"\mathrm{{Sgn}}(\mathrm{{slip}}),\qquad \text{{restitution }} {latex(law.e)},\; "
        rf"\text{{friction }} {latex(law.mu)}$$",
    ]
    parts += [
        rf"$$0 \le {latex(n_x * sp.Symbol('x_i') + n_y * sp.Symbol('y_i') - c)} - R_i "
        r"\;\perp\; \lambda \ge 0$$"
        for n_x, n_y, c in walls
    ]
    return "\n\n".join([*parts, *_parameters(system)])


def linear(system: LagrangianSystem) -> str:
    """Return the general equation with its sizes, contacts, constraints, parameters."""
    more = r" + T^{\top} \lambda^t" if system.rough else ""
    more += r" - J^{\top} \lambda^\varphi" if system.constraints else ""
    parts = [
        f"**{system.name}** — {system.kind}" + (f". {system.text}" if system.text else ""),
        rf"$$M \dot v + C v + K q = f(t) + H^{{\top}} \lambda{more}, \qquad "
        rf"q \in \mathbb{{R}}^{{{system.n}}}$$",
    ]
    if system.contacts:
        parts.append(rf"$$0 \le H q + b \;\perp\; \lambda \ge 0 \quad ({len(system.contacts)})$$")
    if system.rough:
        law = r"\lambda^t \in -\mu \, \lambda \, \mathrm{Sgn}(T v)"
        parts.append(rf"$${law} \quad ({len(system.rough)})$$")
    if system.constraints:
        parts.append(rf"$$J q + c = 0 \quad ({len(system.constraints)})$$")
    return "\n\n".join(parts + _records(system.records) + _parameters(system))


def hybrid(
    system: StateSpaceSystem,
    modes: Sequence[Mode],
    guards: Sequence[Guard],
    start_mode: int,
    start_branches: Sequence[Branch],
) -> str:
    """Return the flow of each mode, the guards as a table, parameters, and the initial state."""
    parts = [_titled(system)]
    parts += [f"mode *{mode.name}*: {_rates(system, mode.flow)}" for mode in modes]
    parts += _guards(system.x, modes, guards)
    parts += _parameters(system)
    where = f", mode *{modes[start_mode].name}*" if modes else ""
    where = ", in the mode whose conditions hold" if start_branches else where
    return "\n\n".join([*parts, _start(system) + where])


def step(
    system: StateSpaceSystem,
    f: Sequence[sp.Expr],
    switches: Sequence[Switching],
    rewritten: Mapping[sp.Expr, sp.Expr],
) -> str:
    """Return x' with its multipliers, the switching functions, and the replaced terms."""
    parts = [_titled(system), _rates(system, f), *_switches(switches)]
    if rewritten:
        rows = [rf"{_plain(old)} &\to {_plain(new)}" for old, new in rewritten.items()]
        parts.append(f"rewritten: $${_aligned(rows)}$$")
    return "\n\n".join([*parts, *_parameters(system), _start(system)])


def filippov(
    system: StateSpaceSystem, subsystems: Sequence[Subsystem], switches: Sequence[Switching]
) -> str:
    """Return the field of each region, its multiplier, the switching functions, and the rest."""
    parts = [_titled(system)]
    several = len(subsystems) > 1
    for k, one in enumerate(subsystems):
        if several:
            parts.append(f"subsystem {k + 1} (they add up):")
        parts += [
            f"*{r.name}*, where {r.where}: "
            rf"$$\theta = {_plain(r.theta)}$$ {_rates(system, r.field)}"
            for r in one.regions
        ]
    return "\n\n".join([*parts, *_switches(switches), *_parameters(system), _start(system)])


def first_order(
    system: StateSpaceSystem,
    equations: tuple[Sequence[Sequence[sp.Expr]], Sequence[sp.Expr], Sequence[sp.Expr]],
    relation: Sequence[tuple[Law, sp.Expr]],
    outputs: Sequence[Output],
) -> str:
    """Return M x' = f + r, the relation with its laws, named outputs, parameters, and the start."""
    rates = sp.Matrix([sp.Symbol(_dotted(x)) for x in system.x])
    M, f, r = map(sp.Matrix, equations)
    if system.n == 1 and M[0] == 1:
        parts = [_titled(system), rf"$${rates[0]} = {_plain(f[0] + r[0])}$$"]
    else:
        left = sp.latex(rates) if sp.eye(system.n) == M else rf"{_plain(M)}\,{sp.latex(rates)}"
        pull = "" if r.is_zero_matrix else rf" + {_plain(r)}"
        parts = [_titled(system), rf"$${left} = {_plain(f)}{pull}$$"]
    rows = []
    for law, y in relation:
        name, lam = _name(law.y_name), _plain(law.lam)
        said = {
            "complementarity": rf"0 \le {name} \;\perp\; {lam} \ge 0",
            "equality": rf"{name} = 0",
            "relay": rf"-{name} \in \mathrm{{N}}_{{[{_plain(law.lb)},\, {_plain(law.ub)}]}}({lam})",
        }[law.kind]
        rows.append(rf"{name} &= {_plain(y)}, && {said}")
    parts += [f"$${_aligned(rows)}$$"] if rows else []
    shown = [rf"{_name(o.name)} &= {_plain(o.formula)}" for o in outputs]
    parts += [f"looked at: $${_aligned(shown)}$$"] if shown else []
    return "\n\n".join([*parts, *_parameters(system), _start(system)])


def mapped(
    system: StateSpaceSystem,
    lets: Mapping[str, sp.Expr],
    branches: Sequence[tuple[str, Sequence[sp.Expr], Sequence[sp.Expr]]],
) -> str:
    """Return named formulas, the next state in each branch, parameters, and the start."""
    parts = [_titled(system)]
    named = [rf"{_name(name)} &= {_plain(f)}" for name, f in lets.items()]
    parts += [f"$${_aligned(named)}$$"] if named else []
    for name, f, when in branches:
        rows = [rf"{_name(x)}_{{n+1}} &= {_plain(g)}" for x, g in zip(system.x, f, strict=True)]
        holds = " and ".join(f"${_plain(w)} > 0$" for w in when)
        where = f"where {holds}" if holds else "everywhere else"
        where = f"*{name}*, {where}: " if len(branches) > 1 else ""
        parts.append(f"{where}$${_aligned(rows)}$$")
    return "\n\n".join([*parts, *_parameters(system), _start(system)])


def _titled(system: System) -> str:
    return f"**{system.name}** — {system.kind}" + (f". {system.text}" if system.text else "")


def _start(system: StateSpaceSystem) -> str:
    start = ", ".join(
        f"${_name(x)}(0) = {_plain(a)}$" for x, a in zip(system.x, system.start_x, strict=True)
    )
    return f"start: {start}"


def _rates(system: StateSpaceSystem, flow: Sequence[sp.Expr]) -> str:
    rows = [rf"{_dotted(x)} &= {_plain(f)}" for x, f in zip(system.x, flow, strict=True)]
    return f"$${_aligned(rows)}$$"


def _aligned(rows: list[str]) -> str:
    return r"\begin{aligned}" + r" \\ ".join(rows) + r"\end{aligned}"


def _switches(switches: Sequence[Switching]) -> list[str]:
    rows = [
        rf"{sp.latex(s.alpha)} &\in \mathrm{{step}}\left({_plain(s.c)}\right)"
        rf" && \text{{({s.name})}}"
        for s in switches
    ]
    return [f"$${_aligned(rows)}$$"] if rows else []


def _plain(expr: object) -> str:
    """Return LaTeX that shows v_x as a state, since x' = v_x is an equation of the system."""
    names = {symbol: _name(symbol) for symbol in getattr(expr, "free_symbols", ())}
    return str(sp.latex(expr, symbol_names=names, full_prec=False))


def _guards(x: Sequence[sp.Symbol], modes: Sequence[Mode], guards: Sequence[Guard]) -> list[str]:
    if not guards:
        return []

    def inline(expr: object) -> str:
        return f"${_plain(expr)}$".replace("|", r"\vert{}")  # a bar would end the cell

    how = {-1: "falls through 0", 0: "crosses 0", 1: "rises through 0"}
    names = [mode.name for mode in modes]
    rows = []
    for guard in guards:
        event = f"{inline(guard.r)} {how[guard.direction]}"
        event += "" if guard.when is None else f", while {inline(guard.when)} > 0"
        jumps = [
            f"{inline(state)} := {inline(after)}"
            for state, after in zip(x, guard.reset, strict=True)
            if after != state
        ]
        to = "the run ends" if guard.terminal else names[guard.to]
        if guard.branches:
            holds = [", ".join(f"{inline(w)} > 0" for w in b.when) for b in guard.branches]
            to = "; ".join(
                f"{names[b.to]}, if {when}" if when else names[b.to]
                for b, when in zip(guard.branches, holds, strict=True)
            )
        to += f" (accumulation: {names[guard.zeno]})" if guard.zeno >= 0 else ""
        name = guard.name.replace("|", r"\|")
        cells = [names[guard.mode], name, event, ", ".join(jumps) or "–", to]
        rows.append(f"| {' | '.join(cells)} |")
    head = "| from | event | when r crosses zero | reset | to |\n|---|---|---|---|---|"
    return ["\n".join([head, *rows])]
