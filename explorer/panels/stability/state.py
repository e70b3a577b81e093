"""The state of the stability panel: a scheme of the Newmark family, an oscillator, a step.

``{"model": "oscillator", "scheme", "knobs", "xi", "omega_h", "compare"}``; "scheme" and "compare"
are names of `SCHEMES` ("compare" may be empty), "knobs" the numbers that its sliders move. Full
keys: "scheme", "knob.rho_inf", "xi", "omega_h", "compare".
"""

from __future__ import annotations

import copy
import dataclasses
import functools
from collections.abc import Mapping
from typing import ClassVar, cast

import numpy as np

from explorer.errors import BadValue, suggest
from explorer.panels.code import called
from explorer.panels.session import Session
from explorer.panels.state import State, States, saved
from explorer.parameters import Param, number
from explorer.results.solution import Solution
from explorer.schemes.newmark import NAMED, GeneralizedAlpha, Newmark
from explorer.study.asked import Chosen
from explorer.study.oscillator import Oscillation, oscillation, oscillator
from explorer.study.stability import FAMILIES, Stability, checked, stability
from explorer.systems import System
from explorer.types import Settings

__all__ = ["KNOBS", "SCHEMES", "StabilitySession", "StabilityStates", "build"]

_GRID = tuple(np.logspace(-2, 3, 121).tolist())
FREE, FREE_ALPHA, DAMPED = "Newmark, free", "generalised-α, free", "average with damping"
SCHEMES: dict[str, tuple[str, ...]] = {  # and the sliders of each
    **dict.fromkeys((*NAMED, FREE), ("beta", "gamma")),
    DAMPED: ("alpha",),
    **dict.fromkeys(FAMILIES.values(), ("rho_inf",)),
    FREE_ALPHA: ("alpha_m", "alpha_f", "beta", "gamma"),
}
KNOBS = {
    "beta": Param(0.25, 0, 1, "", "weight of a1 in d"),
    "gamma": Param(0.5, 0, 1, "", "weight of a1 in v"),
    "alpha": Param(0.1, 0, 1, "", "damping"),
    "rho_inf": Param(0.8, 0, 1, "", "spectral radius at infinity"),
    "alpha_m": Param(0.0, -1, 1, "", "weight of old a"),
    "alpha_f": Param(0.0, 0, 1, "", "weight of old d, v"),
    "xi": Param(0.0, 0, 1, "", "physical damping ratio"),
    "omega_h": Param(0.5, 0.01, 100, "rad", "step times frequency", log=True),
}


def build(name: str, knobs: Mapping[str, float] | None = None) -> Newmark | GeneralizedAlpha:
    """Return the scheme of a name and its knobs, by default the usual ones."""
    given: Settings = dict(_usual(name) if knobs is None else knobs)
    if name == DAMPED:
        return Newmark.named(DAMPED, **given)
    if name == FREE_ALPHA:
        return GeneralizedAlpha(**given)
    family = next((k for k, label in FAMILIES.items() if label == name), None)
    return Newmark(**given) if family is None else GeneralizedAlpha(family=family, **given)


def _usual(name: str) -> dict[str, float]:
    if name in NAMED:
        return dict(zip(("beta", "gamma"), map(float, NAMED[name]), strict=True))
    return {k: KNOBS[k].value for k in SCHEMES[name]}


def _named(scheme: object) -> tuple[str, dict[str, float]]:
    """Return the name and the knobs that make a scheme."""
    smooth, _ = checked(scheme, 0)
    numbers = dataclasses.asdict(smooth.coefficients)
    if isinstance(smooth, Newmark):
        return _newmark(numbers), {k: numbers[k] for k in SCHEMES[FREE]}
    if any(getattr(smooth, k) is not None for k in numbers):
        return FREE_ALPHA, numbers
    return FAMILIES[smooth.family], {"rho_inf": smooth.rho_inf}


def _newmark(knobs: Mapping[str, float]) -> str:
    pair = (knobs["beta"], knobs["gamma"])
    return next((name for name, known in NAMED.items() if known == pair), FREE)


@functools.lru_cache(maxsize=32)  # most of it rests while one slider moves
def _study(scheme: Newmark | GeneralizedAlpha, xi: float, omega_h: tuple[float, ...]) -> Stability:
    return stability(scheme, xi, omega_h)


@functools.lru_cache(maxsize=8)
def _oscillation(scheme: Newmark | GeneralizedAlpha, xi: float, omega_h: float) -> Oscillation:
    return oscillation(scheme, xi, omega_h)


class StabilityStates(States):
    """States of the stability panel."""

    scales: ClassVar[Mapping[str, str]] = {
        name if name in ("xi", "omega_h") else f"knob.{name}": "log" if param.log else ""
        for name, param in KNOBS.items()
    }

    def system(self, state: State) -> System:
        """Return the oscillator; the same object as long as xi is the same."""
        key = str(state["xi"])
        if self._built is None or self._built[0] != key:
            self._built = (key, oscillator(state["xi"]))
        return self._built[1]

    def fresh(
        self, model: str, sizes: Mapping[str, int] | None = None, scheme: Chosen | None = None
    ) -> State:
        """Return the default state, of the average acceleration."""
        del sizes
        if scheme is None or (isinstance(scheme, str) and scheme in SCHEMES):
            name = scheme or "average acceleration"
            knobs = _usual(name)
        else:
            name, knobs = _named(scheme)
        other = "average acceleration" if name != "average acceleration" else "central difference"
        return {
            "model": model,
            "sizes": {},
            "scheme": name,
            "knobs": knobs,
            "xi": KNOBS["xi"].value,
            "omega_h": KNOBS["omega_h"].value,
            "compare": other,
        }

    def keys(self, state: State) -> list[str]:
        """Return the full key of everything that can be changed."""
        return ["scheme", *(f"knob.{k}" for k in state["knobs"]), "xi", "omega_h", "compare"]

    def change(self, state: State, key: str, value: object) -> State:
        """Return `state` with one entry changed, checked on its own."""
        new = copy.deepcopy(state)
        group, _, name = key.partition(".")
        if key in ("scheme", "compare"):
            if value not in SCHEMES and not (key == "compare" and value == ""):
                raise BadValue(f"There is no scheme {value!r} here.{suggest(value, SCHEMES)}")
            new[key] = value
            if key == "scheme":
                new["knobs"] = self._begun(state, value)
        elif group == "knob":
            new["knobs"][name] = number(value, name)
            if SCHEMES[state["scheme"]] == SCHEMES[FREE]:
                new["scheme"] = _newmark(new["knobs"])
            build(new["scheme"], new["knobs"])
        elif key == "omega_h":
            new[key] = number(value, "The step omega h", "rad", positive=True)
        else:
            new[key] = checked(build(state["scheme"], state["knobs"]), value)[1]
        return new

    def _begun(self, state: State, name: str) -> dict[str, float]:
        """Return the knobs of a scheme just chosen: a free one begins where the last one was."""
        if name in (FREE, FREE_ALPHA):
            numbers = dataclasses.asdict(build(state["scheme"], state["knobs"]).coefficients)
            return {k: numbers[k] for k in SCHEMES[name]}
        kept = {**_usual(name), **{k: x for k, x in state["knobs"].items() if k == "rho_inf"}}
        knobs = {k: kept[k] for k in SCHEMES[name]}
        try:
            build(name, knobs)
        except BadValue:  # HHT does not go as far as the others
            return _usual(name)
        return knobs

    def from_json(self, text: str | Mapping[str, object]) -> tuple[States, State]:
        """Return what `to_json` wrote; nothing in it is ever executed."""
        with saved(text) as given:
            state = self.change(self.fresh("oscillator"), "scheme", given["scheme"])
            for name, value in given["knobs"].items():
                state = self.change(state, self.key(state, f"knob.{name}"), value)
            for name in ("xi", "omega_h", "compare"):
                state = self.change(state, name, given[name])
        return self, state


class StabilitySession(Session):
    """A scheme of the Newmark family on the oscillator.

    Attributes
    ----------
    found : Stability
        Of `scheme`.
    oscillation : Oscillation
        The run with the chosen step; ``oscillation.motion`` is `solution`.
    """

    most_pins = 1
    _states = StabilityStates

    def __init__(self, scheme: Chosen | None = None, **settings: object) -> None:
        self._ran: Oscillation | None = None
        super().__init__("oscillator", scheme, **settings)

    @classmethod
    def of(cls, session: Session) -> StabilitySession:
        """Return a session of this kind, with the scheme of another one if it is of the family."""
        if isinstance(session, cls):
            return session
        scheme = session.scheme
        return cls(scheme if hasattr(scheme, "coefficients") else None)

    @property
    def scheme(self) -> Newmark | GeneralizedAlpha:
        """The scheme of the current state."""
        return build(self.state["scheme"], self.state["knobs"])

    @property
    def _other(self) -> list[Newmark | GeneralizedAlpha]:
        return [build(self.state["compare"])] if self.state["compare"] else []

    def shown(self, *omega_h: float) -> list[Stability]:
        """Return the stability of the present scheme, and of the one to compare with if any.

        At some steps in rad, or at those of the picture.
        """
        schemes = (self.scheme, *self._other)
        return [_study(x, self.state["xi"], omega_h or _GRID) for x in schemes]

    @property
    def found(self) -> Stability:
        """The stability of the present scheme."""
        return self.shown()[0]

    @property
    def oscillation(self) -> Oscillation:
        """The present run."""
        if self._ran is None or self._ran.motion is not self.solution:
            self.solution = self._run(self.states, self.state)
        assert self._ran is not None
        return self._ran

    @property
    def oscillations(self) -> list[Oscillation]:
        """The present run, and that of the scheme to compare with if any."""
        xi, omega_h = self.state["xi"], self.state["omega_h"]
        return [self.oscillation, *(_oscillation(one, xi, omega_h) for one in self._other)]

    @property
    def ghost(self) -> Stability | None:
        """The stability of the pinned scheme."""
        return cast("Stability | None", self.beside)

    def _beside(self) -> Stability:
        return self.found

    def _run(self, states: States, state: State) -> Solution:
        scheme = build(state["scheme"], state["knobs"])
        run = oscillation(scheme, state["xi"], state["omega_h"])
        if not run.motion.status.ok:
            raise BadValue(run.motion.status.message)
        _study(scheme, state["xi"], _GRID)  # what cannot be drawn is refused here
        self._ran = run
        return run.motion

    def code(self) -> str:
        """Return Python that makes the present picture without any widget."""
        lines = ["import explorer as ex", ""]
        names = []
        for i, one in enumerate(self.shown()):
            names.append(f"found{i + 1}")
            call = f"{names[-1]} = ex.study.stability"
            lines += called(call, [f"ex.{one.scheme!r}", f"xi={one.xi!r}"])
        lines += called("ex.views.stability", [*names, f"at={self.state['omega_h']!r}"])
        return "\n".join(lines) + "\n"
