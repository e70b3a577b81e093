"""Contacts that give way to each other's forces: 0 <= g(q) + d(lam) perp lam >= 0."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import explorer as ex
from explorer import Contact, FirstOrderSystem, LinearMechanicalSystem, MechanicalSystem, MoreauJean
from explorer.errors import BadModel, BadValue, NotApplicable

A, B = 2e-3, 8e-4  # m/N: of each stop to its own force, and to that of the other
D = np.array([[A, B], [B, A]])
GAPS = "y + a*lam_left + b*lam_right", "z + b*lam_left + a*lam_right"


def stops(form="matrix", mass=(1.0, 1.0), force=(0, 0), q=(0, 0), v=(0, 0), **law):
    """Return two masses above two stops on one flexible support."""
    given = {"params": {"a": A, "b": B}, "start": {"q": [*q], "v": [*v], "t_end": 0.6}}
    matrix = [["a", "b"], ["b", "a"]]
    if form == "arrays":
        return LinearMechanicalSystem(
            "two", np.diag(mass), f=[*force], H=np.eye(2), names=["left", "right"],
            compliance=matrix, **given,
        )  # fmt: skip
    system = MechanicalSystem("two", q="y z", mass=np.diag(mass).tolist(), force=[*force], **given)
    gaps = GAPS if form == "gaps" else ("y", "z")
    names = "left", "right"
    system.contact(*(Contact(g, name=n, **law) for g, n in zip(gaps, names, strict=True)))
    if form == "matrix":
        system.compliance = matrix
    if form == "curved":  # Newton's method has to look at it
        system.mass, system.compliance = [[f"{mass[0]} + 1e-12*y**2", 0], [0, mass[1]]], matrix
    return system


def broken(run, given):
    """Return by how much the law of contacts is broken at the rows of a run, in m and N."""
    off = np.minimum(run.gap + given(run.lam), run.lam)[1:]
    return np.abs(off).max()


FORMS = ("matrix", "gaps", "arrays", "curved")


@pytest.mark.parametrize("form", FORMS)
def test_weights_on_a_shared_support_sink_by_d_lam(form):
    weights = np.array([9.81, 19.62])
    run = ex.simulate(stops(form, (1, 2), -weights, -D @ weights), MoreauJean(h=1e-3))
    assert np.abs(run.q + D @ weights).max() < 1e-13
    assert np.abs(run.lam[1:] - weights).max() < 1e-9
    assert not run.cautions


@pytest.mark.parametrize("form", FORMS)
def test_impacts_on_a_shared_support_are_those_of_its_modes(form):
    """Both stops closed: q'' = -D^-1 q / m, whose modes are (1, 1) and (1, -1); to first order."""
    speed, m = np.array([1.2, 0.8]), 0.7
    modes, w = np.array([[1, 1], [1, -1]]) / np.sqrt(2), 1 / np.sqrt(m * np.array([A + B, A - B]))
    t_end, errors = 0.5 * np.pi / w[0], []
    for h in t_end / np.array([50, 100, 200, 400]):
        run = ex.simulate(stops(form, (m, m), v=-speed), MoreauJean(h=h, theta=1.0), t_end=t_end)
        exact = -(np.sin(np.outer(run.t, w)) / w * (modes @ speed)) @ modes
        errors.append(np.abs(run.q - exact).max())
        assert run.lam[1:].min() > 0
        assert broken(run, lambda lam: lam @ D) < 1e-13
        assert not run.cautions
    assert np.log2(np.array(errors[:-1]) / errors[1:]).mean() == pytest.approx(1, abs=0.15)


START = {"q": [0.02, 0.05], "v": [-1.0, -1.0]}  # both land, push each other off, and leave


def test_it_moves_as_the_complementarity_system_of_the_same_equations():
    """y = q + D lam is what `FirstOrderSystem` takes; the implicit Euler steps are the same."""
    circuit = FirstOrderSystem(
        "two", x="y z u w", f=["u", "w", 0, 0], y=["y + a*left + b*right", "z + b*left + a*right"],
        laws=dict.fromkeys(("left", "right"), "complementarity"), r={"u": "left", "w": "right"},
        params={"a": A, "b": B}, start={"x": [*START["q"], *START["v"]]},
    )  # fmt: skip
    one = ex.simulate(stops(**START), MoreauJean(h=1e-3, theta=1.0), t_end=0.3)
    other = ex.simulate(circuit, ex.EulerMoreau(h=1e-3, theta=1.0, gamma=1.0), t_end=0.3)
    assert one.lam.max() > 20
    assert np.abs(one.q - other.x[:, :2]).max() < 1e-12
    assert np.abs(one.lam[1:] - other.lam[1:]).max() < 1e-9


def test_it_moves_as_on_light_nodes_of_real_springs():
    """Two nodes of 0.01 g on springs D^-1 and dampers, hit without rebound."""
    h = 2e-5
    law = ex.simulate(stops(**START), MoreauJean(h=h), t_end=0.3)
    K, none = np.linalg.inv(D), np.zeros((2, 2))
    springs = LinearMechanicalSystem(
        "springs", np.diag([1, 1, 1e-5, 1e-5]), np.block([[none, none], [none, K]]),
        np.diag([0, 0, 0.1, 0.1]), H=[[1, 0, -1, 0], [0, 1, 0, -1]], e=0.0,
        start={"q": [*START["q"], 0, 0], "v": [*START["v"], 0, 0]},
    )  # fmt: skip
    run = ex.simulate(springs, MoreauJean(h=h, theta=1.0), t_end=0.3)
    assert np.abs(run.q[:, :2] - law.q).max() < 1e-3
    alone = ex.simulate(stops(**START), MoreauJean(h=h), b=0, t_end=0.3)
    assert np.abs(alone.q - law.q).max() > 5e-2  # what the coupling does


@settings(max_examples=6, deadline=None)
@given(
    seed=st.integers(0, 10_000), n=st.integers(2, 6), rank=st.integers(1, 6),
    theta=st.sampled_from([0.5, 0.7, 1.0]),
)  # fmt: skip
def test_every_accepted_state_obeys_the_law(seed, n, rank, theta):
    """Of any D, also a singular one; the contacts beyond its rank stay as they are coupled."""
    rng = np.random.default_rng(seed)
    L = rng.normal(size=(n, min(rank, n))) * 0.02
    M = np.diag(rng.uniform(0.5, 2, n))
    K = 50 * np.diag(rng.uniform(0, 1, n))
    system = LinearMechanicalSystem(
        "many", M, K, f=[*rng.uniform(-9, 0, n)], H=rng.normal(size=(n, n)), b=0.3,
        compliance=L @ L.T, start={"v": [*rng.uniform(-1, 0, n)]},
    )  # fmt: skip
    run = ex.simulate(system, MoreauJean(h=2e-3, theta=theta), t_end=0.3)
    assert broken(run, lambda lam: lam @ (L @ L.T)) < 1e-9
    assert {c.name for c in run.certificate.checks if not c.ok} <= {"energy lost"}


def test_a_sparse_beam_with_three_coupled_stops():
    """Of 400 nodes; the same stops on a full matrix give the same run."""
    n, places = 400, [40, 200, 350]
    K = scipy.sparse.diags_array(
        [np.full(n - 1, -4e3), np.full(n, 8e3), np.full(n - 1, -4e3)], offsets=[-1, 0, 1]
    ).tocsr()
    H = scipy.sparse.csr_array((np.ones(3), (range(3), places)), (3, n))
    soft = 1e-3 * np.array([[3, 1, 0.5], [1, 2, 1], [0.5, 1, 3]])
    runs = [
        ex.simulate(
            LinearMechanicalSystem(
                "beam", M, k, f=[-9.81] * n, H=G, b=1e-3, compliance=soft, names=["a", "b", "c"]
            ),
            MoreauJean(h=1e-3), t_end=0.1,
        )
        for M, k, G in (
            (scipy.sparse.eye_array(n).tocsr(), K, H), (np.eye(n), K.toarray(), H.toarray())
        )
    ]  # fmt: skip
    assert broken(runs[0], lambda lam: lam @ soft) < 1e-12 * runs[0].lam.max()
    assert np.abs(runs[0].q - runs[1].q).max() < 1e-11
    assert (runs[0].lam.max(axis=0) > 1).all()


def test_pads_on_a_shared_support_rub_by_their_own_forces():
    """A sled on two pads: at rest each sinks by D lam, and mu g stops it as on rigid ground."""
    system = MechanicalSystem(
        "sled", q="x y phi", params={"g": 9.81}, mass=np.diag([2, 2, 0.2]).tolist(),
        force=[0, "-2*g", 0], compliance=[[1e-4, 3e-5], [3e-5, 1e-4]],
        contacts=[
            Contact("y - 0.4*phi", name="rear", mu=0.3, slip="v_x"),
            Contact("y + 0.4*phi", name="front", mu=0.3, slip="v_x"),
        ],
        start={"q": [0, -1.3e-4 * 9.81, 0], "v": [1.5, 0, 0], "t_end": 0.8},
    )  # fmt: skip
    run = ex.simulate(system, MoreauJean(h=1e-3))
    assert run.q[-1] == pytest.approx([1.5**2 / (2 * 0.3 * 9.81), -1.3e-4 * 9.81, 0], abs=2e-3)
    assert np.abs(run.lam[1:] - 9.81).max() < 1e-6
    assert not run.cautions


@pytest.mark.parametrize(("law", "force"), [
    ("(lam_pad/k)**(2/3)", "k*max(-y, 0)**1.5"),  # Hertz: D is infinite where the contact opens
    ("0.1*(1 - exp(-lam_pad/k))", "-k*log(1 - 10*max(-y, 0))"),  # stiffens without end
    ("lam_pad/k + 1e-6*lam_pad**3", None),
])  # fmt: skip
def test_a_nonlinear_stop_is_its_nonlinear_spring(law, force):
    """The law to round-off at every step, and the path of the spring to first order."""
    given = {"params": {"k": 500.0}, "start": {"q": [0.1], "v": [-1.0]}}
    stop = MechanicalSystem("stop", q="y", contacts=[Contact(f"y + {law}", name="pad")], **given)
    read = stop.contacts[0].gap, stop.compliance[0, 0].free_symbols
    assert read[0] == stop.q[0]
    assert any(s.name == "lam_pad" for s in read[1])
    errors = []
    for h in (4e-3, 2e-3, 1e-3, 5e-4):
        run = ex.simulate(stop, MoreauJean(h=h), t_end=0.3)
        deep = eval(law, {"lam_pad": run.lam, "k": 500.0, "exp": np.exp})
        assert broken(run, lambda lam, deep=deep: deep) < 1e-9 * run.lam.max()
        assert not run.cautions
        if force:
            spring = MechanicalSystem("spring", q="y", force=[force], **given)
            exact = ex.simulate(spring, ex.EventDriven(rtol=1e-9, atol=1e-12), t_end=0.3)
            errors.append(np.abs(run.q[-1] - exact.q[-1]).max())
    if force:
        assert np.log2(errors[0] / errors[-1]) / 3 == pytest.approx(1, abs=0.35)


def test_nonlinear_stops_may_be_coupled():
    """d from the potential lam' D lam / 2 + c (lam_left + lam_right)^4 / 4: a hardening support."""
    c, both = 1e-6, "c*(lam_left + lam_right)**3"
    system = MechanicalSystem(
        "two", q="y z", params={"a": A, "b": B, "c": c}, start=START,
        contacts=[Contact(f"{g} + {both}", name=n)
                  for g, n in zip(GAPS, ("left", "right"), strict=True)],
    )  # fmt: skip
    run = ex.simulate(system, MoreauJean(h=1e-3), t_end=0.3)
    assert broken(run, lambda lam: lam @ D + c * lam.sum(axis=1, keepdims=True) ** 3) < 1e-9
    assert (run.lam > 0).all(axis=1).any()
    assert not run.cautions
    again = ex.systems.from_spec(system.to_spec())
    assert np.array_equal(ex.simulate(again, MoreauJean(h=1e-3), t_end=0.3).q, run.q)
    shown = system._repr_markdown_()
    assert r"\lambda_{1}" in shown
    assert "lam_{" not in shown


@pytest.mark.parametrize("form", FORMS)
def test_it_is_kept_by_copies_pickles_and_files(form):
    system = stops(form, **START)
    run = ex.simulate(system, MoreauJean(h=2e-3))
    for again in (
        copy.deepcopy(system), pickle.loads(pickle.dumps(system)),
        ex.systems.from_spec(system.to_spec()),
    ):  # fmt: skip
        assert again.compliance == system.compliance
        assert np.array_equal(ex.simulate(again, MoreauJean(h=2e-3)).q, run.q)
    rows = LinearMechanicalSystem(
        "rows", np.eye(2), H=[[1, 0]], names=["left"], contacts=[Contact("q2", name="right")],
        compliance=D,
    )  # fmt: skip
    assert ex.systems.from_spec(rows.to_spec()).compliance == rows.compliance


def test_a_gap_with_its_own_force_alone_is_a_compliance():
    one, other = (
        MechanicalSystem("one", q="y", params={"c": 1e-3}, contacts=[c], start={"v": [-1]})
        for c in (Contact("y + c*lam_pad", name="pad"), Contact("y", name="pad", compliance="c"))
    )
    assert one.contacts[0].compliance == other.contacts[0].compliance
    assert one.to_spec() == other.to_spec()
    S = np.array([[7.0, -1, 0.3], [-1, 5, 0.7], [0.3, 0.7, 3]])
    D = np.linalg.inv(S) * (1 + 1e-15 * np.arange(3))  # symmetric to round-off
    three = LinearMechanicalSystem("three", np.eye(3), H=np.eye(3), compliance=D)
    assert np.array_equal(np.array(three.compliance, float), D)


def test_a_run_that_breaks_the_law_says_so():
    run = ex.simulate(stops(**START), MoreauJean(h=1e-3), t_end=0.3)
    assert run.certificate.ok
    lam = run.lam.argmax(axis=0)[0]
    for row, part in ((lam, 1 + 1e-5), (3, None)):
        wrong = copy.copy(run)
        p = run.p.copy()
        p[row] = 1e-3 if part is None else p[row] * part
        object.__setattr__(wrong, "p", p)
        wrong.__dict__.pop("certificate", None)
        assert not wrong.certificate.ok, (row, part)


def test_what_makes_no_sense_is_refused():
    y, z = Contact("y", name="left"), Contact("z", name="right")

    def two(*contacts, **given):
        contacts = [*contacts] or [y, z]
        return MechanicalSystem("two", q="y z", contacts=contacts, start={"v": [-1, 0]}, **given)

    for compliance, says in (
        ([[1, 2]], "must be 2 x 2, but it is given as 1 x 2"),
        ([[1, 0.5], [0.4, 1]], "is not symmetric: the force of 'right' opens 'left' by 0.5"),
        ([["y", 0], [0, 1]], r"compliance of 'two'\[0, 0\] may not depend on 'y'"),
        ([[0, 1], [1, 1]], "not on its own"),
    ):
        with pytest.raises(BadModel, match=says):
            two(compliance=compliance)
    for gap, says in (
        ("y + lam_rihgt", "'lam_rihgt'.*is the multiplier of no contact here.*'lam_right'"),
        ("y + 1e-3*lam_left + 1e-4*lam_right", "is not symmetric"),
        ("y + 1e-4*lam_right", "not on its own.*lam_left"),
        ("y + z*lam_left", "the part with multipliers depends on 'z'"),
        ("y + 1/lam_left", "is not finite where all multipliers are zero"),
        ("1e-3*lam_left", "does not depend on any coordinate"),
    ):
        with pytest.raises(BadModel, match=says):
            two(Contact(gap, name="left"), z)
    with pytest.raises(BadModel, match="given twice"):
        two(Contact("y + 1e-3*lam_left", name="left", compliance=1e-3))
    with pytest.raises(BadModel, match="given twice"):
        two(Contact("y", name="left", compliance=1e-3), z, compliance=[[1, 0], [0, 1]])
    with pytest.raises(BadModel, match="has no contacts"):
        MechanicalSystem("none", q="y").compliance = [[1]]
    soft = two(params={"b": 2.0}, compliance=[[1, "b"], ["b", 1]])
    with pytest.raises(BadValue, match="is not positive semidefinite: its smallest eigenvalue"):
        ex.simulate(soft)
    assert ex.simulate(soft, b=0.5, t_end=0.01).status.ok
    with pytest.raises(BadValue, match="is not symmetric"):
        ex.simulate(two(params={"b": 2.0}, compliance=[[3, "b"], ["1*b + 0*b**2 + b - 1", 3]]))
    with pytest.raises(BadValue, match=r"compliance of 'left' is -.* but it must be >= 0"):
        ex.simulate(two(Contact("y - lam_left**3", name="left")))
    for scheme in (ex.EventDriven(), ex.NonsmoothGeneralizedAlpha(), ex.SchatzmanPaoli()):
        with pytest.raises(NotApplicable, match=r"compliance(.|\n)*MoreauJean"):
            ex.simulate(soft, scheme, b=0.5)
