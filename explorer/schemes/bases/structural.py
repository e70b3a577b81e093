"""What the Newmark family shares: everything of a run but the coefficients.

x is the acceleration, velocity or displacement at the end of the step, and (d, v, a)_1 =
B (d, v, a)_0 + c x (*Newmark methods*, "Generalized unknowns"). Correction: the last row of B for
the unknown d is (-1/(beta h^2), -1/(beta h), 1 - 1/(2 beta)).
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from explorer.certificate import Check
from explorer.codes import NOT_FINITE, SUCCESS
from explorer.compiled import Compiled, short
from explorer.compiled.condensation import consistent, directions, follow
from explorer.compiled.observe import observe
from explorer.errors import BadValue
from explorer.parameters import knob
from explorer.quantities import number, quantity
from explorer.recorder import PER_STEP, Selection
from explorer.results.solution import Solution
from explorer.runs.members import Asked, Members, Observed
from explorer.runs.steps import check_breaks
from explorer.runs.time_stepping.ensemble import Answer, march_members
from explorer.runs.time_stepping.factors import solved
from explorer.runs.time_stepping.motion_rows import Keeper, Rolling, Rows
from explorer.runs.time_stepping.starts import Starts, accelerations, is_plain
from explorer.schemes.bases.amplification import Coefficients, check_step, within_limit
from explorer.schemes.bases.newmark_family import Family
from explorer.status import Status
from explorer.systems import LinearMechanicalSystem, MechanicalSystem, System
from explorer.systems.massless import Massless
from explorer.types import Reals
from explorer.verification.energy import made_and_lost
from explorer.verification.growth import newmark_growth
from explorer.verification.inertia import inertia
from explorer.verification.newmark import equilibrium

if TYPE_CHECKING:
    from explorer.kernels.time_stepping.newmark_structures import Method

__all__ = ["Structural", "unknowns"]

_FORMS = ("a", "v", "d")


def unknowns(beta: float, gamma: float, form: str) -> tuple[np.ndarray, np.ndarray]:
    """Return B (3, 3) and c (3,) with (d, v, a)_1 = B (d, v, a)_0 + c x for h = 1.

    *Newmark methods*, "Generalized unknowns", corrected; x is a, v or d at the end of the step.
    """
    if form == "a":
        B = [[1, 1, 0.5 - beta], [0, 1, 1 - gamma], [0, 0, 0]]
        c = [beta, gamma, 1]
    elif form == "v":
        B = [
            [1, 1 - beta / gamma, 0.5 - beta / gamma],
            [0, 0, 0],
            [0, -1 / gamma, 1 - 1 / gamma],
        ]
        c = [beta / gamma, 1, 1 / gamma]
    else:
        B = [
            [0, 0, 0],
            [-gamma / beta, 1 - gamma / beta, 1 - gamma / (2 * beta)],
            [-1 / beta, -1 / beta, 1 - 1 / (2 * beta)],
        ]
        c = [1, gamma / beta, 1 / beta]
    return np.array(B, float), np.array(c, float)


@functools.lru_cache(maxsize=64)
def method_of(co: Coefficients, form: str, interpolated: bool) -> Method:
    """Return the coefficients as the kernels take them."""
    from explorer.kernels.time_stepping.newmark_structures import Method

    am, af = float(co.alpha_m), float(co.alpha_f)
    c_d, c_v, c_a = unknowns(co.beta, co.gamma, form)[1].tolist()
    weights = (1.0, 1.0 - af, af) if interpolated else (1.0 - af, 1.0, 0.0)
    power = 2 - _FORMS.index(form)
    return Method(am, af, c_d, c_v, c_a, power, co.order, interpolated, *weights)


@dataclass(frozen=True, repr=False)
class Structural(Family):
    """What `Newmark` and `GeneralizedAlpha` share: everything but their coefficients."""

    accepts: ClassVar = (MechanicalSystem, LinearMechanicalSystem)
    handles: ClassVar = frozenset({"hysteresis", "recorded forcing"})
    takes: ClassVar[str] = "smooth mechanical systems, also with springs that yield"
    order: ClassVar[int] = 2
    order_across_events: ClassVar[int] = 1

    h: float = knob(1e-3, 1e-4, 1e-1, "s", "step size", log=True, positive=True)
    form: str = knob("a", text="unknown", choices=_FORMS, minor=True)
    a0: str = knob(
        "consistent", text="first acceleration", choices=("consistent", "zero"), minor=True
    )
    error_tol: float = knob(
        0.0, 0, 1e-3, "m", "local error, 0: fixed steps", strict=True, minor=True
    )
    newton_tol: float = knob(
        1e-12, 1e-14, 1e-4, text="Newton tolerance", log=True, positive=True, minor=True
    )
    newton_max: int = knob(30, 1, 100, text="Newton cap", strict=True, minor=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        beta, gamma = self.coefficients.beta, self.coefficients.gamma
        if self.form == "d" and beta == 0:
            raise BadValue(
                "form='d' solves for displacements, which needs beta != 0; beta = 0 is explicit: "
                "use form='a'."
            )
        if self.form == "v" and gamma == 0:
            raise BadValue("form='v' solves for velocities, which needs gamma != 0: use form='a'.")

    def run(
        self,
        compiled: Compiled,
        rho: Reals,
        t_end: float,
        q0: Reals | None = None,
        v0: Reals | None = None,
        record: Selection | None = None,
    ) -> Solution:
        """Integrate from t = 0 to `t_end`.

        Parameters
        ----------
        compiled : Compiled
        rho : sequence of float
        t_end : float
            In s.
        q0, v0 : (n,) float, optional
            Start; by default the model's. The first acceleration is M^-1 F unless ``a0="zero"``.
        record : Selection, optional
            Which rows and coordinates are kept; by default all.

        Raises
        ------
        BadValue
            h > t_end; h above the stability limit of a linear system, which is named; a record
            beyond memory.
        BadModel
            If the start is inconsistent.
        """
        # loads compiled code
        from explorer.runs.time_stepping.newmark import Setup, march, march_linear

        n, springs = compiled.n, len(compiled.system.springs)
        first = compiled.at_start
        start_q, start_v, _ = first.start(rho)
        inp = np.concatenate([compiled.input(rho), np.zeros(n)])
        inp[1 : 1 + n] = start_q if q0 is None else q0
        inp[1 + n : 1 + 2 * n] = start_v if v0 is None else v0
        M, K, C, _ = first.check(inp[:-n], singular=True)
        constant = compiled.constant and not springs
        bare = directions(first, inp[:-n], M)
        if bare is not None:
            self._check_massless(compiled)
            true = consistent(first, bare, inp[:-n])
        if constant:
            check_step(self, M, C, K, (lambda: compiled.highest) if compiled.linear else None)
        width = 3 * n + 6 if record is None else PER_STEP + record.width
        if not self.error_tol > 0:
            check_breaks(compiled.system, self.h)
        rows = 1 + self.steps(t_end, width, n, coordinates=3 * n)
        rows = 4096 if self.error_tol > 0 else rows
        rolled = Rows(rows, n, springs) if record is None else Rolling(rows, n, springs)
        rolled.q[0], rolled.v[0] = inp[1 : 1 + n], inp[1 + n : 1 + 2 * n]
        if bare is None:
            true = solved(M, first.forces(inp))
        rolled.a[0] = true if self.a0 == "consistent" else 0.0
        made = functools.partial(self._motion, compiled, rho, bare, rolled)
        keeper = None if record is None else Keeper(self, record, made)
        if isinstance(rolled, Rolling):
            rolled.keeper = keeper
        setup = Setup(
            method_of(self.coefficients, self.form, self.interpolated),
            float(self.newton_tol),
            self.newton_max,
            float(self.error_tol),
            float(self.h),
            float(t_end),
            inp,
            true,
        )
        begin = time.perf_counter()
        code, last = (march_linear if constant else march)(compiled, setup, (M, K, C), rolled)
        seconds = time.perf_counter() - begin
        failed = float(rolled.residual[min(last + 1, len(rolled.t) - 1)])
        run = made(last)
        detail, step = "", last
        q, v, t = run.q, run.v, run.t
        if code != SUCCESS:
            detail = f" Last state: q = {short(q[-1])}, v = {short(v[-1])}."
            if code == NOT_FINITE:
                inp[: 1 + 2 * n] = t[-1] + self.h, *(q[-1] + self.h * v[-1]), *v[-1]
                detail += compiled.culprit(inp[:-n])
        if keeper is not None:
            keeper.take(last)
            run, step = self._kept(run, keeper), keeper.steps
        run.status = Status.of(code, step, float(t[-1]), failed, detail)
        run.seconds = seconds
        return run

    def ensemble(self, system: System) -> Callable[[Members, Asked], Observed] | None:
        """Return what runs many members in one call; None where each needs a start of its own."""
        compiled = self.compile(system)
        own = self.agrees("shared", "run")
        if self.error_tol > 0 or not own or not is_plain(compiled):
            return None
        return functools.partial(
            march_members, compiled, self.h, 1, functools.partial(self.shared, compiled)
        )

    def shared(
        self, compiled: Compiled, starts: Starts, plain: np.ndarray, t_end: np.ndarray, rows: int
    ) -> Answer:
        """Return the march that members share, whose record has so many rows."""
        from explorer.runs.time_stepping.newmark import Setup, shared  # loads compiled code

        if compiled.constant:
            plain = plain & within_limit(self, compiled, starts.M, starts.C, starts.K, plain)
        if not plain.any():
            return Answer(plain, None)
        true, one, n = accelerations(starts.M, starts.F, plain), int(plain.argmax()), compiled.n
        setup = Setup(
            method_of(self.coefficients, self.form, self.interpolated),
            float(self.newton_tol),
            self.newton_max,
            float(self.error_tol),
            float(self.h),
            float(t_end[one]),
            np.concatenate([starts.inp[one], np.zeros(n)]),
            true[one].copy(),
        )
        zero = self.a0 != "consistent"
        return shared(compiled, setup, Rows(rows, n, 0), starts, true, plain, t_end, zero=zero)

    def _motion(
        self, compiled: Compiled, rho: Reals, bare: Massless | None, rows: Rows, last: int
    ) -> Solution:
        """Return the rows up to a given one as a run; of those that roll on a copy."""
        end = slice(0, last + 1)
        kept = {name: x[end] for name, x in vars(rows).items() if isinstance(x, np.ndarray)}
        if isinstance(rows, Rolling):
            kept = {name: x.copy() for name, x in kept.items()}
        t, q, v, a = (kept[name] for name in ("t", "q", "v", "a"))
        if bare is not None:
            follow(compiled, bare, rho, t, q, v, a)
        none = np.zeros((last + 1, 0))
        found = {
            "t": t,
            "q": q,
            "v": v,
            "p": none,
            "gap": none,
            "gap_dot": none,
            "active": none.astype(np.int8),
            "iterations": kept["iterations"],
            "residuals": np.column_stack([np.zeros(last + 1), kept["residual"]]),
            "a": a,
            "error": kept["error"],
            "slip": kept["slip"],
            "imbalance": kept["imbalance"],
            "parts": kept["parts"].astype(np.int32),
        }
        return Solution(
            found,
            status=Status.of(SUCCESS, last, float(t[-1])),
            system=compiled.system,
            scheme=self,
            observe=observe,
            rho=dict(zip(compiled.system.parameters, map(float, rho), strict=True)),
        )

    def _kept(self, run: Solution, keeper: Keeper) -> Solution:
        """Return the run of which only what was asked for is kept."""
        kept, recorded = keeper.recorded()
        none = np.zeros((len(kept["t"]), 0))
        found: dict[str, np.ndarray] = {"p": none, "gap": none, "gap_dot": none, **kept}
        found["active"] = none.astype(np.int8)
        return Solution(
            found,
            status=run.status,
            system=run.system,
            scheme=self,
            rho=run.rho,
            observe=observe,
            recorded=recorded,
        )

    def _check_massless(self, compiled: Compiled) -> None:
        """Refuse what this scheme cannot do with a singular mass matrix.

        Raises
        ------
        BadValue
        """
        name = compiled.system.name
        if not self.coefficients.unconditional:
            raise BadValue(
                f"The mass matrix of '{name}' is singular: massless directions have an infinite "
                f"frequency, so any step is above the stability limit of {self!r}. Use an "
                "unconditionally stable scheme, such as Newmark(beta=1/4, gamma=1/2) or "
                "GeneralizedAlpha."
            )
        if self.error_tol > 0:
            raise BadValue(
                "error_tol estimates errors from accelerations, but no equation determines those "
                f"of the massless coordinates of '{name}': use constant steps (error_tol=0) and "
                "compare two step sizes."
            )
        if compiled.structural.moves:
            raise BadValue(
                f"The mass matrix of '{name}' is singular and depends on the coordinates, so its "
                "massless directions turn: give them mass, or remove them."
            )

    def certify(self, solution: Solution) -> list[Check]:
        """Return the checks: equilibrium, the local error, energy that is made, or lost.

        The kernel's own figure of equilibrium is that of every accepted state, row by row, beside
        the terms that cancel in it there.
        """
        damped = np.zeros_like(solution.t) if self.keeps_energy else None
        energy = made_and_lost(solution, self.conserved(solution), damped)
        return [*self.certify_steps(solution), *energy]

    @property
    def keeps_energy(self) -> bool:
        """Whether it does not mean to damp."""
        co = self.coefficients
        return not co.alpha_m and not co.alpha_f and co.gamma == 0.5

    def certify_steps(self, solution: Solution) -> list[Check]:
        """Return the checks that look at steps one by one."""
        off, error = solution.imbalance.max(initial=0.0), solution.error.max(initial=0.0)
        solved_to = Check(
            "Newton residual",
            float(off),
            self.newton_tol,
            words=(
                f"Some steps satisfy equilibrium to {number(off, 2)} of their forces, which "
                f"exceeds newton_tol = {self.newton_tol:g}: round-off prevents a smaller residual."
            ),
        )
        local = Check(
            "local error",
            float(error),
            self.error_tol,
            "m",
            f"A step has a local error of {quantity(error, 'm', 2)}, which exceeds error_tol = "
            f"{quantity(self.error_tol, 'm')}: no step size satisfies it.",
        )
        return [
            solved_to,
            *inertia(solution),
            *equilibrium(solution),
            *[local] * (self.error_tol > 0),
            *newmark_growth(solution),
        ]
