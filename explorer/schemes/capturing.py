"""What the schemes share that pass through impacts by steps: the start, the record, the status."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from explorer.compiled import Compiled, short
from explorer.errors import BadValue
from explorer.motion import Motion
from explorer.parameters import knob
from explorer.schemes.base import Scheme
from explorer.solution import Solution
from explorer.status import NOT_FINITE, SUCCESS, Status
from explorer.systems import LinearMechanicalSystem, MechanicalSystem

__all__ = ["LCP", "Capturing"]

LCP = ("lemke", "enumeration", "pgs")


@dataclass(frozen=True, repr=False)
class Capturing(Scheme):
    """An event-capturing scheme: a contact problem in each step, no event is located.

    A subclass says in `kernel` what is called with which arrays.
    """

    accepts: ClassVar = (MechanicalSystem, LinearMechanicalSystem)
    handles: ClassVar = frozenset({"contacts", "recorded forcing"})
    takes: ClassVar[str] = (
        "mechanical systems, smooth or with contacts and impacts, without friction"
    )
    order: ClassVar[int] = 2
    order_across_events: ClassVar[int] = 1

    h: float = knob(1e-3, 1e-4, 1e-1, "s", "step size", log=True, positive=True)
    newton_tol: float = knob(
        1e-12, 1e-14, 1e-4, text="Newton tolerance", log=True, positive=True, minor=True
    )
    newton_max: int = knob(30, 1, 100, text="Newton cap", strict=True, minor=True)
    lcp: str = knob("lemke", text="LCP solver", choices=LCP, minor=True)
    lcp_tol: float = knob(
        1e-9, 1e-12, 1e-4, text="LCP tolerance", log=True, positive=True, minor=True
    )
    lcp_max: int = knob(10_000, 10, 100_000, text="Gauss-Seidel cap", positive=True, minor=True)

    def run(
        self, compiled: Compiled, rho: Any, t_end: float, q0: Any = None, v0: Any = None
    ) -> Solution:
        """Integrate from t = 0 to `t_end`.

        Parameters
        ----------
        compiled : Compiled
        rho : sequence of float
            Parameters in declared order.
        t_end : float
            In s.
        q0, v0 : (n,) float, optional
            Start; by default the model's.

        Raises
        ------
        BadValue
            h > t_end; so many steps that memory would not do (the step that would is named); a step
            above the stability limit of a linear system.
        BadModel
            The start makes no sense.
        """
        n, nc = compiled.n, compiled.nc
        rows = 1 + self.steps(t_end, 3 * n + 3 * nc + 4, n)
        if self.lcp == "enumeration" and nc > 12:
            raise BadValue(
                f"lcp='enumeration' tries 2^{nc} cases for {nc} contacts; use lcp='lemke'."
            )
        start_q, start_v, e = compiled.start(rho)
        inp = compiled.input(rho)
        inp[1 : 1 + n] = start_q if q0 is None else q0
        inp[1 + n : 1 + 2 * n] = start_v if v0 is None else v0
        matrices = compiled.check(inp)
        record: dict[str, Any] = {
            "t": np.zeros(rows), "q": np.zeros((rows, n)), "v": np.zeros((rows, n)),
            "p": np.zeros((rows, nc)), "gap": np.zeros((rows, nc)), "gap_dot": np.zeros((rows, nc)),
            "active": np.zeros((rows, nc), np.int8), "iterations": np.zeros(rows, np.int32),
            "residuals": np.zeros((rows, 2)),
        }  # fmt: skip
        t, q, v = record["t"], record["q"], record["v"]
        q[0], v[0] = inp[1 : 1 + n], inp[1 + n : 1 + 2 * n]
        run, ints, more = self.kernel(compiled, t_end, inp, matrices, e, record)
        begin = time.perf_counter()
        code = run()
        seconds = time.perf_counter() - begin
        done = int(ints[0, 0])
        detail = ""
        if code != SUCCESS:
            last = compiled.input(rho)
            last[: 1 + 2 * n] = t[done], *q[done], *v[done]
            detail = f" Last state: q = {short(q[done])}, v = {short(v[done])}."
            if code == NOT_FINITE:
                last[0] += self.h
                last[1 : 1 + n] += self.h * v[done]
                detail += compiled.culprit(last)
        failed = float(record["residuals"][min(done + 1, rows - 1)].max())
        return (Motion if more else Solution)(
            **{name: x[: done + 1] for name, x in (record | more).items()},
            status=Status.of(code, done, float(t[done]), failed, detail),
            system=compiled.system, scheme=self,
            rho=dict(zip(compiled.system.parameters, map(float, rho), strict=True)),
            seconds=seconds,
        )  # fmt: skip

    def kernel(
        self, compiled: Compiled, t_end: float, inp: np.ndarray, matrices: Any, e: np.ndarray,
        record: dict[str, Any],
    ) -> tuple[Callable[[], int], np.ndarray, dict[str, Any]]:  # fmt: skip
        """Return what runs, to be called; where it says its last row; what else it records.

        `record` holds arrays of a `Solution` in its own order, the start in the first row of q and
        v; `matrices` are M, K, C (n, n), dense or all sparse, and the entries of G there.
        """
        raise TypeError(f"{type(self).__name__} does not say how it steps.")
