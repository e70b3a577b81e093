"""Two blocks on a belt, joined by a spring, that a force on one of them brings to a place.

q1'' = -q1 - k (q1 - q2) + F1(v0 - q1') + u, q2'' = -q2 - k (q2 - q1) + F2(v0 - q2') with
Fi(w) = fi sgn(w) / (1 + d w^2) (after Galvanetto, *J. Sound Vib.* 248 (2001) 653). The second block
rides on the belt until the spring tears it loose; there are several local optima.
"""

from explorer.control import OptimalControlProblem
from explorer.systems import FilippovSystem
from explorer.tasks import register


@register(references="galvanetto-2001", defect=1e-3)
def belt_pair(intervals: int = 8) -> OptimalControlProblem:
    """Return the least effort to bring two blocks on a belt to a place by one force."""
    system = FilippovSystem(
        "two blocks on a belt with a force", x="q1 q2 v1 v2", units=["m"] * 2 + ["m/s"] * 2
    )
    q1, q2, v1, v2 = system.x
    k, v0, d = 1.2, 0.3, 3
    u = system.inputs("u", low=-5, high=5, units="m/s2", text="force on the first, by mass")[0]
    pulls = (-q1 - k * (q1 - q2) + u, -q2 - k * (q2 - q1))
    for i, (v, pull, f) in enumerate(zip((v1, v2), pulls, (1.0, 1.3), strict=True), 1):
        friction = f / (1 + d * (v - v0) ** 2)
        slower = {f"q{i}": v, f"v{i}": pull + friction}
        faster = {f"q{i}": v, f"v{i}": pull - friction}
        system.subsystem(
            {f"q{i} slower": slower, f"q{i} faster": faster}, c={f"slip{i}": v - v0}, S=[[-1], [1]]
        )
    system.start(x=[0.2, -0.4, 0, 0], t_end=4, h=0.02)
    return OptimalControlProblem(
        system, intervals=intervals, running="u**2", end={"q1": 0.3, "q2": 0.3}
    )
