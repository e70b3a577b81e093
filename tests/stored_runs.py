"""Which runs have stored numbers: each model with each scheme, each option of a scheme, ..."""

from __future__ import annotations

import dataclasses
import random
import warnings
from collections.abc import Callable

import numpy as np
from kinds import SYSTEMS, schemes_of
from stored_numbers import Nudge, Told, told

import explorer as ex
from explorer.errors import ExplorerError
from explorer.parameters import knobs_of
from explorer.results.solution import Solution

OWN = ("t", "q", "v", "p", "iterations")  # of a run that differs from another by one option
MARCH = ("code", "status_code", "counts", "steps", "phases", "tally", "places", "mult")


def values_of(name: str, away: float, seed: int = 0) -> dict[str, float]:
    """Return parameters that are not round numbers, so far away from the defaults."""
    rng = random.Random(f"{name} {seed}")
    found = {}
    for key, param in SYSTEMS[name].parameters.items():
        to = param.high if rng.random() < 0.5 else param.low
        share = away * rng.uniform(0.3, 1.0)
        found[key] = float(f"{param.value + share * (to - param.value):.6g}")
    return found


def scheme_of(name: str, scheme: str, **knobs: object) -> object:
    """Return the scheme as it is by default for a model, but for some options."""
    default = next(s for s in ex.schemes_for(SYSTEMS[name]) if type(s).__name__ == scheme)
    return dataclasses.replace(default, **knobs)


def of_run(run: Solution, only: tuple[str, ...] = ()) -> Told:
    """Return the numbers of a run: its rows, its events, what its scheme counts."""
    run.t
    rows = {
        k: x for k, x in vars(run).items()
        if isinstance(x, np.ndarray) and (not only or k in only)
    }  # fmt: skip
    found = told(rows) | told(
        {"rows": len(run.t), "status": run.status.name, "warned": len(run.warned)}
    )
    found["cautions"] = (len(run.cautions), 1.0) if not only else (0.0, 0.0)
    for row, where in (("first", 0), ("last", -1)) if not only else ():
        for key in ("q", "v", "x"):
            if key in rows and rows[key].ndim == 2 and len(rows[key]):
                found |= told(rows[key][where], f"{row}.{key}")
    march = vars(run).get("march")
    if march is not None:
        kept = {k: x for k, x in vars(march).items() if k in (MARCH if not only else MARCH[:3])}
        found |= told(kept, "march")
    return found | (told(list(run.events), "events") if not only else {"n": (len(run.events), 1.0)})


def answered(ask: Callable[[], object], only: tuple[str, ...] = ()) -> Told:
    """Return the numbers of what is found, or of the error that refuses it."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            found = ask()
        except ExplorerError as error:
            said = told(type(error).__name__, "error")
            run = getattr(error, "solution", None)
            return said | (of_run(run, only) if run is not None else {})
        return of_run(found, only) if isinstance(found, Solution) else told(found)


def short(name: str, scheme: str, t_end: float, nudge: Nudge, **knobs: object) -> Told:
    """A model with a scheme over a few steps and events, away from its defaults."""
    own = SHORT.get(scheme, lambda t_end: {"h": t_end / 40})(t_end) | knobs
    return answered(
        lambda: ex.simulate(
            SYSTEMS[name], scheme_of(name, scheme, **own), t_end=t_end, throw=False,
            rho=nudge(values_of(name, 0.1)),
        ),
        OWN if knobs else (),
    )  # fmt: skip


def whole(name: str, scheme: str, nudge: Nudge) -> Told:
    """A model with a scheme up to the end, far away from its defaults."""
    rho = nudge(values_of(name, 0.4, 1))
    t_end = SYSTEMS[name].t_end / 3
    t_end = float(int(t_end)) if SYSTEMS[name].discrete else t_end
    return answered(
        lambda: ex.simulate(
            SYSTEMS[name], scheme_of(name, scheme), t_end=t_end, rho=rho, throw=False
        ),
        OWN,
    )


def preset(name: str, which: str, nudge: Nudge) -> Told:
    """A model as one of its presets sets it."""
    system = SYSTEMS[name]
    given = system.presets[which]
    rho = {k: float(param.value) for k, param in system.parameters.items()}
    rho |= {k: float(x) for k, x in given.items() if k in rho}
    scheme = given.get("scheme", schemes_of(name)[0])
    knobs = {k: x for k, x in given.items() if k in knobs_of(getattr(ex, scheme))}
    t_end = min(float(given.get("t_end", system.t_end)), system.t_end)
    return answered(
        lambda: ex.simulate(
            system, scheme_of(name, scheme, **knobs), t_end=t_end, rho=nudge(rho), throw=False
        ),
        OWN,
    )


def derivative(name: str, scheme: str, method: str, t_end: float, nudge: Nudge) -> Told:
    """Derivatives of a run, of a cost and of events by three parameters."""
    system = SYSTEMS[name]
    first, *_, last = map(str, system.coordinates * 2)
    cost = {"g": f"({first} + 0.3)**2", "w": f"{last}**2 + t*{first}"}

    def ask() -> Told:
        found = ex.sensitivity(
            system, None if method == "discrete" else scheme_of(name, scheme),
            [*system.parameters][:3], cost, method, t_end=t_end,
            rho=nudge(values_of(name, 0.1)), directional="both",
        )  # fmt: skip
        return of_derivative(found, method)

    return answered(ask)


def of_derivative(found: ex.Sensitivity, method: str) -> Told:
    """Return the numbers of a sensitivity."""
    names = ("cost", "cost_gradient", "mu", "mu_ends", "left", "right")
    parts = {name: getattr(found, name) for name in names} | {"S": found.S, "Z": found.Z}
    parts["residuals"] = found.residuals
    if method in ("direct", "adjoint"):
        events = found.events
        parts |= {"events": events, "trust": found.trust}
        parts |= {"doubts": found.doubts, "at": found.at(0.4 * found.t[-1])}
        if events:
            salt = found.saltation(len(events) - 1)
            parts |= {"Xi": salt.Xi, "Pi": salt.Pi, "minus": salt.S_minus}
        if found.run.has_velocities and hasattr(found.solution.march, "force_slopes"):
            parts |= {"A": found.A, "Lam": found.Lam}
    return told({k: x for k, x in parts.items() if x is not None})


# what a scheme takes for a short run
SHORT: dict[str, Callable[[float], dict[str, object]]] = {
    "Iteration": lambda t_end: {},
    "FESD": lambda t_end: {"h": t_end / 4},
    "EventDriven": lambda _: {"rtol": 1e-5, "atol": 1e-6, "points": 7},
}

# options of the schemes that are tried on one model of each kind
OPTIONS: dict[str, list[dict[str, object]]] = {
    "EulerMoreau": [
        {"theta": 0.83, "gamma": 0.62}, {"gamma": 0.31, "gamma_on": "relation"},
        {"representation": "stewart"}, {"lcp": "lemke", "theta": 1.0}, {"lcp": "enumeration"},
        {"newton_max": 2, "newton_tol": 1e-14},
    ],
    "EventDriven": [
        {"method": "dopri5"}, {"method": "radau"}, {"method": "newmark"},
        {"method": "generalized-alpha"}, {"formulation": "projected"}, {"formulation": "penalty"},
        {"max_steps": 5}, {"max_events": 1}, {"rtol": 1e-11, "atol": 1e-12},
    ],
    "FESD": [
        {"stages": 1}, {"stages": 3, "elements": 3}, {"tableau": "lobatto_iiic"},
        {"tableau": "gauss"}, {"representation": "stewart"}, {"rule": "minus"}, {"rule": "slide"},
        {"split": "no"}, {"newton_max": 5}, {"max_switches": 1},
    ],
    "MoreauJean": [
        {"lcp": "enumeration"}, {"lcp": "pgs"}, {"theta": 0.72, "gamma": 0.81},
        {"forecast": 0.9}, {"mass_point": "iterate"}, {"projection": "none"},
        {"projection": "all"}, {"projection": "constraints"}, {"cone": "apgd"}, {"newton_max": 2},
    ],
    "Newmark": [
        {"form": "v"}, {"form": "d"}, {"a0": "zero"}, {"error_tol": 1e-4},
        {"beta": 0.31, "gamma": 0.57}, {"beta": 0.0}, {"newton_max": 2},
    ],
    "GeneralizedAlpha": [
        {"form": "v"}, {"form": "d"}, {"error_tol": 1e-4}, {"rho_inf": 0.37},
        {"family": "hht"}, {"family": "wbz"}, {"force": "interpolated"}, {"newton_max": 2},
    ],
    "NonsmoothGeneralizedAlpha": [
        {"lcp": "enumeration"}, {"lcp": "pgs"}, {"level": "velocity"}, {"forecast": 0.9},
        {"rho_inf": 0.37}, {"family": "hht"}, {"family": "wbz"}, {"force": "interpolated"},
        {"newton_max": 2},
    ],
    "ContactInNewmark": [{"beta": 0.31, "gamma": 0.57}],
    "SchatzmanPaoli": [{"beta": 0.11}, {"lcp": "enumeration"}, {"lcp": "pgs"}],
    "ThetaRK": [{"stages": 1}, {"stages": 3}, {"tableau": "gauss"}, {"representation": "stewart"}],
}  # fmt: skip
