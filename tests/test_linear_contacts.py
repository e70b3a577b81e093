"""Friction, compliance and constraints of a system given by matrices: the same run as by formulas."""

import json

import numpy as np
import pytest
from scipy.sparse import csr_array

import explorer as ex
from explorer import Constraint, Contact, LinearMechanicalSystem, MechanicalSystem, MoreauJean
from explorer.errors import BadModel, BadValue, NotApplicable
from explorer.systems import from_spec

M = np.array(
    [[1.0, 0.2, 0.0, 0.1], [0.2, 2.0, 0.1, 0.0], [0.0, 0.1, 1.5, 0.3], [0.1, 0.0, 0.3, 0.8]]
)
K = np.diag([30.0, 20.0, 10.0, 25.0]) - 4.0 * np.eye(4, k=1) - 4.0 * np.eye(4, k=-1)
H = np.array([[0.0, 1.0, 0.2, 0.0], [0.1, -1.0, 0.0, 1.0], [0.0, 0.0, -0.3, -1.0]])
T = np.array([[1.0, 0.3, 0.0, 0.1], [-0.6, 0.2, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
B, E, SOFT = [0.02, 0.05, 0.04], [0.0, "e", 0.3], [0.0, 0.0, 1e-3]
J = np.array([[1.0, 0.0, 1.0, 0.0]])
F = [1, -9, 4, "3*cos(t)"]
START = {"q": [0.3, 0.02, -0.2, 0.0], "v": [2.0, -1.5, -2.0, 2.7], "t_end": 0.8}
LAW = {"mu": [0.3, "mu", 0.0], "mu_s": [0.5, "mu", 0.0], "e_t": [0.0, 0.4, 0.0]}
PARAMS = {"e": 0.6, "mu": 0.2}


def by_matrices(form=np.array, **changes):
    given = {
        "K": form(K), "C": form(0.01 * K), "f": F, "H": form(H), "b": B, "e": E, "T": form(T), **LAW,
        "compliance": SOFT, "J": form(J), "c": -0.1, "params": PARAMS, "start": START,
    }  # fmt: skip
    return LinearMechanicalSystem("by matrices", form(M), **{**given, **changes})


def by_formulas():
    system = MechanicalSystem("by formulas", q=4, mass=M, params=PARAMS, start=START)
    q, v = np.array(system.q), np.array(system.v)
    system.force = [*(-K @ q - 0.01 * K @ v)]
    system.force = [f"{x} + {y}" for x, y in zip(system.force, F, strict=True)]
    for k in range(3):
        law = {name: values[k] for name, values in LAW.items()} if k < 2 else {}
        law["slip"] = T[k] @ v if k < 2 else None
        system.contact(Contact(H[k] @ q + B[k], E[k], compliance=SOFT[k], **law))
    system.constraint(Constraint(J[0] @ q - 0.1, "constraint 1"))
    return system


@pytest.mark.parametrize("form", [np.array, csr_array])
@pytest.mark.parametrize("projection", ["none", "constraints"])
def test_matrices_move_like_formulas(form, projection):
    scheme = MoreauJean(h=2e-3, projection=projection)
    mine, its = ex.simulate(by_matrices(form), scheme), ex.simulate(by_formulas(), scheme)
    assert {1, -1} & set(its.doing.ravel())
    assert (its.p > 0).any(axis=0).all()
    for name in ("q", "v", "p", "p_t", "p_max", "slip", "doing", "phi", "p_phi"):
        got, expected = getattr(mine, name), getattr(its, name)
        assert np.abs(got - expected).max() <= 1e-9 * (1 + np.abs(expected).max()), name


@pytest.mark.parametrize("form", [np.array, csr_array])
def test_it_is_written_down_and_read_with_all_it_has(form):
    system = by_matrices(form)
    again = from_spec(json.loads(json.dumps(system.to_spec())))
    assert again.features == system.features
    assert {"compliance", "constraints", "friction", "tangential restitution"} <= again.features
    runs = [ex.simulate(s, MoreauJean(h=4e-3)) for s in (system, again)]
    assert np.array_equal(runs[0].q, runs[1].q)
    assert np.array_equal(runs[0].p_t, runs[1].p_t)
    shown = system._repr_markdown_()
    assert "Sgn" in shown
    assert "J q + c = 0" in shown


def test_a_long_chain_on_rough_ground_stays_sparse():
    """A row of 120 blocks between springs, pulled at its end: the front of sliding is a wave."""
    n = 120
    along = np.arange(0, 2 * n, 2)
    K = np.zeros((2 * n, 2 * n))
    K[along, along] = 200.0
    K[along[1:], along[:-1]] = K[along[:-1], along[1:]] = -100.0
    K[along[0], along[0]] = K[along[-1], along[-1]] = 100.0
    f = np.tile([0.0, -9.81], n)
    f[-2] = 8.0
    unit = np.eye(2 * n)
    H, T = csr_array(unit[along + 1]), csr_array(unit[along])
    row = LinearMechanicalSystem("row", csr_array(unit), K=csr_array(K), f=f, H=H, T=T, mu=0.1,
                                 start={"t_end": 0.1})  # fmt: skip
    sol = ex.simulate(row, MoreauJean(h=5e-3))
    assert sol.v[-1, -2] > 0.5
    assert np.abs(sol.v[-1, : n // 2]).max() < 1e-9
    assert np.abs(sol.q[:, along + 1]).max() < 1e-12


def test_what_does_not_fit_is_named():
    for changes, words in (
        ({"T": None}, "no sliding velocities: give T"),
        ({"T": T[:2]}, "needs 3 rows"),
        ({"mu": [0.1, 0.2]}, "mu of 'by matrices' needs 3 entries, but 2"),
        ({"J": np.zeros((1, 4))}, "row of J"),
        ({"c": [1.0, 2.0]}, "c of 'by matrices' must be a number or 1 numbers"),
    ):
        with pytest.raises(BadModel, match=words):
            by_matrices(**changes)
    with pytest.raises(BadValue, match=r"mu = -0\.1"):
        ex.simulate(by_matrices(), MoreauJean(), mu=-0.1)
    with pytest.raises(NotApplicable, match=r"constraints(.|\n)*MoreauJean"):
        ex.simulate(by_matrices(), ex.Newmark())


# -- contacts and constraints as formulas -----------------------------------------------------------

MASS, STIFF = np.diag([1, 2, 0.5]), np.array([[30.0, -10, 0], [-10, 20, -5], [0, -5, 9]])


def test_contacts_may_be_formulas_also_such_as_rows_cannot_say():
    """Gaps that move, friction in space, a constraint of t: the same as written out, to the bit."""
    parts = {
        "contacts": [
            Contact("q1 + 0.1*sin(3*t) + 0.2", e=0.5, mu=0.3, slip=("v_q2", "v_q3 - 0.2")),
            Contact("q2 + 0.3", e=0.2),
        ],
        "constraints": ["q2 - q3 - t/10"],
        "start": {"q": [0.1, 0, 0], "v": [1, 0.1, 0], "t_end": 2},
    }
    linear = LinearMechanicalSystem("three", MASS, STIFF, f=[0, -5, "sin(t)"], **parts)
    force = [0, -5, "sin(t)"]
    rows = [
        f"{f} - ({' + '.join(f'({k})*q{j + 1}' for j, k in enumerate(row))})"
        for f, row in zip(force, STIFF, strict=True)
    ]
    written = MechanicalSystem("three", 3, mass=MASS, force=rows, **parts)
    again = from_spec(json.loads(json.dumps(linear.to_spec())))
    runs = [
        ex.simulate(s, MoreauJean(h=1e-3, projection="constraints"))
        for s in (linear, again, written)
    ]
    assert runs[0].p.max() > 0.1
    np.testing.assert_array_equal(runs[0].q, runs[1].q)
    assert np.abs(runs[0].q - runs[2].q).max() < 1e-13
    assert np.abs(runs[0].phi).max() < 1e-13


def test_rows_and_formulas_may_stand_side_by_side():
    rows = {"H": [[1, 0, 0], [-1, 1, 0]], "b": [0.2, 0.3], "e": [0.5, 0.2]}
    first = {k: v[:1] for k, v in rows.items()}
    start = {"v": [-1, 0, 0], "t_end": 2}
    one = LinearMechanicalSystem("one", MASS, STIFF, f=[-3, -5, 0], **rows, start=start)
    two = LinearMechanicalSystem("two", MASS, STIFF, f=[-3, -5, 0], **first, start=start)
    two.contact(Contact("q2 - q1 + 0.3", e=0.2))
    assert [c.name for c in two.contacts] == [c.name for c in one.contacts]
    for scheme in ex.schemes_for(one):
        ends = [ex.simulate(s, scheme).q[-1] for s in (one, two)]
        assert np.abs(ends[0] - ends[1]).max() < 1e-12
    with pytest.raises(BadModel, match="called 'contact 2'"):
        two.contact(Contact("q3", name="contact 2"))


def test_impacts_of_gaps_given_as_rows_are_events():
    """A compliance of 0.0, as any number, is none: the contact is rigid, and its impacts are told."""
    system = ex.LinearMechanicalSystem("wall", [[1.0]], [[90.0]], H=[[1]], b=0.05, e=0.6)
    by_formula = ex.LinearMechanicalSystem(
        "wall", [[1.0]], [[90.0]], contacts=[ex.Contact("q1 + 0.05", e=0.6, compliance=0.0)]
    )
    runs = [
        ex.simulate(one, ex.MoreauJean(), q0=[0.1], v0=[-3], t_end=1)
        for one in (system, by_formula)
    ]
    first, second = ([(e.kind, e.t, e.impulse) for e in run.events] for run in runs)
    assert first == second
    assert [kind for kind, *_ in first] == ["impact"] * 3
