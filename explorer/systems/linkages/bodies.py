"""`Bodies`: rigid bodies, forces and contacts with planes of a mechanism in space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import sympy as sp

from explorer.errors import BadModel
from explorer.parameters import Param
from explorer.systems.linkages.body import (
    Body,
    angular,
    frame,
    inertial_force,
    rotation,
    rotation_forms,
    rotational_mass,
)
from explorer.systems.linkages.distances import Distances
from explorer.systems.linkages.parts import Drawing, Given, Point, Vector, rate_of
from explorer.systems.linkages.parts import Place as PointPlace
from explorer.systems.sketch import Shape, arrow, line
from explorer.types import FormulaMatrix, Value

__all__ = ["Bodies", "Place"]

_ROUND = 32  # corners of a rim: flat by 0.5 % of its radius

Numbers: TypeAlias = "npt.NDArray[np.float64]"
Place: TypeAlias = "PointPlace | Body"  # a body stands for its centre
Turn: TypeAlias = "Sequence[Value] | tuple[Sequence[Value], Value]"


class Bodies(Distances):
    """Rigid bodies, forces and contacts; see `Multibody`."""

    def __init__(
        self,
        name: str,
        *,
        gravity: Given = 9.81,
        params: Mapping[str, Param | float] | None = None,
        view: tuple[float, float] = (-60.0, 20.0),
        text: str = "",
    ) -> None:
        super().__init__(name, gravity=gravity, params=params, text=text)
        self.bodies: dict[str, Body] = {}
        self._spots: list[Vector] = []  # what the picture has to hold
        self._corners: list[tuple[Body, Numbers]] = []  # and this, (k, 3) in the axes of a body
        az, el = np.radians(view)
        self._view = np.array(
            [
                [-np.sin(az), np.cos(az), 0],
                [-np.sin(el) * np.cos(az), -np.sin(el) * np.sin(az), np.cos(el)],
                [np.cos(el) * np.cos(az), np.cos(el) * np.sin(az), np.sin(el)],
            ]
        ).round(15)

    # -- bodies -------------------------------------------------------------------------------

    def body(
        self,
        name: str,
        *,
        mass: Given,
        inertia: FormulaMatrix | Sequence[Given],
        at: Sequence[Value] = (0, 0, 0),
        turn: Turn = (1, 0, 0, 0),
        v: Sequence[Value] = (0, 0, 0),
        spin: Sequence[Value] = (0, 0, 0),
    ) -> Body:
        """Add a rigid body.

        Parameters
        ----------
        name : str
            Letters, digits and "_"; its coordinates are named after it, see `Body`.
        mass : number, formula or Param
            In kg.
        inertia : (3,) or (3, 3)
            About the centre of mass in the axes of the body, principal or whole, in kg m2.
        at, v : (3,)
            Start of the centre of mass in m, and its velocity in m/s.
        turn : (4,), or (axis, angle)
            Start of the orientation: a quaternion, which is scaled to |p| = 1, or an axis and an
            angle in rad.
        spin : (3,)
            Start of the angular velocity in the axes of the body, in rad/s.

        Returns
        -------
        Body
            Its points are ends of joints, springs and contacts: ``body.point(0, 0, 0.1)``.

        Raises
        ------
        BadModel
            If the name is taken, the mass or the inertia is not positive, or the quaternion is
            zero.
        """
        self._word(name, "a body")
        if name in self.bodies:
            raise BadModel(f"Two bodies of '{self.name}' are called {name!r}.")
        what = f"{name!r} of '{self.name}'"
        m = self._constant(mass, f"mass of {what}", f"m_{name}", "kg", positive=True)
        J = self._tensor(inertia, name)
        p = self._quaternion(turn, what)
        omega = sp.Matrix([self._read(x, f"spin of {what}") for x in spin])
        rate = angular(p).T * omega / 2
        places = [f"{c}_{name}" for c in "xyz"]
        x = self._coordinates(places, ["m"] * 3, list(at), list(v))
        names = [f"e{k}_{name}" for k in range(4)]
        e = self._coordinates(names, [""] * 4, p, list(rate))
        for q in x:
            self._inertia(q, q, m / 2)
        M, F = rotational_mass(e, J), inertial_force(e, [rate_of(q) for q in e], J)
        for i, one in enumerate(e):
            for j, two in enumerate(e):
                self._mass[one, two] = M[min(i, j), max(i, j)]
            self._push(one, F[i])
        self._store(m * self.gravity * x[2])
        self._tie((sp.Add(*(c**2 for c in e)) - 1) / 2, self._part("", f"norm {name}"))
        self.bodies[name] = Body(name, x, e, m, J, self._read)
        self._picture(self.bodies[name])
        return self.bodies[name]

    def _tensor(self, inertia: FormulaMatrix | Sequence[Given], name: str) -> sp.Matrix:
        """Return the matrix of inertia; refuse one that is not positive definite."""
        what = f"inertia of {name!r} of '{self.name}'"
        rows = inertia.tolist() if hasattr(inertia, "tolist") else list(inertia)  # type: ignore[arg-type]
        if len(rows) != 3:
            raise BadModel(f"{what} needs three principal moments or three rows, not {rows!r}.")
        if any(isinstance(row, list | tuple) for row in rows):
            J = sp.Matrix([[self._read(c, what) for c in row] for row in rows])
        else:
            parts = zip(rows, "123", strict=True)
            J = sp.diag(*(self._constant(c, what, f"J{k}_{name}", "kg m2") for c, k in parts))
        numbers = np.array([[self._number(J[i, j]) for j in range(3)] for i in range(3)])
        if not np.allclose(numbers, numbers.T, rtol=1e-12, atol=0):
            raise BadModel(f"{what} is not symmetric: {numbers.tolist()}.")
        if not np.linalg.eigvalsh(numbers).min() > 0:
            raise BadModel(
                f"{what} is not positive definite: its principal moments are "
                f"{np.linalg.eigvalsh(numbers).round(12).tolist()} kg m2. Give a thin rod a small "
                "moment about its axis."
            )
        return J

    def _quaternion(self, turn: Turn, what: str) -> list[sp.Expr]:
        """Return a quaternion with |p| = 1: formulas of the parameters."""
        given = list(turn)
        if len(given) == 2:
            axis, angle = given
            if isinstance(axis, str) or np.size(axis) != 3:
                raise BadModel(
                    f"turn of {what} needs an axis (x, y, z) and an angle, not {turn!r}."
                )
            a = [self._read(c, f"axis of {what}") for c in axis]  # type: ignore[union-attr]
            half = self._read(angle, f"angle of {what}") / 2
            size = sp.sqrt(sp.Add(*(c**2 for c in a)))
            if not self._number(size) > 0:
                raise BadModel(f"The axis of {what} is zero, which is no direction.")
            return [sp.cos(half), *(sp.sin(half) * c / size for c in a)]
        if len(given) != 4:
            raise BadModel(f"turn of {what} needs a quaternion of four numbers, not {turn!r}.")
        p = [self._read(c, f"quaternion of {what}") for c in given]
        size = sp.sqrt(sp.Add(*(c**2 for c in p)))
        if not self._number(size) > 0:
            raise BadModel(
                f"The quaternion of {what} is zero, which is no orientation. (1, 0, 0, 0) leaves "
                "the axes of the body along those of space."
            )
        return p if size == 1 else [c / size for c in p]

    def _at(self, place: Place) -> Point:
        """Return a point: itself, the centre of a body, or a fixed one by its coordinates."""
        if isinstance(place, Point):
            return place
        if isinstance(place, Body | str):
            name = place if isinstance(place, str) else place.name
            if name not in self.bodies:
                raise self._unknown(name, "body", self.bodies)
            return self.bodies[name].centre
        try:
            x, y, z = (self._read(c, "a fixed point", time=True) for c in place)
        except (TypeError, ValueError):
            raise BadModel(
                f"{place!r} is no point of '{self.name}': give body.point(x, y, z), a body, or "
                "(x, y, z) in space."
            ) from None
        return Point("ground", (x, y, z))

    def _turning(self, body: str) -> sp.Matrix:
        """Return the angular velocity of a body in space; zero for the ground."""
        return self.bodies[body].angular_velocity if body else sp.zeros(3, 1)

    def _quaternion_of(self, body: str) -> Vector:
        """Return the quaternion of a body; (1, 0, 0, 0) for the ground."""
        return self.bodies[body].quaternion if body else tuple(map(sp.Integer, (1, 0, 0, 0)))

    def _axes(self, body: str) -> sp.Matrix:
        return self.bodies[body].rotation if body else sp.eye(3)

    # -- forces -------------------------------------------------------------------------------

    def force(self, point: Place, x: Value = 0, y: Value = 0, z: Value = 0) -> None:
        """Add a force in N at a point, in space: formulas of t, the state so far and parameters."""
        at = self._at(point)
        f = [self._read(c, f"force at {at.name!r}", state=True) for c in (x, y, z)]
        self._part("", f"force {at.name}")
        self._act(at.place, f)
        size = sp.sqrt(sp.Add(1e-12, *(c**2 for c in f)))

        def draw(scale: float) -> list[Shape]:
            head = tuple(a + 6 * scale * c / size for a, c in zip(at.place, f, strict=True))
            return [arrow(self._flat(at.place), self._flat(head))]

        self._draw(draw, at.place)

    def torque(
        self, body: Body | str, x: Value = 0, y: Value = 0, z: Value = 0, *, inside: bool = False
    ) -> None:
        """Add a torque in N m to a body, in space or in the axes of the body (`inside`)."""
        name = self._at(body).name
        what = f"torque on {name!r} of '{self.name}'"
        tau = sp.Matrix([self._read(c, what, state=True) for c in (x, y, z)])
        self._part("", f"torque {name}")
        Q = 2 * angular(self.bodies[name].quaternion, inside=inside).T * tau
        for q, f in zip(self.bodies[name].quaternion, Q, strict=True):
            self._push(q, f)

    # -- contacts -----------------------------------------------------------------------------

    def contact(
        self,
        point: Place,
        plane: tuple[Place, Sequence[float]],
        *,
        radius: Given = 0,
        e: Value | None = None,
        mu: Value | None = None,
        name: str = "",
    ) -> None:
        """Add a contact of a point, or of a ball around it, with a plane.

        Parameters
        ----------
        point : body.point(x, y, z) or body
        plane : (point, direction)
            A point of the plane, in space or of another body, and its normal in the axes of space
            or of that body: three numbers. The normal points to the side that is free.
        radius : number, formula or Param
            Of the ball in m.
        e, mu : number or formula
            Restitution and friction, see `explorer.Contact`.
        name : str
            "contact <body>" by default.
        """
        at = self._at(point)
        label = self._part(name, f"contact {at.body or 'ground'}")
        what = f"the plane of {label!r} of '{self.name}'"
        try:
            through, direction = plane
        except (TypeError, ValueError):
            raise BadModel(
                f"{what} needs a point and a normal, such as ((0, 0, 0), (0, 0, 1))."
            ) from None
        origin, axes = self._at(through), frame(direction, what)
        if origin.body == at.body:
            raise BadModel(f"{label!r} of '{self.name}' joins {at.body or 'the ground'} to itself.")
        R = self._constant(radius, f"radius of {label!r}", f"R_{label}", "m")
        A = self._axes(origin.body)
        first, second, n = (A * axis for axis in axes)
        r, o = sp.Matrix(at.place), sp.Matrix(origin.place)
        gap = n.dot(r - o) - R
        slips = None
        if mu is not None:
            touch = -R * n  # from the centre of the ball to where it touches
            u = sp.Matrix([self._velocity(c) for c in at.place])
            w = sp.Matrix([self._velocity(c) for c in origin.place])
            u += self._turning(at.body).cross(touch) if R != 0 else sp.zeros(3, 1)
            w += self._turning(origin.body).cross(r + touch - o)
            slips = [t.dot(u - w) for t in (first, second)]
        self._touch(gap, label, e, mu, slips)
        self._spoke(at)

        def draw(size: float) -> list[Shape]:
            s = 25 * size
            corners = [
                o + a * s * first + b * s * second for a, b in ((1, 1), (-1, 1), (-1, -1), (1, -1))
            ]
            flat = [self._flat(tuple(c)) for c in corners]
            return [line(*flat, flat[0], role="ground")]

        self._draw(draw, origin.place)

    # -- the sketch ---------------------------------------------------------------------------

    def _picture(self, body: Body) -> None:
        """Draw the box that has the mass and the inertia of a body, or the cylinder."""
        J = np.array([[self._number(c) for c in row] for row in body.inertia.tolist()])
        moments, axes = np.linalg.eigh(J)
        m = self._number(body.mass)
        same = [abs(moments[k - 1] - moments[k - 2]) <= 1e-9 * moments[2] for k in range(3)]
        if same.count(True) == 1:
            lone = same.index(True)
            axis, along, across = axes[:, lone], moments[lone], moments[lone - 1]
            R = np.sqrt(2 * along / m)
            half = np.sqrt(max(3 * (across - along / 2) / m, 0))
            self._cylinder(body, np.append(np.delete(axes, lone, 1), axis[:, None], 1), R, half)
            return
        half = np.sqrt(np.maximum(6 * (moments.sum() - 2 * moments) / m, 0)) / 2
        signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1], indexing="ij")).reshape(3, 8)
        # twelve edges in one line: two faces, with what joins them
        way = [0, 1, 3, 2, 0, 4, 5, 1, 5, 7, 3, 7, 6, 2, 6, 4]
        corners = self._inside(body, (axes @ (half[:, None] * signs)).T)
        self._draw(lambda size: [line(*self._seen(body, corners[way]))], body.place)

    def _cylinder(self, body: Body, axes: Numbers, R: float, half: float) -> None:
        """Draw the rims of a cylinder and a mark; it is a disc if flat, a rod if thin."""
        ends = self._inside(body, np.outer([-half, half], axes[:, 2]))
        turns = np.append(np.linspace(0, 2 * np.pi, _ROUND + 1)[:-1], 0)
        rim = R * (np.outer(np.cos(turns), axes[:, 0]) + np.outer(np.sin(turns), axes[:, 1]))
        rims = [self._inside(body, end + rim) for end in (ends if half > R / 50 else ends[1:])]

        def draw(size: float) -> list[Shape]:
            shapes = [line(*self._seen(body, ends), role="body")] if half > R / 50 else []
            if size / 2 < R:
                seen = [self._seen(body, rim) for rim in rims]
                shapes += [line(*rim) for rim in seen]
                shapes.append(line(*self._seen(body, ends[1:]), seen[-1][0]))
            return shapes

        self._draw(draw, body.place)

    def _inside(self, body: Body, corners: Numbers) -> Numbers:
        """Return places (k, 3) in the axes of a body, which the picture has to hold."""
        self._corners.append((body, corners))
        return corners

    def _seen(self, body: Body, corners: Numbers) -> list[tuple[sp.Expr, sp.Expr]]:
        """Return where places (k, 3) in the axes of a body are in the picture.

        The products of the quaternion are written once: a rim has many corners.
        """
        p, (i, j) = body.quaternion, np.triu_indices(4)
        products = [p[k] * p[m] for k, m in zip(i, j, strict=True)]
        forms = np.einsum("va,abij,kb->kvij", self._view[:2], rotation_forms(), corners)
        terms = forms[..., i, j] * np.where(i == j, 1, 2)
        terms[abs(terms) < 1e-15 * abs(corners).max()] = 0
        centre = self._flat(body.place)

        def written(at: sp.Expr, factors: list[float]) -> sp.Expr:
            each = zip(factors, products, strict=True)
            return sp.Add(at, *(sp.Float(c) * product for c, product in each if c))

        return [(written(centre[0], x), written(centre[1], y)) for x, y in terms.tolist()]

    def _spoke(self, point: Point) -> None:
        """Draw a line from the centre of a body to one of its points."""
        self._spots.append(point.place)
        if point.body and any(point.inside):
            ends = self.bodies[point.body].place, point.place
            self._draw(lambda size: [line(*map(self._flat, ends), role="body")], point.place)

    def _flat(self, place: Vector) -> tuple[sp.Expr, sp.Expr]:
        """Return where a place is in the picture: orthographic, from the side of `view`."""
        x, y = (
            sp.Add(*(w * c for w, c in zip(row, place, strict=True) if w))
            for row in self._view[:2].tolist()
        )
        return x, y

    def _ordered(self) -> list[Drawing]:
        """Return what draws the parts, by their distance from the viewer at the start."""

        def depth(at: Vector) -> float:
            return float(self._view[2] @ [self._number(c) for c in at])

        return [draw for draw, at in sorted(self._drawings, key=lambda one: depth(one[1]))]

    def _extent(self) -> float:
        """Return the size of the mechanism at the start in m."""
        spots = [np.array([[self._number(c) for c in s] for s in self._spots]).reshape(-1, 3)]
        for body, corners in self._corners:
            R = np.array(rotation([sp.Float(self._number(c)) for c in body.quaternion]), float)
            spots.append(np.array([self._number(c) for c in body.place]) + corners @ R.T)
        return float(np.ptp(np.concatenate(spots), axis=0).max()) or 1.0
