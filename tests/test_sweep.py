"""Sweeps: closed forms, equality with single runs to the last bit, failures, executors, folders."""

from __future__ import annotations

import multiprocessing
import os
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

import explorer as ex
from explorer.compiled.start_mode import start_mode
from explorer.derivatives.question import event_names
from explorer.models import models
from explorer.runs.members import Observed
from explorer.study import Section, orbit_diagram, parts, sweep
from explorer.study.one_by_one import one_by_one
from explorer.study.over import Axes
from explorer.study.parts import _Folder, _gaps, _span

OMEGA, PERIOD = np.linspace(2.3, 2.9, 5), "2*pi/omega"
FORCED = {"t_end": "20*2*pi/omega", "transient": "8*2*pi/omega", "s": 0.0}
QUIET = {"progress": False}


@pytest.fixture(scope="module")
def oscillator():
    return ex.models.impact_oscillator()


def same(one: Observed, other: Observed) -> None:
    """Compare all that was observed, to the last bit."""
    for name, left, right in zip(Observed._fields, one, other, strict=True):
        assert np.array_equal(left, right, equal_nan=left.dtype.kind == "f"), name


# -- closed forms --------------------------------------------------------------------------------


def test_the_bouncing_ball_lands_where_it_must():
    """sqrt(2 y0 / g), and at a time before the second impact y = e v t - g t^2 / 2 behind it."""
    e, y0 = np.array([0.5, 0.9]), np.array([0.8, 1.0, 1.3])
    found = sweep(
        ex.models.bouncing_ball(),
        ex.EventDriven(rtol=1e-11, atol=1e-12),
        over={"e": e, "q0.y": y0},
        observe=["extrema", Section(event="floor", side="before")],
        t_end=0.6,
        **QUIET,
    )
    g = ex.models.bouncing_ball().parameters["g"].value
    landed = np.sqrt(2 * y0 / g)
    assert found.shape == (2, 3)
    assert found.times[..., 0] == pytest.approx(np.broadcast_to(landed, (2, 3)), abs=1e-10)
    assert found.points[..., 0, 1] == pytest.approx(np.broadcast_to(-g * landed, (2, 3)), abs=1e-9)
    rest = 0.6 - landed
    y = e[:, None] * g * landed * rest - g * rest**2 / 2
    assert found["y"] == pytest.approx(y, abs=1e-9)
    assert (found.events[..., 0] == 1).all()
    assert found.found.tolist() == [[1] * 3] * 2
    assert found.high[..., 0] == pytest.approx(np.broadcast_to(y0, (2, 3)), abs=1e-12)
    assert found.high[..., 1] == pytest.approx(np.outer(e, g * landed), abs=1e-9)
    assert found.low[..., 1] == pytest.approx(np.broadcast_to(-g * landed, (2, 3)), abs=1e-9)


def test_the_orbit_with_one_impact_in_a_period_returns(oscillator):
    """x+ of each impact is 2 omega e / ((omega^2 - 1) (1 - e)) (Budd and Dux 1994), f = m = k = 1."""
    at = {"omega": 2.0, "e": 0.8, "c": 0.0, "s": 0.0, "x0": -4.57597, "v0": 4.24264}
    speed = 2 * 2.0 / (3.0 * 0.2)
    found = sweep(
        oscillator,
        over={"m": [1.0]},
        observe=Section(event="stop", side="before"),
        t_end="30*2*pi/omega",
        transient="20*2*pi/omega",
        **at,
        **QUIET,
    )
    hits = found.points[0, : found.found[0], 1]
    assert len(hits) == 10
    assert hits == pytest.approx(np.full(10, speed), rel=1e-4)
    assert np.diff(found.times[0, :10]) == pytest.approx(np.full(9, np.pi), rel=1e-4)


def test_extrema_between_the_steps_are_those_of_the_sine():
    """x = sin(omega t) over whole periods: -1, 1, and its velocity -omega, omega."""
    system = ex.MechanicalSystem("spring", q="x")
    (w,), (x,) = system.params(w=1.0), system.q
    system.mass, system.force = [[1]], [-(w**2) * x]
    system.start(q=[0], v=[w], t_end=20)
    values = np.array([0.7, 1.0, 3.1])
    found = sweep(system, "EventDriven", over={"w": values}, observe="extrema", **QUIET)
    assert found.high == pytest.approx(np.column_stack([np.ones(3), values]), rel=1e-7)
    assert found.low == pytest.approx(-np.column_stack([np.ones(3), values]), rel=1e-7)


# -- each member is a run of its own --------------------------------------------------------------


def test_members_are_single_runs_to_the_last_bit(oscillator):
    over = {"omega": OMEGA, ("q0.x", "v0.x"): [[-1.5, 0.0], [-0.3, 0.8]]}
    timed = sweep(
        oscillator, over=over, observe=Section(period=PERIOD, phase=0.25), **FORCED, **QUIET
    )
    met = sweep(oscillator, over=over, observe=Section(event="stop"), **FORCED, **QUIET)
    assert timed.ok.all()
    assert np.array_equal(timed.end, met.end)
    for index in ((0, 0), (2, 1), (4, 0)):
        run = timed.run(*index)
        assert run.q[0, 0] == [-1.5, -0.3][index[1]]
        assert np.array_equal(timed.end[index], run.march.y[:2])
        times = timed.times[index][: timed.found[index]]
        period = 2 * np.pi / OMEGA[index[0]]
        assert times == pytest.approx((0.25 + np.arange(8, 20)) * period)
        x = run.march.sample(times)[0][:, :2]
        assert np.array_equal(x, timed.points[index][: len(times)])
        hits = [e for e in run.events if e.t >= 8 * period and e.kind != "released"]
        assert met.found[index] == len(hits) > 5
        assert np.array_equal(met.times[index][: len(hits)], [e.t for e in hits])
        assert np.array_equal(met.points[index][: len(hits)], [e.x_plus for e in hits])


@pytest.mark.parametrize("section", [Section(event="stop", side="before"), Section(period=PERIOD)])
def test_the_kernel_and_single_runs_observe_the_same(oscillator, section):
    found = sweep(oscillator, over={"omega": OMEGA}, observe=section, **FORCED, **QUIET)
    question = found.question
    slow = one_by_one(oscillator, found.scheme, question.members(0, 5), question.asked)
    same(found.observed, slow)


def test_a_time_span_keeps_all_its_digits():
    ball, t_end = ex.models.bouncing_ball(), 4.5 * 0.3  # 1.3499999999999999, not 1.35
    run = ex.simulate(ball, ex.EventDriven(), t_end=t_end, e=0.5)
    for asked in (t_end, f"{t_end!r} * m", f"{t_end!r} * sqrt(m)"):
        found = sweep(ball, ex.EventDriven(), over={"e": [0.5]}, t_end=asked, **QUIET)
        assert found.question.members(0, 1).t_end == [t_end]
        assert np.array_equal(found.end[0], [run.q[-1, 0], run.v[-1, 0]])


def test_modes_of_a_hybrid_system_are_compiled_on_the_way_and_kept():
    system = ex.models.thermostat()
    guards = list(dict.fromkeys(system.guard_names))
    name = next(iter(system.parameters))
    value = system.parameters[name].value
    over = {name: [0.98 * value, value]}
    found = sweep(system, "EventDriven", over=over, observe=Section(event=guards[0]), **QUIET)
    assert found.events.sum() > 0
    question = found.question
    slow = one_by_one(system, found.scheme, question.members(0, 2), question.asked)
    same(found.observed, slow)


@pytest.mark.parametrize("section", [Section(period=PERIOD), Section(event="v - v_d")])
@pytest.mark.parametrize("chained", [False, True])
def test_modes_with_slides_begin_where_single_runs_do(section, chained):
    """Forced dry friction: starts on the surface that stick or cross, and those beside it."""
    system = ex.StepSystem(
        "forced friction", x="x v", c={"v - v_d": "v - v_d"},
        params={"mu": 0.5, "omega": 0.6, "v_d": 0.5},
        f=["v", "-x - mu*(2*alpha_1 - 1) + cos(omega*t)"],
    )  # fmt: skip
    starts = np.array([[0.0, 0.5], [0.9, 0.5], [2.0, 0.5], [-1.0, 0.5], [0.3, -1.0], [1.0, 0.7]])
    question = parts.Question(
        system, ex.EventDriven(), tuple(system.rho()),
        Axes.of(system, {("x0.x", "x0.v"): starts}), 11.5, 0.0, section, chained=chained,
    )  # fmt: skip
    fast = question.run(0, 6)
    slow = one_by_one(system, question.scheme, question.members(0, 6), question.asked)
    same(fast, slow._replace(mode=fast.mode))  # single runs number the modes that they have met
    assert question.scheme.ensemble(system) is not None
    assert (fast.code == 0).all()
    run = ex.simulate(system, "EventDriven", x0=starts[0], t_end=11.5)
    assert "slides" in [event.kind for event in run.events]


def test_a_start_without_a_mode_is_refused_and_the_next_begins_anew(monkeypatch):
    system = ex.models.relay_feedback()
    refuse = start_mode

    def begins(flow, rho, x=None):
        if x[0] == 0.25:
            raise ex.errors.BadModel("no mode")
        return refuse(flow, rho, x)

    monkeypatch.setattr("explorer.runs.event_driven.ensemble.start_mode", begins)
    name = f"x0.{system.coordinates[0]}"
    found = sweep(system, "EventDriven", over={name: [0.2, 0.25, 0.3]}, t_end=1.0, **QUIET)
    assert found.status.tolist() == ["success", "refused", "success"]


def test_a_scheme_with_steps_runs_one_by_one():
    scheme = ex.MoreauJean(h=5e-3)
    system = ex.models.bouncing_ball()
    found = sweep(
        system, scheme, over={"e": [0.5, 0.7]}, observe=["extrema", Section(event="floor")], **QUIET
    )
    run = ex.simulate(system, scheme, e=0.7)
    assert np.array_equal(found.end[1], [run.q[-1, 0], run.v[-1, 0]])
    assert found.events[1, 0] == len(run.events) > 2
    first = run.events[0]
    assert found.times[1, 0] == first.t
    assert found.points[1, 0, 1] == first.v_plus[0]
    assert found.high[1, 0] == run.q.max()


def test_elements_are_observed_as_events_are(oscillator):
    """FESD records elements, not a march: ends, events and extrema are those of its run."""
    asked = {"over": {"q0.x": [-2.0, -1.5]}, "observe": ["extrema", Section(event="stop")]}
    given = {"t_end": 4.0, "omega": 2.0, "s": 0.0, **QUIET}
    found = sweep(oscillator, ex.FESD(h=np.pi / 50), **asked, **given)
    exact = sweep(oscillator, **asked, **given)
    assert found.found.tolist() == exact.found.tolist() == [1, 1]
    for one, other in ((found.end, exact.end), (found.points[:, 0], exact.points[:, 0])):
        assert one == pytest.approx(other, abs=1e-4)
    assert found.high == pytest.approx(exact.high, abs=1e-3)


# -- failures and refusals ------------------------------------------------------------------------


def test_points_that_fail_are_nan_with_their_status(oscillator):
    found = sweep(
        oscillator,
        ex.EventDriven(max_steps=200),
        over={"s": [-2.0, 0.5], "omega": [2.0, 6.0]},
        t_end=40.0,
        **QUIET,
    )
    assert found.status[0].tolist() == ["refused", "refused"]
    assert found.status[1, 1] == "step_cap"
    assert np.isnan(found.end[~found.ok]).all()
    assert not np.isnan(found.end[found.ok]).any()
    failure = found.failures[0]
    assert failure.index == (0, 0)
    assert failure.at == {"s": -2.0, "omega": 2.0}
    assert "starts inside an obstacle" in found.why(0, 0)
    assert "max_steps" in found.why(1, 1)
    assert 0 < found.t[1, 1] < 40
    assert "refused" in repr(found)


def test_longer_runs_may_have_more_events(oscillator):
    """226 impacts in 8 periods of chatter; the system's own t_end is 2.5 of them."""
    given = {"omega": 0.4, "s": 0.0, "e": 0.6, "x0": -0.3, "t_end": 40 * np.pi}
    for most, status in ((80, "success"), (60, "event_cap")):
        scheme = ex.EventDriven(max_events=most)
        found = sweep(oscillator, scheme, over={"c": [0.0]}, **given, **QUIET)
        assert found.status.tolist() == [status]
        assert ("max_events" in found.why(0)) == (status != "success")
        assert not ex.simulate(oscillator, scheme, throw=False, **given).status.ok
        if status == "success":
            assert np.array_equal(found.run(0).march.y[:2], found.end[0])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"over": {"omga": [1.0]}}, "omega"),
        ({"over": {}}, "must be a dict"),
        ({"over": {"omega": [1.0, np.nan]}}, "finite numbers"),
        ({"over": {("omega", "s"): [1.0, 2.0]}}, "rows of 2 numbers"),
        ({"over": {"omega": [1.0], ("omega", "s"): [[1.0, 2.0]]}}, "twice"),
        ({"over": {"omega": [1.0]}, "observe": "ends"}, "'end'"),
        ({"over": {"omega": [1.0]}, "observe": Section(event="wall")}, "stop"),
        ({"over": {"omega": [1.0]}, "transient": 50.0}, r"\[0, t_end\)"),
        ({"over": {"omega": [1.0, -1.0]}, "t_end": PERIOD}, "greater than zero"),
    ],
)
def test_bad_questions_are_refused_in_a_sentence(oscillator, given, words):
    with pytest.raises(ex.ExplorerError, match=words):
        sweep(oscillator, **given, **QUIET)


def test_a_folder_that_cannot_be_written_is_refused(oscillator, tmp_path):
    file = tmp_path / "file"
    file.write_text("in the way", "utf-8")
    with pytest.raises(ex.ExplorerError, match="cannot be written"):
        sweep(oscillator, over={"omega": [1.0]}, folder=file / "none", **QUIET)


def test_a_sweep_of_a_billion_runs_says_what_would_fit(oscillator):
    over = {"omega": np.linspace(1, 2, 100_000), "s": np.linspace(0, 1, 10_000)}
    with pytest.raises(ex.ExplorerError, match=r"1e\+09 runs .* h on .* GB .* runs fit"):
        sweep(oscillator, over=over, **QUIET)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"event": "a", "period": 1.0},
        {"event": "a", "side": "left"},
        {"period": 1, "phase": 1.0},
    ],
)
def test_a_section_is_checked(given):
    with pytest.raises(ex.ExplorerError, match=r"\.$"):
        Section(**given)


# -- executors, folders, stops --------------------------------------------------------------------


def test_processes_and_threads_answer_alike(oscillator):
    asked = {"over": {"omega": OMEGA}, "observe": Section(event="stop"), **FORCED, **QUIET}
    here = sweep(oscillator, **asked)
    with ThreadPoolExecutor(3) as pool:
        same(here.observed, sweep(oscillator, executor=pool, **asked).observed)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        same(here.observed, sweep(oscillator, executor=pool, **asked).observed)
        pool.submit(os._exit, 1)
        with pytest.raises(ex.ExplorerError, match="worker of the executor has failed"):
            sweep(oscillator, executor=pool, **asked)


def test_a_sweep_goes_on_where_it_was_stopped(oscillator, tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "_TARGET", 0.0)  # parts of one member
    asked = {"over": {"omega": np.linspace(2, 3, 30)}, **FORCED, **QUIET}
    whole = sweep(oscillator, **asked)
    stops = iter([False, False, *[True] * 1000])
    with ThreadPoolExecutor(1) as pool:
        part = sweep(oscillator, executor=pool, folder=tmp_path, stop=lambda: next(stops), **asked)
    ran = part.status == "success"
    assert 0 < ran.sum() < 30
    assert (part.status[~ran] == "not run").all()
    assert np.array_equal(part.end[ran], whole.end[ran])
    (folder,) = tmp_path.iterdir()
    files = sorted(folder.glob("*.npz"))
    files[0].write_bytes(b"damaged")
    kept = {file: file.stat().st_mtime_ns for file in files[1:]}
    again = sweep(oscillator, folder=tmp_path, **asked)
    same(again.observed, whole.observed)
    assert all(file.stat().st_mtime_ns == when for file, when in kept.items())
    other = sweep(oscillator, folder=tmp_path, **{**asked, "s": 0.1})
    assert len([*tmp_path.iterdir()]) == 2
    assert not np.array_equal(other.end, whole.end)


def test_the_kernel_lets_other_threads_run(oscillator):
    """Without Python's lock: this thread counts while the other one marches."""
    question = sweep(
        oscillator, over={"omega": [2.5]}, t_end="400*2*pi/omega", s=0.0, **QUIET
    ).question
    thread, count = threading.Thread(target=question.run, args=(0, 1)), 0
    thread.start()
    while thread.is_alive():
        count += 1
    assert count > 1000


def test_gaps_and_times_left():
    assert _gaps(np.array([True, False, False, True, False])) == [(1, 3), (4, 5)]
    assert _gaps(np.ones(3, bool)) == []
    assert [_span(s) for s in (5, 600, 7200)] == ["5 s", "10 min", "2.0 h"]


def test_a_full_disk_says_so(oscillator, tmp_path, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(ex.ExplorerError, match="No space left"):
        sweep(oscillator, over={"omega": OMEGA}, folder=tmp_path, **FORCED, **QUIET)


def test_a_folder_is_named_by_its_question(oscillator, tmp_path):
    found = sweep(oscillator, over={"omega": [2.0]}, **FORCED, **QUIET).question
    assert _Folder(tmp_path, found).path.name == f"sweep-{found.digest}"


def test_a_sweep_becomes_a_dataset(oscillator):
    over = {"omega": OMEGA, ("q0.x", "c"): [[-1.0, 0.0], [-0.5, 0.1]]}
    table = sweep(
        oscillator, over=over, observe=["extrema", Section(event="stop")], **FORCED, **QUIET
    )
    found = table.to_xarray()
    assert found["end"].dims == ("omega", "sample_1", "state")
    assert found["omega"].attrs["units"] == "rad/s"
    assert found["q0.x"].values.tolist() == [-1.0, -0.5]
    assert found.sel(omega=OMEGA[2], state="x")["high"].shape == (2,)
    assert set(found["status"].values.ravel()) == {"success"}


# -- orbit diagrams -------------------------------------------------------------------------------


def test_a_question_is_written_in_one_line(oscillator):
    asked = sweep(oscillator, over={"omega": OMEGA}, t_end=1, **QUIET).question
    assert repr(asked) == f"Question of 'impact oscillator' over {len(OMEGA)} omega, to 1 s"


@pytest.mark.parametrize("transient", [0, 10])
def test_continuation_follows_the_attractor(oscillator, transient):
    """Each value begins where the transient of the one before has ended, as single runs do.

    Without transients it begins at the end of the run before.
    """
    asked = {"section": Section(period=PERIOD), "transient": transient, "points": 6, "s": 0.0}
    found = orbit_diagram(oscillator, over={"omega": OMEGA}, continuation="both", **asked, **QUIET)
    up, down = found.branches["up"], found.branches["down"]
    assert up.points.shape == down.points.shape == (5, 6, 2)
    assert np.array_equal(down.axes["omega"], OMEGA[::-1])
    state = (up.transients or up).end[1]
    for periods in filter(None, (transient, 6)):
        state = ex.simulate(
            oscillator,
            up.scheme,
            q0=state[:1],
            v0=state[1:],
            t_end=periods * 2 * np.pi / OMEGA[2],
            omega=OMEGA[2],
            s=0.0,
        ).march.y[:2]
    assert up.end[2] == pytest.approx(state, abs=1e-12)
    assert np.array_equal(up.run(2).march.y[:2], up.end[2])
    at, x = found.dots("x", "up")
    assert np.array_equal(x.reshape(5, 6), up.points[..., 0])
    assert np.array_equal(at, np.repeat(OMEGA, 6))
    figure = ex.views.orbit_diagram(found, "v_x")
    assert [trace.name for trace in figure.data if trace.x is not None][:2] == ["up", "down"]
    assert np.allclose(figure.data[0].y, up.points[..., 1].ravel())


def test_behind_a_value_that_fails_the_next_begins_anew(oscillator):
    """The first would start inside its obstacle; the second has the start of the model."""
    asked = {"section": Section(period=PERIOD), "transient": 3, "points": 2, "continuation": "up"}
    found = orbit_diagram(oscillator, over={"s": [-3.0, 0.3, 0.4]}, **asked, **QUIET).first
    assert found.status.tolist() == ["refused", "success", "success"]
    assert "inside an obstacle" in found.why(0)
    fresh = orbit_diagram(oscillator, over={"s": [0.3]}, **asked, **QUIET).first
    assert np.array_equal(found.end[1], fresh.end[0])
    for k in (1, 2):
        assert np.array_equal(found.run(k).march.y[:2], found.end[k])


def test_without_friction_a_linear_oscillator_keeps_period_one():
    """All points of the section are the closed form f / (k - m omega^2 + i c omega)."""
    system = ex.models.impact_oscillator()
    omega = np.array([0.6, 1.4])
    found = orbit_diagram(
        system,
        ex.EventDriven(rtol=1e-10, atol=1e-12),
        over={"omega": omega},
        section=Section(period=PERIOD),
        transient=60,
        points=4,
        c=0.5,
        s=3.0,
        **QUIET,
    )
    amplitude = 1 / (1 - omega**2 + 0.5j * omega)
    x = found.first.points[..., 0]
    assert x == pytest.approx(np.repeat(amplitude.real[:, None], 4, axis=1), abs=1e-8)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"continuation": "sideways"}, "continuation = 'sideways' must be one of"),
        *(({"points": n}, f"points = {n} must be a whole number") for n in (0, 2.5, True)),
        *(({"transient": n}, f"transient = {n!r} must be a whole") for n in (2.5, -1, True, "2")),
        ({"t_end": 3.0}, "t_end follows from transient and points"),
        ({"over": {"omega": [1.0], "s": [0.0]}}, "over one parameter"),
        ({"over": {("omega", "s"): np.ones((2, 2))}}, "over one parameter"),
    ],
)
def test_bad_diagrams_are_refused_in_a_sentence(oscillator, given, words):
    asked = {"over": {"omega": [1.0]}, "section": Section(period=PERIOD), **given}
    with pytest.raises(ex.ExplorerError, match=rf"{words}.*\.$"):
        orbit_diagram(oscillator, **asked, **QUIET)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("compass_gait", {"t_end": 3.0}),  # modes, resets
        ("rough_block", {"t_end": 1.0}),  # friction
        ("tether", {"t_end": 3.0}),  # one start is refused
        ("column", {"t_end": 1.0}),  # impacts beyond the cap
        ("fuller", {"t_end": 2.0}),
    ],
)
def test_other_systems_are_observed_alike(name, settings):
    """The kernel for many and `simulate`, one after the other, agree in all bits and statuses."""
    system = models[name]()
    scheme = ex.EventDriven(max_steps=400, max_events=60)
    key, value = next((k, p.value) for k, p in system.parameters.items() if p.value)
    over = {key: [value * 0.999, value]}
    event = event_names(system)[0]
    found = sweep(system, scheme, over=over, observe=Section(event=event), **settings, **QUIET)
    question = found.question
    slow = one_by_one(system, scheme, question.members(0, 2), question.asked)
    refused = np.where(found.observed.code < 0, -1, found.observed.code)
    t = np.where(found.ok, found.observed.t, slow.t)
    same(found.observed._replace(code=refused, t=t), slow)


def test_parameters_without_a_mass_are_refused_by_members_too():
    system = ex.MechanicalSystem("m", q="x", params={"m": 1.0}, mass=[["m"]], force=["-x"])
    system.contact(ex.Contact("x + 0.5", e=0.5, name="stop"))
    system.start(q=[1], v=[0], t_end=4)
    found = ex.study.sweep(system, ex.EventDriven(), over={"m": [-1.0, 0.0, 1.0]})
    assert found.status.tolist() == ["refused", "refused", "success"]
    assert np.isnan(found.end[:2]).all()
    one = ex.simulate(system, ex.EventDriven())
    assert found.end[2].tolist() == one.x[-1].tolist()


def test_a_sweep_says_that_it_certifies_nothing_and_tells_the_cautions_of_a_run():
    """One step of half a second lets the ball fall deep into the floor."""
    system = ex.MechanicalSystem(
        "ball", q="y", params={"g": 9.81}, force=["-g"], contacts=[ex.Contact("y", e=0.5)]
    )
    system.start(q=[1.0], t_end=1.0)
    found = sweep(system, ex.MoreauJean(h=0.2), over={"g": [9.81, 30.0]}, **QUIET)
    assert found.ok.all()
    assert "none is certified" in repr(found)
    assert " ".join(found.run(1).cautions)
    assert found.run(1).cautions[0] in found.why(1)
