"""Work-precision diagrams of runs in closed form, part by part."""

from __future__ import annotations

import importlib
import inspect
import itertools

import numpy as np
import pytest
from loops import for_each
from plain import put, space

import explorer as ex
from explorer.errors import BadValue, ExplorerError
from explorer.schemes.event_driven import EventDriven
from explorer.study import WorkCurve, WorkPrecision

work = importlib.import_module("explorer.study.work_precision")


def truth(t):
    """Return two coordinates, of ranges 2 and 0.25 on [0, 1]."""
    return np.column_stack([2 * t, 5 - t / 4])


def run_of(rows, off, ok=True, step=7, seconds=1.0, scheme="s", message="it fails"):
    """Return a run that is off the truth by so much in parts of the ranges, at its middle most."""
    t = np.linspace(0.0, 1.0, rows)
    bump = np.minimum(t, 1 - t)[:, None] * 2
    q = truth(t) + bump * np.array(off) * np.array([2.0, 0.25])
    return space(t=t, q=q, status=space(ok=ok, step=step, message=message), seconds=seconds,
                 scheme=scheme)  # fmt: skip


# ---------------------------------------------------------------- one scheme


def test_an_error_is_the_largest_of_any_coordinate_in_its_range(monkeypatch):
    """The shortest of the times counts, and the steps of the first run."""
    asked, clock = [], iter([3.0, 2.0, 4.0, 0.5, 0.25, 1.0])
    off = {"a": [0.01, -0.04], "b": [0.03, 0.0]}

    def simulate(system, scheme, **given):
        asked.append((system, scheme, given))
        return run_of(5, off[scheme], step=10 + len(asked), seconds=next(clock))

    put(monkeypatch, work._curve, simulate=simulate, _varied=lambda scheme, steps: ["a", "b"])
    refused = []
    curve = work._curve("name", "s", "system", [1.0], truth, {"t_end": 9}, 3, refused)
    assert asked == [("system", one, {"t_end": 9}) for one in ("a", "a", "a", "b", "b", "b")]
    assert (curve.name, curve.schemes, refused) == ("name", ("a", "b"), [])
    assert curve.steps.tolist() == [11, 14]
    assert curve.seconds.tolist() == [2.0, 0.25]
    assert curve.error == pytest.approx([0.04, 0.03], rel=1e-12)
    assert curve.law is None


def test_runs_that_fail_are_left_out(monkeypatch):
    def simulate(system, scheme, **given):
        if scheme == "refused":
            raise ExplorerError("no")
        return run_of(5, [0.1, 0.1], ok=scheme == "good", message="it stops")

    put(monkeypatch, work._curve, simulate=simulate,
        _varied=lambda *_: ["refused", "fails", "good"])  # fmt: skip
    refused = ["before"]
    curve = work._curve("name", "s", "system", [1.0], truth, {}, 1, refused)
    assert refused == ["before", "'refused': no", "'fails': it stops"]
    assert curve.schemes == ("good",)
    put(monkeypatch, work._curve, _varied=lambda *_: ["refused"])
    none = work._curve("name", "s", "system", [1.0], truth, {}, 1, refused)
    assert (none.schemes, none.steps.size, none.error.size, none.law) == ((), 0, 0, None)


@for_each(("rows", "looked"), [(5, 5), (200, 200), (201, 200), (1000, 200)])
def test_of_long_runs_200_rows_are_looked_at(monkeypatch, rows, looked):
    """The first and the last one among them."""
    seen = []

    def told(t):
        seen.append(t)
        return truth(t)

    put(monkeypatch, work._curve, simulate=lambda *_, **__: run_of(rows, [0.0, 0.0]),
        _varied=lambda *_: ["a"])  # fmt: skip
    work._curve("name", "s", "system", [1.0], told, {}, 1, [])
    assert (len(seen[0]), seen[0][0], seen[0][-1]) == (looked, 0.0, 1.0)
    assert (np.diff(seen[0]) > 0).all()


def test_a_coordinate_that_rests_is_taken_in_parts_of_all_of_them(monkeypatch):
    """At least 1e-9 of the range of all numbers; a reference of another shape is refused."""
    run = run_of(5, [0.0, 0.0])
    run.q = np.column_stack([run.t, 3.0 + 1e-6 * run.t])
    rest = lambda t: np.column_stack([t, np.full(len(t), 3.0)])  # noqa: E731
    put(monkeypatch, work._curve, simulate=lambda *_, **__: run, _varied=lambda *_: ["a"])
    curve = work._curve("name", "s", "system", [1.0], rest, {}, 1, [])
    assert curve.error == pytest.approx([1e-6 / (1e-9 * 3.0)], rel=1e-6)
    with pytest.raises(BadValue, match=r"\(5, 2\), but its shape is \(5,\)"):
        work._curve("name", "s", "system", [1.0], lambda t: t, {}, 1, [])


@for_each(
    ("errors", "used"),
    [
        ([0.5, 0.09, 0.03, 0.01, 2e-3], [1, 2, 3, 4]),
        ([0.05, 0.03, 0.01, 2e-3, 1e-3, 5e-4, 1e-4], [2, 3, 4, 5, 6]),
        ([0.05, 0.03, 1e-3, 1e-11], [0, 1, 2]),
        ([0.05, 0.03, 0.2, 0.3], []),
    ],
)
def test_the_finest_runs_that_converge_have_a_law(monkeypatch, errors, used):
    """Five at most, with errors below a tenth and above round-off; three at least."""
    counts = [10 * 2**k for k in range(len(errors))]
    runs = {k: run_of(9, [e, 0.0], step=n) for k, (e, n) in enumerate(zip(errors, counts, strict=True))}  # fmt: skip
    put(monkeypatch, work._curve, simulate=lambda system, k, **_: runs[k],
        _varied=lambda *_: [*runs])  # fmt: skip
    curve = work._curve("name", "s", "system", [1.0], truth, {}, 1, [])
    assert curve.error == pytest.approx(errors, rel=1e-4)
    if not used:
        assert curve.law is None
        assert np.isnan(curve.order)
        return
    x, y = np.log(counts)[used], np.log(errors)[used]
    assert curve.law.exponent == pytest.approx(np.polyfit(x, y, 1)[0], rel=1e-4)
    assert curve.order == pytest.approx(-curve.law.exponent)


def test_a_law_needs_three_counts_of_steps(monkeypatch):
    runs = {k: run_of(9, [10.0 ** -(k + 2), 0.0], step=10 * (1 + k // 2)) for k in range(4)}
    put(monkeypatch, work._curve, simulate=lambda system, k, **_: runs[k],
        _varied=lambda *_: [*runs])  # fmt: skip
    assert work._curve("name", "s", "system", [1.0], truth, {}, 1, []).law is None
    runs[3].status.step = 30
    assert work._curve("name", "s", "system", [1.0], truth, {}, 1, []).law is not None


# ---------------------------------------------------------------- several


def test_schemes_are_varied_by_their_step_or_by_their_tolerance():
    steps = [0.1, 0.05]
    assert [one.h for one in work._varied(ex.MoreauJean(theta=0.75), steps)] == steps
    assert {one.theta for one in work._varied(ex.MoreauJean(theta=0.75), steps)} == {0.75}
    fine = work._varied(EventDriven(rtol=1e-4), steps)
    assert [one.rtol for one in fine] == pytest.approx([10.0**-k for k in range(3, 11)])
    assert [one.atol for one in fine] == pytest.approx([10.0 ** -(k + 1) for k in range(3, 11)])
    assert {one.max_steps for one in fine} == {1_000_000}


@for_each(
    ("scheme", "title"),
    [
        (ex.MoreauJean(), "MoreauJean"),
        (ex.MoreauJean(h=1e-5), "MoreauJean"),
        (ex.MoreauJean(h=1e-5, theta=0.75), "MoreauJean(theta=0.75)"),
        (EventDriven(rtol=1e-4, atol=1e-5, max_steps=7), "EventDriven"),
    ],
)
def test_a_curve_is_named_by_what_is_not_varied(scheme, title):
    assert work._title(scheme) == title


def system_of(exact=None):
    return space(name="m", parameters={"a": None, "b": None}, t_end=4.0, exact=exact,
                 rho=lambda given: [given.get("a", 1.0), 2.0], time_unit="s")  # fmt: skip


@for_each(
    ("reference", "fits", "finite", "told"),
    [
        (None, True, True, "run"),
        (None, False, True, "closed"),
        (None, False, False, "There is no closed form"),
        ("exact", True, True, "closed"),
        ("exact", True, False, "There is no closed form"),
        ("exact", True, None, "There is no closed form"),
        ("Newmark", True, None, "run"),
        (EventDriven, True, True, "run"),
        (truth, True, True, "given"),
    ],
)
def test_a_reference_is_a_run_a_closed_form_or_given(monkeypatch, reference, fits, finite, told):
    asked = []

    def exact(t, rho):
        asked.append((t.tolist(), rho))
        return {"q": truth(t) if finite else truth(t) * np.nan}

    def simulate(system, scheme, **given):
        asked.append((scheme, given["t_end"]))
        return space(status=space(ok=True), scheme="as it was run")

    tight = space(fits=lambda system: fits)
    put(monkeypatch, work._truth, simulate=simulate, sampled=lambda run: "sampled", _TIGHT=tight)
    system = system_of(None if finite is None else exact)
    given = (system, reference, {"t_end": 3.0, "rho": {"a": 7.0}})
    if told.startswith("There"):
        with pytest.raises(BadValue, match=told):
            work._truth(*given)
        return
    found, words = work._truth(*given)
    if finite is not None:  # it is asked at half the time
        assert asked.pop(0) == ([1.5], {"a": 7.0, "b": 2.0})
    if told == "run":
        assert (found, words) == ("sampled", "'as it was run'")
        assert asked == [(tight if reference is None else reference, 3.0)]
    elif told == "given":
        assert (found, words) == (truth, "a given function")
    else:
        assert words == "its closed form"
        t = np.array([0.0, 1.0])
        assert found(t).tolist() == truth(t).tolist()
        assert asked.pop()[1] == {"a": 7.0, "b": 2.0}


def test_a_reference_that_fails_is_told(monkeypatch):
    run = space(status=space(ok=False, message="it stops"))
    put(monkeypatch, work._truth, simulate=lambda *_, **__: run)
    with pytest.raises(BadValue, match="The reference run failed: it stops"):
        work._truth(system_of(), "Newmark", {"t_end": 3.0, "rho": {}})


def test_a_run_is_sampled_between_its_rows():
    """By its own steps, by cubics of positions and velocities, or by lines; jumps have two rows."""
    t = np.array([0.0, 0.5, 0.5, 2.0])
    q = np.column_stack([t**3 - t, 2 * t])
    v = np.column_stack([3 * t**2 - 1, np.full(4, 2.0)])
    at, has = np.array([0.25, 1.0, 1.75]), {"march": False}
    run = space(t=t, q=q, v=v, has_velocities=True, has=lambda what: has[what])
    np.testing.assert_allclose(work.sampled(run)(at), np.column_stack([at**3 - at, 2 * at]))
    run.has_velocities = False
    lines = np.column_stack([np.interp(at, [0, 0.5, 2], [0, -0.375, 6]), 2 * at])
    np.testing.assert_allclose(work.sampled(run)(at), lines)
    has["march"] = True
    run.march = space(sample=lambda t: (np.column_stack([t, 2 * t, 3 * t]), None))
    np.testing.assert_allclose(work.sampled(run)(at), np.column_stack([at, 2 * at]))


def measured(monkeypatch, kept=(True,), **given):
    """Return a diagram of stand-ins, and what is asked for each curve."""
    asked, left = [], itertools.cycle(kept)

    def curve(name, scheme, system, steps, known, run, again, refused):
        asked.append((name, scheme, steps, known, run, again))
        good = next(left)
        if not good:
            refused.append(f"{name} fails")
        size = int(good) * 2
        return WorkCurve(name, (scheme,) * size, np.array([10, 20])[:size],
                         np.array([1e-3, 3e-3])[:size], np.array([0.1, 0.025])[:size], None)  # fmt: skip

    study = inspect.unwrap(ex.study.work_precision)
    put(monkeypatch, study, _curve=curve, _truth=lambda *_: (truth, "a given function"),
        choose=lambda system, one: f"chosen {one}", schemes_for=lambda system: ["x", "y"],
        _title=lambda one: one.upper())  # fmt: skip
    system = ex.models.bouncing_ball()
    return study(system, **given), asked, system


def test_a_diagram_is_made_of_the_schemes_that_are_asked_for(monkeypatch):
    found, asked, system = measured(monkeypatch)
    assert [one[:2] for one in asked] == [
        (f"CHOSEN {k.upper()}", f"chosen chosen {k}") for k in "xy"
    ]
    assert asked[0][2] == [system.h * 2.0**k for k in (3, 2, 1, 0, -1, -2, -3)]
    assert asked[0][3:] == (truth, {"t_end": system.t_end, "rho": {}, "throw": False}, 3)
    assert (found.t_end, found.reference, found.refused) == (system.t_end, "a given function", ())
    names = {"one": "p", "two": "q"}
    found, asked, _ = measured(monkeypatch, kept=(False, True), schemes=names, h=[0.5, 0.25],
                               t_end=3, repeats=1, rho={"a": 1.0}, b=2.0)  # fmt: skip
    assert [one[:2] for one in asked] == [("one", "chosen p"), ("two", "chosen q")]
    assert asked[0][2] == [0.5, 0.25]
    assert asked[0][4:] == ({"t_end": 3, "rho": {"a": 1.0, "b": 2.0}, "throw": False}, 1)
    assert ([c.name for c in found.curves], found.refused) == (["two"], ("one fails",))
    _, asked, _ = measured(monkeypatch, schemes="p", repeats=4)
    assert [(one[0], one[-1]) for one in asked] == [("CHOSEN P", 4)]
    with pytest.raises(BadValue, match=r"Every run of .* failed\. CHOSEN X fails"):
        measured(monkeypatch, kept=(False,))


def test_a_diagram_is_shown_as_a_table_of_its_ends():
    curve = WorkCurve("S", (1, 2, 3), np.array([10, 20, 40]), np.array([1e-3, 2e-3, 4e-3]),
                      np.array([0.1, 0.025, 6e-3]), space(exponent=-2.04))  # fmt: skip
    found = WorkPrecision(space(name="m"), 2.0, "its closed form", (curve,))
    assert repr(found) == "WorkPrecision('m', orders: S 2.04)"
    *_, first, last = found._repr_markdown_().splitlines()
    assert first == "| S | 2.04 | 10 | 1 | 0.1 |"
    assert last == "| S | 2.04 | 40 | 4 | 0.006 |"
    assert "**m** over 2 s, against its closed form" in found._repr_markdown_()
