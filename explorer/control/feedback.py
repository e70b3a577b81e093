"""Linear-quadratic feedback along a plan, through impacts and switches.

Each control interval is linearised by the sensitivities of its exact simulation, whose jumps at
events are saltation matrices (N. J. Kong, J. J. Payne, J. Zhu and A. M. Johnson, *Saltation
matrices: the essential tool for linearizing hybrid dynamical systems*, Proc. IEEE 112 (2024) 585,
doi:10.1109/JPROC.2024.3440211)::

    e_{k+1} = A_k e_k + B_k du_k
    P_N = Qf,  S = R + B' P_{k+1} B,  K_k = S^-1 B' P_{k+1} A,  P_k = Q + A' P_{k+1} (A - B K_k)

and u_k = u_plan - K_k (x - x_plan), within the bounds of the controls.

Where the system has passed an event that the plan has not, or the other way round, x - x_plan is as
large as the jump of the event, however close both are. There x is compared with the plan extended
beyond its event in the mode of the system (A. Saccon, N. van de Wouw and H. Nijmeijer, *Sensitivity
analysis of hybrid systems with state jumps with application to trajectory tracking*, 2014,
doi:10.48550/arXiv.1406.2811): K_k Xi is the gain of a state before the event, and that of a state
behind it comes from the interval linearised in the mode that follows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from explorer.control.course import Decision
from explorer.control.linearize import Extension, Interval, extensions, linearized
from explorer.control.solved import Solved
from explorer.control.states import states_of
from explorer.errors import BadValue
from explorer.quantities import quantity
from explorer.results.display import html

__all__ = ["Feedback", "Weights", "feedback"]

Weights: TypeAlias = "float | Sequence[float] | Sequence[Sequence[float]] | np.ndarray"

_DEFINITE = 1e-12  # of the largest eigenvalue


@dataclass(frozen=True, repr=False)
class Feedback:
    """Result of `Plan.feedback`: gains along a plan; `Plan.follow` takes it.

    Attributes
    ----------
    plan : Plan
    K : (N, n_u, n_x) float
        u = u_plan - K (x - x_plan).
    P : (N + 1, n_x, n_x) float
        Cost to go of a deviation, e' P e / 2.
    A, B : (N, n_x, n_x) and (N, n_x, n_u) float
        Linearised intervals: derivatives of the deviation at the end by the deviation at the begin,
        and by the controls.
    x, u : (N, n_x) and (N, n_u) float
        States and controls of the plan at the begin of each interval.
    modes : tuple of int
        For a hybrid system, the mode of the plan at the begin of each interval.
    beside : dict of (int, int) to (x, K)
        For an interval and a mode that the plan does not have there: the state of the plan extended
        into that mode, and the gain.

    Examples
    --------
    >>> import explorer as ex
    >>> cart = ex.StepSystem("cart", x="q v", f=["v", "u"], params={"u": 0.0})
    >>> task = ex.OptimalControlProblem(cart, t_end=1, intervals=5, controls="u",
    ...                                 running="u**2", end={"q": 1, "v": 0})
    >>> ex.optimize(task).feedback().K.shape
    (5, 1, 2)
    """

    plan: Solved
    K: np.ndarray
    P: np.ndarray
    A: np.ndarray
    B: np.ndarray
    x: np.ndarray
    u: np.ndarray
    modes: tuple[int, ...]
    beside: Mapping[tuple[int, int], tuple[np.ndarray, np.ndarray]]

    def begin(self, plan: Solved) -> Feedback:
        """Return itself: it works on the plan that it belongs to.

        Raises
        ------
        BadValue
            Another plan.
        """
        if plan is not self.plan:
            raise BadValue(
                "This feedback belongs to another plan: follow with plan.feedback() of the same "
                "plan."
            )
        return self

    def __call__(self, k: int, t: float, x: np.ndarray, mode: int | None = None) -> Decision:
        """Return the controls of interval `k` at a measured state (n_x,) and mode."""
        there, gain, status = self.x[k], self.K[k], "feedback"
        if mode is not None and mode != self.modes[k] and (k, mode) in self.beside:
            (there, gain), status = self.beside[k, mode], "mode matched"
        low, high = self.plan.task.control_limits[min(k, len(self.u) - 1)].T
        u = np.clip(self.u[k] - gain @ (x - there), low, high)
        length = float(self.plan.t[k + 1] - self.plan.t[k])
        return Decision(u, length, status)

    @property
    def growth(self) -> tuple[float, float]:
        """By which factor deviations at the start grow up to the end: open loop, with feedback.

        The largest singular values of the products of A and of A - B K, to first order.
        """
        first = self.plan.first
        free = held = np.eye(self.A.shape[1])
        for A, B, K in zip(self.A[first:], self.B[first:], self.K[first:], strict=True):
            free, held = A @ free, (A - B @ K) @ held
        return float(np.linalg.norm(free, 2)), float(np.linalg.norm(held, 2))

    def __repr__(self) -> str:
        N, n_u, n_x = self.K.shape
        before, after = (quantity(value, digits=3) for value in self.growth)
        size = f"{N} intervals, {n_u} control{'s' * (n_u != 1)} of {n_x} states"
        return f"Feedback({size}; deviations grow by {before} without it, by {after} with it)"

    def _repr_html_(self) -> str:
        """Show the gains in a notebook: of each interval and control by all states."""
        task = self.plan.task
        heads = ["t", "control", *(str(x) for x in states_of(task.system))]
        rows = [
            [quantity(self.plan.t[k], task.system.time_unit), name, *map(quantity, gains)]
            for k in range(self.plan.first, len(self.K))
            for name, gains in zip(task.control_names, self.K[k], strict=True)
        ]
        return html(heads, rows, repr(self))


def feedback(
    plan: Solved, Q: Weights | None = None, R: Weights | None = None, Qf: Weights | None = None
) -> Feedback:
    """Return the feedback along a plan; see `Plan.feedback`."""
    n_x, n_u = plan.x.shape[1], plan.u.shape[1]
    usual_x = 1 / np.maximum(np.ptp(plan.x, axis=0), 1e-3) ** 2
    low, high = plan.task.limits[1].T
    bounded = np.isfinite(high - low) & (high > low)
    used = np.where(bounded, np.where(bounded, high - low, 0.0) / 2, np.ptp(plan.u, axis=0))
    usual_u = 1 / np.maximum(used, 1e-3) ** 2
    Q_ = _weight("Q", usual_x if Q is None else Q, n_x, "states")
    R_ = _weight("R", usual_u if R is None else R, n_u, "controls", definite=True)
    Qf_ = 10 * Q_ if Qf is None else _weight("Qf", Qf, n_x, "states")
    chosen = ~np.isin(plan.task.control_names, [*plan.task.stages_of])
    intervals = [_deciding(one, chosen) for one in linearized(plan)]
    N = len(intervals)
    K, P = np.zeros((N, n_u, n_x)), np.zeros((N + 1, n_x, n_x))
    P[N] = Qf_
    for k in range(N - 1, -1, -1):
        one = intervals[k]
        K[k] = _gain(one.A, one.B, P[k + 1], R_)
        P[k] = Q_ + one.A.T @ P[k + 1] @ (one.A - one.B @ K[k])
        P[k] = 0.5 * (P[k] + P[k].T)
    beside = {
        (one.k, one.mode): (one.x, _beside(one, K, P, R_, chosen))
        for one in extensions(plan, intervals)
    }
    return Feedback(
        plan,
        K,
        P,
        np.array([one.A for one in intervals]),
        np.array([one.B for one in intervals]),
        plan.begun,
        plan.u,
        plan.modes,
        beside,
    )


def _deciding(interval: Interval, chosen: np.ndarray) -> Interval:
    """Return an interval in which feedback decides on some controls; the others stay as planned."""
    return replace(interval, B=interval.B * chosen)


def _gain(A: np.ndarray, B: np.ndarray, P: np.ndarray, R: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A))


def _beside(
    one: Extension, K: np.ndarray, P: np.ndarray, R: np.ndarray, chosen: np.ndarray
) -> np.ndarray:
    """Return the gain of a state in another mode than that of the plan."""
    if isinstance(one.after, Interval):
        return _gain(one.after.A, _deciding(one.after, chosen).B, P[one.k + 1], R)
    return np.asarray(K[one.k] @ one.after)


def _weight(name: str, given: Weights, n: int, what: str, definite: bool = False) -> np.ndarray:
    """Return a weight as a matrix (n, n).

    Raises
    ------
    BadValue
        A wrong shape, a matrix that is not symmetric, or not positive (semi)definite.
    """
    try:
        W = np.array(given, float)
    except (TypeError, ValueError):
        raise BadValue(f"The weight {name} must hold numbers, not {given!r}.") from None
    if not np.isfinite(W).all():
        raise BadValue(f"The weight {name} is not finite.")
    if W.ndim == 0:
        W = np.full(n, float(W))
    if W.shape == (n,):
        W = np.diag(W)
    if W.shape != (n, n):
        raise BadValue(
            f"The weight {name} has the shape {W.shape}. Give a number, {n} numbers for the {n} "
            f"{what}, or a matrix ({n}, {n})."
        )
    if not np.allclose(W, W.T, rtol=1e-12, atol=0):
        raise BadValue(f"The weight {name} is not symmetric. Use ({name} + {name}.T)/2.")
    values = np.linalg.eigvalsh(W)
    least = _DEFINITE * max(float(np.abs(values).max(initial=0.0)), 1e-300)
    if values.min() < (least if definite else -least):
        kind = "positive definite" if definite else "positive semidefinite"
        raise BadValue(
            f"The weight {name} is not {kind}: it has the eigenvalue {values.min():.3g}. A "
            "deviation along its vector would be rewarded, or cost nothing."
        )
    return W
