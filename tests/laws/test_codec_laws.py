"""Frames as bytes: they come back as they were, however cut; garbage is refused, no more; links get their part."""

from __future__ import annotations

import contextlib
from typing import get_args

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from semcast.protocol.wire.codec import AnyView, Decoder, LegView, ViewDecoder, decode, encode, view
from semcast.protocol.wire.data_view import DataView, Links
from semcast.protocol.wire.frames import AnyFrame, Data
from semcast.protocol.wire.framing import FrameError
from tests.laws.frame_worlds import ANY, GATEWAYS, cuts, damaged, data_frames, masks, values


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
