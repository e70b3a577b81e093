"""Curves of every kind of bifurcation over two parameters, against closed forms."""

from __future__ import annotations

import pytest
from test_continuation import RELAY, half, relay
from test_grazing_study import T, W, Z, forced

import explorer as ex
from explorer.study import bifurcation_curve, continuation


def followed(branch, parameter, over, kind, step=0.1):
    """Return both parameters of a curve of one kind, from end to end of the range."""
    (point, *_) = branch.found(kind)
    curve = bifurcation_curve(branch, parameter, over, point=point, step=step)
    assert curve.kind == kind
    assert curve.residual.max() < 1e-8
    assert curve.ends == ("end of the range", "end of the range")
    assert (curve.values[0, 1], curve.values[-1, 1]) == pytest.approx(over, abs=1e-9)
    return curve.values.T


# -- maps -----------------------------------------------------------------------------------------


def plane(**values):
    """Return the normal form in the plane, at its fixed point for x > 0."""
    border = ex.MapSystem(
        "plane", x="x y",
        params={"tl": 0.5, "dl": 0.4, "tr": -0.5, "dr": 0.35, "mu": 1.0, "k": 0.0} | values,
    )  # fmt: skip
    border.branch("L", ["k + tl*(x - k) + y + mu", "-dl*(x - k)"], when="k - x")
    border.branch("R", ["k + tr*(x - k) + y + mu", "-dr*(x - k)"])
    border.start(x=[0.5, -0.2])
    return border


def test_flips_of_a_map():
    branch = continuation(plane(), parameter="tr", over=(-2, 0.5))
    tr, dr = followed(branch, "dr", (0.1, 0.9), "flip")
    assert tr == pytest.approx(-1 - dr, abs=1e-9)


def test_curves_of_a_map_are_drawn():
    branch = continuation(plane(mu=1.0), parameter="mu", over=(-1, 2))
    picture = ex.views.bifurcation_curves.picture(bifurcation_curve(branch, "k", (-0.5, 0.5)))
    names = [trace["name"] for trace in picture.data]
    assert names == ["border collision", "border collision of the branch"]
    assert picture.data[0]["line"]["dash"] == "dot"


def test_neimark_sacker_of_a_map_ends_where_its_multipliers_are_real():
    branch = continuation(plane(tr=-0.3, dr=0.6), parameter="dr", over=(0.2, 1.6))
    curve = bifurcation_curve(branch, "tr", (-2.5, 1), step=0.1)
    dr, tr = curve.values.T
    assert dr == pytest.approx(1, abs=1e-9)
    assert curve.ends == ("the pair of multipliers becomes real", "end of the range")
    assert -2 < tr.min() < -1.9
    assert "BifurcationCurve of Neimark-Sacker bifurcations" in repr(curve)


def test_folds_of_a_map():
    """x = a + b x - x^2 has a double root at a = -(b - 1)^2 / 4."""
    parabola = ex.MapSystem("parabola", x="x", params={"a": 0.3, "b": 1.2}, f=["a + b*x - x**2"])
    parabola.start(x=[0.6])
    branch = continuation(parabola, parameter="a", over=(-1, 1))
    a, b = followed(branch, "b", (0.5, 2.0), "fold")
    assert a == pytest.approx(-((b - 1) ** 2) / 4, abs=1e-8)


@pytest.mark.parametrize("mu", [-0.5, 1.0])
def test_border_collisions_of_a_map(mu):
    """The fixed point x = k + (mu - y ...) meets x = k where y = 0 and mu = 0, from either side."""
    branch = continuation(plane(mu=mu), parameter="mu", over=(-1, 2))
    at, k = followed(branch, "k", (-0.5, 0.5), "border collision")
    assert at == pytest.approx(0 * k, abs=1e-9)


def test_a_border_collision_is_followed_where_one_branch_has_no_slope():
    branch = continuation(
        ex.models.square_root_map(), parameter="mu", over=(-0.1, 0.5), mu=0.3, lam=0.5, guess=[0.08]
    )
    mu, _ = followed(branch, "lam", (0.1, 0.9), "border collision")
    assert mu == pytest.approx(0 * mu, abs=1e-9)


# -- equilibria -----------------------------------------------------------------------------------


def at_rest(f, x, c=(), **params):
    system = ex.StepSystem("rest", x="x y", c=c, params=params, f=f)
    system.start(x=x)
    return continuation(system, parameter="m", over=(-1, 1))


def test_a_bifurcation_at_a_point_of_the_branch_is_found():
    """Steps of 0.04 from -1/2 come to m = 0 exactly, where the test function is 0."""
    branch = at_rest(["y", "m*y - k*x - x**2*y"], [0.0, 0.0], m=-0.5, k=1.0)
    (hopf,) = branch.found("Hopf")
    assert hopf.parameter == pytest.approx(0, abs=1e-9)
    m, _ = followed(branch, "k", (0.1, 3.0), "Hopf")
    assert m == pytest.approx(0 * m, abs=1e-9)


def test_folds_of_equilibria():
    branch = at_rest(["m + k*x - x**2", "-y"], [1.4, 0.0], m=0.5, k=1.0)
    m, k = followed(branch, "k", (0.2, 1.9), "fold")
    assert m == pytest.approx(-(k**2) / 4, abs=1e-7)


def test_boundary_equilibria():
    """x = m for x < k; the surface is reached at m = k, and left at m = k + 0.3."""
    branch = at_rest(["m - x - 0.3*alpha_1", "-y"], [-0.5, 0.0], ["x - k"], m=-0.5, k=0.2)
    reached, left = branch.found("boundary")
    assert (reached.parameter, left.parameter) == pytest.approx((0.2, 0.5), abs=1e-9)
    for point, beyond in ((reached, 0.0), (left, 0.3)):
        curve = bifurcation_curve(branch, "k", (-0.3, 0.5), point=point, step=0.1)
        m, k = curve.values.T
        assert m == pytest.approx(k + beyond, abs=1e-9)


# -- cycles ---------------------------------------------------------------------------------------


def test_grazing_impacts():
    """The free response |1 / (1 - omega^2 + i c omega)| reaches the stop."""
    branch = continuation(
        ex.models.impact_oscillator(), parameter="s", period="2*pi/omega", direction="down",
        over=(2, 3.5), omega=0.8, s=2.9, c=0.1, guess=[0, 0],
    )  # fmt: skip
    before = branch.problem.rho.copy()
    s, omega = followed(branch, "omega", (0.78, 0.82), "grazing", step=1)
    assert s == pytest.approx(1 / abs(1 - omega**2 + 0.1j * omega), abs=1e-8)
    assert (branch.problem.rho == before).all()


def test_slides_that_begin_by_grazing():
    """Another stiffness: the largest speed omega |Z| reaches the belt's."""
    system = forced("- 0.4*sign(v - vb) - k*x", vb=ex.Param(2.3, 0, 4), k=ex.Param(0.0, -1, 1))
    branch = continuation(system, parameter="vb", period=T, over=(2.05, 2.4), guess=[3.0, 0.4])
    vb, k = followed(branch, "k", (-0.02, 0.02), "sliding", step=1)
    here = W / abs(1 / Z + k)
    assert vb == pytest.approx(here, abs=1e-7)


def test_corners():
    two = ex.MechanicalSystem(
        "two", q="x y", mass=[[1, 0], [0, 1]],
        params={"s1": ex.Param(0.45, -1, 1), "s2": ex.Param(0.5, 0, 1)},
        force=["cos(1.5*t) - x - v_x/10", "cos(1.5*t) - y - v_y/10"],
        contacts=[ex.Contact("s1 - x", e=0.8, name="a"), ex.Contact("s2 - y", e=0.8, name="b")],
        start={"q": [-1, -1], "t_end": 10},
    )  # fmt: skip
    branch = continuation(
        two, parameter="s1", period="2*pi/1.5", over=(0.44, 0.54), guess=[-0.1, -0.1, 2.2, 2.2]
    )
    s1, s2 = followed(branch, "s2", (0.49, 0.51), "corner", step=1)
    assert s1 == pytest.approx(s2, abs=1e-8)


def test_neimark_sacker_of_a_cycle():
    """x -> r x (1 - a x_before) at the ticks of a clock: |mu| = 1 at r = 2, for any a."""
    delayed = ex.HybridSystem(
        "delayed", x="x y tau", params={"r": ex.Param(1.9, 1.2, 2.3), "a": ex.Param(1.0, 0.5, 2)},
        modes={"on": ["0", "0", "1"]}, start={"x": [0.5, 0.5, 0], "t_end": 5},
        guards=[{"mode": "on", "r": "tau - 1", "direction": 1, "to": "on", "name": "tick",
                 "reset": ["r*x*(1 - a*y)", "x", "0"]}],
    )  # fmt: skip
    branch = continuation(delayed, parameter="r", section="tick", over=(1.8, 2.2))
    r, _ = followed(branch, "a", (0.9, 1.1), "Neimark-Sacker", step=0.3)
    assert r == pytest.approx(2, abs=1e-7)


def test_slides_that_begin_behind_a_crossing(monkeypatch):
    """There x1' = (A x)_1 - b1 by the other field falls to zero; the slide grows from length 0."""
    branch = continuation(
        ex.models.relay_feedback(), parameter="b1", section="relay", count=2, over=(0, 0.2),
        b1=0, direction="up", step=0.3, **RELAY,
    )  # fmt: skip
    b1, s = followed(branch, "s", (0.99, 1.01), "sliding", step=1)
    for b, own in zip(b1, s, strict=True):
        A, _ = relay(s=own, b1=b)
        assert abs((A @ half(s=own, b1=b)[1])[0]) - b == pytest.approx(0, abs=1e-7)
    monkeypatch.setattr("explorer.study.curve_problems._CLOSE", 0.0)
    with pytest.raises(ex.NotApplicable, match="neither a touch nor two events at one time"):
        bifurcation_curve(branch, "s", (0.99, 1.01), point=branch.found("sliding")[0])
