"""Parameters from a goal and from data: closed forms, noise of a known size, changes of sequence."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
import sympy as sp

import explorer as ex
from explorer import Contact, MechanicalSystem, Param
from explorer.optimise.search import met

G, ANGLE = 9.81, np.pi / 4


@pytest.fixture(scope="module")
def thrown():
    """Return a ball that is thrown from the ground, frictionless: v_x stays."""
    ball = MechanicalSystem("thrown ball", q="x y", units="m")
    _, y = ball.q
    g, e, speed = ball.params(
        g=Param(G, 1, 20, "m/s2"), e=Param(0.6, 0.2, 0.95), speed=Param(5, 1, 12, "m/s")
    )
    ball.mass, ball.force = [[1, 0], [0, 1]], [0, -g]
    ball.contact(Contact(gap=y, e=e, name="floor"))
    up = speed * sp.sqrt(2) / 2
    ball.start(q=[0, 0], v=[up, up], t_end=4)
    return ball


def seen(ball, t, noise=0.0, **values):
    """Return the height of a bouncing ball at the times, with noise."""
    run = ex.simulate(ball, ex.EventDriven, t_eval=t, **values)
    y = run.q[np.searchsorted(run.t, t), 0]
    return y + noise * np.random.default_rng(7).normal(size=len(t))


# -- minimize ------------------------------------------------------------------------------------


def test_a_ball_is_thrown_at_a_target_over_two_bounces(thrown):
    """Second bounce at x = 6 m, t = 1.5 s: x = v cos(a) t, t = 2 v sin(a) (1 + e) / g."""
    x, t = 6.0, 1.5
    best = ex.minimize(
        thrown, {"w": f"(x - {x})**2 + (t - {t})**2"}, ("e", "speed"), until=("floor", 2)
    )
    speed = x / (t * np.cos(ANGLE))
    e = t * G / (2 * speed * np.sin(ANGLE)) - 1
    assert best.success, best
    assert best.parameters == pytest.approx({"e": e, "speed": speed}, abs=1e-6)
    assert best.cost < 1e-13
    assert best.changes == []
    hit = best.trajectory.events[1]
    assert (hit.x_minus[0], hit.t) == pytest.approx((x, t), abs=1e-6)
    costs = [row["cost"] for row in best.history]
    assert (np.diff(costs) <= 0).all()
    assert best.evaluations >= len(best.history)


def test_the_gradient_is_that_of_the_cost(thrown):
    """Stopped half way: a slow twin by central differences."""
    cost = {"g": "v_y**2", "w": "(x - 6)**2 + (t - 1.5)**2"}
    best = ex.minimize(thrown, cost, ("e", "speed", "v_x"), until=("floor", 2), max_iter=1)
    assert not best.success
    assert "max_iter = 1" in best.message

    def psi(**change):
        at = best.parameters | change
        again = ex.minimize(thrown, cost, ("e", "speed", "v_x"), until=("floor", 2), start=at,
                            max_iter=0, bounds={"e": (0, 1), "speed": (0, 20)})  # fmt: skip
        return again.cost

    for name, value in best.parameters.items():
        twin = (psi(**{name: value + 1e-5}) - psi(**{name: value - 1e-5})) / 2e-5
        assert best.gradient[name] == pytest.approx(twin, rel=1e-6, abs=1e-6)


def test_a_hybrid_system_is_tuned():
    """A thermostat's period goes like 1 / a."""
    best = ex.minimize(ex.models.thermostat(), {"w": "(t - 5)**2"}, "a", until="too cold")
    assert best.success
    assert best.parameters["a"] == pytest.approx(0.1 * 6.0613580 / 5, rel=1e-6)


def test_a_minimum_lies_at_a_bound(thrown):
    best = ex.minimize(thrown, {"w": "-x"}, ("e", "speed"), until=("floor", 2),
                       bounds={"e": (0.2, 0.7), "speed": (1, 6)})  # fmt: skip
    assert best.success
    assert best.parameters == pytest.approx({"e": 0.7, "speed": 6})
    assert best.gradient["speed"] < 0


def test_a_change_of_sequence_is_said(thrown):
    """At t = 1.5 s a fast ball has not come down; the target was passed by more bounces."""
    best = ex.minimize(thrown, {"w": "(x - 3)**2"}, "speed", t_end=1.5, start={"speed": 11})
    assert best.parameters["speed"] == pytest.approx(2 * np.sqrt(2), rel=1e-6)
    (change,) = best.changes
    assert len(change.after) > len(change.before) == 0
    assert "event sequence changed" in best.message
    assert "restarted" in best.message
    assert [row["events"] for row in best.history][change.iteration] == len(change.after)


def test_no_gradient_is_claimed_at_a_kink():
    """The height at t = T is least, 0, for the ball that lands just then: a kink of the cost."""
    T = 0.4
    best = ex.minimize(ex.models.bouncing_ball(), {"w": "y"}, "y0", t_end=T, start={"y0": 1.5})
    assert best.parameters["y0"] == pytest.approx(G * T**2 / 2, abs=1e-5)
    assert not best.success
    assert "change of the event sequence" in best.message


def test_a_line_search_comes_back_from_where_no_run_exists():
    """Too small an e has no third bounce in time; the first step of the search goes there."""
    ball = ex.models.bouncing_ball()
    first = np.sqrt(2 / G)
    best = ex.minimize(ball, {"w": "100*(t - 0.8)**2"}, "e", until=("floor", 2), t_end=1.0, e=0.6)
    assert best.success, best
    assert best.parameters["e"] == pytest.approx((0.8 / first - 1) / 2, rel=1e-6)


def test_an_accumulation_is_one_event():
    ball = ex.models.bouncing_ball()
    runs = [ex.simulate(ball, ex.EventDriven, e=e, t_end=4.5) for e in (0.6, 0.62)]
    assert len(runs[0].events) != len(runs[1].events)
    assert met(runs[0]) == met(runs[1]) == (("zeno", "floor"),)
    assert met(runs[0], ("floor", 2)) == (("impact", "floor"),) * 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"wrt": "ee"}, "Did you mean 'e'"),
        ({"wrt": "e", "cost": {"w": "tt"}}, "Did you mean 't'"),
        ({"wrt": "e", "bounds": {"g": (1, 2)}}, "not among the parameters to optimise"),
        ({"wrt": "e", "bounds": {"e": 3}}, "(low, high)"),
        ({"wrt": "e", "bounds": {"e": (0.9, 0.1)}}, "empty"),
        ({"wrt": "e", "bounds": [(0, 1), (0, 1)]}, "1 entries"),
        ({"wrt": "e", "start": {"e": 2}}, "outside its bounds"),
        ({"wrt": "e", "until": "flor"}, "Did you mean 'floor'"),
        ({"wrt": "e", "until": ("floor", 30), "t_end": 1}, "only 1"),
        ({"wrt": "e", "scheme": "MoreauJean"}, "EventDriven"),
        ({"wrt": "e", "tol": 0}, "greater than zero"),
    ],
)
def test_a_goal_that_makes_no_sense_is_refused(options, words):
    with pytest.raises(ex.ExplorerError) as caught:
        ex.minimize(ex.models.bouncing_ball(), **{"cost": {"w": "y"}, **options})
    assert words in str(caught.value)


def test_a_run_that_ends_early_needs_its_event():
    with pytest.raises(ex.BadValue, match="until='falls back'"):
        ex.minimize(ex.models.simplest_walker(), {"w": "theta"}, "rate0", t_end=10, rate0=-0.17)


# -- fit -----------------------------------------------------------------------------------------


def test_restitution_and_gravity_come_back_from_bounces():
    """Without noise to the last digits; with noise within three standard errors."""
    ball, t = ex.models.bouncing_ball(), np.linspace(0.03, 2.0, 60)
    truth = {"e": 0.72, "g": 9.7}
    clean = ex.fit(ball, t, seen(ball, t, **truth), "y", wrt=("e", "g"))
    assert clean.parameters == pytest.approx(truth, rel=1e-8)
    noisy = ex.fit(ball, t, seen(ball, t, 0.01, **truth), "y", wrt=("e", "g"))
    assert noisy.success
    assert noisy.rms == pytest.approx(0.01, rel=0.3)
    for name, value in truth.items():
        assert abs(noisy.parameters[name] - value) < 3 * noisy.errors[name]
        assert 0 < noisy.errors[name] < 0.01 * value
    assert noisy.residuals.shape == (60, 1)
    assert noisy.history[-1]["cost"] < noisy.history[0]["cost"]


def test_standard_errors_are_those_of_repeated_measurements():
    """Twenty data sets: the spread of what is found is the error that each one claims."""
    ball, t = ex.models.bouncing_ball(), np.linspace(0.03, 1.5, 40)
    clean, rng = seen(ball, t, e=0.7), np.random.default_rng(3)
    found = [
        ex.fit(ball, t, clean + 0.01 * rng.normal(size=40), "y", wrt=("e", "g"), e=0.7, sigma=0.01)
        for _ in range(20)
    ]
    for name in ("e", "g"):
        spread = np.std([f.parameters[name] for f in found])
        assert spread == pytest.approx(found[0].errors[name], rel=0.5)


def test_the_jacobian_of_a_fit_is_exact(thrown):
    """Formulas, starts of states, several columns: against central differences."""
    from explorer.derivatives.question import ask
    from explorer.optimise.fit import _Model
    from explorer.optimise.observed import Observed
    from explorer.optimise.search import Search
    from explorer.progress import Progress

    t = np.array([0.2, 0.5, 0.9, 1.1, 1.4])
    wrt = ("e", "g", "y", "speed")
    question = ask(thrown, ex.EventDriven(rtol=1e-12, atol=1e-13), wrt, None, 1.4, None, t, None)
    search = Search.of(question, None, {"y": 0.1})
    data = np.zeros((5, 3))
    model = _Model(search, Observed(search, ["x", "v_y", "y*g"]), t, data, data + 2.0,
                   Progress(1, "", False))  # fmt: skip
    J = model.jacobian(search.start)
    for j, delta in enumerate(1e-6 * np.eye(4)):
        twin = (
            model.residuals(search.start + delta) - model.residuals(search.start - delta)
        ) / 2e-6
        assert J[:, j] == pytest.approx(twin, abs=1e-5)


def test_what_the_data_do_not_tell_is_said():
    ball, t = ex.models.bouncing_ball(), np.linspace(0.03, 1.5, 40)
    data = seen(ball, t, 0.005, e=0.7)
    found = ex.fit(ball, t, data, "y", wrt=("e", "m"), e=0.7)
    assert found.errors["m"] == np.inf
    assert np.isfinite(found.errors["e"])
    assert "do not determine m" in found.message
    bound = ex.fit(
        ball, t, data, "y", wrt=("e", "g"), e=0.7, bounds={"g": (5, 9)}, start={"g": 8.9}
    )
    assert bound.parameters["g"] == pytest.approx(9, abs=1e-6)
    assert np.isnan(bound.errors["g"])
    assert "g is at its bound" in bound.message


def test_missing_numbers_are_left_out():
    ball, t = ex.models.bouncing_ball(), np.linspace(0.03, 1.5, 40)
    data = seen(ball, t, e=0.7)
    data[5:20] = np.nan
    found = ex.fit(ball, t, data, "y", wrt="e", e=0.72)
    assert found.parameters["e"] == pytest.approx(0.7, rel=1e-8)
    assert np.isnan(found.residuals[5:20]).all()


def test_a_fit_says_where_it_crossed_a_change_of_sequence():
    ball, t = ex.models.bouncing_ball(), np.linspace(0.03, 2.0, 60)
    found = ex.fit(ball, t, seen(ball, t, e=0.72), "y", wrt="e", e=0.85)
    assert found.parameters["e"] == pytest.approx(0.72, rel=1e-7)
    assert found.changes
    assert "event sequence changed" in found.message


def test_a_wheel_tells_its_slope():
    """A hybrid system, its jumping state, by default the first columns."""
    wheel, t = ex.models.rimless_wheel(), np.linspace(0.05, 1.7, 80)
    run = ex.simulate(wheel, ex.EventDriven, t_eval=t, gamma=0.09)
    data = run.x[np.searchsorted(run.t, t)]
    found = ex.fit(wheel, t, data, wrt=("gamma", "w0"), gamma=0.0885)
    assert found.parameters == pytest.approx({"gamma": 0.09, "w0": 1.094904}, rel=1e-6)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"observe": "z"}, "neither a state nor a parameter"),
        ({"observe": []}, "Nothing is observed"),
        ({"observe": ["y", "v_y"]}, "1 columns"),
        ({"wrt": "ee"}, "Did you mean 'e'"),
        ({"data": np.zeros(3)}, "the same m"),
        ({"data": ["a"] * 5}, "must be numbers"),
        ({"data": np.full(5, np.nan)}, "cannot determine"),
        ({"t": [0, 1, 1, 2, 3]}, "must increase"),
        ({"t": [-1, 0, 1, 2, 3]}, "must not be negative"),
        ({"sigma": 0}, "greater than zero"),
        ({"sigma": [1, 2]}, "shape of the data"),
        ({"start": {"e": 2}}, "outside its bounds"),
        ({"scheme": ex.MoreauJean}, "locate"),
    ],
)
def test_data_that_make_no_sense_are_refused(options, words):
    given = {
        "t": np.linspace(0.1, 1, 5),
        "data": np.zeros(5),
        "observe": "y",
        "wrt": "e",
        **options,
    }
    with pytest.raises(ex.ExplorerError) as caught:
        ex.fit(ex.models.bouncing_ball(), given.pop("t"), given.pop("data"), **given)
    assert words in str(caught.value)


# -- progress ------------------------------------------------------------------------------------


def test_a_bar_appears_only_where_it_is_asked_for(capsys):
    from explorer.progress import Progress

    for on, after in ((False, 0.0), (True, 1e9)):
        quiet = Progress(3, "Fitting", on, after)
        quiet(1)
        quiet.close()
    assert capsys.readouterr().err == ""
    shown = Progress(3, "Fitting", True, 0.0)
    shown(1, "cost 2")
    shown.close("cost 1")
    text = capsys.readouterr().err
    assert "Fitting [" in text
    assert text.endswith("\n")


def test_a_change_of_events_says_which():
    from explorer.optimise.search import Change

    hit, stop, rest = ("impact", "floor"), ("sticks", "floor"), ("zeno", "floor")
    assert "(1 -> 2 events)" in str(Change(3, (hit,), (hit, stop)))
    assert "(event 2: sticks of 'floor' -> zeno of 'floor')" in str(
        Change(3, (hit, stop), (hit, rest))
    )


def test_a_cost_without_influence_is_said():
    found = ex.minimize(ex.models.bouncing_ball(), {"w": "(y - 0.3)**2"}, ["m", "g"], t_end=0.4)
    assert "does not depend on m here" in found.message


# -- several starts, wrong data, kinks -----------------------------------------------------------


def test_several_starts_find_the_better_valley():
    """sin(3 k) over [0, 3] has two valleys of the cost; the descent from 0.55 ends in the worse."""
    wave = ex.HybridSystem(
        "wave", x="x", params={"k": ex.Param(0.55, 0, 3)}, modes={"on": ["0"]},
        start={"x": ["sin(3*k) + 0.3*k"], "t_end": 1},
    )  # fmt: skip
    alone = ex.minimize(wave, {"w": "-x"}, "k")
    best = ex.minimize(wave, {"w": "-x"}, "k", starts=8)
    worse, better = (np.arccos(-0.1) / 3 + 2 * np.pi / 3 * n for n in (0, 1))
    assert alone.parameters["k"] == pytest.approx(worse, rel=1e-6)
    assert "stationary point" in alone.message
    assert best.parameters["k"] == pytest.approx(better, rel=1e-6)
    assert len(best.starts) == 8
    agree = sum(abs(s.parameters["k"] - better) < 1e-3 for s in best.starts)
    assert 0 < agree < 8
    assert f"best of 8 starts; {agree} of them end there" in best.message
    again = ex.minimize(wave, {"w": "-x"}, "k", starts=8)
    assert [s.start for s in again.starts] == [s.start for s in best.starts]  # seeded


def test_starts_fill_every_part_of_the_ranges():
    from explorer.derivatives.question import ask
    from explorer.optimise.search import Search
    from explorer.optimise.starts import starting_points

    question = ask(ex.models.bouncing_ball(), None, ("e", "g"), None, 1.0, None, None, None)
    search = Search.of(question, None, None)
    points = starting_points(search, 11, 5)
    np.testing.assert_array_equal(points[0], search.start)
    part = (points[1:] - search.low) / (search.high - search.low) * 10
    assert (np.sort(np.floor(part), axis=0) == np.arange(10)[:, None]).all()


def test_a_frequency_is_found_from_several_starts():
    """cos(6 t) over ten turns: the sum of squares over the frequency is full of valleys."""
    swing = ex.HybridSystem(
        "swing", x="x v", params={"w": ex.Param(3, 1, 10)}, modes={"on": ["v", "-w**2*x"]},
        start={"x": [1, 0], "t_end": 5},
    )  # fmt: skip
    t = np.linspace(0.05, 5, 60)
    alone = ex.fit(swing, t, np.cos(6 * t), "x", wrt="w")
    best = ex.fit(swing, t, np.cos(6 * t), "x", wrt="w", starts=12)
    assert alone.success  # a stationary point it is
    assert alone.rms > 0.5
    assert best.parameters["w"] == pytest.approx(6, rel=1e-7)
    assert "the best of 12 starts" in best.message
    assert sum(s.success for s in best.starts) > 1


@pytest.mark.parametrize("loss", ["soft_l1", "huber", "cauchy", "arctan"])
def test_a_robust_loss_bounds_what_wrong_data_do(loss):
    ball, t = ex.models.bouncing_ball(), np.linspace(0.03, 1.5, 60)
    data = seen(ball, t, 0.005, e=0.72)
    data[::9] += 0.6
    plain = ex.fit(ball, t, data, "y", wrt="e", e=0.7, sigma=0.005)
    robust = ex.fit(ball, t, data, "y", wrt="e", e=0.7, sigma=0.005, loss=loss)
    assert abs(plain.parameters["e"] - 0.72) > 0.01
    assert abs(robust.parameters["e"] - 0.72) < 5 * robust.errors["e"] < 0.02
    assert robust.history[-1]["cost"] <= robust.history[0]["cost"]


def test_the_losses_are_those_of_scipy():
    from scipy.optimize import least_squares

    from explorer.optimise.loss import LOSSES

    r = np.array([-3.0, 0.1, 0.9, 1.5, 20.0])
    for name, loss in LOSSES.items():
        found = least_squares(lambda x, r=r: r + 0 * x, [0.0], loss=name, f_scale=0.7, max_nfev=1)
        z = (r / 0.7) ** 2
        assert 0.5 * 0.7**2 * loss(z)[0].sum() == pytest.approx(found.cost)
        d = 1e-6
        low, high = loss(z - d * z), loss(z + d * z)
        for k in (0, 1):
            slope = (high[k] - low[k]) / (2 * d * z)
            assert loss(z)[k + 1] == pytest.approx(slope, rel=1e-4, abs=1e-8)
    assert [x.tolist() for x in LOSSES["huber"](np.ones(1))] == [[1.0], [1.0], [0.0]]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"loss": "hubert", "sigma": 1}, "Did you mean 'huber'"),
        ({"loss": "huber"}, "give sigma"),
        ({"starts": 0}, "whole number"),
        ({"starts": 1.5}, "whole number"),
    ],
)
def test_a_loss_or_starts_that_make_no_sense_are_refused(options, words):
    ball, t = ex.models.bouncing_ball(), np.linspace(0.1, 0.4, 5)
    with pytest.raises(ex.BadValue, match=words):
        ex.fit(ball, t, np.zeros(5), "y", wrt="e", **options)


def test_a_search_says_that_its_gradient_is_directional():
    """A bar lands flat, and a tilt to either side kicks it: no slope at its least kick is known."""
    bar = ex.MechanicalSystem(
        "bar", q="y a", params={"tilt": ex.Param(0, -0.1, 0.1)}, mass=[[1, 0], [0, 0.3]],
        force=["-9.81", 0], start={"q": [1, "tilt"], "t_end": 0.6},
        contacts=[ex.Contact("y + a", e=0.5), ex.Contact("y - a", e=0.5)],
    )  # fmt: skip
    best = ex.minimize(bar, {"w": "a**2"}, "tilt", max_iter=2)
    assert best.parameters["tilt"] == 0
    assert not best.trust.ok
    assert best.trust.directional == (pytest.approx(np.sqrt(2 / 9.81)),)
    assert not best.success
    assert "'tilt' decides which comes first" in best.message


@pytest.mark.parametrize(("wrong", "words"), [
    ({"tol": -1}, "tol = -1 must be greater than zero"), ({"tol": 0}, "tol"), ({"tol": "a"}, "tol"),
    ({"max_iter": -1}, "max_iter = -1 must be a whole number of at least 0"), ({"max_iter": 1.5}, "max_iter"),
    ({"wrt": ()}, "2 numbers cannot determine 0 parameters"), ({"observe": 5}, None),
])  # fmt: skip
def test_a_search_that_cannot_end_where_it_should_is_refused(wrong, words):
    """tol = -1 ended the first step of a fit as converged; 0 iterations an error of SciPy."""
    ball = ex.models.bouncing_ball()
    asked = {"observe": "y", "wrt": ("e",)} | wrong
    if words is None:  # a number is a formula that no parameter moves
        with contextlib.suppress(ex.BadValue):
            ex.fit(ball, [0.5, 1.0], [0.1, 0.2], **asked)
        return
    with pytest.raises(ex.BadValue, match=words):
        ex.fit(ball, [0.5, 1.0], [0.1, 0.2], **asked)
    if "tol" in wrong:
        with pytest.raises(ex.BadValue, match=words):
            ex.minimize(ball, {"w": "y"}, ("e",), **wrong)
