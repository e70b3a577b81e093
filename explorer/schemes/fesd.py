"""FESD: finite elements with switch detection, for systems with set-valued step functions.

In each interval the elements of a Runge-Kutta method have free lengths, such that active sets
change only between elements: collocation (14), complementarity (16), cross complementarity with the
end of the element before (17), (18), step equilibration (19) and the sum of the lengths (21) hold
together (Nurkanovic, Frey, Pozharskiy, Diehl 2023, corrected). Solved by marching from active set
to active set (`explorer.kernels.fesd`). Switches keep the order of the method.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from explorer.compiled import Switched, compile_switched
from explorer.errors import BadValue
from explorer.kernels.collocation import TABLEAUX, collocation
from explorer.parameters import knob
from explorer.schemes import schemes
from explorer.schemes.base import Scheme
from explorer.schemes.elements import Elements
from explorer.switched import SwitchedTrajectory
from explorer.systems import StepSystem

__all__ = ["FESD"]


@schemes.register
@dataclass(frozen=True, repr=False)
class FESD(Scheme):
    """Elements whose lengths find the switches: full order across them.

    Parameters
    ----------
    stages : int
        Of the Runge-Kutta method, 1 to 4.
    elements : int
        In an interval; its switches part it into at most as many phases.
    h : float
        Length of an interval in s.
    tableau : str
        "radau_iia" (order 2 s - 1), "lobatto_iiic" (2 s - 2), "gauss" (2 s).
    representation : str
        "step": multipliers alpha of the switching functions; "stewart": theta of the regions of a
        `FilippovSystem`. They are the same on one surface and may slide differently on several.
    rule : str
        Where the solution is not unique: "plus" and "minus" prefer that side of the surfaces,
        "slide" stays on them.
    split : str
        "yes": an interval with more switches than it has elements for gets more of them; "no": the
        run ends there and says how many it needs.
    newton_max, max_elements, max_switches : int
        Where a run gives up.
    """

    accepts = (StepSystem,)
    takes = "systems with step functions and Filippov systems"
    order = 3
    order_across_events = 3

    stages: int = knob(2, 1, 4, text="stages of the Runge-Kutta method", strict=True)
    elements: int = knob(2, 1, 10, text="elements of an interval", positive=True)
    h: float = knob(0.1, 1e-3, 1, unit="s", text="interval", log=True, positive=True)
    tableau: str = knob("radau_iia", text="Runge-Kutta method", choices=TABLEAUX)
    representation: str = knob("step", text="multipliers", choices=("step", "stewart"))
    rule: str = knob(
        "plus", text="choice where the solution is not unique", choices=("plus", "minus", "slide"),
        minor=True,
    )  # fmt: skip
    split: str = knob(
        "yes", text="more elements where there are more switches", choices=("yes", "no"),
        minor=True,
    )  # fmt: skip
    newton_max: int = knob(30, 5, 100, text="Newton cap", positive=True, minor=True)
    max_elements: int = knob(200_000, 100, 1_000_000, text="element cap", positive=True, minor=True)
    max_switches: int = knob(5_000, 10, 100_000, text="switch cap", positive=True, minor=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            collocation(self.tableau, self.stages)
        except ValueError as error:
            raise BadValue(f"FESD: {error}, not {self.stages}.") from None

    def compile(self, system: Any) -> Switched:  # type: ignore[override]
        """Return the system with the multipliers of this representation."""
        return compile_switched(system, self.representation == "stewart")

    def run(  # type: ignore[override]
        self, compiled: Switched, rho: Any, t_end: float, *, x0: Any = None, t_eval: Any = None
    ) -> SwitchedTrajectory:
        """Integrate from t = 0 to `t_end`; rows at `t_eval`, by default at the ends of elements.

        Raises
        ------
        BadModel, BadValue
            The start or the times make no sense.
        """
        row = (self.stages + 1) * (compiled.n_x + compiled.n_sel)
        intervals = self.steps(t_end, self.elements * row, compiled.n_x)
        run = Elements(compiled, self, rho, t_end, intervals)
        run.go(x0)
        return run.trajectory(t_eval)
