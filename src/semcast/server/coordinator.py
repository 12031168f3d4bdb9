"""A coordinator on real sockets: it decides, and it is where brokers find each other."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from semcast.net.connection import Connection
from semcast.net.host import Host, log
from semcast.net.runner import Runner
from semcast.net.view import Member, OverlayView
from semcast.protocol.contract import (
    AskLead,
    Command,
    CommitStore,
    Event,
    LinksMeasured,
    MakePlan,
    Note,
    ReadStore,
    Received,
    Reorganise,
    Send,
)
from semcast.protocol.stores import CoordinatorStore
from semcast.protocol.wire.codec import AnyView
from semcast.protocol.wire.frames import Answer, Ask, Counters, FoundPlan, Greeting, OfferPlans
from semcast.protocol.wire.senders import AT_COORDINATOR, Sender, objection
from semcast.server.delays import MeasuredDelays
from semcast.server.machines import coordinator_of
from semcast.server.store_calls import StoreThreads
from semcast.server.turns import Turns

if TYPE_CHECKING:
    from semcast.server.planning import Planning

_STALE_S = 5.0
_KEPT_EVENTS = 500


class CoordinatorHost(Host):
    """One coordinator of an overlay, with the view of it that everybody is told."""

    role = "coordinator"

    def __init__(
        self,
        name: str,
        view: OverlayView,
        store: CoordinatorStore,
        *,
        seed: int = 1,
        failed: Callable[[str, BaseException], None] | None = None,
    ) -> None:
        settings, topology = view.tuned(), view.overlay()
        super().__init__(name, incarnation=time.time_ns() // 1_000_000, beat_s=settings.beat_s, dead_s=settings.dead_s)
        self.view = view
        self.store = store
        self.turns = Turns.of_this_loop()
        self.notes: Counter[str] = Counter()
        self.events: deque[dict[str, Any]] = deque(maxlen=_KEPT_EVENTS)
        """What was decided, and who came and went, by this coordinator's clock; the oldest first."""
        self.counters: dict[str, tuple[float, dict[str, Any]]] = {}
        """Broker → when it reported, and what."""
        self.delays = MeasuredDelays()
        self.started_at = time.time()
        self._roles = {broker.id: broker.roles for broker in topology.brokers}
        self._settings = settings
        self.machine = coordinator_of(name, view, seed, self.incarnation)
        # Brokers' fronts know this class too, and plan nothing.
        from semcast.server.planning import Planning

        self.planning: Planning = Planning(self, settings.planner_s)
        self._on_failure = failed
        self._runner = Runner(self.machine, self._do, tick_s=settings.tick_s, failed=self._fail)
        self._calls = StoreThreads(store, self._runner.feed, self._runner.fail, settings)

    async def start(self, address: str) -> None:
        await self.listen(address)
        self._tell(coordinators=self.view.coordinators | {self.name: self.address})
        self.begin()
        self._runner.start()
        log.info("%s: coordinator at %s", self.name, self.address)

    async def stop(self) -> None:
        await self._runner.stop()
        await self._calls.stop()
        await super().stop()

    @property
    def over(self) -> bool:
        """Was it stopped, or did it fail?"""
        return self._runner.over

    def feed(self, event: Event) -> None:
        self._runner.feed(event)

    def fail(self, error: BaseException) -> None:
        self._runner.fail(error)

    def _fail(self, error: BaseException) -> None:
        log.error("%s: cannot go on: %s", self.name, error, exc_info=error)
        if self._on_failure is not None:
            self._on_failure(self.name, error)

    # --- who is there

    def greeting(self, peer: Connection) -> Greeting:
        view = self.view if peer.role != "client" else self.view.for_clients()
        return self.introduction(view.encoded())

    def is_member(self, name: str) -> bool:
        return name in self._roles or name in self.view.coordinators or name in self.view.candidates

    def address_of_member(self, name: str) -> str | None:
        member = self.view.members.get(name)
        return member.address if member is not None else None

    def said_hello(self, connection: Connection, address: str) -> None:
        if connection.role != "broker" or connection.name not in self._roles:
            return
        member = Member(address, "broker", self._roles[connection.name], connection.incarnation)
        if self.view.members.get(connection.name) != member:
            self._tell(members=self.view.members | {connection.name: member})
        self.happened("broker is here", {"broker": connection.name, "incarnation": connection.incarnation})

    def lost(self, peer: Connection, reason: str) -> None:
        if peer.role == "broker" and not self._stopping:
            self.happened("broker is gone", {"broker": peer.name, "reason": reason})
        elif not self._stopping:
            self.planning.lost(peer.name)

    def happened(self, what: str, details: dict[str, Any]) -> None:
        """Remember an event for who asks later, and count it."""
        self.notes[what] += 1
        log.info("%s: %s %s", self.name, what, details)
        self.events.append({"at": time.time(), "what": what, "who": self.name, "details": details})

    def _tell(self, **changes: Any) -> None:
        self.view = msgspec.structs.replace(self.view, version=self.view.version + 1, **changes)
        for peer in self.peers.values():
            peer.send(self.greeting(peer))

    # --- frames

    def frame(self, peer: Connection, frame: AnyView) -> None:
        reason = objection(frame, peer.name, Sender.BROKER if peer.role == "broker" else Sender.CLIENT, AT_COORDINATOR)
        if reason is not None:
            self.refuse(peer, type(frame).__name__.removesuffix("View"), reason)
        elif isinstance(frame, Ask):
            peer.send(self._answer(frame))
        elif isinstance(frame, Counters):
            told = msgspec.json.decode(frame.body)
            self.counters[peer.name] = (time.time(), told)
            self._measured(peer.name, told["links"])
        elif isinstance(frame, OfferPlans):
            self.planning.offered(peer.name, frame.where)
        elif isinstance(frame, FoundPlan):
            self.planning.found(peer.name, frame)
        elif peer.role == "broker":
            self._runner.feed(Received(peer.name, frame))  # type: ignore[arg-type]

    def _measured(self, broker: str, links: dict[str, Any]) -> None:
        before = dict(self.delays.used)
        self.delays.told(broker, links)
        if self.delays.used != before and self.view.delays == "measured":
            self._runner.feed(LinksMeasured(dict(self.delays.used)))

    def _do(self, commands: list[Command]) -> None:
        for command in commands:
            if isinstance(command, Send):
                self.say(command.to, command.frame)
            elif isinstance(command, MakePlan):
                measured = self.view.delays == "measured"
                self.planning.make(self.delays.ordered(command.order) if measured else command.order)
            elif isinstance(command, AskLead | ReadStore | CommitStore):
                self._calls.make(command)
            elif isinstance(command, Note):
                self.happened(command.what, command.details)

    def reorganise(self) -> bool:
        """Decide anew from statistics; False where another coordinator leads."""
        if not self.leads:
            return False
        self._runner.feed(Reorganise())
        return True

    @property
    def leads(self) -> bool:
        return self.machine.leads(asyncio.get_running_loop().time())

    def _answer(self, ask: Ask) -> Answer:
        match ask.what:
            case "status":
                return Answer(ask.request, msgspec.json.encode(self.status()))
            case "plan":
                deployment = self.machine.deployment
                return Answer(ask.request, (deployment.plan.to_json() if deployment else "null").encode())
            case "reorganise":
                done = self.reorganise()
                return Answer(ask.request, b"true" if done else b"false", "" if done else f"{self.name} does not lead")
        return Answer(ask.request, b"", f"a coordinator cannot be asked for {ask.what!r}")

    def status(self) -> dict[str, Any]:
        """The whole overlay, as far as it is known here, as JSON can say it."""
        now, deployment = time.time(), self.machine.current
        state = self.machine.state() if deployment is not None else {}
        brokers = {}
        for name, roles in self._roles.items():
            at, told = self.counters.get(name, (0.0, {}))
            heard = now - at if at else None
            up = name in self.peers and heard is not None and heard < _STALE_S
            brokers[name] = {"up": up, "roles": list(roles), "heard_s": round(heard, 1) if heard else None, **told}
        return {
            "overlay": self.view.name,
            "name": self.name,
            "role": "coordinator",
            "address": self.address,
            "uptime_s": round(now - self.started_at, 1),
            "scheme": self.view.scheme,
            "delays": self.view.delays,
            "leads": self.leads,
            "term": self.machine.term,
            "epoch": deployment.epoch if deployment is not None else 0,
            "phase": state.get("phase", "settled"),
            "planning": state.get("planning", False),
            "planned_s": round(self.planning.planned_s, 3),
            "planned_by": self.planning.planned_by,
            "planners": dict(self.planning.offers),
            "draining": state.get("draining", 0),
            "channels": len(deployment.plan.channels) if deployment is not None else 0,
            "subscriptions": state.get("profiles", 0),
            "version": state.get("version", 0),
            "streams": sorted(self.view.streams),
            "coordinators": self.view.coordinators,
            "brokers": brokers,
            "notes": dict(self.notes),
            "refused": dict(self.refused),
            "longest_turn_ms": round(1000 * self.turns.longest_s, 1),
        }
