"""A system that declares no sketch has a picture, which agrees with its gaps and constraints."""

from __future__ import annotations

import kinds
import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from loops import for_each

import explorer as ex
from explorer import Constraint, Contact
from explorer.systems.energies import set_energies
from explorer.systems.picture import automatic
from explorer.systems.sketch import Shape
from explorer.views.drawing.contact_arrows import arrows_of
from explorer.views.drawing.pictured import shapes_of
from explorer.views.mechanism import frames

SHORT = settings(max_examples=25, deadline=None)
ROLES = {"body", "ground", "link", "spring", "trace", "arrow", "fixed", "mark", "node", "text"}
ROLES |= {"blade", "lamp", "part", "point", "wire"}


def at(shape: Shape, **values: float) -> tuple[np.ndarray, float]:
    """Return the points and the radius of a shape."""
    numbers = {sp.Symbol(k): x for k, x in values.items()}
    points = [[float(c.subs(numbers)) for c in p] for p in shape.points]
    return np.array(points), float(shape.radius.subs(numbers))


def clearance(shapes: tuple[Shape, ...], **values: float) -> float:
    """Return the distance from the body to the ground, on whose left it is."""
    (body,) = [s for s in shapes if s.role == "body"]
    (wall,) = [s for s in shapes if s.role == "ground"]
    points, radius = at(body, **values)
    (start, end), _ = at(wall, **values)
    along = (end - start) / np.hypot(*(end - start))
    return float(((points - start) @ np.array([-along[1], along[0]])).min()) - radius


@SHORT
@given(st.floats(-3, 3), st.floats(-3, 3), st.floats(-2, 2), st.floats(-5, 5), st.floats(-5, 5))
def test_a_disc_is_as_far_from_its_wall_as_its_gap_says(a, b, c, x, y):
    if np.hypot(a, b) < 0.1:
        a = 1.0
    ball = ex.MechanicalSystem("ball", q="x y", units="m", params={"c": c})
    gap = f"({a!r})*x + ({b!r})*y + c"
    ball.contact(Contact(gap, e=0.5))
    shapes = automatic(ball, [(-1, 1), (0, 2)])
    said = (a * x + b * y + c) / np.hypot(a, b)
    assert clearance(shapes, x=x, y=y, c=c) == pytest.approx(said, abs=1e-9)


@SHORT
@given(st.sampled_from(["x", "y"]), st.sampled_from([1, -1]), st.floats(0.1, 3), st.floats(-2, 2))
def test_a_block_is_as_far_from_its_stop_as_its_gap_says(name, side, d, q):
    system = ex.MechanicalSystem("block", q=name, units="m", params={"d": d})
    system.contact(Contact(f"d - ({side})*{name}", e=0.5))
    shapes = automatic(system, [(-1.0, 1.0)])
    assert clearance(shapes, **{name: q, "d": d}) == pytest.approx(d - side * q, abs=1e-9)


@SHORT
@given(st.floats(-2, 2), st.floats(0, 2), st.floats(0.1, 1))
def test_two_blocks_are_as_far_apart_as_their_gap_says(x1, gap, d):
    system = ex.MechanicalSystem("blocks", q="x2 x1", units="m", params={"d": d})
    system.contact(Contact("x2 - x1 - d", e=0.5))
    values = {"x1": x1, "x2": x1 + d + gap, "d": d}
    low, high = (at(s, **values)[0][:, 0] for s in automatic(system, [(0, 1), (-1, 0)]))
    assert high.min() - low.max() == pytest.approx(gap, abs=1e-9)


def test_discs_touch_where_their_gap_is_zero_and_round_walls_where_theirs_is():
    gaps = ["sqrt((x2-x1)**2 + (y2-y1)**2) - d", "R**2 - x1**2 - y1**2", "sqrt(x2**2+y2**2) - b"]
    system = ex.MechanicalSystem(
        "discs", q="x1 y1 x2 y2", units="m", params={"d": 0.4, "R": 1.5, "b": 0.6},
        contacts=[Contact(gap, e=1) for gap in gaps],
    )  # fmt: skip
    shapes = automatic(system, [(-1, 1)] * 4)
    values = {"x1": 0, "y1": 1.1, "x2": 0, "y2": 1.5, "d": 0.4, "R": 1.5, "b": 0.6}
    bodies = [at(s, **values) for s in shapes if s.role == "body"]
    (one, r1), (other, r2) = bodies
    assert np.hypot(*(one - other)[0]) == pytest.approx(r1 + r2)
    (ring,) = [at(s, **values)[0] for s in shapes if s.role == "ground"]
    assert np.hypot(*ring.T) == pytest.approx(np.full(len(ring), 1.5 + r1))
    (post,) = [at(s, **values) for s in shapes if s.role == "fixed"]
    assert post[1] + r2 == pytest.approx(0.6)


def test_a_rod_joins_what_it_holds_and_a_curved_ground_is_met_where_the_gap_is_zero():
    system = ex.MechanicalSystem(
        "rod", q="x y", units="m", params={"L": 1.0},
        constraints=[Constraint("x**2 + (y - 1)**2 - L**2", "rod")],
        contacts=[Contact("y - 0.2*cos(x)", e=0.5)],
    )  # fmt: skip
    shapes = automatic(system, [(-1, 1), (0, 1)])
    (rod,) = [at(s, x=0.6, y=0.2, L=1.0)[0] for s in shapes if s.role == "link"]
    assert sorted(map(tuple, rod)) == [(0.0, 1.0), (0.6, 0.2)]
    (hill,) = [at(s, x=0.6, y=0.2, L=1.0)[0] for s in shapes if s.role == "ground"]
    (disc,) = [s for s in shapes if s.role == "body"]
    _, radius = at(disc, x=0, y=0, L=1)
    assert hill[:, 1] + radius == pytest.approx(0.2 * np.cos(hill[:, 0]))


def pendulum(names: str, mass: list, force: list, **more: object) -> ex.MechanicalSystem:
    return ex.MechanicalSystem(
        "pendulum", q=names, mass=mass, force=force, params={"m": 1, "g": 9.81, "l1": 0.6, "l2": 0.5},
        **more,
    )  # fmt: skip


def test_rods_hang_at_each_other_as_their_masses_are_coupled():
    M = [["2*m*l1**2", "m*l1*l2*cos(th1-th2)"], ["m*l1*l2*cos(th1-th2)", "m*l2**2"]]
    double = pendulum("th1 th2", M, ["-2*m*g*l1*sin(th1)", "-m*g*l2*sin(th2)"], units="rad")
    values = {"th1": 0.3, "th2": 1.1, "l1": 0.6, "l2": 0.5, "m": 1, "g": 9.81}
    rods = [at(s, **values)[0] for s in automatic(double, [(-1, 1)] * 2) if s.role == "link"]
    tip = np.array([0.6 * np.sin(0.3), -0.6 * np.cos(0.3)])
    assert rods[0] == pytest.approx(np.array([[0, 0], tip]))
    assert rods[1] == pytest.approx(
        np.array([tip, tip + np.array([0.5 * np.sin(1.1), -0.5 * np.cos(1.1)])])
    )
    up = pendulum("theta", [["m*l1**2"]], ["m*g*l1*sin(theta)"], units="rad")
    (rod,) = [at(s, theta=0.0, l1=0.6)[0] for s in automatic(up, [(-1, 1)]) if s.role == "link"]
    assert rod[1] == pytest.approx([0, 0.6])  # where its angle is zero it stands


def test_springs_stand_where_the_stiffness_is():
    K = 100 * (2 * np.eye(3) - np.eye(3, k=1) - np.eye(3, k=-1))
    chain = ex.LinearMechanicalSystem("chain", np.eye(3), K)
    free = ex.LinearMechanicalSystem("chain", np.eye(3), K - np.diag([100, 0, 100]))
    count = [
        sum(s.role == "spring" for s in automatic(one, [(-0.1, 0.1)] * 3)) for one in (chain, free)
    ]
    assert count == [4, 2]


@for_each("name", [name for name, system in kinds.SYSTEMS.items() if not system.shapes])
def test_a_model_without_a_sketch_has_a_picture(name):
    system = kinds.SYSTEMS[name]
    run = ex.simulate(system, throw=False)
    film = frames(run)
    assert film is not None
    assert np.isfinite(film["xy"]).all()
    assert {item["role"] for item in film["items"]} <= ROLES
    assert {item["label"] for item in film["items"] if item.get("label")}
    again = shapes_of(ex.simulate(system, t_end=run.t[-1] / 2, throw=False))
    assert again == system.pictured  # the same picture, whatever is shown of a run


def test_a_picture_of_inputs_is_that_of_their_system():
    cart = ex.MechanicalSystem("cart", q="x", units="m", params={"m": 1.0})
    (u,) = cart.inputs("u", low=-1, high=1)
    cart.mass, cart.force = "m", u
    cart.contact(Contact("1 - x", e=0.5))
    cart.start(q=0, t_end=2)
    film = frames(ex.simulate(cart, u=[1.0, -1.0]))
    assert film is not None
    assert np.ptp(film["xy"][:, -1, 0]) > 0.4


def test_a_bar_that_strikes_with_its_ends_is_a_rod_between_them():
    bar = ex.MechanicalSystem(
        "bar", q="x y phi", units=("m", "m", "rad"), params={"l": 0.5, "h": 0.1}
    )
    bar.contact(Contact("y - l*sin(phi)", name="left"))
    bar.contact(Contact("y + l*sin(phi)", name="right"))
    bar.contact(Contact("2 - x - l*cos(phi)", name="wall"))
    shapes = automatic(bar, [(0, 1), (0, 1), (-1, 1)])
    floors = [s for s in shapes if s.role == "ground"]
    assert len(floors) == 2  # both ends strike the same floor
    at_floor, at_wall = (at(s, l=0.5)[0] for s in floors)
    assert at_floor[:, 1] == pytest.approx(0)
    assert at_wall[:, 0] == pytest.approx(2)
    (rod,) = [s for s in shapes if s.role == "link"]
    place = {"x": 0.3, "y": 0.7, "phi": 0.4, "l": 0.5}
    ends, _ = at(rod, **place)
    gaps = [float(c.gap.subs(place)) for c in bar.contacts]
    assert sorted(ends[:, 1]) == pytest.approx(sorted(gaps[:2]))
    assert 2 - ends[:, 0].max() == pytest.approx(gaps[2])


def test_a_plate_has_the_corners_of_its_gaps():
    plate = ex.MechanicalSystem("plate", q="x y phi", units=("m", "m", "rad"))
    for k, (a, b) in enumerate([(1, 0.5), (-1, 0.5), (1, -0.5), (-1, -0.5)]):
        plate.contact(Contact(f"y + {a}*sin(phi) + {b}*cos(phi)", name=f"c{k}"))
    (body,) = [s for s in automatic(plate, [(0, 1)] * 3) if s.closed]
    points, _ = at(body, x=0.0, y=0.0, phi=0.0)
    assert sorted(map(tuple, points)) == [(-1, -0.5), (-1, 0.5), (1, -0.5), (1, 0.5)]
    sides = np.hypot(*(np.roll(points, 1, axis=0) - points).T)
    assert sorted(sides) == pytest.approx([1, 1, 2, 2])  # none of them is a diagonal


def test_a_disc_has_the_radius_that_its_gap_names():
    disc = ex.MechanicalSystem("disc", q="x y phi", units=("m", "m", "rad"), params={"R": 0.3})
    disc.contact(Contact("y - R"))
    shapes = automatic(disc, [(0, 2), (0, 1), (0, 5)])
    assert at(next(s for s in shapes if s.kind == "circle"), x=0, y=0.3, phi=0, R=0.3)[1] == 0.3
    assert at(next(s for s in shapes if s.role == "ground"), R=0.3)[0][:, 1] == pytest.approx(0)


def test_the_rod_of_a_piston_leads_from_its_crank():
    crank = ex.MechanicalSystem("crank", q="x y s", units="m", params={"r": 0.5, "l": 1.5})
    crank.mass, crank.force = [[1, 0, 0], [0, 1, 0], [0, 0, 2]], [0, -9.81, 0]
    crank.constraint(Constraint("x**2 + y**2 - r**2"))
    crank.constraint(Constraint("(s - x)**2 + y**2 - l**2"))
    links = [s for s in automatic(crank, [(-0.5, 0.5), (-0.5, 0.5), (1, 2)]) if s.role == "link"]
    given = {"x": 0.3, "y": 0.4, "s": 0.3 + np.sqrt(1.5**2 - 0.4**2), "r": 0.5, "l": 1.5}
    assert sorted(np.hypot(*np.diff(at(s, **given)[0], axis=0)[0]) for s in links) == pytest.approx(
        [0.5, 1.5]
    )


def test_a_block_slides_down_its_wedge_and_pushes_it():
    wedge = ex.MechanicalSystem(
        "wedge", q="X s", units="m", params={"M": 3.0, "m": 1.0, "a": 0.5, "g": 9.81, "L": 0.5}
    )
    _, s = wedge.q
    vX, vs = wedge.v
    M, m, a, g, L = sp.symbols("M m a g L")
    square = (vX + vs * sp.cos(a)) ** 2 + (vs * sp.sin(a)) ** 2
    set_energies(wedge, M * vX**2 / 2 + m * square / 2, -m * g * s * sp.sin(a))
    wedge.contact(Contact(L - s, e=0.5))
    wedge.start(t_end=1, h=1e-3)
    shapes = automatic(wedge, [(-1, 1), (0, 1)])
    block, slope = ([x for x in shapes if x.label == k] for k in "sX")
    assert len(block) == len(slope) == 1
    given = {"X": 0.2, "s": 0.4, "a": 0.5, "L": 0.5}
    moved = at(block[0], **{**given, "s": 0.5})[0] - at(block[0], **given)[0]
    assert moved == pytest.approx(np.tile(0.1 * np.array([np.cos(0.5), -np.sin(0.5)]), (4, 1)))
    top, foot = at(slope[0], **given)[0][:2]
    along = (foot - top) / np.hypot(*(foot - top))
    assert along == pytest.approx([np.cos(0.5), -np.sin(0.5)])
    away = (at(block[0], **given)[0] - top) @ np.array([-along[1], along[0]])
    assert away.min() == pytest.approx(0, abs=1e-9)  # it stands on the slope
    run = ex.simulate(wedge, "EventDriven")
    frames(run)
    impulses = arrows_of(run, np.arange(len(run.t)))["impulses"]
    assert np.hypot(*impulses[0, 4:]) == pytest.approx(run.events[0].impulse, rel=1e-5)
    assert np.abs(impulses[0, 4:] @ along) == pytest.approx(run.events[0].impulse, rel=1e-5)
    assert impulses[0, 4:] == pytest.approx(-impulses[1, 4:])
