"""What a workload's profiles ask for, as plain columns: the peers' view.

Read from the texts by a regular expression and not by our parser, so that a profile which the parser
misunderstands shows up as a difference between ours and a peer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semcast.model import SemcastError
from semcast_experiments.workloads.relational import ATTRIBUTES

NUMBERS = ATTRIBUTES - 1
_EQUALITY = re.compile(r"^symbol = '([^']*)'", re.MULTILINE)
_RANGE = re.compile(r" AND a(\d) >= ([\d.]+) AND a\1 < ([\d.]+)")


@dataclass(frozen=True)
class Conjunctions:
    """``symbols[codes[p]] = …`` and, for each of its ranges r, ``lows[p, r] <= a{attributes[p, r]} < highs[p, r]``."""

    symbols: list[str]
    codes: NDArray[np.int32]
    attributes: NDArray[np.int32]
    lows: NDArray[np.float64]
    highs: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def ranges(self) -> int:
        return int(self.attributes.shape[1])

    def shapes(self) -> list[tuple[int, ...]]:
        """The combinations of attributes that profiles restrict, ascending."""
        return [tuple(shape) for shape in np.unique(self.attributes, axis=0).tolist()]

    def shape_numbers(self) -> NDArray[np.int32]:
        """For each profile the position of its combination among ``shapes()``."""
        return np.unique(self.attributes, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int32)

    def wide(self) -> pa.Table:
        """One low and one high column per attribute; infinite where a profile does not restrict it."""
        every = np.arange(len(self))[:, None]
        lows, highs = np.full((len(self), NUMBERS), -np.inf), np.full((len(self), NUMBERS), np.inf)
        lows[every, self.attributes], highs[every, self.attributes] = self.lows, self.highs
        return self._table({}, lows, highs)

    def narrow(self) -> pa.Table:
        """The number of the shape, and columns only for the ranges that a profile has."""
        return self._table({"shape": self.shape_numbers()}, self.lows, self.highs)

    def _table(
        self, more: dict[str, NDArray[np.int32]], lows: NDArray[np.float64], highs: NDArray[np.float64]
    ) -> pa.Table:
        ends = {f"low{i}": lows[:, i] for i in range(lows.shape[1])}
        ends |= {f"high{i}": highs[:, i] for i in range(highs.shape[1])}
        numbers = np.arange(len(self), dtype=np.int32)
        return pa.table({"profile": numbers, "symbol": self.codes, **more, **ends})

    def coded(self, messages: pa.RecordBatch) -> pa.Table:
        """Messages with their number as ``row`` and the code of their symbol (-1: no profile asks for it)."""
        texts = messages.column("symbol").dictionary_encode()
        of = {symbol: code for code, symbol in enumerate(self.symbols)}
        table = np.array([of.get(symbol, -1) for symbol in texts.dictionary.to_pylist()], np.int32)
        rows = np.arange(messages.num_rows, dtype=np.int32)
        numbers = {f"a{i}": messages.column(f"a{i}") for i in range(NUMBERS)}
        return pa.table({"row": rows, "symbol": table[texts.indices.to_numpy()], **numbers})


def read_conjunctions(texts: Sequence[str]) -> Conjunctions:
    """Read texts of the workloads' form, all with the same number of ranges."""
    text = "\n".join(texts)
    symbols, codes = np.unique(np.array(_EQUALITY.findall(text)), return_inverse=True)
    ranges = np.array(_RANGE.findall(text), np.float64)
    if len(codes) != len(texts) or not len(texts) or len(ranges) % len(texts):
        raise SemcastError("these profiles do not have the form of a matching workload")
    ranges = ranges.reshape(len(texts), -1, 3)
    attributes = ranges[:, :, 0].astype(np.int32)
    lows, highs = (np.ascontiguousarray(ranges[:, :, end]) for end in (1, 2))
    return Conjunctions(symbols.tolist(), codes.astype(np.int32), attributes, lows, highs)
