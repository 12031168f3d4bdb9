"""Containment hierarchies: which profile hangs below which (2005 §3.2.2, 2004 §3.2.1).

On the sample, profile j contains i if j matched every message that i matched. A profile that is contained in
others may join the hierarchy of one of them: by 2005's rule where that is estimated to be cheaper than a
channel of its own, by 2004's rule below the one with the highest overlap per rate of what they do not share.

What only the sample says may be false, so a hierarchy stands for the disjunction of all its profiles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from semcast.channels.overlap import Overlap
from semcast.channels.selectivity import Floats, Ints
from semcast.channels.spans import Gateways, Span

_TRIED_BY_SYNTAX = 256  # of the widest hierarchies; a channel of its own costs such a profile nothing either

Covers = Callable[[int, int], bool]
"""``covers(j, i)``: does j's text say that it contains i?"""


class Candidate(NamedTuple):
    """A profile that contains another, and how well the two fit."""

    parent: int
    overlap: float
    """The share of the parent's messages that the child matches too: O[parent, child]."""
    noise: float
    """The rate of what the parent matches and the child does not: r_{j-i}."""

    @property
    def merit(self) -> float:
        """2004's rule: overlap per rate of the rest; nothing is better than a parent without rest."""
        return self.overlap / self.noise if self.noise > 0 else np.inf


@dataclass
class Hierarchy:
    """Profiles of which the root contained all others in the window."""

    root: int
    parents: dict[int, int] = field(default_factory=dict)
    """Every profile but the root, with the one above it."""
    gateways: Gateways = 0

    @property
    def profiles(self) -> list[int]:
        """All of them, ascending."""
        return sorted([self.root, *self.parents])


def candidates(overlap: Overlap, rates: Floats, total: float) -> list[list[Candidate]]:
    """Each profile's possible parents, best first.

    Profiles that matched exactly the same are one class: its first profile is the others' only candidate, and
    stands for them as a candidate of the rest. A profile that matched nothing has none.
    """
    first = representatives(overlap)
    found: list[list[Candidate]] = [[] for _ in range(overlap.profiles)]
    for i in range(overlap.profiles):
        others, counts, shares = overlap.row(i)
        if first[i] != i:
            found[i] = [Candidate(int(first[i]), 1.0, 0.0)]
            continue
        own = _count(overlap, i)
        above = (counts == own) & (others != i) & (first[others] == others)
        for j, share in zip(others[above].tolist(), shares[above].tolist(), strict=True):
            noise = max(0.0, rates[j] - share / total)
            found[i].append(Candidate(j, share / (rates[j] * total), noise))
        found[i].sort(key=lambda candidate: (-candidate.merit, candidate.parent))
    return found


def representatives(overlap: Overlap) -> Ints:
    """For each profile the first that matched exactly the same messages; itself if it matched none."""
    found = np.arange(overlap.profiles)
    owns = np.array([_count(overlap, i) for i in range(overlap.profiles)], np.int64)
    for i in range(overlap.profiles):
        others, counts, _ = overlap.row(i)
        same = others[(counts == owns[i]) & (owns[others] == owns[i])]
        if len(same):
            found[i] = same.min()
    return found


def cost_based(
    choices: Sequence[Sequence[Candidate]],
    rates: Floats,
    counts: Ints,
    gateways: Sequence[Gateways],
    span: Span,
    covers: Covers | None = None,
) -> list[Hierarchy]:
    """2005's rule: each profile joins the hierarchy of a candidate, or roots a new one, whichever costs least.

    Costs are formula (1): rate times estimated links. Profiles are placed widest first, so that parents stand
    before their children. One that matched nothing costs nothing by itself; it joins a hierarchy whose root covers
    it by syntax and whose tree reaches its gateways already.
    """
    made: list[Hierarchy] = []
    home: dict[int, Hierarchy] = {}
    for i in _widest_first(counts):
        best: tuple[float, Hierarchy, int] | None = None
        for candidate in choices[i]:
            above = home[candidate.parent]
            grown = span(above.gateways | gateways[i], above.root) - span(above.gateways, above.root)
            extra = rates[above.root] * grown
            if best is None or extra < best[0]:
                best = (extra, above, candidate.parent)
        if best is not None and best[0] <= rates[i] * span(gateways[i], i):
            _join(home, best[1], i, best[2], gateways)
            continue
        wide = _covering(made, i, gateways, covers) if counts[i] == 0 else None
        if wide is not None:
            _join(home, wide, i, wide.root, gateways)
            continue
        home[i] = Hierarchy(i, gateways=gateways[i])
        made.append(home[i])
    return made


def rate_based(choices: Sequence[Sequence[Candidate]], counts: Ints, gateways: Sequence[Gateways]) -> list[Hierarchy]:
    """2004's rule: each contained profile hangs below its best candidate; the others are roots."""
    made: list[Hierarchy] = []
    home: dict[int, Hierarchy] = {}
    for i in _widest_first(counts):
        if choices[i]:
            parent = choices[i][0].parent
            _join(home, home[parent], i, parent, gateways)
            continue
        home[i] = Hierarchy(i, gateways=gateways[i])
        made.append(home[i])
    return made


def _join(home: dict[int, Hierarchy], above: Hierarchy, i: int, parent: int, gateways: Sequence[Gateways]) -> None:
    above.parents[i] = parent
    above.gateways |= gateways[i]
    home[i] = above


def _widest_first(counts: Ints) -> list[int]:
    """By falling number of messages, so that what contains a profile stands before it; a class in its order."""
    order: list[int] = np.argsort(-counts, kind="stable").tolist()
    return order


def _covering(
    made: Sequence[Hierarchy], i: int, gateways: Sequence[Gateways], covers: Covers | None
) -> Hierarchy | None:
    if covers is None:
        return None
    for hierarchy in made[:_TRIED_BY_SYNTAX]:
        if gateways[i] & ~hierarchy.gateways == 0 and covers(hierarchy.root, i):
            return hierarchy
    return None


def _count(overlap: Overlap, i: int) -> int:
    others, counts, _ = overlap.row(i)
    place = int(np.searchsorted(others, i))
    return int(counts[place]) if place < len(others) and others[place] == i else 0
