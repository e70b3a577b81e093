"""Checks of derivatives, each asked alone: other methods, growth of errors, what is left."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from loops import for_each
from plain import put, space

from explorer.derivatives import trust, verify
from explorer.errors import BadValue, ExplorerError
from explorer.schemes.event_driven import EventDriven
from explorer.schemes.fesd import FESD
from explorer.schemes.newmark import Newmark

COVERS = ("derivatives/trust.py", "derivatives/verify.py")  # see mutant_rooms.py


# ---------------------------------------------------------------- another method


@for_each(
    ("scheme", "told"),
    [
        (EventDriven(method="dop853", rtol=1e-6, atol=1e-7), {"method": "dopri5", "rtol": 1e-7, "atol": 1e-8}),
        (EventDriven(method="dopri5", rtol=1e-6, atol=5e-13), {"method": "dop853", "rtol": 1e-7, "atol": 1e-13}),
        (EventDriven(method="radau", rtol=1e-4, atol=1e-4), {"method": "dop853", "rtol": 1e-5, "atol": 1e-5}),
        (EventDriven(method="dop853", rtol=1e-13, atol=1e-14), {"method": "dopri5", "rtol": 1e-12, "atol": 1e-13}),
        (FESD(stages=2, h=0.5), {"stages": 3, "h": 0.25}),
        (FESD(stages=3, h=0.5), {"stages": 4, "h": 0.25}),
        (FESD(stages=4, h=0.5), {"stages": 3, "h": 0.25}),
        (EventDriven(method=Newmark(h=0.01), max_steps=77, max_events=88), {"newmark": None, "max_steps": 77, "max_events": 88}),
    ],
)  # fmt: skip
def test_another_method_has_another_order_or_tolerance(scheme, told):
    found = verify.another(scheme)
    assert {k: getattr(found, k) for k in told} == pytest.approx(told)


@for_each(("mine", "theirs", "costs"), [(EventDriven(), EventDriven(), 0), (EventDriven(), FESD(), 1), (FESD(), FESD(), 0), (FESD(), EventDriven(), 1)])  # fmt: skip
def test_a_cost_is_compiled_anew_for_another_kind_of_scheme(monkeypatch, mine, theirs, costs):
    made = []
    Asked = dataclasses.make_dataclass("Asked", ["scheme", "t_eval", "cost", "system"])
    put(monkeypatch, verify.verify, compile_cost=lambda *given: made.append(given) or "new",
        _second=lambda solution, gradient, asked: [("second", asked)], _quotients=lambda gradient, asked: ["quotient"])  # fmt: skip
    monkeypatch.setattr(type(theirs), "differentiates", staticmethod(lambda system: system != "no"))
    question = Asked(mine, "times", space(cost="c"), "system")
    found = space(with_checks=lambda *checks: checks)
    (_, asked), quotient = verify.verify(question, "run", "gradient", found, theirs)
    assert (asked.scheme, asked.t_eval, quotient) == (theirs, None, "quotient")
    assert made == [("system", "c", theirs)] * costs
    assert asked.cost == ("new" if costs else question.cost)
    with pytest.raises(BadValue, match="does not differentiate"):
        verify.verify(space(scheme=mine, system=space(name="s")), 1, 2, found, space())


@for_each(("case", "value"), [("fails", np.inf), ("sequence", np.inf), ("gradient", 0.25), ("end", 0.5), ("same", 0.0)])  # fmt: skip
def test_another_method_agrees_in_events_gradients_and_ends(monkeypatch, case, value):
    """The running cost, the last row, is in the gradient already."""

    def run():
        if case == "fails":
            raise ExplorerError("no")
        return found

    def ended(S):
        return space(march=space(end=lambda: (0, 0, 0, np.array(S))), located=[1])

    own = ended([[4.0, 1.0], [2.0, 0.0], [9.0, 9.0]])
    found = ended([[4.0, 3.0 if case == "end" else 1.0], [2.0, 0.0], [-9.0, 7.0]])
    own.named, found.named = "s", "t" if case == "sequence" else "s"
    gradient = np.array([8.0, 2.0])
    other = np.array([8.0, 4.0 if case == "gradient" else 2.0])
    put(monkeypatch, verify._second, sequence=lambda run: run.named,
        gradient_of=lambda question, run: (0.0, other))  # fmt: skip
    (check,) = verify._second(own, gradient, space(scheme="scheme", run=run))
    assert check.value == value
    assert check.allowed == verify._AGREE
    if case == "end":
        assert verify._apart(np.zeros(2), np.zeros(2)) == 0.0


@for_each("sign", [1.0, -1.0])
@for_each("place", [0, -1])
def test_a_one_sided_derivative_is_extrapolated(monkeypatch, sign, place):
    """Of psi = p^3 - 2 p, whose error is of order 2; runs within 2e-3 of its size fail."""
    at, asked = 4.0 if place >= 0 else 0.0, []

    def moved(question, j, change):
        asked.append(change)
        if abs(change) > (4e-3 if place >= 0 else 1e-3) * 1.5:
            raise ExplorerError("no")
        p = at + change
        return p**3 - 2 * p

    put(monkeypatch, verify._side, _moved=moved)
    one = space(places=(place,), wrt=("p",), value=lambda j: at,
                system=space(parameters={"p": space(low=0.0, high=9.0)}))  # fmt: skip
    slope, error = verify._side(one, 0, sign, at**3 - 2 * at)
    assert slope == pytest.approx(3 * at**2 - 2, rel=1e-6)
    assert 0 < error < 1e-4
    wide = 4.0 if place >= 0 else 1.0
    first = [x for x in asked if abs(x) in (pytest.approx(1e-4 * wide), pytest.approx(2e-4 * wide))]
    assert np.sign(first).tolist() == [sign] * len(first)
    assert len(first) == 2


@for_each(("param", "wide"), [(space(low=1.0, high=9.0), 4.0), (None, 1.0)])
def test_a_parameter_of_zero_is_moved_by_parts_of_its_range(monkeypatch, param, wide):
    asked = []
    put(monkeypatch, verify._side, _moved=lambda question, j, change: asked.append(change) or 0.0)
    parameters = {} if param is None else {"p": param}
    one = space(
        places=(2,), wrt=("p[1]",), value=lambda j: 0.0, system=space(parameters=parameters)
    )
    assert verify._side(one, 0, 1.0, 0.0) == (0.0, 0.0)
    assert asked == pytest.approx([k * step * wide for step in verify._STEPS for k in (1, 2)])


def test_a_side_without_runs_has_no_derivative(monkeypatch):
    def fails(*_):
        raise ExplorerError("no")

    put(monkeypatch, verify._side, _moved=fails)
    one = space(places=(0,), wrt=("p",), value=lambda j: 2.0, system=space(parameters={}))
    slope, error = verify._side(one, 0, 1.0, 0.0)
    assert np.isnan(slope)
    assert error == 0.0


def test_of_two_steps_that_agree_best_the_finer_is_taken(monkeypatch):
    """Slopes 5, 3, 3.5 and 9: the third lies 0.5 from the second."""
    slopes = iter([5.0, 3.0, 3.5, 9.0])
    now = []

    def moved(question, j, change):
        if not now:
            now.append(next(slopes) * change)
            return now[0]
        return 2 * now.pop()

    put(monkeypatch, verify._side, _moved=moved)
    one = space(places=(0,), wrt=("p",), value=lambda j: 1.0, system=space(parameters={}))
    assert verify._side(one, 0, 1.0, 0.0) == pytest.approx((3.5, 0.5))


@for_each("place", [0, -1])
def test_beside_a_run_another_parameter_or_start_is_taken(monkeypatch, place):
    put(monkeypatch, verify._moved, cost_of=lambda question, run: (question.name, run))
    moved = space(name="moved", run=lambda wrt: ("run", wrt))
    one = space(name="own", places=(0, place), moved=lambda j, change: moved if (j, change) == (1, 0.5) else None,
                start=lambda: (np.array([1.0, 2.0]), None), seeds=lambda: np.array([[7.0, 3.0], [9.0, -4.0]]),
                run=lambda wrt, x0: ("run", wrt, x0.tolist()))  # fmt: skip
    found = verify._moved(one, 1, 0.5)
    assert found == (
        ("moved", ("run", False)) if place >= 0 else ("own", ("run", False, [2.5, 0.0]))
    )


# ---------------------------------------------------------------- growth and trust


def test_an_error_grows_by_the_largest_derivative_in_units_of_both(monkeypatch):
    """Of a parameter, of one that is zero, of the value of an input, and of a start."""
    x = np.array([[1.0, -2.0], [-4.0, 0.5]])
    S = np.array([[[1.0, 2.0, 3.0, 4.0], [0.5, 0.0, 1.0, 2.0]], [[-6.0, 1.0, 1.0, 1.0], [0.0, -3.0, 1.0, 0.25]]])  # fmt: skip
    put(monkeypatch, trust.growth, _states=lambda solution: (x, S))
    params = {
        "a": space(low=0.0, high=9.0),
        "b": space(low=-1.0, high=5.0),
        "u": space(low=0.0, high=1.0),
    }
    question = space(wrt=("a", "b", "u[1]", "y"), places=(0, 1, 2, -1), value=[-0.5, 0.0, 4.0, 9.0].__getitem__,
                     cost=space(flow=space(states=[space(name="x"), space(name="y")])),
                     system=space(parameters=params))  # fmt: skip
    wide, size = np.array([0.5, 3.0, 4.0, 2.0]), np.array([4.0, 2.0])
    wanted = np.abs(S).max(axis=0) * wide / size[:, None]
    assert trust.growth(question, "run") == pytest.approx(wanted.max())
    x[:, 0] = 0.0  # what a state at rest gains has no size
    wanted = (np.abs(S).max(axis=0) * wide / size[:, None])[1]
    assert trust.growth(question, "run") == pytest.approx(wanted.max())
    question.wrt, question.places = (), ()
    put(monkeypatch, trust.growth, _states=lambda solution: (x, S[:, :, :0]))
    assert trust.growth(question, "run") == 0.0


def test_states_along_a_run_are_those_of_its_steps(monkeypatch):
    """Rows of x and z, then those of each column; the last one is the end."""
    steps = np.arange(18.0).reshape(2, 9)
    march = space(steps=space(t=[0.0, 1.0], y=steps), y=100 + np.arange(9.0), flow=space(n_x=2))
    rows = space(march=march, x=np.ones((4, 2)), S=np.arange(24.0).reshape(4, 3, 2))
    put(monkeypatch, trust._states, March=type(march))
    x, S = trust._states(rows)
    assert x.tolist() == [[0, 1], [9, 10], [100, 101]]
    assert S[0].tolist() == [[3, 6], [4, 7]]
    assert S[2].tolist() == [[103, 106], [104, 107]]
    assert trust.scales(rows).tolist() == [100.0, 101.0]
    march.steps.t = []
    x, S = trust._states(rows)
    assert (x is rows.x, S.tolist()) == (True, rows.S[:, :2].tolist())


@for_each(
    ("last", "mu", "grown", "told"),
    [
        (None, None, 100.0, ["one", "two", "three"]),
        (2.0, None, 100.0, ["one", "two"]),
        (1.5, "mu", 0.5, ["one"]),
        (None, None, 0.0, ["one", "two", "three"]),
    ],
)
def test_a_run_is_judged_up_to_its_end(monkeypatch, last, mu, grown, told):
    """Events and doubts behind the event that ends it count for nothing."""
    asked, nothing = {}, np.zeros(2, bool)

    def note(name):
        return lambda *given: asked.__setitem__(name, given) or [(name,)]

    put(monkeypatch, trust.trust, growth=lambda *_: grown, _growth_of_adjoint=lambda *_: grown,
        Certificate=lambda checks: checks, **{n: note(n) for n in ("_grazing", "_near", "_finite", "_held", "_begun")})  # fmt: skip
    put(monkeypatch, trust.trust, _grown=lambda *given: asked.__setitem__("_grown", given) or "_grown",
        _own=lambda *given: given)  # fmt: skip
    events = [
        space(t=t, margin=m, name=n)
        for t, m, n in ((1.0, -5.0, "one"), (2.0, 3.0, "two"), (3.0, 0.5, "three"))
    ]
    given = tuple(space(kind="directional", t=t, columns=nothing) for t in (1.0, 1.0, 3.0))
    question = space(
        scheme=space(rtol=1e-6), last=lambda run: None if last is None else space(t=last)
    )
    found = trust.trust(
        question, space(located=events), "g", doubts=given, mu=mu, residuals={"r": 0.25}
    )
    assert found.margin == {"one": 5.0, "two": 3.0, "three": 0.5}[told[-1]]
    assert found.growth == grown
    lost = max(grown, 1.0) * 1e-6
    assert found.digits == pytest.approx(-np.log10(lost))
    assert found.directional == ((1.0, 3.0) if last is None else (1.0,))
    assert asked["_grown"] == (grown, lost)
    assert [e.name for e in asked["_grazing"][0]] == told
    assert asked["_near"][1] == lost
    assert asked["_finite"][1:3] == ("g", mu)
    assert ("r", 0.25, 1e-6) in found.certificate
    assert trust._DIRECTED not in found.certificate


@for_each("kind", ["directional", "grazing"])
def test_what_is_known_to_be_doubtful_is_not_checked_again(monkeypatch, kind):
    put(monkeypatch, trust.trust, growth=lambda *_: 1e9, Certificate=lambda checks: checks,
        **{n: lambda *given, n=n: [n] for n in ("_grazing", "_near", "_finite", "_held", "_begun")})  # fmt: skip
    one = space(kind=kind, t=1.0, columns=np.ones(1, bool))
    question = space(scheme=space(rtol=1e-6), last=lambda run: None)
    found = trust.trust(question, space(located=[]), doubts=(one,))
    assert (trust._DIRECTED in found.certificate) is (kind == "grazing")
    assert ("_grazing" in found.certificate) is (kind == "directional")
    assert ("_near" in found.certificate) is (kind == "directional")
    assert (found.margin, found.digits) == (np.inf, 0.0)
    question.scheme = space(rtol=0.0)
    assert trust.trust(question, space(located=[]), doubts=(one,)).digits == np.inf


@for_each(("near", "value"), [(0.5, 3e-3 * 8.0 * trust.SURE / 0.5), (0.0, np.inf), (-1.0, np.inf), (None, None)])  # fmt: skip
def test_a_near_miss_is_measured_by_the_error_of_the_largest_state(monkeypatch, near, value):
    put(monkeypatch, trust._near, scales=lambda run: np.array([2.0, 8.0]))
    found = trust._near(space(march=space(nearest=near), nearest=near), 3e-3)
    assert [c.value for c in found] == ([] if near is None else [pytest.approx(value)])
    put(monkeypatch, trust._near, scales=lambda run: np.array([0.5]))
    if near == 0.5:
        (check,) = trust._near(space(march=space(nearest=near), nearest=near), 3e-3)
        assert check.value == pytest.approx(3e-3 * trust.SURE / 0.5)
        assert check.allowed == 1.0


@for_each(
    ("gradient", "mu", "unknown", "count"),
    [
        (None, None, [False, False], 3), (None, None, [True, False], 1), ([np.nan, 1.0], None, [False, False], 4),
        ([np.nan, 1.0], None, [True, False], 1), ([1.0, np.inf], [[np.nan, np.inf]], [True, False], 3),
        (None, [[1.0]], [False, False], 0), ([np.nan, 1.0, 2.0], None, [True, False], 2),
    ],
)  # fmt: skip
def test_what_is_no_number_is_counted_beside_what_doubts_tell(
    monkeypatch, gradient, mu, unknown, count
):
    S = np.array([[[np.nan, 1.0], [np.inf, np.nan]]])
    put(monkeypatch, trust._finite, _states=lambda run: (None, S))
    (check,) = trust._finite(
        "run", gradient and np.array(gradient), mu and np.array(mu), np.array(unknown)
    )
    assert (check.value, check.allowed) == (count, 0.0)


@for_each(("lost", "told"), [(1e-6, "6 of its digits are"), (0.05, "1 of its digits is"), (2.0, "none of its digits is"), (0.0, "none"), (np.inf, "none")])  # fmt: skip
def test_digits_that_are_left_are_told(lost, told):
    check = trust._grown(100.0, lost)
    assert told in check.words
    assert (check.value, check.allowed) == (lost, 10.0**-trust.DIGITS)


@for_each(("tolerance", "allowed"), [(1e-9, 1e-4), (1e-6, 1e-3)])
def test_residuals_of_a_method_are_small(tolerance, allowed):
    for name, told in (
        ("direct", "disagree"),
        ("duality", "violate duality"),
        ("step", "too long"),
        ("else", "residual 'else'"),
    ):
        check = trust._own(name, 0.5, tolerance)
        assert (check.name, check.value) == (name, 0.5)
        assert check.allowed == pytest.approx(allowed)
        assert told in check.words
