"""How a run ended: a code, and a message with advice.

Kernels return the integers of `codes`, which become a `Status` above them.
"""

from __future__ import annotations

from dataclasses import dataclass

from explorer.codes import (
    ACCUMULATION,
    CHATTERING,
    CONTRADICTORY,
    ELEMENT_CAP,
    EVENT_CAP,
    INDEFINITE,
    LCP_ITERATIONS,
    LCP_RAY,
    MORE_SWITCHES,
    NEWTON_CAP,
    NO_ACTIVE_SET,
    NOT_FINITE,
    NOT_MET,
    RANK_LOST,
    SINGULAR,
    STEP_CAP,
    STIFF,
    SUCCESS,
    SWITCH_CAP,
    ZENO,
)
from explorer.quantities import number, quantity

__all__ = ["ESCAPED", "UNSTABLE", "Status"]

# judged when the run is over: no kernel returns them
UNSTABLE, ESCAPED = 100, 101

_WORDS = {
    SUCCESS: ("success", "Reached the end."),
    LCP_RAY: (
        "lcp_ray",
        "the contact problem has no solution that the LCP solver can reach (ray termination, "
        "residual {residual}). Redundant or contradictory contacts do that; try a smaller h "
        "or lcp='enumeration'",
    ),
    LCP_ITERATIONS: (
        "lcp_iterations",
        "the LCP solver stopped before its tolerance (residual {residual}). Try a smaller h, "
        "or lcp='lemke' instead of projected Gauss-Seidel",
    ),
    NEWTON_CAP: (
        "newton_cap",
        "Newton's method did not converge within newton_max iterations (residual {residual}). "
        "Try a smaller h or a larger newton_max",
    ),
    NOT_FINITE: (
        "not_finite",
        "the state is no longer finite: a formula gave NaN or infinity, or the motion blew up. "
        "Try a smaller step, or look at the formulas at this state",
    ),
    SINGULAR: (
        "singular",
        "the matrix of the step is singular at this state: mass, damping and stiffness together "
        "lose their rank there. Try other parameters or another h",
    ),
    INDEFINITE: (
        "indefinite",
        "the mass matrix is no longer positive definite at this state. Every coordinate needs "
        "inertia everywhere: look at the mass formula, or keep the motion where it holds",
    ),
    STEP_CAP: (
        "step_cap",
        "max_steps steps did not reach the end. A shorter t_end, a looser rtol, or, for a stiff "
        "flow, method='radau' would; so would a larger max_steps",
    ),
    EVENT_CAP: (
        "event_cap",
        "max_events events did not reach the end. A shorter t_end would, or a larger max_events; "
        "a time-stepping scheme such as MoreauJean passes through any number of impacts",
    ),
    STIFF: (
        "stiff",
        "the flow is stiff: stability, not accuracy, holds the explicit method to tiny steps. "
        "Use method='radau'",
    ),
    ZENO: (
        "zeno",
        "events accumulate here: infinitely many in finite time, and no mode is declared to go on "
        "in. Give the guard zeno=<mode>, or end at this time",
    ),
    CHATTERING: (
        "chattering",
        "one event follows another without time passing: a reset lands on a guard again and "
        "again. A mode for sliding or resting there is missing",
    ),
    ACCUMULATION: (
        "accumulation",
        "switches accumulate here: infinitely many in finite time. End before this time",
    ),
    ELEMENT_CAP: (
        "element_cap",
        "max_elements elements did not reach the end. A larger h would, or a larger max_elements",
    ),
    MORE_SWITCHES: (
        "more_switches",
        "more switches than elements in an interval. Use more elements, a smaller h, or "
        "split='yes'",
    ),
    NO_ACTIVE_SET: (
        "no_active_set",
        "no active set goes on from here: neither a side of the switching surfaces nor a slide on "
        "them has a consistent field. Look at the fields at this state",
    ),
    SWITCH_CAP: (
        "switch_cap",
        "max_switches switches did not reach the end. A shorter t_end would, or a larger "
        "max_switches",
    ),
    NOT_MET: (
        "constraint_not_met",
        "a constraint begins to hold where it is not satisfied. Let its `when` change where its "
        "phi is zero",
    ),
    RANK_LOST: (
        "rank_lost",
        "the constraints become dependent here, and the motion behind is not unique. End before "
        "this time, or take another start",
    ),
    CONTRADICTORY: (
        "contradictory",
        "a constraint has a gradient that depends on those of others, and no acceleration "
        "satisfies all of them. Leave one of them out",
    ),
}


@dataclass(frozen=True)
class Status:
    """Outcome of a run.

    Attributes
    ----------
    code : int
        0 is success.
    name : str
        "success", or the reason to stop: "lcp_ray", "newton_cap", "not_finite", "unstable", ...
    message : str
        One sentence, with advice if possible.
    step : int
        Index of the last step that was computed.
    t : float
        Time of that step, in s.
    """

    code: int
    name: str
    message: str
    step: int
    t: float

    @property
    def ok(self) -> bool:
        """Whether the run reached its end with a useful result."""
        return self.code == SUCCESS

    @classmethod
    def of(
        cls,
        code: int,
        step: int,
        t: float,
        residual: float = 0.0,
        detail: str = "",
        unit: str = "s",
    ) -> Status:
        """Return the status for the code of a kernel at step `step` and time `t`, in `unit`."""
        name, words = _WORDS[code]
        if code == SUCCESS:
            return cls(code, name, words, step, t)
        words = words.format(residual=number(residual, 2))
        return cls.stopped(code, name, step, t, words, detail, unit)

    @classmethod
    def stopped(
        cls,
        code: int,
        name: str,
        step: int,
        t: float,
        words: str,
        detail: str = "",
        unit: str = "s",
    ) -> Status:
        """Return the status of a run that stopped, with a message of the scheme."""
        message = f"Stopped at t = {quantity(t, unit)} (step {step}): {words}.{detail}"
        return cls(code, name, message, step, t)

    @classmethod
    def escaped(cls, done: int, name: str, value: float, bound: float) -> Status:
        """Return the status of a map whose iterate behind `done` lies beyond its bound."""
        where = f"{name} = {number(value, 3)} lies beyond the bound {number(bound, 3)}"
        if value != value:
            where = f"{name} is not a number"
        message = (
            f"Stopped at iterate {done + 1}: {where}, so the orbit has escaped and has no "
            "attractor. Start nearer, choose other parameters, or end at "
            f"t_end = {done}."
        )
        return cls(ESCAPED, "escaped", message, done, float(done))

    def __str__(self) -> str:
        return self.message
