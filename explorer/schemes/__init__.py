"""The schemes that a user can choose; each module in this folder registers its own."""

from explorer.errors import NoSuchName
from explorer.registry import Registry
from explorer.results.display import html
from explorer.schemes.bases.scheme import Scheme

__all__ = ["Scheme", "schemes"]

schemes: Registry[type[Scheme]] = Registry("scheme", "explorer.schemes")


def __getattr__(name: str) -> type[Scheme]:
    if name[:1].isupper() and name in schemes:
        return schemes[name]
    raise NoSuchName("explorer.schemes", name, lambda: schemes)


def __dir__() -> list[str]:
    """Offer the schemes, not the modules that hold them."""
    return [*__all__, *schemes]


def _repr_html_() -> str:
    """Show the schemes in a notebook: what each takes, and its orders."""
    rows = [
        (
            name,
            kind.takes,
            f"{kind.order or 'exact'}, {kind.order_across_events or '-'}",
            kind.lesson,
        )
        for name, kind in schemes.items()
    ]
    return html(
        ("scheme", "takes", "order: smooth, across events", "lesson"), rows, f"{len(rows)} schemes"
    )
