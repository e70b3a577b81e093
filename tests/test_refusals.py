"""What public names refuse: with a sentence that says what would work, never with Python's own."""

from __future__ import annotations

import copy
import functools
import pickle
import re

import numpy as np
import pytest
from kinds import SYSTEMS
from loops import for_each

import explorer as ex
from explorer.errors import ExplorerError
from explorer.parameters import knobs_of
from explorer.views.drawing.view import views

st = ex.study
BALL = ex.models.bouncing_ball()


def said(call) -> str:
    """Return the sentence by which a call is refused."""
    with pytest.raises(ExplorerError) as refused:
        call()
    return str(refused.value)


# -- arguments and attributes ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ex.MechanicalSystem(), "MechanicalSystem needs name and q: write Mech"),
        (lambda: ex.DiscSystem("d"), "DiscSystem needs count: write DiscSystem(name=..., count="),
        (lambda: ex.Linkage("l").bar("A", "B"), "bar needs mass"),
        (lambda: ex.Linkage("l").bar("A", "B", "C", mass=1), "bar takes 2 positional arguments"),
        (lambda: st.Sharpening(), "Sharpening needs system and over"),
        (lambda: st.Recurrence(cells=1), "Recurrence has no argument 'cells'. Available: near"),
        (lambda: st.Recurrence(near="a"), "near of a Recurrence must be a finite number"),
        (lambda: ex.Cost(g="y", h=3), "Cost has no argument 'h'. Available: g, w."),
        (lambda: BALL.start(foo=1), "start has no argument 'foo'. Available: q, v"),
        (lambda: BALL.inputs(3), "names of 'bouncing ball' must be a list, not 3."),
        (lambda: ex.models.pendulum(foo=3), "pendulum takes no arguments, but 'foo' is given."),
    ],
)
def test_unknown_and_missing_arguments_are_named(call, words):
    assert words in said(call)


OSCILLATOR = ex.models.impact_oscillator()
PERIOD = st.Section(period="2*pi/omega")


def over(period=PERIOD.period, **more):
    return st.orbit_diagram(
        OSCILLATOR, over={"omega": [1, 2]}, section=st.Section(period=period), **more
    )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: over(stop=3), "stop = 3 must be a function"),
        (lambda: over("2*pi/zz"), "period: 'zz' in '2*pi/zz' is neither a state"),
        (lambda: over(-1), "period = -1 s must be greater than zero"),
        (lambda: st.sweep(BALL, over={"e": [0.5]}, observe=3), "observe must be a list, not 3."),
        (lambda: st.sweep(BALL, over={"e": [0.5]}, folder=3), "folder = 3 must be the name of"),
        (lambda: st.sweep(BALL, over={"e": [0.5]}, stop=3), "stop = 3 must be a function"),
        (lambda: st.work_precision(BALL, 3), "schemes must be a list, not 3."),
        (lambda: st.work_precision(BALL, h=3), "at least two step sizes, and h = 3 has 1"),
        (lambda: st.work_precision(BALL, repeats=0), "repeats = 0 must be a whole number of"),
        (lambda: st.compare_schemes(BALL, 3), "schemes must be a list, not 3."),
        (lambda: st.formulations(ex.models.parallelogram(), alphas=3), "alphas must be a list"),
        (lambda: ex.sensitivity(BALL, wrt=3), "wrt must be a list, not 3."),
        (lambda: st.orbit_derivatives(ex.models.tent_map(), wrt=3), "wrt must be a list, not 3."),
        (lambda: ex.fit(BALL, [0, 1], [1, 2], 3, wrt="e"), "observe = 3 is a number, which no"),
        (lambda: st.modes(ex.models.shear_building(2), count=99), "has 2 modes of finite"),
        (lambda: st.modes(ex.models.shear_building(2), count="a"), "must be a whole number of at"),
        (lambda: st.bifurcation_curve(None), "Give a branch from study.continuation, not None."),
        (lambda: st.grazing(None), "Give a branch from study.continuation, not None."),
        (lambda: st.continuation(OSCILLATOR), "Name the parameter: continuation(system, param"),
        (lambda: st.stability(3), "3 is not of the Newmark family. Give a Newmark or"),
        (lambda: st.power_law([1], [1]), "at least three points, and as many x as y; 1 and 1"),
    ],
)
def test_studies_say_what_they_would_take(call, words):
    assert words in said(call)


def test_an_attribute_that_there_is_not_is_answered_in_a_sentence():
    sens, modes = ex.sensitivity(BALL, wrt="e"), st.modes(ex.models.shear_building(2))
    for one in (BALL, sens, modes, ex.Linkage("l"), ex.course):
        assert "has no 'foo'. Available: " in said(lambda one=one: one.foo)
        assert not hasattr(one, "foo")
    assert "Did you mean 'cost_gradient'?" in said(lambda: sens.gradient)
    assert copy.deepcopy(modes).omega.tolist() == modes.omega.tolist()
    assert pickle.loads(pickle.dumps(BALL)).name == copy.copy(BALL).name == BALL.name


def test_what_a_property_lacks_is_not_hidden():
    """An attribute error inside a property is that of its line."""

    class Own(ex.MechanicalSystem):
        @property
        def wrong(self):
            return (3).nothing

    with pytest.raises(AttributeError, match="'int' object has no attribute 'nothing'"):
        Own("own", q="x", mass=1).wrong


# -- views -----------------------------------------------------------------------------------------


def test_a_view_names_the_function_whose_result_it_draws():
    """What each refusal names is a function or a class that can be called, not a module."""
    for name, one in views.items():
        if object in one.takes:
            continue
        words = said(lambda one=one: one(3))
        assert words.endswith(", not 3.")
        for maker in re.findall(r"study\.\w+|(?<=what )\w+(?= )", words):
            found = getattr(st, maker[6:]) if maker.startswith("study.") else getattr(ex, maker)
            assert callable(found), (name, maker)
    assert "study.continuation returns" in said(lambda: ex.views.continuation(3))
    assert "study.compare_schemes returns, not the class MoreauJean." in said(
        lambda: ex.views.scheme_comparison(ex.MoreauJean)
    )


def test_a_view_refuses_arguments_that_it_has_not():
    run = ex.simulate(BALL, t_end=0.1)
    assert "views.trajectory has no argument 'foo'" in said(lambda: ex.views.trajectory(run, foo=3))
    assert "views.energy takes 1 positional" in said(lambda: ex.views.energy(run, "a"))
    assert "3 is not a run: write views.event_table(" in said(lambda: ex.views.event_table(3))


MAP = functools.cache(lambda: ex.simulate(ex.models.tent_map(), t_end=10))
SWITCHED = functools.cache(lambda: ex.simulate(ex.models.switched_oscillator(), t_end=1.0))
FALL = functools.cache(lambda scheme="EventDriven": ex.simulate(BALL, scheme, t_end=1.0))


@for_each(
    ("call", "words"),
    [
        (lambda: ex.views.mechanism(FALL(), 99.0), "t = 99 s lies outside [0, 1] s."),
        (lambda: ex.views.mechanism(FALL(), -0.1), "lies outside [0, 1] s."),
        (lambda: ex.views.mechanism(FALL(), "a"), "t must be a finite number in s"),
        (lambda: ex.views.mechanism(FALL(), None), "t must be a finite number in s"),
        (lambda: ex.views.mechanism(FALL(), [0.1]), "t must be a finite number in s"),
        *(
            (lambda x=x: ex.views.event_table(FALL(), x), f"most = {x!r} must be a whole number")
            for x in (-3, 0, 2.5, None, "a")
        ),
        *(
            (lambda x=x: ex.views.event_table(FALL(), page=x), f"page = {x!r} must be a whole")
            for x in (-1, 0.5, "a")
        ),
        *(
            (lambda x=x: ex.views.event_table(FALL(), by=x), "such as by=(1, True).")
            for x in (3, None, (1,), ("a", False), (1, 2))
        ),
        *(
            (
                lambda run=run, x=x: ex.views.explore(run(), x),
                "must be a run of simulate to compare",
            )
            for run in (FALL, MAP)
            for x in (5, "a", [5], {1: 2}, True, [None, BALL])
        ),
        (lambda: ex.views.phase_plane(SWITCHED(), at="a"), "at must be a finite number in s"),
        (lambda: ex.views.phase_plane(SWITCHED(), at=1e3), "lies outside the run"),
    ],
)
def test_a_view_refuses_what_it_cannot_draw(call, words):
    assert words in said(call)


def test_a_view_takes_what_it_can_draw():
    """Also a page behind the last one, a column that there is not, and both ends of a run."""
    run, end = FALL(), float(FALL().t[-1])
    assert len(ex.views.event_table(run, np.int64(1), page=9.0, by=[7, np.True_])["rows"]) == 1
    for t in (0, end, np.float64(end), "1/2"):
        assert ex.views.mechanism(run, t).data
    for pinned in (None, FALL("MoreauJean"), [None, FALL("MoreauJean")], (), (run,)):
        assert ex.views.explore(run, pinned).data


# -- runs ------------------------------------------------------------------------------------------

BOTH = ("EventDriven", "MoreauJean")


@for_each("scheme", BOTH)
@for_each(
    ("call", "words"),
    [
        (lambda run: run.state("a"), "t = 'a' must be a time in s or a sequence of times."),
        (lambda run: run.state([[0.1]]), "must be a time in s or a sequence of times."),
        (lambda run: run.state(None), "lies outside [0, 1] s."),
        (lambda run: run.state(99.0), "t = 99 s lies outside [0, 1] s."),
        (lambda run: run.state([0.1, -1.0]), "lies outside [0, 1] s."),
        (lambda run: run.state(0.1, side="up"), "side = 'up' must be 'left' or 'right'."),
        (lambda run: run.refined(None), "points = None must be a whole number of at least 1."),
        (lambda run: run.refined(0), "points = 0 must be a whole number"),
        (lambda run: run.refined(2.5), "points = 2.5 must be a whole number"),
        (lambda run: run.has(1), "1 is not the name of a part or of a quantity: write run.has("),
        (lambda run: run.has(["y"]), "is not the name of a part or of a quantity"),
        (lambda run: run[["y", "v_y"]], "write run['y'], one name at a time. run.columns has all"),
        (lambda run: run[0:2], "is not the name of a column: write run['y']"),
        (lambda run: run[1], "1 is not the name of a column"),
    ],
)
def test_a_run_refuses_what_it_cannot_be_asked(scheme, call, words):
    assert words in said(lambda: call(FALL(scheme)))


@for_each("scheme", BOTH)
def test_a_run_has_its_state_at_several_times(scheme):
    run, times = FALL(scheme), [0.05, 0.2, 1.0]
    states = run.state(times)
    np.testing.assert_array_equal(states, [run.state(t) for t in times])
    found = run.at(times)
    np.testing.assert_array_equal(states, np.hstack([found.q, found.v]))
    assert run.state([]).shape == (0, 2)
    hit = run.events[0].t
    np.testing.assert_array_equal(run.state([hit], "left")[0], run.state(hit, "left"))
    assert run.state(hit, "left")[1] < 0 < run.state(hit)[1]


def test_a_run_has_its_state_beyond_its_rows():
    """Rows that were asked for do not limit where a march can be evaluated."""
    run = ex.simulate(ex.models.pendulum(), "EventDriven", t_end=1, t_eval=[0.3, 0.5])
    whole = ex.simulate(ex.models.pendulum(), "EventDriven", t_end=1)
    np.testing.assert_array_equal(run.state([0.1, 0.9]), whole.state([0.1, 0.9]))
    for name in ("switched_oscillator", "bouncing_ball"):
        run = ex.simulate(SYSTEMS[name], "FESD", t_end=1)
        np.testing.assert_allclose(run.state(run.t[[0, -1]]), run.x[[0, -1]], atol=1e-9)


# -- systems, simulations, files --------------------------------------------------------------------

RF = ex.reformulations
DRIVEN = ex.MechanicalSystem("driven", q="x", mass=1)
DRIVEN.inputs("u")
DRIVEN.force = ["u"]
LOCATING = [
    ("bouncing_ball", "EventDriven"),
    ("bouncing_ball", "FESD"),
    ("switched_oscillator", "FESD"),
    ("pendulum", "EventDriven"),
]
STEPS = "is not a system with step functions"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ex.assemble(ex.models.tent_map()), "is not a mechanical system: write assemble("),
        (lambda: ex.rerun(3), "3 is not a run: write rerun(ex.simulate(system))."),
        (lambda: RF.time_freezing(3), "3 is not a mechanical system"),
        (lambda: RF.hysteresis(3), "3 is not a hybrid system"),
        (lambda: RF.contact_modes(3), "3 is not a system"),
        (lambda: RF.smoothing(BALL), STEPS),
        *((lambda f=f: f(3), STEPS) for f in (RF.relays, RF.stewart, RF.filippov, RF.active_sets)),
        (lambda: ex.simulate("bouncing"), "no model 'bouncing'. Did you mean 'bouncing_ball'?"),
        (lambda: ex.simulate(BALL, throw="a"), "throw = 'a' must be True or False."),
        (lambda: ex.simulate(BALL, t_end=True), "t_end must be a finite number in s"),
        (lambda: ex.simulate(BALL, q0={"y": 1}), "q0 must be a sequence of numbers"),
        (lambda: ex.simulate(DRIVEN, u=lambda t: 1), "The input 'u' must be a number, an array or"),
        (lambda: ex.simulate(DRIVEN, u={"u": "a"}), "The input 'u' must be a number, an array or"),
        *(
            (lambda u=u: ex.simulate(DRIVEN, u=u), "u of 'u' is empty. Give a number for each")
            for u in ([], (), np.zeros(0), [[]])
        ),
        *(
            (
                lambda name=name, scheme=scheme: ex.simulate(
                    SYSTEMS[name], scheme, t_end=0.3, t_eval=[]
                ),
                "t_eval is empty, and a run without rows tells nothing. Give times, such as",
            )
            for name, scheme in LOCATING
        ),
        (lambda: ex.sensitivity(BALL, wrt="e", t_end=1, t_eval=[]), "t_eval is empty"),
        (
            lambda: ex.simulate(ex.DiscSystem("d", 2)),
            "Discs 1 and 2 of 'd' start at the same place",
        ),
        (lambda: ex.BilinearSpring("x", k=-1, f_y=1), "k = -1 of a BilinearSpring must be greater"),
        (lambda: ex.BilinearSpring("x", k=1, f_y=1, b=1), "b = 1 of a BilinearSpring must lie in"),
        (lambda: ex.Recorder(q=3.5), "q = 3.5 of a Recorder must be 'all', or names or numbers"),
        (lambda: ex.rayleigh("a", [[4]], 0.05, (1, 2)), "M must be a matrix of numbers, not 'a'."),
        (lambda: ex.rayleigh([[1]], [[4]], 0.05, (1,)), "needs two frequencies, but 1 is given."),
        (lambda: ex.modal_damping([[1, 2]], [[1]], 0.1), "but are 1 x 2 and 1 x 1."),
        (
            lambda: ex.modal_damping([[1]], [[1]], [0.1, 0.2]),
            "2 damping ratios are given for 1 mode",
        ),
        (lambda: ex.MechanicalSystem.from_mechanics("a", 3), "3 is not a LagrangesMethod or Kanes"),
        (lambda: ex.sensitivity(BALL, wrt="e", t_end=1).saltation("a"), "There is no event 'a'"),
        (lambda: ex.sensitivity(ex.models.tent_map()), "For maps use study.orbit_derivatives."),
        (lambda: ex.models["zzz"], "No model has the word 'zzz'. The groups are "),
        (lambda: ex.course.exercise("7"), "Available: 1.1, 1.2, 1.3, 2.1, "),
        (
            lambda: ex.load(__file__),
            "is not a saved solution. Give a file that run.save(...) wrote.",
        ),
        (lambda: ex.load(None), "None is not a file path. Give text, such as 'run.npz'."),
    ],
)
def test_what_cannot_be_used_is_told_with_what_can(call, words):
    assert words in said(call)


@for_each(
    ("name", "scheme"),
    [
        ("pendulum", ex.EventDriven(max_steps=3)),
        ("switched_oscillator", ex.FESD(max_elements=2)),
        ("bouncing_ball", ex.FESD(max_elements=2)),
    ],
)
def test_a_run_that_ends_before_the_times_that_were_asked_for_has_its_end(name, scheme):
    with pytest.raises(ex.StepFailed) as failed:
        ex.simulate(SYSTEMS[name], scheme, t_end=1.0, t_eval=[0.9])
    run = failed.value.solution
    assert run.t == pytest.approx([run.status.t], abs=1e-9)
    assert f"to t = {run.t[0]:g} s" in repr(run)


def test_one_coordinate_is_recorded_by_its_number():
    run = ex.simulate(ex.models.shear_building(3), ex.Newmark(), record=ex.Recorder(q=1), t_end=0.1)
    assert run.recorded.q == (run.system.coordinates[1],)


def test_a_page_is_not_written_where_no_folder_is(tmp_path):
    panel = ex.panels.explore(BALL)
    assert "over must be a list, not 3." in said(lambda: panel.twin(over=3))
    assert said(lambda: panel.twin(over=["zz"])).count(" y,") == 1
    twin = panel.twin({"e": [0.5]})
    assert "cannot be written" in said(lambda: twin.save(tmp_path / "none" / "a.html"))


@pytest.mark.parametrize(
    ("t_eval", "words"),
    [
        ("a", "t_eval[0] must be a finite number, such as 0.5, 1e-3 or 1/3, not 'a'."),
        ([0.1, "b"], "t_eval[1] must be a finite number"),
        ({"a": 1}, "t_eval must be a sequence of numbers, such as [0.5, 1], not a dict."),
        ([[0.1, 0.2]], "t_eval[0] must be a finite number"),
        ([0.1, float("nan")], "t_eval[1] must be a finite number"),
        ([0.2, 0.1], "t_eval needs increasing times."),
    ],
)
def test_times_of_rows_are_numbers(t_eval, words):
    for run in (ex.simulate, ex.sensitivity):
        assert words in said(lambda run=run: run(BALL, "EventDriven", t_end=1, t_eval=t_eval))


def test_a_single_time_is_one_row():
    for run in (ex.simulate, ex.sensitivity):
        assert 0.25 in run(BALL, "EventDriven", t_end=0.4, t_eval=0.25).t


@pytest.mark.parametrize("key", [1, None, (), ("e", 1)])
def test_an_axis_has_a_name(key):
    words = f"over: {key!r} is no name. An axis is called by a name, such as 'omega', or by a tuple"
    assert words in said(lambda: st.sweep(BALL, over={key: [1, 2]}))


def test_a_choice_of_a_scheme_is_text():
    for scheme in (
        ex.MoreauJean,
        ex.GeneralizedAlpha,
        ex.NonsmoothGeneralizedAlpha,
        ex.EventDriven,
    ):
        for name, (_, meta) in knobs_of(scheme).items():
            for given in (np.zeros(2), [1], {}, np.array("a")) if meta.choices else ():
                words = said(lambda s=scheme, n=name, g=given: s(**{n: g}))
                assert f"{scheme.__name__}: {name} = {given!r} is not one of" in words


def mass(**given):
    return ex.MechanicalSystem("one", **{"q": "x", "mass": [[1]], "force": [0], **given})


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: mass(mass=[]), "mass of 'one' must be 1 x 1, but it is given as an empty list."),
        (
            lambda: mass(contacts=[ex.Contact("x", e=0)], compliance=[]),
            "compliance of 'one' must be 1 x 1, but it is given as an empty list.",
        ),
        (lambda: mass().start(assemble=1.5), "assemble = 1.5 must be True, False or names of"),
        (lambda: mass().start(assemble=1), "assemble = 1 must be True, False or names of"),
        (lambda: ex.Param(1, unit=None), "The unit of a parameter must be text, such as 'm/s2'"),
        (
            lambda: ex.Param(1, text=3),
            "The text of a parameter must be text, such as 'restitution'",
        ),
        (lambda: mass(sketch=float("nan")), "sketch of 'one' must be a list, not nan."),
        (lambda: mass(sketch=True), "sketch of 'one' must be a list, not True."),
        (lambda: mass(sketch=lambda: 3).shapes, "sketch of 'one' returns must be a list, not 3."),
        (
            lambda: ex.MapSystem("m", x="x", f=["x"], sketch=2),
            "sketch of 'm' must be a list, not 2.",
        ),
        (lambda: ex.StepSystem("s", x="x", f=["x"], sketch=2), "sketch of 's' must be a list"),
    ],
)
def test_a_declaration_is_read_at_once(call, words):
    assert words in said(call)


def test_a_sketch_is_one_shape_or_several_or_a_function():
    disc = ex.circle("x", 0, 0.1)
    for given, many in (([], 0), (None, 0), (disc, 1), ([disc, disc], 2), (lambda: [disc], 1)):
        assert len(mass(sketch=given).shapes) == many
