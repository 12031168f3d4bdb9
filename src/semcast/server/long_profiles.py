"""Profiles with very many values: read and indexed in a thread, before any machine sees them.

A list of 100,000 values takes 0.3 s of a processor. On the event loop that would be a third of a second without
heartbeats and acknowledgements; in a thread it is a third of a second for the client that asked. Machines find what was
read in the memory of ``protocol.filters``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from semcast.model import SemcastError
from semcast.model.message import ProfileText
from semcast.net.connection import Connection
from semcast.protocol.contract import Received
from semcast.protocol.profile_texts import LONG
from semcast.protocol.wire.codec import AnyView
from semcast.protocol.wire.frames import AnyFrame, Attach, AttachMany, Install, ProtocolError, Switch
from semcast.protocol.wire.framing import MAX_FRAME

if TYPE_CHECKING:
    from semcast.server.broker import BrokerHost

_REMEMBERED = 64


class LongProfiles:
    """Those of one broker. ``gateways`` is how many the overlay has."""

    def __init__(self, host: BrokerHost, gateways: int) -> None:
        self._host = host
        self._read: dict[ProfileText, None] = {}
        self._being_read: list[AnyFrame] = []
        self._room = 3 * MAX_FRAME // 4 // max(1, gateways)
        """Characters that all long profiles of a gateway may have: a source is told of all gateways' in one frame."""

    def take(self, peer: Connection, frame: AnyView) -> bool:
        """Read what is long in a frame, and tell the machine of it then; False where nothing is."""
        if not isinstance(frame, Attach | AttachMany | Switch | Install):
            return False
        found = [profile for profile in _profiles(frame) if len(profile.text) >= LONG]
        unread = [profile for profile in dict.fromkeys(found) if profile not in self._read]
        if not unread:
            return False
        if isinstance(frame, Attach | AttachMany):
            self._host.set_aside(peer, self._attach(peer, frame))  # what its client says next comes after it
        elif frame not in self._being_read:  # a coordinator says it again until it is answered
            self._being_read.append(frame)
            self._host.spawn(self._told_later(peer.name, frame, unread))
        return True

    async def prepare(self, stream: str, text: str) -> None:
        """Read a profile, if it is long, for a client within this process; SemcastError where it is none."""
        declared = self._host.streams.declared.get(stream)
        if declared is None or len(text) < LONG:
            return
        asked = [ProfileText(stream, declared.language, text)]
        reason = self._too_much(asked) or await self._all_read(asked)
        if reason is not None:
            raise SemcastError(reason)

    async def _attach(self, peer: Connection, frame: Attach | AttachMany) -> None:
        """Read what is long, then tell the machine; one subscription that is refused leaves the others alone."""
        fit: list[Attach] = []
        asked: list[ProfileText] = []
        for attach in frame.attaches if isinstance(frame, AttachMany) else (frame,):
            unread = [p for p in _profiles(attach) if len(p.text) >= LONG and p not in self._read]
            reason = self._too_much([*asked, *unread]) or await self._all_read(unread) if unread else None
            if reason is not None:
                peer.send(ProtocolError(reason, attach.session))
            else:
                fit.append(attach)
                asked += unread
        if fit and not peer.over:
            whole = len(fit) > 1 or isinstance(frame, AttachMany)
            self._host.feed(Received(peer.name, AttachMany(tuple(fit)) if whole else fit[0]))

    async def _told_later(self, sender: str, frame: Switch | Install, unread: list[ProfileText]) -> None:
        await self._all_read(unread)
        self._being_read.remove(frame)
        self._host.feed(Received(sender, frame))

    def _too_much(self, asked: Iterable[ProfileText]) -> str | None:
        """Why the gateway here cannot take long profiles in, besides those that it has."""
        gateway = self._host.node.gateway
        wanted = gateway.interests.profiles if gateway is not None else ()
        known = {profile for profile in wanted if len(profile.text) >= LONG}
        total = sum(len(profile.text) for profile in known | set(asked))
        if total <= self._room:
            return None
        return (
            f"the long profiles of this gateway's clients would have {total:,} characters together, and "
            f"{self._room:,} are the most: ask for less, or at another gateway"
        )

    async def _all_read(self, profiles: Iterable[ProfileText]) -> str | None:
        """Read profiles in a thread; why one of them makes no sense, if one does."""
        for profile in profiles:
            try:
                await asyncio.to_thread(self._host.streams.prepare, profile)
            except SemcastError as error:
                return str(error)
            self._read[profile] = None
            while len(self._read) > _REMEMBERED:
                del self._read[next(iter(self._read))]
        return None


def _profiles(frame: AnyFrame) -> Iterator[ProfileText]:
    if isinstance(frame, Attach):
        yield frame.profile
        if frame.before is not None:
            yield frame.before
    elif isinstance(frame, AttachMany):
        for attach in frame.attaches:
            yield from _profiles(attach)
    elif isinstance(frame, Switch):
        yield from (text for _, text, _ in frame.profiles)
    elif isinstance(frame, Install):
        yield from (profile for entry in frame.entries for profile in entry.profiles)
