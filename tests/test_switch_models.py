"""Models with switches against what is known of them: closed forms, other schemes, the literature."""

from __future__ import annotations

import numpy as np
import pytest

import explorer as ex

FINE = ex.EventDriven(rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("scheme", [FINE, ex.FESD(stages=4, h=0.1)])
def test_the_turbo_comes_in_and_goes_out_at_its_thresholds(scheme):
    """v is linear in sin(w t) between switches; the top speed is v2 + 3 a (1 - v2 w / a) / w."""
    car = ex.models.turbo_car()
    sol = ex.simulate(car, scheme)
    assert [e.to for e in sol.events] == ["turbo", "plain"] * 2
    s = [0.75, 2 / 3, 11 / 12, 5 / 6]  # sin(w t) at 15, 10, 15, 10 m/s
    assert np.sin(0.25 * np.array([e.t for e in sol.events])) == pytest.approx(s, abs=1e-8)
    assert np.abs(car.exact(sol.t, sol.rho)["x"] - sol.x).max() <= 1e-6
    top = ex.simulate(car, scheme, t_end=2 * np.pi).x[-1, 1]  # sin(w t) = 1
    assert top == pytest.approx(car.published["car with a turbo: top speed, in m/s"][0], abs=1e-8)


@pytest.mark.parametrize("e", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("mu", [0.0, 0.2, 0.6])
def test_a_thrown_ball_loses_speed_at_each_impact(e, mu):
    """Flights, impacts and the last slide in closed form, by events and by time freezing."""
    ball = ex.models.thrown_ball()
    for scheme in (FINE, ex.FESD(h=0.05)):
        sol = ex.simulate(ball, scheme, e=e, mu=mu)
        assert np.abs(ball.exact(sol.t, sol.rho)["q"] - sol.q).max() <= 1e-7
    lost = mu * np.sqrt(2 * 9.81 * 0.5) * (1 + e) / (1 - e)  # by all impacts together
    end = ball.exact(np.array([np.sqrt(1 / 9.81) * (1 + e) / (1 - e)]), sol.rho)["v"]
    assert end[0, 0] == pytest.approx(max(4 - lost, 0), abs=1e-9)


def test_the_two_fold_ends_what_is_determined():
    """Up to the fold all agree; behind it a rule says which of three solutions it is."""
    system = ex.models.two_fold()
    sol = ex.simulate(system, ex.FESD(stages=3), t_end=2)
    known = system.exact(sol.t, sol.rho)["x"]
    assert np.nanmax(np.abs(known - sol.x)) <= 1e-12
    fold = sol.t[np.isfinite(known[:, 0])].max()
    assert 0.7 < fold < 0.4**0.5 / 1.5 + 1 - 0.4**0.5
    for rule, end in {"plus": 2.4, "minus": -9.0, "slide": 0.0}.items():
        run = ex.simulate(system, ex.FESD(rule=rule), x0=[0.2, 0], t_end=2)
        assert run.march.phases.switches["consistent"][0] == 3
        x = {"plus": 2.2, "minus": 4.2, "slide": 3.2}[rule]
        assert run.x[-1] == pytest.approx([x, -(x**2 - 0.04) / 4 if rule == "minus" else end])


def test_both_blocks_stick_at_once():
    """A slide of codimension 2 is entered and left; two schemes, both forms of the multipliers."""
    system = ex.models.two_blocks_on_belt()
    known = ex.simulate(system, FINE)
    assert [e.kind for e in known.events][:4] == ["slides", "slides", "leaves", "leaves"]
    for form in ("step", "stewart"):
        sol = ex.simulate(system, ex.FESD(stages=4, h=0.05, representation=form))
        assert sol.switch_times == pytest.approx([e.t for e in known.events], abs=1e-7)
        both = (sol.signs == 0).all(axis=1)
        assert both.any()
        assert sol.x[both][:, 2:] == pytest.approx(0.3, abs=1e-12)
        assert sol.x[-1] == pytest.approx(known.x[-1], abs=1e-7)


def genes_by_exponentials(x, u: float, end: float) -> list[float]:
    """Return the times of the switches of IRMA: between them each gene tends to a constant."""
    decay = np.array([0.02, 0.05, 0.04, 0.6, 0.05])
    gene, level = [4, 2, 0, 3, 1, 2, 2], np.array([0.035, 0.01, 0.04, 0.01, 0.01, 0.08, 0.06])
    x, t, times = np.array(x, float), 0.0, []
    up = x[gene] > level
    while True:
        made = np.array([
            (5e-4 + 0.03 * (not up[0])) * up[1], 1.1e-4 + 9e-4 * up[2],
            3e-4 + 0.15 * up[4] * (1 - (1 - u) * up[3]), 7.5e-4 + 0.015 * up[5],
            6e-4 + 0.018 * up[6],
        ])  # fmt: skip
        rest = made / decay
        with np.errstate(divide="ignore", invalid="ignore"):
            wait = np.log((x - rest)[gene] / (level - rest[gene])) / decay[gene]
        wait[~(wait > 1e-12) | (up == (rest[gene] > level))] = np.inf
        k = int(wait.argmin())
        if t + wait[k] > end:
            return times
        t, x = t + wait[k], rest + (x - rest) * np.exp(-decay * wait[k])
        times.append(t)
        x[gene[k]], up[k] = level[k], not up[k]


@pytest.mark.parametrize(("u", "end", "switches"), [(1.0, 200.0, 7), (0.0, 10.0, 25)])
def test_five_genes_follow_their_exponentials(u, end, switches):
    """In galactose one after the other; in glucose SWI5 and GAL80 circle, ever faster."""
    system = ex.models.irma()
    sol = ex.simulate(system, ex.FESD(stages=4, h=0.5), u=u, t_end=end)
    known = genes_by_exponentials(sol.x[0], u, end)
    assert len(known) == switches
    assert sol.switch_times == pytest.approx(known, abs=1e-8)
    if u:
        number, tolerance, _ = system.published["IRMA: CBF1 falls through its threshold at, in min"]
        assert known[0] == pytest.approx(number, abs=tolerance)
