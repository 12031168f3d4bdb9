"""What one connection publishes: topics behind aliases, messages that are refused, and acknowledgements in order."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import mqtt5
from mqtt5 import DisconnectReasonCode as Disconnect
from mqtt5 import PubAckReasonCode as PubAck

from semcast.client.messages import Receipt
from semcast.model import SemcastError
from semcast.model.message import Message
from semcast.server.mqtt.names import check_topic
from semcast.server.mqtt.properties import FROM, message_of
from semcast.server.mqtt.session import Session
from semcast.server.mqtt.wire import MqttError, fitting

if TYPE_CHECKING:
    from semcast.server.mqtt.front import MqttFront

RECEIVE_MAX = 1024
"""Messages of QoS 1 that a client may have under way."""
ALIASES = 64
_KNOWN_TOPICS = 1 << 12


class Known(NamedTuple):
    """Where the messages of a topic belong."""

    stream: str
    topic: str | None


class Publishing:
    """Hands a client's messages over, and acknowledges each, in the order in which they came, when it is durable."""

    def __init__(
        self,
        front: MqttFront,
        session: Session,
        send: Callable[[mqtt5.Packet], None],
        *,
        tells: bool,
        codes: bool = True,
    ) -> None:
        """``tells``: the client wants reasons. ``codes``: its acknowledgements can say that something was refused."""
        self._front, self._session, self._send, self._tells = front, session, send, tells
        self._codes = codes
        self._acks: deque[tuple[int, asyncio.Future[Receipt] | PubAck, str]] = deque()
        self._aliases: dict[int, str] = {}
        self.known: dict[bytes, Known] = {}
        """Topics on which messages were published, and where they belong."""
        self._source: str | None = None

    def publish(self, packet: mqtt5.PublishPacket) -> None:
        """Take a message in; MqttError where the connection has to end over it."""
        self._check(packet)
        topic = self._topic(packet)
        try:
            stream, within = self._front.names.place(topic)
        except SemcastError as error:
            self._unfit(packet, PubAck.TOPIC_NAME_INVALID, str(error))
            return
        sender = self._session.client_id if self._session.tells_sender else None
        message = message_of(packet, stream, within, self._front.intake.now_ms(), sender)
        try:
            if self._source is None:
                self._source = self._front.intake.source()
            receipt = self._front.intake.publish(self._source, message)
        except SemcastError as error:
            self._unfit(packet, PubAck.PAYLOAD_FORMAT_INVALID, str(error))
            return
        if packet.packet_id is not None:
            self._acks.append((packet.packet_id, receipt, ""))
            receipt.add_done_callback(self._acknowledge)
        else:
            self._learn(topic, stream, within)

    def _learn(self, topic: str, stream: str, within: str | None) -> None:
        if len(self.known) >= _KNOWN_TOPICS:
            self.known.clear()
        self.known[topic.encode()] = Known(stream, within)

    def publish_all(self, run: list[tuple[Known, bytes]]) -> None:
        """Take messages of QoS 0 in that were read in one go; the same as one after the other."""
        sender = self._session.client_id if self._session.tells_sender else None
        headers = () if sender is None else ((FROM, sender),)
        now_ms = self._front.intake.now_ms()
        messages = [Message(stream, payload, topic, now_ms, None, headers) for (stream, topic), payload in run]
        refusal = self._front.host.streams.refusal
        fit = next((place for place, message in enumerate(messages) if refusal(message) is not None), len(messages))
        try:
            if fit:
                if self._source is None:
                    self._source = self._front.intake.source()
                self._front.intake.publish_all(self._source, messages[:fit])
        except SemcastError as error:
            raise self._refused(PubAck.PAYLOAD_FORMAT_INVALID, str(error)) from None
        if fit < len(messages):
            raise self._refused(PubAck.PAYLOAD_FORMAT_INVALID, str(refusal(messages[fit])))

    def _refused(self, code: PubAck, reason: str) -> MqttError:
        self._front.count("mqtt refused")
        return MqttError(Disconnect(code.value), reason)

    def _check(self, packet: mqtt5.PublishPacket) -> None:
        if packet.qos.value > 1:
            raise MqttError(Disconnect.QOS_NOT_SUPPORTED, "QoS 2 is not offered here: publish with QoS 0 or 1")
        if packet.retain:
            raise MqttError(Disconnect.RETAIN_NOT_SUPPORTED, "messages are not retained here: publish without it")
        if packet.response_topic is not None:
            try:
                check_topic(packet.response_topic)
            except SemcastError as error:
                raise MqttError(Disconnect.PROTOCOL_ERROR, f"the response topic: {error}") from None
        if packet.subscription_ids:
            raise MqttError(Disconnect.PROTOCOL_ERROR, "a client cannot publish with subscription identifiers")
        if packet.packet_id is not None and len(self._acks) >= RECEIVE_MAX:
            raise MqttError(Disconnect.RECEIVE_MAX_EXCEEDED, f"more than {RECEIVE_MAX} messages are under way")

    def _topic(self, packet: mqtt5.PublishPacket) -> str:
        alias = packet.topic_alias
        if alias is None:
            if not packet.topic:
                raise MqttError(Disconnect.PROTOCOL_ERROR, "a message needs a topic")
            return packet.topic
        if not 1 <= alias <= ALIASES:
            raise MqttError(Disconnect.TOPIC_ALIAS_INVALID, f"topic aliases go from 1 to {ALIASES}, not to {alias}")
        if packet.topic:
            self._aliases[alias] = packet.topic
        elif alias not in self._aliases:
            raise MqttError(Disconnect.PROTOCOL_ERROR, f"the topic alias {alias} was not given a topic")
        return self._aliases[alias]

    def _unfit(self, packet: mqtt5.PublishPacket, code: PubAck, reason: str) -> None:
        """Tell why a message is refused: by its acknowledgement, or, where there is none, by the connection's end."""
        if packet.packet_id is None or (code is PubAck.TOPIC_NAME_INVALID and not self._codes):
            raise self._refused(code, reason)
        self._front.count("mqtt refused")
        self._acks.append((packet.packet_id, code, reason))
        self._acknowledge()

    def _acknowledge(self, receipt: object = None) -> None:
        """Answer in the order in which was asked, as far as is known."""
        while self._acks:
            number, answer, reason = self._acks[0]
            code = PubAck.SUCCESS
            if isinstance(answer, PubAck):
                code = answer
            elif not answer.done():
                return
            elif answer.cancelled() or (error := answer.exception()) is not None:
                code, reason = PubAck.UNSPECIFIED_ERROR, "given up" if answer.cancelled() else str(error)
            self._acks.popleft()
            text = fitting(reason) if reason and self._tells else None
            self._send(mqtt5.PubAckPacket(number, reason_code=code, reason_str=text))
