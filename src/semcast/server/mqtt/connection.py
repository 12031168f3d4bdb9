"""One MQTT connection: packets in, packets out, the rules of the protocol, and what comes of breaking them."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, cast

import mqtt5
from mqtt5 import ConnAckReasonCode as ConnAck
from mqtt5 import DisconnectReasonCode as Disconnect

from semcast.model import SemcastError
from semcast.server.mqtt import v311
from semcast.server.mqtt.publishing import ALIASES, RECEIVE_MAX, Publishing
from semcast.server.mqtt.session import Session
from semcast.server.mqtt.subscribing import subscribe, unsubscribe
from semcast.server.mqtt.wire import MAX_PACKET, MqttError, Reader, UnknownVersion, fitting

if TYPE_CHECKING:
    from semcast.server.mqtt.front import MqttFront

log = logging.getLogger("semcast")
_CONNECT_S = 10.0
_HIGH_BYTES = 1 << 20
"""Answers that a client does not read: with so many nothing more is read from it. And what leaves in one call."""
_BEHIND_BYTES = 4 << 20
"""Messages that a client does not read: with so many it is given no more for now. Who shares them shares the bytes."""


class MqttConnection(asyncio.Protocol):
    """A client's connection, from its first byte to its end."""

    def __init__(self, front: MqttFront) -> None:
        self._front = front
        self._loop = asyncio.get_running_loop()
        self._reader = Reader()
        self._transport: asyncio.Transport | None = None
        self._session: Session | None = None
        self._will: mqtt5.Will | None = None
        self._over = False
        self._tells = True
        """Does the client want to be told reasons?"""
        self.receive_max = 65535
        self.max_packet: int | None = None
        self._paused = False
        self._deaf = False
        self._batch: list[bytes] = []
        self._batch_bytes = 0
        self._publishing: Publishing | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._keep_alive_s = 0.0
        self._heard_at = 0.0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def writable(self) -> bool:
        """Does the client take what it is sent?"""
        return not self._paused and not self._over and self._batch_bytes < _HIGH_BYTES

    @property
    def keeps_up(self) -> bool:
        """Is little enough on its way that more can be, without waiting?"""
        return self._over or self.waiting_bytes < _BEHIND_BYTES

    @property
    def waiting_bytes(self) -> int:
        """What was written and the client has not read: to be flushed in this turn of the loop, or not sent yet."""
        return self._batch_bytes + (self._transport.get_write_buffer_size() if self._transport is not None else 0)

    @property
    def version(self) -> int:
        return self._reader.version

    # --- asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._front.connections.add(self)
        self._timer = self._loop.call_later(_CONNECT_S, self.end, MqttError(Disconnect.PROTOCOL_ERROR, "no CONNECT"))

    def data_received(self, data: bytes) -> None:
        if self._over:
            return
        self._heard_at = self._loop.time()
        self._reader.feed(data)
        waiting = self._reader.waiting
        self._read()
        self._front.host.partial.hold(self, self._reader.waiting, begun=self._reader.waiting < waiting)

    def evict(self, reason: str) -> None:
        if self._transport is not None:
            self._transport.abort()

    def connection_lost(self, error: Exception | None) -> None:
        self._front.host.partial.hold(self, 0)
        self._leave(self._will)
        self._transport = None

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False
        self._listen()
        if self._session is not None:
            self._session.wake()

    # --- in

    def _read(self) -> None:
        """Take packets in while there is room for what they bring."""
        try:
            while not self._over and not self._deaf:
                run = self._reader.run(self._publishing.known) if self._publishing is not None else None
                if run:
                    self._publishing.publish_all(run)  # type: ignore[union-attr]
                else:
                    packet = self._reader.next()
                    if packet is None:
                        return
                    self._handle(packet)
                if self._front.intake.full:
                    self._stop_listening()
                    self._front.intake.when_room(self._listen)
        except MqttError as error:
            self.end(error)
        except Exception as error:
            log.exception("%s: mqtt: a packet cannot be handled", self._front.host.name)
            self.end(MqttError(Disconnect.UNSPECIFIED_ERROR, f"the packet cannot be handled: {error}"))

    def _stop_listening(self) -> None:
        if not self._deaf and self._transport is not None:
            self._deaf = True
            self._transport.pause_reading()

    def _listen(self) -> None:
        if self._deaf and not self._over and self._transport is not None and not self._front.intake.full:
            self._deaf = False
            self._transport.resume_reading()
            self._heard_at = self._loop.time()
            self._read()

    def _handle(self, packet: mqtt5.Packet) -> None:
        if self._session is None:
            if not isinstance(packet, mqtt5.ConnectPacket):
                raise MqttError(Disconnect.PROTOCOL_ERROR, "the first packet has to be CONNECT")
            self._connect(packet)
            return
        match packet:
            case mqtt5.PublishPacket():
                assert self._publishing is not None
                self._publishing.publish(packet)
            case mqtt5.PubAckPacket():
                self._session.acknowledged(packet.packet_id)
            case mqtt5.SubscribePacket(topic_filters=[]) | mqtt5.UnsubscribePacket(patterns=[]):
                raise MqttError(Disconnect.PROTOCOL_ERROR, "a packet that names no filter asks for nothing")
            case mqtt5.SubscribePacket():
                self._do(self._subscribe(self._session, packet))
            case mqtt5.UnsubscribePacket():
                self._do(self._unsubscribe(self._session, packet))
            case mqtt5.PingReqPacket():
                self.send(mqtt5.PingRespPacket())
            case mqtt5.DisconnectPacket():
                self._disconnect(self._session, packet)
            case _:
                raise MqttError(
                    Disconnect.PROTOCOL_ERROR, f"{type(packet).__name__.removesuffix('Packet')} has no place here"
                )

    # --- coming and going

    def _connect(self, packet: mqtt5.ConnectPacket) -> None:
        refusal = self._refusal(packet)
        if refusal is not None:
            self._refuse(*refusal)
            return
        assigned = None if packet.client_id else f"auto-{uuid.uuid4().hex}"
        self.receive_max = packet.receive_max
        self.max_packet, self._tells = packet.max_packet_size, packet.request_problem_info
        self._will = packet.will
        session, present = self._front.connect(self, packet, assigned or packet.client_id)
        self._session = session
        codes = self._reader.version != 4
        self._publishing = Publishing(self._front, session, self.send, tells=self._tells, codes=codes)
        self.send(self._welcome(packet, session, present, assigned))
        self._heard_at, self._keep_alive_s = self._loop.time(), 1.5 * packet.keep_alive
        if self._timer is not None:
            self._timer.cancel()
        self._watch()
        session.wake()

    def _refusal(self, packet: mqtt5.ConnectPacket) -> tuple[ConnAck, str] | None:
        if self._front.stopping:
            return ConnAck.SERVER_UNAVAILABLE, f"{self._front.host.name} is being stopped"
        if self._reader.version == 4 and not packet.client_id and not packet.clean_start:
            return ConnAck.CLIENT_ID_NOT_VALID, "a session that is to be kept needs a client id"
        if packet.authentication_method is not None:
            return ConnAck.BAD_AUTHENTICATION_METHOD, "no authentication is offered here"
        will = packet.will
        if will is None:
            return None
        if will.retain:
            return ConnAck.RETAIN_NOT_SUPPORTED, "messages are not retained here, and no will is"
        if will.qos.value > 1:
            return ConnAck.QUALITY_NOT_SUPPORTED, "QoS 2 is not offered here"
        try:
            self._front.names.place(will.topic)
        except SemcastError as error:
            return ConnAck.TOPIC_NAME_INVALID, f"the will: {error}"
        return None

    def _refuse(self, code: ConnAck, reason: str) -> None:
        self.send(mqtt5.ConnAckPacket(reason_code=code, reason_str=fitting(reason)))
        self._close()

    def _welcome(
        self, packet: mqtt5.ConnectPacket, session: Session, present: bool, assigned: str | None
    ) -> mqtt5.ConnAckPacket:
        kept = int(session.expiry_s)
        return mqtt5.ConnAckPacket(
            session_present=present,
            session_expiry_interval=None if kept == packet.session_expiry_interval else kept,
            assigned_client_id=assigned,
            receive_max=RECEIVE_MAX,
            topic_alias_max=ALIASES,
            max_qos=mqtt5.QoS.AT_LEAST_ONCE,
            retain_available=False,
            max_packet_size=MAX_PACKET,
        )

    def _watch(self) -> None:
        """End a connection that is silent for longer than it said it would be."""
        if not self._keep_alive_s or self._over:
            return
        silent_s = 0.0 if self._deaf else self._loop.time() - self._heard_at
        if silent_s >= self._keep_alive_s:
            self.end(MqttError(Disconnect.KEEP_ALIVE_TIMEOUT, "nothing was heard for too long"))
            return
        self._timer = self._loop.call_later(self._keep_alive_s - silent_s + 0.01, self._watch)

    def _disconnect(self, session: Session, packet: mqtt5.DisconnectPacket) -> None:
        expiry = packet.session_expiry_interval
        if expiry is not None:
            if expiry and not session.durable:
                raise MqttError(Disconnect.PROTOCOL_ERROR, "a session that was to end with its connection does so")
            session.expiry_s = min(float(expiry), self._front.host.settings.expiry_s)
        if packet.reason_code == Disconnect.NORMAL_DISCONNECTION:
            self._will = None
        self._close()

    def end(self, error: MqttError) -> None:
        """End the connection, and tell the client why."""
        if self._over:
            return
        log.info("%s: mqtt: %s: %s", self._front.host.name, self._who(), error.reason)
        reason = fitting(error.reason)
        if self._session is not None:
            self.send(mqtt5.DisconnectPacket(reason_code=error.code, reason_str=reason, server_reference=error.server))
        elif isinstance(error, UnknownVersion):
            # Whoever speaks an older version understands no more than this: it is not spoken here.
            self.write(b"\x20\x02\x00\x01")
        else:
            self.send(mqtt5.ConnAckPacket(reason_code=_refusing(error.code), reason_str=reason))
        self._close()

    def _who(self) -> str:
        if self._session is not None:
            return repr(self._session.client_id)
        peer = self._transport.get_extra_info("peername") if self._transport is not None else None
        return str(peer)

    def _close(self) -> None:
        self._leave(self._will)
        if self._transport is not None:
            self._transport.close()

    def _leave(self, will: mqtt5.Will | None) -> None:
        """It is over, for whatever reason; said once."""
        if self._over:
            return
        self._flush()
        self._over = True
        self._front.connections.discard(self)
        if self._timer is not None:
            self._timer.cancel()
        for task in list(self._tasks):
            task.cancel()
        if self._session is not None:
            self._front.left(self._session, will)

    # --- subscribing

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, MqttError):
            self.end(error)
        elif error is not None:
            log.error("%s: mqtt: %s", self._front.host.name, error, exc_info=error)
            self.end(MqttError(Disconnect.UNSPECIFIED_ERROR, str(error)))

    async def _subscribe(self, session: Session, packet: mqtt5.SubscribePacket) -> None:
        codes, reasons = await subscribe(self._front, session, packet)
        text = fitting(reasons) if reasons and self._tells else None
        self.send(mqtt5.SubAckPacket(packet.packet_id, codes, reason_str=text))

    async def _unsubscribe(self, session: Session, packet: mqtt5.UnsubscribePacket) -> None:
        codes = await unsubscribe(self._front, session, packet)
        self.send(mqtt5.UnsubAckPacket(packet.packet_id, codes))

    # --- out

    def publish(self, packet: mqtt5.PublishPacket) -> bool:
        """Send a message, unless it is larger than the client can take; was it sent?"""
        return self.publish_bytes(self._bytes_of(packet))

    def publish_bytes(self, packet: bytes) -> bool:
        """The same with a message in its packet."""
        if self.max_packet is not None and len(packet) > self.max_packet:
            self._front.count("mqtt too large")
            return False
        self.write(packet)
        return True

    def send(self, packet: mqtt5.Packet) -> None:
        self.write(self._bytes_of(packet))

    def _bytes_of(self, packet: mqtt5.Packet) -> bytes:
        return v311.written(packet) if self._reader.version == 4 else packet.write()

    def write(self, data: bytes) -> None:
        if self._over or not data:
            return
        if not self._batch:
            self._loop.call_soon(self._flush)
        self._batch.append(data)
        self._batch_bytes += len(data)

    def _flush(self) -> None:
        """Everything that was written within one turn of the loop leaves in one call."""
        batch, self._batch = self._batch, []
        full, self._batch_bytes = self._batch_bytes >= _HIGH_BYTES, 0
        if not batch or self._transport is None or self._over:
            return
        if len(batch) == 1:
            self._transport.write(batch[0])
        else:
            self._transport.writelines(batch)
        if self._transport.get_write_buffer_size() > _HIGH_BYTES:
            self._stop_listening()
        if full and self.writable and self._session is not None:
            self._session.wake()


def _refusing(code: Disconnect) -> ConnAck:
    """The code of a CONNACK that says what one of a DISCONNECT would."""
    try:
        return ConnAck(code.value)
    except ValueError:
        return ConnAck.PROTOCOL_ERROR
