"""Work-precision diagrams: error over steps and over time, for several schemes.

(Hairer, Norsett and Wanner, *Solving Ordinary Differential Equations I*, II.10.) In a log-log
diagram over the number of steps, a scheme of order p has the slope -p. Impacts that are resolved to
one step only change it to -1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from explorer.arguments import items
from explorer.dispatch.choose import choose
from explorer.dispatch.simulate import schemes_for, simulate
from explorer.errors import BadValue, ExplorerError
from explorer.parameters import knobs_of, number, whole
from explorer.quantities import quantity
from explorer.results.solution import Solution
from explorer.schemes import Scheme
from explorer.schemes.event_driven import EventDriven
from explorer.schemes.newmark import Newmark
from explorer.study import study
from explorer.study.asked import TOLERANCES, Chosen, Run, Schemes, with_knobs
from explorer.study.power_law import PowerLaw, power_law
from explorer.systems import LagrangianSystem, System, check_step, check_system, values_given
from explorer.types import Numbers

__all__ = ["Truth", "WorkCurve", "WorkPrecision", "sampled", "work_precision"]

Truth: TypeAlias = Callable[[np.ndarray], np.ndarray]  # t -> q or x (n_t, n)
_TIGHT = EventDriven(rtol=1e-12, atol=1e-13, max_steps=1_000_000)
_HALVINGS = range(3, -4, -1)  # of the model's own step
_LOOKED = 200  # rows at which the error is taken
_SENSE, _ROUND_OFF, _FINEST = 0.1, 1e-10, 5  # the finest runs with an error between are fitted


@study
@dataclass(frozen=True)
class WorkCurve:
    """One scheme.

    Attributes
    ----------
    name : str
    schemes : tuple of Scheme, as they were run
    steps : (k,) int
    seconds : (k,) float, the shortest of the runs
    error : (k,) float, relative
    law : PowerLaw or None
        error = factor * steps**exponent where it converges.
    """

    name: str
    schemes: tuple[Scheme, ...]
    steps: np.ndarray
    seconds: np.ndarray
    error: np.ndarray
    law: PowerLaw | None

    @property
    def order(self) -> float:
        """Measured order of convergence; nan if there are too few points."""
        return np.nan if self.law is None else -self.law.exponent


@study
@dataclass(frozen=True, repr=False)
class WorkPrecision:
    """Error against work of several schemes.

    Attributes
    ----------
    system : System
    t_end : float, in s
    reference : str, the origin of the reference
    curves : tuple of WorkCurve
    refused : tuple of str, a message for each run that failed or was refused
    """

    system: System
    t_end: float
    reference: str
    curves: tuple[WorkCurve, ...]
    refused: tuple[str, ...] = ()

    def __repr__(self) -> str:
        orders = ", ".join(f"{c.name} {c.order:.2f}" for c in self.curves)
        return f"WorkPrecision({self.system.name!r}, orders: {orders})"

    def _repr_markdown_(self) -> str:
        return "\n".join(
            [
                f"**{self.system.name}** over {quantity(self.t_end, 's')}, against "
                f"{self.reference}",
                "",
                "| scheme | order | steps | time (ms) | relative error |",
                "|---|---|---|---|---|",
                *(
                    f"| {c.name} | {c.order:.2f} | {c.steps[i]} | "
                    f"{quantity(1e3 * c.seconds[i], '', 3)} "
                    f"| {quantity(c.error[i], '', 3)} |"
                    for c in self.curves
                    for i in (0, -1)
                ),
            ]
        )


@study
def work_precision(
    system: System,
    schemes: Schemes = None,
    *,
    h: Sequence[float] | None = None,
    reference: Chosen | Truth | None = None,
    t_end: float | None = None,
    repeats: int = 3,
    rho: Numbers | None = None,
    **parameters: float,
) -> WorkPrecision:
    """Run schemes with many step sizes or tolerances and compare them with a reference.

    Parameters
    ----------
    system : MechanicalSystem or LinearMechanicalSystem
    schemes : scheme, sequence of them, or mapping of names to schemes, optional
        Schemes, classes or names; by default all that accept the system.
    h : (k,) float, optional
        Step sizes in s; by default seven around that of the model. Schemes with error control run
        with relative tolerances from 1e-3 to 1e-10.
    reference : optional
        "exact", the closed form of the model; a scheme; or a function t -> q (n_t, n). By default
        `EventDriven` at rtol = 1e-12, else the closed form.
    t_end : float, optional
        In s; by default the system's.
    repeats : int
        Number of runs, of which the shortest time counts.
    rho, **parameters
        Parameters by name.

    Returns
    -------
    WorkPrecision
        The error is the largest of any coordinate over the run, relative to the range of that
        coordinate. ``refused`` lists the runs that fail or are refused.

    Raises
    ------
    ExplorerError
        If there is no reference, or every run fails.

    Examples
    --------
    >>> import explorer as ex
    >>> ex.study.work_precision(ex.models.pendulum(), "Newmark", h=[0.02, 0.01, 0.005])
    WorkPrecision('pendulum', orders: Newmark 2.00)
    """
    check_system(system)
    if not isinstance(system, LagrangianSystem):
        raise BadValue(
            f"work_precision accepts mechanical systems, and {system.name!r} is not one."
        )
    values = values_given(system, rho, parameters)
    check_step(system, h, values)
    span = system.t_end if t_end is None else number(t_end, "t_end", "s", positive=True)
    given = [system.h * 2.0**k for k in _HALVINGS] if h is None else np.atleast_1d(h).tolist()
    steps = [number(x, "h", "s", positive=True) for x in given]
    if len(steps) < 2:
        raise BadValue(
            f"An order needs at least two step sizes, and h = {h!r} has {len(steps)}. Give "
            f"several, such as h=[{system.h:g}, {system.h / 2:g}]."
        )
    asked: Run = {"t_end": span, "rho": values, "throw": False}
    truth, known_from = _truth(system, reference, asked)
    if schemes is None:
        schemes = schemes_for(system)
    elif isinstance(schemes, (str, type, Scheme)):
        schemes = [schemes]
    if not isinstance(schemes, Mapping):
        chosen = [choose(system, one) for one in items(schemes, "schemes")]
        schemes = {_title(one): one for one in chosen}
    refused: list[str] = []
    again = whole(repeats, "repeats")
    curves = [
        _curve(name, choose(system, one), system, steps, truth, asked, again, refused)
        for name, one in schemes.items()
    ]
    drawn = tuple(c for c in curves if c.error.size)
    if not drawn:
        raise BadValue(f"Every run of '{system.name}' failed. {' '.join(refused[:1])}")
    return WorkPrecision(system, span, known_from, drawn, tuple(refused))


def _title(scheme: Scheme) -> str:
    """Return the scheme as one would type it, without what is varied."""
    marches = getattr(scheme, "newmark", None)
    if marches is not None:
        return f"{type(scheme).__name__}({_title(marches)})"
    changed = [
        f"{name}={getattr(scheme, name)!r}"
        for name, (default, _) in knobs_of(scheme).items()
        if getattr(scheme, name) != default and name not in ("h", "rtol", "atol", "max_steps")
    ]
    return type(scheme).__name__ + (f"({', '.join(changed)})" if changed else "")


def _truth(
    system: LagrangianSystem, reference: Chosen | Truth | None, asked: Run
) -> tuple[Truth, str]:
    """Return q at given times, and the words for where it is from."""
    rho = dict(zip(system.parameters, system.rho(asked["rho"]), strict=True))
    exact = system.exact
    closed = (
        exact is not None and np.isfinite(exact(np.array([asked["t_end"] / 2]), rho)["q"]).all()
    )
    if callable(reference) and not isinstance(reference, type):
        return reference, "a given function"
    if reference is None:
        reference = _TIGHT if _TIGHT.fits(system) else "exact"
    if isinstance(reference, str) and reference == "exact":
        if exact is None or not closed:
            raise BadValue(
                f"There is no closed form of '{system.name}' with these parameters; give "
                "reference=... a scheme, such as Newmark(h=1e-5), or a function of t."
            )
        return lambda t: exact(t, rho)["q"], "its closed form"
    run = simulate(system, reference, **asked)
    if not run.status.ok:
        raise BadValue(f"The reference run failed: {run.status.message}")
    return sampled(run), repr(run.scheme)


def sampled(run: Solution) -> Truth:
    """Return q or x of a run at any times, by steps of its own or else between its rows."""
    if run.has("march"):
        return _BySteps(run)
    if run.has_velocities:
        from scipy.interpolate import CubicHermiteSpline

        rows = np.append(True, np.diff(run.t) > 0)
        cubics: Truth = CubicHermiteSpline(run.t[rows], run.q[rows], run.v[rows])
        return cubics
    return _ByLines(run.t, run.q)


@dataclass(frozen=True)
class _BySteps:
    """q or x of a run by steps of its own: as a class, because a study that holds it is pickled."""

    run: Solution

    def __call__(self, t: np.ndarray) -> np.ndarray:
        return np.asarray(self.run.march.sample(t)[0][:, : self.run.q.shape[1]])


@dataclass(frozen=True)
class _ByLines:
    """x (n_t, n) on straight lines between the rows at times t (n_t,)."""

    t: np.ndarray
    x: np.ndarray

    def __call__(self, t: np.ndarray) -> np.ndarray:
        return np.stack([np.interp(t, self.t, x) for x in self.x.T], axis=1)


def _varied(scheme: Scheme, steps: Sequence[float]) -> list[Scheme]:
    """Return the scheme with every step, or with every tolerance."""
    if "h" in knobs_of(scheme):
        return [with_knobs(scheme, h=x) for x in steps]
    newmark: Newmark | None = getattr(scheme, "newmark", None)
    if newmark is not None:
        marches = [with_knobs(newmark, h=x) for x in steps]
        return [with_knobs(scheme, method=one) for one in marches]
    return [with_knobs(scheme, rtol=x, atol=x / 10, max_steps=1_000_000) for x in TOLERANCES]


def _curve(
    name: str,
    scheme: Scheme,
    system: LagrangianSystem,
    steps: Sequence[float],
    truth: Truth,
    asked: Run,
    repeats: int,
    refused: list[str],
) -> WorkCurve:
    kept: list[tuple[Scheme, int, float, float]] = []
    for one in _varied(scheme, steps):
        try:
            runs = [simulate(system, one, **asked) for _ in range(repeats)]
        except ExplorerError as error:
            refused.append(f"{one!r}: {error}")
            continue
        run = runs[0]
        if not run.status.ok:
            refused.append(f"{one!r}: {run.status.message}")
            continue
        rows = np.unique(np.linspace(0, len(run.t) - 1, _LOOKED).astype(int))
        right = np.asarray(truth(run.t[rows]), float)
        if right.shape != run.q[rows].shape:
            raise BadValue(
                f"The reference must return q at the times it is given, {run.q[rows].shape}, but "
                f"its shape is {right.shape}."
            )
        scale = np.maximum(np.ptp(right, axis=0), 1e-9 * max(np.ptp(right), 1e-300))
        off = float((np.abs(run.q[rows] - right) / scale).max())
        kept.append((one, run.status.step, min(r.seconds for r in runs), off))
    schemes, count, seconds, errors = zip(*kept, strict=True) if kept else ((),) * 4
    x, y = np.array(count, int), np.array(errors, float)
    fitted = np.flatnonzero((y < _SENSE) & (y > _ROUND_OFF))
    fitted = fitted[np.argsort(-x[fitted])][:_FINEST]
    law = power_law(x[fitted], y[fitted]) if np.unique(x[fitted]).size >= 3 else None
    return WorkCurve(name, schemes, x, np.array(seconds, float), y, law)
