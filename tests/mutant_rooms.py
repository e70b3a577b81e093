"""Which tests concern a file of the project: those of its room.

The tests of a file are those that take it uncompiled (tests/plain.py), those that bear its name or
that of its folder, those that import it or say the name of something public in it, then those of
the other files in its folder, first of those that import it, then of those that import these; where
there are few, and for kernels, those of the files that import it, and so on. A test file names in
`COVERS` the folders that it runs through, or files whose tests it holds though it never says their
names: for each of these files it comes behind those that take it uncompiled or bear its name, which
are quicker.
"""

from __future__ import annotations

import ast
import functools
import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
KERNELS = "explorer.kernels."
COVERS = re.compile(r"^COVERS = (\(.*?\))", re.MULTILINE | re.DOTALL)
NAMES = re.compile(r"\bex(?:\.\w+)+")
FEW = 8  # test files that concern a file by what they import and name


def module_of(path: Path) -> str:
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    return name.removesuffix(".__init__")


@functools.cache
def imports(path: Path) -> set[str]:
    """Return the modules, and names in modules, that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "plain":
            named = (arg.value for arg in node.args if isinstance(arg, ast.Constant))
            found |= {f"explorer.kernels.{name}" for name in named}
    return found


@functools.cache
def public(path: Path) -> set[str]:
    """Return what a file offers to users: the names that it defines and a package exports."""
    nodes = ast.parse(path.read_text("utf-8")).body
    names = {n.name for n in nodes if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    return {name for name in names if not name.startswith("_")}


def said(text: str) -> Counter[tuple[str, ...]]:
    """Return how often a text says each name by `ex.`, as its parts."""
    return Counter(tuple(one[3:].split(".")) for one in NAMES.findall(text))


class Rooms:
    """Which tests concern a file."""

    def __init__(self) -> None:
        self.files = {module_of(p): p for p in (ROOT / "explorer").rglob("*.py")}
        self.wants = {name: imports(path) for name, path in self.files.items()}
        tests = [*(ROOT / "tests").glob("test_*.py")]
        self.tests = {path: (path.read_text("utf-8"), imports(path)) for path in tests}
        self.said = {path: said(text) for path, (text, _) in self.tests.items()}
        self.users: dict[str, set[str]] = {}
        for name, wanted in self.wants.items():
            for other in wanted & {*self.files}:
                self.users.setdefault(other, set()).add(name)

    @functools.cache  # noqa: B019
    def direct(self, module: str) -> dict[Path, int]:
        """Return how often test files import a module or name what it offers by `ex.`."""
        names = public(self.files[module])
        offered = {f"explorer.{name}" for name in names}
        return {
            path: sum(n for parts, n in self.said[path].items() if not names.isdisjoint(parts))
            + 10 * any(
                name == module or name in offered or name.startswith(f"{module}.")
                for name in wanted
            )
            for path, (_, wanted) in self.tests.items()
        }  # fmt: skip

    @functools.cache  # noqa: B019
    def of(self, file: str) -> list[Path]:
        """Return the test files of a file of the project, those that name it most often first."""
        own = module_of(ROOT / "explorer" / file)
        folder = own.rpartition(".")[0] + "."
        room = {name for name in self.files if name.startswith(folder)}
        near = self.near(own, folder)
        seen, found = {own}, self.uncompiled(own)
        found += [path for path in self.called(own) if path not in found]
        first, later = found[: FEW - 1], found[FEW - 1 :]
        first += [path for path in self.covering(file) if path not in first]
        found = first + [path for path in later if path not in first]
        found += [path for path in self.ordered({own}) if path not in found]
        for others in (*near, set() if folder.startswith(KERNELS) else room):
            found += [path for path in self.ordered(others) if path not in found]
        level = self.users.get(own, set())
        while level and len(found) < FEW:  # of a kernel, up to the schemes that tests name
            seen |= level
            found += [path for path in self.ordered(level) if path not in found]
            level = {user for name in level for user in self.users.get(name, ())} - seen
        return found

    def near(self, own: str, folder: str) -> list[set[str]]:
        """Return who imports a module, who imports these, and so on, all of its folder."""
        seen, levels = {own}, [{own}]
        while levels[-1]:
            users = {user for name in levels[-1] for user in self.users.get(name, ())}
            levels.append({name for name in users - seen if name.startswith(folder)})
            seen |= levels[-1]
        return levels[1:]

    def covering(self, file: str) -> list[Path]:
        """Return the test files that say that they hold tests of a file, then of its folder."""
        said = {
            path: ast.literal_eval(found[1])
            for path, (text, _) in self.tests.items()
            if (found := COVERS.search(text))
        }
        own = sorted(path for path, names in said.items() if file in names)
        folders = (p for p, names in said.items() if any(file.startswith(f"{n}/") for n in names))
        return [*own, *sorted(path for path in folders if path not in own)]

    @functools.cache  # noqa: B019
    def schemes(self, file: str) -> list[str]:
        """Return the modules of schemes that import a file, at any depth."""
        own = module_of(ROOT / "explorer" / file)
        seen, level = {own}, {own}
        while level:
            level = {user for name in level for user in self.users.get(name, ())} - seen
            seen |= level
        return sorted(name for name in seen if name.startswith("explorer.schemes."))

    def uncompiled(self, module: str) -> list[Path]:
        """Return the test files that take a kernel as Python runs it, which is quick."""
        said = f'plain("{module.removeprefix(KERNELS)}")'
        return sorted(path for path, (text, _) in self.tests.items() if said in text)

    def called(self, module: str) -> list[Path]:
        """Return the test files that bear the name of a module, then those of its folder."""
        names = [part for part in module.split(".")[2:][::-1] if part != "kernels"]
        found = []
        for name in names:
            for path in sorted(self.tests):
                test = path.stem.removeprefix("test_")
                if f"{name}_".startswith(f"{test}_") or f"{test}_".startswith(f"{name}_"):
                    found += [path] if path not in found else []
        return found

    def ordered(self, modules: set[str]) -> list[Path]:
        """Return the test files of modules, those that name them most often first."""
        counts: dict[Path, int] = {}
        for name in modules:
            for path, n in self.direct(name).items():
                counts[path] = counts.get(path, 0) + n
        return sorted((p for p, n in counts.items() if n), key=lambda p: (-counts[p], p))
