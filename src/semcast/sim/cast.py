"""The machines of a scenario as parties: brokers, coordinators, and what the clients of its workload do, and when."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from semcast.model import SemcastError
from semcast.model.message import ProfileText
from semcast.protocol.client.publisher import Publisher
from semcast.protocol.client.subscriber import Subscriber
from semcast.protocol.coordinator.coordinator import Coordinator
from semcast.protocol.node import Node
from semcast.protocol.planned_node import planned_node
from semcast.sim.clock import Clock
from semcast.sim.disk import KnownLog, SimulatedStore
from semcast.sim.driver import Driver
from semcast.sim.near import NearClient
from semcast.sim.parties import Party
from semcast.sim.process import BrokerProcess
from semcast.sim.scenario import Clients, Production, Publishers, Scenario, Stream
from semcast.sim.stores import MemoryCoordinatorStore, MemoryLog, MemoryNotes, StoreLine
from semcast.sim.witness import Violation
from semcast.sim.workload import draw_profile, profile_text
from semcast.trees.declared import having
from semcast.trees.roles import SOURCE
from semcast.trees.topology import GATEWAY, Topology

_DRIFT = 1e-4
_OFFSET_S = 1000.0


@dataclass(frozen=True)
class Client:
    """A subscriber and its plans, in true seconds."""

    name: str
    profile: ProfileText
    gateways: tuple[str, ...]
    ordered: bool
    durable: bool
    together: bool
    start: str
    attach_s: float
    replace: tuple[float, ProfileText] | None
    detach_s: float | None
    near: bool = False
    """Is it within the process of its first gateway, and handed batches in order?"""


@dataclass(frozen=True)
class Feed:
    """A publisher and what it has to send."""

    name: str
    source: str
    stream: Stream
    plan: Publishers


def coordinator_names(scenario: Scenario) -> list[str]:
    return [f"c{at}" for at in range(scenario.coordinators.count)]


class Cast:
    """Makes parties; all clocks start somewhere else and drift a little."""

    def __init__(
        self,
        scenario: Scenario,
        topology: Topology,
        rng: np.random.Generator,
        driver: Driver | None = None,
        disks: np.random.Generator | None = None,
    ) -> None:
        """``driver`` and ``disks`` are for brokers that are run as in production."""
        self._scenario, self._topology = scenario, topology
        self._driver = driver
        self._disks = np.random.default_rng(0) if disks is None else disks
        self._settings = scenario.tuned()
        self._clocks, self._planners = rng.spawn(2)
        self._coordinators = coordinator_names(scenario)

    def brokers(self) -> list[Party]:
        """One node per broker, with a log where it is a source."""
        around: dict[str, list[str]] = {broker.id: [] for broker in self._topology.brokers}
        for link in self._topology.links:
            around[link.a].append(link.b)
            around[link.b].append(link.a)
        return [self._broker(broker.id, broker.roles, tuple(around[broker.id])) for broker in self._topology.brokers]

    def _broker(self, name: str, roles: tuple[str, ...], neighbours: tuple[str, ...]) -> Party:
        if self._driver is not None and self._scenario.production is not None:
            return self._process(name, roles, neighbours, self._driver, self._scenario.production)
        notes = MemoryNotes()
        log = MemoryLog() if SOURCE in roles else None

        def build(incarnation: int, now: float) -> Node:
            return planned_node(
                name,
                neighbours=neighbours,
                coordinators=self._coordinators,
                settings=self._settings,
                notes=notes,
                log=log,
                gateway=GATEWAY in roles,
                incarnation=incarnation,
                now=now,
            )

        return Party(name, "broker", name, build, log=log, clock=self._clock())

    def _process(
        self, name: str, roles: tuple[str, ...], neighbours: tuple[str, ...], driver: Driver, production: Production
    ) -> Party:
        """A broker as production runs it."""
        (own,) = self._disks.spawn(1)
        store = SimulatedStore(source=SOURCE in roles, segmented=production.segmented, rng=own)
        process = BrokerProcess(store, driver.agenda, driver.handle, driver.do, driver.failed, driver.commit_s)

        def build(incarnation: int, now: float) -> Node:
            damage = process.begin()
            if damage is not None:
                driver.failures.append(Violation("stores stay sound", name, str(damage)))
            party.log = store.known
            return planned_node(
                name,
                neighbours=neighbours,
                coordinators=self._coordinators,
                settings=self._settings,
                notes=store.notes,
                log=store.known,
                gateway=GATEWAY in roles,
                incarnation=incarnation,
                now=now,
                in_bytes=True,
                near=driver.near,
            )

        party = Party(name, "broker", name, build, clock=self._clock(), process=process)
        return party

    def coordinators(self, driver: Driver) -> list[Party]:
        """All on one store, each with its own line to it."""
        store = driver.store = MemoryCoordinatorStore(lambda: driver.agenda.now)
        places = self._scenario.coordinators.at or tuple(broker.id for broker in self._topology.brokers)
        for place in places:
            if place not in self._topology.numbers:
                raise SemcastError(f"coordinators.at: there is no broker {place!r}")
        made = []
        for at, name in enumerate(self._coordinators):
            driver.lines[name] = StoreLine(store)
            made.append(self._coordinator(name, places[at % len(places)]))
        return made

    def _coordinator(self, name: str, at: str) -> Party:
        def build(incarnation: int, __: float) -> Coordinator:
            return Coordinator(
                name,
                topology=self._topology,
                scheme=self._scenario.scheme,
                settings=self._settings,
                rng=self._planners.spawn(1)[0],
                channels=self._scenario.channels,
                incarnation=incarnation,
            )

        return Party(name, "coordinator", at, build, clock=self._clock())

    def subscriber(self, client: Client) -> Party:
        if client.near and self._driver is not None:
            self._driver.near.add(client.name)
            return Party(client.name, "client", client.gateways[0], self._near(client), clock=self._clock())

        def build(_: int, __: float) -> Subscriber:
            return Subscriber(
                client.name,
                client.name,
                client.gateways,
                client.profile,
                settings=self._settings,
                durable=client.durable,
                ordered=client.ordered,
                start=client.start,
                together=client.together,
            )

        return Party(client.name, "client", client.gateways[0], build, clock=self._clock())

    def _near(self, client: Client) -> Callable[[int, float], NearClient]:
        return lambda _, __: NearClient(client.name, client.gateways[0], client.profile, self._settings)

    def publisher(self, feed: Feed) -> Party:
        def build(_: int, __: float) -> Publisher:
            return Publisher(feed.name, feed.source, settings=self._settings)

        return Party(feed.name, "client", feed.source, build, clock=self._clock())

    def _clock(self) -> Clock:
        offset, drift = self._clocks.random(2).tolist()
        return Clock(offset * _OFFSET_S, 1 + (2 * drift - 1) * _DRIFT)


def drawn_clients(scenario: Scenario, topology: Topology, rng: np.random.Generator) -> list[Client]:
    """Every subscriber of the workload, each drawn by itself: one more leaves the others as they are."""
    gateways = having(topology, GATEWAY)
    made: list[Client] = []
    for at, table in enumerate(scenario.clients):
        for broker in table.gateways:
            if broker not in gateways:
                raise SemcastError(f"clients[{at}].gateways: {broker!r} is no gateway; there is {', '.join(gateways)}")
        for number, own in enumerate(rng.spawn(1)[0].spawn(table.count)):
            made.append(_client(f"s{len(made)}", number, scenario, table, gateways, own))
    return made


def brought_near(clients: list[Client], share: float, rng: np.random.Generator) -> list[Client]:
    """Put a share of the clients into the processes of their gateways; those read in order, from the latest on."""
    near = rng.random(len(clients)) < share
    return [
        replace(client, near=True, ordered=True, durable=False, together=False, start="latest", replace=None)
        if chosen
        else client
        for client, chosen in zip(clients, near.tolist(), strict=True)
    ]


def _client(
    name: str, number: int, scenario: Scenario, table: Clients, gateways: list[str], rng: np.random.Generator
) -> Client:
    stream = scenario.stream(table.stream)
    given = table.profiles
    profile = profile_text(stream, given[number % len(given)]) if given else draw_profile(stream, rng)
    if table.gateways:
        turned = [*table.gateways[number % len(table.gateways) :], *table.gateways[: number % len(table.gateways)]]
    else:
        turned = [gateways[at] for at in rng.permutation(len(gateways)).tolist()]
    ordered, durable, replaced, detached = (rng.random(4) < _shares(table)).tolist()
    begin, end = table.attach_s
    attach_s = begin + (end - begin) * float(rng.random())
    first, second = sorted(attach_s + (scenario.duration_s - attach_s) * rng.random(2))
    return Client(
        name,
        profile,
        tuple(turned[: max(1, table.gateways_each)]),
        ordered,
        durable,
        table.together,
        table.start,
        attach_s,
        (float(first), draw_profile(stream, rng)) if replaced else None,
        float(second) if detached else None,
    )


def _shares(table: Clients) -> tuple[float, float, float, float]:
    return table.ordered, table.durable, table.replaced, table.detached


def feeds(scenario: Scenario, topology: Topology) -> list[Feed]:
    """Every publisher of the workload."""
    sources = having(topology, SOURCE)
    made: list[Feed] = []
    for at, table in enumerate(scenario.publishers):
        for source in table.sources or sources:
            if source not in sources:
                raise SemcastError(f"publishers[{at}].sources: {source!r} is no source; there is {', '.join(sources)}")
            made.append(Feed(f"p{len(made)}", source, scenario.stream(table.stream), table))
    return made


def logs(parties: Mapping[str, Party]) -> dict[str, MemoryLog | KnownLog]:
    """Source → its log."""
    return {name: party.log for name, party in parties.items() if party.log is not None}
