"""The steps of a run: how the solver fared, and what one scheme alone tells of its steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from explorer.errors import NoSuchName
from explorer.results.event import LOCATE
from explorer.results.part import Part

__all__ = ["OF_SCHEMES", "Steps"]

_ELEMENTS = "EventDriven and FESD have it, of systems with step functions or regions"
_FROZEN = "FESD has it of a mechanical system, through time freezing"
_NEWMARK = "the schemes of the Newmark family have it"
_ALPHA = "NonsmoothGeneralizedAlpha has it, of a system with constraints"

OF_SCHEMES = {  # what some schemes have and others have not: which do
    **dict.fromkeys(("march", "located", "nearest", "z", "S", "Lam", "Lam_phi", "A"), LOCATE),
    **dict.fromkeys(("boundaries", "interval", "patterns"), _ELEMENTS),
    "names": "sol.mode_names has the names of modes, sol.multipliers.names those of multipliers",
    "fesd_residual": "FESD and ThetaRK have it",
    **dict.fromkeys(("pseudo", "frozen"), _FROZEN),
    **dict.fromkeys(("error", "imbalance", "parts"), _NEWMARK),
    **dict.fromkeys(("lam_alpha", "p_jump"), _ALPHA),
    "gamma_phi": "MoreauJean has it, with projection='constraints'",
}


class Steps(Part):
    """What a scheme tells of its steps.

    Every scheme tells `iterations` and `residuals`. What one scheme alone has depends on it:
    ``dir(sol.steps)`` lists all. Of those that locate events z (n_t,) is the running cost, S
    (n_t, n_x + 1, p) holds sensitivities of (x, z), and `nearest` is the smallest value of a guard
    at a near miss. Of the Newmark family error (n_t,) is the local error in m, imbalance (n_t,) the
    residual in the equations of motion, and parts (n_t,) counts those of a step.
    """

    name: ClassVar[str] = "steps"
    flat: ClassVar[tuple[str, ...]] = ("iterations", "residuals")

    @property
    def iterations(self) -> np.ndarray:
        """Newton iterations of the step that ends at the row, (n_t,)."""
        return self._row("iterations")

    @property
    def residuals(self) -> np.ndarray:
        """Residuals of the one-step problem (of contacts in m/s) and of Newton's method, (n_t, 2).

        Those of Newton's method are in the `residual_unit` of the scheme.
        """
        return self._row("residuals")

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            if name.startswith("_"):
                raise AttributeError(f"'Steps' object has no attribute {name!r}")
            if name in OF_SCHEMES or name in self._own():
                return getattr(self._run, name)
            raise NoSuchName("sol.steps", name, lambda: dir(self))

    def __dir__(self) -> list[str]:
        run = self._run
        names = [name for name in OF_SCHEMES if run.has(name)]
        return sorted({*names, *self._own(), *super().__dir__()})

    def _own(self) -> list[str]:
        """Return the names of what the scheme recorded besides."""
        return self._run.beside()
