"""`Multibody`: rigid bodies in space with joints, motors, stops and friction.

A joint has the directions n, b, a in both bodies, where a is its axis. The quaternion of the second
directions beside the first ones is r = (c, x, y, s), which is bilinear in the quaternions of the
bodies. They are parallel where x = y = s = 0; a revolute joint keeps x = y = 0 and turns by the
angle 2 atan2(s, c) at the rate a1 . (omega2 - omega1); other constraints are parts of r2 - r1 that
vanish. (Products of directions, as Garcia de Jalon, Bayo 1994, section 2.3, have degree 4 in the
quaternions, and hold after half a turn as well.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import sympy as sp

from explorer.errors import BadModel
from explorer.systems.linkages.bodies import Bodies, Place
from explorer.systems.linkages.body import Body, conjugate, frame, product, quaternion
from explorer.systems.linkages.parts import Given, Point, Vector
from explorer.types import Formula, Value

__all__ = ["Joint", "Multibody"]


@dataclass(frozen=True)
class Joint:
    """A joint with one degree of freedom, which stops, motors and friction act on.

    Attributes
    ----------
    name : str
    turns : bool
        Whether it is revolute; else it is prismatic.
    amount : formula
        Its angle in (-2 pi, 2 pi] in rad, or its displacement in m.
    rate : formula
        Its speed in rad/s or m/s.
    half : (formula, formula)
        Of a revolute joint: cosine and sine of half its angle.
    """

    name: str
    turns: bool
    amount: Formula
    rate: Formula
    half: tuple[Formula, Formula] = (sp.Integer(1), sp.Integer(0))


class Multibody(Bodies):
    """Rigid bodies in space, written part by part; `system` makes a `MechanicalSystem` of it.

    Parts are added in this order: parameters, then bodies, then what joins them. A joint whose
    second end is not given holds at the start as it is declared. Gravity acts along -z.

    Bodies      body; body.point(x, y, z) in the axes of the body
    Joints      spherical, revolute, prismatic, fixed, rod
    On joints   motor, limit, friction, torsion
    Forces      force, torque, spring, damper
    Contacts    contact with a plane, rope, stop

    The orientation is a quaternion p with the constraint |p| = 1; M is positive definite for every
    p but 0 (see `explorer.systems.linkages.body`). Friction of a joint by its own reaction force
    cannot be written: a contact knows one normal force, but the reaction of a joint has several
    parts. `friction` takes a given load; a guide with play is written with two contacts.

    Parameters
    ----------
    name : str
    gravity : number, formula or Param
        In m/s2.
    params : dict of str to Param or float
        Parameters, which parts use by name.
    view : (azimuth, elevation)
        From where the sketch is seen, in degrees; parts are drawn from back to front.
    text : str
        One sentence on what the system shows.

    Raises
    ------
    BadModel
        If names clash, a quaternion or an axis is zero, an inertia is not positive definite, or
        the bodies cannot be assembled (see `system`).

    Examples
    --------
    A heavy symmetric top on its tip:

    >>> import explorer as ex
    >>> space = ex.Multibody("top", params=dict(C=2e-4))
    >>> top = space.body("top", mass=0.2, inertia=(3e-4, 3e-4, "C"), at=(0, 0.03, 0.04),
    ...                  turn=((1, 0, 0), -0.6435), spin=(0, 0, 150))
    >>> space.spherical(top.point(0, 0, -0.05), (0, 0, 0), name="tip")
    >>> system = space.system(t_end=1)
    >>> system.coordinates
    ('x_top', 'y_top', 'z_top', 'e0_top', 'e1_top', 'e2_top', 'e3_top')
    >>> run = ex.simulate(system, ex.MoreauJean(h=1e-3, projection="constraints"), t_end=0.1)
    >>> run.status.name
    'success'
    """

    references = ("garcia-de-jalon-1994", "udwadia-schutte-2010")

    # -- joints -------------------------------------------------------------------------------

    def spherical(self, first: Place, second: Place | None = None, *, name: str = "") -> None:
        """Join two points: a ball joint.

        Parameters
        ----------
        first : body.point(x, y, z) or body
        second : the same, (x, y, z) in space, or None, optional
            A body stands for its point that is at `first` at the start, None for the ground.
        name : str
            "spherical <body> <body>" by default.
        """
        one, two, label = self._joined(first, second, "spherical", name)
        self._meet(one, two, label)

    def revolute(
        self,
        first: Place,
        second: Place | None = None,
        *,
        axis: Sequence[float] = (0, 0, 1),
        axis_2: Sequence[float] | None = None,
        name: str = "",
    ) -> Joint:
        """Join two bodies by a hinge.

        Parameters
        ----------
        first, second : as for `spherical`
        axis : (3,)
            Its direction in the axes of the first body.
        axis_2 : (3,), optional
            Its direction in those of the second body; by default the one at the start, where the
            angle is zero then.
        name : str
            "revolute <body> <body>" by default.
        """
        one, two, label = self._joined(first, second, "revolute", name)
        turned = self._turned(one, two, axis, axis_2, label)
        c, *across, s = turned
        self._meet(one, two, label)
        for k, part in enumerate(across, 1):
            self._tie(2 * part, f"{label} axis {k}")
        a1 = self._axes(one.body) * frame(axis, label)[2]
        rate = a1.dot(self._turning(two.body) - self._turning(one.body))
        return Joint(label, True, 2 * sp.atan2(s, c), rate, (c, s))

    def prismatic(
        self,
        first: Place,
        second: Place | None = None,
        *,
        axis: Sequence[float] = (0, 0, 1),
        axis_2: Sequence[float] | None = None,
        name: str = "",
    ) -> Joint:
        """Join two bodies by a guide that neither turns nor leaves its axis; see `revolute`."""
        one, two, label = self._joined(first, second, "prismatic", name)
        A, what = self._axes(one.body), f"{label!r} of '{self.name}'"
        n1, b1, a1 = (A * direction for direction in frame(axis, what))
        away = sp.Matrix(two.place) - sp.Matrix(one.place)
        for k, direction in enumerate((n1, b1), 1):
            self._tie(direction.dot(away), f"{label} across {k}")
        self._align(self._turned(one, two, axis, axis_2, label), label)
        s = a1.dot(away)
        return Joint(label, False, s, self._velocity(s))

    def fixed(self, first: Place, second: Place | None = None, *, name: str = "") -> None:
        """Weld two bodies together as they are at the start; see `spherical`."""
        one, two, label = self._joined(first, second, "fixed", name)
        self._meet(one, two, label)
        self._align(self._turned(one, two, (0, 0, 1), None, label), label)

    def _joined(
        self, first: Place, second: Place | None, kind: str, name: str
    ) -> tuple[Point, Point, str]:
        """Return the two points of a joint and its name."""
        one = self._at(first)
        if not one.body:
            raise BadModel(
                f"The first end of a {kind} joint of '{self.name}' must be a body or one of its "
                "points; the second one may be fixed in space."
            )
        start = sp.Matrix([self._at_start(c) for c in one.place])
        if second is None:
            two = Point("ground", tuple(start))
        elif isinstance(second, Body | str):
            other = self.bodies[self._at(second).name]
            centre = sp.Matrix([self._at_start(c) for c in other.place])
            two = other.at(tuple(self._start_axes(other.name).T * (start - centre)))
        else:
            two = self._at(second)
        if one.body == two.body:
            raise BadModel(f"A {kind} joint of '{self.name}' joins {one.body!r} to itself.")
        self._spoke(one)
        self._spoke(two)
        return one, two, self._part(name, f"{kind} {one.body} {two.body or 'ground'}")

    def _start_axes(self, body: str) -> sp.Matrix:
        return self._axes(body).applyfunc(self._at_start)

    def _turned(
        self,
        one: Point,
        two: Point,
        axis: Sequence[float],
        axis_2: Sequence[float] | None,
        label: str,
    ) -> Vector:
        """Return (c, x, y, s), the quaternion from the first directions of a joint to the second.

        Of the two quaternions that every turn has, it is the one with c >= 0 at the start.
        """
        what = f"{label!r} of '{self.name}'"
        first, second = (self._quaternion_of(p.body) for p in (one, two))
        inside = quaternion(frame(axis, what))
        if axis_2 is None:
            start, other = (tuple(map(self._at_start, p)) for p in (first, second))
            back = product(product(conjugate(other), start), inside)
        else:
            back = quaternion(frame(axis_2, what))
        turned = product(conjugate(inside), product(product(conjugate(first), second), back))
        sign = -1 if self._number(turned[0]) < 0 else 1
        return tuple(sp.expand(sign * part) for part in turned)

    def _meet(self, one: Point, two: Point, label: str) -> None:
        for c, a, b in zip("xyz", one.place, two.place, strict=True):
            self._tie(a - b, f"{label} {c}")

    def _align(self, turned: Vector, label: str) -> None:
        """Keep the axes of two bodies parallel; the multipliers are torques in N m."""
        for k, part in enumerate(turned[1:], 1):
            self._tie(2 * part, f"{label} turn {k}")

    def _chord(self, joint: Joint, x: sp.Expr) -> sp.Expr:
        """Return 2 sin(d / 2) of the angle d from x to that of a joint."""
        c, s = joint.half
        return 2 * (sp.cos(x / 2) * s - sp.sin(x / 2) * c)

    # -- on joints ----------------------------------------------------------------------------

    def motor(
        self, joint: Joint, *, position: Value | None = None, effort: Value | None = None
    ) -> None:
        """Drive a joint: prescribe where it is, or the torque or force on it.

        Parameters
        ----------
        joint : Joint
        position : formula of t and parameters
            Its angle in rad or its displacement in m: a constraint.
        effort : formula of t, the state so far and parameters
            On the second body, in N m or N; the first one takes the reaction.
        """
        if (position is None) == (effort is None):
            raise BadModel(f"A motor of '{self.name}' takes either a position or an effort.")
        label = self._part("", f"motor {joint.name}")
        if effort is not None:
            self._twist(joint.rate, self._read(effort, f"effort of {label!r}", state=True))
            return
        x = self._read(position, f"position of {label!r}", time=True)
        if not joint.turns:
            self._tie(joint.amount - x, label)
            return
        c, s = joint.half
        if self._number(sp.cos(x / 2) * c + sp.sin(x / 2) * s) <= 0:
            raise BadModel(
                f"{label!r} of '{self.name}' starts at {self._number(x):g} rad, more than half a "
                f"turn from its joint, whose angle is {self._number(joint.amount):.3g} rad there."
            )
        self._tie(self._chord(joint, x), label)

    def limit(
        self,
        joint: Joint,
        *,
        low: Value | None = None,
        high: Value | None = None,
        e: Value | None = None,
    ) -> None:
        """Add stops of a joint, contacts with the restitution e, in rad or m.

        The gap of a revolute joint is 2 sin(d / 2), with the angle d to the stop: a stop is hit
        from its other side after a whole turn.

        Raises
        ------
        BadModel
            If a revolute joint starts outside of its stops, or a turn away from one.
        """
        if low is None and high is None:
            raise BadModel(f"A limit of '{self.name}' needs low, high, or both.")
        for value, sign, side in ((low, 1, "low"), (high, -1, "high")):
            if value is not None:
                label = self._part("", f"{side} {joint.name}")
                x = self._read(value, f"limit {label!r}", time=True)
                away = sign * (joint.amount - x)
                if joint.turns:
                    self._within(away, label)
                    away = sign * self._chord(joint, x)
                self._touch(away, label, e)

    def _within(self, away: sp.Expr, label: str) -> None:
        """Refuse a stop that a joint has passed at the start."""
        size = self._number(away)
        if not -1e-12 <= size < 2 * np.pi:
            raise BadModel(
                f"{label!r} of '{self.name}' is {size:.3g} rad away from its joint at the start, "
                "but that must lie between 0 and 2 pi. Angles start in [-pi, pi]."
            )

    def friction(self, joint: Joint, *, mu: Value, load: Value, radius: Given = 1) -> None:
        """Add dry friction to a joint: up to mu load, times the radius if it turns.

        The load in N is given, a formula of t, the state so far and parameters: it is the weight of
        a pad, a coordinate ``pad_...`` that rests (see `Multibody`).
        """
        label = self._part("", f"friction {joint.name}")
        R = self._constant(radius, f"radius of {label!r}", f"R_{label}", "m", positive=True)
        self._pad(joint.rate * R if joint.turns else joint.rate, label, load, mu)

    def torsion(self, joint: Joint, *, k: Given = 0, c: Given = 0, rest: Given = 0) -> None:
        """Add a spring with the potential k (amount - rest)^2 / 2, and a damper, to a joint.

        k in N m/rad (or N/m), c in N m s/rad (or N s/m), rest in rad (or m).
        """
        label = self._part("", f"torsion {joint.name}")
        k = self._constant(k, f"stiffness of {label!r}", f"k_{label}")
        c = self._constant(c, f"damping of {label!r}", f"c_{label}")
        rest = self._constant(rest, f"rest of {label!r}", f"rest_{label}")
        stretch = joint.amount - rest
        self._potential += k * stretch**2 / 2
        self._twist(joint.rate, -k * stretch - c * joint.rate)
