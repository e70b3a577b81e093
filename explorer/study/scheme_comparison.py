"""One model through all its schemes: what each of them computes, and how far from the best one."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from explorer.arguments import items
from explorer.dispatch.choose import choose
from explorer.dispatch.simulate import schemes_for, simulate
from explorer.errors import BadValue, ExplorerError, LessonWarning
from explorer.parameters import knobs_of, number
from explorer.quantities import quantity
from explorer.results.solution import Solution
from explorer.schemes import Scheme
from explorer.schemes.event_driven import EventDriven
from explorer.schemes.fesd import FESD
from explorer.study import study
from explorer.study.asked import Chosen, Schemes, with_knobs
from explorer.study.work_precision import Truth, sampled
from explorer.systems import System, check_step, check_system, values_given
from explorer.systems.drive import Inputs
from explorer.systems.modes import Mode
from explorer.types import Numbers, Reals, Settings

__all__ = ["ComparedRun", "SchemeComparison", "compare_schemes"]

_TIGHT = EventDriven(rtol=1e-11, atol=1e-12, max_steps=1_000_000)
_FINER = 32  # times smaller steps, where no scheme locates events
_LOOKED = 2000  # rows at which the error is taken
_APART = 1e-9  # of the span, from a jump: the reference jumps nearly at the same time


@study
@dataclass(frozen=True)
class ComparedRun:
    """The run of one scheme.

    Attributes
    ----------
    name : str
    solution : Solution
    error : float
        Root mean square over time of the difference of a coordinate from the reference, relative
        to the range of that coordinate; of the coordinate for which it is largest.
    """

    name: str
    solution: Solution
    error: float


@study
@dataclass(frozen=True, repr=False)
class SchemeComparison:
    """Runs of one model by several schemes.

    Attributes
    ----------
    system : System
    t_end : float, in the time unit of the system
    reference : str, the origin of the reference
    truth : function t (k,) -> q or x (k, n)
    best : Solution or None, the reference if it is a run
    runs : tuple of ComparedRun
    refused : dict of str to str, for each scheme that failed or was refused the message
    """

    system: System
    t_end: float
    reference: str
    truth: Truth
    best: Solution | None
    runs: tuple[ComparedRun, ...]
    refused: Mapping[str, str]

    def __repr__(self) -> str:
        errors = ", ".join(f"{run.name} {run.error:.2g}" for run in self.runs)
        return f"SchemeComparison({self.system.name!r}, errors: {errors})"

    def _repr_markdown_(self) -> str:
        return "\n".join(
            [
                f"**{self.system.name}** over {quantity(self.t_end, self.system.time_unit)}, "
                f"against {self.reference}",
                "",
                "| scheme | mean error | steps | events | time (ms) |",
                "|---|---|---|---|---|",
                *(
                    f"| {r.name} | {quantity(r.error, '', 3)} | {r.solution.status.step} | "
                    f"{len(r.solution.events)} | {quantity(1e3 * r.solution.seconds, '', 3)} |"
                    for r in self.runs
                ),
                *(f"| {name} | {said} | | | |" for name, said in self.refused.items()),
            ]
        )


@study
def compare_schemes(
    system: System,
    schemes: Schemes = None,
    *,
    h: float | None = None,
    reference: Chosen | None = None,
    t_end: float | None = None,
    q0: Reals | float | None = None,
    v0: Reals | float | None = None,
    x0: Reals | float | None = None,
    mode0: str | Mode | None = None,
    u: Inputs | None = None,
    rho: Numbers | None = None,
    **parameters: float,
) -> SchemeComparison:
    """Run a model by several schemes and compare each run with the best one.

    Parameters
    ----------
    system : System
    schemes : scheme, sequence of them, or mapping of names to schemes, optional
        Schemes, classes or names; by default all that accept the system.
    h : float, optional
        Step size of all schemes that take one, in the time unit of the system; by default each has
        its usual one. Of a system with a parameter h it needs ``rho={"h": ...}`` beside it.
    reference : optional
        "exact", the closed form of the model; or a scheme. By default `EventDriven` at
        rtol = 1e-11, else the closed form, else `FESD` of order 7, else the first scheme with a
        step 32 times smaller.
    t_end, q0, v0, x0, mode0, u
        As for `simulate`.
    rho, **parameters
        Parameters by name.

    Returns
    -------
    SchemeComparison
        ``refused`` has a message for each scheme that fails or is refused.

    Raises
    ------
    ExplorerError
        If there is no reference, or every run fails.

    Examples
    --------
    >>> import explorer as ex
    >>> found = ex.study.compare_schemes(ex.models.bouncing_ball(), ["MoreauJean", "EventDriven"])
    >>> [run.name for run in found.runs if run.error < 1e-6]
    ['EventDriven']
    """
    check_system(system)
    if system.discrete:
        raise BadValue(
            f"'{system.name}' is a map, which Iteration alone runs: there is nothing to compare."
        )
    span = system.t_end
    if t_end is not None:
        span = number(t_end, "t_end", system.time_unit, positive=True)
    start = {"q0": q0, "v0": v0, "x0": x0, "mode0": mode0, "u": u}
    values = values_given(system, rho, parameters)
    check_step(system, h, values)
    asked: Settings = {"t_end": span, "throw": False, "rho": values}
    asked = {**asked, **{name: value for name, value in start.items() if value is not None}}
    named = _named(system, schemes, h)
    runs: list[ComparedRun] = []
    refused: dict[str, str] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LessonWarning)  # its lesson is what the picture shows
        known_from, truth, best = _truth(system, reference, next(iter(named.values())), asked)
        for name, one in named.items():
            run = _run(system, one, asked)
            if isinstance(run, str):
                refused[name] = run
            else:
                runs.append(ComparedRun(name, run, _error(run, truth)))
    if not runs:
        raise BadValue(f"Every run of '{system.name}' failed. {next(iter(refused.values()), '')}")
    return SchemeComparison(system, span, known_from, truth, best, tuple(runs), refused)


def _named(system: System, schemes: Schemes, h: float | None) -> dict[str, Scheme]:
    """Return the schemes by the names of their curves."""
    if schemes is None:
        schemes = schemes_for(system)
    elif isinstance(schemes, (str, type, Scheme)):
        schemes = [schemes]
    if isinstance(schemes, Mapping):
        named = {name: choose(system, one) for name, one in schemes.items()}
    else:
        named = dict(_titles([choose(system, one) for one in items(schemes, "schemes")]))
    if not named:
        raise BadValue(f"There is no scheme to compare: no scheme accepts '{system.name}'.")
    if h is None:
        return named
    step = number(h, "h", system.time_unit, positive=True)
    return {
        name: with_knobs(one, h=step) if "h" in knobs_of(one) else one
        for name, one in named.items()
    }


def _titles(chosen: Sequence[Scheme]) -> Iterator[tuple[str, Scheme]]:
    """Name each scheme by its class, and by all its options where several are of one class."""
    kinds = [type(one) for one in chosen]
    for one in chosen:
        yield (type(one).__name__ if kinds.count(type(one)) == 1 else repr(one)), one


def _run(system: System, scheme: Scheme, asked: Settings) -> Solution | str:
    """Return the run of a scheme, or the sentence of why there is none."""
    try:
        run = simulate(system, scheme, **asked)
    except ExplorerError as error:
        return str(error).splitlines()[0]
    return run if run.status.ok else run.status.message


def _truth(
    system: System, reference: Chosen | None, first: Scheme, asked: Settings
) -> tuple[str, Truth, Solution | None]:
    """Return the words for where the reference is from, what it is, and its run.

    Raises
    ------
    BadValue
        If no run and no closed form is to be had.
    """
    said = ""
    for one in _references(system, first) if reference is None else [reference]:
        if isinstance(one, str) and one == "exact":
            if (closed := _closed(system, asked)) is not None:
                return "its closed form", closed, None
            said = f"'{system.name}' has no closed form with these parameters and this start."
            continue
        run = _run(system, choose(system, one), asked)
        if not isinstance(run, str):
            return repr(run.scheme), sampled(run), run
        said = run
    raise BadValue(
        f"There is nothing to compare with. {said} Give reference=... a scheme that can run it."
    )


def _references(system: System, first: Scheme) -> Iterator[Chosen]:
    """Yield what may be the reference, the best one first."""
    if EventDriven.fits(system):
        yield _TIGHT
    yield "exact"
    if FESD.fits(system):
        yield FESD(stages=4, h=FESD.usual_step(system))
    if "h" in knobs_of(first):
        yield with_knobs(first, h=first.usual_step(system) / _FINER)
    yield first


def _closed(system: System, asked: Settings) -> Truth | None:
    """Return the closed form, if it holds for these parameters and the start."""
    exact = system.exact
    if exact is None or {"q0", "v0", "x0", "mode0", "u"} & {*asked}:
        return None
    rho = dict(zip(system.parameters, system.rho(asked["rho"]), strict=True))
    closed = _Closed(exact, rho)
    known = closed(np.linspace(0.0, float(asked["t_end"]), 5))
    return closed if np.isfinite(known).all() else None


@dataclass(frozen=True)
class _Closed:
    """The closed form with its parameters: as a class, because a study that holds it is pickled."""

    exact: Callable[..., dict[str, np.ndarray]]
    rho: dict[str, float]

    def __call__(self, t: np.ndarray) -> np.ndarray:
        form = self.exact(t, self.rho)
        return form["x"] if "x" in form else form["q"]


def _error(run: Solution, truth: Truth) -> float:
    """Return the mean difference of the coordinate that differs most, see `ComparedRun`."""
    rows = np.unique(np.linspace(0, len(run.t) - 1, _LOOKED).astype(int))
    t, x = run.t[rows], run.q[rows]
    right = _on_both_sides(t, truth)
    scale = np.maximum(np.ptp(right, axis=0), 1e-9 * max(np.ptp(right), 1e-300))
    return float(np.sqrt(np.trapezoid(((x - right) / scale) ** 2, t, axis=0) / np.ptp(t)).max())


def _on_both_sides(t: np.ndarray, truth: Truth) -> np.ndarray:
    """Return the reference at the rows of a run: of two at one time the first is before a jump."""
    twice = np.diff(t) == 0
    apart = _APART * np.ptp(t) * (np.append(False, twice) - 1.0 * np.append(twice, False))
    times, places = np.unique(np.clip(t + apart, t[0], t[-1]), return_inverse=True)
    return np.asarray(truth(times))[places]
