"""ThetaRK: complementarity in every stage, first order at switches, full order without any."""

from __future__ import annotations

import numpy as np
import pytest

import explorer as ex

pytestmark = pytest.mark.filterwarnings("ignore::explorer.errors.LessonWarning")

MET = ("collocation", "complementarity", "time")  # of the FESD equations those that are asked for


def off(sol) -> float:
    """Return the largest violation of the equations of time stepping."""
    return max(sol.fesd_residual[block] for block in MET)


@pytest.mark.parametrize("representation", ["step", "stewart"])
@pytest.mark.parametrize("tableau", ["radau_iia", "lobatto_iiic", "gauss"])
def test_order_is_full_without_a_switch(tableau, representation):
    """Two stages of each method from outside the circle."""
    system = ex.models.switched_oscillator()
    schemes = {tableau: ex.ThetaRK(tableau=tableau, representation=representation)}
    found = ex.study.order_diagram(system, schemes, h=[0.02, 0.01, 0.005], r0=1.2, t_end=1)
    order = {"radau_iia": 3, "lobatto_iiic": 2, "gauss": 4}[tableau]
    assert found.curves[0].order == pytest.approx(order, abs=0.15)
    assert not found.refused


def test_the_work_of_a_run_is_its_number_of_steps():
    """One step is enough for a run, and three runs for an order."""
    scheme = {"implicit": ex.ThetaRK(stages=1)}
    found = ex.study.order_diagram(
        ex.models.switched_oscillator(), scheme, h=[0.2, 0.1, 0.05], r0=1.2, t_end=0.2
    )
    assert found.curves[0].steps.tolist() == [1, 2, 4]
    assert found.curves[0].order == pytest.approx(1, abs=0.2)


def test_the_papers_diagram():
    """Order 2 s - 1 with FESD; of time stepping the error of a switch, of order 1, at any s."""
    found = ex.study.order_diagram(ex.models.switched_oscillator())
    assert found.reference == "its closed form"
    assert not found.refused
    for s in range(1, 5):
        fesd, fixed = found.curves[s - 1], found.curves[s + 3]
        assert fixed.name == f"ThetaRK, {s} stage{'s' * (s > 1)}"
        if s > 1:
            assert fesd.order == pytest.approx(2 * s - 1, abs=0.3)
            assert fesd.error[-1] < 1e-2 * fixed.error[-1]


@pytest.mark.parametrize("stages", [1, 2, 3, 4])
def test_order_across_a_switch_is_one(stages):
    """The mean error of many steps near h: that of one run depends on where the switch falls."""
    system = ex.models.switched_oscillator()
    end = system.exact(np.array([system.t_end]), {k: p.value for k, p in system.parameters.items()})
    centres, means = np.array([0.02, 0.01, 0.005, 0.0025]), []
    if stages == 1:
        centres = centres[:3] / 20
    for centre in centres:
        runs = [
            ex.simulate(system, ex.ThetaRK(stages=stages, h=h))
            for h in centre * np.linspace(0.8, 1.25, 10 if stages == 1 else 30)
        ]
        assert max(map(off, runs)) <= 1e-10
        means.append(np.mean([np.abs(r.x[-1] - end["x"][0]).max() for r in runs]))
    slope = np.polyfit(np.log(centres), np.log(means), 1)[0]
    assert slope == pytest.approx(ex.ThetaRK.order_across_events, abs=0.15)


@pytest.mark.parametrize("name", ["stribeck_belt", "three_blocks", "sliding_mode", "glass_network"])
def test_slides_and_crossings(name):
    """It comes near to what FESD finds, through slides entered and left; the slide does not chatter."""
    system = getattr(ex.models, name)()
    fine = ex.simulate(system, ex.FESD(stages=4), t_end=5)
    sol = ex.simulate(system, ex.ThetaRK(stages=3, h=2e-3), t_end=5)
    assert off(sol) <= 1e-10
    assert np.abs(sol.x[-1] - fine.x[-1]).max() <= 2e-2
    assert not sol.events
    slides = ((sol.alpha > 0) & (sol.alpha < 1)).sum(axis=0)
    long = np.interp(sol.t, fine.t, ((fine.alpha[:, 0] > 0) & (fine.alpha[:, 0] < 1)))
    assert slides[0] == pytest.approx(long.sum(), abs=0.03 * len(sol.t))


def test_stewart_is_the_step_form_on_one_surface():
    """The same steps; theta = (1 - alpha, alpha)."""
    system = ex.models.stribeck_belt()
    a, b = (ex.simulate(system, ex.ThetaRK(representation=r)) for r in ("step", "stewart"))
    assert np.abs(a.x - b.x).max() <= 1e-9
    assert np.abs(a.theta - b.theta).max() <= 1e-7
    assert off(b) <= 1e-10


def test_it_passes_an_accumulation_of_switches():
    """Fuller's feedback behind its Zeno time, where FESD has to stop: it stays at the origin."""
    system = ex.StepSystem(
        "Fuller", x="x1 x2", params={"xi": 0.44462356018593735},
        f=["x2", "-sign(x1 + xi*abs(x2)*x2)"], start={"x": [1, 0], "t_end": 5},
    )  # fmt: skip
    sol = ex.simulate(system, ex.ThetaRK(stages=1, h=1e-3))
    assert off(sol) <= 1e-10
    assert np.abs(sol.x[-1]).max() <= 5e-3


def test_random_step_systems_are_stepped_through():
    """Two coupled relays of any signs, in steps that are coarse: each problem has a solution."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        a, b = rng.uniform(-2, 2, (2, 2, 3)).tolist()
        system = ex.StepSystem("s", x="x y", f=[
            f"{p[0]}*sign(x) + {p[1]}*sign(y) + {p[2]} + {q[0]}*x + {q[1]}*y + {q[2]}*sign(x*y)"
            for p, q in zip(a, b, strict=True)
        ], start={"x": [0.1, -0.2], "t_end": 1})  # fmt: skip
        sol = ex.simulate(system, ex.ThetaRK(stages=3, h=0.1))
        assert off(sol) <= 1e-10


def test_several_regions_at_once():
    """A slide on two surfaces with theta of four regions, and regions that are unions of cells."""
    system = ex.FilippovSystem(
        "s", x="x y z", c={"A": "x", "B": "y"}, S=["A & B", "A - B", "~A"],
        modes={"a": ["-1", "-1", 1], "b": ["-1", "1", 2], "c": ["1", "-y/2", 3]},
        start={"x": [0.3, -0.2, 0], "t_end": 2},
    )  # fmt: skip
    for representation in ("step", "stewart"):
        sol = ex.simulate(system, ex.ThetaRK(h=0.01, representation=representation))
        assert off(sol) <= 1e-10
        assert np.abs(sol.x[-1, :2]).max() <= 1e-9
        assert sol.theta[-1].sum() == pytest.approx(1)


def test_a_mode_that_blows_up():
    """x' = x^2 behind the switch: a sentence, and what was computed before."""
    system = ex.StepSystem(
        "s", x="x", f=["Piecewise((x**2, x > 1), (1, True))"], start={"x": [0], "t_end": 3}
    )
    with pytest.raises(ex.StepFailed) as caught:
        ex.simulate(system, ex.ThetaRK(h=0.1))
    assert 1.5 < caught.value.solution.t[-1] < 2.5


def test_it_is_a_lesson_that_warns():
    """Offered by name only; the warning says what is lost."""
    system = ex.models.sliding_mode()
    assert [type(s).__name__ for s in ex.schemes_for(system)][:1] == ["FESD"]
    assert not any(isinstance(s, ex.ThetaRK) for s in ex.schemes_for(system))
    with pytest.warns(ex.LessonWarning, match="first order"):
        ex.simulate(system, "ThetaRK", t_end=0.1)
