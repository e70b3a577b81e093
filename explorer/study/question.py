"""One sweep as a question: it makes the members of any part of it, and runs them.

It is the same in every process, so that parts can be run anywhere; its digest names it on disk.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np
import sympy as sp
from sympy.printing.numpy import NumPyPrinter
from sympy.printing.pycode import PythonCodePrinter

from explorer.derivatives.question import event_names
from explorer.errors import BadValue, suggest
from explorer.quantities import quantity
from explorer.runs.members import Asked, Known, Members, Observed
from explorer.schemes import Scheme
from explorer.study.one_by_one import one_by_one, together
from explorer.study.over import Axes, states_of
from explorer.study.section import Section
from explorer.systems import System
from explorer.systems.expressions import expression
from explorer.types import Plain, Value

__all__ = ["Question"]

Function: TypeAlias = tuple[Callable[..., np.ndarray], list[int], bool]
_PRINTED = {"fully_qualified_modules": False, "inline": True, "allow_unknown_functions": True}


class _MathPrinter(PythonCodePrinter):  # type: ignore[misc]  # SymPy has no types
    def _print_Float(self, number: sp.Float) -> str:
        return _digits(number)


class _NumPyPrinter(NumPyPrinter):  # type: ignore[misc]
    def _print_Float(self, number: sp.Float) -> str:
        return _digits(number)


def _digits(number: sp.Float) -> str:
    """Return a number with all its digits: SymPy prints 15, and a run would end elsewhere."""
    return repr(float(number))


@dataclass(frozen=True, eq=False, repr=False)
class Question:
    """What a sweep asks.

    Attributes
    ----------
    system, scheme : what is run
    rho : tuple of float
        All parameters; those of the axes are replaced.
    axes : Axes
    t_end, transient : float or formula of the parameters, in s
    section : Section or None
    extrema : bool
    chained : bool
        Whether each point starts where the one before has ended.
    known : Known or None
        Attractors on the section: a point is run until it comes to one.
    behind : Observed or None
        Runs of all points that were made before: each begins where its own has ended.
    """

    system: System
    scheme: Scheme
    rho: tuple[float, ...]
    axes: Axes
    t_end: Value
    transient: Value
    section: Section | None = None
    extrema: bool = False
    chained: bool = False
    known: Known | None = None
    behind: Observed | None = None
    most: int = field(default=0)
    _compiled: dict[str, Function] = field(default_factory=dict, init=False, repr=False)

    def __repr__(self) -> str:
        axes = " x ".join(f"{len(a.values)} {', '.join(a.names)}" for a in self.axes.axes)
        return f"Question of '{self.system.name}' over {axes or 'one start'}, to {self.t_end} s"

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "_compiled": {}}  # functions cannot be pickled

    def __post_init__(self) -> None:
        if self.section is not None and self.section.period is not None:
            self._formula(self.section.period, "period")  # first: the time span may be made of it
        for what in ("t_end", "transient"):
            self._formula(getattr(self, what), what)
        if self.section is None:
            return
        if self.system.discrete and self.section.period != 1:
            raise BadValue(
                f"'{self.system.name}' is a map, and a section is of a flow: each iterate is a "
                "point already. study.orbit_diagram keeps iterates, and needs no section."
            )
        names = event_names(self.system)
        if self.section.event is not None and self.section.event not in names:
            raise BadValue(
                f"'{self.system.name}' has no event {self.section.event!r}."
                f"{suggest(self.section.event, names)}"
            )
        object.__setattr__(self, "most", self._room(self.section))

    @cached_property
    def asked(self) -> Asked:
        """What the runs of members are asked for."""
        names, section = tuple(event_names(self.system)), self.section
        if section is None:
            return Asked(names, extrema=self.extrema)
        kind = "period" if section.event is None else "event"
        before = section.side == "before"
        most = self.most if self.known is None else 1
        return Asked(names, kind, section.event or "", before, most, self.extrema, self.known)

    def _room(self, section: Section) -> int:
        """Return how many points of one run are kept."""
        if self.known is not None:
            return 1
        if section.room is not None:
            return section.room
        found = 1
        for first in range(0, self.axes.size, step := 2**16):
            if first >= 2**22:  # the refusal of so many runs comes next
                break
            some = self.members(first, min(first + step, self.axes.size))
            found = max(found, int(((some.t_end - some.since) / some.period).max() + 2 + 1e-9))
        return found

    def members(self, first: int, last: int) -> Members:
        """Return the members `first` to `last`.

        Raises
        ------
        BadValue
            A time span or a period that is not positive.
        """
        k = last - first
        rho = np.tile(np.array(self.rho, float), (k, 1))
        start = np.full((k, len(states_of(self.system)[0])), np.nan)
        self.axes.put(first, last, rho, start)
        if self.behind is not None:
            start[:] = self.behind.end[first:last]
        t_end = self._values(self.t_end, "t_end", rho)
        since = self._values(self.transient, "transient", rho)
        period, phase = np.ones(k), 0.0
        if self.section is not None and self.section.period is not None:
            period, phase = self._values(self.section.period, "period", rho), self.section.phase
        for what, values, least in (("period", period, 0.0), ("t_end", t_end, 0.0)):
            if not (values > least).all():
                raise BadValue(
                    f"{what} = {quantity(values.min(), self.system.time_unit)} must be greater "
                    "than zero everywhere."
                )
        if self.system.discrete and not (t_end % 1 == 0).all():
            raise BadValue(
                f"t_end = {t_end[t_end % 1 != 0][0]:g} must be a whole number of iterates."
            )
        if self.system.discrete and not (since % 1 == 0).all():
            worst = since[since % 1 != 0][0]
            raise BadValue(f"transient = {worst:g} must be a whole number of iterates.")
        if not ((since >= 0) & (since < t_end)).all():
            raise BadValue("The transient must lie in [0, t_end) at every point of the sweep.")
        goes_on = self.behind is not None
        return Members(
            rho, start, t_end, since, period, phase * period, self.chained, behind=goes_on
        )

    def run(self, first: int, last: int, begin: tuple[np.ndarray, int] | None = None) -> Observed:
        """Run the members `first` to `last` on this thread, the first one from a state and mode."""
        members, fast = self.members(first, last), self.scheme.ensemble(self.system)
        if begin is not None:
            members.start[0], members = begin[0], members._replace(mode=begin[1], behind=True)

        def runs(some: Members) -> Observed:
            if fast is not None:
                return together(self.system, self.scheme, fast, some, self.asked)
            return one_by_one(self.system, self.scheme, some, self.asked)

        return runs(members) if self.behind is None else self._goes_on(members, first, runs)

    def _goes_on(
        self, members: Members, first: int, runs: Callable[[Members], Observed]
    ) -> Observed:
        """Run members from where others have ended; those that had failed stay failed."""
        assert self.behind is not None
        before = self.behind.some(slice(first, first + members.size))
        seen = Observed.empty(members.size, members.start.shape[1], self.asked)
        seen.code[:], seen.t[:] = before.code, before.t
        for mode in np.unique(before.mode[before.code == 0]):
            places = np.flatnonzero((before.code == 0) & (before.mode == mode))
            seen.put(places, runs(members.some(places)._replace(mode=int(mode))))
            seen.t[places] += before.t[places]  # a run begins again at time 0
            seen.times[places] += before.t[places, np.newaxis]
        return seen.without_failed()

    def _formula(self, value: Value, what: str) -> sp.Expr:
        return expression(value, self.system.symbols(state=False), what)

    def _values(self, value: Value, what: str, rho: np.ndarray) -> np.ndarray:
        """Return a formula of the parameters at each member, each by itself: the same anywhere."""
        if what not in self._compiled:
            self._compiled[what] = self._function(value, what)
        f, places, exact = self._compiled[what]
        columns = [rho[:, place] for place in places]
        with np.errstate(all="ignore"):
            found = [f(*row) for row in zip(*columns, strict=True)] if exact else f(*columns)
        return np.array(np.broadcast_to(found, len(rho)), float)

    def _function(self, value: Value, what: str) -> Function:
        """Return a formula, the places of its parameters, and whether it takes single numbers."""
        formula = self._formula(value, what)
        symbols = [s for s in map(sp.Symbol, self.system.parameters) if s in formula.free_symbols]
        places = [list(self.system.parameters).index(s.name) for s in symbols]
        exact = bool(symbols) and bool(formula.has(sp.Function) or not _rational(formula))
        printer = _MathPrinter(_PRINTED) if exact else _NumPyPrinter(_PRINTED)
        function = sp.lambdify(symbols, formula, "math" if exact else "numpy", printer=printer)
        return function, places, exact

    # -- names --------------------------------------------------------------------------------

    def to_plain(self) -> Plain:
        """Return it as plain data (JSON)."""
        axes = [{"names": a.names, "values": a.values.tolist()} for a in self.axes.axes]
        section = (
            None if self.section is None else {k: str(x) for k, x in vars(self.section).items()}
        )
        return {
            "system": self.system.to_spec(),
            "scheme": self.scheme.to_spec(),
            "rho": self.rho,
            "axes": axes,
            "t_end": str(self.t_end),
            "transient": str(self.transient),
            "section": section,
            "extrema": self.extrema,
            "chained": self.chained,
            "known": None if self.known is None else [np.asarray(x).tolist() for x in self.known],
        }

    @cached_property
    def digest(self) -> str:
        """Its name: the same for the same question, in every process."""
        text = json.dumps(self.to_plain(), sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    @property
    def bytes_each(self) -> int:
        """Bytes that the result keeps of one run."""
        n = len(states_of(self.system)[0])
        width = 5 + n * (1 + 2 * self.extrema) + len(self.asked.names) + self.asked.most * (n + 1)
        return 8 * width


def _rational(formula: sp.Expr) -> bool:
    """Whether all powers are whole: NumPy computes those of a row as those of a number."""
    return all(p.exp in (1, -1) for p in formula.atoms(sp.Pow))
