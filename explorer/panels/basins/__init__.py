"""The panel on basins of attraction: they sharpen while one looks, and a click runs a start."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from explorer.models import models
from explorer.panels import controls
from explorer.panels.basins.state import (
    NOT_OFFERED,
    BasinsSession,
    BasinsStates,
    axes_of,
    of_starts,
    offered,
    unit_of,
    usual_until,
)
from explorer.panels.controls import choice, typed
from explorer.panels.messages import Control, Group, Status, Values
from explorer.panels.session import Model
from explorer.panels.session_panel import Shown, panel
from explorer.panels.sharpening import SharpAnswer, SharpPanel
from explorer.panels.state import OWN
from explorer.quantities import quantity
from explorer.study.basin_map import ESCAPES, FAILED, REFUSED, UNDECIDED, UNTOLD, Basins
from explorer.study.forcing import usual_section
from explorer.views.basins import basins as view
from explorer.views.drawing.picture import Picture, label

__all__ = ["BasinsPanel", "explore_basins"]

_ENDS = {
    UNDECIDED: "is undecided at the end of the longest run",
    ESCAPES: "escapes",
    FAILED: "has no result: its run fails",
    REFUSED: "is not admissible",
}


class _Answer(SharpAnswer[Basins]):
    """Answers the browser from a session with basins."""

    session: BasinsSession
    saved, named = "basins", "Basins"
    windows: ClassVar[dict[str, tuple[str, str]]] = {
        "xaxis": ("left", "right"),
        "yaxis": ("bottom", "top"),
    }

    def _window(self) -> list[object]:
        see = self.session.state["see"]
        return [see[k] for k in ("x", "y", "left", "right", "bottom", "top")]

    def groups(self) -> list[Group]:
        session, now = self.session, self._accepted()
        system, see, states = session.system, session.state["see"], session.states
        assert isinstance(states, BasinsStates)
        own = {g["name"]: g["controls"] for g in controls.groups(session)}
        known = {OWN, *filter(offered, models)}
        for control in own["model"]:
            if control["key"] == "model":
                control["choices"] = [c for c in control["choices"] if c[0] in known]
                control["text"] += f". {_not_offered()}"
        names = [name for alike in axes_of(system) for name in alike]
        axes = [(k, _said(k)) for k in names]
        shown: list[Control] = []
        for axis, ends in (("x", ("left", "right")), ("y", ("bottom", "top"))):
            name = see[axis]
            reach, unit = states.reach(session.state, name), unit_of(system, name)
            tip = f"The start or parameter along {axis}; both are of one kind"
            shown.append(choice(f"see.{axis}", f"along {axis}", now, axes, tip))
            for end, word, usual in zip(ends, ("from", "to"), reach, strict=True):
                tip = f"{'lower' if word == 'from' else 'upper'} end of {name}"
                shown.append(typed(f"see.{end}", word, unit, now, usual, tip))
        periods = usual_section(system).period is not None
        unit = "" if periods else system.time_unit
        word, tip = ("periods", "periods") if periods else ("run for", "time")
        tip += " that a start is run at most"
        until = typed("see.until", word, unit, now, usual_until(system), tip)
        rest = [c for c in own.get("parameters", []) if c["key"] not in self._varied()]
        start = [c for c in own["start"] if c["key"] not in ("mode0", *self._varied())]
        ordered: list[tuple[str, str, bool, list[Control]]] = [
            ("model", "Model", True, own["model"]),
            ("map", "Map", True, [*shown, until]),
            ("parameters", "Parameters", True, rest),
            ("start", "Run that is shown", True, start),
            ("scheme", "Scheme", False, own["scheme"]),
        ]
        return [{"name": n, "title": t, "open": o, "controls": c} for n, t, o, c in ordered if c]

    def _varied(self) -> list[str]:
        """Return the keys of the controls whose values the map varies."""
        see, rho = self.session.state["see"], self.session.state["rho"]
        return [f"rho.{see[k]}" if see[k] in rho else see[k] for k in ("x", "y")]

    def _accepted(self) -> Values:
        session = self.session
        hidden = ("at_x", "at_y")
        own = {f"see.{k}": x for k, x in session.state["see"].items() if k not in hidden}
        return controls.accepted(session) | own

    def _picture(self, found: Basins | None) -> Picture:
        session, states = self.session, self.session.states
        assert isinstance(states, BasinsStates)
        return view.picture(
            found or session.nothing(),
            at=states.at(session.state),
            run=session.solution,
            keys=("see.at_x", "see.at_y"),
            look=self._looked(),
        )

    def _told(self, found: Basins | None, seconds: float, drag: bool) -> Status:
        session = self.session
        status = self._status(session.solution, seconds, drag)
        if status["level"] == "error":
            return status
        shown = f"{self._start(found)} · {status['text']}"
        if found is None or not found.computed.any():
            text = f"The map sharpens, nothing is known yet · {shown}"
            return {**status, "level": "unchecked", "text": text}
        many, done = found.label.size, int(found.computed.sum())
        what = "starts" if of_starts(session.system, session.state["see"]["x"]) else "points"
        bad = {
            word: int(((found.label == code) & found.computed).sum())
            for code, word in ((UNDECIDED, "undecided"), (FAILED, "without a result"))
        }
        said = ", ".join(f"{n} {word}" for word, n in bad.items() if n)
        if done < many:
            rest = "the others show the result of their neighbours"
            if (found.label == UNTOLD).any():
                rest = "the others are not known yet"
            text = f"The map sharpens: {done} of {many} {what} computed, {rest}"
            text += f" · {said}" if said else ""
            return {**status, "level": "unchecked", "text": f"{text} · {shown}"}
        none = int((found.label == REFUSED).sum())
        text = f"All {many} {what} computed" + (
            f", {none} are not admissible starts" if none else ""
        )
        if said:
            return {**status, "level": "warn", "text": f"{text}, {said} · {shown}"}
        return {**status, "text": f"{text}, all decided · {shown}"}

    def _start(self, found: Basins | None) -> str:
        """Return what the start that is shown comes to."""
        session, see = self.session, self.session.state["see"]
        assert isinstance(session.states, BasinsStates)
        at = session.states.at(session.state)
        where = ", ".join(
            f"{see[axis]} = {quantity(x, unit_of(session.system, see[axis]), 5)}"
            for axis, x in zip(("x", "y"), at, strict=True)
        )
        with np.errstate(all="ignore"):
            k = session.number()
        done = found is not None and found.computed.all()
        if k is None or k == UNTOLD or (k == UNDECIDED and not done):
            return f"the start {where} is not known yet"
        if k < 0:
            return f"the start {where} {_ENDS[k]}"
        if found is None or k >= len(found.families):
            return f"the start {where} comes to an attractor that was found just now"
        period = found.attractors[k].period
        if found.by_period:
            said = f"period {period}" if 1 <= period <= 6 else "a longer period, or none"
            return f"the run at {where} comes to {said}"
        said = f"period {period}" if period else "no period"
        return f"the start {where} comes to attractor {k} ({said})"

    def table(self) -> str:
        return self.session.to_csv()


def _not_offered() -> str:
    """Return the sentence about models that are not offered."""
    said = [f"{name.replace('_', ' ')} ({why})" for name, why in sorted(NOT_OFFERED.items())]
    return (
        f"Not offered are {', '.join(said)}; and models that come to rest, are not driven, or have "
        "fewer than two starts that may vary"
    )


def _said(name: str) -> str:
    """Return an axis as the menu names it."""
    kind, _, coordinate = name.partition(".")
    if not coordinate:
        return label(name)
    return f"{label(coordinate, dot=kind == 'v0')}(0)"


class BasinsPanel(SharpPanel):
    """The panel on basins of attraction.

    Parameters
    ----------
    session : Session
        Taken over if it is a `BasinsSession`; of any other one its model and parameters.
    """

    sessions, answers = BasinsSession, _Answer


@panel(BasinsPanel)
def explore_basins(
    model: Model = "impact_oscillator",
    x: str | None = None,
    y: str | None = None,
    **settings: object,
) -> Shown:
    """Open the basins of attraction of a model: they sharpen while one looks; a click runs a start.

    Drag a box, or turn the wheel, to compute a part of the map anew; undo goes back.

    Parameters
    ----------
    model : str, System or builder, optional
        A model of the gallery by name, a system, or a function that returns one. By default the
        impact oscillator. It begins with its stop at s = 0 and omega = 2.6, where two attractors
        coexist; other models whose own values leave nothing that attracts begin with a force and
        damping.
    x, y : str, optional
        What varies: two starts ("q0.x", "v0.x", "x0.T"), or two parameters; by default the first
        two starts. Over two parameters the map tells the period that the run of one start comes to.
    **settings
        Parameters by name; "left", "right", "bottom" and "top", the window; "at_x" and "at_y", the
        start that is shown; "until", how long a start is run at most, in periods of what drives the
        model, else in s.

    Returns
    -------
    panel
        A widget; ``panel.session`` is the interface for scripts, and ``panel.session.diagram()``
        holds the basins. With the environment variable ``EXPLORER_STATIC`` set, a plain plotly
        figure instead, with the same ``session``.

    Raises
    ------
    ExplorerError
        If the model has no section that is known, or a number is inadmissible.

    Examples
    --------
    >>> import explorer as ex
    >>> panel = ex.explore_basins("impact_oscillator", omega=2.6, s=0)
    >>> panel.session.state["rho"]["omega"]  # its map sharpens once the panel is shown
    2.6
    """
    return BasinsPanel.shown(BasinsSession(model, x, y, None, **settings))
