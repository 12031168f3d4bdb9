"""How much profiles ask for in common, and which contains which, in the sampled messages (2005 §3.2.1 and §3.2.2)."""

from __future__ import annotations

import numpy as np

from semcast.channels.hierarchy import candidates
from semcast.channels.overlap import overlap
from semcast.channels.selectivity import Selectivity
from semcast.dashboard.comparison import Sampled
from semcast.dashboard.snapshot import Json, Snapshot
from semcast.matching.matches import Matches, pointers

_SHOWN = 40
"""Profiles that are looked at: those that matched most."""


def overlaps(found: Snapshot) -> Json:
    """``matrix[i][j]``: the share of profile i's messages that j matches too. ``parent``: who contains it, if anyone.

    A parent is the one with the highest overlap per rate of what they do not share (2004 §3.2.1).
    """
    plan = found.planned
    matched = {source: told["matched"] for source, told in found.samples.items()}
    sampled = Sampled.of(plan, list(plan.gateways), matched) if plan is not None else None
    if sampled is None:
        return {"messages": 0, "profiles": [], "matrix": []}
    counts = sampled.selectivity.counts
    chosen = [place for place in np.argsort(-counts, kind="stable")[:_SHOWN].tolist() if counts[place]]
    seen = Selectivity.of(_only(sampled.matches, chosen, len(counts)), len(chosen))
    known, total = overlap(seen), float(sampled.matches.rows)
    parents = candidates(known, seen.counts / total, total)
    names = [sampled.subscriptions.distinct[place] for place in chosen]
    rows = [
        {
            "id": name,
            "text": found.profiles[name].text if name in found.profiles else name,
            "stream": found.profiles[name].stream if name in found.profiles else None,
            "share": float(seen.counts[place] / total),
            "parent": parents[place][0].parent if parents[place] else None,
        }
        for place, name in enumerate(names)
    ]
    return {"messages": int(total), "profiles": rows, "matrix": np.round(known.matrix(), 3).tolist()}


def _only(matches: Matches, chosen: list[int], profiles: int) -> Matches:
    """The same messages with some profiles, numbered anew in this order."""
    number = np.full(profiles, -1, np.int32)
    number[chosen] = np.arange(len(chosen), dtype=np.int32)
    kept = number[matches.indices]
    rows = np.repeat(np.arange(matches.rows), np.diff(matches.indptr))[kept >= 0]
    order = np.lexsort((kept[kept >= 0], rows))
    indptr = pointers(np.bincount(rows, minlength=matches.rows))
    return Matches(indptr, kept[kept >= 0][order])
