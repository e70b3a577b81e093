"""Fits of lines in closed form: least squares, robust losses, bounds, and what a model notes."""

from __future__ import annotations

import importlib
import itertools

import numpy as np
import pytest
from loops import for_each
from plain import put, space
from test_optimise_descents import search

from explorer.errors import BadValue, ExplorerError
from explorer.optimise.loss import LOSSES, check_loss, checked_scale
from explorer.optimise.search import Change

COVERS = ("optimise/fit.py", "optimise/loss.py")  # see mutant_rooms.py

fitting = importlib.import_module("explorer.optimise.fit")  # the package holds the function


def model_of(start, weight, data, low=-9.0, high=9.0, unit=2.0, fails=lambda x: False, **more):
    """Return a model whose data are a + b t at t = 0, 1, 2, ..., of two unknowns a and b."""
    told, t = [], np.arange(len(data), dtype=float)

    def observed(rho, run, times):
        x, _ = run
        if fails(x):
            raise ExplorerError("no run there")
        slopes = np.stack([np.ones_like(t), t], axis=1)[:, None, :]
        return (x[0] + x[1] * t)[:, None], slopes

    one = search(start, low, high, unit)
    run = one.run

    def asked(values):
        _, found = run(values)
        return space(rho=None), found

    object.__setattr__(one, "run", asked)
    weight = np.broadcast_to(np.array(weight, float)[:, None], (len(data), 1))
    return fitting._Model(one, observed, t, np.array(data, float)[:, None], weight,
                          lambda k, text: told.append((k, text)), **more), told  # fmt: skip


@pytest.fixture
def alike(monkeypatch):
    """Let all runs of fits meet the same."""
    put(monkeypatch, fitting._Model.jacobian, met=lambda run: ("hit",))


def test_a_line_is_fitted_by_weighted_least_squares(alike):
    """Missing data count for nothing; the cost is that of the weighted residuals."""
    data, weight = [1.0, 3.5, np.nan, 6.0, 9.5], [1.0, 2.0, 5.0, 0.5, 1.5]
    model, told = model_of([4.0, -3.0], weight, data, unit=[2.0, 0.5])
    start, same, found = fitting._search(model, np.array([4.0, -3.0]), 1e-12, 50, True)
    there = np.isfinite(data)
    terms = (np.array(weight)[:, None] * np.column_stack([np.ones(5), np.arange(5)]))[there]
    best, rest, *_ = np.linalg.lstsq(terms, (np.array(weight) * data)[there], rcond=None)
    assert same is model
    assert found.x == pytest.approx(best, abs=1e-7)
    assert [start.parameters["p"], start.parameters["q"]] == pytest.approx(best, abs=1e-7)
    assert start.cost == pytest.approx(rest[0] / 2, rel=1e-9)
    assert found.cost == pytest.approx(rest[0] / 2, rel=1e-9)
    assert start.start == {"p": 4.0, "q": -3.0}
    assert (start.success, start.message) == (True, fitting._STATIONARY)
    first = (np.array([4.0, -3.0]) @ terms.T - (np.array(weight) * data)[there]) ** 2
    assert model.history[0]["cost"] == pytest.approx(first.sum() / 2)
    assert (model.history[0]["p"], model.history[0]["events"]) == (4.0, 1)
    assert [k for k, _ in told] == [*range(1, len(told) + 1)]
    assert model.changes == []


@for_each(("high", "best"), [(2.0, [2.0, 1.2]), (0.5, [0.5, 1.65])])
def test_a_fit_stays_within_its_bounds(alike, high, best):
    """Of 2, 3, 4, 5, 6 less its residuals: the slope alone is fitted where a is at its bound."""
    t, data = np.arange(5.0), np.array([3.0, 3.0, 4.0, 5.0, 7.0])
    model, _ = model_of([0.0, 0.0], np.ones(5), data, high=[high, 9.0], unit=1.0)
    _, _, found = fitting._search(model, np.array([0.0, 0.0]), 1e-12, 50, True)
    slope = t @ (data - high) / (t @ t)
    assert found.x == pytest.approx([high, slope], abs=1e-6)
    assert found.x[0] <= high


@for_each("loss", [name for name in LOSSES if name != "linear"])
def test_a_robust_fit_has_the_least_loss(alike, loss):
    """Beside its values the loss is larger, which is that of residuals in units of the scale."""
    data = [1.0, 2.1, 2.9, 14.0, 5.05]
    model, _ = model_of([0.9, 1.1], 2 * np.ones(5), data, loss=loss, scale=0.5)
    start, _, found = fitting._search(model, np.array([0.9, 1.1]), 1e-13, 200, True)

    def cost(x):
        z = (2 * (x[0] + x[1] * np.arange(5) - data) / 0.5) ** 2
        return 0.5 * 0.5**2 * LOSSES[loss](z)[0].sum()

    assert start.cost == pytest.approx(cost(found.x), rel=1e-8)
    assert model.history[-1]["cost"] == pytest.approx(cost(found.x), rel=1e-6)
    for way in itertools.product((-1e-2, 0, 1e-2), repeat=2):
        assert cost(found.x) <= cost(found.x + way) + 1e-12


@for_each("first", [True, False])
def test_from_a_later_start_without_a_run_nothing_is_fitted(first):
    model, _ = model_of([1.0, 1.0], np.ones(3), [1.0, 2.0, 3.0], fails=lambda x: True)
    if first:
        with pytest.raises(ExplorerError, match="no run there"):
            fitting._search(model, np.array([1.0, 2.0]), 1e-9, 9, True)
        return
    start, same, found = fitting._search(model, np.array([1.0, 2.0]), 1e-9, 9, False)
    assert (found, same) == (None, model)
    assert (start.parameters, start.start) == ({"p": 1.0, "q": 2.0},) * 2
    assert (start.cost, start.success, start.message) == (np.inf, False, "no run there")


def test_a_fit_goes_round_where_there_is_no_run(alike):
    """A step into it is made shorter: its residuals are infinite."""
    model, _ = model_of(
        [8.0, 0.0], np.ones(4), [1.0, 2.0, 3.0, 4.0], fails=lambda x: abs(x[0] - 8) + abs(x[1]) > 1.5
        and x[1] < 0.5,
    )  # fmt: skip
    model.at(np.array([8.0, 0.0]))
    model.history.append({})
    assert model.residuals(np.array([1.0, 0.0])).tolist() == [np.inf] * 4


@for_each(("max_iter", "ok"), [(1, False), (50, True)])
def test_a_fit_that_may_not_go_on_says_so(alike, max_iter, ok):
    model, _ = model_of([4.0, -3.0], np.ones(4), [1.0, 2.0, 3.5, 4.0])
    start, _, _ = fitting._search(model, np.array([4.0, -3.0]), 1e-9, max_iter, True)
    assert start.success is ok
    assert start.message == (fitting._STATIONARY if ok else "stopped after max_iter = 1 runs")


def test_a_run_is_made_once_for_what_is_asked_of_it(alike, monkeypatch):
    model, _ = model_of([4.0, -3.0], np.ones(4), [1.0, 2.0, 3.5, 4.0])
    x = np.array([1.0, 2.0])
    model.residuals(x)
    model.jacobian(x)
    assert model.runs == 1
    x[0] = 3.0  # what is kept is no view of it
    assert model.residuals(x) == pytest.approx(3 + 2 * np.arange(4) - [1.0, 2.0, 3.5, 4.0])
    assert model.runs == 2
    put(monkeypatch, fitting._Model.jacobian, met=lambda run: ("hit", "rest"))
    model.jacobian(x)
    assert model.changes == [Change(1, ("hit",), ("hit", "rest"))]
    assert [row["events"] for row in model.history] == [1, 2]


# ---------------------------------------------------------------- losses


@for_each("loss", LOSSES)
def test_losses_are_those_of_their_formulas(loss):
    """With their first two derivatives, by differences; as their square where it is small."""
    rho = {
        "linear": lambda z: z, "soft_l1": lambda z: 2 * (np.sqrt(1 + z) - 1),
        "huber": lambda z: z if z <= 1 else 2 * np.sqrt(z) - 1,
        "cauchy": lambda z: np.log(1 + z), "arctan": np.arctan,
    }[loss]  # fmt: skip
    z, h = np.array([0.25, 0.9, 1.5, 4.0]), 1e-4
    value, first, second = check_loss(loss)(z)
    own = np.array([[rho(x + k * h) for x in z] for k in (-1, 0, 1)])
    np.testing.assert_allclose(value, own[1], rtol=1e-12)
    np.testing.assert_allclose(first, (own[2] - own[0]) / (2 * h), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(second, (own[2] - 2 * own[1] + own[0]) / h**2, rtol=1e-4, atol=1e-6)
    assert check_loss(loss)(np.array([1e-9]))[0][0] == pytest.approx(1e-9, rel=1e-6)


def test_huber_is_the_square_up_to_one():
    value, first, second = LOSSES["huber"](np.array([1.0, 1.0 + 1e-12]))
    assert value == pytest.approx([1.0, 1.0])
    assert first == pytest.approx([1.0, 1.0])
    assert second == pytest.approx([0.0, -0.5])


@for_each(
    ("loss", "scale", "sigma", "told"),
    [
        ("linear", None, None, 1.0), ("huber", None, 0.1, 1.0), ("huber", 2.5, None, 2.5),
        ("linear", 3, None, 3.0), ("huber", None, None, "needs a scale"), ("tukey", 1, 1, "no loss"),
        ("huber", 0.0, 1, "scale"), ("cauchy", -1.0, None, "scale"),
    ],
)  # fmt: skip
def test_a_robust_loss_needs_a_scale(loss, scale, sigma, told):
    if isinstance(told, float):
        assert checked_scale(loss, scale, sigma) == told
        return
    with pytest.raises(BadValue, match=told):
        checked_scale(loss, scale, sigma)
