"""Order across switches: the error at the end over the step, for stages and schemes.

The experiment of Nurkanovic, Frey, Pozharskiy, Diehl 2023, figure 1: FESD with s stages of Radau
IIA has order 2 s - 1 where Runge-Kutta time stepping of the same equations has order 1. The error
of smoothed step functions stays of the order of their width, at any tolerance.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from explorer.arguments import items
from explorer.dispatch.choose import choose
from explorer.dispatch.simulate import schemes_for, simulate
from explorer.errors import BadValue, ExplorerError, LessonWarning
from explorer.parameters import knobs_of, number, whole
from explorer.quantities import quantity
from explorer.reformulations import smoothing
from explorer.results.solution import Solution
from explorer.schemes import Scheme
from explorer.schemes.event_driven import EventDriven
from explorer.schemes.fesd import FESD
from explorer.schemes.theta_rk import ThetaRK
from explorer.study import study
from explorer.study.asked import TOLERANCES, Chosen, Run, Schemes, with_knobs
from explorer.study.power_law import power_law
from explorer.study.work_precision import WorkCurve, WorkPrecision
from explorer.systems import (
    HybridSystem,
    StateSpaceSystem,
    System,
    check_step,
    check_system,
    values_given,
)
from explorer.types import Numbers

__all__ = ["STAGED", "STEPS", "order_diagram", "staged", "truth"]

Reference: TypeAlias = Chosen | Sequence[float] | np.ndarray | None  # for its words see `truth`
STEPS = 10 * 2 ** np.arange(8)  # over the whole span
STAGED = {kind.__name__: kind for kind in (FESD, ThetaRK)}
_SMOOTHED = EventDriven()
_SENSE, _ROUND_OFF, _FINEST = 0.3, 2e-12, 5  # the finest runs with an error between are fitted
_FEWEST, _MORE = 3, 6  # so many of them at least, of so many with finer steps


@study
def order_diagram(
    system: System,
    schemes: Schemes = None,
    *,
    h: Sequence[float] | None = None,
    reference: Reference = None,
    t_end: float | None = None,
    repeats: int = 1,
    width: float | None = None,
    rho: Numbers | None = None,
    **parameters: float,
) -> WorkPrecision:
    """Run schemes with several step sizes and compare the final states with a reference.

    Parameters
    ----------
    system : StepSystem, HybridSystem or FirstOrderSystem
    schemes : scheme, sequence of them, or mapping of names to schemes, optional
        By default `FESD` and `ThetaRK` with 1 to 4 stages, or the schemes that accept the system.
        Schemes with error control run with relative tolerances from 1e-3 to 1e-10.
    h : (k,) float, optional
        Step sizes in s, for `FESD` the lengths of its elements; by default eight, from 1/10 to
        1/1280 of the time span.
    reference : optional
        "exact", the closed form of the model; a scheme; or the final state (n_x,). By default the
        closed form, else `FESD` of order 7 with a quarter of the smallest step.
    t_end : float, optional
        In s; by default the system's.
    repeats : int
        Number of runs, of which the shortest time counts.
    width : float, optional
        Width of the smooth layer that replaces each step function, in the unit of the switching
        functions. It adds a curve, for the system of `reformulations.smoothing`.
    rho, **parameters
        Parameters by name.

    Returns
    -------
    WorkPrecision
        The error is the largest of any final state, relative to the largest final state.
        ``refused`` lists the runs that fail or are refused. If these steps do not determine the
        order, finer runs that are not shown determine it.

    Raises
    ------
    ExplorerError
        If there is no reference, or every run fails.

    Examples
    --------
    >>> import explorer as ex
    >>> found = ex.study.order_diagram(ex.models.switched_oscillator())
    >>> [round(curve.order) for curve in found.curves[1:4]]
    [3, 5, 7]
    """
    check_system(system)
    if not isinstance(system, StateSpaceSystem):
        raise BadValue(
            f"order_diagram accepts systems x' = ..., and {system.name!r} is not one. Use "
            "study.work_precision for mechanical systems."
        )
    unit = system.time_unit
    values = values_given(system, rho, parameters)
    check_step(system, h, values)
    span = system.t_end if t_end is None else number(t_end, "t_end", unit, positive=True)
    given = (span / STEPS).tolist() if h is None else np.atleast_1d(h).tolist()
    steps = sorted((number(x, "h", unit, positive=True) for x in given), reverse=True)
    asked: Run = {"t_end": span, "rho": values, "throw": False}
    right, known_from = truth(system, reference, asked, steps[-1])
    if schemes is None:
        schemes = {
            name: one
            for kind in STAGED
            if STAGED[kind].fits(system)
            for name, one in staged(kind).items()
        } or schemes_for(system)
    elif isinstance(schemes, (str, type, Scheme)):
        schemes = [schemes]
    if not isinstance(schemes, Mapping):
        schemes = {repr(one): one for one in (choose(system, k) for k in items(schemes, "schemes"))}
    again = whole(repeats, "repeats")
    refused: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LessonWarning)  # its lesson is what this study shows
        curves = [
            _curve(name, choose(system, one), system, steps, right, asked, again, refused)
            for name, one in schemes.items()
        ]
        if width is not None:
            smooth = _smoothed(system)
            thick = number(width, "width", positive=True)
            layered = asked | {"rho": {**values, "width": thick}}
            name = f"smoothing, width {thick:.3g}"
            curves.append(_curve(name, _SMOOTHED, smooth, steps, right, layered, again, refused))
    drawn = tuple(c for c in curves if c.error.size)
    if not drawn:
        raise BadValue(f"Every run of '{system.name}' failed. {' '.join(refused[:1])}")
    return WorkPrecision(system, span, known_from, drawn, tuple(refused))


def staged(kind: str, **knobs: float | str) -> dict[str, Scheme]:
    """Return a scheme of `STAGED` with every number of stages that its tableau has, by name."""
    schemes: dict[str, Scheme] = {}
    make: Callable[..., Scheme] = STAGED[kind]
    for s in range(1, 5):
        with contextlib.suppress(BadValue):  # Lobatto's methods have two stages at least
            schemes[f"{kind}, {s} stage{'s' * (s > 1)}"] = make(stages=s, **knobs)
    return schemes


def _smoothed(system: StateSpaceSystem) -> HybridSystem:
    """Return the smoothed system; its width is a parameter, so it is compiled once."""
    if "smoothed" not in system.made:
        system.made["smoothed"] = smoothing(system)  # type: ignore[arg-type]  # refuses others
    smoothed: HybridSystem = system.made["smoothed"]
    return smoothed


def _end(run: Solution) -> np.ndarray:
    """Return the state at the end, without the rows of the solution where they wait to be made."""
    if not run.has("march"):
        last: np.ndarray = run.q[-1]
        return last
    state: np.ndarray = run.march.sample(np.array([run.status.t]), exact=False)[0][0]
    return state[: run.system.n]


def truth(
    system: StateSpaceSystem, reference: Reference, asked: Run, step: float
) -> tuple[np.ndarray, str]:
    """Return the state at the end, and the words for where it is from.

    Raises
    ------
    ExplorerError
        As `order_diagram`, whose `reference` it takes; `step` is the smallest one to be judged.
    """
    rho, span = dict(zip(system.parameters, system.rho(asked["rho"]), strict=True)), asked["t_end"]
    if reference is None or (isinstance(reference, str) and reference == "exact"):
        if system.exact is not None:
            closed = system.exact(np.array([span]), rho)["x"][0]
            if np.isfinite(closed).all():
                return closed, "its closed form"
        if reference is not None:
            raise BadValue(
                f"There is no closed form of '{system.name}' with these parameters; give "
                "reference=... a scheme, or the state at the end."
            )
        if not FESD.fits(system):
            raise BadValue(
                f"'{system.name}' has no closed form, and FESD does not accept it, so a reference "
                "is missing: give reference=... the state at the end, or a scheme with a much "
                "smaller step, such as "
                f"{type(schemes_for(system)[0]).__name__}(h={step / 100:.1g})."
            )
        reference = FESD(stages=4, h=step / 2)
    if not isinstance(reference, (str, type, Scheme)):
        state = np.asarray(reference, float)
        if state.shape != (system.n,) or not np.isfinite(state).all():
            raise BadValue(f"The reference needs {system.n} finite numbers, the state at the end.")
        return state, "a given state"
    run = simulate(system, reference, **asked)
    if not run.status.ok:
        raise BadValue(f"The reference run failed: {run.status.message}")
    return _end(run), repr(run.scheme)


def _varied(scheme: Scheme, steps: Sequence[float]) -> list[tuple[float, Scheme]]:
    """Return every step, or every tolerance, and the scheme with it."""
    if "h" in knobs_of(scheme):
        return [(x, _stepped(scheme, x)) for x in steps]
    return [(x, with_knobs(scheme, rtol=x, atol=x / 10)) for x in TOLERANCES]


def _stepped(scheme: Scheme, step: float) -> Scheme:
    """Return the scheme with a step, which is the length of an element."""
    return with_knobs(scheme, h=getattr(scheme, "elements", 1) * step)


def _told(errors: np.ndarray) -> np.ndarray:
    """Return the runs that tell an order: behind the last without sense, up to round-off."""
    wild = np.flatnonzero(~(errors < _SENSE))
    first = wild[-1] + 1 if len(wild) else 0
    return first + np.flatnonzero(errors[first:] > _ROUND_OFF)


def _curve(
    name: str,
    scheme: Scheme,
    system: System,
    steps: Sequence[float],
    truth: np.ndarray,
    asked: Run,
    repeats: int,
    refused: list[str],
) -> WorkCurve:
    kept: list[tuple[Scheme, int, float, float]] = []
    size, stepped = np.abs(truth).max() or 1.0, "h" in knobs_of(scheme)
    varied = _varied(scheme, steps)
    asked_for = len(varied)
    while varied:
        number_of, one = varied.pop(0)
        which = (
            f"h = {quantity(number_of, system.time_unit, 3)}"
            if stepped
            else f"rtol = {number_of:.0e}"
        )
        try:
            runs = [simulate(system, one, **asked) for _ in range(repeats)]
        except ExplorerError as error:
            refused.append(f"{name}, {which}: {error}")
            continue
        if not runs[0].status.ok:
            refused.append(f"{name}, {which}: {runs[0].status.message}")
            continue
        off = float(np.abs(_end(runs[0]) - truth).max() / size)
        if not np.isfinite(off):
            refused.append(f"{name}, {which}: the solution is not finite.")
            continue
        kept.append((one, max(runs[0].status.step, 1), min(r.seconds for r in runs), off))
        # where the steps asked for tell no order finer ones may
        coarse = off > _ROUND_OFF and len(_told(np.array([k[3] for k in kept]))) < _FEWEST
        if stepped and not varied and coarse and len(kept) < asked_for + _MORE:
            varied.append((number_of / 2, _stepped(scheme, number_of / 2)))
    schemes, count, seconds, errors = zip(*kept, strict=True) if kept else ((),) * 4
    x, y = np.array(count, int), np.array(errors, float)
    fitted = _told(y)[-_FINEST:]
    law = None
    if stepped and np.unique(x[fitted]).size >= _FEWEST:  # a tolerance has no order
        law = power_law(x[fitted], y[fitted])
    own = slice(0, asked_for)
    return WorkCurve(name, schemes[own], x[own], np.array(seconds, float)[own], y[own], law)
