"""Parts of searches: where they start, what data measure, which runs they make, what they tell."""

from __future__ import annotations

import dataclasses
import importlib
import inspect

import numpy as np
import pytest
import sympy as sp
from loops import for_each
from plain import put, space
from test_study_branches import bare

import explorer as ex
from explorer.errors import BadValue
from explorer.optimise.observed import Observed
from explorer.optimise.options import SearchOptions, with_options
from explorer.optimise.search import Search, met
from explorer.optimise.starts import Start, known, starting_points

COVERS = (
    "optimise/fit.py",
    "optimise/minimize.py",
    "optimise/observed.py",
    "optimise/options.py",
    "optimise/search.py",
    "optimise/starts.py",
)  # see mutant_rooms.py
fitting = importlib.import_module("explorer.optimise.fit")
descents = importlib.import_module("explorer.optimise.minimize")


# ---------------------------------------------------------------- starts


def search_of(low, high, log=(False, False, False)):
    """Return a search over a, b and c, of which the first two are parameters."""
    parameters = {name: space(log=own) for name, own in zip("ab", log, strict=False)}
    question = space(wrt=("a", "b", "c"), system=space(parameters=parameters))
    return space(start=np.array([2.0, 3.0, 5.0]), low=np.array(low), high=np.array(high),
                 scale=np.array([0.5, 2.0, 4.0]), question=question)  # fmt: skip


@for_each("count", [1, 2, 5, 9.0])
def test_every_part_of_a_range_has_one_start(count):
    """In each coordinate; the first start is that of the search. An open side lies one scale off."""
    one = search_of([1.0, -np.inf, 4.0], [9.0, 8.0, np.inf])
    found = starting_points(one, count, 3)
    assert found.shape == (int(count), 3)
    assert found[0].tolist() == [2.0, 3.0, 5.0]
    k = int(count) - 1
    low, high = np.array([1.0, 1.0, 4.0]), np.array([9.0, 8.0, 9.0])
    parts = (found[1:] - low) / (high - low) * k
    assert np.sort(np.floor(parts), axis=0).tolist() == [[j] * 3 for j in range(k)]
    if k > 4:
        assert len({tuple(np.argsort(column)) for column in parts.T}) > 1
        assert not np.allclose(parts % 1, 0.0)
        assert starting_points(one, count, 4)[1:].tolist() != found[1:].tolist()
    assert starting_points(one, count, 3).tolist() == found.tolist()


def test_a_logarithmic_range_is_divided_in_its_logarithm():
    """If it is positive, and that of a parameter."""
    even = starting_points(search_of([0.01, -1.0, 1.0], [100.0, 3.0, 9.0]), 6, 1)[1:]
    found = starting_points(search_of([0.01, -1.0, 1.0], [100.0, 3.0, 9.0], (True, True)), 6, 1)[1:]
    parts = (even[:, 0] - 0.01) / 99.99
    np.testing.assert_allclose(np.log10(found[:, 0]), -2 + 4 * parts)
    assert found[:, 1:].tolist() == even[:, 1:].tolist()
    zero = starting_points(search_of([0.0, -1.0, 1.0], [100.0, 3.0, 9.0], (True, True)), 6, 1)[1:]
    np.testing.assert_allclose(zero[:, 0], 100 * parts)


@for_each("count", [0, -1, 1.5, "many", np.nan])
def test_starts_are_counted_from_one(count):
    with pytest.raises(BadValue, match="starts"):
        starting_points(search_of([0.0] * 3, [1.0] * 3), count, 0)


@for_each(
    ("ends", "costs", "told"),
    [
        ([2.0], [1.0], ""),
        ([2.0, 2.0], [1.0, 1.0], "the best of 2 starts; 2 of them end there"),
        ([2.0, 2.0039], [1.0, 9.0], "the best of 2 starts; 2 of them end there"),
        ([2.0, 2.0041], [1.0, 9.0], "the best of 2 starts; 1 of them end there"),
        ([2.0, 2.19], [-1.0, -1.00009], "the best of 2 starts; 2 of them end there"),
        ([2.0, 2.19], [1.0, 1.00011], "the best of 2 starts; 1 of them end there"),
        ([2.0, 2.21], [1.0, 1.0], "the best of 2 starts; 1 of them end there"),
        ([2.0, 1.9, 7.0], [1.0, 1.0, np.inf], "the best of 3 starts; 2 of them end there, 1 failed"),
        ([2.0, 2.0, 2.0], [1.0, np.inf, np.inf], "the best of 3 starts; 1 of them end there, 2 failed"),
    ],
)  # fmt: skip
def test_descents_end_in_one_minimum_where_they_are_close(ends, costs, told):
    """By a thousandth of the scale, 4; or by 0.05 where costs are alike, along a flat valley."""
    starts = [
        Start({}, {"a": 7.0, "b": x}, cost, True, "") for x, cost in zip(ends, costs, strict=True)
    ]
    assert known(space(scale=np.array([1.0, 4.0])), starts, starts[0]) == told


# ---------------------------------------------------------------- what is observed


def test_data_measure_formulas_of_states_and_parameters():
    """Their derivatives are those of the states and, of a parameter, that of the formula too."""
    x, y, a, b, t = sp.symbols("x y a b t")
    args = [t, x, y, a, b]

    def outputs(formulas):
        native = sp.lambdify(args, formulas)
        return lambda inp: native(*inp)

    flow = space(n_x=2, states=[space(name="x"), space(name="y")], outputs=outputs,
                 input=lambda rho: np.array([99.0, 99.0, 99.0, *rho]))  # fmt: skip
    system = space(
        parameters={"a": None, "b": None},
        symbols=lambda: dict(zip("xyabt", (x, y, a, b, t), strict=True)),
    )
    question = space(system=system, cost=space(flow=flow), places=(1, -1, 0))
    one = Observed(space(question=question), ["x*y + a*t", "b**2*x"])
    rng = np.random.default_rng(0)
    run = space(
        t=np.array([0.0, 1.0, 2.0, 3.0]), x=rng.normal(size=(4, 2)), S=rng.normal(size=(4, 3, 3))
    )
    values, slopes = one(np.array([5.0, 7.0]), run, np.array([1.0, 3.0]))
    for i, k in enumerate((1, 3)):
        (X, Y), S, T = run.x[k], run.S[k], float(k)
        np.testing.assert_allclose(values[i], [X * Y + 5 * T, 49 * X])
        first, second = Y * S[0] + X * S[1], 49 * S[0]
        np.testing.assert_allclose(
            slopes[i], [np.add(first, [0, 0, T]), np.add(second, [14 * X, 0, 0])]
        )
    for given, told in (("x", 1), (x + y, 1), (("x", "y", "a"), 3)):
        assert len(Observed(space(question=question), given).formulas) == told
    for wrong in ([], "x + z"):
        with pytest.raises(BadValue):
            Observed(space(question=question), wrong)


# ---------------------------------------------------------------- runs of a search


@dataclasses.dataclass(frozen=True)
class Asked:
    """A question that keeps what it is asked at."""

    places: tuple
    given: object = None
    until: object = None
    t_end: float = 2.0
    rho: object = None
    last: float = 2.0
    wrt: tuple = ("a", "y", "b", "x")

    @property
    def cost(self):
        return space(flow=space(n_x=3, states=[space(name=n) for n in ("x", "y", "z")]))

    def at(self, changes):
        return dataclasses.replace(self, rho=changes)

    def run(self):
        return space(march=space(t_last=self.last), located=[space(contact="fall", t=1.5)],
                     system=space(time_unit="s"))  # fmt: skip


@for_each("own", [None, [7.0, 8.0, 9.0]])
def test_a_search_runs_with_other_parameters_and_starts(own):
    asked = Asked((1, -1, 0, -1), given=None if own is None else np.array(own))
    one = bare(Search, question=asked)
    question, _ = one.run(np.array([10.0, 20.0, 30.0, 40.0]))
    assert question.rho == {0: 10.0, 2: 30.0}
    np.testing.assert_array_equal(question.given, [40.0, 20.0, np.nan if own is None else 9.0])
    if own is not None:
        assert asked.given.tolist() == own
    question, _ = bare(Search, question=Asked((1, 0))).run(np.array([1.0, 2.0]))
    assert (question.rho, question.given) == ({0: 1.0, 1: 2.0}, None)


@for_each(("until", "last", "told"), [(None, 2.0, None), (None, 1.5, "ends early, with 'fall' at t = 1.5 s"), (("fall", 1), 1.5, None)])  # fmt: skip
def test_a_run_that_ends_early_has_no_fixed_end(until, last, told):
    one = bare(Search, question=Asked((0,), until=until, last=last))
    if told is None:
        one.run(np.array([1.0]))
        return
    with pytest.raises(BadValue, match=told):
        one.run(np.array([1.0]))


@for_each(
    ("events", "until", "told"),
    [
        ("ia ib ia", None, "ia ib ia"),
        ("ia ib ia ib", ("a", 1), "ia"),
        ("ia ib ia ib", ("a", 2), "ia ib ia"),
        ("ia ib ia ib", ("b", 2), "ia ib ia ib"),
        ("ib ia ia za ib", None, "ib za ib"),
        ("ia ib ia za", None, "ia ib za"),
        ("za ia", None, "za ia"),
        ("ra za", None, "ra za"),
    ],
)
def test_impacts_that_accumulate_count_as_one_event(monkeypatch, events, until, told):
    kinds = {"i": "impact", "z": "zeno", "r": "rest"}
    read = lambda text: tuple((kinds[one[0]], one[1]) for one in text.split())  # noqa: E731
    put(monkeypatch, met, sequence=lambda run: [*read(events)])
    assert met("run", until) == read(told)


# ---------------------------------------------------------------- options


def test_options_of_a_search_are_taken_by_name():
    """What is no option goes on; the signature shows each with its own default."""

    @with_options(tol=1e-3)
    def one(system, *, options: SearchOptions, other=5):
        return system, options, other

    assert one("s") == ("s", SearchOptions(tol=1e-3), 5)
    assert one("s", tol=0.5, starts=3, other=7) == ("s", SearchOptions(tol=0.5, starts=3), 7)
    shown = inspect.signature(one).parameters
    names = [f.name for f in dataclasses.fields(SearchOptions)]
    assert [*shown] == ["system", *names, "other"]
    assert (shown["tol"].default, shown["starts"].default, shown["other"].default) == (1e-3, 1, 5)
    assert shown["tol"].kind is inspect.Parameter.KEYWORD_ONLY


# ---------------------------------------------------------------- whole searches


class Waiting:
    """A bar that is not drawn."""

    def __init__(self, total, text, shown):
        self.total, self.text, self.shown, self.closed = total, text, shown, False

    def close(self):
        self.closed = True


@for_each(("costs", "best"), [([3.0, 2.0, 5.0], 1), ([3.0, None, 3.0], 0), ([3.0, None, 1.0], 2)])
def test_the_best_of_several_fits_is_told(monkeypatch, costs, best):
    """Its data, weights, loss and times are those that are given; runs of all are counted."""
    asked, bars = {}, []

    def attempt(model, x, tol, max_iter, first):
        model.runs = 10 + len(asked)
        asked[x[0]] = model, tol, max_iter, first
        cost = costs[int(x[0])]
        start = space(cost=np.inf if cost is None else cost)
        return start, model, None if cost is None else space(x=x + 0.5)

    def question(*given):
        asked["ask"] = given
        return space(
            cost=space(flow=space(states=[space(name="x"), space(name="y")])), wrt=("a", "b")
        )

    study = inspect.unwrap(ex.fit)
    put(
        monkeypatch, study, ask=question, _search=attempt,
        Search=space(of=lambda question, bounds, start: ("search", bounds, start)),
        Observed=lambda search, observe: ("observed", observe), _check_data=lambda *given: None,
        starting_points=lambda search, count, seed: np.arange(3.0)[:, None] if (count, seed) == (3, 8) else None,
        Progress=lambda *given: bars.append(Waiting(*given)) or bars[-1], _told=lambda *given: given,
    )  # fmt: skip
    tried = []
    monkeypatch.setattr(fitting._Model, "at", lambda self, x: tried.append((self, x.tolist())))
    options = SearchOptions(start="start", starts=3, seed=8, tol=1e-4, max_iter=7, progress=False)
    ends, model, found, k, known_sigma, runs = study(
        "system", [1.0, 2.0], [3.0, 4.0], None, "wrt", "bounds", "scheme", sigma=0.5, loss="huber",
        options=options, rho={"a": 1}, b=2,
    )  # fmt: skip
    assert asked.pop("ask")[:4] == ("system", "scheme", "wrt", None)
    assert [(tol, many, first) for _, tol, many, first in asked.values()] == [
        (1e-4, 7, True), (1e-4, 7, False), (1e-4, 7, False),
    ]  # fmt: skip
    assert (k, known_sigma, runs) == (best, True, 11 + 12 + 13)
    assert found.x.tolist() == [best + 0.5]
    assert tried == [(model, [best + 0.5])]
    assert len(ends) == 3
    assert (model.loss, model.scale, model.weight.tolist()) == ("huber", 1.0, [[2.0], [2.0]])
    assert model.observed == ("observed", ["x"])
    (bar,) = bars
    assert (bar.total, bar.text, bar.shown, bar.closed) == (21, "Fitting", False, True)


def test_a_fit_without_sigma_says_so_and_gives_its_parameters(monkeypatch):
    told = {}

    def question(*given):
        told["given"] = given
        return space(cost=space(flow=space(states=[])), wrt=())

    study = inspect.unwrap(ex.fit)
    put(monkeypatch, study, ask=question, _check_data=lambda *given: None,
        Search=space(of=lambda *given: "search"), Observed=lambda search, observe: observe,
        starting_points=lambda *given: np.zeros((1, 1)), Progress=Waiting, _told=lambda *given: given,
        _search=lambda model, *given: (space(cost=1.0), model, space(x=np.zeros(1))))  # fmt: skip
    monkeypatch.setattr(fitting._Model, "at", lambda self, x: None)
    found = study("s", [1.0, 2.5], [3.0, 4.0], "y", options=SearchOptions(), rho={"a": 1}, b=2)
    assert found[4] is False
    *_, t_end, until, times, values = told["given"]
    assert (t_end, until, times.tolist(), values) == (2.5, None, [1.0, 2.5], {"a": 1, "b": 2})
    assert found[1].observed == "y"


@for_each(("ok", "cautions", "success"), [(True, (), True), (False, (), True), (True, ("c",), True), (True, (), False)])  # fmt: skip
def test_a_fit_tells_what_is_known_of_it(monkeypatch, ok, cautions, success):
    data = np.array([[1.0, np.nan], [3.0, 4.0]])
    y = np.array([[1.5, 7.0], [3.5, 2.0]])
    slopes = np.arange(8.0).reshape(2, 2, 2)
    weight = np.array([[1.0, 2.0], [3.0, 4.0]])
    asked = {}
    run = space(certificate=space(cautions=cautions))
    model = space(search=space(named=lambda x: dict(zip("ab", np.asarray(x).tolist(), strict=True))),
                  data=data, weight=weight, at=lambda x: ("question", run, y, slopes, "q"),
                  changes=["a change"], history="history")  # fmt: skip

    def trusted(question, run, J):
        asked["J"] = J
        return space(ok=ok, sentences=["No."])

    put(monkeypatch, fitting._told, trust=trusted, known=lambda *given: "several",
        _covariance=lambda model, found, J, sure: (np.diag([4.0, 9.0]), ["a doubt"] if sure == "sure" else []))  # fmt: skip
    starts = [space(message="other"), space(message=fitting._STATIONARY, success=success)]
    found = fitting._told(starts, model, space(x=np.array([5.0, 6.0])), 1, "sure", 12)
    np.testing.assert_array_equal(asked["J"], [[0, 1], [12, 15], [24, 28]])
    assert found.parameters == {"a": 5.0, "b": 6.0}
    assert found.errors == {"a": 2.0, "b": 3.0}
    np.testing.assert_array_equal(found.residuals, [[-0.5, np.nan], [-0.5, 2.0]])
    assert found.rms == pytest.approx(np.sqrt((0.25 + 0.25 + 4) / 3))
    assert found.success is (success and ok and not cautions)
    parts = found.message.split("; ")
    assert parts[0] == (fitting._STATIONARY if ok else "stopped")
    assert parts[1] == "a doubt"
    assert ("its Jacobian is not reliable: No." in parts) is (not ok)
    assert ("checks of its run do not hold: c" in parts) is bool(cautions)
    assert parts[-2:] == ["several", "a change"]
    assert (found.evaluations, found.starts, found.history) == (12, starts, "history")


@for_each(("ok", "success", "changes"), [(True, True, []), (False, True, []), (False, False, []), (True, True, ["one", "two"])])  # fmt: skip
def test_the_best_of_several_descents_is_told(monkeypatch, ok, success, changes):
    asked, bars = [], []
    message = "converged to a stationary point"
    ends = {0: (5.0, True), 1: (2.0, True), 2: (1.0, False), 3: (2.0, True)}

    def descend(search, x, tol, bar, max_iter, first):
        k = int(x[0])
        asked.append((k, tol, max_iter, first))
        cost, there = ends[k]
        point = space(
            z=np.array([10.0 * k]), slope=np.array([6.0]), question="q", run="run", cost=cost
        )
        start = space(cost=cost, success=success, message=message)
        return start, space(
            best=point, runs=k + 1, changes=changes, history=f"h{k}"
        ) if there else None

    search = space(scale=np.array([2.0]), named=lambda x: {"a": float(x[0])})
    study = inspect.unwrap(ex.minimize)
    put(monkeypatch, study, ask=lambda *given, u: asked.append((given, u)),
        Search=space(of=lambda *given: search), _descend=descend,
        starting_points=lambda *given: np.arange(4.0)[:, None], known=lambda *given: "several",
        Progress=lambda *given: bars.append(Waiting(*given)) or bars[-1],
        trust=lambda question, run, gradient: space(ok=ok, sentences=["No."], gradient=gradient))  # fmt: skip
    found = study("s", "cost", "a", "b", "scheme", t_end=3.0, until="e", u="u", rho={"c": 1}, d=2,
                  options=SearchOptions(starts=4, tol=1e-3, max_iter=6))  # fmt: skip
    assert asked[0] == (("s", "scheme", "a", "cost", 3.0, "e", None, {"c": 1, "d": 2}), "u")
    assert asked[1:] == [(k, 1e-3, 6, k == 0) for k in range(4)]
    assert (bars[0].total, bars[0].closed) == (24, True)
    assert (found.cost, found.parameters, found.gradient) == (2.0, {"a": 20.0}, {"a": 3.0})
    assert found.trust.gradient.tolist() == [3.0]
    assert found.success is (success and ok)
    told = message
    if success and not ok:
        told = "stopped; the gradient there is not reliable: No."
    if changes:
        told += "; one, two, and the search restarted there"
    assert found.message == f"{told}; several"
    assert (found.evaluations, found.history, found.trajectory) == (1 + 2 + 4, "h1", "run")
