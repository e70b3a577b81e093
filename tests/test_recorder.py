"""A recorder keeps chosen rows and coordinates; what is known of all steps stays known."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sparse

import explorer as ex
from explorer.errors import BadArgument, BadValue, NoSuchName, NotApplicable
from explorer.runs.time_stepping import motion_rows

SCHEMES = [
    ex.Newmark(h=2e-3),
    ex.GeneralizedAlpha(h=2e-3),
    ex.GeneralizedAlpha(h=2e-3, force="interpolated"),
    ex.Newmark(h=2e-3, error_tol=1e-7),
]


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch):
    """Have runs of a few hundred steps go through many pieces."""
    monkeypatch.setattr(motion_rows, "_PIECE", 300)
    monkeypatch.setattr(motion_rows, "_LEAST", 7)


def shaken(**more):
    """Return four storeys, shaken, with damping."""
    K = 300 * (2 * np.eye(4) - np.eye(4, k=1) - np.eye(4, k=-1))
    system = ex.LinearMechanicalSystem(
        "storeys", np.eye(4), K, 0.3 * np.eye(4), start={"v": [1, 0, 0, 2], "t_end": 1.2}, **more
    )
    system.ground_motion(0.02, np.sin(np.arange(100) * 0.3))
    return system


def yielding():
    """Return two masses on springs that yield."""
    springs = [ex.BilinearSpring("x", 400, 20, 0.1), ex.BilinearSpring("y - x", 300, 10, 0.05)]
    return ex.MechanicalSystem(
        "yielding", q="x y", mass=[[1, 0], [0, 2]], force=["-0.1*v_x", "0"], springs=springs,
        start={"v": [3, -2], "t_end": 1.2}, potential=0,
    )  # fmt: skip


@pytest.mark.parametrize("system", [shaken(), yielding()], ids=lambda s: s.name)
@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
def test_what_is_kept_is_that_of_the_whole_run(system, scheme):
    whole = ex.simulate(system, scheme)
    first, last = system.coordinates[0], system.n - 1
    run = ex.simulate(system, scheme, record=ex.Recorder(every=7, q=[last, first], v=first, a=()))
    rows = np.append(np.arange(0, len(whole.t) - 1, 7), len(whole.t) - 1)
    np.testing.assert_allclose(run.t, whole.t[rows], rtol=0, atol=1e-13)
    np.testing.assert_allclose(run.q, whole.q[rows][:, [last, 0]], rtol=0, atol=1e-12)
    np.testing.assert_allclose(run.v, whole.v[rows][:, [0]], rtol=0, atol=1e-10)
    np.testing.assert_allclose(run.energy, whole.energy[rows], rtol=1e-11)
    np.testing.assert_allclose(run.slip, whole.slip[rows], rtol=0, atol=1e-12)
    assert run.error.max() == pytest.approx(whole.error.max(), rel=1e-6)
    assert run.iterations.max() == whole.iterations.max()
    assert list(run.columns)[:4] == ["t", system.coordinates[last], first, f"v_{first}"]
    balance, known = ex.study.energy_balance(run), ex.study.energy_balance(whole)
    for name in ("external", "damping", "yielding"):
        assert getattr(balance, name) == pytest.approx(getattr(known, name)[rows], abs=1e-10)
    for mine, theirs in zip(run.certificate, whole.certificate, strict=True):
        assert (mine.name, mine.ok) == (theirs.name, theirs.ok)
        assert mine.value == pytest.approx(theirs.value, rel=0.1, abs=1e-11)


def test_a_caution_is_found_in_steps_that_are_not_kept():
    """Energy that is made, and growth that the scheme makes by itself, belong to all steps."""
    duffing = ex.MechanicalSystem(
        "d", q="u", force=["-100*u - 1e4*u**3"], potential="50*u**2 + 2500*u**4",
        start={"q": [0.3], "t_end": 4},
    )  # fmt: skip
    seen = set()
    for system, scheme in (
        (duffing, ex.Newmark(h=2e-3, gamma=0.48)),
        (duffing, ex.Newmark(h=0.02, beta=0.36, gamma=0.5)),
    ):
        whole = ex.simulate(system, scheme, throw=False)
        run = ex.simulate(system, scheme, throw=False, record=ex.Recorder(every=50))
        broken = [check.name for check in whole.certificate.broken]
        assert [check.name for check in run.certificate.broken] == broken
        assert run.status.name == whole.status.name
        seen |= {*broken}
    assert {"growth", "energy made"} <= seen


def test_times_choose_the_row_at_or_behind_each():
    run = ex.simulate(shaken(), ex.Newmark(h=1e-3), record=ex.Recorder(times=[0.9, 0.25, 0.3333]))
    assert run.t == pytest.approx([0, 0.25, 0.334, 0.9, 1.2])
    assert run.at(0.25).q == pytest.approx(run.q[1])
    with pytest.raises(BadValue, match="lies between the recorded rows"):
        run.at(0.5)


def test_a_run_says_what_it_kept(tmp_path):
    record = ex.Recorder(every=20, q=["q2"], v=())
    run = ex.simulate(shaken(), ex.Newmark(h=1e-3), record=record)
    assert "61 rows of 1200 steps, q of q2, a of q1, q2, q3, ... (4 coordinates)" in repr(run)
    with pytest.raises(NoSuchName, match=r"It was not recorded: Recorder\(every=20"):
        print(run.v)
    assert not hasattr(run, "v")
    again = ex.load(run.save(tmp_path / "kept.npz"))
    for other in (again, pickle.loads(pickle.dumps(run)), ex.rerun(run)):
        assert (other.q == run.q).all()
        assert (other.energy == run.energy).all()
        assert other.certificate.summary == run.certificate.summary
        assert other.recorded.q == ("q2",)
        assert repr(other) == repr(run)
    assert set(run.to_pandas()) >= {"t", "q2", "a_q1"}
    assert set(run.to_xarray()) >= {"q", "a"}


def test_pictures_mark_rows_and_join_none():
    record = ex.Recorder(every=20, q=["q2"])
    run = ex.simulate(shaken(), ex.Newmark(h=1e-3), record=record)
    figure = ex.views.trajectory(run)
    assert {trace.mode for trace in figure.data} == {"markers"}
    assert (np.asarray(figure.data[0].y) == run.q[:, 0]).all()
    assert "61 rows of 1200 steps" in str(figure.layout)
    with pytest.raises(NotApplicable, match=r"views\.phase needs all rows"):
        ex.views.phase(run)
    whole = ex.simulate(shaken(), ex.Newmark(h=1e-3), record=ex.Recorder(q=[1, 2], v=()))
    assert {trace.mode for trace in ex.views.trajectory(whole).data} == {"lines"}
    with pytest.raises(NotApplicable, match="Nothing of v was recorded"):
        ex.views.velocities(whole)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: ex.Recorder(every=0), "every = 0 must be a whole number"),
        (lambda: ex.Recorder(every=2, times=[1]), "every or times, not both"),
        (lambda: ex.Recorder(times=["noon"]), "finite times"),
        (
            lambda: ex.simulate(shaken(), ex.Newmark(), record=ex.Recorder(q=["q9"])),
            "names 'q9', which is not a coordinate",
        ),
        (lambda: ex.simulate(shaken(), ex.Newmark(), record=ex.Recorder(q=7)), "from 0 to 3"),
        (lambda: ex.simulate(shaken(), ex.Newmark(), record=10), "write Recorder"),
        (
            lambda: ex.simulate(shaken(), ex.MoreauJean(), record=ex.Recorder()),
            "does not accept record: it keeps all rows",
        ),
    ],
)
def test_a_wrong_question_is_answered(ask, words):
    with pytest.raises((BadValue, BadArgument), match=words):
        ask()


def test_the_advice_fits(monkeypatch):
    """A run beyond memory is told a recorder with which it fits, and how much it needs."""
    from explorer.runs import steps as base

    n = 300
    K = sparse.diags_array([2.0, -1.0, -1.0], offsets=[0, 1, -1], shape=(n, n)).tocsr()
    system = ex.LinearMechanicalSystem("chain", sparse.eye_array(n), K, start={"v": [1.0] * n})
    monkeypatch.setattr(motion_rows, "_PIECE", 2**16)
    for module in (base, motion_rows):
        monkeypatch.setattr(module, "MOST_BYTES", 2**20)
    with pytest.raises(BadValue, match=r"record=Recorder\(every=(\d+)\)") as said:
        ex.simulate(system, ex.Newmark(h=1e-3), t_end=2)
    every = int(str(said.value).split("every=")[1].split(")")[0])
    assert 20 <= every <= 100  # 14.4 MB of q, v, a in 1 MB beside what is known of each step
    run = ex.simulate(system, ex.Newmark(h=1e-3), t_end=2, record=ex.Recorder(every=every))
    assert len(run.t) == 2000 // every + 1
    assert run.status.ok
