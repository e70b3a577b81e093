"""Event-driven integration: closed forms, located events, and the traps of guards."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from kinds import GALLERY

import explorer as ex
from explorer import Contact, HybridSystem, MechanicalSystem, Param
from explorer.models import models

TIGHT = ex.EventDriven(rtol=1e-12, atol=1e-12)


def bounces(y0: float, g: float, e: float, count: int) -> np.ndarray:
    k = np.arange(count)
    return np.sqrt(2 * y0 / g) * (1 + 2 * e * (1 - e**k) / (1 - e))


def ball(e: float = 0.8, y0: float = 1.0, v0: float = 0.0) -> MechanicalSystem:
    return MechanicalSystem(
        "ball", q="y", params={"g": 9.81, "e": Param(e, 0, 1)}, force="-g",
        contacts=[Contact("y", e="e", name="floor")], start={"q": y0, "v": v0, "t_end": 3.0},
    )  # fmt: skip


def hybrid_ball(e: float = 0.8) -> HybridSystem:
    return HybridSystem(
        "ball as a hybrid system", x="y v", params={"g": 9.81, "e": Param(e, 0, 1)},
        modes={"flight": ["v", "-g"]},
        guards=[{"mode": "flight", "r": "y", "direction": -1, "reset": {"v": "-e*v"},
                 "name": "floor"}],
        start={"x": [1, 0], "t_end": 2.0},
    )  # fmt: skip


@pytest.mark.parametrize("method", ["dop853", "dopri5"])
def test_eleven_bounces_are_exact(method):
    scheme = ex.EventDriven(rtol=1e-12, atol=1e-12, method=method)
    sol = ex.simulate(models["bouncing_ball"](), scheme, t_end=6.0, e=0.9)
    wanted = bounces(1, 9.81, 0.9, len(sol.events))
    assert len(wanted) >= 11
    np.testing.assert_allclose([e.t for e in sol.events], wanted, rtol=1e-12)
    speeds = np.sqrt(2 * 9.81) * 0.9 ** np.arange(len(wanted))
    np.testing.assert_allclose([-e.v_minus[0] for e in sol.events], speeds, rtol=1e-12)
    np.testing.assert_allclose([e.v_plus[0] for e in sol.events], 0.9 * speeds, rtol=1e-12)
    assert {e.kind for e in sol.events} == {"impact"}


def test_both_sides_of_an_event_are_rows():
    sol = ex.simulate(models["bouncing_ball"](), TIGHT, t_end=1.0)
    hit = sol.events[0]
    assert sol.t[hit.row] == sol.t[hit.row - 1] == hit.t
    assert sol.v[hit.row, 0] == hit.v_plus[0]
    assert sol.v[hit.row - 1, 0] == hit.v_minus[0]
    assert sol.at(hit.t, side="left").v == pytest.approx(hit.v_minus)
    assert sol.at(hit.t, side="right").v == pytest.approx(hit.v_plus)
    assert sol.jump_rows.tolist() == [hit.row]


def test_a_state_between_rows_is_exact():
    system = models["bouncing_ball"]()
    sol = ex.simulate(system, TIGHT, t_end=2.0)
    t = np.linspace(0, 2, 57)
    exact = system.exact(t, sol.rho)
    got = np.array([[*sol.at(x).q, *sol.at(x).v] for x in t])
    np.testing.assert_allclose(got, np.hstack([exact["q"], exact["v"]]), atol=1e-12)


def test_impacts_that_accumulate_close_the_contact():
    sol = ex.simulate(models["bouncing_ball"](), TIGHT, t_end=12.0, e=0.9)
    last = sol.events[-1]
    assert last.kind == "zeno"
    assert last.t == pytest.approx(8.57895, abs=1e-5)
    assert last.t == pytest.approx(np.sqrt(2 / 9.81) * 1.9 / 0.1, rel=1e-12)
    after = sol.t > last.t
    assert np.abs(sol.q[after]).max() < 1e-12
    assert np.abs(sol.v[after]).max() < 1e-12
    np.testing.assert_allclose(sol.lam[after], 9.81, rtol=1e-12)


@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_a_ball_at_rest_on_the_floor_stays(e):
    sol = ex.simulate(ball(e, y0=0.0), TIGHT)
    assert not sol.events
    assert np.abs(sol.q).max() == 0
    np.testing.assert_allclose(sol.lam, 9.81)


def test_thrown_up_from_the_floor_it_leaves_and_comes_back_once():
    sol = ex.simulate(ball(0.5, y0=0.0, v0=3.0), TIGHT, t_end=0.9)
    np.testing.assert_allclose([e.t for e in sol.events], [6 / 9.81, 9 / 9.81][: len(sol.events)])
    assert len(sol.events) == 1


def test_thrown_down_on_the_floor_it_bounces_at_once():
    sol = ex.simulate(ball(0.5, y0=0.0, v0=-2.0), TIGHT, t_end=0.1)
    assert [(e.t, e.kind) for e in sol.events] == [(0.0, "impact")]
    assert sol.events[0].v_plus[0] == 1.0


def test_a_plastic_impact_closes_the_contact():
    sol = ex.simulate(ball(0.0), TIGHT, t_end=2.0)
    assert [e.kind for e in sol.events] == ["closed"]
    assert sol.events[0].impulse == pytest.approx(np.sqrt(2 * 9.81))


def test_a_closed_contact_is_released_when_its_force_has_gone():
    """A table that falls away faster than the ball: A omega^2 > g."""
    system = models["vibrating_table"]()
    sol = ex.simulate(system, TIGHT, e=0.0, a=1.5, y0=0.0, v0=0.0, t_end=2.0)
    table = 1.5 * 9.81 / 20**2
    kinds = [e.kind for e in sol.events]
    assert "released" in kinds
    assert "closed" in kinds
    for event in sol.events:
        if event.kind == "released":  # y'' = -g, as the table's own acceleration
            assert np.sin(20 * event.t) == pytest.approx(1 / 1.5, abs=1e-9)
    assert sol.refined(2000).gap.min() > -1e-9
    assert np.abs(sol.q).max() < 3 * table + 0.2


def test_guards_faster_than_the_flow_are_not_missed():
    """The flight of the ball is a parabola: its own error would allow steps over many periods."""
    system = models["vibrating_table"]()
    sol = ex.simulate(system, ex.EventDriven(rtol=1e-9), omega=60, a=2.3, e=0.7)
    fine = sol.refined(20_000)
    assert fine.gap.min() > -1e-9


def test_runs_that_share_their_workspaces_do_not_disturb_each_other():
    """Rows are made late: other runs of the same system, and of other threads, come in between."""
    system, values = models["vibrating_table"](), np.linspace(0.3, 0.8, 24)
    alone = [ex.simulate(models["vibrating_table"](), TIGHT, e=e, t_end=1.0) for e in values]
    wanted = [(sol.x.copy(), sol.lam.copy(), [e.t for e in sol.events]) for sol in alone]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda e: ex.simulate(system, TIGHT, e=e, t_end=1.0), values))
        rows = list(pool.map(lambda sol: (sol.x, sol.lam, [e.t for e in sol.events]), found))
    for (x, lam, times), (x0, lam0, times0) in zip(rows, wanted, strict=True):
        assert times == times0
        assert np.array_equal(x, x0)
        assert np.array_equal(lam, lam0)


def test_simultaneous_impacts_are_one_event():
    system = models["newtons_cradle"](3)
    sol = ex.simulate(system, TIGHT, s=0.0, t_end=0.6)
    assert sol.events[0].together == 2


def test_two_orders_of_methods_agree_with_time_stepping():
    system = models["elastic_pendulum"]()
    ends = [
        ex.simulate(system, scheme, t_end=3).q[-1]
        for scheme in (TIGHT, ex.EventDriven(rtol=1e-11, method="dopri5"))
    ]
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-8)
    coarse = ex.simulate(system, ex.MoreauJean(h=1e-4), t_end=3).q[-1]
    np.testing.assert_allclose(ends[0], coarse, atol=2e-3)


@pytest.mark.parametrize("method", ["dop853", "dopri5"])
def test_the_error_falls_with_the_tolerance(method):
    system = models["pendulum_wall"]()
    truth = ex.simulate(system, ex.EventDriven(rtol=1e-13, atol=1e-13), t_end=4).x[-1]
    errors = []
    for rtol in (1e-5, 1e-7, 1e-9, 1e-11):
        sol = ex.simulate(system, ex.EventDriven(rtol=rtol, atol=rtol, method=method), t_end=4)
        errors.append(np.abs(sol.x[-1] - truth).max())
    assert (np.diff(np.log10(errors)) < -1).all()
    assert errors[-1] < 1e-8


# -- hybrid systems ---------------------------------------------------------------------------


def test_a_hybrid_system_is_the_mechanical_one():
    a = ex.simulate(hybrid_ball(), TIGHT)
    b = ex.simulate(ball(), TIGHT, t_end=2.0)
    np.testing.assert_allclose([e.t for e in a.events], [e.t for e in b.events], rtol=1e-13)
    np.testing.assert_allclose(a.x[-1], b.x[-1], atol=1e-12)


def test_a_reset_that_lands_on_another_guard_fires_it_at_the_same_time():
    system = HybridSystem(
        "chain", x="x y", modes={"one": [1, 0]},
        guards=[
            {"mode": "one", "r": "x - 1", "direction": 1, "reset": {"x": 0, "y": "y + 1"},
             "name": "first"},
            {"mode": "one", "r": "y - 1", "direction": 1, "reset": {"y": -5}, "name": "second"},
        ],
        start={"x": [0, 0.5], "t_end": 1.5},
    )  # fmt: skip
    sol = ex.simulate(system, TIGHT)
    assert [(round(e.t, 12), e.contact) for e in sol.events] == [(1, "first"), (1, "second")]
    assert sol.x[-1] == pytest.approx([0.5, -5])


def test_a_guard_may_depend_on_velocity_time_and_parameters():
    system = HybridSystem(
        "clock", x="x", params={"w": 2.0}, modes={"run": ["x"]},
        guards=[{"mode": "run", "r": "x - exp(t/w) - 1", "direction": 1, "reset": {"x": 1}}],
        start={"x": [1], "t_end": 3.0},
    )  # fmt: skip
    event = ex.simulate(system, TIGHT).events[0]
    assert np.exp(event.t) - np.exp(event.t / 2) - 1 == pytest.approx(0, abs=1e-11)


def test_several_crossings_in_one_step_are_found():
    """x' = 0: every step would do; the guard turns through zero twenty times."""
    system = HybridSystem(
        "counter", x="n", modes={"on": [0]},
        guards=[{"mode": "on", "r": "sin(20*t + 1/2)", "direction": 0, "reset": {"n": "n + 1"}}],
        start={"x": [0], "t_end": np.pi},
    )  # fmt: skip
    sol = ex.simulate(system, TIGHT)
    wanted = (np.arange(1, 21) * np.pi - 0.5) / 20
    np.testing.assert_allclose([e.t for e in sol.events], wanted, rtol=1e-12)


def test_a_tangent_guard_is_a_near_miss_or_an_event_never_a_crash():
    for level in (1 - 1e-9, 1.0, 1 + 1e-9):
        system = HybridSystem(
            "graze", x="x v", modes={"on": ["v", "-x"]},
            guards=[{"mode": "on", "r": f"{level!r} - x", "direction": -1, "name": "top"}],
            start={"x": [0, 1], "t_end": 6.0},
        )  # fmt: skip
        sol = ex.simulate(system, TIGHT)
        if level < 1:
            assert len(sol.events) == 1
            assert abs(sol.events[0].slope) < 1e-4
        elif level > 1:
            assert not sol.events


def test_a_near_miss_leaves_its_margin():
    system = HybridSystem(
        "miss", x="x v", modes={"on": ["v", "-x"]},
        guards=[{"mode": "on", "r": "1.01 - x", "direction": -1, "name": "top"}],
        start={"x": [0, 1], "t_end": 6.0},
    )  # fmt: skip
    sol = ex.simulate(system, TIGHT)
    assert not sol.events
    assert sol.nearest == pytest.approx(0.01, rel=1e-4)
    assert ex.simulate(models["bouncing_ball"](), TIGHT, t_end=0.2).nearest == np.inf


@pytest.mark.parametrize("speed", [0.02, 0.05, 0.1, 0.2, 0.4, 2.0])
def test_a_near_miss_is_seen_however_soon_behind_the_start_it_is(speed):
    """A ball thrown upwards turns back d below the ceiling, in the first step if it is slow."""
    thrown = ex.MechanicalSystem(
        "thrown", q="y", params={"u": speed, "g": 9.81, "d": 1e-3}, force=["-g"],
        contacts=[ex.Contact("u**2/(2*g) + d - y", e=0.5, name="ceiling")],
        start={"v": ["u"], "t_end": 0.25},
    )  # fmt: skip
    for rtol in (1e-5, 1e-7, 1e-10):
        assert ex.simulate(thrown, ex.EventDriven(rtol=rtol)).nearest == pytest.approx(
            1e-3, rel=1e-4
        )


def test_events_that_accumulate_without_a_mode_end_with_a_status():
    tank = HybridSystem(
        "two tanks", x="a b", modes={"fill_a": [0.25, -0.5], "fill_b": [-0.5, 0.25]},
        guards=[{"mode": "fill_a", "r": "b", "to": "fill_b", "name": "b empty"},
                {"mode": "fill_b", "r": "a", "to": "fill_a", "name": "a empty"}],
        start={"x": [0, 1], "mode": "fill_a", "t_end": 10.0},
    )  # fmt: skip
    sol = ex.simulate(tank, TIGHT, throw=False)
    assert sol.status.name == "zeno"
    assert "zeno=" in sol.status.message
    assert sol.events[-1].t == pytest.approx(4, abs=1e-6)
    with pytest.raises(ex.StepFailed, match="accumulate"):
        ex.simulate(tank, TIGHT)


def test_resting_without_a_mode_for_it_is_said():
    system = hybrid_ball(e=0.0)
    sol = ex.simulate(system, TIGHT, throw=False)
    assert sol.status.name in ("chattering", "zeno")


def test_a_stiff_flow_says_so():
    system = HybridSystem(
        "stiff", x="x", params={"k": 1e7}, modes={"on": ["-k*(x - cos(t))"]},
        start={"x": [0], "t_end": 10.0},
    )  # fmt: skip
    sol = ex.simulate(system, ex.EventDriven(rtol=1e-6), throw=False)
    assert sol.status.name == "stiff"
    assert "radau" in sol.status.message


def test_names_like_those_of_a_compiler_do_no_harm():
    """SymEngine calls its common subexpressions x0, x1, ..."""
    system = HybridSystem(
        "merge", x="x1 v1 x2 v2", params={"m1": 1.0, "m2": 2.0},
        modes={"on": ["v1", 0, "v2", 0]},
        guards=[{"mode": "on", "r": "x2 - x1", "name": "meet", "reset": {
            "v1": "(m1*v1 + m2*v2)/(m1 + m2)", "v2": "(m1*v1 + m2*v2)/(m1 + m2)", "x1": "x2"}}],
        start={"x": [-1, 2, 0, 0], "t_end": 0.6},
    )  # fmt: skip
    sol = ex.simulate(system, TIGHT)
    assert sol.events[0].x_plus == pytest.approx([0, 2 / 3, 0, 2 / 3])


@pytest.mark.broad
@pytest.mark.parametrize("name", GALLERY)
def test_random_parameters_neither_hang_nor_miss_an_impact(name):
    system, rng = GALLERY[name], np.random.default_rng(len(name))
    for _ in range(16):
        rho = {
            k: rng.choice([p.low, p.high, rng.uniform(p.low, p.high)], p=[0.1, 0.1, 0.8])
            for k, p in system.parameters.items()
        }
        scheme = ex.EventDriven(rtol=10 ** rng.uniform(-11, -8))
        try:
            sol = ex.simulate(system, scheme, rho=rho, throw=False)
        except ex.ExplorerError:
            continue
        fine = sol.refined(1000)
        assert np.isfinite(fine.x).all(), rho
        if fine.has_velocities and fine.gap.size:
            assert fine.gap.min() > -1e-6, rho


def test_radau_takes_the_stiff_flow():
    system = HybridSystem(
        "stiff", x="x", params={"k": 1e7}, modes={"on": ["-k*(x - cos(t))"]},
        start={"x": [0], "t_end": 10.0},
    )  # fmt: skip
    k = 1e7
    exact = (k * k * np.cos(10) + k * np.sin(10)) / (k * k + 1)
    sol = ex.simulate(system, ex.EventDriven(rtol=1e-8, atol=1e-8, method="radau"))
    assert sol.x[-1, 0] == pytest.approx(exact, abs=1e-8)
    assert len(sol.march.steps.t) < 500


def test_radau_locates_the_same_events():
    system = models["pendulum_wall"]()
    a = ex.simulate(system, TIGHT, t_end=4)
    b = ex.simulate(system, ex.EventDriven(rtol=1e-9, atol=1e-9, method="radau"), t_end=4)
    np.testing.assert_allclose([e.t for e in a.events], [e.t for e in b.events], rtol=1e-8)
    np.testing.assert_allclose(a.x[-1], b.x[-1], atol=1e-7)


def test_a_dip_before_the_first_sample_is_seen_behind_a_later_event():
    """Newton's cradle: 3-4 meets again and parts long before the step's end, where 2-3 meets."""
    sol = ex.simulate(
        models["newtons_cradle"](), ex.EventDriven(rtol=2e-11, atol=1e-10), m=1.3065943889809586, g=1.0,
        l=1.4653220706283978, e=0.06498741730824686, s=0.011099389586579063, lift=0.2,
    )  # fmt: skip
    assert sol.refined(3000).gap.min() > -1e-9


def test_a_contact_that_never_leaves_does_not_fall_through():
    """e = 0 leaves the pendulum on the wall with hardly any acceleration, which then turns."""
    sol = ex.simulate(
        models["elastic_pendulum"](), ex.EventDriven(rtol=3e-8), m=1.0, k=61.090642335429294,
        l=1.5783916755544976, g=18.745523968370946, d=0.7422125929019447, e=0.0,
        r0=0.4957280104548285, theta0=-1.288504324855106,
    )  # fmt: skip
    assert sol.refined(3000).gap.min() > -1e-8


def test_a_dip_around_the_first_sample_is_seen():
    """A table that catches up with the ball it has just thrown, and falls behind again at once."""
    sol = ex.simulate(
        models["vibrating_table"](), ex.EventDriven(rtol=4e-10, atol=1e-10), m=2.8, y0=0.06752044297797592,
        g=16.80572360327996, e=0.332112877561284, a=2.5, omega=39.78380072556892, v0=-1.075,
    )  # fmt: skip
    assert sol.refined(4000).gap.min() > -1e-8


def test_a_force_of_round_off_does_not_carry_a_step_past_an_impact():
    """Balls that swing together touch without force, so their releases are noise."""
    sol = ex.simulate(
        models["newtons_cradle"](), ex.EventDriven(rtol=1.1129335075655901e-10, atol=1e-10), s=0.0,
        m=3.208240324894982, g=17.02086580348674, l=0.41053888261322513, e=0.8038126609314604,
        lift=0.030939547840921434,
    )  # fmt: skip
    assert sol.refined(4000).gap.min() > -1e-9


@pytest.mark.parametrize("method", ["dop853", "dopri5", "radau"])
def test_a_force_that_is_no_number_is_said(method):
    """From the start on, or once t > 1: a NaN is larger than no tolerance."""
    for force in ("sqrt(c - 1) - x", "sqrt(1 - t) - x"):
        system = MechanicalSystem(
            "odd", q="x", params={"c": 0.0}, force=[force], start={"q": [1.0], "t_end": 3.0}
        )
        with pytest.raises(ex.StepFailed, match="no longer finite"):
            ex.simulate(system, ex.EventDriven(method=method))


@pytest.mark.parametrize("rtol", [1e-4, 1e-7, 1e-10])
@pytest.mark.parametrize(
    "force",
    [
        "-3*tanh(100*v_x)", "-100*max(x - 0.2, 0)", "-1e4*max(x - 0.1, 0)**1.5",
        "-100*Heaviside(x - 0.2)", "-3*v_x/sqrt(v_x**2 + 1e-4)",
    ],
)  # fmt: skip
def test_radau_takes_a_step_again_where_newtons_method_fails(force, rtol):
    system = ex.MechanicalSystem("kink", "x", force=[force], start={"v": [1], "t_end": 1})
    explicit = ex.simulate(system, ex.EventDriven(rtol=1e-11, atol=1e-12))
    stiff = ex.simulate(system, ex.EventDriven(method="radau", rtol=rtol, atol=rtol))
    assert np.abs(stiff.q[-1] - explicit.q[-1]).max() <= 20 * rtol + 1e-7


@pytest.mark.parametrize("scheme", [ex.EventDriven(), ex.EventDriven(method="newmark")], ids=repr)
def test_contacts_that_meet_at_once_have_an_event_each(scheme):
    corner = ex.MechanicalSystem(
        "corner", "x y", contacts=[ex.Contact("x", 1, "wall"), ex.Contact("y", 0.5, "floor")],
        start={"q": [1, 2], "v": [-1, -2], "t_end": 2},
    )  # fmt: skip
    run = ex.simulate(corner, scheme)
    assert [(e.kind, e.contact) for e in run.events] == [("impact", "wall"), ("impact", "floor")]
    assert [e.t for e in run.events] == pytest.approx([1, 1], abs=1e-9)
    assert [e.impulse for e in run.events] == pytest.approx([2, 3], abs=1e-9)
    for event, e in zip(run.events, (1, 0.5), strict=True):
        assert event.gap_dot_plus == pytest.approx(-e * event.gap_dot_minus, abs=1e-9)


def test_a_run_has_rows_as_its_motion_wants_them():
    """Even rows, `points` or as many as steps: an oscillation is seen at any length of the run."""
    duffing = models["duffing"]()
    for t_end in (1.0, 40.0, 200.0):
        run = ex.simulate(duffing, ex.EventDriven(), t_end=t_end)
        assert len(run.t) == 1 + max(100, len(run.march.steps.t))
        np.testing.assert_allclose(np.diff(run.t), t_end / (len(run.t) - 1), rtol=1e-9)
    turns = np.count_nonzero(np.diff(np.sign(run.v[:, 0])))
    assert len(run.t) > 20 * turns / 2
    finer = ex.simulate(duffing, ex.EventDriven(points=5000), t_end=40.0)
    assert len(finer.t) == 5001


@pytest.mark.parametrize("part", [0.2, 0.9])
def test_events_stand_in_order_of_time_where_one_comes_within_an_accumulation(part):
    """A ball is closed a moment before its impacts have accumulated; another one lands between."""

    def balls(z):
        return ex.MechanicalSystem(
            "two balls", "y z", force=["-9.81", "-9.81"], start={"q": [0.5, z], "t_end": 1.5},
            contacts=[ex.Contact("y", 0.5, "low"), ex.Contact("z", 0.5, "high")],
        )  # fmt: skip

    alone = ex.simulate(balls(100.0), ex.EventDriven())
    closed, lasts = alone.march.events.head[-1][["t", "rest"]].tolist()
    run = ex.simulate(balls(9.81 * (closed + part * lasts) ** 2 / 2), ex.EventDriven())
    times = [e.t for e in run.events]
    assert times == sorted(times)
    between = [e for e in run.events if closed < e.t < closed + lasts]
    assert [e.contact for e in between] == ["high"]
    assert sorted(map(id, run.events)) == sorted(map(id, run.located))


def test_a_gap_whose_formula_ends_stops_the_run_there():
    """sqrt(y) is no number below the ground, so nothing is known of the contact."""
    system = ex.MechanicalSystem(
        "m", q="y", mass=1, force="-9.81", contacts=[ex.Contact("sqrt(y)", e=0.5)],
        start={"q": [1], "v": [0], "t_end": 1.0},
    )  # fmt: skip
    found = ex.simulate(system, ex.EventDriven(), throw=False)
    assert found.status.name == "not_finite"
    assert found.t[-1] == pytest.approx(np.sqrt(2 / 9.81), abs=1e-6)
    assert found.q.min() >= -1e-9


@pytest.mark.parametrize("mass", ["m", [["1", "m"], ["m", "1"]]])
def test_parameters_without_a_mass_matrix_are_refused(mass):
    n = 1 if mass == "m" else 2
    system = ex.MechanicalSystem(
        "m", q=[f"y{i}" for i in range(n)], mass=mass, params={"m": 0.5}, force=["-1"] * n,
        start={"q": [1] * n, "v": [0] * n, "t_end": 1.0},
    )  # fmt: skip
    assert ex.simulate(system, ex.EventDriven()).status.ok
    for m, kind in ((-2.0, "indefinite"), (0.0 if n == 1 else 1.0, "singular")):
        with pytest.raises(ex.BadModel, match=f"mass matrix of 'm' is {kind} for these parameters"):
            ex.simulate(system, ex.EventDriven(), m=m)


def held_body(force, *others):
    contacts = [ex.Contact("y", e=0.5, name="below"), *others]
    system = ex.MechanicalSystem("held", q="x y", force=["-x", force], contacts=contacts)
    system.start(q=[1, 0], v=[0, 0], t_end=3)
    return system


@pytest.mark.parametrize("force", ["-sin(t)", "-t**2"])
def test_a_contact_on_which_a_force_begins_to_press_has_no_impacts(force):
    run = ex.simulate(held_body(force), ex.EventDriven())
    assert not run.events
    assert not run.cautions
    assert not run.q[:, 1].any()


@pytest.mark.parametrize(("force", "ends"), [
    ("-9.81*cos(3*t)", [np.pi / 6, np.pi / 2, 5 * np.pi / 6]), ("-x", [np.pi / 2]), ("sin(t)", []),
])  # fmt: skip
def test_of_two_contacts_that_hold_a_body_one_takes_over_where_the_other_lets_go(force, ends):
    run = ex.simulate(held_body(force, ex.Contact("-y", e=0.5, name="above")), ex.EventDriven())
    assert [event.kind for event in run.events] == ["released"] * len(ends)
    assert [event.t for event in run.events] == pytest.approx(ends)
    assert not run.cautions
    assert not run.q[:, 1].any()
    pushes = run.lam[:, 0] - run.lam[:, 1]  # together they are what the force asks for
    wanted = {"-x": run.q[:, 0], "sin(t)": -np.sin(run.t)}.get(force, 9.81 * np.cos(3 * run.t))
    np.testing.assert_allclose(pushes, wanted, atol=1e-9)


def test_a_run_through_time_freezing_that_cannot_begin_is_a_status():
    system = held_body("sin(t)", ex.Contact("-y", e=0.5, name="above"))
    run = ex.simulate(system, ex.FESD(h=1e-2), throw=False)
    assert run.status.name == "no_active_set"
