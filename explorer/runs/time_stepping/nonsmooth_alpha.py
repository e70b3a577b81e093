"""One run of the nonsmooth generalised-alpha method: structures for its kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from explorer.codes import SINGULAR
from explorer.compiled import Compiled
from explorer.compiled.held import breaks_of
from explorer.kernels.complementarity.structures import LcpOptions
from explorer.kernels.entry import entry
from explorer.kernels.model import structures as model
from explorer.kernels.time_stepping import nonsmooth_alpha
from explorer.kernels.time_stepping.march import BREAK, Grid
from explorer.kernels.time_stepping.newmark_structures import Matrices, Places
from explorer.kernels.time_stepping.nonsmooth_alpha_structures import (
    Contacts,
    Method,
    Options,
    Problem,
    Record,
    Task,
    workspace,
)
from explorer.runs.time_stepping.ensemble import Answer, Columns, Shared
from explorer.runs.time_stepping.starts import Starts
from explorer.types import Matrix, is_sparse

__all__ = ["Setup", "march", "shared", "task_of"]


class Setup(NamedTuple):
    """A scheme in numbers, and the start."""

    method: Method
    newton_tol: float
    newton_max: int
    lcp: LcpOptions
    h: float  # s
    t_end: float  # s
    inp: np.ndarray  # (1 + 2 n + p,) the input vector at the start
    e: np.ndarray  # (n_c,) restitution


def task_of(
    compiled: Compiled, setup: Setup, matrices: tuple[Matrix, ...], rows: dict[str, np.ndarray]
) -> Task:
    """Return the structures of a march.

    `matrices` are M, K, C and the entries of G at the start, `rows` the arrays of a `Record`.
    """
    kind, G, n, nc = compiled.structural, matrices[3], compiled.n, compiled.nc
    full = [np.array(A.toarray() if is_sparse(A) else A) for A in matrices[:3]]
    inp = np.concatenate([setup.inp, np.zeros(n)])  # with room for accelerations
    constant = bool(compiled.constant)
    problem = Problem(
        model.Bundles(kind.table, inp, np.empty(max(kind.most, 2) + 1)),
        Places(compiled.place_M, compiled.place_K, compiled.place_C, kind.inertia),
        Matrices(*full, *(A.reshape(A.size) for A in full)),
        model.Rows(compiled.lin_ptr, compiled.lin_col, compiled.lin_val),
        Contacts(model.Rows(compiled.gap_ptr, compiled.gap_col, G), setup.e),
        setup.method,
        Options(setup.newton_tol, setup.newton_max, constant, kind.moves, setup.lcp),
        Grid(setup.t_end, len(rows["t"]) - 1, True, breaks_of(compiled.system, 1 + 2 * n)),
    )
    return Task(problem, Record(**rows), workspace(n, nc, setup.h))


def march(task: Task) -> tuple[Callable[[], int], Callable[[], int]]:
    """Return the march and what tells its last row, to be called."""
    run = entry(nonsmooth_alpha.run)

    def call() -> int:
        code = int(run(*task))
        return SINGULAR if code == BREAK else code

    return call, lambda: int(task.work.state["row"][0])


def shared(task: Task, starts: Starts, a: np.ndarray, plain: np.ndarray) -> Answer:
    """Return the march for all members whose starts are plain; `a` (k, n) begins it."""
    problem, record, n = task.problem, task.record, a.shape[1]
    begin: Columns = [
        (problem.bundles.inp, np.hstack([starts.inp, np.zeros_like(a)])),
        (record.q[:1], starts.inp[:, 1 : 1 + n]),
        (record.v[:1], starts.inp[:, 1 + n : 1 + 2 * n]),
        (record.a[:1], a),
        (problem.matrices.M, starts.M),
        (problem.matrices.K, starts.K),
        (problem.matrices.C, starts.C),
        (problem.contacts.G.val, starts.G),
        (problem.contacts.e, starts.e),
    ]
    return Answer(plain, Shared(nonsmooth_alpha, task, begin))
