"""An orbit diagram that sharpens while one looks at it.

Few columns with few points come first; then the columns between them, each from the end of its
neighbour, so that it follows the same attractor and settles soon; then more points where the motion
does not repeat. A column is the motion at one value of a parameter, seen on a section.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import sympy as sp

from explorer.arguments import Checked
from explorer.dispatch.choose import choose, numbers_of
from explorer.errors import BadValue, suggest
from explorer.parameters import number, whole
from explorer.study import study
from explorer.study.asked import Chosen
from explorer.study.columns import Columns
from explorer.study.diagram_branches import DiagramBranches, diagram_branches
from explorer.study.diagram_exponents import DiagramExponents, diagram_exponents
from explorer.study.forcing import usual_section
from explorer.study.orbits import Begin, Orbits
from explorer.study.over import Axes, states_of
from explorer.study.parts import Stop, cores
from explorer.study.question import Question
from explorer.study.section import Section
from explorer.study.sweep import usual
from explorer.systems import System, check_system, values_given
from explorer.systems.expressions import expression
from explorer.types import Numbers

__all__ = ["FOLLOWS", "Sharpening", "usual_follow"]

FOLLOWS = ("up", "down", "none")
_FIRST = 24  # points of a column at first


@dataclass(frozen=True)
class _Returns:
    """What makes a number of returns to a section a time."""

    section: Section
    each: str  # s, as a formula of the parameters
    driven: bool

    def span(self, count: float) -> str:
        return f"{count!r} * ({self.each})"


@study
class Sharpening(metaclass=Checked):
    """An orbit diagram that becomes finer: iterate over it, each item is a finer `Orbits`.

    Parameters
    ----------
    system : MechanicalSystem, HybridSystem or another that a scheme takes
    scheme : Scheme, its class or name, optional
        By default `EventDriven` where it takes the system.
    over : dict
        One parameter by name, and from where to where it goes: ``{"omega": (2, 3)}``.
    section : Section, optional
        By default once in a period of what drives the system, or at its first event; of a map each
        iterate.
    columns, points : int
        How many values, and how many points of each at the end. An orbit that repeats within 1e-8
        of the size of the diagram gets no more than 24.
    transient : int
        Returns to the section that are left out before a column begins.
    follow : str
        "up", "down": a column begins where its neighbour below, or above, has ended; "none": at the
        start of the model. By default "up", and "none" of a map: one that has come to a fixed point
        would never leave it where it is unstable.
    start : sequence of float, optional
        The states (n_x,) at which the first column begins; by default the start of the model.
    others : sequence of such starts, optional
        Each makes the same columns again: `Orbits.others` has them, and `Orbits.attractors` tells
        which of them come to one attractor.
    rho, **parameters
        Other parameters by name.

    Raises
    ------
    BadValue, BadModel, NotApplicable
        The arguments are inconsistent, or the motion never meets the section.

    Examples
    --------
    >>> import explorer as ex
    >>> oscillator = ex.models.impact_oscillator()
    >>> sharper = ex.study.Sharpening(
    ...     oscillator, over={"omega": (2.6, 2.7)}, columns=9, points=24, transient=30, s=0
    ... )
    >>> sharper.whole()
    Orbits over omega: 216 points in 9 of 9 columns
    """

    def __init__(
        self,
        system: System,
        scheme: Chosen | None = None,
        *,
        over: Mapping[str, Sequence[float]],
        section: Section | None = None,
        columns: int = 400,
        points: int = 200,
        transient: int = 100,
        follow: str | None = None,
        start: Sequence[float] | None = None,
        others: Sequence[Sequence[float]] = (),
        rho: Numbers | None = None,
        **parameters: float,
    ) -> None:
        check_system(system)
        self.system, (self.by, ends) = system, _over(system, over)
        if follow is None:
            follow = usual_follow(system)
        if follow not in FOLLOWS:
            raise BadValue(f"follow = {follow!r} must be one of {', '.join(FOLLOWS)}.")
        for what, value, least in (
            ("columns", columns, 2),
            ("points", points, 1),
            ("transient", transient, 0),
        ):
            whole(value, what, least)
        self.follow, self.transient, self.most = follow, int(transient), int(points)
        self.first = min(_FIRST, self.most)
        values = np.linspace(*ends, int(columns))
        chosen = choose(system, usual(system) if scheme is None else scheme)
        given = tuple(numbers_of(system, chosen, values_given(system, rho, parameters)))
        base = Question(
            system, chosen, given, Axes.of(system, {self.by: values}), system.t_end, 0.0
        )
        self.returns = _returns(base, usual_section(system) if section is None else section)
        self.begin = None if start is None else _begun(system, start)
        self.others = [_begun(system, one) for one in others]
        self.question = base
        self.settle = self.asking(self.transient + self.first, self.transient, self.first)

    def asking(self, count: int, transient: int, most: int) -> Question:
        """Return the question for columns of `count` returns without the first `transient`."""
        returns = self.returns
        if returns.driven:  # the points lie at whole periods: half a period leaves the start out
            section = dataclasses.replace(returns.section, most=most)
            later = 1 if self.system.discrete else 0.5
            span = returns.span(count + (section.phase > 0)), returns.span(transient + later)
        else:
            section = dataclasses.replace(returns.section, most=2 * most)
            span = returns.span(count), returns.span(transient)
        return dataclasses.replace(self.question, t_end=span[0], transient=span[1], section=section)

    def settled(self, value: float, begin: Begin | None = None) -> Begin:
        """Return the state and the mode at one value of the parameter, behind the transient.

        Raises
        ------
        BadValue
            The run fails.
        """
        axes = Axes.of(self.system, {self.by: [value]})
        seen = dataclasses.replace(self.settle, axes=axes).run(0, 1, begin or self.begin)
        if seen.code[0] != 0:
            raise BadValue(
                f"At {self.by} = {value:g} the run of '{self.system.name}' ends at "
                f"t = {seen.t[0]:.4g} before the transient has died out. Choose another value."
            )
        return seen.end[0].copy(), int(seen.mode[0])

    def span(self, value: float, count: float) -> float:
        """Return the time in s of a number of returns at one value of the parameter."""
        rho = list(self.question.rho)
        rho[list(self.system.parameters).index(self.by)] = value
        names = self.system.symbols(state=False)
        formula = expression(self.returns.each, names, "period")
        at = dict(zip(map(sp.Symbol, self.system.parameters), rho, strict=True))
        return count * float(formula.xreplace(at))

    def whole(self, stop: Stop | None = None) -> Orbits:
        """Return the finest diagram, or what there is when `stop` returns True."""
        *_, last = self.steps(stop)
        return last

    @property
    def section(self) -> Section:
        """Where the motion is seen."""
        return self.returns.section

    def branches(self, found: Orbits | None = None, stop: Stop | None = None) -> DiagramBranches:
        """Return the branches of cycles through the columns of periods up to six, stable or not.

        Parameters
        ----------
        found : Orbits, optional
            The whole diagram; by default it is computed first.
        stop : function without arguments, optional
            Once it returns True, nothing more is followed.

        Raises
        ------
        NotApplicable
            The system is a map, the scheme locates no events, or the section is at another phase
            than 0, or before its event.
        """
        *_, last = diagram_branches(self, self.whole(stop) if found is None else found, stop)
        return last

    def exponents(self, found: Orbits | None = None, stop: Stop | None = None) -> DiagramExponents:
        """Return the largest Lyapunov exponent of the motion in each column.

        Parameters
        ----------
        found, stop : as `branches` takes them

        Raises
        ------
        NotApplicable
            The scheme locates no events.
        """
        *_, last = diagram_exponents(self, self.whole(stop) if found is None else found, stop)
        return last

    def __iter__(self) -> Iterator[Orbits]:
        return self.steps()

    def steps(self, stop: Stop | None = None) -> Iterator[Orbits]:
        """Yield finer and finer diagrams, about four a second, the whole one last."""
        stop = stop or (lambda: False)
        works = [Columns(self, stop)]
        for begin in self.others:
            other = copy.copy(self)
            other.begin = begin
            works.append(Columns(other, stop))
        fast = self.question.scheme.ensemble(self.system) is not None
        with ThreadPoolExecutor(cores() if fast else 1) as pool:
            for half in (0, 1):
                for k, work in enumerate(works):
                    for done in work.extended(pool) if half else work.columns(pool):
                        yield _seen(works, 0.5 * half + 0.5 * (k + done) / len(works))
        yield _seen(works, 0.0 if stop() else 1.0)


def _seen(works: list[Columns], done: float) -> Orbits:
    """Return what is known of the columns from all starts."""
    first, *others = (work.seen(done) for work in works)
    return dataclasses.replace(first, others=tuple(others))


def usual_follow(system: System) -> str:
    """Return how the columns of a system begin by default."""
    return "none" if system.discrete else "up"


def _over(system: System, over: Mapping[str, Sequence[float]]) -> tuple[str, tuple[float, float]]:
    """Return the parameter that varies, and its ends.

    Raises
    ------
    BadValue
        Not one parameter, or no range.
    """
    if not isinstance(over, Mapping) or len(over) != 1:
        raise BadValue(f"over = {over!r} must be one parameter and its ends: {{'omega': (2, 3)}}.")
    (by, given), params = next(iter(over.items())), [*system.parameters]
    if by not in params:
        raise BadValue(f"'{system.name}' has no parameter {by!r}.{suggest(by, params)}")
    if np.shape(given) != (2,):
        raise BadValue(f"over: {by!r} needs two numbers, its lower and its upper end.")
    low, high = (
        number(given[0], f"The lower end of {by}"),
        number(given[1], f"The upper end of {by}"),
    )
    if not low < high:
        raise BadValue(
            f"{by} from {low:g} to {high:g} is no range: the lower end must be below the upper one."
        )
    return by, (low, high)


def _begun(system: System, start: Sequence[float]) -> Begin:
    """Return the state at which the first column begins, in the mode of the model."""
    names = states_of(system)[0]
    if len(start) != len(names):
        raise BadValue(
            f"start needs {len(names)} numbers ({', '.join(names)}), but {len(start)} are given."
        )
    return np.array([number(x, f"start[{i}]") for i, x in enumerate(start)]), -1


def _returns(base: Question, section: Section) -> _Returns:
    """Return how long a return takes: its period, or the mean of what the model's own run shows.

    Raises
    ------
    BadValue
        The run never meets the section.
    """
    if section.period is not None:
        return _Returns(section, str(section.period), True)
    pilot = dataclasses.replace(base, section=section)
    tried = [0, len(base.axes.axes[0].values) // 2, len(base.axes.axes[0].values) - 1]
    spans: list[float] = []
    for k in tried:
        seen = pilot.run(k, k + 1)
        if seen.code[0] == 0 and seen.found[0]:
            spans.append(float(seen.t[0] / seen.found[0]))
    if not spans:
        raise BadValue(
            f"'{base.system.name}' does not meet the section {section.event!r} up to "
            f"t = {base.system.t_end:g}. Choose another section or another range of parameters."
        )
    return _Returns(section, repr(float(np.median(spans))), False)
