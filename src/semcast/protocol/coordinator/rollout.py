"""Getting tables to brokers: what each has to have, what it is known to have, and saying it until it does."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from semcast.protocol.contract import Command, Send
from semcast.protocol.coordinator.deployment import Deployment, tables
from semcast.protocol.settings import Settings
from semcast.protocol.wire.frames import Entry, Heartbeat, Install, Installed, Key

if TYPE_CHECKING:
    from semcast.protocol.coordinator.ledger import Ledger
    from semcast.protocol.coordinator.overlay import Overlay

Entries = dict[Key, Entry]


class Wanted(NamedTuple):
    """What one broker has to know."""

    entries: Entries
    members: tuple[tuple[int, tuple[tuple[Key, str | None], ...]], ...]
    sources: tuple[str, ...]
    bit: int | None


_NOTHING = Wanted({}, (), (), None)


class _Known:
    """What one broker was told, and what it has said that it has."""

    def __init__(self) -> None:
        self.incarnation = -1
        self.has: Entries = {}
        self.told: Wanted | None = None
        self.revision = 0
        self.done = False
        self.told_at = float("-inf")


class Rollout:
    """One leader's dealings with the brokers' tables."""

    def __init__(self, settings: Settings, revision: int = 0) -> None:
        self.revision = revision
        """The newest that was given out; within a term it only grows."""
        self._settings = settings
        self._known: dict[str, _Known] = {}
        self._said: dict[str, float] = {}
        self._tables: dict[int, dict[str, Entries]] = {}
        self._desired: tuple[tuple[int, ...], dict[str, Wanted]] | None = None

    def again(self, what: str, now: float) -> bool:
        """Is it time to say something, for the first time or once more?"""
        if now - self._said.get(what, float("-inf")) < self._settings.resend_s:
            return False
        self._said[what] = now
        return True

    def desired(self, ledger: Ledger, overlay: Overlay) -> dict[str, Wanted]:
        """What every broker has to have for the plan there is, the one to come and those that are being drained."""
        plans = [old for old, _ in ledger.draining]
        plans += [plan for plan in (ledger.current, ledger.target) if plan is not None]
        epochs = tuple(plan.epoch for plan in plans)
        if self._desired is not None and self._desired[0] == epochs:
            return self._desired[1]
        self._tables = {plan.epoch: self.tables(plan, overlay) for plan in plans}
        brokers = dict.fromkeys(broker for plan in plans for broker in self._tables[plan.epoch])
        everyone = dict.fromkeys([*brokers, *overlay.gateways])
        found = {broker: self._for(broker, plans, overlay) for broker in everyone}
        self._desired = (epochs, found)
        return found

    def knows(self, plan: Deployment, made: dict[str, Entries]) -> None:
        """Take a plan's tables over from who has made them."""
        self._tables[plan.epoch] = made

    def tables(self, plan: Deployment, overlay: Overlay) -> dict[str, Entries]:
        """Broker → its entries."""
        known = self._tables.get(plan.epoch)
        return known if known is not None else tables(plan, overlay.topology(plan.brokers, plan.down))

    def _for(self, broker: str, plans: list[Deployment], overlay: Overlay) -> Wanted:
        entries: Entries = {}
        for plan in plans:
            entries |= self._tables[plan.epoch].get(broker, {})  # the same key stands for the same entry
        if broker not in overlay.gateways:
            return Wanted(entries, (), (), None)
        members = tuple((plan.epoch, plan.members(broker)) for plan in plans)
        return Wanted(entries, members, overlay.sources, overlay.gateways.index(broker))

    def install(self, desired: dict[str, Wanted], alive: set[str], term: int, now: float) -> list[Command]:
        """Tell brokers what they do not have yet; who has tables that nobody wants loses them."""
        commands: list[Command] = []
        for broker in sorted(alive & (desired.keys() | self._known.keys())):
            known = self._known_of(broker)
            wanted = desired.get(broker, _NOTHING)
            if known.told is not wanted and known.told != wanted:
                self.revision += 1
                known.told, known.revision, known.done = wanted, self.revision, False
                known.told_at = float("-inf")
            if not known.done and now - known.told_at >= self._settings.resend_s:
                known.told_at = now
                commands.append(Send(broker, _install(known, wanted, term)))
        return commands

    def _known_of(self, broker: str) -> _Known:
        known = self._known.get(broker)
        if known is None:
            known = self._known[broker] = _Known()
        return known

    def installed(self, said: Installed) -> None:
        known = self._known.get(said.broker)
        if known is None or known.told is None or said.revision != known.revision:
            return
        if said.missing or said.incarnation < known.incarnation:
            known.has, known.told = {}, None  # all anew, under another number: it has heard this one
            return
        known.incarnation, known.has, known.done = said.incarnation, dict(known.told.entries), True

    def heard(self, beat: Heartbeat, term: int) -> None:
        """A broker that has fallen has lost its tables."""
        known = self._known_of(beat.broker)
        if beat.incarnation != known.incarnation or (known.done and beat.revision < (term, known.revision)):
            known.incarnation, known.has, known.told, known.done = beat.incarnation, {}, None, False

    def complete(self, desired: dict[str, Wanted], brokers: set[str]) -> bool:
        """Do all these brokers have what they have to have?"""
        return all(
            broker in self._known and self._known[broker].done and self._known[broker].told == wanted
            for broker, wanted in desired.items()
            if broker in brokers
        )


def _install(known: _Known, wanted: Wanted, term: int) -> Install:
    new = tuple(entry for key, entry in wanted.entries.items() if known.has.get(key) != entry)
    renewed = {entry.key for entry in new}
    keep = tuple(key for key in wanted.entries if key not in renewed)
    return Install(term, known.revision, new, keep, wanted.members, wanted.sources, wanted.bit)
