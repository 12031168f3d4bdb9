"""Where messages enter a network of semantic routers: logged, numbered, then sent on as packets."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from semcast.model.message import Message, packed, unpacked
from semcast.protocol.contract import Command, Note, Send
from semcast.protocol.settings import Settings
from semcast.protocol.source.followed_plan import Routed
from semcast.protocol.source.source import Source
from semcast.protocol.stores import Log, Notes, Record
from semcast.protocol.streams import Streams
from semcast.protocol.wire.frames import Append, Refused
from semcast.protocol.wire.frames.semantic import Packet

_UNROUTED = Routed((), ())
"""Who wants a packet, and which way it goes, only the routers find out."""


class SemanticSource(Source):
    """The source at one router. It matches nothing, follows no plan and needs no lease.

    The log makes a publisher's message one message, whatever is repeated, with a number that is never used again. It is
    no memory: what was sent is given up, but for the last ``Settings.retain``.
    """

    def __init__(
        self,
        me: str,
        log: Log,
        notes: Notes,
        settings: Settings,
        incarnation: int,
        streams: Streams,
        tree: Callable[[str], str],
    ) -> None:
        """``tree`` gives the tree along which packets of a stream travel from here."""
        super().__init__(me, log, notes, settings, incarnation, streams)
        self._tree = tree

    def leased(self, now: float) -> bool:
        return True

    def append(self, append: Append, sender: str, now: float) -> list[Command]:
        """Nobody can route for a network that has no plan."""
        reason = "semantic routers match for themselves: publish messages instead of appending routed ones"
        return [Send(sender, Refused(append.origin, append.first, reason))]

    def _append(self, origin: str, first: int, messages: tuple[Message, ...]) -> None:
        end = self.log.end
        self.log.append(
            Record(end + 1 + place, origin, first + place, 0, (), packed(message))
            for place, message in enumerate(messages)
        )
        self.sampling.take_all(end + 1, 0, messages, [_UNROUTED] * len(messages))

    def _frames(self, records: list[Record]) -> Iterable[Packet]:
        for record in records:
            message = unpacked(record.body)
            rest = packed(msgspec.structs.replace(message, payload=b""))
            yield Packet(
                self._tree(message.stream), self.me, self._incarnation, record.number, message.payload, rest
            )  # fmt: skip

    def trim(self) -> list[Command]:
        through = min(self.sent, self.log.end - self._settings.retain)
        if through <= self.log.trimmed:
            return []
        self.log.trim(through)
        return [Note("trimmed", {"through": through})]


def body_of(packet: Packet) -> bytes:
    """The message of a packet, as clients are given it; its content is what routers read."""
    return packed(msgspec.structs.replace(unpacked(packet.payload), payload=packet.descriptor))
