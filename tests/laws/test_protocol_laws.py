"""What gateways and acks promise, whatever comes in whatever order."""

from __future__ import annotations

from collections import deque

from hypothesis import example, given, settings
from hypothesis import strategies as st

from semcast.protocol.broker.acks import AckTable
from semcast.protocol.broker.broker import Table
from semcast.protocol.contract import Command, Send
from semcast.protocol.gateway.inbox import Inbox
from semcast.protocol.wire.frames import Ack, Caught, Data, Entry, Fetch, Key, Repair, Tally, TreeLink
from semcast.sim.stores import MemoryLog, MemoryNotes
from tests.protocol.playbook import (
    SETTINGS,
    entry,
    frames,
    install,
    lease,
    log_and_sync,
    planned,
    play,
    publish,
    source_node,
    switch,
    tick,
)

# --- inboxes


PLANS = (
    {"p": ("a", (0,)), "q": ("b", (0, 1))},
    {"p": ("a", (0,)), "r": ("a|b", (0, 1))},
    {"q": ("b", (1,))},
    {"q": ("b", (0, 1)), "r": ("a|b", (0,)), "t": ("a", (0, 1))},
)
"""Channels with their expressions and the bits of their gateways; ours is 0."""


class Inlet:
    """A real source, the trees from it to one inbox, and whatever happens on the way."""

    def __init__(self, window: int) -> None:
        self.log, self.notes = MemoryLog(), MemoryNotes()
        self.incarnation, self.epoch, self.revision = 1, 0, 0
        self.node = source_node(self.log, notes=self.notes)
        self.trees_of_plan: dict[tuple[str, str, tuple[int, ...]], Key] = {}
        self.installed: dict[Key, Entry] = {}
        self.trees: dict[Key, deque[Data | Tally]] = {}
        self.answers: deque[list[Repair | Caught]] = deque()
        self.members: dict[int, frozenset[Key]] = {}
        self.known: dict[int, frozenset[Key]] = {}
        self.inbox = Inbox("s", window)
        self.new: list[int] = []
        self.published = 0
        self.now = 0.0
        self.switch(0)

    # what a source does

    def switch(self, plan: int) -> None:
        """Another plan; as coordinators do, a tree that is as it was keeps its version."""
        self.epoch += 1
        before = self.trees_of_plan
        self.trees_of_plan = {
            (name, *what): before.get((name, *what), (name, self.epoch)) for name, what in PLANS[plan].items()
        }
        held = frozenset(key for (_, _, gateways), key in self.trees_of_plan.items() if 0 in gateways)
        self.members[self.epoch] = held
        self.tell()

    def tell(self) -> None:
        for (_, _, gateways), key in self.trees_of_plan.items():
            self.installed.setdefault(key, entry(key, None, {"g0": None} if 0 in gateways else {}))
        self.revision += 1
        trees = [planned(key, gateways, expression=text) for (_, text, gateways), key in self.trees_of_plan.items()]
        away = () if self.members[self.epoch] else ("g0",)
        told = switch(self.epoch, *trees, scheme="semcast", profiles={"a": ("g0",), "b": ("g0", "g1")}, absent=away)
        play(self.node, ("c", install(self.revision, *self.installed.values())), ("c", told))
        play(self.node, ("c", lease(self.epoch, lease_s=1e9)))

    def publish(self, text: str) -> None:
        play(self.node, ("pub", publish(self.published, text)))
        self.published += 1

    def sync(self) -> None:
        self._under_way(log_and_sync(self.node, self.published))

    def tally(self) -> None:
        self.now += 1.0
        self._under_way(tick(self.node, self.now))

    def restart(self) -> None:
        """It falls and comes back, with all that was in its log."""
        self.log.sync(self.log.end)
        self.incarnation += 1
        self.node = source_node(self.log, notes=self.notes, incarnation=self.incarnation)
        self.revision = 0
        self.tell()

    def _under_way(self, commands: list[Command]) -> None:
        for frame in (command.frame for command in commands if isinstance(command, Send)):
            if isinstance(frame, Data | Tally):
                self.trees.setdefault(frame.key, deque()).append(frame)

    def drain(self) -> None:
        """The coordinator takes old trees away, when the gateway has everything of them."""
        if self.inbox.clean(self.known) == self.epoch:
            current = set(self.trees_of_plan.values())
            self.installed = {key: made for key, made in self.installed.items() if key in current}
            self.tell()

    # what the network does

    def arrive(self, which: int, *, lose: bool = False, twice: bool = False) -> None:
        waiting = [key for key, queue in self.trees.items() if queue]
        if not waiting:
            return
        frame = self.trees[waiting[which % len(waiting)]].popleft()
        for _ in range(0 if lose else 2 if twice else 1):
            if isinstance(frame, Data):
                self.new += [number for number in frame.numbers if self.inbox.arrived(frame.key, number)]
            else:
                self.inbox.tally(frame, 0, self.known, self.now)

    def learn(self, last: int) -> None:
        """The coordinator tells the gateway its trees, of the newest plans."""
        self.known = {epoch: keys for epoch, keys in self.members.items() if epoch > self.epoch - last}

    def ask(self, credit: int) -> None:
        first = None if self.inbox.begun is None else self.inbox.frontier
        through = self.inbox.through if first is not None else None
        commands = play(self.node, ("g0", Fetch("g0", 1, first, self.inbox.have, credit, through)))
        self.answers.append([*frames(commands, Repair), *frames(commands, Caught)])

    def answer(self, *, lose: bool = False) -> None:
        if self.answers:
            for frame in self.answers.popleft() if not lose else ():
                if isinstance(frame, Caught):
                    self.inbox.caught(frame)
                    self.inbox.heard_at = self.now
                    continue
                self.new += [number for number in frame.numbers if self.inbox.arrived(None, number)]

    # what is true

    def owed(self, through: int) -> set[int]:
        """What was for this gateway, behind where it began."""
        begun = self.inbox.begun
        if begun is None:
            return set()
        records = self.log.history[begun:through]
        return {r.number for r in records if any(mask & 1 for _, mask in r.routes)}

    def check(self) -> None:
        assert len(self.new) == len(set(self.new)), "a message was new twice"
        assert self.owed(self.inbox.frontier) <= set(self.new), "the frontier passed what has not come"


OFTEN = ("publish", "sync", "tally", "arrive", "arrive", "arrive") * 3
SELDOM = ("lose", "lose", "twice", "switch", "switch", "learn", "ask", "answer", "answer", "lose answer", "restart")
steps = st.lists(st.tuples(st.sampled_from(OFTEN + SELDOM), st.integers(0, 3)), min_size=30, max_size=90)
"""Shorter ones go wrong too seldom."""


def step(world: Inlet, what: str, which: int) -> None:
    match what:
        case "lose" | "twice":
            world.arrive(which, lose=what == "lose", twice=what == "twice")
        case "lose answer":
            world.answer(lose=True)
        case "arrive":
            world.arrive(which)
        case "publish":
            world.publish("abxa"[which])
        case "switch":
            world.switch(which)
        case "learn" | "ask":
            getattr(world, what)(which + 1)
        case _:
            getattr(world, what)()


@settings(max_examples=120)
@given(steps, st.integers(1, 6))
def test_the_frontier_never_passes_what_has_not_come_and_after_whole_answers_all_is_there(
    doings: list[tuple[str, int]], window: int
) -> None:
    world = Inlet(window)
    world.learn(9)
    world.ask(9)
    world.answer()
    for what, which in doings:
        step(world, what, which)
        world.check()
    # Trees are silent from here on; the log alone brings everything.
    world.learn(9)
    world.sync()
    world.trees.clear()
    world.answers.clear()
    for _ in range(2 * world.log.end + 2):
        world.ask(1)
        world.answer()
        world.check()
    assert world.inbox.frontier == world.log.end
    assert world.owed(world.log.end) <= set(world.new)


AWAY_BEFORE_IT_WAS_DURABLE = [
    ("publish", 0), ("switch", 2), ("publish", 0), ("switch", 0), ("ask", 3), ("answer", 0),
]  # fmt: skip
"""A plan leaves the gateway out, the next one does not, and the log answers before either is durable."""


@settings(max_examples=60)
@example(AWAY_BEFORE_IT_WAS_DURABLE)
@given(steps)
def test_an_inbox_that_misses_something_finds_out_by_tallies_or_by_their_absence(
    doings: list[tuple[str, int]],
) -> None:
    world = Inlet(6)
    world.learn(9)
    world.ask(9)
    world.answer()
    for what, which in doings:
        step(world, what, which)
    world.learn(99)
    world.sync()
    for _ in range(2 * world.log.end + 8):
        world.tally()
        while any(world.trees.values()):
            world.arrive(0)
        for wait in (0.0, SETTINGS.grace_s + 0.1):  # seen to lag, and for too long
            if world.inbox.missing(world.now + wait, SETTINGS.grace_s, SETTINGS.silence_s):
                world.ask(9)
        while world.answers:
            world.answer()
        world.drain()
        world.check()
    assert world.inbox.frontier == world.log.end
    assert world.inbox.clean(world.known) == world.epoch


# --- acks


@settings(max_examples=80)
@given(st.data())
def test_no_ack_at_the_root_is_above_what_any_gateway_has(data: st.DataObject) -> None:
    parents = [
        None,
        *(data.draw(st.integers(0, n - 1), label=f"parent of {n}") for n in range(1, data.draw(st.integers(2, 7)))),
    ]
    size = len(parents)
    key: Key = ("c", 1)
    gateways = sorted(data.draw(st.sets(st.integers(0, size - 1), min_size=1), label="gateways"))
    has = dict.fromkeys(gateways, 0)
    below = {n: {g for g in gateways if n in path(parents, g)} for n in range(size)}

    def table(node: int) -> Table:
        links = [TreeLink(str(n), bytes([bool(below[n])])) for n in range(size) if parents[n] == node]
        up = None if parents[node] is None else str(parents[node])
        return Table(Entry(key, up, tuple(links), (), 0 if node in gateways else None, True), str(node))

    tables = [{key: table(node)} for node in range(size)]
    acks = [AckTable(str(node)) for node in range(size)]
    for _ in range(data.draw(st.integers(0, 40))):
        node = data.draw(st.integers(0, size - 1))
        match data.draw(st.sampled_from(["take", "say", "say", "lose", "fall"])):
            case "take" if node in has:
                has[node] += data.draw(st.integers(0, 5))
                acks[node].take(key, str(node), {"s": has[node]})
            case "say" | "lose" as what:
                for sent in acks[node].upwards(tables[node]):
                    assert isinstance(sent, Send)
                    assert isinstance(sent.frame, Ack)
                    if sent.to == "s":
                        assert sent.frame.positions["s"] <= min(has.values())
                    elif what == "say":
                        acks[int(sent.to)].take(key, str(node), sent.frame.positions)
            case "fall":
                acks[node] = AckTable(str(node))


def path(parents: list[int | None], node: int) -> set[int]:
    found = {node}
    while (above := parents[node]) is not None:
        node = above
        found.add(node)
    return found
