"""Newton's method for starts: phi(t, q) = 0 and phi_q v + phi_t = 0, next to a guess.

Newton's method with steps of least norm, dq = -phi_q^+ phi, finds a place on the constraints. Then
q = q0 + phi_q^+ (phi_q (q - q0) - phi) is iterated: at its fixed point q - q0 lies in the range of
phi_q', so no other place near it is closer to the guess q0. Velocities change by phi_q^+ times the
residual. (Garcia de Jalon, Bayo 1994, sections 3.1 and 3.2.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import scipy

from explorer.errors import BadModel
from explorer.quantities import quantity
from explorer.systems.constraints import Constraint
from explorer.systems.units import product

__all__ = ["Assembler", "dependence"]

_EXACT = 1e-13  # m beside 1 m: a guess so close to the constraints stays as it is
_CLOSED = 1e-10  # m beside 1 m: a residual that counts as zero
_SMALL = 1e-9  # of the largest: a singular value, a weight that counts as zero

Values = Callable[[float, np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]


class Assembler:
    """Finds starts on constraints.

    Parameters
    ----------
    name : str
        Of the system.
    constraints : sequence of Constraint
        (m,), those that hold.
    values : callable
        Returns phi (m,), phi_t (m,) and phi_q (m, n) at t and q (n,).
    coordinates : sequence of str
        (n,) their names, for messages.
    units : sequence of str or None
        (m,) units of the constraints, for messages, None for one that is not known; () for none.
    """

    def __init__(
        self,
        name: str,
        constraints: Sequence[Constraint],
        values: Values,
        coordinates: Sequence[str] = (),
        units: Sequence[str | None] = (),
    ) -> None:
        self.name, self.constraints, self._values = name, constraints, values
        self.units = tuple(units) or (None,) * len(constraints)
        self.coordinates = tuple(coordinates)

    def __call__(self, t: float, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return phi (m,), phi_t (m,) and phi_q (m, n)."""
        return self._values(t, q)

    def place(self, t: float, guess: np.ndarray, free: np.ndarray) -> np.ndarray:
        """Return the place on the constraints next to a guess (n,); only `free` entries change.

        Raises
        ------
        BadModel
            If there is none near the guess: the residual, and the constraints that it is left in.
        """
        scale = max(1.0, float(np.abs(guess).max(initial=0.0)))
        if self._size(t, guess) <= _EXACT * scale:
            return guess.copy()
        q = self._newton(t, guess, free)
        if not self._size(t, q) <= _CLOSED * scale:
            q = self._searched(t, guess, free)
        if not self._size(t, q) <= _CLOSED * scale:
            raise BadModel(self._open(t, q, free))
        closest = q
        for _ in range(30):
            phi, _, G = self(t, closest)
            full = np.zeros_like(guess)
            away = (closest - guess)[free]
            full[free] = np.linalg.lstsq(G[:, free], G[:, free] @ away - phi, _SMALL)[0]
            change = np.abs(guess + full - closest).max()
            closest = guess + full
            if not change > 1e-13 * scale:
                break
        closest = self._newton(t, closest, free)
        near = np.linalg.norm(closest - guess) <= np.linalg.norm(q - guess)
        return closest if near and self._size(t, closest) <= _CLOSED * scale else q

    def speeds(
        self, t: float, q: np.ndarray, guess: np.ndarray, free: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return velocities with phi_q v + phi_t = 0 next to a guess (n,), and which may change.

        These are the `free` entries, or all if that is not enough.

        Raises
        ------
        BadModel
        """
        _, phi_t, G = self(t, q)
        fast = max(1.0, float(np.abs(guess).max(initial=0.0)))
        if np.abs(G @ guess + phi_t).max(initial=0.0) <= _EXACT * fast:
            return guess.copy(), free
        for some in (free, np.ones_like(free)):
            v = guess.copy()
            v[some] -= np.linalg.lstsq(G[:, some], G @ v + phi_t, _SMALL)[0]
            left = np.abs(G @ v + phi_t)
            wrong = left.max(initial=0.0) > 1e-9 * max(1.0, float(np.abs(v).max()))
            if not wrong:
                break
        if wrong:
            worst = int(left.argmax())
            raise BadModel(
                f"No velocity of '{self.name}' satisfies its constraints at the start: "
                f"{self.constraints[worst].name!r} still changes at "
                f"{quantity(left[worst], self._unit(worst, rate=True))}. Start at another place, "
                "or drive fewer coordinates."
            )
        return v, some

    def _unit(self, k: int, *, rate: bool = False) -> str:
        unit = self.units[k]
        return "" if unit is None else product(unit, "1/s") if rate else unit

    def _size(self, t: float, q: np.ndarray) -> float:
        size = np.abs(self(t, q)[0]).max(initial=0.0)
        return float(size) if np.isfinite(size) else np.inf

    def _newton(self, t: float, q: np.ndarray, free: np.ndarray) -> np.ndarray:
        """Return where Newton's method with halved steps comes to rest."""
        size = self._size(t, q)
        for _ in range(60):
            phi, _, G = self(t, q)
            if not (np.isfinite(phi).all() and np.isfinite(G).all()):
                return q
            step = np.zeros_like(q)
            step[free] = np.linalg.lstsq(G[:, free], -phi, _SMALL)[0]
            share = 1.0
            while share > 1e-4 and not self._size(t, q + share * step) < size:
                share /= 2
            if share <= 1e-4:
                return q
            q = q + share * step
            size = self._size(t, q)
        return q

    def _searched(self, t: float, guess: np.ndarray, free: np.ndarray) -> np.ndarray:
        """Return the place of the least sum of squares, where Newton's method does not arrive."""

        def at(x: np.ndarray) -> np.ndarray:
            q = guess.copy()
            q[free] = x
            return q

        if not free.any() or not np.isfinite(self(t, guess)[0]).all():
            return guess
        found = scipy.optimize.least_squares(
            lambda x: self(t, at(x))[0],
            guess[free],
            lambda x: self(t, at(x))[2][:, free],
            xtol=1e-15,
            ftol=1e-15,
            gtol=1e-15,
        )
        return self._newton(t, at(found.x), free)

    def _open(self, t: float, q: np.ndarray, free: np.ndarray) -> str:
        """Return why the constraints cannot be satisfied: at a least residual G' phi = 0."""
        phi, _, G = self(t, q)
        worst = int(np.abs(phi).argmax())
        names = [
            repr(c.name)
            for c, x in zip(self.constraints, phi, strict=True)
            if abs(x) > 1e-3 * abs(phi[worst])
        ]
        text = (
            f"'{self.name}' cannot be assembled near its start: "
            f"{self.constraints[worst].name!r} is left with phi = "
            f"{quantity(phi[worst], self._unit(worst))}."
        )
        if not free.any():
            return text + " No coordinate changes it there: begin with another guess."
        size = 1e-5 * np.linalg.norm(phi)
        rest = np.linalg.norm(G[:, free].T @ phi) <= size
        if rest and self.coordinates and not free.all():
            beside = q + 0.1 * (1 + np.abs(q)) * np.cos(np.arange(len(q)))  # no zero by chance
            G = self(t, beside)[2]
            if np.isfinite(G).all() and (why := self._stuck(G, free)):
                return text + why
        if rest and len(names) > 1:
            text += f" {_listed(names)} contradict each other there."
        return text + " Change the lengths or the start of the points, or hold fewer of them."

    def _stuck(self, G: np.ndarray, free: np.ndarray) -> str:
        """Return which of the coordinates that may change are no help; "" if none is in the way."""
        columns, names = G[:, free].T, np.array(self.coordinates)[free].tolist()
        size = np.linalg.norm(columns, axis=1)
        most = size.max(initial=0.0)
        idle = [repr(x) for x, s in zip(names, size, strict=True) if not s > _SMALL * most]
        others = " Name other dependent coordinates, assemble=..., or let True choose them."
        if idle:
            return f" No constraint depends on {_listed(idle)}." + others
        for k in range(1, len(columns)):
            weights = np.linalg.lstsq(columns[:k].T, columns[k], _SMALL)[0]
            if np.linalg.norm(columns[:k].T @ weights - columns[k]) <= _SMALL * size[k]:
                on = [repr(x) for x, w in zip(names, weights, strict=False) if abs(w) > _SMALL]
                return (
                    f" {names[k]!r} changes the constraints only as {_listed(on)} "
                    f"{'does' if len(on) == 1 else 'do'}." + others
                )
        few = np.linalg.matrix_rank(G, _SMALL * np.abs(G).max()) > len(names)
        return (
            f" {_listed([repr(x) for x in names])} alone cannot satisfy so many constraints."
            + others
            if few
            else ""
        )


def _listed(names: Sequence[str]) -> str:
    most = [*names[:5], *(["..."] if len(names) > 5 else [])]
    return f"{', '.join(most[:-1])} and {most[-1]}" if len(most) > 1 else most[0]


def dependence(constraints: Sequence[Constraint], G: np.ndarray, small: float = _SMALL) -> str:
    """Return which constraint depends on which others, by phi_q (m, n); "" if none does.

    What is left of a row beside the others counts as none if it is `small` beside the row.
    """
    names = [c.name for c in constraints]
    size = np.linalg.norm(G, axis=1)
    for k in range(len(G)):
        if not size[k] > 0:
            return f"the gradient of {names[k]!r} is zero"
        rows = (G[:k] / size[:k, None]).T
        weights = np.linalg.lstsq(rows, G[k] / size[k], _SMALL)[0]
        if np.linalg.norm(rows @ weights - G[k] / size[k]) <= small:
            on = [repr(n) for n, w in zip(names, weights, strict=False) if abs(w) > small]
            return f"{names[k]!r} depends on {_listed(on)}"
    return ""
