"""Who wants which messages, drawn as in SemCast 2005 §5: clients pick a profile and a gateway at random.

Profiles are texts of our languages and messages are matched by our engines, except where matches are to be independent
of one another, which no text of a few attributes is. Names end in the mean number of the 120 gateways of 600 brokers
that want a message, with 7,000 clients.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semcast.matching import language
from semcast.matching.matches import Matches, pointers
from semcast.trees.demand import Demand
from semcast.trees.topology import Topology

Rng = np.random.Generator
CLIENTS = 7_000


class Match:
    """Profiles that clients hold, and messages drawn and matched against them."""

    def __init__(self, name: str, texts: list[str], messages: Callable[[int, Rng], pa.RecordBatch]) -> None:
        distinct = sorted(set(texts))
        numbers = {text: number for number, text in enumerate(distinct)}
        self.held = np.array([numbers[text] for text in texts], np.int64)
        """Per client its profile."""
        chosen = language(name)
        self._matcher = chosen.matcher([chosen.parse(text) for text in distinct])
        self._messages = messages

    def draw(self, count: int, rng: Rng) -> Matches:
        return self._matcher.match(self._messages(count, rng))


class Independent:
    """Every client's profile matches every message with one chance, whatever the others do."""

    def __init__(self, clients: int, chance: float) -> None:
        self.held = np.arange(clients)
        self._chance = chance

    def draw(self, count: int, rng: Rng) -> Matches:
        matched = rng.binomial(len(self.held), self._chance, count)
        rows = [np.sort(rng.choice(len(self.held), size, replace=False)) for size in matched.tolist()]
        return Matches(pointers(matched), np.concatenate([*rows, np.empty(0, np.int64)]))


Interest = Callable[[int, Rng], Match | Independent]


def disjoint(share: float) -> Interest:
    """``share`` of the profiles are distinct, and a message matches exactly one of them."""

    def made(clients: int, rng: Rng) -> Match:
        symbols = max(1, round(share * clients))
        texts = [f"symbol = 'S{number}'" for number in rng.integers(0, symbols, clients).tolist()]
        return Match("relational", texts, lambda count, by: _batch(symbol=_symbols(symbols, count, by)))

    return made


def hot(share: float) -> Interest:
    """As ``disjoint``, but half of the messages match every profile."""

    def made(clients: int, rng: Rng) -> Match:
        symbols = max(1, round(share * clients))
        drawn = rng.integers(0, symbols, clients).tolist()
        texts = [f"alert = true OR symbol = 'S{number}'" for number in drawn]

        def messages(count: int, by: Rng) -> pa.RecordBatch:
            return _batch(symbol=_symbols(symbols, count, by), alert=pa.array(by.random(count) < 0.5))

        return Match("relational", texts, messages)

    return made


def intervals(attributes: int, selectivity: float) -> Interest:
    """Intervals on each of some uniform attributes, placed at random, that together keep ``selectivity`` of all."""

    def made(clients: int, rng: Rng) -> Match:
        width = selectivity ** (1 / attributes)
        lows = rng.uniform(-width, 1, (clients, attributes)).tolist()
        texts = [
            " AND ".join(f"a{number} >= {low:.6f} AND a{number} < {low + width:.6f}" for number, low in enumerate(row))
            for row in lows
        ]

        def messages(count: int, by: Rng) -> pa.RecordBatch:
            return _batch(**{f"a{number}": pa.array(by.random(count)) for number in range(attributes)})

        return Match("relational", texts, messages)

    return made


def topics(branching: int) -> Interest:
    """A hierarchy of three levels: 2 % of the clients ask for a top level, 28 % for a middle and 70 % for a lowest."""

    def made(clients: int, rng: Rng) -> Match:
        depths = rng.choice([1, 2, 3], clients, p=[0.02, 0.28, 0.7]).tolist()
        places = rng.integers(0, branching, (clients, 3)).tolist()
        texts = ["/".join(map(str, place[:depth])) for place, depth in zip(places, depths, strict=True)]

        def messages(count: int, by: Rng) -> pa.RecordBatch:
            drawn = by.integers(0, branching, (count, 3)).tolist()
            return _batch(topic=pa.array(["/".join(map(str, place)) for place in drawn]))

        return Match("topic", texts, messages)

    return made


def independent(chance: float) -> Interest:
    return lambda clients, rng: Independent(clients, chance)


INTERESTS: dict[str, Interest] = {
    "disjoint-97": disjoint(0.005),
    "disjoint-41": disjoint(0.02),
    "disjoint-18": disjoint(0.05),
    "disjoint-10": disjoint(0.1),
    "intervals-19": intervals(1, 0.003),
    "intervals-45": intervals(2, 0.01),
    "topics-46": topics(8),
    "independent-19": independent(0.003),
    "independent-53": independent(0.01),
    "hot-80": hot(0.02),
}


@dataclass(frozen=True)
class Setting:
    """How much is drawn: brokers, clients, messages that plans are made from, messages that they are judged by."""

    brokers: int = 600
    clients: int = CLIENTS
    sample: int = 10_000
    held_out: int = 300


class Drawn(NamedTuple):
    """Messages to plan by and, drawn separately, messages to judge by."""

    sample: Demand
    held_out: Demand
    sample_matches: Matches
    held_out_matches: Matches
    profiles: int
    """How many are distinct."""
    held: NDArray[np.int64]
    """Per client its profile."""
    at: NDArray[np.int64]
    """Per client the place of its gateway."""


def draw(interest: Interest, topology: Topology, seed: int, setting: Setting = Setting()) -> Drawn:  # noqa: B008
    """Give every client a profile and a gateway, and draw messages; the same for the same seed."""
    by_profile, by_gateway, by_sample, by_held_out = np.random.default_rng([seed, 2005]).spawn(4)
    held = interest(setting.clients, by_profile)
    gateway = by_gateway.integers(0, len(topology.gateways), setting.clients)
    order = np.argsort(held.held, kind="stable")
    profiles = int(held.held.max()) + 1
    clients = _Clients(np.searchsorted(held.held[order], np.arange(profiles + 1)), gateway[order])
    sample, held_out = held.draw(setting.sample, by_sample), held.draw(setting.held_out, by_held_out)
    first, second = (_demand(matches, clients, topology.gateways) for matches in (sample, held_out))
    return Drawn(first, second, sample, held_out, profiles, held.held, gateway)


class _Clients(NamedTuple):
    """The gateways of profile p's clients are ``gateway[start[p]:start[p + 1]]``."""

    start: NDArray[np.int64]
    gateway: NDArray[np.int64]


def _demand(matches: Matches, clients: _Clients, gateways: tuple[int, ...]) -> Demand:
    rows, profiles = matches.pairs().T
    sizes = np.diff(clients.start)[profiles]
    first = np.repeat(clients.start[profiles] - np.cumsum(sizes) + sizes, sizes)
    columns = clients.gateway[first + np.arange(len(first))]
    copies = np.bincount(columns, minlength=len(gateways))
    return Demand.of(gateways, matches.rows, np.repeat(rows, sizes), columns, copies)


def _symbols(symbols: int, count: int, rng: Rng) -> pa.Array:
    return pa.array([f"S{number}" for number in rng.integers(0, symbols, count).tolist()])


def _batch(**columns: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(columns)
