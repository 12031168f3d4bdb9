"""A coordinator at work: its clock, its store, and brokers that do what they are told unless a test holds them back."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from semcast.model.message import ProfileText
from semcast.protocol.contract import (
    AskLead,
    Command,
    CommitStore,
    Event,
    MakePlan,
    PlanMade,
    ReadStore,
    Send,
    StoreCommand,
)
from semcast.protocol.coordinator.coordinator import Coordinator
from semcast.protocol.coordinator.orders import Order
from semcast.protocol.settings import Settings
from semcast.protocol.wire.frames import (
    AnyFrame,
    Entry,
    GatewayChanges,
    Heartbeat,
    Install,
    Installed,
    Key,
    Lease,
    Live,
    PieceTaken,
    RosterChanges,
    RosterFollowed,
    RosterPiece,
    Switch,
    Switched,
    Wish,
)
from semcast.server.store_calls import answer_of
from semcast.sim.stores import MemoryCoordinatorStore, StoreLine
from semcast.trees.topology import Broker, Link, Topology
from tests.protocol.playbook import SETTINGS, frames, play, tick

EVERYBODY = ("g0", "g1", "m", "s")


def overlay(*more: Link) -> Topology:
    """``s`` – ``m`` – ``g0``, ``g1``; more links as they are given."""
    brokers = [Broker("s", roles=("source",)), Broker("m")]
    brokers += [Broker(name, roles=("gateway",)) for name in ("g0", "g1")]
    return Topology.of(brokers, [Link("s", "m"), Link("m", "g0"), Link("m", "g1"), *more])


class World:
    """What coordinators share: true time, the store, and brokers with their states."""

    def __init__(self, topology: Topology | None = None) -> None:
        self.now = 0.0
        self.topology = topology or overlay()
        self.store = MemoryCoordinatorStore(lambda: self.now)
        self.incarnations = dict.fromkeys([broker.id for broker in self.topology.brokers], 1)
        self.installed: dict[str, Install] = {}
        """The last that each broker was told."""
        self.tables: dict[str, dict[Key, Entry]] = {}
        """What it has of that."""
        self.follows: dict[str, tuple[int, int]] = {}
        self.versions: dict[str, tuple[int, int]] = {}
        """Source → the version of the roster that it matches by, and since where."""
        self.rosters: dict[str, dict[str, ProfileText]] = {}
        self.ends: dict[str, int] = {}
        self.clean: dict[str, int] = {}

    def beat(self, broker: str, down: tuple[str, ...] = ()) -> Heartbeat:
        told = self.installed.get(broker)
        revision = (told.term, told.revision) if told is not None else (0, 0)
        incarnation = self.incarnations[broker]
        if broker.startswith("s"):
            epoch, since = self.follows.get(broker, (0, 0))
            version = self.versions.get(broker, (0, 0))
            return Heartbeat(
                broker, incarnation, self.now, revision, down, self.ends.get(broker, 0), epoch, since, (), -1, *version
            )  # fmt: skip
        clean = (("s", self.clean.get(broker, 0)),) if broker.startswith("g") else ()
        return Heartbeat(broker, incarnation, self.now, revision, down, clean=clean)

    def crash(self, broker: str) -> None:
        self.incarnations[broker] += 1
        self.installed.pop(broker, None)
        self.tables.pop(broker, None)
        self.follows.pop(broker, None)
        self.versions.pop(broker, None)
        self.rosters.pop(broker, None)

    def answer(self, sent: Send) -> AnyFrame | None:
        """What a broker says to a frame of the coordinator."""
        incarnation = self.incarnations.get(sent.to, 1)
        match sent.frame:
            case Install(term=term, revision=revision):
                has, told = self.tables.get(sent.to, {}), sent.frame
                kept = {key: has[key] for key in told.keep if key in has}
                self.installed[sent.to] = told
                self.tables[sent.to] = kept | {entry.key: entry for entry in told.entries}
                missing = tuple(key for key in told.keep if key not in has)
                return Installed(sent.to, incarnation, term, revision, missing)
            case Switch(term=term, epoch=epoch):
                if epoch > self.follows.get(sent.to, (0, 0))[0]:
                    self.follows[sent.to] = (epoch, self.ends.get(sent.to, 0))
                return Switched(sent.to, incarnation, term, *self.follows[sent.to])
            case RosterChanges(since=since, version=version, changes=changes):
                known = self.versions.get(sent.to, (0, 0))[0]
                if since <= known < version:
                    roster = self.rosters.setdefault(sent.to, {})
                    for change in changes:
                        roster.pop(change.name, None)
                        if change.profile is not None:
                            roster[change.name] = change.profile
                    self.versions[sent.to] = version, self.ends.get(sent.to, 0)
                return RosterFollowed(sent.to, incarnation, *self.versions.get(sent.to, (0, 0)))
            case RosterPiece(snapshot=snapshot, place=place, version=version, last=last, changes=changes):
                roster = self.rosters[sent.to] = self.rosters.get(sent.to, {}) if place else {}
                roster |= {change.name: change.profile for change in changes if change.profile is not None}
                if last:
                    self.versions[sent.to] = version, self.ends.get(sent.to, 0)
                return PieceTaken(sent.to, incarnation, snapshot, place)
        return None


class Reign:
    """One coordinator in its world."""

    def __init__(self, world: World, name: str = "c", *, scheme: str = "masked", settings: Settings = SETTINGS,
                 incarnation: int = 1) -> None:  # fmt: skip
        self.world = world
        self.slow = False
        self.orders: list[Order] = []
        self.slow_store = False
        self.calls: list[StoreCommand] = []
        self.line = StoreLine(world.store)
        self.machine = Coordinator(
            name, topology=world.topology, scheme=scheme, settings=settings,
            rng=np.random.default_rng(1), incarnation=incarnation,
        )  # fmt: skip

    def hears(self, *events: Event | tuple[str, AnyFrame]) -> list[Command]:
        return self._driven(play(self.machine, *events, at=self.world.now))

    def tick(self, after: float = 0.1) -> list[Command]:
        """Let time go by; nobody says anything."""
        self.world.now = round(self.world.now + after, 6)
        return self._driven(tick(self.machine, self.world.now))

    def _driven(self, commands: list[Command]) -> list[Command]:
        """Plans that are ordered are made at once, unless they are ``slow``: then they wait for ``plan_made``.

        So are calls to the store; those of a ``slow_store`` wait for ``answered``. What is left is what was said.
        """
        said: list[Command] = []
        for command in commands:
            if isinstance(command, MakePlan):
                self.orders.append(command.order)
                said += [command] if self.slow else [command, *self.plan_made()]
            elif isinstance(command, AskLead | ReadStore | CommitStore):
                self.calls.append(command)
                said += [] if self.slow_store else self.answered()
            else:
                said.append(command)
        return said

    def answered(self, kind: type | None = None) -> list[Command]:
        """The first call, or the first of a kind, is done and answered."""
        call = next(call for call in self.calls if kind is None or isinstance(call, kind))
        self.calls.remove(call)
        return self.hears(answer_of(self.line, call))

    def plan_made(self) -> list[Command]:
        """The plan that was ordered first is there."""
        order = self.orders.pop(0)
        return self.hears(PlanMade(order.number, order.made()))

    def step(self, *, silent: Iterable[str] = (), deaf: Iterable[str] = (), after: float = 0.1,
             down: dict[str, tuple[str, ...]] | None = None) -> list[Command]:  # fmt: skip
        """Heartbeats of all but the ``silent``, a tick, and the answers of all but these and the ``deaf``."""
        away = {*silent}
        commands: list[Command] = []
        for broker in self.world.incarnations:
            if broker not in away:
                commands += self.hears((broker, self.world.beat(broker, (down or {}).get(broker, ()))))
        commands += self.tick(after)
        for sent in commands:
            if isinstance(sent, Send) and sent.to not in away | {*deaf}:
                said = self.world.answer(sent)
                if said is not None:
                    commands = [*commands, *self.hears((sent.to, said))]
        return commands

    def settle(self, **held: object) -> list[Command]:
        """Go on for so long that everybody who is silent is dead, and nothing is under way; all that was said."""
        commands = [command for _ in range(16) for command in self.step(after=0.25, **held)]  # type: ignore[arg-type]
        assert self.phase == "settled"
        return commands

    @property
    def phase(self) -> object:
        return self.machine.state()["phase"]

    @property
    def epoch(self) -> object:
        return self.machine.state()["epoch"]

    @property
    def draining(self) -> object:
        return self.machine.state()["draining"]


def wants(gateway: str, first: int, *profiles: ProfileText, without: Iterable[ProfileText] = (), incarnation: int = 1,
          bounds: Iterable[float | None] = ()) -> tuple[str, GatewayChanges]:  # fmt: skip
    """A gateway's changes, numbered from ``first`` on: what it wants too, and what it does not want any more."""
    allowed = dict(zip(profiles, bounds, strict=False))
    changes = [Wish(profile, True, allowed.get(profile)) for profile in profiles]
    changes += [Wish(profile, False) for profile in without]
    return gateway, GatewayChanges(gateway, incarnation, first, tuple(changes), complete=0)


def lives(commands: Iterable[Command]) -> list[Live]:
    return frames(commands, Live)


def leased(commands: Iterable[Command]) -> bool:
    return bool(frames(commands, Lease))
