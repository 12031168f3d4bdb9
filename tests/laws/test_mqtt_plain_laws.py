"""What is read and encoded many at once is what the codec reads and encodes one by one."""

from __future__ import annotations

import mqtt5
from hypothesis import given
from hypothesis import strategies as st

from semcast.client.messages import Received
from semcast.model.message import Message
from semcast.server.mqtt import v311
from semcast.server.mqtt.packets import Encoder, Form
from semcast.server.mqtt.properties import packet_of
from semcast.server.mqtt.wire import Reader

TOPICS = ("a", "a/b", "quotes", "ä/ö", "t" * 130)
KNOWN = {topic.encode(): topic for topic in TOPICS[:4]}
BEGIN = {5: mqtt5.ConnectPacket("x").write(), 4: bytes.fromhex("100d00044d5154540402003c000178")}

payloads = st.one_of(st.binary(max_size=40), st.integers(0, 20000).map(bytes))
publishes = st.builds(
    lambda topic, payload, qos, expiry: mqtt5.PublishPacket(
        topic, payload, qos=mqtt5.QoS(qos), packet_id=7 if qos else None, message_expiry_interval=expiry
    ),
    st.sampled_from(TOPICS),
    payloads,
    st.sampled_from((0, 0, 0, 1)),
    st.sampled_from((None, None, None, 9)),
)
packets = st.one_of(publishes, publishes, publishes, st.just(mqtt5.PingReqPacket()))


def written(packet: mqtt5.Packet, version: int) -> bytes:
    return packet.write() if version == 5 else v311.written(packet)


@given(st.lists(packets, max_size=12), st.sampled_from((4, 5)), st.lists(st.integers(1, 600), max_size=30))
def test_a_stream_is_read_alike_in_runs_and_packet_by_packet_wherever_it_is_cut(
    sent: list[mqtt5.Packet], version: int, cuts: list[int]
) -> None:
    data = BEGIN[version] + b"".join(written(packet, version) for packet in sent)
    reader, slow = Reader(), Reader()
    slow.feed(data)
    wanted = []
    while (packet := slow.next()) is not None:
        wanted.append(packet)
    found: list[object] = []
    for cut in [*cuts, len(data)]:
        piece, data = data[:cut], data[cut:]
        reader.feed(piece)
        while True:
            run = reader.run(KNOWN)
            found += run
            if not run:
                packet = reader.next()
                if packet is None:
                    break
                found.append(packet)
    assert reader.waiting == 0
    assert [plainly(one) for one in found] == [plainly(one) for one in wanted]


def plainly(one: object) -> object:
    """A message in the same words, however it was read."""
    if isinstance(one, mqtt5.PublishPacket):
        return one.topic, one.payload, one.qos.value, one.message_expiry_interval
    return (*one, 0, None) if isinstance(one, tuple) else type(one)


messages = st.builds(
    Message,
    st.just("quotes"),
    payloads,
    st.one_of(st.none(), st.sampled_from(TOPICS)),
    st.integers(0, 1 << 40),
    st.one_of(st.none(), st.none(), st.just("k")),
    st.sampled_from(((), (), (("h", "v"),), (("mqtt-content-type", "x"),))),
)
forms = st.builds(
    Form,
    st.sampled_from((4, 5)),
    st.one_of(st.none(), st.integers(1, 268_435_455)),
    st.sampled_from(((), (), ("id",), ("id", "time"))),
)


@given(forms, st.lists(messages, max_size=8), st.sampled_from(((), ("b0:1-2",))))
def test_messages_for_many_clients_are_the_bytes_that_the_codec_gives_each(
    form: Form, held: list[Message], gaps: tuple[str, ...]
) -> None:
    missed: list[str] = []
    encoder = Encoder(form, lambda message: message.topic or message.stream, missed.append)
    for _ in range(2):  # topics are new, then known
        found = encoder.packets("b0", range(5, 5 + len(held)), held, 1000, gaps)
        wanted = [
            written(
                packet_of(
                    Received("b0", number, message),
                    message.topic or message.stream,
                    1000,
                    qos=mqtt5.QoS.AT_MOST_ONCE,
                    subscription=form.identifier,
                    include=form.include,
                    gaps=gaps if number == 5 else (),
                ),
                form.version,
            )
            for number, message in enumerate(held, 5)
        ]
        assert found == wanted
    assert missed == []


def test_what_no_packet_can_carry_is_counted_and_left_out() -> None:
    missed: list[str] = []
    encoder = Encoder(Form(5, None, ()), lambda message: message.topic or message.stream, missed.append)
    odd = Message("quotes", b"x", "t" * 70_000)
    past = Message("quotes", b"x", "a", headers=(("mqtt-expires-ms", "5"),))
    plain = Message("quotes", b"x", "a")
    assert encoder.packets("b0", (1, 2, 3, 4), (odd, past, plain, odd), 1000) == [
        b"",
        b"",
        mqtt5.PublishPacket("a", b"x").write(),
        b"",
    ]
    assert missed == ["mqtt unsendable", "mqtt expired", "mqtt unsendable"]
