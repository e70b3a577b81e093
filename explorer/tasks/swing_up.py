"""Weak motor, pendulum and stop, upright in the least time: psi'' = u - sin(psi), psi >= -s.

|u| <= U = 0.65 cannot lift it from rest at psi = 0 past sin(psi) = U, so it swings back first, to
the stop at -s = -0.3, which takes its velocity (e = 0), and from there straight up. By the energy
v^2 / 2 = U (psi + s) + cos(psi) - cos(s) it brakes from psi_1 on (bang-bang: Pontryagin et al.
1962; the pendulum: Tedrake, *Underactuated Robotics*)::

    psi_1 = (U pi - U s + 1 + cos(s)) / (2 U),    T = integral of dpsi / |v| over all three arcs
"""

import numpy as np
import sympy as sp
from numpy.polynomial.legendre import leggauss

from explorer.control import OptimalControlProblem
from explorer.systems import Contact, MechanicalSystem
from explorer.systems.sketch import circle, line
from explorer.tasks import register

U, S = 0.65, 0.3
GUESS = {"modes": ["open", "closed", "open", "open", "open", "open"], "t_end": 6.0}


def _duration(begin: float, end: float, u: float, still: float) -> float:
    """Return the time from `begin` to `end` in s, with the torque u, at rest at `still`."""
    nodes, weights = leggauss(60)
    s = (nodes + 1) / 2  # psi = still + (other - still) s^2 takes the root at rest away
    other = begin if still == end else end
    psi = still + (other - still) * s**2
    v = np.sqrt(2 * np.abs(u * (psi - still) + np.cos(psi) - np.cos(still)))
    return float(abs(weights / 2 @ (2 * (other - still) * s / v)))


def times(u: float = U, s: float = S) -> tuple[float, float, float]:
    """Return when it is at the stop, when it brakes, and when it is upright, in s."""
    brake = (u * np.pi - u * s + 1 + np.cos(s)) / (2 * u)
    stop = _duration(0.0, -s, -u, 0.0)
    up = stop + _duration(-s, brake, u, -s)
    return stop, up, up + _duration(brake, np.pi, -u, np.pi)


@register(
    references=("pontryagin-1962", "tedrake"),
    objective=(times()[2], 1e-6, "quadrature"),
    guess=GUESS,
    defect=1e-5,
)
def swing_up(intervals: int = 6) -> OptimalControlProblem:
    """Return the least time to bring a pendulum upright that takes its run-up from a stop.

    Examples
    --------
    >>> import explorer as ex
    >>> ex.tasks.swing_up
    Task(swing_up, objective 7.38119548)
    """
    pendulum = MechanicalSystem("pendulum with a stop", q="psi", units="rad")
    (psi,) = pendulum.q
    pendulum.inputs("u", low=-U, high=U, units="1/s2", text="torque over inertia")
    pendulum.mass, pendulum.force = 1, ["u - sin(psi)"]
    pendulum.contact(Contact(psi + S, e=0, name="stop"))
    pendulum.start(q=[0], v=[0], t_end=9)
    x, y = sp.sin(psi), -sp.cos(psi)
    stop = (-1.2 * np.sin(S) - 0.1, -1.2 * np.cos(S))
    pendulum.sketch(line((0, 0), (x, y)), circle(x, y, 0.1), line((-0.4, -1.2), stop))
    return OptimalControlProblem(
        pendulum,
        t_end=(1, 30),
        intervals=intervals,
        terminal="t",
        end={"psi": np.pi, "v_psi": 0},
        grid="free",
        elements=5,
        stages=4,
    )
