"""The assembly of a start: coordinates that are guessed are moved until the constraints hold.

`explorer.systems.assembly` finds q and v next to the guess, q = q0 + phi_q' mu and v = v0 + phi_q'
nu in the dependent coordinates, by native functions of phi. With W(w) = (phi_q' w)_q their
derivatives solve ::

    [ I - W(mu)  -phi_q' ] [ Q ]   [ Q0 + (phi_q' mu)_rho ]
    [ phi_q          0   ] [ . ] = [ -phi_rho             ]

and with the right-hand sides V0 + W(nu) Q + (phi_q' nu)_rho and -(phi')_q Q - (phi')_rho, without
W in the matrix, for V. Where the dependent coordinates follow from the others, mu and nu play no
role, and these are phi_q Q = -phi_rho and phi_q V = -(phi')_q Q - (phi')_rho (Corner et al. 2019,
eq. (86) and (87), doi:10.1016/j.nahs.2018.07.003).
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
import symengine as se
import sympy as sp

from explorer.compiled.bundle import Bundle, Expr, smooth
from explorer.compiled.saddle import gradient
from explorer.errors import BadModel
from explorer.systems import LagrangianSystem, System
from explorer.systems.assembly import Assembler
from explorer.systems.units import constraint_units
from explorer.types import Reals

__all__ = ["Assembly", "assembly"]

_RANK = 1e-10
_ON_ZERO = 1e-10  # what changes a constraint is on its zero: where it goes decides
_LEFT = 1e-7  # of what the constraints ask of a derivative: more is no round-off


class Assembly:
    """Assembles starts of a system.

    Parameters
    ----------
    system : LagrangianSystem
        With constraints; `system.assembles` are the dependent coordinates, () if none was chosen:
        then those in which the pivots of phi_q stand at the guess.

    Raises
    ------
    BadModel
        If it has no constraints.
    """

    def __init__(self, system: LagrangianSystem) -> None:
        if not system.constraints:
            raise BadModel(
                f"'{system.name}' has no constraints, so no coordinate depends on the others: "
                "remove assemble=, or add constraints."
            )
        self.system = system
        self.n, self.m, self.nr = system.n, len(system.constraints), len(system.parameters)
        t = se.Symbol("t")
        q, v = ([se.sympify(s) for s in part] for part in (system.q, system.v))
        rho = [se.Symbol(k) for k in system.parameters]
        phi = [smooth(sp.sympify(c.phi)) for c in system.constraints]
        G = [[f.diff(x) for x in q] for f in phi]
        by_t = [f.diff(t) for f in phi]
        self._values = Bundle([t, *q, *rho], [*phi, *by_t, *(g for row in G for g in row)])
        self._formulas = t, q, v, rho, phi, G, by_t
        self._slopes: Bundle | None = None
        r = [se.Integer(1) if c.once else smooth(c.r) for c in system.changes]
        rates = [f.diff(t) + _along([f.diff(x) for x in q], v) for f in r]
        self._changes = Bundle([t, *q, *v, *rho], [*r, *rates]) if r else None

    def holding(self, rho: Reals, x: np.ndarray) -> np.ndarray:
        """Return which constraints hold at the start (m,) bool, by the signs at a guess (2 n,)."""
        held = np.ones(self.m, bool)
        if self._changes is not None:
            out = np.asarray(self._changes(np.array([0.0, *x, *rho], float))).reshape(2, -1)
            for change, r, rate in zip(self.system.changes, *out, strict=True):
                side = r if abs(r) > _ON_ZERO else rate
                for c, sign in change.constraints:
                    held[c] = sign * side > 0
        return held

    def _at(
        self, rho: Reals, t: float, q: np.ndarray, held: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return phi, phi_t and phi_q of the constraints that hold."""
        out, m = np.asarray(self._values(np.array([t, *q, *rho], float))), self.m
        return out[:m][held], out[m : 2 * m][held], out[2 * m :].reshape(m, self.n)[held]

    def _derivatives(
        self, rho: Reals, x: np.ndarray, held: np.ndarray, some: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return phi_rho, (phi')_q, (phi')_rho, (phi_q' w)_q and (phi_q' w)_rho at (q, v)."""
        m, n, nr, w = self.m, self.n, self.nr, np.zeros(self.m)
        w[held] = some
        if self._slopes is None:
            t, q, v, params, phi, G, by_t = self._formulas
            weights = [se.Symbol(f"_w_{k}") for k in range(m)]
            rate = [_along(row, v) + f for row, f in zip(G, by_t, strict=True)]
            pull = [_along(column, weights) for column in zip(*G, strict=True)]
            functions = (phi, params), (rate, q), (rate, params), (pull, q), (pull, params)
            outputs = [f for one, by in functions for f in gradient(one, by)]
            self._slopes = Bundle([t, *q, *v, *params, *weights], outputs)
        out = np.asarray(self._slopes(np.array([0.0, *x, *rho, *w], float)))
        shapes = (m, nr), (m, n), (m, nr), (n, n), (n, nr)
        cuts = np.cumsum([a * b for a, b in shapes])[:-1]
        a, b, c, d, e = (p.reshape(s) for p, s in zip(np.split(out, cuts), shapes, strict=True))
        return a[held], b[held], c[held], d, e

    def dependent(self, G: np.ndarray) -> np.ndarray:
        """Return which coordinates follow from the others, (n,) bool."""
        free = np.zeros(self.n, bool)
        if self.system.assembles:
            free[list(self.system.assembles)] = True
        else:
            _, R, order = scipy.linalg.qr(G, mode="economic", pivoting=True)
            pivots = np.abs(R.diagonal())
            free[order[: int((pivots > _RANK * pivots.max(initial=0.0)).sum())]] = True
        return free

    def __call__(self, rho: Reals, x: np.ndarray) -> np.ndarray:
        """Return (q, v) on the constraints, from a guess (2 n,).

        Raises
        ------
        BadModel
            If there is no such place or velocity near the guess; see
            `explorer.systems.assembly.Assembler`.
        """
        return self._found(rho, x)[0]

    def _found(self, rho: Reals, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (q, v), and which places and which velocities have changed freely."""
        guess_q, guess_v = np.split(np.array(x, float), 2)
        held = self.holding(rho, x)
        constraints = [c for c, on in zip(self.system.constraints, held, strict=True) if on]

        def values(t: float, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            return self._at(rho, t, q, held)

        units = [u for (u, _), on in zip(constraint_units(self.system), held, strict=True) if on]
        system = self.system
        assembler = Assembler(system.name, constraints, values, system.coordinates, units)
        phi, _, G = values(0.0, guess_q)
        lost = ~(np.isfinite(phi) & np.isfinite(G).all(axis=1))
        if lost.any():
            raise BadModel(
                f"'{self.system.name}' cannot be assembled: "
                f"{constraints[int(lost.argmax())].name!r} or its gradient is not "
                "finite at the start. Begin with a guess at which it can be evaluated."
            )
        free = self.dependent(G)
        q = assembler.place(0.0, guess_q, free)
        v, free_v = assembler.speeds(0.0, q, guess_v, free)
        return np.concatenate([q, v]), free, free_v

    def start(
        self, rho: Reals, x: np.ndarray, seeds: np.ndarray, along: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return a start on the constraints, and its columns, from a guess and its `seeds`.

        Parameters
        ----------
        rho : (n_rho,)
        x : (2 n,)
            The guess.
        seeds : (2 n, p)
            Its derivatives.
        along : (n_rho, p)
            How the parameters move with each.

        Raises
        ------
        BadModel
            If the dependent coordinates cannot follow.
        """
        n, guess = self.n, np.array(x, float)
        held = self.holding(rho, guess)
        x, free, free_v = self._found(rho, guess)
        G = self._at(rho, 0.0, x[:n], held)[2]
        if free.sum() == len(G) and (free == free_v).all():
            by_rho, rate_q, rate_rho = self._derivatives(rho, x, held, np.zeros(len(G)))[:3]
            Q = self._followed(G, free, seeds[:n], -by_rho @ along)
            V = self._followed(G, free, seeds[n:], -rate_q @ Q - rate_rho @ along)
            if np.isfinite(V).all():
                return x, np.vstack([Q, V])
        moved = x - guess

        def weights(change: np.ndarray, some: np.ndarray) -> np.ndarray:
            found: np.ndarray = np.linalg.lstsq(G[:, some].T, change[some], rcond=_RANK)[0]
            return found

        mu, nu = weights(moved[:n], free), weights(moved[n:], free_v)
        by_rho, rate_q, rate_rho, W, W_rho = self._derivatives(rho, x, held, mu)
        Q = self._solved(G, free, W, seeds[:n] + W_rho @ along * free[:, None], -by_rho @ along)
        W, W_rho = self._derivatives(rho, x, held, nu)[3:]
        given = seeds[n:] + (W @ Q + W_rho @ along) * free_v[:, None]
        V = self._solved(G, free_v, 0 * W, given, -rate_q @ Q - rate_rho @ along)
        return x, np.vstack([Q, V])

    def _followed(
        self, G: np.ndarray, free: np.ndarray, given: np.ndarray, held: np.ndarray
    ) -> np.ndarray:
        """Solve G Q = held for the free rows, as many as equations; NaN: they are dependent."""
        Q: np.ndarray = given.copy()
        try:
            Q[free] = np.linalg.solve(G[:, free], held - G[:, ~free] @ given[~free])
        except np.linalg.LinAlgError:
            Q[free] = np.nan
        size = np.abs(held).max(initial=0.0) + np.abs(given).max(initial=0.0)
        if not np.abs(Q).max(initial=0.0) < size / _RANK + 1:
            Q[free] = np.nan
        return Q

    def _solved(
        self, G: np.ndarray, free: np.ndarray, W: np.ndarray, given: np.ndarray, held: np.ndarray
    ) -> np.ndarray:
        """Solve (I - W) Q - G' . = given in the free rows, Q = given in the others, G Q = held."""
        n = self.n
        A = np.eye(n) - W * free[:, None]
        saddle = np.block([[A, -(G * free).T], [G, np.zeros((len(G), len(G)))]])
        found = np.linalg.lstsq(saddle, np.vstack([given, held]), rcond=_RANK)[0]
        solved: np.ndarray = found[:n]
        left = np.abs(G @ solved - held).max(initial=0.0)
        size = 1 + np.abs(held).max(initial=0.0) + np.abs(solved).max(initial=0.0)
        if left > _LEFT * size:
            some = ", ".join(
                repr(x) for x, f in zip(self.system.coordinates, free, strict=True) if f
            )
            raise BadModel(
                f"The start of '{self.system.name}' has no derivative: {some} cannot follow the "
                "constraints where a parameter or another coordinate moves. Name other dependent "
                "coordinates, assemble=..., or let True choose them."
            )
        return solved


def _along(row: tuple[Expr, ...] | list[Expr], weights: list[Expr]) -> Expr:
    return sum((g * w for g, w in zip(row, weights, strict=True)), se.Integer(0))


def assembly(system: System) -> Assembly:
    """Return the assembly of a system, made once for each change of its equations."""
    if "assembly" not in system.made:
        assert isinstance(system, LagrangianSystem)
        system.made["assembly"] = Assembly(system)
    made: Assembly = system.made["assembly"]
    return made
