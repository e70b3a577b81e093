"""Structures by reference: what a kernel hands to another one is an address, not every field.

numba hands a named tuple over field by field, an array as seven words. A kernel with `inner` or
`inline` of this module takes each of its structures as a pointer to it instead, and reads the
fields that it uses; so a structure may have any number of fields, and a call costs the same. A
field that is a structure is a pointer into the outer one. A kernel called from Python takes values,
and begins with ``problem = refer(problem)``; a structure made in a kernel is stored where it is
handed on.

No kernel changes a field or keeps an address, and LLVM is told so: it may read a field once though
kernels are called that take the structure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, get_type_hints

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.callconv import CPUCallConv
from numba.core.typeconv import Conversion
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    infer_getattr,
    intrinsic,
    lower_cast,
    lower_getattr_generic,
    models,
    register_model,
)

from explorer.kernels import jit
from explorer.kernels.structures import numba_type

__all__ = ["Reference", "kernel", "refer", "value_of"]


class Reference(types.Type):
    """The address of a named tuple."""

    def __init__(self, of: Any) -> None:
        self.of = of
        super().__init__(f"Reference({of})")

    def can_convert_from(self, typingctx: Any, other: types.Type) -> Any:
        """Say that a structure is taken by value: it is stored, and its address handed on."""
        return Conversion.safe if other == self.of else None


@register_model(Reference)
class _Pointer(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Reference) -> None:
        super().__init__(dmm, fe_type, dmm.lookup(fe_type.of).get_value_type().as_pointer())


def _field(reference: Reference, name: str) -> Any:
    """Return the type of a field: structures are references again."""
    kind = reference.of[reference.of.fields.index(name)]
    return Reference(kind) if isinstance(kind, types.BaseNamedTuple) else kind


@infer_getattr
class _Attributes(AttributeTemplate):
    key = Reference

    def generic_resolve(self, reference: Any, name: str) -> Any:  # type: ignore[override]
        return _field(reference, name) if name in reference.of.fields else None


@lower_getattr_generic(Reference)
def _load(context: Any, builder: Any, reference: Reference, address: Any, name: str) -> Any:
    place = cgutils.gep_inbounds(builder, address, 0, reference.of.fields.index(name))
    return place if isinstance(_field(reference, name), Reference) else builder.load(place)


@lower_cast(types.BaseNamedTuple, Reference)
def _store(context: Any, builder: Any, value: Any, reference: Any, stored: Any) -> Any:
    return cgutils.alloca_once_value(builder, stored)


def _value_of(typingctx: Any, reference: Reference) -> Any:
    """Return the structure itself, all of it."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(arguments[0])

    return reference.of(reference), codegen


def _refer(typingctx: Any, value: types.BaseNamedTuple) -> Any:
    """Return the address of a structure, stored once."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return cgutils.alloca_once_value(builder, arguments[0])

    return Reference(value)(value), codegen


def _tell_llvm(named: Callable[..., None]) -> Callable[..., None]:
    """Return what names the arguments of a function, and says that nobody changes a structure."""

    def decorate(
        self: CPUCallConv,
        fn: ir.Function,
        args: Sequence[str],
        kinds: Sequence[types.Type],
        noalias: bool = False,
    ) -> None:
        named(self, fn, args, kinds, noalias)
        references = {
            f"arg.{name}"
            for name, kind in zip(args, kinds, strict=True)
            if isinstance(kind, Reference)
        }
        for argument in fn.args:
            if argument.name in references:
                # llvmlite does not know all that LLVM does
                for attribute in ("captures(none)", "noalias", "readonly"):
                    set.add(argument.attributes, attribute)

    return decorate


CPUCallConv.decorate_function = _tell_llvm(CPUCallConv.decorate_function)  # type: ignore[method-assign]

value_of: Any = intrinsic(_value_of)
refer: Any = intrinsic(_refer)


def _by_reference(function: Callable) -> Any:
    """Return the signature that the annotations of a kernel tell, with structures by reference."""
    hints = get_type_hints(function, include_extras=True)
    code = function.__code__
    kinds = [numba_type(hints[name]) for name in code.co_varnames[: code.co_argcount]]
    takes = [Reference(kind) if isinstance(kind, types.BaseNamedTuple) else kind for kind in kinds]
    return numba_type(hints.get("return", type(None)))(*takes)


def kernel(
    *, inner: bool = False, inline: bool = False, wide: bool = False
) -> Callable[[Callable], Any]:
    """Compile as `explorer.kernels.jit.kernel` does; what kernels call takes references."""

    def decorate(function: Callable) -> Any:
        signature = _by_reference(function) if inner or inline else None
        return jit.kernel(signature, inner=inner, inline=inline, wide=wide)(function)

    return decorate
