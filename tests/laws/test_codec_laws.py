"""Frames as bytes: they come back as they were, however cut; garbage is refused, no more; links get their part."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from semcast.protocol.codec import AnyView, Decoder, LegView, ViewDecoder, decode, encode, view
from semcast.protocol.data_view import DataView, Links
from semcast.protocol.frames import AnyFrame, Data, Leg, Repair
from semcast.protocol.framing import FrameError

NUMBERS = st.one_of(st.integers(0, 40), st.integers(0, 2**64 - 1))
"""Of messages: close to each other, or anywhere."""


def values(kind: Any) -> st.SearchStrategy[Any]:
    """Any value of a type that frames are made of."""
    origin, inner = get_origin(kind), get_args(kind)
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
    hints = get_type_hints(kind)
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


def struct(found: AnyView) -> AnyFrame:
    """What a view is a view of."""
    if isinstance(found, DataView):
        return found.frame()
    return found.leg if isinstance(found, LegView) else found


@pytest.mark.parametrize("kind", get_args(AnyFrame), ids=lambda kind: kind.__name__)
@settings(max_examples=40)
@given(data=st.data())
def test_every_kind_of_frame_comes_back_as_it_was(kind: type[msgspec.Struct], data: st.DataObject) -> None:
    frame = data.draw(values(kind))
    encoded = encode(frame)
    assert decode(encoded) == frame
    seen = view(encoded)
    assert struct(seen) == frame
    assert encode(seen) == encoded


@given(frame=data_frames())
def test_the_columns_of_a_view_are_those_of_the_frame(frame: Data) -> None:
    found = DataView(encode(frame))
    assert (found.epoch, found.source, found.count) == (frame.epoch, frame.source, len(frame.numbers))
    assert found.numbers.tolist() == list(frame.numbers)
    assert tuple(bytes(body) for body in found.bodies) == frame.bodies
    assert found.masked == (frame.masks is not None)
    rows = found.masks
    if rows is None:
        assert frame.masks is None
    else:
        assert tuple(int.from_bytes(row.tobytes(), "little") for row in rows) == frame.masks


@st.composite
def cuts(draw: st.DrawFn, data: bytes) -> list[bytes]:
    """The same bytes in pieces, some of them empty."""
    places = sorted(draw(st.lists(st.integers(0, len(data)), max_size=12)))
    if len(data) < 400 and draw(st.booleans()):
        places = list(range(len(data)))
    return [data[first:last] for first, last in zip([0, *places], [*places, len(data)], strict=True)]


def read(decoder: Decoder | ViewDecoder, pieces: list[bytes]) -> tuple[list[AnyFrame], str | None]:
    """All frames of a connection, and how it ended if not well."""
    found: list[AnyFrame] = []
    try:
        for piece in pieces:
            found += map(struct, decoder.feed(piece))
        decoder.end()
    except FrameError as error:
        return found + [struct(frame) for frame in error.frames], str(error)
    return found, None


@given(data=st.data(), frames=st.lists(ANY, max_size=5))
def test_frames_are_the_same_wherever_the_bytes_are_cut(data: st.DataObject, frames: list[AnyFrame]) -> None:
    encoded = b"".join(map(encode, frames))
    pieces = data.draw(cuts(encoded))
    assert read(Decoder(), pieces) == (frames, None)
    assert read(ViewDecoder(), pieces) == (frames, None)


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


@settings(max_examples=400)
@example(data=None, damage=b"GET / HTTP/1.1\r\n\r\n")
@given(data=st.data(), damage=st.one_of(damaged(ANY), damaged(data_frames()), st.binary(max_size=80)))
def test_damage_ends_in_a_frame_error_or_in_frames_that_can_be_sent(data: st.DataObject | None, damage: bytes) -> None:
    pieces = [damage] if data is None else data.draw(cuts(damage))
    found, fault = read(Decoder(), pieces)
    assert repr(read(ViewDecoder(), [damage])) == repr((found, fault))  # as text: NaN is not itself
    for frame in found:
        assert repr(decode(encode(frame))) == repr(frame)


@given(data=st.data(), frame=data_frames(), link=masks(130))
def test_a_frame_of_another_encoder_is_narrowed_like_any_other(data: st.DataObject, frame: Data, link: int) -> None:
    encoded = bytearray(encode(frame))
    ends = len(encoded) - sum(map(len, frame.bodies))
    for _ in range(data.draw(st.integers(1, 3))):  # mostly in the columns: headers are soon refused
        at = data.draw(st.one_of(st.integers(6, ends - 1), st.integers(max(6, ends - 40), ends - 1)))
        encoded[at] = data.draw(st.one_of(st.integers(0, 8), st.integers(0, 255)))
    with contextlib.suppress(FrameError):
        found = DataView(bytes(encoded))
        narrowed = found.narrowed(link)
        assert (None if narrowed is None else decode(narrowed)) == by_hand(found.frame(), link)


def by_hand(frame: Data, link: int) -> Data | None:
    """What goes on over a link, one message after the other."""
    if frame.masks is None:
        return frame if frame.bodies else None
    held = zip(frame.numbers, frame.masks, frame.bodies, strict=True)
    kept = [(number, mask & link, body) for number, mask, body in held if mask & link]
    if not kept:
        return None
    numbers, some, left = zip(*kept, strict=True)
    return msgspec.structs.replace(frame, numbers=numbers, masks=some, bodies=left)


@given(data=st.data(), frame=data_frames())
def test_a_link_gets_what_it_would_get_by_hand_in_the_bytes_of_the_encoder(data: st.DataObject, frame: Data) -> None:
    found = DataView(encode(frame))
    links = data.draw(st.lists(GATEWAYS.flatmap(masks), max_size=5))
    parts = [by_hand(frame, link) for link in links]
    expected = [None if part is None else encode(part) for part in parts]
    assert found.split(Links(links)) == expected
    assert [found.narrowed(link) for link in links] == expected


@given(data=st.data(), frame=data_frames())
def test_a_frame_is_passed_on_itself_exactly_where_nothing_of_it_changes(data: st.DataObject, frame: Data) -> None:
    found = DataView(encode(frame))
    everybody = (1 << 1000) - 1
    links = [data.draw(GATEWAYS.flatmap(masks)), everybody, data.draw(masks(300))]
    for link, narrowed in zip(links, found.split(Links(links)), strict=True):
        assert (narrowed is found.data) == (by_hand(frame, link) == frame)
        assert found.narrowed(link) is found.data or narrowed is not found.data
