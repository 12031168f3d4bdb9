"""What it costs to compute destinations (Figures 4–7) and to add and remove a subscription (Figures 9, 10).

Times are CPU times. Machines are noisy all the same: the engines take turns, and the best of some rounds counts.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator
from contextlib import contextmanager
from time import process_time
from typing import NamedTuple

import semcast_experiments.figures.topics.workload as workload
from semcast.matching.topic import ENGINES, TopicEngine, TopicMatcher
from semcast.profiles.topic import TopicProfile

_TOPICS = {"compact": 1000, "tree": 1000, "hashing": 200, "regex": 4, "naive": 2}
_CHANGES = 500
_ROUNDS = 3
_QUICK_ROUNDS = 12  # a round of the quick engines takes milliseconds: a neighbour's burst would fill three


class Cost(NamedTuple):
    """Mean microseconds for one topic, or for one subscription."""

    engine: str
    attributes: int
    subscriptions: int
    seed: int
    compute_us: float
    add_us: float
    remove_us: float
    nodes: int  # of the tree only
    edges: int


class Growth(NamedTuple):
    """Engines that grow from size to size with subscriptions of some attributes."""

    attributes: int
    sizes: tuple[int, ...]
    seed: int


def costs(case: Growth) -> list[Cost]:
    """All engines, at every size."""
    attributes, sizes, seed = case
    profiles = workload.subscriptions(sizes[-1] + _CHANGES, attributes, seed)
    engines = {name: engine() for name, engine in ENGINES.items()}
    found: list[Cost] = []
    begin = 0
    for size in sizes:
        for engine in engines.values():
            for index in range(begin, size):
                engine.add(index, profiles[index])
        begin = size
        topics = workload.topics(profiles[:size], max(_TOPICS.values()), seed)
        with quiet():
            compute = computing(engines, topics)
            changes = {name: changing(engine, profiles[-_CHANGES:], size) for name, engine in engines.items()}
        for name, engine in engines.items():
            nodes, edges = engine.size() if name == "tree" else (0, 0)  # type: ignore[attr-defined]
            found.append(Cost(name, attributes, size, seed, compute[name], *changes[name], nodes, edges))
    return found


def computing(engines: dict[str, TopicEngine], topics: list[str]) -> dict[str, float]:
    best = dict.fromkeys(engines, float("inf"))
    for round_ in range(_QUICK_ROUNDS):
        for name, engine in engines.items():
            if round_ >= _ROUNDS and name in ("regex", "naive"):
                continue
            some = topics[: _TOPICS[name]]
            begin = process_time()
            for topic in some:
                engine.destinations(topic)
            best[name] = min(best[name], (process_time() - begin) / len(some) * 1e6)
    return best


def changing(engine: TopicEngine, profiles: list[TopicProfile], index: int) -> tuple[float, float]:
    """Add and remove some more subscriptions; indices go up from round to round, as an engine demands."""
    add = remove = float("inf")
    for round_ in range(_ROUNDS):
        re.purge()  # it would remember the patterns of the round before
        numbers = range(index + round_ * len(profiles), index + (round_ + 1) * len(profiles))
        begin = process_time()
        for number, profile in zip(numbers, profiles, strict=True):
            engine.add(number, profile)
        between = process_time()
        for number, profile in zip(numbers, profiles, strict=True):
            engine.remove(number, profile)
        add = min(add, (between - begin) / len(profiles) * 1e6)
        remove = min(remove, (process_time() - between) / len(profiles) * 1e6)
    return add, remove


class Stream(NamedTuple):
    """So many messages for so many subscriptions of some attributes."""

    attributes: int
    size: int
    messages: int
    seed: int


class Rates(NamedTuple):
    """Topics per second: by comparing one by one, by the default engine, and by it in batches with repeated topics."""

    seed: int
    naive: float
    engine: float
    stream: float


def batches(case: Stream) -> list[Rates]:
    """Distinct topics, naive and by the default engine; and a stream in which topics come again."""
    attributes, size, messages, seed = case
    profiles = workload.subscriptions(size, attributes, seed)
    default = next(iter(ENGINES))
    engines = {name: ENGINES[name]() for name in (default, "naive")}
    for engine in engines.values():
        for index, profile in enumerate(profiles):
            engine.add(index, profile)
    topics = workload.topics(profiles, 10_000, seed)
    stream = workload.repeated(topics, messages, seed)
    matcher = TopicMatcher(default, profiles)
    with quiet():
        alone = computing(engines, topics)
        best = float("inf")
        for _ in range(_ROUNDS):
            matcher.remove(matcher.add(profiles[0]))  # empties the cache
            begin = process_time()
            for at in range(0, messages, 1 << 16):
                matcher.match(stream.slice(at, 1 << 16))
            best = min(best, process_time() - begin)
    return [Rates(seed, 1e6 / alone["naive"], 1e6 / alone[default], messages / best)]


@contextmanager
def quiet() -> Iterator[None]:
    """Without the garbage collector, which would visit a million edges now and then."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
