"""LCP solvers: the defining property, agreement, ray termination, the 17 problems of Siconos."""

from __future__ import annotations

from fractions import Fraction

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loops import for_each
from plain import opened, plain
from twin import DATA, lcp, lcp_solutions, natural_residual, read_lcp

from explorer import status
from explorer.codes import SUCCESS
from explorer.errors import BadArgument
from explorer.kernels.complementarity import lcp as kernels
from explorer.kernels.complementarity.from_python import solve_lcp
from explorer.kernels.complementarity.structures import (
    FACTORED,
    Lcp,
    LcpOptions,
    LcpWorkspace,
    lcp_workspace,
)
from explorer.kernels.references import refer

TOL = 1e-9
METHODS = {"lemke": kernels.LEMKE, "enumeration": kernels.ENUMERATION, "pgs": kernels.PGS}
NAMES = sorted(p.stem.removeprefix("lcp_") for p in (DATA / "lcp").glob("*.dat"))
BY_SICONOS = set(NAMES) - {"CPS_3", "Pang_isolated_sol_perturbed"}


@numba.njit
def solve(problem, m, band, options, work):
    """Call the kernel, which takes structures by reference, with structures."""
    return kernels.solve(refer(problem), m, band, refer(options), refer(work))


@numba.njit
def block_pivot(problem, m, band, work):
    return kernels.block_pivot(refer(problem), m, band, refer(work))


@numba.njit
def residual(problem, m, band):
    return kernels.residual(refer(problem), m, band)


@pytest.mark.parametrize("kernel", [kernels.solve, kernels.solve_one])
def test_python_cannot_call_a_kernel_that_has_no_wrapper(kernel):
    with pytest.raises(BadArgument, match=rf"Only kernels can call {kernel.py_func.__name__} of"):
        kernel(0, 1.0, -2.0)


def test_python_solves_a_contact_problem_and_then_one_with_another_matrix():
    """Four contacts, whose factors are kept in a march of steps with the same matrix."""
    work, act = lcp_workspace(4, 5), np.array([0, 2, 3, 4])
    for k in (1.0, 2.0):
        M, w, P = k * (np.eye(5) + 0.5), np.array([-1.0, -2.0, 1.0, -3.0]), np.empty(4)
        code, off = solve_lcp(Lcp(M, act, w, P), LcpOptions(kernels.LEMKE, TOL, 100), work)
        assert (code, off) == (SUCCESS, pytest.approx(0.0, abs=1e-12))
        assert natural_residual(M[np.ix_(act, act)], w, P) < 1e-12


def workspace(m: int, n: int) -> LcpWorkspace:
    """Return work arrays for problems of size m, whose index list is one of a matrix of size n."""
    member, kept = np.zeros(n, np.int8), np.array([(-1, 0, 0)], FACTORED)
    rows, pivots = np.zeros(m, np.int64), np.zeros(max(m, 2), np.int64)
    A, T = np.zeros((m, m)), np.zeros((m, 2 * m + 2))
    return LcpWorkspace(member, kept, rows, A, pivots, T, np.zeros(m))


def run_solve(method, M, q, *, act=None, tol=TOL, cap=20_000):
    """Call `solve` as the time loop does; return status, z, residual reported."""
    m = len(q)
    act = np.arange(m) if act is None else act
    problem, options = Lcp(M, act, q, np.zeros(m)), LcpOptions(METHODS[method], tol, cap)
    code, off = solve(problem, m, m, options, workspace(m, len(M)))
    return code, problem.z, off


def run_lemke(M, q, cap=10_000):
    """Call Lemke alone."""
    m = len(q)
    z, w = np.zeros(m), workspace(m, m)
    code = kernels.lemke(M, np.arange(m), m, m, q, cap, 1e-11, z, w.T, w.pivots, w.b)
    return code, z


def run_block_pivot(M, q, work=None):
    """Call block pivoting alone, cold or from a kept working set."""
    m = len(q)
    problem = Lcp(M, np.arange(m), q, np.zeros(m))
    code = block_pivot(problem, m, m, workspace(m, m) if work is None else work)
    return code, problem.z


def solved(M, q, z, tol=1e-7):
    """z >= 0, w >= 0, z w = 0, in one number, beside the size of q."""
    size = np.abs(q).max(initial=1e-300)
    return (z >= 0).all() and natural_residual(M, q, z) <= tol * size


KINDS = ("definite", "nonsymmetric", "m_matrix", "p_triangular")


def matrix(kind: str, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return a P-matrix of a kind; the problem has exactly one solution for every q."""
    B = rng.normal(size=(n, n))
    if kind == "definite":
        return B @ B.T + 0.1 * n * np.eye(n)
    if kind == "nonsymmetric":
        return B @ B.T + 0.1 * n * np.eye(n) + 2 * (B - B.T)
    if kind == "m_matrix":
        off = np.abs(B) * (rng.random((n, n)) < 0.5)
        np.fill_diagonal(off, 0)
        return np.diag(off.sum(axis=1) + 0.1 + rng.random(n)) - off
    return np.tril(B, -1) + np.diag(0.5 + rng.random(n))


@st.composite
def problems(draw, kinds=KINDS, high=12):
    """Draw a matrix, a right side, and a scale of each; zeros and ties in q are common."""
    n, seed = draw(st.integers(1, high)), draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    M = matrix(draw(st.sampled_from(kinds)), n, rng)
    q = rng.normal(size=n) - draw(st.sampled_from([0.0, 1.0]))
    if draw(st.booleans()):
        q = np.round(q)
    scales = st.sampled_from([1e-9, 1e-4, 1.0, 1e5, 1e9])
    return draw(scales) * M, draw(scales) * q


@settings(max_examples=40, deadline=None, derandomize=True)
@given(problems())
def test_each_solver_solves_p_matrices(problem):
    """Lemke, the cascade and enumeration agree with the twin, at every scale of M and of q."""
    M, q = problem
    expected = lcp(M, q) if len(q) <= 7 else run_lemke(M, q)[1]
    size = np.abs(expected).max() + np.abs(q).max() / np.diag(M).min()
    for method in ("lemke", "enumeration"):
        code, z, res = run_solve(method, M, q)
        assert code == status.SUCCESS, method
        assert solved(M, q, z), method
        assert res == pytest.approx(
            natural_residual(M, q, z), rel=1e-3, abs=1e-14 * np.abs(q).max()
        )
        assert np.abs(z - expected).max() <= 1e-6 * size, method
    code, z = run_lemke(M, q)
    assert code == status.SUCCESS
    assert solved(M, q, z)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(problems(kinds=("definite", "m_matrix")))
def test_projected_gauss_seidel_solves_definite_and_m_matrices(problem):
    """Where its convergence is proved it arrives, at the solution that Lemke finds."""
    M, q = problem
    code, z, _ = run_solve("pgs", M, q, cap=100_000)
    assert code == status.SUCCESS
    assert solved(M, q, z)
    assert np.abs(z - run_lemke(M, q)[1]).max() <= 1e-5 * np.abs(q).max() / np.diag(M).min()


@settings(max_examples=80, deadline=None, derandomize=True)
@given(problems(kinds=("definite", "m_matrix")), st.integers(0, 2**32 - 1))
def test_warm_block_pivoting_equals_cold(problem, seed):
    """A working set and a factorisation kept from another q change nothing but the time."""
    M, q = problem
    rng, n = np.random.default_rng(seed), len(q)
    warm = workspace(n, n)
    warm.member[:] = rng.random(n) < 0.5
    for _ in range(4):
        code, z = run_block_pivot(M, q, warm)
        cold_code, cold = run_block_pivot(M, q)
        if code == cold_code == status.SUCCESS:
            size = np.abs(cold).max() + np.abs(q).max() / np.diag(M).min()
            assert np.abs(z - cold).max() <= 1e-8 * size
            assert solved(M, q, z)
        q = q + 0.3 * np.abs(q).max() * rng.normal(size=n)
    again, same = run_block_pivot(M, q, warm)
    if again == status.SUCCESS:
        kept = warm.kept.copy()
        second, z = run_block_pivot(M, q, warm)
        assert second == status.SUCCESS
        assert np.array_equal(z, same)
        assert np.array_equal(warm.kept, kept)


def test_what_lemke_leaves_behind_is_no_factor():
    """Kept factors are made anew after a problem that Lemke's method solved in between."""
    rng = np.random.default_rng(5)
    M, work = matrix("m_matrix", 6, rng), workspace(6, 6)
    options = LcpOptions(kernels.LEMKE, TOL, 1000)
    all_rows, some, q = np.arange(6), np.arange(3), -1.0 - rng.random(6)
    first = Lcp(M, all_rows, q, np.zeros(6))
    assert solve(first, 6, 6, options, work)[0] == status.SUCCESS
    assert work.kept["count"][0] == 6
    part = Lcp(M, some, q[:3].copy(), np.zeros(3))
    assert solve(part, 3, 3, options, work)[0] == status.SUCCESS
    assert work.kept["count"][0] == -1
    again = Lcp(M, all_rows, q, np.zeros(6))
    assert solve(again, 6, 6, options, work)[0] == status.SUCCESS
    assert np.array_equal(again.z, first.z)


def test_block_pivoting_mostly_arrives_in_the_range_it_is_used_for():
    """The test above is not empty: cold starts succeed on nearly all diagonally dominant problems."""
    rng = np.random.default_rng(3)
    codes = []
    for _ in range(200):
        n = int(rng.integers(4, 13))
        M = matrix("m_matrix", n, rng)
        codes.append(run_block_pivot(M, rng.normal(size=n))[0])
    assert np.mean(np.array(codes) == status.SUCCESS) > 0.95


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.integers(2, 12), st.integers(1, 4), st.integers(0, 2**32 - 1), st.booleans())
def test_redundant_contacts_are_solved(n, rank, seed, repeated):
    """M = G W^-1 G' of a rank below n, compatible q: a solution, and the same velocity G'z."""
    rng = np.random.default_rng(seed)
    G = rng.normal(size=(n, rank))
    if repeated:
        G = G[rng.integers(0, max(1, n // 2), n)]
    M = G @ G.T
    q = G @ rng.normal(size=rank) + (rng.random(n) < 0.3) * rng.random(n)
    code, z, _ = run_solve("lemke", M, q, tol=1e-8)
    assert code == status.SUCCESS
    assert solved(M, q, z, 1e-7)
    if n <= 7:
        for other in lcp_solutions(M, q):
            assert np.abs(G.T @ (z - other)).max() <= 1e-5 * np.abs(q).max()


def exact_bases(M, q, most):
    """Return the bases of Lemke's method in rational numbers; of equal ratios the smallest row of
    its tableau, column by column, leaves, but z0 before all others."""
    m = len(q)
    rows = [[Fraction(int(i == j)) for j in range(m)] + [Fraction(-v) for v in M[i]] + [Fraction(-1), Fraction(q[i])]
            for i in range(m)]  # fmt: skip
    basis, entering, seen = list(range(m)), 2 * m, []
    row = min(range(m), key=lambda i: (rows[i][-1], i))
    while len(seen) < most:
        leaving, basis[row] = basis[row], entering
        rows[row] = [v / rows[row][entering] for v in rows[row]]
        for i in range(m):
            if i != row:
                factor = rows[i][entering]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[row], strict=True)]
        seen.append(list(basis))
        if leaving == 2 * m:
            break
        entering = (leaving + m) % (2 * m)
        ratios = {
            i: [v / rows[i][entering] for v in rows[i]] for i in range(m) if rows[i][entering] > 0
        }
        if not ratios:
            break
        row = min(ratios, key=lambda i: (ratios[i][-1], basis[i] != 2 * m, ratios[i][:m]))
    return seen


def test_a_block_is_solved_and_all_beside_it_is_zero():
    """Also where the block is that of the last call, whose factors serve again."""
    rng, block, m = np.random.default_rng(5), plain("complementarity.lcp").solve_block, 5
    act, work = np.array([6, 0, 3, 5, 1]), opened(lcp_workspace(m, 7))
    A = rng.normal(size=(7, 7))
    M = A @ A.T + np.eye(7)
    for inside in ((), (1,), (0, 2, 3), (0, 2, 3), (0, 1, 2, 3, 4), (4,)):
        q, z, on = rng.normal(size=m), np.full(m, np.nan), [*inside]
        work.member[:] = 0
        work.member[act[on]] = 1
        assert block(Lcp(M, act, q, z), m, work)
        expected = np.zeros(m)
        if on:
            expected[on] = np.linalg.solve(M[np.ix_(act[on], act[on])], -q[on])
        np.testing.assert_allclose(z, expected, atol=1e-12)


def test_the_lexicographic_rule_takes_the_same_bases_as_in_rational_numbers():
    """Small whole numbers, so ratios tie often, some of them in the first columns as well."""
    rng, plainly, tied = np.random.default_rng(3), plain("complementarity.lcp").lemke, 0
    for _ in range(150):
        m = int(rng.integers(3, 7))
        M = rng.integers(-1, 2, (m, m))
        np.fill_diagonal(M, 1)
        q = -rng.integers(0, 2, m)
        if not q.any():
            continue
        expected = exact_bases(M.tolist(), q.tolist(), 12)
        for k in range(1, len(expected) + 1):
            z, w = np.zeros(m), workspace(m, m)
            plainly(1.0 * M, np.arange(m), m, m, 1.0 * q, k, 1e-11, z, w.T, w.pivots, w.b)
            assert list(w.pivots[:m]) == expected[k - 1]
        tied += len(expected)
    assert tied > 300


@for_each("n", range(1, 13))
@for_each("hard", [False, True])
def test_lexicographic_rule_ends_on_murty(n, hard):
    """Murty's matrices, on which some rules need 2^n pivots or cycle; z = (0, ..., 0, 1) known."""
    M = np.eye(n) + 2 * np.triu(np.ones((n, n)), 1)
    q = -np.ones(n)
    if hard:
        q = -np.cumsum(2.0 ** np.arange(n, 0, -1))
    code, z = run_lemke(M, q, cap=2 ** (n + 1))
    assert code == status.SUCCESS
    assert solved(M, q, z, 1e-12)
    if not hard:
        assert z == pytest.approx(np.eye(n)[-1], abs=1e-12)
    assert run_solve("lemke", M, q)[0] == status.SUCCESS


@pytest.mark.parametrize("n", [2, 5, 12])
def test_lexicographic_rule_ends_on_ties(n):
    """Every ratio ties: equal rows, equal q, zeros in q; at most a few pivots a row."""
    M = np.ones((n, n))
    for q in (-np.ones(n), -np.ones(n) + np.eye(n)[0], np.where(np.arange(n) % 2, -1.0, 0.0)):
        code, z = run_lemke(M, q, cap=20 * n)
        assert code == status.SUCCESS
        assert solved(M, q, z, 1e-12)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(problems(kinds=("definite",), high=6), st.integers(0, 2**32 - 1))
def test_a_sub_problem_reads_only_its_own_rows(problem, seed):
    """The index list picks rows and columns; NaN everywhere else does not matter."""
    small, q = problem
    m = len(q)
    act = np.sort(np.random.default_rng(seed).choice(9, m, replace=False))
    M = np.full((9, 9), np.nan)
    M[np.ix_(act, act)] = small
    for method in METHODS:
        code, z, res = run_solve(method, M, q, act=act, cap=100_000)
        plain = run_solve(method, small, q, cap=100_000)
        assert (code, res) == (plain[0], plain[2])
        assert np.array_equal(z, plain[1])


UNSOLVABLE = [
    ([[0.0]], [-1.0]),
    ([[-1.0]], [-1.0]),
    ([[0.0, 0.0], [0.0, 1.0]], [-1.0, -1.0]),
    ([[1.0, -1.0], [-1.0, 1.0]], [-1.0, -1.0]),  # two contacts pressed against each other
    ([[-1.0, 0.0], [0.0, -2.0]], [-3.0, -1.0]),
]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("M", "q"), UNSOLVABLE)
def test_unsolvable_problem_has_a_status(M, q, method):
    """No solution exists: never SUCCESS, from any method, and the twin finds none either."""
    M, q = np.array(M), np.array(q)
    assert list(lcp_solutions(M, q)) == []
    code, _, res = run_solve(method, M, q, cap=200)
    assert code in (status.LCP_RAY, status.LCP_ITERATIONS)
    assert not res <= TOL * np.abs(q).max()
    assert run_lemke(M, q)[0] == status.LCP_RAY


@for_each("method", METHODS)
@for_each("value", [np.nan, np.inf, -np.inf])
@for_each("n", [1, 2, 5])
def test_a_matrix_that_is_not_finite_is_no_success(method, value, n):
    """NaN or infinity in M ends with a status."""
    M, q = 3 * np.eye(n) + 0.1, -np.ones(n)
    M[0, 0] = value
    assert run_solve(method, M, q, cap=100)[0] != status.SUCCESS


@for_each("method", METHODS)
@for_each("value", [np.nan, np.inf, -np.inf])
@for_each("n", [1, 2, 5])
def test_a_right_side_that_is_not_finite_is_no_wrong_success(method, value, n):
    """NaN or -infinity ends with a status; +infinity too, unless the other rows are solved."""
    M, q = 3 * np.eye(n) + 0.1, -np.ones(n)
    q[0] = value
    code, z, _ = run_solve(method, M, q, cap=100)
    right = value == np.inf and np.isfinite(z).all() and solved(M[1:, 1:], q[1:], z[1:])
    assert code != status.SUCCESS or right


@pytest.mark.parametrize(
    ("M", "q", "z"), [(np.nan, -1, 0), (1, np.nan, 0), (1, np.nan, 1), (1, -1, np.nan)]
)
def test_a_nan_comes_out_of_the_residual(M, q, z):
    """The residual judges every answer, so NaN in anything must show in it."""
    act, q, z = np.zeros(1, np.int64), np.full(1, q, float), np.full(1, z, float)
    assert np.isnan(residual(Lcp(np.full((1, 1), M, float), act, q, z), 1, 1))


@pytest.mark.parametrize("method", METHODS)
def test_nothing_to_do_when_q_is_not_negative(method):
    """z = 0, residual 0."""
    for q in (np.zeros(4), np.arange(4.0)):
        code, z, res = run_solve(method, np.eye(4), q)
        assert (code, res) == (status.SUCCESS, 0.0)
        assert not z.any()


def test_the_data_are_read_as_written():
    """Sizes; a column-wise matrix (Murty's is upper triangular); comments are not numbers."""
    assert len(NAMES) == 17
    assert {n: len(read_lcp(n)[1]) for n in ("mmc", "tobenna", "ortiz", "CPS_1")} == {
        "mmc": 26, "tobenna": 40, "ortiz": 4, "CPS_1": 2,
    }  # fmt: skip
    M, q = read_lcp("exp_murty")
    assert np.array_equal(M, np.eye(6) + 2 * np.triu(np.ones((6, 6)), 1))
    assert np.array_equal(q, -np.ones(6))


@pytest.mark.parametrize("name", sorted(BY_SICONOS))
def test_lemke_solves_what_siconos_lemke_solves(name):
    """Residual max |min(z, M z + q)| below 1e-6, as in Siconos's own tests; by Lemke alone too."""
    M, q = read_lcp(name)
    code, z, _ = run_solve("lemke", M, q)
    assert code == status.SUCCESS
    assert (z >= 0).all()
    assert np.abs(np.minimum(z, M @ z + q)).max() <= 1e-6
    code, z = run_lemke(M, q)
    assert code == status.SUCCESS
    assert np.abs(np.minimum(z, M @ z + q)).max() <= 1e-6


@for_each("method", METHODS)
@for_each("name", NAMES)
def test_success_means_a_small_residual(name, method):
    """Never a silent wrong answer: SUCCESS and a small residual come together, or a status."""
    M, q = read_lcp(name)
    if method == "enumeration" and len(q) > 12:
        M, q = np.ascontiguousarray(M[:12, :12]), q[:12].copy()
    code, z, res = run_solve(method, M, q, cap=2000)
    true = natural_residual(M, q, z)
    assert code in (status.SUCCESS, status.LCP_RAY, status.LCP_ITERATIONS)
    assert (code == status.SUCCESS) == (true <= TOL * np.abs(q).max() and (z >= 0).all())
    assert res == pytest.approx(true, rel=1e-6, abs=1e-12 * np.abs(q).max(), nan_ok=True)


def test_the_problem_without_solution_ends_with_a_status():
    """Pang's perturbed problem has no exact solution: enumeration in NumPy finds none."""
    M, q = read_lcp("Pang_isolated_sol_perturbed")
    assert list(lcp_solutions(M, q, 1e-6)) == []
    for method in METHODS:
        assert run_solve(method, M, q, cap=2000)[0] != status.SUCCESS
