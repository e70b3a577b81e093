"""The control panel: a plan that follows its start, goal and parameters, and is carried out."""

from __future__ import annotations

import time
from typing import cast

import numpy as np

from explorer.control import OptimalControlProblem, Plan, optimize
from explorer.errors import BadValue
from explorer.models import models
from explorer.panels.answer import SessionAnswer
from explorer.panels.control.cards import cards, words
from explorer.panels.control.controls import groups, values
from explorer.panels.control.film import film
from explorer.panels.control.state import ControlSession
from explorer.panels.messages import Frame, Group, History, Schema, Status
from explorer.panels.session import Session
from explorer.panels.session_panel import SessionPanel, Shown, panel
from explorer.systems import StepSystem
from explorer.tasks import Task, tasks
from explorer.views.drawing.picture import Picture, steady
from explorer.views.drawing.polyline import Look
from explorer.views.drawing.traces import Figure
from explorer.views.mechanism import lean
from explorer.views.plan import plan as view

__all__ = ["ControlPanel", "explore_control"]


class _Answer(SessionAnswer):
    """Answers the browser from a session whose plan follows its controls."""

    session: ControlSession
    saved = "plan"

    def schema(self) -> Schema:
        system = self.session.system
        task = repr(self.session.plan.task).partition(": ")[2][:-1]
        named = f"Plan of the {system.name}"
        return {**super().schema(), "title": named, "subtitle": task, "presets": []}

    def groups(self) -> list[Group]:
        return groups(self.session)

    def stop(self) -> None:
        """Stop the search that runs, from another thread."""
        self.session.stop()

    def _history(self) -> History:
        ghost = self.session.ghost
        pinned = None if ghost is None else f"a plan of cost {ghost.objective:.6g}"
        return {**super()._history(), "pinned": pinned}

    @np.errstate(all="ignore")  # an absurd number typed is no picture, but no warning either
    def _frame(self, begin: float, drag: bool) -> Frame:
        session = self.session
        picture = _picture(session, self._size())
        drawn = (session.plan.task.system, len(session.plan.sequence), session.ghost is None)
        before = self._layout if self._drawn == drawn else None
        self._layout, self._drawn = steady(picture.layout, before, moving=drag), drawn
        status = self._said(time.perf_counter() - begin, drag)
        frame = self._framed(values(session) | session.pending, status, picture.data)
        frame["mechanism"] = lean(film(session.plan, session.course))
        frame["cards"] = cards(session, drag)
        return frame

    def _said(self, seconds: float, drag: bool) -> Status:
        session = self.session
        if session.errors:
            text = session.problem or next(iter(session.errors.values()))
            return {"level": "error", "text": text, "detail": "", "stale": True}
        if session.problem:
            return {"level": "error", "text": session.problem, "detail": "Nothing has changed."}
        text, good = words(session, drag)
        level = "warn" if not good else "unchecked" if drag else "ok"
        return {"level": level, "text": text, "detail": f"answered in {1e3 * seconds:.0f} ms"}

    def table(self) -> str:
        return self.session.to_csv()

    def drawing(self) -> Picture:
        return view.picture(self.session.plan, self.session.course)


def _picture(session: ControlSession, look: Look) -> Picture:
    plan, ghost = session.plan, session.ghost
    return view.picture(plan, session.course, ghost, replayed=False, handles=True, look=look)


class ControlPanel(SessionPanel):
    """The panel on a plan.

    Parameters
    ----------
    session : Session
        Taken over if it is a `ControlSession`; any other one has no plan, and the usual one is
        shown.
    """

    own_menu = True
    sessions, answers = ControlSession, _Answer

    @classmethod
    def figure(cls, session: Session) -> Figure:
        assert isinstance(session, ControlSession)
        return view(session.plan, session.course)


def _usual() -> OptimalControlProblem:
    """Return the problem that is shown if none is given: least time, from rest to rest."""
    return OptimalControlProblem(
        cast(StepSystem, models["pushed_block"]()),
        t_end=(0.1, 10),
        intervals=15,
        terminal="t",
        end={"x": 1, "v": 0},
        bounds={"v": (-3, 3)},
    )


@panel(ControlPanel)
def explore_control(plan: Plan | OptimalControlProblem | None = None, **settings: object) -> Shown:
    """Open the live panel on a plan; it plans again while its start, goal or a parameter moves.

    Needs the extra ``control``.

    Parameters
    ----------
    plan : Plan, OptimalControlProblem, or a task by name, optional
        A problem is solved first. By default a block that is pushed over 1 m in least time.
    **settings
        By full key: ``**{"x0.v": 0.5}`` for a state of the start, "end.x" for a goal, parameters by
        name; ``play`` is "plan", "open", "feedback" or "mpc"; "push.size", "push.state" and
        "push.t" of a push that nobody planned for.

    Returns
    -------
    panel
        A widget; ``panel.session`` is the interface for scripts, and ``panel.session.plan`` and
        ``panel.session.course`` hold the data. With the environment variable ``EXPLORER_STATIC``
        set, a plain plotly figure instead, with the same ``session``.

    Raises
    ------
    BadValue
        If it is given neither a plan nor a problem, or a setting is inadmissible.
    NotApplicable
        If CasADi is not installed.

    Examples
    --------
    >>> import explorer as ex
    >>> panel = ex.explore_control(ex.optimize(ex.tasks.rough_block()))
    >>> panel.session.plan.status
    'stationary'
    """
    if isinstance(plan, str):
        plan = tasks[plan]
    if isinstance(plan, Task):
        plan = optimize(plan(), plan.guess)
    elif plan is None or isinstance(plan, OptimalControlProblem):
        plan = optimize(plan or _usual())
    elif not isinstance(plan, Plan):
        raise BadValue(
            f"explore_control takes a plan or a problem, not a {type(plan).__name__}: "
            "explore_control(ex.optimize(ex.OptimalControlProblem(system, ...)))."
        )
    return ControlPanel.shown(ControlSession(plan, **settings))
