"""A homotopy through the FESD equations finds what the marching finds, knowing no active set."""

from __future__ import annotations

import numpy as np
import pytest

import explorer as ex
from explorer.study.fesd_reference import _Interval

CASES = {
    "switched_oscillator": (0.1, 0.2, [0.83, 0.2], "radau_iia"),
    "stribeck_belt": (0.5, 0.5, None, "radau_iia"),
    "relay_feedback": (0.1, 0.1, [0.05, -1, 0.5], "radau_iia"),
    "three_blocks": (0.1, 0.3, None, "radau_iia"),
    "sliding_mode": (0.25, 0.25, [0.15], "lobatto_iiic"),
    "glass_network": (0.1, 0.2, None, "gauss"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_homotopy_agrees_with_the_marching(name):
    """Crossings and slides entered: states and lengths to 1e-8, each equation to 1e-10."""
    h, t_end, x0, tableau = CASES[name]
    scheme = ex.FESD(h=h, tableau=tableau)
    system = getattr(ex.models, name)()
    rho = {"w": 1, "z": 1, "b1": 0, "b2": 0, "b3": 1} if name == "relay_feedback" else {}
    sol = ex.simulate(system, scheme, t_end=t_end, x0=x0, rho=rho)
    assert len(sol.events) >= 1
    found = ex.study.fesd_reference(sol)
    assert found.difference <= 1e-8
    assert max(found.residual.values()) <= 1e-10
    assert np.abs(found.boundaries - sol.boundaries).max() <= 1e-8
    assert found.alpha == pytest.approx(sol.march.mult, abs=1e-8)
    assert max(sol.fesd_residual.values()) <= 1e-10


def test_what_it_takes():
    """Solutions of FESD in step form."""
    system = ex.models.switched_oscillator()
    with pytest.raises(ex.BadValue, match="FESD"):
        ex.study.fesd_reference(system)
    with pytest.raises(ex.NotApplicable, match="step"):
        ex.study.fesd_reference(ex.simulate(system, ex.FESD(representation="stewart")))


# -- the equations themselves --------------------------------------------------------------------


@pytest.fixture(scope="module")
def driven():
    """Return a run with two surfaces that move, and a flow that depends on time."""
    system = ex.StepSystem(
        "driven", x="x y",
        f=["y + cos(t)*sign(x - 0.3*sin(t))", "-x*y - 2*sign(y + 0.2*t*x)*(1 + t**2/4)"],
        start={"x": [0.1, 0.35], "t_end": 0.6},
    )  # fmt: skip
    return ex.simulate(system, ex.FESD(h=0.2))


def interval(run, count, left=None):
    """Return the equations of an interval of `count` elements from t = 0.13, x = (0.2, -0.3)."""
    return _Interval(run.march, np.array([0.2, -0.3]), 0.13, 0.2, count, left)


def moved(one):
    """Return an iterate whose entries have nothing in common."""
    rng = np.random.default_rng(5)
    return one.z * rng.uniform(0.8, 1.25, len(one.z)) + rng.uniform(-0.02, 0.02, len(one.z))


@pytest.mark.parametrize(("count", "left"), [(1, None), (2, None), (3, 0.2)])
def test_an_attempt_begins_with_the_sides_of_its_start(driven, count, left):
    """The larger lambda is that of the side, neither is zero, and alpha is the share of one."""
    one = interval(driven, count, left)
    _, alpha, lam_n, lam_p, h = one.split(one.z)
    c = driven.march.functions(np.array([0.13]), np.array([[0.2, -0.3]]))[0][0]
    assert (c > 0).any()
    assert (c < 0).any()
    assert min(lam_n.min(), lam_p.min()) > 0
    assert h.sum() == pytest.approx(0.2)
    for j, side in enumerate(c):
        near, far = (lam_n, lam_p) if side > 0 else (lam_p, lam_n)
        least = one.sigma * one.scale[j]
        assert near[..., j] == pytest.approx(least)
        assert far[..., j] == pytest.approx(max(abs(side), least))
    np.testing.assert_allclose(alpha, lam_p / (lam_n + lam_p))


@pytest.mark.parametrize(("count", "left"), [(1, None), (2, None), (3, 0.2)])
@pytest.mark.parametrize("sigma", [1.0, 0.1])
def test_the_derivative_of_the_equations_is_exact(driven, count, left, sigma):
    """The indicator of step equilibration is held: where lengths are equal it has no part."""
    one = interval(driven, count, left)
    z, held = moved(one), slice(len(one.z) - count, None)
    for even in (False, True):
        if even:
            z[held] = 0.07
        F, J = one.equations(z, sigma, True)
        assert not np.size(one.equations(z, sigma, False)[1])
        steps = 1e-6 * np.eye(len(z))
        twin = [
            (one.equations(z + d, sigma, False)[0] - one.equations(z - d, sigma, False)[0]) / 2e-6
            for d in steps
        ]
        rows = np.ones(len(F), bool)
        rows[-count:-1] = even
        assert J[rows] == pytest.approx(np.transpose(twin)[rows], rel=1e-6, abs=1e-5)


def test_lengths_begin_even_or_with_a_first_part(driven):
    assert interval(driven, 3).parts()[2] == pytest.approx([0.2 / 3] * 3)
    assert interval(driven, 3, 0.5).parts()[2] == pytest.approx([0.1, 0.05, 0.05])
    assert interval(driven, 2, 0.2).parts()[2] == pytest.approx([0.04, 0.16])
    assert interval(driven, 2, 0.2).sigma < 0.1 * interval(driven, 2).sigma  # closer to the end


def test_the_first_iterate_lies_on_the_smoothed_complementarity(driven):
    """At lambda_n alpha = lambda_p (1 - alpha) the pairs share one level."""
    one = interval(driven, 2)
    _, alpha, lam_n, lam_p, _ = one.split(one.z)
    assert lam_n * alpha == pytest.approx(lam_p * (1 - alpha))
    c = np.array([0.2 - 0.3 * np.sin(0.13), -0.3 + 0.2 * 0.13 * 0.2])
    assert one.before == pytest.approx(np.array([np.maximum(-c, 0), np.maximum(c, 0)]))


@pytest.mark.parametrize("count", [1, 3])
def test_every_violation_is_what_its_equation_says(driven, count):
    """Equations (14) to (19) at an iterate that is no solution, stage by stage."""
    one = interval(driven, count)
    one.z = moved(one)
    K, alpha, lam_n, lam_p, h = one.split(one.z)
    A, b, nodes = (getattr(driven.march.method, name) for name in ("A", "b", "c"))
    s = len(b)
    x, t = np.array([0.2, -0.3]), 0.13
    c = np.array([x[0] - 0.3 * np.sin(t), x[1] + 0.2 * t * x[0]])
    ends = [np.maximum(-c, 0), np.maximum(c, 0)]
    slopes, balance, own, cross, shares = [0.0], [0.0], [0.0], [0.0], []
    for e in range(count):
        for j in range(s):
            tj, xj = t + nodes[j] * h[e], x + h[e] * A[j] @ K[e]
            sign = 2 * alpha[e, j] - 1
            f = [xj[1] + np.cos(tj) * sign[0], -xj[0] * xj[1] - 2 * sign[1] * (1 + tj**2 / 4)]
            c = np.array([xj[0] - 0.3 * np.sin(tj), xj[1] + 0.2 * tj * xj[0]])
            slopes.append(np.abs(f - K[e, j]).max())
            balance.append(np.abs(c - lam_p[e, j] + lam_n[e, j]).max())
            for k in range(s):
                pairs = np.abs([lam_n[e, k] * alpha[e, j], lam_p[e, k] * (1 - alpha[e, j])]).max()
                (own if k == j else cross).append(pairs)
            pairs = np.abs([ends[0] * alpha[e, j], ends[1] * (1 - alpha[e, j])]).max()
            cross.append(pairs)
        ends = [lam_n[e, -1], lam_p[e, -1]]
        x, t = x + h[e] * b @ K[e], t + h[e]
        sums = [(lam_n[e].sum(0) / one.scale, alpha[e].sum(0)),
                (lam_p[e].sum(0) / one.scale, (1 - alpha[e]).sum(0))]  # fmt: skip
        shares.append([(p / (p + q), q / (p + q)) for p, q in sums])
    uneven = [0.0]
    for old, new, dh in zip(shares, shares[1:], np.diff(h), strict=False):
        eta = np.prod([p * p2 + q * q2 for (p, q), (p2, q2) in zip(old, new, strict=True)])
        uneven.append(abs(dh * eta))
    below = -min(alpha.min(), (1 - alpha).min(), lam_n.min(), lam_p.min())
    assert one.blocks() == pytest.approx({
        "collocation": max(slopes), "complementarity": max(*balance, *own, below),
        "cross": max(cross), "equilibration": max(uneven), "time": abs(h.sum() - 0.2),
    })  # fmt: skip
    assert one.parts()[0][-1] == pytest.approx(x)


@pytest.mark.parametrize(("part", "entry"), [("alpha", -0.2), ("alpha", 1.3), ("lambda", -3.0)])
def test_what_is_below_zero_violates_complementarity(driven, part, entry):
    one = interval(driven, 1)
    _, alpha, lam_n, lam_p, _ = one.split(one.z)
    lam_n[:], lam_p[:] = 0.0, 0.0
    alpha[:] = 0.5
    (alpha if part == "alpha" else lam_p)[0, 0, 0] = entry
    below = -entry if entry < 0 else entry - 1
    assert one.blocks()["complementarity"] >= below
    assert one.blocks()["collocation"] > 0


def test_the_difference_is_measured_in_states_and_boundaries():
    sol = ex.simulate(ex.models.switched_oscillator(), ex.FESD(h=0.1), t_end=0.2, x0=[0.83, 0.2])
    x, at = sol.march.states, sol.boundaries
    few = ex.study.fesd_reference(sol, intervals=1)
    assert 2 <= len(few.boundaries) < len(at)
    assert few.boundaries[-1] == pytest.approx(0.1, abs=1e-9)
    x[1, 0] += 2e-3
    assert ex.study.fesd_reference(sol).difference == pytest.approx(2e-3, rel=1e-4)
    at[1] -= 5e-3
    found = ex.study.fesd_reference(sol)
    assert found.difference == pytest.approx(5e-3, rel=1e-4)
    assert "difference 0.005" in repr(found)
