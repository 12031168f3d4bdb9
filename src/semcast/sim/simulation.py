"""A run: a scenario and a seed in, a report out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from semcast.model import SemcastError
from semcast.model.message import ProfileText
from semcast.protocol.client.subscriber import Subscriber
from semcast.protocol.contract import EndSubscription, PublishMessages, Reorganise, ReplaceProfile
from semcast.protocol.results import (
    Delivered,
    MessagesLost,
    MessagesPublished,
    Result,
    SessionEnded,
    SessionExpired,
    WentLive,
)
from semcast.sim import cast
from semcast.sim.campaign import Victims, drawn_faults
from semcast.sim.cast import Cast, Client, Feed
from semcast.sim.clock import chances
from semcast.sim.driver import Driver
from semcast.sim.end_laws import Watch, left_over, made_up_gaps, needless_gaps, outdated, restless
from semcast.sim.faults import AnyFault, LaneFault, StoreCut, StoreSlow
from semcast.sim.journal import Journal
from semcast.sim.laws import judged
from semcast.sim.near import NearClient
from semcast.sim.network import Geography, Water
from semcast.sim.parties import Party
from semcast.sim.scenario import Scenario
from semcast.sim.witness import Violation, Witness
from semcast.sim.workload import draw_message
from semcast.trees.declared import topology_of

_CONCERNS = (
    "ticks",
    "syncs",
    "crashes",
    "network",
    "cast",
    "clients",
    "messages",
    "campaign",
    "plans",
    "pieces",
    "disk",
    "store",
    "near",
)
_SETTLE_S = 3.0
"""In a run in which nothing fails, a message has reached everybody after so long."""

_LOOK_S = 0.5

Progress = Callable[[float, float], None]


@dataclass(frozen=True)
class Report:
    """What came of a run."""

    name: str
    seed: int
    simulated_s: float
    violations: list[Violation]
    counts: dict[str, int]
    meters: dict[str, Any]
    notes: dict[str, int] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "seed": self.seed,
            "simulated_s": self.simulated_s,
            "violations": [{"law": found.law, "who": found.who, "what": found.what} for found in self.violations],
            "counts": self.counts,
            "notes": self.notes,
            "meters": self.meters,
        }


class Simulation:
    """One run of a scenario; ``sink`` takes the journal's lines.

    ``run`` does all of it. Who wants to decide on the way what happens next takes ``step``, ``join`` and the like, and
    ``report`` in the end.
    """

    def __init__(self, scenario: Scenario, seed: int, *, sink: Callable[[bytes], object] | None = None) -> None:
        self._scenario, self._seed = scenario, seed
        self._chances = chances(seed, *_CONCERNS)
        self.topology = topology_of(scenario.topology)
        network = scenario.network
        self.driver = Driver(
            Geography(self.topology),
            self._chances,
            tick_s=scenario.tuned().tick_s,
            sync_ms=network.sync_ms,
            plan_ms=scenario.coordinators.plan_ms,
            store_ms=scenario.coordinators.store_ms,
            client_ms=network.client_ms,
            water=Water(network.queue_high, network.queue_low, network.queue_bound),
            journal=Journal(sink, seed, scenario.as_dict()) if sink is not None else None,
        )
        self.driver.reported = self._reported
        self.witness = Witness()
        self.watch = Watch(self.driver)
        self.notes = self.driver.notes
        self._cast = Cast(scenario, self.topology, self._chances["cast"], self.driver, self._chances["disk"])
        self._feeds: dict[str, tuple[Feed, np.random.Generator]] = {}
        self._sent: Counter[str] = Counter()
        self.faults: list[AnyFault] = []
        self._prepare()

    def run(self, progress: Progress | None = None, *, still_s: float | None = None) -> Report:
        """Let it run to its end and judge it; ``progress`` is told true seconds: done, all.

        With ``still_s`` it ends sooner: when there has been nothing left to do for so long.
        """
        end = self._scenario.duration_s + self._scenario.quiet_s
        steps = 20 if progress is not None else 1
        if still_s is not None:
            self.driver.agenda.run(self._scenario.duration_s)
            self._run_until_still(end, still_s)
        for step in range(1, steps + 1) if still_s is None else ():
            self.driver.agenda.run(end * step / steps)
            if progress is not None:
                progress(end * step / steps, end)
        return self.report(calm=self._scenario.calm)

    def _run_until_still(self, end: float, still_s: float) -> None:
        busy_at = now = self.driver.agenda.now
        while now < end and now - busy_at < still_s:
            self.step(min(_LOOK_S, end - now))
            now = self.driver.agenda.now
            if not self._still():
                busy_at = now

    def _still(self) -> bool:
        """Has everybody what is his? All is acknowledged, live, taken by its clients, and gone from the logs.

        Who was live and lost its gateway since will be told what it missed when it is taken up again.
        """
        witness, settings = self.witness, self._scenario.tuned()
        if len(witness.acked) < len(witness.invoked):
            return False
        for session in witness.sessions.values():
            if session.detached_at is not None:
                continue
            subscriber = self.driver.parties[session.name].machine
            served = not isinstance(subscriber, Subscriber | NearClient) or subscriber.served
            if session.left_at is not None or session.versions[-1].live_at is None or not served:
                return False
        return not any(left_over(self.driver, bound=self._scenario.network.queue_bound, retain=settings.retain))

    def step(self, seconds: float) -> None:
        """Let so much true time go by."""
        self.driver.agenda.run(self.driver.agenda.now + seconds)

    def _prepare(self) -> None:
        scenario, agenda = self._scenario, self.driver.agenda
        for party in (*self._cast.brokers(), *self._cast.coordinators(self.driver)):
            self.driver.add(party)
        clients = cast.drawn_clients(scenario, self.topology, self._chances["clients"])
        if scenario.production is not None:
            clients = cast.brought_near(clients, scenario.production.near, self._chances["near"])
        feeds = cast.feeds(scenario, self.topology)
        for client in clients:
            agenda.put(client.attach_s, self.join, client)
        for feed, rng in zip(feeds, self._chances["messages"].spawn(len(feeds)), strict=True):
            self.driver.add(self._cast.publisher(feed))
            self._feeds[feed.name] = feed, rng
            agenda.put(feed.plan.from_s, self._publish, feed)
        for when in scenario.reorganise_s:
            agenda.put(when, self.reorganise)
        self._prepare_faults([client.name for client in clients], [feed.name for feed in feeds])

    def _prepare_faults(self, clients: list[str], publishers: list[str]) -> None:
        scenario = self._scenario
        coordinators = cast.coordinator_names(scenario)
        known = [*self.topology.numbers, *coordinators, *clients, *publishers]
        for at, fault in enumerate(scenario.faults):
            check_names(f"faults[{at}]", fault, known, coordinators)
        self.faults = list(scenario.faults)
        if scenario.campaign is not None:
            victims = Victims(self.topology, coordinators, clients)
            self.faults += drawn_faults(scenario.campaign, victims, scenario.duration_s, self._chances["campaign"])
        for fault in self.faults:
            self.driver.plan(fault)

    def join(self, client: Client) -> None:
        """A subscriber comes now; its plans for later stand."""
        agenda = self.driver.agenda
        self.witness.subscribed(client.name, client.profile, agenda.now, ordered=client.ordered)
        self.driver.add(self._cast.subscriber(client))
        if client.replace is not None:
            agenda.put(client.replace[0], lambda profile: self.replace(client.name, profile), client.replace[1])
        if client.detach_s is not None:
            agenda.put(client.detach_s, self.leave, client.name)

    def replace(self, name: str, profile: ProfileText) -> None:
        """A subscriber asks for something else from now on, unless it is down."""
        party = self.driver.parties[name]
        if not party.alive:
            return
        self.witness.replaced(name, profile, self.driver.agenda.now)
        self.driver.feed(party, ReplaceProfile(profile))

    def leave(self, name: str) -> None:
        """A subscriber goes for good, unless it is down."""
        party = self.driver.parties[name]
        if not party.alive:
            return
        self.witness.left(name, self.driver.agenda.now)
        self.driver.feed(party, EndSubscription())

    def publish(self, name: str, count: int) -> None:
        """A publisher sends so many messages of its stream at once, unless it is down."""
        (feed, rng), party = self._feeds[name], self.driver.parties[name]
        if not party.alive:
            return
        now, first = self.driver.agenda.now, self._sent[name]
        messages = [draw_message(feed.stream, rng, f"{name}.{first + at}") for at in range(count)]
        for at in range(count):
            self.witness.published(name, first + at, now)
        self._sent[name] += count
        self.driver.feed(party, PublishMessages(messages))

    def _publish(self, feed: Feed) -> None:
        plan, now = feed.plan, self.driver.agenda.now
        left = plan.batch if plan.count is None else min(plan.batch, plan.count - self._sent[feed.name])
        if left <= 0 or now >= (self._scenario.duration_s if plan.to_s is None else plan.to_s):
            return
        self.publish(feed.name, left)
        pause = self._feeds[feed.name][1].exponential(plan.batch / plan.rate_hz)
        self.driver.agenda.put(now + pause, self._publish, feed)

    def reorganise(self, _: None = None) -> None:
        """Ask whoever leads for a new plan."""
        for name in cast.coordinator_names(self._scenario):
            party = self.driver.parties[name]
            if party.alive:
                self.driver.feed(party, Reorganise())

    def _reported(self, party: Party, result: Result) -> None:
        now, witness = self.driver.agenda.now, self.witness
        match result:
            case Delivered(source, number, body):
                witness.delivered(party.name, source, number, body, now)
            case WentLive(version, positions):
                witness.live(party.name, version, positions, now)
            case SessionEnded():
                witness.detached(party.name, now)
            case MessagesLost(source, first, through):
                witness.gap(party.name, source, first, through, now)
            case MessagesPublished(_, through):
                witness.acknowledged(party.name, through, now)
            case SessionExpired(session):
                self.watch.expired.add(session)

    def report(self, *, calm: bool) -> Report:
        """Judge it as it stands; ``calm``: nothing went wrong, and more can be asked."""
        scenario, settings = self._scenario, self._scenario.tuned()
        logs = cast.logs(self.driver.parties)
        histories = {name: log.history for name, log in logs.items()}
        violations = judged(self.witness, histories, _SETTLE_S if calm else None)
        violations += outdated(self.watch, self.witness, logs)
        violations += made_up_gaps(self.witness, logs)
        violations += needless_gaps(self.watch, self.witness, self.driver, settings.retain_absent)
        violations = self.driver.failures + violations + self.watch.violations
        violations += left_over(self.driver, bound=scenario.network.queue_bound, retain=settings.retain)
        if calm:
            violations += restless(self.watch, self.notes, together=any(table.together for table in scenario.clients))
        meters = self.driver.meters.as_dict()
        counts = {
            "sessions": len(self.witness.sessions),
            "published": len(self.witness.invoked),
            "acked": len(self.witness.acked),
            "delivered": sum(len(session.deliveries) for session in self.witness.sessions.values()),
            "gaps": sum(len(session.gaps) for session in self.witness.sessions.values()),
            "faults": len(self.faults),
            "frames": sum(kind["frames"] for kind in meters["kinds"].values()),
        }
        notes = dict(sorted(self.notes.items()))
        return Report(scenario.name, self._seed, self.driver.agenda.now, violations, counts, meters, notes)


def check_names(at: str, fault: AnyFault, known: list[str], coordinators: list[str]) -> None:
    """A fault must be somebody's; SemcastError where it is nobody's."""
    named = [*(fault.link or ()), *fault.side] if isinstance(fault, LaneFault) else [fault.party]
    for name in named:
        if name not in (coordinators if isinstance(fault, StoreCut | StoreSlow) else known):
            among = ", ".join(coordinators) if isinstance(fault, StoreCut | StoreSlow) else "brokers, c0…, s0…, p0…"
            raise SemcastError(f"{at}: there is no party {name!r}; there is {among}")
