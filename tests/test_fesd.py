"""FESD: order across switches, the full equations, end states, robustness, its refusals."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from loops import for_each

import explorer as ex
from explorer.errors import BadValue, NotApplicable, StepFailed
from explorer.kernels.fesd.collocation import TABLEAUX, collocation

END = np.array([-1.5974603774507, -0.7614936206060])  # correction 1 of nurkanovic-2023


@pytest.mark.parametrize("tableau", TABLEAUX)
@pytest.mark.parametrize("stages", [1, 2, 3, 4])
def test_coefficients_have_their_order(tableau, stages):
    """Quadrature to the declared order, C(s) or C(s - 1), constraints at the end, stiff ends."""
    if tableau == "lobatto_iiic" and stages == 1:
        with pytest.raises(BadValue, match="at least 2 stages"):
            ex.FESD(stages=1, tableau=tableau)
        return
    m = collocation(tableau, stages)
    s = stages
    A, at, b = m.A, m.at, m.b
    k = np.arange(1, m.order + 1)
    assert (b[None] @ m.c[:, None] ** (k - 1)).ravel() == pytest.approx(1 / k, abs=1e-14)
    most = s - (tableau == "lobatto_iiic")
    for q in range(1, most + 1):
        assert A @ m.c ** (q - 1) == pytest.approx(m.c**q / q, abs=1e-14)
        assert at @ m.c ** (q - 1) == pytest.approx(m.where**q / q, abs=1e-14)
    assert m.where[-1] == 1
    assert m.where[0] > 0
    assert at[-1] == pytest.approx(b, abs=1e-14)
    if tableau != "gauss":
        assert (A[-1] == b).all()


@pytest.mark.parametrize("tableau", TABLEAUX)
@pytest.mark.parametrize("stages", [2, 3, 4])
def test_coefficients_are_real_also_where_roots_are_typed_complex(tableau, stages, monkeypatch):
    """As NumPy types them from 2.5 on: no complex number reaches a kernel, no warning a user."""
    roots = np.polynomial.legendre.legroots
    monkeypatch.setattr(np.polynomial.legendre, "legroots", lambda c: roots(c).astype(complex))
    m = collocation.__wrapped__(tableau, stages)
    known = collocation(tableau, stages)
    for name in ("A", "at", "ahead", "c", "where", "b", "end", "powers"):
        assert getattr(m, name).dtype == np.float64
        assert (getattr(m, name) == getattr(known, name)).all()


def error(stages: int, count: int, **knobs) -> float:
    """Return the error of the paper's experiment with `count` elements, solved to the letter."""
    system = ex.models.switched_oscillator()
    h = 2 * system.t_end / count
    sol = ex.simulate(system, ex.FESD(stages=stages, elements=2, h=h, **knobs))
    assert max(sol.fesd_residual.values()) <= 1e-10
    assert len(sol.events) == 1
    return float(np.abs(sol.x[-1] - END).max())


COUNTS = {1: (2560, 10240), 2: (80, 320), 3: (20, 160), 4: (10, 80)}


@pytest.mark.parametrize("representation", ["step", "stewart"])
@pytest.mark.parametrize("stages", [1, 2, 3, 4])
def test_order_across_a_switch_is_that_of_the_method(stages, representation):
    """2 s - 1 with Radau IIA, within 0.15 (Nurkanovic et al. 2023, figure 1), at every step size."""
    first, last = COUNTS[stages]
    counts = first * 2 ** np.arange(int(np.log2(last / first)) + 1)
    errors = [error(stages, int(n), representation=representation) for n in counts]
    slope = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert slope == pytest.approx(2 * stages - 1, abs=0.15)
    assert stages < 4 or errors[-1] < 2e-11


@pytest.mark.parametrize(("tableau", "order"), [("gauss", 6), ("lobatto_iiic", 4)])
def test_order_of_the_other_methods(tableau, order):
    """Three stages of Gauss and of Lobatto IIIC."""
    counts = (40, 80, 160, 320)
    errors = [error(3, n, tableau=tableau) for n in counts]
    slope = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert slope == pytest.approx(order, abs=0.15)


CASES = {
    "stribeck_belt": ([0.6289436367, 0.2], 9, 0.1),
    "relay_feedback": ([0, -0.8973301895, 2.358698811], 34, 0.02),
    "three_blocks": (
        [0.1792634346, 0.1775087041, 1.147032623, 0, 0.1863410665, -1.193369415], 12, 0.1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("tableau", ["radau_iia", "gauss"])
@pytest.mark.parametrize("name", CASES)
def test_end_states(name, tableau):
    """Slides entered and left, on up to three surfaces: end states to 1e-8, all equations hold."""
    end, switches, h = CASES[name]
    sol = ex.simulate(getattr(ex.models, name)(), ex.FESD(stages=4, h=h, tableau=tableau))
    assert np.abs(sol.x[-1] - end).max() <= 1e-8
    assert len(sol.events) == switches
    assert max(sol.fesd_residual.values()) <= 1e-10
    assert (sol.alpha >= 0).all()
    assert (sol.alpha <= 1).all()


def test_stewart_is_the_step_form_on_one_surface():
    """The same discrete solution; theta = (1 - alpha, alpha)."""
    system = ex.models.stribeck_belt()
    a, b = (ex.simulate(system, ex.FESD(h=0.2, representation=r)) for r in ("step", "stewart"))
    assert np.abs(a.x - b.x).max() <= 1e-11
    assert np.abs(a.theta - b.theta).max() <= 1e-9
    assert max(b.fesd_residual.values()) <= 1e-10
    with pytest.raises(NotApplicable, match="alpha"):
        _ = b.alpha
    with pytest.raises(NotApplicable, match="regions"):
        _ = ex.simulate(ex.models.three_blocks(), t_end=0.1).theta
    with pytest.raises(NotApplicable, match="Stewart"):
        ex.simulate(ex.models.three_blocks(), ex.FESD(representation="stewart"))


@pytest.mark.parametrize("elements", [2, 3, 4])
@pytest.mark.parametrize("after", [3.0, -1.0])
@pytest.mark.parametrize("representation", ["step", "stewart"])
def test_one_switch_anywhere(elements, after, representation):
    """Crossed, or slid along, at 60 seeded times in one interval: all found, all equations hold."""
    system = ex.FilippovSystem(
        "s", x="x y", c=["x"], S=[[-1], [1]], params={"x0": -0.5},
        modes={"left": ["1", "x"], "right": [after, "x"]}, start={"x": ["x0", 0], "t_end": 1},
    )  # fmt: skip
    scheme = ex.FESD(elements=elements, h=1, representation=representation)
    times = np.random.default_rng(elements).uniform(0, 1, 57)
    for ts in [0.5, 0.25, 1 / 3, *times]:
        sol = ex.simulate(system, scheme, x0=[-ts, 0.0])
        end = max(after, 0) * (1 - ts)
        area = -(ts**2) / 2 + end * (1 - ts) / 2
        assert np.abs(sol.x[-1] - [end, area]).max() <= 1e-10
        assert max(sol.fesd_residual.values()) <= 1e-10
        assert sol.switch_times == pytest.approx([ts], abs=1e-12)
        assert len(sol.boundaries) == elements + 1


def test_periods_of_cycles():
    """Leine's belt, the relay loop of 1 / (p + 1)^3, the ring of three genes."""
    scheme = ex.FESD(stages=4, h=0.1)
    belt = ex.simulate(ex.models.stribeck_belt(), scheme, d=3, t_end=60)
    sticks = [e.t for e in belt.events if e.kind == "slides"]
    assert np.diff(sticks)[1:] == pytest.approx(12.001031, abs=1e-5)
    relay = ex.simulate(
        ex.models.relay_feedback(), scheme, t_end=40, w=1, z=1, b1=0, b2=0, b3=1
    )  # fmt: skip
    assert 2 * np.diff(relay.switch_times)[-1] == pytest.approx(3.679751, abs=1e-6)
    genes = ex.simulate(ex.models.glass_network(), scheme, t_end=40)
    assert 6 * np.diff(genes.switch_times)[-1] == pytest.approx(
        6 * np.log((1 + 5**0.5) / 2), abs=1e-9
    )


def test_the_slide_has_the_mean_value_of_the_disturbance():
    """alpha = (1 + (d / a) sin(w t)) / 2 while it slides; enters and leaves where d says."""
    sol = ex.simulate(ex.models.sliding_mode(), ex.FESD(stages=3, h=0.1), t_end=3)
    t = sol.t[sol.t > sol.switch_times[0]]
    alpha = (1 + 0.7 * np.sin(3 * t)) / 2
    assert np.abs(sol.alpha[sol.t > sol.switch_times[0], 0] - alpha).max() <= 1e-12
    weak = ex.simulate(ex.models.sliding_mode(), ex.FESD(stages=4, h=0.1), d=1.5)
    left = [e for e in weak.events if e.kind == "leaves"]
    assert left
    for e in left:  # the relay is at its limit: |sin(w t)| = a / d
        assert abs(np.sin(3 * e.t)) == pytest.approx(1 / 1.5, abs=1e-6)


def test_evaluation_between_the_elements_has_their_order():
    """`at` and `t_eval` solve an element of their own; both sides of a switch."""
    system = ex.models.switched_oscillator()
    sol = ex.simulate(system, ex.FESD(stages=4, h=0.04))
    times = np.linspace(0.03, 1.5, 40)
    rows = ex.simulate(system, ex.FESD(stages=4, h=0.04), t_eval=times)
    form = system.exact(rows.t, rows.rho)["x"]
    assert np.abs(rows.x - form).max() <= 1e-9
    assert set(times) <= set(rows.t)
    assert sol.at(times[3]).q == pytest.approx(form[3], abs=1e-9)
    (event,) = sol.events
    left, right = (sol.alpha[i, 0] for i in (event.row - 1, event.row))
    assert (left, right) == (0, 1)
    assert sol.lam_p[-1, 0] == pytest.approx(sol.c[-1, 0])
    assert not sol.lam_n[-1, 0]


RULES = {"plus": [1.0], "minus": [-1.0], "slide": [0.0]}


@pytest.mark.parametrize("rule", RULES)
def test_where_the_solution_is_not_unique_a_rule_chooses(rule):
    """x' = sgn x from 0: to either side, or stay; the number of choices is recorded."""
    system = ex.StepSystem("s", x="x", f=["sign(x)"], start={"x": [0], "t_end": 1})
    sol = ex.simulate(system, ex.FESD(rule=rule))
    assert sol.x[-1] == pytest.approx(RULES[rule], abs=1e-12)
    assert sol.march.phases.switches["consistent"][0] == 3


def test_switches_that_accumulate_end_with_their_time():
    """Fuller's feedback: the interval shrink geometrically, the sum is known."""
    system = ex.StepSystem(
        "Fuller", x="x1 x2", params={"xi": 0.44462356018593735},
        f=["x2", "-sign(x1 + xi*abs(x2)*x2)"], start={"x": [1, 0], "t_end": 3.5},
    )  # fmt: skip
    sol = ex.simulate(system, ex.FESD(stages=3, h=0.1), throw=False)
    zeno_time = sys.modules["explorer.models.fuller"].zeno_time
    assert sol.status.name == "accumulation"
    assert sol.status.t == pytest.approx(zeno_time({"xi": 0.44462356018593735, "a": 1}), abs=1e-6)


def test_more_switches_than_elements():
    """More elements where they are needed; told not to, it says how many."""
    system = ex.models.glass_network()
    sol = ex.simulate(system, ex.FESD(elements=1, h=5), t_end=20)
    assert max(np.bincount(sol.interval)) > 5
    assert sol.x[-1] == pytest.approx(ex.simulate(system, ex.FESD(h=0.05)).x[-1], abs=0.5)
    with pytest.raises(StepFailed, match=r"needs \d+ elements; it has 2"):
        ex.simulate(system, ex.FESD(elements=2, h=5, split="no"))


def test_a_mode_that_blows_up():
    """x' = x^2 behind the switch: a sentence, and what was computed before."""
    system = ex.StepSystem(
        "s", x="x", f=["Piecewise((x**2, x > 1), (1, True))"], start={"x": [0], "t_end": 3}
    )
    with pytest.raises(StepFailed) as caught:
        ex.simulate(system, ex.FESD(h=0.1))
    assert caught.value.solution.t[-1] > 1.5


def test_several_surfaces_at_once():
    """Both relays hold: a slide on two surfaces; the step form has one, Stewart's form may mix."""
    system = ex.FilippovSystem(
        "s", x="x y z", c=["x", "y"], S=[[1, 1], [1, -1], [-1, 1], [-1, -1]],
        modes={
            "a": ["-1", "-1", 1], "b": ["-1", "1", 2], "c": ["1", "-1", 3], "d": ["1", "1", 8],
        },
        start={"x": [0.3, -0.2, 0], "t_end": 1},
    )  # fmt: skip
    step = ex.simulate(system, ex.FESD(h=0.25))
    assert np.abs(step.x[-1, :2]).max() <= 1e-13
    assert step.theta[-1] == pytest.approx([0.25] * 4, abs=1e-12)  # no field but its corners
    stewart = ex.simulate(system, ex.FESD(h=0.25, representation="stewart"))
    assert np.abs(stewart.x[-1, :2]).max() <= 1e-13
    assert np.count_nonzero(stewart.theta[-1] > 1e-9) <= 3
    for sol in (step, stewart):
        assert max(sol.fesd_residual.values()) <= 1e-10


def test_a_surface_crossed_twice_within_an_element():
    """Relay feedback in elements of 0.6 rad of its resonance: all 34 switches, as with short ones."""
    sol = ex.simulate(ex.models.relay_feedback(), ex.FESD(stages=4, h=0.05))
    assert len(sol.events) == 34
    assert np.abs(sol.x[-1] - CASES["relay_feedback"][0]).max() <= 1e-5
    assert max(sol.fesd_residual.values()) <= 1e-10


@pytest.mark.parametrize("h", [0.1, 0.2])
def test_elements_too_long_for_their_active_set_get_shorter(h):
    """The first stage of Lobatto IIIC keeps its multiplier in [0, 1] as well."""
    scheme = ex.FESD(stages=2, h=h, tableau="lobatto_iiic")
    sol = ex.simulate(ex.models.relay_feedback(), scheme, z=0.5)
    assert sol.march.mult.min() >= -1e-10
    assert max(sol.fesd_residual.values()) <= 1e-10


@for_each("stages", [1, 2, 3])
@for_each("h", [0.05, 0.3])
@for_each(("f", "switches"), [
        ("sign(sin(2*t))", 4), ("sign(t**2 - 2)", 1), ("max(sin(3*t), 0)", 6),
        ("abs(sin(3*t))", 6), ("sign(sin(2*t) - 1e-6*x)", 5), ("x*sign(cos(5*t))", 11),
    ])  # fmt: skip
def test_a_switch_that_depends_on_time_is_crossed(f, switches, h, stages):
    """A square wave, a rectified sine: at the switch there is nothing but what t rounds to."""
    system = ex.StepSystem("wave", x="x", f=[f], start={"x": [0.5], "t_end": 7})
    located = ex.simulate(system, ex.EventDriven(rtol=1e-11, atol=1e-12))
    run = ex.simulate(system, ex.FESD(stages=stages, h=h))
    assert len(run.events) == switches
    assert max(run.fesd_residual.values()) <= 1e-10
    times = [e.t for e in located.events]
    assert np.abs(run.switch_times - times).max() <= 1e-9
