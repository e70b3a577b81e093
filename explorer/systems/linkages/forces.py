"""`Forces`: forces, torsional springs, torques, friction and motors of a linkage.

The direction of a bar is w = r_b - r_a; it turns at the rate theta' = (w_x w_y' - w_y w_x')/|w|^2,
so a torque tau on it adds tau d theta'/dv to F.
"""

from __future__ import annotations

import sympy as sp

from explorer.errors import BadModel
from explorer.systems.linkages.parts import Given, Place, Vector, square
from explorer.systems.linkages.points import Points
from explorer.systems.sketch import Shape, arrow, circle
from explorer.types import Value

__all__ = ["Forces"]


class Forces(Points):
    """Forces, torsional springs, friction and motors of a linkage; see `Linkage`."""

    def force(self, point: Place, x: Value = 0, y: Value = 0) -> None:
        """Add a force (x, y) in N at a point: formulas of t, the state so far and parameters."""
        at = self._at(point)
        what = f"force at {at.name!r} of '{self.name}'"
        f = [self._read(c, what, state=True) for c in (x, y)]
        self._part("", f"force {at.name}")
        self._act(at.place, f)
        self._draw(lambda size: _pointing(at.place, f, size))

    # -- what turns bars ----------------------------------------------------------------------

    def torsion(
        self,
        a: Place,
        b: Place,
        *,
        k: Given = 0,
        c: Given = 0,
        angle: Given | None = None,
        against: tuple[Place, Place] | None = None,
        name: str = "",
    ) -> None:
        """Add a torsional spring and damper to the bar from a to b.

        The potential is k d^2 / 2, where d in (-pi, pi] is the angle from its rest to the bar.

        Parameters
        ----------
        a, b : point or name
        k, c : number, formula or Param
            Stiffness in N m/rad, damping in N m s/rad.
        angle : number, formula or Param, optional
            Its angle at rest in rad, from the x-axis or from `against`; that of the start by
            default.
        against : (point, point), optional
            The bar that takes the reaction; the ground by default.
        name : str
            "torsion a b" by default.
        """
        label = self._part(name, f"torsion {self._at(a).name} {self._at(b).name}")
        w, u = self._directions(a, b, against, label)
        if angle is None:
            (wx, wy), (ux, uy) = (tuple(map(self._at_start, x)) for x in (w, u))
            rest = sp.atan2(ux * wy - uy * wx, ux * wx + uy * wy)
        else:
            rest = self._constant(angle, f"angle of {label!r}", f"angle_{label}", "rad")
        ux, uy = (
            u[0] * sp.cos(rest) - u[1] * sp.sin(rest),
            u[0] * sp.sin(rest) + u[1] * sp.cos(rest),
        )
        turned = sp.atan2(ux * w[1] - uy * w[0], ux * w[0] + uy * w[1])
        k = self._constant(k, f"stiffness of {label!r}", f"k_{label}", "N m/rad")
        c = self._constant(c, f"damping of {label!r}", f"c_{label}", "N m s/rad")
        self._potential += k * turned**2 / 2
        rate = self._turning(w) - self._turning(u)
        self._twist(rate, -k * turned - c * rate)
        self._draw(lambda size: _round(self._at(a).place, 1.5 * size))

    def friction(
        self,
        a: Place,
        b: Place,
        *,
        mu: Value,
        load: Value,
        radius: Given,
        against: tuple[Place, Place] | None = None,
        name: str = "",
    ) -> None:
        """Add dry friction of a journal to the bar from a to b: a torque up to mu load radius.

        The load is given, because a contact knows its own force only, not that of a joint. It is
        the weight of a pad: a coordinate ``pad_...`` that rests.

        Parameters
        ----------
        a, b : point or name
        mu : number or formula
            Coefficient of friction.
        load : number or formula
            That presses in N; may depend on t and the state so far.
        radius : number, formula or Param
            Of the journal in m.
        against : (point, point), optional
            The bar that takes the reaction; the ground by default.
        name : str
            "friction a b" by default.
        """
        label = self._between(a, b, "friction", name)[-1]
        w, u = self._directions(a, b, against, label)
        R = self._constant(radius, f"radius of {label!r}", f"R_{label}", "m", positive=True)
        self._pad(R * (self._turning(w) - self._turning(u)), label, load, mu)

    def motor(
        self,
        a: Place,
        b: Place,
        *,
        angle: Value | None = None,
        distance: Value | None = None,
        torque: Value | None = None,
        force: Value | None = None,
        against: tuple[Place, Place] | None = None,
        name: str = "",
    ) -> None:
        """Add a motor between two points that prescribes what it does, or with what effort.

        Give one of these, a formula of t and parameters; torque and force may depend on the state.

        Parameters
        ----------
        a, b : point or name
        angle : formula
            Of the bar from a to b in rad, from the x-axis or from `against`: a constraint, whose
            multiplier times the length of the bar is the torque.
        distance : formula
            Of a and b in m: a constraint, whose multiplier is the pull of the motor in N.
        torque : formula
            On the bar from a to b in N m; `against`, or the ground, takes the reaction.
        force : formula
            That pushes a and b apart, in N.
        against : (point, point), optional
        name : str
            "motor a b" by default.
        """
        given = {"angle": angle, "distance": distance, "torque": torque, "force": force}
        wanted = [(kind, value) for kind, value in given.items() if value is not None]
        if len(wanted) != 1:
            raise BadModel(
                f"A motor of '{self.name}' takes one of angle, distance, torque, force, but "
                f"{', '.join(kind for kind, _ in wanted) or 'none'} is given."
            )
        (kind, value), (one, two) = wanted[0], self._two(a, b, "The motor")
        label = self._part(name, f"motor {self._at(a).name} {self._at(b).name}")
        effort = kind in ("torque", "force")
        x = self._read(value, f"{kind} of {label!r}", state=effort, time=True)
        if kind == "angle":
            self._drive(a, b, x, against, label)
        elif kind == "torque":
            w, u = self._directions(a, b, against, label)
            self._twist(self._turning(w) - self._turning(u), x)
        else:
            L = self._length(one, two, None, label)
            w = tuple(q - p for p, q in zip(one, two, strict=True))
            if kind == "distance":
                if not self._number(x) > 0:
                    raise BadModel(
                        f"The distance of {label!r} starts at {self._number(x):g} m, but must be "
                        "greater than zero."
                    )
                self._tie((square(one, two) - x**2) / (2 * L), label)
            else:
                self._act(w, [x * c / sp.sqrt(square(one, two)) for c in w])
        if kind in ("angle", "torque"):
            self._draw(lambda size: _round(one, 2 * size))
        else:
            self._draw(lambda size: self._dashpot(one, two))

    def _drive(
        self, a: Place, b: Place, angle: sp.Expr, against: tuple[Place, Place] | None, label: str
    ) -> None:
        """Prescribe the angle of a bar: its part across the direction is zero."""
        w, u = self._directions(a, b, against, label)
        cos, sin = sp.cos(angle), sp.sin(angle)
        x, y = u[0] * cos - u[1] * sin, u[0] * sin + u[1] * cos
        size = 1 if against is None else self._reach(*against)
        if self._number(x * w[0] + y * w[1]) <= 0:
            raise BadModel(
                f"{label!r} of '{self.name}' starts at the angle {self._number(angle):g} rad, more "
                "than a quarter turn from the direction of its bar. Give the angle in rad, from "
                "the x-axis or from `against`, counter-clockwise."
            )
        self._tie((x * w[1] - y * w[0]) / size, label)

    def _reach(self, a: Place, b: Place) -> sp.Expr:
        """Return the length of a bar, or the distance of its ends at the start."""
        key = frozenset((self._at(a).name, self._at(b).name))
        one, two = self._two(a, b, "The bar")
        return self._lengths.get(key, sp.sqrt(self._at_start(square(one, two))))

    def _directions(
        self, a: Place, b: Place, against: tuple[Place, Place] | None, label: str
    ) -> tuple[Vector, Vector]:
        """Return the directions of a bar and of what takes the reaction; neither may be zero."""
        found = []
        for pair in ((a, b), *([against] if against is not None else [])):
            one, two = self._two(*pair, what=f"{label!r}")
            self._length(one, two, None, label)
            found.append(tuple(q - p for p, q in zip(one, two, strict=True)))
        return found[0], found[1] if against is not None else (sp.Integer(1), sp.Integer(0))

    def _turning(self, w: Vector) -> sp.Expr:
        """Return the angular velocity of a direction."""
        x, y = w
        across = x * self._velocity(y) - y * self._velocity(x)
        return across / (x**2 + y**2) if across != 0 else sp.Integer(0)


def _round(at: Vector, radius: float) -> list[Shape]:
    """Return the circle of what turns."""
    return [circle(at[0], at[1], radius, role="link")]


def _pointing(at: Vector, force: list[sp.Expr], size: float) -> list[Shape]:
    """Return the direction of a force that is not zero."""
    norm = sp.sqrt(force[0] ** 2 + force[1] ** 2 + 1e-12)
    head = (at[0] + 6 * size * force[0] / norm, at[1] + 6 * size * force[1] / norm)
    return [arrow((at[0], at[1]), head)]
