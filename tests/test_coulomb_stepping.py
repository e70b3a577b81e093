"""Coulomb friction by time stepping: Siconos's data, a twin, closed forms, events, refusals."""

import numpy as np
import pytest
from twin import DATA, Equations, moreau_jean

import explorer as ex
from explorer import Contact, MechanicalSystem, MoreauJean
from explorer.errors import BadValue, NotApplicable
from explorer.models import models

G = 9.81


def close(got, expected, tol=1e-10):
    """Equal to `tol`, absolutely and at every entry."""
    assert np.shape(got) == np.shape(expected)
    assert np.abs(np.asarray(got) - expected).max() <= tol


def kinds(sol):
    return [e.kind for e in sol.events]


# -- Siconos ------------------------------------------------------------------------------------


@pytest.mark.parametrize("lcp", ["lemke", "enumeration", "pgs"])
def test_woodpecker_is_siconos_woodpecker(lcp):
    """Coordinates and velocities of every stored row; the gallery's toy, any solver."""
    data = np.loadtxt(DATA / "Woodpecker.every10.dat")
    t_end = 0.3 if lcp == "lemke" else 0.15
    tight = {} if lcp == "lemke" else {"lcp_tol": 1e-13}
    sol = ex.simulate(models["woodpecker"](), MoreauJean(h=2e-5, lcp=lcp, **tight), t_end=t_end,
                      q0=[0, -0.1036, -0.2788], v0=[-0.3411, 4.8572e-15, -7.4583])  # fmt: skip
    rows = sol.t[::10]
    data = data[: len(rows)]
    assert len(data) >= 0.99 * len(rows)
    for got, column in (
        (rows, data[:, 0]),
        (sol.q[::10], data[:, 1::2]),
        (sol.v[::10], data[:, 2::2]),
    ):
        close(got[: len(data)], column)


def test_friction_oscillator_is_siconos_relay():
    """x'' + x + Sgn x' = 0 as a contact pressed by 1 N with mu = 1: impulses h lambda."""
    data = np.loadtxt(DATA / "FrictionOscillator.every5.dat")
    system = MechanicalSystem(
        "oscillator", q="x y", mass=[[1, 0], [0, 1]], force=["-x", "-1"],
        contacts=[Contact("y", mu=1, slip="v_x")], start={"q": [12, 0], "v": [6, 0]},
    )  # fmt: skip
    sol = ex.simulate(system, MoreauJean(h=0.01), t_end=100)
    rows = slice(None, None, 5)
    count = min(len(data), len(sol.t[rows]))
    close(sol.q[rows, 0][:count], data[:count, 1])
    close(sol.v[rows, 0][:count], data[:count, 2])
    close(sol.lam_t[rows, 0][1:count], data[1:count, 3], 1e-8)
    assert [k for k in kinds(sol) if k != "closed"] == ["turns"] * 7 + ["sticks"]
    assert np.abs(sol.v[-1]).max() < 1e-14


# -- the twin -----------------------------------------------------------------------------------

H = np.array([[0.0, 1.0, 0.2, 0.0], [0.1, -1.0, 0.0, 1.0], [0.0, 0.0, -0.3, -1.0]])
T = np.array([[1.0, 0.3, 0.0, 0.1], [-0.6, 0.2, 1.0, 0.0], [0.4, 0.0, 0.7, -0.3]])
B = np.array([0.02, 0.05, 0.04])
MASS = np.array(
    [[1.0, 0.2, 0.0, 0.1], [0.2, 2.0, 0.1, 0.0], [0.0, 0.1, 1.5, 0.3], [0.1, 0.0, 0.3, 0.8]]
)
STIFF = np.diag([30.0, 20.0, 10.0, 25.0]) - 4.0 * np.eye(4, k=1) - 4.0 * np.eye(4, k=-1)


@pytest.mark.parametrize("mu", [0.0, 0.2, 0.9])
@pytest.mark.parametrize("theta", [0.5, 1.0])
def test_three_coupled_contacts_are_their_twin(mu, theta):
    """Four coordinates, three contacts that meet, stick and slide together; random enough."""
    e, h, t_end = np.array([0.0, 0.6, 0.3]), 2e-3, 0.5
    start = [0.3, 0.02, -0.2, 0.0], [2.0, -1.5, 1.0, 2.7]
    system = MechanicalSystem("coupled", q=4, mass=MASS, start=dict(zip("qv", start, strict=True)))
    q, v = np.array(system.q), np.array(system.v)
    system.force = [*(-STIFF @ q + np.array([1, -9, 4, 3]))]
    for k in range(3):
        system.contact(Contact(H[k] @ q + B[k], e[k], mu=mu, slip=T[k] @ v))
    twin = Equations(
        mass=lambda q: MASS, force=lambda t, q, v: np.array([1.0, -9.0, 4.0, 3.0]) - STIFF @ q,
        K=lambda t, q, v: STIFF, C=lambda t, q, v: np.zeros((4, 4)), gap=lambda t, q: H @ q + B,
        G=lambda t, q: H, gap_t=lambda t, q: np.zeros(3), e=e, tangents=lambda t, q: T,
        mu=np.full(3, mu),
    )  # fmt: skip
    form = moreau_jean(twin, *start, h, t_end, theta=theta)
    for lcp, tol in (("lemke", 1e-9), ("enumeration", 1e-9), ("pgs", 1e-13)):
        sol = ex.simulate(system, MoreauJean(h=h, theta=theta, lcp=lcp, lcp_tol=tol), t_end=t_end)
        for got, expected in zip((sol.t, sol.q, sol.v, sol.p), form, strict=True):
            close(got, expected, 1e-9)
    assert {1, -1} <= set(sol.doing.ravel())
    assert mu < 0.9 or (sol.doing == 2).all(axis=1).sum() < (sol.doing == 2).any(axis=1).sum()


@pytest.mark.parametrize("mass_point", ["iterate", "q_star"])
def test_a_falling_rod_with_friction_is_its_twin(mass_point):
    """G and the tangent turn with the rod; friction in Newton's iteration."""
    length, mu, h, t_end = 1.0, 0.3, 2e-3, 0.5
    rod = MechanicalSystem(
        "rod", q="x y th", mass=[[1, 0, 0], [0, 1, 0], [0, 0, 1 / 12]], force=[0, "-9.81", 0],
        contacts=[Contact("y - sin(th)/2", 0.2, mu=mu, slip="v_x + sin(th)/2*v_th")],
        start={"q": [0, 0.55, 1.0], "v": [0.3, 0, 0]},
    )  # fmt: skip
    twin = Equations(
        mass=lambda q: np.diag([1, 1, length / 12]), force=lambda t, q, v: np.array([0, -G, 0]),
        K=lambda t, q, v: np.zeros((3, 3)), C=lambda t, q, v: np.zeros((3, 3)),
        gap=lambda t, q: np.array([q[1] - np.sin(q[2]) / 2]), gap_t=lambda t, q: np.zeros(1),
        G=lambda t, q: np.array([[0, 1, -np.cos(q[2]) / 2]]), e=np.array([0.2]), mu=np.array([mu]),
        tangents=lambda t, q: np.array([[1, 0, np.sin(q[2]) / 2]]),
    )  # fmt: skip
    sol = ex.simulate(rod, MoreauJean(h=h, mass_point=mass_point, newton_tol=1e-14), t_end=t_end)
    form = moreau_jean(
        twin, [0, 0.55, 1.0], [0.3, 0, 0], h, t_end, mass_point=mass_point, tol=2e-14
    )
    for got, expected in zip((sol.t, sol.q, sol.v, sol.p), form, strict=True):
        close(got, expected, 1e-9)
    assert {1, 2, -1} & set(sol.doing[:, 0])


# -- closed forms -------------------------------------------------------------------------------


@pytest.mark.parametrize(("mu", "alpha", "event"), [(0.6, 0.4, "sticks"), (0.3, 0.7, "turns")])
def test_a_block_thrown_up_a_slope_to_first_order(mu, alpha, event):
    """|x - exact| <= C h with one C; where it stays it does not creep."""
    system = models["block_on_slope"]()
    for h in (4e-3, 1e-3, 2.5e-4):
        sol = ex.simulate(system, MoreauJean(h=h), mu=mu, alpha=alpha)
        form = system.exact(sol.t, sol.rho)
        assert np.abs(sol.q - form["q"]).max() <= 4 * h
        assert kinds(sol) == [event]
        assert sol.events[0].t == pytest.approx(
            3 / (G * (np.sin(alpha) + mu * np.cos(alpha))), abs=2 * h
        )
        if event == "sticks":
            assert np.abs(sol.v[-100:]).max() == 0
            assert sol.lam_t[-1, 0] == pytest.approx(G * np.sin(alpha), rel=1e-10)


@pytest.mark.parametrize("theta", [0.5, 1.0])
def test_stick_slip_has_its_cycle(theta):
    """Static friction above the kinetic one: sticking and sliding times to first order."""
    from explorer.models.stick_slip import cycle

    system = models["stick_slip"]()
    for h in (2e-3, 5e-4):
        sol = ex.simulate(system, MoreauJean(h=h, theta=theta))
        events = [e for e in sol.events if e.kind != "closed"]
        assert [e.kind for e in events[:4]] == ["slips", "sticks", "slips", "sticks"]
        spans = np.diff([0.0, *(e.t for e in events)])
        form = cycle(**{k: sol.rho[k] for k in ("m", "k", "mu_s", "mu", "g", "v")})
        assert spans[0::2] == pytest.approx(form[0], abs=8 * h)
        assert spans[1::2] == pytest.approx(form[1], abs=8 * h)


def test_a_disc_takes_the_impulse_of_coulomb_or_rolls_on():
    """Its first impact, beside the event-driven one: the same impulses, up to O(h)."""
    disc = MechanicalSystem(
        "disc", q="x y phi", params={"R": 0.1, "mu": 0.012, "e": 0.6, "e_t": 0.0},
        mass=[[1, 0, 0], [0, 1, 0], [0, 0, "R**2/2"]], force=[0, "-9.81", 0],
        contacts=[Contact("y - R", "e", mu="mu", slip="v_x + R*v_phi", e_t="e_t")],
        start={"q": [0, 1, 0], "v": [2, 0, -30], "t_end": 0.6},
    )  # fmt: skip
    with pytest.raises(NotApplicable, match=r"tangential restitution(.|\n)*MoreauJean"):
        ex.simulate(disc, ex.EventDriven())
    for mu, e_t in ((0.012, 0.0), (0.9, 0.0), (0.9, 0.7)):
        sol = ex.simulate(disc, MoreauJean(h=1e-4), mu=mu, e_t=e_t)
        hit = next(e for e in sol.events if e.kind == "impact")
        p, p_t, before = hit.impulse, sol.p_t[hit.row, 0], sol.slip[hit.row - 1, 0]
        assert before == pytest.approx(-1)
        grip = -before * (1 + e_t) / 3  # of m = 1: slip changes by 3 p_t
        assert p_t == pytest.approx(min(grip, mu * p), rel=1e-12)
        if p_t < mu * p:
            assert sol.slip[hit.row, 0] == pytest.approx(-e_t * before, rel=1e-12)
        work = np.diff(sol.contact_work + sol.friction_work, axis=0)
        assert work.max() <= 1e-12


def test_redundant_corners_hold_a_block_and_let_it_slide():
    """Two corners, four impulses, three coordinates: the block rests, sticks, then slides."""
    block = MechanicalSystem(
        "block", q="x y phi", mass=[[1, 0, 0], [0, 1, 0], [0, 0, 0.2]], params={"mu": 0.4, "f": 3.0},
        force=["f", "-9.81", "-f/4"],
        contacts=[Contact(f"y - 1/4 + {s}*phi/2", mu="mu", slip="v_x + v_phi/4") for s in (1, -1)],
        start={"q": [0, 0.25, 0], "v": [0, 0, 0], "t_end": 0.5},
    )  # fmt: skip
    for lcp in ("lemke", "enumeration", "pgs"):
        still = ex.simulate(block, MoreauJean(h=1e-3, lcp=lcp, lcp_tol=1e-10))
        assert np.abs(still.v).max() < 1e-10
        assert still.lam_t[-1].sum() == pytest.approx(-3.0, rel=1e-6)
        slides = ex.simulate(block, MoreauJean(h=1e-3, lcp=lcp, lcp_tol=1e-10), f=5.0)
        assert slides.v[-1] == pytest.approx([0.5 * (5 - 0.4 * G), 0, 0], abs=1e-8)
        assert (slides.doing[1:] == 1).all()


# -- the gallery --------------------------------------------------------------------------------


def test_the_woodpecker_has_its_published_cycle():
    toy = models["woodpecker"]()
    sol = ex.simulate(toy, MoreauJean(h=2e-5), t_end=0.6)
    hits = [e for e in sol.events if e.kind == "impact" and e.contact == "beak"]
    numbers = {k.split(": ")[1].split(", in")[0]: v for k, v in toy.published.items()}
    period, tolerance, _ = numbers["period"]
    assert np.diff([e.t for e in hits]) == pytest.approx(period, abs=tolerance)
    lost, tolerance, _ = numbers["height lost in a period"]
    assert -np.diff([sol.q[e.row, 0] for e in hits]) == pytest.approx(lost, abs=tolerance)
    speed, tolerance, _ = numbers["speed of the beak's impact"]
    assert [e.v_minus[2] for e in hits] == pytest.approx([speed] * len(hits), abs=tolerance)
    assert [e.v_plus[2] for e in hits] == pytest.approx([-speed / 2] * len(hits), abs=tolerance)


# -- what is recorded, what is refused ------------------------------------------------------------


def test_energy_friction_and_a_saved_run(tmp_path):
    """Works add up; the record is written and read; the view draws it."""
    system = models["block_on_slope"]()
    sol = ex.simulate(system, alpha=0.7, mu=0.3)
    balance = ex.study.energy_balance(sol)
    assert balance.friction[-1] == pytest.approx(sol.friction_work[-1, 0])
    assert np.abs(balance.numerical).max() < 1e-10
    again = ex.load(sol.save(tmp_path / "run"))
    assert again.has("contacts")
    assert np.array_equal(again.doing, sol.doing)
    assert kinds(again) == kinds(sol)
    assert "friction" in ex.views.friction(sol).layout.yaxis.title.text


def test_coefficients_that_are_none_are_refused():
    for scheme in (MoreauJean(), ex.EventDriven()):
        with pytest.raises(BadValue, match=r"mu = -0\.1.*0 <= mu <= mu_s"):
            ex.simulate(models["block_on_slope"](), scheme, mu=-0.1)
        with pytest.raises(BadValue, match="0 <= mu <= mu_s"):
            ex.simulate(models["stick_slip"](), scheme, mu=0.9)
    system = models["block_on_slope"]()
    system.contacts = ()
    with pytest.raises(ex.BadModel, match="sliding velocity"):
        system.contact(Contact("y", e_t=0.5))
    system.contact(Contact("y", mu=0.5, e_t="2*m", slip="v_x"))
    with pytest.raises(BadValue, match="e_t = 2"):
        ex.simulate(system, MoreauJean())
    with pytest.raises(BadValue, match="three unknowns"):
        ex.simulate(many(5), MoreauJean(lcp="enumeration"))


def test_many_contacts_that_are_not_solved_are_told_what_helps_them():
    """One sweep is not enough, and no list of cases; a tolerance below round-off is named."""
    pile, h = models["disc_pile"](60), 4e-3
    for knobs, words in (
        ({"lcp_max": 1}, "a smaller h, a larger lcp_max, a larger lcp_tol, or lcp='pgs'."),
        ({"lcp_max": 1000, "lcp_tol": 1e-25}, "exceeds lcp_tol = 1e-25 (relative)"),
    ):
        run = ex.simulate(pile, MoreauJean(h=h, **knobs), t_end=0.5, throw=False)
        assert run.status.name == "lcp_iterations"
        assert words in run.status.message
        assert len(run.t) == run.status.step + 1


def many(n):
    """Return n blocks in a row on a rough floor, springs between them."""
    system = MechanicalSystem(
        "blocks", q=[f"{c}{i}" for i in range(n) for c in "xy"],
        mass=np.eye(2 * n).tolist(), start={"q": [0] * 2 * n, "v": [3, 0] + [0] * (2 * n - 2)},
    )  # fmt: skip
    x = [0, *system.q[0::2], 0]
    force = []
    for i in range(n):
        force += [50 * (x[i] + x[i + 2] - 2 * x[i + 1]), -G]
        system.contact(Contact(system.q[2 * i + 1], mu=0.1 + 0.02 * i, slip=system.v[2 * i]))
    system.force = force
    return system


def test_many_contacts_agree_by_every_solver():
    """Twelve blocks: the working set, and Gauss-Seidel contact by contact."""
    runs = [
        ex.simulate(many(12), MoreauJean(h=5e-3, lcp=lcp, lcp_tol=tol), t_end=1)
        for lcp, tol in (("lemke", 1e-9), ("pgs", 1e-13))
    ]
    close(runs[0].q, runs[1].q, 1e-9)
    assert {-1, 1, 2} <= set(runs[0].doing.ravel())
