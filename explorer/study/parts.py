"""The parts of a sweep, run by an executor: sized from their cost, shown, stopped, kept on disk.

A part is a range of members, and a member depends on nothing else. So parts may have any size, run
anywhere and come back in any order: the result is the same to the last bit.
"""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, TypeAlias

import numpy as np

from explorer.errors import BadValue, ExplorerError
from explorer.progress import Progress
from explorer.results.export import written
from explorer.runs.members import Observed
from explorer.study.question import Question

__all__ = [
    "UNRUN",
    "Runs",
    "Stop",
    "blank",
    "check_stop",
    "cores",
    "run_chain",
    "run_parts",
    "workers_of",
]

UNRUN = -100  # beside a code: the sweep was stopped before
Stop = Callable[[], bool]


class Client(Protocol):
    """What is used of a Dask client (``distributed.Client``)."""

    def get_executor(self, **options: object) -> Executor:
        """Return it as an executor of Python's."""

    def ncores(self) -> Mapping[str, int]:
        """Return the number of threads of each worker."""


Runs: TypeAlias = Executor | Client
_TARGET = 0.25  # s that a part takes: between two looks at `stop`
_LARGEST = 20_000  # members of a part
_QUEUED = 2  # parts for each worker
_kept: dict[str, Question] = {}  # of a worker
_QUESTIONS = 4


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def workers_of(executor: Runs | None) -> int:
    """Return how many parts an executor runs at a time."""
    if executor is not None and not isinstance(executor, Executor):
        return max(sum(executor.ncores().values()), 1)
    return getattr(executor, "_max_workers", None) or cores()


def _work(digest: str, pickled: bytes, first: int, last: int) -> tuple[Observed, float]:
    """Run a part in a worker, which compiles a question once; return also its seconds."""
    question = _kept.get(digest)
    if question is None:
        while len(_kept) >= _QUESTIONS:
            _kept.pop(next(iter(_kept)))
        question = _kept[digest] = pickle.loads(pickled)
        question.run(first, first + 1)  # not counted: what is compiled or loaded
    begin = time.perf_counter()
    return question.run(first, last), time.perf_counter() - begin


def _work_here(question: Question, first: int, last: int) -> tuple[Observed, float]:
    """Run a part on a thread of this process."""
    begin = time.perf_counter()
    return question.run(first, last), time.perf_counter() - begin


@contextmanager
def _threads(question: Question) -> Iterator[Executor]:
    """Lend threads on all cores; one where Python itself would make the steps."""
    question.run(0, 1)  # compiles, once
    fast = question.scheme.ensemble(question.system) is not None
    with ThreadPoolExecutor(cores() if fast else 1) as pool:
        yield pool


class _Folder:
    """The finished parts of a question on disk: a file for each, named by its range."""

    def __init__(self, folder: str | Path, question: Question) -> None:
        if not isinstance(folder, str | os.PathLike):
            raise BadValue(f"folder = {folder!r} must be the name of a folder, such as 'runs'.")
        self.path = Path(folder) / f"sweep-{question.digest}"
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadValue(
                f"folder = {str(folder)!r} cannot be written ({error.strerror or error}): give a "
                "folder that can."
            ) from None

    def keep(self, first: int, last: int, part: Observed) -> None:
        """Write a part; what is not whole is never found under its name."""
        begun = self.path / f".{first}-{last}.npz"
        written(begun, lambda file: np.savez(file, **part._asdict()))
        begun.replace(self.path / f"{first}-{last}.npz")

    def parts(self) -> Iterator[tuple[int, int, Observed]]:
        """Yield the parts that are there; damaged files are run again."""
        for file in sorted(self.path.glob("[0-9]*-*.npz")):
            try:
                first, last = map(int, file.stem.split("-"))
                with np.load(file, allow_pickle=False) as found:
                    yield first, last, Observed(**found)
            except Exception:  # whatever a damaged file raises
                file.unlink(missing_ok=True)


def _gaps(done: np.ndarray) -> list[tuple[int, int]]:
    """Return the ranges that are still to be run."""
    edges = np.flatnonzero(np.diff(np.concatenate([[True], done, [True]]).astype(np.int8)))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]


def run_parts(
    question: Question,
    executor: Runs | None = None,
    folder: str | Path | None = None,
    *,
    progress: bool = True,
    stop: Stop | None = None,
) -> Observed:
    """Run all members; those that `stop` has left out have the code UNRUN.

    Raises
    ------
    BadValue
        The folder cannot be written.
    ExplorerError
        A worker has died.
    """
    check_stop(stop)
    size, whole = question.axes.size, blank(question)
    disk = None if folder is None else _Folder(folder, question)
    done = np.zeros(size, bool)
    for first, last, part in disk.parts() if disk else ():
        whole.put(slice(first, last), part)
        done[first:last] = True
    gaps = _gaps(done)
    if not gaps:
        return whole
    if executor is not None:
        workers = workers_of(executor)
        if not isinstance(executor, Executor):  # Dask itself runs again what a dead worker had
            executor = executor.get_executor(pure=False)
        run = _Run(question, executor, disk, whole, gaps, stop, workers=workers)
        run.go(int(done.sum()), progress)
        return whole
    with _threads(question) as pool:
        _Run(question, pool, disk, whole, gaps, stop, here=True).go(int(done.sum()), progress)
    return whole


def check_stop(stop: object) -> None:
    """Refuse what cannot be asked whether to stop.

    Raises
    ------
    BadValue
    """
    if stop is not None and not callable(stop):
        raise BadValue(f"stop = {stop!r} must be a function that returns whether to stop.")


def blank(question: Question) -> Observed:
    """Return room for all members of a question, none of which has been run."""
    whole = Observed.empty(question.axes.size, len(question.members(0, 1).start[0]), question.asked)
    whole.code[:] = UNRUN
    return whole


def run_chain(
    question: Question, whole: Observed, *, progress: bool = True, stop: Stop | None = None
) -> Iterator[slice]:
    """Run all members in their order, each from the end of the one before.

    What was observed is written to `whole`; yields which members have been run.
    """
    check_stop(stop)
    size = question.axes.size
    bar = Progress(size, f"Orbits of {question.system.name}", progress)
    first, many, begin = 0, 1, time.perf_counter()
    while first < size and not (stop is not None and stop()):
        last, since, state = min(first + many, size), time.perf_counter(), None
        if first > 0 and whole.leads(first - 1, question.asked):
            state = whole.end[first - 1], int(whole.mode[first - 1])
        whole.put(slice(first, last), question.run(first, last, state))
        yield slice(first, last)
        each = max((time.perf_counter() - since) / (last - first), 1e-9)
        first, many = last, max(1, min(int(_TARGET / each), _LARGEST))
        bar(first, f"{_span((time.perf_counter() - begin) / first * (size - first))} left")
    bar.close()


class _Run:
    """Parts on their way."""

    def __init__(
        self,
        question: Question,
        executor: Executor,
        disk: _Folder | None,
        whole: Observed,
        gaps: list[tuple[int, int]],
        stop: Stop | None,
        *,
        here: bool = False,
        workers: int = 0,
    ) -> None:
        self.question, self.executor, self.disk, self.whole = question, executor, disk, whole
        self.gaps, self.stop, self.here = gaps[::-1], stop or (lambda: False), here
        self.workers = workers or workers_of(executor)
        self.left, self.cost = sum(b - a for a, b in gaps), 0.0
        self.pickled = b"" if here else pickle.dumps(question)
        self.out: dict[Future[tuple[Observed, float]], tuple[int, int]] = {}

    def _next(self) -> tuple[int, int]:
        """Return the next part, as long as it shall take, and no longer than its share."""
        first, last = self.gaps.pop()
        most = 1 if self.cost == 0.0 else int(_TARGET / self.cost)
        most = max(1, min(most, _LARGEST, -(-self.left // self.workers)))
        if last - first > most:
            self.gaps.append((first + most, last))
            last = first + most
        return first, last

    def _submit(self) -> None:
        while self.gaps and len(self.out) < _QUEUED * self.workers:
            first, last = self._next()
            if self.here:
                future = self.executor.submit(_work_here, self.question, first, last)
            else:
                digest = self.question.digest
                future = self.executor.submit(_work, digest, self.pickled, first, last)
            self.out[future] = first, last

    def go(self, done: int, shown: bool) -> None:
        """Run all parts, or as many as `stop` lets."""
        total, begin, before = self.left + done, time.perf_counter(), done
        bar = Progress(total, f"Sweep of {self.question.system.name}", shown)
        try:
            while (self.gaps or self.out) and not self.stop():
                self._submit()
                for future in wait(self.out, 0.1, FIRST_COMPLETED).done:
                    done += self._take(future)
                seconds = time.perf_counter() - begin
                if done > before:
                    bar(done, f"{_span(seconds / (done - before) * (total - done))} left")
        except ExplorerError:
            raise
        except Exception as error:
            kept = "Finished parts are kept in the folder: call it again. " if self.disk else ""
            raise ExplorerError(
                f"A worker of the executor has failed ({type(error).__name__}: {error}). {kept}"
                "Fewer workers need less memory; without executor= the sweep runs on threads."
            ) from error
        finally:
            for future in self.out:
                future.cancel()
            running = [future for future in self.out if not future.cancelled()]
            for future in wait(running).done:  # their work is not lost
                if future.exception() is None:
                    self._take(future)
            bar.close()

    def _take(self, future: Future[tuple[Observed, float]]) -> int:
        """Take the result of a part; return how many members it has."""
        part, seconds = future.result()
        first, last = self.out.pop(future)
        self.whole.put(slice(first, last), part)
        if self.disk is not None:
            self.disk.keep(first, last, part)
        self.left -= last - first
        self.cost = max(seconds / (last - first), 1e-9)
        return last - first


def _span(seconds: float) -> str:
    """Return a time as one reads it on a watch."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
