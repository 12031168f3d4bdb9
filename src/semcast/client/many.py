"""Many subscriptions of one stream: begun together, read as one, ended together."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from semcast.client.closing import close_all
from semcast.client.messages import Gap, Received
from semcast.client.subscription import Subscription
from semcast.model import SemcastError
from semcast.model.message import ProfileText

if TYPE_CHECKING:
    from semcast.client.party import Party

ASKED = 4096
"""Subscriptions that are asked for and not live yet, at most: gateways are not flooded, however many are to come."""
_TURN_S = 0.005
"""How long profiles are read before the event loop sees to everything else."""
log = logging.getLogger("semcast")

Profiles = Sequence[str | ProfileText] | Mapping[Any, str | ProfileText]
Entry = Subscription | SemcastError


class Subscriptions(Sequence[Entry]):
    """In the order of their profiles: each a subscription that is live, or the error in its place.

    ``async for id, message in subscriptions`` reads all of them as one, in turns, so that a busy one keeps no other
    waiting. A message counts as taken when the next one is asked for. One that fails later is put down in ``errors``,
    and the others go on; it ends when all have ended.
    """

    def __init__(self, entries: Mapping[Any, Entry]) -> None:
        self.ids: tuple[Any, ...] = tuple(entries)
        """The keys of the mapping that was given, or places."""
        self.errors: dict[int, SemcastError] = {}
        """Place → why there is no subscription, or none any more."""
        self._entries: list[Entry] = list(entries.values())
        self._places: dict[Subscription, int] = {}
        """Of those that go on."""
        self._ready: deque[Subscription] = deque()
        self._in_ready: set[Subscription] = set()
        self._news = asyncio.Event()
        self._last: Subscription | None = None
        for place, entry in enumerate(self._entries):
            if isinstance(entry, Subscription):
                self._places[entry] = place
                entry.listener = self._hear
                self._hear(entry)
            else:
                self.errors[place] = entry

    def __len__(self) -> int:
        return len(self._entries)

    @overload
    def __getitem__(self, place: int) -> Entry: ...

    @overload
    def __getitem__(self, place: slice) -> list[Entry]: ...

    def __getitem__(self, place: int | slice) -> Entry | list[Entry]:
        return self._entries[place]

    @property
    def live(self) -> list[Subscription]:
        """Those that go on."""
        return list(self._places)

    def __aiter__(self) -> Subscriptions:
        return self

    async def __anext__(self) -> tuple[Any, Received]:
        """The id of a profile and the next message that it matched."""
        if self._last is not None:
            self._last.confirm()
            self._last = None
        while True:
            found = self._next()
            if found is not None:
                return found
            if not self._places:
                raise StopAsyncIteration
            self._news.clear()
            await self._news.wait()

    def _next(self) -> tuple[Any, Received] | None:
        while self._ready:
            subscription = self._ready.popleft()
            self._in_ready.discard(subscription)
            place = self._places.get(subscription)
            if place is None:
                continue
            try:
                message = subscription.ready()
            except SemcastError as error:
                log.warning("%s: %s", self.ids[place], error)
                self.errors[place] = self._entries[place] = error
                subscription.end()
                message = None
            if message is not None:
                self._last = subscription
                self._hear(subscription)  # there may be more; the others come first
                return self.ids[place], message
            if subscription.over:
                del self._places[subscription]
        return None

    def _hear(self, subscription: Subscription) -> None:
        if subscription not in self._in_ready:
            self._in_ready.add(subscription)
            self._ready.append(subscription)
            self._news.set()

    async def close(self, *, keep: bool = False) -> None:
        """End all of them; with ``keep``, durable sessions stay at their gateways, to be taken up again."""
        self._last = None
        await close_all(self.live, keep=keep)


async def subscribe_many(
    party: Party,
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
    """Subscribe to many profiles; returns when each is live or refused.

    SemcastError where nothing of it makes sense: there is no such stream, or durable ones have no ids.
    """
    if party.streams.declared and stream not in party.streams.declared:
        raise SemcastError(party.streams.unknown(stream))
    if session is not None and not isinstance(profiles, Mapping):
        raise SemcastError("durable subscriptions need names that stay: give a mapping from ids to profiles")
    given: Mapping[Any, str | ProfileText] = profiles if isinstance(profiles, Mapping) else dict(enumerate(profiles))
    options: dict[str, Any] = {
        "start": start,
        "ordered": ordered,
        "gateways": gateways or party.gateways_now(),
        "together": together,
        "expiry_s": expiry_s,
    }
    beginning = _Beginning(party)
    try:
        for id, profile in given.items():
            bound = max_delay_ms.get(id) if isinstance(max_delay_ms, Mapping) else max_delay_ms
            own = {"session": None if session is None else f"{session}/{id}", "max_delay_ms": bound}
            await beginning.add(id, stream, profile, {**options, **own, "on_gap": _with_id(on_gap, id)})
        return await beginning.settled()
    except BaseException:
        await beginning.give_up()
        raise


def _with_id(on_gap: Callable[[Any, Gap], None] | None, id: Any) -> Callable[[Gap], None] | None:
    return None if on_gap is None else lambda gap: on_gap(id, gap)


class _Beginning:
    """Subscriptions on their way to be live."""

    def __init__(self, party: Party) -> None:
        self._party = party
        self._entries: dict[Any, Entry] = {}
        self._asked: deque[tuple[Any, Subscription]] = deque()
        self._loop = asyncio.get_running_loop()
        self._rested_at = self._loop.time()

    async def add(self, id: Any, stream: str, profile: str | ProfileText, options: dict[str, Any]) -> None:
        """Ask for one more; waits while very many are asked for."""
        try:
            subscription = self._party.subscribe(stream, profile, **options)
        except SemcastError as error:
            self._entries[id] = error
        else:
            self._entries[id] = subscription
            self._asked.append((id, subscription))
        if self._loop.time() - self._rested_at > _TURN_S:
            await asyncio.sleep(0)
            self._rested_at = self._loop.time()
        while len(self._asked) >= ASKED:
            await self._settle()

    async def settled(self) -> Subscriptions:
        while self._asked:
            await self._settle()
        return Subscriptions(self._entries)

    async def _settle(self) -> None:
        id, subscription = self._asked.popleft()
        try:
            await subscription.live()
        except SemcastError as error:
            self._entries[id] = error
            subscription.end()  # its gateway has no session for it

    async def give_up(self) -> None:
        begun = [entry for entry in self._entries.values() if isinstance(entry, Subscription)]
        await close_all(begun, keep=None)
