"""Each kernel is compiled by itself: its callers refer to its symbol and take no copy of its code.

numba copies what a function calls, at any depth, into the module of the caller, and optimises all
of it again. Our kernels call each other ten deep, so that most of their compilation was spent on
copies. Here a kernel with `inner` is a symbol of the process; only `inline` kernels are copied. A
caller in the cache must find the symbol, whatever process has compiled the callee: so its name
follows from the sources alone, where numba counts the functions and record types of a process.

LLVM does not unroll loops here unless it also makes them work on vectors. Most of our loops are
short, and their copies would make the code of a step larger than the processor's cache of
instructions: an event-driven step with sensitivities takes a quarter less time without them.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator
from contextlib import contextmanager

import llvmlite.binding as llvm
from numba.core import codegen as code_generation
from numba.core.bytecode import FunctionIdentity
from numba.core.codegen import JITCodeLibrary
from numba.core.cpu import CPUContext
from numba.core.registry import cpu_target

__all__ = ["number_of", "symbol"]

_OURS = "_ZN8explorer7kernels"  # how the names of our functions begin
# A numba that has no such parts compiles as it always does: slower, to the same code.
_CAN = all(
    hasattr(part, name)
    for part, name in (
        (FunctionIdentity, "_unique_ids"),
        (JITCodeLibrary, "_get_module_for_linking"),
        (CPUContext, "mangler"),
        (code_generation, "create_pass_builder"),
        (llvm, "create_pipeline_tuning_options"),
    )
)


def number_of(kernel: str) -> int:
    """Return what stands in the symbol of a kernel where numba has its count of functions."""
    return int(hashlib.sha256(kernel.encode()).hexdigest()[:12], 16)


class _Library(JITCodeLibrary):
    """The code of a function; a caller gets none of it where it is a symbol."""

    def _get_module_for_linking(self) -> llvm.ModuleRef:
        self._ensure_finalized()
        if self._shared_module is None and self._is_symbol():
            nothing = self._codegen._create_empty_module(self.name)
            self._shared_module = llvm.parse_assembly(str(nothing))
        return super()._get_module_for_linking()

    def _is_symbol(self) -> bool:
        """Whether this is one of our kernels, without a wrapper for Python and not `inline`."""
        own = [
            function
            for function in self._final_module.functions
            if not function.is_declaration and function.linkage == llvm.Linkage.external
        ]
        return (
            len(own) == 1
            and own[0].name.startswith(_OURS)
            and not any(b"alwaysinline" in attributes for attributes in own[0].attributes)
        )


def _passes(
    machine: llvm.TargetMachine,
    opt: int = 2,
    loop_vectorize: bool = False,
    slp_vectorize: bool = False,
) -> llvm.PassBuilder:
    """Return the passes of numba for a level of optimisation, with unrolling only of vectors."""
    tuning = llvm.create_pipeline_tuning_options(opt)
    tuning.slp_vectorization = slp_vectorize
    tuning.loop_vectorization = tuning.loop_unrolling = bool(loop_vectorize)
    return llvm.create_pass_builder(machine, tuning)


@contextmanager
def symbol(kernel: str) -> Iterator[None]:
    """Compile or load a function as the symbol that its unique name gives."""
    if not _CAN:
        yield
        return
    context, number = cpu_target.target_context, number_of(kernel)
    codegen, counts = context.codegen(), FunctionIdentity._unique_ids
    library, names = codegen._library_class, context.mangler
    passes = code_generation.create_pass_builder

    def name(qualified: str, kinds: tuple, *, abi_tags: tuple = (), uid: int | None = None) -> str:
        """Leave the types of arguments out of the name: a kernel has one signature."""
        return names(qualified, () if uid == number else kinds, abi_tags=abi_tags, uid=uid)

    codegen._library_class, context.mangler = _Library, name
    code_generation.create_pass_builder = _passes
    FunctionIdentity._unique_ids = itertools.count(number)
    try:
        yield
    finally:
        codegen._library_class, context.mangler = library, names
        code_generation.create_pass_builder = passes
        FunctionIdentity._unique_ids = counts
