"""Walker with knees: the swing knee locks, the heel strikes, and gravity does the rest.

Angles of the stance leg, the swing thigh and the swing shank from the vertical, point masses: m_h
at the hip, m_t on the thighs, m_s on the shanks. Each equation is the sum over j of ::

    m_ij (cos(q_i - q_j) q_j'' + sin(q_i - q_j) q_j'^2) + G_i = 0

The knee flexes until the shank has caught up with the thigh, q_3 = q_2. There it locks: a contact
with e = 0 that holds to the end of the step, v+ = v- - M^-1 n (n . v-) / (n . M^-1 n) with n = (0,
-1, 1). The heel strikes at q_1 + q_2 = -2 gamma; the angular momentum about the new foot, and that
of the leg which leaves about the hip, are kept. (McGeer 1990; model and
data of Chen 2007.)
"""

from collections.abc import Callable

import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.results.event import LocatedEvent
from explorer.results.solution import Solution
from explorer.systems import HybridSystem
from explorer.systems.modes import Mode
from explorer.systems.sketch import Point, circle, line
from explorer.systems.sketch import ground as floor

_A1, _B1 = sp.Rational(3, 8), sp.Rational(1, 8)  # shank: its mass from the foot, from the knee, m
_A2, _B2 = sp.Rational(7, 40), sp.Rational(13, 40)  # thigh: its mass from the knee, from the hip, m
_S, _T = _A1 + _B1, _A2 + _B2
_L = _S + _T


def _strike(run: Callable[..., Solution], which: int = -1) -> LocatedEvent:
    """Return a heel strike of a long walk."""
    strikes: list[LocatedEvent] = [x for x in run(t_end=20).events if x.contact == "heel strike"]
    return strikes[which]


@register(
    group="walking",
    references=("mcgeer-1990", "chen-2007"),
    measures={
        "walker with knees: stance angle after a heel strike, in rad": lambda run: _strike(
            run
        ).x_plus[0],
        "walker with knees: speed after a heel strike, in rad/s": lambda run: _strike(run).x_plus[
            3
        ],
        "walker with knees: speed of the swing leg, in rad/s": lambda run: _strike(run).x_plus[4],
        "walker with knees: period, in s": lambda run: _strike(run).t - _strike(run, -2).t,
    },
)
def kneed_walker() -> HybridSystem:
    """Return a biped with knees that walks down a slope without any control."""
    walker = HybridSystem(
        "walker with knees",
        x="q1 q2 q3 v1 v2 v3",
        units=("rad", "rad", "rad", "rad/s", "rad/s", "rad/s"),
        text="Knees lift the foot over the ground: each step has two impacts, knee and heel.",
    )
    q, v = walker.x[:3], walker.x[3:]
    g, slope, m_h, m_t, m_s, a0, rate, swing = walker.params(
        g=Param(9.81, 5, 15, "m/s2", "gravity"),
        gamma=Param(0.0504, 0.03, 0.07, "rad", "slope"),
        m_h=Param(0.5, 0.2, 1, "kg", "mass of the hip"),
        m_t=Param(0.5, 0.2, 1, "kg", "mass of a thigh"),
        m_s=Param(0.05, 0.02, 0.1, "kg", "mass of a shank"),
        a0=Param(0.18818546, 0.15, 0.25, "rad", "stance angle after a heel strike"),
        rate0=Param(-1.10958733, -1.4, -0.9, "rad/s", "speed of the stance leg"),
        swing0=Param(-0.05714811, -0.3, 0.3, "rad/s", "speed of the swing leg"),
    )
    masses = m_h, m_t, m_s
    free = walker.mode("knee free", [*v, *_accelerations(_swing(masses), g, q, v, masses)])
    legs = _merged(_swing(masses))
    stance, both = _accelerations(legs, g, q[:2], v[:2], masses)
    locked = walker.mode("knee locked", [*v, stance, both, both])
    _guards(walker, (free, locked), masses, slope)
    walker.start(
        x=[a0, -a0 - 2 * slope, -a0 - 2 * slope, rate, swing, swing], mode=free, t_end=8, h=5e-3
    )
    _draw(walker, slope)
    source = "recomputed with the data of Chen 2007"
    walker.published = {
        "walker with knees: stance angle after a heel strike, in rad": (0.18818546, 1e-7, source),
        "walker with knees: speed after a heel strike, in rad/s": (-1.10958733, 1e-7, source),
        "walker with knees: speed of the swing leg, in rad/s": (-0.05714811, 1e-7, source),
        "walker with knees: period, in s": (0.56432817, 1e-7, source),
    }
    walker.preset("steeper", "Longer and faster steps.", gamma=0.055)
    walker.preset("a stumble", "Started too slow, it falls back.", rate0=-0.95, t_end=4)
    return walker


def _swing(masses: tuple[sp.Expr, ...]) -> sp.Matrix:
    """Return m_ij (3, 3), the mass matrix without its cosines."""
    m_h, m_t, m_s = masses
    first = -(m_t * _B2 + m_s * _T) * _L
    stance = m_s * _A1**2 + m_t * (_S + _A2) ** 2 + (m_h + m_t + m_s) * _L**2
    return sp.Matrix(
        [
            [stance, first, -m_s * _B1 * _L],
            [first, m_t * _B2**2 + m_s * _T**2, m_s * _T * _B1],
            [-m_s * _B1 * _L, m_s * _T * _B1, m_s * _B1**2],
        ]
    )


def _merged(m: sp.Matrix) -> sp.Matrix:
    """Return m_ij (2, 2) of straight legs: thigh and shank turn together."""
    P = sp.Matrix([[1, 0], [0, 1], [0, 1]])
    return P.T * m * P


def _accelerations(
    m: sp.Matrix,
    g: sp.Expr,
    q: tuple[sp.Symbol, ...],
    v: tuple[sp.Symbol, ...],
    masses: tuple[sp.Expr, ...],
) -> list[sp.Expr]:
    """Return q'' of three bodies, or of two straight legs."""
    m_h, m_t, m_s = masses
    n = len(q)
    M = sp.Matrix(n, n, lambda i, j: m[i, j] * sp.cos(q[i] - q[j]))
    weight = [-(m_s * _A1 + m_t * (_S + _A2) + (m_h + m_t + m_s) * _L), m_t * _B2 + m_s * _T]
    weight = [*weight, m_s * _B1] if n == 3 else [weight[0], weight[1] + m_s * _B1]
    force = [
        -sp.Add(*(m[i, j] * sp.sin(q[i] - q[j]) * v[j] ** 2 for j in range(n)))
        - g * weight[i] * sp.sin(q[i])
        for i in range(n)
    ]
    return _solved(M, sp.Matrix(force))


def _solved(M: sp.Matrix, f: sp.Matrix) -> list[sp.Expr]:
    """Return M^-1 f by Cramer's rule, which keeps formulas short."""
    minors, det = M.adjugate() * f, M.det()
    if len(f) == 2:  # so that their text is read back as the same sums, in a run that is loaded
        minors, det = minors.expand(), det.expand()
    return [x / det for x in minors]


def _guards(
    walker: HybridSystem,
    modes: tuple[Mode, ...],
    masses: tuple[sp.Expr, ...],
    slope: sp.Expr,
) -> None:
    free, locked = modes
    (q1, q2, q3), v = walker.x[:3], sp.Matrix(walker.x[3:])
    q = (q1, q2, q3)
    m = _swing(masses)
    M = sp.Matrix(3, 3, lambda i, j: m[i, j] * sp.cos(q[i] - q[j])).subs(q3, q2)
    legs = _merged(m)
    kept = sp.Matrix([[1, 0, 0], [0, 1, 1]]) * (M * v)
    both = sp.Matrix(2, 2, lambda i, j: legs[i, j] * sp.cos(q[i] - q[j]))
    v1, v2 = _solved(both, kept)
    walker.guard(
        free, q3 - q2, direction=+1, to=locked, name="knee strike", reset=[q1, q2, q2, v1, v2, v2]
    )
    stance, swing = _heel_strike(masses, q1, q2, v[0], v[1])
    walker.guard(
        locked,
        q1 + q2 + 2 * slope,
        direction=-1,
        when=q2 - q1,
        to=free,
        name="heel strike",
        reset=[q2, q1, q1, stance, swing, swing],
    )
    for mode in modes:
        walker.guard(mode, q1 + 1, direction=-1, terminal=True, name="falls forward")
        walker.guard(mode, q1 - 1, direction=+1, terminal=True, name="falls back")


def _heel_strike(
    masses: tuple[sp.Expr, ...], q1: sp.Expr, q2: sp.Expr, v1: sp.Expr, v2: sp.Expr
) -> list[sp.Expr]:
    """Return the speeds of the new stance leg, which was q2, and of the new swing leg."""
    m_h, m_t, m_s = masses
    c = sp.cos(q1 - q2)
    m, s = m_t + m_s, m_t * _B2 + m_s * (_T + _B1)  # of a leg: its mass, first and second moment
    J = m_t * _B2**2 + m_s * (_T + _B1) ** 2  # about the hip
    about_foot = [
        m_h * _L**2 + J - 2 * _L * s + m * _L**2 - _L * s * c + m * _L**2,
        J - _L * s * c,
    ]
    before = (
        v1 * (m_h * _L**2 * c - _L * s + J + m * _L**2 * c - _L * s * c)
        - _L * c * v1 * (s - m * _L)
        + v2 * (J - _L * s)
    )
    about_hip = [-_L * s * c, J]
    return _solved(sp.Matrix([about_foot, about_hip]), sp.Matrix([before, (J - _L * s) * v1]))


def _draw(walker: HybridSystem, slope: sp.Expr) -> None:
    """Draw it on a treadmill: along the slope the hip stays where it is."""
    q1, q2, q3 = walker.x[:3]
    down, up = (sp.cos(slope), -sp.sin(slope)), (sp.sin(slope), sp.cos(slope))
    height = _L * sp.cos(q1 + slope)  # of the hip above the slope
    hip = height * up[0], height * up[1]

    def along(start: Point, angle: sp.Expr, length: sp.Expr) -> Point:
        return start[0] + length * sp.sin(angle), start[1] - length * sp.cos(angle)

    foot, knee = along(hip, q1, _L), along(hip, q2, _T)
    walker.sketch(
        floor((-0.7 * down[0], -0.7 * down[1]), (0.7 * down[0], 0.7 * down[1])),
        line(hip, foot),
        line(hip, knee, along(knee, q3, _S)),
        circle(*hip, 0.05),
        *(circle(*at, 0.02) for at in (foot, knee, along(hip, q1, _T), along(knee, q3, _S))),
    )
