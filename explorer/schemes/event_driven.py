"""Event-driven integration of hybrid systems, and of mechanical systems with contacts.

An embedded Runge-Kutta pair integrates x' = f_m(t, x, rho) up to the zero of a guard, which is
located on the flow itself. There x+ = h(t, x-, rho), and the integration restarts. A mechanical
system is reformulated exactly (`explorer.compiled.flow`): impacts obey Newton's law in an LCP over
all touching contacts; closed contacts obey an LCP of forces and accelerations, and open when the
force falls to zero. Accumulating impacts end in one event that closes the contact. Constraints with
a `when` begin to hold, with a plastic impulse, and are released at its zeros. The modes of a
system with step functions are its active sets (`explorer.reformulations.filippov`). (Corner et al.
2019, sections 2 and 3, generalised: guards r(t, x, rho), one at a time.)

Steps end at kinks and jumps of formulas with abs, max, cases or floor, and each step stays on its
side (`explorer.kernels.event_driven.sides`): a method keeps its order on a smooth flow only.

Mechanical systems can also be integrated by Newmark's method or generalised-alpha, on the grid of
their own step size. An event cuts a step into two steps of the scheme. After it the acceleration is
recomputed, a_0 = M^-1 F; without this the order falls to 1.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar

import numpy as np

from explorer.certificate import Check
from explorer.compiled import Flow, compile_flow
from explorer.compiled.assembly import assembly
from explorer.compiled.checks import check_inertia
from explorer.errors import BadValue, NotApplicable
from explorer.kernels.event_driven.butcher import METHODS, ORDERS, Tableau, newmark
from explorer.parameters import knob
from explorer.quantities import quantity
from explorer.reformulations import obstacle
from explorer.results.solution import Solution
from explorer.runs.event_driven.columns import compiled_for
from explorer.runs.event_driven.dependent import undetermined
from explorer.runs.event_driven.ensemble import makes_starts, march_members
from explorer.runs.event_driven.march import March
from explorer.runs.event_driven.run import BAND
from explorer.runs.event_driven.settings import Formulation, Settings
from explorer.runs.event_driven.sliding import SwitchedMarch
from explorer.runs.members import Asked, Members, Observed
from explorer.runs.picks import Picks
from explorer.schemes import schemes
from explorer.schemes.bases.scheme import Scheme
from explorer.schemes.newmark import GeneralizedAlpha, Newmark
from explorer.systems import (
    HybridSystem,
    LinearMechanicalSystem,
    MechanicalSystem,
    StepSystem,
    System,
)
from explorer.types import Reals
from explorer.verification.flow import automaton, flow, missing, passed_over
from explorer.verification.inertia import inertia
from explorer.verification.located import by_steps, flow_energy, located, switched
from explorer.verification.resolution import resolution
from explorer.verification.uniqueness import unique

__all__ = ["EventDriven"]

_LAXER = 100.0  # the error of a run over the sum of those of its steps
_COARSE = 1e-2  # where the user sets a step and no tolerance
_FINER = 6.0  # the tolerances over those of a run for an adjoint
_MOST = 1_000_000  # rows besides the events
_NEWMARK: dict[str, type[Newmark] | type[GeneralizedAlpha]] = {
    "newmark": Newmark,
    "generalized-alpha": GeneralizedAlpha,
}
_FORMS = ("index1", "projected", "penalty")  # in the order of their codes
_CHOICES = (*METHODS, *_NEWMARK)


@schemes.register
@dataclass(frozen=True, repr=False)
class EventDriven(Picks, Scheme):
    """Event-driven integration: locate every event, jump, restart.

    Steps of a Runge-Kutta method on the flow of mode m, up to the zero tau of a guard::

        k_i = f_m(t0 + c_i h, x0 + h sum_j a_ij k_j),    x1 = x0 + h sum_i b_i k_i
        r(tau, x-) = 0,    x+ = h(tau, x-)

    Source: Hairer, Norsett, Wanner, *Solving Ordinary Differential Equations I*, 1993,
    doi:10.1007/978-3-540-78862-1, II.5, II.6 and II.10; of hybrid systems and their sensitivities
    Corner et al. 2019, doi:10.1016/j.nahs.2018.07.003.

    >>> import explorer as ex
    >>> run = ex.simulate(ex.models.bouncing_ball(), ex.EventDriven(rtol=1e-10))
    >>> round(run.events[0].t, 9)  # sqrt(2 / 9.81)
    0.451523641

    Parameters
    ----------
    method : str, Newmark or GeneralizedAlpha
        "dop853" (order 8), "dopri5" (order 5), "radau" (order 5, for stiff flows); for mechanical
        systems ``Newmark(...)``, ``GeneralizedAlpha(...)`` (also as text, as they print), or
        "newmark", "generalized-alpha" for their defaults with step size `step`.
    rtol, atol : float
        Tolerances of a step, for the state and for every sensitivity. (Newmark's methods have only
        their `error_tol`.)
    step : float
        Step size of "newmark" and "generalized-alpha", s.
    points : int
        Minimum number of evenly spaced rows besides the events. A run of more steps has as many
        rows as steps. Newmark's methods have their rows at their steps.
    formulation : str
        How constraints phi = 0 are held (Corner et al. 2019, sections 4 and 5). "index1": at the
        level of accelerations, M v' + phi_q' lam = F with phi'' = 0, and each step puts the state
        back on phi = 0 and phi' = 0. "projected": every stage is projected as well. "penalty": by
        lam = alpha (phi'' + 2 xi omega phi' + omega^2 phi), off by O(1 / alpha).
    alpha, xi, omega : float
        Penalty in kg, damping ratio, and natural frequency in rad/s of "penalty". Where a force
        does not change, phi = lam / (alpha omega^2). A larger xi or omega makes the steps shorter.
    picks : str
        For a system with step functions: the continuation at each moment that has several, in
        order, by its number in `solution.choices` ("-, 2"); by default the first.
    max_steps, max_events : int
        Limits at which a run stops. In a study the limits grow with the length of the run.
    """

    accepts = (MechanicalSystem, LinearMechanicalSystem, HybridSystem, StepSystem)
    takes = "mechanical systems with contacts and friction, hybrid systems, "
    takes += "systems with step functions"
    handles = frozenset(
        {
            "contacts",
            "constraints",
            "constraints that change",
            "friction",
            "laws of velocities",
            "redundant constraints",
        }
    )
    references = ("hairer-1993", "corner-2019")
    choice_references: ClassVar = {
        "method": {
            "radau": ("hairer-1996",),
            "newmark": Newmark.references,
            "generalized-alpha": GeneralizedAlpha.references,
        },
    }
    feature_references: ClassVar = {"friction": ("glocker-2001",)}
    order = 8
    order_across_events = 8
    located = True
    leading = "method"  # it has no h: EventDriven(Newmark()) is read as it is said

    method: str | Newmark | GeneralizedAlpha = knob(  # noqa: RUF009
        "dop853", text="method", choices=_CHOICES, types=(Newmark, GeneralizedAlpha)
    )
    rtol: float = knob(1e-9, 1e-13, 1e-3, text="relative tolerance", log=True, positive=True)
    atol: float = knob(1e-10, 1e-14, 1e-3, text="absolute tolerance", log=True, positive=True)
    step: float = knob(
        1e-2, 1e-4, 1e-1, "s", "step of Newmark's methods", log=True, positive=True, minor=True
    )
    points: int = knob(100, 2, 100_000, text="output points", positive=True, minor=True)
    max_steps: int = knob(20_000, 100, 1_000_000, text="step cap", positive=True, minor=True)
    max_events: int = knob(5_000, 10, 100_000, text="event cap", positive=True, minor=True)

    formulation: str = knob("index1", text="formulation of constraints", choices=_FORMS, minor=True)
    alpha: float = knob(
        1e7, 1e4, 1e12, "kg", "penalty of constraints", log=True, positive=True, minor=True
    )
    xi: float = knob(0.5, 0, 2, text="damping ratio of the penalty", minor=True)
    omega: float = knob(
        10.0, 1, 100, "rad/s", "natural frequency of the penalty", log=True, minor=True
    )
    picks: str = knob(
        "", text="continuations that are picked", choices=("",), types=(str,), minor=True
    )

    compile = staticmethod(compile_flow)

    @staticmethod
    def obstacle(system: System) -> str:
        """Return why a system with step functions cannot be reformulated with modes."""
        return obstacle(system) if isinstance(system, StepSystem) else ""

    def __post_init__(self) -> None:
        if isinstance(self.method, str) and "(" in self.method:
            object.__setattr__(self, "method", _read(self.method))
        super().__post_init__()
        self.check_picks()
        for name in ("xi", "omega"):
            if not getattr(self, name) >= 0:
                raise BadValue(
                    f"EventDriven: {name} = {getattr(self, name):g} of the penalty would drive "
                    "the motion away from its constraints; use 0 or more."
                )
        if self.newmark is not None and self.newmark.a0 != "consistent":
            raise BadValue(
                "EventDriven recomputes the acceleration after every event, so "
                f"a0={self.newmark.a0!r} applies only to {type(self.newmark).__name__} on its own."
            )
        if self.newmark is not None and self.newmark.coefficients.alpha_f >= 1:
            raise BadValue(f"{self.newmark!r}: alpha_f = 1 ignores the new state; use alpha_f < 1.")

    @property
    def newmark(self) -> Newmark | GeneralizedAlpha | None:
        """The structural scheme that integrates between events, if any."""
        if isinstance(self.method, (Newmark, GeneralizedAlpha)):
            return self.method
        kind = _NEWMARK.get(self.method)
        return None if kind is None else kind(h=self.step)

    @property
    def tableau(self) -> Tableau:
        """The coefficients of the method."""
        return self._tableau(self.newmark)

    def _tableau(self, scheme: Newmark | GeneralizedAlpha | None) -> Tableau:
        if scheme is None:
            return METHODS[str(self.method)]()
        co = scheme.coefficients
        error = 0.0 if scheme.error_tol == 0 else 1 / scheme.error_tol
        return newmark(
            co.order,
            co.alpha_m,
            co.alpha_f,
            co.beta,
            co.gamma,
            scheme.interpolated,
            error,
            scheme.newton_max,
        )

    def certify(self, solution: Solution) -> list[Check]:
        """Return the checks: the flow, laws at impacts, gaps, sides of surfaces, guards, energy.

        Bounds follow from `rtol` and `atol`: the errors of as many steps as there are.
        """
        march, accuracy = solution.march, self._accuracy(solution)
        flowed = [*missing(solution), *(flow(solution) if self.newmark is None else ())]
        if solution.has("boundaries"):
            passed = passed_over(solution)
            return [*switched(solution, accuracy), *flowed, *passed, *unique(solution)]
        if not march.flow.mechanical:
            return [*flowed, *automaton(solution, accuracy)]
        remedy = f"use a larger alpha than {self.alpha:g}."
        if self.formulation != "penalty":
            remedy = "at the start it follows from the others, and later it does not."
        fine = resolution(solution, max(self.atol, BAND if solution.gap.size else 0.0))
        flowed = [*undetermined(march), *flowed, *inertia(solution, march.steps), *fine]
        found = [*located(solution, accuracy, remedy), *flowed]
        if self.newmark is None:
            return [*found, *flow_energy(solution, accuracy, march.steps.t, march.steps.h)]
        return [*found, *(by_steps(solution) if solution.potential is not None else ())]

    def _accuracy(self, solution: Solution) -> float:
        """Return what the tolerances let come together over a run, relative; at most 1e-2."""
        each = self.rtol + self.atol / (float(np.abs(solution.x).max(initial=0.0)) or 1.0)
        if self.newmark is not None:
            return _COARSE
        return min(_COARSE, _LAXER * len(solution.march.steps.t) * each)

    @property
    def orders(self) -> tuple[int, int]:
        """The orders of the method."""
        newmark = self.newmark
        order = ORDERS[str(self.method)] if newmark is None else newmark.order
        return order, order

    def _settings(self, flow: Flow, t_end: float, p: int) -> Settings:
        """Return the numbers of a run with p columns."""
        newmark, usual = self.newmark, self._usual_settings
        if newmark is None or newmark.error_tol != 0:
            return usual
        most = self.max_steps
        most += newmark.steps(t_end, 2 + (1 + p) * (flow.n_x + flow.n + 1), flow.n)
        most = 1 << most.bit_length()  # few sizes, so that few are kept
        return usual._replace(grid=newmark.h, max_steps=most)

    @cached_property
    def _usual_settings(self) -> Settings:
        """The numbers of a run that chooses its steps."""
        newmark = self.newmark
        return Settings(
            self._tableau(newmark),
            self.rtol,
            self.atol,
            0.0 if newmark is None else newmark.h,
            0.0,
            self.max_steps,
            self.max_events,
            self.points,
            self.picked,
            Formulation(_FORMS.index(self.formulation), self.alpha, self.xi, self.omega),
        )

    def run(
        self,
        compiled: Flow,
        rho: Reals,
        t_end: float,
        q0: Reals | None = None,
        v0: Reals | None = None,
        *,
        x0: Reals | None = None,
        t_eval: Reals | None = None,
        wrt: tuple[int, ...] = (),
        seeds: np.ndarray | None = None,
        events_wrt: tuple[int, ...] = (),
    ) -> Solution:
        """Integrate from t = 0 to `t_end`.

        Parameters
        ----------
        compiled : Flow
        rho : sequence of float
        t_end : float
            In s.
        q0, v0, x0 : start, by default the model's own
        t_eval : (k,) times of the rows; by default see `points`
        wrt : indices of the parameters to differentiate by; -1 for a start value
        seeds : (n_x, p) derivative of the start, by default the model's own
        events_wrt : as wrt, to differentiate what happens at the events alone: for an adjoint,
            whose steps suit the state alone, so that it takes a sixth of the tolerances

        Raises
        ------
        BadModel, BadValue
            If the start is inconsistent.
        """
        if not t_end > 0:
            said = quantity(t_end, compiled.system.time_unit)
            raise BadValue(f"t_end = {said} must be greater than zero.")
        if not self.points <= _MOST:  # they are made when they are first looked at: too late to say
            raise BadValue(
                f"points = {self.points:g} are more than memory allows: at most {_MOST:g}."
            )
        if self.newmark is not None and not compiled.mechanical:
            raise NotApplicable(
                f"{self.newmark!r} integrates second-order equations, and '{compiled.system.name}' "
                "has none; use EventDriven(method='dop853')."
            )
        check_inertia(compiled.system, rho)
        compiled = compiled.by(compiled_for(compiled.system, wrt or events_wrt))
        kind = March if compiled.active_sets is None else SwitchedMarch
        if q0 is not None or v0 is not None:
            n, x0 = compiled.n, compiled.start(rho)[0]
            x0[:n] = x0[:n] if q0 is None else q0
            x0[n:] = x0[n:] if v0 is None else v0
        if compiled.assembles:
            x0, seeds = _assembled(compiled, rho, x0, wrt, seeds)
        settings = self._settings(compiled, t_end, len(wrt))
        if events_wrt:
            rtol, atol = (min(x, max(x / _FINER, 1e-14)) for x in (self.rtol, self.atol))
            settings = settings._replace(rtol=rtol, atol=atol)
        march = kind(
            compiled,
            settings,
            np.asarray(rho, float),
            t_end,
            wrt,
            slopes=len(events_wrt) > 0,
            scheme=self,
        )
        march.go(x0, seeds)
        return march.trajectory(t_eval)

    def ensemble(self, system: System) -> Callable[[Members, Asked], Observed] | None:
        """Return what marches many members in one call, if their starts need no correction."""
        flow, settings = compile_flow(system), self._usual_settings
        able = self.newmark is None and makes_starts(flow, settings)
        return partial(march_members, flow, settings) if able else None


def _assembled(
    compiled: Flow, rho: Reals, x0: Reals | None, wrt: tuple[int, ...], seeds: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return a start on the constraints, next to x0 or the model's own, and its columns if any."""
    guess, by_rho = compiled.guess(rho)
    parts = assembly(compiled.system)
    if x0 is None and seeds is not None:  # of the assembled start, not of its guess
        x0 = parts(rho, guess)
    x = guess if x0 is None else np.asarray(x0, float)
    if not wrt:
        return parts(rho, x), seeds
    along = (np.arange(compiled.n_rho)[:, None] == np.array(wrt, int)).astype(float)
    return parts.start(rho, x, by_rho @ along if seeds is None else seeds, along)


def _read(text: str) -> Newmark | GeneralizedAlpha | str:
    """Return the structural scheme that prints as `text`; nothing in it is executed."""
    try:
        call = ast.parse(text.strip(), mode="eval").body
        kinds = {kind.__name__: kind for kind in _NEWMARK.values()}
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and not call.args:
            given = {str(k.arg): ast.literal_eval(k.value) for k in call.keywords}
            return kinds[call.func.id](**given)
    except (KeyError, SyntaxError, TypeError, ValueError):
        pass
    return text  # the check of the knobs says what would do
