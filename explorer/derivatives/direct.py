"""`Sensitivity`: derivatives of a run by its parameters, with their jumps at the events.

The tangent linear model is integrated with the state (Corner et al. 2019, eq. (14), (17), (18)). At
an event S+ = Xi S- + Pi, whose rows are eq. (35), (38) and (48), with the event-time sensitivity
(33) for a general guard. For `FESD` the discrete equations are differentiated
(`explorer.kernels.fesd.tangents`).
"""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from explorer.derivatives.doubts import Doubt, examine
from explorer.derivatives.one_sided import OneSided, limit
from explorer.derivatives.question import Question, gradient_of
from explorer.derivatives.saltation import Saltation, saltation
from explorer.derivatives.trust import Trust, trust
from explorer.derivatives.verify import verify
from explorer.errors import BadValue, NotApplicable, lacking
from explorer.results.event import LocatedEvent, within
from explorer.results.solution import Solution
from explorer.schemes import Scheme
from explorer.types import Reals

__all__ = ["Sensitivity", "solve"]


@dataclass(eq=False)
class Sensitivity:
    """Derivatives of a trajectory, (n_t, ...) along the rows of `solution`.

    Attributes
    ----------
    method : str
    run : Solution
        The run that was integrated; for the adjoint without sensitivities.
    wrt : names of the parameters (or of the states whose start is meant)
    cost, cost_gradient : float, (p,) psi and its gradient
    residuals : dict of what the method can tell about its own accuracy
    mu : (events, 2, n_x + 1) or None
        For the adjoint: the derivative of psi by the state (x, z) before and after each event;
        `mu_ends` (2, n_x + 1) at the start and at the end.
    left, right : OneSided or None
        With ``directional="both"``, if events coincide: the one-sided derivatives.

    Examples
    --------
    >>> import explorer as ex
    >>> sens = ex.sensitivity(ex.models.bouncing_ball(), wrt=("g", "e"), t_end=1.0)
    >>> sens.S.shape[1:]  # derivatives of y and v_y by g and e
    (2, 2)
    """

    references: ClassVar[tuple[str, ...]] = ("corner-2019",)  # keys of `references.bib`

    if not TYPE_CHECKING:  # a type checker would take any attribute then
        __getattr__ = lacking

    method: str
    run: Solution
    wrt: tuple[str, ...]
    cost: float
    cost_gradient: np.ndarray
    question: Question = field(repr=False)
    own: tuple[np.ndarray, np.ndarray] | None = field(default=None, repr=False)
    residuals: dict[str, float] = field(default_factory=dict)
    mu: np.ndarray | None = field(default=None, repr=False)
    mu_ends: np.ndarray | None = field(default=None, repr=False)
    left: OneSided | None = field(default=None, repr=False)
    right: OneSided | None = field(default=None, repr=False)

    def judged(
        self, doubts: tuple[Doubt, ...], gradient: np.ndarray, sides: Sequence[OneSided | None]
    ) -> Sensitivity:
        """Return the same with this gradient of the cost and both one-sided derivatives."""
        left, right = sides
        other = dataclasses.replace(self, cost_gradient=gradient, left=left, right=right)
        other.doubts = doubts
        if "solution" in self.__dict__:
            other.solution = self.solution
        return other

    @cached_property
    def doubts(self) -> tuple[Doubt, ...]:
        """Events that graze, or that coincide in an order that a parameter decides.

        After them, `sensitivity()` sets the affected columns to NaN.
        """
        return examine(self.question, self.run, lambda: self.solution)

    @property
    def directional(self) -> bool:
        """Whether the one-sided derivatives by some parameter differ."""
        return any(doubt.kind == "directional" for doubt in self.doubts)

    @property
    def cautions(self) -> tuple[str, ...]:
        """Reasons to doubt the derivative: the sentences of `trust`."""
        return self.trust.sentences

    def along(self, direction: Reals) -> float:
        """Return the derivative of the cost along a direction (p,) of the parameters.

        Where events coincide it is the limit from that side (Bouligand derivative), which is not
        linear in the direction.

        Raises
        ------
        BadValue
            If the direction does not have one number per parameter, or all are 0.
        """
        d = np.asarray(direction, float)
        if d.shape != (len(self.wrt),) or not np.isfinite(d).all() or not d.any():
            raise BadValue(
                f"A direction needs {len(self.wrt)} numbers ({', '.join(self.wrt)}), and at "
                "least one must not be 0."
            )
        if not self.directional:
            return float(self.cost_gradient @ d)
        return limit(self.question, d).slope

    def __repr__(self) -> str:
        count = len(self.run.located)
        many = f"{count} event{'s' * (count != 1)}"
        return f"Sensitivity({self.method}, wrt={self.wrt}, {many}; {self.trust.summary})"

    @cached_property
    def trust(self) -> Trust:
        """How reliable the derivative is: ``.ok``, ``.sentences`` and its figures."""
        mu = None
        if self.mu is not None and self.mu_ends is not None:
            mu = np.vstack([self.mu_ends[:1], *self.mu, self.mu_ends[1:]])
        return trust(
            self.question,
            self.run,
            self.cost_gradient,
            doubts=self.doubts,
            mu=mu,
            residuals=self.residuals,
        )

    def verify(self, scheme: Scheme | None = None) -> Trust:
        """Compare with another method at another tolerance, and with difference quotients.

        Nothing of this run is used again; see `explorer.derivatives.verify`.

        Parameters
        ----------
        scheme : EventDriven or FESD, optional
            By default another Runge-Kutta pair at a tenth of the tolerances.
        """
        return verify(self.question, self.solution, self.cost_gradient, self.trust, scheme)

    @cached_property
    def solution(self) -> Solution:
        """The run with its sensitivities; for the adjoint, the direct method computes it here."""
        return self.run if self.mu_ends is None else self.question.run()

    @property
    def t(self) -> np.ndarray:
        """Times of the rows in s, each event twice."""
        return self.solution.t

    @property
    def events(self) -> list[LocatedEvent]:
        """Events with their `dt_drho`."""
        return self.solution.located

    @property
    def S(self) -> np.ndarray:
        """dx/drho, (n_t, n_x, p)."""
        return self.solution.S[:, :-1] if self.own is None else self.own[0]

    @property
    def Z(self) -> np.ndarray:
        """Derivative of the integral of the running cost, (n_t, p)."""
        return self.solution.S[:, -1] if self.own is None else self.own[1]

    @property
    def Q(self) -> np.ndarray:
        """dq/drho, (n_t, n, p)."""
        return self.S[:, : self.run.q.shape[1]]

    @property
    def V(self) -> np.ndarray:
        """dv/drho, (n_t, n, p)."""
        return self.S[:, self.run.q.shape[1] :]

    @property
    def Lam(self) -> np.ndarray:
        """Derivatives of the contact forces, (n_t, n_c, p): lam is algebraic, so they jump with f.

        Lam+ = lam_q Q+ + lam_v V+ + lam_rho behind an event (Corner et al. 2019, eq. (94) and (95),
        corrected).
        """
        return self._forces()[:, : self.run.lam.shape[1]]

    @property
    def Lam_phi(self) -> np.ndarray:
        """Derivatives of the constraint forces lam_phi, (n_t, m, p)."""
        many = len(self.run.system.constraints)
        found = self._forces()
        return 0.0 - found[:, found.shape[1] - many :]

    @property
    def A(self) -> np.ndarray:
        """Derivatives of the accelerations at fixed times, (n_t, n, p)."""
        return self._slopes("A")

    def _forces(self) -> np.ndarray:
        return self._slopes("Lam")

    def _slopes(self, name: str) -> np.ndarray:
        if not self.run.has_velocities or not hasattr(self.solution.march, "force_slopes"):
            kind = f"'{self.run.system.name}' is a {self.run.system.kind}"
            raise NotApplicable(
                f"{kind}: forces and accelerations with derivatives are those of mechanical "
                "systems that EventDriven runs."
            )
        found: np.ndarray = self.solution.recorded_row(name)
        return found

    def at(self, t: float | Reals, side: str = "right") -> np.ndarray:
        """Return S (n_x, p) at one time, or (k, n_x, p) at k; at an event its left or right limit.

        Raises
        ------
        BadValue
            If a time lies outside the run or is not a number, or the side is neither "left" nor
            "right".
        """
        times = within(t, side, 0.0, self.solution.march.t_last)
        shape = self.question.cost.flow.n_x, len(self.wrt)
        if times.ndim == 0:
            return self._at(float(times), side)
        return np.array([self._at(x, side) for x in times.tolist()]).reshape(len(times), *shape)

    def _at(self, t: float, side: str) -> np.ndarray:
        march, n_x = self.solution.march, self.question.cost.flow.n_x
        for k in range(len(self.events))[:: 1 if side == "left" else -1]:
            if self.events[k].t == t:
                salt = self.saltation(k)
                return (salt.S_minus if side == "left" else salt.S_plus)[:n_x]
        return np.asarray(march.slopes_at(np.array([t]))[0, :n_x])

    def saltation(self, k: int) -> Saltation:
        """Return Xi and Pi at event `k`, with the limits on both sides.

        Raises
        ------
        BadValue
            If there is no such event.
        """
        events = self.events
        if not isinstance(k, numbers.Integral) or not -len(events) <= k < len(events):
            raise BadValue(f"There is no event {k!r}: the run has {len(events)}, numbered from 0.")
        return saltation(self.solution, k, self.wrt, self.question.places)


def solve(question: Question, jumps: bool = False) -> Sensitivity:
    """Direct method; with `jumps` also where it misses those that no event locates."""
    solution = question.run(jumps=jumps)
    value, gradient = gradient_of(question, solution)
    return Sensitivity("direct", solution, question.wrt, value, gradient, question)
