"""Thesis Table 5.1 as a measured comparison: multicast channels, content-based profiles, semantic interest profiles.

The same users want the same charts under all three. Channels: a multicast address for each of at most 100 sets of
charts, since addresses are few; a user joins those of his charts. Content: a relational profile per user. Semantic: an
interest profile per user, matched against descriptors.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from semcast.demo.charts import Charts, descriptor, interest, packet
from semcast.matching import language
from semcast.model.palette import BLUE, GREEN, ORANGE
from semcast.profiles.semantic import InterestProfile
from semcast_experiments.figures.claims import Claim, Verdict, judged
from semcast_experiments.figures.lines import Style, curve, means, name_ends, result
from semcast_experiments.figures.output import dress, figure, mean
from semcast_experiments.figures.trials import Run

ADDRESSES = 100
_STYLES = {
    "channels": Style("multicast channels", ORANGE),
    "content": Style("content-based", GREEN),
    "semantic": Style("semantic", BLUE),
}
_CHARTS = Charts(charts=100, levels=(0.0, 0.2, 0.8))


class Approach(NamedTuple):
    """One approach with a number of users; times are CPU times."""

    approach: str
    users: int
    seed: int
    address_bytes: float
    """What a packet says of itself so that it can be matched, mean."""
    interest_bytes: float
    """What a user says of his interest, mean."""
    us_per_packet: float
    unwanted: float
    """Deliveries that the user had not asked for, per one that he had: what cannot be expressed."""
    changes: float
    """Entries that a user's change of interest alters, mean."""


class Audience(NamedTuple):
    """So many users, and packets for them."""

    users: int
    packets: int
    seed: int


def approaches(run: Run) -> dict[str, Any]:
    numbers, packets = ((50, 200), 200) if run.quick else ((100, 300, 1_000, 3_000), 1_000)
    cases = [Audience(users, packets, seed) for users in numbers for seed in run.seeds(5, 3)]
    rows = run.trials("approaches", compared, Approach, cases, alone=True)
    note = [
        f"Users ask for three places on average, charts or whole subregions; {ADDRESSES} multicast addresses for "
        "9,000 charts. "
        "Content and semantic profiles are matched by this project's own engines, in batches."
    ]
    return result(run, "semantic-approaches", rows, _drawn(rows), claims(rows), note)


def compared(case: Audience) -> list[Approach]:
    """All three on the same users and packets."""
    users, packets, seed = case
    rng = np.random.default_rng([seed, users])
    wants, others = _CHARTS.places(users, rng), _CHARTS.places(users, rng)
    charts = _CHARTS.corrections(packets, rng)
    return [
        _channels(wants, others, charts, seed),
        _content(wants, charts, seed),
        _semantic(wants, charts, seed),
    ]


def _channels(
    wants: Sequence[Sequence[str]], others: Sequence[Sequence[str]], charts: list[str], seed: int
) -> Approach:
    joined = [_addresses(places) for places in wants]
    table: dict[int, list[int]] = {}
    for user, addresses in enumerate(joined):
        for address in sorted(addresses):
            table.setdefault(address, []).append(user)
    numbers = [_address(chart) for chart in charts]
    found, micros = _timed(lambda: [table.get(number, []) for number in numbers], len(charts))
    sent = sum(len(to) for to in found)
    asked = sum(_asks(wants[user], chart) for chart, to in zip(charts, found, strict=True) for user in to)
    moved = mean(float(len(_addresses(new) ^ old)) for new, old in zip(others, joined, strict=True)).value
    size = mean(4.0 * len(addresses) for addresses in joined).value
    return Approach("channels", len(wants), seed, 4.0, size, micros, (sent - asked) / max(1, asked), moved)


def _content(wants: Sequence[Sequence[str]], charts: list[str], seed: int) -> Approach:
    texts = [" OR ".join(_condition(place) for place in places) for places in wants]
    relational = language("relational")
    matcher = relational.matcher([relational.parse(text) for text in texts])
    batch = pa.RecordBatch.from_pydict({"chart": pa.array(charts), "subregion": pa.array([c[:2] for c in charts])})
    matcher.match(batch)
    _, micros = _timed(lambda: matcher.match(batch), len(charts))
    address = mean(float(len(f"chart={chart};subregion={chart[:2]}")) for chart in charts).value
    size = mean(float(len(text)) for text in texts).value
    return Approach("content", len(wants), seed, address, size, micros, 0.0, 1.0)


def _semantic(wants: Sequence[Sequence[str]], charts: list[str], seed: int) -> Approach:
    profiles = [InterestProfile.of(interest(places)) for places in wants]
    chosen = language("semantic")
    matcher = chosen.matcher(profiles)
    batch = pa.RecordBatch.from_pydict({"payload": pa.array([packet(chart, b"") for chart in charts])})
    matcher.match(batch)
    _, micros = _timed(lambda: matcher.match(batch), len(charts))
    address = mean(float(len(descriptor(chart))) for chart in charts).value
    size = mean(float(len(chosen.canonical(profile))) for profile in profiles).value
    return Approach("semantic", len(wants), seed, address, size, micros, 0.0, 1.0)


def _address(chart: str) -> int:
    """The multicast address of a chart: neighbours share one, as far as there are enough."""
    return int(chart) % ADDRESSES


def _addresses(places: Sequence[str]) -> frozenset[int]:
    return frozenset(
        _address(chart) for place in places for chart in ([place] if len(place) > 2 else _in_subregion(place))
    )


def _in_subregion(place: str) -> list[str]:
    return [chart for chart in _CHARTS.every if chart.startswith(place)]


def _asks(places: Sequence[str], chart: str) -> bool:
    return any(chart.startswith(place) for place in places)


def _condition(place: str) -> str:
    return f"chart = '{place}'" if len(place) > 2 else f"subregion = '{place}'"


def _timed(work: Callable[[], Any], packets: int, rounds: int = 3) -> tuple[Any, float]:
    """The result, and the best of some rounds in microseconds per packet."""
    best = float("inf")
    for _ in range(rounds):
        began = time.process_time()
        found = work()
        best = min(best, time.process_time() - began)
    return found, 1e6 * best / max(1, packets)


def claims(rows: Sequence[Approach]) -> list[Claim]:
    most = max(row.users for row in rows)
    at = {name: [row for row in rows if (row.approach, row.users) == (name, most)] for name in _STYLES}
    value = {
        field: {name: mean(getattr(row, field) for row in found).value for name, found in at.items()}
        for field in ("address_bytes", "us_per_packet", "unwanted", "changes")
    }
    said = {field: ", ".join(f"{name} {v:,.2f}" for name, v in found.items()) for field, found in value.items()}
    return [
        _ordered(
            "Size of address: a number < n nodes < N nodes.", f"Bytes: {said['address_bytes']}.", value["address_bytes"]
        ),
        _ordered(
            "Matching: very low < high < higher.", f"CPU µs a packet: {said['us_per_packet']}.", value["us_per_packet"]
        ),
        Claim(
            "Expressiveness: as many as there are addresses; very high; very high.",
            f"Unwanted deliveries per wanted one: {said['unwanted']}.",
            "agrees" if value["unwanted"]["channels"] > 0.5 else "differs",
        ),
        Claim(
            "Management: very high; high; very low.",
            f"Entries that a change of one interest alters: {said['changes']}.",
            "in part" if value["changes"]["channels"] > 1 else "differs",
            "Channels: so. Content and semantic profiles are one entry each, and no channel must be mapped anew.",
        ),
        _scales(rows),
    ]


def _scales(rows: Sequence[Approach]) -> Claim:
    """How the cost of a packet grows from the fewest users to the most; the thesis says it by words only."""
    least, most = min(row.users for row in rows), max(row.users for row in rows)
    grown = {}
    for name in _STYLES:
        few, many = (
            mean(row.us_per_packet for row in rows if (row.approach, row.users) == (name, users)).value
            for users in (least, most)
        )
        grown[name] = many / max(few, 1e-9)
    said = ", ".join(f"{name} {factor:.1f}" for name, factor in grown.items())
    return judged(
        "Scalability: very low; medium; very high.",
        f"From {least:,} to {most:,} users a packet's matching costs times as much: {said}. Unwanted deliveries of "
        "channels stay.",
        grown["semantic"] <= grown["content"] <= grown["channels"],
        "Looking an address up scales best; what does not scale are the addresses, of which there are too few.",
        partly=grown["semantic"] < most / least,
    )


def _ordered(paper: str, measured: str, value: dict[str, float]) -> Claim:
    found = list(value.values())
    verdict: Verdict = "agrees" if found == sorted(found) else "in part" if found[0] == min(found) else "differs"
    why = "" if verdict == "agrees" else "Engines that look at a message once for all profiles change the order."
    return Claim(paper, measured, verdict, why)


def _drawn(rows: Sequence[Approach]) -> Any:
    drawn, panels = figure(3, width=13, height=3.5)
    shown = {
        "us_per_packet": ("Matching", "CPU µs per packet"),
        "unwanted": ("Expressiveness", "unwanted deliveries per wanted one"),
        "changes": ("Management", "entries altered by a change of interest"),
    }
    for axes, (field, (title, label)) in zip(panels, shown.items(), strict=True):
        for name, style in _STYLES.items():
            mine = [(float(row.users), float(getattr(row, field))) for row in rows if row.approach == name]
            curve(axes, means(mine, lambda point: point[0], lambda point: point[1]), style)
        axes.set_xscale("log")
        axes.minorticks_off()
        axes.set_xticks(numbers := sorted({row.users for row in rows}), [f"{number:,}" for number in numbers])
        if field == "us_per_packet":
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        dress(axes, title, "users", label)
    name_ends(panels[-1])
    return drawn
