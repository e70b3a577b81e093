"""Kernels as Python runs them: nothing is compiled, and an inner one can be called too."""

from __future__ import annotations

import ast
import functools
import importlib.util
from pathlib import Path
from types import SimpleNamespace

ROOM = "explorer.kernels."


def kernel(function=None, /, **_):
    """Stand in for the decorators: leave a function as it is written."""
    return function if callable(function) else lambda written: written


@functools.cache
def plain(name: str) -> SimpleNamespace:
    """Return what a module of kernels defines, such as ``"friction.coulomb"``, uncompiled.

    Kernels that it imports are uncompiled too; all else is imported as usual.
    """
    path = Path(importlib.util.find_spec(ROOM + name).origin)
    tree = ast.parse(path.read_text("utf-8"))
    space: dict = {"__name__": f"plain.{name}", "kernel": kernel, "template": kernel}
    space |= dict.fromkeys(("refer", "value_of"), lambda structure: structure)
    rest = []
    for node in tree.body:
        source = getattr(node, "module", None) or ""
        if isinstance(node, ast.ImportFrom) and source.startswith(ROOM):
            used = source.removeprefix(ROOM)
            if used in ("jit", "references", "templates"):
                continue
            text = Path(importlib.util.find_spec(source).origin).read_text("utf-8")
            if "@kernel" in text or "@template" in text:
                given = vars(plain(used))
                space |= {one.asname or one.name: given[one.name] for one in node.names}
                continue
        rest.append(node)
    exec(compile(ast.Module(rest, []), str(path), "exec"), space)
    return SimpleNamespace(**space)
