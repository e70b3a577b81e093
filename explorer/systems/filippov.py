"""`FilippovSystem`: x' in the convex hull of the fields f_i whose regions touch x.

Regions are where functions c_j(t, x) have given signs: rows of a matrix S in {-1, 0, 1} or logical
expressions (Nurkanovic et al. 2023, eq. (3)-(8), table I corrected). Several subsystems add up:
x' = sum_k sum_i f_ki theta_ki, each with functions and regions of its own. As a step system
theta_i is the indicator of its region, multilinear in alpha; Stewart's form has theta itself.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import sympy as sp

from explorer.arguments import entries, items
from explorer.errors import BadModel, suggest
from explorer.parameters import Param
from explorer.quantities import many
from explorer.systems import display
from explorer.systems.expressions import text
from explorer.systems.regions import Region, Subsystem, Switching
from explorer.systems.rewriting import multilinear
from explorer.systems.signals import signal_names
from explorer.systems.sketch import Shape
from explorer.systems.step import StepSystem
from explorer.types import Formulas, FormulaVector, Plain, Settings, Value

__all__ = ["FilippovSystem"]

Regions: TypeAlias = Iterable[str | Iterable[int] | int]  # rows of S
_MOST = 10  # switching functions of one subsystem: their signs are listed


class FilippovSystem(StepSystem):
    """A piecewise smooth system, convexified.

    Parameters
    ----------
    name : str
    x, units, params, start, sketch, text :
        As for `StepSystem`.
    modes, c, S :
        The first subsystem, as for `subsystem`.
    subsystems : iterable of dict, optional
        Arguments of `subsystem`, in order.

    Attributes
    ----------
    subsystems : tuple of Subsystem

    Raises
    ------
    BadModel
        If shapes do not fit, S has a zero row, or regions overlap or do not cover the space; the
        message gives a point.

    Examples
    --------
    >>> import explorer as ex
    >>> relay = ex.FilippovSystem("relay", x="x", c=["x"], S=[[1], [-1]],
    ...                           modes={"right": ["-1"], "left": ["1"]})
    >>> relay.f
    (1 - 2*alpha_1,)
    """

    kind = "Filippov system"

    def __init__(
        self,
        name: str,
        x: str | Sequence[str],
        *,
        modes: Mapping[str, FormulaVector] | None = None,
        c: Formulas | Sequence[Value] = (),
        S: Regions | None = None,
        subsystems: Iterable[Settings] = (),
        params: Mapping[str, Param | float] | None = None,
        start: Settings | None = None,
        sketch: Iterable[Shape] = (),
        units: str | Sequence[str] = "",
        text: str = "",
    ) -> None:
        super().__init__(name, x, params=params, units=units, text=text)
        self.subsystems: tuple[Subsystem, ...] = ()
        if modes is not None:
            self.subsystem(modes, c, S)
        example = 'dict(modes={"right": [...], "left": [...]}, c=["x"])'
        for one in items(subsystems, f"subsystems of '{name}'", Mapping):
            self.subsystem(**entries(one, self.subsystem, f"A subsystem of '{name}'", example))
        self._begin(start)
        self._draw(sketch)

    @property
    def signals(self) -> tuple[str, ...]:
        """The multipliers of the regions, such as theta_left."""
        return signal_names("theta", (r.name for s in self.subsystems for r in s.regions))

    def subsystem(
        self,
        modes: Mapping[str, FormulaVector],
        c: Formulas | Sequence[Value],
        S: Regions | None = None,
    ) -> Subsystem:
        """Add regions, each with its field; x' is the sum over the subsystems.

        Parameters
        ----------
        modes : mapping of str to field
            The field of each region by its name: x' as a vector, or ``{state: formula}``, where
            the others are zero.
        c : mapping of str to formula, or sequence of formulas
            Switching functions; the set c > 0 has the name of its function (c1, c2, ...).
        S : sequence
            For each region a row of signs, 1 (c > 0), -1 (c < 0) or 0 (either), or a logical
            expression of the names of `c`: ``A & B``, ``A | B``, ``A - B``, ``~A``. By default
            c > 0 and c < 0 for two modes and one function.

        Raises
        ------
        BadModel
            As for the system.
        """
        here, before = f"regions of '{self.name}'", self.switches
        listed = () if isinstance(c, Mapping) else items(c, f"{here}: c", str, sp.Expr)
        named = list(c.items()) if isinstance(c, Mapping) else [("", one) for one in listed]
        if not named or len(named) > _MOST:
            raise BadModel(f"{here} need 1 to {_MOST} switching functions; {len(named)} are given.")
        if not isinstance(modes, Mapping):
            raise BadModel(
                f"{here}: modes = {modes!r} needs names, such as "
                '{"inside": [...], "outside": [...]}.'
            )
        if S is None and len(named) == 1 and len(modes) == 2:
            S = [[1], [-1]]
        if isinstance(S, str) or not isinstance(S, (Iterable, type(None))):
            raise BadModel(f"{here}: S = {S!r} needs a row for each mode, such as [[1], [-1]].")
        rows = [] if S is None else list(S)
        if len(rows) != len(modes):
            raise BadModel(
                f"{here}: S has {many(len(rows), 'row')}, but there "
                f"{'is' if len(modes) == 1 else 'are'} {many(len(modes), 'mode')}. "
                "Each mode needs one row."
            )
        try:
            alphas = [self.switch(function, name=label) for label, function in named]
            labels = [s.name for s in self.switches[-len(named) :]]
            if not all(map(str.isidentifier, labels)):
                raise BadModel(f"{here}: name its functions c by identifiers, not {labels}.")
            regions, inside = [], []
            for (label, field), row in zip(modes.items(), rows, strict=True):
                what = f"region {label!r} of '{self.name}'"
                where, holds = _region(row, labels, what)
                corners = list(itertools.product((0, 1), repeat=len(named)))
                inside.append([holds(dict(zip(labels, corner, strict=True))) for corner in corners])
                if not any(inside[-1]):
                    raise BadModel(f"{what}: {where} holds nowhere. Remove or correct it.")
                theta = _theta(inside[-1], corners, alphas)
                zero = (sp.Integer(0),) * self.n
                value = self._vector(field, f"field of {label!r}", zero)
                corner = next(filter(None, (self._corner(f, what) for f in value)), None)
                if corner is not None:
                    raise BadModel(
                        f"{what}: its field is not smooth, because it contains {corner}. Give that "
                        "regions of its own, or use a StepSystem."
                    )
                regions.append(Region(str(label), value, where, theta))
            subsystem = Subsystem(
                len(before), len(named), tuple(regions), self._cells(regions, inside, before)
            )
        except BadModel:
            self.switches = before
            raise
        self.subsystems = (*self.subsystems, subsystem)
        total = [sp.Integer(0)] * self.n
        for region in (r for s in self.subsystems for r in s.regions):
            total = [a + region.theta * b for a, b in zip(total, region.field, strict=True)]
        StepSystem.f.fset(self, total)  # type: ignore[attr-defined]
        return subsystem

    def _cells(
        self,
        regions: Sequence[Region],
        inside: Sequence[Sequence[bool]],
        before: Sequence[Switching],
    ) -> tuple[int, ...]:
        """Return the region of each pattern of signs; refuse overlaps and gaps with a point."""
        count = len(self.switches) - len(before)
        corners = list(itertools.product((0, 1), repeat=count))
        cells, wrong = [-1] * 2**count, {}
        for k, corner in enumerate(corners):
            bits = sum(bit << j for j, bit in enumerate(corner))
            owners = [i for i, holds in enumerate(inside) if holds[k]]
            if len(owners) == 1:
                cells[bits] = owners[0]
            else:
                wrong[bits] = owners
        for owners, point in self._points(wrong, len(before)):
            at = ", ".join(f"{k} = {v:.4g}" for k, v in point.items())
            if owners:
                both = " and ".join(repr(regions[i].name) for i in owners[:2])
                raise BadModel(f"The regions {both} of '{self.name}' overlap, as at {at}.")
            raise BadModel(
                f"The regions of '{self.name}' do not cover the space: none of them contains {at}."
            )
        return tuple(cells)

    def _points(
        self, wrong: Mapping[int, list[int]], first: int
    ) -> Iterator[tuple[list[int], dict[str, float]]]:
        """Yield the owners of each pattern that some state has, and such a state."""
        if not wrong:
            return
        from scipy.optimize import least_squares

        moving = [*self.x, self.t]
        rho = {sp.Symbol(k): p.value for k, p in self.parameters.items()}
        functions = [s.c.subs(rho) for s in self.switches[first:]]
        evaluate = sp.lambdify(moving, functions, "numpy")
        rng, n = np.random.default_rng(1), len(moving)
        scale = np.repeat([0.1, 1.0, 10.0, 100.0], 500)[:, None]
        sample = scale * rng.standard_normal((2000, n))
        sample[:, -1] = self.t_end * rng.random(2000)
        with np.errstate(all="ignore"):
            values = evaluate(*sample.T)
        values = np.array([np.broadcast_to(v, 2000) for v in values])
        for bits, owners in wrong.items():
            sides = np.array([1.0 if (bits >> j) & 1 else -1.0 for j in range(len(functions))])

            def short(p: np.ndarray, sides: np.ndarray = sides) -> np.ndarray:
                with np.errstate(all="ignore"):
                    c = np.array(evaluate(*p), float)
                missing = np.maximum(1e-3 - sides * c, 0.0)
                return np.asarray(np.nan_to_num(missing, nan=1e3))

            here = np.flatnonzero((values * sides[:, None] > 0).all(axis=0))
            tries = (
                [sample[here[0]]]
                if len(here)
                else [least_squares(short, p).x for p in (sample[500], sample[900], sample[1300])]
            )
            for p in tries:
                if (sides * np.array(evaluate(*p), float) > 0).all():
                    yield owners, dict(zip(self.coordinates, p, strict=False))
                    break

    def mode_name(self, signs: Sequence[int]) -> str:
        """Return the name of an active set: its regions, joined by a bar where it slides."""
        parts = []
        for s in self.subsystems:
            mine = signs[s.first : s.first + s.count]
            near = [
                s.cells[bits]
                for bits in range(2**s.count)
                if all(v == 0 or v == (1 if (bits >> j) & 1 else -1) for j, v in enumerate(mine))
            ]
            parts.append(" | ".join(s.regions[i].name for i in sorted({*near} - {-1})))
        return ", ".join(parts)

    def equations_markdown(self) -> str:
        """Return name, equations, parameters and start as Markdown."""
        return display.filippov(self, self.subsystems, self.switches)

    def to_spec(self) -> Plain:
        """Return everything that defines the system as plain data (JSON)."""
        return self._spec() | {
            "subsystems": [
                {
                    "modes": {r.name: [text(f) for f in r.field] for r in s.regions},
                    "c": {k.name: text(k.c) for k in self.switches[s.first : s.first + s.count]},
                    "S": [r.where for r in s.regions],
                }
                for s in self.subsystems
            ]
        }


def _region(
    row: str | Iterable[int] | int, names: Sequence[str], what: str
) -> tuple[str, Callable[[Mapping[str, int]], bool]]:
    """Return a region as text, and whether it holds a pattern ``{name: 0 or 1}``."""
    if not isinstance(row, str):
        signs = list(row) if isinstance(row, Iterable) else [row]
        if len(signs) != len(names) or any(s not in (-1, 0, 1) for s in signs):
            raise BadModel(
                f"{what}: its row of S must hold one entry (-1, 0 or 1) for each function "
                f"({', '.join(names)}), not {row!r}."
            )
        signs = [int(s) for s in signs]
        if not any(signs):
            raise BadModel(f"{what} has a row of zeros in S: it would be the whole space.")
        parts = [f"{'~' * (s < 0)}{n}" for s, n in zip(signs, names, strict=True) if s]
        row = " & ".join(parts)

    def walk(node: ast.AST, at: Mapping[str, int]) -> bool:
        match node:
            case ast.Expression(body=body):
                return walk(body, at)
            case ast.Name(id=name):
                return bool(at[name])
            case ast.UnaryOp(op=ast.Invert(), operand=inside):
                return not walk(inside, at)
            case ast.BinOp(left=left, op=ast.BitAnd(), right=right):
                return walk(left, at) & walk(right, at)
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                return walk(left, at) | walk(right, at)
            case ast.BinOp(left=left, op=ast.Sub(), right=right):
                return walk(left, at) & (not walk(right, at))
        raise BadModel(f"{what}: {row!r} is no expression of sets; A & B, A | B, A - B, ~A are.")

    try:
        tree = ast.parse(row.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise BadModel(f"{what}: {row!r} is no expression of sets (a bracket missing?).") from None
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id not in names:
            raise BadModel(f"{what}: there is no set {node.id!r}.{suggest(node.id, list(names))}")
    walk(tree, dict.fromkeys(names, 0))
    return row, lambda at: walk(tree, at)


def _theta(
    inside: Sequence[bool], corners: Sequence[Sequence[int]], alphas: Sequence[sp.Symbol]
) -> sp.Expr:
    """Return the indicator of a region; a product, eq. (8), if it is given by signs alone."""
    own = [corner for holds, corner in zip(inside, corners, strict=True) if holds]
    sides = [set(side) for side in zip(*own, strict=True)]
    if len(own) == 2 ** sum(len(side) == 2 for side in sides) and own:
        fixed = [(a, side) for a, side in zip(alphas, sides, strict=True) if len(side) == 1]
        return sp.prod([a if side == {1} else 1 - a for a, side in fixed])
    total = sp.Integer(0)
    for corner in own:
        total += sp.prod([a if k else 1 - a for k, a in zip(corner, alphas, strict=True)])
    return multilinear(total, alphas)
