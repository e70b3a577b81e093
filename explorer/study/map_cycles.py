"""Fixed points and cycles of maps as a problem of continuation: all points are unknowns.

With x_0, ..., x_{m-1} and the branches i_k that they lie in::

    f_{i_k}(x_k, p) - x_{k+1} = 0,    x_m = x_0

A cycle is followed up to the place where one of its points meets the border of its branch: a border
collision. There the point goes on in the branch behind it, and the parameter onward (persistence)
or back (nonsmooth fold) (di Bernardo, Budd, Champneys, Kowalczyk, *Piecewise-smooth Dynamical
Systems*, 2008, ch. 3, doi:10.1007/978-1-84628-708-4).
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from explorer.compiled.maps import CompiledMap, compile_map
from explorer.errors import BadValue, suggest
from explorer.parameters import number, vector
from explorer.study.arclength import Evaluation, Node, correct
from explorer.study.cycle_tests import genuine, tests
from explorer.study.return_map import Guess
from explorer.study.trace import Options, Special
from explorer.systems import MapSystem

__all__ = ["MapCycles", "Orbit", "first_orbit"]

_BELOW = -1e-10  # a condition this far below zero, of its size, has been passed
_STEP = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)  # from a border into the branch behind it
_REPEATS = 1e-7  # of the largest states: how near a cycle comes back to its start before its period
_SETTLES, _LOOKED = 2000, 400  # iterates from the start of the model, and those that are looked at
_HUGE = 1e12


@dataclass(frozen=True)
class Orbit:
    """A cycle of a map: points (m, n), multipliers by falling modulus, how many iterates it is."""

    points: np.ndarray
    multipliers: np.ndarray
    T: float


class MapCycles:
    """Cycles of a map over one parameter.

    Parameters
    ----------
    system : MapSystem
    parameter : str
    rho : (n_rho,) values of all parameters
    points : (m, n) float
        Points near a cycle; the branches in which they lie are those of the cycle.
    span : float
        Range of the parameter, the unit of its steps.
    """

    kind = "cycles"

    def __init__(
        self, system: MapSystem, parameter: str, rho: np.ndarray, points: np.ndarray, span: float
    ) -> None:
        self.system, self.parameter, self.rho = system, parameter, rho.copy()
        self.place = list(system.parameters).index(parameter)
        self.compiled = compile_map(system)
        self.count, self.n = points.shape
        self.branches = [_branch_of(self.compiled, x, self.rho) for x in points]
        self.begun, self.begins_at = points.copy(), (self.branches.copy(), float(rho[self.place]))
        peak = np.abs(points).max(axis=0)
        size = np.where(peak > 1e-3 * peak.max(), peak, peak.max() or 1.0)
        self.unit = np.maximum(size, 1e-9)
        self.scale = np.array([*np.tile(self.unit, self.count), span])

    def first(self) -> np.ndarray:
        """Return the unknowns at the points that were given."""
        return np.array([*self.begun.ravel(), self.begins_at[1]])

    def restart(self) -> None:
        """Go back to where the first cycle began."""
        branches, self.rho[self.place] = self.begins_at
        self.branches = branches.copy()

    def evaluate(self, u: np.ndarray, full: bool = True) -> Evaluation:
        """Return the equations at u.

        Raises
        ------
        BadValue
            The next point is not finite; with `full`: a point lies behind the border of its branch.
        """
        n, m = self.n, self.count
        points = u[:-1].reshape(m, n)
        self.rho[self.place] = u[-1]
        J, G, product = np.zeros((m * n, m * n + 1)), np.empty((m, n)), np.eye(n)
        for k, (x, branch) in enumerate(zip(points, self.branches, strict=True)):
            f, by_x, by_p = self._piece(branch, x)
            after = (k + 1) % m
            G[k] = f - points[after]
            rows = slice(k * n, (k + 1) * n)
            J[rows, rows] += by_x
            J[rows, after * n : (after + 1) * n] -= np.eye(n)
            J[rows, -1] = by_p
            product = by_x @ product
        size = float((np.abs(G) / self.unit).max())
        names = self.system.branch_names
        sequence: tuple[object, ...] = tuple(("branch", names[k]) for k in self.branches)
        sequence += (("repeats", ""),) * self._repeats(points)
        values = np.linalg.eigvals(product).astype(complex)
        mu = values[np.argsort(-np.abs(values), kind="stable")]
        orbit = Orbit(points.copy(), mu, float(m))
        if not full:
            return Evaluation(G.ravel(), J, size, sequence, {}, {}, orbit)
        margins = {}
        for k, (x, branch) in enumerate(zip(points, self.branches, strict=True)):
            value = _margin(self.compiled, x, self.rho, branch)[0]
            if value < _BELOW * (1 + float(np.abs(self.unit).max())):
                raise BadValue(
                    f"A point of the cycle has left the branch {names[branch]!r} of "
                    f"'{self.system.name}'."
                )
            if np.isfinite(value):  # a cycle is smooth over the root: beside a square root in f too
                margins[f"border {k}"] = max(value, 0.0) ** 0.5
        return Evaluation(G.ravel(), J, size, sequence, tests(mu), margins, orbit)

    def _piece(self, branch: int, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return f, its derivative by the state and by the parameter, of one branch."""
        n, p = self.n, self.compiled.n_rho
        inp = self.compiled.input(self.rho.tolist())
        inp[1 : 1 + n] = x
        out = self.compiled.pieces[branch](inp)
        if not np.isfinite(out).all() or np.abs(out[:n]).max() > _HUGE:
            raise BadValue(
                f"'{self.system.name}' has no finite next state and slope at {self.parameter} = "
                f"{self.rho[self.place]:.6g}."
            )
        f, by_x, by_rho = out[:n], out[n : n + n * n], out[n + n * n :]
        return f.copy(), by_x.reshape(n, n).copy(), by_rho.reshape(n, p)[:, self.place].copy()

    def _repeats(self, points: np.ndarray) -> bool:
        """Whether the points repeat after fewer than all of them."""
        for k in range(1, self.count):
            if self.count % k == 0:
                off = np.abs(np.roll(points, -k, axis=0) - points) / self.unit
                if off.max() < _REPEATS:
                    return True
        return False

    def begin_as(self, node: Node) -> None:
        """Let cycles lie in the branches of another one."""
        names = self.system.branch_names
        told = [one for one in node.at.sequence if isinstance(one, tuple) and one[0] == "branch"]
        self.branches = [names.index(name) for _, name in told]

    def distance(self, k: int, u: np.ndarray) -> float:
        """Return how far point k lies from the border of its branch; below zero: behind it."""
        self.rho[self.place] = u[-1]
        points = u[:-1].reshape(self.count, self.n)
        return _margin(self.compiled, points[k], self.rho, self.branches[k])[0]

    # -- what happens on a branch of cycles -----------------------------------------------------

    def at_margin(self, key: str) -> tuple[str, str]:
        """Return the kind of a point at which a margin falls to zero, and the branch it leaves."""
        return "border collision", self.system.branch_names[self.branches[int(key.split()[1])]]

    def state(self, u: np.ndarray) -> np.ndarray:
        """Return the first point of the cycle."""
        return u[: self.n]

    def stable(self, node: Node) -> bool:
        """Whether every multiplier lies inside the unit circle."""
        return bool(np.abs(_orbit(node).multipliers).max(initial=0.0) < 1)

    def genuine(self, kind: str, node: Node) -> bool:
        """Whether the zero of a test function is a bifurcation."""
        return genuine(kind, _orbit(node).multipliers)

    def settled(self, node: Node) -> Node | None:
        """Return None: the unknowns are always the same."""
        return None

    def beyond(self, here: Node, ended: Special, options: Options) -> Node | None:
        """Return a cycle whose point at the border lies in the branch behind it, if there is one.

        How far it lies behind the border is given, and the parameter is sought: where a slope is
        infinite at the border, as that of a square root, that is the equation which is not.
        """
        margins, n = ended.node.at.margins, self.n
        k = int(min(margins, key=lambda name: margins[name]).split()[1])
        w, before = ended.w, self.branches.copy()
        inward = np.zeros(len(w))
        inward[k * n : (k + 1) * n], branches = self._behind(k, w)
        normal = -inward
        for size, branch in zip(_STEP, branches, strict=True):
            self.branches = before.copy()
            self.branches[k] = branch
            if branch == before[k]:
                continue
            done = correct(self, w + size * inward, normal, options.tol, like=inward)
            if done is not None and ("repeats", "") not in done[0].at.sequence:
                return done[0]
        self.branches = before
        return None

    def _behind(self, k: int, w: np.ndarray) -> tuple[np.ndarray, list[int]]:
        """Return the way of point k across its border (n,), scaled, and the branches found there.

        They are those at each of `_STEP`.
        """
        x = (w * self.scale)[k * self.n : (k + 1) * self.n]
        self.rho[self.place] = w[-1] * self.scale[-1]
        gradient = _margin(self.compiled, x, self.rho, self.branches[k])[1] * self.unit
        way = -gradient / np.linalg.norm(gradient)
        points = [x + size * way * self.unit for size in _STEP]
        return way, [_branch_of(self.compiled, there, self.rho) for there in points]

    def pass_border(self, k: int, w: np.ndarray) -> bool:
        """Let point k lie in the branch behind its border; return whether there is another one."""
        before = self.branches[k]
        self.branches = self.branches.copy()
        self.branches[k] = next((b for b in self._behind(k, w)[1] if b != before), before)
        return self.branches[k] != before

    def doubled(self, node: Node) -> tuple[MapCycles, np.ndarray, np.ndarray]:
        """Return the problem of cycles twice as long, w at a flip, and the way to them."""
        n, m, u = self.n, self.count, node.w * self.scale
        points = u[:-1].reshape(m, n)
        self.rho[self.place] = u[-1]
        slopes = [self._piece(b, x)[1] for b, x in zip(self.branches, points, strict=True)]
        product = np.eye(n)
        for slope in slopes:
            product = slope @ product
        values, vectors = np.linalg.eig(product)
        way = [vectors[:, np.argmin(np.abs(values + 1))].real]
        for slope in (slopes * 2)[:-1]:
            way.append(slope @ way[-1])
        other = copy.copy(self)
        other.rho, other.count, other.branches = self.rho.copy(), 2 * m, self.branches * 2
        other.begun = np.vstack([points, points])
        other.begins_at = other.branches.copy(), float(u[-1])
        other.scale = np.array([*np.tile(self.unit, 2 * m), self.scale[-1]])
        along = np.append(np.concatenate(way) / other.scale[:-1], 0.0)
        return other, other.first() / other.scale, along / np.linalg.norm(along)


def _orbit(node: Node) -> Orbit:
    assert isinstance(node.at.data, Orbit)
    return node.at.data


def _conditions(
    compiled: CompiledMap, x: np.ndarray, rho: np.ndarray
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return the conditions of every branch, and their derivatives by the state."""
    native, inp = compiled.borders, compiled.input(rho.tolist())
    inp[1 : 1 + compiled.n_x] = x
    found = native(inp) if native.size else np.zeros(0)
    ends = np.cumsum([len(b.when) for b in compiled.system.branches])
    slopes = found[ends[-1] :].reshape(-1, compiled.n_x)
    return np.split(found[: ends[-1]], ends[:-1]), np.split(slopes, ends[:-1])


def _branch_of(compiled: CompiledMap, x: np.ndarray, rho: np.ndarray) -> int:
    """Return the first branch whose conditions hold."""
    values, _ = _conditions(compiled, x, rho)
    return next(k for k, own in enumerate(values) if (own > 0).all())


def _margin(
    compiled: CompiledMap, x: np.ndarray, rho: np.ndarray, branch: int
) -> tuple[float, np.ndarray]:
    """Return how far a state is from the border of a branch, and the gradient of that.

    It is the least of the branch's own conditions, and of what each branch before it lacks.
    """
    values, slopes = _conditions(compiled, x, rho)
    best, gradient = np.inf, np.zeros(len(x))
    for value, slope in zip(values[branch], slopes[branch], strict=True):
        if value < best:
            best, gradient = float(value), slope
    for own, by_x in zip(values[:branch], slopes[:branch], strict=True):
        least = int(np.argmin(own))
        if -own[least] < best:
            best, gradient = -float(own[least]), -by_x[least]
    return best, gradient.copy()


def first_orbit(system: MapSystem, rho: np.ndarray, guess: Guess | None, count: int) -> np.ndarray:
    """Return `count` points near a cycle, (count, n).

    They follow the guess; without one, where the orbit from the start of the model comes nearest to
    its own beginning once it has settled.

    Raises
    ------
    BadValue
        The guess has a wrong length or an unknown state, or the orbit escapes.
    """
    compiled = compile_map(system)
    names, start = system.coordinates, compiled.start(rho.tolist())[0]
    if guess is None:
        orbit = _iterated(compiled, rho, start, _SETTLES + _LOOKED + 2 * count)
        late = orbit[_SETTLES:]
        off = np.abs(late[count : count + _LOOKED] - late[:_LOOKED]).max(axis=1)
        best = int(off.argmin())
        return late[best : best + count].copy()
    if isinstance(guess, Mapping):
        for name, value in guess.items():
            if name not in names:
                raise BadValue(
                    f"guess: '{system.name}' has no state {name!r}.{suggest(name, names)}"
                )
            start[names.index(name)] = number(value, f"guess of {name}")
        x = start
    else:
        x = np.array(vector(guess, "guess"))
    if len(x) != len(names):
        raise BadValue(
            f"The guess needs {len(names)} numbers ({', '.join(names)}), but {len(x)} are given."
        )
    return _iterated(compiled, rho, x, count - 1)


def _iterated(compiled: CompiledMap, rho: np.ndarray, x: np.ndarray, count: int) -> np.ndarray:
    """Return x and its next `count` states."""
    found = [np.asarray(x, float)]
    inp = compiled.input(rho.tolist())
    for k in range(count):
        branch = _branch_of(compiled, found[-1], rho)
        inp[1 : 1 + compiled.n_x] = found[-1]
        after = compiled.pieces[branch](inp)[: compiled.n_x].copy()
        if not np.isfinite(after).all() or np.abs(after).max() > _HUGE:
            raise BadValue(
                f"'{compiled.system.name}' escapes at iterate {k + 1} from here: give a guess near "
                "the cycle."
            )
        found.append(after)
    return np.array(found)
