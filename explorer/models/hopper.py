"""Planar hopper: a body with a reaction wheel on a leg that pushes.

Its foot q1 + l sin(psi), q2 - l cos(psi) hits the ground without rebound and does not slide while
|lam_t| <= mu lam. u1 turns the body, u2 pushes along the leg. Nurkanovic, Frey, Pozharskiy and
Diehl 2023 (doi:10.48550/arXiv.2303.18066), eq. (23), corrected: the gradient of the foot's place
is (1, 0, l cos(psi), sin(psi)), and gravity is -(m_b + m_l) g. `explorer.tasks.planar_hopper`
is the optimal control problem (24): 4.9 m in five jumps.
"""

import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.systems import Contact, MechanicalSystem
from explorer.systems.sketch import circle, ground, line

HALF = 1.25 * 9.81 / 2  # N: the leg and the ground carry half of the weight each


@register(
    group="walking",
    references=("nurkanovic-2023",),
    measures={
        "hopper: speed upwards after 1 s, u2 = 8 N, in m/s": lambda run: run(
            "EventDriven", preset="rises"
        ).v[-1, 1],
    },
)
def hopper() -> MechanicalSystem:
    """Return a planar hopper that stands on its foot."""
    system = MechanicalSystem(
        "planar hopper",
        q="q1 q2 psi l",
        units=("m", "m", "rad", "m"),
        text="On the ground its foot carries it, in flight nothing does: plans go over impacts.",
    )
    q1, q2, psi, leg = system.q
    v1, _, v_psi, v_leg = system.v
    mb, ml, ib, il, g, mu = system.params(
        m_b=Param(1, 0.5, 2, "kg", "mass of the body"),
        m_l=Param(0.25, 0.05, 1, "kg", "mass of the leg"),
        I_b=Param(0.25, 0.1, 1, "kg m2", "inertia of the body"),
        I_l=Param(0.025, 0.01, 0.1, "kg m2", "inertia of the leg"),
        g=Param(9.81, 1, 20, "m/s2", "gravity"),
        mu=Param(0.45, 0, 1, "", "friction"),
    )
    u1, u2 = system.inputs(
        "u1 u2",
        low=-50,
        high=50,
        units=("N m", "N"),
        value=(0, HALF),
        text=("torque of the reaction wheel", "force along the leg"),
    )
    system.mass = sp.diag(mb + ml, mb + ml, ib + il, ml)
    system.force = [-sp.sin(psi) * u2, sp.cos(psi) * u2 - (mb + ml) * g, u1, u2]
    system.potential = (mb + ml) * g * q2
    slip = v1 + leg * sp.cos(psi) * v_psi + sp.sin(psi) * v_leg
    system.contact(Contact(q2 - leg * sp.cos(psi), e=0, mu=mu, slip=slip, name="foot"))
    system.start(q=[0.1, 0.5, 0, 0.5], v=[0, 0, 0, 0], t_end=1, h=1e-3)
    foot = q1 + leg * sp.sin(psi), q2 - leg * sp.cos(psi)
    system.sketch(ground((-1, 0), (6, 0)), line((q1, q2), foot), circle(q1, q2, 0.1))
    system.published = {
        "hopper: speed upwards after 1 s, u2 = 8 N, in m/s": (
            (2 * 8 - 1.25 * 9.81) / 1.5,
            1e-8,
            "closed form, (2 u2 - (m_b + m_l) g) / (m_b + 2 m_l)",
        ),
    }
    system.preset("rises", "The leg pushes harder than half of the weight.", u2=8)
    system.preset("sinks", "The leg gives way.", u2=5)
    return system
