"""Many cases of one property are one test, which names the case that fails."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable, Sequence


def for_each(names: str | Sequence[str], cases: Iterable):
    """Run a test for every case, as `pytest.mark.parametrize` would, but as one test."""
    names, cases = ([names] if isinstance(names, str) else [*names]), [*cases]
    assert cases, "a test of nothing passes"

    def decorate(test):
        signature = inspect.signature(test)
        others = [p for name, p in signature.parameters.items() if name not in names]

        @functools.wraps(test)
        def run(**given):
            for case in cases:
                values = case if len(names) > 1 else (case,)
                try:
                    test(**given, **dict(zip(names, values, strict=True)))
                except BaseException as error:
                    error.add_note(f"This is the case {', '.join(map(repr, values))}.")
                    raise

        run.__signature__ = signature.replace(parameters=others)
        return run

    return decorate
