"""Box that is pushed and lifted above a rough floor: impact, stick and slip with Coulomb friction.

x'' = u1 + lam_t, y'' = u2 - g + lam with |lam_t| <= mu lam while y = 0 (Acary and Brogliato 2008,
ch. 8). It falls, and has to rest at x = 1 in the end: friction stops it for nothing, by an
impulse at its touchdown of at most mu times that of the floor, and while it slides.
"""

from explorer.control import OptimalControlProblem
from explorer.systems import Contact, MechanicalSystem
from explorer.systems.sketch import ground, line
from explorer.tasks import register


@register(references="acary-brogliato-2008", defect=1e-8)
def box_pushing(intervals: int = 8) -> OptimalControlProblem:
    """Return the least effort to throw a box that friction stops.

    Examples
    --------
    >>> import explorer as ex
    >>> ex.tasks.box_pushing()
    OptimalControlProblem(box on a rough floor: 8 intervals of 3 elements, T = 1.5 s)
    """
    box = MechanicalSystem("box on a rough floor", q="x y", params={"g": 9.81, "mu": 0.3})
    x, y = box.q
    box.inputs("u1 u2", low=[-6, 0], high=[6, 12], units="m/s2", text=["push", "lift"])
    box.mass, box.force = [[1, 0], [0, 1]], ["u1", "u2 - g"]
    box.contact(Contact("y", e=0, mu="mu", slip="v_x", name="floor"))
    box.start(q=[0, 0.2], v=[0, 0], t_end=1.5)
    box.sketch(
        ground((-0.5, 0), (1.5, 0)),
        line((x - 0.1, y), (x + 0.1, y), (x + 0.1, y + 0.15), (x - 0.1, y + 0.15), closed=True),
    )
    return OptimalControlProblem(
        box,
        intervals=intervals,
        running="u1**2 + u2**2",
        end={"x": 1, "v_x": 0, "y": 0},
    )
