"""What runs at one broker of a semantic network: a router, and maybe a source and clients, behind one door.

It speaks with clients as any broker does, and with its neighbours as the thesis' routers do. It knows no plan and no
coordinator: the overlay and its trees are given.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from semcast.model.message import ProfileText
from semcast.protocol.contract import Command, Event, Received, Send, Tick
from semcast.protocol.node import Node
from semcast.protocol.results import MessagesShed
from semcast.protocol.semnet.door import Door
from semcast.protocol.semnet.router import ROLES, SemanticRouter
from semcast.protocol.semnet.source import SemanticSource, body_of
from semcast.protocol.semnet.trees import router_trees, tree_of
from semcast.protocol.settings import Settings
from semcast.protocol.source.source import Outgoing
from semcast.protocol.stores import Log, Notes
from semcast.protocol.streams import Streams
from semcast.protocol.wire.frames.semantic import BetweenRouters, Packet, Role, Subscribe, Unsubscribe
from semcast.trees.roles import SOURCE
from semcast.trees.topology import Topology


class SemanticNode(Node):
    """The machine of one broker of a semantic network."""

    def __init__(
        self,
        broker: str,
        *,
        topology: Topology,
        neighbours: Sequence[str],
        settings: Settings,
        notes: Notes,
        streams: Streams,
        role: Role | None = None,
        log: Log | None = None,
        gateway: bool = False,
        incarnation: int = 1,
        now: float = 0.0,
    ) -> None:
        super().__init__(
            broker,
            neighbours=neighbours,
            coordinators=(),
            settings=settings,
            notes=notes,
            incarnation=incarnation,
            now=now,
        )
        sources = [held.id for held in topology.brokers if SOURCE in held.roles]
        trees = router_trees(topology, sources, list(streams.declared))[broker]
        tuned = replace(ROLES[role or "border"], resend_s=settings.resend_s)
        self.router = self._router = SemanticRouter(broker, trees, tuned, incarnation)
        ways = {stream: tree_of(trees, stream, broker) or "" for stream in streams.declared}
        if log is not None:
            self.source = SemanticSource(broker, log, notes, settings, incarnation, streams, ways.__getitem__)
        self._door = Door(broker, notes, settings, incarnation, now, streams) if gateway else None
        self.gateway = self._door
        self._asked: dict[str, ProfileText] = {}
        """Users, as the router knows them: one per distinct profile of the clients here."""
        self._serial = 0

    def handle(self, event: Event, now: float) -> list[Command]:
        commands = super().handle(event, now)
        if self._door is not None and self._door.interests.serial != self._serial:
            commands += self._ask(self._door, now)
        return commands

    def _ask(self, door: Door, now: float) -> list[Command]:
        """Have the router want what the clients here want."""
        self._serial = door.interests.serial
        wanted = {f"{self.id}/{profile.stream}/{profile.text}": profile for profile in door.interests.profiles}
        said = [Received(user, Subscribe(p.text, p.stream)) for user, p in wanted.items() if user not in self._asked]
        said += [Received(user, Unsubscribe()) for user in self._asked if user not in wanted]
        self._asked = wanted
        return [command for event in said for command in self._routed(self._router.handle(event, now))]

    def _received(self, sender: str, frame: object, now: float) -> list[Command]:
        if not isinstance(frame, BetweenRouters):
            return super()._received(sender, frame, now)
        if sender not in self._neighbours and sender != self.id:
            return []
        self.broker.evaluations += isinstance(frame, Packet)
        return self._routed(self._router.handle(Received(sender, frame), now))

    def _inject(self, frames: Iterable[Outgoing], now: float) -> list[Command]:
        return [command for frame in frames for command in self._received(self.id, frame, now)]

    def _tick(self, now: float) -> list[Command]:
        return super()._tick(now) + self._routed(self._router.handle(Tick(), now))

    def _routed(self, commands: list[Command]) -> list[Command]:
        """What the router says, without what is for clients here: they are given that by the door."""
        done: list[Command] = []
        here: list[ProfileText] = []
        packet: Packet | None = None
        for command in commands:
            if not isinstance(command, Send):
                done.append(command)
            elif command.to in self._asked:
                if isinstance(command.frame, Packet):
                    packet = command.frame
                    here.append(self._asked[command.to])
            elif isinstance(command.frame, Packet) and command.to in self.broker.congested:
                done.append(MessagesShed(command.to, 1))
            else:
                done.append(command)
        if packet is not None and self._door is not None:
            done += self._door.offered(packet.source, packet.number, body_of(packet), here)
        return done
