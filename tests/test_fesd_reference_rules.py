"""The equations of an interval by themselves, without a compiled march, and how solutions are put together."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from loops import for_each
from plain import put, space
from test_study_branches import bare

import explorer as ex
from explorer.errors import BadValue, NotApplicable
from explorer.results.solution import Solution
from explorer.study import fesd_reference
from explorer.study.fesd_reference import (  # fmt: skip
    _ENOUGH,
    _HEAVY,
    _LEFT,
    _LIGHT,
    FesdReference,
    _Interval,
    _solved,
)

function = inspect.unwrap(fesd_reference)
A = np.array([[0.3, -0.1, 0.05], [0.6, 0.4, -0.2], [0.1, 0.2, 0.3]])
B, C = np.array([0.55, 0.25, 0.1]), np.array([0.2, 0.6, 0.9])  # the end is no stage
AT, WHERE = (
    np.array([[0.25, 0.1, 0.2], [0.7, 0.5, -0.1], [0.2, 0.4, 0.6]]),
    np.array([0.4, 0.7, 1.1]),
)
X0, T0, SPAN = np.array([0.2, -0.3]), 0.13, 0.2


def flow(t, x, a):
    """Return f, f_x, f_alpha and f_t of two states and one surface."""
    (p, q), (a,) = x, a
    f = [q * p + t * a, -2 * p + a**2 + t * q]
    return np.array([*f, q, p, -2.0, t, t, 2 * a, a, q])


def surface(t, x, a):
    p, q = x
    return np.array([p - 3 * q + t * p, 1 + t, -3.0, p])


class March:
    """A march over an interval whose functions are Python's."""

    compiled = space(n_x=2, n_c=1, flow=flow, switching=surface)
    method = space(stages=3, A=A, b=B, c=C, at=AT, where=WHERE)

    def along(self, function, t, x, a, begin):
        assert begin.tolist() == [T0] * len(t)
        return np.array([function(*row) for row in zip(t, x, a, strict=True)])

    def rates(self, t, x, a):
        return np.array([flow(*row)[:2] for row in zip(t, x, a, strict=True)])

    def functions(self, t, x):
        c = surface(t[0], x[0], None)
        return c[None, :1], c[None, None, 1:3]


def interval(count, left=None, seed=5):
    one = _Interval(March(), X0, T0, SPAN, count, left)
    rng = np.random.default_rng(seed)
    one.z = one.z * rng.uniform(0.8, 1.25, len(one.z)) + rng.uniform(0.01, 0.03, len(one.z))
    return one


def by_hand(one, sigma):
    """Return the residuals of the equations, element by element and stage by stage."""
    K, alpha, lam_n, lam_p, h = (part.tolist() for part in one.split(one.z))
    balance, slopes, pairs = [], [], [[], []]
    x, t = X0, T0
    ends = [max(-surface(T0, X0, None)[0], 0.0), max(surface(T0, X0, None)[0], 0.0)]
    for e, step in enumerate(h):
        k = np.array(K[e])
        for j in range(3):
            f = flow(t + C[j] * step, x + step * A[j] @ k, alpha[e][j])[:2]
            slopes += [*(_HEAVY * (f - k[j]))]
            c = surface(t + WHERE[j] * step, x + step * AT[j] @ k, None)[0]
            balance.append(_HEAVY * (c - lam_p[e][j][0] + lam_n[e][j][0]) / one.scale[0])
        for side, (lam, end) in enumerate(zip((lam_n, lam_p), ends, strict=True)):
            for a in (end, *(row[0] for row in lam[e])):
                for j in range(3):
                    b = alpha[e][j][0] if side == 0 else 1 - alpha[e][j][0]
                    a_ = a / one.scale[0]
                    pairs[side].append(a_ + b - np.sqrt(a_**2 + b**2 + 2 * sigma**2))
        ends = [lam_n[e][-1][0], lam_p[e][-1][0]]
        x, t = x + step * B @ k, t + step
    shares = []
    for e in range(len(h)):
        each = []
        for lam, own in ((lam_n, [a[0] for a in alpha[e]]), (lam_p, [1 - a[0] for a in alpha[e]])):
            p, q = sum(row[0] for row in lam[e]) / one.scale[0], sum(own)
            each.append((p / (p + q), q / (p + q)))
        shares.append(each)
    even = []
    for e in range(len(h) - 1):
        eta = np.prod([p * p2 + q * q2 for (p, q), (p2, q2) in zip(shares[e], shares[e + 1], strict=True)])  # fmt: skip
        even.append(_LIGHT * (h[e + 1] - h[e]) * eta / SPAN)
    return np.array([*slopes, *balance, *pairs[0], *pairs[1], *even, _HEAVY * (sum(h) / SPAN - 1)])


@for_each("count", [1, 2, 3])
@for_each("sigma", [0.7, 0.05])
def test_an_interval_has_the_equations_of_its_stages(count, sigma):
    one = interval(count, 0.3 if count > 1 else None)
    found, none = one.equations(one.z, sigma, False)
    np.testing.assert_allclose(found, by_hand(one, sigma), rtol=1e-12, atol=1e-13)
    assert np.size(none) == 0


@for_each("count", [1, 2, 3])
def test_the_derivatives_of_the_equations_are_difference_quotients(count):
    """But for step equilibration, whose indicator is held."""
    one = interval(count, 0.3 if count > 1 else None)
    z = one.z.copy()
    F, J = one.equations(z, 0.3, True)
    indicator = one._indicator(*one.split(z)[1:4])
    twins = []
    for d in 1e-6 * np.eye(len(z)):
        one.z = z + d
        more = one.equations(one.z, 0.3, False)[0]
        one.z = z - d
        twins.append((more - one.equations(one.z, 0.3, False)[0]) / 2e-6)
    twins = np.transpose(twins)
    held = np.zeros((count - 1, len(z)))
    for e in range(count - 1):
        held[e, len(z) - count + e] = -_LIGHT * indicator[e] / SPAN
        held[e, len(z) - count + e + 1] = _LIGHT * indicator[e] / SPAN
    rows = len(F) - count
    np.testing.assert_allclose(J[:rows], twins[:rows], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(J[rows:-1], held, atol=1e-12)
    np.testing.assert_allclose(J[-1], twins[-1], rtol=1e-6, atol=1e-6)


def test_states_between_elements_are_sums_of_their_steps():
    one = interval(3, 0.3)
    K, alpha, _, _, h = one.split(one.z)
    x, shares, lengths = one.parts()
    assert x[0].tolist() == X0.tolist()
    for e in range(3):
        assert x[e + 1] == pytest.approx(
            x[e] + h[e] * sum(b * k for b, k in zip(B, K[e], strict=True))
        )
    np.testing.assert_array_equal(shares, alpha)
    np.testing.assert_array_equal(lengths, h)


@for_each("count", [1, 2, 4])
@for_each("below", [None, ("alpha", -0.4), ("alpha", 1.5), ("lam_n", -2.0), ("lam_p", -2.0)])
def test_a_violation_is_the_largest_of_its_block(count, below):
    """At sigma = 0: products of a stage with itself, with others and with the end before it."""
    one = interval(count, 0.3 if count > 1 else None)
    _, alpha, lam_n, lam_p, _ = one.split(one.z)
    if below is not None:
        part = {"alpha": alpha, "lam_n": lam_n, "lam_p": lam_p}[below[0]]
        part[-1, 1, 0] = below[1]
    F = np.abs(by_hand(one, 0.0))
    slopes, balance, even = 6 * count, 3 * count, count - 1
    c = surface(T0, X0, None)[0]
    ends, own, cross = [max(-c, 0.0), max(c, 0.0)], [], []
    for e in range(count):
        for lam, end, weight in ((lam_n, ends[0], alpha[e, :, 0]), (lam_p, ends[1], 1 - alpha[e, :, 0])):  # fmt: skip
            pairs = np.abs(np.outer(lam[e, :, 0], weight))
            own += [*np.diag(pairs)]
            cross += [*pairs[~np.eye(3, dtype=bool)], *np.abs(end * weight)]
        ends = [lam_n[e, -1, 0], lam_p[e, -1, 0]]
    negative = -min(alpha.min(), (1 - alpha).min(), lam_n.min(), lam_p.min())
    found = one.blocks()
    assert found == pytest.approx({
        "collocation": F[:slopes].max() / _HEAVY,
        "complementarity": max(F[slopes : slopes + balance].max() * one.scale[0] / _HEAVY, *own, negative),
        "cross": max(cross), "equilibration": max(F[-1 - even : -1], default=0.0) * SPAN / _LIGHT, "time": F[-1] * SPAN / _HEAVY,
    })  # fmt: skip


# ---------------------------------------------------------------- attempts


@for_each(("count", "sizes", "told", "many"), [
    (1, [0.5], 0, 1), (1, [1e-12], 0, 1), (3, [0.5, 0.4, 0.6, 0.4, 0.45, 0.41], 1, 6), (3, [0.5, _ENOUGH, 0.0], 1, 2), (2, [_ENOUGH], 0, 1), (2, [2 * _ENOUGH, 3 * _ENOUGH, 0.0, 1.0], 2, 3), (2, [np.inf] * 6, 0, 6),
])  # fmt: skip
def test_the_best_of_several_attempts_is_kept(monkeypatch, count, sizes, told, many):
    """Others follow until one is good enough; of one element all lengths are known."""
    made = []

    class Attempt:
        def __init__(self, march, x, t, span, own, left):
            assert (march, x, t, span, own) == ("march", "x", 0.5, 2.0, count)
            made.append((self, left))

        def follow(self):
            self.size = sizes[len(made) - 1]

    put(monkeypatch, _solved, _Interval=Attempt)
    assert _solved("march", "x", 0.5, 2.0, count) is made[told][0]
    assert [left for _, left in made] == [*_LEFT[:many]]


# ---------------------------------------------------------------- a whole solution


def run(numbers, ends, states, boundaries, stewart=False, scheme=None):
    """Return a solution of FESD with so many elements in each interval."""
    march = space(compiled=space(stewart=stewart), states=np.array(states), ends=np.array(ends))
    own = {"scheme": ex.FESD() if scheme is None else scheme, "march": march, "boundaries": np.array(boundaries), "interval": np.repeat(np.arange(len(numbers)), numbers), "has": lambda self, name: name == "boundaries"}  # fmt: skip
    return bare(type("Own", (Solution,), own))


@for_each(("intervals", "off_x", "off_t"), [(None, 0.25, 0.125), (None, 0.0625, 0.125), (1, 0.25, 0.125), (2, -0.5, -0.125), (None, 0.0, 0.0)])  # fmt: skip
def test_intervals_are_solved_one_behind_the_other(monkeypatch, intervals, off_x, off_t):
    """Each from where the one before has ended; the worst of each block is told."""
    numbers, ends = [2, 1, 3], [0.5, 1.5, 2.0]
    asked = []

    def solved(march, x, t, span, count):
        asked.append((x.tolist(), t, span, count))
        k = len(asked)
        states = x + np.arange(count + 1)[:, None] * np.array([1.0, -2.0])
        h = np.full(count, span / count)
        return space(parts=lambda: (states, np.full((count, 2, 1), k), h), blocks=lambda: {"a": k / 8, "b": 1 / k})  # fmt: skip

    put(monkeypatch, function, _solved=solved)
    times = np.array([0.0, 0.25, 0.5, 1.5, 1.5 + 0.5 / 3, 1.5 + 1 / 3, 2.0])
    states = np.array([5.0, 6.0]) + np.arange(7)[:, None] * np.array([1.0, -2.0])
    own, at = states.copy(), times.copy()
    own[1, 1] += off_x
    at[2] += off_t
    found = function(run(numbers, ends, own, at), intervals=intervals)
    many = len(numbers) if intervals is None else intervals
    last = sum(numbers[:many])
    assert [one[1:] for one in asked] == [(0.0, 0.5, 2), (0.5, 1.0, 1), (1.5, 0.5, 3)][:many]
    assert [one[0] for one in asked] == [[5, 6], [7, 2], [8, 0]][:many]
    assert found.boundaries == pytest.approx(times[: last + 1])
    assert found.x.tolist() == states[: last + 1].tolist()
    assert found.alpha.shape == (last, 2, 1)
    assert found.alpha[:, 0, 0].tolist() == [1, 1, 2, 3, 3, 3][:last]
    assert found.residual == {"a": many / 8, "b": 1.0}
    assert found.difference == pytest.approx(max(abs(off_x), abs(off_t)))


def test_other_solutions_are_refused():
    given = [1], [1.0], [[0.0], [0.0]], [0.0, 1.0]
    with pytest.raises(NotApplicable, match="the step form of the equations"):
        function(run(*given, stewart=True))
    for one in ("none", run(*given, scheme=ex.EventDriven())):
        with pytest.raises(BadValue, match="checks a solution of FESD"):
            function(one)
    lacks = run(*given)
    type(lacks).has = lambda self, name: False
    with pytest.raises(BadValue, match="checks a solution of FESD"):
        function(lacks)


def test_a_reference_tells_its_elements_residual_and_difference():
    one = FesdReference(np.zeros(3), np.zeros((3, 1)), np.zeros((2, 1, 1)), {"a": 1e-12, "b": 2.5e-11}, 3e-9)  # fmt: skip
    assert repr(one) == "FesdReference(2 elements, residual 2.5 × 10⁻¹¹, difference 3 × 10⁻⁹)"
