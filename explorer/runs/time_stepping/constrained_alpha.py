"""One run of generalised-alpha with constraints: structures for its kernel, and what it records."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from explorer.codes import SINGULAR
from explorer.compiled import Compiled
from explorer.compiled.constrained_start import consistent_start
from explorer.compiled.held import breaks_of
from explorer.compiled.ordering import ordering
from explorer.kernels.entry import entry
from explorer.runs.time_stepping.factors import changing
from explorer.types import Matrix

if TYPE_CHECKING:
    from explorer.kernels.complementarity.structures import LcpOptions
    from explorer.kernels.time_stepping.constrained_alpha_structures import Problem, Record
    from explorer.kernels.time_stepping.moreau_jean_structures import Sizes

__all__ = ["Run", "Setup"]


class Setup(NamedTuple):
    """A scheme in numbers, and the start."""

    method: tuple[float, float, float, float]  # alpha_m, alpha_f, beta, gamma
    forecast: float  # of gaps in the active set of `velocity`, in steps
    velocity: bool  # contacts hold at velocity level alone
    interpolated: bool  # forces are interpolated between both ends of the step
    newton_tol: float
    newton_max: int
    lcp: LcpOptions
    h: float  # s
    t_end: float  # s
    inp: np.ndarray  # (1 + 2 n + p,) the input vector at the start
    matrices: tuple[Matrix, Matrix, Matrix, np.ndarray]  # M, K, C (n, n), and the entries of G
    e: np.ndarray  # (n_c,) restitution


class Run:
    """A march: what it reads, writes and works on.

    Parameters
    ----------
    compiled : Compiled
        Of a system with constraints, without friction.
    setup : Setup
    record : dict of str to array
        Rows of a `Solution`, the start in the first of t, q and v.
    """

    def __init__(self, compiled: Compiled, setup: Setup, record: dict[str, np.ndarray]) -> None:
        from explorer.kernels.time_stepping import constrained_alpha_structures as parts
        from explorer.kernels.time_stepping import moreau_jean_structures as moreau

        self.compiled, self.setup = compiled, setup
        steps, bound = len(record["t"]), compiled.bound
        sizes = moreau.Sizes(compiled.n, compiled.nc, compiled.nc, bound)
        phi, lam, jump, self.p_phi = np.zeros((4, steps, bound))
        a = np.zeros((steps, compiled.n))
        alpha_m, alpha_f = setup.method[:2]
        a[0], start = consistent_start(compiled.at_start, setup.inp, (alpha_m - alpha_f) * setup.h)
        lam[0] = -start
        self.record: Record = parts.Record(**record, a=a, phi=phi, lam=lam, jump=jump)
        self.problem: Problem = self._problem(sizes)
        entries, shape = len(setup.matrices[3]), self.problem.matrices.K.shape
        self.work = parts.workspace(sizes, entries, shape, setup.h)

    def _problem(self, sizes: Sizes) -> Problem:
        from explorer.kernels.model.structures import Bundles, Rows
        from explorer.kernels.time_stepping import constrained_alpha_structures as parts
        from explorer.kernels.time_stepping import moreau_jean_structures as moreau
        from explorer.kernels.time_stepping.march import Grid

        compiled, setup = self.compiled, self.setup
        M, K, C, G = setup.matrices
        order = ordering(compiled, (M, K, C))
        M, K, C = (np.array(order.kept(A)) for A in (M, K, C))
        alpha_m, alpha_f, beta, gamma = map(float, setup.method)
        if compiled.linear:  # no bundle yields them
            K *= beta * (1 - alpha_m) / ((1 - alpha_f) * gamma**2)
        places = moreau.Places(*order.places)
        return parts.Problem(
            Bundles(compiled.table, setup.inp.copy(), np.empty(max(compiled.most, 2) + 1)),
            Rows(compiled.lin_ptr, compiled.lin_col, compiled.lin_val),
            sizes,
            moreau.outputs(sizes, len(G)),
            moreau.Matrices(
                M, K, C, M.reshape(M.size), K.reshape(K.size), C.reshape(C.size), places
            ),
            Rows(compiled.gap_ptr, compiled.gap_col, G.copy()),
            setup.e,
            parts.Method(
                alpha_m,
                alpha_f,
                beta,
                gamma,
                float(setup.forecast),
                setup.velocity,
                setup.interpolated,
            ),
            float(setup.newton_tol),
            setup.newton_max,
            setup.lcp,
            changing(order),
            Grid(
                setup.t_end,
                len(self.record.t) - 1,
                True,
                breaks_of(compiled.system, 1 + 2 * compiled.n),
            ),
        )

    def march(self) -> int:
        """March to the end; return a status."""
        from explorer.kernels.time_stepping.constrained_alpha import run
        from explorer.kernels.time_stepping.march import BREAK

        code = int(entry(run)(self.problem, self.record, self.work))
        if code == BREAK:
            code = SINGULAR
        self.p_phi[:] = -self._impulses()
        for part in (self.record.lam, self.record.jump):
            np.negative(part, out=part)  # the kernel's act by + phi_q'
        return code

    def last(self) -> int:
        """Return the last row that holds."""
        return int(self.work.state["row"][0])

    def more(self) -> dict[str, np.ndarray]:
        """Return what it records besides the rows given; `march` fills it.

        lam_alpha are multipliers as they stand in the equation of motion, p_jump impulses of the
        velocity problem.
        """
        record = self.record
        return {
            "a": record.a,
            "phi": record.phi,
            "p_phi": self.p_phi,
            "lam_alpha": record.lam,
            "p_jump": record.jump,
        }

    def _impulses(self) -> np.ndarray:
        """Return the impulse of each constraint in each step.

        h times its force in the middle of the step, between the times of two equations of motion,
        unless an impact lies between them; and that of the velocity problem.
        """
        record, setup = self.record, self.setup
        alpha_f = 0.0 if setup.interpolated else setup.method[1]
        t, lam, found = record.t, record.lam, record.jump.copy()
        h = np.diff(t)
        at = np.append(t[:1], t[1:] - alpha_f * h)  # of the equations
        hit = np.append(False, (record.p[1:] > 0).any(axis=1))
        smooth = ~(hit[1:] | hit[:-1]) & (np.diff(at) > 0)
        with np.errstate(all="ignore"):
            back = np.where(smooth, (alpha_f - 0.5) * h / np.diff(at), 0.0)[:, None]
        found[1:] += h[:, None] * (lam[1:] + back * (lam[1:] - lam[:-1]))
        return np.asarray(found)
