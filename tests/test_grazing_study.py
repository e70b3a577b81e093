"""Normal forms of grazing against closed forms of linear oscillators."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import sympy as sp
from scipy.linalg import expm

import explorer as ex
from explorer.study import continuation, grazing
from explorer.study.grazing import _fit

W, C = 0.8, 0.1  # forcing and damping; mass and stiffness are 1
Z = 1 / (1 - W**2 + 1j * C * W)  # x = Re(Z exp(i W t))
T = 2 * np.pi / W
A = np.array([[0.0, 1.0], [-1.0, -C]])
TOUCH = (-np.angle(Z) / W) % T  # x is largest, abs(Z); x'' = -W^2 abs(Z)


def forced(more, **params):
    """x'' = cos(W t) - C x' - x + more."""
    return ex.StepSystem(
        "forced", x="x v", params=params, f=["v", f"cos({W}*t) - {C}*v - x + {more}"],
        start={"x": [0, 0], "t_end": 100},
    )  # fmt: skip


@pytest.fixture(scope="module")
def impact():
    branch = continuation(
        ex.models.impact_oscillator(), parameter="s", period="2*pi/omega", direction="down",
        over=(2.5, 3), omega=W, s=2.8, c=C, e=0.8, guess=[2.6, 0.4],
    )  # fmt: skip
    return branch, grazing(branch)


def test_an_impact_is_a_square_root(impact):
    """Nordmark 1991: behind the touch the velocity jumps by (1 + e) sqrt(2 a d)."""
    _, found = impact
    a = W**2 * abs(Z)
    assert (found.kind, found.exponent, found.name) == ("impact", 0.5, "stop")
    assert found.parameter == pytest.approx(abs(Z), abs=1e-9)
    assert abs(found.parameter - abs(Z)) < 10 * found.error
    assert found.t == pytest.approx(TOUCH, abs=1e-6)
    assert found.touch == pytest.approx([abs(Z), 0], abs=1e-6)
    assert found.curvature == pytest.approx(a, rel=1e-5)
    assert found.monodromy == pytest.approx(expm(A * T), abs=1e-8)
    kick = np.array([0, -1.8 * np.sqrt(2 * a)])
    assert found.kick == pytest.approx(kick, rel=1e-3)
    assert found.coefficient == pytest.approx(expm(A * (T - TOUCH)) @ kick, rel=1e-3)
    # the depth is x(TOUCH) - s
    assert found.depth_by_parameter == pytest.approx(-1, abs=1e-9)
    assert found.depth_by_x == pytest.approx(expm(A * TOUCH)[0], abs=1e-6)


def test_runs_confirm_the_square_root(impact):
    _, found = impact
    assert found.fitted == pytest.approx(0.5, rel=0.03)
    assert abs(found.fitted - 0.5) <= max(3 * found.fitted_error, 1e-4)
    assert found.fitted_error < 0.01
    assert found.amplitude_ratio == pytest.approx(1, abs=0.02)
    assert found.ok
    assert "fitted 0.5" in repr(found)
    assert "confirmed" in repr(found)


def test_the_square_root_is_found_from_the_side_that_hits():
    """The branch of impacts ends at the same point; from there the side without them is sought."""
    branch = continuation(
        ex.models.impact_oscillator(), parameter="s", period="2*pi/omega", over=(0.5, 3),
        direction="up", omega=1.5, s=1.5, c=C, e=0.8, guess=[-0.6, 3],
    )  # fmt: skip
    found = grazing(branch)
    wanted = 1 / np.hypot(1 - 1.5**2, 1.5 * C)
    assert found.parameter == pytest.approx(wanted, abs=1e-8)
    assert found.ok
    assert found.kick == pytest.approx([0, -1.8 * np.sqrt(2 * 1.5**2 * wanted)], rel=1e-3)


@pytest.mark.parametrize("w", [0.8, 1.5])
def test_of_two_stops_that_are_touched_at_once_the_first_one_counts(w):
    """Half a period later, the kick moves the motion off the left stop if it is past its own half.

    That is sin(omega_0 pi / w) < 0 for w = 0.8; for w = 1.5 it drives into that stop.
    """
    system = ex.MechanicalSystem("two stops", q="x", units="m")
    (x,), (v,), t = system.q, system.v, system.t
    (d,) = system.params(d=ex.Param(2, 0.1, 5))
    system.mass, system.force = [[1]], [sp.cos(w * t) - x - C * v]
    system.contact(ex.Contact(gap=d - x, e=0.7, name="right"))
    system.contact(ex.Contact(gap=d + x, e=0.7, name="left"))
    free = 1 / (1 - w**2 + 1j * C * w)
    branch = continuation(
        system, parameter="d", period=2 * np.pi / w, over=(0.8 * abs(free), 1.2 * abs(free)),
        direction="down", d=1.1 * abs(free), guess=[free.real, -w * free.imag],
    )  # fmt: skip
    if w > 1:
        with pytest.raises(ex.NotApplicable, match="drives it into 'left'"):
            grazing(branch)
        return
    found = grazing(branch)
    assert (found.kind, found.name, found.exponent) == ("impact", "right", 0.5)
    assert found.parameter == pytest.approx(abs(free), abs=1e-9)
    kick = np.array([0, -1.7 * np.sqrt(2 * w**2 * abs(free))])
    after = expm(A * (2 * np.pi / w + np.angle(free) / w))
    assert found.coefficient == pytest.approx(after @ kick, rel=1e-4)
    assert found.ok


def test_an_elastic_stop_is_a_power_of_three_halves():
    """Z = -k int (x - s) dt = -k (4/3) d sqrt(2 d / a)."""
    branch = continuation(
        forced("- 3*max(x - s, 0)", s=ex.Param(2.8, 0, 4)), parameter="s", period=T,
        over=(2.6, 2.9), guess=[2.6, 0.4],
    )  # fmt: skip
    found = grazing(branch)
    a = W**2 * abs(Z)
    assert (found.kind, found.exponent) == ("continuous", 1.5)
    assert found.parameter == pytest.approx(abs(Z), abs=1e-8)
    kick = np.array([0, -3 * (4 / 3) * np.sqrt(2 / a)])
    assert found.kick == pytest.approx(kick, rel=1e-4)
    assert found.coefficient == pytest.approx(expm(A * (T - TOUCH)) @ kick, rel=1e-4)
    assert found.fitted == pytest.approx(1.5, rel=0.03)
    assert found.amplitude_ratio == pytest.approx(1, abs=0.02)
    assert found.ok


def test_a_slide_that_begins_by_grazing_is_linear():
    """Dry friction holds the speed at the belt's: the velocity is lower by d, Z = (0, -1)."""
    branch = continuation(
        forced("- 0.4*sign(v - vb)", vb=ex.Param(2.3, 0, 4)), parameter="vb", period=T,
        over=(2.12, 2.4), guess=[3.0, 0.4],
    )  # fmt: skip
    found = grazing(branch)
    assert (found.kind, found.exponent) == ("sliding", 1)
    assert found.parameter == pytest.approx(W * abs(Z), abs=1e-8)
    assert found.kick == pytest.approx([0, -1], abs=1e-6)
    assert found.fitted == pytest.approx(1, rel=0.03)
    assert found.amplitude_ratio == pytest.approx(1, abs=0.02)
    assert found.ok


@pytest.mark.parametrize("n", [0.5, 1.0, 1.5])
def test_the_fit_finds_the_exponent_below_the_next_term(n):
    offsets = np.geomspace(1e-7, 1e-5, 13)
    fitted, bar, amplitude = _fit(offsets, 3 * offsets**n * (1 + 20 * np.sqrt(offsets)))
    assert fitted == pytest.approx(n, abs=bar)
    assert bar < 0.03 * n
    assert amplitude == pytest.approx(3, rel=0.05)


def test_noise_widens_the_bar():
    offsets, random = np.geomspace(1e-7, 1e-5, 13), np.random.default_rng(1)
    bars = [_fit(offsets, offsets**0.5 * (1 + size * random.normal(size=13)))[1]
            for size in (1e-6, 1e-2)]  # fmt: skip
    assert bars[1] > 100 * bars[0]


def test_a_wrong_exponent_is_not_confirmed(impact):
    _, found = impact
    assert not dataclasses.replace(found, exponent=1.5).ok
    assert not dataclasses.replace(found, amplitude_ratio=1.2).ok
    assert "not confirmed" in repr(dataclasses.replace(found, exponent=1.5))


def test_what_does_not_graze_is_refused(impact):
    branch, _ = impact
    with pytest.raises(ex.ExplorerError, match="no point at which"):
        grazing(dataclasses.replace(branch, points=()))
    fold = dataclasses.replace(branch.points[0], kind="fold")
    with pytest.raises(ex.ExplorerError, match="does not graze at this point, a fold"):
        grazing(branch, fold)
    with pytest.raises(ex.ExplorerError, match="Give a branch from"):
        grazing("branch")
    system = ex.HybridSystem(
        "fold", x="x", params={"m": 0.3}, modes={"on": ["m - x**2"]}, start={"x": [0.5]}
    )
    with pytest.raises(ex.ExplorerError, match="Equilibria and maps do not graze"):
        grazing(continuation(system, parameter="m", over=(0.1, 0.5)))


def preloaded(p):
    """Return x'' + c x' + x + p [x > 0] = F cos(w t) - 1/2, which touches x = 0 from below."""
    system = ex.StepSystem("preloaded", x="x v")
    (x, v), t = system.x, system.t
    (F,) = system.params(F=ex.Param(0.1, 0.01, 2))
    side = system.switch(x, name="side")
    system.f = [v, F * sp.cos(0.7 * t) - x - 0.1 * v - sp.Rational(1, 2) - p * side]
    system.start(x=[-0.5, 0], t_end=50)
    return continuation(
        system, parameter="F", period=2 * np.pi / 0.7, over=(0.05, 0.4), guess=[-0.4, 0], step=0.05
    )


@pytest.mark.parametrize("p", [0.6, -0.2])
def test_a_preloaded_spring_has_a_square_root(p):
    """The forces differ on the surface, and both turn the motion back: with p = -0.2 later."""
    branch = preloaded(p)
    form = grazing(branch, branch.found("grazing")[0])
    touch = 0.5 * abs(1 - 0.7**2 + 0.07j)
    assert form.parameter == pytest.approx(touch, abs=1e-8)
    assert (form.kind, form.exponent) == ("discontinuous", 0.5)
    assert form.ok
    # without any derivative: one period from the state of the linear motion
    moved = []
    for more in (0, 3e-8):  # F - touch is one, then four times as large
        F = touch + 1e-8 + more
        start = F / (1 - 0.7**2 + 0.07j)
        x0 = np.array([start.real - 0.5, (0.7j * start).real])
        run = ex.simulate(
            branch.system, ex.EventDriven(rtol=1e-12, atol=1e-14), F=F, x0=x0, t_end=2 * np.pi / 0.7
        )
        moved.append(np.linalg.norm(run.x[-1] - x0))
    assert moved[1] / moved[0] == pytest.approx(2, rel=0.02)


def test_a_field_that_carries_away_has_no_normal_form():
    branch = preloaded(-0.8)
    with pytest.raises(ex.NotApplicable, match="carries the state away at once"):
        grazing(branch, branch.found("grazing")[0])
