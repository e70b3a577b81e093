"""Billiards as maps: invariants, the area that they keep, mean ways within their own error bars."""

from __future__ import annotations

import importlib
import math
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import explorer as ex
from explorer.compiled.maps import compile_map

importlib.import_module("explorer.models")
momenta = sys.modules["explorer.models.ellipse_billiard"].momenta
ELLIPSE, STADIUM = ex.models.ellipse_billiard(), ex.models.stadium_billiard()
SINAI = ex.models.sinai_billiard()
SHORT = settings(max_examples=25, deadline=None)


def places(run) -> np.ndarray:
    """Return where the ball is at each iterate, (k, 2) in m."""
    shapes = run.system.shapes
    end = 2 * sum(len(s.points) for s in shapes)
    return run.observe(run, "sketch")[:, end - 2 : end]


def ways(run) -> np.ndarray:
    return np.linalg.norm(np.diff(places(run), axis=0), axis=1)


def bar(values: np.ndarray, batches: int = 40) -> tuple[float, float]:
    """Return a mean and its standard error by means of batches."""
    means = values[: len(values) // batches * batches].reshape(batches, -1).mean(axis=1)
    return float(means.mean()), float(means.std(ddof=1) / math.sqrt(batches))


@SHORT
@given(a=st.floats(0.6, 1.5), b=st.floats(0.3, 1.5), phi=st.floats(-3, 3), p=st.floats(-0.95, 0.95))
def test_the_product_of_the_momenta_about_the_foci_is_kept(a, b, phi, p):
    if a < b:
        a, b = b, a
    run = ex.simulate(ELLIPSE, t_end=200, a=a, b=b, phi0=phi, p0=p)
    kept = momenta(run.q, run.rho)
    assert np.abs(kept - kept[0]).max() <= 1e-10


def test_in_a_circle_the_direction_never_changes():
    for system, given_ in ((ELLIPSE, {"a": 1, "b": 1}), (STADIUM, {"L": 0})):
        run = ex.simulate(system, t_end=200, **given_)
        assert np.abs(run.q[:, 1] - run.q[0, 1]).max() <= 1e-12
        assert ways(run) == pytest.approx(2 * math.sqrt(1 - run.q[0, 1] ** 2), rel=1e-9)


@pytest.mark.parametrize("system", [ELLIPSE, STADIUM, SINAI], ids=lambda s: s.name)
def test_the_ball_stays_on_the_wall_and_is_reflected(system):
    """Between iterates it goes straight; at the wall the angles on both sides are the same."""
    run = ex.simulate(system, t_end=200)
    at = places(run)
    rho = run.rho
    x, y = at.T
    if system is ELLIPSE:
        off = (x / rho["a"]) ** 2 + (y / rho["b"]) ** 2 - 1
        normal = np.column_stack([x / rho["a"] ** 2, y / rho["b"] ** 2])
    elif system is STADIUM:
        dx = np.sign(x) * np.maximum(np.abs(x) - rho["L"] / 2, 0)
        off, normal = np.hypot(dx, y) - rho["R"], np.column_stack([dx, y])
    else:
        disc = np.hypot(x, y) < rho["r"] + 1e-6
        off = np.where(disc, np.hypot(x, y) - rho["r"], np.maximum(abs(x), abs(y)) - 0.5)
        upright = np.abs(x) > np.abs(y)
        walls = np.column_stack([np.where(upright, x, 0), np.where(upright, 0, y)])
        normal = np.where(disc[:, None], at, walls)
    assert np.abs(off).max() <= 1e-9
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    u = np.diff(at, axis=0) / ways(run)[:, None]
    before, after = u[:-1], u[1:]
    mirrored = before - 2 * (before * normal[1:-1]).sum(axis=1)[:, None] * normal[1:-1]
    assert np.abs(after - mirrored).max() <= 1e-6


@pytest.mark.parametrize("system", [STADIUM, SINAI], ids=lambda s: s.name)
def test_the_area_of_place_and_direction_is_kept(system):
    compiled, rng = compile_map(system), np.random.default_rng(3)
    length = {"billiard in a stadium": 4 + 2 * math.pi, "Sinai's billiard": 4 + 0.6 * math.pi}
    inp = compiled.input(system.rho())
    for _ in range(200):
        inp[1:3] = rng.uniform(0, length[system.name]), rng.uniform(-0.95, 0.95)
        J = compiled.tangents(inp)[2:6].reshape(2, 2)
        assert abs(np.linalg.det(J)) == pytest.approx(1, abs=1e-8 * np.abs(J).max() ** 2 + 1e-9)


@pytest.mark.parametrize("system", [STADIUM, SINAI], ids=lambda s: s.name)
def test_exponents_come_in_pairs_and_the_ball_is_chaotic(system):
    found = ex.study.lyapunov(system, iterates=50_000)
    assert found.exponents.sum() == pytest.approx(0, abs=1e-6)
    assert found.largest > 20 * found.errors[0]
    flat = ex.study.lyapunov(ELLIPSE, iterates=50_000)
    assert abs(flat.largest) < 1e-3


def test_the_mean_way_in_a_stadium():
    """pi A / length: 2.181812 m for R = 1 m, L = 2 m (Chernov 1997), within its own error."""
    value = math.pi * (math.pi + 4) / (2 * math.pi + 4)
    assert value == pytest.approx(
        STADIUM.published["stadium: mean way between collisions, in m"][0], abs=1e-6
    )
    mean, error = bar(ways(ex.simulate(STADIUM, t_end=400_000)))
    assert error < 0.005
    assert abs(mean - value) < 4 * error


def test_the_mean_way_in_sinais_billiard():
    """Between all collisions, and between those with the disc, which is that on a torus."""
    r, run = 0.3, ex.simulate(SINAI, t_end=400_000)
    area, found = 1 - math.pi * r**2, ways(run)
    mean, error = bar(found)
    assert error < 0.002
    assert abs(mean - math.pi * area / (4 + 2 * math.pi * r)) < 4 * error
    hits = np.flatnonzero(run.branch[:-1] == 0)
    between = np.diff(np.append(0, np.cumsum(found))[hits])
    mean, error = bar(between)
    value = SINAI.published["Sinai: mean way between collisions with the disc, in m"][0]
    assert value == pytest.approx(math.pi * area / (2 * math.pi * r), abs=1e-6)
    assert abs(mean - value) < 4 * error < 0.03


def test_the_table_is_drawn_with_the_way_of_the_ball():
    for system in (ELLIPSE, STADIUM, SINAI):
        run = ex.simulate(system, t_end=40)
        figure = ex.views.billiard_table(run)
        way = next(t for t in figure.data if t.name == "way")
        assert np.column_stack([way.x, way.y]) == pytest.approx(places(run), abs=1e-6)
        phase = ex.views.phase(run)
        assert {t.mode for t in phase.data} == {"markers"}


def test_the_film_follows_consecutive_collisions():
    from explorer.views.mechanism import frames

    run = ex.simulate(STADIUM, t_end=4000)
    film = frames(run)
    assert np.array_equal(film["t"], np.arange(len(film["t"])))
    assert film["xy"][:, -1] == pytest.approx(places(run)[: len(film["t"])], abs=1e-5)
