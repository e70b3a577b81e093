"""Basins on executors and in folders: the same map to the last bit, resumed where it was stopped."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from test_basins import QUIET, STROBE, TWO

import explorer as ex
from explorer.study import basins, parts

ASKED = {
    "over": {"q0.x": np.linspace(-3, -0.1, 6), "v0.x": np.linspace(-3, 3, 5)},
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
    stops = iter([False] * 40)
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
