"""Formulas that exist on one side of a switching function only: roots and their sign."""

from __future__ import annotations

import math

import numpy as np
import pytest

import explorer as ex


def down(**more):
    """x' = -1 - sqrt(x) down to 0 at t = 2 (1 - ln 2), x' = -2 below."""
    return ex.FilippovSystem(
        "root", x="x", c=["x"], S=[[1], [-1]], modes={"right": ["-1 - sqrt(x)"], "left": ["-2"]},
        start={"x": [1.0], "t_end": 1.0}, **more,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("scheme", "tol"),
    [
        (ex.FESD(h=0.01), 1e-4), (ex.FESD(h=0.01, representation="stewart"), 1e-4),
        (ex.EventDriven(), 1e-8),
    ],
)  # fmt: skip
def test_a_field_is_not_asked_for_beyond_its_side(scheme, tol):
    """The other side has no square root; the end is met in closed form."""
    end = 2 * (1 - math.log(2))
    sol = ex.simulate(down(), scheme)
    assert sol.events[0].t == pytest.approx(end, abs=tol)
    assert sol.x[-1, 0] == pytest.approx(-2 * (1 - end), abs=2 * tol)


def twisting(k1, k2, d=0.0, t_end=1.0):
    """Super-twisting: x' = -k1 sqrt|x| sgn x + v, v' = -k2 sgn x + d."""
    return ex.StepSystem(
        "super-twisting", x="x v", params={"k1": k1, "k2": k2, "d": d},
        f=["-k1*sqrt(abs(x))*sign(x) + v", "-k2*sign(x) + d"],
        start={"x": [1.0, 0.0], "t_end": t_end},
    )  # fmt: skip


def test_super_twisting_runs_and_says_where_it_has_converged():
    """Infinitely many crossings in finite time: between two the speed falls by one factor."""
    system = twisting(1.5, 1.1, t_end=10.0)
    runs = [ex.simulate(system, s, throw=False)
            for s in (ex.FESD(h=0.01, stages=2), ex.EventDriven())]  # fmt: skip
    for run in runs:
        assert "accumulate" in run.status.message
        assert np.abs(run.x[-1]).max() <= 1e-6
        v = np.array([e.x_minus[1] for e in run.events[:6]])
        assert (np.sign(v[1:]) == -np.sign(v[:-1])).all()
    v = np.array([e.x_minus[1] for e in runs[1].events[:5]])
    assert v[1:] / v[:-1] == pytest.approx(np.full(4, v[1] / v[0]), rel=0.01)
    assert runs[0].status.t == pytest.approx(runs[1].status.t, rel=0.02)


def test_both_schemes_cross_a_root_alike():
    """Up to before it converges."""
    runs = [ex.simulate(twisting(0.4, 1.5, d=0.3, t_end=4.0), s)
            for s in (ex.FESD(h=0.005, stages=3), ex.EventDriven(rtol=1e-10))]  # fmt: skip
    assert [e.to for e in runs[0].events] == [e.to for e in runs[1].events]
    assert runs[0].x[-1] == pytest.approx(runs[1].x[-1], abs=2e-3)


def test_a_root_that_vanishes_elsewhere_is_left_alone():
    """sqrt(x - 1) does not end where x does: without a value there is no number."""
    system = ex.FilippovSystem(
        "elsewhere", x="x", c=["x"], S=[[1], [-1]], modes={"right": ["-sqrt(x - 1)-1"], "left": ["-2"]},
        start={"x": [2.0], "t_end": 3.0},
    )  # fmt: skip
    assert not ex.simulate(system, ex.FESD(h=0.1), throw=False).status.ok
