"""What a subscription takes in memory, engine by engine, beyond its profile."""

from __future__ import annotations

import gc
import re
import tracemalloc
from collections.abc import Iterator
from typing import NamedTuple

import semcast_experiments.figures.topics.workload as workload
from semcast.matching.topic import ENGINES

_REGEX_COUNT = 10_000  # compiling under tracemalloc is slow, and no two patterns share anything


class Memory(NamedTuple):
    """``engine`` is "profile" for the parsed profile itself, which all engines refer to."""

    engine: str
    attributes: int
    subscriptions: int
    seed: int
    bytes_each: float


class Subscribed(NamedTuple):
    """So many subscriptions of some attributes."""

    attributes: int
    size: int
    seed: int


def memory(case: Subscribed) -> list[Memory]:
    """The profiles themselves, then each engine with all of them (``regex`` with some)."""
    return list(_taken(*case))


def _taken(attributes: int, count: int, seed: int) -> Iterator[Memory]:
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        profiles = workload.subscriptions(count, attributes, seed)
        gc.collect()
        own = tracemalloc.get_traced_memory()[0] - before - count * 8  # the list
        yield Memory("profile", attributes, count, seed, own / count)
        for name, make in ENGINES.items():
            some = profiles[:_REGEX_COUNT] if name == "regex" else profiles
            re.purge()
            before = tracemalloc.get_traced_memory()[0]
            engine = make()
            for index, profile in enumerate(some):
                engine.add(index, profile)
            re.purge()
            taken = tracemalloc.get_traced_memory()[0] - before
            yield Memory(name, attributes, len(some), seed, taken / len(some))
            del engine
            gc.collect()
    finally:
        tracemalloc.stop()
