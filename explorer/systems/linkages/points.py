"""`Points`: pins, points, bars and masses in the plane, in natural coordinates.

The coordinates are those of the points. A bar between r_a and r_b with its centre at the share c of
its length L, mass m and moment of inertia I about the centre has the velocity field of its ends, so

    T = 1/2 m [(1-c) r_a' + c r_b']^2 + 1/2 I |r_b' - r_a'|^2 / L^2

which is exact for a rigid bar. For a uniform one, c = 1/2 and I = m L^2 / 12, the mass matrix is
m/3 on the blocks of the ends and m/6 between them. (Garcia de Jalon, Bayo 1994,
section 4.2, doi:10.1007/978-1-4612-2600-0.)
"""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from explorer.errors import BadModel
from explorer.systems.linkages.distances import Distances
from explorer.systems.linkages.parts import Given, Place, Point
from explorer.systems.sketch import Shape, circle, ground, line
from explorer.types import Value

__all__ = ["Points"]


_MIDDLE = sp.Rational(1, 2)


class Points(Distances):
    """Points, pins, bars and masses of a linkage; see `Linkage`."""

    # -- points -------------------------------------------------------------------------------

    def pin(self, name: str, x: Value, y: Value) -> Point:
        """Add a point that is fixed, or moves as formulas of t say.

        Parameters
        ----------
        name : str
        x, y : number or formula of t and parameters
            In m.
        """
        place = tuple(self._read(c, f"pin {name!r} of '{self.name}'", time=True) for c in (x, y))
        pin = self._new(name, place)

        def draw(size: float) -> list[Shape]:
            (a, b), s = place, 1.5 * size
            return [ground((a - s, b - size), (a + s, b - size)), circle(a, b, size / 2)]

        self._draw(draw)
        return pin

    def point(
        self,
        name: str,
        x: Value,
        y: Value,
        *,
        v: Sequence[Value] = (0, 0),
        mass: Given | None = None,
    ) -> Point:
        """Add a point with two coordinates, ``x_<name>`` and ``y_<name>``.

        Parameters
        ----------
        name : str
            Letters, digits and "_": "1" has the coordinates x_1, y_1.
        x, y : number or formula of parameters
            Its start in m; a guess if constraints do not hold there.
        v : (2,)
            Its start velocity in m/s, a guess likewise.
        mass : number, formula or Param, optional
            A point mass in kg. Bars bring their own.
        """
        self._word(name, "a point")
        if name in self.points:
            raise BadModel(f"Two points of '{self.name}' are called {name!r}.")
        place = self._coordinates([f"x_{name}", f"y_{name}"], ["m", "m"], [x, y], list(v))
        point = self._new(name, place)
        self._draw(lambda size: [circle(place[0], place[1], size / 2)])
        if mass is not None:
            self.mass(point, mass)
        return point

    def on(self, name: str, a: Place, b: Place, along: Given = 0.5, across: Given = 0.0) -> Point:
        """Add a point that is fast to the bar from a to b, without coordinates of its own.

        Parameters
        ----------
        name : str
        a, b : point or name
        along, across : number or formula of parameters
            Its place in lengths of the bar: from a towards b, and to the left of that direction.
        """
        (ax, ay), (bx, by) = self._two(a, b, f"The point {name!r}")
        s = self._constant(along, f"along of {name!r}", f"along_{name}")
        n = self._constant(across, f"across of {name!r}", f"across_{name}")
        place = (ax + s * (bx - ax) - n * (by - ay), ay + s * (by - ay) + n * (bx - ax))
        return self._new(name, place)

    def _new(self, name: str, place: Sequence[sp.Expr]) -> Point:
        self._word(name, "a point")
        if name in self.points:
            raise BadModel(f"Two points of '{self.name}' are called {name!r}.")
        self.points[name] = Point(name, tuple(place))
        return self.points[name]

    def _at(self, place: Place) -> Point:
        """Return a point: by its name, itself, or a fixed one by its x and y."""
        if not isinstance(place, str | Point):
            try:
                x, y = (self._read(c, "a fixed point", time=True) for c in place)
            except (TypeError, ValueError):
                raise BadModel(
                    f"{place!r} is no point of '{self.name}': give a name or (x, y)."
                ) from None
            return Point(f"({place[0]}, {place[1]})", (x, y))
        name = place.name if isinstance(place, Point) else place
        if name not in self.points:
            raise self._unknown(name, "point or pin", self.points)
        return self.points[name]

    # -- bars ---------------------------------------------------------------------------------

    def bar(
        self,
        a: Place,
        b: Place,
        *,
        mass: Given,
        length: Given | None = None,
        centre: Given = _MIDDLE,
        inertia: Given | None = None,
        name: str = "",
    ) -> None:
        """Add a rigid bar between two points.

        Its constraint (|r_b - r_a|^2 - L^2) / (2 L) = 0 has the tension in N as its multiplier.

        Parameters
        ----------
        a, b : point or name
        mass : number, formula or Param
            In kg.
        length : number, formula or Param, optional
            L in m; by default the distance of its ends at the start.
        centre : number or formula
            Where its centre of mass is: 0 at a, 1 at b.
        inertia : number, formula or Param, optional
            About the centre of mass in kg m2; that of a uniform bar, m L^2 / 12, by default.
        name : str
            "bar a b" by default.

        Raises
        ------
        BadModel
            If a and b are one point or start in one place, or mass or length are not positive.
        """
        one, two, L, label = self._rigid(a, b, length, name, "bar")
        what = f"{label!r} of '{self.name}'"
        m = self._constant(mass, f"mass of {what}", f"m_{label}", "kg", positive=True)
        c = self._constant(centre, f"centre of {what}", f"centre_{label}")
        if inertia is None:
            turn = m / 12
        else:
            about = f"inertia of {what}"
            turn = self._constant(inertia, about, f"J_{label}", "kg m2", positive=True) / L**2
        half = sp.Rational(1, 2)
        for p, q in zip(one, two, strict=True):
            self._inertia(p, p, half * (m * (1 - c) ** 2 + turn))
            self._inertia(q, q, half * (m * c**2 + turn))
            self._inertia(p, q, m * c * (1 - c) - turn)
        self._store(m * self.gravity * ((1 - c) * one[1] + c * two[1]))
        self._draw(lambda size: [line(one, two, role="body")])

    def mass(self, point: Place, mass: Given) -> None:
        """Add a point mass in kg."""
        at = self._at(point)
        what = f"mass of {at.name!r} of '{self.name}'"
        m = self._constant(mass, what, f"m_{at.name}", "kg", positive=True)
        if not any(map(self._moving, at.place)):
            raise BadModel(f"{at.name!r} of '{self.name}' does not move: no mass is felt there.")
        self._part("", f"mass {at.name}")
        for x in at.place:
            self._inertia(x, x, m / 2)
        self._store(m * self.gravity * at.place[1])
        self._draw(lambda size: [circle(at.place[0], at.place[1], 1.2 * size)])

    def _extent(self) -> float:
        """Return the size of the linkage at the start in m."""
        places = [[self._number(c) for c in p.place] for p in self.points.values()]
        return max((max(c) - min(c) for c in zip(*places, strict=True)), default=0.0) or 1.0
