"""IPOPT on a program: one compiled function for all starts, bounds and parameters.

Waechter and Biegler, *Math. Program.* 106 (2006) 25, doi:10.1007/s10107-004-0559-y.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from explorer.transcription.casadi_functions import casadi
from explorer.transcription.program import Program
from explorer.types import Plain

if TYPE_CHECKING:
    from casadi import Function

__all__ = ["Bounds", "Point", "Solver"]

LIMITS = {
    "explore": 200,
    "polish": 100,
    "again": 60,
    "warm": 12,
}  # iterations; without them a solve has gone astray
_QUIET = {
    "print_time": False,
    "ipopt.print_level": 0,
    "ipopt.sb": "yes",
    "show_eval_warnings": False,
}
_KINDS: dict[str, Plain] = {
    # far from a solution
    "homotopy": {
        "ipopt.tol": 1e-7,
        "ipopt.mu_strategy": "adaptive",
        "ipopt.mu_oracle": "quality-function",
        "ipopt.bound_relax_factor": 0.0,
        "ipopt.acceptable_tol": 1e-6,
    },
    # near a solution that may be a saddle: start away from all bounds
    "explore": {
        "ipopt.tol": 1e-9,
        "ipopt.mu_init": 1e-2,
        "ipopt.bound_relax_factor": 0.0,
        "ipopt.acceptable_tol": 1e-8,
        "ipopt.acceptable_dual_inf_tol": 1e-5,
        "ipopt.acceptable_compl_inf_tol": 1e-7,
    },
    # near a solution, to the last digits
    "polish": {
        "ipopt.tol": 1e-11,
        "ipopt.dual_inf_tol": 1e-9,
        "ipopt.constr_viol_tol": 1e-11,
        "ipopt.compl_inf_tol": 1e-11,
        "ipopt.mu_strategy": "monotone",
        "ipopt.mu_init": 1e-5,
        "ipopt.bound_relax_factor": 0.0,
        "ipopt.bound_push": 1e-8,
        "ipopt.bound_frac": 1e-8,
        "ipopt.slack_bound_push": 1e-8,
        "ipopt.slack_bound_frac": 1e-8,
        "ipopt.acceptable_tol": 1e-10,
        "ipopt.acceptable_constr_viol_tol": 1e-10,
        "ipopt.acceptable_compl_inf_tol": 1e-9,
        "ipopt.acceptable_dual_inf_tol": 1e-7,
    },
}
_KINDS["again"] = _KINDS["polish"]
# at a solution of the same program with other numbers: its multipliers are known, too
_KINDS["warm"] = _KINDS["polish"] | {
    "ipopt.mu_init": 1e-7,
    "ipopt.max_hessian_perturbation": 1e3,  # it is near, or another solve does better
    "ipopt.warm_start_init_point": "yes",
    "ipopt.warm_start_bound_push": 1e-9,
    "ipopt.warm_start_bound_frac": 1e-9,
    "ipopt.warm_start_slack_bound_push": 1e-9,
    "ipopt.warm_start_slack_bound_frac": 1e-9,
    "ipopt.warm_start_mult_bound_push": 1e-9,
}


@dataclass(frozen=True)
class Bounds:
    """Ranges of variables and rows."""

    low: np.ndarray
    high: np.ndarray
    row_low: np.ndarray
    row_high: np.ndarray

    @property
    def free(self) -> int:
        """How many variables are left by fixed ones and equations."""
        fixed = np.count_nonzero(self.low == self.high)
        return int(self.low.size - fixed - np.count_nonzero(self.row_low == self.row_high))

    @staticmethod
    def of(program: Program) -> Bounds:
        """Return a copy of the bounds of a program."""
        return Bounds(
            program.low.copy(),
            program.high.copy(),
            program.row_low.copy(),
            program.row_high.copy(),
        )


@dataclass(frozen=True)
class Point:
    """What a solve returned.

    Attributes
    ----------
    w, rows : variables and rows
    f : objective, with penalties
    w_multipliers, row_multipliers : of the bounds, positive at upper ones
    status : str of IPOPT
    ok : bool
    iterations : int
    violation, stationarity : float
        Largest violation of a bound or row, and largest entry of the gradient of the Lagrangian.
    """

    w: np.ndarray
    rows: np.ndarray
    f: float
    w_multipliers: np.ndarray
    row_multipliers: np.ndarray
    status: str
    ok: bool
    iterations: int
    violation: float
    stationarity: float


class Solver:
    """IPOPT on one program; at most `max_iter` iterations a solve, `explore` beside a plan."""

    def __init__(self, program: Program, max_iter: int = 1000, explore: int = 1000) -> None:
        self.program, self.max_iter, self.explore = program, max_iter, min(explore, max_iter)
        self.kept: dict[str, Function] = {}
        ca = casadi()
        nlp, f = program.nlp, program.nlp["f"]
        rows = ca.SX.sym("rows", program.row_low.size)
        lagrangian = f + ca.dot(rows, nlp["g"])
        self.gradient = ca.Function(
            "gradient", [nlp["x"], nlp["p"], rows], [ca.gradient(lagrangian, nlp["x"])]
        )

    def __getstate__(self) -> dict[str, object]:
        """Return the state without compiled functions."""
        return self.__dict__ | {"kept": {}}

    def with_bounds_of(self, program: Program) -> Solver:
        """Return a solver of the same program with other bounds; it shares all functions."""
        other = Solver.__new__(Solver)
        vars(other).update(vars(self), program=program)  # a copy would lose them, as a pickle does
        return other

    def _solver(self, kind: str) -> Function:
        if kind not in self.kept:
            most = min(self.max_iter, LIMITS.get(kind, self.max_iter))
            most = min(most, self.explore) if kind == "explore" else most
            options: Plain = _QUIET | _KINDS[kind] | {"ipopt.max_iter": most}
            for other in self.kept.values():  # the derivatives are formed once
                options |= {
                    name: other.get_function(function)
                    for name, function in (
                        ("hess_lag", "nlp_hess_l"),
                        ("jac_g", "nlp_jac_g"),
                        ("grad_f", "nlp_grad_f"),
                    )
                }
            ca = casadi()
            self.kept[kind] = ca.nlpsol(f"{kind}", "ipopt", self.program.nlp, options)
        return self.kept[kind]

    def __call__(
        self, kind: str, w: np.ndarray, p: np.ndarray, bounds: Bounds, near: Point | None = None
    ) -> Point:
        """Solve from `w`; "homotopy" far from a solution, "polish" near one, to 1e-10.

        "warm": from the multipliers of a solution nearby, `near`.
        """
        solver = self._solver(kind)
        more = {}
        if near is not None:
            more = {"lam_x0": near.w_multipliers, "lam_g0": near.row_multipliers}
        found = solver(
            **more,
            x0=np.clip(w, bounds.low, bounds.high),
            p=p,
            lbx=bounds.low,
            ubx=bounds.high,
            lbg=bounds.row_low,
            ubg=bounds.row_high,
        )
        stats = solver.stats()
        x, g, at_x, at_g = (
            np.asarray(found[name], float).ravel() for name in ("x", "g", "lam_x", "lam_g")
        )
        outside = [bounds.low - x, x - bounds.high, bounds.row_low - g, g - bounds.row_high]
        slope = np.asarray(self.gradient(x, p, at_g), float).ravel()
        held = bounds.low == bounds.high  # a fixed variable takes what is left as its multiplier
        at_x = np.where(held, -slope, at_x)
        left = float(np.abs(slope + at_x).max(initial=0.0))
        return Point(
            x,
            g,
            float(found["f"]),
            at_x,
            at_g,
            str(stats["return_status"]),
            bool(stats["success"]),
            int(stats["iter_count"]),
            float(max((one.max(initial=0.0) for one in outside), default=0.0)),
            left,
        )
