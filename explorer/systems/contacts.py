"""`Contact`: a gap that stays open or closed, with restitution, compliance and friction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import sympy as sp

from explorer.arguments import Checked, mapping
from explorer.errors import BadModel, suggest
from explorer.systems.compliance import split
from explorer.systems.expressions import Aliases, expression, text
from explorer.systems.kinks import slope
from explorer.systems.moving import Moving
from explorer.types import Formula, Plain, Value

__all__ = ["Contact", "checked", "coefficient", "law", "written"]


@dataclass(frozen=True)
class Contact(metaclass=Checked):
    """A unilateral contact, frictionless or with Coulomb friction along one line or in a plane.

    Parameters
    ----------
    gap : formula
        Distance in m, > 0 when open; a formula of t, q and parameters. For compliant contacts, add
        a formula of multipliers, such as ``"y + a*lam_left + b*lam_right"``, where `lam_left` is
        the force in N of the contact "left".
    e : formula
        Newton restitution in [0, 1], the ratio of normal velocities at an impact; may depend on
        parameters. 0 if not given, with a warning if the contact is hit.
    name : str
        Shown in event lists; "contact 1", ... if empty.
    mu : formula
        Friction coefficient >= 0; may depend on the state, as for a Stribeck curve: ``mu0 / (1 +
        3*abs(v_x - belt))``.
    slip : formula, or two
        Sliding velocity in m/s of the touching point relative to the obstacle, linear in the
        velocities, such as ``v_x + R*v_phi - belt``. Required with `mu`. For friction in space,
        give the velocities along two orthogonal directions of the contact plane, ``("v_x",
        "v_y")``: |p_t| <= mu p, against the sliding velocity.
    mu_s : formula
        Friction coefficient while the contact sticks, >= mu; by default `mu`.
    e_t : formula
        Tangential restitution in [0, 1]: slip(+) = -e_t slip(-) at an impact, if friction suffices;
        may depend on parameters.
    compliance : formula
        In m/N, >= 0. The contact yields by compliance times its force, like a spring of stiffness
        1/compliance that only pushes. It has no impacts (e is ignored). 0: rigid. For contacts on
        a common support see `MechanicalSystem.compliance`.
    reset : dict of str to formula
        Velocities right after an impact, for at most as many coordinates as are independent:
        formulas of t, the state before it and parameters, such as ``{"x2": "v_x2", "y2":
        "-e*v_y2"}``. If more coordinates are independent, the others are chosen by pivoting of
        phi_q at the impact and keep their velocities. Velocities of dependent coordinates follow
        from the constraints (Corner et al. 2019, section 5). By default Newton's law holds, with
        the impulse of the contact. `e` tells when bounces are over.

    Raises
    ------
    BadModel
        Later, by the system that takes the contact: the gap depends on a velocity or on no
        coordinate, slip is not linear in the velocities, a formula has an unknown symbol, or
        arguments contradict each other.

    Examples
    --------
    >>> import explorer as ex
    >>> floor = ex.Contact("y - R", e=0.8, name="floor", mu=0.3, slip="v_x + R*v_phi")
    >>> floor.slips
    ('v_x + R*v_phi',)
    """

    gap: Formula
    e: Formula | None = None
    name: str = ""
    mu: Formula | None = None
    slip: Formula | Sequence[Formula] | None = None
    mu_s: Formula | None = None
    e_t: Formula = 0
    compliance: Formula = 0
    reset: Mapping[str, Formula] | tuple[tuple[str, Formula], ...] | None = None

    @property
    def slips(self) -> tuple[Formula, ...]:
        """The sliding velocities: none without friction, one, or two in space."""
        if self.slip is None:
            return ()
        return tuple(self.slip) if isinstance(self.slip, (tuple, list)) else (self.slip,)


def checked(
    contact: Contact,
    system: Moving,
    label: str,
    aliases: Aliases,
    lam: Sequence[sp.Symbol] = (),
) -> tuple[Contact, sp.Expr]:
    """Return a contact of `system` called `label`, with its formulas parsed and checked.

    Behind it stands the part of its gap that depends on multipliers, of `lam`. `aliases` stand for
    symbols of the system, as for `expression`.

    Raises
    ------
    BadModel
    """
    known, fixed, what = system.symbols(), system.symbols(state=False), f"gap of {label!r}"
    forces = {s.name: s for s in lam if s.name not in known}
    gap = expression(contact.gap, known.joined(forces), what, aliases)
    gap, given = split(gap, list(forces.values()), fixed.values(), what)
    if gap.free_symbols & set(system.v):
        raise BadModel(f"{what} depends on a velocity; a gap is a distance.")
    if not gap.free_symbols & set(system.q):
        raise BadModel(f"{what} = {gap} does not depend on any coordinate.")
    e = coefficient(contact.e or 0, fixed, f"restitution of {label!r}")
    soft = coefficient(contact.compliance, fixed, f"compliance of {label!r}")
    e_t = coefficient(contact.e_t, fixed, f"tangential e_t of {label!r}")
    mu, mu_s = (
        None if x is None else coefficient(x, known, f"{name} of {label!r}", aliases)
        for name, x in (("friction mu", contact.mu), ("static friction mu_s", contact.mu_s))
    )
    if given != 0 and soft != 0:
        raise BadModel(
            f"The compliance of {label!r} is given twice: in its gap, and as compliance={soft}."
        )
    read = replace(contact, gap=gap, e=e, name=label, compliance=soft, mu=sp.Integer(0))
    if contact.slip is None:
        if mu not in (None, 0) or mu_s is not None or e_t != 0:
            raise BadModel(
                f"Contact {label!r} has friction, but no sliding velocity: give slip, a "
                f"formula linear in the velocities, such as slip='{system.v[0]}'."
            )
        return read, given
    slips = [expression(s, known, f"slip of {label!r}", aliases) for s in contact.slips]
    _linear(slips, system.v, f"slip of {label!r}")
    if mu is None:
        raise BadModel(
            f"Contact {label!r} has a sliding velocity, but no friction coefficient: give mu "
            "(mu=0 if it is meant to slide freely)."
        )
    slip = slips[0] if len(slips) == 1 else tuple(slips)
    return replace(read, mu=mu, slip=slip, mu_s=mu_s, e_t=e_t), given


def law(
    contact: Contact, system: Moving, coordinates: Sequence[str], label: str, aliases: Aliases
) -> tuple[tuple[str, sp.Expr], ...] | None:
    """Return the velocities behind an impact that a contact asks for, in the order of coordinates.

    Raises
    ------
    BadModel
    """
    if not contact.reset:
        return None
    reset = contact.reset
    pairs = isinstance(reset, tuple) and all(isinstance(x, tuple) and len(x) == 2 for x in reset)
    if not pairs:  # as one that has been read has them
        reset = mapping(reset, f"The reset of {label!r}", "{'y': '-v_y/2'}")
    given = dict(reset)
    for name in given:
        if name not in coordinates:
            raise BadModel(
                f"The law of velocities of {label!r} names {name!r}, which is no coordinate."
                + suggest(name, coordinates)
            )
    known = system.symbols()
    return tuple(
        (name, expression(given[name], known, f"velocity of {name!r} behind {label!r}", aliases))
        for name in coordinates
        if name in given
    )


def coefficient(
    value: Value, names: Mapping[str, sp.Expr], what: str, aliases: Aliases | None = None
) -> sp.Expr:
    """Return a formula as `expression` does; zero becomes the integer, since 0.0 != 0 in SymPy."""
    formula = expression(value, names, what, aliases)
    return sp.Integer(0) if formula.is_zero else formula


def _linear(slips: list[sp.Expr], v: tuple[sp.Symbol, ...], what: str) -> None:
    """Refuse formulas that are not sliding velocities.

    Raises
    ------
    BadModel
    """
    if not 0 < len(slips) < 3:
        raise BadModel(
            f"{what} has {len(slips)} directions; friction acts along one line, or in the plane of "
            "two orthogonal ones."
        )
    along = sp.Matrix([[slope(s, x) for x in v] for s in slips])
    for slip, row in zip(slips, along.tolist(), strict=True):
        if not any(row):
            raise BadModel(f"{what} = {slip} depends on no velocity; it is a velocity in m/s.")
        if any(x.free_symbols & set(v) for x in row):
            raise BadModel(f"{what} = {slip} is not linear in the velocities.")
    if len(slips) == 2 and not along.free_symbols and along.rank() < 2:
        raise BadModel(
            f"{what}: {slips[0]} and {slips[1]} are velocities along the same line; take two "
            "orthogonal directions of the plane of contact."
        )


def written(contact: Contact) -> Plain:
    """Return a checked contact as plain data: the arguments of `Contact` as text."""
    plain: Plain = {"gap": text(contact.gap), "e": text(contact.e), "name": contact.name}
    if contact.compliance != 0:
        plain["compliance"] = text(contact.compliance)
    if contact.reset:
        plain["reset"] = {name: text(sp.sympify(v)) for name, v in dict(contact.reset).items()}
    if contact.slip is not None:
        slips = [text(s) for s in contact.slips]
        plain |= {"mu": text(contact.mu), "slip": slips if len(slips) > 1 else slips[0]}
        plain |= {} if contact.mu_s is None else {"mu_s": text(contact.mu_s)}
        plain["e_t"] = text(contact.e_t)
    return plain
