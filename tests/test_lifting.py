"""Products of multipliers as variables: bilinear equations with the numbers of the products."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import sympy as sp

import explorer as ex
from explorer.errors import BadValue
from explorer.transcription.lifting import Lifting
from tests.loops import for_each


def weights(n):
    """Return the multipliers and the weight of each of 2^n regions."""
    alpha = sp.symbols(f"alpha_1:{n + 1}")
    sides = [(a, 1 - a) for a in alpha]
    return alpha, [sp.prod(factors) for factors in itertools.product(*sides)]


@for_each("n", [2, 3, 4])
def test_regions_need_few_variables(n):
    """2^n - 3 of them, each bilinear in those before; put back they are the weights again."""
    alpha, theta = weights(n)
    lifting = Lifting(alpha)
    linear = [lifting(one) for one in theta]
    assert len(lifting.symbols) == 2**n - 3
    known = list(alpha)
    for symbol, product in zip(lifting.symbols, lifting.products, strict=True):
        assert product.free_symbols <= {*known}
        assert sp.Poly(product, *known).total_degree() == 2
        known.append(symbol)
    for one, other in zip(linear, theta, strict=True):
        assert sp.Poly(one, *known).total_degree() == 1
        back = one.subs(list(zip(lifting.symbols, lifting.products, strict=True))[::-1])
        assert sp.expand(back - other) == 0


def test_factors_with_states_and_powers():
    """Other factors stay in front, or within the product; a square is a product too."""
    (a, b), (x, k) = sp.symbols("alpha_1 alpha_2"), sp.symbols("x k")
    lifting = Lifting((a, b))
    for formula in (x * a * (k + b), sp.sin(x) * a**2 * b + a, x / (1 + a * b)):
        back = lifting(formula).subs(
            list(zip(lifting.symbols, lifting.products, strict=True))[::-1]
        )
        assert sp.simplify(back - formula) == 0


def four_regions(**more):
    system = ex.FilippovSystem("four", x="x y", params={"u": 0.0})
    names = list(itertools.product("pm", repeat=2))
    rng = np.random.default_rng(3)
    fields = {}
    for (one, two), drift in zip(names, rng.normal(size=(4, 2)).round(2) / 4, strict=True):
        sides = [1 if side == "p" else -1 for side in (one, two)]
        fields[one + two] = [f"{d} - {s} + u" for d, s in zip(drift, sides, strict=True)]
    system.subsystem(fields, {"a": "x", "b": "y"}, S=["a & b", "a & ~b", "~a & b", "~a & ~b"])
    system.start(x=[0.6, -0.3], t_end=1)
    return ex.OptimalControlProblem(
        system, intervals=3, controls="u", running="u**2 + x**2 + y**2", bounds={"u": (-2, 2)},
        **more,
    )  # fmt: skip


def test_a_plan_is_the_same():
    plain, lifted = (
        ex.optimize(four_regions(lifting=lifting), progress=False) for lifting in (False, True)
    )
    assert lifted.pipeline.first.program.of["beta"].shape == (3, 3, 2, 1)
    assert plain.solved
    assert lifted.objective == pytest.approx(plain.objective, abs=1e-8)
    assert lifted.x == pytest.approx(plain.x, abs=1e-6)
    with pytest.raises(BadValue, match="no products"):
        four_regions(lifting=True, representation="stewart")
