"""Slides on two surfaces at once: every multiplier that keeps a state there is found."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loops import for_each

import explorer as ex
from explorer.kernels.sliding import multiaffine

CORNERS = [(-1, -1), (-1, 1), (1, -1), (1, 1)]


def regions(name, fields, x, *, c=("x", "y"), names="x y", t_end=4.0):
    """Return a Filippov system of four regions, fields in the order of CORNERS."""
    return ex.FilippovSystem(
        name, x=names, c=list(c), S=[list(s) for s in CORNERS],
        modes=dict(zip("abcd", fields, strict=True)), start={"x": x, "t_end": t_end},
    )  # fmt: skip


def two_roots():
    """At 0 dc/dt = 0 has the roots (.75, .8667) and one outside, or both, as alpha moves."""
    return regions("two roots", [["-3", "1"], ["3", "1"], ["1", "4"], ["-1", "-1"]], [-0.5, -0.4])


@pytest.mark.parametrize("scheme", [ex.FESD(h=0.1), ex.EventDriven()])
def test_the_root_is_found_that_is_not_near_the_middle(scheme):
    """x' = y' = 0 with alpha = (.75, 13/15): the run comes to rest."""
    sol = ex.simulate(two_roots(), scheme)
    assert sol.t[-1] == 4.0
    assert np.abs(sol.x[-1]).max() <= 1e-12
    assert sol.alpha[-1] == pytest.approx([0.75, 13 / 15], abs=1e-12)
    assert [e.t for e in sol.events] == pytest.approx([0.4, 0.4 + 1.7 / 3, 2.1], abs=1e-9)


def solved(corners):
    """Return the roots of bilinear equations in the box by another way: a pencil of matrices.

    (P + y Q)(1, x) = 0 has a solution where det(P + y Q) = 0.
    """
    a = np.empty((2, 4))
    for row, (v00, v10, v01, v11) in enumerate(corners):
        a[row] = v00, v10 - v00, v01 - v00, v11 - v10 - v01 + v00
    found = []
    # det of [[a0 + a2 y, a1 + a3 y], [b0 + b2 y, b1 + b3 y]]
    (a0, a1, a2, a3), (b0, b1, b2, b3) = a
    quadratic = [a2 * b3 - a3 * b2, a0 * b3 + a2 * b1 - a1 * b2 - a3 * b0, a0 * b1 - a1 * b0]
    for y in np.roots(quadratic):
        if abs(np.imag(y)) > 1e-12:
            continue
        y = np.real(y)
        over = [(a0 + a2 * y, a1 + a3 * y), (b0 + b2 * y, b1 + b3 * y)]
        p, q = max(over, key=lambda pair: abs(pair[1]))
        if q != 0:
            found.append((-p / q, y))
    return [r for r in found if all(-0.005 <= v <= 1.005 for v in r)]


def all_roots(values):
    """Return what the kernel finds for corner values (m, 2^m)."""
    m = len(values)
    bench = multiaffine.bench(m)
    bench.corners[:m, : 1 << m] = values
    count = multiaffine.found(bench, m)
    return bench.roots[:count, :m]


NUMBER = st.floats(-3, 3).map(lambda v: round(v, 3))


@given(st.lists(NUMBER, min_size=8, max_size=8))
@settings(max_examples=80, deadline=None, derandomize=True)
def test_two_equations_have_the_roots_of_their_pencil(flat):
    """All of them, and no others."""
    corners = np.reshape(flat, (2, 4))
    ours = all_roots(corners)
    scale = np.abs(corners).max(axis=1)
    for w in ours:
        weights = np.array([(1 - w[0]) * (1 - w[1]), w[0] * (1 - w[1]), (1 - w[0]) * w[1],
                            w[0] * w[1]])  # fmt: skip
        assert np.abs(corners @ weights).max() <= 1e-10 * scale.max()
    inner = [r for r in solved(corners) if all(0.001 <= v <= 0.999 for v in r)]
    single = len(inner) < 2 or np.abs(np.subtract(*inner)).max() > 1e-3
    for r in inner if scale.min() > 0.01 and single else []:
        moved = np.array([[-(1 - r[1]), 1 - r[1], -r[1], r[1]],
                          [-(1 - r[0]), -r[0], 1 - r[0], r[0]]])  # fmt: skip
        if abs(np.linalg.det(corners @ moved.T)) > 1e-3:
            assert min(np.abs(w - r).max() for w in ours) <= 1e-6, (ours, r)


@pytest.mark.parametrize("seed", range(12))
def test_three_equations_have_every_root_that_many_starts_find(seed):
    """Newton from 6^3 starts, each root once."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(3, 8))
    ours = all_roots(values)
    bits = np.array([[(corner >> a) & 1 for a in range(3)] for corner in range(8)])

    def sums(w, skip=-1):
        one = np.where(bits, w[:, None], 1 - w[:, None])
        if skip >= 0:
            one[..., skip] = np.where(bits[:, skip], 1, -1)
        return one.prod(axis=-1) @ values.T

    theirs = []
    w = np.array([*itertools.product(np.linspace(0, 1, 6), repeat=3)])
    for _ in range(30):
        J = np.stack([sums(w, a) for a in range(3)], axis=-1)
        w = w - (np.linalg.pinv(J) @ sums(w)[..., None])[..., 0]
    solved = (np.abs(sums(w)).max(axis=1) < 1e-10) & (w > 0).all(axis=1) & (w < 1).all(axis=1)
    for found in w[solved]:
        if all(np.abs(found - r).max() > 1e-6 for r in theirs):
            theirs.append(found)
    assert len([w for w in ours if (w > 0).all() and (w < 1).all()]) == len(theirs)
    for r in theirs:
        assert min(np.abs(w - r).max() for w in ours) <= 1e-9


def test_stewarts_slide_goes_on_with_other_regions():
    """Three of four regions mix; where one of them is used up the mixture is another one."""
    fields = [
        ["1.9+.4*x-.5*z", ".3*y+.4-.4*z", "1-z"], ["1.2+.3*x", "-.6-.1*y", "-z"],
        ["-.9+.5*z", ".6-.5*z", "1-z"], ["-1.5", "-1.1+.4*z", "-2-z"],
    ]  # fmt: skip
    system = regions("mixture", fields, [-0.5, 0.4, 0.6], names="x y z")
    sol = ex.simulate(system, ex.FESD(h=0.05, representation="stewart"))
    assert sol.status.ok
    assert sol.theta.min() >= 0
    assert max(sol.fesd_residual.values()) <= 1e-10


@for_each("form", ["step", "stewart"])
@for_each("seed", range(10))
def test_random_systems_of_four_regions_never_stop(seed, form):
    """Linear fields, some curved surfaces: none stops, all equations hold."""
    sol = ex.simulate(random_system(seed), ex.FESD(h=0.1, representation=form))
    assert sol.status.ok
    assert max(sol.fesd_residual.values()) <= 1e-9


@functools.cache
def random_system(seed):
    """Return four regions with linear fields that mostly push to where they meet."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 4))
    names = ["x", "y", "z"][:n]

    def linear(scale):
        return " + ".join(
            f"({v:.3f})*{k}" for v, k in zip(scale * rng.normal(size=n), names, strict=True)
        )

    a, b = 0.4 * rng.normal(size=2)
    c = [f"x + ({a:.3f})*y**2", f"y + ({b:.3f})*sin(x)"] if seed % 2 else ["x", "y"]
    fields = []
    for side in CORNERS:
        f = []
        for i in range(n):
            k = 1.5 * rng.normal()
            if i < 2 and rng.random() < 0.75:
                k = -side[i] * abs(k)
            f.append(f"{k:.3f} + {linear(0.6)}" + (" - z" if i == 2 else ""))
        fields.append(f)
    return regions(f"random {seed}", fields, rng.normal(size=n).round(3).tolist(), c=c,
                   names=" ".join(names))  # fmt: skip


@pytest.mark.parametrize("seed", range(6))
def test_event_location_and_elements_agree(seed):
    """Multipliers by a native function as the run goes on, or of every stage: the same run."""
    system = random_system(seed)
    ours = ex.simulate(system, ex.FESD(h=0.05, stages=4))
    theirs = ex.simulate(system, ex.EventDriven(rtol=1e-11, atol=1e-12))
    assert [e.to for e in ours.events] == [e.to for e in theirs.events]
    assert ours.switch_times == pytest.approx(theirs.switch_times, abs=1e-7)
    assert np.abs(ours.x[-1] - theirs.x[-1]).max() <= 1e-7 * (1 + np.abs(ours.x[-1]).max())
    assert ours.alpha[-1] == pytest.approx(theirs.alpha[-1], abs=1e-4)  # order s


def moving(k):
    """Return two surfaces that are slid on, multipliers bilinear and moved by z' = 1."""
    fields = [["3+z*k", "2"], ["2", "-3+k*x"], ["-2", "3"], ["-3", "-1-z"]]
    return ex.FilippovSystem(
        "moving", x="x y z", c=["x", "y"], S=[list(s) for s in CORNERS], params={"k": k},
        modes={n: [*f, "1"] for n, f in zip("abcd", fields, strict=True)},
        start={"x": [-0.5, -0.4, 0.0], "t_end": 4.0},
    )  # fmt: skip


def test_both_derivatives_of_a_slide_on_two_surfaces_agree():
    """By the implicit function theorem in the event-driven flow, element by element in FESD."""
    both = [
        ex.sensitivity(moving(0.3), scheme, wrt=("k", "y"))
        for scheme in (ex.FESD(h=0.02, stages=4), ex.EventDriven(rtol=1e-11, atol=1e-12))
    ]
    assert any("|" in e.to and e.to.count("|") == 3 for e in both[0].events)
    assert both[0].S[-1] == pytest.approx(both[1].S[-1], abs=1e-7)
    for one, other in zip(both[0].events, both[1].events, strict=True):
        assert one.dt_drho == pytest.approx(other.dt_drho, abs=1e-7)
    with pytest.raises(ex.errors.NotApplicable, match="no closed form"):
        ex.sensitivity(moving(0.3), ex.EventDriven(), wrt="k", method="complex_step")


def test_a_slide_goes_on_where_its_multipliers_meet_others_and_vanish():
    """Two roots of the quadratic equation become one: neither goes on, another set does."""
    fields = [
        [".81*x+.743*y-.6*z+2.155", "-.224*x+.155*y-.564*z+.006", "-.422*x-.577*y-.538*z-1.965"],
        [".29*x-.268*y-.714*z-.089", ".388*x-.106*y+.345*z-.846", "-.738*x+1.092*y-.765*z-.284"],
        [".566*x+.128*y+.394*z-1.399", ".016*x+.753*y+.136*z+2.55", ".794*x+.167*y-.957*z-2.09"],
        ["1.184*x+1.771*y+.863*z+.439", ".51*x-.422*y-.021*z-.247", "1.337-.172*x+.042*y-1.151*z"],
    ]  # fmt: skip
    system = regions("fold", fields, [-0.585, 0.863, -0.079], names="x y z", t_end=2.2)
    ours = ex.simulate(system, ex.FESD(h=0.05, stages=4))
    theirs = ex.simulate(system, ex.EventDriven(rtol=1e-11))
    assert [e.to for e in ours.events] == ["a | b", "a | b | c | d", "c | d"]
    assert ours.switch_times == pytest.approx(theirs.switch_times, abs=1e-4)
    assert ours.x[-1] == pytest.approx(theirs.x[-1], abs=1e-4)
    with pytest.raises(ex.errors.BadValue, match="no derivative exists there"):
        ex.sensitivity(system, ex.FESD(), wrt="x")


def test_what_else_a_run_could_do_is_listed_and_can_be_picked():
    """From a surface that both sides leave the solution goes up, down, or stays."""
    system = ex.FilippovSystem(
        "two ways", x="x", c=["x"], S=[[1], [-1]], modes={"up": ["1"], "down": ["-2"]},
        start={"x": [0.0], "t_end": 1.0},
    )  # fmt: skip
    ends = {"up": 1.0, "down": -2.0, "down | up": 0.0, "up | down": 0.0}
    sol = ex.simulate(system, ex.FESD(h=0.1))
    (moment,) = sol.choices
    assert moment.t == 0.0
    assert len(moment.patterns) == 3
    assert not sol.certificate.ok
    assert "not unique" in sol.cautions[0]
    assert moment.patterns[moment.taken] == "up"
    for k, pattern in enumerate(moment.patterns):
        other = ex.simulate(system, ex.FESD(h=0.1, picks=str(k)))
        assert other.x[-1, 0] == pytest.approx(ends[pattern], abs=1e-13)
        assert other.choices[0].taken == k
        assert moment.rates[k, 0] == pytest.approx(ends[pattern], abs=1e-13)
    assert ex.simulate(random_system(0), ex.FESD(h=0.1)).certificate.ok
    with pytest.raises(ex.errors.BadValue, match="numbers of continuations"):
        ex.FESD(picks="up")


def test_what_event_location_takes_can_be_picked_too():
    """At the start, and where a surface that attracts begins to repel; one pick for each moment."""
    system = ex.StepSystem(
        "opens", x="x y", f=["Piecewise((-sign(x), y < 0), (sign(x), True))", "1"],
        start={"x": [0.5, -1.0], "t_end": 2.0},
    )  # fmt: skip
    sol = ex.simulate(system, ex.EventDriven())
    (moment,) = sol.choices
    assert moment.t == pytest.approx(1.0)
    assert len(moment.patterns) == 3
    ends = {"x > 0": 1.0, "x < 0": -1.0, "x = 0": 0.0}
    assert "EventDriven(picks='1')" in sol.cautions[0]
    for k, pattern in enumerate(moment.patterns):
        other = ex.simulate(system, ex.EventDriven(picks=str(k)))
        (end,) = (x for way, x in ends.items() if way in pattern)
        assert other.x[-1, 0] == pytest.approx(end, abs=1e-9)
        assert other.choices[0].taken == k
    corner = ex.FilippovSystem(
        "corner", x="x y", c=["x", "y"], S=[[-1, -1], [-1, 1], [1, -1], [1, 1]],
        modes={"a": ["-1", "-2"], "b": ["-1", "2"], "c": ["1", "-2"], "d": ["1", "2"]},
        start={"x": [0.0, 0.0], "t_end": 1.0},
    )  # fmt: skip
    (moment,) = ex.simulate(corner, ex.EventDriven()).choices
    assert len(moment.patterns) == 9
    for k, rate in enumerate(moment.rates):
        other = ex.simulate(corner, ex.EventDriven(picks=str(k)))
        assert other.choices[0].taken == k
        np.testing.assert_allclose(other.x[-1], rate, atol=1e-9)
    with pytest.raises(ex.errors.BadValue, match="numbers of continuations"):
        ex.EventDriven(picks="up")


@pytest.mark.parametrize("scheme", [
    ex.FESD(h=0.1), ex.FESD(h=0.1, representation="stewart"), ex.EventDriven(),
])  # fmt: skip
def test_a_start_that_may_go_on_in_several_ways_is_no_plain_success(scheme):
    """Up, down, or at rest: a caution of the certificate, and all three with their rates."""
    system = ex.FilippovSystem(
        "two ways", x="x", c=["x"], S=[[1], [-1]], modes={"up": ["1"], "down": ["-2"]},
        start={"x": [0.0], "t_end": 1.0},
    )  # fmt: skip
    sol = ex.simulate(system, scheme)
    (moment,) = sol.choices
    assert not sol.certificate.ok
    assert moment.patterns[moment.taken] == "up"
    rates = dict(zip(moment.patterns, moment.rates[:, 0], strict=True))
    assert rates == pytest.approx({"up": 1.0, "down": -2.0, "up | down": 0.0}, abs=1e-12)
    beside = ex.simulate(system, scheme, x0=[0.5])
    assert not beside.choices
    assert beside.certificate.ok


def curved():
    """Return a point that slides on a sine and leaves it where one side turns away."""
    return ex.FilippovSystem(
        "curved", x="x y", c=["y - sin(2*x)/2"], S=[[1], [-1]], params={"a": 1.0},
        modes={
            "above": ["1 - 0.35*y + 0.3*x", "-a + 0.8*x + 0.3*y"],
            "below": ["1 + 0.9*x - y/2", "1 + 0.45*x - 0.54*y"],
        },
        start={"x": [-1.5, 1.2], "t_end": 4.0},
    )  # fmt: skip


@pytest.mark.parametrize("stages", [2, 3])
def test_a_slide_ends_to_the_order_of_the_states(stages):
    """Radau: 2 s - 1, not s; the derivative is that of the time that is told."""
    system = curved()
    known = ex.simulate(system, ex.FESD(stages=4, h=0.01))
    k = 1
    assert known.events[k].kind == "leaves"
    steps, errors = np.geomspace(0.25, 0.03, 14), []
    for h in steps:
        sol = ex.simulate(system, ex.FESD(stages=stages, h=float(h)))
        errors.append(abs(sol.events[k].t - known.events[k].t))
    order = np.polyfit(np.log(steps), np.log(np.maximum(errors, 1e-15)), 1)[0]
    assert order >= 2 * stages - 1.3, (order, errors)
    scheme, d = ex.FESD(stages=stages, h=0.2), 1e-4
    sens = ex.sensitivity(system, scheme, wrt="a")
    sides = [ex.simulate(system, scheme, a=1.0 + s * d).events[k].t for s in (1, -1, 2, -2)]
    measured = (8 * (sides[0] - sides[1]) - (sides[2] - sides[3])) / (12 * d)
    assert sens.events[k].dt_drho[0] == pytest.approx(measured, rel=1e-7)
    assert sens.saltation(k).residual <= 1e-12


def test_the_panel_offers_what_else_a_run_could_do():
    """A choice where the solution is not unique, none where it is; a session takes it by name."""
    from explorer.panels.controls import groups
    from explorer.panels.session import Session

    system = ex.FilippovSystem(
        "two ways", x="x", c=["x"], S=[[1], [-1]], modes={"up": ["1"], "down": ["-2"]},
        start={"x": [0.0], "t_end": 1.0},
    )  # fmt: skip
    session = Session(system, ex.FESD(h=0.1))

    def picker():
        scheme = next(g for g in groups(session) if g["name"] == "scheme")
        return [c for c in scheme["controls"] if c["key"] == "knob.picks"]

    (control,) = picker()
    offered = dict(control["choices"])
    assert any("down" in text for text in offered.values())
    key = next(k for k, text in offered.items() if text.endswith("down"))
    session.set(picks=key)
    assert session.solution.x[-1, 0] == pytest.approx(-2)
    session = Session(system, ex.FESD(h=0.1))
    session.set(**{"x0.x": 0.5})
    assert not picker()


@pytest.mark.parametrize(
    ("signs", "expected"), [((0, 1), "bd"), ((0, -1), "ac"), ((1, 0), "cd"), ((-1, 0), "ab")]
)
def test_a_slide_mixes_the_regions_that_meet_there(signs, expected):
    """Stewart's theta on one surface: of four regions the two on the side of the other."""
    from explorer.compiled import compile_switched
    from explorer.kernels.fesd.collocation import collocation
    from explorer.kernels.fesd.continuations import arranged
    from explorer.kernels.fesd.structures import workspace
    from explorer.runs.fesd.workspace import problem, tableau

    system = compile_switched(two_roots(), True)
    method = tableau(collocation("radau_iia", 2))
    element = workspace(problem(system, []), method, 1).element
    element.mode.sign[:] = signs
    assert arranged(element.problem, element.mode, 0) == 1
    base, B = element.mode.base, element.mode.B
    assert base.sum() == 1
    mixed = np.flatnonzero((base != 0) | (B[:, :1] != 0).any(axis=1))
    assert "".join("abcd"[k] for k in mixed) == expected


@pytest.mark.parametrize("side", [1, -1])
def test_where_nothing_moves_the_value_tells_the_side(side):
    """c = x - w is round-off beside x, and dc/dt is zero: its sign decides."""
    system = ex.FilippovSystem(
        "still", x="x w y", c=["x - w"], S=[[1], [-1]],
        modes={"up": ["0", "0", "1"], "down": ["0", "0", "-1"]},
        start={"x": [1.0, 1.0 - side * 1e-13, 0.0], "t_end": 1.0},
    )  # fmt: skip
    assert ex.simulate(system, ex.FESD(h=0.1)).x[-1, 2] == pytest.approx(side)
