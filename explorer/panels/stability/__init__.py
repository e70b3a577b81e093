"""The stability panel: stability and accuracy of the Newmark family, live."""

from __future__ import annotations

import time

import numpy as np

from explorer.panels.answer import SessionAnswer
from explorer.panels.controls import choice, slider
from explorer.panels.messages import Card, Control, Frame, Group, Schema, Status, Values
from explorer.panels.session import Session
from explorer.panels.session_panel import SessionPanel, Shown, panel
from explorer.panels.stability.state import KNOBS, SCHEMES, StabilitySession
from explorer.panels.state import State
from explorer.quantities import number
from explorer.results.solution import Solution
from explorer.study.asked import Chosen
from explorer.study.stability import Stability
from explorer.views.drawing.picture import Picture, steady
from explorer.views.drawing.traces import Figure
from explorer.views.stability import stability as view

__all__ = ["StabilityPanel", "explore_stability"]


class _Answer(SessionAnswer):
    """Answers the browser from a session on the oscillator."""

    session: StabilitySession

    def schema(self) -> Schema:
        return {
            **super().schema(),
            "title": "Stability of the Newmark family",
            "subtitle": "One step applied to a linear oscillator",
        }

    def groups(self) -> list[Group]:
        state, now = self.session.state, self._accepted()
        names = [(name, name) for name in SCHEMES]
        scheme = [choice("scheme", "scheme", now, names, "Scheme that integrates the oscillator")]
        scheme += [slider(f"knob.{k}", k, KNOBS[k], now) for k in state["knobs"]]
        oscillator: list[Control] = [
            {**slider("omega_h", "ωh", KNOBS["omega_h"], now), "label": "ωh"},
            slider("xi", "xi", KNOBS["xi"], now),
        ]
        others = [("", "nothing"), *names]
        compare = [choice("compare", "beside", now, others, "A second scheme for comparison")]
        ordered = [
            ("scheme", "Scheme", scheme),
            ("oscillator", "Oscillator and step", oscillator),
            ("compare", "Compare", compare),
        ]
        return [{"name": n, "title": t, "open": True, "controls": c} for n, t, c in ordered]

    def _accepted(self) -> Values:
        state = self.session.state
        return {
            **{k: state[k] for k in ("scheme", "xi", "omega_h", "compare")},
            **{f"knob.{k}": x for k, x in state["knobs"].items()},
        }

    @np.errstate(all="ignore")  # an absurd number typed is no picture, but no warning either
    def _frame(self, begin: float, drag: bool) -> Frame:
        session, state = self.session, self.session.state
        shown, marks = session.shown(), session.shown(state["omega_h"])
        picture = view.picture(
            *shown,
            marks=marks,
            runs=session.oscillations,
            pinned=session.ghost,
            names=[state["scheme"], state["compare"]],
            look=self._size(),
        )
        self._layout = steady(picture.layout, self._layout)
        status = self._status(session.solution, time.perf_counter() - begin)
        frame = self._framed(self._accepted() | session.pending, status, picture.data)
        frame["cards"] = [_scheme_card(shown[0], drag), _step_card(marks, state)]
        return frame

    def _status(self, run: Solution, seconds: float, drag: bool = False) -> Status:
        status = super()._status(run, seconds, drag)
        session = self.session
        if status["level"] == "error":
            return status
        radius = session.shown(session.state["omega_h"])[0].radius[0]
        if session.oscillation.grows:
            return {
                **status,
                "level": "warn",
                "text": (
                    f"ωh = {session.state['omega_h']:.4g} is above the stability limit "
                    f"{session.found.limit:.6g}: in the long run every step multiplies the motion "
                    f"by {radius:.5g}. simulate refuses such a step; the curves show powers of the "
                    "amplification matrix."
                ),
            }
        return {**status, "text": f"spectral radius {radius:.9g} · {status['text']}"}

    def drawing(self) -> Picture:
        return _picture(self.session)


def _picture(session: StabilitySession) -> Picture:
    return view.picture(
        *session.shown(),
        at=session.state["omega_h"],
        runs=session.oscillations,
        pinned=session.ghost,
    )


def _scheme_card(study: Stability, drag: bool) -> Card:
    """Return what holds of a scheme at every step."""
    co = study.coefficients
    terms = ["none", "none"]
    if study.xi < 1:  # while a slider moves nobody reads fractions
        terms = ["…", "…"] if drag else [str(term) for term in study.leading()]
    rows = [
        ["stability limit ωh", _number(study.limit)],
        ["radius at infinity", _number(study.radius_at_infinity)],
        ["order", str(co.order)],
        ["damping, small ωh", terms[0]],
        ["period error, small ωh", terms[1]],
    ]
    return {"title": study.name, "rows": rows, "note": f"Lost: {co.lost}." if co.lost else ""}


def _step_card(at: list[Stability], state: State) -> Card:
    """Return the numbers at the chosen step, of each scheme shown."""
    quantities = (
        ("spectral radius", "radius"),
        ("damping ratio − ξ", "damping"),
        ("period error", "period_error"),
        ("overshoot of d", "overshoot_d"),
        ("overshoot of v/ω", "overshoot_v"),
    )
    return {
        "title": f"At ωh = {state['omega_h']:.4g} rad",
        "columns": [state["scheme"], state["compare"]][: len(at)],
        "rows": [
            [text, *(_number(float(getattr(one, name)[0])) for one in at)]
            for text, name in quantities
        ],
        "note": (
            "Overshoot: largest |d|, |v|/ω of the first ten steps from d = 1, v = 0. Click a "
            "curve or a root to run the oscillator with that step."
        ),
    }


def _number(x: float) -> str:
    return "∞" if x == np.inf else "–" if np.isnan(x) else number(round(x, 13)).replace("-", "−")


class StabilityPanel(SessionPanel):
    """The panel on a scheme of the Newmark family.

    Parameters
    ----------
    session : Session
        Taken over if it is a `StabilitySession`; of any other one the scheme, if it is of the
        Newmark family.
    """

    own_menu = True
    sessions, answers = StabilitySession, _Answer

    @classmethod
    def figure(cls, session: Session) -> Figure:
        assert isinstance(session, StabilitySession)
        return _picture(session).figure()


@panel(StabilityPanel)
def explore_stability(scheme: Chosen = "average acceleration", **settings: object) -> Shown:
    """Open the live panel on the stability of the Newmark family.

    Parameters
    ----------
    scheme : Newmark, GeneralizedAlpha, or a name of the menu
        Such as "central difference", "Newmark, free", "Chung-Hulbert".
    **settings
        By name: "beta", "gamma", "alpha", "rho_inf", "alpha_m", "alpha_f", whichever the scheme
        has; "xi" (physical damping ratio), "omega_h" (the step that is run, in rad), "compare" (a
        second scheme by its name, or "").

    Returns
    -------
    panel
        A widget; ``panel.session`` is the interface for scripts, and ``panel.session.found`` holds
        the data. With the environment variable ``EXPLORER_STATIC`` set, a plain plotly figure
        instead, with the same ``session``.

    Raises
    ------
    ExplorerError
        If the scheme is not of the family, or a number is inadmissible.

    Examples
    --------
    >>> import explorer as ex
    >>> panel = ex.explore_stability("central difference", compare="average acceleration")
    >>> round(panel.session.found.limit, 9)
    2.0
    """
    return StabilityPanel.shown(StabilitySession(scheme, **settings))
