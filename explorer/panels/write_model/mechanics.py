"""Mechanical systems from typed text: by mass and force, or by energies."""

from __future__ import annotations

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
from explorer.systems import BilinearSpring, Constraint, Contact, MechanicalSystem
from explorer.systems.energies import set_energies
from explorer.systems.expressions import expression
from explorer.types import Plain

__all__ = ["by_energies", "by_force"]

_CONTACT = ("e", "mu", "slip", "mu_s", "e_t", "compliance")
_CONSTRAINT = ("when", "units")
_SPRING = ("k", "f_y", "b")


@kind("mechanical")
def by_force(draft: Draft) -> MechanicalSystem:
    """Return the system of M v' = F with gaps."""
    system = _begun(draft)
    with draft.at("mass"):
        if rows := _mass(draft.text("mass"), system.n):
            system.mass = rows
        draft.show("mass", _mass_shown(system))
    with draft.at("force"):
        system.force = _forces(draft.text("force"), system)
        draft.show("force", _motion(system))
    with draft.at("potential"):
        if given := draft.text("potential"):
            system.potential = given
            draft.show(
                "potential", p.line("<mi>V</mi>", p.operator("="), p.formula(system.potential))
            )
    return _finished(draft, system)


@kind("energies")
def by_energies(draft: Draft) -> MechanicalSystem:
    """Return the system of the Lagrangian T - V with other forces."""
    system = _begun(draft)
    read = {}
    for key, sign in (("kinetic", "T"), ("potential", "V")):
        with draft.at(key):
            read[key] = expression(draft.text(key) or "0", system.symbols(), f"The {key} energy")
            draft.show(
                key, p.line(f"<mi>{sign}</mi>", p.operator("="), p.formula(read[key], system.v))
            )
    others = None
    with draft.at("force"):
        others = _forces(draft.text("force"), system)
    if len(read) == 2 and others is not None:
        with draft.at("kinetic"):
            set_energies(system, read["kinetic"], read["potential"], others)
            draft.show("force", _motion(system))
    return _finished(draft, system)


def _begun(draft: Draft) -> MechanicalSystem:
    names, units = declared(draft.text("coordinates"), "The coordinates")
    draft.names = names
    system = MechanicalSystem(named(draft), names, units=units, text=about(draft))
    typed_parameters(draft, system)
    return system


def _mass(text: str, n: int) -> list[list[str]]:
    """Return the rows of a mass matrix; one row of several entries is its diagonal."""
    rows = [split(line) for line in lines(text)]
    if not rows:
        return []
    if len(rows) == 1 and len(rows[0]) == n:
        return [[rows[0][i] if i == j else "0" for j in range(n)] for i in range(n)]
    if len(rows) == 1 and len(rows[0]) == 1:
        raise BadModel(
            f"One mass is given for {n} coordinates. Write one for each: "
            f"{', '.join(rows[0] * n)}; or the rows of the matrix, one a line."
        )
    return rows


def _forces(text: str, system: MechanicalSystem) -> dict[str, str] | list[str]:
    given = by_name(text, system.coordinates, "The force")
    return given or dict.fromkeys(system.coordinates, "0")


def _mass_shown(system: MechanicalSystem) -> str:
    rows = [[p.formula(x, system.v) for x in row] for row in system.mass.tolist()]
    return p.line("<mi>M</mi>", p.operator("="), p.table(rows))


def _motion(system: MechanicalSystem) -> str:
    """Return M q'' = F as one formula."""
    forces = p.column([p.formula(f, system.v) for f in system.force])
    rates = p.column([p.rate(c, 2) for c in system.coordinates])
    mass = p.table([[p.formula(x, system.v) for x in row] for row in system.mass.tolist()])
    single = system.n == 1 and system.mass[0].is_Add
    left = ("<mo>(</mo>", mass, "<mo>)</mo>") if single else (mass,)
    return p.line(*left, "<mo>\u2062</mo>", rates, p.operator("="), forces)


def _finished(draft: Draft, system: MechanicalSystem) -> MechanicalSystem:
    """Add gaps, constraints, springs and the start."""
    with draft.at("contacts"):
        gaps = []
        for name, rest in pairs(draft.text("contacts"), "A gap"):
            what = f"The gap {name!r}" if name else f"The gap {rest!r}"
            first, given = options(rest, _CONTACT, what)
            slip = given.pop("slip", None)
            slips = None if slip is None else _directions(slip)
            gap = relation(first, what, ">")
            more: Plain = dict(given)
            gaps.append(Contact(gap, name=name, slip=slips, **more))
        system.contact(*gaps)  # together: gaps may share multipliers
        for k, contact in enumerate(system.contacts, 1):
            draft.show("contacts", _contact(contact, k, system))
    with draft.at("constraints"):
        for name, rest in pairs(draft.text("constraints"), "A constraint"):
            what = f"The constraint {name!r}" if name else f"The constraint {rest!r}"
            first, given = options(rest, _CONSTRAINT, what)
            phi = relation(first, what, "=")
            when: Plain = dict(given)
            system.constraint(Constraint(phi, name=name, **when))
            shown = p.formula(system.constraints[-1].phi, system.v)
            draft.show("constraints", p.line(shown, p.operator("="), "<mn>0</mn>"))
    with draft.at("springs"):
        for name, rest in pairs(draft.text("springs"), "A spring"):
            first, given = options(rest, _SPRING, f"The spring {name or rest!r}")
            missing = [k for k in ("k", "f_y") if k not in given]
            if missing:
                raise BadModel(f"The spring {name or rest!r} needs {missing[0]}: {missing[0]} = 2.")
            spring = BilinearSpring(first, name=name, **{"b": "0", **given})
            system.spring(spring)
            shown = p.formula(system.springs[-1].elongation, system.v)
            draft.show("springs", p.line("<mi>u</mi>", p.operator("="), shown))
    _start(draft, system)
    return system


def _directions(slip: str) -> str | tuple[str, ...]:
    """Return the sliding velocity: in brackets with a comma, those along two directions."""
    parts = split(slip[1:-1]) if slip.startswith("(") and slip.endswith(")") else [slip]
    return tuple(parts) if len(parts) > 1 else slip


def _contact(contact: Contact, number: int, system: MechanicalSystem) -> str:
    """Return the laws of a contact."""
    lam = f"<msub><mi>λ</mi><mn>{number}</mn></msub>"
    parts = ["<mn>0</mn>", p.operator("≤"), p.formula(contact.gap, system.v)]
    if contact.compliance != 0:
        parts += [p.operator("+"), p.formula(contact.compliance), "<mo>\u2062</mo>", lam]
    parts += [p.operator("⊥"), lam, p.operator("≥"), "<mn>0</mn>"]
    for word, value in (("restitution", contact.e), ("friction", contact.mu)):
        if value != 0 or word == "restitution":
            parts += [p.operator(","), p.words(f"\u2002{word}\u2002"), p.formula(value, system.v)]
    return p.line(*parts)


def _start(draft: Draft, system: MechanicalSystem) -> None:
    with draft.at("start"):
        words = [e for e in entries(draft.text("start")) if "=" not in e and ":" not in e]
        flags: Plain = {}
        for word in words:
            head, _, rest = word.partition(" ")
            if head not in ("assemble", "redundant"):
                raise BadModel(f"The start: {word!r} has no value. Write {head} = 0.")
            flags[head] = rest.strip() or True
        given = start_entries(draft, [*system.coordinates, *map(str, system.v)], words)
        q = {k: x for k, x in given.items() if k in system.coordinates}
        v = {k.removeprefix("v_"): x for k, x in given.items() if k not in q}
        system.start(q=q, v=v, **flags)
        signs = [*map(p.identifier, system.coordinates), *map(p.rate, system.coordinates)]
        values = [*system.start_q, *system.start_v]
        draft.show("start", p.line(p.listed([*map(p.at_start, signs, values)])))
    end(draft, system)
