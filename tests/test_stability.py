"""The Newmark family on an oscillator: closed forms, exact leading terms, the unit circle."""

from __future__ import annotations

import dataclasses
import importlib
import itertools
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from loops import for_each

import explorer as ex
from explorer.schemes.bases.amplification import (
    Coefficients,
    amplification,
    characteristic,
    limit,
    radius_at_infinity,
    roots,
)
from explorer.schemes.newmark import NAMED
from explorer.study import oscillation, stability, stability_table
from explorer.study.leading_terms import Term, leading_terms
from explorer.study.oscillator import exact_oscillation, oscillator

FAMILIES = [
    *(("chung-hulbert", rho) for rho in np.linspace(0, 1, 11)),
    *(("hht", rho) for rho in np.linspace(0.5, 1, 6)),
    *(("wbz", rho) for rho in np.linspace(0, 1, 11)),
]
SCHEMES = [
    *(ex.Newmark.named(name) for name in NAMED),
    ex.Newmark.named("average with damping", 0.3), ex.Newmark(beta=0.4, gamma=0.7),
    ex.Newmark(beta=0.3, gamma=0.4),
    *(ex.GeneralizedAlpha(family=f, rho_inf=0.6) for f in ("chung-hulbert", "hht", "wbz")),
    ex.GeneralizedAlpha(alpha_m=0.1, alpha_f=0.3, beta=0.2, gamma=0.6),
]  # fmt: skip
alphas = st.floats(-1, 0.7)
weights = st.floats(0, 1.5)
ratios = st.sampled_from([0.0, 0.02, 0.5, 1.0, 3.0])


def eigenvalues(co, omega_h, xi) -> np.ndarray:
    """Return the spectral radius without any of the package's cleverness."""
    return np.abs(np.linalg.eigvals(amplification(co, omega_h, xi))).max(axis=-1)


@for_each("xi", [0.0, 0.1])
@for_each("scheme", SCHEMES)
def test_the_amplification_matrix_is_a_step_of_the_scheme(scheme, xi):
    co, h = scheme.coefficients, 0.3
    system, scheme = oscillator(xi), dataclasses.replace(scheme, h=h)
    if limit(co, xi) == 0:
        with pytest.raises(ex.BadValue, match="unstable for every step"):
            ex.simulate(system, scheme, t_end=5 * h)
        return
    run = ex.simulate(system, scheme, t_end=5 * h)
    rows = np.column_stack([run.q, h * run.v, h**2 * run.a])
    A = amplification(co, h, xi)
    for before, after in itertools.pairwise(rows):
        np.testing.assert_allclose(A @ before, after, rtol=0, atol=1e-12)


@given(alphas, alphas, weights, weights, ratios, st.floats(1e-3, 100))
def test_the_characteristic_polynomial_is_that_of_the_matrix(am, af, beta, gamma, xi, W):
    co = Coefficients(am, af, beta, gamma)
    c = characteristic(co, xi) @ [1, W, W**2]
    z = np.array([0.3j, -0.4 + 0.2j, 0.7])
    x = (1 + z) / (1 - z)
    A = amplification(co, W, xi)
    lead = (1 - am) + 2 * xi * W * (1 - af) * gamma + W**2 * (1 - af) * beta
    assume(lead > 1e-3)
    det = np.array([np.linalg.det(v * np.eye(3) - A) for v in x])
    # lambda - z pairs: P(lambda) (1 - z)^3 = Q(z), whose leading coefficient in lambda is `lead`
    np.testing.assert_allclose(
        lead * det * (1 - z) ** 3, np.polynomial.polynomial.polyval(z, c),
        rtol=1e-9, atol=1e-9 * np.abs(c).max(),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "expected"),
    [("purely explicit", 0.0), ("central difference", 2.0), ("Fox-Goodwin", np.sqrt(6)),
     ("linear acceleration", np.sqrt(12)), ("average acceleration", np.inf)],
)  # fmt: skip
def test_the_limits_of_the_named_schemes(name, expected):
    assert stability(name).limit == pytest.approx(expected, abs=1e-9)


@for_each("xi", [0.0, 0.03, 0.4, 2.0])
@for_each("gamma", [0.5, 0.6, 0.9])
@for_each("beta", [0.0, 0.1, 0.2])
def test_the_limit_with_damping_is_the_closed_form(xi, gamma, beta):
    room, lead = gamma / 2 - beta, gamma - 0.5
    closed = (xi * lead + np.sqrt(room + (xi * lead) ** 2)) / room
    assert limit(Coefficients(0, 0, beta, gamma), xi) == pytest.approx(closed, rel=1e-12)


@pytest.mark.parametrize("xi", [0.0, 0.03, 0.4])
def test_a_scheme_that_feeds_needs_physical_damping(xi):
    """gamma < 1/2: the roots are inside up to omega h = 2 xi / (1/2 - gamma)."""
    co = Coefficients(0, 0, 0.5, 0.4)
    assert limit(co, xi) == pytest.approx(2 * xi / 0.1, rel=1e-12)


@given(alphas, alphas, weights, weights, ratios)
@example(0.0, 0.0, 0.0, 1e-14, 3.0)
@example(0.0, -1.0, 0.0, 1.4102719376512298e-12, 3.0)
@settings(max_examples=100, deadline=None)
def test_the_limit_is_where_the_roots_leave_the_circle(am, af, beta, gamma, xi):
    co = Coefficients(am, af, beta, gamma)
    most = limit(co, xi)
    if most > 0:
        inside = min(most, 1e4) * np.array([1e-3, 0.1, 0.5, 0.9, 0.999])
        assert eigenvalues(co, inside, xi).max() <= 1 + 1e-6
    if most < 1e4:
        near = np.maximum(most, 1e-3) * np.array([1.001, 1.01, 1.1, 1.5, 3, 10])
        assert eigenvalues(co, near, xi).max() > 1 - 1e-9


@given(alphas, alphas, weights, weights, ratios)
@settings(max_examples=150, deadline=None)
@example(0.0, 0.0, 0.25, 0.5, 0.0)
@example(0.5, 0.5, 0.25, 0.5, 0.0)
@example(-1.0, 0.0, 1.0, 1.5, 0.0)
@example(0.0, 0.3, 0.4225, 0.9, 0.0)  # more gamma than of order 2: beta has to follow
def test_unconditional_means_no_root_outside(am, af, beta, gamma, xi):
    co = Coefficients(am, af, beta, gamma)
    W = np.logspace(-3, 5, 200)
    if co.unconditional:
        assert np.abs(roots(co, W, xi)[0]).max() <= 1 + 1e-9
        assert limit(co, xi) == np.inf
    elif xi == 0:
        assert limit(co, xi) < np.inf or 0 < -(0.5 - max(am, af)) < 1e-9 or (
            abs(min(gamma - 0.5, 2 * beta - gamma, gamma - 0.5 + am - af)) < 1e-9
        )  # fmt: skip


@given(st.floats(0, 1.5), st.floats(0.5, 1.5))
def test_newmark_is_unconditional_as_in_the_book(beta, gamma):
    assume(abs(2 * beta - gamma) > 1e-9)
    assert Coefficients(0, 0, beta, gamma).unconditional == (2 * beta >= gamma)


@for_each(("family", "rho"), FAMILIES)
def test_the_radius_at_infinity_is_rho_inf(family, rho):
    found = stability(ex.GeneralizedAlpha(family=family, rho_inf=rho), omega_h=[1e6])
    assert found.radius_at_infinity == pytest.approx(rho, abs=1e-6)
    assert found.radius[0] == pytest.approx(rho, abs=1e-2)  # and there it goes
    assert found.limit == np.inf


@pytest.mark.parametrize("alpha", [0.0, 0.1, 0.5, 1.0])
def test_the_radius_at_infinity_with_damping(alpha):
    found = stability(ex.Newmark.named("average with damping", alpha))
    assert found.radius_at_infinity == pytest.approx((1 - alpha) / (1 + alpha), abs=1e-7)


@given(alphas, alphas, st.floats(0.05, 1.5), weights)
def test_the_radius_at_infinity_is_the_limit_of_the_radius(am, af, beta, gamma):
    co = Coefficients(am, af, beta, gamma)
    assert eigenvalues(co, 1e7, 0.0) == pytest.approx(radius_at_infinity(co), rel=2e-3, abs=2e-3)


@for_each("gamma", [Fraction(1, 5), Fraction(1, 2), Fraction(3, 5), Fraction(1)])
@for_each("beta", [Fraction(0), Fraction(1, 12), Fraction(1, 5), Fraction(1, 2)])
def test_leading_terms_are_the_closed_forms(beta, gamma):
    damping, period = leading_terms((0, 0, beta, gamma))
    eps = gamma - Fraction(1, 2)
    factor = beta / 2 + eps**2 / 8 - eps / 4 - Fraction(1, 24)
    if eps:
        assert (damping.coefficient, damping.power) == (eps / 2, 1)
    else:
        assert damping.coefficient == 0
    if factor:
        assert (period.coefficient, period.power) == (factor, 2)
    else:
        assert period.power > 2


def test_steps_of_a_stability_study_lie_in_a_range():
    """From 1 / _LARGEST up to _LARGEST, both of them too."""
    module = importlib.import_module("explorer.study.stability")
    most = module._LARGEST
    assert stability("central difference", 0.0, [1 / most, most]).omega_h.tolist() == [1 / most, most]  # fmt: skip
    for wrong in ([0.99 / most], [1.01 * most], [], [[1.0]], [-1.0]):
        with pytest.raises(ex.BadValue, match="omega_h must be a sequence of numbers from"):
            stability("central difference", 0.0, wrong)


@for_each("numbers", [
    ("1/5", "2/5", "9/25", "7/10"), ("1/5", "2/5", "1/3", "1/2"), ("-1/4", "1/8", "1/4", "7/8"), ("1/3", "1/3", "3/10", "3/5"), ("0", "1/4", "2/5", "3/4"),
])  # fmt: skip
def test_leading_terms_are_those_of_the_amplification_matrix(numbers):
    """Its oscillating eigenvalue exp(-zeta W' +- i W' sqrt(1 - zeta^2)) for small steps W."""
    exact = [Fraction(one) for one in numbers]
    for xi in (Fraction(0), Fraction(1, 5)):
        damping, period = leading_terms(exact, xi)
        for W, near in ((2e-2, 0.2), (4e-3, 0.05)):
            every = np.linalg.eigvals(amplification(Coefficients(*map(float, exact)), W, float(xi)))
            log = np.log(max(every, key=lambda mu: mu.imag))
            zeta = -log.real / abs(log)
            assert zeta - float(xi) == pytest.approx(damping(W), rel=near, abs=1e-12)
            exactly = W * np.sqrt(1 - float(xi) ** 2)
            assert exactly / log.imag - 1 == pytest.approx(period(W), rel=near, abs=1e-12)


def test_a_term_is_written_with_its_exact_fraction_if_that_is_short():
    """Of at most five digits; a longer one is rounded to six. Text, formula and value agree."""
    omega, h = sp.symbols("omega h")
    for c, text in (
        (Fraction(-1, 96), "-1/96 (ωh)²"), (Fraction(1), "(ωh)²"), (Fraction(-1), "-(ωh)²"),
        (Fraction(5), "5 (ωh)²"), (Fraction(1, 99_999), "1/99999 (ωh)²"),
        (Fraction(1, 100_000), "1e-05 (ωh)²"), (Fraction(100_001, 300_000), "0.333337 (ωh)²"),
    ):  # fmt: skip
        term = Term(c, 2)
        assert str(term) == text
        factor = term.formula() / (omega * h) ** 2
        assert factor.is_Rational == (c.denominator < 100_000)
        assert float(factor) == pytest.approx(float(c), rel=1e-5)
        assert term(0.5) == pytest.approx(0.25 * float(c))
    assert str(Term(Fraction(0), 0)) == "0"
    assert str(Term(Fraction(1, 2), 1)) == "1/2 (ωh)"


@for_each("xi", [0.0, 0.05, 0.3])
@for_each("scheme", SCHEMES)
def test_the_curves_begin_with_their_leading_terms(scheme, xi):
    W = np.array([4e-3, 2e-3, 1e-3])
    found = stability(scheme, xi, W)
    for values, term in zip((found.damping, found.period_error), found.leading(), strict=True):
        if term.coefficient == 0:
            assert np.abs(values).max() < 1e-14
        elif term.power < 4:  # below round-off otherwise
            rest = np.abs(values / [term(x) for x in W] - 1)
            assert rest[-1] < 0.1
            assert rest[-1] < 0.6 * rest[0] or rest[-1] < 1e-5, "the rest is of higher order"


def test_the_fourth_order_of_fox_and_goodwin():
    found = stability("Fox-Goodwin", omega_h=[0.05, 0.1])
    term = found.leading()[1]
    assert (term.coefficient, term.power) == (Fraction(-1, 480), 4)
    np.testing.assert_allclose(found.period_error, term(found.omega_h), rtol=1e-2)


def test_the_table_of_the_paper_entry_by_entry():
    alpha = sp.Symbol("alpha", positive=True)
    third = sp.Rational(1, 3)
    expected = {  # limit, damping, power, period error, power
        "purely explicit": (0, -third * 3 / 4, 1, third * 33 / 96, 2),
        "central difference": (2, 0, 0, -third / 8, 2),
        "Fox-Goodwin": (sp.sqrt(6), 0, 0, -third / 160, 4),
        "linear acceleration": (sp.sqrt(12), 0, 0, third / 8, 2),
        "average acceleration": (sp.oo, 0, 0, third / 4, 2),
        "average with damping": (sp.oo, alpha / 2, 1, third / 4 + alpha**2 / 4, 2),
    }
    table = stability_table()
    assert [row.name for row in table] == list(expected)
    for row in table:
        most, damping, power, period, order = expected[row.name]
        assert row.limit == most
        assert sp.expand(sp.sympify(row.damping.coefficient) - damping) == 0
        assert sp.expand(sp.sympify(row.period.coefficient) - period) == 0
        assert (row.damping.power, row.period.power) == (power, order)
        if row.name in NAMED:
            assert stability(row.name).limit == pytest.approx(float(most), rel=1e-12)
    text = table._repr_markdown_()
    assert len(text.splitlines()) == 2 + len(table)
    assert r"\sqrt{6}" in text
    assert "11" in text.splitlines()[2]


@pytest.mark.parametrize("omega_h", [1e-5, 1e-3, 0.1])
def test_small_steps_keep_their_digits(omega_h):
    """Average acceleration in closed form: tan(theta / 2) = omega h / 2."""
    found = stability("average acceleration", omega_h=[omega_h])
    exactly = omega_h / (2 * np.arctan(omega_h / 2)) - 1
    assert found.period_error[0] == pytest.approx(exactly, abs=1e-15)
    assert abs(found.damping[0]) < 1e-15


def test_overshoot_of_the_average_acceleration_is_none_and_of_the_optimal_one_is_in_velocity():
    W = np.array([1.0, 10.0, 100.0])
    plain = stability("average acceleration", omega_h=W)  # conserves d^2 + (v / omega)^2
    np.testing.assert_allclose(plain.overshoot_d, 1, atol=1e-12)
    np.testing.assert_allclose(plain.overshoot_v, 1, atol=1e-12)
    optimal = stability(ex.GeneralizedAlpha(rho_inf=0.5), omega_h=W)
    np.testing.assert_allclose(optimal.overshoot_d, 1, atol=1e-12)
    assert optimal.overshoot_v[2] > 5
    A, y = amplification(optimal.coefficients, 100.0), np.array([1, 0, -1e4])
    v = [np.abs((y := A @ y)[1]) / 100 for _ in range(10)]
    assert optimal.overshoot_v[2] == pytest.approx(max(v))


@pytest.mark.parametrize("xi", [0.0, 0.2, 1.0, 3.0])
def test_the_exact_oscillation_solves_its_equation(xi):
    t, h = np.linspace(0, 5, 11), 1e-4
    x, ahead, back = (exact_oscillation(t + s, xi) for s in (0, h, -h))
    rest = (ahead - 2 * x + back) / h**2 + 2 * xi * (ahead - back) / (2 * h) + x
    np.testing.assert_allclose(rest, 0, atol=1e-6)
    assert exact_oscillation(0, xi) == pytest.approx(1)
    assert ahead[0] == pytest.approx(back[0], abs=1e-11), "at rest"


@for_each("xi", [0.0, 0.1, 1.0])
@for_each("scheme", SCHEMES)
def test_the_run_is_that_of_the_scheme_and_grows_above_its_limit(scheme, xi):
    errors = []
    for omega_h in (0.04, 0.02, 0.01):
        run = oscillation(scheme, xi, omega_h, t_end=8)
        errors.append(np.abs(run.motion.q[:, 0] - run.exact).max())
    assert errors[0] < 0.2
    assert errors[2] < 0.3 * errors[0], "of the first order at least"
    most = run.limit
    if 0 < most < np.inf:
        above = oscillation(scheme, xi, 1.2 * most, t_end=1e5)
        assert above.grows
        assert np.abs(above.motion.q).max() > 1e3
        A = amplification(scheme.coefficients, 1.2 * most, xi)
        y = np.linalg.matrix_power(A, 3) @ [1, 0, -((1.2 * most) ** 2)]
        assert above.motion.q[3, 0] == pytest.approx(y[0])
        with pytest.raises(ex.BadValue, match="limit"):
            ex.simulate(oscillator(xi), dataclasses.replace(scheme, h=1.2 * most), t_end=50)


@for_each("xi", [0.0, 0.1])
@for_each("omega_h", [0.5, 2.4])
def test_a_run_of_the_oscillator_is_balanced_in_each_row(omega_h, xi):
    """Also above the limit, where it is made of powers of the amplification matrix."""
    run = oscillation(ex.Newmark.named("central difference"), xi, omega_h, t_end=1e3)
    assert run.grows == (omega_h > 2)
    rest = run.motion.a + 2 * xi * run.motion.v + run.motion.q
    np.testing.assert_allclose(rest / np.abs(run.motion.q).max(), 0, atol=1e-12)


def test_a_scheme_that_loses_something_says_so():
    text = stability(ex.Newmark(beta=0.3, gamma=0.7))._repr_markdown_()
    assert "first order" in text
    assert "not stable for every step" in text
    assert "Lost" not in stability("average acceleration")._repr_markdown_()
    for xi in (1.0, 2.0):
        assert "| none | none |" in stability("average acceleration", xi)._repr_markdown_()
    assert "| none | none |" not in stability("average acceleration", 0.99)._repr_markdown_()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("midpoint",), "There is no Newmark scheme"), ((ex.MoreauJean(),), r"^MoreauJean\(.* Newmark family"),
        ((ex.MoreauJean,), "^MoreauJean is not of the Newmark family"),
        ((3,), "^3 is not of the Newmark family"), (("central difference", -0.1), "xi"),
        (("central difference", "soft"), "xi"), (("central difference", 0, [0.0]), "omega_h"),
        (("central difference", 0, "x"), "omega_h"), (("central difference", 0, [1e9]), "omega_h"),
        ((ex.Newmark(beta=1e300),), "coefficient"),
        ((ex.GeneralizedAlpha(alpha_m=1.0, alpha_f=1.0),), "divides by zero"),
    ],
)  # fmt: skip
def test_a_question_that_makes_no_sense_is_refused_in_a_sentence(arguments, said):
    with pytest.raises(ex.ExplorerError, match=said) as refusal:
        stability(*arguments)
    assert str(refusal.value).endswith(".")


def test_roots_that_are_real_have_no_period_and_no_damping():
    """The central difference beyond its limit omega h = 2."""
    found = stability("central difference", omega_h=[1.9, 2.1])
    assert np.isfinite(found.damping).tolist() == [True, False]
    assert np.isfinite(found.period_error).tolist() == [True, False]


def test_what_does_not_oscillate_has_no_period():
    """Nor at the limit, xi = 1, where the roots of the scheme may still be complex."""
    for xi in (1.0, 1.5):
        found = stability("average acceleration", xi)
        assert np.isnan(found.period_error).all()
        with pytest.raises(ex.NotApplicable, match="does not oscillate"):
            found.leading()
    assert np.isfinite(stability("average acceleration", 1.0, [2.0]).damping).all()
