"""Steps of Radau's method told by what they ask for, and explicit ones whose numbers are zero or one."""

from __future__ import annotations

import numpy as np
import pytest
from loops import for_each
from plain import plain, put, space

from explorer.codes import SUCCESS
from explorer.kernels.event_driven.records import DOP853, DOPRI5, NEWMARK, RADAU
from explorer.kernels.event_driven.structures import newton_of, step_of

radau, explicit = plain("event_driven.radau"), plain("event_driven.runge_kutta")
dense = plain("linear_algebra.dense_lu")
T, H, FAILS = 1.5, 0.25, 77


# ---------------------------------------------------------------- Radau


@for_each("nx", [1, 2, 3])
def test_both_matrices_of_radaus_method_are_factored_whole(nx):
    """I - h A x J and mu / h - J: their factors solve all of their equations."""
    rng, h = np.random.default_rng(nx), 0.3
    A, J = rng.normal(size=(4, 4)), 3 * rng.normal(size=(nx, nx))
    _, newton = newton_of(RADAU, nx, nx)
    newton.J[:] = J
    assert radau.factor(newton, A, h, nx)
    for factors, pivots, matrix in (
        (newton.matrix, newton.pivots, np.eye(3 * nx) - h * np.kron(A[1:, 1:], J)),
        (newton.error, newton.error_pivots, radau.MU / h * np.eye(nx) - J),
    ):
        size = len(matrix)
        b = rng.normal(size=size)
        x = b.copy()
        dense.lu_solve(factors, size, size - 1, size - 1, pivots, x)
        np.testing.assert_allclose(matrix @ x, b, atol=1e-10)


@for_each("size", [1e-12, 1.0])
def test_a_correction_is_told_in_its_own_size_and_infinity_is_none(size):
    """Relative to the component and 1e-6, and to its tolerance."""
    nx, A = 1, np.zeros((4, 4))
    step = step_of(3, 2)
    step.K[:], slopes = 0.0, step.radau
    slopes.Z[:, 0] = -size * np.array([1.0, 3.0, 2.0])
    newton = space(matrix=np.eye(3), pivots=np.arange(3), r=np.zeros(3))
    method = space(A=A, rtol=0.5, atol=0.25)
    change, off = radau.correct(method, newton, slopes, np.array([4.0, 0.0]), 1.0, nx, 0)
    assert change == pytest.approx(3 * size / (4.0 + 1e-6))
    assert off == pytest.approx(3 * size / (0.5 * 4.0 + 0.25))
    slopes.Z[0, 0] = -np.inf
    with np.errstate(invalid="ignore"):
        assert radau.correct(method, newton, slopes, np.array([4.0, 0.0]), 1.0, nx, 0) == (
            np.inf,
            np.inf,
        )


def radau_stepped(monkeypatch, changes, *, held=False, projects=SUCCESS, width=1):
    """Return the status, what has been asked for, and the step of a method whose corrections are scripted."""
    said, y, changes = [], np.array([1.0, 2.0, 3.0, 4.0]), iter(changes)
    step = step_of(3, 4)
    step.K[:], step.stage[:], step.new[:] = 5.0, 0.0, 0.0

    def flow(problem, t, x, slope, width):
        said.append((t, width, x.tolist()))
        slope[:] = t
        return SUCCESS

    def correct(method, newton, slopes, y, h, nx, width):
        slopes.Z[:] += 1.0
        return next(changes)

    put(monkeypatch, radau.radau_step, jacobian=lambda *_: SUCCESS, factor=lambda *_: True, correct=correct, flow=flow,
        estimate=lambda newton, step, h, nx, width: said.append("estimate"), constrained=lambda _: held,
        project=lambda problem, t, new, width: said.append(("project", t, width)) or new.__iadd__(100.0) is None or projects)  # fmt: skip
    status = radau.radau_step(
        space(sizes=space(n_x=1)),
        space(A=None, c=np.array([0.0, 0.25, 0.5, 1.0]), radau_newton=space(J=None)),
        step,
        T,
        y,
        H,
        width,
    )
    return status, said, step


@for_each(("changes", "rounds", "good"), [
    ([(1e-15, 9.0)], 1, True), ([(1.0, 0.0), (1e-15, 0.0)], 2, True), ([(8.0, 1e-9), (4.0, 1e-9), (2.0, 1e-9), (1.0, 1e-9), (0.5, 1e-9), (0.25, 1e-9), (0.125 + 1e-9, 1e-9)], 7, True),
    ([(1.0, 9.0), (np.inf, np.inf)], 2, False), ([(1.0, 1e-9)] * 4, 4, True), ([(1.0, 9.0)] * radau.MOST, radau.MOST, False),
])  # fmt: skip
def test_radaus_iteration_ends_at_round_off_or_where_it_is_good_and_slow(
    monkeypatch, changes, rounds, good
):
    """Slow: a change is more than half of the one before; that from the fourth round on."""
    status, said, step = radau_stepped(monkeypatch, changes)
    flows = [one for one in said if isinstance(one[0], float)]
    assert status == SUCCESS
    assert len(flows) == 3 * rounds + good
    assert [one[0] for one in flows[:3]] == [T + 0.25 * H, T + 0.5 * H, T + H]
    assert [one[2] for one in flows[:3]] == [[1.0, 2.0, 3.0, 4.0]] * 3
    assert ("estimate" in said) == good
    assert np.isfinite(step.new[0]) == good


@for_each(("held", "projects"), [(False, SUCCESS), (True, SUCCESS), (True, FAILS)])
def test_the_end_of_a_step_of_radau_is_put_on_its_constraints(monkeypatch, held, projects):
    """And its slope is that at this end."""
    status, said, step = radau_stepped(monkeypatch, [(1e-15, 0.0)], held=held, projects=projects)
    assert status == (projects if held else SUCCESS)
    assert said[3:5] == [
        "estimate",
        *[("project", T + H, 1)] * held,
        *[(T + H, 1, step.new.tolist())] * (not held),
    ]
    assert step.new.tolist() == [
        2.0 + 100 * held,
        3.0 + 100 * held,
        4.0 + 100 * held,
        5.0 + 100 * held,
    ]
    if status == SUCCESS:
        assert said[-1] == (T + H, 1, step.new.tolist())
        assert (step.end == T + H).all()
        assert (step.spare == 5.0).all()


def test_a_jacobian_is_taken_without_columns(monkeypatch):
    widths = []
    put(
        monkeypatch,
        radau.jacobian,
        flow=lambda problem, t, y, slope, width: widths.append(width) or SUCCESS,
    )
    step = space(slope=np.zeros(3), stage=np.zeros(3), new=np.zeros(3))
    assert (
        radau.jacobian(space(sizes=space(n_x=2)), step, np.zeros((2, 2)), 0.0, np.ones(3))
        == SUCCESS
    )
    assert widths == [0, 0]


# ---------------------------------------------------------------- explicit steps


@for_each(
    ("status", "held", "kept"),
    [(SUCCESS, True, True), (SUCCESS, False, False), (FAILS, True, False), (FAILS, False, False)],
)
def test_a_step_of_newmark_is_kept_on_constraints_where_it_stands(monkeypatch, status, held, kept):
    told = []
    put(
        monkeypatch,
        explicit.advance,
        newmark_step=lambda *_: status,
        constrained=lambda _: held,
        keep=lambda problem, step, t, width: told.append((t, width)) or 55,
    )
    assert explicit.advance(None, space(code=NEWMARK), None, 1, 1, T, None, H, 2) == (
        55 if kept else status
    )
    assert told == [(T + H, 2)] * kept


@for_each("a", [0.0, 1.0, 2.0])
def test_every_weight_of_a_stage_counts(monkeypatch, a):
    put(
        monkeypatch,
        explicit.advance,
        constrained=lambda _: False,
        projected=lambda _: False,
        slopes=lambda *_: SUCCESS,
    )
    step = space(K=np.array([[3.0, 5.0], [0.0, 0.0]]), stage=np.zeros(2), new=np.zeros(2))
    method = space(
        code=DOPRI5, A=np.array([[0.0, 0.0], [a, 0.0]]), c=np.array([0.0, 1.0]), stages=1
    )
    assert (
        explicit.advance(
            space(sizes=space(n_x=1)), method, step, 1, 1, T, np.array([1.0, 2.0]), 0.5, 0
        )
        == SUCCESS
    )
    assert step.new.tolist() == [1.0 + 1.5 * a, 2.0 + 2.5 * a]


@for_each(("code", "rows"), [(DOPRI5, 3), (DOP853, 3), (RADAU, 4)])
def test_errors_are_of_all_rows_and_of_none_behind_them(code, rows):
    """Two stages: their slopes and that of the end, and of Radau's method the row of its error."""
    K = np.zeros((6, 1))
    method = space(code=code, E=np.ones((2, 6)), stages=2, rtol=0.0, atol=1.0)
    for j in range(6):
        K[:] = 0.0
        K[j] = 2.0
        error = explicit.step_error(method, space(new=np.zeros(1), K=K), np.zeros(1), 0.5, 1, 0)
        both = 4.0 / np.sqrt(4.0 + 0.01 * 4.0) if code == DOP853 else 2.0
        assert error == pytest.approx(0.5 * both if j < rows else 0.0)


@for_each("size", [1e-8, 1e-3, 1.0, 1e3])
def test_stiffness_is_a_ratio_of_any_size(size):
    step = space(
        K=np.array([[0.0], [1.0 * size], [3.0 * size]]),
        stage=np.array([1.0 * size]),
        new=np.array([1.5 * size]),
    )
    assert explicit.stiffness(step, 2, 0.5, 1) == pytest.approx(0.5 * 4.0)
    step.new[:] = step.stage
    assert explicit.stiffness(step, 2, 0.5, 1) == 0.0


@for_each("scale", [1e-3, 1.0])
def test_a_first_step_is_guessed_in_units_of_its_tolerance(monkeypatch, scale):
    """From y = 0.2, y' = 0.1 and y'' = 0 there, of one component beside a cost of 0."""
    put(
        monkeypatch,
        explicit.first_step,
        flow=lambda problem, t, y, slope, width: (
            slope.__setitem__(slice(None), [0.1 * scale, 0.0]) or SUCCESS
        ),
    )
    step = space(slope=np.array([0.1 * scale, 0.0]), new=np.zeros(2), stage=np.zeros(2))
    got = explicit.first_step(
        space(sizes=space(n_x=1)),
        space(rtol=0.0, atol=1.0, exponent=-0.5),
        step,
        0.0,
        np.array([0.2 * scale, 0.0]),
        100.0,
    )
    bend = 0.1 * scale / np.sqrt(2)
    assert got == pytest.approx(min(100 * 0.02, np.sqrt(0.01 / bend), 100.0))
