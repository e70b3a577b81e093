"""`@kernel`: compiled once per machine with an explicit signature, cached on disk.

A model enters a kernel as two integers, the C address of ``void f(double* out, const double* in,
void* data)`` and its data pointer, called by `call`. So a kernel never recompiles for a model.
numba does not notice an edited callee in another file, therefore the cache folder of a module is
named by a digest of its source and of all kernel sources that it imports. So it depends on nothing
else, and every copy of the same sources finds it.

Kernels are compiled when they are imported, so a scheme compiles what it calls, and no more.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numba
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.core import config as _config
from numba.core.caching import UserProvidedCacheLocator
from numba.core.dispatcher import Dispatcher
from numba.core.typing import Signature
from numba.extending import intrinsic

from explorer import cache
from explorer.errors import BadArgument
from explorer.kernels.linking import symbol
from explorer.kernels.structures import signature_of
from explorer.progress import show

__all__ = ["cache_statistics", "call", "helped", "is_warm", "kernel", "warm"]

config: Any = _config  # its attributes are made at import
_FOLDER = Path(__file__).parent
_WHAT = "Compiling once for this machine"
_OPTIONS = {  # of numba, while a kernel is compiled
    "CACHE_LOCATOR_CLASSES": f"{__name__}.CacheLocator",
    # most loops are short here: vector instructions take long to compile and gain little,
    # and so do loops that are unrolled, see `linking`
    "LOOP_VECTORIZE": 0,
}
_compiled: list[Dispatcher] = []
_all = False  # whether all kernels are wanted, not those of one import


class Inner(Dispatcher):
    """A kernel for other kernels: it has no Python wrapper, and a call without one is a crash."""

    def __call__(self, *args: object, **kwargs: object) -> None:
        function = self.py_func
        raise BadArgument(
            f"Only kernels can call {function.__name__} of {function.__module__}: it is `inner` or "
            "`inline`. Call it in a kernel decorated with `@kernel()`, which Python can call."
        )


class CacheLocator(UserProvidedCacheLocator):
    """Keeps kernels right in the folder named by their digest, wherever their sources lie."""

    @classmethod
    def get_suitable_cache_subpath(cls, py_file: str) -> str:
        """Return no folder of the path."""
        return ""


def _path(module: str) -> Path:
    """Return the source of a kernel module, named from this folder on: ``fesd.element``."""
    return _FOLDER.joinpath(*module.split(".")).with_suffix(".py")


def _source(module: str) -> str:
    return _path(module).read_text()


def _own_name(function: Callable) -> str:
    return function.__module__.removeprefix(f"{__package__}.")


@functools.cache
def _needs(module: str) -> frozenset[str]:
    """Return the kernel modules that a module imports, at any depth, and itself."""
    found = re.findall(r"^from explorer\.kernels\.([\w.]+) import", _source(module), re.MULTILINE)
    return frozenset({module}).union(*(_needs(name) for name in found))


@functools.cache
def _digest(modules: frozenset[str]) -> str:
    """Digest of the sources, of numba and of the target processor."""
    sources = [*map(_path, sorted({*modules, "linking"})), _FOLDER.parent / "codes.py"]
    text = b"".join(path.read_bytes() for path in sources)
    target = f"{numba.__version__}-{config.CPU_NAME}-{config.CPU_FEATURES}-{config.DISABLE_JIT}"
    target += str(_OPTIONS)
    return hashlib.sha256(text + target.encode()).hexdigest()[:16]


def _folder(module: str = "") -> Path:
    """Return the cache folder of a module, or, without one, of the mark that all are compiled."""
    modules = _needs(module) if module else frozenset([*_modules(), "jit"])
    return cache.directory(f"kernels-{_digest(modules)}")


def kernel(
    signature: Any = None, /, *, inner: bool = False, inline: bool = False, wide: bool = False
) -> Callable[[Callable], Any]:
    """Compile a function now, or load it from the cache.

    Its numba signature follows from its annotations, see `explorer.kernels.structures`.

    Parameters
    ----------
    signature : str or numba signature, optional
        Instead of annotations.
    inner : bool
        The function is called by other kernels only and needs no Python wrapper.
    inline : bool
        And is small: handing over a dozen arrays would cost more than the work.
    wide : bool
        Its loops run over hundreds of numbers, or over three each time, so vector instructions and
        unrolling are worth the longer compilation and the larger code. Without it loops have
        neither.
    """

    def decorate(function: Callable) -> Any:
        typed = signature_of(function) if signature is None else signature
        module = _own_name(function)
        wait = _wait(module, function.__name__)
        if wait:
            show(*wait, function.__name__, _WHAT)
        options: dict[str, Any] = {
            "nogil": True,
            "error_model": "numpy",
            # no reference counts: no kernel allocates, and counting costs as much as a step
            "_nrt": False,
        }
        if inner or inline:
            options |= {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
            options["forceinline"] = inline
        compiled = njit(**options)(function)
        if (inner or inline) and not config.DISABLE_JIT:
            compiled.__class__ = Inner
        load = functools.partial(_load, compiled, typed, module, wide)
        if inline and not wait:
            _load_for_callers(compiled, load)
        else:
            load()
        _compiled.append(compiled)
        if wait:
            show(wait[0] + 1, wait[1], function.__name__, _WHAT)
        return compiled

    return decorate


def _load(compiled: Dispatcher, typed: str | Signature, module: str, wide: bool) -> None:
    """Load a kernel from the folder of its module, or compile it into there."""
    name = f"{module}.{compiled.py_func.__name__}"
    for retried in (False, True):
        folder = _folder(module)
        before = {name: getattr(config, name) for name in ("CACHE_DIR", *_OPTIONS)}
        vars(config).update(_OPTIONS, CACHE_DIR=str(folder), LOOP_VECTORIZE=int(wide))
        try:
            with symbol(f"{folder.name}.{name}"):
                compiled.enable_caching()
                compiled.compile(typed)
            compiled.disable_compile()
            return
        except Exception:  # a damaged index raises whatever pickle pleases
            if retried:
                raise
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            vars(config).update(before)


def _load_for_callers(compiled: Any, load: Callable[[], None]) -> None:
    """Load an inline kernel of the cache when a caller is compiled: others hold its code."""
    ask = compiled.get_call_template

    def loaded(args: tuple, kws: dict) -> tuple:
        compiled.get_call_template = ask
        load()
        return ask(args, kws)

    compiled.get_call_template = loaded


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


@functools.cache
def _modules() -> list[str]:
    found = pkgutil.walk_packages([str(_FOLDER)], f"{__package__}.")
    names = (m.name.removeprefix(f"{__package__}.") for m in found if not m.ispkg)
    return [name for name in names if name not in ("jit", "linking")]


def _wait(module: str, name: str) -> tuple[int, int] | None:
    """Return (done, total) of what is being imported, or None for a kernel that is in the cache."""
    if any(_folder(module).glob(f"{_path(module).stem}.{name}-*.nbi")):
        return None
    begun = (  # a module stands in sys.modules before those that it imports
        key.removeprefix(f"{__package__}.")
        for key, one in list(sys.modules.items())
        if key.startswith(f"{__package__}.")
        and getattr(one.__spec__, "_initializing", False)
        and not hasattr(one, "__path__")
    )
    needed = frozenset(_modules()) if _all else _needs(next(begun, module))
    done = sum(_own_name(one) in needed for one in _compiled)
    return done, sum(map(_count, needed))


@functools.cache
def _count(module: str) -> int:
    return len(re.findall(r"^@(?:kernel|by_reference)\b", _source(module), re.MULTILINE))


def is_warm() -> bool:
    """Whether all kernels of these sources have been compiled on this machine before."""
    return (_folder() / "complete").exists()


def warm(*, backwards: bool = False) -> None:
    """Compile or load every kernel."""
    global _all
    _all = True
    for module in _modules()[:: -1 if backwards else 1]:
        importlib.import_module(f"explorer.kernels.{module}")
    (_folder() / "complete").touch()


@contextmanager
def helped() -> Iterator[None]:
    """Let a second process compile all kernels from the other end, as long as this lasts.

    What one process has compiled the other only loads. It gives way to everything else.
    """
    other = None
    if (os.cpu_count() or 1) > 1 and not cache.notice():
        code = f"import os; getattr(os, 'nice', int)(10); import {__name__} as jit; "
        other = subprocess.Popen(
            [sys.executable, "-c", f"{code}jit.warm(backwards=True)"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    try:
        yield
    finally:
        if other is not None:
            other.kill()
            other.wait()


def cache_statistics() -> dict[str, tuple[int, int]]:
    """Return ``{kernel: (loaded from the cache, compiled anew)}`` of this process."""
    return {
        function.py_func.__qualname__: (
            sum(function.stats.cache_hits.values()),
            sum(function.stats.cache_misses.values()),
        )
        for function in _compiled
    }
