"""Relational profiles: SQL conditions over flat or nested messages (DESIGN §4).

Syntax (what was written) → constraints (one per attribute) → boxes (the normal form of a Profile).
Knows values and their order; knows no batches, engines, channels or networks.
"""

from semcast.profiles.relational.profile import Profile, covers, overlaps, parse, wanted

__all__ = ["Profile", "covers", "overlaps", "parse", "wanted"]
