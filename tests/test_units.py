"""What axes, tables and cards are measured in: units of formulas, and time that is not in seconds."""

from __future__ import annotations

import json

import pytest
import sympy as sp
from loops import for_each

import explorer as ex
from explorer.errors import BadModel
from explorer.panels import Session, panels
from explorer.systems import from_spec
from explorer.systems.units import event_unit, length_unit, measured, product
from explorer.views.drawing.picture import label

UNITS = {"y": "m", "v_y": "m/s", "m": "kg", "k": "N/m", "g": "m/s2", "theta": "rad", "c": "N m/rad",
         "l": "m", "e": "", "v_theta": "rad/s"}  # fmt: skip


@for_each(
    ("formula", "unit"),
    [
        ("v_y**2", "m2/s2"),
        ("k*y**2/2 + m*v_y**2/2", "N m"),
        ("m*v_y**2/2 + m*g*y", "kg m2/s2"),
        ("(y - 1)**2", "m2"),
        ("l*sin(theta) + y", "m"),
        ("c*theta**2/2", "N m"),
        ("v_theta**2", "rad2/s2"),
        ("sqrt(v_y**2)", "m/s"),
        ("Abs(y) + Max(y, 0)", "m"),
        ("sign(v_y)*k", "N/m"),
        ("e*y/l", ""),
        ("7", ""),
        ("y + v_y", None),
        ("exp(y)", None),
        ("sqrt(y)", None),
        ("y*unknown", None),
    ],
)
def test_a_formula_has_the_unit_of_its_symbols(formula, unit):
    assert measured(sp.sympify(formula), UNITS) == unit


@pytest.mark.parametrize(
    ("units", "unit"),
    [
        (("m2/s2", "s"), "m2/s"),
        (("N", "1/(m s)"), "N/(m s)"),
        (("m/s", "1/(m/s2)"), "s"),
        (("°C", "1/min"), "°C/min"),
        ((), ""),
    ],
)
def test_products_of_units(units, unit):
    assert product(*units) == unit


def test_a_slope_of_a_guard_has_the_unit_of_the_guard_over_time():
    belt = ex.simulate(ex.models.stick_slip(), ex.EventDriven())
    found = {e.kind: event_unit(belt.system, e.kind, e.contact) for e in belt.events}
    assert found == {"slips": "N/s", "sticks": "m/s2"}
    ball = ex.models.bouncing_ball()
    assert event_unit(ball, "impact", "floor") == "m/s"
    assert event_unit(ball, "zeno", "floor") is None


def cost(**parts):
    return ex.sensitivity(ex.models.bouncing_ball(), wrt="g", cost=parts).question.cost


def test_a_cost_is_measured_where_its_terms_agree():
    assert cost(g="v_y**2").units == ("m2/s", "m2/s")
    assert cost(w="y").units == ("", "m")
    assert cost(g="v_y", w="y").units == ("m", "m")
    assert cost(g="v_y**2", w="y").units == ("m2/s", None)
    assert cost(g="v_y**2 + y").units == (None, None)


def titles(picture):
    return {axis["title"]["text"] for k, axis in picture.layout.items()
            if k[1:5] == "axis" and "title" in axis}  # fmt: skip


def test_all_axes_of_sensitivities_have_units():
    sens = ex.sensitivity(ex.models.bouncing_ball(), wrt="g", cost="v_y**2")
    rate = label("y", dot=True)
    found = titles(ex.views.sensitivity.picture(sens))
    assert {
        "dy/dg (m/(m/s²))",
        f"d{rate}/dg ((m/s)/(m/s²))",
        "dz/dg (m s)",
        "cost ψ (m²/s)",
    } <= found
    assert {"y (m)", f"{rate} (m/s)", "g (m/s²)", "time t (s)"} <= found


def said(frame):
    return json.dumps({k: frame.get(k) for k in ("cards", "table", "status")}, ensure_ascii=False)


def test_cards_and_the_table_of_sensitivities_have_units():
    panel = panels["sensitivity"](Session("bouncing_ball"))
    panel.session.set(wrt="g")
    frame = panel._answer.frame()
    assert frame["cards"][1]["title"].startswith("Gradient dψ/dg (m s), ψ = ")
    assert frame["cards"][1]["title"].endswith(" m²/s")
    assert frame["cards"][0]["note"].endswith(" m/s")
    assert frame["table"]["columns"][-2:] == ["dt/dg (s/(m/s²))", "dr/dt (m/s)"]
    assert "m/s at t = " in frame["status"]["text"]


def test_guards_of_several_units_are_in_si():
    frame = panels["sensitivity"](Session("woodpecker"))._answer.frame()
    assert frame["table"]["columns"][-1] == "dr/dt (SI)"


@pytest.mark.parametrize("panel", ["explore", "sensitivity", "order"])
def test_the_genes_of_irma_are_switched_within_minutes(panel):
    answer = panels[panel](Session("irma"))._answer
    frame, schema = answer.frame(), answer.schema()
    for axis in frame["figure"]["layout"].values():
        title = axis.get("title", {}).get("text", "") if isinstance(axis, dict) else ""
        assert "(s)" not in title
    for trace in frame["figure"]["data"]:
        assert "} s<" not in trace.get("hovertemplate", "")
    units = {c["key"]: c["unit"] for g in schema["groups"] for c in g["controls"]}
    assert units.get("t_end", "min") == units.get("knob.h", "min") == "min"
    if panel != "order":
        assert schema["time_unit"] == "min"
        assert "t (min)" in frame["table"]["columns"]
        assert " s " not in said(frame).replace(" ms ", " ")


def test_a_unit_of_time_is_kept_and_exported():
    system = from_spec(json.loads(json.dumps(ex.models.irma().to_spec())))
    assert system.time_unit == "min"
    run = ex.simulate(system)
    assert run.to_pandas().attrs["units"]["t"] == "min"
    assert "time_unit" not in json.dumps(ex.models.glass_network().to_spec())
    with pytest.raises(BadModel, match="time_unit of 'IRMA' must be one such as 'min'"):
        system.start(time_unit=60)


def test_messages_of_studies_have_the_unit_of_time_of_the_system():
    """Spirals to the origin cross their surfaces ever faster."""
    tank = ex.StepSystem(
        "tanks", x="x y", units=("l", "l"), params={"a": 1.0},
        f=["-x + a*sign(y - 0.2*x)", "-y - sign(x)"],
    )  # fmt: skip
    tank.start(x=[1.0, 0.0], t_end=30, h=0.1, time_unit="min")
    with pytest.raises(
        ex.errors.BadValue, match=r"t_end = 0 min must be greater than zero everywhere"
    ):
        ex.study.sweep(tank, over={"a": [1.0, 2.0]}, t_end="a - 1", progress=False)
    with pytest.raises(ex.errors.BadValue, match=r"happen up to t = 0.05 min"):
        ex.study.limit_cycle(tank, section=tank.guard_names[0], t_max=0.01)
    with pytest.raises(
        ex.errors.BadValue, match=r"h = 100 min is longer .* t_end = 30 min; try h = 0.03 min"
    ):
        ex.simulate(tank, ex.FESD(h=100.0))
    run = ex.simulate(tank, "EventDriven", throw=False)
    assert run.status.message.startswith("Stopped at t = 1.94591 min (step")
    with pytest.raises(ex.errors.BadValue, match=r"t_end = 0 must be greater than zero everywhere"):
        ex.study.sweep(ex.models.tent_map(), over={"x0.x": [0.1, 0.2]}, t_end=0, progress=False)


@pytest.mark.parametrize(
    ("model", "unit"), [("bouncing_ball", "m"), ("drill_string", ""), ("simplest_walker", "")]
)
def test_a_picture_has_a_scale_where_its_points_are_lengths(model, unit):
    system = getattr(ex.models, model)()
    assert length_unit(system, system.shapes) == unit


def test_a_scale_has_the_unit_of_the_model():
    def seen(units):
        system = ex.MechanicalSystem("block", q="x", units=units, force=["-x"])
        system.sketch(ex.circle(system.q[0] + 1, 0, 1))
        return length_unit(system, system.shapes)

    assert (seen("mm"), seen(""), seen("rad")) == ("mm", "", "")
