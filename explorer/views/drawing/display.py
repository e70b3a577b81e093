"""What IPython displays, with types: IPython declares none for these functions."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["display", "markdown"]


def display(shown: object, **options: object) -> None:
    """Display an object, or with ``raw=True`` a dict of its forms by MIME type."""
    from IPython import display as ipython

    untyped: Callable[..., object] = ipython.display
    untyped(shown, **options)


def markdown(text: str) -> None:
    """Display a text as Markdown."""
    from IPython import display as ipython

    untyped: Callable[[str], object] = ipython.Markdown
    display(untyped(text))
