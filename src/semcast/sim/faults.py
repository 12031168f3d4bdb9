"""What can go wrong, each from one moment to another, in true seconds.

A fault on lanes hits those that it names: one overlay link (``link``, both directions), everything between some
parties and the rest (``side``; clients are where their first broker is), or everything. Faults may overlap.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from semcast.model import SemcastError


class Fault(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", forbid_unknown_fields=True):
    """Something that goes wrong at ``from_s`` and is over at ``to_s``."""

    from_s: float
    to_s: float


class LaneFault(Fault, frozen=True, kw_only=True):
    """A fault of what is between parties."""

    link: tuple[str, str] | None = None
    side: tuple[str, ...] = ()
    one_way: bool = False
    """Only from the first end of the link, or from the side, to the other."""

    def hits(self, sender: str, receiver: str, sender_at: str, receiver_at: str, overlay: bool) -> bool:
        """Is the way from one party to the other, each at a broker, among those that it names?"""
        if self.link is not None:
            ends = sender, receiver
            return overlay and (ends == self.link or (not self.one_way and ends[::-1] == self.link))
        if not self.side:
            return True
        inside = sender in self.side or sender_at in self.side
        outside = not (receiver in self.side or receiver_at in self.side)
        return inside == outside and (inside or not self.one_way)


class Loss(LaneFault, frozen=True, kw_only=True, tag="loss"):
    """Frames vanish, each with this probability."""

    probability: float


class Twice(LaneFault, frozen=True, kw_only=True, tag="twice"):
    """Frames arrive a second time, right behind themselves, each with this probability."""

    probability: float


class Jitter(LaneFault, frozen=True, kw_only=True, tag="jitter"):
    """Frames take up to so much longer; those of one lane still arrive in order."""

    most_ms: float


class Partition(LaneFault, frozen=True, kw_only=True, tag="partition"):
    """Nothing gets through, also not what is under way; with ``hold`` it waits and arrives, stale, when it is over."""

    hold: bool = False


class PartyFault(Fault, frozen=True, kw_only=True):
    """A fault of one party."""

    party: str


class Crash(PartyFault, frozen=True, kw_only=True, tag="crash"):
    """A party is gone, and comes back with nothing but what it had stored; a client keeps its memory."""


class Pause(PartyFault, frozen=True, kw_only=True, tag="pause"):
    """A party stands still; what it is sent waits, and it does not know how much time has gone by."""


class Slow(PartyFault, frozen=True, kw_only=True, tag="slow"):
    """A party takes so long for each frame, and queues build up before it."""

    service_ms: float


class Skew(PartyFault, frozen=True, kw_only=True, tag="skew"):
    """A party's clock jumps ahead, then runs at ``rate``, until it runs true again."""

    rate: float = 1.0
    jump_s: float = 0.0


class StoreCut(PartyFault, frozen=True, kw_only=True, tag="store-cut"):
    """A coordinator does not reach the store, or does not hear what it says; some of its calls are done, and late."""


class StoreSlow(PartyFault, frozen=True, kw_only=True, tag="store-slow"):
    """A coordinator's calls to the store take up to so much longer, each."""

    most_ms: float


class DiskFault(PartyFault, frozen=True, kw_only=True, tag="disk"):
    """A broker's disk is full, fails to sync, or takes so much longer; only where brokers have one (``production``)."""

    how: Literal["full", "failing", "slow"]
    slow_ms: float = 200.0


AnyFault = Loss | Twice | Jitter | Partition | Crash | Pause | Slow | Skew | StoreCut | StoreSlow | DiskFault


def check(fault: AnyFault, at: str, end_s: float) -> None:
    """SemcastError where a fault's numbers make no sense; ``at`` says where it stands, ``end_s`` when all must heal."""
    if not 0 <= fault.from_s < fault.to_s:
        raise SemcastError(f"{at}: from_s must be at least 0 and before to_s, not {fault.from_s:g} to {fault.to_s:g}")
    if fault.to_s > end_s:
        raise SemcastError(f"{at}.to_s: {fault.to_s:g} is after duration_s ({end_s:g}), when all faults are healed")
    if isinstance(fault, Loss | Twice) and not 0 < fault.probability <= 1:
        raise SemcastError(f"{at}.probability: must be above 0 and at most 1, not {fault.probability:g}")
    if isinstance(fault, Jitter | StoreSlow) and fault.most_ms <= 0:
        raise SemcastError(f"{at}.most_ms: must be above 0, not {fault.most_ms:g}")
    if isinstance(fault, Slow) and fault.service_ms <= 0:
        raise SemcastError(f"{at}.service_ms: must be above 0, not {fault.service_ms:g}")
    if isinstance(fault, DiskFault) and fault.slow_ms <= 0:
        raise SemcastError(f"{at}.slow_ms: must be above 0, not {fault.slow_ms:g}")
    if isinstance(fault, Skew) and not (0.5 <= fault.rate <= 2 and fault.jump_s >= 0):
        raise SemcastError(f"{at}: rate must be from 0.5 to 2 and jump_s not below 0: no clock goes back")
    if isinstance(fault, LaneFault) and fault.link is not None and fault.side:
        raise SemcastError(f"{at}: link and side exclude each other")
    if isinstance(fault, Partition) and fault.link is None and not fault.side:
        raise SemcastError(f"{at}: a partition needs link = [broker, broker] or side = [parties]")
