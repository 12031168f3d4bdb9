"""Topic engines one by one, and the matcher around them."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pytest

import semcast
from semcast.matching.topic import ENGINES, TopicEngine, TopicMatcher
from semcast.matching.topic.cache import Cache
from semcast.matching.topic.hashing import HashingEngine
from semcast.matching.topic.regex import expression
from semcast.matching.topic.tree import TreeEngine
from semcast.profiles.topic import MAX_DEPTH, parse

language = semcast.language("topic")


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> TopicEngine:
    return ENGINES[request.param]()


@pytest.fixture(params=ENGINES)
def matcher(request: pytest.FixtureRequest) -> TopicMatcher:
    return TopicMatcher(request.param)


def subscribe(engine: TopicEngine, texts: Iterable[str]) -> dict[str, int]:
    numbers = {text: index for index, text in enumerate(texts)}
    for text, index in numbers.items():
        engine.add(index, parse(text))
    return numbers


def matching(engine: TopicEngine, numbers: dict[str, int], topic: str) -> set[str]:
    found = engine.match(topic)
    assert len(found) == len(set(found))
    return {text for text, index in numbers.items() if index in found}


def batch(*topics: str | None) -> pa.Table:
    return pa.table({"topic": pa.array(topics, pa.string())})


def test_the_papers_sensors(engine: TopicEngine) -> None:
    numbers = subscribe(engine, ["Streams/Sensor", "Streams/Sensor/*/Pressure", "/Streams/Results", "Workflow"])
    assert matching(engine, numbers, "Streams/Sensor/Fluid/Pressure") == {
        "Streams/Sensor",
        "Streams/Sensor/*/Pressure",
    }
    assert matching(engine, numbers, "/Streams/Sensor") == {"Streams/Sensor"}
    assert matching(engine, numbers, "Streams") == set()
    assert matching(engine, numbers, "Workflow/Stage 1") == {"Workflow"}


def test_a_needs_one_attribute_and_a_wildcard_needs_two(engine: TopicEngine) -> None:
    """§1.1 calls ``A`` and ``A/*`` equivalent; Figure 2 never looks ``A/*`` up for the topic ``A``. So do we."""
    numbers = subscribe(engine, ["A", "A/*"])
    assert matching(engine, numbers, "A") == {"A"}
    assert matching(engine, numbers, "A/B") == {"A", "A/*"}
    assert matching(engine, numbers, "A/B/C") == {"A", "A/*"}


def test_the_papers_example_of_constructed_subscriptions(engine: TopicEngine) -> None:
    """§3.3.2 lists A/B/C/* and A/*/C/* for wildcards on the second and third attribute: those are on the
    second and *fourth*, and A/B/C, A/* and the rest of the coarser ones are missing. Figure 2 gives these."""
    combined = {"A", "A/B", "A/*", "A/B/C", "A/*/C", "A/B/*", "A/*/*"}
    combined |= {"A/B/C/D", "A/*/C/D", "A/B/*/D", "A/*/*/D"}
    others = {"A/B/C/*", "A/*/C/*"}  # as printed: a wildcard on the fourth attribute
    numbers = subscribe(engine, [*sorted(combined | others), "A/C", "A/B/C/D/E", "B/*"])
    assert matching(engine, numbers, "A/B/C/D") == combined | others
    for text in others:
        engine.remove(numbers.pop(text), parse(text))
    assert matching(engine, numbers, "A/B/C/D") == combined


def test_only_wildcard_places_that_are_counted_are_constructed() -> None:
    engine = HashingEngine()
    subscribe(engine, ["A/*/C", "A/B/*"])
    assert engine._wildcards["A"][:4].tolist() == [2, 1, 1, 0]
    engine.remove(0, parse("A/*/C"))
    assert engine._wildcards["A"][:4].tolist() == [1, 0, 1, 0]
    engine.remove(1, parse("A/B/*"))
    assert not engine._wildcards
    assert not engine._table


def test_a_wildcard_does_not_cross_attributes(engine: TopicEngine) -> None:
    """§3.2's ``.*`` would: A/.*/D matches A/B/C/D."""
    numbers = subscribe(engine, ["A/*/D"])
    assert matching(engine, numbers, "A/B/C/D") == set()
    assert matching(engine, numbers, "A/B/D") == {"A/*/D"}


def test_nothing_is_looked_for_past_the_last_attribute(engine: TopicEngine) -> None:
    """Figure 2 tests ``level > SIZE(A)`` before it increments, and so reads an attribute that is not there."""
    numbers = subscribe(engine, ["A/B", "A/*", "A/B/*", "A/B/*/*"])
    assert matching(engine, numbers, "A/B") == {"A/B", "A/*"}


def test_a_profile_that_ends_takes_no_deeper_topic(engine: TopicEngine) -> None:
    numbers = subscribe(engine, ["A/$", "A/*/$", "A/B", "A/B/$", "A/*"])
    assert matching(engine, numbers, "A") == {"A/$"}
    assert matching(engine, numbers, "A/B") == {"A/*/$", "A/B", "A/B/$", "A/*"}
    assert matching(engine, numbers, "A/B/C") == {"A/B", "A/*"}


def test_stars_dollars_and_blanks_in_a_topic_are_just_values(engine: TopicEngine) -> None:
    numbers = subscribe(engine, ["A", "A/$", "A/*", "A/*/$", "A/B", "A/*/C"])
    for value in ("*", "$", "", " ", "**", "B*", ".", "\n", "\0"):
        assert matching(engine, numbers, f"A/{value}") == {"A", "A/*", "A/*/$"}
        assert matching(engine, numbers, f"A/{value}/C") == {"A", "A/*", "A/*/C"}
    for topic in ("", "/", "//A", "*", "*/B", "$", "/*"):
        assert matching(engine, numbers, topic) == set()


def test_special_characters_of_expressions_are_just_characters(engine: TopicEngine) -> None:
    numbers = subscribe(engine, ["a.c/[x]", "(a|b)/\\d+"])
    assert matching(engine, numbers, "abc/x") == set()
    assert matching(engine, numbers, "a.c/[x]/y") == {"a.c/[x]"}
    assert matching(engine, numbers, "(a|b)/\\d+") == {"(a|b)/\\d+"}


def test_topics_may_be_deeper_than_any_profile(engine: TopicEngine) -> None:
    deepest = "/".join(["a"] * MAX_DEPTH)
    numbers = subscribe(engine, [deepest, deepest + "/$", "a"])
    assert matching(engine, numbers, deepest) == {deepest, deepest + "/$", "a"}
    for more in ("/a", "/$", "/*", "/", "/a" * 1000):
        assert matching(engine, numbers, deepest + more) == {deepest, "a"}
    assert matching(engine, numbers, "a" + "/" * 1000) == {"a"}


def test_wildcards_at_every_place_are_no_trap(engine: TopicEngine) -> None:
    """31 subscriptions, of which Figure 2 would construct 2^31 texts for one topic."""
    texts = ["/".join([*["a"] * place, "*"]) for place in range(1, MAX_DEPTH)] + ["a/$"]
    numbers = subscribe(engine, texts)
    assert matching(engine, numbers, "/".join(["a"] * 40)) == set(texts) - {"a/$"}
    assert matching(engine, numbers, "/".join(["a"] * 20)) == set(texts[:19])
    assert matching(engine, numbers, "a/b" + "/a" * 20) == {"a/*"}


def test_destinations_of_several_subscriptions_appear_once(engine: TopicEngine) -> None:
    for index, (text, destination) in enumerate([("A", "x"), ("A/B", "x"), ("A/*", "y"), ("A/C", "z"), ("A/B", None)]):
        engine.add(index, parse(text), destination)
    assert engine.destinations("A/B") == {"x", "y", 4}
    engine.remove(0, parse("A"))
    assert engine.destinations("A/B") == {"x", "y", 4}
    engine.remove(1, parse("A/B"))
    assert engine.destinations("A/B") == {"y", 4}


def test_regex_does_not_evaluate_a_pattern_whose_destination_is_present() -> None:
    class Counting:
        def __init__(self) -> None:
            self.calls = 0

        def match(self, topic: str) -> bool:
            self.calls += 1
            return True

    engine = ENGINES["regex"]()
    for index, destination in enumerate(["x", "x", "y"]):
        engine.add(index, parse("A"), destination)
    patterns = [Counting() for _ in range(3)]
    engine._patterns = dict(enumerate(patterns))  # type: ignore[attr-defined]
    assert engine.destinations("A") == {"x", "y"}
    assert [pattern.calls for pattern in patterns] == [1, 0, 1]


def test_expressions_stop_at_attributes() -> None:
    assert expression(parse("A.B/*/C")) == r"A\.B/[^/]*/C(?:/|\Z)"
    assert expression(parse("A/*/$")) == r"A/[^/]*\Z"


def test_tree_counts_nodes_and_edges_as_figure_8_does() -> None:
    engine = TreeEngine()
    assert engine.size() == (0, 0)
    numbers = subscribe(engine, ["A/B/C", "A/B/D", "A/*/C"])
    assert engine.size() == (4, 6)  # A; B, *; C, D, C: an edge that nothing follows leads to no node
    engine.remove(numbers["A/B/C"], parse("A/B/C"))
    assert engine.size() == (4, 5)
    engine.remove(numbers["A/B/D"], parse("A/B/D"))
    assert engine.size() == (3, 3)
    engine.remove(numbers["A/*/C"], parse("A/*/C"))
    assert engine.size() == (0, 0)


def test_indices_are_never_reused(matcher: TopicMatcher) -> None:
    assert matcher.extend([parse("A"), parse("A")]) == range(2)
    matcher.remove(1)
    assert matcher.add(parse("B")) == 2
    matcher.remove(2)
    assert matcher.add(parse("A")) == 3
    assert matcher.match(batch("A")).of(0).tolist() == [0, 3]
    assert len(matcher) == 2
    for index in (1, 2, 4, -1):
        with pytest.raises(semcast.SemcastError, match=f"no profile with index {index}"):
            matcher.remove(index)


def test_a_change_is_seen_by_the_next_batch(matcher: TopicMatcher) -> None:
    messages = batch("A/B", "A/C", "A/B")
    assert len(matcher.match(messages)) == 0
    for text in ("A/B", "A"):
        matcher.add(parse(text))
    assert matcher.match(messages).pairs().tolist() == [[0, 0], [0, 1], [1, 1], [2, 0], [2, 1]]
    matcher.remove(0)
    assert matcher.match(messages).pairs().tolist() == [[0, 1], [1, 1], [2, 1]]


def test_every_string_column_is_a_column_of_topics(matcher: TopicMatcher) -> None:
    matcher.extend([parse("A/*"), parse("B")])
    topics = ["A/x", None, "B", "A", "A/x", "/B"] * 5
    expected = [[row, 0 if topic == "A/x" else 1] for row, topic in enumerate(topics) if topic not in (None, "A")]
    plain = pa.array(topics)
    columns = [plain.cast(type_) for type_ in (pa.string(), pa.large_string(), pa.string_view())]
    columns += [column.dictionary_encode() for column in columns]
    columns += [
        plain.dictionary_encode(null_encoding="encode"),
        plain.dictionary_encode().cast(pa.dictionary(pa.uint8(), pa.string())),
    ]
    columns += [
        pa.chunked_array([plain[:7], plain[7:7], plain[7:]]),
        pa.RunEndEncodedArray.from_arrays(range(1, 31), plain),
    ]
    for column in columns:
        assert matcher.match(pa.table({"topic": column})).pairs().tolist() == expected, column.type
        few = [pair for pair in expected if pair[0] < 5]
        assert matcher.match(pa.table({"topic": column[:5]})).pairs().tolist() == few, column.type
    assert matcher.match(pa.record_batch({"other": plain, "topic": plain})).pairs().tolist() == expected


@pytest.mark.parametrize(
    "column",
    [
        pa.nulls(3),
        pa.array([None] * 3, pa.string()),
        pa.array([1, 2, 3]),
        pa.array([True, False, None]),
        pa.array([b"A", b"A/B", None]),
        pa.array([["A"], [], None]),
        pa.array([{"topic": "A"}] * 3),
        pa.array([1, 2, 1]).dictionary_encode(),
    ],
    ids=lambda column: str(column.type),
)
def test_what_is_no_topic_matches_nothing(matcher: TopicMatcher, column: pa.Array) -> None:
    matcher.add(parse("A"))
    matches = matcher.match(pa.table({"topic": column}))
    assert (matches.rows, len(matches)) == (3, 0)
    assert matcher.match(pa.table({"other": column})).rows == 3


@pytest.mark.parametrize("copies", [1, 20])
def test_bytes_that_are_no_text_spoil_only_their_row(matcher: TopicMatcher, copies: int) -> None:
    matcher.add(parse("A"))
    offsets = np.arange(0, 4 * copies + 1, 1, np.int32).tobytes()
    column = pa.Array.from_buffers(
        pa.string(), 4 * copies, [None, pa.py_buffer(offsets), pa.py_buffer(b"A\xffAB" * copies)]
    )
    rows = matcher.match(pa.table({"topic": column})).pairs()[:, 0].tolist()
    assert rows == [row for row in range(4 * copies) if row % 4 in (0, 2)]


def test_batches_may_be_empty(matcher: TopicMatcher) -> None:
    matcher.add(parse("A"))
    for empty in (batch(), pa.table({"topic": pa.chunked_array([], pa.string())}), pa.table({})):
        matches = matcher.match(empty)
        assert (matches.rows, len(matches)) == (0, 0)


def test_two_topic_columns_are_an_error(matcher: TopicMatcher) -> None:
    twice = pa.Table.from_arrays([pa.array(["A"])] * 2, names=["topic", "topic"])
    with pytest.raises(semcast.SemcastError, match="2 columns named 'topic'"):
        matcher.match(twice)


def test_a_matcher_can_be_sent_to_workers(matcher: TopicMatcher) -> None:
    matcher.add(parse("A"))
    matcher.add(parse("A/B"), destination="x")
    matcher.remove(0)
    there = pickle.loads(pickle.dumps(matcher))
    assert there.match(batch("A/B")).of(0).tolist() == [1]
    assert there.destinations("A/B") == {"x"}
    assert there.add(parse("B")) == 2
    assert len(matcher) == 1


def test_an_unknown_engine_is_refused() -> None:
    with pytest.raises(semcast.SemcastError, match="topic has no engine 'trie'; it has compact, hashing"):
        language.matcher([], engine="trie")
    assert language.engines == tuple(ENGINES)


def test_each_distinct_topic_is_matched_once_until_something_changes() -> None:
    matcher = TopicMatcher("compact", [parse("A")])
    asked: list[str] = []
    find = matcher._engine.match
    matcher._engine.match = lambda topic: (asked.append(topic), find(topic))[1]  # type: ignore[method-assign]
    for _ in range(3):
        matcher.match(batch(*["A/B", "A/C", None] * 10))
    assert asked == ["A/B", "A/C"]
    matcher.remove(matcher.add(parse("B")))
    matcher.match(batch("A/B"))
    assert asked == ["A/B", "A/C", "A/B"]


def test_only_what_a_slice_uses_of_its_dictionary_is_matched() -> None:
    matcher = TopicMatcher("compact", [parse("A")])
    asked: list[str] = []
    matcher._engine.match = lambda topic: asked.append(topic) or []  # type: ignore[method-assign,func-returns-value]
    column = pa.array([f"A/{i}" for i in range(100)] + [None]).dictionary_encode()
    assert matcher.match(pa.table({"topic": column[98:]})).rows == 3
    assert asked == ["A/98", "A/99"]


def test_the_cache_forgets_what_was_not_used_for_long() -> None:
    cache = Cache(limit=2 * 10 * 40)
    empty = np.empty(0, np.int64)
    for number in range(1000):
        cache.put(str(number), empty)
        assert cache.get("0") is not None
        assert len(cache) <= 26
    assert cache.get("1") is None
    cache.put("large", np.zeros(1000, np.int64))
    assert cache.get("large") is None
    cache.clear()
    assert len(cache) == 0


def test_a_batch_sees_the_profiles_of_one_moment(matcher: TopicMatcher) -> None:
    """A writer moves one subscription back and forth; no batch may see it twice, and none may see none."""
    matcher.add(parse("A/B"))
    stop = threading.Event()

    def move() -> None:
        index = 0
        while not stop.is_set():
            index, old = matcher.extend([parse("A/*"), parse("C")])[0], index
            matcher.remove(old)
            matcher.remove(index + 1)

    writer = threading.Thread(target=move)
    writer.start()
    try:
        for round_ in range(40):
            topics = [f"A/B/{round_}/{n}" for n in range(30)]
            matches = matcher.match(batch(*topics))
            counts = set(matches.counts().tolist())
            assert counts in ({1}, {2}), counts
            seen = {tuple(matches.of(row)) for row in range(matches.rows)}
            assert len(seen) == 1
    finally:
        stop.set()
        writer.join()


def test_lists_of_topics_match_as_columns_do_while_profiles_come_and_go(matcher: TopicMatcher) -> None:
    topics = ["A/B", None, "A", "A/B", "A/C/D", "Z"]
    matcher.extend([parse(text) for text in ("A", "A/*", "A/B", "A/*/D")])
    for step in (lambda: None, lambda: matcher.remove(0), lambda: matcher.add(parse("Z"))):
        step()
        found = matcher.match(batch(*topics))
        assert matcher.match_topics(topics) == [found.of(row).tolist() for row in range(len(topics))]
    assert matcher.match_topics(topics)[-1] == [4]
