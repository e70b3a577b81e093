"""Cart that a pusher touches and leaves: two masses, one unilateral contact, no rebound.

m1 q1'' = u - lam, m2 q2'' = -c q2' + lam, 0 <= q2 - q1 perpendicular to lam >= 0. The contact only
pushes, so the pusher meets the cart, speeds it up, and lets it go in time to be at home at the end;
friction brings the cart to its goal (contact-implicit problems of this kind: Posa, Cantu and
Tedrake, *Int. J. Robot. Res.* 33 (2014) 69).
"""

from explorer.control import OptimalControlProblem
from explorer.systems import Contact, MechanicalSystem
from explorer.systems.sketch import circle, ground, line
from explorer.tasks import register

GUESS = {"modes": ["open"] * 2 + ["closed"] * 4 + ["open"] * 6}


@register(references="posa-2014", defect=1e-6, guess=GUESS)
def cart_push(intervals: int = 12) -> OptimalControlProblem:
    """Return the least effort to push a cart to its goal and to come home.

    Examples
    --------
    >>> import explorer as ex
    >>> ex.tasks.cart_push()
    OptimalControlProblem(pusher and cart: 12 intervals of 3 elements, T = 3 s)
    """
    carts = MechanicalSystem("pusher and cart", q="q1 q2", units=("m", "m"))
    q1, q2 = carts.q
    carts.inputs("u", low=-20, high=20, units="N", text="force on the pusher")
    carts.mass = [[1, 0], [0, 1]]
    carts.force = ["u", "-0.5*v_q2"]
    carts.contact(Contact(q2 - q1, e=0, name="contact"))
    carts.start(q=[0, 0.1], v=[0, 0], t_end=3)
    carts.sketch(
        ground((-0.5, 0), (2, 0)),
        circle(q1 - 0.08, 0.1, 0.08),
        line((q2, 0), (q2 + 0.3, 0), (q2 + 0.3, 0.2), (q2, 0.2), closed=True),
    )
    return OptimalControlProblem(
        carts,
        intervals=intervals,
        running="u**2",
        end={"q1": 0, "v_q1": 0, "q2": 1},
    )
