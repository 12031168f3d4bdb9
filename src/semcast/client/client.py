"""The Python client: connect, publish, subscribe."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any

from semcast.client.many import Profiles, Subscriptions, subscribe_many
from semcast.client.messages import Gap, Receipt
from semcast.client.overlay import PATIENCE_S, OtherVersion, OverlayConnection, Unreachable
from semcast.client.publishing import Publishing
from semcast.client.subscription import Subscription
from semcast.model.message import Message, ProfileText
from semcast.protocol.streams import Streams

__all__ = ["Client", "OtherVersion", "Unreachable", "connection_of"]


class Client:
    """A client of an overlay. Use it with ``async with semcast.connect(url) as client``."""

    def __init__(self, url: str | None = None, *, name: str | None = None) -> None:
        self._connection = OverlayConnection(url, name=name)

    async def __aenter__(self) -> Client:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def name(self) -> str:
        """What the overlay calls this client."""
        return self._connection.name

    @property
    def streams(self) -> Streams:
        """The streams that the overlay declares, as far as this client was told."""
        return self._connection.streams

    async def open(self, patience_s: float = PATIENCE_S) -> None:
        """Connect to the first that answers; Unreachable where none does, OtherVersion where none can be talked to."""
        await self._connection.open(patience_s)

    async def close(self) -> None:
        """Wait for what was published, end all subscriptions but durable ones, and go."""
        await self._connection.close()

    async def publish(
        self,
        stream: str,
        payload: bytes | str | Mapping[str, Any] = b"",
        *,
        topic: str | None = None,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
        time_ms: int | None = None,
        source: str | None = None,
    ) -> Receipt:
        """Publish a message; returns when it is durable. Refused where it does not fit its stream."""
        if source is None:
            await self._connection.source_up()
        message = self.message(stream, payload, topic=topic, key=key, headers=headers, time_ms=time_ms)
        return await self.publisher(source).publish(message)

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
        return self._connection.message(stream, payload, topic=topic, key=key, headers=headers, time_ms=time_ms)

    def publisher(self, source: str | None = None, *, origin: str | None = None, first: int = 0) -> Publishing:
        """A batching publisher at a source, or at the nearest one.

        A source takes each message of an ``origin`` once; by default the origin is this client at that source. An
        origin that has published before goes on with the number ``first``.
        """
        return self._connection.publisher(source, origin=origin, first=first)

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
        """Subscribe; ``await`` the result to have it live, and iterate over it.

        With a ``session`` name it is durable: it waits for a client that comes back. ``start`` is latest, earliest or
        the id of a message, and ``have`` what is not wanted again behind it; or ``cursor`` says for each source where
        it starts. ``ordered`` asks for each source's order. With several gateways the next takes over when one fails,
        and with ``together`` all are used at a time.
        """
        return self._connection.subscribe(
            stream,
            profile,
            max_delay_ms=max_delay_ms,
            start=start,
            session=session,
            ordered=ordered,
            gateways=gateways,
            together=together,
            expiry_s=expiry_s,
            have=have,
            cursor=cursor,
            on_gap=on_gap,
        )

    async def subscribe_many(
        self,
        stream: str,
        profiles: Profiles,
        *,
        max_delay_ms: float | Mapping[Any, float] | None = None,
        start: str = "latest",
        session: str | None = None,
        ordered: bool = False,
        gateways: list[str] | None = None,
        together: bool = False,
        expiry_s: float | None = None,
        on_gap: Callable[[Any, Gap], None] | None = None,
    ) -> Subscriptions:
        """Subscribe to thousands of profiles in one call; returns when each is live, or refused: errors by place.

        ``profiles`` is a sequence, or a mapping from ids; ``async for id, message in …`` reads all of them as one, with
        places as ids of a sequence. With a ``session`` they are durable, each by the name ``session/id``, which takes a
        mapping. ``max_delay_ms`` is one bound for all, or one by id. All else is as in ``subscribe``.
        """
        return await subscribe_many(
            self._connection,
            stream,
            profiles,
            max_delay_ms=max_delay_ms,
            start=start,
            session=session,
            ordered=ordered,
            gateways=gateways,
            together=together,
            expiry_s=expiry_s,
            on_gap=on_gap,
        )

    def gateways(self) -> list[str]:
        """The one that was connected to first, if it is one, then all others."""
        return self._connection.gateways()

    async def ask(self, what: str, *, of: str | None = None) -> Any:
        """Ask the party that was connected to first, or another, for its status and the like."""
        return await self._connection.ask(what, of=of)


def connection_of(client: Client) -> OverlayConnection:
    """What is behind a client, for parts of SemCast that do more with it than publish and subscribe."""
    return client._connection
