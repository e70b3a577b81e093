"""Mass matrix and force of a Lagrangian L = T - V: d/dt (dT/dv) - dT/dq = -dV/dq + Q.

With T quadratic in v, M = T_vv and F = Q - V_q + T_q - T_vq v - T_vt (Goldstein, *Classical
Mechanics*, 1.4).
"""

from __future__ import annotations

from explorer.errors import BadModel
from explorer.systems.expressions import expression
from explorer.systems.kinks import slope
from explorer.systems.mechanical import MechanicalSystem
from explorer.types import FormulaVector, Value

__all__ = ["set_energies"]


def set_energies(
    system: MechanicalSystem,
    kinetic: Value,
    potential: Value = 0,
    force: FormulaVector | None = None,
) -> None:
    """Set mass, force and potential of a system from its energies.

    Parameters
    ----------
    system : MechanicalSystem
    kinetic : formula
        Kinetic energy T(q, v) in J, of second degree in the velocities.
    potential : formula
        Potential energy V(q) in J.
    force : vector or dict by coordinate, optional
        Forces Q that no potential explains.

    Raises
    ------
    BadModel
        A kinetic energy that is not of second degree in the velocities, or whose mass matrix has a
        zero on its diagonal; a potential that depends on a velocity.

    Examples
    --------
    >>> ball = MechanicalSystem("ball", q="y", params={"m": 2.0, "g": 9.81})
    >>> set_energies(ball, "m*v_y**2/2", "m*g*y")
    >>> ball.mass, ball.force
    (Matrix([[m]]), Matrix([[-g*m]]))
    """
    q, v, t, names = system.q, system.v, system.t, system.symbols()
    T = expression(kinetic, names, f"kinetic energy of '{system.name}'")
    V = expression(potential, names, f"potential of '{system.name}'")
    moving = V.free_symbols & set(v)
    if moving:
        raise BadModel(
            f"potential of '{system.name}' depends on {min(map(str, moving))!r}; a potential "
            "energy depends on coordinates and parameters. What a velocity causes is a force."
        )
    momenta = [slope(T, x) for x in v]
    M = [[slope(p, x) for x in v] for p in momenta]
    for x, row in zip(v, M, strict=True):
        if any(entry.free_symbols & set(v) for entry in row):
            raise BadModel(
                f"kinetic energy of '{system.name}' must be of second degree in the velocities, "
                f"such as m*{v[0]}**2/2, but its second derivative by {x} depends on a velocity."
            )
    for k, x in enumerate(v):
        if M[k][k] == 0:
            raise BadModel(
                f"kinetic energy of '{system.name}' gives {system.coordinates[k]!r} no mass: it "
                f"needs a term with {x}**2, such as m*{x}**2/2."
            )
    others = system.force if force is None else None
    if force is not None:
        system.force = force
        others = system.force
    assert others is not None
    system.mass = M
    system.force = [
        Q
        + slope(T, x)
        - slope(V, x)
        - sum((slope(p, y) * w for y, w in zip(q, v, strict=True)), slope(p, t))
        for Q, x, p in zip(others, q, momenta, strict=True)
    ]
    if slope(V, t) == 0 and V != 0:
        system.potential = V
