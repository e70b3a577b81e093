"""A test of many cases runs every one, and names the one that fails."""

from __future__ import annotations

import inspect

import pytest
from loops import for_each


def test_every_case_is_run_and_the_one_that_fails_is_named():
    seen = []

    @for_each("b", [1, 2])
    @for_each(("a", "c"), [(10, "x"), (20, "y")])
    def check(a, b, c, *, given):
        seen.append((a, b, c, given))
        assert (a, b) != (20, 2)

    assert [*inspect.signature(check).parameters] == ["given"]
    with pytest.raises(AssertionError) as failed:
        check(given=3)
    assert seen == [(10, 1, "x", 3), (20, 1, "y", 3), (10, 2, "x", 3), (20, 2, "y", 3)]
    assert failed.value.__notes__ == ["This is the case 20, 'y'.", "This is the case 2."]


def test_no_case_is_no_test():
    with pytest.raises(AssertionError, match="a test of nothing passes"):
        for_each("a", [])
