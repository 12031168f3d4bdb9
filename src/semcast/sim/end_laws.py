"""Laws beside delivery: nothing goes back, nothing grows without bound, nothing is left over, and calm runs are quiet.

Terms, epochs and revisions are watched on the frames that parties send. What is left over is read from the machines
when a run is over: ``state()`` of a broker gives its ``tables``, that of the leading coordinator which tables each
broker should have.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Any

from semcast.protocol.wire.frames import (
    AnyFrame,
    Attach,
    Fetch,
    Heartbeat,
    Install,
    Installed,
    Lease,
    Live,
    Repair,
    RosterFollowed,
    Switch,
    Switched,
    Tally,
)
from semcast.sim.disk import KnownLog
from semcast.sim.driver import Driver
from semcast.sim.parties import Party
from semcast.sim.store_laws import Order, StoreWatch
from semcast.sim.stores import MemoryLog
from semcast.sim.witness import Violation, Witness


class Watch:
    """Sees frames as they are sent."""

    def __init__(self, driver: Driver) -> None:
        self.violations: list[Violation] = []
        self.fetches: Counter[tuple[str, str]] = Counter()
        """(gateway, source) → how often it asked what it misses."""
        self.fetched: Counter[tuple[str, str]] = Counter()
        """(gateway, source) → messages that it was sent for that."""
        self.attached: dict[str, list[str]] = {}
        """Client → the gateways that it went to, in turn."""
        self.durable: set[str] = set()
        """Clients whose sessions outlive a crash of their gateway."""
        self.expired: set[str] = set()
        """Clients whose sessions were given up, since nothing was heard of them for long."""
        self.live: list[tuple[float, int]] = []
        """When a coordinator first said that a version of the roster is live, and which; both ascend."""
        self.followed: dict[str, list[tuple[int, int]]] = {}
        """Source → (position, version): behind which position it said that it matches by which version."""
        self._agenda = driver.agenda
        self._store = StoreWatch(driver)
        self._leaders: dict[int, tuple[str, int]] = {}
        self._requests: set[tuple[str, str, int]] = set()
        self._newest: dict[tuple[object, ...], tuple[int, ...]] = {}
        driver.watched.update(
            {
                Heartbeat: self._heartbeat,
                Installed: self._installed,
                Tally: self._tally,
                Install: self._install,
                Switch: self._switch,
                Lease: self._lease,
                Live: self._live,
                RosterFollowed: self._follows,
                Switched: self._follows,
                Fetch: self._fetch,
                Repair: self._repair,
                Attach: self._attach,
            }
        )

    def _heartbeat(self, party: Party, _: str, frame: AnyFrame) -> None:
        assert isinstance(frame, Heartbeat)
        self._rises("revision", party, frame.revision, party.incarnation)
        if frame.position is not None:
            self._rises("epoch", party, (frame.epoch, frame.since), party.incarnation)
            self._rises("position", party, (frame.position,), party.incarnation)

    def _installed(self, party: Party, _: str, frame: AnyFrame) -> None:
        assert isinstance(frame, Installed)
        self._rises("term", party, (frame.term,))

    def _tally(self, party: Party, to: str, frame: AnyFrame) -> None:
        assert isinstance(frame, Tally)
        if party.name == frame.source:
            # A source may stand on the way back from the rendezvous point, and pass its own, older ones on.
            way = to, frame.key, frame.rendezvous
            self._rises("epoch of tallies", party, (frame.incarnation, frame.epoch, frame.since), *way)

    def _install(self, party: Party, to: str, frame: AnyFrame) -> None:
        assert isinstance(frame, Install)
        self._leads(party, frame)
        self._rises("revision", party, (frame.term, frame.revision), to)

    def _switch(self, party: Party, to: str, frame: AnyFrame) -> None:
        assert isinstance(frame, Switch)
        self._leads(party, frame)
        self._rises("epoch", party, (frame.term, frame.epoch), to)

    def _lease(self, party: Party, _: str, frame: AnyFrame) -> None:
        assert isinstance(frame, Lease)
        self._leads(party, frame)

    def _live(self, party: Party, _: str, frame: AnyFrame) -> None:
        assert isinstance(frame, Live)
        self._leads(party, frame)
        if not self.live or frame.version > self.live[-1][1]:
            self.live.append((self._agenda.now, frame.version))

    def _follows(self, party: Party, _: str, frame: AnyFrame) -> None:
        assert isinstance(frame, RosterFollowed | Switched)
        self.followed.setdefault(party.name, []).append((frame.position, frame.version))

    def _leads(self, party: Party, order: Order) -> None:
        """Who gives orders in a term is one life of one coordinator."""
        term = order.term
        self.violations += self._store.judged(party, order)
        self._rises("term", party, (term,))
        life = party.name, party.incarnation
        leader = self._leaders.setdefault(term, life)
        if leader != life:
            what = f"term {term} is that of {_life(leader)}, and {_life(life)} gives orders in it"
            self.violations.append(Violation("one leader a term", party.name, what))
            self._leaders[term] = life

    def _fetch(self, party: Party, to: str, frame: AnyFrame) -> None:
        assert isinstance(frame, Fetch)
        self.fetches[party.name, to] += 1
        self._requests.add((party.name, to, frame.request))

    def _repair(self, party: Party, to: str, frame: AnyFrame) -> None:
        assert isinstance(frame, Repair)
        if (to, party.name, frame.request) in self._requests:
            self.fetched[to, party.name] += len(frame.numbers)

    def _attach(self, party: Party, to: str, frame: AnyFrame) -> None:
        assert isinstance(frame, Attach)
        if frame.durable:
            self.durable.add(party.name)
        gone_to = self.attached.setdefault(party.name, [])
        if to not in gone_to[-1:]:
            gone_to.append(to)

    def _rises(self, what: str, party: Party, value: tuple[int, ...], *apart: object) -> None:
        """What a party says never goes back; ``apart`` tells series that have nothing to do with each other."""
        key = what, party.name, *apart
        before = self._newest.get(key, value)
        if value < before:
            self.violations.append(Violation("nothing goes back", party.name, f"{what} from {before} to {value}"))
        else:
            self._newest[key] = value


def left_over(driver: Driver, *, bound: int, retain: int) -> Iterator[Violation]:
    """What must hold when everything has been quiet for long."""
    if driver.network.highest > bound:
        yield Violation("queues are bounded", "network", f"{driver.network.highest} frames waited, {bound} may")
    if driver.meters.drops["queue full"]:
        yield Violation("queues are bounded", "network", f"{driver.meters.drops['queue full']} frames found no place")
    for party in driver.parties.values():
        log = party.log
        if log is not None and log.trimmed < log.end - retain:
            what = f"trimmed through {log.trimmed} of {log.end}, {retain} may be kept"
            yield Violation("logs are trimmed", party.name, what)
    yield from _tables(
        {party.name: state(party, driver.agenda.now) for party in driver.parties.values() if party.alive}
    )


def outdated(watch: Watch, witness: Witness, logs: Mapping[str, MemoryLog | KnownLog]) -> Iterator[Violation]:
    """No source matches a message by an older version than one that is live: it follows that, or its lease is over."""
    moments = [at for at, _ in watch.live]
    for source, log in logs.items():
        followed = sorted(watch.followed.get(source, ()))
        places, versions = [place for place, _ in followed], list(accumulate((v for _, v in followed), max))
        for record in log.history:
            moment = bisect_left(moments, witness.invoked.get((record.origin, record.sequence), -1.0))
            known = bisect_left(places, record.number)
            version = versions[known - 1] if known else 0
            if moment and version < watch.live[moment - 1][1]:
                at, newest = watch.live[moment - 1]
                what = f"matched {record.number} by version {version}, and {newest} was live since {at:.3f} s"
                yield Violation("leases hold", source, what)


def made_up_gaps(witness: Witness, logs: Mapping[str, MemoryLog | KnownLog]) -> Iterator[Violation]:
    """Who is told of a gap is told the truth: what it names has gone from the log."""
    for session in witness.sessions.values():
        for gap in session.gaps:
            trimmed = logs[gap.source].trimmed if gap.source in logs else 0
            if gap.through > trimmed or gap.first >= gap.through:
                what = f"({gap.first}, {gap.through}] of {gap.source}, which is trimmed through {trimmed}"
                yield Violation("gaps are real", session.name, what)


def needless_gaps(watch: Watch, witness: Witness, driver: Driver, retain_absent: int) -> Iterator[Violation]:
    """Who stays at one gateway that remembers the session gets all that is published while it is live.

    That is, unless it is away for longer than messages are kept. A gateway that has fallen remembers durable sessions
    only, and a client that goes elsewhere may come too late.
    """
    for session in witness.sessions.values():
        gateways = watch.attached.get(session.name, [])
        kept = session.name in watch.durable or all(driver.parties[name].incarnation == 1 for name in gateways)
        if session.name in watch.expired or len(gateways) != 1 or not kept:
            continue
        live_at = session.versions[0].live_at
        for gap in session.gaps:
            log = driver.parties[gap.source].log
            if log is None or log.end > retain_absent or live_at is None:
                continue
            lost = log.history[gap.first : gap.through]
            if any(witness.invoked.get((record.origin, record.sequence), -1.0) >= live_at for record in lost):
                what = f"({gap.first}, {gap.through}] of {gap.source} at {gap.at:.3f} s, live since {live_at:.3f} s"
                yield Violation("gaps have a reason", session.name, f"{what} at {gateways[0]}, which was never left")


def restless(
    watch: Watch,
    notes: Mapping[str, int],
    *,
    together: bool = False,
    calm_notes: Iterable[str] = ("dropped", "shed", "gap"),
) -> Iterator[Violation]:
    """What must not happen where nothing fails: messages fetched past the trees, frames without a table, gap notices.

    A gateway asks where a source stands when it begins, and again when a plan gives it its first tree. A client stays
    at its first gateway, unless clients hang on several ``together``.
    """
    for (gateway, source), count in sorted(watch.fetches.items()):
        if count > 1 + notes.get("epoch", 0):
            yield Violation("calm runs are quiet", gateway, f"asked {source} for messages {count} times")
    for (gateway, source), count in sorted(watch.fetched.items()):
        yield Violation("calm runs are quiet", gateway, f"fetched {count} messages from the log of {source}")
    for client, gateways in sorted(watch.attached.items()):
        if len(gateways) > 1 and not together:
            yield Violation("calm runs are quiet", client, f"left its gateway: {', '.join(gateways)}")
    for name in calm_notes:
        if notes.get(name):
            yield Violation("calm runs are quiet", "brokers", f"{notes[name]} × {name}")


def _life(who: tuple[str, int]) -> str:
    return f"{who[0]} in its life {who[1]}"


def _tables(states: Mapping[str, Mapping[str, Any]]) -> Iterator[Violation]:
    """Every broker has exactly the tables that the newest plan gives it."""
    leaders = [found for found in states.values() if found.get("leads")]
    if len(leaders) != 1:
        names = [name for name, found in states.items() if found.get("leads")]
        yield Violation("one coordinator leads", "coordinators", f"{len(names)} lead: {', '.join(names)}")
        return
    wanted: Mapping[str, Any] = leaders[0].get("tables", {})
    for broker, keys in sorted(wanted.items()):
        has = {tuple(key) for key in states.get(broker, {}).get("tables", ())}
        should = {tuple(key) for key in keys}
        if has != should:
            what = f"has tables {sorted(has - should)} too many, lacks {sorted(should - has)}"
            yield Violation("no tables are left over", broker, what)


def state(party: Party, true: float) -> dict[str, Any]:
    """What a machine tells of itself, and whether it leads; nothing if it has nothing to tell."""
    told = getattr(party.machine, "state", None)
    leads = getattr(party.machine, "leads", None)
    found: dict[str, Any] = dict(told()) if told is not None else {}
    return found | {"leads": leads(party.clock.read(true))} if leads is not None else found
