"""The order panel: error over step and over time of schemes across switches, live."""

from __future__ import annotations

import time

import numpy as np

from explorer.models import models
from explorer.panels import controls
from explorer.panels.answer import SessionAnswer
from explorer.panels.controls import slider
from explorer.panels.messages import Control, Frame, Group, Schema, Status, Values
from explorer.panels.order.state import CURVES, KNOBS, WIDTH, OrderSession, offered
from explorer.panels.see import toggle
from explorer.panels.session import Model, Session
from explorer.panels.session_panel import SessionPanel, Shown, panel
from explorer.panels.state import OWN
from explorer.parameters import Param
from explorer.results.solution import Solution
from explorer.study.work_precision import WorkPrecision
from explorer.views.drawing.picture import Picture, steady
from explorer.views.drawing.traces import Figure
from explorer.views.work_precision import work_precision as view

__all__ = ["OrderPanel", "explore_order"]

_WIDTH = Param(WIDTH, 1e-3, 1, "", "Width of the smooth layer that replaces a switch", log=True)
_SAID = {
    "FESD": "Finite elements with switch detection, 1 to 4 stages",
    "ThetaRK": "The same Runge-Kutta methods without switch detection, 1 to 4 stages",
    "EulerMoreau": "Theta time stepping with complementarity laws in each step",
    "EventDriven": "Dormand-Prince 8(5,3) between located switches, over its tolerance",
    "smoothing": (
        "tanh instead of each step function, integrated by Dormand-Prince 8(5,3), over its "
        "tolerance"
    ),
}


class _Answer(SessionAnswer):
    """Answers the browser from a session that compares schemes."""

    session: OrderSession
    saved = "order"

    def schema(self) -> Schema:
        schema, session = super().schema(), self.session
        keys = {k.split(".", 1)[-1] for k in session.states.keys(session.state)}
        presets = session.system.presets
        schema["presets"] = [
            p for p in schema["presets"] if {*presets[p["name"]]} - {"text"} <= keys
        ]
        return schema

    def groups(self) -> list[Group]:
        session = self.session
        now, known = self._accepted(), {OWN, *filter(offered, models)}
        own = {g["name"]: g["controls"] for g in controls.groups(session)}
        for control in own["model"]:
            if control["key"] == "model":
                control["choices"] = [c for c in control["choices"] if c[0] in known]
        span = [c for c in own["start"] if c["key"] == "t_end"]
        shown = [toggle(name, session.state["see"][name], _SAID[name]) for name in CURVES]
        ordered: list[tuple[str, str, list[Control]]] = [
            ("model", "Model", own["model"] + span),
            ("parameters", "Parameters", own.get("parameters", [])),
            ("scheme", "Methods", [c for c in own["scheme"] if c["key"] in KNOBS]),
            ("curves", "Curves", [*shown, slider("see.width", "width", _WIDTH, now)]),
        ]
        return [{"name": n, "title": t, "open": True, "controls": c} for n, t, c in ordered if c]

    def _accepted(self) -> Values:
        session = self.session
        own = {f"see.{k}": x for k, x in session.state["see"].items()}
        return controls.accepted(session) | own

    @np.errstate(all="ignore")  # an absurd number typed is no picture, but no warning either
    def _frame(self, begin: float, drag: bool) -> Frame:
        session = self.session
        diagram = session.diagram(moving=drag)
        picture = view.picture(diagram, over="h", pinned=session.ghost, look=self._size())
        drawn = (session.system, session.state["t_end"])
        self._layout = steady(picture.layout, self._layout if self._drawn == drawn else None)
        self._drawn = drawn
        status = self._said(diagram, session.solution, time.perf_counter() - begin, drag)
        return self._framed(self._accepted() | session.pending, status, picture.data)

    def _said(self, diagram: WorkPrecision, run: Solution, seconds: float, drag: bool) -> Status:
        status = super()._status(run, seconds)
        if status["level"] == "error":
            return status
        runs = sum(len(c.steps) for c in diagram.curves)
        text = f"{runs} runs against {_known_from(diagram)} · answered in {1e3 * seconds:.0f} ms"
        if drag:
            text += " · the finest steps follow"
        if diagram.refused:
            text += f" · {len(diagram.refused)} left out, such as {diagram.refused[0]}"
        return {**status, "level": "warn" if diagram.refused else "ok", "text": text}

    def table(self) -> str:
        return self.session.to_csv()

    def drawing(self) -> Picture:
        return _picture(self.session)


def _picture(session: OrderSession) -> Picture:
    return view.picture(session.diagram(), over="h", pinned=session.ghost)


def _known_from(diagram: WorkPrecision) -> str:
    return "FESD of order 7" if diagram.reference.startswith("FESD(") else diagram.reference


class OrderPanel(SessionPanel):
    """The panel on the errors of schemes.

    Parameters
    ----------
    session : Session
        Taken over if it is an `OrderSession`; of any other one its model and parameters, if it has
        step functions.
    """

    own_menu = True
    sessions, answers = OrderSession, _Answer

    @classmethod
    def figure(cls, session: Session) -> Figure:
        assert isinstance(session, OrderSession)
        return _picture(session).figure()


@panel(OrderPanel)
def explore_order(model: Model = "switched_oscillator", **settings: object) -> Shown:
    """Open the live diagram of orders across switches.

    Parameters
    ----------
    model : str, StepSystem or builder
        A model of the gallery by name, a system, or a function that returns one.
    **settings
        Parameters, "t_end", "tableau", "representation" by name; "width" of the smoothing; False
        hides a curve: "FESD", "ThetaRK", "EulerMoreau", "EventDriven", "smoothing".

    Returns
    -------
    panel
        A widget; ``panel.session`` is the interface for scripts, and ``panel.session.diagram()``
        holds the data. With the environment variable ``EXPLORER_STATIC`` set, a plain plotly figure
        instead, with the same ``session``.

    Raises
    ------
    ExplorerError
        If the model has no step functions, or a number is inadmissible.

    Examples
    --------
    >>> import explorer as ex
    >>> panel = ex.explore_order("switched_oscillator", ThetaRK=False)
    >>> [round(curve.order) for curve in panel.session.diagram().curves if "FESD" in curve.name]
    [1, 3, 5, 7]
    """
    return OrderPanel.shown(OrderSession(model, **settings))
