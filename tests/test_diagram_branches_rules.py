"""Where branches over a diagram are sought, in which order, and when no more are."""

from __future__ import annotations

import numpy as np
import pytest
from loops import for_each
from plain import put, space

import explorer as ex
from explorer.errors import BadValue, NotApplicable
from explorer.study import Section, diagram_branches
from explorer.study.diagram_branches import DiagramBranches

follow = diagram_branches.diagram_branches


@for_each(("section", "told"), [
    (Section(period="2*pi/w"), {"period": "2*pi/w"}), (Section(event="hit"), {"section": "hit"}), (Section(period=2.0, phase=0.25), None), (Section(event="hit", side="before"), None),
])  # fmt: skip
def test_branches_are_sampled_where_a_period_begins_or_behind_an_event(section, told):
    if told is None:
        with pytest.raises(NotApplicable, match="at the begin of a period, or just after an event"):
            diagram_branches._where(space(section=section))
        return
    assert diagram_branches._where(space(section=section)) == told


def test_branches_are_followed_with_many_digits():
    scheme = ex.EventDriven(rtol=1e-3, atol=1e-3)
    found = diagram_branches._scheme(space(system=space(discrete=False), question=space(scheme=scheme)))  # fmt: skip
    assert (found.rtol, found.atol) == (1e-11, 1e-12)
    assert found == ex.EventDriven(rtol=1e-11, atol=1e-12)
    with pytest.raises(NotApplicable, match="'m' is a map"):
        diagram_branches._scheme(space(system=space(discrete=True, name="m"), question=space(scheme=scheme)))  # fmt: skip
    with pytest.raises(NotApplicable, match="FESD does not locate"):
        diagram_branches._scheme(space(system=space(discrete=False), question=space(scheme=ex.FESD())))  # fmt: skip


def test_a_branch_goes_through_the_last_point_of_its_column(monkeypatch):
    """As many points make a cycle as the column has, and other parameters are those of the diagram."""
    asked = []
    put(monkeypatch, diagram_branches._through, continuation=lambda *given, **more: asked.append((given, more)) or "branch")  # fmt: skip
    found = space(by="b", values=np.array([1.0, 2.5, 4.0]), period=np.array([1, 3, 2]), found=np.array([2, 4, 5]), points=np.arange(30.0).reshape(3, 5, 2))  # fmt: skip
    given = space(system=space(parameters=("a", "b")), question=space(rho=(7.0, 9.0)))
    function = diagram_branches._through
    assert function(given, found, 1, "scheme", {"period": 2.0}, "stop") == "branch"
    ((system, scheme, by), more) = asked[0]
    assert (system, scheme, by) == (given.system, "scheme", "b")
    assert more.pop("guess").tolist() == [16.0, 17.0]
    assert more == {"period": 2.0, "count": 3, "over": (1.0, 4.0), "step": diagram_branches._STEP, "stop": "stop", "rho": {"a": 7.0, "b": 2.5}}  # fmt: skip
    assert isinstance(more["count"], int)


class Columns:
    """Columns of which the next ones are given; those that are skipped or taken are written down."""

    def __init__(self, order, short=()):
        self.order, self.short, self.done, self.left = iter(order), short, [], 40

    def next(self):
        return next(self.order, None)

    def skip(self, k):
        self.done.append(("skip", k))

    def shorter(self, branch):
        return branch in self.short

    def take(self, branch, k):
        self.done.append((branch, k))
        self.left -= 10


def run(monkeypatch, columns, *, fails=(), stops=None):
    """Return all that is told; the branch of column k is named 100 + k."""
    tried = []

    def through(asked, found, k, scheme, where, stop):
        assert (scheme, where) == ("scheme", "where")
        tried.append(k)
        if k in fails:
            raise BadValue(f"none at {k}")
        return 100 + k

    put(monkeypatch, follow, _scheme=lambda asked: "scheme", _where=lambda asked: "where", _Columns=lambda found: columns, _through=through)  # fmt: skip
    found = space(by="b", values=np.arange(50) / 8)
    stop = None if stops is None else (lambda: len(tried) >= stops)
    return [*follow("asked", found, stop)], tried


def test_branches_are_followed_until_no_column_is_left(monkeypatch):
    """Where Newton's method fails, or comes to a shorter cycle, the next column is tried."""
    columns = Columns([4, 7, 5, 9, 2], short=(105,))
    told, tried = run(monkeypatch, columns, fails=(7, 9))
    assert tried == [4, 7, 5, 9, 2]
    assert columns.done == [(104, 4), ("skip", 7), ("skip", 5), ("skip", 9), (102, 2)]
    problem = "No branch is followed from b = 0.875: none at 7"
    assert told == [
        DiagramBranches((), 40), DiagramBranches((104,), 30, ""), DiagramBranches((104, 102), 20, problem),
        DiagramBranches((104, 102), 20, problem, True),
    ]  # fmt: skip


@for_each(("many", "kept"), [(11, 11), (12, 12), (13, 12)])
def test_no_more_than_twelve_branches_are_followed(monkeypatch, many, kept):
    told, tried = run(monkeypatch, Columns(range(many)))
    assert len(told[-1].branches) == len(tried) == kept
    assert told[-1].done
    assert [len(one.branches) for one in told] == [*range(kept + 1), kept]


@for_each("stops", [0, 1, 2])
def test_a_branch_that_is_stopped_is_not_told(monkeypatch, stops):
    told, tried = run(monkeypatch, Columns([4, 7, 5]), stops=stops)
    assert tried == [4, 7][:stops]
    kept = (104,) if stops == 2 else ()
    assert told[-1] == DiagramBranches(kept, 30 if kept else 40)
    assert not told[-1].done


def test_at_first_nothing_is_followed():
    assert DiagramBranches() == DiagramBranches((), 0, "", False)


@for_each(("many", "left", "told"), [(0, 0, "0 branches"), (1, 0, "1 branch"), (2, 3, "2 branches, 3 columns of short periods lie on none")])  # fmt: skip
def test_branches_are_told_with_the_columns_that_lie_on_none(many, left, told):
    assert repr(DiagramBranches(("b",) * many, left)) == f"DiagramBranches: {told}"
