"""Which of its runs a search for attractors looks into, and what it says of each."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from loops import for_each

from explorer.codes import SUCCESS
from explorer.runs.members import ESCAPED, FREE, Observed
from explorer.study.search_attractors import REFUSALS, Attractor, Search

END = 10.0  # s


def rests(at: float) -> Attractor:
    """Return a state that attracts what comes nearer than 0.1."""
    return Attractor(1, np.array([[at]]), np.zeros(1), 0.0, 0.1, (2, 2), {})


def search_of(runs: list[tuple[int, float, list[float]]], known: list[Attractor]):
    """Return a search whose runs are given by code, last time and points, and which it looks into.

    It takes in, of what is looked into, where the run ends.
    """
    k, most = len(runs), 4
    points = np.full((k, most, 1), np.nan)
    for row, (_, _, at) in zip(points, runs, strict=True):
        row[: len(at), 0] = at[:most]
    code, t = np.array([c for c, *_ in runs]), np.array([t for _, t, _ in runs])
    count, none = np.array([len(at) for *_, at in runs]), np.zeros((k, 0))
    seen = Observed(
        code, t, points[:, 0], np.zeros(k, int), none, count, points, points[..., 0], none, none,
        np.full(k, 99),
    )  # fmt: skip
    search, looked = Search.__new__(Search), []
    search.attractors, search.refused, search.scale = known, [], np.ones(1)
    search.low, search.high = np.array([-50.0]), np.array([50.0])
    members = SimpleNamespace(t_end=np.array([END]))
    search.question = lambda rows: SimpleNamespace(members=lambda a, b: members)
    search.answer = lambda question, **_: seen

    def take(question, seen, k, points):
        looked.append((k, points[:, 0].tolist()))
        search.attractors.append(rests(points[-1, 0]))

    search._take = take
    return search, looked


def test_only_what_has_run_its_time_and_come_to_nothing_known_is_looked_into():
    search, looked = search_of(
        [
            (SUCCESS, END, [5.0, 6.0, 7.0]),
            (SUCCESS, END / 2, [8.0, 8.0]),  # an event has ended it
            (SUCCESS, END, [4.0, 1.05]),
            (SUCCESS, END / 2, [4.0, 2.05]),
            (SUCCESS + 1, END, [9.0, 9.0]),
            (-1, 0.0, []),
            (SUCCESS, END, [3.0, 7.05]),  # comes to where the first one has ended
            (SUCCESS, END, [20.0, 21.0, 22.0, 23.0, 2.0]),  # more points than there is room for
            (SUCCESS, END * (1 - 1e-12), [40.0]),
        ],
        [rests(1.0), rests(2.0)],
    )
    seen = search.learn(np.zeros((9, 1)))
    assert looked == [(0, [5, 6, 7]), (7, [20, 21, 22, 23]), (8, [40])]
    assert seen.caught.tolist() == [2, -2, 0, 1, 99, 99, 2, 3, 4]


def test_who_stays_outside_the_box_has_escaped_and_is_not_looked_into():
    search, looked = search_of([(SUCCESS, END, [60.0] * 4)], [])
    search.known = lambda known=search.known: known()._replace(lost=3)
    assert search.learn(np.zeros((1, 1))).caught.tolist() == [ESCAPED]
    assert looked == []


@for_each("refused", [REFUSALS - 1, REFUSALS])
def test_after_so_many_that_do_not_attract_no_more_are_looked_for(refused):
    search, looked = search_of([(SUCCESS, END, [5.0])], [])
    search.refused = [rests(0.0)] * refused
    seen = search.learn(np.zeros((1, 1)))
    assert len(looked) == (refused < REFUSALS)
    assert seen.caught.tolist() == [0 if looked else FREE]


def test_a_search_that_is_stopped_says_what_it_knows():
    search, looked = search_of([(SUCCESS, END, [5.0]), (SUCCESS, END, [1.0])], [rests(1.0)])
    assert search.learn(np.zeros((2, 1)), stop=lambda: True).caught.tolist() == [FREE, 0]
    assert looked == []
