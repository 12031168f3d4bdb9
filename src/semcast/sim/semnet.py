"""A run of a network of semantic routers: the same overlay, clients, publishers and faults as any scheme has.

Laws: nobody gets a packet that it does not want, or one twice; and where nothing fails and nobody has just changed
its mind, everybody gets all that it wants. A semantic network repairs nothing: what a fault swallows is lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from semcast.matching.semantic import descriptor, evaluate
from semcast.planning.schemes import scheme_of
from semcast.profiles.semantic import Node, parse
from semcast.protocol.contract import OfferPacket, ReplaceInterest
from semcast.protocol.results import PacketDelivered, Result
from semcast.protocol.semnet.clients import SemanticProducer, SemanticUser
from semcast.protocol.semnet.router import RouterSettings, SemanticRouter
from semcast.protocol.semnet.trees import router_trees
from semcast.protocol.wire.frames import AnyFrame
from semcast.protocol.wire.frames.semantic import Interest
from semcast.sim import cast
from semcast.sim.campaign import Victims, drawn_faults
from semcast.sim.cast import Client, Feed
from semcast.sim.clock import chances
from semcast.sim.driver import Driver
from semcast.sim.journal import Journal
from semcast.sim.network import Geography, Water
from semcast.sim.parties import Party
from semcast.sim.scenario import Scenario
from semcast.sim.simulation import Progress, Report, Simulation, check_names
from semcast.sim.witness import Violation
from semcast.sim.workload import descriptor as described
from semcast.trees.declared import having, topology_of
from semcast.trees.roles import SOURCE
from semcast.trees.topology import Topology

_CONCERNS = ("ticks", "syncs", "crashes", "network", "cast", "clients", "messages", "campaign", "plans", "store")
_SETTLE_S = 3.0
"""After so long everybody knows of a change, if nothing fails."""


def simulation_of(
    scenario: Scenario, seed: int, *, sink: Callable[[bytes], object] | None = None
) -> Simulation | SemnetSimulation:
    """The run of a scenario: of semantic routers, or of the protocol of channels."""
    kind = Simulation if scheme_of(scenario.scheme).coordinated else SemnetSimulation
    return kind(scenario, seed, sink=sink)


class Sent(NamedTuple):
    """A packet that was offered."""

    at: float
    root: Node


class Got(NamedTuple):
    """A packet that a user was given."""

    user: str
    body: bytes
    at: float
    hops: int


@dataclass
class Wish:
    """What a user wants, since when; None: nothing."""

    changes: list[tuple[float, str | None]] = field(default_factory=list)

    def at(self, time: float) -> str | None:
        return next((profile for since, profile in reversed(self.changes) if since <= time), None)


class SemnetSimulation:
    """One run; ``sink`` takes the journal's lines."""

    def __init__(
        self,
        scenario: Scenario,
        seed: int,
        *,
        sink: Callable[[bytes], object] | None = None,
        settings: RouterSettings | None = None,
    ) -> None:
        self._scenario, self._seed = scenario, seed
        self._settings = settings or RouterSettings()
        self._chances = chances(seed, *_CONCERNS)
        self.topology: Topology = topology_of(scenario.topology)
        network = scenario.network
        self.driver = Driver(
            Geography(self.topology),
            self._chances,
            tick_s=scenario.tuned().tick_s,
            client_ms=network.client_ms,
            water=Water(network.queue_high, network.queue_low, network.queue_bound),
            journal=Journal(sink, seed, scenario.as_dict()) if sink is not None else None,
        )
        self.driver.reported = self._reported
        self.driver.watched[Interest] = self._updated
        self.sent: dict[bytes, Sent] = {}
        self.got: list[Got] = []
        self.wishes: dict[str, Wish] = {}
        self.updates: list[tuple[float, str, str, int]] = []
        """When, from, to, bytes of the profile."""
        self.notes = self.driver.notes
        self.faults = 0
        self._prepare()

    def run(self, progress: Progress | None = None, *, still_s: float | None = None) -> Report:
        """Let it run to its end and judge it."""
        end = self._scenario.duration_s + (self._scenario.quiet_s if still_s is None else still_s + _SETTLE_S)
        steps = 20 if progress is not None else 1
        for step in range(1, steps + 1):
            self.driver.agenda.run(end * step / steps)
            if progress is not None:
                progress(end * step / steps, end)
        return self.report()

    def _prepare(self) -> None:
        scenario, agenda = self._scenario, self.driver.agenda
        sources = having(self.topology, SOURCE)
        self.ports = router_trees(self.topology, sources)
        for broker in self.topology.brokers:
            self.driver.add(self._router(broker.id))
        clients = cast.drawn_clients(scenario, self.topology, self._chances["clients"])
        for client in clients:
            agenda.put(client.attach_s, self._join, client)
        feeds = cast.feeds(scenario, self.topology)
        for feed, rng in zip(feeds, self._chances["messages"].spawn(len(feeds)), strict=True):
            self.driver.add(_producer(feed))
            agenda.put(feed.plan.from_s, self._publish, (feed, rng, [0]))
        names = [*self.topology.numbers, *(client.name for client in clients), *(feed.name for feed in feeds)]
        for number, fault in enumerate(scenario.faults):
            check_names(f"faults[{number}]", fault, names, [])
        faults = list(scenario.faults)
        if scenario.campaign is not None:
            victims = Victims(self.topology, [], [client.name for client in clients])
            faults += drawn_faults(scenario.campaign, victims, scenario.duration_s, self._chances["campaign"])
        for fault in faults:
            self.driver.plan(fault)
        self.faults = len(faults)

    def _router(self, name: str) -> Party:
        trees = self.ports[name]
        own = name if name in trees else next(iter(trees), None)

        def build(incarnation: int, _: float) -> SemanticRouter:
            settings = RouterSettings(
                matching=self._settings.matching,
                prefilter_depth=self._settings.prefilter_depth,
                announce_depth=self._settings.announce_depth,
                resend_s=self._settings.resend_s,
                source=own,
            )
            return SemanticRouter(name, trees, settings, incarnation)

        return Party(name, "broker", name, build)

    def _join(self, client: Client) -> None:
        router = client.gateways[0]
        self._wish(client.name, client.profile.text)
        self.driver.add(Party(client.name, "client", router, lambda *_: _user(client, router)))
        if client.replace is not None:
            when, profile = client.replace
            self.driver.agenda.put(when, lambda text: self._replace(client.name, text), profile.text)
        if client.detach_s is not None:
            self.driver.agenda.put(client.detach_s, lambda _: self._replace(client.name, None), None)

    def _replace(self, name: str, profile: str | None) -> None:
        wish = self.wishes[name].changes
        if wish[-1][1] is None:
            return  # it has left
        self._wish(name, profile)
        self.driver.feed(self.driver.parties[name], ReplaceInterest(profile))

    def _wish(self, name: str, profile: str | None) -> None:
        self.wishes.setdefault(name, Wish()).changes.append((self.driver.agenda.now, profile))

    def _publish(self, what: tuple[Feed, np.random.Generator, list[int]]) -> None:
        feed, rng, sent = what
        plan, now, agenda = feed.plan, self.driver.agenda.now, self.driver.agenda
        left = plan.batch if plan.count is None else min(plan.batch, plan.count - sent[0])
        if left <= 0 or now >= (self._scenario.duration_s if plan.to_s is None else plan.to_s):
            return
        for _ in range(left):
            content = described(rng.integers(0, feed.stream.values, feed.stream.attributes).tolist())
            self._offer(feed, content, f"{feed.name}.{sent[0]}.".encode().ljust(feed.stream.payload_bytes, b"."))
            sent[0] += 1
        agenda.put(now + rng.exponential(plan.batch / plan.rate_hz), self._publish, what)

    def _offer(self, feed: Feed, content: bytes, body: bytes) -> None:
        party = self.driver.parties[feed.name]
        root = descriptor(content)
        if not party.alive:
            return
        assert isinstance(root, Node)
        self.sent[body] = Sent(self.driver.agenda.now, root)
        self.driver.feed(party, OfferPacket(content, body))

    def _reported(self, party: Party, result: Result) -> None:
        if isinstance(result, PacketDelivered):
            self.got.append(Got(party.name, result.body, self.driver.agenda.now, result.hops))

    def _updated(self, party: Party, to: str, frame: AnyFrame) -> None:
        assert isinstance(frame, Interest)
        self.updates.append((self.driver.agenda.now, party.name, to, len(frame.profile.encode())))

    def report(self) -> Report:
        """Judge it as it stands."""
        calm = self._scenario.calm
        wanted = self._wanted()
        violations = [*self.driver.failures, *self._unwanted(wanted), *self._twice()]
        missed = self._missed(wanted)
        meters: dict[str, Any] = self.driver.meters.as_dict()
        counts = {
            "sessions": len(self.wishes),
            "published": len(self.sent),
            "acked": len(self.sent),
            "delivered": len(self.got),
            "gaps": 0,
            "missed": len(missed),
            "updates": len(self.updates),
            "update_bytes": sum(size for *_, size in self.updates),
            "faults": self.faults,
            "frames": sum(kind["frames"] for kind in meters["kinds"].values()),
        }
        notes = dict(sorted(self.notes.items()))
        violations += missed if calm else []
        return Report(self._scenario.name, self._seed, self.driver.agenda.now, violations, counts, meters, notes)

    def _wanted(self) -> dict[str, set[bytes]]:
        """Per profile the packets that match it, by the oracle."""
        profiles = {profile for wish in self.wishes.values() for _, profile in wish.changes if profile is not None}
        asked = {profile: parse(profile).expression for profile in sorted(profiles)}
        return {
            profile: {body for body, packet in self.sent.items() if evaluate(expression, packet.root)}
            for profile, expression in asked.items()
        }

    def _unwanted(self, wanted: dict[str, set[bytes]]) -> list[Violation]:
        found = []
        for user, body, at, _ in self.got:
            held = [profile for since, profile in self.wishes[user].changes if profile is not None and since <= at]
            if not any(body in wanted[profile] for profile in held):
                found.append(Violation("nobody gets what it does not want", user, _name(body)))
        return found

    def _twice(self) -> list[Violation]:
        counted = Counter((user, body) for user, body, *_ in self.got)
        return [
            Violation("nobody gets a packet twice", user, _name(body)) for (user, body), n in counted.items() if n > 1
        ]

    def _missed(self, wanted: dict[str, set[bytes]]) -> list[Violation]:
        """Packets that users wanted, for some time before and after, and did not get."""
        had = {(user, body) for user, body, *_ in self.got}
        found = []
        for user, wish in self.wishes.items():
            for body, packet in self.sent.items():
                times = (packet.at - _SETTLE_S, packet.at, packet.at + _SETTLE_S)
                profiles = {wish.at(time) for time in times}
                (profile,) = profiles if len(profiles) == 1 else (None,)
                if profile is not None and body in wanted[profile] and (user, body) not in had:
                    found.append(Violation("everybody gets all that it wants", user, _name(body)))
        return found


def _producer(feed: Feed) -> Party:
    return Party(feed.name, "client", feed.source, lambda *_: SemanticProducer(feed.name, feed.source))


def _user(client: Client, router: str) -> SemanticUser:
    return SemanticUser(client.name, router, client.profile.text)


def _name(body: bytes) -> str:
    return body.rstrip(b".").decode()
