"""`Constraint`: an equation phi(t, q) = 0 between coordinates, always or while a formula is > 0."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import sympy as sp

from explorer.arguments import Checked
from explorer.systems.expressions import text
from explorer.types import Formula, Plain

__all__ = ["Change", "Constraint", "as_plain", "changes", "force_name"]


@dataclass(frozen=True)
class Constraint(metaclass=Checked):
    """A bilateral constraint phi(t, q) = 0: a joint, a rod, a track.

    Parameters
    ----------
    phi : formula
        The expression that stays zero, in any unit; may depend on t, q and parameters.
    name : str
        "constraint 1", ... if empty.
    when : formula, optional
        The constraint holds while this is > 0, and does not exist while it is < 0. By default it
        always holds. The formula may depend on t, q, v and parameters. Where it rises through zero,
        phi must be zero, and the velocities jump: M (v+ - v-) + phi_q' P = 0 with phi_q v+ + phi_t
        = 0 (Corner et al. 2019, eq. (82)). Where it falls through zero, the constraint is released,
        and velocities are continuous. If contacts close at the same instant, up to round-off, they
        come first; of several changes the one that is declared first comes first. An impact that
        turns the motion round may then leave the constraint as it was. A formula that names the
        force of the constraint itself, ``lam_<name>``, releases it for good.
    units : str, optional
        Unit of phi, as "m2"; "" for a pure number. By default it follows from the units of
        coordinates and parameters, if these are declared. Forces have the unit of energy over phi.

    Raises
    ------
    BadModel
        Later, by the system that takes the constraint: phi depends on a velocity or on no
        coordinate, or a formula has an unknown symbol.

    Examples
    --------
    >>> import explorer as ex
    >>> rope = ex.Constraint("x**2 + y**2 - L**2", "rope", when="-x")
    >>> fuse = ex.Constraint("x", "fuse", when="100 - lam_fuse")
    """

    phi: Formula
    name: str = ""
    when: Formula | None = None
    units: str | None = None


class Change(NamedTuple):
    """What adds constraints to the motion at its zeros, and takes them away.

    Attributes
    ----------
    r : sympy expression
    constraints : tuple of (int, int)
        Number of each constraint that depends on it, and 1 if that holds where r > 0, -1 if it
        holds where r < 0.
    once : bool
        Whether r names the force of its constraint: released, this stays released.
    latched : bool
        Whether r is phi of its constraint, which stays zero once the constraint holds: it stays.
    """

    r: sp.Expr
    constraints: tuple[tuple[int, int], ...]
    once: bool = False
    latched: bool = False


def as_plain(constraint: Constraint) -> Plain:
    """Return a constraint as plain data, for `Constraint(**data)`."""
    data = {"phi": text(constraint.phi), "name": constraint.name}
    if constraint.when is not None:
        data["when"] = text(constraint.when)
    return data if constraint.units is None else data | {"units": constraint.units}


def force_name(name: str) -> str:
    """Return what a formula calls the force of a contact or constraint: "_" for spaces."""
    return "lam_" + re.sub(r"\W", "_", name)


def changes(constraints: Sequence[Constraint]) -> tuple[Change, ...]:
    """Return the changes of some constraints: formulas that differ by a factor are one."""
    found: list[tuple[sp.Expr, list[tuple[int, int]], bool, bool]] = []
    for k, constraint in enumerate(constraints):
        if constraint.when is None:
            continue
        when = sp.sympify(constraint.when)
        for r, members, _, _ in found:
            if factor := _multiple(when, r):
                members.append((k, 1 if factor > 0 else -1))
                break
        else:
            once = sp.Symbol(force_name(constraint.name)) in when.free_symbols
            latched = _multiple(when, sp.sympify(constraint.phi)) != 0
            found.append((when, [(k, 1)], once, latched))
    return tuple(Change(r, tuple(members), *more) for r, members, *more in found)


def _multiple(one: sp.Expr, other: sp.Expr) -> sp.Expr:
    """Return the number one / other, 0 if it is none."""
    factor = sp.cancel(one / other)
    return factor if factor.is_number and factor.is_real and factor.is_finite else sp.Integer(0)
