"""A mechanical system with one contact as a hybrid system: open, stick, slide forward, backward.

With G = d gap/dq, H = d slip/dv and the forces of a closed contact solved for, each mode is an
ordinary differential equation in physical time (Acary and Brogliato 2008, ch. 8)::

    M v' = F + G' lam + H' lam_t
    stick:   d/dt (gap', slip) = 0                      while |lam_t| <= mu lam
    slide:   d/dt gap' = 0, lam_t = -+ mu lam           while +- slip >= 0
    both:    while lam >= 0

A touchdown is a plastic impact, gap'(+) = 0, and ends in the mode that its impulses allow. It is
not covered where forces would open the contact again at once, lam < 0.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import sympy as sp

from explorer.arguments import a
from explorer.errors import NotApplicable
from explorer.systems import HybridSystem, MechanicalSystem, System
from explorer.systems.kinks import slope

__all__ = ["contact_modes", "obstacle"]


def obstacle(system: MechanicalSystem) -> str:
    """Return why a system has no such form, in a sentence; empty if it has."""
    if type(system) is not MechanicalSystem:
        return f"a {system.kind} is not written as formulas of M and F."
    others = sorted(system.features - {"contacts", "friction"})
    if others:
        return f"it has {others[0]}."
    if len(system.contacts) > 1:
        return f"it has {len(system.contacts)} contacts, and one is covered."
    for contact in system.contacts:
        if contact.e is None or sp.sympify(contact.e).is_zero is not True:
            return f"its contact {contact.name!r} rebounds; e = 0 is covered."
        if contact.mu_s is not None and sp.simplify(contact.mu_s - contact.mu) != 0:
            return f"its contact {contact.name!r} sticks with another coefficient mu_s."
    return ""


@dataclass(frozen=True)
class _Equations:
    """M^-1, F and what the contact adds, as formulas."""

    inverse: sp.Matrix
    force: sp.Matrix
    v: sp.Matrix

    def closed(
        self, rows: sp.Matrix, columns: sp.Matrix, bias: sp.Matrix
    ) -> tuple[sp.Matrix, sp.Matrix]:
        """Return forces along `columns` that keep `rows` v constant, and the accelerations."""
        free = self.inverse * self.force
        forces = -(rows * self.inverse * columns).LUsolve(rows * free + bias)
        return forces, free + self.inverse * columns * forces

    def impact(
        self, rows: sp.Matrix, columns: sp.Matrix, offset: sp.Matrix
    ) -> tuple[sp.Matrix, sp.Matrix]:
        """Return impulses along `columns` that end `rows` v + offset, and the velocities."""
        impulses = -(rows * self.inverse * columns).LUsolve(rows * self.v + offset)
        return impulses, self.v + self.inverse * columns * impulses


def contact_modes(system: MechanicalSystem) -> HybridSystem:
    """Return the hybrid system of the states (q, v); its first mode is "open".

    Raises
    ------
    NotApplicable
        If the system has several contacts, or other features.

    Examples
    --------
    >>> import explorer as ex
    >>> block = ex.MechanicalSystem("block", q="y", force="-9.81", start={"q": 1},
    ...                             contacts=[ex.Contact("y", e=0, name="floor")])
    >>> [mode.name for mode in ex.reformulations.contact_modes(block).modes]
    ['open', 'closed']
    """
    a(system, System, "a system", "contact_modes(ex.models.bouncing_ball())")
    why = obstacle(system)
    if why:
        raise NotApplicable(f"'{system.name}' has no modes of its contact: {why}")
    if "contact modes" not in system.made:
        system.made["contact modes"] = _build(system)
    modes: HybridSystem = copy.copy(system.made["contact modes"])
    return modes


def _watch(
    hybrid: HybridSystem, mode: str, r: sp.Expr, to: str, name: str, leaves: str = ""
) -> None:
    """Add a guard, unless nothing that it depends on ever changes."""
    moving = {"t", *hybrid.coordinates, *hybrid.input_names}
    if moving & {s.name for s in r.free_symbols}:
        hybrid.guard(mode, r, to=to, name=name, leaves=leaves)


def _build(system: MechanicalSystem) -> HybridSystem:
    q, v, t = sp.Matrix(system.q), sp.Matrix(system.v), system.t
    names = [*system.coordinates, *(str(s) for s in system.v)]
    units = [*system.units, *(f"{u}/s" if u else "" for u in system.units)]
    hybrid = HybridSystem(
        system.name, names, params=system.parameters, units=units, text=system.text
    )
    hybrid.sketched_as(system)
    mass = sp.Matrix(system.mass)
    force = sp.Matrix(system.force)
    equations = _Equations(mass.inv(), force, v)
    hybrid.mode("open", [*v, *(equations.inverse * force)])
    start = [*system.start_q, *system.start_v]

    def rate(formula: sp.Expr) -> sp.Expr:
        """d/dt without the accelerations."""
        along = sum((slope(formula, a) * b for a, b in zip(q, v, strict=True)), sp.S.Zero)
        return along + slope(formula, t)

    for contact in system.contacts:
        gap = sp.sympify(contact.gap)
        G = sp.Matrix([[slope(gap, a) for a in q]])
        gap_dot = rate(gap)
        rows, bias = G, sp.Matrix([rate(gap_dot)])
        offset = sp.Matrix([slope(gap, t)])
        if contact.slip is None:
            (lam,), v_dot = equations.closed(rows, rows.T, bias)
            _, after = equations.impact(rows, rows.T, offset)
            hybrid.mode("closed", [*v, *v_dot])
            hybrid.guard("open", gap, to="closed", reset=[*q, *after], name="touchdown")
            _watch(hybrid, "closed", lam, "open", "liftoff")
            continue
        slip = sp.sympify(contact.slip)
        H = sp.Matrix([[slope(slip, a) for a in v]])
        mu = sp.sympify(contact.mu)
        both = rows.col_join(H)
        bias2 = bias.col_join(sp.Matrix([rate(slip)]))
        offset2 = offset.col_join(sp.Matrix([slip - (H * v)[0]]))
        (lam, lam_t), v_dot = equations.closed(both, both.T, bias2)
        (p, p_t), after = equations.impact(both, both.T, offset2)
        hybrid.mode("stick", [*v, *v_dot])
        hybrid.guard(
            "open",
            gap,
            to="stick",
            reset=[*q, *after],
            name="touchdown",
            when=(mu * p) ** 2 - p_t**2,
        )
        _watch(hybrid, "stick", lam, "open", "liftoff")
        for way, name in ((1, "forward"), (-1, "backward")):
            column = (G - way * mu * H).T
            (lam_s,), v_dot = equations.closed(rows, column, bias)
            _, after = equations.impact(rows, column, offset)
            hybrid.mode(name, [*v, *v_dot])
            slid = slip.subs(dict(zip(v, after, strict=True)), simultaneous=True)
            hybrid.guard(
                "open",
                gap,
                to=name,
                reset=[*q, *after],
                name=f"touchdown, {name}",
                when=way * slid,
            )
            # slip and its rate are zero where it begins to slide: that is no end of the slide
            slips = mu * lam + way * lam_t
            _watch(hybrid, "stick", slips, name, f"slips {name}", f"sticks, {name}")
            _watch(hybrid, name, lam_s, "open", f"liftoff, {name}")
            hybrid.guard(name, way * slip, to="stick", name=f"sticks, {name}")
    hybrid.start(x=start, mode="open", t_end=system.t_end, h=system.h)
    for contact in system.contacts:
        gap = sp.sympify(contact.gap)
        slip = None if contact.slip is None else sp.sympify(contact.slip)
        hybrid.contact = gap, rate(gap), slip
    return hybrid
