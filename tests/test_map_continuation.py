"""Branches of fixed points and cycles of maps against closed forms: all points, all bifurcations."""

from __future__ import annotations

import numpy as np
import pytest

import explorer as ex
from explorer.study import continuation

AT = 1e-7  # of the parameter, where a bifurcation is located


def quadratic():
    """Return x -> mu - x^2."""
    system = ex.MapSystem(
        "quadratic", x="x", params={"mu": ex.Param(0.5, -0.5, 2)}, f=["mu - x**2"]
    )
    system.start(x=[0.1])
    return system


def only(branch, kind):
    """Return where a branch has its one point of a kind."""
    (point,) = branch.found(kind)
    assert abs(point.error) < AT
    return point.parameter


def largest(branch):
    """Return the largest state of each cycle."""
    return np.nanmax(branch.returns[:, :, 0], axis=1)


def test_fixed_points_of_a_parabola_fold_and_flip_where_they_must():
    """x = (sqrt(1 + 4 mu) - 1) / 2 with the multiplier -2 x, and the other root behind the fold."""
    branch = continuation(quadratic(), parameter="mu", mu=0.5)
    x, mu = branch.x[:, 0], branch.values
    np.testing.assert_allclose(x**2 + x, mu, atol=1e-8)
    np.testing.assert_allclose(branch.multipliers[:, 0].real, -2 * x, atol=1e-8)
    assert only(branch, "fold") == pytest.approx(-0.25, abs=AT)
    assert only(branch, "flip") == pytest.approx(0.75, abs=AT)
    assert (branch.stable == (np.abs(2 * x) < 1)).all()
    assert (x < -0.5).any()
    assert (branch.period == 1).all()


def test_a_flip_of_a_map_leads_to_the_doubled_cycle():
    """x^2 - x + 1 - mu = 0 has both points; its multiplier is 4 (1 - mu)."""
    branch = continuation(quadratic(), parameter="mu", mu=0.5).switch()
    both = branch.returns[:, :, 0]
    np.testing.assert_allclose(both.sum(axis=1), 1, atol=1e-7)
    np.testing.assert_allclose(both.prod(axis=1), 1 - branch.values, atol=1e-7)
    np.testing.assert_allclose(branch.multipliers[:, 0].real, 4 * (1 - branch.values), atol=1e-6)
    assert only(branch, "flip") == pytest.approx(1.25, abs=AT)
    assert (branch.period == 2).all()
    again = branch.switch()
    assert only(again, "flip") == pytest.approx(1.3680989394, abs=AT)  # Feigenbaum's second


def test_a_map_of_the_plane_loses_stability_in_a_pair():
    """The delayed logistic map: x = 1 - 1 / mu, mu^2 - mu + mu - 1 = 0 at |multipliers| = 1."""
    system = ex.MapSystem(
        "delayed", x="x y", params={"mu": ex.Param(1.5, 1.2, 3)}, f=["mu*x*(1 - y)", "x"]
    )
    system.start(x=[0.3, 0.3])
    branch = continuation(system, parameter="mu", mu=1.5)
    np.testing.assert_allclose(branch.x, (1 - 1 / branch.values)[:, None] * [1, 1], atol=1e-8)
    assert only(branch, "Neimark-Sacker") == pytest.approx(2, abs=AT)


def test_cycles_of_the_tent_map_are_those_of_its_slopes():
    tent = ex.models.tent_map()
    given = {"parameter": "mu", "mu": 1.8, "over": (1.05, 2.2)}
    fixed = continuation(tent, guess=[0.6], **given)
    np.testing.assert_allclose(fixed.x[:, 0], fixed.values / (1 + fixed.values), atol=1e-8)
    np.testing.assert_allclose(fixed.multipliers[:, 0], -fixed.values, atol=1e-12)
    assert not fixed.points
    assert not fixed.stable.any()
    mu = 1.8
    two = continuation(tent, guess=[mu / (1 + mu**2)], count=2, **{**given, "over": (0.9, 2.2)})
    mu = two.values
    np.testing.assert_allclose(largest(two), mu**2 / (1 + mu**2), atol=1e-8)
    assert only(two, "border collision") == pytest.approx(1, abs=AT)
    assert "border collision" in two.ends[0]


@pytest.mark.parametrize("b", [-4.0, 2.0])
def test_a_border_collision_goes_on_or_turns_back(b):
    """mu / (1 - a) on the left, mu / (1 - b) on the right: persistence, or a nonsmooth fold."""
    a = 0.4
    branch = continuation(ex.models.border_collision(), parameter="mu", mu=-0.8, guess=[-1], b=b)
    assert only(branch, "border collision") == pytest.approx(0, abs=1e-9)
    (point,) = branch.points
    assert point.name == "left"
    x, mu = branch.x[:, 0], branch.values
    np.testing.assert_allclose(x, np.where(x < 0, mu / (1 - a), mu / (1 - b)), atol=1e-8)
    right = x > 0
    assert right.any()
    assert (mu[right] > 0).all() == (b < 1)
    np.testing.assert_allclose(branch.multipliers[right, 0].real, b)
    assert len({*branch.piece[right]}) == 1
    assert abs(mu[right]).max() > 0.9  # to the end of the range


def test_the_cycle_of_three_begins_at_its_border_and_flips():
    """mu (1 + a + a^2) / (1 - a^2 b); its point a x1 + 1 meets the corner at a = 0.4 = -1/x1."""
    b = -3.5
    branch = continuation(ex.models.border_collision(), parameter="a", a=0.45, b=b, count=3)
    a = branch.values[np.array([s.count(("branch", "right")) == 1 for s in branch.sequences])]
    cycles = largest(branch)[-len(a) :]
    np.testing.assert_allclose(cycles, (1 + a + a**2) / (1 - a**2 * b), atol=1e-8)
    assert only(branch, "border collision") == pytest.approx(0.4, abs=AT)
    assert only(branch, "flip") == pytest.approx((-1 / b) ** 0.5, abs=AT)


@pytest.mark.parametrize(("m", "lam"), [(1, 0.15), (2, 0.15), (3, 0.1)])
def test_a_cycle_with_one_impact_flips_where_its_slope_says(m, lam):
    """s^2 + lam^(m-1) s = mu (1 - lam^m) / (1 - lam), multiplier -lam^(m-1) / (2 s)."""

    def of(s):
        return (s**2 + lam ** (m - 1) * s) * (1 - lam) / (1 - lam**m)

    flip = of(lam ** (m - 1) / 2)
    start = 1.3 * flip
    s = np.roots([1, lam ** (m - 1), -start * (1 - lam**m) / (1 - lam)]).max()
    branch = continuation(
        ex.models.square_root_map(), parameter="mu", mu=start, lam=lam, count=m, guess=[s**2],
        over=(0.0, 1.4 * flip), direction="down",
    )  # fmt: skip
    assert only(branch, "flip") == pytest.approx(flip, rel=AT)
    hit = np.array([("branch", "impact") in s for s in branch.sequences])
    s = largest(branch)[hit] ** 0.5
    np.testing.assert_allclose(of(s), branch.values[hit], atol=1e-8)
    many = s > 1e-3
    slope = -(lam ** (m - 1)) / (2 * s[many])
    np.testing.assert_allclose(branch.multipliers[hit][many, 0].real, slope, rtol=1e-5)
    assert any(abs(p.parameter) < AT for p in branch.found("border collision"))


def test_a_grazing_fixed_point_goes_on_with_an_infinite_slope():
    """From mu / (1 - lam) < 0 through x = 0, where sqrt(x) begins, to s^2 + s = mu."""
    branch = continuation(ex.models.square_root_map(), parameter="mu", mu=-0.05, guess=[-0.2])
    assert only(branch, "border collision") == pytest.approx(0, abs=1e-9)
    x, mu = branch.x[:, 0], branch.values
    hit = x > 0
    np.testing.assert_allclose(x[hit] + x[hit] ** 0.5, mu[hit], atol=1e-8)
    np.testing.assert_allclose(x[~hit], mu[~hit] / 0.2, atol=1e-8)
    assert not branch.stable[hit].any()
    assert branch.stable[~hit].all()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"section": "left"}, "is a map and has no section"),
        ({"period": 1.0}, "is a map and has no section"),
        ({"count": 0}, "whole number of at least 1"),
        ({"guess": [1.0, 2.0]}, "needs 1 numbers"),
        ({"guess": {"z": 1.0}}, "no state 'z'"),
        ({"guess": {"x": 1e13}}, "no finite"),
    ],
)
def test_a_wrong_question_about_a_map_is_refused(given, words):
    with pytest.raises(ex.ExplorerError, match=words):
        continuation(ex.models.border_collision(), parameter="mu", **given)


def test_an_orbit_that_escapes_is_no_guess():
    with pytest.raises(ex.BadValue, match="escapes at iterate"):
        continuation(ex.models.tent_map(), parameter="mu", mu=2.2, guess=[5.0], count=80)


def test_what_a_branch_of_a_map_does_not_have_is_refused():
    branch = continuation(quadratic(), parameter="mu", mu=0.5, over=(0.0, 0.6))
    with pytest.raises(ex.BadValue, match="flip of this branch"):
        branch.switch()
    with pytest.raises(ex.NotApplicable, match="maps do not graze"):
        ex.study.grazing(branch)
    with pytest.raises(ex.BadValue, match="no bifurcation that a second parameter"):
        ex.study.bifurcation_curve(branch, "mu")


def test_a_branch_of_a_map_is_drawn():
    branch = continuation(ex.models.border_collision(), parameter="mu", mu=-0.8, guess=[-1])
    drawn = ex.views.continuation(branch)
    x = np.concatenate([np.asarray(trace.x, float) for trace in drawn.data if trace.x is not None])
    assert np.nanmin(x) == pytest.approx(-1)
    assert np.nanmax(x) == pytest.approx(1)


def test_a_branch_that_goes_to_infinity_ends_with_where():
    """x = mu / (1 - a); a step grows with the state, and what is far away is not kept."""
    system = ex.models.border_collision()
    branch = continuation(system, parameter="a", a=0.5, mu=-0.8, over=(0, 2), guess=[-1.0])
    assert branch.ends == ("end of the range", "it goes to infinity, as the parameter comes to 1")
    np.testing.assert_allclose(branch.x[:, 0], -0.8 / (1 - branch.values), rtol=1e-7)
    assert len(branch) < 400
    assert np.abs(branch.x).max() < 100


def test_a_high_peak_is_no_infinity():
    """x = 1 / ((m - 1/2)^2 + 1e-2) is 25 times as large as at the first point, and comes back."""
    system = ex.MapSystem(
        "peak", x="x", params={"m": ex.Param(0.0, 0, 1)}, f=["0.5*x + 0.5/((m - 1/2)**2 + 1e-2)"]
    )
    system.start(x=[4])
    branch = continuation(system, parameter="m", m=0.0, direction="up", step=0.05)
    assert branch.x.max() > 95
    assert branch.x[:, 0] == pytest.approx(1 / ((branch.values - 0.5) ** 2 + 1e-2), rel=1e-7)
    assert branch.ends[1] == "end of the range"
