"""Functions of sliding modes against difference quotients of what defines them."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from loops import for_each
from plain import entries, plain

active, modes = plain("sliding.active_modes"), plain("sliding.mode_functions")
layout = plain("sliding.structures")
X, C, RHO = 2, 3, 2  # states, surfaces, parameters
STEP = 1e-6


def rows(memory, at, n, m):
    return memory[at : at + n * m].reshape(n, m)


STAND_INS = {
    "vector": lambda memory, at, n: memory[at : at + n],
    "matrix": rows,
    "integers": lambda memory, at, n: memory[at : at + n].view(np.int64),
}
active.solve.__globals__.update(STAND_INS)
layout.model_at.__globals__.update(STAND_INS, table=rows, models=entries(layout.MODEL))
modes.evaluate.__globals__.update(
    STAND_INS,
    tasks=entries(layout.TASK),
    guards=entries(layout.GUARD),
    followers=entries(layout.FOLLOWER),
)
FUNCTIONS = {name: k for k, name in enumerate(("f", "f_all", "rate", "rate_all", "c_all"), 5)}


def opened(rows):
    return rows.view(np.recarray)


def guards(*kinds):
    """Return guards, (function, kind) each."""
    return np.array([*kinds], layout.GUARD), ()


def followers(*parts):
    """Return modes that may follow, (mode, left, functions) each."""
    rows = np.array([(mode, left, len(own)) for mode, left, own in parts], layout.FOLLOWER)
    return rows, [k for *_, own in parts for k in own]


class System:
    """x' = f and dc/dt = r, affine in each multiplier; their coefficients are linear in t, x, rho."""

    def __init__(self, seed: int, slides: int):
        rng = self.rng = np.random.default_rng(seed)
        y = 1 + X + RHO
        self.f, self.r = rng.normal(size=(X, 1 << C, 1 + y)), rng.normal(size=(C, 1 << C, 1 + y))
        self.c = rng.normal(size=(C, 1 + y))
        self.y, self.slides = rng.normal(size=y) * 0.3, np.sort(rng.permutation(C)[:slides])
        self.signs = rng.choice([-1, 1], C)
        self.signs[self.slides] = 0
        self.alpha = np.where(self.signs == 0, rng.uniform(0.2, 0.8, C), self.signs > 0)
        at = self.affine(self.r, self.y, self.alpha)
        self.r[self.slides, 0, 0] -= at[self.slides]  # so this is a solution
        size = active.scratch(X, C, RHO)
        self.inp = np.zeros(1 + X + RHO + size)
        self.inp[: 1 + X], self.inp[1 + X : 1 + X + RHO] = self.y[: 1 + X], self.y[1 + X :]
        functions = {
            name: SimpleNamespace(address=number, data=100 + number)
            for name, number in FUNCTIONS.items()
        }
        head = SimpleNamespace(n=X, n_c=C, n_rho=RHO, scratch=1 + X + RHO, rho=1 + X, **functions)
        self.model = layout.Model([head], np.zeros(6, np.int64), np.zeros((6, C), np.int64))
        self.mode(0, 0, self.signs)
        for space in (active.solve.__globals__, modes.evaluate.__globals__):
            space["call"] = self.call
        modes.evaluate.__globals__["pointer"] = lambda address: address
        modes.evaluate.__globals__["model_at"] = lambda words: self.model

    def mode(self, number, root, signs):
        self.model.roots[number], self.model.signs[number] = root, signs

    @staticmethod
    def affine(table, y, alpha):
        """Return what a table of coefficients makes of t, x, rho and the multipliers."""
        weights = [
            np.prod([alpha[a] for a in range(C) if corner >> a & 1]) for corner in range(1 << C)
        ]
        return (table[:, :, 0] + table[:, :, 1:] @ y) @ np.array(weights)

    def call(self, address, data, out, base):
        """Write what a native function of the model would."""
        assert data == 100 + address
        y, alpha = np.delete(base, range(1 + X, 1 + X + C)), base[1 + X : 1 + X + C]
        t, x, rho = [0], [*range(1, 1 + X)], [*range(1 + X, 1 + X + RHO)]

        def slopes(table, which, n):
            quotients = [(self.affine(table, y + d, alpha) - self.affine(table, y - d, alpha)) / 2
                         for d in np.eye(len(y))[which]]  # fmt: skip
            return np.array(quotients).T.reshape(n, -1)

        def by_alpha(table, n):
            unit = np.eye(C)
            return np.array([self.affine(table, y, alpha * (1 - d) + d)
                             - self.affine(table, y, alpha * (1 - d)) for d in unit]).T.reshape(n, C)  # fmt: skip

        f, r = self.affine(self.f, y, alpha), self.affine(self.r, y, alpha)
        parts = {
            "f": [f],
            "f_all": [f, slopes(self.f, x, X), by_alpha(self.f, X), slopes(self.f, t, X),
                              slopes(self.f, rho, X)],
            "rate": [r],
            "rate_all": [r, slopes(self.r, t, C), slopes(self.r, x, C), by_alpha(self.r, C),
                              slopes(self.r, rho, C)],
            "c_all": [self.c[:, 0] + self.c[:, 1:] @ y, self.c[:, 2 : 2 + X], self.c[:, 1],
                            self.c[:, 2 + X :]],
        }[{number: name for name, number in FUNCTIONS.items()}[int(address)]]  # fmt: skip
        written = np.concatenate([np.ravel(part) for part in parts])
        out[: len(written)] = written

    def scratch(self, y=None):
        """Return the memory laid out at t, x and rho."""
        y = self.y if y is None else y
        self.inp[: 1 + X], self.inp[1 + X : 1 + X + RHO] = y[: 1 + X], y[1 + X :]
        return active.memory(self.inp, self.model)

    def multipliers(self, y=None, mode=0):
        scratch = self.scratch(y)
        good = active.solve(self.model, mode, scratch)
        return scratch.base[1 + X : 1 + X + C].copy() if good else np.full(C, np.nan)

    def quotient(self, of, y=None):
        """Return difference quotients by t, x, rho."""
        y = self.y if y is None else y
        return np.array(
            [(of(y + STEP * d) - of(y - STEP * d)) / (2 * STEP) for d in np.eye(len(y))]
        ).T

    def jacobian(self, alpha):
        base, out = np.concatenate([self.y[: 1 + X], alpha, self.y[1 + X :]]), np.zeros(99)
        self.call(FUNCTIONS["rate_all"], 100 + FUNCTIONS["rate_all"], out, base)
        return out[2 * C + C * X : 2 * C + C * X + C * C].reshape(C, C)

    def evaluate(self, task, rest=None, size=40, mode=0):
        result = np.full(size, 99.0)
        rows, functions = guards() if rest is None else rest
        data = layout.task_words(task, 0, mode, rows, functions)
        self.scratch()
        modes.evaluate(result, self.inp, data)
        return result


@for_each(("seed", "slides"), [*itertools.product(range(3), range(C)), (0, 3)])
def test_multipliers_hold_the_surfaces_that_are_slid_on(seed, slides):
    system = System(seed, slides)
    alpha, j = system.multipliers(), system.slides
    found = [alpha]
    if slides == 2:  # both roots: det d(dc/dt)/d alpha is negative of the first
        system.mode(0, 1, system.signs)
        found.append(system.multipliers())
        signs = [np.sign(np.linalg.det(system.jacobian(a)[np.ix_(j, j)])) for a in found]
        assert [s for s in signs if np.isfinite(s)] in ([-1, 1], [1], [-1])
        assert not np.isfinite(signs[0]) or signs[0] == -1
    if slides == 3:
        for which in range(1, 8):
            system.mode(0, which, system.signs)
            found.append(system.multipliers())
        first = [a[0] for a in found if np.isfinite(a).all()]
        assert first == sorted(first)
        assert len({*first}) == len(first)
        assert np.isnan(found[-1]).all()
    found = [a for a in found if np.isfinite(a).all()]
    assert any(np.allclose(a, system.alpha, atol=1e-7) for a in found)
    for a in found:
        np.testing.assert_allclose(system.affine(system.r, system.y, a)[j], 0.0, atol=1e-9)
        held = system.signs != 0
        assert (a[held] == (system.signs[held] > 0)).all()


@pytest.mark.parametrize(("seed", "slides"), [(0, 0), (0, 1), (0, 2)])
def test_fields_and_multipliers_have_the_slopes_of_their_difference_quotients(seed, slides):
    system = System(seed, slides)
    if slides == 2 and np.isnan(system.multipliers()).any():
        system.mode(0, 1, system.signs)

    def field(y):
        return system.affine(system.f, y, system.multipliers(y))

    slopes = system.quotient(system.multipliers)
    near = {"rtol": 1e-5, "atol": 1e-5 * (1 + np.nanmax(abs(slopes), initial=0.0))}
    root = system.model.roots[0]
    for number, others in ((0, (1, 1, 1)), (2, (0, 0, 0)), (2, (1, 1, 1))):
        system.mode(number - 1 if number else 1, 0, others)  # of the neighbour it takes nothing
        system.mode(number, root, system.signs)
        scratch = system.scratch()
        active.solve(system.model, number, scratch)
        scratch.moved[:] = 7.0
        active.derive(system.model, number, scratch)
        np.testing.assert_allclose(scratch.moved, slopes, **near)
    np.testing.assert_allclose(system.evaluate(modes.FIELD)[:X], field(system.y), rtol=1e-10)
    assert (system.evaluate(modes.FIELD)[X:] == 99).all()
    got, by_y = system.evaluate(modes.FIELD_TLM), system.quotient(field)
    near = {"rtol": 1e-5, "atol": 1e-5 * (1 + np.nanmax(abs(by_y)))}
    np.testing.assert_allclose(got[:X], field(system.y), rtol=1e-10)
    np.testing.assert_allclose(got[X : X + X * X].reshape(X, X), by_y[:, 1 : 1 + X], **near)
    end = X + X * X + X * RHO
    np.testing.assert_allclose(got[X + X * X : end].reshape(X, RHO), by_y[:, 1 + X :], **near)
    assert (got[end:] == 99).all()


@pytest.mark.parametrize(("seed", "slides"), [(0, 1), (0, 2)])
def test_guards_and_their_slopes(seed, slides):
    system = System(seed, slides)
    if slides == 2 and np.isnan(system.multipliers()).any():
        system.mode(0, 1, system.signs)
    alpha, j = system.multipliers(), system.slides

    def fold(y):
        """Return the square of the Jacobian, that of equations scaled to one."""
        system.scratch(y)
        size = [max(abs(system.affine(system.r, y, a)[i]) for a in corners()) for i in j]
        base = np.linalg.det(system.jacobian_at(y, system.multipliers(y))[np.ix_(j, j)])
        return (base / np.prod(size)) ** 2

    def corners():
        for bits in itertools.product((0.0, 1.0), repeat=len(j)):
            a = np.where(system.signs > 0, 1.0, 0.0)
            a[j] = bits
            yield a

    c = system.c[:, 0] + system.c[:, 1:] @ system.y
    kinds = [(k, kind) for k in range(C) for kind in (modes.SIDE, modes.LOW, modes.HIGH)]
    kinds += [(0, modes.FOLD)] if slides == 2 else []
    got = system.evaluate(modes.GUARDS, guards(*kinds))
    system.jacobian_at = lambda y, a: System.jacobian(_at(system, y), a)
    moved = system.quotient(system.multipliers)
    for g, (k, kind) in enumerate(kinds):
        expected = {modes.SIDE: c[k], modes.LOW: alpha[k], modes.HIGH: 1 - alpha[k]}
        value = fold(system.y) if kind == modes.FOLD else expected[kind]
        assert got[g] == pytest.approx(value, rel=1e-7, abs=1e-9)
        assert got[len(kinds) + g] == 1.0
        slope = system.evaluate(modes.GUARD_TLM, guards((k, kind)))
        expected = {modes.SIDE: system.c[k, 1:], modes.LOW: moved[k], modes.HIGH: -moved[k]}
        expected = system.quotient(fold) if kind == modes.FOLD else expected[kind]
        size = 1 + abs(expected).max()
        np.testing.assert_allclose(slope[: 1 + X + RHO], expected, rtol=1e-4, atol=1e-5 * size)
        assert (slope[1 + X + RHO :] == 99).all()
    assert (got[2 * len(kinds) :] == 99).all()


def _at(system, y):
    """Return a system as it is at another place."""
    other = object.__new__(System)
    other.__dict__ = system.__dict__ | {"y": y}
    return other


@for_each("seed", range(3))
def test_what_attracts_has_the_signs_of_two_determinants(seed):
    system = System(seed, 3)
    for size in (1, 2, 3):
        for chosen in itertools.permutations(range(C), size):
            j = chosen[0]
            scratch = system.scratch()
            scratch.base[1 + X : 1 + X + C] = system.alpha
            J = system.jacobian(system.alpha)
            rest = [k for k in chosen if k != j]
            expected = -np.linalg.det(J[np.ix_(chosen, chosen)]) * np.linalg.det(
                J[np.ix_(rest, rest)]
            )
            among = np.array(chosen)
            got = active.attracts(system.model, j, among, scratch)
            assert got == pytest.approx(expected, rel=1e-9)
    system.r[:, 1:] = 0.0
    assert active.attracts(system.model, j, among, system.scratch()) == 0.0


@for_each("seed", range(12))
def test_a_reset_changes_nothing_and_what_is_active_is_written(seed):
    system = System(seed, 1)
    size = X * (2 + X + RHO)
    got = system.evaluate(modes.RESET)
    expected = np.zeros(size)
    expected[:X] = system.y[1 : 1 + X]
    expected[2 * X : 2 * X + X * X] = np.eye(X).ravel()
    np.testing.assert_array_equal(got[:size], expected)
    assert (got[size:] == 99).all()
    got = system.evaluate(modes.ACTIVE)
    np.testing.assert_allclose(got[:C], system.multipliers())
    np.testing.assert_allclose(got[C : 2 * C], system.c[:, 0] + system.c[:, 1:] @ system.y)


@for_each("seed", range(4))
def test_the_conditions_of_modes_that_may_follow(seed):
    """Of a mode that slides: its multipliers within their bounds; of the others: dc/dt to their side."""
    system = System(seed, 1)
    (j,) = system.slides
    other = system.signs.copy()
    other[j] = 1
    system.mode(1, 0, other)
    parts = [(0, range(C)), (1, [j])]
    words = followers(*((number, -1, functions) for number, functions in parts))
    c = system.c[:, 0] + system.c[:, 1:] @ system.y
    for task, zero in ((modes.BRANCH, None), (modes.START, None), (modes.START, j)):
        if zero is not None:  # a function that vanishes at the start: its rate counts
            system.c[zero, 0] -= c[zero]
            c[zero] = 0.0
        starts = task == modes.START
        expected = []
        for number, functions in parts:
            signs, alpha = (system.signs, other)[number], system.multipliers(mode=number)
            r = system.affine(system.r, system.y, alpha)
            for k in functions:
                off = starts and c[k] ** 2 > 1e-20
                if signs[k]:
                    expected.append(signs[k] * (c[k] if off else r[k]))
                else:
                    expected += [-(c[k] ** 2)] * 2 if off else [alpha[k], 1 - alpha[k]]
        got = system.evaluate(task, words)
        np.testing.assert_allclose(got[: len(expected)], expected, rtol=1e-6, atol=1e-9)
        assert (got[len(expected) :] == 99).all()
    system.r[j], system.r[j, 0, 0] = 0.0, 1.0  # no multiplier holds it
    with np.errstate(divide="ignore"):
        got = system.evaluate(modes.BRANCH, words)
    assert np.isnan(got[: C + 1]).all()
    assert np.isfinite(got[C + 1])


@for_each("seed", range(3))
def test_a_slide_that_is_left_goes_on_with_the_multipliers_it_had(seed):
    system = System(seed, 2)
    if np.isnan(system.multipliers()).any():
        system.mode(0, 1, system.signs)
    alpha, (j, k) = system.multipliers(), system.slides
    signs = system.signs.copy()
    signs[j] = 1 if seed % 2 else -1
    system.mode(1, 0, signs)
    words = followers((1, j, (j, k)))
    J = system.jacobian(alpha)
    attracts = -np.linalg.det(J[np.ix_([j, k], [j, k])]) * J[k, k]
    after = system.multipliers(mode=1)
    same = np.allclose(after, alpha, atol=1e-6, rtol=0)
    got = system.evaluate(modes.BRANCH, words)
    assert got[0] == (pytest.approx(attracts, rel=1e-6) if same else -1.0)
    assert (got[1:] == 99).all()
    at_bound = 1.0 * (signs[j] > 0)  # the multiplier that leaves has come to its bound
    moved = system.alpha.copy()
    moved[j] = at_bound
    system.r[system.slides, 0, 0] -= system.affine(system.r, system.y, moved)[system.slides]
    for root in (0, 1):
        system.mode(0, root, system.signs)
        alpha = system.multipliers()
        if np.allclose(alpha, moved, atol=1e-7):
            J = system.jacobian(alpha)
            attracts = -np.linalg.det(J[np.ix_([j, k], [j, k])]) * J[k, k]
            assert system.evaluate(modes.BRANCH, words)[0] == pytest.approx(
                attracts, rel=1e-4, abs=1e-6
            )


@for_each("seed", range(6))
def test_a_slide_on_two_surfaces_without_roots_cannot_follow(seed):
    """Its equations have no discriminant that is positive; that on one or on three has none to ask for."""
    system = System(seed, 2)
    words = followers((0, -1, range(C)))
    size = C + 2
    got = system.evaluate(modes.BRANCH, words)
    scratch = system.scratch()
    active.solve(system.model, 0, scratch)
    assert np.isfinite(got[:size]).all()
    j, k = system.slides
    system.r[[j, k]] = 0.0  # a_j = a_k and a_j a_k = -1
    system.r[j, [1 << j, 1 << k], 0] = 1.0, -1.0
    system.r[k, [(1 << j) | (1 << k), 0], 0] = 1.0, 1.0
    assert np.isnan(system.evaluate(modes.BRANCH, words)[:size]).all()
    single = System(seed, 1)
    assert np.isfinite(single.evaluate(modes.BRANCH, words)[: C + 1]).all()


@for_each("tangents", (0, 1))
def test_a_field_without_multipliers_is_no_number_and_no_more_is_written(monkeypatch, tangents):
    n, nrho = 3, 2
    model = SimpleNamespace(head=opened(np.zeros(1, layout.MODEL)))
    model.head.n, model.head.n_c, model.head.n_rho = n, 1, nrho
    monkeypatch.setitem(modes.write_field.__globals__, "solve", lambda *_: 0)
    result = np.full(40, 9.0)
    modes.write_field(result, model, 0, tangents, SimpleNamespace(out=None, moved=None))
    count = n * (1 + n + nrho) if tangents else n
    assert np.isnan(result[:count]).all()
    assert (result[count:] == 9.0).all()


@for_each("order", itertools.permutations(range(3)))
def test_roots_of_many_surfaces_are_numbered_by_their_first_multiplier(monkeypatch, order):
    """Beyond the last one there is none: the multipliers are no numbers."""
    system = System(0, 3)
    found = np.array([[0.2, 0.9, 0.1], [0.4, 0.1, 0.2], [0.7, 0.5, 0.3]])[[*order]]

    def roots(bench, m):
        assert m == 3
        bench.roots[:3, :3] = found
        return 3

    monkeypatch.setitem(active.solve.__globals__, "roots", roots)
    for which in range(4):
        system.mode(0, which, np.zeros(C, int))
        scratch = system.scratch()
        good = active.solve(system.model, 0, scratch)
        assert good == (which < 3)
        at = scratch.base[1 + X : 1 + X + C]
        if which < 3:
            assert at.tolist() == found[np.argsort(found[:, 0])][which].tolist()
        else:
            assert np.isnan(at).all()


def test_the_words_of_a_model_are_read_as_they_are_written():
    head = np.array([tuple(range(10, 16)) + ((1, 2),) * 5], layout.MODEL)
    head["modes"], head["n_c"] = 2, C
    signs = np.arange(2 * C).reshape(2, C)
    model = layout.model_at(layout.model_words(head, [(signs[0], 1), (signs[1], 2)]))
    np.testing.assert_array_equal(model.head, head)
    assert model.roots.tolist() == [1, 2]
    np.testing.assert_array_equal(model.signs, signs)
