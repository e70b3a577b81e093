"""One run of Moreau-Jean: structures for its kernels, and factors for each step size."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from explorer.codes import SINGULAR
from explorer.compiled import Compiled
from explorer.compiled.held import breaks_of
from explorer.compiled.ordering import ordering
from explorer.kernels.entry import entry
from explorer.runs.time_stepping.ensemble import (
    Answer,
    Columns,
    Shared,
    factored,
    last_steps,
    weighted,
)
from explorer.runs.time_stepping.factors import (
    UNCHANGING,
    UNUSED,
    bordered,
    changing,
    combined,
    factorise,
)
from explorer.runs.time_stepping.starts import Starts
from explorer.types import Matrix

if TYPE_CHECKING:
    from explorer.kernels.time_stepping.moreau_jean_structures import (
        Problem,
        Record,
        Sizes,
        Workspace,
    )

__all__ = ["LEVELS", "Run", "Setup", "shared"]

LEVELS = 3  # `Setup.projected`: constraints hold at both levels
_NOWHERE, _NONE = np.empty(0, np.int64), np.empty((0, 0))


class Setup(NamedTuple):
    """A scheme in numbers, and the start."""

    h: float  # s
    t_end: float  # s
    method: tuple[float, float, float, bool]  # theta, forecast, gamma; whether M is taken at q_star
    newton: tuple[float, int]  # relative tolerance, and the most iterations
    lcp: tuple[int, float, int]  # method, relative tolerance and the most sweeps
    cones: int  # solver of friction in space, from 1; 0: along lines
    projected: int  # what positions are projected on
    many: bool  # the graph of the contacts serves
    inp: np.ndarray  # (1 + 2 n + p,) the input vector at the start
    matrices: tuple[Matrix, Matrix, Matrix, np.ndarray]  # M, K, C (n, n), and the entries of G
    e: np.ndarray  # (rows,) restitution


class Run:
    """A march: what it reads, writes and works on.

    Parameters
    ----------
    compiled : Compiled
    setup : Setup
    record : dict of str to array
        Rows of a `Solution`, the start in the first of t, q and v.
    """

    def __init__(self, compiled: Compiled, setup: Setup, record: dict[str, np.ndarray]) -> None:
        from explorer.kernels.time_stepping import moreau_jean_structures as parts

        self.compiled, self.setup = compiled, setup
        steps, bound = len(record["t"]), compiled.bound
        sizes = parts.Sizes(compiled.n, compiled.nc, compiled.rows, bound)
        p_max, (phi, p_phi) = (
            np.zeros((steps, sizes.rows - sizes.contacts)),
            np.zeros((2, steps, bound)),
        )
        partner = np.zeros((steps, compiled.partners.size), np.int32)
        self.constant = compiled.constant or setup.many
        # constant gradients: one projection holds both levels
        self.levels = bool(setup.projected == LEVELS and bound and not self.constant)
        gamma = np.zeros((steps, bound) if self.levels else (0, 0))
        self.record: Record = parts.Record(
            **record, p_max=p_max, phi=phi, p_phi=p_phi, gamma=gamma, partner=partner
        )
        self.problem: Problem = self._problem(sizes)
        entries = len(setup.matrices[3]) if setup.many else 0
        turning = len(setup.matrices[3]) if self.levels else 0
        self.work: Workspace = parts.workspace(sizes, setup.h, entries, turning)

    def _problem(self, sizes: Sizes) -> Problem:
        from explorer.kernels.complementarity.structures import LcpOptions
        from explorer.kernels.model.structures import Bundles, Rows
        from explorer.kernels.time_stepping import moreau_jean_structures as parts
        from explorer.kernels.time_stepping.march import Grid

        compiled, setup, inp, table = self.compiled, self.setup, self.setup.inp, self.compiled.table
        M, K, C, G = setup.matrices
        gives, most, constant = compiled.compliance, max(compiled.most, 2), self.constant
        compliance = gives.flex(inp)
        yields = bool(compliance.diagonal.any())
        if gives.bundle is not None:
            inp = np.concatenate([inp, np.zeros(compiled.nc)])
            table = np.vstack([table, [[gives.bundle.address, gives.bundle.data]]])
            most = max(most, gives.bundle.size)
        places: tuple[np.ndarray, ...]
        full_M = full_K = full_C = _NONE
        saddle, places = UNCHANGING, (_NOWHERE,) * 3
        inertia = UNCHANGING
        if not constant:
            order = ordering(compiled, (M, K, C))
            saddle, places = changing(order), order.places
            full_M, full_K, full_C = map(order.kept, (M, K, C))
            inertia = changing(order) if self.levels else inertia
        M_flat, K_flat, C_flat = (A.reshape(A.size) for A in (full_M, full_K, full_C))
        options = parts.Options(
            constant=constant,
            turns=not compiled.constant,
            rheonomic=compiled.rheonomic,
            many=setup.many,
            state_force=compiled.place_K.size + compiled.place_C.size + compiled.lin_val.size > 0,
            gives=yields and (compiled.rheonomic or not constant),
            newton_tol=setup.newton[0],
            newton_max=setup.newton[1],
            lcp=LcpOptions(*setup.lcp),
            cones=setup.cones,
            projected=self._projected(),
            levels=self.levels,
        )
        return parts.Problem(
            Bundles(table, inp, np.empty(most + 1)),
            Rows(compiled.lin_ptr, compiled.lin_col, compiled.lin_val),
            sizes,
            parts.outputs(sizes, len(G)),
            parts.Matrices(full_M, full_K, full_C, M_flat, K_flat, C_flat, parts.Places(*places)),
            parts.Contacts(
                Rows(compiled.gap_ptr, compiled.gap_col, G),
                compiled.tangent_ptr,
                setup.e,
                compliance,
                compiled.partners,
            ),
            parts.Method(setup.h, *setup.method),
            options,
            UNUSED,
            saddle,
            inertia,
            Grid(
                setup.t_end,
                len(self.record.t) - 1,
                True,
                breaks_of(compiled.system, 1 + 2 * compiled.n),
            ),
        )

    def _projected(self) -> int:
        """Return what positions are projected on after a step."""
        if self.setup.projected != LEVELS:
            return self.setup.projected
        from explorer.kernels.time_stepping.position_projection import CONSTRAINTS, NOTHING

        return CONSTRAINTS if self.compiled.bound and not self.levels else NOTHING

    def march(self) -> int:
        """March to the end; return a status. A step of another size is factored here."""
        from explorer.kernels.time_stepping.march import UNFACTORED
        from explorer.kernels.time_stepping.moreau_jean import run

        kernel, compiled, code = entry(run), self.compiled, UNFACTORED
        M, K, C, G = self.setup.matrices
        while code == UNFACTORED:
            if self.constant:
                ht = self.work.state["factored"][0] * self.problem.method.theta
                W = combined((1.0, ht, ht * ht), (M, C, K))
                factors = factorise(bordered(W, compiled.constrained(G)) if compiled.bound else W)
                if factors is None:
                    return SINGULAR
                self.problem = self.problem._replace(factors=factors)
            code = kernel(self.problem, self.record, self.work)
        p_phi = self.record.p_phi
        np.negative(p_phi, out=p_phi)  # the kernel's act by + phi_q'
        return code

    def last(self) -> int:
        """Return the last row that holds."""
        return int(self.work.state["row"][0])

    def more(self) -> dict[str, np.ndarray]:
        """Return what it records besides the rows given."""
        record, found = self.record, {}
        if record.p_max.size:
            found["p_max"] = record.p_max
        if record.partner.size:
            found["partner"] = record.partner
        if self.compiled.bound:
            found |= {"phi": record.phi, "p_phi": record.p_phi}
        if self.levels:
            found["gamma_phi"] = record.gamma
        return found


def shared(run: Run, starts: Starts, plain: np.ndarray, t_end: np.ndarray) -> Answer:
    """Return the march of a run for all members whose starts are plain."""
    from explorer.kernels.time_stepping import moreau_jean

    problem, record, n = run.problem, run.record, run.compiled.n
    M, K, C = starts.M, starts.K, starts.C
    begin: Columns = [
        (problem.bundles.inp, starts.inp),
        (record.q[:1], starts.inp[:, 1 : 1 + n]),
        (record.v[:1], starts.inp[:, 1 + n : 1 + 2 * n]),
        (problem.contacts.G.val, starts.G),
        (problem.contacts.e, starts.e),
    ]
    last: Columns = []
    if run.constant:
        theta, sizes = problem.method.theta, last_steps(problem.method.h, t_end)
        for h, columns in ((problem.method.h, begin), (sizes, last)):
            ht = h * theta
            one, plain, parts = factored(weighted((1.0, ht, ht * ht), (M, C, K)), plain)
            if one is None:
                return Answer(plain, None)
            if columns is begin:
                kept = one
            elif [x.shape for x in one[:4]] != [x.shape for x in kept[:4]]:
                return Answer(plain, None)
            columns += zip(kept[:4], parts, strict=False)
        problem = problem._replace(factors=kept)
    elif problem.saddle.place.size:  # a band
        return Answer(plain, None)
    else:
        own = problem.matrices
        begin += [(own.M, M), (own.K, K), (own.C, C)]
    task = moreau_jean.Task(problem, record, run.work)
    return Answer(plain, Shared(moreau_jean, task, begin, last))
