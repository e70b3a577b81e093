"""Where contacts act in a picture: the point of a sketch at which a contact's force does its work.

A contact with gap g(q) acts at a point P(q) of a sketch, along n, if dg/dq = (dP/dq)^T n: the force
lam n at P then does the work of lam on the gap, whatever the coordinates. Between two bodies P is
the difference of a point of each. So nobody has to declare where a contact is.

A contact in space has two sliding velocities. If the coordinates of a body are Cartesian, so that
the gradients of its gap and of the velocities are at right angles and have length 1, they are the
force per N, and (dP/dq) of them is how a picture aslant shows it.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import symengine as se

from explorer.compiled.bundle import Bundle, Expr, smooth
from explorer.systems import LagrangianSystem
from explorer.systems.sketch import Shape

__all__ = ["OUTPUTS", "ContactPoints", "contact_points"]

# x, y, n_x, n_y, t_x, t_y, the point x, y of the other body, and a second t, of each contact
OUTPUTS = 10
_SOLID = ("body", "link", "fixed", "ground")  # roles of shapes that touch, likely ones first
_FITS = 1e-6  # relative: what of dg/dq a point may leave out
_MOST = (16, 48, 40)  # contacts, points, coordinates: beyond it nobody sees single forces
_AXES = ((0.0, 1.0), (0.0, -1.0), (1.0, 0.0), (-1.0, 0.0))
_NEARLY = (
    1e-11  # beside the squares of dP/dq: a point that moves along a line takes what lies in it
)


@dataclass(frozen=True)
class ContactPoints:
    """Where contacts act, as a native function.

    Attributes
    ----------
    contacts : tuple of int
        The contacts whose points are known.
    paired : tuple of bool
        Whether each of them acts between two bodies.
    native : Bundle
        Of ``[t, q, v, rho]``, `OUTPUTS` of each: the point in m, the vectors in N per N by which
        the normal force and the friction force act there, the point of the other body, and the
        vector of friction along a second direction.
    """

    contacts: tuple[int, ...]
    paired: tuple[bool, ...]
    native: Bundle


@dataclass(frozen=True)
class _Place:
    """A point of a shape: a mean of its vertices, or the rim of a circle."""

    shape: int
    vertices: tuple[int, ...]
    along: tuple[float, float] | None = None  # an axis, if the force always acts along it


def contact_points(system: LagrangianSystem, states: np.ndarray) -> ContactPoints | None:
    """Return where the contacts of a system act in its picture; made once.

    Parameters
    ----------
    system : LagrangianSystem
    states : (k, 1 + 2 n + parameters) float
        Some inputs ``[t, q, v, rho]`` of a run, by which points are chosen.
    """
    if "contact points" not in system.made:
        system.made["contact points"] = _Finder(system).found(states)
    found: ContactPoints | None = system.made["contact points"]
    return found


class _Finder:
    def __init__(self, system: LagrangianSystem) -> None:
        self.system, self.shapes = system, system.pictured
        names = ["t", *system.coordinates, *(f"v_{k}" for k in system.coordinates)]
        self.symbols = [se.Symbol(name) for name in [*names, *system.parameters]]
        self.q = self.symbols[1 : 1 + system.n]
        self.v = self.symbols[1 + system.n : 1 + 2 * system.n]
        self.points: list[tuple[int, int]] = [
            (s, k)
            for s, shape in enumerate(self.shapes)
            if shape.role in _SOLID
            for k in range(len(shape.points))
        ]

    def found(self, states: np.ndarray) -> ContactPoints | None:
        system = self.system
        sizes = len(system.contacts), len(self.points), system.n
        if not all(0 < size <= most for size, most in zip(sizes, _MOST, strict=True)):
            return None
        gaps = [smooth(contact.gap) for contact in system.contacts]
        self.G = [[g.diff(x) for x in self.q] for g in gaps]
        formulas = [self._moves(*point) for point in self.points]
        flat = [*itertools.chain(*self.G), *(x for both in formulas for row in both for x in row)]
        native, n = Bundle(self.symbols, flat), system.n
        values = np.array([native(np.asarray(state, float)) for state in states])
        G = values[:, : sizes[0] * n].reshape(len(states), sizes[0], n)
        J = values[:, sizes[0] * n :].reshape(len(states), len(self.points), 2, n)
        shown, paired, outputs = [], [], []
        for c in range(sizes[0]):
            if len(system.contacts[c].slips) == 2:
                aslant = self._aslant(c, states)
                shown += [c] if aslant else []
                paired += [aslant[1]] if aslant else []
                outputs += aslant[0] if aslant else []
                continue
            places = self._places(G[:, c], J, states)
            if places:
                shown.append(c)
                paired.append(len(places) > 1)
                outputs += self._outputs(c, places)
        if not shown:
            return None
        return ContactPoints(tuple(shown), tuple(paired), Bundle(self.symbols, outputs))

    def _moves(self, s: int, k: int) -> list[list[Expr]]:
        """Return the derivatives of a vertex by the coordinates, (2, n)."""
        return [[smooth(x).diff(q) for q in self.q] for x in self.shapes[s].points[k]]

    def _places(self, G: np.ndarray, J: np.ndarray, states: np.ndarray) -> tuple[_Place, ...]:
        """Return the point at which a contact acts, or one of each of two bodies; (): none."""
        moved = np.flatnonzero(np.abs(J).max(axis=(0, 2, 3)) != 0)
        fit = [(int(moved[i]), n) for i, n in self._along(G, J[:, moved])]
        if any(_distance(n) for _, n in fit):
            return (self._best(fit, states),)
        pairs = np.array(
            [
                (a, b)
                for a, b in itertools.permutations(moved.tolist(), 2)
                if self.points[a][0] != self.points[b][0]
            ],
            int,
        ).reshape(-1, 2)
        two = self._along(G, J[:, pairs[:, 0]] - J[:, pairs[:, 1]])
        both = [((int(pairs[i, 0]), int(pairs[i, 1])), n) for i, n in two]
        # of a block at a stop of its wedge: another force outside would do the same work
        if fit and not any(_distance(n) for _, n in both):
            return (self._best(fit, states),)
        if not both:
            return ()
        # a gap between two bodies grows where either goes away from the other
        first = self._best([(a, n) for (a, _), n in both], states)
        of_it = [(b, -n) for (a, b), n in both if self.points[a][0] == first.shape]
        return first, self._best(of_it, states)

    def _along(self, G: np.ndarray, J: np.ndarray) -> list[tuple[int, np.ndarray]]:
        """Return at which points, (k, m, 2, n), a force may act, and by what vectors, (k, 2).

        A point that moves along a line leaves its direction open: a wall along an axis, or none.
        All points at once: of two bodies there are a thousand pairs.
        """
        if not np.isfinite(G).all():
            return []
        count, points = J.shape[:2]
        known = np.isfinite(J).all(axis=(0, 2, 3))
        J = np.where(known[:, None, None], J, 0.0)
        least = np.einsum("kmin,kn->kmi", np.linalg.pinv(J.swapaxes(2, 3), rcond=1e-9), G)
        tries = [np.broadcast_to(axis, (count, points, 2)) for axis in _AXES] + [least]
        size = max(float(np.abs(G).max()), 1e-300)
        left = [np.abs(np.einsum("kmin,kmi->kmn", J, n) - G[:, None]) for n in tries]
        fits = np.array([miss.max(axis=(0, 2)) / size < _FITS for miss in left]) & known
        return [
            (int(i), tries[int(fits[:, i].argmax())][:, i])
            for i in np.flatnonzero(fits.any(axis=0))
        ]

    def _best(self, fit: Sequence[tuple[int, np.ndarray]], states: np.ndarray) -> _Place:
        """Return the most likely point: of a disc, of a solid; the side of it that touches."""

        def likely(one: tuple[int, np.ndarray]) -> tuple[bool, int, bool, int]:
            k, n = one
            shape = self.shapes[self.points[k][0]]
            distance = _distance(n)
            round_or_solid = 0 if shape.kind == "circle" else 1 if shape.closed else 2
            return (not distance, round_or_solid, shape.role != "body", k)

        k, n = min(fit, key=likely)
        s = self.points[k][0]
        alike = [k for k, other in fit if self.points[k][0] == s and np.allclose(other, n)]
        vertices = [self.points[k][1] for k in alike]
        native = Bundle(
            self.symbols, [smooth(x) for v in vertices for x in self.shapes[s].points[v]]
        )
        at = np.asarray(native(np.asarray(states[0], float))).reshape(-1, 2)
        along = at @ n[0]
        size = max(float(np.ptp(at, axis=0).max()), 1e-300)
        touching = np.flatnonzero(along <= along.min() + _FITS * size * max(np.hypot(*n[0]), 1))
        axis = tuple(n[0]) if tuple(n[0]) in _AXES and (n == n[0]).all() else None
        return _Place(s, tuple(vertices[i] for i in touching), axis)

    def _point(self, place: _Place) -> list[Expr]:
        points = [self.shapes[place.shape].points[k] for k in place.vertices]
        return [se.Add(*(smooth(p[i]) for p in points)) / len(points) for i in range(2)]

    def _outputs(self, c: int, places: tuple[_Place, ...]) -> list[Expr]:
        points = [self._point(place) for place in places]
        relative = [a - b for a, b in zip(*points, strict=True)] if len(points) > 1 else points[0]
        J = [[x.diff(q) for q in self.q] for x in relative]
        axis = places[0].along
        n = self._acts(J, self.G[c]) if axis is None else [*map(se.RealDouble, axis)]
        slips = self.system.contacts[c].slips
        t: list[Expr] = [se.Integer(0)] * 2
        if len(slips) == 1:  # along a line
            h = [smooth(slips[0]).diff(v) for v in self.v]
            t = self._acts(J, h) if axis is None else self._acts_across(J, h, n)
        rims = [
            self._rim(self.shapes[place.shape], point, n, side)
            for place, point, side in zip(places, points, (-1, 1), strict=False)
        ]
        none = [se.Integer(0)] * 2
        return [*rims[0], *n, *t, *(rims[1] if len(rims) > 1 else rims[0]), *none]

    def _aslant(self, c: int, states: np.ndarray) -> tuple[list[Expr], bool] | None:
        """Return the outputs of a contact in space, and whether it acts between two bodies."""
        h = [[smooth(s).diff(v) for v in self.v] for s in self.system.contacts[c].slips]
        touched = {k for k, g in enumerate(self.G[c]) if g != 0}
        moved = [
            {
                k
                for k, q in enumerate(self.q)
                for p in shape.points
                for x in p
                if q in smooth(x).free_symbols
            }
            for shape in self.shapes
        ]
        unseen = touched - set().union(*moved)  # the picture is taken along them
        for s, shape in sorted(enumerate(self.shapes), key=lambda one: one[1].role != "body"):
            own = sorted(moved[s] | unseen)
            if shape.role not in _SOLID or not moved[s] or not {*own} & touched:
                continue
            points = [[smooth(x) for x in p] for p in shape.points]
            vectors = [[row[k] for k in own] for row in (self.G[c], *h)]
            products = Bundle(self.symbols, [_dot(a, b) for a in vectors for b in vectors])
            values = np.array([products(np.asarray(x, float)).copy() for x in states])
            if np.abs(values.reshape(-1, 3, 3) - np.eye(3)).max() > _FITS:
                continue  # its coordinates are not Cartesian
            paired = bool(touched - {*own})
            return self._seen(s, points, own, vectors, states), paired
        return None

    def _seen(
        self,
        s: int,
        points: list[list[Expr]],
        own: list[int],
        vectors: list[list[Expr]],
        states: np.ndarray,
    ) -> list[Expr]:
        """Return the side of a shape that touches, and how vectors of space are seen."""
        mean = [se.Add(*(p[i] for p in points)) / len(points) for i in range(2)]
        J = [[x.diff(self.q[k]) for k in own] for x in mean]
        n, t, second = ([_dot(row, vector) for row in J] for vector in vectors)
        flat = Bundle(self.symbols, [*n, *(x for p in points for x in p)])
        values = np.asarray(flat(np.asarray(states[0], float)))
        along = values[2:].reshape(-1, 2) @ values[:2]
        low = np.flatnonzero(along <= along.min() + _FITS * max(float(np.ptp(along)), 1e-300))
        place = _Place(s, tuple(low.tolist()))
        at = self._point(place)
        return [*at, *n, *t, *at, *second]

    def _acts(self, J: list[list[Expr]], g: list[Expr]) -> list[Expr]:
        """Return the least n with J^T n = g, as a formula."""
        (a, b), d = ([_dot(J[0], row) for row in J]), _dot(J[1], J[1])
        small = _NEARLY * (a + d)
        x, y = _dot(J[0], g), _dot(J[1], g)
        whole = (a + small) * (d + small) - b * b
        return [((d + small) * x - b * y) / whole, ((a + small) * y - b * x) / whole]

    def _acts_across(self, J: list[list[Expr]], h: list[Expr], n: list[Expr]) -> list[Expr]:
        """Return the vector at a right angle to n with J^T t = h, as a formula."""
        moves = [n[0] * b - n[1] * a for a, b in zip(*J, strict=True)]
        size = _dot(moves, h) / (_dot(moves, moves) + 1e-300)
        return [-size * n[1], size * n[0]]

    def _rim(self, shape: Shape, point: list[Expr], n: list[Expr], side: int) -> list[Expr]:
        """Return where a disc is touched: on its rim."""
        if shape.kind != "circle":
            return point
        length = se.sqrt(n[0] ** 2 + n[1] ** 2 + 1e-300)
        return [x + side * smooth(shape.radius) * k / length for x, k in zip(point, n, strict=True)]


def _distance(n: np.ndarray) -> bool:
    """Whether a gap is a distance: 1 N of the contact is 1 N in the picture."""
    return bool(abs(np.hypot(*n[0]) - 1) < _FITS)


def _dot(a: list[Expr], b: list[Expr]) -> Expr:
    return se.Add(*(x * y for x, y in zip(a, b, strict=True)))
