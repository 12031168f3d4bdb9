"""MQTT at one broker: its sessions, the groups that share subscriptions, and where a client has to go instead."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import uuid
from collections.abc import Callable, Coroutine
from typing import Any

import mqtt5
import msgspec
from mqtt5 import DisconnectReasonCode as Disconnect

from semcast.model import SemcastError
from semcast.model.message import ProfileText
from semcast.protocol.stores import Notes
from semcast.protocol.wire.frames import Detach
from semcast.server.broker import BrokerHost
from semcast.server.local import LocalClient
from semcast.server.mqtt.common import Common
from semcast.server.mqtt.connection import MqttConnection
from semcast.server.mqtt.feed import Feed
from semcast.server.mqtt.intake import Intake
from semcast.server.mqtt.names import Names, Shared, shared
from semcast.server.mqtt.properties import message_of
from semcast.server.mqtt.session import Session, Wanted
from semcast.server.mqtt.wire import MqttError, connects
from semcast.trees.topology import GATEWAY

_PREFIX = "mqtt/"


class SavedFilter(msgspec.Struct, frozen=True, array_like=True):
    filter: str
    profile: ProfileText
    qos: int
    no_local: bool
    identifier: int | None
    include: tuple[str, ...]


class SavedSession(msgspec.Struct, frozen=True, array_like=True):
    client_id: str
    nonce: str
    expiry_s: float
    away_ms: int | None
    filters: tuple[SavedFilter, ...]


def save(notes: Notes, saved: SavedSession) -> None:
    """Durable with the next commit: of a new subscription, before it is live."""
    notes.put(_PREFIX + saved.client_id, msgspec.msgpack.encode(saved))


def forget(notes: Notes, client_id: str) -> None:
    if notes.get(_PREFIX + client_id) is not None:
        notes.put(_PREFIX + client_id, None)


def saved_sessions(notes: Notes) -> list[SavedSession]:
    return [msgspec.msgpack.decode(value, type=SavedSession) for _, value in notes.items(_PREFIX)]


log = logging.getLogger("semcast")
_GROUP_EXPIRY_S = 60.0
"""How long a group outlives its last member when the gateway falls."""


class MqttFront:
    """Everything MQTT of one broker. Sessions that outlive a connection outlive the broker's process too."""

    def __init__(self, host: BrokerHost) -> None:
        self.host = host
        self.names = Names(host.streams)
        self.intake = Intake(host)
        self.sessions: dict[str, Session] = {}
        self.connections: set[MqttConnection] = set()
        self.stopping = False
        self._groups: dict[tuple[Shared, ProfileText], Feed] = {}
        self._commons: dict[ProfileText, Common] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.get_running_loop()
        topology = host.view.overlay()
        self._gateways = sorted(broker.id for broker in topology.brokers if GATEWAY in broker.roles)
        for saved in saved_sessions(host.store.notes):
            self._restore(saved)

    # --- a front of the broker's door

    def speaks(self, head: bytes) -> bool:
        return connects(head)

    def protocol(self) -> asyncio.Protocol:
        return MqttConnection(self)

    async def stop(self) -> None:
        """Tell all clients to go, and keep what has to be kept."""
        if self.stopping:
            return
        self.stopping = True
        for connection in list(self.connections):
            connection.end(MqttError(Disconnect.SERVER_SHUTTING_DOWN, f"{self.host.name} is being stopped"))
        for session in list(self.sessions.values()):
            if session.expiring is not None:
                session.expiring.cancel()
            if session.will is not None:
                session.will[1].cancel()
            for wanted in session.wanted.values():
                if not wanted.shared and isinstance(wanted.feed, Feed):
                    self.spawn(wanted.feed.close(keep=True))
        for feed in self._groups.values():
            self.spawn(feed.close(keep=True))
        for common in self._commons.values():
            self.spawn(common.close())
        while self._tasks:
            await asyncio.wait(list(self._tasks))
        await self.intake.stop()

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Have something done that nobody waits for."""
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._spawned)
        return task

    def _spawned(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.error("%s: mqtt: %s", self.host.name, task.exception(), exc_info=task.exception())

    def count(self, what: str) -> None:
        self.host.notes[what] += 1

    # --- sessions

    def connect(self, connection: MqttConnection, packet: mqtt5.ConnectPacket, client_id: str) -> tuple[Session, bool]:
        """The session of a client that connects, and whether there was one. A client has one connection at a time."""
        before = self.sessions.get(client_id)
        if before is not None and before.connection is not None:
            before.connection.end(MqttError(Disconnect.SESSION_TAKEN_OVER, "the client has connected again"))
        before = self.sessions.get(client_id)
        if before is not None and packet.clean_start:
            self.end(before)
            before = None
        expiry_s = min(float(packet.session_expiry_interval), self.host.settings.expiry_s)
        session = before or Session(self, client_id, uuid.uuid4().hex[:12], durable=expiry_s > 0)
        session.expiry_s = expiry_s
        self.sessions[client_id] = session
        session.arrive(connection)
        self.save(session)
        return session, before is not None

    def left(self, session: Session, will: mqtt5.Will | None) -> None:
        """A client's connection has ended; ``will`` is what it wanted to be published then."""
        session.leave()
        if will is not None and not self.stopping:
            delay_s = min(float(will.will_delay_interval), session.expiry_s)
            session.will = will, self._loop.call_later(delay_s, self._publish_will, session)
        if session.expiry_s <= 0:
            self.end(session)
            return
        self.save(session)
        session.expiring = self._loop.call_later(session.expiry_s, self.end, session)

    def end(self, session: Session) -> None:
        """A session is over, and so are its subscriptions."""
        self._publish_will(session)
        if self.sessions.get(session.client_id) is session:
            del self.sessions[session.client_id]
        if session.expiring is not None:
            session.expiring.cancel()
        forget(self.host.store.notes, session.client_id)
        for filter in list(session.wanted):
            self.release(session, filter)

    def save(self, session: Session) -> None:
        """Note what a restart of the broker must not take."""
        if not session.durable or self.sessions.get(session.client_id) is not session:
            return
        filters = tuple(
            SavedFilter(filter, wanted.feed.profile, wanted.qos, wanted.no_local, wanted.identifier, wanted.include)
            for filter, wanted in session.wanted.items()
        )
        saved = SavedSession(session.client_id, session.nonce, session.expiry_s, session.away_ms, filters)
        save(self.host.store.notes, saved)

    async def kept(self, session: Session) -> None:
        """What was noted of a session is durable when this returns."""
        if session.durable:
            await self.host.committed()

    def _restore(self, saved: SavedSession) -> None:
        now_ms = self.intake.now_ms()
        left_s = saved.expiry_s - (now_ms - (saved.away_ms or now_ms)) / 1000
        if left_s <= 0:
            forget(self.host.store.notes, saved.client_id)
            for filter in saved.filters:
                self.host.told(saved.nonce, Detach(_session_name(saved.client_id, saved.nonce, filter.filter)))
            return
        session = Session(self, saved.client_id, saved.nonce, durable=True)
        session.expiry_s, session.away_ms = saved.expiry_s, saved.away_ms or now_ms
        self.sessions[saved.client_id] = session
        for held in saved.filters:
            share = shared(held.filter)
            try:
                feed = self.feed(session, held.filter, held.profile, share)
            except SemcastError as error:
                log.warning("%s: %r loses %r: %s", self.host.name, saved.client_id, held.filter, error)
                continue
            wanted = Wanted(feed, held.qos, held.no_local, held.identifier, held.include, share is not None)
            session.add(held.filter, wanted)
        session.expiring = self._loop.call_later(left_s, self.end, session)

    # --- subscriptions

    def feed(self, session: Session, filter: str, profile: ProfileText, share: Shared | None) -> Feed:
        """A feed of a session's filter, or the one of its group."""
        if share is None:
            name = _session_name(session.client_id, session.nonce, filter) if session.durable else None
            return self._open(profile, name, self.host.settings.expiry_s)
        key = share, profile
        if key not in self._groups:
            name = f"mqtt/$share/{share.group}/{share.filter}/{profile.text}"
            self._groups[key] = self._open(profile, name, _GROUP_EXPIRY_S)
        return self._groups[key]

    def common(self, profile: ProfileText) -> Common:
        """The feed of all who want the same at QoS 0, as long as they are connected."""
        if profile not in self._commons:
            self._commons[profile] = Common(self, profile, self._common_failed)
        return self._commons[profile]

    def set_apart(self, session: Session, filter: str) -> None:
        """Give a session a feed of its own, which goes on where the common one is."""
        common = session.wanted[filter].feed
        self.count("mqtt set apart")
        session.move(filter, lambda cursor: self._open(common.profile, None, 0.0, cursor, self._caught_up))
        # The common one goes on, also for nobody: it is what they come back to.

    def _caught_up(self, feed: Feed) -> bool:
        """A feed has nothing left to give: can its taker have a common one instead?"""
        session = next((taker for taker in feed.takers if isinstance(taker, Session)), None)
        filter = session.filter_of(feed) if session is not None else None
        if session is None or filter is None or session.connection is None or not session.connection.keeps_up:
            return False
        wanted = session.wanted[filter]
        common = self._commons.get(feed.profile)
        if common is None or wanted.qos or wanted.no_local:
            return False
        given = feed.given
        if any(given.get(source, 0) < number for source, number in common.given.items()):
            return False
        session.rejoin(filter, common)
        self.spawn(feed.close())
        return True

    def _apart(self, profile: ProfileText) -> bool:
        """Is anybody set apart who may come back to a common feed?"""
        wanted = (each for session in self.sessions.values() for each in session.wanted.values())
        return any(isinstance(each.feed, Feed) and each.feed.profile == profile and not each.qos for each in wanted)

    def _left_alone(self, feed: Feed | Common) -> asyncio.Task[None] | None:
        """End a feed that nobody takes from."""
        if feed.takers:
            return None
        if isinstance(feed, Feed):
            common = self._commons.get(feed.profile)
            if common is not None and not common.takers and not self._apart(feed.profile):
                self._left_alone(common)
        self._groups = {key: other for key, other in self._groups.items() if other is not feed}
        self._commons = {key: other for key, other in self._commons.items() if other is not feed}
        return self.spawn(feed.close())

    def _open(
        self,
        profile: ProfileText,
        name: str | None,
        expiry_s: float,
        cursor: dict[str, int] | None = None,
        idle: Callable[[Feed], bool] | None = None,
    ) -> Feed:
        gateway = self.host.node.gateway
        known = gateway.sessions.get(name) if gateway is not None and name is not None else None
        if known is not None:
            profile = known.profile  # the last that was live, whether we had time to note it or not
        client = LocalClient(self.host)
        try:
            return Feed(client, profile, self._failed, session=name, expiry_s=expiry_s, cursor=cursor, idle=idle)
        except SemcastError:
            self.host.forget_local(client.name)
            raise

    def release(self, session: Session, filter: str) -> asyncio.Task[None] | None:
        """A session gives a filter up; None where it had none."""
        wanted = session.remove(filter)
        if wanted is None:
            return None
        return self._left_alone(wanted.feed) or self.spawn(asyncio.sleep(0))

    def _failed(self, feed: Feed, reason: str) -> None:
        """A subscription cannot go on: whoever has it is told by the end of its connection."""
        for session in list(self.sessions.values()):
            filter = session.filter_of(feed)
            if filter is not None:
                self._give_up(session, filter, reason)

    def _common_failed(self, common: Common, reason: str) -> None:
        for member in common.members:
            self._give_up(member.session, member.filter, reason)

    def _give_up(self, session: Session, filter: str, reason: str) -> None:
        self.release(session, filter)
        if session.connection is not None:
            session.connection.end(MqttError(Disconnect.UNSPECIFIED_ERROR, f"{filter}: {reason}"))

    # --- elsewhere

    def elsewhere(self, share: Shared | None) -> MqttError | None:
        """Where a client has to subscribe instead; None where it is right here.

        A group hangs on one gateway, which all agree on without a word: each would be given every message at two.
        """
        if share is None:
            if GATEWAY in self.host.roles:
                return None
            there = next((name for name in self._gateways if name in self.host.view.members), None)
            reason = f"{self.host.name} is no gateway"
        else:
            there = max(self._gateways, key=lambda name: _weight(share.group, name), default=None)
            reason = f"the group {share.group!r} is at {there}"
        if there == self.host.name:
            return None
        member = self.host.view.members.get(there) if there is not None else None
        if member is None:
            return MqttError(Disconnect.SERVER_BUSY, f"{reason}; no gateway for it is there at the moment")
        return MqttError(Disconnect.USE_ANOTHER_SERVER, f"{reason}: use {member.address}", server=member.address)

    # --- wills

    def _publish_will(self, session: Session) -> None:
        if session.will is None:
            return
        (will, timer), session.will = session.will, None
        timer.cancel()
        if self.stopping:
            return
        try:
            message = message_of(will, *self.names.place(will.topic), self.intake.now_ms())
            self.intake.publish(self.intake.source(), message)
        except SemcastError as error:
            self.count("mqtt refused")
            log.warning("%s: the will of %r is refused: %s", self.host.name, session.client_id, error)


def _session_name(client_id: str, nonce: str, filter: str) -> str:
    return f"mqtt/{client_id}/{nonce}/{filter}"


def _weight(group: str, gateway: str) -> bytes:
    return hashlib.sha256(f"{group}\0{gateway}".encode()).digest()
