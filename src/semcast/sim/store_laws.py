"""Laws between what coordinators say and what their store holds at that moment.

Who speaks holds the lead, and what is said is stored. Both are judged by true time and by the store itself, whatever
the coordinator believes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from semcast.protocol.coordinator.deployment import Deployment
from semcast.protocol.coordinator.ledger import Phase
from semcast.protocol.wire.frames import Install, Lease, Live, Switch
from semcast.sim.driver import Driver
from semcast.sim.parties import Party
from semcast.sim.witness import Violation

Order = Install | Switch | Lease | Live
"""What only a leader says."""


class Stored:
    """The state of plans in the store; read again only when it has changed."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._seen: dict[str, tuple[bytes, int]] = {}

    @property
    def begun(self) -> int:
        """The newest epoch that was given out."""
        return self._number("epoch")

    @property
    def in_force(self) -> int:
        """The epoch of the plan in force; 0: there is none."""
        return self._number("current")

    @property
    def version(self) -> int:
        """The newest version of the roster."""
        return self._number("version")

    @property
    def installing(self) -> bool:
        """Is the newest plan one that no source may follow yet?"""
        return self._number("phase") == 1

    def _number(self, name: str) -> int:
        store = self._driver.store
        value = store.get(name) if store is not None else None
        if value is None:
            return 0
        seen = self._seen.get(name)
        if seen is None or seen[0] is not value:
            seen = self._seen[name] = value, _READ[name](value)
        return seen[1]


class StoreWatch:
    """Judges each order of a coordinator when it is sent."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._stored = Stored(driver)

    def judged(self, party: Party, order: Order) -> Iterator[Violation]:
        store = self._driver.store
        if store is None:
            return
        at, kind = f"at {self._driver.agenda.now:.3f} s", type(order).__name__
        if order.term != store.term:
            what = f"{at}: {kind} in term {order.term}, and the store has given {store.term}"
            yield Violation("who speaks holds the lead", party.name, what)
        elif not self._rests(order):
            yield Violation("what is said is stored", party.name, f"{at}: {kind} of what the store does not hold")

    def _rests(self, order: Order) -> bool:
        """Is what an order rests on in the store?"""
        stored = self._stored
        match order:
            case Install(members=members):
                return max((epoch for epoch, _ in members), default=0) <= stored.begun
            case Live(version=version):
                return version <= stored.version
            case Switch(epoch=epoch) | Lease(epoch=epoch):
                return epoch <= stored.in_force or (epoch == stored.begun and not stored.installing)


def _epoch_of(value: bytes) -> int:
    found = msgspec.msgpack.decode(value, type=Deployment | None)
    return found.epoch if found is not None else 0


_READ: dict[str, Callable[[bytes], int]] = {
    "epoch": lambda value: msgspec.msgpack.decode(value, type=int),
    "version": lambda value: msgspec.msgpack.decode(value, type=int),
    "current": _epoch_of,
    "phase": lambda value: int(msgspec.msgpack.decode(value, type=Phase) is Phase.INSTALLING),
}
