"""What a simulation returns: rows with time on axis 0, parts, events, a status, its own recipe.

At a jump a quantity has two values. A run that locates its events has rows of both. Rows of time
stepping hold the right limit; ``at(t, side="left")`` gives the row before, a step earlier.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from explorer.errors import NotApplicable
from explorer.quantities import quantity
from explorer.recorder import Recorded
from explorer.results import columns, export, iterated, law_steps, located, names, recipe, stepped
from explorer.results.energies import Energies
from explorer.results.event import Event, Events, Sample, within
from explorer.results.marched import Marched
from explorer.results.missing import missing
from explorer.results.overview import overview
from explorer.results.parts import PARTS
from explorer.results.quantity import Quantity, named
from explorer.results.run import Found, Rows, Run
from explorer.results.switches import Switches
from explorer.status import Status
from explorer.systems.state_space import StateSpaceSystem
from explorer.types import Plain, Reals, Settings

if TYPE_CHECKING:
    from explorer.results.constraints import Constraints
    from explorer.results.contacts import Contacts
    from explorer.results.inputs import Inputs
    from explorer.results.multipliers import Multipliers
    from explorer.results.springs import Discs, Springs

__all__ = ["Event", "Sample", "Solution", "within"]


class Solution(Marched, Energies):
    """Result of `explorer.simulate`.

    Parts of a solution, if the run has them (`has` tells). A missing part raises an error that
    explains why:

    contacts : p, lam, gap, gap_dot, active, slip, work, doing and other quantities of friction
    constraints : phi, p_phi, lam_phi, holds
    multipliers : alpha, theta, lam, y, side, laws
    switches : mode, mode_names, signs, times, choices
    inputs : u, u_names
    springs, discs : slip of hysteretic springs; partner of discs
    events : impacts, switches and other events, in order of time
    steps : iterations, residuals, and what one scheme alone tells of its steps

    Their quantities are also attributes of the solution: ``sol.p`` is ``sol.contacts.p``.

    Attributes
    ----------
    t : (n_t,) time in s
    q, v : (n_t, n) coordinates and velocities
    x : (n_t, n_x) the whole state; (q, v) for a mechanical system
    status : Status
    system, scheme : the system and the scheme of the run
    rho : dict of the parameters
    route : tuple of str, the exact reformulations between the system and the integrated one
    seconds : wall time of the run in s
    march : the record of a kernel with located events or elements, if one ran
    asked : dict of the arguments t_end and t_eval of `simulate`
    recorded : the part of the run that a `Recorder` kept; None: all of it
    warned : tuple of str, the warnings; `cautions` holds these and the checks that do not hold

    The names in ``dir(sol)`` are those of the model, whatever scheme ran. What one scheme alone
    has, such as sensitivities S of one that locates events, is in ``sol.steps``.

    >>> import explorer as ex
    >>> ex.simulate(ex.models.bouncing_ball(), ex.MoreauJean(h=5e-3), t_end=1).q.shape
    (201, 1)
    """

    if TYPE_CHECKING:
        contacts: Contacts
        inputs: Inputs
        constraints: Constraints
        multipliers: Multipliers
        switches: Switches
        springs: Springs
        discs: Discs

    def __init__(
        self,
        rows: Rows | Callable[[], Rows],
        *,
        system: Any,
        scheme: Any,
        status: Status,
        rho: Mapping[str, float],
        seconds: float = 0.0,
        route: tuple[str, ...] = (),
        observe: Callable[[Run, str], np.ndarray] | None = None,
        recorded: Recorded | None = None,
        known: Settings | None = None,
    ) -> None:
        """Store the rows that a run recorded.

        Parameters
        ----------
        rows : dict of the quantities of each row, or a function that returns it at the first access
        observe : callable, optional
            Evaluates equations of the system along the rows.
        known : dict, optional
            Further data of the run: march, laws, ...
        """
        self.system, self.scheme, self.status, self.rho = system, scheme, status, dict(rho)
        self.seconds, self.route, self.observe, self.recorded = seconds, route, observe, recorded
        self.warned: tuple[str, ...] = ()
        self.asked: Plain | None = None
        self.revision: int = system.revision
        self.__dict__.update(known or {})
        if callable(rows):
            self._made_by = self._fill = rows
        else:
            self.take(rows)

    @property
    def ABSENT(self) -> tuple[str, ...]:
        """Rows of a scheme that its system does not have."""
        return names.absent(self)

    def take(self, rows: Rows) -> None:
        """Take the rows, but what the system does not have, or the recorder did not keep."""
        dropped, kept = self.ABSENT, self.recorded
        for name, values in rows.items():
            if name not in dropped and (kept is None or kept.kept(name) != ()):
                self.__dict__[name] = values

    def forget_rows(self) -> None:
        """Make the rows anew when they are looked at: what they come from has changed."""
        for name in (*names.ROWS, "events", "event_rows", "jump_rows", "_once"):
            self.__dict__.pop(name, None)
        self._fill = self._made_by

    if not TYPE_CHECKING:  # a type checker would take any attribute then

        def __getattr__(self, name: str) -> object:
            if name in names.ROWS and "_fill" in self.__dict__:
                self.take(self.__dict__.pop("_fill")())
                return getattr(self, name)
            if "system" in self.__dict__ and not name.startswith("_"):
                if name in PARTS and not PARTS[name].absence(self):
                    return PARTS[name](self)
                for part in PARTS.values():
                    if name in part.flat and part.answers(self):
                        return getattr(part(self), name)
            own = inspect.getattr_static(type(self), name, None)
            if isinstance(own, property | cached_property):  # it has failed: say what of
                return (own.fget if isinstance(own, property) else own.func)(self)
            raise missing(self, name)

    def __dir__(self) -> list[str]:
        return names.listed(self, set(dir(type(self))))

    def beside(self) -> list[str]:
        """Return the names of what the scheme recorded besides what all schemes record."""
        return names.beside(self)

    __iter__ = None  # a run is no sequence: iteration would look for columns 0, 1, ...

    def __getitem__(self, name: str) -> np.ndarray:
        """Return the column of a name, (n_t,); `columns` has them all.

        Raises
        ------
        BadValue
            If there is no such column.
        """
        return columns.column(self.columns, name)

    def __getstate__(self) -> dict[str, object]:
        """Return what copies and pickles take; what has been found of it is found anew."""
        if "_fill" in self.__dict__:
            self.t  # noqa: B018 (makes the rows)
        return {k: x for k, x in self.__dict__.items() if not k.startswith("_")}

    def has(self, name: str) -> bool:
        """Whether the run has a part, such as "contacts", or a quantity of this name."""
        if names.checked(name) in PARTS:
            return not PARTS[name].absence(self)
        if name in self.__dict__:
            return True
        told = hasattr(type(self), name) or any(name in part.flat for part in PARTS.values())
        try:
            return bool(told or name in names.ROWS) and getattr(self, name, self) is not self
        except NotApplicable:  # of another form of its multipliers
            return False

    def recorded_row(self, name: str) -> np.ndarray:
        """Return what the run recorded under a name, such as "p"."""
        if name not in self.__dict__ and "_fill" in self.__dict__:
            self.t  # noqa: B018 (makes the rows)
        if name not in self.__dict__:
            raise missing(self, name)
        values: np.ndarray = self.__dict__[name]
        return values

    def kept(self, name: str, make: Callable[[], Found]) -> Found:
        """Return what `make` returns: made once, and neither copied nor saved."""
        once = self.__dict__.setdefault("_once", {})
        if name not in once:
            once[name] = make()
        found: Found = once[name]
        return found

    def changed(self, **rows: object) -> Self:
        """Return a run with other rows or attributes; the others are shared."""
        new = copy.copy(self)
        new.__dict__.update(rows)
        for name in ("events", "event_rows", "jump_rows", "certificate", "_energies"):
            new.__dict__.pop(name, None)
        return new

    def concluded(self, status: Status, warned: tuple[str, ...], asked: Settings) -> Self:
        """Return this run with how it ended, what was warned of and what was asked for."""
        new = object.__new__(type(self))  # with rows that wait to be made, unlike a copy
        new.__dict__.update(self.__dict__, status=status, warned=warned, asked=dict(asked))
        return new

    def cautioned(self, more: Iterable[str]) -> Self:
        """Return this run with further warnings; where none is new, the run itself."""
        warned = tuple(dict.fromkeys((*self.warned, *more)))
        return (
            self if warned == self.warned else self.concluded(self.status, warned, self.asked or {})
        )

    @property
    def has_velocities(self) -> bool:
        """Whether the system has coordinates and velocities, and not one state x' = ...."""
        return not isinstance(self.system, StateSpaceSystem)

    def __repr__(self) -> str:
        kept = self.recorded
        if self.system.discrete:
            return (
                f"Solution({self.system.name!r}, {self.scheme}, {len(self.t) - 1} iterates, "
                f"{self.outcome})"
            )
        steps = len(self.t) - 1 if kept is None else kept.steps
        return (
            f"Solution({self.system.name!r}, {self.scheme}, {steps} steps to "
            f"t = {quantity(self.t[-1], 's')}, {self.outcome}{'' if kept is None else f'; {kept}'})"
        )

    def _repr_html_(self) -> str:
        return overview(self, PARTS)

    # -- states -------------------------------------------------------------------------------

    @property
    def mode_names(self) -> tuple[str, ...]:
        """Names of what `mode` numbers: modes or active sets; () if there are none."""
        return () if self.has_velocities else Switches(self).mode_names

    @property
    def pattern(self) -> np.ndarray:
        """What holds in each step, (n_t, k) int8: two runs with the same can be compared.

        `active` of the contacts, then, where there is friction, what each of them is `doing`.
        """
        if not self.has_velocities:
            return np.zeros((len(self.t), 0), np.int8)
        return np.hstack([self.active, self.doing]) if self.system.rough else self.active

    @property
    def _telling(self) -> ModuleType:
        """The module that finds events in the rows of such a run."""
        if "march" in self.__dict__:
            return located
        if self.system.discrete:
            return iterated
        return law_steps if self.by_laws else stepped

    @cached_property
    def events(self) -> Events[Any]:  # of the kind that the run finds
        """What happened, in order of time: impacts, closings, releases, changes of mode."""
        unit, moved = self.system.time_unit, self.has_velocities
        return Events(self._telling.events(self), unit, moved=moved)

    @cached_property
    def event_rows(self) -> list[tuple[int, str, int]]:
        """(row of the right limit, kind, contact, law or guard) of every event, in order."""
        return list(self._telling.event_rows(self))

    @cached_property
    def jump_rows(self) -> np.ndarray:
        """Rows at which a velocity jumps: no curve of a velocity is drawn through them."""
        return np.asarray(self._telling.jump_rows(self))

    def closed_runs(self, a: int) -> list[tuple[int, int]]:
        """(first, one past last) rows of each stretch over which contact `a` stays closed."""
        return list(self._telling.closed_runs(self, a))

    def impulse(self, i: int, a: int) -> float:
        """Return the impulse in N s that contact `a` gave in what is over at row `i`."""
        return float(self.p[stepped.began(self, i, a) : i + 1, a].sum())

    def at(self, t: float | Reals, side: str = "right") -> Sample:
        """Return the state at time `t`: interpolated linearly inside a step, or marched to.

        Parameters
        ----------
        t : float or (k,) float
            In s, within the span of the solution.
        side : str
            "right" or "left" limit; they differ in v at a jump.

        Raises
        ------
        BadValue
            If a time lies outside or is no number, or the side is neither.
        """
        times, told = within(t, side, float(self.t[0]), float(self.t[-1])), self._telling
        if times.ndim == 0:
            one: Sample = told.at(self, float(times), side)
            return one
        found = [told.at(self, x, side) for x in times.tolist()]
        sizes = self.q.shape[1], self.q.shape[1], len(self.system.contacts)
        widths = sizes if self.has_velocities else (sizes[0], 0, 0)
        parts = [
            np.array([getattr(x, k) for x in found]).reshape(len(found), width)
            for k, width in zip(("q", "v", "gap"), widths, strict=True)
        ]
        return Sample(times, *parts)

    # -- away from here -----------------------------------------------------------------------

    @property
    def quantities(self) -> list[Quantity]:
        """What every row has besides its time."""
        return columns.quantities(self)

    @property
    def _named(self) -> dict[str, tuple[np.ndarray, str]]:
        """Values and unit of each column."""
        return named(self.t, self.system.time_unit, self.quantities)

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """Named columns (n_t,): t, then what `quantities` says."""
        return {name: values for name, (values, _) in self._named.items()}

    @property
    def spec(self) -> Plain:
        """The recipe as plain data: system, scheme, parameters, start, versions."""
        return recipe.spec(self)

    def to_csv(self, path: str | Path | None = None) -> str:
        """Return (and write) the columns as CSV with all digits.

        Raises
        ------
        BadValue
            A file that cannot be written.
        """
        text = export.text(self._named)
        if path is not None:
            export.written(path, lambda file: file.write_text(text, encoding="utf-8"))
        return text

    def to_pandas(self) -> export.Frame:
        """Return a DataFrame of `columns` (extra `data`).

        ``df.attrs["units"]`` holds the unit of each, ``df.attrs["spec"]`` the recipe.
        """
        return export.frame(self._named, self.spec)

    def to_xarray(self) -> export.Dataset:
        """Return a Dataset with dims sample, state, contact (or law, ...), event (extra `data`).

        Time is a plain coordinate, not an index: an impact may repeat it. Units are attributes.
        """
        rows = {name: getattr(self, name) for name in ("t", "iterations", "residuals")}
        unit = self.system.time_unit
        return export.dataset(rows, self.quantities, self.events, unit, self.spec)

    def save(self, path: str | Path) -> Path:
        """Write everything, recipe included, to one ``.npz`` file; `explorer.load` reads it.

        Raises
        ------
        BadValue
            A file that cannot be written.
        """
        return export.save(path, recipe.arrays(self), self.spec)
