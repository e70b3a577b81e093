"""What is asked of many runs, and what is said of them, each against its rule; no run is made."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.optimize
from loops import for_each
from plain import space

import explorer as ex
from explorer.derivatives import doubts
from explorer.errors import BadValue, StepFailed
from explorer.kernels.event_driven.doubtful import NEAR
from explorer.optimise.fit import _covariance
from explorer.optimise.loss import LOSSES
from explorer.study import branch, question
from explorer.study.fesd_reference import _Interval
from explorer.study.trace import Options
from explorer.views.drawing.compose import _legends

EQUAL = np.testing.assert_array_equal


# ---------------------------------------------------------------- members


def asked(
    t_end=(5.0, 6.0), since=(0.0, 2.0), period=(0.5, 2.0), discrete=False, section=True, behind=None
):
    told = {"t_end": np.array(t_end), "transient": np.array(since), "period": np.array(period)}
    given = space(rho=(3.0, 4.0), system=space(discrete=discrete, time_unit="s"), axes=space(put=put), behind=behind, t_end="t_end", transient="transient",
                  section=space(period="period", phase=0.25) if section else None, chained="chained")  # fmt: skip
    given._values = lambda formula, what, rho: told[formula] if formula == what else None
    return given


def put(first, last, rho, start):
    rho[:, 1] = np.arange(first, last)
    start[1] = 7.0


@pytest.fixture(autouse=True)
def two_states(monkeypatch):
    monkeypatch.setattr(question, "states_of", lambda system: (("x", "y"), ("m", "m/s")))


def members(one):
    return question.Question.members(one, 4, 6)


def test_members_have_their_parameters_starts_and_times():
    found = members(asked())
    EQUAL(found.rho, [[3.0, 4.0], [3.0, 5.0]])
    EQUAL(found.start, [[np.nan] * 2, [7.0] * 2])
    EQUAL([found.t_end, found.since, found.period, found.offset], [[5.0, 6.0], [0.0, 2.0], [0.5, 2.0], [0.125, 0.5]])  # fmt: skip
    assert found.chained == "chained"
    found = members(asked(section=False, period=(-1.0, -1.0)))
    EQUAL([found.period, found.offset], [[1.0, 1.0], [0.0, 0.0]])
    found = members(asked(behind=space(end=np.arange(16.0).reshape(8, 2))))
    EQUAL(found.start, [[8.0, 9.0], [10.0, 11.0]])


@for_each(("given", "why"), [
    ({"t_end": (5.0, 0.0)}, "t_end = 0 s must"), ({"t_end": (-2.0, 9.0)}, "t_end = -2 s must"), ({"period": (0.0, 1.0)}, "period = 0 s must"),
    ({"period": (1e-9, 1.0)}, None), ({"t_end": (1.0, 0.5), "since": (0.0, 0.0)}, None), ({"t_end": (5.0, 6.5), "discrete": True}, "t_end = 6.5 must be a whole"), ({"discrete": True}, None),
    ({"since": (2.0, 1.5), "discrete": True}, "transient = 1.5 must be a whole"), ({"since": (0.0, 2.5), "discrete": True}, "transient = 2.5 must be a whole"), ({"since": (0.5, 1.5)}, None), ({"since": (0.0, 6.0)}, "transient must lie"),
    ({"since": (5.0, 2.0)}, "transient must lie"), ({"since": (-1e-9, 2.0)}, "transient must lie"), ({"since": (4.99, 5.99)}, None),
])  # fmt: skip
def test_times_of_members_are_refused_that_cannot_be(given, why):
    if why is None:
        members(asked(**given))
        return
    with pytest.raises(BadValue, match=why):
        members(asked(**given))


@for_each(("sizes", "parts", "told"), [
    ([3], [(5.0, 0.0, 0.5)], 12), ([3], [(5.0, 2.0, 2.0)], 3), ([3], [(5.0, 1.0, 2.0)], 4), ([2**16 + 1], [(5.0, 0.0, 0.5), (5.0, 0.0, 0.1)], 52),
    ([3], [(0.1, 0.0, 1.0)], 2), ([3], [(0.3, 0.0, 0.1)], 5),
])  # fmt: skip
def test_there_is_room_for_the_points_of_the_longest_run(sizes, parts, told):
    looked = []

    def some(first, last):
        looked.append((first, last))
        t_end, since, period = np.array(parts[len(looked) - 1]).reshape(3, 1)
        return space(t_end=t_end, since=since, period=period)

    one = space(known=None, axes=space(size=sizes[0]), members=some)
    assert question.Question._room(one, space(room=None)) == told
    assert looked == [(0, min(2**16, sizes[0])), *[(2**16, sizes[0])] * (len(parts) > 1)]
    assert question.Question._room(one, space(room=9)) == 9
    one.known = "known"
    assert question.Question._room(one, space(room=9)) == 1


# ---------------------------------------------------------------- branches


@for_each(("lengths", "told"), [
    ((0.6, 9.0, 9.0), 0), ((0.49, 0.51, 9.0), 1), ((-0.6, 9.0, 9.0), 0), ((None, None, 1.0), 2), ((0.4, -0.4, 0.4), None), ((None, None, None), None),
])  # fmt: skip
def test_a_doubled_cycle_lies_beside_the_flip_by_half_a_step(monkeypatch, lengths, told):
    """The shortest of three steps along its direction that leads to one."""
    w, way, said = np.array([1.0, 2.0]), np.array([0.6, 0.8]), []
    sizes = branch._LEAVE
    options = Options(0.5, 1e-4, 1.0, 1e-9, 0.0, 1.0, 10)

    def correct(problem, guess, plane, tol):
        k = len(said)
        said.append((problem, tol))
        np.testing.assert_allclose(guess, w + sizes[k] * way)
        EQUAL(plane, way)
        if lengths[k] is None:
            return None
        aside = np.array([-0.8, 0.6])
        return space(w=w + lengths[k] * sizes[k] * way + aside, k=k), 3

    monkeypatch.setattr(branch, "correct", correct)
    monkeypatch.setattr(
        branch,
        "trace",
        lambda problem, node, options: space(reason="over", told=(problem, node.k, options.h)),
    )
    monkeypatch.setattr(
        branch,
        "assembled",
        lambda problem, back, onward, options, section, ends: (
            back,
            onward.told,
            options.h,
            section,
            ends,
        ),
    )
    flip = space(kind="flip", node="node", parameter=3.0)
    one = space(
        problem=space(doubled=lambda node: ("doubled", w, way)),
        found=lambda kind: [flip, None],
        options=options,
        section="s",
        parameter="p",
    )
    if told is None:
        with pytest.raises(BadValue, match="beside the flip at p = 3"):
            branch.Branch.switch(one)
    else:
        h = sizes[told]
        assert branch.Branch.switch(one, flip) == (
            None,
            ("doubled", told, h),
            h,
            "s",
            ("flip", "over"),
        )
    assert said == [("doubled", 1e-9)] * (3 if told is None else told + 1)
    for point, found in ((None, []), (space(kind="fold"), [flip])):
        one.found = lambda kind, found=found: found
        with pytest.raises(BadValue, match="needs a flip"):
            branch.Branch.switch(one, point)


# ---------------------------------------------------------------- a homotopy


@for_each(
    ("sigma", "far", "last"),
    [
        (1.0, 9.0, None),
        (0.02, 9.0, None),
        (1.0, 0.0, None),
        (1.0, 5e-5, 5e-5),
        (1.0, 0.5, 9e-5),
        (1e-3, 9.0, None),
    ],
)
def test_sigma_falls_slowly_then_fast_as_long_as_residuals_do(monkeypatch, sigma, far, last):
    """By 0.3 down to 1e-3, then by 0.01 to 1e-14; residuals above 0.01 below 1e-4 stay."""
    seen, z = [], np.zeros(2)

    def equations(z, w, slope):
        return (np.array([w, 0.0]), None) if not slope else (None, np.array([[w]]))

    def least_squares(residual, at, slope, **given):
        (w, _), ((again,),) = residual(at), slope(at)
        assert w == again
        assert given == {
            "method": "lm",
            "max_nfev": 100,
            "xtol": 1e-15,
            "ftol": 1e-4,
            "gtol": 1e-15,
        }
        assert at.tolist() == [len(seen)] * 2
        seen.append(w)
        return space(x=at + 1.0, fun=np.array([0.6, 0.8]) * (0.011 if w <= far else 0.009))

    monkeypatch.setattr(scipy.optimize, "least_squares", least_squares)
    one = space(sigma=sigma, z=z, equations=equations, blocks=lambda: {"a": 0.25, "b": 0.5})
    _Interval.follow(one)
    levels = [sigma]
    while levels[-1] > 1e-14:
        levels.append(levels[-1] * (0.3 if levels[-1] > 1e-3 else 0.01))
    levels.pop()
    ends = [w for w in levels if w < 1e-4 and w <= far]
    expected = levels if not ends else levels[: levels.index(ends[0]) + 1]
    assert seen == pytest.approx(expected, rel=1e-12)
    assert (one.size, one.z[0]) == (0.5, len(expected))


# ---------------------------------------------------------------- standard errors


def fitted(J, r, loss="linear", held=(), scale=1.0, cost=1.0, known=True):
    p = J.shape[1]
    mask = np.isin(np.arange(p), held).astype(int)
    search = space(question=space(wrt=[*"abcdef"[:p]]), scale=np.geomspace(1, 1e3, p))
    model = space(search=search, residuals=lambda x: r, scale=scale, loss=loss)
    return _covariance(model, space(active_mask=mask, x=None, cost=cost), J, known)


@for_each(
    ("m", "held", "known"), itertools.product((3, 4, 9), ((), (1,), (0, 1, 2)), (False, True))
)
def test_covariances_are_those_of_least_squares(m, held, known):
    rng = np.random.default_rng(m)
    J, r = rng.normal(size=(m, 3)), rng.normal(size=m)
    got, said = fitted(J, r, held=held, known=known, cost=3.0)
    free = np.setdiff1d(np.arange(3), held)
    expected = np.full((3, 3), np.nan)
    if len(free):
        size = 1.0 if known else 6.0 / (m - 3) if m > 3 else np.nan
        expected[np.ix_(free, free)] = size * np.linalg.inv(J[:, free].T @ J[:, free])
    np.testing.assert_allclose(got, expected, rtol=1e-9)
    assert said == [f"{'abc'[k]} is at its bound, so it has no standard error" for k in held]


@for_each(("loss", "m"), itertools.product([name for name in LOSSES if name != "linear"], (3, 8)))
def test_covariances_of_robust_losses_are_hubers(loss, m):
    """A^-1 B A^-1 with A = J' psi' J, B = J' psi^2 J, and m / (m - p)."""
    rng, C = np.random.default_rng(2), 0.7
    J, r = rng.normal(size=(m, 3)), rng.normal(size=m)
    _, first, second = LOSSES[loss]((r / C) ** 2)
    psi, slope = first * r, np.maximum(first + 2 * (r / C) ** 2 * second, 0)
    A, B = (J.T * slope) @ J, (J.T * psi**2) @ J
    got, _ = fitted(J, r, loss, scale=C)
    if m == 3:
        assert not np.isfinite(got).any()
    elif np.linalg.cond(A) < 1e8:
        np.testing.assert_allclose(got, np.linalg.inv(A) @ B @ np.linalg.inv(A) * 8 / 5, rtol=1e-7)


@for_each(("weak", "lost", "said"), [
    ((1.0, 0.0, 0.0), "a", "a"), ((1.0, 0.9e-3, 0.0), "a", "a"), ((1.0, 1.1e-3, 0.0), "ab", "a, b (only together)"),
    ((1.0, -1.3e-3, 0.5), "abc", "a, b, c (only together)"), ((0.0, 1.0, 1.0), "bc", "b, c (only together)"),
])  # fmt: skip
def test_what_data_do_not_determine_has_no_standard_error(weak, lost, said):
    """What makes up a thousandth of a direction in which nothing changes, in the units of the search."""
    rng, scale = np.random.default_rng(4), np.geomspace(1, 1e3, 3)
    v = np.array(weak) / np.linalg.norm(weak)
    J = rng.normal(size=(7, 3)) @ (np.eye(3) - np.outer(v, v)) / scale
    got, told = fitted(J, np.ones(7))
    which = np.array([name in lost for name in "abc"])
    EQUAL(np.isinf(got), np.outer(which, which))
    assert told == [f"the data do not determine {said}"]


# ---------------------------------------------------------------- near misses


@for_each(("seen", "same", "told"), [
    (None, True, True), (1.4, True, False), (1.6, True, True), (0.6, True, False), (0.4, True, True), (np.inf, True, False), (np.nan, True, False),
    (1.0, False, True), (1.0, True, False), (1.5, True, False), (0.5, True, False),
])  # fmt: skip
@for_each("watched", [(), (False,), (True,), (True, False)])
@for_each(("miss", "furthest"), [(2.0**-10, -40.0), (2.0**-10, 0.25), (0.0, -40.0)])
def test_a_near_miss_is_doubtful_where_another_run_sees_another(
    monkeypatch, seen, same, told, watched, miss, furthest
):
    """By more than half of it, or other events; not if nothing depends on the guard.

    What rtol allows is that of the largest state, or of 1 if all are smaller.
    """
    march = space(
        events=space(head={"t": np.array([0.1, 0.4]), "D": None}), screened=(NEAR, np.empty(0)), part=lambda name: np.empty((0, 3)), nearest=miss,
        watch={"nearest": np.array([5.0, miss, 7.0]), "miss_at": np.array([9.0, 0.3, 9.0])}, sequence="ab",
        flow=space(guards=[space(mode=k) for k in range(len(watched))], n_x=2),
        end=lambda: (None, None, None, np.array([[1.0, 0.0, 0.0], [0.0, 0.0, np.nan]])), steps=space(y=np.array([[0.125, furthest, 999.0]])),
    )  # fmt: skip
    theirs = space(
        sequence="ab" if same else "a",
        watch={"nearest": np.array([0.0, miss * (seen or 0.0), 0.0])},
    )

    def run(wrt):
        if seen is None:
            raise StepFailed("no", None)
        return space(march=theirs)

    replaced = space(replace=lambda question, scheme, t_eval: space(run=run))
    for name, way in (("dataclasses", replaced), ("_other", lambda scheme: None), ("_watches", lambda question, g: watched[g - 1]),
                      ("_moves", lambda march, j, t: np.array([True, True, False]) if (j, t) == (1, 0.3) else None),
                      ("_in_guards", lambda question: np.array([False, True, False]))):  # fmt: skip
        monkeypatch.setattr(doubts, name, way)
    scheme = ex.EventDriven(rtol=1e-6, atol=1e-7)
    found = doubts._grazing(space(system=space(time_unit="s"), scheme=scheme), space(march=march))
    if miss == 0.0 and seen is not None and same:
        return
    doubtful = told and not (watched and all(watched))
    assert len(found) == doubtful
    if doubtful:
        (one,) = found
        allowed = 1e-7 + 1e-6 * max(1.0, abs(furthest))
        assert one.value == (pytest.approx(allowed / miss) if miss else np.inf)
        assert (one.event, one.t, one.name) == (1, 0.3, "grazing")
        assert one.columns.tolist() == [True, True, False]


# ---------------------------------------------------------------- legends


def traces(*names, **more):
    return [{"name": name, "showlegend": True, "legendgroup": "x", **more} for name in names]


@for_each(("names", "room", "first", "told", "shown"), [
    (["ab"], 100, 0, 1, ["ab"]), (["name: a long text of it"], 100, 0, 2, ["name:<br>a long text of it"]), (["name: a long text of it"], 100, 200, 1, ["name: a long text of it"]),
    (["a name of one long text"], 100, 0, 1, ["a name of one long text"]), (["a:<br>b"], 100, 0, 1, ["a: b"]), ([], 100, 0, 0, []),
    (["ab", "cd"], 200, 0, 1, ["ab", "cd"]), (["ab", "cd"], 100, 0, 2, ["ab", "cd"]), (["ab", "cd", "ef"], 120, 0, 2, ["ab", "cd", "ef"]),
    (["ab: c", "cd: e"], 20, 0, 2, ["ab: c", "cd: e"]), (["a: b: c and what is so long"], 60, 0, 2, ["a:<br>b: c and what is so long"]),
])  # fmt: skip
def test_a_legend_has_the_lines_that_it_needs(names, room, first, told, shown):
    drawn = traces(*names)
    assert _legends([None], [drawn], room, first) == [told]
    assert [trace["name"] for trace in drawn] == shown
    groups = (
        [str(n // told) for n in range(len(names))]
        if told > 1 and len(names) > 1
        else [None] * len(names)
    )
    assert [trace.get("legendgroup") for trace in drawn] == groups
    below = traces(*names)
    assert _legends([None, None], [[{"name": "out"}], below], room, 0) == [
        0,
        _legends([None], [traces(*names)], room)[0],
    ]
