"""How studies begin and end: final states, transients, repeated questions, modes, scales."""

from __future__ import annotations

import importlib
import pickle
import warnings
from concurrent.futures import Executor, Future

import numpy as np
import pytest
from loops import for_each
from plain import put, space
from test_study_branches import bare

import explorer as ex
from explorer.derivatives import trust
from explorer.errors import BadValue
from explorer.runs.members import Asked, Observed
from explorer.study import (
    columns,
    cycles,
    parts,
    periods_over,
)
from explorer.study import search_attractors as search
from explorer.study.end_state import end_state
from explorer.study.formulations import _timed
from explorer.study.orbit_derivatives import _margin
from explorer.study.orbit_diagram import _branch, _warned

COVERS = ("study/map_spectrum.py", "study/parts.py", "study/search_attractors.py")

spectra = importlib.import_module("explorer.study.map_spectrum")

# ---------------------------------------------------------------- final states


class Growth(ex.HybridSystem):
    """x' = a x from (2, 3), of which the first one is known: 2 exp(a t), and 3 exp(a t)."""

    discrete, name, t_end, time_unit, drive = False, "growth", 2.0, "s", None

    def __init__(self, exact):
        self.parameters = {"a": ex.Param(0.5, -1, 1), "b": ex.Param(7, 0, 9)}
        self.coordinates, self.units = ("x", "y"), ("", "")
        self.exact = self.closed if exact else None

    def rho(self, given):
        return [float(given.get(k, p.value)) for k, p in self.parameters.items()]

    @staticmethod
    def closed(t, rho):
        return {"x": np.array([2.0, 3.0]) * np.exp(rho["a"] * t)[:, None]}


@for_each(("by", "of", "located", "exact"), [("a", "y", False, True), ("a", None, True, False), ("y", "y", False, True), (None, "x", False, False)])  # fmt: skip
def test_a_final_state_has_its_derivative_by_a_parameter_or_a_start(by, of, located, exact):
    """2 exp(a t) and its derivative t x; by a start it is exp(a t). Of a scheme with steps twice as much."""
    asked = []

    def run(system, scheme, *, t_end, rho, x0=None, wrt=None):
        asked.append((t_end, dict(rho), None if x0 is None else x0.tolist(), wrt))
        start = np.array([2.0, 3.0]) if x0 is None else x0
        a = system.rho(rho)[0]
        x = start * np.exp(a * t_end)
        return x, (x * t_end if wrt != "y" else np.exp(a * t_end) * np.array([0.0, 1.0]))

    def simulate(system, scheme, **given):
        return space(q=np.array([[9.0, 9.0], [7.0, 7.0], 2 * run(system, scheme, **given)[0]]))

    def sensitivity(system, scheme, *, wrt, **given):
        x, slope = run(system, scheme, wrt=wrt, **given)
        return space(solution=space(x=np.array([[9.0, 9.0], [7.0, 7.0], x])), S=np.array([np.zeros((2, 1)), np.ones((2, 1)), slope[:, None]]))  # fmt: skip

    inner = getattr(end_state, "__wrapped__", end_state)
    one = space(located=located)
    compiled = space(start=lambda rho: (np.array([2.0, 3.0]), None))
    with pytest.MonkeyPatch.context() as patch:
        put(patch, inner, simulate=simulate, sensitivity=sensitivity, check_system=lambda system: None, choose=lambda system, scheme: space(compile=lambda system: compiled) if scheme is None else scheme)  # fmt: skip
        values = [0.25, -0.5]
        found = inner(Growth(exact), {"one": one}, by, of, values=values, t_end=3.0, b=5.0)
    assert (found.of, found.by, found.t_end) == (of or "x", by or "a", 3.0)
    assert found.values.tolist() == values
    start = 3.0 if of == "y" else 2.0
    if by == "y":
        x, slope = np.array(values) * np.exp(1.5), np.full(2, np.exp(1.5))
    else:
        x = start * np.exp(3.0 * np.array(values))
        slope = 3.0 * x
    known = [c for c in found.curves if c.name == "exact"]
    assert len(known) == (exact and by != "y")
    for c in known:
        assert c.x == pytest.approx(x)
        assert c.slope == pytest.approx(slope, rel=1e-6)
    twice = 1 if located else 2
    own = found["one"]
    assert own.x == pytest.approx(twice * x)
    assert own.slope == pytest.approx(twice * slope, rel=1e-6)
    assert all(t == 3.0 and rho["b"] == 5.0 for t, rho, *_ in asked)
    assert len(asked) == (2 if located else 6)
    with pytest.raises(BadValue, match="no curve 'two'"):
        found["two"]


@for_each(("given", "why"), [({"by": "z"}, "no parameter or state 'z'"), ({"of": "a"}, "no state 'a'"), ({"values": []}, "0 values of a"), ({"values": [0.0] * 2001}, "2001 values"), ({"by": "x"}, "start values of x are missing")])  # fmt: skip
def test_what_a_final_state_cannot_be_of_is_told(given, why):
    inner = getattr(end_state, "__wrapped__", end_state)
    with pytest.MonkeyPatch.context() as patch:
        put(patch, inner, check_system=lambda system: None)
        with pytest.raises(BadValue, match=why):
            inner(Growth(False), {}, **given)
        if given == {"of": "a"}:
            assert inner(Growth(False), {}).values.tolist() == np.linspace(-1, 1, 121).tolist()
            assert inner(Growth(False), {}, values=[0.0] * 2000).t_end == 2.0


# ---------------------------------------------------------------- diagrams


class Here(Executor):
    """Runs at once what it is given."""

    def submit(self, fn, /, *args, **kwargs):
        """Return a future that is done."""
        done = Future()
        done.set_result(fn(*args, **kwargs))
        return done


@for_each(("period", "since", "apart"), [("T", 2.0, True), ("T", 0.0, False), (None, 2.0, False)])
def test_points_of_a_diagram_are_computed_beside_its_transients(period, since, apart):
    """Where the section is by a period and there is a transient: each run begins at its end."""
    told = []

    class Asking:
        axes, system = space(size=3), space(name="m")

        def __init__(self, **own):
            self.__dict__ |= {"behind": None, "chained": True, "section": space(period=period), "t_end": "9*T", "transient": "2*T"} | own  # fmt: skip

        @property
        def asked(self):
            """Return what is asked for."""
            return Asked(most=1)

        def members(self, first, last):
            return space(start=np.zeros((last - first, 1)), since=np.full(last - first, since))

        def run(self, first, last, begin=None):
            told.append((self.chained, self.section is None, first, last, self.t_end, self.transient, None if begin is None else begin[0].tolist()))  # fmt: skip
            seen = Observed.empty(last - first, 1, self.asked)
            seen.end[:, 0] = 10 * (1 + self.chained) + np.arange(first, last)
            return seen

    def replace(one, **more):
        return Asking(**vars(one) | more)

    with pytest.MonkeyPatch.context() as patch:
        put(patch, _branch, dataclasses=space(replace=replace), Sweep=lambda question, found, transients=None: (question, found, transients))  # fmt: skip
        asked, found, before = _branch(Asking(), Here(), False, None)
    if not apart:
        assert before is None
        assert [one[:2] for one in told] == [(True, False)] * len(told)
        assert found.end[:, 0].tolist() == [20, 21, 22]
        return
    assert found.end[:, 0].tolist() == [10, 11, 12]
    assert before[1].end[:, 0].tolist() == [20, 21, 22]
    assert asked.behind is before[1]
    chain = [one for one in told if one[0]]
    assert chain[0] == (True, True, 0, 1, "2*T", 0, None)
    assert chain[1][-1] == [20.0]
    assert [one[4:6] for one in told if not one[0]] == [("9*T - 2*T", 0)] * len(chain)


# ---------------------------------------------------------------- parts in workers


def test_a_worker_compiles_a_question_once_and_keeps_four(monkeypatch):
    asked, clock = [], [0.0]
    monkeypatch.setattr(parts.time, "perf_counter", lambda: clock[0])

    def loads(pickled):
        def run(first, last):
            asked.append((pickled, first, last))
            clock[0] += last - first
            return "seen"

        return space(run=run)

    monkeypatch.setattr(parts, "pickle", space(loads=loads, dumps=pickle.dumps))
    monkeypatch.setattr(parts, "_kept", {})
    assert parts._work("a", b"a", 2, 7) == ("seen", 5.0)
    assert asked == [(b"a", 2, 3), (b"a", 2, 7)]
    assert parts._work("a", b"a", 7, 9) == ("seen", 2.0)
    assert asked[2:] == [(b"a", 7, 9)]
    for name in "bcde":
        parts._work(name, name.encode(), 0, 1)
    assert [*parts._kept] == ["b", "c", "d", "e"]
    assert parts._work_here(parts._kept["b"], 1, 4) == ("seen", 3.0)


@for_each("workers", (1, 3))
def test_two_parts_for_each_worker_are_on_their_way(workers):
    """So none waits for the next one; members are taken from the first on."""
    given = []

    def submit(work, question, first, last):
        given.append((first, last))
        return object()

    run = parts._Run("question", space(submit=submit), None, None, [(0, 4), (10, 30)], None, here=True, workers=workers)  # fmt: skip
    run._submit()
    assert given == [*((k, k + 1) for k in (0, 1, 2, 3, 10, 11))][: 2 * workers]
    run._submit()
    assert [*run.out.values()] == given
    del run.out[next(iter(run.out))]
    run._submit()
    assert len(run.out) == 2 * workers


@for_each(("follow", "code", "points", "asked"), [
    (None, 0, 5, ["begin"]), ("end", 0, 5, ["end"]), ("end", 1, 5, ["end", "begin"]),
    (None, 1, 5, ["begin"]), ("end", 0, 0, ["end", "begin"]), (None, 0, 0, ["begin"]),
])  # fmt: skip
def test_a_column_that_is_lost_from_its_neighbour_is_run_from_the_start(
    follow, code, points, asked
):
    told, taken = [], []

    def run(first, last, begin):
        assert (first, last) == (3, 4)
        told.append(begin)
        return space(code=[code], found=[points], n=len(told))

    kind = type("Own", (columns.Columns,), {"_neighbour": lambda self, k: follow, "_take": lambda self, k, seen: taken.append((k, seen.n))})  # fmt: skip
    one = bare(kind, asked=space(settle=space(run=run), begin="begin"), longer=space(run=lambda first, last, end: space(n=(first, last, end))), ends=["a", "b", "c"])  # fmt: skip
    one._settled(3)
    assert told == asked
    assert taken == [(3, len(asked))]
    one._more(1)
    assert taken[1] == (1, (1, 2, "b"))


# ---------------------------------------------------------------- scales


def test_a_scale_is_how_far_points_in_the_box_and_starts_spread():
    """From their 2nd to their 98th percentile; what hardly spreads has the scale of the widest."""
    n = 101
    even = np.linspace(0, 1, n)
    points = np.stack([5 + 4 * even, np.full(n, 7.0), 2 * even, 100 + even], axis=1)[None]
    far = points.copy() + 1000.0
    seen = space(points=np.concatenate([points, far, points * np.nan]), code=np.array([0, 0, 3]))
    one = bare(search.Search, low=np.full(4, -np.inf), high=np.array([50, 50, 50, 500.0]), spans=np.array([0.0, 0.0, 6.0, 0.0]))  # fmt: skip
    assert one._spread(seen) == pytest.approx([0.96 * 4, 6.0, 6.0, 0.96])
    one.high = np.full(4, -5.0)
    assert one._spread(seen).tolist() == [1.0] * 4
    one.high, one.spans = np.array([50, 50, 50, 500.0]), np.zeros(4)
    still = space(points=np.full((1, 9, 4), 3.0), code=np.zeros(1, int))
    assert one._spread(still).tolist() == [1.0] * 4


def test_parameters_are_compared_in_the_scale_of_some_runs(monkeypatch):
    even = np.linspace(0, 1, 101)
    seen = Observed.empty(2, 2, Asked(most=101))
    seen.points[0], seen.code[1] = np.stack([3 * even, np.full(101, 5.0)], axis=1), 4
    asked = []
    monkeypatch.setattr(periods_over, "run_parts", lambda question, progress, stop: asked.append(question) or seen)  # fmt: skip
    kind = type("Own", (periods_over.PeriodsOver,), {"_question": lambda self, rows, times=1: rows})
    one = bare(kind, starts=space(rows=np.arange(20.0)[:, None]), settings=space(seed=3), stop=None, scale=np.zeros(2))  # fmt: skip
    one.begin(2)
    assert one.scale == pytest.approx([0.96 * 3, 0.96 * 3])
    (rows,) = asked
    assert len({*rows[:, 0].tolist()}) == 8
    seen.code[:] = 4
    one.begin(1)
    assert one.scale.tolist() == [1.0, 1.0]


@for_each(("mode", "last", "held", "told"), [
    (-1, "b", True, None), (0, "a", True, None), (0, "b", True, "ends in another mode, 'b'"), (0, None, True, None), (1, None, True, None), (0, "a", False, "Other contacts"),
])  # fmt: skip
def test_a_cycle_ends_in_the_mode_in_which_it_begins(mode, last, held, told):
    """That is the one behind its last event."""
    system = bare(ex.HybridSystem, name="m", modes=[space(name="a"), space(name="b")])
    one = bare(cycles.Cycles, system=system, mode=mode, held=space(agrees=lambda run: held))
    run = space(located=[] if last is None else [space(to="c"), space(to="b" if last == "a" else "a"), space(to=last)])  # fmt: skip
    if told is None:
        one._check_begin(run)
    else:
        with pytest.raises(BadValue, match=told):
            one._check_begin(run)


# ---------------------------------------------------------------- formulations, maps, forces


@for_each("located", [True, False])
def test_a_formulation_has_its_error_drift_and_least_time(monkeypatch, located):
    """The largest error of any state, in parts of 1 + its size."""
    made = []

    def ran(name, system, scheme, asked):
        made.append((name, asked))
        return space(q=np.array([[9.0], [3.0]]), v=np.array([[9.0], [-1.0]]), seconds=[5.0, 2.0, 4.0][len(made) - 1], march=space(counts=[7, 8, 9]), has=lambda name: located)  # fmt: skip

    put(monkeypatch, _timed, _ran=ran, constraint_drifts=lambda run: (np.array([0.5, -2.0, np.nan]), np.array([-0.25])))  # fmt: skip
    found = _timed("A", None, None, "asked", np.array([4.0, -3.0]), 3)
    assert made == [("'A'", "asked")] * 3
    assert (found.phi, found.error, found.seconds, found.calls) == (2.0, 0.5, 2.0, 9 if located else 0)  # fmt: skip
    assert found.name == "A"
    assert 0.25 in (v for v in vars(found).values() if isinstance(v, float))


def test_the_margin_of_an_orbit_is_that_of_its_nearest_border():
    """Conditions x - 2 and 3 - x behind two formulas of two branches."""
    branches = [space(f=["x"]), space(f=["2*x"])]

    class Native:
        size = 4

        def __call__(self, inp):
            return np.array([0.0, 0.001, inp[1] - 2, 3 - inp[1]])

    compiled = space(system=space(branches=branches), branches=Native(), input=lambda rho: np.zeros(3), n_x=1)  # fmt: skip
    x = np.array([[0.0], [2.75], [5.0]])
    assert _margin(compiled, [], x) == 0.25
    assert _margin(compiled, [], x[:1]) == 2.0
    compiled.branches.size = 2
    assert _margin(compiled, [], x) == np.inf


def test_parts_are_handed_out_until_all_have_come_back(monkeypatch):
    """Two at a time for one worker; what is left is told by the seconds of what has come back."""
    clock, told, written = [0.0], [], []

    class Bar:
        def __init__(self, total, title, shown):
            told.append((total, title, shown))

        def __call__(self, done, words):
            told.append((done, words))

        def close(self):
            told.append("closed")

    def submit(work, question, first, last):
        done = Future()
        done.set_result((f"{first} to {last}", 0.5 * (last - first)))
        return done

    def wait(out, seconds=None, first=None):
        clock[0] += 1.0 if seconds else 0.0
        return space(done=[] if clock[0] == 1.0 else [*out])

    owner = next(c for c in vars(parts).values() if isinstance(c, type) and "_next" in vars(c))
    monkeypatch.setattr(parts, "Progress", Bar)
    monkeypatch.setattr(parts, "wait", wait)
    monkeypatch.setattr(parts.time, "perf_counter", lambda: clock[0])
    one = bare(owner, question=space(system=space(name="m")), executor=space(submit=submit), gaps=[(0, 3)], left=3, cost=0.0, workers=1, out={}, here=True,
               stop=lambda: False, disk=None, whole=space(put=lambda where, part: written.append((where.start, where.stop, part))))  # fmt: skip
    one.go(4, True)
    assert told == [(7, "Sweep of m", True), (6, "1 s left"), (7, "0 s left"), "closed"]
    assert written == [(k, k + 1, f"{k} to {k + 1}") for k in range(3)]
    assert one.left == 0


@for_each(("periods", "given", "why"), [
    (12, {}, None), (12.0, {}, None), (11, {}, "whole number of at least 12"), (12.5, {}, "whole number of at least 12"), (True, {}, "whole number of at least 12"), (12, {"t_end": 3.0}, "t_end follows"),
    (12, {"recurrence": search.Recurrence(near=0.6)}, "0 < tol < near"), (12, {"recurrence": search.Recurrence(near=0.5)}, None), (12, {"recurrence": search.Recurrence(tol=0.0)}, "0 < tol < near"),
])  # fmt: skip
def test_a_search_goes_by_a_section_its_periods_and_tolerances(periods, given, why):
    system, section = ex.models.impact_oscillator(), ex.study.Section(period="2*pi/omega")
    own = given.get("recurrence")

    def told(scheme):
        return search.Settings.of(system, scheme, section, periods, given.get("t_end"), own)

    if why:
        with pytest.raises(BadValue, match=why):
            told(ex.EventDriven())
        return
    located, stepped = told(ex.EventDriven()), told(ex.MoreauJean())
    assert (located.tol, located.sure) == (1e-5, pytest.approx(1e-7))
    assert (stepped.tol, stepped.sure) == (2e-3, 2e-3)
    assert (located.near, stepped.near) == ((0.5, 0.5) if own else (0.01, 0.05))
    assert located.t_end == "12 * (2*pi/omega)"
    assert (located.part(10), located.part(5), located.part(99)) == tuple(f"{k} * (2*pi/omega)" for k in (1, 2, 1))  # fmt: skip
    assert located.periods == 12


# ---------------------------------------------------------------- sections that are not met


@for_each(("event", "ok", "found", "told"), [
    ("stop", [[1, 1, 0]], [[0, 0, 0]], "None of the 2 runs of 'm' meets its section 'stop' behind the transient. Choose"), (None, [[1], [1]], [[0], [0]], "None of the 2 runs of 'm' meets its section. Choose"),
    ("stop", [[1, 1], [1, 1]], [[0, 0], [0, 3]], None), ("stop", [[0, 0]], [[0, 0]], None), ("", [[1]], [[0]], None),
])  # fmt: skip
def test_a_section_that_no_run_meets_is_warned_of(event, ok, found, told):
    section = None if event == "" else space(event=event)
    branches = {str(k): space(ok=np.array(a, bool), found=np.array(b)) for k, (a, b) in enumerate(zip(ok, found, strict=True))}  # fmt: skip
    one = space(system=space(name="m"), first=space(question=space(section=section)), branches=branches)  # fmt: skip
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert _warned(one) is one
    assert [str(w.message)[: len(told or "")] for w in said] == ([told] if told else [])


@for_each(("gradient", "mu", "unknown", "count"), [
    (None, None, [False, False], 3), ([1.0, np.nan], None, [False, False], 4), ([1.0, np.nan], None, [False, True], 1), (None, [np.inf, 1.0, np.nan], [False, False], 2),
    ([np.nan, 1.0], [1.0], [False, True], 1), ([np.nan, 1.0, 2.0], [1.0], [True, False], 1),
])  # fmt: skip
def test_numbers_that_are_none_are_counted_where_no_doubt_tells_of_them(monkeypatch, gradient, mu, unknown, count):  # fmt: skip
    """Two columns of slopes: one number of the first is none, and two of the second one."""
    slopes = np.array([[[1.0, np.nan], [np.nan, np.inf]]])
    monkeypatch.setattr(trust, "_states", lambda solution: (None, slopes))
    gradient = None if gradient is None else np.array(gradient)
    (check,) = trust._finite(None, gradient, None if mu is None else np.array(mu), np.array(unknown))  # fmt: skip
    assert (check.name, check.value) == ("finite", float(count))


# ---------------------------------------------------------------- exponents of maps


@for_each(("count", "transient"), [(100, 3), (223, 0), (200, 7)])
def test_exponents_of_a_map_are_means_of_batches(monkeypatch, count, transient):
    """Each of so many iterates, none of the transient; the frame is orthonormal, and goes on."""
    asked, frames = [], []

    def spectrum(address, data, inp, out, frame, scratch, size, bound, sums):
        asked.append((address, data, size, bound))
        frames.append(frame)
        inp[1:3] += size
        sums[:] = np.array([1.0, -2.0]) * size * len(asked)
        return size

    monkeypatch.setattr("explorer.kernels.maps.tangents.spectrum", spectrum)
    compiled = space(n_x=2, tangents=space(size=6, address=11, data=22), input=lambda rho: np.array([0.0, 9, 9, *rho]), system=space(name="m"))  # fmt: skip
    means, last, sizes = spectra._averaged(compiled, 5.0, [7.0], np.array([1.0, 2.0]), count, transient)  # fmt: skip
    batches = spectra.BATCHES
    assert [size for *_, size, _ in asked] == [transient, *sizes.tolist()]
    assert (sizes.sum(), len(sizes)) == (count, batches)
    assert sizes.max() - sizes.min() <= 1
    np.testing.assert_allclose(means, np.outer(np.arange(2, batches + 2), [1.0, -2.0]))
    assert last.tolist() == [1.0 + count + transient, 2.0 + count + transient]
    np.testing.assert_allclose(frames[0].T @ frames[0], np.eye(2), atol=1e-12)
    assert {one[:2] + one[3:] for one in asked} == {(11, 22, 5.0)}
    monkeypatch.setattr("explorer.kernels.maps.tangents.spectrum", lambda *given: 1)
    monkeypatch.setattr(spectra, "_point", lambda compiled, x: "there")
    with pytest.raises(BadValue, match="'m' escapes at iterate 2 from there"):
        spectra._averaged(compiled, 5.0, [7.0], np.array([1.0, 2.0]), 200, 7)
