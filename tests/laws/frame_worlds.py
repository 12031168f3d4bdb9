"""Frames of every kind, as laws make them up, and what connections may do to their bytes."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import msgspec
from hypothesis import strategies as st

from semcast.protocol.wire.codec import encode
from semcast.protocol.wire.frames import AnyFrame, Data, Leg, Repair

NUMBERS = st.one_of(st.integers(0, 40), st.integers(0, 2**64 - 1))
"""Of messages: close to each other, or anywhere."""


def values(kind: Any) -> st.SearchStrategy[Any]:
    """Any value of a type that frames are made of, within what it may be."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        limits = inner[1]
        if inner[0] is int:
            return st.integers(limits.ge, limits.le)
        if inner[0] is float:
            least = limits.ge if limits.ge is not None else limits.gt
            return st.floats(least, limits.le, exclude_min=limits.gt is not None)
        return values(inner[0])  # lengths are far above what is made here
    if origin in (Union, types.UnionType):
        return st.one_of([values(one) for one in inner])
    if origin is tuple and inner[-1] is Ellipsis:
        return st.lists(values(inner[0]), max_size=4).map(tuple)
    if origin is tuple:
        return st.tuples(*[values(one) for one in inner])
    if origin is dict:
        return st.dictionaries(values(inner[0]), values(inner[1]), max_size=4)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return SPECIAL[kind]() if kind in SPECIAL else built(kind)
    simple = {
        int: st.integers(-(2**63), 2**64 - 1),
        float: st.floats(allow_nan=False),
        bool: st.booleans(),
        str: st.text(max_size=12),
        bytes: st.binary(max_size=12),
        type(None): st.none(),
    }
    return simple[kind]


def built(kind: type[msgspec.Struct]) -> st.SearchStrategy[Any]:
    hints = get_type_hints(kind, include_extras=True)
    return st.builds(kind, **{name: values(hints[name]) for name in kind.__struct_fields__})


def bodies(count: int) -> st.SearchStrategy[tuple[bytes, ...]]:
    return st.lists(st.binary(max_size=12), min_size=count, max_size=count).map(tuple)


def ascending(max_size: int = 6) -> st.SearchStrategy[tuple[int, ...]]:
    return st.sets(NUMBERS, max_size=max_size).map(lambda found: tuple(sorted(found)))


def masks(gateways: int) -> st.SearchStrategy[int]:
    """Of few gateways, of many, of none."""
    few = st.sets(st.integers(0, gateways - 1), max_size=3).map(lambda found: sum(1 << gateway for gateway in found))
    return st.one_of(few, st.integers(0, (1 << gateways) - 1), st.just((1 << gateways) - 1))


GATEWAYS = st.sampled_from([1, 7, 8, 9, 63, 64, 65, 120, 256, 257, 300, 1000])


@st.composite
def data_frames(draw: st.DrawFn) -> Data:
    numbers = draw(ascending(8))
    held = draw(bodies(len(numbers)))
    key = draw(st.tuples(st.text(max_size=6), st.integers(0, 2**64 - 1)))
    some = None
    if draw(st.integers(0, 4)):
        mask = masks(draw(GATEWAYS))
        some = tuple(draw(mask) for _ in numbers)
    frame = Data(key, draw(st.integers(0, 2**64 - 1)), draw(st.text(max_size=6)), numbers, some, held)
    return repeated(frame, draw(st.sampled_from([1, 1, 1, 40]))) if numbers and numbers[-1] < 2**32 else frame


def repeated(frame: Data, times: int) -> Data:
    """A longer frame of the same messages: many at once go other ways."""
    step = frame.numbers[-1] + 1
    numbers = tuple(step * turn + number for turn in range(times) for number in frame.numbers)
    some = None if frame.masks is None else frame.masks * times
    return msgspec.structs.replace(frame, numbers=numbers, masks=some, bodies=frame.bodies * times)


@st.composite
def legs(draw: st.DrawFn) -> Leg:
    numbers = draw(ascending())
    leg: Leg = draw(built(Leg))
    keys = tuple(draw(st.lists(values(tuple[str, int]), max_size=3).map(tuple)) for _ in numbers)
    return msgspec.structs.replace(leg, numbers=numbers, keys=keys, bodies=draw(bodies(len(numbers))))


@st.composite
def repairs(draw: st.DrawFn) -> Repair:
    numbers = draw(ascending())
    return Repair(draw(values(str)), draw(values(int)), numbers, draw(bodies(len(numbers))))


SPECIAL: dict[type[msgspec.Struct], Callable[[], st.SearchStrategy[Any]]] = {
    Data: data_frames,
    Leg: legs,
    Repair: repairs,
}
ANY: st.SearchStrategy[AnyFrame] = values(AnyFrame)


@st.composite
def cuts(draw: st.DrawFn, data: bytes) -> list[bytes]:
    """The same bytes in pieces, some of them empty."""
    places = sorted(draw(st.lists(st.integers(0, len(data)), max_size=12)))
    if len(data) < 400 and draw(st.booleans()):
        places = list(range(len(data)))
    return [data[first:last] for first, last in zip([0, *places], [*places, len(data)], strict=True)]


@st.composite
def damaged(draw: st.DrawFn, frames: st.SearchStrategy[Any]) -> bytes:
    """Frames with bytes changed, put in or taken out."""
    data = bytearray(b"".join(map(encode, draw(st.lists(frames, min_size=1, max_size=2)))))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.one_of(st.integers(0, min(80, len(data))), st.integers(0, len(data))))
        out = draw(st.sampled_from([0, 1, 1, 1, 4]))
        data[at : at + out] = draw(st.one_of(st.binary(min_size=out, max_size=out), st.binary(max_size=4)))
    if draw(st.booleans()):  # with a right length, so that the content is looked at
        data[:4] = (max(2, len(data) - 4)).to_bytes(4, "little")
    return bytes(data)
