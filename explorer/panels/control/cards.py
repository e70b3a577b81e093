"""What is said of a plan beside its picture: in words, and in small tables."""

from __future__ import annotations

import numpy as np

from explorer.panels.control.state import PLAYS, ControlSession
from explorer.panels.messages import Card
from explorer.quantities import quantity
from explorer.views.drawing.picture import label
from explorer.views.plan import said

__all__ = ["cards", "words"]

_MOST = 4  # switches that are named


def words(session: ControlSession, drag: bool) -> tuple[str, bool]:
    """Return the sentence below the picture, and whether all is well."""
    plan, course = session.plan, session.course
    if drag:
        text = f"objective {quantity(plan.objective, '', 6)} · on the sequence of the plan before"
        text += f" · planned in {1e3 * session.seconds:.0f} ms"
        if len(plan.biactive) > session.kinks:
            return f"{text} · a kink: another sequence may be better, let go to search it", False
        return text, True
    replay = plan.replay() if plan.status != "infeasible" else None
    text, good = said(plan, replay), plan.ok
    if session.trouble:
        return f"{text} · not carried out: {session.trouble}", False
    if course is not None:
        how = PLAYS[session.state["play"]]
        if course.failed:
            return f"{text} · {how}: {course.failed}", False
        missed = [f"{k} missed by {quantity(v, '', 3)}" for k, v in course.missed.items()]
        text = f"{text} · {how}: {', '.join(missed) or 'all constraints hold'}"
        good = good and not missed
    return text, good


def cards(session: ControlSession, drag: bool) -> list[Card]:
    """Return the tables: the plan, its multipliers, what was carried out."""
    plan, time = session.plan, session.system.time_unit
    at = [quantity(float(t), "", 5) for t in plan.switches[:_MOST]]
    more = len(plan.switches) - _MOST
    rows = [
        ["status", "…" if drag else plan.status],
        ["objective", quantity(plan.objective, "", 7)],
        ["final time", quantity(plan.t_end, time, 6)],
        ["switches", _listed(at, more, time)],
        ["biactive", "…" if drag else str(len(plan.biactive))],
        ["replay defect", "…" if drag else quantity(plan.defect, "", 2)],
    ]
    if session.seconds:
        rows.append(["planned in", f"{1e3 * session.seconds:.0f} ms"])
    found: list[Card] = [{"title": "Plan", "rows": rows, "note": ""}]
    if plan.multipliers:
        note = "Derivative of the objective by the value that is asked for."
        rows = [[_marked(name), quantity(x, "", 4)] for name, x in plan.multipliers.items()]
        found.append({"title": "Multipliers of the goal", "rows": rows, "note": note})
    course = session.course
    if course is not None and len(course.u):
        away = float(np.abs(course.deviation[-1]).max())
        rows = [["off the plan at the end", quantity(away, "", 3)]]
        rows += [[name, quantity(x, "", 3)] for name, x in course.missed.items()]
        found.append({"title": PLAYS[session.state["play"]].capitalize(), "rows": rows, "note": ""})
    for card in found:
        card["rows"] = [
            [name, *(x.replace("-", "−") for x in cells)] for name, *cells in card["rows"]
        ]
    return found


def _listed(at: list[str], more: int, time: str) -> str:
    """Return times in words, with their unit.

    >>> _listed(["0.39", "1"], 2, "s"), _listed([], -4, "s")
    ('0.39, 1 s and 2 more', 'none')
    """
    return f"{', '.join(at)} {time}".rstrip() + f" and {more} more" * (more > 0) if at else "none"


def _marked(name: str) -> str:
    """Return a condition as the plots write it.

    >>> _marked("v_q1 = 0")
    'v<sub>q,1</sub> = 0'
    """
    what, equals, value = name.partition(" = ")
    return f"{label(what)}{equals}{value}"
