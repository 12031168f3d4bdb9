"""What everybody in an overlay is told of it: who is there, where, and by which rules they play."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Literal

import msgspec

from semcast.model import SemcastError
from semcast.protocol.settings import Settings
from semcast.protocol.streams import Stream, Streams
from semcast.protocol.wire.frames.semantic import Role

if TYPE_CHECKING:
    from semcast.trees.topology import Topology

Delays = Literal["measured", "declared"]


class Member(msgspec.Struct, frozen=True):
    """A broker or coordinator that has said hello."""

    address: str
    """host:port"""
    role: str
    roles: tuple[str, ...] = ()
    """Of a broker: source, gateway."""
    incarnation: int = 0


class OverlayView(msgspec.Struct, frozen=True):
    """The overlay as a coordinator knows it; brokers pass it on to their clients, without the topology."""

    name: str
    scheme: str
    channels: int
    streams: dict[str, Stream]
    settings: dict[str, float | str | None]
    coordinators: dict[str, str]
    """Name → address."""
    members: dict[str, Member]
    """Brokers by name."""
    topology: str | None = None
    """JSON; None where it is nobody's business."""
    version: int = 0
    origins: tuple[str, ...] = ()
    """Web pages of these origins may publish; ``*``: of all."""
    hosts: tuple[str, ...] = ()
    """Names under which web clients may reach members, other than the addresses where these listen."""
    routers: dict[str, Role] = {}
    """Under semnet: the role of a router, where it is not the one that its place gives it."""
    candidates: tuple[str, ...] = ()
    """All coordinators that the deployment has; where those are that nobody has met yet, is not known."""
    delays: Delays = "measured"
    """What staleness bounds are planned with: the links' delays as brokers measure them, or those of the topology."""

    def encoded(self) -> bytes:
        return msgspec.json.encode(self)

    @staticmethod
    def decoded(data: bytes) -> OverlayView:
        try:
            return msgspec.json.decode(data, type=OverlayView)
        except msgspec.MsgspecError as error:
            raise SemcastError(
                f"the other end describes its overlay in a way that this version cannot read: {error}"
            ) from None

    def for_clients(self) -> OverlayView:
        return msgspec.structs.replace(self, topology=None)

    def tuned(self) -> Settings:
        return tuned(self.settings)

    def overlay(self) -> Topology:
        from semcast.trees.topology import Topology  # clients need none, and it brings compiled code

        assert self.topology is not None
        return Topology.from_json(self.topology)

    def roles(self, broker: str) -> tuple[str, ...]:
        """A broker's roles by the topology; SemcastError where that has no such broker."""
        topology = self.overlay()
        if broker not in topology.numbers:
            raise SemcastError(f"the overlay {self.name!r} has no broker {broker!r}")
        return topology.brokers[topology.numbers[broker]].roles

    def declared(self) -> Streams:
        return Streams(self.streams)

    def languages(self) -> list[str]:
        """Those of its streams."""
        return sorted({stream.language for stream in self.streams.values()})

    def having(self, role: str) -> list[str]:
        """Names of the brokers of a role that have said hello."""
        return sorted(name for name, member in self.members.items() if role in member.roles)

    @property
    def gateways(self) -> list[str]:
        return self.having("gateway")

    @property
    def sources(self) -> list[str]:
        return self.having("source")


LIVE = Settings(window=1 << 16, held=1024, credit=1024, retain_s=15.0)
"""Real streams come in bursts: more room than in simulations, where little of it shows more."""
KNOWN = {field.name: field for field in fields(Settings)}


def tuned(given: dict[str, float | str | None]) -> Settings:
    """The settings with some of them changed; SemcastError names one that is not there."""
    for name, value in given.items():
        if name not in KNOWN:
            raise SemcastError(f"settings.{name}: there is no such setting; there is {', '.join(KNOWN)}")
        if isinstance(value, int | float) and value < 0:
            raise SemcastError(f"settings.{name}: must not be negative, and is {value:g}")
    plain = LIVE
    typed = {
        name: int(value) if type(getattr(plain, name)) is int and isinstance(value, int | float) else value
        for name, value in given.items()
    }
    return replace(plain, **typed)  # type: ignore[arg-type]
