"""What a return map is asked for, where it starts, and which runs it makes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from loops import for_each
from plain import put, space
from test_study_branches import bare

import explorer as ex
from explorer.errors import BadModel, BadValue, NotApplicable
from explorer.schemes.event_driven import EventDriven
from explorer.study import return_map
from explorer.study.return_map import Return, ReturnMap


def map_of(monkeypatch, *given, **more):
    """Return a map of the impact oscillator, nothing of which is compiled."""
    flow = space(states=[space(name="x"), space(name="v_x")])
    monkeypatch.setattr(EventDriven, "compile", lambda self, system: flow)
    return ReturnMap(ex.models.impact_oscillator(), *given, **more)


def test_a_map_over_periods_has_their_length(monkeypatch):
    """A formula of the parameters, times the count."""
    checked = []
    put(monkeypatch, ReturnMap.__init__, check_period=lambda *given: checked.append(given))
    one = map_of(monkeypatch, period="2*pi/omega", count=3.0, rho={"omega": 4.0})
    assert one.period == pytest.approx(3 * np.pi / 2)
    assert (one.count, one.section, one.mode, one.states) == (3, None, None, ("x", "v_x"))
    assert (one.scheme.rtol, one.scheme.atol) == (1e-11, 1e-12)
    assert one.t_max == one._span == one.system.t_end
    assert one._last == 0.0
    (given,) = checked
    assert given == (one.system, one.period, one.values)
    assert one.values["omega"] == 4.0
    assert map_of(monkeypatch, period=2.0, t_max=7).t_max == 7.0


@for_each(
    ("given", "kind", "told"),
    [
        ({"period": 1.0, "count": 0}, BadValue, "count = 0"),
        ({"period": 1.0, "count": 1.5}, BadValue, "count = 1.5"),
        ({"period": 1.0, "section": "stop"}, BadValue, "not both"),
        ({}, BadValue, "such as section='stop', or a period"),
        ({"section": "floor"}, BadValue, "no event 'floor'"),
        ({"section": "stop"}, BadModel, "depends on t"),
        ({"period": 0.0}, BadValue, "period"),
        ({"period": 1.0, "t_max": 0.0}, BadValue, "t_max"),
        ({"period": 1.0, "scheme": "MoreauJean"}, NotApplicable, "does not locate events"),
    ],
)
def test_what_makes_no_map_is_refused(monkeypatch, given, kind, told):
    put(monkeypatch, ReturnMap.__init__, check_period=lambda *given: None)
    with pytest.raises(kind, match=told):
        map_of(monkeypatch, **given)


def test_without_events_a_map_needs_a_period(monkeypatch):
    put(monkeypatch, return_map._section, event_names=lambda system: [])
    with pytest.raises(BadValue, match="needs a section or, for a forced system, a period"):
        return_map._section("system", None, None)
    put(monkeypatch, return_map._section, event_names=lambda system: ["wall"],
        depends_on_time=lambda system: False)  # fmt: skip
    assert return_map._section("system", "wall", None) == "wall"
    assert return_map._section("system", None, 2.0) is None


# ---------------------------------------------------------------- starts


def begun(period=None, mode=None, hits=(), start_mode="run", surface=False):
    """Return a map whose model starts at (1, 2), and the runs that it makes."""
    asked = []

    def run(self, x, span, n_x):
        asked.append((x.tolist(), span, n_x))
        return space(x=np.array([[0.0, 0.0], [7.0, 8.0]]), located=hits)

    own = {"_run": run, "_ends": lambda self, e: e.ends, "_unmet": lambda self, run: "never met",
           "_hybrid": space(modes=[space(name="other"), space(name=start_mode)], start_mode=1)}  # fmt: skip
    compiled = space(start=lambda rho: (np.array([1.0, 2.0]), None))
    one = bare(type("Own", (ReturnMap,), own), compiled=compiled, rho=np.array([5.0]), period=period,
               mode=mode, system=space(name="m"), states=("x", "y"), t_max=9.0)  # fmt: skip
    return one, asked


@for_each(
    ("period", "mode", "surface", "told", "runs"),
    [
        (2.0, None, True, [7.0, 8.0], [([1.0, 2.0], 2.0, None)]),
        (2.0, None, False, [1.0, 2.0], []),
        (None, None, True, [1.0, 2.0], []),
        (None, "run", True, [1.0, 2.0], []),
        (None, "swing", True, [5.0, 6.0], [([1.0, 2.0], 9.0, None)]),
    ],
)
def test_a_map_starts_where_the_model_does_or_comes_to(
    monkeypatch, period, mode, surface, told, runs
):
    """On a surface after a period; in another mode behind the first event of the section."""
    hits = [space(ends=False, x_plus=np.zeros(2)), space(ends=True, x_plus=np.array([5.0, 6.0])),
            space(ends=True, x_plus=np.ones(2))]  # fmt: skip
    put(monkeypatch, ReturnMap.start, on_surface=lambda system, rho, x: surface)
    one, asked = begun(period, mode, hits)
    assert one.start().tolist() == told
    assert asked == runs
    if mode == "swing":
        with pytest.raises(BadValue, match="never met"):
            begun(period, mode, hits[:1])[0].start()


@for_each(
    ("guess", "told"),
    [
        ({"y": 5}, [1.0, 5.0]), ({}, [1.0, 2.0]), ([3, 4], [3.0, 4.0]), (np.array([3.0, 4.0]), [3.0, 4.0]),
        ({"z": 1}, "no state 'z'"), ([3], r"needs 2 numbers \(x, y\), but 1 are given"),
        (3.0, "but 1 are given"), ([1, 2, 3], "but 3 are given"), ([1, np.nan], r"guess\[1\]"),
    ],
)  # fmt: skip
def test_a_guess_is_whole_or_by_names(guess, told):
    one, asked = begun()
    if isinstance(told, str):
        with pytest.raises(BadValue, match=told):
            one.start(guess)
        return
    assert one.start(guess).tolist() == told
    assert asked == []


# ---------------------------------------------------------------- runs


@for_each(("n_x", "mode", "constraints"), [(None, None, False), (None, "swing", True), (2, None, True), (2, "swing", False)])  # fmt: skip
def test_runs_of_a_map_have_its_columns(monkeypatch, n_x, mode, constraints):
    """From a state that is put on the constraints, in the mode behind the section."""
    put(
        monkeypatch,
        ReturnMap._run,
        begun_in=lambda compiled, system, mode: (compiled, system, mode),
    )
    put(monkeypatch, ReturnMap._held, assembly=lambda system: lambda rho, x: x + rho)
    own = type("Own", (ReturnMap,), {"_hybrid": "hybrid"})
    one = bare(own, compiled="compiled", mode=mode, rho=10.0, system=space(constraints=constraints),
               scheme=space(run=lambda *given, **more: (given, more)))  # fmt: skip
    (compiled, rho, span), more = one._run(np.array([1.0, 2.0]), 3.0, n_x)
    assert more.pop("x0").tolist() == ([11.0, 12.0] if constraints else [1.0, 2.0])
    assert (rho, span) == (10.0, 3.0)
    if n_x is None:
        assert (compiled, more) == ("compiled", {})
        return
    assert compiled == (("compiled", "hybrid", "swing") if mode else "compiled")
    assert more.pop("seeds").tolist() == np.eye(2).tolist()
    assert more == {"wrt": (-1, -1), "t_eval": [3.0]}


@for_each(("period", "span"), [(None, 2.0 * (1 + 1e-9)), (2.0, 2.0)])
def test_a_run_over_one_cycle_has_its_last_event(monkeypatch, period, span):
    put(monkeypatch, ReturnMap.cycle, simulate=lambda *given, **more: (given, more))
    one = bare(
        ReturnMap,
        period=period,
        system=space(constraints=()),
        scheme="scheme",
        mode="m",
        values={"a": 1},
    )
    given, more = one.cycle(np.array([1.0]), 2.0)
    assert given == (one.system, "scheme")
    assert more.pop("x0").tolist() == [1.0]
    assert more == {"t_end": span, "mode0": "m", "rho": {"a": 1}, "throw": False}


@for_each(
    ("free", "period"), [(None, 2.0), (None, None), ([[0.6, 0.0], [-0.8, 0.0], [0.0, 1.0]], None)]
)
def test_a_jacobian_is_trusted_as_a_derivative_by_starts(monkeypatch, free, period):
    """Up to the event that ends the map, of those by its name; along free directions by main states."""
    Asked = dataclasses.make_dataclass(
        "Asked", ["until", "t_end", "given", "cost", "wrt", "places"]
    )
    steps = space(y=np.array([[1.0, 2.0, 3.0, 99.0], [0.0] * 4]))
    own = space(flow=space(n_x=3), steps=steps, t_end=5.0, t_last=4.0)
    events = [space(contact=c, t=t, ends=e) for c, t, e in
              (("wall", 0.5, True), ("floor", 1.0, True), ("wall", 1.5, False), ("wall", 2.0, True), ("wall", 3.0, True))]  # fmt: skip
    asked = []

    def question(*given):
        asked.append(given)
        return Asked(None, None, None, space(of=lambda flow: ("cost", flow)), None, None)

    def run(*given, **more):
        asked.append((given, more))
        return space(march=space(flow="again", steps=steps, t_end=6.0, t_last=4.0))

    put(monkeypatch, ReturnMap.trust, ask=question, trust=lambda *given: given)
    cls = type("Own", (ReturnMap,), {"_ends": lambda self, e: e.ends})
    one = bare(cls, period=period, section="wall", count=2, states=("x", "y", "z"), system="system", rho="rho",
               scheme=space(run=run), compiled="compiled", values="values")  # fmt: skip
    jacobian = np.arange(9.0).reshape(3, 3)
    solution = space(march=own, located=events)
    free = None if free is None else np.array(free)
    if free is not None:
        own.flow.n_x = 3
        run_flow = space(n_x=3)
        one.scheme = space(run=lambda *given, **more: asked.append((given, more)) or space(
            march=space(flow=run_flow, steps=steps, t_end=6.0, t_last=4.0)))  # fmt: skip
    found, result, slopes = one.trust(Return(np.zeros(3), 2.0, jacobian, solution, free))
    assert asked[-1] == ("system", one.scheme, one.states, None, None, None, None, "values")
    assert found.until == (None if period else ("wall", 3))
    assert found.given.tolist() == [1.0, 2.0, 3.0]
    if free is None:
        assert (found.t_end, found.cost, result) == (5.0, ("cost", own.flow), solution)
        assert (found.wrt, found.places) == (("x", "y", "z"), (-1, -1, -1))
        assert slopes is jacobian
        return
    (given, more) = asked[0]
    assert given == ("compiled", "rho", 4.0)
    assert more.pop("x0").tolist() == [1.0, 2.0, 3.0]
    assert more == {"wrt": (-1, -1), "seeds": free, "t_eval": [4.0]}
    assert (found.wrt, found.places, found.t_end) == (("y", "z"), (-1, -1), 6.0)
    np.testing.assert_allclose(slopes, jacobian @ free)


def test_guards_of_the_mode_that_fire_one_way_are_watched(monkeypatch):
    """Without conditions, and not the section itself."""
    made = [space(mode=m, side=s, when=w, name=n) for m, s, w, n in (
        (1, 1, None, "a"), (0, 1, None, "b"), (1, 0, None, "c"), (1, -1, "x > 0", "d"), (1, 1, None, "wall"), (1, -1, None, "e"))]  # fmt: skip
    put(monkeypatch, ReturnMap._guards.func, NearMisses=lambda system: space(guards=made))
    own = type(
        "Own", (ReturnMap,), {"_hybrid": space(modes=[space(name="run"), space(name="swing")])}
    )
    one = bare(own, mode="swing", section="wall", system=None)
    assert [g.name for g in one._guards] == ["a", "e"]
    assert bare(own, mode=None)._guards == []


def test_a_section_that_is_not_met_names_what_is():
    run = space(located=[space(contact=c) for c in ("a", "b", "a")], t=np.array([0.0, 2.5]))
    one = bare(ReturnMap, count=3, section="wall", system=space(time_unit="s"))
    assert "Event 3 of the section 'wall' does not happen up to t = 2.5 s" in one._unmet(run)
    assert "(events that do: a, b)" in one._unmet(run)
    run.located = []
    assert "(events that do: none)" in one._unmet(run)
