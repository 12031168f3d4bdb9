"""Forwarding in bytes does what forwarding frame by frame does, wherever the bytes are cut and whatever they are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from semcast.model.message import Message, ProfileText, packed
from semcast.protocol.broker.broker import Broker
from semcast.protocol.broker.forwarding import Crossing
from semcast.protocol.broker.forwarding_kernels import is_text
from semcast.protocol.contract import Command, Local, Note, Passed, Received, Send
from semcast.protocol.results import MessagesShed
from semcast.protocol.wire.codec import Decoder, decode, encode
from semcast.protocol.wire.frames import AnyFrame, Beat, Data, Entry, Install, Key, Leg, Tally, TreeLink
from semcast.protocol.wire.framing import FrameError
from tests.laws.frame_worlds import cuts, damaged, data_frames, masks

ME = "m"
NEIGHBOURS = ("a", "b", "ç", "d")
KEYS: tuple[Key, ...] = (("c0", 1), ("c0", 2), ("längs", 1), ("filtered", 1))
FILTERED = KEYS[-1]
UNKNOWN: Key = ("nobody's", 1)
GATEWAYS = st.sampled_from([5, 64, 70, 300])


def mask(gateways: int) -> st.SearchStrategy[int]:
    return st.one_of(st.integers(1, (1 << gateways) - 1), st.just((1 << gateways) - 1), masks(gateways))


@st.composite
def links(draw: st.DrawFn, key: Key) -> tuple[TreeLink, ...]:
    names = draw(st.lists(st.sampled_from([*NEIGHBOURS, ME]), min_size=2, unique=True))
    if draw(st.integers(0, 9)) == 0:
        names += names[:1]
    if key == FILTERED:
        return tuple(TreeLink(name, None, draw(st.sampled_from([(0,), (1,), (0, 1)]))) for name in names)
    made = mask(draw(GATEWAYS)).map(lambda found: found.to_bytes(40, "little"))
    return tuple(TreeLink(name, draw(st.one_of(made, made, made, st.none()))) for name in names)


@st.composite
def entries(draw: st.DrawFn, key: Key) -> Entry:
    bit = draw(st.one_of(st.none(), st.sampled_from([0, 3, 66, 299])))
    profiles = (ProfileText("news", "topic", "a"), ProfileText("news", "topic", "b")) if key == FILTERED else ()
    return Entry(key, None, draw(links(key)), (), bit, False, profiles)


@st.composite
def installs(draw: st.DrawFn, revision: int) -> Install:
    left_out = draw(st.sets(st.sampled_from(KEYS), max_size=2))
    return Install(1, revision, tuple(draw(entries(key)) for key in KEYS if key not in left_out), ())


@st.composite
def data(draw: st.DrawFn, keys: tuple[Key, ...] = (KEYS[0], KEYS[0], *KEYS, UNKNOWN)) -> Data:
    key = draw(st.sampled_from(keys))
    if draw(st.booleans()):
        frame = msgspec.structs.replace(draw(data_frames()), key=key)
    else:
        masks = draw(st.one_of(mask(draw(GATEWAYS)).map(lambda found: (found,)), st.none()))
        frame = Data(key, 1, "s", (draw(st.integers(0, 99)),), masks, (draw(st.binary(max_size=12)),))
    if key == FILTERED:  # these are looked into
        bodies = tuple(packed(Message("news", body, draw(st.sampled_from("abc")))) for body in frame.bodies)
        frame = msgspec.structs.replace(frame, bodies=bodies)
    return frame


@st.composite
def others(draw: st.DrawFn) -> AnyFrame:
    """What comes between data: tallies, heartbeats, and new tables."""
    kind = draw(st.sampled_from(["tally", "beat", "leg", "install"]))
    if kind == "tally":
        counts = draw(st.dictionaries(st.integers(0, 299), st.integers(1, 9), max_size=3))
        return Tally(draw(st.sampled_from(KEYS)), 1, 0, 0, "s", 1, draw(st.integers(0, 99)), counts)
    if kind == "leg":
        return Leg(ME, 1, "s", (draw(st.integers(1, 3)),), ((draw(st.sampled_from(KEYS[:-1])),),), (b"leg",))
    return Beat(1.5) if kind == "beat" else draw(installs(draw(st.integers(2, 5))))


FRAMES = st.lists(st.one_of(data(), data(), data(), others()), max_size=8)


@dataclass
class Outcome:
    """All that a broker did: bytes per neighbour, what its gateway got, what was lost and why."""

    streams: dict[str, bytes] = field(default_factory=dict)
    local: list[Data | Tally] = field(default_factory=list)
    shed: dict[str, int] = field(default_factory=dict)
    dropped: list[dict[str, Any]] = field(default_factory=list)
    events: list[AnyFrame] = field(default_factory=list)
    fault: str | None = None

    def do(self, commands: Iterable[Command]) -> None:
        for command in commands:
            match command:
                case Passed(to, part, frames, messages):
                    assert (frames, messages) == sizes(part)
                    self.streams[to] = self.streams.get(to, b"") + part
                case Send(to, frame):
                    self.streams[to] = self.streams.get(to, b"") + encode(frame)
                case MessagesShed(to, messages):
                    self.shed[to] = self.shed.get(to, 0) + messages
                case Note("dropped", details):
                    self.dropped.append(details)

    def take(self, broker: Broker, frame: AnyFrame, sender: str | None) -> None:
        """A frame, as a node would treat it."""
        self.events += [] if isinstance(frame, Data) else [frame]
        if isinstance(frame, Install):
            broker.install(frame, 1)
        if isinstance(frame, Data | Leg | Tally):
            forwarded = broker.forward(frame, sender)
            self.do(forwarded.commands)
            self.local += forwarded.local

    def __eq__(self, other: object) -> bool:
        assert isinstance(other, Outcome)
        return self._told() == other._told()

    def _told(self) -> str:
        """As text, since NaN is not itself; an empty frame that was shed is not worth telling."""
        shed = sorted((name, count) for name, count in self.shed.items() if count)
        return repr((sorted(self.streams.items()), self.local, shed, self.dropped, self.events, self.fault))


def sizes(part: bytes) -> tuple[int, int]:
    found = Decoder().feed(part)
    return len(found), sum(len(frame.numbers) for frame in found if isinstance(frame, Data))


def broker(install: Install, congested: set[str]) -> Broker:
    made = Broker(ME)
    made.install(install, 1)
    made.congested = congested
    return made


def one_by_one(broker: Broker, sender: str, encoded: bytes) -> Outcome:
    outcome, decoder = Outcome(), Decoder()
    try:
        frames = decoder.feed(encoded)
    except FrameError as error:
        frames, outcome.fault = list(error.frames), str(error)
    for frame in frames:
        outcome.take(broker, frame, sender)
    if outcome.fault is None:
        outcome.fault = ended(decoder)
    return outcome


def ended(reader: Any) -> str | None:
    try:
        reader.end()
    except FrameError as error:
        return str(error)
    return None


def in_pieces(broker: Broker, sender: str, pieces: list[bytes], room: int) -> Outcome:
    outcome, passage = Outcome(), Crossing(broker, room).passage(sender)
    try:
        for piece in pieces:
            for found in passage.feed(piece):
                match found:
                    case Received(_, frame):
                        outcome.take(broker, frame, sender)
                    case Local(_, frames):
                        outcome.local += frames
                    case _:
                        outcome.do([found])
    except FrameError as error:
        outcome.fault = str(error)
        assert ended(passage) == outcome.fault
    else:
        outcome.fault = ended(passage)
    return outcome


def read(outcome: Outcome) -> Outcome:
    """With frames instead of bytes: foreign encoders write some frames in other bytes than ours."""
    frames = {to: Decoder().feed(stream) for to, stream in outcome.streams.items()}
    outcome.streams = frames  # type: ignore[assignment]
    return outcome


ROOMS = st.sampled_from([200, 900, 1 << 17])
"""In the least of them hardly a frame fits."""
SENDERS = st.sampled_from([*NEIGHBOURS, "stranger"])
CONGESTED = st.sets(st.sampled_from(NEIGHBOURS))


@settings(max_examples=300)
@given(data=st.data(), install=installs(1), frames=FRAMES, sender=SENDERS, congested=CONGESTED, room=ROOMS)
def test_a_passage_does_what_a_broker_does_frame_by_frame(
    data: st.DataObject, install: Install, frames: list[AnyFrame], sender: str, congested: set[str], room: int
) -> None:
    encoded = b"".join(map(encode, frames))
    expected = one_by_one(broker(install, congested), sender, encoded)
    assert in_pieces(broker(install, congested), sender, data.draw(cuts(encoded)), room) == expected


@settings(max_examples=300)
@example(None, Install(1, 1, (), ()), b"GET / HTTP/1.1\r\n\r\n", "a", 200)
@given(data=st.data(), install=installs(1), damage=damaged(data((*KEYS[:3], UNKNOWN))), sender=SENDERS, room=ROOMS)
def test_damage_ends_a_passage_where_it_ends_a_decoder(
    data: st.DataObject | None, install: Install, damage: bytes, sender: str, room: int
) -> None:
    pieces = [damage] if data is None else data.draw(cuts(damage))
    expected = one_by_one(broker(install, set()), sender, damage)
    assert read(in_pieces(broker(install, set()), sender, pieces, room)) == read(expected)


@given(install=installs(1), frame=data(), congested=CONGESTED, room=ROOMS)
def test_what_begins_here_goes_over_all_links_as_frame_by_frame(
    install: Install, frame: Data, congested: set[str], room: int
) -> None:
    expected, outcome = Outcome(), Outcome()
    expected.take(broker(install, congested), frame, None)
    for found in Crossing(broker(install, congested), room).begin(frame):
        if isinstance(found, Local):
            outcome.local += found.frames
        else:
            outcome.do([found])
    assert outcome == expected


@given(frames=st.lists(data_frames(), min_size=1, max_size=6))
def test_a_run_that_goes_on_untouched_is_one_piece_shared_by_all(frames: list[Data]) -> None:
    everybody = ((1 << 1000) - 1).to_bytes(125, "little")
    entry = Entry(KEYS[0], None, tuple(TreeLink(name, everybody) for name in NEIGHBOURS))
    whole = [msgspec.structs.replace(frame, key=KEYS[0], source="s") for frame in frames]
    whole = [frame for frame in whole if frame.bodies and (frame.masks is None or all(frame.masks))]
    encoded = b"".join(map(encode, whole))
    found = list(Crossing(broker(Install(1, 1, (entry,), ()), set())).passage("a").feed(encoded))
    passed = [one for one in found if isinstance(one, Passed)]
    assert [one.to for one in passed] == ([*NEIGHBOURS[1:]] if whole else [])
    assert all(one.data == encoded and one.data is passed[0].data for one in passed)


@given(
    st.one_of(st.binary(max_size=8), st.text(max_size=4).map(str.encode), st.binary(max_size=3).map(b"\xed".__add__))
)
def test_names_are_text_exactly_where_python_reads_them(name: bytes) -> None:
    try:
        name.decode()
    except UnicodeDecodeError:
        assert not is_text(np.frombuffer(name, np.uint8), 0, len(name))
    else:
        assert is_text(np.frombuffer(name, np.uint8), 0, len(name))


def test_a_frame_that_is_sent_on_can_be_read() -> None:
    frame = Data(KEYS[0], 1, "s", (1, 2, 2**32 + 5), (0b11, 0b01, 0b10), (b"x", b"y", b"z"))
    entry = Entry(KEYS[0], None, (TreeLink("a", b"\x02"),))
    (passed,) = Crossing(broker(Install(1, 1, (entry,), ()), set())).begin(frame)
    assert isinstance(passed, Passed)
    assert decode(passed.data) == Data(KEYS[0], 1, "s", (1, 2**32 + 5), (2, 2), (b"x", b"z"))
