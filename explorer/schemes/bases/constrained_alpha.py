"""What generalised-alpha schemes do for systems with constraints phi(t, q) = 0."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol

import numpy as np

from explorer.certificate import Check
from explorer.codes import NEWTON_CAP, NOT_FINITE, SINGULAR, SUCCESS
from explorer.compiled import Compiled, short
from explorer.compiled.assembly import assembly
from explorer.compiled.lost_rank import lost_rank
from explorer.compiled.observe import observe
from explorer.errors import BadValue
from explorer.results.solution import Solution
from explorer.runs.steps import check_breaks
from explorer.schemes.bases.amplification import Coefficients
from explorer.schemes.bases.scheme import Scheme
from explorer.status import Status
from explorer.types import Matrix, Reals
from explorer.verification.constrained_alpha import constrained_equilibrium
from explorer.verification.energy import made_and_lost
from explorer.verification.normals import normals
from explorer.verification.positions import drift, penetration
from explorer.verification.steps import contact_problem

if TYPE_CHECKING:
    from explorer.runs.time_stepping.constrained_alpha import Run

__all__ = ["certified", "constrained", "smooth_motion"]

_LCP = ("lemke", 1e-9, 10_000)


class AlphaScheme(Protocol):
    """A generalised-alpha scheme: `GeneralizedAlpha` or `NonsmoothGeneralizedAlpha`."""

    @property
    def h(self) -> float:
        """Step size in s."""

    @property
    def newton_tol(self) -> float:
        """Relative tolerance of the Newton residual."""

    @property
    def newton_max(self) -> int:
        """Most iterations."""

    @property
    def coefficients(self) -> Coefficients:
        """Its four numbers."""

    @property
    def interpolated(self) -> bool:
        """Whether F is interpolated, not the state."""

    def steps(self, t_end: float, row: float, n: int) -> int:
        """Return how many steps reach t_end."""


def constrained(
    scheme: AlphaScheme,
    compiled: Compiled,
    t_end: float,
    inp: np.ndarray,
    matrices: tuple[Matrix, Matrix, Matrix, np.ndarray],
    e: np.ndarray,
    record: dict[str, np.ndarray],
    lcp: tuple[str, float, int] = _LCP,
    contact: tuple[float, bool] = (0.0, False),
) -> Run:
    """Return a march of `explorer.kernels.time_stepping.constrained_alpha`.

    `contact` : forecast of the active set, and whether contacts hold at velocity level alone

    Raises
    ------
    BadValue
        beta <= 1/4.
    """
    from explorer.kernels.complementarity.structures import LcpOptions
    from explorer.runs.time_stepping.constrained_alpha import Run, Setup
    from explorer.schemes.bases.capturing import LCP

    co, kind, name = scheme.coefficients, type(scheme).__name__, compiled.system.name
    if co.beta <= 0.25:
        raise BadValue(
            f"{kind}: with beta = {co.beta:g} errors of the multipliers of '{name}' never decay. "
            "Constraints need beta > 1/4: use rho_inf < 1."
        )
    method, tol, most = lcp
    setup = Setup(
        (co.alpha_m, co.alpha_f, co.beta, co.gamma),
        *contact,
        scheme.interpolated,
        float(scheme.newton_tol),
        scheme.newton_max,
        LcpOptions(LCP.index(method), float(tol), most),
        float(scheme.h),
        float(t_end),
        inp,
        matrices,
        e,
    )
    return Run(compiled, setup, record)


def smooth_motion(
    scheme: Scheme,
    compiled: Compiled,
    rho: Reals,
    t_end: float,
    q0: Reals | None,
    v0: Reals | None,
) -> Solution:
    """Integrate a system with constraints and without contacts; see `Scheme.run`."""
    n, bound = compiled.n, compiled.bound
    start_q, start_v, _ = compiled.at_start.start(rho)
    inp = compiled.input(rho)
    inp[1 : 1 + n] = start_q if q0 is None else q0
    inp[1 + n : 1 + 2 * n] = start_v if v0 is None else v0
    if compiled.system.assembles is not None and not (q0 is None and v0 is None):
        inp[1 : 1 + 2 * n] = assembly(compiled.system)(rho, inp[1 : 1 + 2 * n])
    matrices = compiled.at_start.check(inp)
    check_breaks(compiled.system, scheme.h)  # type: ignore[attr-defined]
    rows = 1 + scheme.steps(t_end, 3 * n + 4 * bound + 4, n)
    none = np.zeros((rows, 0))
    record: dict[str, np.ndarray] = {
        "t": np.zeros(rows),
        "q": np.zeros((rows, n)),
        "v": np.zeros((rows, n)),
        "p": none,
        "gap": none,
        "gap_dot": none,
        "active": none.astype(np.int8),
        "iterations": np.zeros(rows, np.int32),
        "residuals": np.zeros((rows, 2)),
    }
    record["q"][0], record["v"][0] = inp[1 : 1 + n], inp[1 + n : 1 + 2 * n]
    run = constrained(scheme, compiled, t_end, inp, matrices, np.zeros(0), record)  # type: ignore[arg-type]
    begin = time.perf_counter()
    code = run.march()
    seconds = time.perf_counter() - begin
    last = run.last()
    found = {name: x[: last + 1] for name, x in (record | run.more()).items()}
    t, q, v = found["t"], found["q"], found["v"]
    failed = float(record["residuals"][min(last + 1, rows - 1)].max())
    detail = ""
    if code != SUCCESS:
        detail = f" Last state: q = {short(q[-1])}, v = {short(v[-1])}."
        h = float(scheme.h)  # type: ignore[attr-defined]
        inp[: 1 + 2 * n] = t[-1], *q[-1], *v[-1]
        if code in (SINGULAR, NEWTON_CAP):
            detail += lost_rank(compiled, inp, h)
        if code == NOT_FINITE:
            inp[: 1 + n] += h * np.append(1.0, v[-1])
            detail += compiled.culprit(inp)
    return Solution(
        found,
        observe=observe,
        status=Status.of(code, last, float(t[-1]), failed, detail),
        system=compiled.system,
        scheme=scheme,
        rho=dict(zip(compiled.system.parameters, map(float, rho), strict=True)),
        seconds=seconds,
    )


def certified(solution: Solution, lcp_tol: float = 1e-9) -> list[Check]:
    """Return the checks of a run with constraints: laws, equations, positions, energy made."""
    return [
        *contact_problem(solution, lcp_tol),
        *penetration(solution),
        *normals(solution),
        *drift(solution, remedy="use a smaller h."),
        *made_and_lost(solution),
        *constrained_equilibrium(solution),
    ]
