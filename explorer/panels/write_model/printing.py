"""What was typed as mathematics: MathML, which browsers set themselves."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import sympy as sp
from sympy.printing.mathml import MathMLPresentationPrinter

from explorer.types import Value

__all__ = [
    "at_start",
    "cases",
    "column",
    "formula",
    "identifier",
    "line",
    "listed",
    "operator",
    "rate",
    "table",
    "words",
]

_LONGEST = 6000  # characters of one formula; a longer one would fill the screen
_SHOWN = 12  # formulas in a row
_VELOCITY = "v_"
_SIGNS = (
    ("&amp;InvisibleTimes;", "\u2062"),
    ("&InvisibleTimes;", "\u2062"),
    ("<mo>-<", "<mo>\u2212<"),
)


class _Printer(MathMLPresentationPrinter):  # type: ignore[misc]  # SymPy tells no types
    """Writes velocities as dotted coordinates, and cases with a brace."""

    def __init__(self, dotted: frozenset[str]) -> None:
        super().__init__({"mul_symbol": "&InvisibleTimes;"})
        self._dotted = dotted

    def _print_Symbol(self, symbol: sp.Symbol, style: str = "plain") -> object:
        if symbol.name not in self._dotted:
            return super()._print_Symbol(symbol, style)
        over = self.dom.createElement("mover")
        over.setAttribute("accent", "true")
        over.appendChild(super()._print_Symbol(sp.Symbol(symbol.name[len(_VELOCITY) :])))
        dot = self.dom.createElement("mo")
        dot.appendChild(self.dom.createTextNode("˙"))
        over.appendChild(dot)
        return over

    def _print_Piecewise(self, expr: sp.Piecewise) -> object:
        grid = self.dom.createElement("mtable")
        for value, when in expr.args:
            row = self.dom.createElement("mtr")
            for part in (value, when):
                cell = self.dom.createElement("mtd")
                if part == sp.true:
                    text = self.dom.createElement("mtext")
                    text.appendChild(self.dom.createTextNode("else"))
                    cell.appendChild(text)
                else:
                    cell.appendChild(self._print(part))
                row.appendChild(cell)
            grid.appendChild(row)
        whole = self.dom.createElement("mrow")
        brace = self.dom.createElement("mo")
        brace.appendChild(self.dom.createTextNode("{"))
        whole.appendChild(brace)
        whole.appendChild(grid)
        return whole

    def _print_Heaviside(self, expr: sp.Heaviside) -> object:
        return self._print(sp.Function("step")(expr.args[0]))


def formula(expr: Value | sp.Basic, velocities: Sequence[sp.Symbol] = ()) -> str:
    """Return MathML of an expression; the given symbols are written as dotted coordinates."""
    if not isinstance(expr, sp.Basic):
        expr = sp.sympify(expr)
    if expr.count_ops() > _LONGEST // 20:
        return words(f"… ({expr.count_ops()} operations)")
    printer = _Printer(frozenset(s.name for s in velocities))
    made = printer._print(expr)
    text: str = made.toxml()
    for old, new in _SIGNS:
        text = text.replace(old, new)
    return text


def identifier(name: str) -> str:
    """Return a name, its index below the line."""
    return formula(sp.Symbol(name))


def rate(name: str, dots: int = 1) -> str:
    """Return a name with one dot above it, or two."""
    mark = {1: "˙", 2: "¨"}[dots]
    return f'<mover accent="true">{identifier(name)}<mo>{mark}</mo></mover>'


def operator(sign: str) -> str:
    """Return a sign between formulas."""
    return f"<mo>{escape(sign)}</mo>"


def words(text: str) -> str:
    """Return text within a formula."""
    return f"<mtext>{escape(text)}</mtext>"


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return cells in brackets; a single one stands alone."""
    if len(rows) == 1 and len(rows[0]) == 1:
        return rows[0][0]
    return f"<mrow><mo>(</mo>{_grid(rows)}<mo>)</mo></mrow>"


def column(items: Sequence[str]) -> str:
    """Return a column in brackets."""
    return table([[item] for item in items])


def cases(rows: Sequence[Sequence[str]]) -> str:
    """Return lines one below the other, without brackets."""
    return _grid(rows)


def _grid(rows: Sequence[Sequence[str]]) -> str:
    cells = ("".join(f"<mtd>{cell}</mtd>" for cell in row) for row in rows)
    body = "".join(f"<mtr>{row}</mtr>" for row in cells)
    return f'<mtable displaystyle="true">{body}</mtable>'


def at_start(sign: str, value: object) -> str:
    """Return the value of a state at t = 0."""
    zero = '<mo stretchy="false">(</mo><mn>0</mn><mo stretchy="false">)</mo>'
    return f"{sign}{zero}{operator('=')}{formula(value)}"


def listed(parts: Sequence[str]) -> str:
    """Return formulas with commas between them; of very many the first ones."""
    most = [*parts[:_SHOWN], *(["<mo>…</mo>"] if len(parts) > _SHOWN else [])]
    return f"{operator(',')}<mspace width='0.6em'/>".join(most)


def line(*parts: str) -> str:
    """Return a whole formula."""
    return f'<math display="block"><mrow>{"".join(parts)}</mrow></math>'
