"""Pictures, study and panel of systems with constraints: what is drawn is what the run says."""

from __future__ import annotations

import copy
import dataclasses
import functools
import json
import re

import numpy as np
import pytest
import sympy as sp
from kinds import SYSTEMS
from loops import for_each
from test_panels import Wire

import explorer as ex
from explorer import systems
from explorer.models import models
from explorer.panels import panels
from explorer.panels.sensitivity.state import SensitivitySession, constraint_names
from explorer.parameters import knobs_of
from explorer.quantities import number, unit
from explorer.systems.units import constraint_units
from explorer.verification.constraint_rates import constraint_drifts, constraint_rates
from explorer.views.twins import pair

CONSTRAINED = [name for name in models if constraint_names(SYSTEMS[name])]
FORMS = knobs_of(ex.EventDriven)["formulation"][1].choices
TIGHT = ex.EventDriven(rtol=1e-11, atol=1e-12)


def rod() -> ex.MechanicalSystem:
    """Return a mass on a rod that hits a wall with e = 0.5, in x and y."""
    system = ex.MechanicalSystem(
        "rod", q="x y", units="m", mass=[["m", 0], [0, "m"]], force=["0", "-m*g"],
        params={"L": ex.Param(1, 0.5, 2, "m"), "g": ex.Param(9.81, 1, 20, "m/s2"),
                "m": ex.Param(2, 1, 3, "kg")},
        constraints=[ex.systems.Constraint("x**2 + y**2 - L**2", "bar")],
    )  # fmt: skip
    system.potential = "m*g*y"
    system.contact(ex.Contact("x + 0.2", e=0.5, name="wall"))
    system.start(q=["L", 0], t_end=2)
    return system


@functools.cache
def sensitivity() -> ex.Sensitivity:
    return ex.sensitivity(rod(), TIGHT, ("L", "g"), {"g": "v_x**2"})


def curves(picture) -> dict:
    return {trace["name"]: trace for trace in picture.data}


def test_forces_are_drawn_with_gaps_at_events_and_their_derivatives_with_both_limits():
    sens = sensitivity()
    run, picture = sens.solution, ex.views.constraint_forces.picture(sens, "g")
    line, slope = [t for t in picture.data if t["name"] == "bar"]
    assert np.isnan(line["y"]).sum() == np.isnan(slope["y"]).sum() == len(run.events) > 1
    for name, side in (("left limit", -1), ("right limit", 0)):
        rows = [e.row + side for e in run.events]
        assert np.allclose(curves(picture)[name]["y"], sens.Lam_phi[rows, 0, 1], rtol=1e-5)
    # phi in m2: the force times phi is a work
    assert picture.layout["yaxis"]["title"]["text"] == "force λ (N/m)"
    other = ex.views.constraint_forces.picture(ex.simulate(rod(), ex.MoreauJean(h=1e-3)))
    steps = curves(other)["bar"]["y"]
    near = np.abs(run.lam_phi).max()
    assert np.nanmax(np.abs(steps)) == pytest.approx(near, rel=0.05), "no impulse stands in it"
    assert np.nanmin(np.abs(steps[1:20])) < 0.05 * near  # at rest, level: the bar carries nothing
    with pytest.raises(ex.NotApplicable, match=r"views\.constraint_forces draws constraints"):
        ex.views.constraint_forces(ex.sensitivity(ex.models.bouncing_ball(), TIGHT, "g"))


def test_the_derivative_of_a_force_is_the_same_in_each_picture():
    sens = sensitivity()
    alone = ex.views.constraint_forces.picture(sens, "g")
    slope = [t for t in alone.data if t["name"] == "bar"][1]
    beside = ex.views.sensitivity.picture(sens, "g", coordinate="bar")
    drawn = next(t for t in beside.data if t["name"] == "derivative")
    finite = np.isfinite(np.asarray(slope["y"], float)), np.isfinite(np.asarray(drawn["y"], float))
    known = np.interp(*(np.asarray(v, float)[finite[1]] for v in (drawn["x"],)),
                      *(np.asarray(slope[k], float)[finite[0]] for k in "xy"))  # fmt: skip
    values = np.asarray(drawn["y"], float)[finite[1]]
    assert np.median(np.abs(values - known)) < 1e-3 * np.ptp(known)
    assert np.ptp(known) > 1


@for_each("name", CONSTRAINED)
def test_the_rate_of_a_constraint_is_its_derivative_by_time(name):
    system = models[name]()
    run = ex.simulate(system, ex.EventDriven, t_end=system.t_end / 20)
    other, d = copy.copy(run), 1e-6
    vars(other).update(v=run.v + 0.1)  # off the constraint: rates that are seen
    for k in (1, len(run.t) // 2):
        ends = []
        for s in (-d, d):
            moved = dict(zip(system.q, run.q[k] + s * other.v[k], strict=True))
            at = {system.t: run.t[k] + s, **moved, **run.rho}
            ends.append([float(sp.sympify(c.phi).subs(at)) for c in system.constraints])
        expected = np.subtract(ends[1], ends[0]) / (2 * d)
        assert np.allclose(constraint_rates(other)[k], expected, atol=1e-6)


def test_the_drift_is_that_of_the_run():
    run = ex.simulate(rod(), ex.EventDriven(formulation="penalty", alpha=1e5))
    drawn = [t["y"] for t in ex.views.constraint_drift.picture(run).data]
    assert np.nanmax(drawn[0]) == pytest.approx(np.abs(run.phi).max(), rel=0.02)
    assert np.nanmax(drawn[1]) == pytest.approx(np.abs(constraint_rates(run)).max(), rel=0.02)
    held = ex.views.constraint_drift.picture(ex.simulate(rod(), TIGHT))
    assert min(held.layout["yaxis"]["range"]) == -16, "round-off lies at the bottom"


def test_impacts_take_what_newtons_law_says():
    run = ex.simulate(rod(), TIGHT)
    picture = ex.views.impact_energy.picture(run)
    marks = curves(picture)["takes energy"]
    for t, given, hit in zip(marks["x"], marks["y"], run.events, strict=True):
        assert t == pytest.approx(hit.t, rel=1e-6)
        v = hit.v_minus  # of a mass on a rod all of the velocity is turned back
        assert given == pytest.approx(-(1 - 0.5**2) * 0.5 * 2 * (v @ v), rel=1e-6)
    assert curves(picture)["gives energy"]["y"].tolist() == [-1e9], "none gives any"


def test_formulations_are_compared_and_the_penalty_falls_as_one_over_alpha():
    found = ex.study.formulations(rod(), TIGHT, alphas=(1e5, 1e7, 1e6), repeats=1, t_end=1.0)
    assert [one.name for one in found.runs] == list(FORMS)
    assert found.alphas.tolist() == [1e5, 1e6, 1e7]
    assert found.order == pytest.approx(1, abs=0.02)
    assert found["projected"].phi < 1e-14 < found["penalty"].phi < 1e-6
    for one in (*found.runs, *found.penalties):
        assert one.error < 1e-2
        assert one.phi == np.abs(one.run.phi).max()
    figure = ex.views.formulations(found)
    assert {"index1", "projected", "penalty", "error at the end"} <= {t.name for t in figure.data}
    timed = dataclasses.replace(found, runs=(dataclasses.replace(found.runs[0], seconds=0.25),))
    assert "projected" in repr(found)
    assert repr(timed).split()[-1] == number(250.0, 2), "in ms"
    assert "projected" in found._repr_html_()
    with pytest.raises(ex.NotApplicable, match="declares no constraints"):
        ex.study.formulations(ex.models.bouncing_ball())
    with pytest.raises(ex.BadValue, match="MoreauJean has no choice of a formulation"):
        ex.study.formulations(rod(), ex.MoreauJean(h=1e-3))
    with pytest.raises(ex.BadValue, match="no formulation 'index3'"):
        found["index3"]


@pytest.mark.broad
@pytest.mark.parametrize("name", CONSTRAINED)
def test_the_panel_draws_every_constraint_of_every_model(name):
    wire = Wire(panels["sensitivity"](SensitivitySession(name)))
    offered = wire.controls()
    held = [c[0] for c in offered["see.constraint"]["choices"]]
    assert held == ["", *constraint_names(models[name]())]
    for constraint in (held[1], held[-1]):
        content, buffers = wire.pull(True, **{"see.constraint": constraint})
        assert content["status"]["level"] in ("unchecked", "warn")
        assert content["errors"] == {}
        assert sum(map(len, buffers)) < 20_000
        assert {"|φ|", "derivative", "change of T + V"} <= {
            t["name"] for t in content["figure"]["data"]
        }
    for form in FORMS:
        content, _ = wire.pull(True, **{"knob.formulation": form})
        assert content["errors"] == {}, form


def test_the_panel_shows_energies_of_impacts_and_says_what_is_wrong():
    wire = Wire(panels["sensitivity"](SensitivitySession(rod())))
    content, _ = wire.pull(**{"see.constraint": "bar"})
    assert content["table"]["columns"][-1] == "ΔT (J)"
    first = wire.panel.session.sensitivity.events[0]
    assert float(content["table"]["rows"][0][-1].replace("−", "-")) == pytest.approx(
        first.energy, rel=1e-2
    )
    content, _ = wire.pull(**{"see.constraint": "bra"})
    assert "has no constraint 'bra'. Did you mean 'bar'" in content["errors"]["see.constraint"]
    copied = wire.say(type="do", action="copy_code")[0][0]["text"]
    assert "coordinate='bar'" in copied
    names: dict = {}
    exec(copied, names)
    other = Wire(panels["sensitivity"](SensitivitySession("bouncing_ball")))
    assert "see.constraint" not in other.controls()
    assert other.pull()[0]["table"]["columns"][-1].startswith("dr/dt")


def test_a_constraint_that_does_not_hold_has_no_drift():
    run = ex.simulate(models["pendulum_on_peg"](), TIGHT)
    holds = run.recorded_row("holds").astype(bool)
    assert 0 < holds.sum() < holds.size
    for values in constraint_drifts(run):
        assert np.isnan(values[~holds]).all()
        assert np.nanmax(np.abs(values)) < 1e-12
    for trace in ex.views.constraint_drift.picture(run).data:
        assert np.nanmax(trace["y"]) < 1e-12


def test_a_number_hides_the_unit_of_a_constraint():
    known = {
        "x**2 + y**2 - L**2": ("m2", "N/m"),
        "(x**2 + y**2 - L**2)/(2*L)": ("m", "N"),
        "x - 0.3": ("m", "N"),
        "x/L - 1": ("", "N m"),
        "x**2 + y**2 - 1": (None, None),  # the 1 is one of m2, or the whole is divided by 2 m
        "x + L*t": (None, None),
    }
    for phi, units in known.items():
        system = ex.MechanicalSystem(
            "s", q="x y", units="m", params={"L": ex.Param(1, 0.5, 2, "m")}, constraints=[phi]
        )
        assert constraint_units(system) == [units], phi


def test_a_constraint_may_say_its_unit_and_forces_follow_from_it():
    """In tables, files and axes: energy over the unit of phi, and that times a second."""
    top = ex.simulate(ex.models.spinning_top(), t_end=1e-3)
    assert constraint_units(top.system) == [("", "N m")]
    (name,) = [c.name for c in top.system.constraints]
    columns = top.to_pandas().attrs["units"]
    assert columns[f"phi_{name}"] == ""
    assert columns[f"lam_phi_{name}"] == "N m"
    assert columns[f"p_phi_{name}"] == "N m s"
    for given, known in ((None, (None, None)), ("m2", ("m2", "N/m")), ("", ("", "N m"))):
        system = ex.MechanicalSystem(
            "s", q="x y", units="m", mass=[[1, 0], [0, 1]], force=[0, -1],
            constraints=[ex.systems.Constraint("x**2 + y**2 - 1", "rod", units=given)],
        )  # fmt: skip
        system.start(q=[1, 0], t_end=0.1)
        again = systems.from_spec(json.loads(json.dumps(system.to_spec())))
        assert constraint_units(system) == constraint_units(again) == [known]
        run = ex.simulate(system)
        found = {q.name: q.unit(0) for q in run.constraints.quantities}
        force = known[1] or ""
        impulse = {"": "", "N/m": "N s/m", "N m": "N m s"}[force]
        assert found == {"phi": known[0] or "", "lam_phi": force, "p_phi": impulse}
        axis = ex.views.constraint_forces.picture(run).layout["yaxis"]["title"]["text"]
        assert axis == "force λ" + (f" ({force})" if force else "")
        shown = f"-0.19 {unit(known[0] or '')}".rstrip() + "."
        with pytest.raises(ex.BadModel, match=re.escape(shown)):
            ex.simulate(system, q0=[0.9, 0])


def test_a_linkage_takes_an_impact_law_and_shows_what_slides():
    five = ex.Linkage("hammer", gravity=9.81)
    five.point("1", 0, 1, mass=1)
    five.contact("1", ((-1, 0), (1, 0)), e=1, reset={"x_1": "v_x_1 + 1", "y_1": "-v_y_1/2"})
    hit = ex.simulate(five.system(t_end=0.6), TIGHT).events[0]
    assert hit.v_plus == pytest.approx(hit.v_minus * [1, -0.5] + [1, 0])
    assert hit.energy == pytest.approx(0.5 - 3 / 4 * 9.81, rel=1e-9)
    run = ex.simulate(models["slider_crank_rigid"](), TIGHT)
    drawn = ex.views.mechanism.picture(run, t=0.5).data
    block = next(t for t in drawn if len(t["x"]) == 5)
    film = ex.views.mechanism.picture(run, t=0.0).data
    moved = np.mean(block["x"][:4]) - np.mean(next(t for t in film if len(t["x"]) == 5)["x"][:4])
    at = [run.q[int(np.abs(run.t - t).argmin()), 2] for t in (0.0, 0.5)]
    assert moved == pytest.approx(at[1] - at[0], abs=0.02)


def test_a_run_without_its_derivatives_has_the_same_states():
    sens = sensitivity()
    march, t = sens.solution.march, np.linspace(0.05, 1.95, 40)
    plain = march.undifferentiated()
    rows, other = plain.trajectory(t), march.trajectory(t)
    assert rows.S.shape[2] == 0 < other.S.shape[2]
    for name in ("t", "x", "lam_phi", "phi", "gap"):
        assert np.array_equal(getattr(rows, name), getattr(other, name)), name
    assert np.array_equal(march.sample(t, slopes=False)[0], march.sample(t)[0][:, : march.n_x + 1])


def test_rough_twins_differ_by_less_than_is_seen():
    sens = sensitivity()
    for delta in (1e-3, 1e-2):
        fine, rough = (pair(sens, 0, delta, rough=x) for x in (False, True))
        assert rough.low.rows.march.counts[2] < 0.7 * fine.low.rows.march.counts[2]
        n = sens.solution.x.shape[1] + 2  # of x, z and the force
        t, places = np.linspace(0.05, 1.9, 30), slice(0, n)
        near = [
            np.array([np.interp(t, one.t, one.difference[:, i]) for i in range(places.stop)])
            for one in (fine, rough)
        ]
        size = np.ptp(fine.difference, axis=0).max()
        assert np.median(np.abs(near[0] - near[1])) < 1e-3 * size


def test_a_parameter_without_influence_is_flat_and_not_the_first_to_be_shown():
    session = SensitivitySession("pendulum_on_peg")
    assert session.state["see"]["wrt"] == "g", "the mass cancels"
    sens = ex.sensitivity(models["pendulum_on_peg"](), TIGHT, "m", "v_x**2")
    picture = ex.views.sensitivity.picture(sens, delta=0.1)
    for trace in picture.data:
        if trace["name"] == "derivative":
            assert not np.nan_to_num(trace["y"]).any()
    assert {"event shift × 1"} == {t["name"] for t in picture.data if "shift" in t["name"]}
    low, high = picture.layout["yaxis3"]["range"]
    assert high - low > 0.1 * sens.cost
