"""Frames as bytes and back, however a connection cuts the bytes.

``decode`` and ``Decoder`` give the structs that role machines know. ``view`` and ``ViewDecoder`` leave what brokers
pass on in its bytes: Data as DataView, Leg as LegView. Whatever comes in, FrameError is all that they raise, and memory
stays within a constant factor of what came.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any, Generic, NamedTuple, TypeVar, get_args

import msgspec

from semcast.protocol.wire.data_codec import check_columns, encode_data
from semcast.protocol.wire.data_view import DataView
from semcast.protocol.wire.frames import AnyFrame, Data, Leg, Repair
from semcast.protocol.wire.framing import CONTROL, DATA, LEG, PREFIX, FrameError, Held, prefix, whole


class LegView(NamedTuple):
    """A Leg with the bytes that it came in, to be sent on as they are."""

    data: bytes
    leg: Leg


AnyView = AnyFrame | DataView | LegView
"""What a broker reads: control frames as they are, the rest in its bytes."""

F = TypeVar("F")
_SPECIAL = frozenset({Data, Leg, Repair, DataView, LegView})
_encoder = msgspec.msgpack.Encoder()
_leg = msgspec.msgpack.Decoder(Leg)
# Data and Leg have kinds of their own; as control frames they would come in unchecked.
_control: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(
    reduce(or_, (frame for frame in get_args(AnyFrame) if frame not in (Data, Leg)))
)


def encode(frame: AnyView) -> bytes:
    """The frame with its prefix; of a view, the bytes that it was read from.

    FrameError where the frame is longer than MAX_FRAME, holds an integer of more than 64 bits, or contradicts itself.
    """
    kind = CONTROL
    if type(frame) in _SPECIAL:
        if isinstance(frame, Data):
            return encode_data(frame)
        if isinstance(frame, DataView | LegView):
            return frame.data
        _check(frame)
        kind = LEG if isinstance(frame, Leg) else CONTROL
    try:
        content = _encoder.encode(frame)
    except (OverflowError, UnicodeEncodeError) as error:
        raise FrameError(f"{type(frame).__name__} cannot be sent: {error}") from error
    return prefix(len(content), kind) + content


def decode(data: bytes) -> AnyFrame:
    """The one frame that these bytes are."""
    if len(data) < PREFIX.size or whole(data, 0) != len(data):
        raise FrameError(f"{len(data)} bytes are not one frame")
    return _frame(data)


def view(data: bytes) -> AnyView:
    """As ``decode``, but Data and Leg stay in their bytes."""
    if len(data) < PREFIX.size or whole(data, 0) != len(data):
        raise FrameError(f"{len(data)} bytes are not one frame")
    return _view(data)


class _Pieces(Generic[F]):
    """Take a connection's bytes in, piece by piece, and give out whole frames, the same wherever the bytes are cut."""

    def __init__(self) -> None:
        self.held = Held()
        """What of a frame has come; whoever reads on has to know it."""

    def feed(self, data: bytes | bytearray | memoryview) -> list[F]:
        """The frames that end within these bytes. A FrameError has in ``frames`` those that ended before the fault."""
        frames: list[F] = []
        data = self.held.together(data)
        try:
            self._read_all(data, frames)
        except FrameError as error:
            self.held.broke(error)
            error.frames = frames
            raise
        return frames

    def end(self) -> None:
        """Nothing more comes: FrameError if a frame had begun."""
        self.held.end()

    def _read_all(self, data: bytes, frames: list[F]) -> None:
        at, size = 0, len(data)
        while size - at >= PREFIX.size:
            end = at + whole(data, at, self.held.most)
            if end > size:
                break
            frames.append(self._read(data[at:end]))
            at = end
        if at < size:
            self.held.keep(data, at)

    @staticmethod
    def _read(data: bytes) -> F:
        raise NotImplementedError


def _frame(data: bytes) -> AnyFrame:
    return DataView(data).frame() if data[5] == DATA else _packed(data)


def _view(data: bytes) -> AnyView:
    if data[5] == DATA:
        return DataView(data)
    frame = _packed(data)
    return LegView(data, frame) if isinstance(frame, Leg) else frame


def _packed(data: bytes) -> AnyFrame:
    """A frame in msgpack; what stands behind the fields that this version knows is skipped."""
    try:
        frame: AnyFrame = (_leg if data[5] == LEG else _control).decode(data[PREFIX.size :])
    except (ValueError, RecursionError) as error:
        raise FrameError(f"a frame that makes no sense: {error}") from error
    if type(frame) in _SPECIAL:
        _check(frame)
    return frame


def _check(frame: AnyView) -> None:
    """Refuse numbered messages that contradict themselves, before they are sent as when they come."""
    if isinstance(frame, Leg | Repair):
        check_columns(frame.numbers, len(frame.bodies))
    if isinstance(frame, Leg) and len(frame.keys) != len(frame.bodies):
        raise FrameError(f"{len(frame.bodies)} messages with {len(frame.keys)} lists of trees")


class Decoder(_Pieces[AnyFrame]):
    """Frames as structs."""

    _read = staticmethod(_frame)


class ViewDecoder(_Pieces[AnyView]):
    """Frames as brokers read them. Everything is checked as a Decoder does; bodies of Data are not touched."""

    _read = staticmethod(_view)
