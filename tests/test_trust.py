"""How far a derivative can be trusted: chaos, grazing, directions, and a second opinion."""

from __future__ import annotations

import importlib
from types import SimpleNamespace

import numpy as np
import pytest
from loops import for_each
from test_event_order import TIGHT, bar

import explorer as ex
from explorer.derivatives import verify
from explorer.derivatives.doubts import _other, _other_one
from explorer.derivatives.sequence import sequence
from explorer.derivatives.trust import DIGITS, _grazing, _grown, _growth_of_adjoint, trust
from explorer.derivatives.verify import _apart, another
from explorer.kernels.event_driven.doubtful import NEAR
from explorer.models import models
from explorer.quantities import number
from explorer.runs.event_driven.meetings import SURE


def doubling(n: int) -> ex.HybridSystem:
    """x -> 2 x at t = 1/2, 3/2, ...: after n turns dx/dx0 = 2^n."""
    return ex.HybridSystem(
        "doubling", x="x s", params={"x0": ex.Param(0.3, 0, 1)}, modes={"on": ["0", "1"]},
        guards=[{"mode": "on", "r": "s - 1", "direction": 1, "when": "1", "reset": ["2*x", "0"], "to": "on", "name": "turn"}],
        start={"x": ["x0", 0.5], "t_end": n},
    )  # fmt: skip


def test_growth_is_that_of_the_closed_form():
    """|S| x0 / |x|: 2^n x0 over the largest state, 2^n x0: an exact model loses nothing."""
    sens = ex.sensitivity(doubling(20), wrt="x0")
    assert sens.trust.growth == pytest.approx(1, rel=1e-6)
    folded = ex.HybridSystem(
        "tent", x="x s", params={"x0": ex.Param(0.3, 0, 1)}, modes={"on": ["0", "1"]},
        guards=[{"mode": "on", "r": "s - 1", "direction": 1, "when": "1", "reset": ["1 - 2*abs(x - 1/2)", "0"], "to": "on"}],
        start={"x": ["x0", 0.5], "t_end": 20},
    )  # fmt: skip
    sens = ex.sensitivity(folded, wrt="x0")
    grown = 2.0**20 * 0.3 / np.abs(sens.solution.x[:, 0]).max()
    assert sens.trust.growth == pytest.approx(grown, rel=1e-6)
    assert sens.trust.digits == pytest.approx(-np.log10(grown * 1e-9), rel=1e-6)


def test_chaos_is_not_trusted():
    """An impact oscillator in chaos: no digit is left, and another method meets other events."""
    system = models["impact_oscillator"]()
    short = ex.sensitivity(system, wrt="omega", cost={"w": "x"}, t_end=10)
    assert short.trust.ok
    assert "trusted: 8 digits" in repr(short)
    chaos = ex.sensitivity(system, wrt="omega", cost={"w": "x"}, t_end=300)
    assert not chaos.trust.ok
    assert chaos.trust.digits < DIGITS
    assert "Errors grow by" in chaos.trust.sentences[0]
    assert "not trusted" in repr(chaos)
    assert "another method" in {c.name[:14] for c in chaos.verify().certificate.broken}


@pytest.mark.parametrize("name", ["bouncing_ball", "pendulum_wall", "thermostat", "preloaded_stop"])
def test_a_second_opinion_agrees_where_all_is_well(name):
    system = models[name]()
    first = system._state_names()[0]
    t_end = min(system.t_end, 2.0) if system.time_unit == "s" else system.t_end
    names = list(system.parameters)[:3]
    sens = ex.sensitivity(system, wrt=names, cost={"w": f"{first}**2"}, t_end=t_end)
    seen = sens.verify()
    assert seen.ok, seen.certificate
    assert len(seen.certificate) > len(sens.trust.certificate)


@pytest.mark.parametrize("method", ["direct", "adjoint", "complex_step"])
def test_a_second_opinion_finds_a_wrong_gradient(method):
    """A gradient with a wrong entry, whatever method claims it."""
    sens = ex.sensitivity(models["bouncing_ball"](), wrt=("g", "e"), cost={"w": "y"}, t_end=1.0,
                          method=method)  # fmt: skip
    sens.cost_gradient = sens.cost_gradient * [1.0, -1.0]
    broken = [c.name for c in sens.verify().certificate.broken]
    assert "difference quotients by e" in broken
    assert "difference quotients by g" not in broken


def test_events_that_meet_are_directional():
    """Both ends of a bar strike at once: `tilt` decides which comes first, the height does not."""
    sens = ex.sensitivity(bar(), TIGHT, ("h", "tilt"), {"w": "y + a"}, directional="both")
    (first,) = (e.t for e in sens.events if e.directional)
    assert sens.trust.directional == (first,)
    assert first == pytest.approx(np.sqrt(2 / 9.81), rel=1e-9)
    assert not sens.trust.ok
    assert "'tilt' decides which comes first" in sens.trust.sentences[0]
    sens = ex.sensitivity(bar(), TIGHT, ("h", "c"), {"w": "y"})
    assert not sens.trust.directional
    assert sens.trust.ok


def test_a_grazing_event_is_named():
    """The margin of an event is the one that the run gives it; below 100 it is a caution."""
    sens = ex.sensitivity(models["bouncing_ball"](), wrt="g", t_end=1.0)
    object.__setattr__(sens.events[0], "margin", 2.0)
    assert not sens.trust.ok
    assert sens.trust.margin == 2.0
    (sentence,) = sens.trust.sentences
    assert "'floor' at t = 0.45" in sentence
    assert "25 % only" in sentence


def test_the_derivative_of_time_stepping_is_not_trusted():
    """The lesson: it converges to another number."""
    lesson = ex.sensitivity(models["bouncing_ball"](), wrt="y0", method="discrete", t_end=1.0)
    assert not lesson.trust.ok
    assert "disagree" in " ".join(lesson.trust.sentences)


def test_what_is_compared_has_the_same_events():
    sens = ex.sensitivity(models["bouncing_ball"](), wrt="g", t_end=1.0)
    assert sequence(sens.solution) == [("impact", "floor")]
    assert sens.verify(ex.EventDriven(method="radau", rtol=1e-8)).ok
    with pytest.raises(ex.BadValue, match="does not differentiate"):
        sens.verify(ex.MoreauJean(h=1e-3))


def test_doubts_are_among_the_checks_and_cautions_their_sentences():
    """One shape: what is not known of a derivative is a check of its trust that does not hold."""
    bar = ex.MechanicalSystem(
        "bar", q="y a", params={"tilt": 0.0}, mass=[[1, 0], [0, 0.3]], force=["-9.81", 0],
        start={"q": [1, "tilt"], "t_end": 0.6},
        contacts=[ex.Contact("y + a", e=0.5), ex.Contact("y - a", e=0.5)],
    )  # fmt: skip
    for method in ("direct", "adjoint"):
        sens = ex.sensitivity(bar, wrt="tilt", cost={"w": "y"}, method=method, directional="both")
        (doubt,) = sens.doubts
        assert doubt in sens.trust.certificate.broken
        assert (doubt.kind, doubt.name) == ("directional", "directional")
        assert sens.cautions == sens.trust.sentences == (doubt.sentence,)
        assert sens.trust.directional == (doubt.t,)
        assert np.isnan(sens.cost_gradient[0])
    plain = ex.sensitivity(bar, wrt="tilt", cost={"w": "y"}, t_end=0.3)
    assert plain.doubts == plain.cautions == ()
    assert plain.trust.ok


def test_a_derivative_without_doubt_asks_for_no_more_runs(monkeypatch):
    """A plain run is screened by one call: no rows, no second run."""
    system = models["bouncing_ball"]()
    runs, run = [], ex.EventDriven.run
    monkeypatch.setattr(
        ex.EventDriven, "run", lambda *args, **more: (runs.append(1), run(*args, **more))[1]
    )
    sens = ex.sensitivity(system, wrt=("g", "e"))
    assert len(runs) == 1
    assert "located" not in sens.run.__dict__
    assert sens.trust.ok


def test_a_contact_that_is_held_has_speeds_without_derivatives():
    """A plate that rocks to rest on two points: infinitely many accumulations, cut where all ends.

    What was left out is too small to matter for the state, and not for its derivative.
    """
    plate = ex.MechanicalSystem(
        "plate", q="x y a", mass=[[1, 0, 0], [0, 1, 0], [0, 0, 0.2]],
        params={"mu": 0.59013, "F": 2.77215, "w": 1.465457, "v0": 1.682897, "k": 16.87306,
                "e": 0.112732, "h": 0.0442209},
        force=["F*sin(w*t) - k*x", "-9.81", "-3*a"],
        contacts=[ex.Contact("y + 0.2*a", e="e", mu="mu", slip="v_x - 0.1*v_a", name="A"),
                  ex.Contact("y - 0.2*a", e="e", name="B")],
        start={"q": [0, "h", 0.0325254], "v": ["v0", 0, 0], "t_end": 1.0},
    )  # fmt: skip
    early = ex.sensitivity(plate, wrt="mu", cost={"w": "x + 2*v_a"}, t_end=0.2)
    assert early.trust.ok
    late = ex.sensitivity(plate, wrt="mu", cost={"w": "x + 2*v_a"})
    d = 1e-5
    ends = [late.question.rho[0] + sign * d for sign in (-1, 1)]
    runs = [ex.simulate(plate, late.question.scheme, mu=mu) for mu in ends]
    psi = [run.q[-1, 0] + 2 * run.v[-1, 2] for run in runs]
    true = (psi[1] - psi[0]) / (2 * d)
    assert abs(late.cost_gradient[0] / true - 1) > 1e-3
    check = late.trust.certificate["held contacts"]
    assert not check.ok
    assert "impacts accumulate there" in check.words


@pytest.mark.parametrize("name", ["bouncing_ball", "stick_slip", "thermostat", "two_fold", "chua"])
def test_what_happened_is_known_without_rows(name):
    fresh = ex.simulate(models[name](), ex.EventDriven()).march.trajectory()
    met = sequence(fresh)
    assert "t" not in vars(fresh)
    assert met == [(e.kind, e.contact) for e in fresh.located]


# -- growth and its words, of models whose derivatives are known ---------------------------------


def exponential(**more) -> ex.HybridSystem:
    """x' = a x + b from x0: e^(a t) is what an error at the start becomes."""
    return ex.HybridSystem(
        "exponential", x="x", params={"a": ex.Param(1.0, -2, 3), "b": ex.Param(-1.0, -4, 4)},
        modes={"on": ["a*x + b"]}, start={"x": [10.0], "t_end": 2.0}, **more,
    )  # fmt: skip


def test_growth_counts_parameters_in_their_size_or_range():
    """x = (x0 + b/a) e^(a t) - b/a; a parameter that is zero counts as half of its range."""
    e = np.exp(2.0)
    end = 9 * e + 1
    by_a = 2 * 9 * e + e - 1  # t (x0 + b/a) e^(a t) - b/a^2 (e^(a t) - 1), b = -a = -1
    for wrt, moved in (("a", by_a), ("b", e - 1), ("x", end * e)):
        sens = ex.sensitivity(exponential(), wrt=wrt)
        assert sens.trust.growth == pytest.approx(moved / end, rel=1e-6)
    still = ex.sensitivity(exponential(), wrt="b", a=0.0, b=0.0)
    assert still.trust.growth == pytest.approx(2 * 4 / 10, rel=1e-6)
    both = ex.sensitivity(exponential(), wrt=("b", "a"))
    assert both.trust.growth == pytest.approx(by_a / end, rel=1e-6)


def test_what_moves_by_less_than_one_has_grown_too():
    """x' = -x from 0.3: an error of the start is as large as the start, and never larger."""
    calm = ex.sensitivity(exponential(), wrt="x", a=-1.0, b=0.0, x0=[0.3])
    assert calm.trust.growth == pytest.approx(1, rel=1e-6)


def test_growth_of_an_adjoint_is_that_of_an_error_at_the_start():
    """psi = x(T): mu = e^(a (T - t)), so an error of x0 counts x0 e^(a T), one at the end x(T)."""
    sens = ex.sensitivity(exponential(), None, "a", {"w": "x"}, "adjoint")
    e = np.exp(2.0)
    assert sens.trust.growth == pytest.approx(10 * e / (9 * e + 1), rel=1e-6)
    calm = ex.sensitivity(exponential(), None, "a", {"w": "x"}, "adjoint", a=-1.0, b=1.0)
    assert calm.trust.growth == pytest.approx(1, rel=1e-6)  # at the end it is as large as it is


@pytest.mark.parametrize("last", [None, 0, 1])
def test_growth_of_an_adjoint_is_the_largest_beside_that_at_the_end(monkeypatch, last):
    """|mu| |x| at the start, before and after each event, and at the end, whose state is another."""
    rng, events, block = np.random.default_rng(4), 2, 3
    monkeypatch.setattr(np, "empty_like", lambda like: np.full_like(like, np.nan))
    parts = {name: rng.normal(size=(events, block + 1)) for name in ("x_minus", "x_plus")}
    start, end = rng.normal(size=(2, block + 2))
    march = SimpleNamespace(
        flow=SimpleNamespace(n_x=block - 1),
        steps=SimpleNamespace(y=start[None]),
        y=end,
        part=parts.get,
    )
    question = SimpleNamespace(last_place=lambda solution: last)
    count = events if last is None else last  # the cost is that of the state before the last
    states = [start[:block]]
    for k in range(count):
        states += [parts["x_minus"][k, :block], parts["x_plus"][k, :block]]
    states.append(end[:block] if last is None else parts["x_minus"][last, :block])
    monkeypatch.setattr(march, "part", lambda name: parts[name][:, :block])
    mu = rng.normal(size=(len(states), block))
    weight = np.array([np.abs(m) @ np.abs(x) for m, x in zip(mu, states, strict=True)])
    grown = _growth_of_adjoint(question, SimpleNamespace(march=march), mu)
    assert grown == pytest.approx(weight.max() / weight[-1])
    mu[-1] = 0.0
    assert _growth_of_adjoint(question, SimpleNamespace(march=march), mu) == 0.0


@pytest.mark.parametrize(("reset", "grown"), [("3*x - 2.9", 30), ("x/4 + 1", 1)])
def test_growth_of_an_adjoint_over_an_event(reset, grown):
    """x = 1 stands still and is reset once: mu is 1 after it and the slope of the reset before."""
    jump = ex.HybridSystem(
        "jump", x="x", params={"x0": ex.Param(1.0, 0, 2)}, modes={"on": ["0"]},
        guards=[{"mode": "on", "r": "t - 0.5", "direction": 1, "when": "1", "reset": [reset],
                 "to": "on", "name": "tick"}],
        start={"x": ["x0"], "t_end": 1},
    )  # fmt: skip
    sens = ex.sensitivity(jump, None, "x0", {"w": "x"}, "adjoint")
    assert sens.trust.growth == pytest.approx(grown, rel=1e-6)


@pytest.mark.parametrize(
    ("grown", "lost", "words"),
    [
        (2e3, 1e-6, "so 6 of its digits are left"),
        (2e7, 0.05, "so 1 of its digits is left"),
        (2e9, 2.0, "so none of its digits is left"),
        (np.inf, np.inf, "so none of its digits is left"),
        (0.0, 0.0, "so none of its digits is left"),
    ],
)
def test_growth_is_told_in_digits(grown, lost, words):
    check = _grown(grown, lost)
    assert words in check.words
    assert check.value == lost
    assert check.ok == (lost <= 10.0**-DIGITS)


def test_an_event_that_grazes_says_how_much_is_known():
    solution = ex.simulate(ex.models.bouncing_ball(), ex.EventDriven, t_end=0.6)
    margins = [SimpleNamespace(margin=m, contact="floor", t=1.0) for m in (0.9, -1e-3, 0.5)]
    (check,) = _grazing(margins, solution)
    assert check.value == pytest.approx(500)
    assert "is no number" in check.words
    (check,) = _grazing(margins[::2], solution)
    assert check.value == pytest.approx(1.0)
    assert "is no number" in check.words
    (check,) = _grazing(margins[:1], solution)
    assert check.value == pytest.approx(0.5 / 0.9)
    assert "is known to 56 % only" in check.words
    (check,) = _grazing([SimpleNamespace(margin=0.0, contact="floor", t=1.0)], solution)
    assert check.value == np.inf
    assert _grazing([], solution) == []


def test_an_event_meets_another_one_the_start_or_the_end():
    """What is said of an event whose two sides differ: with what it coincides."""

    def run(times, how=0, together=1):
        head = {"t": np.array(times), "how": np.full(len(times), how)}
        located = [SimpleNamespace(together=together, contact=f"c{k}") for k in range(len(times))]
        return SimpleNamespace(
            march=SimpleNamespace(events=SimpleNamespace(head=head)), located=located
        )

    assert _other_one(run([1.0, 1.0], together=2), 1) == "another contact"
    assert _other_one(run([0.5, 1.0, 1.0]), 2) == "'c1'"
    assert _other_one(run([1.0, 1.0, 1.0]), 2) == "'c1'"
    assert _other_one(run([0.5, 1.0]), 1) == "the end of the run"
    assert _other_one(run([0.0, 1.0], how=1), 0) == "the start"
    assert _other_one(run([1.0]), 0) == "the end of the run"
    assert _other_one(run([0.5, 1.0], how=1), 1) == "the end of the run"


def test_a_second_opinion_is_by_the_next_method_and_tolerance():
    """FESD has up to four stages; the Runge-Kutta pairs have tolerances down to 1e-13."""
    for stages, other in ((1, 2), (2, 3), (3, 4), (4, 3)):
        found = another(ex.FESD(stages=stages, h=0.3))
        assert (found.stages, found.h) == (other, 0.15)
    for rtol, wanted in ((1e-6, 1e-7), (1e-12, 1e-13), (1e-13, 1e-12)):
        found = another(ex.EventDriven(method="dopri5", rtol=rtol, atol=10 * rtol))
        assert found.method == "dop853"
        np.testing.assert_allclose([found.rtol, found.atol], [wanted, 10 * wanted], rtol=1e-12)
    newmark = ex.EventDriven(method=ex.Newmark(h=1e-2), max_steps=123, max_events=45)
    assert another(newmark) == ex.EventDriven(max_steps=123, max_events=45)


def test_what_differs_is_counted_relative_to_the_larger():
    one, two = np.array([3.0, -4.0]), np.array([3.0, -3.0])
    for size in (1e-12, 1.0, 1e12):
        assert _apart(size * one, size * two) == pytest.approx(0.25, rel=1e-12)
        assert _apart(size * two, size * one) == pytest.approx(0.25, rel=1e-12)
    assert _apart(np.zeros(2), np.zeros(2)) == _apart(np.zeros(0), np.zeros(0)) == 0.0


def test_what_moves_a_contact_that_is_held_is_counted_relative_to_its_speeds():
    """A ball at rest, whose record is given a derivative of its speed at the end."""
    sens = ex.sensitivity(models["bouncing_ball"](), wrt=("g", "y0"), t_end=4.0, e=0.3)
    assert sens.trust.certificate["held contacts"].value == 0.0
    march = sens.solution.march
    most = np.abs(march.steps.y.reshape(-1, 3, 3)[:, 1:, 1]).max(axis=0)
    rows = march.y.reshape(3, 3)  # of x, g, y0: y, v_y, z
    for j, size in ((0, 0.25), (1, 0.5)):
        rows[1 + j, 1] = size * most[j]
        check = trust(sens.question, sens.solution).certificate["held contacts"]
        assert check.value == pytest.approx(size, rel=1e-3)
        assert f"by {number(size, 1)} of its largest" in check.words


def test_difference_quotients_are_exact_for_a_parabola_on_either_side(monkeypatch):
    """(4 psi(d) - psi(2 d) - 3 psi(0)) / (2 d), d from 1e-3 to 1e-6 of the parameter."""
    system = SimpleNamespace(parameters={"a": ex.Param(0.0, -1, 5), "b": ex.Param(8.0, 0, 9)})
    asked = SimpleNamespace(
        places=(0, 1, -1), wrt=("a", "b", "x"), value=[0.0, -8.0, 1.0].__getitem__, system=system
    )
    changes = []

    def psi(_, j, change, fails=np.inf):
        changes.append(change)
        if abs(change) > fails:
            raise ex.BadValue("no run")
        return 3.0 + (2.0 if change > 0 else -7.0) * change - 4.0 * change**2

    monkeypatch.setattr(verify, "_moved", psi)
    for j, wide in enumerate((3.0, 8.0, 1.0)):
        for sign, slope in ((1.0, 2.0), (-1.0, -7.0)):
            changes.clear()
            found, error = verify._side(asked, j, sign, 3.0)
            assert found == pytest.approx(slope, rel=1e-6)
            assert error < 1e-6
            steps = sign * wide * np.array([1e-3, 2e-3, 1e-4, 2e-4, 1e-5, 2e-5, 1e-6, 2e-6])
            np.testing.assert_allclose(changes, steps, rtol=1e-12)
    monkeypatch.setattr(verify, "_moved", lambda *of: psi(*of, fails=1e-4))
    found, error = verify._side(asked, 2, 1.0, 3.0)
    assert found == pytest.approx(2.0, rel=1e-6)
    assert error < 1e-6
    monkeypatch.setattr(verify, "_moved", lambda *of: psi(*of, fails=3e-6))
    found, error = verify._side(asked, 2, 1.0, 3.0)  # one quotient alone has no error
    assert (found, error) == (pytest.approx(2.0, rel=1e-6), 0.0)
    monkeypatch.setattr(verify, "_moved", lambda *of: psi(*of, fails=0.0))
    assert np.isnan(verify._side(asked, 2, 1.0, 3.0)[0])
    # of a cubic the quotients differ by 2 c (d^2 - D^2) c; the smallest difference is the error
    monkeypatch.setattr(verify, "_moved", lambda _, j, x: 5 * x + 1e6 * x**3)
    found, error = verify._side(asked, 2, 1.0, 0.0)
    assert found == pytest.approx(5 - 2e6 * 1e-12, rel=1e-9)
    assert error == pytest.approx(2e6 * (1e-10 - 1e-12), rel=1e-4)


def test_a_near_miss_counts_in_errors_of_the_largest_state():
    """A ball that turns back d below the ceiling: of states below 1 an error is absolute."""
    thrown = ex.MechanicalSystem(
        "thrown", q="y", params={"u": 2.0, "g": 9.81, "d": 1e-3}, force=["-g"],
        contacts=[ex.Contact("u**2/(2*g) + d - y", e=0.5, name="ceiling")],
        start={"v": ["u"], "t_end": 0.22},
    )  # fmt: skip
    for u, largest in ((2.0, 2.0), (0.4, 0.22 * 9.81 - 0.4), (0.9, 0.22 * 9.81 - 0.9)):
        sens = ex.sensitivity(thrown, ex.EventDriven(rtol=1e-7, atol=1e-8), "g", u=u)
        lost = 1e-7 * max(sens.trust.growth, 1.0)
        wanted = lost * max(largest, 1.0) * SURE / 1e-3
        assert sens.trust.certificate["near miss"].value == pytest.approx(wanted, rel=1e-6)
        assert sens.trust.certificate["near miss"].allowed == 1.0
        assert sens.trust.digits == pytest.approx(-np.log10(lost))
    short = ex.sensitivity(thrown, ex.EventDriven(rtol=1e-7), "g", u=0.5, t_end=0.06)
    lost = 1e-7 * max(short.trust.growth, 1.0)
    assert short.trust.certificate["near miss"].value == pytest.approx(lost * SURE / 1e-3, rel=1e-6)


def test_what_grazes_behind_the_final_time_does_not_count():
    for doctored, margin in ((0, 2.0), (1, 2.0), (2, np.inf)):
        sens = ex.sensitivity(models["bouncing_ball"](), wrt="g", until=("floor", 2), t_end=3.0)
        sound = min(abs(e.margin) for e in sens.events[:2])
        object.__setattr__(sens.solution.located[doctored], "margin", -2.0)
        assert sens.trust.margin == min(margin, sound)
        assert sens.trust.ok == (doctored == 2)


def test_a_second_opinion_compares_every_derivative_at_the_end():
    """A wrong derivative of the last state, of which the cost knows nothing."""
    sens = ex.sensitivity(models["bouncing_ball"](), wrt=("g", "e"), cost={"w": "y"}, t_end=1.0)
    assert sens.verify().ok
    rows = sens.solution.march.y.reshape(3, 3)  # of x, g, e: y, v_y, z
    rows[2, 1] *= 1.1
    broken = [c.name for c in sens.verify().certificate.broken]
    assert [name[:14] for name in broken] == ["another method"]


def test_a_miss_that_another_run_sees_alike_leaves_no_doubt():
    """A parabola is integrated exactly, so that its distance from the ceiling is known."""
    thrown = ex.MechanicalSystem(
        "thrown", q="y", params={"u": 2.0, "g": 9.81, "d": 1e-7}, force=["-g"],
        contacts=[ex.Contact("u**2/(2*g) + d - y", e=0.5, name="ceiling")],
        start={"v": ["u"], "t_end": 0.25},
    )  # fmt: skip
    sens = ex.sensitivity(thrown, ex.EventDriven(rtol=1e-6, atol=1e-7), "g", {"w": "y"})
    assert sens.solution.march.screened[0] & NEAR
    assert sens.doubts == ()
    assert sens.cost_gradient == pytest.approx([-(0.25**2) / 2])
    assert [check.name for check in sens.trust.certificate.broken] == ["near miss"]


def test_a_second_opinion_moves_starts_too():
    sens = ex.sensitivity(models["bouncing_ball"](), wrt=("y", "v_y"), cost={"w": "y"}, t_end=1.0)
    assert sens.verify().ok
    sens.cost_gradient = sens.cost_gradient * [1.0, -1.0]
    broken = [c.name for c in sens.verify().certificate.broken]
    assert "difference quotients by v_y" in broken
    assert "difference quotients by y" not in broken


def test_growth_up_to_an_event_is_measured_there():
    """The speed before the second impact: relative errors neither grow nor shrink on the way."""
    sens = ex.sensitivity(models["bouncing_ball"](), wrt="g", cost={"w": "v_y"}, method="adjoint",
                          until=("floor", 2), e=0.5)  # fmt: skip
    assert sens.trust.growth == pytest.approx(1, rel=1e-6)


def test_the_run_that_resolves_a_doubt_is_finer_where_that_is_possible():
    for scheme in (
        ex.EventDriven(rtol=1e-6),
        ex.EventDriven(method="radau", rtol=1e-6),
        ex.EventDriven(rtol=1e-12),
    ):
        finer = _other(scheme)
        assert finer.rtol < 0.2 * scheme.rtol
        assert finer.atol <= scheme.atol
        assert (finer.method == "radau") == (scheme.method == "radau")
    finest = ex.EventDriven(rtol=2e-13, atol=1e-14)
    assert 10 < _other(finest).rtol / finest.rtol < 100
    assert _other(finest).atol / finest.atol == pytest.approx(_other(finest).rtol / finest.rtol)
    halved = _other(ex.EventDriven(method=ex.Newmark(h=0.02, beta=0.3)))
    assert (halved.newmark.h, halved.newmark.beta) == (0.01, 0.3)


@for_each("scale", (1.0, 1e-6, 1e5))
def test_quotients_are_compared_beside_the_largest_of_them(monkeypatch, scale):
    """The nearer side for the value, both for being directional; a failed side says nothing."""
    sides = {-1.0: (3.0, 0.1), 1.0: (5.0, 0.2)}
    monkeypatch.setattr(verify, "cost_of", lambda *_: 0.0)
    monkeypatch.setattr(verify, "_side", lambda asked, j, sign, middle: np.multiply(sides[sign], scale))  # fmt: skip
    asked = SimpleNamespace(run=lambda wrt: None, wrt=["k"])
    for own, nearest, size in (
        (4.0, 1.0, 5.0),
        (10.0, 5.0, 10.0),
        (-7.0, 10.0, 7.0),
        (3.5, 0.5, 5.0),
    ):
        value, both = verify._quotients(np.array([own * scale]), asked)
        assert value.value == pytest.approx(nearest / size)
        assert both.value == pytest.approx(2.0 / size)
        assert value.allowed == both.allowed == pytest.approx(max(verify._AGREE, 0.6 / size))
    sides[-1.0] = (np.nan, 0.0)
    value, both = verify._quotients(np.array([4.0 * scale]), asked)
    assert (value.value, both.value) == (pytest.approx(1.0 / 5.0), 0.0)
    sides[1.0] = (np.nan, 0.0)
    (alone,) = verify._quotients(np.array([4.0 * scale]), asked)
    assert alone.value == np.inf


def test_a_miss_is_near_beside_the_error_along_the_run(monkeypatch):
    """The error that is left, of the largest of the scales, over the distance; at none it is lost."""
    module = importlib.import_module("explorer.derivatives.trust")
    monkeypatch.setattr(module, "scales", lambda _: np.array([2.0, 5.0]))
    run = SimpleNamespace(march=SimpleNamespace(nearest=1), nearest=1e-3)
    (check,) = module._near(run, 1e-6)
    assert check.value == pytest.approx(1e-6 * 5.0 * SURE / 1e-3)
    run.nearest = 0.0
    assert module._near(run, 1e-6)[0].value == np.inf
    assert module._near(SimpleNamespace(march=SimpleNamespace()), 1e-6) == []


def test_a_start_that_is_not_that_of_the_run_is_told(monkeypatch):
    """By the first state of the run; nothing is told of a start that nobody gave."""
    module = importlib.import_module("explorer.derivatives.trust")
    monkeypatch.setattr(module, "_states", lambda run: (np.array([[1.0, 2.0], [9.0, 9.0]]), None))
    monkeypatch.setattr(module, "moved", lambda system, given, x: (x[0] - given[0], f"{x[1]:g}"))
    question = SimpleNamespace(given=[0.75], system=SimpleNamespace(assembles=True))
    (check,) = module._begun(question, None)
    assert (check.value, check.allowed) == (0.25, module.MOVED)
    assert check.words.endswith("another start: 2")
    assert module._begun(SimpleNamespace(given=None, system=question.system), None) == []
    question.system.assembles = None
    assert module._begun(question, None) == []
