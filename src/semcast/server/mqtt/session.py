"""An MQTT session: what a client has subscribed to and not acknowledged, while it is connected and while it is not.

It lives in the gateway's process for as long as the client may come back, and holds the overlay's subscriptions
meanwhile; what is new waits in the sources' logs. All that has to survive the gateway is in its notes, and in the
overlay's own durable sessions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import mqtt5
from mqtt5 import SubAckReasonCode as SubAck

from semcast.server.mqtt.common import Common
from semcast.server.mqtt.feed import Entry, Feed
from semcast.server.mqtt.properties import Expired, packet_of, sender_of

if TYPE_CHECKING:
    from semcast.server.mqtt.connection import MqttConnection
    from semcast.server.mqtt.front import MqttFront

_IDS = 65535


@dataclass(slots=True)
class Wanted:
    """One filter of a client."""

    feed: Feed | Common
    qos: int
    no_local: bool
    identifier: int | None
    include: tuple[str, ...]
    shared: bool


class Session:
    """The session of one client id."""

    def __init__(self, front: MqttFront, client_id: str, nonce: str, *, durable: bool) -> None:
        self.front, self.client_id, self.nonce, self.durable = front, client_id, nonce, durable
        self.expiry_s = 0.0
        self.away_ms: int | None = None
        """When the client left, since 1970; None while it is here."""
        self.wanted: dict[str, Wanted] = {}
        self.connection: MqttConnection | None = None
        self.expiring: asyncio.TimerHandle | None = None
        self.will: tuple[mqtt5.Will, asyncio.TimerHandle] | None = None
        """What is to be published if the client does not come back in time."""
        self._by_feed: dict[Feed, str] = {}
        self._inflight: dict[int, Entry] = {}
        """By packet id, in the order in which they were sent."""
        self._again: list[int] = []
        """Packet ids of what has to be sent again before anything new is."""
        self._number = 0

    # --- subscriptions

    def add(self, filter: str, wanted: Wanted) -> None:
        """Have a filter, in place of an equal one."""
        self.wanted[filter] = wanted
        if isinstance(wanted.feed, Common):
            wanted.feed.join(self, filter)
        else:
            self._by_feed[wanted.feed] = filter
            wanted.feed.join(self)

    def remove(self, filter: str) -> Wanted | None:
        """No more of a filter; what is under way for it is settled, or goes to others of its group."""
        wanted = self.wanted.pop(filter, None)
        if wanted is None:
            return None
        self._part(filter, wanted.feed)
        if wanted.shared and isinstance(wanted.feed, Feed):
            wanted.feed.again(self._reclaimed(wanted.feed))
        return wanted

    def _part(self, filter: str, feed: Feed | Common) -> dict[str, int]:
        """Take nothing more from a feed; from a common one, the positions through which it gave everything."""
        if isinstance(feed, Common):
            return feed.part(self, filter)
        del self._by_feed[feed]
        feed.part(self)
        return {}

    def move(self, filter: str, open: Callable[[dict[str, int]], Feed]) -> None:
        """Leave a common feed for one that goes on where it was."""
        wanted = self.wanted[filter]
        feed = open(self._part(filter, wanted.feed))
        self.add(filter, replace(wanted, feed=feed))

    def rejoin(self, filter: str, common: Common) -> None:
        """Leave a feed of its own, which is idle, for one that gave no more."""
        wanted = self.wanted[filter]
        assert isinstance(wanted.feed, Feed)
        self._part(filter, wanted.feed)
        self.wanted[filter] = replace(wanted, feed=common)
        common.join(self, filter, wanted.feed.given)

    def filter_of(self, feed: Feed) -> str | None:
        return self._by_feed.get(feed)

    @property
    def tells_sender(self) -> bool:
        """Does it have to be known which messages are its own?"""
        return any(wanted.no_local for wanted in self.wanted.values())

    # --- coming and going

    def arrive(self, connection: MqttConnection) -> None:
        """The client is here; with the next ``wake`` it is sent what it has not acknowledged, then what is new."""
        self.connection, self.away_ms = connection, None
        if self.expiring is not None:
            self.expiring.cancel()
            self.expiring = None
        if self.will is not None:
            self.will[1].cancel()
            self.will = None
        self._again = list(self._inflight)

    def leave(self) -> None:
        """The client is gone; what it shares with others is theirs."""
        self.connection, self.away_ms = None, self.front.intake.now_ms()
        for wanted in self.wanted.values():
            if wanted.shared and isinstance(wanted.feed, Feed):
                wanted.feed.again(self._reclaimed(wanted.feed))

    def _reclaimed(self, feed: Feed) -> list[Entry]:
        held = {number: entry for number, entry in self._inflight.items() if entry.feed is feed}
        for number in held:
            del self._inflight[number]
        self._again = [number for number in self._again if number not in held]
        return list(held.values())

    def wake(self) -> None:
        """Send what can be sent."""
        connection = self.connection
        while self._again and connection is not None and connection.writable:
            if len(self._inflight) - len(self._again) >= connection.receive_max:
                break
            number = self._again.pop(0)
            self._send(self._inflight[number], number, duplicate=True)
        for feed in list(self._by_feed):
            feed.wake()

    # --- messages

    def ready(self, feed: Feed) -> bool:
        connection = self.connection
        if connection is None or not connection.writable or self._again:
            return False
        wanted = self.wanted[self._by_feed[feed]]
        return not wanted.qos or len(self._inflight) < connection.receive_max

    def give(self, entry: Entry) -> None:
        wanted = self.wanted[self._by_feed[entry.feed]]
        if wanted.no_local and sender_of(entry.received.message) == self.client_id:
            entry.feed.settle(entry)
        elif not wanted.qos:
            self._send(entry, None)
            entry.feed.settle(entry)
        else:
            number = self._free()
            self._inflight[number] = entry
            self._send(entry, number)

    def _free(self) -> int:
        while True:
            self._number = self._number % _IDS + 1
            if self._number not in self._inflight:
                return self._number

    def _send(self, entry: Entry, number: int | None, *, duplicate: bool = False) -> None:
        """Send a message; one that cannot be sent, or must not any more, counts as delivered (MQTT 5, 3.1.2.11.4)."""
        filter = self._by_feed.get(entry.feed)
        wanted = self.wanted.get(filter) if filter is not None else None
        assert self.connection is not None
        try:
            packet = packet_of(
                entry.received,
                self.front.names.topic(entry.received.message),
                self.front.intake.now_ms(),
                qos=mqtt5.QoS.AT_MOST_ONCE if number is None else mqtt5.QoS.AT_LEAST_ONCE,
                packet_id=number,
                duplicate=duplicate,
                subscription=wanted.identifier if wanted is not None else None,
                include=wanted.include if wanted is not None else (),
                gaps=entry.gaps,
            )
            sent = self.connection.publish(packet)
        except Expired:
            sent = False
            self.front.count("mqtt expired")
        except ValueError:
            sent = False
            self.front.count("mqtt unsendable")
        if not sent and number is not None:
            del self._inflight[number]
            entry.feed.settle(entry)

    def acknowledged(self, number: int) -> None:
        """PUBACK of a packet id; of one that is not under way it means nothing."""
        entry = self._inflight.pop(number, None)
        if entry is None:
            return
        if number in self._again:
            self._again.remove(number)
        entry.feed.settle(entry)
        self.wake()


def granted(qos: int) -> SubAck:
    return SubAck.GRANTED_QOS_AT_LEAST_ONCE if qos else SubAck.GRANTED_QOS_AT_MOST_ONCE
