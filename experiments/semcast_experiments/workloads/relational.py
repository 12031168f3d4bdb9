"""Seeded workloads: profiles and messages to match them with.

The matching workloads follow the papers' setting (thousands of conjunctions of an equality and a few
ranges over ten attributes); the quote stream is what the demo shows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

ATTRIBUTES = 10  # one string and nine numbers


@dataclass(frozen=True)
class Workload:
    """``profiles`` conjunctions of ``symbol = …`` (of ``symbols`` values) and ``ranges`` ranges.

    Each range keeps ``width`` of a uniform number, so a profile matches width^ranges / symbols of the
    messages; its ends are drawn for itself, so no two profiles share thresholds.
    """

    name: str
    profiles: int
    symbols: int
    ranges: int
    width: float

    @property
    def selectivity(self) -> float:
        return self.width**self.ranges / self.symbols

    def texts(self, seed: int = 1) -> list[str]:
        random = np.random.default_rng(seed)
        symbols = random.integers(0, self.symbols, self.profiles)
        shuffled = random.random((self.profiles, ATTRIBUTES - 1)).argsort(axis=1)
        numbers = np.sort(shuffled[:, : self.ranges], axis=1).tolist()
        lows = random.uniform(0, 1 - self.width, (self.profiles, self.ranges)).tolist()
        return [
            f"symbol = 'S{symbol}'"
            + "".join(
                f" AND a{n} >= {low:.7f} AND a{n} < {low + self.width:.7f}" for n, low in zip(ns, ls, strict=True)
            )
            for symbol, ns, ls in zip(symbols.tolist(), numbers, lows, strict=True)
        ]

    def messages(self, count: int, seed: int = 2) -> pa.RecordBatch:
        random = np.random.default_rng(seed)
        names = pa.array([f"S{i}" for i in range(self.symbols)])
        columns = {"symbol": names.take(pa.array(random.integers(0, self.symbols, count)))}
        columns |= {f"a{i}": pa.array(random.random(count)) for i in range(ATTRIBUTES - 1)}
        return pa.RecordBatch.from_pydict(columns)


@dataclass(frozen=True)
class MixedWorkload(Workload):
    """As Workload, but only ``equality`` of the profiles ask for a symbol; the others have one range more.

    All profiles match the same share of the messages. Without an equality in every profile a join has no
    key, which is what content-based subscriptions look like to a database.
    """

    equality: float = 0.3

    def texts(self, seed: int = 1) -> list[str]:
        random = np.random.default_rng(seed)
        return [self._text(random) for _ in range(self.profiles)]

    def _text(self, random: np.random.Generator) -> str:
        terms = []
        count, share = self.ranges + 1, self.selectivity
        if random.random() < self.equality:
            terms.append(f"symbol = 'S{random.integers(self.symbols)}'")
            count, share = self.ranges, self.selectivity * self.symbols
        width = share ** (1 / count)
        numbers = np.sort(random.permutation(ATTRIBUTES - 1)[:count])
        lows = random.uniform(0, 1 - width, count)
        terms += [f"a{n} >= {low:.7f} AND a{n} < {low + width:.7f}" for n, low in zip(numbers, lows, strict=True)]
        return " AND ".join(terms)


MIXED = {
    "W1": MixedWorkload("W1", 7_000, 50, 2, 0.5**0.5),
    "W2": MixedWorkload("W2", 100_000, 50, 2, 0.05**0.5),
}

WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload("W1", 7_000, 50, 2, 0.5**0.5),  # 1 % match
        Workload("W2", 100_000, 50, 3, 0.05 ** (1 / 3)),  # 0.1 %
        Workload("W3", 100_000, 1_000, 2, 0.5),
        Workload("W4", 1_000_000, 1_000, 2, 0.5),
    )
}
