"""Runs of the Euler-Moreau scheme: structures for its kernels, of one run and of many."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from explorer.codes import SUCCESS
from explorer.compiled import FirstOrder
from explorer.compiled.held import breaks_of
from explorer.kernels.time_stepping import euler_moreau
from explorer.kernels.time_stepping.euler_moreau_structures import (
    Method,
    Model,
    Options,
    Places,
    Problem,
    Record,
    Task,
    workspace,
)
from explorer.kernels.time_stepping.march import Grid
from explorer.recorder import MOST_BYTES
from explorer.runs.members import APART, Asked, Members, Observed
from explorer.runs.time_stepping.ensemble import Answer, Columns, Shared, observe, rows_of
from explorer.runs.time_stepping.starts import evaluate
from explorer.types import Matrix

__all__ = ["Setup", "march", "march_members", "task_of"]

_REGULAR = 1e12  # condition number up to which a matrix M is regular without doubt


class Setup(NamedTuple):
    """A scheme in numbers."""

    h: float  # s
    method: Method
    newton_max: int
    newton_tol: float
    lcp: int  # see `explorer.kernels.complementarity.box_lcp`
    lcp_tol: float


def task_of(
    compiled: FirstOrder,
    setup: Setup,
    inp: np.ndarray,
    side: np.ndarray,
    M: Matrix,
    bounds: np.ndarray,
    t_end: float,
    rows: int,
) -> Task:
    """Return the structures of a march.

    `inp` is the input vector at the start, `side` (m,) where each multiplier is there, `bounds`
    (2, m) of them.
    """
    n, m = compiled.n_x, compiled.m
    record = Record(
        t=np.zeros(rows),
        x=np.zeros((rows, n)),
        lam=np.zeros((rows, m)),
        y=np.zeros((rows, m)),
        side=np.zeros((rows, m), np.int8),
        iterations=np.zeros(rows, np.int32),
        residuals=np.zeros((rows, 2)),
    )
    record.x[0], record.lam[0], record.side[0] = inp[1 : 1 + n], inp[1 + n : 1 + n + m], side
    out, places = np.empty(compiled.most + 1), Places(*compiled.places)
    problem = Problem(
        Model(compiled.table, inp, out, places, M, *bounds),
        setup.method,
        Options(compiled.kind, setup.newton_max, setup.newton_tol, setup.lcp, setup.lcp_tol),
        Grid(t_end, rows - 1, True, breaks_of(compiled.given, 1 + n + m)),
    )
    return Task(problem, record, workspace(n, m, bounds, setup.h))


def march(compiled: FirstOrder, task: Task, *, band: bool) -> int:
    """March to the end and return a status; `band`: through a band, while it finds the sides."""
    problem, record, work = task
    if band and compiled.joint.place.size > 0:  # loads more compiled code
        from explorer.kernels.time_stepping import euler_moreau_band

        joint = compiled.joint.band(problem.bundles.M, compiled.m)
        if euler_moreau_band.run(problem, record, work.state, joint) == SUCCESS:
            return SUCCESS
    return int(euler_moreau.run(problem, record, work))


class Starts(NamedTuple):
    """The starts of k members, as `FirstOrder.start` finds them."""

    plain: np.ndarray  # (k,) which are in order without doubt
    inp: np.ndarray  # (k, .) input vectors
    side: np.ndarray  # (k, m)
    M: np.ndarray  # (k, n, n)
    bounds: np.ndarray  # (k, 2, m)


def march_members(compiled: FirstOrder, setup: Setup, members: Members, asked: Asked) -> Observed:
    """Run all members on this thread, without the lock of Python.

    Each is the run that the scheme makes alone, to the last bit. Members that are not plainly in
    order have the code `explorer.runs.members.APART`.
    """
    from explorer.kernels.time_stepping.step_events import Contacts, Trace

    n, m, k = compiled.n_x, compiled.m, members.size
    found = Observed.empty(k, n, asked)
    found.code[:] = APART
    rows, begun = rows_of(setup.h, members.t_end), starts(compiled, members)
    plain = begun.plain & (members.t_end >= setup.h)
    plain &= rows * 8.0 * (n + 2 * m + 4) <= MOST_BYTES
    if not plain.any():
        return found
    one, most = int(plain.argmax()), int(rows[plain].max())
    task = task_of(
        compiled,
        setup,
        begun.inp[one].copy(),
        begun.side[one],
        begun.M[one].copy(),
        begun.bounds[one].copy(),
        float(members.t_end[one]),
        most,
    )
    model, record, box = task.problem.bundles, task.record, task.work.box
    begin: Columns = [
        (model.inp, begun.inp),
        (record.x[:1], begun.inp[:, 1 : 1 + n]),
        (record.lam[:1], begun.inp[:, 1 + n : 1 + n + m]),
        (record.side[:1], begun.side),
        (model.M, begun.M),
        (model.lower, begun.bounds[:, 0]),
        (model.upper, begun.bounds[:, 1]),
        (box.lower, begun.bounds[:, 0]),
        (box.upper, begun.bounds[:, 1]),
    ]
    none = np.zeros((most, 0))
    trace = Trace(record.t, record.x, none, none, none, none, record.side)
    laws = Contacts(np.zeros(m, np.int8), np.full(m, -1), 0)
    answer, names = Answer(plain, Shared(euler_moreau, task, begin)), compiled.system.guard_names
    own: tuple[str, ...] = getattr(compiled.given, "guard_names", ())  # of step functions
    if len(own) == m:
        names = own
    return observe(answer, trace, laws, names, rows, members, asked, found)


def starts(compiled: FirstOrder, members: Members) -> Starts:
    """Return the starts of members; those not plainly in order are run by themselves."""
    n, m, k = compiled.n_x, compiled.m, members.size
    inp = np.zeros((k, len(compiled.args)))
    inp[:, 1 + n + m :] = members.rho
    values = evaluate(compiled._given, inp)
    x = np.where(np.isnan(members.start), values[:, :n], members.start)
    M = np.ascontiguousarray(values[:, n : n + n * n]).reshape(k, n, n)
    bounds, place = np.zeros((k, 2, m)), n + n * n
    for j, law in enumerate(compiled.system.laws):
        for i, bound in enumerate((law.lb, law.ub)):
            if bound.is_infinite:
                bounds[:, i, j] = float(bound)
            else:
                bounds[:, i, j], place = values[:, place], place + 1
    plain = np.isfinite(values).all(axis=1) & np.isfinite(members.rho).all(axis=1)
    plain &= (bounds[:, 0] <= bounds[:, 1]).all(axis=1)
    plain[plain] = np.linalg.cond(M[plain]) < _REGULAR
    inp[:, 1 : 1 + n], inp[:, 1 + n : 1 + n + m] = x, np.clip(0.0, bounds[:, 0], bounds[:, 1])
    for bundle in compiled.bundles.values():
        plain &= np.isfinite(evaluate(bundle, inp)).all(axis=1)
    side = np.zeros((k, m), np.int8)
    for i in np.flatnonzero(plain).tolist():
        side[i:] = compiled.sides(inp[i])
        if all(law.kind != "equality" for law in compiled.system.laws):  # alike for all
            break
    return Starts(plain, inp, side, M, bounds)
