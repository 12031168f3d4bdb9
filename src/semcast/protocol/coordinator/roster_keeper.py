"""What a leader does for the roster: hears gateways, tells sources, and calls live what all of them match."""

from __future__ import annotations

from collections.abc import Mapping

from semcast.planning.bounds import expected_delays
from semcast.protocol.contract import Command, Send
from semcast.protocol.coordinator.deployment import Deployment
from semcast.protocol.coordinator.followers import Followers
from semcast.protocol.coordinator.ledger import Ledger
from semcast.protocol.coordinator.overlay import Overlay
from semcast.protocol.coordinator.roster import Stand
from semcast.protocol.settings import Settings
from semcast.protocol.wire.frames import GatewayChanges, Live, Noted

_RETURN = 4
"""Times ``dead_s``: sessions without a client last as long."""
_EXPIRED = 250
"""Profiles that are given up in a tick."""


class Leases:
    """What a leader knows of the sources: until when each may take messages in, and what it has confirmed."""

    def __init__(self) -> None:
        self.until: dict[str, float] = {}
        self.confirmed: dict[str, tuple[int, int]] = {}
        """Source → the plan that it follows, and since which position."""
        self.positions: dict[str, int] = {}
        """Source → the end of its log, as it last said."""

    def running(self, now: float) -> list[str]:
        """Sources that may take messages in."""
        return [source for source, until in self.until.items() if now < until]

    def follow(self, epoch: int, now: float) -> bool:
        """Do all of them follow a plan, or a later one?"""
        return all(self.confirmed.get(source, (0, 0))[0] >= epoch for source in self.running(now))


class RosterKeeper:
    """The roster in one leader's hands."""

    def __init__(self, ledger: Ledger, overlay: Overlay, leases: Leases, settings: Settings, *, followed: bool) -> None:
        """``followed``: sources follow the roster; else plans bring the profiles along."""
        self._ledger, self._overlay, self._leases, self._settings = ledger, overlay, leases, settings
        self._is_followed = followed
        self._measured: Mapping[tuple[str, str], float] = {}
        self._delays: tuple[int, dict[str, float]] | None = None
        """By the plan of an epoch: gateway → how long messages may be under way to it, in ms."""
        self.begin(0)

    def begin(self, term: int) -> None:
        """Lead in a term. What another leader may have called live is in the store: nobody is leased without it."""
        self._term = term
        self.live_version = self._ledger.roster.version
        """The newest version that was called live, or may have been."""
        self.followers = Followers(self._settings)
        self._live: dict[str, Live] = {}
        """Gateway → what it was told last."""
        self._left_since: dict[str, float] = {}

    def may_lease(self, source: str) -> bool:
        """Does a source match by all that is live?"""
        newest = self._ledger.roster.version
        return not self._is_followed or self.followers.has(source, self.live_version, newest)

    def measured(self, delays_ms: Mapping[tuple[str, str], float]) -> None:
        self._measured, self._delays = delays_ms, None

    # --- gateways

    def changes(self, said: GatewayChanges) -> list[Command]:
        """Changes are stored before anything else happens to them; who asks is told how things stand."""
        roster = self._ledger.roster
        if roster.take(said):
            return []
        stand, live = roster.stand(said.gateway), self._live.get(said.gateway)
        serial = stand.serial if said.incarnation == stand.incarnation else 0
        answers: list[Command] = [
            Send(said.gateway, Noted(self._term, said.incarnation, serial, again=roster.lacks(said)))
        ]
        if live is not None and live.incarnation == said.incarnation:
            answers.append(Send(said.gateway, live))
        return answers

    def expire(self, now: float) -> None:
        """What nobody has asked for again since a gateway fell is kept for a while: clients may be coming back."""
        roster = self._ledger.roster
        left = roster.left_over()
        self._left_since = {gateway: self._left_since.get(gateway, now) for gateway in left}
        for gateway, since in self._left_since.items():
            if now - since >= max(self._settings.retain_s, _RETURN * self._settings.dead_s):
                roster.expire(gateway, _EXPIRED)

    # --- what is live

    def progress(self, now: float) -> list[Command]:
        """Tell sources and gateways what has become durable, and who is live by now."""
        roster = self._ledger.roster
        commands: list[Command] = [
            Send(grown.gateway, Noted(self._term, grown.stand.incarnation, grown.stand.serial))
            for grown in roster.stored()
        ]
        if self._is_followed:
            commands += self.followers.tell(roster, self._overlay.sources, self._term, now)
            return commands + self._call_live(now)
        current = self._ledger.current
        known = current is not None and bool(roster.grown) and roster.grown[0].version <= current.version
        if current is not None and known and self._leases.follow(current.epoch, now):
            commands += self.live_by(current)  # a gateway that fell wants what it wanted
        return commands

    def live_by(self, plan: Deployment) -> list[Command]:
        """What a plan was made from is live: every source that may take messages in follows it."""
        leases = self._leases
        confirmed = {source: place for source, (epoch, place) in leases.confirmed.items() if epoch >= plan.epoch}
        places = {source: confirmed.get(source, leases.positions.get(source, 0)) for source in self._overlay.sources}
        return self._went_live(plan.version, places, set(confirmed))

    def _call_live(self, now: float) -> list[Command]:
        """What every source matches that may take messages in is live."""
        roster = self._ledger.roster
        if not roster.grown or self._ledger.current is None:
            return []
        version = min([roster.version, *map(self.followers.version, self._leases.running(now))])
        if roster.grown[0].version > version:
            return []
        self.live_version = max(self.live_version, version)
        sure = {source for source in self._overlay.sources if self.followers.version(source) >= version}
        places = {
            source: self.followers.position(source) if source in sure else self._leases.positions.get(source, 0)
            for source in self._overlay.sources
        }
        return self._went_live(version, places, sure)

    def _went_live(self, version: int, positions: dict[str, int], sure: set[str]) -> list[Command]:
        """Tell gateways that a version of the roster is live, behind positions."""
        roster = self._ledger.roster
        stands: dict[str, Stand] = {}
        late: dict[str, list[tuple[int, float]]] = {}
        while roster.grown and roster.grown[0].version <= version:
            _, gateway, stands[gateway], bounded = roster.grown.popleft()
            for serial, name, bound in bounded:
                delay = self._expected_delay(gateway, name, bound)
                if delay is not None:
                    late.setdefault(gateway, []).append((serial, delay))
        places = tuple(sorted(positions.items()))
        unsure = tuple(source for source in self._overlay.sources if source not in sure)
        for gateway, stand in stands.items():
            self._live[gateway] = Live(
                self._term, stand.incarnation, stand.serial, version, places, unsure, tuple(late.get(gateway, ()))
            )  # fmt: skip
        return [Send(gateway, self._live[gateway]) for gateway in stands]

    def _expected_delay(self, gateway: str, profile: str, bound: float) -> float | None:
        """How long messages may be under way, where a bound is not met."""
        current = self._ledger.current
        if current is None:
            return None
        if not self._is_followed:
            return current.late.get(f"{gateway}/{profile}")
        if self._delays is None or self._delays[0] != current.epoch:
            topology = self._overlay.topology(current.brokers, current.down).with_delays(self._measured)
            self._delays = current.epoch, expected_delays(current.plan, topology, current.sources)
        delay = self._delays[1].get(gateway)
        return delay if delay is not None and delay > bound else None
