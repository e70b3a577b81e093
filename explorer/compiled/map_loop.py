"""The loop of a map as machine code, with its formulas inside: 10^8 iterates a second on a core.

A numba kernel would call the formulas by their address, and be compiled in seconds if they stood
in it. So the loop is written as LLVM assembly around them. Variants that keep rows or extremes are
loops of their own; those for many orbits run `WIDTH` side by side. Machine code is kept on disk
under a digest of its source.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import llvmlite.binding as llvm
import numpy as np
import sympy as sp

from explorer import cache
from explorer.compiled.llvm_code import Code
from explorer.errors import BadModel

__all__ = ["WIDTH", "Loop"]

WIDTH = 8  # orbits side by side, of which a processor has two or more in flight
_PLAIN, _ROWS, _BOUNDS = "plain", "rows", "bounds"
_VARIANTS = ((1, _PLAIN), (1, _ROWS), (WIDTH, _PLAIN), (WIDTH, _ROWS), (WIDTH, _BOUNDS))
Called: TypeAlias = Callable[..., None]
Branch: TypeAlias = "tuple[Sequence[sp.Expr], Sequence[sp.Expr]]"
_CALLED = ctypes.CFUNCTYPE(
    None, *[ctypes.c_void_p] * 3, ctypes.c_double, *[ctypes.c_void_p] * 4, *[ctypes.c_int64] * 2
)  # x, rho, count, bound, rows, sides, low, high, groups, bytes of the rows of one


class Loop:
    """The iterates of a map.

    Parameters
    ----------
    x, rho : sequence of sympy symbols
        States and parameters.
    lets : dict of str to sympy expression
        Formulas by the names that later ones use.
    branches : sequence of (f, when)
        The next state in each branch, and what is > 0 there.
    """

    def __init__(
        self,
        x: Sequence[sp.Symbol],
        rho: Sequence[sp.Symbol],
        lets: Mapping[str, sp.Expr],
        branches: Sequence[Branch],
    ) -> None:
        self.n, self.p = len(x), len(rho)
        parts: list[str] = []
        declared: set[str] = set()
        for width, what in _VARIANTS:
            text, used = _function(width, what, x, rho, lets, branches)
            parts.append(text)
            declared |= used
        self._engine, self._calls = _built("\n".join([*sorted(declared), *parts]))

    def one(self, x: np.ndarray, rho: np.ndarray, count: int, bound: float) -> int:
        """Iterate one orbit `count` times without a record.

        Parameters
        ----------
        x : (n,) float
            The state; replaced by the last one within the bound.
        rho : (p,) float
        count : int
        bound : float
            Largest size of a state that has not escaped.

        Returns
        -------
        int
            How many iterates stayed within the bound.
        """
        return self._one(_PLAIN, x, rho, count, bound)

    def rows(
        self, x: np.ndarray, rho: np.ndarray, bound: float, rows: np.ndarray, sides: np.ndarray
    ) -> int:
        """Iterate one orbit, and write its states into rows (k, n), its branches into (k,) int8."""
        return self._one(_ROWS, x, rho, len(rows), bound, rows, sides)

    def _one(
        self,
        what: str,
        x: np.ndarray,
        rho: np.ndarray,
        count: int,
        bound: float,
        *more: np.ndarray,
    ) -> int:
        done = np.array([count], np.int64)
        if count > 0:
            self._call(1, what, x, rho, done, bound, *more)
        return int(done[0])

    def many(
        self,
        x: np.ndarray,
        rho: np.ndarray,
        count: np.ndarray,
        bound: float,
        rows: np.ndarray | None = None,
        bounds: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> None:
        """Iterate groups of `WIDTH` orbits side by side; release the lock of Python.

        Parameters
        ----------
        x : (groups, n, WIDTH) float
            States; replaced by the last ones within the bound.
        rho : (groups, p, WIDTH) float
        count : (groups, WIDTH) int64
            How many iterates each takes, from 0; replaced by how many stayed within the bound.
        bound : float
        rows : (groups, k, n, WIDTH) float, optional
            The states, k the largest count; behind the end of an orbit its last state.
        bounds : two arrays (groups, n, WIDTH), optional
            The least and the largest values so far; extended.
        """
        if bounds is not None:
            self._call(WIDTH, _BOUNDS, x, rho, count, bound, None, None, *bounds)
        elif rows is not None:
            self._call(WIDTH, _ROWS, x, rho, count, bound, rows)
        else:
            self._call(WIDTH, _PLAIN, x, rho, count, bound)

    def _call(
        self,
        width: int,
        what: str,
        x: np.ndarray,
        rho: np.ndarray,
        count: np.ndarray,
        bound: float,
        *more: np.ndarray | None,
    ) -> None:
        given = [None if a is None else a.ctypes.data for a in more]
        given += [None] * (4 - len(given))
        call = self._calls[_name(width, what)]
        groups = count.size // width
        stride = 0 if not more or more[0] is None else more[0].nbytes // groups
        call(x.ctypes.data, rho.ctypes.data, count.ctypes.data, bound, *given, groups, stride)


def _name(width: int, what: str) -> str:
    return f"{what}_{width}"


def _function(
    width: int,
    what: str,
    x: Sequence[sp.Symbol],
    rho: Sequence[sp.Symbol],
    lets: Mapping[str, sp.Expr],
    branches: Sequence[Branch],
) -> tuple[str, set[str]]:
    """Return one variant of the loop, and the declarations that it needs."""
    code, n = Code(width), len(x)
    kind, mask = code.number, "i64" if width == 1 else f"<{width} x i64>"
    carried = ["x", "low", "high"] if what == _BOUNDS else ["x"]
    known = {s: f"%x_{k}" for k, s in enumerate(x)} | {s: f"%rho_{k}" for k, s in enumerate(rho)}
    for name, formula in lets.items():
        known[sp.Symbol(name)] = code.values([formula], known)[0]
    sided = width == 1 and what == _ROWS
    found = _next(code, branches, known, sided)
    go = _within(code, found[:n])
    _followed(code, found[:n], go, what)
    if sided:
        number = code.emit(f"fptosi double {found[n]} to i8")
        code.lines.append(
            f"  store i8 {number}, ptr {code.emit('getelementptr i8, ptr %sides, i64 %k')}"
        )
    again = _counted(code, go, mask)
    none = "0" if width == 1 else "zeroinitializer"
    phis = [
        f"  %{name}_{k} = phi {kind} [ %{name}0_{k}, %each ], [ %{name}1_{k}, %loop ]"
        for name in carried
        for k in range(n)
    ]
    arguments = ["ptr noalias %x", "ptr noalias %rho", "ptr noalias %count", "double %bound"]
    arguments += [f"ptr noalias %{name}" for name in ("rows", "sides", "low", "high")]
    lines = [
        f"define void @{_name(width, what)}({', '.join(arguments)}, i64 %groups, i64 %stride) {{",
        "entry:",
        "  br label %each",
        "each:",
        "  %g = phi i64 [ 0, %entry ], [ %g1, %exit ]",
        *_loaded(width, n, len(rho), carried),
        "  br label %loop",
        "loop:",
        "  %k = phi i64 [ 0, %each ], [ %k1, %loop ]",
        f"  %done = phi {mask} [ {none}, %each ], [ %done1, %loop ]",
        f"  %alive = phi {code.truth} [ %alive0, %each ], [ %alive1, %loop ]",
        *phis,
        *code.lines,
        f"  br i1 {again}, label %loop, label %exit",
        "exit:",
        *_stored(width, n, carried, go),
        f"  store {mask} %done1, ptr %count_g, align 8",
        "  %g1 = add i64 %g, 1",
        "  %another = icmp slt i64 %g1, %groups",
        "  br i1 %another, label %each, label %end",
        "end:",
        "  ret void",
        "}",
    ]
    return "\n".join(lines), code.declared


def _loaded(width: int, n: int, p: int, carried: Sequence[str]) -> list[str]:
    """Return what finds the place of a group, and loads its states, parameters and counts."""
    head = Code(width, "h")
    mask = "i64" if width == 1 else f"<{width} x i64>"
    sizes = dict.fromkeys(carried, n) | {"rho": p, "count": 1}
    for name, size in sizes.items():
        place = head.emit(f"mul i64 %g, {8 * width * size}")
        head.lines.append(f"  %{name}_g = getelementptr i8, ptr %{name}, i64 {place}")
    place = head.emit("mul i64 %g, %stride")
    head.lines.append(f"  %rows_g = getelementptr i8, ptr %rows, i64 {place}")
    for k in range(n):
        for name in carried:
            head.lines += _load(head.number, f"%{name}0_{k}", f"%{name}_g", 8 * width * k)
    for k in range(p):
        head.lines += _load(head.number, f"%rho_{k}", "%rho_g", 8 * width * k)
    head.lines += _load(mask, "%last", "%count_g", 0)
    none = "0" if width == 1 else "zeroinitializer"
    head.lines.append(f"  %alive0 = icmp slt {mask} {none}, %last")
    if width > 1:
        head.lines += _splat("double", "%bound", "%bounds", width)
    return head.lines


def _next(
    code: Code, branches: Sequence[Branch], known: Mapping[sp.Symbol, str], sided: bool
) -> list[str]:
    """Add the formulas of all branches; return the next state of the first one that holds.

    With `sided` the number of the branch follows it. (Cases of SymPy would write out conditions
    that have cases themselves, of which there may be very many.)
    """
    every = [e for f, when in branches for e in (*f, *when)]
    values, zero = iter(code.values(every, known)), code.constant(0.0)
    cases: list[tuple[list[str], str]] = []
    for k, (f, when) in enumerate(branches):
        own = [next(values) for _ in f] + ([code.constant(k)] if sided else [])
        holds = ""
        for value in [next(values) for _ in when]:
            more = code.emit(f"fcmp ogt {code.number} {value}, {zero}")
            holds = code.emit(f"and {code.truth} {holds}, {more}") if holds else more
        cases.append((own, holds))
    found = cases[-1][0]
    for own, holds in cases[-2::-1]:
        found = [code.select(holds, a, b) for a, b in zip(own, found, strict=True)]
    return found


def _within(code: Code, found: Sequence[str]) -> str:
    """Add what asks whether an orbit goes on: it is alive, and its next state within the bound."""
    bound = "%bound" if code.width == 1 else "%bounds"
    go = "%alive"
    for value in found:
        inside = code.emit(f"fcmp ole {code.number} {code.call('fabs', value)}, {bound}")
        go = code.emit(f"and {code.truth} {go}, {inside}")
    return go


def _followed(code: Code, found: Sequence[str], go: str, what: str) -> None:
    """Add the next states, where they are kept, and the extremes."""
    kind, n, width = code.number, len(found), code.width
    for k, value in enumerate(found):
        if width == 1:  # the loop ends where an orbit escapes; to ask would delay the next iterate
            code.lines.append(f"  %x1_{k} = bitcast {kind} {value} to {kind}")
        else:
            kept = f"{kind} {value}, {kind} %x_{k}"
            code.lines.append(f"  %x1_{k} = select {code.truth} {go}, {kept}")
        for name, how in (("low", "olt"), ("high", "ogt")) if what == _BOUNDS else ():
            beyond = code.emit(f"fcmp {how} {kind} %x1_{k}, %{name}_{k}")
            kept = f"{kind} %x1_{k}, {kind} %{name}_{k}"
            code.lines.append(f"  %{name}1_{k} = select {code.truth} {beyond}, {kept}")
        if what == _ROWS:
            row = code.emit(f"mul i64 %k, {8 * width * n}")
            place = code.emit(f"add i64 {row}, {8 * width * k}")
            to = code.emit(f"getelementptr i8, ptr %rows_g, i64 {place}")
            code.lines.append(f"  store {kind} %x1_{k}, ptr {to}, align 8")


def _counted(code: Code, go: str, mask: str) -> str:
    """Add the counts; return whether any orbit goes on."""
    passed = code.emit(f"zext {code.truth} {go} to {mask}")
    code.lines += [f"  %done1 = add {mask} %done, {passed}", "  %k1 = add i64 %k, 1"]
    at, width = "%k1", code.width
    if width > 1:
        code.lines += _splat("i64", "%k1", "%at", width)
        at = "%at"
    more = code.emit(f"icmp slt {mask} {at}, %last")
    code.lines.append(f"  %alive1 = and {code.truth} {go}, {more}")
    if width == 1:
        return "%alive1"
    code.declared.add(f"declare i1 @llvm.vector.reduce.or.v{width}i1({code.truth})")
    return code.emit(f"call i1 @llvm.vector.reduce.or.v{width}i1({code.truth} %alive1)")


def _stored(width: int, n: int, carried: Sequence[str], go: str) -> list[str]:
    """Return what stores the last states; of one orbit those before its escape."""
    kind = "double" if width == 1 else f"<{width} x double>"
    lines = []
    for name in carried:
        for k in range(n):
            value = f"%{name}1_{k}"
            if width == 1:
                value = f"%{name}2_{k}"
                lines.append(f"  {value} = select i1 {go}, double %{name}1_{k}, double %{name}_{k}")
            lines += _store(kind, value, f"%{name}_g", 8 * width * k)
    return lines


def _load(kind: str, name: str, pointer: str, offset: int) -> list[str]:
    place = f"{name}_at"
    return [
        f"  {place} = getelementptr i8, ptr {pointer}, i64 {offset}",
        f"  {name} = load {kind}, ptr {place}, align 8",
    ]


def _store(kind: str, value: str, pointer: str, offset: int) -> list[str]:
    place = f"{value}_to"
    return [
        f"  {place} = getelementptr i8, ptr {pointer}, i64 {offset}",
        f"  store {kind} {value}, ptr {place}, align 8",
    ]


def _splat(kind: str, value: str, name: str, width: int) -> list[str]:
    vector = f"<{width} x {kind}>"
    return [
        f"  {name}_one = insertelement {vector} undef, {kind} {value}, i32 0",
        f"  {name} = shufflevector {vector} {name}_one, {vector} undef, "
        f"<{width} x i32> zeroinitializer",
    ]


# -- machine code -----------------------------------------------------------------------------


@functools.cache
def _processor() -> tuple[str, str]:
    """Return the name of this processor and its features."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


def _machine() -> llvm.TargetMachine:
    """Return what compiles for this processor; an engine takes it for its own."""
    cpu, features = _processor()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=cpu, features=features, opt=3, jit=True)


def _built(text: str) -> tuple[object, dict[str, Called]]:
    """Return what keeps the machine code of a source alive, and its functions by name."""
    made_by = f"{llvm.llvm_version_info}|{_processor()}"
    key = hashlib.sha256(f"{made_by}\n{text}".encode()).hexdigest()[:32]
    native = cache.load(key, "maps")
    if native is None:
        try:
            module = llvm.parse_assembly(text)
            module.verify()
        except RuntimeError as error:
            raise BadModel(f"A formula cannot be compiled: {error}.") from None
        machine, options = _machine(), llvm.create_pipeline_tuning_options(speed_level=3)
        builder = llvm.create_pass_builder(machine, options)
        builder.getModulePassManager().run(module, builder)
        native = machine.emit_object(module)
        cache.store(key, native, "maps")
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(native))
    engine.finalize_object()
    calls: dict[str, Called] = {}
    for width, what in _VARIANTS:
        address = engine.get_function_address(_name(width, what))
        calls[_name(width, what)] = _CALLED(address)
    return (engine, native), calls
