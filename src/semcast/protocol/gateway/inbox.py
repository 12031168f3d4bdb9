"""What a gateway has of one source, and how it knows that nothing is missing.

Numbers are not contiguous at a gateway, so a gap in them tells nothing. Per tree, the source tells in tallies how many
messages it has sent this gateway; as many distinct ones must have come. The *frontier* is the position
through which nothing is missing on any tree. What is missing behind it is fetched from the source's log, which
also says how its counts stand: so a gateway needs to remember nothing across a crash.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from semcast.protocol.wire.frames import Caught, Key, Tally

Members = Mapping[int, frozenset[Key]]
"""Epoch → the trees of its plan over which the source's messages may come."""


@dataclass(slots=True)
class Lane:
    """One tree, as far as one source's messages on it go."""

    position: int
    """Nothing is missing through here."""
    count: int
    """How many the source had sent by then."""
    above: set[int] = field(default_factory=set)
    """What has come beyond."""
    due_since: float | None = None
    """When it was first seen to lag behind what the source has sent."""


class Inbox:
    """Messages of one source at one gateway."""

    def __init__(self, source: str, window: int, begun: int | None = None) -> None:
        self.source = source
        self.begun = begun
        """Everything behind this position is tracked; None until the source has said where it stands."""
        self.frontier = begun or 0
        self.top = begun or 0
        """The highest position heard of."""
        self.epoch = 0
        """The newest plan that the source is known to follow."""
        self.since = 0
        """The position behind which it follows that plan."""
        self.version = 0
        """The newest version of the roster that the source is known to match by, …"""
        self.version_since = 0
        """… behind this position."""
        self._left_at = 0
        """As ``since``, but of the first of several plans in turn that have no tree to here."""
        self.heard_at: float | None = None
        self._window = window
        self._incarnation: int | None = None
        self._got: set[int] = set()
        self._lanes: dict[Key, Lane] = {}
        self._early: dict[Key, set[int]] = {}
        self._wrong = False
        self._on_trees: bool | None = None
        """Is it on trees of the plan that the source follows? None where only the coordinator knows."""
        self.verify: int | None = None
        """The position through which the log has to be asked before trees can be trusted."""
        self._left_out_since: float | None = None

    @property
    def held(self) -> int:
        """How many numbers are remembered above the frontier."""
        return len(self._got)

    @property
    def have(self) -> tuple[int, ...]:
        return tuple(sorted(self._got))

    @property
    def through(self) -> int | None:
        """How far the log has to be asked; None: to its end."""
        return None if self._wrong else self.verify

    @property
    def open(self) -> frozenset[Key]:
        return frozenset(self._lanes)

    def arrived(self, key: Key | None, number: int) -> bool:
        """Count a message that came over a tree, or from the log; is it new?

        Where too many have come before what is missing, more are refused: they count as not come, and will be
        fetched.
        """
        if self.begun is None or (key is not None and len(self._got) >= self._window):
            return False
        self.top = max(self.top, number)
        if key is not None:
            self._counted(key, number)
        if number <= self.frontier or number in self._got:
            return False
        self._got.add(number)
        return True

    def passed(self, number: int) -> bool:
        """A message came by a way that keeps order, so nothing before it will ever come; is it new?"""
        if number <= self.frontier:
            return False
        self.frontier = self.top = number
        return True

    def _counted(self, key: Key, number: int) -> None:
        lane = self._lanes.get(key)
        if lane is None:
            # Data of a new plan may come before its first tally; where counting begins is not known yet.
            self._early.setdefault(key, set()).add(number)
        elif number > lane.position:
            lane.above.add(number)

    def expect(self, now: float) -> None:
        """Trees are laid to here. Who had none before was not told anything over them: the source is not silent yet."""
        if not self._lanes and self.heard_at is not None:
            self.heard_at = now

    def tally(self, tally: Tally, bit: int, members: Members, now: float) -> None:
        """Compare what a source says it has sent over a tree with what has come."""
        self.heard_at = now
        if self.begun is None or (self._incarnation is not None and tally.incarnation < self._incarnation):
            return
        self.top = max(self.top, tally.through)
        if tally.incarnation != self._incarnation:
            self._wrong = True  # it counts anew, and what it sent before it fell may be lost
            return
        if tally.version > self.version:
            self.version, self.version_since = tally.version, tally.version_since
        if tally.epoch > self.epoch and not self._followed(tally, members, now):
            return
        lane = self._lanes.get(tally.key)
        if lane is None or tally.through < lane.position:
            return
        sent = tally.counts.get(bit, 0)
        come = {number for number in lane.above if number <= tally.through}
        if lane.count + len(come) == sent:
            lane.position, lane.count, lane.due_since = tally.through, sent, None
            lane.above -= come
            if tally.final:
                del self._lanes[tally.key]
        else:
            self._wrong = True
        self._advance()

    def _followed(self, tally: Tally, members: Members, now: float) -> bool:
        """Take note of a new plan, unless one was left out: its trees may have carried what nobody would miss."""
        left_out = bool(self._lanes) and tally.previous != self.epoch
        if left_out or tally.epoch not in members:
            if self._left_out_since is None:
                self._left_out_since = now  # it may still come, over a slower tree
            return False
        if members[tally.epoch] and not (self._lanes and self._was_there(members)):
            self.verify = tally.since  # no tree told of what came before: the gateway may have been away
        if members[tally.epoch] or self._was_there(members):
            self._left_at = tally.since  # else it may have been away since it left, and the log holds what it is owed
        self._follow(tally.epoch, tally.since, members[tally.epoch])
        return True

    def _was_there(self, members: Members) -> bool:
        """Did the plan that the source followed so far have trees for this gateway? Old ones may be open without."""
        return bool(members.get(self.epoch)) if self._on_trees is None else self._on_trees

    def _follow(self, epoch: int, since: int, keys: frozenset[Key]) -> None:
        """The source follows a new plan behind a position: its trees count from there on."""
        self.epoch, self.since, self._on_trees = epoch, since, bool(keys)
        self._left_out_since = None
        for key in keys - self._lanes.keys():
            above = {number for number in self._early.pop(key, set()) if number > since}
            self._lanes[key] = Lane(since, 0, above)
        self._early = {key: seen for key, seen in self._early.items() if key in keys}

    def _advance(self) -> None:
        if self.verify is None:
            # Who has left all trees has all that came over them, until where the source first left it out of a plan.
            self._move(min((lane.position for lane in self._lanes.values()), default=self._left_at))

    def _move(self, frontier: int) -> None:
        if frontier > self.frontier:
            self.frontier = frontier
            self._got = {number for number in self._got if number > frontier}

    def caught(self, caught: Caught) -> None:
        """The log has answered: nothing is missing through a position, and these are its counts there."""
        if self._incarnation is not None and caught.incarnation < self._incarnation:
            return
        if self.begun is None:
            self.begun = caught.through
        if caught.version > self.version or caught.incarnation != self._incarnation:
            self.version, self.version_since = caught.version, caught.version_since
        self.top = max(self.top, caught.through)
        if caught.more or (caught.incarnation == self._incarnation and caught.epoch < self.epoch):
            # Part of an answer, or one that a tree has overtaken with word of a newer plan: it knows not all trees.
            self._move(caught.through)
            if self.verify is not None and caught.through >= self.verify:
                self.verify = None
                self._advance()
            return
        known = self._early | {key: lane.above for key, lane in self._lanes.items()}
        self._incarnation, self.epoch, self.since = caught.incarnation, caught.epoch, caught.since
        self._left_at = caught.since
        self._on_trees = None
        self._lanes = {
            key: Lane(caught.through, count, {number for number in known.get(key, ()) if number > caught.through})
            for key, count in caught.counts
        }
        self._early = {key: seen for key, seen in self._early.items() if key not in self._lanes}
        self._wrong, self.verify = False, None
        self._left_out_since = None
        self._move(caught.through)

    def missing(self, now: float, grace_s: float, silence_s: float) -> bool:
        """Is there reason to ask the source?"""
        if self.begun is None or self._wrong or self.verify is not None:
            return True
        if self._left_out_since is not None and now - self._left_out_since > grace_s:
            return True
        for lane in self._lanes.values():
            if lane.position >= self.top:
                lane.due_since = None
            elif lane.due_since is None:
                lane.due_since = now
            elif now - lane.due_since > grace_s:
                return True
        return self.heard_at is not None and now - self.heard_at > silence_s

    def clean(self, members: Members) -> int:
        """The newest epoch whose plan the source follows, and of whose predecessors nothing is under way."""
        return self.epoch if self._lanes.keys() <= members.get(self.epoch, frozenset()) else 0
