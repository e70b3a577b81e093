"""IPOPT on a program: one compiled function for all starts, bounds and parameters.

Waechter and Biegler, *Math. Program.* 106 (2006) 25, doi:10.1007/s10107-004-0559-y.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from explorer.transcription.casadi_functions import casadi
from explorer.transcription.contact_formulas import ContactFormulas
from explorer.transcription.course import Course, listener
from explorer.transcription.halt import due
from explorer.transcription.program import Program
from explorer.types import Plain

if TYPE_CHECKING:
    from casadi import Function

__all__ = ["Bounds", "Halted", "Point", "Solver", "said"]

LIMITS = {
    "explore": 200,
    "glance": 24,
    "polish": 100,
    "again": 60,
    "fine": 60,
    "warm": 12,
    "warm contacts": 12,
}  # iterations; without them a solve has gone astray
_SHARED = {"again": "polish"}  # differ by their limits only
_WORDS = {
    "Maximum_Iterations_Exceeded": "the solver stopped at its limit of iterations",
    "Infeasible_Problem_Detected": "near this point the constraints cannot hold",
    "Invalid_Number_Detected": "the search came to a point at which a formula is not finite",
    "Restoration_Failed": "the solver found no way back to the constraints",
    "Search_Direction_Becomes_Too_Small": "the solver came no further",
    "Diverging_Iterates": "the search went beyond all bounds",
    "Error_In_Step_Computation": "the solver found no step",
    "Not_Enough_Degrees_Of_Freedom": "there are more equations than variables",
}
_QUIET = {
    "print_time": False,
    "ipopt.print_level": 0,
    "ipopt.sb": "yes",
    "show_eval_warnings": False,
    "no_nlp_grad": True,
    "calc_lam_p": False,
}
# with contacts, to match entries and permute them only adds fill: pivots are good without
_ORDER: Plain = {"ipopt.mumps_permuting_scaling": 0, "ipopt.mumps_pivot_order": 0}  # none, AMD
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
# on the way: the next sigma begins at its point, and needs no digits of it
_KINDS["coarse"] = _KINDS["homotopy"] | {"ipopt.tol": 1e-2, "ipopt.acceptable_tol": 1e-2}
# a sequence beside a plan keeps most of its point
_KINDS["glance"] = _KINDS["explore"] | {"ipopt.mu_init": 1e-3}
# late switches hardly move the objective: its gradient has to vanish to more digits than the rest
_KINDS["fine"] = _KINDS["polish"] | {"ipopt.obj_scaling_factor": 1e3}
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
# with contacts multipliers are large: 1e-11 would mean slacks below round-off
_KINDS["warm contacts"] = _KINDS["warm"] | {"ipopt.tol": 1e-9, "ipopt.compl_inf_tol": 1e-9}


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


class Halted(Exception):
    """A search was stopped at a point of a program."""

    def __init__(self, program: Program, point: Point) -> None:
        super().__init__("the search was stopped")
        self.program, self.point = program, point


def said(status: str) -> str:
    """Return a status of IPOPT in words, and its own name."""
    return f"{_WORDS[status]} ({status})" if status in _WORDS else status


class Solver:
    """IPOPT on one program; at most `max_iter` iterations a solve, `explore` beside a plan."""

    def __init__(self, program: Program, max_iter: int = 1000, explore: int = 1000) -> None:
        self.program, self.max_iter, self.explore = program, max_iter, min(explore, max_iter)
        self.kept: dict[str, Function] = {}
        self.listener: list[object] = []  # CasADi keeps no reference to it
        self.course = Course()
        self.total = [0]  # of all solves
        ca = casadi()
        nlp, f = program.nlp, program.nlp["f"]
        rows = ca.SX.sym("rows", program.row_low.size)
        lagrangian = f + ca.dot(rows, nlp["g"])
        self.gradient = ca.Function(
            "gradient", [nlp["x"], nlp["p"], rows], [ca.gradient(lagrangian, nlp["x"])]
        )
        # a clock that is known would couple all intervals: to the solver it is a parameter
        clock = np.concatenate([program.of[name].ravel() for name in ("T", "t_0", "part")])
        self.known = clock[program.low[clock] == program.high[clock]]
        self.moving = np.setdiff1d(np.arange(program.low.size), self.known)

    def __getstate__(self) -> dict[str, object]:
        """Return the state without compiled functions."""
        return self.__dict__ | {"kept": {}, "listener": []}

    def with_bounds_of(self, program: Program) -> Solver:
        """Return a solver of the same program with other bounds; it shares all functions."""
        other = Solver.__new__(Solver)
        vars(other).update(vars(self), program=program)  # a copy would lose them, as a pickle does
        return other

    def _solver(self, kind: str) -> Function:
        kind = _SHARED.get(kind, kind)
        if kind not in self.kept:
            options: Plain = _QUIET | _KINDS[kind] | {"ipopt.max_iter": self.max_iter}
            if isinstance(self.program.formulas, ContactFormulas):
                options |= _ORDER
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
            program, moving, known = self.program, self.moving.tolist(), self.known.tolist()
            if not self.listener:
                rows = program.row_low.size
                self.listener.append(listener(len(moving), rows, self.course))
            options["iteration_callback"] = self.listener[0]
            nlp, w = program.nlp, program.nlp["x"]
            nlp = nlp | {"x": w[moving], "p": ca.vertcat(nlp["p"], w[known])}
            self.kept[kind] = ca.nlpsol(kind.replace(" ", "_"), "ipopt", nlp, options)
        return self.kept[kind]

    def __call__(
        self,
        kind: str,
        w: np.ndarray,
        p: np.ndarray,
        bounds: Bounds,
        near: Point | None = None,
        dear: float = np.inf,
        rival: float = np.inf,
    ) -> Point:
        """Solve from `w`; "homotopy" far from a solution, "polish" near one, to 1e-10.

        "warm": from the multipliers of a solution nearby, `near`. A solve ends early if some
        iterates have an objective above `dear`, or one cannot come below `rival` any more.

        Raises
        ------
        Halted
            If the search around it has to stop; with the last iterate.
        """
        if due():
            raise Halted(self.program, self.at(w, p, bounds))
        solver = self._solver(kind)
        more, moving = {}, self.moving
        variables = bounds.low[moving], bounds.high[moving]
        most = LIMITS.get(kind, self.max_iter)
        most = min(most, self.explore if kind == "explore" else self.max_iter)
        self.course.begin(variables, (bounds.row_low, bounds.row_high), most, dear, rival)
        if near is not None:
            more = {"lam_x0": near.w_multipliers[moving], "lam_g0": near.row_multipliers}
        w = np.clip(w, bounds.low, bounds.high)
        found = solver(
            **more,
            x0=w[moving],
            p=np.concatenate([p, w[self.known]]),
            lbx=variables[0],
            ubx=variables[1],
            lbg=bounds.row_low,
            ubg=bounds.row_high,
        )
        x, at_x = w.copy(), np.zeros(w.size)
        x[moving], at_x[moving] = (np.asarray(found[k], float).ravel() for k in ("x", "lam_x"))
        stats = solver.stats()
        if self.course.full and not stats["success"]:
            stats["return_status"] = "Maximum_Iterations_Exceeded"
        point = self._point(found | {"x": x, "lam_x": at_x}, stats, p, bounds)
        self.total[0] += point.iterations
        if due():
            raise Halted(self.program, point)
        return point

    def second_order(
        self, w: np.ndarray, p: np.ndarray, rows: np.ndarray
    ) -> tuple[sparse.csr_array, sparse.csr_array]:
        """Return the Hessian of the Lagrangian and the Jacobian of the rows.

        Where the clock is known, its rows and columns are zero.

        Parameters
        ----------
        w, p : point and parameters
        rows : multipliers of the rows
        """
        solver, own = self._solver("polish"), self.moving
        p = np.concatenate([p, w[self.known]])
        upper = sparse.csr_array(solver.get_function("nlp_hess_l")(w[own], p, 1.0, rows).sparse())
        jacobian = solver.get_function("nlp_jac_g")(w[own], p)[1].sparse()
        whole = sparse.csr_array(
            (np.ones(own.size), (np.arange(own.size), own)), (own.size, w.size)
        )
        hessian = whole.T @ (sparse.triu(upper) + sparse.triu(upper, 1).T) @ whole
        return sparse.csr_array(hessian), sparse.csr_array(jacobian @ whole)

    def at(self, w: np.ndarray, p: np.ndarray, bounds: Bounds) -> Point:
        """Return a point at which nothing was solved."""
        ca, nlp = casadi(), self.program.nlp
        x = np.clip(w, bounds.low, bounds.high)
        f, g = ca.Function("at", [nlp["x"], nlp["p"]], [nlp["f"], nlp["g"]])(x, p)
        zero = {"lam_x": np.zeros(x.size), "lam_g": np.zeros(self.program.row_low.size)}
        none = {"return_status": "not solved", "success": False, "iter_count": 0}
        return self._point({"x": x, "f": f, "g": g, **zero}, none, p, bounds)

    def _point(self, found: Plain, stats: Plain, p: np.ndarray, bounds: Bounds) -> Point:
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
