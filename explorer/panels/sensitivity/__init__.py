"""The sensitivity panel: a run, its derivative with the jumps, its twins, the cost, live."""

from __future__ import annotations

import json
import time

import numpy as np

from explorer.derivatives import Sensitivity
from explorer.errors import ExplorerError
from explorer.optimise.cost_curve import CostCurve
from explorer.panels.answer import SessionAnswer
from explorer.panels.controls import values
from explorer.panels.messages import Card, Frame, Group, Schema, Status, Values
from explorer.panels.sensitivity.cards import (
    agreement_card,
    cost_along,
    saltation_card,
    shift_table,
)
from explorer.panels.sensitivity.controls import groups
from explorer.panels.sensitivity.state import SensitivitySession
from explorer.panels.session import Model, Session
from explorer.panels.session_panel import SessionPanel, Shown, panel
from explorer.quantities import quantity
from explorer.study.asked import Chosen
from explorer.systems import System
from explorer.views.drawing.picture import Picture, steady
from explorer.views.drawing.slopes import arrow_scale
from explorer.views.drawing.traces import Figure
from explorer.views.sensitivity import as_csv
from explorer.views.sensitivity import sensitivity as view
from explorer.views.twins import Twins, pair, zoom

__all__ = ["SensitivityPanel", "explore_sensitivity"]

_LIVE = 10_000  # a run of more right-hand sides is drawn without its twins while a slider moves
_REST = 60_000  # and one of so many without the cost over the parameter at all
_NEAR_END = 0.9  # of the span: an event that one twin alone meets there is no news


class _Answer(SessionAnswer):
    """Answers the browser from a session whose run carries its derivative."""

    session: SensitivitySession
    saved = "sensitivity"

    def __init__(self, session: SensitivitySession) -> None:
        super().__init__(session)
        self._arrows: float | None = None
        self._window: tuple[tuple[System, int, str], tuple[float, float]] | None = None
        self._along: tuple[str, CostCurve | None] | None = None
        self._agreed: tuple[str, Card] | None = None

    def groups(self) -> list[Group]:
        return groups(self.session)

    def schema(self) -> Schema:
        schema, session = super().schema(), self.session
        keys = {k.split(".", 1)[-1] for k in session.states.keys(session.state)}
        presets = session.system.presets
        schema["presets"] = [
            p for p in schema["presets"] if {*presets[p["name"]]} - {"text"} <= keys
        ]
        return schema

    @np.errstate(all="ignore")  # an absurd number typed is no picture, but no warning either
    def _frame(self, begin: float, drag: bool) -> Frame:
        session = self.session
        sens, see = session.sensitivity, session.state["see"]
        event = see["event"] - 1
        window = self._close(sens, event) if see["zoom"] and event < len(sens.events) else None
        twin, refusal = None, ""
        if not (drag and _calls(sens) > _LIVE):
            try:
                twin = pair(sens, 0, see["delta"], window, rough=drag)
            except ExplorerError as error:
                refusal = str(error).splitlines()[0]
        shown = see["coordinate"], see["constraint"]
        drawn = (session.system, session.state["t_end"], see["wrt"], *shown, window)
        before, arrows = self._layout, self._arrows
        if self._drawn != drawn:
            self._drawn, before, arrows = drawn, None, None
        self._arrows = arrow_scale(sens, 0, (0.0, sens.solution.march.t_last), arrows)
        picture = view.picture(
            sens,
            coordinate=see["constraint"] or see["coordinate"],
            delta=see["delta"],
            twin=twin,
            window=window,
            twinned=False,
            along=self._cost(sens, drag),
            pinned=session.ghost,
            arrows=self._arrows,
            look=self._size(),
        )
        self._layout = steady(picture.layout, before, moving=drag)
        status = self._said(sens, twin, refusal, time.perf_counter() - begin, drag)
        frame = self._framed(values(session) | _own_values(session), status, picture.data)
        frame["cards"] = [saltation_card(sens, event), self._agreement(sens, drag)]
        frame["table"] = shift_table(sens, 20 if drag else 40)
        return frame

    def _close(self, sens: Sensitivity, event: int) -> tuple[float, float]:
        """Return the window around an event; that of the last picture as long as it serves.

        A time axis that moves with every picture hides what really moves.
        """
        session = self.session
        wanted = zoom(sens, 0, event, session.state["see"]["delta"])
        key = (session.system, event, session.state["see"]["wrt"])
        if self._window is not None and self._window[0] == key:
            low, high = self._window[1]
            wide, t = high - low, sens.events[event].t
            fits = 0.5 <= (wanted[1] - wanted[0]) / wide <= 1.5
            if fits and low + 0.25 * wide <= t <= high - 0.25 * wide:
                return low, high
        self._window = (key, wanted)
        return wanted

    def _others(self) -> str:
        """Return all of the state that the cost over the parameter depends on, but that."""
        state = self.session.state
        rho = {k: x for k, x in state["rho"].items() if k != state["see"]["wrt"]}
        kept = {k: x for k, x in state.items() if k not in ("see", "rho")}
        revision = self.session.system.revision
        return json.dumps([kept, rho, state["see"]["wrt"], revision], sort_keys=True)

    def _cost(self, sens: Sensitivity, drag: bool) -> CostCurve | None:
        key = self._others()
        if self._along is None or self._along[0] != key:
            if drag or _calls(sens) > _REST:
                return None
            self._along = (key, cost_along(sens, 0))
        return self._along[1]

    def _agreement(self, sens: Sensitivity, drag: bool) -> Card:
        compared = self.session.state["see"]["compare"]
        key = json.dumps([self.session.state["rho"], self._others()])
        if compared and not drag and (self._agreed is None or self._agreed[0] != key):
            self._agreed = (key, agreement_card(sens, compared=True))
        if compared and self._agreed is not None and self._agreed[0] == key:
            return self._agreed[1]
        return agreement_card(sens, compared=compared, waiting=compared)

    def _said(
        self, sens: Sensitivity, twin: Twins | None, refusal: str, seconds: float, drag: bool
    ) -> Status:
        status = self._status(sens.solution, seconds, drag)
        if status["level"] == "error":
            return status
        said, time = "", self.session.system.time_unit
        if refusal:
            said = f"No twins: {refusal}"
        elif not sens.trust.ok:
            said = f"Do not trust this derivative: {' '.join(sens.trust.sentences)}"
        elif twin is not None and twin.until < _NEAR_END * sens.solution.march.t_last:
            said = (
                f"From t = {quantity(twin.until, time, 4)} on the twin runs have different event "
                "sequences: no derivative exists across them. A smaller δ helps."
            )
        figures = " · ".join(filter(None, [status.get("detail", ""), sens.trust.summary]))
        status = {**status, "detail": figures}
        return {**status, "level": "warn", "text": said} if said else status

    def table(self) -> str:
        return as_csv(self.session.sensitivity)

    def drawing(self) -> Picture:
        see = self.session.state["see"]
        shown = see["constraint"] or see["coordinate"]
        return view.picture(self.session.sensitivity, coordinate=shown)


def _calls(sens: Sensitivity) -> int:
    return int(sens.solution.march.counts[2])


def _own_values(session: SensitivitySession) -> Values:
    own = {f"{g}.{k}": x for g in ("see", "cost") for k, x in session.state[g].items()}
    return own | {k: x for k, x in session.pending.items() if k in own}


class SensitivityPanel(SessionPanel):
    """The panel on the derivative of a run.

    Parameters
    ----------
    session : Session
        Taken over if it is a `SensitivitySession`; of any other one its model, sizes and
        parameters.
    """

    sessions, answers = SensitivitySession, _Answer

    @classmethod
    def figure(cls, session: Session) -> Figure:
        assert isinstance(session, SensitivitySession)
        see = session.state["see"]
        shown = see["constraint"] or see["coordinate"]
        return view(session.sensitivity, coordinate=shown, delta=see["delta"])


@panel(SensitivityPanel)
def explore_sensitivity(
    model: Model = "bouncing_ball", scheme: Chosen | None = None, **settings: object
) -> Shown:
    """Open the live panel on the derivatives of a model.

    Parameters
    ----------
    model : str, System or builder
        As for `explore`; a scheme must locate its events.
    scheme : EventDriven or FESD, optional
    **settings
        Parameters, knobs, "t_end", and by name: "wrt" (the parameter), "coordinate", "constraint"
        (its force is drawn), "delta" (of the twins), "event", "zoom", "compare"; the cost as
        ``**{"cost.g": "v_y**2"}``, "cost.w".

    Returns
    -------
    panel
        A widget; ``panel.session`` is the interface for scripts, and ``panel.session.sensitivity``
        holds the data. With the environment variable ``EXPLORER_STATIC`` set, a plain plotly figure
        instead, with the same ``session``.

    Raises
    ------
    ExplorerError
        If the model cannot run, or its scheme locates no events.

    Examples
    --------
    >>> import explorer as ex
    >>> panel = ex.explore_sensitivity("bouncing_ball", wrt="e")
    >>> panel.session.sensitivity.wrt
    ('e',)
    """
    return SensitivityPanel.shown(SensitivitySession(model, scheme, **settings))
