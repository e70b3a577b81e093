"""The panel with two starts at once: both motions, and how far they are apart, live."""

from __future__ import annotations

import functools
import time

import numpy as np

from explorer.derivatives.question import locating
from explorer.panels import controls
from explorer.panels.answer import SessionAnswer
from explorer.panels.controls import choice, slider
from explorer.panels.film import film
from explorer.panels.messages import Card, Control, Frame, Group, Schema, Status, Values
from explorer.panels.session import Model, Session
from explorer.panels.session_panel import SessionPanel, Shown, panel
from explorer.panels.told import told, with_undrawn
from explorer.panels.two_starts.state import TwoStartsSession, TwoStartsStates
from explorer.parameters import Param
from explorer.quantities import number, quantity
from explorer.study.asked import Chosen
from explorer.study.two_starts import Apart, TwoStarts, state_names
from explorer.systems.units import symbol_units
from explorer.views.drawing.picture import Picture, label, steady
from explorer.views.drawing.traces import Figure
from explorer.views.two_starts import SECOND
from explorer.views.two_starts import two_starts as view

__all__ = ["TwoStartsPanel", "explore_two_starts"]

_DECADES = 6  # below the usual offset that its slider reaches; three above
_GOOD = ("ok", "unchecked")


class _Answer(SessionAnswer):
    """Answers the browser from a session with two starts."""

    session: TwoStartsSession
    saved = "two_starts"

    def schema(self) -> Schema:
        return {**super().schema(), "title": f"Two starts of the {self.session.system.name}"}

    def groups(self) -> list[Group]:
        session, now = self.session, self._accepted()
        system, see = session.system, session.state["see"]
        names = [(name, label(name)) for name in state_names(system)]
        states = session.states
        assert isinstance(states, TwoStartsStates)
        usual = states.usual_offset(session.state, see["state"])
        unit = symbol_units(system).get(see["state"], "")
        least, most = usual * 10.0**-_DECADES, usual * 1e3
        tip = f"by what the second start differs in {see['state']}"
        offset = slider("see.offset", "offset", Param(usual, least, most, unit, tip, log=True), now)
        of = choice("see.state", "beside in", now, names, "The state in which the starts differ")
        second: list[Control] = [of, {**offset, "label": "offset", "beside": ""}]
        second = second[len(names) == 1 :]
        ordered: list[Group] = [g for g in controls.groups(session) if g["name"] != "inputs"]
        mine: Group = {"name": "see", "title": "Second start", "open": True, "controls": second}
        return [ordered[0], mine, *ordered[1:]]

    def _accepted(self) -> Values:
        own = {f"see.{k}": x for k, x in self.session.state["see"].items()}
        return controls.accepted(self.session) | own

    @np.errstate(all="ignore")  # an absurd number typed is no picture, but no warning either
    def _frame(self, begin: float, drag: bool) -> Frame:
        session, look, found = self.session, self._looked(), self.session.found
        picture = self._drawn_small(functools.partial(view.picture, found), look, drag)
        picture.layout["uirevision"] = self._of()
        drawn = (session.system, session.state["t_end"])
        before = self._layout if self._drawn == drawn else None
        self._layout, self._drawn = steady(picture.layout, before, moving=drag), drawn
        status = with_undrawn(self._said(found, time.perf_counter() - begin, drag), picture)
        frame = self._framed(self._accepted() | session.pending, status, picture.data)
        frame["double"] = bool(look.ranges)
        frame["mechanism"] = film(found.first, [None] * SECOND + [found.second])
        frame["cards"] = [distance_card(found)]
        self._tabulate(frame, found.first, drag)
        return frame

    def _said(self, found: TwoStarts, seconds: float, drag: bool) -> Status:
        """Return the status of both runs and of their comparison: all cautions are said."""
        status = self._status(found.first, seconds, drag)
        if status["level"] == "error":
            return status
        other = told(found.second, seconds, drag)
        if other["level"] not in _GOOD and other["text"] != status["text"]:
            said = [] if status["level"] in _GOOD else [status["text"]]
            text = " ".join([*said, f"The second run: {other['text']}"])
            status = {**status, "level": "warn", "text": text}
        said = [] if drag else doubts(found)
        if status["level"] in _GOOD and said:
            status = {**status, "level": "warn", "text": said[0], "detail": status["text"]}
        if "checks" in status and "checks" in other:
            both = (("first", status["checks"]), ("second", other["checks"]))
            status["checks"] = {
                "text": "; ".join(dict.fromkeys(checks["text"] for _, checks in both)),
                "lines": [f"{run} run: {x}" for run, checks in both for x in checks["lines"]],
            }
        return status

    def table(self) -> str:
        return self.session.to_csv()

    def drawing(self) -> Picture:
        return view.picture(self.session.found)


def distance_card(found: TwoStarts) -> Card:
    """Return the distance at the start and at the end, and what the derivative predicts of it."""
    t, rows = found.system.time_unit, [_row("distance", found.apart)]
    if found.predicted is not None:
        rows.append(_row("predicted", found.predicted))
    offset = ", ".join(
        f"{label(k)} + {quantity(x, symbol_units(found.system).get(k, ''), 3)}"
        for k, x in found.offset.items()
    )
    said = doubts(found)
    if not said and _made_by_another(found):
        said.append(f"Predicted by {locating(found.system).__name__}.")
    if found.met is not None:
        said.insert(0, f"From t = {quantity(found.met, t, 4)} on both runs are the same.")
    return {
        "title": f"Distance of the runs: {offset}",
        "columns": ["at the start", "at the end", "end / start"],
        "rows": rows,
        "note": " ".join(["In parts of the range of each state, root mean square.", *said]),
    }


def doubts(found: TwoStarts) -> list[str]:
    """Return why the distance or its prediction may not be that of the motions."""
    said = [found.caution] if found.caution else []
    if _made_by_another(found) and (found.first.events or found.second.events):
        by, of = locating(found.system).__name__, type(found.first.scheme).__name__
        said.append(
            f"{of} does not locate events: it may take both starts through one in the same step, "
            f"so that they part less than the motions do. {by}, which predicts, locates them."
        )
    return said


def _made_by_another(found: TwoStarts) -> bool:
    """Whether the prediction is that of another scheme, which locates events."""
    system, scheme = found.system, found.first.scheme
    own = system.discrete or scheme.differentiates(system)
    return found.predicted is not None and not own


def _row(name: str, apart: Apart) -> list[str]:
    begin, end = (float(x) for x in apart.distance[[0, -1]])
    return [name, number(begin, 3), number(end, 3), number(end / begin, 3) if begin else "–"]


class TwoStartsPanel(SessionPanel):
    """The panel on a model and two starts of it.

    Parameters
    ----------
    session : Session
        Taken over if it is a `TwoStartsSession`; of any other one what fits.
    """

    own_menu = True  # its tests choose the models themselves: each picture takes four runs
    sessions, answers = TwoStartsSession, _Answer

    @classmethod
    def figure(cls, session: Session) -> Figure:
        assert isinstance(session, TwoStartsSession)
        return view.picture(session.found).figure()


@panel(TwoStartsPanel)
def explore_two_starts(
    model: Model = "impact_oscillator", scheme: Chosen | None = None, **settings: object
) -> Shown:
    """Open a model from two starts at once: how sensitive its motion is to where it begins.

    Both motions are runs of the same scheme, each with its own checks. Their distance stands on a
    logarithmic axis over time, beside what the derivative predicts; the mechanism of the second
    run is the ghost of the first one.

    Parameters
    ----------
    model : str, System or builder
        A model of the gallery by name, a system, or a function that returns one.
    scheme : Scheme, its class or name, optional
    **settings
        As for `explore`; "state", the state in which the second start differs, and "offset", by
        what, in its unit.

    Returns
    -------
    panel
        A widget; ``panel.session`` is the interface for scripts, and ``panel.session.found`` holds
        both runs. With the environment variable ``EXPLORER_STATIC`` set, a plain plotly figure
        instead, with the same ``session``.

    Raises
    ------
    ExplorerError
        If the model cannot run from both starts, or a number is inadmissible.

    Examples
    --------
    >>> import explorer as ex
    >>> panel = ex.explore_two_starts("impact_oscillator", offset=1e-4)
    >>> panel.session.found.system.name
    'impact oscillator'
    """
    return TwoStartsPanel.shown(TwoStartsSession(model, scheme, **settings))
