"""Schematics: what an element shows is what the run has computed."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import sympy as sp
from loops import for_each

import explorer as ex
from explorer.models import models
from explorer.systems import schematic
from explorer.systems.signals import signal_names
from explorer.systems.sketch import circle
from explorer.views.drawing.elements import LIT, look
from explorer.views.drawing.pictured import shapes_of
from explorer.views.mechanism import frames, lean

CIRCUITS = ("buck_converter", "chua", "diode_bridge", "rlcd_circuit")
UNNAMED = (
    "buck_converter", "chua", "diode_bridge", "glass_network", "irma", "relay_feedback",
    "rlcd_circuit", "sliding_mode", "thermostat", "turbo_car", "two_genes", "two_relays",
)  # fmt: skip  # no names of coordinates tell what these are


def shown(run: ex.Solution, role: str) -> list[np.ndarray]:
    """Return what each shape of a role shows, along the run, (n_t,) each."""
    shapes = shapes_of(run)
    every = run.observe(run, "sketched values")
    found, columns = [], {}
    for shape in shapes:
        if shape.value is not None:
            column = columns.setdefault(shape.value, len(columns))
            if shape.role == role:
                found.append(every[:, column])
    return found


def filled(run: ex.Solution) -> np.ndarray:
    """Return whether each part that can be filled is, (n_t, parts)."""
    columns = np.column_stack(shown(run, "part"))
    most = np.abs(columns).max()
    lit = [
        [look("part", np.zeros((3, 2)), value, most)["fill"] == LIT for value in row]
        for row in columns
    ]
    return np.array(lit)


# -- circuits -------------------------------------------------------------------------------------


def test_a_diode_is_filled_exactly_while_its_current_flows():
    run = ex.simulate(models["rlcd_circuit"](), scheme="EulerMoreau")
    conducts = filled(run)[1:, 0]
    v, i_D = run.x[1:, 0], run.lam[1:, 0]
    assert (conducts == (i_D > 0)).all()
    clear = np.abs(v) > 0.2  # V: what a step moves it
    assert (conducts == (v > 0))[clear].all(), "it conducts while the tank is above it"
    assert conducts.any()
    assert not conducts.all()


def test_two_diodes_of_a_bridge_conduct_in_turn_and_the_load_gets_the_modulus():
    run = ex.simulate(models["diode_bridge"]())
    f1, r1, f2, r2 = filled(run)[1:].T  # in the order of the sketch
    v = run.x[1:, 0]
    clear = np.abs(v) > 0.1
    assert (f1 == (v > 0))[clear].all()
    assert (f2 == f1)[clear].all()
    assert (r1 == (v < 0))[clear].all()
    assert (r2 == r1)[clear].all()
    load = shown(run, "wire")[-2][1:]  # back from the resistor
    assert load == pytest.approx(np.abs(v) / run.rho["R"], abs=2e-4)


def test_the_switch_of_the_converter_is_closed_where_the_relay_is_on():
    run = ex.simulate(models["buck_converter"]())
    (closed,) = shown(run, "blade")
    control, ramp = run.outputs["v_control"], run.outputs["v_ramp"]
    clear = np.abs(control - ramp)[1:] > 0.2
    assert ((closed[1:] > 0.5) == (control < ramp)[1:])[clear].all()
    diode = filled(run)[1:, 0]
    i = run.x[1:, 1]
    assert (diode == ((closed[1:] < 1 - 1e-9) & (i > 1e-6)))[clear].all()


@for_each("name", CIRCUITS)
def test_no_current_is_lost_at_a_junction(name):
    """Kirchhoff: of the wires that meet at a place, as much comes in as goes out."""
    system = models[name]()
    run = ex.simulate(system)
    every = run.observe(run, "sketched values")
    columns, sums, count = {}, {}, {}
    for shape in system.shapes:
        if shape.value is None:
            continue
        column = columns.setdefault(shape.value, len(columns))
        if shape.role == "wire":
            for end, sign in ((shape.points[0], -1), (shape.points[-1], 1)):
                at = tuple(round(float(c), 6) for c in end)
                sums[at] = sums.get(at, 0) + sign * every[:, column]
                count[at] = count.get(at, 0) + 1
    most = np.abs(every).max()
    junctions = [at for at in sums if count[at] > 2]
    assert len(junctions) >= 2
    for at in junctions:
        assert np.abs(sums[at]).max() < 1e-9 * most, at


# -- relays, genes, modes -------------------------------------------------------------------------


def test_a_relay_that_slides_lights_both_branches():
    run = ex.simulate(models["sliding_mode"]())
    low, high = shown(run, "lamp")
    t = run.t
    w, d, a = (run.rho[k] for k in ("w", "d", "a"))
    slides = np.abs(run.x[:, 0]) < 1e-9
    assert slides.sum() > 10
    alpha = (1 + d / a * np.sin(w * t)) / 2
    after = np.flatnonzero(slides)[1:]  # it arrives in the first of these rows
    assert high[after] == pytest.approx(alpha[after], abs=1e-6)
    assert low + high == pytest.approx(1)
    assert (high[run.x[:, 0] > 1e-9] == 1).all()


def test_an_arrow_between_genes_is_lit_while_the_gene_is_above_its_threshold():
    run = ex.simulate(models["two_genes"]())
    first = np.array(shown(run, "lamp")[:2])  # its line and its head
    second = np.array(shown(run, "lamp")[2:])
    for gene, lamps in zip(run.x.T, (first, second), strict=True):
        clear = np.abs(gene - 1) > 1e-9
        assert (lamps[:, clear] == (gene > 1)[clear]).all()
    assert first.max() == 1
    assert second.max() == 0


def test_the_heater_is_on_in_its_mode_and_the_hose_fills_one_tank():
    run = ex.simulate(models["thermostat"]())
    for lamp in shown(run, "lamp"):
        assert (lamp == (run.mode == 0)).all()
    tanks = ex.simulate(models["two_tanks"](), t_end=3)
    hoses = shown(tanks, "wire")
    assert hoses[0] + hoses[-1] == pytest.approx(tanks.rho["w"])
    assert ((hoses[0] > 0) == (tanks.mode == 0)).all()


def test_the_lit_lamps_of_an_automatic_picture_are_the_active_mode_and_region():
    room = ex.HybridSystem(
        "room", x="T", modes={"on": ["30 - T"], "off": ["15 - T"]},
        guards=[
            {"mode": "on", "r": "T - 21", "direction": 1, "to": "off", "name": "too hot"},
            {"mode": "off", "r": "T - 19", "to": "on", "name": "too cold"},
        ],
        start={"x": [19], "t_end": 2},
    )  # fmt: skip
    run = ex.simulate(room)
    on, off = shown(run, "lamp")
    assert (on == (run.mode == 0)).all()
    assert (off == (run.mode == 1)).all()
    said = {s.label for s in shapes_of(run)}
    assert {"on", "off", "too hot", "too cold"} <= said
    relay = ex.FilippovSystem(
        "relay", x="x", c=["x"], S=[[1], [-1]], modes={"right": ["-1"], "left": ["2"]},
        start={"x": [1], "t_end": 2},
    )  # fmt: skip
    run = ex.simulate(relay)
    left, right = shown(run, "lamp")
    assert (right[run.x[:, 0] > 1e-9] == 1).all()
    slides = run.t > 1 + 1e-9
    assert right[slides] == pytest.approx(2 / 3)  # theta (-1) + (1 - theta) 2 = 0
    assert left + right == pytest.approx(1)


def test_a_space_that_cannot_be_drawn_is_a_network_with_a_lamp_for_each_region():
    for c in ("x**2 - 1", "sin(3*t)"):
        well = ex.FilippovSystem(
            "well", x="x", c=[c], S=[[1], [-1]], modes={"out": ["-x"], "in": ["x"]},
            start={"x": [0.3], "t_end": 1},
        )  # fmt: skip
        run = ex.simulate(well)
        shapes = shapes_of(run)
        assert [s.role for s in shapes if s.role == "point"] == []
        assert {"out", "in"} <= {s.label for s in shapes}
        outside, inside = shown(run, "lamp")
        assert outside + inside == pytest.approx(1)


def test_what_a_field_cannot_tell_leaves_the_picture_finite():
    system = ex.FilippovSystem(
        "root", x="x y", c=["y - x"], S=[[1], [-1]],
        modes={"a": ["-sqrt(x + 0.2)", "-y"], "b": ["1", "x"]}, start={"x": [0.3, 0.2], "t_end": 3},
    )  # fmt: skip
    film = frames(ex.simulate(system, throw=False))
    assert np.isfinite(film["box"]).all()
    (point,) = [k for k, item in enumerate(film["items"]) if item["role"] == "point"]
    at = sum(item["n"] for item in film["items"][:point])
    assert np.isfinite(film["xy"][:, at]).all()


# -- springs --------------------------------------------------------------------------------------


def test_the_colour_of_a_spring_has_the_sign_of_its_force():
    run = ex.simulate(models["elastic_pendulum"]())
    (force,) = shown(run, "spring")
    stretched = run.q[:, 0] - run.rho["l"]
    assert force == pytest.approx(run.rho["k"] * stretched)
    points = np.zeros((2, 2))
    colours = {np.sign(f): look("spring", points, f, 1.0)["colour"] for f in [*force, 0.0]}
    assert colours == {1: "#D55E00", -1: "#0072B2", 0: "#888888"}


@for_each("name", ["cart_plastic", "duffing", "gap_stop", "impact_oscillator", "stick_slip"])
def test_a_spring_that_is_longer_than_at_zero_is_pulled(name):
    """Of one body on one spring: its force has the sign of its extension in the picture."""
    run = ex.simulate(models[name]())
    shape = next(s for s in run.system.shapes if s.role == "spring")
    names = [*run.system.coordinates, *run.rho]
    rows = np.column_stack([run.q, np.tile([*run.rho.values()], (len(run.t), 1))])
    (ax, _), (bx, _) = shape.points
    length = sp.lambdify([sp.Symbol(k) for k in names], sp.Abs(bx - ax))
    zero = length(*np.zeros(len(run.system.coordinates)), *run.rho.values())
    longer = np.array([length(*row) for row in rows]) - zero
    force = shown(run, "spring")[0]
    clear = np.abs(longer) > 1e-9
    assert (np.sign(force) == np.sign(longer))[clear].all()


def test_springs_of_automatic_pictures_pull_where_they_are_long():
    system = ex.MechanicalSystem(
        "two masses", q="x1 x2", units="m", params={"k": 50, "m": 1},
        mass=[["m", 0], [0, "m"]], force=["-k*x1 + 2*k*(x2-x1)", "-2*k*(x2-x1)"],
        start={"q": [0, 0.3], "v": [0, 0], "t_end": 2},
    )  # fmt: skip
    run = ex.simulate(system)
    between, ground = shown(run, "spring")
    assert between == pytest.approx(100 * (run.q[:, 1] - run.q[:, 0]))
    assert ground == pytest.approx(50 * run.q[:, 0])
    hanging = ex.MechanicalSystem(
        "hanging", q="x", units="m", params={"k": 50, "g": 9.81}, force=["-k*x - g"],
        start={"q": [0], "v": [0], "t_end": 1},
    )  # fmt: skip
    run = ex.simulate(hanging)
    assert shapes_of(run)
    assert shown(run, "spring") == [], "a load and a rest length look alike"


# -- elements and films ---------------------------------------------------------------------------


@for_each("name", UNNAMED)
def test_a_model_without_bodies_has_a_schematic_that_changes(name):
    system = models[name]()
    assert system.shapes, "a sketch of its own"
    film = frames(ex.simulate(system))
    assert film["unit"] == ""
    assert np.ptp(film["values"], axis=0).max() > 0
    used = {item["value"] for item in film["items"] if "value" in item}
    assert used == set(range(film["values"].shape[1]))
    assert lean(film)["values"].shape == film["values"].shape


@pytest.mark.parametrize("element", ["resistor", "inductor", "capacitor", "source"])
def test_an_element_joins_its_two_places(element):
    shapes = getattr(schematic, element)((1, 1), (4, 5), "E", "i")
    first, second = (s for s in shapes if s.role == "wire")
    assert first.points[0] == (1, 1)
    assert second.points[-1] == (4, 5)
    assert first.value == second.value == "i"
    body = np.array([p for s in shapes if s.role == "part" for p in s.points], float)
    assert body.mean(axis=0) == pytest.approx([2.5, 3], abs=0.2)


def test_an_open_switch_is_seen_to_be_open():
    points = np.array([[0.0, 0.0], [1.0, 0.0]])
    closed = look("blade", points, 1.0, 1.0)["points"]
    opened = look("blade", points, 0.0, 1.0)["points"]
    assert (closed == points).all()
    assert (opened[0] == points[0]).all()
    assert opened[1, 1] > 0.3
    assert np.hypot(*opened[1]) == pytest.approx(1)
    unknown = look("lamp", points, np.nan, 1.0)
    assert unknown["fill"] == ""


def test_names_of_signals_are_identifiers_and_no_two_are_alike():
    names = signal_names("mode", ["a b", "a-b", "a+b", "c"])
    assert len({*names}) == 4
    assert all(name.isidentifier() for name in names)


def test_what_no_system_knows_cannot_be_shown():
    ball = ex.MechanicalSystem("ball", q="y", force="-9.81")
    with pytest.raises(ex.BadModel, match="nobody"):
        ball.sketch(ex.spring((0, 0), (0, "y"), force="nobody*y"))
    with pytest.raises(ex.BadModel, match="mode_off"):
        models["thermostat"]().sketch(*schematic.lamp(0, 0, 1, 1, "mode_of"))


@pytest.mark.parametrize("where", ["point", "radius"])
def test_a_multiplier_cannot_place_a_shape_but_may_be_its_value(where):
    system = ex.models.diode_bridge()
    before = system.shapes
    shape = circle("v_F2", 0, 0.1) if where == "point" else circle(0, 0, "1 + v_F2")
    with pytest.raises(ex.BadModel, match=r"'v_F2' cannot place a shape: .* states and parameters"):
        system.sketch(shape)
    assert system.shapes == before
    system.sketch(circle("v", 0, "R"), schematic.resistor((0, 0), (1, 0), "R", "v_F2"))
    assert any(shape.value is not None for shape in system.shapes)


# -- a sketch that is made when somebody looks ----------------------------------------------------


def drawn_later(draw):
    ball = ex.MechanicalSystem("ball", q="y", force=[-9.81])
    ball.sketch(draw)
    return ball


def test_a_sketch_by_a_function_is_made_once_and_when_somebody_looks():
    asked = []

    def draw():
        asked.append(1)
        return [ex.circle(0, "y", 0.1), ex.line((0, 0), (1, "2*y"))]

    ball = drawn_later(draw)
    beside = copy.copy(ball)
    assert asked == []
    straight = ex.MechanicalSystem("ball", q="y", force=[-9.81])
    straight.sketch(*draw())
    assert ball.shapes == straight.shapes
    assert ball.shapes is ball.shapes
    assert len(asked) == 2
    assert beside.shapes == straight.shapes
    assert pickle.loads(pickle.dumps(beside)).shapes == straight.shapes


def test_what_is_wrong_in_it_is_said_when_somebody_looks():
    ball = drawn_later(lambda: [ex.circle(0, "z", 0.1)])
    with pytest.raises(ex.BadModel, match=r"sketch of 'ball'.*'z'"):
        ball.shapes
    with pytest.raises(ex.ExplorerError, match="a shape of the sketch"):
        ball.sketch(list, ex.circle(0, "y", 0.1))
