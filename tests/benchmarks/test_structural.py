"""Speed of the structural schemes: ratios within one run; microseconds a step are printed."""

import numpy as np
import pytest
import scipy.sparse as sparse

import explorer as ex
from explorer.models import models


def building(n):
    """Return n storeys with Rayleigh damping, shaken at the base."""
    K = 1000 * sparse.diags_array([2.0, -1.0, -1.0], offsets=[0, 1, -1], shape=(n, n)).toarray()
    K[-1, -1] = 1000
    system = ex.LinearMechanicalSystem("building", np.eye(n), K, 0.1 * np.eye(n) + 1e-3 * K)
    system.ground_motion(0.02, np.sin(np.arange(2001) * 0.1))
    return system


def oscillator():
    """Return one mass, driven."""
    return ex.LinearMechanicalSystem("o", [[1.0]], [[4.0]], [[0.1]], ["sin(2*t)"])


CASES = {
    "SDOF linear": (oscillator(), 40),
    "Duffing": (models["duffing"](), 40),
    "bilinear": (models["bilinear_oscillator"](), 40),
    **{f"building of {n}": (building(n), 2000 / (n + 100)) for n in (10, 100, 1000)},
}


def per_step(system, t_end, scheme=None, rounds=7):
    """Return the best kernel time a step in microseconds, in memory that is used again."""
    scheme = ex.Newmark(h=1e-2) if scheme is None else scheme
    runs = (ex.simulate(system, scheme, t_end=t_end) for _ in range(rounds))
    return min(run.seconds / (len(run.t) - 1) for run in runs) * 1e6


@pytest.mark.parametrize("name", CASES)
def test_a_step(benchmark, name):
    system, t_end = CASES[name]
    run = benchmark(ex.simulate, system, ex.Newmark(h=1e-2), t_end=t_end)
    benchmark.extra_info["us a step"] = per_step(system, t_end)
    assert run.status.ok


def test_the_cost_of_a_building_grows_like_its_height():
    """Bands and entries, never n^2: a hundred times the storeys, some hundred times the time."""
    times = [per_step(building(n), 2.0, rounds=15) for n in (10, 1000)]
    assert times[1] < 300 * times[0]


def test_a_matrix_that_is_factored_once_beats_newton():
    """The same oscillator, with a spring too weak to matter that makes it nonlinear."""
    start = {"v": [1.0] * 20}
    plain = ex.MechanicalSystem("o", q=20, force=[f"-4*q{i + 1}" for i in range(20)], start=start)
    bent = ex.MechanicalSystem(
        "o", q=20, force=[f"-4*q{i + 1} - 1e-9*q{i + 1}**3" for i in range(20)], start=start
    )
    assert per_step(plain, 20.0) < 0.7 * per_step(bent, 20.0)


def test_sparse_factors_beat_the_band():
    """A membrane of 60 x 60: its band is 60 wide, its fill is not."""
    n = 60
    one, chain = sparse.eye_array(n), sparse.diags_array(
        [2.0, -1.0, -1.0], offsets=[0, 1, -1], shape=(n, n)
    )  # fmt: skip
    K = sparse.csr_array(sparse.kron(chain, one) + sparse.kron(one, chain))
    from explorer.runs.time_stepping import factors

    system = ex.LinearMechanicalSystem("m", sparse.eye_array(n * n), K)
    system.start(v=[1.0] * n * n)
    before, quick, slow = factors._SCATTERED, [], []
    try:
        for _ in range(4):  # by turns: a machine that is busy for a while is so for both
            factors._SCATTERED = before
            quick.append(per_step(system, 1.0, rounds=3))
            factors._SCATTERED = 1e9
            slow.append(per_step(system, 1.0, rounds=3))
    finally:
        factors._SCATTERED = before
    assert min(quick) < min(slow)
