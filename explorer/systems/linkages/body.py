"""`Body`: a rigid body by the place x of its centre of mass and a quaternion p, with |p| = 1.

R(p) turns the axes of the body into those of space. With E(p) = [-e, e0 I - e~], p = (e0, e), the
angular velocity in the axes of the body is 2 E p'. The kinetic energy

    T = m |x'|^2 / 2 + 2 p' E' J E p' + 2 J0 (p . p')^2,    J0 = tr(J) / 3

has the mass matrix 4 E' J E + 4 J0 p p', which is positive definite for every p but 0, because E p
= 0 and E E' = |p|^2 I. On |p| = 1 the last term vanishes and does no work, whatever J0 is; the
equations are those of Euler (Udwadia, Schutte 2010, doi:10.1115/1.4000917). E(p) p' = -E(p') p and
Lagrange's equations give the force

    -8 E(p')' J E(p) p' - 4 J0 |p'|^2 p
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy
import sympy as sp

from explorer.errors import BadModel
from explorer.systems.linkages.parts import Point, Vector
from explorer.types import Formula, Value

__all__ = [
    "Body",
    "angular",
    "conjugate",
    "frame",
    "inertial_force",
    "product",
    "quaternion",
    "rotation",
    "rotation_forms",
    "rotational_mass",
]


def rotation(p: Sequence[sp.Expr]) -> sp.Matrix:
    """Return R(p) (3, 3): the axes of a body with the quaternion p in space, times |p|^2."""
    e0, x, y, z = p
    return sp.Matrix(
        [
            [e0**2 + x**2 - y**2 - z**2, 2 * (x * y - e0 * z), 2 * (x * z + e0 * y)],
            [2 * (x * y + e0 * z), e0**2 - x**2 + y**2 - z**2, 2 * (y * z - e0 * x)],
            [2 * (x * z - e0 * y), 2 * (y * z + e0 * x), e0**2 - x**2 - y**2 + z**2],
        ]
    )


@functools.cache
def rotation_forms() -> npt.NDArray[np.float64]:
    """Return T (3, 3, 4, 4), symmetric in the last two: R_ij(p) = p' T_ij p."""
    p = sp.symbols("p:4")
    forms = [[sp.hessian(entry, p) / 2 for entry in row] for row in rotation(p).tolist()]
    return np.array([[np.array(form, float) for form in row] for row in forms])


def angular(p: Sequence[sp.Expr], *, inside: bool = True) -> sp.Matrix:
    """Return E(p) (3, 4): the angular velocity is 2 E p', in the axes of the body or in space."""
    e0, x, y, z = p
    s = 1 if inside else -1
    return sp.Matrix([[-x, e0, s * z, -s * y], [-y, -s * z, e0, s * x], [-z, s * y, -s * x, e0]])


def product(p: Sequence[sp.Expr], r: Sequence[sp.Expr]) -> Vector:
    """Return the quaternion p r (4,): R(p r) = R(p) R(r)."""
    a, x, y, z = p
    b, u, v, w = r
    return (
        a * b - x * u - y * v - z * w,
        a * u + x * b + y * w - z * v,
        a * v - x * w + y * b + z * u,
        a * w + x * v - y * u + z * b,
    )


def conjugate(p: Sequence[sp.Expr]) -> Vector:
    """Return the quaternion (4,) of the opposite turn."""
    return (p[0], -p[1], -p[2], -p[3])


def quaternion(axes: Sequence[sp.Matrix]) -> Vector:
    """Return a quaternion (4,) whose R has three directions as columns: numbers."""
    R = np.column_stack([np.array(a, float).ravel() for a in axes])
    x, y, z, w = scipy.spatial.transform.Rotation.from_matrix(R).as_quat()
    return tuple(int(c) if c in (-1, 0, 1) else sp.Float(c) for c in (w, x, y, z))


def rotational_mass(p: Sequence[sp.Expr], J: sp.Matrix) -> sp.Matrix:
    """Return 4 E' J E + 4 J0 p p' (4, 4)."""
    E, e = angular(p), sp.Matrix(p)
    return (4 * E.T * J * E + 4 * J.trace() / 3 * e * e.T).expand()


def inertial_force(p: Sequence[sp.Expr], rate: Sequence[sp.Expr], J: sp.Matrix) -> sp.Matrix:
    """Return -8 E(p')' J E(p) p' - 4 J0 |p'|^2 p (4,)."""
    E, e, de = angular(p), sp.Matrix(p), sp.Matrix(rate)
    return -8 * angular(rate).T * J * (E * de) - 4 * J.trace() / 3 * (de.T * de)[0] * e


def frame(axis: Sequence[float], what: str) -> tuple[sp.Matrix, sp.Matrix, sp.Matrix]:
    """Return two directions across an axis and the axis, orthonormal and right-handed.

    Raises
    ------
    BadModel
        If the axis is zero.
    """
    a = np.array(axis, float)
    size = np.linalg.norm(a)
    if a.shape != (3,) or not (np.isfinite(size) and size > 0):
        raise BadModel(f"The direction of {what} needs three numbers, not all zero, not {axis!r}.")
    a = a / size
    first = np.eye(3)[(int(np.abs(a).argmax()) + 1) % 3]
    n = first - (first @ a) * a
    n /= np.linalg.norm(n)
    b = np.cross(a, n)
    return _exact(n), _exact(b), _exact(a)


def _exact(v: np.ndarray) -> sp.Matrix:
    """Return a vector in which -1, 0 and 1 are integers."""
    return sp.Matrix([int(x) if x in (-1, 0, 1) else x for x in v.tolist()])


@dataclass(frozen=True, eq=False)
class Body:
    """A rigid body of a `Multibody`.

    Attributes
    ----------
    name : str
    place : (3,) symbols
        Its centre of mass in m, ``x_<name>``, ``y_<name>``, ``z_<name>``.
    quaternion : (4,) symbols
        ``e0_<name>`` to ``e3_<name>``.
    mass : formula
        In kg.
    inertia : (3, 3) Matrix
        About the centre of mass, in the axes of the body, in kg m2.

    Examples
    --------
    >>> import explorer as ex
    >>> top = ex.Multibody("top").body("A", mass=2, inertia=(1, 1, 1))
    >>> top.place, top.quaternion
    ((x_A, y_A, z_A), (e0_A, e1_A, e2_A, e3_A))
    """

    name: str
    place: Vector
    quaternion: Vector
    mass: Formula
    inertia: sp.Matrix
    read: Callable[[Value, str], sp.Expr]

    @property
    def rotation(self) -> sp.Matrix:
        """R (3, 3): its axes in space."""
        return rotation(self.quaternion)

    @property
    def rates(self) -> Vector:
        """p' (4,): symbols."""
        return tuple(sp.Symbol(f"v_{p.name}") for p in self.quaternion)

    @property
    def spin(self) -> sp.Matrix:
        """The angular velocity (3,) in the axes of the body in rad/s, a formula."""
        return 2 * angular(self.quaternion) * sp.Matrix(self.rates)

    @property
    def angular_velocity(self) -> sp.Matrix:
        """The angular velocity (3,) in space in rad/s, a formula."""
        return 2 * angular(self.quaternion, inside=False) * sp.Matrix(self.rates)

    @property
    def centre(self) -> Point:
        """The centre of mass."""
        return Point(self.name, self.place, self.name, (sp.Integer(0),) * 3)

    def point(self, x: Value, y: Value, z: Value) -> Point:
        """Return a point of the body by its coordinates in the axes of the body, in m."""
        what = f"a point of {self.name!r}"
        inside = tuple(self.read(c, what) for c in (x, y, z))
        return self.at(inside)

    def at(self, inside: Vector) -> Point:
        """Return the point with these coordinates, formulas of the parameters."""
        place = sp.Matrix(self.place) + self.rotation * sp.Matrix(inside)
        label = ", ".join(f"{float(c):.3g}" if c.is_number else str(c) for c in inside)
        return Point(f"{self.name} ({label})", tuple(place), self.name, inside)
