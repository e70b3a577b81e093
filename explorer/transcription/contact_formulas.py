"""The formulas of a mechanical system with contacts in physical time, as CasADi functions.

With G = d gap/dq and H = d slip/dv, M v' = F + G' lam + H' lam_t, and at an impact M (v+ - v-) =
G' p + H' p_t (Acary and Brogliato 2008, ch. 8, doi:10.1007/978-3-540-75392-6).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import sympy as sp

from explorer.errors import NotApplicable
from explorer.systems import MechanicalSystem
from explorer.systems.kinks import slope
from explorer.transcription.casadi_functions import casadi, function
from explorer.transcription.formulas import Costs, Formulas, arguments

if TYPE_CHECKING:
    from casadi import Function

__all__ = ["ContactFormulas", "contact_formulas", "obstacle"]


@dataclass(frozen=True, kw_only=True)
class ContactFormulas(Formulas):
    """CasADi functions of a mechanical system and its costs; `switching` returns the gaps.

    Attributes
    ----------
    gap_rate : of (t, x, u, p), (n_c,)
    acceleration : of (t, x, u, p), (n,)
        v' without forces of contacts and constraints.
    gap_acceleration : of (t, x, v', u, p), (n_c,)
    shock : of (t, x, impulses, u, p), (n,)
        The jump of v by impulses (n_f,): of all contacts along G, of the rough ones along H, of
        constraints.
    along : of (t, x, shifts (n_c,), u, p), (n,)
        The jump of q by shifts along G.
    bond, bond_along : of (t, x, u, p), (n_b,), and of (t, x, shifts (n_b,), u, p), (n,)
        The bilateral constraints, and the jump of q by shifts along their gradients.
    slip, friction : of (t, x, u, p), (n_t,)
        Sliding velocity and friction coefficient of the rough contacts.
    held : of (t, x, u, p), (n_b,)
        The rates of the bilateral constraints.
    restitution : of (t, x, u, p), (n_c,)
    rough : int array (n_t,), the contacts with friction
    plastic : bool array (n_c,), whether e = 0
    no_slip : bool array (n_c,), whether a contact may not slide while it is closed
    """

    gap_rate: Function
    acceleration: Function
    gap_acceleration: Function
    shock: Function
    along: Function
    bond: Function
    bond_along: Function
    slip: Function
    friction: Function
    held: Function
    restitution: Function
    rough: np.ndarray
    plastic: np.ndarray
    no_slip: np.ndarray

    @property
    def n_t(self) -> int:
        """Contacts with friction."""
        return len(self.rough)

    @property
    def free(self) -> np.ndarray:
        """The rough contacts that may slide, as numbers among the rough ones."""
        return np.flatnonzero(~self.no_slip[self.rough])

    @property
    def n_b(self) -> int:
        """Bilateral constraints."""
        return int(self.held.size1_out(0))

    @property
    def n_f(self) -> int:
        """Forces of a stage."""
        return self.n_c + self.n_t + self.n_b

    @property
    def n_lam(self) -> int:
        """Multipliers of switching functions, which there are not."""
        return 0

    @property
    def n_m(self) -> int:
        """Multipliers of the right-hand side, which there are not."""
        return 0


def obstacle(system: MechanicalSystem) -> str:
    """Return why a mechanical system cannot be optimised, in a sentence; empty if it can."""
    if type(system) is not MechanicalSystem:
        return f"a {system.kind} is not written as formulas of M and F."
    others = sorted(system.features - {"contacts", "friction", "constraints"})
    if others:
        return f"it has {others[0]}."
    for constraint in system.constraints:
        if constraint.when is not None:
            return f"its constraint {constraint.name!r} does not always hold."
    for contact in system.contacts:
        what = f"its contact {contact.name!r}"
        if len(contact.slips) > 1:
            return f"{what} has friction in a plane; friction along a line is covered."
        if contact.mu_s is not None and sp.simplify(contact.mu_s - contact.mu) != 0:
            return f"{what} sticks with another coefficient mu_s."
        if sp.sympify(contact.e_t).is_zero is not True:
            return f"{what} has a tangential restitution."
        if contact.reset:
            return f"{what} has a reset instead of Newton's law."
    return ""


def contact_formulas(
    system: MechanicalSystem, controls: Sequence[str], costs: Costs, no_slip: Sequence[str] = ()
) -> ContactFormulas:
    """Return the functions of a problem; the states are q and v.

    Parameters
    ----------
    system : MechanicalSystem
    controls : sequence of str
        Parameters of the system that are controls.
    costs : Costs
    no_slip : sequence of str
        Contacts with friction that may not slide while they are closed.

    Raises
    ------
    NotApplicable
        If the system has more than rigid contacts with friction along a line, and constraints.
    BadModel
        If CasADi lacks a function that a formula uses.
    """
    why = obstacle(system)
    if why:
        raise NotApplicable(f"'{system.name}' cannot be optimised: {why}")
    t, q, v = system.t, list(system.q), list(system.v)
    x = [*q, *v]
    u, p = arguments(system, controls, costs)

    def rate(formula: sp.Expr) -> sp.Expr:
        """d/dt without the accelerations."""
        along = sum((slope(formula, a) * b for a, b in zip(q, v, strict=True)), sp.S.Zero)
        return along + slope(formula, t)

    contacts = system.contacts
    rough = [i for i, contact in enumerate(contacts) if contact.slip is not None]
    gaps = [sp.sympify(contact.gap) for contact in contacts]
    slips = [sp.sympify(contacts[i].slip) for i in rough]
    bonds = [sp.sympify(one.phi) for one in system.constraints]
    rows = [[slope(g, a) for a in q] for g in gaps]
    rows += [[slope(s, b) for b in v] for s in slips]
    rows += [[slope(g, a) for a in q] for g in bonds]
    forces = [sp.Symbol(f"_force_{i}") for i in range(len(rows))]
    pushed, normal, bound = (
        [
            sum((f * row[i] for f, row in zip(forces, several, strict=False)), sp.S.Zero)
            for i in range(system.n)
        ]
        for several in (rows, rows[: len(gaps)], rows[len(rows) - len(bonds) :])
    )
    a = [sp.Symbol(f"_a_{i}") for i in range(system.n)]
    second = [
        rate(rate(g)) + sum((r * s for r, s in zip(row, a, strict=True)), sp.S.Zero)
        for g, row in zip(gaps, rows, strict=False)
    ]
    at, pushing = [[t], x, u, p], [[t], x, forces, u, p]
    end = [[t], x, costs.algebraic, p]
    mass = sp.Matrix(system.mass)
    acceleration = _solved("acceleration", at, mass, list(system.force))
    rates = [rate(g) for g in gaps]
    gap_rate = function("gap_rate", at, [rates])
    names = [contact.name for contact in contacts]
    return ContactFormulas(
        len(x),
        len(controls),
        len(p),
        len(contacts),
        acceleration,
        function("gap", at, [gaps]),
        gap_rate,
        gap_rate,
        function("running", at, [[costs.running]]),
        function("path", at, [costs.path]),
        function("terminal", end, [[costs.terminal]]),
        function("end", end, [costs.end]),
        None,
        knot=function("knot", end, [costs.knots]),
        n_z=len(costs.algebraic),
        equations=function("equations", at, [costs.equations]),
        gap_rate=gap_rate,
        acceleration=acceleration,
        gap_acceleration=function("gap_acceleration", [[t], x, a, u, p], [second]),
        shock=_solved("shock", pushing, mass, pushed),
        along=function("along", [[t], x, forces[: len(gaps)], u, p], [normal]),
        bond=function("bond", at, [bonds]),
        bond_along=function("bond_along", [[t], x, forces[: len(bonds)], u, p], [bound]),
        slip=function("slip", at, [slips]),
        friction=function("friction", at, [[sp.sympify(contacts[i].mu) for i in rough]]),
        held=function("held", at, [[rate(g) for g in bonds]]),
        restitution=function("restitution", at, [[sp.sympify(c.e or 0) for c in contacts]]),
        rough=np.array(rough, int),
        plastic=np.array([sp.sympify(c.e or 0).is_zero is True for c in contacts], bool),
        no_slip=np.array([name in no_slip for name in names], bool),
    )


def _solved(
    name: str, arguments: list[list[sp.Symbol]], mass: sp.Matrix, right: list[sp.Expr]
) -> Function:
    """Return M^-1 times a right-hand side as a function."""
    ca = casadi()
    parts = function(name, arguments, [list(mass), right])
    given = [ca.SX.sym(f"a{i}", len(one)) for i, one in enumerate(arguments)]
    entries, side = parts(*given)
    n = len(right)
    matrix = ca.sparsify(ca.reshape(entries, n, n))  # symmetric, so rows may be columns
    return ca.Function(name, given, [ca.solve(matrix, side)])
