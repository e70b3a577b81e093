"""Forces of contacts in the picture: where they act, and that they are those of the run."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import sympy as sp
from kinds import SYSTEMS

import explorer as ex
from explorer.compiled.contact_points import OUTPUTS, contact_points
from explorer.systems import LagrangianSystem
from explorer.systems.discs import SLOTS
from explorer.views.drawing import contact_arrows
from explorer.views.drawing.contact_arrows import _states, arrows_of
from explorer.views.drawing.disc_places import OfDiscs
from explorer.views.drawing.pictured import shapes_of
from explorer.views.mechanism import frames

NOT_PLANE = {"ball_on_plate", "block_across_slope", "stack"}  # drawn aslant
# contacts that change partners; too fine a picture; a gap along the circumference of a wheel
WITHOUT = {"disc_pile", "spinning_top", "gear_rattle"}


def test_friction_in_space_is_seen_in_a_picture_from_above_and_aslant():
    run = ex.simulate(ex.models.block_across_slope(), t_end=0.1)
    first = every_row(run)["forces"][0]
    m, mu, g, alpha = (run.rho[k] for k in ("m", "mu", "g", "alpha"))
    assert first[5:7] == pytest.approx([0, 0], abs=1e-9), "the normal force is seen from above"
    v = run.v[int(first[0])]
    along = np.array([v[1], -v[0]]) / np.hypot(*v[:2])  # downhill is down
    friction = mu * m * g * np.cos(alpha)
    assert first[7:9] == pytest.approx(-friction * along, rel=2e-2)
    stack = ex.simulate(ex.models.stack(), t_end=0.05)
    rows = every_row(stack)["forces"]
    rows = rows[rows[:, 0] == rows[-1, 0]]
    weight = stack.rho["m"] * stack.rho["g"]
    assert rows[:, 6].max() == pytest.approx(2 * weight, rel=1e-3)  # under both blocks
    between = rows[rows[:, 1] == 1]
    assert len(between) == 2
    assert between[:, 5:9].sum(axis=0) == pytest.approx(0, abs=1e-5)


def test_discs_carry_each_other():
    """The forces on all discs together change their momentum, besides the weight."""
    run = ex.simulate(ex.models.disc_pile())
    rows = arrows_of(run, np.array([len(run.t) - 1]))["forces"]
    mass = np.diag(np.array([[float(x.subs(run.rho)) for x in row] for row in _mass(run)]))
    total = rows[:, 5:7].sum(axis=0) + rows[:, 7:9].sum(axis=0)
    gained = mass * (run.v[-1] - run.v[-2]) / (run.t[-1] - run.t[-2])
    weight = mass[1::3].sum() * run.rho["g"]
    assert total == pytest.approx(
        [gained[::3].sum(), gained[1::3].sum() + weight], abs=1e-2 * weight
    )
    q = run.q[-1].reshape(-1, 3)[:, :2]
    for row in rows:  # each acts on the rim of some disc
        near = np.hypot(*(q - row[3:5]).T)
        assert np.isclose(near, _radii(run), atol=2e-3 * _radii(run).max()).any()


def _mass(run):
    M = sp.Matrix(run.system.mass)
    return M.tolist()


def _radii(run) -> np.ndarray:
    return np.array([float(sp.sympify(r).subs(run.rho)) for r in run.system.radii])


def with_contacts() -> list[str]:
    return sorted(
        name for name, system in SYSTEMS.items()
        if isinstance(system, LagrangianSystem) and system.contacts
        and name not in NOT_PLANE | WITHOUT
    )  # fmt: skip


def every_row(run: ex.Solution):
    return arrows_of(run, np.arange(len(run.t)))


def rows_of(run: ex.Solution) -> np.ndarray:
    rho = np.tile([*run.rho.values()], (len(run.t), 1))
    return np.column_stack([run.t, run.q, run.v, rho])


@pytest.mark.broad
@pytest.mark.parametrize("name", with_contacts())
def test_a_force_does_the_work_of_its_contact(name):
    """n times the velocity of the point, relative to that of the other body, is the gap's rate."""
    run = ex.simulate(SYSTEMS[name], throw=False)
    assert shapes_of(run)
    assert arrows_of(run, np.zeros(1, int)) is not None
    states = rows_of(run)[:: max(1, len(run.t) // 40)]
    found = contact_points(run.system, states)
    assert found is not None
    n = run.system.n
    rates = run.gap_dot[:: max(1, len(run.t) // 40)]
    for state, rate in zip(states, rates, strict=True):
        step = 1e-6
        ends = []
        for side in (step, -step):
            moved = state.copy()
            moved[0] += side
            moved[1 : 1 + n] += side * state[1 + n : 1 + 2 * n]
            ends.append(np.asarray(found.native(moved)).reshape(-1, OUTPUTS).copy())
        here = np.asarray(found.native(state.copy())).reshape(-1, OUTPUTS)
        for k, c in enumerate(found.contacts):
            before = ends[0][k, :2] - ends[0][k, 6:8] * found.paired[k]
            after = ends[1][k, :2] - ends[1][k, 6:8] * found.paired[k]
            speed = (before - after) / (2 * step) @ here[k, 2:4]
            symbols = {s.name for s in run.system.contacts[c].gap.free_symbols}
            if "t" not in symbols:  # of a floor that moves the gap changes by itself
                assert speed == pytest.approx(
                    rate[c], rel=1e-6, abs=1e-6 * (1 + np.abs(rates).max())
                )


def test_a_ball_at_rest_is_carried_where_it_touches():
    run = ex.simulate(ex.models.bouncing_ball(), ex.MoreauJean(h=1e-3), t_end=12.0)
    ball = every_row(run)
    last = ball["forces"][-1]
    assert last[2] == 3  # closed
    assert last[3:5] == pytest.approx([0, run.q[-1, 0]], abs=1e-6)  # below, on the rim of the disc
    assert last[5:7] == pytest.approx([0, run.rho["m"] * run.rho["g"]], rel=2e-3)
    for hit, e in zip(ball["impulses"], [e for e in run.events if e.kind == "impact"], strict=True):
        change = run.rho["m"] * (e.v_plus[0] - e.v_minus[0])
        assert hit[0] == pytest.approx(e.t)
        weight = run.rho["m"] * run.rho["g"] * 1e-3  # of the step
        assert hit[4:] == pytest.approx([0, change], abs=1.001 * weight)
    assert ball["impulse"] == pytest.approx(ball["impulses"][:, 5].max())


def test_what_lies_on_a_slope_is_held_against_its_weight_within_the_cone():
    run = ex.simulate(ex.models.block_on_slope(), ex.EventDriven(rtol=1e-10, atol=1e-12))
    last = every_row(run)["forces"][-1]
    normal, friction, mu = last[5:7], last[7:9], last[9]
    assert last[2] == 2  # sticks
    assert normal + friction == pytest.approx([0, run.rho["m"] * run.rho["g"]], abs=1e-5)
    assert normal @ friction == pytest.approx(0, abs=1e-5)
    assert mu == pytest.approx(run.rho["mu"])
    assert np.hypot(*friction) <= mu * np.hypot(*normal)


def test_bodies_push_each_other_with_opposite_forces():
    run = ex.simulate(ex.models.newtons_cradle())
    hits = every_row(run)["impulses"]
    assert len(hits) % 2 == 0
    assert hits[:, 4:].sum(axis=0) == pytest.approx([0, 0], abs=1e-5)
    first, second = hits[0], hits[1]
    assert first[:2] == pytest.approx(second[:2])
    assert first[2:4] == pytest.approx(second[2:4], abs=2e-2)  # where the balls touch


def test_a_point_on_a_line_is_pushed_along_the_axis_of_its_wall():
    run = ex.simulate(ex.models.pendulum_wall())
    hits = every_row(run)["impulses"]
    assert len(hits)
    assert (hits[:, 4] > 0).all()
    assert hits[:, 5] == pytest.approx(0)


def test_contacts_without_a_point_are_named_or_nothing_is_drawn():
    assert arrows_of(ex.simulate(ex.models.thermostat()), np.arange(3)) is None
    system = ex.MechanicalSystem(
        "two", q="x y", mass=[[1, 0], [0, 1]], force=["0", "-g"], params={"g": 9.81},
        contacts=[ex.Contact("y", e=0, name="floor"), ex.Contact("4 - x**2 - y", e=0, name="dome")],
        start={"q": [0, 1], "v": [0.5, 0], "t_end": 1.0},
    )  # fmt: skip
    run = ex.simulate(system)
    assert shapes_of(run)
    drawn = every_row(run)
    assert drawn["contacts"] == ["floor", "dome"]
    assert drawn["unknown"] == []  # a dome acts at the same point, along its own gradient


def test_forces_that_stay_are_sent_once_and_all_are_few():
    run = ex.simulate(ex.models.bouncing_ball(), ex.MoreauJean(h=1e-3), t_end=12.0)
    rests = every_row(run)
    assert (np.diff(rests["forces"][:, 0]) > 0).all()
    assert len(rests["forces"]) < 60  # of some thousand steps at rest
    assert set(rests["forces"][:, 0]) <= {*rests["changes"]}
    sliding = every_row(ex.simulate(ex.models.stick_slip()))
    assert 20 < len(sliding["forces"]) <= 160
    film = frames(run)
    assert set(film["arrows"]["changes"]) <= set(range(len(film["t"])))


def test_the_first_disc_is_a_partner_and_no_wall():
    """Normals point from the partner to the disc; a wall has its own."""
    q = np.array([[0.0, 0, 9, 3, 4, 9, -1, 0, 9]])
    slots = SLOTS
    places = SimpleNamespace(
        solution=SimpleNamespace(q=q, partner=np.array([[0, 1, -1]])), contacts=[slots, 2 * slots, 2 * slots + 1],
        walls=np.array([[0.0, 1.0, 0.5]]), radii=np.array([0.5, 1.0, 2.0]),
    )  # fmt: skip
    found = OfDiscs.at(places, np.array([0]))[0]
    apart = np.array([-4.0, -4.0]) / 32**0.5
    np.testing.assert_allclose(found[:, 2:4], [[0.6, 0.8], apart, [0, 1]])
    own, radius = np.array([[3.0, 4], [-1, 0], [-1, 0]]), np.array([[1.0], [2], [2]])
    np.testing.assert_allclose(found[:, :2], own - radius * found[:, 2:4])


def test_points_are_sought_at_states_of_the_run_and_near_them():
    """Aside by up to 5 % of how far each coordinate goes, one that rests by as much of 5 % of the farthest."""
    rng, n, rows = np.random.default_rng(3), 40, 21
    spans = np.append(10.0 ** rng.uniform(-3, 3, n - 1), 0.0)
    q = spans * np.append([np.zeros(n), np.ones(n)], rng.uniform(size=(rows - 2, n)), axis=0)
    run = SimpleNamespace(t=np.linspace(0, 2, rows), q=q, v=rng.normal(size=(rows, n)))
    found = _states(run, np.array([7.0, 8.0]))
    assert found.shape == (6, 1 + 2 * n + 2)
    assert (found[:, -2:] == [7, 8]).all()
    for half in (found[:3], found[3:]):
        assert half[:, 0].tolist() == [0, 1, 2]
        assert (half[:, 1 + n : 1 + 2 * n] == run.v[[0, 10, 20]]).all()
    own, aside = found[:3, 1 : 1 + n], found[3:, 1 : 1 + n]
    assert (own == q[[0, 10, 20]]).all()
    part = (aside - own) / (0.05 * np.maximum(spans, 0.05 * spans.max()))
    assert np.abs(part).max() <= 1
    assert np.abs(part[:, -1]).min() > 0, "also where it rests"
    assert np.linalg.matrix_rank(part) == 3, "in no common direction"
    assert part.min() < -0.5 < 0.5 < part.max()


def test_a_run_at_rest_is_looked_at_beside_its_state():
    still = SimpleNamespace(t=np.arange(4.0), q=np.ones((4, 3)), v=np.zeros((4, 3)))
    aside = _states(still, np.zeros(0))[3:, 1:4] - 1
    assert 0 < np.abs(aside).min() < np.abs(aside).max() <= 0.05**3


def test_a_row_without_a_force_shows_none(monkeypatch):
    """NaN stands where no force is known: nothing is drawn there, least of all a force of 1."""
    lam = np.array([[0.0], [2.0], [np.nan], [4.0], [4.0]])
    normal = np.zeros((5, 1, 8))
    normal[..., 3] = 1.0
    found = SimpleNamespace(
        contacts=(0,), at=lambda frames: normal[frames], paired=lambda frames: np.zeros((len(frames), 1), bool)
    )  # fmt: skip
    run = SimpleNamespace(lam=lam, lam_t=np.zeros((5, 1)), lam_max=0.5 * lam)
    monkeypatch.setattr(contact_arrows, "doing", lambda run: np.zeros((5, 1), int))
    monkeypatch.setattr(contact_arrows, "_friction", lambda lam_t, place: np.zeros((5, 1, 2)))
    changes, forces = contact_arrows._forces(found, run, np.arange(5))
    assert changes.tolist() == [0, 1, 2, 3]
    assert forces[:, [0, 6]].tolist() == [[1, 2], [3, 4]]  # frame and force
    assert forces[:, 9].tolist() == [0.5, 0.5]  # mu


@pytest.mark.parametrize(("turn", "told"), [(0.1, [0]), (1.0, [0, 1, 2])])
def test_a_small_force_that_turns_a_little_looks_as_before(monkeypatch, turn, told):
    """Of a five-hundredth of the largest one, turned by 0.1 rad, nobody sees a change."""
    place = np.zeros((3, 2, 8))
    place[:, :, 0] = [0.0, 0.01]  # in m: both stay where they are
    place[:, 0, 3] = 1.0
    place[:, 1, 2], place[:, 1, 3] = np.sin(turn * np.arange(3)), np.cos(turn * np.arange(3))
    lam = np.tile([5.0, 5.0 * 2 * contact_arrows._SEEN], (3, 1))
    found = SimpleNamespace(contacts=(0, 1), at=lambda frames: place[frames], paired=lambda frames: np.zeros((len(frames), 2), bool))  # fmt: skip
    run = SimpleNamespace(lam=lam, lam_t=np.zeros((3, 2)), lam_max=0.5 * lam)
    monkeypatch.setattr(contact_arrows, "doing", lambda run: np.zeros((3, 2), int))
    monkeypatch.setattr(contact_arrows, "_friction", lambda lam_t, place: np.zeros((3, 2, 2)))
    changes, forces = contact_arrows._forces(found, run, np.arange(3))
    assert changes.tolist() == told
    assert len(forces) == 2 * len(told)
