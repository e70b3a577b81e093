"""Members of an ensemble one by one, and chained: who begins where, and who runs whom."""

from __future__ import annotations

import itertools

import numpy as np
from loops import for_each
from plain import space

from explorer.errors import BadValue
from explorer.runs.members import FREE, Members, Observed
from explorer.study import one_by_one

EQUAL = np.testing.assert_array_equal

ASKED = space(extrema=False, names=("a",), most=2, known=None, section="none")


def members(k=4, chained=False, mode=-1):
    rng = np.random.default_rng(1)
    return Members(
        rng.normal(size=(k, 2)),
        np.arange(2.0 * k).reshape(k, 2),
        np.arange(5.0, 5 + k),
        np.zeros(k),
        np.ones(k),
        np.zeros(k),
        chained,
        mode,
    )


@for_each(
    ("chained", "mode", "known", "bad"),
    itertools.product((False, True), (-1, 1), (None, "known"), (None, "refused", "failed")),
)
def test_members_begin_anew_or_where_those_before_have_ended(
    monkeypatch, chained, mode, known, bad
):
    """In the mode of that end; behind one that has failed, as they are told."""
    asked, said = space(**{**vars(ASKED), "known": known}), []

    class System:
        modes = ("first", "second", "third")

    def arguments(system, scheme, some, i):
        if bad == "refused" and i == 1:
            raise BadValue("it is refused")
        return {"start": some.start[i].tolist(), "i": i}

    def simulate(system, throw, start, i, mode0=None):
        assert not throw
        said.append((i, start, mode0))
        fails = bad == "failed" and i == 1
        return space(status=space(code=7 * fails, ok=not fails, t=0.25), t=[0.0, 4.0 + i])

    def read(run, some, asked, seen, i):
        seen.end[i], seen.mode[i] = [10.0 * i, 20.0], 2

    monkeypatch.setattr(one_by_one, "StateSpaceSystem", System)
    monkeypatch.setattr(one_by_one, "arguments", arguments)
    monkeypatch.setattr(one_by_one, "simulate", simulate)
    monkeypatch.setattr(one_by_one, "_read", read)
    monkeypatch.setattr(
        one_by_one,
        "_catch",
        lambda run, some, asked, given, seen, i: (
            read(run, some, asked, seen, i) if given == "known" else None
        ),
    )
    seen = one_by_one.one_by_one(System(), None, members(4, chained, mode), asked)
    own = "second" if mode == 1 else None
    expected = []
    for i in range(4):
        if i == 1 and bad == "refused":
            continue
        follows = chained and i > 0 and not (bad and i == 2)
        first = own if i == 0 or not chained else None
        expected.append(
            (
                i,
                [10.0 * (i - 1), 20.0] if follows else [2.0 * i, 2.0 * i + 1],
                "third" if follows else first,
            )
        )
    assert said == expected
    code = {"refused": -1, "failed": 7, None: 0}[bad]
    assert seen.code.tolist() == [0, code, 0, 0]
    assert seen.t.tolist() == [4.0, {"refused": 0.0, "failed": 0.25, None: 5.0}[bad], 6.0, 7.0]
    EQUAL(seen.end[[0, 2, 3]], [[0.0, 20.0], [20.0, 20.0], [30.0, 20.0]])
    assert np.isnan(seen.end[1]).all() == (bad is not None)


@for_each(
    ("chained", "located", "left"),
    itertools.product((False, True), (False, True), ((), (1,), (0, 2))),
)
def test_what_an_ensemble_leaves_is_run_by_itself(monkeypatch, chained, located, left):
    """A chain whose scheme does not know the ends of events goes member by member."""
    calls, told = [], members(3, chained)

    def seen_of(some, code):
        found = Observed.empty(some.size, 2, ASKED)
        found.code[:] = code
        found.end[:] = some.start + 100.0
        return found

    def place(some):
        return int(np.flatnonzero(told.t_end == some.t_end[0])[0])

    def fast(some, asked):
        calls.append(("fast", some.size, some.start[0].tolist(), some.chained))
        found = seen_of(some, 0)
        for k in range(some.size):
            if place(some.some(np.array([k]))) in left:
                found.code[k] = one_by_one.APART
        return found

    def alone(system, scheme, some, asked):
        calls.append(("alone", [place(some.some(np.array([k]))) for k in range(some.size)]))
        return seen_of(some, 0)

    monkeypatch.setattr(one_by_one, "one_by_one", alone)
    found = one_by_one.together(None, space(located=located), fast, told, ASKED)
    assert found.code.tolist() == [0, 0, 0]
    if not chained or located:
        assert calls == [("fast", 3, [0.0, 1.0], chained), *[("alone", [*left])] * bool(left)]
        EQUAL(found.end, told.start + 100.0)
        return
    ends = [[100.0, 101.0], [200.0, 201.0], [300.0, 301.0]]
    begins = [[0.0, 1.0], *ends[:2]]
    expected = []
    for k in range(3):
        expected += [("fast", 1, begins[k], False), *[("alone", [k])] * (k in left)]
    assert calls == expected
    EQUAL(found.end, ends)
    assert (found.caught == FREE).all()
