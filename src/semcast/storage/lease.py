"""Who leads, until when: the one rule for all coordinators' stores."""

from __future__ import annotations

from typing import NamedTuple


class Lease(NamedTuple):
    """The lead as it is stored; times in seconds by the store's clock."""

    term: int
    leader: str | None
    granted: float
    until: float


def asked(lease: Lease, who: str, lease_s: float, now: float, above: int = 0) -> Lease:
    """The lead after somebody has asked for it: theirs, under a new term unless they led, or left as it is.

    A leader whose term is not above ``above`` gets a new one too.

    Where the clock is behind the moment when the lease was given, nobody knows how long ago that was: it counts anew
    from now. So a clock that goes back lets a lease end late, by one lease at most, and never early.
    """
    if now < lease.granted:
        lease = lease._replace(granted=now, until=now + (lease.until - lease.granted))
    led = lease.leader is not None and now < lease.until
    if led and lease.leader != who:
        return lease
    return Lease(lease.term + (not led or lease.term <= above), who, now, now + lease_s)
