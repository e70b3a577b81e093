"""Systems with step functions and Filippov systems: rewriting, regions, refusals, display."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
import sympy as sp
from loops import for_each

import explorer as ex
from explorer.errors import BadModel
from explorer.systems import from_spec

FORMULAS = [
    "sign(x)*y", "abs(x - y)*x", "max(x, y, 1)", "min(x*y, abs(y))", "Heaviside(x + y)",
    "Piecewise((x, (x > 1) | (y < 0)), (y, x > y), (3, True))", "-sign(x + 0.4*abs(y)*y)",
    "abs(abs(x) - 1)", "abs(k - 1)*x", "sign(max(x, y))*sin(t)",
]  # fmt: skip


@pytest.mark.parametrize("formula", FORMULAS)
def test_the_rewritten_formula_is_the_same_function(formula):
    """At random states, with alpha = 1 for c > 0 and 0 for c < 0, both have the same values."""
    system = ex.StepSystem("s", x="x y", params={"k": 0.3}, f=[formula, 0])
    given, new = system._given[0], system.f[0]
    assert not new.has(sp.sign, sp.Max, sp.Min, sp.Piecewise)
    assert not any(e.free_symbols & set(system.x) for e in new.atoms(sp.Abs))
    rng = np.random.default_rng(3)
    for _ in range(25):
        at = dict(zip([*system.x, system.t], 2 * rng.standard_normal(3), strict=True))
        at[sp.Symbol("k")] = 0.3
        alphas = {s.alpha: int(bool(s.c.subs(at) > 0)) for s in system.switches}
        assert float(new.subs(at).subs(alphas)) == pytest.approx(float(given.subs(at)), abs=1e-12)


def test_one_function_has_one_multiplier():
    """u, -u and what is declared share one; what does not move needs none."""
    system = ex.StepSystem("s", x="x v", c={"slip": "v - 1"}, f=["sign(1 - v)", "max(v, 1) + x"])
    assert [s.name for s in system.switches] == ["slip"]
    assert sp.expand(system.f[0] - (1 - 2 * system.switches[0].alpha)) == 0
    assert (
        set(map(str, system.rewritten)) == {"sign(1 - v)", "Max(1, v)"}
        or len(system.rewritten) == 2
    )


REGIONS = {
    "A & B": lambda a, b: a * b,
    "A | B": lambda a, b: a + b - a * b,
    "A - B": lambda a, b: a * (1 - b),
    "~A": lambda a, b: 1 - a,
    "(A | B) - (A & B)": lambda a, b: a + b - 2 * a * b,
    "A & (A | B)": lambda a, b: a,
}


@pytest.mark.parametrize("where", REGIONS)
def test_table_of_logical_expressions_corrected(where):
    """Correction 2 of nurkanovic-2023. Table I: union alpha_1 + alpha_2 - alpha_1 alpha_2, difference alpha_1 (1 - alpha_2)."""
    system = ex.FilippovSystem(
        "s", x="x y", c={"A": "x", "B": "y"}, S=[where, f"~({where})"],
        modes={"in": [1, 0], "out": [0, 1]},
    )  # fmt: skip
    a, b = (s.alpha for s in system.switches)
    region, rest = system.subsystems[0].regions
    assert sp.expand(region.theta - REGIONS[where](a, b)) == 0
    assert sp.expand(region.theta + rest.theta) == 1
    printed = {"A | B": a + b, "A - B": a - b}  # of the paper: no indicator at some corner
    for corner in itertools.product((0, 1), repeat=2):
        at = dict(zip((a, b), corner, strict=True))
        inside = eval(where.replace("-", "& ~"), {"A": corner[0], "B": corner[1]}) & 1
        assert region.theta.subs(at) == inside
    if where in printed:
        values = {printed[where].subs({a: p, b: q}) for p in (0, 1) for q in (0, 1)}
        assert not values <= {0, 1}


def test_rows_of_signs_with_zeros():
    """Example 1 of the paper: theta = (a1, (1 - a1) a2, (1 - a1) (1 - a2))."""
    system = ex.FilippovSystem(
        "s", x="x y", c=["x", "y"], S=[[1, 0], [-1, 1], [-1, -1]],
        modes={"1": [1, 0], "2": [0, 1], "3": [-1, -1]},
    )  # fmt: skip
    a, b = (s.alpha for s in system.switches)
    thetas = [r.theta for r in system.subsystems[0].regions]
    for theta, wanted in zip(thetas, [a, (1 - a) * b, (1 - a) * (1 - b)], strict=True):
        assert sp.expand(theta - wanted) == 0
    assert system.mode_name([0, 1]) == "1 | 2"
    assert system.mode_name([1, 0]) == "1"
    assert system.mode_name([0, 0]) == "1 | 2 | 3"


def made(**changes):
    """Return a Filippov system of two functions with some arguments changed."""
    given = {
        "x": "x y", "c": ["x - 5", "y"], "S": [[1, 0], [-1, 1], [-1, -1]],
        "modes": {"a": [1, 0], "b": [0, 1], "c": [1, 1]},
    }  # fmt: skip
    return ex.FilippovSystem("s", **(given | changes))


BAD = {
    "zero row": ({"S": [[0, 0], [-1, 1], [-1, -1]]}, ["'a'", "zeros"]),
    "overlap": ({"S": [[1, 0], [-1, 1], [0, -1]]}, ["overlap", "'a' and 'c'", "x = "]),
    "hole": ({"S": [[1, 1], [-1, 1], [-1, -1]]}, ["do not cover the space", "x = "]),
    "entries": ({"S": [[2, 0], [-1, 1], [-1, -1]]}, ["(-1, 0 or 1)"]),
    "width": ({"S": [[1], [-1], [1]]}, ["for each function (c1, c2)"]),
    "rows": ({"S": [[1, 0], [-1, 0]]}, ["3 modes", "2"]),
    "no S": ({"S": None}, ["3 modes", "0"]),
    "unknown set": ({"S": ["c1", "c2 - D", "~c1"]}, ["'D'"]),
    "no set": ({"S": ["c1 + c2", "c2", "~c1"]}, ["A & B"]),
    "bracket": ({"S": ["(c1", "c2", "~c1"]}, ["bracket"]),
    "constant function": ({"c": ["k", "y"]}, ["'k'"]),
    "still function": ({"c": ["3", "y"]}, ["depends neither"]),
    "sharp function": ({"c": ["abs(x)", "y"]}, ["Abs(x)", "not smooth"]),
    "sharp field": ({"modes": {"a": ["abs(y)", 0], "b": [0, 1], "c": [1, 1]}}, ["Abs(y)", "'a'"]),
    "field": ({"modes": {"a": [1], "b": [0, 1], "c": [1, 1]}}, ["2 components"]),
    "unknown state": ({"modes": {"a": {"z": 1}, "b": [0, 1], "c": [1, 1]}}, ["'z'"]),
}


@for_each("case", BAD)
def test_refusals_of_regions(case):
    """One sentence that names what and why."""
    changes, words = BAD[case]
    with pytest.raises(BadModel) as caught:
        made(**changes)
    for word in words:
        assert word in str(caught.value)


def test_a_hole_that_no_state_has_is_none():
    """x > 1 and x < 0 at once is a pattern of signs without a point: nothing to refuse."""
    system = ex.FilippovSystem(
        "s", x="x", c=["x", "x - 1"], S=["~c1 & ~c2", "c1 - c2", "c2 & c1"],
        modes={"low": [1], "middle": [0], "high": [-1]},
    )  # fmt: skip
    assert system.subsystems[0].cells == (0, 1, -1, 2)


REFUSED = {
    "equation": (["Piecewise((1, Eq(x, 0)), (2, True))", 0], ["Eq(x, 0)", "inequalities"]),
    "root of a square": (["sqrt(x**2)", 0], ["sqrt(x**2)", "abs"]),
    "unknown name": (["sign(z)", 0], ["'z'"]),
    "length": (["sign(x)"], ["2 components"]),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_of_formulas(case):
    """What cannot be rewritten is named."""
    f, words = REFUSED[case]
    with pytest.raises(BadModel) as caught:
        ex.StepSystem("s", x="x y", f=f)
    for word in words:
        assert word in str(caught.value)


def test_a_region_that_is_empty_is_refused():
    """What no sign pattern satisfies."""
    with pytest.raises(BadModel, match=r"'none'.*A & ~A holds nowhere"):
        ex.FilippovSystem(
            "f", x="x", c={"A": "x"}, S=["A", "~A", "A & ~A"],
            modes={"up": [1], "down": [0], "none": [2]},
        )  # fmt: skip


def test_refusals_of_a_step_system():
    """No right-hand side yet; a taken name; the name of a multiplier."""
    with pytest.raises(BadModel, match="no right-hand side"):
        ex.simulate(ex.StepSystem("s", x="x"))
    with pytest.raises(BadModel, match="Two switching functions"):
        ex.StepSystem("s", x="x", c={"a": "x"}).switch("x - 1", name="a")
    with pytest.raises(BadModel, match="alpha_1"):
        ex.StepSystem("s", x="alpha_1", f=["sign(alpha_1)"])


@pytest.mark.parametrize("name", ["switched_oscillator", "three_blocks"])
def test_specification_and_display(name):
    """The same system from plain data; equations, regions and functions are shown."""
    system = getattr(ex.models, name)()
    again = from_spec(json.loads(json.dumps(system.to_spec())))
    assert type(again) is type(system)
    assert again.f == system.f
    assert [s.c for s in again.switches] == [s.c for s in system.switches]
    text = system._repr_markdown_()
    assert text.count(r"\mathrm{step}") == len(system.switches)
    shown = ["inside", r"\theta"] if hasattr(system, "subsystems") else ["rewritten"]
    assert all(word in text for word in shown)


def test_the_double_scroll_stretches_as_published():
    """Largest Lyapunov exponent of Chua's circuit: two runs side by side, pulled together again."""
    system, scheme = ex.models.chua(), ex.FESD(stages=4, h=0.2)
    ((exponent, tolerance, _),) = system.published.values()
    x = ex.simulate(system, scheme, t_end=50).x[-1]
    twin, stretched, turns = x + np.array([1e-7, 0, 0]), 0.0, 400
    for _ in range(turns):
        x, twin = (ex.simulate(system, scheme, t_end=10, x0=s).x[-1] for s in (x, twin))
        apart = np.linalg.norm(twin - x)
        stretched += np.log(apart / 1e-7)
        twin = x + (twin - x) * 1e-7 / apart
    assert abs(stretched / (10 * turns) - exponent) <= tolerance
