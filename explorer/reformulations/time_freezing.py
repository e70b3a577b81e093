"""Time freezing: an impact takes pseudo-time, in which the clock stands still.

The clock is a state, t' = 1 in free flight and 0 in auxiliary dynamics that carry v- to v+; cut
out what is frozen, and the state jumps. So a system with jumps is one with step functions, whose
solution is continuous (Nurkanovic, Sartor, Albrecht and Diehl 2021 for 0 < e <= 1; Nurkanovic,
Albrecht, Brogliato and Diehl 2023 for e = 0 and friction).

Here one form serves all e in [0, 1]. Each contact has a depth d, the way that it would yield, so
that q stays where it is; with c = gap + d, D = M^-1 G / (G' M^-1 G), and a, b > 0 of any size::

    c > 0:             q' = v,  v' = M^-1 F,  t' = 1,  d' = 0               (free)
    c < 0, gap' < 0:   q' = 0,  v' = D a,     t' = 0,  d' = e gap' - b      (compression)
    c < 0, gap' > 0:   q' = 0,  v' = D e a,   t' = 0,  d' = gap' + b        (expansion)

Compression takes u / a from gap' = -u to 0, expansion as long to gap' = e u; there d is zero again
(sums of quadratics in pseudo-time: any method of two stages integrates them without an error). A
contact that stays closed slides on c = 0 and gap' = 0 at once, with the contact force a / (G' M^-1
G) times the share of what is frozen; where the force falls to zero it opens. Where impacts
accumulate the slide is what they come to. Friction pushes by -mu times the normal push along the
slip, with a step function of its own, in the frozen phases as in the slide. Several contacts are
covered where none moves another, G_i' M^-1 G_j = 0, where they are opposite to each other, or where
both have e = 0: then all that approach are pushed until none does, and one that another push has
closed is pushed as well. That need not be Newton's law, gap' >= 0 perp p >= 0: a contact that was
pushed may be opened by another one, and a slip may turn within an impact. `Impacts` compares each
impact of contacts without rebound with that law, and where it differs the auxiliary dynamics push
each contact by the impulse that the law asks for
(`explorer.runs.time_freezing.simultaneous_impacts`).

Two terms keep it regular and vanish on the solution: in the slide a q' along -gap D, in free flight
d' = -100 d (once gap' is of the size of b: d takes up what the discretised gap drifts by in a
slide, and a contact that lets go is not to meet its obstacle again by that) and a trace of b, up
for gap' > 0 and down for gap' < 0, larger between the two, by which the slide has unique
multipliers even where its force is zero (d stays small beside b).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import sympy as sp

from explorer.arguments import a
from explorer.systems import Contact, HybridSystem, MechanicalSystem, StepSystem
from explorer.systems.kinks import slope

__all__ = ["FrozenContact", "FrozenSystem", "time_freezing"]

_MOST = 12  # coordinates
_MOST_CURVED = 4  # of a mass matrix that depends on q
_SEEN = 1e-9  # a number above it is no zero by round-off
_TAU = sp.Rational(1, 10)  # b = a tau, s
_TRACE = sp.Float(1e-11)  # of b
_INSIDE = sp.Rational(1, 10)  # of b, where gap' is slid on: zero on both of its sides
_BACK = 100  # 1/s


@dataclass(frozen=True)
class FrozenContact:
    """Formulas of one contact in the state, multipliers and parameters of a `FrozenSystem`.

    Attributes
    ----------
    gap, gap_dot, slip, mu : sympy.Expr
    push, pull : sympy.Expr
        Normal and friction force in N, times t'.
    normal : int
        Its first switching function, gap + d; then follows gap'.
    tangent : int
        The switching function of its slip, -1 without friction.
    """

    gap: sp.Expr
    gap_dot: sp.Expr
    slip: sp.Expr
    mu: sp.Expr
    push: sp.Expr
    pull: sp.Expr
    normal: int
    tangent: int


class FrozenSystem(StepSystem):
    """A system with step functions whose last state is the clock of another system.

    Attributes
    ----------
    source : System
        The system whose time is frozen; its states come first.
    held : tuple of FrozenContact
    scale : str
        Name of the parameter a, m/s2, besides those of `source`.
    """

    kind = "time-freezing system"
    route = "time freezing"
    source: MechanicalSystem | HybridSystem
    held: tuple[FrozenContact, ...] = ()
    scale = ""

    @property
    def clock(self) -> sp.Symbol:
        """The state that is the time of `source`."""
        return self.x[-1]


def fresh(wanted: str, taken: Iterable[str]) -> str:
    """Return a name that is not taken yet."""
    names = set(taken)
    while wanted in names:
        wanted += "_"
    return wanted


def misses(system: MechanicalSystem) -> str:
    """Return why time freezing does not cover a system, in a sentence; empty if it does."""
    if not system.contacts:
        return "time freezing applies to impacts, and the system has no contact."
    curved = any(x.free_symbols & set(system.q) for x in system.inertia.values())
    if system.n > (_MOST_CURVED if curved else _MOST):
        what = "a mass matrix that depends on q" if curved else "its inverse mass matrix"
        return (
            f"time freezing writes {what} as formulas. This is not possible for {system.n} "
            f"coordinates, only up to {_MOST_CURVED if curved else _MOST}."
        )
    if _singular(system):
        return "its mass matrix is singular: time freezing needs inertia in every coordinate."
    for one, two in itertools.combinations(system.contacts, 2):
        if not _independent(system, one, two):
            return (
                f"{one.name!r} and {two.name!r} push each other: time freezing treats impacts one "
                "after another, but for e > 0 Newton's law treats simultaneous impacts together. "
                "Both contacts need e = 0 (as a number)."
            )
    for contact in (system.contacts[k] for k in system.rough):
        if contact.mu_s is not None and contact.mu_s != contact.mu:
            return (
                f"a step function cannot hold {contact.name!r} by more than its sliding friction, "
                "but mu_s and mu differ."
            )
        if contact.e != 0 and _coupled(system, contact):
            return (
                f"the friction of {contact.name!r} changes its normal velocity, and for e > 0 the "
                "result violates Newton's law."
            )
    return ""


def _singular(system: MechanicalSystem) -> bool:
    """Whether the mass matrix is singular at every state, by its rank at generic numbers."""
    symbols = sorted({s for x in system.inertia.values() for s in x.free_symbols}, key=str)
    at = {s: 1 + sp.sqrt(sp.prime(k + 2)).evalf() / 7 for k, s in enumerate(symbols)}
    M = np.zeros((system.n, system.n), complex)  # a root may be imaginary there
    try:
        for place, x in system.inertia.items():
            M[place] = complex(x.subs(at))
    except TypeError:  # or there may be none at all
        return False
    return bool(np.isfinite(M).all() and np.linalg.matrix_rank(M) < system.n)


def _directions(system: MechanicalSystem, contact: Contact) -> list[sp.Matrix]:
    """Return the normal of a contact, and the direction in which it slips, if it has friction."""
    directions = [sp.Matrix([slope(contact.gap, q) for q in system.q])]
    if contact.slip is not None:
        directions.append(sp.Matrix([slope(contact.slips[0], v) for v in system.v]))
    return directions


def _coupled(system: MechanicalSystem, contact: Contact) -> bool:
    normal, along = _directions(system, contact)
    return not _vanishes((normal.T * system.mass.LUsolve(along))[0])


def _independent(system: MechanicalSystem, one: Contact, two: Contact) -> bool:
    """Whether two impacts may be treated one after the other.

    They are never closed at once (opposite walls), do not move each other, or both do not rebound.
    """
    if one.e == 0 and two.e == 0:
        return True
    if all(_vanishes((one.gap + two.gap).diff(q)) for q in system.q):
        return True
    moved = _solve(system.mass, _directions(system, two))
    pairs = itertools.product(_directions(system, one), moved)
    return all(_vanishes((row.T * column)[0]) for row, column in pairs)


def _vanishes(expr: sp.Expr) -> bool:
    """Whether an expression is zero everywhere; a nonzero value at one point decides quickly."""
    point = {s: 0.37 + 0.11 * k for k, s in enumerate(sorted(expr.free_symbols, key=str))}
    value = expr.evalf(subs=point)
    if value.is_Number and value.is_finite and abs(value) > _SEEN:
        return False
    return bool(expr == 0 or sp.simplify(expr) == 0)


def time_freezing(system: MechanicalSystem) -> FrozenSystem:
    """Return a mechanical system with contacts as one with step functions.

    States: q, v, the depth of each contact, the clock. It starts like `system`.
    """
    example = "time_freezing(ex.models.bouncing_ball())"
    a(system, MechanicalSystem, "a mechanical system", example)
    if "frozen" not in system.made:
        system.made["frozen"] = _freeze(system)
    frozen: FrozenSystem = system.made["frozen"]
    return frozen


def _freeze(system: MechanicalSystem) -> FrozenSystem:
    n, nc = system.n, len(system.contacts)
    taken = {*system.symbols()}
    clock = fresh("clock", taken)
    depths = [fresh(f"depth{k + 1}" if nc > 1 else "depth", taken) for k in range(nc)]
    names = [str(s) for s in (*system.q, *system.v)]
    speeds = [f"{u}/s" if u else "" for u in system.units]
    frozen = FrozenSystem(
        f"{system.name}, time freezing",
        [*names, *depths, clock],
        units=[*system.units, *speeds, *["m"] * nc, "s"],
        text=system.text,
    )
    frozen.source, frozen.scale = system, fresh("a", {*taken, *names, *depths, clock})
    a = frozen.params(**system.parameters, **{frozen.scale: 10.0})[-1]
    v, t = sp.Matrix(system.v), frozen.clock
    b = a * _TAU

    def now(formula: sp.Expr) -> sp.Expr:
        return formula.xreplace({system.t: t})

    touching = []
    for contact in system.contacts:
        normal = sp.Matrix([slope(contact.gap, x) for x in system.q])
        along = sp.zeros(n, 1)
        if contact.slip is not None:
            along = sp.Matrix([slope(contact.slips[0], x) for x in system.v])
        touching.append((contact, normal, along))
    columns = [system.force, *(x for _, normal, along in touching for x in (normal, along))]
    solved = [now(x) for x in _solve(system.mass, columns)]
    free, moved = solved[0], list(zip(solved[1::2], solved[2::2], strict=True))

    switched = []
    for k, (contact, normal, _) in enumerate(touching):
        gap, here = now(contact.gap), frozen.x[2 * n + k]
        gap_dot = (now(normal).T * v)[0] + now(slope(contact.gap, system.t))
        opened = frozen.switch(gap + here, name=f"{contact.name}: gap")
        rising = frozen.switch(gap_dot, name=f"{contact.name}: gap'")
        switched.append((gap, gap_dot, opened, rising))
    contacts, turned = [], {}
    for k in system.rough:
        contact = system.contacts[k]
        turned[k] = frozen.switch(now(contact.slip), name=f"{contact.name}: slip")

    moving = sp.prod([opened for _, _, opened, _ in switched])
    q_dot, v_dot, d_dot = moving * v, moving * free, []
    for k, ((contact, normal, _), (across, aside)) in enumerate(zip(touching, moved, strict=True)):
        gap, gap_dot, opened, rising = switched[k]
        compressed, expanded = (1 - opened) * (1 - rising), (1 - opened) * rising
        inverse = (now(normal).T * across)[0]  # G' M^-1 G
        push = a * (compressed + contact.e * expanded) / inverse
        mu, pull, slip = now(sp.sympify(contact.mu)), sp.Integer(0), sp.Integer(0)
        if k in turned:
            slip, pull = now(contact.slip), -mu * push * (2 * turned[k] - 1)
        q_dot -= (1 - opened) * 4 * rising * (1 - rising) * gap * across / inverse
        v_dot += push * across + pull * aside
        trace = (_TRACE + _INSIDE * 4 * rising * (1 - rising)) * b * (2 * rising - 1)
        back = _BACK * frozen.x[2 * n + k] * gap_dot**2 / (gap_dot**2 + b**2)
        drift = opened * (trace - back)
        d_dot.append(compressed * (contact.e * gap_dot - b) + expanded * (gap_dot + b) + drift)
        tangent = 2 * nc + list(turned).index(k) if k in turned else -1
        contacts.append(FrozenContact(gap, gap_dot, slip, mu, push, pull, 2 * k, tangent))
    frozen.held = tuple(contacts)
    frozen.f = [*q_dot, *v_dot, *d_dot, moving]
    frozen.start(x=[*system.start_q, *system.start_v, *[0] * nc, 0], t_end=system.t_end, h=system.h)
    return frozen


def _solve(mass: sp.Matrix, columns: list[sp.Matrix]) -> list[sp.Matrix]:
    """Return M^-1 of each column."""
    if mass.is_diagonal():
        return [sp.Matrix([x / mass[i, i] for i, x in enumerate(c)]) for c in columns]
    solved = mass.LUsolve(sp.Matrix.hstack(*columns))
    return [solved[:, k] for k in range(len(columns))]
