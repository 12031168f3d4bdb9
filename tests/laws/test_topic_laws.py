"""The laws of the topic language and its engines."""

from __future__ import annotations

import gc
import itertools
import re
import tracemalloc
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import semcast
from semcast.matching.topic import ENGINES
from semcast.matching.topic.compact import Branch, CompactEngine
from semcast.profiles.topic import TopicProfile, from_mqtt, parse
from tests.laws.topic_worlds import profiles, topics

language = semcast.language("topic")


def split_and_compare(profile: TopicProfile, topic: str) -> bool:
    """Written once more, from DESIGN §4, and from the text alone."""
    given_ = (topic[1:] if topic[:1] == "/" else topic).split("/")
    wanted = str(profile).split("/")
    if wanted[-1] == "$":
        wanted.pop()
        if len(given_) != len(wanted):
            return False
    return len(given_) >= len(wanted) and all(w in ("*", g) for w, g in zip(wanted, given_, strict=False))


@pytest.mark.parametrize("engine", ENGINES)
@given(st.lists(profiles, max_size=12), st.lists(st.one_of(st.none(), topics), min_size=1, max_size=25))
@settings(max_examples=120, deadline=None)
def test_every_engine_equals_the_oracle(engine: str, wanted: list[TopicProfile], given_: list[str | None]) -> None:
    matcher = language.matcher(wanted, engine=engine)
    expected = [
        [row, at]
        for row, topic in enumerate(given_)
        for at, profile in enumerate(wanted)
        if topic is not None and split_and_compare(profile, topic)
    ]
    table = pa.table({"topic": pa.array(given_, pa.string())})
    assert matcher.match(table).pairs().tolist() == expected
    assert matcher.match(table).pairs().tolist() == expected  # from the cache


def random_profile(random: Random) -> TopicProfile:
    parts = [random.choice("abc"), *random.choices("abc*", k=random.randrange(6))]
    return parse("/".join(parts) + random.choice(["", "", "/$"]))


@pytest.mark.parametrize("engine", ENGINES)
@given(st.integers(0, 2**32))
@settings(max_examples=6, deadline=None)
def test_long_sequences_of_changes_equal_a_rebuild(engine: str, seed: int) -> None:
    random = Random(seed)
    matcher = language.matcher([], engine=engine)
    live: dict[int, TopicProfile] = {}
    highest = -1
    for step in range(400):
        growing = step % 200 < 120
        if not live or random.random() < (0.7 if growing else 0.2):
            profile = live[min(live)] if live and random.random() < 0.2 else random_profile(random)
            index = matcher.add(profile)
            assert index > highest
            highest = index
            live[index] = profile
        else:
            index = random.choice(list(live))
            matcher.remove(index)
            del live[index]
        if step % 20 == 0:
            given_ = ["/".join(random.choices("abcd", k=random.randint(1, 7))) for _ in range(20)]
            expected = [
                [row, index]
                for row, topic in enumerate(given_)
                for index, profile in sorted(live.items())
                if split_and_compare(profile, topic)
            ]
            assert matcher.match(pa.table({"topic": given_})).pairs().tolist() == expected
            assert len(matcher) == len(live)


@pytest.mark.parametrize("engine", ENGINES)
def test_memory_is_reclaimed_when_everything_is_removed(engine: str) -> None:
    random = Random(1)
    wanted = [random_profile(random) for _ in range(300)]
    kept = ENGINES[engine]()
    tracemalloc.start()
    try:
        for _ in range(2):  # the first time fills what Python keeps for later
            re.purge()
            gc.collect()
            before = tracemalloc.get_traced_memory()[0]
            for index, profile in enumerate(wanted):
                kept.add(index, profile, f"destination {index}")
            full = tracemalloc.get_traced_memory()[0] - before
            for index in random.sample(range(len(wanted)), len(wanted)):
                kept.remove(index, wanted[index])
            re.purge()
            gc.collect()
            left = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    tables = [value for value in vars(kept).values() if isinstance(value, dict)]
    assert tables
    assert not any(tables), "every table is empty"
    # A Python dict never shrinks while it only loses entries, so some 80 bytes a constraint stay for the next.
    assert left < full / 3


@given(st.lists(profiles, max_size=25), st.randoms(use_true_random=False))
@settings(max_examples=150, deadline=None)
def test_a_compact_tree_depends_on_its_constraints_alone(wanted: list[TopicProfile], random: Random) -> None:
    engine = CompactEngine()
    for index, profile in enumerate(wanted):
        engine.add(index, profile)
    gone = set(random.sample(range(len(wanted)), random.randint(0, len(wanted))))
    for index in gone:
        engine.remove(index, wanted[index])
    rebuilt = CompactEngine()
    for index, profile in enumerate(wanted):
        if index not in gone:
            rebuilt.add(index, profile)
    assert _plain(engine._root) == _plain(rebuilt._root)


def _plain(node: dict[str, object]) -> dict[str, object]:
    return {k: (b.subscriptions, _plain(b.below)) if isinstance(b, Branch) else b for k, b in node.items()}


def _all_profiles(depth: int) -> list[TopicProfile]:
    texts = [
        "/".join([first, *rest]) + end
        for length in range(depth)
        for first in "ab"
        for rest in itertools.product("ab*", repeat=length)
        for end in ("", "/$")
    ]
    return [parse(text) for text in texts]


def test_covers_and_overlaps_are_exact() -> None:
    """All pairs over a small alphabet, against all topics over one that has a value no profile names."""
    wanted = _all_profiles(3)
    every = ["/".join(parts) for length in range(1, 5) for parts in itertools.product("abx", repeat=length)]
    matched = {profile: {topic for topic in every if split_and_compare(profile, topic)} for profile in wanted}
    for a, b in itertools.product(wanted, repeat=2):
        assert language.covers(a, b) is (matched[a] >= matched[b]), (str(a), str(b))
        assert language.overlaps(a, b) is bool(matched[a] & matched[b]), (str(a), str(b))


@given(profiles, profiles, profiles)
@settings(max_examples=300, deadline=None)
def test_covers_is_a_partial_order(a: TopicProfile, b: TopicProfile, c: TopicProfile) -> None:
    assert language.covers(a, a)
    if language.covers(a, b) and language.covers(b, a):
        assert a == b
    if language.covers(a, b) and language.covers(b, c):
        assert language.covers(a, c)
    assert language.overlaps(a, b) == language.overlaps(b, a)


@given(profiles, st.sampled_from(["", "/"]))
@settings(max_examples=200, deadline=None)
def test_canonical_text_parses_back_to_the_same_profile(profile: TopicProfile, slash: str) -> None:
    again = language.parse(slash + language.canonical(profile))
    assert again == profile
    assert language.canonical(again) == language.canonical(profile)


@given(st.text(st.sampled_from("ab/*$+#\0\ud800 é"), max_size=12))
@settings(max_examples=500, deadline=None)
def test_any_text_is_a_profile_or_a_profile_error(text: str) -> None:
    for read in (language.parse, from_mqtt):
        problem = None
        try:
            profile = read(text)
        except semcast.ProfileError as error:
            problem = error
        if problem is None:
            assert language.parse(str(profile)) == profile
        else:
            assert 0 <= problem.position <= len(text)
            assert str(problem)


filters = st.builds(
    lambda first, rest, end: "/".join([first, *rest, *end]),
    st.sampled_from("ab"),
    st.lists(st.sampled_from("abc+"), max_size=4),
    st.sampled_from([[], [], ["#"]]),
)


@given(filters, st.lists(st.sampled_from(["a", "b", "c", "d", ""]), min_size=1, max_size=6).map("/".join))
@settings(max_examples=500, deadline=None)
def test_a_translated_filter_matches_what_mqtt_says(filter: str, topic: str) -> None:
    """MQTT 5 §4.7.1: '+' is one level, also an empty one; '#' is the parent and any number of levels."""
    if topic.startswith("/"):
        return  # here one leading '/' is dropped, there it is a level
    levels = re.escape(filter).replace(r"\+", "[^/]*")
    expected = re.fullmatch(re.sub(r"/\\\#$", "(?:/.*)?", levels), topic) is not None
    assert split_and_compare(from_mqtt(filter), topic) is expected
