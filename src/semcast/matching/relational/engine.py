"""The relational engine: many profiles × a batch of messages → Matches."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semcast.matching.matches import Matches
from semcast.matching.relational import kernels
from semcast.matching.relational.arrays import assemble
from semcast.matching.relational.columns import column_at, encode, encode_likes, encode_numbers, find_column, plain
from semcast.matching.relational.index import Builder, Like, shapes_of, spaces_of
from semcast.matching.relational.spaces import NULL_CODE, Codes, Segment, Space
from semcast.profiles.relational import Profile

BLOCK_ROWS = 1 << 16
_FEW_ROWS = 512
_SCALAR_ROWS = 4
_MAX_SPREAD = 16  # entries per conjunction in the candidate lists of single rows


class Scratch:
    """Memory that one batch leaves to the next: fresh pages cost as much as the matching itself."""

    def __init__(self) -> None:
        self._held: dict[str, NDArray[Any]] = {}

    def take(self, name: str, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        """An array of this shape; what is in it is unspecified."""
        size = prod(shape)
        return self.grow(name, size, dtype)[:size].reshape(shape)

    def grow(self, name: str, size: int, dtype: Any, keep: int = 0) -> NDArray[Any]:
        """A flat array of at least this size, with the first ``keep`` values that it had."""
        held = self._held.get(name)
        if held is None or len(held) < size:
            grown = np.empty(size, dtype)
            if held is not None:
                grown[:keep] = held[:keep]
            held = self._held[name] = grown
        return held


class RelationalEngine:
    """Matches batches against a fixed list of profiles.

    Cost per batch: sorting it once per access attribute, then O(1) per conjunction plus a vector
    test over its candidates. A few rows are looked up one by one instead, through lists of the
    conjunctions that a code can be a candidate of.
    """

    def __init__(self, profiles: Sequence[Profile]) -> None:
        shapes = shapes_of(profiles)
        self.spaces = spaces_of(shapes)
        builder = Builder(self.spaces)
        blocks = [block for shape in shapes for block in builder.blocks(shape)]
        self.attributes = list(builder.attributes.numbers)
        self.places = list(builder.attributes.places)
        ends = {-1: 1, **{at: self._codes(a) for at, a in enumerate(self.attributes)}}
        self.width: Any = np.uint16 if max(ends.values()) <= 0xFFFF else np.uint32
        self.arrays, self.orders = assemble(blocks, ends, self.width)
        self._scratch: list[Scratch] = []
        self._few: _FewRows | None = None
        self._paths: tuple[pa.Schema, list[list[int] | None]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_few": None, "_paths": None, "_scratch": []}

    def _codes(self, attribute: str | Like) -> int:
        return 3 if isinstance(attribute, Like) else self.spaces[attribute].end

    def match(self, batch: pa.RecordBatch | pa.Table) -> Matches:
        if not len(self.arrays.terms) or not batch.num_rows:
            return Matches.none(batch.num_rows)
        if isinstance(batch, pa.Table):
            batches = batch.combine_chunks().to_batches(max_chunksize=BLOCK_ROWS)
            return Matches.stacked([self._match(part) for part in batches])
        starts = range(0, batch.num_rows, BLOCK_ROWS)
        if len(starts) == 1:
            return self._match(batch)
        return Matches.stacked([self._match(batch.slice(start, BLOCK_ROWS)) for start in starts])

    def _match(self, batch: pa.RecordBatch) -> Matches:
        if batch.num_rows <= _FEW_ROWS:
            few = self._few or self._list()
            if batch.num_rows * few.candidates <= len(self.arrays.terms):
                return few.match(batch)
        return self._match_many(batch)

    def prepare(self) -> None:
        """List the candidates of single rows now: 3 ms for 100,000 profiles, which the first few rows would take."""
        if self._few is None and len(self.arrays.terms):
            self._list()

    def _list(self) -> _FewRows:
        few = self._few = _FewRows(self)
        return few

    def _match_many(self, batch: pa.RecordBatch) -> Matches:
        rows = batch.num_rows
        try:
            scratch = self._scratch.pop()  # its own for each thread that is in here
        except IndexError:
            scratch = Scratch()
        codes = scratch.take("codes", (len(self.attributes), rows), self.width)
        self.encode(batch, codes)
        places = self.encode_places(batch)
        orders, starts = self._sorted(codes, scratch)
        lanes = scratch.take("lanes", (len(self.orders.lanes), rows), self.width)
        for lane, (order, attribute) in zip(lanes, self.orders.lanes.tolist(), strict=True):
            kernels.gather(codes[attribute], orders[order], lane)
        stamps = scratch.take("stamps", (rows,), np.int32)
        stamps[:] = -1
        at, count, room = 0, 0, rows
        while at < len(self.arrays.terms):
            found_rows, found_profiles = (scratch.grow(name, room, np.int32, count) for name in ("rows", "profiles"))
            at, count = kernels.match_rows(
                codes, lanes, orders.ravel(), starts, places, *self.arrays,
                at, count, stamps, found_rows, found_profiles,
            )  # fmt: skip
            room = 2 * len(found_rows)
        indptr, indices = np.empty(rows + 1, np.int64), np.empty(count, np.int32)
        kernels.by_row(found_rows, found_profiles, count, indptr, indices)
        self._scratch.append(scratch)
        return Matches(indptr, indices)

    def _sorted(self, codes: Codes, scratch: Scratch) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        rows = codes.shape[1]
        orders = scratch.take("orders", (len(self.orders.access), rows), np.int32)
        origins = self.orders.origins
        starts = scratch.take("starts", (int(origins[-1]),), np.int32)
        for at, attribute in enumerate(self.orders.access.tolist()):
            mine = starts[origins[at] : origins[at + 1]]
            if attribute < 0:
                orders[at] = np.arange(rows)
                mine[:] = 0, rows
            else:
                kernels.sort_rows(codes[attribute], mine, orders[at])
        return orders, starts

    # -- columns of a batch

    def paths(self, schema: pa.Schema) -> list[list[int] | None]:
        """Where in a batch each attribute and then each place stands; remembered for the next batch."""
        known = self._paths
        if known is None or not schema.equals(known[0]):
            names = [a.attribute if isinstance(a, Like) else a for a in self.attributes] + self.places
            known = self._paths = schema, [find_column(schema, name) for name in names]
        return known[1]

    def encode(self, batch: pa.RecordBatch, codes: Codes) -> None:
        numbers: dict[tuple[int, ...], list[int]] = {}  # attribute and LIKE tests of one column share its dictionary
        for number, path in enumerate(self.paths(batch.schema)[: len(self.attributes)]):
            if path is None:
                codes[number] = NULL_CODE
            else:
                numbers.setdefault(tuple(path), []).append(number)
        for place, mine in numbers.items():
            self.encode_column(mine, plain(column_at(batch, list(place))), codes)

    def encode_column(self, numbers: Sequence[int], column: Any, codes: Codes) -> None:
        """Codes of the attributes with these ``numbers``, which all look at one column."""
        tests = [(number, a.pattern) for number in numbers if isinstance(a := self.attributes[number], Like)]
        for number in numbers:
            if isinstance(attribute := self.attributes[number], str):
                encode(column, self.spaces[attribute], codes[number])
        if tests:
            encode_likes(column, tests, codes)

    def encode_places(self, batch: pa.RecordBatch) -> NDArray[np.float64]:
        places = np.full((len(self.places), batch.num_rows), np.nan)
        if self.places:
            for path, out in zip(self.paths(batch.schema)[len(self.attributes) :], places, strict=True):
                if path is not None:
                    encode_numbers(plain(column_at(batch, path)), out)
        return places


_Plan = tuple[list[tuple[int, int, Segment]], dict[tuple[int, ...], list[int]]]
"""Attributes with their columns and segments; columns with their attributes."""


class _FewRows:
    """Lists of candidate conjunctions by bucket of codes, for rows that come one by one."""

    def __init__(self, engine: RelationalEngine) -> None:
        self.engine = engine
        terms, orders = engine.arrays.terms, engine.orders
        sizes = np.diff(orders.origins) - 1
        self.shifts = np.zeros(len(sizes), np.int64)
        for order, size in enumerate(sizes.tolist()):
            mine = terms[terms[:, 3] == order]
            spans = mine[:, 2] - mine[:, 1]
            shift = 0
            while (spans >> shift).sum() > _MAX_SPREAD * len(mine) or size >> shift > 1 << 20:
                shift += 1
            self.shifts[order] = shift
        self.bases = np.concatenate(([0], np.cumsum((sizes >> self.shifts) + 1))).astype(np.int64)
        self.ptr = np.zeros(self.bases[-1] + 1, np.int64)
        arguments = terms, orders.origins, self.shifts, self.bases, self.ptr
        total = kernels.list_candidates(*arguments, np.empty(0, np.int32))
        self.lists = np.empty(total, np.int32)
        if total:
            kernels.list_candidates(*arguments, self.lists)
        buckets = (sizes >> self.shifts) + 1
        means = [
            (b - a) / n for (a, b), n in zip(pairwise(self.ptr[self.bases].tolist()), buckets.tolist(), strict=True)
        ]
        self.candidates = max(1.0, float(sum(means)))
        self.room = 1024
        self._plan: tuple[pa.Schema, _Plan] | None = None

    def match(self, batch: pa.RecordBatch) -> Matches:
        engine, rows = self.engine, batch.num_rows
        if rows > _SCALAR_ROWS:
            codes = np.empty((len(engine.attributes), rows), np.uint32)
            engine.encode(batch, codes)
        else:
            codes = self._encode(batch)
        places = engine.encode_places(batch)
        indptr = np.empty(rows + 1, np.int64)
        orders = engine.orders
        while True:
            profiles = np.empty(self.room, np.int32)
            count = kernels.match_few(
                codes, places, orders.access, orders.origins, self.shifts, self.bases, self.ptr, self.lists,
                *engine.arrays, indptr, profiles,
            )  # fmt: skip
            if count >= 0:
                return Matches(indptr, profiles[:count])
            self.room *= 2

    def _encode(self, batch: pa.RecordBatch) -> Codes:
        """As the engine's encode, but value by value: for a row or two numpy's overhead is the cost."""
        engine, rows = self.engine, batch.num_rows
        values, others = self._plan_for(batch.schema)
        codes: Codes = np.full((len(engine.attributes), rows), NULL_CODE, np.uint32)
        columns = batch.to_struct_array().flatten() if values else []  # half the cost of taking them one by one
        for number, path, segment in values:
            codes[number] = [NULL_CODE if v is None else segment.code(v) for v in columns[path].to_pylist()]
        for place, numbers in others.items():
            engine.encode_column(numbers, plain(column_at(batch, list(place))), codes)
        return codes

    def _plan_for(self, schema: pa.Schema) -> _Plan:
        """The attributes whose values can be coded one by one, with their segments; the others by column."""
        known = self._plan
        if known is None or not schema.equals(known[0]):
            values: list[tuple[int, int, Segment]] = []
            others: dict[tuple[int, ...], list[int]] = {}
            attributes = self.engine.attributes
            for number, (attribute, path) in enumerate(zip(attributes, self.engine.paths(schema), strict=False)):
                if path is None:
                    continue
                segment = None
                if isinstance(attribute, str) and len(path) == 1:
                    segment = _segment(self.engine.spaces[attribute], schema.field(path[0]).type)
                if segment is None:
                    others.setdefault(tuple(path), []).append(number)
                else:
                    values.append((number, path[0], segment))
            known = self._plan = schema, (values, others)
        return known[1]


def _segment(space: Space, type_: pa.DataType) -> Segment | None:
    """The segment that codes Python values of this Arrow type, if there is one for all of them."""
    types = pa.types
    if types.is_float64(type_) or types.is_float32(type_):
        return space.double
    if types.is_integer(type_):
        return space.number
    if types.is_string(type_) or types.is_large_string(type_):
        return space.string
    return space.boolean if types.is_boolean(type_) else None
