"""Protocols that are broken on purpose: each is found out by a law, and the same run unbroken keeps all laws."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec
import numpy as np
import pytest

from semcast.model.message import ProfileText
from semcast.protocol.broker import forwarding
from semcast.protocol.broker.acks import AckTable, Positions
from semcast.protocol.broker.broker import Broker, Forwarded, Table, narrowed
from semcast.protocol.client.subscriber import Subscriber
from semcast.protocol.contract import Command, CommitStore, Event
from semcast.protocol.coordinator.coordinator import Coordinator
from semcast.protocol.coordinator.followers import Followers
from semcast.protocol.coordinator.leadership import Leadership, Verdict
from semcast.protocol.coordinator.ledger import Ledger
from semcast.protocol.coordinator.overlay import Overlay as KnownOverlay
from semcast.protocol.coordinator.roster import Roster
from semcast.protocol.coordinator.roster_keeper import RosterKeeper
from semcast.protocol.coordinator.tenure import Tenure
from semcast.protocol.gateway.inbox import Inbox, Members
from semcast.protocol.gateway.interests import InterestSet
from semcast.protocol.gateway.register import Register
from semcast.protocol.gateway.sessions import Session
from semcast.protocol.results import Delivered
from semcast.protocol.source.followed_plan import Following, Routed
from semcast.protocol.source.followed_roster import FollowedRoster
from semcast.protocol.source.outlet import Outgoing
from semcast.protocol.source.planned_outlet import PlannedOutlet
from semcast.protocol.wire.data_view import Links
from semcast.protocol.wire.frames import Data, Deliver, Gap, Key, Progress, RosterChanges, Tally
from semcast.sim.faults import Crash, Loss, Partition, Pause, StoreCut, StoreSlow
from semcast.sim.scenario import Coordinators, Network, Production, Publishers, Scenario, Stream
from semcast.sim.simulation import Simulation
from semcast.sim.stores import MemoryCoordinatorStore
from tests.history.witness import finished, recorded
from tests.simulator.crossroads import FAR, at_gateways, scenario
from tests.simulator.mutants import MISSED, NEEDLESS, QUIET, Mutant, Patch, acks_before_the_sync, broken_laws

# --- what the source does wrong


def forgets_a_mask_bit(patch: Patch) -> None:
    plain = Following.route

    def route(self: Following, messages: object) -> list[Routed]:
        lost = 1 << self.bits["b4"]
        found = plain(self, messages)  # type: ignore[arg-type]
        return [Routed(names, tuple((key, mask & ~lost) for key, mask in routes)) for names, routes in found]

    patch.setattr(Following, "route", route)


def is_silent_when_idle(patch: Patch) -> None:
    plain = PlannedOutlet.tick

    def tick(self: PlannedOutlet, sent: int, now: float) -> list[Outgoing]:
        return plain(self, sent, now) if self._told != sent else []

    patch.setattr(PlannedOutlet, "tick", tick)


def needs_no_lease(patch: Patch) -> None:
    patch.setattr(PlannedOutlet, "leased", lambda self, now: self.following is not None)


def trims_what_one_gateway_has(patch: Patch) -> None:
    def together(self: AckTable, key: Key, table: Table) -> Positions:
        said = list(self._said.get(key, {}).values())
        return {source: max(other.get(source, 0) for other in said) for one in said for source in one}

    patch.setattr(AckTable, "_together", together)


def never_closes_a_tree(patch: Patch) -> None:
    plain = PlannedOutlet._tally

    def tally(self: PlannedOutlet, key: Key, sent: int, bit: int | None = None) -> Tally:
        return msgspec.structs.replace(plain(self, key, sent, bit), final=False)

    patch.setattr(PlannedOutlet, "_tally", tally)


# --- what brokers and gateways do wrong


def broker_forgets_a_mask_bit(patch: Patch) -> None:
    plain = Broker._by_mask

    def by_mask(self: Broker, table: Table, data: Data, masks: tuple[int, ...], sender: str | None) -> Forwarded:
        left = narrowed(data, [mask & ~1 for mask in masks])
        return plain(self, table, left, left.masks or (), sender) if left is not None else Forwarded([], [])

    patch.setattr(Broker, "_by_mask", by_mask)
    patch.setattr(forwarding, "Links", lambda masks: Links([mask & ~1 for mask in masks]))


def believes_every_tally(patch: Patch) -> None:
    plain = Inbox.tally

    def tally(self: Inbox, tally: Tally, bit: int, members: Members, now: float) -> None:
        lane = self._lanes.get(tally.key)
        if lane is not None:
            come = sum(number <= tally.through for number in lane.above)
            tally = msgspec.structs.replace(tally, counts={bit: lane.count + come})
        plain(self, tally, bit, members, now)

    patch.setattr(Inbox, "tally", tally)


def forgets_durable_sessions(patch: Patch) -> None:
    def save(self: Register, session: Session) -> None:
        session.dirty = False

    patch.setattr(Register, "save", save)


def keeps_what_came_twice(patch: Patch) -> None:
    plain = Subscriber._took

    def took(self: Subscriber, frame: Deliver | Progress | Gap) -> list[Command]:
        if not isinstance(frame, Deliver):
            return plain(self, frame)
        return [Delivered(frame.source, frame.number, frame.body)]

    patch.setattr(Subscriber, "_took", took)


# --- what coordinators do wrong


def skips_the_drain(patch: Patch) -> None:
    def drain(self: Coordinator, alive: set[str]) -> None:
        for _, successor in list(self._ledger.draining):
            self._ledger.drained(successor)

    patch.setattr(Coordinator, "_drain", drain)


def waits_for_no_source(patch: Patch) -> None:
    plain, went_live = RosterKeeper._call_live, RosterKeeper._went_live

    def at_once(self: RosterKeeper, now: float) -> list[Command]:
        self._leases.until.clear()
        return plain(self, now)

    def sure(self: RosterKeeper, version: int, positions: dict[str, int], _: set[str]) -> list[Command]:
        return went_live(self, version, positions, set(positions))

    patch.setattr(RosterKeeper, "_call_live", at_once)
    patch.setattr(RosterKeeper, "_went_live", sure)


def leases_who_lacks_what_is_live(patch: Patch) -> None:
    plain = Followers.tell

    def late(self: Followers, roster: Roster, sources: Iterable[str], term: int, now: float) -> list[Command]:
        return plain(self, roster, sources, term, now) if now % 3.0 > 2.8 else []

    patch.setattr(Followers, "has", lambda self, source, least, newest: True)
    patch.setattr(Followers, "tell", late)


def follows_without_matching(patch: Patch) -> None:
    plain = FollowedRoster._set

    def forgets(self: FollowedRoster, name: str, profile: ProfileText | None, mask: int) -> None:
        if profile is not None and name in self._entries:
            mask = self._entries[name][1]
        plain(self, name, profile, mask)

    patch.setattr(FollowedRoster, "_set", forgets)
    patch.setattr(FollowedRoster, "change", _whatever_the_digest(FollowedRoster.change))


def _whatever_the_digest(
    plain: Callable[[FollowedRoster, RosterChanges], bool],
) -> Callable[[FollowedRoster, RosterChanges], bool]:
    return lambda self, said: plain(self, msgspec.structs.replace(said, digest=None))


def gives_up_what_others_live_on(patch: Patch) -> None:
    plain = InterestSet.drop

    def drop(self: InterestSet, profile: ProfileText) -> None:
        carried = self._carried.pop(profile, None)
        plain(self, profile)
        if carried:
            self._carried[profile] = carried

    patch.setattr(InterestSet, "drop", drop)


def gives_a_bit_to_another(patch: Patch) -> None:
    plain = KnownOverlay.network

    def network(self: KnownOverlay, now: float) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
        brokers, down = plain(self, now)
        self.gateways = tuple(sorted(self.gateways, key=lambda gateway: (gateway not in brokers, gateway)))
        return brokers, down

    patch.setattr(KnownOverlay, "network", network)


def two_lead_in_one_term(patch: Patch) -> None:
    def lead(self: MemoryCoordinatorStore, who: str, lease_s: float, above: int = 0) -> int:
        self._term = 1
        return 1

    patch.setattr(MemoryCoordinatorStore, "lead", lead)


def comes_back_in_its_old_term(patch: Patch) -> None:
    plain = MemoryCoordinatorStore.lead

    def lead(self: MemoryCoordinatorStore, who: str, lease_s: float, above: int = 0) -> int | None:
        return plain(self, who.partition("#")[0], lease_s, above)

    patch.setattr(MemoryCoordinatorStore, "lead", lead)


def speaks_before_the_commit_is_durable(patch: Patch) -> None:
    plain = Ledger.to_commit

    def to_commit(self: Ledger) -> dict[str, bytes] | None:
        changes = plain(self)
        if changes is not None:
            self.committed()
        return changes

    def commit(self: Tenure) -> list[Command]:
        """Sends every batch off at once, and believes in it."""
        changes = self.ledger.to_commit() if self._knows else None
        return [] if changes is None else [CommitStore(self._number(), self.term, changes), *self._rested(_NOW[0])]

    plain_handle = Coordinator.handle

    def handle(self: Coordinator, event: Event, now: float) -> list[Command]:
        _NOW[0] = now
        return plain_handle(self, event, now)

    patch.setattr(Ledger, "to_commit", to_commit)
    patch.setattr(Tenure, "commit", commit)
    patch.setattr(Coordinator, "handle", handle)


_NOW = [0.0]


def counts_the_lead_from_the_answer(patch: Patch) -> None:
    plain = Leadership.answered

    def answered(self: Leadership, number: int, term: int | None, now: float) -> Verdict:
        self._asked[number] = now
        return plain(self, number, term, now)

    patch.setattr(Leadership, "answered", answered)


def keeps_its_term_after_an_unknown_commit(patch: Patch) -> None:
    def spend(self: Leadership) -> None:
        self._until = self._asked_at = float("-inf")

    patch.setattr(Leadership, "spend", spend)


PROMISES = {MISSED: "nothing is missed", "once": "once", "acked is durable": "acknowledged is durable"}
"""The laws that are about what clients see, and what the checker of histories calls them."""

MUTANTS = {
    found.broken.__name__: found
    for found in [
        Mutant(
            acks_before_the_sync,
            scenario(
                network=Network(sync_ms=(100.0, 300.0)),
                faults=tuple(Crash(from_s=at, to_s=at + 0.5, party="b0") for at in (3.5, 5.0, 6.5)),
            ),
            "acked is durable",
        ),
        Mutant(forgets_a_mask_bit, scenario(), MISSED),
        Mutant(
            # The last message and the tally behind it are lost on the way to b4, and b0 is not asked for long.
            is_silent_when_idle,
            scenario(
                settings={"silence_s": 60.0},
                publishers=(
                    Publishers(stream="news", rate_hz=10, from_s=2.5, to_s=4.0),
                    Publishers(stream="news", count=1, from_s=6.0),
                ),
                faults=(Loss(from_s=5.9, to_s=6.6, probability=1.0, link=("b3", "b4")),),
            ),
            MISSED,
        ),
        Mutant(
            # b0 and the one gateway that it knows of are cut off, together with their clients; s0 comes elsewhere.
            needs_no_lease,
            scenario(
                scheme="unicast",
                duration_s=14.0,
                clients=(at_gateways(1, "b4", attach_s=(4.0, 4.0), profiles=("v0",)), at_gateways(1, "b2")),
                faults=(Partition(from_s=3.0, to_s=12.0, side=("b0", "b1", "b2")),),
            ),
            "leases hold",
        ),
        Mutant(
            trims_what_one_gateway_has,
            scenario(faults=(Partition(from_s=4.0, to_s=6.0, link=("b3", "b4")),)),
            NEEDLESS,
        ),
        Mutant(never_closes_a_tree, scenario(scheme="semcast", reorganise_s=(4.0, 6.0)), "logs are trimmed"),
        Mutant(broker_forgets_a_mask_bit, scenario(), QUIET),
        Mutant(
            believes_every_tally,
            scenario(faults=(Loss(from_s=4.0, to_s=6.0, probability=0.5, link=("b1", "b3")),)),
            MISSED,
        ),
        Mutant(
            forgets_durable_sessions,
            scenario(
                clients=(at_gateways(3, durable=1.0),),
                faults=(
                    Crash(from_s=4.0, to_s=4.5, party="b4"),
                    Partition(from_s=4.2, to_s=7.0, side=("s2",)),
                ),
            ),
            NEEDLESS,
        ),
        Mutant(keeps_what_came_twice, scenario(clients=(at_gateways(3, gateways_each=2, together=True),)), "once"),
        Mutant(
            # What b0 sent before it switched is still under way over long links when all have heard of the switch.
            skips_the_drain,
            scenario(scheme="semcast", topology=FAR, clients=(at_gateways(6, attach_s=(0.0, 7.0)),)),
            QUIET,
        ),
        Mutant(
            # What is said to b0 is late when s1 subscribes to what nobody else wants.
            waits_for_no_source,
            scenario(
                clients=(
                    at_gateways(1, "b2", profiles=("v0",)),
                    at_gateways(1, "b4", profiles=("v1",), attach_s=(4.0, 4.0)),
                ),
                faults=(Partition(from_s=3.9, to_s=5.5, side=("c0", "b1", "b2", "b3", "b4"), one_way=True, hold=True),),
            ),
            MISSED,
        ),
        Mutant(
            # b0 falls when s1 is live at b4, and hears for long only of the plan, not of who wants what.
            leases_who_lacks_what_is_live,
            scenario(
                quiet_s=14.0,
                clients=(at_gateways(1, "b2", profiles=("v0",)), at_gateways(1, "b4", profiles=("v1",))),
                faults=(Crash(from_s=4.0, to_s=4.5, party="b0"),),
            ),
            MISSED,
        ),
        Mutant(
            # s1 and s0 want the same, at two gateways.
            follows_without_matching,
            scenario(clients=(at_gateways(1, "b2", profiles=("v0",)), at_gateways(1, "b4", profiles=("v0",)))),
            MISSED,
        ),
        Mutant(
            # What covers the other's profile is given up while messages come.
            gives_up_what_others_live_on,
            scenario(
                streams=(Stream(name="news", values=2, attributes=2),),
                clients=(
                    at_gateways(2, "b2", profiles=("v0",), detached=1.0),
                    at_gateways(2, "b2", profiles=("v0/v1",), attach_s=(2.0, 2.5)),
                ),
            ),
            MISSED,
        ),
        Mutant(
            gives_a_bit_to_another,
            scenario(
                duration_s=12.0,
                clients=(at_gateways(3, profiles=("v0", "v1", "v0")),),
                faults=(Partition(from_s=4.0, to_s=9.0, side=("b2",)),),
            ),
            MISSED,
        ),
        Mutant(two_lead_in_one_term, scenario(coordinators=Coordinators(count=2)), "one leader a term"),
        Mutant(
            comes_back_in_its_old_term,
            scenario(faults=(Crash(from_s=4.0, to_s=4.5, party="c0"),)),
            "one leader a term",
        ),
        Mutant(
            speaks_before_the_commit_is_durable,
            scenario(coordinators=Coordinators(store_ms=(50.0, 200.0))),
            "what is said is stored",
        ),
        Mutant(
            # Each stands still while the store answers, and takes what it then hears for news.
            counts_the_lead_from_the_answer,
            scenario(
                duration_s=20.0,
                coordinators=Coordinators(count=2),
                faults=(
                    *(StoreSlow(from_s=1.0, to_s=20.0, party=name, most_ms=1500.0) for name in ("c0", "c1")),
                    Pause(from_s=4.0, to_s=10.0, party="c0"),
                    Pause(from_s=13.0, to_s=19.0, party="c1"),
                ),
            ),
            "who speaks holds the lead",
        ),
        Mutant(
            # Calls into a cut may be done long after they were given up.
            keeps_its_term_after_an_unknown_commit,
            scenario(
                duration_s=14.0,
                clients=(at_gateways(12, attach_s=(0.0, 12.0)),),
                faults=tuple(StoreCut(from_s=2.0 + at, to_s=2.15 + at, party="c0") for at in np.arange(0, 11, 0.5)),
            ),
            "no write follows a read",
        ),
    ]
}


@pytest.mark.parametrize("production", [None, Production()], ids=["frames", "production"])
@pytest.mark.parametrize("name", MUTANTS)
def test_a_broken_protocol_is_found_out(name: str, production: Production | None, monkeypatch: Patch) -> None:
    mutant = MUTANTS[name]
    run = msgspec.structs.replace(mutant.run, production=production)
    assert broken_laws(run) == set()
    mutant.broken(monkeypatch)
    assert mutant.law in broken_laws(run)


@pytest.mark.parametrize("name", [name for name, mutant in MUTANTS.items() if mutant.law in PROMISES])
def test_what_a_broken_protocol_does_to_clients_is_found_in_their_history_alone(name: str, monkeypatch: Patch) -> None:
    mutant = MUTANTS[name]
    assert broken_promises(mutant.run) == set()
    mutant.broken(monkeypatch)
    assert PROMISES[mutant.law] in broken_promises(mutant.run)


def broken_promises(run: Scenario) -> set[str]:
    simulation = Simulation(run, 1)
    recorder = recorded(simulation, run)
    simulation.run()
    return {fault.promise for fault in finished(simulation, run, recorder)}
