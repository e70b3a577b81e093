"""Speed of the kernels: ratios within one run; microseconds a step are printed, not asserted."""

import time

import numpy as np
import pytest

import explorer as ex
from explorer.compiled import elimination
from explorer.models import models

CASES = {
    "ball": (models["bouncing_ball"](), {"h": 5e-3}, {"t_end": 10, "rho": {"e": 0.9}}),
    "elastic pendulum": (models["elastic_pendulum"](), {"h": 1e-3}, {"t_end": 2}),
    "elastic pendulum, iterate": (
        models["elastic_pendulum"](), {"h": 1e-3, "mass_point": "iterate"}, {"t_end": 2},
    ),
    "block that slides and sticks": (models["block_on_slope"](), {"h": 1e-3}, {"t_end": 1.5}),
    "stack of ten blocks in space": (models["stack"](10), {"h": 1e-3}, {"t_end": 0.5}),
    "woodpecker": (models["woodpecker"](), {"h": 2e-5}, {"t_end": 0.3}),
    "slider-crank": (models["slider_crank"](), {"h": 1e-5}, {"t_end": 0.1}),
}  # fmt: skip
REST = {"e": 0.9, "R": 0.125, "d": 0.25, "y0": 0.125}  # sums of these are exact in binary


def per_step(system, scheme, arguments, rounds=7) -> float:
    """Return the best kernel time a step in microseconds, in memory that is used again."""
    runs = (ex.simulate(system, scheme, **arguments) for _ in range(rounds))
    return min(run.seconds / (len(run.t) - 1) for run in runs) * 1e6


@pytest.mark.parametrize("name", CASES)
def test_a_step(benchmark, name):
    system, knobs, arguments = CASES[name]
    run = benchmark(ex.simulate, system, ex.MoreauJean(**knobs), **arguments)
    benchmark.extra_info["us a step"] = per_step(system, ex.MoreauJean(**knobs), arguments)
    assert run.status.ok


def two_relays():
    """Return a spiral into the origin, with infinitely many switches on its way."""
    laws = {f"u{k}": {"kind": "relay", "lb": -1, "ub": 1} for k in range(2)}
    return ex.FirstOrderSystem(
        "two relays", x="x0 x1", laws=laws, f=[0, 0], C=np.eye(2), B=[[2, -52], [52, 2]],
        start={"x": [3, 3]},
    )  # fmt: skip


@pytest.mark.parametrize(("build", "h", "t_end"), [
    (models["diode_bridge"], 1e-6, 5e-3), (two_relays, 1e-3, 4.0),
])  # fmt: skip
def test_a_step_of_a_first_order_system(benchmark, build, h, t_end):
    system, scheme = build(), ex.EulerMoreau(h=h)
    run = benchmark(ex.simulate, system, scheme, t_end=t_end)
    benchmark.extra_info["us a step"] = per_step(system, scheme, {"t_end": t_end})
    assert run.status.ok


@pytest.mark.parametrize("n", [10, 100, 200])
def test_a_step_of_a_column_at_rest(benchmark, n):
    system = models["column"](n)
    run = benchmark(ex.simulate, system, ex.MoreauJean(h=1e-3), t_end=0.2, rho=REST)
    benchmark.extra_info["us a step"] = per_step(
        system, ex.MoreauJean(h=1e-3), {"t_end": 0.2, "rho": REST}, 3
    )
    assert np.abs(run.v).max() < 1e-10
    assert (run.p[1:] > 0).all()


def test_the_cost_of_a_column_grows_almost_linearly():
    """The graph of the contacts is used: 5 times the balls cost no more than 5^1.2 the time."""
    scheme, few, many = ex.MoreauJean(h=1e-3), models["column"](200), models["column"](1000)
    arguments = {"t_end": 0.2, "rho": REST}
    times = [[per_step(s, scheme, arguments, 1) for s in (few, many)] for _ in range(9)]
    best = np.min(times, axis=0)
    assert best[1] < 5**1.2 * best[0]


def rods(n):
    """Return a chain of n rods, stretched out from the origin."""
    names = [f"{x}{i}" for i in range(n) for x in "xy"]
    system = ex.MechanicalSystem("rods", q=names, force=[0, "-9.81"] * n)
    for i in range(n):
        before = (f"x{i - 1}", f"y{i - 1}") if i else ("0", "0")
        system.constraint(f"((x{i} - {before[0]})**2 + (y{i} - {before[1]})**2 - 1)/2")
    system.start(q={f"x{i}": i + 1 for i in range(n)}, t_end=0.02)  # no time for new memory
    return system


def test_the_cost_of_a_chain_grows_almost_linearly(monkeypatch):
    """Its constraints stand in a band: 4 times the rods cost no more than 4^1.2 the time.

    Of this thread: those of the checks before, which wait actively, run on beside the kernel.
    """
    monkeypatch.setattr(time, "perf_counter", time.thread_time)
    scheme, few, many = ex.MoreauJean(h=1e-3), rods(50), rods(200)
    times = [[per_step(s, scheme, {}, 1) for s in (few, many)] for _ in range(7)]
    best = np.min(times, axis=0)
    assert best[1] < 4**1.2 * best[0]


def diodes(n):
    """Return n capacitors in a row, each with a diode to ground."""
    f = [f"10*({f'v{k - 1}' if k else '10*sin(20*t)'} - v{k})" for k in range(n)]
    f = [f"{x} + 10*(v{min(k + 1, n - 1)} - v{k})" for k, x in enumerate(f)]
    return ex.FirstOrderSystem(
        "diodes", x=[f"v{k}" for k in range(n)], f=f, r={f"v{k}": f"i{k}" for k in range(n)},
        laws={f"i{k}": "complementarity" for k in range(n)},
        y=[f"0.01*i{k} + v{k} + 0.5" for k in range(n)], start={"x": [0.1] * n, "t_end": 0.03},
    )  # fmt: skip


def test_the_cost_of_a_ladder_of_diodes_grows_almost_linearly():
    """States and multipliers stand in one band: 4 times the diodes cost no more than 4^1.2."""
    scheme, few, many = ex.EulerMoreau(h=1e-3), diodes(40), diodes(160)
    times = [[per_step(s, scheme, {}, 1) for s in (few, many)] for _ in range(25)]
    best = np.min(times, axis=0)
    assert best[1] < 4**1.2 * best[0]


def test_a_factored_matrix_beats_newton_at_every_step():
    """The linear fast path against the same column with springs too weak to matter.

    They join each ball to every other one: no band would do.
    """
    scheme, arguments = ex.MoreauJean(h=1e-3), {"t_end": 0.1}
    plain = models["column"](30)
    bent = models["column"](30)
    bent.force = [f + 1e-9 * sum(bent.q) ** 2 for f in bent.force]
    assert per_step(plain, scheme, arguments, 3) < 0.5 * per_step(bent, scheme, arguments, 3)


def test_simulate_adds_little_to_its_kernel(benchmark):
    """Everything around the kernel costs less than a hundred matrix products of 100 x 100."""
    system, scheme = models["bouncing_ball"](), ex.MoreauJean(h=5e-3)
    run = benchmark(ex.simulate, system, scheme, t_end=10)
    assert run.status.ok

    def around() -> float:
        begin = time.perf_counter()
        seconds = ex.simulate(system, scheme, t_end=10).seconds
        return time.perf_counter() - begin - seconds

    def products() -> float:
        a = np.ones((100, 100))
        begin = time.perf_counter()
        for _ in range(100):
            a @ a
        return time.perf_counter() - begin

    best = min(around() for _ in range(20))
    benchmark.extra_info["us around the kernel"] = best * 1e6
    assert best < 4 * min(products() for _ in range(5))


def event_driven(wrt=()):
    """Return the run of a ball with three impacts, as a function of its restitution."""
    system = models["bouncing_ball"]()
    scheme = ex.EventDriven(rtol=1e-6, atol=1e-6)
    if wrt:
        return lambda e: ex.sensitivity(system, scheme, wrt=wrt, t_end=2, e=e).solution
    return lambda e: ex.simulate(system, scheme, t_end=2, e=e)


def times(run) -> tuple[float, float]:
    """Return the best whole time and the best time of the kernel, in s."""
    wholes, kernels = [], []
    for e in np.linspace(0.8, 0.85, 300):
        begin = time.perf_counter()
        solution = run(e)
        wholes.append(time.perf_counter() - begin)
        kernels.append(solution.seconds)
    return min(wholes), min(kernels)


@pytest.mark.parametrize("wrt", [(), ("g", "e", "y0")])
def test_an_event_driven_run_adds_little_to_its_kernel(benchmark, wrt):
    """Rows and events wait until they are wanted; workspaces are used again."""
    run = event_driven(wrt)
    assert len(benchmark(run, 0.8).events) == 3
    whole, kernel = times(run)
    benchmark.extra_info["us around the kernel"] = (whole - kernel) * 1e6
    assert whole < 5 * kernel  # 3.7 to 4.5: the quicker the processor, the more Python weighs


def test_two_derivatives_cost_about_as_much_as_the_values():
    """Those of the kernel, and of the whole call, which judges them too."""
    values, derivatives = times(event_driven()), times(event_driven(("g", "e")))
    assert derivatives[1] < 2.5 * values[1]
    assert derivatives[0] < 2.5 * values[0]


def test_formulas_for_accelerations_spare_a_third_of_a_five_bar(benchmark, monkeypatch):
    """Beside the saddle matrix that is factored at each stage; the whole call, of 5 s."""
    scheme = ex.EventDriven(rtol=1e-8)
    by_formulas = models["five_bar_b"]()
    benchmark(ex.simulate, by_formulas, scheme)
    monkeypatch.setattr(elimination, "_MOST", 0)
    factored = models["five_bar_b"]()
    best = np.full(2, np.inf)
    for _ in range(60):
        for k, system in enumerate((by_formulas, factored)):
            begin = time.perf_counter()
            ex.simulate(system, scheme)
            best[k] = min(best[k], time.perf_counter() - begin)
    benchmark.extra_info["ms a call"] = best[0] * 1e3
    assert best[0] < 0.67 * best[1]


@pytest.mark.parametrize("name", ["elastic_pendulum", "chain"])
def test_the_adjoint_is_cheaper_than_twelve_derivatives(benchmark, name):
    """One run and one sweep back against a run with 12 columns or more.

    Of few states columns cost so little that both take about as long: 13 of a compass gait.
    """
    system = chain(6) if name == "chain" else models[name]()
    wrt = (*system.parameters, *system._state_names())
    assert len(wrt) >= 12
    cost = {"w": system._state_names()[0]}
    best = dict.fromkeys(("direct", "adjoint"), np.inf)
    for _ in range(25):
        for method in best:
            begin = time.perf_counter()
            ex.sensitivity(system, wrt=wrt, cost=cost, method=method)
            best[method] = min(best[method], time.perf_counter() - begin)
    benchmark.extra_info["adjoint over direct"] = best["adjoint"] / best["direct"]
    benchmark(ex.sensitivity, system, wrt=wrt, cost=cost, method="adjoint")
    assert best["adjoint"] < best["direct"]


def chain(n):
    """Return masses in a row, each with a spring and a mass of its own."""
    force = [f"-k{i}*({f'y{i} - y{i - 1}' if i else 'y0'})" for i in range(n)]
    force = [
        f + (f" - k{i + 1}*(y{i} - y{i + 1})" if i + 1 < n else "") for i, f in enumerate(force)
    ]
    return ex.MechanicalSystem(
        "chain", q=[f"y{i}" for i in range(n)], force=force,
        params={f"k{i}": 4.0 for i in range(n)} | {f"m{i}": 1 + i / 10 for i in range(n)},
        mass=[[f"m{i}" if i == j else 0 for j in range(n)] for i in range(n)],
        contacts=[ex.Contact(f"y{n - 1} + 0.5", e=0.7)], start={"q": [0] * (n - 1) + [1], "t_end": 5},
    )  # fmt: skip


def test_time_grows_like_the_number_of_steps():
    """Ten times the steps cost ten times the time: nothing in the loop looks back."""
    system = models["bouncing_ball"]()
    short, long = (
        min(ex.simulate(system, ex.MoreauJean(h=h), t_end=5).seconds for _ in range(15))
        for h in (5e-4, 5e-5)
    )
    assert 4 < long / short < 25


def test_no_model_compiles_a_kernel():
    """A slider, another model, another size: numbers and addresses only."""
    from explorer.kernels import jit

    ex.simulate(models["bouncing_ball"]())
    before = jit.cache_statistics()
    for system in (models["newtons_cradle"](4), models["rocking_block"](), models["column"](3)):
        ex.simulate(system, t_end=0.1)
    ex.simulate(models["bouncing_ball"](), e=0.3, g=3)
    assert jit.cache_statistics() == before
