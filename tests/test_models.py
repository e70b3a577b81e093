"""Every model with every scheme that takes it; closed forms and published numbers.

`conforms` is what any model or scheme has to satisfy; both lists come from the registries, so a
new file is tested without an edit here.
"""

from __future__ import annotations

import dataclasses
import json
import sys

import numpy as np
import pytest
import sympy as sp
from hybrids import HYBRIDS
from kinds import GALLERY, KINDS, SYSTEMS, schemes_of
from scipy.integrate import quad
from scipy.special import ellipk

import explorer as ex
from explorer.compiled import compile_system
from explorer.compiled.observe import observe
from explorer.models import models
from explorer.panels import Session
from explorer.results.solution import Solution
from explorer.schemes.bases.capturing import ImplicitCapturing
from explorer.systems import StateSpaceSystem, from_spec
from explorer.verification.forces import force

CASES = [(name, scheme) for name in models for scheme in schemes_of(name)]


def weight(sol) -> float:
    """Return the largest F M^-1 F along a solution, in N^2/kg: the scale of a resting impulse."""
    compiled, found = compile_system(sol.system), 0.0
    for i in np.linspace(0, len(sol.t) - 1, 30).astype(int):
        inp = compiled.input(list(sol.rho.values()))
        inp[: 1 + 2 * compiled.n] = [sol.t[i], *sol.q[i], *sol.v[i]]
        F = compiled.bundles["force"](inp)
        found = max(found, float(F @ np.linalg.solve(compiled.matrices(inp)[0], F)))
    return found


def conforms(system, scheme) -> None:
    """Assert what every model has to satisfy with every scheme that takes it."""
    sol = ex.simulate(system, scheme)
    hybrid = isinstance(system, StateSpaceSystem)
    n, nc, rows = len(system.coordinates), len(system.contacts), len(sol.t)
    assert sol.status.ok
    shapes = {
        "t": (rows,), "q": (rows, n), "v": (rows, 0 if hybrid else n), "p": (rows, nc),
        "gap": (rows, nc), "gap_dot": (rows, nc), "active": (rows, nc), "iterations": (rows,),
        "residuals": (rows, 2),
    }  # fmt: skip
    if sol.has("march"):
        n_x = n if hybrid else 2 * n
        shapes |= {"x": (rows, n_x), "rates": (rows, n_x), "lam": (rows, nc), "mode": (rows,)}
    absent = sol.ABSENT  # a state has no velocities, gaps, impulses; a motion has no modes
    missed = {*absent} - {"lam" if sol.has("multipliers") else ""}
    assert not any(hasattr(sol, name) for name in missed)
    shapes = {name: shape for name, shape in shapes.items() if name not in absent}
    for name, shape in shapes.items():
        assert getattr(sol, name).shape == shape, name
        assert np.isfinite(getattr(sol, name)).all(), name
    assert sol.t[0] == 0
    if sol.has("march"):
        located_rows(sol)
        keeps_to_its_inclusion(sol) if isinstance(system, ex.StepSystem) else (
            keeps_to_its_modes if hybrid else keeps_to_the_law_of_contact
        )(sol)
    else:
        assert (np.diff(sol.t) > 0).all()
        assert sol.t[-1] == system.t_end
        laws = sol.by_laws
        (
            keeps_to_its_formula
            if system.discrete
            else keeps_to_its_laws
            if laws
            else keeps_to_the_law_of_contact_by_steps
        )(sol)

    # it can be shown
    text = system._repr_markdown_()
    assert system.name in text
    assert all(p.unit == "" or "|" in text for p in system.parameters.values())
    if system.shapes:
        drawn = observe(sol, "sketch")
        points = sum(len(s.points) for s in system.shapes)
        assert drawn.shape == (rows, 2 * points + len(system.shapes))
        assert np.isfinite(drawn).all()

    # and written down: the same numbers, bit by bit
    spec = json.loads(json.dumps(system.to_spec()))
    again = ex.simulate(from_spec(spec), scheme)
    for name in shapes:
        assert np.array_equal(getattr(sol, name), getattr(again, name)), name


def keeps_to_its_formula(sol) -> None:
    """Assert that each iterate is the formula of the first branch whose conditions hold."""
    system = sol.system
    symbols = [*system.x, *map(sp.Symbol, system.parameters)]
    named = []
    for name, formula in system.lets.items():
        named.append(sp.lambdify([*symbols], formula, "math"))
        symbols.append(sp.Symbol(name))
    f, when = (
        [sp.lambdify(symbols, list(part), "math") for part in parts]
        for parts in zip(*((b.f, b.when) for b in system.branches), strict=True)
    )
    for i in range(min(len(sol.t) - 1, 200)):
        at = [*sol.q[i], *sol.rho.values()]
        for one in named:
            at.append(one(*at))
        k = next(k for k, w in enumerate(when) if all(x > 0 for x in w(*at)))
        assert sol.branch[i] == k, i
        np.testing.assert_allclose(sol.q[i + 1], f[k](*at), rtol=1e-9, atol=1e-12)


def keeps_to_the_law_of_contact_by_steps(sol) -> None:
    """Assert the law of contact for a scheme that knows impacts to one step."""
    system = sol.system
    assert not sol.p[0].any()

    # it starts where it says, outside of every obstacle
    compiled = compile_system(system)
    rho = list(sol.rho.values())
    q0, v0, e = compiled.start(rho)
    assert np.array_equal(sol.q[0], q0)
    assert np.array_equal(sol.v[0], v0)
    assert (sol.gap[0] >= -1e-9).all()

    # the law of contact
    step = np.diff(sol.t).max()
    fast = np.abs(sol.gap_dot).max(initial=0.0)
    assert sol.gap.min(initial=0.0) >= -(1.1 * step * fast + bent(sol) + 1e-9)
    assert (sol.p >= 0).all()
    assert np.array_equal(sol.active == 2, sol.p > 0)
    assert sol.residuals[:, 0].max() <= 1e-9 * (fast + 1)
    closing = sol.p[1:] > 0
    by_positions = sol.scheme.impact_steps > 1
    if by_positions:
        keeps_to_the_mean_of_positions(sol, e)
    else:
        reach = sol.gap[:-1] + step * np.minimum(sol.gap_dot[:-1], 0)
        reach = np.minimum(reach, sol.gap[1:])  # forces may close what no speed would
        assert (reach[closing] <= 1e-9).all()
    if compiled.constant and not by_positions:
        law = sol.gap_dot[1:] + e * sol.gap_dot[:-1]
        allowed = 1e-9 * (fast + 1)
        if not isinstance(sol.scheme, ImplicitCapturing):  # it may take a force behind the impact
            allowed += 2 * np.abs(np.diff(sol.v, axis=0)[~closing.any(axis=1)]).max(initial=0.0)
        assert np.abs(law[closing]).max(initial=0.0) <= allowed

    # no energy is born at an impact
    over = np.append(True, ~closing.any(axis=1)) if by_positions else np.full(len(sol.t), True)
    work = np.diff(sol.contact_work.sum(axis=1)[over])  # between the impacts that take two steps
    if not compiled.rheonomic:
        born = 0.1 * step**2 * weight(sol) + 0.1 * step * sol.kinetic.max() * by_positions
        assert work.max(initial=0.0) <= born + 1e-12
        if sol.potential is not None and system.contacts:
            before = np.diff(np.flatnonzero(over)) > 1 if by_positions else closing.any(axis=1)
            change = np.diff(sol.energy[over])[before]
            moved = np.zeros(len(change))
            if sol.has("lam_alpha"):
                # the speed turns round from where the step begins, and the place goes on to gap = 0:
                # of five-bar A 8.5 mJ at an impact of 0.79 m/s, for h max |F.v| = 25 mJ
                moved = step * np.abs(np.einsum("ti,ti->t", force(sol), sol.v))
                moved = np.maximum(moved[:-1], moved[1:])[before]
            assert (change <= 0.2 * step * sol.kinetic.max() + moved + 1e-12).all()
    for event in sol.events:
        if event.kind in ("slips", "sticks", "turns"):
            assert event.index in system.rough
            continue
        assert event.kind in ("impact", "closed", "released")
        assert event.kind == "released" or event.impulse > 0 or event.row == 0
    if system.rough:
        keeps_to_the_law_of_coulomb(sol)


def bent(sol) -> float:
    """Return what closed gaps bend in all steps: a step goes straight on, and leaves it behind."""
    compiled = compile_system(sol.system)
    if compiled.constant or sol.has("discs"):
        return 0.0
    way, none, nc = np.diff(sol.q, axis=0), np.zeros_like(sol.v[:-1]), sol.gap.shape[1]
    beside = [sol.changed(t=sol.t[:-1], q=sol.q[:-1] + s * way, v=none) for s in (-0.01, 0.01)]
    back, ahead = (observe(at, "gap")[:, :nc] for at in beside)
    curved = np.diff(sol.gap, axis=0) - (ahead - back) / 0.02
    return np.abs(curved[sol.p[1:] > 0]).sum()


def keeps_to_the_mean_of_positions(sol, e) -> None:
    """Assert 0 <= gap at (q_{k+1} + e q_{k-1}) / (1 + e) perp p >= 0, each step with its own e."""
    h = np.diff(sol.t)
    moved = np.vstack([sol.v[0], np.diff(sol.q[:-1], axis=0) / h[:-1, None]])
    near = 1e-9 * (1 + np.abs(sol.gap).max(initial=0.0))
    for a, back in enumerate(e):
        mean = (sol.q[1:] + back * (sol.q[:-1] - h[:, None] * moved)) / (1 + back)
        t = (sol.t[1:] + back * (sol.t[:-1] - h)) / (1 + back)
        at = sol.changed(t=t, q=mean, v=np.zeros_like(mean))
        gap = observe(at, "gap")[:, a]
        assert gap.min() >= -near
        assert np.abs(gap[sol.p[1:, a] > 0]).max(initial=0.0) <= near


def keeps_to_the_law_of_coulomb(sol) -> None:
    """Assert |p_t| <= mu p, on the bound and against the slip where it slides, no slip else."""
    shape = (*sol.p.shape, -1)
    p_t, slip = sol.p_t.reshape(shape), sol.slip.reshape(shape)
    size, speed = np.linalg.norm(p_t, axis=2), np.linalg.norm(slip, axis=2)
    assert (size <= sol.p_max * (1 + 1e-9)).all()
    assert not p_t[sol.p == 0].any()
    slides = np.abs(sol.doing) == 1
    assert np.abs(size - sol.p_max)[slides].max(initial=0.0) <= 1e-12 * sol.p_max.max()
    if sol.p_t.ndim == 2:
        assert (sol.doing * sol.p_t)[slides].max(initial=0.0) <= 0
    if compile_system(sol.system).constant:
        fast, pull = speed.max(initial=0.0), (p_t * slip).sum(axis=2)
        assert (pull + size * speed)[slides].max(initial=0.0) <= 1e-9 * fast * sol.p_max.max()
        assert speed[1:][sol.sticks[1:]].max(initial=0.0) <= 1e-9 * fast


def keeps_to_its_laws(sol: Solution) -> None:
    """Assert the theta rule, the relation, -y in N_[lb, ub](lam); and that h -> 0 is the exact x."""
    system, theta = sol.scheme.compile(sol.system).system, sol.scheme.theta
    args = [system.t, *system.x, *system.lam, *(sp.Symbol(k) for k in system.parameters)]
    values = [sol.t, *sol.x.T, *sol.lam.T, *sol.rho.values()]

    def along(formulas):
        found = [np.broadcast_to(sp.lambdify(args, k, "numpy")(*values), sol.t.shape)
                 for k in formulas]  # fmt: skip
        return np.array(found).T.reshape(len(sol.t), len(formulas))

    f, r, y = map(along, (system.f, system.r, system.y))
    M = np.array(sp.Matrix(system.mass).subs(sol.rho), float)
    h = np.diff(sol.t)[:, None]
    mean = theta * f[1:] + (1 - theta) * f[:-1] + r[1:]
    scale = np.abs(sol.x).max(axis=0) + 1e-12
    assert (np.abs(np.diff(sol.x, axis=0) @ M.T - h * mean) <= 1e-9 * (np.abs(M) @ scale)).all()
    assert (np.abs(y - sol.y) <= 1e-9 * (1e-12 + np.abs(y).max(axis=0))).all()
    low, high = np.array([[float(b.subs(sol.rho)) for b in (k.lb, k.ub)] for k in system.laws]).T
    y, lam = sol.y[1:], sol.lam[1:]
    tiny = 1e-9 * np.abs(y).max(axis=0)
    assert ((lam >= low) & (lam <= high)).all()
    assert (((y <= tiny) | (lam == low)) & ((y >= -tiny) | (lam == high))).all()
    assert sol.residuals.max() <= 1e-9
    if system.exact is not None:
        errors = []
        for h_k in (sol.scheme.h / 16, sol.scheme.h / 128):
            run = ex.simulate(system, dataclasses.replace(sol.scheme, h=h_k))
            errors.append(np.abs(system.exact(run.t, run.rho)["x"] - run.x).max())
        assert errors[1] < errors[0] / 3


def located_rows(sol: Solution) -> None:
    """Assert that time grows but for the two sides of each event."""
    sides = [i for e in sol.events for i in (e.row - 1, e.row)]
    assert (np.diff(sol.t) >= 0).all()
    assert (np.diff(np.delete(sol.t, sides)) > 0).all()
    accumulated = {e.row for e in sol.events if e.kind == "zeno"}
    for e in sol.events:
        assert sol.t[e.row - 1] == sol.t[e.row] == e.t
        near = 1e-12 * (1 + np.abs(sol.x).max())
        if (
            e.row in accumulated
        ):  # ends a moment after its last impact; another contact may act then
            near = np.inf
        assert np.abs(sol.x[e.row - 1] - e.x_minus).max() <= near
        assert np.abs(sol.x[e.row] - e.x_plus).max() <= near
    ends = [g.name for g in getattr(sol.system, "guards", ()) if g.terminal]
    over = bool(sol.events) and sol.events[-1].contact in ends
    assert sol.t[-1] == (sol.events[-1].t if over else sol.system.t_end)


def keeps_to_the_law_of_contact(sol: Solution) -> None:
    """Assert unilateral contact, Newton's law at each impact, and no birth of energy."""
    system, compiled = sol.system, compile_system(sol.system)
    q0, v0, e = compiled.start(list(sol.rho.values()))
    assert (
        np.abs(sol.x[0] - [*q0, *v0]).max() <= 1e-14 * bool(system.constraints) * np.abs(v0).max()
    )
    # gap'' = 0 is integrated like everything else
    drift = max(1e-8, 4 * getattr(sol.scheme, "atol", 0.0))
    assert sol.gap.min(initial=0.0) >= -drift
    assert set(sol.active.ravel()) <= {0, 1}
    closed = sol.active == 1
    assert np.abs(sol.gap[closed]).max(initial=0.0) <= drift
    fast = np.abs(sol.gap_dot).max(initial=0.0)
    assert np.abs(sol.gap_dot[closed]).max(initial=0.0) <= max(
        1e-7, 10 * fast * getattr(sol.scheme, "rtol", 0.0)
    )
    assert not sol.lam[~closed].any()
    assert (sol.lam >= -1e-6 * (1 + np.abs(sol.lam).max(initial=0.0))).all()
    assert (sol.p >= 0).all()
    assert (np.abs(sol.lam_t) <= sol.lam_max + 1e-6 * (1 + sol.lam_max)).all()
    assert np.abs(sol.slip[sol.sticks]).max(initial=0.0) <= 1e-7
    assert not np.delete(sol.p, [event.row for event in sol.events], axis=0).any()
    for event in sol.events:
        a, i = event.index, event.row
        smooth = ("released", "slips", "sticks", "turns")
        assert event.kind in ("impact", "closed", "zeno", *smooth)
        named = [c.name for c in (*system.contacts, *system.constraints)]
        assert event.contact == named[a]
        if a >= len(system.contacts):  # a constraint begins to hold, or is released
            own = a - len(system.contacts)
            assert event.impulse == sol.p_phi[i, own]
            assert sol.constraints.holds[i, own] == (event.kind == "closed")
            assert abs(event.gap_dot_plus) <= 1e-9 * (1 + np.abs(sol.v).max())
            continue
        assert event.impulse == sol.p[i, a]
        assert abs(sol.gap[i, a]) <= 1e-8
        if event.kind == "impact":
            assert event.gap_dot_minus < 0 < event.impulse
            if np.count_nonzero(sol.p[i]) == 1:
                law = event.gap_dot_plus + e[a] * event.gap_dot_minus
                assert abs(law) <= 1e-9 * (fast + 1)
        elif event.kind in smooth:
            assert event.kind == "released" or a in system.rough
            assert not event.impulse
            assert np.array_equal(event.x_minus, event.x_plus)
        if not compiled.rheonomic:
            kinetic = sol.kinetic[[i - 1, i]]
            assert kinetic[1] <= kinetic[0] + 1e-9 * (1 + sol.kinetic.max())


def keeps_to_its_inclusion(sol: Solution) -> None:
    """Assert x' = f(alpha), alpha in step(c), continuity, the equations; and the closed form."""
    system = sol.system
    alphas = [s.alpha for s in system.switches]
    args = [system.t, *system.x, *alphas, *(sp.Symbol(k) for k in system.parameters)]
    values = [sol.t, *sol.x.T, *sol.alpha.T, *sol.rho.values()]
    scale = 1 + np.abs(sol.x).max()
    for k, f in enumerate(system.f):
        rate = np.broadcast_to(sp.lambdify(args, f, "numpy")(*values), sol.t.shape)
        size = 1 + np.abs(sol.rates[:, k]).max()
        assert np.abs(rate - sol.rates[:, k]).max() <= 1e-9 * size
    for j, s in enumerate(system.switches):
        c = np.broadcast_to(sp.lambdify(args, s.c, "numpy")(*values), sol.t.shape)
        alpha = sol.alpha[:, j]
        assert np.abs(c - sol.c[:, j]).max() <= 1e-9 * scale
        assert ((alpha >= 0) & (alpha <= 1)).all()
        assert (alpha[c > 1e-9 * scale] == 1).all()
        assert (alpha[c < -1e-9 * scale] == 0).all()
    elements = isinstance(sol.scheme, ex.FESD)
    if elements:
        assert max(sol.fesd_residual.values()) <= 1e-10
    for e in sol.events:
        assert np.array_equal(e.x_minus, e.x_plus)
        assert abs(sol.c[e.row, e.index]) <= 1e-9 * scale
        assert (e.mode, e.to) == tuple(sol.mode_names[sol.mode[i]] for i in (e.row - 1, e.row))
    if system.exact is not None:
        finer = {"stages": 4} if elements else {"rtol": 1e-11, "atol": 1e-12}
        fine = ex.simulate(system, dataclasses.replace(sol.scheme, **finer))
        form = system.exact(fine.t, fine.rho)["x"]
        assert np.abs(form - fine.x).max() <= 1e-8 * scale


def keeps_to_its_modes(sol: Solution) -> None:
    """Assert x' = f_m, x on its mode's side of each guard, resets; and the closed form."""
    system = sol.system
    args = [system.t, *system.x, *(sp.Symbol(k) for k in system.parameters)]

    def at(rows, formula):
        """Return a formula at rows of the solution, by SymPy and NumPy alone."""
        values = sp.lambdify(args, formula, "numpy")(sol.t[rows], *sol.x[rows].T, *sol.rho.values())
        return np.broadcast_to(values, np.shape(sol.t[rows]))

    scale = 1 + np.abs(sol.x).max()
    points = [c for shape in system.shapes for point in shape.points for c in point]
    if points:
        drawn, some = observe(sol, "sketch"), np.linspace(0, len(sol.t) - 1, 20).astype(int)
        formed = np.column_stack([at(some, x) for x in points])
        assert np.abs(drawn[some, : len(points)] - formed).max() <= 1e-9 * (
            1 + np.abs(formed).max()
        )
    for mode in system.modes:
        here = np.flatnonzero(sol.mode == mode.index)
        for k, f in enumerate(mode.flow):
            size = 1 + np.abs(sol.rates[:, k]).max()
            assert np.abs(at(here, f) - sol.rates[here, k]).max(initial=0.0) <= 1e-9 * size
    for guard in system.guards:
        if guard.bounds and guard.when is None:
            here = np.flatnonzero(sol.mode == guard.mode)
            assert (guard.direction * at(here, guard.r)).max(initial=0.0) <= 1e-7 * scale, (
                guard.name
            )
    for e in sol.events:
        assert e.kind in ("event", "zeno")
        before, after = (system.modes[sol.mode[i]].name for i in (e.row - 1, e.row))
        assert (e.mode, e.to) == (before, after)
        number = sol.mode[e.row - 1]
        guard = next(g for g in system.guards if (g.name, g.mode) == (e.contact, number))
        assert abs(at([e.row - 1], guard.r)[0]) <= 1e-7 * scale
        if e.kind == "event":
            assert sol.mode[e.row] == guard.to
            reset = [at([e.row - 1], x)[0] for x in guard.reset]
            assert np.abs(reset - e.x_plus).max() <= 1e-9 * scale
    if system.exact is not None:
        form = system.exact(sol.t, sol.rho)["x"]
        near = np.min(np.abs(sol.t[:, None] - [np.inf, *(e.t for e in sol.events)]), axis=1) < 1e-6
        off = np.abs(form - sol.x)[~near]
        assert np.isnan(off).all() or off.max() <= 1e-6 * scale


@pytest.mark.broad
@pytest.mark.parametrize(("name", "scheme"), CASES)
def test_model_conforms(name, scheme):
    """Each model of the gallery with each scheme that takes it."""
    system = SYSTEMS[name]
    conforms(system, next(s for s in ex.schemes_for(system) if type(s).__name__ == scheme))


@pytest.mark.parametrize("scheme", ["EventDriven"])
@pytest.mark.parametrize("name", HYBRIDS)
def test_hybrid_system_conforms(name, scheme):
    """A relay, resets that accumulate, an end: whatever the gallery holds."""
    conforms(HYBRIDS[name](), getattr(ex, scheme)())


OTHER = {
    "MoreauJean": [{"theta": 1.0}, {"mass_point": "iterate"}, {"forecast": 1.0}],
    "NonsmoothGeneralizedAlpha": [{"level": "velocity"}, {"force": "interpolated"}],
    "SchatzmanPaoli": [{"beta": 0.1}],
    "EventDriven": [{"method": "dopri5"}, {"rtol": 1e-7, "atol": 1e-8}],
    "EulerMoreau": [{"theta": 1.0, "lcp": "lemke"}],
}


@pytest.mark.broad
@pytest.mark.parametrize(
    ("name", "scheme", "knobs"),
    [(n, s, knobs) for n, s in KINDS if n in models for knobs in OTHER.get(s, [])],
)
def test_model_conforms_with_other_knobs(name, scheme, knobs):
    """The same properties away from the defaults, for each kind of system."""
    system = SYSTEMS[name]
    default = next(s for s in ex.schemes_for(system) if type(s).__name__ == scheme)
    conforms(system, dataclasses.replace(default, **knobs))


def test_time_stepping_comes_first_but_where_constraints_couple():
    """What a user gets who does not choose: it passes through any number of impacts.

    Constraints are the exception: what one impact misses there decides about the next ones.
    """
    for system in GALLERY.values():
        names = [type(s).__name__ for s in ex.schemes_for(system)]
        first = "EventDriven" if system.constraints else "MoreauJean"
        assert names[0] == first or first not in names
    names = [type(s).__name__ for s in ex.schemes_for(HYBRIDS["heater"]())]
    assert names == ["EventDriven", "FESD"]


def test_a_panel_shows_the_three_impacts_of_the_five_bar():
    """At h = 1e-3 time stepping adds a fourth, where the joint clears the ground by 1.4 mm.

    What couples a hundred coordinates is stepped: its second derivatives take long to compile.
    """
    session = Session("five_bar_b")
    assert session.state["scheme"] == "EventDriven"
    assert [e.kind for e in session.solution.events] == ["impact"] * 3
    names = [f"x{k}" for k in range(100)]
    mass = [[int(i == j) for j in names] for i in names]
    many = ex.MechanicalSystem("many", q=names, mass=mass, constraints=["x0 - x1"])
    assert type(ex.schemes_for(many)[0]) is ex.MoreauJean


def test_every_model_is_taken_by_a_scheme():
    """The table of applicability has a yes in each row, and agrees with schemes_for."""
    table = ex.applicability(GALLERY)
    assert list(table) == list(models)
    for name, row in table.items():
        assert {s for s, taken in row.items() if taken} == {s for n, s in CASES if n == name}
        assert any(row.values())


def test_applicability_of_types_and_of_one_system():
    """By default the types; what is no system is refused."""
    types = ex.applicability()
    assert [s for s, taken in types["FirstOrderSystem"].items() if taken] == ["EulerMoreau"]
    assert [s for s, taken in types["DiscSystem"].items() if taken] == ["MoreauJean"]
    ball = models["bouncing_ball"]()
    row = ex.applicability(ball)[ball.name]
    assert {s for s, yes in row.items() if yes} == {type(s).__name__ for s in ex.schemes_for(ball)}
    for wrong in ("bouncing_ball", {"a": 3}):
        with pytest.raises(ex.BadValue, match="not a system"):
            ex.applicability(wrong)


# -- closed forms and published numbers ---------------------------------------------------------


def published(name: str) -> tuple[float, float]:
    """Return the one published number of a model whose description begins so, and its tolerance."""
    found = [x for s in GALLERY.values() for k, x in s.published.items() if k.startswith(name)]
    assert len(found) == 1
    return found[0][:2]


def impacts(sol, index: int = 0) -> list:
    """Return the impacts at one contact."""
    return [e for e in sol.events if e.kind == "impact" and e.index == index]


def ball_by_events(t: np.ndarray, y0: float, g: float, e: float) -> np.ndarray:
    """Fly from impact to impact, one quadratic after the other: y at the times t."""
    y = np.zeros_like(t)
    start, height, speed = 0.0, y0, 0.0
    for _ in range(3000):
        flight = (speed + np.sqrt(speed**2 + 2 * g * height)) / g
        inside = (t >= start) & (t < start + flight)
        s = t[inside] - start
        y[inside] = height + speed * s - g * s**2 / 2
        start, height, speed = start + flight, 0.0, e * (g * flight - speed)
        if speed < 1e-14:
            break
    return y


@pytest.mark.parametrize("e", [0.0, 0.3, 0.8, 0.9, 1.0])
@pytest.mark.parametrize(("y0", "g"), [(1.0, 9.81), (0.3, 2.5)])
def test_closed_form_of_the_ball_is_an_event_recursion(e, y0, g):
    """`exact` against flights computed one by one, also beyond the Zeno time."""
    model = models["bouncing_ball"]()
    t = np.sort(np.random.default_rng(5).uniform(0, 12, 4000))
    got = model.exact(t, {"y0": y0, "g": g, "e": e, "m": 1.0})
    assert got["q"].shape == got["v"].shape == (4000, 1)
    assert np.abs(got["q"][:, 0] - ball_by_events(t, y0, g, e)).max() <= 1e-9
    flying = np.abs(got["v"][:, 0]) > 0
    energy = g * got["q"][:, 0] + got["v"][:, 0] ** 2 / 2
    if e == 1:
        assert energy == pytest.approx(np.full(4000, g * y0), rel=1e-9)
    else:
        assert (np.diff(energy[flying]) <= 1e-9).all()


def test_zeno_time_is_the_published_one():
    """8.57895 s for y0 = 1, g = 9.81, e = 0.9; sqrt(2 y0 / g) (1 + e) / (1 - e)."""
    zeno_time = sys.modules["explorer.models.bouncing_ball"].zeno_time
    number, tolerance = published("Zeno time")
    assert zeno_time(1, 9.81, 0.9) == pytest.approx(number, abs=tolerance)
    assert number == pytest.approx(8.57895, abs=1e-5)
    assert zeno_time(1, 9.81, 1.0) == np.inf


def test_ball_comes_to_rest_at_the_zeno_time():
    """Impacts accumulate; afterwards the ball lies still, a contact that lasts."""
    sol = ex.simulate(models["bouncing_ball"](), ex.MoreauJean(h=2e-4), e=0.9, t_end=10)
    (closed,) = [e for e in sol.events if e.kind == "closed"]
    assert closed.t == pytest.approx(8.57895, abs=0.1)
    assert np.abs(sol.v[sol.t > 8.7]).max() < 1e-9
    path = np.abs(np.diff(sol.q[:, 0])).sum()
    assert path == pytest.approx(1.81 / 0.19, rel=1e-2)  # y0 (1 + e^2) / (1 - e^2)


@pytest.mark.parametrize("h", [4e-3, 1e-3, 2.5e-4])
@pytest.mark.parametrize("e", [0.5, 0.8])
def test_ball_follows_its_closed_form_to_first_order(h, e):
    """|y - exact| <= C h with one C for all step sizes."""
    model = models["bouncing_ball"]()
    sol = ex.simulate(model, ex.MoreauJean(h=h), e=e, t_end=4.5)
    exact = model.exact(sol.t, sol.rho)
    assert np.abs(sol.q - exact["q"]).max() <= 12 * h


def locked_orbit(a: float, e: float, w: float, g: float = 9.81) -> tuple[float, float]:
    """Return y and y' at t = 0 on the orbit with one impact a period at the phase G1 = a cos."""
    low, _ = sys.modules["explorer.models.vibrating_table"].period_one(e)
    phase, period = np.arccos(low / a), 2 * np.pi / w
    since = period - phase / w
    rise = g * period / 2
    return a * g / w**2 * np.sin(phase) + rise * since - g * since**2 / 2, rise - g * since


def test_table_locks_below_G2_and_doubles_above():
    """One impact in each period for a in [G1, G2] (Luck and Mehta); above, two speeds alternate.

    Started on the orbit: balanced speeds give a cos(phase) = G1 and a relative speed before the
    impact of 2 pi g / (w (1 + e)).
    """
    low, high = sys.modules["explorer.models.vibrating_table"].period_one(0.8)
    number, tolerance = published("period one up to")
    assert high == pytest.approx(number, abs=tolerance)
    assert (low, number) == pytest.approx((0.34907, 1.07084), abs=1e-5)
    e, w = 0.8, 20.0

    def settled(a):
        y0, v0 = locked_orbit(a, e, w)
        sol = ex.simulate(
            models["vibrating_table"](), ex.MoreauJean(h=2e-4), a=a, e=e, omega=w, t_end=25,
            q0=[y0], v0=[v0],
        )  # fmt: skip
        hits = impacts(sol)[-16:]
        return np.diff([e.t for e in hits]), np.array([-e.gap_dot_minus for e in hits])

    for a in (0.6, 1.03):
        times, speeds = settled(a)
        assert times == pytest.approx(np.full(15, 2 * np.pi / w), abs=2e-3), a
        assert speeds == pytest.approx(2 * np.pi * 9.81 / (w * (1 + e)), rel=5e-3), a
    times, speeds = settled(1.13)
    assert np.abs(np.diff(times)).min() > 0.05
    assert times[1:] + times[:-1] == pytest.approx(np.full(14, 4 * np.pi / w), abs=4e-3)
    assert np.abs(np.diff(speeds)).min() > 0.02 * speeds.mean()


def run_preset(name: str, preset: str):
    """Return the solution that a panel shows for a preset."""
    from explorer.panels.session import Session

    session = Session(name)
    session.preset(preset)
    return session.solution


def test_preset_locked_shows_one_impact_in_each_period():
    """As its sentence says: the last impacts are a period of the table apart."""
    sol = run_preset("vibrating_table", "locked")
    times = np.diff([e.t for e in impacts(sol)[-6:]])
    assert times == pytest.approx(np.full(5, 2 * np.pi / sol.rho["omega"]), abs=0.01)


def test_preset_doubled_shows_two_impacts_in_two_periods():
    """As its sentence says: long and short flights alternate."""
    sol = run_preset("vibrating_table", "doubled")
    times = np.diff([e.t for e in impacts(sol)[-8:]])
    period = 2 * np.pi / sol.rho["omega"]
    assert times[1:] + times[:-1] == pytest.approx(np.full(6, 2 * period), abs=0.01)
    assert np.abs(np.diff(times)).min() > 0.01


@pytest.mark.parametrize("name", ["vibrating_table", "impact_oscillator"])
def test_preset_chatter_comes_to_rest_on_the_obstacle(name):
    """As its sentence says: impacts accumulate, then the contact stays closed."""
    sol = run_preset(name, "chatter")
    assert "closed" in [e.kind for e in sol.events]


def test_preset_one_impact_has_its_speed():
    """As its sentence says: 2 w / ((w^2 - 1) (1 - e)), in each of the last impacts."""
    sol = run_preset("impact_oscillator", "one impact")
    w, e = sol.rho["omega"], sol.rho["e"]
    for hit in impacts(sol)[-5:]:
        assert -hit.gap_dot_minus == pytest.approx(2 * w / ((w**2 - 1) * (1 - e)), rel=1e-2)


@pytest.mark.parametrize(("omega", "speed"), [(2.0, 6.66667), (4.0, 2.66667)])
def test_one_impact_orbit_has_the_published_speed(omega, speed):
    """V = 2 w / ((w^2 - 1) (1 - e)) for w = 2 n (Budd and Dux), one impact in n periods.

    The start: x = -b sin(t - t0) + cos(w t) / (1 - w^2) with w t0 = pi / 2 hits x = 0 at t0 at the
    speed V and leaves at e V if b = -e V - w / (w^2 - 1).
    """
    e = 0.8
    V = 2 * omega / ((omega**2 - 1) * (1 - e))
    assert pytest.approx(speed, abs=1e-5) == V
    if omega == 2:
        assert published("impact speed for omega = 2")[0] == pytest.approx(V, abs=1e-5)
    t0, b = np.pi / 2 / omega, -e * V - omega / (omega**2 - 1)
    x0, v0 = b * np.sin(t0) + 1 / (1 - omega**2), -b * np.cos(t0)
    sol = ex.simulate(
        models["impact_oscillator"](), ex.MoreauJean(h=2e-4), t_end=30, m=1, c=0, k=1, f=1,
        omega=omega, s=0, e=e, x0=x0, v0=v0,
    )  # fmt: skip
    hits = impacts(sol)
    assert [e.t for e in hits] == pytest.approx(t0 + np.pi * np.arange(len(hits)), abs=5e-3)
    assert len(hits) == 1 + int((30 - t0) / np.pi)
    assert [-h.gap_dot_minus for h in hits] == pytest.approx([V] * len(hits), rel=1e-2)


def test_grazing_happens_at_the_published_place():
    """The free response touches s = 1 / sqrt((1 - w^2)^2 + (2 z w)^2) = 2.71163, w = .8, z = .05."""
    w, c = 0.8, 0.1
    s = 1 / np.hypot(1 - w**2, c * w)
    assert s == pytest.approx(2.71163, abs=1e-5)
    phase = np.arctan2(c * w, 1 - w**2)

    def run(stop):
        return ex.simulate(
            models["impact_oscillator"](), ex.MoreauJean(h=1e-3), t_end=30, m=1, c=c, k=1, f=1,
            omega=w, e=0.8, s=stop, x0=s * np.cos(phase), v0=s * w * np.sin(phase),
        )  # fmt: skip

    free = run(s + 1e-3)
    assert not free.p.any()
    assert free.q.max() == pytest.approx(s, abs=1e-5)
    hit = run(s - 1e-3)
    assert impacts(hit)
    first = impacts(hit)[0]  # the square root: speed ~ w sqrt(2 s depth)
    assert -first.gap_dot_minus == pytest.approx(w * np.sqrt(2 * s * 1e-3), rel=0.05)


@pytest.mark.parametrize("theta0", [0.3, 1.5, 3.0])
@pytest.mark.parametrize("length", [1.0, 0.4])
def test_pendulum_quarter_period(theta0, length):
    """With d = 0 the wall is met after sqrt(l / g) K(sin(theta0 / 2)), at the speed of the drop."""
    h = 2e-4
    sol = ex.simulate(
        models["pendulum_wall"](), ex.MoreauJean(h=h), t_end=2, d=0, e=1, theta0=theta0, l=length
    )
    first = impacts(sol)[0]
    quarter = np.sqrt(length / 9.81) * ellipk(np.sin(theta0 / 2) ** 2)
    assert first.t == pytest.approx(quarter, abs=1.5 * h)
    speed = np.sqrt(2 * 9.81 * length * (1 - np.cos(theta0)))
    assert -first.gap_dot_minus == pytest.approx(speed, rel=1e-3)


@pytest.mark.parametrize(("B", "H"), [(0.5, 2.0), (0.4, 1.0), (1.0, 4.0)])
def test_rocking_block_loses_housners_share_of_speed(B, H):
    """Angular speeds before and after: 1 - 1.5 sin^2(alpha), 0.911765 for B/H = 1/4."""
    sol = ex.simulate(models["rocking_block"](), ex.MoreauJean(h=1e-4), B=B, H=H, t_end=3)
    hits = [e for e in sol.events if e.kind == "impact" and abs(e.v_minus[1]) > 0.1]
    expected = 1 - 1.5 * np.sin(np.arctan(B / H)) ** 2
    if B / H == 0.25:
        assert published("ratio of angular speeds")[0] == pytest.approx(expected, abs=1e-6)
    assert len(hits) >= 2
    for hit in hits[:3]:
        assert hit.v_plus[1] / hit.v_minus[1] == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize("tilt", [0.25, 0.5, 0.9])
def test_rocking_block_quarter_period(tilt):
    """From tilt alpha to upright: quadrature of the energy of the turning block."""
    B, H, g, h = 0.5, 2.0, 9.81, 1e-4
    alpha, R = np.arctan(B / H), np.hypot(B, H) / 2
    theta0, p2 = tilt * alpha, 3 * g / (4 * R)

    def integrand(s):  # theta = theta0 - s^2 removes the root at the turning point
        drop = np.cos(alpha - theta0) - np.cos(alpha - theta0 + s**2)
        return (
            2 * s / np.sqrt(2 * p2 * drop)
            if s > 0
            else 2 / np.sqrt(2 * p2 * np.sin(alpha - theta0))
        )

    quarter = quad(integrand, 0, np.sqrt(theta0))[0]
    sol = ex.simulate(models["rocking_block"](), ex.MoreauJean(h=h), tilt=tilt, t_end=1.5)
    hit = next(e for e in sol.events if e.kind == "impact")
    assert hit.t == pytest.approx(quarter, abs=2 * h)
    housner = np.arccosh(1 / (1 - tilt)) / np.sqrt(p2)
    assert housner == pytest.approx(quarter, rel=1e-2)
    if tilt == 0.5:
        number, tolerance = published("quarter period for tilt")
        assert number == pytest.approx(quarter, abs=1e-6)
        assert hit.t == pytest.approx(number, rel=tolerance)


def test_cradle_sequential_impacts_pass_the_speed_on():
    """Three equal balls with a small spacing, e = 1: (0, 0, 1)."""
    sol = ex.simulate(models["newtons_cradle"](3), ex.MoreauJean(h=1e-4), t_end=1.0, s=0.002, e=1)
    first, second = sol.events[:2]
    assert [first.kind, second.kind] == ["impact", "impact"]
    assert [first.index, second.index] == [0, 1]
    assert second.t > first.t
    assert second.v_plus / first.v_minus[0] == pytest.approx([0, 0, 1], abs=0.02)


def test_cradle_simultaneous_impact_is_newtons_law_for_all_contacts():
    """Three touching balls, e = 1: (-1/3, 2/3, 2/3), another answer (Acary and Brogliato 2008)."""
    sol = ex.simulate(models["newtons_cradle"](3), ex.MoreauJean(h=1e-4), t_end=0.6, s=0, e=1)
    hit = next(e for e in sol.events if e.kind == "impact" and e.v_minus[0] > 0.5)
    assert hit.v_plus / hit.v_minus[0] == pytest.approx([-1 / 3, 2 / 3, 2 / 3], abs=1e-3)


def test_the_file_of_several_models_is_no_model():
    with pytest.raises(ex.BadValue, match=r"has no 'five_bar'\. Did you mean 'five_bar_"):
        ex.models.five_bar()
