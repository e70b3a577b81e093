"""Many parameter sets and starts in one call, of which only what is observed is kept."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import TypeAlias

from explorer.arguments import items
from explorer.dispatch.choose import choose, numbers_of
from explorer.errors import BadValue
from explorer.recorder import MOST_BYTES
from explorer.schemes import Scheme
from explorer.schemes.event_driven import EventDriven
from explorer.study import study
from explorer.study.asked import Chosen
from explorer.study.over import Axes, Over
from explorer.study.parts import Runs, Stop, run_parts, workers_of
from explorer.study.question import Question
from explorer.study.section import Section
from explorer.study.swept import Sweep
from explorer.systems import System, check_system, values_given
from explorer.types import Numbers, Value

__all__ = ["check_executor", "check_size", "sweep", "usual"]

Observe: TypeAlias = "str | Section | Sequence[str | Section]"
_WORDS = ("end", "events", "extrema")
_DAY = 86_400.0  # s that a sweep may take
_MANY = 1_000  # runs from which on their time is estimated first
_PILOTS = 3


@study
def sweep(
    system: System,
    scheme: Chosen | None = None,
    *,
    over: Over | None = None,
    observe: Observe = "end",
    t_end: Value | None = None,
    transient: Value = 0.0,
    executor: Runs | None = None,
    folder: str | Path | None = None,
    stop: Stop | None = None,
    progress: bool = True,
    rho: Numbers | None = None,
    **parameters: float,
) -> Sweep:
    """Run a system for many parameters and starts; keep only what is observed.

    Each run is the one that `simulate` makes alone, to the last bit, whatever executes it.

    Parameters
    ----------
    system : MechanicalSystem, HybridSystem or another that a scheme takes
    scheme : Scheme, its class, or its name
        By default `EventDriven` where it takes the system: its kernel runs many members in one
        call, without a record. Schemes of fixed steps have such a kernel for systems without
        constraints, compliance and hysteresis, `EulerMoreau` for systems of first order that are
        not sparse. Others run one by one.
    over : dict
        Values (k,) of each axis by name: a parameter, or a start "q0.x", "v0.x" or "x0.x" of a
        coordinate or state x. Several axes span their outer product. A tuple of names takes rows
        (k, names) of values that vary together.
    observe : str or Section, or several
        "end", the states at the end, and "events", how many there were, are always kept. "extrema"
        keeps the least and the largest value of each state, a `Section` the states on it.
    t_end, transient : float or formula of the parameters
        End of a run in s, by default that of the system; nothing is observed before `transient`.
    executor : concurrent.futures.Executor or distributed.Client, optional
        Runs the parts: a ProcessPoolExecutor, for example, or the client of a Dask cluster (extra
        ``dask``), which repeats the part of a worker that dies. By default threads on all cores.
    folder : path, optional
        Where finished parts are kept. The same call goes on from them, whatever ended it.
    stop : function without arguments, optional
        It is called several times a second. Once it returns True, no further part is run.
    progress : bool
        Whether a bar with the time left appears if it takes long.
    rho, **parameters
        Other parameters by name.

    Returns
    -------
    Sweep
        Points that have failed are NaN, with their status.

    Raises
    ------
    BadValue, BadModel, NotApplicable
        The arguments are inconsistent; the sweep is too large for memory or for a day.
    ExplorerError
        A worker of the executor has failed.

    Examples
    --------
    >>> import explorer as ex
    >>> ball = ex.models.bouncing_ball()
    >>> found = ex.study.sweep(ball, over={"e": [0.5, 0.8], "q0.y": [1, 2, 3]}, t_end=0.6)
    >>> found.shape, found.events[:, 0, 0].tolist()
    ((2, 3), [1, 1])
    """
    check_system(system)
    chosen = choose(system, usual(system) if scheme is None else scheme)
    section, extrema = _observed(observe)
    question = Question(
        system,
        chosen,
        tuple(numbers_of(system, chosen, values_given(system, rho, parameters))),
        Axes.of(system, over),
        system.t_end if t_end is None else t_end,
        transient,
        section,
        extrema,
    )
    check_executor(executor)
    check_size(question, workers_of(executor))
    begin = time.perf_counter()
    found = run_parts(question, executor, folder, progress=progress, stop=stop)
    return Sweep(question, found, time.perf_counter() - begin)


def check_executor(executor: object) -> None:
    """Refuse what runs nothing.

    Raises
    ------
    BadValue
    """
    if executor is None or isinstance(executor, Executor) or hasattr(executor, "get_executor"):
        return
    raise BadValue(
        f"executor = {executor!r} must be an executor of concurrent.futures, such as "
        "ProcessPoolExecutor(), or a Dask client, distributed.Client()."
    )


def usual(system: System) -> type[Scheme] | None:
    return EventDriven if EventDriven.fits(system) else None


def _observed(observe: Observe) -> tuple[Section | None, bool]:
    """Return the section, and whether extrema are wanted."""
    several = items(observe, "observe", str, Section)
    sections = [one for one in several if isinstance(one, Section)]
    for word in several:
        if not isinstance(word, Section) and word not in _WORDS:
            raise BadValue(f"observe takes 'end', 'events', 'extrema' or a Section, not {word!r}.")
    if len(sections) > 1:
        raise BadValue("observe takes one Section; sweep again for another.")
    return sections[0] if sections else None, "extrema" in several


def check_size(question: Question, workers: int) -> None:
    """Refuse a sweep that is too large, with what it would take and what would fit.

    Raises
    ------
    BadValue
    """
    size, each = question.axes.size, question.bytes_each
    if size * each <= MOST_BYTES and size <= _MANY:
        return
    seconds = _seconds_each(question) / workers
    fits = int(min(MOST_BYTES / each, _DAY / seconds))
    if size <= fits:
        return
    raise BadValue(
        f"A sweep of {size:.3g} runs would take about {size * seconds / 3600:.3g} h on {workers} "
        f"worker{'s' * (workers != 1)} and {size * each / 2**30:.3g} GB of memory; "
        f"{MOST_BYTES / 2**30:g} GB and {_DAY / 3600:g} h are allowed. About {fits:.2g} runs fit: "
        "use fewer values, or several sweeps one after the other."
    )


def _seconds_each(question: Question) -> float:
    """Return the seconds of one run: the mean of a few, which are spread over the axes."""
    size = question.axes.size
    question.run(0, 1)  # compiles
    begin = time.perf_counter()
    for k in _spread(size):
        question.run(k, k + 1)
    return max((time.perf_counter() - begin) / min(_PILOTS, size), 1e-9)


def _spread(size: int) -> Iterator[int]:
    yield from sorted({k * (size - 1) // max(_PILOTS - 1, 1) for k in range(_PILOTS)})
