"""One run of the Newmark family: structures for its kernels, factors, rows that become more."""

from __future__ import annotations

import operator
from typing import NamedTuple, TypeVar

import numpy as np

from explorer.codes import SINGULAR
from explorer.compiled import Compiled
from explorer.compiled.held import breaks_of
from explorer.kernels.entry import entry
from explorer.kernels.linear_algebra.structures import Factors
from explorer.kernels.model import structures as model
from explorer.kernels.time_stepping import newmark, newmark_linear
from explorer.kernels.time_stepping.bilinear_springs import springs_at_rest
from explorer.kernels.time_stepping.march import BREAK, FULL, UNFACTORED, Grid
from explorer.kernels.time_stepping.newmark_structures import (
    Bands,
    LinearProblem,
    LinearTask,
    LinearWorkspace,
    Matrices,
    Method,
    Options,
    Places,
    Problem,
    Record,
    Task,
    Workspace,
    linear_workspace,
    workspace,
)
from explorer.runs.time_stepping.breaks import acceleration_jump
from explorer.runs.time_stepping.ensemble import (
    Answer,
    Columns,
    Shared,
    factored,
    last_steps,
    weighted,
)
from explorer.runs.time_stepping.factors import UNUSED, combined, factorise, rows_of
from explorer.runs.time_stepping.motion_rows import Rows
from explorer.runs.time_stepping.starts import Starts
from explorer.types import Matrix

__all__ = ["Setup", "march", "march_linear", "shared"]

_STEPS = 100  # of one size, where steps adapt
Step = TypeVar("Step", float, np.ndarray)  # s
_record = operator.attrgetter(*Record._fields)


class Setup(NamedTuple):
    """A scheme in numbers, and the start."""

    method: Method
    newton_tol: float
    newton_max: int
    error_tol: float  # m; 0: even steps
    h: float  # s, the first step
    t_end: float  # s
    inp: np.ndarray  # (1 + 3 n + p,) the input vector at the start, and room for accelerations
    true: np.ndarray  # (n,) M^-1 F there


def _options(setup: Setup, analytic: bool, moves: bool, explicit: bool) -> Options:
    """Return how the equations of a step are solved, and how long it is."""
    return Options(
        setup.newton_tol,
        setup.newton_max,
        setup.error_tol,
        setup.t_end / 10,
        analytic,
        moves,
        explicit,
    )


def _jump(compiled: Compiled, setup: Setup, rows: Rows, work: Workspace | LinearWorkspace) -> None:
    """Let the accelerations at the last row jump with the inputs; M is singular."""
    row = int(work.state["row"][0])
    jump = acceleration_jump(compiled, setup.inp, rows.t[row], rows.q[row], rows.v[row])
    rows.a[row] += jump
    work.true0[:] += jump


def _linear_problem(compiled: Compiled, setup: Setup, M: Matrix) -> LinearProblem:
    """Return the equations with constant M, K, C, not factored yet."""
    return LinearProblem(
        model.Bundles(compiled.table, setup.inp, np.empty(compiled.most + 1)),
        model.Rows(compiled.lin_ptr, compiled.lin_col, compiled.lin_val),
        model.Rows(*rows_of(M)),
        UNUSED,
        UNUSED,
        setup.method,
        _options(setup, False, False, False),
        Grid(setup.t_end, 0, setup.error_tol <= 0, breaks_of(compiled.system, 1 + 2 * compiled.n)),
    )


def _weights(method: Method, h: Step) -> tuple[Step, Step, Step]:
    """Return the weights of M, C and K in the matrix of a step h, or of each of some steps (k,).

    The powers of h are products and quotients, which are the same for one step and for many.
    """
    first = 2 - method.power  # of the powers of h in c_d, c_v, c_a
    d, v, a = (h * h, h, h / h, 1 / h, 1 / (h * h))[first : first + 3]
    c_d, c_v, c_a = d * method.c_d, v * method.c_v, a * method.c_a
    return (1 - method.alpha_m) * c_a, (1 - method.alpha_f) * c_v, (1 - method.alpha_f) * c_d


def march_linear(
    compiled: Compiled, setup: Setup, matrices: tuple[Matrix, ...], rows: Rows
) -> tuple[int, int]:
    """March with constant M, K, C; a step of another size is factored here.

    Return a status and the last row that holds.
    """
    run, (M, K, C) = entry(newmark_linear.run), matrices
    h, t_end, even = setup.h, setup.t_end, setup.error_tol <= 0
    work = linear_workspace(compiled.n, h, setup.true)
    record = Record(*_record(rows))
    problem = _linear_problem(compiled, setup, M)
    if problem.grid.drive.t.size > 0 and len(problem.mass.val) != compiled.n:
        problem = problem._replace(inertia=factorise(M) or UNUSED)
    most, code, last = np.inf if even else _STEPS, UNFACTORED, 0
    while code in (UNFACTORED, FULL):
        if code == FULL:
            work.state["row"] = rows.more(setup.error_tol, last)
            record = Record(*_record(rows))
        else:
            W = combined(_weights(setup.method, h), (M, C, K))
            made = factorise(W, min((t_end - rows.t[last]) / h, most))
            if made is None:
                return SINGULAR, last
            problem = problem._replace(factors=made)
        code = run(problem, record, work)
        while code == BREAK:
            _jump(compiled, setup, rows, work)
            code = run(problem, record, work)
        last, _, h, *_ = work.state.tolist()[0]
    return code, last


def _problem(
    compiled: Compiled, setup: Setup, matrices: tuple[Matrix, ...], springs: int
) -> Problem:
    """Return the equations that Newton's method solves; `matrices` are those at the start."""
    kind = compiled.structural
    explicit = setup.method.c_d == 0  # d does not depend on x, v does
    analytic = kind.analytic and not springs and not setup.method.interpolated
    options = _options(setup, analytic, kind.moves, explicit and compiled.place_C.size == 0)
    places = Places(compiled.place_M, compiled.place_K, compiled.place_C, kind.inertia)
    flat = [A.reshape(A.size) for A in matrices]
    bands = kind.bands.tolist()
    return Problem(
        kind.at(setup.inp),
        places,
        Matrices(*matrices, *flat),
        Bands(*bands[:2], *(bands[2:4] if explicit else bands[4:])),
        springs_at_rest(kind.pattern, springs),
        setup.method,
        options,
        Grid(
            setup.t_end,
            0,
            setup.error_tol <= 0,
            breaks_of(compiled.system, 1 + 2 * compiled.n),
        ),
    )


def march(
    compiled: Compiled, setup: Setup, matrices: tuple[Matrix, ...], rows: Rows
) -> tuple[int, int]:
    """March with Newton's method; return a status and the last row that holds."""
    run, problem = entry(newmark.run), _problem(compiled, setup, matrices, rows.slip.shape[1])
    work, code, last = workspace(compiled.n, setup.h, setup.true), FULL, 0
    while code == FULL:
        if last > 0:
            work.state["row"] = rows.more(setup.error_tol, last)
        record = Record(*_record(rows))
        code = run(problem, record, work)
        while code == BREAK:
            _jump(compiled, setup, rows, work)
            code = run(problem, record, work)
        last = int(work.state["row"][0])
    return code, last


def shared(
    compiled: Compiled,
    setup: Setup,
    rows: Rows,
    starts: Starts,
    true: np.ndarray,
    plain: np.ndarray,
    t_end: np.ndarray,
    *,
    zero: bool,
) -> Answer:
    """Return the march for all members whose starts are plain.

    Parameters
    ----------
    setup, rows : those of one member; its input vector has room for accelerations
    true : (k, n) float
        M^-1 F at the starts.
    zero : bool
        Whether the first acceleration is zero, not `true`.
    """
    one, n, record = int(plain.argmax()), compiled.n, Record(*_record(rows))
    M, K, C = starts.M, starts.K, starts.C
    begin: Columns = [
        (setup.inp, np.hstack([starts.inp, np.zeros_like(true)])),
        (record.q[:1], starts.inp[:, 1 : 1 + n]),
        (record.v[:1], starts.inp[:, 1 + n : 1 + 2 * n]),
        (record.a[:1], np.zeros_like(true) if zero else true),
    ]
    if not compiled.constant:
        given = M[one].copy(), K[one].copy(), C[one].copy()
        begin += zip(given, (M, K, C), strict=True)
        task = Task(_problem(compiled, setup, given, 0), record, workspace(n, setup.h, setup.true))
        begin.append((task.work.true0, true))
        return Answer(plain, Shared(newmark, task, begin, steps=False))
    problem, last = _linear_problem(compiled, setup, M[one]), Columns()
    present = (M != 0).reshape(len(M), -1)
    plain = plain & (present == present[one]).all(axis=1)
    begin.append((problem.mass.val, M.reshape(len(M), -1)[:, present[one]]))
    kept: Factors | None = None
    for h, columns in ((np.full(len(M), setup.h), begin), (last_steps(setup.h, t_end), last)):
        made, plain, parts = factored(weighted(_weights(setup.method, h), (M, C, K)), plain)
        kept = kept or made
        if made is None or kept is None or _shapes(made) != _shapes(kept):
            return Answer(plain, None)
        columns += zip(kept[:4], parts, strict=False)
    assert kept is not None
    work = linear_workspace(n, setup.h, setup.true)
    begin.append((work.true0, true))
    linear = LinearTask(problem._replace(factors=kept), record, work)
    return Answer(plain, Shared(newmark_linear, linear, begin, last, steps=False))


def _shapes(factors: Factors) -> list[tuple[int, ...]]:
    return [x.shape for x in factors[:4]]
