"""What a simulation returns: arrays with time on axis 0, events, a status, and its own recipe.

At a jump a quantity has two values; records hold the right limit, ``at(t, side="left")`` gives the
other one. `p` is an impulse (N s) over the step that ends at its row.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from explorer.certificate import Certified
from explorer.errors import BadValue
from explorer.quantities import quantity
from explorer.recorder import Recorded
from explorer.results import export
from explorer.results.event import Event, Sample, within
from explorer.results.export import Quantity, per_second
from explorer.status import Status
from explorer.systems.state_space import StateSpaceSystem

__all__ = ["Event", "Sample", "Solution", "within"]

_CLOSED_STEPS = 3


@dataclass(eq=False)
class Solution(Certified, export.Columns):
    """Result of `explorer.simulate`.

    Attributes
    ----------
    t : (n_t,) time in s
    q, v : (n_t, n) coordinates and velocities (right limits)
    p : (n_t, n_c) impulse of the step that ends at the row, N s
    gap, gap_dot : (n_t, n_c) distance in m, normal velocity in m/s
    active : (n_t, n_c) int8: 0 open, 1 predicted to close, 2 carried an impulse
    iterations : (n_t,) Newton iterations of the step
    residuals : (n_t, 2) LCP residual in m/s, Newton residual in N s
    status : Status
    system, scheme : what was run
    rho : dict of the parameters; ``start``: dict of q0, v0
    route : tuple of str, exact rewritings walked on the way
    seconds : wall time of the run in s
    asked : dict of what `simulate` was asked for, t_end and t_eval
    recorded : what was kept of the run, if a `Recorder` chose; None: all
    warned : tuple of str, what was warned of; `cautions` has it, and checks that do not hold
    """

    KEPT: ClassVar[tuple[str, ...]] = ()  # what `save` writes besides
    ABSENT: ClassVar[tuple[str, ...]] = ("v", "p", "gap", "gap_dot", "active")  # if x' = ...

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    p: np.ndarray
    gap: np.ndarray
    gap_dot: np.ndarray
    active: np.ndarray
    iterations: np.ndarray
    residuals: np.ndarray
    status: Status
    system: Any
    scheme: Any
    rho: dict[str, float]
    route: tuple[str, ...] = ()
    seconds: float = 0.0
    observe: Callable[[Any, str], np.ndarray] | None = field(default=None, repr=False)
    asked: dict[str, Any] | None = field(default=None, repr=False)
    warned: tuple[str, ...] = ()
    recorded: Recorded | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self.revision: int = self.system.revision
        self._drop()
        if self.recorded is not None:
            for what in ("q", "v", "a"):
                if not self.recorded.kept(what):
                    self.__dict__.pop(what, None)

    @property
    def has_velocities(self) -> bool:
        """Whether the system has coordinates and velocities, and not one state x' = ...."""
        return not isinstance(self.system, StateSpaceSystem)

    def _drop(self) -> None:
        """Forget what a system x' = ... does not have: no array of no columns stands for it."""
        for name in () if self.has_velocities else self.ABSENT:
            self.__dict__.pop(name, None)

    def __getstate__(self) -> dict[str, Any]:
        """Return what copies and pickles take; what has been found of it is found anew."""
        return {k: x for k, x in self.__dict__.items() if not k.startswith("_")}

    def __repr__(self) -> str:
        kept = self.recorded
        steps = len(self.t) - 1 if kept is None else kept.steps
        return (
            f"Solution({self.system.name!r}, {self.scheme}, {steps} steps to "
            f"t = {quantity(self.t[-1], 's')}, {self.outcome}{'' if kept is None else f'; {kept}'})"
        )

    @property
    def mode_names(self) -> tuple[str, ...]:
        """Names of what `mode` numbers: the modes of a hybrid system; () if there are none."""
        return tuple(mode.name for mode in getattr(self.system, "modes", ()))

    @property
    def pattern(self) -> np.ndarray:
        """What holds in each step, (n_t, k) int8: two runs with the same can be compared."""
        return self.active if self.has_velocities else np.zeros((len(self.t), 0), np.int8)

    # -- events -------------------------------------------------------------------------------

    @cached_property
    def event_rows(self) -> list[tuple[int, str, int]]:
        """(row, kind, contact) of every event, in order of time."""
        found = []
        for a in range(self.p.shape[1]):
            for first, after in self._runs(a):
                lasting = after - first >= _CLOSED_STEPS
                rigid = self.system.contacts[a].compliance == 0
                over = min(first + self.scheme.impact_steps, after) - 1
                if first > 0 and rigid and self.gap_dot[first - 1, a] < 0:
                    found.append((over, "impact", a))
                if first > 0 and lasting:
                    found.append((over, "closed", a))
                if lasting and after < len(self.t):
                    found.append((after, "released", a))
        return sorted(found, key=lambda x: x[0])

    def closed_runs(self, a: int) -> list[tuple[int, int]]:
        """(first, one past last) rows of each stretch over which contact `a` stays closed."""
        return [(i, j) for i, j in self._runs(a) if j - i >= _CLOSED_STEPS]

    def _runs(self, a: int) -> list[tuple[int, int]]:
        """(first, one past last) rows of each stretch in which contact `a` carries impulses.

        A contact that opens for a step or two and closes at almost no speed, or faster than it had
        left, has not bounced: a velocity-level scheme lets a closed gap drift by O(h^3) and closes
        it again.
        """
        on = self.p[:, a] > 0
        on[0] = abs(self.gap[0, a]) <= 1e-9 and abs(self.gap_dot[0, a]) <= 1e-9
        edges = np.flatnonzero(np.diff(np.concatenate([[False], on, [False]]).astype(np.int8)))
        slow = 0.02 * np.abs(self.gap_dot[:, a]).max()
        runs: list[tuple[int, int]] = []
        for first, after in edges.reshape(-1, 2).tolist():
            if runs and first - runs[-1][1] < _CLOSED_STEPS:
                back, away = -self.gap_dot[first - 1, a], self.gap_dot[runs[-1][1] - 1, a]
                if back <= slow or away < back / 2:
                    runs[-1] = (runs[-1][0], after)
                    continue
            runs.append((first, after))
        return runs

    @cached_property
    def events(self) -> list[Event]:
        """Impacts, closings and releases in order of time."""
        names = [c.name for c in self.system.contacts]
        return [
            Event(
                float(self.t[i]), kind, names[a], a, i, self.v[first - 1], self.v[i],
                float(self.gap_dot[first - 1, a]), float(self.gap_dot[i, a]), self.impulse(i, a),
            )
            for i, kind, a in self.event_rows for first in [self._began(i, a)]
        ]  # fmt: skip

    def impulse(self, i: int, a: int) -> float:
        """Return the impulse in N s that contact `a` gave in what is over at row `i`."""
        return float(self.p[self._began(i, a) : i + 1, a].sum())

    def _began(self, i: int, a: int) -> int:
        first, steps = i, self.scheme.impact_steps if self.p[i, a] > 0 else 1
        while i - first + 1 < steps and self.p[first - 1, a] > 0:
            first -= 1
        return first

    @cached_property
    def jump_rows(self) -> np.ndarray:
        """Rows at which a velocity jumps: no curve of a velocity is drawn through them."""
        return np.unique([i for i, kind, _ in self.event_rows if kind == "impact"]).astype(int)

    def at(self, t: Any, side: str = "right") -> Sample:
        """Return the state at time `t`, interpolated linearly inside a step.

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
        times = within(t, side, float(self.t[0]), float(self.t[-1]))
        if times.ndim == 0:
            return self._at(float(times), side)
        found = [self._at(x, side) for x in times.tolist()]
        sizes = self.q.shape[1], self.q.shape[1], len(self.system.contacts)
        widths = sizes if self.has_velocities else (sizes[0], 0, 0)
        parts = [
            np.array([getattr(x, k) for x in found]).reshape(len(found), width)
            for k, width in zip(("q", "v", "gap"), widths, strict=True)
        ]
        return Sample(times, *parts)

    def _at(self, t: float, side: str) -> Sample:
        if self.recorded is not None and self.recorded.thinned:
            near = self.t[int(np.abs(self.t - t).argmin())]
            t = float(near) if abs(near - t) <= 1e-12 * self.t[-1] else t
        i = int(np.searchsorted(self.t, t))
        if self.t[i] != t and self.recorded is not None and self.recorded.thinned:
            raise BadValue(
                f"t = {quantity(t, 's')} lies between the recorded rows {self.t[i - 1]:g} and "
                f"{quantity(self.t[i], 's')}: evaluate at a recorded time (solution.t), or record "
                "this time."
            )
        none = np.zeros((len(self.t), 0))
        v, gap = (self.v, self.gap) if self.has_velocities else (none, none)
        if self.t[i] == t:
            left = side == "left" and i in self.jump_rows
            return Sample(t, self.q[i], v[i - left], gap[i])
        s = (t - self.t[i - 1]) / (self.t[i] - self.t[i - 1])
        mix = [(1 - s) * a[i - 1] + s * a[i] for a in (self.q, v, gap)]
        if i in self.jump_rows:
            mix[1] = v[i - 1]
        return Sample(t, *mix)

    # -- energy -------------------------------------------------------------------------------

    @cached_property
    def _energies(self) -> np.ndarray:
        if self.recorded is not None:
            return self.recorded.energies
        if self.observe is None:
            raise BadValue("This solution was built from arrays and has no equations to evaluate.")
        return self.observe(self, "energy")

    @property
    def kinetic(self) -> np.ndarray:
        """Kinetic energy in J, (n_t,)."""
        return self._energies[:, 0]

    @property
    def potential(self) -> np.ndarray | None:
        """Potential energy in J, (n_t,), or None if the forces have none that is known."""
        return self._energies[:, 1] if self._energies.shape[1] > 1 else None

    @property
    def energy(self) -> np.ndarray:
        """Kinetic plus potential energy in J, (n_t,); kinetic alone if there is no potential."""
        return self.kinetic if self.potential is None else self.kinetic + self.potential

    @cached_property
    def contact_work(self) -> np.ndarray:
        """Work of each contact's impulses since the start in J, (n_t, n_c).

        p (gap'(-) + gap'(+)) / 2 per step; their sum takes energy away if e <= 1 (up to O(h^2)),
        while in a multiple impact one contact may give what another one takes.
        """
        step = np.zeros_like(self.p)
        step[1:] = 0.5 * self.p[1:] * (self.gap_dot[1:] + self.gap_dot[:-1])
        return np.cumsum(step, axis=0)

    # -- away from here -----------------------------------------------------------------------

    @property
    def quantities(self) -> list[Quantity]:
        """What every row has besides its time."""
        found = []
        if "q" in vars(self) or self.recorded is None:
            dim, names, units = self._kept("q")
            found.append(Quantity("q", self.q, dim, names, units, columns=names))
        dim, names, units = self._kept("v")
        if names and self.has_velocities:
            found.append(Quantity("v", self.v, dim, names, per_second(units)))
        if self.system.contacts:
            found += [
                self._of_contacts("p", self.p, "N s"),
                self._of_contacts("gap", self.gap, "m"),
                self._of_contacts("gap_dot", self.gap_dot, "m/s"),
                self._of_contacts("active", self.active),
            ]
        if self.mode_names:
            mode: np.ndarray = self.mode  # type: ignore[attr-defined]
            found.append(Quantity("mode", mode, names=self.mode_names))
        return found

    def _kept(self, what: str) -> tuple[str, Sequence[str], Sequence[str]]:
        """Return what is counted of "q", "v" or "a": its dimension, the names and units."""
        names, units = self.system.coordinates, self.system.units
        if self.recorded is None:
            return "state", names, units
        of, kept = dict(zip(names, units, strict=True)), getattr(self.recorded, what)
        dim = "state" if kept == tuple(names) else f"state_{what}"
        return dim, kept, [of[name] for name in kept]

    def _of_contacts(
        self, name: str, values: np.ndarray, unit: str = "", only: Any = None, names: Any = ()
    ) -> Quantity:
        labels = [c.name for c in self.system.contacts]
        return Quantity(name, values, "contact", labels, unit, only=only, names=names)

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """Named columns (n_t,): t, then what `quantities` says."""
        return {name: values for name, (values, _) in export.columns(self).items()}

    @property
    def spec(self) -> dict[str, Any]:
        """The recipe as plain data: system, scheme, parameters, start, versions."""
        asked = self.asked or {}
        return {
            "format": 1,
            "system": self.system.to_spec(),
            "scheme": self.scheme.to_spec(),
            "rho": self.rho,
            "start": self._start(),
            "t_end": asked.get("t_end", float(self.t[-1])),
            "t_eval": asked.get("t_eval"),
            "record": asked.get("record"),
            **({} if self.recorded is None else {"recorded": self.recorded.to_plain()}),
            "status": vars(self.status),
            "route": list(self.route),
            "references": list(self.system.sources),
            "versions": {
                "python": platform.python_version(),
                **{k: metadata.version(k) for k in ("nonsmooth-explorer", "numba", "numpy")},
            },
        }

    def _start(self) -> dict[str, Any]:
        """Return where the run began, as arguments of `simulate`."""
        if self.recorded is not None:
            return dict(self.recorded.start)
        if not self.has_velocities:
            modes = getattr(self.system, "modes", ())
            first = {"mode0": modes[self.mode[0]].name} if modes else {}  # type: ignore[attr-defined]
            return {"x0": self.q[0].tolist(), **first}
        return {"q0": self.q[0].tolist(), "v0": self.v[0].tolist()}

    def to_csv(self, path: str | Path | None = None) -> str:
        """Return (and write) the columns as CSV with all digits.

        Raises
        ------
        BadValue
            A file that cannot be written.
        """
        text = export.text(self)
        if path is not None:
            export.written(path, lambda file: file.write_text(text, encoding="utf-8"))
        return text

    def to_pandas(self) -> Any:
        """Return a DataFrame of `columns` (extra `data`).

        ``df.attrs["units"]`` holds the unit of each, ``df.attrs["spec"]`` the recipe.
        """
        return export.frame(self)

    def to_xarray(self) -> Any:
        """Return a Dataset with dims sample, state, contact (or law, ...), event (extra `data`).

        Time is a plain coordinate, not an index: an impact may repeat it. Units are attributes.
        """
        return export.dataset(self)

    def save(self, path: str | Path) -> Path:
        """Write everything, recipe included, to one ``.npz`` file; `explorer.load` reads it.

        Raises
        ------
        BadValue
            A file that cannot be written.
        """
        return export.save(self, path)
