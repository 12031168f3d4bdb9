"""What elements and attributes say: kinds of values, skewed as real ones are.

A kind draws the texts of documents and the literals of profiles from one distribution, so what many
documents say is also what many profiles ask for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

_VOCABULARY = (
    "storm market bank election minister court river police rain price oil talks vote water team goal coast record "
    "report plant strike union border school winter harvest budget flood tax station airport hospital senate league "
    "final trade export currency rate share profit loss merger steel copper wheat coffee cotton timber engine bridge "
    "tunnel harbour ferry train crash rescue fire drought snow wind solar nuclear pipeline treaty summit embassy "
    "refugee army peace ceasefire protest march verdict appeal judge jury prison fraud theft patent novel film "
    "festival museum opera concert painter sculptor vase clock lamp carpet chair table mirror necklace bracelet coin "
    "stamp map globe camera lens piano violin guitar drum racket bicycle helmet saddle boots jacket scarf vintage "
    "silver golden antique signed framed carved ivory walnut marble bronze leather velvet porcelain crystal amber jade"
)


class Kind(Protocol):
    """A kind of values; ``operators`` are those that make sense for it, ``quoted`` literals are strings."""

    operators: frozenset[str]
    quoted: bool

    def text(self, random: np.random.Generator) -> str:
        """A value, as a document has it."""

    def literal(self, random: np.random.Generator, operator: str) -> str:
        """A value that a profile compares with."""


class Choice:
    """One of some values (words of a text, or a list): the n-th with a weight of 1 / n ** skew (Zipf)."""

    operators = frozenset({"=", "!="})
    quoted = True

    def __init__(self, values: str | Sequence[str], skew: float = 1.0) -> None:
        self.values = tuple(values.split() if isinstance(values, str) else values)
        weights = 1 / np.arange(1, len(self.values) + 1) ** skew
        self._shares = np.cumsum(weights) / weights.sum()

    def text(self, random: np.random.Generator) -> str:
        at = int(np.searchsorted(self._shares, random.random(), side="right"))
        return self.values[min(at, len(self.values) - 1)]

    def literal(self, random: np.random.Generator, operator: str) -> str:
        return self.text(random)


class Code(Choice):
    """An identifier, as ``person17``."""

    def __init__(self, prefix: str, count: int, skew: float = 0.7) -> None:
        super().__init__([f"{prefix}{number}" for number in range(count)], skew)


class Number:
    """A number between ``low`` and ``high``, small ones more often (uniform in its logarithm) where ``skewed``."""

    operators = frozenset({"=", "!=", "<", "<=", ">", ">="})
    quoted = False

    def __init__(self, low: float, high: float, decimals: int = 0, skewed: bool = False) -> None:
        self.low, self.high, self.decimals, self.skewed = low, high, decimals, skewed

    def text(self, random: np.random.Generator) -> str:
        share = random.random()
        if self.skewed:
            base = self.low - 1  # so that a range may begin at 0
            value = base + (self.high - base) ** share
        else:
            value = self.low + share * (self.high - self.low)
        return f"{value:.{self.decimals}f}"

    def literal(self, random: np.random.Generator, operator: str) -> str:
        return self.text(random)


class Day:
    """A day as a number, 20240317: XPath 1.0 orders numbers only."""

    operators = Number.operators
    quoted = False

    def __init__(self, years: Sequence[int], ending: str = "") -> None:
        self.years = tuple(years)
        self.ending = ending

    def text(self, random: np.random.Generator) -> str:
        month, day = int(random.integers(1, 13)), int(random.integers(1, 29))
        return f"{self.years[int(random.integers(len(self.years)))]}{month:02}{day:02}{self.ending}"

    def literal(self, random: np.random.Generator, operator: str) -> str:
        return self.text(random)


class Words:
    """Some words of a skewed vocabulary: ``mean`` on average, at least one."""

    operators = frozenset({"contains", "starts-with", "="})
    quoted = True
    _words = Choice(_VOCABULARY, 0.8)

    def __init__(self, mean: float = 2.0) -> None:
        self.mean = mean

    def text(self, random: np.random.Generator) -> str:
        return " ".join(self._words.text(random) for _ in range(1 + int(random.poisson(self.mean - 1))))

    def literal(self, random: np.random.Generator, operator: str) -> str:
        return self.text(random) if operator == "=" else self._words.text(random)
