"""Models with friction for time stepping: Siconos's data, published numbers, closed forms, limits."""

import numpy as np
import pytest
from scipy import optimize
from twin import Equations, moreau_jean

import explorer as ex
from explorer import MoreauJean
from explorer.compiled import compile_system, lifting
from explorer.errors import ModelWarning
from explorer.models import models

G = 9.81


def published(model):
    return [x[:2] for x in model.published.values()]


# -- slider-crank ---------------------------------------------------------------------------------


def test_the_slider_crank_is_that_of_siconos_through_its_first_impact():
    """Rows of its reference file: theta1 / 2 pi, theta2, theta1', theta2'; then it projects.

    With as many Newton iterations: one in a smooth step, two at the impact.
    """
    scheme = MoreauJean(h=1e-4, mass_point="iterate", newton_tol=1e-6)
    sol = ex.simulate(models["slider_crank"](), scheme, t_end=4.8e-3)
    assert sol.iterations[[1, 27, 28]].tolist() == [1, 1, 2]
    rows = {
        5: (1.185029555479971e-02, -3.716952291398408e-02, 146.8904598442197, -73.09526081106151),
        27: (5.676813824747703e-02, -1.721990439245195e-01, 109.9160132198201, -49.52078745188849),
    }
    for row, expected in rows.items():
        q, v = sol.q[row], sol.v[row]
        assert (q[0] / (2 * np.pi), q[1], v[0], v[1]) == pytest.approx(expected, abs=1e-12)
    hit = next(e for e in sol.events if e.kind == "impact")
    assert hit.row == 28
    numbers = published(sol.system)
    for got, (number, tolerance) in zip(hit.v_plus[:2], numbers, strict=True):
        assert got == pytest.approx(number, abs=tolerance)
    pushes = sol.p[28][sol.p[28] > 0]
    assert pushes == pytest.approx([5.634395388765537e-2, 5.578331753056426e-2], rel=1e-12)
    assert np.abs(sol.doing[28]).sum() == 2  # both slide


@pytest.mark.parametrize(("h", "t_end", "mu", "near"), [
    (1e-4, 0.03, 0.2, 1e-9), (2e-5, 0.04, 0.01, 1e-8),
])  # fmt: skip
def test_the_slider_crank_is_its_twin_through_impacts(h, t_end, mu, near):
    """Equal active sets in each step, up to 2000 of them; four corners, two of them at a time."""
    system = models["slider_crank"]()
    compiled = compile_system(system)
    rho = system.rho({"mu": mu})

    def at(t, q, v=(0, 0, 0)):
        inp = compiled.input(rho)
        inp[: 1 + 2 * 3] = [t, *q, *v]
        return inp

    def gap(t, q):
        return compiled.bundles["gap"](at(t, q))

    def rows(t, q):
        full = np.zeros((8, 3))
        values = gap(t, q)[12:]
        for r in range(8):
            here = slice(*compiled.gap_ptr[r : r + 2])
            full[r, compiled.gap_col[here]] = values[here]
        return full

    twin = Equations(
        mass=lambda q: compiled.matrices(at(0, q))[0],
        force=lambda t, q, v: compiled.forces(at(t, q, v)),
        K=lambda t, q, v: compiled.matrices(at(t, q, v))[1],
        C=lambda t, q, v: compiled.matrices(at(t, q, v))[2],
        gap=lambda t, q: gap(t, q)[:4], G=lambda t, q: rows(t, q)[:4],
        gap_t=lambda t, q: np.zeros(4), tangents=lambda t, q: rows(t, q)[4:], e=np.full(4, 0.4),
        mu=np.full(4, mu),
    )  # fmt: skip
    scheme = MoreauJean(h=h, mass_point="iterate", newton_tol=1e-14)
    sol = ex.simulate(system, scheme, t_end=t_end, mu=mu)
    form = moreau_jean(twin, sol.q[0], sol.v[0], h, t_end, tol=2e-13)
    assert len(sol.t) == len(form[0])
    assert (sol.p > 0).sum() > 20
    assert np.array_equal(sol.p > 0, form[3] > 0)
    assert np.abs(sol.q - form[1]).max() <= near
    assert np.abs(sol.v - form[2]).max() <= 1e3 * near
    assert sol.energy[-1] < sol.energy[0]


# -- rod ------------------------------------------------------------------------------------------


def test_the_paradox_of_the_rod_begins_at_four_thirds():
    """The least D_nn / |D_nt| over all angles, at tan(theta) = 2: from the system alone."""
    system = models["falling_rod"]()
    compiled, angle = compile_system(system), np.linspace(0.01, np.pi / 2, 20001)
    q = np.column_stack([np.zeros((len(angle), 2)), angle])
    D_nn, D_nt, mu = lifting(compiled, system.rho(), np.zeros(len(angle)), q, np.zeros_like(q))
    least = D_nn[:, 0] / np.abs(D_nt[:, 0])
    (number, tolerance), _ = published(system)
    assert least.min() == pytest.approx(number, abs=1e-7)
    assert np.tan(angle[least.argmin()]) == pytest.approx(2, abs=1e-3)
    assert tolerance <= 1e-7
    assert (mu == 0.5).all()


def border(mu):
    """Return where the sliding rod (m = l = 1) comes to the paradox: angle, turn, a and b.

    Derivatives of the compiled system, not formulas: with A p = b_n and dt = A ds, theta and its
    rate go to the point with exp(a s) and exp(b s) (Genot, Brogliato 1999).
    """
    compiled = compile_system(models["falling_rod"]())
    rho = compiled.system.rho({"mu": mu})

    def factor(theta):
        (nn,), (nt,), _ = lifting(
            compiled, rho, np.zeros(1), np.array([[0, 0, theta]]), np.zeros((1, 3))
        )
        return nn[0] - mu * abs(nt[0])

    def needed(theta, turn):  # the acceleration that p has to take from the gap
        return 9.81 - turn**2 * np.sin(theta) / 2

    def turning(theta):  # what p does to the turn, 1/(kg m)
        return 6 * (mu * np.sin(theta) - np.cos(theta))

    angle = optimize.brentq(factor, 0.2, np.arctan(2))
    turn = np.sqrt(2 * 9.81 / np.sin(angle))
    d = 1e-5
    a = turn * (factor(angle + d) - factor(angle - d)) / (2 * d)
    b = turning(angle) * (needed(angle, turn + d) - needed(angle, turn - d)) / (2 * d)
    return angle, turn, a, b


def test_the_force_on_the_rod_grows_without_bound_from_8_by_3_root_3_on():
    def slower(mu):
        _, _, a, b = border(mu)
        return b / a - 1

    _, (number, tolerance) = published(models["falling_rod"]())
    found = optimize.brentq(slower, 1.4, 2)
    assert found == pytest.approx(8 / (3 * np.sqrt(3)), abs=1e-8)
    assert found == pytest.approx(number, abs=tolerance)
    assert tolerance <= 1e-6


@pytest.mark.parametrize("mu", [1.4, 1.5, 1.8, 2.2])
@pytest.mark.parametrize("back", [0.03, 0.1])
def test_the_force_on_the_rod_grows_with_its_exponent(mu, back):
    """Below 8/(3 sqrt 3) the tip lifts off with a finite force; beyond, p ~ A^(b/a - 1)."""
    angle, turn, a, b = border(mu)
    start = {"mu": mu, "angle": angle - back, "turn": 0.8 * turn, "speed": -20, "t_end": 0.2}
    rod, scheme = models["falling_rod"](), ex.EventDriven(rtol=1e-10)
    run = ex.simulate(rod, scheme, throw=False, **start)
    if mu < 8 / (3 * np.sqrt(3)):
        assert run.status.ok
        assert run.events[0].kind == "released"
        assert run.lam[:, 0].max() < 1e3
        return
    for words in ("'tip' slides with mu", "grows without bound", "jams", "MoreauJean"):
        assert words in run.status.message
    end = run.t[-1]
    near = ex.simulate(
        rod, scheme, throw=False, t_eval=end * (1 - np.logspace(-5, -8, 12)), **start
    )
    theta, p = near.q[:-1, 2], near.lam[:-1, 0]
    A = 1 + 3 * np.cos(theta) ** 2 - 3 * mu * np.sin(theta) * np.cos(theta)
    exponent = np.diff(np.log(p)) / np.diff(np.log(A))
    assert exponent[-1] == pytest.approx(b / a - 1, abs=1e-3)


@pytest.mark.parametrize(
    ("mu", "speed", "warned"), [(1.6, -3, True), (1.3, -3, False), (1.6, 3, False)]
)
def test_the_paradox_is_told_where_it_happens_and_nowhere_else(mu, speed, warned, recwarn):
    ex.simulate(models["falling_rod"](), MoreauJean(h=1e-4), mu=mu, speed=speed, angle=1.2,
                t_end=0.4)  # fmt: skip
    told = [str(w.message) for w in recwarn if issubclass(w.category, ModelWarning)]
    assert len(told) == warned
    if warned:
        assert "Painleve's paradox" in told[0]
        assert "'tip' slides with mu = 1.6, and for mu >= 1." in told[0]


def test_forces_alone_do_not_go_through_the_paradox():
    """At the level of accelerations there is no answer: the sentence says why, and what goes on."""
    run = ex.simulate(
        models["falling_rod"](), ex.EventDriven(), mu=1.6, angle=1.2, t_end=0.4, throw=False
    )
    assert run.status.name == "lcp_ray"
    for words in ("'tip' slides with mu = 1.6", "for mu >= 1.376", "Painleve", "MoreauJean"):
        assert words in run.status.message


@pytest.mark.parametrize(
    ("name", "values"),
    [("falling_rod", {"mu": 0.3, "angle": 0.05, "speed": -3, "turn": -2}),
     ("falling_rod", {"mu": 0.5, "angle": 0.3, "speed": -3, "turn": -2}),
     ("falling_rod", {"mu": 1, "angle": 0.1, "speed": 0, "turn": -2}),
     ("falling_rod", {"mu": 1, "angle": 0.3, "speed": -3, "turn": -2}),
     ("rough_block", {"mu": 0.43, "B": 0.967, "H": 1.293, "tilt": 0.378}),
     ("rough_block", {"mu": 0.95, "B": 0.461, "H": 0.823, "tilt": 0.864})],
)  # fmt: skip
def test_a_body_comes_to_rest_on_two_tips_that_both_hold(name, values):
    """Four held rows for three coordinates: one is redundant. Time stepping knows the place."""
    system = models[name]()
    run = ex.simulate(system, ex.EventDriven(), t_end=3, **values)
    stepped = ex.simulate(system, MoreauJean(h=5e-5), t_end=3, **values)
    assert run.q[-1] == pytest.approx(stepped.q[-1], abs=2e-3)
    assert np.abs(run.v[-1]).max() <= 1e-7
    resting = run.t > run.events[-1].t + 1e-6
    push, pull = run.lam[resting], run.lam_t[resting]
    assert len(push) > 5
    assert push.sum(axis=1) == pytest.approx(run.rho["m"] * run.rho["g"], rel=1e-7)
    assert (np.abs(pull) <= values["mu"] * push * (1 + 1e-9)).all()
    assert np.abs(pull.sum(axis=1)).max() <= 1e-6 * push.max()


def test_the_panel_says_the_paradox_too():
    from explorer.panels.answer import SessionAnswer
    from explorer.panels.session import Session

    session = Session("falling_rod")
    assert SessionAnswer(session).frame()["status"]["level"] == "ok"
    session.set(mu=1.6, angle=1.2)
    status = SessionAnswer(session).frame()["status"]
    assert status["level"] == "warn"
    assert "Painleve" in status["text"]


# -- Den Hartog -----------------------------------------------------------------------------------

AMPLITUDES = [(1.5, 0.2, 0.765942), (0.7, 0.2, 1.927775), (1.2, 0.5, 1.657467)]


def den_hartog(b, f, q=0.0, v=0.0, phase=0.0):
    """x'' + x = cos(b t + phase) - f sgn x', pressed down by one unit of force."""
    return ex.MechanicalSystem(
        "Den Hartog", q="x y", force=[f"cos({b!r}*t + {phase!r}) - x", -1],
        contacts=[ex.Contact("y", mu=f, slip="v_x")], start={"q": [q, 0], "v": [v, 0], "t_end": 30},
    )  # fmt: skip


@pytest.mark.parametrize(("b", "f", "number"), AMPLITUDES)
def test_den_hartogs_amplitudes(b, f, number):
    """From one turning point, at t = 0, to the next, at pi / b (Den Hartog, Phil. Mag. 9 (1930) 801)::

    x = V cos(b t + phase) + f (1 - cos t - U b sin t),  sin(phase) = -f U / V
    """
    V, U = 1 / (1 - b**2), np.tan(np.pi / (2 * b)) / b
    amplitude = np.sqrt(V**2 - (f * U) ** 2)
    assert amplitude == pytest.approx(number, abs=1e-6)
    phase = float(np.arctan2(-f * U / V, np.sign(V) * np.sqrt(1 - (f * U / V) ** 2)))
    system = den_hartog(b, f, q=float(amplitude), phase=phase)

    def form(t):
        s = t % (np.pi / b)
        x = V * np.cos(b * s + phase) + f * (1 - np.cos(s) - U * b * np.sin(s))
        return np.where((t // (np.pi / b)) % 2 == 0, x, -x)

    located = ex.simulate(system, ex.EventDriven(rtol=1e-10, atol=1e-11))
    assert np.abs(located.q[:, 0] - form(located.t)).max() <= 1e-8
    for h in (8e-3, 2e-3):
        sol = ex.simulate(system, MoreauJean(h=h), t_end=60)
        assert np.abs(sol.q[:, 0] - form(sol.t)).max() <= 1.5 * h
        last = sol.t > 60 - 2 * np.pi / b
        assert np.abs(sol.q[last, 0]).max() == pytest.approx(number, abs=1.5 * h)
    assert "sticks" not in [e.kind for e in sol.events]


@pytest.mark.parametrize(("f", "grows"), [(0.70, True), (0.87, False)])
def test_friction_below_a_quarter_of_pi_does_not_tame_resonance(f, grows):
    """In a half swing of amplitude X the force gives pi X / 2, friction takes 2 f X."""
    run = ex.simulate(den_hartog(1, f, v=5.0), MoreauJean(h=5e-3), t_end=60)
    early, late = (np.abs(run.q[(run.t > a) & (run.t < a + 7), 0]).max() for a in (13, 50))
    assert (late > early + 0.5) == grows
    assert (late < early - 0.5) != grows


# -- blocks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("h", [4e-3, 1e-3])
@pytest.mark.parametrize("f", [5.0, 12.0, 14.7, 18.0, 35.0])
def test_two_blocks_move_by_their_closed_form(f, h):
    """Friction constant, forces constant: time stepping is exact, whoever sticks."""
    system = models["two_blocks"]()
    sol = ex.simulate(system, MoreauJean(h=h), f=f)
    form = system.exact(sol.t, sol.rho)
    assert np.abs(sol.v - form["v"]).max() <= 1e-11
    assert np.abs(sol.q - form["q"]).max() <= 1e-11
    slides = [bool((np.abs(sol.doing[2:, k]) == 1).all()) for k in (0, 1)]
    assert slides == [f > 0.2 * 3 * G, f > 0.5 * 3 * G]


def test_the_rough_block_rocks_like_housners():
    """Where it does not slide: the ratio of angular speeds, and the first quarter period."""
    sol = ex.simulate(models["rough_block"](), MoreauJean(h=2e-4), t_end=2)
    hits = [e for e in sol.events if e.kind == "impact" and abs(e.v_minus[2]) > 0.1]
    for hit in hits[:2]:
        assert hit.v_plus[2] / hit.v_minus[2] == pytest.approx(0.911765, abs=2e-3)
    assert hits[0].t == pytest.approx(0.493803, abs=5e-4)  # not slender: 0.492934 if it were
    held = sol.p > 0
    assert sol.sticks[held].mean() > 0.95


@pytest.mark.parametrize(("mu", "shake", "rocks", "slides"), [
    (0.6, 2.3, False, False), (0.6, 2.7, True, False), (0.15, 1.4, False, False),
    (0.15, 2.0, False, True),
])  # fmt: skip
def test_a_shaken_block_slides_at_mu_g_and_rocks_at_its_slenderness(mu, shake, rocks, slides):
    """B/H g = 2.4525 m/s2, mu g = 5.886 or 1.4715 m/s2: whichever is less comes first."""
    sol = ex.simulate(models["rough_block"](), MoreauJean(h=1e-3), tilt=0, mu=mu, shake=shake,
                      t_end=1)  # fmt: skip
    assert (np.abs(sol.q[:, 2]).max() > 1e-4) == rocks
    assert (np.abs(sol.q[:, 0]).max() > 1e-4 and not rocks) == slides
