"""Contacts that give way: 0 <= gap(t, q, lam) perp lam >= 0, gap = g(t, q) + d(lam).

d(lam) in m is by how far the contacts give way to their forces lam in N, D = dd/dlam in m/N their
compliance: symmetric, as forces alone do no work in a circle (Maxwell, Betti), and positive
semidefinite. (Acary, Brogliato, *Numerical Methods for Nonsmooth Dynamical Systems*, 3.5.)
A contact without a row in D is rigid.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import sympy as sp

from explorer.errors import BadModel
from explorer.types import Formula, Value

__all__ = ["deflection", "flexible", "multiplier", "named", "split"]


class Yielding(Protocol):
    """A contact with a name and a compliance."""

    @property
    def name(self) -> str:
        """Shown in event lists."""

    @property
    def compliance(self) -> Formula:
        """Displacement by the own force, in m/N."""


_ROUND_OFF = 1e-12  # of the largest entry of D


def multiplier(name: str) -> sp.Symbol:
    """Return the force of a contact, in N, as formulas write it: `lam_stop`, `lam_contact_1`."""
    return sp.Symbol(f"lam_{re.sub(r'[^A-Za-z0-9]+', '_', name)}")


def named(gap: Value) -> bool:
    """Whether a gap (text or expression) may contain multipliers."""
    if isinstance(gap, str):
        return "lam_" in gap
    return any(s.name.startswith("lam_") for s in getattr(gap, "free_symbols", ()))


def split(
    gap: sp.Expr, lam: Sequence[sp.Symbol], fixed: Iterable[sp.Symbol], what: str
) -> tuple[sp.Expr, sp.Expr]:
    """Return g and d of a gap; `fixed` are the parameters, of which d may be a formula.

    Raises
    ------
    BadModel
        g is not finite, or d depends on the state or on time.
    """
    rigid = gap.xreplace(dict.fromkeys(lam, sp.Integer(0)))
    if rigid.has(sp.nan, sp.zoo, sp.oo, -sp.oo):
        raise BadModel(f"{what} = {gap} is not finite where all multipliers are zero.")
    given = gap - rigid
    strange = given.free_symbols - {*lam, *fixed}
    if strange:
        given = sp.expand(given)
        strange = given.free_symbols - {*lam, *fixed}
    if strange:
        raise BadModel(
            f"{what} = {gap}: the part with multipliers depends on {min(map(str, strange))!r}. A "
            "gap must be a formula of t and the coordinates plus a formula of multipliers and "
            "parameters."
        )
    return rigid, given


def deflection(contacts: Sequence[Yielding], gives: Mapping[int, sp.Expr], a: int) -> sp.Expr:
    """Return d of contact `a` as a formula of multipliers; 0 if it is rigid.

    gives : d of those contacts for which it is more than their compliance times their force
    """
    if a in gives:
        return gives[a]
    return sp.sympify(contacts[a].compliance) * multiplier(contacts[a].name)


def flexible(
    system: str, contacts: Sequence[Yielding], gives: Mapping[int, sp.Expr]
) -> dict[tuple[int, int], sp.Expr]:
    """Return the entries of D in the rows of `gives`, by pairs of contacts; check its symmetry.

    Raises
    ------
    BadModel
        A contact that yields to other forces than its own alone; a D that is not symmetric.
    """
    if not gives:
        return {}
    names = [c.name for c in contacts]
    lam = {multiplier(name): a for a, name in enumerate(names)}
    if len(lam) < len(names):
        twice = next(x for x in lam if sum(multiplier(name) == x for name in names) > 1)
        raise BadModel(f"Two contacts of '{system}' have the multiplier {twice}: rename one.")
    D = {
        (a, lam[s]): d.diff(s)
        for a, d in gives.items()
        for s in sorted(d.free_symbols & lam.keys(), key=str)
    }
    size = max((abs(x) for x in D.values() if x.is_number), default=1)
    for (a, b), entry in D.items():
        if (a, a) not in D:
            raise BadModel(
                f"The gap of {names[a]!r} of '{system}' depends on the force of {names[b]!r}, but "
                "not on its own: the compliance would not be positive semidefinite. Add "
                f"{multiplier(names[a])} to the gap."
            )
        back = D.get((b, a), sp.Integer(0))
        if entry != back:
            off = entry - back if entry.is_number and back.is_number else sp.simplify(entry - back)
            if off.is_number and abs(off) > _ROUND_OFF * size:
                raise BadModel(
                    f"The compliance of '{system}' is not symmetric: the force of {names[b]!r} "
                    f"opens {names[a]!r} by {entry} m/N, but the force of {names[a]!r} opens "
                    f"{names[b]!r} by {back} m/N. Both must be equal."
                )
    return D
