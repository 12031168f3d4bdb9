"""Where messages enter: matched once, routed by the plan, logged for good, then sent and acknowledged.

What is in the log is what is sent; tallies, repairs and restarts read it. A source takes messages in only under
a lease from the coordinator, so that one that is cut off cannot go on with profiles of yesterday.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Container, Iterable
from typing import NamedTuple

import msgspec

from semcast.model.message import Message, packed
from semcast.planning.schemes import scheme_of
from semcast.protocol.contract import Command, Note, Send, Sync
from semcast.protocol.filters import Filter
from semcast.protocol.settings import Settings
from semcast.protocol.source.ageing import Ageing
from semcast.protocol.source.followed_plan import Following
from semcast.protocol.source.repairs import Repairs
from semcast.protocol.source.routing import Unfit, routes_of
from semcast.protocol.source.samples import Sampling
from semcast.protocol.stores import Log, Notes, Record
from semcast.protocol.streams import Streams
from semcast.protocol.wire.frames import (
    Ack,
    Append,
    AskSamples,
    Data,
    Fetch,
    Fill,
    Key,
    Lease,
    Leg,
    Publish,
    Published,
    Refused,
    Samples,
    Switch,
    Switched,
    Tally,
)
from semcast.protocol.wire.frames.semantic import Packet
from semcast.protocol.wire.framing import fitting

_KNOWN = "known"
_INGESTED = "ingested"
_LATER: tuple[int, tuple[tuple[Key, int], ...]] = (0, ())
"""Epoch and routes of what waits to be routed elsewhere."""
Outgoing = Data | Leg | Tally | Packet
"""What begins at a source: along a plan's trees, or, in a semantic network, along that of the source."""


class _Way(NamedTuple):
    """How messages begin on a tree: with masks or without, and where they have to go first."""

    masked: bool
    rendezvous: str | None
    gateways: frozenset[int]


class Source:
    """The source at one broker. What it wants sent along trees is returned by ``outgoing``."""

    def __init__(
        self, me: str, log: Log, notes: Notes, settings: Settings, incarnation: int, streams: Streams | None = None
    ) -> None:
        self.me = me
        self.log = log
        self.following: Following | None = None
        self.previous = 0
        self.since = 0
        self.sent = log.end
        """All before a crash counts as sent: gateways will fetch what did not arrive."""
        self.sampling = Sampling(settings.sample, settings.samples)
        self.carried: Counter[Key] = Counter()
        """Messages that were sent on each tree, since this source was started."""
        self._settings = settings
        self._streams = streams or Streams()
        self._notes = notes
        self._incarnation = incarnation
        self._matching: Filter[str] = Filter()
        self._leased_until = float("-inf")
        self._counts: dict[Key, dict[int, int]] = {}
        self._ways: dict[Key, _Way] = {}
        self._closing: dict[Key, int] = {}
        self._off_trees: dict[int, int] = {}
        """Gateway's bit → through here it may be owed messages that no open tree carries."""
        self._acked: dict[Key, int] = {}
        self._floor = log.trimmed
        self._told_of = log.trimmed
        """The coordinator knows that the log reaches so far: who is live by its word is owed nothing before."""
        self._kept_for: dict[str, int] = {}
        self._ageing = Ageing(settings.retain_s, log.trimmed)
        self._waiting: deque[tuple[int, str, Published]] = deque()
        self._tallied_at = float("-inf")
        self._told = -1
        self._known: dict[str, int] = msgspec.json.decode(notes.get(_KNOWN) or b"{}", type=dict[str, int])
        self._ingested = int(notes.get(_INGESTED) or 0)
        """A pipeline is through with what waited for it, through here."""
        self._repairs = Repairs(me, log, incarnation, settings)

    @property
    def epoch(self) -> int:
        return self.following.epoch if self.following else 0

    # --- from the coordinator

    def switch(self, switch: Switch, sender: str) -> list[Command]:
        """Follow a plan from the end of the log on."""
        if self.following is None or switch.epoch > self.following.epoch:
            self._follow(switch)
        return [Send(sender, Switched(self.me, self._incarnation, switch.term, self.epoch, self.since))]

    def _follow(self, switch: Switch) -> None:
        old, self.following = self.following, Following(switch, self.me, self._matching)
        self.previous, self.since = (old.epoch if old else 0), self.log.end
        if old is not None:
            self._closing |= {key: self.since for key in old.trees if key not in self.following.trees}
            self._off_trees |= {old.bits[gateway]: self.since for gateway in old.absent}
        scheme = scheme_of(switch.scheme)
        for key, tree in self.following.trees.items():
            self._counts.setdefault(key, {})
            rendezvous = None if scheme.filtered else tree.rendezvous
            self._ways[key] = _Way(scheme.masked, rendezvous, frozenset(tree.gateways))
        self._acked = {key: place for key, place in self._acked.items() if key in self.following.trees}
        # Who is new on the trees, or back, may have less than those who have spoken so far: his acks are waited for.
        self._floor = self.log.trimmed
        self._keep_for(switch)
        self._tallied_at = float("-inf")  # gateways hear of every plan at once

    def _keep_for(self, switch: Switch) -> None:
        """Remember since when each gateway's interests are matched without a break, and keep the log for the absent."""
        known = {gateway: self._known.get(gateway, self.since) for gateway in switch.gateways}
        if known != self._known:
            self._known = known
            self._notes.put(_KNOWN, msgspec.json.encode(known))
        self._kept_for = {gateway: self._kept_for.get(gateway, self._floor) for gateway in switch.absent}

    def lease(self, lease: Lease) -> None:
        self._told_of = max(self._told_of, lease.position)
        if lease.epoch == self.epoch:
            self._leased_until = max(self._leased_until, lease.echo + lease.lease_s)

    def leased(self, now: float) -> bool:
        return self.following is not None and now < self._leased_until

    def samples(self, ask: AskSamples, sender: str) -> list[Command]:
        return [Send(sender, Samples(self.me, ask.request, 1 / self._settings.sample, tuple(self.sampling.matched)))]

    # --- from publishers

    def publish(self, publish: Publish, sender: str, now: float) -> list[Command]:
        """Take messages in; they are acknowledged when they are durable."""
        expected = self._expected(publish, len(publish.messages), sender, now)
        if isinstance(expected, list):
            return expected
        new = publish.messages[expected - publish.first :]
        refusal = self._streams.refusal
        for number, message in enumerate(new, expected):
            unfit = refusal(message)
            if unfit is not None:
                refused = Refused(publish.origin, publish.first, unfit, unfit=number, attempt=publish.attempt)
                return [Send(sender, refused)]
        self._append(publish.origin, expected, new)
        return self._confirming(publish, sender, len(new))

    def append(self, append: Append, sender: str, now: float) -> list[Command]:
        """Take in what was matched and routed elsewhere, if that was done by the plan that is followed here.

        So whoever is live by this plan misses nothing that was matched before it and comes after it.
        """
        expected = self._expected(append, len(append.bodies), sender, now)
        if isinstance(expected, list):
            return expected
        assert self.following is not None
        if append.epoch != self.epoch:
            reason = f"routed by plan {append.epoch}, and plan {self.epoch} is followed"
            return [Send(sender, Refused(append.origin, append.first, reason, epoch=self.epoch))]
        try:
            routes = routes_of(append, self.following.reached, self._streams.declared)
        except Unfit as error:
            number = append.first + error.place
            return [Send(sender, Refused(append.origin, append.first, str(error), unfit=number))]
        skip, end = expected - append.first, self.log.end
        self.log.append(
            Record(end + 1 + place, append.origin, expected + place, self.epoch, way, body)
            for place, (way, body) in enumerate(zip(routes[skip:], append.bodies[skip:], strict=True))
        )
        self.sampling.matched.extend(append.samples)
        return self._confirming(append, sender, len(routes) - skip)

    def _expected(self, said: Publish | Append, count: int, sender: str, now: float) -> int | list[Command]:
        """The number of the first message that is new, or the answer where there is none or it is not its turn."""
        last = said.first + count - 1
        high, position = self.log.high_water(said.origin)
        if high >= last:
            known = position if high == last else 0
            if position <= self.sent:
                return [Send(sender, Published(said.origin, last, known))]
            self._waiting.append((position, sender, Published(said.origin, last, known)))
            return []
        expected = max(high + 1, min(said.since, said.first))
        if said.first > expected:
            reason = f"message {expected} of {said.origin!r} has not come"
            return [Send(sender, Refused(said.origin, said.first, reason, expected))]
        if not self.leased(now):
            return [Send(sender, Refused(said.origin, said.first, "the source has no lease from a coordinator"))]
        return expected

    def _confirming(self, said: Publish | Append, sender: str, count: int) -> list[Command]:
        """What was appended last is acknowledged when it is durable."""
        end = self.log.end
        through = self.log.high_water(said.origin)[0]
        self._waiting.append((end, sender, Published(said.origin, through, end, count)))
        return [Sync(end)]

    def _append(self, origin: str, first: int, messages: tuple[Message, ...]) -> None:
        assert self.following is not None
        end, epoch, later = self.log.end, self.epoch, self._streams.on_spark
        inline = [message for message in messages if message.stream not in later] if later else messages
        routed = self.following.route(inline)
        ways = iter(routed)
        numbers = range(end + 1, end + 1 + len(messages))
        ahead = first - end - 1
        self.log.append(
            [
                Record(
                    number, origin, number + ahead,
                    *(_LATER if message.stream in later else (epoch, next(ways).routes)), packed(message),
                )
                for number, message in zip(numbers, messages, strict=True)
            ]
        )  # fmt: skip
        self.sampling.take_all(end + 1, epoch, inline, routed)

    def ingested(self, position: int) -> list[Command]:
        """What waited for a pipeline through here has been routed, and need not be kept for it."""
        if position > self._ingested:
            self._ingested = min(position, self.sent)
            self._notes.put(_INGESTED, b"%d" % self._ingested)
        return self.trim()

    def synced(self, through: int) -> tuple[list[Command], list[Outgoing]]:
        """What is durable is sent and acknowledged."""
        frames: list[Outgoing] = []
        while self.sent < through:
            records = self.log.read(self.sent, through, self._settings.batch)
            if not records:
                break
            records = records[: fitting(len(record.body) for record in records)]
            frames += self._frames(records)
            self.sent = records[-1].number
        commands: list[Command] = []
        while self._waiting and self._waiting[0][0] <= self.sent:
            _, publisher, published = self._waiting.popleft()
            commands.append(Send(publisher, published))
        return commands, frames

    def _frames(self, records: list[Record]) -> Iterable[Data | Leg | Packet]:
        by_key: dict[tuple[Key, int], list[tuple[Record, int]]] = {}
        by_leg: dict[tuple[str, int], list[tuple[Record, tuple[Key, ...]]]] = {}
        for record in records:
            legs: dict[str, list[Key]] = {}
            for key, mask in record.routes:
                if key not in self._ways:
                    continue  # nobody's way: owed to who is away, or on a tree that was given up; it will be fetched
                self._count(key, mask)
                rendezvous = self._ways[key].rendezvous
                if rendezvous is None:
                    by_key.setdefault((key, record.epoch), []).append((record, mask))
                else:
                    legs.setdefault(rendezvous, []).append(key)
            for rendezvous, keys in legs.items():
                by_leg.setdefault((rendezvous, record.epoch), []).append((record, tuple(keys)))
        for (key, epoch), held in by_key.items():
            numbers, bodies = _columns(record for record, _ in held)
            masks = tuple(mask for _, mask in held) if self._ways[key].masked else None
            yield Data(key, epoch, self.me, numbers, masks, bodies)
        for (rendezvous, epoch), taken in by_leg.items():
            numbers, bodies = _columns(record for record, _ in taken)
            yield Leg(rendezvous, epoch, self.me, numbers, tuple(keys for _, keys in taken), bodies)

    def sent_to(self, key: Key) -> dict[str, int]:
        """Messages that were sent on a tree for each gateway."""
        gateways = self.following.gateways if self.following is not None else ()
        return {gateways[bit]: count for bit, count in sorted(self._counts.get(key, {}).items())}

    def _count(self, key: Key, mask: int) -> None:
        self.carried[key] += 1
        counts = self._counts.setdefault(key, {})
        while mask:
            bit = (mask & -mask).bit_length() - 1
            counts[bit] = counts.get(bit, 0) + 1
            mask &= mask - 1

    # --- tallies, acks, repairs

    def tick(self, now: float) -> list[Outgoing]:
        """Tallies: often while there is news or somebody lacks something, else now and then."""
        self._ageing.mark(self.log.end, now)
        if self.following is None:
            return []
        settled = self._told == self.sent and self._floor >= self.sent and not self._closing
        pause = max(self._settings.tally_s, self._settings.silence_s / 3) if settled else self._settings.tally_s
        if now - self._tallied_at < pause:
            return []
        self._tallied_at, self._told = now, self.sent
        keys = [*self.following.trees, *self._closing]
        return [self._tally(key) for key in keys]

    def _tally(self, key: Key, bit: int | None = None) -> Tally:
        """For all gateways of a tree, or for one of them."""
        through, final = self.sent, False
        if key in self._closing:
            end = self._closing[key]
            through, final = min(self.sent, end), self.sent >= end
        known = self._counts.get(key, {})
        counts = dict(known) if bit is None else {bit: known.get(bit, 0)}
        return Tally(
            key, self.epoch, self.previous, self.since, self.me, self._incarnation, through, counts, final,
            self._ways[key].rendezvous,
        )  # fmt: skip

    def tallies(self, gateway: str) -> list[Tally]:
        """What the gateway right here can be told as soon as it was sent something: nothing is lost on no way.

        None where messages have to go elsewhere first.
        """
        bit = self.following.bits.get(gateway) if self.following is not None else None
        if self.following is None or bit is None:
            return []
        keys = [key for key in (*self.following.trees, *self._closing) if bit in self._ways[key].gateways]
        if any(self._ways[key].rendezvous not in (None, self.me) for key in keys):
            return []
        return [self._tally(key, bit) for key in keys]

    def close(self, known: Container[Key]) -> None:
        """Old trees that the broker here does not know any more need no tallies."""
        for key in [key for key in self._closing if key not in known]:
            for bit in self._ways[key].gateways:
                self._off_trees[bit] = max(self._closing[key], self._off_trees.get(bit, 0))
            del self._closing[key], self._counts[key], self._ways[key], self.carried[key]

    def ack(self, ack: Ack) -> list[Command]:
        """All gateways of a tree have everything through a position; the log needs it no longer."""
        if self.following is None or ack.key not in self.following.trees:
            return []
        self._acked[ack.key] = ack.positions.get(self.me, 0)
        return self.trim()

    def trim(self) -> list[Command]:
        if self.following is None:
            return []
        acking = [key for key, tree in self.following.trees.items() if tree.acks]
        if any(key not in self._acked for key in acking):
            return []
        self._floor = max(self._floor, min([self.sent, *(self._acked[key] for key in acking)]))
        places = [*self._kept_for.values(), *([self._ageing.old] if self._settings.retain_s else [])]
        kept = [max(place, self.log.end - self._settings.retain_absent) for place in places]
        if self._streams.on_spark:
            kept.append(self._ingested)
        through = min([self._floor, self._told_of, self.log.end - self._settings.retain, *kept])
        if through <= self.log.trimmed:
            return []
        self.log.trim(through)
        return [Note("trimmed", {"through": through})]

    def fetch(self, fetch: Fetch) -> list[Command]:
        """Give a gateway what it misses."""
        if self.following is None:
            return self._repairs.fetch(fetch, 0, self.sent, 0, (0, 0, ())) if fetch.first is None else []
        bit = self.following.bits.get(fetch.gateway)
        if bit is None:
            return []
        open_keys = [*self.following.trees, *(key for key, end in self._closing.items() if self.sent < end)]
        open_keys = [key for key in open_keys if bit in self._ways[key].gateways]
        counts = tuple((key, self._counts.get(key, {}).get(bit, 0)) for key in open_keys)
        known = self._known.get(fetch.gateway, self.since)
        if self.sent < self._off_trees.get(bit, 0):
            # Some of what is not durable yet comes over no tree: counts of open trees would hide that it is missing.
            if fetch.first is None:
                return []  # it asks again
            if fetch.through is None:
                fetch = msgspec.structs.replace(fetch, through=self.sent)
        return self._repairs.fetch(fetch, bit, self.sent, known, (self.epoch, self.since, counts))

    def fill(self, fill: Fill) -> list[Command]:
        """Give a gateway what a profile matched before it was subscribed there."""
        return self._repairs.fill(fill, self.sent)


def _columns(records: Iterable[Record]) -> tuple[tuple[int, ...], tuple[bytes, ...]]:
    held = list(records)
    return tuple(record.number for record in held), tuple(record.body for record in held)
