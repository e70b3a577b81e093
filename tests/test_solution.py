"""Solutions: both sides of a jump, events, statuses, files; and a cache that fails softly."""

import copy
import io
import itertools
import json
import multiprocessing
import os
import pickle
import re
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
import sympy as sp
from hybrids import HYBRIDS
from kinds import KINDS
from loops import for_each

import explorer as ex
from explorer.models import models
from explorer.results.recipe import arrays


def ball(**changes):
    """Return a run of the bouncing ball."""
    return ex.simulate(models["bouncing_ball"](), ex.MoreauJean(h=1e-3), **changes)


def spring(force="-x"):
    """Return a mass above a floor at x = 0."""
    return ex.MechanicalSystem(
        "mass", "x", mass=2, force=force, contacts=[ex.Contact("x", e=0.5, name="floor")],
        start={"q": [0.5], "t_end": 3.0}, units="m",
    )  # fmt: skip


# -- sides and events -----------------------------------------------------------------------------


def test_both_sides_of_an_impact_obey_newtons_law():
    run = ball(e=0.8)
    for hit in [x for x in run.events if x.kind == "impact"][:5]:
        left, right = run.at(hit.t, side="left"), run.at(hit.t)
        np.testing.assert_array_equal(left.v, hit.v_minus)
        np.testing.assert_array_equal(right.v, hit.v_plus)
        assert hit.gap_dot_plus == pytest.approx(-0.8 * hit.gap_dot_minus, rel=1e-12)
        np.testing.assert_array_equal(left.q, right.q)


def test_the_impulse_is_the_change_of_momentum():
    run = ball(m=2.5)
    hit = run.events[0]
    gravity = -2.5 * 9.81 * 1e-3
    assert hit.impulse == pytest.approx(2.5 * (hit.v_plus - hit.v_minus)[0] - gravity, rel=1e-12)


@pytest.mark.parametrize("side", ["left", "right"])
def test_between_two_rows_the_state_is_between_theirs(side):
    run = ball()
    sample = run.at(0.2005, side=side)
    assert run.q[201, 0] < sample.q[0] < run.q[200, 0]
    assert run.v[201, 0] < sample.v[0] < run.v[200, 0]


@pytest.mark.parametrize(
    ("t", "side"),
    [
        (-1, "right"), (99, "left"), (1, "above"), (np.nan, "left"), ([0, 99], "left"),
        ([[0, 1]], "left"), ("noon", "left"),
    ],
)  # fmt: skip
def test_no_state_outside_the_run(t, side):
    with pytest.raises(ex.BadValue):
        ball().at(t, side=side)


@for_each(("name", "scheme"), [("bouncing_ball", "MoreauJean"), ("bouncing_ball", "EventDriven"),
                         ("thermostat", "EventDriven"), ("switched_oscillator", "FESD")])  # fmt: skip
@for_each("side", ["left", "right"])
@for_each("count", [0, 1, 3])
def test_states_at_several_times_are_those_at_each(name, scheme, side, count):
    run = ex.simulate(models[name](), scheme)
    t = [run.events[0].t, 0.1, 0.3][:count]
    several = run.at(t, side)
    assert several.q.shape == (count, run.q.shape[1])
    for k, time in enumerate(t):
        one = run.at(time, side)
        for part in ("t", "q", "v", "gap"):
            np.testing.assert_array_equal(getattr(several, part)[k], getattr(one, part))


def test_accumulating_impacts_end_in_a_closed_contact():
    run = ball(e=0.8, t_end=5)
    assert [x.kind for x in run.events].count("closed") == 1
    closed = next(x for x in run.events if x.kind == "closed")
    assert closed.t == pytest.approx(np.sqrt(2 / 9.81) * 9, abs=0.1)
    assert np.abs(run.v[-100:]).max() < 1e-12


def test_a_contact_that_is_pulled_away_is_released():
    system = spring("-60 + 40*t")
    system.start(q=[0.1])
    run = ex.simulate(system, ex.MoreauJean(h=1e-3))
    kinds = [x.kind for x in run.events]
    assert kinds[-2:] == ["closed", "released"]
    assert run.events[-1].t == pytest.approx(1.5, abs=5e-3)
    assert run.events[-1].impulse == 0


def test_a_contact_closed_from_the_start_is_no_impact():
    system = spring("-9.81")
    system.start(q=[0.0])
    assert ex.simulate(system).events == []


def test_the_final_step_ends_exactly_at_the_end():
    run = ball(t_end=0.12345)
    assert run.t[-1] == 0.12345
    assert run.t[-1] - run.t[-2] == pytest.approx(0.00045)


# -- statuses -------------------------------------------------------------------------------------

WRONG = {
    "not_finite": (spring("1/(1 - t)"), ex.MoreauJean(h=1e-2)),
    "newton_cap": (spring("-100*x - 1e5*x**3"), ex.MoreauJean(h=5e-2, newton_max=1)),
    "indefinite": (
        ex.MechanicalSystem("m", "x", mass="1 - x", force=1, start={"t_end": 3.0}),
        ex.MoreauJean(h=1e-2),
    ),
    "singular": (
        ex.MechanicalSystem("s", "x", mass=1, force="4*x", start={"q": [1], "t_end": 2}),
        ex.MoreauJean(h=1, theta=0.5),
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_failed_run_raises_or_returns_what_it_has(name):
    system, scheme = WRONG[name]
    run = ex.simulate(system, scheme, throw=False)
    assert (run.status.name, run.status.ok) == (name, False)
    assert len(run.t) == run.status.step + 1 == len(run.q) == len(run.p)
    assert np.isfinite(run.q).all()
    assert f"t = {run.t[-1]:.6g}" in run.status.message
    with pytest.raises(ex.StepFailed, match="Stopped at t") as caught:
        ex.simulate(system, scheme)
    np.testing.assert_array_equal(caught.value.solution.q, run.q)


def test_contradictory_contacts_end_with_the_ray():
    """Two contacts that push one coordinate together, with a wall that must be left both ways."""
    system = ex.LinearMechanicalSystem(
        "vice", np.eye(1), H=[[1.0], [-1.0]], b=[0.0, 0.0], e=[1.0, 0.0], names=["a", "b"],
        start={"v": [-1.0], "t_end": 0.1},
    )  # fmt: skip
    for lcp in ("lemke", "enumeration", "pgs"):
        run = ex.simulate(system, ex.MoreauJean(h=1e-2, forecast=0, lcp=lcp), throw=False)
        assert run.status.name in ("lcp_ray", "lcp_iterations")
        assert "Contradictory contacts" in run.status.message
        advice = run.status.message.split("else try")[1]
        assert f"lcp={lcp!r}" not in advice  # it has just failed
        assert ("lcp_max" in advice) == (lcp == "pgs")


# -- files ----------------------------------------------------------------------------------------


BUILDS = {**models, **HYBRIDS}
ARRAYS = ("t", "q", "v", "p", "gap", "active", "iterations", "residuals")
LOCATED = ("x", "rates", "lam", "z", "S", "mode", "gap_dot")


@pytest.mark.broad
@pytest.mark.parametrize(("name", "scheme"), KINDS)
def test_a_saved_run_comes_back_and_runs_again_bitwise(name, scheme, tmp_path):
    system = BUILDS[name]()
    run = ex.simulate(system, scheme, t_end=40 if system.discrete else 0.5)
    back = ex.load(run.save(tmp_path / "run"))
    again = ex.rerun(back)
    assert type(back) is type(again) is type(run)
    keys = [*ARRAYS, *(LOCATED if scheme == "EventDriven" else ())]
    absent = run.ABSENT  # a state has no velocities, gaps, impulses; a motion has no modes
    missed = {*absent} - {"lam" if run.has("multipliers") else ""}
    assert not any(hasattr(one, key) for key in missed for one in (run, back, again))
    for key in (key for key in keys if key not in absent):
        np.testing.assert_array_equal(getattr(back, key), getattr(run, key))
        np.testing.assert_array_equal(getattr(again, key), getattr(run, key))
    assert [(e.t, e.kind, e.row) for e in back.events] == [(e.t, e.kind, e.row) for e in run.events]
    if run.has_velocities:
        np.testing.assert_allclose(back.energy, run.energy)
    assert back.spec["versions"]["numba"]


@pytest.mark.parametrize("question", [{"mode0": "off"}, {"x0": [20.25]}, {"t_eval": [0, 0.3, 1]}])
def test_a_saved_located_run_remembers_what_was_asked(question, tmp_path):
    run = ex.simulate(HYBRIDS["heater"](), a=0.5, t_end=7, **question)
    back = ex.load(run.save(tmp_path / "run"))
    for again in (back, ex.rerun(back)):
        for key in (key for key in LOCATED if key not in run.ABSENT):
            np.testing.assert_array_equal(getattr(again, key), getattr(run, key))
    assert ex.rerun(back, t_end=3, t_eval=None).t[-1] == 3
    np.testing.assert_array_equal(back.at(0.77).q, run.at(0.77).q)


def test_a_terminal_event_ends_a_run_that_asked_for_more(tmp_path):
    run = ex.simulate(HYBRIDS["clock"]())
    assert (run.t[-1], run.spec["t_end"]) == (2.5, 4.0)
    assert ex.load(run.save(tmp_path / "run")).t[-1] == 2.5


def test_a_start_may_be_given_whole():
    ball = models["bouncing_ball"]()
    run = ex.simulate(ball, "EventDriven", x0=[2, -1])
    parts = ex.simulate(ball, "EventDriven", q0=[2], v0=[-1])
    np.testing.assert_array_equal(run.x, parts.x)
    np.testing.assert_array_equal(ex.rerun(parts, x0=[2, -1]).x, run.x)
    swing = models["impact_oscillator"]()  # has parameters x0 and v0
    assert ex.simulate(swing, "EventDriven", x0=-1).q[0] == [-1]


@pytest.mark.parametrize(
    ("name", "scheme", "question", "said"),
    [
        ("bouncing_ball", "MoreauJean", {"x0": [1, 2]}, "MoreauJean does not accept x0"),
        ("bouncing_ball", "MoreauJean", {"t_eval": [1]}, "MoreauJean does not accept t_eval"),
        ("bouncing_ball", "EventDriven", {"mode0": "on"}, "no modes"),
        ("bouncing_ball", "EventDriven", {"x0": [1]}, "x0 needs 2 numbers"),
        ("bouncing_ball", "EventDriven", {"x0": [1, 2], "q0": [1]}, "the whole start"),
        ("bouncing_ball", "EventDriven", {"t_eval": [2, 1]}, "increasing"),
        ("bouncing_ball", "EventDriven", {"t_eval": [0, 1e3]}, "outside"),
        ("bouncing_ball", "EventDriven", {"t_eval": ["a"]}, "t_eval"),
        ("thermostat", "EventDriven", {"q0": [1]}, "it starts at x0 = \\(T\\)"),
        ("thermostat", "EventDriven", {"v0": 1}, "has no v0"),
        ("thermostat", "EventDriven", {"x0": [1, 2]}, "x0 needs 1 number"),
        ("thermostat", "EventDriven", {"mode0": "of"}, "Did you mean 'off'"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(name, scheme, question, said):
    with pytest.raises(ex.BadValue, match=said):
        ex.simulate(BUILDS[name](), scheme, **question)


def test_the_file_of_a_run_with_other_events_is_refused(tmp_path):
    run = ex.simulate(HYBRIDS["heater"]())
    path = run.save(tmp_path / "run")
    with np.load(path) as file:
        arrays = {k: file[k][:-1] for k in file.files if k != "spec"}
        spec = json.loads(str(file["spec"]))
    np.savez(path, **arrays, spec=json.dumps(spec))
    with pytest.raises(ex.BadValue, match="was changed after it was written"):
        ex.load(path)
    spec.pop("digest")  # as a file of before
    np.savez(path, **arrays, spec=json.dumps(spec))
    with pytest.raises(ex.BadValue, match="other events"):
        ex.load(path)


def test_a_file_that_was_changed_is_no_success(tmp_path):
    """Also one of before, without a digest: what is missing, torn or no recipe is named."""
    run = ex.simulate(ex.models.bouncing_ball(), ex.MoreauJean(h=0.01), t_end=0.5)
    path = run.save(tmp_path / "run")
    assert ex.load(path).status == run.status
    with np.load(path) as file:
        arrays = {k: file[k] for k in file.files if k != "spec"}
        spec = json.loads(str(file["spec"]))

    def refuse(arrays, spec, match):
        np.savez(path, **arrays, spec=json.dumps(spec))
        with pytest.raises(ex.BadValue, match=match):
            ex.load(path)

    refuse(arrays | {"q": arrays["q"] + 1}, spec, "was changed")
    refuse(arrays, spec | {"status": {"code": 0}}, "was changed")
    del spec["digest"]
    refuse({k: x for k, x in arrays.items() if k != "gap"}, spec, "array 'gap' is missing")
    refuse(arrays | {"v": arrays["v"][:-1]}, spec, "'v' has not one row of numbers for each time")
    refuse(arrays | {"p": arrays["p"].astype(str)}, spec, "'p' has not one row")
    refuse(arrays | {"t": arrays["t"][::-1]}, spec, "times decrease")
    refuse(arrays, spec | {"system": [1]}, "incomplete")
    refuse(arrays, spec | {"scheme": "MoreauJean"}, "incomplete")


def test_numbers_of_a_file_that_are_not_those_of_its_recipe_are_refused(tmp_path):
    run = ex.simulate(HYBRIDS["heater"]())
    path = run.save(tmp_path / "run")
    with np.load(path) as file:
        arrays = {k: file[k] for k in file.files if k != "spec"}
        spec = json.loads(str(file["spec"]))
    del spec["digest"]
    np.savez(path, **(arrays | {"x": arrays["x"][::-1]}), spec=json.dumps(spec))
    with pytest.raises(ex.BadValue, match="other numbers"):
        ex.load(path)


def test_a_file_may_differ_in_the_round_off_of_a_coordinate_that_rests(tmp_path):
    """Its column has no certain number; beside the other one it is zero."""
    system = ex.MechanicalSystem("ball on wall", q="y x", mass=[[1, 0], [0, 1]], force=[-9.81, 0])
    system.contact(ex.Contact(gap="y", e=0.5))
    system.start(q=[1, 0], v=[0, 0], t_end=1)
    path = ex.simulate(system, "EventDriven").save(tmp_path / "run")
    with np.load(path) as file:
        arrays = {k: file[k] for k in file.files if k != "spec"}
        spec = json.loads(str(file["spec"]))
    del spec["digest"]
    for drift in (3e-15, 1e-6):
        moved = arrays["x"] + drift * np.array([0, 1, 0, 0])
        np.savez(path, **(arrays | {"x": moved}), spec=json.dumps(spec))
        if drift < 1e-12:
            np.testing.assert_array_equal(ex.load(path).x, moved)
        else:
            with pytest.raises(ex.BadValue, match="other numbers"):
                ex.load(path)


def test_a_hybrid_run_as_a_table():
    run = ex.simulate(HYBRIDS["ball_with_reset"]())
    assert run.to_csv().splitlines()[0] == "t,y,v,mode,d_y,d_v"
    assert list(run.to_pandas().columns) == ["t", "y", "v", "mode", "d_y", "d_v"]
    data = run.to_xarray()
    np.testing.assert_array_equal(data["mode"], run.mode)
    assert data["mode"].attrs["names"] == ["flight", "rest"]
    assert set(data.event_contact.values) == {"floor"}
    with pytest.raises(ex.NotApplicable, match="no energy"):
        run.energy


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04 torn"])
def test_a_file_that_is_none_of_ours_is_refused(content, tmp_path):
    path = tmp_path / "x.npz"
    path.write_bytes(content)
    with pytest.raises(ex.BadValue, match="not a saved solution"):
        ex.load(path)
    with pytest.raises(ex.BadValue, match="no file"):
        ex.load(tmp_path / "nowhere.npz")


@pytest.mark.parametrize("scheme", ["MoreauJean", "SchatzmanPaoli", "NonsmoothGeneralizedAlpha"])
def test_a_step_gives_an_impulse_and_a_force_that_impacts_do_not_have(scheme):
    """At rest lam = m g and p = m g h; the impulse of an impact, over h, would grow without bound."""
    system = ex.MechanicalSystem(
        "ball", "y", mass=2, force="-2*9.81", contacts=[ex.Contact("y", e=0.3)], start={"q": [0.1]}
    )
    for h in (1e-3, 1e-4):
        run = ex.simulate(system, getattr(ex, scheme)(h=h), t_end=1)
        assert run.lam[-1, 0] == pytest.approx(2 * 9.81, rel=1e-9)
        assert run.p[-1, 0] == pytest.approx(2 * 9.81 * h, rel=1e-9)
        assert run.p.max() > 0.5
        assert run.lam.max() < 40


def test_csv_holds_every_digit():
    run = ball()
    text = run.to_csv()
    assert text.splitlines()[0] == "t,y,v_y,p_floor,gap_floor,gap_dot_floor,active_floor,lam_floor"
    table = np.loadtxt(io.StringIO(text), delimiter=",", skiprows=1)
    np.testing.assert_array_equal(table[:, 1], run.q[:, 0])


def test_pandas_and_xarray_hold_the_run_and_its_recipe():
    run = ball()
    frame, data = run.to_pandas(), run.to_xarray()
    assert list(frame.columns) == list(run.columns)
    assert frame.attrs["spec"]["rho"] == run.rho
    assert dict(data.sizes) == {
        "sample": len(run.t),
        "state": 1,
        "contact": 1,
        "event": len(run.events),
        "residual": 2,
    }
    assert frame.attrs["units"]["v_y"] == data.v.attrs["units"] == "m/s"
    np.testing.assert_array_equal(data.event_time, [x.t for x in run.events])
    assert "time" not in data.indexes  # an impact may repeat a time
    assert data.time.attrs["units"] == "s"


@pytest.mark.parametrize(
    ("name", "scheme", "shown"),
    [
        ("diode_bridge", "EulerMoreau", {"v_R1": "V", "i_R1": "A", "v_load": "V", "d_i": "A/s"}),
        ("switched_oscillator", "EulerMoreau", {"alpha_1": "", "y_circle": "", "mode": ""}),
        ("switched_oscillator", "FESD", {"alpha_circle": "", "c_circle": ""}),
        ("block_on_slope", "MoreauJean", {"p_t_slope": "N s", "slip_slope": "m/s", "lam_t_slope": "N"}),
        ("block_on_slope", "EventDriven", {"lam_t_slope": "N", "sticks_slope": "", "a_x": "m/s2"}),
        ("block_across_slope", "MoreauJean", {"p_t_slope_2": "N s", "slip_slope_1": "m/s"}),
        ("thrown_ball", "FESD", {"slip_floor": "m/s", "lam_floor": "N"}),
        ("disc_pile", "MoreauJean", {"partner_disc 1, 2": "", "sticks_disc 1, 1": ""}),
        ("duffing", "Newmark", {"a_x": "m/s2", "error": "m"}),
        ("pendulum", "MoreauJean", {}),
    ],
)  # fmt: skip
def test_tables_have_all_that_was_computed(name, scheme, shown):
    """What a file keeps, and what else a row has: a named column each, and a variable."""
    run = ex.simulate(models[name](), scheme)
    frame, data = run.to_pandas(), run.to_xarray()
    assert shown.items() <= frame.attrs["units"].items()
    width = run.to_csv().splitlines()[1].count(",") + 1
    assert width == len(frame.columns) == len({*frame.columns})
    other = {"x": "q", "multipliers": "alpha", "rates": "a" if run.has_velocities else "rates"}
    absent = ("t", "z", "S") if run.has_velocities else ("t", "z", "S", *run.ABSENT)
    kept = [other.get(k, k) for k in arrays(run) if k not in absent]
    full = [k for k in kept if k not in data and getattr(run, k).size]
    without = {"mode": not run.mode_names, "slip": not run.system.rough}
    assert [k for k in full if not without.get(k)] == []
    for quantity in run.quantities:
        np.testing.assert_array_equal(data[quantity.name], quantity.values)


def test_a_column_keeps_its_name_apart_from_a_state_of_the_same():
    pressed = ex.MechanicalSystem(
        "pressed", "x p_floor", mass=[[1, 0], [0, 1]], force=[-1, 0],
        contacts=[ex.Contact("x", name="floor")], start={"t_end": 0.1},
    )  # fmt: skip
    run = ex.simulate(pressed, ex.MoreauJean(h=0.01))
    np.testing.assert_array_equal(run.columns["p_floor"], run.q[:, 1])
    np.testing.assert_array_equal(run.columns["p_floor_"], run.p[:, 0])


@pytest.mark.parametrize("write", ["save", "to_csv"])
def test_a_folder_that_does_not_exist_is_named(write, tmp_path):
    with pytest.raises(
        ex.BadValue, match=r"nowhere.* cannot be written .*existing, writable folder"
    ):
        getattr(ball(), write)(tmp_path / "nowhere" / "run.npz")


def test_energy_is_kept_between_impacts_and_lost_in_them():
    run = ball(e=0.5)
    lost = run.contact_work[-1, 0]
    assert run.energy[-1] - run.energy[0] == pytest.approx(lost, abs=1e-10)
    # an unresolved rebound may give back what one step of gravity did: m (g h)^2
    assert (np.diff(run.contact_work[:, 0]) <= (9.81 * 1e-3) ** 2).all()


# -- copies ---------------------------------------------------------------------------------------

COPIES = {"pickled": lambda x: pickle.loads(pickle.dumps(x)), "copied": copy.deepcopy}


@for_each("again", COPIES.values())
@for_each(
    ("name", "scheme"),
    [
        ("bouncing_ball", "MoreauJean"),
        ("bouncing_ball", "EventDriven"),
        ("bouncing_ball", "FESD"),
        ("elastic_bar", "NonsmoothGeneralizedAlpha"),
        ("diode_bridge", "EulerMoreau"),
        ("disc_pile", "MoreauJean"),
        ("switched_oscillator", "EulerMoreau"),
        ("switched_oscillator", "EventDriven"),
        ("switched_oscillator", "FESD"),
        ("thermostat", "EventDriven"),
    ],
)
def test_a_run_and_its_system_are_pickled_and_copied_deeply(name, scheme, again):
    """What is native is made anew; the copies share nothing, and go on as the first did."""
    run = ex.simulate(models[name](), scheme)
    other = again(run)
    assert type(other) is type(run)
    assert other.system is not run.system
    assert again(run.system).made == {}
    absent = () if run.has_velocities else run.ABSENT
    for field in (k for k in arrays(run) if k not in absent):
        np.testing.assert_array_equal(getattr(other, field), getattr(run, field))
    t = 0.37 * run.t[-1]
    np.testing.assert_array_equal(other.at(t).q, run.at(t).q)
    np.testing.assert_array_equal(ex.rerun(other).q, run.q)
    other.system.params(more=1.0)
    assert "more" not in run.system.parameters


@pytest.mark.parametrize("again", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize(("name", "mode0"), [("bouncing_ball", None), ("thermostat", "on")])
def test_derivatives_are_pickled_and_copied_deeply(name, mode0, again):
    sens = ex.sensitivity(models[name](), cost={"g": models[name]().coordinates[0]}, mode0=mode0)
    other = again(sens)
    np.testing.assert_array_equal(other.at(0.3), sens.at(0.3))
    np.testing.assert_array_equal(other.saltation(0).Xi, sens.saltation(0).Xi)
    assert other.solution.march.flow.wrt == sens.solution.march.flow.wrt  # nothing is lost


def test_a_failed_run_travels_with_its_error():
    system, scheme = WRONG["singular"]
    with pytest.raises(ex.StepFailed) as caught:
        ex.simulate(system, scheme)
    other = pickle.loads(pickle.dumps(caught.value))
    assert str(other) == str(caught.value)
    np.testing.assert_array_equal(other.solution.q, caught.value.solution.q)


def test_other_processes_simulate_systems_that_have_run_here():
    systems = [models[name]() for name in ("bouncing_ball", "thermostat", "diode_bridge")]
    here = [ex.simulate(system) for system in systems]
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        there = list(pool.map(ex.simulate, systems))
    for one, other in zip(here, there, strict=True):
        np.testing.assert_array_equal(one.q, other.q)


# -- the cache ------------------------------------------------------------------------------------

SCRIPT = """
import sys, warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import numpy as np
    import explorer as ex
    from explorer.compiled import compile_system
    from explorer.kernels.model.along_rows import evaluate  # one kernel is enough, and the quickest to compile
    energy = compile_system(ex.models.bouncing_ball()).bundles["energy"]
    t, q, v, out = np.zeros(1), np.ones((1, 1)), np.ones((1, 1)), np.empty((1, 2))
    inp = np.array([0.0, 0.0, 0.0, *ex.models.bouncing_ball().rho()])
    evaluate(energy.address, energy.data, t, q, v, inp, np.empty(2), out)
said = [str(w.message) for w in caught if issubclass(w.category, ex.CacheWarning)]
sys.stdout.write(f"{out.tolist()}|{len(said)}|{' '.join(said)}")
"""


def in_new_process(cache):
    """Run SCRIPT with a cache folder; return the energies, the warnings, their text, the bar."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=300,
        env={**os.environ, "NONSMOOTH_EXPLORER_CACHE": str(cache)}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found, count, text = done.stdout.split("|")
    return found, int(count), text, done.stderr


def test_a_cache_that_cannot_be_written_is_said_once_and_harmless(tmp_path):
    (tmp_path / "file").write_text("in the way")
    found, count, text, _ = in_new_process(tmp_path / "file" / "cache")
    assert (found, count) == ("[[0.5, 9.81]]", 1)
    assert "NONSMOOTH_EXPLORER_CACHE" in text


def test_what_nobody_reads_leaves_the_cache(tmp_path, monkeypatch):
    from explorer import cache

    monkeypatch.setenv("NONSMOOTH_EXPLORER_CACHE", str(tmp_path))
    for name, part in (("old", "gone"), ("old", "models"), ("read", "models")):
        cache.store(name, b"code", part)
        path = tmp_path / part / name
        os.utime(path, (path.stat().st_atime if name == "read" else 0, 0))
    cache.prune()
    assert [p.relative_to(tmp_path).as_posix() for p in sorted(tmp_path.rglob("*"))] == [
        "models", "models/read",
    ]  # fmt: skip
    assert cache.load("read", "models") == b"code"


def test_formulas_built_anew_are_found_in_the_cache(tmp_path, monkeypatch):
    """Another process has other addresses: they are no part of the digest; the last digit is."""
    from explorer import cache
    from explorer.compiled import bundle

    monkeypatch.setenv("NONSMOOTH_EXPLORER_CACHE", str(tmp_path))
    stored = []
    monkeypatch.setattr(cache, "store", lambda name, *more: stored.append(name))
    for number in (0.1, 0.1, 0.1 + 2**-56):
        x, y = sp.symbols("x y")
        f = [bundle.smooth(number * sp.sin(x) + x * y), bundle.smooth(sp.Max(x, number) ** 2)]
        native = bundle.Bundle([bundle.smooth(x), bundle.smooth(y)], f)
        assert native(np.array([2.0, 3.0])) == pytest.approx([number * np.sin(2) + 6, 4])
    assert stored[0] == stored[1] != stored[2]


def test_a_cache_is_filled_once_and_replaced_where_it_is_damaged(tmp_path):
    """What is compiled is counted to its end; then nothing is said, as all is in the cache."""
    whole, _, _, said = in_new_process(tmp_path)
    assert said
    counts = [tuple(map(int, pair)) for pair in re.findall(r"(\d+)/(\d+)", said)]
    for total, batch in itertools.groupby(counts, key=lambda pair: pair[1]):
        assert {done for done, _ in batch} == set(range(total + 1))
    assert said.endswith("\n")
    assert in_new_process(tmp_path) == (whole, 0, "", "")
    damaged = [p for p in tmp_path.rglob("*") if p.is_file() and p.stat().st_size]
    assert len(damaged) > 2
    for path in damaged:
        path.write_bytes(path.read_bytes()[:40] + b"damage")
    assert in_new_process(tmp_path)[0] == whole


def test_large_results_use_memory_again_but_never_that_of_a_living_one(monkeypatch):
    """What has died is lent again, cleared; a view alone keeps its memory."""
    from explorer import memory
    from explorer.memory import zeros

    monkeypatch.setattr(memory, "_idle", {})  # nothing of other tests
    first = zeros(200_000)
    place = first.__array_interface__["data"][0]
    first[:] = 1.0
    kept = first[10:20]
    del first
    second = zeros(200_000)
    assert second.__array_interface__["data"][0] != place
    assert (kept == 1.0).all()
    del kept
    third = zeros(150_000)
    assert third.__array_interface__["data"][0] == place
    assert not third.any()
    runs = [ex.simulate(ex.models.column(50), t_end=1) for _ in range(4)]
    assert len({run.q.__array_interface__["data"][0] for run in runs}) == 4
    assert all(np.array_equal(run.q, runs[0].q) for run in runs)


def test_a_result_is_equal_to_itself_alone():
    """Arrays have no one truth value: results are compared by identity, on every Python."""
    ball = models["bouncing_ball"]()
    runs = [ex.simulate(ball, scheme, t_end=0.1) for scheme in (ex.MoreauJean, ex.EventDriven)]
    for run in (*runs, ex.simulate(ball, ex.FESD, t_end=0.1), ex.sensitivity(ball, t_end=0.1)):
        assert run == run
        assert (run, 1) == (run, 1)
        assert len({run, *runs}) >= 2
    assert runs[0] != runs[1]


def test_what_a_scheme_records_is_saved_whatever_its_name(tmp_path):
    run = ex.simulate(models["pendulum"](), ex.MoreauJean(h=1e-2), t_end=0.5)
    run.strain = np.arange(3.0)
    assert run.kinetic.size  # follows from the rows, and is not kept
    back = ex.load(run.save(tmp_path / "run"))
    np.testing.assert_array_equal(back.strain, run.strain)
    assert "kinetic" not in vars(back)
    with pytest.raises(AttributeError, match="A Solution has no 'active_set'"):
        _ = run.active_set
    del vars(run)["active"]
    with pytest.raises(AttributeError, match="no 'active'") as refused:
        _ = run.active
    assert "mean 'active'" not in str(refused.value)


@pytest.mark.parametrize("path", [5, None, 1.5])
def test_a_file_has_a_path(path):
    run = ex.simulate(ex.models.bouncing_ball())
    with pytest.raises(ex.BadValue, match="is not a file path"):
        run.save(path)
    with pytest.raises(ex.BadValue, match="is not a file path"):
        ex.load(path)


@pytest.mark.parametrize("limit", [{"max_steps": 10**30}, {"max_events": 10**14}])
def test_limits_beyond_memory_are_refused(limit):
    with pytest.raises(ex.BadValue, match=r"must be at most|more than memory allows"):
        ex.simulate(ex.models.bouncing_ball(), ex.EventDriven(**limit), t_end=0.1)
