"""The guards of a hybrid system as functions of numbers: what a jump of state or control sets off.

A run that begins beyond a guard has not crossed it. Where a control or a push carries a state over
a guard, the event has to be fired before the run goes on.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import sympy as sp

from explorer.systems import HybridSystem
from explorer.systems.kinks import slopes

__all__ = ["Guards", "lifted"]

_BEYOND = 1e-9  # of a guard: round-off
_REST = 1e-9  # of the velocities: a contact at rest
_MOST = 8  # events at one time
_TOUCH = 1e-9  # m and m/s: a contact that has just opened, up to round-off


def lifted(system: HybridSystem, t: float, x: np.ndarray, rho: Mapping[str, float]) -> np.ndarray:
    """Return the state of an open contact whose gap and its rate are not negative by round-off.

    Otherwise it would touch down again at once, with forces that pull.
    """
    if system.contact is None:
        return x
    if "lift" not in system.made:
        gap, rate, _ = system.contact
        given = [system.t, *system.x, *map(sp.Symbol, system.parameters)]
        system.made["lift"] = sp.lambdify(
            given, [sp.Matrix([gap, rate]), slopes([gap, rate], system.x)]
        )
    found = system.made["lift"](t, *x, *(rho[k] for k in system.parameters))
    value, along = np.asarray(found[0], float).ravel(), np.asarray(found[1], float)
    if not (np.abs(value) < _TOUCH).all():
        return x
    return np.asarray(x + np.linalg.pinv(along) @ (_TOUCH - value))


class Guards:
    """Guards, resets and conditions of a hybrid system.

    Parameters
    ----------
    system : HybridSystem
    """

    def __init__(self, system: HybridSystem) -> None:
        self.system, self.contact = system, system.contact
        self.names = list(system.parameters)
        given = [system.t, *system.x, *(sp.Symbol(k) for k in self.names)]
        formulas = [
            sp.Matrix([g.direction * g.r for g in system.guards]),
            sp.Matrix([sp.S.One if g.when is None else g.when for g in system.guards]),
            sp.Matrix([list(g.reset) for g in system.guards]),
        ]
        if self.contact is not None:
            formulas.append(sp.Matrix([0 if f is None else f for f in self.contact]))
        self.function = sp.lambdify(given, formulas, cse=True)

    def values(self, t: float, x: np.ndarray, rho: Mapping[str, float]) -> list[np.ndarray]:
        """Return d r, the conditions, the resets; of a contact gap, its rate and slip."""
        found = self.function(t, *x, *(rho.get(k, 0.0) for k in self.names))
        return [np.asarray(one, float) for one in found]

    def crossed(
        self,
        t: float,
        before: tuple[np.ndarray, Mapping[str, float]] | None,
        after: tuple[np.ndarray, Mapping[str, float]],
        mode: int,
    ) -> tuple[np.ndarray, int, list[str]]:
        """Return state, mode and the names of the events that a jump sets off.

        Parameters
        ----------
        t : float
        before, after : (x, rho)
            State and parameters on both sides of the jump; None: the run begins.
        mode : int
        """
        (x, rho), fired = after, []
        old = None if before is None else self.values(t, *before)[0].ravel()
        for _ in range(_MOST):
            r, when, resets, *_more = self.values(t, x, rho)
            for g, guard in enumerate(self.system.guards):
                beyond = r[g, 0] > _BEYOND and (old is None or old[g] <= _BEYOND)
                if guard.mode == mode and beyond and when[g, 0] > 0:
                    x, mode = resets[g].copy(), guard.to
                    fired.append(guard.name)
                    break
            else:
                break
            old = None
        return x, mode, fired

    def settled(
        self, t: float, x: np.ndarray, rho: Mapping[str, float], mode: int | None
    ) -> tuple[np.ndarray, int, list[str]]:
        """Return state and mode of a contact after velocities have jumped; None: it is unknown.

        A closed contact that is pressed answers with its plastic impact; one that is pulled opens.
        """
        names = [m.name for m in self.system.modes]
        known = self.system.start_mode if mode is None else mode
        if self.contact is None:
            return x, known, []
        _, when, resets, state = self.values(t, x, rho)
        gap, rate, slip = state.ravel()
        rest = _REST * (1 + float(np.abs(x).max()))
        if gap > rest or rate > rest:
            return x, names.index("open"), []
        if rate < -rest:
            for g, guard in enumerate(self.system.guards):
                if names[guard.mode] == "open" and when[g, 0] > 0:
                    return resets[g].copy(), guard.to, [guard.name]
        if "closed" in names:
            return x, names.index("closed"), []
        if abs(slip) <= rest:
            return x, names.index("stick"), []
        return x, names.index("forward" if slip > 0 else "backward"), []
