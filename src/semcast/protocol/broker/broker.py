"""Forwarding along trees: by the key alone, by masks, or, for comparison, by content at every hop.

A broker never waits for anybody: what it cannot send on is dropped and counted, since gateways notice by the tallies
and fetch it from the source's log. So it keeps nothing that has to survive a crash.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from semcast.model.message import unpacked
from semcast.protocol.broker.acks import AckTable
from semcast.protocol.contract import Command, Note, Send
from semcast.protocol.filters import Filter
from semcast.protocol.results import MessagesShed
from semcast.protocol.wire.frames import Data, Entry, Install, Installed, Key, Leg, Tally, TreeLink

_REMEMBERED = 1024


class Forwarded(NamedTuple):
    """What goes on to other brokers, and what is for the gateway at this one."""

    commands: list[Command]
    local: list[Data | Tally]


class Table:
    """One tree, as this broker knows it."""

    def __init__(self, entry: Entry, me: str) -> None:
        self.entry = entry
        self.ups = dict(entry.ups)
        self.masked = any(link.mask is not None for link in entry.links)
        self.filtered = any(link.profiles is not None for link in entry.links)
        self.links = [(link.broker, int.from_bytes(link.mask or b"", "little")) for link in entry.links]
        self.me = me
        self.filter: Filter[int] | None = None
        if self.filtered:
            self.filter = Filter(dict(enumerate(entry.profiles)))
        self.wanted = [(link.broker, frozenset(link.profiles or ())) for link in entry.links]
        self.leading = [way for way, link in zip(self.links, entry.links, strict=True) if _leads(link)]
        """Links that have gateways behind them, with these."""

    def children(self) -> list[str]:
        """Links away from the rendezvous point that have gateways behind them."""
        parent = self.entry.parent
        return [broker for broker, _ in self.leading if broker not in (parent, self.me)]


def _leads(link: TreeLink) -> bool:
    return link.mask is None or any(link.mask)


class Broker:
    """The forwarding of one broker. ``term`` and ``revision`` say whose tables it has."""

    def __init__(self, me: str) -> None:
        self.me = me
        self.tables: dict[Key, Table] = {}
        self.revision = (0, 0)
        self.acks = AckTable(me)
        self.congested: set[str] = set()
        self.evaluations = 0
        """Messages that were matched with filter tables, which only content filtering needs."""
        self._passed: dict[tuple[Key, str], OrderedDict[int, None]] = {}

    # --- tables

    def install(self, install: Install, incarnation: int) -> Installed:
        """Have exactly these tables, unless a newer word came before."""
        newest = (install.term, install.revision)
        if newest > self.revision:
            self.revision = newest
            kept = {key: self.tables[key] for key in install.keep if key in self.tables}
            self.tables = kept | {entry.key: Table(entry, self.me) for entry in install.entries}
            self.acks.keep(self.tables)
            self._passed = {where: seen for where, seen in self._passed.items() if where[0] in self.tables}
        missing = tuple(key for key in install.keep if key not in self.tables) if newest == self.revision else ()
        return Installed(self.me, incarnation, install.term, install.revision, missing)

    # --- messages

    def forward(self, frame: Data | Leg | Tally, sender: str | None) -> Forwarded:
        """Send a frame on; ``sender`` is the neighbour it came from, None where it begins here."""
        match frame:
            case Leg():
                return self._leg(frame)
            case Tally():
                return self._tally(frame, sender)
        return self._data(frame, sender)

    def _data(self, data: Data, sender: str | None) -> Forwarded:
        table = self.tables.get(data.key)
        if table is None:
            return self._lost(data)
        if table.filtered:
            return self._by_content(table, data, sender)
        if data.masks is None:
            return self._everywhere(table, data, sender)
        return self._by_mask(table, data, data.masks, sender)

    def _everywhere(self, table: Table, data: Data, sender: str | None) -> Forwarded:
        to = [link.broker for link in table.entry.links if link.broker != sender]
        return Forwarded(list(self._sent(to, data)), [data] if table.entry.bit is not None else [])

    def _by_mask(self, table: Table, data: Data, masks: tuple[int, ...], sender: str | None) -> Forwarded:
        commands: list[Command] = []
        for broker, behind in table.links:
            if broker != sender:
                commands += self._sent([broker], narrowed(data, [mask & behind for mask in masks]))
        bit = table.entry.bit
        local = narrowed(data, [mask & 1 << bit for mask in masks]) if bit is not None else None
        return Forwarded(commands, [local] if local is not None else [])

    def _by_content(self, table: Table, data: Data, sender: str | None) -> Forwarded:
        """As brokers do that filter at every hop: look inside, and send on what is wanted behind a link."""
        assert table.filter is not None
        self.evaluations += len(data.numbers)
        matched = [set(names) for names in table.filter.match([unpacked(body) for body in data.bodies])]
        commands: list[Command] = []
        local: list[Data | Tally] = []
        for broker, wanted in table.wanted:
            part = narrowed(data, [1 if names & wanted else 0 for names in matched]) if broker != sender else None
            if part is None:
                continue
            if broker == self.me:
                local.append(part)
            else:
                commands += self._sent([broker], part)
        return Forwarded(commands, local)

    def _leg(self, leg: Leg) -> Forwarded:
        if leg.rendezvous != self.me:
            known = [self.tables[key] for keys in leg.keys for key in keys if key in self.tables]
            up = next((table.ups[leg.source] for table in known if leg.source in table.ups), None)
            return self._lost(leg) if up is None else Forwarded(list(self._sent([up], leg)), [])
        commands: list[Command] = []
        local: list[Data | Tally] = []
        for key in dict.fromkeys(key for keys in leg.keys for key in keys):
            data = self._first_time(leg, key)
            if data is not None:
                sent = self._data(data, None)
                commands += sent.commands
                local += sent.local
        return Forwarded(commands, local)

    def _first_time(self, leg: Leg, key: Key) -> Data | None:
        """What a leg brings for one tree, without what came before (2005 §2: rendezvous points drop duplicates)."""
        passed = self._passed.setdefault((key, leg.source), OrderedDict())
        rows = [row for row, keys in enumerate(leg.keys) if key in keys and leg.numbers[row] not in passed]
        for row in rows:
            passed[leg.numbers[row]] = None
        while len(passed) > _REMEMBERED:
            passed.popitem(last=False)
        if not rows:
            return None
        numbers, bodies = tuple(leg.numbers[row] for row in rows), tuple(leg.bodies[row] for row in rows)
        return Data(key, leg.epoch, leg.source, numbers, None, bodies)

    def _tally(self, tally: Tally, sender: str | None) -> Forwarded:
        table = self.tables.get(tally.key)
        if table is None:
            return self._lost(tally)
        if tally.rendezvous not in (None, self.me):
            up = table.ups.get(tally.source)
            return self._lost(tally) if up is None else Forwarded([Send(up, tally)], [])
        if tally.rendezvous is not None:
            sender = None  # the leg ends here; the first link of the tree may be the last of the leg
        commands: list[Command] = []
        on_tree = tally if tally.rendezvous is None else _cut(tally, tally.counts)
        for broker, behind in table.leading:
            if broker == sender or broker == self.me:
                continue
            part = on_tree
            if table.masked:
                part = _cut(tally, {bit: count for bit, count in tally.counts.items() if behind >> bit & 1})
            commands.append(Send(broker, part))
        return Forwarded(commands, [tally] if table.entry.bit is not None else [])

    def _sent(self, to: Iterable[str], frame: Data | Leg | None) -> Iterator[Command]:
        if frame is None:
            return
        for broker in to:
            if broker == self.me:
                continue
            if broker in self.congested:
                yield MessagesShed(broker, len(frame.numbers))
            else:
                yield Send(broker, frame)

    def _lost(self, frame: Data | Leg | Tally) -> Forwarded:
        if isinstance(frame, Tally) and frame.final:
            return Forwarded([], [])  # the tree has served; its source has not heard yet that it may be silent
        kind = type(frame).__name__.lower()
        return Forwarded([Note("dropped", {"why": "no table", "frame": kind, "source": frame.source})], [])


def narrowed(data: Data, masks: list[int]) -> Data | None:
    """The messages whose mask is not empty, with these masks; the frame itself where nothing changes."""
    rows = [row for row, mask in enumerate(masks) if mask]
    if not rows:
        return None
    if len(rows) == len(masks) and (data.masks is None or tuple(masks) == data.masks):
        return data
    kept = None if data.masks is None else tuple(masks[row] for row in rows)
    numbers, bodies = tuple(data.numbers[row] for row in rows), tuple(data.bodies[row] for row in rows)
    return Data(data.key, data.epoch, data.source, numbers, kept, bodies)


def _cut(tally: Tally, counts: dict[int, int]) -> Tally:
    return Tally(
        tally.key, tally.epoch, tally.previous, tally.since, tally.source, tally.incarnation, tally.through, counts,
        tally.final, None, tally.version, tally.version_since,
    )  # fmt: skip
