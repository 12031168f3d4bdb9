"""From statistics to channels: the papers' schemes.

Profiles are numbered, each with the set of gateways that have clients for it. What comes out is a list of
channels with expressions over these numbers; trees are somebody else's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from semcast.channels.expressions import any_of, served
from semcast.channels.hierarchy import Covers, Hierarchy, candidates, cost_based, rate_based
from semcast.channels.merging import Channel, Merged, Merger, Rates, Variant
from semcast.channels.overlap import Overlap, overlap
from semcast.channels.selectivity import Selectivity
from semcast.channels.spans import Gateways, Span
from semcast.model.bits import Bits, bits

_VARIANTS = {
    "semcast": Variant.NOISE,
    "semcast-o": Variant.NOISE,
    "semcast-merge": Variant.UNION,
    "semcast-noisemerge": Variant.NOISE_AGAIN,
    "semcast-threshold": None,
}
"""How hierarchies are merged into channels: by cost (2005), or by 2004's threshold."""
SCHEMES = tuple(_VARIANTS)
_THRESHOLDS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


@dataclass(frozen=True)
class Settings:
    """What the papers leave to the operator."""

    max_merges: int = 1000
    max_evaluations: int = 200_000
    threshold: float | None = None
    """2004's merging threshold; None raises it from 0.3 as long as the estimated cost falls."""
    max_noise: float = 0.5
    """2004's second criterion: how much of what two roots match together may be matched by one of them only.

    Up to a half, two roots share two thirds of the smaller one at least, so that lower thresholds change nothing;
    1 leaves the threshold alone to decide.
    """
    literal_cap: bool = False


class Channelized(NamedTuple):
    """Channels with what is expected of them."""

    channels: list[Channel]
    hierarchies: list[Hierarchy]
    profiles: list[tuple[int, ...]]
    """Per channel, the profiles assigned to it."""
    merges: int
    stopped: bool
    """Did a budget end the search?"""
    threshold: float | None = None

    @property
    def estimate(self) -> float:
        """Expected link transmissions per message: the sum of formula (1) over all channels."""
        return sum(channel.cost for channel in self.channels)


def channelize(
    scheme: str,
    selectivity: Selectivity,
    gateways: Sequence[Gateways],
    span: Span,
    *,
    matrix: Overlap | None = None,
    covers: Covers | None = None,
    settings: Settings | None = None,
) -> Channelized:
    """Find the channels of one of the papers' schemes.

    ``matrix`` is the overlap matrix where somebody has computed it already. No profile is left without a channel, and
    no message that a profile matches is on none of the profile's channels, whatever the statistics say.
    """
    settings = settings or Settings()
    matrix = matrix or overlap(selectivity, least=1.0)
    choices = candidates(matrix, selectivity.rates, selectivity.total)
    variant = _VARIANTS[scheme]
    if variant is None:
        made = rate_based(choices, selectivity.counts, gateways)
        return _by_threshold(made, selectivity, span, settings)
    made = cost_based(choices, selectivity.rates, selectivity.counts, gateways, span, covers)
    merger = Merger(
        selectivity.weights,
        span,
        variant,
        max_merges=settings.max_merges,
        max_evaluations=settings.max_evaluations,
        literal_cap=settings.literal_cap,
    )
    merged = merger.merged(_channels(made, selectivity, span))
    return _result(merged, made)


def _channels(made: Sequence[Hierarchy], selectivity: Selectivity, span: Span) -> list[Channel]:
    rows, rates = _rows(_grouped(made, selectivity)), Rates(selectivity.weights)
    return [_channel(h.profiles, h.root, h.gateways, row, rates, span) for h, row in zip(made, rows, strict=True)]


def _channel(profiles: Sequence[int], root: int, gateways: Gateways, row: Bits, rates: Rates, span: Span) -> Channel:
    return Channel(any_of(profiles), root, gateways, row, rates.of(row), span(gateways, root))


def _rows(grouped: Selectivity) -> Bits:
    """The messages of the window that each hierarchy matches, as bits."""
    pairs = grouped.matches.pairs()
    return bits(grouped.profiles, grouped.messages, pairs[:, 1], pairs[:, 0])


def _result(merged: Merged, made: list[Hierarchy], threshold: float | None = None) -> Channelized:
    assigned = [tuple(sorted(served(channel.expression))) for channel in merged.channels]
    return Channelized(merged.channels, made, assigned, merged.merges, merged.stopped, threshold)


def _by_threshold(made: list[Hierarchy], selectivity: Selectivity, span: Span, settings: Settings) -> Channelized:
    """2004's merging, at the threshold that is given or at the one that seems best."""
    first, *higher = (settings.threshold,) if settings.threshold is not None else _THRESHOLDS
    grouped = _grouped(made, selectivity)
    rows, rates = _rows(grouped), Rates(selectivity.weights)
    # Whoever overlaps enough for a higher threshold does so for the first: one matrix serves all.
    likely = _overlapping(grouped, first, settings.max_noise)

    def merged_at(threshold: float) -> Channelized:
        channels, merges = _merged_at(threshold, likely, made, rows, rates, span)
        return _result(Merged(channels, merges, 0, False), made, threshold)

    best = merged_at(first)
    for threshold in higher:
        raised = merged_at(threshold)
        if raised.estimate > best.estimate:
            break
        best = raised
    return best


def _merged_at(
    threshold: float,
    likely: Sequence[_Likely],
    made: list[Hierarchy],
    rows: Bits,
    rates: Rates,
    span: Span,
) -> tuple[list[Channel], int]:
    """Put hierarchies together whose roots overlap enough; the channels, and how many merges that took."""
    top = list(range(len(made)))
    merges = 0
    for pair in likely:
        if pair.share >= threshold * pair.own:
            a, b = _top(top, pair.i), _top(top, pair.j)
            if a != b:
                top[max(a, b)] = min(a, b)
                merges += 1
    parts: dict[int, list[int]] = {}
    for number in range(len(made)):
        parts.setdefault(_top(top, number), []).append(number)
    return [_united([made[n] for n in part], rows[part], rates, span) for part in parts.values()], merges


class _Likely(NamedTuple):
    """Two hierarchies, what the first matches by weight, and what both match."""

    i: int
    j: int
    own: float
    share: float


def _overlapping(grouped: Selectivity, threshold: float, max_noise: float) -> list[_Likely]:
    """Pairs that overlap enough and do not match too much that only one of them does."""
    matrix = overlap(grouped, threshold)
    whole = grouped.rates * grouped.total
    i = np.repeat(np.arange(grouped.profiles), np.diff(matrix.indptr))
    j, share = matrix.others, matrix.shares
    both = whole[i] + whole[j] - share
    held = (i != j) & (share >= threshold * whole[i]) & (both - share <= max_noise * both)
    found = (i[held], j[held], whole[i[held]], share[held])
    return [_Likely(*pair) for pair in zip(*(values.tolist() for values in found), strict=True)]


def _united(part: Sequence[Hierarchy], rows: Bits, rates: Rates, span: Span) -> Channel:
    profiles = [profile for hierarchy in part for profile in hierarchy.profiles]
    gateways = 0
    for hierarchy in part:
        gateways |= hierarchy.gateways
    return _channel(profiles, part[0].root, gateways, np.bitwise_or.reduce(rows, axis=0), rates, span)


def _top(above: list[int], number: int) -> int:
    while above[number] != number:
        number = above[number]
    return number


def _grouped(made: Sequence[Hierarchy], selectivity: Selectivity) -> Selectivity:
    """Hierarchies in the place of profiles."""
    group = np.zeros(selectivity.profiles, np.int64)
    for number, hierarchy in enumerate(made):
        group[hierarchy.profiles] = number
    return selectivity.grouped(group, len(made))
