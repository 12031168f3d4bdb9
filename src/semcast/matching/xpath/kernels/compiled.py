"""How kernels are compiled.

Kernels own no memory: every array is the caller's. So reference counts are left out (``_nrt``), which numba would
take at each call for each array of each tuple; they were four fifths of the time of a document.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any
from zlib import crc32

from llvmlite import ir
from numba import njit, types
from numba.core.cgutils import get_or_insert_function
from numba.extending import intrinsic

_options: dict[str, Any] = {"_nrt": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True, "error_model": "numpy"}
_inner, _inlined = njit(**_options), njit(**_options, forceinline=True)
entry: Callable[[Any], Any] = njit(_nrt=False, no_cfunc_wrapper=True, error_model="numpy", cache=True)
"""For what is called from Python; compiled once per machine."""
_known: list[str] = []


def inner(function: Any) -> Any:
    """For what other kernels call: their machine code holds it."""
    _remember(function)
    return _inner(function)


def inlined(function: Any) -> Any:
    """As ``inner``, for what is called often and does little: a call takes along seven words for each array."""
    _remember(function)
    return _inlined(function)


def _remember(function: Any) -> None:
    assert isinstance(function, FunctionType)
    code, globals_ = function.__code__, function.__globals__
    constants = {name: globals_[name] for name in code.co_names if isinstance(globals_.get(name), int | float)}
    _known.append(f"{function.__name__} {code.co_code.hex()} {code.co_consts} {code.co_names} {constants}")


def _prefetch(_: Any, array: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, given[0]).data
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        function = get_or_insert_function(
            builder.module, ir.FunctionType(ir.VoidType(), [byte, word, word, word]), "llvm.prefetch.p0i8"
        )
        place = builder.bitcast(builder.gep(data, [given[1]]), byte)
        builder.call(function, [place, word(0), word(3), word(1)])  # for reading, to stay, of data
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


prefetch: Any = intrinsic(_prefetch)
"""``prefetch(array, index)``: have that element, counted through all rows, in the cache soon. Changes nothing."""


def fingerprint() -> int:
    """Of all inner kernels so far. numba's cache sees changes only in the file of an entry, and in its closure."""
    return crc32("".join(_known).encode())


@inner
def sort(values, begin, end):  # type: ignore[no-untyped-def]
    """``values[begin:end]`` ascending, in place (heapsort: numba's own needs memory)."""
    size = end - begin
    start = size // 2
    while size > 1:
        if start > 0:
            start -= 1
        else:
            size -= 1
            values[begin], values[begin + size] = values[begin + size], values[begin]
        parent = start
        moved = values[begin + parent]
        while 2 * parent + 1 < size:
            child = 2 * parent + 1
            if child + 1 < size and values[begin + child + 1] > values[begin + child]:
                child += 1
            if values[begin + child] <= moved:
                break
            values[begin + parent] = values[begin + child]
            parent = child
        values[begin + parent] = moved
