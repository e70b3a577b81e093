"""Basins on executors and in folders: the same map to the last bit, resumed where it was stopped."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from test_basins import QUIET, STROBE, TWO

import explorer as ex
from explorer.study import basins, parts

ASKED = {
    "over": {"q0.x": np.linspace(-3, -0.1, 5), "v0.x": np.linspace(-3, 3, 4)},
    "section": STROBE,
    **TWO,
    **QUIET,
}


@pytest.fixture(scope="module")
def oscillator():
    return ex.models.impact_oscillator()


@pytest.fixture(scope="module")
def whole(oscillator):
    return basins(oscillator, **ASKED)


def same(one, other) -> None:
    assert np.array_equal(one.label, other.label)
    assert np.array_equal(one.t, other.t, equal_nan=True)
    for a, b in zip(one.attractors, other.attractors, strict=True):
        assert np.array_equal(a.points, b.points)


def test_an_executor_makes_the_same_map(oscillator, whole):
    assert len(whole.attractors) == 2
    with ThreadPoolExecutor(3) as pool:
        same(whole, basins(oscillator, executor=pool, **ASKED))
    with pytest.raises(ex.BadValue, match=r"must be an executor of concurrent\.futures"):
        basins(oscillator, executor="two", **ASKED)


def test_a_map_goes_on_where_it_was_stopped(oscillator, whole, tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "_TARGET", 0.0)  # parts of one start
    stops = iter([False] * 25)
    with ThreadPoolExecutor(1) as pool:
        part = basins(
            oscillator, executor=pool, folder=tmp_path, stop=lambda: next(stops, True), **ASKED
        )
    assert (part.status == "not run").any()
    kept = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*.npz")}
    assert kept
    again = basins(oscillator, folder=tmp_path, **ASKED)
    same(whole, again)
    assert all(file.stat().st_mtime_ns == when for file, when in kept.items())
    assert len([*tmp_path.rglob("*.npz")]) > len(kept)
    runs = []
    own = parts._work_here
    monkeypatch.setattr(parts, "_work_here", lambda *given: runs.append(given) or own(*given))
    same(whole, basins(oscillator, folder=tmp_path, **ASKED))
    assert not runs  # all of it is on disk


PLANES = {  # the parameters, and what a start comes to after many iterates: its number of points
    "a fixed point beside a cycle of three": ({"tau_L": 0.2, "delta_L": 0.8, "tau_R": -1.5, "delta_R": 0.6}, {1, 3}),
    "robust chaos": ({}, {0, -1}),
    "a cycle of four far away": ({"tau_L": -1.0, "delta_L": 0.9, "tau_R": 0.5, "delta_R": 0.9}, {1, 4}),
    "an island": ({"tau_L": -0.3, "delta_L": 0.9, "tau_R": -1.6, "delta_R": 0.9}, {1, -1}),
}  # fmt: skip


def plane(x, y, tau_L=1.7, delta_L=0.5, tau_R=-1.7, delta_R=0.5, mu=1.0):
    """Return the next states."""
    tau, delta = np.where(x <= 0, tau_L, tau_R), np.where(x <= 0, delta_L, delta_R)
    return tau * x + y + mu, -delta * x


@pytest.mark.parametrize("name", PLANES)
def test_basins_of_a_map_are_those_of_plain_iterates(name):
    """Each start by itself: how many points its last states have, or that it has gone far."""
    given, periods = PLANES[name]
    values = np.linspace(-3, 3, 30)
    found = ex.study.basins(
        ex.models.border_collision_plane(), over={"x0.x": values, "x0.y": values},
        section=ex.study.Section(period=1), periods=1000, progress=False, **given,
    )  # fmt: skip
    x, y = (part.ravel() for part in np.meshgrid(values, values, indexing="ij"))
    with np.errstate(all="ignore"):
        for _ in range(3000):
            x, y = plane(x, y, **given)
        last = [x]
        for _ in range(4):
            x, y = plane(x, y, **given)
            last.append(x)
        expected = np.zeros(900, int)
        for k in (4, 3, 2, 1):
            expected[np.abs(last[k] - last[0]) < 1e-9] = k
    expected[~(np.abs(x) < 1e3)] = -1
    assert set(expected.tolist()) == periods
    own = [one.period for one in found.attractors]
    label = found.label.ravel()
    told = np.array([own[k] if k >= 0 else k for k in label])
    np.testing.assert_array_equal(told, expected)
