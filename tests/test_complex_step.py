"""Complex steps through events, each part by itself: against what defines it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from loops import for_each
from plain import space

from explorer.derivatives import complex_step
from explorer.errors import NotApplicable
from explorer.results.event import KINDS


class Replayed(complex_step._Replay):
    """y' = rho; what an event does is told by its number k."""

    def __init__(self, h, events, how, t_end, drive=None, intervals=None, mechanical=False):
        state = np.zeros((len(h), 3))
        state[:, -1] = intervals or 0
        self.mechanical, self.flow, self.asked = mechanical, space(changes=()), []
        t = np.cumsum([0.0, *h[:-1]])[: len(h)]
        self.march = space(steps=space(t=t, h=np.array(h), state=state))
        self.head = np.array([*zip(events, how, strict=True)], [("step", int), ("how", int)])
        self.question = space(t_end=t_end, system=space(drive=drive))

    def step(self, t, y, h, mode):
        self.asked.append(("step", t, h))
        return y + h * self.rho[0]

    def land(self, k, t, y, h, mode):
        self.asked.append(("land", t, h))
        return h - 0.1j * (k + 1), y + (h - 0.1j * (k + 1)) * self.rho[0]

    def at_once(self, k, t, y):
        return t + 0.01j * (k + 1), y + 100 * (k + 1)

    def jump(self, k, t, y):
        return 2 * y + k

    def kept(self, t, y, mode):
        return y + 7


@for_each(("last", "mechanical"), [(None, False), (None, True), (0, False), (1, False), (2, True)])
def test_a_run_is_repeated_in_complex_numbers_from_event_to_event(last, mechanical):
    """Events at the start, at the end of the first step, and one more at once behind that."""
    one = Replayed([1.0, 1.0, 1.0], [0, 1, 1], [-1] * 3, 3.5, mechanical=mechanical)
    sides, times, y, t = one.go(np.array([[3.0]]), np.array([2.0 + 1j]), last)
    y0 = 2 + 1j + 7 * mechanical + 100
    y1 = 2 * y0 + (1 - 0.2j) * 3
    y2 = 2 * y1 + 1 + 300
    wanted = [(0.01j, y0), (1 - 0.19j, y1), (1 - 0.16j, y2)]
    for k, (at, before) in enumerate(wanted[: 3 if last is None else last + 1]):
        assert times[k] == pytest.approx(at)
        assert sides[k][0] == pytest.approx(np.array([before]))
        assert sides[k][1] == pytest.approx(np.array([2 * before + k]))
    assert len(sides) == len(times) == (3 if last is None else last + 1)
    if last is None:
        assert y == pytest.approx(np.array([2 * y2 + 2 + 3 + 3 * (3.5 - (2 - 0.16j))]))
        assert t == pytest.approx(3.5)
        assert [name for name, *_ in one.asked] == ["land", "step", "step"]
    else:
        assert y is sides[-1][0]
        assert t == times[-1]
    none = Replayed([], [], [], 3.5, mechanical=mechanical)
    assert none.go(np.array([[3.0]]), np.array([2.0]), None)[1:] == ([], pytest.approx(np.array([2.0])), 0)  # fmt: skip


@for_each("driven", [True, False])
def test_a_break_of_an_input_has_a_real_time(driven):
    """Steps end at 1 s and at the break, 2.2 s; from there on rho is 5. An event at it lands there."""
    how = [complex_step.DRIVEN] if driven else []
    one = Replayed([1.0, 1.2, 1.0], [2] if driven else [], how, 4.0, space(breaks=[2.2], values=[1, 2]), [0, 0, 1])  # fmt: skip
    sides, times, y, t = one.go(np.array([[3.0], [5.0]]), np.array([0.0]), None)
    if not driven:
        assert one.asked == [("step", 0, 1), ("step", 1, pytest.approx(1.2)), ("step", pytest.approx(2.2), pytest.approx(1.8))]  # fmt: skip
        assert (y, t) == (pytest.approx(np.array([6.6 + 9.0])), pytest.approx(4.0))
        return
    assert one.asked[1] == ("land", 1, pytest.approx(1.2))
    assert times == [pytest.approx(2.2 - 0.1j)]
    assert sides[0][0] == pytest.approx(np.array([3 + 3 * (1.2 - 0.1j)]))
    assert y == pytest.approx(2 * sides[0][0] + 5 * (1.8 + 0.1j))
    assert one.rho.tolist() == [5.0]
    assert [one.interval(i) for i in range(3)] == [0, 0, 1]
    one.question.system.drive = None
    assert one.interval(2) == 0


@for_each("intervals", [(0, 1, 1), (0, 0, 1), (1, 2, 2), (0, 1, 2)])
def test_a_step_that_ends_at_a_break_is_as_long_as_its_time_says(intervals):
    """And not as it was: 0.3, 0.3 and 0.39, the last one up to 1 s."""
    breaks, rho = [0.31, 0.62, 0.9], [3.0, 5.0, 7.0]
    one = Replayed([0.3, 0.3, 0.39], [], [], 1.0, space(breaks=breaks, values=[1] * 4), [*intervals])  # fmt: skip
    *_, y, end = one.go(np.array(rho)[:, None], np.array([0.0]), None)
    t, expected, moved = 0.0, [], 0.0
    for i in range(3):
        h = 1.0 - t if i == 2 else 0.3
        if i < 2 and intervals[i + 1] > intervals[i]:
            h = breaks[intervals[i]] - t
        expected.append(("step", pytest.approx(t), pytest.approx(h)))
        t, moved = t + h, moved + h * rho[intervals[i]]
    assert one.asked == expected
    assert (y, end) == (pytest.approx(np.array([moved])), pytest.approx(1.0))


class Mechanism(complex_step._Replay):
    """Two contacts, the second with friction, and two constraints, between four coordinates.

    All is linear in (t, q, v): values and rates of the four, gap' = G v + b and phi' likewise.
    """

    n, rows = 4, 5

    def __init__(self, seed=0, guards=(), kinds=(), **head):
        rng = np.random.default_rng(seed)
        n, rows = self.n, self.rows
        self.rows_of_G = rng.normal(size=(rows, n))
        self.numbers = {name: rng.normal(size=size) for name, size in
                        (("F", n), ("gamma", rows), ("b", rows), ("zero", rows))}  # fmt: skip
        M = rng.normal(size=(n, n))
        self.M = M @ M.T + np.eye(n)
        self.mechanical, self.rho, self.laws = True, [0.5], {}
        self.flow = space(n=n, n_x=2 * n, n_c=2, n_phi=2, rows=rows, rough=(1,))
        self.mass, self.force = (lambda *at: self.M.ravel()), (lambda *at: self.numbers["F"])
        self.G, self.gamma = (lambda *at: self.rows_of_G.ravel()), (lambda *at: self.numbers["gamma"])  # fmt: skip
        self.mu, self.mu_s, self.e = (lambda *at: [0.3]), (lambda *at: [0.4]), (lambda *at: np.array([0.2, 0.6]))  # fmt: skip
        count = max(len(guards), 1)
        rows = {"guard": guards or [0], "kind": [KINDS.index(one) for one in kinds] or [1]} | head
        self.head = {k: np.resize(v, count) for k, v in ({"D": [1.0], "how": [0]} | rows).items()}

    def values(self, t, q):
        return self.rows_of_G @ q + self.numbers["b"] * t + self.numbers["zero"]

    def gap(self, t, *at):
        return self.values(t, np.array(at[: self.n]))[:2]

    def phi(self, t, *at):
        return self.values(t, np.array(at[: self.n]))[3:]

    def speed(self, t, *at):
        return self.rows_of_G @ np.array(at[self.n : 2 * self.n]) + self.numbers["b"]

    def pull(self, held):
        """Return the directions of the forces of all rows."""
        pull = self.rows_of_G.copy()
        pull[1] -= held[5] * 0.3 * self.rows_of_G[2]
        return pull


HELD = [(1, 1, 1, 1, 1, 0), (0, 1, 0, 1, 0, -1), (0, 1, 0, 0, 1, 1), (1, 0, 0, 0, 0, 0), (0,) * 6]


@for_each(("seed", "held"), [(seed, held) for seed in range(2) for held in HELD if sum(held[:5]) < 5])  # fmt: skip
def test_forces_of_a_replay_keep_what_is_held(seed, held):
    """M a = F + G' lam, G a = -gamma over the rows held, and friction opposes sliding."""
    one, held = Mechanism(seed), np.array(held)
    y = np.arange(9.0)
    a, lam = one.forces((0.1, *y[:8], 0.5), np.append(7, held))
    on = np.flatnonzero(held[:5])
    np.testing.assert_allclose(one.M @ a, one.numbers["F"] + one.pull(held).T @ lam, atol=1e-11)
    np.testing.assert_allclose((one.rows_of_G @ a + one.numbers["gamma"])[on], 0.0, atol=1e-11)
    assert np.flatnonzero(lam).tolist() == on.tolist()
    one.g = lambda *at: [sum(at[14:18]) + 100 * sum(at[18:])]  # of the accelerations and the forces
    rate = one.rate(0.1, y, np.append(7, held))
    np.testing.assert_allclose(rate, [*y[4:8], *a, sum(a) + 100 * sum(lam)], rtol=1e-12)
    one.g, one.mechanical = None, False
    one.flows = [None, lambda *at: np.array(at[1:9]) + at[0] + at[9]]
    assert one.rate(0.1, y, np.array([1])).tolist() == pytest.approx([*(y[:8] + 0.6), 0.0])
    one.flow.rows = 0
    a, lam = one.forces((0.1, *y[:8], 0.5), np.zeros(1))
    np.testing.assert_allclose(one.M @ a, one.numbers["F"], rtol=1e-12)
    assert len(lam) == 0


@for_each("constraints", [(1, 1), (1, 0), (0, 1), None])
def test_a_replay_puts_a_state_on_the_constraints_alone(constraints):
    one, y = Mechanism(), np.arange(9.0) + 1j
    if constraints is None:
        one.flow.n_phi = 0
        assert one.kept(0.1, y, np.zeros(7)) is y
        return
    found = one.kept(0.1, y, np.array([7, 1, 1, 1, *constraints, 1]))
    held = np.array([False, False, False, *constraints]).astype(bool)
    np.testing.assert_allclose(one.values(0.1, found[:4])[held], 0.0, atol=1e-11)
    np.testing.assert_allclose(one.speed(0.1, *found)[held], 0.0, atol=1e-11)
    for part in (slice(0, 4), slice(4, 8)):
        moved, along = one.M @ (found - y)[part], one.rows_of_G[held].T
        np.testing.assert_allclose(along @ np.linalg.lstsq(along, moved, rcond=None)[0], moved, atol=1e-10)  # fmt: skip
    assert found[8] == y[8]


def test_a_replayed_step_is_that_of_its_tableau():
    """Kutta's third order: y' = y grows by 1 + h + h^2 / 2 + h^3 / 6, and t^2 is integrated exactly."""
    one, h = Mechanism(), 0.3 + 0.1j
    A = np.array([[0, 0, 0], [0.5, 0, 0], [-1, 2, 0], [1 / 6, 2 / 3, 1 / 6]])
    one.march = space(tableau=space(A=A, c=np.array([0, 0.5, 1]), stages=3))
    one.rate = lambda t, y, mode: np.array([y[0], 3 * t * t * mode[0]])
    one.kept = lambda t, y, mode: np.append(y, t)
    found = one.step(0.2, np.array([2.0, 5.0]), h, np.array([4.0]))
    grown = 2 * (1 + h + h * h / 2 + h**3 / 6)
    assert found == pytest.approx(np.array([grown, 5 + 4 * ((0.2 + h) ** 3 - 0.008), 0.2 + h]))


@for_each(("who", "kind", "mode", "told"), [
    (0, "impact", (0, 1, 1, 1, 1, 0), "gap"), (0, "released", (1, 1, 0, 1, 1, 1), "lam"), (1, "closed", (1, 0, 0, 1, 0, 0), "gap"),
    (1, "slips", (0, 1, 1, 1, 0, 0), "cone"), (1, "sticks", (0, 1, 0, 1, 1, 1), "slip"), (1, "turns", (0, 1, 0, 0, 1, -1), "slip"),
    (3, "event", (0, 1, 0, 1, 1, 1), "when"),
])  # fmt: skip
def test_the_guard_of_a_replay_is_that_of_the_kind_of_its_event(who, kind, mode, told):
    """A gap, a force of what is held, mu_s lam_N - |lam_T|, a sliding speed, or a formula."""
    one, y = Mechanism(1, [9, who], ["event", kind]), np.arange(9.0)
    one.whens = {1: lambda *at: [at[0] + at[3] + sum(at[10:])]}
    at = (0.1, *y[:8], 0.5)
    lam = one.forces(at, np.array([7, *mode]))[1]
    told = {
        "gap": lambda: one.gap(*at)[who], "lam": lambda: lam[who], "cone": lambda: 0.4 * lam[1] - abs(lam[2]),
        "slip": lambda: mode[5] * one.speed(*at)[2], "when": lambda: 0.1 + y[2] + sum(lam),
    }[told]()  # fmt: skip
    assert one.guard(1, 0.1, y, np.array([7, *mode])) == pytest.approx(told)
    one.mechanical, one.guards = False, {who: lambda *at: [at[0] + 10 * at[8] + 100 * at[9]]}
    assert one.guard(1, 0.1, y, np.array([7])) == pytest.approx(0.1 + 10 * y[7] + 50)


@for_each("how", [0, complex_step.DRIVEN, complex_step.CHAINED])
def test_the_imaginary_time_of_an_event_is_a_zero_of_its_guard(how):
    """Of r = 3 t + 2 y along y' = 5 that is -Im r / 13; what is chained takes another's time."""
    one = Mechanism(0, [0, 0], ["impact"] * 2, D=[99.0, 13.0], how=[7, how])
    modes = []
    one.held_rows = np.array([[7, 7], [1, 0]])
    one.march = space(part=lambda name: {"f_minus": np.array([[9.0], [5.0]])}[name])
    one.step = lambda t, y, h, mode: y + 5 * h
    one.guard = lambda k, t, y, mode: modes.append(mode) or 3 * t + 2 * y[0]
    t, y = 0.3 + 0.2j, np.array([1.0 - 0.5j])
    h, end = one.land(1, t, y, 0.7 + 0j, None)
    late, moved = one.at_once(1, t, y)
    assert end == pytest.approx(y + 5 * h)
    if how == complex_step.DRIVEN:
        assert h == pytest.approx(0.7)
    else:
        assert h.real == pytest.approx(0.7)
        assert (3 * (t + h) + 2 * end[0]).imag == pytest.approx(0.0)
    if how in (complex_step.DRIVEN, complex_step.CHAINED):
        assert (late, moved) == (t, y)
        return
    assert late == pytest.approx(0.3 + (0.2 - (3 * 0.2 - 2 * 0.5) / 13) * 1j)
    assert (3 * late + 2 * moved[0]).imag == pytest.approx(0.0)
    assert modes[-1].tolist() == [0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]


@for_each(("kind", "who", "p", "kept", "held"), [
    ("impact", 0, (2, 0, 0), (1, 1), (1, 0, 0, 1, 1, 0)), ("impact", 1, (1, 2, 0.1), (1, 0), (1, 1, 1, 1, 0, 0)), ("impact", 1, (0, 2, -0.6), (0, 1), (0, 1, 0, 0, 1, 1)),
    ("closed", 1, (0, 2, 0.6), (0, 1), (0, 1, 0, 0, 1, -1)), ("zeno", 0, (1, 0, 0), (1, 1), (1, 0, 0, 1, 1, 0)), ("zeno", 3, (1, 1, 0), (0, 0), (1, 1, 1, 0, 0, 0)),
])  # fmt: skip
def test_a_replayed_impact_gives_back_speeds_by_the_impulses_that_act(kind, who, p, kept, held):
    """Closed ones come back by e, or not at all where impacts pile up; inside its cone one sticks."""
    one = Mechanism(3, [9, who], ["event", kind])
    one.march = space(part=lambda name: {"p": np.array([[9.0] * 3, p])}[name])
    one.kept_rows = np.array([[7, 7], kept])
    y, held = np.arange(9.0) - 4, np.array(held)
    found = one.jump(1, 0.1, y)
    before, after = one.speed(0.1, *y), one.speed(0.1, *found)
    e = np.array([0.2, 0.6, 0, 0, 0])
    if kind == "zeno" and who == 0:
        e[0] = 0.0
    on = np.flatnonzero(held[:5])
    np.testing.assert_allclose(after[on], (-e * before)[on], atol=1e-10)
    moved, along = one.M @ (found - y)[4:8], one.pull(held)[on].T
    np.testing.assert_allclose(along @ np.linalg.lstsq(along, moved, rcond=None)[0], moved, atol=1e-10)  # fmt: skip
    assert found[[0, 1, 2, 3, 8]].tolist() == y[[0, 1, 2, 3, 8]].tolist()
    one.head["kind"][1] = KINDS.index("sticks")
    assert one.jump(1, 0.1, y) is y
    one.mechanical, one.resets = False, {who: lambda *at: np.array(at[1:9]) * at[0] + at[9]}
    assert one.jump(1, 0.1, y) == pytest.approx(np.append(0.1 * y[:8] + 0.5, y[8]))


@for_each(("constraints", "depends"), [((1, 0), 1), ((0, 1), 1), ((1, 1), 2), ((0, 0), 0)])
def test_a_replayed_law_of_velocities_names_some_and_keeps_others(constraints, depends):
    """So many of the others depend on them as constraints hold, which hold behind the impact."""
    one, y = Mechanism(4, [9, 1], ["event", "impact"]), np.arange(9.0) - 4
    one.flow.resets = np.array([[1, 0, 0, 0, 0], [1, 0, 1, 0, 0]])  # of the second: one coordinate
    one.march = space(part=lambda name: np.ones((2, 3)))
    one.kept_rows, one.laws = np.array([[7, 7], constraints]), {1: lambda *at: [2 * at[6] + at[0]]}
    found = one.jump(1, 0.1, y)
    on = 3 + np.flatnonzero(constraints)
    np.testing.assert_allclose(one.speed(0.1, *found)[on], 0.0, atol=1e-11)
    assert found[5] == pytest.approx(2 * y[5] + 0.1)
    assert np.isclose(found[[4, 6, 7]], y[[4, 6, 7]], rtol=1e-9).sum() == 3 - depends
    assert found[[0, 1, 2, 3, 8]].tolist() == y[[0, 1, 2, 3, 8]].tolist()


def complex_question(monkeypatch, which=None, part=1.0, code=0, wrong=0.0):
    """Return a question of a run whose state is x = a t + 2 b, its event at t = 1 + 3 a, its cost 5 x_end."""
    eps, a, b = complex_step.EPS, 0.5, 0.25
    rows = {
        0: (1.0 - 3.0 * 7.0, 1.0 - 3.0 * 9.0),
        1: (2.0, 2.0),
    }  # moved less the motion of the event
    salts = [space(S_minus=np.array([[rows[j][0] for j in (0, 1)]]), S_plus=np.array([[rows[j][1] + wrong * j for j in (0, 1)]]))]  # fmt: skip
    march = space(accumulation=lambda k: ((k, part),), part=lambda name: {"f_minus": np.array([[7.0]]), "f_plus": np.array([[9.0]])}[name])  # fmt: skip

    @dataclasses.dataclass
    class Direct:
        solution: object
        cost_gradient: np.ndarray
        residuals: dict
        method: str = "direct"

        def saltation(self, k):
            return salts[k]

    direct = Direct(space(march=march), np.array([5.0 * 1.0 * 4.0, 10.0]), {"duality": 7.0})
    asked = []

    class Replay:
        def __init__(self, question, solution):
            assert solution is direct.solution
            self.rho = None

        def go(self, rhos, y0, last):
            asked.append((rhos.tolist(), y0.tolist(), last))
            self.rho = rhos[0]
            p, q = rhos[0]
            hit = 1 + 3 * p
            sides = [[p * 1.0 + 2 * q + y0[:1], p * 1.0 + 2 * q + y0[:1]]]
            return sides, [hit], np.array([4.0 * p + 2 * q, 0.0]), 4.0

    monkeypatch.setattr(complex_step, "solve", lambda question: direct)
    monkeypatch.setattr(complex_step, "_Replay", Replay)
    monkeypatch.setattr(complex_step, "_perturbed", lambda question, j: np.array([[a + 1j * eps * (j == 0), b + 1j * eps * (j == 1)]]))  # fmt: skip
    monkeypatch.setattr(complex_step, "_terminal", lambda question, t, x, rho: 5 * x[0])
    question = space(marches=lambda words: space(tableau=space(code=code)), last_place=lambda solution: which, cost=space(flow=space(n_x=1)),
                     wrt=("a", "b"), seeds=lambda: np.zeros((1, 2)), start=lambda: (np.array([0.0]), None))  # fmt: skip
    return question, asked


def test_a_gradient_is_that_of_runs_with_a_small_imaginary_part(monkeypatch):
    """And so are the limits at its events, beside those of the direct method."""
    question, asked = complex_question(monkeypatch)
    found = complex_step.solve_complex(question)
    assert found.method == "complex_step"
    assert found.cost_gradient == pytest.approx([20.0, 10.0])
    assert found.residuals == {"duality": 7.0, "direct": pytest.approx(0.0, abs=1e-12)}
    assert [last for *_, last in asked] == [None, None]
    assert [y0 for _, y0, _ in asked] == [[0j, 0j]] * 2
    question, _ = complex_question(monkeypatch, which=0, wrong=0.3)
    assert complex_step.solve_complex(question).residuals["direct"] == pytest.approx(0.3 / 3.3)


@for_each(("given", "why"), [({"code": 2}, "needs explicit Runge-Kutta steps"), ({"which": 3, "part": 0.5}, "infinitely many precede"), ({"code": 1}, None), ({"which": 3}, None)])  # fmt: skip
def test_complex_steps_need_explicit_steps_and_finitely_many_events(monkeypatch, given, why):
    question, asked = complex_question(monkeypatch, **given)
    if why is None:
        complex_step.solve_complex(question)
        assert asked[0][2] == given.get("which")
        return
    with pytest.raises(NotApplicable, match=why):
        complex_step.solve_complex(question)


@for_each("angle", [0.3, 2.0, -2.5, -0.7])
def test_an_angle_of_complex_numbers_turns_with_their_imaginary_parts(angle):
    x, y, h = 2 * np.cos(angle), 2 * np.sin(angle), 1e-6
    for dx, dy in ((1.0, 0.0), (0.0, 1.0), (0.6, -0.8)):
        z = complex_step._angle(y + 1j * dy, x + 1j * dx)
        moved = [np.arctan2(y + s * h * dy, x + s * h * dx) for s in (-1, 1)]
        assert z == pytest.approx(complex(angle, (moved[1] - moved[0]) / (2 * h)), rel=1e-6)
