"""The Newmark family and generalised-alpha, for smooth (and yielding) mechanical systems.

*Newmark methods*; Chung and Hulbert, J. Appl. Mech. 60 (1993) 371. Corrections to the former: the
last row of B for the unknown d is (-1/(beta h^2), -1/(beta h), 1 - 1/(2 beta)); residual and
tangent hold at the alpha states for all three unknowns; a damping matrix C and a force p(u, u')
are not counted twice; alpha weighs the old value (`explorer.schemes.families`).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from explorer.compiled import Compiled, short
from explorer.errors import BadValue
from explorer.motion import Motion
from explorer.parameters import knob, number
from explorer.schemes import schemes
from explorer.schemes.base import MOST_BYTES
from explorer.schemes.families import AlphaFamily, Family, NewmarkFamily
from explorer.schemes.stability import check_step
from explorer.status import NOT_FINITE, SUCCESS, Status
from explorer.systems import LinearMechanicalSystem, MechanicalSystem

__all__ = ["NAMED", "GeneralizedAlpha", "Newmark", "unknowns"]

_FORMS = ("a", "v", "d")
NAMED: dict[str, tuple[float, float]] = {  # (beta, gamma), the table of the paper
    "purely explicit": (0, 0),
    "central difference": (0, 1 / 2),
    "Fox-Goodwin": (1 / 12, 1 / 2),
    "linear acceleration": (1 / 6, 1 / 2),
    "average acceleration": (1 / 4, 1 / 2),
}


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


@dataclass(frozen=True, repr=False)
class _Structural(Family):
    """What `Newmark` and `GeneralizedAlpha` share: everything but their coefficients."""

    accepts: ClassVar = (MechanicalSystem, LinearMechanicalSystem)
    handles: ClassVar = frozenset({"hysteresis"})
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
        from explorer.kernels.newmark import FULL, run, workspaces

        n = compiled.n
        table, place_I, most = compiled.structural
        start_q, start_v, _ = compiled.start(rho)
        inp = np.concatenate([compiled.input(rho), np.zeros(n)])
        inp[1 : 1 + n] = start_q if q0 is None else q0
        inp[1 + n : 1 + 2 * n] = start_v if v0 is None else v0
        M, K, C, _ = (np.array(x, order="C") for x in compiled.check(inp[: inp.size - n]))
        springs = len(compiled.system.springs)
        constant = compiled.constant and not springs
        co = self.coefficients
        if constant:
            check_step(self, M, C, K)
        rows = 2 + self.steps(t_end, 3 * n + 6, n)
        rows = 4096 if self.error_tol > 0 else rows
        t = np.zeros(rows)
        q, v, a = np.empty((3, rows, n))
        slip = np.zeros((rows, springs))
        residuals, iterations = np.zeros((rows, 2)), np.zeros(rows, np.int32)
        q[0], v[0] = inp[1 : 1 + n], inp[1 + n : 1 + 2 * n]
        a[0] = np.linalg.solve(M, compiled.forces(inp)) if self.a0 == "consistent" else 0.0
        work = workspaces(n, most)
        c = unknowns(co.beta, co.gamma, self.form)[1]
        knobs = np.array([
            t_end, co.alpha_m, co.alpha_f, self.newton_tol, self.error_tol,
            abs(co.beta - 1 / 6), t_end / 10, self.h,
        ])  # fmt: skip
        moves = len(place_I) > 0 or _varies(compiled)
        options = np.array([
            constant, 0, self.newton_max, self.interpolated, 2 - _FORMS.index(self.form), moves,
        ])  # fmt: skip
        plastic = np.zeros((2, springs))
        begin = time.perf_counter()
        while True:
            code = run(
                table, knobs, options, c, inp, compiled.place_M, compiled.place_K,
                compiled.place_C, place_I, compiled.lin_ptr, compiled.lin_col, compiled.lin_val,
                M, K, C, plastic, slip, t, q, v, a, iterations, residuals, *work,
            )  # fmt: skip
            if code != FULL:
                break
            t, q, v, a, slip, residuals, iterations = (
                np.concatenate([x, np.zeros_like(x)]) for x in (
                    t, q, v, a, slip, residuals, iterations,
                )
            )  # fmt: skip
            if t.size * 8 * (3 * n + 6) > MOST_BYTES:
                raise BadValue(
                    f"error_tol = {self.error_tol:g} m makes more steps than memory holds; "
                    "try a larger one."
                )
        seconds = time.perf_counter() - begin
        done = int(work[5][0, 0])
        end = slice(0, done + 1)
        detail = ""
        if code != SUCCESS:
            detail = f" Last state: q = {short(q[done])}, v = {short(v[done])}."
            if code == NOT_FINITE:
                last = compiled.input(rho)
                last[: 1 + 2 * n] = t[done] + self.h, *(q[done] + self.h * v[done]), *v[done]
                detail += compiled.culprit(last)
        none = np.zeros((done + 1, 0))
        return Motion(
            t[end], q[end], v[end], none, none, none, none.astype(np.int8), iterations[end],
            np.column_stack([np.zeros(done + 1), residuals[end, 1]]),
            Status.of(
                code, done, float(t[done]), float(residuals[min(done + 1, len(t) - 1), 1]), detail
            ),
            compiled.system, self,
            dict(zip(compiled.system.parameters, map(float, rho), strict=True)),
            seconds=seconds, a=a[end], error=residuals[end, 0], slip=slip[end],
        )  # fmt: skip


def _varies(compiled: Compiled) -> bool:
    """Whether the mass matrix depends on the state: then it is evaluated at every iterate."""
    return not isinstance(compiled.system, LinearMechanicalSystem) and any(
        x.free_symbols & set(compiled.system.q)
        for x in compiled.system.mass  # type: ignore[attr-defined]
    )


@schemes.register
@dataclass(frozen=True, repr=False)
class Newmark(NewmarkFamily, _Structural):
    """Newmark's method: M a1 = F(t1, d1, v1) at the end of each step.

    v1 = v0 + h [(1-gamma) a0 + gamma a1], d1 = d0 + h v0 + h^2 [(1/2 - beta) a0 + beta a1]. Order
    2 for gamma = 1/2, else 1 (and damping for gamma > 1/2, growth below). Unconditionally
    stable for 2 beta >= gamma >= 1/2; `NAMED` holds the classical choices.

    Parameters
    ----------
    h : float
        Step size in s; a last shorter step ends exactly at t_end.
    beta, gamma : float
        beta = 0 is explicit.
    form : str
        Which unknown is solved for: "a", "v" (gamma != 0) or "d" (beta != 0); the same motion.
    a0 : str
        "consistent": a_0 = M^-1 F at the start; "zero" costs an order.
    error_tol : float
        If positive, h adapts so that (beta - 1/6) h^2 |a1 - a0| stays below it, in m.
    newton_tol, newton_max : float, int
        Relative tolerance of the Newton residual; cap of the iterations.
    """

    @classmethod
    def named(cls, name: str, alpha: float = 0.0, **knobs: Any) -> Newmark:
        """Return a classical scheme by its name in `NAMED`, or "average with damping".

        Parameters
        ----------
        name : str
        alpha : float
            Of "average with damping": gamma = 1/2 + alpha, beta = (1 + alpha)^2 / 4.

        Raises
        ------
        BadValue
            An unknown name.
        """
        if name == "average with damping":
            alpha = number(alpha, "alpha")
            return cls(beta=(1 + alpha) ** 2 / 4, gamma=0.5 + alpha, **knobs)
        if name not in NAMED:
            known = ", ".join(repr(k) for k in (*NAMED, "average with damping"))
            raise BadValue(f"There is no Newmark scheme {name!r}; there is {known}.")
        beta, gamma = NAMED[name]
        return cls(beta=beta, gamma=gamma, **knobs)


@schemes.register
@dataclass(frozen=True, repr=False)
class GeneralizedAlpha(AlphaFamily, _Structural):
    """Generalised-alpha: equilibrium between the old and the new state, damping where it is wanted.

    M a_m = F(t_f, d_f, v_f) with a_m = (1 - alpha_m) a1 + alpha_m a0, d_f likewise with alpha_f.
    Order 2; the spectral radius at infinite frequency is rho_inf.

    Parameters
    ----------
    h, form, a0, error_tol, newton_tol, newton_max : see `Newmark`
    rho_inf : float
        1: no numerical damping; 0: the highest frequencies die in one step.
    family : str
        "chung-hulbert"; "hht" (alpha_m = 0, rho_inf >= 1/2); "wbz" (alpha_f = 0).
    force : str
        "state": F at the interpolated state; "interpolated": F between the two ends.
    alpha_m, alpha_f, beta, gamma : float, optional
        Free choice: those given replace what rho_inf and family say; gamma and beta follow from
        the alphas unless they are given too.
    """
