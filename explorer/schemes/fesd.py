"""FESD: finite elements with switch detection, for systems with set-valued step functions.

In each interval the elements of a Runge-Kutta method have free lengths, such that active sets
change only between elements: collocation (14), complementarity (16), cross complementarity with the
end of the element before (17), (18), step equilibration (19) and the sum of the lengths (21) hold
together (Nurkanovic, Frey, Pozharskiy, Diehl 2023, corrected). Solved by marching from active set
to active set (`explorer.kernels.fesd.march`). Switches keep the order of the method.

Mechanical systems with contacts and relays with hysteresis are reformulated by time freezing
(`explorer.reformulations.time_freezing`, `hysteresis`). Then h and the elements refer to
pseudo-time; the result is in physical time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from explorer.certificate import Check
from explorer.codes import SUCCESS
from explorer.compiled import Switched, compile_switched
from explorer.compiled.frozen import Frozen, compile_frozen
from explorer.kernels.fesd.collocation import TABLEAUX
from explorer.parameters import knob
from explorer.reformulations.hysteresis import hysteresis
from explorer.reformulations.hysteresis import misses as misses_modes
from explorer.reformulations.time_freezing import misses as misses_impacts
from explorer.reformulations.time_freezing import time_freezing
from explorer.results.solution import Solution
from explorer.runs.fesd.elements import Elements
from explorer.runs.fesd.options import Options
from explorer.runs.fesd.tangents import Tangents
from explorer.runs.picks import Picks
from explorer.runs.time_freezing.impacts import TOUCHES, Impacts
from explorer.runs.time_freezing.modes import Modes
from explorer.schemes import schemes
from explorer.schemes.bases.collocation_order import collocation_order
from explorer.schemes.bases.scheme import Scheme
from explorer.systems import HybridSystem, MechanicalSystem, StepSystem, System
from explorer.types import Reals
from explorer.verification.inertia import inertia
from explorer.verification.inside import inside
from explorer.verification.located import elements, flow_energy, located
from explorer.verification.resolution import resolution
from explorer.verification.uniqueness import unique

__all__ = ["FESD"]

_SOLVED = 1e-8  # of their terms: equations that Newton's method has solved
_ACCURATE = 1e-3  # of energy and speeds: what a method of high order keeps


@schemes.register
@dataclass(frozen=True, repr=False)
class FESD(Picks, Scheme):
    """Finite elements with switch detection: variable element lengths locate the switches.

    In element n of an interval, with a Runge-Kutta method of s stages::

        x_i = x0 + h_n sum_j a_ij f(x_j, alpha_j),    x1 = x0 + h_n sum_j b_j f(x_j, alpha_j)
        c(x_i) = lam_p,i - lam_n,i
        0 <= lam_n,i  perp  alpha_j >= 0,    0 <= lam_p,i  perp  1 - alpha_j >= 0
        for all i = 0, ..., s (0: the start) and j = 1, ..., s
        sum_n h_n = h,    each h_n >= 0 is unknown

    Source: Nurkanovic, Sperl, Albrecht, Diehl, Numer. Math. 156 (2024) 1115,
    doi:10.1007/s00211-024-01412-z; with step functions Nurkanovic et al. 2023,
    doi:10.48550/arXiv.2303.18066.

    >>> import explorer as ex
    >>> run = ex.simulate(ex.models.sign_crossing(), ex.FESD(h=0.1))
    >>> run.events[0].kind
    'crosses'

    Parameters
    ----------
    stages : int
        Stages of the Runge-Kutta method, 1 to 4.
    elements : int
        Elements in an interval, which its switches divide into at most as many phases.
    h : float
        Length of an interval in s.
    tableau : str
        "radau_iia" (order 2 s - 1), "lobatto_iiic" (2 s - 2), "gauss" (2 s).
    representation : str
        "step": multipliers alpha of the switching functions; "stewart": theta of the regions of a
        `FilippovSystem`. Both agree on one surface, and may slide differently on several.
    rule : str
        Choice where the solution is not unique: "plus" and "minus" prefer that side of the
        surfaces, "slide" stays on them.
    picks : str
        The continuation at each moment that has several, in order, by its number in
        `solution.choices`: "1" or "-, 2" (-: by `rule`).
    split : str
        "yes": an interval with more switches than elements gets more elements; "no": the run stops
        there and reports how many it needs.
    newton_max, max_elements, max_switches : int
        Limits at which a run stops.
    """

    accepts = (StepSystem, MechanicalSystem, HybridSystem)
    rewrites = (MechanicalSystem, HybridSystem)
    handles = frozenset({"contacts", "friction"})
    takes = (
        "systems with step functions and Filippov systems, also those that time freezing produces"
    )
    references = ("nurkanovic-2024", "nurkanovic-2023", "hairer-1996")
    choice_references: ClassVar = {"representation": {"stewart": ("stewart-1990",)}}
    order = 3
    order_across_events = 3
    located = True

    stages: int = knob(2, 1, 4, text="stages of the Runge-Kutta method", strict=True)
    elements: int = knob(2, 1, 10, text="elements of an interval", positive=True)
    h: float = knob(0.1, 1e-3, 1, unit="s", text="interval", log=True, positive=True)
    tableau: str = knob("radau_iia", text="Runge-Kutta method", choices=TABLEAUX)
    representation: str = knob("step", text="multipliers", choices=("step", "stewart"))
    rule: str = knob(
        "plus",
        text="choice where the solution is not unique",
        choices=("plus", "minus", "slide"),
        minor=True,
    )
    picks: str = knob(
        "", text="continuations that are picked", choices=("",), types=(str,), minor=True
    )
    split: str = knob(
        "yes",
        text="add elements where more switches occur",
        choices=("yes", "no"),
        minor=True,
    )
    newton_max: int = knob(30, 5, 100, text="Newton cap", positive=True, minor=True)
    max_elements: int = knob(200_000, 100, 1_000_000, text="element cap", positive=True, minor=True)
    max_switches: int = knob(5_000, 10, 100_000, text="switch cap", positive=True, minor=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_picks()

    @classmethod
    def usual_step(cls, system: System) -> float:
        """Return a suitable interval in s; the usual h of a system suits schemes of low order."""
        return 10 * system.h if isinstance(system, cls.rewrites) else system.h

    @classmethod
    def differentiates(cls, system: System) -> bool:
        """Whether it computes sensitivities: not through time freezing."""
        return super().differentiates(system) and not isinstance(system, cls.rewrites)

    @staticmethod
    def obstacle(system: System) -> str:
        """Return why time freezing does not cover a mechanical or hybrid system."""
        if isinstance(system, MechanicalSystem):
            return misses_impacts(system)
        return misses_modes(system) if isinstance(system, HybridSystem) else ""

    def compile(  # type: ignore[override]
        self, system: StepSystem | MechanicalSystem | HybridSystem
    ) -> Switched | Frozen:
        """Return the system with the multipliers of this representation."""
        if isinstance(system, (MechanicalSystem, HybridSystem)):
            base = system if system.drive is None else system.base
            freeze = time_freezing if isinstance(base, MechanicalSystem) else hysteresis
            compiled = compile_frozen(freeze(base))  # type: ignore[arg-type]
            return compiled if system.drive is None else compiled.driven(system)
        return compile_switched(system, self.representation == "stewart")

    @property
    def orders(self) -> tuple[int, int]:
        """The orders of the collocation method."""
        return (collocation_order(type(self).__name__, self.tableau, self.stages),) * 2

    @property
    def options(self) -> Options:
        """The options in the form that a run needs."""
        return Options(
            self.tableau,
            self.stages,
            self.h,
            self.newton_max,
            self.elements,
            self.rule,
            self.picked,
            self.split == "yes",
            self.max_elements,
            self.max_switches,
        )

    def certify(self, solution: Solution) -> list[Check]:
        """Return the checks: the equations of the elements, laws and energy of what was frozen."""
        if solution.has("boundaries"):
            return [*elements(solution, _SOLVED), *inside(solution), *unique(solution)]
        found = elements(solution.pseudo, _SOLVED)
        if not solution.march.compiled.mechanical:
            return found
        located_too = [*located(solution, _ACCURATE), *flow_energy(solution, _ACCURATE)]
        fine = resolution(solution, TOUCHES)
        return [*found, *inertia(solution), *located_too, *fine]

    def run(
        self,
        compiled: Switched | Frozen,
        rho: Reals,
        t_end: float,
        q0: Reals | None = None,
        v0: Reals | None = None,
        *,
        x0: Reals | None = None,
        t_eval: Reals | None = None,
        wrt: tuple[int, ...] | None = None,
        seeds: np.ndarray | None = None,
    ) -> Solution:
        """Integrate from t = 0 to `t_end`; rows at `t_eval`, by default at the ends of elements.

        With `wrt`, indices of parameters (-1: a start value), the derivatives of the discrete
        solution too; `seeds` (n_x, p) are those of the start, by default the model's own.

        Raises
        ------
        BadModel, BadValue
            If the start or the times are inconsistent.
        NotApplicable
            If several contacts close at the same time.
        """
        if isinstance(compiled, Frozen):
            start = compiled.start(rho)[0]
            for part, given in ((slice(compiled.n), q0), (slice(compiled.n, None), v0)):
                start[part] = start[part] if given is None else given
            start = start if x0 is None else np.asarray(x0, float)
            compiled.check(rho, start)
            kind = Impacts if compiled.mechanical else Modes
            frozen = kind(compiled, self.options, rho, t_end, scheme=self)
            frozen.go(start)
            return frozen.trajectory(t_eval)
        row = (self.stages + 1) * (compiled.n_x + compiled.n_sel)
        unit = compiled.system.time_unit
        intervals = self.steps(t_end, self.elements * row, compiled.n_x, unit=unit)
        run = Elements(compiled, self.options, rho, t_end, intervals, scheme=self)
        run.go(x0)
        run.polish()
        if wrt is not None and run.code == SUCCESS:
            run.tangents = Tangents(run, wrt, seeds)
        return run.trajectory(t_eval)
