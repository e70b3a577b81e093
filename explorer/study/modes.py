"""Natural modes K phi = omega^2 M phi of a linear system, or of one linearised about a state.

q(t) = q0 + phi sin(omega t) solves the linearised equations without damping; the shapes are
orthogonal in M and in K (Meirovitch, *Fundamentals of Vibrations*, 7.4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from explorer.compiled import Compiled, compile_system, short
from explorer.compiled.checks import check_mass
from explorer.errors import BadValue, NotApplicable
from explorer.parameters import whole
from explorer.quantities import many, quantity
from explorer.study import study
from explorer.systems import (
    LagrangianSystem,
    LinearMechanicalSystem,
    MechanicalSystem,
    System,
    check_system,
    values_given,
)
from explorer.systems.massless import without_mass
from explorer.systems.modal import largest_square, natural_modes
from explorer.types import Numbers

__all__ = ["Modes", "modes"]

_MOST = 3000  # of which all modes are computed, with full matrices
_AT_REST = 1e-9  # of the largest coordinate: one that is smaller tells no unit
_BALANCED = 1e-8  # of the forces: what may be left of them in an equilibrium


@study
@dataclass(frozen=True, repr=False)
class Modes:
    """Natural modes, lowest first.

    Attributes
    ----------
    system : the system
    q : (n,) float
        The state about which it was linearised, in m (0 for a linear system).
    squares : (k,) float
        omega^2 in 1/s2; negative for an unstable mode.
    shapes : (n, k) float
        Columns phi with phi' M phi = 1; the largest entry of each is positive.
    ratios : (k,) float
        Damping ratios phi' C phi / (2 omega): those of the modes where C leaves them uncoupled,
        else its part in each mode; NaN where omega^2 <= 0.
    infinite : int
        Number of omitted infinite frequencies, those of massless directions.
    """

    system: LagrangianSystem
    q: np.ndarray
    squares: np.ndarray
    shapes: np.ndarray
    ratios: np.ndarray
    infinite: int = 0

    @property
    def omega(self) -> np.ndarray:
        """Angular frequencies in rad/s, (k,); NaN for an unstable mode."""
        return np.sqrt(np.where(self.squares < 0, np.nan, self.squares))

    @property
    def frequencies(self) -> np.ndarray:
        """Frequencies in Hz, (k,)."""
        return self.omega / (2 * np.pi)

    @property
    def periods(self) -> np.ndarray:
        """Periods in s, (k,); infinite for a rigid motion."""
        with np.errstate(divide="ignore"):
            return 1 / self.frequencies

    def __repr__(self) -> str:
        return f"Modes({self.system.name!r}, omega = {short(self.omega)} rad/s{self._left_out})"

    @property
    def _left_out(self) -> str:
        if not self.infinite:
            return ""
        return f"; {self.infinite} without mass left out, at infinite frequency"

    def _repr_markdown_(self) -> str:
        head = (
            "| mode | ω² in 1/s² | ω in rad/s | f in Hz | T in s | ξ |\n|---|---|---|---|---|---|"
        )
        rows = [
            f"| {k + 1} | {' | '.join(map(quantity, (s, w, w / (2 * np.pi), T)))} "
            f"| {quantity(xi, '', 4)} |"
            for k, (s, w, T, xi) in enumerate(
                zip(self.squares, self.omega, self.periods, self.ratios, strict=True)
            )
        ]
        title = f"**{self.system.name}** — natural modes about q = {short(self.q)}"
        title += self._left_out
        return f"{title}\n\n" + "\n".join([head, *rows]).replace("nan", "–")


@study
def modes(
    system: System,
    count: int | None = None,
    *,
    about: ArrayLike = "equilibrium",
    rho: Numbers | None = None,
    **parameters: float,
) -> Modes:
    """Return the natural modes of a mechanical system.

    Parameters
    ----------
    system : LinearMechanicalSystem or MechanicalSystem
        A mechanical system is linearised at rest: K = -dF/dq, C = -dF/dv at t = 0. Contacts count
        as open, springs that yield as elastic. Infinite frequencies of massless directions are
        omitted.
    count : int, optional
        Number of modes, the lowest first; all by default.
    about : str or (n,) float
        "equilibrium": the zero of the force that Newton's method finds from the start; "start"; or
        coordinates.
    rho, **parameters
        Parameters by name.

    Raises
    ------
    BadModel
        If the mass matrix is indefinite, or a direction has neither mass nor stiffness.
    BadValue
        If no equilibrium is found, `count` is below one, all modes of a very large system are
        wanted, or the stiffness is not symmetric.
    NotApplicable
        If the system has another type, or constraints.

    Examples
    --------
    >>> import explorer as ex
    >>> ex.study.modes(ex.models.shear_building(2), m=1, k=4).omega.round(4)
    array([1.2361, 3.2361])
    """
    check_system(system)
    if not isinstance(system, (MechanicalSystem, LinearMechanicalSystem)):
        raise NotApplicable(
            f"'{system.name}' has no natural modes: only a mechanical system has them."
        )
    if system.constraints:
        raise NotApplicable(
            f"'{system.name}' has constraints, but natural modes need free coordinates: write the "
            "system in minimal coordinates."
        )
    if count is not None:
        count = whole(count, "count")
    compiled, values = compile_system(system), system.rho(values_given(system, rho, parameters))
    inp, n = compiled.input(values), system.n
    if not isinstance(system, LinearMechanicalSystem):
        inp[1 : 1 + n] = _about(compiled, values, about)
    M, K, C = compiled.tangents(inp)
    bare = 0
    if check_mass(system.name, M, lambda: "there", singular=True):
        bare = without_mass(M).shape[1]
    if n > _MOST and (count is None or count > _MOST):
        raise BadValue(
            f"'{system.name}' has {n} modes; ask for some of the lowest, such as modes(system, 10)."
        )
    if count is not None and count > (most := n - bare):
        raise BadValue(
            f"count = {count}, but '{system.name}' has {many(most, 'mode')} of finite frequency."
        )
    asymmetry, size = abs(K - K.T).max(), abs(K).max()
    if asymmetry > 1e-9 * size:
        raise BadValue(
            f"The stiffness of '{system.name}' is not symmetric (by {asymmetry / size:.2g} of its "
            "largest entry), as with forces that follow the motion: it has no natural modes."
        )
    squares, shapes = natural_modes(M, K, count)
    # what is zero but for rounding is a rigid motion
    top = largest_square(M, K)
    squares = np.where(np.abs(squares) <= 1e-12 * top, 0.0, squares)
    biggest = np.abs(shapes).argmax(axis=0)
    shapes = shapes * np.sign(shapes[biggest, np.arange(shapes.shape[1])])
    with np.errstate(invalid="ignore", divide="ignore"):
        omega = np.sqrt(np.where(squares > 0, squares, np.nan))
        ratios = np.sum(shapes * (C @ shapes), axis=0) / (2 * omega)
    return Modes(system, inp[1 : 1 + n].copy(), squares, shapes, ratios, bare)


def _about(compiled: Compiled, values: Sequence[float], about: ArrayLike) -> np.ndarray:
    """Return the coordinates about which the system is linearised."""
    n, inp = compiled.n, compiled.input(values)
    if not isinstance(about, str):
        q = np.array(about, float, ndmin=1)
        if q.shape != (n,) or not np.isfinite(q).all():
            raise BadValue(f"about needs {n} finite numbers, or 'equilibrium', or 'start'.")
        return q
    start: np.ndarray = compiled.start(values)[0]
    if about == "start":
        return start
    if about != "equilibrium":
        raise BadValue(f"about = {about!r} must be 'equilibrium', 'start' or {n} coordinates.")

    def force(q: np.ndarray) -> np.ndarray:
        inp[1 : 1 + n] = q
        return compiled.forces(inp)

    def slope(q: np.ndarray) -> np.ndarray:
        inp[1 : 1 + n] = q
        stiffness: np.ndarray = compiled.tangents(inp)[1]
        return -stiffness

    # in units of the first step and of its forces, so that the unit of the model plays no role
    K = slope(start)
    try:
        first = np.linalg.solve(K, -force(start))
    except np.linalg.LinAlgError:
        first = start
    unit = np.nan_to_num(np.maximum(np.abs(start), np.abs(first)), posinf=0.0)
    unit[~(unit > _AT_REST * unit.max())] = unit.max() if 0 < unit.max() < np.inf else 1.0
    size = np.abs(K) @ unit
    size[~(size > 0)] = size.max() if 0 < size.max() < np.inf else 1.0
    root = scipy.optimize.root(
        lambda z: force(z * unit) / size,
        start / unit,
        jac=lambda z: slope(z * unit) * unit / size[:, None],
        tol=1e-13,
    )
    found: np.ndarray = root.x * unit
    far = np.maximum(size, np.abs(slope(found)) @ np.maximum(unit, np.abs(found)))
    left = np.abs(force(found))
    if not (left / far).max() <= _BALANCED:
        raise BadValue(
            f"'{compiled.system.name}' has no equilibrium near its start: the residual force is "
            f"{left.max():.3g}. Give about='start', or coordinates near one."
        )
    return found
