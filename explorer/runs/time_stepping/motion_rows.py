"""Rows of a run of the Newmark family: all of them, or those that a `Recorder` keeps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from explorer.errors import BadValue
from explorer.memory import zeros
from explorer.quantities import quantity
from explorer.recorder import MOST_BYTES, PER_STEP, Recorded, Selection
from explorer.results.solution import Solution
from explorer.verification.ledger import WORKS, Ledger, Stepper

__all__ = ["Keeper", "Rolling", "Rows"]

_PIECE = 2**21  # numbers of a piece that is checked at a time
_LEAST = 64  # rows of it
_LARGEST = ("iterations", "error", "imbalance", "parts")  # of the steps that end at a row


class Rows:
    """The rows of a run; a run whose steps adapt makes them longer."""

    def __init__(self, rows: int, n: int, springs: int) -> None:
        self.t = np.zeros(rows)
        self.q, self.v, self.a = zeros(3 * rows * n).reshape(3, rows, n)
        self.slip = np.zeros((rows, springs))
        self.iterations = np.ones(rows, np.int32)
        self.error, self.residual, self.imbalance, self.parts = np.zeros((4, rows))

    def more(self, error_tol: float, last: int) -> int:
        """Make room behind the `last` row; return its new number."""
        for name, x in vars(self).items():
            setattr(self, name, np.concatenate([x, np.zeros_like(x)]))
        if sum(x.nbytes for x in vars(self).values()) > MOST_BYTES:
            raise BadValue(
                f"error_tol = {quantity(error_tol, 'm')} makes more steps than memory "
                "holds; try a larger one, or keep fewer rows: record=Recorder(every=10)."
            )
        return last


class Rolling(Rows):
    """The last rows of a run: those before are handed to a `Keeper`."""

    def __init__(self, rows: int, n: int, springs: int) -> None:
        piece = max(_LEAST, _PIECE // (3 * n))
        super().__init__(min(rows, piece), n, springs)
        self.keeper: Keeper | None = None

    def more(self, error_tol: float, last: int) -> int:
        """Hand over the rows and begin anew behind the last two: a step looks at both."""
        assert self.keeper is not None
        self.keeper.take(last)
        for x in vars(self).values():
            if isinstance(x, np.ndarray):
                x[:2] = x[last - 1 : last + 1].copy()
        return 1


class Keeper:
    """Checks a run piece by piece and keeps what a `Recorder` asks for.

    Parameters
    ----------
    scheme : a scheme of the Newmark family
    selection : Selection
    piece : callable
        Returns the rows up to a given one as a run of its own.
    """

    def __init__(
        self, scheme: Stepper, selection: Selection, piece: Callable[[int], Solution]
    ) -> None:
        self.selection, self.piece, self.ledger = selection, piece, Ledger(scheme)
        self.steps, self.last = 0, np.zeros(0)
        self.rows: list[int] = []
        self.parts: dict[str, list[np.ndarray]] = {k: [] for k in ("t", "q", "v", "a", "slip")}
        self.figures: dict[str, list[np.ndarray]] = {k: [] for k in (*_LARGEST, "residuals")}
        self.start: dict[str, list[float]] = {}

    def take(self, last: int) -> None:
        """Take the rows up to `last`; of all pieces but the first two were there before."""
        run = self.piece(last)
        first = not self.rows
        new = 0 if first else 2
        if first:
            self.start = {"q0": run.q[0].tolist(), "v0": run.v[0].tolist()}
        if last < new:
            return
        self.ledger.add(run, new)
        for name, series in self.figures.items():
            series.append(getattr(run, name)[new:])
        begin = max(new - 1, 0)
        kept = 1 + begin + np.flatnonzero(self.selection.keeps(run.t[begin:], self.steps + 1))
        numbers = self.steps + kept - begin
        kept = np.append(0, kept) if first else kept
        self.rows += [0] * first + numbers.tolist()
        self._keep(run, kept)
        self.steps += last - begin
        self.run = run
        size = sum(x.nbytes for parts in self.parts.values() for x in parts)
        if size + 8 * PER_STEP * self.steps > MOST_BYTES:
            raise BadValue(
                f"{self.selection.recorder!r} keeps more than memory holds, after {self.steps} "
                "steps: keep fewer rows or coordinates."
            )

    def _keep(self, run: Solution, rows: np.ndarray) -> None:
        for name, parts in self.parts.items():
            found = getattr(run, name)[rows]
            if name in ("q", "v", "a"):
                found = found[:, getattr(self.selection, name)]
            parts.append(found)

    def recorded(self) -> tuple[dict[str, np.ndarray], Recorded]:
        """Return the rows and figures of a run, and what is known of all steps."""
        if self.rows[-1] != self.steps:
            self.rows.append(self.steps)
            self._keep(self.run, np.array([len(self.run.t) - 1]))
        rows = np.array(self.rows)
        found = {name: np.concatenate(parts) for name, parts in self.parts.items()}
        for name, series in self.figures.items():
            x = np.concatenate(series)
            over = np.maximum.reduceat(x[1:], rows[:-1], axis=0) if len(rows) > 1 else x[:0]
            found[name] = np.concatenate([x[:1], over])
        names = {k: self.selection.names(k) for k in ("q", "v", "a")}
        works = self.ledger.works[rows].T if self.ledger.known else ()
        return found, Recorded(
            self.selection.recorder,
            **names,
            steps=self.steps,
            start=self.start,
            energies=self.ledger.energies[rows],
            works=dict(zip(WORKS, works, strict=False)),
            checks=self.ledger.certificate(),
        )
