"""A kernel is compiled by itself, and its callers find it by a name that never changes."""

from __future__ import annotations

import re

import numba
import pytest

from explorer.kernels import jit, linking
from explorer.kernels.complementarity import lcp
from explorer.kernels.fesd import equilibrate
from explorer.kernels.linear_algebra import dense_lu
from explorer.kernels.structures import signature_of
from explorer.kernels.time_stepping import newmark_linear


def compiled(kernel):
    """Return what numba keeps of a kernel."""
    return next(iter(kernel.overloads.values()))


def copied(kernel):
    """Return the functions that a caller of this kernel takes into its own code."""
    module = compiled(kernel).library._get_module_for_linking()
    return [function.name for function in module.functions if not function.is_declaration]


def test_callers_take_no_copy_of_an_inner_kernel():
    assert copied(lcp.cascade) == copied(lcp.enumerate_) == copied(dense_lu.lu_factor) == []


def test_callers_take_a_copy_of_an_inline_kernel():
    lcp.solve_one.get_call_template(signature_of(lcp.solve_one.py_func).args, {})
    names = copied(lcp.solve_one)
    assert any("solve_one" in name for name in names)


def test_loops_are_vectors_and_unrolled_only_where_a_kernel_asks_for_it():
    """As its option `wide` does; the loops of both run over all coordinates.

    LLVM names the blocks before, in and behind an unrolled loop ``prol``, ``unr`` and ``epil``.
    """
    texts = []
    for kernel in (newmark_linear.predict, newmark_linear.to_equilibrium):
        kernel.get_call_template(signature_of(kernel.py_func).args, {})
        texts.append(str(compiled(kernel).library._get_module_for_linking()))
    assert [" x double>" in text for text in texts] == [True, False]
    assert [bool(re.search(r"\.(prol|unr|epil)\b", text)) for text in texts] == [True, False]


def test_numba_compiles_what_is_not_ours_as_it_always_does():
    """Its passes are put back behind each kernel, so a user's loops are unrolled."""

    @numba.njit("void(float64[::1], float64[::1], int64)")
    def far_from(a, b, n):
        for i in range(n):
            a[i] = b[a.size - i] * a[i]

    assert re.search(r"\.(prol|unr|epil)\b", next(iter(far_from.inspect_llvm().values())))


@pytest.mark.parametrize("kernel", [lcp.cascade, lcp.solve, equilibrate.phase])
def test_the_symbol_follows_from_the_sources(kernel):
    """So a caller of the cache finds what another process has compiled."""
    function = kernel.py_func
    module = jit._own_name(function)
    unique = f"{jit._folder(module).name}.{module}.{function.__name__}"
    about = compiled(kernel).fndesc
    assert about.uid == linking.number_of(unique)
    tags = f"B{len(str(about.uid)) + 1}v{about.uid}"
    whole = about.llvm_func_name.partition(tags)
    assert whole[0].endswith(function.__name__)
    assert whole[1]
    assert not {"array", "Record"} & {*re.findall("array|Record", whole[2])}
