"""Words and blocks of bytes in arrays, for compiled loops: one instruction where a loop over bytes would take many.

Nothing is checked: who calls has made sure that the bytes are there. Bytes of a word lie as the machine has them, which
is the lowest first on all that numba compiles for.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic


def _place(context: Any, builder: Any, kind: Any, array: Any, at: Any) -> Any:
    held = context.make_array(kind)(context, builder, array)
    return builder.gep(held.data, [at])


def _load(bits: int) -> Any:
    def typed(_: Any, array: Any, at: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place = _place(context, builder, signature.args[0], *arguments)
            word = builder.load(builder.bitcast(place, ir.IntType(bits).as_pointer()), align=1)
            return builder.zext(word, ir.IntType(64)) if bits < 64 else word

        return types.uint64(array, types.int64), code

    return intrinsic(typed)


def _store(bits: int) -> Any:
    def typed(_: Any, array: Any, at: Any, value: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place = _place(context, builder, signature.args[0], *arguments[:2])
            word = builder.trunc(arguments[2], ir.IntType(bits)) if bits < 64 else arguments[2]
            builder.store(word, builder.bitcast(place, ir.IntType(bits).as_pointer()), align=1)
            return context.get_dummy_value()

        return types.void(array, types.int64, types.uint64), code

    return intrinsic(typed)


def _copy(_: Any, out: Any, at: Any, data: Any, first: Any, size: Any) -> Any:

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        to = _place(context, builder, signature.args[0], *arguments[:2])
        of = _place(context, builder, signature.args[2], *arguments[2:4])
        cgutils.raw_memcpy(builder, to, of, arguments[4], 1)
        return context.get_dummy_value()

    return types.void(out, types.int64, data, types.int64, types.int64), code


load2, load4, load8 = _load(16), _load(32), _load(64)
"""(array, at): an unsigned number of so many bytes, as one of 64 bits."""
store1, store2, store4, store8 = _store(8), _store(16), _store(32), _store(64)
"""(array, at, value): write the lowest bytes of a number."""
copy = intrinsic(_copy)
"""(out, at, data, first, size): copy bytes between arrays that do not overlap."""
