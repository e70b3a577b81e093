"""Sampled forcing: against the exact answer to a piecewise linear load, everywhere the same."""

import itertools
import json

import numpy as np
import pytest

import explorer as ex
from explorer import (
    GeneralizedAlpha,
    LinearMechanicalSystem,
    MechanicalSystem,
    MoreauJean,
    Newmark,
    NonsmoothGeneralizedAlpha,
    Record,
)
from explorer.errors import BadModel, BadValue, NotApplicable

DT = 0.02
SHAKE = np.random.default_rng(4).normal(size=101)  # 2 s


def oscillator(**more):
    return MechanicalSystem(
        "oscillator", q="x", params={"m": 2.0, "k": 50.0}, mass=[["m"]], force=["-k*x - 0.4*v_x"],
        start={"q": [0.1], "t_end": 2.0}, **more,
    )  # fmt: skip


def exact(t):
    """Return x of m x'' + c x' + k x = -m a_g by the closed form for a linear load in each step.

    (Chopra, *Dynamics of Structures*, table 5.2.1, as powers of the matrix exponential.)
    """
    import scipy.linalg

    A = np.zeros((4, 4))  # x, v, the load, its slope
    A[0, 1] = A[2, 3] = 1
    A[1] = -25, -0.2, -1, 0
    step = scipy.linalg.expm(A * DT)
    rows = [np.array([0.1, 0.0])]
    for low, high in itertools.pairwise(SHAKE):
        rows.append((step @ [*rows[-1], low, (high - low) / DT])[:2])
    return np.array(rows)[np.round(t / DT).astype(int)]


@pytest.mark.parametrize("kind", [Newmark, GeneralizedAlpha, MoreauJean, NonsmoothGeneralizedAlpha])
def test_an_earthquake_is_answered_to_the_order_of_the_scheme(kind):
    """Steps of the samples' distance and below: order 2, for a record is linear between samples."""
    system = oscillator()
    system.ground_motion(DT, SHAKE)
    assert system.features == {"recorded forcing"}
    error = []
    for h in (DT / 8, DT / 16):
        sol = ex.simulate(system, kind(h=h))
        rows = np.round(np.arange(0, 2 + DT / 2, DT) / h).astype(int)
        error.append(np.abs(np.column_stack([sol.q, sol.v])[rows] - exact(sol.t[rows])).max())
    assert error[1] < 2e-4
    assert np.log2(error[0] / error[1]) == pytest.approx(2, abs=0.15)


def test_records_and_formulas_and_matrices_are_one_force():
    """A record that samples a straight line is that line; several add up; `along` takes parameters."""
    t = np.arange(0, 2.5, 0.5)
    plain = LinearMechanicalSystem(
        "l", np.eye(2), 9 * np.eye(2), f=["g*(3 - t)", "2*t - 1"], params={"g": 2.0}
    )
    mixed = LinearMechanicalSystem(
        "l", np.eye(2), 9 * np.eye(2), f=[0, -1], params={"g": 2.0},
        records=[Record(0.5, 3 - t, ["g", 0]), Record(0.5, t, [0, 2], "ramp")],
    )  # fmt: skip
    formulas = MechanicalSystem(
        "f", q=2, force=["-9*q1", "-9*q2 - 1"], params={"g": 2.0},
        records=[Record(0.5, 3 - t, ["g", 0]), Record(0.5, t, [0, 2], "ramp")],
    )  # fmt: skip
    for scheme in (Newmark(h=0.01), GeneralizedAlpha(h=0.01, force="interpolated"),
                   MoreauJean(h=0.01), GeneralizedAlpha(error_tol=1e-7)):  # fmt: skip
        truth = ex.simulate(plain, scheme, t_end=2, g=3)
        for system in (mixed, formulas):
            sol = ex.simulate(system, scheme, t_end=2, g=3)
            assert sol.certificate.ok, sol.certificate
            assert np.abs(sol.q - truth.q).max() < 1e-12
            assert np.abs(sol.v - truth.v).max() < 1e-12


def test_a_spring_that_yields_and_a_nonlinear_one_are_shaken_too():
    """The nonlinear loop reads records as the constant one does: where nothing yields they agree."""
    spring = ex.BilinearSpring("x", 50, 1e9)
    shaken = []
    for system in (
        oscillator(),
        MechanicalSystem("y", q="x", mass=[[2]], force=["-0.4*v_x"], springs=[spring],
                         start={"q": [0.1], "t_end": 2.0}),
    ):  # fmt: skip
        system.ground_motion(DT, SHAKE)
        shaken.append(ex.simulate(system, Newmark(h=DT / 4)))
    assert np.abs(shaken[0].q - shaken[1].q).max() < 1e-12


def test_the_work_of_an_earthquake_balances():
    system = oscillator(potential="k*x**2/2")
    system.ground_motion(DT, SHAKE)
    balance = ex.study.energy_balance(ex.simulate(system, Newmark(h=DT / 4)))
    assert np.abs(balance.external).max() > 0.01
    assert np.abs(balance.numerical).max() < 1e-12
    linear = LinearMechanicalSystem("l", [[2.0]], [[50.0]], [[0.4]], start={"q": [0.1], "t_end": 2})
    linear.ground_motion(DT, SHAKE)
    other = ex.study.energy_balance(ex.simulate(linear, Newmark(h=DT / 4)))
    assert other.external == pytest.approx(balance.external, abs=1e-12)
    assert np.abs(other.numerical).max() < 1e-12


@pytest.mark.parametrize("linear", [False, True])
def test_records_are_written_down_shown_and_run_again(tmp_path, linear):
    system = oscillator() if not linear else LinearMechanicalSystem("l", [[2.0]], [[50.0]])
    system.ground_motion(DT, SHAKE, name="El Centro")
    again = ex.systems.from_spec(json.loads(json.dumps(system.to_spec())))
    assert again.records[0].along == system.records[0].along
    assert np.array_equal(again.records[0].values, SHAKE)
    assert "El Centro: 101 samples every 0.02 s" in system._repr_markdown_()
    sol = ex.simulate(system, Newmark(h=0.01), t_end=1)
    sol.save(tmp_path / "run.npz")
    assert np.array_equal(ex.rerun(ex.load(tmp_path / "run.npz")).q, sol.q)


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (Record(0.1, [0, np.nan, 1], ["1"]), r"Sample 1 of 'record 1' \(t = 0.1 s\) is nan"),
        (Record(0.1, [[0, 1], [1, 2]], ["1"]), r"sequence of two or more numbers.*\(2, 2\)"),
        (Record(0.1, [3.0], ["1"]), "two or more numbers"),
        (Record(0.1, ["a", "b"], ["1"]), "sequence of real numbers"),
        (Record(0.1, [0, 1], ["1", "2"]), "along of 'record 1' needs 1 component, but 2 given"),
        (Record(0.1, [0, 1], ["x"]), "depends on 'x'; it may depend on parameters only"),
        (Record(0.1, [0, 1], ["t"]), "depends on 't'"),
        (Record(0.0, [0, 1], ["1"]), "dt of 'record 1' = 0 must be greater than zero"),
    ],
)
def test_a_record_that_makes_no_sense(record, words):
    with pytest.raises((BadModel, BadValue), match=words):
        oscillator(records=[record])


def test_a_record_that_ends_too_early_and_who_takes_none():
    system = oscillator(records=[Record(0.1, np.zeros(11), [1], "short")])
    with pytest.raises(BadModel, match="Two records of 'oscillator' are called 'short'"):
        system.forcing(Record(0.1, [0, 1], [1], "short"))
    with pytest.raises(BadValue, match=r"'short' ends at t = 1 s .* before t_end = 2 s"):
        ex.simulate(system, Newmark(h=0.01))
    assert ex.simulate(system, Newmark(h=0.01), t_end=1).t[-1] == 1
    with pytest.raises(NotApplicable, match=r"with recorded forcing(.|\n)*Newmark"):
        ex.simulate(system, ex.EventDriven(), t_end=1)
    moving = MechanicalSystem("m", q="x", mass=[["1 + x**2"]])
    with pytest.raises(BadModel, match="along of 'ground' depends on 'x'"):
        moving.ground_motion(0.1, [0, 1])
    with pytest.raises(BadModel, match="influence of 'ground' needs 1 numbers"):
        moving.ground_motion(0.1, [0, 1], [1, 2])
