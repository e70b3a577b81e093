"""Random runs over models, schemes and numbers, and who judges them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import sympy as sp

import explorer as ex
from examiner import contacts, hybrid, laws, steps, switched
from examiner.systems import made, names
from examiner.written import rho_of
from explorer.parameters import knobs_of

STEPS = 1500  # at most
_CHOSEN = ("tableau", "representation", "gamma_on", "mass_point", "projection", "cone", "level",
           "lcp", "rule")  # fmt: skip


def drawn(rng: np.random.Generator, low: float, high: float, log: bool) -> float:
    if log:
        return float(np.exp(rng.uniform(np.log(low), np.log(high))))
    return float(rng.uniform(low, high))


def knobs(rng: np.random.Generator, usual: Any, system: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if "h" in knobs_of(usual):
        found["h"] = usual.h * drawn(rng, 0.3, 10, True)
    for knob, (default, meta) in knobs_of(usual).items():
        if knob in _CHOSEN and rng.random() < 0.4:
            found[knob] = str(rng.choice([c for c in meta.choices if isinstance(c, str)]))
        plain = isinstance(default, float) and meta.low is not None and knob not in ("h", "step")
        if plain and rng.random() < 0.4:
            found[knob] = drawn(rng, meta.low, meta.high, meta.log)
    if "stages" in knobs_of(usual):
        found["stages"] = int(rng.integers(1, 5))
    if isinstance(usual, ex.EventDriven):
        known = ["dop853", "dopri5"] if system.n > 12 else ["dop853", "dop853", "dopri5", "radau"]
        if isinstance(system, ex.MechanicalSystem | ex.LinearMechanicalSystem):
            known += ["newmark", "generalized-alpha"]
        found["method"] = str(rng.choice(known))
        found["step"] = system.h * drawn(rng, 0.3, 10, True)
    return found


def random_run(rng: np.random.Generator) -> Any:
    """Return a run that was not refused, or None."""
    system = made(str(rng.choice(names())))
    usual = ex.schemes_for(system)[int(rng.integers(len(ex.schemes_for(system))))]
    chosen = knobs(rng, usual, system)
    given = {
        k: drawn(rng, p.low, p.high, p.log)
        for k, p in system.parameters.items() if rng.random() < 0.5
    }  # fmt: skip
    t_end = system.t_end * drawn(rng, 0.2, 1, False)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            scheme = type(usual)(**chosen)
            if "h" in chosen:
                t_end = min(t_end, STEPS * scheme.h)
            return ex.simulate(system, scheme, t_end=t_end, rho=given, throw=False)
        except ex.ExplorerError:
            return None


def family(run: Any) -> str:
    """Return the kind of scheme and system, for a table."""
    name = type(run.scheme).__name__
    if isinstance(run.scheme, ex.EventDriven | ex.FESD):
        return f"{name} on {type(run.system).__name__}"
    return name


def judge(run: Any, rng: np.random.Generator) -> Iterator[str]:
    """Yield a sentence for each equation that a run without caution does not keep."""
    system, scheme = run.system, run.scheme
    if run.has("pseudo"):
        yield from switched.judge_elements(run.pseudo)
        unit = frozen_unit(run)
        kind = hybrid.judge_hybrid if isinstance(system, ex.HybridSystem) else (
            contacts.judge_located)  # fmt: skip
        yield from kind(run, rng, unit)
    elif run.has("boundaries"):
        unit = None
        if isinstance(scheme, ex.FESD | ex.ThetaRK):
            yield from switched.judge_elements(run, isinstance(scheme, ex.FESD))
            unit = switched.element_errors(switched.written(system), run, rho_of(run))
        if not isinstance(scheme, ex.ThetaRK):
            yield from switched.judge_switched(run, rng, unit)
    elif isinstance(system, ex.HybridSystem):
        yield from hybrid.judge_hybrid(run, rng)
    elif isinstance(scheme, ex.EventDriven):
        yield from contacts.judge_located(run, rng)
    elif isinstance(system, ex.FirstOrderSystem):
        yield from laws.judge_first_order(run, rng)
    elif isinstance(scheme, ex.EulerMoreau):
        yield from laws.judge_rewritten(run, rng)
    elif isinstance(scheme, ex.MoreauJean):
        yield from steps.judge_steps(run, rng)
    else:
        yield from contacts.judge_structure(run, rng)
        yield from contacts.judge_capturing(run, rng)
    if not isinstance(system, ex.systems.StateSpaceSystem):
        yield from contacts.judge_energy(run)


def frozen_unit(run: Any) -> Any:
    """Return what the elements of a frozen run leave between two physical times."""
    march = run.march
    error = switched.element_errors(
        switched.written(run.pseudo.system), run.pseudo, rho_of(run.pseudo)
    )
    ends = np.append(march.elements.times[:, 0], march.elements._end)
    # elements that hold a kink of a force are of a low order, which no tolerance forbids
    size, formulas = np.abs(run.x).max(), getattr(run.system, "force", ())
    over_kinks = 1e-4 * any(f.has(sp.Abs, sp.Max, sp.Min, sp.Piecewise) for f in formulas)

    def unit(t0: float, t1: float) -> float:
        inside = np.flatnonzero((march.clock[1:] >= t0) & (march.clock[:-1] <= t1))
        if not len(inside):
            return 1e-12
        made = 5 * float(error(ends[inside[0]], ends[inside[-1] + 1])) + 1e-12
        return made + over_kinks * size

    return unit
