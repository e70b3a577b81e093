"""Planar hopper in frozen time (Nurkanovic, Frey, Pozharskiy and Diehl 2023, section IV-B).

q = (q1, q2, psi, l): the body, its angle, the leg. Above the ground, or while its foot moves up, it
flies; otherwise the clock stands still and an auxiliary field carries the velocity of the foot to
zero, with the friction mu (doi:10.48550/arXiv.2303.18066; regions of eq. (23))::

    R1 = {f_c > 0} + {f_c < 0, J_n v > 0}:    q' = v,  v' = M^-1 f_v(q, u),             t' = 1
    R2 = {f_c < 0, J_n v < 0, J_t v > 0}:     q' = 0,  v' = M^-1 (J_n - mu J_t) a_n,    t' = 0
    R3 = {f_c < 0, J_n v < 0, J_t v < 0}:     q' = 0,  v' = M^-1 (J_n + mu J_t) a_n,    t' = 0

Corrected: J_t = (1, 0, l cos(psi), sin(psi)), the gradient of the place of the foot; gravity is
-(m_b + m_l) g; f_1 has v and 1; the state has a clock. What the paper leaves out and time freezing
needs: a control for the pace of time, and the clock at the end of each control interval (`knots`).
Other than in the paper, the foot may slip, as (24c) is left out, and the reference of a jump is
q1 straight on, q2 = 0.65 + 0.075 (1 - cos), psi = 0, l = 0.4, as the paper's is not printed.
"""

import numpy as np
import sympy as sp

from explorer.control import OptimalControlProblem, Plan
from explorer.dispatch.simulate import simulate
from explorer.schemes.moreau_jean import MoreauJean
from explorer.systems import Contact, FilippovSystem, MechanicalSystem
from explorer.systems.sketch import circle, ground, line
from explorer.tasks import register

MU, G, A_N = 0.45, 9.81, 100
M_B, M_L, I_B, I_L = 1.0, 0.25, 0.25, 0.025
SIGMAS = (10.0, 1.0, 0.1, 1e-2, 1e-3)


def system() -> FilippovSystem:
    """Return the hopper; its inputs are the torque, the force along the leg and the pace."""
    hopper = FilippovSystem("hopper in frozen time", x="q1 q2 psi l v1 v2 v_psi v_l clock")
    q1, q2, psi, leg, *v, _ = hopper.x
    u1, u2, pace = hopper.inputs("u1 u2 pace", low=[-50, -50, 0.5], high=[50, 50, 20])
    mass = (M_B + M_L, M_B + M_L, I_B + I_L, M_L)
    force = (-sp.sin(psi) * u2, sp.cos(psi) * u2 - (M_B + M_L) * G, u1, u2)
    normal = (0, 1, leg * sp.sin(psi), -sp.cos(psi))
    tangent = (1, 0, leg * sp.cos(psi), sp.sin(psi))
    flight = [pace * a for a in (*v, *(f / m for f, m in zip(force, mass, strict=True)), 1)]
    rows = list(zip(normal, tangent, mass, strict=True))

    def pushed(side: int) -> list[sp.Expr]:
        return [0] * 4 + [A_N * (n + side * MU * s) / m for n, s, m in rows] + [0]

    foot = q1 + leg * sp.sin(psi), q2 - leg * sp.cos(psi)
    hopper.subsystem(
        {"flight": flight, "forward": pushed(-1), "backward": pushed(1)},
        c={
            "above": foot[1],
            "up": sum((n * a for n, a in zip(normal, v, strict=True)), sp.S.Zero),
            "ahead": sum((s * a for s, a in zip(tangent, v, strict=True)), sp.S.Zero),
        },
        S=["above | (~above & up)", "~above & ~up & ahead", "~above & ~up & ~ahead"],
    )
    hopper.sketch(ground((-1, 0), (6, 0)), line((q1, q2), foot), circle(q1, q2, 0.1))
    return hopper


@register(references=("nurkanovic-2023", "nurkanovic-2021"), relaxed=SIGMAS[-1])
def frozen_hopper(
    intervals: int = 5,
    jumps: int = 1,
    representation: str = "step",
    method: str = "fesd",
    elements: int = 3,
) -> OptimalControlProblem:
    """Return jumps of a planar hopper by time freezing, 0.98 m and 1 s each.

    Examples
    --------
    >>> import explorer as ex
    >>> ex.tasks.frozen_hopper()
    OptimalControlProblem(hopper in frozen time: 5 intervals of 3 elements, T = 1 s)
    """
    hopper = system()
    hopper.start(x=[0.1, 0.5, 0, 0.5, 0, 0, 0, 0, 0], t_end=jumps)
    goal = ("0.1 + 0.98*clock", "0.65 + 0.075*(1 - cos(2*pi*clock))", "0", "0.4")
    miss = [f"({q} - ({x}))**2" for q, x in zip(("q1", "q2", "psi", "l"), goal, strict=True)]
    slow = "0.1*(v1**2 + v2**2 + v_psi**2 + v_l**2)"
    cost = " + ".join(f"{w}*{m}" for w, m in zip((100, 100, 20, 20), miss, strict=True))
    return OptimalControlProblem(
        hopper,
        intervals=intervals,
        elements=elements,
        running=f"pace*({cost} + {slow} + 0.01*(u1**2 + u2**2))",
        terminal=f"300*({' + '.join(miss)}) + {slow}",
        bounds={
            "q1": (0, 0.2 + 0.98 * jumps),
            "q2": (0, 1.5),
            "l": (0.1, 0.5),
            "v1": (-10, 10),
            "v2": (-10, 10),
            "v_psi": (-5, 5),
            "v_l": (-5, 5),
        },
        knots=["clock == t"],
        representation=representation,
        method=method,
    )


def guess(task: OptimalControlProblem) -> dict[str, object]:
    """Return the reference at the ends of the control intervals, and time at its usual pace."""
    N, T = task.intervals, task.times[0]
    ends = [k * T / N for k in range(N + 1)]
    states = [[0.1 + 0.98 * t, 0.65, 0, 0.4, 0, 0, 0, 0, t] for t in ends]
    return {"x": states, "u": [[0, 0, 1]] * N}


def thawed() -> MechanicalSystem:
    """Return the same hopper in physical time, where its foot impacts without rebound."""
    hopper = MechanicalSystem("hopper", q="q1 q2 psi l", units=("m", "m", "rad", "m"))
    q1, q2, psi, leg = hopper.q
    v1, _, v_psi, v_leg = hopper.v
    u1, u2 = hopper.inputs("u1 u2", low=-50, high=50, units=("N m", "N"))
    hopper.mass = sp.diag(M_B + M_L, M_B + M_L, I_B + I_L, M_L)
    hopper.force = [-sp.sin(psi) * u2, sp.cos(psi) * u2 - (M_B + M_L) * G, u1, u2]
    slip = v1 + leg * sp.cos(psi) * v_psi + sp.sin(psi) * v_leg
    hopper.contact(Contact(q2 - leg * sp.cos(psi), e=0, mu=MU, slip=slip, name="foot"))
    hopper.start(q=[0.1, 0.5, 0, 0.5], v=[0, 0, 0, 0], t_end=1, h=1e-3)
    foot = q1 + leg * sp.sin(psi), q2 - leg * sp.cos(psi)
    hopper.sketch(ground((-1, 0), (6, 0)), line((q1, q2), foot), circle(q1, q2, 0.1))
    return hopper


def defects(plan: Plan, h: float = 5e-4) -> np.ndarray:
    """Return how far (N, 8) the hopper in physical time ends from the plan in each interval.

    Each control interval is simulated from the plan's own q and v, by Moreau-Jean steps of `h` s,
    or by one step where less physical time passes in it: while time stands still, none does.
    """
    body, out = thawed(), []
    for k, u in enumerate(plan.u):
        begin, end = plan.x[k, :8].copy(), plan.x[k + 1, :8]
        begin[1] = max(begin[1], begin[3] * np.cos(begin[2]))  # the plan's foot may be below ground
        span = max(float(plan.t[k + 1] - plan.t[k]), 1e-9)
        run = simulate(
            body,
            MoreauJean(h=min(h, span)),
            t_end=span,
            q0=begin[:4],
            v0=begin[4:],
            u=u[:2, None],
        )
        out.append(np.concatenate([run.q[-1], run.v[-1]]) - end)
    return np.array(out)
