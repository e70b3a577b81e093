"""The damped oscillator in closed form, and how a scheme of Newmark's family runs it."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from loops import for_each
from plain import put, space

from explorer.errors import BadValue
from explorer.schemes.bases.amplification import amplification
from explorer.schemes.newmark import GeneralizedAlpha, Newmark
from explorer.study.oscillator import exact_oscillation, oscillation

module = importlib.import_module("explorer.study.oscillator")
T = np.linspace(0.0, 7.0, 29)


@for_each("xi", [0.0, 0.3, 0.9])
def test_a_weakly_damped_oscillator_swings(xi):
    w = np.sqrt(1 - xi**2)
    wanted = np.exp(-xi * T) * (np.cos(w * T) + xi / w * np.sin(w * T))
    np.testing.assert_allclose(exact_oscillation(T, xi), wanted, atol=1e-14)


@for_each("xi", [1.5, 4.0])
def test_a_strongly_damped_oscillator_creeps(xi):
    a, b = xi - np.sqrt(xi**2 - 1), xi + np.sqrt(xi**2 - 1)
    wanted = (b * np.exp(-a * T) - a * np.exp(-b * T)) / (b - a)
    np.testing.assert_allclose(exact_oscillation(T, xi), wanted, rtol=1e-12)


def test_in_between_it_is_critical():
    np.testing.assert_allclose(exact_oscillation(T, 1.0), (1 + T) * np.exp(-T), rtol=1e-14)
    np.testing.assert_allclose(exact_oscillation(T, 1 + 1e-5), exact_oscillation(T, 1.0), atol=1e-4)
    assert exact_oscillation(2.0, 1.0) == pytest.approx(3 * np.exp(-2.0))


@for_each(
    ("omega_h", "t_end", "steps"),
    [
        (0.5, 10.0, 20),
        (0.5, 10.0 + 1e-10, 20),
        (0.5, 10.1, 21),
        (0.5, 6.0, 12),
        (0.5, 1.0, 12),
        (0.001, 4.0, 4000),
        (0.001, 9.0, 4000),
    ],
)
def test_a_run_has_as_many_steps_as_it_needs(monkeypatch, omega_h, t_end, steps):
    """At least 12 and at most 4000; the step is that which is asked for, its error free."""
    asked = []

    def run(self, compiled, rho, span):
        asked.append((self.h, self.error_tol, compiled, rho, span))
        return space(t=np.array([0.0, 1.0]))

    put(monkeypatch, oscillation.__wrapped__ if hasattr(oscillation, "__wrapped__") else oscillation,
        compile_system=lambda system: "compiled")  # fmt: skip
    monkeypatch.setattr(Newmark, "run", run)
    found = oscillation("average acceleration", 0.3, omega_h, t_end=t_end)
    assert asked == [(omega_h, 0.0, "compiled", [], pytest.approx(steps * omega_h))]
    assert (found.grows, found.limit, found.xi) == (False, np.inf, 0.3)
    np.testing.assert_allclose(found.exact, exact_oscillation(np.array([0.0, 1.0]), 0.3))


@for_each(("omega_h", "told"), [(9e-7, "must lie between"), (1.1e6, "must lie between"), (0.0, "omega h"), (-1.0, "omega h")])  # fmt: skip
def test_steps_lie_in_a_range(omega_h, told):
    with pytest.raises(BadValue, match=told):
        oscillation("average acceleration", 0.0, omega_h)


@for_each("scheme", [Newmark.named("central difference"), GeneralizedAlpha(alpha_m=0.0, alpha_f=0.0, beta=0.1, gamma=0.5)])  # fmt: skip
def test_above_its_limit_a_run_is_made_of_powers(scheme):
    """Of the amplification matrix, in units of 1, h and h^2; up to a million."""
    h, xi = 3.5, 0.1
    found = oscillation(scheme, xi, h, t_end=30 * h)
    assert found.grows
    run = found.motion
    A = amplification(scheme.coefficients, h, xi)
    y = np.array([1.0, 0.0, -(h**2)])
    rows = 0
    while rows <= 30:
        np.testing.assert_allclose(run.q[rows, 0], y[0], rtol=1e-9)
        np.testing.assert_allclose(run.v[rows, 0], y[1] / h, rtol=1e-9)
        np.testing.assert_allclose(run.a[rows, 0], y[2] / h**2, rtol=1e-9)
        rows += 1
        if abs(y[0]) >= 1e6:
            break
        y = A @ y
    assert len(run.t) == rows
    np.testing.assert_allclose(run.t, h * np.arange(rows))
    np.testing.assert_allclose(found.exact, exact_oscillation(run.t, xi))
