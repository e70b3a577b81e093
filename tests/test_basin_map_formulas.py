"""What basins say of themselves, and which numbers attractors have over parameters."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from loops import for_each
from plain import put, space

import explorer as ex
from explorer.errors import BadValue
from explorer.status import ESCAPED
from explorer.study import basins as asked_for
from explorer.study.basin_map import ESCAPES, FAILED, REFUSED, UNDECIDED, UNTOLD, Basins
from explorer.study.basins import _families, _gap, _parameter_sets, _resolved
from explorer.study.over import Axis
from explorer.study.search_attractors import Attractor
from explorer.study.starts import Starts

COVERS = ("study/attractors.py", "study/basins.py")

asked_for = inspect.unwrap(asked_for)


def flow():
    system = ex.HybridSystem("m", x="x y z", units=["m", "", "K"], params={"a": 1.0, "b": ex.Param(2.0, 0, 9, "N"), "c": 3.0})  # fmt: skip
    system.mode("only", flow=["-a*x", "b - y", "c*z"])
    return system


def axis(names, values, units=None):
    values = np.array(values, float)
    return Axis(names, units or ("",) * len(names), values.reshape(len(values), -1))


def attractor(*points, period=1):
    points = np.array(points, float).reshape(len(points), -1)
    return Attractor(period, points, points[0], 0.0, 0.1, (3, 4), {})


B = axis(("b",), [5, 6], ("N",))
X = axis(("x0.x",), [0.1, 0.2, 0.3], ("m",))
YZ = axis(("x0.y", "x0.z"), [[1, 2], [3, 4], [5, 6], [7, 8]], ("", "K"))


def map_of(order=((False, 1), (True, 0), (False, 0)), label=None, computed=None, families=2):
    """Return basins over rows of (y, z), b and x, whose arrays are (b, x and the rows)."""
    starts = Starts(flow(), (X, YZ), (B,), ("x0.x", "x0.y", "x0.z"), order)
    settings = space(system=starts.system, scheme="scheme", t_end=9.0, section="section")
    many = np.arange(24).reshape(2, 12)
    label = many % 3 - 1 if label is None else np.asarray(label)
    computed = many % 2 == 0 if computed is None else computed
    given = tuple((attractor([k, k, k]), attractor([9, 9, 9])) for k in range(families))
    return Basins.of(settings, starts, (1.0, 2.0, 3.0), (label, many / 8, computed), given, ("refused",), ("low", "high", "scale"), 1.5)  # fmt: skip


# ---------------------------------------------------------------- axes


def test_axes_of_basins_are_in_the_order_in_which_they_were_given():
    one = map_of()
    assert one.over == (YZ, B, X)
    assert one.shape == (4, 2, 3)
    for r, b, k in np.ndindex(one.shape):
        n = 12 * b + 4 * k + r
        assert one.t[r, b, k] == n / 8
        assert one.label[r, b, k] == n % 3 - 1
        assert one.computed[r, b, k] == (n % 2 == 0)
    assert (one.low, one.high, one.scale, one.seconds) == ("low", "high", "scale", 1.5)
    assert (one.rho, one.refused, one.by_period) == ((1.0, 2.0, 3.0), ("refused",), False)
    assert one.system is one.settings.system
    assert map_of(((True, 0), (False, 0), (False, 1))).t.shape == (2, 3, 4)
    assert [*one.axes] == ["x0.y, x0.z", "b", "x0.x"]
    assert one.axes["x0.y, x0.z"].tolist() == YZ.values.tolist()
    assert one.axes["b"].tolist() == [5, 6]
    assert one.axes["x0.x"].tolist() == [0.1, 0.2, 0.3]
    assert one.states == ("x", "y", "z")
    assert one.units == {"x": "m", "y": "", "z": "K", "x0.y": "", "x0.z": "K", "b": "N", "x0.x": "m"}  # fmt: skip
    assert [a.points[0, 0] for a in one.attractors] == [0, 1]


def test_labels_below_zero_say_why_a_start_has_no_attractor():
    label = np.zeros((2, 12), int)
    label[0, :6] = [ESCAPES, UNDECIDED, FAILED, REFUSED, UNTOLD, 1]
    one = map_of(((True, 0), (False, 0), (False, 1)), label)
    np.testing.assert_array_equal(one.index.ravel()[:7], [-1, *[np.nan] * 4, 1, 0])
    told = ["escaped", "undecided", "failed", "refused", "not run", "attracted", "attracted"]
    assert one.status.ravel()[:7].tolist() == told


@for_each("families", [0, 1, 2])
def test_parts_of_the_starts_have_the_errors_of_those_that_were_run(families):
    """sqrt(p (1 - p) / n); what is refused or not run counts for nothing, what is filled for p only."""
    label = np.array([[0] * 5 + [1] * 3 + [ESCAPES] * 2 + [REFUSED, UNTOLD], [UNDECIDED] * 4 + [FAILED] + [0] * 6 + [REFUSED]])  # fmt: skip
    computed = np.ones((2, 12), bool)
    computed[0, :4] = computed[1, 0] = False
    one = map_of(label=label, computed=computed, families=families)
    wanted = {0: 11, 1: 3, "escaped": 2, "undecided": 4, "failed": 1}
    wanted = {k: v for k, v in wanted.items() if isinstance(k, str) or k < families}
    assert [*one.fractions] == [*wanted]
    for key, many in wanted.items():
        p = many / 21
        assert one.fractions[key] == pytest.approx((p, np.sqrt(p * (1 - p) / 16)))
        assert one.fraction(key) == one.fractions[key][0]
    with pytest.raises(BadValue, match=r"'lost' is none of .*'escaped', 'undecided', 'failed'"):
        one.fraction("lost")
    nothing = map_of(label=np.full((2, 12), UNTOLD), computed=computed)
    assert {*nothing.fractions.values()} == {(0.0, 0.0)}
    single = np.full((2, 12), REFUSED)
    single[0, 0], single[0, 1] = 0, 1
    few = map_of(label=single, computed=np.zeros((2, 12), bool))
    assert few.fractions[1] == (0.5, 0.5)  # as if one had been run


def test_basins_are_told_by_their_parts():
    label = np.zeros((2, 12), int)
    label[0, :6] = ESCAPES
    one = map_of(label=label, computed=np.ones((2, 12), bool))
    text = repr(one)
    assert text == (
        "Basins of 'm' over 4 x0.y, x0.z x 2 b x 3 x0.x; attractor 0: 0.7500 +- 0.0884; "
        "attractor 1: 0.0000 +- 0.0000; escaped: 0.2500 +- 0.0884"
    )
    some = np.ones((2, 12), bool)
    some[1, :5] = False
    assert repr(map_of(label=label, computed=some)).endswith("; 19 starts computed, 5 filled")


# ---------------------------------------------------------------- one start


@for_each(("index", "told"), [
    ((3, 1, 2), ([0.3, 7, 8], 6.0)), ((0, 0, 0), ([0.1, 1, 2], 5.0)), ((2, 0, 1), ([0.2, 5, 6], 5.0)), ((4, 0, 0), None), ((0, 2, 0), None), ((0, 0, -1), None), ((0, 0), None), ((0, 0, 0, 0), None),
])  # fmt: skip
def test_a_start_is_asked_again_with_its_states_and_parameters(monkeypatch, index, told):
    one, ran = map_of(), []
    function = Basins.run
    put(monkeypatch, function, arguments=lambda system, scheme, members, i: {"rho": members.rho[i].tolist(), "x0": members.start[i].tolist()},
        simulate=lambda system, **given: ran.append((system, given)) or "run",
        Question=lambda system, scheme, rho, axes, t_end, since, section: space(told=(scheme, t_end, since, section), members=lambda first, last: members(axes, rho, first, last)))  # fmt: skip

    def members(axes, rho, first, last):
        found = np.tile(rho, (last - first, 1)), np.zeros((last - first, 3))
        axes.put(first, last, *found)
        return space(rho=found[0], start=found[1])

    if told is None:
        with pytest.raises(BadValue, match=r"no start of basins of shape \(4, 2, 3\)"):
            one.question(*index)
        return
    start, b = told
    assert one.run(*index) == "run"
    assert ran == [(one.system, {"throw": False, "rho": [1.0, b, 3.0], "x0": pytest.approx(start)})]
    assert one.question(*index).told == ("scheme", 9.0, 0.0, "section")


def test_a_table_of_basins_has_its_axes_as_coordinates(monkeypatch):
    one = map_of()
    put(monkeypatch, Basins.to_xarray, extra=lambda name: space(Dataset=lambda found, coords, attrs: (found, coords, attrs)))  # fmt: skip
    found, coords, attrs = one.to_xarray()
    dims = ["sample_0", "b", "x0.x"]
    assert [*found] == ["index", "status", "computed", "t"]
    for name, (own, values, *_) in found.items():
        assert own == dims
        np.testing.assert_array_equal(values, getattr(one, name))
    assert found["t"][2] == {"units": "s"}
    told = {name: (dim, values.tolist(), units["units"]) for name, (dim, values, units) in coords.items()}  # fmt: skip
    assert told == {
        "x0.y": ("sample_0", [1, 3, 5, 7], ""), "x0.z": ("sample_0", [2, 4, 6, 8], "K"),
        "b": ("b", [5, 6], "N"), "x0.x": ("x0.x", [0.1, 0.2, 0.3], "m"),
    }  # fmt: skip
    assert attrs == {"system": "m", "scheme": "'scheme'"}


# ---------------------------------------------------------------- numbers of attractors


def test_sets_of_parameters_run_over_all_their_axes():
    """The last one fastest; names of one axis vary together."""
    system = space(parameters={"a": 0, "b": 0, "c": 0, "d": 0})
    axes = (axis(("c",), [7, 8]), axis(("d", "a"), [[1, 2], [3, 4], [5, 6]]))
    found = _parameter_sets(space(system=system, parameters=axes), (0.0, 9.0, 0.0, 0.0))
    assert found == [(a, 9.0, c, d) for c in (7.0, 8.0) for d, a in ((1.0, 2.0), (3.0, 4.0), (5.0, 6.0))]  # fmt: skip
    assert _parameter_sets(space(system=system, parameters=()), (1.0,)) == [(1.0,)]


def test_two_attractors_are_as_far_apart_as_their_farthest_points():
    """In parts of the scale, each from the other one."""
    one, few = attractor([0, 0], [3, 16]), attractor([0, 0])
    for pair in ((one, few), (few, one)):
        assert _gap(*pair, np.array([1.0, 4.0])) == pytest.approx(5.0)
    assert _gap(one, one, np.ones(2)) == 0.0
    assert _gap(attractor([1, 8]), attractor([3, 8]), np.array([2.0, 4.0])) == 1.0


@for_each(("groups", "numbers", "families"), [
    ([[0.0, 5.0], [5.1, 0.1]], [[0, 1], [1, 0]], [[0.0, 0.1], [5.0, 5.1]]),
    ([[0.0], [0.19], [0.38], [0.57]], [[0]] * 4, [[0.0, 0.19, 0.38, 0.57]]),  # from the one that was met last
    ([[0.0], [0.25]], [[0], [1]], [[0.0], [0.25]]),
    ([[0.0], [0.1, 0.05]], [[0], [1, 0]], [[0.0, 0.05], [0.1]]),  # the nearest one
    ([[0.0, 0.15], [0.1]], [[0, 1], [1]], [[0.0], [0.15, 0.1]]),
    ([[], [3.0], [], [3.0]], [[], [0], [], [0]], [[3.0, 3.0]]),
    ([[0.0, 0.15], [0.15, 0.15]], [[0, 1], [1, 0]], [[0.0, 0.15], [0.15, 0.15]]),
    ([[0.0], [0.2]], [[0], [0]], [[0.0, 0.2]]),
])  # fmt: skip
def test_an_attractor_keeps_its_number_where_it_moves_little(groups, numbers, families):
    """By twenty times `near`, here 0.2 in parts of the scale."""
    made = [[attractor([4 * x]) for x in group] for group in groups]
    found, sets = _families(made, np.array([4.0]), space(near=0.01))
    assert found == numbers
    assert [[a.points[0, 0] / 4 for a in family] for family in sets] == [pytest.approx(f) for f in families]  # fmt: skip


def test_each_search_is_resolved_on_its_own(monkeypatch):
    class Resolve:
        def __init__(self, search, stop, progress):
            self.told, self.t, self.begun = (search, stop, progress), f"t {search}", 0

        def begin(self):
            self.begun += 1

    put(monkeypatch, _resolved, Resolve=Resolve, refined=lambda one, shape, refine: ((one.told, one.begun, shape, refine), f"made {one.told[0]}"))  # fmt: skip
    labels, times, made = _resolved(["a", "b"], (3, 4), 2, "stop", "progress")
    assert labels == [((s, "stop", "progress"), 1, (3, 4), 2) for s in "ab"]
    assert (times, made) == (["t a", "t b"], ["made a", "made b"])


@for_each(("given", "why"), [({"refine": -1}, "refine = -1"), ({"refine": 1.5}, "refine = 1.5"), ({"refine": True}, "refine = True"), ({"refine": 1, "samples": 9}, "halves the cells"),
                             ({"refine": 1, "rows": True}, "halves the cells"), ({"rows": True}, None), ({"refine": 2.0}, None), ({"samples": 9}, None)])  # fmt: skip
def test_basins_put_together_what_each_set_of_parameters_has(monkeypatch, given, why):
    """Attractors are numbered over all sets of parameters, what has none keeps its label."""
    given, made = dict(given), []
    rows = given.pop("rows", False)
    starts = space(axes=(YZ,) if rows else (X,), shape=(4,), rows=None)
    searches = []

    def search(settings, own, begins):
        one = space(attractors=[f"{own} first", f"{own} second"], refused=[f"{own} refused"], scale="s", low="l", high="h",
                    known=lambda: "known", question=lambda first, known: (first, known))  # fmt: skip
        assert (settings, begins) == ("settings", starts)
        searches.append(one)
        return one

    labels = [np.array([-3, 0, 1, -1]), np.array([1, 1, -5, 0])]
    put(monkeypatch, asked_for, check_system=lambda system: None, check_stop=lambda stop: None, check_executor=lambda one: made.append(one), choose=lambda system, scheme: scheme,
        numbers_of=lambda system, scheme, rho: [*rho.values()], Starts=space(of=lambda system, over, samples, seed: made.append((over, samples, seed)) or starts),
        seed_of=lambda recurrence: 5, Settings=space(of=lambda *given: made.append(given) or "settings"), _parameter_sets=lambda starts, values: ["a", "b"], Search=search,
        check_size=lambda question, workers: made.append((question, workers)), workers_of=lambda executor: 3, run_parts="parts",
        _resolved=lambda *given: made.append(given) or (labels, ["t1", "t2"], ["c1", "c2"]), partial=lambda *given, **more: (given, more),
        _families=lambda groups, scale, settings: ([[0, 2], [2, 1]], (groups, scale, settings)), Basins=space(of=lambda *given: given))  # fmt: skip
    call = lambda: asked_for("system", "scheme", over="over", section="s", periods=7, t_end=8, executor="e", folder="f", stop="stop", progress=False, rho={"a": 1.0, "b": 2.0}, b=4.0, **given)  # fmt: skip  # noqa: E731
    if why:
        with pytest.raises(BadValue, match=why):
            call()
        return
    settings, begins, values, found, families, refused, bounds, seconds = call()
    assert (settings, begins, values, bounds) == ("settings", starts, (1.0, 4.0), ("l", "h", "s"))
    assert found[0].tolist() == [[-3, 0, 2, -1], [1, 1, -5, 2]]
    assert [part.tolist() for part in found[1:]] == [["t1", "t2"], ["c1", "c2"]]
    assert families == ([["a first", "a second"], ["b first", "b second"]], "s", "settings")
    assert refused == ("a refused", "b refused")
    assert 0 <= seconds < 60
    assert made == ["e", ("over", given.get("samples"), 5), ("system", "scheme", "s", 7, 8, None), ((None, "known"), 3), (searches, (4,), int(given.get("refine", 0)), "stop", False)]  # fmt: skip
    assert [one.answer for one in searches] == [(("parts",), {"executor": "e", "folder": "f"})] * 2


# ---------------------------------------------------------------- attractors


def test_runs_are_counted_by_how_they_end(monkeypatch):
    """Those that meet nothing, those without numbers, and those that are lost or leave the box."""
    function = inspect.unwrap(ex.study.attractors)
    code = [0, 0, 0, 0, ESCAPED, ESCAPED, 7, 7, 7, 5, 0]
    caught = [0, -1, -1, -2, -2, -1, -1, -1, -1, -2, 3]
    one, two = attractor([1.0, 2.0]), attractor([3.0, 4.0], period=0)
    search = space(attractors=[one, two], refused=[one], learn=lambda rows: space(code=np.array(code), caught=np.array(caught)) if rows == "rows" else None)  # fmt: skip
    system, asked = flow(), []
    starts = space(parameters=(), rows="rows")
    put(monkeypatch, function, choose=lambda system, scheme: scheme, numbers_of=lambda system, scheme, rho: [*rho.values()], seed_of=lambda recurrence: 5,
        Starts=space(of=lambda system, over, samples, seed: asked.append((samples, seed)) or starts), Settings=space(of=lambda *given: given), Search=lambda settings, values, starts: asked.append((settings, values)) or search)  # fmt: skip
    found = function(system, "scheme", over={"x0.x": (0, 1)}, section="s", periods=7, t_end=8, samples=3, rho={"a": 1.0, "b": 2.0}, b=4.0)  # fmt: skip
    assert asked == [(3, 5), ((system, "scheme", "s", 7, 8, None), (1.0, 4.0))]
    assert (found.runs, found.undecided, found.failed, found.escaped) == (11, 2, 4, 4)
    assert (found.found, found.refused, found.states) == ((one, two), (one,), ("x", "y", "z"))
    assert 0 <= found.seconds < 60
    assert len(found) == 2
    assert found[1] is two
    first, *rest = repr(found).split("\n  ")
    assert first == "2 attractors of 11 runs; 4 escaped, 2 undecided, 4 failed; 1 recur and do not attract"  # fmt: skip
    assert rest == [f"0: {one!r}", f"1: {two!r}"]
    function(system, "scheme", over={("x0.x", "x0.y"): [[0, 1]]}, samples=3)
    assert asked[2] == (None, 5)
    assert ex.study.Attractors((), (), ("x",), 0, 0, 0, 0).seconds == 0.0
    starts.parameters = (B,)
    with pytest.raises(BadValue, match="'b' is a parameter"):
        function(system, "scheme", over={"b": (0, 1)})
