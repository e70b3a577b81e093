"""What the Newmark family shares: everything of a run but the coefficients.

x is the acceleration, velocity or displacement at the end of the step, and (d, v, a)_1 =
B (d, v, a)_0 + c x (*Newmark methods*, "Generalized unknowns"). Correction: the last row of B for
the unknown d is (-1/(beta h^2), -1/(beta h), 1 - 1/(2 beta)).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from explorer.certificate import Check
from explorer.codes import NOT_FINITE, SINGULAR, SUCCESS
from explorer.compiled import Compiled, short
from explorer.compiled.condensation import consistent, directions, follow
from explorer.errors import BadValue
from explorer.memory import zeros
from explorer.motion import Motion
from explorer.parameters import knob
from explorer.schemes.base import MOST_BYTES
from explorer.schemes.factors import combined, factorise, rows_of, solved
from explorer.schemes.families import Family
from explorer.schemes.stability import check_step
from explorer.status import Status
from explorer.systems import LinearMechanicalSystem, MechanicalSystem
from explorer.verification.energy import made_and_lost
from explorer.verification.growth import newmark_growth
from explorer.verification.newmark import equilibrium

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


class _Record:
    """The rows of a run; a run whose steps adapt makes them longer."""

    def __init__(self, rows: int, n: int, springs: int) -> None:
        self.t = np.zeros(rows)
        self.q, self.v, self.a = zeros(3 * rows * n).reshape(3, rows, n)
        self.slip = np.zeros((rows, springs))
        self.iterations = np.ones(rows, np.int32)
        self.residuals = np.zeros((rows, 4))  # see `explorer.kernels.newmark`

    def double(self, scheme: Any) -> None:
        for name, x in vars(self).items():
            setattr(self, name, np.concatenate([x, np.zeros_like(x)]))
        if sum(x.nbytes for x in vars(self).values()) > MOST_BYTES:
            raise BadValue(
                f"error_tol = {scheme.error_tol:g} m makes more steps than memory holds; "
                "try a larger one."
            )


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
    a0: str = knob("consistent", text="first acceleration", choices=("consistent", "zero"),
                   minor=True)  # fmt: skip
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
        self, compiled: Compiled, rho: Any, t_end: float, q0: Any = None, v0: Any = None
    ) -> Motion:
        """Integrate from t = 0 to `t_end`.

        Parameters
        ----------
        compiled : Compiled
        rho : sequence of float
        t_end : float
            In s.
        q0, v0 : (n,) float, optional
            Start; by default the model's. The first acceleration is M^-1 F unless ``a0="zero"``.

        Raises
        ------
        BadValue
            h > t_end; h above the stability limit of a linear system, which is named.
        BadModel
            The start makes no sense.
        """
        n, springs = compiled.n, len(compiled.system.springs)
        start_q, start_v, _ = compiled.start(rho)
        inp = np.concatenate([compiled.input(rho), np.zeros(n)])
        inp[1 : 1 + n] = start_q if q0 is None else q0
        inp[1 + n : 1 + 2 * n] = start_v if v0 is None else v0
        M, K, C, _ = compiled.check(inp[:-n], singular=True)
        constant = compiled.constant and not springs
        bare = directions(compiled, inp[:-n], M)
        if bare is not None:
            self._check_massless(compiled)
            true = consistent(compiled, bare, inp[:-n])
        if constant:
            check_step(self, M, C, K, (lambda: compiled.highest) if compiled.linear else None)
        rows = 1 + self.steps(t_end, 3 * n + 6, n)
        record = _Record(4096 if self.error_tol > 0 else rows, n, springs)
        record.q[0], record.v[0] = inp[1 : 1 + n], inp[1 + n : 1 + 2 * n]
        if bare is None:
            true = solved(M, compiled.forces(inp))
        record.a[0] = true if self.a0 == "consistent" else 0.0
        co = self.coefficients
        knobs = np.array([
            t_end, co.alpha_m, co.alpha_f, self.newton_tol, self.error_tol,
            t_end / 10, self.h, self.h,
        ])  # fmt: skip
        options = np.array([
            self.interpolated, 2 - _FORMS.index(self.form), self.newton_max, 0, 0, 0, co.order,
        ])  # fmt: skip
        c = unknowns(co.beta, co.gamma, self.form)[1]
        march = self._march if constant else self._iterate
        done = np.zeros(1, np.int64)
        begin = time.perf_counter()
        code = march(compiled, knobs, options, c, inp, M, K, C, true, record, done)
        seconds = time.perf_counter() - begin
        last = int(done[0])
        end = slice(0, last + 1)
        failed = float(record.residuals[min(last + 1, len(record.t) - 1), 1])
        detail = ""
        q, v, t = record.q[end], record.v[end], record.t[end]
        if bare is not None:
            follow(compiled, bare, rho, t, q, v, record.a[end])
        if code != SUCCESS:
            detail = f" Last state: q = {short(q[-1])}, v = {short(v[-1])}."
            if code == NOT_FINITE:
                inp[: 1 + 2 * n] = t[-1] + self.h, *(q[-1] + self.h * v[-1]), *v[-1]
                detail += compiled.culprit(inp[:-n])
        none = np.zeros((last + 1, 0))
        return Motion(
            t, q, v, none, none, none, none.astype(np.int8), record.iterations[end],
            np.column_stack([np.zeros(last + 1), record.residuals[end, 1]]),
            Status.of(code, last, float(t[-1]), failed, detail), compiled.system, self,
            dict(zip(compiled.system.parameters, map(float, rho), strict=True)),
            seconds=seconds, a=record.a[end], error=record.residuals[end, 0],
            slip=record.slip[end], imbalance=record.residuals[end, 2],
            parts=record.residuals[end, 3].astype(np.int32),
        )  # fmt: skip

    def _check_massless(self, compiled: Compiled) -> None:
        """Refuse what this scheme cannot do with a singular mass matrix.

        Raises
        ------
        BadValue
        """
        name = compiled.system.name
        if not self.coefficients.unconditional:
            raise BadValue(
                f"The mass matrix of '{name}' is singular: what has no mass has an infinite "
                f"frequency, and any step is above the stability limit of {self!r}. An "
                "unconditionally stable scheme takes it, such as Newmark(beta=1/4, gamma=1/2) or "
                "GeneralizedAlpha."
            )
        if self.error_tol > 0:
            raise BadValue(
                f"error_tol estimates errors from accelerations, and '{name}' has coordinates "
                "without mass, whose accelerations no equation gives: use even steps "
                "(error_tol=0) and compare two step sizes."
            )
        if compiled.structural.moves:
            raise BadValue(
                f"The mass matrix of '{name}' is singular and depends on the coordinates, so the "
                "directions without mass turn: give them mass, or remove them."
            )

    def certify(self, solution: Any) -> list[Check]:
        """Return the checks: equilibrium, the local error, energy that is made, or lost.

        The kernel's own figure of equilibrium is that of every accepted state, row by row, beside
        the terms that cancel in it there.
        """
        co = self.coefficients
        keeps = not co.alpha_m and not co.alpha_f and co.gamma == 0.5
        damped = np.zeros_like(solution.t) if keeps else None
        off, error = solution.imbalance.max(initial=0.0), solution.error.max(initial=0.0)
        solved_to = Check(
            "Newton residual", float(off), self.newton_tol, words=(
                f"Some steps are in equilibrium to {off:.2g} of their forces, which exceeds "
                f"newton_tol = {self.newton_tol:g}: round-off allows no more."
            ),
        )  # fmt: skip
        local = Check(
            "local error", float(error), self.error_tol, "m",
            f"A step has a local error of {error:.2g} m, which exceeds error_tol = "
            f"{self.error_tol:g} m: no step is short enough.",
        )  # fmt: skip
        return [
            solved_to, *equilibrium(solution), *[local] * (self.error_tol > 0),
            *made_and_lost(solution, self.conserved(solution), damped),
            *newmark_growth(solution),
        ]  # fmt: skip

    def _march(
        self, compiled: Compiled, knobs: np.ndarray, options: np.ndarray, c: np.ndarray,
        inp: np.ndarray, M: Any, K: Any, C: Any, true: np.ndarray, record: _Record,
        done: np.ndarray,
    ) -> int:  # fmt: skip
        """March with constant matrices; a step of another size is factored here."""
        from explorer.kernels.newmark import FULL, STEP, T_END
        from explorer.kernels.newmark_linear import TRUE, UNFACTORED, run

        am, af = self.coefficients.alpha_m, self.coefficients.alpha_f
        mass, vec, out = rows_of(M), np.empty((7, compiled.n)), np.empty(compiled.most + 1)
        vec[TRUE] = true
        most = 100 if self.error_tol > 0 else np.inf  # steps of one size
        code = UNFACTORED
        while code in (UNFACTORED, FULL):
            if code == FULL:
                record.double(self)
            else:
                c_d, c_v, c_a = c * knobs[STEP] ** (options[1] - np.arange(3.0))
                factors = factorise(
                    combined(((1 - am) * c_a, (1 - af) * c_v, (1 - af) * c_d), (M, C, K)),
                    min((knobs[T_END] - record.t[done[0]]) / knobs[STEP], most),
                )
                if factors is None:
                    return SINGULAR
            code = run(
                compiled.table, knobs, options, c, inp, compiled.lin_ptr, compiled.lin_col,
                compiled.lin_val, *mass, factors, record.t, record.q, record.v, record.a,
                record.residuals, vec, out, done,
            )  # fmt: skip
        return code

    def _iterate(
        self, compiled: Compiled, knobs: np.ndarray, options: np.ndarray, c: np.ndarray,
        inp: np.ndarray, M: Any, K: Any, C: Any, true: np.ndarray, record: _Record,
        done: np.ndarray,
    ) -> int:  # fmt: skip
        """March with Newton's method."""
        from explorer.kernels.newmark import FULL, TRUE, run, workspaces

        kind = compiled.structural
        plastic = np.zeros((2, len(compiled.system.springs)))
        explicit = self.coefficients.beta == 0  # d does not depend on x, v does
        options[3:6] = kind.analytic, kind.moves, explicit and compiled.place_C.size == 0
        bands = kind.bands[[0, 1, 2, 3] if explicit else [0, 1, 4, 5]]
        work = workspaces(compiled.n, kind.most)
        work[1][TRUE] = true
        while True:
            code = run(
                kind.table, knobs, options, c, inp, compiled.place_M, compiled.place_K,
                compiled.place_C, kind.inertia, bands, kind.pattern, M, K, C, plastic, record.t,
                record.q, record.v, record.a, record.slip, record.iterations, record.residuals,
                *work, done,
            )  # fmt: skip
            if code != FULL:
                return code
            record.double(self)
