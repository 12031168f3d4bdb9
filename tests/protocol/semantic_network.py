"""Semantic routers on links that keep order, one frame at a time: small enough to count every frame."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence

from semcast.protocol.contract import Command, Note, Received, Send, Tick
from semcast.protocol.semnet.ports import TreePorts, acyclic
from semcast.protocol.semnet.router import RouterSettings, SemanticRouter
from semcast.protocol.wire.codec import decode, encode
from semcast.protocol.wire.frames import AnyFrame
from semcast.protocol.wire.frames.semantic import (
    Hello,
    HelloTaken,
    Interest,
    Offer,
    Packet,
    Subscribe,
    Subscribed,
    Unsubscribe,
)

Link = tuple[str, str]

FIGURE_4_1 = [("1", "3"), ("2", "3"), ("3", "4"), ("4", "5"), ("4", "6"), ("4", "7"), ("7", "8"), ("7", "9")]
"""Nine routers, eight links. The figure itself is lost; this fits all that the text says of it: the producers are at 1
and 2, Alice is at 6, Bob at 8; Bob's interest absorbs Alice's at 4, and nobody is at 5 and 9."""


class SemanticNetwork:
    """Routers, and users and producers that hang on them; frames travel as bytes."""

    def __init__(
        self, trees: Mapping[str, Mapping[str, TreePorts]], settings: Mapping[str, RouterSettings] | None = None
    ) -> None:
        default = RouterSettings()
        self.routers = {
            name: SemanticRouter(name, ports, (settings or {}).get(name, default)) for name, ports in trees.items()
        }
        self.trees, self.settings = trees, settings or {}
        self.now = 0.0
        self.sent: list[tuple[Link, AnyFrame]] = []
        self.wire: list[tuple[Link, bytes]] = []
        """What crossed links between routers."""
        self.delivered: dict[str, list[Packet]] = {}
        self.answers: dict[str, list[Subscribed]] = {}
        self.notes: list[Note] = []
        self.offered: Counter[str] = Counter()
        self.lost: set[Link] = set()
        self.twice: set[Link] = set()
        self._queue: deque[tuple[str, str, bytes]] = deque()
        self.tick()

    def subscribe(self, user: str, router: str, profile: str, stream: str = "") -> None:
        self._from_outside(user, router, Subscribe(profile, stream))

    def unsubscribe(self, user: str, router: str) -> None:
        self._from_outside(user, router, Unsubscribe())

    def offer(self, producer: str, router: str, descriptor: str, payload: bytes = b"payload") -> None:
        self.offered[producer] += 1
        self._from_outside(producer, router, Offer(self.offered[producer], descriptor.encode(), payload))

    def tell(self, router: str, frame: AnyFrame) -> None:
        self._from_outside("operator", router, frame)

    def tick(self, seconds: float = 1.0) -> None:
        self.now += seconds
        for name, router in self.routers.items():
            self._do(name, router.handle(Tick(), self.now))
        self._run()

    def restart(self, name: str) -> None:
        """A router loses all that it knew."""
        old = self.routers[name]
        settings = self.settings.get(name, RouterSettings())
        self.routers[name] = SemanticRouter(name, self.trees[name], settings, old._incarnation + 1)
        self.tick()

    def forget(self) -> None:
        """Count from here."""
        self.sent, self.wire, self.delivered = [], [], {}

    def updates(self) -> Counter[Link]:
        return Counter(link for link, frame in self.sent if isinstance(frame, Interest))

    def packets(self) -> Counter[Link]:
        return Counter(link for link, frame in self.sent if isinstance(frame, Packet))

    def got(self) -> dict[str, list[int]]:
        """Per user the numbers of the packets that it was given."""
        return {user: [packet.number for packet in packets] for user, packets in self.delivered.items()}

    def _from_outside(self, sender: str, router: str, frame: AnyFrame) -> None:
        self._do(router, self.routers[router].handle(Received(sender, decode(encode(frame))), self.now))
        self._run()

    def _run(self) -> None:
        while self._queue:
            sender, to, data = self._queue.popleft()
            self._do(to, self.routers[to].handle(Received(sender, decode(data)), self.now))

    def _do(self, sender: str, commands: list[Command]) -> None:
        for command in commands:
            if isinstance(command, Note):
                self.notes.append(command)
            elif isinstance(command, Send):
                self._send(sender, command.to, command.frame)

    def _send(self, sender: str, to: str, frame: AnyFrame) -> None:
        if to not in self.routers:
            if isinstance(frame, Packet):
                self.delivered.setdefault(to, []).append(frame)
            elif isinstance(frame, Subscribed):
                self.answers.setdefault(to, []).append(frame)
            return
        link = sender, to
        if not isinstance(frame, Hello | HelloTaken):
            self.sent.append((link, frame))
        self.wire.append((link, encode(frame)))
        if link not in self.lost:
            for _ in range(2 if link in self.twice else 1):
                self._queue.append((sender, to, encode(frame)))


def overlay(links: Sequence[Link]) -> dict[str, dict[str, TreePorts]]:
    """An overlay without cycles: one tree, as in the thesis."""
    near: dict[str, list[str]] = {}
    for a, b in links:
        near.setdefault(a, []).append(b)
        near.setdefault(b, []).append(a)
    return {name: dict(acyclic(sorted(others))) for name, others in sorted(near.items())}


def packet(*names: str) -> str:
    ns = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
    return f"<rdf:Description {ns}>{''.join(f'<{name}/>' for name in names)}</rdf:Description>"
