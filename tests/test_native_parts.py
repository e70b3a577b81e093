"""Machine code that kernels are given piece by piece: each piece is built and called by itself."""

from __future__ import annotations

import ctypes
from typing import NamedTuple

import numpy as np
from llvmlite import binding, ir
from loops import for_each
from numba import float64, int64, types, uint8
from numba.core.registry import cpu_target
from plain import space

from explorer.kernels import jit, memory, references, stored
from explorer.kernels.model import sampled_forcing
from explorer.kernels.structures import numba_type
from explorer.kernels.time_stepping import shared_march

WORD, NUMBER, ANYTHING = ir.IntType(64), ir.DoubleType(), ir.IntType(8).as_pointer()
C = {WORD: ctypes.c_int64, NUMBER: ctypes.c_double}
context = cpu_target.target_context
context.refresh()
kept: list = []  # engines, as long as their code is called


def native(result, kinds, build):
    """Return a C function of words and numbers whose code `build` writes with a builder."""
    module = ir.Module()
    module.triple = binding.get_process_triple()
    function = ir.Function(module, ir.FunctionType(result or ir.VoidType(), kinds), "piece")
    builder = ir.IRBuilder(function.append_basic_block())
    value = build(builder, function.args)
    builder.ret(value) if result else builder.ret_void()
    machine = binding.Target.from_default_triple().create_target_machine()
    engine = binding.create_mcjit_compiler(binding.parse_assembly(str(module)), machine)
    engine.finalize_object()
    kept.append(engine)
    code = engine.get_function_address("piece")
    return ctypes.CFUNCTYPE(C.get(result), *[C[kind] for kind in kinds])(code)


def at(array) -> int:
    return array.ctypes.data


def loaded(builder, word, kind):
    """Return what stands at an address."""
    return builder.load(builder.inttoptr(word, context.get_value_type(kind).as_pointer()))


def written(array, kind) -> np.ndarray:
    """Return the words by which compiled code knows an array."""
    shape, strides = array.shape, array.strides
    words = [0, 0, array.size, array.itemsize, at(array), *shape, *strides]
    assert 8 * len(words) == context.get_abi_sizeof(context.get_value_type(kind))
    return np.array(words, np.int64)


@for_each(("maker", "sizes"), [("_vector", (3,)), ("_integers", (4,)), ("_matrix", (2, 5)), ("_table", (3, 2))])  # fmt: skip
def test_memory_behind_a_pointer_is_an_array(maker, sizes):
    floats = np.arange(20.0)
    signature, codegen = getattr(memory, maker)(None, types.CPointer(float64), int64, *[int64] * len(sizes))  # fmt: skip
    kind = signature.return_type
    assert (kind.ndim, kind.layout) == (len(sizes), "C")
    assert kind.dtype == (int64 if maker in ("_integers", "_table") else float64)
    assert len(signature.args) == 2 + len(sizes)

    def build(builder, args):
        out, begin, *rest = args
        begin = builder.inttoptr(begin, NUMBER.as_pointer())
        value = codegen(context, builder, signature, [begin, *rest])
        builder.store(value, builder.inttoptr(out, value.type.as_pointer()))

    words = np.full(12, -1)
    native(None, [WORD] * (3 + len(sizes)), build)(at(words), at(floats), 6, *sizes)
    array = floats[6 : 6 + np.prod(sizes)].reshape(sizes)
    expected = written(array, kind)
    assert words[: len(expected)].tolist() == expected.tolist()
    assert set(words[len(expected) :]) == {-1}


def test_words_stand_at_their_address():
    signature, codegen = memory._pointer(None, int64)
    assert signature == types.CPointer(types.int64)(types.int64)

    def build(builder, args):
        words = codegen(context, builder, signature, args[:1])
        return builder.load(builder.gep(words, [args[1]]))

    words = np.array([3, 1, 4, 1, 5])
    found = native(WORD, [WORD, WORD], build)
    assert [found(at(words), k) for k in range(5)] == [3, 1, 4, 1, 5]


def listening(*kinds):
    """Return a C function that keeps what it is called with, its address, and what it keeps."""
    said: list = []
    function = ctypes.CFUNCTYPE(ctypes.c_int32, *kinds)(lambda *given: said.append(given) or 7)
    return function, ctypes.cast(function, ctypes.c_void_p).value, said


def test_a_model_is_called_with_its_data_behind_what_it_writes_and_reads():
    pointer = types.CPointer(float64)
    signature, codegen = sampled_forcing._forward(None, int64, int64, pointer, pointer)
    assert signature == types.void(int64, int64, pointer, pointer)

    def build(builder, args):
        given = [*args[:2], *(builder.inttoptr(x, NUMBER.as_pointer()) for x in args[2:])]
        codegen(context, builder, signature, given)

    _kept, address, said = listening(*[ctypes.c_int64] * 3)
    native(None, [WORD] * 4, build)(address, 11, 22, 33)
    assert said == [(22, 33, 11)]


def test_a_function_is_called_with_the_memory_of_arrays():
    kind = float64[::1]
    signature, codegen = jit._call(None, int64, int64, kind, kind)
    assert signature == types.void(int64, int64, kind, kind)

    def build(builder, args):
        arrays = [loaded(builder, x, kind) for x in args[2:]]
        codegen(context, builder, signature, [*args[:2], *arrays])

    _kept, address, said = listening(*[ctypes.c_int64] * 3)
    out, inp = np.zeros(2), np.zeros(3)
    arrays = [written(array, kind) for array in (out, inp)]
    native(None, [WORD] * 4, build)(address, 11, *map(at, arrays))
    assert said == [(at(out), at(inp), 11)]


class Pair(NamedTuple):
    n: int
    x: float


PAIR, BYTES = numba_type(Pair), uint8[::1]


@for_each("room", [0, 15, 16, 17, 40])
def test_a_structure_is_stored_where_there_is_room(room):
    signature, codegen = stored._store(None, BYTES, PAIR)
    assert signature == types.int64(BYTES, PAIR)

    def build(builder, args):
        array, value = loaded(builder, args[0], BYTES), loaded(builder, args[1], PAIR)
        return codegen(context, builder, signature, [array, value])

    memory = np.full(48, 255, np.uint8)
    value = np.zeros(2)
    value[1], value[:1].view(np.int64)[0] = 0.25, 12
    array = written(memory[:room], BYTES)
    assert native(WORD, [WORD, WORD], build)(at(array), at(value)) == 16
    there = memory[:16].tobytes() == value.tobytes()
    assert there == (room >= 16)
    assert set(memory[16 if there else 0 :]) == {255}


def test_the_address_of_a_stored_structure_is_that_of_its_memory():
    signature, codegen = stored._stored(None, BYTES, space(instance_class=Pair))
    assert signature.return_type == references.Reference(PAIR)
    memory = np.zeros(16, np.uint8)

    def build(builder, args):
        place = codegen(context, builder, signature, [loaded(builder, args[0], BYTES)])
        assert place.type == context.get_value_type(PAIR).as_pointer()
        return builder.ptrtoint(place, WORD)

    array = written(memory, BYTES)
    assert native(WORD, [WORD], build)(at(array)) == at(memory)


def test_a_march_is_called_with_the_addresses_of_its_structures():
    """Its status is what it writes at the first address that it is given."""
    signature, codegen = shared_march._go_on(None, *[int64] * 4)
    assert signature == types.int64(*[int64] * 4)
    said: list = []

    def march(status, excuse, *parts):
        said.append(parts)
        status[0] = 5
        return 0

    word, pointer = ctypes.c_int64, ctypes.POINTER(ctypes.c_int64)
    function = ctypes.CFUNCTYPE(ctypes.c_int32, pointer, ctypes.c_void_p, word, word, word)(march)
    found = native(WORD, [WORD] * 4, lambda b, args: codegen(context, b, signature, args))
    assert found(ctypes.cast(function, ctypes.c_void_p).value, 11, 22, 33) == 5
    assert said == [(11, 22, 33)]


def test_bytes_are_copied_and_cleared():
    source, target = np.arange(1, 10, dtype=np.uint8), np.full(9, 99, np.uint8)
    signature, codegen = shared_march._copy(None, int64, int64, int64)
    assert signature == types.void(int64, int64, int64)
    build = lambda b, args: codegen(context, b, signature, args) and None  # noqa: E731
    native(None, [WORD] * 3, build)(at(target), at(source), 5)
    assert target.tolist() == [1, 2, 3, 4, 5, 99, 99, 99, 99]
    signature, clearing = shared_march._clear(None, int64, int64)
    assert signature == types.void(int64, int64)
    build = lambda b, args: clearing(context, b, signature, args) and None  # noqa: E731
    native(None, [WORD] * 2, build)(at(target), 3)
    assert target.tolist() == [0, 0, 0, 4, 5, 99, 99, 99, 99]


def test_the_address_of_a_structure_is_a_number():
    signature, codegen = shared_march._address_of(None, references.Reference(PAIR))
    assert signature.return_type == int64

    def build(builder, args):
        place = builder.inttoptr(args[0], context.get_value_type(PAIR).as_pointer())
        return codegen(context, builder, signature, [place])

    assert native(WORD, [WORD], build)(12345) == 12345


def test_a_structure_is_taken_by_its_address_and_by_value():
    """`refer` stores it once, `value_of` loads it."""
    _, storing = references._refer(None, PAIR)
    _, loading = references._value_of(None, references.Reference(PAIR))

    def build(builder, args):
        value = loaded(builder, args[0], PAIR)
        again = loading(context, builder, None, [storing(context, builder, None, [value])])
        builder.store(again, builder.inttoptr(args[1], again.type.as_pointer()))

    one, other = np.array([1.5, 2.5]), np.zeros(2)
    native(None, [WORD, WORD], build)(at(one), at(other))
    assert other.tolist() == [1.5, 2.5]


@for_each(("count", "notice", "helps"), [(2, "", True), (1, "", False), (None, "", False), (2, "no", False)])  # fmt: skip
def test_a_second_process_compiles_as_long_as_it_helps(monkeypatch, count, notice, helps):
    said: list[str] = []

    def begin(command, **given):
        said.append("begins" if "warm(backwards=True)" in command[-1] else command[-1])
        return space(kill=lambda: said.append("ends"), wait=lambda: said.append("has ended"))

    monkeypatch.setattr(jit.os, "cpu_count", lambda: count)
    monkeypatch.setattr(jit.cache, "notice", lambda: notice)
    monkeypatch.setattr(jit.subprocess, "Popen", begin)
    with jit.helped():
        assert said == ["begins"] * helps
    assert said == ["begins", "ends", "has ended"] * helps
