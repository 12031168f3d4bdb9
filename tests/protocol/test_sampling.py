"""What a source remembers of its latest messages, whether they came alone or together."""

from __future__ import annotations

from collections import deque

from hypothesis import given
from hypothesis import strategies as st

from semcast.model.message import Message
from semcast.protocol.source.followed_plan import Routed
from semcast.protocol.source.samples import LARGEST, SHOWN, Sampling, Seen

SMALL, LARGE = b"x", bytes(LARGEST + 1)
batches = st.lists(
    st.lists(st.tuples(st.sampled_from("aab"), st.sampled_from((SMALL, SMALL, SMALL, LARGE))), max_size=12).flatmap(
        lambda some: st.integers(1, 40).map(lambda times: some * times)
    ),
    max_size=8,
)


@given(batches, st.integers(1, 3), st.sets(st.integers(0, 8)))
def test_the_latest_of_each_stream_are_shown_whoever_looks_in_between(
    given: list[list[tuple[str, bytes]]], every: int, looks: set[int]
) -> None:
    sampling, number = Sampling(every, 50), 5
    shown: dict[str, deque[Seen]] = {}
    matched: list[tuple[str, ...]] = []
    for turn, batch in enumerate(given):
        messages = [Message(stream, payload) for stream, payload in batch]
        routed = [Routed((f"p{number + row}",), ()) for row in range(len(batch))]
        sampling.take_all(number, 1, messages, routed)
        for message, way in zip(messages, routed, strict=True):
            if number % every == 0:
                matched.append(way.profiles)
                if len(message.payload) <= LARGEST:
                    seen = Seen(number, 1, message, way.profiles, way.routes)
                    shown.setdefault(message.stream, deque(maxlen=SHOWN)).append(seen)
            number += 1
        if turn in looks:
            assert {stream: list(held) for stream, held in sampling.shown.items() if held} == {
                stream: list(held) for stream, held in shown.items()
            }
    assert {stream: list(held) for stream, held in sampling.shown.items() if held} == {
        stream: list(held) for stream, held in shown.items()
    }
    assert list(sampling.matched) == matched[-50:]


def test_what_waits_to_be_looked_at_is_bounded() -> None:
    sampling = Sampling(1, 50)
    for first in range(1, 20_000, 100):
        sampling.take_all(first, 1, [Message("a", SMALL)] * 100, [Routed((), ())] * 100)
    assert sum(len(batch.messages) for batch in sampling._late["a"]) < SHOWN + 100
