"""`@kernel`: compiled once per machine with an explicit signature, cached on disk.

A model enters a kernel as two integers, the C address of ``void f(double* out, const double* in,
void* data)`` and its data pointer, called by `call`. So a kernel never recompiles for a model.
numba does not notice an edited callee in another file, therefore the cache folder of a module is
named by a digest of its source and of all kernel sources that it imports. So it depends on nothing
else, and every copy of the same sources finds it.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import pkgutil
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.core import config as _config
from numba.core.caching import UserProvidedCacheLocator
from numba.extending import intrinsic

from explorer import cache

__all__ = ["cache_statistics", "call", "is_warm", "kernel", "warm"]

config: Any = _config  # its attributes are made at import
_FOLDER = Path(__file__).parent
_compiled: list[Any] = []
_listeners: list[Callable[[str], None]] = []


class CacheLocator(UserProvidedCacheLocator):
    """Keeps kernels right in the folder named by their digest, wherever their sources lie."""

    @classmethod
    def get_suitable_cache_subpath(cls, py_file: str) -> str:
        """Return no folder of the path."""
        return ""


@functools.cache
def _needs(module: str) -> frozenset[str]:
    """Return the kernel modules that a module imports, at any depth, and itself."""
    text = (_FOLDER / f"{module}.py").read_text()
    found = re.findall(r"^from explorer\.kernels\.(\w+) import", text, re.MULTILINE)
    return frozenset({module}).union(*(_needs(name) for name in found))


@functools.cache
def _digest(modules: frozenset[str]) -> str:
    """Digest of the sources, of numba and of the target processor."""
    sources = [*(_FOLDER / f"{name}.py" for name in sorted(modules)), _FOLDER.parent / "status.py"]
    text = b"".join(path.read_bytes() for path in sources)
    target = f"{numba.__version__}-{config.CPU_NAME}-{config.CPU_FEATURES}-{config.DISABLE_JIT}"
    return hashlib.sha256(text + target.encode()).hexdigest()[:16]


def _folder(module: str = "") -> Path:
    """Return the cache folder of a module, or, without one, of the mark that all are compiled."""
    modules = _needs(module) if module else frozenset([*_modules(), "jit"])
    return cache.directory(f"kernels-{_digest(modules)}")


def kernel(
    signature: str, *, inner: bool = False, inline: bool = False
) -> Callable[[Callable], Any]:
    """Compile a function for `signature` now, or load it from the cache.

    Parameters
    ----------
    signature : str
        numba signature; arrays and scalars only.
    inner : bool
        The function is called by other kernels only and needs no Python wrapper.
    inline : bool
        And is small: handing over a dozen arrays would cost more than the work.
    """

    def decorate(function: Callable) -> Any:
        for listener in _listeners:
            listener(function.__name__)
        options: dict[str, Any] = {
            "nogil": True,
            "error_model": "numpy",
            "cache": True,
            # no reference counts: no kernel allocates, and counting costs as much as a step
            "_nrt": False,
        }
        if inner or inline:
            options |= {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
            options["forceinline"] = inline
        folder = functools.partial(_folder, function.__module__.rpartition(".")[2])
        before = config.CACHE_DIR, config.CACHE_LOCATOR_CLASSES
        config.CACHE_DIR = str(folder())
        config.CACHE_LOCATOR_CLASSES = f"{__name__}.{CacheLocator.__name__}"
        try:
            compiled = njit(signature, **options)(function)
        except Exception:  # a damaged index raises whatever pickle pleases
            shutil.rmtree(folder(), ignore_errors=True)
            config.CACHE_DIR = str(folder())
            compiled = njit(signature, **options)(function)
        finally:
            config.CACHE_DIR, config.CACHE_LOCATOR_CLASSES = before
        _compiled.append(compiled)
        return compiled

    return decorate


def _call(typingctx, address, data, out, inp):
    """Call the C function at `address`: ``f(out, inp, data)``; `out` and `inp` are float64[::1]."""
    signature = types.void(types.int64, types.int64, out, inp)

    def codegen(context, builder, sig, args):
        double = ir.DoubleType().as_pointer()
        anything = ir.IntType(8).as_pointer()
        function = ir.FunctionType(ir.VoidType(), [double, double, anything]).as_pointer()
        pointers = [
            context.make_array(kind)(context, builder, value).data
            for kind, value in zip(sig.args[2:], args[2:], strict=True)
        ]
        builder.call(
            builder.inttoptr(args[0], function), [*pointers, builder.inttoptr(args[1], anything)]
        )
        return cgutils.get_null_value(context.get_value_type(types.void).as_pointer())

    return signature, codegen


call: Any = intrinsic(_call)


def _modules() -> list[str]:
    return [m.name for m in pkgutil.iter_modules([str(_FOLDER)]) if m.name != "jit"]


@functools.cache
def _seen() -> bool:
    return (_folder() / "complete").exists()


def is_warm() -> bool:
    """Whether all kernels of these sources have been compiled on this machine before."""
    return bool(_compiled) or _seen()


def warm(progress: Callable[[int, int, str], None] | None = None) -> None:
    """Compile or load every kernel; `progress` is called with (done, total, name)."""
    total = sum(
        len(re.findall(r"^@kernel\(", (_FOLDER / f"{m}.py").read_text(), re.MULTILINE))
        for m in _modules()
    )

    def count(name: str) -> None:
        if progress is not None:
            progress(len(_compiled), total, name)

    _listeners.append(count)
    try:
        for module in _modules():
            importlib.import_module(f"explorer.kernels.{module}")
    finally:
        _listeners.remove(count)
    if progress is not None:
        progress(total, total, "")
    (_folder() / "complete").touch()


def cache_statistics() -> dict[str, tuple[int, int]]:
    """Return ``{kernel: (loaded from the cache, compiled anew)}`` of this process."""
    return {
        function.py_func.__qualname__: (
            sum(function.stats.cache_hits.values()),
            sum(function.stats.cache_misses.values()),
        )
        for function in _compiled
    }
