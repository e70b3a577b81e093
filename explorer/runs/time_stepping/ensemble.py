"""Many runs of fixed steps in one call, of which only what is asked for stays.

A scheme makes one march as for a single run, and says which of its arrays differ from member to
member. All else of the structures is as it was before the first step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

import numpy as np

from explorer.compiled import Compiled
from explorer.kernels.linear_algebra.structures import Factors
from explorer.recorder import MOST_BYTES
from explorer.runs.capture import kernel_known
from explorer.runs.members import APART, FREE, SECTIONS, Asked, Members, Observed
from explorer.runs.time_stepping.factors import factorise
from explorer.runs.time_stepping.starts import Starts, is_plain, starts

if TYPE_CHECKING:
    from explorer.kernels.time_stepping.ensemble import Patches
    from explorer.kernels.time_stepping.shared_march import Addresses
    from explorer.kernels.time_stepping.step_events import Contacts, Trace

__all__ = [
    "Answer",
    "Columns",
    "Parts",
    "Shared",
    "factored",
    "last_steps",
    "march_members",
    "observe",
    "rows_of",
    "weighted",
]


Columns = list[tuple[np.ndarray, np.ndarray]]  # an array, and what it holds of each member, (k, .)
Parts = tuple[np.ndarray, ...]


class Arrays(Protocol):
    """A structure of arrays, at any depth."""

    def __iter__(self) -> Iterator[object]: ...


class Record(Arrays, Protocol):
    """What a run writes: times (n_t,) in s, and more."""

    @property
    def t(self) -> np.ndarray: ...


class Motion(Record, Protocol):
    """One of coordinates and velocities, (n_t, n)."""

    @property
    def q(self) -> np.ndarray: ...

    @property
    def v(self) -> np.ndarray: ...


class Work(Arrays, Protocol):
    """A workspace; its state begins with the number of the last row that holds."""

    @property
    def state(self) -> np.ndarray: ...


class Task(Protocol):
    """All of a march; its problem has a `grid`."""

    @property
    def record(self) -> Record: ...

    @property
    def work(self) -> Work: ...


@dataclass
class Shared:
    """A march that many members share.

    Attributes
    ----------
    kernels : module
        Its `go` and `bind`.
    task : named tuple
        problem, record and work, made for one member and long enough for all.
    begin : list of (array, values)
        What differs from member to member, before the first step.
    last : list of (array, values)
        What is put there before a last step of another size, where `go` asks for it.
    steps : bool
        Whether the grid of the problem counts steps.
    """

    kernels: ModuleType
    task: Task
    begin: Columns
    last: Columns = field(default_factory=list)
    steps: bool = True


class Answer(NamedTuple):
    """What a scheme makes of the starts of members.

    Attributes
    ----------
    plain : (k,) bool
        Which members share the march; the others run by themselves.
    shared : Shared or None
        None: no member does.
    """

    plain: np.ndarray
    shared: Shared | None


def march_members(
    compiled: Compiled,
    h: float,
    impact_steps: int,
    prepare: Callable[[Starts, np.ndarray, np.ndarray, int], Answer],
    members: Members,
    asked: Asked,
) -> Observed:
    """Run all members on this thread, without the lock of Python.

    Each is the run that the scheme makes alone, to the last bit. Members that are not plainly in
    order have the code `explorer.runs.members.APART`.

    Parameters
    ----------
    prepare : callable
        Takes starts, which of them are plain, t_end (k,) and the rows of the record.
    """
    from explorer.kernels.time_stepping.step_events import Contacts, Trace

    k, n = members.size, compiled.n
    found = Observed.empty(k, members.start.shape[1], asked)
    found.code[:] = APART
    if not is_plain(compiled) or members.start.shape[1] != 2 * n:
        return found
    begun, rows = starts(compiled, members), rows_of(h, members.t_end)
    plain = begun.plain & (members.t_end >= h)
    plain &= rows * 8.0 * (3 * n + compiled.nc + 2 * compiled.rows + 4) <= MOST_BYTES
    if not plain.any():
        return found
    most = int(rows[plain].max())
    answer = prepare(begun, plain, members.t_end, most)
    if answer.shared is None or not answer.plain.any():
        return found
    record = cast(Motion, answer.shared.task.record)
    none, flags = np.zeros((most, 0)), np.zeros((most, 0), np.int8)
    trace = Trace(
        record.t,
        record.q,
        record.v,
        getattr(record, "p", none),
        getattr(record, "gap", none),
        getattr(record, "gap_dot", none),
        getattr(record, "active", flags),
    )
    names = [contact.name for contact in compiled.system.contacts]
    contacts = Contacts(np.ones(compiled.nc, np.int8), _along(compiled), impact_steps)
    return observe(answer, trace, contacts, names, rows, members, asked, found)


def observe(
    answer: Answer,
    trace: Trace,
    contacts: Contacts,
    names: Sequence[str],
    rows: np.ndarray,
    members: Members,
    asked: Asked,
    found: Observed,
) -> Observed:
    """Return what is observed of all members, those that are not plain APART.

    Parameters
    ----------
    trace : the rows that the march writes
    contacts, names : what can happen along them, and how it is called
    rows : (k,) int
        Of the record of each member.
    found : Observed
        Room for it.
    """
    from explorer.kernels.event_driven.records import TRACK
    from explorer.kernels.time_stepping import ensemble as kernel

    shared, plain = answer.shared, answer.plain
    assert shared is not None
    k, n_x = found.end.shape
    addresses, patches, alive = _patches(shared, members.t_end, rows)
    room = max(asked.most, 1 if asked.known else 0)
    seen = kernel.Seen(
        code=np.where(plain, 0, APART),
        t=found.t,
        end=found.end,
        events=np.zeros((k, len(names)), np.int64),
        found=found.found,
        points=np.full((k, room, n_x), np.nan),
        times=np.full((k, room), np.nan),
        low=found.low,
        high=found.high,
        caught=np.full(k, FREE),
        point=np.zeros(n_x),
        hit=np.zeros(len(trace.t), np.int64),
        events_at=np.zeros(len(trace.t) + 2, np.int64),
        jump=np.zeros(len(trace.t), np.int8),
        track=np.zeros(1, TRACK),
    )
    runs = kernel.Members(
        rows,
        members.t_end,
        members.since,
        members.period,
        members.offset,
        SECTIONS.index(asked.section),
        names.index(asked.event) if asked.event in names else -1,
        asked.before,
        asked.extrema,
    )
    kernel.ensemble(addresses, patches, trace, contacts, kernel_known(asked.known, n_x), runs, seen)
    del alive
    events = np.zeros((k, len(asked.names)), np.int64)
    for j, name in enumerate(names):
        if name in asked.names:
            events[:, asked.names.index(name)] += seen.events[:, j]
    return found._replace(
        code=seen.code, events=events, points=seen.points, times=seen.times, caught=seen.caught
    ).without_failed()


def rows_of(h: float, t_end: np.ndarray) -> np.ndarray:
    """Return how many rows each run has."""
    return 1 + np.ceil(t_end / h - 1e-9).astype(np.int64)


def last_steps(h: float, t_end: np.ndarray) -> np.ndarray:
    """Return the last step of each run in s, as `explorer.kernels.time_stepping.time_grid` does."""
    left = t_end - (rows_of(h, t_end) - 2) * h
    return np.where(np.abs(left - h) > 1e-9 * h, left, h)


def _along(compiled: Compiled) -> np.ndarray:
    """Return the column of the record that tells what friction of each contact does, or -1."""
    found = np.full(compiled.nc, -1)
    for place, (contact, direction, _) in enumerate(compiled.system.tangents):
        if direction == 0:
            found[contact] = compiled.nc + place
    return found


def _arrays(structure: Iterable[object]) -> Iterator[np.ndarray]:
    """Yield the arrays of a structure, at any depth."""
    for part in structure:
        if isinstance(part, tuple):
            yield from _arrays(part)
        elif isinstance(part, np.ndarray):
            yield part


def _place(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


def _patch(target: np.ndarray, values: np.ndarray) -> tuple[int, int, int, int]:
    """Return the patch that puts a row of `values` to an array."""
    assert values.dtype == target.dtype
    size = values[0].nbytes
    assert size <= target.nbytes
    return _place(target), _place(values), size, size


def _patches(
    shared: Shared, t_end: np.ndarray, rows: np.ndarray
) -> tuple[Addresses, Patches, list[np.ndarray]]:
    """Return where the march is, what it gets of each member, and what must stay alive for it."""
    from explorer.kernels.time_stepping.ensemble import CLEARED, Patches
    from explorer.kernels.time_stepping.shared_march import PLACES, Addresses, address

    task, bind = shared.task, shared.kernels.bind
    places = np.zeros(1, PLACES)
    memory = np.zeros(bind(task, np.zeros(0, np.uint8), places), np.uint8)
    bind(task, memory, places)
    problem, record, work, grid = places[0].tolist()
    alive = [memory]
    begin = []
    for array in _arrays(task.work):
        blank = array.copy()
        alive.append(blank)
        begin.append((_place(array), _place(blank), 0, array.nbytes))
    times = np.zeros((len(t_end), 2 if shared.steps else 1), np.int64)
    times[:, 0] = np.ascontiguousarray(t_end, float).view(np.int64)
    if shared.steps:
        times[:, 1] = rows - 1
    alive.append(times)
    begin.append((grid, _place(times), times[0].nbytes, times[0].nbytes))
    columns = [
        [(target, np.ascontiguousarray(values)) for target, values in part]
        for part in (shared.begin, shared.last)
    ]
    alive += [values for part in columns for _, values in part]
    begin += [_patch(*each) for each in columns[0]]
    last = [_patch(*each) for each in columns[1]]
    cleared = [(_place(x), x[:1].nbytes) for x in _arrays(task.record) if x.size]
    patches = Patches(
        _copies(begin),
        _copies(last),
        np.array(cleared, CLEARED),
        task.work.state.view(np.int64)[:1],
    )
    found = Addresses(address(shared.kernels.go), problem, record, work)
    return found, patches, alive


def _copies(rows: Sequence[tuple[int, int, int, int]]) -> np.ndarray:
    """Return the patches that copy anything."""
    from explorer.kernels.time_stepping.ensemble import PATCH

    found = np.array(rows, PATCH)
    return found[found["bytes"] > 0]


def weighted(weights: Iterable[float | np.ndarray], stacks: Sequence[np.ndarray]) -> np.ndarray:
    """Return the sum of weight times matrix of each member, as `factors.combined` does, (k, n, n).

    A weight is one number, or one of each member.
    """
    first, *others = (
        np.asarray(w)[..., None, None] * A
        for w, A in zip(weights, stacks, strict=True)
        if np.any(np.asarray(w) != 0)
    )
    return np.asarray(sum(others, first))


def factored(W: np.ndarray, plain: np.ndarray) -> tuple[Factors | None, np.ndarray, Parts]:
    """Factor the matrices (k, n, n) of members.

    Returns
    -------
    Factors of one of them, or None; which members have factors of that shape; and the parts
    inverse, order, below and above of all, (k, .).
    """
    k, n, plain = len(W), W.shape[1], plain.copy()
    off = W[:, ~np.eye(n, dtype=bool)]
    if n == 1 or not off[plain].any():
        with np.errstate(divide="ignore", invalid="ignore"):
            inverse = 1 / W[:, range(n), range(n)]
        plain &= np.isfinite(inverse).all(axis=1)
        one = factorise(W[plain][0]) if plain.any() else None
        return one, plain, (inverse,)
    rows, places = np.unique(W.reshape(k, -1), axis=0, return_inverse=True)
    places = places.ravel()
    kept = [factorise(row.reshape(n, n), 0.0) for row in rows]  # sparse where any run has that
    one = kept[places[np.flatnonzero(plain)[0]]]
    if one is None or one.L.ptr.size:
        return None, np.zeros(k, bool), ()
    shapes = [x.shape for x in one[:4]]
    same = [x is not None and not x.L.ptr.size and [y.shape for y in x[:4]] == shapes for x in kept]
    plain &= np.array(same)[places]
    whole = [x if fits and x is not None else one for x, fits in zip(kept, same, strict=True)]
    flat = [np.array([x[part] for x in whole]).reshape(len(kept), -1) for part in range(4)]
    return one, plain, tuple(np.ascontiguousarray(x[places]) for x in flat)
