"""Maps: closed forms, defining properties, the fast loop against the plain recursion, refusals."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import explorer as ex
from explorer.compiled.map_loop import WIDTH
from explorer.compiled.maps import compile_map
from explorer.systems import from_spec

TENT, ROOT = ex.models.tent_map(), ex.models.square_root_map()
BORDER, PLANE = ex.models.border_collision(), ex.models.border_collision_plane()
SHORT = settings(max_examples=25, deadline=None)


def plain(f, x, count: int) -> np.ndarray:
    """The recursion, written out."""
    rows = [np.atleast_1d(np.array(x, float))]
    for _ in range(count):
        rows.append(np.atleast_1d(f(*rows[-1])))
    return np.array(rows)


def tent(mu: float):
    return lambda x: mu * x if 0.5 - x > 0 else mu * (1 - x)


def root(lam: float, mu: float):
    return lambda x: lam * x + mu if -x > 0 else mu - math.sqrt(x)


# -- iterates -------------------------------------------------------------------------------------


@SHORT
@given(mu=st.floats(0.1, 2), x0=st.floats(0, 1))
def test_the_tent_map_is_its_recursion_to_the_last_bit(mu, x0):
    run = ex.simulate(TENT, t_end=200, mu=mu, x0=x0)
    assert np.array_equal(run.q, plain(tent(mu), x0, 200))
    assert np.array_equal(run.branch == 0, run.q[:, 0] < 0.5)


@SHORT
@given(lam=st.floats(0.05, 0.95), mu=st.floats(-0.1, 0.2), x0=st.floats(-0.5, 0.2))
def test_the_square_root_map_is_its_recursion_to_the_last_bit(lam, mu, x0):
    run = ex.simulate(ROOT, t_end=200, lam=lam, mu=mu, x0=x0)
    assert np.array_equal(run.q, plain(root(lam, mu), x0, 200))


def test_rows_are_the_iterates_with_their_number():
    run = ex.simulate(TENT, t_end=16)
    assert run.t.tolist() == list(range(17))
    assert (run.status.ok, run.status.step, len(run.events)) == (True, 16, 0)
    assert list(run.columns) == ["t", "x", "branch"]
    assert run.at(3.0).q == run.q[3]
    assert run.certificate.ok
    assert len(run.certificate) == 2
    assert "16 iterates" in repr(run)


def test_an_iterate_that_is_wrong_is_seen():
    run = ex.simulate(TENT, t_end=16)
    q = run.q.copy()
    q[5] += 1e-6
    assert not run.changed(q=q).certificate["iterates"].ok
    branch = run.branch.copy()
    branch[5] = 1 - branch[5]
    assert not run.changed(branch=branch).certificate.ok


def test_binary_numbers_end_at_zero_for_slope_two():
    run = ex.simulate(TENT, t_end=80, mu=2, x0=0.3)
    assert np.flatnonzero(run.q[:, 0] == 0)[0] == 55
    assert (run.q[:53] != 0).all()


# -- escapes --------------------------------------------------------------------------------------


def test_an_escape_has_a_status_with_its_iterate():
    run = ex.simulate(TENT, mu=2.2, throw=False)
    rows = plain(tent(2.2), 0.3, 60)
    first = int(np.argmax(np.abs(rows[:, 0]) > 1e10))
    assert (run.status.name, run.status.step, run.status.ok) == ("escaped", first - 1, False)
    assert run.status.message.startswith(f"Stopped at iterate {first}: ")
    assert np.array_equal(run.q, rows[:first])
    with pytest.raises(ex.StepFailed, match="escaped"):
        ex.simulate(TENT, mu=2.2)
    near = ex.simulate(TENT, ex.Iteration(bound=100), mu=2.2, throw=False)
    assert near.status.step < run.status.step


def test_what_is_no_number_has_escaped_too():
    log = ex.MapSystem("logarithm", x="x", f=["log(x)"], start={"x": [2.0], "t_end": 8})
    run = ex.simulate(log, throw=False)
    assert run.status.name == "escaped"
    assert "not a number" in run.status.message
    assert np.isfinite(run.q).all()


def test_an_escape_is_no_attractor():
    over = {"mu": np.linspace(1.8, 2.2, 20)}  # without 2, where round-off ends at 0
    found = ex.study.orbit_diagram(TENT, over=over, transient=4000, points=10, continuation="none")
    branch = found.branches["none"]
    escapes = branch.axes["mu"] > 2
    assert (branch.status[escapes] == "escaped").all()
    assert np.isnan(branch.points[escapes]).all()
    assert branch.ok[~escapes].all()
    assert "iterate" in branch.why(19)
    with pytest.raises(ex.BadValue, match="escapes at iterate"):
        ex.study.lyapunov(TENT, mu=2.2)


# -- closed forms ---------------------------------------------------------------------------------


@SHORT
@given(mu=st.floats(0.2, 1.99))
def test_the_exponent_of_the_tent_map_is_the_logarithm_of_its_slope(mu):
    found = ex.study.lyapunov(TENT, iterates=5000, mu=mu)
    assert found.largest == pytest.approx(math.log(mu), abs=1e-12)
    assert found.errors[0] <= 1e-12


def test_the_exponent_is_the_mean_over_all_iterates_whatever_their_batches():
    """Of 64 batches some are one iterate longer; the orbit is in pieces of unlike stretching."""
    for count in (64, 101, 150):
        found = ex.study.lyapunov(ROOT, lam=0.5, mu=0.02, iterates=count, transient=0)
        run = ex.simulate(ROOT, lam=0.5, mu=0.02, t_end=count)
        x = run.x[:count, 0]
        slopes = np.log(np.abs(np.where(x < 0, 0.5, -0.5 / np.sqrt(np.abs(x)))))
        assert found.largest == pytest.approx(slopes.mean(), abs=1e-9)
        sizes = np.diff(np.linspace(0, count, 65).astype(int))
        parts = np.split(slopes, np.cumsum(sizes)[:-1])
        assert found.batches[:, 0] == pytest.approx([part.mean() for part in parts], abs=1e-9)


@SHORT
@given(mu=st.floats(1.45, 1.99))
def test_the_attractor_of_the_tent_map_lies_between_its_images(mu):
    x = ex.simulate(TENT, t_end=4000, mu=mu, x0=0.3).q[1000:, 0]
    low, high = mu * (2 - mu) / 2, mu / 2
    assert low - 1e-12 <= x.min() <= low + 0.02
    assert high - 0.02 <= x.max() <= high + 1e-12


def cycle(x: np.ndarray) -> int:
    """Return the least period of the end of an orbit."""
    return next(m for m in range(1, 40) if abs(x[-1] - x[-1 - m]) <= 1e-10)


@pytest.mark.parametrize("mu", [0.1, 0.05, 0.02, 0.01, 0.004, 0.001])
def test_periods_of_the_square_root_map_have_their_closed_form(mu):
    """At lam < 1/4 there are periods alone; they grow as mu falls."""
    lam = 0.15
    x = ex.simulate(ROOT, t_end=4000, lam=lam, mu=mu).q[:, 0]
    m = cycle(x)
    s = (-(lam ** (m - 1)) + math.sqrt(lam ** (2 * m - 2) + 4 * mu * (1 - lam**m) / (1 - lam))) / 2
    assert (x[-m:] > 0).sum() == 1
    assert x[-m:].max() == pytest.approx(s**2, rel=1e-9)
    found = ex.study.lyapunov(ROOT, lam=lam, mu=mu, iterates=6400 * m, transient=4000)
    assert found.largest == pytest.approx(math.log(lam ** (m - 1) / (2 * s)) / m, abs=1e-6)


def test_three_regimes_of_the_square_root_map():
    """Exponents over mu: all above zero, some, none (Chin et al. 1994, GRAZING)."""
    mus = np.geomspace(1e-3, 3e-2, 40)

    def chaotic(lam: float) -> float:
        found = [ex.study.lyapunov(ROOT, lam=lam, mu=float(mu), iterates=6400) for mu in mus]
        return float(np.mean([one.largest > 0.01 for one in found]))

    assert chaotic(0.8) == 1
    assert 0.1 < chaotic(0.5) < 0.95
    assert chaotic(0.15) == 0


@SHORT
@given(a=st.floats(-0.9, 0.9), b=st.floats(-0.9, 0.9), mu=st.floats(0.05, 1), side=st.booleans())
def test_fixed_points_of_the_border_collision(a, b, mu, side):
    mu = mu if side else -mu
    x = ex.simulate(BORDER, t_end=2000, a=a, b=b, mu=mu).q[-1, 0]
    assert x == pytest.approx(mu / (1 - (b if side else a)), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("a", "b"), [(0.2, -4), (0.3, -6), (0.42, -12), (0.14, -12)])
def test_cycles_of_the_border_collision_are_added_one_by_one(a, b):
    x = ex.simulate(BORDER, t_end=4000, a=a, b=b, mu=1).q[:, 0]
    m = cycle(x)
    assert abs(a ** (m - 1) * b) < 1
    assert x[-m:].max() == pytest.approx((1 - a**m) / ((1 - a) * (1 - a ** (m - 1) * b)), rel=1e-9)
    assert (x[-m:] > 0).sum() == 1


@SHORT
@given(
    tau=st.tuples(st.floats(-0.9, 0.9), st.floats(-0.9, 0.9)),
    delta=st.floats(0.05, 0.5),
    mu=st.sampled_from([-1.0, 1.0]),
)
def test_fixed_points_of_the_plane(tau, delta, mu):
    run = ex.simulate(
        PLANE, t_end=4000, tau_L=tau[0], tau_R=tau[1], delta_L=delta, delta_R=delta, mu=mu
    )
    x = mu / (1 - (tau[1] if mu > 0 else tau[0]) + delta)
    moves = np.abs(run.q[-1] - run.q[-2]).max()
    if moves < 1e-12:
        assert run.q[-1] == pytest.approx([x, -delta * x], rel=1e-6)


def test_the_exponents_of_the_plane_sum_up_to_the_determinant():
    found = ex.study.lyapunov(PLANE, iterates=50_000)
    assert found.exponents.sum() == pytest.approx(math.log(0.5), abs=1e-10)
    assert found.largest > 10 * found.errors[0] > 0
    assert 1 < found.dimension < 2


# -- exponents ------------------------------------------------------------------------------------


def test_the_error_bar_holds_and_falls():
    """Four times as many iterates: half the error; the means of disjoint orbits agree with it."""
    short, long = (ex.study.lyapunov(PLANE, iterates=n) for n in (20_000, 320_000))
    assert 2 < short.errors[0] / long.errors[0] < 8
    apart = [
        ex.study.lyapunov(PLANE, iterates=20_000, x0=[x, 0]).largest
        for x in np.linspace(-0.2, 0.2, 12)
    ]
    assert 0.3 < np.std(apart, ddof=1) / short.errors[0] < 3


def test_exponents_are_growth_of_a_difference():
    """The largest one, by an orbit that starts a little beside and is moved nearer each time."""
    step, total = 1e-8, 0.0
    x, y = 0.1, 0.0

    def f(x, y):
        return (1.7 * x + y + 1 if x < 0 else -1.7 * x + y + 1), -0.5 * x

    dx, dy = step, 0.0
    for k in range(30_000):
        x1, y1 = f(x, y)
        u, v = f(x + dx, y + dy)
        dx, dy = u - x1, v - y1
        size = math.hypot(dx, dy)
        total += math.log(size / step) * (k >= 1000)
        dx, dy, x, y = dx * step / size, dy * step / size, x1, y1
    found = ex.study.lyapunov(PLANE, iterates=29_000)
    assert total / 29_000 == pytest.approx(found.largest, abs=5 * found.errors[0] + 1e-3)


def test_a_superstable_orbit_has_an_exponent_of_minus_infinity():
    parabola = ex.MapSystem(
        "parabola", x="x", params={"a": 2.0}, f=["a*x*(1 - x)"], start={"x": [0.5], "t_end": 8}
    )
    assert ex.study.lyapunov(parabola, iterates=640).largest == -math.inf


# -- derivatives ----------------------------------------------------------------------------------


def test_jacobians_are_those_of_each_branch():
    x, lam = sp.symbols("x lam")
    assert ROOT.jacobian("no impact") == sp.Matrix([[lam]])
    assert sp.simplify(ROOT.jacobian("impact")[0] + 1 / (2 * sp.sqrt(x))) == 0
    assert PLANE.jacobian("left") == sp.Matrix(
        [[sp.Symbol("tau_L"), 1], [-sp.Symbol("delta_L"), 0]]
    )
    with pytest.raises(ex.BadValue, match="Did you mean 'impact'"):
        ROOT.jacobian("impac")


@pytest.mark.parametrize("name", ["lam", "mu", "x0"])
def test_derivatives_of_the_end_are_those_of_differences(name):
    found = ex.study.orbit_derivatives(ROOT, wrt=name, t_end=12, lam=0.5, mu=0.02)
    value = {"lam": 0.5, "mu": 0.02, "x0": -0.1}[name]
    h = 1e-7
    ends = [
        ex.simulate(ROOT, t_end=12, **({"lam": 0.5, "mu": 0.02} | {name: value + d})).q[-1, 0]
        for d in (-h, h)
    ]
    assert found.margin > 1e-3
    assert found.S[-1, 0, 0] == pytest.approx((ends[1] - ends[0]) / (2 * h), rel=1e-5)


# -- many orbits ----------------------------------------------------------------------------------


@SHORT
@given(count=st.integers(1, 3 * WIDTH), seed=st.integers(0, 1000), t_end=st.integers(2, 90))
def test_orbits_side_by_side_are_those_of_one_alone(count, seed, t_end):
    rng = np.random.default_rng(seed)
    over = {
        ("mu", "x0.x"): np.column_stack([rng.uniform(0.5, 2.3, count), rng.uniform(0, 1, count)])
    }
    since = t_end // 2
    found = ex.study.sweep(TENT, over=over, t_end=t_end, transient=since, observe="extrema")
    for k, (mu, x0) in enumerate(over["mu", "x0.x"]):
        run = ex.simulate(TENT, t_end=t_end, mu=mu, x0=[x0], throw=False)
        assert found.ok[k] == run.status.ok
        assert found.t[k] == run.t[-1]
        if run.status.ok:
            assert found.end[k] == run.q[-1]
            assert found.low[k] == run.q[since:].min()
            assert found.high[k] == run.q[since:].max()


@pytest.mark.parametrize("way", ["none", "up", "both"])
def test_an_orbit_diagram_has_the_iterates_behind_the_transient(way):
    over = {"lam": np.linspace(0.1, 0.9, 11)}
    found = ex.study.orbit_diagram(ROOT, over=over, transient=50, points=7, continuation=way)
    for branch in found.branches.values():
        start = None
        for k, lam in enumerate(branch.axes["lam"]):
            run = ex.simulate(ROOT, t_end=57, lam=lam, **({} if start is None else {"x0": start}))
            assert np.array_equal(branch.points[k], run.q[50:57])
            assert np.array_equal(branch.times[k], np.arange(50, 57))
            start = None if way == "none" else run.q[50]
    figure = ex.views.orbit_diagram(found)
    assert all(trace.mode == "markers" for trace in figure.data)


def test_a_start_that_is_a_formula_is_that_of_each_member():
    found = ex.study.sweep(TENT, over={"x0": [0.1, 0.2, 0.4]}, t_end=1, mu=1.5)
    assert found["x"].tolist() == pytest.approx([0.15, 0.3, 0.6])


def test_the_square_root_map_runs_through_a_hundred_million_iterates_a_second():
    """A tenth of that must do on a machine that does other things."""
    compiled, rho = compile_map(ROOT), np.array([0.8, 0.05, -0.1])
    rates = []
    for _ in range(3):
        begin = time.perf_counter()
        assert compiled.loop.one(np.array([-0.1]), rho, 2_000_000, 1e10) == 2_000_000
        rates.append(2_000_000 / (time.perf_counter() - begin))
    assert max(rates) > 1e7


def test_every_function_of_formulas_is_the_one_of_the_library():
    """One at a time, and side by side; each formula is that of a state, but all take the first."""
    names = [
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "sinh",
        "cosh",
        "tanh",
        "asinh",
        "atanh",
        "exp",
        "log",
        "sqrt",
        "abs",
        "floor",
        "ceil",
        "sign",
    ]
    formulas = [f"{name}(x)" for name in names]
    formulas += [
        "acosh(1 + x)",
        "atan2(x, 2)",
        "x**5",
        "x**-2",
        "x**1.5",
        "Mod(x, 0.2)",
        "min(x, 0.1, 0.2)",
        "max(x, 0.5)",
        "2 - 3*x/7",
        "Heaviside(x, 0.5)",
        "Piecewise((1, x < 0), (2, Or(x > 1, x <= 0.3)), (3, True))",
    ]
    states, x = ["x", *(f"y{k}" for k in range(1, len(formulas)))], 0.3
    start = [x] + [0.0] * (len(formulas) - 1)
    one = ex.MapSystem("one", x=" ".join(states), f=formulas, start={"x": start, "t_end": 1})
    run = ex.simulate(one).q[1]
    many = ex.study.sweep(one, over={"x0.x": [x] * 3}, t_end=1)
    for formula, f, name, found in zip(formulas, one.f, states, run, strict=True):
        assert found == pytest.approx(float(f.subs(sp.Symbol("x"), x).evalf()), rel=1e-14), formula
        assert (many[name] == found).all(), formula


# -- declarations and refusals --------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "tent_map",
        "square_root_map",
        "border_collision",
        "border_collision_plane",
        "stadium_billiard",
    ],
)
def test_a_map_is_written_down_and_read(name):
    system = getattr(ex.models, name)()
    again = from_spec(system.to_spec())
    assert again.to_spec() == system.to_spec()
    assert np.array_equal(ex.simulate(again, t_end=40).q, ex.simulate(system, t_end=40).q)


def test_formulas_may_have_names():
    map_ = ex.MapSystem(
        "named",
        x="x y",
        params={"a": 2.0},
        let={"r": "sqrt(x**2 + y**2)", "s": "a*r"},
        f=["s - 1", "x/(1 + r)"],
        start={"x": [0.3, 0.4], "t_end": 1},
    )
    x, y, a, r = sp.symbols("x y a r")
    assert map_.f == (sp.Symbol("s") - 1, x / (1 + r))
    written = {r: sp.sqrt(x**2 + y**2)}
    own = sp.Matrix([a * r - 1, x / (1 + r)]).subs(written).jacobian([x, y])
    assert sp.simplify(map_.jacobian().subs(written) - own) == sp.zeros(2, 2)
    assert ex.simulate(map_).q[1] == pytest.approx([0.0, 0.2])
    assert "r" in map_._repr_markdown_()


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda m: m.branch("a", ["x + t"]), "depends on t"),
        (lambda m: m.branch("a", ["x"], when="1"), "depends on no state"),
        (lambda m: (m.branch("a", ["x"]), m.branch("b", ["x"])), "no branch can follow"),
        (lambda m: (m.branch("a", ["x"], when="x"), m.branch("a", ["x"])), "are called 'a'"),
        (lambda m: m.inputs("u"), "takes no inputs"),
        (lambda m: m.branch("a", ["z"]), "neither a state nor a parameter"),
        (lambda m: m.let(x="1"), "the name is taken"),
        (lambda m: (m.branch("a", ["x"], when="x"), ex.simulate(m)), "Declare the last branch"),
        (lambda m: ex.simulate(m), "no formula yet"),
    ],
)
def test_a_declaration_that_makes_no_map_is_a_sentence(build, said):
    with pytest.raises(ex.BadModel, match=said):
        build(ex.MapSystem("bad", x="x"))


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: ex.simulate(TENT, t_end=2.5), "whole number"),
        (lambda: ex.simulate(TENT, t_end=0), "greater than zero"),
        (lambda: ex.simulate(TENT, t_end=1e12), "GB"),
        (lambda: ex.simulate(TENT, u={"mu": 1}), "is a map and takes no inputs"),
        (lambda: ex.study.compare_schemes(TENT), "nothing to compare"),
        (lambda: ex.explore_schemes("tent_map"), "nothing to compare"),
        (lambda: ex.explore_sensitivity("tent_map"), "Iteration"),
        (lambda: ex.simulate(TENT, x0=[1e12]), "beyond the bound"),
        (lambda: ex.simulate(TENT, h=0.1), "no parameter 'h'"),
        (lambda: ex.simulate(TENT, ex.EventDriven()), "Iteration"),
        (lambda: ex.simulate(TENT).at(0.5), "between the iterates"),
        (lambda: ex.study.sweep(TENT, over={"mu": [1]}, observe=ex.study.Section(period=2)), "is a map"),
        (lambda: ex.study.orbit_diagram(TENT, over={"mu": [1]}, section=ex.study.Section(period=1)),
         "is a map"),
        (lambda: ex.study.sweep(TENT, over={"mu": [1]}, t_end=2.5), "whole number"),
        (lambda: ex.study.lyapunov(TENT, period=1), "it has no period and no intervals"),
        (lambda: ex.study.lyapunov(ex.models.bouncing_ball(), iterates=100), "is no map"),
        (lambda: ex.study.lyapunov(TENT, iterates=3), "whole number of at least 64"),
        (lambda: ex.study.orbit_derivatives(TENT, wrt="nu"), "no parameter 'nu'"),
        (lambda: ex.sensitivity(TENT), "No scheme computes sensitivities"),
        (lambda: ex.views.cobweb(ex.simulate(PLANE)), "views.cobweb draws"),
    ],
)  # fmt: skip
def test_what_a_map_has_not_is_a_sentence(ask, said):
    with pytest.raises(ex.ExplorerError, match=said):
        ask()


# -- pictures -------------------------------------------------------------------------------------


def test_no_line_is_drawn_through_iterates():
    for system in (TENT, PLANE):
        run = ex.simulate(system, t_end=200)
        for view in ("trajectory", "positions", "phase"):
            figure = getattr(ex.views, view)(run)
            assert {trace.mode for trace in figure.data} == {"markers"}, view
    assert ex.views.trajectory(ex.simulate(TENT)).layout.xaxis.title.text == "iterate n"


def test_the_phase_plot_of_one_state_shows_no_rate():
    figure = ex.views.phase(ex.simulate(TENT))
    assert figure.layout.yaxis.title.text == "x at n + 1"
    with pytest.raises(AttributeError, match="is a map"):
        ex.simulate(TENT).rates


def test_the_web_goes_from_the_graph_to_the_diagonal():
    run = ex.simulate(ROOT, t_end=40)
    traces = {trace.name: trace for trace in ex.views.cobweb(run).data}
    web = np.column_stack([traces["web"].x, traces["web"].y])
    assert web[0::2] == pytest.approx(np.repeat(run.q[:41], 2, axis=1))
    f = root(0.8, 0.05)
    assert web[1::2, 1] == pytest.approx([f(x) for x in web[1::2, 0].astype(float)], abs=1e-6)


def test_a_jump_of_the_graph_stays_open():
    jump = ex.MapSystem(
        "jump",
        x="x",
        params={"c": 0.4},
        branches=[
            {"name": "low", "f": ["x/2 + c"], "when": "1/2 - x"},
            {"name": "high", "f": ["x/2 - c/2"]},
        ],
        start={"x": [0.2], "t_end": 40},
    )
    graph = {t.name: t for t in ex.views.cobweb(ex.simulate(jump)).data}["graph"]
    gaps = np.flatnonzero(np.isnan(graph.y))
    assert len(gaps) == 1
    k = int(gaps[0])
    assert graph.x[[k - 1, k + 1]] == pytest.approx([0.5, 0.5])
    assert graph.y[[k - 1, k + 1]] == pytest.approx([0.65, 0.05])
    tent_graph = {t.name: t for t in ex.views.cobweb(ex.simulate(TENT)).data}["graph"]
    assert not np.isnan(tent_graph.y).any(), "a corner is no jump"


def test_dots_of_many_iterates_show_every_point_of_a_cycle():
    """Not each k-th one, which would hide all but one point of a cycle of k."""
    from explorer.views.drawing.iterates import chosen
    from explorer.views.drawing.polyline import PANEL

    run = ex.simulate(ROOT, t_end=40_000, lam=0.15, mu=0.02)
    rows = chosen(run, PANEL)
    assert len(rows) < 1000
    for period in range(2, 12):
        counts = np.bincount(rows % period, minlength=period)
        assert counts.min() > 0.7 * counts.mean(), period


def test_a_panel_of_a_map_speaks_of_iterates():
    panel = ex.explore("tent_map")
    schema = panel._answer.schema()
    controls = {c["key"]: c for g in schema["groups"] for c in g["controls"]}
    assert "knob.h" not in controls
    assert controls["t_end"]["text"] == "number of iterates"
    assert "80 iterates" in panel._answer.frame()["status"]["text"]
    with pytest.raises(ex.BadValue, match="must be a whole number"):
        panel.session.set(t_end=2.5)
    with pytest.raises(ex.BadValue, match="escaped"):
        panel.session.set(mu=2.2)
    assert panel.session.status.ok


def test_an_orbit_that_lands_on_a_cycle_that_repels_is_said():
    """Doubling loses a binary digit at each iterate: all orbits end at 0, which is no attractor."""
    own = ex.MapSystem("own tent", x="x", params={"mu": 2.0}, f=["mu*min(x, 1 - x)"])
    own.start(x=[0.1234], t_end=200)
    assert "comes exactly to x = 0, a cycle that repels" in ex.simulate(own).outcome
    for fine in ({"mu": 1.9}, {"x0": [0.0]}, {"mu": 0.9}, {"t_end": 20}):
        assert not ex.simulate(own, **fine).cautions, fine
    over = {"mu": np.array([1.9, 1.95, 2.0])}
    with pytest.warns(
        ex.errors.ModelWarning, match=r"At mu = 2 the orbit of 'own tent' comes exactly"
    ):
        ex.study.orbit_diagram(own, over=over)
    with pytest.warns(ex.errors.ModelWarning, match="comes exactly to x = 0"):
        ex.study.lyapunov(own, iterates=1000)
    ex.study.lyapunov(own, iterates=1000, x0=0.0)  # that of the fixed point, asked for
    pair = ex.MapSystem("a saddle", x="x y", f=["x/2", "2*y"])  # y = 0 stays, and is no round-off
    pair.start(x=[1.0, 0.0], t_end=1200)
    assert not ex.simulate(pair).cautions
