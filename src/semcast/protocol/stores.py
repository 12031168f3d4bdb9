"""What has to survive a crash, as interfaces: a source's log, a broker's notes, the coordinators' store.

Drivers implement them: in memory for the simulator, which can lose what was not synced, and in SQLite for
real. Logs and notes are called from inside ``handle`` and answer at once; only syncing a log takes its time. No machine
calls the coordinators' store: it asks by commands and hears by events (``machine``), and drivers make the calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

import msgspec

from semcast.model import SemcastError
from semcast.protocol.wire.frames import Key

AWAY: Key = ("", 0)
"""In a record's routes, stands for no tree: what gateways are owed that are away."""


class Record(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A routed message: what is in the log is what is sent."""

    number: int
    origin: str
    sequence: int
    """Its number within its origin."""
    epoch: int
    """Of the plan by which it was routed; 0: it waits to be routed elsewhere, and nobody gets it from here."""
    routes: tuple[tuple[Key, int], ...]
    """The trees it goes over, each with the gateways that it reaches there as bits."""
    body: bytes


class Log(Protocol):
    """A source's durable log. Positions begin at 1; ``end`` is the last one, synced or not."""

    @property
    def end(self) -> int: ...

    @property
    def trimmed(self) -> int:
        """Everything through here is gone."""

    def append(self, records: Iterable[Record]) -> None:
        """Add records, numbered on from ``end``. They are durable when a Sync says so."""

    def read(self, first: int, through: int, limit: int) -> list[Record]:
        """At most ``limit`` records with ``first`` < number ≤ ``through``, in order."""

    def trim(self, through: int) -> None:
        """Forget everything through a position."""

    def high_water(self, origin: str) -> tuple[int, int]:
        """(sequence, position) of an origin's last record, (−1, 0) if there is none; trimming does not forget it."""


class Notes(Protocol):
    """A broker's few durable facts. What is put is durable when ``handle`` returns."""

    def get(self, name: str) -> bytes | None: ...

    def put(self, name: str, value: bytes | None) -> None:
        """None removes."""

    def items(self, prefix: str) -> list[tuple[str, bytes]]:
        """All whose name begins so, by name."""


class FencedError(SemcastError):
    """Somebody else leads by now."""


class UnreachableError(SemcastError):
    """The store does not answer."""


class CoordinatorStore(Protocol):
    """What coordinators share. Calls may take their time, and each may raise UnreachableError."""

    def lead(self, who: str, lease_s: float, above: int = 0) -> int | None:
        """Take or keep the lead for so long: the term; None if another leads.

        The term is a new one where ``who`` did not lead, or led in one that is not above ``above``.
        """

    def commit(self, term: int, changes: Mapping[str, bytes | None]) -> None:
        """Write all or nothing; FencedError unless ``term`` is the newest. None removes."""

    def read(self) -> dict[str, bytes]:
        """Everything, as of one moment."""
