"""Coulomb friction in space: closed forms, the cone, both solvers, planar twins, refusals."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain import plain

import explorer as ex
from explorer import Contact, MechanicalSystem, MoreauJean
from explorer.errors import BadModel, NotApplicable
from explorer.kernels.friction.structures import ConeVectors
from explorer.models import models

G = 9.81
SOLVERS = ["nsgs", "apgd"]


def cross(a, b):
    """Return the third component of a x b."""
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


# -- closed forms -------------------------------------------------------------------------------


@pytest.mark.parametrize("cone", SOLVERS)
@pytest.mark.parametrize("heading", [0.3, 1.1, 2.9])
def test_on_level_ground_it_stops_along_a_straight_line(cone, heading):
    """v0^2 / (2 mu g) far in every direction, friction straight against the slip; then at rest."""
    block = models["block_across_slope"]()
    way = np.array([np.cos(heading), np.sin(heading)])
    for h in (1e-2, 1e-3):
        sol = ex.simulate(block, MoreauJean(h=h, cone=cone), alpha=0, heading=heading)
        assert sol.q[-1, :2] == pytest.approx(9 / (2 * 0.5 * G) * way, abs=3 * h)
        assert np.abs(cross(sol.q, way)).max() < 1e-12
        assert [e.kind for e in sol.events] == ["sticks"]
        assert sol.events[0].t == pytest.approx(3 / (0.5 * G), abs=h)
        slides = sol.doing[:, 0] == 1
        assert sol.lam_t[slides, 0] == pytest.approx(np.tile(-0.5 * G * way, (slides.sum(), 1)))
        assert np.abs(sol.v[-1]).max() < 1e-15


@pytest.mark.parametrize("change", [{}, {"alpha": 0.6}, {"alpha": 0.46365}, {"mu": 0}])
def test_on_a_slope_the_path_bends_as_the_hodograph_says(change):
    """|q - exact| <= C h with one C."""
    block = models["block_across_slope"]()
    for h in (8e-3, 2e-3, 5e-4):
        sol = ex.simulate(block, MoreauJean(h=h), **change)
        form = block.exact(sol.t, sol.rho)
        assert np.abs(sol.q - form["q"]).max() <= 3 * h
        assert np.abs(sol.v - form["v"]).max() <= 8 * h


def test_the_cone_is_round():
    """Another pair of directions in the plane of contact is the same contact."""
    runs = []
    for angle in (0.0, 0.4, 2.2):
        block = models["block_across_slope"]()
        (v_x, v_y, _), c, s = block.v, np.cos(angle), np.sin(angle)
        contact = block.contacts[0]
        block.contacts = ()
        block.contact(Contact(contact.gap, mu="mu", slip=(c * v_x + s * v_y, c * v_y - s * v_x)))
        runs.append(ex.simulate(block))
    for sol in runs[1:]:
        assert np.abs(sol.q - runs[0].q).max() < 1e-12
        assert np.hypot(*sol.p_t[:, 0].T) == pytest.approx(np.hypot(*runs[0].p_t[:, 0].T))


def test_a_block_on_a_circling_table_slips_at_an_even_speed():
    """|slip|^2 = (A omega)^2 - (mu g / omega)^2 once it runs its own circle: no pyramid does that."""
    sol = ex.simulate(models["stack"](n=1), MoreauJean(h=5e-4), t_end=8)
    A, omega, mu = (sol.rho[k] for k in ("A", "omega", "mu"))
    speed = np.hypot(*sol.slip[-2000:, 0].T)
    assert speed == pytest.approx(np.sqrt((A * omega) ** 2 - (mu * G / omega) ** 2), rel=2e-3)
    own = np.hypot(*sol.v[-2000:, :2].T)
    assert own == pytest.approx(mu * G / omega, rel=2e-3)


# -- twins --------------------------------------------------------------------------------------


def coupled(spatial, mu_s=None, planar=False, e_t=0.1):
    """Return two blocks on a rough floor and a spring, one beside a wall; with an idle direction."""
    system = MechanicalSystem(
        "two blocks", q="x1 y1 z1 x2 y2 z2", params={"k": 60.0, "mu": 0.3, "f": 6.0, "w": 5.0},
        mass=np.diag([1, 1, 1, 2, 2, 2]).tolist(),
        force=["k*(x2 - x1)", "k*(y2 - y1)", "-9.81 + 5*sin(9*t)",
               "k*(x1 - x2) + f*cos(w*t)", f"k*(y1 - y2) + {int(not planar)}*f*sin(w*t)", "-19.62"],
        start={"q": [0, 0, 0, 0.2, 0, 0], "v": [1.5, 0, 0, 0, 0, 0], "t_end": 1.0, "h": 2e-3},
    )  # fmt: skip
    for k in (1, 2):
        slip = (f"v_x{k}", f"v_y{k}") if spatial else f"v_x{k}"
        system.contact(Contact(f"z{k}", 0.2, f"floor {k}", mu="mu", slip=slip, mu_s=mu_s, e_t=e_t))
    system.contact(Contact("0.22 - x1", 0.5, "wall"))
    return system


@pytest.mark.parametrize("mu_s", [None, "1.3*mu"])
@pytest.mark.parametrize("cone", SOLVERS)
def test_with_an_idle_direction_it_is_friction_along_a_line(cone, mu_s):
    """Static friction and restitutions included; what holds and slides too."""
    scheme = MoreauJean(cone=cone, lcp_tol=1e-13)
    space = ex.simulate(coupled(True, mu_s, planar=True), scheme)
    line = ex.simulate(coupled(False, mu_s, planar=True), scheme)
    assert not space.slip[..., 1].any()
    for name in ("q", "v", "p"):
        assert np.abs(getattr(space, name) - getattr(line, name)).max() < 1e-9
    assert np.abs(space.p_t[..., 0] - line.p_t).max() < 1e-9
    assert (space.doing == np.abs(line.doing)).all()
    assert {1, 2, -1} <= set(line.doing.ravel())


def test_both_solvers_find_the_same_motion_and_no_energy_is_born():
    one, two = (
        ex.simulate(coupled(True, e_t=0), MoreauJean(cone=cone, lcp_tol=1e-13), f=0)
        for cone in SOLVERS
    )
    assert np.abs(one.q - two.q).max() < 1e-9
    assert (one.p[1:, 2] > 0).any()
    work = np.diff(one.contact_work.sum(axis=1) + one.friction_work.sum(axis=1))
    assert work.max() <= 1e-12
    moves = np.abs(np.diff(np.arctan2(one.slip[:, 0, 1], one.slip[:, 0, 0])))
    assert moves.max() > 0.1


def test_planar_spatial_and_smooth_contacts_in_one_problem():
    """A line of friction beside a plane of it: |p_1| <= mu p, and the free direction stays free."""
    runs = []
    for cone in SOLVERS:
        system = coupled(True)
        system.contacts = system.contacts[1:]
        system.contact(Contact("z1", 0.2, "rail", mu="mu", slip="v_x1"))
        runs.append(ex.simulate(system, MoreauJean(cone=cone, lcp_tol=1e-13)))
    assert np.abs(runs[0].q - runs[1].q).max() < 1e-9
    rail = runs[0].p_t[:, 2]
    assert not rail[:, 1].any()
    assert {-1, 1} <= set(runs[0].doing[:, 2])
    assert set(runs[0].doing[:, 0]) <= {0, 1, 2}


# -- the law ------------------------------------------------------------------------------------


def problem():
    """Return four coordinates on which three contacts meet; all their directions are parameters."""
    rows = {f"{r}{k}{j}": 0.0 for r in "nab" for k in range(3) for j in range(4)}
    system = MechanicalSystem(
        "problem", q=4, params={**rows, "mu": 0.5, **{f"u{j}": 0.0 for j in range(4)}},
        start={"q": [0] * 4, "v": [f"u{j}" for j in range(4)], "t_end": 1e-3, "h": 1e-3},
    )  # fmt: skip
    q, v = system.q, system.v
    for k in range(3):
        n, a, b = (
            sum(f * system.symbols()[f"{r}{k}{j}"] for j, f in enumerate(x))
            for r, x in (("n", q), ("a", v), ("b", v))
        )
        system.contact(Contact(n, mu=f"{1 - k / 4}*mu", slip=(a, b)))
    return system


PROBLEM = problem()


@pytest.mark.parametrize("cone", SOLVERS)
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), mu=st.floats(0, 0.7))
def test_every_contact_is_open_or_sticks_or_slides_on_its_cone(cone, seed, mu):
    """0 <= w_n perp p >= 0, |p_t| <= mu p, p_t against the slip, on the cone where there is any."""
    draw = np.random.default_rng(seed)
    values = {k: float(x) for k, x in zip(PROBLEM.parameters, draw.normal(size=41), strict=True)}
    scheme = MoreauJean(cone=cone, lcp_tol=1e-11)
    sol = ex.simulate(PROBLEM, scheme, rho=values | {"mu": mu})
    on = sol.gap_dot[0] <= 0
    p, w, p_t, slip = sol.p[1, on], sol.gap_dot[1, on], sol.p_t[1, on], sol.slip[1, on]
    size, speed, most = np.hypot(*p_t.T), np.hypot(*slip.T), sol.p_max[1, on]
    assert (p >= 0).all()
    assert (w >= -1e-8).all()
    assert np.abs(np.minimum(p, w)).max(initial=0) <= 1e-8
    assert most == pytest.approx((mu * (1 - np.arange(3) / 4))[on] * p, abs=1e-15)
    assert (size <= most + 1e-12).all()
    assert np.abs((p_t * slip).sum(axis=1) + most * speed).max(initial=0) <= 1e-8
    assert sol.kinetic[1] <= sol.kinetic[0] + 1e-9


# -- what is said -------------------------------------------------------------------------------


def test_what_does_not_converge_keeps_its_state_and_says_what_might():
    scheme = MoreauJean(cone="apgd", lcp_max=1, lcp_tol=1e-16)  # round-off
    sol = ex.simulate(coupled(True), scheme, throw=False)
    assert sol.t[-1] > 0
    assert sol.status.name == "lcp_iterations"
    assert "natural residual" in sol.status.message
    assert "neither cone='apgd' nor cone='nsgs' solved" in sol.status.message
    assert "smaller h, a larger lcp_max" in sol.status.message
    assert np.isfinite(sol.q).all()
    assert sol.t[-1] == pytest.approx(sol.status.t)


def test_a_coefficient_that_turns_negative_stops_the_run():
    """mu = 0.3 - x / 4 along a line and in space: steps, events, elements; the state before is kept."""
    for slip, schemes in (
        ("v_x", (MoreauJean(h=1e-3), ex.EventDriven(), ex.FESD(h=1e-2))),
        (("v_x", "v_y"), (MoreauJean(h=1e-3),)),
    ):  # fmt: skip
        block = MechanicalSystem(
            "block", q="x y z", force=[0, 0, -G], start={"q": [0] * 3, "v": [4, 1, 0], "t_end": 1},
            contacts=[Contact("z", mu="0.3 - x/4", slip=slip, name="floor")],
        )  # fmt: skip
        for scheme in schemes:
            sol = ex.simulate(block, scheme, throw=False)
            assert sol.status.name == "improper_friction"
            assert "friction of 'floor'" in sol.status.message
            assert "0 <= mu <= mu_s" in sol.status.message
            assert sol.q[-1, 0] == pytest.approx(1.2, abs=4e-2)
    for scheme in (MoreauJean(), ex.EventDriven(), ex.FESD()):
        with pytest.raises(ex.BadValue, match=r"mu = -0\.2.*0 <= mu <= mu_s"):
            ex.simulate(models["block_on_slope"](), scheme, mu=-0.2)


def test_what_is_no_friction_in_space_is_refused():
    block = models["block_across_slope"]()
    for slip, words in (
        (("v_x", "v_y", "v_z"), "3 directions"), (("v_x", "2*v_x"), "along the same line"),
        (("v_x", "x"), "depends on no velocity"),
    ):  # fmt: skip
        with pytest.raises(BadModel, match=words):
            block.contact(Contact("z + 1", mu=0.1, slip=slip))
    with pytest.raises(NotApplicable, match=r"friction in space(.|\n)*MoreauJean"):
        ex.simulate(block, ex.EventDriven())
    assert [type(s).__name__ for s in ex.schemes_for(block)] == ["MoreauJean"]


def test_it_is_displayed_saved_balanced_and_drawn(tmp_path):
    system = models["stack"](n=2)
    assert r"\mathrm{Sgn}" in system._repr_markdown_()
    sol = ex.simulate(system, A=0, t_end=0.2, v0=[1, 0, 0, 0, 0.5, 0])
    again = ex.rerun(ex.load(sol.save(tmp_path / "run")))
    assert np.array_equal(again.p_t, sol.p_t)
    assert np.abs(ex.study.energy_balance(sol).numerical).max() < 1e-10
    assert "friction" in ex.views.friction(sol).layout.yaxis.title.text


def test_a_step_of_projected_gradients_projects_on_the_cones():
    """z - x is normal to the cone at x; uphill is the gradient times the way gone."""
    cone = plain("friction.cone")
    draw = np.random.default_rng(5)
    for m in (1, 4, 9):
        for _ in range(20):
            mu, L = draw.random(m) * draw.choice([0, 1, 3]), 0.2 + draw.random()
            vec = ConeVectors(*draw.normal(size=(8, 3 * m)), *draw.normal(size=(2, m)))
            vec.size[:] = 0.1 + draw.random(m)
            size = vec.size.repeat(3)
            g = vec.DY + vec.q
            g[::3] += vec.shift
            z = vec.Y - g / (L * size)
            uphill = cone.descend(SimpleNamespace(m=m, mu=mu, vec=vec), L)
            x = vec.P
            (n, *t), (w_n, *w_t) = x.reshape(m, 3).T, (z - x).reshape(m, 3).T
            assert (np.hypot(*t) <= mu * n + 1e-10).all()
            assert (mu * np.hypot(*w_t) <= -w_n + 1e-10).all()
            np.testing.assert_allclose((x * (z - x)).reshape(m, 3).sum(axis=1), 0, atol=1e-10)
            assert uphill == pytest.approx(g @ (x - vec.P_old), rel=1e-10, abs=1e-10)
