"""Contacts of discs that are found among neighbours, against all pairs of them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from loops import for_each
from plain import entries, plain

from explorer.systems.discs import SLOTS as DISC_SLOTS

discs = plain("model.disc_neighbours")
SLOTS, FREE = discs.SLOTS, discs.FREE
discs.discs_at.__globals__.update(
    heads=entries(discs.HEAD),
    walls_behind=entries(discs.WALL),
    vector=lambda words, at, n: words[at : at + n].view(float),
    integers=lambda words, at, n: words[at : at + n],
)
WALLS = np.array([[0.0, 1, 0], [1, 0, 0], [-1, 0, -4], [np.sqrt(0.5), np.sqrt(0.5), 0.2]])


class Pile:
    """Discs in a corner, and the words that tell of them."""

    def __init__(self, seed: int, n: int = 12, mu: float = 0.3, reach: float = 0.15):
        rng = self.rng = np.random.default_rng(seed)
        self.radii, self.reach, self.mu = rng.uniform(0.1, 0.3, n), reach, mu
        self.inp = np.append(0.0, rng.normal(size=6 * n))
        self.place()
        cells = 4 * n + 16
        head = np.array([(n, len(WALLS), cells, mu, reach)], discs.HEAD)
        slots, rest = np.full(SLOTS * n, FREE), np.zeros(10 * SLOTS * n + cells + n, int)
        self.words = np.concatenate([part.ravel().view(int) for part in (head, self.radii, WALLS, slots, rest)])  # fmt: skip
        self.all = discs.discs_at(self.words)
        self.partners, self.columns = self.all.partners, self.all.columns

    def place(self, spread: float = 3.0):
        self.centres[:] = self.rng.uniform(0.3, 0.3 + spread, self.centres.shape)

    @property
    def centres(self):
        return self.inp[1 : 1 + 3 * len(self.radii)].reshape(-1, 3)[:, :2]

    def gap(self, i, j, inp=None):
        """Return the gap of two discs, or of one and a wall."""
        centres = (self.inp if inp is None else inp)[1:].reshape(-1, 3)[:, :2]
        if j < 0:
            return WALLS[-1 - j, :2] @ centres[i] - WALLS[-1 - j, 2] - self.radii[i]
        return np.hypot(*(centres[i] - centres[j])) - self.radii[i] - self.radii[j]

    def near(self, most):
        """Return all pairs whose gap is less."""
        n = len(self.radii)
        pairs = [*itertools.combinations(range(n), 2)]
        pairs += [(i, -1 - w) for i in range(n) for w in range(len(WALLS))]
        return {frozenset(p) if p[1] >= 0 else p for p in pairs if self.gap(*p) < most}

    def slots(self):
        """Return the pair in each slot that is taken."""
        found = {}
        for a, j in enumerate(map(int, self.partners)):
            if j != FREE:
                found[a] = frozenset((a // SLOTS, j)) if j >= 0 else (a // SLOTS, j)
        return found


@for_each("seed", range(12))
def test_every_pair_within_reach_has_one_slot_and_keeps_it(seed):
    pile = Pile(seed)
    before = {}
    for _ in range(4):
        assert discs.update(pile.inp, pile.all) == 1
        slots = pile.slots()
        assert len({*slots.values()}) == len(slots)
        assert pile.near(pile.reach) <= {*slots.values()} <= pile.near(1.2 * pile.reach + 1e-12)
        for a, pair in before.items():
            assert slots.get(a) == pair or pair not in pile.near(1.2 * pile.reach)
        kept = [pair for a, pair in before.items() if slots.get(a) == pair]
        before = slots
        pile.centres[:] += pile.rng.normal(size=pile.centres.shape) * 0.03
    assert kept
    pile.place(30.0)  # far apart: the cells have to be wider
    discs.update(pile.inp, pile.all)
    assert {*pile.slots().values()} >= pile.near(pile.reach)
    assert {*pile.slots().values()} <= pile.near(1.2 * pile.reach)


@for_each("part", [1.01, 1.19, 1.21, 3.0])
@for_each("other", ["disc", "wall"])
def test_a_pair_has_its_slot_up_to_a_fifth_beyond_its_reach(other, part):
    pile = Pile(0, n=3)
    pile.centres[:] = [[1.5, 1.5], [1.5, 3.5], [3.0, 3.0]]
    j = 1 if other == "disc" else -1  # the first wall is y = 0
    if j == 1:
        pile.centres[1] = pile.centres[0] + [0.0, pile.radii[:2].sum() + part * pile.reach]
    else:
        pile.centres[0, 1] = pile.radii[0] + part * pile.reach
    assert pile.gap(0, j) == pytest.approx(part * pile.reach)
    slot = SLOTS - 1
    pile.partners[slot] = j
    assert discs.update(pile.inp, pile.all) == 1
    there = pile.slots()
    assert {*there} == ({slot} if part < 1.2 else set())


def test_a_disc_with_more_neighbours_than_slots_is_told():
    pile = Pile(0, n=2 * SLOTS + 4)
    pile.radii[:] = 0.1
    pile.all.radii[:] = 0.1
    pile.centres[:] = 2.0 + 1e-3 * pile.rng.normal(size=pile.centres.shape)
    assert discs.update(pile.inp, pile.all) == 0
    out = np.zeros(15 * SLOTS * len(pile.radii))
    discs.contacts_of_discs(out, pile.inp, pile.words)
    assert np.isnan(out[: SLOTS * len(pile.radii)]).all()


@for_each("bad", [np.nan, np.inf, -np.inf])
@for_each("disc", range(3))
def test_a_place_that_is_no_number_has_no_contacts(bad, disc):
    for along in range(2):
        pile = Pile(0, n=3)
        pile.centres[disc, along] = bad
        with np.errstate(invalid="ignore"):
            assert discs.update(pile.inp, pile.all) == 0


@for_each("taken", range(2 * SLOTS + 1))
def test_a_pair_takes_the_first_free_slot_of_either(taken):
    pile = Pile(1, n=3)
    slots = [*range(SLOTS), *range(SLOTS, 2 * SLOTS)]
    pile.partners[slots[:taken]] = 2
    got = discs.enter(0, 1, pile.partners)
    assert got == (taken < 2 * SLOTS)
    if got:
        assert pile.partners[taken] == (1 if taken < SLOTS else 0)
        before = pile.words.copy()
        assert discs.enter(0, 1, pile.partners) == 1
        assert discs.enter(1, 0, pile.partners) == 1
        assert (pile.words == before).all()
    pile = Pile(1, n=3)
    pile.partners[[*range(SLOTS)][: min(taken, SLOTS)]] = 2
    assert discs.enter(0, -2, pile.partners) == (taken < SLOTS)  # a wall has no slots
    if taken < SLOTS:
        assert pile.partners[taken] == -2


@for_each("seed", range(6))
def test_gaps_normals_and_slips_are_those_of_the_pairs(seed):
    """Rows of normals are the derivatives of gaps; rows of tangents make slips of velocities."""
    pile = Pile(seed, n=8)
    pile.place(1.5)
    n, nc = len(pile.radii), SLOTS * 8
    out = np.full(15 * nc + 1, 9.0)
    discs.contacts_of_discs(out, pile.inp, pile.words)
    assert out[-1] == 9.0
    assert not out[nc : 3 * nc].any()
    assert (out[13 * nc : 15 * nc] == pile.mu).all()
    G = np.zeros((2 * nc, 3 * n))
    for a in range(nc):
        for k in range(4):
            G[a, pile.columns[4 * a + k]] += out[3 * nc + 4 * a + k]
        for k in range(6):
            G[nc + a, pile.columns[4 * nc + 6 * a + k]] += out[7 * nc + 6 * a + k]
    v = pile.inp[1 + 3 * n :].reshape(n, 3)
    slots = pile.slots()
    assert len(slots) > 4
    for a in range(nc):
        i, j = a // SLOTS, int(pile.partners[a])
        columns = pile.columns[
            [*range(4 * a, 4 * a + 4), *range(4 * nc + 6 * a, 4 * nc + 6 * a + 6)]
        ]
        disc = i if j == FREE or j < 0 else j
        assert [*columns] == [3 * i, 3 * i + 1, 3 * disc, 3 * disc + 1, *range(3 * i, 3 * i + 3),
                              *range(3 * disc, 3 * disc + 3)]  # fmt: skip
        if a not in slots:
            assert out[a] == pile.reach
            assert not G[[a, nc + a]].any()
            continue
        assert out[a] == pytest.approx(pile.gap(i, j), abs=1e-14)
        step, slope = 1e-6, np.zeros(3 * n)
        for c in range(3 * n):
            up, down = pile.inp[: 1 + 3 * n].copy(), pile.inp[: 1 + 3 * n].copy()
            up[1 + c] += step
            down[1 + c] -= step
            slope[c] = (pile.gap(i, j, up) - pile.gap(i, j, down)) / (2 * step)
        np.testing.assert_allclose(G[a], slope, atol=1e-8)
        tangent = np.array([-slope[3 * i + 1], slope[3 * i]])
        slip = tangent @ v[i, :2] - pile.radii[i] * v[i, 2]
        if j >= 0:
            slip -= tangent @ v[j, :2] + pile.radii[j] * v[j, 2]
        assert G[nc + a] @ v.ravel() == pytest.approx(slip, abs=1e-7)


@for_each(("axis", "far"), itertools.product((0, 1), (-20.0, 20.0)))
def test_whichever_disc_is_the_outermost_its_neighbours_are_found(axis, far):
    for m in range(12):
        pile = Pile(m)
        other = (m + 5) % 12
        pile.centres[m, axis] = far
        pile.centres[other] = pile.centres[m]
        pile.centres[other, 1 - axis] += pile.radii[m] + pile.radii[other] + 0.05
        pile.centres[other, axis] -= 0.1 * np.sign(far)  # the other way
        assert discs.update(pile.inp, pile.all) == 1
        found = {*pile.slots().values()}
        assert frozenset((m, other)) in found
        assert pile.near(pile.reach) <= found <= pile.near(1.2 * pile.reach + 1e-12)


@for_each("n", [1, 3, 12])
def test_discs_are_laid_out_with_room_for_their_cells(n):
    """Numbers of the bodies, then partners, columns of G, and two lists to sort the discs by."""
    from explorer.kernels.model.disc_neighbours import data_of_discs

    pile = Pile(0, n)
    address, words, partners, columns = data_of_discs(pile.radii, WALLS, 0.3, 0.15)
    assert address > 0
    np.testing.assert_array_equal(words, pile.words)
    assert (len(partners), len(columns)) == (SLOTS * n, 10 * SLOTS * n)
    assert (partners == FREE).all()
    assert np.shares_memory(partners, words)
    assert np.shares_memory(columns, words)
    assert pile.all.head[0].cells > n


def test_a_system_declares_as_many_slots_as_the_kernel_fills():
    assert SLOTS == DISC_SLOTS
