"""Subscriptions on their way to somebody who may be slow, or gone in the middle.

A feed takes from its subscription what has come and is told when that was written; only then it counts as taken. So a
reader who stops reading stops its session, which holds no more than its share, and nothing else.
"""

from __future__ import annotations

import asyncio
import uuid
from collections import deque
from collections.abc import Mapping

import msgspec

from semcast.client.messages import Gap, Received
from semcast.client.subscription import Subscription
from semcast.server.broker import BrokerHost
from semcast.server.http.answers import Problem
from semcast.server.http.cursors import Cursor, written
from semcast.server.local import LocalClient

EXPIRY_S = 60.0
"""How long a session that its client did not name waits for who comes back."""
MOST = 4096
"""Feeds of one gateway."""


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody wants to be sent."""

    stream: str
    profile: str
    start: str = "latest"
    session: str = ""
    ordered: bool = True
    max_delay_ms: float | None = None
    expiry_s: float | None = None
    cursor: Cursor | None = None
    """Where the client was, if it was here or elsewhere before."""

    @property
    def durable(self) -> bool:
        return bool(self.session) or self.expiry_s != 0


class Live(msgspec.Struct, frozen=True):
    """From here on nothing that matches is missed."""

    session: str
    expected_delay_ms: float | None


class Event(msgspec.Struct, frozen=True):
    """Something to be told, and the cursor that counts when it was."""

    what: Live | Gap | Received
    cursor: str
    reached: Mapping[str, int]


class Feed:
    """One subscription of one reader."""

    def __init__(self, client: LocalClient, wish: Wish, session: str, cursor: Cursor) -> None:
        self.wish = wish
        self.client = client
        self.given = 0
        """Messages that were given out."""
        self._in_cursor = "" if wish.session or not wish.durable else session
        self._live_told = False
        self._last: dict[str, int] = {}
        self._out: deque[Event] = deque()
        self.subscription: Subscription = client.subscribe(
            wish.stream,
            wish.profile,
            max_delay_ms=wish.max_delay_ms,
            start=written(cursor.through, {}) if cursor.through else wish.start,
            have=cursor.have,
            session=session if wish.durable else None,
            ordered=wish.ordered,
            expiry_s=wish.expiry_s if wish.expiry_s is not None or wish.session else EXPIRY_S,
            on_gap=lambda gap: self._out.append(self._event(gap)),
        )

    @property
    def session(self) -> str:
        return self.subscription.session

    @property
    def over(self) -> bool:
        return self.subscription.over

    @property
    def cursor(self) -> str:
        """What was given out, as a client can say it later. In source order the last number says all."""
        through = self.subscription.cursor
        if not self.wish.ordered:
            return written(through, self.subscription.have, self._in_cursor)
        for source, number in self._last.items():
            through[source] = max(number, through.get(source, 0))
        return written(through, {}, self._in_cursor)

    def ready(self) -> Event | None:
        """The next to be told, if there is something now; SemcastError where the subscription is refused.

        Looking for the next message may turn up that something was lost before it: then that comes first.
        """
        self._look_whether_live()
        if not self._out:
            message = self.subscription.ready()
            self._look_whether_live()
            if message is not None:
                self.given += 1
                if self.wish.ordered:
                    self._last[message.source] = message.number
                self._out.append(self._event(message))
        return self._out.popleft() if self._out else None

    def _look_whether_live(self) -> None:
        if not self._live_told and self.subscription.is_live:
            self._live_told = True
            self._out.append(self._event(Live(self.session, self.subscription.expected_delay_ms)))

    def _event(self, what: Live | Gap | Received) -> Event:
        return Event(what, self.cursor, self.subscription.reached)

    async def news(self, within_s: float) -> None:
        """Wait until ``ready`` may have something, or for so long."""
        try:
            async with asyncio.timeout(within_s):
                await self.subscription.news()
        except TimeoutError:
            return

    def taken(self, reached: Mapping[str, int] | None = None) -> None:
        """What was given out is with the reader: all of it, or all until then."""
        self.subscription.confirm(reached)


class Feeds:
    """All feeds of one gateway, by session. Of two readers of one session the later has it."""

    def __init__(self, host: BrokerHost) -> None:
        self.open: dict[str, Feed] = {}
        self._stopping = False
        self._host = host

    async def begin(self, wish: Wish) -> Feed:
        """Subscribe for a reader; SemcastError where the profile makes no sense."""
        if len(self.open) >= MOST:
            raise Problem(503, f"{self._host.name} has {MOST} readers already", headers={"retry-after": "5"})
        await self._host.long_profiles.prepare(wish.stream, wish.profile)
        cursor = wish.cursor or Cursor()
        session = wish.session or cursor.session or f"http-{uuid.uuid4().hex}"
        earlier = self.open.get(session)
        if earlier is not None:
            await self.end(earlier)
        client = LocalClient(self._host)
        try:
            feed = Feed(client, wish, session, cursor if cursor.through else self._remembered(wish, session))
        except BaseException:
            await client.close()
            raise
        self.open[session] = feed
        return feed

    def _remembered(self, wish: Wish, session: str) -> Cursor:
        """Where a session was whose client does not say it; what was not taken then comes again."""
        gateway = self._host.node.gateway
        known = gateway.sessions.get(session) if gateway is not None and wish.durable else None
        if known is None or not known.attach.durable:
            return Cursor()
        return Cursor(dict(known.cursor), dict(known.above()))

    async def replace(self, feed: Feed, profile: str) -> None:
        """Have a reader be sent something else; returns when it counts."""
        await self._host.long_profiles.prepare(feed.wish.stream, profile)
        await feed.subscription.replace(profile)

    async def end(self, feed: Feed, *, keep: bool = True) -> None:
        """Let go of a reader. A durable session waits for who comes back, with what was not taken."""
        if self.open.get(feed.session) is feed:
            del self.open[feed.session]
        await feed.subscription.close(keep=keep and (feed.wish.durable or self._stopping), taken=False)
        await feed.client.close()

    async def stop(self) -> None:
        """Sessions that are not durable end with their gateway; nobody is there any more to be told."""
        self._stopping = True
        await asyncio.gather(*(self.end(feed) for feed in list(self.open.values())))
