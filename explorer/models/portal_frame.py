"""Portal frame: two columns, clamped below, and a beam, shaken at the base.

M x'' + C x' + K x = -b a_g(t), x = (u, theta1, theta2): sway relative to the ground and rotations
of the joints, clockwise; b are the inertias that a rigid motion of the ground moves. Beam and
columns are Euler-Bernoulli elements without axial strain, masses consistent (Clough and Penzien,
*Dynamics of Structures*, 10.4), damping C = a0 M + a1 K. Condensed to the sway, with r = (EI_b / B)
/ (EI_c / H), the stiffness is 24 EI_c / H^3 (1 + 6 r) / (4 + 6 r) (Chopra, *Dynamics of
Structures*, 1.3): 6 EI_c / H^3 for a beam that only joins two cantilevers, 24 EI_c / H^3 for a
rigid one.
"""

from collections.abc import Sequence

import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.systems import MechanicalSystem
from explorer.systems.sketch import Shape, ground, line, text

_SCALE, _PARTS = 10, 4  # of the sketch: displacements are magnified, members drawn in parts


def stiffness(EI_c: float, EI_b: float, H: float, B: float) -> float:
    """Return the lateral stiffness with free joints, in N/m."""
    r = EI_b * H / (EI_c * B)
    return 24 * EI_c / H**3 * (1 + 6 * r) / (4 + 6 * r)


@register(
    group="structures",
    references=("clough-penzien-1993", "chopra-2012"),
    measures={
        "portal frame: lateral stiffness in kN/m": lambda run: (
            2 * run(preset="released").energy[0] / 0.05**2 / 1000
        ),
    },
)
def portal_frame() -> MechanicalSystem:
    """Return a frame of one storey that sways."""
    system = MechanicalSystem(
        "portal frame",
        q="u theta1 theta2",
        units=("m", "rad", "rad"),
        text="A stiffer beam holds the joints, and the columns sway at up to twice the frequency.",
    )
    (u, *joints), t = system.q, system.t
    m_b, m_c, EI_c, EI_b, H, B, a0, a1, shake, w, u0 = system.params(
        m_b=Param(4000, 500, 20000, "kg", "mass of the beam"),
        m_c=Param(400, 50, 2000, "kg", "mass of a column"),
        EI_c=Param(4e6, 1e5, 1e8, "N m2", "bending stiffness of a column", log=True),
        EI_b=Param(8e6, 1e4, 1e8, "N m2", "bending stiffness of the beam", log=True),
        H=Param(4, 2, 8, "m", "height"),
        B=Param(6, 2, 12, "m", "width"),
        a0=Param(0.1, 0, 2, "1/s", "Rayleigh damping of the mass"),
        a1=Param(1e-3, 0, 1e-2, "s", "Rayleigh damping of the stiffness"),
        a_g=Param(1, 0, 5, "m/s2", "ground acceleration"),
        omega=Param(12, 1, 60, "rad/s", "frequency of the ground"),
        u0=Param(0, -0.1, 0.1, "m", "start sway, joints free"),
    )
    k, j = EI_c / H**3, EI_b / B
    K = sp.Matrix(
        [
            [24 * k, -6 * k * H, -6 * k * H],
            [-6 * k * H, 4 * k * H**2 + 4 * j, 2 * j],
            [-6 * k * H, 2 * j, 4 * k * H**2 + 4 * j],
        ]
    )
    turn, other = 4 * (m_c * H**2 + m_b * B**2) / 420, -3 * m_b * B**2 / 420
    M = sp.Matrix(
        [
            [m_b + 312 * m_c / 420, -22 * m_c * H / 420, -22 * m_c * H / 420],
            [-22 * m_c * H / 420, turn, other],
            [-22 * m_c * H / 420, other, turn],
        ]
    )
    carried = sp.Matrix([m_b + m_c, -m_c * H / 12, -m_c * H / 12])
    x, v = sp.Matrix(system.q), sp.Matrix(system.v)
    system.mass = M
    system.force = -carried * shake * sp.sin(w * t) - K * (x + a1 * v) - a0 * M * v
    system.potential = (x.T * K * x)[0] / 2
    rotation = 6 * k * H / (4 * k * H**2 + 6 * j)  # joints that carry no moment
    system.start(q=[u0, rotation * u0, rotation * u0], v=[0, 0, 0], t_end=3, h=5e-3)
    system.sketch(*_drawn(u, joints, H, B))
    system.published = {
        "portal frame: lateral stiffness in kN/m": (
            1125.0,
            1e-6,
            "Chopra, 24 EI_c / H^3 (1 + 6 r) / (4 + 6 r)",
        ),
    }
    system.preset(
        "released", "Pulled aside and let go, without damping.", a_g=0, a0=0, a1=0, u0=0.05
    )
    system.preset(
        "soft beam",
        "The joints turn freely: two cantilevers side by side.",
        a_g=0,
        u0=0.05,
        EI_b=1e4,
    )
    system.preset(
        "stiff beam",
        "The joints are held: twice the frequency of the soft one.",
        a_g=0,
        u0=0.05,
        EI_b=1e8,
        t_end=2,
    )
    return system


def _drawn(u: sp.Symbol, joints: Sequence[sp.Symbol], H: sp.Symbol, B: sp.Symbol) -> list[Shape]:
    """Return the frame, bent: cubic between the ends of each member."""
    steps = [sp.Rational(i, _PARTS) for i in range(_PARTS + 1)]
    left, right = (
        [(side + _SCALE * (u * s**2 * (3 - 2 * s) - a * H * s**2 * (1 - s)), H * s) for s in steps]
        for side, a in zip((0, B), joints, strict=True)
    )
    sag = [B * (joints[0] * s * (1 - s) ** 2 - joints[1] * s**2 * (1 - s)) for s in steps]
    beam = [(B * s + _SCALE * u, H - _SCALE * y) for s, y in zip(steps, sag, strict=True)]
    half = sp.Rational(1, 2)
    feet = [ground((side - half, 0), (side + half, 0)) for side in (0, B)]
    said = text(0, -0.6, f"displacements drawn ×{_SCALE}", 4)
    return [*feet, line(*left, *beam[1:], *right[-2::-1]), said]
