"""Do the tests notice a wrong operator? Run on demand: ``python tests/mutants.py --number 20``.

A mutant is the project with one operator or one number of one line changed. It is killed if a test
of its room fails, and survives if all of them pass. Mutants are drawn by a seed from the files that
are asked for, all lines alike. Each is made in a copy, so nothing here is edited.

The tests of a file are those that take it uncompiled (tests/plain.py), those that bear its name or
that of its folder, those that import it or say the name of something public in it, then those of
the other files in its folder, first of those that import it; where there are few, and for kernels,
those of the files that import it, and so on. For a kernel they are run as Python runs it first
(tests/uncompiled.py); only if none fails it is compiled anew, in a cache of the copy.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from explorer import cache

ROOT = Path(__file__).parents[1]
ROOMS = ["study", "optimise", "derivatives", "views/drawing", "kernels"]
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
KERNELS = "explorer.kernels."
UNCOMPILED = ("-p", "uncompiled")
FEW = 8  # test files that concern a file by what they import and name
# Mutants that no test can kill: the file, the line as it becomes, and why.
EQUIVALENT = {
    ("optimise/observed.py", "out = np.asarray(self.bundle(inp)).reshape(-2, self.width)"):
        "NumPy takes any negative length for the one that follows from the others",
    ("kernels/complementarity/box_lcp.py", "lu_solve(A, m, m - 1, m - 2, pivots, b)"):
        "exchanged rows are taken into account as far as the end of each row",
    ("kernels/friction/glocker_lcp.py", "if (t > 0):"):
        "tangents stand behind the normals, so none is at place 0",
    ("kernels/friction/glocker_lcp.py", "if s >= 1 and sigma[s] == FREE:"):
        "tangents stand behind the normals, so none is at place 0",
    ("kernels/complementarity/box_lcp.py", "kept[0].count = -2"):
        "as -1, no number of rows",
    ("optimise/cost_curve.py", "known = 0.0 if (wide < 2 * fine) else _STEEP * max(abs(left), abs(right)) * wide"):
        "no interval that is halved is exactly twice the finest",
    ("optimise/cost_curve.py",
     "elif (wide < 2 * fine) and abs(left - right) > _BEND * max(abs(left), abs(right)):"):
        "no interval that is halved is exactly twice the finest",
    ("kernels/linear_algebra/dense_lu.py", "last = min(n, k + kl + 2)"):
        "one row more, in which the band has zeros",
    ("kernels/linear_algebra/dense_lu.py", "end = min(n, k + kl + ku + 2)"):
        "one column more, in which the band has zeros",
    ("kernels/linear_algebra/dense_lu.py", "for i in range(k + 1, min(n, k + kl + 2)):"):
        "one row more, in which the band has zeros",
    ("kernels/linear_algebra/dense_lu.py", "for j in range(k + 1, min(n, k + kl + ku + 2)):"):
        "one column more, in which the band has zeros",
    ("kernels/friction/graph_newton.py", "if closed and (abs(free) < bound):"):
        "on the edge of the disc both equations are the same",
    ("kernels/event_driven/radau.py",
     "lu_solve(newton.matrix, 3 * nx, (3 * nx + 1), 3 * nx - 1, newton.pivots, r)"):
        "no band is wider than the matrix",
    ("kernels/time_stepping/nonsmooth_alpha.py",
     "state[0].below = state[0].above = (n + 1)"):
        "no band is wider than the matrix",
    ("kernels/linear_algebra/banded_lu.py", "end = 1  # of U: no wider than rows have been exchanged"):
        "the first row reaches at least so far",
    ("kernels/sliding/multiaffine.py", "M[j, a] = total / (2 << (m - 1))"):
        "the rows are compared with each other, whatever all are multiplied by",
    ("kernels/sliding/active_modes.py", "if (a >= 0):"):
        "of no rows the determinant is 1",
    ("kernels/event_driven/flow.py", "if c < nc and partner[c] >= 1:"):
        "tangents stand behind the normals, so none is at place 0",
    ("kernels/friction/coulomb.py", "size, off = 0.0, 1.0"):
        "of what nothing has solved yet no residual is read",
    ("kernels/complementarity/structures.py",
     "A, T, b = np.empty((m, m)), np.empty((m, 3 * m + 2)), np.empty(m)"):
        "more memory than is used",
    ("kernels/sliding/multiaffine.py",
     "if (box[m + a] - box[a] >= box[m + wide] - box[wide]):"):
        "of sides that are as long, either is the longest",
    ("kernels/event_driven/transition.py",
     "pick = picks[moment] if moment < picks.size else -2"):
        "as -1, the number of no branch",
    ("kernels/linear_algebra/banded_lu.py", "row = A[i, k - i + w + 1 : k - i + w + 2 + count]"):
        "the loop takes `count` entries of it",
    ("kernels/friction/single_contact.py",
     "if (normal > 0.0) and np.sqrt(P_1 * P_1 + P_2 * P_2) <= mu * normal:"):
        "a normal impulse of zero sticks with none beside it, or slides with none",
    ("kernels/friction/single_contact.py", "if (mu * size < -y_n):"):
        "on the edge of the polar cone the point is projected onto the tip either way",
    ("kernels/friction/single_contact.py", "if (off <= 0.0):"):
        "at 0 the search ends, whichever bound it moves",
    ("kernels/friction/single_contact.py",
     "if (abs(off) <= 4e-16 and abs(new - alpha) <= 1e-15 * (alpha + trace)):"):
        "Newton's method stays where it is for the steps that are left",
    ("kernels/friction/single_contact.py", "ratio = (1.0 - off)"):
        "off is a few roundings, but where a hundred steps of Newton's method were too few",
    ("derivatives/complex_step.py", "gap = sp.Matrix([c.gap for c in contacts] or [1])"):
        "without contacts only derivatives are taken of it",
    ("derivatives/held_start.py", "moves = np.abs(sides[1] - sides[0]) / (3 * _STEP) * watched"):
        "compared with a tolerance alone",
    ("derivatives/differences.py",
     "rows = np.minimum(np.searchsorted(runs[0].t, direct.t - 1e-12), (len(runs[0].t) + 1))"):
        "a run ends where it was asked to",
    ("study/return_map.py", "self._span, self._last = 3 * event.t, event.t"):
        "how long is waited for the next return at first; then it is as long as may be",
    ("study/leading_terms.py", "return _Series([(x, 1) for x in b], series.square)"):
        "of a product with a real series the real part alone is read",
    ("derivatives/verify.py", "sides = [_side(asked, j, sign, middle) for sign in (-2.0, 1.0)]"):
        "difference quotients of twice the width",
    ("verification/first_order.py",
     'steep = np.abs(_along(run, compiled, "flow", run.t[1:], (x1 / flip), lam1) - f1) / 1e-7'):
        "moved by as much, to the other side",
    ("study/fesd_reference.py", "F = np.abs(self.equations(self.z, 1.0, False)[0])"):
        "of the rows without sigma alone",
    ("study/fesd_reference.py", "if best is None or (one.size <= best.size):"):
        "of two attempts that leave as much, either is the best",
    ("views/mechanism.py", "turn = np.linspace(0, 3 * np.pi, 49)"):
        "a circle, drawn once and a half",
    ("views/drawing/decimate.py",
     "t = np.unique(np.concatenate([np.linspace(0.0, end, (even - 1)), own, sides]))"):
        "two times less of hundreds",
    ("views/drawing/decimate.py", "t = np.union1d(t, np.linspace(low, high, (int(_CLOSE * width) - 2)))"):
        "four times less of hundreds",
    ("derivatives/differences.py",
     "delta = 10.0**-power * max(2.0, abs(question.rho[place]) if place >= 0 else 1.0)"):
        "a difference of up to twice the width",
    ("derivatives/verify.py", "both = abs(left - right) / size if np.isfinite((left + right)) else 0.0"):
        "neither is finite unless both are",
    ("derivatives/doubts.py", "if not same or (np.isfinite(seen) and (abs(seen - miss) >= 0.5 * miss)):"):
        "no two misses differ by exactly a half",
    ("views/drawing/lanes.py", "first = np.flatnonzero(np.diff(sign, prepend=9))"):
        "as -9, no sign",
    ("views/drawing/one_sided.py",
     "gaps = np.searchsorted(chosen, ends[((ends >= chosen[0])) & (ends <= chosen[-1])])"):
        "before each right limit that is drawn stands its left one",
    ("derivatives/doubts.py", "and (len(theirs.events.head) >= k)"):
        "sequences of different lengths differ, as the next line finds",
    ("derivatives/complex_step.py", "held[n_c + f] = (p[c] >= 0) and room > 1e-12 * p[c]"):
        "an impulse of zero leaves no room",
    ("derivatives/complex_step.py", "return np.linalg.solve(M, self.force(*at)), np.empty(1, complex)"):
        "forces of contacts are read where there are some",
    ("views/drawing/regions.py", "alpha = ((sides >= 0)).astype(float)"):
        "no point of a picture lies on a surface but for round-off",
    ("views/drawing/regions.py",
     "kind = np.where(((up <= 0)) & (down > 0), 1, np.where((up > 0) & (down < 0), 2, 0))"):
        "a rate is exactly zero in single points of a line",
    ("views/drawing/polyline.py",
     "covered |= narrow[part] & (low[part] < ends[0] + 1) & ((high[part] >= ends[1] - 1))"):
        "of pixels that are no whole numbers",
    ("views/drawing/still_marks.py",
     "seen = np.isfinite(x) & np.isfinite(y) & (np.abs(x) < 3e3) & ((np.abs(y) <= 3000.0))"):
        "far off the paper",
    ("kernels/friction/coulomb.py",
     "if (static[r] >= kinetic[r]) and tangents[act[k] + 1] - tangents[act[k]] > 1:"):
        "of two coefficients that are the same either counts",
    ("kernels/friction/coefficients.py", "if (mu_s >= mu):"):
        "of two coefficients that are the same either counts",
    ("kernels/event_driven/make_step.py", "if not (error < 1.0):"):
        "no estimate of an error is exactly its tolerance",
    ("kernels/event_driven/make_step.py", "if (problem.sides.size >= 0):"):
        "the guards at the end of a step are evaluated once more",
    ("kernels/event_driven/locate_event.py", "best, winner, slope = 2.0, NONE, 1.0"):
        "of no event no slope is read",
    ("kernels/friction/structures.py", "return _made(1, 0, lcp_workspace(0, 0))"):
        "more memory than is used",
    ("kernels/friction/structures.py", "return _made(0, 1, lcp_workspace(0, 0))"):
        "more memory than is used",
    ("kernels/friction/structures.py", "return _made(0, 0, lcp_workspace(1, 0))"):
        "more memory than is used",
    ("kernels/friction/structures.py", "return _made(0, 0, lcp_workspace(0, 1))"):
        "more memory than is used",
    ("kernels/fesd/element.py", "if (m >= 0) or kind == SURFACE:"):
        "more points than are needed",
    ("kernels/fesd/element.py", "for i in range(0 if (m >= 0) else s - 1, s):"):
        "more points than are needed",
    ("kernels/fesd/element.py", "for i in range(0 if m > 0 else s - 2, s):"):
        "more points than are needed",
    ("kernels/event_driven/doubtful.py", "event, row = head[k : k + 2], parts[k]"):
        "the first of them is read",
    ("kernels/time_stepping/newmark.py",
     "if (method.weight <= 1.0) or not problem.grid.even:  # at the end of the step, not at alpha_f"):
        "the springs at the end of a step are evaluated once more",
    ("kernels/friction/graph_path.py", "firm_t, off_t = (firm[t], off[t]) if t >= 0 else (1.0, 0.0)"):
        "the column of a tangent that is none is zero",
    ("kernels/friction/graph_path.py", "firm_t, off_t = (firm[t], off[t]) if t >= 0 else (0.0, 1.0)"):
        "the column of a tangent that is none is zero",
    ("kernels/model/disc_neighbours.py",
     "left, low, right, high, largest, finite = inp[1], inp[3], inp[1], inp[2], 0.0, 0.0"):
        "cells beyond the outermost discs are empty",
    ("kernels/model/disc_neighbours.py",
     "left, low, right, high, largest, finite = inp[1], inp[2], inp[1], inp[3], 0.0, 0.0"):
        "cells beyond the outermost discs are empty",
    ("optimise/fit.py", "scale: float = 2.0"):
        "it is always given",
    ("views/drawing/decimate.py", "scale = _BEND / zoom * np.where((high >= 0), high, 1.0)"):
        "what does not move is nowhere off its chord",
    ("kernels/event_driven/doubtful.py", "if (miss <= np.inf):"):
        "no limit is above infinity",
}  # fmt: skip


# So is a wider band of a full matrix, or a narrower one above its diagonal: rows are exchanged.
_BAND = re.compile(
    r"lu_(?:factor|solve)\([\w.]+, (\w+), (?:\1 - 1, (?:\(\1 \+ 1\)|\1 - 2)|\(\1 \+ 1\), \1 - 1), "
)
# And what asks for the place of a tangent among the rows of contacts: it is never 0.
_PLACE = re.compile(r"\b(t|s|r|place\[\w+\]) (?:> 0|>= 1|<= 0|< 1)(?![\w.])")


def equivalent(file: str, line: str) -> bool:
    """Whether no test can kill the mutant of a file that has this line."""
    place = file.startswith("kernels/friction/") and _PLACE.search(line) is not None
    return place or _BAND.search(line) is not None or (file, line) in EQUIVALENT


class Mutant(NamedTuple):
    """One changed expression of a file."""

    file: str
    line: int
    before: str
    after: str
    source: str  # of the whole file

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.before}  ->  {self.after}"


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
    """Whether a number is small, or known, or called so, or a sum or multiple of such a number."""
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


# -- which tests ----------------------------------------------------------------------------------


def module_of(path: Path) -> str:
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    return name.removesuffix(".__init__")


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


def public(path: Path) -> set[str]:
    """Return what a file offers to users: the names that it defines and a package exports."""
    nodes = ast.parse(path.read_text("utf-8")).body
    names = {n.name for n in nodes if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    return {name for name in names if not name.startswith("_")}


class Rooms:
    """Which tests concern a file."""

    def __init__(self) -> None:
        self.files = {module_of(p): p for p in (ROOT / "explorer").rglob("*.py")}
        self.wants = {name: imports(path) for name, path in self.files.items()}
        tests = [*(ROOT / "tests").glob("test_*.py")]
        self.tests = {path: (path.read_text("utf-8"), imports(path)) for path in tests}
        self.users: dict[str, set[str]] = {}
        for name, wanted in self.wants.items():
            for other in wanted & {*self.files}:
                self.users.setdefault(other, set()).add(name)

    def direct(self, module: str) -> dict[Path, int]:
        """Return how often test files import a module or name what it offers by `ex.`."""
        names = sorted(public(self.files[module]))
        said = re.compile(rf"\bex\.(\w+\.)*({'|'.join(map(re.escape, names)) or '$^'})\b")
        offered = {f"explorer.{name}" for name in names}
        return {
            path: len(said.findall(text)) + 10 * any(
                name == module or name in offered or name.startswith(f"{module}.")
                for name in wanted
            )
            for path, (text, wanted) in self.tests.items()
        }  # fmt: skip

    def of(self, file: str) -> list[Path]:
        """Return the test files of a file of the project, those that name it most often first."""
        own = module_of(ROOT / "explorer" / file)
        folder = own.rpartition(".")[0] + "."
        room = {name for name in self.files if name.startswith(folder)}
        near = {name for name in self.users.get(own, ()) if name.startswith(folder)}
        seen, found = {own}, self.uncompiled(own)
        found += [path for path in self.called(own) if path not in found]
        found += [path for path in self.ordered({own}) if path not in found]
        for others in (near, set() if folder.startswith(KERNELS) else room):
            found += [path for path in self.ordered(others) if path not in found]
        level = self.users.get(own, set())
        while level and len(found) < FEW:  # of a kernel, up to the schemes that tests name
            seen |= level
            found += [path for path in self.ordered(level) if path not in found]
            level = {user for name in level for user in self.users.get(name, ())} - seen
        return found

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


# -- runs -----------------------------------------------------------------------------------------


def copied(folder: Path) -> Path:
    """Copy what tests need."""
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split("\0")  # fmt: skip
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    # found valid by its content, so what a change of a file leaves is never taken for another's
    compile_all = ["compileall", "-q", "--invalidation-mode", "checked-hash", "explorer"]
    subprocess.run([sys.executable, "-m", *compile_all], cwd=folder, check=True)
    return folder


def fails(copy: Path, kept: Path, names: list[str], seconds: float, *options: str) -> str:
    """Return the first test that fails, or an empty text."""
    paths = os.pathsep.join([str(copy), str(copy / "tests")])
    environment = {"PYTHONPATH": paths, "NONSMOOTH_EXPLORER_CACHE": str(kept)}
    environment |= {"PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    try:
        ran = subprocess.run(
            [*command, *options, "-m", "not browser and not quiet", *names], cwd=copy,
            env=os.environ | environment, capture_output=True, text=True, timeout=seconds,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "it does not end"
    failed = re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", ran.stdout, re.MULTILINE)
    if ran.returncode in (0, 5):
        return ""
    return failed[0] if failed else ran.stdout.strip().splitlines()[-1]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rooms", nargs="*", default=ROOMS, help="folders or files in explorer/")
    parser.add_argument("--number", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--most", type=int, default=8, help="test files that are run for one")
    parser.add_argument("--seconds", type=float, default=900, help="for the tests of one")
    parser.add_argument("--list", action="store_true", help="only say what would be changed")
    parser.add_argument("--out", type=Path, help="a file for a JSON line of each")
    asked = parser.parse_args(arguments)
    files = sorted(
        path for room in asked.rooms for base in [ROOT / "explorer" / room]
        for path in ([base] if base.is_file() else base.rglob("*.py"))
    )  # fmt: skip
    every = [m for path in files for m in mutants(path)]
    drawn = random.Random(asked.seed).sample(every, min(asked.number, len(every)))
    rooms, counts, sound = Rooms(), {"killed": 0, "survived": 0, "equivalent": 0}, {}
    with tempfile.TemporaryDirectory(dir=cache.directory().parent) as folder:
        copy = copied(Path(folder) / "copy")
        own = Path(folder) / "cache"  # in which what is there is found, and mutants stay
        shutil.copytree(cache.directory(), own, copy_function=os.link)
        for mutant in drawn:
            tests = rooms.of(mutant.file)[: asked.most]
            if asked.list:
                print(mutant, "|", " ".join(path.name for path in tests))
                continue
            began = time.monotonic()
            target = copy / "explorer" / mutant.file
            whole = target.read_text("utf-8")
            names = [path.relative_to(ROOT).as_posix() for path in tests]
            killer, ways = "", ([UNCOMPILED, ()] if mutant.file.startswith("kernels/") else [()])
            for way in ways if tests else ():
                target.write_text(mutant.source, "utf-8")
                killer = fails(copy, own, names, asked.seconds, *way)
                target.write_text(whole, "utf-8")
                if (killer, way) not in sound and killer.startswith("tests/"):
                    sound[killer, way] = fails(copy, own, [killer], asked.seconds, *way)
                if killer and not (way and sound.get((killer, way))):
                    break
            if sound.get((killer, ())):
                print(f"{mutant}: {killer} fails as the project stands", flush=True)
                continue
            line = mutant.source.splitlines()[mutant.line - 1].strip()
            result = "killed" if killer else "survived"
            if not killer and equivalent(mutant.file, line):
                result = "equivalent"
            counts[result] += 1
            print(f"{result:10} {mutant}  {killer}", flush=True)
            if asked.out:
                row = mutant._asdict() | {"result": result, "killer": killer, "text": line}
                row |= {"seconds": time.monotonic() - began, "tests": [p.name for p in tests]}
                with asked.out.open("a") as file:
                    file.write(json.dumps({k: v for k, v in row.items() if k != "source"}) + "\n")
    print(", ".join(f"{n} {name}" for name, n in counts.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
