"""Events that graze: which of them another run at a finer tolerance knows better, and what is said."""

from __future__ import annotations

import numpy as np
import pytest
from loops import for_each
from plain import put, space

import explorer as ex
from explorer.derivatives import doubts
from explorer.derivatives.doubts import COARSER, FINEST, SAME, SURE, _other
from explorer.errors import ExplorerError

COVERS = ("derivatives/doubts.py",)  # see mutant_rooms.py
DEPTHS = [2.0, -4.0, 8.0]


def head_of(depths, guards=(0, 1, 0), kinds=(0, 0, 0)):
    head = np.zeros(len(depths), [("D", float), ("guard", int), ("kind", int), ("t", float)])
    head["D"], head["guard"], head["kind"] = depths, guards[: len(depths)], kinds[: len(depths)]
    head["t"] = 1.0 + np.arange(len(depths))
    return head


def grazing(monkeypatch, margins, theirs, tau=None, rtol=1e-6, alone=False):
    """Return the doubts of three events whose depths another run finds so."""
    forgotten = []
    tau = np.array([[1.0, 0.0], [1.0, 2.0], [0.0, 3.0]]) if tau is None else np.array(tau)
    margins = np.array(margins)
    march = space(events=space(head=head_of(DEPTHS)), screened=(0, margins), part=lambda name: tau, nearest=9.0,
                  watch={"nearest": np.array([9.0])}, sequence="s", flow=space(guards=[]))  # fmt: skip
    run = space(march=march, located=[space(t=1.0 + k, contact=f"c{k}") for k in range(3)],
                forget_rows=lambda: forgotten.append(1))  # fmt: skip

    def again(wrt):
        assert wrt is False
        if theirs is None:
            raise ExplorerError("no")
        return space(
            march=space(events=space(head=theirs), sequence="s", watch={"nearest": np.array([9.0])})
        )

    replaced = space(replace=lambda question, scheme, t_eval: space(run=again) if (scheme, t_eval) == ("other", None) else None)  # fmt: skip
    put(monkeypatch, doubts._grazing, dataclasses=replaced, _other=lambda scheme: "other",
        _watches=lambda question, guard: alone)  # fmt: skip
    scheme = ex.EventDriven(rtol=rtol, atol=1e-7)
    found = doubts._grazing(space(scheme=scheme, system=space(time_unit="s")), run)
    return found, margins, forgotten


SMALL = [SURE * 0.5, SURE * 0.25, SURE * 2]


@for_each(
    ("theirs", "told"),
    [
        (None, [0, 1]),
        (head_of(DEPTHS), []),
        (head_of([2.0 * (1 + 0.9 * SAME), -4.0 * (1 - 0.9 * SAME), 99.0]), []),
        (head_of([2.0 * (1 + 1.1 * SAME), -4.0, 8.0]), [0]),
        (head_of([2.0, -4.0 * (1 - 1.1 * SAME), 8.0]), [1]),
        (head_of([-2.0, 4.0, 8.0]), [0, 1]),
        (head_of(DEPTHS[:1]), [1]),
        (head_of(DEPTHS[:2]), []),
        (head_of(DEPTHS, guards=(0, 2, 0)), [1]),
        (head_of(DEPTHS, guards=(1, 1, 0)), [0, 1]),
        (head_of(DEPTHS, kinds=(0, 1, 0)), [1]),
        (head_of(DEPTHS, kinds=(0, 0, 1)), []),
    ],
)
def test_a_depth_that_another_run_finds_again_is_known(monkeypatch, theirs, told):
    """To a part of itself, where all events up to it are the same; it counts as that sure then."""
    found, margins, forgotten = grazing(monkeypatch, SMALL, theirs)
    assert [one.event for one in found] == told
    assert forgotten == [1]
    for k in (0, 1):
        if k in told:
            assert margins[k] == SMALL[k]
        else:
            apart = max(abs(theirs["D"][k] / DEPTHS[k] - 1), 1e-12)
            assert margins[k] == pytest.approx(max(SMALL[k], 0.5 / apart))
    assert margins[2] == SMALL[2]


@for_each(
    ("rtol", "cure"),
    [(1e-6, "A smaller rtol may resolve this"), (FINEST, "No tolerance resolves this")],
)
@for_each("alone", [False, True])
def test_what_grazes_is_told_with_its_columns(monkeypatch, rtol, cure, alone):
    """Those that its time depends on; of a guard that only watches, its time alone."""
    found, *_ = grazing(monkeypatch, SMALL, None, rtol=rtol, alone=alone)
    first, second = found
    assert first.columns.tolist() == [True, False]
    assert second.columns.tolist() == [True, True]
    assert (first.value, first.allowed) == pytest.approx((0.5 / SMALL[0], 0.5 / SURE))
    assert (first.name, first.t, first.alone) == ("grazing", 1.0, alone)
    assert (
        f"At t = 1 s the run grazes 'c0': it crosses zero by so little that rtol = {rtol:g}"
        in first.words
    )
    assert (
        "its dt/drho is unknown" if alone else "the derivative behind it is unknown"
    ) in first.words
    assert first.words.endswith(f"{cure}.")


@for_each(
    ("margins", "tau", "events", "values"),
    [
        ([SURE, SURE * 2, SURE * 3], None, [], []),
        ([0.0, SURE * 2, SURE * 3], None, [0], [np.inf]),
        ([-1.0, SURE * 2, SURE * 3], None, [0], [np.inf]),
        ([SURE * 2] * 3, [[1.0, 1.0], [np.nan, 1.0], [1.0, np.inf]], [1, 2], [np.inf, np.inf]),
        ([SURE / 2, SURE * 2, SURE * 2], [[0.0, 0.0], [1.0, 1.0], [1.0, 1.0]], [], []),
    ],
)
def test_events_are_suspected_by_their_margins_or_by_their_times(
    monkeypatch, margins, tau, events, values
):
    """Also where a time has no finite derivative; not where no column moves it."""
    found, *_ = grazing(monkeypatch, margins, head_of(DEPTHS), tau)
    assert [one.event for one in found] == events
    assert [one.value for one in found] == values


@for_each(
    ("given", "told"),
    [
        ({"rtol": 1e-6, "atol": 1e-7}, {"method": "dop853", "rtol": FINEST, "atol": FINEST}),
        ({"rtol": 1e-6, "atol": 1e-15}, {"rtol": FINEST, "atol": 1e-15}),
        ({"rtol": 1e-12, "atol": 1e-7, "method": "dopri5"}, {"method": "dop853", "rtol": FINEST}),
        ({"rtol": 0.9e-12, "atol": 1e-14}, {"rtol": COARSER * 0.9e-12, "atol": COARSER * 1e-14}),
        ({"rtol": 0.9e-12, "atol": 1e-4}, {"rtol": COARSER * 0.9e-12, "atol": 1e-3}),
        ({"rtol": 1e-6, "atol": 1e-7, "method": "radau"}, {"method": "radau", "rtol": 1e-9, "atol": FINEST}),
        ({"rtol": 1e-11, "atol": 1e-7, "method": "radau"}, {"method": "radau", "rtol": FINEST}),
        ({"method": ex.Newmark(h=0.5)}, {"newmark": ex.Newmark(h=0.25)}),
    ],
)  # fmt: skip
def test_another_run_has_another_tolerance(given, told):
    found = _other(ex.EventDriven(**given))
    for name, value in told.items():
        own = getattr(found, name)
        assert own == (pytest.approx(value) if isinstance(value, float) else value)
