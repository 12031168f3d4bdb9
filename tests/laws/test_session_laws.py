"""What sessions and the interests behind them promise, whatever comes in whatever order."""

from __future__ import annotations

from collections import deque

from hypothesis import given, settings
from hypothesis import strategies as st

from semcast.model.message import ProfileText
from semcast.protocol.contract import Command
from semcast.protocol.gateway.inbox import Inbox
from semcast.protocol.gateway.interests import InterestSet
from semcast.protocol.gateway.sessions import Session
from semcast.protocol.profile_texts import covers
from semcast.protocol.settings import Settings
from semcast.protocol.wire.frames import Attach, Caught, Deliver, Live, Wish
from tests.protocol.playbook import (
    frames,
    topic,
)

# --- sessions


A, B = topic("a"), topic("b")


class Desk:
    """A session, what was published, and a client that takes what it is sent."""

    def __init__(self, wants: list[int], *, ordered: bool, room: int, began: int) -> None:
        self.wants = [{profile for bit, profile in enumerate((A, B)) if mask >> bit & 1} for mask in wants]
        """Per number, from 1 on, the profiles that match it."""
        self.inbox = Inbox("s", 1 << 20)
        self.inbox.caught(Caught("s", 1, 1, began, began, 0))
        self.session = Session(Attach("x", A, ordered=ordered), "sub", 0, room, 60.0, 0.0)
        self.session.tops = {"s": began}
        self.arrived = set(range(1, began + 1))
        self.fills: deque[tuple[ProfileText, int, int]] = deque()
        self.sent: list[int] = []
        self.sequence = 0
        self.versions: list[tuple[int, ProfileText]] = []

    def send(self, commands: list[Command]) -> None:
        for frame in frames(commands, object):
            self.sequence = frame.sequence  # type: ignore[attr-defined]
            if isinstance(frame, Deliver):
                self.sent.append(frame.number)

    @property
    def top(self) -> int:
        return max(self.arrived, default=0)

    @property
    def frontier(self) -> int:
        return next(n for n in range(len(self.wants) + 1) if n + 1 not in self.arrived)

    def offer(self, skip: int) -> None:
        """The next message arrives, or one of those behind it."""
        left = [n for n in range(1, len(self.wants) + 1) if n not in self.arrived][skip : skip + 1]
        for number in left:
            self.arrived.add(number)
            self.inbox.top = max(self.inbox.top, number)
            if self.wants[number - 1]:
                self.send(self.session.offer("s", number, b"", self.wants[number - 1]))

    def tick(self, _: int = 0) -> None:
        if "s" not in self.session.ways:
            return
        self.inbox.frontier = self.frontier
        self.send(self.session.release("s", self.frontier))
        if self.session.caught_up(self.inbox):
            self.send(self.session.release("s", self.frontier))
            if not self.session.ways["s"].filling:
                self.send(self.session.progress("s", self.frontier))
            self.session.settle({"s": self.frontier})
        else:
            asked = self.session.to_fill("s")
            if asked is not None:
                self.fills.append((*asked, self.top))

    def fill(self, short: int) -> None:
        """The log answers, with all or with less than there was."""
        if not self.fills:
            return
        profile, first, through = self.fills.popleft()
        if self.session.to_fill("s") == (profile, first):
            through = max(first, through - short)
            found = {n: b"" for n in range(first + 1, through + 1) if profile in self.wants[n - 1]}
            self.send(self.session.filled("s", found, through, 0))
            self.session.caught_up(self.inbox)
            self.send(self.session.release("s", self.frontier))

    def take(self, less: int) -> None:
        self.session.taken(max(0, self.sequence - less), 0.0)

    def replace(self, which: int) -> None:
        if self.session.live:
            self.session.next = Attach("x", (A, B)[which % 2], version=1, ordered=self.session.attach.ordered)
            self.session.tops = {"s": self.top}

    def live(self, ahead: int) -> None:
        """What is asked for is live, behind a position that sources may be beyond."""
        if self.session.asked is None:
            return
        position = max(self.session.tops["s"], self.top - ahead)
        self.session.go_live({"s": position}, {"s": self.inbox}, {})
        self.versions.append((self.session.positions["s"], self.session.profile))

    def wanted(self) -> list[int]:
        """What the client was promised: of each version, behind its position, until the next one's."""
        ends = [position for position, _ in self.versions[1:]] + [len(self.wants)]
        return [
            number
            for (position, profile), end in zip(self.versions, ends, strict=True)
            for number in range(position + 1, end + 1)
            if profile in self.wants[number - 1]
        ]


deeds = st.lists(
    st.one_of(
        st.tuples(st.just("offer"), st.integers(0, 2)),
        st.tuples(st.just("offer"), st.just(0)),
        st.tuples(st.sampled_from(["tick", "fill", "take", "live"]), st.integers(0, 2)),
        st.tuples(st.just("replace"), st.integers(0, 1)),
    ),
    min_size=20,  # shorter ones go wrong too seldom
    max_size=60,
)


@settings(max_examples=150)
@given(st.lists(st.integers(0, 3), min_size=8, max_size=24), deeds, st.booleans(), st.integers(1, 5), st.integers(0, 3))
def test_a_session_sends_each_wanted_message_once_and_in_order_if_asked(
    wants: list[int], doings: list[tuple[str, int]], ordered: bool, room: int, began: int
) -> None:
    desk = Desk(wants, ordered=ordered, room=room, began=min(began, len(wants)))
    for what, how in doings:
        getattr(desk, what)(how)
        assert desk.session.waiting <= 3 * room + 1
    for turn in range(6 * len(wants) + 8):
        desk.live(0)
        desk.offer(0)
        desk.tick()
        desk.fill(turn % 3)
        desk.take(0)
    assert sorted(desk.sent) == desk.wanted()
    if ordered:
        assert desk.sent == sorted(desk.sent)


# --- interests


TOPICS = [topic(text) for text in ("a", "a/b", "a/b/c", "a/d", "z")]


class Bureau:
    """A gateway's interests, and a coordinator that hears its changes, late, and puts them in force in order."""

    def __init__(self) -> None:
        self.interests = InterestSet("g", Settings(), 1)
        self.said: list[Wish] = []
        self.force: list[tuple[int, frozenset[ProfileText]]] = [(0, frozenset())]
        """Since which position the sources match what."""
        self.position = self.now = 0
        self.answers: list[Live] = []
        self.taken = 0
        self.sessions: dict[int, ProfileText] = {}
        self.live: dict[int, int] = {}
        self.names = 0

    def say(self, _: int = 0) -> None:
        self.now += 1  # so that what was not answered is said again
        for _, frame in self.interests.says(["c"], float(self.now)):
            assert frame.first <= len(self.said) + 1
            self.said[frame.first - 1 :] = [*frame.changes, *self.said[frame.first - 1 + len(frame.changes) :]]

    def settle(self, _: int = 0) -> None:
        self.interests.settle()

    def attach(self, which: int) -> None:
        self.names += 1
        profile = TOPICS[which % len(TOPICS)]
        if profile not in self.sessions.values():
            self.interests.need([profile])
        self.sessions[self.names] = profile
        self._go_live()

    def detach(self, which: int) -> None:
        if self.sessions:
            name = sorted(self.sessions)[which % len(self.sessions)]
            profile = self.sessions.pop(name)
            self.live.pop(name, None)
            if profile not in self.sessions.values():
                self.interests.drop(profile)

    def decide(self, ahead: int) -> None:
        """The coordinator takes some of the changes that it has heard."""
        if self.taken < len(self.said):
            through = self.taken + 1 + ahead % (len(self.said) - self.taken)
            for wish in self.said[self.taken : through]:
                held = self.force[-1][1]
                self.position += 1
                self.force.append((self.position, held | {wish.profile} if wish.wanted else held - {wish.profile}))
            self.taken = through
            self.answers.append(Live(1, 1, self.taken, self.position, (("s", self.position),)))

    def hear(self, which: int) -> None:
        """An answer comes, late or again."""
        if self.answers:
            self.interests.confirm(self.answers[-1 - which % len(self.answers)], "c")
            self._go_live()

    def _go_live(self) -> None:
        for name, profile in self.sessions.items():
            since = self.interests.serves(profile)
            if since is not None:
                self.live.setdefault(name, dict(since.positions)["s"])

    def check(self) -> None:
        for name, since in self.live.items():
            for place, (_, force) in enumerate(self.force):
                over = self.force[place + 1][0] if place + 1 < len(self.force) else float("inf")
                if over > since:  # in force at a position behind which the session was promised everything
                    assert any(covers(wide, self.sessions[name]) for wide in force)


@settings(max_examples=150)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["attach", "attach", "detach", "say", "decide", "hear", "settle"]), st.integers(0, 4)
        ),
        min_size=20,
        max_size=60,
    )
)
def test_every_live_session_is_covered_without_a_break_by_what_the_coordinator_knows(
    doings: list[tuple[str, int]],
) -> None:
    bureau = Bureau()
    for what, how in doings:
        getattr(bureau, what)(how)
        bureau.check()
    for _ in range(8):
        bureau.settle()
        bureau.say()
        bureau.decide(-1)
        bureau.hear(0)
        bureau.check()
    assert set(bureau.live) == set(bureau.sessions)
    assert len(bureau.interests.profiles) <= len(set(bureau.sessions.values()))
