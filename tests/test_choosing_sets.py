"""Which active set FESD chooses where functions are zero, uncompiled: all that go on, and one by a rule."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
from loops import for_each
from plain import opened, plain

from explorer.kernels.fesd.collocation import collocation
from explorer.kernels.fesd.structures import workspace

sets, elements = plain("fesd.active_set"), plain("fesd.element")
N, PICK, NONE = 3, sets.PICK, -1
SIGNS = (1, -1, 0)  # in the order in which they are tried


class Corner:
    """x' = f at x = 0 by the sides of c = (x_1, x_2): four fields, affine in each multiplier."""

    def __init__(self, monkeypatch, seed: int, surfaces: int):
        rng, self.m = np.random.default_rng(seed), surfaces
        self.fields = rng.normal(size=(2,) * surfaces + (N,))  # of alpha = 0, 1
        problem = SimpleNamespace(
            n_x=N, n_c=surfaces, n_sel=surfaces, subsystems=[], affine=1, inp=np.zeros(1 + N + surfaces),
            out=np.zeros(99), c=np.zeros(99), flow=SimpleNamespace(address=1, data=0),
            switching=SimpleNamespace(address=2, data=0),
        )  # fmt: skip
        self.ws = opened(workspace(problem, collocation("radau_iia", 1), 20))
        self.ws.pattern.near[:] = range(surfaces)
        self.ws.element.mode.sign[:] = 1
        monkeypatch.setitem(elements.flow.__globals__, "call", self.call)

    def field(self, alpha):
        """Return x' for multipliers, and its derivatives by them."""
        f, slopes = self.fields, []
        for a in alpha:
            f = (1 - a) * f[0] + a * f[1]
        for j in range(self.m):
            up, down = ([*alpha[:j], one, *alpha[j + 1 :]] for one in (1.0, 0.0))
            g, h = self.fields, self.fields
            for a, b in zip(up, down, strict=True):
                g, h = (1 - a) * g[0] + a * g[1], (1 - b) * h[0] + b * h[1]
            slopes.append(g - h)
        return f, np.array(slopes).T

    def call(self, address, data, out, inp):
        if address == 1:
            f, slopes = self.field(inp[1 + N :])
            told = [f, np.zeros(N * N), slopes.ravel(), np.zeros(N)]
        else:
            told = [inp[1 : 1 + self.m], np.eye(self.m, N).ravel(), np.zeros(self.m)]
        told = np.concatenate(told)
        out[: told.size] = told

    def going_on(self):
        """Return the signs and the x' of all that goes on, in the order in which they are tried."""
        found = []
        for digits in itertools.product(SIGNS, repeat=self.m):
            signs = digits[::-1]  # the first function varies fastest
            alphas = self.slides(signs)
            for alpha in alphas:
                f, _ = self.field(alpha)
                if all(s * f[j] > 0 for j, s in enumerate(signs) if s):
                    found.append((signs, f))
        return found

    def slides(self, signs):
        """Return the multipliers of a pattern by which it stays on its surfaces, within (0, 1)."""
        fixed = [float(s > 0) for s in signs]
        zero = [j for j, s in enumerate(signs) if s == 0]
        if not zero:
            return [fixed]
        if len(zero) == 1:
            (j,) = zero
            ends = [self.field([*fixed[:j], a, *fixed[j + 1 :]])[0][j] for a in (0.0, 1.0)]
            a = ends[0] / (ends[0] - ends[1])
            return [[*fixed[:j], a, *fixed[j + 1 :]]] if 0 < a < 1 else []
        # p + q a + r b + s a b = 0 twice: a quadratic equation of a
        F = self.fields[..., :2]
        p, q, r, s = (
            F[0, 0],
            F[1, 0] - F[0, 0],
            F[0, 1] - F[0, 0],
            F[1, 1] - F[1, 0] - F[0, 1] + F[0, 0],
        )
        top, low = np.poly1d([q[0], p[0]]), np.poly1d([s[0], r[0]])
        quadratic = top * np.poly1d([s[1], r[1]]) - np.poly1d([q[1], p[1]]) * low
        real = [x.real for x in quadratic.roots if abs(x.imag) < 1e-12]
        roots = [[a, -top(a) / low(a)] for a in real]
        return [one for one in roots if all(0 < a < 1 for a in one)]

    def choose(self, rule=1, banned=NONE, forced=NONE):
        """Return how many go on, and the signs and x' of the one that is chosen."""
        many = sets.choose(self.ws, 0.0, np.zeros(N), 1e-3, self.m, banned, forced, rule, 0.0)
        return many, tuple(self.ws.element.mode.sign.tolist()), self.ws.start.rate.copy()


def same(one, other):
    return np.allclose(one, other, rtol=1e-9, atol=1e-11)


@for_each(
    ("surfaces", "seed"), [*itertools.product([1], range(12)), *itertools.product([2], range(20))]
)
def test_all_patterns_that_go_on_are_found_and_one_is_taken_by_its_signs(
    monkeypatch, surfaces, seed
):
    """Those with most positive signs, most negative ones, or most surfaces slid on."""
    corner = Corner(monkeypatch, seed, surfaces)
    there = corner.going_on()
    for rule in (1, -1, 0):
        corner.ws.element.mode.sign[:] = before = (-1, 1)[:surfaces]
        many, signs, rate = corner.choose(rule)
        assert many == len(there)
        if not there:
            assert signs == before
            continue
        scores = [sum(rule * s if rule else s == 0 for s in one) for one, _ in there]
        best = scores.index(max(scores))
        assert signs == there[best][0]
        assert any(same(rate, f) for one, f in there if one == signs)
        alpha = corner.ws.pattern.multipliers
        assert same(corner.field(alpha)[0], rate)
        assert all(alpha[j] == (s > 0) for j, s in enumerate(signs) if s)


@for_each("seed", range(20))
def test_each_pattern_can_be_picked_by_its_number(monkeypatch, seed):
    """In the order of its signs; two roots of one pattern in either order."""
    corner = Corner(monkeypatch, seed, 2)
    there = corner.going_on()
    picked = []
    for k in range(len(there)):
        many, signs, rate = corner.choose(PICK + k)
        assert (many, signs) == (len(there), there[k][0])
        picked.append(rate)
    for _, f in there:
        assert sum(same(f, rate) for rate in picked) == 1


@for_each("seed", range(20))
def test_what_has_just_been_left_stays_left(monkeypatch, seed):
    """A function keeps its sign, a multiplier stays zero, or the pattern is another one."""
    corner = Corner(monkeypatch, seed, 2)
    there = corner.going_on()
    sign = corner.ws.element.mode.sign
    for j, side in itertools.product((0, 1), (1, -1)):
        left = [one for one in there if one[0][j] == side]
        sign[:] = side
        many, signs, _ = corner.choose(forced=j)
        assert many >= len(left), "it may be approached a little"
        assert not many or signs[j] == side
        zero = [one for one in there if one[0][j] == -1]
        many, signs, _ = corner.choose(banned=j)
        assert many == len(zero)
        assert not many or signs[j] == -1
    for one, _ in there:
        others = [other for other in there if other[0] != one]
        sign[:], corner.ws.element.mode.active[0].choice = one, 0
        many, signs, _ = corner.choose(forced=sets.OTHERS)
        roots = sum(other[0] == one for other in there)
        assert many == len(others) + (roots - 1)
        assert not many or signs != one or roots > 1


@for_each(("now", "later", "signs", "c", "told"), [
    ((0.5, 0.5, 0.5), None, (1, 1), (0.0, 0.0), 3), ((0.5, -2e-3, 0.5), None, (1, 1), (0.0, 0.0), 0), ((0.5, 5e-4, 0.5), (9, 0.1, 9), (1, 1), (0.0, 0.0), 3),
    ((0.5, 5e-4, 0.5), (9, -0.1, 9), (1, 1), (0.0, 0.0), 0), ((0.5, 5e-4, 0.5), (9, np.nan, 9), (1, 1), (0.0, 0.0), 0), ((0.5, 5e-4, 0.5), (9, 5e-4, 9), (1, 1), (0.0, 0.0), 2),
    ((0.5, 0.5, 0.0), (9, 9, 0.0), (1, 1), (0.0, 0.0), 1), ((0.5, 0.5, 0.0), (9, 9, 0.0), (1, 1), (7.0, 0.25), 2), ((0.5, 0.5, 0.0), (9, 9, 0.0), (1, 1), (7.0, -0.25), 1),
    ((0.5, 0.0, 0.5), (9, 0.0, 9), (-1, 1), (-0.25, 7.0), 2), ((0.5, 0.0, 0.5), (9, 0.0, 9), (-1, 1), (0.25, 7.0), 1), ((0.0, 0.5, 0.5), (0.0, 9, 9), (1, 1), (7.0, 7.0), 1),
    ((0.5, 0.5, 0.0), (9, 9, 0.0), (0, 1), (7.0, 0.25), 2), ((0.5, 0.5, 0.0), (9, 9, 0.0), (0, 1), (7.0, -0.25), 1), ((0.5, 0.5, -5e-4), (9, 9, -5e-4), (1, 1), (7.0, 7.0), 1),
    ((0.5, 5e-4, 0.0), (9, 0.1, 0.0), (1, 1), (7.0, -0.25), 1), (None, None, (1, 1), (0.0, 0.0), 0),
])  # fmt: skip
def test_a_pattern_holds_if_all_that_it_needs_stays_positive(monkeypatch, now, later, signs, c, told):  # fmt: skip
    """Three quantities, the last ones of functions near zero with a sign; within 1e-3 of zero time tells.

    Where a rate says nothing the value of its function may.
    """
    asked, band, ahead = [], 1e-3, 0.5
    start = SimpleNamespace(w=np.zeros(3), rate=np.array([2.0, 4.0]))
    pattern = SimpleNamespace(near=np.array([3, 1]), margins=np.zeros(9), later=np.zeros(9), x=np.zeros(2), bench=SimpleNamespace(roots=np.arange(9.0).reshape(3, 3)))  # fmt: skip
    sign, values = np.zeros(4, int), np.zeros(4)
    sign[[3, 1]], values[[3, 1]] = signs, c
    element = SimpleNamespace(mode=SimpleNamespace(sign=sign, active=[SimpleNamespace(sliding=2)]), problem=SimpleNamespace(c=values, n_x=2))  # fmt: skip
    ws = SimpleNamespace(element=element, pattern=pattern, start=start)

    def margins(ws, t, x, z, left, out):
        asked.append((t, x.tolist(), z, left))
        if now is None:
            return -1
        out[:3] = now if t == 1.5 else later
        return 3

    monkeypatch.setitem(sets.consistent.__globals__, "margins", margins)
    assert sets.consistent(ws, 1.5, np.array([10.0, 20.0]), ahead, 2, 7, band, 1) == told
    assert start.w.tolist() == [3.0, 4.0, 0.0]  # the second of the roots
    here, there = (1.5, [10.0, 20.0], 2, 7), (2.0, [11.0, 22.0], 2, 7)
    assert asked[0] == here
    assert asked in ([here], [here, there], [here, there, here])
    assert (len(asked) == 1) == (later is None)
    if later is not None and told:
        assert asked == [here, there, here]
        assert pattern.margins[:3].tolist() == [*now]
