"""Generalised-alpha through impacts: its smooth limit, laws of contact, closed forms, orders."""

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import explorer as ex
from explorer import (
    ContactInNewmark,
    EventDriven,
    GeneralizedAlpha,
    LinearMechanicalSystem,
    MechanicalSystem,
    MoreauJean,
    NonsmoothGeneralizedAlpha,
)
from explorer.errors import BadValue, LessonWarning, NotApplicable
from explorer.models import models

LEVELS = ("velocity", "position+velocity")
both_levels = pytest.mark.parametrize("level", LEVELS)


def slope(h, errors) -> float:
    return float(np.polyfit(np.log(h), np.log(errors), 1)[0])


def double_pendulum(*contacts):
    return MechanicalSystem(
        "double pendulum", q="a b", mass=[[2, "cos(a - b)"], ["cos(a - b)", 1]],
        force=["-v_b**2*sin(a - b) - 2*9.81*sin(a) - v_a/5", "v_a**2*sin(a - b) - 9.81*sin(b)"],
        contacts=contacts, start={"q": [2.0, 1.0], "v": [0.0, 0.0], "t_end": 2.0},
    )  # fmt: skip


def chain(n=6, e=0.5, f=None, **more):
    """Masses on springs between a wall that the first one meets and a stop that the last one does."""
    K = 200 * (2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1))
    H = np.zeros((2, n))
    H[0, 0], H[1, -1] = 1, -1
    return LinearMechanicalSystem(
        "chain", M=np.diag(np.linspace(1, 2, n)), K=K, C=1e-3 * K, f=f, H=H, b=[0.05, 0.1], e=e,
        start={"q": np.linspace(0, 0.05, n).tolist(), "v": [-2.0] * n, "t_end": 2.0, **more},
    )  # fmt: skip


def bar(n=100, E=900.0, density=1.0, length=10.0, speed=-10.0):
    """An elastic bar of n lumped elements that flies against a wall."""
    size = length / n
    mass = np.full(n + 1, density * size)
    mass[[0, -1]] /= 2
    K = E / size * (2 * np.eye(n + 1) - np.eye(n + 1, k=1) - np.eye(n + 1, k=-1))
    K[0, 0] = K[-1, -1] = E / size
    H = np.eye(1, n + 1)
    return LinearMechanicalSystem(
        "bar", M=np.diag(mass), K=K, H=H, b=0.02,
        start={"v": [speed] * (n + 1), "t_end": 1.0, "h": 1e-3},
    )  # fmt: skip


# -- without contact ------------------------------------------------------------------------------


@both_levels
@pytest.mark.parametrize("force", ["state", "interpolated"])
@pytest.mark.parametrize("make", ["linear", "double pendulum"])
def test_out_of_reach_of_its_contacts_it_is_generalised_alpha(make, force, level):
    if make == "linear":
        n = 4
        M, K = np.diag([1.0, 2, 3, 4]), 30 * (2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1))
        data = {"M": M, "K": K, "C": 0.01 * K, "f": ["cos(3*t)", 0, 0, "t"],
                "start": {"q": [1.0, 0, 0, 0], "t_end": 3.0}}  # fmt: skip
        free = LinearMechanicalSystem("free", **data)
        fenced = LinearMechanicalSystem("fenced", **data, H=[[1.0, 0, 0, 1]], b=100.0)
    else:
        free, fenced = double_pendulum(), double_pendulum(ex.Contact("100 + sin(a)", 0.5))
    knobs = {"h": 0.01, "rho_inf": 0.6, "force": force}
    sol = ex.simulate(fenced, NonsmoothGeneralizedAlpha(**knobs, level=level))
    truth = ex.simulate(free, GeneralizedAlpha(**knobs))
    assert not sol.p.any()
    for name in ("q", "v", "a"):
        mine, its = getattr(sol, name), getattr(truth, name)
        assert np.abs(mine - its).max() <= 1e-11 * (1 + np.abs(its).max()), name


# -- the laws of contact --------------------------------------------------------------------------


def test_at_velocity_level_the_average_acceleration_is_moreau_jean():
    """M (v1 - v0) = h (F0 + F1) / 2 + G' p and q1 = q0 + h (v0 + v1) / 2: one and the same step."""
    f = ["-9.81", "cos(5*t)", 0, 0, 0, "t"]
    scheme = NonsmoothGeneralizedAlpha(h=4e-3, level="velocity", alpha_m=0, alpha_f=0)
    sol = ex.simulate(chain(f=f), scheme)
    other = ex.simulate(chain(f=f), MoreauJean(h=4e-3, theta=0.5))
    assert np.count_nonzero(sol.p) > 20
    for name in ("q", "v", "p", "gap", "gap_dot", "active"):
        mine, its = getattr(sol, name), getattr(other, name)
        assert np.abs(mine - its).max() <= 1e-10 * (1 + np.abs(its).max()), name


@pytest.mark.parametrize(
    "name", ["bouncing_ball", "column", "elastic_pendulum", "pendulum_wall", "rocking_block",
             "vibrating_table"],
)  # fmt: skip
@pytest.mark.parametrize("rho_inf", [1.0, 0.5])
def test_nothing_penetrates_where_positions_are_constrained(name, rho_inf):
    """Curved walls, a gap that moves, contacts that lean on each other; Moreau-Jean is O(h) deep."""
    system = models[name]()
    h = 3 * system.h
    sol = ex.simulate(system, NonsmoothGeneralizedAlpha(h=h, rho_inf=rho_inf), t_end=system.t_end)
    assert (sol.p > 0).any()
    assert sol.gap.min() >= -1e-12
    assert ex.simulate(system, MoreauJean(h=h)).gap.min() < -1e-6
    assert (sol.gap[sol.p > 0] <= 1e-12).all()


@st.composite
def systems(draw):
    n = draw(st.integers(1, 4))
    nc = draw(st.integers(1, n))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    A, B, C = rng.normal(size=(3, n, n))
    H = rng.normal(size=(nc, n))
    q0 = rng.normal(size=n)
    return LinearMechanicalSystem(
        "random", M=A @ A.T + np.eye(n), K=draw(st.sampled_from([0, 1, 100])) * B @ B.T,
        C=draw(st.sampled_from([0, 0.5])) * C @ C.T, f=[f"3*sin(2*t + {k})" for k in range(n)], H=H,
        b=rng.uniform(0, 0.1, nc) - H @ q0, e=rng.uniform(0, 1, nc).tolist(),
        start={"q": q0.tolist(), "v": rng.normal(size=n).tolist(), "t_end": 2.0},
    )  # fmt: skip


# a random body may leave its obstacles for good
@pytest.mark.filterwarnings("ignore:.*grows ever faster:explorer.errors.ModelWarning")
@settings(deadline=None, max_examples=25)
@given(system=systems(), level=st.sampled_from(LEVELS), rho_inf=st.sampled_from([0.0, 0.5, 1.0]))
def test_impulses_and_gaps_are_complementary(system, level, rho_inf):
    sol = ex.simulate(system, NonsmoothGeneralizedAlpha(h=0.02, level=level, rho_inf=rho_inf))
    e = np.array([float(c.e) for c in system.contacts])
    law = sol.gap_dot[1:] + e * sol.gap_dot[:-1]
    fast = 1 + np.abs(sol.gap_dot).max()
    assert (sol.p >= 0).all()
    assert sol.residuals[:, 0].max() <= 1e-9 * fast
    assert np.abs(np.where(sol.p[1:] > 0, law, 0)).max() <= 1e-9 * fast
    assert law[sol.active[1:] > 0].min(initial=0) >= -1e-9 * fast
    if level == "position+velocity":
        assert sol.gap.min() >= -1e-12
    if not system.C.any():
        keeps_to_its_equations(sol)


def keeps_to_its_equations(sol) -> None:
    """Equilibrium between the states, and what is not smooth along the normals: undamped, linear."""
    system, co, h = sol.system, sol.scheme.coefficients, sol.scheme.h
    M, H, q, v, a = system.M, system.H, sol.q, sol.v, sol.a
    k = np.arange(len(M))
    tf = sol.t[1:] - co.alpha_f * h
    qf = (1 - co.alpha_f) * q[1:] + co.alpha_f * q[:-1]
    am = (1 - co.alpha_m) * a[1:] + co.alpha_m * a[:-1]
    size = np.abs(M).sum() * (1 + np.abs(a).max()) + np.abs(system.K).sum() * np.abs(q).max()
    assert np.abs(am @ M + qf @ system.K - 3 * np.sin(2 * tf[:, None] + k)).max() <= 1e-10 * size
    jump = np.diff(v, axis=0) - h * ((1 - co.gamma) * a[:-1] + co.gamma * a[1:])
    assert np.abs(jump @ M - sol.p[1:] @ H).max() <= 1e-10 * size
    move = np.diff(q, axis=0) - h * v[:-1]
    move -= h**2 * ((0.5 - co.beta) * a[:-1] + co.beta * a[1:])
    if sol.scheme.level == "velocity":
        assert np.abs(move - h / 2 * jump).max() <= 1e-10 * (1 + np.abs(q).max())
        return
    nu = np.linalg.lstsq(H.T, M @ move.T, rcond=None)[0].T
    assert np.abs(nu @ H - move @ M).max() <= 1e-10 * size
    assert nu.min() >= -1e-10 * size
    assert np.abs(nu * sol.gap[1:]).max() <= 1e-10 * size


@pytest.mark.parametrize(
    ("make", "status"),
    [
        (lambda: (LinearMechanicalSystem("vice", np.eye(1), H=[[1.0], [-1.0]], e=[1.0, 0.0],
                                         start={"v": [-1.0], "t_end": 0.1}),
                  {"level": "velocity", "forecast": 0}), "lcp_ray"),
        (lambda: (double_pendulum(ex.Contact("3 + a", 0)), {"newton_max": 1}), "newton_cap"),
        (lambda: (MechanicalSystem("root", q="x", force=["-sqrt(x)"], contacts=[ex.Contact("x + 9")],
                                   start={"q": [1.0], "v": [-1.0], "t_end": 2.0}), {}),
         "not_finite"),
        (lambda: (MechanicalSystem("thin", q="x", mass=[["1 - x"]], force=[0],
                                   contacts=[ex.Contact("9 - x")],
                                   start={"v": [1.0], "t_end": 2.0}), {}), "indefinite"),
        (lambda: (LinearMechanicalSystem("flat", np.eye(1), K=[[-1e6]], H=[[1.0]], b=9.0,
                                         start={"t_end": 0.1}),
                  {"h": 2e-3, "alpha_m": 0, "alpha_f": 0}), "singular"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::explorer.errors.ModelWarning")  # flat: a stiffness that pushes
def test_what_goes_wrong_has_a_status(make, status):
    system, knobs = make()
    run = ex.simulate(system, NonsmoothGeneralizedAlpha(**{"h": 0.01, **knobs}), throw=False)
    assert run.status.name == status
    assert run.t[-1] < system.t_end
    assert np.isfinite(run.q).all()


# -- closed forms ---------------------------------------------------------------------------------


@both_levels
@pytest.mark.parametrize("e", [0.0, 0.8, 1.0])
def test_the_ball_leaves_each_impact_with_its_share_of_speed(e, level):
    h = 1e-3
    sol = ex.simulate(models["bouncing_ball"](), NonsmoothGeneralizedAlpha(h=h, level=level), e=e,
                      t_end=2.5)  # fmt: skip
    hits = [x for x in sol.events if x.kind == "impact"]
    speed, t = np.sqrt(2 * 9.81), np.sqrt(2 / 9.81)
    for k, hit in enumerate(hits[:4]):
        assert hit.gap_dot_plus == pytest.approx(-e * hit.gap_dot_minus, abs=1e-12)
        assert -hit.gap_dot_minus == pytest.approx(speed * e**k, rel=0.01)
        assert hit.t == pytest.approx(t * (1 + 2 * sum(e**j for j in range(1, k + 1))), abs=0.02)
    assert len(hits) >= (1 if e == 0 else 3)


@both_levels
def test_a_ball_at_rest_stays_at_rest(level):
    h, m, g = 0.01, 2.0, 9.81
    ball = MechanicalSystem("ball", q="y", mass=[[m]], force=[-m * g], contacts=[ex.Contact("y", 0.5)],
                            start={"q": [0.0], "t_end": 5.0})  # fmt: skip
    sol = ex.simulate(ball, NonsmoothGeneralizedAlpha(h=h, level=level))
    assert np.abs(sol.q).max() <= 1e-13
    assert np.abs(sol.v).max() <= 1e-13
    assert sol.p[1:] == pytest.approx(m * g * h, rel=1e-12)
    assert [x.kind for x in sol.events] == []


@both_levels
def test_accumulating_impacts_end_at_rest(level):
    sol = ex.simulate(models["bouncing_ball"](), NonsmoothGeneralizedAlpha(h=2e-3, level=level),
                      e=0.8)  # fmt: skip
    late = sol.t > 4.2  # the closed form rests from 4.06 s on
    assert np.abs(sol.v[late]).max() <= 1e-10
    assert sol.p[late] == pytest.approx(9.81 * 2e-3, rel=1e-6)
    assert sol.events[-1].kind == "closed"


@both_levels
@pytest.mark.parametrize(("h", "within"), [(1e-3, 0.01), (5e-3, 0.03)])
def test_the_bar_leaves_the_wall_when_the_wave_is_back(level, h, within):
    """It is there for 2 L / c = 2/3 s, and no step gives it energy."""
    system = bar()
    sol = ex.simulate(system, NonsmoothGeneralizedAlpha(h=h, level=level, rho_inf=0.8))
    touch = sol.t[sol.p[:, 0] > 0]
    assert touch[-1] - touch[0] == pytest.approx(2 / 3, rel=within)
    energy = sol.energy
    assert energy.max() <= energy[0] * (1 + 1e-12)
    assert energy[-1] >= 0.98 * energy[0]
    if level == "position+velocity":
        assert sol.gap.min() >= -1e-12


@both_levels
def test_damping_of_the_bar_gives_no_energy_either(level):
    """The velocity problem feels the damping forces that its own jump makes."""
    system = bar()
    damped = LinearMechanicalSystem(
        "damped", M=system.M, K=system.K, C=1e-3 * system.K, H=system.H, b=0.02,
        start={"v": [-10.0] * len(system.M), "t_end": 1.0},
    )  # fmt: skip
    energy = ex.simulate(damped, NonsmoothGeneralizedAlpha(h=2.5e-3, level=level)).energy
    assert energy.max() <= energy[0] * (1 + 1e-12)


# -- orders ---------------------------------------------------------------------------------------


@both_levels
def test_order_on_a_smooth_stretch(level):
    """With a mass matrix that moves, between impacts."""
    system = double_pendulum(ex.Contact("9 + a", 0.5))
    truth = ex.simulate(system, EventDriven(rtol=1e-12, atol=1e-13)).x[-1]
    steps, errors = (8e-3, 4e-3, 2e-3, 1e-3), []
    for h in steps:
        sol = ex.simulate(system, NonsmoothGeneralizedAlpha(h=h, level=level))
        errors.append(np.abs([*sol.q[-1], *sol.v[-1]] - truth).max())
    assert slope(steps, errors) == pytest.approx(2, abs=0.15), errors


@functools.cache
def located() -> np.ndarray:
    system = models["impact_oscillator"]()
    run = ex.simulate(system, EventDriven(rtol=1e-12, atol=1e-13), t_end=12)
    assert sum(e.kind == "impact" for e in run.events) >= 3
    return run.x[-1]


@both_levels
def test_order_across_impacts(level):
    """The mean over steps near h: the error of one run depends on where in a step it was hit."""
    system, centres, means = models["impact_oscillator"](), (8e-3, 4e-3, 2e-3, 1e-3), []
    for centre in centres:
        errors = []
        for h in centre * np.linspace(0.8, 1.25, 30):
            sol = ex.simulate(system, NonsmoothGeneralizedAlpha(h=h, level=level), t_end=12)
            errors.append(np.abs([*sol.q[-1], *sol.v[-1]] - located()).max())
        means.append(np.mean(errors))
    order = NonsmoothGeneralizedAlpha.order_across_events
    assert slope(centres, means) == pytest.approx(order, abs=0.25), means


# -- a lesson -------------------------------------------------------------------------------------


@pytest.mark.parametrize("h", [1e-2, 2e-3])
def test_contact_put_into_newmark_makes_energy(h):
    with pytest.warns(LessonWarning, match="impacts add energy"):
        sol = ex.simulate(models["bouncing_ball"](), ContactInNewmark(h=h), e=0.5, t_end=30)
    assert sol.energy.max() > 10 * sol.energy[0]
    # though each step is what was asked for
    lam = sol.a[1:] + 9.81
    scale = np.abs(lam).max()
    assert sol.gap.min() >= -1e-12 * scale
    assert lam.min() >= -1e-12 * scale
    assert np.abs(np.minimum(lam, sol.gap[1:])).max() <= 1e-10 * scale
    assert sol.v[1:] == pytest.approx(sol.v[:-1] + h / 2 * (sol.a[1:] + sol.a[:-1]), abs=1e-9)
    assert sol.p[1:] - 9.81 * h == pytest.approx(np.diff(sol.v, axis=0), abs=1e-9)


def test_a_lesson_is_offered_by_name_only():
    ball = models["bouncing_ball"]()
    assert not any(s.lesson for s in ex.schemes_for(ball))
    assert type(ex.schemes_for(ball, lessons=True)[-1]) is ContactInNewmark
    assert "ContactInNewmark" not in ex.applicability({"ball": ball})["ball"]
    with pytest.raises(
        NotApplicable, match=r"accept it: MoreauJean, Nonsm\w+, Schatzman\w+, EventDriven\b"
    ):
        ex.simulate(ball, "Newmark")
    with pytest.raises(NotApplicable, match="with contacts"):
        ex.simulate(models["shear_building"](), ContactInNewmark())
    with pytest.raises(BadValue, match="beta = 0"):
        ContactInNewmark(beta=0)


def test_the_panel_says_what_a_lesson_does():
    from explorer.panels.answer import SessionAnswer
    from explorer.panels.controls import groups
    from explorer.panels.session import Session

    session = Session("bouncing_ball")
    choices = {c["key"]: c.get("choices") for g in groups(session) for c in g["controls"]}["scheme"]
    assert ["ContactInNewmark", "ContactInNewmark (a lesson)"] in choices
    session.set(scheme="ContactInNewmark")
    status = SessionAnswer(session).frame()["status"]
    assert status["level"] == "warn"
    assert "impacts add energy" in status["text"]
    session.set(scheme="NonsmoothGeneralizedAlpha")
    session.set(level="velocity")
    assert SessionAnswer(session).frame()["status"]["level"] == "ok"


def test_numbers_are_those_of_the_family():
    scheme = NonsmoothGeneralizedAlpha(rho_inf=0.6, family="hht", alpha_f=0.2)
    assert (
        scheme.coefficients == GeneralizedAlpha(rho_inf=0.6, family="hht", alpha_f=0.2).coefficients
    )
    assert (
        eval(repr(scheme), vars(ex.schemes) | {"NonsmoothGeneralizedAlpha": type(scheme)}) == scheme
    )
    with pytest.raises(BadValue, match="HHT reaches"):
        NonsmoothGeneralizedAlpha(family="hht", rho_inf=0.2)
    with pytest.raises(BadValue, match="NonsmoothGeneralizedAlpha: level"):
        NonsmoothGeneralizedAlpha(level="position")
    with pytest.raises(BadValue, match="stability limit"):
        ex.simulate(
            chain(), NonsmoothGeneralizedAlpha(h=0.09, alpha_m=0, alpha_f=0, beta=0, gamma=0.5)
        )


def stiffening(gap, **more):
    """A mass on a spring that stiffens, above a floor whose gap is no linear function of it."""
    return MechanicalSystem(
        "stiffening", q="x y", force=["-20*x - 9*x**3", "-30*y - 5*(y - x)**3"],
        contacts=[ex.Contact(gap, e=0.5)],
        start={"q": [1.0, 0.4], "v": [-2.0, 1.0], "t_end": 1.0}, **more,
    )  # fmt: skip


def test_the_first_row_has_the_speed_of_its_gap():
    """Of gaps that are no linear functions too: G(q0) v0 + gap_t, before any step."""
    for scheme in (NonsmoothGeneralizedAlpha(h=1e-2), MoreauJean(h=1e-2)):
        run = ex.simulate(stiffening("sin(x) + y**2 + 0.1*t"), scheme)
        assert run.gap_dot[0, 0] == pytest.approx(np.cos(1.0) * -2 + 2 * 0.4 * 1.0 + 0.1)


def test_the_force_of_a_contact_belongs_to_its_step_where_no_law_of_impact_does():
    """M a1 = F1 + G' lam with gamma = 1, p = h lam; impulses leave the smooth equation alone."""
    with pytest.warns(LessonWarning):
        run = ex.simulate(stiffening("x**3 + y + 0.2"), ContactInNewmark(h=1e-2, beta=0.5, gamma=1))
    x, y = run.q[1:].T
    F = np.column_stack([-20 * x - 9 * x**3, -30 * y - 5 * (y - x) ** 3])
    G = np.column_stack([3 * x**2, np.ones_like(x)])
    assert (run.p > 0).any()
    assert np.abs(run.a[1:] - F - G * run.p[1:] / 1e-2).max() < 1e-7
    free = ex.simulate(
        stiffening("x**3 + y + 0.2"),
        NonsmoothGeneralizedAlpha(h=1e-2, alpha_m=0, alpha_f=0, level="velocity"),
    )
    x, y = free.q[1:].T
    F = np.column_stack([-20 * x - 9 * x**3, -30 * y - 5 * (y - x) ** 3])
    assert (free.p > 0).any()
    assert np.abs(free.a[1:] - F).max() < 1e-7
