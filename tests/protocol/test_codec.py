"""The format, byte by byte, and everything that is refused, by name."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tracemalloc

import msgspec
import pytest

from semcast.model.message import Message
from semcast.protocol.wire import data_codec, framing, kernels
from semcast.protocol.wire.codec import Decoder, LegView, ViewDecoder, decode, encode, view
from semcast.protocol.wire.data_codec import MAX_GATEWAYS, key_bytes, read_key
from semcast.protocol.wire.data_view import DataView, Links
from semcast.protocol.wire.frames import AnyFrame, Data, Detach, Detached, Heartbeat, Leg, Publish, Repair, Taken
from semcast.protocol.wire.framing import MAX_FRAME, VERSION, FrameError

ROWS = Data(("news", 7), 3, "b1", (10, 12, 20), (0b101, 0b1, 0b1000_0000), (b"ab", b"", b"xyz"))
LISTS = Data(("c", 1), 2, "b", (5,), (1 | 1 << 119,), (b"x",))
WIDE = Data(("c", 1), 2, "b", (5, 5 + 2**32), (1 << 300, 0), (b"x", b"y"))
LEG = Leg("r", 2, "b", (5, 6), ((("c", 1),), (("c", 1), ("d", 2))), (b"x", b"yz"))


def data_view(frame: Data) -> DataView:
    found = view(encode(frame))
    assert isinstance(found, DataView)
    return found


def changed(data: bytes, at: int, new: bytes) -> bytes:
    return data[:at] + new + data[at + len(new) :]


def framed(kind: int, content: bytes) -> bytes:
    return (len(content) + 2).to_bytes(4, "little") + bytes([VERSION, kind]) + content


GOLDEN = {
    "control": (Taken("s1", 7, 3), "0e000000 02 00", "94 a5 74616b656e a2 7331 07 03"),
    "leg": (
        LEG,
        "26000000 02 02",
        "97 a3 6c6567 a1 72 02 a1 62 92 05 06 92 91 92 a1 63 01 92 92 a1 63 01 92 a1 64 02 92 c4 01 78 c4 02 797a",
    ),
    "data with rows of bits": (
        ROWS,
        "4a000000 02 01",
        "01 04 0c00 0200 03000000 0300000000000000 0a00000000000000 03000000"  # header
        "0700000000000000 6e657773 6231"  # version, channel, source
        "02000000 08000000 05 01 80 02000000 00000000 03000000 6162 78797a",  # gaps, masks, lengths, bodies
    ),
    "data with lists of gateways": (
        LISTS,
        "32000000 02 01",
        "02 04 0900 0100 01000000 0200000000000000 0500000000000000 030000000100000000000000 63 62 02 0077 01000000 78",
    ),
    "data with wide lists and a wide gap": (
        WIDE,
        "42000000 02 01",
        "03 08 0900 0100 02000000 0200000000000000 0500000000000000 06000000"
        "0100000000000000 63 62 0000000001000000 0100 0000 2c01 01000000 01000000 78 79",
    ),
    "data without masks": (
        Data(("c", 1), 2, "b", (5,), None, (b"x",)),
        "2f000000 02 01",
        "00 04 0900 0100 01000000 0200000000000000 0500000000000000 00000000 0100000000000000 63 62 01000000 78",
    ),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_the_bytes_of_a_frame_are_these(name: str) -> None:
    frame, prefix, content = GOLDEN[name]
    assert encode(frame).hex() == (prefix + content).replace(" ", "")
    assert decode(bytes.fromhex(prefix + content)) == frame


def test_kernels_know_the_same_layout_as_the_encoder() -> None:
    assert data_codec.HEADER.size == kernels.HEADER
    assert (kernels.ALL, kernels.ROWS, kernels.LISTS, kernels.WIDE_LISTS) == (
        data_codec.ALL, data_codec.ROWS, data_codec.LISTS, data_codec.WIDE_LISTS,
    )  # fmt: skip
    assert (kernels.MAX_GATEWAYS, kernels.MAX_SPREAD) == (data_codec.MAX_GATEWAYS, framing.MAX_FRAME)


def test_a_view_reads_columns_in_place() -> None:
    found = data_view(ROWS)
    assert (found.key, found.epoch, found.source, found.count) == (key_bytes(("news", 7)), 3, "b1", 3)
    assert read_key(found.key) == ("news", 7)
    assert found.numbers.tolist() == [10, 12, 20]
    assert found.masks is not None
    assert found.masks.tolist() == [[0b101], [0b1], [0b1000_0000]]
    assert [bytes(body) for body in found.bodies] == [b"ab", b"", b"xyz"]
    assert all(body.obj is found.data for body in found.bodies)


def test_a_view_of_a_leg_keeps_its_bytes() -> None:
    data = encode(LEG)
    assert view(data) == LegView(data, LEG)
    assert encode(view(data)) is data


def test_a_link_gets_only_the_messages_for_gateways_behind_it() -> None:
    narrowed = data_view(ROWS).narrowed(0b1000_0100)
    assert narrowed is not None
    assert decode(narrowed) == Data(("news", 7), 3, "b1", (10, 20), (0b100, 0b1000_0000), (b"ab", b"xyz"))


def test_a_link_without_interest_gets_nothing() -> None:
    assert data_view(ROWS).narrowed(1 << 70) is None
    assert data_view(ROWS).narrowed(0) is None


def test_a_frame_that_goes_on_whole_is_not_copied() -> None:
    found = data_view(ROWS)
    assert found.narrowed(0b1111_1111) is found.data
    unmasked = data_view(Data(("c", 1), 2, "b", (5,), None, (b"x",)))
    assert unmasked.split(Links([1, 0, 1 << 99])) == [unmasked.data] * 3
    assert unmasked.narrowed(1) is unmasked.data


def test_links_split_frames_of_any_size_one_after_the_other() -> None:
    links = Links([0b01, 0b10, 0b11])
    for body in (b"s", b"m" * 2_000, b"b" * 300_000, b"h" * 3_000_000, b"s"):
        frame = Data(("c", 1), 1, "b", (1, 2), (0b01, 0b11), (body, b"-" + body))
        first = Data(("c", 1), 1, "b", (1, 2), (1, 1), frame.bodies)
        second = Data(("c", 1), 1, "b", (2,), (2,), frame.bodies[1:])
        assert data_view(frame).split(links) == [encode(first), encode(second), encode(frame)]


EVERYBODY = (1 << 256) - 1
EDGES = {
    "a gap that just fits after a message is left out": ((5, 6, 4 + 2**32), (1, 2, 1), 1),
    "a gap that no longer fits": ((5, 6, 5 + 2**32), (1, 2, 1), 1),
    "lists with a message for 255": (tuple(range(41)), (EVERYBODY, *(1 << g for g in range(40))), EVERYBODY >> 1),
    "lists with a message for 256": (tuple(range(41)), (EVERYBODY | 1 << 256, *(1 << g for g in range(40))), EVERYBODY),
    "lists with gateway 255 and not 256": ((1,), (1 | 1 << 255 | 1 << 256,), EVERYBODY),
    "a change in the highest word only": ((1,), (1 | 1 << 300,), 1 | 1 << 299),
    "rows just as long as lists": ((1,), (1 << 8 | 1 << 63,), 1 << 8),
}


@pytest.mark.parametrize("name", EDGES)
def test_narrowing_takes_the_same_forms_as_encoding_at_their_edges(name: str) -> None:
    numbers, masks, link = EDGES[name]
    whole = Data(("c", 1), 1, "b", numbers, masks, (b"x",) * len(masks))
    left = [(number, mask & link) for number, mask in zip(numbers, masks, strict=True) if mask & link]
    kept, cut = zip(*left, strict=True)
    expected = Data(("c", 1), 1, "b", kept, cut, (b"x",) * len(cut))
    assert data_view(whole).narrowed(link) == encode(expected)
    assert decode(encode(whole)) == whole
    assert decode(encode(expected)) == expected


def test_an_older_end_skips_fields_that_it_does_not_know() -> None:
    content = msgspec.msgpack.encode(["taken", "s1", 7, 64, {"new": [1, 2]}, "newer"])
    assert decode(framed(0, content)) == Taken("s1", 7)


def test_fields_with_defaults_may_be_left_out() -> None:
    assert decode(framed(0, msgspec.msgpack.encode(["heartbeat", "b1", 3, 0.5]))) == Heartbeat("b1", 3, 0.5)


REFUSED = {
    "no bytes": (b"", "not one frame"),
    "half a prefix": (b"\x02\x00\x00", "not one frame"),
    "two frames": (2 * encode(Detach("s")), "not one frame"),
    "a cut frame": (encode(Detach("s"))[:-1], "not one frame"),
    "too short a length": (b"\x01\x00\x00\x00\x01\x00", "cannot be 1 bytes"),
    "too long a length": ((MAX_FRAME + 1).to_bytes(4, "little") + b"\x01\x00", f"cannot be {MAX_FRAME + 1} bytes"),
    "another version": (changed(encode(Detach("s")), 4, b"\x07"), "version 7 of the protocol, this one version 2"),
    "an unknown kind": (changed(encode(Detach("s")), 5, b"\x03"), "unknown kind 3"),
    "an unknown frame": (framed(0, msgspec.msgpack.encode(["nonsense", 1])), "nonsense"),
    "no msgpack": (framed(0, b"\xc1"), "makes no sense"),
    "bytes behind the frame": (framed(0, msgspec.msgpack.encode(["detach", "s"]) + b"\x00"), "trailing"),
    "too few fields": (framed(0, msgspec.msgpack.encode(["taken", "s"])), "makes no sense"),
    "a field of another type": (framed(0, msgspec.msgpack.encode(["detach", 5])), "Expected `str`"),
    "a name that is not UTF-8": (framed(0, b"\x92\xa6detach\xa1\xff"), "utf-8"),
    "endless nesting": (framed(0, b"\x93\xa8detached\xa1s" + b"\x91" * 200_000 + b"\x90"), "recursion"),
    "data among control frames": (framed(0, msgspec.msgpack.encode(ROWS)), "'data'"),
    "a leg among control frames": (framed(0, msgspec.msgpack.encode(LEG)), "'leg'"),
    "a control frame as leg": (framed(2, msgspec.msgpack.encode(Detached("s"))), "length 7, got 2"),
    "a leg whose numbers stand still": (
        framed(2, msgspec.msgpack.encode(msgspec.structs.replace(LEG, numbers=(5, 5)))), "do not ascend",
    ),
    "a leg with too few trees": (
        framed(2, msgspec.msgpack.encode(msgspec.structs.replace(LEG, keys=()))), "0 lists of trees",
    ),
    "a repair with too few bodies": (framed(0, msgspec.msgpack.encode(Repair("b", 1, (1, 2), (b"x",)))), "1 bodies"),
    "a repair out of order": (framed(0, msgspec.msgpack.encode(Repair("b", 1, (2, 1), (b"x", b"y")))), "not ascend"),
    "data shorter than its header": (framed(1, b"\x00" * 29), "a data frame of 35 bytes"),
    "a key longer than the frame": (changed(encode(ROWS), 8, b"\xff\xff"), "before its columns do"),
    "a key without a version": (changed(changed(encode(ROWS), 8, b"\x07"), 10, b"\x07"), "key of 7 bytes"),
    "a channel that is not UTF-8": (changed(encode(ROWS), 44, b"\xff"), "name that is none"),
    "a source that is not UTF-8": (changed(encode(ROWS), 48, b"\xff"), "name that is none"),
    "more messages than bytes": (changed(encode(ROWS), 12, b"\xff\xff\xff\xff"), "before its columns do"),
    "gaps of 5 bytes": (changed(encode(LISTS), 7, b"\x05"), "4 or 8 bytes"),
    "no gap between numbers": (changed(encode(ROWS), 50, b"\x00"), "do not ascend"),
    "numbers beyond 64 bits": (changed(encode(ROWS), 24, b"\xff" * 8), "do not ascend"),
    "a body that is too long": (changed(encode(ROWS), 61, b"\x03"), "not as long as it says"),
    "bytes behind the bodies": (framed(1, encode(ROWS)[6:] + b"!"), "not as long as it says"),
    "masks of an unknown form": (changed(encode(ROWS), 6, b"\x04"), "unknown form"),
    "masks where there are none": (changed(encode(ROWS), 6, b"\x00"), "masks of a data frame are not as long"),
    "lists that end too late": (changed(encode(LISTS), 46, b"\x03"), "masks of a data frame are not as long"),
    "lists that end too early": (changed(encode(LISTS), 46, b"\x01"), "masks of a data frame are not as long"),
    "a gateway named twice": (changed(encode(LISTS), 47, b"\x77"), "twice, out of order"),
    "gateways out of order": (changed(encode(LISTS), 47, b"\x78"), "twice, out of order"),
    "a gateway that cannot be": (changed(encode(WIDE), 58, b"\x00\x20"), f"beyond {MAX_GATEWAYS}"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_frame_is_refused_by_name(name: str) -> None:
    data, reason = REFUSED[name]
    for read in (decode, view):
        with pytest.raises(FrameError, match=reason):
            read(data)


def test_rows_too_wide_for_any_plan_are_refused() -> None:
    wide = data_view(Data(("c", 1), 2, "b", (5,), ((1 << MAX_GATEWAYS) - 1,), (b"x",))).data
    longer = framed(1, changed(wide, 32, (1025).to_bytes(4, "little"))[6:46] + b"\xff" + wide[46:])
    with pytest.raises(FrameError, match="masks of a data frame are not as long"):
        decode(longer)


def test_lists_that_would_take_more_than_a_frame_when_spread_out_are_refused_at_both_ends() -> None:
    count = MAX_FRAME // 1024 + 1
    gateway = (MAX_GATEWAYS - 1).to_bytes(2, "little")
    header = data_codec.HEADER.pack(0, 1, 1, 3, 4, 8, 0, count, 0, 1, 4 * count)
    columns = (b"\1\0\0\0" * (count - 1), b"\1\0" * count, gateway * count, bytes(4 * count))
    with pytest.raises(FrameError, match="too many gateways for so many messages"):
        decode(framed(1, header[6:] + bytes(8) + b"".join(columns)))
    masks = (1 << (MAX_GATEWAYS - 1),) * count
    with pytest.raises(FrameError, match="send fewer at once"):
        encode(Data(("c", 1), 0, "b", tuple(range(count)), masks, (b"",) * count))


UNSENDABLE: dict[str, AnyFrame] = {
    "longer than a frame may be": Publish("o", 0, (Message("s", bytes(MAX_FRAME)),)),
    "data longer than a frame may be": Data(("c", 1), 0, "b", (1,), None, (bytes(MAX_FRAME),)),
    "an integer of 65 bits": Taken("s", 1 << 64),
    "half a character": Detach("\ud800"),
    "data of half a character": Data(("\ud800", 1), 0, "b", (1,), None, (b"",)),
    "a version below 0": Data(("c", -1), 0, "b", (1,), None, (b"",)),
    "an epoch below 0": Data(("c", 1), -1, "b", (1,), None, (b"",)),
    "a number of 65 bits": Data(("c", 1), 0, "b", (1 << 64,), None, (b"",)),
    "a gap of 65 bits": Data(("c", 1), 0, "b", (-1, 1 << 64), None, (b"", b"")),
    "a name of 65,536 bytes": Data(("c", 1), 0, "b" * 65536, (1,), None, (b"",)),
    "more numbers than bodies": Data(("c", 1), 0, "b", (1, 2), None, (b"",)),
    "fewer masks than bodies": Data(("c", 1), 0, "b", (1, 2), (1,), (b"", b"")),
    "numbers that fall": Data(("c", 1), 0, "b", (2, 1), None, (b"", b"")),
    "a mask below 0": Data(("c", 1), 0, "b", (1,), (-1,), (b"",)),
    "a gateway beyond the most": Data(("c", 1), 0, "b", (1,), (1 << MAX_GATEWAYS,), (b"",)),
    "a leg out of order": msgspec.structs.replace(LEG, numbers=(6, 5)),
    "a repair without bodies": Repair("b", 1, (1,), ()),
}


@pytest.mark.parametrize("name", UNSENDABLE)
def test_what_the_format_cannot_hold_is_not_encoded(name: str) -> None:
    with pytest.raises(FrameError):
        encode(UNSENDABLE[name])


def test_the_longest_frame_goes_through() -> None:
    over = len(encode(Data(("c", 1), 0, "b", (1,), None, (b"",)))) - 4
    frame = Data(("c", 1), 0, "b", (1,), None, (bytes(MAX_FRAME - over),))
    data = encode(frame)
    assert len(data) == MAX_FRAME + 4
    assert Decoder().feed(data) == [frame]


@pytest.mark.parametrize("decoder", [Decoder, ViewDecoder])
def test_a_decoder_that_met_garbage_stays_broken(decoder: type[Decoder] | type[ViewDecoder]) -> None:
    broken = decoder()
    with pytest.raises(FrameError, match="unknown kind") as caught:
        broken.feed(encode(Detach("s")) + REFUSED["an unknown kind"][0] + encode(Detach("t")))
    assert caught.value.frames == [Detach("s")]
    for data in (b"", encode(Detach("t"))):
        with pytest.raises(FrameError, match="unknown kind"):
            broken.feed(data)
    with pytest.raises(FrameError, match="unknown kind"):
        broken.end()


def test_the_end_of_a_connection_within_a_frame_is_an_error() -> None:
    decoder = Decoder()
    decoder.end()
    assert decoder.feed(encode(Detach("s")) + b"\x09") == [Detach("s")]
    with pytest.raises(FrameError, match="after 1 bytes"):
        decoder.end()
    with pytest.raises(FrameError, match="after 1 bytes"):
        decoder.feed(encode(Detach("s")))


@pytest.mark.parametrize(
    "hostile",
    [
        MAX_FRAME.to_bytes(4, "little") + b"\x01\x00",
        changed(encode(ROWS), 12, b"\xff\xff\xff\xff"),
        changed(encode(ROWS), 32, b"\xff\xff\xff\xff"),
        framed(0, b"\x95\xa6repair\xa1b\x01\xdd\xff\xff\xff\xff"),
        framed(0, b"\x93\xa3ack\x92\xa1c\x01\xdf\xff\xff\xff\xff"),
        framed(0, b"\x92\xa6detach\xdb\xff\xff\xff\xff"),
    ],
)
def test_a_hostile_length_takes_no_memory(hostile: bytes) -> None:
    decoder = Decoder()
    tracemalloc.start()
    try:
        with contextlib.suppress(FrameError):
            assert decoder.feed(hostile) == []
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100_000


def test_clients_do_not_pay_for_the_kernels_of_brokers() -> None:
    script = (
        "import sys; from semcast.protocol.wire.codec import *; from semcast.protocol.wire.frames import Detach;"
        "assert decode(encode(Detach('s'))) == Detach('s'); sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
