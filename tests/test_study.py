"""Limit cycles against published gaits and closed forms; the square root of grazing."""

from __future__ import annotations

import inspect
from types import SimpleNamespace

import numpy as np
import pytest
from loops import for_each
from scipy.optimize import brentq

import explorer as ex
from explorer.study import limit_cycle, power_law, studies
from explorer.study.limit_cycle import _multipliers, _solved
from explorer.study.return_map import Return, ReturnMap

ENERGY = "m*(v_x**2 + v_y**2)/2 + m*g*y"


def close(system, key, value):
    """Compare with what the model's file says was published."""
    wanted, tolerance, _ = system.published[key]
    assert value == pytest.approx(wanted, abs=tolerance)


# -- published cycles ----------------------------------------------------------------------------


def test_the_simplest_walker_has_the_published_gait():
    walker = ex.models.simplest_walker()
    cycle = limit_cycle(walker, section="heel strike", theta0=0.202, rate0=-0.201)
    assert cycle.x[0] == pytest.approx(0.2003109, abs=1e-7)
    assert cycle.x[2] == pytest.approx(-0.1998325, abs=1e-7)
    assert cycle.period == pytest.approx(3.882464, abs=1e-6)
    pair = cycle.multipliers[:2]
    assert np.sort_complex(pair) == pytest.approx([-0.1901 - 0.5576j, -0.1901 + 0.5576j], abs=1e-4)
    # the swing leg's two numbers follow from the stance leg's: a second zero, beside the flow's
    assert abs(cycle.multipliers[2]) < 1e-7
    assert np.abs(cycle.trivial) == pytest.approx([0], abs=1e-7)
    assert cycle.stable
    close(walker, "simplest walker: modulus of the multipliers", cycle.radius)
    close(walker, "simplest walker: stance angle after a heel strike, in rad", cycle.start["theta"])


def test_newton_converges_quadratically():
    cycle = limit_cycle(ex.models.rimless_wheel(), section="next spoke", w0=1.5)
    residual = cycle.history[:, 0]
    assert cycle.residual == residual[-1]
    assert len(residual) <= 7
    assert residual[-1] < 1e-9
    fast = residual[1:4] / residual[:3] ** 2
    assert fast.max() < 10


def test_the_rimless_wheel_rolls_at_its_closed_form():
    wheel = ex.models.rimless_wheel()
    cycle = limit_cycle(wheel, section="next spoke", w0=1.3)
    alpha, slope = np.pi / 8, 0.08
    speed = np.sqrt(4 * 9.8 * np.sin(alpha) * np.sin(slope)) / np.tan(2 * alpha)
    assert cycle.start["w"] == pytest.approx(speed, rel=1e-10)
    assert cycle.multipliers.real == pytest.approx([np.cos(2 * alpha) ** 2], rel=1e-8)
    close(wheel, "rimless wheel: speed after an impact, in rad/s", cycle.start["w"])


def test_the_compass_gait_has_the_published_step():
    walker = ex.models.compass_gait()
    cycle = limit_cycle(walker, section="heel strike", vs0=1.1)
    close(walker, "compass gait: period, in s", cycle.period)
    close(walker, "compass gait: spectral radius", cycle.radius)
    s, w = cycle.x[:2]
    close(walker, "compass gait: length of a step, in m", 2 * np.sin((w - s) / 2))


@pytest.mark.parametrize(
    ("guess", "which", "stable"), [(0.97, "stable", True), (1.3, "unstable", False)]
)
def test_running_on_a_spring_has_two_gaits(guess, which, stable):
    """The energy is kept, so cycles come in a family: one of each kind at each energy."""
    runner = ex.models.slip()
    cycle = limit_cycle(runner, section="apex", y0=guess, keep=ENERGY)
    close(runner, f"SLIP: {which} height of the apex, in m", cycle.start["y"])
    close(runner, f"SLIP: multiplier of the {which} apex", cycle.multipliers[0].real)
    assert cycle.stable == stable
    assert cycle.trivial.real == pytest.approx([1, 0], abs=1e-6)


@pytest.mark.parametrize(("omega", "speed"), [(2, 6.66667), (4, 2.66667)])
def test_the_impact_oscillator_hits_once_in_a_period(omega, speed):
    """Budd and Dux: V = 2 w / ((w^2 - 1) (1 - r)), once in n periods for w = 2 n."""
    r, n = 0.8, omega // 2
    V, start = one_impact(omega, r)
    assert V == pytest.approx(speed, abs=1e-5)  # noqa: SIM300
    cycle = limit_cycle(
        ex.models.impact_oscillator(), period="2*pi/omega", count=n, omega=omega, s=0, e=r,
        guess=start + np.array([1e-3, -1e-3]),
    )  # fmt: skip
    (hit,) = cycle.trajectory.events
    assert -hit.gap_dot_minus == pytest.approx(V, rel=1e-8)
    assert cycle.x == pytest.approx(start, rel=1e-7)
    # no damping: the area shrinks at the impact only, by r^2
    assert np.prod(cycle.multipliers).real == pytest.approx(r**2, rel=1e-6)
    assert cycle.trivial.size == 0


def one_impact(w, r):
    """Return V and the state at t = 0 of the orbit with one impact in pi, w = 2 n, s = 0.

    x = a cos wt + c sin(t - t0), a = 1 / (1 - w^2), from an impact at cos(w t0) = 0 to the next:
    -a w + c = -r V and, at t0 + pi, -a w - c = V.
    """
    a, t0 = 1 / (1 - w**2), np.pi / (2 * w)
    V = -2 * a * w / (1 - r)
    c, since = a * w - r * V, np.pi - t0
    return V, np.array([a + c * np.sin(since), c * np.cos(since)])


# -- the Jacobian, and where it leads ------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "section"),
    [
        ("simplest_walker", "heel strike"),
        ("compass_gait", "heel strike"),
        ("rimless_wheel", "next spoke"),
        ("slip", "apex"),
    ],
)
def test_the_jacobian_is_that_of_the_map(name, section):
    """A slow twin: central differences of the map itself."""
    P = ReturnMap(getattr(ex.models, name)(), ex.EventDriven(rtol=1e-12, atol=1e-13), section)
    x = P.start()
    J, delta = P(x).jacobian, 1e-5
    twin = np.column_stack(
        [(P(x + d).x - P(x - d).x) / (2 * delta) for d in delta * np.eye(len(x))]
    )
    assert np.abs(J - twin).max() < 1e-6 * (1 + np.abs(twin).max())


def test_along_the_flow_the_map_does_not_change():
    P = ReturnMap(ex.models.compass_gait(), None, "heel strike")
    x = P.start()
    run = P.cycle(x, P(x).T)
    assert P(x).jacobian @ run.rates[0] == pytest.approx(np.zeros(4), abs=1e-7)


def test_a_map_does_not_depend_on_the_unit_of_time():
    """A pointer crosses x = 0 upwards at w t = 3 pi / 2 and each turn later; nothing is reset."""
    spin = ex.HybridSystem(
        "spin", x="x y", params={"w": ex.Param(1.0, 0.1, 1e7)}, modes={"on": ["w*y", "-w*x"]},
        guards=[{"mode": "on", "r": "x", "direction": 1, "to": "on", "name": "up"}],
        start={"x": [1, 0], "t_end": 50},
    )  # fmt: skip
    for w in (1.0, 1e6):
        P = ReturnMap(spin, None, "up", t_max=50 / w, rho={"w": w})
        back = P(P.start())
        assert w * back.T == pytest.approx(1.5 * np.pi)
        assert back.x == pytest.approx([0, 1], abs=1e-9)
        soon = ReturnMap(spin, None, "up", t_max=5 / w, rho={"w": w})  # no more than one in time
        assert w * soon(soon.start()).T == pytest.approx(1.5 * np.pi)
        again = P(back.x)  # it begins on the section, which is no return
        assert w * again.T == pytest.approx(2 * np.pi)
        assert again.jacobian == pytest.approx(np.array([[0, 0], [0, 1]]), abs=1e-7)
        third = ReturnMap(spin, None, "up", count=3, t_max=50 / w, rho={"w": w})(np.array([1.0, 0]))
        assert w * third.T == pytest.approx(5.5 * np.pi)


def test_the_gait_doubles_its_period_at_the_published_slope():
    """A multiplier passes -1 (Garcia et al. 1998)."""
    walker = ex.models.simplest_walker()
    guess = None

    def above(gamma):
        nonlocal guess
        cycle = limit_cycle(walker, section="heel strike", gamma=gamma, guess=guess)
        guess = cycle.x
        return cycle.multipliers.real.min() + 1

    for gamma in (0.010, 0.012, 0.014, 0.0155):
        last = above(gamma)
    assert last < 0
    slope = brentq(above, 0.0145, 0.0155, xtol=1e-7)
    close(walker, "simplest walker: period doubling at the slope, in rad", slope)


def test_two_steps_make_one_cycle_after_the_doubling():
    walker = ex.models.simplest_walker()
    one = limit_cycle(walker, section="heel strike", gamma=0.0165, theta0=0.2425, rate0=-0.2385,
                      guess={"theta": 0.2425, "phi": 0.485, "v_theta": -0.2385, "v_phi": -0.0276})  # fmt: skip
    two = limit_cycle(walker, section="heel strike", count=2, gamma=0.0165, theta0=0.236657,
                      rate0=-0.23234)  # fmt: skip
    assert not one.stable
    assert two.stable
    assert abs(two.x[0] - one.x[0]) > 1e-3
    assert two.period > 1.9 * one.period
    assert [e.contact for e in two.trajectory.events] == ["heel strike"] * 2


def test_a_cycle_is_closed_by_its_trajectory():
    cycle = limit_cycle(ex.models.compass_gait(), section="heel strike")
    run = cycle.trajectory
    assert run.events[-1].x_plus == pytest.approx(cycle.x, abs=1e-9)
    assert run.events[-1].t == pytest.approx(cycle.period, rel=1e-12)
    assert "stable, multipliers -0.1997+0.5445i" in repr(cycle)


def test_a_thermostat_is_superstable():
    """Its state after a switch is a number, whatever came before: all multipliers are 0."""
    cycle = limit_cycle(ex.models.thermostat(), section="too cold")
    assert cycle.period == pytest.approx(6.061358, abs=1e-6)
    assert cycle.multipliers.size == 0
    assert cycle.stable
    # a section that leads to another mode than the start's: run there first
    other = limit_cycle(ex.models.thermostat(), section="too hot")
    assert other.period == pytest.approx(cycle.period, rel=1e-9)
    assert other.x == pytest.approx([21])


def test_a_contact_is_a_section():
    """A ball without loss returns after every height: the energy picks one."""
    ball = ex.models.bouncing_ball()
    cycle = limit_cycle(ball, section="floor", e=1, guess=[0, 3], keep="m*v_y**2/2 + m*g*y")
    assert cycle.period == pytest.approx(2 * 3 / 9.81, rel=1e-9)
    assert cycle.x == pytest.approx([0, 3], abs=1e-9)


@pytest.mark.parametrize("noise", [50, 200])
def test_round_off_may_end_newton_within_a_hundred_tolerances(noise):
    """A map whose values are not better known than that: no step lowers the residual."""
    tol = 1e-9
    floor = SimpleNamespace(
        section="s", period=None, system=SimpleNamespace(name="rough"), cycle=lambda x, T: None,
        same_side=lambda x, new: True,
    )  # fmt: skip

    class Rough(type(floor)):
        def __call__(self, x):
            steps = SimpleNamespace(y=2 * np.ones((1, 1)))
            way = SimpleNamespace(march=SimpleNamespace(steps=steps), has_velocities=False)
            return Return(x + 2 * noise * tol, 1.0, np.zeros((1, 1)), way)

        def recurrence(self, x):
            return ""

    kept = SimpleNamespace(newton=lambda x, back, unit: np.ones(1))
    rough = Rough(**vars(floor))
    if noise > 100:
        with pytest.raises(ex.StepFailed, match=r"after 0 steps the residual is 2e-07"):
            _solved(rough, kept, np.ones(1), tol, 30)
        return
    x, _, history = _solved(rough, kept, np.ones(1), tol, 30)
    assert x == 1
    assert len(history) == 1


@for_each(("section", "kept", "trivial"), [
    (False, 0, []), (True, 0, [-0.01]), (False, 1, [1.02]), (True, 1, [-0.01, 1.02]),
    (True, 2, [-0.01, 0.9, 1.02]),
])  # fmt: skip
def test_trivial_multipliers_are_set_apart(section, kept, trivial):
    """One near 1 for each quantity that is kept, and of a section the least."""
    values = np.array([0.9, -1.4, -0.01, 1.02, 0.5])
    basis = np.random.default_rng(3).normal(size=(5, 5))
    DP = basis @ np.diag(values) @ np.linalg.inv(basis)
    free, apart = _multipliers(DP, section, kept)
    assert np.sort(apart.real) == pytest.approx(trivial)
    assert np.sort([*free.real, *apart.real]) == pytest.approx(np.sort(values))
    assert (np.diff(np.abs(free)) <= 0).all()
    one = _multipliers(np.array([[1.0, 0], [0, 0.98]]), True, 1)
    assert (one[0].size, one[1].size) == (0, 2)


# -- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "options", "kind", "words"),
    [
        ("slip", {"section": "aplex"}, ex.BadValue, "Did you mean 'apex'"),
        ("slip", {}, ex.BadValue, "needs a section"),
        ("slip", {"section": "apex", "period": 1}, ex.BadValue, "not both"),
        ("slip", {"section": "apex", "guess": [1, 2]}, ex.BadValue, "4 numbers"),
        ("slip", {"section": "apex", "guess": {"v": 1}}, ex.BadValue, "no state 'v'"),
        ("slip", {"section": "apex", "keep": "m*vx"}, ex.BadValue, "'vx'"),
        ("slip", {"section": "apex", "count": 0}, ex.BadValue, "whole number"),
        ("slip", {"section": "apex"}, ex.StepFailed, "a multiplier is 1"),
        ("slip", {"section": "apex", "t_max": 0.1}, ex.BadValue, "longer t_max"),
        ("slip", {"section": "apex", "scheme": "MoreauJean"}, ex.NotApplicable, "MoreauJean"),
        ("bouncing_ball", {"section": "floor", "scheme": ex.MoreauJean}, ex.NotApplicable, "locate"),
        ("impact_oscillator", {"section": "stop"}, ex.BadModel, "depends on t"),
        ("impact_oscillator", {"period": "2*pi/w"}, ex.BadModel, "'w'"),
        ("simplest_walker", {"section": "heel strike", "rate0": -0.17}, ex.BadValue, "falls back"),
        ("simplest_walker", {"section": "heel strike", "max_iter": 1, "tol": 1e-14, "gamma": 0.012},
         ex.StepFailed, "the residual is"),
    ],
)  # fmt: skip
def test_a_cycle_that_cannot_be_found_is_refused_with_a_sentence(name, options, kind, words):
    with pytest.raises(kind) as caught:
        limit_cycle(getattr(ex.models, name)(), **options)
    assert words in str(caught.value)


# -- grazing -------------------------------------------------------------------------------------


def free_orbit(w=0.8, c=0.1):
    """Return amplitude and state at t = 0 of the driven oscillator that hits nothing."""
    response = 1 / complex(1 - w**2, c * w)
    return abs(response), [response.real, -w * response.imag]


def test_grazing_has_the_exponent_one_half():
    """Impact speed and the push to the orbit grow like the root of the overlap (Nordmark 1991)."""
    w, c = 0.8, 0.1
    amplitude, x0 = free_orbit(w, c)
    assert amplitude == pytest.approx(2.71163, abs=1e-5)
    oscillator, period = ex.models.impact_oscillator(), 2 * np.pi / w
    overlap, speed, push = np.geomspace(1e-6, 1e-3, 10), [], []
    for d in overlap:
        run = ex.simulate(oscillator, ex.EventDriven(rtol=1e-11, atol=1e-12), x0=x0, t_end=period,
                          omega=w, c=c, s=amplitude - d)  # fmt: skip
        speed.append(-run.events[0].gap_dot_minus)
        push.append(np.abs(run.x[-1] - x0).max())
    exact = w * np.sqrt(2 * amplitude * overlap - overlap**2)
    assert speed == pytest.approx(exact, rel=1e-6)
    assert power_law(overlap, speed).exponent == pytest.approx(0.5, rel=0.02)
    assert power_law(overlap, push).exponent == pytest.approx(0.5, rel=0.02)
    # away from grazing a perturbation stays one: the push of a moved start is of order 1
    assert power_law(overlap, overlap).exponent == pytest.approx(1)


@pytest.mark.parametrize(
    ("x", "y", "words"),
    [
        ([1, 2], [1, 2], "three"),
        ([1, 2, 3], [1, 0, 2], "positive"),
        ([1, 1, 1], [1, 2, 3], "different"),
        ([1, 2, 3], [1, 2], "as many x as y"),
    ],
)
def test_a_power_law_refuses_what_has_no_logarithm(x, y, words):
    with pytest.raises(ex.BadValue, match=words):
        power_law(x, y)


def test_a_power_law_knows_its_error():
    x = np.geomspace(1, 100, 50)
    y = 3 * x**1.7 * np.exp(0.05 * np.random.default_rng(1).normal(size=50))
    law = power_law(x, y)
    assert abs(law.exponent - 1.7) < 3 * law.error
    assert law(x) == pytest.approx(y, rel=0.2)


@pytest.mark.parametrize("start", [2.0, -2.0, 1.5, 0.4])
def test_newton_halves_its_step_until_the_residual_falls(start):
    """P(u) = u - atan(u): undamped, Newton's method diverges from |u| > 1.39.

    A slow twin of the rule: the first of dx, dx/2, dx/4, ... whose residual is below 1 - s/4 of the
    last one, s the part of dx.
    """
    jump = ex.HybridSystem(
        "jump", x="u", modes={"on": ["0"]}, start={"x": [start], "t_end": 1},
        guards=[{"mode": "on", "r": "sin(2*pi*t)", "direction": -1, "reset": ["u - atan(u)"],
                 "to": "on", "name": "tick", "when": "1"}],
    )  # fmt: skip
    cycle = limit_cycle(jump, period=1.0)
    assert cycle.trajectory.t[-1] == cycle.period == 1.0

    def size(u):  # beside the largest state of the first way back
        return abs(np.arctan(u)) / abs(start)

    u, twin = start, [start]
    while size(u) > 1e-9:
        dx = -np.arctan(u) * (1 + u**2)
        s = next(0.5**k for k in range(8) if size(u + 0.5**k * dx) < (1 - 0.5**k / 4) * size(u))
        u += s * dx
        twin.append(u)
    np.testing.assert_allclose(cycle.history[:, 1], twin, rtol=1e-7, atol=1e-9)
    assert cycle.x[0] == pytest.approx(0, abs=1e-9)
    assert (np.diff(cycle.history[:, 0]) < 0).all()


def test_a_cycle_says_how_far_its_multipliers_can_be_trusted():
    cycle = limit_cycle(ex.models.compass_gait(), section="heel strike", vs0=1.1)
    assert cycle.trust.ok
    assert "reliable" not in repr(cycle)
    assert cycle.trust.digits > 8


# -- what holds for every study -------------------------------------------------------------------


@pytest.mark.parametrize("name", [k for k, one in studies.items() if inspect.isfunction(one)])
def test_a_study_refuses_in_a_sentence_what_it_cannot_study(name):
    study = studies[name]
    assert study.__doc__
    wanted = [p for p in inspect.signature(study).parameters.values() if p.kind < p.KEYWORD_ONLY]
    given = [p for p in wanted if p.default is p.empty] or wanted[:1]
    named = [p for p in inspect.signature(study).parameters.values() if p.kind is p.KEYWORD_ONLY]
    named = [p.name for p in named if p.default is p.empty]
    for nonsense in ("nonsense", object(), [1]) if given else ():
        with pytest.raises(ex.ExplorerError, match=r"\.$"):
            study(*[nonsense] * len(given), **dict.fromkeys(named, nonsense))


# -- a period of another motion --------------------------------------------------------------------


def test_a_period_that_is_not_that_of_the_drive_is_no_period():
    """Each return began at phase 0 again: a cycle, and exponents, of a motion that does not exist."""
    driven = ex.MechanicalSystem(
        "driven", q="x", params={"F": 1.0, "w": 1.3, "d": 0.2}, mass=1,
        force=["-x - d*v_x + F*sin(w*t)"], contacts=[ex.Contact("x + 0.8", e=0.6, name="wall")],
        start={"q": [0], "v": [0], "t_end": 20},
    )  # fmt: skip
    section = ex.study.Section(period=2.0)
    over = {"q0.x": [-0.5, 0.5], "v0.x": [-1, 1]}
    says = r"not the same after period = (1|2) s(.|\n)* period 2\*pi/w = 4.8332195 s"
    for ask in (
        lambda: limit_cycle(driven, period=1.0),
        lambda: ex.study.lyapunov(driven, period=1.0),
        lambda: ex.study.attractors(driven, over=over, section=section, samples=4),
        lambda: ex.study.orbit_diagram(driven, over={"w": [1, 1.2]}, section=section),
        # the period is right at both ends, not between them
        lambda: ex.study.orbit_diagram(
            driven, over={"w": [2, 3, 4]}, section=ex.study.Section(period=np.pi)
        ),
    ):
        with pytest.raises(ex.BadValue, match="not the same after"):
            ask()
    with pytest.raises(ex.BadValue, match=says):
        limit_cycle(driven, period=1.0)
    for period in ("4*pi/w", 4.8332195):  # a multiple; typed with eight digits
        ReturnMap(driven, period=period)
    ReturnMap(driven, period=1.0, rho={"F": 0.0})  # nothing drives it


def test_friction_that_changes_with_time_makes_a_system_driven():
    belt = ex.MechanicalSystem(
        "belt", q="x y", mass=[[1, 0], [0, 1]], force=["-x", "-9.81"],
        contacts=[ex.Contact("y", e=0, mu="0.3 + 0.1*sin(2*t)", slip="v_x - 0.5", name="belt")],
        start={"q": [0.5, 0], "v": [0, 0], "t_end": 20},
    )  # fmt: skip
    with pytest.raises(ex.BadModel, match="depends on t, so a return to 'belt' has another phase"):
        limit_cycle(belt, section="belt")
    slow = ex.HybridSystem("slow", x="c")
    slow.mode("m", ["sin(2*t) - c"])
    slow.start(x=[0], t_end=20, time_unit="min")
    with pytest.raises(ex.BadValue, match=r"period = 1 min, so .* = 3\.1415927 min"):
        ReturnMap(slow, period=1.0)
