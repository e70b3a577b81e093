"""Diagrams that sharpen: what columns are asked, how long a return takes, and in which order they go."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from loops import for_each
from plain import put, space
from test_study_branches import bare

import explorer as ex
from explorer.errors import BadValue
from explorer.study import Section, Sharpening
from explorer.study.orbits import Orbits

module = importlib.import_module("explorer.study.sharpening")


def sharpening(section, driven, discrete=False, each="2*pi/omega"):
    """Return what asks of an impact oscillator, or of what stands for a map."""
    system = ex.models.impact_oscillator()
    question = space(rho=system.rho({"omega": 2.0}), settle=None)
    returns = module._Returns(section, each, driven)
    one = bare(Sharpening, system=system, returns=returns, by="omega")
    one.question = bare(module.Question, **{"rho": tuple(question.rho)})
    if discrete:
        one.system = space(discrete=True)
    return one


@for_each(
    ("driven", "phase", "discrete", "t_end", "transient", "most"),
    [
        (True, 0.0, False, "7", "3.5", 4), (True, 0.25, False, "8", "3.5", 4), (True, 0.0, True, "7", "4", 4), (False, 0.0, False, "7", "3", 8),
    ],
)  # fmt: skip
def test_columns_are_asked_for_returns(
    monkeypatch, driven, phase, discrete, t_end, transient, most
):
    """At a phase in one period more; at events in twice the room, for each return may have two."""
    section = Section(period=2, phase=phase) if driven else Section(event="stop")
    one = sharpening(section, driven, discrete, "T")
    told = {}
    put(monkeypatch, Sharpening.asking, dataclasses=space(
        replace=lambda given, **more: space(**{**vars(given), **more}) if isinstance(given, Section) else told.update(more) or "asked"))  # fmt: skip
    monkeypatch.setattr(module._Returns, "span", lambda self, count: f"{count:g}")
    assert one.asking(7, 3, 4) == "asked"
    assert (told["t_end"], told["transient"], told["section"].most) == (t_end, transient, most)


def test_a_span_is_that_of_returns_at_a_value():
    one = sharpening(Section(period="2*pi/omega"), True)
    assert one.span(4.0, 3) == pytest.approx(3 * 2 * np.pi / 4)
    assert one.question.rho[[*one.system.parameters].index("omega")] == 2.0
    assert one.section == Section(period="2*pi/omega")


@for_each(("code", "begin"), [(0, None), (0, "given"), (3, None)])
def test_the_state_behind_the_transient_at_one_value(monkeypatch, code, begin):
    asked, kept = [], np.array([[1.0, 2.0]])
    seen = space(code=[code], end=kept, mode=[2.0], t=[0.5])

    def replaced(settle, axes):
        asked.append((settle, axes.axes[0].values.tolist()))
        return space(run=lambda first, last, begin: asked.append((first, last, begin)) or seen)

    put(monkeypatch, Sharpening.settled, dataclasses=space(replace=replaced))
    one = sharpening(Section(event="stop"), False)
    one.settle, one.begin = "settle", "own"
    if code:
        with pytest.raises(
            BadValue, match=r"At omega = 1\.5 the run of .* ends at t = 0\.5 before"
        ):
            one.settled(1.5, begin)
        return
    state, mode = one.settled(1.5, begin)
    assert asked == [("settle", [[1.5]]), (0, 1, begin or "own")]
    assert (state.tolist(), mode, type(mode)) == ([1.0, 2.0], 2, int)
    state[0] = 9.0
    assert kept[0, 0] == 1.0


@for_each(("codes", "founds", "told"), [([0, 0, 0], [2, 4, 10], 2.5), ([0, 7, 0], [2, 4, 5], 3.5), ([0, 0, 0], [0, 4, 0], 2.5), ([0, 0, 7], [0, 0, 5], None)])  # fmt: skip
def test_a_return_takes_what_runs_at_three_values_show(monkeypatch, codes, founds, told):
    """The median of their means: of the first value, of the middle one and of the last."""
    asked = []

    def run(first, last):
        asked.append((first, last))
        k = len(asked) - 1
        return space(code=[codes[k]], found=[founds[k]], t=[10.0])

    base = space(
        axes=space(axes=[space(values=np.zeros((9, 1)))]), system=space(name="m", t_end=8.0)
    )
    put(
        monkeypatch,
        module._returns,
        dataclasses=space(replace=lambda given, section: space(run=run)),
    )
    section = Section(event="stop")
    if told is None:
        with pytest.raises(BadValue, match="does not meet the section 'stop' up to t = 8"):
            module._returns(base, section)
        return
    found = module._returns(base, section)
    assert asked == [(0, 1), (4, 5), (8, 9)]
    assert (found.section, float(found.each), found.driven) == (section, told, False)
    assert module._returns(base, Section(period="T")).driven
    assert module._returns(base, Section(period="T")).each == "T"


def test_a_start_has_a_number_for_each_state():
    system = ex.models.impact_oscillator()
    x, mode = module._begun(system, [1, 2])
    assert (x.tolist(), mode) == ([1.0, 2.0], -1)
    with pytest.raises(BadValue, match=r"start needs 2 numbers \(x, v_x\), but 3 are given"):
        module._begun(system, [1, 2, 3])
    assert module.usual_follow(space(discrete=True)) == "none"
    assert module.usual_follow(space(discrete=False)) == "up"


def orbits(name, done):
    empty = np.zeros(0)
    return Orbits(name, "", empty, (), (), empty, empty, empty, empty, [], done)


@for_each(("others", "fast", "stopped"), [(0, True, False), (1, False, False), (1, True, True)])
def test_the_columns_of_all_starts_grow_in_turn(monkeypatch, others, fast, stopped):
    """First what settles, then what needs more points; each start has its part of either half."""
    made, workers = [], []

    class Columns:
        """Two steps of either kind."""

        def __init__(self, asked, stop):
            self.begin, self.stop = asked.begin, stop
            made.append(self)

        def columns(self, pool):
            yield from (0.5, 1.0)

        def extended(self, pool):
            yield 1.0

        def seen(self, done):
            return orbits(self.begin, done)

    class Pool:
        """A pool that counts its workers."""

        def __init__(self, count):
            workers.append(count)

        def __enter__(self):
            return self

        def __exit__(self, *error):
            return None

    put(monkeypatch, Sharpening.steps, Columns=Columns, ThreadPoolExecutor=Pool, cores=lambda: 7)
    one = bare(Sharpening, begin="own", others=["other"] * others, system="system",
               question=space(scheme=space(ensemble=lambda system: "fast" if fast else None)))  # fmt: skip
    stop = (lambda: stopped) if stopped else None
    found = [*one.steps(stop)] if stopped else [*one]
    assert workers == [7 if fast else 1]
    assert [work.begin for work in made] == ["own", *["other"] * others]
    assert made[0].stop() is stopped
    parts = {0: [0.25, 0.5, 1.0], 1: [0.125, 0.25, 0.375, 0.5, 0.75, 1.0]}[others]
    assert [x.done for x in found] == [*parts, 0.0 if stopped else 1.0]
    assert all(x.by == "own" for x in found)
    assert [[o.by for o in x.others] for x in found] == [["other"] * others] * len(found)
    assert one.begin == "own"
    assert one.whole(stop).done == (0.0 if stopped else 1.0)
