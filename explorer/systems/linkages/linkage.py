"""`Linkage`: mechanisms in the plane, in natural coordinates: points, pins, bars, contacts.

A line from a to b has the direction u = (r_b - r_a)/L. A point r to its left has the distance
u x (r - r_a), which is a gap, or a constraint of a slider; it slides at u . (r' - r_s'), where r_s
is the point of the line next to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import sympy as sp

from explorer.errors import BadModel
from explorer.systems.constraints import Constraint
from explorer.systems.linkages.forces import Forces
from explorer.systems.linkages.parts import Place, Vector, square
from explorer.systems.sketch import Shape, ground
from explorer.systems.sketch import line as shape_line
from explorer.types import Value

__all__ = ["Linkage"]

_LONG, _HIGH = 8, 5  # half of the block that slides, in radii of a joint
Line: TypeAlias = "tuple[Place, Place]"


class Linkage(Forces):
    """A mechanism in the plane, written part by part; `system` makes a `MechanicalSystem` of it.

    Parts are added in this order: parameters, then points and pins, then what joins them. Lengths
    that are not given are those of the start. Gravity acts along -y.

    Points      pin, point, on
    Inertia     bar, mass
    Joints      bar, rod, slider; bars that end in one point turn about it
    Forces      spring, damper, torsion, force, motor, friction
    Contacts    contact with a line, rope, stop

    Parameters
    ----------
    name : str
    gravity : number, formula or Param
        In m/s2.
    params : dict of str to Param or float
        Parameters, which parts use by name. A `Param` in place of a number declares one that is
        named after its part, such as ``m_bar_A_1``.
    text : str
        One sentence on what the linkage shows.

    Raises
    ------
    BadModel
        If names clash, a part joins a point to itself or has a length that is not positive, or the
        linkage cannot be assembled (see `system`).

    Examples
    --------
    A five-bar on two springs, whose lowest joint hits the ground:

    >>> import explorer as ex
    >>> five = ex.Linkage("five-bar", params=dict(k=100.0, L01=5**0.5, L02=4.25**0.5))
    >>> for name, x, y in (("A", -0.5, 0), ("B", 0.5, 0)):
    ...     _ = five.pin(name, x, y)
    >>> for name, x, y in (("1", -1.5, -1), ("2", 0, -2), ("3", 1.5, -1)):
    ...     _ = five.point(name, x, y)
    >>> for a, b, m in (("A", "1", 1), ("1", "2", 1.5), ("2", "3", 1.5), ("3", "B", 1)):
    ...     five.bar(a, b, mass=m)
    >>> five.spring("B", "1", k="k", length="L01")
    >>> five.spring("B", "2", k="k", length="L02")
    >>> five.contact("2", ((-2, -2.35), (2, -2.35)), e=1, name="ground")
    >>> system = five.system(t_end=5)
    >>> system.coordinates
    ('x_1', 'y_1', 'x_2', 'y_2', 'x_3', 'y_3')
    >>> ex.simulate(system, ex.MoreauJean(h=1e-3), t_end=0.5).events[0].contact
    'ground'
    """

    references = ("garcia-de-jalon-1994",)

    def contact(
        self,
        point: Place,
        line: Line,
        *,
        e: Value | None = None,
        mu: Value | None = None,
        reset: Mapping[str, Value] | None = None,
        name: str = "",
    ) -> None:
        """Add a contact of a point with a straight line, which is infinitely long.

        Parameters
        ----------
        point : point or name
        line : (end, end)
            Points, their names, or (x, y) as numbers or formulas of t and parameters. The point
            stays on its left, going from the first end to the second.
        e, mu : number or formula
            Restitution and friction, see `explorer.Contact`.
        reset : dict of coordinate to formula, optional
            Velocities behind an impact, ``{"x_2": "v_x_2", "y_2": "-v_y_2"}``, see `Contact`.
        name : str
            "contact <point>" by default.
        """
        at = self._at(point)
        label = self._part(name, f"contact {at.name}")
        gap, slip = self._beside(at.place, line, label)
        self._touch(gap, label, e, mu, slip, reset)
        self._mark(line)

    def slider(self, point: Place, line: Line, *, mu: Value | None = None, name: str = "") -> None:
        """Let a point slide along a straight line, which is infinitely long.

        Parameters
        ----------
        point : point or name
        line : (end, end)
            As for `contact`.
        mu : number or formula, optional
            Friction. Then the guide consists of two contacts, one on each side, whose forces give
            the friction; without it, of one constraint, whose multiplier is the force in N.
        name : str
            "slider <point>" by default.
        """
        at = self._at(point)
        label = self._part(name, f"slider {at.name}")
        gap, slip = self._beside(at.place, line, label)
        if mu is None:
            self._tie(gap, label)
        else:
            for side, sign in (("left", 1), ("right", -1)):
                self._touch(sign * gap, f"{label} {side}", 0, mu, slip)
            self._guides.append(Constraint(gap, label))
        self._mark(line)
        self._block(at.place, line)

    # -- lines --------------------------------------------------------------------------------

    def _ends(self, line: Line, label: str) -> tuple[Vector, Vector]:
        """Return the places of the two ends of a line."""
        try:
            first, second = line
        except (TypeError, ValueError):
            raise BadModel(
                f"The line of {label!r} needs two ends, such as ('A', 'B') or ((0, 0), (1, 0)), "
                f"not {line!r}."
            ) from None
        one, two = self._at(first), self._at(second)
        return one.place, two.place

    def _beside(self, r: Vector, line: Line, label: str) -> tuple[sp.Expr, sp.Expr]:
        """Return the distance of a point to the left of a line, and how fast it slides along it."""
        a, b = self._ends(line, label)
        self._length(a, b, None, label)
        turning = bool(self._moving(a[0]) or self._moving(b[0]))
        w = [q - p for p, q in zip(a, b, strict=True)]
        known = self._lengths.get(frozenset(self._at(end).name for end in line))
        L = known if turning and known is not None else sp.sqrt(square(a, b))
        away = [p - q for p, q in zip(r, a, strict=True)]
        gap = (w[0] * away[1] - w[1] * away[0]) / L
        if not self._moving(gap):
            raise BadModel(
                f"{label!r} of '{self.name}' joins what is fixed. Take a point that moves."
            )
        share = (w[0] * away[0] + w[1] * away[1]) / L**2
        slip = sp.Add(
            *(
                d * (self._velocity(x) - self._velocity(p) - share * self._velocity(d)) / L
                for d, x, p in zip(w, r, a, strict=True)
            )
        )
        return gap, slip

    def _block(self, r: Vector, ends: Line) -> None:
        """Draw what slides: a block around a point, along a line."""
        a, b = self._ends(ends, "")
        w = [q - p for p, q in zip(a, b, strict=True)]
        L = sp.sqrt(square(a, b))
        u, n = (w[0] / L, w[1] / L), (-w[1] / L, w[0] / L)

        def draw(size: float) -> list[Shape]:
            corners = [
                (r[0] + size * (x * u[0] + y * n[0]), r[1] + size * (x * u[1] + y * n[1]))
                for x, y in ((-_LONG, -_HIGH), (_LONG, -_HIGH), (_LONG, _HIGH), (-_LONG, _HIGH))
            ]
            return [shape_line(*(self._flat(c) for c in (*corners, corners[0])))]

        self._draw(draw, r)

    def _mark(self, ends: Line) -> None:
        """Draw a line on which a point slides or which it hits, if it does not turn."""
        a, b = self._ends(ends, "")
        if not any(self._moving(c) for c in (*a, *b)):
            self._draw(lambda size: [ground(self._flat(a), self._flat(b))])
