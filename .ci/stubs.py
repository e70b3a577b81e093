"""Write what type checkers and editors read of packages whose names are found when first used.

uv run python .ci/stubs.py            write the stubs anew
uv run python .ci/stubs.py --check    fail if one says what its package does not give

A stub has the declarations of the ``__init__.py`` beside it, and a line for each name that the
package finds in its files. Functions whose signature a decorator has made are written out. A file
that was added since may be missing: an addition touches no other file.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import explorer  # noqa: E402  (of this checkout)

PACKAGES = ("", "models", "optimise", "panels", "schemes", "study", "tasks", "views")
MADE = ("optimise",)  # whose functions take keyword arguments that no `def` lists
OPEN = ("models",)  # to which users add: what is not listed is of the type of all
ADDED = re.compile(r"from explorer\.\S+ import (\w+) as \1")
HEAD = "# made by: python .ci/stubs.py\n\n"


def source(module: str) -> str:
    """Return the text of a module."""
    return inspect.getsource(importlib.import_module(module))


def found(package: str) -> Iterator[tuple[str, str, str]]:
    """Yield module, name there, and name in the package, of what is found when first used."""
    if not package:
        yield from (("explorer", name, name) for name in explorer._PARTS)
        homes = explorer._HOME.items()
        yield from ((f"explorer.{home}", name, name) for name, home in homes if home != name)
        package = "schemes"
    module = importlib.import_module(f"explorer.{package}")
    registered = dict(getattr(module, {"study": "studies"}.get(package, package), {}))
    if package == "panels":
        registered = {kind.opens.__name__: kind.opens for kind in registered.values()}
    for name, entry in sorted(registered.items()):
        home = ROOT.joinpath(*entry.__module__.split("."))
        if home.with_suffix(".py").exists() or home.is_dir():  # and no folder of somebody's
            yield entry.__module__, entry.__name__ if inspect.isroutine(entry) else name, name


def made(package: str) -> dict[str, Callable[..., object]]:
    """Return the functions of a package whose signature a decorator has made."""
    if package not in MADE:
        return {}
    named = vars(importlib.import_module(f"explorer.{package}")).items()
    return {name: entry for name, entry in named if hasattr(entry, "__signature__")}


def written_out(name: str, function: Callable[..., object]) -> str:
    """Return the declaration of a function with the signature that it shows."""
    given, starred = [], False
    signature = inspect.signature(function)
    for one in signature.parameters.values():
        if one.kind is one.KEYWORD_ONLY and not starred:
            given.append("*")
            starred = True
        stars = "**" if one.kind is one.VAR_KEYWORD else ""
        default = "" if one.default is one.empty else f" = {one.default!r}"
        given.append(f"{stars}{one.name}: {one.annotation}{default}")
    return f"def {name}({', '.join(given)}) -> {signature.return_annotation}: ..."


def imports(text: str) -> Iterator[tuple[str, str]]:
    """Yield what the imports at the top of a source text bind, and a statement for each."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.Import):
            for one in node.names:
                yield one.asname or one.name.partition(".")[0], f"import {ast.unparse(one)}"
        elif isinstance(node, ast.ImportFrom) and node.module != "__future__":
            for one in node.names:
                yield one.asname or one.name, f"from {node.module} import {ast.unparse(one)}"


def declared(nodes: list[ast.stmt], package: str) -> Iterator[ast.stmt]:
    """Yield the public declarations of a source text, without what they do."""
    for node in nodes:
        name = getattr(node, "name", "")
        if name == "__getattr__" and package not in OPEN:
            continue
        if name.startswith("_") and not (name.startswith("__") and name.endswith("__")):
            continue
        match node:
            case ast.FunctionDef():
                if name != "__dir__":
                    node.body = [ast.Expr(ast.Constant(...))]
                    yield node
            case ast.ClassDef():
                node.body = [*declared(node.body, package)]
                yield node
            case ast.AnnAssign(annotation=kind):
                if ast.unparse(kind) != "TypeAlias":
                    node.value = ast.Constant(...) if node.value else None
                yield node
            case ast.Assign(targets=[ast.Name(id=target)], value=value):
                call = isinstance(value, ast.Call) and ast.unparse(value.func)
                literal = isinstance(value, ast.Tuple | ast.Constant)
                if target != "__all__" and (literal or call in ("ParamSpec", "TypeVar")):
                    yield node


def stub(package: str) -> str:
    """Return the stub of a package."""
    module = f"explorer.{package}".rstrip(".")
    text, offered = source(module), importlib.import_module(module).__all__
    overloads = {
        node.name
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef) and "overload" in map(ast.unparse, node.decorator_list)
    }
    body = [
        ast.unparse(node)
        for node in declared(ast.parse(text).body, package)
        if getattr(node, "name", "") not in overloads or getattr(node, "decorator_list", [])
    ]
    out = made(package)
    body += [written_out(name, function) for name, function in out.items()]
    lines = [
        f"from {home} import {own} as {name}"
        for home, own, name in found(package)
        if name not in out
    ]
    known = dict(imports(text))
    for function in out.values():  # their types are imported where they and their options stand
        for home in (f"{module}.options", function.__module__):
            known |= {name: line for name, line in imports(source(home)) if name not in known}
    bound = {line.rpartition(" ")[2] for line in lines}
    for name, line in known.items():
        if name in offered and name not in bound and name not in out:
            lines.append(line if " as " in line else f"{line} as {name}")
        elif name not in out and any(re.search(rf"\b{name}\b", one) for one in body):
            lines.append(line)
    return formatted("\n".join([*lines, *body]), package)


def formatted(text: str, package: str) -> str:
    """Return a stub in the form of the project."""
    name = ("--stdin-filename", str(ROOT / "explorer" / package / "__init__.pyi"), "-")
    ruff = Path(sys.executable).parent / "ruff"
    for what in (("check", "--fix-only", "--quiet", "--select", "I,UP"), ("format",)):
        done = subprocess.run(
            [ruff, *what, *name], input=text, capture_output=True, text=True, check=True
        )
        text = done.stdout
    return HEAD + text


def stubs() -> dict[Path, str]:
    """Return the text of each stub by its path."""
    return {ROOT / "explorer" / one / "__init__.pyi": stub(one) for one in PACKAGES}


def wrong(stub: str, given: str) -> list[str]:
    """Return the lines in which a stub is not what its package gives, but for added names."""
    there, wanted = set(stub.splitlines()), set(given.splitlines())
    missing = [line for line in wanted - there if not ADDED.fullmatch(line)]
    return sorted([*(there - wanted), *missing])


def main() -> None:
    """Write the stubs, or compare them."""
    bad = []
    for path, text in stubs().items():
        if "--check" not in sys.argv:
            path.write_text(text, "utf-8")
        elif lines := wrong(path.read_text("utf-8") if path.exists() else "", text):
            bad.append(f"{path.relative_to(ROOT)}: {lines[0]}")
    if bad:
        sys.exit("\n".join([*bad, "Not what the package gives: run python .ci/stubs.py"]))


if __name__ == "__main__":
    main()
