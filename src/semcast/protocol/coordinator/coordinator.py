"""Who decides: subscriptions in, plans out, one change at a time, each made before the old is broken.

A plan is *ordered*, and made beside everything else, since that may take long. Then it is *installed* at all brokers,
then sources are *switched* to it, each at the end of its log, then old trees are *drained*. Everything that was decided
is in the store, so another coordinator, or this one after a crash, goes on from there.

The store may be slow, and nobody waits for it: a step is written, and what rests on it is said when it is durable. All
that rests on what was durable before goes on meanwhile: leases, welcomes, tables.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from semcast.protocol.contract import (
    Command,
    Event,
    LeadAnswered,
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
from semcast.protocol.coordinator.planner import Planner, Wishes
from semcast.protocol.coordinator.rollout import Rollout, Wanted
from semcast.protocol.coordinator.tenure import Tenure
from semcast.protocol.settings import Settings
from semcast.protocol.wire.frames import (
    AskSamples,
    Heartbeat,
    Installed,
    Interests,
    Lease,
    Live,
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
        self._leases: dict[str, float] = {}
        self._confirmed: dict[str, tuple[int, int]] = {}
        self._positions: dict[str, int] = {}
        self._clean: dict[str, dict[str, int]] = {}
        self._gathering: _Gathering | None = None
        self._request = 0
        self._orders = 0
        self._ordered: Order | None = None
        """The plan that is being made."""
        self._reorganised_at = float("-inf")

    @property
    def deployment(self) -> Deployment | None:
        """The plan in force, as far as this coordinator knows."""
        return self._ledger.current

    def said(self) -> dict[str, tuple[int, int]]:
        """What every gateway asked for last, as (incarnation, serial); compare with a deployment's interests."""
        return self._ledger.all_heard()

    @property
    def term(self) -> int:
        return self._tenure.term

    def leads(self, now: float) -> bool:
        return self._tenure.leads(now)

    def handle(self, event: Event, now: float) -> list[Command]:
        return [*self._handled(event, now), *self._tenure.commit()]

    def _handled(self, event: Event, now: float) -> list[Command]:
        match event:
            case Tick():
                return self._tick(now)
            case Received(sender, frame) if self.leads(now):
                return self._received(sender, frame, now)
            case Reorganise() if self.leads(now):
                return self._gather(now)
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
        sources = self._overlay.sources
        self._leases = dict.fromkeys(sources, now + CAREFUL * self._settings.lease_s)
        wished = self._gathering is not None or (self._ordered is not None and self._ordered.samples is not None)
        self._confirmed, self._clean, self._gathering = {}, {}, None
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
                self._confirmed[frame.source] = (frame.epoch, frame.position)
            case Interests():
                return self._interests(sender, frame)
            case Samples() if self._gathering is not None and frame.request == self._gathering.request:
                self._gathering.found[frame.source] = frame.matched
        return []

    def _heartbeat(self, sender: str, beat: Heartbeat, now: float) -> list[Command]:
        self._overlay.heard(beat, now)
        self._rollout.heard(beat, self.term)
        self._clean[beat.broker] = dict(beat.clean)
        if beat.position is None:
            return [Send(sender, Welcome(self.term, beat.sent_at))]
        self._positions[beat.broker] = beat.position
        follow = self._to_follow()
        if beat.epoch:
            self._confirmed[beat.broker] = (beat.epoch, beat.since)
        if follow is None or beat.broker not in follow.sources:
            return [Send(sender, Welcome(self.term, beat.sent_at))]
        if beat.epoch != follow.epoch:
            return [Send(sender, follow.switch(beat.broker, self.term))]
        self._leases[beat.broker] = now + CAREFUL * self._settings.lease_s
        return [Send(sender, Lease(self.term, beat.sent_at, self._settings.lease_s, follow.epoch, beat.position))]

    def _to_follow(self) -> Deployment | None:
        """The plan that sources have to follow now."""
        return self._ledger.target if self._ledger.phase is Phase.SWITCHING else self._ledger.current

    def _interests(self, sender: str, interests: Interests) -> list[Command]:
        """Subscriptions are stored before anything else happens to them."""
        said = (interests.incarnation, interests.serial)
        if said > self._ledger.heard(interests.gateway):
            self._ledger.take(interests)
        return self._live(interests.gateway, said) if sender == interests.gateway else []

    def _live(self, gateway: str, said: tuple[int, int]) -> list[Command]:
        known = self._ledger.live.get(gateway)
        if known is None or known.said != said:
            return []
        live = Live(self.term, *said, known.epoch, known.positions, known.unsure, known.late)
        return [Send(gateway, live)]

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
        unchanged = current is not None and current.interests == self._ledger.all_said()
        if (same_network and unchanged and samples is None) or not brokers:
            return []
        self._orders += 1
        self._ordered = Order(
            self._orders,
            self.term,
            self._ledger.next_epoch(),
            Planner(self._scheme, self._channels, self._rng.spawn(1)[0]),
            self._wishes(brokers, down),
            self._ledger.wanted(),
            self._ledger.all_said(),
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

    def _wishes(self, brokers: tuple[str, ...], down: tuple[tuple[str, str], ...]) -> Wishes:
        topology = self._overlay.topology(brokers, down)
        present = set(brokers)
        wanted = self._ledger.wanted()
        subscriptions = {name: tuple(g for g in gateways if g in present) for name, gateways in wanted.items()}
        return Wishes(
            topology,
            self._overlay.gateways,
            tuple(source for source in self._overlay.sources if source in present),
            self._ledger.profiles(),
            {name: gateways for name, gateways in subscriptions.items() if gateways},
            {where: bound for where, bound in self._ledger.bounds().items() if where[0] in present},
        )

    def _install(self, now: float) -> list[Command]:
        return self._rollout.install(self._desired(), self._overlay.alive(now), self.term, now)

    def _desired(self) -> dict[str, Wanted]:
        return self._rollout.desired(self._ledger, self._overlay)

    def _switch(self, now: float) -> list[Command]:
        """Tell sources that do not follow the target yet."""
        target = self._ledger.target
        assert target is not None
        late = [source for source in target.sources if self._confirmed.get(source, (0, 0))[0] < target.epoch]
        return [
            Send(source, target.switch(source, self.term))
            for source in late
            if self._rollout.again(f"switch {source} {target.epoch}", now)
        ]

    def _finish(self, now: float) -> list[Command]:
        """Every source that may take messages in follows the target: it is the plan, and subscriptions are live."""
        target = self._ledger.target
        assert target is not None
        for source, until in self._leases.items():
            if now < until and self._confirmed.get(source, (0, 0))[0] < target.epoch:
                return []
        confirmed = {source: place for source, (epoch, place) in self._confirmed.items() if epoch >= target.epoch}
        positions = {source: confirmed.get(source, self._positions.get(source, 0)) for source in self._overlay.sources}
        unsure = tuple(source for source in self._overlay.sources if source not in confirmed)
        changed = self._ledger.finish(positions, unsure)
        return self._tenure.when_durable(partial(self._finished, target, changed), now)

    def _finished(self, target: Deployment, changed: list[str], now: float) -> list[Command]:
        """The plan is stored as the one in force: gateways may hear that they are live by it."""
        commands: list[Command] = [Note("epoch", {"epoch": target.epoch})]
        for gateway in changed:
            commands += self._live(gateway, target.interests[gateway])
        return commands

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
            "phase": ledger.phase.value,
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
