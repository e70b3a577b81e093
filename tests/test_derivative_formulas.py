"""Parts of derivatives, each against its definition; no run is made."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from loops import for_each
from plain import space

from explorer.derivatives import complex_step, question, trust, verify
from explorer.derivatives.question import Question
from explorer.errors import BadValue, StepFailed
from explorer.results.event import KINDS

REPLAY = complex_step._Replay
EQUAL = np.testing.assert_array_equal


# ---------------------------------------------------------------- what another method says


@for_each(("size", "off", "end_off"), [
    (1.0, 0.0, 0.0), (1.0, 1e-3, 0.0), (1e-3, 1e-6, 0.0), (1.0, 0.0, 1e-2), (1e-3, 0.0, 1e-5), (1e3, 1.0, 5.0), (0.0, 0.0, 0.0), (1e-3, 1e-4, 1e-5),
])  # fmt: skip
def test_derivatives_of_two_methods_are_compared_beside_the_largest(
    monkeypatch, size, off, end_off
):
    """Those of the cost, and of the states at the end, but not of the cost there."""
    rng = np.random.default_rng(1)
    gradient, S = size * rng.uniform(-1, 1, 4), size * rng.uniform(-1, 1, (3, 4))
    gradient[1] = S[0, 2] = size  # the largest
    other, S_other = gradient.copy(), S.copy()
    other[3] += off
    S_other[1, 0] += end_off
    S_other[2] = 99.0  # the cost

    def run_of(S):
        return space(march=space(end=lambda: (None, None, None, S)), located=[])

    solution, found = run_of(S), run_of(S_other)
    monkeypatch.setattr(
        verify, "gradient_of", lambda asked, run: (0.0, other) if run is found else None
    )
    monkeypatch.setattr(verify, "sequence", lambda run: "same")
    (check,) = verify._second(solution, gradient, space(scheme="other", run=lambda: found))
    apart = max(off, end_off) / size if size else 0.0
    assert check.value == pytest.approx(apart)
    assert check.allowed == verify._AGREE
    assert check.name == "another method ('other')"
    monkeypatch.setattr(verify, "sequence", lambda run: run is found)
    assert (
        verify._second(solution, gradient, space(scheme="other", run=lambda: found))[0].value
        == np.inf
    )

    def fails():
        raise StepFailed("it stops", None)

    (check,) = verify._second(solution, gradient, space(scheme="other", run=fails))
    assert check.value == np.inf
    assert "it stops" in check.words


# ---------------------------------------------------------------- held contacts


class Held:
    """A run of two coordinates whose two contacts have speeds by formulas, asked for two columns."""

    def __init__(self, monkeypatch, held=(1, 0), size=1.0, by_rho=0.5):
        n, rows, rng = 2, 2, np.random.default_rng(3)
        self.asked, self.n = [], n
        self.S = size * rng.uniform(-1, 1, (2 * n + 1, 2))
        self.S[2, 0] = size  # the largest of the states
        self.S[4] = 1e5 * size  # the cost has its own
        self.x, self.rho = rng.normal(size=2 * n), np.array([2.0, 3.0])
        self.G, self.by_q, self.by_rho = (
            rng.normal(size=(rows, n)),
            rng.normal(size=(rows, n)),
            by_rho,
        )
        self.most = rng.uniform(1, 2, (2 * n, 2))
        states = np.stack([0.3 * self.most, -self.most])
        monkeypatch.setattr(trust, "_states", lambda solution: (None, states))

        def contacts(inp):
            self.asked.append(inp.copy())
            q, rho = inp[1 : 1 + n], inp[1 + 2 * n :]
            bias = self.by_q @ q + self.by_rho * rho[0] * np.array([1.0, 5.0]) + 7.0 * inp[0]
            return np.array([9.0, 9.0, *bias, *self.G.ravel()])

        flow = space(rows=rows, n=n, n_x=2 * n, n_phi=0, bundles=[None, contacts],
                     input=lambda rho: np.array([0.0, *np.full(2 * n, np.nan), *rho]))  # fmt: skip
        state = np.array([[7, 9, 9], [7, *held]])
        self.march = space(
            end=lambda: (0.5, self.x, None, self.S), rho=self.rho, t_last=0.5, steps=space(t=[0.0, 0.2], state=state),
            events=space(head={"step": np.array([0, 1])}),
        )  # fmt: skip
        self.question = space(cost=space(flow=flow), places=(0, -1), scheme=space(rtol=1e-8))

    def checks(self):
        return trust._held(self.question, space(march=self.march))


@for_each(("size", "held"), itertools.product((0.3, 1.0, 40.0), ((1, 0), (0, 1), (1, 1), (0, 2))))
def test_a_derivative_moves_no_contact_that_is_held(monkeypatch, size, held):
    """d/drho of its speed, beside the largest of what its velocities have had, column by column."""
    one = Held(monkeypatch, held, size)
    rows = np.flatnonzero(np.array(held) == 1)
    found = one.checks()
    if not len(rows):
        assert found == []
        return
    n, worst = one.n, 0.0
    for j, by_rho in enumerate((1.0, 0.0)):  # the second column is one of a start
        moves = one.by_q @ one.S[:n, j] + one.G @ one.S[n : 2 * n, j]
        moves += by_rho * one.by_rho * np.array([1.0, 5.0])
        worst = max(worst, (abs(moves) / (abs(one.G) @ one.most[n:, j]))[rows].max())
    assert found[0].value == pytest.approx(worst, rel=1e-4)
    assert found[0].allowed == pytest.approx(1e-6)
    one.question.scheme.rtol = 1e-3
    assert one.checks()[0].allowed == pytest.approx(1e-2)
    for j, (down, up) in enumerate(zip(one.asked[:4:2], one.asked[1:4:2], strict=True)):
        assert down[0] == up[0] == 0.5
        middle = np.array([0.5, *one.x, *one.rho])
        step = 1e-6 / max(abs(one.S[:-1, j]).max(), 1.0)
        way = np.array([0.0, *one.S[:-1, j], float(j == 0), 0.0])
        np.testing.assert_allclose((up - middle) / step, way, atol=1e-6)
        np.testing.assert_allclose((middle - down) / step, way, atol=1e-6)


@for_each("what", ["no rows", "no columns", "no step", "ended", "not finite", "nothing held"])
def test_nothing_is_said_of_what_is_not_held_at_the_end(monkeypatch, what):
    one = Held(monkeypatch, (0, 0) if what == "nothing held" else (1, 1))
    if what == "no rows":
        del one.question.cost.flow.rows
    elif what == "no columns":
        one.S = one.S[:, :0]
    elif what == "no step":
        one.march.steps.t = []
    elif what == "ended":
        one.march.events.head["step"][-1] = 2
    elif what == "not finite":
        one.S[1, 1] = np.nan
    assert one.checks() == []


# ---------------------------------------------------------------- complex steps


def replay(**given):
    """Return what stands in for a replay of a run in complex numbers."""
    return space(**{"mechanical": True, "rho": None, **given})


@for_each("seed", range(12))
@for_each("zeno", (False, True))
def test_an_impact_stops_normals_and_what_sticks(seed, zeno):
    """And friction opposes what slides: p_T = mu p_N of its own sign, against the slip."""
    rng = np.random.default_rng(seed)
    n, n_c, n_phi, rough = 3, 3, 1, [2, 0]
    rows = n_c + len(rough) + n_phi
    mu, e = np.array([0.4, 0.7]), np.array([0.3, 0.5, 0.2])
    p = np.zeros(rows)
    p[:n_c] = rng.uniform(1, 2, n_c) * (rng.random(n_c) < 0.7)
    slides = rng.random(2) < 0.5
    for f, c in enumerate(rough):
        way = rng.choice([-1.0, 1.0])
        p[n_c + f] = way * mu[f] * p[c] * (1.0 if slides[f] else 0.6)
    kept, speeds, y = (
        rng.integers(0, 2, (2, n_phi)),
        rng.normal(size=rows),
        rng.normal(size=2 * n + 1),
    )
    change, who, asked = rng.normal(size=n), 1, []

    def saddle(at, held, F, rates):
        asked.append((at, held, F, rates))
        return change, None

    flow = space(n=n, n_x=2 * n, n_c=n_c, rows=rows, n_phi=n_phi, rough=rough)
    head = {
        "guard": np.array([9, who]),
        "kind": np.array([0, KINDS.index("zeno" if zeno else "impact")]),
    }
    one = replay(flow=flow, head=head, march=space(part=lambda name: [None, p]), laws={}, kept_rows=kept, rho=[6.0],
                 e=lambda *at: e.copy(), mu=lambda *at: mu.astype(complex), speed=lambda *at: speeds.copy(), saddle=saddle)  # fmt: skip
    out = REPLAY.jump(one, 1, 0.5, y)
    ((at, held, F, rates),) = asked
    assert at == (0.5, *y[: 2 * n], 6.0)
    assert not F.any()
    sticks = [bool(p[c] > 0 and not slides[f]) for f, c in enumerate(rough)]
    sides = [0.0 if s else -np.sign(p[n_c + f]) for f, s in enumerate(sticks)]
    EQUAL(held, [*(p[:n_c] > 0), *sticks, *kept[1], *sides])
    own = np.where((np.arange(3) == who) & zeno, 0.0, e)
    np.testing.assert_allclose(rates, [*-(1 + own) * speeds[:n_c], *-speeds[n_c:]])
    y[n : 2 * n] += change
    np.testing.assert_allclose(out, y)


@for_each(("mechanical", "kind"), [(False, "impact"), (True, "released"), (True, "slips")])
def test_what_is_no_impact_leaves_velocities(mechanical, kind):
    y = np.arange(1.0, 4.0)
    one = replay(flow=space(n=1, n_x=2), head={"guard": [1], "kind": [KINDS.index(kind)]}, mechanical=mechanical, rho=[5.0],
                 resets=[None, lambda *at: np.array(at)[1:3] * 10])  # fmt: skip
    assert REPLAY.jump(one, 0, 0.5, y).tolist() == (
        [1.0, 2.0, 3.0] if mechanical else [10.0, 20.0, 3.0]
    )


# ---------------------------------------------------------------- runs of a question


@for_each(
    ("given", "places", "x0", "wrt", "rho"),
    itertools.product((None, "start"), ((0, 1), (0, -1)), (None, 9.0), (True, False), (None, 5.0)),
)
def test_a_run_begins_where_it_is_told_or_the_question_says(given, places, x0, wrt, rho):
    """The scheme knows the model's own start, and the seeds of its parameters there."""
    asked = []

    def run(flow, rho, t_end, **known):
        asked.append((flow, rho, t_end, known))
        return space(status=space(ok=True))

    one = space(rho=4.0, columns=places, given=given, start=lambda rho: (10 * rho, None), t_eval="t", seeds=lambda: "seeds", t_end=2.0,
                cost=space(flow="flow"), scheme=space(run=run))  # fmt: skip
    Question.run(one, rho, wrt, x0)
    values = 4.0 if rho is None else rho
    begins = x0 if x0 is not None or given is None else 10 * values
    seeds = {"seeds": "seeds"} if wrt and (given or -1 in places) else {}
    known = {"t_eval": "t", "x0": begins, "wrt": places if wrt else (), **seeds}
    assert asked == [("flow", values, 2.0, known)]
    Question.run(one, rho, wrt, x0, events=True)
    assert asked[1][3] == {**known, "events_wrt": places}


@for_each(("wrt", "events", "jumps", "driven", "found"), itertools.product((False, True), repeat=5))
def test_a_run_with_derivatives_is_looked_through(monkeypatch, wrt, events, jumps, driven, found):
    """For contacts held at the start, what is captured, and jumps that are no events."""
    said, runs = [], []
    for name in ("check_held_start", "check_captures", "check_jumps"):
        monkeypatch.setattr(question, name, lambda *given, name=name: said.append((name, given[1])))
    monkeypatch.setattr(question, "unexplained", lambda march: found)
    monkeypatch.setattr(question, "EventDriven", Driven if driven else Other)
    one = space(rho=4.0, columns=(0,), given=None, t_eval=None, seeds=None, t_end=2.0, cost=space(flow=None), system=space(name="s"),
                scheme=Driven(lambda *_, **known: space(status=space(ok=True), march=None, wrt=known["wrt"])), run=lambda: runs.append("again") or "again")  # fmt: skip
    run = Question.run(one, None, wrt, None, jumps, events)
    looks = driven and (wrt or events)
    captures = [("check_captures", run if wrt else "again")] * found
    assert said == (
        [("check_held_start", run), *captures, *[("check_jumps", run)] * (not jumps)]
        if looks
        else []
    )
    assert runs == ["again"] * (looks and found and not wrt)
    one.scheme = Driven(lambda *_, **known: space(status=space(ok=False, message="it stops")))
    with pytest.raises(StepFailed, match="'s': it stops"):
        Question.run(one)


class Driven:
    def __init__(self, run):
        self.run = run


class Other:
    pass


# ---------------------------------------------------------------- costs


@for_each(("weighted", "event"), itertools.product((False, True), (False, True)))
def test_a_cost_has_the_derivative_of_its_end_and_of_what_runs(monkeypatch, weighted, event):
    """w_x S + S_z + w_rho, and at an event what its time does: (z' + w_t + w_x x') dt/drho."""
    rng, n, p = np.random.default_rng(3), 2, 3
    x, w_x, (z, w, w_t) = *rng.normal(size=(2, n)), rng.normal(size=3)
    S, rates, dt, w_rho = (
        rng.normal(size=(n + 1, p)),
        rng.normal(size=n + 1),
        rng.normal(size=p),
        rng.normal(size=4),
    )

    def terminal(t, at, rho):
        assert (t, at is x, rho) == (0.5, True, "rho")
        return w, w_t, w_x, w_rho

    one = space(
        cost=space(flow=space(n_x=n), cost=space(w="w" if weighted else None), terminal=terminal),
        rho="rho",
        active=lambda t: [2, -1, 0],
    )
    one.at_the_end = lambda given, t: Question.at_the_end(one, given, t)
    monkeypatch.setattr(
        question,
        "_final",
        lambda *_: (0.5, x, z, S, rates if event else None, dt if event else None),
    )
    value, gradient = question.gradient_of(one, None)
    assert question.cost_of(one, None) == pytest.approx(z + w)
    if not weighted and not event:
        assert value == z
        EQUAL(gradient, S[n])
        return
    expected = S[n] + w_x @ S[:n] + [w_rho[2], 0.0, w_rho[0]]
    if event:
        expected = expected + (rates[n] + w_t + w_x @ rates[:n]) * dt
    assert value == pytest.approx(z + w)
    np.testing.assert_allclose(gradient, expected)


@for_each(("until", "names", "end", "told"), [
    (None, "ab", 2.0, None), (None, "ab", 1.5, 1), (None, "", 1.5, None), (None, "ab", 1.6, None), (None, "ab", None, None), (("a", 1), "aba", 2.0, 0),
    (("a", 2), "aba", 2.0, 2), (("b", 1), "aba", 2.0, 1), (("b", 2), "aba", 2.0, "error"), (None, "ab", 2.0 - 1e-12, None), (None, "ab", 1.5 + 1e-12, 1),
])  # fmt: skip
def test_a_cost_ends_with_the_event_that_is_named_or_ends_the_run(until, names, end, told):
    """The last event is at 1.5 s of 2 s."""
    located = [
        space(contact=name, t=1.5 - 0.1 * k)
        for k, name in zip(range(len(names))[::-1], names, strict=True)
    ]
    run = space(
        located=located,
        t=[0.0, 2.0],
        march=None if end is None else space(t_last=end),
    )
    one = space(until=until, t_end=2.0)
    if told == "error":
        with pytest.raises(BadValue, match="is event 2 of 'b', but only 1 happen up to t = 2 s"):
            Question.last_place(one, run)
        return
    assert Question.last_place(one, run) == told
    one.last_place = lambda given: told
    assert Question.last(one, run) is (None if told is None else located[told])


@for_each(("places", "values", "driven", "told"), [
    ((1, -1), (), False, (1, -1)), ((1, 0, -1), (2, -1, -1), True, (10, 0, -1)), ((0, 2), (0, 1), True, (3, 8)),
])  # fmt: skip
def test_columns_of_inputs_come_behind_the_parameters(places, values, driven, told):
    """One block of all parameters for each number of a value."""
    one = space(places=places, values=values, rho=np.array([5.0, 6.0, 7.0]))
    assert Question.columns.fget(one) == told


def test_a_column_has_the_value_of_its_parameter_input_or_start():
    inputs = {"b": space(values=[20.0, 21.0, 22.0])}
    one = space(places=(0, 1, 1, -1, 1), values=(-1, 2, 0, -1, -1), rho=np.array([5.0, 6.0]), wrt=("a", "b[2]", "b[0]", "y", "b"), start=lambda: (np.array([1.0, 3.0]), None),
                cost=space(flow=space(states=[space(name="x"), space(name="y")])), system=space(drive=space(inputs=inputs), parameters={"a": None, "b": None}))  # fmt: skip
    assert [Question.value(one, j) for j in range(5)] == [5.0, 22.0, 20.0, 3.0, 6.0]
    one.values = ()
    assert [Question.value(one, j) for j in range(5)] == [5.0, 6.0, 6.0, 3.0, 6.0]
    one.values, one.system.drive = (-1, 2, 0, -1, -1), None
    assert Question.value(one, 1) == 6.0


# ---------------------------------------------------------------- growth of errors


@for_each(
    ("events", "last", "zero"),
    [(0, None, False), (2, None, False), (2, 1, False), (2, 1, True), (3, 0, False)],
)
def test_an_error_grows_by_the_adjoint_beside_that_at_the_end(events, last, zero):
    """Of the start, of both sides of each event, and of the end, which may be that before an event."""
    rng, n = np.random.default_rng(events), 2
    mu, states = rng.normal(size=(2 * events + 2, n + 1)), rng.normal(size=(2, events + 1, n + 1))
    begin, end = rng.normal(size=(2, n + 4))
    march = space(flow=space(n_x=n), steps=space(y=np.array([begin, end * 9])), y=end,
                  part=lambda name: states[int(name == "x_plus")])  # fmt: skip
    if zero:
        mu[-1] = 0.0
    expected = [abs(mu[0]) @ abs(begin[: n + 1])]
    for k in range(events):
        expected += [abs(mu[1 + 2 * k]) @ abs(states[0, k]), abs(mu[2 + 2 * k]) @ abs(states[1, k])]
    final = end[: n + 1] if last is None else states[0, last]
    expected.append(abs(mu[-1]) @ abs(final))
    got = trust._growth_of_adjoint(space(last_place=lambda run: last), space(march=march), mu)
    assert got == pytest.approx(0.0 if zero else max(expected) / expected[-1])
