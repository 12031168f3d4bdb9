"""A stream of stock quotes and the people who want parts of it: what the demo shows.

Few symbols are quoted often and most rarely (Zipf); prices walk at random; interest follows the same
popularity. Texts are what a trading application would write, in a handful of forms.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

SYMBOLS = 500
EXCHANGES = ("NYSE", "NASDAQ", "LSE", "XETRA", "TSE")
SECTORS = ("energy", "finance", "health", "industry", "materials", "retail", "tech", "utilities")
_START_MICROS = 1_767_225_600_000_000  # 2026-01-01 00:00 UTC
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def symbol(rank: int) -> str:
    """The ticker of the ``rank``-th most popular stock."""
    first, rest = divmod(rank * 7919 % 17576, 676)
    return _LETTERS[first] + _LETTERS[rest // 26] + _LETTERS[rest % 26]


def _popularity() -> NDArray[np.float64]:
    weights: NDArray[np.float64] = 1 / np.arange(1, SYMBOLS + 1) ** 0.9
    total: float = weights.sum()
    return weights / total


def quotes(first: int, count: int, seed: int = 1) -> pa.RecordBatch:
    """Quotes number ``first`` …, a millisecond apart; the same for the same seed, however they are cut."""
    random = np.random.default_rng([seed, first])
    stocks = random.choice(SYMBOLS, count, p=_popularity())
    base = 5 * 1.012 ** (stocks * 13 % SYMBOLS)
    change = random.normal(0, 1.5, count)
    tickers = pa.array([symbol(i) for i in range(SYMBOLS)])
    return pa.RecordBatch.from_pydict(
        {
            "symbol": tickers.take(pa.array(stocks)),
            "exchange": pa.array(EXCHANGES).take(pa.array(stocks % len(EXCHANGES))),
            "sector": pa.array(SECTORS).take(pa.array(stocks * 3 % len(SECTORS))),
            "price": pa.array(np.round(base * (1 + change / 100), 2)),
            "change_pct": pa.array(np.round(change, 3)),
            "volume": pa.array(np.exp(random.normal(6, 1.5, count)).astype(np.int64)),
            "time": pa.array(_START_MICROS + 1000 * np.arange(first, first + count), pa.timestamp("us", "UTC")),
            "halted": pa.array(random.random(count) < 0.002),
        }
    )


def profiles(count: int, seed: int = 1) -> list[str]:
    """What ``count`` subscribers ask for."""
    random = np.random.default_rng(seed)
    stocks = random.choice(SYMBOLS, (count, 3), p=_popularity())
    forms = random.choice(5, count, p=[0.4, 0.25, 0.15, 0.12, 0.08])
    numbers = random.random((count, 2))
    return [_profile(form, ranks, *number) for form, ranks, number in zip(forms, stocks.tolist(), numbers, strict=True)]


def _profile(form: int, ranks: list[int], x: float, y: float) -> str:
    price = 5 * 1.012 ** (ranks[0] * 13 % SYMBOLS)
    match form:
        case 0:
            low = price * (0.98 + 0.02 * x)
            return f"symbol = '{symbol(ranks[0])}' AND price BETWEEN {low:.2f} AND {low * (1.005 + 0.02 * y):.2f}"
        case 1:
            return f"symbol = '{symbol(ranks[0])}' AND volume > {int(np.exp(5 + 4 * x))}"
        case 2:
            names = ", ".join(f"'{symbol(r)}'" for r in dict.fromkeys(ranks))
            return f"symbol IN ({names}) AND (change_pct < {-1 - 2 * x:.2f} OR change_pct > {1 + 2 * y:.2f})"
        case 3:
            sector, exchange = SECTORS[int(x * len(SECTORS))], EXCHANGES[int(y * len(EXCHANGES))]
            return f"sector = '{sector}' AND exchange = '{exchange}' AND change_pct > {2.5 + x:.2f} AND volume > 5000"
    return f"symbol LIKE '{symbol(ranks[0])[0]}%' AND halted AND price > {50 * x:.2f}"
