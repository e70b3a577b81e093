"""Which formulations are run side by side, and how they are shown."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from loops import for_each
from plain import put, space

import explorer as ex
from explorer.errors import BadValue, NotApplicable
from explorer.study.formulations import Formulated, Formulations, _ran, _timed

function = inspect.unwrap(ex.study.formulations)


def ran(monkeypatch, scheme=None, **given):
    """Return what is found, and the runs in the order in which they are made."""
    runs, reference = [], []
    right = space(q=np.array([[9.0, 9.0], [8.0, 8.0], [1.0, 2.0]]), v=np.array([[9.0, 9.0], [8.0, 8.0], [3.0, 4.0]]))  # fmt: skip

    def timed(name, system, scheme, asked, end, again):
        runs.append((name, scheme, dict(asked), end.tolist(), again))
        return f"run {len(runs)}"

    put(monkeypatch, function, check_system=lambda system: None, _ran=lambda name, system, scheme, asked: reference.append((name, scheme, dict(asked))) or right,
        choose=lambda system, one: one, _timed=timed)  # fmt: skip
    system = space(name="m", constraints=("c",))
    return function(system, scheme, **given), runs, reference


@for_each("repeats", [3, 1, 2.0])
def test_all_formulations_are_compared_with_a_tight_run(monkeypatch, repeats):
    """Then the others, then the penalty over alpha, which rises; each is timed several times."""
    scheme = ex.EventDriven(rtol=1e-5)
    found, runs, reference = ran(monkeypatch, scheme, others={"other": "scheme"}, alphas=(1e6, 1e4, 1e5), t_end=2, repeats=repeats, a=7.0)  # fmt: skip
    ((name, tight, asked),) = reference
    assert name == "the reference"
    assert (tight.rtol, tight.atol) == pytest.approx((1e-12, 1e-13), rel=1e-9)
    assert asked == {"rho": {"a": 7.0}, "throw": False, "t_end": 2.0}
    many = int(repeats)
    assert all(run[2:] == (asked, [1.0, 2.0, 3.0, 4.0], many) for run in runs)
    *named, one, two, three = runs
    names = [run[0] for run in named]
    assert names[-1] == "other"
    assert named[-1][1] == "scheme"
    assert "penalty" in names
    for name, own in ((run[0], run[1]) for run in named[:-1]):
        assert own.formulation == name
        assert own.rtol == 1e-5
    assert [run[0] for run in (one, two, three)] == ["penalty"] * 3
    assert [(run[1].formulation, run[1].alpha) for run in (one, two, three)] == [("penalty", a) for a in (1e4, 1e5, 1e6)]  # fmt: skip
    assert found.runs == tuple(f"run {k + 1}" for k in range(len(named)))
    assert found.penalties == tuple(f"run {len(named) + k}" for k in (1, 2, 3))
    assert found.alphas.tolist() == [1e4, 1e5, 1e6]
    assert (found.system.name, found.reference) == ("m", repr(tight))


def test_without_a_time_the_runs_take_that_of_the_system(monkeypatch):
    found, runs, reference = ran(monkeypatch)
    assert reference[0][2] == {"rho": {}, "throw": False}
    assert {run[4] for run in runs} == {3}
    assert found.alphas.tolist() == [10.0**k for k in range(4, 11)]
    assert runs[0][1].rtol == ex.EventDriven().rtol


@for_each(("given", "why"), [({"scheme": ex.MoreauJean(h=1e-3)}, "MoreauJean has no choice of a formulation"), ({"t_end": 0.0}, "t_end"), ({"t_end": -1.0}, "t_end"), ({"alphas": (0.0,)}, "alpha")])  # fmt: skip
def test_what_cannot_be_formulated_is_refused(monkeypatch, given, why):
    with pytest.raises(BadValue, match=why):
        ran(monkeypatch, **given)
    with pytest.raises(NotApplicable, match="declares no constraints"):
        function(ex.models.bouncing_ball())


def test_a_run_that_fails_is_told(monkeypatch):
    asked = []
    one = space(status=space(ok=True, message="It stops."))
    put(monkeypatch, _ran, simulate=lambda system, scheme, **given: asked.append(given) or one)
    assert _ran("'A'", "m", "s", {"t_end": 1.0}) is one
    assert asked == [{"t_end": 1.0}]
    one.status.ok = False
    with pytest.raises(BadValue, match="The run of 'A' failed: It stops"):
        _ran("'A'", "m", "s", {})


@for_each("counts", [True, False])
def test_a_formulation_drifts_by_its_largest_violations(monkeypatch, counts):
    """Of positions and of speeds; the error is that of the worst state beside 1 + its size."""
    runs = iter([space(q=np.array([[9.0, 9], [8, 8], [1.0, -3]]), v=np.array([[9.0, 9], [8, 8], [4.0, 0.5]]), seconds=s, march=space(counts=[5, 6, 7]), has=lambda name: counts and name == "march") for s in (3.0, 2.0)])  # fmt: skip
    put(monkeypatch, _timed, _ran=lambda *given: next(runs), constraint_drifts=lambda run: (np.array([[0.1, -0.4]]), np.array([[0.3, np.nan], [-0.2, 0.1]])))  # fmt: skip
    found = _timed("A", None, None, {}, np.array([1.0, -1.0, 9.0, 0.5]), 2)
    assert (found.phi, found.phi_dot, found.seconds, found.calls) == (0.4, 0.3, 2.0, 7 * counts)
    assert found.error == pytest.approx(2.0 / 2.0)
    assert found.run.seconds == 3.0
    runs = iter([space(q=np.zeros((1, 1)), v=np.zeros((1, 1)), seconds=1.0, has=lambda name: False)])  # fmt: skip
    put(monkeypatch, _timed, _ran=lambda *given: next(runs), constraint_drifts=lambda run: (np.empty(0), np.empty(0)))  # fmt: skip
    found = _timed("A", None, None, {}, np.array([3.0, 0.0]), 1)
    assert (found.phi, found.phi_dot, found.error) == (0.0, 0.0, 0.75)


def formulated(name, calls=0, error=1e-4):
    return Formulated(name, None, 1.25e-3, 0.5, error, calls, 0.0125)


def test_formulations_are_shown_with_their_price():
    """Calls in groups of three digits, nothing where none are counted; times in ms."""
    runs = (formulated("A", 1234567), formulated("B"), formulated("C", 999))
    one = Formulations(space(name="m"), "tight", runs, (), np.empty(0))
    assert one["B"] is runs[1]
    with pytest.raises(BadValue, match="no formulation 'D': A, B, C"):
        one["D"]
    rows = one._rows()
    assert [row[0] for row in rows] == ["A", "B", "C"]
    assert [row[4] for row in rows] == ["1 234 567", "", "999"]
    assert rows[0][3] == rows[1][3]
    assert rows[0][5] in ("12", "13", "12.5")
    for text in (repr(one), one._repr_html_()):
        assert "Constraints of m" in text
        assert "right-hand sides" in text
        assert "1 234 567" in text


@for_each(("errors", "told"), [([1.0, 0.1], 1.0), ([0.1], None), ([0.1, 0.0], None), ([], None), ([1e2, 1.0, 1e-2, 1e-3], 1.7)])  # fmt: skip
def test_an_order_needs_two_errors(errors, told):
    """Those within a thousand times the least are round-off, unless fewer than three are left."""
    runs = tuple(formulated("penalty", error=e) for e in errors)
    one = Formulations(space(name="m"), "tight", (), runs, 10.0 ** np.arange(len(errors)))
    if told is None:
        assert np.isnan(one.order)
    else:
        assert one.order == pytest.approx(told)
