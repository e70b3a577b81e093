"""What a sweep is asked for, how long it would take, and which of them are refused."""

from __future__ import annotations

import importlib
import inspect
from concurrent.futures import ThreadPoolExecutor

import pytest
from loops import for_each
from plain import put, space

import explorer as ex
from explorer.errors import BadValue
from explorer.schemes.event_driven import EventDriven
from explorer.study import Section

module = importlib.import_module("explorer.study.sweep")  # the package holds the function
STOP, STROBE = Section(event="stop"), Section(period=2.0)


@for_each(
    ("observe", "told"),
    [
        ("end", (None, False)), ("extrema", (None, True)), (["end", "events"], (None, False)), (STOP, (STOP, False)),
        (["extrema", STROBE, "end"], (STROBE, True)), ((), (None, False)), ("ends", "takes 'end', 'events'"),
        (["end", 3], "not 3"), ([STOP, STROBE], "takes one Section"),
    ],
)  # fmt: skip
def test_what_is_observed_is_told_by_words_and_one_section(observe, told):
    if isinstance(told, str):
        with pytest.raises(BadValue, match=told):
            module._observed(observe)
    else:
        assert module._observed(observe) == told


def test_executors_are_those_that_submit():
    with ThreadPoolExecutor(1) as pool:
        for one in (None, pool, space(get_executor=None)):
            module.check_executor(one)
    for wrong in (3, "dask", space()):
        with pytest.raises(BadValue, match="must be an executor"):
            module.check_executor(wrong)


@for_each("size", [1, 2, 3, 5, 100])
def test_a_few_runs_tell_how_long_one_takes(monkeypatch, size):
    """The first one compiles and does not count; the others are spread from the first to the last."""
    ran, clock = [], [10.0]

    def run(first, last):
        assert last == first + 1
        ran.append(first)
        clock[0] += 100.0 if len(ran) == 1 else 0.5

    put(monkeypatch, module._seconds_each, time=space(perf_counter=lambda: clock[0]))
    found = module._seconds_each(space(axes=space(size=size), run=run))
    pilots = module._PILOTS
    places = sorted({k * (size - 1) // (pilots - 1) for k in range(pilots)})
    assert ran == [0, *places]
    assert places[0] == 0
    assert places[-1] == size - 1
    assert len(places) == min(pilots, size)
    assert found == pytest.approx(0.5)
    put(monkeypatch, module._seconds_each, time=space(perf_counter=lambda: 0.0))
    assert module._seconds_each(space(axes=space(size=size), run=lambda *_: None)) == 1e-9


@for_each(("fits", "scheme"), [(True, EventDriven), (False, None)])
def test_events_are_located_by_default_where_they_can_be(monkeypatch, fits, scheme):
    monkeypatch.setattr(EventDriven, "fits", lambda system: fits)
    assert module.usual("system") is scheme


@for_each(
    ("size", "each", "seconds", "workers", "refused"),
    [
        (module._MANY, 1, None, 1, False),
        (10, module.MOST_BYTES // 10, None, 1, False),
        (10, module.MOST_BYTES // 10 + 1, 1e-3, 1, True),
        (module._MANY + 1, 1, 0.99 * module._DAY / (module._MANY + 1), 1, False),
        (module._MANY + 1, 1, 1.01 * module._DAY / (module._MANY + 1), 1, True),
        (module._MANY + 1, 1, 3 * module._DAY / (module._MANY + 1), 4, False),
        (module._MANY + 1, 1, 5 * module._DAY / (module._MANY + 1), 4, True),
    ],
)
def test_a_sweep_that_would_take_a_day_or_too_much_memory_is_refused(
    monkeypatch, size, each, seconds, workers, refused
):
    """Runs are timed only where there are many."""
    timed = []
    put(monkeypatch, module.check_size, _seconds_each=lambda question: timed.append(1) or seconds)
    question = space(axes=space(size=size), bytes_each=each)
    if refused:
        with pytest.raises(BadValue) as told:
            module.check_size(question, workers)
        hours, memory = size * seconds / workers / 3600, size * each / 2**30
        words = str(told.value)
        assert (
            f"A sweep of {size:.3g} runs would take about {hours:.3g} h on {workers} worker"
            in words
        )
        assert f"and {memory:.3g} GB of memory" in words
        fits = int(min(module.MOST_BYTES / each, module._DAY * workers / seconds))
        assert f"About {fits:.2g} runs fit" in words
        assert ("workers and" in words) is (workers > 1)
    else:
        module.check_size(question, workers)
    assert len(timed) == (seconds is not None)


def test_a_sweep_asks_its_question(monkeypatch):
    told, clock = {}, iter([2.0, 5.0])

    def run(question, executor, folder, progress, stop):
        told.update(question=question, given=(executor, folder, progress, stop))
        return "observed"

    study = inspect.unwrap(ex.study.sweep)
    put(monkeypatch, study, run_parts=run, workers_of=lambda executor: 4, time=space(perf_counter=lambda: next(clock)),
        check_size=lambda question, workers: told.update(workers=workers))  # fmt: skip
    system = ex.models.impact_oscillator()
    found = study(system, over={"omega": [1.0, 2.0]}, observe=["extrema", Section(event="stop")], transient=3.0,
                  progress=False, stop="stop", folder="folder", rho={"s": 0.5}, e=0.25)  # fmt: skip
    question = told["question"]
    assert (found.question, found.observed, found.seconds) == (question, "observed", 3.0)
    assert (told["given"], told["workers"]) == ((None, "folder", False, "stop"), 4)
    assert (question.t_end, question.transient, question.extrema) == (system.t_end, 3.0, True)
    assert question.section == Section(event="stop")
    names = [*system.parameters]
    assert (question.rho[names.index("s")], question.rho[names.index("e")]) == (0.5, 0.25)
    assert isinstance(question.scheme, EventDriven)
    clock = iter([0.0, 0.0])
    put(monkeypatch, study, time=space(perf_counter=lambda: 0.0))
    assert study(system, over={"omega": [1.0]}, t_end="7/omega").question.t_end == "7/omega"
