"""The semantic router: sends packets where they are wanted, and says what is wanted here (thesis chapters 3 and 4).

Interests are distributed to the other ports as one aggregated profile, and only when that really changes: a
profile that is covered by what a neighbour knows goes no further. A packet is sent through every port whose filter it
matches, but the one it came by, and dropped where none does.

Overlays with cycles, which the thesis leaves to future work: every source has a spanning tree of its own, of shortest
paths, and each packet names it. Suppressing copies by packet id would not do, since *interests* would go around too:
an interest that has come back to where it began keeps itself alive for ever, so nobody could ever stop wanting
anything. Along a source's tree interests travel towards the source alone, packets away from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from semcast.matching.semantic import Prefilter, descriptor
from semcast.model import ProfileError
from semcast.profiles.semantic import (
    MAX_TEXT,
    NOTHING,
    Expression,
    InterestProfile,
    Node,
    aggregate,
    implies,
    parse,
    truncate,
)
from semcast.protocol.contract import Command, Event, Note, Received, Send, Tick
from semcast.protocol.semnet.ports import Filters, Matching, PortCounts, Said, TreePorts
from semcast.protocol.wire.frames.semantic import (
    Hello,
    HelloTaken,
    Interest,
    InterestTaken,
    Offer,
    Packet,
    Role,
    Shed,
    Subscribe,
    Subscribed,
    Unsubscribe,
)


@dataclass(frozen=True)
class RouterSettings:
    """What an operator may tune; a role is a set of these (``ROLES``)."""

    users: bool = True
    """May users and producers attach here?"""
    matching: Matching = "shared"
    prefilter_depth: int = 4
    announce_depth: int | None = None
    """Announce interests to this depth only: less to match upstream, more that arrives here in vain."""
    resend_s: float = 0.6
    """An announcement that is not confirmed is repeated."""
    return_s: float = 5.0
    """Users of a router that fell have so long to come again, before it says that they want nothing."""
    source: str | None = None
    """The tree of packets that are offered here; None: the only one there is."""


ROLES: Mapping[Role, RouterSettings] = {
    "border": RouterSettings(),
    "network": RouterSettings(users=False),
    "backbone": RouterSettings(users=False, announce_depth=4),
}
"""Thesis §4.1: border routers serve users, network routers join them, backbone routers keep to the upper concepts."""


class SemanticRouter:
    """One router; ``trees`` says where its ports lead (``semantic_ports.acyclic``, or one tree per source).

    It keeps nothing over a crash: it says hello, its neighbours say again what they want, its users come again.
    """

    def __init__(
        self,
        name: str,
        trees: Mapping[str, TreePorts],
        settings: RouterSettings = ROLES["border"],
        incarnation: int = 1,
    ) -> None:
        self.id = name
        self.settings = settings
        self.trees = {tree: Filters(ports) for tree, ports in trees.items()}
        self.counts: dict[str, PortCounts] = {}
        self._incarnation = incarnation
        self._users: dict[str, tuple[str, Expression]] = {}
        """Name → stream, and what is wanted of it."""
        self._local: dict[str, Prefilter[str]] = {}
        self._shed: int | None = None
        self._seen: dict[tuple[str, str], tuple[int, int]] = {}
        self._offered: dict[str, int] = {}
        self._number = self._version = 0
        self._unheard = dict.fromkeys(self.neighbours, float("-inf"))
        """Neighbours that may not know yet that this router knows nothing, each with when it was last told."""
        self._heard: dict[str, int] = {}
        self._returned_at: float | None = None

    @property
    def neighbours(self) -> list[str]:
        return sorted({port for held in self.trees.values() for port in (*held.ports.forward, *held.ports.announce)})

    def handle(self, event: Event, now: float) -> list[Command]:
        if isinstance(event, Tick):
            return self._tick(now)
        if not isinstance(event, Received):
            return []
        sender = event.sender
        match event.frame:
            case Packet() as packet:
                return self._packet(sender, packet)
            case Interest() as interest:
                return self._interest(sender, interest, now)
            case InterestTaken(tree, incarnation, version):
                known = self.trees[tree].said.get(sender) if tree in self.trees else None
                if known is not None and (incarnation, version) == (self._incarnation, known.version):
                    known.taken = True
            case Hello(incarnation):
                return self._hello(sender, incarnation, now)
            case HelloTaken(incarnation) if incarnation == self._incarnation:
                self._unheard.pop(sender, None)
            case Subscribe(text, stream):
                return self._subscribe(sender, stream, text, now)
            case Unsubscribe():
                return self._wants(sender, None, now)
            case Offer() as offer:
                return self._offer(sender, offer)
            case Shed(depth):
                self._shed = depth
        return []

    # --- interests

    def _subscribe(self, user: str, stream: str, text: str, now: float) -> list[Command]:
        if not self.settings.users:
            return [Send(user, Subscribed(f"{self.id} serves no users"))]
        try:
            wanted = parse(text).expression
        except ProfileError as error:
            return [Send(user, Subscribed(str(error)))]
        return [Send(user, Subscribed()), *self._wants(user, (stream, wanted), now)]

    def _wants(self, user: str, wanted: tuple[str, Expression] | None, now: float) -> list[Command]:
        before = self._users.pop(user, None)
        if wanted is not None:
            self._users[user] = wanted
        if before == wanted:
            return []
        commands: list[Command] = []
        for stream in dict.fromkeys(said[0] for said in (before, wanted) if said is not None):
            self._local.pop(stream, None)
            more = wanted[1] if before is None and wanted is not None else None
            of_stream = [name for name, held in self.trees.items() if held.ports.stream == stream]
            commands += self._announce(now, of_stream, None, more)
        return commands

    def _interest(self, port: str, told: Interest, now: float) -> list[Command]:
        held = self.trees.get(told.tree)
        if held is None or port not in held.ports.forward:
            return [Note("stray interest", {"sender": port, "tree": told.tree})]
        self._count(port).updates_in += 1
        answer = Send(port, InterestTaken(told.tree, told.incarnation, told.version))
        version = told.incarnation, told.version
        if version <= held.versions.get(port, (0, 0)):
            return [answer] if version == held.versions[port] else []
        try:
            wanted = parse(told.profile).expression
        except ProfileError as error:
            return [Note("bad interest", {"sender": port, "error": error.message})]
        before = held.wanted.get(port, NOTHING)
        held.set(port, wanted, version)
        grown = wanted if implies(before, wanted) else None
        return [answer, *self._announce(now, [told.tree], port, grown)]

    def _announce(
        self, now: float, trees: Sequence[str], came_by: str | None, more: Expression | None
    ) -> list[Command]:
        """Say what is wanted where it has changed; ``more`` is all that changed, where something was only added."""
        commands: list[Command] = []
        for name in trees:
            held = self.trees[name]
            for port in held.ports.announce:
                if port != came_by and not (more is not None and held.covered(port, more)):
                    commands += self._say(name, held, port, now)
        return commands

    def _say(self, tree: str, held: Filters, port: str, now: float, again: bool = False) -> list[Command]:
        wanted, text = self._told(held.for_neighbour(port, self._wanted_here(held.ports.stream)))
        known = held.said.get(port)
        if not again and known is not None and _same(known.wanted, wanted):
            return []
        if not again and known is None and wanted == NOTHING:
            return []
        self._version += 1
        held.said[port] = Said(self._version, wanted, text, now)
        return [self._update(tree, port, held.said[port])]

    def _told(self, wanted: Expression) -> tuple[Expression, str]:
        """An interest as it is announced; one that is too long for a frame is cut until it fits, and leaks."""
        depth = self.settings.announce_depth
        if depth is not None:
            wanted = truncate(wanted, depth)
        text = str(InterestProfile.of(wanted))
        depth = 8 if depth is None else depth
        while len(text) > MAX_TEXT and depth > 0:
            depth -= 1
            wanted = truncate(wanted, depth)
            text = str(InterestProfile.of(wanted))
        return wanted, text

    def _update(self, tree: str, port: str, said: Said) -> Command:
        counts = self._count(port)
        counts.updates_out += 1
        counts.update_bytes_out += len(said.text.encode())
        return Send(port, Interest(tree, self._incarnation, said.version, said.text))

    def _wanted_here(self, stream: str) -> Expression:
        return aggregate(wanted for _, (of, wanted) in sorted(self._users.items()) if of == stream)

    def _hello(self, port: str, incarnation: int, now: float) -> list[Command]:
        """A neighbour starts from nothing. What it wanted stands until it says more: too much is no loss."""
        if port not in self.neighbours:
            return []
        commands: list[Command] = [Send(port, HelloTaken(incarnation))]
        if incarnation <= self._heard.get(port, 0):
            return commands
        self._heard[port] = incarnation
        for name, held in self.trees.items():
            if port in held.ports.announce and held.said.get(port) is not None:
                commands += self._say(name, held, port, now, again=True)
        return commands

    def _tick(self, now: float) -> list[Command]:
        commands = self._come(now)
        for name, held in self.trees.items():
            for port, said in held.said.items():
                if not said.taken and now - said.at >= self.settings.resend_s:
                    said.at = now
                    commands.append(self._update(name, port, said))
        return commands

    def _come(self, now: float) -> list[Command]:
        """Be known as somebody who starts from nothing; say later what of his former life is not wanted any more."""
        due = [port for port, told in self._unheard.items() if now - told >= self.settings.resend_s]
        self._unheard |= dict.fromkeys(due, now)
        commands: list[Command] = [Send(port, Hello(self._incarnation)) for port in due]
        if self._returned_at is None:
            self._returned_at = now if self._incarnation > 1 else float("inf")
        if now - self._returned_at >= self.settings.return_s:
            self._returned_at = float("inf")
            for name, held in self.trees.items():
                for port in held.ports.announce:
                    commands += self._say(name, held, port, now, again=True) if port not in held.said else []
        return commands

    # --- packets

    def _offer(self, producer: str, offer: Offer) -> list[Command]:
        tree = self.settings.source if self.settings.source is not None else next(iter(self.trees), "")
        if not self.settings.users or tree not in self.trees:
            return [Note("refused offer", {"sender": producer})]
        if offer.number <= self._offered.get(producer, 0):
            self._count(producer).copies += 1
            return []
        self._offered[producer] = offer.number
        self._number += 1
        packet = Packet(tree, self.id, self._incarnation, self._number, offer.descriptor, offer.payload)
        return self._packet(producer, packet)

    def _packet(self, port: str, packet: Packet) -> list[Command]:
        """Send a packet on through every port that wants it, but the one it came by."""
        counts = self._count(port)
        counts.packets_in += 1
        held = self.trees.get(packet.tree)
        seen = packet.incarnation, packet.number
        # Along one tree a source's packets come in order, by one port; what is not newer has come before.
        if held is None or self._seen.get((packet.tree, packet.source), (0, 0)) >= seen:
            counts.copies += 1
            return []
        self._seen[packet.tree, packet.source] = seen
        root = descriptor(packet.descriptor)
        if not isinstance(root, Node):
            return [Note("unreadable packet", {"sender": port, "why": root})]
        among = [name for name in held.ports.forward if name != port]
        settings = self.settings
        wanting = held.matching(root, among, settings.matching, settings.prefilter_depth, self._shed)
        onward = Packet(
            packet.tree,
            packet.source,
            packet.incarnation,
            packet.number,
            packet.descriptor,
            packet.payload,
            packet.hops + 1,
        )
        commands: list[Command] = []
        for name in among:
            self._count(name).filtered += name not in wanting
        for name in [*wanting, *self._wanting_users(root, port, held.ports.stream)]:
            self._count(name).packets_out += 1
            commands.append(Send(name, onward))
        return commands

    def _wanting_users(self, root: Node, sender: str, stream: str) -> list[str]:
        """Users get what they want and nothing else, also while load is shed."""
        if not self._users:
            return []
        if stream not in self._local:
            of_stream = {user: wanted for user, (of, wanted) in sorted(self._users.items()) if of == stream}
            self._local[stream] = Prefilter(of_stream)
        return [user for user in self._local[stream].candidates(root) if user != sender]

    def _count(self, port: str) -> PortCounts:
        return self.counts.setdefault(port, PortCounts())


def _same(a: Expression, b: Expression) -> bool:
    return a == b or (implies(a, b) and implies(b, a))
