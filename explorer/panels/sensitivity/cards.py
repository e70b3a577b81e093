"""What stands beside the plots of the sensitivity panel: matrix, agreement, event times."""

from __future__ import annotations

import numpy as np

from explorer.derivatives import METHODS, Sensitivity
from explorer.errors import ExplorerError
from explorer.optimise.cost_curve import CostCurve, cost_curve
from explorer.panels.messages import Card
from explorer.panels.wording import prose, prose_rows
from explorer.quantities import number, quantity, unit
from explorer.results.event import LocatedEvent
from explorer.schemes.event_driven import EventDriven
from explorer.systems.units import event_unit
from explorer.views.drawing.picture import label, titled
from explorer.views.drawing.slopes import parameter, per, slope_unit
from explorer.views.events import Table, cell, shown_time, slope_title
from explorer.views.saltation import matrix

__all__ = ["agreement_card", "cost_along", "saltation_card", "shift_table"]

_COMPARED = ("adjoint", "complex_step", "finite_difference")
_POINTS = (9, 33)
_WIDE, _NARROW = 6, 4  # states of a matrix that the card holds; of a large system still fewer
_NOTHING = 1e-9  # of impulse and speed: less energy is round-off
_CALLS = 60_000  # right-hand sides that the cost over the parameter may take


def saltation_card(sens: Sensitivity, k: int) -> Card:
    """Return Xi and Pi of an event as a labelled table with shades."""
    count = len(sens.events)
    if not 0 <= k < count:
        some = f"The run has {count} event{'s' * (count != 1)}" if count else "No event happens"
        return {"title": f"Event {k + 1}", "note": f"{some}: there is no event {k + 1}."}
    salt = sens.saltation(k)
    many = len(salt.states) > _WIDE
    table, event = matrix(salt, _NARROW if many else _WIDE), salt.event
    n, system = table["split"], sens.question.system
    slope = unit(event_unit(system, event.kind, event.contact) or "")
    happened = event.contact if event.kind == "event" else f"{event.kind} {event.contact}"
    said = f" · the {n} of {len(salt.states)} rows that it moves most" if many else ""
    return {
        "title": f"Event {k + 1}: {prose(happened)}, t = {quantity(event.t, system.time_unit, 4)}",
        "corner": "Ξ, Π",
        "columns": [
            *(f"{c}<sup>−</sup>" for c in table["columns"][:n]),
            *(f"d{c}" for c in table["columns"][n:]),
        ],
        "rows": [
            [f"{name}<sup>+</sup>", *(cell(x) for x in row)]
            for name, row in zip(table["rows"], table["values"], strict=True)
        ],
        "shades": table["shades"],
        "split": n,
        "note": f"S⁺ = Ξ S⁻ + Π dρ · dr/dt⁻ = {cell(salt.slope)} {slope}".strip() + said,
    }


def agreement_card(sens: Sensitivity, *, compared: bool, waiting: bool = False) -> Card:
    """Return the gradient of the cost, by the direct method or by four of them.

    While a slider moves the other ones are `waiting`.
    """
    _, by_unit = parameter(sens, 0)
    cost_unit, time = sens.question.cost.units[1], sens.question.system.time_unit
    slope = "" if cost_unit is None else slope_unit(cost_unit, by_unit)
    by = f"Gradient {titled(f'dψ/d{label(sens.wrt[0])}', slope)}"
    rows = [["direct", number(sens.cost_gradient[0], 9).replace("-", "−"), ""]]
    own = isinstance(sens.question.scheme, EventDriven)  # others are compared with their runs only
    for name in (_COMPARED if own else _COMPARED[-1:]) if compared else ():
        said = name.replace("_", " ")
        if waiting:
            rows.append([said, "…", ""])
            continue
        try:
            other = METHODS[name](sens.question).cost_gradient[0]
        except ExplorerError as error:
            rows.append([said, "refused", str(error)])
            continue
        apart = abs(other - sens.cost_gradient[0]) / (1 + abs(sens.cost_gradient[0]))
        rows.append([said, number(other, 9).replace("-", "−"), number(apart, 1)])
    last, note = sens.question.last(sens.solution), ""
    if last is not None:
        rate = 0.0 if last.dt_drho is None else float(last.dt_drho[0])
        moved = f"{cell(rate)} {per(time, by_unit)}".strip()
        note = f"ψ ends at T = {quantity(last.t, time, 5)}, dT/d{sens.wrt[0]} = {moved}"
    return {
        "title": f"{by}, ψ = {quantity(sens.cost, cost_unit or '', 5)}",
        "rows": [[cell.replace("-", "−") for cell in row] for row in rows],
        "note": note,
    }


def shift_table(sens: Sensitivity, most: int) -> Table:
    """Return the events with their sensitivities as a table."""
    events, (by, by_unit) = sens.events, parameter(sens, 0)
    time = sens.question.system.time_unit
    shift = titled(f"dt/d{by}", per(time, by_unit))
    plain = len({e.contact for e in events}) <= 1
    rows: list[list[str | float]] = []
    for k, e in enumerate(events[:most]):
        slope = 0.0 if e.dt_drho is None else float(e.dt_drho[0])
        happened = e.contact if e.kind == "event" else e.kind if plain else f"{e.kind} {e.contact}"
        rows.append([k + 1, float(f"{e.t:.5g}"), happened, cell(slope), cell(e.slope)])
    margin = slope_title(sens.question.system, events[:most])
    if _shows_energy(sens):
        margin = "ΔT (J)"
        for row, e in zip(rows, events, strict=False):
            row[-1] = cell(_given(e))
    count, clock = len(events), shown_time(float(sens.solution.t[-1]), time)
    note = f"{count} event{'s' * (count != 1)}" if count else "No events"
    more = f", the first {most} shown" if count > most else ""
    table: Table = {
        "columns": ["", f"t ({clock['unit']})", "event", shift, margin],
        "rows": rows,
        "time_column": 1,
        "time": {"factor": clock["factor"], "digits": clock["digits"]},
        "note": f"{note}{more}.",
    }
    return prose_rows(table)


def _shows_energy(sens: Sensitivity) -> bool:
    """Whether the table shows energies of impacts: constraints carry them through a mechanism."""
    system = sens.question.system
    located = isinstance(sens.question.scheme, EventDriven)
    return located and bool(getattr(system, "constraints", ())) and bool(system.contacts)


def _given(event: LocatedEvent) -> float:
    """Return the kinetic energy in J that an impact gives, without round-off."""
    small = _NOTHING * abs(event.impulse * event.gap_dot_minus)
    return 0.0 if abs(event.energy) <= small else event.energy


def cost_along(sens: Sensitivity, j: int) -> CostCurve | None:
    """Return the cost over a parameter, broken where it jumps; None for a start."""
    question, name = sens.question, sens.wrt[j]
    param = question.system.parameters.get(name)
    if param is None:
        return None
    here = float(question.rho[question.places[j]])
    low, high = min(param.low, here), max(param.high, here)
    points = int(np.clip(_CALLS / max(sens.solution.march.counts[2], 1), *_POINTS))
    at = np.unique(np.append(np.linspace(low, high, points), here))
    return cost_curve(question, j, at, 2 * points)
