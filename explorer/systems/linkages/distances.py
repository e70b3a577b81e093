"""`Distances`: rods, springs, dampers, ropes and stops between two points, in plane and space.

With w = r_b - r_a, a rod is (|w|^2 - L^2) / (2 L) = 0: its multiplier is the tension in N. A spring
has the potential k (|w| - L)^2 / 2, a damper the force c (w . w') / |w| along w.
"""

from __future__ import annotations

from abc import abstractmethod

import sympy as sp

from explorer.errors import BadModel
from explorer.systems.linkages.mechanism import Mechanism
from explorer.systems.linkages.parts import Given, Place, Point, Vector, square
from explorer.systems.sketch import Shape, line, spring
from explorer.types import Value

__all__ = ["Distances"]


class Distances(Mechanism):
    """Parts that act along the line between two points; see `Linkage`, `Multibody`."""

    @abstractmethod
    def _at(self, place: Place) -> Point:
        """Return a point: by its name, itself, or a fixed one by its coordinates."""

    def _two(self, a: Place, b: Place, what: str) -> tuple[Vector, Vector]:
        """Return the places of two points that differ."""
        one, two = self._at(a), self._at(b)
        if one == two:
            raise BadModel(f"{what} of '{self.name}' joins the point {one.name!r} to itself.")
        return one.place, two.place

    def _between(self, a: Place, b: Place, kind: str, name: str = "") -> tuple[Vector, Vector, str]:
        """Return the places of two points, and the name of what is between them."""
        one, two = self._two(a, b, f"The {kind}")
        return one, two, self._part(name, f"{kind} {self._at(a).name} {self._at(b).name}")

    def _length(
        self, one: Vector, two: Vector, length: Given | None, label: str, *, apart: bool = True
    ) -> sp.Expr:
        """Return a given length, or the distance at the start; refuse what is not positive."""
        what = f"length of {label!r} of '{self.name}'"
        if (apart or length is None) and not self._number(square(one, two)) > 0:
            raise BadModel(
                f"The ends of {label!r} of '{self.name}' start in the same place, so it has no "
                "direction. Start them apart."
            )
        if length is None:
            return sp.sqrt(self._at_start(square(one, two)))
        return self._constant(length, what, f"L_{label}", "m", positive=True)

    def rod(self, a: Place, b: Place, *, length: Given | None = None, name: str = "") -> None:
        """Keep the distance of two points, by a rod without mass.

        Parameters
        ----------
        a, b : point or name
        length : number, formula or Param, optional
            In m; by default the distance at the start.
        name : str
            "rod a b" by default.

        Raises
        ------
        BadModel
            If a and b are one point or start in one place, or the length is not positive.
        """
        one, two, _, _ = self._rigid(a, b, length, name, "rod")
        self._draw(lambda size: [line(self._flat(one), self._flat(two))], one)

    def _rigid(
        self, a: Place, b: Place, length: Given | None, name: str, kind: str
    ) -> tuple[Vector, Vector, sp.Expr, str]:
        """Add the constraint of a length; return the ends, the length and the name."""
        one, two, label = self._between(a, b, kind, name)
        L = self._length(one, two, length, label)
        self._tie((square(one, two) - L**2) / (2 * L), label)
        self._lengths[frozenset((self._at(a).name, self._at(b).name))] = L
        return one, two, L, label

    def spring(
        self, a: Place, b: Place, *, k: Given, length: Given | None = None, name: str = ""
    ) -> None:
        """Add a spring between two points, with the potential k (|r_b - r_a| - L)^2 / 2.

        Parameters
        ----------
        a, b : point or name
        k : number, formula or Param
            Stiffness in N/m.
        length : number, formula or Param, optional
            Natural length L in m, 0 included; by default the distance at the start.
        name : str
            "spring a b" by default.
        """
        one, two, label = self._between(a, b, "spring", name)
        k = self._constant(k, f"stiffness of {label!r}", f"k_{label}", "N/m")
        if not isinstance(length, str) and length == 0:
            self._store(k * square(one, two) / 2)
            force = k * sp.sqrt(square(one, two))
        else:
            L = self._length(one, two, length, label)
            force = k * (sp.sqrt(square(one, two)) - L)
            self._store(k * (sp.sqrt(square(one, two)) - L) ** 2 / 2)
        self._draw(lambda size: [spring(self._flat(one), self._flat(two), force)], one)

    def damper(self, a: Place, b: Place, *, c: Given, name: str = "") -> None:
        """Add a damper between two points: c in N s/m times the rate of their distance."""
        one, two, label = self._between(a, b, "damper", name)
        c = self._constant(c, f"damping of {label!r}", f"c_{label}", "N s/m")
        self._length(one, two, None, label)
        w = [y - x for x, y in zip(one, two, strict=True)]
        closing = sp.Add(*(x * self._velocity(x) for x in w)) / square(one, two)
        self._act(w, [-c * closing * x for x in w])
        self._draw(lambda size: self._dashpot(one, two), one)

    def rope(
        self,
        a: Place,
        b: Place,
        *,
        length: Given | None = None,
        e: Value | None = None,
        name: str = "",
    ) -> None:
        """Add a rope, slack or taut: the contact (L^2 - |r_b - r_a|^2) / (2 L) >= 0.

        Its force is the tension in N.

        Parameters
        ----------
        a, b : point or name
        length : number, formula or Param, optional
            L in m; by default the distance at the start, where the rope is taut then.
        e : number or formula
            Restitution when it becomes taut.
        name : str
            "rope a b" by default.
        """
        one, two, label = self._between(a, b, "rope", name)
        L = self._length(one, two, length, label, apart=False)
        self._touch((L**2 - square(one, two)) / (2 * L), label, e)
        sag = sp.sqrt(sp.Max(0, L**2 - square(one, two))) / 2
        *beside, up = ((p + q) / 2 for p, q in zip(one, two, strict=True))
        middle = (*beside, up - sag)
        self._draw(lambda size: [line(*map(self._flat, (one, middle, two)))], one)

    def stop(
        self, a: Place, b: Place, *, length: Given, e: Value | None = None, name: str = ""
    ) -> None:
        """Keep two points apart by `length` L: the contact (|r_b - r_a|^2 - L^2) / (2 L) >= 0."""
        one, two, label = self._between(a, b, "stop", name)
        L = self._length(one, two, length, label)
        self._touch((square(one, two) - L**2) / (2 * L), label, e)

    def _dashpot(self, one: Vector, two: Vector) -> list[Shape]:
        """Return a cylinder between two points."""
        (ax, ay), (bx, by) = self._flat(one), self._flat(two)

        def at(along: float, side: float) -> tuple[sp.Expr, sp.Expr]:
            w = bx - ax, by - ay
            return ax + along * w[0] - side * w[1], ay + along * w[1] + side * w[0]

        box = [at(s, n) for s, n in ((0.35, -0.06), (0.65, -0.06), (0.65, 0.06), (0.35, 0.06))]
        return [line(at(0, 0), at(0.35, 0)), line(*box, box[0]), line(at(0.65, 0), at(1, 0))]
