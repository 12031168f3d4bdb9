"""A carrier with a semantic router: packets are matched at every hop, and nothing is counted or repaired."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from semcast.model.message import ProfileText
from semcast.protocol.broker.broker import Broker
from semcast.protocol.carrier import CoordinatorWord
from semcast.protocol.contract import Command, Received, Send, Tick
from semcast.protocol.results import MessagesShed
from semcast.protocol.semnet.door import PacketDoor
from semcast.protocol.semnet.outlet import body_of
from semcast.protocol.semnet.router import SemanticRouter
from semcast.protocol.source.outlet import Outgoing
from semcast.protocol.wire.frames import Data
from semcast.protocol.wire.frames.semantic import BetweenRouters, Packet, Subscribe, Unsubscribe


class RouterCarrier:
    """How one broker of a semantic network carries messages. The clients here are users of its router."""

    def __init__(
        self, router: SemanticRouter, broker: Broker, neighbours: Sequence[str], door: PacketDoor | None
    ) -> None:
        """``door`` leads to the clients here, if it serves any."""
        self.router = router
        self._broker = broker
        self._senders = frozenset((*neighbours, broker.me))
        self._door = door
        self._asked: dict[str, ProfileText] = {}
        """Users, as the router knows them: one per distinct profile of the clients here."""
        self._serial = 0

    # --- frames

    def received(self, sender: str, frame: object, now: float) -> list[Command] | None:
        if not isinstance(frame, BetweenRouters):
            return None
        if sender not in self._senders:
            return []
        return self._taken(sender, frame, now)

    def _taken(self, sender: str, frame: BetweenRouters | Outgoing, now: float) -> list[Command]:
        self._broker.evaluations += isinstance(frame, Packet)
        return self._routed(self.router.handle(Received(sender, frame), now))

    def told(self, sender: str, word: CoordinatorWord, now: float) -> list[Command]:
        """A semantic network knows no coordinator."""
        return []

    def arrived(self, frames: Iterable[Data]) -> list[Command]:
        """Messages travel as packets here, never on trees of a plan."""
        return []

    def inject(self, frames: Iterable[Outgoing], now: float) -> list[Command]:
        return [command for frame in frames for command in self._taken(self._broker.me, frame, now)]

    def injected(self, now: float) -> list[Command]:
        """What is wanted here was given to the clients as it was injected."""
        return []

    # --- time

    def acknowledge(self) -> list[Command]:
        """Nobody keeps anything that an ack would let go."""
        return []

    def tick(self, now: float) -> list[Command]:
        return self._routed(self.router.handle(Tick(), now))

    def proceed(self, now: float) -> list[Command]:
        return []

    def conclude(self, now: float) -> list[Command]:
        """Have the router want what the clients here want, where that has changed."""
        if self._door is None or self._door.interests.serial == self._serial:
            return []
        self._serial = self._door.interests.serial
        profiles = self._door.interests.profiles
        wanted = {f"{self._broker.me}/{profile.stream}/{profile.text}": profile for profile in profiles}
        said = [Received(user, Subscribe(p.text, p.stream)) for user, p in wanted.items() if user not in self._asked]
        said += [Received(user, Unsubscribe()) for user in self._asked if user not in wanted]
        self._asked = wanted
        return [command for event in said for command in self._routed(self.router.handle(event, now))]

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
            elif isinstance(command.frame, Packet) and command.to in self._broker.congested:
                done.append(MessagesShed(command.to, 1))
            else:
                done.append(command)
        if packet is not None and self._door is not None:
            done += self._door.offered(packet.source, packet.number, body_of(packet), here)
        return done
