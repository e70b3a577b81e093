"""The order of the layers, read from the imports; the size of files and functions."""

from __future__ import annotations

import ast
import functools
import importlib
import re
import statistics
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from explorer.moved import moved

EXPLORER = Path(__file__).parent.parent / "explorer"
ORDER = (
    "types", "errors", "arguments", "memory", "quantities", "registry", "references", "parameters", "cache", "progress", "warned",
    "codes", "status", "moved", "certificate", "recorder",
    "systems", "reformulations", "results", "kernels", "compiled", "verification", "runs", "schemes",
    "dispatch", "derivatives", "study", "optimise", "transcription", "control", "models", "tasks", "views", "panels",
    "citation", "course",
)  # fmt: skip
TOP = ("book", "server", "app", "__main__", "__init__")
RANK = {name: i for i, name in enumerate(ORDER)} | dict.fromkeys(TOP, len(ORDER))
HOMES = {  # package: layers that may import it
    "numba": {"kernels"},
    "symengine": {"compiled"},
    "plotly": {"views", "panels"},
    "ipywidgets": {"panels"},
    "anywidget": {"panels"},
    "casadi": {"transcription"},
    "sphinx": {"book"},
    "contourpy": {"views"},
}
SOURCES = sorted(EXPLORER.rglob("*.py"))


def _is_type_checking(test: ast.expr) -> bool:
    return "TYPE_CHECKING" in (getattr(test, "id", ""), getattr(test, "attr", ""))


def imports(found: Collection[ast.AST]) -> Iterator[str]:
    """Yield every module a source text imports, in functions too, not under TYPE_CHECKING."""
    guarded = (n for n in found if isinstance(n, ast.If) and _is_type_checking(n.test))
    unseen = {id(inner) for n in guarded for one in n.body for inner in ast.walk(one)}
    for node in found:
        if not isinstance(node, ast.Import | ast.ImportFrom | ast.Call) or id(node) in unseen:
            continue
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                prefix = "." * level + (module or "")
                if prefix == "explorer":
                    yield from (f"explorer.{alias.name}" for alias in names)
                else:
                    yield prefix
            case ast.Call(func=function, args=[first, *_]):
                if "import_module" in (getattr(function, "id", ""), getattr(function, "attr", "")):
                    match first:
                        case ast.Constant(value=str() as name):
                            yield name
                        case ast.JoinedStr(values=[ast.Constant(value=name), *_]):
                            yield name


def walked(source: str) -> tuple[ast.AST, ...]:
    """Return all nodes of a source text."""
    return (*ast.walk(ast.parse(source)),)


@functools.cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Return all nodes of a file, read and walked once."""
    return walked(path.read_text())


def layer(path: Path) -> str:
    """Return the layer of a file of the package: its first folder, or its own name."""
    return path.relative_to(EXPLORER).parts[0].removesuffix(".py")


def complaints(own: str, found: Collection[ast.AST]) -> list[str]:
    """Return a sentence for each import that a file of layer `own` may not make."""
    said = []
    for name in imports(found):
        if name.startswith("."):
            said.append(f"{own}: the relative import {name} hides its layer")
            continue
        head, _, rest = name.partition(".")
        if head in HOMES and own not in HOMES[head]:
            said.append(f"{own} imports {head}")
        if head != "explorer":
            continue
        target = rest.partition(".")[0] or "__init__"
        rank = RANK.get(target, len(ORDER))  # a lazy name of explorer/__init__.py
        if target != own and rank >= RANK[own] and own != "__init__" and RANK[own] < len(ORDER):
            said.append(f"{own} imports {name}, which stands below it")
        if target == "models" != own and own != "tasks" and RANK[own] < RANK["panels"]:
            said.append(f"{own} imports {name}; only tasks, panels and what stands below them may")
    return said


@pytest.mark.parametrize("name", [*ORDER, *TOP])
def test_imports_point_upwards(name):
    """A file imports its own package and layers above it; each library has its one home."""
    paths = [path for path in SOURCES if layer(path) == name]
    assert paths
    for path in paths:
        assert complaints(name, nodes(path)) == [], path


def test_the_table_of_the_contributors_is_that_of_the_test():
    """CONTRIBUTING names the layers in this order."""
    table = (EXPLORER.parent / "CONTRIBUTING.md").read_text().partition("|---|---|")[2]
    rows = [row.split("|")[1] for row in table.partition("\n\n")[0].splitlines() if row]
    named = [name.strip("/") for row in rows for name in re.findall(r"`([\w/]+)`", row)]
    assert named == [*ORDER, "book", "app", "server"]


def test_what_has_moved_is_found_by_its_old_name():
    """An import from the old place names the new one, which exists."""
    for old, new in moved().items():
        with pytest.raises(ImportError, match=re.escape(new)):
            importlib.import_module(old)
        place = EXPLORER.parent.joinpath(*new.split("."))
        assert place.is_dir() or place.with_suffix(".py").is_file()


def test_every_layer_is_named():
    """A new file or folder in explorer/ must be given its place in the order."""
    assert {layer(p) for p in SOURCES} <= set(RANK)


@pytest.mark.parametrize(
    ("own", "source"),
    [
        ("kernels", "from explorer.compiled import Compiled"),
        ("systems", "def f():\n    from explorer import dispatch"),
        ("results", "import explorer.kernels.complementarity.lcp"),
        ("schemes", "import explorer"),
        ("views", "from explorer.models import models"),
        ("compiled", "class A:\n    def f(self):\n        import numba.core"),
        ("models", "import symengine as se"),
        ("dispatch", "import plotly.graph_objects as go"),
        ("views", "import ipywidgets"),
        ("panels", "import casadi"),
        ("control", "import casadi"),
        ("errors", "import importlib\nimportlib.import_module('explorer.schemes')"),
        ("registry", "import importlib\nimportlib.import_module(f'explorer.panels.{1}')"),
        ("status", "from . import errors"),
        ("parameters", "if TYPE_CHECKING:\n    pass\nelse:\n    import explorer.systems"),
        ("cache", "try:\n    from explorer import simulate\nexcept ImportError:\n    pass"),
    ],
)
def test_a_wrong_arrow_is_caught(own, source):
    """The check itself is checked: each of these texts breaks one rule."""
    assert complaints(own, walked(source))


@pytest.mark.parametrize(
    ("own", "source"),
    [
        ("systems", "if TYPE_CHECKING:\n    from explorer.compiled import Compiled"),
        ("kernels", "import numba\nfrom explorer import cache\nfrom explorer.kernels import jit"),
        ("panels", "from explorer.models import models\nimport plotly, ipywidgets"),
        ("app", "from explorer.server import serve\nimport explorer"),
    ],
)
def test_a_right_arrow_is_let_through(own, source):
    """The check does not refuse what is allowed."""
    assert complaints(own, walked(source)) == []


def arrows() -> dict[str, set[str]]:
    """Return which files each file imports, in functions and under TYPE_CHECKING too."""
    names = {
        ".".join(p.relative_to(EXPLORER.parent).with_suffix("").parts).removesuffix(".__init__"): p
        for p in SOURCES
    }
    found = {}
    for own, path in names.items():
        heads = [a.name for node in nodes(path) if isinstance(node, ast.Import) for a in node.names]
        for node in nodes(path):
            if isinstance(node, ast.ImportFrom) and node.module:
                whole = ((f"{node.module}.{a.name}", node.module) for a in node.names)
                heads += [full if full in names else module for full, module in whole]
        found[own] = {*heads} & {*names} - {own}
    return found


def circles(graph: dict[str, set[str]]) -> set[str]:
    """Return what can be reached from itself: leaves and roots are taken away in turn."""
    left = {own: {*targets} for own, targets in graph.items()}
    while True:
        aimed = {target for targets in left.values() for target in targets}
        ends = {own for own, targets in left.items() if not targets or own not in aimed}
        if not ends:
            return {*left}
        left = {own: targets - ends for own, targets in left.items() if own not in ends}


def test_no_circle_of_files():
    """No file imports itself by way of others."""
    assert circles(arrows()) == set()


def test_a_circle_is_caught():
    """The check itself is checked."""
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == {"b", "c"}
    assert circles({"a": {"b"}, "b": set()}) == set()


def lengths(*kinds: str) -> dict[str, int]:
    """Return how many lines each file of some kinds has."""
    files = [path for kind in kinds for path in EXPLORER.rglob(f"*.{kind}")]
    return {str(p.relative_to(EXPLORER)): len(p.read_text().splitlines()) for p in files}


def test_no_file_is_longer_than_400_lines():
    """The ceiling holds for Python, JavaScript and style sheets."""
    assert {name: n for name, n in lengths("py", "js", "css").items() if n > 400} == {}


def test_median_file_has_at_most_150_lines():
    """Half of the Python files can be read in one go."""
    assert statistics.median(lengths("py").values()) <= 150


def told_apart() -> set[str]:
    """Return the files of views, panels and studies that ask which class a part of a result is."""
    parts = {
        node.name
        for path in (EXPLORER / "results").rglob("*.py")
        for node in nodes(path)
        if isinstance(node, ast.ClassDef) and node.name not in ("Solution", "Event")
    }
    return {
        f"{path.relative_to(EXPLORER)}: {asked}"
        for room in ("views", "panels", "study")
        for path in (EXPLORER / room).rglob("*.py")
        for call in nodes(path)
        if isinstance(call, ast.Call)
        for asked in asks(call, parts)
    }


RESULTS = {"run", "sol", "solution", "march", "event", "trajectory"}  # what results are called


def asks(call: ast.Call, parts: Collection[str]) -> set[str]:
    """Return by which class, or by which attribute of a result, a call tells kinds apart."""
    of = getattr(call.func, "id", "")
    if of in ("isinstance", "issubclass"):
        return {n.id for n in ast.walk(call) if isinstance(n, ast.Name) and n.id in parts}
    if of == "hasattr" or (of == "getattr" and len(call.args) == 3):
        first = ast.unparse(call.args[0])
        return {ast.unparse(call)} if first.rpartition(".")[2] in RESULTS else set()
    return set()


def test_nothing_asks_which_kind_of_result_it_has():
    """A view asks a solution for what it draws: every scheme returns the same class."""
    assert told_apart() == set()


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("isinstance(part, Contacts)", 1),
        ("hasattr(run.march, 'y')", 1),
        ("getattr(event, f'x_{side}', None)", 1),
        ("getattr(event, name)", 0),
        ("hasattr(scheme, 'coefficients')", 0),
        ("run.has('march')", 0),
    ],
)
def test_a_question_for_the_kind_of_result_is_seen(source, count):
    """The check itself is checked."""
    call = next(node for node in walked(source) if isinstance(node, ast.Call))
    assert len(asks(call, {"Contacts"})) == count


EXCEPTIONS = {  # public signatures whose keyword arguments users type; at most five
    "derivatives/methods.py: sensitivity": "the question, where it starts, and how it is answered",
    "study/basins.py: basins": "the question, its starts, and where and how far it is run",
    "systems/first_order.py: __init__": "a system in one call: formulas, or the matrices of books",
    "systems/linear.py: __init__": "a system in one call: its matrices and the laws of its contacts",
    "systems/mechanical.py: __init__": "a system in one call: equations, contacts, springs, sketch",
}
OVERSIZED = 0  # other functions beyond 12 arguments or 100 lines; may only fall
MOST_ARGUMENTS = 12  # of one function; may only fall, to 12
LONGEST = 100  # lines of one function; may only fall, to 100
ANY = 71  # lines where `Any` stands as a type; may only fall, to 99
TABLES = 24  # laid out by hand; may only fall
SLOTS = 0  # numbered slots of kernels; may only fall, to 0


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield the functions of a file, those in classes and in functions too."""
    for node in nodes(path):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def size(function: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[int, int]:
    """Return how many arguments and how many lines it has."""
    given = function.args
    arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    return len(arguments), (function.end_lineno or function.lineno) - function.lineno + 1


def sizes_of_functions() -> list[tuple[int, int, str]]:
    """Return arguments, lines, and the name behind that of its file, of all functions."""
    return [
        (*size(function), f"{path.relative_to(EXPLORER)}: {function.name}")
        for path in SOURCES
        for function in functions(path)
    ]


def test_few_functions_have_many_arguments_or_lines():
    """At most 12 arguments and 100 lines; the number of those that have more only falls."""
    sizes = sizes_of_functions()
    named = [one for one in sizes if one[0] > 12 and one[2] in EXCEPTIONS]
    assert {name for *_, name in named} == {*EXCEPTIONS}
    assert len(named) <= 5
    sizes = [one for one in sizes if one not in named]
    found = [name for arguments, lines, name in sizes if arguments > 12 or lines > 100]
    assert len(found) <= OVERSIZED, found
    assert max(sizes)[0] <= MOST_ARGUMENTS, max(sizes)
    longest = max(sizes, key=lambda one: one[1])
    assert longest[1] <= LONGEST, longest


def anys(found: Collection[ast.AST]) -> set[int]:
    """Return the lines of a source text on which `Any` is a type; imports do not count."""
    names = (node for node in found if isinstance(node, ast.Name))
    return {node.lineno for node in names if node.id == "Any"}


def test_few_types_are_any():
    """A type says what a thing is; the number of lines that leave it open only falls."""
    counts = {path: len(anys(nodes(path))) for path in SOURCES}
    assert sum(counts.values()) <= ANY, max(counts, key=lambda path: counts[path])


def test_an_open_type_is_seen():
    """The check itself is checked."""
    source = "from typing import Any\ndef f(x: Any, y: list[Any]) -> int:\n    z: Any = x\n"
    assert anys(walked(source)) == {2, 3}


def test_the_formatter_lays_out_all_but_tables():
    """Only what a reader scans by columns is laid out by hand."""
    counts = {str(path): path.read_text("utf-8").count("# fmt: skip") for path in SOURCES}
    assert sum(counts.values()) <= TABLES, (
        f"only tables are laid out by hand: {sum(counts.values())} times '# fmt: skip' in "
        f"{sorted(path for path, n in counts.items() if n)}"
    )


LIKE = {  # whole numbers that count things of one kind in a table: they name no field
    "SMOOTH": "one of three matrices, stacked",
    "MASS": "one of three matrices, stacked",
    "JUMP": "one of three matrices, stacked",
    "SAMPLES": "the last sample of a step; two more lie behind it",
}


def numbers(tree: Collection[ast.AST]) -> set[str]:
    """Return the names that a source text gives to whole numbers: ``A = 3``, ``A, B = range(2)``."""
    found = set()
    for node in tree:
        if isinstance(node, ast.Assign) and re.fullmatch(
            r"-?\d+|\(?-?\d+(, -?\d+)*,?\)?|range\(\d+\)", ast.unparse(node.value)
        ):
            found |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and n.id.isupper()}
    return found


def terms(index: ast.expr) -> Iterator[ast.expr]:
    """Yield the terms of a sum."""
    if isinstance(index, ast.BinOp) and isinstance(index.op, ast.Add | ast.Sub):
        yield from terms(index.left)
        yield from terms(index.right)
    else:
        yield index


def slots(tree: Collection[ast.AST], named: Collection[str] = ()) -> list[str]:
    """Return the numbered slots of the kernels among the nodes of a source text.

    What a kernel indexes by whole numbers only, and never runs through, is no vector but a record
    whose fields have no names: ``options[7]``, ``ints[0, 0]``, ``found[0]``. So is what it indexes
    by the name of a number, of this text or of others (`named`): ``data[MODE]``, ``K[END, i]``. A
    field of a row of a structured array, ``state[0].width``, has a name. Each subscript counts.
    """
    found = []
    named = {*named, *numbers(tree)} - {*LIKE}
    for function in tree:
        kernels = getattr(function, "decorator_list", [])
        if not any(re.match(r"(kernel|template)\b", ast.unparse(one)) for one in kernels):
            continue
        fields = {id(n.value) for n in ast.walk(function) if isinstance(n, ast.Attribute)}
        numbered: dict[str, list[str]] = {}
        run_through = set()
        for n in ast.walk(function):
            if not isinstance(n, ast.Subscript):
                continue
            parts = n.slice.elts if isinstance(n.slice, ast.Tuple) else [n.slice]
            places = [t.id for k in parts for t in terms(k) if isinstance(t, ast.Name)]
            if not named.isdisjoint(places) and id(n) not in fields:
                found.append(f"{function.name}: {ast.unparse(n)}")
            if not isinstance(n.value, ast.Name):
                continue
            if not all(isinstance(k, ast.Constant) and type(k.value) is int for k in parts):
                run_through.add(n.value.id)
            elif id(n) not in fields:
                numbered.setdefault(n.value.id, []).append(f"{function.name}: {ast.unparse(n)}")
        found += [one for name, ones in numbered.items() if name not in run_through for one in ones]
    return found


def slots_of_kernels() -> dict[Path, list[str]]:
    """Return the numbered slots of each file of the kernels."""
    paths = [path for path in SOURCES if layer(path) == "kernels"]
    every = set().union(*(numbers(nodes(path)) for path in paths))
    found = {}
    for path in paths:
        imported = {
            one.asname or one.name
            for node in nodes(path)
            if isinstance(node, ast.ImportFrom)
            for one in node.names
            if one.name in every
        }
        found[path] = slots(nodes(path), imported)
    return found


def test_few_fields_of_kernels_are_known_by_number():
    found = slots_of_kernels()
    most = max(found, key=lambda path: len(found[path]))
    assert sum(map(len, found.values())) <= SLOTS, (
        f"return what a kernel ends with, or name it as a field of a structure: {most} has "
        f"{found[most]}"
    )


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("return options[7]", 1),
        ("ints[0, 0] += 1; return ints[0, 1]", 2),
        ("return state[0].width", 0),
        ("return q[0] + q[k]", 0),
        ("return q[0] + q[1:].sum()", 0),
        ("return data[MODE] + data[REST + k]", 2),
        ("return K[END, k] + K[LAST, k]", 2),
        ("return slots[MODE * k] + rows[MODE].width + Y[MASS, k]", 0),
    ],
)
def test_a_numbered_slot_is_told_from_a_component(body, count):
    constants = "MODE, REST = 0, 1\nEND = -2\nMASS = 1\n"
    for head, found in (("@kernel(inner=True)\n", count), ("", 0)):
        text = f"{constants}{head}def f(k):\n    {body}"
        assert len(slots(walked(text), {"LAST"})) == found


def figures() -> str:
    """Return the figures that stand behind the tests of this file, a line each."""
    sizes, lines = sizes_of_functions(), lengths("py", "js", "css")
    rest = [one for one in sizes if one[2] not in EXCEPTIONS]
    longest = max(lines, key=lambda name: lines[name])
    return "\n".join(
        [
            f"most arguments: {max(rest)[0]}, of {max(rest)[2]}",
            f"named exceptions: {', '.join(EXCEPTIONS)}",
            f"longest function: {max(n for _, n, _ in sizes)} lines",
            f"longest file: {lines[longest]} lines, {longest}",
            f"median file: {statistics.median(lengths('py').values()):.0f} lines",
            f"numbered slots: {sum(map(len, slots_of_kernels().values()))}",
            f"files in circles: {len(circles(arrows()))}",
            f"questions which kind of result it is: {len(told_apart())}",
            f"lines with Any: {sum(len(anys(nodes(path))) for path in SOURCES)}",
        ]
    )


def test_the_figures_are_those_of_the_house():
    """Each line has what a test above holds against its bound."""
    told = dict(line.split(": ", 1) for line in figures().splitlines())
    assert told["numbered slots"] == told["files in circles"] == "0"
    assert int(told["most arguments"].partition(",")[0]) <= 12
    assert int(told["longest function"].split()[0]) <= 100
