"""A sweep as arrays over its axes: what each run has come to, by name, and in words."""

from __future__ import annotations

import numpy as np
import pytest
from loops import for_each
from plain import put, space
from test_study_branches import bare

import explorer as ex
from explorer.codes import SUCCESS
from explorer.errors import BadValue, ExplorerError
from explorer.runs.members import Asked, Observed
from explorer.status import ESCAPED, UNSTABLE
from explorer.study.over import Axes
from explorer.study.parts import UNRUN
from explorer.study.starts import Starts, _drawn
from explorer.study.swept import Failure, Sweep

COVERS = ("study/over.py", "study/starts.py", "study/swept.py")  # see mutant_rooms.py


def sweep_of(section=True, extrema=True):
    """Return a sweep over 2 values of omega by 3 pairs of s and the start x; run 4 has failed."""
    system = ex.models.impact_oscillator()
    over = {"omega": [1.0, 2.0], ("s", "q0.x"): [[0.1, 5.0], [0.2, 6.0], [0.3, 7.0]]}
    asked = Asked(("stop",), "period" if section else "none", most=2, extrema=extrema)
    seen = Observed.empty(6, 2, asked)
    seen.code[:], seen.t[:] = [SUCCESS, SUCCESS, UNRUN, SUCCESS, UNSTABLE, -7], np.arange(6) / 2
    for name, part in seen._asdict().items():
        if name not in ("code", "t", "mode", "caught"):
            part[...] = np.arange(part.size).reshape(part.shape)
    question = space(system=system, scheme="scheme", axes=Axes.of(system, over), asked=asked,
                     section="section" if section else None, extrema=extrema)  # fmt: skip
    return Sweep(question, seen, 1.5), seen


def test_arrays_of_a_sweep_have_its_axes_first():
    found, seen = sweep_of()
    assert found.shape == (2, 3)
    for name in ("end", "t", "events", "points", "times", "found", "low", "high", "code"):
        own = getattr(seen, name)
        np.testing.assert_array_equal(getattr(found, name), own.reshape(2, 3, *own.shape[1:]))
    assert found.ok.tolist() == [[True, True, False], [True, False, False]]
    assert found.status.tolist() == [["success", "success", "not run"], ["success", "unstable", "refused"]]  # fmt: skip
    assert found["x"].tolist() == seen.end[:, 0].reshape(2, 3).tolist()
    assert found["v_x"].tolist() == seen.end[:, 1].reshape(2, 3).tolist()
    assert [found.place("x"), found.place("v_x")] == [0, 1]
    assert (found.states, found.event_names, found.scheme) == (("x", "v_x"), ("stop",), "scheme")
    with pytest.raises(BadValue, match="has no state 'y'"):
        found.place("y")


def test_axes_of_a_sweep_are_known_by_name():
    """Names that vary together are one axis of rows."""
    found, _ = sweep_of()
    assert {k: x.tolist() for k, x in found.axes.items()} == {
        "omega": [1.0, 2.0], "s, q0.x": [[0.1, 5.0], [0.2, 6.0], [0.3, 7.0]],
    }  # fmt: skip
    units = found.units
    assert [*units] == ["x", "v_x", "omega", "s", "q0.x"]
    assert units["q0.x"] == units["x"]
    assert units["v_x"] == (f"{units['x']}/s" if units["x"] else "1/s")


def test_failures_say_where_and_how_far():
    found, _ = sweep_of()
    assert found.failures == [
        Failure((0, 2), {"omega": 1.0, "s": 0.3, "q0.x": 7.0}, "not run", 1.0),
        Failure((1, 1), {"omega": 2.0, "s": 0.2, "q0.x": 6.0}, "unstable", 2.0),
        Failure((1, 2), {"omega": 2.0, "s": 0.3, "q0.x": 7.0}, "refused", 2.5),
    ]


@for_each("section", [True, False])
def test_a_sweep_counts_its_runs_in_words(section):
    found, seen = sweep_of(section)
    words = repr(found).split("; ")
    assert words[0] == "Sweep of 'impact oscillator' by 'scheme': 2 omega x 3 s, q0.x"
    assert words[1] == "3 of 6 runs have numbers, none is certified"
    assert words[2] == "1 not run, 1 refused, 1 unstable"
    assert words[3:] == ([f"{seen.found.sum()} points on the section"] if section else [])
    seen.code[:] = 0
    again = Sweep(found.question, seen)
    assert "success" not in repr(again)


@for_each(("code", "ok", "told"), [
    (UNRUN, True, "The sweep was stopped before."), (0, True, "It ends. caution one two"), (ESCAPED, False, "It ends."), (5, None, "no start"),
])  # fmt: skip
def test_why_a_run_has_ended_is_asked_of_itself(monkeypatch, code, ok, told):
    found, seen = sweep_of()
    seen.code[4] = code

    def run(self, *index):
        assert index == (1, 1)
        if ok is None:
            raise ExplorerError("no start")
        return space(status=space(message="It ends.", ok=ok), cautions=("caution one", "two"))

    monkeypatch.setattr(Sweep, "run", run)
    assert found.why(1, 1) == told


@for_each(("section", "extrema"), [(True, True), (False, False)])
def test_a_table_has_what_was_observed(monkeypatch, section, extrema):
    told = {}
    xarray = space(Dataset=lambda found, coords, attrs: told.update(found=found, coords=coords, attrs=attrs) or "table")  # fmt: skip
    put(monkeypatch, Sweep.to_xarray, extra=lambda name: xarray)
    found, _ = sweep_of(section, extrema)
    assert found.to_xarray() == "table"
    dims = ["omega", "sample_1"]
    assert {name: [*one[0]] for name, one in told["found"].items()} == {
        "end": [*dims, "state"], "t": dims, "status": dims, "events": [*dims, "event"],
        **({"points": [*dims, "point", "state"], "times": [*dims, "point"], "found": dims} if section else {}),
        **({"low": [*dims, "state"], "high": [*dims, "state"]} if extrema else {}),
    }  # fmt: skip
    for one in told["found"].values():
        assert one[1].shape[:2] == (2, 3)
    columns = {k: (x[0], x[1].tolist()) for k, x in told["coords"].items() if isinstance(x, tuple)}
    assert columns == {
        "omega": ("omega", [1.0, 2.0]), "s": ("sample_1", [0.1, 0.2, 0.3]), "q0.x": ("sample_1", [5.0, 6.0, 7.0]),
    }  # fmt: skip
    assert told["coords"]["state"] == ["x", "v_x"]
    assert told["coords"]["event"] == ["stop"]
    assert told["attrs"] == {"system": "impact oscillator", "scheme": "'scheme'"}


# ---------------------------------------------------------------- starts


@for_each(
    ("over", "samples", "starts", "parameters", "order"),
    [
        ({"q0.x": [0, 1], "v0.x": [2, 3, 4]}, None, ["q0.x", "v0.x"], [], [(False, 0), (False, 1)]),
        ({"e": [0.1, 0.2], "q0.x": [0, 1]}, None, ["q0.x"], ["e"], [(True, 0), (False, 0)]),
        ({"q0.x": [0, 1], "e": [0.1], "v0.x": [2], "s": [0]}, None, ["q0.x", "v0.x"], ["e", "s"], [(False, 0), (True, 0), (False, 1), (True, 1)]),
        ({"q0.x": [0, 1], "e": [0.1], "v0.x": [2, 3]}, 4, ["q0.x, v0.x"], ["e"], [(True, 0), (False, 0)]),
    ],
)  # fmt: skip
def test_starts_and_parameters_stand_apart(over, samples, starts, parameters, order):
    found = Starts.of(ex.models.impact_oscillator(), over, samples, 3)
    assert [axis.label for axis in found.axes] == starts
    assert [axis.label for axis in found.parameters] == parameters
    assert list(found.order) == order
    assert found.names == tuple(name for label in starts for name in label.split(", "))
    assert found.shape == tuple(len(axis.values) for axis in found.axes)
    rows = (
        np.array(np.meshgrid(*(range(n) for n in found.shape), indexing="ij"))
        .reshape(len(starts), -1)
        .T
    )
    for row, at in zip(found.rows, rows, strict=True):
        own = np.concatenate([axis.values[i] for axis, i in zip(found.axes, at, strict=True)])
        assert row.tolist() == own.tolist()
    assert found.grid.shape == found.shape
    some = found.axes_of(found.rows[:1])
    assert some.axes[0].values.tolist() == found.rows[:1].tolist()


@for_each(("over", "told"), [({"e": [0.1]}, "over needs starts, such as 'x0.x'"), ({("e", "q0.x"): [[0.1, 0.0]]}, "mixes parameters and starts")])  # fmt: skip
def test_over_parameters_alone_there_are_no_basins(over, told):
    with pytest.raises(BadValue, match=told):
        Starts.of(ex.models.impact_oscillator(), over, None, 0)


@for_each("samples", [1, 200])
def test_random_starts_fill_the_box_of_their_axes(samples):
    axes = [space(names=("a",), units=("m",), values=np.array([[2.0], [-1.0], [0.0]])),
            space(names=("b",), units=("s",), values=np.array([[5.0], [7.0]]))]  # fmt: skip
    found = _drawn(axes, samples, 4)
    assert (found.names, found.units, found.values.shape) == (("a", "b"), ("m", "s"), (samples, 2))
    wanted = np.random.default_rng(4).uniform([-1.0, 5.0], [2.0, 7.0], (samples, 2))
    np.testing.assert_array_equal(found.values, wanted)
    for wrong in (0, -1, 1.5, True):
        with pytest.raises(BadValue, match="samples = "):
            _drawn(axes, wrong, 4)
    axes[0].names = ("a", "c")
    with pytest.raises(BadValue, match="samples are drawn from ranges"):
        _drawn(axes, samples, 4)


@for_each(("name", "what", "place"), [("q0.x", "start", 0), ("q0.y", "start", 1), ("v0.x", "start", 2), ("v0.y", "start", 3), ("x0.y", "start", 1), ("x0.v_y", "start", 3), ("b", "rho", 1)])  # fmt: skip
def test_names_of_axes_have_their_places(name, what, place):
    system = ex.MechanicalSystem("m", "x y", params={"a": 1.0, "b": 2.0})
    found = Axes.of(system, {name: [1.0, 2.0]})
    assert found.places == ((0, 0, what, place),)
    rho, start = np.zeros((2, 2)), np.zeros((2, 4))
    found.put(0, 2, rho, start)
    assert (rho if what == "rho" else start)[:, place].tolist() == [1.0, 2.0]
    assert rho.sum() + start.sum() == 3.0
    assert found.at((1,)) == {name: 2.0}


def test_a_question_has_what_a_sweep_is_of():
    one = bare(Sweep, question=space(system="system", scheme="scheme"), observed=None)
    assert (one.system, one.scheme) == ("system", "scheme")
