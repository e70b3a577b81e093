"""Memory of kernels: the shapes that the fields of the structures declare, and what is shared."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from loops import for_each

from explorer.kernels.complementarity.structures import box_workspaces, lcp_workspace
from explorer.kernels.event_driven.records import DOPRI5, NEWMARK, RADAU
from explorer.kernels.event_driven.structures import newton_of
from explorer.kernels.fesd import stage_complementarity
from explorer.kernels.fesd import structures as fesd
from explorer.kernels.fesd.collocation import collocation
from explorer.kernels.friction.graph_structures import SPARE, WIDE, WIDEST, graph_workspace
from explorer.kernels.friction.structures import friction_workspace
from explorer.kernels.time_stepping import moreau_jean_structures as moreau_jean
from explorer.kernels.time_stepping import nonsmooth_alpha_structures as alpha

COVERS = (
    "kernels/complementarity/structures.py", "kernels/event_driven/structures.py", "kernels/fesd/stage_complementarity.py", "kernels/fesd/structures.py",
    "kernels/friction/graph_structures.py", "kernels/friction/structures.py",
    "kernels/time_stepping/moreau_jean_structures.py", "kernels/time_stepping/nonsmooth_alpha_structures.py",
)  # see mutant_rooms.py  # fmt: skip


def shapes(part):
    """Return the shapes of the arrays of a structure, by the names of its fields."""
    if hasattr(part, "_fields"):
        return {name: shapes(value) for name, value in part._asdict().items()}
    return part.shape if hasattr(part, "shape") else part


def test_problems_in_a_box():
    m = 3
    block, lemke = box_workspaces(m)
    assert shapes(block) == {"A": (m, m), "pivots": (m,), "rows": (m,), "kept": (1,), "b": (m,)}
    assert shapes(lemke) == {
        "small": (2 * m, 2 * m), "X": (m, m + 1), "T": (2 * m, 4 * m + 2), "q": (2 * m,), "z": (2 * m,),
        "scale": (2 * m,), "equal": (2 * m,), "rest": (2 * m,), "act": (2 * m,), "basis": (2 * m,),
    }  # fmt: skip
    assert block.kept.tolist() == [(-1, 0, 0)]


def test_a_problem_like_another_shares_its_memory_and_keeps_its_own_factors():
    m, rows = 3, 5
    one = lcp_workspace(m, rows)
    found = shapes(one)
    assert found.pop("pivots") >= (m,)
    assert found == {
        "member": (rows,), "kept": (1,), "rows": (m,), "A": (m, m), "T": (m, 2 * m + 2), "b": (m,),
    }  # fmt: skip
    assert one.kept.tolist() == [(-1, 0, 0)]
    other = lcp_workspace(m, 0, one)
    assert shapes(other) == shapes(one)
    for name, value in other._asdict().items():
        own = name in ("kept", "rows", "pivots")
        assert np.shares_memory(value, getattr(one, name)) != own


@for_each(("nc", "tangents", "constraints", "entries"), [(2, 0, 0, 4), (3, 2, 0, 7), (3, 6, 2, 30), (0, 0, 2, 5)])  # fmt: skip
def test_what_is_known_of_gaps_stands_one_behind_the_other(nc, tangents, constraints, entries):
    """Gaps, velocities of all rows of G, entries of G, mu, mu_s, phi."""
    sizes = moreau_jean.Sizes(4, nc, nc + tangents, constraints)
    lengths = [nc, nc + tangents + constraints, entries, tangents, tangents]
    assert [*moreau_jean.outputs(sizes, entries)] == np.cumsum(lengths).tolist()


@for_each(("tangents", "constraints", "entries", "turning"), [(0, 0, 0, 0), (1, 2, 0, 7), (1, 2, 9, 0), (0, 2, 9, 7)])  # fmt: skip
def test_a_march_of_moreau_jean(tangents, constraints, entries, turning):
    n, nc = 4, 2
    rows, N = nc + tangents, n + constraints
    work = moreau_jean.workspace(
        moreau_jean.Sizes(n, nc, rows, constraints), 0.25, entries, turning
    )
    assert work.state.shape == (1,)
    assert (work.state["h"][0], work.state["factored"][0]) == (0.25, 0.25)
    assert shapes(work.iterate) == {
        **dict.fromkeys(("F0", "F1", "q", "v", "R", "size"), (n,)), "v_free": (N,), "rhs": (N,), "bias": (constraints,)
    }  # fmt: skip
    dense = 3 * nc if tangents else nc
    assert shapes(work.active) == {
        "D": (dense, dense), "act": (rows,), "place": (nc,), "mode": (nc,), "rate": (rows,), "law": (rows,),
        "w": (rows,), "P": (rows,), "mu": (nc,), "kinetic": (tangents,), "static": (tangents,),
    }  # fmt: skip
    assert work.lcp.A.shape == (dense, dense)
    assert work.lcp.member.shape == (dense,)
    assert shapes(work.projection) == {"contacts": (nc,), "dq": (N,), "gap": (nc,), "z": (nc,)}
    on = int(turning > 0)
    assert shapes(work.levels) == {
        "G0": (turning,), "G1": (turning,), "rows": (turning,), "shift": (n * on,), "gamma": (constraints * on,),
        "P": (constraints * on,), "speed": (constraints * on,), "pair": (N * on, 2),
    }  # fmt: skip


@for_each(("rows", "entries", "dense"), [(100, 9, True), (101, 9, False), (101, 0, True)])
def test_of_many_contacts_that_their_graph_solves_no_matrix_is_formed(rows, entries, dense):
    work = moreau_jean.workspace(moreau_jean.Sizes(5, rows, rows, 0), 0.1, entries)
    size = rows if dense else 0
    assert work.active.D.shape == work.lcp.A.shape == (size, size)
    assert work.lcp.member.shape == (rows,)


def test_a_march_of_nonsmooth_alpha():
    """The problem of positions and that of velocities keep their factors apart."""
    n, nc = 4, 3
    work = alpha.workspace(n, nc, 0.25)
    assert (work.state.shape, work.state["h"][0]) == ((1,), 0.25)
    assert shapes(work.responses) == {
        "LU": (3, n, n),
        "pivots": (3, n),
        "band": (3,),
        "Y": (3, nc, n),
    }
    for lcp in (work.lcp, work.lcp_jump):
        assert shapes(lcp) == {
            "member": (nc,), "kept": (1,), "rows": (nc,), "A": (nc, nc), "pivots": (nc,), "T": (nc, 2 * nc + 2),
            "b": (nc,),
        }  # fmt: skip
        assert lcp.kept["count"].tolist() == [-1]
    for name in ("member", "kept", "rows", "A", "pivots"):
        assert not np.shares_memory(getattr(work.lcp, name), getattr(work.lcp_jump, name)), name
    assert not np.shares_memory(work.problem.M, work.jump.M)
    by_contact = ("e_dot", "old", "force_before")
    for name, value in work._asdict().items():
        if isinstance(value, np.ndarray) and name not in ("state", "every"):
            assert value.shape == (nc if name in by_contact else n,), name
    assert work.every.tolist() == [0, 1, 2]


@for_each(("n", "contacts", "tangents", "wide"), [(4, 2, 0, 10), (4, 2, 2, 10), (4, 5, 5, 17), (20, 5, 0, 22), (4, 12, 0, 14)])  # fmt: skip
def test_contacts_on_their_graph(n, contacts, tangents, wide):
    """A vector has room for each coordinate and for three numbers of each contact with friction."""
    rows, entries = contacts + tangents, 30
    work = graph_workspace(n, contacts, rows, entries)
    band = (2 * rows, 3 * WIDE + 1) if tangents else (rows, 3 * WIDEST + 1)
    assert shapes(work.exchange.band) == {
        "A": band, "near": (2 * entries,), "chosen": (wide,), "head": (wide,), "pivots": (wide,), "state": (1,)
    }  # fmt: skip
    assert work.exchange.band.state["width"].tolist() == [-2]
    assert (work.exchange.known == -2).all()
    assert (work.exchange.wanted == -2).all()
    assert (work.path.changed == -2).all()
    assert work.path.columns.shape == (2 * SPARE, wide)
    assert (work.path.dense.shape, work.path.right.shape) == ((2 * SPARE,) * 2, (2 * SPARE,))
    assert work.u.shape == (n,)
    for vector in (work.unit, work.cross, work.soft, work.last, work.listed, *work.sweeps):
        assert vector.shape == (wide,)
    unused = graph_workspace(n, contacts, rows, 0)
    assert unused.u.size == unused.exchange.band.A.size == unused.unit.size == 0


@for_each(("contacts", "tangents"), [(2, 0), (2, 2), (4, 2)])
def test_friction_shares_the_matrices_of_its_complementarity_problem(contacts, tangents):
    m = 3 * contacts if tangents else contacts
    lcp = lcp_workspace(m, m)
    work, rows = friction_workspace(contacts, tangents, lcp), contacts + tangents
    if not tangents:
        assert work.active.chosen.size == work.glocker.B.size == work.cones.rows.size == 0
        return
    assert work.active.A is work.cones.A is lcp.A
    assert (
        work.active.chosen.shape == work.active.pivots.shape == work.glocker.sigma.shape == (rows,)
    )
    assert (work.glocker.B.shape, work.glocker.order.shape) == ((m, m), (m,))
    assert work.cones.blocks is work.glocker.B
    assert (work.cones.rows.shape, work.cones.pivots.shape) == ((contacts,), (m,))
    assert [one.size for one in work.cones.vec] == [m] * 8 + [contacts] * 2
    assert work.cones.kept.tolist() == [(-1,)]
    assert work.glocker.work.T is lcp.T
    assert work.glocker.work.kept is not lcp.kept


def test_a_march_of_fesd():
    n, nc, n_sel, s = 3, 2, 4, 2
    problem = SimpleNamespace(n_x=n, n_c=nc, n_sel=n_sel)
    work = fesd.workspace(problem, collocation("radau_iia", s), 17)
    size = s * (n + nc) + 1
    assert shapes(work.element.solver) == {
        "M": (size, size), **dict.fromkeys(("pivots", "rhs", "scale", "steep"), (size,)), "newton": (1,)
    }  # fmt: skip
    assert work.element.solver.newton["cap"].tolist() == [17]
    assert shapes(work.element.mode) == {
        "sign": (nc,), "zeros": (nc,), "base": (n_sel,), "B": (n_sel, nc), "active": (1,)
    }  # fmt: skip
    assert shapes(work.element.stages) == {
        "K": (s, n),
        "W": (s, nc),
        "C": (s, nc),
        "sel": (s, n_sel),
    }
    pattern = shapes(work.pattern)
    assert pattern["margins"] == pattern["later"] == (2 * n_sel + nc,)
    assert work.nodes.shape == work.differences.shape == (s + 2,)
    assert work.ending.shape == work.march.shape == (1,)
    start = {"c": (nc,), "tolerance": (nc,), "multipliers": (n_sel,), "w": (nc,), "rate": (n,)}
    assert shapes(work.start) == shapes(work.kept.before) == start


@for_each(("code", "order", "n_x"), [(RADAU, 0, 4), (NEWMARK, 3, 0), (DOPRI5, 0, 0)])
def test_matrices_of_a_method_of_located_events(code, order, n_x):
    one, many = (order,), (3 * n_x,)
    told = [
        [(order, order)] * 2 + [one] * 3,
        [many * 2, (n_x, n_x), (n_x, n_x), many, many, (n_x,)],
    ]
    assert [[part.shape for part in parts] for parts in newton_of(code, 4, 3)] == told


def test_a_step_of_fesd_with_fixed_length():
    """m complementarity conditions: of variables, and of their sums, in each stage."""
    n, nc, n_sel, s, nv, ng = 3, 2, 5, 2, 4, 3
    problem = SimpleNamespace(n_x=n, n_c=nc, n_sel=n_sel)
    groups = stage_complementarity.Groups(np.zeros(nv, int), np.zeros(nv, int), np.zeros(ng, int))
    step = stage_complementarity.step_of(problem, collocation("radau_iia", s), groups)
    m = s * (nv + ng)
    assert shapes(step.unknowns) == {"K": (s, n), "V": (s, nv), "sel": (s, n_sel), "end": (n,)}
    assert shapes(step.linear) == {
        "C": (s, nc), "Cx": (s, nc * n), "size": (s + 1, ng), "R": (s, nv, nc), "F": (s, n * nv)
    }  # fmt: skip
    assert shapes(step.slopes) == {
        "J": (s * n, s * n), "pivots": (max(s * n, m),), "change": (s * n,), "columns": (s * nv, s * n)
    }  # fmt: skip
    assert shapes(step.lcp) == {
        "M": (m, m), "q": (m,), "z": (m,), "T": (m + 1, 2 * m + 2), "basis": (m,), "scale": (m,), "act": (m,),
        "A": (m, m), "row": (s * n,),
    }  # fmt: skip
    assert step.lcp.act.tolist() == [*range(m)]
