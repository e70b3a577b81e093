"""What the schemes share that pass through impacts by steps: the start, the record, the status."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, pairwise
from typing import ClassVar, TypeAlias

import numpy as np

from explorer.codes import LCP_ITERATIONS, LCP_RAY, NEWTON_CAP, NOT_FINITE, SINGULAR, SUCCESS
from explorer.compiled import Compiled, short
from explorer.compiled.assembly import assembly
from explorer.compiled.checks import improper
from explorer.compiled.condensation import consistent, directions, follow
from explorer.compiled.lost_rank import lost_rank
from explorer.compiled.observe import observe
from explorer.errors import BadValue
from explorer.memory import zeros
from explorer.parameters import knob
from explorer.quantities import quantity
from explorer.results.solution import Solution
from explorer.runs.members import Asked, Members, Observed
from explorer.runs.steps import check_breaks
from explorer.runs.time_stepping.ensemble import Answer, march_members
from explorer.runs.time_stepping.starts import Starts, is_plain
from explorer.schemes.bases.scheme import Scheme
from explorer.status import Status
from explorer.systems import LagrangianSystem, LinearMechanicalSystem, MechanicalSystem, System
from explorer.systems.massless import Massless
from explorer.types import Matrix, Reals

__all__ = ["LCP", "Capturing", "ImplicitCapturing", "rows_of"]

LCP = ("lemke", "enumeration", "pgs")
_ENUMERATED = 12  # unknowns at most whose cases are tried
_MANY_STEPS = 50_000  # of which eight times as many would take long
_NEARLY = 1e-6  # m/s: a residual that contacts which contradict each other do not have


Matrices: TypeAlias = tuple[Matrix, Matrix, Matrix, np.ndarray]  # M, K, C, entries of G


@dataclass(frozen=True, repr=False)
class Capturing(Scheme):
    """An event-capturing scheme: a contact problem in each step, no event is located.

    A subclass defines `kernel`, which returns the march; see "With contacts" in CONTRIBUTING.md.
    """

    accepts: ClassVar = (MechanicalSystem, LinearMechanicalSystem)
    handles: ClassVar = frozenset({"contacts", "recorded forcing"})
    takes: ClassVar[str] = (
        "mechanical systems, smooth or with contacts and impacts, without friction"
    )
    order: ClassVar[int] = 2
    order_across_events: ClassVar[int] = 1
    choice_references: ClassVar = {
        "lcp": {"lemke": ("lemke-1965", "cottle-2009"), "pgs": ("cottle-2009",)},
    }
    massless: ClassVar[bool] = False  # whether it takes a singular mass matrix

    h: float = knob(1e-3, 1e-4, 1e-1, "s", "step size", log=True, positive=True)
    lcp: str = knob("lemke", text="LCP solver", choices=LCP, minor=True)
    lcp_tol: float = knob(
        1e-9, 1e-12, 1e-4, text="LCP tolerance", log=True, positive=True, minor=True
    )
    lcp_max: int = knob(10_000, 10, 100_000, text="Gauss-Seidel cap", positive=True, minor=True)

    def run(
        self,
        compiled: Compiled,
        rho: Reals,
        t_end: float,
        q0: Reals | None = None,
        v0: Reals | None = None,
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
            If the start is inconsistent.
        """
        n, nc, rough = compiled.n, compiled.nc, list(compiled.system.rough)
        check_breaks(compiled.system, self.h)
        held = compiled.rows
        rows = 1 + self.steps(t_end, 3 * n + nc + 2 * (held + compiled.bound) + 4, n)
        unknown = unknowns(compiled.system)
        if self.lcp == "enumeration" and unknown > _ENUMERATED and not in_space(compiled.system):
            raise BadValue(
                f"lcp='enumeration' tries 2^{unknown} cases for {nc} contacts"
                f"{', three unknowns for each that has friction' if rough else ''}; "
                "use lcp='lemke'."
            )
        start_q, start_v, e = compiled.at_start.start(rho)
        inp = compiled.input(rho)
        inp[1 : 1 + n] = start_q if q0 is None else q0
        inp[1 + n : 1 + 2 * n] = start_v if v0 is None else v0
        if compiled.system.assembles is not None and not (q0 is None and v0 is None):
            inp[1 : 1 + 2 * n] = assembly(compiled.system)(rho, inp[1 : 1 + 2 * n])
        compiled = compiled.begun(inp)
        matrices = compiled.at_start.check(inp, singular=self.massless)
        bare = directions(compiled.at_start, inp, matrices[0])
        if bare is not None:
            self.check_massless(compiled, bare, matrices[3])
            consistent(compiled, bare, inp)
        record = rows_of(rows, compiled)
        t, q, v = record["t"], record["q"], record["v"]
        q[0], v[0] = inp[1 : 1 + n], inp[1 + n : 1 + 2 * n]
        run, last, more = self.kernel(compiled, t_end, inp, matrices, e, record)
        begin = time.perf_counter()
        code = run()
        seconds = time.perf_counter() - begin
        done = last()
        if code == SUCCESS and not t[done] >= t_end * (1 - 1e-9):
            raise TypeError(
                f"The march of {type(self).__name__} returned SUCCESS, but its last row lies at "
                f"t = {t[done]:g}, not at t_end = {t_end:g}: write t of every row."
            )
        failed = float(record["residuals"][min(done + 1, rows - 1)].max())
        if bare is not None:
            follow(compiled, bare, rho, t[: done + 1], q[: done + 1], v[: done + 1])
        inp[: 1 + 2 * n] = t[done], *q[done], *v[done]
        found = {name: x[: done + 1] for name, x in (record | more).items()}
        if rough:
            found = _with_friction(found, compiled.system)
        return Solution(
            found,
            observe=observe,
            status=self._status(code, done, failed, compiled, inp),
            system=compiled.system,
            scheme=self,
            rho=dict(zip(compiled.system.parameters, map(float, rho), strict=True)),
            seconds=seconds,
        )

    def ensemble(self, system: System) -> Callable[[Members, Asked], Observed] | None:
        """Return what runs many members in one call; None where each needs a start of its own."""
        if type(self).shared is Capturing.shared or not self.agrees("shared", "kernel", "run"):
            return None
        compiled = self.compile(system)
        if not is_plain(compiled):
            return None
        if self.lcp == "enumeration" and unknowns(compiled.system) > _ENUMERATED:
            return None
        return partial(
            march_members, compiled, self.h, self.impact_steps, partial(self.shared, compiled)
        )

    def shared(
        self, compiled: Compiled, starts: Starts, plain: np.ndarray, t_end: np.ndarray, rows: int
    ) -> Answer:
        """Return the march that members share, whose record has so many rows."""
        raise TypeError(f"{type(self).__name__} does not say what members share.")

    def finer(self, solution: Solution) -> Solution | None:
        """Return a run again with an eighth of the step, None if these would be too many."""
        if len(solution.t) > _MANY_STEPS:
            return None
        system, rho = solution.system, list(solution.rho.values())
        q0, v0 = solution.q[0].copy(), solution.v[0].copy()
        scheme, t_end = replace(self, h=self.h / 8), float(solution.t[-1])
        return scheme.run(scheme.compile(system), rho, t_end, q0=q0, v0=v0)

    def check_massless(self, compiled: Compiled, bare: Massless, G: np.ndarray) -> None:
        """Refuse what the scheme cannot do with directions without mass; G holds entries."""

    def _status(
        self, code: int, done: int, residual: float, compiled: Compiled, last: np.ndarray
    ) -> Status:
        """Return how the run ended; `last` is the input vector there."""
        # loads compiled code
        from explorer.kernels.friction.coefficients import IMPROPER

        n, t = compiled.n, float(last[0])
        if code == SUCCESS:
            return Status.of(code, done, t)
        q, v = last[1 : 1 + n], last[1 + n : 1 + 2 * n]
        detail = f" Last state: q = {short(q)}, v = {short(v)}."
        if code == IMPROPER:
            wrong = next(filter(None, (improper(*found) for found in compiled.frictions(last))))
            return Status.stopped(code, "improper_friction", done, t, f"the {wrong}", detail)
        if code == NOT_FINITE:
            later = last.copy()
            later[0] += self.h
            later[1 : 1 + n] += self.h * v
            detail += compiled.culprit(later)
        if code in (SINGULAR, NEWTON_CAP):
            detail += lost_rank(compiled, last, self.h)
        status = Status.of(code, done, t, residual, detail)
        words = self.explain(code, compiled.system, residual)
        return Status.stopped(code, status.name, done, t, words, detail) if words else status

    def explain(self, code: int, system: LagrangianSystem, residual: float) -> str:
        """Return what the status of a run is to say, if it is not what its code says."""
        if code not in (LCP_RAY, LCP_ITERATIONS):
            return ""
        if residual < _NEARLY:
            return (
                f"the contact problem of this step was solved to {quantity(residual, 'm/s', 2)}, "
                f"which exceeds lcp_tol = {self.lcp_tol:g} (relative): use a larger lcp_tol or "
                "lcp_max"
            )
        few = unknowns(system) <= _ENUMERATED
        others = " or ".join(
            f"lcp={name!r}" for name in LCP if name != self.lcp and (few or name != "enumeration")
        )
        if self.lcp == "pgs" or not few:  # sweeps of Gauss-Seidel, also over a graph
            others = f"a larger lcp_max, a larger lcp_tol, or {others}"
        return (
            f"lcp={self.lcp!r} found no impulses that satisfy the contact laws of this step "
            f"(residual {quantity(residual, 'm/s', 2)}). Contradictory contacts have no solution, "
            "such as walls that close on a body, or friction that wedges it; else try a smaller "
            f"h, {others}"
        )

    def kernel(
        self,
        compiled: Compiled,
        t_end: float,
        inp: np.ndarray,
        matrices: Matrices,
        e: np.ndarray,
        record: dict[str, np.ndarray],
    ) -> tuple[Callable[[], int], Callable[[], int], dict[str, np.ndarray]]:
        """Return the march and what tells its last row, to be called; what else it records.

        `record` holds arrays of a `Solution` in its own order, the start in the first row of q and
        v; `matrices` are M, K, C (n, n), dense or all sparse, and the entries of G there.
        """
        raise TypeError(f"{type(self).__name__} does not say how it steps.")


@dataclass(frozen=True, repr=False)
class ImplicitCapturing(Capturing):
    """One whose steps are solved by Newton's method."""

    newton_tol: float = knob(
        1e-12, 1e-14, 1e-4, text="Newton tolerance", log=True, positive=True, minor=True
    )
    newton_max: int = knob(30, 1, 100, text="Newton cap", strict=True, minor=True)


def rows_of(rows: int, compiled: Compiled) -> dict[str, np.ndarray]:
    """Return so many rows of what every scheme here records, all zero."""
    n, nc, held = compiled.n, compiled.nc, compiled.rows
    widths = (1, n, n, held, nc, held, 2)
    block, ends = zeros(rows * sum(widths)), [rows * x for x in accumulate(widths)]
    parts = (block[a:b].reshape(rows, -1) for a, b in pairwise([0, *ends]))
    t, q, v, p, gap, gap_dot, residuals = parts
    return {
        "t": t[:, 0],
        "q": q,
        "v": v,
        "p": p,
        "gap": gap,
        "gap_dot": gap_dot,
        "active": np.zeros((rows, held), np.int8),
        "iterations": np.zeros(rows, np.int32),
        "residuals": residuals,
    }


def _with_friction(found: dict[str, np.ndarray], system: LagrangianSystem) -> dict[str, np.ndarray]:
    """Return the record with friction apart, made from that of normals and tangents."""
    nc = len(system.contacts)
    parts = {name: np.ascontiguousarray(found[name][:, :nc]) for name in ("p", "gap_dot", "active")}
    contact, direction, _ = (np.array(x) for x in zip(*system.tangents, strict=True))
    first, plane = direction == 0, 2 if direction.any() else 1
    for name, values, wide in (
        ("p_t", found["p"][:, nc:], plane),
        ("slip", found["gap_dot"][:, nc:], plane),
        ("doing", found["active"][:, nc:][:, first], 1),
        ("p_max", found["p_max"][:, first], 1),
    ):
        shape = (len(values), nc, 2)[: 1 + wide]
        parts[name] = np.zeros(shape, values.dtype)
        place = (contact, direction) if wide == 2 else (contact[first],)
        parts[name][(slice(None), *place)] = values
    return found | parts


def unknowns(system: LagrangianSystem) -> int:
    """Return the unknowns of a step's problem: three of each contact along a line with friction."""
    return len(system.contacts) + 2 * len(system.rough)


def in_space(system: System) -> bool:
    """Whether friction acts in a plane at any contact."""
    return "friction in space" in system.features
