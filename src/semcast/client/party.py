"""A party that publishes and subscribes: the Python client, and the fronts that speak for others."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from semcast.client.appending import Appending
from semcast.client.closing import close_all
from semcast.client.messages import Gap, start_of
from semcast.client.publishing import Publishing
from semcast.client.schedule import Schedule
from semcast.client.subscription import Subscription
from semcast.model import SemcastError
from semcast.model.message import Message, ProfileText
from semcast.protocol.client.subscriber import Subscriber
from semcast.protocol.settings import Settings
from semcast.protocol.streams import Streams
from semcast.protocol.values import encoded
from semcast.protocol.wire.frames import AnyFrame, ProtocolError


class Party:
    """Keeps subscriptions and publishers, and gives each the frames that are its own.

    Subclasses know how a frame leaves (``say``), whom they can reach, and what time it is in the overlay.
    """

    name: str
    settings: Settings
    streams: Streams
    running: bool

    def __init__(self) -> None:
        self._subscriptions: dict[str, Subscription] = {}
        self._publishing: dict[str, Publishing] = {}
        self._appending: dict[str, Appending] = {}
        self._number = 0
        self.schedule = Schedule(self)

    # --- what subclasses know

    def say(self, to: str, frame: AnyFrame) -> int:
        raise NotImplementedError

    def overlay_time(self) -> tuple[float, float]:
        """Seconds since 1970 by the overlay's clocks, and by how much that may be wrong."""
        raise NotImplementedError

    def gateways(self) -> list[str]:
        """Where to subscribe: the nearest first; SemcastError where there is none."""
        raise NotImplementedError

    def gateways_now(self) -> list[str]:
        """As ``gateways``, but empty while an overlay is starting; ``Subscription.meet`` is called later then."""
        return self.gateways()

    def nearest_source(self) -> str:
        raise NotImplementedError

    def takes_many(self, gateway: str) -> bool | None:
        """Does a gateway take frames that speak of many sessions? None as long as that is not known."""
        return False

    def closes_orderly(self, gateway: str) -> bool:
        """Does a gateway keep what a client tells it that leaves a session for a while?"""
        return True

    # --- publishing

    def message(
        self,
        stream: str,
        payload: bytes | str | Mapping[str, Any] = b"",
        *,
        topic: str | None = None,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
        time_ms: int | None = None,
    ) -> Message:
        """A message to be published; a mapping becomes JSON, and event time is now where none is given."""
        if isinstance(payload, str):
            payload = payload.encode()
        elif not isinstance(payload, bytes):
            payload = encoded(payload)
        at = round(1000 * self.overlay_time()[0]) if time_ms is None else time_ms
        return Message(stream, payload, topic, at, key, tuple((headers or {}).items()))

    def publisher(self, source: str | None = None, *, origin: str | None = None, first: int = 0) -> Publishing:
        """A batching publisher at a source, or at the nearest one.

        A source takes each message of an ``origin`` once; by default the origin is this party at that source. An origin
        that has published before goes on with the number ``first``.
        """
        chosen = source or self.nearest_source()
        named = origin or f"{self.name}@{chosen}"
        if named not in self._publishing:
            self._publishing[named] = Publishing(self, chosen, named, first)
            self._publishing[named].begin()
        return self._publishing[named]

    def forget(self, publishing: Publishing) -> None:
        """A publisher that was stopped. Its origin may be used again only by who knows its next number."""
        self._publishing.pop(publishing.origin, None)

    def appending(self, origin: str, source: str) -> Appending:
        """Append at a source under an origin, with numbers of one's own."""
        if origin in self._appending or origin in self._publishing:
            raise SemcastError(f"the origin {origin!r} is in use here already")
        found = self._appending[origin] = Appending(self, source, origin)
        found.begin()
        return found

    # --- subscribing

    def subscribe(
        self,
        stream: str,
        profile: str | ProfileText,
        *,
        max_delay_ms: float | None = None,
        start: str = "latest",
        session: str | None = None,
        ordered: bool = False,
        gateways: list[str] | None = None,
        together: bool = False,
        expiry_s: float | None = None,
        have: Mapping[str, Iterable[int]] | None = None,
        cursor: Mapping[str, int] | None = None,
        on_gap: Callable[[Gap], None] | None = None,
    ) -> Subscription:
        """Subscribe; iterate over what is returned. With a ``session`` name it is durable: it waits for who comes back.

        ``start`` is latest, earliest or the id of a message, and ``have`` what is not wanted again behind it; or
        ``cursor`` says for each source where it starts;
        ``ordered`` asks for each source's order; with several gateways the next takes over when one fails, and with
        ``together`` all are used at a time.
        """
        text = profile if isinstance(profile, ProfileText) else self.streams.profile(stream, profile)
        kind, behind = start_of(start) if not cursor else ("earliest", dict(cursor))
        self._number += 1
        machine = Subscriber(
            self.name,
            session or f"{self.name}/{self._number}",
            gateways or self.gateways_now(),
            text,
            settings=self.settings,
            durable=session is not None,
            ordered=ordered,
            start=kind,
            max_delay_ms=max_delay_ms,
            together=together,
            cursor=behind,
            have=have,
            confirmed=True,
            expiry_s=expiry_s,
            life=uuid.uuid4().int >> 66,
        )
        if machine.session in self._subscriptions:
            raise SemcastError(f"there is a subscription {machine.session!r} already")
        subscription = Subscription(self, machine, stream, max_delay_ms=max_delay_ms, on_gap=on_gap)
        self._subscriptions[machine.session] = subscription
        subscription.begin()
        return subscription

    def ended(self, subscription: Subscription) -> None:
        self.schedule.remove(subscription)
        if self._subscriptions.get(subscription.session) is subscription:
            del self._subscriptions[subscription.session]

    async def leave(self) -> None:
        """Wait for what was published, and end all subscriptions; durable sessions stay."""
        await asyncio.gather(
            *(publishing.stop() for publishing in list(self._publishing.values())),
            *(appending.stop() for appending in list(self._appending.values())),
        )
        await close_all(list(self._subscriptions.values()))

    def dispatch(self, sender: str, frame: AnyFrame) -> None:
        """Give a frame to the subscription or publisher that it is for."""
        origin = getattr(frame, "origin", None)
        if origin is not None:
            found_origin = self._publishing.get(origin) or self._appending.get(origin)
            if found_origin is not None:
                found_origin.heard(sender, frame)
            return
        self.schedule.heard(sender)
        session = getattr(frame, "session", "")
        found = self._subscriptions.get(session)
        if found is not None:
            found.heard(sender, frame)
        elif isinstance(frame, ProtocolError) and not session:
            for subscription in list(self._subscriptions.values()):
                subscription.heard(sender, frame)
