"""The same model has the same attributes whatever scheme ran; what it has not is said."""

import ast
import copy
import pickle
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kinds import SYSTEMS

import explorer as ex
from explorer.errors import NoSuchName
from explorer.models import models
from explorer.results.part import public
from explorer.results.parts import PARTS

G = 9.81
MOTION = ("t", "q", "v", "p", "gap", "gap_dot", "active", "lam", "contact_work", "friction_work",
          "kinetic", "potential", "energy", "events", "at")  # fmt: skip
FRICTION = ("p_t", "lam_t", "lam_max", "slip", "sticks")
STATE = ("t", "q", "x", "rates", "mode", "mode_names", "events", "at")
MODELS = {
    "bouncing_ball": MOTION,
    "block_on_slope": MOTION + FRICTION,
    "duffing": MOTION,
    "pendulum": MOTION,
    "switched_oscillator": (*STATE, "alpha"),
    "thermostat": STATE,
    "diode_bridge": STATE,
}


@pytest.mark.parametrize("name", MODELS)
def test_the_same_model_has_the_same_attributes(name):
    system = getattr(ex.models, name)()
    state = MODELS[name][2] == "x"
    rows = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for scheme in ex.schemes_for(system):
            end = min(system.t_end, 200 * getattr(scheme, "h", 0.05))
            run = ex.simulate(system, scheme, t_end=end)
            has = {what for what in MODELS[name] if hasattr(run, what)}
            assert has == {*MODELS[name]}, scheme
            for what in ("gap", "p", "friction_work", "contact_work", "lam") * (not state):
                assert getattr(run, what).shape == (len(run.t), len(system.contacts)), scheme
            if state:
                for what in ("v", "p", "gap", "gap_dot", "active", "contact_work", "friction_work"):
                    assert not hasattr(run, what), scheme
            rows[type(scheme).__name__] = {*run.columns} & {*system.coordinates}
    assert all(found == {*system.coordinates} for found in rows.values())


@pytest.mark.broad
@pytest.mark.parametrize("name", SYSTEMS)
def test_all_runs_of_a_model_have_the_same_parts(name):
    """Parts, and what each of them answers, depend on the model and not on the scheme."""
    system, answers = SYSTEMS[name], {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for scheme in ex.schemes_for(system):
            end = min(system.t_end, 10 * getattr(scheme, "h", system.h))
            end = 8 if system.discrete else end
            run = ex.simulate(system, scheme, t_end=end, throw=False)
            there = {part: getattr(run, part) for part in PARTS if run.has(part)}
            answers[scheme] = {
                (part, what) for part, own in there.items() for what in public(type(own))
                if answered(own, what)
            }  # fmt: skip
            assert all(run.has(what) for part in there for what in PARTS[part].flat
                       if (part, what) in answers[scheme])  # fmt: skip
            for part in {*PARTS} - {*there}:
                with pytest.raises(NoSuchName, match=r"This run has: states"):
                    getattr(run, part)
    first, *others = answers.values()
    assert all(other == first for other in others), answers


def answered(part, what) -> bool:
    """Whether a part has this; all that is no refusal is an error."""
    try:
        getattr(part, what)
    except (NoSuchName, ex.NotApplicable):
        return False
    return True


DIFFERENT = (
    "bouncing_ball", "stick_slip", "duffing", "pendulum", "four_bar_stop", "portal_frame",
    "relay_feedback", "sliding_mode", "two_blocks_on_belt", "diode_bridge", "thermostat",
    "tent_map", "disc_pile",
)  # fmt: skip


@pytest.mark.parametrize("name", DIFFERENT)
def test_the_names_of_a_run_are_those_of_its_model(name):
    """What tab completion shows after one scheme, every other scheme has, in the same shape."""
    system, runs = SYSTEMS[name], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for scheme in ex.schemes_for(system):
            end = 8 if system.discrete else min(system.t_end, 10 * getattr(scheme, "h", system.h))
            runs.append(ex.simulate(system, scheme, t_end=end, throw=False))
    shown = [[k for k in dir(run) if k[0] != "_"] for run in runs]  # before rows are made
    assert all(names == shown[0] for names in shown)
    assert {"t", "q", "x", "events", "steps", "status", "scheme", "system"} <= {*shown[0]}
    for what in {*shown[0], *(k for part in PARTS.values() for k in part.flat)}:
        assert len({form_of(run, what) for run in runs}) == 1, what
        assert len({run.has(what) for run in runs if what not in ("scheme", "asked")}) <= 1, what
    for what in {*shown[0]} - {"potential"}:
        assert form_of(runs[0], what) != "refused", what


def form_of(run, what) -> object:
    """Return the kind and the trailing shape of an array, else the type; or that it is refused."""
    try:
        value = getattr(run, what)
    except (NoSuchName, ex.NotApplicable):
        return "refused"
    if isinstance(value, np.ndarray):
        return value.dtype.kind, value.shape[1:]
    return "a scheme" if what == "scheme" else type(value).__name__


def test_a_name_that_a_run_has_not_is_refused_with_the_reason():
    ball = ex.simulate(ex.models.bouncing_ball(), "EventDriven", t_end=2.0)
    for what, why in (
        ("alpha", "without laws and step functions. This run has: states, contacts, steps, events"),
        ("theta", "without laws and step functions. This run has: states, contacts"),
        ("u", "'bouncing ball' declares no inputs. This run has: states, contacts"),
        ("mode", "solution.events has what happened. This run has: states, contacts"),
        ("phi", "'bouncing ball' declares none. This run has: states, contacts"),
        ("nonsense", "This run has: states, contacts, steps, events. dir(run) lists all names"),
        ("enrgy", "Did you mean 'energy'?"),
    ):
        with pytest.raises(NoSuchName, match=re.escape(why)):
            getattr(ball, what)
        assert not ball.has(what)


def test_what_one_scheme_alone_has_is_of_its_steps():
    """Another scheme says which have it; the names of before go on answering."""
    system = ex.models.bouncing_ball()
    located = ex.simulate(system, "EventDriven", t_end=0.5)
    stepped = ex.simulate(system, ex.MoreauJean(h=1e-2), t_end=0.5)
    assert {"z", "S", "nearest", "iterations", "residuals"} <= {*dir(located.steps)}
    assert located.steps.z is located.z
    assert (stepped.steps.residuals == stepped.residuals).all()
    assert "z" not in dir(stepped.steps)
    for where in (stepped, stepped.steps):
        with pytest.raises(NoSuchName, match="MoreauJean records none of it: EventDriven and FESD"):
            where.z
    with pytest.raises(NoSuchName, match=r"sol.steps has no 'q'"):
        stepped.steps.q
    assert stepped.state(0.105) == pytest.approx([*stepped.at(0.105).q, *stepped.at(0.105).v])
    assert stepped.refined() is stepped


def test_what_only_a_located_event_has_is_told_of_others():
    """An event known to one step has no states on its sides: which schemes have them is said."""
    system = ex.models.bouncing_ball()
    stepped, located = (ex.simulate(system, s).events[0] for s in ("MoreauJean", "EventDriven"))
    changed = ex.simulate(ex.models.diode_bridge(), "EulerMoreau").events[0]
    for name in ("x_minus", "x_plus", "slope", "together", "energy"):
        assert hasattr(located, name)
        for event in (stepped, changed):
            with pytest.raises(NoSuchName, match=f"no {name!r}. .* EventDriven and FESD locate"):
                getattr(event, name)
    assert changed.mode
    assert located.mode == ""
    with pytest.raises(NoSuchName, match="A contact has no modes"):
        stepped.to
    for event in (stepped, changed, located):
        with pytest.raises(NoSuchName, match="Did you mean 'impulse'"):
            event.impuls
        for again in (copy.deepcopy(event), pickle.loads(pickle.dumps(event))):
            assert (again.t, again.kind, again.row) == (event.t, event.kind, event.row)


@pytest.mark.parametrize("name", ["tent_map", "thermostat", "relay_feedback", "diode_bridge"])
def test_events_of_no_motion_have_no_speeds(name):
    """Neither where none has happened, nor where a law has changed its place."""
    system = SYSTEMS[name]
    for end in (8, 8) if system.discrete else (2 * system.h, system.t_end):
        events = ex.simulate(system, t_end=end).events
        for table in (repr(events), events._repr_html_()):
            assert "N s" not in table
            assert "()" not in table
            assert ("guard" in table) == bool(events)
    assert "N s" in ex.simulate(SYSTEMS["bouncing_ball"]).events._repr_html_()


SAVED = sorted((Path(__file__).parent / "data" / "saved").glob("*.npz"))


@pytest.mark.parametrize("path", SAVED, ids=lambda path: path.stem)
def test_a_file_of_before_loads(path):
    """Files that were written when there was a class for each kind of run, number for number."""
    run = ex.load(path)
    with np.load(path) as file:
        for name in {*file} - {"spec", "phi", "p_phi"}:
            if name == "mode" and run.has_velocities:  # what motions have no more
                continue
            if name.startswith("recorded_"):
                continue
            if file[name].size:
                np.testing.assert_array_equal(getattr(run, name), file[name], name)
    assert run.status.ok
    assert run.certificate.ok
    assert run.has("contacts") == (path.stem in ("friction", "located"))
    assert run.has("multipliers") == (path.stem in ("laws", "switched"))
    again = ex.rerun(run)  # sines of another processor may differ in the last digit
    np.testing.assert_allclose(again.q, run.q, rtol=1e-13, atol=1e-15)


def test_what_a_notebook_shows_takes_the_colours_of_its_theme():
    """Status, scheme, events and parts; no colour of its own, so light and dark alike."""
    run = ex.simulate(ex.models.bouncing_ball(), ex.MoreauJean(h=5e-3), e=0.5)
    shown = run._repr_html_()
    for words in ("bouncing ball", "success", "MoreauJean(h=0.005)", "sol.contacts", "impact"):
        assert words in shown
    assert repr(run.events).splitlines()[0] == f"{len(run.events)} events:"
    assert repr(ex.simulate(ex.models.pendulum()).events) == "0 events."
    gallery = ex.models._repr_html_()
    for name in models:
        assert f">{name}<" in gallery
    for table in (shown, run.events._repr_html_(), gallery):
        assert "currentColor" in table
        assert not re.search(r"#[0-9a-fA-F]{3,8}\b|\brgba?\(|background", table)


def test_names_of_before_say_what_to_ask_instead():
    for name in ("Trajectory", "FrictionalSolution"):
        with pytest.raises(
            ImportError, match=rf"explorer\.{name} is explorer.Solution now: .*sol\."
        ):
            getattr(ex, name)


def test_no_view_panel_or_study_tells_results_apart_by_class():
    """They ask a run for its parts. (Whether something is a run at all may be asked.)"""
    source = Path(ex.__file__).parent
    classes = {
        node.name
        for path in (source / "results").glob("*.py")
        for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef)
    } - {"Solution"}  # fmt: skip
    told = re.compile(rf"isinstance\([^()]*\b({'|'.join(sorted(classes))})\b")
    for part in ("views", "panels", "study"):
        for path in (source / part).rglob("*.py"):
            assert not told.search(path.read_text()), path


def test_what_a_circuit_has_not_is_said(tmp_path):
    run = ex.simulate(ex.models.diode_bridge())
    for what in ("v", "p", "gap", "friction_work"):
        with pytest.raises(NoSuchName, match=rf"has no '{what}'.*run.x holds its states"):
            getattr(run, what)
    again = ex.load(run.save(tmp_path / "bridge.npz"))
    assert (again.x == run.x).all()
    assert not hasattr(again, "v")
    hopping = ex.simulate(ex.models.thermostat())
    assert (ex.load(hopping.save(tmp_path / "t.npz")).x == hopping.x).all()
    assert run.at([0.0, run.t[-1]]).q.shape == (2, run.x.shape[1])
    assert run.at(0.5 * run.t[-1]).v.shape == (0,)


def block():
    """Return a block that slides on a floor that moves at u."""
    given = {"q": "x y", "mass": [[2, 0], [0, 2]], "params": {"k": 0.0, "u": 0.0, "mu": 0.3}}
    system = ex.MechanicalSystem(
        "block", **given, force=["-k*x", f"-2*{G}"], potential=f"k*x**2/2 + 2*{G}*y",
        start={"v": [3, 0], "t_end": 1.5},
    )  # fmt: skip
    system.contact(ex.Contact("y", e=0, mu="mu", slip="v_x - u", name="floor"))
    return system


@pytest.mark.parametrize("scheme", [ex.EventDriven(), ex.MoreauJean(h=1e-4), ex.FESD()], ids=repr)
def test_the_work_of_friction_on_a_block(scheme):
    """W = -mu m g s while it slides, nothing while it rests: the whole kinetic energy, 9 J."""
    run = ex.simulate(block(), scheme)
    s = np.where(run.t < 3 / (0.3 * G), 3 * run.t - 0.15 * G * run.t**2, 1.5 / 0.1 / G)
    near = 1e-9 if not isinstance(scheme, ex.MoreauJean) else 2e-3
    assert np.abs(run.friction_work[:, 0] + 0.6 * G * s).max() < near
    assert run.friction_work[-1, 0] == pytest.approx(-9, abs=near)


@settings(max_examples=6, deadline=None)
@given(
    st.floats(5, 80), st.floats(0.05, 0.9), st.floats(-4, 4), st.floats(0, 1.5), st.floats(0, 0.9)
)
def test_friction_takes_what_energy_loses(k, mu, v, height, e):
    """A block on a spring, thrown: with its impacts, energy falls by both works; by schemes alike."""
    system = block()
    law = ex.Contact("y", e=e, mu="mu", slip="v_x", name="floor")
    thrown = ex.MechanicalSystem(
        "thrown", q="x y", mass=[[2, 0], [0, 2]], force=["-k*x", f"-2*{G}"], contacts=[law],
        params={"k": k, "mu": mu}, potential=f"k*x**2/2 + 2*{G}*y",
        start={"q": [0.1, height], "v": [v, 0], "t_end": 1.2},
    )  # fmt: skip
    assert system.rough == thrown.rough
    run = ex.simulate(thrown, ex.EventDriven(rtol=1e-10))
    balance = ex.study.energy_balance(run)
    lost = run.energy - run.energy[0]
    contact = np.interp(run.t[-1], balance.t, balance.contact)
    assert lost[-1] == pytest.approx(run.friction_work[-1, 0] + contact, abs=1e-6 * (1 + k))
    assert (np.diff(run.friction_work[:, 0]) <= 1e-9 * (1 + k)).all()


def test_a_belt_that_moves_is_counted_by_its_sliding():
    """Against a belt at 5 m/s the block slides until it rides: -m (u - v)^2 / 2 on the sliding."""
    run = ex.simulate(block(), ex.EventDriven(), u=5.0)
    assert run.friction_work[-1, 0] == pytest.approx(-0.5 * 2 * (5 - 3) ** 2, rel=1e-9)
    slow = ex.simulate(block(), ex.MoreauJean(h=1e-4), u=5.0)
    assert slow.friction_work[-1, 0] == pytest.approx(run.friction_work[-1, 0], rel=1e-3)


def test_an_impact_rubs_too():
    """Thrown at a rough floor with e = 0: p_t (slip- + slip+) / 2 at once, as kinetic energy."""
    system = ex.MechanicalSystem(
        "dropped", q="x y", mass=[[1, 0], [0, 1]], force=[0, f"-{G}"], potential=f"{G}*y",
        contacts=[ex.Contact("y", e=0, mu=0.2, slip="v_x", name="floor")],
        start={"q": [0, 1], "v": [3, 0], "t_end": 0.6},
    )  # fmt: skip
    run = ex.simulate(system, ex.EventDriven())
    row = run.events[0].row
    before, after = run.v[row - 1, 0], run.v[row, 0]
    assert after < before
    lost = 0.5 * (after**2 - before**2)
    assert run.friction_work[row, 0] == pytest.approx(lost, rel=1e-12)
    assert run.friction_work[row - 1, 0] == 0
