"""ThetaRK: Runge-Kutta time stepping of systems with step functions, without switch detection.

The steps have constant length. In each stage the multipliers satisfy the complementarity conditions
of the dynamic complementarity system (Nurkanovic, Frey, Pozharskiy, Diehl 2023, eq. (13)-(16)),
without cross complementarity and variable lengths. A switch inside a step reduces the order to one,
and the derivatives of the discretisation by the start or by parameters are wrong for any step size
(Stewart, Anitescu, Numerische Mathematik 114 (2010) 653). Its advantage: it passes any number of
switches, also accumulations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from explorer.certificate import Check
from explorer.compiled import Switched, compile_switched
from explorer.kernels.fesd.collocation import TABLEAUX
from explorer.parameters import knob
from explorer.results.solution import Solution
from explorer.runs.fesd.fixed_steps import FixedSteps
from explorer.runs.fesd.options import Options
from explorer.runs.steps import check_breaks
from explorer.schemes import schemes
from explorer.schemes.bases.collocation_order import collocation_order
from explorer.schemes.bases.scheme import Scheme
from explorer.systems import StepSystem
from explorer.types import Reals
from explorer.verification.located import elements

__all__ = ["ThetaRK"]


@schemes.register
@dataclass(frozen=True, repr=False)
class ThetaRK(Scheme):
    """Runge-Kutta steps of constant length with complementarity in every stage, as a lesson.

    In the stages i = 1, ..., s of each step::

        x_i = x0 + h sum_j a_ij f(x_j, alpha_j),    x1 = x0 + h sum_j b_j f(x_j, alpha_j)
        c(x_i) = lam_p,i - lam_n,i
        0 <= lam_n,i  perp  alpha_i >= 0,    0 <= lam_p,i  perp  1 - alpha_i >= 0

    Source: Nurkanovic et al. 2023, doi:10.48550/arXiv.2303.18066, eq. (13)-(16); why its
    derivatives are wrong: Stewart, Anitescu, Numer. Math. 114 (2010) 653,
    doi:10.1007/s00211-009-0262-2.

    >>> import warnings
    >>> import explorer as ex
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", ex.LessonWarning)
    ...     run = ex.simulate(ex.models.sign_crossing(), ex.ThetaRK(h=0.01))
    >>> run.status.name
    'success'

    Parameters
    ----------
    stages : int
        Stages of the Runge-Kutta method, 1 to 4.
    h : float
        Step in s.
    tableau, representation : str
        As for `FESD`.
    newton_max : int
        Newton iterations of a step; each solves a linear complementarity problem.
    """

    accepts = (StepSystem,)
    takes = "systems with step functions and Filippov systems"
    references = ("nurkanovic-2023", "stewart-anitescu-2010")
    order = 3
    order_across_events = 1
    lesson: ClassVar[str] = (
        "ThetaRK steps over switches: it is of first order there for any number of stages, and "
        "its derivatives are wrong at every step size. It is a lesson; FESD detects the switches"
    )

    stages: int = knob(2, 1, 4, text="stages of the Runge-Kutta method", strict=True)
    h: float = knob(0.01, 1e-4, 0.3, unit="s", text="step", log=True, positive=True)
    tableau: str = knob("radau_iia", text="Runge-Kutta method", choices=TABLEAUX)
    representation: str = knob("step", text="multipliers", choices=("step", "stewart"))
    newton_max: int = knob(30, 5, 100, text="Newton cap", positive=True, minor=True)

    @property
    def orders(self) -> tuple[int, int]:
        """The order of the collocation method; 1 across switches."""
        return collocation_order(type(self).__name__, self.tableau, self.stages), 1

    def certify(self, solution: Solution) -> list[Check]:
        """Return the checks of the equations of the steps."""
        return elements(solution, 1e-8, cross=False)

    def compile(self, system: StepSystem) -> Switched:  # type: ignore[override]
        """Return the system with the multipliers of this representation."""
        return compile_switched(system, self.representation == "stewart")

    def run(  # type: ignore[override]
        self, compiled: Switched, rho: Reals, t_end: float, *, x0: Reals | None = None
    ) -> Solution:
        """Integrate from t = 0 to `t_end`; rows at the ends of the steps.

        Raises
        ------
        BadModel, BadValue
            If the start or the times are inconsistent.
        """
        row = (self.stages + 1) * (compiled.n_x + compiled.n_sel)
        options = Options(self.tableau, self.stages, self.h, self.newton_max)
        check_breaks(compiled.system, self.h)
        steps = self.steps(t_end, row, compiled.n_x, unit=compiled.system.time_unit)
        run = FixedSteps(compiled, options, rho, t_end, steps, scheme=self)
        run.go(x0)
        return run.trajectory()
