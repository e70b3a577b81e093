"""Native functions behind inputs u(t): see `explorer.kernels.model.held_inputs`."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self, TypeVar

import numpy as np

from explorer.compiled.bundle import FUNCTION, Bundle
from explorer.systems import HybridSystem, System
from explorer.systems.drive import Drive

if TYPE_CHECKING:
    from explorer.kernels.model.held_inputs import Drive as Held

__all__ = [
    "Drivable",
    "HeldBundle",
    "HeldDict",
    "HeldList",
    "Schedule",
    "before_breaks",
    "behind_inputs",
    "breaks_of",
    "driven_flow",
    "held",
    "left_of_breaks",
    "schedule_of",
    "shared",
]

B = TypeVar("B", bound="Bundle | None")
C = TypeVar("C")
T = TypeVar("T")


class shared(functools.cached_property[T]):  # noqa: N801 (a decorator)
    """A property that a compiled system with a drive takes from the one without."""

    def __get__(self, compiled: object, owner: type | None = None) -> T:  # type: ignore[override]
        plain = None if compiled is None else vars(compiled).get("_undriven")
        if plain is None:
            return super().__get__(compiled, owner)
        assert self.attrname is not None
        found: T = getattr(plain, self.attrname)
        return found


class Drivable:
    """A compiled system that may stand behind inputs along time."""

    _undriven: Self | None = None  # the same without them

    @property
    def at_start(self) -> Self:
        """The same without inputs along time; it gives the same numbers at t = 0."""
        return self if self._undriven is None else self._undriven


class HeldBundle(Bundle):
    """A bundle behind inputs: their present values are written to the input vector first."""

    def __init__(self, bundle: Bundle, address: int, words: np.ndarray) -> None:
        self.size, self.address = bundle.size, address
        self.data: int = words.__array_interface__["data"][0]
        self._bundle, self._words = bundle, words
        self._call = _function(address)


_function = functools.cache(FUNCTION)


class HeldList(list["Bundle"]):
    """Bundles of which those asked for by number stand behind the inputs."""

    def __init__(self, bundles: Iterable[Bundle], system: System, first: int) -> None:
        super().__init__(bundles)
        self.system, self.first = system, first

    def __getitem__(self, k: int | slice) -> Bundle:  # type: ignore[override]
        found = super().__getitem__(k)
        schedule = None if isinstance(k, slice) else schedule_of(self.system)
        return found if schedule is None else schedule.bundle(found, self.first)  # type: ignore

    def copy(self) -> HeldList:
        """Return the same bundles."""
        return HeldList(self, self.system, self.first)


class HeldDict(dict[str, Bundle]):
    """The same by name."""

    def __init__(self, bundles: Mapping[str, Bundle], system: System, first: int) -> None:
        super().__init__(bundles)
        self.system, self.first = system, first

    def __getitem__(self, name: str) -> Bundle:
        schedule = schedule_of(self.system)
        found = super().__getitem__(name)
        return found if schedule is None else schedule.bundle(found, self.first)


def held(bundle: Bundle, system: System, first: int) -> Bundle:
    """Return a bundle behind the inputs of a system, if it has a drive."""
    schedule = schedule_of(system)
    return bundle if schedule is None else schedule.bundle(bundle, first)


def behind_inputs(compiled: C, system: System, first: int, **changes: object) -> C:
    """Return a compiled system for the same one with a drive.

    Its kernels hold the inputs themselves; bundles that Python asks for stand behind them. rho
    begins at `first` in the input vector. `changes` are further attributes.
    """
    other = _copied(compiled)
    own = vars(other)
    own.pop("structural", None)
    for name in ("bundles", "_native"):
        if isinstance(bundles := own.get(name), dict):
            own[name] = HeldDict(bundles, system, first)
        elif bundles is not None:
            own[name] = HeldList(bundles, system, first)
    own.update(system=system, _undriven=compiled, **changes)
    return other


def _copied(compiled: C) -> C:
    """Return a shallow copy."""
    other: C = object.__new__(type(compiled))
    object.__setattr__(other, "__dict__", vars(compiled).copy())
    return other


def driven_flow(flow: C, system: System) -> C:
    """Return a flow without a cost for the same system with a drive."""
    first = 1 + len(vars(flow)["states"])
    other = behind_inputs(flow, system, first, _origin=system, _kept={}, _active={})
    vars(other)["_plain"] = other
    if isinstance(system, HybridSystem):
        vars(other)["automaton"] = system
    return other


class Schedule:
    """The inputs of a run as native functions read them.

    Parameters
    ----------
    system : System
        One with a `drive`.
    """

    def __init__(self, system: System, drive: Drive) -> None:
        self.drive = drive
        self._places = drive.places_in(system)
        self._held: dict[tuple[int, int, int], HeldBundle] = {}

    @functools.cached_property
    def memory(self) -> np.ndarray:
        """Words of a schedule."""
        from explorer.kernels.model.held_inputs import memory_of

        drive = self.drive
        return memory_of(drive.t, self._places, drive.values, drive.close)

    def bundle(self, bundle: B, first: int) -> B:
        """Return a bundle behind the inputs; rho begins at `first` in the input vector."""
        if bundle is None or isinstance(bundle, HeldBundle):
            return bundle
        from explorer.kernels.model.held_inputs import standing_before

        key = bundle.address, bundle.data, first
        if key not in self._held:
            address, words = standing_before(bundle.address, bundle.data, self.memory, first)
            self._held[key] = HeldBundle(bundle, address, words)
        return self._held[key]  # type: ignore[return-value]

    def bundles(self, bundles: Sequence[B], first: int) -> list[B]:
        """Return bundles behind the inputs."""
        return [self.bundle(b, first) for b in bundles]

    def intervals(self, t: np.ndarray) -> np.ndarray:
        """Return the interval of each time; at a break the one behind it."""
        close = 1e-9 * float(np.diff(self.drive.t).min())
        return np.searchsorted(self.drive.breaks, t + close, side="right")

    @contextmanager
    def holding(self, k: int) -> Iterator[None]:
        """Let the inputs be those of interval `k`, while this lasts."""
        from explorer.kernels.model.held_inputs import head_of

        now = head_of(self.memory)["now"]
        before, now[:] = now.copy(), k
        try:
            yield
        finally:
            now[:] = before


def before_breaks(t: np.ndarray) -> np.ndarray:
    """Return which of increasing times are the first of two that are equal, bool."""
    return np.append(t[1:] == t[:-1], False)[: len(t)]


def schedule_of(system: System) -> Schedule | None:
    """Return the schedule of a driven system, None of others."""
    drive: Drive | None = system.drive
    if drive is None:
        return None
    if "schedule" not in system.made:
        system.made["schedule"] = Schedule(system, drive)
    schedule: Schedule = system.made["schedule"]
    return schedule


def breaks_of(system: System, first: int, stride: int = 1_000_000_000) -> Held:
    """Return the inputs as kernels write them to an input vector, or to several of a length.

    rho begins at `first` in it. Of a system without inputs along time there are none.
    """
    from explorer.kernels.model.held_inputs import NEVER, Drive

    drive = system.drive
    if drive is None or len(drive.t) < 3:
        return NEVER
    places = drive.places_in(system, first)
    return Drive(drive.breaks, np.zeros(1, np.int64), places, drive.values, stride)


@contextmanager
def left_of_breaks(system: System) -> Iterator[None]:
    """Evaluate formulas at a break as before it, while this lasts."""
    schedule = schedule_of(system)
    if schedule is None:
        yield
        return
    with schedule.holding(-2):
        yield
