"""Where a march of Moreau-Jean begins and what a step of it writes, of contacts in any order."""

from __future__ import annotations

import numpy as np
import pytest
from loops import for_each
from plain import plain, put, space

from explorer.codes import SUCCESS

jean, events = plain("time_stepping.moreau_jean"), plain("time_stepping.step_events")
STICK, ROUND, FAR = jean.STICK, jean.ROUND, 2.0
N, CONTACTS, ROWS = 2, 4, 8
TANGENTS = np.array([4, 5, 5, 5, 7])  # of contact 0 one, of contact 3 two; then a row of none


def begun(monkeypatch, gap, moving, row=0, rows=ROWS):
    """Return what each row of the record does, and the state, where a march begins."""
    record = space(
        t=np.zeros(3), q=np.zeros((3, N)), v=np.zeros((3, N)), p=np.zeros((3, ROWS)),
        gap=np.array([gap, 1 - np.array(gap), gap]), active=np.full((3, ROWS), 9),
    )  # fmt: skip
    four = np.full(CONTACTS, 9.0)
    problem = space(
        contacts=space(compliance=space(given=four, point=four.copy()), tangents=TANGENTS),
        sizes=space(n=N, contacts=CONTACTS, rows=rows), method=space(h=0.5), bundles=space(inp=None), linear=None,
    )  # fmt: skip
    state = [space(width=9, formed=9.0, far=9.0, reach=9.0)]
    work = space(state=state, iterate=space(bias=np.ones(1), F0=None))
    nothing = dict.fromkeys(("forget", "bend", "fill", "force"), lambda *_: None)
    put(monkeypatch, jean.begin, **nothing, bends=lambda bundles: False,
        look=lambda *given: setattr(state[0], "far", FAR),
        slides=lambda problem, record, a: a in moving)  # fmt: skip
    jean.begin(problem, record, work, row)
    return record.active, state[0]


@for_each(("gap", "moving", "told"), [
    ([0, 0, 0, 0], (), {4: STICK, 5: STICK}), ([0, 0, 0, 0], (4,), {4: 0, 5: STICK}), ([0, 0, 0, 0], (5,), {4: STICK, 5: 0}),
    ([0, 0, 0, 0], (6,), {4: STICK, 5: 0}), ([0, 0, 0, 0], (7, 3, 2), {4: STICK, 5: STICK}), ([9, 9, 9, 0], (), {5: STICK}),
    ([FAR * ROUND, 0, 0, -FAR * ROUND], (), {4: STICK, 5: STICK}), ([1, 1, 1, 1], (), {}),
])  # fmt: skip
def test_contacts_that_are_closed_at_first_stick_or_slide(monkeypatch, gap, moving, told):
    """Closed is what is off by what round-off may leave, that included."""
    wanted = np.full((3, ROWS), 9)
    for row, does in told.items():
        wanted[0, row] = does
    assert begun(monkeypatch, gap, moving)[0].tolist() == wanted.tolist()


@for_each("rows", [0, 1, ROWS])
def test_a_march_that_goes_on_leaves_what_contacts_do(monkeypatch, rows):
    active, state = begun(monkeypatch, [0, 0, 0, 0], (), row=1, rows=rows)
    assert (active == 9).all()
    assert (state.width, state.formed, state.reach) == (max(rows - 1, 0), 0.0, 0.0)


@for_each("seed", range(8))
def test_impulses_are_written_to_the_rows_that_they_belong_to(seed):
    """Of any size; of a contact without one the friction is none."""
    rng = np.random.default_rng(seed)
    normals = rng.permutation(CONTACTS)
    m = CONTACTS
    act, place = [int(a) for a in normals], np.full(m, -1)
    for j, a in enumerate(normals):
        if TANGENTS[a] < TANGENTS[a + 1]:
            place[j] = len(act)
            act += range(TANGENTS[a], TANGENTS[a + 1])
    held, mode = len(act), rng.integers(5, 9, ROWS)
    P = 1e-3 * rng.uniform(1, 2, held)
    P[rng.random(held) < 0.4] = 0.0
    mu, w = rng.uniform(0.1, 0.9, held), rng.normal(size=held)
    active = space(act=np.array(act), place=place, mode=mode, w=w, P=P, mu=mu)
    zeros = space(q=np.zeros(N), v=np.zeros(N), F0=np.zeros(N), F1=np.zeros(N))
    record = space(q=np.zeros((2, N)), v=np.zeros((2, N)), p=np.full((2, ROWS), 9.0),
                   p_max=np.full((2, ROWS), 9.0), active=np.full((2, ROWS), 9))  # fmt: skip
    problem = space(sizes=space(n=N, contacts=CONTACTS), contacts=space(tangents=TANGENTS))
    work = space(state=[space(reach=1e-6)], iterate=zeros, active=active)
    jean.write(problem, record, work, space(row=0, m=m, held=held, h=0.1))
    p, p_max, does = (np.full(ROWS, value) for value in (9.0, 9.0, 9))
    p[act] = P
    for j, a in enumerate(normals):
        rubs = range(TANGENTS[a], TANGENTS[a + 1])
        if P[j] > 0:
            does[a] = 2
            if place[j] >= 0:
                does[rubs[0]], p_max[rubs[0] - CONTACTS] = mode[a], mu[j] * P[j]
        else:
            p[list(rubs)] = 0.0
    assert record.p[1].tolist() == p.tolist()
    assert record.p_max[1].tolist() == p_max.tolist()
    assert record.active[1].tolist() == does.tolist()
    assert (record.p[0] == 9).all()
    assert work.state[0].reach == pytest.approx(0.1 * abs(w[:m]).max())


@for_each("levels", [True, False])
def test_a_step_is_told_its_length_and_where_it_ends(monkeypatch, levels):
    """theta of the scheme weighs its end; gaps are taken at the row that is written."""
    told = []

    def note(name):
        return lambda *given: told.append((name, given)) or SUCCESS

    given = {name: note(name) for name in ("constrained_step", "predict", "take", "iterate", "write", "look")}  # fmt: skip
    put(monkeypatch, jean.advance, **given, choose=lambda *given: (2, 3), refer=lambda x: x, value_of=lambda x: x)  # fmt: skip
    options = space(constant=False, levels=levels, projected=jean.NOTHING, state_force=False)
    problem = space(options=options, method=space(theta=0.25), sizes=space(n=N, constraints=0))
    shared = space(work="work", task="task")
    assert jean.advance(problem, "record", shared, 4, 0.2, 1.0) == SUCCESS
    (*_, step) = next(given for name, given in told if name == "write")
    assert (step.row, step.h, step.t1, step.m, step.held) == (4, 0.2, 1.0, 2, 3)
    assert step.ht == pytest.approx(0.05)
    assert told[-1] == ("look", (problem, "record", "work", 5, 0.2))


# ---------------------------------------------------------------- what a record tells of contacts


def counted(p, gap_dot, *, gap=1.0, since=0.0, spread=1):
    """Return how many events a contact has, the rows that meet it, and those that jump."""
    t = 0.1 * np.arange(len(p))
    column = lambda x: np.broadcast_to(np.array(x, float), len(p))[:, None]  # noqa: E731
    trace = events.Trace(t, None, None, column(p), column(gap), column(gap_dot), None)
    contacts = events.Contacts(np.ones(1, np.int8), np.zeros(1, np.int64), spread)
    found = events.Found(np.zeros(len(p) + 2, np.int64), np.zeros(len(p), np.int8))
    count = events.impulse_events(trace, contacts, found, 0, since)
    return count, found.row[1 : 1 + found.row[0]].tolist(), found.jump.tolist()


def test_an_impact_marks_its_row_with_a_one():
    assert counted([0, 0, 1, 0, 0], [-1, -1, 1, 1, 1]) == (1, [2], [0, 0, 1, 0, 0])


@for_each(("gap", "speed", "closed"), [
    ([0, 9, 9, 9, 9], 0, True), ([1e-9, 9, 9, 9, 9], 0, True), ([2e-9, 0, 0, 0, 0], 0, False), ([0, 9, 9, 9, 9], 1e-6, False),
])  # fmt: skip
def test_a_contact_is_closed_at_the_start_by_its_first_row(gap, speed, closed):
    """Then it has lasted when it opens, one row later than where it closes otherwise."""
    p, gap_dot = [0, 1, 1, 0, 0], [speed, 0, 0, 0, 0]
    assert counted(p, gap_dot, gap=gap)[0] == int(closed)


@for_each(("away", "back", "apart"), [
    (1.0, 1.0, True), (1.0, 2.0, True), (1.0, 2.5, False), (0.6, 1.0, True), (0.5, 1.0, True), (0.4, 1.0, False),
    (3.0, 0.08, False), (3.0, 0.08 + 1e-9, True), (4.0, 0.08, False),
])  # fmt: skip
def test_two_impacts_that_follow_are_one_unless_a_contact_comes_back(away, back, apart):
    """It came back by more than a fiftieth of the largest speed, here 4, and by no more than twice
    what it left with."""
    p = [0, 0, 1, 0, 1, 0, 0, 0]
    gap_dot = [-4, -4, away, -back, 0, 0, 0, 0]
    count, rows, jump = counted(p, gap_dot)
    # one that is closed for three rows has closed besides, and opens
    assert (count, rows) == ((2, [2, 4]) if apart else (3, [2, 2]))
    assert np.flatnonzero(jump).tolist() == sorted({*rows})
