"""When a machine's commands may be carried out: what a command rests on is on disk before the command is done.

A machine puts notes and appends to its log while it handles an event. What it says then must not leave before a commit
has made that durable, and nothing that it says later may overtake it. This part of a runner decides that; it knows no
thread, no clock and no file. A driver asks it what to do now and when to write, and tells it how writing ended.

While nothing can be written the machine stands still, as if it were paused: it hears nothing, its clock does not tick,
and what it has said is held. To others it is a party that has gone for a while, which the protocol is made for.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from semcast.protocol.contract import Command, Sync

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 5.0
"""Between tries to write what could not be written."""


class Due(NamedTuple):
    """What a driver has to do: carry out the commands, in order, and begin a commit if ``write`` says so."""

    commands: list[Command]
    write: bool


class Commits:
    """Holds commands until the commit that they rest on is done. One commit is under way at a time."""

    def __init__(self) -> None:
        self.trouble = ""
        """Why nothing can be written at the moment; "" where it can."""
        self._held: deque[tuple[int, list[Command]]] = deque()
        """Commands in the order in which they were said, each with the commit that it waits for; 0: for none."""
        self._begun = self._done = 0
        self._again = False
        self._pause_s = FIRST_PAUSE_S

    @property
    def free(self) -> bool:
        """May what is decided beside the machine be done at once?"""
        return not self._held and not self.trouble

    @property
    def under_way(self) -> bool:
        """Is something being written, or tried again and again?"""
        return self._begun > self._done

    def say(self, commands: list[Command], *, dirty: bool) -> Due:
        """Take what the machine says; ``dirty``: it has put notes that have to be durable before."""
        sync = any(type(command) is Sync for command in commands)
        due: list[Command] = []
        if dirty or self._held:
            # A commit that is under way may have begun before the notes were put: the next one has them for sure.
            self._held.append((self._begun + 1 if dirty else 0, commands))
        else:
            due = commands
        return Due(due, (dirty or sync) and self.begin())

    def also(self, command: Command) -> list[Command]:
        """What was decided beside the machine goes behind all that it has said; what to do now."""
        if self.trouble:
            return []
        if self._held:
            self._held.append((0, [command]))
            return []
        return [command]

    def begin(self) -> bool:
        """Ask for a commit. Must the driver begin one now? One that is under way is followed by another."""
        if self.under_way:
            self._again = True
            return False
        self._begun += 1
        return True

    def finish(self) -> Due:
        """A commit is done: what it set free."""
        self._done = self._begun
        self.trouble, self._pause_s = "", FIRST_PAUSE_S
        write = self._again and self.begin()
        self._again = False
        due: list[Command] = []
        while self._held and self._held[0][0] <= self._done:
            due += self._held.popleft()[1]
        return Due(due, write)

    def fail(self, reason: str) -> float:
        """It could not be written: everything waits, and it is tried again after so many seconds, later each time."""
        self.trouble = reason
        pause_s, self._pause_s = self._pause_s, min(2 * self._pause_s, LONGEST_PAUSE_S)
        return pause_s

    def give_up(self) -> None:
        """The commit that is under way failed for good: nobody waits for it any more."""
        self._done = self._begun
