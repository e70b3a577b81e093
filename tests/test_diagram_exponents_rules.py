"""How exponents of the columns of a diagram are computed and shown on the way."""

from __future__ import annotations

import numpy as np
import pytest
from loops import for_each
from plain import put, space
from test_study_branches import bare

import explorer as ex
from explorer.errors import BadValue, NotApplicable
from explorer.study import DiagramExponents
from explorer.study import diagram_exponents as module

function = module.diagram_exponents


def asked(discrete=False, scheme=None):
    scheme = ex.EventDriven() if scheme is None else scheme
    return space(system=space(discrete=discrete, time_unit="ms"), question=space(scheme=scheme))


def diagram(many, lost=(), without=()):
    code = np.array([3 if k in lost else 0 for k in range(many)])
    ends = [None if k in without else (f"x{k}", k) for k in range(many)]
    return space(values=np.arange(many) / 4, by="b", ends=ends, code=code)


def run(monkeypatch, found, *, cost=0.1, fails=(), stops=None, **given):
    """Return what is told, and the columns in the order in which they are computed."""
    clock, done = [0.0], []

    def largest(asked, found, k, end):
        assert end == (f"x{k}", k)
        clock[0] += cost
        done.append(k)
        if k in fails:
            raise BadValue(f"none at {k}")
        return 10.0 + k

    put(monkeypatch, function, _largest=largest, time=space(perf_counter=lambda: clock[0]))
    stop = None if stops is None else (lambda: len(done) >= stops)
    return [*function(asked(**given), found, stop)], done


def test_columns_are_computed_from_coarse_to_fine(monkeypatch):
    """Each once; a picture is told as soon as a quarter of a second has gone, and at the end."""
    told, done = run(monkeypatch, diagram(19))
    assert done == [0, 8, 16, 4, 12, 2, 6, 10, 14, 18, *range(1, 19, 2)]
    assert [int(np.isfinite(one.values).sum()) for one in told] == [3, 6, 9, 12, 15, 18, 19]
    assert [one.done for one in told] == pytest.approx([3 / 19, 6 / 19, 9 / 19, 12 / 19, 15 / 19, 18 / 19, 1.0])  # fmt: skip
    assert all(one.done < 1 for one in told[:-1])
    assert told[-1].values.tolist() == [10.0 + k for k in range(19)]
    assert np.isfinite(told[0].values[[0, 8, 16]]).all()
    assert {one.unit for one in told} == {"1/ms"}
    assert {one.problem for one in told} == {""}
    (last,), _ = run(monkeypatch, diagram(3), discrete=True, scheme="any", cost=0.0)
    assert (last.unit, last.done) == ("", 1.0)
    told, _ = run(monkeypatch, diagram(4), cost=0.3)
    assert [one.done for one in told] == pytest.approx([0.25, 0.5, 0.75, 1.0, 1.0])
    assert told[3].done < 1 == told[4].done


def test_columns_that_are_lost_have_no_exponent_and_the_first_problem_is_told(monkeypatch):
    told, done = run(monkeypatch, diagram(9, lost=(4,), without=(0, 3)), fails=(6, 7))
    assert done == [8, 2, 6, 1, 5, 7]
    last = told[-1]
    np.testing.assert_array_equal(last.values, [np.nan, 11, 12, *[np.nan] * 2, 15, *[np.nan] * 2, 18])  # fmt: skip
    assert last.problem == "At b = 1.5: none at 6"
    assert last.done == 1.0


@for_each("stops", [0, 1, 4])
def test_what_is_stopped_tells_what_there_is_and_that_it_is_not_done(monkeypatch, stops):
    told, done = run(monkeypatch, diagram(9), stops=stops)
    assert len(done) == max(stops, 1)
    assert told[-1].done == 0.0
    assert np.isfinite(told[-1].values).sum() == len(done)


def test_flows_need_a_scheme_that_locates_events(monkeypatch):
    with pytest.raises(NotApplicable, match="FESD does not locate events"):
        run(monkeypatch, diagram(3), scheme=ex.FESD())


@for_each(("values", "told"), [
    ([0.5, -1.25, np.nan, 2.0, -np.inf], "3 of 5 columns, from -1.25 to 2 1/s"), ([np.nan, -np.inf], "0 of 2 columns 1/s"),
])  # fmt: skip
def test_exponents_are_told_by_their_range(values, told):
    assert (DiagramExponents(np.zeros(1), "").done, DiagramExponents(np.zeros(1), "").problem) == (0.0, "")  # fmt: skip
    assert repr(DiagramExponents(np.array(values), "1/s")) == f"DiagramExponents: {told}"
    assert repr(DiagramExponents(np.array(values), "")) == f"DiagramExponents: {told}".removesuffix(" 1/s")  # fmt: skip


# ---------------------------------------------------------------- one column


def test_of_a_map_the_largest_of_its_spectrum_is_taken(monkeypatch):
    system = bare(type("Own", (ex.MapSystem,), {}), parameters=("a", "b"))
    said = []
    put(monkeypatch, module._largest, map_spectrum=lambda *given: said.append(given) or space(exponents=np.array([0.75, -3.0])))  # fmt: skip
    given = space(system=system, question=space(rho=(7.0, 8.0), scheme="s"), section=None)
    found = space(by="a", values=np.array([0.0, 0.5]))
    assert module._largest(given, found, 1, ("x", 4)) == 0.75
    assert said == [(system, "s", module._ITERATES, 0, "x", {"a": 0.5, "b": 8.0})]


@for_each(("repeats", "event", "S", "told"), [
    (3, True, None, 0.0), (0, True, np.eye(2) * 3, "mean"), (2, False, np.array([[0.0, 4.0], [-4.0, 0.0]]), np.log(4.0) / 10.0),
])  # fmt: skip
def test_along_an_autonomous_cycle_nothing_grows(monkeypatch, repeats, event, S, told):
    """Of the others the direction at random goes on from where it has turned; only its growth later counts."""
    said = []

    def carried(asked, rho, x, mode, T, seeds):
        said.append((x, mode, T, seeds))
        return S @ seeds, f"{x}'", mode + 1

    put(monkeypatch, module._largest, _carried=carried)
    given = space(system=space(parameters=("a",)), question=space(rho=(7.0,)), section=space(period=None if event else 1.0),
                  span=lambda value, count: count * 10 * value)  # fmt: skip
    found = space(by="a", values=np.array([0.5]), period=np.array([repeats]))
    x = "ab"  # of two states
    exponent = module._largest(given, found, 0, (x, 4))
    if told == "mean":
        assert exponent == pytest.approx(np.log(3.0) / (5.0 * module._AVERAGED))
        (first, mode, T, seeds), (then, later, rest, turned) = said
        assert (first, mode, T, seeds.shape) == ("ab", 4, 5.0 * module._TURNS, (2, 1))
        assert (then, later, rest) == ("ab'", 5, 5.0 * module._AVERAGED)
        assert turned == pytest.approx(seeds / np.linalg.norm(seeds))
        return
    assert exponent == pytest.approx(told)
    assert [T for _, _, T, _ in said] == ([] if event else [10.0])


@for_each(("ok", "last", "several", "mode", "hybrid", "there"), [
    (True, 3.0, True, 1, True, True), (True, 3.0 * (1 - 1e-10), True, 0, True, True), (True, 3.0 * (1 - 1e-8), True, 1, True, False), (True, 3.0 * (1 - 1e-9), True, 1, True, True), (False, 3.0, True, 1, True, False),
    (True, 3.0, True, -1, True, True), (True, 3.0, False, 1, True, True), (True, 3.0, False, 1, False, True),
])  # fmt: skip
def test_directions_are_carried_to_the_end_of_a_run(monkeypatch, ok, last, several, mode, hybrid, there):  # fmt: skip
    """In the mode in which it begins, if the system has several; the mode of its end is told then."""
    said = []
    S, x = np.arange(27.0).reshape(3, 3, 3), np.array([[1.0, 2.0], [9.0, 9.0], [3.0, 4.0]])
    run = space(
        status=space(ok=ok), t=np.array([0.0, 1.5, last]), S=S, x=x, mode=np.array([0, 7, 2])
    )
    scheme = type("Own", (ex.EventDriven,), {"compile": lambda self, system: "compiled", "run": lambda self, *given, **more: said.append((given, more)) or run})()  # fmt: skip
    modes = [space(name="a"), space(name="b")] if several else [space(name="a")]
    system = bare(type("Own", (ex.HybridSystem if hybrid else ex.StepSystem,), {}), modes=modes)
    put(monkeypatch, module._carried, begun_in=lambda compiled, system, name: (compiled, name))
    given = space(system=system, question=space(scheme=scheme))
    seeds, start = np.eye(2, 3), np.array([5.0, 6.0])
    found, end, after = module._carried(given, [7.0], start, mode, 3.0, seeds)
    ((compiled, rho, T), more) = said[0]
    assert compiled == (("compiled", "ab"[mode]) if several and mode >= 0 else "compiled")
    assert (rho, T) == ([7.0], 3.0)
    assert more["x0"] is start
    assert (more["wrt"], more["t_eval"]) == ((-1, -1, -1), [3.0])
    assert more["seeds"].tolist() == seeds.tolist()
    assert more["seeds"] is not seeds
    if not there:
        assert np.isnan(found).all()
        assert found.shape == seeds.shape
        assert (end.tolist(), after) == ([5.0, 6.0], mode)
        return
    assert found.tolist() == S[2, :2].tolist()
    assert (end.tolist(), after) == ([3.0, 4.0], 2 if several else mode)
