"""Five-bar: four bars between two pins, two springs, and a joint that hits the ground.

Natural coordinates of three joints, consistent masses m/3 and m/6, four constraints |r_b - r_a| = L
(Corner, Sandu and Sandu, Nonlinear Anal. Hybrid Syst. 31 (2019) 19, section 7). The paper does not
say where its springs end: their natural lengths are distances of the reference place (-1.5, -1),
(0, -2), (1.5, -1), from pin B to joints 1 and 2 (layout B), or from pin A to joints 3 and 2 (layout
A), its mirror image.

The ground is smooth: its impulse is vertical. (The paper turns round the vertical velocity of the
joint and keeps the horizontal one, which gains or loses some energy; a contact does so with
``reset={"x_2": "v_x_2", "y_2": "-v_y_2"}``. The first impact is the same, the next ones come at
1.779744 s and 2.453793 s.) A test computes the impacts with two coordinates.
"""

from explorer.models import register
from explorer.parameters import Param
from explorer.systems import MechanicalSystem
from explorer.systems.linkages import Linkage

_AT_REST = "At rest where the natural lengths of the springs fit: only gravity moves it."


def _linkage(layout: str) -> MechanicalSystem:
    five = Linkage(
        f"five-bar, layout {layout}",
        gravity=Param(9.81, 0, 20, "m/s2", "gravity"),
        params={
            "k": Param(100, 10, 500, "N/m", "stiffness of both springs"),
            "L01": Param(5**0.5, 1.5, 3, "m", "natural length, to the upper joint"),
            "L02": Param(4.25**0.5, 1.5, 3, "m", "natural length, to the lowest joint"),
            "LA": Param(2**0.5, 1.2, 1.6, "m", "length of the upper bars"),
            "L2": Param(3.25**0.5, 1.6, 2, "m", "length of the lower bars"),
            "e": Param(1, 0, 1, "", "restitution"),
            "ground": Param(-2.35, -2.6, -2.2, "m", "height of the ground"),
            "x20": Param(0.53029, -0.6, 0.6, "m", "start of the lowest joint"),
            "y20": Param(-2.10283, -2.15, -1.8, "m", "start of the lowest joint, height"),
        },
        text="Constraints carry the impact of one joint to all of them, and sensitivities jump.",
    )
    five.pin("A", -0.5, 0)
    five.pin("B", 0.5, 0)
    five.point("1", -1.5, -1)
    five.point("2", "x20", "y20")
    five.point("3", 1.5, -1)
    for a, b, m, length in (
        ("A", "1", 1, "LA"),
        ("1", "2", 1.5, "L2"),
        ("2", "3", 1.5, "L2"),
        ("3", "B", 1, "LA"),
    ):
        five.bar(a, b, mass=m, length=length)
    pin, upper = ("A", "3") if layout == "A" else ("B", "1")
    five.spring(pin, upper, k="k", length="L01")
    five.spring(pin, "2", k="k", length="L02")
    five.contact("2", ((-2, "ground"), (2, "ground")), e="e", name="ground")
    system = five.system(hold="2", t_end=5, h=1e-3)
    system.preset("plastic", "The joint stays on the ground until the springs lift it.", e=0)
    system.preset("reference", _AT_REST, x20=0, y20=-2)
    return system


@register(
    group="linkages",
    references=("corner-2019", "garcia-de-jalon-1994"),
    measures={"five-bar A: first impact, in s": lambda run: run("EventDriven").events[0].t},
)
def five_bar_a() -> MechanicalSystem:
    """Return a five-bar with both springs on the left pin: two impacts in five seconds."""
    system = _linkage("A")
    system.published = {
        "five-bar A: first impact, in s": (1.474911000, 1e-7, "recomputed by two coordinates"),
    }
    return system


@register(
    group="linkages",
    references=("corner-2019", "garcia-de-jalon-1994"),
    measures={
        "five-bar B: first impact, in s": lambda run: run("EventDriven").events[0].t,
        "five-bar B: second impact, in s": lambda run: run("EventDriven").events[1].t,
        "five-bar B: third impact, in s": lambda run: run("EventDriven", t_end=3).events[2].t,
    },
)
def five_bar_b() -> MechanicalSystem:
    """Return a five-bar with both springs on the right pin: three impacts in five seconds."""
    system = _linkage("B")
    source = "recomputed with the data of Corner et al. 2019"
    system.published = {
        "five-bar B: first impact, in s": (0.311827604187, 1e-9, source),
        "five-bar B: second impact, in s": (1.780368, 2e-6, source),
        "five-bar B: third impact, in s": (2.457580, 2e-6, source),
    }
    return system
