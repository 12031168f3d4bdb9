"""A deployment's file: overlay, streams, settings, ports. TOML in, or an error that names the line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from semcast.files import read_tables
from semcast.model.tables import Part, TableError, typed
from semcast.net.view import Delays, OverlayView, tuned
from semcast.planning.schemes import SCHEMES
from semcast.protocol.streams import Stream
from semcast.protocol.wire.frames.semantic import Role
from semcast.trees.declared import Overlay, topology_of
from semcast.trees.topology import Topology


class CoordinatorsTable(Part, frozen=True, kw_only=True):
    """They are named c0, c1, …; of several, one leads."""

    count: int = 1
    store: str | None = None
    """postgresql://… for coordinators on several machines; None: a SQLite file in the data folder."""


class Config(Part, frozen=True, kw_only=True):
    """What ``semcast up`` brings up."""

    name: str = "semcast"
    scheme: str = "masked"
    channels: int = 16
    seed: int = 1
    data: str = "semcast-data"
    """The folder for logs and stores, beside the file."""
    host: str = "127.0.0.1"
    """Where all listen."""
    origins: tuple[str, ...] = ()
    """Web pages of these origins (https://host) may publish and read status pages; ``*``: all may."""
    hosts: tuple[str, ...] = ()
    """Names, without a port, under which web clients may reach members, in addition to where these listen."""
    processes: bool = True
    """A process for each broker and coordinator; false: all in one."""
    delays: Delays = "measured"
    """What staleness bounds are planned with: delays as brokers measure them, or as the topology declares them."""
    topology: Overlay = Overlay()
    coordinators: CoordinatorsTable = CoordinatorsTable()
    streams: dict[str, Stream] = msgspec.field(default_factory=dict)
    settings: dict[str, float | str] = msgspec.field(default_factory=dict)
    routers: dict[str, Role] = msgspec.field(default_factory=dict)
    """Under semnet, broker → border, network or backbone (thesis §4.1)."""
    ports: dict[str, int] = msgspec.field(default_factory=dict)
    """Name of a broker or coordinator → port; 0, or none: a free one, kept from then on."""

    def __post_init__(self) -> None:
        if self.scheme not in SCHEMES:
            raise TableError("scheme", f"{self.scheme!r} is no scheme; there is {', '.join(SCHEMES)}")
        if self.channels < 1:
            raise TableError("channels", f"at least one is needed, not {self.channels}")
        if self.coordinators.count < 1:
            raise TableError("coordinators.count", f"at least one is needed, not {self.coordinators.count}")
        if not self.streams:
            raise TableError("streams", "declare at least one, for example [streams.quotes]")
        for name, stream in self.streams.items():
            objection = SCHEMES[self.scheme].objection(stream.language)
            if objection is not None:
                raise TableError(f"streams.{name}.language", objection)
        tuned(dict(self.settings))

    def coordinator_names(self) -> list[str]:
        return [f"c{number}" for number in range(self.coordinators.count)]


class Deployed(msgspec.Struct, frozen=True):
    """A file that was read, with its overlay drawn and its paths found."""

    config: Config
    topology: Topology
    folder: Path

    def view(self) -> OverlayView:
        """The overlay before anybody has said hello."""
        config = self.config
        return OverlayView(
            config.name,
            config.scheme,
            config.channels,
            config.streams,
            dict(config.settings),
            {},
            {},
            self.topology.to_json(),
            origins=config.origins,
            hosts=config.hosts,
            routers=config.routers,
            candidates=tuple(config.coordinator_names()),
            delays=config.delays,
        )

    def listen(self, name: str) -> str:
        return f"{self.config.host}:{self.config.ports.get(name, 0)}"


def read_config(path: Path) -> Deployed:
    """Read a deployment's file; a topology file that it names lies beside it."""
    return read_tables(path, lambda given: _deployed(given, path))


def _deployed(given: dict[str, Any], path: Path) -> Deployed:
    config = typed(given, Config)
    topology = topology_of(config.topology)
    for name, role in config.routers.items():
        _check_router(config, topology, name, role)
    known = {*topology.numbers, *config.coordinator_names()}
    for name, port in config.ports.items():
        if name not in known:
            raise TableError(f"ports.{name}", "there is no such broker or coordinator")
        if not 0 <= port <= 65535:
            raise TableError(f"ports.{name}", f"{port} is no port")
    return Deployed(config, topology, (path.parent / config.data).resolve())


def _check_router(config: Config, topology: Topology, name: str, role: Role) -> None:
    if SCHEMES[config.scheme].coordinated:
        raise TableError(
            f"routers.{name}", f'only brokers of scheme "semnet" are routers, not those of {config.scheme!r}'
        )
    if name not in topology.numbers:
        raise TableError(f"routers.{name}", "there is no such broker")
    serves = topology.brokers[topology.numbers[name]].roles
    if role != "border" and serves:
        raise TableError(
            f"routers.{name}", f"a {role} router serves nobody, and this one is a {' and a '.join(serves)}"
        )
