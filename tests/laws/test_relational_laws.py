"""The laws of the relational language and its engine."""

from __future__ import annotations

import contextlib
import itertools
import math
import re
from datetime import timedelta
from decimal import Decimal

import duckdb
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import semcast
from semcast.profiles.relational.normal import normal_form
from semcast.profiles.relational.parser import parse_syntax
from tests.laws.relational_worlds import COLUMNS, EPOCH, conjunctions, predicates, tables, texts

language = semcast.language("relational")
profile_lists = st.lists(texts, min_size=1, max_size=12)


@given(profile_lists, tables())
@settings(max_examples=300, deadline=None)
def test_the_engine_equals_the_oracle(written: list[str], table: pa.Table) -> None:
    profiles = [language.parse(text) for text in written]
    expected = language.matcher(profiles, engine="brute").match(table).pairs().tolist()
    assert language.matcher(profiles).match(table).pairs().tolist() == expected


@given(profile_lists, tables(rows=12))
@settings(max_examples=150, deadline=None)
def test_both_code_paths_of_the_engine_agree(written: list[str], table: pa.Table) -> None:
    from semcast.matching.relational.engine import RelationalEngine, _FewRows

    engine = RelationalEngine([language.parse(text) for text in written])
    batch = table.combine_chunks().to_batches()[0]
    if len(engine.arrays.terms):
        many = engine._match_many(batch).pairs().tolist()
        assert _FewRows(engine).match(batch).pairs().tolist() == many
        one_by_one = [
            (row, profile)
            for row in range(batch.num_rows)
            for _, profile in _FewRows(engine).match(batch.slice(row, 1)).pairs().tolist()
        ]
        assert one_by_one == [tuple(pair) for pair in many]


@given(profile_lists, tables())
@settings(max_examples=200, deadline=None)
def test_matching_equals_duckdb(written: list[str], table: pa.Table) -> None:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.register("messages", table)
    columns = ", ".join(f"({text}) IS TRUE" for text in written)
    rows = connection.execute(f"SELECT {columns} FROM messages").fetchall()
    expected = [[row, at] for row, values in enumerate(rows) for at, value in enumerate(values) if value]
    profiles = [language.parse(text) for text in written]
    assert language.matcher(profiles).match(table).pairs().tolist() == expected


simple = st.lists(predicates(), min_size=1, max_size=4).map(" AND ".join)


@given(simple, st.lists(st.sampled_from(["0", "1", "2.5", "0.1", "'a'", "'abc'", "''"]), min_size=8, max_size=8))
@settings(max_examples=500, deadline=None)
def test_a_profile_read_by_its_template_equals_the_parsed_one(text: str, literals: list[str]) -> None:
    with contextlib.suppress(semcast.ProfileError):
        language.parse(text)  # leaves a template behind, if its skeleton can have one
    replace = iter(literals * 4)
    varied = re.sub(r"(?<![\w.'])\d[\d.]*(?![\w.'])|'\w*'(?!')", lambda _: next(replace), text)
    try:
        expected = normal_form(parse_syntax(varied), varied)
    except semcast.ProfileError:
        return
    assert language.parse(varied).boxes == expected


@given(texts)
@settings(max_examples=500, deadline=None)
def test_canonical_text_parses_back_to_the_same_profile(text: str) -> None:
    profile = language.parse(text)
    again = language.parse(language.canonical(profile))
    assert again == profile
    assert language.canonical(again) == language.canonical(profile)


@given(texts, tables())
@settings(max_examples=200, deadline=None)
def test_canonical_text_matches_the_same_messages(text: str, table: pa.Table) -> None:
    profile = language.parse(text)
    pair = [profile, language.parse(language.canonical(profile))]
    matches = language.matcher(pair, engine="brute").match(table)
    assert all(len(matches.of(row)) in (0, 2) for row in range(table.num_rows))


@given(st.lists(texts, min_size=2, max_size=6), tables())
@settings(max_examples=300, deadline=None)
def test_covers_and_overlaps_are_sound(written: list[str], table: pa.Table) -> None:
    profiles = [language.parse(text) for text in written]
    matches = language.matcher(profiles, engine="brute").match(table)
    rows = [set(map(int, matches.of(row))) for row in range(table.num_rows)]
    for a, b in itertools.permutations(range(len(profiles)), 2):
        if language.covers(profiles[a], profiles[b]):
            assert not any(b in row and a not in row for row in rows), (written[a], written[b])
        if not language.overlaps(profiles[a], profiles[b]):
            assert not any(a in row and b in row for row in rows), (written[a], written[b])


@given(st.lists(texts, min_size=3, max_size=3))
@settings(max_examples=200, deadline=None)
def test_covers_is_reflexive_and_transitive(written: list[str]) -> None:
    a, b, c = (language.parse(text) for text in written)
    assert language.covers(a, a)
    both = language.parse(f"({written[0]}) AND ({written[1]})")
    either = language.parse(f"({written[0]}) OR ({written[1]})")
    assert language.covers(a, both)
    assert language.covers(either, a)
    if language.covers(a, b) and language.covers(b, c):
        assert language.covers(a, c)


def _witnesses() -> pa.Table:
    """A value at, and between any two of, the points that the world's conjunctions can name, in all combinations."""
    points = sorted([*COLUMNS["i"][1], -2.5, 0.1, 1.5])
    between = [Decimal(2 * int(a) + 1) / 2 if b - a >= 1 else (a + b) / 2 for a, b in itertools.pairwise(points)]
    exact = [Decimal(str(p)) for p in [*points, *between, -(2**60), 2**63]]
    doubles = {float(p) for p in exact} | {float("inf"), float("-inf"), float("nan")}
    doubles |= {math.nextafter(p, toward) for p in doubles for toward in (-math.inf, math.inf)}
    numbers = [(x, None) for x in exact] + [(None, x) for x in doubles]
    strings = [s + extra for s in COLUMNS["s"][1] for extra in ("", "\0")]
    moments = [(t - EPOCH) // timedelta(microseconds=1) * 1000 for t in COLUMNS["t"][1]]
    times = [m + d for m in moments for d in (-500, 0, 500)]
    rows = list(itertools.product(numbers, [None, *strings], [None, *times]))
    union = pa.UnionArray.from_dense(
        pa.array([int(n[0] is None) for n, _, _ in rows], pa.int8()),
        pa.array(range(len(rows)), pa.int32()),
        [pa.array([n[at] for n, _, _ in rows], t) for at, t in enumerate([pa.decimal128(38, 2), pa.float64()])],
    )
    moment = pa.array([t for _, _, t in rows], pa.timestamp("ns", "UTC"))
    return pa.table({"i": union, "s": pa.array([s for _, s, _ in rows]), "t": moment})


WITNESSES = _witnesses()


@given(conjunctions(), conjunctions())
@settings(max_examples=150, deadline=None)
def test_covers_is_complete_for_conjunctions(wide: str, narrow: str) -> None:
    a, b = language.parse(wide), language.parse(narrow)
    matches = language.matcher([a, b]).match(WITNESSES)
    alone = matches.indices[matches.indptr[:-1][matches.counts() == 1]]
    assert language.covers(a, b) is not bool((alone == 1).any()), (str(a), str(b))
    together = bool((matches.counts() == 2).any())
    assert language.overlaps(a, b) is together, (str(a), str(b))


@given(st.lists(st.one_of(texts, st.integers(0, 30)), max_size=25), tables(rows=8))
@settings(max_examples=120, deadline=None)
def test_adding_and_removing_equals_a_rebuild(steps: list[str | int], table: pa.Table) -> None:
    matcher = language.matcher([])
    live: dict[int, str] = {}
    used: set[int] = set()
    for step in steps:
        if isinstance(step, str):
            index = matcher.add(language.parse(step))
            assert index not in used
            used.add(index)
            live[index] = step
        elif step in live:
            matcher.remove(step)
            del live[step]
        else:
            numbers = sorted(live)
            rebuilt = language.matcher([language.parse(live[n]) for n in numbers]).match(table).pairs()
            expected = [[row, numbers[at]] for row, at in rebuilt.tolist()]
            assert matcher.match(table).pairs().tolist() == expected
            assert len(matcher) == len(live)
