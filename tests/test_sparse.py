"""Matrices as they come in structures: chains, grids, arrows, thousands of unknowns."""

import json

import numpy as np
import pytest
import scipy.sparse as sparse
from test_newmark import recursion

import explorer as ex
from explorer import GeneralizedAlpha, LinearMechanicalSystem, MoreauJean, Newmark
from explorer.errors import BadModel, BadValue, ModelWarning
from explorer.runs.time_stepping.factors import factorise


def laplacian(n):
    """Return tridiag(-1, 2, -1); eigenvalues 4 sin(k pi / (2 n + 2))^2."""
    return sparse.diags_array([2.0, -1.0, -1.0], offsets=[0, 1, -1], shape=(n, n)).tocsr()


def grid(n, m):
    """Return the stiffness of a membrane of n x m points, held at its edge."""
    one = sparse.eye_array
    return sparse.csr_array(sparse.kron(laplacian(n), one(m)) + sparse.kron(one(n), laplacian(m)))


def matrices(kind, rng):
    """Return M, C, K of a kind of system."""
    n = 14
    if kind == "lumped, explicit":
        return np.diag(rng.uniform(1, 2, n)), np.diag(rng.uniform(0, 1, n)), laplacian(n).toarray()
    if kind == "chain":
        return np.eye(n), 0.1 * laplacian(n).toarray(), 50 * laplacian(n).toarray()
    if kind == "row exchanges":  # C outweighs the diagonal below it
        C = np.diag(rng.uniform(1e4, 2e4, n - 1), -1) - np.diag(rng.uniform(1e4, 2e4, n - 1), 1)
        return np.eye(n), C, 50 * laplacian(n).toarray()
    if kind == "full":
        A, B = rng.normal(size=(2, n, n))
        return A @ A.T + n * np.eye(n), 0.1 * B, B @ B.T
    if kind == "arrow":
        K = np.diag(np.full(120, 300.0))
        K[0] = K[:, 0] = -2.0
        K[0, 0] = 700.0
        return np.eye(120), 0.01 * K, K
    return np.eye(676), 0.01 * grid(26, 26).toarray(), 40 * grid(26, 26).toarray()


@pytest.mark.filterwarnings("ignore:'full' is unstable and grows:explorer.errors.ModelWarning")
@pytest.mark.parametrize("form", [np.asarray, sparse.csc_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        ("lumped, explicit", (0, 0)), ("chain", (1, 1)), ("row exchanges", (1, 2)),
        ("full", (13, 13)), ("arrow", "sparse"), ("grid", "sparse"),
    ],
)  # fmt: skip
def test_every_kind_of_factors_is_the_recursion(kind, shape, form):
    rng = np.random.default_rng(1)
    M, C, K = matrices(kind, rng)
    n = len(M)
    d, v = rng.normal(size=(2, n))
    scheme = GeneralizedAlpha(h=0.01, rho_inf=0.7)
    if kind == "lumped, explicit":
        scheme = Newmark(h=0.01, beta=0)
    co, h = scheme.coefficients, scheme.h
    A = (1 - co.alpha_m) * M + (1 - co.alpha_f) * (co.gamma * h * C + co.beta * h * h * K)
    made = factorise(A if form is np.asarray else sparse.csr_array(A))
    if shape == "sparse":
        assert made.L.ptr.size == n + 1
    else:
        assert (made.below.shape[1], made.above.shape[1], made.L.ptr.size) == (*shape, 0)
        assert bool(made.order.size) == (kind == "row exchanges")
    system = LinearMechanicalSystem(
        kind, form(M), form(K), form(C), ["sin(3*t)"] * n, start={"q": d, "v": v, "t_end": 1.0}
    )
    sol = ex.simulate(system, scheme, t_end=0.12)
    truth = recursion(scheme, M, C, K, lambda t: np.full(n, np.sin(3 * t)), d, v, h, 12)
    for mine, true in zip((sol.q, sol.v, sol.a), truth, strict=True):
        assert np.abs(mine - true).max() <= 1e-10 * (1 + np.abs(true).max())


def test_factors_are_chosen_by_what_they_cost_in_all():
    """A plate: its band solves a little faster than its columns, and is made much slower."""
    n, m = 20, 30
    L = grid(n, m)
    A = sparse.csr_array(sparse.kron(L @ L, np.ones((3, 3))) + 9 * sparse.eye_array(3 * n * m))
    assert factorise(A, 10).L.ptr.size == 3 * n * m + 1
    assert factorise(A, 1e6).L.ptr.size == 0


def test_a_membrane_keeps_its_mode():
    """Average acceleration swings a mode with tan(w h / 2) = omega h / 2, and nothing else."""
    n, h = 50, 0.02
    i, j = np.divmod(np.arange(n * n), n) + np.ones((2, 1))
    phi = np.sin(2 * np.pi * i / (n + 1)) * np.sin(3 * np.pi * j / (n + 1))
    omega = 2 * np.sqrt(sum(np.sin(k * np.pi / (2 * n + 2)) ** 2 for k in (2, 3)) * 900)
    system = LinearMechanicalSystem(
        "membrane", sparse.eye_array(n * n), 900 * grid(n, n), start={"q": phi, "t_end": 2.01}
    )
    sol = ex.simulate(system, Newmark(h=h))
    slow = 2 / h * np.arctan(omega * h / 2)
    assert np.abs(sol.q[:-1] - np.cos(slow * sol.t[:-1])[:, None] * phi).max() < 1e-9
    assert np.ptp(sol.energy) < 1e-10 * sol.energy[0]


def test_the_limit_of_a_large_system_is_that_of_its_highest_mode():
    n = 40
    system = LinearMechanicalSystem("membrane", sparse.eye_array(n * n), 900 * grid(n, n))
    system.start(v=[1.0] * n * n)
    top = 2 * np.sqrt(2 * 900) * np.sin(n * np.pi / (2 * n + 2))
    with pytest.raises(BadValue, match=rf"mode 1600 of 1600 has omega = {top:.6g} rad/s"):
        ex.simulate(system, Newmark(h=2.0001 / top, beta=0), t_end=1)
    assert ex.simulate(system, Newmark(h=1.9999 / top, beta=0), t_end=1).status.ok


def test_moreau_jean_takes_sparse_matrices_as_they_are():
    """The same motion as with dense ones, contacts and a last shorter step included."""
    n = 400
    H = sparse.csr_array((np.ones(3), ([0, 1, 2], [5, 210, 399])), (3, n))
    parts = {"M": sparse.eye_array(n), "K": 40 * grid(20, 20), "C": 0.1 * sparse.eye_array(n)}
    runs = [
        ex.simulate(
            LinearMechanicalSystem(
                "m", **{k: wrap(x) for k, x in parts.items()}, f=[-9.81] * n, H=wrap(H), b=0.05,
                e=0.5, start={"t_end": 0.4037},
            ),
            MoreauJean(h=1e-3),
        )
        for wrap in (lambda x: x, lambda x: x.toarray())
    ]  # fmt: skip
    assert (runs[0].p > 0).any(axis=0).all()
    for name in ("t", "q", "v", "p"):
        one, other = (getattr(run, name) for run in runs)
        assert np.abs(one - other).max() <= 1e-11


def test_who_needs_full_matrices_says_up_to_where():
    system = LinearMechanicalSystem("large", sparse.eye_array(2001), H=sparse.eye_array(1, 2001))
    system.start(v=[1.0] * 2001)
    with pytest.raises(BadValue, match="up to 2000 coordinates, but 'large' has 2001; MoreauJean"):
        ex.simulate(system, ex.NonsmoothGeneralizedAlpha(h=0.01), t_end=0.1)
    assert ex.simulate(system, MoreauJean(h=0.01), t_end=0.1).status.ok


def test_a_sparse_system_is_written_down_and_read():
    K = grid(4, 5)
    system = LinearMechanicalSystem("s", sparse.eye_array(20), K, H=sparse.eye_array(2, 20), e=0.5)
    again = ex.systems.from_spec(json.loads(json.dumps(system.to_spec())))
    assert (again.K != K).nnz == (again.H != system.H).nnz == 0
    assert again.contacts == system.contacts


def test_an_indefinite_mass_is_refused_and_a_stiffness_that_pushes_is_said():
    n = 400
    M = sparse.eye_array(n) + 0.6 * sparse.diags_array(
        [1.0, 1.0], offsets=[1, -1], shape=(n, n)
    )  # eigenvalues 1 + 1.2 cos
    for matrix in (M, M.toarray()[:30, :30]):
        with pytest.raises(BadModel, match="mass matrix of 'm' is indefinite"):
            ex.simulate(LinearMechanicalSystem("m", matrix), Newmark())
    for wrap in (lambda x: x, lambda x: x.toarray()):
        K = wrap(sparse.csr_array(grid(20, 20) - 0.1 * sparse.eye_array(n)))
        square = 8 * np.sin(np.pi / 42) ** 2 - 0.1
        assert square < 0
        system = LinearMechanicalSystem("buckled", np.eye(n), K, start={"v": [1.0] * n})
        with pytest.warns(ModelWarning, match=rf"omega\^2 = {square:.4g} 1/s² and grows"):
            ex.simulate(system, Newmark(), t_end=0.01)
