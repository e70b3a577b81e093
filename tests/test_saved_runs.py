"""Saved runs: every type of system, by each scheme that accepts it, comes back as it was."""

import json

import numpy as np
import pytest
from kinds import ALL, GALLERY, SYSTEMS, one_of_each
from loops import for_each

import explorer as ex

TYPES = one_of_each(ALL, lambda case: (type(SYSTEMS[case[0]]), case[1]))
MAPS = [name for name, system in GALLERY.items() if system.discrete]


def kept(run, path):
    """Return a run that was saved and loaded, which tells the same as it."""
    back = ex.load(run.save(path))
    assert (back.status, back.outcome, repr(back)) == (run.status, run.outcome, repr(run))
    assert [*back.columns] == [*run.columns]
    for name, values in run.columns.items():
        np.testing.assert_array_equal(back[name], values, err_msg=name)
    assert [(e.t, e.kind, e.row) for e in back.events] == [(e.t, e.kind, e.row) for e in run.events]
    assert repr(back.certificate) == repr(run.certificate)
    return back


@pytest.mark.filterwarnings("ignore::explorer.LessonWarning")
@for_each(("name", "scheme"), TYPES)
def test_a_run_of_any_type_of_system_is_loaded_as_it_was_saved(name, scheme, tmp_path):
    system = SYSTEMS[name]
    kept(ex.simulate(system, scheme, t_end=40 if system.discrete else 0.3), tmp_path / "run")


def linear(**more):
    """Return two masses in a row, the second one beside a stop."""
    return ex.LinearMechanicalSystem(
        "row", M=np.eye(2), K=[[200, -100], [-100, 100]],
        start={"q": [0, 0.1], "t_end": 0.5}, **more,
    )  # fmt: skip


SMOOTH, STOPPED = linear(), linear(contacts=[ex.Contact("q2 + 0.02", e=0.5, name="stop")])


@pytest.mark.filterwarnings("ignore::explorer.LessonWarning")
@for_each(("system", "scheme"), [(x, s) for x in (SMOOTH, STOPPED) for s in ex.schemes_for(x)])
def test_a_run_of_a_linear_system_is_loaded_as_it_was_saved(system, scheme, tmp_path):
    kept(ex.simulate(system, scheme), tmp_path / "run")


@for_each("name", MAPS)
def test_a_run_of_a_map_is_loaded_as_it_was_saved(name, tmp_path):
    run = ex.simulate(SYSTEMS[name], t_end=50, throw=False)
    back = kept(run, tmp_path / "run")
    np.testing.assert_array_equal(back.branch, run.branch)
    np.testing.assert_array_equal(ex.rerun(back).x, run.x)


def test_an_orbit_that_escaped_is_loaded_with_its_status(tmp_path):
    run = ex.simulate(SYSTEMS["tent_map"], mu=2.2, throw=False)
    assert kept(run, tmp_path / "run").status.name == "escaped"


def without_e():
    """Return a ball whose restitution nobody gave."""
    contacts, start = [ex.Contact("y")], {"q": [1.0], "t_end": 1.0}
    return ex.MechanicalSystem("ball", "y", force="-9.81", contacts=contacts, start=start)


@pytest.mark.filterwarnings("ignore")
@for_each(
    ("make", "scheme", "count"),
    [
        (without_e, "EventDriven", 1),
        (without_e, "MoreauJean", 1),
        (lambda: STOPPED, "ContactInNewmark", 1),
    ],
)
def test_a_saved_run_keeps_its_warnings(make, scheme, count, tmp_path):
    run = ex.simulate(make(), scheme)
    assert len(run.warned) == count
    back = kept(run, tmp_path / "run")
    assert (back.warned, back.cautions) == (run.warned, run.cautions)
    assert kept(back, tmp_path / "again").warned == run.warned


@pytest.mark.filterwarnings("ignore")
@for_each("scheme", ["EventDriven", "MoreauJean"])
def test_a_file_that_tells_no_warnings_is_loaded(scheme, tmp_path):
    """As those of 0.2.0."""
    path = ex.simulate(without_e(), scheme).save(tmp_path / "run")
    with np.load(path) as file:
        arrays = {k: file[k] for k in file.files if k != "spec"}
        spec = json.loads(str(file["spec"]))
    del spec["warned"], spec["digest"]
    np.savez(path, **arrays, spec=json.dumps(spec))
    assert ex.load(path).warned == ()
