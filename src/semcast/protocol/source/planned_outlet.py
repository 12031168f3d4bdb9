"""An outlet that follows plans: matched once, routed by the plan, counted per tree, kept for those who lack something.

A source takes messages in only under a lease from the coordinator, so that one that is cut off cannot go on with
profiles of yesterday. Tallies and repairs read what was logged: what is in the log is what is sent.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Container, Iterable
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from semcast.model.message import Message, packed, unpacked
from semcast.planning.schemes import scheme_of
from semcast.protocol.contract import Command, Send, Sync
from semcast.protocol.filters import Filter
from semcast.protocol.settings import Settings
from semcast.protocol.source.ageing import Ageing
from semcast.protocol.source.fills import Fills
from semcast.protocol.source.followed_plan import Following, RosterFollowing, following_of
from semcast.protocol.source.followed_roster import FollowedRoster
from semcast.protocol.source.outlet import Carried, Outgoing
from semcast.protocol.source.repairs import Repairs
from semcast.protocol.source.routing import Routes, Unfit, routes_of
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
    PieceTaken,
    Refused,
    RosterChanges,
    RosterFollowed,
    RosterPiece,
    Samples,
    Switch,
    Switched,
    Tally,
)

if TYPE_CHECKING:
    from semcast.matching.matchers import Aside

_KNOWN = "known"
_INGESTED = "ingested"
_LATER: tuple[int, tuple[tuple[Key, int], ...]] = (0, ())
"""Epoch and routes of what waits to be routed elsewhere."""


class _Way(NamedTuple):
    """How messages begin on a tree: with masks or without, and where they have to go first."""

    masked: bool
    rendezvous: str | None
    gateways: frozenset[int]


class PlannedOutlet:
    """How messages leave one source that follows plans.

    Coordinators and gateways speak to it through the carrier of its node (``broker.tree_carrier``).
    """

    def __init__(
        self,
        me: str,
        log: Log,
        notes: Notes,
        settings: Settings,
        incarnation: int,
        streams: Streams,
        aside: Aside | None = None,
    ) -> None:
        self.following: Following | None = None
        self.previous = 0
        self.since = 0
        self.sampling = Sampling(settings.sample, settings.samples)
        self._me = me
        self._log = log
        self._notes = notes
        self._settings = settings
        self._incarnation = incarnation
        self._streams = streams
        self.roster = FollowedRoster(aside)
        self.version = 0
        """Of the roster that messages are matched by, behind …"""
        self.version_since = 0
        self._matching: Filter[str] = Filter()
        self._confirming: deque[tuple[int, str, Switched | RosterFollowed]] = deque()
        """What is said when the log is durable through a position: after a crash its numbers are given again."""
        self._stood: tuple[tuple[int, int], tuple[int, int]] = (0, 0), (0, 0)
        """What it follows, as it was last durable."""
        self._leased_until = float("-inf")
        self._carried: Counter[Key] = Counter()
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
        self._tallied_at = float("-inf")
        self._told = -1
        self._known: dict[str, int] = msgspec.json.decode(notes.get(_KNOWN) or b"{}", type=dict[str, int])
        self._ingested = int(notes.get(_INGESTED) or 0)
        """A pipeline is through with what waited for it, through here."""
        self._repairs = Repairs(me, log, incarnation, settings)
        self._fills = Fills(me, log, incarnation, settings)

    @property
    def epoch(self) -> int:
        return self.following.epoch if self.following else 0

    @property
    def astray(self) -> int:
        return self.roster.astray

    # --- from the coordinator

    def switch(self, switch: Switch, sender: str, sent: int) -> list[Command]:
        """Follow a plan from the end of the log on."""
        if self.following is None or switch.epoch > self.following.epoch:
            self._follow(switch)
        assert self.following is not None
        answer = Switched(
            self._me, self._incarnation, switch.term, self.epoch, self.since, self.following.switch.version
        )
        return self._confirm(self.since, sender, answer, sent)

    def roster_changed(self, said: RosterChanges | RosterPiece, sender: str, sent: int) -> list[Command]:
        """Match by another version of the roster from the end of the log on."""
        roster, before = self.roster, self.roster.version
        if isinstance(said, RosterPiece):
            if not roster.piece(said):
                return []
            taken: list[Command] = [
                Send(sender, PieceTaken(self._me, self._incarnation, said.snapshot, said.place))
            ]  # fmt: skip
            if roster.version == before:
                return taken
        else:
            taken = []
            if not roster.change(said):
                self._leased_until = float("-inf")  # what it took in was matched by who knows what
                self.version, self.version_since = 0, self._log.end
                return [Send(sender, RosterFollowed(self._me, self._incarnation, before, 0, astray=True))]
        if roster.version != before:
            self._follow_version(roster.version)
            if isinstance(self.following, RosterFollowing):
                self.following.changed()
        answer = RosterFollowed(self._me, self._incarnation, self.version, self.version_since)
        return taken + self._confirm(self.version_since, sender, answer, sent)

    def _follow_version(self, version: int) -> None:
        self.version, self.version_since = version, self._log.end

    def _confirm(self, position: int, to: str, answer: Switched | RosterFollowed, sent: int) -> list[Command]:
        if position <= sent:
            return [Send(to, answer)]
        self._confirming.append((position, to, answer))
        return [Sync(position)]

    def confirmed(self, sent: int) -> list[Command]:
        """What can be said now that the log is durable so far."""
        commands: list[Command] = []
        while self._confirming and self._confirming[0][0] <= sent:
            _, to, answer = self._confirming.popleft()
            commands.append(Send(to, answer))
        return commands

    def stand(self, sent: int) -> tuple[int, int, int, int]:
        """The plan and the roster's version that are followed behind durable positions, each with its position."""
        plan, version = self._stood
        if self.since <= sent:
            plan = self.epoch, self.since
        if self.version_since <= sent:
            version = self.version, self.version_since
        self._stood = plan, version
        return (*plan, *version)

    def _follow(self, switch: Switch) -> None:
        old = self.following
        self.following = following_of(switch, self._me, self._matching, self.roster)
        if not isinstance(self.following, RosterFollowing):
            self._follow_version(switch.version)
        self.previous, self.since = (old.epoch if old else 0), self._log.end
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
        self._floor = self._log.trimmed
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
        return [Send(sender, Samples(self._me, ask.request, 1 / self._settings.sample, tuple(self.sampling.matched)))]

    # --- new messages, and durable ones

    def append(self, origin: str, first: int, messages: tuple[Message, ...]) -> None:
        assert self.following is not None
        end, epoch, later = self._log.end, self.epoch, self._streams.on_spark
        inline = [message for message in messages if message.stream not in later] if later else messages
        routed = self.following.route(inline)
        ways = iter(routed)
        numbers = range(end + 1, end + 1 + len(messages))
        ahead = first - end - 1
        self._log.append(
            [
                Record(
                    number, origin, number + ahead,
                    *(_LATER if message.stream in later else (epoch, next(ways).routes)), packed(message),
                )
                for number, message in zip(numbers, messages, strict=True)
            ]
        )  # fmt: skip
        self.sampling.take_all(end + 1, epoch, inline, routed)

    def routes(self, append: Append) -> list[Routes] | Refused:
        """Take what was routed elsewhere if that was done by the plan that is followed here.

        So whoever is live by this plan misses nothing that was matched before it and comes after it.
        """
        assert self.following is not None
        if append.epoch != self.epoch:
            reason = f"routed by plan {append.epoch}, and plan {self.epoch} is followed"
            return Refused(append.origin, append.first, reason, epoch=self.epoch)
        by_roster = isinstance(self.following, RosterFollowing)
        if by_roster and not self.roster.knows_since(append.version):
            reason = f"matched by version {append.version}, and version {self.version} is followed"
            return Refused(append.origin, append.first, reason, epoch=self.epoch, version=self.version)
        try:
            routes = routes_of(append, self.following.reached, self._streams.declared)
        except Unfit as error:
            return Refused(append.origin, append.first, str(error), unfit=append.first + error.place)
        if isinstance(self.following, RosterFollowing) and append.version < self.version:
            return self._with_later(self.following, append, routes)
        return routes

    def _with_later(self, following: RosterFollowing, append: Append, routes: list[Routes]) -> list[Routes]:
        """Routes that a pipeline found by an earlier version, and who has come since."""
        later = self.roster.match_since(append.version, [unpacked(body) for body in append.bodies])
        found = list(routes)
        for place, mask in enumerate(later):
            if mask:
                known = 0
                for _, gateways in routes[place]:
                    known |= gateways
                found[place] = following.rerouted(known, mask)
        return found

    def frames(self, records: list[Record]) -> Iterable[Data | Leg]:
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
            yield Data(key, epoch, self._me, numbers, masks, bodies)
        for (rendezvous, epoch), taken in by_leg.items():
            numbers, bodies = _columns(record for record, _ in taken)
            yield Leg(rendezvous, epoch, self._me, numbers, tuple(keys for _, keys in taken), bodies)

    def _count(self, key: Key, mask: int) -> None:
        self._carried[key] += 1
        counts = self._counts.setdefault(key, {})
        while mask:
            bit = (mask & -mask).bit_length() - 1
            counts[bit] = counts.get(bit, 0) + 1
            mask &= mask - 1

    def carried(self) -> dict[Key, Carried]:
        if self.following is None:
            return {}
        gateways = self.following.gateways
        return {
            key: Carried(
                self._carried[key],
                {gateways[bit]: count for bit, count in sorted(self._counts.get(key, {}).items())},
            )
            for key in self.following.trees
        }

    # --- tallies, acks, repairs

    def tick(self, sent: int, now: float) -> list[Outgoing]:
        """Tallies: often while there is news or somebody lacks something, else now and then."""
        self._ageing.mark(self._log.end, now)
        if self.following is None:
            return []
        settled = self._told == sent and self._floor >= sent and not self._closing
        pause = max(self._settings.tally_s, self._settings.silence_s / 3) if settled else self._settings.tally_s
        if now - self._tallied_at < pause:
            return []
        self._tallied_at, self._told = now, sent
        keys = [*self.following.trees, *self._closing]
        return [self._tally(key, sent) for key in keys]

    def _tally(self, key: Key, sent: int, bit: int | None = None) -> Tally:
        """For all gateways of a tree, or for one of them."""
        through, final = sent, False
        if key in self._closing:
            end = self._closing[key]
            through, final = min(sent, end), sent >= end
        known = self._counts.get(key, {})
        counts = dict(known) if bit is None else {bit: known.get(bit, 0)}
        return Tally(
            key, self.epoch, self.previous, self.since, self._me, self._incarnation, through, counts, final,
            self._ways[key].rendezvous, self.version, self.version_since,
        )  # fmt: skip

    def tallies(self, gateway: str, sent: int) -> list[Tally]:
        """What the gateway right here can be told as soon as it was sent something: nothing is lost on no way.

        None where messages have to go elsewhere first.
        """
        bit = self.following.bits.get(gateway) if self.following is not None else None
        if self.following is None or bit is None:
            return []
        keys = [key for key in (*self.following.trees, *self._closing) if bit in self._ways[key].gateways]
        if any(self._ways[key].rendezvous not in (None, self._me) for key in keys):
            return []
        return [self._tally(key, sent, bit) for key in keys]

    def close(self, known: Container[Key]) -> None:
        """Old trees that the broker here does not know any more need no tallies."""
        for key in [key for key in self._closing if key not in known]:
            for bit in self._ways[key].gateways:
                self._off_trees[bit] = max(self._closing[key], self._off_trees.get(bit, 0))
            del self._closing[key], self._counts[key], self._ways[key], self._carried[key]

    def ack(self, ack: Ack) -> bool:
        """All gateways of a tree have everything through a position; is it a tree of the plan that is followed?"""
        if self.following is None or ack.key not in self.following.trees:
            return False
        self._acked[ack.key] = ack.positions.get(self._me, 0)
        return True

    def ingested(self, position: int, sent: int) -> None:
        """What waited for a pipeline through here has been routed, and need not be kept for it."""
        if position > self._ingested:
            self._ingested = min(position, sent)
            self._notes.put(_INGESTED, b"%d" % self._ingested)

    def spare(self, sent: int) -> int:
        if self.following is None:
            return 0
        acking = [key for key, tree in self.following.trees.items() if tree.acks]
        if any(key not in self._acked for key in acking):
            return 0
        self._floor = max(self._floor, min([sent, *(self._acked[key] for key in acking)]))
        places = [*self._owed_to_absent(), *([self._ageing.old] if self._settings.retain_s else [])]
        kept = [max(place, self._log.end - self._settings.retain_absent) for place in places]
        if self._streams.on_spark:
            kept.append(self._ingested)
        return min([self._floor, self._told_of, self._log.end - self._settings.retain, *kept])

    def _owed_to_absent(self) -> list[int]:
        """From where on the log is kept for gateways that are away; for those that want nothing it is not."""
        if not isinstance(self.following, RosterFollowing):
            return list(self._kept_for.values())
        return [place for gateway, place in self._kept_for.items() if self.roster.held[gateway]]

    def fetch(self, fetch: Fetch, sent: int) -> list[Command]:
        """Give a gateway what it misses."""
        if self.following is None:
            return self._repairs.fetch(fetch, 0, sent, 0, (0, 0, (), 0, 0)) if fetch.first is None else []
        bit = self.following.bits.get(fetch.gateway)
        if bit is None:
            return []
        open_keys = [*self.following.trees, *(key for key, end in self._closing.items() if sent < end)]
        open_keys = [key for key in open_keys if bit in self._ways[key].gateways]
        counts = tuple((key, self._counts.get(key, {}).get(bit, 0)) for key in open_keys)
        known = self._known.get(fetch.gateway, self.since)
        if sent < self._off_trees.get(bit, 0):
            # Some of what is not durable yet comes over no tree: counts of open trees would hide that it is missing.
            if fetch.first is None:
                return []  # it asks again
            if fetch.through is None:
                fetch = msgspec.structs.replace(fetch, through=sent)
        return self._repairs.fetch(
            fetch, bit, sent, known, (self.epoch, self.since, counts, self.version, self.version_since)
        )

    def fill(self, fill: Fill, sent: int) -> list[Command]:
        """Give a gateway what a profile matched before it was subscribed there, now or in later turns."""
        return self._fills.ask(fill, sent)

    def proceed(self, sent: int) -> list[Command]:
        """Go on with what gateways asked for and one turn had no time for."""
        return self._fills.proceed(sent)


def _columns(records: Iterable[Record]) -> tuple[tuple[int, ...], tuple[bytes, ...]]:
    held = list(records)
    return tuple(record.number for record in held), tuple(record.body for record in held)
