"""A broker as production runs it, on the virtual clock: bytes between neighbours, commits before commands, taps.

The decisions are production's own: ``protocol.broker.intake`` and ``forwarding`` for bytes, ``protocol.commits`` for
what waits for the disk, ``storage`` for the disk. What is left to model is when things happen: how long a commit takes,
at which one moment within that time it takes and writes everything, and where connections are cut into pieces.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from semcast.protocol.broker.forwarding import Passage
from semcast.protocol.broker.intake import taken_in
from semcast.protocol.commits import Commits
from semcast.protocol.contract import Command, Event, Local, Passed, Received, Synced, Tick
from semcast.protocol.node import Node
from semcast.sim.clock import Agenda, Chance
from semcast.sim.disk import SimulatedStore
from semcast.storage.database import StoreError, UnwritableError

if TYPE_CHECKING:
    from semcast.sim.parties import Party


class BrokerProcess:
    """One life after the other of a broker's process, over one store."""

    def __init__(
        self,
        store: SimulatedStore,
        agenda: Agenda,
        handle: Callable[[Party, Event], list[Command] | None],
        do: Callable[[Party, list[Command]], None],
        failed: Callable[[Party, str, Exception], None],
        commit_s: Callable[[], float],
    ) -> None:
        """``handle`` gives the party's machine an event; None where it failed. ``failed`` hears what else fails, and at
        what. ``commit_s``: how long a commit takes.
        """
        self.store = store
        self.commits = Commits()
        self.dropped = 0
        """Frames that came to be forwarded while nothing could be written."""
        self._agenda, self._handle, self._do = agenda, handle, do
        self._failed, self._commit_s = failed, commit_s

    def begin(self) -> StoreError | None:
        """A new life: nothing is held, and the store is as the disk has it.

        A store that is damaged is repaired, as somebody has to decide in production; what was wrong with it.
        """
        self.commits = Commits()
        try:
            self.store.open()
        except StoreError as error:
            self.store.open(repair=True)
            return error
        return None

    def crash(self) -> int:
        """The process falls; how many records of its log are lost."""
        return self.store.crash(within=self.commits.under_way)

    def feed(self, party: Party, event: Event) -> None:
        """As ``net.runner``: while nothing can be written, the machine hears nothing."""
        if self.commits.trouble or not party.alive:
            return
        puts = self.store.puts
        commands = self._handle(party, event)
        if commands is None:
            return
        commits = self.commits
        due = commits.say(commands, dirty=self.store.puts > puts)
        self._do(party, due.commands)
        if due.write:
            self._write(party)
        elif type(event) is Tick and not commits.under_way and self.store.unswept:
            commits.begin()
            self._write(party)

    def take(self, party: Party, passage: Passage, data: bytes) -> None:
        """A piece of a neighbour's connection."""

        def hear(event: Received | Local) -> None:
            self.feed(party, event)

        try:
            for command in taken_in(passage, data, self.commits, hear, self._drop):
                self._do(party, [command])
        except Exception as error:
            self._failed(party, f"bytes of {passage.sender}", error)

    def _drop(self, passed: Passed) -> None:
        self.dropped += passed.frames

    def _write(self, party: Party) -> None:
        """A commit is on the disk some time before anybody hears of it; a crash may come before, between and after."""
        begin, length = self._agenda.now, self._commit_s() + self.store.slow_s
        moment = begin + self.store.between(0.0, length)
        self._agenda.put(moment, self._commit, (party, party.incarnation, begin + length))

    def _commit(self, what: tuple[Party, int, float]) -> None:
        party, incarnation, told_at = what
        if not party.alive or party.incarnation != incarnation:
            return
        try:
            result: int | str = self.store.commit()
        except UnwritableError as error:
            result = str(error)
        except Exception as error:
            self._failed(party, "commit", error)
            return
        self._agenda.put(told_at, self._committed, (party, incarnation, result))

    def _committed(self, what: tuple[Party, int, int | str]) -> None:
        party, incarnation, result = what
        if not party.alive or party.incarnation != incarnation:
            return
        if party.paused_until > self._agenda.now:
            self._agenda.put(party.paused_until, self._committed, what)
            return
        if isinstance(result, str):
            self._agenda.put(self._agenda.now + self.commits.fail(result), self._again, (party, incarnation))
            return
        due = self.commits.finish()
        if due.write:
            self._write(party)
        self._do(party, due.commands)
        self.feed(party, Synced(result))

    def _again(self, what: tuple[Party, int]) -> None:
        party, incarnation = what
        if party.alive and party.incarnation == incarnation:
            self._write(party)


class ByteStream:
    """A connection between neighbours: bytes that arrive in pieces, cut anywhere.

    Frames that faults lose are lost whole, as when a connection breaks and is made again.
    """

    _LATE_S = 0.002

    def __init__(self, receiver: Party, sender: str, agenda: Agenda, chance: Chance) -> None:
        self._receiver, self._sender = receiver, sender
        self._agenda, self._chance = agenda, chance
        self._life: tuple[int, int] | None = None
        self._passage: Passage | None = None
        self._rest = b""

    def arrive(self, data: bytes, connection: int) -> None:
        """Some of what is there is read now, in up to three pieces; the rest a moment later."""
        life = self._receiver.incarnation, connection
        if life != self._life:
            machine = self._receiver.machine
            assert isinstance(machine, Node)
            self._life, self._passage, self._rest = life, machine.crossing.passage(self._sender), b""
        whole = self._rest + data
        through = len(whole) if self._chance.happens(0.65) else int(self._chance() * len(whole))
        self._rest = whole[through:]
        self._read(whole[:through])
        if self._rest:
            self._agenda.put(self._agenda.now + self._chance() * self._LATE_S, self._catch_up, (life, len(self._rest)))

    def _catch_up(self, what: tuple[tuple[int, int], int]) -> None:
        life, _ = what
        if life != self._life or not self._rest or not self._receiver.alive or self._receiver.incarnation != life[0]:
            return
        if self._receiver.paused_until > self._agenda.now:
            self._agenda.put(self._receiver.paused_until, self._catch_up, what)
            return
        rest, self._rest = self._rest, b""
        self._read(rest)

    def _read(self, data: bytes) -> None:
        receiver, passage = self._receiver, self._passage
        assert receiver.process is not None
        assert passage is not None
        cut = int(self._chance() * len(data)) if self._chance.happens(0.25) else 0
        for piece in (data[:cut], data[cut:]):
            if piece and receiver.alive and self._life is not None and receiver.incarnation == self._life[0]:
                receiver.process.take(receiver, passage, piece)
