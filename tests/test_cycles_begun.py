"""How a problem of cycles begins: its scales, its mode, what is held, and what a run of it takes."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from loops import for_each
from plain import put, space
from test_study_branches import bare

import explorer as ex
from explorer.errors import StepFailed
from explorer.study import cycles
from explorer.study.cycles import Cycles, Shot


@for_each(("period", "states", "size"), [
    (None, [[1.0, -30.0, 1e-5], [-5.0, 10.0, 0.0]], [5.0, 30.0, 30.0, 7.0]), ("2*pi/q", [[1.0, -30.0, 1e-5], [-5.0, 10.0, 0.0]], [5.0, 30.0, 30.0]), ("2*pi/q", [[0.0, 0.0, 0.0]], [1.0, 1.0, 1.0]),
    ("2*pi/q", [[4.0, 4e-3, 3.9e-3], [4.0, 0.0, 0.0]], [4.0, 4.0, 4.0]), ("2*pi/q", [[4.0, 7.9e-3, -8.0]], [4.0, 8.0, 8.0]), ("2*pi/q", [[4.0, 9e-3, -8.0]], [4.0, 9e-3, 8.0]),
])  # fmt: skip
def test_unknowns_have_the_sizes_of_the_largest_states(monkeypatch, period, states, size):
    """One below a thousandth of the largest has that one's; the period and the range have their own."""
    begun = []
    scheme = space(compile=lambda system: "compiled")
    states = np.array(states)
    monkeypatch.setattr(Cycles, "begin", lambda self, start: begun.append((start, self._last, self.scale.tolist())))  # fmt: skip
    monkeypatch.setattr(Cycles, "_orbit", lambda self, start: states)
    put(monkeypatch, Cycles.__init__, NearMisses=lambda system: ("misses", system))
    system = space(parameters=("p", "q"), symbols=lambda state: {"p": sp.Symbol("p"), "q": sp.Symbol("q")})  # fmt: skip
    start, rho = Shot(np.array([1.0, 2.0, 3.0]), 7.0, 4), np.array([5.0, 6.0])
    one = Cycles(system, scheme, "q", rho, start, 20.0, period=period, count=3)
    assert one.scale == pytest.approx([*size, 20.0])
    assert one.wide.tolist() == np.ptp(states, axis=0).tolist()
    assert (one.place, one.n, one.count, one.mode, one.compiled) == (1, 3, 3, 4, "compiled")
    assert one.misses == ("misses", system)
    assert begun == [(start, None, [1.0] * (5 if period is None else 4))]
    assert one.rho.tolist() == [5.0, 6.0]
    assert one.rho is not rho
    if period is not None:
        assert one._of_rho(one.period) == pytest.approx(3 * 2 * np.pi / 6)
        assert one._of_rho(one._by_p) == pytest.approx(-3 * 2 * np.pi / 36)


@for_each("autonomous", [True, False])
def test_a_problem_goes_back_to_where_its_first_cycle_began(monkeypatch, autonomous):
    start, looked = Shot(np.array([1.0, 2.0]), 7.0, 4), []
    kind = type("Own", (Cycles,), {"autonomous": autonomous, "_look": lambda self, shot: looked.append(shot) or np.array([5.0, 6.0])})  # fmt: skip
    one = bare(kind, rho=np.array([3.0, 8.0]), place=1, n=2, _last="run", edge=9.0)
    one.begin(start)
    assert (one.begins_at, one.origin) == (8.0, start)
    one.rho[1], one.anchor, one._last, one.edge = 9.5, None, "other", 3.0
    one.restart()
    assert one.rho.tolist() == [3.0, 8.0]
    assert one.anchor.tolist() == [1.0, 2.0]
    assert one.anchor is not start.x
    assert one.along.tolist() == ([5.0, 6.0] if autonomous else [0.0, 0.0])
    assert (one._last, one.edge) == (None, 0.0)
    assert looked == [start, start]


def test_a_start_is_looked_at_in_its_mode_without_what_was_held():
    """Its rates are those at the time 0, of as many states as there are."""
    said = []

    def sample(t, slopes):
        assert (t.tolist(), slopes) == ([0.0], False)
        return "states", np.array([[5.0, 6.0, 99.0], [7.0, 8.0, 99.0]])

    run = space(march=space(sample=sample))

    def shoot(self, x, T, slopes):
        said.append((x, T, slopes, self.mode, self.held))
        return run

    one = bare(type("Own", (Cycles,), {"_shoot": shoot}), n=2, mode=0, held="before")
    with pytest.MonkeyPatch.context() as patch:
        put(patch, Cycles._look, Held=lambda given: ("held", given))
        assert one._look(Shot("x", 7.0, 4)).tolist() == [5.0, 6.0]
        assert said == [("x", 7.0, False, 4, None)]
        assert (one.mode, one.held) == (4, ("held", run))
        put(patch, Cycles.begin_as, Held=lambda given: ("held as", given))
        one.begin_as(space(mode=2, run="its run"))
    assert (one.mode, one.held) == (2, ("held as", "its run"))
    assert Shot("x", 7.0).mode == -1  # of a system without modes


def test_an_orbit_is_sampled_at_two_hundred_times():
    def sample(t, exact, slopes):
        assert not exact
        assert not slopes
        return (np.column_stack([t, 2 * t, 3 * t]),)

    march = space(t_last=6.0, sample=sample)
    kind = type("Own", (Cycles,), {"_shoot": lambda self, x, T, slopes: space(march=march) if (x, T, slopes) == ("x", 7.0, False) else None})  # fmt: skip
    found = bare(kind, n=2)._orbit(Shot("x", 7.0))
    assert found.shape == (200, 2)
    assert found == pytest.approx(np.linspace(0, 6, 200)[:, None] * [1, 2])


@for_each(("ok", "last", "fails"), [(True, 3.0, False), (True, 3.0 * (1 - 1e-13), False), (True, 3.0 * (1 - 1e-12), False), (True, 3.0 * (1 - 1e-11), True), (False, 3.0, True)])  # fmt: skip
@for_each("mode", [-1, 0, 1])
@for_each(("hybrid", "held", "constraints"), [(True, False, ()), (False, True, ()), (False, True, ("c",)), (False, False, ("c",))])  # fmt: skip
def test_a_run_over_a_period_has_the_derivatives_by_its_start_and_the_parameter(monkeypatch, ok, last, fails, mode, hybrid, held, constraints):  # fmt: skip
    """From the state next to its unknowns at which what is held is held, and constraints hold."""
    asked = []
    run = space(status=space(ok=ok, message="It fell."), march=space(t_last=last))
    scheme = space(run=lambda *given, **more: asked.append((given, more)) or run)
    kind = type("Own", (ex.HybridSystem if hybrid else ex.MechanicalSystem,), {"constraints": constraints})  # fmt: skip
    system = bare(kind, name="m", modes=[space(name="a"), space(name="b")])
    put(monkeypatch, Cycles._shoot, begun_in=lambda compiled, system, name: f"{compiled} in {name}", assembly=lambda system: lambda rho, x: [*x, "assembled"])  # fmt: skip
    rows = type("Rows", (), {"__bool__": lambda self: held, "put": lambda self, rho, x: [*x, "held"]})()  # fmt: skip
    one = bare(Cycles, system=system, scheme=scheme, compiled="flow", n=2, place=1, mode=mode, held=rows, rho=np.array([5.0, 6.0]))  # fmt: skip
    start = [1.0, 2.0, *["held"] * held, *["assembled"] * bool(constraints)]
    name = f"flow in {'ab'[mode]}" if hybrid and mode >= 0 else "flow"
    assert one._shoot([1.0, 2.0], 3.0, slopes=False) is run
    (compiled, rho, T), more = asked[0]
    assert (compiled, rho.tolist(), T, more) == (name, [5.0, 6.0], 3.0, {"x0": start})
    assert rho is not one.rho
    if fails:
        with pytest.raises(StepFailed, match="'m': It fell"):
            one._shoot([1.0, 2.0], 3.0)
        return
    assert one._shoot([1.0, 2.0], 3.0) is run
    (compiled, rho, T), more = asked[1]
    assert (compiled, rho.tolist(), T) == (name, [5.0, 6.0], 3.0)
    assert more.pop("seeds").tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    assert more == {"x0": start, "wrt": (-1, -1, 1), "t_eval": [3.0]}


@for_each("autonomous", [True, False])
def test_a_whole_evaluation_has_tests_and_margins(monkeypatch, autonomous):
    """The distance of events from the start has a name of its own where the start can be moved."""
    n, rng = 2, np.random.default_rng(4)
    x, end, rate, along, anchor = rng.normal(size=(5, n))
    S = rng.normal(size=(n + 1, n + 1))
    run = space(march=space(end=lambda: (None, end, None, S), steps=space(y=rng.normal(size=(3, n)))), rates=[None, None, np.append(rate, 9.0)])  # fmt: skip
    held = space(along=lambda rho, x, place: (np.eye(n), np.zeros(n)))
    put(monkeypatch, Cycles.evaluate, events_of=lambda run: [], shorter=lambda *given: (), tests=lambda mu: ("tests", mu),
        margins=lambda *given: given, multipliers_of=lambda M, kept, alone: f"mu {kept} {alone}")  # fmt: skip
    one = space(n=n, _split=lambda u: (x, 0.5), _last=None, _shoot=lambda x, T: run, _check_begin=lambda run: None, held=held, rho="rho", place=0,
                _by_p=None if autonomous else "formula", _of_rho=lambda formula: 1.5, autonomous=autonomous, along=along, scale=np.ones(n + 2), anchor=anchor,
                count=1, mode=4, misses=lambda run, mode: ["one", "two"] if mode == 4 else None)  # fmt: skip
    found = Cycles.evaluate(one, np.zeros(3))
    word = "edge" if autonomous else "phase"
    assert found.margins == (run, ("one", "two"), 0.5, word)
    assert found.tests == ("tests", f"mu 2 {autonomous}")
    cycle = found.data
    assert (cycle.run, cycle.T, cycle.mode, cycle.misses) == (run, 0.5, 4, ("one", "two"))
    assert cycle.multipliers == f"mu 2 {autonomous}"
    assert cycle.monodromy == pytest.approx(S[:n, :n])
    part = Cycles.evaluate(one, np.zeros(3), full=False)
    assert (part.margins, part.tests, part.data.misses, part.data.T, part.data.mode) == ({}, {}, (), 0.5, 4)  # fmt: skip


def test_a_cycle_is_genuine_by_its_multipliers(monkeypatch):
    put(monkeypatch, Cycles.genuine, genuine=lambda kind, mu: (kind, mu))
    node = space(at=space(data=bare(cycles.Cycle, multipliers="mu")))
    assert bare(Cycles).genuine("fold", node) == ("fold", "mu")


@for_each(("kind", "constraints", "asks"), [(ex.HybridSystem, 1, False), (ex.MechanicalSystem, 0, False), (ex.MechanicalSystem, 1, True), (ex.StepSystem, 0, True)])  # fmt: skip
def test_a_start_on_a_surface_may_not_be_moved(kind, constraints, asks):
    """Unless it is one of contacts that stay closed, or of a system with modes."""
    system = bare(type("Own", (kind,), {"constraints": ("c",) * constraints}))
    for clear in (True, False):
        misses = space(clear=lambda run, t, mode, clear=clear: clear if (run, t, mode) == ("run", 0.0, 3) else None)  # fmt: skip
        shoot = lambda self, x, T, slopes: "run" if (x, T, slopes) == ("x", 4.0, False) else None  # noqa: E731
        one = bare(type("Own", (Cycles,), {"_shoot": shoot}), system=system, misses=misses)
        assert one.off_surfaces(Shot("x", 4.0, 3)) == (clear or not asks)
