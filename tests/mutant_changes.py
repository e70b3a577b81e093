"""Mutants: a file of the project with one operator or one number of one line changed."""

from __future__ import annotations

import ast
import functools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
SWAPS: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
# Numbers that belong to a formula; a tolerance or a width that doubles is another choice, no error.
PARTS = (0, 0.5, 1, 2, 3)
# Nor is it an error that a value which lies on a tolerance counts on the other side of it.
EDGES = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
# Nor is another width of a line.
STYLE = ("borderwidth", "opacity", "size", "standoff", "width", "xgap", "ygap")

KNOWN = ROOT / "tests" / "data" / "equivalent_mutants.json"

# So is a wider band of a full matrix, or a narrower one above its diagonal: rows are exchanged.
_BAND = re.compile(
    r"lu_(?:factor|solve)\([\w.]+, (\w+), (?:\1 - 1, (?:\(\1 \+ 1\)|\1 - 2)|\(\1 \+ 1\), \1 - 1), "
)
# And what asks for the place of a tangent among the rows of contacts: it is never 0.
_PLACE = re.compile(r"\b(t|s|r|place\[\w+\]) (?:> 0|>= 1|<= 0|< 1)(?![\w.])")
_PLACED = (
    "kernels/event_driven/contact_impact.py",
    "kernels/time_stepping/moreau_jean.py",
)
# And how often a run is sampled at its start, where the first of these rows is taken.
_FIRST = re.compile(r"sample\(np\.zeros\(2\), slopes=False\)\[\d\]\[0[,\]]")
# And any negative number where -1 says that nothing is kept.
_NOTHING = re.compile(r"kept\[0\]\.(?:count|contacts) = -2$")
# And where -1 lets an axis take what is left: NumPy takes any negative number for that.
_REST = re.compile(r"\breshape\(-2[,)]")
# And the layout of an array that is not promised to be dense.
_LAYOUT = re.compile(r"^\w+ = Annotated\[np\.ndarray, (?:\w+|from_dtype\(\w+\))\[(?::, )*::2\]\]$")


@functools.cache
def known() -> dict[tuple[str, str], list[dict[str, str]]]:
    """Return what no test can kill, by its file and its line as it becomes, with how it was shown.

    "shown" says what has been run and compared ("run: ...") or only thought ("argued"), "why" the
    reason, and "in" the function, if the same line stands in others.
    """
    found: dict[tuple[str, str], list[dict[str, str]]] = {}
    for one in json.loads(KNOWN.read_text("utf-8")):
        found.setdefault((one["file"], one["line"]), []).append(one)
    return found


def equivalent(mutant: Mutant) -> bool:
    """Whether no test can kill a mutant."""
    line = mutant.text
    placed = mutant.file.startswith("kernels/friction/") or mutant.file in _PLACED
    place = placed and _PLACE.search(line) is not None
    alike = any(one.search(line) for one in (_BAND, _NOTHING, _REST, _LAYOUT, _FIRST))
    entries = known().get((mutant.file, line), ())
    return (
        place or alike or any(one.get("in", mutant.function) == mutant.function for one in entries)
    )


class Mutant(NamedTuple):
    """One changed expression of a file."""

    file: str
    line: int
    before: str
    after: str
    source: str  # of the whole file

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.before}  ->  {self.after}"

    @property
    def text(self) -> str:
        """The line that is changed, as it becomes."""
        return self.source.splitlines()[self.line - 1].strip()

    @property
    def function(self) -> str:
        """The innermost function that the line stands in; an empty text for none."""
        around = [
            node for node in ast.walk(ast.parse(self.source))
            if isinstance(node, ast.FunctionDef) and node.lineno <= self.line <= (node.end_lineno or 0)
        ]  # fmt: skip
        return max(around, key=lambda node: node.lineno).name if around else ""


def named(target: ast.expr) -> bool:
    """Whether a constant of a module is assigned: a code, a limit, a tolerance."""
    return all(isinstance(one, ast.Name) and one.id.strip("_").isupper() for one in entries(target))


def widths(tree: ast.Module) -> set[str]:
    """Return the constants of a module that are real numbers: tolerances, not counts or codes."""
    found = set()
    for node in tree.body:
        if isinstance(node, ast.Assign) and named(node.targets[0]):
            for target, value in zip(*map(entries, (node.targets[0], node.value)), strict=False):
                if isinstance(getattr(value, "value", None), float):
                    found.add(ast.unparse(target))
    return found


def entries(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple) else [node]


def tolerance(node: ast.expr, known: set[str]) -> bool:
    """Whether a number is small, or known, or called so, or one of two such, a sum or multiple."""
    if isinstance(node, ast.UnaryOp):
        return tolerance(node.operand, known)
    if isinstance(node, ast.IfExp):
        return tolerance(node.body, known) and tolerance(node.orelse, known)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Add):
        return tolerance(node.left, known) or tolerance(node.right, known)
    if isinstance(node, ast.Constant):
        return type(node.value) is float and 0 < node.value < 1e-3
    name = getattr(node, "id", getattr(node, "attr", ""))
    return name in known or name in ("tol", "rtol", "atol", "slack")


def expressions(tree: ast.AST) -> Iterator[ast.expr]:
    """Yield what is computed: no annotation, default, decorator, text or name of a module."""
    pairs = zip(tree.keys, tree.values, strict=True) if isinstance(tree, ast.Dict) else ()
    looks = [value for key, value in pairs if getattr(key, "value", None) in STYLE]
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Constant) and node in looks:
            continue
        if isinstance(node, ast.FunctionDef):
            for statement in node.body:
                yield from expressions(ast.Interactive([statement]))
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                yield from expressions(ast.Expr(node.value))
        elif isinstance(node, ast.JoinedStr | ast.Raise | ast.Assert | ast.arguments) or (
            isinstance(tree, ast.Module) and isinstance(node, ast.Assign) and named(node.targets[0])
        ):
            continue
        else:
            if isinstance(node, ast.expr):
                yield node
            yield from expressions(node)


def changed(node: ast.expr, known: set[str]) -> ast.expr | None:
    """Return another expression in the place of this one, or None; `known` are tolerances."""
    if isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in SWAPS:
        texts = (ast.Constant, ast.JoinedStr)
        sides = node.values if isinstance(node, ast.BoolOp) else (node.left, node.right)
        if isinstance(node.op, ast.Mult | ast.Div) and any(
            isinstance(s, ast.Constant)
            and type(s.value) in (int, float)
            and (s.value == 1 or 0 < s.value < 1e-3)
            for s in sides
        ):
            return None  # the same number, or a tolerance
        if any(isinstance(s, ast.Constant) and s.value == 1e-300 for s in sides):
            return None  # it only keeps a quotient from 0 / 0
        if any(isinstance(s, texts) and not isinstance(getattr(s, "value", ""), int | float)
               for s in sides):  # fmt: skip
            return None
        new = ast.copy_location(type(node)(**dict(ast.iter_fields(node))), node)
        new.op = SWAPS[type(node.op)]()
        return new
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
        if isinstance(node.ops[0], EDGES) and any(
            tolerance(side, known) for side in (node.left, *node.comparators)
        ):
            return None
        new = ast.Compare(node.left, [SWAPS[type(node.ops[0])](), *node.ops[1:]], node.comparators)
        return ast.copy_location(new, node)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        return node.operand
    if isinstance(node, ast.Constant) and type(node.value) in (int, float) and node.value in PARTS:
        return ast.copy_location(ast.Constant(node.value + 1), node)
    return None


def mutants(path: Path) -> Iterator[Mutant]:
    """Yield every mutant of a file whose expression stands on one line."""
    source = path.read_text("utf-8")
    lines = source.splitlines(keepends=True)
    tree = ast.parse(source)
    known = widths(tree)
    for node in expressions(tree):
        new = changed(node, known)
        if new is None or node.lineno != node.end_lineno:
            continue
        text = lines[node.lineno - 1].encode()
        inside = text[node.col_offset : node.end_col_offset].decode()
        put = ast.unparse(new)
        put = put if isinstance(new, ast.Constant) else f"({put})"
        line = (text[: node.col_offset] + put.encode() + text[node.end_col_offset :]).decode()
        whole = "".join([*lines[: node.lineno - 1], line, *lines[node.lineno :]])
        file = path.relative_to(ROOT / "explorer").as_posix()
        yield Mutant(file, node.lineno, inside, put, whole)
