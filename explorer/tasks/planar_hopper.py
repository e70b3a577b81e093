"""Planar hopper in physical time: jumps of 0.98 m and 1 s each.

The reference is that of the software of Nurkanovic, Frey, Pozharskiy and Diehl 2023
(doi:10.48550/arXiv.2303.18066), eq. (24): in each jump the body rises by 0.5 m and the leg is drawn
in by 0.4 m, along parabolas of t. The paper has five jumps and 50 control intervals.
"""

import numpy as np

from explorer.control import OptimalControlProblem
from explorer.models import models
from explorer.systems import MechanicalSystem
from explorer.tasks import register
from explorer.types import Plain

RUNNING = (100, 100, 20, 20)  # Q of positions; that of velocities is 0.1
TERMINAL = (300, 300, 300, 300)
START, LONG = 0.1, 0.98  # m


def reference(jumps: int = 1, intervals: int = 10) -> Plain:
    """Return the guess of the paper: the reference at the ends of the control intervals."""
    t = np.linspace(0, jumps, intervals + 1)
    s = np.mod(t, 1)
    x = np.zeros((intervals + 1, 8))
    x[:, 0], x[:, 1], x[:, 3] = START + LONG * t, 0.5 + 2 * s * (1 - s), 0.5 - 1.6 * s * (1 - s)
    return {"x": x}


@register(references="nurkanovic-2023", defect=5e-3, guess=reference())
def planar_hopper(
    jumps: int = 1, intervals: int = 10, elements: int = 2, stages: int = 3
) -> OptimalControlProblem:
    """Return some jumps of the planar hopper, whose foot may not slide.

    `explorer.tasks.planar_hopper.reference` returns the guess for other jumps and intervals.

    Examples
    --------
    >>> import explorer as ex
    >>> ex.tasks.planar_hopper(jumps=5, intervals=50)
    OptimalControlProblem(planar hopper: 50 intervals of 2 elements, T = 5 s)
    """
    hopper = models["hopper"]()
    assert isinstance(hopper, MechanicalSystem)
    goal = {
        "q1": f"{START} + {LONG}*t",
        "q2": "0.5 + 2*Mod(t, 1)*(1 - Mod(t, 1))",
        "psi": "0",
        "l": "0.5 - 1.6*Mod(t, 1)*(1 - Mod(t, 1))",
    }
    miss = [f"({k} - ({x}))**2" for k, x in goal.items()]
    slow = "0.1*(v_q1**2 + v_q2**2 + v_psi**2 + v_l**2)"
    running, terminal = (
        " + ".join(f"{w}*{m}" for w, m in zip(weights, miss, strict=True))
        for weights in (RUNNING, TERMINAL)
    )
    return OptimalControlProblem(
        hopper,
        t_end=float(jumps),
        intervals=intervals,
        running=f"{running} + {slow} + 0.01*(u1**2 + u2**2)",
        terminal=f"{terminal} + {slow}",
        bounds={
            "q1": (0, LONG * jumps + 0.2),
            "q2": (0, 1.5),
            "psi": (-np.pi, np.pi),
            "l": (0.1, 0.5),
            "v_q1": (-10, 10),
            "v_q2": (-10, 10),
            "v_psi": (-5, 5),
            "v_l": (-5, 5),
        },
        elements=elements,
        stages=stages,
        no_slip=[hopper.contacts[0].name],
    )
