"""A slow, obvious twin for systems of four regions on two surfaces: scipy's DOP853, mode by mode.

It shares nothing with the package: formulas are evaluated by Python, a slide is the vector field
with dc/dt = 0 whose multipliers come from the companion matrix of their resultant, events are
located by bisection, and the mode that follows is the only one whose conditions hold a moment
later. Where none or several hold the twin stops and says so: what comes then is not unique.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import numpy as np
from scipy.integrate import DOP853
from scipy.optimize import brentq

SIDES = [(-1, -1), (-1, 1), (1, -1), (1, 1)]  # regions a, b, c, d
_AHEAD = (1e-6, 1e-5)  # s: how far ahead a mode has to hold
_NEAR = 1e-8  # a switching function that is smaller is zero
_SAMPLES = 8  # of an integration step, between which signs are compared


@dataclass
class Verdict:
    """What the twin has found.

    Attributes
    ----------
    t, x : list
        Ends of its steps, and the states there.
    modes, times : list
        Signs of both surfaces in each mode, and when each begins.
    unique : float
        Up to when the solution is unique, in s.
    """

    t: list = field(default_factory=list)
    x: list = field(default_factory=list)
    pieces: list = field(default_factory=list)
    modes: list = field(default_factory=list)
    times: list = field(default_factory=list)
    unique: float = np.inf

    def at(self, t: float) -> np.ndarray:
        """Return the state at a time."""
        k = min(int(np.searchsorted(self.t, t)), len(self.pieces) - 1)
        return self.pieces[k](t)


class Judge:
    """x' = sum of the four fields, weighted by alpha_1 and alpha_2.

    Parameters
    ----------
    names : str
        Of the states, with blanks between.
    c : two formulas
    fields : four lists of formulas, in the order of `SIDES`
    """

    def __init__(self, names, c, fields):
        arguments = ", ".join(names.split())

        def compiled(formulas):
            code = f"lambda {arguments}: ({', '.join(formulas)},)"
            scope = {k: getattr(np, k) for k in ("sin", "cos", "exp", "tanh", "sqrt")}
            function = eval(code, scope)
            return lambda x: np.array(function(*x), float)

        self.c, self.fields = compiled(c), [compiled(f) for f in fields]

    def slope(self, x):
        """Return the gradients of both functions (2, n), by central differences of order 4."""
        x, n = np.asarray(x, float), len(x)
        G = np.empty((2, n))
        for k in range(n):
            d = 1e-3 * np.eye(n)[k]
            near, far = self.c(x + d) - self.c(x - d), self.c(x + 2 * d) - self.c(x - 2 * d)
            G[:, k] = (8 * near - far) / 12e-3
        return G

    def multipliers(self, signs, x, root):
        """Return alpha of a mode, or None where dc/dt = 0 has no solution for it."""
        F = np.array([f(x) for f in self.fields])
        alpha = np.array([(1 + s) / 2 for s in signs], float)
        if signs == (0, 0):
            rates = F @ self.slope(x).T  # (4, 2): of each region the rate of each function
            found = _pencil(rates.T)
            if len(found) <= root:
                return None
            return found[root]
        for j in (0, 1):
            if signs[j] == 0:
                ends = [self._mix(F, _with(alpha, j, v)) @ self.slope(x)[j] for v in (0.0, 1.0)]
                if ends[0] == ends[1]:
                    return None
                alpha[j] = ends[0] / (ends[0] - ends[1])
        return alpha

    @staticmethod
    def _mix(F, alpha):
        a, b = alpha
        return np.array([(1 - a) * (1 - b), (1 - a) * b, a * (1 - b), a * b]) @ F

    def rate(self, mode, x):
        """Return x' in a mode; NaN where it has no multipliers."""
        alpha = self.multipliers(*mode[:1], x, mode[1])
        if alpha is None:
            return np.full(len(x), np.nan)
        return self._mix(np.array([f(x) for f in self.fields]), alpha)

    def margins(self, mode, x):
        """Return what has to stay positive in a mode: sides, and multipliers from their bounds."""
        signs, root = mode
        alpha, c = self.multipliers(signs, x, root), self.c(x)
        if alpha is None:
            return np.full(2, -1.0)
        return np.array(
            [s * v if s else min(a, 1 - a) for s, v, a in zip(signs, c, alpha, strict=True)]
        )

    def follows(self, x, zero):
        """Return the modes that hold from a state on which `zero` functions vanish."""
        c, held = self.c(x), []
        choices = [(1, -1, 0) if z else (int(np.sign(v)),) for z, v in zip(zero, c, strict=True)]
        for signs in itertools.product(*choices):
            for root in (0, 1) if signs == (0, 0) else (0,):
                mode, good = (signs, root), True
                for ahead in _AHEAD:
                    rate = self.rate(mode, x)
                    if not np.isfinite(rate).all():
                        good = False
                        break
                    y = x + ahead * rate
                    curved = self.rate(mode, y)
                    y = x + ahead * (rate + curved) / 2
                    off = np.where(zero, c, 0.0)  # what the state is off its surfaces by
                    for j, s in enumerate(signs):
                        if zero[j] and s:
                            good = good and s * (self.c(y)[j] - off[j]) > 0
                        elif s == 0:
                            good = good and self.margins(mode, y)[j] > 0
                if good:
                    held.append(mode)
        return held

    def run(self, x0, t_end, tolerance=1e-12):
        """Integrate from x0; return a `Verdict`."""
        found, t, x = Verdict(), 0.0, np.array(x0, float)
        zero = np.abs(self.c(x)) < _NEAR
        while t < t_end:
            held = self.follows(x, zero)
            if len(held) != 1:
                found.unique = t
                return found
            mode = held[0]
            found.modes.append(mode[0])
            found.times.append(t)
            t, x, zero = self._march(found, mode, t, x, t_end, tolerance, zero)
        return found

    def _march(self, found, mode, t, x, t_end, tolerance, zero):
        """Integrate in a mode up to its end; return t, x and which functions are zero there."""
        begun, fresh = t, zero & (np.array(mode[0]) != 0)
        solver = DOP853(lambda _, y: self.rate(mode, y), t, x, t_end, rtol=tolerance,
                        atol=tolerance, first_step=1e-4, max_step=0.05)  # fmt: skip
        while solver.status == "running":
            solver.step()
            if solver.status == "failed" or not np.isfinite(solver.y).all():
                found.unique = solver.t
                return t_end, solver.y, zero
            dense = solver.dense_output()
            marks = np.linspace(solver.t_old, solver.t, _SAMPLES + 1)
            values = np.array([self.margins(mode, dense(s)) for s in marks])
            hits = []
            for j in (0, 1):
                for k in range(_SAMPLES):
                    if values[k + 1, j] >= 0:
                        continue
                    if values[k, j] > 0:
                        hits.append((self._zero(mode, dense, j, marks[k : k + 2]), j))
                        break
                    if not (fresh[j] and marks[k] - begun < 1e-5):
                        hits.append((marks[k], j))
                        break
            end = min(hits)[0] if hits else solver.t
            found.t.append(end)
            found.pieces.append(dense)
            found.x.append(dense(end))
            if hits:
                x = dense(end)
                zero = np.array([s == 0 for s in mode[0]])
                zero[[j for s, j in hits if s - end < 1e-9]] = True
                zero |= np.abs(self.c(x)) < 1e-9
                return end, x, zero
        return t_end, solver.y, zero

    def _zero(self, mode, dense, j, ends):
        return brentq(lambda s: self.margins(mode, dense(s))[j], *ends, xtol=1e-14)


def _with(alpha, j, value):
    changed = alpha.copy()
    changed[j] = value
    return changed


def _pencil(rates):
    """Return all alpha with sum of weights times rates (2, 4) = 0, by the first multiplier.

    In alpha_2 = y: (P + y Q)(1, alpha_1) = 0, so the determinant of P + y Q vanishes.
    """
    P = np.array([[r[0], r[2] - r[0]] for r in rates])
    Q = np.array([[r[1] - r[0], r[3] - r[2] - r[1] + r[0]] for r in rates])
    det = [np.linalg.det(Q), P[0, 0] * Q[1, 1] + Q[0, 0] * P[1, 1] - P[0, 1] * Q[1, 0]
           - Q[0, 1] * P[1, 0], np.linalg.det(P)]  # fmt: skip
    found: list = []
    if not np.isfinite(det).all():
        return found
    for y in np.roots(det):
        if abs(np.imag(y)) > 1e-9:
            continue
        A = P + np.real(y) * Q
        k = int(np.abs(A[:, 1]).argmax())
        if A[k, 1] != 0:
            found.append(np.array([-A[k, 0] / A[k, 1], np.real(y)]))
    return sorted(found, key=lambda r: _branch(rates, r))


def _branch(rates, alpha):
    """Return the sign of the Jacobian: it tells the two roots apart as the state moves."""
    a, b = alpha
    by_a = rates @ [-(1 - b), -b, 1 - b, b]
    by_b = rates @ [-(1 - a), 1 - a, -a, a]
    return np.sign(by_a[0] * by_b[1] - by_a[1] * by_b[0])


def random_regions(seed):
    """Return names, switching functions, fields and start of four regions as formulas.

    Two or three states, surfaces straight or bent, fields linear or not; most of them push to where
    the regions meet.
    """
    rng = np.random.default_rng([seed, 991])
    n = int(rng.integers(2, 4))
    names = ["x", "y", "z"][:n]
    nonlinear = rng.random() < 0.5

    def linear():
        return " + ".join(
            f"({v:.3f})*{k}" for v, k in zip(0.6 * rng.normal(size=n), names, strict=True)
        )

    def bent():
        a, b, _ = 0.5 * rng.normal(size=3)
        k, m = rng.choice(names, 2)
        return rng.choice([
            f"({a:.3f})*sin({k})*cos({m})", f"({a:.3f})*tanh({k}*{m})",
            f"({a:.3f})*sin({k} + ({b:.3f})*{m})",
        ])  # fmt: skip

    a, b, d = 0.4 * rng.normal(size=3)
    c = ["x", "y"]
    if rng.random() < 0.5:
        c = [f"x + ({a:.3f})*y**2/(1 + y**2)", f"y + ({b:.3f})*sin(x) + ({d:.3f})*x"]
    fields, push = [], rng.choice([0.5, 0.75, 0.95])
    for side in SIDES:
        f = []
        for i in range(n):
            k = 1.5 * rng.normal()
            if i < 2 and rng.random() < push:
                k = -side[i] * abs(k)
            formula = f"{k:.3f} + {linear()}"
            formula += f" + {bent()}" if nonlinear else ""
            f.append(formula + (" - z" if i == 2 else ""))
        fields.append(f)
    return " ".join(names), c, fields, rng.normal(size=n).round(3).tolist()
