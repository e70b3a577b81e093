"""One run of the Newmark family: structures for its kernels, factors, rows that become more."""

from __future__ import annotations

import operator
from typing import NamedTuple

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
    LinearWorkspace,
    Matrices,
    Method,
    Options,
    Places,
    Problem,
    Record,
    Workspace,
    linear_workspace,
    workspace,
)
from explorer.runs.time_stepping.breaks import acceleration_jump
from explorer.runs.time_stepping.factors import UNUSED, combined, factorise, rows_of
from explorer.runs.time_stepping.motion_rows import Rows
from explorer.types import Matrix

__all__ = ["Setup", "march", "march_linear"]

_STEPS = 100  # of one size, where steps adapt
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


def march_linear(
    compiled: Compiled, setup: Setup, matrices: tuple[Matrix, ...], rows: Rows
) -> tuple[int, int]:
    """March with constant M, K, C; a step of another size is factored here.

    Return a status and the last row that holds.
    """
    run, (M, K, C) = entry(newmark_linear.run), matrices
    method, h, t_end, even = setup.method, setup.h, setup.t_end, setup.error_tol <= 0
    options, grid = (
        _options(setup, False, False, False),
        Grid(t_end, 0, even, breaks_of(compiled.system, 1 + 2 * compiled.n)),
    )
    c, am, af = np.array([method.c_d, method.c_v, method.c_a]), method.alpha_m, method.alpha_f
    powers = method.power - np.arange(3.0)
    bundles = model.Bundles(compiled.table, setup.inp, np.empty(compiled.most + 1))
    linear = model.Rows(compiled.lin_ptr, compiled.lin_col, compiled.lin_val)
    mass = model.Rows(*rows_of(M))
    work = linear_workspace(compiled.n, h, setup.true)
    record = Record(*_record(rows))
    factors: Factors = UNUSED
    full = grid.drive.t.size > 0 and len(mass.val) != compiled.n
    inertia = (factorise(M) or UNUSED) if full else UNUSED
    most, code, last = np.inf if even else _STEPS, UNFACTORED, 0
    while code in (UNFACTORED, FULL):
        if code == FULL:
            work.state["row"] = rows.more(setup.error_tol, last)
            record = Record(*_record(rows))
        else:
            c_d, c_v, c_a = (c * h**powers).tolist()
            weights = (1 - am) * c_a, (1 - af) * c_v, (1 - af) * c_d
            made = factorise(combined(weights, (M, C, K)), min((t_end - rows.t[last]) / h, most))
            if made is None:
                return SINGULAR, last
            factors = made
        problem = LinearProblem(bundles, linear, mass, factors, inertia, method, options, grid)
        code = run(problem, record, work)
        while code == BREAK:
            _jump(compiled, setup, rows, work)
            code = run(problem, record, work)
        last, _, h, *_ = work.state.tolist()[0]
    return code, last


def march(
    compiled: Compiled, setup: Setup, matrices: tuple[Matrix, ...], rows: Rows
) -> tuple[int, int]:
    """March with Newton's method; return a status and the last row that holds."""
    run, kind, springs = entry(newmark.run), compiled.structural, rows.slip.shape[1]
    explicit = setup.method.c_d == 0  # d does not depend on x, v does
    analytic = kind.analytic and not springs and not setup.method.interpolated
    options = _options(setup, analytic, kind.moves, explicit and compiled.place_C.size == 0)
    places = Places(compiled.place_M, compiled.place_K, compiled.place_C, kind.inertia)
    flat = [A.reshape(A.size) for A in matrices]
    bands = kind.bands.tolist()
    problem = Problem(
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
