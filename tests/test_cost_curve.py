"""psi over one parameter: jumps and kinks of pieces that are known, and of a bouncing ball."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from loops import for_each

import explorer as ex
from explorer.derivatives.question import ask
from explorer.optimise.cost_curve import cost_curve

GRID = np.linspace(0, 1, 5)
EDGE = 0.25 + 0.25 / np.pi


@pytest.fixture
def curve(monkeypatch):
    """Return the curve of given functions: psi, and what the run meets."""

    def drawn(psi, events=lambda x: x >= EDGE, values=GRID, runs=60):
        def at(self, x):
            return self.found.setdefault(x, (float(psi(x)), events(x)))

        monkeypatch.setattr("explorer.optimise.cost_curve._Curve.at", at)
        return cost_curve(SimpleNamespace(places=(0,)), 0, values, runs)

    return drawn


def pieces(left, right, jump=0.0, edge=EDGE):
    """Return psi with a slope on each side of the edge, and a jump there."""
    return lambda x: left * (x - edge) if x < edge else right * (x - edge) + jump


@pytest.mark.parametrize(("first", "width"), [(0, 1), (2, 0.5)])
def test_a_jump_is_bisected_and_breaks_the_curve(curve, first, width):
    values, edge = first + width * GRID, first + width * EDGE
    psi = pieces(1.0, 2.0, 0.7, edge)
    rho, drawn, (found,) = curve(psi, lambda x: x >= edge, values)
    (k,) = np.flatnonzero(np.isnan(rho))
    assert rho[k - 1] < edge <= rho[k + 1]
    assert 0 < rho[k + 1] - rho[k - 1] <= 1e-5 * width
    assert len(rho) == 5 + 15 + 1  # 2^-15 / 4 is below 1e-5
    there = np.flatnonzero(~np.isnan(rho))
    assert (np.diff(rho[there]) > 0).all()
    assert set(values) <= set(rho[there])
    assert drawn[there].tolist() == [psi(x) for x in rho[there]]
    assert np.isnan(drawn[k])
    assert found.kind == "jump"
    assert found.value == 0.5 * (rho[k - 1] + rho[k + 1])
    assert (found.left, found.right) == (psi(rho[k - 1]), psi(rho[k + 1]))


def test_a_kink_is_marked_and_does_not_break_the_curve(curve):
    psi = pieces(-1.0, 2.0)
    rho, drawn, (found,) = curve(psi)
    k = int(np.searchsorted(rho, EDGE))
    assert (found.left, found.right) == (psi(rho[k - 1]), psi(rho[k]))
    assert np.isfinite(rho).all()
    assert np.isfinite(drawn).all()
    assert found.kind == "kink"
    assert found.value == pytest.approx(EDGE, abs=1e-5)
    assert (found.left, found.right) == pytest.approx((0, 0), abs=2e-5)


@pytest.mark.parametrize(
    ("left", "right", "jump", "kinds"),
    [
        (1, 1, 0, []),  # the events change, psi does not notice
        (1, 0.97, 0, []),
        (0.97, 1, 0, []),
        (1, 0.9, 0, ["kink"]),
        (-0.9, -1, 0, ["kink"]),
        (1, 1, 0.005, []),
        (1, 1, -0.005, []),
        (1, 1, 0.02, ["jump"]),
        (1, 1, -0.02, ["jump"]),
        (0, 0, 1, ["jump"]),
        (0, 0, 0, []),
    ],
)
def test_what_counts_as_a_break(curve, left, right, jump, kinds):
    assert [b.kind for b in curve(pieces(left, right, jump)).breaks] == kinds


@for_each("k", [0, 1, 2, 3])
@for_each(("left", "right"), [(1, 0.1), (0.1, 1), (-1, 0.1), (0.1, -1), (1, 1)])
def test_without_bisection_a_jump_is_ten_times_what_the_slopes_explain(curve, k, left, right):
    """At either end of the range only one slope is known."""
    edge = GRID[k] + 0.1
    steep = max(abs(s) for s in ([right] if k == 0 else [left] if k == 3 else [left, right]))
    for share, kinds in ((0.9, []), (1.1, ["jump"])):
        psi = pieces(left, right, edge=edge)
        smooth = psi(GRID[k + 1]) - psi(GRID[k])
        for step in (10 * steep * 0.25 * share, -10 * steep * 0.25 * share):
            moved = pieces(left, right, step - smooth, edge)
            rho, _, breaks = curve(moved, lambda x, edge=edge: x >= edge, runs=0)
            assert [b.kind for b in breaks] == kinds
            assert len(rho) == 5 + len(kinds)
            if kinds:
                assert breaks[0].value == GRID[k] + 0.125


def test_runs_go_first_to_where_psi_differs_most(curve):
    def psi(x):
        return 1.0 * (x > 0.1) + 5.0 * (x > 0.6)

    def events(x):
        return (x > 0.1) + (x > 0.6)

    rho, _, breaks = curve(psi, events, runs=3)
    more = sorted({*rho[np.isfinite(rho)]} - {*GRID})
    assert more == [0.5625, 0.59375, 0.625]
    assert [b.kind for b in breaks] == ["jump", "jump"]


def test_where_no_run_exists_the_curve_ends(curve):
    """What differs from no run is bisected too, after what has a size."""

    def psi(x):
        return x + (x > 0.1) if x < 0.6 else np.nan

    def events(x):
        return x > 0.1 if x < 0.6 else None

    rho, drawn, (found,) = curve(psi, events)
    assert found.kind == "jump"
    ends = rho[np.isfinite(drawn)].max()
    assert 0.6 - 1e-5 <= ends < 0.6
    assert np.isnan(drawn[rho > ends]).all()
    some = curve(psi, events, runs=2).rho
    assert all(x < 0.25 for x in {*some[np.isfinite(some)]} - {*GRID})


def test_a_run_that_never_succeeds_has_no_curve(curve):
    rho, psi, breaks = curve(lambda x: np.nan, lambda x: None)
    assert rho.tolist() == GRID.tolist()
    assert np.isnan(psi).all()
    assert breaks == ()


# -- a ball that is dropped from y0 and looked at when t = T: it has landed if y0 < g T^2 / 2 ------

T, G, E = 0.4, 9.81, 0.6


def question(cost, until=None):
    ball = ex.models.bouncing_ball()
    given = None if until else T
    return ask(ball, None, ("y0",), {"w": cost}, given, until, None, {"y0": 1.0, "e": E, "g": G})


def closed(y0):
    """Return height and velocity at T."""
    hit = np.sqrt(2 * y0 / G)
    if hit > T:
        return y0 - G * T**2 / 2, -G * T
    up = E * G * hit
    return up * (T - hit) - G * (T - hit) ** 2 / 2, up - G * (T - hit)


@pytest.mark.parametrize(("cost", "k", "kind"), [("y", 0, "kink"), ("v_y", 1, "jump")])
def test_a_ball_that_just_lands(cost, k, kind):
    values = np.linspace(0.5, 1.1, 4)
    rho, psi, (found,) = cost_curve(question(cost), 0, values)
    there = np.isfinite(rho)
    assert psi[there] == pytest.approx([closed(y0)[k] for y0 in rho[there]], abs=1e-6)
    assert there.all() == (kind == "kink")
    assert found.kind == kind
    assert found.value == pytest.approx(G * T**2 / 2, abs=1e-5)
    limits = (0, 0) if kind == "kink" else (E * G * T, -G * T)
    assert (found.left, found.right) == pytest.approx(limits, abs=1e-4)


def test_a_ball_that_does_not_land_in_time_has_no_run():
    asked = ask(ex.models.bouncing_ball(), None, ("y0",), {"w": "t"}, T, "floor", None,
                {"y0": 0.5, "g": G})  # fmt: skip
    rho, psi, breaks = cost_curve(asked, 0, np.array([0.5, 0.7, 0.9]), 4)
    assert breaks == ()
    ran = np.isfinite(psi)
    assert ran.tolist() == (rho < G * T**2 / 2).tolist()
    assert psi[ran] == pytest.approx(np.sqrt(2 * rho[ran] / G), rel=1e-8)
    assert len(rho) == 3 + 4
