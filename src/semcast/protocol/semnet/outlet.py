"""An outlet into a network of semantic routers: messages leave as packets, and routers find out who wants them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec

from semcast.model.message import Message, packed, unpacked
from semcast.protocol.contract import Command
from semcast.protocol.settings import Settings
from semcast.protocol.source.followed_plan import Routed
from semcast.protocol.source.outlet import Carried, Outgoing
from semcast.protocol.source.routing import Routes
from semcast.protocol.source.samples import Sampling
from semcast.protocol.stores import Log, Record
from semcast.protocol.wire.frames import Append, Key, Refused
from semcast.protocol.wire.frames.semantic import Packet

_UNROUTED = Routed((), ())
"""Who wants a packet, and which way it goes, only the routers find out."""


class PacketOutlet:
    """How messages leave the source at one router. It matches nothing, follows no plan and needs no lease.

    The log makes a publisher's message one message, whatever is repeated, with a number that is never used again. It is
    no memory: what was sent is given up, but for the last ``Settings.retain``.
    """

    following: None = None
    astray = 0

    def __init__(self, me: str, log: Log, settings: Settings, incarnation: int, tree: Callable[[str], str]) -> None:
        """``tree`` gives the tree along which packets of a stream travel from here."""
        self.sampling = Sampling(settings.sample, settings.samples)
        self._me = me
        self._log = log
        self._settings = settings
        self._incarnation = incarnation
        self._tree = tree

    def carried(self) -> Mapping[Key, Carried]:
        """Nothing is counted here: routers count packets by port."""
        return {}

    def leased(self, now: float) -> bool:
        """There are no coordinators, so there is nobody to be cut off from."""
        return True

    def append(self, origin: str, first: int, messages: tuple[Message, ...]) -> None:
        end = self._log.end
        self._log.append(
            Record(end + 1 + place, origin, first + place, 0, (), packed(message))
            for place, message in enumerate(messages)
        )
        self.sampling.take_all(end + 1, 0, messages, [_UNROUTED] * len(messages))

    def routes(self, append: Append) -> list[Routes] | Refused:
        """Nobody can route for a network that has no plan."""
        reason = "semantic routers match for themselves: publish messages instead of appending routed ones"
        return Refused(append.origin, append.first, reason)

    def frames(self, records: list[Record]) -> Iterable[Packet]:
        for record in records:
            message = unpacked(record.body)
            rest = packed(msgspec.structs.replace(message, payload=b""))
            yield Packet(
                self._tree(message.stream), self._me, self._incarnation, record.number, message.payload, rest
            )  # fmt: skip

    def stand(self, sent: int) -> tuple[int, int, int, int]:
        """There is neither a plan nor a roster."""
        return 0, 0, 0, 0

    def confirmed(self, sent: int) -> list[Command]:
        return []

    def tick(self, sent: int, now: float) -> list[Outgoing]:
        """Nobody counts what has arrived, so there is nothing to tell."""
        return []

    def spare(self, sent: int) -> int:
        return min(sent, self._log.end - self._settings.retain)


def body_of(packet: Packet) -> bytes:
    """The message of a packet, as clients are given it; its content is what routers read."""
    return packed(msgspec.structs.replace(unpacked(packet.payload), payload=packet.descriptor))
