"""What is simulated: an overlay, a workload, faults. The same scenario and seed give the same run."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Literal

import msgspec

from semcast.model import SemcastError
from semcast.model.tables import Part
from semcast.planning.schemes import SCHEMES
from semcast.protocol.settings import Settings
from semcast.sim import faults
from semcast.sim.faults import AnyFault
from semcast.trees.declared import Overlay

CHANNEL_SCHEMES = (
    "masked", "semcast", "semcast-merge", "semcast-noisemerge", "semcast-threshold", "semcast-o", "unicast", "spt",
)  # fmt: skip
"""What the protocol of sources, brokers, gateways and coordinators runs; random scenarios choose by place."""


class Coordinators(Part, frozen=True, kw_only=True):
    """They are named c0, c1, …, and sit at brokers."""

    count: int = 1
    at: tuple[str, ...] = ()
    """Brokers, in turn; empty: the first ones."""
    plan_ms: tuple[float, float] = (1.0, 100.0)
    """A plan is made after so long, in which other things go on: at least, at most."""
    store_ms: tuple[float, float] = (0.5, 5.0)
    """The store answers after so long: at least, at most."""


class Network(Part, frozen=True, kw_only=True):
    """Delays past the overlay's links, and queues before slow brokers, in frames."""

    client_ms: float = 0.2
    sync_ms: tuple[float, float] = (0.5, 3.0)
    """A log is durable after so long: at least, at most."""
    queue_high: int = 64
    queue_low: int = 16
    queue_bound: int = 512


class Stream(Part, frozen=True, kw_only=True):
    """What is published: topics, rows or descriptors of some attributes, each with some values."""

    name: str
    language: Literal["topic", "relational", "semantic"] = "topic"
    attributes: int = 3
    values: int = 4
    payload_bytes: int = 40


class Clients(Part, frozen=True, kw_only=True):
    """Subscribers of one stream; they are named s0, s1, … over all tables of clients."""

    stream: str
    count: int
    profiles: tuple[str, ...] = ()
    """Taken in turn; empty: drawn."""
    gateways: tuple[str, ...] = ()
    """Taken in turn; empty: drawn."""
    gateways_each: int = 1
    """With more than one a client goes to the next when one does not answer."""
    together: bool = False
    """Or it hangs on all of them at a time."""
    ordered: float = 0.0
    """The share that asks for the source's order."""
    durable: float = 0.0
    start: Literal["latest", "earliest"] = "latest"
    attach_s: tuple[float, float] = (0.0, 3.0)
    replaced: float = 0.0
    """The share that replaces its profile once."""
    detached: float = 0.0
    """The share that leaves for good before the end."""


class Publishers(Part, frozen=True, kw_only=True):
    """One publisher per source, or at those named; they are named p0, p1, … over all tables of publishers."""

    stream: str
    sources: tuple[str, ...] = ()
    rate_hz: float = 10.0
    count: int | None = None
    """At most so many messages each."""
    batch: int = 1
    """Messages at a time."""
    from_s: float = 0.5
    to_s: float | None = None
    """None: until the faults end."""


class Production(Part, frozen=True, kw_only=True):
    """Brokers as production runs them: neighbours are given bytes, and commands wait for commits to a disk."""

    segmented: int = 1
    """Commits of so many bytes and more go to segments, smaller ones to SQLite."""
    near: float = 0.0
    """The share of clients that are within the process of their first gateway."""


class Campaign(Part, frozen=True, kw_only=True):
    """Faults drawn from the seed, so many per minute of each kind."""

    crash: float = 0.0
    pause: float = 0.0
    slow: float = 0.0
    skew: float = 0.0
    store_cut: float = 0.0
    loss: float = 0.0
    twice: float = 0.0
    jitter: float = 0.0
    partition: float = 0.0
    store_slow: float = 0.0
    disk: float = 0.0
    from_s: float = 1.0
    longest_s: float = 5.0
    clients: bool = False
    """Do clients crash and pause too?"""


class Scenario(Part, frozen=True, kw_only=True):
    """A run: faults happen until ``duration_s``, then nothing new does, and after ``quiet_s`` the laws are judged."""

    name: str = ""
    duration_s: float = 20.0
    quiet_s: float = 15.0
    scheme: str = "masked"
    channels: int = 8
    topology: Overlay = Overlay()
    coordinators: Coordinators = Coordinators()
    settings: dict[str, float] = msgspec.field(default_factory=dict)
    network: Network = Network()
    streams: tuple[Stream, ...] = (Stream(name="topics"),)
    clients: tuple[Clients, ...] = ()
    publishers: tuple[Publishers, ...] = ()
    reorganise_s: tuple[float, ...] = ()
    faults: tuple[AnyFault, ...] = ()
    campaign: Campaign | None = None
    production: Production | None = None

    def __post_init__(self) -> None:
        _check(self)

    @property
    def calm(self) -> bool:
        """Nothing goes wrong in it; plans that take longer than a lease lasts let gateways ask past the trees."""
        if self.coordinators.plan_ms[1] > 1000 * self.tuned().lease_s:
            return False
        return not self.faults and (self.campaign is None or not any(rates(self.campaign).values()))

    def stream(self, name: str) -> Stream:
        return next(stream for stream in self.streams if stream.name == name)

    def tuned(self) -> Settings:
        """The settings of every machine."""
        return Settings(**{name: _KINDS[name](value) for name, value in self.settings.items()})

    def as_dict(self) -> dict[str, Any]:
        """What is not asked for is left out, so that journals of older scenarios stay as they are."""
        made: dict[str, Any] = msgspec.to_builtins(self)
        if self.production is None:
            del made["production"]
        if self.campaign is not None and not self.campaign.disk:
            del made["campaign"]["disk"]
        return made


_KINDS: dict[str, type] = {field.name: type(field.default) for field in fields(Settings)}
_RATES = ("crash", "pause", "slow", "skew", "store_cut", "loss", "twice", "jitter", "partition", "store_slow", "disk")


def rates(campaign: Campaign) -> dict[str, float]:
    """Kind of fault → so many per minute."""
    return {name: getattr(campaign, name) for name in _RATES}


def _check(scenario: Scenario) -> None:
    if scenario.scheme not in SCHEMES:
        raise SemcastError(f"scheme: there is no {scenario.scheme!r}; there is {', '.join(SCHEMES)}")
    scheme = SCHEMES[scenario.scheme]
    if not scheme.coordinated and (len(scenario.streams) != 1 or scheme.objection(scenario.streams[0].language)):
        raise SemcastError(f"scheme: {scheme.name!r} is for one stream, of language 'semantic'")
    if not scheme.coordinated and scenario.campaign is not None:
        for kind in ("store_cut", "store_slow"):
            if getattr(scenario.campaign, kind):
                raise SemcastError(f"campaign.{kind}: under {scheme.name!r} there are no coordinators, and no store")
    _check_production(scenario)
    for name in scenario.settings:
        if name not in _KINDS:
            raise SemcastError(f"settings.{name}: there is no such setting; there is {', '.join(_KINDS)}")
    _above("duration_s", scenario.duration_s)
    _above("quiet_s", scenario.quiet_s)
    _above("channels", scenario.channels)
    _above("topology.brokers", scenario.topology.brokers)
    _above("coordinators.count", scenario.coordinators.count)
    names = [stream.name for stream in scenario.streams]
    for at, clients in enumerate(scenario.clients):
        _known(f"clients[{at}].stream", clients.stream, names)
        for share in ("ordered", "durable", "replaced", "detached"):
            if not 0 <= getattr(clients, share) <= 1:
                raise SemcastError(f"clients[{at}].{share}: a share is from 0 to 1, not {getattr(clients, share):g}")
        _span(f"clients[{at}].attach_s", *clients.attach_s, scenario.duration_s)
    for at, publishers in enumerate(scenario.publishers):
        _known(f"publishers[{at}].stream", publishers.stream, names)
        _above(f"publishers[{at}].rate_hz", publishers.rate_hz)
        _above(f"publishers[{at}].batch", publishers.batch)
        end = scenario.duration_s if publishers.to_s is None else publishers.to_s
        _span(f"publishers[{at}].from_s and to_s", publishers.from_s, end, scenario.duration_s)
    for at, fault in enumerate(scenario.faults):
        faults.check(fault, f"faults[{at}]", scenario.duration_s)
    queue = scenario.network
    if not 0 <= queue.queue_low < queue.queue_high < queue.queue_bound:
        raise SemcastError("network: queue_low < queue_high < queue_bound must hold")


def _check_production(scenario: Scenario) -> None:
    production = scenario.production
    if production is not None:
        if not SCHEMES[scenario.scheme].coordinated:
            raise SemcastError(f"production: under {scenario.scheme!r} brokers keep no sessions and no log")
        if not 0 <= production.near <= 1:
            raise SemcastError(f"production.near: a share is from 0 to 1, not {production.near:g}")
        _above("production.segmented", production.segmented)
        return
    if scenario.campaign is not None and scenario.campaign.disk:
        raise SemcastError("campaign.disk: brokers have disks only with a table [production]")
    for at, fault in enumerate(scenario.faults):
        if isinstance(fault, faults.DiskFault):
            raise SemcastError(f"faults[{at}]: brokers have disks only with a table [production]")


def _above(key: str, value: float) -> None:
    if value <= 0:
        raise SemcastError(f"{key}: must be above 0, not {value:g}")


def _known(key: str, name: str, known: list[str]) -> None:
    if name not in known:
        raise SemcastError(f"{key}: there is no {name!r}; there is {', '.join(known) or 'none'}")


def _span(key: str, begin: float, end: float, most: float) -> None:
    if not 0 <= begin <= end <= most:
        raise SemcastError(f"{key}: must be in order and from 0 to duration_s ({most:g}), not {begin:g} to {end:g}")
