"""Growth of linear systems and of Newmark's steps, samples that are masked, knobs and orders."""

from __future__ import annotations

import functools
import inspect
import re
import warnings

import numpy as np
import pytest

import explorer as ex
from explorer.schemes.newmark import Newmark
from explorer.verification.growth import step_growth
from explorer.views.stability import stability as draw

SKEW = [[100.0, 5.0], [-5.0, 150.0]]  # its eigenvalues are real and positive: nothing grows


def plane(K, C=None, v=(0.0, 0.0)):
    start = {"q": [0.1, 0.0], "v": v, "t_end": 4.0}
    return ex.LinearMechanicalSystem("plane", np.eye(2), K, C=C, start=start)


@pytest.mark.parametrize("scheme", [ex.Newmark, ex.NonsmoothGeneralizedAlpha])
def test_a_stiffness_that_is_not_symmetric_has_a_limit_too(scheme):
    most = 2 / np.sqrt(np.linalg.eigvals(np.array(SKEW)).real.max())
    knobs = {"beta": 0.0} if scheme is ex.Newmark else {
        "alpha_m": 0.0, "alpha_f": 0.0, "beta": 0.0, "gamma": 0.5
    }  # fmt: skip
    run = ex.simulate(plane(SKEW), scheme(h=0.99 * most, **knobs))
    assert np.abs(run.q).max() < 1
    with pytest.raises(ex.BadValue, match="K is not symmetric"):
        ex.simulate(plane(SKEW), scheme(h=1.01 * most, **knobs))


def test_a_step_of_newmark_grows_as_its_amplification_matrix_says():
    co = Newmark(beta=0.0).coefficients
    for h, theta in [(0.1, 0.0), (2.5, 2 * np.arccosh(1.25))]:
        one = np.array([[1.0]])
        assert step_growth(co, one, 0 * one, one, h) == pytest.approx(theta, abs=1e-6)


@pytest.mark.parametrize(
    ("K", "C", "rate"),
    [
        ([[100, 90], [-90, 110]], None, None),
        ([[100, 0], [0, 150]], [[-0.5, 0], [0, 0.1]], 0.25),
    ],
)
def test_a_system_that_feeds_itself_is_warned_of(K, C, rate):
    system = plane(K, C)
    if rate is None:
        roots = np.sqrt(np.linalg.eigvals(-np.array(K, float)).astype(complex))
        rate = np.abs(roots.real).max()
    with pytest.warns(ex.ModelWarning, match=rf"exp\({rate:.4g} t\)"):
        run = ex.simulate(system, ex.Newmark(h=0.01), t_end=1.0)
    assert run.status.ok


def test_damping_that_damps_is_not_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ex.simulate(plane([[100, 0], [0, 150]], [[0.5, 0.2], [-0.2, 0.1]]), ex.Newmark(h=0.01))


@pytest.mark.parametrize("model", ["pendulum", "duffing"])
def test_newmark_that_feeds_a_nonlinear_system_is_cautioned_of(model):
    system = getattr(ex.models, model)()
    assert not ex.simulate(system, ex.Newmark(h=0.02, gamma=0.45)).certificate.ok
    assert ex.simulate(system, ex.Newmark(h=0.02)).certificate.ok
    run = ex.simulate(ex.models.pendulum(), ex.Newmark(h=0.9, beta=0.0))
    assert not run.certificate["growth"].ok


def test_samples_that_are_masked_are_no_data():
    system = ex.LinearMechanicalSystem("m", [[1.0]], [[1.0]])
    values = np.ma.masked_array([1.0, 9.0, 3.0], [False, True, False])
    with pytest.raises(ex.BadModel, match=r"Sample 1 .* is masked"):
        system.forcing(ex.Record(0.1, values, [1]))
    whole = np.ma.masked_array([1.0, 2.0, 3.0])
    system.forcing(ex.Record(0.1, whole, [1]))
    assert system.records[0].values.tolist() == [1, 2, 3]


def test_the_damping_that_is_drawn_is_less_xi():
    figure = draw(ex.study.stability("linear acceleration", xi=0.02))
    titles = [axis.title.text for axis in figure.select_yaxes()]
    assert any(t and "ξ" in t for t in titles), titles


@pytest.mark.parametrize("name", ["MoreauJean", "FESD", "GeneralizedAlpha", "SchatzmanPaoli"])
def test_only_the_step_needs_no_name(name):
    kind = getattr(ex, name)
    assert kind(0.02).h == 0.02
    with pytest.raises(ex.ExplorerError, match="takes only h as a positional argument"):
        kind(0.02, 1.0)
    kinds = [p.kind for p in inspect.signature(kind).parameters.values()]
    assert kinds[1:] == [inspect.Parameter.KEYWORD_ONLY] * (len(kinds) - 1)
    with pytest.raises(ex.ExplorerError, match="twice"):
        kind(0.02, h=0.01)


@pytest.mark.parametrize(
    ("scheme", "order", "across"),
    [
        (ex.EventDriven(), 8, 8),
        (ex.EventDriven(method="dopri5"), 5, 5),
        (ex.EventDriven(method=ex.Newmark(h=0.01, gamma=0.6, beta=0.4)), 1, 1),
        (ex.FESD(stages=1), 1, 1),
        (ex.FESD(stages=3), 5, 5),
        (ex.FESD(stages=2, tableau="gauss"), 4, 4),
        (ex.ThetaRK(stages=3, tableau="lobatto_iiic"), 4, 1),
        (ex.MoreauJean(), 2, 1),
        (ex.MoreauJean(theta=1), 1, 1),
        (ex.MoreauJean(mass_point="iterate"), 1, 1),
        (ex.Newmark(gamma=0.6, beta=0.4), 1, 1),
        (ex.Newmark(a0="zero"), 1, 1),
        (ex.GeneralizedAlpha(rho_inf=0.3), 2, 1),
        (ex.EulerMoreau(theta=1), 1, 1),
    ],
    ids=repr,
)
def test_the_order_is_that_of_the_knobs(scheme, order, across):
    assert (scheme.order, scheme.order_across_events) == (order, across)
    assert (type(scheme)().order, type(scheme)().order_across_events) == (
        type(scheme).order, type(scheme).order_across_events,
    )  # fmt: skip


@pytest.mark.parametrize("model", ["bouncing_ball", "impact_oscillator", "vibrating_table"])
def test_time_freezing_by_one_stage_of_radau_says_how_far_it_is_off(model):
    system = getattr(ex.models, model)()
    run = ex.simulate(system, ex.FESD(h=10 * system.h, stages=1))
    assert {"energy", "impact law"} & {check.name for check in run.certificate.broken}
    assert ex.simulate(system, ex.FESD(h=10 * system.h)).certificate.ok


def test_bounds_of_event_location_follow_its_tolerance():
    system = ex.models.impact_oscillator()
    tight, loose = (
        ex.simulate(system, ex.EventDriven(rtol=r, atol=r)).certificate for r in (1e-10, 1e-4)
    )
    assert tight["energy"].allowed < 1e-4 * loose["energy"].allowed * 1e2
    assert tight["energy"].value < loose["energy"].value
    assert tight.ok
    assert loose.ok


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ex.EventDriven("dop853", 1e-9), "takes only method as a positional argument: write EventDriven(method=..., rtol=...)"),
        (lambda: ex.Iteration(5.0), "write Iteration(bound=...)"),
        (lambda: ex.MoreauJean(1e-3, "lemke"), "takes only h as a positional argument: write MoreauJean(h=..., lcp=...)"),
        (lambda: ex.Recorder(10), "no positional arguments, but 1 is given. Write Recorder(every=...)"),
        (lambda: ex.PredictiveControl("receding"), "Write PredictiveControl(horizon=...)"),
        (lambda: ex.OptimalControlProblem(ex.models.sliding_mode(), 1.0, 20),
         "takes 2 positional arguments, but 3 are given. Write OptimalControlProblem(system, t_end, intervals=...)"),
        (lambda: ex.Plan.feedback(None, 1, 2, 3), "takes 2 positional arguments, but 3 are given. Write feedback(Q, R, Qf=...)"),
        (lambda: ex.views.event_table(RUN(), rows=10), "event_table has no argument 'rows'"),
        (lambda: ex.views.trajectory(RUN(), lines=3), "views.trajectory has no argument 'lines'"),
    ],
)  # fmt: skip
def test_knobs_have_names(call, words):
    """A knob without its name is refused with the words to write."""
    with pytest.raises(ex.BadArgument, match=re.escape(words)):
        call()


def test_a_step_size_and_a_located_method_need_no_name():
    assert ex.MoreauJean(1e-3) == ex.MoreauJean(h=1e-3)
    assert ex.EventDriven("dopri5") == ex.EventDriven(method="dopri5")


@functools.cache
def RUN():
    return ex.simulate(ex.models.bouncing_ball(), ex.MoreauJean(h=1e-2), t_end=0.1)
