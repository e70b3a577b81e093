"""The book: pages of all models, the notebooks, a reference and texts, built from a checkout.

``nonsmooth-explorer --book`` builds it with Sphinx (extra ``book``). It is read without a network.
"""

from explorer.book.building import Book, build

__all__ = ["Book", "build"]
