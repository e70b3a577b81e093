"""The panel on orbit diagrams: they sharpen while one looks, and a click shows the motion there."""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

import numpy as np

from explorer.models import models
from explorer.panels import controls
from explorer.panels.controls import choice, slider, typed
from explorer.panels.messages import Control, Group, Status, Values
from explorer.panels.orbits.state import COLOURED, OrbitsSession, offered, shown_of
from explorer.panels.see import toggle
from explorer.panels.session import Model
from explorer.panels.session_panel import Shown, panel
from explorer.panels.sharpening import SharpAnswer, SharpPanel
from explorer.panels.state import OWN
from explorer.parameters import Param
from explorer.quantities import quantity
from explorer.study.diagram_branches import DiagramBranches
from explorer.study.diagram_exponents import DiagramExponents
from explorer.study.orbits import Orbits
from explorer.study.over import states_of
from explorer.study.sharpening import FOLLOWS
from explorer.views.drawing.picture import Picture, label, state_label
from explorer.views.orbits import orbits as view

__all__ = ["OrbitsPanel", "explore_orbits"]

_NAMED = 4  # bifurcations that the status names
_FOLLOWED = {
    "up": "from left to right",
    "down": "from right to left",
    "none": "each from the start",
}
_COLOURS = {"period": "period", "attractor": "attractor", "exponent": "largest Lyapunov exponent"}
assert tuple(_FOLLOWED) == FOLLOWS
assert tuple(_COLOURS) == COLOURED


Level: TypeAlias = Literal["warn", "unchecked"] | None


class _Answer(SharpAnswer[Orbits]):
    """Answers the browser from a session with an orbit diagram."""

    session: OrbitsSession
    saved, named = "orbits", "Orbits"
    windows: ClassVar[dict[str, tuple[str, str]]] = {
        "xaxis": ("low", "high"),
        "yaxis": ("bottom", "top"),
    }

    def _window(self) -> list[object]:
        see = self.session.state["see"]
        return [see[k] for k in ("by", "state", "low", "high", "bottom", "top")]

    def groups(self) -> list[Group]:
        session, now = self.session, self._accepted()
        system, see = session.system, session.state["see"]
        own = {g["name"]: g["controls"] for g in controls.groups(session)}
        known = {OWN, *filter(offered, models)}
        for control in own["model"]:
            if control["key"] == "model":
                control["choices"] = [c for c in control["choices"] if c[0] in known]
        by, p = see["by"], system.parameters[see["by"]]
        ranged = [(k, label(k)) for k, q in system.parameters.items() if q.low < q.high or k == by]
        span = Param(min(max(p.value, see["low"]), see["high"]), see["low"], see["high"], p.unit)
        names = states_of(system)[0]
        states = [(s, state_label(s, names)) for s in names]
        diagram: list[Control] = [
            choice("see.by", "over", now, ranged, "The parameter that varies") | {"default": by},
            typed("see.low", "from", p.unit, now, p.low, f"lower end of {by}"),
            typed("see.high", "to", p.unit, now, p.high, f"upper end of {by}"),
            choice("see.state", "drawn", now, states, "The state that is drawn on the section"),
            {**slider("see.at", "shown at", span, now), "label": f"{label(by)} shown"},
        ]
        tip = "What the colours of the dots tell"
        diagram.append(choice("see.colour", "coloured by", now, [*_COLOURS.items()], tip))
        if not system.discrete:
            tip = "Cycles through the dots, stable or not, with their bifurcations"
            diagram.append(toggle("branches", see["branches"], tip, default=False))
        how = [
            choice("see.follow", "followed", now, [*_FOLLOWED.items()], "Where a column begins"),
            typed("see.transient", "left out", "", now, 100, "returns before a column begins"),
            typed("see.starts", "more starts", "", now, 0, "further starts at random, up to 5"),
        ]
        rest = [c for c in own.get("parameters", []) if c["key"] != f"rho.{by}"]
        start = [c for c in own["start"] if c["key"] not in ("t_end", "mode0")]
        ordered: list[tuple[str, str, bool, list[Control]]] = [
            ("model", "Model", True, own["model"]),
            ("diagram", "Diagram", True, diagram),
            ("parameters", "Parameters", True, rest),
            ("columns", "Columns", True, how),
            ("start", "Start", False, start),
            ("scheme", "Scheme", False, own["scheme"]),
        ]
        return [{"name": n, "title": t, "open": o, "controls": c} for n, t, o, c in ordered if c]

    def _accepted(self) -> Values:
        session = self.session
        hidden = ("begin", "bottom", "top")
        own = {f"see.{k}": x for k, x in session.state["see"].items() if k not in hidden}
        return controls.accepted(session) | own

    def _picture(self, found: Orbits | None) -> Picture:
        session = self.session
        see = session.state["see"]
        window = None if None in (see["bottom"], see["top"]) else (see["bottom"], see["top"])
        return view.picture(
            found or session.nothing(),
            see["state"],
            window=window,
            at=see["at"],
            run=session.solution,
            branches=self._branches().branches if see["branches"] else (),
            exponents=self._exponents() if see["colour"] == "exponent" else None,
            attractors=see["colour"] == "attractor",
            key="see.at",
            look=self._looked(),
        )

    def _branches(self) -> DiagramBranches:
        """Return the branches that are known; those of a picture that stays, all of them."""
        return self.session.branches(0.0 if self.live else None)

    def _exponents(self) -> DiagramExponents:
        """Return the exponents that are known; those of a picture that stays, all of them."""
        return self.session.exponents(0.0 if self.live else None)

    def _told(self, found: Orbits | None, seconds: float, drag: bool) -> Status:
        session = self.session
        status = self._status(session.solution, seconds, drag)
        if status["level"] == "error":
            return status
        see, many = session.state["see"], len(found.values) if found else 0
        returns = "iterates" if session.system.discrete else "returns"
        at = quantity(see["at"], session.system.parameters[see["by"]].unit, 6)
        many_shown = f"{shown_of(session.system)} {returns}"
        said = f"the motion at {see['by']} = {at} over {many_shown}: {status['text']}"
        if found is None or found.done < 1:
            part = 100 * found.done if found else 0
            text = f"The diagram sharpens, {part:.0f} % · {said}"
            return {**status, "level": "unchecked", "text": text}
        bad = int(found.failed.sum())
        if not found.found.any():
            text = f"The motion does not come back to its section in any column · {said}"
            return {**status, "level": "warn", "text": text}
        text = f"{int(found.found.sum())} points in {many} columns · {said}"
        if see["colour"] == "exponent":
            level, about = _grown(self._exponents(), found)
            status = {**status, "level": level or status["level"]}
            text = f"{about} · {text}" if about else text
        if see["branches"]:
            level, about = _about(self._branches(), session.system.parameters[see["by"]].unit)
            status = {**status, "level": level or status["level"]}
            text = f"{about} · {text}"
        if bad:
            first = found.values[found.failed.argmax()]
            text = f"{bad} of {many} columns have no result, such as {first:.6g}. {text}"
            return {**status, "level": "warn", "text": text}
        return {**status, "text": text}

    def table(self) -> str:
        return self.session.to_csv()


def _about(found: DiagramBranches, unit: str) -> tuple[Level, str]:
    """Return the level of branches, if it differs from that of the rest, and what is said."""
    many = len(found.branches)
    said = f"{many} branch{'es' * (many != 1)} of cycles" if many else "No branch of cycles"
    marks = sorted({(p.parameter, p.kind) for one in found.branches for p in one.points})
    near = {(float(f"{value:.6g}"), kind) for value, kind in marks}  # both phases of a cycle
    if near and len(near) <= _NAMED:
        said += ": " + ", ".join(f"{kind} at {quantity(x, unit, 6)}" for x, kind in sorted(near))
    elif near:
        said += f" with {len(near)} bifurcations"
    if not found.done:
        return "unchecked", f"Branches are followed: {said[0].lower()}{said[1:]} so far"
    if found.problem and not many:
        return "warn", found.problem
    return None, said


def _grown(found: DiagramExponents, of: Orbits) -> tuple[Level, str]:
    """Return the level of exponents, if it differs from that of the rest, and what is said."""
    if found.done < 1:
        return "unchecked", f"Exponents are computed, {100 * found.done:.0f} %"
    none = int((np.isnan(found.values) & of.known & ~of.failed).sum())
    if found.problem and none:
        return "warn", f"{none} columns have no exponent. {found.problem}"
    return None, f"{none} columns have no exponent: an event grazes there" if none else ""


class OrbitsPanel(SharpPanel):
    """The panel on an orbit diagram.

    Parameters
    ----------
    session : Session
        Taken over if it is an `OrbitsSession`; of any other one its model and parameters.
    """

    sessions, answers = OrbitsSession, _Answer


@panel(OrbitsPanel)
def explore_orbits(
    model: Model = "impact_oscillator", by: str | None = None, **settings: object
) -> Shown:
    """Open the orbit diagram of a model: it sharpens while one looks, and a click shows the motion.

    Drag a box, or turn the wheel, to compute a part of it anew; undo goes back.

    Parameters
    ----------
    model : str, System or builder
        A model of the gallery by name, a system, or a function that returns one.
    by : str, optional
        The parameter that varies; by default the frequency of what drives the system, or the first.
    **settings
        Parameters by name; "low" and "high", the range of the one that varies; "state", which is
        drawn; "at", the value whose motion is shown; "follow", "up", "down" or "none"; "transient",
        the returns that are left out; "branches", True to draw branches of cycles over the dots;
        "colour", "period", "attractor" or "exponent"; "starts", how many further starts at random
        make the same columns.

    Returns
    -------
    panel
        A widget; ``panel.session`` is the interface for scripts, and ``panel.session.diagram()``
        holds the points. With the environment variable ``EXPLORER_STATIC`` set, a plain plotly
        figure instead, with the same ``session``.

    Raises
    ------
    ExplorerError
        If the model has no section that is known, or a number is inadmissible.

    Examples
    --------
    >>> import explorer as ex
    >>> panel = ex.explore_orbits("impact_oscillator", "omega", s=0)
    >>> panel.session.state["rho"]["s"]  # its diagram sharpens once the panel is shown
    0.0
    """
    return OrbitsPanel.shown(OrbitsSession(model, by, None, **settings))
