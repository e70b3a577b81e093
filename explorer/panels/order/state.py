"""The state of the order panel: a model with step functions, and the curves that are compared.

That of a session whose scheme is `FESD`, and one entry more: ``"see": {"width", "FESD", "ThetaRK",
"EulerMoreau", "EventDriven", "smoothing"}``, the width of the layers and which curves are shown.
Full keys: "see.width", "see.ThetaRK"; of the scheme "knob.tableau" and "knob.representation".
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from contextlib import suppress
from typing import ClassVar, TypeAlias, cast

from explorer.dispatch.simulate import simulate
from explorer.errors import BadValue, ExplorerError
from explorer.models import models
from explorer.panels.code import called, opening, settings
from explorer.panels.menus import menu
from explorer.panels.see import SeeStates
from explorer.panels.session import Model, Session
from explorer.panels.state import State, States
from explorer.parameters import number
from explorer.results.solution import Solution
from explorer.schemes import Scheme
from explorer.schemes.euler_moreau import EulerMoreau
from explorer.schemes.event_driven import EventDriven
from explorer.schemes.fesd import FESD
from explorer.study.asked import Chosen, Run
from explorer.study.order_diagram import STAGED, STEPS, order_diagram, staged, truth
from explorer.study.work_precision import WorkCurve, WorkPrecision
from explorer.systems import StepSystem

__all__ = ["CURVES", "KNOBS", "WIDTH", "OrderSession", "OrderStates", "offered"]

CURVES = (*STAGED, "EulerMoreau", "EventDriven", "smoothing")
KNOBS = ("knob.tableau", "knob.representation")
WIDTH = 0.01
Pairs: TypeAlias = tuple[tuple[str, float], ...]  # parameters by name, as a key
_MOVING = 5  # of the steps are run while a slider moves
_PLAIN = 80  # intervals of the run that has to succeed before anything is drawn


@menu("order")
def offered(name: str) -> bool:
    """Tell whether a model of the gallery has step functions."""
    return isinstance(models[name](), StepSystem)


@functools.lru_cache(maxsize=16)
def _truth(
    system: StepSystem, revision: int, t_end: float, rho: Pairs, representation: str, step: float
) -> tuple[tuple[float, ...], str]:
    """Return the state at the end, by the closed form or else by FESD of order 7."""
    del revision  # what was found of other equations is not asked for again
    asked: Run = {"t_end": t_end, "rho": dict(rho), "throw": False}
    try:
        end, words = truth(system, "exact", asked, step)
    except BadValue:
        scheme = FESD(stages=4, h=step / 2, representation=representation)
        end, words = truth(system, scheme, asked, step)
    return tuple(end.tolist()), words


@functools.lru_cache(maxsize=256)  # most of them rest while one slider moves
def _curve(
    system: StepSystem,
    revision: int,
    t_end: float,
    rho: Pairs,
    end: tuple[float, ...],
    count: int,
    name: str,
    scheme: Scheme | None,
    width: float | None,
) -> tuple[tuple[WorkCurve, ...], tuple[str, ...]]:
    """Return one curve, or the sentences of why there is none."""
    del revision
    curve: dict[str, Scheme] = {} if scheme is None else {name: scheme}
    try:
        diagram = order_diagram(
            system,
            curve,
            h=(t_end / STEPS[:count]).tolist(),
            reference=end,
            t_end=t_end,
            rho=dict(rho),
            width=width,
        )
    except ExplorerError as error:
        return (), (str(error).splitlines()[0],)
    return diagram.curves, diagram.refused


class OrderStates(SeeStates):
    """States of the order panel."""

    scales: ClassVar[Mapping[str, str]] = {"see.width": "log"}

    def fresh(
        self, model: str, sizes: Mapping[str, int] | None = None, scheme: Chosen | None = None
    ) -> State:
        """Return the default state of a model."""
        del scheme  # all of them are compared
        system = self.system({"model": model, "sizes": dict(sizes or {})})
        if not isinstance(system, StepSystem):
            raise BadValue(
                f"'{system.name}' has no step functions, so FESD has no switches to detect. "
                f"Gallery models with step functions: {', '.join(filter(offered, models))}."
            )
        state = super().fresh(model, sizes, FESD)
        state["see"] = {"width": WIDTH, **dict.fromkeys(CURVES, True)}
        return state

    def takes(self, key: str) -> bool:
        """Whether a full key of a session is one of this panel too."""
        return key.startswith(("model", "t_end", "size.", "rho.")) or key in KNOBS

    def seen(self, state: State, name: str, value: object) -> float:
        """Return the checked width of the layers."""
        return number(value, "The width of the smooth layers", positive=True)

    def fitting(self, given: State) -> State:
        """Return what of a saved state this panel takes."""
        knobs = {k: x for k, x in given["knobs"].items() if f"knob.{k}" in KNOBS}
        return given | {"scheme": "FESD", "knobs": knobs if given["scheme"] == "FESD" else {}}


class OrderSession(Session):
    """A model with step functions, and the error of schemes over their steps.

    Attributes
    ----------
    solution : Solution
        One run, by `FESD` of two stages; where that fails the state is refused.
    """

    most_pins = 1
    _states = OrderStates

    def __init__(self, model: Model = "switched_oscillator", **settings: object) -> None:
        super().__init__(model, None, **settings)

    @classmethod
    def of(cls, session: Session) -> OrderSession:
        """Return a session of this kind, of the model of another one if it has step functions."""
        if isinstance(session, cls):
            return session
        if not isinstance(session.system, StepSystem):
            return cls()
        own = session.states.own is not None
        new = cls(session.system if own else session.state["model"])
        groups = {"size": session.state["sizes"], "rho": session.state["rho"]}
        new.change({f"{g}.{k}": x for g, values in groups.items() for k, x in values.items()})
        new.take_spans(session)
        new._past.clear()
        return new

    def diagram(self, *, moving: bool = False) -> WorkPrecision:
        """Return the errors of the schemes that are shown.

        Parameters
        ----------
        moving : bool
            Whether the finest steps are left out, as the panel does while a slider moves.
        """
        if not moving:
            with suppress(ExplorerError):  # the finest steps may fail where the others do not
                return self._compared(self.states, self.state, len(STEPS))
        return self._compared(self.states, self.state, _MOVING)

    @property
    def ghost(self) -> WorkPrecision | None:
        """The pinned errors."""
        return cast("WorkPrecision | None", self.beside)

    def _beside(self) -> WorkPrecision:
        return self.diagram()

    def _run(self, states: States, state: State) -> Solution:
        scheme = dataclasses.replace(FESD(**state["knobs"]), h=state["t_end"] / _PLAIN)
        asked = {k: state[k] for k in ("t_end", "rho")}
        run = simulate(states.system(state), scheme, throw=False, **asked)
        if not run.status.ok:
            raise BadValue(run.status.message)
        self._compared(states, state, _MOVING)  # what cannot be drawn is refused here
        return run

    def _compared(self, states: States, state: State, count: int) -> WorkPrecision:
        """Return the errors with the first `count` step sizes."""
        system, see, t_end = states.system(state), state["see"], state["t_end"]
        run = (system, system.revision, t_end, tuple(state["rho"].items()))
        finest = float(t_end / STEPS[count - 1])
        end, known_from = _truth(*run, state["knobs"]["representation"], finest)
        drawn: list[WorkCurve] = []
        refused: list[str] = []
        for name, scheme in _schemes(state).items():
            curves, words = _curve(*run, end, count, name, scheme, None)
            drawn += curves
            refused += words
        if see["smoothing"]:
            curves, words = _curve(*run, end, count, "smoothing", None, see["width"])
            drawn += curves
            refused += words
        if not drawn:
            raise BadValue(refused[0])
        return WorkPrecision(system, t_end, known_from, tuple(drawn), tuple(refused))

    def code(self) -> str:
        """Return Python that makes the present picture without any widget."""
        *lines, _ = opening(self)
        schemes = [f"{name!r}: ex.{one!r}" for name, one in _schemes(self.state).items()]
        lines += ["schemes = {", *(f"    {line}," for line in schemes), "}"]
        asked = ["model", "schemes", *settings(self)]
        if self.state["see"]["smoothing"]:
            asked.append(f"width={self.state['see']['width']!r}")
        known_from = self.diagram().reference
        if known_from.startswith("FESD("):
            asked.append(f"reference=ex.{known_from}")
        call = called("found = ex.study.order_diagram", asked)
        return "\n".join([*lines, *call, 'ex.views.work_precision(found, over="h")']) + "\n"

    def to_csv(self) -> str:
        """Return the errors as CSV: a row for each run."""
        diagram = self.diagram()
        rows = [f"curve,steps,h ({diagram.system.time_unit}),time (s),relative error"]
        for c in diagram.curves:
            every = zip(c.steps, diagram.t_end / c.steps, c.seconds, c.error, strict=True)
            rows += [
                f'"{c.name}",{n},{h!r},{s!r},{e!r}'
                for n, *more in every
                for h, s, e in [map(float, more)]
            ]
        return "\n".join(rows) + "\n"


def _schemes(state: State) -> dict[str, Scheme]:
    """Return the schemes of a state that are shown, by name."""
    see, shared = state["see"], {k.partition(".")[2]: state["knobs"][k[5:]] for k in KNOBS}
    shown = {n: one for kind in STAGED if see[kind] for n, one in staged(kind, **shared).items()}
    others = {
        "EulerMoreau": EulerMoreau(representation=shared["representation"]),
        "EventDriven": EventDriven(),
    }
    return shown | {name: one for name, one in others.items() if see[name]}
