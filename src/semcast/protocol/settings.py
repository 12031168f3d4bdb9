"""What an operator may tune."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Settings:
    """Times in seconds, sizes in messages; what an operator may tune."""

    tick_s: float = 0.1
    beat_s: float = 0.5
    """Between heartbeats."""
    dead_s: float = 2.5
    """Not heard of for so long: dead."""
    lease_s: float = 2.0
    """How long a source may take in messages without hearing from the coordinator."""
    leader_s: float = 3.0
    """How long a coordinator leads without hearing from the store."""
    tally_s: float = 0.2
    ack_s: float = 0.5
    resend_s: float = 0.6
    """What is not answered is said again."""
    grace_s: float = 0.6
    """A tree that lags behind others for so long is not waited for; its messages are fetched."""
    silence_s: float = 2.0
    """A source not heard of for so long is asked."""
    window: int = 1024
    """Messages that a gateway holds above the first that it misses, per source."""
    credit: int = 256
    """Messages that are fetched from a log at a time."""
    held: int = 256
    """Messages that a session keeps until its client has taken them, or until it is live."""
    recent_bytes: int = 32 << 20
    """Messages that a gateway keeps for clients that cannot keep up; older ones come from the log again."""
    retain: int = 0
    """Messages that stay in a log although everybody has them."""
    retain_s: float = 0.0
    """Younger messages stay in a log, up to ``retain_absent``: for who comes back without a durable session."""
    retain_absent: int = 100_000
    """Messages that stay in a log for gateways that are away; older ones end in a gap notice."""
    expiry_s: float = 3600.0
    """How long a durable session outlives its client."""
    batch: int = 256
    """Messages per frame, at most."""
    roster_log: int = 10_000
    """Changes of who wants what that a coordinator remembers: sources further behind are sent the whole roster."""
    roster_frame: int = 100
    """Such changes per frame: a source takes a frame in one turn."""
    admitted: int = 24
    """Subscriptions that a gateway takes up in one turn."""
    reorganise_s: float | None = None
    """Between reorganisations; None: only when asked for."""
    planner_s: float = 30.0
    """How long a coordinator waits for a plan that is made elsewhere, before it makes it itself."""
    bound: Literal["strictest", "median"] = "strictest"
    """Which of its clients' staleness bounds a gateway asks for, where several have the same profile."""
    sample: int = 1
    """One message in so many is sampled for statistics."""
    samples: int = 1000
    """So many samples are kept."""
