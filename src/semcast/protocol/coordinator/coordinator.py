"""Who decides: subscriptions in, plans out, one change at a time, each made before the old is broken.

A plan is *ordered*, and made beside everything else, since that may take long. Then it is *installed* at all brokers,
then sources are *switched* to it, each at the end of its log, then old trees are *drained*. Everything that was decided
is in the store, so another coordinator, or this one after a crash, goes on from there.

The store may be slow, and nobody waits for it: a step is written, and what rests on it is said when it is durable. All
that rests on what was durable before goes on meanwhile: leases, welcomes, tables.
"""

from __future__ import annotations

from functools import partial

import msgspec
import numpy as np

from semcast.planning.schemes import scheme_of
from semcast.protocol.contract import (
    Command,
    Event,
    LeadAnswered,
    LinksMeasured,
    MakePlan,
    Note,
    PlanMade,
    Received,
    Reorganise,
    Send,
    StoreCommitted,
    StoreFailed,
    StoreRead,
    Tick,
)
from semcast.protocol.coordinator.deployment import Deployment
from semcast.protocol.coordinator.leadership import CAREFUL
from semcast.protocol.coordinator.ledger import Phase
from semcast.protocol.coordinator.orders import Made, Order
from semcast.protocol.coordinator.overlay import Overlay
from semcast.protocol.coordinator.planner import Planner
from semcast.protocol.coordinator.rollout import Rollout, Wanted
from semcast.protocol.coordinator.roster import Roster
from semcast.protocol.coordinator.roster_keeper import Leases, RosterKeeper
from semcast.protocol.coordinator.tenure import Tenure
from semcast.protocol.settings import Settings
from semcast.protocol.wire.frames import (
    AskSamples,
    GatewayChanges,
    Heartbeat,
    Installed,
    Lease,
    PieceTaken,
    RosterFollowed,
    Samples,
    Switched,
    Welcome,
)
from semcast.trees.topology import Topology


class Coordinator:
    """One coordinator; of several, the one that the store names leads, and the others wait."""

    def __init__(
        self,
        name: str,
        *,
        topology: Topology,
        scheme: str,
        settings: Settings,
        rng: np.random.Generator,
        channels: int = 16,
        incarnation: int = 1,
    ) -> None:
        self.name = name
        # Who comes back after a crash does not know what he said in the term of his former life: he needs a new one.
        self._tenure = Tenure(f"{name}#{incarnation}", settings, self._begin_reign, self._resume_reign)
        self._ledger = self._tenure.ledger
        self._topology = topology
        self._settings = settings
        self._scheme, self._channels, self._rng = scheme, channels, rng
        self._overlay = Overlay(topology, settings)
        self._rollout = Rollout(settings)
        self._rostered = scheme_of(scheme).masked
        """Do sources follow the roster, or profiles that a plan brings along?"""
        self._leases = Leases()
        self._keeper = RosterKeeper(self._ledger, self._overlay, self._leases, settings, followed=self._rostered)
        self._shown: tuple[tuple[int, int], Deployment] | None = None
        self._clean: dict[str, dict[str, int]] = {}
        self._gathering: _Gathering | None = None
        self._request = 0
        self._orders = 0
        self._ordered: Order | None = None
        """The plan that is being made."""
        self._reorganised_at = float("-inf")

    @property
    def current(self) -> Deployment | None:
        """The plan in force, as far as this coordinator knows; without profiles where sources follow the roster."""
        return self._ledger.current

    @property
    def deployment(self) -> Deployment | None:
        """The plan in force with all profiles, those of the roster too: it takes long where there are many."""
        current, roster = self._ledger.current, self._ledger.roster
        if current is None or not self._rostered:
            return current
        if self._shown is None or self._shown[0] != (current.epoch, roster.version):
            wanted, present = self._ledger.wanted(), set(current.brokers)
            served = {name: tuple(g for g in gateways if g in present) for name, gateways in wanted.items()}
            served = {name: gateways for name, gateways in served.items() if gateways}
            channels = tuple(channel.id for channel in current.plan.channels)
            plan = msgspec.structs.replace(
                current.plan, subscriptions=served, assignment=dict.fromkeys(served, channels)
            )  # fmt: skip
            whole = msgspec.structs.replace(
                current, plan=plan, profiles=self._ledger.profiles(), wanted=wanted, version=roster.version
            )
            self._shown = (current.epoch, roster.version), whole
        return self._shown[1]

    @property
    def roster(self) -> Roster:
        return self._ledger.roster

    @property
    def all_live(self) -> bool:
        """Is everything live that gateways have said so far?"""
        return not self._ledger.roster.busy and not self._ledger.roster.grown

    def said(self) -> dict[str, tuple[int, int]]:
        """What every gateway said last, as (incarnation, serial)."""
        return self._ledger.roster.heard()

    @property
    def term(self) -> int:
        return self._tenure.term

    def leads(self, now: float) -> bool:
        return self._tenure.leads(now)

    def handle(self, event: Event, now: float) -> list[Command]:
        commands = self._handled(event, now)
        if self.leads(now):
            commands += self._keeper.progress(now)
        return commands + self._tenure.commit()

    def _handled(self, event: Event, now: float) -> list[Command]:
        match event:
            case Tick():
                return self._tick(now)
            case Received(sender, frame) if self.leads(now):
                return self._received(sender, frame, now)
            case Reorganise() if self.leads(now):
                return self._gather(now)
            case LinksMeasured(delays_ms):
                self._keeper.measured(delays_ms)
            case PlanMade():
                return self._tenure.when_leading(partial(self._planned, event), now)
            case LeadAnswered() | StoreRead() | StoreCommitted() | StoreFailed():
                return self._tenure.heard(event, now)
        return []

    # --- leading

    def _begin_reign(self, now: float) -> list[Command]:
        self._overlay.assume_alive(now)
        self._reorganised_at = now
        self._rollout = Rollout(self._settings, self._rollout.revision)
        self._keeper.begin(self.term)
        sources = self._overlay.sources
        self._leases.until = dict.fromkeys(sources, now + CAREFUL * self._settings.lease_s)
        wished = self._gathering is not None or (self._ordered is not None and self._ordered.samples is not None)
        self._leases.confirmed, self._clean, self._gathering = {}, {}, None
        self._ordered = None  # what was ordered in a former term is not waited for, and not taken when it comes
        # Who asked for a reorganisation was told that it will be: it does not go with the lead.
        return [Note("leads", {"term": self.term}), *(self._gather(now) if wished else [])]

    def _resume_reign(self, now: float) -> None:
        self._overlay.assume_alive(now)  # nobody was listened to while the lead had lapsed

    def _tick(self, now: float) -> list[Command]:
        commands = self._tenure.ask(now)
        if not self.leads(now):
            return commands
        if self._settings.reorganise_s is not None and now - self._reorganised_at >= self._settings.reorganise_s:
            self._reorganised_at = now
            commands += self._gather(now)
        self._keeper.expire(now)
        commands += self._advance(now)
        if self._ledger.current is not None or self._ledger.target is not None:
            commands += self._install(now)
        if self._ledger.phase is Phase.SWITCHING:
            commands += self._switch(now)
        return commands

    # --- what comes in

    def _received(self, sender: str, frame: object, now: float) -> list[Command]:
        match frame:
            case Heartbeat():
                return self._heartbeat(sender, frame, now)
            case Installed() if frame.term == self.term:
                self._rollout.installed(frame)
            case Switched():
                self._leases.confirmed[frame.source] = (frame.epoch, frame.position)
            case GatewayChanges():
                return self._keeper.changes(frame)
            case RosterFollowed():
                return self._keeper.followers.followed(frame)
            case PieceTaken():
                self._keeper.followers.taken(frame)
            case Samples() if self._gathering is not None and frame.request == self._gathering.request:
                self._gathering.found[frame.source] = frame.matched
        return []

    def _heartbeat(self, sender: str, beat: Heartbeat, now: float) -> list[Command]:
        self._overlay.heard(beat, now)
        self._rollout.heard(beat, self.term)
        self._clean[beat.broker] = dict(beat.clean)
        if beat.position is None:
            return [Send(sender, Welcome(self.term, beat.sent_at))]
        self._leases.positions[beat.broker] = beat.position
        self._keeper.followers.heard(beat)
        follow = self._to_follow()
        if beat.epoch:
            self._leases.confirmed[beat.broker] = (beat.epoch, beat.since)
        if follow is None or beat.broker not in follow.sources:
            return [Send(sender, Welcome(self.term, beat.sent_at))]
        if beat.epoch != follow.epoch:
            return [Send(sender, follow.switch(beat.broker, self.term))]
        if not self._keeper.may_lease(beat.broker):
            return [Send(sender, Welcome(self.term, beat.sent_at))]
        self._leases.until[beat.broker] = now + CAREFUL * self._settings.lease_s
        return [Send(sender, Lease(self.term, beat.sent_at, self._settings.lease_s, follow.epoch, beat.position))]

    def _to_follow(self) -> Deployment | None:
        """The plan that sources have to follow now."""
        return self._ledger.target if self._ledger.phase is Phase.SWITCHING else self._ledger.current

    # --- changes of plan

    def _advance(self, now: float) -> list[Command]:
        """Take the change under way a step further, or begin one where one is due; the last step is durable first."""
        ledger = self._ledger
        if ledger.deciding:
            return []
        alive = self._overlay.alive(now)
        if ledger.phase is Phase.INSTALLING:
            assert ledger.target is not None
            if self._stale(ledger.target, now):
                ledger.abandon()
            elif self._rollout.complete(self._desired(), alive & set(ledger.target.brokers)):
                ledger.switching()
                return self._tenure.when_durable(self._switch, now)
        elif ledger.phase is Phase.SWITCHING:
            return self._finish(now)
        elif ledger.phase is Phase.SETTLED:
            self._drain(alive)
            return self._begin(now)
        return []

    def _stale(self, plan: Deployment | Order, now: float) -> bool:
        """Has a broker or link gone that the plan counts on?"""
        brokers, down = self._overlay.network(now)
        return not (set(plan.brokers) <= set(brokers) and set(down) <= set(plan.down))

    def _begin(self, now: float) -> list[Command]:
        """Order a plan if anything calls for one and none is being made."""
        if self._ordered is not None:
            return []
        current = self._ledger.current
        brokers, down = self._overlay.network(now)
        same_network = current is not None and (current.brokers, current.down) == (brokers, down)
        samples = self._gathered(now)
        roster = self._ledger.roster
        unchanged = current is not None and (self._rostered or current.version == roster.version)
        if (same_network and unchanged and samples is None) or not brokers:
            return []
        self._orders += 1
        self._ordered = Order(
            self._orders,
            self.term,
            self._ledger.next_epoch(),
            Planner(self._scheme, self._channels, self._rng.spawn(1)[0]),
            self._overlay.topology(brokers, down),
            self._overlay.gateways,
            self._overlay.sources,
            list(roster.entries()),
            roster.version,
            brokers,
            down,
            current,
            self._rollout.tables(current, self._overlay) if current is not None else {},
            samples,
        )
        return [MakePlan(self._ordered)]

    def _planned(self, event: PlanMade, now: float) -> list[Command]:
        """Install the plan that was ordered, unless what it counts on has gone meanwhile.

        Subscriptions that have come or gone since are left to the next one: were this one thrown away for them, there
        might never be one while they come and go faster than plans are made.
        """
        order, made = self._ordered, event.made
        if order is None or event.number != order.number:
            return []
        self._ordered = None
        if self._stale(order, now):
            if order.samples is not None and self._gathering is None:
                return self._gather(now)
            return []
        self._ledger.begin(made.deployment)
        return self._tenure.when_durable(partial(self._begun, made, order.samples is not None), now)

    def _begun(self, made: Made, reorganised: bool, now: float) -> list[Command]:
        """The plan is stored: brokers may hear of it."""
        deployment = made.deployment
        self._rollout.knows(deployment, made.tables)
        about = {"epoch": deployment.epoch, "channels": len(deployment.plan.channels), "reorganised": reorganised}
        return [Note("plan", about), *self._install(now)]

    def _install(self, now: float) -> list[Command]:
        return self._rollout.install(self._desired(), self._overlay.alive(now), self.term, now)

    def _desired(self) -> dict[str, Wanted]:
        return self._rollout.desired(self._ledger, self._overlay)

    def _switch(self, now: float) -> list[Command]:
        """Tell sources that do not follow the target yet."""
        target = self._ledger.target
        assert target is not None
        confirmed = self._leases.confirmed
        late = [source for source in target.sources if confirmed.get(source, (0, 0))[0] < target.epoch]
        return [
            Send(source, target.switch(source, self.term))
            for source in late
            if self._rollout.again(f"switch {source} {target.epoch}", now)
        ]

    def _finish(self, now: float) -> list[Command]:
        """Every source that may take messages in follows the target: it is the plan, and subscriptions are live."""
        target = self._ledger.target
        assert target is not None
        if not self._leases.follow(target.epoch, now):
            return []
        self._ledger.finish()
        return self._tenure.when_durable(partial(self._finished, target), now)

    def _finished(self, target: Deployment, now: float) -> list[Command]:
        """The plan is stored as the one in force: gateways may hear that they are live by it."""
        # Where sources follow the roster, its own versions decide on who is live.
        return [Note("epoch", {"epoch": target.epoch}), *([] if self._rostered else self._keeper.live_by(target))]

    def _drain(self, alive: set[str]) -> None:
        """Old trees go when every gateway that is there has everything that came over them."""
        for old, successor in list(self._ledger.draining):
            waiting = [
                (gateway, source)
                for gateway in self._overlay.gateways
                if gateway in alive and old.members(gateway)
                for source in self._overlay.sources
                if source in alive and self._clean.get(gateway, {}).get(source, 0) < successor
            ]
            if not waiting:
                self._ledger.drained(successor)

    # --- reorganisation

    def _gather(self, now: float) -> list[Command]:
        """Ask the sources for what they sampled."""
        self._request += 1
        asked = [source for source in self._overlay.sources if source in self._overlay.alive(now)]
        self._gathering = _Gathering(self._request, now + 4 * self._settings.resend_s, set(asked))
        return [Send(source, AskSamples(self.term, self._request)) for source in asked]

    def _gathered(self, now: float) -> dict[str, tuple[tuple[str, ...], ...]] | None:
        """The samples of all that were asked, or of those that answered in time."""
        gathering = self._gathering
        if gathering is None or (gathering.asked - gathering.found.keys() and now < gathering.until):
            return None
        self._gathering = None
        return gathering.found

    def state(self) -> dict[str, object]:
        ledger = self._ledger
        return {
            "term": self.term,
            "epoch": ledger.current.epoch if ledger.current else 0,
            "version": ledger.roster.version,
            "live_version": self._keeper.live_version,
            "profiles": len(ledger.roster),
            "phase": ledger.phase.value,
            "gathering": self._gathering is not None,
            "planning": self._ordered is not None,
            "draining": len(ledger.draining),
            "tables": {broker: sorted(wanted.entries) for broker, wanted in self._desired().items()},
        }


class _Gathering:
    def __init__(self, request: int, until: float, asked: set[str]) -> None:
        self.request = request
        self.until = until
        self.asked = asked
        self.found: dict[str, tuple[tuple[str, ...], ...]] = {}
