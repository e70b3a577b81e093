"""The assembly of a start: coordinates that are guessed are moved until the constraints hold.

Newton's method on phi(0, q) = 0 for the dependent coordinates, from the guess; then their
velocities by phi_q v + phi_t = 0, and the derivatives of both by phi_q Q = -phi_rho and
phi_q V = -(phi')_q Q - (phi')_rho (Corner et al. 2019, eq. (86) and (87),
doi:10.1016/j.nahs.2018.07.003).
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
import symengine as se
import sympy as sp

from explorer.compiled.bundle import Bundle, smooth
from explorer.compiled.saddle import gradient
from explorer.errors import BadModel
from explorer.quantities import quantity
from explorer.systems import LagrangianSystem, System
from explorer.types import Reals

__all__ = ["Assembly", "assembly"]

_MOST = 60  # iterations
_NEAR = 1e-13  # of the size of the coordinates
_RANK = 1e-10


class Assembly:
    """Assembles starts of a system.

    Parameters
    ----------
    system : LagrangianSystem
        With constraints; `system.assembles` are the dependent coordinates, () if none was chosen:
        then those in which the pivots of phi_q stand at the guess.
    """

    def __init__(self, system: LagrangianSystem) -> None:
        self.system = system
        self.n, self.m, self.nr = system.n, len(system.constraints), len(system.parameters)
        t = se.Symbol("t")
        q, v = ([se.sympify(s) for s in part] for part in (system.q, system.v))
        rho = [se.Symbol(k) for k in system.parameters]
        phi = [smooth(sp.sympify(c.phi)) for c in system.constraints]
        G = [[f.diff(x) for x in q] for f in phi]
        rate = [
            sum((g * w for g, w in zip(row, v, strict=True)), f.diff(t))
            for f, row in zip(phi, G, strict=True)
        ]
        outputs = [*phi, *rate, *(g for row in G for g in row)]
        outputs += [*gradient(phi, rho), *gradient(rate, q), *gradient(rate, rho)]
        self._native = Bundle([t, *q, *v, *rho], outputs)

    def _evaluate(self, rho: Reals, x: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return phi, its rate, G, phi_rho and the derivatives of the rate by q and rho."""
        m, n, nr = self.m, self.n, self.nr
        out = self._native(np.concatenate([[0.0], x, rho]))
        cuts = np.cumsum([m, m, m * n, m * nr, m * n])
        phi, rate, G, by_rho, rate_q, rate_rho = np.split(np.asarray(out), cuts)
        shape = (m, n), (m, nr), (m, n), (m, nr)
        parts = zip((G, by_rho, rate_q, rate_rho), shape, strict=True)
        return (phi, rate, *(part.reshape(s) for part, s in parts))

    def dependent(self, G: np.ndarray) -> np.ndarray:
        """Return the numbers of the coordinates that follow from the others."""
        if self.system.assembles:
            return np.array(self.system.assembles)
        _, R, order = scipy.linalg.qr(G, mode="economic", pivoting=True)
        pivots = np.abs(R.diagonal())
        return np.sort(order[: int((pivots > _RANK * pivots.max(initial=0.0)).sum())])

    def __call__(self, rho: Reals, x: np.ndarray) -> np.ndarray:
        """Return (q, v) on the constraints, from a guess (2 n,).

        Raises
        ------
        BadModel
            If Newton's method does not arrive, with the constraint that is off most.
        """
        n, x = self.n, np.array(x, float)
        chosen = self.dependent(self._evaluate(rho, x)[2])
        before = np.inf
        for _ in range(_MOST):
            phi, _, G, *_ = self._evaluate(rho, x)
            off = np.abs(phi).max(initial=0.0)
            small = _NEAR * max(1.0, float(np.abs(x[:n]).max(initial=0.0)))
            if off <= small or (off < 1e-9 and off >= before):
                break
            before = off
            step = np.linalg.lstsq(G[:, chosen], -phi, rcond=_RANK)[0]
            whole = 1.0
            for _ in range(30):  # the step is halved until it helps
                y = x.copy()
                y[chosen] += whole * step
                if np.abs(self._evaluate(rho, y)[0]).max(initial=0.0) < off:
                    break
                whole *= 0.5
            x = y
        else:
            self._refuse(phi)
        _, rate, G, *_ = self._evaluate(rho, x)
        x[n + chosen] += np.linalg.lstsq(G[:, chosen], -rate, rcond=_RANK)[0]
        return x

    def columns(
        self, rho: Reals, x: np.ndarray, given: np.ndarray, along: np.ndarray
    ) -> np.ndarray:
        """Return the derivatives (2 n, p) of an assembled start, from those `given` of its guess.

        `along` (n_rho, p): how the parameters move with each.
        """
        n, columns = self.n, np.array(given, float)
        _, _, G, by_rho, rate_q, rate_rho = self._evaluate(rho, x)
        chosen = self.dependent(G)
        Q, V = columns[:n], columns[n:]
        inverse = np.linalg.pinv(G[:, chosen], rcond=_RANK)
        Q[chosen] -= inverse @ (G @ Q + by_rho @ along)
        V[chosen] -= inverse @ (G @ V + rate_q @ Q + rate_rho @ along)
        return columns

    def start(
        self, rho: Reals, x: np.ndarray, seeds: np.ndarray, along: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return a start on the constraints, and its columns, from a guess and its `seeds`."""
        x = self(rho, x)
        return x, self.columns(rho, x, seeds, along)

    def _refuse(self, phi: np.ndarray) -> None:
        k = int(np.abs(np.nan_to_num(phi, nan=np.inf)).argmax())
        raise BadModel(
            f"'{self.system.name}' cannot be assembled from its start: the constraint "
            f"{self.system.constraints[k].name!r} stays off by {quantity(abs(phi[k]), 'm')}. Check "
            "that the lengths can meet, give a guess nearer to it, or choose other dependent "
            "coordinates."
        )


def assembly(system: System) -> Assembly:
    """Return the assembly of a system, made once for each change of its equations."""
    if "assembly" not in system.made:
        assert isinstance(system, LagrangianSystem)
        system.made["assembly"] = Assembly(system)
    made: Assembly = system.made["assembly"]
    return made
