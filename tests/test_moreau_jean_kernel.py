"""The step of Moreau-Jean, uncompiled: what it begins with, in which order it works, what it writes."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from loops import for_each
from plain import plain

from explorer.codes import SUCCESS

kernel = plain("time_stepping.moreau_jean")
STICK, ROUND = kernel.STICK, kernel.ROUND
FAILS = 77  # a status
# two contacts; the first one has a tangent, row 2
TANGENTS = np.array([2, 3, 3])


def replaced(monkeypatch, **stand_ins):
    """Let kernels that the step calls be others."""
    for name, stand_in in stand_ins.items():
        monkeypatch.setitem(kernel.advance.__globals__, name, stand_in)


# ---------------------------------------------------------------- what is written


@for_each(
    ("P", "held"), itertools.product([(2.0, 3.0), (2.0, 0.0), (0.0, 3.0), (-1e-18, -1e-18)], [2, 3])
)
def test_a_step_is_written_with_what_its_contacts_do(P, held):
    """Of a contact without an impulse no friction is left; `held` > 2: a tangent takes part."""
    rng, n, row, h = np.random.default_rng(3), 3, 1, 0.2
    record = SimpleNamespace(
        q=np.zeros((4, n)), v=np.zeros((4, n)), p=np.full((4, 3), 9.0),
        p_max=np.full((4, 1), 9.0), active=np.zeros((4, 3), int),
    )  # fmt: skip
    iterate = SimpleNamespace(
        q=rng.normal(size=n), v=rng.normal(size=n), F0=np.zeros(n), F1=rng.normal(size=n)
    )
    active = SimpleNamespace(
        act=np.array([0, 1, 2]), place=np.array([2, -1, -1]), mode=np.array([STICK, 8, 8]),
        w=np.array([-3.0, 2.0, 99.0]), P=np.array([*P, 0.25]), mu=np.array([0.5, 0.0, 0.0]),
    )  # fmt: skip
    state = [SimpleNamespace(reach=0.1)]
    work = SimpleNamespace(iterate=iterate, active=active, state=state)
    problem = SimpleNamespace(
        sizes=SimpleNamespace(n=n, contacts=2), contacts=SimpleNamespace(tangents=TANGENTS)
    )
    kernel.write(problem, record, work, SimpleNamespace(row=row, m=2, held=held, h=h))
    np.testing.assert_array_equal(record.q[2], iterate.q)
    np.testing.assert_array_equal(record.v[2], iterate.v)
    np.testing.assert_array_equal(iterate.F0, iterate.F1)
    assert state[0].reach == pytest.approx(h * 3.0)
    for j in (0, 1):
        assert record.p[2, j] == P[j]
        assert record.active[2, j] == (2 if P[j] > 0 else 0)
    rubs = P[0] > 0 and held > 2
    assert record.active[2, 2] == (STICK if rubs else 0)
    assert record.p_max[2, 0] == (0.5 * P[0] if rubs else 9.0)
    assert record.p[2, 2] == (0.0 if P[0] <= 0 else 0.25 if held > 2 else 9.0)
    for other in (0, 1, 3):
        assert not record.q[other].any()
        assert (record.p[other] == 9.0).all()


def test_the_largest_way_of_a_contact_is_kept():
    """A step in which contacts move less leaves it."""
    n = 1
    record = SimpleNamespace(
        q=np.zeros((2, n)), v=np.zeros((2, n)), p=np.zeros((2, 3)), p_max=np.zeros((2, 1)),
        active=np.zeros((2, 3), int),
    )  # fmt: skip
    zeros = SimpleNamespace(q=np.zeros(n), v=np.zeros(n), F0=np.zeros(n), F1=np.zeros(n))
    active = SimpleNamespace(
        act=np.array([0]), place=np.array([-1]), mode=np.zeros(3, int), w=np.array([0.5]),
        P=np.array([1.0]), mu=np.zeros(1),
    )  # fmt: skip
    state = [SimpleNamespace(reach=7.0)]
    problem = SimpleNamespace(
        sizes=SimpleNamespace(n=n, contacts=2), contacts=SimpleNamespace(tangents=TANGENTS)
    )
    work = SimpleNamespace(iterate=zeros, active=active, state=state)
    kernel.write(problem, record, work, SimpleNamespace(row=0, m=1, held=1, h=1.0))
    assert state[0].reach == 7.0


# ---------------------------------------------------------------- where a march begins


def begun(monkeypatch, *, row=0, gap=0.0, slip=0.0, compliant=True, tangents=TANGENTS):
    """Return record, state and compliance after the begin of a march."""
    monkeypatch.setitem(kernel.begin.__globals__, "forget", lambda work: None)
    monkeypatch.setitem(kernel.begin.__globals__, "fill", lambda *given: None)
    monkeypatch.setitem(kernel.begin.__globals__, "bends", lambda bundles: compliant)
    bent = []
    monkeypatch.setitem(kernel.begin.__globals__, "bend", lambda *given: bent.append(given[2]))

    def force(bundles, which, linear, out):
        out[:] = 5.0

    def look(problem, record, work, row, h):
        assert h == 0.0
        work.state[0].far = 2.0

    monkeypatch.setitem(kernel.begin.__globals__, "force", force)
    monkeypatch.setitem(kernel.begin.__globals__, "look", look)
    n, rows = 2, int(tangents[-1])
    record = SimpleNamespace(
        t=np.zeros(3), q=np.zeros((3, n)), v=np.array([[1.0, slip]] * 3), p=np.array([[1.0, 2, 3, 4]] * 3),
        gap=np.array([[gap, 1.0]] * 3), gap_dot=np.array([[0, 0, slip]] * 3),
        active=np.full((3, rows), 9),
    )  # fmt: skip
    compliance = SimpleNamespace(given=np.full(2, 9.0), point=np.full(2, 9.0))
    G = SimpleNamespace(
        ptr=np.array([0, 1, 2, 4]), col=np.array([0, 0, 0, 1]), val=np.array([1.0, 1, 0, 1])
    )
    state = [SimpleNamespace(width=9, formed=9.0, far=9.0, reach=9.0)]
    problem = SimpleNamespace(
        contacts=SimpleNamespace(compliance=compliance, tangents=tangents, G=G),
        sizes=SimpleNamespace(n=n, contacts=2, rows=rows), method=SimpleNamespace(h=0.5),
        bundles=SimpleNamespace(inp=None, out=np.zeros(9)), outputs=SimpleNamespace(rates=0),
        linear=None,
    )  # fmt: skip
    iterate = SimpleNamespace(bias=np.ones(3), F0=np.zeros(n))
    kernel.begin(problem, record, SimpleNamespace(state=state, iterate=iterate), row)
    assert not iterate.bias.any()
    assert (iterate.F0 == 5.0).all()
    assert (state[0].width, state[0].formed, state[0].reach) == (rows - 1, 0.0, 0.0)
    np.testing.assert_array_equal(compliance.given, 0.0)
    np.testing.assert_array_equal(compliance.point, [2.0, 4.0])  # p / h
    assert (len(bent) == 1) == compliant
    return record.active


def test_a_closed_contact_that_does_not_slide_sticks_at_first(monkeypatch):
    assert begun(monkeypatch)[0].tolist() == [9, 9, STICK]
    assert begun(monkeypatch, slip=0.3)[0].tolist() == [9, 9, 0]
    assert begun(monkeypatch, gap=0.9 * 2 * ROUND)[0].tolist() == [9, 9, STICK]
    assert begun(monkeypatch, gap=-0.9 * 2 * ROUND)[0].tolist() == [9, 9, STICK]
    assert begun(monkeypatch, gap=1.1 * 2 * ROUND)[0].tolist() == [9, 9, 9], "it is open"
    assert begun(monkeypatch, row=1, compliant=False)[1].tolist() == [9, 9, 9], "it goes on"


@for_each(("moving", "told"), [((), STICK), ((2,), 0), ((3,), 0), ((2, 3), 0)])
def test_a_contact_in_space_slides_where_either_tangent_does(monkeypatch, moving, told):
    monkeypatch.setitem(kernel.begin.__globals__, "slides", lambda problem, record, a: a in moving)
    assert begun(monkeypatch, tangents=np.array([2, 4, 4]))[0].tolist() == [9, 9, told, 9]


@for_each(("rate", "told"), [(0.0, False), (0.9e-9, False), (1.1e-9, True), (-1.1e-9, True)])
def test_sliding_is_more_than_the_round_off_of_what_makes_it(rate, told):
    """The tangent has the entries (3, -1) at v = (1, 3 - rate): what is left of 3 - 3 is no slide."""
    G = SimpleNamespace(ptr=np.array([0, 0, 2]), col=np.array([0, 1]), val=np.array([3.0, -1.0]))
    problem = SimpleNamespace(
        contacts=SimpleNamespace(G=G), bundles=SimpleNamespace(out=np.zeros(5)),
        outputs=SimpleNamespace(rates=2),
    )  # fmt: skip
    record = SimpleNamespace(v=np.array([[1.0, 3.0]]), gap_dot=np.array([[0.0, 3 * rate]]))
    assert kernel.slides(problem, record, 1) == told
    problem.bundles.out[3] = -30.0  # a belt whose speed nearly cancels the rest
    assert not kernel.slides(problem, record, 1)


# ---------------------------------------------------------------- in which order a step works


def stepped(monkeypatch, fails="", **options):
    """Return the status of a step, the kernels that it called, its work and its record."""
    called = []

    def stand_in(name, answer):
        def f(*given):
            called.append(name)
            return FAILS if name == fails else answer

        return f

    replaced(
        monkeypatch,
        choose=stand_in("choose", (1, 2)), take=stand_in("take", None),
        write=stand_in("write", None), force=stand_in("force", None),
        **{k: stand_in(k, SUCCESS) for k in ("predict", "iterate", "project", "look", "constrained_step")},
        refer=lambda x: x, value_of=lambda x: x,
    )  # fmt: skip
    given = {"constant": False, "levels": False, "projected": kernel.NOTHING, "state_force": False}
    problem = SimpleNamespace(
        options=SimpleNamespace(**{**given, **options}), method=SimpleNamespace(theta=0.5),
        sizes=SimpleNamespace(n=2, constraints=2), bundles=None, linear=None,
    )  # fmt: skip
    iterate = SimpleNamespace(v_free=np.array([1.0, 2, 3, 4]), F1=None)
    work = SimpleNamespace(state=[SimpleNamespace(factored=0.1)], iterate=iterate)
    record = SimpleNamespace(p_phi=np.zeros((3, 2)))
    task = SimpleNamespace(problem=problem, record=record, work=work)
    shared = SimpleNamespace(work=work, task=task)
    status = kernel.advance(problem, record, shared, 1, 0.2, 0.4)
    return status, called, work, record


USUAL = ["choose", "predict", "take", "iterate", "write", "look"]


def test_a_step_predicts_solves_and_writes(monkeypatch):
    status, called, _, record = stepped(monkeypatch)
    assert (status, called) == (SUCCESS, USUAL)
    np.testing.assert_array_equal(record.p_phi[2], [3, 4])  # behind the velocities
    assert not record.p_phi[:2].any()


def test_constant_matrices_are_factored_once_for_each_length(monkeypatch):
    status, called, work, _ = stepped(monkeypatch, constant=True)
    assert (status, called) == (kernel.UNFACTORED, [])
    assert work.state[0].factored == 0.2


@for_each(("projected", "state_force"), itertools.product([False, True], repeat=2))
def test_positions_are_projected_before_they_are_written(monkeypatch, projected, state_force):
    how = kernel.NOTHING + 1 if projected else kernel.NOTHING
    status, called, *_ = stepped(monkeypatch, projected=how, state_force=state_force)
    between = ["project"] * projected + ["force"] * (projected and state_force)
    assert (status, called) == (SUCCESS, [*USUAL[:4], *between, *USUAL[4:]])


def test_both_levels_are_held_by_a_step_of_their_own(monkeypatch):
    status, called, *_ = stepped(monkeypatch, levels=True)
    assert (status, called) == (SUCCESS, ["choose", "constrained_step", "write", "look"])


@for_each("fails", ["predict", "iterate", "project", "look", "constrained_step"])
def test_a_part_that_fails_ends_the_step(monkeypatch, fails):
    """Nothing is written behind it; `look` comes last."""
    options = {"levels": fails == "constrained_step"}
    options |= {"projected": kernel.NOTHING + 1} if fails == "project" else {}
    status, called, *_ = stepped(monkeypatch, fails, **options)
    assert status == FAILS
    assert called[-1] == fails
    assert ("write" in called) == (fails == "look")


def test_another_interval_of_the_inputs_begins_anew(monkeypatch):
    told = []
    replaced(
        monkeypatch,
        hold=lambda *given: told.append(given), begin=lambda *given: told.append(given[-1]),
    )  # fmt: skip
    problem = SimpleNamespace(grid=SimpleNamespace(drive="d"), bundles=SimpleNamespace(inp="i"))
    shared = SimpleNamespace(task=SimpleNamespace(problem=problem, record=None, work=None))
    assert kernel.cross(problem, None, shared, 4, 2) is True
    assert told == [("d", "i", 2), 4]
