"""Orbit diagram: the points of a section over one parameter, after transients.

Brute force: at each value the motion is run until transients have died out, and what remains is
drawn. With continuation a value begins where the one before has come to, so that one attractor is
followed; up and down together show where several coexist (Leine and Nijmeijer, *Dynamics and
Bifurcations of Non-Smooth Mechanical Systems*, 2004).
"""

from __future__ import annotations

import dataclasses
import time
import warnings
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from explorer.compiled.maps import compile_map
from explorer.dispatch.choose import choose, numbers_of
from explorer.errors import BadValue, ModelWarning, suggest
from explorer.parameters import whole
from explorer.study import study
from explorer.study.asked import Chosen
from explorer.study.forcing import check_period
from explorer.study.over import Axes, Axis, Over
from explorer.study.parts import Stop, blank, cores, run_chain, run_parts
from explorer.study.question import Question
from explorer.study.section import Section
from explorer.study.sweep import check_size, usual
from explorer.study.swept import Sweep
from explorer.systems import MapSystem, System, check_system, values_given
from explorer.types import Numbers, Value
from explorer.verification.landing import landed, sentence

__all__ = ["OrbitDiagram", "orbit_diagram"]

_WAYS = {"up": ("up",), "down": ("down",), "both": ("up", "down"), "none": ("none",)}


@study
@dataclass(frozen=True, repr=False)
class OrbitDiagram:
    """Points of a section over one parameter.

    Attributes
    ----------
    branches : dict of Sweep
        By the way in which the parameter was followed, "up" or "down", or "none" of them.
    seconds : float
        How long it took.
    """

    branches: dict[str, Sweep] = field(repr=False)
    seconds: float = 0.0

    @property
    def first(self) -> Sweep:
        """The first branch."""
        return next(iter(self.branches.values()))

    @property
    def system(self) -> System:
        """The system."""
        return self.first.system

    @property
    def by(self) -> str:
        """The parameter or start that varies."""
        return self.first.question.axes.axes[0].label

    def dots(self, state: str, way: str | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the parameter and a state of all points, (k,) both; of one branch or of all.

        Raises
        ------
        BadValue
            There is no such state or branch.
        """
        if way is not None and way not in self.branches:
            raise BadValue(f"There is no branch {way!r}.{suggest(way, self.branches)}")
        at, found = [], []
        for name, branch in self.branches.items():
            if way not in (None, name):
                continue
            x = branch.points[..., branch.place(state)]
            there = ~np.isnan(x)
            at.append(np.broadcast_to(branch.axes[self.by][:, None], x.shape)[there])
            found.append(x[there])
        return np.concatenate(at), np.concatenate(found)

    def __repr__(self) -> str:
        runs = sum(branch.ok.size for branch in self.branches.values())
        good = sum(int(branch.ok.sum()) for branch in self.branches.values())
        dots = len(self.dots(self.first.states[0])[0])
        return (
            f"OrbitDiagram of {self.system.name!r} over {self.by}, {', '.join(self.branches)}: "
            f"{dots} points; {good} of {runs} runs have numbers"
        )


@study
def orbit_diagram(
    system: System,
    scheme: Chosen | None = None,
    *,
    over: Over | None = None,
    section: Section | None = None,
    transient: Value = 200,
    points: int = 100,
    t_end: Value | None = None,
    continuation: str = "up",
    stop: Stop | None = None,
    progress: bool = True,
    rho: Numbers | None = None,
    **parameters: float,
) -> OrbitDiagram:
    """Run a system for many values of one parameter; return the points on the section.

    Parameters
    ----------
    system, scheme : as `sweep` takes them
    over : dict
        One parameter by name, and its values (k,).
    section : Section
        By a period or by an event. A map needs no section: its points are its iterates.
    transient, points : int
        For a map: how many iterates are left out, and how many are kept, for each value. For a
        section by a period: how many periods are left out, and how many points are kept. For a
        section by an event: `transient` is a time in s or a formula of the parameters, and at most
        `points` are kept.
    t_end : float or formula, optional
        For a section by an event: the end of a run in s, by default that of the system. In a driven
        system it should be a whole number of periods, so that continuation keeps the phase.
    continuation : str
        "up", "down": each value goes on from the one before: for a map and a section by a period
        from the end of its transient, so that its points are computed beside the next transient;
        for a section by an event from the end of its run. "both": both ways at the same time.
        "none": each value begins at the start of the model, on all cores. After a value that fails,
        the next one begins at the start of the model.
    stop, progress, rho, **parameters : as `sweep` takes them

    Returns
    -------
    OrbitDiagram
        A warning says if no run meets the section, and where round-off brings orbits of a map
        exactly to a cycle that repels.

    Raises
    ------
    BadValue, BadModel, NotApplicable
        The arguments are inconsistent; the diagram is too large.

    Examples
    --------
    >>> import numpy as np
    >>> import explorer as ex
    >>> stop = ex.study.Section(period="2*pi/omega")
    >>> oscillator = ex.models.impact_oscillator()
    >>> over = {"omega": np.linspace(2.6, 2.7, 3)}
    >>> found = ex.study.orbit_diagram(
    ...     oscillator, over=over, section=stop, transient=20, points=8, s=0
    ... )
    >>> found
    OrbitDiagram of 'impact oscillator' over omega, up: 24 points; 3 of 3 runs have numbers
    """
    check_system(system)
    section = _section(system, section)
    if continuation not in _WAYS:
        raise BadValue(f"continuation = {continuation!r} must be one of {', '.join(_WAYS)}.")
    points = whole(points, "points", 1)
    if section.period is not None:
        transient = whole(transient, "transient", 0)
        if t_end is not None:
            raise BadValue("t_end follows from transient and points, which count periods.")
        t_end, transient = (
            f"{n} * ({section.period})"
            for n in (int(transient) + int(points) + (section.phase > 0), int(transient))
        )
    section = dataclasses.replace(section, most=int(points))
    chosen = choose(system, usual(system) if scheme is None else scheme)
    axes = Axes.of(system, over)
    if len(axes.axes) != 1 or len(axes.axes[0].names) != 1:
        raise BadValue("An orbit diagram is over one parameter: use sweep for several.")
    given = values_given(system, rho, parameters)
    question = Question(
        system,
        chosen,
        tuple(numbers_of(system, chosen, given)),
        axes,
        system.t_end if t_end is None else t_end,
        transient,
        section,
    )
    check_size(question, cores() if continuation in ("both", "none") else 1)
    _check_periods(question, section)
    return _warned(_diagram(question, _WAYS[continuation], stop, progress))


def _warned(found: OrbitDiagram) -> OrbitDiagram:
    """Warn of a section that is never met, and where a map comes exactly to a cycle that repels.

    With continuation all values behind one of them may stay there.
    """
    system, told = found.system, []
    if not isinstance(system, MapSystem):
        section, branches = found.first.question.section, found.branches.values()
        good = sum(int(branch.ok.sum()) for branch in branches)
        if section is not None and good and not any(branch.found.any() for branch in branches):
            words = f"None of the {good} runs of '{system.name}' meets its section"
            words += f" {section.event!r} behind the transient" if section.event else ""
            words += ". Choose another event, a longer t_end, or a shorter transient."
            warnings.warn(words, ModelWarning, stacklevel=3)
        return found
    compiled = compile_map(system)
    for way, branch in found.branches.items():
        members = branch.question.members(0, branch.question.axes.size)
        starts = compiled.starts(members.rho)
        for k, x in enumerate(branch.observed.end):
            cycle = landed(compiled, x, members.rho[k]) if np.isfinite(x).all() else None
            if cycle is not None and not (cycle == starts[k]).all(axis=1).any():
                told.append((way, float(branch.axes[found.by][k]), x))
    if told:
        way, value, x = told[0]
        more = f" (and at {len(told) - 1} more values)" if len(told) > 1 else ""
        words = f"At {found.by} = {value:.6g}{more} the orbit of '{system.name}' "
        warnings.warn(f"{words}{sentence(system.coordinates, x)}", ModelWarning, stacklevel=3)
    return found


def _check_periods(question: Question, section: Section) -> None:
    """Refuse a period with which the equations do not repeat at one of the values."""
    if section.period is not None:
        system, members = question.system, question.members(0, question.axes.size)
        for rho, period in zip(members.rho, members.period, strict=True):
            check_period(system, float(period), dict(zip(system.parameters, rho, strict=True)))


def _section(system: System, section: object) -> Section:
    """Return the section; that of a map has all iterates.

    Raises
    ------
    BadValue
    """
    if system.discrete and section is None:
        return Section(period=1)
    if system.discrete:
        raise BadValue(
            f"'{system.name}' is a map, and a section is of a flow: each iterate is a point "
            "already. Leave section out; transient and points count iterates."
        )
    if not isinstance(section, Section):
        raise BadValue(
            f"section = {section!r} must be a Section: write Section(period='2*pi/omega') or "
            "Section(event='stop')."
        )
    return section


def _diagram(
    question: Question, ways: tuple[str, ...], stop: Stop | None, progress: bool
) -> OrbitDiagram:
    """Return the diagram; both ways run at the same time."""
    begin = time.perf_counter()
    if ways == ("none",):
        found = Sweep(question, run_parts(question, progress=progress, stop=stop))
        return OrbitDiagram({"none": found}, time.perf_counter() - begin)
    asked = [_followed(question, way) for way in ways]
    asked[0].run(0, 1)  # compiles, once
    with ThreadPoolExecutor(cores()) as points, ThreadPoolExecutor(len(asked)) as pool:
        futures = [
            pool.submit(_branch, one, points, progress and k == 0, stop)
            for k, one in enumerate(asked)
        ]
        branches = [future.result() for future in futures]
    return OrbitDiagram(dict(zip(ways, branches, strict=True)), time.perf_counter() - begin)


def _followed(question: Question, way: str) -> Question:
    """Return the question whose values rise or fall, each from the end of the one before."""
    axis = question.axes.axes[0]
    values = np.sort(axis.values, axis=0)
    ordered = Axis(axis.names, axis.units, values if way == "up" else values[::-1].copy())
    axes = dataclasses.replace(question.axes, axes=(ordered,))
    return dataclasses.replace(question, axes=axes, chained=True)


def _branch(question: Question, pool: Executor, progress: bool, stop: Stop | None) -> Sweep:
    """Return the values of one way; what can be computed beside the transients is left to `pool`.

    A section by its period is the same from any period on, so a run may begin again at time 0.
    """
    found = blank(question)
    section, transient = question.section, question.transient
    by_period = section is not None and section.period is not None
    if not by_period or question.members(0, 1).since[0] == 0:
        for _ in run_chain(question, found, progress=progress, stop=stop):
            pass
        return Sweep(question, found)
    transients = dataclasses.replace(question, section=None, t_end=transient, transient=0)
    ends = blank(transients)
    rest = f"{question.t_end} - {transient}"
    asked = dataclasses.replace(question, chained=False, behind=ends, t_end=rest, transient=0)

    def run(places: slice) -> None:
        found.put(places, asked.run(places.start, places.stop))

    ran = run_chain(transients, ends, progress=progress, stop=stop)
    for future in [pool.submit(run, places) for places in ran]:
        future.result()
    return Sweep(asked, found, transients=Sweep(transients, ends))
