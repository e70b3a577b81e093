"""What a hand on the picture means: the start, or the parameters, for which a point is elsewhere.

A point of a sketch is a formula of coordinates and parameters. The start of least change that
brings it to the pointer is found by Newton's method; constraints hold on the way (null space of
phi_q), and contacts that would be entered stay closed, so it stops at the nearest possible place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import sympy as sp

from explorer.compiled import compile_sketch, compile_system
from explorer.errors import BadValue
from explorer.panels.messages import Values
from explorer.panels.session import Session
from explorer.quantities import quantity
from explorer.systems import LagrangianSystem, StateSpaceSystem, System
from explorer.systems.sketch import Shape
from explorer.types import Plain
from explorer.views.drawing.pictured import shapes_of

__all__ = ["Grip", "grabbed", "movers"]

_STEPS = 100  # towards a place that cannot be reached, the method is slow
_TURN = 0.5  # largest step of a coordinate, of its usual size
_BENT = 0.2  # how far a step may lead from its straight line, of its length
_STRAIGHT = 1e-6  # of the usual size: a step this short is straight
_SMALL = 1e-9  # relative: a step after which it has arrived
_EXACT = 1e-12  # of constraints, and in m of closed contacts
_RANK = 1e-9  # relative: below it rows depend on each other
_FASTEST = 2  # sizes of a start velocity, for a throw
_QUOTIENT = 1e-6  # relative step of difference quotients of points


@dataclass(frozen=True)
class Grip:
    """A point of a shape, and where the pointer has it.

    Attributes
    ----------
    item : int
        Number of the shape.
    weights : (n,) float
        The point as a mean of those of the shape.
    to : (2,) float, in m
    t : float, in s
        Time of the picture that was grabbed.
    fling : (2,) float or None
        Velocity of the pointer in m/s when it let go.
    """

    item: int
    weights: np.ndarray
    to: np.ndarray
    t: float
    fling: np.ndarray | None = None

    @classmethod
    def read(cls, value: object, shapes: tuple[Shape, ...]) -> Grip:
        """Return the grip that the browser sent.

        Raises
        ------
        BadValue
            If it is none.
        """
        try:
            given: Plain = dict(value)  # type: ignore[call-overload]
            item = int(given["item"])
            weights = np.asarray(given["weights"], float)
            to, t = np.asarray(given["to"], float), float(given["t"])
            fling = None if given.get("fling") is None else np.asarray(given["fling"], float)
            fits = weights.shape == (len(shapes[item].points),) and to.shape == (2,)
            fits = fits and (fling is None or fling.shape == (2,))
        except (TypeError, ValueError, KeyError, IndexError):
            fits = False
        if not fits or item < 0 or not all(np.isfinite(x).all() for x in (weights, to, t)):
            raise BadValue("This handle does not exist in the picture.")
        return cls(item, weights, to, t, fling)


def movers(system: System) -> list[str]:
    """Return what moves each shape of the picture: "start", "parameters" or "" for nothing."""
    made = system.lasting
    if "movers" not in made:
        states = {sp.Symbol(k) for k in system.coordinates}
        free = {sp.Symbol(k) for k in system.parameters}
        found = []
        for shape in system.pictured:
            symbols = set().union(*(sp.sympify(c).free_symbols for p in shape.points for c in p))
            found.append("start" if symbols & states else "parameters" if symbols & free else "")
        made["movers"] = found
    kinds: list[str] = made["movers"]
    return kinds


def grabbed(session: Session, value: object) -> tuple[Values, str]:
    """Return the entries by full key that a grip asks for, and what kept it from the pointer.

    Raises
    ------
    BadValue
        A grip of a shape that nothing moves.
    """
    system = session.system
    grip = Grip.read(value, shapes_of(session.solution))
    kind = movers(system)[grip.item]
    if not kind:
        raise BadValue("Nothing moves this shape: no start value and no parameter.")
    hand = _Hand(session, grip)
    return hand.start() if kind == "start" else hand.parameters()


class _Hand:
    """Newton's method for one grip."""

    def __init__(self, session: Session, grip: Grip) -> None:
        self.session, self.grip, self.system = session, grip, session.system
        self.n, self.rho = self.system.n, np.array([*session.solution.rho.values()], float)
        shapes = self.system.pictured
        self.first = 2 * sum(len(s.points) for s in shapes[: grip.item])
        mechanical = isinstance(self.system, LagrangianSystem)
        self.compiled = compile_system(self.system) if mechanical else None  # type: ignore[arg-type]
        assert isinstance(self.system, (LagrangianSystem, StateSpaceSystem))
        own = self.compiled is not None and self.system.shapes
        self.native = self.compiled.bundles["sketch"] if own else compile_sketch(self.system)  # type: ignore[union-attr]

    def point(self, q: np.ndarray, rho: np.ndarray) -> np.ndarray:
        """Return where the grabbed point is at the start, (2,) in m."""
        inp = np.concatenate([[0.0], q, np.zeros(self.n), rho, np.zeros(self._more)])
        values = self.native(inp)[self.first : self.first + 2 * len(self.grip.weights)]
        return np.asarray(self.grip.weights @ values.reshape(-1, 2))

    @property
    def _more(self) -> int:
        """How many numbers stand behind the parameters in the input vector."""
        if self.compiled is None:
            return 0
        return len(self.compiled.input(self.rho)) - 1 - 2 * self.n - len(self.rho)

    def slopes(self, x: np.ndarray, sizes: np.ndarray, of_rho: bool) -> np.ndarray:
        """Return the derivatives of the point by coordinates or parameters, (2, n)."""
        J = np.zeros((2, len(x)))
        q = self.q
        for j, size in enumerate(sizes):
            moved = [x.copy(), x.copy()]
            moved[0][j] += _QUOTIENT * size
            moved[1][j] -= _QUOTIENT * size
            ends = [self.point(q, m) if of_rho else self.point(m, self.rho) for m in moved]
            J[:, j] = (ends[0] - ends[1]) / (2 * _QUOTIENT * size)
        return J

    # -- start values -------------------------------------------------------------------------

    def start(self) -> tuple[Values, str]:
        """Return the start values for which the point is at the pointer."""
        session, grip = self.session, self.grip
        run, now = session.solution, session.start()
        group = "q0" if "q0" in now else "x0"
        row = int(np.clip(np.searchsorted(run.t, grip.t, side="right") - 1, 0, len(run.t) - 1))
        begun = np.array(now[group])
        self.q = run.q[row].astype(float) if grip.t > 0 else begun.copy()
        self.sizes = self._sizes(session, group)
        closed = self.drawn()
        short = np.array([*map(_short, self.q, self.sizes)])
        exact = bool(self.system.constraints or closed or self._entered(short))
        values = self._entries(group, begun, self.q, self.sizes * (not exact))
        slowed = ""
        if group == "q0":
            moved, slowed = self.velocities(np.array(now["v0"]))
            values |= moved
        return values, " ".join(filter(None, [self._said(closed), slowed]))

    def drawn(self) -> set[int]:
        """Move to where the point is nearest to the pointer; return the contacts that stop it.

        By the method of Levenberg and Marquardt along the constraints: each place on the way is one
        where a run can start. Its steps are so short that the point goes nearly straight, as the
        hand does: a long one could pass a pivot, to a spring of negative length.
        """
        closed: set[int] = set()
        damping, reach, away = 0.0, _TURN, self.grip.to - self.point(self.q, self.rho)
        for _ in range(_STEPS):
            J = self.slopes(self.q, self.sizes, of_rho=False) * self.sizes
            closed -= self._opening(closed, J, away)
            rows = self.hard(self.q, closed)[1] * self.sizes
            along = J - J @ np.linalg.pinv(rows, rcond=_RANK) @ rows if len(rows) else J
            least = (damping + _RANK) * float(np.trace(along @ along.T))
            if not least > _EXACT * float(np.trace(J @ J.T)):
                break  # what is closed holds it
            step = along.T @ np.linalg.solve(along @ along.T + least * np.eye(2), away)
            step = step * min(1.0, reach / max(float(np.abs(step).max(initial=0.0)), 1e-300))
            aim, moved = self.q + self.sizes * step, J @ step
            off = self.point(aim, self.rho) - self.point(self.q, self.rho) - moved
            length, bend = np.abs(step).max(), np.hypot(*off) / max(np.hypot(*moved), 1e-300)
            if length > _STRAIGHT:
                reach = min(_TURN, length * min(4.0, 0.7 * _BENT / max(bend, 1e-300)))
                if bend > _BENT:
                    continue
            q, stopped = self._restored(aim, closed)
            left = None if q is None else self.grip.to - self.point(q, self.rho)
            if q is None or left is None or not np.hypot(*left) < np.hypot(*away):
                damping = max(8 * damping, 1e-3)
                if damping > 1e3:
                    closed = stopped
                    break
                continue
            done = np.hypot(*left) > (1 - _SMALL) * np.hypot(*away) or length < _SMALL
            self.q, away, closed, damping = q, left, stopped, damping / 8
            if done:
                break
        return closed

    def _restored(self, q: np.ndarray, closed: set[int]) -> tuple[np.ndarray | None, set[int]]:
        """Return the place nearby at which constraints hold and no contact is entered, if any."""
        closed = set(closed)
        for _ in range(_STEPS):
            values, rows = self.hard(q, closed)
            if len(values) and np.abs(values).max() > _EXACT:
                q = q - self.sizes * (np.linalg.pinv(rows * self.sizes, rcond=_RANK) @ values)
                if not np.isfinite(q).all():
                    return None, closed
                continue
            entered = self._entered(q) - closed
            if not entered:
                return q, closed
            closed |= entered
        return None, closed

    def _sizes(self, session: Session, group: str) -> np.ndarray:
        ranges = session.states.start_ranges(session.state)[group]
        return np.array([max(high - low, 1e-6) for low, high in ranges])

    def gaps(self, q: np.ndarray) -> np.ndarray:
        """Return gaps, their rates at rest, entries of G and constraints, as they are compiled."""
        assert self.compiled is not None
        inp = self.compiled.input(self.rho)
        inp[1 : 1 + self.n] = q
        return np.asarray(self.compiled.begun(inp)._gap(inp))

    def hard(self, q: np.ndarray, closed: set[int]) -> tuple[np.ndarray, np.ndarray]:
        """Return constraints and closed gaps, which must be zero, and their gradients."""
        one = self.compiled
        if one is None or not one.by_formula or not one.nc + one.bound:
            return np.zeros(0), np.zeros((0, self.n))
        values = self.gaps(q)
        G = values[one._at_G :][: len(one.gap_col)]
        wanted = [*sorted(closed), *range(one.rows, one.rows + one.bound)]
        rows = np.zeros((len(wanted), self.n))
        for k, row in enumerate(wanted):
            here = slice(one.gap_ptr[row], one.gap_ptr[row + 1])
            rows[k, one.gap_col[here]] = G[here]
        phi = values[len(values) - one.bound :] if one.bound else np.zeros(0)
        return np.concatenate([values[sorted(closed)], phi]), rows

    def _entered(self, q: np.ndarray) -> set[int]:
        """Return the contacts whose gap is negative; compliant ones yield, so they may be."""
        one = self.compiled
        if one is None or not one.nc or not one.by_formula:
            return set()
        below = np.flatnonzero(self.gaps(q)[: one.nc] < -2 * _EXACT)
        return {int(k) for k in below if self.system.contacts[k].compliance == 0}

    def _opening(self, closed: set[int], J: np.ndarray, away: np.ndarray) -> set[int]:
        """Return the closed contacts that open where the pointer draws."""
        if not closed:
            return set()
        rows = self.hard(self.q, closed)[1] * self.sizes
        bound = rows[len(closed) :]
        free = J - J @ np.linalg.pinv(bound, rcond=_RANK) @ bound if len(bound) else J
        rates = rows[: len(closed)] @ (np.linalg.pinv(free, rcond=_RANK) @ away)
        return {k for k, rate in zip(sorted(closed), rates, strict=True) if rate > 0}

    def velocities(self, v: np.ndarray) -> tuple[Values, str]:
        """Return the start velocities: of a throw, or as they are, within the constraints.

        The picture grows with the height of a throw: without a limit, each next one of the same
        hand would be faster than all of those before.
        """
        fling, begun, said = self.grip.fling, v.copy(), ""
        sizes = self._sizes(self.session, "v0")
        _, rows = self.hard(self.q, set())
        back = np.linalg.pinv(rows, rcond=_RANK) if len(rows) else np.zeros((self.n, 0))
        if fling is not None:
            J = self.slopes(self.q, self.sizes, of_rho=False)
            v = np.where(np.abs(J).max(axis=0) > 1e-12, 0.0, v)
            along = J - J @ back @ rows
            more = along.T @ np.linalg.pinv(along @ along.T, rcond=_RANK) @ (fling - J @ v)
            share = 1 / max(1.0, float(np.abs(more / sizes).max()) / _FASTEST)
            v = v + share * more
            if share < 1:
                speed = quantity(float(f"{np.hypot(*(J @ v)):.3g}"), "m/s")
                said = f"The throw is slowed to {speed}: the model by itself is much slower."
        values = self._entries("v0", begun, v - back @ (rows @ v), sizes * (not len(rows)))
        return values, said

    def _entries(
        self, group: str, before: np.ndarray, after: np.ndarray, sizes: np.ndarray
    ) -> Values:
        """Return what differs, by full key, as numbers that are as short as the screen can tell.

        `sizes` are those of the coordinates; a size of 0 keeps all digits.
        """
        found: Values = {}
        for i, name in enumerate(self.system.coordinates):
            value = _short(after[i], sizes[i])
            if value != before[i] and not (sizes[i] and _short(before[i], sizes[i]) == value):
                bound = bool(self.system.constraints)
                found[f"{group}.{name}" if bound else self._key(group, i, name)] = value
        return found

    def _key(self, group: str, i: int, name: str) -> str:
        """Return the key of a start value: of the parameter that is nothing else than it."""
        starts = {"q0": "start_q", "v0": "start_v", "x0": "start_x"}
        formula = getattr(self.system, starts[group])[i]
        if self.session.state[group] is None and formula in _only_start(self.system):
            return f"rho.{formula}"
        return f"{group}.{name}"

    def _said(self, closed: set[int]) -> str:
        if not closed or np.hypot(*(self.grip.to - self.point(self.q, self.rho))) < 1e-6:
            return ""
        names = " and ".join(repr(self.system.contacts[k].name) for k in sorted(closed))
        said = "contacts" if len(closed) > 1 else "contact"
        verb = "are" if len(closed) > 1 else "is"
        return f"It stops at the nearest possible place: the {said} {names} {verb} closed."

    # -- parameters ---------------------------------------------------------------------------

    def parameters(self) -> tuple[Values, str]:
        """Return the parameters, within their ranges, for which the point is at the pointer."""
        params, grip = self.system.parameters, self.grip
        low, high = (np.array([getattr(p, k) for p in params.values()]) for k in ("low", "high"))
        sizes = np.maximum(high - low, 1e-9)
        self.q = np.array(next(iter(self.session.start().values())))
        x, held = self.rho.copy(), np.zeros(len(low), bool)
        low, high = np.minimum(low, x), np.maximum(high, x)
        for _ in range(_STEPS):
            J = self.slopes(x, sizes, of_rho=True) * sizes * ~held
            step = np.linalg.pinv(J, rcond=_RANK) @ (grip.to - self.point(self.q, x))
            aim = x + sizes * np.clip(step, -_TURN, _TURN)
            x = np.clip(aim, low, high)
            more = (x != aim) & ~held
            held |= more
            if not more.any() and np.abs(step).max(initial=0.0) < _SMALL:
                break
        entries: Values = {}
        for name, old, new, size in zip(params, self.rho, x, sizes, strict=True):
            if new != old and (value := _short(new, size)) != old:
                entries[f"rho.{name}"] = value
        names = ", ".join(k for k, one in zip(params, held, strict=True) if one)
        said = f"It stops where the range of {names} ends." if names else ""
        return entries, said


def _short(value: float, size: float) -> float:
    """Return a number on a grid of about a thousandth of a size; 0: the number itself."""
    if not size:
        return float(value)
    return round(float(value), int(np.clip(np.ceil(3 - np.log10(size)), 0, 15)))


def _only_start(system: System) -> Mapping[sp.Basic, str]:
    """Return the parameters that decide a start value and nothing else."""
    made = system.lasting
    if "only start" not in made:
        spec = system.to_spec()
        rest = repr({k: x for k, x in spec.items() if k not in ("start", "params", "name", "text")})
        used = {*re.findall(r"\w+", rest)}
        for shape in system.pictured:
            for x in (c for p in shape.points for c in p):
                used |= {s.name for s in sp.sympify(x).free_symbols}
        made["only start"] = {sp.Symbol(k): k for k in system.parameters if k not in used}
    found: Mapping[sp.Basic, str] = made["only start"]
    return found
