"""What searches are told and tell: bounds, scales, starts, histories, errors of a linear fit."""

from __future__ import annotations

import inspect
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from loops import for_each

import explorer as ex
from explorer.derivatives.cost import Cost, compile_cost
from explorer.derivatives.question import Question, ask
from explorer.optimise.loss import LOSSES
from explorer.optimise.search import Search
from explorer.optimise.starts import Start, known, starting_points

# -- bounds, scales, starts ----------------------------------------------------------------------


def search_of(params, bounds=None, start=None, wrt=None):
    """Return a search over the parameters, by default all, of a system that stands still."""
    still = ex.HybridSystem(
        "still", x="x", params=params, modes={"on": ["0"]}, start={"x": [0], "t_end": 1}
    )
    question = ask(still, None, wrt or tuple(params), None, 1.0, None, None, None)
    return Search.of(question, bounds, start)


def test_a_scale_is_the_width_of_the_range_or_the_size_of_the_start():
    params = {"a": ex.Param(3, 1, 5), "b": ex.Param(-4, -9, 9), "c": ex.Param(0.2, 0, 1)}
    bounds = {"b": (None, np.inf), "c": (-np.inf, 7)}
    search = search_of(params, bounds)
    assert search.low.tolist() == [1, -np.inf, -np.inf]
    assert search.high.tolist() == [5, np.inf, 7]
    assert search.scale.tolist() == [4, 4, 1]
    assert search.start.tolist() == [3, -4, 0.2]
    assert search.named(search.start) == {"a": 3, "b": -4, "c": 0.2}
    given = search_of(params, [(2, None), (-5, 5), (0, 2)], [2, 5, 0])
    assert given.low.tolist() == [2, -5, 0]
    assert given.high.tolist() == [np.inf, 5, 2]
    assert given.start.tolist() == [2, 5, 0]
    assert given.scale.tolist() == [2, 10, 2]


def test_a_start_of_a_state_is_free():
    search = search_of({"a": ex.Param(3, 1, 5)}, None, None, ("x", "a"))
    assert search.low.tolist() == [-np.inf, 1]
    assert search.start.tolist() == [0, 3]
    assert search.scale.tolist() == [1, 4]


def test_samples_of_a_logarithmic_range_are_even_in_the_logarithm():
    params = {"a": ex.Param(1, 1e-2, 1e4, log=True), "b": ex.Param(3, 1, 5)}
    search = search_of(params, {"b": (None, 5)})
    points = starting_points(search, 7, 2)
    assert points.shape == (7, 2)
    assert points[0].tolist() == [1, 3]
    part = np.log10(points[1:, 0]) + 2
    assert np.sort(np.floor(part)).tolist() == [0, 1, 2, 3, 4, 5]
    # open below: from one scale under the start, 0, to the bound
    assert np.sort(np.floor(points[1:, 1] / 5 * 6)).tolist() == [0, 1, 2, 3, 4, 5]
    wide = search_of(params, {"a": (-3, 3), "b": (1, np.inf)})  # no logarithm of a negative bound
    points = starting_points(wide, 7, 2)
    assert np.sort(np.floor(points[1:, 0] + 3)).tolist() == [0, 1, 2, 3, 4, 5]
    assert np.sort(np.floor((points[1:, 1] - 1) / 5 * 6)).tolist() == [0, 1, 2, 3, 4, 5]
    assert starting_points(search, 1, 2).tolist() == [[1, 3]]
    assert (starting_points(search, 7, 3)[1:] != starting_points(search, 7, 2)[1:]).all()


def ended(a, b, cost):
    return Start({}, {"a": a, "b": b}, cost, True, "")


@pytest.mark.parametrize(
    ("a", "b", "cost", "same"),
    [
        (1.0, 2.0, 9.0, True),  # where it ended decides
        (1.009, 1.9991, 9.0, True),
        (0.991, 2.0, 9.0, True),
        (1.011, 2.0, 9.0, False),
        (1.0, 2.0011, 9.0, False),
        (1.4, 2.04, 4.0003, True),  # along a flat valley
        (1.4, 2.04, 3.9997, True),
        (1.4, 2.04, 4.0005, False),
        (0.4, 2.0, 4.0, False),
        (1.0, 2.06, 4.0, False),
    ],
)
def test_two_ends_are_one_minimum_if_they_are_near(a, b, cost, same):
    """A thousandth of the scale, or of like cost a twentieth."""
    search = SimpleNamespace(scale=np.array([10.0, 1.0]))
    best = ended(1.0, 2.0, 4.0)
    text = known(search, [best, ended(a, b, cost)], best)
    assert text == f"the best of 2 starts; {1 + same} of them end there"


def test_starts_without_a_run_are_counted():
    search = SimpleNamespace(scale=np.ones(2))
    best = ended(1.0, 2.0, 4.0)
    lost = ended(1.0, 2.0, np.inf)
    text = known(search, [best, lost, ended(5.0, 2.0, 8.0), lost], best)
    assert text == "the best of 4 starts; 1 of them end there, 2 failed"
    assert known(search, [best], best) == ""


@pytest.mark.parametrize(("search", "tol"), [(ex.fit, 1e-10), (ex.minimize, 1e-7)])
def test_options_are_shown_by_name(search, tol):
    shown = inspect.signature(search).parameters
    names = ("start", "starts", "seed", "tol", "max_iter", "progress")
    assert {n: shown[n].default for n in names} == dict(
        zip(names, (None, 1, 0, tol, 100, True), strict=True)
    )
    assert all(shown[n].kind is inspect.Parameter.KEYWORD_ONLY for n in names)
    assert "options" not in shown


# -- minimize ------------------------------------------------------------------------------------


@pytest.fixture
def runs(monkeypatch):
    """Count the runs of all questions."""
    counted, run = [], Question.run

    def counting(self, *args, **named):
        counted.append(self)
        return run(self, *args, **named)

    monkeypatch.setattr(Question, "run", counting)
    return counted


def test_every_iterate_of_a_descent_is_told(runs):
    """The second bounce is at t_1 (1 + 2 e); cost and projected gradient by hand."""
    ball, low, high = ex.models.bouncing_ball(), 0.3, 0.8
    first, width = np.sqrt(2 / 9.81), high - low
    best = ex.minimize(ball, {"w": "(t - 1)**2"}, "e", {"e": (low, high)}, until=("floor", 2),
                       e=0.7, g=9.81, y0=1.0)  # fmt: skip
    assert best.history[0]["e"] == 0.7
    assert best.history[-1]["e"] == best.parameters["e"]
    for row in best.history:
        away = first * (1 + 2 * row["e"]) - 1
        z, slope = row["e"] / width, 4 * first * away * width
        projected = abs(np.clip(z - slope, low / width, high / width) - z)
        assert row["cost"] == pytest.approx(away**2, abs=1e-9)
        assert row["gradient"] == pytest.approx(projected, abs=1e-7)
        assert row["events"] == 2
    assert best.history[-1]["gradient"] <= 1e-7 < best.history[0]["gradient"]
    assert best.gradient["e"] == pytest.approx(4 * first * away, abs=1e-6)
    assert best.evaluations == len(runs)


def test_a_descent_tells_how_far_it_is(monkeypatch):
    """Of at most max_iter iterates behind the start, with the cost of each."""
    told = []

    class Heard:
        def __init__(self, total, what, on):
            told.append((total, on))

        def __call__(self, done, text):
            told.append((done, text))

        def close(self):
            told.append("closed")

    monkeypatch.setattr(sys.modules[ex.minimize.__module__], "Progress", Heard)
    best = ex.minimize(ex.models.bouncing_ball(), {"w": "(t - 1)**2"}, "e", until=("floor", 2),
                       max_iter=7, progress=False)  # fmt: skip
    assert told[0] == (7, False)
    assert told[-1] == "closed"
    assert told[1:-1] == [(k, f"cost {row['cost']:.4g}") for k, row in enumerate(best.history)]


def test_a_descent_ends_after_max_iter():
    ball = ex.models.bouncing_ball()
    cost = {"w": "(t - 1)**4"}
    for most in (1, 3):
        found = ex.minimize(ball, cost, "e", until=("floor", 2), e=0.9, max_iter=most)
        assert not found.success
        assert found.message == f"stopped after max_iter = {most} iterations"
        assert len(found.history) == most + 1


@for_each("switched", [False, True])
def test_a_terminal_cost_with_kinks_has_the_derivatives_of_its_sides(switched):
    """By t, states and parameters, beside kinks and jumps."""
    if switched:
        still, scheme = (
            ex.StepSystem("still", x="x y", f=["sign(x)", "0"], params={"a": 1.0}),
            ex.FESD(h=0.1),
        )
        still.start(x=[0.5, 1.0], t_end=1)
    else:
        still = ex.HybridSystem("still", x="x y", params={"a": 1.0}, modes={"on": ["0", "0"]},
                                start={"x": [0, 0], "t_end": 1})  # fmt: skip
        scheme = ex.EventDriven()
    formula = "abs(x - a) + sign(y)*x*t + max(x, y, a*t)**2 + floor(3*x)*y + abs(sign(x)*y - 2) + Mod(y, 0.3)"

    def cost(z):
        t, x, y, a = z
        value = abs(x - a) + np.sign(y) * x * t + max(x, y, a * t) ** 2 + np.floor(3 * x) * y
        return value + abs(np.sign(x) * y - 2) + y % 0.3

    compiled = compile_cost(still, Cost(w=formula), scheme)
    for z in np.array(
        [[0.7, 0.4, -1.3, 0.9], [0.7, 1.5, 0.2, 0.9], [2.0, -0.4, 1.3, 0.8], [0.2, 0.1, 2.5, 3.0]]
    ):
        w, by_t, by_x, by_rho = compiled.terminal(z[0], z[1:3], z[3:])
        assert w == pytest.approx(cost(z))
        step = 1e-6 * np.eye(4)
        slopes = [(cost(z + d) - cost(z - d)) / 2e-6 for d in step]
        assert [by_t, *by_x, *by_rho] == pytest.approx(slopes, abs=1e-7)


def test_a_descent_that_a_kink_of_the_cost_ends_has_met_no_change_of_the_events():
    """|t - 1| + 0.3 t is least at t = 1."""
    cost = {"w": "abs(t - 1) + 0.3*t"}
    best = ex.minimize(ex.models.bouncing_ball(), cost, "e", until=("floor", 2))
    assert not best.changes
    assert not best.success
    assert best.message.startswith("stopped: ")
    first = np.sqrt(2 * best.trajectory.rho["y0"] / best.trajectory.rho["g"])
    assert best.parameters["e"] == pytest.approx((1 / first - 1) / 2, abs=1e-7)


def test_all_descents_are_counted(runs):
    best = ex.minimize(ex.models.bouncing_ball(), {"w": "(t - 1)**2"}, "e", until=("floor", 2),
                       starts=3)  # fmt: skip
    assert best.evaluations == len(runs)
    assert [s.success for s in best.starts] == [True] * 3
    assert best.message.endswith("; the best of 3 starts; 3 of them end there")
    for s in best.starts:
        assert s.parameters["e"] == pytest.approx(best.parameters["e"], abs=1e-6)
        assert s.cost < 1e-10


def test_a_start_without_a_run_is_left_out():
    """A ball that is dropped from too high does not land in time."""
    ball = ex.models.bouncing_ball()
    best = ex.minimize(ball, {"w": "(t - 0.2)**2"}, "y0", {"y0": (0.1, 2.0)}, until="floor",
                       t_end=0.4, starts=6, y0=0.5)  # fmt: skip
    assert best.parameters["y0"] == pytest.approx(9.81 * 0.2**2 / 2, rel=1e-5)
    lost = [s for s in best.starts if s.cost == np.inf]
    assert all(s.start["y0"] > 9.81 * 0.4**2 / 2 and not s.success for s in lost)
    assert len(lost) == sum(s.start["y0"] > 9.81 * 0.4**2 / 2 for s in best.starts) > 0
    assert f"{6 - len(lost)} of them end there, {len(lost)} failed" in best.message


# -- fit: a line a + b t, of which all is known --------------------------------------------------

TIMES = np.array([0.1, 0.4, 0.5, 0.9, 1.0, 1.3, 1.7])
NOISE = np.array([0.3, -0.1, 0.2, -0.4, 0.1, 0.25, -0.2])
X = np.column_stack([np.ones(7), TIMES])


def line(**more):
    params = {"a": ex.Param(1, -9, 9), "b": ex.Param(2, -30, 30)}
    return ex.HybridSystem(
        "line", x="x", params=params | more, modes={"on": ["b"]}, start={"x": ["a"], "t_end": 2}
    )


@pytest.mark.parametrize("sigma", [None, 0.5, [0.1, 0.2, 0.3, 0.1, 0.2, 0.3, 0.4]])
def test_a_line_has_the_covariance_of_linear_least_squares(sigma, runs):
    data = 0.7 - 1.3 * TIMES + NOISE
    found = ex.fit(line(), TIMES, data, "x", sigma=sigma)
    weight = 1 / np.broadcast_to(1.0 if sigma is None else np.array(sigma), 7)
    A = X * weight[:, None]
    at, (rss,), *_ = np.linalg.lstsq(A, data * weight, rcond=None)
    covariance = np.linalg.inv(A.T @ A) * (rss / 5 if sigma is None else 1)
    assert list(found.parameters.values()) == pytest.approx(at, rel=1e-7)
    assert found.covariance == pytest.approx(covariance, rel=1e-6)
    assert found.errors == pytest.approx(
        dict(zip("ab", np.sqrt(np.diag(covariance)), strict=True)), rel=1e-6
    )
    left = data - X @ at
    assert found.residuals[:, 0] == pytest.approx(left, abs=1e-7)
    assert found.rms == pytest.approx(np.sqrt(np.mean(left**2)), rel=1e-7)
    assert found.history[-1]["cost"] == pytest.approx(0.5 * rss, rel=1e-7)
    assert found.starts[0].cost == pytest.approx(0.5 * rss, rel=1e-7)
    first = (X @ [1, 2] - data) * weight
    assert found.history[0]["cost"] == pytest.approx(0.5 * first @ first, rel=1e-9)
    assert (found.history[0]["a"], found.history[0]["b"]) == (1, 2)
    assert [row["events"] for row in found.history] == [0] * len(found.history)
    assert found.evaluations == len(runs)


@pytest.mark.parametrize("loss", ["soft_l1", "huber", "cauchy", "arctan"])
@pytest.mark.parametrize(("sigma", "scale"), [(0.25, None), (0.1, 3.0), (None, 0.2)])
def test_a_robust_line_has_the_covariance_of_an_m_estimator(loss, sigma, scale):
    """A^-1 B A^-1 m / (m - p), A = sum psi' x x', B = sum psi^2 x x' (Huber 1981, section 7.6)."""
    data = 0.7 - 1.3 * TIMES + NOISE
    found = ex.fit(line(), TIMES, data, "x", sigma=sigma, loss=loss, scale=scale, a=0.7, b=-1.3)
    width, C = sigma or 1.0, scale or 1.0
    at = np.array(list(found.parameters.values()))
    r = (X @ at - data) / width

    def psi(r):  # r l'((r / C)^2), the slope of C^2 / 2 l((r / C)^2)
        return r * LOSSES[loss]((r / C) ** 2)[1]

    assert X.T @ psi(r) == pytest.approx([0, 0], abs=1e-4)
    bent = np.maximum((psi(r + 1e-6) - psi(r - 1e-6)) / 2e-6, 0)
    A, B = X.T * bent @ X / width**2, X.T * psi(r) ** 2 @ X / width**2
    covariance = np.linalg.inv(A) @ B @ np.linalg.inv(A) * 7 / 5
    assert found.covariance == pytest.approx(covariance, rel=1e-3)
    cost = 0.5 * C**2 * LOSSES[loss]((r / C) ** 2)[0].sum()
    assert found.history[-1]["cost"] == pytest.approx(cost, rel=1e-6)
    assert found.starts[0].cost == pytest.approx(cost, rel=1e-6)


def test_a_start_value_is_fitted_as_a_parameter_is():
    """x(0) is a."""
    data = 0.7 - 1.3 * TIMES + NOISE
    for wrt, like in ((("x",), ("a",)), (("b", "x"), ("b", "a"))):
        free, twin = (ex.fit(line(), TIMES, data, "x", wrt=w, a=0.9, b=-1.3) for w in (wrt, like))
        assert list(free.parameters) == list(wrt)
        assert list(free.parameters.values()) == pytest.approx([*twin.parameters.values()])
        assert free.covariance == pytest.approx(twin.covariance, rel=1e-6)


def test_as_many_data_as_unknowns_leave_no_error_to_be_estimated():
    data = [1.0, 3.0]
    found = ex.fit(line(), [0.5, 1.0], data, "x")
    assert found.parameters == pytest.approx({"a": -1, "b": 4}, rel=1e-6)
    assert np.isnan(found.covariance).all()
    known_sigma = ex.fit(line(), [0.5, 1.0], data, "x", sigma=0.1)
    A = np.array([[1, 0.5], [1, 1]])
    assert known_sigma.covariance == pytest.approx(0.01 * np.linalg.inv(A.T @ A), rel=1e-6)
    robust = ex.fit(line(), [0.5, 1.0], data, "x", sigma=0.1, loss="huber")
    assert np.isnan(robust.covariance).all()


def test_what_is_determined_only_together_is_said():
    """x = a + c + b t: the sum of a and c is known, neither of them is, b is."""
    both = ex.HybridSystem(
        "line", x="x", params={n: ex.Param(1, -9, 9) for n in "abc"}, modes={"on": ["b"]},
        start={"x": ["a + c"], "t_end": 2},
    )  # fmt: skip
    found = ex.fit(both, TIMES, 1 + 2 * TIMES + NOISE, "x", sigma=0.5)
    assert "the data do not determine a, c (only together)" in found.message
    assert found.errors["a"] == found.errors["c"] == np.inf
    assert found.errors["b"] == pytest.approx(0.5 * np.sqrt(np.linalg.inv(X.T @ X)[1, 1]), rel=1e-5)
    idle = ex.fit(line(c=ex.Param(1, 0, 2)), TIMES, 1 + 2 * TIMES + NOISE, "x", sigma=0.5)
    assert "the data do not determine c" in idle.message
    assert "only together" not in idle.message


def test_at_a_bound_the_others_have_the_errors_of_a_smaller_fit():
    data = 0.7 - 1.3 * TIMES + NOISE
    found = ex.fit(line(), TIMES, data, "x", bounds={"a": (2, 5)}, start={"a": 3}, sigma=0.5)
    assert found.parameters["a"] == pytest.approx(2, abs=1e-6)
    assert np.isnan(found.covariance[0]).all()
    assert found.covariance[1, 1] == pytest.approx(0.25 / (TIMES @ TIMES), rel=1e-6)
    all_held = ex.fit(line(), TIMES, data, "x", "a", bounds={"a": (5, 9)}, start={"a": 6}, b=-1.3)
    assert np.isnan(all_held.errors["a"])
    assert "a is at its bound, so it has no standard error" in all_held.message


def test_a_fit_that_begins_at_its_end_succeeds():
    found = ex.fit(line(), TIMES, np.full(7, 3.0), "x", "a", a=3.0, b=0.0)
    assert found.success
    assert found.parameters == {"a": 3.0}
    assert found.rms == 0


def test_a_fit_ends_after_max_iter():
    swing = ex.HybridSystem(
        "swing", x="x v", params={"w": ex.Param(3, 1, 10)}, modes={"on": ["v", "-w**2*x"]},
        start={"x": [1, 0], "t_end": 1},
    )  # fmt: skip
    data = np.cos(4 * TIMES)
    found = ex.fit(swing, TIMES, data, "x", wrt="w", max_iter=2)
    assert not found.success
    assert found.message.startswith("stopped after max_iter = 2 runs")
    assert found.evaluations == 2
    several = ex.fit(swing, TIMES, data, "x", wrt="w", starts=3, seed=1)
    assert len(several.starts) == 3
    best = min(several.starts, key=lambda s: s.cost)
    assert several.parameters == best.parameters
